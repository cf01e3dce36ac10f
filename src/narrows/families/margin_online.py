"""The iteration of the criterion trace(W'(S_b - eps S_w) W): one update per sample."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from narrows.criteria import Criterion
from narrows.families._online import OnlineProjector
from narrows.families._sequential import Stream
from narrows.families.margin import LARGEST_WEIGHT, check_eps, margin, warn_of_few
from narrows.solve.errors import ParameterError
from narrows.solve.span import Span

_MARGIN = 0.05  # of the mean variance of a feature: what the automatic shift adds


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
            if not (fits and (theta < LARGEST_WEIGHT).all()):
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
