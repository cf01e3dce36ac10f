"""What is read from a diagonal regression: directions, a classifier, and how sure it is.

The state does not change. There are three steps, each only where it helps:

- After a bad order of samples, or a merge, W is solved for once more in few directions
  (`resolved`).
- The classifier is W fitted once more to the samples held (`polished`). The directions that
  `transform` uses are not: the samples held would have dimensions of another distribution than
  other samples, and a classifier is trained on both. Where features are few the difference is
  small, and they are (`fitted_once_more`).
- Outputs divided by a temperature are logarithms of probabilities. With that temperature the
  labels of the samples held are most likely, by the outputs of a regression without each sample.

**Outputs without a sample.** Let r be the residuals of the samples held. If outputs are S T, linear
in the targets T, the residual of sample i without itself is r_i / (1 - S_ii). The steps are nearly
a ridge regression with the diagonal matrix L = s2 + Q as its ridge, for which, with X the samples
held, each by the weight of those that it stands for,

    S = X (L + X'X)^-1 X' = I - (I + X L^-1 X')^-1,

and after another regression of the residuals with the matrix H, I - S is (I - H)(I - S).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack
from scipy.special import softmax

from narrows.solve.ridge import SURE, calibrated
from narrows.solve.rls import DiagonalRLS
from narrows.solve.rls_held import Held, held_samples, n_held
from narrows.solve.rls_order import is_odd, resolved
from narrows.solve.rls_rule import FACTOR, QB, S2, SOFT, WEIGHT
from narrows.solve.sums import blocks

UNIT = 0.1  # the temperature of the outputs of squared loss, if there is nothing to judge by
_SPREAD = (10.0, 1.0)  # of the polish: how firmly it is held to the W of the steps
_ENOUGH = 50  # samples held for a polish
_FEW = 10  # times as many samples held as features: then directions are polished too
_BLOCK = 256  # samples held, whose inner products with all are made at a time
_LEAST = 0.01  # of a residual that a sample has left, at least
_FAINT = 1e-6  # the least weight of a sample by softmax
_EPS = np.finfo(np.float64).eps


class Model(NamedTuple):
    """A classifier: the class of the largest xW + b, and what divides that for probabilities."""

    W: np.ndarray
    b: np.ndarray
    temperature: float


class Reading:
    """What is read from a regression.

    Parameters
    ----------
    core : DiagonalRLS
        It must not change before `model` is first asked for.
    several : bool, default=False
        Whether samples have several labels, or none.
    softmax : bool, default=False
        Whether outputs are logarithms of probabilities, as the steps learned them.
    polish : bool, default=True
        Whether the samples held improve W: after a bad order or a merge, and for the classifier.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_classes)
        One for each class.
    model : Model
        The classifier. O(m^3 + m^2 nnz) for m samples held.
    rule : tuple of ndarray
        Its W and b: O(1) without polish.

    Notes
    -----
    **Memory**: two arrays of shape (m, m), and one of the shape of W.
    """

    def __init__(
        self, core: DiagonalRLS, several: bool = False, softmax: bool = False, polish: bool = True
    ):
        self.core, self.several, self.softmax = core, several, softmax
        held = n_held(core)
        self.polish = polish and not softmax and held >= _ENOUGH and core.clock[S2] > 0
        self._W, self._b = core.W, core.b
        self._shift: np.ndarray | float = 0.0
        if polish and not (several or softmax) and is_odd(core):
            self._W, self._b, self._shift = resolved(core)
            self.directions = self._W
        elif self.polish and _FEW * (core.n_features + 1) <= held:
            self.directions = fitted_once_more(core, held_samples(core, several))
        else:
            self.directions = self._W

    @property
    def rule(self) -> tuple[np.ndarray, np.ndarray]:
        """W and b of the classifier; without polish they need none of the samples held."""
        return (self.model.W, self.model.b) if self.polish else (self._W, self._b)

    @cached_property
    def model(self) -> Model:
        """The classifier."""
        core, unit = self.core, 1.0 if self.softmax else UNIT
        if not n_held(core) or not core.clock[S2] > 0:
            return Model(self._W, self._b, unit)
        held = held_samples(core, self.several)
        outputs = held.X @ self._W + self._b
        if self.softmax:
            outputs = _without_each(core, held, outputs)
            return Model(self._W, self._b, _temperature(held, outputs, core, self.several, unit))
        left = _left_by_steps(core, held, 1.0, held.stands)
        W, b, residuals = self._W, self._b, held.targets - outputs
        honest = residuals / left.diagonal()[:, None]
        if self.polish:
            W, b, honest = polished(core, held, left, (W, b), residuals, self._shift)
        outputs = held.targets - honest + self._shift
        return Model(W, b, _temperature(held, outputs, core, self.several, unit))


# -- outputs without a sample ---------------------------------------------------------------


def _inner(X: Any, L: np.ndarray, L_b: float, root: np.ndarray) -> np.ndarray:
    """Return inner products of samples, a 1 appended, in the metric 1 / L, times roots."""
    K = np.empty((X.shape[0], X.shape[0]))
    for rows in blocks(X.shape[0], _BLOCK):
        part = (X[rows] / L) @ X.T
        K[rows] = part.toarray() if sparse.issparse(part) else part
    K += 1 / L_b
    K *= root[:, None]
    K *= root
    return K


def _inverse(K: np.ndarray, mu: float) -> np.ndarray:
    """Return (K + mu I)^-1; K is overwritten."""
    K[np.diag_indices_from(K)] += mu
    factor, _ = lapack.dpotrf(K.T, lower=0, overwrite_a=1, clean=0)
    inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
    inverse = inverse.T  # its lower triangle, in rows
    for rows in blocks(len(inverse), _BLOCK):
        inverse[: rows.start, rows] = inverse[rows, : rows.start].T
        square = inverse[rows, rows]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return inverse


def _left_by_steps(core: DiagonalRLS, held: Held, least: float, stands: np.ndarray) -> np.ndarray:
    """Return I - S of the steps, times the roots of weights from the left, divided from the right.

    `stands` weighs the samples, and `least` the prior. Of a sample that stands for others, the
    others are not left out. So its diagonal entry is 1 / (1 + w a), a = x'(L + C)^-1 x without it.
    """
    L = least * core.clock[S2] + core.energy
    L_b = least + core.clock[FACTOR] * core.clock[QB]
    left = _inverse(_inner(held.X, L, L_b, np.sqrt(stands)), 1.0)
    alone = held.weight / held.stands
    diagonal = 1 / (1 + alone * (1 / left.diagonal() - 1))
    root = np.sqrt(alone)
    left *= root[:, None]
    left *= root
    left[np.diag_indices_from(left)] = diagonal
    return left


def _without_each(core: DiagonalRLS, held: Held, outputs: np.ndarray) -> np.ndarray:
    """Return the outputs of softmax for samples that are left out, about.

    With h = |e|^2 / 10, by which the steps weigh a sample, its outputs change by a e / (1 + h a).
    """
    live = core.N[0] > 0
    e = held.targets.copy()
    e[:, live] -= softmax(outputs[:, live], axis=1)
    h = np.maximum(SOFT * np.sum(e**2, axis=1), _FAINT)
    left = _left_by_steps(core, held, SOFT, held.stands * h).diagonal()
    without: np.ndarray = outputs - ((1 - left) / h)[:, None] * e
    return without


# -- the classifier -------------------------------------------------------------------------


def _prior(core: DiagonalRLS, held: Held) -> tuple[np.ndarray, float]:
    """Return L = s2 + (1 - share) Q, and that of the bias."""
    rest = 1 - min(1.0, held.weight.sum() / core.clock[WEIGHT])
    L = core.clock[S2] + rest * core.energy
    return L, float(1 + rest * core.clock[FACTOR] * core.clock[QB])


def fitted_once_more(core: DiagonalRLS, held: Held) -> np.ndarray:
    """Return W of the problem of `polished` with mu = 1, solved in the features. O(m d^2 + d^3)."""
    L, L_b = _prior(core, held)
    X = held.X.toarray() if sparse.issparse(held.X) else held.X
    X, weight = np.column_stack([X, np.ones(len(X))]), held.weight[:, None]
    E = held.targets - (X[:, :-1] @ core.W + core.b)
    A = X.T @ (weight * X)
    A[np.diag_indices_from(A)] += np.append(L, L_b)
    D = linalg.solve(A, X.T @ (weight * E), assume_a="pos")
    W: np.ndarray = (core.W + D[:-1]).astype(core.W.dtype, copy=False)
    return W


def polished(
    core: DiagonalRLS,
    held: Held,
    left: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    residuals: np.ndarray,
    shift: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W and b, fitted once more to the samples held, and the residuals without each.

    ::

        minimise |E - X D|^2 + mu D' diag(L) D

    with E the residuals of the samples X, a 1 appended for the bias, each by its decayed weight,
    and L = s2 + (1 - share) Q, where share is that of all weight that X has. mu is 10, or 1 if that
    does better for samples that are left out; if 10 does no better than D = 0, W is returned as it
    is.

    Parameters
    ----------
    core : DiagonalRLS
        The regression.
    held : Held
        Its samples.
    left : ndarray of shape (n_samples, n_samples)
        I - S of the steps.
    start : (ndarray, ndarray)
        W and b, to which D is added.
    residuals : ndarray of shape (n_samples, n_classes)
        Of the samples.
    shift : ndarray of shape (n_samples, n_classes), optional
        By how much more their outputs change without them.

    Notes
    -----
    **Cost**: O(m^3 + m nnz) for m samples.
    """
    (W, b), root = start, np.sqrt(held.weight)
    L, L_b = _prior(core, held)
    E = root[:, None] * residuals
    K = _inner(held.X, L, L_b, root)
    rounding = 4 * len(K) * _EPS * float(K.diagonal().max())
    honest = residuals / left.diagonal()[:, None]
    best, dual = float(held.stands @ np.sum((honest - shift) ** 2, axis=1)), None
    for mu in _SPREAD:
        inverse = _inverse(K.copy(), max(mu, rounding))
        Z = inverse @ E
        own = max(mu, rounding) * np.einsum("ij,ij->i", inverse, left)
        found = max(mu, rounding) * Z / (root * np.maximum(own, _LEAST))[:, None]
        loss = float(held.stands @ np.sum((found - shift) ** 2, axis=1))
        if loss >= best:
            break
        best, dual, honest = loss, root[:, None] * Z, found
    if dual is None:
        return W, b, honest
    W = (W + (held.X.T @ dual) / L[:, None]).astype(W.dtype, copy=False)
    return W, b + dual.sum(axis=0) / L_b, honest


def _temperature(
    held: Held, outputs: np.ndarray, core: DiagonalRLS, several: bool, unit: float
) -> float:
    """Return the temperature with which the labels of samples are most likely by their outputs."""
    live = np.flatnonzero(core.N[0] > 0)
    if len(live) < 1 + (not several):
        return unit
    weight = held.stands * (held.stands.sum() / (held.stands @ held.stands))
    logits, code = outputs[:, live] / unit, np.searchsorted(live, held.code)
    if several:  # each class on its own, against 1/2
        logits, code = (outputs[:, live].ravel() - 0.5) / unit, held.targets[:, live].ravel()
        logits, code = np.stack([np.zeros_like(logits), logits], axis=1), code.astype(np.intp)
        weight = np.repeat(weight / len(live), len(live))
    return unit * calibrated(logits, code, weight, SURE, 1.0)[2]
