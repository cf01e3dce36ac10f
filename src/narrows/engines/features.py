"""What parts of a data set need to have in common before their states add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from scipy import sparse

from narrows.solve.errors import DataError

_NAMED = 5  # features that a message lists


class Features(NamedTuple):
    """How many features the rows of a part have, of which form they are, and the names if any."""

    number: int
    dense: bool
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, names: Iterable[Any] | None = None) -> Self:
        """Return those of some rows; only names that are all text count, as in scikit-learn."""
        listed = () if names is None else tuple(names)
        named = bool(listed) and all(isinstance(name, str) for name in listed)
        return cls(X.shape[1], not sparse.issparse(X), listed if named else None)

    def follow(self, number: int) -> bool:
        """Whether these rows may come after rows of so many features, or of 0: after none.

        Sparse rows may have fewer, or more; what is missing in either is 0. Dense rows may not.
        """
        return not (self.dense and number and self.number != number)


class PartFeatures:
    """Checks the features of the parts of a data set, in the order of the parts.

    Parameters
    ----------
    where : sequence of str
        How each part is called in errors.
    """

    def __init__(self, where: Sequence[str]):
        self.where = where
        self.waiting: dict[int, Features | None] = {}
        self.checked = 0  # parts
        self.number, self.of_number = 0, ""  # of the widest part so far
        self.names: tuple[str, ...] | None = None
        self.of_names = ""

    def add(self, k: int, features: Features | None) -> None:
        """Note the features of part k, None of one without rows; parts may come in any order.

        Raises
        ------
        DataError
            A part that does not fit those before it; it names both.
        """
        self.waiting[k] = features
        while self.checked in self.waiting:
            found = self.waiting.pop(self.checked)
            if found is not None:
                self._check(self.where[self.checked], found)
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
