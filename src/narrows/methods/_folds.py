"""The folds of a state, for parameters that are chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from narrows.errors import ParameterError
from narrows.state.stats import ClassStats

FOLDS = 5  # of the state of an estimator with such a parameter


def is_cv(value: Any) -> bool:
    """Whether a parameter is to be chosen by cross-validation."""
    return isinstance(value, str) and value == "cv"


def check_folds(who: str, what: str, stats: ClassStats) -> None:
    """Raise ParameterError unless a state has folds, from which `what` can be chosen."""
    if not stats.folds:
        raise ParameterError(
            f'{who}: expected a state with folds for {what}="cv", got one without. Fit again with '
            f'{what}="cv", or use ClassStats.of(X, y, …, folds={FOLDS}) for fit_stats.'
        )


def check_filled(who: str, what: str, fold: ClassStats, n_samples: int) -> None:
    """Raise ValueError unless a fold has samples."""
    if not fold.n:
        raise ValueError(
            f'{who}: expected samples of positive weight in each fold for {what}="cv", got '
            f"{n_samples} samples, and none in one of the folds. Fit to more samples, or set "
            f"{what} to a number."
        )
