"""Solution: what a method found, in NumPy alone. It reduces samples, and predicts.

Estimators and model files apply the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse

from narrows.errors import DENSE_ONLY, ParameterError, RangeError
from narrows.solve.codec import PART, SchemaError, Sizes, check_known, from_arrays, to_arrays
from narrows.solve.columns import energy_curve, take
from narrows.solve.curve import Curve
from narrows.solve.devices import OnDevice, in_memory
from narrows.solve.kernel_map import AboutMean
from narrows.solve.products import product
from narrows.solve.signs import turn_signs

_WIDEST = 1 << 20  # components


@dataclass(frozen=True)
class Classes:
    """The classes of a classifier.

    Parameters
    ----------
    labels : ndarray of shape (n_classes,)
        Sorted; also those that are known to come and have no sample yet.
    counts : ndarray of shape (n_classes,)
        The weight of each class.
    n_labels : int
        The number of columns of the indicator matrices that `y` consisted of; 0 where there is one
        label for each sample.
    """

    labels: Annotated[np.ndarray, "labels", "l"]
    counts: Annotated[np.ndarray, "f8 >=0", "l"]
    n_labels: Annotated[int, "i8 whole"] = 0

    @property
    def seen(self) -> np.ndarray:
        """Which classes have weight, and scores, of shape (n_classes,)."""
        return self.counts > 0

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where several labels are not columns of an indicator matrix."""
        labels, n = self.labels, self.n_labels
        columns = labels.dtype.kind == "i" and labels.min(initial=0) >= 0
        if n and not (columns and labels.max(initial=-1) < n <= _WIDEST):
            raise SchemaError("classes_n_labels: expected the columns of labels, got others.")


@dataclass(frozen=True)
class Rule:
    """Linear functions of coordinates: scores of classes, or predicted numbers.

    Parameters
    ----------
    coef : ndarray of shape (n_coordinates, n_outputs)
        The coefficients of the classes that have samples, or of the targets.
    intercept : ndarray of shape (n_outputs,)
        Their intercepts.
    temperature : float
        What scores are divided by for probabilities; 0 while nothing determines it.
    regresses : bool
        Whether scores are outputs of regressions, or log posteriors.
    """

    coef: Annotated[np.ndarray, "f8 f4", "m c"]
    intercept: Annotated[np.ndarray, "f8 f4", "c"]
    temperature: Annotated[float, "f8 >=0"] = 1.0
    regresses: Annotated[bool, "b"] = False


