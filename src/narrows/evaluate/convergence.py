"""Convergence of the iterates of a stream to the exact solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from narrows.errors import ParameterError
from narrows.evaluate.displays import COLOURS, STYLES, new_figure
from narrows.methods.base import plan_of
from narrows.methods.plan import Data
from narrows.methods.projectors import OC
from narrows.methods.sequential import Sequential
from narrows.moments.targets import as_samples

_DEPENDENT = 1e-12  # relative to the largest: a smaller eigenvalue is rounding error
_POINTS = 60  # default number of measurements, evenly on a log scale


@dataclass(frozen=True)
class Convergence:
    """Distance of a method to its target after n samples, for several n.

    Parameters
    ----------
    method : str
        Name and parameters of the method.
    n : ndarray of int of shape (n_points,)
        Numbers of samples at which the method was measured, counted over all passes.
    cosines : ndarray of shape (n_points, n_components)
        `|u_j't_j|`, the inner product of component j with direction j of the target; 0 if either
        does not exist yet.
    share : ndarray of shape (n_points,)
        Share of the target's optimum that the span of the components reaches:
        `sum_k l_k |U't_k|^2` over the sum of the p largest l_k, with U an orthonormal basis of the
        span, p = n_components and l_k the target's eigenvalues (1 if it has none). NaN while there
        is no target or no component.
    exact : ndarray of shape (n_points,) or None
        For methods of the between criterion, the share that exact OC reaches from the same sums.

    See Also
    --------
    convergence : Compute the distances.
    ConvergenceDisplay : Plot the distances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IOC, OC
    >>> from narrows.evaluate import convergence
    >>> found = convergence(IOC(), *load_iris(return_X_y=True), OC(), at=[100, 150])
    >>> found.n.tolist(), found.cosines.shape, found.share.shape
    ([100, 150], (2, 2), (2,))
    """

    method: str
    n: np.ndarray
    cosines: np.ndarray
    share: np.ndarray
    exact: np.ndarray | None = None


def convergence(estimator: Any, X: Any, y: Any, target: Any, at: Any = None) -> Convergence:
    """Fit an estimator sample by sample and measure its distance to a target.

    Parameters
    ----------
    estimator : projector with `partial_fit`
        A clone is fitted to the samples in order, or in its own random order with `shuffle`,
        `passes` times.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,), or None
        Labels.
    target : fitted estimator, ndarray of shape (n_directions, n_features), or unfitted OC
        The limit to compare with: `components_` of a fitted estimator with its `eigenvalues_` or
        `explained_variance_`, usually the exact solution for all samples; orthonormal directions;
        or an unfitted OC for the exact solution of the samples seen so far, at each point.
    at : "every", or array-like of int, optional
        Numbers of samples at which to measure, counted over all passes. Default: about 60 on a log
        scale.

    Returns
    -------
    Convergence

    Raises
    ------
    ParameterError
        The target is of another kind, or `at` has numbers outside the stream.

    See Also
    --------
    ConvergenceDisplay : Plot of the result.
    narrows.evaluate.compare : Scores of classifiers on reduced data.

    Notes
    -----
    **Cost** of one measurement: for an online projector O(nnz q + q p (p + c) + c^3), with nnz
    the non-zeros since the previous one, q directions of the target, p components and c classes.
    For sparse samples this is independent of n_features, so that every sample can be measured. For
    other estimators the cost is that of `components_` plus O(d p q).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IOC, OC
    >>> from narrows.evaluate import convergence
    >>> X, y = load_iris(return_X_y=True)
    >>> ioc = IOC(shuffle=True, random_state=0, passes=5)
    >>> found = convergence(ioc, X, y, OC().fit(X, y), at=[10, 150, 750])
    >>> bool(found.share[-1] > 0.99)
    True
    """
    X, y, order = _stream(estimator, X, y)
    points = _points(at, len(order))
    known = isinstance(estimator, Sequential) and not getattr(estimator, "orthonormalize", True)
    if _is_moving(target) and repr(target) != repr(OC()):
        known = False  # other priors or fewer directions need more than inner products
    measure = (_OnSpan if known else _Outside)(clone(estimator), target, X.shape[1])
    measured = []
    for start, end in zip(np.append(0, points[:-1]), points, strict=True):
        rows = order[start:end]
        measure.fit(X[rows], None if y is None else y[rows])
        measured.append(measure.distance())
    p = max(len(cosines) for cosines, *_ in measured)
    exact = [part for *_, part in measured if part is not None]
    return Convergence(
        method=repr(estimator),
        n=points,
        cosines=np.array([np.pad(cosines, (0, p - len(cosines))) for cosines, *_ in measured]),
        share=np.array([share for _, share, _ in measured]),
        exact=np.array(exact) if exact else None,
    )


Distance = tuple[np.ndarray, float, float | None]


def _stream(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray | None, np.ndarray]:
    """Return the samples, their labels, and the order in which they are learned."""
    X = as_samples(X, "convergence")
    y = None if y is None else column_or_1d(y)
    check_consistent_length(X, y)
    n = X.shape[0]
    passes, shuffle = (getattr(estimator, name, None) for name in ("passes", "shuffle"))
    rng = check_random_state(getattr(estimator, "random_state", None))
    parts = [rng.permutation(n) if shuffle else np.arange(n) for _ in range(passes or 1)]
    return X, y, np.concatenate(parts)


def _points(at: Any, n: int) -> np.ndarray:
    if at is None:
        return np.unique(np.geomspace(1, n, _POINTS).round().astype(np.int64))
    points = np.arange(1, n + 1) if isinstance(at, str) and at == "every" else np.unique(at)
    if not (len(points) and points.dtype.kind in "iu" and points[0] >= 1 and points[-1] <= n):
        raise ParameterError(
            f'convergence: expected at to be "every" or sample numbers from 1 to {n}, got {at!r}.'
        )
    return points


def _fixed(target: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the directions and eigenvalues of a fitted estimator or an array."""
    if hasattr(target, "fit"):
        check_is_fitted(target)
    T = np.asarray(getattr(target, "components_", target), dtype=np.float64)
    if T.ndim != 2 or T.shape[1] != n_features:
        raise ParameterError(
            f"convergence: expected a target with directions of {n_features} features, got "
            f"{type(target).__name__} of shape {T.shape}."
        )
    for name in ("eigenvalues_", "explained_variance_"):
        if hasattr(target, name):
            return T, np.maximum(getattr(target, name), 0.0)
    return T, np.ones(len(T))


