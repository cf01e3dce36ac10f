"""The pass of a Newton step: moments of two classes, and weighted ones with a working response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from narrows.errors import ParameterError
from narrows.methods.plan import Pass
from narrows.moments.moments import Moments
from narrows.moments.targets import Targets
from narrows.solve.codec import SchemaError, from_arrays, to_arrays
from narrows.solve.devices import in_memory
from narrows.solve.hashing import hashes
from narrows.solve.in_place import SignalsHeld, block_size
from narrows.solve.logistic import LogOdds, working
from narrows.solve.sums import blocks

_START, _WEIGHTED = "start_", "weighted_"  # of the names of arrays


@dataclass(frozen=True)
class Refine(Pass):
    """A pass that sums moments of two classes, and those of a Newton step for their log odds.

    The second moments have the working response and the log odds as targets, and the weights of
    that response.

    Parameters
    ----------
    start : LogOdds, optional
        Where the step starts.
    """

    start: LogOdds | None = None

    def after(self, state: list[Moments], map_of: Any) -> Self:
        """Return the pass that starts from the classifier that moments of classes determine."""
        return replace(self, start=map_of(state[0]))

    def empty(self, n_features: int) -> list[Moments]:
        """Return the moments of no samples: of classes, and weighted."""
        kind: Any = {"second": self.second, "keep": self.keep}
        return [Moments(n_features, **kind), Moments(n_features, **kind, numeric=True)]

    def add(
        self, state: list[Moments], X: Any, y: Any, weight: Any = None, first: int | None = None
    ) -> list[Moments]:
        """Return the moments with more samples, added in place.

        An interrupt leaves a whole number of blocks of samples added; an error leaves none.
        """
        if self.start is None:
            raise ParameterError(
                "expected fit or partial_fit for `refine`, where a step starts from a first "
                "classifier; got samples without one. Leave `refine` out in a Window."
            )
        if self.half_life is not None:
            return self._decayed(state, X, y, weight, self.n_samples(state))
        X = in_memory(X)
        targets = Targets.of_labels(X, y, weight)
        self._check_summable(X, targets)
        newton, keys = self._working(X, targets), self._keys(X, targets)
        for rows in blocks(X.shape[0], block_size(state[0].cost(X))):
            with SignalsHeld():
                state[0].add(X[rows], targets.rows(rows))
                state[1].add(X[rows], newton.rows(rows), (X[rows], keys[rows]))
        return state

    def _keys(self, X: Any, targets: Targets) -> np.ndarray:
        """Return the hashes by which weighted samples are kept: those that the classes keep."""
        assert self.start is not None
        second = self._shares(targets) > 0.5  # equal samples of two classes are two
        return hashes(X) + second.astype(np.uint64)

    def _shares(self, targets: Targets) -> np.ndarray:
        """Return which share of each sample belongs to the second class."""
        assert self.start is not None
        own = targets.T[:, targets.labels == self.start.labels[1]]
        second = np.asarray(own.sum(axis=1)).ravel()
        shares: np.ndarray = second / np.where(targets.weight > 0, targets.weight, 1.0)
        return shares

    def _working(self, X: Any, targets: Targets) -> Targets:
        """Return the working responses and log odds of samples, with their weights."""
        assert self.start is not None
        labels, two = targets.labels, self.start.labels
        assert labels is not None
        check_two(np.union1d(two, labels[np.asarray(targets.T.sum(axis=0)).ravel() > 0]))
        eta = self.start.of(X)
        response, weight = working(eta, self._shares(targets))
        numbers = np.column_stack([np.ones(len(eta)), response, eta])
        return Targets(None, numbers, weight * targets.weight)

    def n_samples(self, state: list[Moments]) -> int:
        """Return the number of samples."""
        return state[0].n_samples

    def n_held(self, state: list[Moments]) -> int:
        """Return how many samples are held as they are; one that both moments hold counts once."""
        if not all(len(each.samples.keys) for each in state):
            return super().n_held(state)
        return len(np.union1d(*(hashes(each.samples.X) for each in state)))

    def renamed(self, state: list[Moments], names: np.ndarray) -> list[Moments]:
        """Return the moments with other labels, in the order of the present."""
        return [state[0].renamed(names), state[1]]

    def to_arrays(self, state: list[Moments]) -> dict[str, np.ndarray]:
        """Return the start and the moments as named arrays, for `of_arrays`."""
        assert self.start is not None
        weighted = {_WEIGHTED + name: array for name, array in state[1].to_arrays().items()}
        return to_arrays(self.start, _START) | weighted | state[0].to_arrays()

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], expected: Pass) -> tuple[Pass, list[Moments]]:
        """Return the pass and moments of named arrays, which are taken out of the dict."""
        names = [name for name in arrays if name.startswith(_WEIGHTED)]
        own = {name.removeprefix(_WEIGHTED): arrays.pop(name) for name in names}
        start = from_arrays(LogOdds, arrays, None, _START)
        state = [Moments.read_from(arrays), Moments.read_from(own)]
        m, weighted = state
        fits = weighted.n_features == m.n_features == len(start.coef)
        kinds = m.second, weighted.second, m.is_numeric, weighted.is_numeric
        if not fits or kinds != ("cross", "cross", False, True) or weighted.n_targets != 2:
            raise SchemaError("weighted: expected the moments of a Newton step, got others.")
        return cls(None, m.second, m.keep, 1, expected.half_life, start=start), state


def check_two(labels: np.ndarray) -> None:
    """Raise ParameterError unless there are two classes."""
    if len(labels) < 2:
        raise ParameterError(
            f"expected two classes for `refine`, got {len(labels)}. Give samples of both, also in "
            "the first batch of a stream."
        )
    if len(labels) > 2:
        raise ParameterError(
            f"expected two classes for `refine`, got {len(labels)}. Leave `refine` out: held-out "
            "samples then choose a multinomial rule for the probabilities of more classes."
        )
