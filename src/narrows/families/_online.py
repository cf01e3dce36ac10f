"""Projectors that learn one sample at a time, on the engine of `narrows.solve.span`."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from narrows.criteria import Criterion
from narrows.errors import ParameterError
from narrows.families._base import Learnt, is_number, unchanged_on_error
from narrows.families._project import Directions, Projector
from narrows.labels import one_a_row, union
from narrows.solve.exact import set_signs
from narrows.solve.span import Rule, Span, Start
from narrows.solve.sums import blocks, canonical
from narrows.stats import ClassStats, checked_rows

_SHUFFLED_ROWS = 1 << 16  # so many rows at a time are put into their order of a pass


class Stream:
    """What an online projector has learnt: its vectors, and how often each label came.

    Parameters
    ----------
    n_features, n_components : int
        d and p.
    by_class : bool
        Keep a sum of rows for each class; else one of all rows.

    Attributes
    ----------
    span : Span
        The vectors and the sums, in the order in which classes came.
    classes, counts : ndarray of shape (c,)
        Labels, sorted, and how many rows each had.
    column : ndarray of shape (c,)
        Which of the classes in order of arrival each of `classes` is.
    """

    def __init__(self, n_features: int, n_components: int, by_class: bool):
        self.span = Span(n_features, n_components)
        self.by_class = by_class
        if not by_class:
            self.span.add_sums(1)
        self.classes = np.empty(0, dtype=np.int64)
        self.counts = np.zeros(0)
        self.column = np.empty(0, dtype=np.int64)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.span.Q)

    @property
    def n_samples(self) -> int:
        """Rows learnt from, once for each pass."""
        return self.span.n

    def learn(
        self,
        X: Any,
        classes: np.ndarray,
        codes: np.ndarray,
        rule: Rule,
        start: Start,
        reduced: np.ndarray | None = None,
    ) -> None:
        """Learn rows in order; `labels.one_a_row` made the labels."""
        if sparse.issparse(X):
            X = canonical(X)
        places = self._places(classes, codes)
        columns = self.column[places] if self.by_class else np.zeros(len(codes), np.int64)
        learnt = self.span.learn(X, columns, rule, start, reduced)
        self.counts += np.bincount(places[:learnt], minlength=len(self.counts))

    def _places(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Make room for new classes, by arrival; say where in `classes` each row's label is."""
        merged = union(self.classes, classes)
        first = np.full(len(classes), len(codes))
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several the last one written stays
        given = np.searchsorted(merged, classes)
        old = np.searchsorted(merged, self.classes)
        counts, column = np.zeros(len(merged)), np.full(len(merged), -1)
        counts[old], column[old] = self.counts, self.column
        order = np.argsort(first)
        new = order[(column[given[order]] < 0) & (first[order] < len(codes))]
        column[given[new]] = np.arange(len(self.classes), len(self.classes) + len(new))
        came = column >= 0  # of the classes of a whole data set some may be in later batches
        self.classes, self.counts, self.column = merged[came], counts[came], column[came]
        if self.by_class and len(new):
            self.span.add_sums(len(new))
        return np.searchsorted(self.classes, classes)[codes]

    def snapshot(self, X: Any) -> Callable[[], None]:
        """Return what puts everything back as it is now, if only the rows of X are learnt."""
        few = sparse.issparse(X) and X.nnz < X.shape[1] and self.span.shift is None
        before = {**vars(self), "counts": self.counts.copy()}
        restore_span = self.span.snapshot(X.indices if few else slice(None))

        def restore() -> None:
            vars(self).update(before)
            restore_span()

        return restore

    def widen(self, n_features: int) -> Stream:
        """Append columns that were 0 so far, in place."""
        self.span.widen(n_features)
        return self

    def sums(self) -> ClassStats:
        """The class sums as a state of the exact methods."""
        arrays = {
            "classes": self.classes,
            "counts": self.counts,
            "sums": self.span.sums[self.column],
            "n_samples": np.array(self.n_samples),
            "presence": np.array(False),
        }
        if self.span.shift is not None:
            arrays["origin"] = self.span.shift
        return ClassStats.from_arrays(arrays)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers are kept to the bit."""
        return {
            "classes": self.classes,
            "counts": self.counts,
            "column": self.column,
            "by_class": np.array(self.by_class),
            **self.span.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Stream:
        """Return the state that `to_arrays` described."""
        new = cls(0, 0, bool(arrays["by_class"]))
        new.span = Span.from_arrays(arrays)
        new.classes = np.array(arrays["classes"])
        new.counts = np.array(arrays["counts"])
        new.column = np.array(arrays["column"])
        return new


class OnlineProjector(Projector):
    """One step of an iteration for each sample. Subclasses give `_criterion`.

    The iterates are those of the papers' tables, in the order of the rows, and do not depend on
    how the rows come in batches.
    """

    _state_type = Stream
    _by_class: ClassVar[bool] = True  # False for a criterion that knows no classes
    _start: ClassVar[Start] = "centred"
    _exact: ClassVar[str]  # what to use where states have to add up

    tol: float | None
    patience: int
    early_stopping: bool
    orthonormalize: bool
    passes: int
    shuffle: bool
    random_state: Any

    # -- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows, one at a time: `passes` times in their order, or shuffled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,)
            One label a row. Only methods whose criterion knows no classes do without.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, several labels a row, NaN or infinity, or a parameter that
            does not fit the data. The estimator is then as it was before.
        """
        with unchanged_on_error(self):
            X = self._check_X(X, reset=True)
            self._check_parameters(X.shape[1])
            stream = self.empty_state(X.shape[1])
            classes, codes = self._one_label_a_row(X, y)
            rng = check_random_state(self.random_state)
            for _ in range(self.passes):
                for X_part, part in self._in_order(X, codes, rng):
                    stream.learn(X_part, classes, part, self._rule(stream), self._start)
            return self._finish(stream)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows, one at a time, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Any number of rows, 0 and 1 too; the iterates do not depend on it.
        y : array-like of shape (n,)
            One label a row, as for `fit`; new classes may come at any time.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of columns, labels of another type, another
            n_components than before. After an error, or an interrupt, the estimator is as it was
            before the call.
        """
        self._learn(X, y)
        return self

    def transform_while_learning(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn as `partial_fit` does, and reduce each row by what was learnt up to and with it.

        Parameters
        ----------
        X, y
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n, p)
            Row i is W(i)'x(i), with the columns of W(i) those of the moment, v_j(i) / |v_j(i)|, and
            0 for a component that has not started. Their signs are the iteration's own, which
            do not jump from row to row; `components_` and `transform` set signs by a rule.

        Notes
        -----
        **Cost** a row: that of `partial_fit` and O(p (p + c)), O(p^3) with `orthonormalize`.
        """
        return self._learn(X, y, reducing=True)

    def _learn(self, X: Any, y: Any, reducing: bool = False) -> np.ndarray:
        """Learn, and return the rows reduced on the way, if they are wanted."""
        with unchanged_on_error(self):
            fitted = self.__sklearn_is_fitted__()
            X = self._check_X(X, reset=not fitted, ensure_min_samples=0)
            self._check_parameters(X.shape[1])
            classes, codes = self._one_label_a_row(X, y)
            begun = fitted and self._learnt.state.n_samples > 0
            stream = self._learnt.state if begun else self.empty_state(X.shape[1])
            if stream.span.p != self._p(X.shape[1]):
                raise ParameterError(
                    f"{type(self).__name__}: n_components={self.n_components}, but "
                    f"{stream.span.p} were begun with. Use fit to begin anew."
                )
            reduced = np.zeros((X.shape[0], stream.span.p)) if reducing else None
            learnt = self._learnt if begun else Learnt(stream)
            if fitted:
                learnt.source = self._learnt.source
            # taken back where anything fails, at whatever moment
            restore = stream.snapshot(X) if begun else None
            try:
                stream.learn(X, classes, codes, self._rule(stream), self._start, reduced)
                learnt.solution = None
                self._learnt = learnt
            except BaseException:
                if restore is not None:
                    restore()
                raise
        return np.zeros((0, 0)) if reduced is None else reduced.astype(X.dtype)

    def empty_state(self, n_features: int) -> Stream:
        """Return a state with nothing in it yet."""
        return Stream(n_features, self._p(n_features), self._by_class)

    def update_state(self, state: Stream, X: Any, y: Any) -> Stream:
        """Learn rows in order, in place, as `partial_fit` does."""
        X = checked_rows(X, type(self).__name__)
        classes, codes = self._one_label_a_row(X, y)
        state.learn(X, classes, codes, self._rule(state), self._start)
        return state

    def fit_state(self, state: Stream) -> Self:
        """Take this state for what was learnt."""
        with unchanged_on_error(self):
            self._check_parameters(state.n_features)
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self.n_features_in_ = state.n_features
            return self._finish(state)

    def passes_in_order(self) -> int:
        """How often `fit` goes through the rows, if it takes them in the order of a file."""
        if self.shuffle:
            raise ParameterError(
                f"{type(self).__name__}: shuffle=True, but a file is learnt in its own order. "
                "Shuffle the file, or use fit in Python."
            )
        return self.passes

    @property
    def merge(self) -> NoReturn:
        """Not to be had: iterates do not add up. The AttributeError names what does."""
        raise AttributeError(
            f"{type(self).__name__} has no merge, for its iterates depend on the order of all "
            f"rows and do not add up. Use {self._exact}."
        )

    @property
    def fit_stats(self) -> NoReturn:
        """Not to be had: sums do not tell the iterates. The AttributeError names what to use."""
        raise AttributeError(
            f"{type(self).__name__} has no fit_stats, for its iterates depend on the order of the "
            f"rows, which sums do not tell. Use {self._exact}."
        )

    # -- reading ----------------------------------------------------------------------------

    @property
    def n_samples_still_(self) -> int | None:
        """The n at which `tol` had held for `patience` samples in a row for the first time.

        None as long as it has not.
        """
        return self._state.span.still

    # -- inside -----------------------------------------------------------------------------

    @abstractmethod
    def _criterion(self) -> Criterion:
        """What is maximised."""

    def _particulars(self, p: int, n_features: int) -> dict[str, Any]:
        """What else `Rule` has to say of this method."""
        return {}

    def _rule(self, stream: Stream) -> Rule:
        """The iteration, by the parameters of now."""
        criterion, p = self._criterion(), stream.span.p
        rule = Rule(
            between=criterion.between,
            total=criterion.total,
            theta=np.zeros(p),
            with_u=criterion.total != 0,
            tol=float(self.tol or 0.0),
            patience=float(self.patience),
            least=2 if self._by_class else 0,
            stop=bool(self.early_stopping),
            orthonormal=bool(self.orthonormalize),
        )
        return rule._replace(**self._particulars(p, stream.n_features))

    def _finish(self, stream: Stream) -> Self:
        self._check_two_classes(stream)
        self._learnt = Learnt(stream)
        return self

    def _p(self, n_features: int) -> int:
        return min(2, n_features) if self.n_components is None else self.n_components

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths

    def _solve(self, state: Stream) -> Directions:
        W = state.span.directions(self.orthonormalize)
        return Directions(set_signs(W), self._eigenvalues(state.span), available=W.shape[1])

    def _one_label_a_row(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        return one_a_row(X, self._labels(X, y), type(self).__name__)

    def _in_order(
        self, X: Any, codes: np.ndarray, rng: np.random.RandomState
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """The rows and labels of one pass, a part at a time."""
        if not self.shuffle:
            yield X, codes
            return
        order = rng.permutation(len(codes))
        for part in blocks(len(codes), _SHUFFLED_ROWS):
            yield X[order[part]], codes[order[part]]

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name, p = type(self).__name__, self.n_components
        if p is not None and p > n_features:
            raise ParameterError(
                f"{name}: n_components={p}, but the data have n_features={n_features}. "
                f"Use n_components<={n_features}."
            )
        for key in ("patience", "passes"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
                raise ParameterError(
                    f"{name}: {key} must be a whole number >= 1, but {value!r} came."
                )
        if self.tol is not None and not is_number(self.tol, 0, above=True):
            raise ParameterError(
                f"{name}: tol must be a number > 0 or None, but {self.tol!r} came."
            )
        for key in ("early_stopping", "orthonormalize", "shuffle"):
            value = getattr(self, key)
            if not isinstance(value, bool | np.bool_):
                raise ParameterError(f"{name}: {key} must be True or False, but {value!r} came.")
        if self.early_stopping and self.tol is None:
            raise ParameterError(f"{name}: early_stopping needs a tol; 0.06 is the papers'.")
