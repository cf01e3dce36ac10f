"""Checkpoints: a run can be stopped at any moment, and resumed with the same result.

A checkpoint is a model file whose header has an entry ``progress``, of the form `_PROGRESS`: what
identifies the run, and the position in its input.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.io.atomic import Version, clear_unfinished, version
from narrows.io.chunk import Chunk, Options, Position, names_as_json
from narrows.io.container import read_header
from narrows.io.models import identity, load_checkpoint, save_checkpoint
from narrows.io.streams import BEGINNING
from narrows.methods.base import most_passes, settle
from narrows.methods.learned import Learned
from narrows.methods.parameters import is_number, same
from narrows.solve.codec import SchemaError, check_plain

_PROGRESS = {
    "base": (str, None), "inputs": [str], "heads": [([int], None)], "options": dict,
    "passes": int, "at": [int], "several_labels": bool,
}  # fmt: skip
_OPTIONS = ("label", "text", "split", "width", "zero_based", "chunk_rows")
# only where it was set
_MORE_OPTIONS = (
    "vector", "labels", "target", "separator", "encoding", "no_header", "on_error"
)  # fmt: skip
_START_OVER = "Leave out --resume to start from the beginning."


class ResumePoint(NamedTuple):
    """An estimator with what was learned before a stop, the pass, and the position in the input."""

    estimator: Any
    passes: int
    at: Position
    several_labels: bool


class Checkpoint:
    """A file with the state of a run and its position, replaced atomically between two chunks.

    Parameters
    ----------
    path : str
        The file. It can be loaded as a model, unless the fit makes several passes.
    every : int
        Number of rows after which the file is replaced, at the end of a chunk.
    estimator : narrows estimator
        The estimator that is fitted or updated.
    inputs : sequence of str
        The files that are read.
    options : Options
        How they are read. Estimator, inputs and options must be the same when the run is resumed.
    base : str, optional
        The model that is updated; None for a fit. It must be the same when the run is resumed.

    Attributes
    ----------
    run : dict
        What identifies this run, ready for JSON.
    """

    def __init__(
        self,
        path: str,
        every: int,
        estimator: Any,
        inputs: Sequence[str],
        options: Options,
        base: str | None = None,
    ):
        self.path, self.every, self.estimator = path, every, estimator
        self._last_run: dict[str, Any] | None = None
        base_crc32: int | None = None
        if base is not None:
            base_crc32, self._last_run = identity(base)
        all_options = asdict(options)
        all_options |= {name: names_as_json(all_options[name]) for name in ("text", "target")}
        more = [name for name in _MORE_OPTIONS if all_options[name] is not None]
        self.run: dict[str, Any] = {
            "base": base,
            "base_crc32": base_crc32,
            "inputs": list(inputs),
            "heads": [_head(path) for path in inputs],
            "options": {name: all_options[name] for name in (*_OPTIONS, *more)},
        }
        self._rows = 0  # since the file was written
        self._read: Version = version(path)
        self._last: tuple[Learned, dict[str, Any]] | None = None

    def record(self, learned: Learned, passes: int, chunk: Chunk) -> None:
        """Note what was learned after a chunk, and write it where there are `every` more rows."""
        several = bool(sparse.issparse(chunk.y))
        at = {"passes": passes, "at": chunk.at, "several_labels": several}
        if not getattr(learned.step, "keep", 0):  # so that a run that goes on is the same
            settle(self.estimator, learned)
        self._last = learned, at
        self._rows += len(chunk.lines)
        if self._rows >= self.every:
            self.save()

    def start_over(self, estimator: Any) -> None:
        """Forget what was recorded, since another estimator learns the samples."""
        self.estimator, self._last, self._rows = estimator, None, 0

    def save(self) -> None:
        """Write the state that was recorded last."""
        if self._last is not None:
            learned, at = self._last
            save_checkpoint(self.estimator, learned, self.path, {**self.run, **at}, self._read)
            self._read = version(self.path)
        self._rows = 0

    def remove(self) -> None:
        """Remove the file, once the model is saved, unless it is another run's."""
        if self._read == version(self.path):
            Path(self.path).unlink(missing_ok=True)

    def resume(self) -> ResumePoint | None:
        """Return where to continue; None where there is no file.

        ParameterError where the file belongs to another run.
        """
        clear_unfinished(os.path.dirname(os.path.realpath(self.path)))
        if not os.path.exists(self.path):
            return None
        estimator, progress = self._load()
        self._check_run(estimator, progress)
        self._check_progress(estimator, progress)
        at, several = Position(*progress["at"]), progress["several_labels"]
        return ResumePoint(estimator, progress["passes"], at, several)

    def is_finished(self) -> bool:
        """Whether the model to be updated is already the result of this run.

        If so, a checkpoint that is left of the run is removed. Standard input and pipes cannot be
        compared: without such a checkpoint they count as new.
        """
        last, run = self._last_run, self.run
        if last is None:
            return False
        left = self._load()[1] if os.path.exists(self.path) else {}
        if left.get("base_crc32") == run["base_crc32"]:  # the run was started once more
            return False
        names = ("base", "base_crc32", "inputs", "options")
        left_by_last = all(left.get(name) == last.get(name) for name in names)
        if None in run["heads"] and not left_by_last:
            return False
        if last != {**run, "base_crc32": last.get("base_crc32")}:
            return False
        if left_by_last:
            self.remove()
        return True

    def _load(self) -> tuple[Any, dict[str, Any]]:
        """Return the estimator and the progress of the file."""
        estimator, progress = load_checkpoint(self.path)
        try:
            check_plain(progress, _PROGRESS, "progress")
        except SchemaError as error:
            raise DataError(self.path, f"{error} {_START_OVER}") from None
        return estimator, progress

    def _check_run(self, estimator: Any, progress: dict[str, Any]) -> None:
        """Raise ParameterError where the checkpoint belongs to another run."""
        run, before = self.run, estimator.get_params()
        changes = [
            (name, before.get(name), now)
            for name, now in self.estimator.get_params().items()
            if name not in before or not _are_same(name, now, before[name])
        ]
        if type(estimator) is not type(self.estimator):
            changes = [("method", type(estimator).__name__, type(self.estimator).__name__)]
        others = [
            ("inputs", progress["inputs"], run["inputs"]),
            ("model", progress["base"], run["base"]),
            *(
                (name, progress["options"].get(name), run["options"].get(name))
                for name in (*_OPTIONS, *_MORE_OPTIONS)
            ),
        ]
        changes += [(name, was, now) for name, was, now in others if was != now]
        problems = [f"{name} was {was!r}, now {now!r}" for name, was, now in changes]
        if progress.get("base_crc32", run["base_crc32"]) != run["base_crc32"]:
            problems.append(f"{run['base']} has changed")
        if problems:
            raise another_run(self.path, "; ".join(problems) + ".")

    def _check_progress(self, estimator: Any, progress: dict[str, Any]) -> None:
        """Raise DataError where an input has changed, or this run cannot have been there."""
        inputs, heads, at = self.run["inputs"], progress["heads"], progress["at"]
        passes = 1 if self.run["base"] else most_passes(estimator, estimator.n_features_in_)
        if not (
            0 <= progress["passes"] < passes
            and len(at) == len(Position())
            and min(at) >= 0
            and at[0] < len(inputs) == len(heads)
            and all(head is None or (len(head) == 3 and min(head) >= 0) for head in heads)
        ):
            problem = f"progress: expected that of this run, got another. {_START_OVER}"
            raise DataError(self.path, problem)
        for path, was in zip(inputs, heads, strict=True):
            now = _head(path, None if was is None else was[0])
            if was is not None and (now is None or now[0] < was[0] or now[1] != was[1]):
                problem = f"expected the file that {self.path} was written for, got a changed one."
                raise DataError(path, f"{problem} {_START_OVER}")


def method_in(path: str) -> str | None:
    """Return the name of the method of a checkpoint; None where there is no file."""
    return read_header(path)[0].get("estimator") if os.path.exists(path) else None


def another_run(path: str, difference: str) -> ParameterError:
    """Return the error for a checkpoint of another run."""
    return ParameterError(
        f"{path}: expected a checkpoint of this run, got one of another run: {difference} Repeat "
        "that command, or leave out --resume to start from the beginning."
    )


def _are_same(name: str, now: Any, was: Any) -> bool:
    """Whether a parameter has not changed: 1 is 1.0, but as a size one is a count, one a share."""
    are_equal = is_number(now) and is_number(was) and now == was
    return same(now, was) or (are_equal and name not in ("n_features", "n_components"))


def _head(path: str, size: int | None = None) -> list[int] | None:
    """Return size, checksum of the beginning, and time of change of a regular file, else None.

    With `size`, the beginning is that of a file of so many bytes.
    """
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(BEGINNING if size is None else min(BEGINNING, size))
        found = os.fstat(file.fileno())
    return [found.st_size, zlib.crc32(head), found.st_mtime_ns]
