"""Projectors that learn one row at a time, and what such learning has come to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse

from narrows.families._base import Learnt, absent, naming, take_state, whole
from narrows.families._project import Projector
from narrows.moments.labels import arrivals, one_a_row
from narrows.moments.stats import ClassStats, checked_rows
from narrows.solve.schema import LABELS, NUMBERING, WHOLE, Field, SchemaError, checked
from narrows.solve.span import Span
from narrows.solve.sums import canonical, check_lengths
from narrows.solve.undo import Undo

_SCHEMA = {
    "classes": LABELS,
    "counts": Field("f8", ("c",), WHOLE),
    "column": Field("i8", ("c",), NUMBERING),
    "by_class": Field("b1"),
}


class Core(Protocol):
    """What learns a row at a time, with a sum of rows for each class, by order of arrival."""

    n: int  # rows learnt
    n_features: int

    def add_sums(self, more: int) -> None:
        """Make room for more classes."""

    def learn(self, X: Any, labels: np.ndarray, *how: Any) -> int:
        """Learn rows in order; return how many were learnt."""

    def note(self, X: Any, undo: Undo) -> None:
        """Let `undo` put everything back, if only the samples of X are learned."""

    def widen(self, n_features: int) -> None:
        """Append columns that were 0 so far."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays."""


class Stream:
    """What learning a row at a time has come to, and how often each label came.

    Parameters
    ----------
    core : Core
        What learns, without a class yet.
    by_class : bool
        Keep a sum of rows for each class; else one of all rows.

    Attributes
    ----------
    core
        With the classes in the order in which they came.
    classes, counts : ndarray of shape (c,)
        Labels, sorted, and how many rows each had.
    column : ndarray of shape (c,)
        Which of the classes in order of arrival each of `classes` is.
    """

    _core: ClassVar[Any] = Span

    def __init__(self, core: Any, by_class: bool = True):
        self.core, self.by_class = core, by_class
        if not by_class:
            core.add_sums(1)
        self.classes = np.empty(0, dtype=np.int64)
        self.counts = np.zeros(0)
        self.column = np.empty(0, dtype=np.int64)

    @property
    def n_features(self) -> int:
        """d."""
        return self.core.n_features

    @property
    def n_samples(self) -> int:
        """Rows learnt from, once for each pass."""
        return self.core.n

    def learn(self, X: Any, classes: np.ndarray, codes: np.ndarray, *how: Any) -> None:
        """Learn rows in order; `labels.one_a_row` made the labels."""
        if sparse.issparse(X):
            X = canonical(X)
        places = self.places(classes, codes)
        columns = self.column[places] if self.by_class else np.zeros(len(codes), np.int64)
        learnt = self.core.learn(X, columns, *how)
        self.counts += np.bincount(places[:learnt], minlength=len(self.counts))

    def places(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Make room for new classes, by arrival; say where in `classes` each row's label is."""
        known, column = arrivals(self.classes, self.column, classes, codes)
        counts, new = np.zeros(len(known)), len(known) - len(self.classes)
        counts[np.searchsorted(known, self.classes)] = self.counts
        self.classes, self.counts, self.column = known, counts, column
        if self.by_class and new:
            self.core.add_sums(new)
        return np.searchsorted(self.classes, classes)[codes]

    def note(self, X: Any, undo: Undo) -> None:
        """Let `undo` put everything back as it is now, if only the samples of X are learned."""
        undo.attributes(self)
        undo.array(self.counts)
        self.core.note(X, undo)

    def widen(self, n_features: int) -> Stream:
        """Append columns that were 0 so far, in place."""
        self.core.widen(n_features)
        return self

    def sums(self) -> ClassStats:
        """The class sums as a state of the exact methods."""
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
        """Return the state as named arrays, for `from_arrays`; numbers are kept to the bit."""
        return {
            "classes": self.classes,
            "counts": self.counts,
            "column": self.column,
            "by_class": np.array(self.by_class),
            **self.core.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Stream:
        """Return the state that `to_arrays` described."""
        checked(arrays, _SCHEMA)
        new = cls.__new__(cls)
        new.core, new.by_class = cls._core.from_arrays(arrays), bool(arrays["by_class"])
        counts = arrays["counts"]
        expected = counts[np.argsort(arrays["column"])] if new.by_class else [counts.sum()]
        if not np.array_equal(arrays["N"], expected):
            raise SchemaError("N: expected the counts in the order of column, got others.")
        new.classes = np.array(arrays["classes"])
        new.counts = np.array(arrays["counts"])
        new.column = np.array(arrays["column"])
        return new


class Sequential(Projector):
    """Learns a row at a time, so that it does not matter how the rows come in batches.

    Subclasses give `_new_stream`, and `_how` its rows are learnt.
    """

    _state_type = Stream

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows, one at a time, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Any number of rows, 0 and 1 too; what is learnt does not depend on it.
        y : array-like of shape (n,)
            One label a row, as for `fit`; new classes may come at any time.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of columns, labels of another type, another
            n_components than before where it was chosen. After an error, or an interrupt, the
            estimator is as it was before the call.
        """
        self._learn(X, y)
        return self

    @whole
    def _learn(self, X: Any, y: Any, reducing: bool = False) -> np.ndarray | None:
        """Learn, and return the rows reduced on the way, if they are wanted."""
        fitted = self.__sklearn_is_fitted__()
        X = self._check_X(X, reset=not fitted, ensure_min_samples=0)
        self._check_parameters(X.shape[1])
        classes, codes = self._one_label_a_row(X, y)
        begun = fitted and self._learnt.state.n_samples > 0
        stream = self._learnt.state if begun else self._new_stream(X.shape[1])
        how = self._how(stream)
        reduced = np.zeros((X.shape[0], stream.core.p)) if reducing else None
        learnt = self._learnt if begun else Learnt(stream)
        if fitted:
            learnt.source = self._learnt.source
        undo = Undo()

        def learn() -> np.ndarray | None:
            if begun:
                stream.note(X, undo)
            stream.learn(X, classes, codes, *how, *([reduced] if reducing else []))
            learnt.solution = None
            self._learnt = learnt
            return None if reduced is None else reduced.astype(X.dtype)

        return undo.guard(learn)

    def _empty_state(self, n_features: int) -> Any:
        """Return a state with nothing in it yet."""
        return self._new_stream(n_features)

    def _update_state(self, state: Any, X: Any, y: Any) -> Any:
        """Learn rows in order, in place."""
        X = checked_rows(X, type(self).__name__)
        with naming(self):
            classes, codes = self._one_label_a_row(X, y)
            state.learn(X, classes, codes, *self._how(state))
        return state

    def _fit_state(self, state: Any) -> Self:
        """Take this state for what was learnt."""
        return take_state(self, state)

    merge = absent("merge", "for what it learns depends on the order of all rows")
    fit_stats = absent(
        "fit_stats", "for what it learns depends on the order of the rows, which sums do not tell"
    )

    @abstractmethod
    def _new_stream(self, n_features: int) -> Stream:
        """A stream with nothing in it yet."""

    @abstractmethod
    def _how(self, stream: Stream) -> tuple[Any, ...]:
        """What `Core.learn` has to be told beside the rows, by the parameters of now."""

    def _finish(self, stream: Stream) -> Self:
        self._check_two_classes(stream)
        self._learnt = Learnt(stream)
        return self

    def _one_label_a_row(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        check_lengths(X)
        return one_a_row(X, self._labels(X, y), type(self).__name__)
