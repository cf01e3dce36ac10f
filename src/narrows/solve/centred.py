"""Labelled rows less their mean, known by products with X alone: sparse rows stay sparse."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from narrows.solve.lsqr import Product
from narrows.solve.products import Products
from narrows.solve.sums import BLOCK, add_sparse, blocks, dense_sums, with_values

_EPS = 1e-15
LARGEST = 1e40  # of an entry: beyond, or under its inverse, rows are taken in other units
_HEAVY = 1e20  # likewise of the largest weight
_ROWS = 1 << 13  # at least, of which a triangle is made at a time


def triangle(F: np.ndarray) -> np.ndarray:
    """What has the scatter of F, with no more rows than columns."""
    return np.asarray(np.linalg.qr(F, mode="r")) if len(F) > F.shape[1] else F


def occupied(X: Any) -> np.ndarray | None:
    """The columns of sparse rows that hold anything, where most do not; else None."""
    if not sparse.issparse(X):
        return None
    holds = np.zeros(X.shape[1], dtype=bool)
    holds[X.indices] = True
    return np.flatnonzero(holds) if 2 * holds.sum() < len(holds) else None


class Centred(LinearOperator):
    """The operator A = D (X - 1 m') of shape (n, d), with D the roots of the weights.

    So A'A is the total scatter sum_i w_i (x_i - m)(x_i - m)', n times the covariance, and with
    E (n, c) the orthonormal class indicators, E_ij = (w_i / N_j)^(1/2) where row i is of class j,
    (E'A)'E'A is the scatter of the class means.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Finite. Sparse rows are held as they are; of dense ones a centred copy is made, or a large
        offset would cost digits.
    codes : ndarray of shape (n,)
        The class of each row, from 0 to c - 1; none is empty.
    weight : ndarray of shape (n,)
        Positive.
    mean : ndarray of shape (d,), optional
        m; that of the rows if left out, which they have if they are not a part of others.

    Attributes
    ----------
    is_sparse : bool
        Whether X is.
    largest : float
        The largest magnitude in X as it came.
    power, weight_power : int
        X is held times 2^-power, and weights are times 2^-weight_power, an even number, so that
        squares of squares are numbers: `largest` is then about 1. 0 for ordinary numbers, and for
        rows that are a part of others.
    counts : ndarray of shape (c,)
        N_j, the weight of each class.
    length : float
        That of all rows together.
    noise : float
        The length that a row of `between` may have by rounding.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, weight: np.ndarray, mean: np.ndarray | None = None
    ):
        self.power = self.weight_power = 0
        if mean is None and not 1 / _HEAVY < weight.max() < _HEAVY:
            self.weight_power = int(np.frexp(weight.max())[1]) // 2 * 2
            weight = np.ldexp(weight, -self.weight_power)
        self.codes, self.root, self.n = codes, np.sqrt(weight), float(weight.sum())
        self.counts: np.ndarray = np.bincount(codes, weight)
        self.is_sparse = sparse.issparse(X)
        origin = np.zeros(X.shape[1])
        values = X.data if self.is_sparse else X
        self.largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
        if mean is None and self.largest and not 1 / LARGEST < self.largest < LARGEST:
            self.power = int(np.frexp(self.largest)[1])
            values = np.ldexp(values.astype(np.float64), -self.power)
            X = with_values(X, values) if self.is_sparse else values
        if not self.is_sparse:
            if mean is None:
                for rows in blocks(len(X), max(1, BLOCK // X.shape[1])):
                    origin += weight[rows] @ X[rows].astype(np.float64, copy=False)
                origin /= self.n
            else:
                origin = mean
            X = X - origin
        self.X = X.astype(np.float64, copy=False)
        if mean is None:
            self.m = (weight @ self.X) / self.n  # rounding of the origin, where rows are dense
        else:
            self.m = mean - origin
        self.length = float(np.linalg.norm(self.X.data if self.is_sparse else self.X))
        self._start(origin, weight.max(initial=0.0))

    def _start(self, origin: np.ndarray, heaviest: float) -> None:
        """Be an operator, and know what rounding there is."""
        super().__init__(np.float64, (len(self.codes), len(self.m)))
        far = 1e-12 * np.linalg.norm(self.m) + _EPS * np.linalg.norm(origin)
        self.noise = float(np.sqrt(self.n) * far + _EPS * np.sqrt(heaviest) * self.length)

    def scaled(self, alpha: float) -> float:
        """Return what stands for a number that is added to the scatter of the rows as they came."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(alpha, -2 * self.power - self.weight_power))

    def largest_in(self) -> int:
        """Return a column that holds the largest magnitude, about the mean if rows are dense."""
        if self.is_sparse:
            return int(self.X.indices[np.abs(self.X.data).argmax()])
        return int(np.abs(self.X).max(axis=0).argmax())

    def over(self, unit: float) -> Self:
        """Return the same divided by a number."""
        new = copy(self)
        new.root = self.root / unit
        return new

    def triangle(self) -> np.ndarray:
        """What has the scatter A'A, with no more rows than columns; for dense rows."""
        return triangle(self.root[:, None] * (self.X - self.m))

    def square(self) -> np.ndarray:
        """sum_i w_i x_i x_i', of shape (d, d), of sparse rows with few columns."""
        scaled = self.X.multiply(self.root[:, None]).tocsr()
        return (scaled.T @ scaled).toarray()

    def _matvec(self, v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1)
        return self.root * (self.X @ v - self.m @ v)

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        Z = self.X @ V
        Z -= self.m @ V
        Z *= self.root[:, None]
        return Z

    def _rmatvec(self, z: np.ndarray) -> np.ndarray:
        z = self.root * z.reshape(-1)
        return self.X.T @ z - z.sum() * self.m

    def _rmatmat(self, Z: np.ndarray) -> np.ndarray:
        Z = self.root[:, None] * Z
        return self.X.T @ Z - np.outer(self.m, Z.sum(axis=0))

    def products(self) -> tuple[Product, Product]:
        """What makes A V and A'U of blocks V and U, in the place of a second array."""
        X = Products(self.X)

        def times(V: np.ndarray, out: np.ndarray) -> None:
            # not by BLAS, whose threads and these would wait for each other
            X.times(V, np.ones(len(out)), -np.einsum("i,ik->k", self.m, V), out)
            out *= self.root[:, None]

        def transposed(U: np.ndarray, out: np.ndarray) -> None:
            U = self.root[:, None] * U
            X.transposed(U, self.m, -U.sum(axis=0), out)

        return times, transposed

    def indicators(self) -> sparse.csr_array:
        """E, of shape (n, c)."""
        n, c = len(self.codes), len(self.counts)
        values = self.root / np.sqrt(self.counts)[self.codes]
        return sparse.csr_array((values, self.codes, np.arange(n + 1)), shape=(n, c))

    def between(self) -> np.ndarray:
        """E'A, of shape (c, d): row j is N_j^(1/2) (m_j - m)."""
        E = self.indicators()
        E.data *= self.root
        if sparse.issparse(self.X):
            H = np.zeros((len(self.counts), self.shape[1]))
            add_sparse(self.X, E, np.arange(len(H)), H, (None, None), presence=False)
        else:
            H, _ = dense_sums(self.X, E)
        H -= np.outer(np.sqrt(self.counts), self.m)
        return H

    def within(self) -> np.ndarray:
        """A - E E'A, of shape (n, d), for dense rows: each row less its class mean.

        Where n > d, the triangle of its QR decomposition instead, of shape (d, d), whose scatter is
        the same; made of so many rows at a time.
        """
        means = self.between() / np.sqrt(self.counts)[:, None] + self.m
        n, d = self.shape
        R = np.empty((0, d))
        for part in blocks(n, max(_ROWS, 8 * d) if n > d else n):
            F = (self.X[part] - means[self.codes[part]]) * self.root[part, None]
            R = triangle(np.vstack([R, F]))
        return R
