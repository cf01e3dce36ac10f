"""The incremental engine: the papers' iterations at the cost of the non-zeros.

One step of IOC, IIS, IMMC or CCIPCA on sample x, with u = x - m and Phi_i = m_i - m, is

    v_j  <-  (1 - 1/n) v_j + 1/n (A^j v_j + theta_j v_j) / |v_j|,        j = 1 .. p in turn,
    A    =   between sum_i N_i/n Phi_i Phi_i' + total u u',

where A^j is A after Phi and u have been deflated by the new v_1 .. v_{j-1}. Written out this costs
O(c d p). But every vector in it lies in the span of Q = [W | S], with W (d, p) a basis and S (d, s)
the sums of the classes, and the step needs inner products alone. So v_j is kept by coordinates,

    V = W A' + S B',

beside the products L = V'V, SV = S'V, SS = S'S, and a sample costs O(nnz (p + s)) for Q'x and for
the fold

    W += x g',   S_label += x,   A g = kap_u / a - B_label,

with g such that no v has a part in x alone, and O(s^3) for the small matrices whatever d is. The
numbers are those of the written-out step but for rounding, which is kept in hand by making the
basis new (W = V, A = I, B = 0, products from Q) at n = p + 1, at every doubling of n, and when the
coordinates cancel. A component starts when a sample comes that it can start from: the sample goes
into W, and what is taken off it is a matter of coordinates. `narrows.solve.span_steps` has the step
itself. ILDA's step is another one on the same inner products.

**Sources**: paper 000, Table 1 (IOC); paper 004, Tables 2 and 3 (IMMC) and Table 4 with equation
(14) (IIS); Weng, Zhang, Hwang, IEEE TPAMI 25(8), 2003 (CCIPCA); Hiraoka et al., ICPR 2000 (ILDA).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from narrows.solve.errors import RangeError, warn
from narrows.solve.rows import DenseRows, Rows, SparseRows, touched
from narrows.solve.schema import COUNT, FINITE, WHOLE, Check, Field, checked
from narrows.solve.sums import BLOCK, blocks
from narrows.solve.undo import Undo

_ROWS = 4096  # sparse rows from one return to Python to the next
_BLOCK_ROWS = 64  # dense rows whose products with Q are made by one matrix product
_AGAIN = -1  # asked for here, and not by the kernel: a step that lost too much is done otherwise
_EARLY = 8  # samples after the 2 p-th up to which each step is looked at by itself
_LOST = 1e-5  # of a square: where deflation leaves less, products have lost five digits
_NOISE = 1e-12  # of |x|^2 + |m|^2: a start vector below this, by products, is rounding
_VANISHED = 1e-13  # of the parts it is made of: a v below this is rounding
_DRIFTED = 1e-6  # of the lengths: inner products that are so far off are warned of


Start = Literal["raw", "centred", "unit"]


class Rule(NamedTuple):
    """Which iteration it is, and when its directions are taken to be still.

    Parameters
    ----------
    between, total : float
        The criterion between S_b + total C.
    theta : ndarray of shape (p,)
        The shift of each component.
    margin : float
        If > 0, the shift is found: theta_j = max(0, -rho_j) + margin tr C, with rho_j the running
        mean (gain 2/n) of v_j'A^j v_j / |v_j|^2.
    deflate : bool
        Shift v_j less its projections on the new v_1 .. v_{j-1}, and not v_j itself.
    with_u : bool
        Whether u plays a part: where total is not 0, and in ILDA.
    eta : float, optional
        ILDA's step in the place of all this, with the gain eta; 0: it is found.
    amnesic : float
        CCIPCA's: a sample weighs 1 + amnesic times what it would in a plain mean.
    tol, patience : float
        Still means that the sum of |u_j(n) - u_j(n-1)| over the unit vectors was below tol for
        so many samples in a row. 0: not watched.
    least : int
        Classes that have to be seen before stillness counts.
    stop : bool
        Learn no more once still.
    orthonormal : bool
        Reduce rows by the vectors made orthonormal, the first ones first.
    """

    between: float
    total: float
    theta: np.ndarray
    margin: float = 0.0
    deflate: bool = False
    with_u: bool = False
    eta: float | None = None
    amnesic: float = 0.0
    tol: float = 0.0
    patience: float = 100.0
    least: int = 2
    stop: bool = False
    orthonormal: bool = False


class State(NamedTuple):
    """The small arrays of a `Span`, for p components and s sums."""

    A: np.ndarray  # (p, p), lower triangular
    B: np.ndarray  # (p, s)
    L: np.ndarray  # (p, p), V'V; a component with L_jj = 0 is still to start
    SV: np.ndarray  # (s, p), S'V
    SS: np.ndarray  # (s, s), S'S
    N: np.ndarray  # (s,), samples in each sum
    WW: np.ndarray  # (p,), |W_k|^2
    theta: np.ndarray  # (p,), the mean of theta_j over the steps of v_j, with v's own weights
    rho: np.ndarray  # (p,), the running mean that finds theta_j
    err: np.ndarray  # (p,), about how wrong L_jj is, relatively
    # n, the sum of |x|^2, how long still, the n at which it was long enough, and what deflation
    # left of the most reduced column of F in the last step, as a share of its square
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
        "a clock that counts the samples in N, and moments before",
        lambda arrays, sizes: (
            WHOLE.holds(arrays["clock"][[0, 2, 3]], sizes)
            and arrays["clock"][0] == arrays["N"].sum()
            and max(arrays["clock"][3], arrays["rebased"]) <= arrays["clock"][0]
        ),
    ),
)


def _work(p: int, s: int) -> tuple[np.ndarray, ...]:
    """Room for one step with p components and s sums; the kernel names the arrays."""
    f = s + 2  # vectors in F: Phi of each sum, u, m
    shapes = (p + s, p, s, s, (f, p + f), (f, p), (p, f), (p, p), p, p, p + f, p + f, p + s, f)
    return tuple(np.zeros(shape) for shape in shapes)


class Span:
    """p vectors v_j in d columns, held by coordinates in the span of a basis and the class sums.

    Parameters
    ----------
    n_features, n_components : int
        d and p.

    Attributes
    ----------
    Q : ndarray of shape (d, p + s)
        [W | S].
    state : State
    shift : ndarray of shape (d,) or None
        What is taken off every row: the first row, if that was dense, so that an offset of all
        rows costs no digits. A start vector goes into W with the shift, so nothing else has to
        know of it.
    rebased : int
        n when the basis was last made new.
    """

    def __init__(self, n_features: int, n_components: int):
        p = n_components
        self.Q = np.zeros((n_features, p))
        self.state = State(
            A=np.eye(p),
            B=np.zeros((p, 0)),
            L=np.zeros((p, p)),
            SV=np.zeros((0, p)),
            SS=np.zeros((0, 0)),
            N=np.zeros(0),
            WW=np.zeros(p),
            theta=np.zeros(p),
            rho=np.zeros(p),
            err=np.zeros(p),
            clock=np.zeros(5),
        )
        self.shift: np.ndarray | None = None
        self.rebased = 0
        self._lent = False  # whether somebody may want Q as it is back

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as named arrays, for `from_arrays`; numbers are kept to the bit."""
        arrays = {"Q": self.Q, "rebased": np.array(self.rebased), **self.state._asdict()}
        if self.shift is not None:
            arrays["shift"] = self.shift
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Span:
        """Return the span that `to_arrays` described."""
        checked(arrays, _SCHEMA, _RULES)
        new = cls(0, 0)
        new.Q = np.array(arrays["Q"])
        new.state = State(*(np.array(arrays[name]) for name in State._fields))
        new.shift = np.array(arrays["shift"]) if "shift" in arrays else None
        new.rebased = int(arrays["rebased"])
        return new

    # -- reading ----------------------------------------------------------------------------

    @property
    def p(self) -> int:
        """How many components there are, started or not."""
        return len(self.state.WW)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.Q)

    @property
    def n(self) -> int:
        """How many samples have been learnt."""
        return int(self.state.clock[0])

    @property
    def still(self) -> int | None:
        """The n at which the directions had been still for long enough, if they have."""
        return int(self.state.clock[3]) or None

    @property
    def _used(self) -> int:
        """Columns of Q up to the last sum that has samples.

        Products are taken of these alone, so that no bit depends on how many sums there are.
        """
        return self.p + int(np.max(np.flatnonzero(self.state.N) + 1, initial=0))

    @property
    def lengths(self) -> np.ndarray:
        """|v_j|, of shape (p,)."""
        return np.sqrt(np.diag(self.state.L))

    @property
    def sums(self) -> np.ndarray:
        """S' of shape (s, d), less `shift` for each sample in it; a view."""
        return self.Q[:, self.p :].T

    def directions(self, orthonormal: bool) -> np.ndarray:
        """v_j/|v_j|, or these made orthonormal, the first ones first; of shape (d, p)."""
        V = self.vectors()
        length = np.linalg.norm(V, axis=0)
        W = np.divide(V, length, out=V, where=length > 0)
        if orthonormal:
            live = np.flatnonzero(length)
            W[:, live], R = np.linalg.qr(W[:, live])
            W[:, live] *= np.where(np.diag(R) < 0, -1.0, 1.0)
        return W

    def vectors(self) -> np.ndarray:
        """V, of shape (d, p); 0 for a component that has not started."""
        return self.Q @ self._coordinates()

    def _coordinates(self) -> np.ndarray:
        """[A | B]', of shape (p + s, p), with V = Q [A | B]'."""
        live = np.diag(self.state.L) > 0
        return np.where(live, np.hstack([self.state.A, self.state.B]).T, 0.0)

    def drift(self) -> float:
        """How far the inner products kept are from those of Q, relative to the vectors' lengths."""
        return self._distance(self._gram(self._coordinates()))

    def _distance(self, G: np.ndarray) -> float:
        L, SV, SS = self.state.L, self.state.SV, self.state.SS
        length = np.sqrt(np.diag(G))
        kept = np.block([[L, SV.T], [SV, SS]])
        scale = np.outer(length, length)
        return float(np.max(np.abs(kept - G)[scale > 0] / scale[scale > 0], initial=0.0))

    # -- learning ---------------------------------------------------------------------------

    def add_sums(self, more: int) -> None:
        """Make room for more classes, in new arrays; those of before are left as they are."""
        state = self.state
        self.Q = np.pad(self.Q, ((0, 0), (0, more)))
        self.state = state._replace(
            B=np.pad(state.B, ((0, 0), (0, more))),
            SV=np.pad(state.SV, ((0, more), (0, 0))),
            SS=np.pad(state.SS, (0, more)),
            N=np.pad(state.N, (0, more)),
        )

    def widen(self, n_features: int) -> None:
        """Append columns that were 0 in every sample so far."""
        more = n_features - len(self.Q)
        self.Q = np.pad(self.Q, ((0, more), (0, 0)))
        if self.shift is not None:
            self.shift = np.pad(self.shift, (0, more))

    def note(self, X: Any, undo: Undo) -> None:
        """Let `undo` put everything back as it is now, if only the samples of X are learned."""
        undo.attributes(self)
        undo.array(self.Q, touched(X) if self.shift is None else slice(None))
        for array in self.state:
            undo.array(array)
        self._lent = True

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # of what is seen at its end
    def learn(
        self,
        X: Any,
        labels: np.ndarray,
        rule: Rule,
        start: Start,
        reduced: np.ndarray | None = None,
    ) -> int:
        """Take one step of the iteration for each row, in order.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, d)
            Finite; a sparse one without duplicate entries.
        labels : ndarray of shape (n,)
            Which sum each row belongs to.
        rule : Rule
            The iteration.
        start : {"raw", "centred", "unit"}
            v_j(j) = x(j); only v_1 so, and the others u^j(j), x - m deflated; or x(j)/|x(j)|.
        reduced : ndarray of shape (n, p), optional
            Row i becomes x(i) on the unit vectors of step i.

        Returns
        -------
        int
            How many rows were learnt: all, unless `rule` says to stop.

        Raises
        ------
        ValueError
            A row whose square is too large for a float. Some rows have been learnt then.

        Notes
        -----
        **Cost** per row: 4 nnz (p + s) operations for Q'x and the fold (2 blocks of matrix
        products for dense rows), and about 10 s^3 (for p = s) that do not depend on d.
        """
        from narrows.solve.kernels import GO_ON, TOO_LARGE
        from narrows.solve.span_steps import project, span_steps

        dense = isinstance(X, np.ndarray)
        if not dense and self.shift is not None and len(labels):
            self._become_raw()
        if dense and not self.n and len(labels):
            self.shift = X[0].astype(np.float64)
        work = _work(self.p, len(self.state.N))
        done = 0
        while done < len(labels) and not (rule.stop and self.still):
            size = _BLOCK_ROWS - self.n % _BLOCK_ROWS if dense else _ROWS
            end = min(len(labels), done + size, done + self._next_rebase() - self.n)
            part = slice(done, end)
            rows = DenseRows(self.Q, X, part, self.shift) if dense else SparseRows(self.Q, X, part)
            t, last, asked = 0, end - done, GO_ON
            out = None if reduced is None else reduced[done:end]
            while t < last and asked == GO_ON:
                active = self._active()
                # while a component waits, whether it starts is seen after each row
                early = active < self.p or (self.n <= 2 * self.p + _EARLY and rule.eta is None)
                stop = t + 1 if early else last
                before = State(*(array.copy() for array in self.state)) if early else None
                kept = rows.keep(t) if early else None
                learnt, asked = span_steps(
                    *rows.arrays, t, labels[done + t : done + stop], self.Q, active, rule, rule.eta,
                    self.state, work, rows.folds, out,
                )  # fmt: skip
                left = self.state.clock[4] if early else 1.0
                if active < self.p:
                    left = min(left, self._start(rows, t, active, start))
                    if out is not None:
                        project(rows.products(t, raw=True), rule, self.state, out[t : t + 1])
                t += learnt
                again = self.n <= 2 * self.p + _EARLY and left < _LOST and rule.eta is None
                if before is not None and again and asked != TOO_LARGE:
                    self.state, asked = before, _AGAIN
                    rows.restore(t - 1, kept)
            if asked != TOO_LARGE:
                rows.fold()
            done += t
            if asked == _AGAIN:
                row = X[[done - 1]].toarray()[0] if not dense else X[done - 1].astype(np.float64)
                self._written_out(row, int(labels[done - 1]), active, rule, start)
                if reduced is not None:
                    reduced[done - 1] = row @ self.directions(rule.orthonormal)
            self._look_after(asked)
        if not np.isfinite(self.state.L).all():
            raise RangeError(
                "samples of about one length",
                f"some so much longer that products up to number {self.n} of all are lost",
                None,
                "Scale the samples.",
            )
        if reduced is not None and done < len(labels):
            reduced[done:] = X[done:] @ self.directions(rule.orthonormal)
        return done

    # -- starting a component ---------------------------------------------------------------

    def _active(self) -> int:
        """How many components take part in the next step: those before the first without a v."""
        started = np.diag(self.state.L) > 0
        return self.p if started.all() else int(started.argmin())

    def _start(self, rows: Rows, t: int, j: int, how: Start) -> float:
        """Start component j from the row just learnt, if there is something to start from.

        It is the row itself, or x - m less its parts along v_1 .. v_{j-1}, one after the other.
        The row goes into W, and the rest is a matter of coordinates and inner products. Returns
        which share of |x|^2 + |m|^2 its square is: 1 if it is the row itself, 0 for rounding.
        """
        A, B, L, SV, SS, *_ = self.state
        n, p, used = self.n, self.p, self._used
        s = used - p
        raw = how != "centred" or j == 0
        Qx, xx = rows.products(t, raw)[:used], rows.square(t, raw)
        VSx = np.append(A @ Qx[:p] + B[:, :s] @ Qx[p:], Qx[p:])  # inner products with V and S
        if raw:
            length, parts, start = xx, np.zeros(j), VSx  # |v|^2, taken off, products with V and S
        else:
            V_S = np.block([[L, SV[:s].T], [SV[:s], SS[:s, :s]]])
            to_m = V_S[:, p:].sum(axis=1) / n
            mm = to_m[p:].sum() / n
            length, parts, start = xx - 2 * Qx[p:].sum() / n + mm, np.zeros(j), VSx - to_m
            for k in range(j):
                parts[k] = start[k] / L[k, k]
                length -= parts[k] * start[k]
                start = start - parts[k] * V_S[k]
            if length <= _NOISE * (xx + mm):
                return 0.0 if xx + mm > 0 else 1.0
        if not length > 0:
            return 1.0
        A[j], B[j] = -parts @ A[:j], -parts @ B[:j]
        if not raw:
            B[j, :s] -= 1 / n
        unit = 1 / np.sqrt(length) if how == "unit" else 1.0
        A[j, j] = unit
        rows.put(t, j, raw)
        L[j], L[:, j], SV[:s, j] = unit * start[:p], unit * start[:p], unit * start[p:]
        L[j, j] = unit**2 * length
        self.state.WW[j] = xx
        self.state.theta[j] = self.state.rho[j] = self.state.err[j] = 0.0
        return 1.0 if raw else float(length / (xx + mm))

    def _written_out(
        self, row: np.ndarray, label: int, active: int, rule: Rule, how: Start
    ) -> None:
        """One step of the tables on whole vectors, O(c d p).

        For the first samples of long rows: |u|^2 there is so much more than |v| that v_1 becomes
        all but u, and what is left of u is lost in inner products.
        """
        p, (*_, mean_theta, rho, _, clock), N = self.p, self.state, self.state.N
        V = self.vectors()
        x = row if self.shift is None else row - self.shift
        self.Q = self.Q.copy()
        self.Q[:, p + label] += x
        N[label] += 1
        clock[:3] = clock[0] + 1, clock[1] + x @ x, 0
        n, seen = clock[0], N > 0
        gain = (1 + rule.amnesic) / n if n > 1 + rule.amnesic else 1 / n
        m = self.sums.sum(axis=0) / n
        F = np.vstack([self.sums[seen] / N[seen, None] - m, x - m])
        weight = np.append(rule.between * N[seen] / n**2, rule.total * gain)
        for j in range(active):
            v = V[:, j].copy()
            length = np.linalg.norm(v)
            Fv = F @ v
            theta = rule.theta[j]
            if rule.margin > 0:
                rho[j] += 2 / n * (n * (weight @ Fv**2) / length**2 - rho[j])
                theta = max(0.0, -rho[j]) + rule.margin * max(0.0, clock[1] / n - m @ m)
            mean_theta[j] += (theta - mean_theta[j]) / n
            shift = v
            if rule.deflate:
                for k in range(j):
                    shift = shift - V[:, k] * (V[:, k] @ v) / (V[:, k] @ V[:, k])
            V[:, j] = (1 - gain) * v + (weight * Fv / length) @ F + theta / (n * length) * shift
            nu = V[:, j] @ V[:, j]
            if nu > 0:
                F = F - np.outer(F @ V[:, j], V[:, j]) / nu
        if active < p:
            first = how != "centred" or active == 0
            v = row if first else F[-1]
            if v @ v > (0.0 if first else _NOISE**2 * (x @ x + m @ m)):
                V[:, active] = v / np.linalg.norm(v) if how == "unit" else v
                mean_theta[active] = rho[active] = 0.0
        self.Q[:, :p] = V
        self._take(self._gram())

    # -- keeping the numbers good -----------------------------------------------------------

    def _next_rebase(self) -> int:
        due = max(self.p + 1, 2 * self.rebased)
        return due if due > self.n else self.n + 1

    def _look_after(self, asked: int) -> None:
        from narrows.solve.kernels import LARGEST, TOO_LARGE
        from narrows.solve.span_steps import REBASE

        if asked == TOO_LARGE:
            raise RangeError(
                f"samples whose squares add up to less than {LARGEST:g}",
                f"more up to number {self.n} of all",
                None,
                "Scale the data down.",
            )
        if asked == REBASE:
            self.rebase()
        elif self.n >= max(self.p + 1, 2 * self.rebased):
            drift = self.rebase()
            if drift > _DRIFTED:
                warn(
                    f"rounding has reached {drift:.0e} of the inner products after {self.n} "
                    "samples; scale the columns to one size, or use an exact method."
                )

    def rebase(self) -> float:
        """Make the basis new: W = V, A = I, B = 0, and all inner products from Q.

        2 d p (p + s) + d (p + s)^2 operations, in the place of the old one unless that is to be
        put back (`note`). Returns how far the inner products kept were from these, as `drift`
        does.
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
        self._take(G)
        return drift

    def _become_raw(self) -> None:
        """Give up the shift, which would fill sparse rows."""
        assert self.shift is not None
        self.rebase()
        self.Q = self.Q.copy()
        # the sum of |x|^2, where that of |x - shift|^2 was
        by_shift = 2 * self.sums.sum(axis=0) + self.n * self.shift
        self.state.clock[1] += self.shift @ by_shift
        self.Q[:, self.p :] += np.outer(self.shift, self.state.N)
        self.shift = None
        self._take(self._gram())

    def _take(self, G: np.ndarray) -> None:
        """Begin anew from this basis, whose inner products are G."""
        p, state = self.p, self.state
        state.A[:], state.B[:] = np.eye(p), 0.0
        state.L[:], state.SV[:], state.SS[:] = G[:p, :p], G[p:, :p], G[p:, p:]
        state.WW[:], state.err[:] = np.diag(state.L), 0.0
        self.rebased = self.n

    def _gram(self, coordinates: np.ndarray | None = None) -> np.ndarray:
        """[V | S]'[V | S] from Q, a block of columns of the data at a time; W for V if left out."""
        G, used = np.zeros((self.Q.shape[1],) * 2), self._used
        for rows in blocks(len(self.Q), self._rows_a_block()):
            block = self.Q[rows, :used]
            if coordinates is not None:
                block = np.hstack([block @ coordinates[:used], block[:, self.p :]])
            G[:used, :used] += block.T @ block
        return G

    def _rows_a_block(self) -> int:
        return max(1, BLOCK // max(1, self.Q.shape[1]))
