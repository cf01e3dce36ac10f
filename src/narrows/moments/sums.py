"""The sums themselves: their arrays, their origin, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

import numpy as np

from narrows.errors import RangeError
from narrows.moments.labels import places_of, union
from narrows.moments.products import COORDINATES
from narrows.moments.reservoir import Reservoir
from narrows.moments.second import Second, shallow
from narrows.moments.table import Table
from narrows.moments.targets import MOST_TARGETS
from narrows.solve.codec import (
    MOST,
    PART,
    SchemaError,
    Sizes,
    check_known,
    declared_from_arrays,
    declared_to_arrays,
)
from narrows.solve.in_place import ChangesInPlace
from narrows.solve.sums import check_summable


class Sums(ChangesInPlace):
    """T'T, T'X and second moments about an origin, and a few samples.

    Attributes are those of `Moments`.
    """

    labels: Annotated[np.ndarray | None, "labels", "c"]
    tt: Annotated[np.ndarray, "f8", "c ..."]
    tx: Annotated[Table, PART, "c d"]
    second_moment: Annotated[Second, PART, "c d", "second"]
    # less than 0 after a subtraction of weighted moments, which may have more samples
    count: Annotated[int, "i8"]
    origin: Annotated[np.ndarray | None, "f8", "d"]
    t_origin: Annotated[np.ndarray | None, "f8", "t"]
    placed: Annotated[float, "f8 >=0"]
    kept: Annotated[Reservoir, PART, "c"]

    def _begin(
        self, n_features: int, second: Any, keep: int, numeric: bool, kept_width: int
    ) -> None:
        self.labels = None if numeric else np.empty(0, np.int64)
        self.tt = np.zeros((1, 1)) if numeric else np.zeros(0)
        self.tx = Table((len(self.tt), n_features))
        self.second_moment = Second.kinds[second].zeros(len(self.tt), n_features)
        self.count, self.placed, self.origin = 0, 0.0, None
        self.t_origin = np.zeros(0) if numeric else None
        self.kept = Reservoir(kept_width, keep, 0 if numeric else None)

    @classmethod
    def of_coordinates(cls, width: int, keep: int, kept_width: int) -> Self:
        """Return the moments of no samples behind a map, which may have more coordinates.

        What is kept of samples has `kept_width` numbers.
        """
        new = object.__new__(cls)
        new._begin(width, "cross", keep, False, kept_width)
        return new

    def emptied(self) -> Self:
        """Return moments of no samples, of the same kind."""
        new = object.__new__(type(self))
        new._begin(self.n_features, self.second, self.keep, self.is_numeric, self.kept.width)
        return new

    # -- what there is --------------------------------------------------------------------------

    @property
    def second(self) -> str | None:
        """The kind of the second moments."""
        return self.second_moment.kind

    @property
    def keep(self) -> int:
        """The number of samples to keep."""
        return self.kept.most

    @property
    def is_numeric(self) -> bool:
        """Whether targets are numbers."""
        return self.labels is None

    @property
    def classes(self) -> np.ndarray:
        """All labels seen so far, sorted; read-only. The one label 0 for numeric targets."""
        return read_only(np.zeros(1, np.int64) if self.labels is None else self.labels)

    @property
    def counts(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (n_classes,); read-only."""
        return read_only(self.tt if self.labels is not None else self.tt[0, :1])

    @property
    def n(self) -> float:
        """The total weight, sum_j N_j."""
        return float(self.tt.sum() if self.labels is not None else self.tt[0, 0])

    @property
    def n_samples(self) -> int:
        """The number of samples seen."""
        return self.count

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.tx.shape[1]

    @property
    def n_targets(self) -> int:
        """The number of numeric targets, which the first samples determine; 0 before them."""
        return 0 if self.labels is not None else len(self.tt) - 1

    @property
    def n_held(self) -> int:
        """How many samples there are as they are, at most: those that are kept, or wait."""
        held = len(self.kept.samples.weight) + self.second_moment.n_waiting
        return min(held, max(0, self.count))

    @property
    def nbytes(self) -> int:
        """The bytes of the sums and of what is kept."""
        held: list[Any] = [self.tt, self.tx, self.second_moment, self.kept]
        return sum(each.nbytes for each in held)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def __repr__(self) -> str:
        of = f"{self.n_targets} targets" if self.is_numeric else f"{len(self.classes)} classes"
        return (
            f"Moments({self.count} samples, {of}, {self.n_features} features, "
            f"second={self.second!r}, keep={self.keep})"
        )

    def has(self, second: Any) -> bool:
        """Whether there are these second moments, or others that they follow from."""
        return second in (None, self.second) or (second == "total" and self.second is not None)

    # -- the origin -----------------------------------------------------------------------------

    def _about(self, origin: Any, t_origin: np.ndarray | None = None) -> Self:
        """Return the moments about other origins: exact shifts. It may share arrays with these."""
        new = self._shared()
        if t_origin is not None:
            new._move_targets(t_origin)
        new.origin, old = origin, self.origin
        if origin is old or not self.n:
            return new
        shift = (np.zeros(1) if old is None else old) - (np.zeros(1) if origin is None else origin)
        if not shift.any():
            return new
        new.second_moment = new.second_moment.about(shift, self.counts, new._sums.toarray())
        t = new.tt if self.labels is not None else new.tt[0]
        new.tx = Table(new.tx.shape, new.tx.toarray() + t[:, None] * shift)
        return new

    def _aligned(self, other: Self) -> Self:
        """Return other moments about the origins of these. Both may share arrays."""
        return other._about(self.origin, self.t_origin if other.n_targets else None)

    def _move(self, origin: Any, t_origin: np.ndarray | None = None) -> None:
        """Measure all from other origins, in new arrays; with None features are raw."""
        for each in (origin, t_origin):
            if each is not None:
                check_summable(each)
        self._become(self._about(origin, t_origin))

    def _move_targets(self, t_origin: np.ndarray) -> None:
        """Measure numeric targets from another origin, in new arrays."""
        assert self.t_origin is not None
        shift, self.t_origin = self.t_origin - t_origin, t_origin
        if not shift.any() or not self.n:
            return
        tt, tx = self.tt.copy(), self.tx.toarray().copy()
        more = np.outer(tt[0, 1:] + tt[0, 0] * shift / 2, shift)
        tt[1:, 1:] += more + more.T
        tt[0, 1:] += tt[0, 0] * shift
        tt[1:, 0] = tt[0, 1:]
        tx[1:] += shift[:, None] * tx[0]
        self.tt, self.tx = tt, Table(tx.shape, tx)

    # -- targets --------------------------------------------------------------------------------

    def _grow_labels(self, labels: np.ndarray) -> np.ndarray:
        """Make room for classes, in new arrays, and return the numbers of these."""
        assert self.labels is not None
        merged = union(self.labels, labels)
        if len(merged) > len(self.labels):
            self._regroup(merged, places_of(self.labels, merged))
        return places_of(labels, merged)

    def _with_labels(self, labels: np.ndarray) -> Self:
        """Return moments with these classes besides. They may share arrays with these."""
        new = self._shared()
        new._grow_labels(labels)
        return new

    def _renamed(self, names: np.ndarray) -> Self:
        """Return moments with other labels, in the order of `classes`, which may share arrays."""
        new, order = self._shared(), np.argsort(names)
        new._regroup(names[order], np.argsort(order))
        return new

    def _regroup(self, labels: np.ndarray, row: np.ndarray) -> None:
        """Have these classes, of which class j is number row[j] then, in new arrays."""
        tt = np.zeros(len(labels))
        tt[row] = self.tt
        self.labels, self.tt = labels, tt
        self.tx = self.tx.spread(row, (len(labels), self.n_features))
        self.second_moment = self.second_moment.regrouped(row, len(labels))
        self.kept = self.kept.regrouped(row)

    def _begin_targets(self, t_origin: np.ndarray) -> None:
        """Have as many numeric targets, about this origin, where there were none."""
        q = len(t_origin)
        self.tt, self.t_origin = np.zeros((1 + q, 1 + q)), t_origin
        self.tx = Table((1 + q, self.n_features))
        self.kept = Reservoir(self.kept.width, self.keep, q)

    # -- storage --------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the moments as named arrays, for `from_arrays`; numbers keep all bits."""
        return declared_to_arrays(self)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the moments that `to_arrays` described; SchemaError for other arrays."""
        left = dict(arrays)
        new = cls.read_from(left)
        check_known("arrays", left, ())
        return new

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the moments that `to_arrays` described, and take their arrays out of the dict."""
        return declared_from_arrays(cls, arrays)

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where arrays do not fit each other, or numbers are out of range."""
        c = sizes["c"]
        if self.tt.shape != ((c,) if self.labels is not None else (c, c)):
            raise SchemaError(f"tt: expected sums of {c} targets, got shape {self.tt.shape}.")
        if (self.labels is None) != (self.t_origin is not None and len(self.t_origin) == c - 1):
            raise SchemaError("t_origin: expected that of numeric targets, got another.")
        if self.is_numeric and c == 1 and (self.count or self.tt.any()):
            raise SchemaError("tt: expected sums of targets, got samples without targets.")
        Y = self.kept.samples.Y
        if self.keep and (None if Y is None else Y.shape[1]) != (
            c - 1 if self.is_numeric else None
        ):
            raise SchemaError("kept_Y: expected as many numbers as there are targets, got others.")
        if abs(self.count) > MOST or self.n_targets > MOST_TARGETS or (self.counts < 0).any():
            raise SchemaError("tt, count: expected numbers in range, got others.")
        if self.second == "cross" and self.n_features > COORDINATES:
            raise SchemaError(f"second: expected at most {COORDINATES} features.")

    # -- inside ---------------------------------------------------------------------------------

    def _shared(self) -> Self:
        """Return moments that share all arrays with these, and can be given others."""
        new = shallow(self)
        new.tx = shallow(self.tx)
        new.second_moment, new.kept = self.second_moment.shared(), shallow(self.kept)
        return new

    def _become(self, other: Self) -> Self:
        """Take over other moments, which are not used any more, in one step."""
        vars(self).update(vars(other))
        return self

    @property
    def _sums(self) -> Table:
        """The class sums about the origin; not to be written to."""
        if self.labels is not None or not self.n_targets:
            return self.tx
        first = self.tx.stored()[:1]
        is_array = isinstance(first, np.ndarray)
        return Table(first.shape, first) if is_array else Table(first.shape, nonzeros=first)


def check_sums(sums: Sums) -> None:
    """Raise RangeError where a number is infinite."""
    if not np.isfinite(sums.tt.sum()):
        raise RangeError("finite weights", "infinity", None, "Use smaller weights.")
    sums.tx.check_finite()
    sums.second_moment.check_finite()


def read_only(a: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = a.view()
    view.flags.writeable = False
    return view
