"""States of methods that learn one sample at a time: classes are numbered by order of arrival."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from narrows.criteria import Criterion
from narrows.errors import ParameterError
from narrows.methods.base import Fitted, accepts_collections, atomic
from narrows.methods.parameters import FLAG, NONE, Constraint, parameters, real, seed, whole
from narrows.methods.projector import EIGENVALUES, Directions, Projector
from narrows.methods.routes import InOrder
from narrows.moments.labels import arrivals, one_a_row, places_of
from narrows.solve.codec import PART, SchemaError, Sizes
from narrows.solve.eigen import set_signs
from narrows.solve.in_place import ChangesInPlace, block_size, some
from narrows.solve.iterations import Rule, Span, Start
from narrows.solve.sums import blocks, canonical, check_lengths
from narrows.state.class_stats import ClassStats, checked_rows


class Arrivals(ChangesInPlace):
    """A solver that learns one sample at a time, and the labels of its classes.

    Parameters
    ----------
    core
        The solver, without a class yet.

    Attributes
    ----------
    core
        With the classes in order of arrival.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    column : ndarray of shape (n_classes,)
        The number, in order of arrival, of each of `classes`.
    """

    # attributes with an entry for each of `classes`
    _of_classes: ClassVar[tuple[str, ...]] = ("column",)

    core: Any
    classes: Annotated[np.ndarray, "labels", "c"]
    column: Annotated[np.ndarray, "i8 numbering", "c"]

    def __init__(self, core: Any):
        self.core = core
        self.classes = np.empty(0, dtype=np.int64)
        self.column = np.empty(0, dtype=np.int64)

    @property
    def n_features(self) -> Any:
        """The number of features."""
        return self.core.n_features

    @property
    @abstractmethod
    def started(self) -> bool:
        """Whether there is anything that a new state does not have."""

    def places(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Number new labels by arrival; return the place in `classes` of each sample's label."""
        known, column = arrivals(self.classes, self.column, classes, codes)
        if len(known) > len(self.classes):
            self._make_room(known)
        self.classes, self.column = known, column
        return places_of(classes, known)[codes]

    def renamed(self, names: np.ndarray) -> Self:
        """Return the state with other labels, different ones, in the order of `classes`."""
        new, order = copy(self), np.argsort(names)
        new.classes = names[order]
        for name in self._of_classes:
            setattr(new, name, getattr(self, name)[order])
        return new

    @abstractmethod
    def _make_room(self, known: np.ndarray) -> None:
        """Make room for the labels that are not in `classes` yet."""

    @abstractmethod
    def learn(
        self,
        X: Any,
        labels: Any,
        how: Any,
        reducing: bool = False,
        undo: bool = False,
        classes: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Learn samples in order, in place; a signal waits until a block of them is learned.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite.
        labels : tuple
            Of `_encode` of the estimator.
        how : object
            Of `_how` of the estimator.
        reducing : bool
            Whether to return each sample reduced by its W.
        undo : bool
            Whether to restore the state after an error of samples, of whichever block.
        classes : ndarray, optional
            To be registered, where a state does that.
        """

    @property
    @abstractmethod
    def _replaced(self) -> list[Any]:
        """The objects whose attributes are replaced where classes or features are added."""

    def restorer(self) -> Callable[[], None]:
        """Return a function that restores all attributes, if no array was changed in place."""
        self._own()
        before = [(each, dict(vars(each))) for each in self._replaced]

        def restore() -> None:
            for each, attributes in before:
                vars(each).update(attributes)

        return restore

    def widen(self, n_features: int) -> Self:
        """Append features that are 0 so far, in place."""
        with self.changing(self.restorer()):
            self._widen(n_features)
        return self

    @abstractmethod
    def _widen(self, n_features: int) -> None:
        """Append features in new arrays."""


class Stream(Arrivals):
    """A solver with a sum of samples for each class, and how many samples each label had.

    Parameters
    ----------
    core
        The solver, without a class yet. `n` is the number of samples that it learned, `add_sums`
        makes room for classes, `restorer` restores it after an error of samples, `learn` returns
        how many samples it learned, and `cost` about how many operations a sample takes.
    by_class : bool
        Whether `core` has a sum of samples for each class, or one of all samples.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        The number of samples of each of `classes`.
    """

    _of_classes: ClassVar[tuple[str, ...]] = ("column", "counts")

    core: Annotated[Any, PART]
    by_class: Annotated[bool, "b"]
    counts: Annotated[np.ndarray, "f8 whole", "c"]

    def __init__(self, core: Any, by_class: bool = True):
        super().__init__(core)
        self.by_class = by_class
        self.counts = np.zeros(0)
        if not by_class:
            core.add_sums(1)

    @property
    def n_samples(self) -> Any:
        """The number of samples learned, counted in each pass."""
        return self.core.n

    @property
    def started(self) -> bool:
        """Whether samples were learned."""
        return bool(self.n_samples)

    @property
    def n_held(self) -> int:
        """How many samples it holds as they are: the first one, if sums are about it."""
        return int(getattr(self.core, "shift", None) is not None)

    @property
    def _replaced(self) -> list[Any]:
        return [self, self.core]

    def learn(
        self,
        X: Any,
        labels: Any,
        how: Any,
        reducing: bool = False,
        undo: bool = False,
        classes: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Learn samples in order, in place; `labels.one_a_row` made the labels."""
        if sparse.issparse(X):
            X = canonical(X)
        given, codes = labels
        reduced = np.zeros((X.shape[0], self.core.p)) if reducing else None
        restore = self._restorer_after(X) if undo else None
        size = block_size(self.core.cost(X, len(given) * self.by_class))
        done, n = 0, X.shape[0]
        while not done or done < n:
            rows = slice(done, min(done + size, n))
            with self.changing(restore):
                places = self.places(given, codes[rows])
                columns = self.column[places] if self.by_class else np.zeros(len(places), np.int64)
                out = [] if reduced is None else [reduced[rows]]
                learned = self.core.learn(some(X, rows), columns, *how, *out)
                self.counts = self.counts + np.bincount(
                    places[:learned], minlength=len(self.counts)
                )
            done += learned or max(1, len(places))  # the iteration has stopped: it ignores them
        return None if reduced is None else reduced.astype(X.dtype)

    def _restorer_after(self, X: Any) -> Callable[[], None]:
        """Return a function that restores everything, if only samples of X were learned since."""
        attributes, core = self.restorer(), self.core.restorer(X)

        def restore() -> None:
            attributes()
            core()

        return restore

    def _widen(self, n_features: int) -> None:
        self.core.widen(n_features)

    def _make_room(self, known: np.ndarray) -> None:
        counts, new = np.zeros(len(known)), len(known) - len(self.classes)
        counts[places_of(self.classes, known)] = self.counts
        self.counts = counts
        if self.by_class:
            self.core.add_sums(new)

    def sums(self) -> ClassStats:
        """Return the class sums as a state of the exact methods."""
        arrays = {
            "classes": self.classes,
            "counts": self.counts,
            "sums": self.core.sums[self.column],
            "n_samples": np.array(self.n_samples),
            "presence": np.array(False),
        }
        if self.core.shift is not None:
            arrays |= {"origin": self.core.shift, "placed": self.counts.sum()}
        return ClassStats.from_arrays(arrays)

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where the sums are not of the classes."""
        expected = self.counts[np.argsort(self.column)] if self.by_class else [self.counts.sum()]
        if not np.array_equal(self.core.N, expected):
            raise SchemaError("N: expected the counts in the order of column, got others.")


_SHUFFLED_ROWS = 1 << 16  # so many samples at a time are put into the order of a pass


class SpanStream(Stream):
    """The vectors of an iteration, and the labels of its sums."""

    core: Annotated[Span, PART]


class Sequential(Projector):
    """Learns one sample at a time, so that the result does not depend on the batches.

    Subclasses give `_new_stream` and `_how`; `_encode` where labels may be several per sample.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"random_state": seed(), "shuffle": FLAG}
    _only_route = InOrder
    _unsupported: ClassVar[dict[str, str]] = {
        "merge": "its result depends on the order of all samples",
        "fit_stats": "its result depends on the order of the samples, which sums do not hold",
    }

    @atomic
    def partial_fit(self, X: Any, y: Any = None, *, classes: Any = None) -> Self:
        """Update with more samples, one at a time, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1; the result does not depend on the batches.
        y : array-like of shape (n_samples,)
            One label per sample, as for `fit`; new classes may appear at any time.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required, in contrast to scikit-learn; if given, other
            labels raise an error. `classes_` has the labels that were seen.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of features, labels of another type or not among
            `classes`, another n_components than at the start. The estimator is then unchanged.

        See Also
        --------
        fit : Forget all samples and fit to new ones.
        """
        self._check_classes(classes, y)
        known = self._n_known
        self._learn(X, y)
        if classes is None:
            self._warn_of_numbers(y, known)
        return self

    def _fit(self, X: Any, y: Any, *weight: Any, passes: int = 1, shuffle: bool = False) -> Self:
        """Learn all samples, in the order of `X` or shuffled, with the checks of `fit`."""
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, *each = self._encode(X, y, *weight)
        state = self._new_stream(X.shape[1], X.dtype)
        random = check_random_state(getattr(self, "random_state", None))
        for _ in range(passes):
            for rows, *labels in _in_order((X, *each), random if shuffle else None):
                state.learn(rows, (classes, *labels), self._how(state, y))
        self._store(state)._warn_of_numbers(y)
        return self

    def _learn(
        self, X: Any, y: Any, *weight: Any, reducing: bool = False, classes: Any = None
    ) -> np.ndarray | None:
        """Update with more samples; with `reducing`, return them as reduced on the way.

        `classes` are registered, where a state does that.
        """
        fitted = self.__sklearn_is_fitted__()
        before = self._fitted if fitted else None
        X = self._check_X(X, reset=not fitted, ensure_min_samples=0)
        checked = self._check_parameters(X.shape[1], None if before is None else before.checked)
        labels = self._encode(X, y, *weight)
        if before is not None and before.state.started:
            after = before
        else:  # nothing was learned before that could need to be restored
            stream = self._new_stream(X.shape[1], X.dtype)
            after = Fitted(stream, before and before.source, checked)
        how = self._how(after.state, y)
        after.forget()  # first, since an interrupt may come after the update
        self._fitted = after  # so that an interrupt leaves the blocks that were learned
        reduced: np.ndarray | None = after.state.learn(
            X, labels, how, reducing, after is before, classes
        )
        return reduced

    def _empty_state(self, n_features: int) -> Any:
        """Return an empty state."""
        return self._new_stream(n_features, np.float64)

    def _update_state(self, state: Any, X: Any, y: Any, *weight: Any) -> Any:
        """Learn samples in order, in place."""
        X = checked_rows(X, type(self).__name__)
        state.learn(X, self._encode(X, y, *weight), self._how(state, y))
        return state

    @abstractmethod
    def _new_stream(self, n_features: int, dtype: Any) -> Arrivals:
        """Return an empty state, for samples of this type."""

    @abstractmethod
    def _how(self, stream: Any, y: Any) -> Any:
        """Return what the state needs to learn samples with such labels, by the parameters."""

    def _encode(self, X: Any, y: Any) -> tuple[np.ndarray, ...]:
        """Return the labels, sorted, and arrays that have an entry for each sample."""
        check_lengths(X)
        return one_a_row(X, self._labels(X, y), type(self).__name__)


