"""What the arrays of a state have to be: each state says it once, as data, and it is checked here.

A schema names the arrays of a state; a `Field` says of each which type and shape it has and what
its numbers are. Sizes have names, and are the same wherever the name stands::

    {"counts": Field("f8", ("c",), NOT_NEGATIVE), "sums": Field("f8", ("c", "d"), FINITE)}

What one array alone does not tell is a rule, a `Check` of all of them. Compiled loops trust every
index and every count that was checked here: they look at none themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

MOST = 2**53  # of a count: whole numbers up to here are floats, too
_WIDEST = 2**31 - 1  # of a size that no number in the file stands for
_LARGEST = float(np.finfo(np.float64).max)
_WORDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list",
    dict: "names with values", type(None): "null",
}  # fmt: skip


class SchemaError(ValueError):
    """Arrays, or plain values, are not what their schema says."""


class Check(NamedTuple):
    """What is expected, in words, and whether it holds of an array (or of all), given the sizes."""

    what: str
    holds: Callable[[Any, Mapping[str, int]], Any]


class Field(NamedTuple):
    """One array: its type (or types, or kinds), the names of its sizes, and what its numbers are.

    A size is a name, a number or a sum of these, such as ``"p+s"`` or ``"d+1"``.
    """

    types: str
    shape: tuple[str | int, ...] = ()
    check: Check | None = None
    optional: bool = False


def between(low: float, high: float | str, what: str = "") -> Check:
    """Return a check for numbers from `low` to `high`, or to less than the size `high`."""

    def holds(array: np.ndarray, sizes: Mapping[str, int]) -> bool:
        if not array.size:
            return True
        most = sizes[high] - 1 if isinstance(high, str) else high
        return bool(array.min() >= low and array.max() <= most)  # not so for NaN

    return Check(what or f"numbers from {low:g} to {'less than ' * isinstance(high, str)}{high}",
                 holds)  # fmt: skip


def _sorted(array: np.ndarray, sizes: Mapping[str, int]) -> bool:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return False
    return bool((array[1:] > array[:-1]).all())


def _whole(array: np.ndarray, sizes: Mapping[str, int]) -> bool:
    return COUNT.holds(array, sizes) and bool((array == np.floor(array)).all())


def _numbering(array: np.ndarray, sizes: Mapping[str, int]) -> bool:
    return np.array_equal(np.sort(array), np.arange(len(array)))


FINITE = between(-_LARGEST, _LARGEST, "finite numbers")
NOT_NEGATIVE = between(0, _LARGEST, "finite numbers >= 0")
COUNT = between(0, MOST, "numbers from 0 to 2**53")
WHOLE = Check("whole numbers from 0 to 2**53", _whole)
SORTED = Check("different ones in order", _sorted)
NUMBERING = Check("each number from 0 once", _numbering)
LABELS = Field("b i u f U O", ("c",), SORTED)


def checked(
    arrays: Mapping[str, np.ndarray], schema: Mapping[str, Field], rules: Sequence[Check] = ()
) -> dict[str, int]:
    """Return the sizes of the arrays; SchemaError where they are not what `schema` says.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        There may be more of them, which are not looked at.
    schema : mapping of str to Field
        A size that is only known as part of a sum has to come once before.
    rules : sequence of Check
        Looked at last, of all arrays.
    """
    sizes: dict[str, int] = {}
    for name, field in schema.items():
        if name not in arrays:
            if not field.optional:
                raise SchemaError(f"{name}: expected an array, got none.")
            continue
        array, types = arrays[name], field.types.split()
        if array.dtype.kind not in types and array.dtype.str[1:] not in types:
            raise SchemaError(f"{name}: expected type {field.types}, got {array.dtype.str[1:]}.")
        if not _fits(array, field.shape, sizes):
            told = "scalar" if not field.shape else " x ".join(map(str, field.shape))
            known = ", ".join(f"{key} = {size}" for key, size in sizes.items())
            raise SchemaError(
                f"{name}: expected shape {told}{f' with {known}' if known else ''}, "
                f"got {array.shape}."
            )
        if field.check is not None and not field.check.holds(array, sizes):
            raise SchemaError(f"{name}: expected {field.check.what}, got others.")
    for rule in rules:
        if not rule.holds(arrays, sizes):
            raise SchemaError(f"expected {rule.what}, got others.")
    return sizes


def _fits(array: np.ndarray, shape: tuple[str | int, ...], sizes: dict[str, int]) -> bool:
    """Whether the sizes are those that are known; note those that were not."""
    if array.ndim != len(shape):
        return False
    for told, size in zip(shape, array.shape, strict=True):
        terms = str(told).split("+")
        new = [term for term in terms if not term.isdigit() and term not in sizes]
        rest = size - sum(int(t) if t.isdigit() else sizes[t] for t in terms if t not in new)
        if not new and rest:
            return False
        if new and (rest < 0 or (rest > _WIDEST and not array.size)):
            return False
        sizes.update(dict.fromkeys(new, rest))
    return True


def check_known(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise SchemaError where more is given than is known: what it says would not be heeded."""
    more = sorted(set(given) - set(known))
    if more:
        raise SchemaError(f"{name}: expected what this version knows, got {more[0]!r:.40} too.")


def check_plain(value: Any, form: Any, name: str) -> None:
    """Raise SchemaError where a value of JSON is not of this form.

    Parameters
    ----------
    value : object
        What was read.
    form : type, None, or tuple, list or dict of forms
        A type, or null; one of several; a list of such, or by the keys that have to be there: more
        may be. A bool is no whole number.
    name : str
        Named in the error.
    """
    if isinstance(form, dict) and isinstance(value, dict):
        for key, entry in form.items():
            if key not in value:
                raise SchemaError(f"{name}.{key}: expected a value, got none.")
            check_plain(value[key], entry, f"{name}.{key}")
    elif isinstance(form, list) and isinstance(value, list):
        for entry in value:
            check_plain(entry, form[0], name)
    else:
        forms = form if isinstance(form, tuple) else (form,)
        kinds = [type(entry) if isinstance(entry, list | dict | None) else entry for entry in forms]
        if type(value) not in kinds:
            expected = " or ".join(_WORDS[kind] for kind in kinds)
            raise SchemaError(f"{name}: expected {expected}, got {_WORDS[type(value)]}.")
        if isinstance(form, tuple):
            check_plain(value, forms[kinds.index(type(value))], name)
