"""The arrays of a state: their names and axes, and what is one loop over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, RangeError
from narrows.removed import check_attribute
from narrows.solve.codec import MOST, SchemaError, Sizes, check_known, from_arrays, to_arrays
from narrows.solve.in_place import RANDOM, ChangesInPlace, entries
from narrows.solve.sums import check_summable
from narrows.state.cross import COORDINATES, Cross
from narrows.state.cross import MOST as MOST_FEATURES
from narrows.state.kept import Kept
from narrows.state.labels import places_of, union
from narrows.state.table import Table

Second = Literal["total", "class", "cross", "targets"] | None
Origin = np.ndarray | None
Tables = dict[str, Table]

# The tables of a state, by its second moments, and what their rows are: "k", a class in a fold,
# "f", a fold, or "t", a target in a fold: row k of "k" is that of class k mod c in fold k div c,
# with c classes. Beside its tables, a state has a `Cross` for each fold with second="cross", and a
# `Kept` for each fold if it keeps samples. With second="targets" there is one class, the first
# features are numeric targets, and "products" are those of targets and features (`TargetStats`).
ROWS: dict[Any, dict[str, str]] = {
    None: {"sums": "k"},
    "total": {"sums": "k", "squares_total": "f"},
    "class": {"sums": "k", "squares_class": "k"},
    "cross": {"sums": "k"},
    "targets": {"sums": "k", "squares_total": "f", "products": "t"},
}
SQUARES: dict[Any, str] = {
    "total": "squares_total",
    "class": "squares_class",
    "targets": "squares_total",
}

FAINT = 1e-280  # a smaller weight is lost in the rounding of the smallest numbers
# what makes the kind of a state: parameters and attributes
KIND = "n_features", "second", "presence", "kept", "folds", "n_targets"
MOST_FOLDS = 1000
MOST_TARGETS = 1000

_PRODUCT = 2.0  # operations that take as long as a product of entries of a sparse sample
_BY_BLAS = 32.0  # products of features of dense samples in the time of an operation
# arrays that folds share
_OF_ALL = {"classes", "presence", "registered", "origin", "placed", "n_targets"}


class _Stored(NamedTuple):
    """What is stored of a state without folds beside its tables and parts."""

    classes: Annotated[np.ndarray, "labels", "c"]
    counts: Annotated[np.ndarray, "f8 >=0", "c"]
    # less than 0 after a subtraction of weighted states, which may have more samples
    n_samples: Annotated[int, "i8"]
    presence: Annotated[bool, "b"]
    registered: Annotated[np.ndarray | None, "b", "c"] = None
    origin: Annotated[np.ndarray | None, "f8", "d"] = None
    placed: Annotated[float | None, "f8 >=0"] = None
    n_targets: Annotated[int | None, "i8 whole"] = None

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where numbers are out of range, or several classes have targets."""
        if abs(self.n_samples) > MOST or (self.n_targets or 0) > MOST_TARGETS:
            raise SchemaError("n_samples, n_targets: expected numbers in range, got others.")
        if (self.origin is None) != (self.placed is None):
            raise SchemaError("placed: expected an array beside an origin, got one of them.")
        if self.n_targets is not None and (len(self.classes) > 1 or self.classes.dtype.kind != "i"):
            raise SchemaError("classes: expected one class of targets, got others.")


