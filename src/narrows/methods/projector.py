"""Projection: the solution space of real W."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import NotFittedError

from narrows.criteria import Criterion
from narrows.errors import ParameterError
from narrows.methods.base import Additive, Estimator
from narrows.methods.parameters import FLAG, LIST, NONE, Constraint, is_cv, same, whole
from narrows.methods.standardize import standardized
from narrows.solve.applied import Applied, Projection
from narrows.solve.eigen import set_signs
from narrows.solve.held_out import NO_CURVE, Curve
from narrows.state.arrays import read_only
from narrows.state.class_stats import ClassStats


@dataclass
class Directions(Projection):
    """W with one direction per column, best first, and the value of the criterion for each.

    `size` is the number of components to return, if not all; missing ones are zeros. `total` is the
    sum of the eigenvalues of all directions, also of those that are not returned. Only the first
    `separating` directions separate the classes; all do if None.
    """

    W: np.ndarray
    eigenvalues: np.ndarray
    available: int
    size: int | None = None
    in_type: dict[Any, np.ndarray] = field(default_factory=dict)
    total: float = 0.0
    map: Any = None  # what makes coordinates of samples; if None, they are the features
    held_out: Curve = NO_CURVE  # how many directions are enough
    separating: int | None = None

    @classmethod
    def best(
        cls, W: np.ndarray, eigenvalues: np.ndarray, p: int | None,
        separating: int | None = None, unit: np.ndarray | None = None,
    ) -> Self:  # fmt: skip
        """Return the first p of these directions, with signs by the rule."""
        best = set_signs(np.ascontiguousarray(W[:, :p]), unit)
        with np.errstate(over="ignore"):
            total = float(eigenvalues[:separating].sum())
        L, k = eigenvalues[:p], len(eigenvalues)
        return cls(best, L, available=k, size=p, total=total, separating=separating)

    def first(self, p: int, curve: Curve) -> Self:
        """Return the first p of these directions, with the curve that chose p."""
        W = np.ascontiguousarray(self.W[:, :p])
        few = self.eigenvalues[:p]
        return replace(self, W=W, eigenvalues=few, size=p, in_type={}, held_out=curve)

    def explained(self) -> np.ndarray:
        """Return the share of each direction in the sum of all eigenvalues."""
        L = self.eigenvalues[: self.separating]
        share = np.zeros(len(self.eigenvalues))
        share[: len(L)] = L / (max(self.total, float(L.sum())) or 1.0)  # max: rounding
        return self.padded(share)


@dataclass
class Found(Directions):
    """Directions, and what else a method says about them."""

    more: int = 0  # a number of the method: directions that gain, or iterations
    alpha: float = 0.0  # the ridge
    # of a classifier: weights of shape (n_features, n_classes), and intercepts
    rule: tuple[np.ndarray, np.ndarray] | None = None
    curve: Curve = NO_CURVE  # of ridges compared
    regresses: bool = False  # whether its scores are outputs of regressions, or log posteriors
    temperature: float | None = None  # what scores are divided by, once it is needed

    def about(self, mean: np.ndarray) -> Self:
        """Return the solution for coordinates less their mean."""
        if self.rule is not None:
            weights, intercept = self.rule
            self.rule = weights, intercept + mean @ weights
        self.map = self.map.about(mean)
        return self


def of_solution(read: Callable[[Any], Any], doc: str) -> Any:
    """Return an attribute of estimators that is read from the solution."""

    def get(estimator: Any) -> Any:
        found = read(estimator._solution)
        return read_only(found) if isinstance(found, np.ndarray) else found

    return property(get, doc=doc)


def of_curve(name: str, plural: str) -> Any:
    """Return the values of a number that were compared, their scores, and the errors of these."""
    return (
        of_solution(lambda found: found.curve.values, f"The {plural} that were compared."),
        of_solution(
            lambda found: found.curve.scores,
            f"The mean score of held-out samples with each of `{name}`.",
        ),
        of_solution(lambda found: found.curve.errors, "The standard errors of these scores."),
    )


EIGENVALUES = of_solution(
    lambda found: found.padded(found.eigenvalues),
    "The value of the criterion for each direction, of shape (n_components,).",
)
EXPLAINED = of_solution(
    Directions.explained,
    "The share of each direction in the sum of all eigenvalues, of shape (n_components,).",
)
HELD_OUT_SCORES = of_solution(
    lambda found: found.held_out.scores,
    'With ``n_components="cv"``, entry p - 1 is the held-out score of p directions; else empty.',
)
HELD_OUT_ERRORS = of_solution(
    lambda found: found.held_out.errors, "The standard errors of `held_out_scores_`."
)


class Projector(ClassNamePrefixFeaturesOutMixin, Estimator):
    """Projects onto a few directions: W is real. The solution is `Directions`."""

    _lists_features = "standardize"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | NONE,
        "standardize": FLAG | LIST.said("a list of names or indices, or a mask"),
    }
    _continues: ClassVar[bool] = False  # whether there are directions that separate no classes
    n_components: Any

    @property
    def components_(self) -> np.ndarray:
        """The directions, the transpose of W, of shape (n_components, n_features)."""
        solution = self._solution
        return read_only(solution.padded(solution.W).T)

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if n_features < sys.maxsize:  # the data are known
            standardized(self, n_features)

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
        applied = self._applied
        X = self._check_X(X, reset=False)
        self._check_any(applied)
        return applied.reduce(X)

    def _reducer(self) -> Callable[[Any], Any]:
        """Return a function that does what `transform` does, for samples that were checked."""
        found = self._applied
        self._check_any(found)
        return Applied(found.W.shape[0], found.W, found.size, found.map).reduce

    def _first(self, p: int) -> Callable[[Any], Any]:
        """Return a function that projects samples onto the first p directions, or all there are."""
        W, solution = self.components_[:p].T, self._solution

        def reduce(X: Any) -> Any:
            """Return X W, in the float type of X."""
            return solution.times(X, W.astype(X.dtype, copy=False) if X.dtype.kind == "f" else W)

        return reduce

    def _to_apply(self) -> Applied:
        found = self._solution
        self._check_any(found)
        return Applied(self.n_features_in_, found.W, found.size, found.map)

    @property
    def _separating(self) -> int | None:
        """How many directions separate the classes; None if all do."""
        return self._solution.separating

    @property
    def _is_linear(self) -> bool:
        """Whether components have an entry for each feature."""
        return self._solution.map is None

    def _check_as_fitted(self) -> None:
        """Raise ParameterError where parameters are not those of a fit of all samples at once."""
        for name, value in self._fitted.checked.items():
            now = getattr(self, name)
            if name not in ("n_components", "keep") and not same(value, now):
                raise ParameterError(
                    f"{type(self).__name__}: expected {name}={value!r} as in fit, which had all "
                    f"samples at once, got {now!r}. Call fit again."
                )

    def _check_any(self, solution: Projection) -> None:
        if not solution.width:
            expected, got = "samples that differ", "none"
            if self._needs_y:
                expected = "classes with different means"
                seen = int((self.class_count_ > 0).sum())
                got = f"{seen} class(es) without a direction"
            raise NotFittedError(
                f"{type(self).__name__}: expected {expected}, got {got} so far. Continue with "
                "partial_fit."
            )

    @property
    def _n_features_out(self) -> int:
        return self._applied.width

    @property
    def _size(self) -> int | None:
        """The number of components that was given; None if it follows from the samples."""
        p = self.n_components
        return None if p is None or is_cv(p) else int(p)

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
        if self._continues:
            raise ParameterError(
                f"{name}: expected n_components<={rank}, since the samples span only {rank} "
                f"direction{'s' if rank > 1 else ''}, got {p}."
            )
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


class ExactProjector(Projector, Additive):
    """The leading eigenvectors of a criterion's matrix. Subclasses give `_criterion`."""

    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED

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
