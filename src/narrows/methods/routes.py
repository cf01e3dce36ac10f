"""How an estimator learns: which state it keeps, in which passes over the samples.

`route_of` chooses the route, here and nowhere else:

========== ========== =============================================================================
route      passes     state
========== ========== =============================================================================
Sums       1          sums over the samples (`ClassStats`), which add up
AllAtOnce  1          all samples (`Gathered`), and then their directions
TwoPasses  2          sums that a map is made of, and then sums behind this map (`Mapped`)
InOrder    `passes`   an iteration that learns one sample at a time
========== ========== =============================================================================

A route is used by `fit` (`of_samples`), by fits of parts (`of_parts`), and by fits of chunks
(`engines.local`), which call `empty`, then `estimator._update_state` for each chunk, and after each
pass `next`. `estimator._fit_state` makes a model of the last state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, RangeError, WidthError
from narrows.methods import COLLECTIONS
from narrows.methods.parameters import check_parts
from narrows.methods.standardize import unit_of_samples
from narrows.solve.codec import SchemaError, Sizes
from narrows.solve.eigen import signs_of
from narrows.solve.exact import Centred, occupied
from narrows.solve.scatter import lengths, rule
from narrows.solve.sums import HUGE, TINY, divided, stacked, widened
from narrows.state.class_stats import ClassStats
from narrows.state.cross import MOST
from narrows.state.labels import joined, one_a_row, places_of, union, weights
from narrows.state.mapped import Mapped

_AT_ONCE = "lsqr", "pca", "gsvd"  # solvers that need all samples
Where = Literal["memory", "chunks", "parts", "stream"]


class Data(NamedTuple):
    """What a route depends on."""

    n_features: int
    is_sparse: bool

    @classmethod
    def of(cls, X: Any) -> Data:
        """Return what a route depends on, of samples."""
        return cls(X.shape[1], sparse.issparse(X))


class Route:
    """A way to learn: a state, and passes over the samples."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    @property
    def passes(self) -> int:
        """How often the samples are read."""
        return 1

    def empty(self, n_features: int) -> Any:
        """Return the state before the first pass."""
        return self.estimator._empty_state(n_features)

    def next(self, state: Any, number: int) -> Any:
        """Return the state that learns all samples again, after pass `number`; or None."""
        return None

    def is_of_pass(self, state: Any, number: int) -> bool:
        """Whether a fit can have a state in pass `number`, from 0 on."""
        return isinstance(state, type(self.empty(1)))

    def of_samples(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the state of samples in memory."""
        state: Any = self.empty(X.shape[1])
        for number in range(self.passes):
            state = self.next(state, number - 1) if number else state
            state = self.estimator._update_state(state, X, y, sample_weight, check_input=False)
        return state

    def of_parts(self, parts: Any) -> Any:
        """Return the state of the parts of a data set, wherever they are (`narrows.engines`)."""
        check_parts(type(self.estimator).__name__, self.estimator.half_life)
        return parts.sum(self.estimator)


class Sums(Route):
    """One pass: sums over the samples."""


class InOrder(Route):
    """An iteration that learns one sample at a time, in the order of the samples."""

    @property
    def passes(self) -> int:
        """How often a file is read, in its order."""
        return int(getattr(self.estimator, "passes", 1))

    def empty(self, n_features: int) -> Any:
        """Return the state before the first pass."""
        if hasattr(self.estimator, "passes") and self.estimator.shuffle:
            raise ParameterError(
                f"{type(self.estimator).__name__}: expected shuffle=False, since a file is read in "
                "its own order, got True. Shuffle the file, or use fit in Python."
            )
        return super().empty(n_features)

    def next(self, state: Any, number: int) -> Any:
        """Return the same state."""
        return state if number + 1 < self.passes else None

    def of_parts(self, parts: Any) -> Any:
        """Raise ParameterError: the states do not add up."""
        refuse_parts(self.estimator)


class TwoPasses(Route):
    """Two passes: sums that a map of the samples is made of, and sums behind the map."""

    passes = 2

    def empty(self, n_features: int) -> Any:
        """Return an empty state for the first pass."""
        return ClassStats(n_features, second="total")

    def next(self, state: Any, number: int) -> Any:
        """Return the state behind the map that the first pass determines."""
        if not is_first_pass(state):
            return None
        self.estimator._check_two_classes(state)
        return Mapped.empty(self.estimator._map_of(state), self.estimator._kept)

    def is_of_pass(self, state: Any, number: int) -> bool:
        """Whether a fit can have a state in pass `number`."""
        return isinstance(state, Mapped) if number else is_first_pass(state)

    def of_parts(self, parts: Any) -> Any:
        """Return the state of the parts, which are learned twice."""
        check_parts(type(self.estimator).__name__, self.estimator.half_life)
        second = self.next(parts.sum(self.estimator, ClassStats(0, second="total")), 0)
        second.stats = parts.sum(self.estimator, second)
        return second


class AllAtOnce(Route):
    """One pass that gathers the samples, which are then solved for together."""

    def empty(self, n_features: int) -> Any:
        """Return an empty state that gathers samples."""
        self.estimator._check_no_choice()
        return self.estimator._gathers(n_features)

    def of_parts(self, parts: Any) -> Any:
        """Raise ParameterError: the samples are not in one place."""
        check_parts(type(self.estimator).__name__, self.estimator.half_life)
        if parts.n_features > MOST:
            raise WidthError(
                f"{type(self.estimator).__name__}: expected at most {MOST:,} features for fits of "
                f"parts, got {parts.n_features:,}. Use OC, OCFS or OnlineSRDA, or select features "
                "first, for example with OCFS or VarianceFS.",
                parts.n_features,
            )
        refuse_parts(self.estimator)


def route_of(estimator: Any, data: Any, where: Where) -> Route:
    """Return how an estimator learns samples.

    Parameters
    ----------
    estimator : Estimator
        The estimator.
    data : Data, or parts of a data set
        The number of features, which is asked for only where it matters, and of chunks whether they
        are sparse.
    where : {"memory", "chunks", "parts", "stream"}
        Whether the samples are at hand, come in chunks that can be read again, are on workers, or
        come once.

    Raises
    ------
    WidthError
        A stream, or sparse chunks, cannot be learned so: the message says what to use.
    """
    solver, route = getattr(estimator, "solver", "auto"), estimator._only_route
    if where == "stream":
        if route is None and solver != "cross" and data.n_features > MOST:
            refuse_more(estimator, data.n_features)
        return Sums(estimator)
    if route is not None:
        return route(estimator)
    if solver in _AT_ONCE:
        return AllAtOnce(estimator)
    if solver == "cross" or data.n_features <= MOST:
        return Sums(estimator)
    if estimator._wide is not None:
        return estimator._wide(estimator)
    if where == "chunks" and data.is_sparse and not estimator._gathers_sparse:
        refuse_more(estimator, data.n_features, "sparse samples in chunks")
    return AllAtOnce(estimator)


def route_of_state(estimator: Any, state: Any) -> Route:
    """Return the route of a fit to chunks that has come to a state."""
    return route_of(estimator, Data(state.n_features, False), "chunks")


def most_passes(estimator: Any, n_features: int = MOST + 1) -> int:
    """Return how often at most a fit reads chunks of so many features."""
    estimator._check_parameters_alone()
    return route_of(estimator, Data(n_features, False), "chunks").passes


def is_first_pass(state: Any) -> bool:
    """Whether a state is one that only a map is made of."""
    return isinstance(state, ClassStats) and state.second == "total" and not state.kept


def can_add(estimator: Any) -> bool:
    """Whether an estimator learns sums, to which samples and other sums can be added."""
    return getattr(estimator, "solver", "auto") not in _AT_ONCE


def check_adds_up(estimator: Any, state: Any) -> None:
    """Raise WidthError where a state can neither be stored nor added to that of other samples."""
    if isinstance(state, Solved | Gathered):
        refuse_more(estimator, state.n_features)


def refuse_more(estimator: Any, n_features: int, what: str = "partial_fit and merge") -> NoReturn:
    """Raise, since there are no sums to add to for so many features."""
    if n_features > MOST:
        raise WidthError(
            f"{type(estimator).__name__}: expected at most {MOST:,} features for {what}, got "
            f"{n_features:,}. Use {estimator._instead}.",
            n_features,
        )
    raise ParameterError(
        f"{type(estimator).__name__}: expected sums for partial_fit and merge, got a model that "
        "another solver made of all samples at once. Call fit again."
    )


def refuse_parts(estimator: Any) -> NoReturn:
    """Raise, since the method needs all samples in one place."""
    raise ParameterError(
        f"{type(estimator).__name__}: expected all samples in one place, since the method does not "
        f"combine fits of parts, got parts of a data set. Use {estimator._instead}."
    )


# -- all samples at once ---------------------------------------------------------------------


@dataclass
class Solved:
    """Directions that a fit found, one per column, best first, and the classes they are of."""

    classes: Annotated[np.ndarray, "labels", "c"]
    counts: Annotated[np.ndarray, "f8 >=0", "c"]
    n_samples: Annotated[int, "i8 whole"]
    W: Annotated[np.ndarray, "f8", "d k"] = field(default_factory=lambda: np.empty((0, 0)))
    eigenvalues: Annotated[np.ndarray, "f8", "k"] = field(default_factory=lambda: np.empty(0))
    more: Annotated[int, "i8 whole"] = 0
    alpha: Annotated[float, "f8 i8 >=0"] = 0.0
    coef: Annotated[np.ndarray | None, "f8", "k c"] = None
    intercept: Annotated[np.ndarray | None, "f8", "c"] = None
    # the trace of the covariance of all samples, or targets
    mean_square: Annotated[float | None, "f8 >=0"] = None
    # the mean of the samples along W, for numeric targets
    centre: Annotated[np.ndarray | None, "f8", "k"] = None
    # the directions that separate the classes, if not all
    separating: Annotated[int | None, "i8 whole"] = None

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where there is a rule for classes without samples."""
        if self.intercept is not None and not (self.counts > 0).all():
            raise SchemaError("intercept: expected that of classes with samples, got another.")

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.W)

    @property
    def known(self) -> np.ndarray:
        """Which classes have weight, of shape (n_classes,)."""
        return self.counts > 0


