"""Linear discriminant analysis of dense samples, from their singular value decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.families._base import check_whole, is_number
from narrows.families._batch import BatchProjector, Gathered
from narrows.solve.centred import Centred
from narrows.solve.errors import ParameterError, RangeError
from narrows.solve.exact import DROPPED, best_ratios, rank_tolerance, row_basis, total_space

_SMALLEST_MU = 1e-250  # in the units of the scaled data: below, mu and its inverse are lost
_ROUNDING = 1e-12  # relative: smaller differences of the class means are rounding


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
            if self.mu and not _SMALLEST_MU < mu < 1 / _SMALLEST_MU:
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
