"""What is read from a diagonal regression: directions, and a classifier."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from narrows.solve import regression_steps as at
from narrows.solve.calibration import calibration
from narrows.solve.held_out import SURE, by_time, calibrated, is_clearly_positive
from narrows.solve.products import SMALL, one_blas_thread
from narrows.solve.regression import DiagonalRLS
from narrows.solve.regression_steps import MEMORY
from narrows.solve.scatter import UNIT, rule
from narrows.solve.signs import with_signs
from narrows.solve.solution import Rule, Solution
from narrows.solve.sums import blocks

_FULL = 0.1  # of the entries: from this density on products are made by dense blocks
_ENOUGH = 50  # samples held for a polish

_ODD = 0.05  # of the samples or the variance of their times: from this on the order is bad
_MOST = 0.9  # no order is bad by chance beyond this share
_DIRECTIONS = 100  # of each kind, in all bands
_SHRUNK = 0.2  # of the scatter within classes: the part of which only the diagonal is kept
_FEATURES = 4096  # whose directions are made at a time
_SAME = 1e-9  # energies that differ by less, relatively, count as equal
_DEPENDENT = 1e-8  # eigenvalues below this share of the largest: the directions depend

_SPREAD = (10.0, 1.0, 0.1, 0.01)  # of the polish: how firmly it is held to the W of the steps
_CLEARLY = 0.75  # times the squared errors: with fewer, the ridge of all samples is smaller
_ALL = 1 - 1e-9  # of the weight: if samples held have more, they are all samples
_LEAST = 0.01  # of a residual that a sample has left, at least
_FOLDS = 5  # of the samples held: log posteriors of each are those by the others
_AHEAD = 0.5  # standard errors: better scores
_GAIN = 0.03  # of the mean logarithm of the probability of the label, or of the mean recall
_RECALLED = 2.0  # standard errors: a better mean recall
_FAR_AHEAD = 3.0  # after a bad order, where samples held are more like the steps than others are
_ADDED = (0.1, 1.0)  # times the mean variance of outputs within classes, added to each
_EPS = np.finfo(np.float64).eps


class HeldSamples(NamedTuple):
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


def n_held(core: DiagonalRLS) -> int:
    """Return the number of samples held that have weight; others decayed to nothing."""
    kept = core.reservoir.kept[1, : core.reservoir.used]
    return int(np.count_nonzero(kept * core.clock[at.FACTOR]))


def held_samples(core: DiagonalRLS, several: bool = False) -> HeldSamples:
    """Return the samples held; those of a class stand for all of it, or each for as many."""
    X, Y, weight = core.samples()
    if not weight.all():  # they decayed to nothing
        X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
    X = X.astype(np.float64)
    if X.nnz > _FULL * X.shape[0] * X.shape[1]:
        X = X.toarray()
    if several:
        stands = weight * (core.clock[at.WEIGHT] / weight.sum())
    else:
        held = np.bincount(Y.indices, weight, len(core.b))
        stands = weight * (core.N[0] / np.where(held > 0, held, 1.0))[Y.indices]
    return HeldSamples(X, Y.toarray(), Y.indices, weight, np.maximum(stands, weight))


class LinearClassifier(NamedTuple):
    """A classifier: the class of the largest xW + b, and what divides that for probabilities."""

    W: np.ndarray
    b: np.ndarray
    temperature: float


class RegressionReading:
    """What is read from a regression.

    Parameters
    ----------
    core : DiagonalRLS
        It must not change before `model` or `classifier` is first asked for.
    several : bool, default=False
        Whether samples have several labels, or none.
    polish : bool, default=True
        Whether the samples held improve W: after a bad order or a merge, and for the classifier.

    Attributes
    ----------
    may_polish : bool
        The parameter `polish`.
    whole : bool
        Whether all samples are held: W is then the ridge regression on these, in whatever order.
    odd : bool
        Whether W was solved for once more, after a bad order or a merge.
    directions : ndarray of shape (n_features, n_classes)
        One for each class.
    model : LinearClassifier
        The regression that samples held improve, or log posteriors by it. O(m^3 + m^2 nnz) for m
        samples held.
    classifier : LinearClassifier
        With the probabilities that they determine; see `calibration`.

    Notes
    -----
    **Memory**: two arrays of shape (m, m), and one of the shape of W.
    """

    def __init__(self, core: DiagonalRLS, several: bool = False, polish: bool = True):
        self.core, self.several, self.may_polish = core, several, polish
        held = n_held(core)
        self.polish = polish and held >= _ENOUGH and core.clock[at.S2] > 0
        self._W, self._b = core.W, core.b
        self._shift: np.ndarray | float = 0.0
        weight = core.reservoir.kept[1, : core.reservoir.used].sum() * core.clock[at.FACTOR]
        self.whole = self.polish and bool(weight >= _ALL * core.clock[at.WEIGHT])
        self.odd = polish and not several and not self.whole and is_odd(core)
        if self.odd:
            self._W, self._b, self._shift = resolved(core)
        elif self.whole:
            self._W, self._b = np.zeros_like(core.W), np.zeros_like(core.b)
        self.directions = self._ridge(_SPREAD[1:2])[0] if self.whole else self._W

    def _ridge(self, spread: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ridge regression on all samples, and the residuals without each."""
        held, start = held_samples(self.core, self.several), (self._W, self._b)
        return polished(self.core, held, None, start, held.targets, 0.0, spread)

    def solution(self, live: np.ndarray, p: int | None) -> Solution:
        """Return p directions, and the classifier before samples held improve it.

        The p leading singular directions of W, or W where it has no more. Each is divided by the
        deviation of samples within the classes along it. Only columns `live` count.
        """
        best = W = self.directions[:, live]
        if p is not None and p < W.shape[1]:
            scaled = W.astype(np.float64) / (np.abs(W).max(initial=0.0) or 1.0)
            best = with_signs(W @ np.linalg.eigh(scaled.T @ scaled)[1][:, ::-1][:, :p])
        deviation = deviations_within(self.core, best, self.several)
        best = np.ascontiguousarray((best / deviation).astype(W.dtype, copy=False))
        rule: Any = self.rule(live, polished=False)
        return Solution(len(W), np.zeros(0), best, p, rank=W.shape[1], rule=rule)

    def rule(self, live: np.ndarray, polished: bool) -> Rule | None:
        """Return the classifier of samples as they are, for the outputs `live`; None without.

        It is that of the steps, without a temperature, or the one that samples held improve, in
        O(m^3 + m^2 nnz) for m of them. Scores of several labels are positive for outputs above 1/2.
        """
        if not len(live):
            return None
        W, b, temperature = self.classifier if polished else LinearClassifier(self._W, self._b, 0.0)
        if self.core.origin is not None:
            b = b - self.core.origin @ W
        b = b[live] - 0.5 if self.several else b[live]
        return Rule(np.ascontiguousarray(W[:, live]), b, temperature)  # later steps change W

    @property
    def model(self) -> LinearClassifier:
        """The regression that samples held improve, or log posteriors by it."""
        return self._of_held[0]

    @cached_property
    def classifier(self) -> LinearClassifier:
        """The classifier, whose scores divided by its temperature are log posteriors."""
        model, scores = self._of_held
        if scores is None:
            return model
        held = held_samples(self.core)
        return with_calibration(held, np.flatnonzero(self.core.N[0] > 0), scores, model)

    @cached_property
    def _of_held(self) -> tuple[LinearClassifier, np.ndarray | None]:
        """The model, and its scores of samples held by the others, if they may calibrate it."""
        core = self.core
        if not n_held(core) or not core.clock[at.S2] > 0:
            return LinearClassifier(self._W, self._b, UNIT), None
        held = held_samples(core, self.several)
        with one_blas_thread(len(held.weight) <= SMALL):
            return self._by_held(held)

    def _by_held(self, held: HeldSamples) -> tuple[LinearClassifier, np.ndarray | None]:
        core, W, b = self.core, self._W, self._b
        if self.whole:
            W, b, honest = self._ridge(_SPREAD[1:])
        else:
            residuals, left = held.targets - (held.X @ W + b), _left_by_steps(core, held)
            honest = residuals / left.diagonal()[:, None]
            if self.polish:
                W, b, honest = polished(core, held, left, (W, b), residuals, self._shift)
        outputs = held.targets - honest + self._shift
        model = LinearClassifier(W, b, _temperature(held, outputs, core, self.several))
        live = np.flatnonzero(core.N[0] > 0)
        if not self.polish or self.several or not held.targets[:, live].any(axis=0).all():
            return model, None
        ahead = _FAR_AHEAD if self.odd else _AHEAD
        return with_better_scores(held, live, outputs, model, ahead)


