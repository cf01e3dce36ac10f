"""InOrder: the step of methods that learn one sample at a time, and what their states share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from narrows.moments.labels import arrivals, one_a_row, places_of
from narrows.solve.codec import SchemaError, from_arrays, taken, to_arrays
from narrows.solve.devices import in_memory
from narrows.solve.in_place import ChangesInPlace, block_size, some_rows
from narrows.solve.sums import blocks, canonical, check_lengths

_SHUFFLED = 1 << 16  # so many samples at a time are put into the order of a pass

Labels = tuple[Any, ...]  # distinct ones, sorted, and arrays with an entry for each sample


# -- states ----------------------------------------------------------------------------------------


class Arrivals(ChangesInPlace):
    """A solver that learns one sample at a time, and the labels of its classes.

    Parameters
    ----------
    core : Span, CentroidQR or DiagonalRLS
        The solver, without a class yet.

    Attributes
    ----------
    core
        The solver, with the classes in order of arrival.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    column : ndarray of shape (n_classes,)
        The number, in order of arrival, of each of `classes`.
    """

    core: Any
    classes: Annotated[np.ndarray, "labels", "c"]
    column: Annotated[np.ndarray, "i8 numbering", "c"]
    n_labels = 0  # columns of the indicator matrices that y consisted of

    def __init__(self, core: Any):
        self.core = core
        self.classes = np.empty(0, dtype=np.int64)
        self.column = np.empty(0, dtype=np.int64)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.core.n_features)

    def places(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Number new labels by arrival; return the place in `classes` of each sample's label."""
        known = self.classes
        if len(known) and classes.dtype == known.dtype:
            place = np.minimum(np.searchsorted(known, classes), len(known) - 1)
            if (known[place] == classes).all():  # none is new
                return place[codes]
        known, column = arrivals(self.classes, self.column, classes, codes)
        if len(known) > len(self.classes):
            self._make_room(known)
        self.classes, self.column = known, column
        return places_of(classes, known)[codes]

    def number(self, classes: np.ndarray) -> None:
        """Number labels that no sample has yet, in their order, in place."""
        if not np.isin(classes, self.classes).all():
            self.places(classes, np.arange(len(classes)))

    def renamed(self, names: np.ndarray) -> Self:
        """Return the state with other labels, different ones, in the order of `classes`."""
        new, order = copy(self), np.argsort(names)
        new.classes, new.column = names[order], self.column[order]
        return new

    def restorer(self) -> Callable[[], None]:
        """Return a function that restores all attributes, if no array was changed in place."""
        self._own()
        before = [(each, dict(vars(each))) for each in self._parts()]

        def restore() -> None:
            for each, attributes in before:
                vars(each).update(attributes)

        return restore

    def widen(self, n_features: int) -> Self:
        """Append features that are 0 so far, in new arrays."""
        with self.changing(self.restorer()):
            self.core.widen(n_features)
        return self

    def _parts(self) -> list[Any]:
        """Return the objects whose attributes are replaced where classes or features are added."""
        return [self, self.core]

    def _make_room(self, known: np.ndarray) -> None:
        """Make room for the labels that are not in `classes` yet."""
        raise NotImplementedError