class Gathered:
    """Samples that a fit needs all at once, from a data set that comes in chunks."""

    def __init__(self, n_features: int):
        self.n_features = n_features
        self.classes = np.empty(0, np.int64)
        self.chunks: list[tuple[Any, ...]] = []

    def widen(self, n_features: int) -> Gathered:
        """Append features that are 0 so far."""
        self.n_features = n_features
        return self

    def update(self, X: Any, y: Any, sample_weight: Any, check_input: bool) -> Gathered:
        """Add checked samples, in place."""
        classes, codes = one_a_row(X, y)
        self.classes = union(self.classes, classes)
        self.chunks.append((X, classes[codes], weights(sample_weight, len(codes))))
        return self

    def joined(self, estimator: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return all samples, what was learned beside them, and their weights."""
        every, y, w = zip(*self.chunks, strict=True)
        weight: np.ndarray = np.concatenate(w)
        X = stacked([widened(x, self.n_features) for x in every])
        if sparse.issparse(X):
            X.sum_duplicates()  # since entries are squared; the rows are a copy
        if estimator.half_life is not None:
            weight = weight * 0.5 ** (np.arange(len(weight))[::-1] / estimator.half_life)
        return X, joined(list(y)), weight

    def solved(self, estimator: Any) -> Solved:
        """Return the directions that an estimator finds for the samples."""
        X, y, weight = self.joined(estimator)
        codes = places_of(y, self.classes)
        counts = np.bincount(codes, weight, len(self.classes))
        live = counts > 0
        solved = Solved(self.classes[live], counts[live], len(codes))
        estimator._check_two_classes(solved)
        if not weight.all():
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        codes = (np.cumsum(counts > 0) - 1)[codes]
        unit = unit_of_samples(estimator, X, weight)
        X, columns, d = divided(X, unit), occupied(X), X.shape[1]
        if unit is not None and columns is not None:
            unit = unit[columns]
        A = Centred(X if columns is None else X[:, columns], codes, weight)
        complete(estimator, solved, A, unit, columns)
        if columns is not None:
            narrow, solved.W = solved.W, np.zeros((d, solved.W.shape[1]))
            solved.W[columns] = narrow
        return solved


def engine_of(X: Any) -> Any:
    """Return the engine of a collection, by `COLLECTIONS`; None for other samples.

    The library is recognised by the name of its module and is not imported.
    """
    kind = type(X)  # a `dask.delayed.Delayed` seems to have any attribute; its type does not
    if not (hasattr(kind, "shape") or hasattr(kind, "columns")):
        return None
    engine = COLLECTIONS.get(kind.__module__.partition(".")[0])
    return None if engine is None else import_module(engine)


def complete(
    estimator: Any,
    solved: Solved,
    A: Centred,
    unit: np.ndarray | None = None,
    columns: np.ndarray | None = None,
) -> Solved:
    """Complete a state by the directions that an estimator finds for all samples, in place.

    With a unit, the samples are divided by it, and the directions are those of the features. With
    columns, A has only these.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        mean_square = max(A.squares / A.n - A.m @ A.m, 0.0)
        mean_square = min(float(np.ldexp(mean_square, 2 * A.power)), HUGE)
        solved.mean_square, solved.alpha = mean_square, min(estimator._ridge(mean_square), HUGE)
        answer = estimator._from_samples(A, solved.alpha)
        W, length = answer.W, None
        if answer.within is not None:
            length = lengths(answer, A.n)
            W = W * np.ldexp(length, -A.power)  # the samples are held in other units
        W = W if unit is None else W / unit[:, None]
    solved.eigenvalues, solved.more = answer.eigenvalues, answer.more
    solved.separating = answer.separating
    for what, values in (("eigenvalues", solved.eigenvalues), ("directions", W)):
        size = float(np.abs(values).max(initial=0.0))
        if not size <= HUGE or (A.power and size < TINY):
            raise RangeError(
                f"samples whose {what} are between {TINY:.1e} and {HUGE:.1e}",
                f"numbers up to {A.largest:.1e}",
                A.largest_in() if columns is None else int(columns[A.largest_in()]),
            )
    signs = signs_of(W, unit)
    solved.W = np.array(W * signs, order="C")
    if length is not None:
        coef, intercept = rule(answer, A.counts, A.mean @ answer.W, answer.regresses)
        with np.errstate(over="ignore", invalid="ignore"):
            coef = (signs / length)[:, None] * coef
        if np.isfinite(coef).all():
            solved.coef, solved.intercept = coef, intercept
    return solved
