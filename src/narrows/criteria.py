"""The criterion: three numbers that define what a reduction maximises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import norm  # whose squares do not overflow

from narrows.moments.folds import Split
from narrows.moments.moments import Moments
from narrows.solve.eigen import gram_eigh, lanczos
from narrows.solve.sums import HUGE, too_large, weighted


@dataclass(frozen=True)
class Criterion:
    """The matrix A = between S_b + total C + shift I of the criterion trace(W'AW).

    S_b = sum_j p_j (m_j - m)(m_j - m)' is the scatter of the class means about the mean, C the
    covariance of all samples, both divided by n (Yan et al., 2006, section 2). Selection reads the
    diagonal of A: with W a 0-1 matrix that picks features, trace(W'AW) is a sum of diagonal
    entries, so the p largest are the optimum. Extraction reads the leading eigenvectors of A, and
    the iterations take one step of A per sample.

    Parameters
    ----------
    between, total, shift : float
        The three numbers.

    Examples
    --------
    >>> from narrows import Moments
    >>> from narrows.criteria import BETWEEN
    >>> m = Moments.of([[0.0, 5.0], [2.0, 5.0]], [0, 1])
    >>> BETWEEN.diagonal(m).tolist()
    [1.0, 0.0]
    >>> eigenvalues, W = BETWEEN.leading(m)
    >>> eigenvalues.round(6).tolist(), abs(W).tolist()
    ([1.0], [[1.0], [0.0]])
    """

    between: float = 0.0
    total: float = 0.0
    shift: float = 0.0

    def diagonal(self, m: Moments, priors: Any = "empirical") -> np.ndarray:
        """Return the diagonal of A, in O(c d) time.

        Parameters
        ----------
        m : Moments
            With second moments where `total` is not 0.
        priors : {"empirical", "sqrt", "balanced"} or array-like of shape (n_classes,)
            The weights of the classes.

        Returns
        -------
        diagonal : ndarray of shape (n_features,)
        """
        p = m.priors(priors)
        a = np.full(m.n_features, self.shift)
        if self.between:
            a += self.between * _spread(m, p)
        if self.total:
            with np.errstate(over="ignore"):  # checked next
                a += self.total * m.variances(p)
        if not np.isfinite(a).all():
            k = int((~np.isfinite(a)).argmax())
            raise too_large(f"a criterion below {HUGE:.1e}", k)
        return a

    def leading(
        self, m: Moments, priors: Any = "empirical", n: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the leading eigenpairs of A, without making A.

        Parameters
        ----------
        m : Moments
            The state that S_b is computed from.
        priors : {"empirical", "sqrt", "balanced"} or array-like of shape (n_classes,)
            The weights of the classes.
        n : int, optional
            The number of eigenvectors; all in the span of the class means if left out.

        Returns
        -------
        eigenvalues : ndarray of shape (rank,)
            All eigenvalues of vectors in the span of the differences of the class means,
            descending. Those that are only rounding are left out. Only the n largest if there are
            more than 1,000 classes and features, and ten times as many as n.
        W : ndarray of shape (n_features, min(rank, n))
            Orthonormal columns.

        Notes
        -----
        **Cost**, for c classes and d features: O(c d r + r^3), with r the smaller of c and d; for a
        small n some tens of products of a vector with the sums for each eigenvector (Lanczos).
        """
        if self.total or self.between <= 0:
            raise ValueError(
                f"expected between > 0 and total=0 for leading eigenvectors, got {self}."
                " C needs cross products, which a Moments does not hold."
            )
        p = m.priors(priors)
        noise, root = float(norm(m.rounding(p))), np.sqrt(p[p > 0, None])
        side = min(len(root), m.n_features)
        found = None
        if n is not None and side > max(_MANY, 10 * n):
            found = lanczos(m.between(p), n, noise)
        if found is None:

            def factor() -> Iterator[tuple[slice, np.ndarray]]:
                return ((columns, root * D) for columns, D in m.deviations(p))

            found = gram_eigh(factor, (len(root), m.n_features), noise, n)
        L, W = found
        return self.between * L + self.shift, W


def _spread(m: Moments, p: np.ndarray) -> np.ndarray:
    """Return sum_j p_j (m_j - m)^2, of shape (n_features,)."""
    spread = np.empty(m.n_features)
    for columns, D in m.deviations(p):
        spread[columns] = weighted(p[p > 0], D**2)
    spread[spread <= m.rounding(p) ** 2] = 0.0
    return spread


def held_out_gain(split: Split) -> np.ndarray:
    """Return how much closer a fold is to points halfway to the others' class means than to m.

    A feature of a sample is predicted by the point halfway from the mean m of the others to their
    class mean. With the deviations A_j of the class means of the others from their mean, and B_j of
    those of the fold from its own, which vary less than from that of the others, the mean squared
    error is sum_j p_j A_j (2 B_j - A_j / 2) / 2 lower than that of m. This is less sensitive to
    chance in A than the class mean itself: 3/4 of the diagonal of S_b on average, less a quarter of
    that chance.

    Parameters
    ----------
    split : Split
        A fold and the other folds.

    Returns
    -------
    gain : ndarray of shape (n_features,)
        May be negative.
    """
    gain, p = np.empty(split.fold.n_features), split.p_fold[split.p_fold > 0]
    for columns, A, B in split.deviations():
        B *= 2
        B -= _HALFWAY * A
        B *= A
        gain[columns] = _HALFWAY * weighted(p, B)
    return gain


_HALFWAY = 0.5  # from the mean to a class mean, for `held_out_gain`


def margin(eps: float) -> Criterion:
    """Return the criterion S_b - eps S_w = (1 + eps) S_b - eps C."""
    return Criterion(between=1 + eps, total=-eps)


BETWEEN = Criterion(between=1.0)
TOTAL = Criterion(total=1.0)
_MANY = 1000  # classes and features, from which on a few eigenvectors are found by Lanczos
