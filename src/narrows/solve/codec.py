"""Objects as named arrays, and back: states and solutions become files, without pickle.

A class declares its arrays by annotations; attributes without these are not stored::

    class Means:
        counts: Annotated[np.ndarray, "f8 >=0", "c"]
        sums: Annotated[np.ndarray, "f8", "c d"]
        origin: Annotated[np.ndarray | None, "f8", "d"]  # may be absent, as what is None by default
        core: Annotated[Span, PART]  # its arrays lie beside these
        table: Annotated[Table | None, PART, "c d"]  # the names of its arrays begin with "table"

First come the types of an array, and conditions on its numbers; floating-point numbers are finite
in any case. The names in its shape stand for one size each in the whole object, parts included;
single numbers have no shape, and "..." is any rest of one. ``check_arrays(sizes)``, if a class has
it, checks the rest, such as indices that compiled loops use, which do not check these themselves.
Where an object has other forms than can be declared, its class has ``to_arrays`` and ``read_from``
of its own; those of a part with a shape also take the start of its names. Where the class of such a
part has ``kinds``, the part is of one of these classes, by the word that is their ``kind``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
from scipy import sparse

PART = "part"
INFINITE = "infinite"  # a condition: numbers may be infinite, or none
SAMPLES = "samples"  # of shape (n_samples, n_features): dense, or CSR in three arrays
MOST = 2**53  # the largest count: integers up to here are exact as floats
_WIDEST = 2**31 - 1  # the largest size of an empty array
_WORDS = {
    bool: "true or false", int: "an integer", float: "a number", str: "text", list: "a list",
    dict: "an object", type(None): "null",
}  # fmt: skip
Sizes = dict[str, int]


class SchemaError(ValueError):
    """Arrays, or plain values, that no object has."""


def _whole(array: np.ndarray) -> bool:
    return not array.size or bool(
        array.min() >= 0 and array.max() <= MOST and (array == np.floor(array)).all()
    )


_CONDITIONS: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    ">=0": ("numbers >= 0", lambda array: array.min(initial=0) >= 0),
    ">0": ("numbers > 0", lambda array: (array > 0).all()),
    "whole": ("integers from 0 to 2**53", _whole),
    "sorted": ("distinct values in order", lambda array: (array[1:] > array[:-1]).all()),
    INFINITE: ("numbers", lambda array: True),
    "numbering": (
        "each number from 0 once",
        lambda array: np.array_equal(np.sort(array), np.arange(len(array))),
    ),
}


class Declared(NamedTuple):
    """What an annotation says of an attribute."""

    attribute: str
    name: str  # of the array
    kind: Any  # of the attribute
    optional: bool
    types: tuple[str, ...]
    conditions: tuple[str, ...]
    shape: tuple[str, ...]


@cache
def declared(kind: Any) -> tuple[Declared, ...]:
    """Return what a class declares, the attributes of its bases first."""
    found = []
    for attribute, hint in get_type_hints(kind, include_extras=True).items():
        if not hasattr(hint, "__metadata__"):
            continue
        given, shape, *name = (*hint.__metadata__, "")[: max(2, len(hint.__metadata__))]
        options = list(get_args(hint.__origin__) or (hint.__origin__,))
        words = given.split()
        are_conditions = [not word[0].isalpha() or word in _CONDITIONS for word in words]
        found.append(
            Declared(
                attribute,
                name[0] if name else attribute.lstrip("_"),
                options[0],
                type(None) in options or getattr(kind, attribute, ...) is None,
                tuple(
                    w for w, condition in zip(words, are_conditions, strict=True) if not condition
                ),
                tuple(w for w, condition in zip(words, are_conditions, strict=True) if condition),
                tuple(shape.split()),
            )
        )
    return tuple(found)


def to_arrays(item: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return what a class declares of an object as arrays; what is None is left out."""
    if hasattr(item, "to_arrays"):
        own: dict[str, np.ndarray] = item.to_arrays()
        return own
    return declared_to_arrays(item, prefix)


