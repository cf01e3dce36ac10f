"""The Fisher criterion: the spread between the classes over the spread within them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.criteria import BETWEEN, TOTAL, Criterion
from narrows.families._base import check_whole, is_number
from narrows.families._batch import BatchProjector, Gathered
from narrows.families._online import OnlineProjector
from narrows.families._select import Scores, Selector
from narrows.families._sequential import Stream
from narrows.moments.priors import second_for
from narrows.moments.stats import ClassStats, Second
from narrows.solve import columns
from narrows.solve.centred import Centred
from narrows.solve.errors import ParameterError, RangeError
from narrows.solve.exact import (
    DROPPED,
    best_ratios,
    by_discriminant_power,
    rank_tolerance,
    regressions,
    row_basis,
    total_space,
)
from narrows.solve.span import ILDARule, Span

_HUGE = 1e100  # weights of more leave nothing of what they are weighed against
_FAINT = 1e-250  # what is weighed against numbers of about 1: less, and its inverse, are lost
_ROUNDING = 1e-12  # of a column's variance: as much within the classes is none


class FisherFS(Selector):
    """Fisher Feature Selection.

    ::

        criterion   "score": each column by w'S_b w / w'S_w w, which ranks them
                    "trace_ratio": maximise trace(W'S_b W) / trace(W'S_w W)
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    A ratio of two sums is no sum of ratios, so the two are different things. The trace ratio is
    exact over all sets of p columns, and of little use: a set's ratio lies between those of its
    columns, so the optimum takes the best column, and then those that add least to either sum,
    the rarest. The ranking by score is the useful one.

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
    optimum : {"score", "trace_ratio"}, default="score"
        Which of the two; the second needs n_features.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        "score": s_bk / s_wk, without unit; infinite where the classes do not spread at all but
        their means do, 0 where the means do not. "trace_ratio": s_bk - lambda s_wk, with lambda
        the best ratio; where that is infinite, s_bk and minus infinity.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best columns in the sum of s_bk / (s_bk + s_wk),
        which orders them as the score does; for the trace ratio of max(score, 0).
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

    Notes
    -----
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read, times a few rounds for
    the trace ratio; memory 8 d (c + 1) bytes, and 16 c d with priors other than the empirical
    ones, which take second moments of each class.

    References
    ----------
    Paper 000: J. Yan et al., IEEE TKDE 18(3), 2006, section 2.2.2, prints the ratio of
    determinants, paper 002 (J. Ye et al., IEEE TKDE 17(9), 2005) the trace of a quotient, paper
    004 (J. Yan et al., Information Sciences 176, 2006, section 2.3.2) the ratio of traces: three
    different criteria. For one column all are the score. The rounds for the ratio of sums: W.
    Dinkelbach, "On Nonlinear Fractional Programming", Management Science 13(7), 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import FisherFS
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherFS(n_features=2).fit(X, y).get_support(indices=True).tolist()
    [2, 3]
    """

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        priors: Any = "empirical",
        optimum: str = "score",
        half_life: float | None = None,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.priors = priors
        self.optimum = optimum
        self.half_life = half_life

    def _second(self) -> Second:
        return second_for(self.priors)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.optimum not in ("score", "trace_ratio"):
            raise ParameterError(
                f'FisherFS: optimum must be "score" or "trace_ratio", but {self.optimum!r} came.'
            )
        if self.optimum == "trace_ratio" and self.n_features is None:
            raise ParameterError(
                'FisherFS: optimum="trace_ratio" needs n_features, because the best ratio '
                "depends on how many columns share it."
            )

    def _score(self, stats: ClassStats) -> Scores:
        p = stats.priors(self.priors)
        varies = stats.varying(p)
        total = TOTAL.diagonal(stats, self.priors)
        alone = self.optimum == "score"  # which is the same for a feature in other units
        between = np.minimum(BETWEEN.diagonal(stats, self.priors, alone), total)
        between[~varies] = 0.0
        within = total - between
        within[within <= _ROUNDING * total] = 0.0
        if self.optimum == "score":
            return Scores(_ratio(between, within), varies, _ratio(between, between + within))
        size = min(columns.count_wanted(self.n_features, stats.n_features), int(varies.sum()))
        best = columns.best_ratio(between[varies], within[varies], size)
        with np.errstate(invalid="ignore"):  # infinity times 0
            loss = np.where(within > 0, best * within, 0.0)
        return Scores(between - loss, varies)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; infinite where only b is 0, and 0 where a is."""
    return np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=(a > 0) & (b > 0))


