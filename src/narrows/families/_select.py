"""Selection: the solution space of 0-1 matrices W that pick columns."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin

from narrows.families._additive import Additive
from narrows.families._base import read_only
from narrows.families._elsewhere import also_dask
from narrows.moments.stats import ClassStats
from narrows.solve import columns
from narrows.solve.errors import ParameterError, warn

_SIZES = ("n_features", "energy", "threshold", "per_class")


class Scores(NamedTuple):
    """What a criterion says of each column.

    Parameters
    ----------
    values : ndarray of shape (d,)
        The scores that columns are ranked by.
    varies : ndarray of bool of shape (d,), optional
        Columns that do not vary rank last, whatever their score; all vary if left out.
    gain : ndarray of shape (d,), optional
        What energy is the share of; the scores if left out.
    """

    values: np.ndarray
    varies: np.ndarray | None = None
    gain: np.ndarray | None = None

    @classmethod
    def of_spread(cls, values: np.ndarray, varies: np.ndarray) -> Self:
        """Scores of a criterion that is 0, but for rounding, where a column does not vary."""
        return cls(np.where(varies, values, 0.0), varies)


class Selection:
    """Columns by rank, and the best of them, each part worked out when it is first read."""

    def __init__(self, scores: Scores, sizes: dict[str, Any], class_scores: Any):
        self.scores, self.varies, gain = scores
        self.gain = self.scores if gain is None else gain
        self._sizes, self._class_scores = sizes, class_scores
        self.by_energy = all(size is None for key, size in sizes.items() if key != "energy")
        self.order = columns.rank(self.scores, self.varies)

    @cached_property
    def energy(self) -> np.ndarray:
        return columns.energy_curve(self.gain[self.order])

    @cached_property
    def n_positive(self) -> int:
        return int((self.scores > 0).sum())

    @cached_property
    def mask(self) -> np.ndarray:
        """The columns that are kept, by the one size that was asked for."""
        given = (item for item in self._sizes.items() if item[1] is not None)
        kind, size = next(given, ("energy", 0.8))
        if kind == "threshold":
            return self.scores >= size
        mask = np.zeros(len(self.scores), dtype=bool)
        if kind == "per_class":
            for scores in self._class_scores():
                mask[columns.rank(scores, self.varies)[:size]] = True
            return mask
        if kind == "energy":
            size = columns.count_by_energy(self.energy, size)
        mask[self.order[: columns.count_wanted(size, len(mask))]] = True
        return mask

    @cached_property
    def size(self) -> int:
        return int(self.mask.sum())


class Selector(SelectorMixin, Additive):
    """Picks columns by score. Subclasses give `_score`."""

    @abstractmethod
    def _score(self, stats: ClassStats) -> Scores:
        """The scores of all columns."""

    def _class_scores(self, stats: ClassStats) -> np.ndarray:
        """Scores of shape (c, d) for the classes with p_j > 0, where the criterion has any."""
        raise TypeError(f"{type(self).__name__} has no scores for each class.")

    @property
    def scores_(self) -> np.ndarray:
        """The score of each column, of shape (d,)."""
        return read_only(self._solution.scores)

    @property
    def energy_(self) -> np.ndarray:
        """E(p) for p = 1..d: the share of all positive score in the p best columns."""
        return read_only(self._solution.energy)

    @property
    def n_features_(self) -> int:
        """How many columns are kept."""
        return self._solution.size

    @property
    def n_positive_(self) -> int:
        """How many columns have a positive score."""
        return self._solution.n_positive

    @property
    def ranking_(self) -> np.ndarray:
        """The columns from the best to the worst, of shape (d,)."""
        return read_only(self._solution.order)

    @also_dask
    def transform(self, X: Any) -> Any:
        """Keep the selected columns of X, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        X_r : {ndarray, sparse matrix} of shape (n, p), p = `n_features_`
            In X's float type (float64 for others); CSR for sparse X.
        """
        chosen = self.get_support(indices=True)
        X = self._check_X(X, reset=False)
        self._check_solution(self._solution, self._state)
        return columns.take(X, chosen)

    def _reducer(self) -> Callable[[Any], Any]:
        """Return what `transform` does with rows that were checked, and nothing else."""
        self._check_solution(self._solution, self._state)
        return partial(columns.take, chosen=self.get_support(indices=True))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the kept columns.

        Parameters
        ----------
        input_features : array-like of str of shape (d,), optional
            Names of all columns; those seen in `fit`, or x0, x1, … where left out.

        Returns
        -------
        names : ndarray of shape (p,), of str objects, p = `n_features_`
        """
        if input_features is None:
            input_features = self._column_names()
        return super().get_feature_names_out(input_features)

    def _get_support_mask(self) -> np.ndarray:
        return read_only(self._solution.mask)

    def _sizes(self) -> dict[str, Any]:
        """The sizes that can be asked for; all but one have to be None."""
        params = self.get_params(deep=False)
        return {name: params[name] for name in _SIZES if name in params}

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name, sizes = type(self).__name__, self._sizes()
        given = {key: value for key, value in sizes.items() if value is not None}
        if len(given) > 1:
            raise ParameterError(
                f"{name}: at most one of {', '.join(sizes)} wanted, but "
                + " and ".join(f"{key}={value!r}" for key, value in given.items())
                + " came. Leave all but one out."
            )
        for key, value in given.items():
            if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
                raise ParameterError(f"{name}: {key} must be a number, but {value!r} came.")
            _check_size(name, key, value, n_features)

    def _solve(self, stats: ClassStats) -> Selection:
        selection = Selection(self._score(stats), self._sizes(), lambda: self._class_scores(stats))
        advice = self._advice(selection)
        if advice:
            warn(f"{type(self).__name__}: {advice}")
        return selection

    def _advice(self, selection: Selection) -> str:
        """What to warn of, if anything."""
        if selection.n_positive or (not selection.by_energy and selection.scores.any()):
            return ""
        return (
            "no column has a positive score"
            + (", so none tells the classes apart; " if self._needs_y else "; ")
            + f"{selection.size} of {len(selection.scores)} columns are kept."
        )

    def _check_solution(self, solution: Selection, stats: ClassStats) -> None:
        if not solution.size:
            raise ValueError(
                f"{type(self).__name__}: no score reaches threshold="
                f"{solution._sizes['threshold']}; the largest is {solution.scores.max():g}. "
                "Use a lower threshold."
            )


