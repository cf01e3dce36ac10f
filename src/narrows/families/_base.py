"""What all estimators share: fit, partial_fit, merge, fit_stats and transform, written once.

`Selector` and `Projector` are the two solution spaces on an additive state. A method is one of
them with a constructor, and the function from its state to its answer (`_score` or `_directions`).
"""

from __future__ import annotations

import numbers
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from narrows.errors import ParameterError
from narrows.solve import columns
from narrows.solve.exact import set_signs
from narrows.stats import ClassStats, Second


class _Learnt:
    """All that an estimator has learnt: its state, and what was computed from it when read.

    `source` says how files became the columns (`narrows.read.Source`); it travels with a model.
    """

    def __init__(self, state: ClassStats, source: Any = None):
        self.state, self.source = state, source
        self.solution: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "solution": None}


@contextmanager
def _unchanged_on_error(estimator: Any) -> Iterator[None]:
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class _Additive(TransformerMixin, BaseEstimator):
    """An estimator whose answer is a function of a `ClassStats`."""

    _second: ClassVar[Second] = None
    _presence: ClassVar[bool] = False
    _learnt: _Learnt
    n_features_in_: int

    # -- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows at once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels; or a 0-1 indicator matrix, where every (row, class) pair counts as a row.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0; a weight of 2 is a row that came twice.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes of positive weight, all weights zero, NaN or infinity, or a
            parameter that does not fit the data. The estimator is then as it was before.
        """
        with _unchanged_on_error(self):
            X = self._check_X(X, reset=True)
            self._check_parameters(X.shape[1])
            stats = self._update(self.empty_stats(X.shape[1]), X, y, sample_weight)
            if X.shape[0] and not stats.n:
                raise ValueError(
                    f"{type(self).__name__}: every sample has zero weight. "
                    "At least two classes need rows of positive sample_weight."
                )
            return self._finish(stats)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows; the answer is that of `fit` on all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Any number of rows, 0 and 1 too.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels as for `fit`; new classes may come at any time.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of columns, labels of another type. The estimator
            is then as it was before.
        """
        with _unchanged_on_error(self):
            fitted = self.__sklearn_is_fitted__()
            X = self._check_X(X, reset=not fitted, ensure_min_samples=0)
            self._check_parameters(X.shape[1])
            if fitted:
                self._update(self._learnt.state, X, y, sample_weight)
                self._learnt.solution = None
            else:
                stats = self.empty_stats(X.shape[1])
                self._learnt = _Learnt(self._update(stats, X, y, sample_weight))
        return self

    def fit_stats(self, stats: ClassStats) -> Self:
        """Learn from a state instead of rows: `fit` of the rows it was made of.

        Parameters
        ----------
        stats : ClassStats
            Of this method's kind (`empty_stats` makes one); it is copied. One that also holds
            second moments will do.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            A state of another kind, or one that `fit` would refuse.
        """
        with _unchanged_on_error(self):
            self._check_kind(stats)
            self._check_parameters(stats.n_features)
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self.n_features_in_ = stats.n_features
            return self._finish(stats.reduced(self._second))

    def merge(self, *others: Self) -> Self:
        """Add what other estimators of the same method and parameters have learnt, in place.

        The answer is that of one estimator that saw all their rows. Nothing is shared with the
        others afterwards. O(c d) for each.

        Parameters
        ----------
        *others : estimators of this class
            Fitted. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Another method, other parameters (named), columns or kind of state.
        """
        for other in others:
            self._check_mergeable(other)
        with _unchanged_on_error(self):
            learnt = [e._learnt for e in (self, *others) if e.__sklearn_is_fitted__()]
            if not others or not learnt:
                return self
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(others[0], name):
                    setattr(self, name, getattr(others[0], name))
            total = learnt[0].state.copy()
            for more in learnt[1:]:
                total += more.state
            self._learnt = _Learnt(total, learnt[0].source)
        return self

    def empty_stats(self, n_features: int) -> ClassStats:
        """Return a state of the kind that `fit_stats` wants, with nothing in it yet."""
        return ClassStats(n_features, second=self._second, presence=self._presence)

    # -- reading ----------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, sorted; of shape (c,)."""
        stats = self._state
        return stats.classes[stats.counts > 0]

    @property
    def class_count_(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (c,)."""
        counts = self._state.counts
        return counts[counts > 0]

    @property
    def n_samples_seen_(self) -> int:
        """How many rows have been learnt from, whatever their weights and number of labels."""
        return self._state.n_samples

    @property
    def source_(self) -> Any:
        """How files became columns, for a model that was fitted to files; else None."""
        check_is_fitted(self)
        return self._learnt.source

    def remember(self, source: Any) -> Self:
        """Keep, with what has been learnt, how files became columns (`narrows.read.Source`)."""
        check_is_fitted(self)
        self._learnt.source = source
        return self

    @property
    def _state(self) -> ClassStats:
        check_is_fitted(self)
        return self._learnt.state

    @property
    def _solution(self) -> Any:
        check_is_fitted(self)
        if self._learnt.solution is None:
            self._learnt.solution = self._solve(self._learnt.state)
        return self._learnt.solution

    # -- inside -----------------------------------------------------------------------------

    @abstractmethod
    def _solve(self, stats: ClassStats) -> Any:
        """The answer, from the state; the parameters are known to be in range."""

    @abstractmethod
    def _check_solution(self, solution: Any, stats: ClassStats) -> None:
        """Raise where the answer is not the one asked for: `fit` does, a stream waits."""

    def _check_parameters(self, n_features: int) -> None:
        """Raise ParameterError where a parameter is out of range for this many columns."""
        if isinstance(self.priors, str):
            ClassStats(0).priors(self.priors)

    def _finish(self, stats: ClassStats) -> Self:
        classes = int((stats.counts > 0).sum())
        if classes < 2:
            raise ValueError(
                f"{type(self).__name__}: two classes of positive weight wanted, but "
                f"{classes} class{'' if classes == 1 else 'es'} came. "
                "Check the labels, or use partial_fit while classes are still to come."
            )
        learnt = _Learnt(stats)
        learnt.solution = self._solve(stats)
        self._check_solution(learnt.solution, stats)
        self._learnt = learnt
        return self

    def _update(self, stats: ClassStats, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one label a row, or a 0-1 indicator matrix."
            )
        return stats.update(X, y, sample_weight, check_input=False)

    def _check_X(self, X: Any, **options: Any) -> Any:
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options
        )

    def _check_kind(self, stats: ClassStats) -> None:
        name = type(self).__name__
        if not isinstance(stats, ClassStats):
            raise TypeError(
                f"{name}: fit_stats wants a ClassStats, but {type(stats).__name__} came. "
                "Use fit for rows."
            )
        kinds = (None, "total", "class")
        if stats.presence != self._presence or kinds.index(stats.second) < kinds.index(
            self._second
        ):
            raise ValueError(
                f"{name}: a state with second={self._second!r} and presence={self._presence} "
                f"wanted, but second={stats.second!r} and presence={stats.presence} came. "
                f"Make it with ClassStats.of(X, y, second={self._second!r}, "
                f"presence={self._presence})."
            )

    def _check_mergeable(self, other: Any) -> None:
        name = type(self).__name__
        if type(other) is not type(self):
            raise ValueError(
                f"{name}: only an {name} can be merged in, but {type(other).__name__} came."
            )
        check_is_fitted(other)
        mine, theirs = self.get_params(), other.get_params()
        unlike = [key for key in mine if not np.array_equal(mine[key], theirs[key])]
        if unlike:
            raise ValueError(
                f"{name}: only an estimator of the same parameters can be merged in, but "
                + ", ".join(f"{key} is {mine[key]!r} here, {theirs[key]!r} there" for key in unlike)
                + ". Use set_params first if that is what you want."
            )
        if not self.__sklearn_is_fitted__():
            return
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(
                f"{name}: {self.n_features_in_} columns wanted, but an estimator of "
                f"{other.n_features_in_} columns came. Fit both to the same columns."
            )
        names, its = (getattr(e, "feature_names_in_", ()) for e in (self, other))
        if not np.array_equal(names, its) or self.source_ != other.source_:
            raise ValueError(
                f"{name}: the columns of the two do not have the same names or origin. "
                "Fit both to the same columns, in the same order."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass
class _Selection:
    """Columns by rank, and the best of them."""

    scores: np.ndarray
    n_features: int | float | None
    wanted_energy: float | None
    threshold: float | None
    order: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.order = columns.rank(self.scores)

    @cached_property
    def energy(self) -> np.ndarray:
        return columns.energy_curve(self.scores[self.order])

    @cached_property
    def n_positive(self) -> int:
        return int((self.scores > 0).sum())

    @cached_property
    def size(self) -> int:
        d = len(self.scores)
        if self.n_features is not None:
            if isinstance(self.n_features, numbers.Integral):
                return min(int(self.n_features), d)
            return max(1, int(self.n_features * d))
        if self.threshold is not None:
            return columns.count_by_threshold(self.scores[self.order], self.threshold)
        return columns.count_by_energy(self.energy, self.wanted_energy or 0.8)

    @cached_property
    def mask(self) -> np.ndarray:
        mask = np.zeros(len(self.scores), dtype=bool)
        mask[self.order[: self.size]] = True
        return mask


class Selector(SelectorMixin, _Additive):
    """Picks columns by score: W is a 0-1 matrix. Subclasses give `_score`."""

    @abstractmethod
    def _score(self, stats: ClassStats) -> np.ndarray:
        """Scores of shape (d,)."""

    @property
    def scores_(self) -> np.ndarray:
        """The score of each column, of shape (d,)."""
        return self._solution.scores

    @property
    def energy_(self) -> np.ndarray:
        """E(p) for p = 1..d: the share of all positive score in the p best columns."""
        return self._solution.energy

    @property
    def n_features_(self) -> int:
        """How many columns are kept."""
        return self._solution.size

    @property
    def n_positive_(self) -> int:
        """How many columns have a positive score."""
        return self._solution.n_positive

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of X, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        X_r : {ndarray, sparse matrix} of shape (n, n_features_)
            In X's float type (float64 for others); CSR for sparse X.
        """
        chosen = self.get_support(indices=True)
        X = self._check_X(X, reset=False)
        self._check_solution(self._solution, self._state)
        return X[:, chosen]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the kept columns.

        Parameters
        ----------
        input_features : array-like of str of shape (d,), optional
            Names of all columns; those seen in `fit`, or x0, x1, … where left out.

        Returns
        -------
        names : ndarray of shape (n_features_,), of str objects
        """
        if input_features is None and not hasattr(self, "feature_names_in_") and self.source_:
            input_features = self.source_.names
        return super().get_feature_names_out(input_features)

    def _get_support_mask(self) -> np.ndarray:
        return self._solution.mask

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name = type(self).__name__
        given = {
            key: value
            for key in ("n_features", "energy", "threshold")
            if (value := getattr(self, key)) is not None
        }
        if len(given) > 1:
            raise ParameterError(
                f"{name}: at most one of n_features, energy and threshold wanted, but "
                + " and ".join(f"{key}={value!r}" for key, value in given.items())
                + " came. Leave all but one out."
            )
        for key, value in given.items():
            if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
                raise ParameterError(f"{name}: {key} must be a number, but {value!r} came.")
        p, energy, threshold = self.n_features, self.energy, self.threshold
        whole = isinstance(p, numbers.Integral)
        if p is not None and not (p >= 1 if whole else 0 < p <= 1):
            raise ParameterError(
                f"{name}: n_features must be a whole number >= 1, or a fraction in (0, 1] of "
                f"the columns, but {p!r} came."
            )
        if whole and p > n_features:
            raise ParameterError(
                f"{name}: n_features={p}, but there are only {n_features} columns. "
                f"Use n_features<={n_features}, or a fraction such as 0.1."
            )
        if energy is not None and not 0 < energy <= 1:
            raise ParameterError(f"{name}: energy must be in (0, 1], but {energy!r} came.")
        if threshold is not None and not np.isfinite(threshold):
            raise ParameterError(f"{name}: threshold must be finite, but {threshold!r} came.")

    def _solve(self, stats: ClassStats) -> _Selection:
        selection = _Selection(self._score(stats), self.n_features, self.energy, self.threshold)
        if not selection.n_positive:
            warnings.warn(
                f"{type(self).__name__}: no column has a positive score, so none tells the "
                f"classes apart; {selection.size} of {len(selection.scores)} columns are kept.",
                UserWarning,
                stacklevel=4,
            )
        return selection

    def _check_solution(self, solution: _Selection, stats: ClassStats) -> None:
        if not solution.size:
            raise ValueError(
                f"{type(self).__name__}: no score reaches threshold={solution.threshold}; the "
                f"largest is {solution.scores.max():g}. Use a lower threshold."
            )


@dataclass
class _Directions:
    """W with one direction a column, best first, and what the criterion gives each."""

    W: np.ndarray
    eigenvalues: np.ndarray
    available: int
    in_type: dict[Any, np.ndarray] = field(default_factory=dict)

    def of_type(self, dtype: Any) -> np.ndarray:
        if dtype not in self.in_type:
            self.in_type[dtype] = self.W.astype(dtype, copy=False)
        return self.in_type[dtype]


class Projector(ClassNamePrefixFeaturesOutMixin, _Additive):
    """Projects onto a few directions: W is real. Subclasses give `_directions`."""

    @abstractmethod
    def _directions(self, stats: ClassStats) -> tuple[np.ndarray, np.ndarray]:
        """(eigenvalues (p,) descending, W (d, p) orthonormal), all there are."""

    @abstractmethod
    def _limit(self, classes: int) -> tuple[int, str]:
        """The most directions that so many classes can have, and what to use for more."""

    @property
    def components_(self) -> np.ndarray:
        """The directions, W', of shape (p, d); largest eigenvalue first."""
        return self._solution.W.T

    @property
    def eigenvalues_(self) -> np.ndarray:
        """What the criterion gives each direction, w'Aw, of shape (p,), descending."""
        return self._solution.eigenvalues

    def transform(self, X: Any) -> Any:
        """Project X: X W, not centred.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        X_r : ndarray of shape (n, p)
            In X's float type (float64 for others).
        """
        solution = self._solution
        X = self._check_X(X, reset=False)
        if not solution.W.shape[1]:
            raise NotFittedError(
                f"{type(self).__name__}: there is no direction yet: {len(self.classes_)} "
                "class(es) seen, with equal means if more than one. Go on with partial_fit."
            )
        return X @ solution.of_type(X.dtype)

    @property
    def _n_features_out(self) -> int:
        return self._solution.W.shape[1]

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        p = self.n_components
        if p is not None and (isinstance(p, bool) or not isinstance(p, numbers.Integral) or p < 1):
            raise ParameterError(
                f"{type(self).__name__}: n_components must be a whole number >= 1 or None, "
                f"but {p!r} came."
            )

    def _solve(self, stats: ClassStats) -> _Directions:
        eigenvalues, W = self._directions(stats)
        p = self.n_components
        W = np.ascontiguousarray(W[:, :p])
        return _Directions(set_signs(W), eigenvalues[:p], available=len(eigenvalues))

    def _check_solution(self, solution: _Directions, stats: ClassStats) -> None:
        name, p, rank = type(self).__name__, self.n_components, solution.available
        if not rank:
            raise ValueError(
                f"{name}: the classes have equal means, so no direction tells them apart. "
                "Check that the rows and the labels belong together."
            )
        if p is None or p <= rank:
            return
        c = int((stats.counts > 0).sum())
        most, otherwise = self._limit(c)
        reason = (
            f"{c} classes have at most {most} direction{'s' if most > 1 else ''}"
            if rank == most
            else f"the means of these {c} classes in {stats.n_features} columns span only {rank}"
        )
        raise ParameterError(
            f"{name}: n_components={p}, but {reason}. Use n_components<={rank}"
            + (f", or {otherwise}." if otherwise and rank == most else ".")
        )