def deviations_within(core: DiagonalRLS, W: np.ndarray, several: bool = False) -> np.ndarray:
    """Return the pooled deviations within the classes of samples x W, for each column of W.

    By the samples held, each by the weight of those that it stands for; a sample of several labels
    counts for each of them. Where no class has two samples that differ, as without a reservoir, by
    the sum of squares of each feature, as if features were uncorrelated: an upper bound then.

    Notes
    -----
    **Cost**: O(nnz p + m c p) for m samples held.
    """
    found = np.zeros(W.shape[1])
    unit = np.abs(W).max(axis=0, initial=0.0).astype(np.float64)  # so that no square underflows
    unit[unit == 0] = 1.0
    W = W / unit
    if n_held(core):
        held = held_samples(core, several)
        Z, row, code = held.X @ W, *held.targets.nonzero()
        Z, weight = Z[row], held.stands[row]
        T = sparse.csr_array((weight, (code, np.arange(len(code)))), (len(core.b), len(code)))
        counts = T.sum(axis=1)
        means = (T @ Z) / np.where(counts > 0, counts, 1.0)[:, None]
        squares = np.bincount(code, weight**2, len(counts))
        some = counts**2 > 1.5 * squares  # of about two samples
        if some.any():
            free = counts[some] - squares[some] / counts[some]
            scatter = (T @ (Z - means[code]) ** 2)[some] * (counts[some] / free)[:, None]
            total = T.sum(axis=0) @ Z**2 / counts.sum()
            found = scatter.sum(axis=0) / counts[some].sum()
            found[found <= _EPS * total] = 0.0
    rest = np.flatnonzero(found == 0)
    if len(rest):
        n = max(float(core.clock[at.WEIGHT]), np.finfo(np.float64).tiny)
        found[rest] = np.einsum("i,ik->k", core.energy / n, W[:, rest] ** 2)
    return np.where(found > 0, np.sqrt(found), 1.0) * unit


