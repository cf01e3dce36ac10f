"""Projection: the solution space of real W."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import NotFittedError

from narrows.criteria import Criterion
from narrows.errors import ParameterError
from narrows.methods.base import Additive, Estimator, accepts_collections, read_only
from narrows.methods.parameters import NONE, Constraint, Whole, is_cv
from narrows.solve.eigen import set_signs
from narrows.solve.held_out import NO_CURVE, Curve, HeldOutCurve
from narrows.solve.products import product
from narrows.solve.schema import COUNT, FINITE, LABELS, NOT_NEGATIVE, Check, Field, checked
from narrows.solve.sums import TINY, stacked, widened
from narrows.state.class_stats import ClassStats
from narrows.state.labels import one_a_row, union, weights


@dataclass
class Directions:
    """W with one direction per column, best first, and the value of the criterion for each.

    `size` is the number of components to return, if not all; missing ones are zeros. `total` is the
    sum of the eigenvalues of all directions, also of those that are not returned.
    """

    W: np.ndarray
    eigenvalues: np.ndarray
    available: int
    size: int | None = None
    in_type: dict[Any, np.ndarray] = field(default_factory=dict)
    total: float = 0.0
    map: Any = None  # what makes coordinates of samples; if None, they are the features
    held_out: HeldOutCurve = NO_CURVE  # how many directions are enough

    @classmethod
    def best(cls, W: np.ndarray, eigenvalues: np.ndarray, p: int | None) -> Self:
        """Return the first p of these directions, with signs by the rule."""
        best = set_signs(np.ascontiguousarray(W[:, :p]))
        with np.errstate(over="ignore"):
            total = float(eigenvalues.sum())
        return cls(best, eigenvalues[:p], available=len(eigenvalues), size=p, total=total)

    def first(self, p: int, curve: HeldOutCurve) -> Self:
        """Return the first p of these directions, with the curve that chose p."""
        W = np.ascontiguousarray(self.W[:, :p])
        few = self.eigenvalues[:p]
        return replace(self, W=W, eigenvalues=few, size=p, in_type={}, held_out=curve)

    @property
    def width(self) -> int:
        """The number of components, with those that are zeros."""
        return self.W.shape[1] if self.size is None else self.size

    def padded(self, columns: np.ndarray) -> np.ndarray:
        """Return columns, one per direction, with zeros for missing directions."""
        missing = self.width - columns.shape[-1]
        shape = *columns.shape[:-1], missing
        return np.append(columns, np.zeros(shape, columns.dtype), axis=-1) if missing else columns

    def reduce(self, X: Any) -> Any:
        """Return X W, in the float type of X."""
        return self.padded(self.times(X, self.of_type(X.dtype)))

    def times(self, X: Any, V: np.ndarray) -> Any:
        """Return the coordinates of samples times V."""
        return product(X, V) if self.map is None else self.map.times(X, V)

    def of_type(self, dtype: Any) -> np.ndarray:
        if dtype not in self.in_type:
            self.in_type[dtype] = self.W.astype(dtype, copy=False)
        return self.in_type[dtype]


class Projector(ClassNamePrefixFeaturesOutMixin, Estimator):
    """Projects onto a few directions: W is real. The solution is `Directions`."""

    _constraints: ClassVar[dict[str, Constraint]] = {"n_components": Whole(1) | NONE}
    n_components: Any

    @property
    def components_(self) -> np.ndarray:
        """The directions, the transpose of W, of shape (n_components, n_features)."""
        solution = self._solution
        return read_only(solution.padded(solution.W).T)

    @accepts_collections
    def transform(self, X: Any) -> Any:
        """Project X onto the directions: X W, not centred.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_components)
            In the float dtype of X (float64 for other dtypes). With an explicit ``n_components``,
            the columns of directions that are not available yet are 0.

        See Also
        --------
        fit_transform : Fit to samples and reduce them.
        get_feature_names_out : Return the names of the components.
        """
        solution = self._solution
        X = self._check_X(X, reset=False)
        self._check_any(solution)
        return solution.reduce(X)

    def _reducer(self) -> Callable[[Any], Any]:
        """Return a function that does what `transform` does, for samples that were checked."""
        solution = self._solution
        self._check_any(solution)
        present = solution.W, solution.eigenvalues, solution.available, solution.size
        return Directions(*present, map=solution.map).reduce

    def _first(self, p: int) -> Callable[[Any], Any]:
        """Return a function that projects samples onto the first p directions, or all there are."""
        W, solution = self.components_[:p].T, self._solution
        return lambda X: solution.times(X, W)

    @property
    def _is_linear(self) -> bool:
        """Whether components have an entry for each feature."""
        return self._solution.map is None

    def _check_any(self, solution: Directions) -> None:
        if not solution.width:
            raise NotFittedError(
                f"{type(self).__name__}: expected classes with different means, got "
                f"{len(self.classes_)} class(es) without a direction so far. "
                "Continue with partial_fit."
            )

    @property
    def _n_features_out(self) -> int:
        width: int = self._solution.width
        return width

    @property
    def _size(self) -> int | None:
        """The number of components that was given; None if it follows from the samples."""
        return None if is_cv(self.n_components) else self.n_components


class RankedProjector(Projector):
    """Projects onto directions that are ordered by their eigenvalues."""

    @property
    def eigenvalues_(self) -> np.ndarray:
        """The value of the criterion for each direction, of shape (n_components,)."""
        solution = self._solution
        return read_only(solution.padded(solution.eigenvalues))

    def _limit(self, classes: int) -> tuple[int, str]:
        """Return the most directions of so many classes, and what to use for more."""
        return classes - 1, f"OCM for {classes}"

    def _check_rank(self, rank: int, classes: int) -> None:
        """Raise where there is no direction, or fewer than n_components and no more to come."""
        name, p = type(self).__name__, self._size
        if not rank:
            raise ValueError(
                f"{name}: expected classes with different means, got equal means, so no direction "
                "distinguishes them. Check that the samples and the labels belong together."
            )
        if p is None or p <= rank:
            return
        most, otherwise = self._limit(classes)
        reason = (
            f"{classes} classes have at most {most} direction{'s' if most > 1 else ''}"
            if rank == most
            else f"the means of these {classes} classes in {self.n_features_in_} features span "
            f"only {rank}"
        )
        raise ParameterError(
            f"{name}: expected n_components<={rank}, since {reason}, got {p}. Use fewer components"
            + (f", or {otherwise}." if otherwise and rank == most else ".")
        )


class ExplainedProjector(RankedProjector):
    """Projects onto directions whose eigenvalues are parts of a sum, which is known."""

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """The share of each direction in the sum of all eigenvalues, of shape (n_components,)."""
        solution = self._solution
        total = max(solution.total, float(solution.eigenvalues.sum()))  # rounding
        return read_only(solution.padded(solution.eigenvalues / (total or 1.0)))


class ExactProjector(ExplainedProjector, Additive):
    """The leading eigenvectors of a criterion's matrix. Subclasses give `_criterion`."""

    @abstractmethod
    def _criterion(self) -> Criterion:
        """Return the criterion to maximise."""

    def _directions(self, stats: ClassStats) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues, descending, and W (n_features, k), orthonormal.

        k is at least the smaller of n_components and the number of eigenvalues, which are all there
        are, or at least n_components.
        """
        return self._criterion().leading(stats, self._priors(), self._size)

    def _solve(self, stats: ClassStats) -> Directions:
        if self._lacks_classes(stats):
            W, eigenvalues = np.zeros((stats.n_features, 0)), np.zeros(0)
        else:
            eigenvalues, W = self._directions(stats)
        best = Directions.best(W, eigenvalues, self._size)
        if len(eigenvalues) == self._size:  # there may be more
            best.total = float(self._criterion().diagonal(stats, self._priors()).sum())
        return best

    def _waits(self, stats: ClassStats) -> bool:
        return self._size is None and super()._waits(stats)

    def _check_solution(self, solution: Directions, stats: ClassStats) -> None:
        self._check_rank(solution.available, int((stats.counts > 0).sum()))


_SCHEMA = {
    "classes": LABELS,
    "counts": Field("f8", ("c",), NOT_NEGATIVE),
    "n_samples": Field("i8", (), COUNT),
    "W": Field("f8", ("d", "k"), FINITE),
    "eigenvalues": Field("f8", ("k",), FINITE),
    "more": Field("i8", (), COUNT),
    # 0.1.0 did not store these
    "alpha": Field("f8", (), NOT_NEGATIVE, optional=True),
    "coef": Field("f8", ("k", "c"), FINITE, optional=True),
    "intercept": Field("f8", ("c",), FINITE, optional=True),
    "mean_square": Field("f8", (), NOT_NEGATIVE, optional=True),
}
_RULES = (
    Check(
        "a rule for classes of positive weight",
        lambda arrays, sizes: "intercept" not in arrays or bool((arrays["counts"] > 0).all()),
    ),
)


@dataclass
class Found(Directions):
    """Directions, and what else a method says about them."""

    more: int = 0  # a number of the method: directions that gain, or iterations
    alpha: float = 0.0  # the ridge
    # of a classifier: weights of shape (n_features, n_classes), and intercepts
    rule: tuple[np.ndarray, np.ndarray] | None = None
    curve: Curve | None = None  # how the ridge was chosen
    temperature: float | None = None  # what log posteriors are divided by, once it is needed

    def of_features(self) -> Self:
        """Return the solution behind a map without hidden features as one of the features."""
        if self.rule is not None:
            weights, intercept = self.map.unit * self.rule[0], self.rule[1]
            self.rule = weights, intercept - self.map.centre @ weights
        self.map = None
        return self

    def about_mean(self, stats: Any) -> Self:
        """Return the solution for coordinates less their mean, of a first dimension of variance 1.

        `stats` is the state of the coordinates.
        """
        mean = stats.mean
        if self.rule is not None:
            weights, intercept = self.rule
            self.rule = weights, intercept + mean @ weights
        if self.W.size:
            spread = stats.variance_along(self.W[:, 0])
            self.W = self.W / np.sqrt(spread if spread > TINY else 1.0)
        self.map = self.map.about(mean)
        return self


def ridge_curve(solution: Any) -> Curve:
    """Return how a ridge was chosen; empty if it was given."""
    found = getattr(solution, "curve", None)
    return Curve(*np.empty((6, 0))) if found is None else found


@dataclass
class Solved:
    """Directions that a fit found, one per column, best first, and the classes they are of."""

    classes: np.ndarray
    counts: np.ndarray
    n_samples: int
    W: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    eigenvalues: np.ndarray = field(default_factory=lambda: np.empty(0))
    more: int = 0
    alpha: float = 0.0
    coef: np.ndarray | None = None
    intercept: np.ndarray | None = None
    mean_square: float | None = None  # the trace of the covariance of all samples

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.W)

    @property
    def known(self) -> np.ndarray:
        """Which classes have weight, of shape (n_classes,)."""
        return self.counts > 0

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`, without rounding."""
        values = asdict(self)
        return {name: np.asarray(values[name]) for name in values if values[name] is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Solved:
        """Return the state that `to_arrays` described."""
        checked(arrays, _SCHEMA, _RULES)
        own = {name: arrays[name] for name in _SCHEMA if name in arrays}
        values: dict[str, Any] = {k: v.item() if v.ndim == 0 else v for k, v in own.items()}
        return cls(**values)


class Gathered:
    """Samples that a fit needs all at once, from a data set that comes in chunks."""

    def __init__(self, n_features: int):
        self.n_features = n_features
        self.classes = np.empty(0, np.int64)
        self.chunks: list[tuple[Any, ...]] = []

    def widen(self, n_features: int) -> Gathered:
        """Append features that are 0 so far."""
        self.n_features = n_features
        return self

    def update(self, X: Any, y: Any, sample_weight: Any, who: str) -> Gathered:
        """Add samples, in place."""
        classes, codes = one_a_row(X, y, who)
        self.classes = union(self.classes, classes)
        self.chunks.append((X, classes[codes], weights(sample_weight, len(codes), who)))
        return self

    def samples(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return X, the number of the class of each sample, and the weights."""
        X, y, weight = zip(*self.chunks, strict=True)
        codes = np.searchsorted(self.classes, np.concatenate(y))
        return stacked([widened(x, self.n_features) for x in X]), codes, np.concatenate(weight)