class Iterates(Arrivals):
    """A solver with a sum of samples for each class, and how many samples each label had.

    Parameters
    ----------
    core : Span or CentroidQR
        The solver, without a class yet. `n` is the number of samples that it learned, `add_sums`
        makes room for classes, `restorer` restores it after an error of samples, `learn` returns
        how many samples it learned, and `cost` about how many operations a sample takes.
    by_class : bool
        Whether the solver has a sum of samples for each class, or one of all samples.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        The number of samples of each of `classes`.
    """

    by_class: Annotated[bool, "b"]
    counts: Annotated[np.ndarray, "f8 whole", "c"]

    def __init__(self, core: Any, by_class: bool = True):
        super().__init__(core)
        self.by_class = by_class
        self.counts = np.zeros(0)
        if not by_class:
            core.add_sums(1)

    @property
    def n_samples(self) -> int:
        """The number of samples learned, counted in each pass."""
        return int(self.core.n)

    @property
    def n_held(self) -> int:
        """How many samples it holds as they are: the first one, if sums are about it."""
        return int(getattr(self.core, "shift", None) is not None)

    def renamed(self, names: np.ndarray) -> Self:
        """Return the state with other labels, different ones, in the order of `classes`."""
        new = super().renamed(names)
        new.counts = self.counts[np.argsort(names)]
        return new

    def columns(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the number of the sum of each sample's label; new labels are numbered."""
        self._own()
        return self._sums_of(self.places(classes, codes))

    def count(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Count samples of labels, in place; return the number of the sum of each."""
        columns = self.columns(classes, codes)
        self.counts += np.bincount(
            places_of(classes, self.classes)[codes], minlength=len(self.counts)
        )
        return columns

    def learn(
        self, X: Any, labels: Labels, *rule: Any, reduced: np.ndarray | None = None,
        undo: bool = False,
    ) -> None:  # fmt: skip
        """Learn samples in order, in place; a signal waits until a block of them is learned.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite.
        labels : (ndarray, ndarray)
            Of `labels.one_a_row`.
        *rule : object
            How the solver learns.
        reduced : ndarray of shape (n_samples, n_components), optional
            Row i becomes the reduced sample i, by the directions after it.
        undo : bool
            Whether to restore the state after an error of samples, of whichever block.
        """
        if sparse.issparse(X):
            X = canonical(X)
        given, codes = labels
        restore = self._restorer_after(X) if undo else None
        size = block_size(self.core.cost(X, len(given) * self.by_class))
        done, n = 0, X.shape[0]
        while not done or done < n:
            rows = slice(done, min(done + size, n))
            with self.changing(restore):
                places = self.places(given, codes[rows])
                out = [] if reduced is None else [reduced[rows]]
                learned = self.core.learn(some_rows(X, rows), self._sums_of(places), *rule, *out)
                self.counts = self.counts + np.bincount(
                    places[:learned], minlength=len(self.counts)
                )
            done += learned or max(1, len(places))  # the iteration has stopped: it ignores them

    def _sums_of(self, places: np.ndarray) -> np.ndarray:
        """Return the number of the sum that samples of these classes belong to."""
        return self.column[places] if self.by_class else np.zeros(len(places), np.int64)

    def _restorer_after(self, X: Any) -> Callable[[], None]:
        """Return a function that restores everything, if only samples of X were learned since."""
        attributes, core = self.restorer(), self.core.restorer(X)

        def restore() -> None:
            attributes()
            core()

        return restore

    def _make_room(self, known: np.ndarray) -> None:
        counts, new = np.zeros(len(known)), len(known) - len(self.classes)
        counts[places_of(self.classes, known)] = self.counts
        self.counts = counts
        if self.by_class:
            self.core.add_sums(new)

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays, for `of_arrays`."""
        names = "classes", "column", "by_class", "counts"
        return to_arrays(self.core) | {name: np.asarray(getattr(self, name)) for name in names}

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], kind: type, by_class: bool) -> Self:
        """Return the state of named arrays, which are taken out of the dict.

        SchemaError where the solver is not of this kind, or has other sums.
        """
        sizes: dict[str, int] = {}
        new = cls(from_arrays(kind, arrays, sizes))
        new.classes = taken(arrays, "classes", ("labels",), ("c",), sizes)
        new.column = taken(arrays, "column", ("i8",), ("c",), sizes, ("numbering",))
        new.by_class = bool(taken(arrays, "by_class", ("b",)))
        new.counts = taken(arrays, "counts", ("f8",), ("c",), sizes, ("whole",))
        if new.by_class != by_class:
            raise SchemaError(f"by_class: expected {by_class}, got {new.by_class}.")
        expected = new.counts[np.argsort(new.column)] if by_class else [new.counts.sum()]
        if not np.array_equal(new.core.N, expected):
            raise SchemaError("N: expected the counts in the order of column, got others.")
        return new


