"""The state of OnlineSRDA: a regression, and the labels of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.errors import RangeError
from narrows.methods._project import Directions
from narrows.methods._streams import Arrivals
from narrows.state.labels import arrivals
from narrows.solve.eigen import set_signs
from narrows.solve.rls import DiagonalRLS
from narrows.solve.rls_merge import merged
from narrows.solve.rls_read import Reading
from narrows.solve.rls_rule import FACTOR, LAST, RECENT, REPLAYS, SEEN, WEIGHT, Rule
from narrows.solve.schema import (
    COUNT,
    LABELS,
    NOT_NEGATIVE,
    NUMBERING,
    Check,
    Field,
    SchemaError,
    between,
    checked,
)
from narrows.solve.sums import canonical
from narrows.solve.undo import Undo

_ROOM = 0.3  # the largest number to this power can be squared, and the squares can be summed
_RIVAL = "softmax."  # what names of arrays of the rival begin with
_LEAD = 2.5  # standard errors by which softmax has to be ahead, to be preferred
_SCHEMA = {
    "classes": LABELS,
    "column": Field("i8", ("c",), NUMBERING),
    "n_samples": Field("i8", (), COUNT),
    "several": Field("i8", (), between(-1, 1)),
    # 0.1.0 did not store these
    "registered": Field("b1", ("c",), optional=True),
    "leads": Field("f8", (2,), NOT_NEGATIVE, optional=True),
    "softmax": Field("b1", (), optional=True),
}


def _labels_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    several, stored = int(arrays["several"]), arrays["slots"][: arrays["use"][0]]
    if several == 1:  # the classes are the columns of an indicator matrix
        numbered = np.array_equal(arrays["classes"], np.arange(sizes["c"]))
        return bool(numbered and arrays["classes"].dtype.kind == "i" and arrays["n_samples"] > 0)
    started = bool(arrays["n_samples"] > 0)
    return (several == 0) == started and bool((stored[:, 2] == 1).all())


def _rivals_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    named = [_RIVAL + name for name in ("b", "W", "slots", "clock")]
    if not any(name in arrays for name in named):
        return True
    return int(arrays["several"]) < 1 and "leads" in arrays


_RULES = (
    Check(
        "no more samples predicted than learned",
        lambda arrays, _: arrays["clock"][SEEN] <= arrays["n_samples"],
    ),
    Check("as many classes as outputs", lambda arrays, sizes: len(arrays["b"]) == sizes["c"]),
    Check("labels as several says", _labels_fit),
    Check("a rival for one label per sample, and how often each was ahead", _rivals_fit),
)


class Regression(Arrivals):
    """A `DiagonalRLS`, and the labels of its outputs, which are in order of arrival.

    Parameters
    ----------
    core : DiagonalRLS
        Without a class yet.
    rival : DiagonalRLS, optional
        Learns the same samples with the residuals of softmax, so that the better of the two losses
        can be chosen.
    softmax : bool, optional
        Whether `core` learns with the residuals of softmax; None where that is not known.

    Attributes
    ----------
    n_samples : int
        The number of samples learned, also those of weight 0.
    several : bool or None
        Whether samples have several labels; None before the first. There is no rival then.
    registered : ndarray of shape (n_classes,)
        Whether each of `classes` is one that was said to come.
    leads : ndarray of shape (2,)
        How many samples only `core`, and only `rival`, predicted before they were learned; decays.
        Samples of the class of the one before do not count: on a sorted stream the loss that is
        ahead is the one that forgets the other classes sooner.
    """

    core: DiagonalRLS

    def __init__(
        self, core: DiagonalRLS, rival: DiagonalRLS | None = None, softmax: bool | None = None
    ):
        super().__init__(core)
        self.rival, self.softmax = rival, softmax
        self.n_samples = 0
        self.several: bool | None = None
        self.registered = np.zeros(0, dtype=bool)
        self.leads = np.zeros(2)

    @property
    def cores(self) -> list[DiagonalRLS]:
        """The core, and the rival if there is one."""
        return [self.core] if self.rival is None else [self.core, self.rival]

    @property
    def prefers_softmax(self) -> bool:
        """Whether the rival is ahead by McNemar's test, and not by chance."""
        behind, ahead = self.leads.tolist()
        clearly = bool(ahead - behind > _LEAD * np.sqrt(ahead + behind))
        return self.rival is not None and clearly

    @property
    def started(self) -> bool:
        """Whether samples were learned or classes registered."""
        return bool(self.n_samples or self.registered.any())

    @property
    def counts(self) -> np.ndarray:
        """The weight of each class."""
        return self.core.N[0, self.column]

    @property
    def known(self) -> np.ndarray:
        """Which classes have weight or were registered."""
        return (self.counts > 0) | self.registered

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

    def register(self, classes: np.ndarray) -> None:
        """Note distinct labels, sorted, as classes to come."""
        if np.isin(classes, self.classes[self.registered]).all():
            return
        undo = Undo(self)
        for core in self.cores:
            core.note(undo)

        def register() -> None:
            places = self.places(classes, np.arange(len(classes)))
            registered = self.registered.copy()
            registered[places] = True
            self.registered = registered

        undo.guard(register)

    def places(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Number new labels by arrival; return the place in `classes` of each sample's label."""
        before = self.classes
        places = super().places(classes, codes)
        if len(self.classes) > len(before):
            registered = np.zeros(len(self.classes), dtype=bool)
            registered[np.searchsorted(self.classes, before)] = self.registered
            self.registered = registered
        return places

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
            for core in self.cores:
                core.note(undo)
        if not self.n_samples and X.shape[0]:
            self.several = how.several
            if how.several:
                self.rival = None
        if X.dtype == np.float64 and self.core.W.dtype != np.float64 and X.shape[0]:
            for core in self.cores:
                core.promote(np.float64)
        if sparse.issparse(X):
            X = canonical(X)
        if how.several:  # columns without a sample too, so that the width is known
            self.places(classes, np.arange(len(classes)))
        places = self.places(classes, Y.indices)
        columns = self.column[places]
        shape = X.shape[0], len(self.core.b)
        last = self.core.clock[LAST]
        hits, reduced = np.zeros((2, X.shape[0]), np.uint8), []
        for core, softmax, hit in zip(self.cores, (how.softmax, True), hits, strict=False):
            reduced.append(np.zeros(shape) if reducing else None)
            core.learn(
                X, (Y.indptr, columns, weight), how._replace(softmax=softmax), reduced[-1], undo,
                hit if self.rival is not None else None,
            )  # fmt: skip
        if self.rival is not None:
            learned = weight > 0
            labels = np.append(last, columns[learned])
            hits[:, learned] &= labels[1:] != labels[:-1]
            self._compare(hits[:, learned].astype(bool), how.keep)
        self.n_samples += X.shape[0]
        chosen = reduced[self.prefers_softmax]
        return None if chosen is None else chosen[:, self.live].astype(X.dtype)

    def _compare(self, hits: np.ndarray, keep: float) -> None:
        """Count the samples that one of core and rival predicted, and the other did not."""
        n = hits.shape[1]
        alone = np.array([hits[0] & ~hits[1], hits[1] & ~hits[0]])
        self.leads = keep**n * self.leads + alone @ keep ** np.arange(n - 1, -1, -1.0)

    def _make_room(self, known: np.ndarray) -> None:
        for core in self.cores:
            core.add_classes(len(known) - len(core.b))

    def widen(self, n_features: int) -> Self:
        """Append features that are 0 so far, in place."""
        for core in self.cores:
            core.widen(n_features)
        return self

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`, without rounding."""
        arrays = {
            "classes": self.classes,
            "column": self.column,
            "n_samples": np.array(self.n_samples),
            "several": np.array(-1 if self.several is None else int(self.several)),
            **self.core.to_arrays(),
        }
        if self.registered.any():
            arrays["registered"] = self.registered
        if self.softmax is not None:
            arrays["softmax"] = np.array(self.softmax)
        if self.rival is not None:
            arrays["leads"] = self.leads
            arrays |= {_RIVAL + name: array for name, array in self.rival.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described."""
        new = cls(DiagonalRLS.from_arrays(arrays))
        sizes = checked(arrays, _SCHEMA, _RULES)
        new.classes, new.column = np.array(arrays["classes"]), np.array(arrays["column"])
        new.n_samples = int(arrays["n_samples"])
        new.several = {-1: None, 0: False, 1: True}[int(arrays["several"])]
        new.softmax = bool(arrays["softmax"]) if "softmax" in arrays else None
        new.registered = np.array(arrays.get("registered", np.zeros(sizes["c"], bool)))
        if "leads" in arrays:
            theirs = {
                name.removeprefix(_RIVAL): array
                for name, array in arrays.items()
                if name.startswith(_RIVAL)
            }
            new.leads, new.rival = np.array(arrays["leads"]), DiagonalRLS.from_arrays(theirs)
            _check_rival(new.core, new.rival)
        return new


def _check_rival(core: DiagonalRLS, rival: DiagonalRLS) -> None:
    """Raise SchemaError where a rival cannot have learned the same samples."""
    counts = [WEIGHT, FACTOR, LAST, SEEN, REPLAYS, RECENT]
    same = (
        core.W.shape == rival.W.shape
        and core.W.dtype == rival.W.dtype
        and len(core.reservoir) == len(rival.reservoir)
        and (core.sums is None) == (rival.sums is None)
        and (core.origin is None) == (rival.origin is None)
        and np.array_equal(core.N, rival.N)
        and np.array_equal(core.clock[counts], rival.clock[counts])
    )
    one_label = (rival.reservoir.slots[: rival.reservoir.used, 2] == 1).all()
    if not (same and one_label):
        raise SchemaError("expected a rival of the same samples, got another.")


def merged_states(states: list[Regression], rule: Rule) -> Regression:
    """Return the approximate sum of states, as one that shares nothing with them."""
    started = [state for state in states if state.started] or states[:1]
    if len(started) == 1:
        return Regression.from_arrays(started[0].to_arrays())
    forms = {state.several for state in started if state.n_samples}
    if len(forms) > 1:
        raise ValueError(
            "expected labels of one form to merge, got one label per sample in some "
            "and indicator matrices in others. Fit all to labels of one form."
        )
    learned = [state for state in started if state.n_samples]
    losses = {state.softmax for state in learned} - {None}
    if len(losses) > 1 or len({state.rival is None for state in learned}) > 1:
        raise ValueError(
            "expected regressions of one loss to merge, got several. Fit all with the same loss."
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
    several = forms.pop() if forms else None
    rule = rule._replace(several=bool(several))
    new = Regression(merged([s.core for s in started], columns, len(classes), rule))
    new.softmax = losses.pop() if losses else None
    rivals = [state.rival for state in started if state.rival is not None]
    if len(rivals) == len(started):
        new.rival = merged(rivals, columns, len(classes), rule._replace(softmax=True))
        new.leads = np.sum([state.leads for state in started], axis=0)
    new.classes, new.column, new.several = classes, column, several
    new.registered = np.isin(
        classes, np.concatenate([state.classes[state.registered] for state in started])
    )
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
    """The directions, and the classifier, which is computed when it is first asked for."""

    reading: Reading | None = None
    live: np.ndarray = field(default_factory=lambda: np.zeros(0, np.intp))

    @classmethod
    def leading(cls, reading: Reading, live: np.ndarray, p: int | None) -> Self:
        """Return the p leading singular directions of W, s_k u_k, or W where it has no more.

        Only columns `live` count.
        """
        best = W = reading.directions[:, live]
        if p is not None and p < W.shape[1]:
            scaled = W.astype(np.float64) / (np.abs(W).max(initial=0.0) or 1.0)
            best = set_signs(W @ np.linalg.eigh(scaled.T @ scaled)[1][:, ::-1][:, :p])
        best = np.ascontiguousarray(best)
        return cls(best, np.zeros(0), W.shape[1], size=p, reading=reading, live=live)

    @cached_property
    def rule(self) -> tuple[np.ndarray, np.ndarray]:
        """W and b of the classifier, of samples as they are."""
        assert self.reading is not None
        W, b = self.reading.rule
        if self.reading.core.origin is not None:
            b = b - self.reading.core.origin @ W
        if not np.array_equal(self.live, np.arange(W.shape[1])):
            W, b = np.ascontiguousarray(W[:, self.live]), b[self.live]
        return W, b

    @property
    def temperature(self) -> float:
        """What outputs are divided by for probabilities."""
        assert self.reading is not None
        return self.reading.model.temperature
