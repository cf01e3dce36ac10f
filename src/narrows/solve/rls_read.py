"""What is read from a diagonal regression: directions, a classifier, and how sure it is.

The state does not change. There are three steps, each only where it helps:

- Where samples came in a bad order, or in parts, W is solved for once more in few directions
  (`resolved`). The directions are these.
- The classifier is W fitted once more to the samples held (`polished`). The directions that
  another classifier is trained on are not, unless features are few: the samples held would be
  reduced to other numbers than samples that are not held.
- Outputs divided by a temperature are logarithms of probabilities. The temperature is that with
  which the samples held are most likely by the outputs that they would have, had they not been
  learned.

**Outputs without a sample.** Let r be the residuals of the samples held. If outputs are S T, linear
in the targets T, the residual of sample i without sample i is r_i / (1 - S_ii). The steps are nearly
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
from scipy.special import expit, softmax

from narrows.solve.ridge import SURE, calibrated
from narrows.solve.rls import FACTOR, QB, RECENT, REPLAYS, S2, SEEN, WEIGHT, DiagonalRLS
from narrows.solve.sums import blocks

UNIT = 0.1  # the temperature of the outputs of squared loss, if there is nothing to judge by
_SPREAD = (10.0, 1.0)  # of the polish: how firmly it is held to the W of the steps
_ENOUGH = 50  # samples held for a polish
_FEW = 10  # times as many samples held as features: then directions are polished too
_BLOCK = 256  # samples held, whose inner products with all are made at a time
_FEATURES = 4096  # whose directions are made at a time
_FULL = 0.1  # of the entries: from this density on products are made by dense blocks
_LEAST = 0.01  # of a residual that a sample has left, at least
_FAINT = 1e-6  # the least weight of a sample by softmax
SOFT = 0.1  # of softmax: weight of a prior and a squared residual relative to squared loss
_EPS = np.finfo(np.float64).eps

_ODD = 0.05  # of the samples: if more were repeated, or learned by other parts, solve again
_SUSPICIOUS, _MEMORY = 0.2, 100.0  # kappa, from which on the steps repeat samples, and its memory
_MOST = 0.9  # no order is bad by chance beyond this share
_DIRECTIONS = 100  # of each kind, in all bands
_SHRUNK = 0.2  # of the scatter within classes: the part of which only the diagonal is kept
_SAME = 1e-9  # energies that differ by less, relatively, count as equal
_DEPENDENT = 1e-8  # eigenvalues below this share of the largest: the directions depend


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
        Whether the classifier is fitted once more to the samples held.

    Attributes
    ----------
    W : ndarray of shape (n_features, n_classes)
        The directions.
    model : Model
        The classifier. O(m^3 + m^2 nnz) for m samples held.

    Notes
    -----
    **Memory**: two arrays of shape (m, m), and one of the shape of W.
    """

    def __init__(
        self, core: DiagonalRLS, several: bool = False, softmax: bool = False, polish: bool = True
    ):
        self.core, self.several, self.softmax = core, several, softmax
        held = core.reservoir.used
        self.polish = polish and not softmax and held >= _ENOUGH and core.clock[S2] > 0
        self.W, self.b = core.W, core.b
        if not (several or softmax) and is_odd(core):
            self.W, self.b = resolved(core)
        if self.polish and _FEW * (core.n_features + 1) <= held:
            self.W = self.model.W

    @cached_property
    def model(self) -> Model:
        """The classifier."""
        core, unit = self.core, 1.0 if self.softmax else UNIT
        if not core.reservoir.used or not core.clock[S2] > 0:
            return Model(self.W, self.b, unit)
        held = held_samples(core, self.several)
        outputs = held.X @ self.W + self.b
        if self.softmax:
            outputs = _without_each(core, held, outputs)
            return Model(self.W, self.b, _temperature(held, outputs, core, self.several, unit))
        left = _left_by_steps(core, held, 1.0, held.stands)
        W, b, residuals = self.W, self.b, held.targets - outputs
        honest = residuals / left.diagonal()[:, None]
        if self.polish:
            W, b, honest = polished(core, held, left, (W, b), residuals)
        outputs = held.targets - honest
        return Model(W, b, _temperature(held, outputs, core, self.several, unit))


# -- order ----------------------------------------------------------------------------------


