"""Rotations of a projection onto an earlier one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.methods.base import solution_of
from narrows.methods.names import column_names
from narrows.methods.projectors import Projector
from narrows.solve.arrays import checked_samples, read_only
from narrows.solve.devices import as_given, in_memory
from narrows.solve.products import product


class Aligned(TransformerMixin, BaseEstimator):
    """A projection that was rotated by `align`. It is fitted and does not learn.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The rotated directions.
    names : ndarray of str of shape (n_components,)
        The names of the components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The rotated directions.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    align : Returns this.
    """

    def __init__(self, components: np.ndarray, names: np.ndarray):
        self.components = components
        self.names = names

    @property
    def components_(self) -> np.ndarray:
        """The rotated directions, of shape (n_components, n_features)."""
        return read_only(np.asarray(self.components))

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self.components_.shape[1])

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return self; X and y are ignored."""
        return self

    def transform(self, X: Any) -> Any:
        """Project X onto the rotated directions, not centred.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_components)
            In the float dtype of X (float64 for other dtypes).

        See Also
        --------
        get_feature_names_out : Return the names of the components.
        """
        Z = in_memory(checked_samples(self, X, reset=False))
        return as_given(product(Z, self.components_.T.astype(Z.dtype)), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the components, those of the estimator that was rotated."""
        return np.array(self.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def align(estimator: Any, reference: Any) -> Aligned:
    """Rotate a projection onto an earlier one, so that stored vectors stay comparable.

    With the directions W of `estimator` and V of `reference`, one per column, the result has the
    directions W R, where ::

        R = U Z'    with the singular value decomposition W'V = U S Z'

    is the orthogonal matrix that minimises ``|W R - V|`` (orthogonal Procrustes). W R has the same
    span as W, so that distances and inner products of reduced samples do not change. Coordinates
    are as close as possible to those of `reference`, so that vectors stored before an update can be
    compared with new ones, as far as the two spans agree.

    Parameters
    ----------
    estimator : fitted projector
        It is not changed, and can learn further.
    reference : projector, or array-like of shape (n_components, n_features)
        A projector as above, a result of `align`, or stored `components_` of one, since estimators
        change when they learn.

    Returns
    -------
    aligned : transformer
        A fitted transformer with `components_`, `transform` and `get_feature_names_out`. It does
        not learn: call `align` again after updates of `estimator`. `save` does not support it:
        store its `components_`.

    Raises
    ------
    ParameterError
        Directions are zero because there were too few classes so far, or are those of hidden
        features; or the number of components or features, or the feature names, differ from those
        of the reference.
    NotFittedError
        An estimator is not fitted.

    See Also
    --------
    narrows.evaluate.drift : Angles between the spans of two projections.
    scipy.linalg.orthogonal_procrustes : Computes the rotation.

    Notes
    -----
    **Cost**, for p components of d features: O(d p^2).

    The rotation may contain a reflection. Rotated directions are not ordered by eigenvalue: keep
    all of them.

    Lengths do not change. Those of the directions of `LDA` decrease with the number of samples,
    since W'(n S_w + mu I) W = I: compare its vectors by cosine.

    References
    ----------
    P. H. Schönemann, "A generalized solution of the orthogonal Procrustes problem", Psychometrika
    31(1), 1966, doi:10.1007/BF02289451.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OC, align
    >>> X, y = load_digits(return_X_y=True)
    >>> oc = OC().partial_fit(X[:900], y[:900])
    >>> before, stored = oc.components_, oc.transform(X[:900])
    >>> oc = oc.partial_fit(X[900:], y[900:])
    >>> aligned = align(oc, before)
    >>> moved = [np.linalg.norm(e.transform(X[:900]) - stored) for e in (oc, aligned)]
    >>> bool(moved[1] < moved[0])
    True
    """
    _check_projector(estimator, "estimator")
    C = components_of(estimator, "estimator")
    B = components_of(reference, "reference")
    check_same_features(estimator, reference, C, B)
    if len(C) != len(B):
        raise ParameterError(
            f"expected {len(B)} components, as many as the reference has, got {len(C)}. "
            "Set `n_components`."
        )
    for what, of, directions in (("estimator", estimator, C), ("reference", reference, B)):
        _check_available(what, of, directions)
    R, _ = orthogonal_procrustes(C.T, B.T)
    aligned = Aligned(R.T @ C, estimator.get_feature_names_out())
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        aligned.feature_names_in_ = names
    return aligned


def _check_projector(estimator: Any, what: str) -> None:
    if not isinstance(estimator, Projector | Aligned):
        raise ParameterError(
            f"expected {what} to be a projector of narrows, got {type(estimator).__name__}."
        )
    if isinstance(estimator, Projector) and solution_of(estimator).map is not None:
        raise ParameterError(
            f"expected {what} with directions in the features, got "
            f"{type(estimator).__name__} with hidden features. Use a linear method."
        )


def components_of(given: Any, what: str) -> np.ndarray:
    """Return directions, one per row, of a fitted projector or as they are given.

    Parameters
    ----------
    given : projector, `Aligned`, or array-like of shape (n_components, n_features)
        The directions.
    what : str
        The name of the argument in errors.
    """
    if isinstance(given, BaseEstimator):
        _check_projector(given, what)
        check_is_fitted(given)
        return np.asarray(given.components_, dtype=np.float64)
    directions = np.asarray(given)
    if directions.ndim != 2 or directions.dtype.kind not in "fiu":
        raise ParameterError(
            f"expected {what} to be a projector or an array of numbers of shape "
            f"(n_components, n_features), got {type(given).__name__} of shape {directions.shape}."
        )
    directions = directions.astype(np.float64)
    if not np.isfinite(directions).all():
        raise ParameterError(f"expected {what} without NaN or infinity, got some.")
    return directions


def check_same_features(a: Any, b: Any, A: np.ndarray, B: np.ndarray) -> None:
    """Raise ParameterError where two projections are of other features."""
    if A.shape[1] != B.shape[1]:
        raise ParameterError(
            f"expected projections of the same features, got {A.shape[1]} and {B.shape[1]} "
            "features."
        )
    first, second = (
        column_names(each) if isinstance(each, BaseEstimator) else None for each in (a, b)
    )
    if first is not None and second is not None and not np.array_equal(first, second):
        raise ParameterError(
            "expected projections of the same features, got other names or another order."
        )


def _check_available(what: str, given: Any, directions: np.ndarray) -> None:
    available = directions.any(axis=1)
    if not len(directions) or not available.all():
        name = type(given).__name__ if isinstance(given, BaseEstimator) else what
        raise ParameterError(
            f"expected all components of {name} to be available, got {available.sum()} of "
            f"{len(directions)}. Use samples of more classes, or fewer components."
        )
