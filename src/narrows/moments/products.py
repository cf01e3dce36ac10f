"""X'X: the sums of products of all pairs of features."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.moments.second import Second, about
from narrows.moments.waiting import NONE, Waiting, Weighted, of_weight
from narrows.solve.codec import SchemaError, Sizes, taken
from narrows.solve.products import compiled_pays, cores, each, one_blas_thread
from narrows.solve.sums import add_at, blocks, check_finite, ranges, with_values

MOST = 8192  # features: 512 MB
COORDINATES = 16_384  # of samples behind a map: 2 GB
FEW = 256  # samples that wait, at least, before their products are added
_BLOCK = 1 << 20  # numbers in a block of samples
_NARROW = 256  # features for whose products several threads of BLAS gain little
_MANY = 1 << 21  # products that are worth several threads
# the time of a product, where both features are scattered in a sample 1: one of them, and none
_BESIDE, _BLAS = 1 / 8, 1 / 50


class Products(Second):
    """X'X, of shape (n_features, n_features), and samples whose products are not in it yet.

    The latest samples wait, since products of many samples at once cost less: at least 256 of them,
    and all of them as long as there are no more samples than features. Then the inner products of
    the samples say all that X'X says.

    Parameters
    ----------
    n_features : int
        The number of features.
    xx : ndarray of shape (n_features, n_features), optional
        The lower triangle of X'X without what waits, in Fortran order; zeros above it.
    waiting : Waiting
        The samples that wait.
    """

    kind = "cross"

    def __init__(
        self, n_features: int, xx: np.ndarray | None = None, waiting: Waiting = NONE
    ) -> None:
        self.n_features = n_features
        # replaced together, so that threads that read see one or the other
        self._held = xx, waiting

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> Self:
        """Return that of no samples."""
        return cls(n_features)

    # -- learning -----------------------------------------------------------------------------

    def make_room(self, n: int) -> None:
        """Sum the products of what waits before the first samples that may not wait come."""
        xx, waiting = self._held
        if xx is None and waiting.n_samples and not self._may_wait(n):
            self._held = self._summed(), NONE

    def add(self, X: Any, T: sparse.csr_array, weight: np.ndarray, origin: Any) -> None:
        """Add samples, less the origin if there is one, in place."""
        X, weight = of_weight(X, weight)
        xx, waiting = self._held
        if self._may_wait(len(weight)):
            if len(weight):
                self._held = xx, waiting.plus(Weighted(about(X, origin), weight))
            return
        xx = self._summed(in_place=True)
        for part in blocks(len(weight), step(X)):
            add_products(xx, about(X[part], origin), weight[part])
        self._held = xx, NONE

    def shared(self) -> Self:
        """Return one with the same arrays, which can be given others."""
        return self._with(*self._held)

    # -- arithmetic ---------------------------------------------------------------------------

    def merge(self, other: Any, sign: float, row: np.ndarray) -> None:
        """Add `sign` times another one, in place."""
        xx, waiting = other._held
        if sign > 0 and xx is None and self._may_wait(waiting.n_samples):
            self._held = self._held[0], self._held[1].plus(*waiting.items)
        elif xx is not None or waiting.n_samples:
            mine, theirs = self._summed(in_place=True), other.lower()
            (np.add if sign > 0 else np.subtract)(mine, theirs, out=mine)
            self._held = mine, NONE

    def about(self, shift: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Self:
        """Return that of the samples plus a shift."""
        shift, (xx, waiting) = np.broadcast_to(shift, (self.n_features,)), self._held
        if waiting.are_sparse:
            xx, waiting = self.lower(), NONE
        if xx is not None and xx.size:
            total = sums.sum(axis=0) + weights.sum() * shift / 2
            for X, weight in waiting.items:  # what waits is not in the products
                total -= weight @ X + weight.sum() * shift / 2
            xx = blas.dsyr2(1.0, total, shift, lower=1, a=xx)  # a copy
        return self._with(xx, waiting.shifted(shift))

    def scaled(self, factor: float) -> Self:
        """Return that of samples with weights times a number."""
        xx, waiting = self._held
        return self._with(None if xx is None else xx * factor, waiting.scaled(factor))

    def widened(self, n_features: int) -> Self:
        """Return that of samples with more features, which are 0."""
        xx, waiting = self._held
        if xx is not None:
            wide = np.zeros((n_features, n_features), order="F")
            wide[: self.n_features, : self.n_features] = xx
            xx = wide
        return type(self)(n_features, xx, waiting.widened(n_features))

    def settled(self) -> Self:
        """Return that of the same samples, of which none waits."""
        return self._with(self._summed(), NONE) if self.n_waiting else self

    def forget(self, gone: np.ndarray) -> None:
        """Remove the rounding that is left of samples, if no class has weight, in place."""
        if gone.all():
            self._held = None, NONE

    def empty(self, features: np.ndarray) -> None:
        """Let all samples be at the origin in some features, in place, where none waits."""
        xx, _ = self._held
        if xx is not None:
            xx[features], xx[:, features] = 0.0, 0.0

    # -- reading ------------------------------------------------------------------------------

    def lower(self) -> np.ndarray:
        """Return the lower triangle of X'X of all samples; not to be written to.

        What waits goes on waiting: reading changes no bit of what is read later.
        """
        xx, waiting = self._held
        return self._summed() if xx is None or waiting.n_samples else xx

    def few(self) -> Weighted | None:
        """Return all samples, if they are fewer than the features; else None."""
        xx, waiting = self._held
        if xx is not None or not 0 < waiting.n_samples < self.n_features:
            return None
        return waiting.stacked().items[0]

    @property
    def squares(self) -> np.ndarray:
        """The sums of squares of the features, of shape (n_features,)."""
        xx, waiting = self._held
        squares = np.zeros(self.n_features) if xx is None else xx.diagonal().copy()
        for rows in waiting.stacked().items:
            squares += rows.squares
        return squares

    @property
    def n_waiting(self) -> int:
        """How many samples wait."""
        return self._held[1].n_samples

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        xx, waiting = self._held
        return waiting.nbytes + (0 if xx is None else xx.nbytes)

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        check_finite(self.squares)

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return it as arrays: the columns of the lower triangle, one after the other."""
        (xx, waiting), d = self._held, self.n_features
        arrays = waiting.to_arrays(f"{name}_waiting")
        if xx is not None:
            columns = [xx[k:, k] for k in range(d)]
            arrays[f"{name}_xx"] = np.concatenate(columns) if columns else np.zeros(0)
        return arrays

    @classmethod
    def read_from(
        cls, arrays: dict[str, np.ndarray], name: str, shape: tuple[str, ...], sizes: Sizes
    ) -> Self:
        """Return the products of `to_arrays`, of "d" features."""
        d = sizes["d"]
        if d > COORDINATES:
            raise SchemaError(f"{name}: expected at most {COORDINATES} features, got {d}.")
        waiting = Waiting.read_from(arrays, f"{name}_waiting", ("w", "d"), {"d": d})
        if f"{name}_xx" not in arrays:
            return cls(d, None, waiting)
        each = taken(arrays, f"{name}_xx", ("f8",), (str(d * (d + 1) // 2),))
        xx, start = np.zeros((d, d), order="F"), 0
        for k in range(d):
            xx[k:, k] = each[start : start + d - k]
            start += d - k
        return cls(d, xx, waiting)

    # -- inside -------------------------------------------------------------------------------

    def _with(self, xx: np.ndarray | None, waiting: Waiting) -> Self:
        return type(self)(self.n_features, xx, waiting)

    def _may_wait(self, n: int) -> bool:
        """Whether so many more samples may wait, beside those that do."""
        xx, waiting = self._held
        return n + waiting.n_samples <= max(FEW, self.n_features if xx is None else 0)

    def _summed(self, in_place: bool = False) -> np.ndarray:
        """Return the products of all samples, in an array that the caller may write to.

        With `in_place` that is the present one, which the caller has to replace.
        """
        xx, waiting = self._held
        if xx is None:
            xx = np.zeros((self.n_features, self.n_features), order="F")
        elif not in_place:
            xx = xx.copy(order="F")
        for X, weight in waiting.stacked().items:
            for part in blocks(len(weight), step(X)):
                add_products(xx, X[part], weight[part])
        return xx


def add_products(G: np.ndarray, X: Any, weight: np.ndarray) -> None:
    """Add w x x' of each sample, in place."""
    if sparse.issparse(X):
        _add_sparse(G, X, weight)
    elif X.size:
        if (weight != 1).any():
            X = X * np.sqrt(weight)[:, None]
        with one_blas_thread(len(G) <= _NARROW):
            blas.dsyrk(1.0, X.T, beta=1.0, c=G, lower=1, overwrite_c=1)


def _add_sparse(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Add the products of sparse samples; the last features may be there in most of them."""
    k = _first_filled(X)
    if k == X.shape[1]:
        _add_scattered(G, X, weight)
        return
    if (weight != 1).any():
        X = with_values(X, X.data * np.repeat(np.sqrt(weight), np.diff(X.indptr)))
    thin, filled = X[:, :k], X[:, k:].toarray()
    _add_scattered(G, thin, np.ones(len(weight)))
    G[k:, :k] += (thin.T @ filled).T
    G[k:, k:] += blas.dsyrk(1.0, filled.T, lower=1)


def _add_scattered(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Add the products of sparse samples on all cores, each with features of its own."""
    if not compiled_pays(int(_products(X).sum())):
        _add_pairs(G, X, weight)
        return
    from narrows.solve.kernels import add_products as add_to

    def add(features: slice) -> None:
        low, high = features.start, features.stop
        add_to(X.indptr, X.indices, X.data, weight, low, high, G.T)

    each(add, _shares(X))


def _products(X: sparse.csr_array) -> np.ndarray:
    """Return the number of products of each non-zero, with itself and those after it."""
    return np.repeat(X.indptr[1:], np.diff(X.indptr)) - np.arange(X.nnz)


def _add_pairs(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Do what the compiled loop `add_products` does for all features, in its order."""
    products, weighted = _products(X), np.repeat(weight, np.diff(X.indptr)) * X.data
    for some in blocks(X.nnz, max(1, _BLOCK // max(1, int(products.max(initial=0))))):
        first = np.arange(some.start, some.stop)
        second = ranges(first, products[some])
        first = np.repeat(first, products[some])
        values = weighted[first] * X.data[second]
        add_at(G.T, X.indices[first], X.indices[second], values)


def _shares(X: sparse.csr_array) -> list[slice]:
    """Return ranges of features with about equal numbers of products with the features after."""
    products = _products(X)
    if cores() == 1 or products.sum() < _MANY:
        return [slice(0, X.shape[1])]
    done = np.cumsum(np.bincount(X.indices, products, X.shape[1]))
    cuts = np.searchsorted(done, done[-1] * np.arange(1, cores()) / cores()) + 1
    ends = [0, *cuts.tolist(), X.shape[1]]
    return [slice(a, b) for a, b in pairwise(ends) if a < b]


def _first_filled(X: sparse.csr_array) -> int:
    """Return the feature from which on samples are an array, so that products take least time."""
    n, d = X.shape
    share = np.bincount(X.indices, minlength=d) / max(1, n)
    thin, filled = np.append(0.0, np.cumsum(share)), np.arange(d, -1, -1)
    return int((thin**2 / 2 + _BESIDE * thin * filled + _BLAS * filled**2).argmin())


def symmetric(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with this lower triangle, and zeros above it."""
    return lower + np.tril(lower, -1).T


def step(X: Any) -> int:
    """The number of samples in a block."""
    if sparse.issparse(X):
        return max(1, _BLOCK * X.shape[0] // max(1, X.nnz))
    return max(FEW, _BLOCK // max(1, X.shape[1]))
