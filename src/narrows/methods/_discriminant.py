"""Discriminants that also classify, by the normal distributions that they assume."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from narrows.methods._atomic import lock_of
from narrows.methods._classifier import Classifier, Decision
from narrows.methods._cross import CrossProjector
from narrows.methods._project import ExplainedProjector
from narrows.methods._solved import Found, Solved, ridge_curve
from narrows.solve.ridge import Curve, temperature


class Discriminant(Classifier, ExplainedProjector, CrossProjector):
    """Directions that separate the classes, and a classifier by all of them.

    The classes are assumed to be normal with one covariance, that of the samples about their class
    means with the ridge added, so that log posteriors are linear. `n_components` does not matter.
    Log posteriors are divided by a number, such that those of held-out samples are most likely:
    without it, they are too sure where there are many features.
    """

    _kept = 2000

    def _decision(self, calibrated: bool = True) -> Decision:
        solution = self._solution
        if not isinstance(solution, Found) or solution.rule is None:
            if not isinstance(self._state, Solved):
                raise NotFittedError(
                    f"{type(self).__name__}: expected samples to predict by, got none so far. "
                    "Continue with partial_fit."
                )
            raise NotFittedError(
                f"{type(self).__name__}: expected a model that was fitted by narrows 0.2 or later, "
                "got an older one. Call fit again to predict."
            )
        temperature = self._temperature(solution) if calibrated else 1.0
        return Decision(*solution.rule, temperature, solution.map)

    def _solved_for(self, state: Any, solution: Found) -> Any:
        """Return the state that a solution is a function of."""
        return state

    def _temperature(self, solution: Found) -> float:
        """Return what log posteriors are divided by, from held-out samples if any were kept."""
        with lock_of(self):
            if solution.temperature is None:
                found, stats = 1.0, self._state
                if not isinstance(stats, Solved) and (stats.counts > 0).sum() > 1:
                    stats = self._solved_for(stats, solution)
                    S = stats.scatters()
                    held, counts = stats.held_out(S), stats.counts[stats.counts > 0]
                    if held:
                        found = temperature(S, counts, held, solution.alpha)
                solution.temperature = found  # last, since an interrupt may come before
            return solution.temperature


class Ridged(Discriminant):
    """A discriminant whose ridge alpha may be chosen by held-out samples."""

    @property
    def alpha_(self) -> float:
        """The ridge."""
        return float(self._solution.alpha)

    @property
    def alphas_(self) -> np.ndarray:
        """The ridges that were compared, of shape (n_alphas,)."""
        return self._curve().alphas

    @property
    def alpha_scores_(self) -> np.ndarray:
        """The mean log-likelihood of held-out samples with each of `alphas_`."""
        return self._curve().scores

    @property
    def alpha_errors_(self) -> np.ndarray:
        """The standard errors of `alpha_scores_`."""
        return self._curve().errors

    def _curve(self) -> Curve:
        return ridge_curve(self._solution)
