"""Parameters of estimators: what each may be is declared, and checked in one place.

A class declares `_constraints`, and inherits those of its bases: ::

    _constraints = {"alpha": Word("auto", "scale", "cv") | Real(0, 1e100), "head": Whole(1)}

The command line can make its options of them: `constraints_of` says of each parameter of a class
which words, numbers and bounds it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from inspect import signature
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any

import numpy as np

from narrows.errors import ParameterError, named
from narrows.state.class_stats import ClassStats
from narrows.state.labels import by_class, check_word

LARGEST = 1e100  # of parameters beside which the data would be rounding


def same(a: Any, b: Any) -> bool:
    """Whether two values of a parameter mean the same: 1 feature is not the fraction 1.0."""
    if a is b:
        return True
    if isinstance(a, str) or isinstance(b, str):  # which NumPy 2.1 cannot compare to numbers
        return isinstance(a, str) and isinstance(b, str) and a == b
    return np.array_equal(a, b) and isinstance(a, Integral) == isinstance(b, Integral)


def copied(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with copies of the arrays, lists and mappings, which may change later."""
    copies = dict(parameters)
    for name, value in parameters.items():
        if not (value is None or isinstance(value, str | RealNumber)):
            given = by_class(value)
            copies[name] = (
                dict(given) if given is not None else np.array(value) if np.ndim(value) else value
            )
    return copies


def is_integer(value: Any, low: int) -> bool:
    """Whether a parameter is an integer >= low."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low


# -- what a parameter may be -----------------------------------------------------------------


class Constraint:
    """What a parameter may be; `a | b` allows what one of them allows."""

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        raise NotImplementedError

    def expected(self, value: Any) -> list[str]:
        """Return what is expected instead of a value, as alternatives."""
        raise NotImplementedError

    def __or__(self, other: Constraint) -> OneOf:
        return OneOf((self, other))

    def said(self, text: str, otherwise: str = "") -> Said:
        """Return the same constraint with another text, and one for what is no number."""
        return Said((self,), text, otherwise)

    def check(self, who: str, name: str, value: Any) -> None:
        """Raise ParameterError where the value of a parameter is not allowed."""
        if not self.allows(value):
            *others, last = self.expected(value)
            check(who, name, value, False, f"{', '.join(others)} or {last}" if others else last)


@dataclass(frozen=True)
class OneOf(Constraint):
    """What one of several constraints allows."""

    of: tuple[Constraint, ...]

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return any(each.allows(value) for each in self.of)

    def expected(self, value: Any) -> list[str]:
        """Return what is expected, as alternatives."""
        return [text for each in self.of for text in each.expected(value)]


@dataclass(frozen=True)
class Said(OneOf):
    """A constraint with a text of its own."""

    text: str
    otherwise: str

    def expected(self, value: Any) -> list[str]:
        """Return what is expected."""
        is_real = isinstance(value, RealNumber) and not isinstance(value, bool)
        return [self.text if is_real or not self.otherwise else self.otherwise]


@dataclass(frozen=True)
class Real(Constraint):
    """A finite number >= low, or > low if `above`; and < high, or <= high if `closed`."""

    low: float = -np.inf
    high: float = np.inf
    above: bool = False
    closed: bool = False

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, bool) or not isinstance(value, RealNumber):
            return False
        number = float(value)
        enough = number > self.low if self.above else number >= self.low
        return enough and (number <= self.high if self.closed else number < self.high)

    def expected(self, value: Any) -> list[str]:
        """Return what is expected."""
        less = f" and < {self.high:g}" if self.high < np.inf else ""
        return [f"a number {'>' if self.above else '>='} {self.low:g}{less}"]


@dataclass(frozen=True)
class Whole(Constraint):
    """An integer from `low` to `high`."""

    low: int
    high: int | None = None

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return is_integer(value, self.low) and (self.high is None or int(value) <= self.high)

    def expected(self, value: Any) -> list[str]:
        """Return what is expected."""
        bounds = f">= {self.low}" if self.high is None else f"from {self.low} to {self.high:,}"
        return [f"an integer {bounds}"]


class Word(Constraint):
    """One of some words."""

    def __init__(self, *words: str):
        self.words = words

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, str) and value in self.words

    def expected(self, value: Any) -> list[str]:
        """Return what is expected, as alternatives."""
        return [f'"{word}"' for word in self.words]


class Flag(Constraint):
    """True or False."""

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, bool | np.bool_)

    def expected(self, value: Any) -> list[str]:
        """Return what is expected, as alternatives."""
        return ["True", "False"]


class Nothing(Constraint):
    """None."""

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return value is None

    def expected(self, value: Any) -> list[str]:
        """Return what is expected."""
        return ["None"]


@dataclass(frozen=True)
class Seed(Constraint):
    """None, a RandomState, or an integer from 0 to less than `high`."""

    high: int = 2**32

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if value is None or value is np.random or isinstance(value, np.random.RandomState):
            return True
        return is_integer(value, 0) and int(value) < self.high

    def expected(self, value: Any) -> list[str]:
        """Return what is expected."""
        power = int(self.high).bit_length() - 1
        return [f"None, a RandomState, or an integer from 0 to 2**{power} - 1"]


class Priors(Constraint):
    """Weights of classes: a word, or numbers, which the state checks against its classes."""

    def check(self, who: str, name: str, value: Any) -> None:
        """Raise ParameterError where a word is not one of those there are."""
        if isinstance(value, str):
            try:
                check_word(value)
            except ParameterError as error:
                raise ParameterError(named(str(error), who)) from None


NONE, CV = Nothing(), Word("cv")
NOT_NEGATIVE = Real(0).said("a finite number >= 0")
HALF_LIFE = Real(0, above=True).said("a number of samples > 0") | NONE


@cache
def constraints_of(kind: Any) -> dict[str, Constraint]:
    """Return what the parameters of a class may be: its constraints, and those of its bases."""
    found: dict[str, Constraint] = {}
    for each in reversed(kind.__mro__):
        found |= vars(each).get("_constraints", {})
    taken = signature(kind).parameters  # a base has parameters that others lack
    return {name: constraint for name, constraint in found.items() if name in taken}


def check_constraints(estimator: Any) -> None:
    """Raise ParameterError where a parameter is not what the class declares."""
    who = type(estimator).__name__
    for name, constraint in constraints_of(estimator.__class__).items():
        constraint.check(who, name, getattr(estimator, name))


def check(who: str, name: str, value: Any, valid: bool, expected: str) -> None:
    """Raise ParameterError where the value of a parameter is not valid."""
    if not valid:
        raise ParameterError(f"{who}: {name} must be {expected}, got {value!r}.")


def check_whole(who: str, name: str, value: Any) -> None:
    """Raise ParameterError where an argument is not an integer >= 1."""
    Whole(1).check(who, name, value)


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
