"""The criterion trace(W'S_b W): the spread of the class means (papers 000 and 001)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import norm  # whose squares do not overflow

from narrows.criteria import BETWEEN, check_spread, deviations
from narrows.families._project import ExactProjector
from narrows.families._select import PerClassSelector, Scores
from narrows.moments.stats import ClassStats
from narrows.solve.exact import gram_eigh, orthogonal_part


class OCFS(PerClassSelector):
    """Orthogonal Centroid Feature Selection.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    The optimum is the columns with the largest s_k = sum_j p_j (m_jk - m_k)^2.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of scores, in (0, 1]. This is
        what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
        "sqrt" and "balanced" keep rare classes from being overlooked.
    per_class : int, optional
        Keep so many columns for each class, those with its best `class_scores_`; their union.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        s_k, in the squared units of X; never negative. Ties go to the lower column.
    class_scores_ : ndarray of shape (c, d)
        p_j (m_jk - m_k)^2, the part of each class in the score.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum.
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Sums alone do not tell a column that does not vary
        from one whose class means are equal: both score 0 and come last, the lower column first.
    n_features_, n_positive_ : int
        How many columns are kept, and how many have a positive score.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, n_features over d, more than one size.

    Notes
    -----
    **Cost**: O(nnz) a batch and O(c d) a merge; O(c d + d log d) when read; memory 8 c d bytes.

    References
    ----------
    Paper 001: J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, Table 1 and section 4.4.2 (energy), doi:10.1145/1076034.1076058.
    Paper 000: J. Yan et al., "Effective and Efficient Dimensionality Reduction for Large-Scale
    and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, eq. (2) and Table 2,
    doi:10.1109/TKDE.2006.45.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OCFS
    >>> X, y = load_digits(return_X_y=True)
    >>> OCFS(n_features=3).fit(X, y).get_support(indices=True).tolist()
    [26, 34, 42]
    >>> OCFS(energy=0.9).fit(X, y).n_features_
    32
    """

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        priors: Any = "empirical",
        per_class: int | None = None,
        half_life: float | None = None,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.priors = priors
        self.per_class = per_class
        self.half_life = half_life

    def _score(self, stats: ClassStats) -> Scores:
        return Scores(BETWEEN.diagonal(stats, self.priors))

    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        rounding = stats.rounding(p)
        for columns, D in stats.deviations(p):
            D[np.abs(D) <= rounding[columns]] = 0.0
            yield columns, p[p > 0, None] * D**2


class _OrthogonalCentroid(ExactProjector):
    def __init__(
        self,
        n_components: int | None = None,
        priors: Any = "empirical",
        half_life: float | None = None,
    ):
        self.n_components = n_components
        self.priors = priors
        self.half_life = half_life

    def _between(self, stats: ClassStats, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """All eigenvalues and `most` vectors of S_b = H'H, with H = [sqrt(p_j) (m_j - m)]_j."""
        p = stats.priors(self.priors)
        root = np.sqrt(p[p > 0, None])
        L, W = gram_eigh(
            lambda: ((columns, root * D) for columns, D in stats.deviations(p)),
            stats.n_features,
            noise=float(norm(stats.rounding(p))),
            most=most,
        )
        if len(L):
            check_spread(L[:1], lambda: deviations(stats, p))
        return L, W


class OC(_OrthogonalCentroid):
    """Orthogonal Centroid.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I
        schedule    exact, at once or at every moment of a stream

    The optimum is the leading eigenvectors of S_b. `transform` is X W, not centred.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions to keep; all, c - 1 (fewer if the rank is lower), if left out.
        On a stream there are p from the first batch on, zeros as long as the classes are too few.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        W', orthonormal rows, largest eigenvalue first. The entry of largest magnitude in each
        row is positive. Rows of zeros stand for directions that were asked for and are not
        there (yet).
    eigenvalues_ : ndarray of shape (p,)
        Of S_b (the 1/n scale), descending; 0 for rows of zeros.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, more components than there are directions.

    Notes
    -----
    **Cost**: O(nnz) a batch and O(c d) a merge; O(c^2 d + c^3) when read; memory 8 d (c + p) bytes.

    S_b is a function of sums that add up, so this is what the paper's incremental IOC tends to,
    without its convergence, and for less work.

    References
    ----------
    Paper 000: J. Yan et al., "Effective and Efficient Dimensionality Reduction for Large-Scale
    and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section 2.2.4 and Theorem 1,
    doi:10.1109/TKDE.2006.45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OC
    >>> X, y = load_iris(return_X_y=True)
    >>> oc = OC().fit(X, y)
    >>> oc.eigenvalues_.round(3).tolist()
    [3.913, 0.034]
    >>> oc.transform(X).shape
    (150, 2)
    """

    def _directions(self, stats: ClassStats) -> tuple[np.ndarray, np.ndarray]:
        return self._between(stats, self.n_components)


class OCM(_OrthogonalCentroid):
    """Orthogonal Centroid Method, the span of the class means themselves.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I, of all the rank of the means [m_1 .. m_c]
        schedule    exact, at once or at every moment of a stream

    Any orthonormal basis Q of the means is an optimum (Theorem 2 of paper 002). Here it is Q M
    with M the eigenvectors of Q'S_bQ, so that the first rows are the best ones: those of `OC`,
    and last what the mean m adds to their span, with eigenvalue 0. That one direction holds no
    scatter of the means, but with it the inner products of rows with the means survive, and so
    which mean has the largest cosine with a row.
    `transform` is X W, not centred.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions to keep; all, c (fewer if the rank is lower), if left out.
        On a stream there are p from the first batch on, zeros as long as the classes are too few.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        W', orthonormal rows, largest eigenvalue first. The entry of largest magnitude in each
        row is positive. Rows of zeros stand for directions that were asked for and are not
        there (yet).
    eigenvalues_ : ndarray of shape (p,)
        Of S_b (the 1/n scale), descending; 0 for rows of zeros.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, more components than there are directions.

    Notes
    -----
    **Cost**: as for `OC`. The answer depends on where the origin of the data is, so it is not
    for dense data with a large offset.

    References
    ----------
    Paper 002: J. Ye et al., "IDR/QR: An Incremental Dimension Reduction Algorithm via QR
    Decomposition", IEEE TKDE 17(9), 2005, section 4 and Theorem 2, doi:10.1109/TKDE.2005.148.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OCM
    >>> X, y = load_iris(return_X_y=True)
    >>> OCM().fit(X, y).eigenvalues_.round(3).tolist()
    [3.913, 0.034, 0.0]
    """

    def _directions(self, stats: ClassStats) -> tuple[np.ndarray, np.ndarray]:
        L, W = self._between(stats)
        p = stats.priors(self.priors)
        rest = orthogonal_part(stats.centre(p), W, scale=np.sqrt(L.max(initial=0.0)))
        return np.append(L, np.zeros(rest.shape[1])), np.hstack([W, rest])

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes, ""