def is_odd(core: DiagonalRLS) -> bool:
    """Return whether the steps saw samples in a bad order, or in parts that were merged.

    If samples repeated, and samples learned before the last merge, are more than 5 % of all beyond
    what is repeated by chance: kappa is about normal, with variance chance / (100 (1 - chance)).
    """
    clock = core.clock
    seen, odd = clock[SEEN], clock[REPLAYS] + clock[SEEN] - clock[RECENT]
    if core.sums is None or not core.reservoir.used or not clock[S2] > 0:
        return False
    share = core.N[1] / max(core.N[1].sum(), 1e-300)
    chance = float(share @ share)
    if chance >= 1 - 1e-12:
        return False
    spread = np.sqrt(chance / (_MEMORY * (1 - chance)))
    by_chance = spread * np.exp(-0.5 * (_SUSPICIOUS / spread) ** 2) / np.sqrt(2 * np.pi)
    return bool(odd > min(_ODD + 2 * by_chance, _MOST) * seen)


def resolved(core: DiagonalRLS) -> tuple[np.ndarray, np.ndarray]:
    """Return W and b, solved for once more in the span of W and of the class means.

    ::

        minimise sum_i w_i |t_i - x_i W - b|^2 + s2 |W|^2,    W = B U

    over U. The columns of B are those of W and the class means less the mean, each cut into bands:
    features are sorted by energy, and each band has the same share of it. For n samples with the
    class means m_j and the mean m that is

        (C + s2 B'B) U = B' (sums - m N'),    C = B' (sum_j N_j (m_j - m)(m_j - m)' + S_w) B.

    Everything but S_w is exact. S_w is estimated from the samples held, as the scatter about the
    exact class means, each by the weight of those that it stands for, and shrunk by 0.2 towards its
    diagonal, Q - sum_j N_j m_j^2, which is exact.

    Notes
    -----
    **Cost**: O(d c^2 + m nnz c + k^3) for m samples held and k directions, at most 200 or twice the
    number of classes. No array larger than W is made beside it.
    """
    held = held_samples(core)
    X = held.X.tocsc() if sparse.issparse(held.X) else held.X
    N = core.N[0]
    n, live = float(N.sum()), np.flatnonzero(N > 0)
    factor = float(core.clock[FACTOR])

    def means(those: np.ndarray) -> np.ndarray:
        return factor * core.sums[those][:, live] / N[live]

    def directions(those: np.ndarray, M: np.ndarray) -> np.ndarray:
        m = M @ (N[live] / n)
        return np.hstack([core.W[those][:, live].astype(np.float64), M - m[:, None]])

    found = []
    scatter, places, columns = [], [], []  # of each band
    for band in _bands(core.energy, max(1, round(_DIRECTIONS / len(live)))):
        G = np.zeros((2 * len(live), 2 * len(live)))
        D, Z, P = np.zeros_like(G), np.zeros((X.shape[0], len(G))), np.zeros((len(live), len(G)))
        for part in blocks(len(band), _FEATURES):
            those = band[part]
            M = means(those)
            B = directions(those, M)
            V = np.maximum(core.energy[those] - (M**2) @ N[live], 0.0)
            G += B.T @ B
            D += (B.T * V) @ B
            Z += X[:, those] @ B
            P += M.T @ B
        T = _whitened(G)
        found.append((band, T))
        scatter.append(T.T @ D @ T)
        places.append(Z @ T)
        columns.append(P @ T)
    if not found:
        return core.W, core.b
    P, root = np.hstack(columns), np.sqrt(held.stands)[:, None]
    F = root * (np.hstack(places) - P[np.searchsorted(live, held.code)])
    H = P - (N[live] / n) @ P
    C = (1 - _SHRUNK) * (F.T @ F) + _SHRUNK * linalg.block_diag(*scatter) + (H.T * N[live]) @ H
    C[np.diag_indices_from(C)] += core.clock[S2]
    U = linalg.solve(C, H.T * N[live], assume_a="pos", overwrite_a=True)
    W, b, first = np.zeros_like(core.W), np.zeros(len(N)), 0
    mean_outputs = ((N[live] / n) @ P) @ U
    b[live] = N[live] / n - mean_outputs
    for band, T in found:
        TU = T @ U[first : first + T.shape[1]]
        first += T.shape[1]
        for part in blocks(len(band), _FEATURES):
            those = band[part]
            W[those[:, None], live] = directions(those, means(those)) @ TU
    return W, b


