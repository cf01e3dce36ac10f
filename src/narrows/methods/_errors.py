"""Errors name the class that the user called, and features as the data name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

from narrows.errors import RangeError, called, named

# modules whose functions know no estimator
_NAMELESS = (
    "narrows.state.",
    "narrows.solve.",
    "narrows.criteria",
    "narrows.methods._regression",
)


@contextmanager
def errors_named_after(estimator: Any) -> Iterator[None]:
    """Let errors and warnings of functions name the estimator and its features.

    Wrong arguments of a method that `atomic` calls are an error that names this class, too.
    """
    name = type(estimator).__name__
    outside = called.set(name)
    try:
        yield
    except RangeError as error:
        k = error.feature
        raise error.named(name, None if k is None else feature_name(estimator, k)) from None
    except (TypeError, ValueError) as error:
        module, message = _module_of(error), str(error)
        if module.startswith(_NAMELESS):
            error.args = (named(message, name),)
        elif module == "narrows.methods._atomic":
            before, _, rest = message.partition("(")
            call = f"{name}.{before.rpartition('.')[2]}"
            error.args = (f"{call}({rest} (see help({call}))",)
        raise
    finally:
        called.reset(outside)


def feature_name(estimator: Any, k: int) -> str:
    """Return the name of feature k, also while an estimator is being fitted."""
    names = getattr(estimator, "feature_names_in_", None)
    source = getattr(getattr(estimator, "_fitted", None), "source", None)
    if names is None and source is not None:
        names = source.names
    return f"x{k}" if names is None else str(names[k])


def _module_of(error: BaseException) -> str:
    """Return the name of the module that raised the error."""
    name = ""
    for frame, _ in walk_tb(error.__traceback__):
        name = frame.f_globals.get("__name__", "")
    return name
