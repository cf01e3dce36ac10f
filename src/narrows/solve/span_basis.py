"""Vectors held by coordinates in a basis, so that a step need not touch all features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from narrows.solve.rows import touched
from narrows.solve.schema import COUNT, FINITE, WHOLE, Check, Field, checked
from narrows.solve.sums import BLOCK, blocks
from narrows.solve.undo import Undo

_VANISHED = 1e-13  # relative to the parts that v is the sum of: a smaller v is rounding


class State(NamedTuple):
    """The small arrays of a `Basis`, for p components and s class sums."""

    A: np.ndarray  # (p, p), lower triangular
    B: np.ndarray  # (p, s)
    L: np.ndarray  # (p, p), V'V; a component with L_jj = 0 has not started
    SV: np.ndarray  # (s, p), S'V
    SS: np.ndarray  # (s, s), S'S
    N: np.ndarray  # (s,), samples in each sum
    WW: np.ndarray  # (p,), |W_k|^2
    theta: np.ndarray  # (p,), the mean of theta_j over the steps of v_j, with v's own weights
    rho: np.ndarray  # (p,), the running mean that an automatic theta_j follows
    err: np.ndarray  # (p,), an estimate of the relative error of L_jj
    # n; the sum of |x|^2; for how many samples the stop criterion has held; the n at which it had
    # held for long enough; and what deflation left of the most reduced column of F in the last
    # step, as a share of its square
    clock: np.ndarray


_SCHEMA = {
    **{name: Field("f8", ("p",), FINITE) for name in ("WW", "theta", "rho", "err")},
    "N": Field("f8", ("s",), WHOLE),
    **{name: Field("f8", ("p", "p"), FINITE) for name in ("A", "L")},
    "B": Field("f8", ("p", "s"), FINITE),
    "SV": Field("f8", ("s", "p"), FINITE),
    "SS": Field("f8", ("s", "s"), FINITE),
    "clock": Field("f8", (5,), FINITE),
    "Q": Field("f8", ("d", "p+s"), FINITE),
    "shift": Field("f8", ("d",), FINITE, optional=True),
    "rebased": Field("i8", (), COUNT),
}
_RULES = (
    Check("from 1 to d components", lambda arrays, sizes: 1 <= sizes["p"] <= sizes["d"]),
    Check(
        "a clock that counts the samples in N, and earlier moments",
        lambda arrays, sizes: (
            WHOLE.holds(arrays["clock"][[0, 2, 3]], sizes)
            and arrays["clock"][0] == arrays["N"].sum()
            and max(arrays["clock"][3], arrays["rebased"]) <= arrays["clock"][0]
        ),
    ),
)


class Basis:
    """The vectors V = W A' + S B', with S the class sums, and their inner products.

    Parameters
    ----------
    n_features, n_components : int
        d and p.

    Attributes
    ----------
    Q : ndarray of shape (n_features, p + s)
        [W | S], for s class sums.
    state : State
        A, B, and the inner products of V and S.
    shift : ndarray of shape (n_features,) or None
        Subtracted from every sample: the first sample if that was dense, so that a common offset
        costs no digits. A start vector enters W with the shift, so only sums depend on it.
    rebased : int
        n when the basis was last renewed.
    """

    def __init__(self, n_features: int, n_components: int):
        p = n_components
        self.Q = np.zeros((n_features, p))
        shapes = (p, p), (p, 0), (p, p), (0, p), (0, 0), 0, p, p, p, p, 5
        self.state = State(*(np.zeros(shape) for shape in shapes))
        np.fill_diagonal(self.state.A, 1.0)
        self.shift: np.ndarray | None = None
        self.rebased = 0
        self._lent = False  # whether an update may restore Q as it is now

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as named arrays, for `from_arrays`; no bit changes."""
        arrays = {"Q": self.Q, "rebased": np.array(self.rebased), **self.state._asdict()}
        if self.shift is not None:
            arrays["shift"] = self.shift
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return what `to_arrays` described."""
        checked(arrays, _SCHEMA, _RULES)
        new = cls(0, 0)
        new.Q = np.array(arrays["Q"])
        new.state = State(*(np.array(arrays[name]) for name in State._fields))
        new.shift = np.array(arrays["shift"]) if "shift" in arrays else None
        new.rebased = int(arrays["rebased"])
        return new

    def note(self, X: Any, undo: Undo) -> None:
        """Let `undo` restore everything as it is now, if only the samples of X are learned."""
        undo.attributes(self)
        undo.array(self.Q, touched(X) if self.shift is None else slice(None))
        for array in self.state:
            undo.array(array)
        self._lent = True

    # -- reading ----------------------------------------------------------------------------

    @property
    def p(self) -> int:
        """Number of components, started or not."""
        return len(self.state.WW)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.Q)

    @property
    def n(self) -> int:
        """Number of samples learned."""
        return int(self.state.clock[0])

    @property
    def still(self) -> int | None:
        """The n at which the stop criterion was met, if it was."""
        return int(self.state.clock[3]) or None

    @property
    def _used(self) -> int:
        """Number of columns of Q up to the last sum that has samples.

        Products use these alone, so that no bit depends on how many sums there are.
        """
        return self.p + int(np.max(np.flatnonzero(self.state.N) + 1, initial=0))

    @property
    def lengths(self) -> np.ndarray:
        """|v_j|, of shape (n_components,)."""
        return np.sqrt(np.diag(self.state.L))

    @property
    def sums(self) -> np.ndarray:
        """S' of shape (s, n_features), less `shift` for each sample in it; a view."""
        return self.Q[:, self.p :].T

    def directions(self, orthonormal: bool) -> np.ndarray:
        """Return v_j/|v_j|, or these orthonormalised; of shape (n_features, n_components)."""
        V = self.vectors()
        length = np.linalg.norm(V, axis=0)
        W = np.divide(V, length, out=V, where=length > 0)
        if orthonormal:
            live = np.flatnonzero(length)
            W[:, live], R = np.linalg.qr(W[:, live])
            W[:, live] *= np.where(np.diag(R) < 0, -1.0, 1.0)
        return W

    def vectors(self) -> np.ndarray:
        """Return V, of shape (n_features, n_components); 0 for a component not yet started."""
        return self.Q @ self._coordinates()

    def _coordinates(self) -> np.ndarray:
        """Return [A | B]', of shape (n_components + s, n_components), with V = Q [A | B]'."""
        live = np.diag(self.state.L) > 0
        return np.where(live, np.hstack([self.state.A, self.state.B]).T, 0.0)

    def drift(self) -> float:
        """Return the error of the inner products, relative to the vectors' lengths."""
        return self._distance(self._gram(self._coordinates()))

    def _distance(self, G: np.ndarray) -> float:
        L, SV, SS = self.state.L, self.state.SV, self.state.SS
        length = np.sqrt(np.diag(G))
        held = np.block([[L, SV.T], [SV, SS]])
        scale = np.outer(length, length)
        return float(np.max(np.abs(held - G)[scale > 0] / scale[scale > 0], initial=0.0))

    # -- growing ----------------------------------------------------------------------------

    def add_sums(self, more: int) -> None:
        """Make room for more classes, in new arrays; the old ones do not change."""
        state = self.state
        self.Q = np.pad(self.Q, ((0, 0), (0, more)))
        self.state = state._replace(
            B=np.pad(state.B, ((0, 0), (0, more))),
            SV=np.pad(state.SV, ((0, more), (0, 0))),
            SS=np.pad(state.SS, (0, more)),
            N=np.pad(state.N, (0, more)),
        )

    def widen(self, n_features: int) -> None:
        """Append features that were 0 in every sample so far."""
        more = n_features - len(self.Q)
        self.Q = np.pad(self.Q, ((0, more), (0, 0)))
        if self.shift is not None:
            self.shift = np.pad(self.shift, (0, more))

    # -- renewing ---------------------------------------------------------------------------

    def rebase(self) -> float:
        """Renew the basis: W = V, A = I, B = 0, and all inner products from Q.

        2 d p (p + s) + d (p + s)^2 operations, in place unless the old basis may be restored
        (`note`). Returns the error of the old inner products, as `drift` does.
        """
        p, state, V = self.p, self.state, self._coordinates()
        W, S = np.sqrt(np.maximum(state.WW, 0.0)), np.sqrt(np.diag(state.SS))
        parts = np.abs(state.A) @ W + np.abs(state.B) @ S
        Q, used = np.zeros_like(self.Q) if self._lent else self.Q, self._used
        G = np.zeros((Q.shape[1],) * 2)
        holds = np.flatnonzero(np.bitwise_or.reduce(self.Q.view(np.int64), axis=1))
        for some in blocks(len(holds), self._rows_a_block()):
            rows = holds[some]
            block = self.Q[rows, :used]
            block[:, :p] = block @ V[:used]
            G[:used, :used] += block.T @ block
            Q[rows, :used] = block
        gone = np.flatnonzero(np.sqrt(np.diag(G)[:p]) <= _VANISHED * parts)
        if len(gone):
            Q[:, gone] = G[gone] = G[:, gone] = 0.0
        self.Q, self._lent = Q, False
        drift = self._distance(G)
        self._restart(G)
        return drift

    def _become_raw(self) -> None:
        """Give up the shift, which would fill sparse samples."""
        assert self.shift is not None
        self.rebase()
        self.Q = self.Q.copy()
        # the sum of |x|^2, where that of |x - shift|^2 was
        by_shift = 2 * self.sums.sum(axis=0) + self.n * self.shift
        self.state.clock[1] += self.shift @ by_shift
        self.Q[:, self.p :] += np.outer(self.shift, self.state.N)
        self.shift = None
        self._restart(self._gram())

    def _restart(self, G: np.ndarray) -> None:
        """Continue from W = V, with the inner products G of Q."""
        p, state = self.p, self.state
        state.A[:], state.B[:] = np.eye(p), 0.0
        state.L[:], state.SV[:], state.SS[:] = G[:p, :p], G[p:, :p], G[p:, p:]
        state.WW[:], state.err[:] = np.diag(state.L), 0.0
        self.rebased = self.n

    def _gram(self, coordinates: np.ndarray | None = None) -> np.ndarray:
        """Return [V | S]'[V | S] from Q, a block of features at a time; V is W by default."""
        G, used = np.zeros((self.Q.shape[1],) * 2), self._used
        for rows in blocks(len(self.Q), self._rows_a_block()):
            block = self.Q[rows, :used]
            if coordinates is not None:
                block = np.hstack([block @ coordinates[:used], block[:, self.p :]])
            G[:used, :used] += block.T @ block
        return G

    def _rows_a_block(self) -> int:
        return max(1, BLOCK // max(1, self.Q.shape[1]))
