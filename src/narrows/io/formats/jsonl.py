"""JSON lines of text: one object a line, with `text`, and `label` and `split` where it has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from narrows.errors import DataError, some_names
from narrows.io import kinds
from narrows.io.chunk import OTHER_ENCODING, TEXT, Chunk, Options, as_targets
from narrows.io.formats.base import Format, Writer
from narrows.io.parts import by_lines
from narrows.io.streams import Lines
from narrows.moments.labels import number_of


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON value")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=number_of)


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks whose X is a list of texts; other keys are ignored."""
    text_keys, label_key = options.text or (TEXT,), options.label or "label"
    targets = options.target or () if options.has_labels else ()

    def of_chunk(found: list[Any], lines: list[int]) -> Any:
        if not targets or not any(found):
            return None if targets else found
        if None in found:
            problem = "expected targets, as in other lines, got none."
            raise DataError(name, problem, lines[found.index(None)])
        return as_targets(np.array(found), targets, name, lines)

    splits: set[str] = set()
    as_empty = options.on_error == "missing"
    texts: list[str] = []
    found: list[Any] = []
    lines: list[int] = []
    any_read = False
    for number, line in Lines(stream, name, options.max_line_mb).numbered():
        if number <= options.after or not line.strip():
            continue
        row = _object(line, name, number)
        if options.split is not None and str(row.get("split")) != options.split:
            splits.add(str(row.get("split")))
            continue
        pieces: list[Any] = [row.get(key) for key in text_keys]
        for key, piece in zip(text_keys, pieces, strict=True):
            if not isinstance(piece, str) and not (piece is None and as_empty):
                problem = f"{key!r}: expected text, got {_kind(piece)}."
                if key not in row:
                    problem += f" Set `text` to one of {some_names([*row])}."
                raise DataError(name, problem, number)
        if targets:
            found.append(_numbers(row, targets, options.labels_required, name, number))
        else:
            label = row.get(label_key) if options.has_labels else None
            if not isinstance(label, str | int | float | None):
                problem = f"{label_key!r}: expected text or a number, got {_kind(label)}."
                raise DataError(name, problem, number)
            found.append(label)
        texts.append("\n".join(piece or "" for piece in pieces))
        lines.append(number)
        any_read = True
        if len(texts) == options.chunk_rows:
            yield Chunk(texts, of_chunk(found, lines), lines, label=label_key)
            texts, found, lines = [], [], []
    if texts:
        yield Chunk(texts, of_chunk(found, lines), lines, label=label_key)
    if splits and not any_read:
        got = ", ".join(sorted(splits)[:10])
        raise DataError(name, f"expected lines whose split is {options.split!r}, got only {got}.")


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        row = _JSON.decode(line.decode())
    except (ValueError, RecursionError) as error:  # also a NaN, or a number of 5,000 digits
        got: Any = error
        if isinstance(error, json.JSONDecodeError):
            got = f"{error.msg} at column {error.colno}"
        advice = f" {OTHER_ENCODING}" * isinstance(error, UnicodeDecodeError)
        problem = f"expected a line of JSON, got another: {got}.{advice}"
        raise DataError(name, problem, number) from None
    if not isinstance(row, dict):
        raise DataError(name, f"expected a JSON object, got {_kind(row)}.", number)
    return row


def _numbers(
    row: dict[str, Any], keys: Sequence[str], required: bool, name: str, line: int
) -> list[float] | None:
    """Return the targets of a line; None without any, if they are not required."""
    values = [row.get(key) for key in keys]
    if not required and values == [None] * len(keys):
        return None
    for key, value in zip(keys, values, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            problem = f"target {key!r}: expected a number, got {_kind(value)}."
            raise DataError(name, problem, line)
    return [float(repr(value)) for value in values]  # a long integer is infinite, and refused


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(value), f"{value!r}")


class _Writer(Writer):
    """Writes texts: `label` where there is one, and `text`."""

    def write(self, X: Any, y: Any) -> None:
        labels = [None] * len(X) if y is None else y.tolist()
        for text, label in zip(X, labels, strict=True):
            row = {"text": text} if label is None else {"label": label, "text": text}
            line = json.dumps(row, ensure_ascii=False)
            # half a pair of surrogates is written as the escape that it was read from
            self.stream.write(line.encode(errors="backslashreplace") + b"\n")


FORMAT = Format(
    kinds.JSONL, read, _Writer,
    cut=by_lines, first_row=re.compile(rb"\{.*"),
)  # fmt: skip
