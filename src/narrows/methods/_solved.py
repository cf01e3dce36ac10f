"""What fits to all samples at once gather and find, where there is no state of sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from narrows.methods._project import Directions
from narrows.state.labels import one_a_row, union, weights
from narrows.solve.ridge import Curve
from narrows.solve.schema import COUNT, FINITE, LABELS, NOT_NEGATIVE, Check, Field, checked
from narrows.solve.sums import TINY, stacked, widened

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
