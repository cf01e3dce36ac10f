"""Spectral regression: discriminant analysis by regularised least squares."""

from __future__ import annotations

from narrows.families._discriminant import Discriminant
from narrows.families._parameters import check, check_whole, is_number
from narrows.moments.cross import MOST
from narrows.solve.centred import Centred
from narrows.solve.exact import by_discriminant_power, lsqr_regressions
from narrows.solve.scatter import Answer, Scatter, regressions

_LARGEST = 1e100  # of alpha: beside a larger penalty the data are rounding
_RIDGES = ("auto", "scale")
_SOLVERS = ("auto", "cross", "lsqr")


class SRDA(Discriminant):
    """Spectral regression discriminant analysis for sparse and dense data.

    ::

        criterion   maximise trace((W'(C + alpha/n I) W)^-1 W'S_b W), by least squares
        space       W real
        schedule    from all samples at once

    where S_b is the scatter of the class means and C the total scatter of the n samples. The
    directions of LDA are regressions on responses that are constant on each class. SRDA uses c - 1
    orthonormal responses t for c classes, orthogonal to the constant, and finds for each the w that
    minimises ::

        |(X - 1 m')w - t|^2 + alpha |w|^2

    by `max_iter` steps of LSQR, which only needs products with X and X'. The solutions are then
    rotated into the order of w'S_b w / w'C w, so that the first directions are the best ones, and
    normalised. `transform` returns X W, not centred.

    `max_iter` acts as regularisation, like alpha: one iteration spans the `OC` subspace; further
    iterations approach LDA. There is therefore no warning if `tol` is not reached.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default n_classes - 1 (fewer if the rank is lower).
    alpha : float, default=1.0
        The weight of `|w|^2` against the sum (not the mean) of squares over the samples, >= 0, in
        the squared units of X.
    max_iter : int, default=20
        The maximum number of LSQR steps for each response.
    tol : float, default=1e-8
        Relative tolerance on the residuals (LSQR's atol and btol) at which the steps end.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W: unit directions, best first; not orthogonal. The entry of largest
        magnitude in each direction is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'C w of each direction, between 0 and 1.
    n_iter_ : int
        The number of LSQR steps of the slowest response.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, or n_components exceeds the
        number of available directions.

    See Also
    --------
    OnlineSRDA : Discriminant analysis on a stream, one sample at a time.
    LDA : Discriminant analysis of dense data, by decomposition.
    OC : Projection by the scatter of the class means only, also on a stream.
    FisherFS : Selection of features by the ratio of the scatters.
    sklearn.linear_model.RidgeClassifier : Classification by the same regression.

    Notes
    -----
    **Cost**, for n samples and d features: 2 max_iter products of X with c - 1 vectors at once, on
    all cores, O(c (nnz + n + d)) each; memory 8 c (6 d + 3 n) bytes, and a copy of sparse X if it
    has more features than samples. For large d or n the vectors are processed in groups.

    **Reproducibility**: steps of LSQR amplify rounding errors. Another order of the samples,
    another machine or another number of BLAS threads changes the default's `eigenvalues_` by up to
    3e-3 and entries of `components_` by up to 0.4 on the data sets of the documentation, most where
    features differ in scale. On scaled features, `max_iter=10` keeps both to 1e-6.

    References
    ----------
    D. Cai, X. He, J. Han, "SRDA: An Efficient Algorithm for Large-Scale Discriminant Analysis",
    IEEE TKDE 20(1), 2008. The choice of the responses, their left singular vectors with the
    samples, and the order of the directions are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import SRDA
    >>> X, y = load_digits(return_X_y=True)
    >>> srda = SRDA(n_components=2).fit(X, y)
    >>> srda.eigenvalues_.round(2).tolist()
    [0.88, 0.83]
    """

    _instead = "OnlineSRDA, or OC, which is exact on a stream"

    def __init__(
        self,
        n_components: int | None = None,
        alpha: float | str = "auto",
        solver: str = "auto",
        max_iter: int = 20,
        tol: float = 1e-8,
        half_life: float | None = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.half_life = half_life

    @property
    def n_iter_(self) -> int:
        """The number of LSQR steps of the slowest response; 1 where no steps are needed."""
        return int(self._solution.more)

    @property
    def alpha_(self) -> float:
        """The ridge."""
        return float(self._solution.alpha)

    def _has_sums(self, n_features: int) -> bool:
        return self.solver == "cross" or (self.solver == "auto" and super()._has_sums(n_features))

    def _ridge(self, mean_square: float) -> float:
        return mean_square if isinstance(self.alpha, str) else float(self.alpha)

    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        return regressions(S, alpha)

    def _from_samples(self, A: Centred, alpha: float) -> Answer:
        alpha = min(A.scaled(alpha), _LARGEST)  # a larger one gives the same directions
        if not A.is_sparse and self.solver == "auto" and A.shape[0] <= MOST:
            answer = regressions(A.scatter(), alpha)
        else:
            W, n_iter = lsqr_regressions(A, alpha, self.max_iter, float(self.tol))
            answer = by_discriminant_power(A, W, alpha)
            answer.more = n_iter
        self._check_rank(len(answer.eigenvalues), len(A.counts))
        return answer

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name = type(self).__name__
        if isinstance(self.alpha, str):
            valid = self.alpha in _RIDGES
        else:
            valid = is_number(self.alpha, 0) and self.alpha < _LARGEST
        if not valid:
            words = ", ".join(f'"{word}"' for word in _RIDGES)
            check(name, "alpha", self.alpha, valid, f"{words} or a number >= 0 and < {_LARGEST:g}")
        valid = is_number(self.tol, 0) and self.tol < _LARGEST
        check(name, "tol", self.tol, valid, f"a number >= 0 and < {_LARGEST:g}")
        valid = isinstance(self.solver, str) and self.solver in _SOLVERS
        check(name, "solver", self.solver, valid, '"auto", "cross" or "lsqr"')
        check_whole(name, "max_iter", self.max_iter)
