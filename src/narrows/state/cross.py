"""The second moment of all pairs of features: sums of products about the origin.

Arrays that a moment holds are never written to, except for those that one update makes itself. So
copies share them, and an update that fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.errors import WidthError
from narrows.state.batch import Batch
from narrows.state.moment import Shift
from narrows.state.products import (
    FEW,
    ROWS,
    Rows,
    about,
    add,
    are_complete,
    check_products,
    check_squares,
    groups,
    one_row,
    rows_from_arrays,
    rows_to_arrays,
    step,
    to_wait,
)
from narrows.state.squares import NOISE, TotalSquares
from narrows.solve.schema import FINITE, NOT_NEGATIVE, Check, Field, between
from narrows.solve.sums import blocks, canonical, widened, with_values

MOST = 8192  # features: 512 MB
_IN_FOLD = 2 * FEW  # samples that wait in a fold, to which each batch adds a few
COORDINATES = 16_384  # of samples behind a map: 2 GB
_SINGLE = 2.0**-16  # of the mean of the sums of squares: the rounding of 0.2 in single precision


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
    rounding : ndarray of shape (n_features,), optional
        How far the diagonal may be off by the rounding of what was subtracted.
    most : int
        The limit of the number of features.
    """

    names: ClassVar[tuple[str, ...]] = ("cross", "cross_rounding")
    of: ClassVar[str] = " of squares"
    by_class: ClassVar[bool] = False
    separable: ClassVar[bool] = False

    def __init__(
        self,
        n_features: int,
        products: np.ndarray | None = None,
        rows: tuple[Rows, ...] = (),
        rounding: np.ndarray | None = None,
        most: int = MOST,
    ):
        if n_features > most:
            raise WidthError(
                f'ClassStats: expected at most {most:,} features for second="cross", got '
                f"{n_features:,}. Select features first, or use OnlineSRDA or OC.",
                n_features,
            )
        self.n_features, self.most = n_features, most
        self._made_here = False  # the products, in an update
        self._held = products, rows  # replaced together, since a read may be interrupted
        self.rounding = rounding

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
        X, weight = batch.some(batch.X), batch.weight
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
        room = self._room if batch.step == 1 else max(self._room, _IN_FOLD)
        if n + self._waiting <= room:
            self._held = self._held[0], (*self._held[1], to_wait(X, weight, origin))
            return
        products = self.summed(batch.in_place and self._made_here)
        for part in blocks(n, step(X)):
            add(products, X[part] if sparse.issparse(X) else about(X[part], origin), weight[part])
        check_products(products)
        self._held, self._made_here = (products, ()), True

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
            mine, theirs = self.summed(), other.products()
            with np.errstate(over="ignore", invalid="ignore"):  # checked next
                (np.add if sign > 0 else np.subtract)(mine, theirs, out=mine)
            check_products(mine)
            self._held = mine, ()
        if other.rounding is not None:
            self._add_rounding(other.rounding)

    def clear(self, row: np.ndarray, empty: bool) -> None:
        """Remove the rounding that is left where the state is empty."""
        if empty:
            self._held, self.rounding = (None, ()), None

    def _add_rounding(self, more: np.ndarray) -> None:
        self.rounding = more if self.rounding is None else self.rounding + more

    # -- others made of it --------------------------------------------------------------------

    def shifted(self, shift: Shift) -> Self:
        """Return sums of products of x - o + delta from those of x - o."""
        delta, (products, rows) = np.broadcast_to(shift.delta, (self.n_features,)), self._held
        if any(sparse.issparse(r.X) for r in rows):
            products, rows = self.products(), ()
        moved = tuple(Rows(r.X + delta, r.weight) for r in rows)
        if products is not None and products.size:
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
        return new

    def spread(self, row: np.ndarray, n_classes: int) -> Self:
        """Return the moment with more classes, which is the same."""
        return self._like(*self._held)

    def widened(self, n_features: int) -> Self:
        """Return the moment with more features, which are 0."""
        more = n_features - self.n_features
        new = type(self)(n_features, most=self.most)
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
        return type(self)(stop - start, products, kept, rounding, self.most)

    @classmethod
    def beside(cls, parts: Sequence[Self], in_memory: bool) -> Self:
        """Return the only part; products of features in different parts are in none of them."""
        (part,) = parts
        return part._like(*part._held)

    def _like(self, products: np.ndarray | None, rows: tuple[Rows, ...]) -> Self:
        return type(self)(self.n_features, products, rows, self.rounding, self.most)

    # -- reading ------------------------------------------------------------------------------

    def products(self) -> np.ndarray:
        """Return the lower triangle of G; not to be written to.

        What waits goes on waiting: reading changes no bit of what is read later.
        """
        products, rows = self._held
        return self.summed() if products is None or rows else products

    def samples(self) -> Rows | None:
        """Return all samples, if they are fewer than the features and of one form; else None."""
        rows = groups(self._held[1])
        if self._held[0] is not None or len(rows) != 1 or self._waiting >= self.n_features:
            return None
        return rows[0]

    def diagonal(self) -> np.ndarray:
        """Return the sums of squares, of shape (n_features,)."""
        products = self._held[0]
        squares = np.zeros(self.n_features) if products is None else products.diagonal().copy()
        with np.errstate(over="ignore", invalid="ignore"):  # checked where it matters
            for r in groups(self._held[1]):
                squares += r.squares
        return squares

    def noise(self) -> np.ndarray:
        """Return how far each sum of squares may be off by rounding, of shape (n_features,)."""
        noise = NOISE * self.diagonal()
        return noise if self.rounding is None else noise + self.rounding

    def total(self) -> TotalSquares:
        """Return what ``second="total"`` holds."""
        noise = None if self.rounding is None else one_row(self.rounding)
        return TotalSquares(one_row(self.diagonal()), noise)

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
        check_squares(self.diagonal())

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays: the columns of the lower triangle, one after the other."""
        G, d = self._held[0], self.n_features
        arrays = {"cross_width": np.array(d)}
        if G is not None:
            columns = [G[k:, k] for k in range(d)]
            arrays["cross"] = np.concatenate(columns) if columns else np.zeros(0)
        if self.rounding is not None:
            arrays["cross_rounding"] = self.rounding
        return arrays | rows_to_arrays(self._held[1])

    @classmethod
    def schema(cls, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Field], tuple[Check, ...]]:
        """Return the schema of its arrays, and rules."""
        return _SCHEMA, _RULES

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the moment of `to_arrays`, which fits `schema`."""
        d, rounding = int(arrays["cross_width"]), arrays.get("cross_rounding")
        G, start = None, 0
        if "cross" in arrays:
            G = np.zeros((d, d), order="F")
            for k in range(d):
                G[k:, k] = arrays["cross"][start : start + d - k]
                start += d - k
        rounding = None if rounding is None else np.array(rounding)
        most = MOST if d <= MOST else COORDINATES
        new = cls(d, G, rows_from_arrays(arrays, d), rounding, most)
        if arrays.get("cross_single"):
            new._add_rounding(np.full(d, _SINGLE * float(arrays["cross_single"]) / d**2))
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

    def summed(self, in_place: bool = False) -> np.ndarray:
        """Return the products of all samples, in an array that the caller may write to.

        With `in_place` that is the present one, which the caller has to replace.
        """
        products = self._held[0]
        if products is None:
            G = np.zeros((self.n_features, self.n_features), order="F")
        else:
            G = products if in_place else products.copy(order="F")
        for group in groups(self._held[1]):
            for part in blocks(len(group.weight), step(group.X)):
                add(G, group.X[part], group.weight[part])
        return G


def _all_pairs(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    d = sizes["d"]
    return "cross" not in arrays or len(arrays["cross"]) == d * (d + 1) // 2


def _as_wide(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    return int(arrays["cross_width"]) == sizes["d"]


_SCHEMA = {
    "cross_width": Field("i8", (), between(0, COORDINATES)),
    "cross_single": Field("f8", (), NOT_NEGATIVE, optional=True),  # of 0.2: the trace of products
    "cross": Field("f8", ("t",), FINITE, optional=True),
    "cross_rounding": Field("f8", ("d",), NOT_NEGATIVE, optional=True),
    **ROWS,
}
_RULES = (
    Check("as many features as there are sums of", _as_wide),
    Check("cross products of all pairs of features", _all_pairs),
    Check("samples with their weights", are_complete),
)
