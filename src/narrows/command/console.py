"""What a command prints: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click
from tqdm import tqdm

from narrows.command.interrupts import interrupt_between
from narrows.evaluate.describe import escaped
from narrows.io.chunk import Chunk
from narrows.io.dataset import Dataset
from narrows.io.prefetch import prefetch


def say(message: str) -> None:
    """Print a message as one line on standard error."""
    print("narrows:", escaped(" ".join(message.split())), file=sys.stderr)  # noqa: T201


def show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning as a message; used as `warnings.showwarning`."""
    if not issubclass(category, DeprecationWarning):  # these concern developers only
        say(f"warning: {message}")


def report(found: dict[str, Any] | None, text: str, as_json: bool, err: bool = False) -> None:
    """Print a result: `found` as one JSON object, or the lines of `text`.

    With `as_json`, nothing is printed where `found` is None.
    """
    if not as_json:
        click.echo("\n".join(map(escaped, text.split("\n"))), err=err)
    elif found is not None:  # JSON escapes every control character except this one
        click.echo(json.dumps(found).replace("\x7f", "\\u007f"), err=err)


def progress(dataset: Dataset, description: str) -> Iterator[Chunk]:
    """Yield the chunks of a data set, read ahead, with a progress bar on a terminal.

    Ctrl-C takes effect between two chunks, or while the next one is awaited.
    """
    with tqdm(
        total=dataset.size or None, desc=description, unit="B", unit_scale=True, delay=0.5,
        disable=None, file=sys.stderr,
    ) as bar:  # fmt: skip
        for chunk in interrupt_between(prefetch(dataset)):
            yield chunk
            bar.update(dataset.position - bar.n)