def declared_to_arrays(item: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return what a class declares, as `to_arrays` does where it has no form of its own."""
    arrays: dict[str, np.ndarray] = {}
    kind: Any = type(item)
    for each in declared(kind):
        value, name = getattr(item, each.attribute), prefix + each.name
        if each.types == (PART,) and not each.shape:
            arrays |= to_arrays(value, prefix)
        elif each.types == (PART,):
            arrays |= _part_to_arrays(each.kind, value, name)
        elif each.types == (SAMPLES,):
            arrays |= samples_to_arrays(value, name)
        elif value is not None:
            arrays[name] = np.asarray(value if each.shape else np.asarray(value).item())
    return arrays


def from_arrays(
    kind: Any, arrays: dict[str, np.ndarray], sizes: Sizes | None = None, prefix: str = ""
) -> Any:
    """Return the object of a class that has these arrays, as copies; or raise SchemaError.

    Its arrays are taken out of `arrays`, so that what is left has no use. `sizes` are known before,
    and get those that are found.
    """
    if hasattr(kind, "read_from"):
        return kind.read_from(arrays)
    return declared_from_arrays(kind, arrays, sizes, prefix)


def declared_from_arrays(
    kind: Any, arrays: dict[str, np.ndarray], sizes: Sizes | None = None, prefix: str = ""
) -> Any:
    """Return the object that a class declares, as `from_arrays` does."""
    sizes, values = {} if sizes is None else sizes, {}
    for each in declared(kind):
        name, value = prefix + each.name, None
        if each.types == (PART,) and not each.shape:
            value = from_arrays(each.kind, arrays, sizes, prefix)
        elif each.types == (PART,):
            value = _part_from_arrays(each, arrays, sizes, name)
        elif each.types == (SAMPLES,):
            value = samples_from(arrays, name, each.shape, sizes)
        elif name in arrays or not each.optional:
            value = taken(arrays, name, each.types, each.shape, sizes, each.conditions)
            value = value if each.shape else value.item()
        values[each.attribute] = value
    item: Any
    if hasattr(kind, "_fields") or is_dataclass(kind):
        item = kind(**values)
    else:
        item = object.__new__(kind)
        vars(item).update(values)
    if hasattr(item, "check_arrays"):
        item.check_arrays(sizes)
    return item


def _part_to_arrays(kind: Any, value: Any, name: str) -> dict[str, np.ndarray]:
    """Return a part as arrays whose names begin with `name`; none of None."""
    if value is None:
        return {}
    word = {name: np.array(value.kind or "")} if hasattr(kind, "kinds") else {}
    has_own = hasattr(value, "to_arrays")
    return word | (value.to_arrays(name) if has_own else declared_to_arrays(value, f"{name}_"))


def _part_from_arrays(
    each: Declared, arrays: dict[str, np.ndarray], sizes: Sizes, name: str
) -> Any:
    """Return a part that has the arrays whose names begin with `name`."""
    kind = each.kind
    if each.optional and not any(key == name or key.startswith(f"{name}_") for key in arrays):
        return None
    if hasattr(kind, "kinds"):
        word = taken(arrays, name, ("U",)).item() or None
        if word not in kind.kinds:
            raise SchemaError(f"{name}: expected one of {list(kind.kinds)}, got {word!r:.40}.")
        kind = kind.kinds[word]
    if hasattr(kind, "read_from"):
        return kind.read_from(arrays, name, each.shape, sizes)
    return declared_from_arrays(kind, arrays, sizes, f"{name}_")


def taken(
    arrays: dict[str, np.ndarray],
    name: str,
    types: tuple[str, ...],
    shape: tuple[str, ...] = (),
    sizes: Sizes | None = None,
    conditions: tuple[str, ...] = (),
) -> np.ndarray:
    """Take an array out of `arrays`, and return a copy; or raise SchemaError.

    Parameters
    ----------
    arrays : dict of str to ndarray
        It loses the array.
    name : str
        Of the array.
    types : tuple of str
        Types or kinds as NumPy names them, or "labels".
    shape : tuple of str
        Each size is a name, a number or a sum of these, such as ``"p+s"`` or ``"d+1"``. Those in a
        sum, all but one, have to be known.
    sizes : dict, optional
        Known sizes, which gets new ones.
    conditions : tuple of str
        Of `_CONDITIONS`, or such as ``"<d"`` for numbers from 0 to less than a size.
    """
    if name not in arrays:
        raise SchemaError(f"{name}: expected an array, got none.")
    array, sizes = arrays.pop(name), {} if sizes is None else sizes
    kinds = types
    if types == ("labels",):
        kinds, conditions = ("b", "i", "u", "f", "U", "O"), (*conditions, "sorted")
    if array.dtype.kind not in kinds and array.dtype.str[1:] not in kinds:
        raise SchemaError(f"{name}: expected type {' '.join(types)}, got {array.dtype.str[1:]}.")
    if not _fits(array, shape, sizes):
        expected = " x ".join(shape) or "scalar"
        known = ", ".join(f"{key} = {size}" for key, size in sizes.items())
        raise SchemaError(
            f"{name}: expected shape {expected}{f' with {known}' if known else ''}, "
            f"got {array.shape}."
        )
    if array.dtype.kind == "U":
        try:
            array.tolist()
        except (SystemError, ValueError):  # bytes that are no text
            raise SchemaError(f"{name}: expected text, got other bytes.") from None
    if array.dtype.kind == "f" and INFINITE not in conditions and not np.isfinite(array).all():
        raise SchemaError(f"{name}: expected finite numbers, got others.")
    for condition in conditions:
        if condition in _CONDITIONS:
            what, holds = _CONDITIONS[condition]
            fits = holds(array)
        else:
            size = condition.removeprefix("<")
            what, most = f"numbers from 0 to less than {size}", sizes.get(size)
            most = int(size) if most is None else most
            fits = not array.size or (array.min() >= 0 and array.max() < most)
        if not fits:
            raise SchemaError(f"{name}: expected {what}, got others.")
    return np.array(array)


def _fits(array: np.ndarray, shape: tuple[str, ...], sizes: Sizes) -> bool:
    """Return whether the sizes match the known ones, and add new ones to these."""
    if shape[-1:] == ("...",):
        shape = (*shape[:-1], *map(str, array.shape[len(shape) - 1 :]))
    if array.ndim != len(shape):
        return False
    for names, size in zip(shape, array.shape, strict=True):
        terms = names.split("+")
        new = [term for term in terms if not term.isdigit() and term not in sizes]
        rest = size - sum(int(t) if t.isdigit() else sizes[t] for t in terms if t not in new)
        if not new and rest:
            return False
        if new and (rest < 0 or (rest > _WIDEST and not array.size)):
            return False
        sizes.update(dict.fromkeys(new, rest))
    return True


# -- samples and other matrices --------------------------------------------------------------------


def samples_to_arrays(X: Any, start: str) -> dict[str, np.ndarray]:
    """Return samples, dense or CSR, as arrays whose names begin so; indices have 64 bits."""
    if isinstance(X, np.ndarray):
        return {f"{start}rows": np.ascontiguousarray(X)}
    parts = parts_of(X, start)
    return {key: a.astype(np.int64) if a.dtype.kind == "i" else a for key, a in parts.items()}


def samples_from(
    arrays: dict[str, np.ndarray], start: str, shape: tuple[str, ...], sizes: Sizes
) -> Any:
    """Return the samples of `samples_to_arrays`, of a shape of two names; the width is known."""
    if f"{start}rows" in arrays:
        return taken(arrays, f"{start}rows", ("f8",), shape, sizes)
    parts = parts_from(arrays, start, shape[0], shape[1], sizes)
    return sparse.csr_array(parts, shape=(sizes[shape[0]], sizes[shape[1]]))


def parts_of(X: Any, start: str) -> dict[str, np.ndarray]:
    """Return the parts of a CSR or CSC array as arrays whose names begin so."""
    return {f"{start}{key}": getattr(X, key) for key in ("indptr", "indices", "data")}


def parts_from(
    arrays: dict[str, np.ndarray], start: str, lines: str, width: str, sizes: Sizes
) -> tuple[np.ndarray, ...]:
    """Return the parts of `parts_of`, as SciPy takes them, of so many lines of a known width."""
    own = {**sizes}
    ends = taken(arrays, f"{start}indptr", ("i4", "i8"), (f"{lines}+1",), own)
    index = taken(arrays, f"{start}indices", ("i4", "i8"), ("_",), own, (f"<{width}",))
    data = taken(arrays, f"{start}data", ("f8",), ("_",), own)
    if ends[0] != 0 or ends[-1] != len(data) or (ends[1:] < ends[:-1]).any():
        raise SchemaError(f"{start}indptr: expected ends of lines, got others.")
    sizes[lines] = own[lines]
    return data, index, ends


# -- plain values, of headers ----------------------------------------------------------------------


def check_known(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise SchemaError for unknown names, whose values would be ignored."""
    more = sorted(set(given) - set(known))
    if more:
        raise SchemaError(f"{name}: expected known names only, got {more[0]!r:.40}.")


def check_plain(value: Any, form: Any, name: str) -> None:
    """Raise SchemaError where a value of JSON does not have this form.

    Parameters
    ----------
    value : object
        The value.
    form : type, None, or tuple, list or dict of forms
        A type, or null; a tuple of alternatives; a list whose entries have one form; or a dict of
        required keys with the forms of their values. A bool is not an integer.
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
