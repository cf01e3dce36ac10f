"""Angles between the directions of two projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import subspace_angles

from narrows.errors import ParameterError
from narrows.methods.align import check_same_features, components_of


def drift(a: Any, b: Any) -> np.ndarray:
    """Return the principal angles between the spans of two projections.

    With orthonormal bases P and Q of the directions of `a` and `b`, the angles are ::

        theta_k = arccos(s_k)    with s_k the singular values of P'Q

    All are 0 if one span contains the other, and pi/2 if both are orthogonal. The angles do not
    change if the directions are rotated, scaled or reordered. The largest angle measures how far a
    projection has moved on a stream, and how well `narrows.align` can compensate for it.

    Parameters
    ----------
    a, b : fitted projector, or array-like of shape (n_components, n_features)
        The projections, or their `components_`, of the same features; they may differ in the number
        of components, and need not be orthonormal. Components that are zero are ignored.

    Returns
    -------
    angles : ndarray of shape (n_angles,)
        In radians, from 0 to pi/2, largest first; as many as the smaller of both spans has
        dimensions.

    Raises
    ------
    ParameterError
        An argument is neither a projector nor an array, the features differ, or there is no
        direction, or only directions of hidden features.
    NotFittedError
        An estimator is not fitted.

    See Also
    --------
    narrows.align : Rotate one projection onto another.
    scipy.linalg.subspace_angles : Computes the angles.

    Notes
    -----
    **Cost**, for p components of d features: O(d p^2). Small angles are computed from sines, so
    that they are not rounded to 1e-8.

    References
    ----------
    Å. Björck, G. H. Golub, "Numerical Methods for Computing Angles Between Linear Subspaces",
    Mathematics of Computation 27(123), 1973, doi:10.2307/2005662.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OC
    >>> from narrows.evaluate import drift
    >>> X, y = load_digits(return_X_y=True)
    >>> oc = OC(n_components=3).partial_fit(X[:900], y[:900])
    >>> before = oc.components_
    >>> drift(oc.partial_fit(X[900:], y[900:]), before).round(2).tolist()
    [0.17, 0.13, 0.11]
    """
    A, B = components_of(a, "a"), components_of(b, "b")
    check_same_features(a, b, A, B)
    for what, directions in (("a", A), ("b", B)):
        if not directions.any():
            raise ParameterError(
                f"expected {what} to have a direction, got none that is not zero. Continue "
                "with samples of more classes."
            )
    return subspace_angles(_unit(A).T, _unit(B).T)


def _unit(directions: np.ndarray) -> np.ndarray:
    """Return directions of length 1, without those that are zero."""
    directions = directions[directions.any(axis=1)]
    directions = directions / np.abs(directions).max(axis=1, keepdims=True)
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)
