"""The second moment of all pairs of features: sums of products about the origin.

Arrays that a moment holds are never written to, except for those that one update makes itself. So
copies share them, and an update that fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.moments.batch import Batch
from narrows.moments.moment import Shift
from narrows.moments.squares import NOISE, TotalSquares
from narrows.moments.table import Table
from narrows.solve.errors import ParameterError
from narrows.solve.schema import FINITE, NOT_NEGATIVE, Check, Field
from narrows.solve.sums import (
    HUGE,
    TINY,
    blocks,
    canonical,
    check_not_tiny,
    sum_of_squares,
    too_large,
    widened,
    with_values,
)

MOST = 8192  # features: 512 MB
FEW = 256  # samples that wait, at least, before their products are added
_BLOCK = 1 << 20  # numbers in a block of samples
_SINGLE = 2.0**-21  # of a sum of squares in single precision: its rounding


class Rows(NamedTuple):
    """Samples about the origin whose products are not summed yet, and their weights."""

    X: Any  # ndarray or csr_array of shape (n_samples, n_features), float64
    weight: np.ndarray


class Cross:
    """G = sum_i w_i (x_i - o)(x_i - o)', of shape (n_features, n_features).

    The latest samples wait, since products of many samples at once cost less: at least 256 of them,
    and all of them as long as there are no more samples than features.

    Parameters
    ----------
    n_features : int
        At most 8,192.
    products : ndarray of shape (n_features, n_features), optional
        The lower triangle of G, in Fortran order; zeros above it.
    rows : tuple of Rows
        The samples that wait.
    rounding : ndarray of shape (n_features,), optional
        How far the diagonal may be off by the rounding of what was subtracted.
    single : float
        The trace of all products that were computed in single precision.
    """

    names: ClassVar[tuple[str, ...]] = ("cross", "cross_rounding", "cross_single")
    of: ClassVar[str] = " of squares"
    by_class: ClassVar[bool] = False
    separable: ClassVar[bool] = False

    def __init__(
        self,
        n_features: int,
        products: np.ndarray | None = None,
        rows: tuple[Rows, ...] = (),
        rounding: np.ndarray | None = None,
        single: float = 0.0,
    ):
        if n_features > MOST:
            raise ParameterError(
                f'ClassStats: expected at most {MOST:,} features for second="cross", got '
                f"{n_features:,}. Select features first, or use OnlineSRDA or OC."
            )
        self.n_features = n_features
        self._held = products, rows  # replaced together, since a read may be interrupted
        self.rounding, self.single = rounding, single

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Return the moment of no samples."""
        return cls(n_features)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        products, rows = self._held
        waiting = sum(r.X.data.nbytes + r.weight.nbytes for r in rows)
        return waiting + (0 if products is None else products.nbytes)

    # -- changing it in place -----------------------------------------------------------------

    def update(self, batch: Batch) -> None:
        """Add samples; `batch.undo` notes what changes."""
        if batch.undo is not None:
            batch.undo.attributes(self)
        X, weight = batch.X, np.asarray(batch.Y.sum(axis=1), dtype=np.float64).ravel()
        if not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        origin = None if sparse.issparse(X) or batch.presence else batch.origin
        if sparse.issparse(X):
            X = canonical(X)
            values = (X.data != 0) if batch.presence else X.data
            X = with_values(X, values.astype(np.float64))
        elif batch.presence:
            X = (X != 0).astype(np.float64)
        n = len(weight)
        if not n:
            return
        if n + self._waiting <= self._room:
            rows = Rows(X if sparse.issparse(X) else _about(X, origin, np.float64), weight)
            _check_range(rows.X, float(weight.max()))
            self._held = self._held[0], (*self._held[1], rows)
            return
        products = self._summed()
        for part in blocks(n, _step(X)):
            some = X[part] if sparse.issparse(X) else _about(X[part], origin, X.dtype)
            self.single += _add(products, some, weight[part])
        _check_products(products)
        self._held = products, ()

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times a moment about the same origin; a subtraction adds to `rounding`."""
        products, rows = other._held
        if sign < 0:
            self._add_rounding(NOISE * self.diagonal())
        if sign > 0 and products is None and self._waiting + other._waiting <= self._room:
            self._held = self._held[0], (*self._held[1], *rows)
        elif products is None and not rows:
            return
        else:
            mine, theirs = self._summed(), other.products()
            with np.errstate(over="ignore", invalid="ignore"):  # checked next
                (np.add if sign > 0 else np.subtract)(mine, theirs, out=mine)
            _check_products(mine)
            self._held = mine, ()
        if other.rounding is not None:
            self._add_rounding(other.rounding)
        self.single += other.single

    def clear(self, row: np.ndarray, empty: bool) -> None:
        """Remove the rounding that is left where the state is empty."""
        if empty:
            self._held, self.rounding, self.single = (None, ()), None, 0.0

    def _add_rounding(self, more: np.ndarray) -> None:
        self.rounding = more if self.rounding is None else self.rounding + more

    # -- others made of it --------------------------------------------------------------------

    def shifted(self, shift: Shift) -> Self:
        """Return sums of products of x - o + delta from those of x - o."""
        delta, (products, rows) = np.broadcast_to(shift.delta, (self.n_features,)), self._held
        if any(sparse.issparse(r.X) for r in rows):
            products, rows = self.products(), ()
        moved = tuple(Rows(r.X + delta, r.weight) for r in rows)
        if products is not None:
            n = shift.first.sum(axis=0)  # n delta
            total = shift.sums.weighted(np.ones(shift.sums.shape[0])) + n / 2
            for r in rows:  # what waits is not in the products
                total -= r.weight @ r.X + r.weight.sum() * delta / 2
            products = blas.dsyr2(1.0, total, delta, lower=1, a=products)  # a copy
        return self._like(products, moved)

    def scaled(self, weight: float) -> Self:
        """Return the moment times a number."""
        products, rows = self._held
        if products is not None and weight != 1:
            products = products * weight
        new = self._like(products, tuple(Rows(r.X, r.weight * weight) for r in rows))
        new.rounding = None if self.rounding is None else self.rounding * weight
        new.single *= weight
        return new

    def spread(self, row: np.ndarray, n_classes: int) -> Self:
        """Return the moment with more classes, which is the same."""
        return self._like(*self._held)

    def widened(self, n_features: int) -> Self:
        """Return the moment with more features, which are 0."""
        more = n_features - self.n_features
        new = type(self)(n_features, single=self.single)
        products, rows = self._held
        if products is not None:
            wide = np.zeros((n_features, n_features), order="F")
            wide[: self.n_features, : self.n_features] = products
            products = wide
        new._held = products, tuple(Rows(widened(r.X, n_features), r.weight) for r in rows)
        new.rounding = None if self.rounding is None else np.pad(self.rounding, (0, more))
        return new

    def cut(self, columns: slice) -> Self:
        """Return the moment of some neighbouring features."""
        products, rows = self._held
        if products is not None:
            products = np.asfortranarray(products[columns, columns])
        kept = tuple(Rows(r.X[:, columns], r.weight) for r in rows)
        start, stop, _ = columns.indices(self.n_features)
        rounding = None if self.rounding is None else self.rounding[columns]
        return type(self)(stop - start, products, kept, rounding, self.single)

    @classmethod
    def beside(cls, parts: Sequence[Self], in_memory: bool) -> Self:
        """Return the only part; products of features in different parts are in none of them."""
        (part,) = parts
        return part._like(*part._held)

    def _like(self, products: np.ndarray | None, rows: tuple[Rows, ...]) -> Self:
        return type(self)(self.n_features, products, rows, self.rounding, self.single)

    # -- reading ------------------------------------------------------------------------------

    def products(self) -> np.ndarray:
        """Return the lower triangle of G; not to be written to."""
        products, rows = self._held
        if products is None or rows:
            products = self._summed()
            self._held = products, ()
        return products

    def samples(self) -> Rows | None:
        """Return all samples, if they are fewer than the features and of one form; else None."""
        products, rows = self._held
        if products is not None or not rows or self._waiting >= self.n_features:
            return None
        if len({sparse.issparse(r.X) for r in rows}) > 1:
            return None
        if len(rows) > 1:
            stack: Callable[..., Any] = sparse.vstack if sparse.issparse(rows[0].X) else np.vstack
            X = stack([r.X for r in rows])
            rows = (Rows(X.tocsr() if sparse.issparse(X) else X, _joined(rows)),)
            self._held = None, rows
        return rows[0]

    def diagonal(self) -> np.ndarray:
        """Return the sums of squares, of shape (n_features,)."""
        products, rows = self._held
        squares = np.zeros(self.n_features) if products is None else products.diagonal().copy()
        with np.errstate(over="ignore", invalid="ignore"):  # checked where it matters
            for r in rows:
                squares += r.weight @ (r.X.power(2) if sparse.issparse(r.X) else r.X**2)
        return squares

    def noise(self) -> float:
        """Return the size up to which eigenvalues of G may be rounding."""
        lost = 0.0 if self.rounding is None else float(self.rounding.sum())
        return float(NOISE * self.diagonal().sum() + lost + _SINGLE * self.single)

    def total(self) -> TotalSquares:
        """Return what ``second="total"`` holds."""
        noise = None if self.rounding is None else _one_row(self.rounding)
        return TotalSquares(_one_row(self.diagonal()), noise)

    def squares(self) -> np.ndarray:
        """Return the sums of squares, of shape (n_features,)."""
        return self.diagonal()

    def mean(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the mean square about the origin under priors p, of shape (n_features,)."""
        return self.total().mean(p, counts)

    def mean_noise(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
        """Return how far `mean` may be off by earlier subtractions; None without any."""
        return self.total().mean_noise(p, counts)

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        _check_squares(self.diagonal())

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays: the columns of the lower triangle, one after the other."""
        G = self.products()
        columns = [G[k:, k] for k in range(self.n_features)]
        arrays = {
            "cross": np.concatenate(columns) if columns else np.zeros(0),
            "cross_single": np.array(self.single),
        }
        return arrays if self.rounding is None else {**arrays, "cross_rounding": self.rounding}

    @classmethod
    def schema(cls, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Field], tuple[Check, ...]]:
        """Return the schema of its arrays, and rules."""
        fields = {
            "cross": Field("f8", ("t",), FINITE),
            "cross_single": Field("f8", (), NOT_NEGATIVE),
            "cross_rounding": Field("f8", ("d",), NOT_NEGATIVE, optional=True),
        }
        return fields, (Check("cross products of all pairs of features", _all_pairs),)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the moment of `to_arrays`, which fits `schema`."""
        packed, d = arrays["cross"], _side(arrays["cross"])
        rounding = arrays.get("cross_rounding")
        new = cls(d, None, (), None if rounding is None else np.array(rounding))
        new.single = float(arrays["cross_single"])
        if packed.size:  # also zeros: of samples that are the origin
            G, start = np.zeros((d, d), order="F"), 0
            for k in range(d):
                G[k:, k] = packed[start : start + d - k]
                start += d - k
            new._held = G, ()
        return new

    # -- inside -------------------------------------------------------------------------------

    @property
    def _waiting(self) -> int:
        """The number of samples that wait."""
        return sum(len(r.weight) for r in self._held[1])

    @property
    def _room(self) -> int:
        """The number of samples that may wait."""
        return FEW if self._held[0] is not None else max(FEW, self.n_features)

    def _summed(self) -> np.ndarray:
        """Return the products of all samples, in an array that the caller may write to."""
        products, rows = self._held
        if products is None:
            G = np.zeros((self.n_features, self.n_features), order="F")
        else:
            G = products.copy(order="F")
        for group in _groups(rows):
            for part in blocks(len(group.weight), _step(group.X)):
                _add(G, group.X[part], group.weight[part])
        return G


def _groups(rows: tuple[Rows, ...]) -> Iterator[Rows]:
    """Yield the samples, those of single updates that follow each other together."""
    dense: list[Rows] = []
    for r in rows:
        if sparse.issparse(r.X):
            yield r
        else:
            dense.append(r)
    if len(dense) > 1:
        yield Rows(np.vstack([r.X for r in dense]), _joined(dense))
    else:
        yield from dense


def _joined(rows: Sequence[Rows]) -> np.ndarray:
    return np.concatenate([r.weight for r in rows])


def _add(G: np.ndarray, X: Any, weight: np.ndarray) -> float:
    """Add w x x' of each sample, in place; return the trace of what is in single precision."""
    if sparse.issparse(X):
        from narrows.solve.kernels import add_products

        add_products(X.indptr, X.indices, X.data, weight, G.T)
        return 0.0
    if (weight != 1).any():
        X = X * np.sqrt(weight).astype(X.dtype)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # checked by the caller
        if X.dtype == np.float32:
            products = blas.ssyrk(1.0, X.T, lower=1)
            G += products
            return float(products.trace(dtype=np.float64))
        if len(X):
            blas.dsyrk(1.0, X.T, beta=1.0, c=G, lower=1, overwrite_c=1)
    return 0.0


def _about(X: np.ndarray, origin: np.ndarray | None, dtype: Any) -> np.ndarray:
    """Return a copy of samples about the origin; the differences are of double precision."""
    if origin is None:
        return X.astype(dtype)
    if X.dtype != dtype or dtype == np.float64:
        return (X - origin).astype(dtype, copy=False)
    near = origin.astype(dtype)
    found = X - near  # exact for samples near the origin
    found -= (origin - near).astype(dtype)
    return found


def _step(X: Any) -> int:
    """The number of samples in a block."""
    if sparse.issparse(X):
        return max(1, _BLOCK * X.shape[0] // max(1, X.nnz))
    size = _BLOCK if X.dtype == np.float64 else 4 * _BLOCK
    return max(FEW, size // max(1, X.shape[1]))


def _check_range(X: Any, heaviest: float) -> None:
    """Raise RangeError where squares of samples overflow or underflow."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        size = sum_of_squares(values)
        if TINY < size < HUGE and size * max(heaviest, 1.0) < HUGE:
            return
        largest = abs(X).max(axis=0)
        largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
        _check_squares(largest**2 * max(heaviest, 1.0) * X.shape[0])
    if size < TINY:
        check_not_tiny(largest)


def _check_products(G: np.ndarray) -> None:
    _check_squares(G.diagonal())


def _check_squares(squares: np.ndarray) -> None:
    """Raise RangeError where a sum of squares is infinite, which others are bounded by."""
    if not np.isfinite(squares).all():
        k = int((~np.isfinite(squares)).argmax())
        raise too_large(f"sums of squares below {HUGE:.1e}", k)


def _one_row(values: np.ndarray) -> Table:
    return Table((1, len(values)), values[None, :])


def _side(packed: np.ndarray) -> int:
    """The number of features whose pairs have so many products."""
    return int(np.sqrt(2 * len(packed) + 0.25))


def _all_pairs(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    d = sizes["d"]
    return len(arrays["cross"]) == d * (d + 1) // 2 and d <= MOST
