"""IOC, IIS, IMMC, CCIPCA and ILDA: iterations on a few vectors, one step a sample.

The vectors V = W A' + S B', with S the class sums, are held as coordinates A and B in the basis
Q = [W | S], beside their inner products L = V'V, S'V and S'S. From the products Q'x of a sample x,
a step updates coordinates and inner products, at a cost that does not depend on the number of
features, and adds x g' to Q, with g the coefficients of the sample. The steps are compiled, in
`narrows.solve.iterations_steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse

from narrows.errors import RangeError, warn
from narrows.solve.codec import PART, SchemaError, Sizes
from narrows.solve.eigen import orthonormal as orthonormalised
from narrows.solve.in_place import entries
from narrows.solve.iterations_steps import REBASE, SpanArrays, StepRule, iteration_steps, project
from narrows.solve.products import compiled_pays
from narrows.solve.sums import BLOCK, blocks, too_large, weighted

_SPARSE_BLOCK = 4096  # sparse samples from one return to Python to the next
_DENSE_BLOCK = 64  # dense samples whose products with Q are one matrix product
_VANISHED = 1e-13  # relative to the parts that v is the sum of: a smaller v is rounding
_AGAIN = -1  # requested by this module, not by the kernel: repeat a step that lost too many digits
_EARLY = 8  # samples after the 2 p-th up to which each step is checked by itself
_LOST = 1e-5  # of a square: where deflation leaves less, products have lost five digits
_NOISE = 1e-12  # of |x|^2 + |m|^2: a start vector below this, by products, is rounding
_IN_ORDER = 32  # operations on numbers in a row in the time of one
_DRIFTED = 1e-6  # of the lengths: an error of the inner products above this is a warning


Start = Literal["raw", "centred", "unit"]


def restorer(core: Any, large: str, X: Any) -> Callable[[], None]:
    """Return a function that restores a solver after learning X, with one large array.

    Of that it holds the rows of the features in X, where these are few.
    """
    rows = X.indices if sparse.issparse(X) and X.nnz < X.shape[1] else slice(None)
    array, small = vars(core)[large], {k: v for k, v in vars(core).items() if k != large}
    small, before = deepcopy(small), array[rows].copy()

    def restore() -> None:
        array[rows] = before
        vars(core).update(small)
        setattr(core, large, array)

    return restore


class SparseBlock:
    """Successive CSR samples for a compiled step, which adds each to Q at once.

    Attributes
    ----------
    arrays : tuple
        For the kernel: three CSR parts and two products of a dense block, or None.
    coefficients : ndarray of shape (n_samples, n_columns)
        Sample t adds x g' to Q, with g row t.
    """

    def __init__(self, Q: np.ndarray, X: Any, rows: slice):
        ends = X.indptr[rows.start : rows.stop + 1]
        entries = slice(ends[0], ends[-1])
        self.Q = Q
        # of one type whatever those of X, so that one compiled kernel serves all
        self.ends = (ends - ends[0]).astype(np.int32)
        self.indices = X.indices[entries].astype(np.int32, copy=False)
        self.data = X.data[entries].astype(np.float64, copy=False)
        self.arrays = self.ends, self.indices, self.data, None, None
        self.coefficients = np.zeros((rows.stop - rows.start, self.Q.shape[1]))

    def _entries(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        entries = slice(self.ends[t], self.ends[t + 1])
        return self.indices[entries], self.data[entries]

    def products(self, t: int, raw: bool) -> np.ndarray:
        """Return Q'x for sample t, which has been learned; `raw`: without subtracting the shift."""
        indices, data = self._entries(t)
        return weighted(data, self.Q[indices])

    def square(self, t: int, raw: bool) -> float:
        """Return x'x."""
        data = self._entries(t)[1]
        return float(data @ data)

    def put(self, t: int, j: int, raw: bool) -> None:
        """Make sample t the base vector j."""
        indices, data = self._entries(t)
        self.Q[indices, j] = data

    def add_to_basis(self) -> None:
        """Add to Q what has not been added yet: nothing."""

    def changing(self, t: int) -> tuple[np.ndarray, Any]:
        """Return an array, and an index of what learning sample t changes in it."""
        return self.Q, self._entries(t)[0]


