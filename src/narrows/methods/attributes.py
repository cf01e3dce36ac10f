"""Attributes of estimators that show a part of the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from narrows.moments.moments import Moments
from narrows.solve.arrays import read_only
from narrows.solve.curve import NO_CURVE
from narrows.solve.solution import Solution


def attribute(read: Callable[[Solution], Any], doc: str) -> Any:
    """Return an attribute of estimators that is read from the solution."""

    def get(estimator: Any) -> Any:
        found = read(estimator._solution)
        return read_only(found) if isinstance(found, np.ndarray) else found

    return property(get, doc=doc)


def compared(name: str, plural: str) -> Any:
    """Return the values of a number that were compared, their scores, and the errors of these."""
    return (
        attribute(lambda s: (s.compared or NO_CURVE).values, f"The {plural} that were compared."),
        attribute(
            lambda s: (s.compared or NO_CURVE).scores,
            f"The mean score of held-out samples with each of `{name}`.",
        ),
        attribute(
            lambda s: (s.compared or NO_CURVE).errors, "The standard errors of these scores."
        ),
    )


HELD_OUT_SCORES = attribute(
    lambda s: (s.sizes or NO_CURVE).scores,
    'With ``n_features="cv"`` or ``n_components="cv"``, entry p - 1 is the held-out score of p of '
    "them; else empty.",
)
HELD_OUT_ERRORS = attribute(
    lambda s: (s.sizes or NO_CURVE).errors, "The standard errors of `held_out_scores_`."
)
EIGENVALUES = attribute(
    lambda s: s.padded(s.values),
    "The value of the criterion for each direction, of shape (n_components,).",
)
EXPLAINED = attribute(
    lambda s: s.explained,
    "The share of each direction in the sum of all eigenvalues, of shape (n_components,).",
)
RIDGE = attribute(lambda s: float(s.alpha), "The ridge.")


def class_scores(read: Callable[[Any, Moments], np.ndarray]) -> Any:
    """Return the attribute `class_scores_`, by a function of an estimator and its moments."""

    def get(estimator: Any) -> np.ndarray:
        m, _ = estimator.moments_, estimator._solution  # which raises where scores overflow
        p = m.priors(estimator.priors)
        scores = np.zeros((len(estimator.classes_), m.n_features))
        scores[p[m.counts > 0] > 0] = read(estimator, m)
        return scores

    return property(
        get,
        doc="The scores for each class, of shape (n_classes, n_features), ordered as `classes_`.",
    )
