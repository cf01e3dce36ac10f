"""The weight eps of the maximum margin criterion, from samples that are held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from narrows.solve.ridge import TIMID, Curve, HeldOut, Posterior, curve
from narrows.solve.scatter import Answer, Scatter, leading, rule

GRID = 10.0 ** np.arange(-1.0, 2.0, 0.5)  # of eps, times `unit`


def choose_eps(S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], unit: float) -> Curve:
    """Return how well held-out samples are predicted for each eps, `GRID` times `unit`.

    They are classified by the c - 1 leading directions of all others, as normal classes with the
    common covariance that these have in that space.

    Notes
    -----
    **Cost**: an eigenproblem for each part and eps.
    """
    return curve(S, counts, held, unit * GRID, TIMID, by=_classifier)


def _classifier(S: Scatter, counts: np.ndarray, Z: np.ndarray) -> Posterior:
    """Return a function of eps: the log posteriors of samples, as `ridge.classifier`."""
    live = counts > 0
    L = S.within()
    within = L + np.tril(L, -1).T

    def posterior(eps: float) -> np.ndarray:
        _, V = leading(S, 1 + eps, -eps, max(1, int(live.sum()) - 1))
        answer = Answer(np.empty(0), V, 0, S.H[live] @ V, V.T @ within @ V)
        coef, intercept = rule(answer, counts[live], np.zeros(V.shape[1]))
        found = np.full((len(Z), len(counts)), -np.inf)
        found[:, live] = (Z @ V) @ coef + intercept
        return found

    return posterior
