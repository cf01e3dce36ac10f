"""What the parts of a data set must have in common before their states add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from scipy import sparse

from narrows.errors import DataError

_NAMED = 5  # features that a message lists


class Features(NamedTuple):
    """The number of features of samples, whether these are dense, and the names if any."""

    number: int
    dense: bool
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, names: Iterable[Any] | None = None) -> Self:
        """Return those of samples; only names that are all text count, as in scikit-learn."""
        listed = () if names is None else tuple(names)
        named = bool(listed) and all(isinstance(name, str) for name in listed)
        return cls(X.shape[1], not sparse.issparse(X), listed if named else None)

    def follow(self, number: int) -> bool:
        """Whether these samples may follow others of so many features, or of 0: none.

        Sparse samples may have fewer, or more; what is missing in either is 0. Dense ones may not.
        """
        return not (self.dense and number and self.number != number)


class PartFeatures:
    """Checks the features of the parts of a data set, in the order of the parts.

    Parameters
    ----------
    where : callable
        What errors call the part of a number.
    """

    def __init__(self, where: Callable[[int], str]):
        self.where = where
        self.waiting: dict[int, Features | None] = {}
        self.checked = 0  # parts
        self.number, self.of_number = 0, ""  # of the widest part so far
        self.names: tuple[str, ...] | None = None
        self.of_names = ""

    def add(self, k: int, features: Features | None) -> None:
        """Add the features of part k, None if it has no samples; the order of calls is free.

        Raises
        ------
        DataError
            A part that does not fit those before it; it names both.
        """
        self.waiting[k] = features
        while self.checked in self.waiting:
            found = self.waiting.pop(self.checked)
            if found is not None:
                self._check(self.where(self.checked), found)
            self.checked += 1

    def _check(self, where: str, features: Features) -> None:
        number, names = features.number, features.names
        if names is not None and self.names is not None and names != self.names:
            raise DataError(where, self._unlike(names))
        named = self.names is not None and number != len(self.names)
        if named or not features.follow(self.number):
            raise DataError(
                where,
                f"expected {self.number} features as in {self.of_number}, got {number}. "
                "Give every part the same features.",
            )
        if number > self.number:
            self.number, self.of_number = number, where
        if names is not None and self.names is None:
            self.names, self.of_names = names, where

    def _unlike(self, names: tuple[str, ...]) -> str:
        expected = self.names or ()
        got = [f"without {name}" for name in expected if name not in names]
        got += [f"with {name}" for name in names if name not in expected]
        more = ", …" if len(got) > _NAMED else ""
        return (
            f"expected the features of {self.of_names}, got them "
            f"{', '.join(got[:_NAMED]) or 'in another order'}{more}. "
            "Give every part the same features, in one order."
        )
