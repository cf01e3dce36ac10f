"""The folds of a state, for parameters that are chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from narrows.moments.stats import ClassStats
from narrows.solve.errors import ParameterError

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


def folds_of(who: str, what: str, stats: ClassStats) -> list[ClassStats]:
    """Return the states of the folds; an error where they are missing or too few samples.

    Parameters
    ----------
    who, what : str
        The name of the estimator and that of the parameter, for messages.
    stats : ClassStats
        The state.
    """
    check_folds(who, what, stats)
    folds = [stats.fold(k) for k in range(stats.folds or 0)]
    filled = sum(fold.n > 0 for fold in folds)
    if filled < max(2, len(folds)):
        raise ValueError(
            f"{who}: expected samples of positive weight in each of {len(folds)} folds for "
            f'{what}="cv", got samples in {filled}. Fit to at least {len(folds)} samples, or set '
            f"{what} to a number."
        )
    return folds