class LDA(BatchProjector):
    """Linear Discriminant Analysis of dense data, in the three forms for more columns than rows.

    ::

        criterion   maximise trace((W'D W)^-1 W'S_b W), with W'S_b W diagonal, W'D W = I, and
                    "regularized"   D = n S_w + mu I, and n S_b for S_b
                    "pca"           D = S_w, on principal components
                    "gsvd"          D = S_w + S_b, which is the total scatter C
        space       W real, in the space of the rows
        schedule    exact, all rows at once

    With more columns than rows S_w is singular, and the quotient of Fisher has no maximum. RLDA
    adds mu to its diagonal; PCA+LDA first reduces the rows to so few principal components that
    S_w is not singular there; LDA/GSVD takes the quotient to the total scatter instead, whose
    maximum, 1, is reached by all directions without spread within the classes. Where S_w is not
    singular, "pca" and "gsvd" give the directions of scikit-learn's LDA, and so does
    "regularized" as mu tends to 0. `transform` is X W, not centred.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions to keep; all, c - 1 (fewer if the rank is lower), if left out.
    solver : {"regularized", "pca", "gsvd"}, default="regularized"
        Which of the three.
    mu : float, default=0.5
        What "regularized" adds to the diagonal of n S_w, the scatter that is a sum over the rows
        and not a mean: in units of X squared, and of less weight the more rows there are. >= 0.
    pca_components : int, optional
        How many of the leading principal components of X - m "pca" keeps. If left out, as many as
        the rank of X - m_y, each row less its class mean (n - c for d >= n in general position),
        and of X - m_y: so many of X - m leave S_w all but singular (faces of ORL, six a person:
        .34 and .50 of the rest are then known again, and .96 and .98 with those of X - m_y).

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        W', best first; not orthogonal, and of unit length in D. The entry of largest magnitude in
        each row is positive.
    eigenvalues_ : ndarray of shape (p,)
        w'S_b w / w'D w of each, both n times for "regularized".
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, more components than there are directions, a
        singular S_w with mu=0; sparse rows, for which there is `SRDA`.

    Notes
    -----
    **Cost**: O(n d min(n, d)), by a singular value decomposition of the rows; memory up to ten
    times that of the rows in doubles.

    The papers' Fisher criteria are three: the quotient of determinants (000), the trace of a
    quotient (002; this one), the quotient of traces (004).

    References
    ----------
    Paper 002: J. Ye et al., "IDR/QR: An Incremental Dimension Reduction Algorithm via QR
    Decomposition", IEEE TKDE 17(9), 2005, section 3, eq. (3), which compares the three. "gsvd":
    P. Howland, M. Jeon, H. Park, "Structure Preserving Dimension Reduction for Clustered Text Data
    Based on the Generalized Singular Value Decomposition", SIAM J. Matrix Anal. Appl. 25(1), 2003,
    by two plain SVDs.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from narrows import LDA
    >>> X, y = load_wine(return_X_y=True)
    >>> LDA(solver="pca").fit(X, y).eigenvalues_.round(2).tolist()
    [9.08, 4.13]
    """

    _instead = (
        "FisherFS for columns, whose states add up, or OnlineSRDA, which takes a sample at a time"
    )

    def __init__(
        self,
        n_components: int | None = None,
        solver: str = "regularized",
        mu: float = 0.5,
        pca_components: int | None = None,
    ):
        self.n_components = n_components
        self.solver = solver
        self.mu = mu
        self.pca_components = pca_components

    def _directions(self, A: Centred) -> tuple[np.ndarray, np.ndarray, int]:
        Q, s, H, F = total_space(A)
        mu, unit, n = 0.0, np.sqrt(A.n), A.shape[0]
        noise = rank_tolerance(F, s, n)  # of F, the differences of rows as long as s
        if self.solver == "regularized":
            mu, unit = A.scaled(self.mu), 2.0 ** (-A.weight_power // 2)
            if self.mu and not _FAINT < mu < 1 / _FAINT:
                raise RangeError(
                    f"rows beside whose scatter mu={self.mu:g} is a number",
                    f"values up to {A.largest:.1e}",
                    A.largest_in(),
                    "Scale the data, or mu with their square.",
                )
            rank = len(s) if mu else row_basis(F, n, noise).shape[1]
            if rank < len(s):
                raise ParameterError(
                    f"LDA: mu=0, but the scatter within the classes is singular: it has rank "
                    f'{rank}, and the rows span {len(s)} directions. Use mu > 0, or solver="gsvd".'
                )
        elif self.solver == "pca":
            P, size = self._pca(row_basis(F, n, noise)), np.linalg.norm(H)
            Q, H, F = Q @ P, H @ P, F @ P
            if np.linalg.norm(H) <= _ROUNDING * size:
                raise ValueError(
                    "LDA: the class means do not differ in the principal components kept, only "
                    'outside them. Use solver="regularized" or "gsvd".'
                )
        else:
            F = np.diag(s)
        ratios, V = best_ratios(H, F, mu, n, noise)
        found = int((ratios > DROPPED * ratios.max(initial=0.0)).sum())
        self._check_rank(found, len(A.counts))
        return ratios[:found], np.ldexp(Q @ (unit * V[:, :found]), -A.power), 0

    def _pca(self, within: np.ndarray) -> np.ndarray:
        """What PCA keeps, in the coordinates of all principal components of X - m."""
        r, (t, most) = self.pca_components, within.shape
        if not most:
            raise ValueError(
                'LDA: solver="pca" divides by the scatter within the classes, but the rows of each '
                'class are all alike. Use solver="regularized" or "gsvd".'
            )
        if r is not None and r > most:
            raise ParameterError(
                f"LDA: pca_components={r}, but on more than {most} components the scatter within "
                f"the classes is singular. Use pca_components<={most}."
            )
        return within if r is None else np.eye(t, r)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.solver not in ("regularized", "pca", "gsvd"):
            raise ParameterError(
                f'LDA: solver must be "regularized", "pca" or "gsvd", but {self.solver!r} came.'
            )
        if not is_number(self.mu, 0):
            raise ParameterError(f"LDA: mu must be finite and >= 0, but {self.mu!r} came.")
        if self.pca_components is not None:
            check_whole("LDA", "pca_components", self.pca_components, " or None")

    def _check_X(self, X: Any, **options: Any) -> Any:
        if sparse.issparse(X):
            raise TypeError(
                "LDA: dense rows wanted, but a sparse matrix came, and to centre it would fill it. "
                "Use SRDA, which is LDA by regression, for sparse data, or X.toarray() if it is "
                "small."
            )
        return super()._check_X(X, **options)

    def _update_state(self, state: Gathered, X: Any, y: Any) -> Gathered:
        """Keep more rows, in place, for `fit_state`; sparse ones are refused."""
        if sparse.issparse(X):
            raise ParameterError(
                "LDA: dense rows wanted, but this data set is sparse. Use SRDA, which is LDA by "
                "regression."
            )
        return super()._update_state(state, X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class SRDA(BatchProjector):
    """Spectral Regression Discriminant Analysis: LDA for sparse data of any width.

    ::

        criterion   maximise trace((W'(C + alpha/n I) W)^-1 W'S_b W), by least squares
        space       W real
        schedule    all rows at once

    The directions of LDA are the regressions on responses that are constant on each class. Here
    they are c - 1 orthonormal ones, orthogonal to the constant; each w minimises ::

        |(X - 1 m')w - t|^2 + alpha |w|^2

    by `max_iter` steps of LSQR, which take products with X and X' alone. The solutions are then
    turned into the order of w'S_b w / w'C w, so that the first few are the best few by it, and
    made unit. `transform` is X W, not centred.

    Where it stops counts: after one step the directions span what those of `OC` do, and each
    further one brings them nearer to LDA's. So max_iter regularises as alpha does, and there is no
    warning where tol was not reached.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions to keep; all, c - 1 (fewer if the rank is lower), if left out.
    alpha : float, default=1.0
        The weight of `|w|^2` against the sum of squares over the rows (not their mean), in units of
        X squared. >= 0.
    max_iter : int, default=20
        The most steps of LSQR for each response.
    tol : float, default=1e-8
        Relative tolerance on the residuals (LSQR's atol and btol), below which it stops earlier.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        W', unit rows, best first; not orthogonal. The entry of largest magnitude in each row is
        positive.
    eigenvalues_ : ndarray of shape (p,)
        w'S_b w / w'C w, between 0 and 1.
    n_iter_ : int
        The steps of LSQR that the slowest response took.
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
    **Cost**: 2 max_iter products of X with c - 1 vectors at once, on all cores, O(c (nnz + n + d))
    each; memory 8 c (6 d + 3 n) bytes, and a copy of sparse X where it is wider than long. Where d
    or n is large the vectors go in groups.

    **Reproducibility**: steps of LSQR amplify rounding errors. Another order of the samples,
    another machine or another number of BLAS threads changes the default's `eigenvalues_` by up to
    3e-3 and entries of `components_` by up to 0.4 on the data sets of the documentation, most where
    features differ in scale. On scaled features, `max_iter=10` keeps both to 1e-6.

    References
    ----------
    D. Cai, X. He, J. Han, "SRDA: An Efficient Algorithm for Large-Scale Discriminant Analysis",
    IEEE TKDE 20(1), 2008. The choice of responses, their left singular vectors with the rows, and
    the order of the directions are narrows' own.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import SRDA
    >>> X, y = load_digits(return_X_y=True)
    >>> srda = SRDA(n_components=2).fit(X, y)
    >>> srda.eigenvalues_.round(2).tolist()
    [0.88, 0.83]
    """

    _by_products = True
    _instead = "OnlineSRDA, which takes a sample at a time and merges, or OC, whose merge is exact"

    def __init__(
        self,
        n_components: int | None = None,
        alpha: float = 1.0,
        max_iter: int = 20,
        tol: float = 1e-8,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    @property
    def n_iter_(self) -> int:
        """The steps of LSQR that the slowest response took."""
        return self._state.more

    def _directions(self, A: Centred) -> tuple[np.ndarray, np.ndarray, int]:
        alpha = min(A.scaled(self.alpha), _HUGE)  # no more changes the directions
        W, n_iter = regressions(A, alpha, self.max_iter, float(self.tol))
        ratios, W = by_discriminant_power(A, W)
        self._check_rank(len(ratios), len(A.counts))
        return ratios, W, n_iter

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        for name in ("alpha", "tol"):
            value = getattr(self, name)
            if not (is_number(value, 0) and value < _HUGE):
                raise ParameterError(
                    f"SRDA: {name} must be >= 0 and less than {_HUGE:g}, but {value!r} came."
                )
        check_whole("SRDA", "max_iter", self.max_iter)


class ILDA(OnlineProjector):
    """Incremental Linear Discriminant Analysis, by a Sanger-type rule.

    ::

        criterion   trace((W'S_w W)^-1 W'S_b W), with W'S_w W = I and W'S_b W diagonal
        space       W real
        schedule    one step a sample

    V <- V + eta (S_b V - u u'V UT[V'S_b V]) at sample n, with S_b and the class means m_l of the
    rows so far, u = x - m_l for a row of class l, so that u u' stands for S_w, and UT[.] what is on
    and above the diagonal. `v_j(j) = x(j)/|x(j)|`, and no step while n <= 20. `transform` is X W
    with the columns of W `v_j/|v_j|`, not centred.

    It is slow: eigenvalues of the ratio that are small against the first take many passes, and
    columns of very different size hold it up, so standardise dense data. The papers could not run
    it on RCV1; here the step is bounded, and no run diverged.

    Parameters
    ----------
    n_components : int, default=2
        p, how many directions to learn, at most d.
    eta : "auto" or float, default="auto"
        The gain, > 0. "auto": 5/(n + 20). Either way no more than `0.5/(|UT|_F |u|^2)`, which keeps
        the iteration stable.
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
        v_j'S_b v_j before v_j is made unit: tends to the eigenvalue of S_w^-1 S_b.
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

    Notes
    -----
    **Cost** a row: O(nnz (p + c)) and O(c^2 p) operations that do not depend on d, for what costs
    O(d (c + p) p) as written; memory 8 d (p + c) bytes.

    References
    ----------
    K. Hiraoka, K. Hidai, M. Hamahira, H. Mizoguchi, T. Mishima, S. Yoshizawa, "Successive Learning
    of Linear Discriminant Analysis: Sanger-Type Algorithm", ICPR 2000, which papers 000 and 004
    compare with. Start, gain and bound are narrows' own.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from narrows import ILDA
    >>> X, y = load_wine(return_X_y=True)
    >>> ilda = ILDA(passes=100, shuffle=True, random_state=0).fit(scale(X), y)
    >>> ilda.eigenvalues_.round(0).tolist()
    [9.0, 4.0]
    """

    _start = "unit"
    _instead = "LDA, which is exact, or FisherFS for columns, which is so too and merges"

    def __init__(
        self,
        n_components: int | None = 2,
        eta: float | str = "auto",
        tol: float | None = None,
        patience: int = 100,
        early_stopping: bool = False,
        orthonormalize: bool = False,
        passes: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.eta = eta
        self.tol = tol
        self.patience = patience
        self.early_stopping = early_stopping
        self.orthonormalize = orthonormalize
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _criterion(self) -> Criterion:
        return Criterion(between=1.0)  # of what is in S_b; u u' comes with the rule itself

    def _rule(self, stream: Stream) -> ILDARule:
        return ILDARule(
            0.0 if isinstance(self.eta, str) else float(self.eta), **self._rule_options()
        )

    def _eigenvalues(self, span: Span) -> np.ndarray:
        SV, N = span.state.SV, span.state.N
        n = max(1.0, N.sum())
        K = np.divide(SV, N[:, None], out=np.zeros_like(SV), where=N[:, None] > 0)
        K[N > 0] -= SV.sum(axis=0) / n  # (m_i - m)'v_j
        return (N / n) @ K**2

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if not (isinstance(self.eta, str) and self.eta == "auto") and not is_number(
            self.eta, 0, above=True
        ):
            raise ParameterError(
                f'ILDA: eta must be "auto" or a number > 0, but {self.eta!r} came.'
            )