def _bands(energy: np.ndarray, count: int) -> list[np.ndarray]:
    """Return features in bands of about the same energy, those of the same energy in the same."""
    order = np.argsort(-energy, kind="stable")
    order = order[energy[order] > 0]
    if not len(order):
        return []
    sizes = energy[order]
    new = np.append(True, sizes[1:] < sizes[:-1] * (1 - _SAME))
    total = np.cumsum(sizes)
    before = (total - sizes)[new][np.cumsum(new) - 1]
    band = np.minimum(np.floor(before / total[-1] * count + _SAME), count - 1)
    return [np.sort(order[band == k]) for k in np.unique(band)]


def _whitened(G: np.ndarray) -> np.ndarray:
    """Return T with T'GT = I; directions that depend on the others are dropped."""
    size = np.sqrt(G.diagonal())
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    L, V = linalg.eigh(scale[:, None] * G * scale)
    kept = L > _DEPENDENT * max(L[-1], 0.0)
    T: np.ndarray = scale[:, None] * V[:, kept] / np.sqrt(L[kept])
    return T


# -- the samples held -----------------------------------------------------------------------


class Held(NamedTuple):
    """The samples held.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Dense where sparse would be slower.
    targets : ndarray of shape (n_samples, n_classes)
        Indicators of their labels.
    code : ndarray
        With one label per sample, its number.
    weight, stands : ndarray of shape (n_samples,)
        Their decayed weights, and those of all samples that each stands for.
    """

    X: Any
    targets: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    stands: np.ndarray


def held_samples(core: DiagonalRLS, several: bool = False) -> Held:
    """Return the samples held; those of a class stand for all of it, or each for as many."""
    X, Y, weight = core.samples()
    if not weight.all():  # they decayed to nothing
        X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
    X = X.astype(np.float64)
    if X.nnz > _FULL * X.shape[0] * X.shape[1]:
        X = X.toarray()
    if several:
        stands = weight * (core.clock[WEIGHT] / weight.sum())
    else:
        held = np.bincount(Y.indices, weight, len(core.b))
        stands = weight * (core.N[0] / np.where(held > 0, held, 1.0))[Y.indices]
    return Held(X, Y.toarray(), Y.indices, weight, np.maximum(stands, weight))


def _inner(X: Any, L: np.ndarray, L_b: float, root: np.ndarray) -> np.ndarray:
    """Return the inner products of samples, a 1 appended, in the metric 1 / L, times their roots."""
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


def _left_by_steps(
    core: DiagonalRLS, held: Held, least: float, stands: np.ndarray
) -> np.ndarray:
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


def polished(
    core: DiagonalRLS,
    held: Held,
    left: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    residuals: np.ndarray,
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

    Notes
    -----
    **Cost**: O(m^3 + m nnz) for m samples.
    """
    (W, b), root = start, np.sqrt(held.weight)
    rest = 1 - min(1.0, held.weight.sum() / core.clock[WEIGHT])
    L = core.clock[S2] + rest * core.energy
    L_b = 1 + rest * core.clock[FACTOR] * core.clock[QB]
    E = root[:, None] * residuals
    K = _inner(held.X, L, L_b, root)
    rounding = 4 * len(K) * _EPS * float(K.diagonal().max())
    honest = residuals / left.diagonal()[:, None]
    best, dual = float(held.stands @ np.sum(honest**2, axis=1)), None
    for mu in _SPREAD:
        inverse = _inverse(K.copy(), max(mu, rounding))
        Z = inverse @ E
        own = max(mu, rounding) * np.einsum("ij,ij->i", inverse, left)
        found = max(mu, rounding) * Z / (root * np.maximum(own, _LEAST))[:, None]
        loss = float(held.stands @ np.sum(found**2, axis=1))
        if loss >= best:
            break
        best, dual, honest = loss, root[:, None] * Z, found
    if dual is None:
        return W, b, honest
    return W + (held.X.T @ dual) / L[:, None], b + dual.sum(axis=0) / L_b, honest


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


def probabilities(outputs: np.ndarray, temperature: float, several: bool = False) -> np.ndarray:
    """Return the probability of each class, from outputs."""
    if several:
        return np.asarray(expit((outputs - 0.5) / temperature))
    return np.asarray(softmax(outputs / temperature, axis=1))