def _compare(
    M: np.ndarray, G: np.ndarray, eigenvalues: np.ndarray, p: int
) -> tuple[np.ndarray, float]:
    """Return cosines and share from M = U'T and G = U'U, for those of p components that exist."""
    cosines = np.zeros(len(M))
    common = min(M.shape)
    if not common:
        return cosines, np.nan
    cosines[:common] = np.abs(np.diag(M))[:common]
    L, Z = linalg.eigh(G)
    kept = L > _DEPENDENT
    within = (Z[:, kept] / np.sqrt(L[kept])).T @ M  # in an orthonormal basis of their span
    optimum = np.sort(eigenvalues)[::-1][:p].sum()
    share = (within**2 @ eigenvalues).sum() / optimum if optimum > 0 else np.nan
    return cosines, float(share)


class _Outside:
    """Measures any estimator by its `components_`.

    `moving` is the exact solution of the samples so far, if this is the target.
    """

    def __init__(self, estimator: Any, target: Any, n_features: int):
        self.estimator = estimator
        self.moving = clone(target) if _is_moving(target) else None
        if self.moving is None:
            self.T, self.eigenvalues = _fixed(target, n_features)

    def fit(self, X: Any, y: np.ndarray | None) -> None:
        self.estimator.partial_fit(X, y)
        if self.moving is not None:
            self.moving.partial_fit(X, y)

    def distance(self) -> Distance:
        if self.moving is not None:
            self.T, self.eigenvalues = self.moving.components_, self.moving.eigenvalues_
        W = self.estimator.components_
        return *_compare(W @ self.T.T, W @ W.T, self.eigenvalues, len(W)), None


