"""The incremental engine: the papers' iterations at a cost that grows with the non-zeros alone.

One step of IOC, IIS, IMMC or CCIPCA on sample x, with u = x - m and Phi_i = m_i - m, is

    v_j  <-  (1 - 1/n) v_j + 1/n (A^j v_j + theta_j v_j) / |v_j|,        j = 1 .. p in turn,
    A    =   between sum_i N_i/n Phi_i Phi_i' + total u u',

where A^j is A after Phi and u have been deflated by the new v_1 .. v_{j-1}. As written it costs
O(c d p). But every vector in it lies in the span of Q = [W | S], with W a basis, of shape
(n_features, n_components), and S the sums of the classes, of shape (n_features, s), and the step
needs inner products alone. So v_j is held by coordinates,

    V = W A' + S B',

beside the products L = V'V, SV = S'V, SS = S'S, and a sample costs O(nnz (p + s)) for Q'x and for
the fold

    W += x g',   S_label += x,   A g = kap_u / a - B_label,

with g such that no v has a part in x alone, and O(s^3) for the small matrices whatever d is. The
numbers are those of the written step but for rounding. To limit rounding the basis is renewed
(W = V, A = I, B = 0, products from Q) at n = p + 1, at every doubling of n, and when the
coordinates cancel. A component starts with the first sample that it can start from: the sample
enters W, and its projections are subtracted in coordinates.

`narrows.solve.span_basis` holds the vectors, `narrows.solve.criterion_steps` has the step, and
`narrows.solve.ilda_steps` that of ILDA, which needs the same inner products.

**Sources**: Yan et al., IEEE TKDE (2006), Table 1 (IOC); Yan et al., Information Sciences (2006),
Tables 2 and 3 (IMMC) and Table 4 with equation (14) (IIS); Weng, Zhang, Hwang, IEEE TPAMI 25(8),
2003 (CCIPCA); Hiraoka et al., ICPR 2000 (ILDA).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.errors import RangeError, warn
from narrows.solve.rows import DenseRows, Rows, SparseRows
from narrows.solve.span_basis import Basis, State
from narrows.solve.span_rules import ILDARule, Rule, Start

_ROWS = 4096  # sparse samples from one return to Python to the next
_BLOCK_ROWS = 64  # dense samples whose products with Q are one matrix product
_AGAIN = -1  # requested by this module, not by the kernel: repeat a step that lost too many digits
_EARLY = 8  # samples after the 2 p-th up to which each step is checked by itself
_LOST = 1e-5  # of a square: where deflation leaves less, products have lost five digits
_NOISE = 1e-12  # of |x|^2 + |m|^2: a start vector below this, by products, is rounding
_DRIFTED = 1e-6  # of the lengths: an error of the inner products above this is a warning


class Span(Basis):
    """The iterations on the vectors of a `Basis`, one step a sample."""

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # checked at the end
    def learn(
        self,
        X: Any,
        labels: np.ndarray,
        rule: Rule | ILDARule,
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
        rule : Rule or ILDARule
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

        Raises
        ------
        ValueError
            A sample whose square is too large for a float. Earlier samples have been learned.

        Notes
        -----
        **Cost** per sample: 4 nnz (p + s) operations for Q'x and the fold (2 blocks of matrix
        products for dense samples), and about 10 s^3 (for p = s) that do not depend on d.
        """
        dense = isinstance(X, np.ndarray)
        if not dense and self.shift is not None and len(labels):
            self._become_raw()
        if dense and not self.n and len(labels):
            self.shift = X[0].astype(np.float64)
        work, done = _work(self.p, len(self.state.N)), 0
        while done < len(labels) and not (rule.stop and self.still):
            size = _BLOCK_ROWS - self.n % _BLOCK_ROWS if dense else _ROWS
            end = min(len(labels), done + size, done + self._next_rebase() - self.n)
            part = slice(done, end)
            rows = DenseRows(self.Q, X, part, self.shift) if dense else SparseRows(self.Q, X, part)
            out = None if reduced is None else reduced[part]
            more, asked = self._learn_block(rows, labels[part], rule, start, work, out)
            done += more
            if asked == _AGAIN:
                row = X[[done - 1]].toarray()[0] if not dense else X[done - 1].astype(np.float64)
                assert isinstance(rule, Rule)
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
        rows: Rows,
        labels: np.ndarray,
        rule: Rule | ILDARule,
        start: Start,
        work: tuple[np.ndarray, ...],
        reduced: np.ndarray | None,
    ) -> tuple[int, int]:
        """Learn the samples of a block; return how many, and what the last step asks for."""
        from narrows.solve.kernels import GO_ON, TOO_LARGE
        from narrows.solve.span_parts import project

        steps, deflates = _kernel(rule), isinstance(rule, Rule)
        t, asked = 0, GO_ON
        while t < len(labels) and asked == GO_ON:
            active = self._active()
            checked = deflates and self.n < 2 * self.p + _EARLY
            # while a component waits, each sample may start it
            stop = t + 1 if checked or active < self.p else len(labels)
            before = State(*(array.copy() for array in self.state)) if checked else None
            undone = rows.keep(t) if checked else None
            more, asked = steps(
                *rows.arrays, t, labels[t:stop], self.Q, active, rule, self.state, work,
                rows.folds, reduced,
            )  # fmt: skip
            left = self.state.clock[4]
            if active < self.p:
                left = min(left, self._start(rows, t, active, start))
                if reduced is not None:
                    # as plain Python, for few samples: it is not worth compiling for Python
                    A, B, L, C = *self.state[:3], np.zeros_like(self.state.L)
                    Qx = rows.products(t, raw=True)
                    project.py_func(t, Qx, rule.orthonormal, A, B, L, C, reduced)
            t += more
            if before is not None and left < _LOST and asked != TOO_LARGE:
                self.state, asked = before, _AGAIN
                rows.restore(t - 1, undone)
        if asked != TOO_LARGE:
            rows.fold()
        return t, asked

    # -- starting a component ---------------------------------------------------------------

    def _active(self) -> int:
        """Return how many components the next step updates: those before the first to start."""
        started = np.diag(self.state.L) > 0
        return self.p if started.all() else int(started.argmin())

    def _start(self, rows: Rows, t: int, j: int, how: Start) -> float:
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
        Qx, xx = rows.products(t, raw)[:used], rows.square(t, raw)
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
        rows.put(t, j, raw)
        L[j], L[:, j], SV[:s, j] = unit * products[:p], unit * products[:p], unit * products[p:]
        L[j, j] = unit**2 * length
        self.state.WW[j] = xx
        self.state.theta[j] = self.state.rho[j] = self.state.err[j] = 0.0
        return 1.0 if raw else float(length / (xx + mm))

    def _step_on_vectors(self, row: np.ndarray, label: int, rule: Rule, start: Start) -> None:
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

    # -- limiting rounding ------------------------------------------------------------------

    def _next_rebase(self) -> int:
        """Return the n at which the basis is renewed next."""
        due = max(self.p + 1, 2 * self.rebased)
        return due if due > self.n else self.n + 1

    def _renew(self, asked: int) -> None:
        """Renew the basis if it is time, or if the last step asked for it."""
        from narrows.solve.kernels import LARGEST, TOO_LARGE
        from narrows.solve.span_parts import REBASE

        if asked == TOO_LARGE:
            raise RangeError(
                f"samples whose squares sum to less than {LARGEST:g}",
                f"a larger sum up to sample {self.n} of all",
                None,
                "Scale the data down.",
            )
        if asked == REBASE:
            self.rebase()
        elif self.n >= max(self.p + 1, 2 * self.rebased):
            drift = self.rebase()
            if drift > _DRIFTED:
                warn(
                    f"expected inner products with errors below {_DRIFTED:.0e}, got {drift:.0e} "
                    f"after {self.n} samples. Scale the features to one size, or use an exact "
                    "method."
                )


def _kernel(rule: Rule | ILDARule) -> Any:
    """Return the compiled loop of an iteration, which is imported only when it is needed."""
    if isinstance(rule, Rule):
        from narrows.solve.criterion_steps import criterion_steps as steps
    else:
        from narrows.solve.ilda_steps import ilda_steps as steps
    return steps


def _work(p: int, s: int) -> tuple[np.ndarray, ...]:
    """Return room for one step with p components and s sums; the kernel names the arrays."""
    f = s + 2  # vectors in F: Phi of each sum, u, m
    shapes = (p + s, s, (f, p + f), (f, p), (p, f), (p, p), p, p, p + f, p + f, f, p + s)
    return tuple(np.zeros(shape) for shape in shapes)
