"""The criterion trace(W'(S_b - eps S_w) W): classes far apart, and each of them compact."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from narrows.criteria import Criterion
from narrows.families._batch import BatchProjector
from narrows.families._online import OnlineProjector
from narrows.families._parameters import is_number
from narrows.families._select import CriterionSelector, Selection
from narrows.families._streams import Stream
from narrows.moments.priors import second_for
from narrows.moments.stats import Second
from narrows.solve.centred import Centred
from narrows.solve.errors import ParameterError, warn
from narrows.solve.exact import margin_eigh
from narrows.solve.span import Span

_HUGE = 1e100  # a weight or a shift beyond this has no square
_NO_GAIN = 2e-14  # of the largest eigenvalue: what rounding makes of 0
_MARGIN = 0.05  # of the mean variance of a column: what the automatic shift adds


def margin(eps: float) -> Criterion:
    """Return S_b - eps S_w, which is (1 + eps) S_b - eps C."""
    return Criterion(between=1 + eps, total=-eps)


def check_eps(who: str, eps: Any) -> None:
    """Raise ParameterError where eps is no weight."""
    if not (is_number(eps, 0) and eps < _HUGE):
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


class MMCFS(CriterionSelector):
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

    def _criterion(self) -> Criterion:
        return margin(self.eps)

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


class IMMC(OnlineProjector):
    """Incremental Maximum Margin Criterion, the papers' iterates, and theta found.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W real, W'W = I in the limit
        schedule    one step a sample

    `v_j <- (n-1)/n v_j + 1/n (A^j v_j + theta_j v_j) / |v_j|` at sample n, for j = 1..p in turn,
    with A = (1 + eps) sum_i p_i Phi_i Phi_i' - eps u u', Phi_i = m_i - m, u = x - m, and A^j what
    is left of A when Phi and u are deflated by the new v_1 .. v_{j-1}. v_1(1) = x(1), and for j > 1
    v_j(j) = u deflated. `transform` is X W with the columns of W `v_j/|v_j|`, not centred.

    The shift theta_j keeps a component alive whose eigenvalue is negative. The papers leave it to
    the user. Too small, and v_j shrinks and turns about; too large, and it hardly moves. "auto"
    finds it: theta_j(n) = max(0, -rho_j(n)) + .05 tr C(n)/d, with rho_j the running mean, at a gain
    of 2/n, of `v_j'A^j v_j/|v_j|^2`. It follows the scale of the data.

    **Which to take.** At eps = 1 few directions of real data gain margin, on text hardly any; with
    more components than that, a warning says how many do. A small eps, such as 0.05, is the robust
    choice: nearly all eigenvalues that count are then positive, and it converges fast. At
    eps = 1 take theta="auto". A number for theta is for the papers' experiments: as the table has
    it the shift is not deflated, so that a component whose eigenvalue is negative falls back onto
    an earlier one. `MMCFS` picks columns by the same criterion.

    Parameters
    ----------
    n_components : int, default=2
        p, how many directions to learn, at most d.
    eps : float, default=1.0
        The weight of the spread within the classes, >= 0.
    theta : "auto", float, or array-like of shape (p,), default="auto"
        The shift, >= 0, in the units of the criterion (those of X, squared); or one for each
        component.
    deflate_shift : "auto" or bool, default="auto"
        Whether the shift of v_j leaves out its projections on v_1 .. v_{j-1}. "auto": it does where
        theta is found, and not, as in the papers, where it is given.
    tol : float, optional
        Watch for stillness: the sum over components of `|u_j(n) - u_j(n-1)|`, `u = v/|v|`, below
        this (the papers: 0.06). It is a lack of motion, for steps shrink like 1/n whatever the
        truth, and no sign of convergence.
    patience : int, default=100
        How many samples in a row have to be still, counted from when two classes and p
        samples have been seen.
    early_stopping : bool, default=False
        Learn no more rows once still.
    orthonormalize : bool, default=False
        Make the directions orthonormal when they are read, the first ones first. As iterates
        they are so only in the limit.
    passes : int, default=1
        How often `fit` goes through the rows.
    shuffle : bool, default=False
        Whether `fit` takes them in a new random order for each pass.
    random_state : int, RandomState or None, default=None
        Of the order.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        `v_j/|v_j|`, in the order j = 1..p. The entry of largest magnitude in each row is positive;
        a component that has not started, before n = p samples, is a row of zeros.
    eigenvalues_ : ndarray of shape (p,)
        `|v_j|` less the mean of theta_j(n), taken with v's own weights: tends to the eigenvalue of
        S_b - eps S_w (the 1/n scale).
    n_samples_still_ : int or None
        The n at which `tol` had held for `patience` samples in a row for the first time.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and how many rows of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, once for each pass, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, n_components over d, a parameter out of range.

    Warns
    -----
    UserWarning
        By `fit`: fewer components than asked for gain margin.

    Notes
    -----
    **Cost** a row: O(nnz (p + c)) and about 10 c^3 operations (at p = c) that do not depend on d;
    memory 8 d (p + c) bytes. The iterates are those of the table to rounding, which a large theta
    amplifies, to 1e-6 and better.

    References
    ----------
    Paper 003: J. Yan et al., "IMMC: Incremental Maximum Margin Criterion", KDD 2004. Paper 004,
    Tables 2 and 3, with equation (7). The rule for theta and the deflated shift are narrows' own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IMMC
    >>> X, y = load_iris(return_X_y=True)
    >>> immc = IMMC(n_components=1, passes=20, shuffle=True, random_state=0).fit(X, y)
    >>> immc.eigenvalues_.round(1).tolist()
    [3.6]
    """

    _instead = "MMC, which is exact, or MMCFS for columns, which is so too and merges"

    def __init__(
        self,
        n_components: int | None = 2,
        eps: float = 1.0,
        theta: Any = "auto",
        deflate_shift: bool | str = "auto",
        tol: float | None = None,
        patience: int = 100,
        early_stopping: bool = False,
        orthonormalize: bool = False,
        passes: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.eps = eps
        self.theta = theta
        self.deflate_shift = deflate_shift
        self.tol = tol
        self.patience = patience
        self.early_stopping = early_stopping
        self.orthonormalize = orthonormalize
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _criterion(self) -> Criterion:
        return margin(float(self.eps))

    def _particulars(self, p: int, n_features: int) -> dict[str, Any]:
        auto = isinstance(self.theta, str)
        return {
            "theta": np.zeros(p) + (0.0 if auto else np.asarray(self.theta, dtype=np.float64)),
            "margin": _MARGIN / n_features if auto else 0.0,
            "deflate": auto if self.deflate_shift == "auto" else bool(self.deflate_shift),
        }

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths - span.state.theta

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_eps("IMMC", self.eps)
        if not (isinstance(self.theta, str) and self.theta == "auto"):
            try:
                theta = np.asarray(None if isinstance(self.theta, str) else self.theta, dtype=float)
                fits = theta.shape in ((), (self._p(n_features),)) and (theta >= 0).all()
            except (TypeError, ValueError):
                fits = False
            if not (fits and (theta < _HUGE).all()):
                raise ParameterError(
                    f'IMMC: theta must be "auto", a number >= 0, or {self._p(n_features)} of them, '
                    f"one a component, but {self.theta!r} came."
                )
        if not (self.deflate_shift == "auto" or isinstance(self.deflate_shift, bool | np.bool_)):
            raise ParameterError(
                f'IMMC: deflate_shift must be "auto", True or False, but {self.deflate_shift!r} '
                "came."
            )

    def _finish(self, stream: Stream) -> Self:
        super()._finish(stream)
        positive = int((self.eigenvalues_ > 0).sum())
        warn_of_few("IMMC", positive, len(self.eigenvalues_), self.eps, sure=False)
        return self
