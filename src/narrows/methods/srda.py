"""Spectral regression: discriminant analysis by regularised least squares."""

from __future__ import annotations

from typing import Any, ClassVar

from narrows.methods.cross import Choice
from narrows.methods.discriminant import Discriminant
from narrows.methods.parameters import (
    CV,
    KEPT,
    LARGEST,
    NONE,
    Constraint,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.projector import HELD_OUT_ERRORS, HELD_OUT_SCORES, of_curve, of_solution
from narrows.solve.exact import Centred, by_discriminant_power, lsqr_regressions
from narrows.solve.scatter import Answer, Scatter, discriminants
from narrows.state.cross import MOST


@parameters
class SRDA(Discriminant):
    """Spectral regression discriminant analysis for sparse and dense data.

    ::

        criterion   maximise trace((W'(C + alpha/n I) W)^-1 W'S_b W)
        space       W real
        schedule    exact, from all samples at once or batch by batch

    where S_b is the scatter of the class means and C the covariance of the n samples. The optimum
    consists of the leading eigenvectors of the pair (S_b, C + alpha/n I). These are the directions
    of regularised LDA, and solve ridge regressions of responses that are constant within each
    class. Their lengths are such that w'(S_w + alpha/n I) w = 1, with the scatter S_w = C - S_b
    within the classes: `transform` returns X W, not centred, with unit variance within the classes
    where alpha is small.

    With at most 8,192 features, both matrices are computed from sums over the samples (`ClassStats`
    with ``second="cross"``). Batches in any order, merged estimators and a single `fit` then give
    the same result. With more features, `fit` needs all samples in memory; `OnlineSRDA` learns
    streams, files and parts on clusters.

    ``solver="lsqr"`` needs all samples at once. For each of c - 1 orthonormal responses t of c
    classes, it minimises ::

        |(X - 1 m')w - t|^2 + alpha |w|^2

    by at most `max_iter` steps of LSQR, and rotates the solutions so that the best directions come
    first. `max_iter` acts as regularisation: one step spans the `OC` subspace; further steps
    approach LDA. There is no warning if `tol` is not reached.

    Parameters
    ----------
    n_components : int or "cv", optional
        p, the number of directions. By default n_classes - 1 (fewer if the rank is lower). An
        explicit number holds from the first batch of a stream on; directions that are not available
        yet are zero. "cv" chooses the number with held-out samples, for "cross": see Notes.
    alpha : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, in the squared units of X. It is added to the scatter of all samples, which is a
        sum and not a mean. "scale" is the mean squared length of the centred samples. "cv" chooses
        the ridge with held-out samples: see Notes. "auto" is "cv" with ``solver="cross"``, and
        "scale" otherwise.
    solver : {"auto", "cross", "lsqr"}, default="auto"
        "cross" solves the eigenproblem from cross products, and "lsqr" needs all samples at once.
        "auto" is "cross" for at most 8,192 features. With more features, it is "lsqr", or solves
        the eigenproblem from inner products of at most 8,192 dense samples.
    max_iter : int, default=20
        The maximum number of LSQR steps for each response.
    tol : float, default=1e-8
        Relative tolerance on the residuals (LSQR's atol and btol) at which the steps end.
    {half_life}
    {keep}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, best direction first; not orthogonal. The entry of largest magnitude in
        each direction is positive. Directions that are not available (yet) are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'(C + alpha/n I) w of each direction, between 0 and 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues r, divided by the sum of all eigenvalues, not only the first `n_components`.
        scikit-learn's LDA uses the ratios r / (1 - r) to the scatter within the classes instead.
    alpha_ : float
        The ridge.
    alphas_, alpha_scores_, alpha_errors_ : ndarray of shape (n_alphas,)
        The ridges that "cv" compares, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if alpha was not chosen.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_available,)
        With ``n_components="cv"``: entry p - 1 is 1 minus the Brier score of held-out samples by
        the first p directions, and its standard error; else empty.
    n_iter_ : int
        The number of LSQR steps of the slowest response; 1 where no steps are needed.
    {coef_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of available directions, or is "cv" where no samples are kept, or there are more than 8,192
        features in `partial_fit`, in sparse files or on a cluster.

    See Also
    --------
    OnlineSRDA : Discriminant analysis on a stream with any number of features, approximately.
    LDA : Discriminant analysis with other forms of the criterion.
    OC : Projection by the scatter of the class means only.
    FisherFS : Selection of features by the ratio of the scatters.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : LDA of dense samples, all at once.

    Notes
    -----
    **Cost**, for d <= 8,192 features and c classes: O(n d^2) to learn n dense samples on all cores,
    O(d^3) when attributes are read; with alpha chosen, about 10 times that, or up to 40 times for
    fewer than 8,000 samples. Memory: 8 d^2 bytes, and up to 2,000 samples. With fewer samples than
    features, O(n^2 d). LSQR: 2 max_iter products of X with c - 1 vectors at once, O(c (nnz + n +
    d)) each; memory 8 c (6 d + 3 n) bytes.

    **The choice of alpha**: the state keeps up to 2,000 samples, those with the smallest hashes, so
    that order and merging do not matter. The first 1,000 of them are divided into parts of at most
    a quarter of all samples. Each part is subtracted from the sums and predicted from the other
    samples, with ten ridges: "scale" times the powers of ten from 1e-7 to 100. The ridge is the one
    nearest to "scale" whose mean log-likelihood is within half a standard error of the best. Where
    all weights are below 1, they and "scale" are in the unit of the largest: equal weights
    that add up to 1 give the directions of weights of 1. Model files contain the kept samples.

    **The number of directions** with "cv": the kept samples are classified by the first p
    directions of the other samples, for every p, with the ridge `alpha_`. The number is the
    smallest one whose Brier score, the mean of sum_j (P_j - [j = y])^2 with the probabilities P_j,
    is behind the best by at most one standard error of the difference. `predict` uses all
    directions. On a stream all directions are used while no class has two samples.

    **Scores**: `predict` uses the log posteriors of normal classes with covariance S_w + alpha/n I,
    or, with more than two classes, the outputs of ridge regressions of the class indicators, in the
    same directions: if they predict kept samples better by 2.5 standard errors where alpha is
    chosen, and with more features than samples for LSQR.

    **Reproducibility**: LSQR amplifies rounding errors, so that `components_` depend on the order
    of the samples, the machine and the number of threads.

    References
    ----------
    D. Cai, X. He, J. Han, "SRDA: An Efficient Algorithm for Large-Scale Discriminant Analysis",
    IEEE TKDE 20(1), 2008. The state and the choice of alpha are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import SRDA
    >>> X, y = load_digits(return_X_y=True)
    >>> srda = SRDA(n_components=2)
    >>> for start in range(0, 1797, 600):
    ...     srda = srda.partial_fit(X[start : start + 600], y[start : start + 600])
    >>> srda.transform(X).shape, bool(srda.score(X, y) > 0.9)
    ((1797, 2), True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | CV | NONE,
        "alpha": word("auto", "scale", "cv") | real(0, LARGEST),
        "solver": word("auto", "cross", "lsqr"),
        "max_iter": whole(1),
        "tol": real(0, LARGEST),
    }
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    _choice = Choice("alpha", required=False)
    _several_labels, _gathers_sparse = True, False
    alpha_ = of_solution(lambda found: float(found.alpha), "The ridge.")
    alphas_, alpha_scores_, alpha_errors_ = of_curve("alphas_", "ridges")
    _instead = "OnlineSRDA, or OC, which is exact on a stream"

    n_components: int | str | None = None
    alpha: float | str = "auto"
    solver: str = "auto"
    max_iter: int = 20
    tol: float = 1e-8
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    @property
    def n_iter_(self) -> int:
        """The number of LSQR steps of the slowest response; 1 where no steps are needed."""
        return max(1, int(self._solution.more))

    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        return discriminants(S, alpha, total=True, overwrite=True)

    def _from_samples(self, A: Centred, alpha: float) -> Answer:
        alpha = min(A.scaled(alpha), LARGEST)  # a larger one gives the same directions
        if not A.is_sparse and self.solver == "auto" and A.shape[0] <= MOST:
            answer = self._from_scatter(A.scatter(), alpha)
        else:
            W, n_iter = lsqr_regressions(A, alpha, self.max_iter, float(self.tol))
            answer = by_discriminant_power(A, W, alpha)
            answer.more = n_iter
        self._check_rank(len(answer.eigenvalues), len(A.counts))
        return answer
