"""The two errors that callers tell apart, a wrong setting and wrong data in a file; warnings."""

from __future__ import annotations

import os
import sys
import warnings

__all__ = ["DataError", "ParameterError"]

# between a caller and a warning; the last two by the decorators of np.errstate
_NOT_THE_CALLER = {"narrows", "sklearn", "joblib", "numpy", "contextlib"}


class ParameterError(ValueError):
    """A parameter is out of its range, or does not fit the data it is used on.

    Examples
    --------
    >>> from narrows import OC
    >>> from narrows.solve.errors import ParameterError
    >>> try:
    ...     OC(n_components=5).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    ... except ParameterError as error:
    ...     print(error)
    OC: n_components=5, but ...
    """


class RangeError(ValueError):
    """Numbers too large or too small for what is to be made of them.

    Parameters
    ----------
    expected, got, advice : str
        What was expected, what it got, and what to do.
    feature : int, optional
        Where.
    who, name : str
        Who says so, and how that calls the feature; see `named`.
    """

    def __init__(
        self,
        expected: str,
        got: str,
        feature: int | None = None,
        advice: str = "Scale the data.",
        who: str = "ClassStats",
        name: str | None = None,
    ):
        self.said, self.feature = (expected, got, feature, advice), feature
        self.who, self.name = who, name
        where = "" if feature is None else f" in feature {feature if name is None else name!r}"
        super().__init__(f"{who}: expected {expected}, got {got}{where}. {advice}")

    def named(self, who: str, name: str | None) -> RangeError:
        """Return the same, said by another, of a feature of this name."""
        return RangeError(*self.said, who, name)

    def of_feature(self, feature: int) -> RangeError:
        """Return the same of another feature."""
        expected, got, _, advice = self.said
        return RangeError(expected, got, feature, advice, self.who)

    def __reduce__(self) -> tuple:
        return RangeError, (*self.said, self.who, self.name)


class DataError(ValueError):
    """A file holds something that cannot be used.

    Parameters
    ----------
    path : str or path-like
        The file.
    problem : str
        What was wanted, what came, what to do.
    line : int, optional
        The line (of a text file) or row (of an array file), counted from 1.

    Attributes
    ----------
    path, problem, line
        The same.

    Examples
    --------
    >>> from narrows.solve.errors import DataError
    >>> print(DataError("mails.svm", "a label wanted, but 'x' came.", line=3))
    mails.svm:3: a label wanted, but 'x' came.
    """

    def __init__(self, path: str | os.PathLike[str], problem: str, line: int | None = None):
        self.path, self.problem, self.line = os.fspath(path), problem, line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple:
        return DataError, (self.path, self.problem, self.line)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the line of the caller: the first one outside of the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_CALLER:
        if frame.f_back is None:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
