"""What `ClassStats` does with samples and with features: learning, widening, cutting, storing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from narrows.errors import ParameterError
from narrows.state.algebra import Algebra
from narrows.state.batch import Batch, ToKeep, add_all
from narrows.state.cross import COORDINATES, Cross
from narrows.state.first import First
from narrows.state.folds import FOLDS, MOST_FOLDS, OF_ALL, Folds, of_fold
from narrows.state.kept import Kept
from narrows.state.labels import indicator
from narrows.state.origin import Moments, Origin, middle
from narrows.state.squares import ClassSquares, TotalSquares
from narrows.solve.foreign import numbers_expected, samples_as_numpy
from narrows.solve.schema import (
    FINITE,
    LABELS,
    MOST,
    NOT_NEGATIVE,
    Check,
    Field,
    SchemaError,
    between,
    checked,
)
from narrows.solve.sums import all_finite, check_sparse, with_one_index_type
from narrows.solve.undo import Undo

Second = Literal["total", "class", "cross"] | None
SECOND: dict[Any, Any] = {"total": TotalSquares, "class": ClassSquares, "cross": Cross}

_SCHEMA = {
    "classes": LABELS,
    "counts": Field("f8", ("c",), NOT_NEGATIVE),
    # less than 0 after a subtraction of weighted states, which may have more samples
    "n_samples": Field("i8", (), between(-MOST, MOST)),
    "presence": Field("b1"),
    "registered": Field("b1", ("c",), optional=True),
}
_ORIGIN = {
    "origin": Field("f8", ("d",), FINITE, optional=True),
    "placed": Field("f8", (), NOT_NEGATIVE, optional=True),
}


class State(Algebra):
    """Class weights and moments of samples; see `ClassStats`."""

    def __init__(
        self,
        n_features: int,
        *,
        second: Second = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
    ):
        if second is not None and second not in SECOND:
            kinds = ", ".join(f'"{kind}"' for kind in SECOND)
            raise ParameterError(
                f"ClassStats: expected second to be None, {kinds}, got {second!r}."
            )
        whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
        if folds is not None and not (whole and 2 <= folds <= MOST_FOLDS):
            raise ParameterError(
                f"ClassStats: expected folds to be an integer from 2 to {MOST_FOLDS:,} or None, "
                f"got {folds!r}."
            )
        self.second: Second = second
        self.presence, self.kept = presence, kept
        self.folds = None if folds is None else int(folds)
        self.n_samples = 0
        self._classes: np.ndarray = np.empty(0, dtype=np.int64)
        self._counts: np.ndarray = np.zeros(0)
        self._registered: np.ndarray = np.zeros(0, dtype=bool)
        self._origin: Origin = None
        self._placed = 0.0
        self._moments: Moments = _empty(n_features, second, kept)
        if self.folds is not None:
            parts = [_empty(n_features, second, kept) for _ in range(self.folds)]
            self._moments = {"folds": Folds.of(parts)}

    @classmethod
    def of_coordinates(cls, width: int, kept: int, kept_width: int) -> Self:
        """Return the state of no samples behind a map, which may have more coordinates.

        What is kept of samples has `kept_width` numbers.
        """
        new = cls(0, second="cross", kept=kept)
        new._moments["cross"] = Cross(0, most=COORDINATES)
        new = new.widen(width)
        if kept:
            new._moments["kept"] = Kept(kept_width, kept)
        return new

    # -- learning ---------------------------------------------------------------------------

    def update(
        self, X: Any, y: Any, sample_weight: Any = None, *, check_input: bool = True
    ) -> Self:
        """Add samples, in place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            n_samples may be 0. Sparse matrices of any format, also unsorted or with duplicates or
            explicit zeros, give the same result as the dense array.
        y : array-like of shape (n_samples,), or {array, sparse matrix} of shape \
