"""Linear discriminant analysis, from sums or the singular value decomposition of samples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from narrows.errors import ParameterError, RangeError
from narrows.methods.cross import Choice
from narrows.methods.discriminant import Discriminant
from narrows.methods.parameters import (
    CV,
    KEPT,
    NONE,
    NOT_NEGATIVE,
    Constraint,
    parameters,
    whole,
    word,
)
from narrows.methods.projector import HELD_OUT_ERRORS, HELD_OUT_SCORES, of_curve
from narrows.solve.eigen import DROPPED, best_ratios, row_basis
from narrows.solve.exact import Centred, total_space, with_rule
from narrows.solve.scatter import (
    Answer,
    Scatter,
    continued,
    discriminants,
    discriminants_of_span,
    rank_within,
)
from narrows.state.cross import MOST

_SMALLEST_MU = 1e-250  # in the units of the scaled data: below, mu and its inverse are lost
_ROUNDING = 1e-12  # relative: smaller differences of the class means are rounding
_ACCURATE = 1e-11  # of the sum of squares: with a smaller mu the SVD has more digits


@parameters
class LDA(Discriminant):
    """Linear discriminant analysis, also with more directions than classes have.

    ::

        criterion   maximise trace((W'D W)^-1 W'S_b W), with W'S_b W and W'D W diagonal, and
                    "regularized"   D = S_w + mu/n I
                    "pca"           D = S_w, on principal components
                    "gsvd"          D = S_w + S_b, the total scatter C
        space       W real, in the span of the samples
        schedule    exact, from all samples at once; "regularized" also batch by batch

    where S_b is the scatter of the class means and S_w the scatter within the classes, both divided
    by the number n of samples. Each direction has w'(S_w + mu/n I) w = 1, with mu = 0 but for
    "regularized": `transform` returns X W, not centred, with unit variance within the classes where
    mu is small. Directions of "gsvd" without scatter within the classes have w'C w = 1. With more
    features than samples S_w is singular, and Fisher's quotient has no maximum. "regularized"
    (RLDA) adds mu to the diagonal. "pca" (PCA+LDA) first reduces the samples to so few principal
    components that S_w is not singular. "gsvd" (LDA/GSVD) divides by the total scatter; its
    maximum, 1, is attained by all directions without scatter within the classes. If S_w is not
    singular, "pca" and "gsvd" give the directions of scikit-learn's LDA, and so does "regularized"
    as mu tends to 0.

    At most n_classes - 1 directions separate class means. With a larger `n_components`,
    "regularized" continues with the w that ::

        maximise w'S_w w / w'(S_w + mu/n I) w, with w'(m_j - m) = 0 for all classes j

    one after the other, in the same units. These are the principal directions of the scatter within
    the classes, as far as it does not separate the class means. They keep what nearest neighbours
    and classes that were not in the fit need. Fewer components are the first of more.

    "regularized" is a function of sums (`ClassStats` with ``second="cross"``) for at most 8,192
    features: batches in any order, merging and `fit` give the same result. The other forms, and
    data with more features, need all samples at once.

    Parameters
    ----------
    n_components : int or "cv", optional
        p, the number of directions, with "regularized" at most the rank of the samples. By default
        n_classes - 1 (fewer if the rank is lower). An explicit number holds from the first batch of
        a stream on; directions that are not available yet are zero. "cv" chooses a number up to
        n_classes - 1 with held-out samples, as `SRDA` does; "regularized" only.
    solver : {"regularized", "pca", "gsvd"}, default="regularized"
        The form of the criterion.
    mu : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, added to the diagonal of n S_w by "regularized", >= 0, in the squared units of X.
        n S_w is a sum over the samples, so that mu has less effect the more samples there are.
        "scale" is the mean squared length of the centred samples. "cv" chooses the ridge with
        held-out samples, as ``SRDA(alpha="cv")`` does; the directions are then the same. "auto" is
        "cv" with at most 8,192 features, and "scale" otherwise. Other solvers ignore it.
    pca_components : int, optional
        The number of leading principal components of X - m that "pca" uses. By default "pca" uses
        all components of X - m_y instead, the samples minus their class means (n - c components for
        d >= n in general position): with as many components of X - m, S_w is nearly singular.
    {half_life}
    {keep}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, best direction first; not orthogonal. The entry of largest magnitude in
        each direction is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'D w of each direction. Of directions that do not separate the classes: w'S_w w /
        w'D w, between 0 and 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the sum of those of all directions that separate the classes,
        not only the first `n_components`; 0 for directions that do not. With "pca" these are the
        ratios of scikit-learn's LDA, if S_w is not singular.
    mu_ : float
        The mu of "regularized"; 0 for the other forms.
    mus_, mu_scores_, mu_errors_ : ndarray of shape (n_mus,)
        The values that "cv" compares, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if mu was not chosen.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_available,)
        With ``n_components="cv"``: entry p - 1 is 1 minus the Brier score of held-out samples by
        the first p directions, and its standard error; else empty.
    {coef_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of available directions, S_w is singular and mu=0, a parameter is "cv" and no samples are
        kept, or X is sparse and the solver is not "regularized", mu is 0, or there are more than
        8,192 samples of more than 8,192 features; use `SRDA`.

    See Also
    --------
    SRDA : The same first n_classes - 1 directions, also for wide sparse data.
    IDRQR : Discriminant analysis in the span of the class means, also on a stream.
    FisherFS : Selection of features by the same ratio.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Classification, for n > d.

    Notes
    -----
    **Cost**, for n samples and d features: the smaller of O(n d^2) and O(n^2 d). "regularized"
    learns dense samples on all cores, and takes O(d^3) when attributes are read, about twice as
    long with more directions than classes have; memory 8 d^2 bytes, and up to 2,000 samples, which
    calibrate `predict_proba` and choose parameters; model files contain them. With mu chosen,
    reading takes 10 to 40 times as long. The other forms compute the SVD of X; memory up to ten
    times that of X in double precision.

    **Which mu**: held-out samples choose it for predictions of the classes of the fit. For classes
    to come a larger one may be better (`narrows.evaluate.retrieval`): it keeps more of the length
    of the samples along the directions that vary most.

    **Accuracy**: "regularized" computes n S_w as a difference of sums, so that a ratio r has a
    relative error of about r times the rounding of the sums. If rounding makes n S_w + mu I
    singular, as much as the rounding may be is added to its diagonal. "pca" and "gsvd" keep all
    digits. With mu=0, "pca" without `pca_components`, and "gsvd" with more samples than features,
    predictions do not depend on the units of the features.

    Three criteria are called Fisher's: the ratio of determinants (Yan et al. 2006, IEEE TKDE), the
    trace of a quotient (Ye et al. 2005; this one), and the ratio of traces (Yan et al. 2006b,
    Information Sciences).

    References
    ----------
    Ye et al. (2005): J. Ye et al., "IDR/QR: An Incremental Dimension Reduction Algorithm via QR
    Decomposition", IEEE TKDE 17(9), 2005, section 3, eq. (3), compares the three forms. "gsvd",
    here by two plain SVDs: P. Howland, M. Jeon, H. Park, "Structure Preserving Dimension Reduction
    for Clustered Text Data Based on the Generalized Singular Value Decomposition", SIAM J. Matrix
    Anal. Appl. 25(1), 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from narrows import LDA
    >>> X, y = load_wine(return_X_y=True)
    >>> LDA(solver="pca").fit(X, y).eigenvalues_.round(2).tolist()
    [9.08, 4.13]
    >>> lda = LDA(n_components=5).fit(X, y)
    >>> lda.transform(X).shape, bool(lda.score(X, y) > 0.95)
    ((178, 5), True)
    """

    _instead = "OnlineSRDA to learn from batches, or FisherFS to select features"
    _summing = "regularized"
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    _choice = Choice("mu")
    mus_, mu_scores_, mu_errors_ = of_curve("mus_", "values of mu")
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | CV | NONE,
        "solver": word("regularized", "pca", "gsvd"),
        "mu": word("auto", "scale", "cv") | NOT_NEGATIVE,
        "pca_components": whole(1) | NONE,
    }

    n_components: int | str | None = None
    solver: str = "regularized"
    mu: float | str = "auto"
    pca_components: int | None = None
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    @property
    def mu_(self) -> float:
        """The mu of "regularized"; 0 for the other forms."""
        alpha = float(self._solution.alpha)
        return alpha if self.solver == "regularized" else 0.0

    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        if self.solver != "regularized":
            raise ParameterError(
                f"{type(self).__name__}: expected solver='regularized' as in fit, got "
                f"{self.solver!r}. Call fit again."
            )
        if alpha:
            answer = discriminants(S, alpha)
        else:
            of_span = S.spanned(ridge=False)
            rank = rank_within(of_span)
            if rank < len(of_span.C):
                raise self._singular(rank, len(of_span.C))
            answer = discriminants_of_span(of_span, alpha)
        used = alpha if answer.alpha is None else answer.alpha
        return continued(S, answer, used, self._size or 0)

    def _singular(self, rank: int, of: int) -> ParameterError:
        return ParameterError(
            f"{type(self).__name__}: expected mu > 0, since the scatter within the classes is "
            f"singular, of rank {rank}, and the samples span {of} directions; got mu=0. "
            'Use mu > 0 or solver="gsvd".'
        )

    def _from_samples(self, A: Centred, alpha: float) -> Answer:
        mu, n = 0.0, A.shape[0]
        if self.solver == "regularized":
            mu = A.scaled(alpha)
            if alpha and not _SMALLEST_MU < mu < 1 / _SMALLEST_MU:
                raise RangeError(
                    f"samples whose scatter is of a magnitude comparable to mu={alpha:g}",
                    f"values up to {A.largest:.1e}",
                    A.largest_in(),
                    "Scale the data, or mu by their squared scale.",
                )
        if n <= MOST and mu > _ACCURATE * A.squares:
            answer = self._from_scatter(A.scatter(), mu)
        elif A.is_sparse:
            most = f" of at most {MOST:,} features or samples, with mu > 0"
            raise ParameterError(
                f'{type(self).__name__}: expected sparse data for solver="regularized"{most}, got '
                f"{n:,} samples of {A.shape[1]:,} features, solver={self.solver!r} and "
                f"mu={self.mu!r}. Use SRDA, which solves LDA by regression."
            )
        else:
            answer = with_rule(A, Answer(*self._by_svd(A, mu)), mu)
            if self._continues:
                answer = self._continued(A, answer, mu)
        self._check_rank(len(answer.eigenvalues), len(A.counts))
        return answer

    def _continued(self, A: Centred, answer: Answer, mu: float) -> Answer:
        """Return an answer by singular values with as many directions as asked for."""
        (n, d), p, found = A.shape, self._size or 0, len(answer.eigenvalues)
        if p > found and n > MOST:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={found} for more than {MOST:,} "
                f"samples of more than {MOST:,} features, got {p}, {n:,} and {d:,}. Use fewer "
                "components, or select features first."
            )
        return continued(A.scatter(), answer, mu, p) if p > found else answer

    def _by_svd(self, A: Centred, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return ratios and directions from singular values: no scatter costs digits."""
        n, given = A.shape[0], mu or (self.solver == "pca" and self.pca_components is not None)
        Q, s, H, F, noise = total_space(A, equal=not given)
        if self.solver == "regularized":
            rank = len(s) if mu else row_basis(F, n, noise).shape[1]
            if rank < len(s):
                raise self._singular(rank, len(s))
        elif self.solver == "pca":
            P, size = self._pca(row_basis(F, n, noise)), np.linalg.norm(H)
            Q, H, F = Q @ P, H @ P, F @ P
            if np.linalg.norm(H) <= _ROUNDING * size:
                raise ValueError(
                    f"{type(self).__name__}: expected class means that differ in the principal "
                    'components used, got equal ones. Use solver="regularized" or "gsvd".'
                )
        else:
            F = np.diag(s)
        ratios, V = best_ratios(H, F, mu, n, noise)
        found = int((ratios > DROPPED * ratios.max(initial=0.0)).sum())
        return ratios[:found], Q @ V[:, :found]

    def _pca(self, within: np.ndarray) -> np.ndarray:
        """Return the components of "pca" in the coordinates of all components of X - m."""
        r, (t, most) = self.pca_components, within.shape
        if not most:
            raise ValueError(
                f"{type(self).__name__}: expected scatter within the classes for solver="
                '"pca", got equal samples in each class. Use solver="regularized" or "gsvd".'
            )
        if r is not None and r > most:
            raise ParameterError(
                f"{type(self).__name__}: expected pca_components<={most}, since the scatter within "
                f"the classes is singular on more components, got {r}."
            )
        return within if r is None else np.eye(t, r)

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes - 1, 'solver="regularized", which has more'

    @property
    def _continues(self) -> bool:  # type: ignore[override]
        return self.solver == "regularized"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver == "regularized"
        return tags
