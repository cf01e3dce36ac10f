"""How near the iterates of a stream come to the exact solution, and after how many samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from narrows.criteria import BETWEEN
from narrows.evaluate.figure import COLOURS, new_figure
from narrows.families._online import OnlineProjector
from narrows.families.between import OC
from narrows.moments.stats import checked_rows
from narrows.solve.errors import ParameterError

_DEPENDENT = 1e-12  # of the largest: an eigenvalue below this is rounding
_STYLES = ("-", "--", "-.", ":")
_POINTS = 60  # samples that are looked at, evenly on a log scale, where none are named


@dataclass(frozen=True)
class Convergence:
    """What a method had reached after n samples, for several n.

    Parameters
    ----------
    method : str
        Its name and parameters.
    n : ndarray of int of shape (k,)
        Samples that had come, over all passes.
    cosines : ndarray of shape (k, p)
        `|u_j't_j|`, the inner product of component j with direction j of the target; 0 where
        either is not there yet.
    share : ndarray of shape (k,)
        Of the target's optimum, what the span of the components has: `sum_k l_k |U't_k|^2` over
        the sum of the p largest l_k, with U an orthonormal basis of the span and l_k the target's
        eigenvalues (1, if it has none). NaN while there is no target, or no component.
    exact : ndarray of shape (k,) or None
        For methods of the between criterion, the share that exact OC has from the same sums.

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
    """Learn rows one at a time, and compare with a target on the way.

    Parameters
    ----------
    estimator : projector with `partial_fit`
        A clone of it learns the rows in their order, as many `passes` as it makes (with `shuffle`
        in its own seeded orders).
    X : {array-like, sparse matrix} of shape (n, d)
        The rows.
    y : array-like of shape (n,), or None
        Labels.
    target : fitted estimator, ndarray of shape (q, d), or an OC that is not fitted
        What it should come to: the `components_` of a fitted estimator, and its `eigenvalues_` or
        `explained_variance_`, usually the exact solution of all rows; orthonormal directions; or,
        if it is an unfitted OC, the exact solution of the rows learnt so far, at each moment.
    at : "every", or array-like of int, optional
        After which samples to look, counted over all passes; about 60 on a log scale if left out.

    Returns
    -------
    Convergence

    Raises
    ------
    ParameterError
        A target that is none of these, or sample numbers that are not in the stream.

    Notes
    -----
    **Cost** of one look at an online projector: O(nnz q + q p (p + c) + c^3) for the rows since the
    last one, without reference to d for sparse rows, so that every sample can be looked at; for
    other estimators that of `components_` and O(d p q).

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
    known = isinstance(estimator, OnlineProjector) and not estimator.orthonormalize
    if _is_moving(target) and repr(target) != repr(OC()):
        known = False  # of other priors, or fewer directions: not from inner products alone
    watch = (_OnSpan if known else _Outside)(clone(estimator), target, X.shape[1])
    looks = []
    for start, end in zip(np.append(0, points[:-1]), points, strict=True):
        rows = order[start:end]
        watch.learn(X[rows], None if y is None else y[rows])
        looks.append(watch.look())
    p = max(len(cosines) for cosines, *_ in looks)
    exact = [part for *_, part in looks if part is not None]
    return Convergence(
        method=repr(estimator),
        n=points,
        cosines=np.array([np.pad(cosines, (0, p - len(cosines))) for cosines, *_ in looks]),
        share=np.array([share for _, share, _ in looks]),
        exact=np.array(exact) if exact else None,
    )


Look = tuple[np.ndarray, float, float | None]


def _stream(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray | None, np.ndarray]:
    """The rows, their labels, and in which order they are learnt."""
    X = checked_rows(X, "convergence")
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
            f'convergence: at must be "every" or sample numbers from 1 to {n}, but {at!r} came.'
        )
    return points


def _fixed(target: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """(T (q, d), eigenvalues (q,)) of a fitted estimator or of an array."""
    if hasattr(target, "fit"):
        check_is_fitted(target)
    T = np.asarray(getattr(target, "components_", target), dtype=np.float64)
    if T.ndim != 2 or T.shape[1] != n_features:
        raise ParameterError(
            f"convergence: the target must have directions in {n_features} columns, but "
            f"{type(target).__name__} of shape {T.shape} came."
        )
    for name in ("eigenvalues_", "explained_variance_"):
        if hasattr(target, name):
            return T, np.maximum(getattr(target, name), 0.0)
    return T, np.ones(len(T))


def _compare(
    M: np.ndarray, G: np.ndarray, eigenvalues: np.ndarray, p: int
) -> tuple[np.ndarray, float]:
    """Cosines and share from M = U'T and G = U'U, of those of p unit vectors that are there."""
    cosines = np.zeros(len(M))
    common = min(M.shape)
    if not common:
        return cosines, np.nan
    cosines[:common] = np.abs(np.diag(M))[:common]
    L, Z = linalg.eigh(G)
    kept = L > _DEPENDENT
    within = (Z[:, kept] / np.sqrt(L[kept])).T @ M  # of an orthonormal basis of their span
    optimum = np.sort(eigenvalues)[::-1][:p].sum()
    share = (within**2 @ eigenvalues).sum() / optimum if optimum > 0 else np.nan
    return cosines, float(share)


class _Outside:
    """Watches any estimator by its `components_`."""

    def __init__(self, learner: Any, target: Any, n_features: int):
        self.learner = learner
        self.moving = clone(target) if _is_moving(target) else None
        if self.moving is None:
            self.T, self.eigenvalues = _fixed(target, n_features)

    def learn(self, X: Any, y: np.ndarray | None) -> None:
        self.learner.partial_fit(X, y)
        if self.moving is not None:
            self.moving.partial_fit(X, y)

    def look(self) -> Look:
        if self.moving is not None:
            self.T, self.eigenvalues = self.moving.components_, self.moving.eigenvalues_
        W = self.learner.components_
        return *_compare(W @ self.T.T, W @ W.T, self.eigenvalues, len(W)), None


class _OnSpan:
    """Watches an online projector in the coordinates of its span, whatever d is."""

    def __init__(self, learner: OnlineProjector, target: Any, n_features: int):
        self.learner, self.moving = learner, _is_moving(target)
        self.between = learner._criterion() == BETWEEN
        if self.moving and not self.between:
            raise ParameterError(
                f"convergence: {type(learner).__name__} does not tend to OC; a fitted target is "
                "wanted."
            )
        if not self.moving:
            self.T, self.eigenvalues = _fixed(target, n_features)
        self.Q = self.TQ = np.zeros((0, 0))  # the basis, and T'Q

    def learn(self, X: Any, y: np.ndarray | None) -> None:
        if self.moving:
            self.learner.partial_fit(X, y)
            return
        # where the basis stays, only the rows of Q that X touches change
        few = sparse.issparse(X) and X.nnz < X.shape[1]
        touched = np.unique(X.indices) if few else np.empty(0, dtype=np.int64)
        kept, started = self.Q, self._started()
        before = kept[touched] if len(kept) else kept
        self.learner.partial_fit(X, y)
        Q = self.learner._state.core.Q
        if few and Q is kept and self._started() == started:
            self.TQ += self.T[:, touched] @ (Q[touched] - before)
        else:
            self.TQ = self.T @ Q
        self.Q = Q

    def _started(self) -> int:
        return 0 if not len(self.Q) else int((self.learner._state.core.lengths > 0).sum())

    def look(self) -> Look:
        span = self.learner._state.core
        p, state = span.p, span.state
        live = np.flatnonzero(span.lengths)
        length = span.lengths[live]
        G = state.L[np.ix_(live, live)] / np.outer(length, length)
        exact = None
        if self.between:
            eigenvalues, E = _centroid_directions(state.SS, state.N)
            if self.moving:
                self.eigenvalues = eigenvalues
                onto_V, onto_exact = state.SV[:, live].T @ E, E.T @ state.SS @ E
            else:
                onto_exact = E.T @ self.TQ[:, p:].T
            orthonormal = E[:, :p].T @ state.SS @ E[:, :p]
            exact = _compare(onto_exact[:p], orthonormal, self.eigenvalues, p)[1]
        if not self.moving:
            onto_V = np.hstack([state.A, state.B])[live] @ self.TQ.T
        cosines = np.zeros(p)
        cosines[live], share = _compare(onto_V / length[:, None], G, self.eigenvalues, p)
        return cosines, share, exact


def _is_moving(target: Any) -> bool:
    """Whether the target is the exact solution of the moment."""
    return isinstance(target, OC) and not hasattr(target, "classes_")


def _centroid_directions(SS: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact OC from inner products alone: its eigenvalues, and E with directions S E."""
    live = np.flatnonzero(N)
    n = N.sum()
    D = np.zeros((len(N), len(live)))  # S D = [sqrt(p_j) (m_j - m)]_j
    D[live] = (np.diag(1 / N[live]) - 1 / n) * np.sqrt(N[live] / n)
    L, Z = linalg.eigh(D.T @ SS @ D)
    kept = np.flatnonzero(L > _DEPENDENT * max(L.max(initial=0.0), 0.0))[::-1]
    kept = kept[: max(0, len(live) - 1)]
    return L[kept], D @ Z[:, kept] / np.sqrt(L[kept])


class ConvergenceDisplay:
    """Curves of convergence: the cosine of each component, and the share of the optimum.

    Parameters
    ----------
    *found : Convergence
        What `convergence` returned, for one method or several.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : pair of matplotlib Axes

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
        """Draw, on two axes of one's own or in a new figure.

        Parameters
        ----------
        axes : pair of matplotlib Axes, optional
            For the cosines and for the share.
        title : str
            Above the figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            matplotlib is not installed.
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
                style = _STYLES[j % len(_STYLES)]
                left.plot(found.n, cosines, style, color=colour, lw=1.3, label=f"{name}, {j + 1}")
            right.plot(found.n, found.share, color=colour, lw=1.6, label=name)
        exact = next((found for found in self.found if found.exact is not None), None)
        if exact is not None:
            right.plot(
                exact.n, exact.exact, ":", color="black", lw=1.6, label="exact OC, same sums"
            )
        left.set_title("|cosine| of each component with its target")
        right.set_title("share of the optimum")
        for ax in self.axes_:
            ax.set_xscale("log")
            ax.set_ylim(0, 1.03)
            ax.set_xlabel("samples")
            ax.grid(alpha=0.25)
            ax.legend(loc="lower right", fontsize=8, frameon=False)
        if title:
            self.figure_.suptitle(title)
        return self
