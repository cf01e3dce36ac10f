"""The criterion trace(W'C W): the covariance of all samples, without labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array

from narrows.criteria import TOTAL, Criterion
from narrows.errors import ParameterError
from narrows.methods.base import lock_of
from narrows.methods.cross import CriterionCrossProjector
from narrows.methods.parameters import (
    KEPT,
    NONE,
    NOT_NEGATIVE,
    Constraint,
    is_integer,
    parameters,
    real,
    whole,
)
from narrows.methods.projector import EXPLAINED, Directions
from narrows.methods.routes import Solved
from narrows.methods.selector import CriterionSelector
from narrows.methods.standardize import unit_of
from narrows.methods.streams import OnlineProjector, Stream
from narrows.solve.held_out import NO_CURVE
from narrows.state.arrays import read_only
from narrows.state.class_stats import Second
from narrows.state.cross import MOST

_ROUNDING = 1e-9  # of a share of the variance


class VarianceFS(CriterionSelector):
    """Variance feature selection.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where m is the mean of all samples x, and C their covariance. The optimum is the set of features
    with the largest variances. Labels are ignored, with one exception: for an indicator matrix y a
    sample counts once for each of its labels, as in all methods. Omit y to count each sample once.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    energy : float, optional
        Select the fewest features that hold this share of the sum of positive scores, in (0, 1]. By
        default 0.8 if neither `n_features` nor `threshold` is given.
    {threshold}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The variance of each feature (normalised by 1/n), in the squared units of X.
    {energy_}
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; constant features come last,
        whatever their score.
    {n_features_}
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class; the single label 0 if y was None.
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, n_features exceeds the number of features, or more than one size
        is given.

    See Also
    --------
    OCFS : Selection by the scatter of the class means.
    CCIPCA : Projection by the same criterion.
    sklearn.feature_selection.VarianceThreshold : Selection by a threshold on the variance.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 d (c + 1) bytes, 16 d if y is None.

    References
    ----------
    Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality Reduction for
    Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, sections 2.2.1 and 2.4:
    the criterion of PCA in the space of feature selections.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import VarianceFS
    >>> X, y = load_iris(return_X_y=True)
    >>> VarianceFS(n_features=2).fit(X).get_support(indices=True).tolist()
    [0, 2]
    """

    _needs_y = False

    def _second(self) -> Second:
        return "total"

    def _criterion(self) -> Criterion:
        return TOTAL


@parameters
class PCA(CriterionCrossProjector):
    """Exact principal component analysis, also on a stream.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W real, W'W = I
        schedule    exact, from all samples at once or batch by batch

    where m is the mean of all samples x, and C their covariance. The optimum consists of the
    leading eigenvectors of C. `transform` returns X W, not centred: subtract ``mean_ @ W`` for the
    result of scikit-learn's PCA, up to the signs of the columns. Labels are ignored.

    Parameters
    ----------
    n_components : int or float, optional
        p, the number of directions. By default the rank of C. An explicit number holds from the
        first batch of a stream on; directions that are not available yet are zero. A share in
        (0, 1): the fewest directions with more than this share of the variance.
    {half_life}
    {keep_none}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W: orthonormal directions, largest eigenvalue first. The entry of largest
        magnitude in each direction is positive. Directions that are not available (yet) are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of C (normalised by 1/n), descending: the variance in each direction.
    explained_variance_ : ndarray of shape (n_components,)
        The same, normalised by 1/(n - 1) as in scikit-learn if n > 1, where n is the sum of the
        weights.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the trace of C: the share of the variance in each direction.
    mean_ : ndarray of shape (n_features,)
        The mean of the samples; available after `partial_fit`, and after `fit` with at most 8,192
        features.
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, all samples are equal, n_components exceeds the dimension of the
        span of the samples, or there are more than 8,192 features in `partial_fit`.

    See Also
    --------
    CCIPCA : Principal components of streams with any number of features, approximately.
    OC : Projection by the scatter of the class means.
    SRDA : Projection that distinguishes classes.
    sklearn.decomposition.IncrementalPCA : Approximate updates of a truncated decomposition.

    Notes
    -----
    **Cost**, for d features: O(n d^2) to learn n samples on all cores, O(d^3) when attributes are
    read; memory 8 d^2 bytes. With fewer samples than features, O(n^2 d). With more than 8,192
    features, `fit` needs all samples, and some tens of products with X.

    References
    ----------
    The criterion: Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality
    Reduction for Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section
    2.2.1, doi:10.1109/TKDE.2006.45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import PCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> pca = PCA(n_components=2)
    >>> for start in range(0, 150, 50):
    ...     pca = pca.partial_fit(X[start : start + 50])
    >>> pca.eigenvalues_.round(3).tolist()
    [4.2, 0.241]
    """

    _needs_y = False
    _instead = "CCIPCA"
    explained_variance_ratio_ = EXPLAINED
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | real(0, 1, above=True).said("a share in (0, 1)") | NONE,
    }

    n_components: int | float | None = None
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    @property
    def mean_(self) -> np.ndarray:
        """The mean of the samples, of shape (n_features,)."""
        if isinstance(self._state, Solved):
            raise ParameterError(
                f"{type(self).__name__}: expected at most {MOST:,} features for mean_ and "
                f"inverse_transform, got {self.n_features_in_:,}. Select features first."
            )
        return self._state.mean

    @property
    def explained_variance_(self) -> np.ndarray:
        """The variance in each direction, normalised by 1/(n - 1), of shape (n_components,)."""
        with lock_of(self):
            n, eigenvalues = float(self._state.counts.sum()), self.eigenvalues_
        return read_only(eigenvalues * (n / (n - 1) if n > 1 else 1.0))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the samples that reduced samples stand for, up to what other directions hold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            What `transform` returned.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The points nearest to the samples in the space of the directions through the mean (in
            units of standard deviations for standardised features).

        Raises
        ------
        ValueError
            Another number of columns, or an estimator that `fit` found with more than 8,192
            features.

        See Also
        --------
        transform : Project samples onto the directions.
        """
        with lock_of(self):  # directions and mean of one moment
            V, mean, unit = self.components_, self.mean_, unit_of(self, self._state)
        X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=0)
        if X.shape[1] != len(V):
            raise ValueError(
                f"{type(self).__name__}: expected reduced samples with {len(V)} columns, got "
                f"{X.shape[1]}. Use those that transform returns."
            )
        back = V if unit is None else V * np.where(np.isfinite(unit), unit, 0.0) ** 2
        return (X @ back + (mean - V @ mean @ back)).astype(X.dtype, copy=False)

    @property
    def _share(self) -> bool:
        """Whether `n_components` is a share of the variance."""
        return self.n_components is not None and not is_integer(self.n_components, 1)

    @property
    def _size(self) -> int | None:
        return None if self._share else self.n_components  # type: ignore[return-value]

    def _solve(self, state: Any) -> Directions:
        found = super()._solve(state)
        if self._share and len(found.eigenvalues):
            shares = np.cumsum(found.explained())
            p = 1 + int(np.searchsorted(shares, float(self.n_components or 0), side="right"))
            if p > len(shares) and shares[-1] < 1 - _ROUNDING:  # a fit that found only some
                raise ParameterError(
                    f"{type(self).__name__}: expected n_components up to {shares[-1]:.3g}, the "
                    f"share of what fit computed, got {self.n_components}. Call fit again."
                )
            found = found.first(min(p, len(shares)), NO_CURVE)
        return found

    def _criterion(self, alpha: float) -> Criterion:
        return TOTAL

    def _labels(self, X: Any, y: Any) -> Any:
        return super()._labels(X, None)

    def _total(self, of_found: float, mean_square: float) -> float:
        return mean_square

    def _most(self, n_classes: int, rank: int) -> int:
        if self._size is None and rank > MOST:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components for samples that span more than "
                f"{MOST:,} directions, got {self.n_components}. Set it to the number of directions "
                "needed."
            )
        return rank if self._size is None else self._size

    def _default(self, n_classes: int, rank: int) -> int:
        return rank


