"""What a command prints: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import click

from narrows.errors import escaped

_LISTED = 20  # rows that were skipped


def say(message: str, context: click.Context | None = None) -> None:
    """Print a message as one line on standard error."""
    message = " ".join(with_flags(message, context).split())
    print("narrows:", escaped(message), file=sys.stderr)  # noqa: T201


def with_flags(message: str, context: click.Context | None = None) -> str:
    """Return a message with the options of the verb in place of the parameters of Python.

    Messages have these in backquotes: `label` is --label. Other threads give the context.
    """
    context = context or click.get_current_context(silent=True)
    for each in [] if context is None else context.command.params:
        if isinstance(each, click.Option):
            message = message.replace(f"`{each.name}`", each.opts[-1])
    return message


def say_decisions(encoder: Any) -> None:
    """Print what was decided for each column of a table, on standard error."""
    lines = described_columns(encoder)
    say(f"columns of the table ({len(lines)}):")
    for line in lines:
        print(f"  {escaped(line)}", file=sys.stderr)  # noqa: T201


def n_empty(texts: Iterable[str]) -> int:
    """Return how many texts have no characters but spaces."""
    return sum(not text or text.isspace() for text in texts)


def say_empty(n_texts: int) -> None:
    """Print how many texts were empty on standard error."""
    texts = "1 text is" if n_texts == 1 else f"{n_texts:,} texts are"
    say(f"{texts} empty, with 0 for every feature.")


def say_skipped(dataset: Any, path: str | None) -> dict[str, Any]:
    """Print which rows were skipped, write them to a file, and return them for JSON."""
    skipped = dataset.skipped
    if skipped is None:
        return {}
    rows = sorted(skipped.rows.values(), key=lambda each: (each.file, each.line))
    where = ""
    if path is not None:
        skipped.write(path)
        where = f"; they are in {path}"
    if rows:
        say(f"{len(rows):,} row{'s' * (len(rows) > 1)} skipped{where}:")
    for each in rows[:_LISTED]:
        reason = escaped(with_flags(each.reason))
        print(f"  {escaped(each.file)}:{each.line}: {reason}", file=sys.stderr)  # noqa: T201
    if len(rows) > _LISTED:
        print(f"  and {len(rows) - _LISTED:,} more (--json lists all)", file=sys.stderr)  # noqa: T201
    if skipped.n_missing:
        say(f"cells that cannot be read and count as missing: {skipped.n_missing:,}.")
    listed = [
        {"file": each.file, "line": each.line, "reason": with_flags(each.reason)} for each in rows
    ]
    return {"skipped": listed, "missing_cells": skipped.n_missing}


def say_if_numbers(classes: Any, n_rows: int) -> None:
    """Say what to do where the labels of rows look like numbers to predict."""
    from narrows.moments.labels import FEW_CLASSES
    from narrows.solve.cells import reads_as_number

    many = len(classes) > FEW_CLASSES and 10 * len(classes) > n_rows
    if many and all(map(reads_as_number, map(str, classes))):
        how = "If the label is a number to predict, use --target instead of --label."
        say(f"the {n_rows:,} rows have {len(classes):,} different numbers as labels. {how}")


def described_columns(encoder: Any) -> list[str]:
    """Return a line for each column of a table: what it is, why, and how many features it has."""
    return [
        f"{each.column}: {each.kind} ({each.reason}), {each.n_features} "
        f"feature{'s' * (each.n_features > 1)}"
        if each.n_features
        else f"{each.column}: left out ({each.reason})"
        for each in encoder.decisions_
    ]


def show_warning(
    context: click.Context, message: Any, category: type[Warning], *_: Any, **__: Any
) -> None:
    """Print a warning as a message; for a context, used as `warnings.showwarning`."""
    if not issubclass(category, DeprecationWarning):  # these concern developers only
        say(f"warning: {message}", context)


def report(found: dict[str, Any] | None, text: str, as_json: bool, err: bool = False) -> None:
    """Print a result: `found` as one JSON object, or the lines of `text`.

    With `as_json`, nothing is printed where `found` is None.
    """
    if not as_json:
        click.echo("\n".join(map(escaped, text.split("\n"))), err=err)
    elif found is not None:  # JSON escapes every control character except this one
        click.echo(json.dumps(found).replace("\x7f", "\\u007f"), err=err)
