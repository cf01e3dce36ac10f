"""Spectral regression: discriminant analysis by regularised least squares."""

from __future__ import annotations

import numpy as np

from narrows.families._base import check_whole, is_number
from narrows.families._batch import BatchProjector
from narrows.solve.centred import Centred
from narrows.solve.errors import ParameterError
from narrows.solve.exact import by_discriminant_power, regressions

_LARGEST = 1e100  # a penalty above this leaves nothing of the data beside it


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
        alpha = min(A.scaled(self.alpha), _LARGEST)  # no more changes the directions
        W, n_iter = regressions(A, alpha, self.max_iter, float(self.tol))
        ratios, W = by_discriminant_power(A, W)
        self._check_rank(len(ratios), len(A.counts))
        return ratios, W, n_iter

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        for name in ("alpha", "tol"):
            value = getattr(self, name)
            if not (is_number(value, 0) and value < _LARGEST):
                raise ParameterError(
                    f"SRDA: {name} must be >= 0 and less than {_LARGEST:g}, but {value!r} came."
                )
        check_whole("SRDA", "max_iter", self.max_iter)