@parameters
class CCIPCA(OnlineProjector):
    """Candid covariance-free incremental principal component analysis.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where m is the mean of all samples x, and C their covariance. Sample n updates `v_j <- (n-1-a)/n
    v_j + (1+a)/n u u'v_j/|v_j|` for j = 1, ..., p in turn, with u = x - m(n) deflated by the new
    v_1, ..., v_{j-1}, and a the amnesic parameter. v_1 starts from the first sample, and v_j for j
    > 1 from u at sample j. `transform` returns X W with the columns `v_j/|v_j|` of W, not centred.

    Labels are ignored, and y may be None. In contrast to scikit-learn's IncrementalPCA, sparse
    samples stay sparse, batches may have any size, and the cost of a sample depends on its
    non-zeros; however, the directions are iterates and not a truncated decomposition.

    Parameters
    ----------
    {n_components}
    amnesic : float, default=0.0
        The additional weight a >= 0 of new samples, with which old samples decay; 2 to 4 if the
        first samples are not typical. It applies for n > 1 + a, so that the weight of earlier
        samples is positive.
    {iteration}

    Attributes
    ----------
    {components_}
    eigenvalues_ : ndarray of shape (n_components,)
        `|v_j|`, which converges to the variance along the direction (normalised by 1/n).
    {n_samples_still_}
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the number of samples of each class; the single label 0 if y
        was None.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, counted once per pass, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, n_components exceeds the number of features, or a parameter is
        out of range.

    See Also
    --------
    VarianceFS : Selection of features by the same criterion.
    IOC : The iteration for the scatter of the class means.
    sklearn.decomposition.IncrementalPCA : Principal components of dense batches.
    sklearn.decomposition.TruncatedSVD : Decomposition of sparse data, from all samples at once.

    Notes
    -----
    **Cost** per sample, for d features: O(nnz (p + 1)) and O(p^3) operations independent of d;
    memory 8 d (p + 1) bytes.

    References
    ----------
    J. Weng, Y. Zhang, W.-S. Hwang, "Candid Covariance-Free Incremental Principal Component
    Analysis", IEEE TPAMI 25(8), 2003, section 3, doi:10.1109/TPAMI.2003.1217609. Yan et al. (2006),
    IEEE TKDE 18(3) and Information Sciences 176, compare with it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import CCIPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> CCIPCA(passes=10, shuffle=True, random_state=0).fit(X).eigenvalues_.round(1).tolist()
    [4.2, 0.2]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"amnesic": NOT_NEGATIVE}
    _needs_y = False
    _by_class = False
    _instead = (
        "PCA, which is exact on a stream and supports merge with at most 8,192 features, or "
        "VarianceFS to select features"
    )

    n_components: int | None = 2
    amnesic: float = 0.0
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    def _criterion(self) -> Criterion:
        return TOTAL

    def _rule(self, stream: Stream) -> Any:
        return super()._rule(stream)._replace(amnesic=float(self.amnesic))
