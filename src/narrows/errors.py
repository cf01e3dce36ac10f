"""Errors for wrong parameters, unusable numbers and unusable files, and warnings."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

__all__ = ["DataError", "ParameterError"]

# advice on columns of a table
ADD_MISSING = "Add what is missing, with missing values, or fit again without it."
# of what would make sparse samples dense
DENSE_ONLY = (
    "expected dense samples, since what LEACE takes from a sample is dense, got sparse ones. "
    "Reduce them first, for example by PCA with 100 components."
)


class ParameterError(ValueError):
    """A parameter that is out of its range, or does not fit the data.

    See Also
    --------
    DataError : A file that cannot be used.

    Examples
    --------
    >>> from narrows import OC
    >>> from narrows.errors import ParameterError
    >>> try:
    ...     OC(n_components=5).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    ... except ParameterError as error:
    ...     print(error)
    expected n_components<=1, since ...
    """


class WidthError(ParameterError):
    """More features than products of pairs of features can be summed for.

    Parameters
    ----------
    message : str
        The message.
    n_features : int
        The number of features.

    See Also
    --------
    ParameterError : A parameter that is out of its range.
    """

    def __init__(self, message: str, n_features: int):
        super().__init__(message)
        self.n_features = n_features

    def __reduce__(self) -> tuple:
        return WidthError, (str(self), self.n_features)


class RangeError(ValueError):
    """Numbers that are too large or too small for a computation.

    Parameters
    ----------
    expected, got, advice : str
        The parts of the message.
    feature : int, optional
        The feature with such numbers.
    name : str, optional
        Its name.

    See Also
    --------
    ParameterError : A parameter that is out of its range.
    """

    def __init__(
        self,
        expected: str,
        got: str,
        feature: int | None = None,
        advice: str = "Scale the data.",
        name: str | None = None,
    ):
        self.said, self.feature, self.name = (expected, got, feature, advice), feature, name
        where = "" if feature is None else f" in feature {feature if name is None else name!r}"
        super().__init__(f"expected {expected}, got {got}{where}. {advice}")

    def named(self, name: str) -> RangeError:
        """Return the same error with the name of the feature."""
        return RangeError(*self.said, name)

    def __reduce__(self) -> tuple:
        return RangeError, (*self.said, self.name)


class AdvisedError(ValueError):
    """An error whose advice depends on who called: an estimator, a command, or `compare`.

    Parameters
    ----------
    problem : str
        What was expected, and what it got.
    advice : str
        What to do in Python; a caller that knows better replaces it.

    See Also
    --------
    ParameterError : A parameter that is out of its range.
    """

    def __init__(self, problem: str, advice: str):
        self.problem, self.advice = problem, advice
        super().__init__(f"{problem} {advice}")

    def __reduce__(self) -> tuple:
        return AdvisedError, (self.problem, self.advice)


class DataError(ValueError):
    """A file with content that cannot be used.

    Parameters
    ----------
    path : str or path-like
        The file.
    problem : str
        What was expected, what the file holds, and what to do.
    line : int, optional
        The line (of a text file) or row (of an array file), counted from 1.

    Attributes
    ----------
    path : str
        The file.
    problem : str
        The message without path and line.
    line : int or None
        The line or row, counted from 1.

    See Also
    --------
    ParameterError : A parameter that is out of its range, or does not fit the data.

    Examples
    --------
    >>> from narrows.errors import DataError
    >>> print(DataError("mails.svm", "expected a label, got 'x'.", line=3))
    mails.svm:3: expected a label, got 'x'.
    """

    def __init__(self, path: str | os.PathLike[str], problem: str, line: int | None = None):
        self.path, self.problem, self.line = os.fspath(path), problem, line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {self.problem}")

    def __reduce__(self) -> tuple:
        return DataError, (self.path, self.problem, self.line)


@contextmanager
def features_named(estimator: Any) -> Iterator[None]:
    """Let errors of numbers out of range name the feature as the estimator does."""
    try:
        yield
    except RangeError as error:
        if error.feature is None or error.name is not None:
            raise
        raise error.named(feature_name(estimator, error.feature)) from None


def feature_name(estimator: Any, k: int) -> str:
    """Return the name of feature k, also during a fit; x0, x1, … without names."""
    names = getattr(estimator, "feature_names_in_", None)
    source = getattr(getattr(estimator, "_learned", None), "source", None)
    if names is None and source is not None:
        names = source.names
    return f"x{k}" if names is None else str(names[k])


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line outside of the package that called (from Python 3.12 on)."""
    if sys.version_info < (3, 12):
        warnings.warn(message, category, stacklevel=2)
        return
    passing = (sys.modules.get(name) for name in ("narrows", "sklearn", "joblib"))
    folders = (os.path.dirname(str(each.__file__)) for each in passing if each is not None)
    warnings.warn(message, category, skip_file_prefixes=(*folders, contextlib.__file__))


def no_samples_have(sums: str) -> str:
    """Return the message for sums that are left where samples were subtracted but never added."""
    return (
        f"expected sums of samples, got {sums}, which no samples have. "
        "Subtract only what was added, or add up the states that remain."
    )


def did_you_mean(
    name: str, known: Iterable[str], shown: Callable[[str], str] = str, otherwise: str = ""
) -> str:
    """Return advice on a name that is not among those known, for messages.

    Where no name is near, it is `otherwise`, or lists those known.
    """
    if near := _nearest(name, known := list(known)):
        return f"Did you mean {shown(near)}?"
    return otherwise or f"Choose from {', '.join(sorted(known))}."


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name that is most like another, in small or capital letters, if one is near."""
    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def some_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names in quotation marks, for messages."""
    return ", ".join(map(repr, names[:most])) + ", …" * (len(names) > most)


def unlike(missing: Sequence[str], new: Sequence[str], add: str) -> str:
    """Return which columns are there instead of those expected, and advice, for messages.

    `add` is the advice on those that are missing.
    """
    besides = f"{some_names(new)} besides" if new else ""
    if not missing:
        return f"{besides}. Leave out what is new, or fit again with it."
    got = ", and ".join(filter(None, (f"all but {some_names(missing)}", besides)))
    near = _nearest(missing[0], new)
    return f"{got}. " + (add if near is None else f"Did you mean {missing[0]!r} by {near!r}?")


def printable(name: Any) -> str:
    """Return a name without line ends and control characters, for printing."""
    return str(name) if str(name).isprintable() else repr(str(name))


def unique(
    names: Sequence[str], longer: Sequence[str] | None = None, beside: Collection[str] = ()
) -> list[str]:
    """Return names of which none is equal to another, or to one of those `beside`.

    Of equal ones each becomes its `longer` name, if these are given; what is then equal to one
    before it gets a number. Names that occur once stay.
    """
    counts, taken, found = Counter(names), {*beside}, list[str]()
    for k, name in enumerate(names):
        base = longer[k] if longer and counts[name] > 1 else name
        new, number = base, 1
        while new in taken or (new != name and new in counts):
            number += 1
            new = f"{base} [{number}]"
        taken.add(new)
        found.append(new)
    return found


def escaped(text: str) -> str:
    """Return a line with control characters escaped, for a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
