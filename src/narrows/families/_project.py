"""Projection: the solution space of real, orthonormal W."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import NotFittedError

from narrows.families._additive import Additive
from narrows.families._base import Estimator, check_whole, read_only
from narrows.families._elsewhere import also_dask
from narrows.moments.stats import ClassStats
from narrows.solve.errors import ParameterError
from narrows.solve.exact import set_signs
from narrows.solve.products import product


@dataclass
class Directions:
    """W with one direction a column, best first, and what the criterion gives each.

    `size` is how many were asked for, if not all: those that are not there (yet) are 0.
    """

    W: np.ndarray
    eigenvalues: np.ndarray
    available: int
    size: int | None = None
    in_type: dict[Any, np.ndarray] = field(default_factory=dict)

    @classmethod
    def best(cls, W: np.ndarray, eigenvalues: np.ndarray, p: int | None) -> Self:
        """The first p of these directions, with signs by the rule."""
        kept = set_signs(np.ascontiguousarray(W[:, :p]))
        return cls(kept, eigenvalues[:p], available=len(eigenvalues), size=p)

    @property
    def width(self) -> int:
        """p, with those that are 0."""
        return self.W.shape[1] if self.size is None else self.size

    def padded(self, columns: np.ndarray) -> np.ndarray:
        """Columns, one a direction, with zeros for those that are not there."""
        missing = self.width - columns.shape[-1]
        shape = *columns.shape[:-1], missing
        return np.append(columns, np.zeros(shape, columns.dtype), axis=-1) if missing else columns

    def reduce(self, X: Any) -> Any:
        """X W, in X's float type."""
        return self.padded(product(X, self.of_type(X.dtype)))

    def of_type(self, dtype: Any) -> np.ndarray:
        if dtype not in self.in_type:
            self.in_type[dtype] = self.W.astype(dtype, copy=False)
        return self.in_type[dtype]


class Projector(ClassNamePrefixFeaturesOutMixin, Estimator):
    """Projects onto a few directions: W is real. The answer is `Directions`."""

    n_components: int | None

    @property
    def components_(self) -> np.ndarray:
        """The directions, W', of shape (p, d)."""
        solution = self._solution
        return read_only(solution.padded(solution.W).T)

    @property
    def eigenvalues_(self) -> np.ndarray:
        """What the criterion gives each direction, of shape (p,)."""
        solution = self._solution
        return read_only(solution.padded(solution.eigenvalues))

    @also_dask
    def transform(self, X: Any) -> Any:
        """Project X: X W, not centred.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        X_r : ndarray of shape (n, p)
            In X's float type (float64 for others). On a stream an explicit ``n_components`` is p
            from the first batch on: columns for which there are too few classes yet are 0.
        """
        solution = self._solution
        X = self._check_X(X, reset=False)
        self._check_any(solution)
        return solution.reduce(X)

    def _reducer(self) -> Callable[[Any], Any]:
        """Return what `transform` does with rows that were checked, and nothing else."""
        solution = self._solution
        self._check_any(solution)
        of_now = solution.W, solution.eigenvalues, solution.available, solution.size
        return Directions(*of_now).reduce

    def _check_any(self, solution: Directions) -> None:
        if not solution.width:
            raise NotFittedError(
                f"{type(self).__name__}: there is no direction yet: {len(self.classes_)} "
                "class(es) seen, with equal means if more than one. Go on with partial_fit."
            )

    @property
    def _n_features_out(self) -> int:
        width: int = self._solution.width
        return width

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.n_components is not None:
            check_whole(type(self).__name__, "n_components", self.n_components, " or None")

    def _limit(self, classes: int) -> tuple[int, str]:
        """The most directions that so many classes can have, and what to use for more."""
        return classes - 1, f"OCM for {classes}"

    def _check_rank(self, rank: int, classes: int) -> None:
        """Raise where there is no direction, or not as many as asked for and no rows to come."""
        name, p = type(self).__name__, self.n_components
        if not rank:
            raise ValueError(
                f"{name}: the classes have equal means, so no direction tells them apart. "
                "Check that the rows and the labels belong together."
            )
        if p is None or p <= rank:
            return
        most, otherwise = self._limit(classes)
        reason = (
            f"{classes} classes have at most {most} direction{'s' if most > 1 else ''}"
            if rank == most
            else f"the means of these {classes} classes in {self.n_features_in_} columns span "
            f"only {rank}"
        )
        raise ParameterError(
            f"{name}: n_components={p}, but {reason}. Use n_components<={rank}"
            + (f", or {otherwise}." if otherwise and rank == most else ".")
        )


class ExactProjector(Projector, Additive):
    """The best directions for a state that adds up. Subclasses give `_directions`."""

    @abstractmethod
    def _directions(self, stats: ClassStats) -> tuple[np.ndarray, np.ndarray]:
        """All eigenvalues, descending, and W (d, p) orthonormal, all there are or as asked for."""

    def _solve(self, stats: ClassStats) -> Directions:
        if self._lacks_classes(stats):
            W, eigenvalues = np.zeros((stats.n_features, 0)), np.zeros(0)
        else:
            eigenvalues, W = self._directions(stats)
        return Directions.best(W, eigenvalues, self.n_components)

    def _waits(self, stats: ClassStats) -> bool:
        return self.n_components is None and super()._waits(stats)

    def _check_solution(self, solution: Directions, stats: ClassStats) -> None:
        self._check_rank(solution.available, int((stats.counts > 0).sum()))
