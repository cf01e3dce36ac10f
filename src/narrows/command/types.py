"""The types of options and arguments: what words become, and how they are completed."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from contextlib import suppress
from errno import ENOENT
from typing import Any

import click
from click.shell_completion import CompletionItem

from narrows.errors import did_you_mean
from narrows.io.kinds import kind_of
from narrows.methods import MODULES

RIVALS = (
    "truncatedsvd", "sklearn-pca", "sparserandomprojection", "chi2", "f_classif",
    "lineardiscriminantanalysis",
)  # fmt: skip
_SIZE = "Use --n-components for directions, --n-features for columns."
_RANDOM = "Use --param random_state=SEED, where the method has it."
_SEVERAL = "Use --dims, which takes several."
# by verb, what is typed for an option that it does not have, and what to use
INSTEAD = {
    "fit": {
        "--dims": _SIZE, "--dim": _SIZE, "--methods": "Use --method, for one.",
        "--seed": _RANDOM, "--random-state": _RANDOM,
    },
    "compare": {
        "--method": "Use --methods, which takes several.",
        "--n-components": _SEVERAL, "--n-features": _SEVERAL, "--dim": _SEVERAL,
    },
}  # fmt: skip
METHODS = {name.lower(): name for name in sorted(MODULES, key=str.lower)}


class Method(click.ParamType):
    """The name of a method, in any case."""

    name = "method"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Return the name in lower case."""
        if value.lower() not in METHODS:
            hint = did_you_mean(value.lower(), METHODS)
            if value.lower() in RIVALS:
                hint = "That is a method of scikit-learn, for compare alone. " + hint
            raise click.BadParameter(f"expected a method, got {value!r}. {hint}")
        return value.lower()

    def get_missing_message(self, param: Any, ctx: Any = None) -> str:
        """Return what to begin with."""
        return "Start with ocfs, oc, srda or onlinesrda"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin like this."""
        return [CompletionItem(name) for name in METHODS if name.startswith(incomplete.lower())]


class Input(click.Path):
    """A data file whose suffix is supported, a pattern, or ``-``."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the path; ParameterError names the suffixes."""
        is_pattern = glob.has_magic(value) and not os.path.exists(value)
        if value != "-" and not is_pattern and not os.path.isdir(value):
            kind_of(value)
        return str(value)


def existing(paths: Iterable[str], engine: str = "local") -> None:
    """Raise FileNotFoundError for the first file that is not here; a cluster may have others."""
    for path in paths:
        is_here = path == "-" or os.path.exists(path) or glob.glob(path)
        if engine == "local" and not is_here:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), path)


def int_or_float(digits: str) -> int | float:
    """Return an integer, as a float where NumPy has no integer of this size."""
    return int(digits) if len(digits) < 20 else float(digits)


def number(text: str) -> int | float:
    """Return an integer, or else a fraction."""
    for kind in (int_or_float, float):
        with suppress(ValueError):
            return kind(text)
    raise click.BadParameter(f"expected a number, got {text!r}.")


def number_or_cv(text: str) -> int | float | str:
    """Return a number, or the word cv."""
    return text if text == "cv" else number(text)


def integer_or_cv(text: str) -> int | str:
    """Return an integer, or the word cv."""
    return text if text == "cv" else int(click.INT(text))


def float_or_cv(text: str) -> float | str:
    """Return a number that need not be an integer, or the word cv."""
    return text if text == "cv" else float(click.FLOAT(text))


def numbers(text: str) -> Any:
    """Return a word, a number, or a list of numbers separated by commas."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        if "," in text:
            raise click.BadParameter(f"expected a list of numbers, got {text!r}.") from None
        return text
    return found if "," in text else found[0]
