"""A diagonal regression about an origin, which moves to the mean of the samples.

Nothing that a regression holds needs the samples to follow: with delta the way of the origin, S the
first moments and N the weights that belong to them,

    Q -= 2 delta S - N delta^2,    b += delta W,    sums_j -= N_j delta

and s2 as the mean of Q over its samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.rls_rule import FACTOR, QB, S2, SEEN, WEIGHT, Rule

FEW = 64  # sparse samples of at most so many features are learned about an origin too
_OFTEN = 32  # samples, at least, from one move to the next where samples decay


class AboutOrigin:
    """What of a regression depends on its origin; `narrows.solve.rls` describes the attributes."""

    W: np.ndarray
    Q: np.ndarray
    b: np.ndarray
    N: np.ndarray
    clock: np.ndarray
    sums: np.ndarray | None
    origin: np.ndarray | None
    first: np.ndarray | None

    @property
    def mean(self) -> np.ndarray:
        """The decayed mean of all samples, of shape (n_features,), where there is an origin."""
        assert self.origin is not None
        assert self.first is not None
        return self.origin + self.clock[FACTOR] * self.first[1] / self.clock[WEIGHT]

    def move(self, origin: np.ndarray | None) -> None:
        """Measure samples from another origin; outputs stay the same.

        Nothing is changed in place.
        """
        if self.origin is None:
            return
        new = np.zeros_like(self.Q) if origin is None else origin
        delta, clock, first = new - self.origin, self.clock.copy(), self.first
        factor, qb, weight = clock[FACTOR], clock[QB], clock[WEIGHT] / clock[FACTOR]
        assert first is not None
        # not by BLAS, whose last digits depend on where arrays are in memory
        self.b = self.b + (delta[:, None] * self.W).sum(axis=0)
        self.Q = np.maximum(self.Q + delta * (qb * delta - 2 * first[0]), 0)
        if weight > 0:
            clock[S2] = max(clock[S2] + (delta * (delta - 2 * first[1] / weight)).sum(), 0)
        if self.sums is not None:
            self.sums = self.sums - delta[:, None] * (self.N[0] / factor)
        self.first = None if origin is None else first - np.array([[qb], [weight]]) * delta
        self.origin, self.clock = origin, clock

    def place(self, X: Any, weight: np.ndarray) -> None:
        """Take the first sample for the origin, if it is dense or has few features."""
        if self.clock[SEEN] or not weight.any():
            return
        if isinstance(X, np.ndarray) or X.shape[1] <= FEW:
            sample = X[[int((weight > 0).argmax())]]
            sample = sample.toarray() if sparse.issparse(sample) else sample
            self.origin, self.first = sample[0].astype(np.float64), np.zeros((2, X.shape[1]))

    def until_moved(self, weight: np.ndarray, rule: Rule) -> Iterator[tuple[slice, bool]]:
        """Yield successive samples, and whether the origin moves after them.

        It moves after 1, 2, 4, 8, ... samples; with a half-life, after so many again and again.
        """
        number = int(self.clock[SEEN]) + np.cumsum(weight > 0)
        if self.origin is None:
            yield slice(0, len(weight)), False
            return
        at = number & (number - 1) == 0
        if rule.keep < 1:
            at |= number % max(_OFTEN, int(np.ceil(np.log(0.5) / np.log(rule.keep) - 1e-6))) == 0
        ends = np.flatnonzero(at & (weight > 0)) + 1
        done = 0
        for end in ends.tolist():
            yield slice(done, end), True
            done = end
        if done < len(weight):
            yield slice(done, len(weight)), False
