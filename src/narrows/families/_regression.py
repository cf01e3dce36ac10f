"""What OnlineSRDA has learnt: a regression, and the labels that its columns stand for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from narrows.moments.labels import arrivals
from narrows.solve.rls import DiagonalRLS, Rule, merged
from narrows.solve.schema import COUNT, LABELS, NUMBERING, Check, Field, between, checked
from narrows.solve.undo import Undo

_SCHEMA = {
    "classes": LABELS,
    "column": Field("i8", ("c",), NUMBERING),
    "n_samples": Field("i8", (), COUNT),
    "several": Field("i8", (), between(-1, 1)),
}


def _labels_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    several, kept = int(arrays["several"]), arrays["slots"][: arrays["use"][0]]
    if several == 1:  # the classes are the columns of an indicator
        numbered = np.array_equal(arrays["classes"], np.arange(sizes["c"]))
        return bool(numbered and arrays["classes"].dtype.kind == "i" and arrays["n_samples"] > 0)
    begun = bool(arrays["n_samples"] > 0)
    return (several == 0) == begun and bool((kept[:, 2] == 1).all())


_RULES = (
    Check("as many classes as outputs", lambda arrays, sizes: len(arrays["b"]) == sizes["c"]),
    Check("labels as several says", _labels_fit),
)


class Regression:
    """A `DiagonalRLS`, and the labels that its columns stand for.

    Attributes
    ----------
    core : DiagonalRLS
        Classes by order of arrival.
    classes, column : ndarray of shape (c,)
        Labels, sorted, and the column of each in `core`.
    n_samples : int
        Rows learnt from, those of weight 0 too.
    several : bool or None
        Whether rows have several labels; None before the first.
    """

    def __init__(self, core: DiagonalRLS):
        self.core = core
        self.classes = np.empty(0, np.int64)
        self.column = np.empty(0, np.int64)
        self.n_samples = 0
        self.several: bool | None = None

    @property
    def n_features(self) -> int:
        """d."""
        return self.core.n_features

    @property
    def counts(self) -> np.ndarray:
        """The weight of each class."""
        return self.core.N[0, self.column]

    @property
    def live(self) -> np.ndarray:
        """The columns of the classes of positive weight, in the order of `classes`."""
        return self.column[self.counts > 0]

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def columns(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The columns of these labels, with room for those that are new."""
        self.classes, self.column = arrivals(self.classes, self.column, classes, codes)
        more = len(self.classes) - len(self.core.b)
        if more:
            self.core.add_classes(more)
        return self.column[np.searchsorted(self.classes, classes[codes])]

    def note(self, undo: Undo) -> None:
        """Let `undo` put everything back as it is now, but W and Q, to which `learn` sees."""
        undo.attributes(self)
        self.core.note(undo)

    def widen(self, n_features: int) -> Regression:
        """Append columns that were 0 so far, in place."""
        self.core.widen(n_features)
        return self

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers are kept to the bit."""
        return {
            "classes": self.classes,
            "column": self.column,
            "n_samples": np.array(self.n_samples),
            "several": np.array(-1 if self.several is None else int(self.several)),
            **self.core.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Regression:
        """Return the state that `to_arrays` described."""
        new = cls(DiagonalRLS.from_arrays(arrays))
        checked(arrays, _SCHEMA, _RULES)
        new.classes, new.column = np.array(arrays["classes"]), np.array(arrays["column"])
        new.n_samples = int(arrays["n_samples"])
        new.several = {-1: None, 0: False, 1: True}[int(arrays["several"])]
        return new


def united(states: list[Regression], rule: Rule) -> Regression:
    """What several states know, as one that shares nothing with them."""
    begun = [state for state in states if state.n_samples] or states[:1]
    if len(begun) == 1:
        return Regression.from_arrays(begun[0].to_arrays())
    if len({state.several for state in begun}) > 1:
        raise ValueError(
            "OnlineSRDA: some learnt from one label a row, others from an indicator matrix. Merge "
            "only what was learnt from rows in one form."
        )
    if len({len(state.core.reservoir) for state in begun}) > 1:
        raise ValueError("OnlineSRDA: reservoirs of one size wanted, but several sizes came.")
    classes, column = begun[0].classes[:0], begun[0].column[:0]
    for state in begun:
        classes, column = arrivals(classes, column, state.classes, np.argsort(state.column))
    columns = []
    for state in begun:
        place = np.empty(len(state.column), np.int64)
        place[state.column] = column[np.searchsorted(classes, state.classes)]
        columns.append(place)
    several = bool(begun[0].several)
    new = Regression(
        merged([s.core for s in begun], columns, len(classes), rule._replace(several=several))
    )
    new.classes, new.column, new.several = classes, column, several
    new.n_samples = sum(state.n_samples for state in begun)
    return new
