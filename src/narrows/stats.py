"""ClassStats: the additive state of which every exact method is a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from narrows.errors import ParameterError, RangeError
from narrows.interrupts import uninterrupted
from narrows.labels import indicator, union
from narrows.priors import priors
from narrows.solve.sums import (
    BLOCK,
    HUGE,
    TINY,
    add_dense,
    all_finite,
    blocks,
    check_not_tiny,
    check_sparse,
    near,
    too_large,
    weighted,
)
from narrows.solve.table import Stored, Table, add_sparse_rows, beside

Second = Literal["total", "class"] | None

_ROUNDING = 1e-12  # what a share has to exceed to be more than rounding
_GONE = 1e-12  # of its former weight: what subtraction leaves of a class that is not there any more
_FAINT = 1e-280  # less weight is lost in the rounding of the smallest numbers
_LIGHTER = "Use smaller weights."
_MISSING = 1e-9  # of a weight: more than this is not there to be taken out, and not rounding


class ClassStats:
    """Weights, sums and, on request, sums of squares of labelled rows, class by class.

    A state adds up: ``a + b`` is the state of both data sets together, ``a - b`` takes one
    out of the other again, ``g * a`` weighs a state by g >= 0. So merging, unlearning,
    forgetting and streaming are additions, and neither batching nor order matters.

    Sparse rows are kept as raw sums. Dense rows are kept about an origin, near the first
    batch's mean, because raw sums of squares lose every digit where the offset is large; what is
    read (``sums``, ``squares``, ``means``) is always raw. Where both come, all is raw.

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
        there, a factor below 0.
    TypeError
        Something else than a state added or subtracted.

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
            Weights >= 0; a weight of 2 is a row that came twice.
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
        row = self._grow(classes)
        with uninterrupted():
            if sparse.issparse(X):
                self._become_raw()  # to centre sparse rows would fill them
            if not sparse.issparse(X) and not self.presence and not self.counts.any():
                each = Y.sum(axis=1)
                counted = (each > 0) & (each >= each.max(initial=0.0) / 2)  # those that weigh
                if counted.any():
                    self._origin = near(X if counted.all() else X[counted])
            squares, by_class = self._squares, row if self.second == "class" else None
            if sparse.issparse(X):
                add_sparse_rows(X, Y, row, self._sums, (squares, by_class), self.presence)
            else:
                sums = self._sums.become_array()
                second = None if squares is None else squares.become_array()
                add_dense(X, Y, row, sums, (second, by_class), self.presence, self._origin)
            self.counts[row] += added
            self.n_samples += X.shape[0]
        return self

    def _grow(self, classes: np.ndarray) -> np.ndarray:
        """Make room for `classes`, and say which row of the state each of them has."""
        merged = union(self.classes, classes)
        if len(merged) > len(self.classes):
            old = np.searchsorted(merged, self.classes)
            counts = np.zeros(len(merged))
            counts[old] = self.counts
            sums, squares = self._sums.spread(old, len(merged)), self._squares
            if self.second == "class":
                squares = squares.spread(old, len(merged))
            with uninterrupted():
                self.classes, self.counts = merged, counts
                self._sums, self._squares = sums, squares
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
            new.second, new._squares = second, kept
        return new

    def __add__(self, other: ClassStats) -> ClassStats:
        return self.copy()._accumulate(other)

    def __radd__(self, other: Any) -> ClassStats:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __iadd__(self, other: ClassStats) -> Self:
        return self._accumulate(other)

    def __sub__(self, other: ClassStats) -> ClassStats:
        return self.copy()._accumulate(other, -1.0)

    def __isub__(self, other: ClassStats) -> Self:
        return self._accumulate(other, -1.0)

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

    def _check_room(self, sums: Table, squares: Any, classes: np.ndarray, sign: float) -> None:
        """Raise where these, times `sign`, cannot be added; before anything changes."""
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        row = np.array([place.get(label, -1) for label in classes.tolist()], dtype=np.intp)
        self._sums.check_room(row, sums, sign, "")
        if squares is not None:
            row = row if self.second == "class" else np.zeros(1, np.intp)
            self._squares.check_room(row, squares, sign, " of squares")

    def _accumulate(self, other: ClassStats, sign: float = 1.0) -> Self:
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
        if not self.counts.any():
            self._origin = other._origin
        elif other._origin is None and other.counts.any():
            self._become_raw()
        sums, squares = other._about(self._origin)
        self._check_weight(other.n if sign > 0 else 0.0)
        self._check_room(sums, squares, other.classes, sign)
        before = dict(zip(self.classes.tolist(), self.counts.tolist(), strict=True))
        for label, count in zip(other.classes.tolist(), other.counts.tolist(), strict=True):
            if sign < 0 and before.get(label, 0.0) - count < -_MISSING * count:
                raise ValueError(
                    f"ClassStats: class {label!r} has weight {before.get(label, 0.0):g} here, and "
                    f"{count:g} was to be taken out. Subtract only what was added."
                )
        row = self._grow(other.classes)
        weight = self.counts[row]
        with uninterrupted():
            self.counts[row] = np.maximum(weight + sign * other.counts, 0.0)
            self._sums.add(row, sums, sign)
            if self._squares is not None:
                where = row if self.second == "class" else np.zeros(1, np.intp)
                self._squares.add(where, squares, sign)
            self.n_samples += int(sign) * other.n_samples
            if sign < 0:
                self._reset(row[self.counts[row] <= _GONE * weight])
        return self

    def fade(self, weight: float, fresh: ClassStats) -> Self:
        """Weigh all that is here, add a state, and return self: `weight * self + fresh`, in place.

        A class of less than 1e-12 of the total weight is dropped: its weight becomes 0. Dense rows
        are kept about the origin of `fresh` from the moment when that has the larger weight.
        """
        self._grow(fresh.classes)  # first: it raises where labels are of another type
        with uninterrupted():
            self.counts *= weight
            for table in (self._sums, self._squares):
                if table is not None:
                    table.scale(weight)
            self._reset(np.flatnonzero(self.counts < _FAINT))
            if self._origin is not None and fresh._origin is not None and self.n < fresh.n:
                self._sums, self._squares = self._about(fresh._origin)
                self._origin = fresh._origin
            self._accumulate(fresh)
            self._reset(np.flatnonzero(self.counts < _GONE * self.n))
        return self

    def _reset(self, row: np.ndarray) -> None:
        """Clear the rounding that subtraction leaves in classes that are gone."""
        self.counts[row] = 0
        self._sums.clear(row)
        if self.second == "class":
            self._squares.clear(row)
        elif self.second == "total" and not self.counts.any():
            self._squares.clear(np.zeros(1, np.intp))

    def _become_raw(self) -> None:
        """Give up the origin: what sparse rows leave of a difference from it is only rounding."""
        with uninterrupted():
            self._sums, self._squares = self._about(None)
            self._origin = None

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
        new._sums, new._origin = change(self._sums), origin
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
        sums: Any
        squares: Any
        sums, squares = ([], []) if in_memory else (Stored(), Stored())
        for part in parts:
            if new is None:
                new = cls(0, second=part.second, presence=part.presence)
                new.n_samples, new.classes = part.n_samples, part.classes
                new.counts = part.counts.copy()
            elif (part._origin is None) != (origins[0] is None):
                raise ValueError("ClassStats: parts of the same rows wanted.")
            origins.append(part._origin)
            sums.append(part._sums)
            if part._squares is not None:
                squares.append(part._squares)
        if new is None:
            raise ValueError("ClassStats: at least one part wanted.")
        new._sums = beside(sums)
        new._squares = None if new.second is None else beside(squares)
        new._origin = None if origins[0] is None else np.concatenate(origins)
        return new

    @property
    def nbytes(self) -> int:
        """What the tables of the state take in memory."""
        return self._sums.nbytes + (0 if self._squares is None else self._squares.nbytes)

    def middle(self) -> int:
        """Return the column that has about half of what the state takes before it."""
        return self._sums.middle()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    # -- reading ----------------------------------------------------------------------------

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
        """p_j, the weight each class gets in a criterion, of shape (c,); see `narrows.priors`."""
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
        empirical one.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of what is seen next
            squares = self._mean_squares(p)
            variances = np.maximum(squares - self._centre(p) ** 2, 0.0)
        if not np.isfinite(variances).all():
            k = int((~np.isfinite(variances)).argmax())
            raise too_large(f"standard deviations below {HUGE**0.5:.1e}", k)
        if squares.max(initial=0.0) < TINY:  # what was not 0 may be so as a square
            size = np.zeros(len(variances))
            for columns, M in self._means(p):
                size[columns] = np.abs(M).max(axis=0, initial=0.0)
            check_not_tiny(size)
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
        if self.second == "class":
            by_row = _ratio(p, self.counts)
        elif self.second == "total" and np.allclose(p * self.n, self.counts, rtol=1e-12, atol=0):
            by_row = np.array([1 / (self.n or 1.0)])
        else:
            raise ValueError(
                f"ClassStats: variances need second moments: second={self.second!r} is not "
                'enough, use second="class" ("total" will do for empirical priors).'
            )
        return self._squares.weighted(by_row)

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
            arrays["origin"] = self._origin
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> ClassStats:
        """Return the state that `to_arrays` described."""
        second: Second = None
        for kind in ("total", "class"):
            if any(name.startswith(f"squares_{kind}") for name in arrays):
                second = kind
        new = cls(0, second=second, presence=bool(arrays["presence"]))
        new.n_samples = int(arrays["n_samples"])
        new.classes = np.array(arrays["classes"])
        new.counts = np.array(arrays["counts"])
        new._sums = Table.from_arrays(arrays, "sums")
        if second is not None:
            new._squares = Table.from_arrays(arrays, f"squares_{second}")
        if "origin" in arrays:
            new._origin = np.array(arrays["origin"])
        return new

    def __repr__(self) -> str:
        return (
            f"ClassStats({self.n_samples} rows, {len(self.classes)} classes, "
            f"{self.n_features} columns, second={self.second!r}, presence={self.presence})"
        )


def checked_rows(X: Any, who: str = "ClassStats", finite: bool = True) -> Any:
    """Return rows as float32 or float64, CSR if sparse; ValueError where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum that scikit-learn looks at
        return check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=0,
            ensure_all_finite=finite and not all_finite(X),
            estimator=who,
        )


def _in_one(squares: Table) -> Table:
    """The sum of the rows, as a table of one row."""
    return Table((1, squares.shape[1]), squares.weighted(np.ones(squares.shape[0]))[None, :])


def _ratio(a: Any, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0)


def _read_only(a: np.ndarray) -> np.ndarray:
    view = a.view()
    view.flags.writeable = False
    return view