# -- the step --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InOrder(ABC):
    """One pass in which a solver learns one sample at a time, in their order.

    Parameters
    ----------
    dtype : dtype
        Of the samples.
    random : RandomState, optional
        It shuffles the samples of a call of `add`.
    going_on : object, optional
        The state after the pass before this one, which learns on.
    """

    adds_up: ClassVar[bool] = False
    gathers: ClassVar[bool] = False
    shows_nan: ClassVar[bool] = False
    numeric: ClassVar[bool] = False
    map: ClassVar[Any] = None

    dtype: Any = np.float64
    random: Any = None
    going_on: Any = None

    @abstractmethod
    def new(self, n_features: int) -> Any:
        """Return the state before the first sample."""

    @abstractmethod
    def learn(
        self, state: Any, X: Any, labels: Labels, *, reducing: bool = False, undo: bool = False,
        register: Callable[[], None] | None = None,
    ) -> np.ndarray | None:  # fmt: skip
        """Learn samples in order, in place; with `reducing`, return them as reduced on the way.

        With `undo`, an error of the samples leaves the state as it was. `register` is called with
        each block of samples, of methods that register classes, so that an interrupt finds both
        done or neither.
        """

    def encoded(self, X: Any, y: Any, weight: Any = None) -> Labels:
        """Return the labels of samples, sorted, and arrays with an entry for each sample."""
        if weight is not None:
            raise TypeError(
                "expected no sample_weight, since each sample is one step, got some. Use a method "
                "whose sums add up, such as OC or SRDA, for weighted samples."
            )
        check_lengths(X)
        return one_a_row(X, y)

    def after(self, state: Any, map_of: Any) -> InOrder:
        """Return this pass over samples that the state has learned in the pass before."""
        return replace(self, going_on=state)

    def empty(self, n_features: int) -> Any:
        """Return the state before the pass."""
        return self.new(n_features) if self.going_on is None else self.going_on

    def add(self, state: Any, X: Any, y: Any, weight: Any = None) -> Any:
        """Return the state with more samples, learned in place."""
        X = in_memory(X)
        classes, *each = self.encoded(X, y, weight)
        for part, *labels in self._in_order(X, *each):
            self.learn(state, part, (classes, *labels))
        return state

    def _in_order(self, *arrays: Any) -> Iterator[Any]:
        """Yield the samples of one pass, in parts that are shuffled, or all as they are."""
        if self.random is None:
            yield arrays
            return
        order = self.random.permutation(arrays[0].shape[0])
        for part in blocks(len(order), _SHUFFLED):
            yield [array[order[part]] for array in arrays]

    def n_features(self, state: Any) -> int:
        """Return the number of features."""
        return int(state.n_features)

    def n_samples(self, state: Any) -> int:
        """Return the number of samples, counted in each pass."""
        return int(state.n_samples)

    def counts(self, state: Any) -> np.ndarray:
        """Return the weight of each class."""
        counts: np.ndarray = state.counts
        return counts

    def widened(self, state: Any, n_features: int) -> tuple[InOrder, Any]:
        """Return the pass and the state for more features, which are 0 so far."""
        return self, state.widen(n_features)

    def renamed(self, state: Any, names: np.ndarray) -> Any:
        """Return the state with other labels, different ones, in the order of the present."""
        return state.renamed(names)

    def n_held(self, state: Any) -> int:
        """Return how many samples are held as they are."""
        return int(state.n_held)

    def without_kept(self, state: Any) -> Any:
        """Return the state without the samples that it chose to keep."""
        return state

    def sums_only(self, state: Any) -> Any:
        """Return the state without samples, but for what the iteration itself needs."""
        return self.without_kept(state)

    def nbytes(self, state: Any) -> int:
        """Return the bytes of the state."""
        return sum(array.nbytes for array in self.to_arrays(state).values())

    def to_arrays(self, state: Any) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `of_arrays`."""
        return to_arrays(state)

    @classmethod
    @abstractmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], expected: Any) -> tuple[InOrder, Any]:
        """Return the pass and the state of named arrays, which are taken out of the dict."""
