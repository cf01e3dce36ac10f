"""What selections and projections share: features, and angles between directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError, feature_name
from narrows.methods.align import check_same_features, components_of
from narrows.methods.names import column_names
from narrows.methods.selectors import Selector


@dataclass(frozen=True)
class Overlap:
    """Overlap of several selections of the same number of features.

    Parameters
    ----------
    p : int
        Number of features in each selection.
    names : list of str
        Names of the selectors.
    shared : ndarray of int of shape (n_selectors, n_selectors)
        Number of features that each pair shares; p on the diagonal.
    only : dict of str to list of str
        For each selector, the names of the features that no other selects, best first.

    See Also
    --------
    selection_overlap : Compute the overlap.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import IG, OCFS
    >>> from narrows.evaluate import selection_overlap
    >>> X, y = load_digits(return_X_y=True)
    >>> selection_overlap([OCFS().fit(X, y), IG().fit(X, y)], 10).shared.tolist()
    [[10, 5], [5, 10]]
    """

    p: int
    names: list[str]
    shared: np.ndarray
    only: dict[str, list[str]]

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"features shared by the {self.p:,} best"]
        for a in range(len(self.names)):
            for b in range(a):
                lines.append(
                    f"  {self.names[b]:<{width}}  {self.names[a]:<{width}}  {self.shared[a, b]:>7,}"
                )
        return "\n".join(lines)


def selection_overlap(
    selectors: Sequence[Any] | Mapping[str, Any], p: int | Sequence[int]
) -> Overlap | list[Overlap]:
    """Compare the p best features of several fitted selectors.

    Parameters
    ----------
    selectors : sequence of selectors, or mapping of names to selectors
        Fitted to the same features. The number of features that each one keeps is ignored. The
        names default to the class names and must differ.
    p : int, or sequence of int
        Number of best features to compare, at most n_features.

    Returns
    -------
    overlap : Overlap, or list of Overlap
        One for each p.

    Raises
    ------
    ParameterError
        Fewer than two selectors, duplicate names, different features, or p out of range.

    See Also
    --------
    narrows.evaluate.compare : Scores of classifiers on reduced data.

    Notes
    -----
    **Cost**: O(d log d) per selector for d features.

    References
    ----------
    J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text Categorization",
    SIGIR 2005, Table 2 (number of shared features) and Table 3 (features selected by one method
    only), doi:10.1145/1076034.1076058.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import CHI, IG, OCFS
    >>> from narrows.evaluate import selection_overlap
    >>> X, y = load_digits(return_X_y=True)
    >>> overlap = selection_overlap([OCFS().fit(X, y), IG().fit(X, y), CHI().fit(X, y)], 10)
    >>> print(overlap)
    features shared by the 10 best
      OCFS  IG          5
      OCFS  CHI         4
      IG    CHI         9
    """
    if not isinstance(selectors, Mapping):
        named = [(type(selector).__name__, selector) for selector in selectors]
    else:
        named = list(selectors.items())
    names = [name for name, _ in named]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(
            "selection_overlap: expected at least two selectors with different names, got "
            f"{', '.join(names) or 'none'}. Pass a mapping of names to selectors."
        )
    for name, selector in named:
        if not isinstance(selector, Selector):
            raise ParameterError(
                f"selection_overlap: expected selectors of narrows, got {name}: {type(selector)}."
            )
        check_is_fitted(selector)
    widths = {selector.n_features_in_ for _, selector in named}
    if len(widths) > 1:
        raise ParameterError(
            "selection_overlap: expected selectors fitted to the same features, got "
            f"{' and '.join(map(str, sorted(widths)))} features."
        )
    columns = [column_names(selector) for _, selector in named]
    known = [each for each in columns if each is not None]
    if any(not np.array_equal(each, known[0]) for each in known):
        raise ParameterError(
            "selection_overlap: expected selectors fitted to the same features, got other names or "
            "another order."
        )
    [d] = widths
    if np.ndim(p):
        return [_overlap(dict(named), size, d) for size in np.asarray(p).tolist()]
    return _overlap(dict(named), p, d)  # type: ignore[arg-type]


def _overlap(selectors: Mapping[str, Selector], p: int, d: int) -> Overlap:
    if isinstance(p, bool) or not isinstance(p, Integral) or not 1 <= p <= d:
        raise ParameterError(
            f"selection_overlap: expected p to be an integer from 1 to n_features={d}, got {p!r}."
        )
    best = {name: selector.ranking_[:p] for name, selector in selectors.items()}
    taken = Counter(int(k) for columns in best.values() for k in columns)
    return Overlap(
        p,
        list(best),
        np.array([[len(np.intersect1d(a, b)) for b in best.values()] for a in best.values()]),
        {
            name: [feature_name(selectors[name], int(k)) for k in columns if taken[int(k)] == 1]
            for name, columns in best.items()
        },
    )


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
    convergence : Follow an incremental projection to its limit.
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
    A, B = components_of("drift", a, "a"), components_of("drift", b, "b")
    check_same_features("drift", a, b, A, B)
    for what, directions in (("a", A), ("b", B)):
        if not directions.any():
            raise ParameterError(
                f"drift: expected {what} to have a direction, got none that is not zero. Continue "
                "with samples of more classes."
            )
    return subspace_angles(_unit(A).T, _unit(B).T)


def _unit(directions: np.ndarray) -> np.ndarray:
    """Return directions of length 1, without those that are zero."""
    directions = directions[directions.any(axis=1)]
    directions = directions / np.abs(directions).max(axis=1, keepdims=True)
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)
