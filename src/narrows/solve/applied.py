"""What a model does with samples, which needs neither its state nor its solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from narrows.solve.codec import SchemaError, check_known
from narrows.solve.columns import take
from narrows.solve.kernel_map import AboutMean, KernelMap
from narrows.solve.products import product
from narrows.solve.schema import COUNT, FINITE, LABELS, SORTED, Check, Field, between, checked


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


_MAP = "map_"
_SCHEMA = {
    "size": Field("i8", (), between(0, 1 << 20), optional=True),
    "W": Field("f8 f4", ("m", "p"), FINITE, optional=True),
    "chosen": Field("i8", ("k",), SORTED, optional=True),
    "weights": Field("f8 f4", ("m", "c"), FINITE, optional=True),
    "intercept": Field("f8 f4", ("c",), FINITE, optional=True),
    "temperature": Field("f8", (), between(1e-300, 1e300), optional=True),
    "classes": LABELS._replace(shape=("l",), optional=True),
    "seen": Field("b1", ("l",), optional=True),
    "n_labels": Field("i8", (), COUNT, optional=True),
    "several": Field("b1", (), optional=True),
    "map_mean": Field("f8", ("m",), FINITE, optional=True),
}


def _fits(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    """Whether classes are those of the decision, and there is one kind of reduction."""
    decides = {"weights", "intercept", "temperature"}
    classes = {"classes", "seen", "n_labels", "several"}
    if any(0 < len(some & arrays.keys()) < len(some) for some in (decides, classes)):
        return False
    if "classes" in arrays:
        labels = arrays["classes"]
        if "weights" not in arrays or arrays["seen"].sum() != sizes["c"] or not sizes["c"]:
            return False
        if arrays["several"] and (
            labels.dtype.kind != "i"
            or (len(labels) and not 0 <= labels[0] <= labels[-1] < arrays["n_labels"])
        ):
            return False
    if ("W" in arrays) == ("chosen" in arrays) or ("size" in arrays and "W" not in arrays):
        return False
    chosen = arrays.get("chosen", np.zeros(1))
    return bool(len(chosen) and chosen[0] >= 0 and arrays.get("size", sizes.get("p", 0)) >= 0)


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
        found: dict[str, Any] = {"W": self.W, "chosen": self.chosen}
        if self.size is not None:
            found["size"] = np.int64(self.size)
        if self.decision is not None:
            found |= self.decision._asdict()
            classes = found.pop("classes")
            del found["map"]
            if classes is not None:
                found |= classes._asdict()
                found["classes"] = found.pop("labels")
        if self.map is not None:
            found |= self.map.map.to_arrays() | {"map_mean": self.map.mean}
        return {name: np.asarray(value) for name, value in found.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_features: int) -> Self:
        """Return what `to_arrays` described; SchemaError where it does not."""
        if not 0 < n_features < 1 << 31:
            raise SchemaError("n_features: expected a number of features, got another one.")
        own = {name: array for name, array in arrays.items() if not name.startswith(_MAP)}
        check_known("solution", own, _SCHEMA)
        sizes = checked(arrays, _SCHEMA, (Check("a solution of one kind", _fits),))
        made: Any = None
        if "map_mean" in arrays:
            kernel = KernelMap.read_from(dict(arrays))
            made = AboutMean(kernel, arrays["map_mean"])
            if kernel.n_features != n_features or kernel.width != sizes["m"]:
                raise SchemaError("map: expected the map of the features, got another one.")
        elif len(own) < len(arrays):
            raise SchemaError("map_mean: expected an array, got none.")
        elif sizes.get("m", n_features) != n_features:
            raise SchemaError(f"W: expected {n_features} features, got {sizes['m']}.")
        if "chosen" in arrays and arrays["chosen"][-1] >= n_features:
            raise SchemaError(f"chosen: expected columns below {n_features}, got others.")
        decision = classes = None
        if "weights" in arrays:
            if "classes" in arrays:
                several, n_labels = bool(arrays["several"]), int(arrays["n_labels"])
                classes = Classes(arrays["classes"], arrays["seen"], several, n_labels)
            rule = arrays["weights"], arrays["intercept"], float(arrays["temperature"])
            decision = Decision(*rule, made, classes)
        size = int(arrays["size"]) if "size" in arrays else None
        W, chosen = arrays.get("W"), arrays.get("chosen")
        return cls(n_features, W, size, made, chosen, decision)