class _OnSpan(_Outside):
    """Measures an online projector in the coordinates of its span, independently of d.

    What is moving follows from the inner products that the projector has, and is not fitted.
    """

    def __init__(self, estimator: Sequential, target: Any, n_features: int):
        super().__init__(estimator, target, n_features)
        rule = plan_of(estimator, Data(n_features), "stream").passes[0].rule
        self.between = rule.between == 1  # the scatter of the class means, without another
        if self.moving is not None and not self.between:
            raise ParameterError(
                "convergence: expected a fitted target, got an unfitted OC, which "
                f"{type(estimator).__name__} does not converge to."
            )
        self.Q = self.TQ = np.zeros((0, 0))  # the basis, and T'Q

    def fit(self, X: Any, y: np.ndarray | None) -> None:
        if self.moving is not None:
            self.estimator.partial_fit(X, y)
            return
        # if the basis is kept, only the rows of Q for the features in X change
        few = sparse.issparse(X) and X.nnz < X.shape[1]
        changed = np.unique(X.indices) if few else np.empty(0, dtype=np.int64)
        kept, started = self.Q, self._started()
        before = kept[changed] if len(kept) else kept
        self.estimator.partial_fit(X, y)
        Q = self.estimator._learned.state.core.Q
        if few and Q is kept and self._started() == started:
            self.TQ += self.T[:, changed] @ (Q[changed] - before)
        else:
            self.TQ = self.T @ Q
        self.Q = Q

    def _started(self) -> int:
        return 0 if not len(self.Q) else int((self.estimator._learned.state.core.lengths > 0).sum())

    def distance(self) -> Distance:
        span = self.estimator._learned.state.core
        p, state = span.p, span.state
        live = np.flatnonzero(span.lengths)
        length = span.lengths[live]
        G = state.L[np.ix_(live, live)] / np.outer(length, length)
        exact = None
        if self.between:
            eigenvalues, E = _centroid_directions(state.SS, state.N)
            if self.moving is not None:
                self.eigenvalues = eigenvalues
                onto_V, exact = state.SV[:, live].T @ E, 1.0 if len(eigenvalues) else np.nan
            else:
                E = E[:, :p]
                exact = _compare(E.T @ self.TQ[:, p:].T, E.T @ state.SS @ E, self.eigenvalues, p)[1]
        if self.moving is None:
            onto_V = np.hstack([state.A, state.B])[live] @ self.TQ.T
        cosines = np.zeros(p)
        cosines[live], share = _compare(onto_V / length[:, None], G, self.eigenvalues, p)
        return cosines, share, exact


def _is_moving(target: Any) -> bool:
    """Whether the target is the exact solution of the samples so far."""
    return isinstance(target, OC) and not hasattr(target, "classes_")


def _centroid_directions(SS: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of OC and E, with directions S E, from inner products alone."""
    live = np.flatnonzero(N)
    n = N.sum()
    D = np.zeros((len(N), len(live)))  # S D = [sqrt(p_j) (m_j - m)]_j
    D[live] = (np.diag(1 / N[live]) - 1 / n) * np.sqrt(N[live] / n)
    L, Z = linalg.eigh(D.T @ SS @ D)
    kept = np.flatnonzero(L > _DEPENDENT * max(L.max(initial=0.0), 0.0))[::-1]
    kept = kept[: max(0, len(live) - 1)]
    return L[kept], D @ Z[:, kept] / np.sqrt(L[kept])


class ConvergenceDisplay:
    """Plots of convergence: the cosine of each component, and the share of the optimum.

    Parameters
    ----------
    *found : Convergence
        Results of `convergence`, for one or several methods.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.
    axes_ : pair of matplotlib Axes
        The axes of the cosines and of the share.

    See Also
    --------
    convergence : Compute what is plotted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IOC, OC
    >>> from narrows.evaluate import ConvergenceDisplay, convergence
    >>> X, y = load_iris(return_X_y=True)
    >>> found = convergence(IOC(), X, y, OC())
    >>> ConvergenceDisplay(found).plot().figure_.savefig("ioc.png")  # doctest: +SKIP
    """

    def __init__(self, *found: Convergence):
        self.found = found

    def plot(self, axes: Any = None, title: str = "") -> ConvergenceDisplay:
        """Plot on two given axes or in a new figure.

        Parameters
        ----------
        axes : pair of matplotlib Axes, optional
            Axes for the cosines and for the share.
        title : str
            Title of the figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            matplotlib is not installed.

        See Also
        --------
        convergence : Compute what is plotted.
        """
        if axes is None:
            axes = new_figure(figsize=(11, 4)).subplots(1, 2)
        left, right = axes
        self.axes_, self.figure_ = (left, right), left.figure
        for number, found in enumerate(self.found):
            colour = COLOURS[number % len(COLOURS)]
            alike = [other.method.split("(")[0] for other in self.found]
            name = alike[number] if alike.count(alike[number]) == 1 else found.method
            for j, cosines in enumerate(found.cosines.T):
                style = STYLES[j % len(STYLES)]
                left.plot(found.n, cosines, style, color=colour, lw=1.3, label=f"{name}, {j + 1}")
            right.plot(found.n, found.share, color=colour, lw=1.6, label=name)
        exact = next((found for found in self.found if found.exact is not None), None)
        if exact is not None:
            right.plot(exact.n, exact.exact, ":k", lw=1.6, label="exact OC, same sums")
        left.set_title("|cosine| of each component with its target")
        right.set_title("share of the optimum")
        for ax in self.axes_:
            ax.set(xscale="log", ylim=(0, 1.03), xlabel="samples")
            ax.grid(alpha=0.25)
            ax.legend(loc="lower right", fontsize=8, frameon=False)
        if title:
            self.figure_.suptitle(title)
        return self
