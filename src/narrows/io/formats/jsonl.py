"""JSON lines of text: one object a line, with `text`, and `label` and `split` where it has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from narrows.io.chunk import Chunk, Labels, Options
from narrows.io.lines import Lines
from narrows.solve.errors import DataError


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON value")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks whose X is a list of texts; other keys are ignored."""
    text_key, label_key = options.text or "text", options.label or "label"
    labels = Labels(name, options.labels_required, f"{label_key!r}")
    splits: set[str] = set()
    texts: list[str] = []
    found: list[Any] = []
    lines: list[int] = []
    kept = False
    for number, line in Lines(stream, name, options.max_line_mb).numbered():
        if number <= options.after or not line.strip():
            continue
        row = _object(line, name, number)
        if options.split is not None and str(row.get("split")) != options.split:
            splits.add(str(row.get("split")))
            continue
        text = row.get(text_key)
        if not isinstance(text, str):
            raise DataError(name, f"{text_key!r} must be text, but {_kind(text)} came.", number)
        label = row.get(label_key)
        if not isinstance(label, str | int | float | None):
            raise DataError(
                name, f"{label_key!r} must be text or a number, but {_kind(label)} came.", number
            )
        found.append(labels.check(label, number))
        texts.append(text)
        lines.append(number)
        kept = True
        if len(texts) == options.chunk_rows:
            yield Chunk(texts, labels.array(found), lines)
            texts, found, lines = [], [], []
    if texts:
        yield Chunk(texts, labels.array(found), lines)
    if splits and not kept:
        raise DataError(
            name,
            f"no line whose split is {options.split!r}; "
            f"there {'is' if len(splits) == 1 else 'are'} {', '.join(sorted(splits)[:10])}.",
        )


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        row = _JSON.decode(line.decode())
    except json.JSONDecodeError as error:
        raise DataError(
            name, f"not a line of JSON: {error.msg} at column {error.colno}.", number
        ) from None
    except (ValueError, RecursionError) as error:  # no UTF-8, a NaN, a number of 5,000 digits
        raise DataError(name, f"not a line of JSON: {error}.", number) from None
    if not isinstance(row, dict):
        raise DataError(name, f"a JSON object wanted, but {_kind(row)} came.", number)
    return row


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(value), f"{value!r}")