(n_samples, n_classes)
            Labels; new classes may appear at any time. Or a 0-1 indicator matrix, where every pair
            of a sample and a class counts as a sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.
        check_input : bool, default=True
            Set False if X is known to be finite, float32 or float64, and CSR if sparse.

        Returns
        -------
        self : ClassStats

        Raises
        ------
        ValueError
            NaN or infinity, another number of features, or labels that do not fit. The state is
            then unchanged.

        See Also
        --------
        of : Return the state of samples.
        widen : Return the same state with more features.
        """
        if check_input:
            X = checked_rows(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"ClassStats: expected samples with {self.n_features} features, got {X.shape[1]}. "
                "Use widen() if the data have more features now."
            )
        return self.add_samples(X, *indicator(X, y, sample_weight))

    def add_samples(
        self,
        X: Any,
        classes: np.ndarray,
        Y: sparse.csr_array,
        to_keep: ToKeep | None = None,
        in_place: bool = False,
    ) -> Self:
        """Add checked samples, of what `indicator` makes of their labels, in place; see `Batch`.

        With `in_place` the state is lost if that fails.
        """
        added = Y.sum(axis=0)
        weight = float(added.sum())
        self._check_weight(weight)
        if sparse.issparse(X) and not self.presence:
            check_sparse(X, weight, self.second is not None)
        undo, before = Undo(self), self._moments

        def add() -> None:
            row = self._grow(classes)
            if sparse.issparse(X):
                self._move(None)  # centred sparse samples would be dense
            elif not self.presence and added.any():
                self._place(weight, lambda: middle(X, Y))
            noted, first = undo if self._moments is before else None, max(0, self.n_samples)
            self._add(X, Y, row, noted, to_keep, in_place, first)
            counts = self._counts.copy()
            counts[row] += added
            self._counts = counts
            self._recount()
            self.n_samples += X.shape[0]

        undo.guard(add)
        return self

    def _add(self, X: Any, Y: Any, row: np.ndarray, undo: Undo | None, *options: Any) -> None:
        """Add samples to the moments; `undo` notes what changes in place."""
        batch = Batch(X, Y, row, self.presence, self._origin, undo, *options)
        for moment in self._moments.values():
            moment.update(batch)
        if self.folds is None:
            add_all([batch])

    def keep_as(self, other: Self) -> None:
        """Keep the samples that another state of the same samples keeps, in place."""
        if other.kept:
            self._moments["kept"] = other._moments["kept"]

    def renumber(self, when: np.ndarray) -> None:
        """Give kept samples other numbers in their stream, in place: when[i] to sample i."""
        if self.kept:
            self._moments["kept"] = self._moments["kept"].renumbered(when)

    def register(self, classes: np.ndarray) -> None:
        """Note distinct labels, sorted, as classes to come, in place."""
        row = self._grow(classes)
        registered = self._registered.copy()
        registered[row] = True
        self._registered = registered

    # -- features ---------------------------------------------------------------------------

    def widen(self, n_features: int) -> Self:
        """Return the same state with more features; the new ones are zero.

        Parameters
        ----------
        n_features : int
            The new number of features, at least the present one.

        See Also
        --------
        cut : Return the state of some neighbouring features.
        """
        more = n_features - self.n_features
        if more < 0:
            raise ValueError(
                f"ClassStats: expected widen() to at least the present {self.n_features} features, "
                f"got {n_features}."
            )
        origin = None if self._origin is None else np.pad(self._origin, (0, more))
        return self._with(self._each(lambda moment: moment.widened(n_features)), origin)

    def cut(self, columns: slice) -> Self:
        """Return the state of some neighbouring features of the same samples."""
        origin = None if self._origin is None else self._origin[columns]
        return self._with(self._each(lambda moment: moment.cut(columns)), origin)

    @classmethod
    def beside(cls, parts: Iterable[Self], in_memory: bool = True) -> Self:
        """Combine states of neighbouring features of the same samples.

        Parameters
        ----------
        parts : iterable of ClassStats
            In the order of their features.
        in_memory : bool, default=True
            If False, the numbers are stored in temporary files, one part at a time, and read when
            needed.

        See Also
        --------
        cut : Return the state of some neighbouring features.
        """
        if not in_memory:
            parts = (part._joined([part], in_memory) for part in parts)
        first, *others = parts
        return first._joined([first, *others], in_memory)

    def _joined(self, parts: list[Self], in_memory: bool) -> Self:
        origins: list[Any] = [part._origin for part in parts]
        raw = [origin is None for origin in origins]
        if any(raw) != all(raw):
            raise ValueError("ClassStats: expected parts of the same samples, got others.")
        moments = {
            name: moment.beside([part._moments[name] for part in parts], in_memory)
            for name, moment in self._moments.items()
        }
        return self._with(moments, None if raw[0] else np.concatenate(origins))

    @property
    def nbytes(self) -> int:
        """The bytes of the moments."""
        return sum(moment.nbytes for moment in self._moments.values())

    def middle(self) -> int:
        """Return the feature that has about half of the bytes of the state before it.

        0 if the state cannot be cut there, since it holds products of features.
        """
        if not all(moment.separable for moment in self._moments.values()):
            return 0
        return self._sums.middle() if self.folds is None else self._moments["folds"].middle()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits."""
        arrays = {"classes": self.classes, "presence": np.array(self.presence)}
        if self.folds is None:
            arrays |= {"counts": self.counts, "n_samples": np.array(self.n_samples)}
        if self._registered.any():
            arrays["registered"] = self._registered
        for moment in self._moments.values():
            arrays |= moment.to_arrays()
        if self._origin is not None:
            arrays |= {"origin": self._origin, "placed": np.array(self._placed)}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], kept_width: int | None = None) -> Self:
        """Return the state that `to_arrays` described.

        `kept_width` is the number of features of kept samples, if not that of the state.
        """
        if "folds" in arrays:
            return cls._of_folds(arrays, kept_width)
        second: Second = None
        for kind, moment in SECOND.items():
            if any(name.startswith(moment.names[0]) for name in arrays):
                second = kind
        kinds = _moments_of(second)
        fields, rules = dict(_SCHEMA), tuple[Check, ...]()
        for kind in kinds:
            more, checks = kind.schema(arrays)
            fields, rules = fields | more, rules + checks
        if "kept" in arrays:
            more, checks = Kept.schema(arrays)
            fields, rules = fields | more, rules + checks
        checked(arrays, fields | _ORIGIN, rules)
        new = cls(0, second=second, presence=bool(arrays["presence"]))
        new.n_samples = int(arrays["n_samples"])
        new._classes, new._counts = np.array(arrays["classes"]), np.array(arrays["counts"])
        new._registered = np.array(arrays.get("registered", np.zeros(len(new._counts), bool)))
        new._moments = {kind.names[0]: kind.from_arrays(arrays) for kind in kinds}
        if "kept" in arrays:
            new._moments["kept"] = Kept.from_arrays(arrays, kept_width or new.n_features)
            new.kept = new._moments["kept"].most
        if "origin" in arrays:
            new._origin = np.array(arrays["origin"])
            new._placed = float(arrays.get("placed", new.n))  # 0.1.0 did not store it
        return new

    @classmethod
    def _of_folds(cls, arrays: Mapping[str, np.ndarray], kept_width: int | None) -> Self:
        checked(arrays, FOLDS)
        shared = {name: arrays[name] for name in arrays.keys() & OF_ALL}
        states: list[Self] = []
        for k in range(int(arrays["folds"])):
            try:
                states.append(cls.from_arrays(shared | of_fold(arrays, k), kept_width))
                states[0]._check_kind(states[k])
            except ValueError as error:
                raise SchemaError(f"fold {k}: {error}") from None
        return cls._of_states(
            states, *(int(arrays[name]) for name in ("folds_first", "folds_added"))
        )

    @classmethod
    def _of_states(cls, states: list[Self], first: int, added: int) -> Self:
        """Return the state of folds with the same classes and origin; see `Folds`."""
        new = states[0]._with({}, states[0]._origin)
        counts = np.array([state._counts for state in states])
        sizes = np.array([state.n_samples for state in states])
        moments = [state._moments for state in states]
        new._moments = {"folds": Folds(moments, counts, sizes, first, added)}
        new.folds, new.n_samples = len(states), sum(state.n_samples for state in states)
        with np.errstate(over="ignore"):  # checked next
            new._recount()
        new._check_weight(0.0)
        return new


def _empty(n_features: int, second: Second, kept: int) -> Moments:
    """The moments of no samples."""
    moments: Moments = {each.names[0]: each.empty(n_features) for each in _moments_of(second)}
    return moments | ({"kept": Kept(n_features, kept)} if kept else {})


def _moments_of(second: Second) -> list[Any]:
    """The kinds of moments of a state."""
    return [First] if second is None else [First, SECOND[second]]


def checked_rows(X: Any, who: str = "ClassStats", finite: bool = True) -> Any:
    """Return samples as float32 or float64, CSR if sparse; ValueError unless they are finite."""
    X = samples_as_numpy(X, who)
    # of a sum that scikit-learn looks at
    with np.errstate(over="ignore", invalid="ignore"), numbers_expected(X, who):
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=0,
            ensure_all_finite=finite and not all_finite(X),
            estimator=who,
        )
    return with_one_index_type(X)