class DenseBlock:
    """Successive dense samples less the shift, and the shift as a last row; see `SparseBlock`.

    They are added to Q all at once. What is `raw` is not less the shift.
    """

    def __init__(self, Q: np.ndarray, X: np.ndarray, rows: slice, shift: np.ndarray | None):
        shift = np.zeros(X.shape[1]) if shift is None else shift
        self.Q, self.X = Q, X[rows]
        self.rows = np.vstack([self.X - shift, shift])
        self.coefficients = np.zeros((len(self.rows), self.Q.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # checked by the kernel
            self.QX, self.XX = self.rows @ self.Q, self.rows @ self.rows.T
        self.arrays = None, None, None, self.QX, self.XX

    def products(self, t: int, raw: bool) -> np.ndarray:
        products = self.QX[t] + self.XX[t] @ self.coefficients
        return products + self.products(-1, False) if raw else products

    def square(self, t: int, raw: bool) -> float:
        if raw:
            row = self.X[t].astype(np.float64)
            return float(row @ row)
        return float(self.XX[t, t])

    def put(self, t: int, j: int, raw: bool) -> None:
        self.coefficients[t, j] = 1.0
        if raw:
            self.coefficients[-1, j] = 1.0

    def add_to_basis(self) -> None:
        self.Q += self.rows.T @ self.coefficients

    def changing(self, t: int) -> tuple[np.ndarray, Any]:
        return self.coefficients, slice(None)


Block = SparseBlock | DenseBlock


class Span:
    """The vectors V of an iteration, in the basis [W | S], and their inner products.

    Parameters
    ----------
    n_features, n_components : int
        d and p.

    Attributes
    ----------
    Q : ndarray of shape (n_features, p + s)
        [W | S], for s class sums.
    state : SpanArrays
        A, B, and the inner products of V and S.
    shift : ndarray of shape (n_features,) or None
        Subtracted from every sample: the first sample if that was dense, so that a common offset
        costs no digits. A start vector enters W with the shift, so only sums depend on it.
    rebased : int
        n when the basis was last renewed.
    """

    state: Annotated[SpanArrays, PART]
    Q: Annotated[np.ndarray, "f8", "d p+s"]
    shift: Annotated[np.ndarray | None, "f8", "d"]
    rebased: Annotated[int, "i8 whole"]
    _lent = False  # whether an error may restore Q as it is now

    def __init__(self, n_features: int, n_components: int):
        p = n_components
        self.Q = np.zeros((n_features, p))
        shapes = (p, p), (p, 0), (p, p), (0, p), (0, 0), 0, p, p, p, p, 5
        self.state = SpanArrays(*(np.zeros(shape) for shape in shapes))
        np.fill_diagonal(self.state.A, 1.0)
        self.shift = None
        self.rebased = 0

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where the clock does not count the samples in N."""
        clock = self.state.clock
        if not 1 <= sizes["p"] <= sizes["d"]:
            raise SchemaError("Q: expected from 1 to d components, got others.")
        counted = clock[0] == self.state.N.sum() and max(clock[3], self.rebased) <= clock[0]
        if not counted or (clock[[0, 2, 3]] != np.floor(np.abs(clock[[0, 2, 3]]))).any():
            raise SchemaError("clock: expected one that counts the samples in N, got another.")

    def restorer(self, X: Any) -> Callable[[], None]:
        """Return a function that restores everything, if only samples of X were learned since."""
        self._lent = True
        return restorer(self, "Q", X if self.shift is None else None)  # None: all features

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
    def N(self) -> np.ndarray:
        """The number of samples in each sum."""
        return self.state.N

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
        return np.sqrt(np.maximum(np.diag(self.state.L), 0.0))  # or rounding

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
            W[:, live] = orthonormalised(W[:, live])
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

    def cost(self, X: Any, classes: int) -> float:
        """Return about how many operations one of the samples X of so many classes takes."""
        p = self.p
        f = max(classes, self.state.B.shape[1]) + 2
        steps, reading = 2 * f * (p + f) * (p + 1), entries(X) * (p + f)
        return 100 + steps / _IN_ORDER + reading / (1 if sparse.issparse(X) else _IN_ORDER)

    def widen(self, n_features: int) -> None:
        """Append features that were 0 in every sample so far."""
        more = n_features - len(self.Q)
        self.Q = np.pad(self.Q, ((0, more), (0, 0)))
        if self.shift is not None:
            self.shift = np.pad(self.shift, (0, more))

    # -- learning ---------------------------------------------------------------------------

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # checked at the end
    def learn(
        self,
        X: Any,
        labels: np.ndarray,
        rule: StepRule,
        start: Start,
        reduced: np.ndarray | None = None,
    ) -> int:
        """Run one step of the iteration for each sample, in order.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite; a sparse one without duplicate entries.
        labels : ndarray of shape (n_samples,)
            The class sum that each sample belongs to.
        rule : StepRule
            The iteration.
        start : {"raw", "centred", "unit"}
            v_j(j) = x(j); or so only v_1, and v_j(j) = u^j(j), the deflated x - m; or
            v_j(j) = x(j)/|x(j)|.
        reduced : ndarray of shape (n_samples, n_components), optional
            Row i is set to x(i) on the unit vectors of step i.

        Returns
        -------
        int
            Number of samples learned: all, unless `rule` says to stop.

        Notes
        -----
        **Cost** per sample: 4 nnz (p + s) operations for Q'x and for adding to Q (2 blocks of
        matrix products for dense samples), and about 10 s^3 (for p = s) that do not depend on d.
        """
        dense = isinstance(X, np.ndarray)
        if not dense and self.shift is not None and len(labels):
            self._become_raw()
        if dense and not self.n and len(labels):
            self.shift = X[0].astype(np.float64)
        p, s = self.state.B.shape
        f = s + 2  # vectors in F: Phi of each sum, u, m
        shapes = (p + s, s, (f, p + f), (f, p), (p, f), (p, p), p, p, p + f, p + f, f, p + s)
        filled = f * X.shape[0] if dense else X.nnz
        steps = len(labels) * (100 + 2 * f * (p + f) * (p + 1)) + filled * (p + s)
        run = iteration_steps if compiled_pays(0, steps) else iteration_steps.plain
        work, done = tuple(np.zeros(shape) for shape in shapes), 0  # the kernel names the arrays
        while done < len(labels) and not (rule.stop and self.still):
            size = _DENSE_BLOCK - self.n % _DENSE_BLOCK if dense else _SPARSE_BLOCK
            left = self._due - self.n if self._due > self.n else 1
            rows = slice(done, min(len(labels), done + size, done + left))
            block = (
                DenseBlock(self.Q, X, rows, self.shift) if dense else SparseBlock(self.Q, X, rows)
            )
            out = None if reduced is None else reduced[rows]
            more, asked = self._learn_block(run, block, labels[rows], rule, start, work, out)
            done += more
            if asked == _AGAIN:
                row = X[[done - 1]].toarray()[0] if not dense else X[done - 1].astype(np.float64)
                self._step_on_vectors(row, int(labels[done - 1]), rule, start)
                if reduced is not None:
                    reduced[done - 1] = row @ self.directions(rule.orthonormal)
            self._renew(asked)
        if not np.isfinite(self.state.L).all():
            raise RangeError(
                "samples of about one length",
                f"some so much longer that products are lost, up to sample {self.n} of all",
                None,
                "Scale the samples.",
            )
        if reduced is not None and done < len(labels):
            reduced[done:] = X[done:] @ self.directions(rule.orthonormal)
        return done

    def _learn_block(
        self,
        run: Callable[..., tuple[int, int]],
        block: Block,
        labels: np.ndarray,
        rule: StepRule,
        start: Start,
        work: tuple[np.ndarray, ...],
        reduced: np.ndarray | None,
    ) -> tuple[int, int]:
        """Learn the samples of a block; return how many, and what the last step asks for."""
        from narrows.solve.kernels import GO_ON, TOO_LARGE

        t, asked = 0, GO_ON
        while t < len(labels) and asked == GO_ON:
            active = self._active()
            checked = rule.eta is None and self.n < 2 * self.p + _EARLY
            # while a component waits, each sample may start it
            stop = t + 1 if checked or active < self.p else len(labels)
            if checked:
                before = SpanArrays(*(array.copy() for array in self.state))
                array, rows = block.changing(t)
                undone = array[rows].copy()
            more, asked = run(
                *block.arrays, t, labels[t:stop], self.Q, active, rule, rule.eta,
                self.state, work, block.coefficients, reduced,
            )  # fmt: skip
            left = self.state.clock[4]
            if active < self.p:
                left = min(left, self._start(block, t, active, start))
                if reduced is not None:
                    A, B, L, C = *self.state[:3], np.zeros_like(self.state.L)
                    Qx = block.products(t, raw=True)
                    project(t, Qx, rule.orthonormal, A, B, L, C, reduced)
            t += more
            if checked and left < _LOST and asked != TOO_LARGE:
                self.state, asked, array[rows] = before, _AGAIN, undone
        if asked != TOO_LARGE:
            block.add_to_basis()
        return t, asked

    # -- starting a component ---------------------------------------------------------------

    def _active(self) -> int:
        """Return how many components the next step updates: those before the first to start."""
        started = np.diag(self.state.L) > 0
        return self.p if started.all() else int(started.argmin())

    def _start(self, block: Block, t: int, j: int, how: Start) -> float:
        """Start component j from the sample just learned, if possible.

        It starts from the sample itself, or from x - m less its projections on v_1 .. v_{j-1}, one
        after the other. The sample enters W; the rest changes coordinates and inner products only.
        Returns the start vector's square as a share of |x|^2 + |m|^2: 1 for the sample itself, 0
        for rounding.
        """
        A, B, L, SV, SS, *_ = self.state
        n, p, used = self.n, self.p, self._used
        s = used - p
        raw = how != "centred" or j == 0
        Qx, xx = block.products(t, raw)[:used], block.square(t, raw)
        VSx = np.append(A @ Qx[:p] + B[:, :s] @ Qx[p:], Qx[p:])  # inner products with V and S
        length, projections, products = xx, np.zeros(j), VSx  # |v|^2, and v's products with V and S
        if not raw:
            V_S = np.block([[L, SV[:s].T], [SV[:s], SS[:s, :s]]])
            to_m = V_S[:, p:].sum(axis=1) / n
            mm = to_m[p:].sum() / n
            length, products = xx - 2 * Qx[p:].sum() / n + mm, VSx - to_m
            for k in range(j):
                projections[k] = products[k] / L[k, k]
                length -= projections[k] * products[k]
                products = products - projections[k] * V_S[k]
            if length <= _NOISE * (xx + mm):
                return 0.0 if xx + mm > 0 else 1.0
        if not length > 0:
            return 1.0
        A[j], B[j] = -projections @ A[:j], -projections @ B[:j]
        if not raw:
            B[j, :s] -= 1 / n
        unit = 1 / np.sqrt(length) if how == "unit" else 1.0
        A[j, j] = unit
        block.put(t, j, raw)
        L[j], L[:, j], SV[:s, j] = unit * products[:p], unit * products[:p], unit * products[p:]
        L[j, j] = unit**2 * length
        self.state.WW[j] = xx
        self.state.theta[j] = self.state.rho[j] = self.state.err[j] = 0.0
        return 1.0 if raw else float(length / (xx + mm))

    def _step_on_vectors(self, row: np.ndarray, label: int, rule: StepRule, start: Start) -> None:
        """Run one step of the papers' tables on whole vectors, in O(c d p).

        For the first samples where samples are long: |u|^2 is then so much more than |v| that v_1
        becomes nearly u, and inner products lose what is left of u.
        """
        p, (*_, mean_theta, rho, _, clock), N = self.p, self.state, self.state.N
        active, V = self._active(), self.vectors()
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
            shifted = v
            if rule.deflate:
                for k in range(j):
                    shifted = shifted - V[:, k] * (V[:, k] @ v) / (V[:, k] @ V[:, k])
            V[:, j] = (1 - gain) * v + (weight * Fv / length) @ F + theta / (n * length) * shifted
            nu = V[:, j] @ V[:, j]
            if nu > 0:
                F = F - np.outer(F @ V[:, j], V[:, j]) / nu
        if active < p:
            raw = start == "raw" or active == 0
            v = row if raw else F[-1]
            if v @ v > (0.0 if raw else _NOISE**2 * (x @ x + m @ m)):
                V[:, active] = v
                mean_theta[active] = rho[active] = 0.0
        self.Q[:, :p] = V
        self._restart(self._gram())

    # -- renewing the basis -----------------------------------------------------------------

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

    @property
    def _due(self) -> int:
        """The n from which on the basis is due to be renewed."""
        return max(self.p + 1, 2 * self.rebased)

    def _renew(self, asked: int) -> None:
        """Renew the basis if it is time, or if the last step asked for it."""
        from narrows.solve.kernels import LARGEST, TOO_LARGE

        if asked == TOO_LARGE:
            expected = f"samples whose squares sum to less than {LARGEST:g}"
            raise too_large(expected, None, f"a larger sum up to sample {self.n} of all")
        if asked == REBASE:
            self.rebase()
        elif self.n >= self._due:
            drift = self.rebase()
            if drift > _DRIFTED:
                warn(
                    f"expected inner products with errors below {_DRIFTED:.0e}, got {drift:.0e} "
                    f"after {self.n} samples. Scale the features to one size, or use an exact "
                    "method."
                )