class _Folds(NamedTuple):
    """What is stored of folds."""

    folds: Annotated[int, "i8 whole"]
    folds_first: Annotated[int, "i8 whole"]
    folds_added: Annotated[int, "i8 whole"]

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where there are too many folds, or one."""
        if not 2 <= self.folds <= MOST_FOLDS:
            raise SchemaError(f"folds: expected numbers from 2 to {MOST_FOLDS}, got {self.folds}.")


class StateArrays(ChangesInPlace):
    """The arrays of a `ClassStats`, by name, and what is one loop over them.

    Attributes and parameters are those of `ClassStats`.
    """

    second: Second

    def __init__(
        self,
        n_features: int,
        *,
        second: Second = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
        n_targets: int | None = None,
    ):
        if second not in ROWS or (second == "targets" and n_targets is None):
            kinds = ", ".join(f'"{kind}"' for kind in ROWS if kind not in (None, "targets"))
            raise ParameterError(
                f"ClassStats: expected second to be None, {kinds}, got {second!r}."
            )
        whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
        if folds is not None and not (whole and 2 <= folds <= MOST_FOLDS):
            raise ParameterError(
                f"ClassStats: expected folds to be an integer from 2 to {MOST_FOLDS:,} or None, "
                f"got {folds!r}."
            )
        self.second, self.presence, self.kept, self.n_targets = second, presence, kept, n_targets
        self.folds = None if folds is None else int(folds)
        K = self.folds or 1
        self._classes: np.ndarray = np.empty(0, dtype=np.int64)
        self._registered: np.ndarray = np.zeros(0, dtype=bool)
        self._weights: np.ndarray = np.zeros((K, 0))  # of each class in each fold
        self._sizes: np.ndarray = np.zeros(K, np.int64)  # the number of samples in each fold
        self._first, self._added = 0, 0  # the number of the first sample; how many were numbered
        self._origin: Origin = None  # what dense samples are measured from; never written to
        self._placed = 0.0  # the total weight when the mean was last compared with the origin
        self._tables: Tables = {
            name: Table((len(self._rows(name, np.empty(0, int))), n_features), n_folds=K)
            for name in ROWS[second]
        }
        self._parts: dict[str, tuple[Any, ...]] = {}  # one for each fold
        if second == "cross":
            most = MOST_FEATURES + (n_targets or 0)
            self._parts["cross"] = tuple(Cross(n_features, most=most) for _ in range(K))
        if kept:
            self._parts["kept"] = tuple(Kept(n_features, kept) for _ in range(K))

    @classmethod
    def of_coordinates(cls, width: int, kept: int, kept_width: int) -> Self:
        """Return the state of no samples behind a map, which may have more coordinates.

        What is kept of samples has `kept_width` numbers.
        """
        new = cls(0, second="cross", kept=kept)
        new._tables = {"sums": Table((0, width))}
        new._parts["cross"] = (Cross(width, most=COORDINATES),)
        if kept:
            new._parts["kept"] = (Kept(kept_width, kept),)
        return new

    def __getattr__(self, name: str) -> Any:
        """Say what became of an attribute that an earlier version had."""
        check_attribute("ClassStats", name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def restorer(self) -> Callable[[], None]:
        """Return a function that restores tables and parts, if no array was changed in place."""
        parts = (part for each in self._parts.values() for part in each)
        before = [(each, dict(vars(each))) for each in (*self._tables.values(), *parts)]

        def restore() -> None:
            for each, attributes in before:
                vars(each).update(attributes)

        return restore

    def _cost(self, X: Any) -> float:
        """Return about how many operations it takes to add one of the samples X in place."""
        m = entries(X)
        if "cross" in self._parts:
            return m * m * _PRODUCT if sparse.issparse(X) else m * m / _BY_BLAS
        return m * RANDOM if sparse.issparse(X) else 1.0

    def _shares(self, n: int) -> Iterator[tuple[int, slice]]:
        """Yield the folds that the next n samples go to, and which of them."""
        K = len(self._sizes)
        for start in range(min(n, K)):
            yield (self._first + self._added + start) % K, slice(start, None, K)

    def _square_row(self) -> np.ndarray:
        """Return the row of the squares for each row of the class sums."""
        row = np.arange(self._weights.size)
        return row if self.second == "class" else row // max(1, len(self._classes))

    # -- what there is ----------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """All labels seen so far, sorted, of shape (n_classes,); read-only."""
        return read_only(self._classes)

    @property
    def counts(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (n_classes,); read-only."""
        return read_only(self._weights[0] if self.folds is None else self._weights.sum(axis=0))

    @property
    def known(self) -> np.ndarray:
        """Which classes have weight or were registered, of shape (n_classes,)."""
        return (self.counts > 0) | self._registered

    @property
    def kept_width(self) -> int | None:
        """The number of features of the samples that are kept; None if none are."""
        return self._parts["kept"][0].samples.X.shape[1] if self.kept else None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._tables["sums"].shape[1]

    @property
    def n_samples(self) -> int:
        """The number of samples seen."""
        return int(self._sizes.sum())

    @property
    def n(self) -> float:
        """The total weight, sum_j N_j."""
        return float(self._weights.sum())

    @property
    def nbytes(self) -> int:
        """The bytes of the sums and of what is kept."""
        parts = (part for each in self._parts.values() for part in each)
        return sum(each.nbytes for each in [*self._tables.values(), *parts])

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def sort_in(self) -> None:
        """Sort in the non-zeros that wait; later sums depend in their last bits on when that is."""
        for table in self._tables.values():
            table.stored()

    # -- others made of it --------------------------------------------------------------------

    def copy(self) -> Self:
        """Return a state that shares no array with this one."""
        return self._scaled(1.0)

    def widen(self, n_features: int) -> Self:
        """Return the same state with more features; the new ones are zero.

        Parameters
        ----------
        n_features : int
            The new number of features, at least the present one.

        See Also
        --------
        of : Make a state of samples.
        """
        more = n_features - self.n_features
        if more < 0:
            raise ValueError(
                f"ClassStats: expected widen() to at least the present {self.n_features} features, "
                f"got {n_features}."
            )
        origin = None if self._origin is None else np.pad(self._origin, (0, more))
        new = self._each(
            lambda t: t.spread(np.arange(t.shape[0]), (t.shape[0], n_features)),
            lambda part: part.widened(n_features),
        )
        new._origin = origin
        return new

    def check_kept(self) -> None:
        """Raise SchemaError where kept samples have other features than the state."""
        if self.kept_width not in (None, self.n_features):
            raise SchemaError(
                f"kept_width: expected {self.n_features} features, got {self.kept_width}."
            )

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits.

        The arrays of fold k begin with ``fold{k}_``.
        """
        arrays: dict[str, np.ndarray] = {}
        if self.folds is None:
            registered = self._registered if self._registered.any() else None
            placed = None if self._origin is None else self._placed
            arrays = to_arrays(
                _Stored(
                    self.classes, self.counts, self.n_samples, self.presence, registered,
                    self._origin, placed, self.n_targets,
                )
            )  # fmt: skip
            for name, table in self._tables.items():
                arrays |= table.to_arrays(name)
            for (part,) in self._parts.values():
                arrays |= part.to_arrays()
            return arrays
        for k in range(self.folds):
            own = self._chosen([k]).to_arrays()
            arrays |= {n if n in _OF_ALL else f"fold{k}_{n}": array for n, array in own.items()}
        if self._origin is not None:
            arrays["placed"] = np.array(self._placed)
        return arrays | to_arrays(_Folds(self.folds, self._first, self._added))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described."""
        left = dict(arrays)
        new = cls.read_from(left)
        check_known("arrays", left, ())
        return new

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described, and take its arrays out of the dict."""
        if "folds" in arrays:
            return cls._from_folds(arrays)
        second = next((s for s in ROWS if s is not None and _holds(arrays, s)), None)
        sizes: Sizes = {}
        stored = from_arrays(_Stored, arrays, sizes)
        if stored.n_targets is not None and second != "cross":
            second = "targets"
        if second == "targets" and stored.n_targets is None:
            raise SchemaError("n_targets: expected a number of targets, got none.")
        new = cls(0, second=second, presence=stored.presence, n_targets=stored.n_targets)
        new._sizes = np.array([stored.n_samples])
        new._classes, new._weights = stored.classes, stored.counts[None]
        if stored.registered is None:
            new._registered = np.zeros(len(new._classes), bool)
        else:
            new._registered = stored.registered
        rows = {"k": "c", "f": "1", "t": str(stored.n_targets)}
        new._tables = {
            name: Table.read_from(arrays, name, rows[each], sizes)
            for name, each in ROWS[second].items()
        }
        new._parts = {}
        if second == "cross":
            new._parts["cross"] = (Cross.read_from(arrays, sizes),)
        if "kept" in arrays:
            new._parts["kept"] = (Kept.read_from(arrays, sizes),)
            new.kept = new._parts["kept"][0].most
        if stored.origin is not None:
            new._origin, new._placed = stored.origin, stored.placed
        return new

    @classmethod
    def _from_folds(cls, arrays: dict[str, np.ndarray]) -> Self:
        folds = from_arrays(_Folds, arrays)
        shared = {name: arrays.pop(name) for name in arrays.keys() & _OF_ALL}
        states: list[Self] = []
        for k in range(folds.folds):
            start = f"fold{k}_"
            names = [name for name in arrays if name.startswith(start)]
            own = shared | {name.removeprefix(start): arrays.pop(name) for name in names}
            try:
                states.append(cls.from_arrays(own))
                states[0]._check_kind(states[k])
            except ValueError as error:
                raise SchemaError(f"fold {k}: {error}") from None
        return cls._of_states(states, folds.folds_first, folds.folds_added)

    # -- inside -------------------------------------------------------------------------------

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is found at the end
    def _scaled(self, weight: float) -> Self:
        new = self._each(lambda table: table.scaled(weight), lambda part: part.scaled(weight))
        new._weights = self._weights * weight
        new._placed = self._placed * weight
        if weight > 1:
            new._check_finite()
        elif weight < 1:
            new._clear(new._weights < FAINT)
        return new

    def _with(self) -> Self:
        """Return a state that shares all arrays with this one."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new._tables, new._parts = dict(self._tables), dict(self._parts)
        return new

    def _each(self, of_table: Callable[[Table], Table], of_part: Callable[[Any], Any]) -> Self:
        """Return a state of the same samples, with changed tables and parts."""
        new = self._with()
        new._tables = {name: of_table(table) for name, table in self._tables.items()}
        new._parts = {name: tuple(map(of_part, each)) for name, each in self._parts.items()}
        return new

    def _rows(self, name: str, row: np.ndarray) -> np.ndarray:
        """Return the rows of a table for classes of these numbers, in all folds."""
        K, c = self._weights.shape
        each = {"f": 1, "t": self.n_targets or 0}.get(ROWS[self.second][name])
        if each is not None:
            return np.arange(K * each)
        return np.add.outer(c * np.arange(K), row).ravel()

    def _grow(self, classes: np.ndarray) -> np.ndarray:
        """Add classes, and return the numbers of these; arrays are new ones then."""
        merged = union(self._classes, classes)
        if len(merged) > len(self._classes):
            row, K = places_of(self._classes, merged), len(self._sizes)
            weights, registered = np.zeros((K, len(merged))), np.zeros(len(merged), dtype=bool)
            weights[:, row], registered[row] = self._weights, self._registered
            self._classes, self._weights, self._registered = merged, weights, registered
            for name, table in self._tables.items():
                if ROWS[self.second][name] == "k":
                    shape = K * len(merged), table.shape[1]
                    self._tables[name] = table.spread(self._rows(name, row), shape)
            self._change_kept(lambda kept: kept.spread(row))
        return places_of(classes, merged)

    def _change_kept(self, change: Callable[[Kept], Kept]) -> None:
        """Replace what is kept of each fold, in place."""
        if self.kept:
            self._parts["kept"] = tuple(map(change, self._parts["kept"]))

    def _clear(self, gone: np.ndarray) -> None:
        """Remove the rounding that is left of classes that are gone, each in some folds."""
        self._weights = np.where(gone, 0.0, self._weights)
        empty = np.logical_not(self._weights.any(axis=1))
        for name, table in self._tables.items():
            rows = gone.ravel() if ROWS[self.second][name] == "k" else empty
            table.clear(np.flatnonzero(np.repeat(rows, table.shape[0] // max(1, len(rows)))))
        for parts in self._parts.values():
            for part, weights in zip(parts, self._weights, strict=True):
                part.clear(weights)

    def _empty(self, features: np.ndarray) -> None:
        """Let all samples be at the origin in some features, in place."""
        for each in (*self._tables.values(), *self._parts.get("cross", ())):
            each.empty(features)

    def _become(self, other: Self) -> Self:
        """Take over another state, which is not used any more, in one step."""
        vars(self).update(vars(other))
        return self

    def _check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        if not np.isfinite(self._weights.sum()):
            raise RangeError("finite weights", "infinity", None, "Use smaller weights.")
        for each in (*self._tables.values(), *self._parts.get("cross", ())):
            each.check_finite()

    def _check_kind(self, other: Self) -> None:
        if not isinstance(other, StateArrays):
            raise TypeError(
                f"ClassStats: expected another state, got {type(other).__name__}. "
                "Use ClassStats.of(X, y) to make a state of samples."
            )
        for what in KIND:
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ValueError(
                    f"ClassStats: expected states of one kind, got {what}={mine!r} and "
                    f"{what}={theirs!r}."
                    + (" Use widen() on the narrower one." if what == "n_features" else "")
                )

    def _chosen(self, k: Sequence[int]) -> Self:
        """Return the state of the samples of some folds, without folds."""
        new = self._with()
        new.folds, new._weights = None, self._weights[k].sum(axis=0, keepdims=True)
        new._sizes, new._placed = self._sizes[k].sum(keepdims=True), float(new._weights.sum())
        new._tables = {name: self._of_folds(name, k) for name in self._tables}
        for name, each in self._parts.items():
            new._parts[name] = (summed_up([each[i] for i in k]),)
        return new

    def _of_folds(self, name: str, k: Sequence[int]) -> Table:
        """Return a table of the samples of some folds."""
        table = self._tables[name]
        n = table.shape[0] // len(self._sizes)
        every = np.arange(n)
        return table.gathered(
            np.add.outer(n * np.array(k), every).ravel(), np.tile(every, len(k)), n
        )

    @classmethod
    def _of_states(cls, states: list[Self], first: int, added: int) -> Self:
        """Return the state of folds with the same classes and origin, which it takes over."""
        new = states[0]._with()
        new.folds, new._first, new._added = len(states), first, added
        new._weights = np.concatenate([state._weights for state in states])
        new._sizes = np.concatenate([state._sizes for state in states])
        d, new._tables = new.n_features, {}
        for name in ROWS[new.second]:
            own = [(k, s._tables[name]) for k, s in enumerate(states) if name in s._tables]
            if own:
                n = own[0][1].shape[0]
                new._tables[name] = whole = Table((len(states) * n, d), n_folds=new.folds)
                for k, table in own:
                    whole.add(np.arange(k * n, (k + 1) * n), table)
        for name in new._parts:
            new._parts[name] = tuple(state._parts[name][0] for state in states)
        return new

    def renamed(self, names: np.ndarray) -> Self:
        """Return the state with other labels, different ones, in the order of `classes`."""
        new, order = self.copy(), np.argsort(names)
        new._classes, new._registered = names[order], self._registered[order]
        new._weights = self._weights[:, order]
        for name, table in new._tables.items():
            if ROWS[self.second][name] == "k":
                rows = self._rows(name, order)
                new._tables[name] = table.gathered(rows, np.arange(len(rows)), len(rows))
        place = np.argsort(order)
        new._change_kept(lambda kept: kept.spread(place))
        return new

    def _of_all(self, name: str) -> Table:
        """Return a table of all samples, not to be written to."""
        return self._tables[name] if self.folds is None else self._of_folds(name, range(self.folds))

    def _about(self, origin: Origin) -> Self:
        """Return the state about another origin: an exact shift. It may share arrays with this."""
        new, old = self._with(), self._origin
        new._origin = origin
        if origin is old or not self._weights.any():
            return new
        delta = (np.zeros(1) if old is None else old) - (np.zeros(1) if origin is None else origin)
        new._tables = shifted(self._tables, self._weights.ravel(), delta)
        if "cross" in self._parts:
            K, c = self._weights.shape
            sums = self._tables["sums"].toarray().reshape(K, c, -1).sum(axis=1)
            moved = zip(self._parts["cross"], self._weights.sum(axis=1), sums, strict=True)
            new._parts["cross"] = tuple(each.shifted(delta, n, S) for each, n, S in moved)
        return new

    def _move(self, origin: Origin) -> None:
        """Measure all from another origin, in one step; with None all is raw."""
        if origin is not None:
            check_summable(origin)
        self._become(self._about(origin))


def _holds(arrays: dict[str, np.ndarray], second: str) -> bool:
    """Whether arrays are those of a state with these second moments."""
    return any(name.startswith(SQUARES.get(second, second)) for name in arrays)


def read_only(a: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = a.view()
    view.flags.writeable = False
    return view


def summed_up(parts: Sequence[Any]) -> Any:
    """Return the sum of at least one part, which shares nothing with them."""
    new = parts[0].scaled(1.0)
    for other in parts[1:]:
        new.add(other)
    return new


def shifted(tables: Tables, counts: np.ndarray, delta: Any) -> Tables:
    """Return tables about an origin that is `delta` before theirs; with None the same.

    Parameters
    ----------
    tables : dict of Table
        The sums and sums of squares of x - o, to become those of x - o + delta.
    counts : ndarray of shape (n_rows,)
        The weight of each row of the class sums.
    delta : ndarray of shape (n_features,) or (1,), or None
        The change.
    """
    if delta is None or not counts.any():
        return tables
    S, change, found = tables["sums"].toarray(), counts[:, None] * delta, dict(tables)
    for name, table in tables.items():
        n_rows, d = table.shape
        if name == "products":  # of the first features with all, for the one class of each fold
            q = n_rows // len(S)
            first = delta[:q, None] * (S + change)[:, None] + S[:, :q, None] * delta
            found[name] = Table(table.shape, table.toarray() + first.reshape(n_rows, d))
        if name == "sums" or name.startswith("squares"):
            more = change if name == "sums" else delta * (2 * S + change)
            more = more.reshape(n_rows, len(S) // n_rows, d).sum(axis=1)
            found[name] = Table(table.shape, table.toarray() + more, n_folds=table.n_folds)
    return found
