"""Checks of the arrays of a state against a schema, which each state declares as data.

A schema names the arrays of a state; a `Field` declares the type, the shape and the numbers of one
of them. Sizes have names, and a name stands for one size in the whole schema::

    {"counts": Field("f8", ("c",), NOT_NEGATIVE), "sums": Field("f8", ("c", "d"), FINITE)}

A rule is a `Check` of all arrays together. Compiled loops rely on these checks: they do not check
indices or counts themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from narrows.solve.codec import SchemaError

MOST = 2**53  # the largest count: integers up to here are exact as floats
_WIDEST = 2**31 - 1  # the largest size of an empty array
_LARGEST = float(np.finfo(np.float64).max)


class Check(NamedTuple):
    """A condition in words, and a function that tests it on an array (or all), given the sizes."""

    what: str
    holds: Callable[[Any, Mapping[str, int]], Any]


class Field(NamedTuple):
    """One array: its type (or types, or kinds), the names of its sizes, and a check of its numbers.

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
        # not so for NaN; compared as Python numbers, since a bound may overflow in single precision
        return bool(array.min().item() >= low and array.max().item() <= most)

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
WHOLE = Check("integers from 0 to 2**53", _whole)
SORTED = Check("distinct values in order", _sorted)
NUMBERING = Check("each number from 0 once", _numbering)
LABELS = Field("b i u f U O", ("c",), SORTED)


def checked(
    arrays: Mapping[str, np.ndarray], schema: Mapping[str, Field], rules: Sequence[Check] = ()
) -> dict[str, int]:
    """Return the sizes of the arrays, or raise SchemaError where they do not match `schema`.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Those that the schema does not name are not checked.
    schema : mapping of str to Field
        The sizes in a sum, all but one, have to be known from an earlier field.
    rules : sequence of Check
        Checked last, on all arrays.
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
            expected = "scalar" if not field.shape else " x ".join(map(str, field.shape))
            known = ", ".join(f"{key} = {size}" for key, size in sizes.items())
            raise SchemaError(
                f"{name}: expected shape {expected}{f' with {known}' if known else ''}, "
                f"got {array.shape}."
            )
        if field.check is not None and not field.check.holds(array, sizes):
            raise SchemaError(f"{name}: expected {field.check.what}, got others.")
    for rule in rules:
        if not rule.holds(arrays, sizes):
            raise SchemaError(f"expected {rule.what}, got others.")
    return sizes


def _fits(array: np.ndarray, shape: tuple[str | int, ...], sizes: dict[str, int]) -> bool:
    """Return whether the sizes match the known ones, and add new ones to these."""
    if array.ndim != len(shape):
        return False
    for names, size in zip(shape, array.shape, strict=True):
        terms = str(names).split("+")
        new = [term for term in terms if not term.isdigit() and term not in sizes]
        rest = size - sum(int(t) if t.isdigit() else sizes[t] for t in terms if t not in new)
        if not new and rest:
            return False
        if new and (rest < 0 or (rest > _WIDEST and not array.size)):
            return False
        sizes.update(dict.fromkeys(new, rest))
    return True
