"""The criterion trace(W'(S_b - eps S_w) W): classes far apart, and each of them compact."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from narrows.criteria import Criterion
from narrows.families._base import is_number
from narrows.families._batch import BatchProjector
from narrows.families._select import Scores, Selection, Selector
from narrows.moments.priors import second_for
from narrows.moments.stats import ClassStats, Second
from narrows.solve.centred import Centred
from narrows.solve.errors import ParameterError, warn
from narrows.solve.exact import margin_eigh

LARGEST_WEIGHT = 1e100  # a weight or a shift beyond this has no square
_NO_GAIN = 2e-14  # of the largest eigenvalue: what rounding makes of 0


def margin(eps: float) -> Criterion:
    """Return S_b - eps S_w, which is (1 + eps) S_b - eps C."""
    return Criterion(between=1 + eps, total=-eps)


def check_eps(who: str, eps: Any) -> None:
    """Raise ParameterError where eps is no weight."""
    if not (is_number(eps, 0) and eps < LARGEST_WEIGHT):
        raise ParameterError(f"{who}: eps must be finite and >= 0, but {eps!r} came.")


def warn_of_few(who: str, positive: int, of: int, eps: float, sure: bool = True) -> None:
    """Warn where only so many of the components gain margin."""
    if positive >= of:
        return
    if positive:
        found = f"of {of} components only {positive} {'' if sure else 'seem to '}gain"
    else:
        found = f"none of {of} components {'gains' if sure else 'seems to gain'}"
    fewer = f"n_components={positive}, or " if positive else ""
    warn(f"{who}: {found} margin at eps={eps:g}, by their eigenvalues_. Use {fewer}a smaller eps.")


class MMCFS(Selector):
    """Maximum Margin Criterion Feature Selection.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    The optimum is the columns with the largest margin s_bk - eps s_wk: the spread of the class
    means, less eps times the spread within the classes. At eps = 0 this is `OCFS`.

    Few columns of sparse data gain margin at eps = 1, since a word spreads more within the
    classes than between them; past those columns the largest margins are the ones nearest to 0,
    of the rarest words, and a warning says so. A small eps, such as 0.1, still keeps what counts.

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
    eps : float, default=1.0
        The weight of the spread within the classes, >= 0.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        s_bk - eps s_wk, in the squared units of X.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that do not
        vary come last, whatever their score.
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

    Warns
    -----
    UserWarning
        More columns are asked for than gain margin; `n_positive_` says how many do.

    Notes
    -----
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 d (c + 1)
    bytes, and 16 c d with priors other than the empirical ones, which take second moments of
    each class.

    References
    ----------
    The criterion: paper 003, J. Yan et al., "IMMC: Incremental Maximum Margin Criterion", KDD
    2004; the weight eps is in its experiment on Ionosphere. The discrete space: paper 000, J.
    Yan et al., "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming
    Data Preprocessing", IEEE TKDE 18(3), 2006, sections 2.2.3 and 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import MMCFS
    >>> X, y = load_iris(return_X_y=True)
    >>> mmcfs = MMCFS(threshold=0.0).fit(X, y)
    >>> mmcfs.scores_.round(2).tolist()
    [0.16, -0.04, 2.73, 0.5]
    >>> mmcfs.get_support(indices=True).tolist()
    [0, 2, 3]
    """

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        priors: Any = "empirical",
        eps: float = 1.0,
        half_life: float | None = None,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.priors = priors
        self.eps = eps
        self.half_life = half_life

    def _second(self) -> Second:
        return second_for(self.priors)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_eps("MMCFS", self.eps)

    def _score(self, stats: ClassStats) -> Scores:
        varies = stats.varying(stats.priors(self.priors))
        return Scores.of_spread(margin(self.eps).diagonal(stats, self.priors), varies)

    def _advice(self, selection: Selection) -> str:
        if self.n_features is None or selection.n_positive >= selection.size:
            return super()._advice(selection)
        return (
            f"of the {selection.size} columns kept only {selection.n_positive} gain margin at "
            f"eps={self.eps:g}; past those the rarest columns rank best. Use a smaller eps."
        )


class MMC(BatchProjector):
    """Maximum Margin Criterion.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W real, W'W = I, in the space of the rows
        schedule    exact, all rows at once

    The optimum is the leading eigenvectors of S_b - eps S_w. `transform` is X W, not centred.

    No more than c - 1 directions gain margin, and where columns are many nearly always all of
    these do; `n_positive_` says how many. Past them a direction loses as little as it can, and
    where the rows do not fill all columns nothing at all is lost outside their space, where every
    projection is 0. Such directions are of no use, so MMC stays in the space of the rows, and
    warns. With eps = 0 this is `OC`.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions to keep; c - 1 if left out.
    eps : float, default=1.0
        The weight of the spread within the classes, >= 0.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        W', orthonormal rows, largest eigenvalue first. The entry of largest magnitude in each
        row is positive.
    eigenvalues_ : ndarray of shape (p,)
        Of S_b - eps S_w (the 1/n scale), descending.
    n_positive_ : int
        How many directions gain margin, whatever n_components.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, more components than the rows span.

    Warns
    -----
    UserWarning
        Fewer directions than asked for gain margin.
    ConvergenceWarning
        Some that gain may not have been found.

    Notes
    -----
    **Cost**: some tens of products with X and X', O(nnz) each, by Lanczos; memory about
    8 d (5 p + 20) bytes, and never d x d for wide rows. Where n or d is at most 1,000, an
    eigenproblem of that size instead; and one of up to 4,000 for directions past those that gain,
    or where Lanczos does not come to an end. Where both are more, what lies past those that gain
    is an estimate from the space that the class means generate.

    References
    ----------
    H. Li, T. Jiang, K. Zhang, "Efficient and Robust Feature Extraction by Maximum Margin
    Criterion", NIPS 16, 2004. Paper 000: J. Yan et al., "Effective and Efficient Dimensionality
    Reduction for Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section
    2.2.3. The weight eps: paper 003, J. Yan et al., KDD 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import MMC
    >>> X, y = load_iris(return_X_y=True)
    >>> mmc = MMC(n_components=1).fit(X, y)
    >>> mmc.eigenvalues_.round(2).tolist(), mmc.n_positive_
    ([3.64], 1)
    """

    _by_products = True
    _instead = "MMCFS for columns, whose states add up, or IMMC, which takes a sample at a time"

    def __init__(self, n_components: int | None = None, eps: float = 1.0):
        self.n_components = n_components
        self.eps = eps

    @property
    def n_positive_(self) -> int:
        """How many directions gain margin."""
        return self._state.more

    def _directions(self, A: Centred) -> tuple[np.ndarray, np.ndarray, int]:
        p = self.n_components or len(A.counts) - 1
        L, W, converged = margin_eigh(A, float(self.eps), p)
        L = np.ldexp(L, 2 * A.power)
        if not len(L):
            raise ValueError("MMC: all rows are alike, so there is no direction to tell them by.")
        if self.n_components is not None and p > len(L):
            raise ParameterError(
                f"MMC: n_components={p}, but the rows span only {len(L)} directions. "
                f"Use n_components<={len(L)}."
            )
        positive = int((L > _NO_GAIN * np.abs(L).max()).sum())
        if not converged:
            warn(
                f"MMC: Lanczos found {positive} directions that gain margin before it was stopped; "
                "there may be more, and the others are estimates. Scale the columns to one size, "
                "or use a smaller eps.",
                ConvergenceWarning,
            )
        warn_of_few("MMC", positive, min(p, len(L)), self.eps)
        return L, W, positive

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_eps("MMC", self.eps)