@dataclass(frozen=True)
class Solution:
    """Directions or chosen features, and what else a method says about them.

    What is optional may be None.

    Parameters
    ----------
    n_features : int
        The number of features, d.
    values : ndarray of shape (n_directions,) or (n_features,)
        The value of the criterion for each direction, or the score of each feature.
    W : ndarray of shape (n_coordinates, n_directions), optional
        One direction per column, best first.
    size : int, optional
        The number of components, if it was given; those beyond the directions are zero.
    rank : int
        How many directions there are, also of those that are left out; of features, how many are
        chosen.
    total : float
        The sum of the values of all directions, or what the gains of features are shares of.
    separating : int, optional
        Only so many of the first directions separate the classes; all do if None.
    chosen : ndarray of int of shape (n_chosen,), optional
        The selected features, in order.
    order : ndarray of int of shape (n_features,), optional
        The features from best to worst.
    gain : ndarray of shape (n_features,), optional
        What the energy is a share of; the scores if None.
    gains, ends : ndarray of shape (n_steps,), optional
        Of a forward selection: what each step adds, and how many features there are after it.
    classes : Classes, optional
        The classes of the samples, of methods that use some.
    rule : Rule, optional
        What predicts.
    loadings : ndarray of shape (n_directions, n_targets), optional
        Of a regression: what each direction adds to the coefficients. Fewer components need no new
        fit.
    taken : ndarray of shape (n_directions, n_features), optional
        Of an erasure: what a sample loses for each unit along a direction, away from the mean.
    centre : ndarray of shape (n_directions,), optional
        Of a regression and of an erasure: the mean of the samples along each direction.
    alpha : float
        The ridge, or what is in its place.
    n_positive, n_iter : int
        How many directions or features have a positive value, and the steps of an iteration.
    n_samples : int
        The number of samples that it was found for.
    compared, sizes : Curve
        What held-out samples say of ridges, and of numbers of components or features.
    map : AboutMean, optional
        What makes coordinates of samples; they are the features if None.
    between, within : ndarray, optional
        What a classifier by the directions is made of; not stored. N_j^(1/2) (m_j - m)'W, of shape
        (n_classes, n_directions), and W'(n S_w + alpha I) W.
    regresses : bool
        Whether they are solutions of regressions, by whose outputs to predict; not stored.
    """

    n_features: Annotated[int, "i8 whole"]
    values: Annotated[np.ndarray, "f8 infinite", "v"]
    W: Annotated[Any, "f8 f4", "m p"] = None
    size: Annotated[int | None, "i8 whole"] = None
    rank: Annotated[int, "i8 whole"] = 0
    total: Annotated[float, "f8 infinite"] = 0.0
    separating: Annotated[int | None, "i8 whole"] = None
    chosen: Annotated[Any, "i8 sorted", "s"] = None
    order: Annotated[Any, "i8 numbering", "v"] = None
    gain: Annotated[Any, "f8 infinite", "v"] = None
    gains: Annotated[Any, "f8 infinite", "g"] = None
    ends: Annotated[Any, "i8 sorted", "g"] = None
    classes: Annotated[Classes, PART, "l"] = None  # type: ignore[assignment]
    rule: Annotated[Rule, PART, "m c"] = None  # type: ignore[assignment]
    loadings: Annotated[Any, "f8", "p c"] = None
    taken: Annotated[Any, "f8", "p m"] = None
    centre: Annotated[Any, "f8", "p"] = None
    alpha: Annotated[float, "f8 >=0"] = 0.0
    n_positive: Annotated[int, "i8 whole"] = 0
    n_iter: Annotated[int, "i8 whole"] = 1
    n_samples: Annotated[int, "i8 whole"] = 0
    compared: Annotated[Curve | None, PART, "..."] = None
    sizes: Annotated[Curve | None, PART, "..."] = None
    map: Annotated[AboutMean, PART, "m"] = None  # type: ignore[assignment]
    between: Any = None
    within: Any = None
    regresses: bool = False
    _in_type: dict[Any, np.ndarray] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # W in the types of samples

    @classmethod
    def of_all(cls, values: np.ndarray, W: np.ndarray, **more: Any) -> Self:
        """Return the solution of all these directions, as they are."""
        return cls(len(W), values, W, rank=len(values), **more)

    @classmethod
    def of_directions(
        cls, values: np.ndarray, W: np.ndarray, size: int | None, *,
        unit: np.ndarray | None = None, total: float | None = None, **more: Any,
    ) -> Self:  # fmt: skip
        """Return the first directions, with signs by the rule; W is taken over, and its signs turn.

        `unit` is what features are divided by, and `total` the sum of all values if these are not
        all. The rest is as in the constructor.
        """
        best = np.ascontiguousarray(W[:, :size])
        turn_signs(best, unit)
        if total is None:
            with np.errstate(over="ignore"):
                total = float(values[: more.get("separating")].sum())
        return cls(len(W), values[:size], best, size, rank=len(values), total=total, **more)

    # -- selected features ----------------------------------------------------------------------

    @cached_property
    def mask(self) -> np.ndarray:
        """Which features are selected, of shape (n_features,)."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[self.chosen] = True
        return mask

    @cached_property
    def energy(self) -> np.ndarray:
        """The share of the best features in the sum of the positive scores, or gains."""
        gain = self.values if self.gain is None else self.gain
        return energy_curve(gain[self.order])

    @property
    def is_chosen(self) -> bool:
        """Whether held-out samples chose the ridge."""
        return self.compared is not None and len(self.compared.values) > 0

    @property
    def gain_curve(self) -> np.ndarray:
        """The share of the targets that the features of the first steps explain."""
        return np.cumsum(self.gains) / (self.total or 1.0)

    # -- directions -----------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """The number of columns of reduced samples."""
        if self.chosen is not None:
            return len(self.chosen)
        if self.taken is not None:
            return self.n_features
        return self.W.shape[1] if self.size is None else self.size

    def padded(self, columns: np.ndarray) -> np.ndarray:
        """Return columns, one for each direction, with zeros for missing directions."""
        missing = 0 if self.size is None else self.size - columns.shape[-1]
        shape = *columns.shape[:-1], missing
        return np.append(columns, np.zeros(shape, columns.dtype), axis=-1) if missing else columns

    @property
    def explained(self) -> np.ndarray:
        """The share of each direction in the sum of the values of all, of shape (width,)."""
        L = self.values[: self.separating]
        share = np.zeros(len(self.values))
        share[: len(L)] = L / (max(self.total, float(L.sum())) or 1.0)  # max: rounding
        return self.padded(share)

    def first(self, p: int) -> Self:
        """Return the first p directions."""
        some = slice(p)
        new = replace(
            self, W=np.ascontiguousarray(self.W[:, some]), values=self.values[some], size=p
        )
        if self.loadings is None:
            return new
        loadings, centre = self.loadings[some], self.centre[some]
        at_centre = self.rule.intercept + (self.centre @ self.loadings - centre @ loadings)
        rule = replace(self.rule, coef=self.W[:, some] @ loadings, intercept=at_centre)
        return replace(new, rule=rule, loadings=loadings, centre=centre)

    def of_size(self, sizes: Curve) -> Self:
        """Return as many directions as held-out samples ask for; all if these say nothing."""
        return replace(self.first(sizes.smallest()), sizes=sizes) if len(sizes.scores) else self

    def of_features(self, unit: np.ndarray | None) -> Self:
        """Return the directions of the features, from those of features divided by a unit."""
        return self if unit is None else replace(self, W=self.W / unit[:, None])

    # -- applying it ----------------------------------------------------------------------------

    def reduce(self, X: Any) -> Any:
        """Return the chosen features of samples, or X W in the float type of X.

        Of an erasure, the samples without what they have along the directions.
        """
        if self.chosen is not None:
            return take(X, self.chosen)
        Z = self._projected(X)
        if self.taken is None:
            return Z
        along, taken = Z - self.centre.astype(X.dtype), self.taken.astype(X.dtype, copy=False)
        if isinstance(X, OnDevice):
            return X - along.times(taken)
        lost = along @ taken
        return np.subtract(X, lost, out=lost)

    def _projected(self, X: Any) -> Any:
        """Return X W in the float type of X."""
        if self.taken is not None and sparse.issparse(X):
            raise ParameterError(DENSE_ONLY)
        if X.dtype not in self._in_type:
            self._in_type[X.dtype] = self.W.astype(X.dtype, copy=False)
        return self._times(X, self.padded(self._in_type[X.dtype]))

    def _times(self, X: Any, V: np.ndarray) -> Any:
        """Return the coordinates of samples times V; RangeError where these are infinite."""
        if self.map is None and isinstance(X, OnDevice):
            return X.times(V)
        with np.errstate(over="ignore", invalid="ignore"):
            found = product(X, V) if self.map is None else self.map.times(in_memory(X), V)
            if np.isfinite(found.sum()) or np.isfinite(found).all():
                return found
        raise RangeError(
            "samples whose products with the directions are finite", "larger ones",
            advice="Scale the samples down.",
        )  # fmt: skip

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of all classes, not calibrated; or the predicted numbers."""
        X = X if isinstance(X, OnDevice) else X.astype(np.float64, copy=False)
        found = in_memory(self._times(X, self.rule.coef)) + self.rule.intercept
        if self.classes is None or self.classes.seen.all():
            return found
        every = np.full((len(found), len(self.classes.labels)), -np.inf)
        every[:, self.classes.seen] = found
        return every

    def posteriors(self, scores: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Return log posteriors, up to a term that all classes share, or log odds, of scores.

        `change` is what other priors add to them, of shape (n_classes,).
        """
        found = scores / (self.rule.temperature or 1.0)
        return found if change is None else found + change

    def predicted(self, scores: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Return the classes of samples, or their numbers, by their scores."""
        if self.classes is None:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        found = scores if change is None else self.posteriors(scores, change)
        if not self.classes.n_labels:
            return self.classes.labels[found.argmax(axis=1)]
        every = np.zeros((len(found), self.classes.n_labels), np.int64)
        every[:, self.classes.labels] = found > 0
        return every

    def probabilities(self, scores: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Return the probability of each class by the scores of all."""
        with np.errstate(over="ignore"):  # of differences, which are then -inf
            found = self.posteriors(scores, change)
            if self.classes.n_labels:
                from scipy.special import expit  # which most models do not need

                return expit(found)
            found = np.exp(found - found.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
        return found

    # -- storage --------------------------------------------------------------------------------

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the solution of named arrays; SchemaError where they are those of none."""
        left = dict(arrays)
        new: Self = from_arrays(cls, left)
        check_known("solution", left, ())
        return new

    def to_named_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays, for `of_arrays`."""
        return to_arrays(self)

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where the parts do not fit each other: samples could not be reduced."""
        d, p = self.n_features, sizes.get("p", 0)
        odd = not 0 < d < 1 << 31 or (self.W is None) == (self.chosen is None)
        odd = odd or (self.size or 0) > _WIDEST or (self.separating is not None and self.W is None)
        if self.chosen is not None:
            least, most = self.chosen.min(initial=d), self.chosen.max(initial=-1)
            odd = odd or self.order is None or sizes["v"] != d or not 0 <= least <= most < d
            steps = self.ends is not None and not (self.ends > 0).all()
            odd = odd or steps or (self.gains is None) != (self.ends is None)
            odd = odd or self.size is not None or self.loadings is not None
            odd = odd or self.taken is not None
        elif self.W is not None:
            odd = odd or self.order is not None or len(self.values) not in (0, p)
            odd = odd or p > (_WIDEST if self.size is None else self.size)
            odd = odd or (self.loadings is None and self.taken is None) != (self.centre is None)
            odd = odd or (self.taken is not None and self.map is not None)
            odd = odd or (self.loadings is not None and self.rule is None)
        if self.map is not None:
            odd = odd or self.map.map.n_features != d or self.map.map.width != sizes.get("m")
        else:
            odd = odd or sizes.get("m", d) != d
        if self.rule is not None and self.classes is not None:
            odd = odd or not sizes["c"] == self.classes.seen.sum() > 0
        if odd:
            raise SchemaError("solution: expected one that reduces samples, got another.")
