"""Checks of parameters: each raises a ParameterError that says what was expected."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from narrows.errors import ParameterError
from narrows.state.class_stats import ClassStats
from narrows.state.labels import by_class


def same(a: Any, b: Any) -> bool:
    """Whether two values of a parameter mean the same: 1 feature is not the fraction 1.0."""
    if isinstance(a, str) or isinstance(b, str):  # which NumPy 2.1 cannot compare to numbers
        return isinstance(a, str) and isinstance(b, str) and a == b
    return np.array_equal(a, b) and isinstance(a, Integral) == isinstance(b, Integral)


def copied(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with copies of the arrays, lists and mappings, which may change later."""
    return {name: _copy(value) for name, value in parameters.items()}


def _copy(value: Any) -> Any:
    given = by_class(value)
    return dict(given) if given is not None else np.array(value) if np.ndim(value) else value


def is_number(value: Any, low: float, above: bool = False) -> bool:
    """Whether a parameter is a finite number >= low, or > low."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number = float(value)
    return bool(np.isfinite(number) and (number > low if above else number >= low))


def is_integer(value: Any, low: int) -> bool:
    """Whether a parameter is an integer >= low."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low


def check(who: str, name: str, value: Any, valid: bool, expected: str) -> None:
    """Raise ParameterError where the value of a parameter is not valid."""
    if not valid:
        raise ParameterError(f"{who}: {name} must be {expected}, got {value!r}.")


def check_whole(who: str, name: str, value: Any, otherwise: str = "", low: int = 1) -> None:
    """Raise ParameterError where a parameter is not an integer >= low."""
    check(who, name, value, is_integer(value, low), f"an integer >= {low}{otherwise}")


def check_word(who: str, name: str, value: Any, among: Iterable[str]) -> None:
    """Raise ParameterError where a parameter is not one of some words."""
    valid = isinstance(value, str) and value in among
    check(who, name, value, valid, " or ".join(f'"{word}"' for word in among))


def check_flags(estimator: Any, names: Iterable[str]) -> None:
    """Raise ParameterError where one of these parameters is neither True nor False."""
    for name in names:
        value = getattr(estimator, name)
        is_flag = isinstance(value, bool | np.bool_)
        check(type(estimator).__name__, name, value, is_flag, "True or False")


def check_seed(who: str, value: Any) -> None:
    """Raise ParameterError where a random state is not one."""
    try:
        check_random_state(value)
    except ValueError:
        expected = "None, a RandomState, or an integer from 0 to 2**32 - 1"
        check(who, "random_state", value, False, expected)


def check_half_life(who: str, value: Any) -> None:
    """Raise ParameterError where a half-life is neither None nor a number of samples."""
    valid = value is None or is_number(value, 0, above=True)
    check(who, "half_life", value, valid, "a number of samples > 0 or None")


def check_parts(who: str, half_life: Any) -> None:
    """Raise ParameterError where a half-life needs samples in order, which parts do not have."""
    if half_life is not None:
        raise ParameterError(
            f"{who}: expected half_life=None, since the parts of a distributed fit have no order, "
            f"got {half_life:g}. Leave half_life out, or fit a stream with partial_fit."
        )


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
