"""Counts of presence: in how many rows of each class a column is not zero."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import rel_entr

from narrows.families._select import PerClassSelector, Scores
from narrows.moments.stats import ClassStats
from narrows.solve.sums import weighted
from narrows.solve.threads import each

_ROUNDING = 1e-13  # a share of what is compared, or bits: no more than this is nothing


class _Contingency(PerClassSelector):
    """A score of the 2 x 2 tables of each column and each class.

    Subclasses give `_per_class`; all of them take P of shape (c, columns), the probability that
    a row has the column and is of the class, the priors p of shape (c, 1), and n.
    """

    _presence = True

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

    @abstractmethod
    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        """Scores of shape (c, columns)."""

    def _combined(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        """Scores of shape (columns,): those of the classes, weighted by their priors."""
        return weighted(p[:, 0], self._per_class(P, p, n))

    def _score(self, stats: ClassStats) -> Scores:
        p = stats.priors(self.priors)
        scores = np.empty(stats.n_features)

        def score(block: tuple[slice, np.ndarray]) -> None:
            columns, P = block
            scores[columns] = self._combined(P, p[p > 0, None], stats.n)

        each(score, stats.joint(p))
        return Scores.of_spread(scores, stats.varying(p))

    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        for columns, P in stats.joint(p):
            yield columns, self._per_class(P, p[p > 0, None], stats.n)


class IG(_Contingency):
    """Information Gain.

    ::

        criterion   H(c) - P(t) H(c | t present) - P(t absent) H(c | t absent), column by column
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    A column t is present in a row where it is not 0; how large it is plays no part. As a choice
    of several columns the ranking is greedy: what they tell together is not the sum.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of positive scores, in (0, 1].
        This is what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this, in bits.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
    per_class : int, optional
        Keep so many columns for each class, those with its best `class_scores_`; their union.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        In bits, from 0 to the entropy of the classes: one score for all classes together.
    class_scores_ : ndarray of shape (c, d)
        In bits, for each class against all others. They do not add up to `scores_`.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that are
        present in no row or in all come last.
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
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 c d bytes.

    References
    ----------
    Paper 001: J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, section 3.1, doi:10.1145/1076034.1076058; and paper 000, section
    2.3.1. The last term is misprinted in both: it is P(t absent) sum_j P(c_j | t absent) log
    P(c_j | t absent), as in Y. Yang and J. O. Pedersen, "A Comparative Study on Feature
    Selection in Text Categorization", ICML 1997.

    Examples
    --------
    >>> from narrows import IG
    >>> X = [[1, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> IG().fit(X, ["a", "a", "b", "b"]).scores_.tolist()
    [1.0, 0.0, 1.0]
    """

    def _combined(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        absent = np.maximum(p - P, 0.0)
        return _or_nothing((_information(P, p) + _information(absent, p)).sum(axis=0))

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        absent = np.maximum(p - P, 0.0)
        return _or_nothing(
            sum(
                _bits(part, p * every) + _bits(np.maximum(every - part, 0.0), (1 - p) * every)
                for part, every in ((P, P.sum(axis=0)), (absent, absent.sum(axis=0)))
            )
        )


class CHI(_Contingency):
    """Chi-squared statistic.

    ::

        criterion   sum_j p_j chi2(t, c_j), of the 2 x 2 table of column t and class j
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    chi2 = n (AD - CB)^2 / ((A + C)(B + D)(A + B)(C + D)) without a correction for continuity,
    with A rows of the class that have the column, B others that have it, C rows of the class
    that lack it, D others that lack it. It counts presence, unlike scikit-learn's ``chi2``,
    which adds values up.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of positive scores, in (0, 1].
        This is what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
    per_class : int, optional
        Keep so many columns for each class, those with its best `class_scores_`; their union.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        The statistics of the classes weighted by p_j, without unit, from 0 to n.
    class_scores_ : ndarray of shape (c, d)
        chi2(t, c_j).
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that are
        present in no row or in all come last.
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
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 c d bytes.

    References
    ----------
    Paper 001: J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, section 3.2, doi:10.1145/1076034.1076058; and paper 000, section
    2.3.2.

    Examples
    --------
    >>> from narrows import CHI
    >>> X = [[1, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> CHI().fit(X, ["a", "a", "b", "b"]).scores_.tolist()
    [4.0, 0.0, 4.0]
    """

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        present, absent = P.sum(axis=0), np.maximum(p - P, 0.0).sum(axis=0)
        apart = P - p * present
        apart[np.abs(apart) <= _ROUNDING * P] = 0.0
        apart = n * apart**2
        margins = p * (1 - p) * (present * absent)
        return np.divide(apart, margins, out=np.zeros_like(apart), where=margins > 0)


class MI(_Contingency):
    """Mutual Information of a term and a class, averaged over the classes.

    ::

        criterion   sum_j p_j log2(P(t, c_j) / (P(t) P(c_j)))
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    The pointwise mutual information of column t (present where it is not 0) and class j; a
    class that lacks the column adds 0. It favours rare columns, and is here because the papers
    compare with it: prefer `IG`.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of positive scores, in (0, 1].
        This is what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this, in bits.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
    per_class : int, optional
        Keep so many columns for each class, those with its best `class_scores_`; their union.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        The terms of the classes weighted by p_j, in bits; they may be negative.
    class_scores_ : ndarray of shape (c, d)
        log2(P(t, c_j) / (P(t) P(c_j))), in bits; 0 where the class lacks the column.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that are
        present in no row or in all come last.
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
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 c d bytes.

    References
    ----------
    Y. Yang and J. O. Pedersen, "A Comparative Study on Feature Selection in Text
    Categorization", ICML 1997, which papers 000 and 001 follow.

    Examples
    --------
    >>> from narrows import MI
    >>> X = [[1, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> MI().fit(X, ["a", "a", "b", "b"]).scores_.tolist()
    [0.5, 0.0, 0.5]
    """

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        chance = p * P.sum(axis=0)
        ratio = np.divide(P, chance, out=np.ones_like(P), where=P > 0)
        ratio[np.abs(ratio - 1) <= _ROUNDING] = 1.0
        return np.log2(ratio)


def _information(P: np.ndarray, p: np.ndarray) -> np.ndarray:
    """P log2(P / (p sum_j P_j)), of the shape (c, columns) of P."""
    return _bits(P, p * P.sum(axis=0))


def _or_nothing(bits: np.ndarray) -> np.ndarray:
    """Information is never negative, and rounding is none."""
    return np.where(bits > _ROUNDING, bits, 0.0)


def _bits(part: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """part log2(part / chance), 0 where part is."""
    return rel_entr(part, chance) / np.log(2)
