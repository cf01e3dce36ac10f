"""Labelled samples less their mean, as an operator: sparse samples stay sparse."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from narrows.solve.eigen import triangle
from narrows.solve.lsqr import Product
from narrows.solve.products import Products
from narrows.solve.scatter import Scatter, of_samples
from narrows.solve.sparse_sums import Places, add_sparse
from narrows.solve.sums import BLOCK, blocks, dense_sums, with_values

_EPS = 1e-15
LARGEST = 1e40  # entries that are larger, or all below its inverse, are rescaled
_HEAVY = 1e20  # the same for weights
_ROWS = 1 << 13  # the fewest rows of one QR decomposition


def occupied(X: Any) -> np.ndarray | None:
    """Return the columns of a sparse X that are not empty, if most are empty; else None."""
    if not sparse.issparse(X):
        return None
    holds = np.zeros(X.shape[1], dtype=bool)
    holds[X.indices] = True
    return np.flatnonzero(holds) if 2 * holds.sum() < len(holds) else None


class Centred(LinearOperator):
    """The operator A = D (X - 1 m'), with D the roots of the weights.

    So A'A is the total scatter sum_i w_i (x_i - m)(x_i - m)', n times the covariance. With E, of
    shape (n_samples, n_classes), the orthonormal class indicators, E_ij = (w_i / N_j)^(1/2) where
    sample i is of class j, (E'A)'E'A is the scatter of the class means.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Finite. Sparse samples are not copied; dense ones are copied and centred, since a large
        offset would cost digits.
    codes : ndarray of shape (n_samples,)
        The class of each sample, from 0 to n_classes - 1; no class is empty.
    weight : ndarray of shape (n_samples,)
        Positive.
    mean : ndarray of shape (n_features,), optional
        m. The default is the mean of X; a part of a larger data set needs that of the whole.

    Attributes
    ----------
    is_sparse : bool
        Whether X is.
    largest : float
        The largest magnitude in the given X.
    power, weight_power : int
        X is held times 2^-power, and weights are times 2^-weight_power, an even number, so that
        fourth powers are finite: `largest` is then about 1. 0 for ordinary numbers, and for a part
        of a larger data set.
    counts : ndarray of shape (n_classes,)
        N_j, the weight of each class.
    mean : ndarray of shape (n_features,)
        The mean of X times 2^-power.
    length : float
        The Frobenius norm of X as it is held.
    squares : float
        sum_i w_i |x_i|^2 of X as it is held.
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
            self.m = (weight @ self.X) / self.n  # the rounding of the origin, if dense
        else:
            self.m = mean - origin
        self.mean = origin + self.m
        self.length = float(np.linalg.norm(self.X.data if self.is_sparse else self.X))
        self.squares = self._squares()
        self._start(origin, weight.max(initial=0.0))

    def _squares(self) -> float:
        """Return sum_i w_i |x_i|^2."""
        values = self.X.data**2 if self.is_sparse else np.einsum("ij,ij->i", self.X, self.X)
        if self.is_sparse:
            values = np.add.reduceat(np.append(values, 0.0), self.X.indptr[:-1])
            values = np.where(np.diff(self.X.indptr) > 0, values, 0.0)
        return float(self.root**2 @ values)

    def _start(self, origin: np.ndarray, heaviest: float) -> None:
        """Initialise the operator, and bound the rounding."""
        super().__init__(np.float64, (len(self.codes), len(self.m)))
        far = 1e-12 * np.linalg.norm(self.m) + _EPS * np.linalg.norm(origin)
        self.noise = float(np.sqrt(self.n) * far + _EPS * np.sqrt(heaviest) * self.length)

    def scaled(self, alpha: float) -> float:
        """Return a number to add to the scatter of the given X, in the operator's units."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(alpha, -2 * self.power - self.weight_power))

    def largest_in(self) -> int:
        """Return a column with the largest magnitude, about the mean if X is dense."""
        if self.is_sparse:
            return int(self.X.indices[np.abs(self.X.data).argmax()])
        return int(np.abs(self.X).max(axis=0).argmax())

    def over(self, unit: float) -> Self:
        """Return the operator divided by a number."""
        new = copy(self)
        new.root = self.root / unit
        return new

    def triangle(self) -> np.ndarray:
        """Return a factor with the scatter A'A and at most as many rows as columns; for dense X."""
        return triangle(self.root[:, None] * (self.X - self.m))

    def scatter(self) -> Scatter:
        """Return the scatters, in the columns, or in the rows if these are fewer."""
        H = self.between()
        if self.shape[0] <= self.shape[1]:
            return of_samples(self.X, self.root**2, self.m, H)
        C = np.asfortranarray(self.square())
        noise = 4 * _EPS * C.diagonal()
        C -= self.n * np.outer(self.m, self.m)
        return Scatter(C, H, self.n, noise, self.m)

    def square(self) -> np.ndarray:
        """Return sum_i w_i x_i x_i', for few columns."""
        if not self.is_sparse:
            scaled = self.root[:, None] * self.X
            return scaled.T @ scaled
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
        """Return functions that compute A V and A'U into a second array."""
        X = Products(self.X)

        def times(V: np.ndarray, out: np.ndarray) -> None:
            # not by BLAS, whose threads would compete with these
            X.times(V, np.ones(len(out)), -np.einsum("i,ik->k", self.m, V), out)
            out *= self.root[:, None]

        def transposed(U: np.ndarray, out: np.ndarray) -> None:
            U = self.root[:, None] * U
            X.transposed(U, self.m, -U.sum(axis=0), out)

        return times, transposed

    def indicators(self) -> sparse.csr_array:
        """Return E, of shape (n_samples, n_classes)."""
        n, c = len(self.codes), len(self.counts)
        values = self.root / np.sqrt(self.counts)[self.codes]
        return sparse.csr_array((values, self.codes, np.arange(n + 1)), shape=(n, c))

    def between(self) -> np.ndarray:
        """Return E'A, of shape (n_classes, n_features): row j is N_j^(1/2) (m_j - m)."""
        E = self.indicators()
        E.data *= self.root
        if sparse.issparse(self.X):
            H = np.zeros((len(self.counts), self.shape[1]))
            add_sparse(self.X, E, Places([H], E.indices))
        else:
            H, _ = dense_sums(self.X, E)
        H -= np.outer(np.sqrt(self.counts), self.m)
        return H

    def within(self) -> np.ndarray:
        """Return A - E E'A for dense X: each sample less its class mean.

        With more samples than features, the triangle of its QR decomposition instead, which has the
        same scatter; computed a block of samples at a time.
        """
        means = self.between() / np.sqrt(self.counts)[:, None] + self.m
        n, d = self.shape
        R = np.empty((0, d))
        for part in blocks(n, max(_ROWS, 8 * d) if n > d else n):
            F = (self.X[part] - means[self.codes[part]]) * self.root[part, None]
            R = triangle(np.vstack([R, F]))
        return R
