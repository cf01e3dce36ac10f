"""Fits that may be stopped at any moment, and go on as if never stopped."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from scipy import sparse

from narrows.families._parameters import same
from narrows.io.atomic import clear_unfinished
from narrows.io.chunk import Chunk, Options, Position
from narrows.io.store import identity, load_checkpoint, save_checkpoint
from narrows.solve.errors import DataError, ParameterError
from narrows.solve.schema import SchemaError, check_plain

_HEAD = 4096  # bytes of a file that have to be the same when a fit goes on
_PROGRESS = {
    "base": (str, None), "inputs": [str], "heads": [([int], None)], "options": dict,
    "passes": int, "at": [int], "header": ([str], None), "several_labels": bool,
}  # fmt: skip
_HEADS = 2, 3  # entries of a head; 0.1.0 did not keep when a file was changed
_AFRESH = "Leave --resume out to begin afresh."
_TOLD = ("label", "text", "split", "width", "zero_based", "chunk_rows")


class Begun(NamedTuple):
    """What was learnt before a stop, and where in its input it stopped."""

    estimator: Any
    state: Any
    passes: int
    at: Position
    header: tuple[str, ...] | None
    several_labels: bool


class Checkpoint:
    """Keeps state and place of a fit in one file, at borders of chunks, replaced atomically.

    Parameters
    ----------
    path : str
        The file, a model that can be loaded, but with the place in the input.
    every : int
        It is written at the first border of a chunk after so many rows.
    estimator : narrows estimator
        What is fitted, or updated.
    inputs : sequence of str
        What is read.
    options : Options
        How it is read. All of this has to be the same when the fit goes on.
    base : str, optional
        The model that is updated; none for a fit. This has to be the same, too.
    in_place : bool
        Whether the updated model takes the place of `base`.

    Attributes
    ----------
    run : dict
        What makes this run another than others, as plain data.
    """

    def __init__(
        self,
        path: str,
        every: int,
        estimator: Any,
        inputs: Sequence[str],
        options: Options,
        base: str | None = None,
        in_place: bool = False,
    ):
        self.path, self.every, self.estimator = path, every, estimator
        self.inputs, self.base = list(inputs), base
        told = asdict(options)
        self.options = {name: told[name] for name in _TOLD}
        self.in_place = in_place
        crc32: int | None = None
        self._was: dict[str, Any] | None = None
        if base is not None:
            crc32, self._was = identity(base)
        self.run: dict[str, Any] = {
            "base": base,
            "base_crc32": crc32,
            "inputs": self.inputs,
            "heads": [_head(path) for path in self.inputs],
            "options": self.options,
        }
        self._rows = 0
        self._write: Callable[[], None] = lambda: None

    def after(self, state: Any, source: Any, passes: int, chunk: Chunk, header: Any) -> None:
        """Take note of what is learnt after a chunk; write it if it is time."""

        def write() -> None:
            progress = {
                **self.run,
                "passes": passes,
                "at": list(chunk.at),
                "header": header,
                "several_labels": bool(sparse.issparse(chunk.y)),
            }
            save_checkpoint(self.estimator, state, source, self.path, progress)

        self._write = write
        self._rows += len(chunk.lines)
        if self._rows >= self.every:
            self.save()

    def save(self) -> None:
        """Write what was learnt up to the last border."""
        self._write()
        self._rows = 0

    def begun(self) -> Begun | None:
        """Return what is there to go on from, or None; ParameterError if it is of another fit."""
        clear_unfinished(os.path.dirname(os.path.realpath(self.path)))
        if not os.path.exists(self.path):
            return None
        estimator, state, progress = self._left()
        self._check_same(estimator, progress)
        self._check_place(estimator, state, progress)
        header = progress["header"]
        return Begun(
            estimator,
            state,
            progress["passes"],
            Position(*progress["at"]),
            None if header is None else tuple(header),
            progress["several_labels"],
        )

    def is_finished(self) -> bool:
        """Whether the model to be updated is what this very run has made of it.

        A checkpoint that was left of it is then removed. Standard input and pipes cannot be
        compared, and are taken for new ones if there is no such checkpoint.
        """
        was = self._was
        if was is None:
            return False
        left = self._left()[2] if os.path.exists(self.path) else {}
        if left.get("base_crc32") == self.run["base_crc32"]:  # the run was started once more
            return False
        names = ("base", "base_crc32", "inputs", "options")
        is_of_it = all(left.get(name) == was.get(name) for name in names)
        if None in self.run["heads"] and not is_of_it:
            return False
        if was != {**self.run, "base_crc32": was.get("base_crc32")}:
            return False
        if is_of_it:
            self.done()
        return True

    def done(self) -> None:
        """Remove the file: the model is saved."""
        Path(self.path).unlink(missing_ok=True)

    def _left(self) -> tuple[Any, Any, dict[str, Any]]:
        """The estimator, state and progress of the file that is there."""
        estimator, state, progress = load_checkpoint(self.path)
        try:
            check_plain(progress, _PROGRESS, "progress")
        except SchemaError as error:
            raise DataError(self.path, f"{error} {_AFRESH}") from None
        return estimator, state, progress

    def _check_place(self, estimator: Any, state: Any, progress: dict[str, Any]) -> None:
        """Raise DataError where a fit of this estimator cannot be at such a place."""
        update = self.base is not None
        kind = estimator._state_type if update else type(self.estimator._empty_state(1))
        passes = 1 if update else estimator._passes_in_order()
        at = progress["at"]
        if not (
            type(state) is kind
            and 0 <= progress["passes"] < passes
            and len(at) == len(Position())
            and min(at) >= 0
            and at[0] < len(self.inputs)
        ):
            raise DataError(self.path, f"progress: expected a place in this run. {_AFRESH}")

    def _check_same(self, estimator: Any, progress: dict[str, Any]) -> None:
        mine, its = self.estimator.get_params(), estimator.get_params()
        unlike = [
            f"{name} was {its.get(name)!r} and is {value!r}"
            for name, value in mine.items()
            if name not in its or not same(value, its[name])
        ]
        if type(estimator) is not type(self.estimator):
            unlike = [
                f"it is of {type(estimator).__name__}, this is {type(self.estimator).__name__}"
            ]
        for name, was, now in (
            ("the inputs", progress["inputs"], self.inputs),
            ("models updated", progress["base"], self.base),
            *((name, progress["options"].get(name), self.options[name]) for name in _TOLD),
        ):
            if was != now:
                unlike.append(f"{name} were {was!r} and are {now!r}")
        if progress.get("base_crc32", self.run["base_crc32"]) != self.run["base_crc32"]:
            unlike.append(f"{self.base} is not the model any more that it was")
        if unlike:
            raise ParameterError(
                f"{self.path}: a checkpoint of another run: {'; '.join(unlike)}. Give what was "
                "given then, or leave --resume out to begin afresh."
            )
        heads = progress["heads"]
        if len(heads) != len(self.inputs) or any(
            was is not None and (len(was) not in _HEADS or min(was) < 0) for was in heads
        ):
            raise DataError(self.path, f"progress: expected heads of all inputs. {_AFRESH}")
        for path, was in zip(self.inputs, heads, strict=True):
            now = _head(path, None if was is None else was[0])
            if was is not None and (now is None or now[0] < was[0] or now[1] != was[1]):
                raise DataError(
                    path,
                    f"not the file any more that {self.path} was made from. Leave --resume out to "
                    "begin afresh.",
                )


def _head(path: str, size: int | None = None) -> list[int] | None:
    """The size of a regular file, a checksum of how it begins, and when it was changed."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(_HEAD if size is None else min(_HEAD, size))
        found = os.fstat(file.fileno())
    return [found.st_size, zlib.crc32(head), found.st_mtime_ns]
