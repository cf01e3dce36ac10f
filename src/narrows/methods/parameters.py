"""Parameters of estimators: what each may be is declared, and checked in one place.

A class declares `_constraints`, and inherits those of its bases: ::

    _constraints = {"alpha": word("auto", "scale", "cv") | real(0, 1e100), "keep": whole(0)}

The checks and their messages follow. Docstrings and options of the command line name all words that
a parameter may be, which a test asserts: options are shown before any method is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

import numpy as np

from narrows.errors import ParameterError, did_you_mean
from narrows.moments.labels import by_class, check_word, given_numbers
from narrows.removed import check_removed, check_removed_value

T = TypeVar("T")
KEPT = 2000  # samples, by default
_SYNONYMS = {  # what others call such a parameter
    "k": ("n_features",),
    "n_features_to_select": ("n_features",),
    "max_features": ("n_features",),
    "n_features": ("n_components",),
    "n_components": ("n_features",),
    "shrinkage": ("alpha", "mu"),
    "reg": ("alpha", "mu"),
}
LARGEST = 1e100  # of parameters beside which the data would be rounding
_MOST = 2**31 - 1  # of integers without another bound


def same(a: Any, b: Any) -> bool:
    """Whether two values of a parameter mean the same: 1 feature is not the fraction 1.0."""
    if a is b:
        return True
    if isinstance(a, str) or isinstance(b, str):  # which NumPy 2.1 cannot compare to numbers
        return isinstance(a, str) and isinstance(b, str) and a == b
    mine, theirs = by_class(a), by_class(b)
    if mine is not None and theirs is not None:  # a Series and what a model file holds of it
        return mine == theirs
    return np.array_equal(a, b) and isinstance(a, Integral) == isinstance(b, Integral)


def copied(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with copies of the arrays, lists and mappings, which may change later."""
    copies = dict(parameters)
    for name, value in parameters.items():
        if not (value is None or isinstance(value, str | Real)):
            given = by_class(value)
            copies[name] = (
                dict(given) if given is not None else np.array(value) if np.ndim(value) else value
            )
    return copies


def is_number(value: Any) -> bool:
    """Whether a parameter is a real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_integer(value: Any, low: int) -> bool:
    """Whether a parameter is an integer >= low."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low


@dataclass_transform(eq_default=False)
def parameters(kind: type[T]) -> type[T]:
    """Give a class the constructor that takes its annotated attributes, and leave only that.

    The class is no dataclass otherwise: other libraries compare and hash those by their fields, and
    what an estimator has learned is not among its parameters.
    """
    made: Any = dataclass(eq=False, repr=False, match_args=False)(kind)
    defaults = [field.name for field in fields(made)]
    for name in (*defaults, "__dataclass_fields__", "__dataclass_params__", "__replace__"):
        if name in vars(kind):
            delattr(kind, name)
    return kind


@lru_cache(maxsize=256)
def _taken(kind: type) -> Mapping[str, Parameter]:
    """Return the parameters of a class."""
    return signature(kind).parameters


def check_names(kind: type, given: Collection[str]) -> None:
    """Raise TypeError for a parameter that a class does not take, and say which may be meant."""
    taken = _taken(kind) if given else {}
    known = [name for name in taken if name != "self"]
    if any(each.kind is Parameter.VAR_KEYWORD for each in taken.values()):
        return
    check_removed(kind.__name__, given, TypeError)
    for name in given:
        if name not in known:
            same = next((mine for mine in _SYNONYMS.get(name, ()) if mine in known), name)
            raise TypeError(
                f"expected one of the parameters of {kind.__name__}, got {name!r}. "
                + did_you_mean(same, known)
            )


class Hinting:
    """A base of classes that say which parameter is meant by one that they do not take."""

    if not TYPE_CHECKING:  # so that a wrong parameter is still found by mypy

        def __new__(cls, /, *args: Any, **parameters: Any) -> Self:
            """Check the names of the parameters."""
            check_names(cls, parameters)
            return super().__new__(cls)


# -- what a parameter may be -----------------------------------------------------------------


@dataclass(frozen=True)
class Constraint:
    """What a parameter may be; `a | b` allows what one of them allows."""

    allows: Callable[[Any], bool]
    expected: tuple[str, ...]  # alternatives, for messages
    otherwise: str = ""  # what is expected instead of a value that is no number
    lists_features: bool = False  # by their names or indices

    def __or__(self, other: Constraint) -> Constraint:
        return Constraint(
            lambda value: self.allows(value) or other.allows(value),
            self.expected + other.expected,
            lists_features=self.lists_features or other.lists_features,
        )

    def said(self, text: str, otherwise: str = "") -> Constraint:
        """Return the same constraint with another text, and one for what is no number."""
        return Constraint(self.allows, (text,), otherwise, self.lists_features)

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError where the value of a parameter is not allowed."""
        if not self.allows(value):
            *others, last = self.expected
            expected = f"{', '.join(others)} or {last}" if others else last
            if is_integer(value, _MOST + 1) and "integer >=" in expected:
                expected += ", less than 2**31"
            odd = self.otherwise and not is_number(value)
            check(name, value, False, self.otherwise if odd else expected)


class Priors(Constraint):
    """Weights of classes: a word, or numbers, which the state checks against its classes."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError where a word is not one of those there are, or lists no numbers."""
        if isinstance(value, str):
            check_word(value)
        elif by_class(value) is None:
            given_numbers(value)


