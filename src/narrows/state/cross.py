"""Samples whose cross products are summed later, and how the products are summed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.errors import WidthError
from narrows.solve.codec import SchemaError, Sizes, samples_from, samples_to_arrays, taken
from narrows.solve.products import compiled_pays, cores, each, one_blas_thread
from narrows.solve.sums import (
    add_at,
    blocks,
    canonical,
    check_finite,
    ranges,
    stacked,
    widened,
    with_values,
)

EPS = float(np.finfo(np.float64).eps)
NOISE = 4 * EPS  # of a sum of squares: its rounding
FEW = 256  # samples that wait, at least, before their products are added
_BLOCK = 1 << 20  # numbers in a block of samples
_NARROW = 256  # features for whose products several threads of BLAS gain little
_MANY = 1 << 21  # products that are worth several threads
# the time of a product, where both features are scattered in a sample 1: one of them, and none
_BESIDE, _BLAS = 1 / 8, 1 / 50


class Rows(NamedTuple):
    """Samples about the origin whose products are not summed yet, and their weights."""

    X: Any  # ndarray or csr_array of shape (n_samples, n_features), float64
    weight: np.ndarray

    @property
    def squares(self) -> np.ndarray:
        """The weighted sums of the squares of each feature."""
        return self.weight @ (self.X.power(2) if sparse.issparse(self.X) else self.X**2)


def rows_of(X: Any, weight: np.ndarray, presence: bool) -> Rows:
    """Return the samples of positive weight, or their presence; dense ones are as they were."""
    if not weight.all():
        X, weight = X[weight > 0], weight[weight > 0]
    if sparse.issparse(X):
        X = canonical(X)
        values = (X.data != 0) if presence else X.data
        X = with_values(X, values.astype(np.float64))
    elif presence:
        X = (X != 0).astype(np.float64)
    return Rows(X, weight)


def add(G: np.ndarray, X: Any, weight: np.ndarray) -> None:
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
    from narrows.solve.kernels import add_products

    def add(features: slice) -> None:
        low, high = features.start, features.stop
        add_products(X.indptr, X.indices, X.data, weight, low, high, G.T)

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


def about(X: Any, origin: np.ndarray | None) -> Any:
    """Return a copy of samples about the origin, in double precision; sparse ones are about 0."""
    if sparse.issparse(X):
        return X
    return X.astype(np.float64) if origin is None else X - origin


def symmetric(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with this lower triangle, and zeros above it."""
    return lower + np.tril(lower, -1).T


