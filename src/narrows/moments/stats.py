"""ClassStats: the additive state of which every exact method is a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from narrows.moments.labels import indicator, union
from narrows.moments.priors import priors
from narrows.moments.table import Stored, Table, add_dense_rows, add_sparse_rows, beside
from narrows.solve.errors import ParameterError, RangeError, warn
from narrows.solve.schema import FINITE, LABELS, MOST, NOT_NEGATIVE, Field, between, checked
from narrows.solve.sums import (
    BLOCK,
    HUGE,
    TINY,
    all_finite,
    blocks,
    check_not_tiny,
    check_sparse,
    near,
    too_large,
    weighted,
    with_one_index_type,
)
from narrows.solve.undo import Undo

Second = Literal["total", "class"] | None

_ROUNDING = 1e-12  # what a share has to exceed to be more than rounding
_GONE = 1e-12  # of its former weight: what subtraction leaves of a class that is not there any more
_FAINT = 1e-280  # less weight is lost in the rounding of the smallest numbers
_SCHEMA = {
    "classes": LABELS,
    "counts": Field("f8", ("c",), NOT_NEGATIVE),
    # after a subtraction of states that were weighed there may be less than none
    "n_samples": Field("i8", (), between(-MOST, MOST)),
    "presence": Field("b1"),
}
_ORIGIN = {
    "origin": Field("f8", ("d",), FINITE, optional=True),
    "placed": Field("f8", (), NOT_NEGATIVE, optional=True),
}
_LIGHTER = "Use smaller weights."
_MISSING = 1e-9  # of a weight: more than this is not there to be taken out, and not rounding
_EPS = float(np.finfo(np.float64).eps)
_NOISE = 4 * _EPS  # of a sum of squares: its rounding
_DIGITS = 6  # of each variance, that a subtraction promises to leave


class ClassStats:
    """Weights, sums and, on request, sums of squares of labelled rows, class by class.

    A state adds up: ``a + b`` is the state of both data sets together, ``a - b`` takes one
    out of the other again, ``g * a`` weighs a state by g >= 0. So merging, unlearning,
    forgetting and streaming are additions, and neither batching nor order matters.

    Sparse rows are kept as raw sums. Dense rows are kept about an origin, because raw sums of
    squares lose every digit where the offset is large; what is read (``sums``, ``squares``,
    ``means``) is always raw. The origin is near the first batch's mean, and follows most of the
    weight. Where both come, all is raw.

    Parameters
    ----------
    n_features : int
        d, the number of columns.
    second : {None, "total", "class"}, default=None
        Sums of squares: none, over all rows (d numbers), or for each class (c x d).
    presence : bool, default=False
        Count in how many rows a column is not zero, instead of adding values up. Explicit
        zeros do not count.

    Attributes
    ----------
    classes : ndarray of shape (c,)
        All labels ever seen, sorted. A class may have weight 0, after subtraction.
    counts : ndarray of shape (c,)
        N_j, the weight of each class.
    n_samples : int
        Rows seen. With an indicator matrix for y a row counts once here, and once for each
        of its classes in `counts` and in every sum.

    Raises
    ------
    ValueError
        NaN, rows or states of another width, states of different kinds, more subtracted than was
        there, a factor below 0, or sums and weights that no float can hold.
    TypeError
        Something else than a state added or subtracted.

    Warns
    -----
    UserWarning
        By ``a - b`` of states with second moments: fewer than 6 digits of a variance are left,
        because rows far from those that remain, or nearly all of the spread, were subtracted.

    Notes
    -----
    **Cost**: O(nnz) to update from sparse rows, O(n d) from dense ones, with no array larger than
    the state; memory 8 c d bytes, and 8 d or 8 c d more for second moments. Of sparse rows, a table
    of more than 4 million numbers is kept as its non-zeros with their places, at about 12 bytes
    each, as long as that is smaller.

    References
    ----------
    The means and scatters that follow from it are those of paper 000: J. Yan et al., "Effective and
    Efficient Dimensionality Reduction for Large-Scale and Streaming Data Preprocessing", IEEE TKDE
    18(3), 2006, section 2.2, doi:10.1109/TKDE.2006.45. That states add up is narrows' own.

    Examples
    --------
    >>> from narrows import ClassStats
    >>> a = ClassStats.of([[1.0, 0.0], [3.0, 0.0]], ["x", "y"])
    >>> b = ClassStats.of([[5.0, 2.0]], ["y"])
    >>> both = a + b
    >>> both.classes.tolist(), both.counts.tolist()
    (['x', 'y'], [1.0, 2.0])
    >>> both.means.tolist()
    [[1.0, 0.0], [4.0, 1.0]]
    """

    def __init__(self, n_features: int, *, second: Second = None, presence: bool = False):
        if second not in (None, "total", "class"):
            raise ParameterError(
                f'ClassStats: second must be None, "total" or "class", but {second!r} came.'
            )
        self.second: Second = second
        self.presence = presence
        self.n_samples = 0
        self.classes = np.empty(0, dtype=np.int64)
        self.counts = np.zeros(0)
        self._sums = Table((0, n_features))
        # one row in all for "total", one a class for "class"; about the origin, like the sums
        self._squares: Any = None if second is None else Table((int(second == "total"), n_features))
        self._origin: np.ndarray | None = None
        self._placed = 0.0  # the total weight when the origin was chosen
        # how far squares may be off by the rounding of larger ones, of which some were subtracted
        self._noise: Table | None = None

    # -- learning ---------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Second = None,
        presence: bool = False,
    ) -> ClassStats:
        """Return the state of the rows of X; the parameters are those of `update`."""
        X = checked_rows(X)
        return cls(X.shape[1], second=second, presence=presence).update(
            X, y, sample_weight, check_input=False
        )

    def update(
        self, X: Any, y: Any, sample_weight: Any = None, *, check_input: bool = True
    ) -> ClassStats:
        """Add rows, in place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            n may be 0. Sparse matrices of any format, unsorted, with duplicates or explicit
            zeros, give what the same numbers give as an array.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels, new ones at any time; or a 0-1 indicator matrix, of which every
            (row, class) pair counts as a row of its own.
        sample_weight : array-like of shape (n,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 is a row that came twice.
        check_input : bool, default=True
            False where X is known to be finite, float32 or float64, and CSR if sparse.

        Returns
        -------
        self : ClassStats

        Raises
        ------
        ValueError
            NaN or infinity, another number of columns, labels that do not fit. The state is
            then as it was before.
        """
        if check_input:
            X = checked_rows(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"ClassStats: rows of {self.n_features} columns wanted, but {X.shape[1]} came. "
                "Use widen() if the width of the data grew."
            )
        classes, Y = indicator(X, y, sample_weight)
        added = Y.sum(axis=0)
        self._check_weight(float(added.sum()))
        if sparse.issparse(X) and not self.presence:
            check_sparse(X, float(added.sum()), self.second is not None)
        undo, before = Undo(self), self._sums

        def add() -> ClassStats:
            row = self._grow(classes)
            if sparse.issparse(X):
                self._move(None)  # to centre sparse rows would fill them
            elif not self.presence and added.any():
                self._place(float(added.sum()), lambda: _middle(X, Y))
            self._add(X, Y, row, undo if self._sums is before else None)
            counts = self._counts.copy()
            counts[row] += added
            self.counts = counts
            self.n_samples += X.shape[0]
            return self

        return undo.guard(add)

    def _add(self, X: Any, Y: sparse.csr_array, row: np.ndarray, undo: Undo | None) -> None:
        """Add rows to the tables; what changes in place is noted."""
        sums, squares = self._sums, self._squares
        for table in (sums, squares):
            if table is not None and undo is not None:
                undo.attributes(table)
        of_squares = squares, row if self.second == "class" else None
        if sparse.issparse(X):
            add_sparse_rows(X, Y, row, sums, of_squares, self.presence, undo)
        else:
            add_dense_rows(X, Y, row, sums, of_squares, self.presence, self._origin, undo)

    def _grow(self, classes: np.ndarray) -> np.ndarray:
        """Make room for `classes`, and say which row of the state each of them has."""
        merged = union(self.classes, classes)
        if len(merged) > len(self.classes):
            old = np.searchsorted(merged, self.classes)
            counts = np.zeros(len(merged))
            counts[old] = self.counts
            sums, squares = self._sums.spread(old, len(merged)), self._squares
            noise = self._noise
            if squares is not None:  # new tables, all of them: nobody has to note these
                by_class = self.second == "class"
                squares = squares.spread(old, len(merged)) if by_class else squares.scaled(1.0)
            if self.second == "class":
                noise = None if noise is None else noise.spread(old, len(merged))
            self.classes, self.counts = merged, counts
            self._sums, self._squares, self._noise = sums, squares, noise
        return np.searchsorted(merged, classes)

    # -- algebra ----------------------------------------------------------------------------

    def copy(self) -> ClassStats:
        """Return a state that shares no array with this one."""
        return self._scaled(1.0)

    def reduced(self, second: Second) -> ClassStats:
        """Return a copy that holds only these second moments; "class" may become "total"."""
        new = self.copy()
        if second != self.second:
            kept = None if second is None else _in_one(new._squares)
            noise = None if second is None or new._noise is None else _in_one(new._noise)
            new.second, new._squares, new._noise = second, kept, noise
        return new

    def __add__(self, other: ClassStats) -> ClassStats:
        return self.copy()._accumulate(other)

    @classmethod
    def summed(cls, states: Iterable[ClassStats]) -> ClassStats:
        """Return the sum of at least one state, as one that shares nothing with them."""
        first, *others = states
        new = first.copy()
        for other in others:
            new._accumulate(other)
        return new

    def __radd__(self, other: Any) -> ClassStats:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __iadd__(self, other: ClassStats) -> Self:
        return self._become(self + other)

    def __sub__(self, other: ClassStats) -> ClassStats:
        return self.copy()._accumulate(other, -1.0)

    def __isub__(self, other: ClassStats) -> Self:
        return self._become(self - other)

    def __mul__(self, weight: Any) -> ClassStats:
        if not (isinstance(weight, Real) and 0 <= float(weight) < np.inf):
            raise ValueError(
                f"ClassStats: a state is multiplied by a number >= 0, but {weight!r} came. "
                "Use a - b to take rows out."
            )
        return self._scaled(float(weight))

    __rmul__ = __mul__

    def _scaled(self, weight: float) -> ClassStats:
        new = ClassStats(self.n_features, second=self.second, presence=self.presence)
        new.n_samples, new.classes = self.n_samples, self.classes
        with np.errstate(over="ignore"):  # of what is seen next
            new.counts, new._sums = self.counts * weight, self._sums.scaled(weight)
            new._squares = None if self._squares is None else self._squares.scaled(weight)
        new._origin = self._origin  # never written to, so it can be shared
        new._placed = self._placed * weight
        new._noise = None if self._noise is None else self._noise.scaled(weight)
        if weight > 1:
            new._check_weight(0.0)
            new._sums.check_finite("")
            if new._squares is not None:
                new._squares.check_finite(" of squares")
        elif weight < 1:
            new._reset(np.flatnonzero(new.counts < _FAINT))
        return new

    def _check_weight(self, more: float) -> None:
        """Raise where the sum of all weights would be no number."""
        with np.errstate(over="ignore"):
            total = self.n + more
        if not total <= HUGE:
            raise RangeError(f"weights of less than {HUGE:.1e} in all", "more", None, _LIGHTER)

    def _become(self, other: ClassStats) -> Self:
        """Take over another state, which is not used any more, at one stroke."""
        vars(self).update(vars(other))
        return self

    def _accumulate(self, other: ClassStats, sign: float = 1.0) -> Self:
        """Add another state in place; where that fails, this one is of no use any more."""
        if not isinstance(other, ClassStats):
            raise TypeError(
                f"ClassStats: only states add up, but {type(other).__name__} came. "
                "Use ClassStats.of(X, y) to make one of rows."
            )
        for what in ("n_features", "second", "presence"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ValueError(
                    f"ClassStats: only states of one kind add up, but {what} is {mine!r} here "
                    f"and {theirs!r} there."
                    + (" Use widen() on the narrower one." if what == "n_features" else "")
                )
        before = dict(zip(self.classes.tolist(), self.counts.tolist(), strict=True))
        for label, count in zip(other.classes.tolist(), other.counts.tolist(), strict=True):
            if sign < 0 and before.get(label, 0.0) - count < -_MISSING * count:
                raise ValueError(
                    f"ClassStats: class {label!r} has weight {before.get(label, 0.0):g} here, and "
                    f"{count:g} was to be taken out. Subtract only what was added."
                )
        row = self._grow(other.classes)
        varied = self._spread() if sign < 0 else None
        if other.counts.any():
            if other._origin is None:
                self._move(None)
            elif sign > 0:
                self._place(other.n, lambda: other._origin)
        sums, squares = other._about(self._origin)
        self._check_weight(other.n if sign > 0 else 0.0)
        self._sums.check_room(row, sums, sign, "")
        weight = self.counts[row]
        if self._squares is not None:
            where = row if self.second == "class" else np.zeros(1, np.intp)
            self._squares.check_room(where, squares, sign, " of squares")
            self._add_noise(where, other, sign)
        self._counts[row] = np.maximum(weight + sign * other.counts, 0.0)
        self._sums.add(row, sums, sign)
        if self._squares is not None:
            self._squares.add(where, squares, sign)
        self.n_samples += int(sign) * other.n_samples
        if sign < 0:
            self._reset(row[self.counts[row] <= _GONE * weight])
            if self._origin is not None and self.counts.any():
                self._move(self.mean)  # where most of the weight was is not where it is
                self._placed = self.n
        if varied is not None:
            self._warn_of_lost_digits(varied, self.n_samples + other.n_samples)
        return self

    def fade(self, weight: float, fresh: ClassStats) -> Self:
        """Weigh all that is here, add a state, and return self: `weight * self + fresh`, in place.

        A class of less than 1e-12 of the total weight is dropped: its weight becomes 0.
        """
        new = self._scaled(weight)
        new._accumulate(fresh)
        new._reset(np.flatnonzero(new.counts < _GONE * new.n))
        return self._become(new)

    def _reset(self, row: np.ndarray) -> None:
        """Clear the rounding that subtraction leaves in classes that are gone."""
        self._counts[row] = 0
        self._sums.clear(row)
        where = row if self.second == "class" else np.zeros(int(not self.counts.any()), np.intp)
        for table in (self._squares, self._noise):
            if table is not None:
                table.clear(where)

    # -- the origin, and what rounding takes ------------------------------------------------

    def _place(self, weight: float, middle: Callable[[], np.ndarray | None]) -> None:
        """Before rows of so much weight come, have the origin where most of the weight is.

        That is in the middle of what comes where it outweighs what is here. Else the mean is looked
        at whenever the weight has doubled. Raw sums stay raw.
        """
        if not self.counts.any() or (self._origin is not None and weight >= self.n):
            self._move(middle())
        elif self._origin is None or self.n + weight < 2 * self._placed:
            return
        elif self._is_far():
            self._move(self.mean)
        self._placed = self.n + weight

    def _is_far(self) -> bool:
        """Whether the mean is farther from the origin, in any column, than rows are from it."""
        p = self.priors()
        centre = self._centre(p)
        with np.errstate(over="ignore", invalid="ignore"):  # where squares are no numbers: not
            if self._squares is None:
                squares = np.empty_like(centre)
                for columns, M in self._means(p):
                    squares[columns] = weighted(p[p > 0], M**2)
            else:
                squares = self._mean_squares(p)
            return bool((centre**2 > 4 * (squares - centre**2) + self._resolution()).any())

    def _resolution(self) -> np.ndarray | float:
        """A squared deviation no larger than this is rounding of dense rows themselves."""
        return 0.0 if self._origin is None else (8 * _EPS * self._origin) ** 2

    def _move(self, origin: np.ndarray | None) -> None:
        """Keep all about another origin; None gives it up, and sums are raw."""
        self._sums, self._squares = self._about(origin)
        self._origin = origin

    def _about(self, origin: np.ndarray | None) -> tuple[Table, Any]:
        """Sums and squares about another origin: an exact shift."""
        if origin is self._origin or not self.counts.any():
            return self._sums, self._squares
        zero = np.zeros(1)
        delta = (zero if self._origin is None else self._origin) - (
            zero if origin is None else origin
        )
        with np.errstate(over="ignore", invalid="ignore"):  # of what is seen next
            shift = self.counts[:, None] * delta
            squares = self._squares
            if squares is not None:
                change = 2 * delta * self._sums.toarray() + shift * delta
                if self.second == "total":
                    change = change.sum(axis=0, keepdims=True)
                squares = Table(squares.shape, squares.toarray() + change)
            sums = Table(self._sums.shape, self._sums.toarray() + shift)
        for table, of in ((sums, ""), (squares, " of squares")):
            if table is not None:
                table.check_finite(of)
        return sums, squares

    def _add_noise(self, where: np.ndarray, other: ClassStats, sign: float) -> None:
        """Keep what another state has, and of what is subtracted the rounding of squares here."""
        noise = [] if other._noise is None else [(where, other._noise)]
        if sign < 0 and not self.presence:
            rounding = self._squares.scaled(_NOISE)
            rows = np.arange(rounding.shape[0])
            rounding.clear(np.setdiff1d(rows, where))
            noise.append((rows, rounding))
        for rows, table in noise:
            self._noise = self._noise or Table(self._squares.shape)
            self._noise.add(rows, table)

    def _spread(self) -> np.ndarray | None:
        """Which columns vary now, of shape (d,), where there are squares to say it."""
        if self._squares is None or self.presence:
            return None
        p = self.priors()
        return (self.variances(p) > self._resolution()) & self.varying(p)

    def _warn_of_lost_digits(self, varied: np.ndarray, n_samples: int) -> None:
        """Warn where subtracting from so many samples left fewer digits than is promised."""
        if self._noise is None or self.n_samples < 2 or not self.n:
            return
        p = self.priors()
        squares = self._mean_squares(p)
        # single roundings add up like a random walk
        noise = self._mean_of(self._noise, p) * np.sqrt(n_samples)
        left = np.maximum(squares - self._centre(p) ** 2, 0.0)
        lost = varied & (noise * 10**_DIGITS > left)
        if self._origin is None:  # of sparse rows a column of which nothing is left is gone
            lost &= squares > noise
        if not lost.any():
            return
        digits = np.full(len(lost), np.inf)
        digits[lost] = np.log10(np.maximum(left[lost] / noise[lost], 1.0))
        worst = int(digits.argmin())
        warn(
            f"ClassStats: expected at least {_DIGITS} correct digits of each variance after a "
            f"subtraction, got about {int(digits[worst])} for feature {worst}; {int(lost.sum())} "
            f"of {len(lost)} features have fewer than {_DIGITS}. Most of the spread came from the "
            "samples subtracted: add up the states that remain instead."
        )

    def widen(self, n_features: int) -> ClassStats:
        """Return the same state over more columns; the new ones are empty.

        Parameters
        ----------
        n_features : int
            The new width, at least the present one.
        """
        more = n_features - self.n_features
        if more < 0:
            raise ValueError(
                f"ClassStats: widen() wants at least the present {self.n_features} columns, "
                f"but {n_features} came."
            )
        origin = None if self._origin is None else np.pad(self._origin, (0, more))
        return self._having(lambda table: table.widened(n_features), origin)

    def cut(self, columns: slice) -> ClassStats:
        """Return the state of some neighbouring columns of the same rows."""
        origin = None if self._origin is None else self._origin[columns]
        return self._having(lambda table: table.cut(columns), origin)

    def _having(self, change: Callable[[Table], Table], origin: np.ndarray | None) -> ClassStats:
        """The same rows, of which other columns are kept; `change` makes the tables."""
        new = ClassStats(0, second=self.second, presence=self.presence)
        new.n_samples, new.classes, new.counts = self.n_samples, self.classes, self.counts.copy()
        new._sums, new._origin, new._placed = change(self._sums), origin, self._placed
        new._noise = None if self._noise is None else change(self._noise)
        new._squares = None if self._squares is None else change(self._squares)
        return new

    @classmethod
    def beside(cls, parts: Iterable[ClassStats], in_memory: bool = True) -> ClassStats:
        """Return the state of all columns from those of neighbouring ones, of the same rows.

        Parameters
        ----------
        parts : iterable of ClassStats
            In the order of their columns; each is needed only while it is taken.
        in_memory : bool, default=True
            If not, the sums are put into temporary files, from which they are read a part at a
            time; what changes the state takes them into memory.
        """
        new: ClassStats | None = None
        origins: list[Any] = []
        noise: list[Any] = []
        sums: Any
        squares: Any
        sums, squares = ([], []) if in_memory else (Stored(), Stored())
        for part in parts:
            if new is None:
                new = cls(0, second=part.second, presence=part.presence)
                new.n_samples, new.classes = part.n_samples, part.classes
                new.counts, new._placed = part.counts.copy(), part._placed
            elif (part._origin is None) != (origins[0] is None):
                raise ValueError("ClassStats: parts of the same rows wanted.")
            origins.append(part._origin)
            noise.append(part._noise)
            sums.append(part._sums)
            if part._squares is not None:
                squares.append(part._squares)
        if new is None:
            raise ValueError("ClassStats: at least one part wanted.")
        new._sums = beside(sums)
        new._squares = None if new.second is None else beside(squares)
        new._origin = None if origins[0] is None else np.concatenate(origins)
        new._noise = beside(noise) if noise[0] is not None else None
        return new

    @property
    def nbytes(self) -> int:
        """What the tables of the state take in memory."""
        tables = self._sums, self._squares, self._noise
        return sum(table.nbytes for table in tables if table is not None)

    def middle(self) -> int:
        """Return the column that has about half of what the state takes before it."""
        return self._sums.middle()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    # -- reading ----------------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """All labels ever seen, sorted, of shape (c,); not to be written to."""
        return _read_only(self._classes)

    @classes.setter
    def classes(self, classes: np.ndarray) -> None:
        self._classes = classes

    @property
    def counts(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (c,); not to be written to."""
        return _read_only(self._counts)

    @counts.setter
    def counts(self, counts: np.ndarray) -> None:
        self._counts = counts

    @property
    def n_features(self) -> int:
        """d, the number of columns."""
        return self._sums.shape[1]

    @property
    def n(self) -> float:
        """The total weight, sum_j N_j."""
        return float(self.counts.sum())

    @property
    def sums(self) -> np.ndarray:
        """S_j, the sum of the rows of each class, of shape (c, d); not to be written to.

        An array of 8 c d bytes, also where the state keeps less than that.
        """
        return _read_only(self._about(None)[0].toarray())

    @property
    def total(self) -> np.ndarray:
        """sum_j S_j, the sum of all rows, of shape (d,)."""
        return self._about(None)[0].weighted(np.ones(len(self.counts)))

    @property
    def squares(self) -> np.ndarray | None:
        """Sums of squares: None, of shape (d,) for "total", of shape (c, d) for "class"."""
        squares = self._about(None)[1]
        if squares is None:
            return None
        return _read_only(squares.toarray()[0] if self.second == "total" else squares.toarray())

    @property
    def mean(self) -> np.ndarray:
        """m = sum_j S_j / n, of shape (d,); zeros where there is nothing."""
        return self.centre(self.priors())

    @property
    def means(self) -> np.ndarray:
        """m_j = S_j / N_j, of shape (c, d); zeros for a class of weight 0."""
        means = self._sums.toarray() * _ratio(1.0, self.counts)[:, None]
        if self._origin is not None:
            means[self.counts > 0] += self._origin
        return means

    def centre(self, p: np.ndarray) -> np.ndarray:
        """m = sum_j p_j m_j for any priors p of shape (c,); of shape (d,)."""
        centre = self._centre(p)
        return centre if self._origin is None or not p.any() else centre + self._origin

    def _centre(self, p: np.ndarray) -> np.ndarray:
        return self._sums.weighted(_ratio(p, self.counts))

    def priors(self, kind: Any = "empirical") -> np.ndarray:
        """p_j, the weight each class gets in a criterion, of shape (c,); see `moments.priors`."""
        return priors(kind, self.counts)

    def deviations(self, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield m_j - m for the classes with p_j > 0, a block of columns at a time.

        Parameters
        ----------
        p : ndarray of shape (c,)
            Priors; m is sum_j p_j m_j.

        Yields
        ------
        columns : slice
            A run of columns.
        D : ndarray of shape (classes with p_j > 0, columns)
            The caller's own to write to. Nothing of the size of the state is made.
        """
        prior = p[p > 0]
        for columns, D in self._means(p):
            D -= weighted(prior, D)
            yield columns, D

    def rounding(self, p: np.ndarray) -> np.ndarray:
        """Of shape (d,): a deviation no larger than this is none, but rounding of means."""
        bound = _ROUNDING * np.abs(self._centre(p))
        if self._origin is not None:
            bound += 4 * np.finfo(np.float64).eps * np.abs(self._origin)
        return bound

    def joint(self, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield p_j m_j for the classes with p_j > 0, a block of columns at a time.

        Of a state of presence this is the probability that a row has the column and is of the
        class. As for `deviations`.
        """
        for columns, M in self._means(p):
            if self._origin is not None:
                M += self._origin[columns]
            M *= p[p > 0, None]
            yield columns, M

    def _means(self, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield m_j about the origin, as `deviations` does m_j - m."""
        live = p > 0
        weight = self.counts[live, None]
        for columns in blocks(self.n_features, max(1, BLOCK // max(1, live.sum()))):
            yield columns, self._sums[columns][live] / weight

    def variances(self, p: np.ndarray) -> np.ndarray:
        """diag C, the variance of each column, of shape (d,), never below 0.

        Class j is reweighted to p_j first, which takes ``second="class"`` unless p is the
        empirical one. What is less than the rounding that a subtraction left is 0.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of what is seen next
            squares = self._mean_squares(p)
            variances = np.maximum(squares - self._centre(p) ** 2, 0.0)
        if not np.isfinite(variances).all():
            k = int((~np.isfinite(variances)).argmax())
            raise too_large(f"standard deviations below {HUGE**0.5:.1e}", k)
        if self._noise is None and squares.max(initial=0.0) < TINY:  # a square of what is not 0
            size = np.zeros(len(variances))
            for columns, M in self._means(p):
                size[columns] = np.abs(M).max(axis=0, initial=0.0)
            check_not_tiny(size)
        if self._noise is not None:
            variances[variances <= self._mean_of(self._noise, p)] = 0.0
        return variances

    def varying(self, p: np.ndarray) -> np.ndarray:
        """Which columns vary, of shape (d,): their variance is more than rounding.

        It is over 1e-12 of the mean square about the origin; in a state of presence, some but
        not all rows have the column.
        """
        if self.presence:
            share = self._centre(p)
            return (share > _ROUNDING) & (share < 1 - _ROUNDING)
        return self.variances(p) > _ROUNDING * self._mean_squares(p)

    def _mean_squares(self, p: np.ndarray) -> np.ndarray:
        # rounding that a subtraction left may be less than 0
        return np.maximum(self._mean_of(self._squares, p), 0.0)

    def _mean_of(self, squares: Any, p: np.ndarray) -> np.ndarray:
        """The mean of squares, or of their noise, under priors; of shape (d,)."""
        if self.second == "class":
            by_row = _ratio(p, self.counts)
        elif self.second == "total" and np.allclose(p * self.n, self.counts, rtol=1e-12, atol=0):
            by_row = np.array([1 / (self.n or 1.0)])
        else:
            raise ValueError(
                f"ClassStats: variances need second moments: second={self.second!r} is not "
                'enough, use second="class" ("total" will do for empirical priors).'
            )
        return np.asarray(squares.weighted(by_row))

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers are kept to the bit."""
        arrays = {
            "classes": self.classes,
            "counts": self.counts,
            **self._sums.to_arrays("sums"),
            "n_samples": np.array(self.n_samples),
            "presence": np.array(self.presence),
        }
        if self._squares is not None:
            arrays |= self._squares.to_arrays(f"squares_{self.second}")
        if self._origin is not None:
            arrays |= {"origin": self._origin, "placed": np.array(self._placed)}
        if self._noise is not None:
            arrays |= self._noise.to_arrays("noise")
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> ClassStats:
        """Return the state that `to_arrays` described."""
        second: Second = None
        for kind in ("total", "class"):
            if any(name.startswith(f"squares_{kind}") for name in arrays):
                second = kind
        noisy = any(name.startswith("noise") for name in arrays)
        schema, rules = Table.schema(arrays, "sums", "c")
        if second is not None:
            for name in (f"squares_{second}", *(["noise"] if noisy else [])):
                table, more = Table.schema(arrays, name, 1 if second == "total" else "c")
                schema, rules = schema | table, rules + more
        checked(arrays, _SCHEMA | schema | _ORIGIN, rules)
        new = cls(0, second=second, presence=bool(arrays["presence"]))
        new.n_samples = int(arrays["n_samples"])
        new.classes = np.array(arrays["classes"])
        new.counts = np.array(arrays["counts"])
        new._sums = Table.from_arrays(arrays, "sums")
        if second is not None:
            new._squares = Table.from_arrays(arrays, f"squares_{second}")
        if "origin" in arrays:
            new._origin = np.array(arrays["origin"])
            new._placed = float(arrays.get("placed", new.n))  # 0.1.0 did not keep it
        if noisy and second is not None:
            new._noise = Table.from_arrays(arrays, "noise")
        return new

    def __repr__(self) -> str:
        return (
            f"ClassStats({self.n_samples} rows, {len(self.classes)} classes, "
            f"{self.n_features} columns, second={self.second!r}, presence={self.presence})"
        )


def checked_rows(X: Any, who: str = "ClassStats", finite: bool = True) -> Any:
    """Return rows as float32 or float64, CSR if sparse; ValueError where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum that scikit-learn looks at
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=0,
            ensure_all_finite=finite and not all_finite(X),
            estimator=who,
        )
    return with_one_index_type(X)


def _in_one(squares: Table) -> Table:
    """The sum of the rows, as a table of one row."""
    return Table((1, squares.shape[1]), squares.weighted(np.ones(squares.shape[0]))[None, :])


def _middle(X: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
    """A point in the middle of the rows that weigh."""
    each = Y.sum(axis=1)
    counted = (each > 0) & (each >= each.max(initial=0.0) / 2)
    return near(X if counted.all() else X[counted])


def _ratio(a: Any, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0)


def _read_only(a: np.ndarray) -> np.ndarray:
    view = a.view()
    view.flags.writeable = False
    return view
