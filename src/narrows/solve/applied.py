"""What a model does with samples, which needs neither its state nor its solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from narrows.solve.codec import SchemaError, Sizes, check_known, from_arrays, to_arrays
from narrows.solve.columns import take
from narrows.solve.kernel_map import AboutMean, KernelMap
from narrows.solve.products import product

_WIDEST = 1 << 20  # components
_RULE = "weights", "intercept", "temperature"


class Projection:
    """Directions W, one a column, that samples are projected onto.

    `size` is the number of components, if not all; missing ones are zeros. `map` makes coordinates
    of samples; if None, they are the features.
    """

    W: np.ndarray
    size: int | None
    map: Any
    in_type: dict[Any, np.ndarray]

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
        if X.dtype not in self.in_type:
            self.in_type[X.dtype] = self.W.astype(X.dtype, copy=False)
        return self.padded(self.times(X, self.in_type[X.dtype]))

    def times(self, X: Any, V: np.ndarray) -> Any:
        """Return the coordinates of samples times V."""
        return product(X, V) if self.map is None else self.map.times(X, V)


class Classes(NamedTuple):
    """The classes of a classifier.

    Parameters
    ----------
    labels : ndarray of shape (n_classes,)
        Sorted.
    seen : ndarray of bool of shape (n_classes,)
        Which were seen; only these are predicted.
    several : bool
        Whether samples may have several labels, or none.
    n_labels : int
        The number of columns of an indicator matrix.
    """

    labels: np.ndarray
    seen: np.ndarray
    several: bool
    n_labels: int

    def every(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of the classes seen as those of all classes; others have -inf."""
        if self.seen.all():
            return scores
        every = np.full((len(scores), len(self.seen)), -np.inf)
        every[:, self.seen] = scores
        return every

    def predicted(self, scores: np.ndarray) -> np.ndarray:
        """Return the class of the largest score of all, or the indicators of those above 0."""
        if not self.several:
            return self.labels[scores.argmax(axis=1)]
        every = np.zeros((len(scores), self.n_labels), np.int64)
        every[:, self.labels] = scores > 0
        return every

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each class by the scores of all."""
        if self.several:
            from scipy.special import expit

            return expit(scores)
        found = np.exp(scores - scores.max(axis=1, keepdims=True))  # as SciPy's softmax
        found /= found.sum(axis=1, keepdims=True)
        return found


class Decision(NamedTuple):
    """What classes, or numbers, are predicted by: (Z weights + intercept) / temperature.

    Parameters
    ----------
    weights : ndarray of shape (n_coordinates, n_classes)
        For the classes seen, or the targets.
    intercept : ndarray of shape (n_classes,)
        Beside them.
    temperature : float
        What calibrates the probabilities.
    map : Map or None
        What makes coordinates Z of samples; if None, they are the features.
    classes : Classes or None
        If None, numbers are predicted.
    """

    weights: np.ndarray
    intercept: np.ndarray
    temperature: float = 1.0
    map: Any = None
    classes: Any = None

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of all classes, not calibrated; or the numbers. One row a sample."""
        X = X.astype(np.float64, copy=False)
        products = product(X, self.weights) if self.map is None else self.map.times(X, self.weights)
        scores = products + self.intercept
        return scores if self.classes is None else self.classes.every(scores)

    def posteriors(self, scores: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Return log posteriors, up to a term that all classes share, or log odds, of scores.

        `change` is what other priors add to them.
        """
        found = scores / self.temperature
        return found if change is None else found + change

    def predicted(self, scores: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Return the classes of samples, or their numbers, by their scores."""
        if self.classes is None:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        found = scores if change is None else self.posteriors(scores, change)
        return self.classes.predicted(found)

    def probabilities(self, scores: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Return the probability of each class."""
        found: np.ndarray = self.classes.probabilities(self.posteriors(scores, change))
        return found


class _Stored(NamedTuple):
    """What is stored of `Applied`, beside its map."""

    W: Annotated[np.ndarray | None, "f8 f4", "m p"]
    size: Annotated[int | None, "i8 whole"]
    chosen: Annotated[np.ndarray | None, "i8 sorted", "k"]
    weights: Annotated[np.ndarray | None, "f8 f4", "m c"] = None
    intercept: Annotated[np.ndarray | None, "f8 f4", "c"] = None
    temperature: Annotated[float | None, "f8 >0"] = None
    classes: Annotated[np.ndarray | None, "labels", "l"] = None
    seen: Annotated[np.ndarray | None, "b", "l"] = None
    several: Annotated[bool | None, "b"] = None
    n_labels: Annotated[int | None, "i8 whole"] = None
    map_mean: Annotated[np.ndarray | None, "f8", "m"] = None

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where arrays are not of one reduction, or classes of no decision."""
        decides = [each is not None for each in self[3:6]]
        classes = [each is not None for each in self[6:10]]
        odd = any(decides) != all(decides) or any(classes) != all(classes)
        odd = odd or (self.W is None) == (self.chosen is None) or (self.size or 0) > _WIDEST
        odd = odd or (self.size is not None and self.W is None)
        odd = odd or (self.chosen is not None and (not len(self.chosen) or self.chosen[0] < 0))
        if self.classes is not None and self.seen is not None:
            labels = self.classes
            odd = odd or not all(decides) or not sizes["c"] == self.seen.sum() > 0
            if self.several:
                odd = odd or labels.dtype.kind != "i" or labels.min(initial=0) < 0
                odd = odd or labels.max(initial=-1) >= (self.n_labels or 0)
        if odd:
            raise SchemaError("expected a solution of one kind, got others.")


@dataclass
class Applied(Projection):
    """What a model does with samples: it keeps columns or projects, and may predict.

    Parameters
    ----------
    n_features : int
        Of the samples.
    W, size, map :
        See `Projection`; W is None where columns are kept.
    chosen : ndarray of int, optional
        The columns that are kept, in order.
    decision : Decision, optional
        What is predicted by.
    """

    n_features: int
    W: Any = None
    size: int | None = None
    map: Any = None
    chosen: np.ndarray | None = None
    decision: Decision | None = None
    in_type: dict[Any, np.ndarray] = field(default_factory=dict)

    @cached_property
    def mask(self) -> np.ndarray:
        """Which columns are kept."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[self.chosen] = True
        return mask

    @property
    def width(self) -> int:
        """The number of columns of reduced samples."""
        return super().width if self.chosen is None else len(self.chosen)

    def reduce(self, X: Any) -> Any:
        """Return reduced samples."""
        return super().reduce(X) if self.chosen is None else take(X, self.chosen)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays."""
        rule, classes = self.decision, None if self.decision is None else self.decision.classes
        values: dict[str, Any] = {"W": self.W, "size": self.size, "chosen": self.chosen}
        if rule is not None:
            values |= {name: getattr(rule, name) for name in _RULE}
        if classes is not None:
            values |= classes._asdict() | {"classes": classes.labels}
            del values["labels"]
        stored = _Stored(**values, map_mean=None if self.map is None else self.map.mean)
        return to_arrays(stored) | ({} if self.map is None else self.map.map.to_arrays())

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray], n_features: int) -> Self:
        """Return what `to_arrays` described; SchemaError where it does not."""
        if not 0 < n_features < 1 << 31:
            raise SchemaError("n_features: expected a number of features, got another one.")
        left, made, sizes = dict(arrays), None, Sizes()
        stored = from_arrays(_Stored, left, sizes)
        if stored.map_mean is not None:
            kernel = KernelMap.read_from(left)
            made = AboutMean(kernel, stored.map_mean)
            if kernel.n_features != n_features or kernel.width != sizes["m"]:
                raise SchemaError("map: expected the map of the features, got another one.")
        elif sizes.get("m", n_features) != n_features:
            raise SchemaError(f"W: expected {n_features} features, got {sizes['m']}.")
        check_known("solution", left, ())
        if stored.chosen is not None and stored.chosen[-1] >= n_features:
            raise SchemaError(f"chosen: expected columns below {n_features}, got others.")
        decision = None
        if stored.weights is not None:
            rule = {name: getattr(stored, name) for name in _RULE}
            classes = None if stored.classes is None else Classes(*stored[6:10])
            decision = Decision(**rule, map=made, classes=classes)
        return cls(n_features, stored.W, stored.size, made, stored.chosen, decision)