# -- solving once more ----------------------------------------------------------------------


def is_odd(core: DiagonalRLS) -> bool:
    """Return whether the classes arrived at different times, or in parts that were merged.

    If classes explain more than 5 % of the variance of the times of samples, beyond what they do by
    chance (1/n for each class but one, and three standard deviations), or if more than 5 % of the
    samples were learned before the last merge. Merging does not count where there are no more
    features than directions to solve in: W is then as good as merged.
    """
    clock = core.clock
    if core.sums is None or not n_held(core) or not clock[at.S2] > 0:
        return False
    merged = clock[at.SEEN] - clock[at.RECENT]
    if core.n_features > 2 * _DIRECTIONS and merged > _ODD * (clock[at.SEEN] + MEMORY):
        return True
    counts, times = core.N[1:, core.N[1] > 0]
    n, free = counts.sum(), len(counts) - 1
    middle = times.sum() ** 2 / n
    chance = (free + 3 * np.sqrt(2 * free)) / n
    between = (times**2 / counts).sum() - middle
    return bool(between > min(_ODD + chance, _MOST) * (clock[at.TIMES] - middle))


@one_blas_thread()
def resolved(core: DiagonalRLS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W and b, solved for once more in the span of W and of the class means.

    And by how much the outputs of each sample held change if S_w, below, is estimated without it.

    ::

        minimise sum_i w_i |t_i - x_i W|^2 + s2 |W|^2,    W = B U,
        b = sum_i w_i (t_i - x_i W) / n

    over U. The columns of B are those of W and the class means, each cut into bands: features are
    sorted by energy, and each band has the same share of it. With the class means m_j that is

        (C + s2 B'B) U = B' sums,    C = B' (sum_j N_j m_j m_j' + S_w) B.

    Everything but S_w is exact. S_w is estimated from the samples held, as the scatter about the
    exact class means, each by the weight of those that it stands for, and shrunk by 0.2 towards its
    diagonal, Q - sum_j N_j m_j^2, which is exact. As in the steps it is W that predicts as far as
    it can, and b what is left: then cosines of reduced samples mean something.

    Notes
    -----
    **Cost**: O(d c^2 + m nnz c + k^3) for m samples held and k directions, at most 200 or twice the
    number of classes. No array larger than W is made beside it.
    """
    assert core.sums is not None
    held, sums = held_samples(core), core.sums
    X = held.X.tocsc() if sparse.issparse(held.X) else held.X
    N = core.N[0]
    n, live = float(N.sum()), np.flatnonzero(N > 0)
    unit = float(np.sqrt(core.clock[at.S2]))  # of length, so that no power of it overflows
    factor, X = float(core.clock[at.FACTOR]) / unit, X * (1 / unit)

    def means(those: np.ndarray) -> np.ndarray:
        return factor * sums[those][:, live] / N[live]

    def directions(those: np.ndarray, M: np.ndarray) -> np.ndarray:
        return np.hstack([unit * core.W[those][:, live].astype(np.float64), M])

    found = []
    scatter, places, columns = [], [], []  # of each band
    for band in _bands(core.energy, max(1, round(_DIRECTIONS / len(live)))):
        G = np.zeros((2 * len(live), 2 * len(live)))
        D, Z, P = np.zeros_like(G), np.zeros((X.shape[0], len(G))), np.zeros((len(live), len(G)))
        for part in blocks(len(band), _FEATURES):
            those = band[part]
            M = means(those)
            B = directions(those, M)
            V = np.maximum(core.energy[those] / unit / unit - (M**2) @ N[live], 0.0)
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
        return core.W, core.b, np.zeros_like(held.targets)
    P, root = np.hstack(columns), np.sqrt(held.stands)[:, None]
    code = np.searchsorted(live, held.code)
    F = root * (np.hstack(places) - P[code])
    m = (N[live] / n) @ P
    C = (1 - _SHRUNK) * (F.T @ F) + _SHRUNK * linalg.block_diag(*scatter) + (P.T * N[live]) @ P
    C[np.diag_indices_from(C)] += 1.0 + len(C) * _EPS * C.diagonal().max()  # s2, and rounding
    solved = linalg.cho_solve(
        linalg.cho_factor(C, overwrite_a=True), np.hstack([P.T * N[live], F.T])
    )
    U, CF = solved[:, : len(live)], solved[:, len(live) :]
    own = (1 - _SHRUNK) * np.einsum("ij,ji->i", F, CF)
    across = (F / root + P[code] - m) * CF.T
    shift = np.zeros((len(F), len(N)))
    shift[:, live] = (1 - _SHRUNK) * (across.sum(axis=1) / (1 - own))[:, None] * (F @ U)
    W, b, first = np.zeros_like(core.W), np.zeros(len(N)), 0
    b[live] = N[live] / n - m @ U
    for band, T in found:
        TU = T @ U[first : first + T.shape[1]]
        first += T.shape[1]
        for part in blocks(len(band), _FEATURES):
            those = band[part]
            W[those[:, None], live] = directions(those, means(those)) @ TU / unit
    return W, b, shift


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
    return scale[:, None] * V[:, kept] / np.sqrt(L[kept])


# -- the classifier -------------------------------------------------------------------------


def _inner(X: Any, L: np.ndarray, L_b: float, root: np.ndarray) -> np.ndarray:
    """Return inner products of samples, a 1 appended, in the metric 1 / L, times roots."""
    K = (X / L) @ X.T
    return root[:, None] * ((K.toarray() if sparse.issparse(K) else K) + 1 / L_b) * root


def _inverse(K: np.ndarray, mu: float) -> np.ndarray:
    """Return (K + mu I)^-1."""
    factor = lapack.dpotrf(K + mu * np.eye(len(K)), lower=1, overwrite_a=1)[0]
    inverse = np.tril(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])
    return inverse + np.tril(inverse, -1).T


def _left_by_steps(core: DiagonalRLS, held: HeldSamples) -> np.ndarray:
    """Return I - S of the steps, times the roots of weights from the left, divided from the right.

    Of a sample that stands for others, the others are not left out. So its diagonal entry is 1 / (1
    + w a), a = x'(L + C)^-1 x without it.
    """
    L = core.clock[at.S2] + core.energy
    L_b = 1.0 + core.clock[at.FACTOR] * core.clock[at.QB]
    left = _inverse(_inner(held.X, L, L_b, np.sqrt(held.stands)), 1.0)
    alone = held.weight / held.stands
    diagonal = 1 / (1 + alone * (1 / left.diagonal() - 1))
    root = np.sqrt(alone)
    left *= root[:, None]
    left *= root
    left[np.diag_indices_from(left)] = diagonal
    return left


def polished(
    core: DiagonalRLS,
    held: HeldSamples,
    left: np.ndarray | None,
    start: tuple[np.ndarray, np.ndarray],
    residuals: np.ndarray,
    shift: np.ndarray | float = 0.0,
    spread: tuple[float, ...] = _SPREAD,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W and b, fitted once more to the samples held, and the residuals without each.

    ::

        minimise |E - X D|^2 + mu D' diag(L) D

    with E the residuals of the samples X, a 1 appended for the bias, each by its decayed weight,
    and L = s2 + (1 - share) Q, where share is that of all weight that X has. mu is 10, divided by
    ten, three times at most, while that does better for samples that are left out; if 10 does no
    better than D = 0, W is returned as it is. Without `left`, it is the ridge regression on the
    samples, and mu is smaller than the first only where that lowers the errors by a quarter.

    Parameters
    ----------
    core : DiagonalRLS
        The regression.
    held : HeldSamples
        Its samples.
    left : ndarray of shape (n_samples, n_samples) or None
        I - S of the steps; None where the samples are all that there were, and W and b are 0.
    start : (ndarray, ndarray)
        W and b, to which D is added.
    residuals : ndarray of shape (n_samples, n_classes)
        Of the samples.
    shift : ndarray of shape (n_samples, n_classes), optional
        By how much more their outputs change without them.
    spread : tuple of float
        The values of mu.

    Notes
    -----
    **Cost**: O(m^3 + m nnz) for m samples, with three arrays of shape (m, m).
    """
    (W, b), root = start, np.sqrt(held.weight)
    rest = 1 - min(1.0, held.weight.sum() / core.clock[at.WEIGHT])
    L = core.clock[at.S2] + rest * core.energy
    L_b = 1 + rest * core.clock[at.FACTOR] * core.clock[at.QB]
    E = root[:, None] * residuals
    K = _inner(held.X, L, L_b, root)
    rounding = 4 * len(K) * _EPS * float(K.diagonal().max())
    honest, best, dual, enough = residuals, np.inf, None, _CLEARLY
    if left is not None:
        honest, enough = residuals / left.diagonal()[:, None], 1.0
        best = float(held.stands @ np.sum((honest - shift) ** 2, axis=1))
    for mu in spread:
        ridge = max(mu, rounding)
        inverse = _inverse(K, ridge)
        Z = inverse @ E
        own = inverse.diagonal() if left is None else np.einsum("ij,ij->i", inverse, left)
        found = ridge * Z / (root * np.maximum(ridge * own, _LEAST))[:, None]
        loss = float(held.stands @ np.sum((found - shift) ** 2, axis=1))
        if loss >= enough * best:
            break
        best, dual, honest = loss, root[:, None] * Z, found
    if dual is None:
        return W, b, honest
    W = (W + (held.X.T @ dual) / L[:, None]).astype(W.dtype, copy=False)
    return W, b + dual.sum(axis=0) / L_b, honest


def _temperature(held: HeldSamples, outputs: np.ndarray, core: DiagonalRLS, several: bool) -> float:
    """Return the temperature with which the labels of samples are most likely by their outputs."""
    live = np.flatnonzero(core.N[0] > 0)
    if len(live) < 1 + (not several):
        return UNIT
    weight = held.stands * (held.stands.sum() / (held.stands @ held.stands))
    logits, code = outputs[:, live] / UNIT, np.searchsorted(live, held.code)
    if several:  # each class on its own, against 1/2
        logits, code = (outputs[:, live].ravel() - 0.5) / UNIT, held.targets[:, live].ravel()
        logits, code = np.stack([np.zeros_like(logits), logits], axis=1), code.astype(np.intp)
        weight = np.repeat(weight / len(live), len(live))
    return UNIT * calibrated(logits, code, weight, SURE, 1.0)[2]


def with_better_scores(
    held: HeldSamples, live: np.ndarray, outputs: np.ndarray, model: LinearClassifier, ahead: float
) -> tuple[LinearClassifier, np.ndarray]:
    """Return a model by log posteriors of outputs, if these predict better, or the model itself.

    And its scores of the classes `live` for the samples held. The outputs within the classes are
    taken as normal, with one covariance, that of samples that are left out. The mean logarithm of
    the probability of the label has to be ahead by so many standard errors, and by 0.03, or the
    mean recall of the classes by 0.03 and two standard errors: a small gain may cost hits, but not
    where rare classes are found. Each sample has one label, and each of the classes `live` has
    samples.
    """
    Z, T, code = outputs[:, live] / UNIT, held.targets[:, live], np.searchsorted(live, held.code)
    some = T.sum(axis=0)[code] > 1  # else no other sample is of the class
    if len(live) < 3 or not some.any():
        return model, outputs[:, live]
    fold = by_time(code, np.arange(len(code)), _FOLDS)
    weight = held.stands[some]
    weight = weight * (weight.sum() / (weight @ weight))

    def scored(L: np.ndarray) -> tuple[float, float, float, np.ndarray]:
        return calibrated(L[some], code[some], weight, SURE, 1.0)

    def by_others(added: float) -> np.ndarray:
        L = np.empty_like(Z)
        for k in range(_FOLDS):
            left = fold != k
            A, a = _posteriors(Z[left], T[left], held.stands[left], added)
            L[~left] = Z[~left] @ A + a
        return L

    posterior = {added: by_others(added) for added in _ADDED}
    found = {added: scored(L) for added, L in posterior.items()}
    added = max(found, key=lambda value: found[value][0])
    gain = found[added][3] - scored(Z)[3]
    hits, before = ((L.argmax(axis=1) == code)[some] for L in (posterior[added], Z))
    more, of_class = hits.astype(np.float64) - before, (held.stands / (held.stands @ T)[code])[some]
    recalled = np.average(more, weights=of_class) >= _GAIN and is_clearly_positive(
        more, of_class, _RECALLED
    )
    likely = np.average(gain, weights=weight) >= _GAIN
    if not (likely or recalled) or not is_clearly_positive(gain, weight, ahead):
        return model, outputs[:, live]
    A, a = _posteriors(Z, T, held.stands, added)
    W, b = np.zeros_like(model.W), np.zeros_like(model.b)
    W[:, live], b[live] = model.W[:, live] @ (A / UNIT), model.b[live] @ (A / UNIT) + a
    return LinearClassifier(W, b, found[added][2]), posterior[added]


def with_calibration(
    held: HeldSamples, live: np.ndarray, scores: np.ndarray, model: LinearClassifier
) -> LinearClassifier:
    """Return the model whose scores of the classes `live` are log posteriors, by samples held.

    `scores` are theirs, by models without them; see `calibration`.
    """
    T, code = held.targets[:, live], np.searchsorted(live, held.code)
    some = T.sum(axis=0)[code] > 1  # else no other sample is of the class
    if len(live) < 2 or not some.any():
        return model
    counts, weight = held.stands @ T, held.stands[some]
    weight = weight * (weight.sum() / (weight @ weight))
    A, a = calibration(scores[some], code[some], weight, counts, model.temperature)
    W, b = np.zeros_like(model.W), np.zeros_like(model.b)
    W[:, live], b[live] = model.W[:, live] @ A, model.b[live] @ A + a
    return LinearClassifier(W, b, 1.0)


def _posteriors(
    Z: np.ndarray, T: np.ndarray, weight: np.ndarray, added: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and a: the log posteriors of normal classes are Z A + a, -inf without samples."""
    counts = weight @ T
    live = counts > 0
    T, counts = T[:, live], counts[live]
    M = (weight[:, None] * T).T @ Z / counts[:, None]
    F, m = np.sqrt(weight)[:, None] * (Z - T @ M), counts @ M / counts.sum()
    within = F.T @ F
    within[np.diag_indices_from(within)] += added * within.trace() / len(within)
    between = np.sqrt(counts)[:, None] * (M - m)
    found = Solution.of_all(counts, Z, between=between, within=within)
    A, a = np.zeros((Z.shape[1], len(live))), np.full(len(live), -np.inf)
    A[:, live], a[live] = rule(found, counts, m)
    return A, a
