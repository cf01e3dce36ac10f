"""`Moments`: weighted sums of targets and features, which add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, WidthError, no_samples_have
from narrows.moments.products import MOST
from narrows.moments.reading import NOISE, ROUNDING, Reading
from narrows.moments.reservoir import Reservoir
from narrows.moments.second import Second, about_origin
from narrows.moments.squares import Squares
from narrows.moments.sums import check_sums
from narrows.moments.table import Table
from narrows.moments.targets import Targets, as_samples
from narrows.solve.devices import OnDevice, in_memory
from narrows.solve.hashing import hashes
from narrows.solve.in_place import entries, in_blocks, some_rows
from narrows.solve.sums import (
    BLOCK,
    add_sparse,
    blocks,
    canonical,
    check_finite,
    check_summable,
    dense_sums,
    rough_mean,
    warn_if_far,
    with_labels,
    with_values,
)

GONE = 1e-12  # of its former weight: what a subtraction leaves of a class that is gone
FAINT = 1e-280  # a smaller weight is lost in the rounding of the smallest numbers
PARTS = 5  # of the samples that are kept, each of which is held out
_AWAY = 0.8  # of a mean square is that of a mean: 2 standard deviations
_MISSING = 1e-9  # of a weight: a subtraction of more than this in excess is not rounding
_NEVER = 1e-6  # of the former squares: a variance of less than minus this is of no samples
_ENTRY = 2.0  # operations that take as long as adding an entry of a sparse sample
_PRODUCT = 2.0  # operations that take as long as a product of entries of a sparse sample
_ELSEWHERE = 8.0  # numbers of samples that a device reads in the time of an operation
_BY_BLAS = 128.0  # products of features of dense samples in the time of an operation


class Moments(Reading):
    """Sums over labelled samples, from which all exact methods are fitted: moments add up.

    Targets are a matrix T with a column for each class, which has the weights of its samples, or a
    column of ones and then numeric targets. `Moments` are the sums T'T and T'X over all samples,
    and sums of products of features, as far as they are needed. ``a + b`` are the moments of both
    data sets together, ``a - b`` those of a without the samples of b, and ``g * a`` scales all
    weights by g >= 0. The result does not depend on batches or order.

    Dense samples are measured from an origin near their mean, since sums of squares of data with a
    large offset lose all digits. Moments of sparse samples have no such origin. What methods and
    properties return does not depend on the origin, where they do not say so.

    Parameters
    ----------
    n_features : int
        The number of features.
    second : {None, "total", "class", "cross"}, default=None
        Second moments: none, sums of squares over all samples ("total") or for each class
        ("class"), or sums of products of all pairs of features ("cross", for at most 8,192
        features). For numeric targets "total" or "cross".
    keep : int, default=0
        The number of samples to keep: those with the smallest hashes, in any order.
    numeric : bool, default=False
        Whether targets are numbers, and not labels. The first samples determine how many.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,) or None
        All labels seen so far, sorted. A class may have weight 0, after a subtraction. None for
        numeric targets.
    tt : ndarray of shape (n_classes,) or (1 + n_targets, 1 + n_targets)
        The weights of the classes; or T'T, about the origin of the numbers.
    tx : Table of shape (n_classes, n_features) or (1 + n_targets, n_features)
        T'X, about the origins: an array, or its non-zeros where these are smaller.
    second_moment : Second
        The second moments, about the origin.
    count : int
        The number of samples. A sample with several labels counts once here, and once for each of
        its classes in all sums.
    origin, t_origin : ndarray or None
        What features and numbers are measured from; None for 0.
    placed : float
        The weight of all samples when the origin was last compared with their mean.
    kept : Reservoir
        The samples that are kept.

    Raises
    ------
    ValueError
        X contains NaN, the number of features or the kind of the moments differs, more is
        subtracted than was added, a factor is negative, or sums or weights overflow.
    TypeError
        The other operand is no `Moments`.

    See Also
    --------
    narrows.OC, narrows.SRDA, narrows.PLS : Fitted from moments by `fit_moments`.

    Notes
    -----
    `update`, `add` and `fade` change moments in place; moments that other methods return share no
    array with others that these write to. After an interrupt, moments have learned whole blocks of
    samples.

    **Cost**: O(nnz) to update from sparse samples, O(n_samples n_features) from dense ones, with no
    array larger than the moments. Memory: 8 n_classes n_features bytes, and 8 n_features or as much
    again for sums of squares. For sparse samples, a table of more than 4 million numbers is stored
    as its non-zeros with their indices, at about 12 bytes each, as long as that is smaller.

    With "cross", O(n_samples n_features^2) from dense samples on all cores, O(n_samples z^2) from
    sparse ones with z non-zeros each, and 8 n_features^2 bytes. Up to max(256, n_features) samples
    are stored until their products are added. float32 samples are converted to double precision
    first.

    References
    ----------
    The means and scatters that follow from moments are those of Yan et al. (2006): J. Yan et al.,
    "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming Data
    Preprocessing", IEEE TKDE 18(3), 2006, section 2.2, doi:10.1109/TKDE.2006.45. The addition of
    moments is specific to narrows.

    Examples
    --------
    >>> from narrows.moments.moments import Moments
    >>> a = Moments.of([[1.0, 0.0], [3.0, 0.0]], ["x", "y"])
    >>> b = Moments.of([[5.0, 2.0]], ["y"])
    >>> both = a + b
    >>> both.classes.tolist(), both.counts.tolist()
    (['x', 'y'], [1.0, 2.0])
    >>> both.means.tolist()
    [[1.0, 0.0], [4.0, 1.0]]
    >>> (both - b).means.tolist()
    [[1.0, 0.0], [3.0, 0.0]]

    Numeric targets:

    >>> m = Moments.of([[1.0, 0.0], [3.0, 2.0]], [10.0, 20.0], second="cross", numeric=True)
    >>> m.mean.tolist(), m.target_mean.tolist(), m.covariances().tolist()
    ([2.0, 1.0], [15.0], [[5.0, 5.0]])
    """

    def __init__(
        self, n_features: int, *, second: Any = None, keep: int = 0, numeric: bool = False
    ):
        kinds = [kind for kind in Second.kinds if not (numeric and kind == "class")]
        if second not in kinds:
            raise ParameterError(f"expected one of second={kinds}, got {second!r}.")
        _check_width(second, n_features)
        self._begin(n_features, second, keep, numeric, n_features)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        second: Any = None,
        keep: int = 0,
        numeric: bool = False,
    ) -> Self:
        """Return the moments of the samples X; the parameters are those of `update`."""
        X = as_samples(X)
        new = cls(X.shape[1], second=second, keep=keep, numeric=numeric)
        return new.update(X, y, sample_weight, check_input=False)

    # -- learning -------------------------------------------------------------------------------

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
            of a sample and a class counts as a sample. With ``numeric=True``, numbers of shape
            (n_samples,) or (n_samples, n_targets).
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.
        check_input : bool, default=True
            Set False if X is known to be finite, float32 or float64, and CSR if sparse.

        Returns
        -------
        self : Moments

        Raises
        ------
        ValueError
            NaN or infinity, another number of features or targets, or labels that do not fit. The
            moments are then unchanged.

        See Also
        --------
        of : Return the moments of samples.
        widen : Return the same moments with more features.
        """
        if check_input:
            X = as_samples(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"expected samples with {self.n_features} features, got {X.shape[1]}. "
                "Use widen() if the data have more features now."
            )
        to_targets = Targets.of_labels if self.labels is not None else Targets.of_numbers
        targets = to_targets(X, y, sample_weight)
        if self.labels is None or sparse.issparse(X) or self.second == "cross":
            check_summable(X, float(targets.weight.sum()))  # else their sums are checked
        return self.add(X, targets)

    def add(self, X: Any, targets: Targets, keep: tuple[Any, np.ndarray] | None = None) -> Self:
        """Add checked samples, in place.

        `keep` is what is kept of the samples, with its hashes, if not the samples themselves.
        """
        if self.labels is None and not X.shape[0]:  # numbers of none have no middle
            self._check_targets(targets.T.shape[1] - 1)
            return self
        self._own()
        for rows in in_blocks(X, self.cost(X)):
            kept = None if keep is None else (some_rows(keep[0], rows), keep[1][rows])
            new = self._shared()
            add = new._prepared(some_rows(X, rows), targets.rows(rows), kept)
            with self.changing():
                add()
                self._become(new)
        return self

    def cost(self, X: Any) -> float:
        """Return about how many operations it takes to add one of the samples X in place."""
        m = entries(X)
        if isinstance(X, OnDevice):
            return m / _ELSEWHERE
        if self.second == "cross":
            return m * m * _PRODUCT if sparse.issparse(X) else m * m / _BY_BLAS
        return m * _ENTRY if sparse.issparse(X) else 1.0

    def _prepared(
        self, X: Any, targets: Targets, keep: tuple[Any, np.ndarray] | None
    ) -> Callable[[], None]:
        """Return a function that adds samples to these shared moments, in place.

        All that may fail is done before it changes an array.
        """
        weight, n, is_sparse = targets.weight, X.shape[0], sparse.issparse(X)
        if is_sparse and self.second is not None and not self.n:
            warn_if_far(X)
        row = self._grow(targets)
        total = float(weight.sum())
        if is_sparse:
            self._move(None)  # centred sparse samples would be dense
        elif total:
            self._place(total, n, lambda: _middle(X, targets))
        numbers = None  # weighted, about their origin
        if self.labels is None:
            Z = targets.T[:, 1:] - self.t_origin
            Y, numbers = _column(weight), weight[:, None] * Z
            T = np.hstack([targets.T[:, :1], Z])
            tt = self.tt + T.T @ np.hstack([weight[:, None], numbers])
        else:
            Y = with_labels(targets.T, row[targets.T.indices], len(self.tt))
            tt = self.tt + np.bincount(Y.indices, Y.data, len(self.tt))
        if self.keep and keep is None:
            kept = in_memory(X)
            keep = kept, hashes(kept if numbers is None else _beside(targets.T[:, 1:], kept))
        self.tx.sort_in()
        self.second_moment.make_room(int(np.count_nonzero(weight)))
        sums = [] if is_sparse else self._dense_sums(X, Y, numbers)

        def add() -> None:
            if keep is not None:
                when = max(0, self.count) + np.arange(n)
                given = None if numbers is None else targets.T[:, 1:]
                self.kept.add(keep[0], keep[1], when, Y, given)
            self.second_moment.add(X, Y, weight, self.origin)
            if is_sparse:
                self._add_sparse(X, Y, numbers)
            for table, places, more in sums:
                table.add(places, more)
            self.tt, self.count = tt, self.count + n

        return add

    def _dense_sums(
        self, X: np.ndarray, Y: sparse.csr_array, numbers: np.ndarray | None
    ) -> list[tuple[Table, np.ndarray, Table]]:
        """Return sums of dense samples, with the table and the rows of it that they belong to.

        Column k of Y is row k of `tx`. No array is made for classes that do not occur.
        """
        table, square_row = self.second_moment.table, None
        occurs = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
        given = np.flatnonzero(occurs)
        if not len(given):
            return []
        if len(given) < len(occurs):
            Y = with_labels(Y, (np.cumsum(occurs) - 1)[Y.indices], len(given))
        if table is not None:
            row = self.second_moment.table_row(len(occurs))[given]
            places, square_row = np.unique(row, return_inverse=True)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            sums, squares = dense_sums(X, Y, square_row, origin=self.origin)
        check_summable(sums)
        check_finite(squares)
        found = [(self.tx, given, Table(sums.shape, sums))]
        if table is not None:
            found.append((table, places, Table(squares.shape, squares)))
        if numbers is not None:
            # the same bits for equal features, so that ties are ties
            if table is not None or isinstance(X, OnDevice):
                sums, _ = dense_sums(X, _rows(numbers), origin=self.origin)
            else:
                sums = np.zeros((numbers.shape[1], X.shape[1]))
                for part in blocks(len(X), max(1, BLOCK // max(1, X.shape[1]))):
                    sums += numbers[part].T @ about_origin(X[part], self.origin)
            found.append((self.tx, 1 + np.arange(len(sums)), Table(sums.shape, sums)))
        return found

    def _add_sparse(
        self, X: sparse.csr_array, Y: sparse.csr_array, numbers: np.ndarray | None
    ) -> None:
        """Add sparse samples to the tables, in place; column k of Y is row k of `tx`."""
        tx, table = self.tx.array, self.second_moment.table
        row = None if table is None else self.second_moment.table_row(Y.shape[1])
        squares = None if table is None else table.array
        if tx is not None and (table is None or squares is not None):
            add_sparse(X, Y, tx[: Y.shape[1]], squares, row)
            if numbers is not None:
                add_sparse(X, _rows(numbers), tx[1:])
            return
        X = X if table is None else canonical(X)
        T = Y if numbers is None else _rows(np.hstack([Y.toarray(), numbers]))
        self.tx.add_samples(X, T)
        if table is not None and row is not None:
            squared = with_values(X, X.data.astype(np.float64) ** 2)
            table.add_samples(squared, with_labels(Y, row[Y.indices], table.shape[0]))

    def _grow(self, targets: Targets) -> np.ndarray:
        """Make room for targets, in new arrays, and return the numbers of their classes."""
        if self.labels is None:
            self._check_targets(targets.T.shape[1] - 1)
            if not self.n_targets:
                self._begin_targets(rough_mean(targets.T[:, 1:]))
            return np.zeros(1, np.intp)
        assert targets.labels is not None
        return self._grow_labels(targets.labels)

    def _place(
        self, weight: float, n: int, middle: Callable[[], tuple[Any, np.ndarray | None]]
    ) -> None:
        """Before n samples of so much weight are added, put the origin near most of the weight.

        That is the middle of the samples if they outweigh the others, and of both if either is one
        sample, which does not stay as the origin. Otherwise the mean is compared with the origin
        each time the weight has doubled. Raw sums stay raw.
        """
        is_heavy, one = weight >= self.n, 1 in (n, self.count)
        if not self.n or (self.origin is not None and is_heavy and n > 1):
            self._move(*middle())
        elif self.origin is not None and one and (is_heavy or self.count == 1):
            share, (of_features, of_targets) = weight / (self.n + weight), middle()
            if of_targets is not None:
                of_targets = self.target_mean * (1 - share) + of_targets * share
            self._move(self.mean * (1 - share) + of_features * share, of_targets)
        elif self.origin is None or self.n + weight < 2 * self.placed:
            return
        elif self._is_away(_AWAY):
            self._move(self.mean, self._target_mean())
        self.placed = self.n + weight

    # -- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        return self.copy()._accumulate(other)

    def __radd__(self, other: Any) -> Self:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __sub__(self, other: Self) -> Self:
        return self.copy()._accumulate(other, -1.0)

    def __mul__(self, factor: Any) -> Self:
        if not (isinstance(factor, Real) and 0 <= float(factor) < np.inf):
            raise ValueError(
                f"expected a factor that is a number >= 0, got {factor!r}. "
                "Use a - b to subtract samples."
            )
        return self._scaled(float(factor))

    __rmul__ = __mul__

    @classmethod
    def summed(cls, each: Iterable[Self]) -> Self:
        """Return the sum of at least one `Moments`."""
        first, *others = each
        new = first.copy()
        for other in others:
            new._accumulate(other)
        return new

    def fade(self, factor: float, fresh: Self) -> Self:
        """Scale all weights, add other moments, and return self: `factor * self + fresh`, in place.

        A class of less than 1e-12 of the total weight is dropped: its weight becomes 0.
        """
        new = self._scaled(factor)
        new._accumulate(fresh._later(self.count))
        new._forget(new.counts < GONE * new.n)
        return self._become(new)

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is found at the end
    def _scaled(self, factor: float) -> Self:
        new = self._shared()
        new.tt, new.tx = self.tt * factor, self.tx.scaled(factor)
        new.placed = self.placed * factor
        new.second_moment, new.kept = self.second_moment.scaled(factor), self.kept.scaled(factor)
        if factor > 1:
            check_sums(new)
        elif factor < 1:
            new._forget(new.counts < FAINT)
        return new

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is found at the end
    def _accumulate(self, other: Self, sign: float = 1.0) -> Self:
        """Add `sign` times other moments in place; where that fails, these are not usable."""
        self.check_kind(other)
        if sign < 0:
            self._check_enough(other)
        row = self._grow_as(other)
        if other.n:
            if other.origin is None:
                self._move(None)
            elif sign > 0:
                self._place(other.n, other.count, lambda: (other.origin, other.t_origin))
        more, former = self._aligned(other), None
        if sign < 0 and self.second is not None:
            former = self._sums_of_squares()
        classes = row if self.labels is not None else np.arange(more.tx.shape[0])
        self.tx.add(classes, more.tx, sign)
        self.second_moment.merge(more.second_moment, sign, row)
        self.kept.merge(more.kept, sign, row)
        before, self.tt = self.tt, self.tt.copy()
        if self.labels is not None:
            self.tt[row] = np.maximum(before[row] + sign * other.tt, 0.0)
        else:
            self.tt[: len(more.tt), : len(more.tt)] += sign * more.tt
            self.tt[0, 0] = max(self.tt[0, 0], 0.0)
        self.count += int(sign) * other.count
        if sign < 0:
            gone = np.zeros(len(self.counts), bool)
            was = before if self.labels is not None else before[0, :1]
            gone[row] = self.counts[row] <= GONE * was[row]
            self._forget(gone)
            if self.origin is not None and self.n:
                self._move(self.mean, self._target_mean())  # most of the weight may be elsewhere
                self.placed = self.n
            if self.n and former is not None:
                self._check_possible(former)
        check_sums(self)
        return self

    def _grow_as(self, other: Self) -> np.ndarray:
        """Make room for the targets of other moments, and return the numbers of their classes."""
        if other.labels is not None:
            return self._grow_labels(other.labels)
        if other.t_origin is not None and other.n_targets and not self.n_targets:
            self._begin_targets(other.t_origin)
        return np.zeros(1, np.intp)

    def _forget(self, gone: np.ndarray) -> None:
        """Remove the rounding that is left of classes that are gone, in arrays of its own."""
        if not gone.any():
            return
        if self.labels is not None:
            self.tt = np.where(gone, 0.0, self.tt)
            self.tx.clear(np.flatnonzero(gone))
        else:  # the one class of all numbers
            self.tt = np.zeros_like(self.tt)
            self.tx.clear(np.arange(self.tx.shape[0]))
        self.second_moment.forget(gone)
        self.kept.forget(gone)

    def check_kind(self, other: Any) -> None:
        """Raise where other moments are of another kind."""
        if not isinstance(other, Moments):
            raise TypeError(
                f"expected other moments, got {type(other).__name__}. "
                "Use Moments.of(X, y) to make moments of samples."
            )
        for what in ("n_features", "second", "keep", "is_numeric"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ValueError(
                    f"expected moments of one kind, got {what.removeprefix('is_')}="
                    f"{mine!r} and {what.removeprefix('is_')}={theirs!r}."
                    + (" Use widen() on the narrower one." if what == "n_features" else "")
                )
        if other.n_targets:
            self._check_targets(other.n_targets)

    def _check_targets(self, q: int) -> None:
        if self.n_targets not in (0, q):
            raise ValueError(
                f"expected {self.n_targets} target{'s' * (self.n_targets > 1)} as "
                f"before, got {q}. Give all samples the same targets."
            )

    def _check_enough(self, other: Self) -> None:
        """Raise where more than the weight of a class is subtracted."""
        weights = dict(zip(self.classes.tolist(), self.counts.tolist(), strict=True))
        for label, count in zip(other.classes.tolist(), other.counts.tolist(), strict=True):
            weight = weights.get(label, 0.0)
            if weight - count < -_MISSING * count:
                of_class = "" if self.labels is None else f" from class {label!r}"
                raise ValueError(
                    f"expected to subtract a weight of at most {weight:g}{of_class}, "
                    f"got {count:g}. Subtract only what was added."
                )

    def _check_possible(self, former: np.ndarray) -> None:
        """Raise where a subtraction left sums that no samples have, by more than rounding.

        These are negative variances. Features and numbers of which only the rounding of their
        `former` sums of squares is left become 0, in place.
        """
        squares, centre = self._sums_of_squares(), self._centres()
        if (squares - self.n * centre**2 < -_NEVER * former).any():
            raise ValueError(no_samples_have("a negative variance"))
        empty, q = np.flatnonzero((squares <= NOISE * former) & (former > 0)), self.n_targets
        targets, features = 1 + empty[empty < q], empty[empty >= q] - q
        if len(targets):
            self.tt[targets], self.tt[:, targets] = 0.0, 0.0
            self.tx.clear(targets)
        if len(features):
            self.tx.empty(features)
            self.second_moment.empty(features)

    # -- others made of it ----------------------------------------------------------------------

    def copy(self) -> Self:
        """Return moments that share no array with these."""
        return self._scaled(1.0)

    def about(self, origin: Any, t_origin: np.ndarray | None = None) -> Self:
        """Return the same moments about other origins; None for 0 and the same one of numbers."""
        origin = None if origin is None else np.array(origin, dtype=np.float64)
        return self._about(origin, t_origin).copy()

    def moved(self, delta: np.ndarray) -> Self:
        """Return the moments of the samples plus a vector."""
        new, is_raw = self._shared(), self.origin is None
        new.origin = delta if self.origin is None else self.origin + delta
        return new.about(None) if is_raw else new.copy()

    def with_labels(self, labels: np.ndarray) -> Self:
        """Return the moments with these classes besides, which may have no samples."""
        return self._with_labels(np.unique(labels)).copy()

    def renamed(self, names: np.ndarray) -> Self:
        """Return the moments with other labels, different ones, in the order of `classes`."""
        return self._renamed(names).copy()

    def widen(self, n_features: int) -> Self:
        """Return the same moments with more features; the new ones are zero.

        Parameters
        ----------
        n_features : int
            The new number of features, at least the present one.

        See Also
        --------
        update : Add samples, which have as many features as the moments.
        """
        more = n_features - self.n_features
        if more < 0:
            raise ValueError(
                f"expected widen() to at least the present {self.n_features} features, "
                f"got {n_features}."
            )
        if more:
            _check_width(self.second, n_features)
        new = self._shared()
        new.tx = self.tx.spread(np.arange(self.tx.shape[0]), (self.tx.shape[0], n_features))
        new.second_moment = self.second_moment.widened(n_features)
        new.kept = self.kept.widened(n_features)
        new.origin = None if self.origin is None else np.pad(self.origin, (0, more))
        return new

    def reduced(self, second: Any) -> Self:
        """Return a copy that has only these second moments, which follow from the present ones."""
        if second == self.second:
            return self.copy()
        if not self.has(second):
            raise ValueError(
                f"expected second moments that follow from second={self.second!r}, got {second!r}."
            )
        new = self._without_kept()
        new.second_moment = Second.kinds[None].zeros(len(self.tt), self.n_features)
        new = new.copy()
        if second == "total":
            squares = self.second_moment.squares[None]
            new.second_moment = Squares(Table(squares.shape, squares))
        return new

    def later(self, n: int) -> Self:
        """Return the moments of samples that were learned after n others."""
        return self._later(n).copy()

    def renumbered(self, when: np.ndarray, count: int) -> Self:
        """Return the moments with other numbers of kept samples in a stream of so many.

        Sample i gets the number when[i].
        """
        new = self.copy()
        new.count = count
        new.kept = new.kept.renumbered(when)
        return new

    def without_kept(self) -> Self:
        """Return the moments without the samples that are kept."""
        return self._without_kept().copy()

    def sums_only(self) -> Self:
        """Return the moments without samples: kept ones, those that wait, and one as the origin."""
        new = self._without_kept()
        if self._is_away(ROUNDING):
            has_origin = self.origin is not None
            new = new.about(self.mean if has_origin else None, self._target_mean())
            new.placed = self.n if has_origin else new.placed
        new.second_moment = new.second_moment.settled()
        new.tx.stored()  # sorts in the entries of samples
        return new.copy()

    def halves(self) -> Iterator[tuple[Self, Self]]:
        """Yield the moments of most samples, and those of the others, which are held out.

        These are each fifth of the samples that are kept, in the order of their hashes, for numeric
        targets.
        """
        kept, sums = self.samples, self._without_kept()
        if not self.keep or kept.Y is None:
            return
        for part in np.array_split(np.arange(len(kept.weight)), PARTS):
            fold = sums.emptied()
            if len(part):
                fold.update(kept.X[part], kept.Y[part], kept.weight[part])
            yield sums - fold, fold

    def _later(self, n: int) -> Self:
        new = self._shared()
        new.kept = self.kept.later(n)
        return new

    def _without_kept(self) -> Self:
        new = self._shared()
        new.kept = Reservoir(0, 0)
        return new


def with_later(m: Moments, other: Moments, n: int) -> Moments:
    """Return the sum with other moments, of samples that were learned after n others."""
    return m.copy()._accumulate(other._later(n))


def _check_width(second: Any, n_features: int) -> None:
    """Raise WidthError where there are too many features for their products."""
    if second == "cross" and n_features > MOST:
        raise WidthError(
            f'expected at most {MOST:,} features for second="cross", got '
            f"{n_features:,}. Select features first, or use OnlineSRDA or OC.",
            n_features,
        )


def _middle(X: np.ndarray, targets: Targets) -> tuple[np.ndarray, np.ndarray | None]:
    """Return points in the middle of the samples that have weight, and of their numbers."""
    each = targets.weight
    counted = (each > 0) & (each >= each.max(initial=0.0) / 2)
    T = targets.T if targets.labels is None else None
    if not counted.all():
        X, T = X[counted], None if T is None else T[counted]
    return rough_mean(X), None if T is None else rough_mean(T[:, 1:])


def _column(weight: np.ndarray) -> sparse.csr_array:
    """Return weights as a column."""
    n = len(weight)
    return sparse.csr_array((weight, np.zeros(n, np.intp), np.arange(n + 1)), shape=(n, 1))


def _rows(A: np.ndarray) -> sparse.csr_array:
    """Return a dense matrix with all its numbers as entries, in rows."""
    n, q = A.shape
    places = np.tile(np.arange(q), n), np.arange(n + 1) * q
    return sparse.csr_array((A.ravel(), *places), shape=A.shape)


def _beside(Y: np.ndarray, X: Any) -> Any:
    """Return samples with their numbers as the first features."""
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(Y), X], format="csr"))
    return np.hstack([Y, X])