def real(
    low: float = -np.inf, high: float = np.inf, above: bool = False, closed: bool = False
) -> Constraint:
    """Return the finite numbers >= low, or > low if `above`; and < high, or <= high if `closed`."""

    def allows(value: Any) -> bool:
        if not is_number(value):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        enough = number > low if above else number >= low
        return enough and (number <= high if closed else number < high)

    less = f" and < {high:g}" if high < np.inf else ""
    return Constraint(allows, (f"a number {'>' if above else '>='} {low:g}{less}",))


def whole(low: int, high: int | None = None) -> Constraint:
    """Return the integers from `low` to `high`."""
    bounds = f">= {low}" if high is None else f"from {low} to {high:,}"
    return Constraint(
        lambda value: is_integer(value, low) and int(value) <= (high or _MOST),
        (f"an integer {bounds}",),
    )


def word(*words: str) -> Constraint:
    """Return some words."""
    return Constraint(
        lambda value: isinstance(value, str) and value in words,
        tuple(f'"{each}"' for each in words),
    )


def seed(high: int = 2**32) -> Constraint:
    """Return None, a RandomState, and the integers from 0 to less than `high`."""
    return Constraint(
        lambda value: (
            value is None
            or value is np.random
            or isinstance(value, np.random.RandomState)
            or (is_integer(value, 0) and int(value) < high)
        ),
        (f"None, a RandomState, or an integer from 0 to 2**{high.bit_length() - 1} - 1",),
    )


def _is_list(value: Any) -> bool:
    """Whether a value has one dimension; lists of several lengths have none."""
    try:
        return bool(np.ndim(value) == 1)
    except ValueError:
        return False


NONE, CV = Constraint(lambda value: value is None, ("None",)), word("cv")
FLAG = Constraint(lambda value: isinstance(value, bool | np.bool_), ("True", "False"))
LIST = Constraint(_is_list, ("a list",))
FEATURES = Constraint(LIST.allows, LIST.expected, lists_features=True)
ANY = Constraint(lambda value: True, ())
PRIORS = Priors(ANY.allows, ())
NOT_NEGATIVE = real(0).said("a finite number >= 0")
KEEP = whole(0, _MOST)
EPS = real(0, LARGEST).said("a finite number >= 0")
HALF_LIFE = real(0, above=True).said("a number of samples > 0") | NONE


@cache
def constraints_of(kind: Any) -> dict[str, Constraint]:
    """Return what the parameters of a class may be: its constraints, and those of its bases."""
    found: dict[str, Constraint] = {}
    for each in reversed(kind.__mro__):
        found |= vars(each).get("_constraints", {})
    taken = signature(kind).parameters  # a base has parameters that others lack
    return {name: constraint for name, constraint in found.items() if name in taken}


@cache
def parameter_of_features(kind: Any) -> str:
    """Return which parameter of a class lists features; "" where none does."""
    known = constraints_of(kind).items()
    return next((name for name, constraint in known if constraint.lists_features), "")


def check_constraints(estimator: Any) -> None:
    """Raise ParameterError where a parameter is not what the class declares."""
    kind = estimator.__class__
    for name, constraint in constraints_of(kind).items():
        value = getattr(estimator, name)
        check_removed_value(kind.__name__, name, value)
        constraint.check(name, value)


def check(name: str, value: Any, valid: bool, expected: str) -> None:
    """Raise ParameterError where the value of a parameter is not valid."""
    if not valid:
        raise ParameterError(f"expected `{name}` to be {expected}, got {value!r:.100}.")


def check_whole(name: str, value: Any) -> None:
    """Raise ParameterError where an argument is not an integer >= 1."""
    whole(1).check(name, value)


def check_parts(half_life: Any) -> None:
    """Raise ParameterError where a half-life needs samples in order, which parts do not have."""
    if half_life is not None:
        raise ParameterError(
            f"expected half_life=None, since the parts of a distributed fit have no order, "
            f"got {half_life:g}. Leave half_life out, or fit a stream with partial_fit."
        )


def is_cv(value: Any) -> bool:
    """Whether a parameter is to be chosen by cross-validation."""
    return isinstance(value, str) and value == "cv"


def chosen(estimator: Any) -> list[str]:
    """Return the names of the parameters that are to be chosen by cross-validation."""
    return sorted(name for name, value in vars(estimator).items() if is_cv(value))


def check_keep(estimator: Any) -> None:
    """Raise ParameterError where kept samples choose a parameter, and none are to be kept."""
    for name in chosen(estimator):
        if vars(estimator).get("keep") == 0:
            raise ParameterError(
                f'expected keep > 0 for {name}="cv", which needs kept '
                f"samples, got keep=0. Keep some, or set {name} to a number."
            )
