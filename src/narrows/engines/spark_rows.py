"""Values as rows of a Spark DataFrame, and as tables of Arrow on their way.

Value k has at least one row. A value of more than `ROW` bytes has several, and a state that can get
large is in pieces, by its first feature. The first row of a value also says what is known about it:
`Facts` about a state, or the error that took its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from narrows.engines.features import Features
from narrows.engines.learn import Part

SCHEMA = "k long, first long, row int, about binary, data binary"
COLUMNS = ("k", "first", "row", "about", "data")
ROW = 4_000_000  # bytes of a value in one row
# bytes of one piece of a state if all sums were non-zero; half of it has to be more than
# `moments.table.SMALL`, or sparse sums would become arrays
LIMIT = 80_000_000
# errors that a second attempt does not mend
_LASTING = (ValueError, TypeError, ImportError, FileNotFoundError, PermissionError)


class Facts(NamedTuple):
    """What is known of the state of a part."""

    features: Features | None
    n_features: int
    classes: frozenset[Any]
    unit: int  # bytes for each class and feature; 0 where the state cannot be cut

    @classmethod
    def of(cls, part: Part) -> Facts:
        """Return the facts about a state."""
        state = part.state
        cuttable = hasattr(state, "cut") and state.middle() > 0
        kinds = 1 + (state.second == "class") + state.presence if cuttable else 0
        unit = 8 * kinds * (state.folds or 1) if cuttable else 0
        return cls(part.features, state.n_features, frozenset(state.classes.tolist()), unit)

    def step(self) -> int:
        """Return the features of a piece; 0 if the state is in one piece, however large."""
        most = self.unit * max(1, len(self.classes))
        if most * self.n_features <= LIMIT:
            return 0
        return 1 << max(0, (LIMIT // most).bit_length() - 1)


def width_and_step(facts: Iterable[Facts]) -> tuple[int, int]:
    """Return the features of the sum of states, and those of a piece of it."""
    _, widths, classes, units = zip(*facts, strict=True)
    width = max(widths)
    return width, Facts(None, width, frozenset().union(*classes), max(units)).step()


def rows_of(k: int, function: Callable[..., Any], *args: Any) -> Iterator[Any]:
    """Yield the rows of what a function returns, or of the error that it raises."""
    try:
        value = function(*args)
    except _LASTING as error:
        yield _row(k, 0, 0, dumps(error), b"")
        return
    if isinstance(value, Part):
        facts = Facts.of(value)
        yield from pieces_of(k, value, facts.step(), facts.n_features, about=facts)
    else:
        yield from _rows(k, 0, value)


def pieces_of(
    k: int, part: Part, step: int, stop: int, first: int = 0, about: Facts | None = None
) -> Iterator[Any]:
    """Yield the rows of a state whose features begin at `first`, cut at multiples of `step`."""
    if not step:
        yield from _rows(k, first, part, about)
        return
    for at in range(first, stop, step):
        piece = part.cut(at - first, min(at + step, stop) - first)
        yield from _rows(k, at, piece, about if at == first else None)


def sum_of(k: int, first: int, add: Callable[..., Any], values: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of the sum of values."""
    total, *others = values
    for value in others:
        total = add(total, value)
    yield from _rows(k, first, total)


def values_of(table: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of each value in a table of rows, and the value; raise where it is an error.

    A piece counts as a value.
    """
    held: list[Any] = []
    rows = [column.to_pylist() for column in table.select(COLUMNS[:3]).columns]
    order = sorted(range(table.num_rows), key=lambda i: [column[i] for column in rows])
    at = [(rows[0][i], rows[1][i]) for i in order]
    about, data = table.column("about"), table.column("data")
    for n, i in enumerate(order):
        held.append(data[i].as_buffer())
        if n + 1 < len(order) and at[n + 1] == at[n]:
            continue
        if not held[0].size and len(held) == 1:
            raise loads(about[i].as_py())
        yield at[n][0], loads(b"".join(held) if len(held) > 1 else held[0])
        held = []


def piece_of(table: Any, first: int) -> Any:
    """Return the rows of a piece."""
    return table.take([i for i, at in enumerate(table.column("first").to_pylist()) if at == first])


def facts_in(table: Any) -> dict[int, Facts]:
    """Return what a table of rows without data says about each value, in their order."""
    said = zip(table.column("k").to_pylist(), table.column("about").to_pylist(), strict=True)
    found = {k: loads(about) for k, about in said if about is not None}
    for k in sorted(found):
        if isinstance(found[k], Exception):
            raise found[k]
    return {k: found[k] for k in sorted(found)}


def dumps(value: Any) -> bytes:
    """Return what Spark sends for a value; a state is plain arrays in there (`Part`)."""
    from pyspark.serializers import CloudPickleSerializer

    return bytes(CloudPickleSerializer().dumps(value))


def loads(data: Any) -> Any:
    """Return the value that was sent."""
    from pyspark.serializers import CloudPickleSerializer

    return CloudPickleSerializer().loads(data)


def stream_of(batches: Iterator[Any]) -> Any:
    """Return what exports record batches as an Arrow stream; None where there are none."""
    import pyarrow

    first = next(batches, None)
    if first is None:
        return None
    return pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def _rows(k: int, first: int, value: Any, about: Facts | None = None) -> Iterator[Any]:
    data = dumps(value)
    said = None if about is None else dumps(about)
    for row, start in enumerate(range(0, len(data), ROW)):
        yield _row(k, first, row, None if row else said, data[start : start + ROW])


def _row(k: int, first: int, row: int, about: bytes | None, data: bytes) -> Any:
    import pyarrow

    types = pyarrow.int64(), pyarrow.int64(), pyarrow.int32(), pyarrow.binary(), pyarrow.binary()
    values = zip((k, first, row, about, data), types, strict=True)
    arrays = [pyarrow.array([value], kind) for value, kind in values]
    return pyarrow.RecordBatch.from_arrays(arrays, COLUMNS)
