"""X'X: the sums of products of all pairs of features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.moments.second import Second, about_origin
from narrows.moments.waiting import NONE, Waiting, Weighted, of_weight
from narrows.solve.codec import SchemaError, Sizes, taken
from narrows.solve.devices import OnDevice
from narrows.solve.pairs import add_products, step
from narrows.solve.sums import blocks, check_finite

MOST = 8192  # features: 512 MB
COORDINATES = 16_384  # of samples behind a map: 2 GB
FEW = 256  # samples that wait, at least, before their products are added


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
    table = None

    def __init__(
        self, n_features: int, xx: np.ndarray | None = None, waiting: Waiting = NONE
    ) -> None:
        self.n_features = n_features
        # replaced together, so that threads that read see one or the other
        self.held = xx, waiting

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> Self:
        """Return that of no samples."""
        return cls(n_features)

    # -- learning -----------------------------------------------------------------------------

    def make_room(self, n: int) -> None:
        """Sum the products of what waits before the first samples that may not wait come."""
        xx, waiting = self.held
        if xx is None and waiting.n_samples and not self._may_wait(n):
            self.held = self._summed(), NONE

    def add(self, X: Any, T: sparse.csr_array, weight: np.ndarray, origin: Any) -> None:
        """Add samples, less the origin if there is one, in place."""
        X, weight = of_weight(X, weight)
        xx, waiting = self.held
        if self._may_wait(len(weight)):
            if len(weight):
                self.held = xx, waiting.with_more(Weighted(about_origin(X, origin), weight))
            return
        xx = self._summed(in_place=True)
        if isinstance(X, OnDevice):
            xx += np.tril(X.products(weight, origin))
            self.held = xx, NONE
            return
        for part in blocks(len(weight), step(X)):
            add_products(xx, about_origin(X[part], origin), weight[part])
        self.held = xx, NONE

    def shared(self) -> Self:
        """Return one with the same arrays, which can be given others."""
        return self._with(*self.held)

    # -- arithmetic ---------------------------------------------------------------------------

    def merge(self, other: Any, sign: float, row: np.ndarray) -> None:
        """Add `sign` times another one, in place."""
        xx, waiting = other.held
        if sign > 0 and xx is None and self._may_wait(waiting.n_samples):
            self.held = self.held[0], self.held[1].with_more(*waiting.items)
        elif xx is not None or waiting.n_samples:
            mine, theirs = self._summed(in_place=True), other.lower()
            (np.add if sign > 0 else np.subtract)(mine, theirs, out=mine)
            self.held = mine, NONE

    def about(self, shift: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Self:
        """Return that of the samples plus a shift."""
        shift, (xx, waiting) = np.broadcast_to(shift, (self.n_features,)), self.held
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
        xx, waiting = self.held
        return self._with(None if xx is None else xx * factor, waiting.scaled(factor))

    def widened(self, n_features: int) -> Self:
        """Return that of samples with more features, which are 0."""
        xx, waiting = self.held
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
            self.held = None, NONE

    def empty(self, features: np.ndarray) -> None:
        """Let all samples be at the origin in some features, in place, where none waits."""
        xx, _ = self.held
        if xx is not None:
            xx[features], xx[:, features] = 0.0, 0.0

    # -- reading ------------------------------------------------------------------------------

    def lower(self) -> np.ndarray:
        """Return the lower triangle of X'X of all samples; not to be written to.

        What waits goes on waiting: reading changes no bit of what is read later.
        """
        xx, waiting = self.held
        return self._summed() if xx is None or waiting.n_samples else xx

    def few(self) -> Weighted | None:
        """Return all samples, if they are fewer than the features; else None."""
        xx, waiting = self.held
        if xx is not None or not 0 < waiting.n_samples < self.n_features:
            return None
        return waiting.stacked().items[0]

    @property
    def squares(self) -> np.ndarray:
        """The sums of squares of the features, of shape (n_features,)."""
        xx, waiting = self.held
        squares = np.zeros(self.n_features) if xx is None else xx.diagonal().copy()
        for rows in waiting.stacked().items:
            squares += rows.squares
        return squares

    @property
    def n_waiting(self) -> int:
        """How many samples wait."""
        return self.held[1].n_samples

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        xx, waiting = self.held
        return waiting.nbytes + (0 if xx is None else xx.nbytes)

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        check_finite(self.squares)

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return it as arrays: the columns of the lower triangle, one after the other."""
        (xx, waiting), d = self.held, self.n_features
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
        xx, waiting = self.held
        return n + waiting.n_samples <= max(FEW, self.n_features if xx is None else 0)

    def _summed(self, in_place: bool = False) -> np.ndarray:
        """Return the products of all samples, in an array that the caller may write to.

        With `in_place` that is the present one, which the caller has to replace.
        """
        xx, waiting = self.held
        if xx is None:
            xx = np.zeros((self.n_features, self.n_features), order="F")
        elif not in_place:
            xx = xx.copy(order="F")
        for X, weight in waiting.stacked().items:
            for part in blocks(len(weight), step(X)):
                add_products(xx, X[part], weight[part])
        return xx
