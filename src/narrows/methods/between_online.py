"""The iterations of the criterion trace(W'S_b W): one update per sample."""

from __future__ import annotations

from narrows.criteria import BETWEEN, Criterion
from narrows.methods._online import OnlineProjector
from narrows.methods.centroid import OC


class _OnlineCentroid(OnlineProjector):
    _instead = "OC, which is exact on a stream and supports merge"

    def exact(self) -> OC:
        """Return the exact orthogonal centroid directions of the samples so far.

        They are the limit of the iterates, computed from the same class sums.

        Returns
        -------
        oc : OC
            A fitted estimator with `n_components` directions, or all if there are fewer.

        Raises
        ------
        ValueError
            There are fewer than two classes so far, or the class means are equal.

        See Also
        --------
        OC : The estimator of these directions.

        Notes
        -----
        **Cost**, for c classes and d features: O(c^2 d + c^3).
        """
        stats = self._state.sums()
        oc = OC().fit_stats(stats)
        if hasattr(self, "feature_names_in_"):
            oc.feature_names_in_ = self.feature_names_in_
        return oc.set_params(n_components=min(self._p(stats.n_features), len(oc.components_)))

    def _criterion(self) -> Criterion:
        return BETWEEN


class IOC(_OnlineCentroid):
    """Incremental orthogonal centroid, one update per sample.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples.
    Sample n updates `v_j <- (n-1)/n v_j + 1/n S_b^j v_j/|v_j|` for j = 1, ..., p in turn. S_b is
    that of the samples so far; in S_b^j its columns are deflated by the new v_1, ..., v_{j-1}.
    Component j starts at sample j, from the sample itself. `transform` returns X W with the columns
    `v_j/|v_j|` of W, not centred.

    **Prefer `OC`** in nearly all cases. It computes the optimum from the same sums at any time,
    with less work (see also `exact`), whereas the iterates converge slowly. IOC is provided to
    reproduce the experiments of Yan et al. (2006) and for research.

    Parameters
    ----------
    n_components : int, default=2
        p, the number of directions, at most n_features.
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
        `|v_j|`, which converges to the eigenvalue of S_b (normalised by 1/n).
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

    See Also
    --------
    OC : The exact solution, also on a stream.
    IIS : The same update with another start.
    OnlineSRDA : More accurate learning from single samples.
    sklearn.decomposition.IncrementalPCA : Incremental projection without labels.

    Notes
    -----
    **Cost** per sample, for c classes and d features: O(nnz (p + c)) and about 10 c^3 operations
    (for p = c) independent of d; memory 8 d (p + c) bytes. The iterates equal those of Table 1 up
    to rounding, for any batches.

    References
    ----------
    Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality Reduction for
    Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section 3.1 and Table 1,
    doi:10.1109/TKDE.2006.45; the stopping rule is in section 4.2.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IOC
    >>> X, y = load_iris(return_X_y=True)
    >>> ioc = IOC(n_components=1, passes=5, shuffle=True, random_state=0).fit(X, y)
    >>> cosine = ioc.components_ @ ioc.exact().components_.T
    >>> bool(cosine > 0.999)
    True
    """

    _start = "raw"


class IIS(_OnlineCentroid):
    """Incremental inter-class scatter, one update per sample.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples. The
    updates are those of `IOC`, but the start differs: v_1 starts from the first sample, and v_j for
    j > 1 from x(j) - m, deflated by v_1, ..., v_{j-1}. The printed table omits the factor `1/|v|`
    of equation (14), without which the iterates depend on the scale of the data; IIS includes it.
    `transform` returns X W with the columns `v_j/|v_j|` of W, not centred.

    As for `IOC`, prefer `OC`, which computes the optimum from the same sums (see also `exact`).

    Parameters
    ----------
    n_components : int, default=2
        p, the number of directions, at most n_features.
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
        `|v_j|`, which converges to the eigenvalue of S_b (normalised by 1/n).
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

    See Also
    --------
    OC : The exact solution, also on a stream.
    IOC : The same update with another start.
    sklearn.decomposition.IncrementalPCA : Incremental projection without labels.

    Notes
    -----
    **Cost**: that of `IOC`. A start vector that consists of rounding errors (below 1e-12 of `|x|^2
    + |m|^2`) is not used: this component and later ones start at later samples.

    References
    ----------
    Yan et al. (2006b): J. Yan et al., "A scalable supervised algorithm for dimensionality reduction
    on streaming data", Information Sciences 176, 2006, Table 4 and equation (14).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IIS
    >>> X, y = load_iris(return_X_y=True)
    >>> iis = IIS(passes=10, shuffle=True, random_state=0).fit(X, y)
    >>> iis.eigenvalues_.round(1).tolist()
    [3.9, 0.0]
    """
