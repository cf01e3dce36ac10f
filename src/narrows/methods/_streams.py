"""States of methods that learn one sample at a time: classes are numbered by order of arrival."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from narrows.state.labels import arrivals
from narrows.state.stats import ClassStats
from narrows.solve.schema import LABELS, NUMBERING, WHOLE, Field, SchemaError, checked
from narrows.solve.span import Span
from narrows.solve.sums import canonical
from narrows.solve.undo import Undo

_SCHEMA = {
    "classes": LABELS,
    "counts": Field("f8", ("c",), WHOLE),
    "column": Field("i8", ("c",), NUMBERING),
    "by_class": Field("b1"),
}


class Arrivals:
    """A solver that learns one sample at a time, and the labels of its classes.

    Parameters
    ----------
    core
        The solver, without a class yet.

    Attributes
    ----------
    core
        With the classes in order of arrival.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    column : ndarray of shape (n_classes,)
        The number, in order of arrival, of each of `classes`.
    """

    def __init__(self, core: Any):
        self.core = core
        self.classes = np.empty(0, dtype=np.int64)
        self.column = np.empty(0, dtype=np.int64)

    @property
    def n_features(self) -> Any:
        """The number of features."""
        return self.core.n_features

    @property
    @abstractmethod
    def started(self) -> bool:
        """Whether there is anything that a new state does not have."""

    def places(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Number new labels by arrival; return the place in `classes` of each sample's label."""
        known, column = arrivals(self.classes, self.column, classes, codes)
        if len(known) > len(self.classes):
            self._make_room(known)
        self.classes, self.column = known, column
        return np.searchsorted(known, classes)[codes]

    @abstractmethod
    def _make_room(self, known: np.ndarray) -> None:
        """Make room for the labels that are not in `classes` yet."""

    @abstractmethod
    def learn(
        self, X: Any, labels: Any, how: Any, reducing: bool = False, undo: Undo | None = None
    ) -> np.ndarray | None:
        """Learn samples in order; with `reducing`, return each reduced by the W after it.

        `undo` notes what changes in place.
        """

    def widen(self, n_features: int) -> Self:
        """Append features that are 0 so far, in place."""
        self.core.widen(n_features)
        return self


class Stream(Arrivals):
    """A solver with a sum of samples for each class, and how many samples each label had.

    Parameters
    ----------
    core
        The solver, without a class yet. `n` is the number of samples that it learned, `add_sums`
        makes room for classes, `note` lets an `Undo` restore it, and `learn` returns how many
        samples it learned.
    by_class : bool
        Whether `core` has a sum of samples for each class, or one of all samples.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        The number of samples of each of `classes`.
    """

    _core: ClassVar[Any] = Span

    def __init__(self, core: Any, by_class: bool = True):
        super().__init__(core)
        self.by_class = by_class
        self.counts = np.zeros(0)
        if not by_class:
            core.add_sums(1)

    @property
    def n_samples(self) -> Any:
        """The number of samples learned, counted in each pass."""
        return self.core.n

    @property
    def started(self) -> bool:
        """Whether samples were learned."""
        return bool(self.n_samples)

    def learn(
        self, X: Any, labels: Any, how: Any, reducing: bool = False, undo: Undo | None = None
    ) -> np.ndarray | None:
        """Learn samples in order; `labels.one_a_row` made the labels."""
        if undo is not None:
            undo.attributes(self)
            undo.array(self.counts)
            self.core.note(X, undo)
        if sparse.issparse(X):
            X = canonical(X)
        places = self.places(*labels)
        columns = self.column[places] if self.by_class else np.zeros(len(places), np.int64)
        reduced = np.zeros((X.shape[0], self.core.p)) if reducing else None
        learned = self.core.learn(X, columns, *how, *([reduced] if reducing else []))
        self.counts += np.bincount(places[:learned], minlength=len(self.counts))
        return None if reduced is None else reduced.astype(X.dtype)

    def _make_room(self, known: np.ndarray) -> None:
        counts, new = np.zeros(len(known)), len(known) - len(self.classes)
        counts[np.searchsorted(known, self.classes)] = self.counts
        self.counts = counts
        if self.by_class:
            self.core.add_sums(new)

    def sums(self) -> ClassStats:
        """Return the class sums as a state of the exact methods."""
        arrays = {
            "classes": self.classes,
            "counts": self.counts,
            "sums": self.core.sums[self.column],
            "n_samples": np.array(self.n_samples),
            "presence": np.array(False),
        }
        if self.core.shift is not None:
            arrays["origin"] = self.core.shift
        return ClassStats.from_arrays(arrays)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`, without rounding."""
        return {
            "classes": self.classes,
            "counts": self.counts,
            "column": self.column,
            "by_class": np.array(self.by_class),
            **self.core.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described."""
        checked(arrays, _SCHEMA)
        new = cls.__new__(cls)
        new.core, new.by_class = cls._core.from_arrays(arrays), bool(arrays["by_class"])
        counts = arrays["counts"]
        expected = counts[np.argsort(arrays["column"])] if new.by_class else [counts.sum()]
        if not np.array_equal(arrays["N"], expected):
            raise SchemaError("N: expected the counts in the order of column, got others.")
        for name in ("classes", "counts", "column"):
            setattr(new, name, np.array(arrays[name]))
        return new
