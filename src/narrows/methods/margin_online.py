"""The iteration of the criterion trace(W'(S_b - eps S_w) W): one update per sample."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from narrows.criteria import Criterion
from narrows.methods._online import OnlineProjector
from narrows.methods._parameters import check
from narrows.methods._streams import Stream
from narrows.methods.margin import LARGEST_WEIGHT, check_eps, margin, warn_of_few
from narrows.solve.span import Span

_MARGIN = 0.05  # the automatic shift adds this share of the mean variance of a feature


class IMMC(OnlineProjector):
    """Incremental maximum margin criterion with an automatic shift, one update per sample.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where S_b is the scatter of the class means and S_w the scatter within the classes. Sample n
    updates `v_j <- (n-1)/n v_j + 1/n (A^j v_j + theta_j v_j)/|v_j|` for j = 1, ..., p in turn, with
    A = (1 + eps) sum_i p_i Phi_i Phi_i' - eps u u', Phi_i = m_i - m and u = x - m. In A^j, Phi and
    u are deflated by the new v_1, ..., v_{j-1}. v_1 starts from the first sample, and v_j for j > 1
    from the deflated u at sample j. `transform` returns X W with the columns `v_j/|v_j|` of W, not
    centred.

    The shift theta_j keeps components with a negative eigenvalue from vanishing. If it is too small
    v_j shrinks and changes direction; if it is too large v_j hardly moves. The papers leave the
    choice to the user. "auto" uses theta_j(n) = max(0, -rho_j(n)) + 0.05 tr C(n)/d, with C the
    covariance of the d features and rho_j the running mean, at a gain of 2/n, of
    `v_j'A^j v_j/|v_j|^2`. It follows the scale of the data.

    **Choosing the parameters.** At eps = 1 few directions of real data gain margin, and hardly any
    direction of text; `fit` warns if n_components is larger. A small eps, such as 0.05, is the
    robust choice: nearly all relevant eigenvalues are then positive, and the iteration converges
    fast. At eps = 1 use theta="auto". Give a number for theta only to repeat the papers'
    experiments: the shift is then not deflated, as printed, and a component with a negative
    eigenvalue collapses onto an earlier one.

    Parameters
    ----------
    n_components : int, default=2
        p, the number of directions, at most n_features.
    eps : float, default=1.0
        The weight of the scatter within the classes, >= 0.
    theta : "auto", float, or array-like of shape (n_components,), default="auto"
        The shift of all components, or of each, >= 0, in the squared units of X.
    deflate_shift : "auto" or bool, default="auto"
        Whether the shift of v_j excludes its projections on v_1, ..., v_{j-1}. "auto" excludes them
        for theta="auto", and includes them, as in the papers, if theta is given.
    tol : float, optional
        Bound on the movement of the directions, the sum of `|u_j(n) - u_j(n-1)|` over all
        components j, with `u = v/|v|`. The papers use 0.06. Steps shrink like 1/n, so that a small
        movement does not indicate convergence.
    patience : int, default=100
        Number of consecutive samples with a movement below `tol`, counted once two classes and p
        samples have been seen.
    early_stopping : bool, default=False
        Ignore further samples once the movement was below `tol` for `patience` samples.
    orthonormalize : bool, default=False
        Orthonormalise `components_`, starting with the first one. The iterates themselves are
        orthonormal only in the limit.
    passes : int, default=1
        Number of passes of `fit` over the samples.
    shuffle : bool, default=False
        Whether `fit` shuffles the samples before each pass.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions `v_j/|v_j|` for j = 1, ..., p. The entry of largest magnitude in each
        direction is positive; components that have not started yet are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        `|v_j|` minus the mean of theta_j(n), with the same weights as in v_j. Converges to the
        eigenvalue of S_b - eps S_w (normalised by 1/n).
    n_samples_still_ : int or None
        The first n at which the movement was below `tol` for `patience` consecutive samples.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the number of samples of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, counted once per pass, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of features, or a parameter is out of range.

    Warns
    -----
    UserWarning
        By `fit`: fewer directions than requested gain margin.

    See Also
    --------
    MMC : The exact solution.
    MMCFS : Selection of features by the same criterion.
    OC : The exact solution at eps = 0, also on a stream.
    sklearn.decomposition.IncrementalPCA : Incremental projection without labels.

    Notes
    -----
    **Cost** per sample, for c classes and d features: O(nnz (p + c)) and about 10 c^3 operations
    (for p = c) independent of d; memory 8 d (p + c) bytes. The iterates equal those of the papers'
    tables up to rounding, which a large theta amplifies.

    References
    ----------
    Yan et al. (2004): J. Yan et al., "IMMC: Incremental Maximum Margin Criterion", KDD 2004. Yan et
    al. (2006b): J. Yan et al., "A scalable supervised algorithm for dimensionality reduction on
    streaming data", Information Sciences 176, 2006, Tables 2 and 3 with equation (7). The automatic
    shift and its deflation are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IMMC
    >>> X, y = load_iris(return_X_y=True)
    >>> immc = IMMC(n_components=1, passes=20, shuffle=True, random_state=0).fit(X, y)
    >>> immc.eigenvalues_.round(1).tolist()
    [3.6]
    """

    _instead = "MMC for exact directions, MMCFS to select features, which supports merge"

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
        super().__init__(
            n_components, tol, patience, early_stopping, orthonormalize, passes, shuffle,
            random_state,
        )  # fmt: skip
        self.eps = eps
        self.theta = theta
        self.deflate_shift = deflate_shift

    def _criterion(self) -> Criterion:
        return margin(float(self.eps))

    def _rule(self, stream: Stream) -> Any:
        auto = isinstance(self.theta, str)
        theta = 0.0 if auto else np.asarray(self.theta, dtype=np.float64)
        return (
            super()
            ._rule(stream)
            ._replace(
                theta=np.zeros(stream.core.p) + theta,
                margin=_MARGIN / stream.n_features if auto else 0.0,
                deflate=auto if self.deflate_shift == "auto" else bool(self.deflate_shift),
            )
        )

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths - span.state.theta

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_eps(type(self).__name__, self.eps)
        if not (isinstance(self.theta, str) and self.theta == "auto"):
            try:
                theta = np.asarray(None if isinstance(self.theta, str) else self.theta, dtype=float)
                fits = theta.shape in ((), (self._p(n_features),))
                valid = bool(fits and ((theta >= 0) & (theta < LARGEST_WEIGHT)).all())
            except (TypeError, ValueError):
                valid = False
            expected = f'"auto", a number >= 0, or {self._p(n_features)} of them, one per component'
            check(type(self).__name__, "theta", self.theta, valid, expected)
        valid = self.deflate_shift == "auto" or isinstance(self.deflate_shift, bool | np.bool_)
        check(
            type(self).__name__, "deflate_shift", self.deflate_shift, valid, '"auto", True or False'
        )

    def _finish(self, stream: Stream) -> Self:
        super()._finish(stream)
        positive = int((self.eigenvalues_ > 0).sum())
        warn_of_few(type(self).__name__, positive, len(self.eigenvalues_), self.eps, sure=False)
        return self