def _in_order(arrays: tuple[Any, ...], random: Any) -> Iterator[Any]:
    """Yield the samples of one pass, in parts that are shuffled, or all as they are."""
    if random is None:
        yield arrays
        return
    order = random.permutation(arrays[0].shape[0])
    for part in blocks(len(order), _SHUFFLED_ROWS):
        yield [array[order[part]] for array in arrays]


@parameters
class OnlineProjector(Sequential):
    """One step of an iteration per sample. Subclasses give `_criterion`.

    The iterates are those of the papers' tables, in the order of the samples, and do not depend
    on the batches.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "tol": real(0, above=True) | NONE,
        "patience": whole(1),
        "early_stopping": FLAG,
        "orthonormalize": FLAG,
        "passes": whole(1),
    }
    _state_type = SpanStream
    eigenvalues_ = EIGENVALUES
    _by_class: ClassVar[bool] = True  # False for a criterion that uses no classes
    _start: ClassVar[Start] = "centred"

    n_components: int | None = 2
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    # -- fitting --------------------------------------------------------------------------------

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the samples, one at a time: `passes` times, in their order or shuffled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : array-like of shape (n_samples,)
            One label per sample. Optional only for methods that use no labels.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, several labels per sample, NaN or infinity, or a parameter that
            does not fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples, in a single pass.
        """
        return self._fit(X, y, passes=self.passes, shuffle=self.shuffle)

    @atomic
    def transform_while_learning(self, X: Any, y: Any = None) -> Any:
        """Update as `partial_fit` does, and reduce each sample by the directions after it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As for `partial_fit`.
        y : array-like of shape (n_samples,)
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_components)
            Row i is W(i)'x(i), with the columns `v_j(i) / |v_j(i)|` of W(i) after sample i, and 0
            for a component that has not started. Signs are those of the iteration, which are stable
            from sample to sample; `components_` and `transform` normalise the signs.

        See Also
        --------
        partial_fit : Update without reducing.
        transform : Reduce without updating.

        Notes
        -----
        **Cost** per sample: that of `partial_fit` and O(p (p + c)), O(p^3) with `orthonormalize`.
        """
        return self._learn(X, y, reducing=True)

    def _new_stream(self, n_features: int, dtype: Any) -> Stream:
        return SpanStream(Span(n_features, self._p(n_features)), self._by_class)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Stream:
        """Return the state that gave these arrays; it has to hold the sums of this method."""
        state: Stream = super()._state_from(arrays)
        if state.by_class != self._by_class:
            raise SchemaError(f"by_class: expected {self._by_class}, got {state.by_class}.")
        return state

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_samples_still_(self) -> int | None:
        """The first n with a movement below `tol` for `patience` samples in a row, or None."""
        return self._state.core.still

    # -- inside ---------------------------------------------------------------------------------

    @abstractmethod
    def _criterion(self) -> Criterion:
        """Return the criterion to maximise."""

    def _rule(self, stream: Stream) -> Rule:
        """Return the iteration by the present parameters."""
        criterion, theta = self._criterion(), np.zeros(stream.core.p)
        return Rule(
            criterion.between,
            criterion.total,
            theta,
            tol=float(self.tol or 0.0),
            patience=float(self.patience),
            least=2 if self._by_class else 0,
            stop=bool(self.early_stopping),
            orthonormal=bool(self.orthonormalize),
        )

    def _how(self, stream: Stream, y: Any) -> tuple[Any, ...]:
        p = self._p(stream.n_features)
        if stream.core.p != p:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components={stream.core.p} as at the start, "
                f"got {p}. Use fit to start again."
            )
        return self._rule(stream), self._start

    def _p(self, n_features: int) -> int:
        return min(2, n_features) if self.n_components is None else self.n_components

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths

    def _solve(self, state: Stream) -> Directions:
        W = state.core.directions(self.orthonormalize)
        return Directions(set_signs(W), self._eigenvalues(state.core), available=W.shape[1])

    def _check_together(self, n_features: int) -> None:
        name, p = type(self).__name__, self.n_components
        if p is not None and p > n_features:
            raise ParameterError(
                f"{name}: expected n_components<={n_features}, the number of features in the data, "
                f"got {p}. Use fewer components."
            )
        if self.early_stopping and self.tol is None:
            raise ParameterError(
                f"{name}: expected a tol for early_stopping=True, got None. "
                "Use tol=0.06, for example."
            )