class PerClassSelector(Selector):
    """A selector whose score is made of one for each class. Subclasses give `_class_blocks`."""

    @abstractmethod
    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (columns, scores of shape (c, columns)) for the classes with p_j > 0."""

    @property
    def class_scores_(self) -> np.ndarray:
        """The score of each column for each class, of shape (c, d), in the order of `classes_`."""
        stats, _ = self._state, self._solution  # which says what is too large
        p = stats.priors(self.priors)
        scores = np.zeros((len(self.classes_), stats.n_features))
        scores[p[stats.counts > 0] > 0] = self._class_scores(stats)
        return scores

    def _class_scores(self, stats: ClassStats) -> np.ndarray:
        p = stats.priors(self.priors)
        scores = np.empty((int((p > 0).sum()), stats.n_features))
        for some, block in self._class_blocks(stats, p):
            scores[:, some] = block
        return scores


def _check_size(name: str, key: str, value: Any, d: int) -> None:
    whole = isinstance(value, numbers.Integral)
    wanted = {
        "n_features": (
            value >= 1 if whole else 0 < value <= 1,
            "a whole number >= 1, or a fraction in (0, 1] of the columns",
        ),
        "energy": (0 < value <= 1, "in (0, 1]"),
        "threshold": (bool(np.isfinite(value)), "finite"),
        "per_class": (whole and value >= 1, "a whole number >= 1"),
    }
    right, what = wanted[key]
    if not right:
        raise ParameterError(f"{name}: {key} must be {what}, but {value!r} came.")
    if key in ("n_features", "per_class") and whole and value > d:
        raise ParameterError(
            f"{name}: {key}={value}, but there are only {d} columns. Use {key}<={d}"
            + (", or a fraction such as 0.1." if key == "n_features" else ".")
        )
