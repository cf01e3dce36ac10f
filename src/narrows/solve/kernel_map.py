"""Random functions of samples, whose inner products tend to a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np

from narrows.solve.codec import PART, SchemaError, Sizes, taken
from narrows.solve.products import cores, map_on_cores
from narrows.solve.sums import blocks, divided

KERNELS = ("rbf", "relu")
MOST_HIDDEN = 8_000
_COORDINATES_AT_ONCE = 1 << 22  # of the coordinates of a block of samples
_SAMPLES_AT_ONCE = 256  # samples in a block
_UNIFORM = 12  # numbers whose sum is a weight


class KernelMap:
    """m random functions of samples, and the features themselves.

    ::

        "rbf"    cos((2 gamma)^(1/2) w'(x - o)), and the same with sin, for m / 2 w
        "relu"   max(0, (2 gamma)^(1/2) w'(x - o) + v), for m w and v

    times (2 / m)^(1/2): inner products of the first tend to exp(-gamma |x - y|^2) with m. Weights
    w and v, of mean 0 and variance 1, are sums of twelve uniform numbers from a generator of
    integers, so that a seed gives the same bits on every machine.

    Parameters
    ----------
    seed : int
        At least 0 and less than 2^64.
    kernel : {"rbf", "relu"}
        The functions.
    n_hidden : int
        m.
    gamma : float
        > 0.
    centre : ndarray of shape (n_features,)
        o.
    scale : ndarray of shape (n_features,), optional
        What each feature of x - o is divided by, > 0.
    """

    def __init__(
        self,
        seed: int,
        kernel: str,
        n_hidden: int,
        gamma: float,
        centre: np.ndarray,
        scale: np.ndarray | None = None,
    ):
        self.seed, self.kernel, self.n_hidden = seed, kernel, n_hidden
        self.gamma, self.centre, self.scale = gamma, centre, scale
        self._made: dict[Any, tuple[np.ndarray, np.ndarray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": {}}

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return len(self.centre)

    @property
    def width(self) -> int:
        """The number of coordinates of samples."""
        return len(self.centre) + self.n_hidden

    @property
    def unit(self) -> float:
        """What the features themselves, divided by their scale, are multiplied by."""
        return float(np.sqrt(2 * self.gamma))

    def n_samples_at_once(self, X: Any) -> int:
        """Return how many of these samples to map at a time."""
        return max(_SAMPLES_AT_ONCE, _COORDINATES_AT_ONCE // self.width)

    def coordinates(self, X: Any) -> np.ndarray:
        """Return samples in coordinates, of shape (n_samples, width)."""
        n, dtype = X.shape[0], X.dtype
        found = np.empty((n, self.width), dtype)
        hidden, linear = found[:, : self.n_hidden], found[:, self.n_hidden :]
        is_dense = isinstance(X, np.ndarray)
        linear[:] = divided((X if is_dense else X.toarray()) - self.centre, self.scale)
        W, shift = self.weights(dtype)
        if is_dense:
            projected = linear @ W
        else:
            projected = divided(X, self.scale).astype(dtype, copy=False) @ W
            shift = shift - (divided(self.centre, self.scale) @ W).astype(dtype)
        projected += shift

        def bend(part: slice) -> None:
            _KERNELS[self.kernel](projected[part], hidden[part])

        shares = 1 if projected.size < _COORDINATES_AT_ONCE else cores()
        map_on_cores(bend, blocks(n, max(1, -(-n // shares))))
        linear *= dtype.type(self.unit)
        return found

    def times(self, X: Any, V: np.ndarray) -> np.ndarray:
        """Return the coordinates of samples times V, a block of samples at a time."""
        found = np.empty((X.shape[0], V.shape[1]), np.result_type(X.dtype, V.dtype))
        for part in blocks(X.shape[0], self.n_samples_at_once(X)):
            np.matmul(self.coordinates(X[part]), V, out=found[part])
        return found

    def weights(self, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of shape (n_features, k), and what is added to the products."""
        if dtype not in self._made:
            raw, d = np.random.PCG64(self.seed), self.n_features
            if self.kernel == "rbf":  # a cosine and a sine of each product, by the tangent of half
                k, scale = -(-self.n_hidden // 2), np.sqrt(self.gamma / 2)
                shift = np.zeros(k)
            else:
                k, scale = self.n_hidden, np.sqrt(2 * self.gamma)
                shift = _normal(raw, k)
            W = np.empty((d, k), dtype)
            for j in range(d):
                W[j] = scale * _normal(raw, k)
            self._made[dtype] = W, shift.astype(dtype)
        return self._made[dtype]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the map as named arrays."""
        scale = {} if self.scale is None else {"map_scale": self.scale}
        return scale | {
            "map_seed": np.array(self.seed, np.uint64),
            "map_kernel": np.array(KERNELS.index(self.kernel)),
            "map_hidden": np.array(self.n_hidden),
            "map_gamma": np.array(self.gamma),
            "map_centre": self.centre,
        }

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the map that `to_arrays` described, and take its arrays out of the dict."""
        kernel = int(taken(arrays, "map_kernel", ("i8",), (), {}, (f"<{len(KERNELS)}",)))
        m = int(taken(arrays, "map_hidden", ("i8",), (), {}, ("whole", ">0")))
        if m > MOST_HIDDEN:
            raise SchemaError(f"map_hidden: expected at most {MOST_HIDDEN} functions, got {m}.")
        gamma = float(taken(arrays, "map_gamma", ("f8",), (), {}, (">=0",)))
        sizes: Sizes = {}
        centre, scale = taken(arrays, "map_centre", ("f8",), ("d",), sizes), None
        if "map_scale" in arrays:
            scale = taken(arrays, "map_scale", ("f8",), ("d",), sizes, (">0",))
        seed = int(taken(arrays, "map_seed", ("u8",)))
        return cls(seed, KERNELS[kernel], m, gamma, centre, scale)


def _rbf(half: np.ndarray, hidden: np.ndarray) -> None:
    """Set the cosines, and then the sines, of twice some angles; NumPy's tangent is fast."""
    k, size = half.shape[1], half.dtype.type(np.sqrt(2 / hidden.shape[1]))
    tangent = np.tan(half, out=half)
    share = np.multiply(tangent, tangent)
    share += 1
    np.divide(2 * size, share, out=share)  # size (1 + cos)
    np.subtract(share, size, out=hidden[:, :k])
    np.multiply(
        share[:, : hidden.shape[1] - k], tangent[:, : hidden.shape[1] - k], out=hidden[:, k:]
    )


def _relu(values: np.ndarray, hidden: np.ndarray) -> None:
    np.maximum(values, 0, out=hidden)
    hidden *= hidden.dtype.type(np.sqrt(2 / hidden.shape[1]))


_KERNELS = {"rbf": _rbf, "relu": _relu}


@dataclass(frozen=True)
class AboutMean:
    """Coordinates less their mean."""

    map: Annotated[KernelMap, PART]
    mean: Annotated[np.ndarray, "f8", "m"]

    def times(self, X: Any, V: np.ndarray) -> np.ndarray:
        """Return the coordinates of samples, less their mean, times V."""
        found = self.map.times(X, V)
        found -= (self.mean @ V).astype(found.dtype)
        return found


def _normal(raw: Any, count: int) -> np.ndarray:
    """Return numbers that are nearly normal, of mean 0 and variance 1, each exact.

    A sum of twelve uniform numbers of 16 bits: there are only additions of integers, whose results
    no library of mathematical functions changes.
    """
    bits = raw.random_raw(count * _UNIFORM // 4).reshape(count, _UNIFORM // 4)
    total = np.zeros(count, np.int64)
    for shift in (0, 16, 32, 48):
        total += ((bits >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64).sum(axis=1)
    return (total - _UNIFORM * 65535 / 2) / 65536