def step(X: Any) -> int:
    """The number of samples in a block."""
    if sparse.issparse(X):
        return max(1, _BLOCK * X.shape[0] // max(1, X.nnz))
    return max(FEW, _BLOCK // max(1, X.shape[1]))


MOST = 8192  # features: 512 MB
IN_FOLD = 2 * FEW  # samples that wait in a fold, to which each batch adds a few
COORDINATES = 16_384  # of samples behind a map: 2 GB


class Cross:
    """G = sum_i w_i (x_i - o)(x_i - o)', of shape (n_features, n_features).

    The latest samples wait, since products of many samples at once cost less: at least 256 of them,
    and all of them as long as there are no more samples than features.

    Parameters
    ----------
    n_features : int
        At most `most`.
    products : ndarray of shape (n_features, n_features), optional
        The lower triangle of G, in Fortran order; zeros above it.
    rows : tuple of Rows
        The samples that wait.
    most : int
        The limit of the number of features.
    """

    def __init__(
        self,
        n_features: int,
        products: np.ndarray | None = None,
        rows: tuple[Rows, ...] = (),
        most: int = MOST,
    ):
        if n_features > most:
            raise WidthError(
                f'ClassStats: expected at most {most:,} features for second="cross", got '
                f"{n_features:,}. Select features first, or use OnlineSRDA or OC.",
                n_features,
            )
        self.n_features, self.most = n_features, most
        self._held = products, rows

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        products, rows = self._held
        waiting = sum(r.X.data.nbytes + r.weight.nbytes for r in rows)
        return waiting + (0 if products is None else products.nbytes)

    # -- changing it in place -----------------------------------------------------------------

    def make_room(self, rows: Rows, room: int = 0) -> None:
        """Sum the products of what waits before the first `update` that no samples wait after."""
        products, waiting = self._held
        if products is None and waiting and not self._fits(len(rows.weight), room):
            self._held = self.summed(), ()

    def update(self, rows: Rows, origin: np.ndarray | None, room: int = 0) -> None:
        """Add samples in place; at least `room` may wait."""
        X, weight = rows
        products, waiting = self._held
        if self._fits(len(weight), room):
            if len(weight):
                self._held = products, (*waiting, Rows(about(X, origin), weight))
            return
        products = self.summed(in_place=True)
        for part in blocks(len(weight), step(X)):
            add(products, about(X[part], origin), weight[part])
        self._held = products, ()

    def add(self, other: Self, sign: float = 1.0, row: Any = None) -> None:
        """Add `sign` times sums about the same origin, in place; classes do not matter."""
        products, rows = other._held
        if sign > 0 and products is None and self._fits(sum(len(r.weight) for r in rows)):
            self._held = self._held[0], (*self._held[1], *rows)
        elif products is not None or rows:
            mine, theirs = self.summed(in_place=True), other.products()
            (np.add if sign > 0 else np.subtract)(mine, theirs, out=mine)
            self._held = mine, ()

    def clear(self, weights: np.ndarray) -> None:
        """Remove the rounding that is left of samples, if no class has weight."""
        if not weights.any():
            self._held = None, ()

    def empty(self, features: np.ndarray) -> None:
        """Set features to 0, in place, where no samples wait."""
        products, _ = self._held
        if products is not None:
            products[features], products[:, features] = 0.0, 0.0

    # -- others made of it --------------------------------------------------------------------

    def shifted(self, delta: np.ndarray, n: float, sums: np.ndarray) -> Self:
        """Return sums of products of x - o + delta from those of x - o.

        The samples have the weight `n` and the sums `sums`, of x - o.
        """
        delta, (products, rows) = np.broadcast_to(delta, (self.n_features,)), self._held
        if any(sparse.issparse(r.X) for r in rows):
            products, rows = self.products(), ()
        moved = tuple(Rows(r.X + delta, r.weight) for r in rows)
        if products is not None and products.size:
            total = sums + n * delta / 2
            for r in rows:  # what waits is not in the products
                total -= r.weight @ r.X + r.weight.sum() * delta / 2
            products = blas.dsyr2(1.0, total, delta, lower=1, a=products)  # a copy
        return self._like(products, moved)

    def settled(self) -> Self:
        """Return the moment with the products of all samples, of which none waits."""
        return self._like(self.summed(), ()) if self._held[1] else self

    @property
    def n_waiting(self) -> int:
        """How many samples wait."""
        return sum(len(rows.weight) for rows in self._held[1])

    def scaled(self, weight: float) -> Self:
        """Return the moment times a number."""
        products, rows = self._held
        if products is not None:
            products = products * weight
        return self._like(products, tuple(Rows(r.X, r.weight * weight) for r in rows))

    def widened(self, n_features: int) -> Self:
        """Return the moment with more features, which are 0."""
        products, rows = self._held
        if products is not None:
            wide = np.zeros((n_features, n_features), order="F")
            wide[: self.n_features, : self.n_features] = products
            products = wide
        wider = tuple(Rows(widened(r.X, n_features), r.weight) for r in rows)
        return type(self)(n_features, products, wider, self.most)

    def _like(self, products: np.ndarray | None, rows: tuple[Rows, ...]) -> Self:
        return type(self)(self.n_features, products, rows, self.most)

    # -- reading ------------------------------------------------------------------------------

    def products(self) -> np.ndarray:
        """Return the lower triangle of G; not to be written to.

        What waits goes on waiting: reading changes no bit of what is read later.
        """
        products, rows = self._held
        return self.summed() if products is None or rows else products

    def samples(self) -> Rows | None:
        """Return all samples, if they are fewer than the features; else None."""
        rows = self._waiting()
        few = self._held[0] is None and rows and len(rows[0].weight) < self.n_features
        return rows[0] if few else None

    def diagonal(self) -> np.ndarray:
        """Return the sums of squares, of shape (n_features,)."""
        products = self._held[0]
        squares = np.zeros(self.n_features) if products is None else products.diagonal().copy()
        for r in self._waiting():
            squares += r.squares
        return squares

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        check_finite(self.diagonal())

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays: the columns of the lower triangle, one after the other."""
        G, d = self._held[0], self.n_features
        arrays = {"cross_width": np.array(d)}
        if G is not None:
            columns = [G[k:, k] for k in range(d)]
            arrays["cross"] = np.concatenate(columns) if columns else np.zeros(0)
        for X, weight in self._waiting():
            name = "cross_sparse_weight" if sparse.issparse(X) else "cross_weight"
            arrays |= {name: weight, **samples_to_arrays(X, "cross_")}
        return arrays

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray], sizes: Sizes) -> Self:
        """Return the moment of `to_arrays`, of "d" features."""
        d = int(taken(arrays, "cross_width", ("i8",)))
        if d != sizes["d"] or d > COORDINATES:
            raise SchemaError(f"cross_width: expected {sizes['d']} features, got {d}.")
        G, start, rows = None, 0, tuple[Rows, ...]()
        if "cross" in arrays:
            each = taken(arrays, "cross", ("f8",), (str(d * (d + 1) // 2),))
            G = np.zeros((d, d), order="F")
            for k in range(d):
                G[k:, k] = each[start : start + d - k]
                start += d - k
        for name in ("cross_weight", "cross_sparse_weight"):
            if name in arrays:
                weight = taken(arrays, name, ("f8",), ("n",), own := {"d": d}, (">=0",))
                X = samples_from(arrays, "cross_", ("n", "d"), own)
                rows = (Rows(canonical(X) if sparse.issparse(X) else X, weight),)
        return cls(d, G, rows, MOST if d <= MOST else COORDINATES)

    # -- inside -------------------------------------------------------------------------------

    def _fits(self, n: int, room: int = 0) -> bool:
        """Whether so many more samples may wait, beside those that do."""
        products, rows = self._held
        most = max(FEW, room, self.n_features if products is None else 0)
        return n + sum(len(r.weight) for r in rows) <= most

    def _waiting(self) -> list[Rows]:
        """Return the samples that wait as one item, if there are any; CSR if some are sparse."""
        rows = self._held[1]
        if len(rows) < 2:
            return list(rows)
        return [Rows(stacked([r.X for r in rows]), np.concatenate([r.weight for r in rows]))]

    def summed(self, in_place: bool = False) -> np.ndarray:
        """Return the products of all samples, in an array that the caller may write to.

        With `in_place` that is the present one, which the caller has to replace.
        """
        products = self._held[0]
        if products is None:
            G = np.zeros((self.n_features, self.n_features), order="F")
        else:
            G = products if in_place else products.copy(order="F")
        for X, weight in self._waiting():
            for part in blocks(len(weight), step(X)):
                add(G, X[part], weight[part])
        return G
