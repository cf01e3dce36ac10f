"""W of a diagonal regression, solved for once more after a bad order of samples or a merge."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from narrows.solve.rls import DiagonalRLS
from narrows.solve.rls_held import held_samples, n_held
from narrows.solve.rls_rule import FACTOR, MEMORY, RECENT, REPLAYS, S2, SEEN, SUSPICIOUS
from narrows.solve.sums import blocks

_ODD = 0.05  # of the samples: if more were repeated, or learned by other parts, solve again
_MOST = 0.9  # no order is bad by chance beyond this share
_DIRECTIONS = 100  # of each kind, in all bands
_SHRUNK = 0.2  # of the scatter within classes: the part of which only the diagonal is kept
_FEATURES = 4096  # whose directions are made at a time
_SAME = 1e-9  # energies that differ by less, relatively, count as equal
_EPS = np.finfo(np.float64).eps
_DEPENDENT = 1e-8  # eigenvalues below this share of the largest: the directions depend


def is_odd(core: DiagonalRLS) -> bool:
    """Return whether the steps saw samples in a bad order, or in parts that were merged.

    If samples repeated, and samples learned before the last merge, are more than 5 % of all beyond
    what is repeated by chance: kappa is about normal, with variance chance / (100 (1 - chance)).
    Merging does not count where there are no more features than directions to solve in: W is then
    as good as merged.
    """
    clock = core.clock
    seen, odd = clock[SEEN], clock[REPLAYS]
    if core.n_features > 2 * _DIRECTIONS:
        odd += clock[SEEN] - clock[RECENT]
    if core.sums is None or not n_held(core) or not clock[S2] > 0:
        return False
    share = core.N[1] / max(core.N[1].sum(), 1e-300)
    chance = float(share @ share)
    if chance >= 1 - 1e-12:
        return False
    spread = np.sqrt(chance / (MEMORY * (1 - chance)))
    by_chance = spread * np.exp(-0.5 * (SUSPICIOUS / spread) ** 2) / np.sqrt(2 * np.pi)
    return bool(odd > min(_ODD + 2 * by_chance, _MOST) * (seen + MEMORY))


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
    unit = float(np.sqrt(core.clock[S2]))  # of length, so that no power of it overflows
    factor, X = float(core.clock[FACTOR]) / unit, X * (1 / unit)

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
    F = root * (np.hstack(places) - P[np.searchsorted(live, held.code)])
    m = (N[live] / n) @ P
    C = (1 - _SHRUNK) * (F.T @ F) + _SHRUNK * linalg.block_diag(*scatter) + (P.T * N[live]) @ P
    C[np.diag_indices_from(C)] += 1.0 + len(C) * _EPS * C.diagonal().max()  # s2, and rounding
    solved = linalg.cho_solve(
        linalg.cho_factor(C, overwrite_a=True), np.hstack([P.T * N[live], F.T])
    )
    U, CF = solved[:, : len(live)], solved[:, len(live) :]
    own = (1 - _SHRUNK) * np.einsum("ij,ji->i", F, CF)
    code = np.searchsorted(live, held.code)
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
    T: np.ndarray = scale[:, None] * V[:, kept] / np.sqrt(L[kept])
    return T
