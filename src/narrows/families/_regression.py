"""The state of OnlineSRDA: a regression, and the labels of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.families._project import Directions
from narrows.families._streams import Arrivals
from narrows.moments.labels import arrivals
from narrows.solve.eigen import set_signs
from narrows.solve.errors import RangeError
from narrows.solve.rls import DiagonalRLS, Rule, merged
from narrows.solve.schema import COUNT, LABELS, NUMBERING, Check, Field, between, checked
from narrows.solve.sums import canonical
from narrows.solve.undo import Undo

_ROOM = 0.3  # the largest number to this power can be squared, and the squares can be summed
_SCHEMA = {
    "classes": LABELS,
    "column": Field("i8", ("c",), NUMBERING),
    "n_samples": Field("i8", (), COUNT),
    "several": Field("i8", (), between(-1, 1)),
}


def _labels_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    several, stored = int(arrays["several"]), arrays["slots"][: arrays["use"][0]]
    if several == 1:  # the classes are the columns of an indicator matrix
        numbered = np.array_equal(arrays["classes"], np.arange(sizes["c"]))
        return bool(numbered and arrays["classes"].dtype.kind == "i" and arrays["n_samples"] > 0)
    started = bool(arrays["n_samples"] > 0)
    return (several == 0) == started and bool((stored[:, 2] == 1).all())


_RULES = (
    Check("as many classes as outputs", lambda arrays, sizes: len(arrays["b"]) == sizes["c"]),
    Check("labels as several says", _labels_fit),
)


class Regression(Arrivals):
    """A `DiagonalRLS`, and the labels of its outputs, which are in order of arrival.

    Attributes
    ----------
    n_samples : int
        The number of samples learned, also those of weight 0.
    several : bool or None
        Whether samples have several labels; None before the first.
    """

    core: DiagonalRLS

    def __init__(self, core: DiagonalRLS):
        super().__init__(core)
        self.n_samples = 0
        self.several: bool | None = None

    @property
    def counts(self) -> np.ndarray:
        """The weight of each class."""
        return self.core.N[0, self.column]

    @property
    def live(self) -> np.ndarray:
        """The outputs of the classes of positive weight, in the order of `classes`."""
        return self.column[self.counts > 0]

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def learn(
        self, X: Any, labels: Any, how: Rule, reducing: bool = False, undo: Undo | None = None
    ) -> np.ndarray | None:
        """Learn samples in order; `labels.indicator` made the labels, weights are last."""
        classes, Y, weight = labels
        if self.several not in (None, how.several):
            kinds = ("one label per sample", "an indicator matrix")
            raise ValueError(
                f"expected {kinds[not how.several]} as before, got {kinds[how.several]}. "
                "Give all labels in one form."
            )
        if undo is not None:
            undo.attributes(self)
            self.core.note(undo)
        if not self.n_samples and X.shape[0]:
            self.several = how.several
        if X.dtype == np.float64 and self.core.W.dtype != np.float64 and X.shape[0]:
            self.core.promote(np.float64)
        if sparse.issparse(X):
            X = canonical(X)
        if how.several:  # columns without a sample too, so that the width is known
            self.places(classes, np.arange(len(classes)))
        places = self.places(classes, Y.indices)
        columns = self.column[places]
        reduced = np.zeros((X.shape[0], len(self.core.b))) if reducing else None
        self.core.learn(X, (Y.indptr, columns, weight), how, reduced, undo)
        self.n_samples += X.shape[0]
        return None if reduced is None else reduced[:, self.live].astype(X.dtype)

    def _make_room(self, known: np.ndarray) -> None:
        self.core.add_classes(len(known) - len(self.core.b))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`, without rounding."""
        return {
            "classes": self.classes,
            "column": self.column,
            "n_samples": np.array(self.n_samples),
            "several": np.array(-1 if self.several is None else int(self.several)),
            **self.core.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described."""
        new = cls(DiagonalRLS.from_arrays(arrays))
        checked(arrays, _SCHEMA, _RULES)
        new.classes, new.column = np.array(arrays["classes"]), np.array(arrays["column"])
        new.n_samples = int(arrays["n_samples"])
        new.several = {-1: None, 0: False, 1: True}[int(arrays["several"])]
        return new


def merged_states(states: list[Regression], rule: Rule) -> Regression:
    """Return the approximate sum of states, as one that shares nothing with them."""
    started = [state for state in states if state.n_samples] or states[:1]
    if len(started) == 1:
        return Regression.from_arrays(started[0].to_arrays())
    if len({state.several for state in started}) > 1:
        raise ValueError(
            "expected labels of one form to merge, got one label per sample in some "
            "and indicator matrices in others. Fit all to labels of one form."
        )
    sizes = {len(state.core.reservoir) for state in started}
    if len(sizes) > 1:
        raise ValueError(
            f"expected reservoirs of one size to merge, got {sorted(sizes)}. "
            "Fit all with the same reservoir."
        )
    classes, column = started[0].classes[:0], started[0].column[:0]
    for state in started:
        classes, column = arrivals(classes, column, state.classes, np.argsort(state.column))
    columns = [  # of the sum, for each column of a state
        column[np.searchsorted(classes, state.classes[np.argsort(state.column)])]
        for state in started
    ]
    several = bool(started[0].several)
    rule = rule._replace(several=several)
    new = Regression(merged([s.core for s in started], columns, len(classes), rule))
    new.classes, new.column, new.several = classes, column, several
    new.n_samples = sum(state.n_samples for state in started)
    return new


def check_range(X: Any) -> None:
    """Raise RangeError where the numbers of X are too large or too small for a regression."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    most = float(np.finfo(X.dtype).max) ** _ROOM
    # squares are of double precision; W, which is inverse to the samples, is of their type
    least = max(float(np.finfo(np.float64).tiny) ** _ROOM, float(np.finfo(X.dtype).tiny) ** 0.8)
    if largest and not least < largest < most:
        sizes = abs(X).max(axis=0)
        raise RangeError(
            f"numbers of which the largest is between {least:.1e} and {most:.1e}",
            f"{largest:.1e}",
            int((sizes.toarray() if sparse.issparse(X) else sizes).argmax()),
        )


@dataclass
class Weights(Directions):
    """The directions, and the weights of the regression, which `predict` uses."""

    model: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    bias: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def leading(cls, W: np.ndarray, b: np.ndarray, p: int | None) -> Self:
        """Return the p leading singular directions of W, s_k u_k, or W where it has no more."""
        best = W
        if p is not None and p < W.shape[1]:
            scaled = W.astype(np.float64) / (np.abs(W).max(initial=0.0) or 1.0)
            best = set_signs(W @ np.linalg.eigh(scaled.T @ scaled)[1][:, ::-1][:, :p])
        best = np.ascontiguousarray(best)
        return cls(best, np.zeros(0), W.shape[1], size=p, model=W, bias=b)
