"""`Moments`: weighted sums of targets and features, which add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from scipy.sparse.linalg import LinearOperator

from narrows.errors import ParameterError, RangeError, WidthError, no_samples_have
from narrows.moments.labels import by_class, of_classes, places_of, priors, union
from narrows.moments.products import COORDINATES, MOST, Products, symmetric
from narrows.moments.reservoir import Reservoir, Samples, hashes
from narrows.moments.second import Second, about, not_enough, ratio, shallow
from narrows.moments.squares import ClassSquares, Squares
from narrows.moments.table import Table
from narrows.moments.targets import MOST_TARGETS, Targets, as_samples
from narrows.solve.codec import MOST as MOST_COUNTED
from narrows.solve.codec import (
    PART,
    SchemaError,
    Sizes,
    check_known,
    declared_from_arrays,
    declared_to_arrays,
)
from narrows.solve.held_out import HeldOut, parts
from narrows.solve.in_place import RANDOM, ChangesInPlace, entries, in_blocks, some
from narrows.solve.scatter import VARIES, Scatter, of_samples
from narrows.solve.sums import (
    BLOCK,
    add_sparse,
    blocks,
    canonical,
    check_finite,
    check_summable,
    dense_sums,
    divided,
    near,
    warn_if_far,
    weighted,
    with_labels,
    with_values,
)

EPS = float(np.finfo(np.float64).eps)
NOISE = 4 * EPS  # of a sum of squares: its rounding
GONE = 1e-12  # of its former weight: what a subtraction leaves of a class that is gone
FAINT = 1e-280  # a smaller weight is lost in the rounding of the smallest numbers
HALVES = 5  # parts of the samples that are kept, each of which is held out
_MISSING = 1e-9  # of a weight: a subtraction of more than this in excess is not rounding
_ROUNDING = 1e-12  # a share has to exceed this to be more than rounding
_NEVER = 1e-6  # of the former squares: a variance of less than minus this is of no samples
_PRODUCT = 2.0  # operations that take as long as a product of entries of a sparse sample
_BY_BLAS = 32.0  # products of features of dense samples in the time of an operation


class Moments(ChangesInPlace):
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
    second_moment : Second or None
        The second moments, about the origin.
    count : int
        The number of samples. A sample with several labels counts once here, and once for each of
        its classes in all sums.
    origin, t_origin : ndarray or None
        What features and numbers are measured from; None for 0.
    placed : float
        The weight of all samples when the origin was last compared with their mean.
    kept : Reservoir or None
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
    narrows.OC, narrows.SRDA, narrows.PLS : Fitted from moments by `fit_stats`.

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

    labels: Annotated[np.ndarray | None, "labels", "c"]
    tt: Annotated[np.ndarray, "f8", "c ..."]
    tx: Annotated[Table, PART, "c d"]
    second_moment: Annotated[Second | None, PART, "c d", "second"]
    # less than 0 after a subtraction of weighted moments, which may have more samples
    count: Annotated[int, "i8"]
    origin: Annotated[np.ndarray | None, "f8", "d"]
    t_origin: Annotated[np.ndarray | None, "f8", "t"]
    placed: Annotated[float, "f8 >=0"]
    kept: Annotated[Reservoir | None, PART, "c"]

    def __init__(
        self, n_features: int, *, second: Any = None, keep: int = 0, numeric: bool = False
    ):
        if second is not None and second not in Second.kinds:
            kinds = ", ".join(f'"{kind}"' for kind in Second.kinds)
            raise ParameterError(f"Moments: expected second to be None, {kinds}, got {second!r}.")
        if second == "cross" and n_features > MOST:
            raise WidthError(
                f'Moments: expected at most {MOST:,} features for second="cross", got '
                f"{n_features:,}. Select features first, or use OnlineSRDA or OC.",
                n_features,
            )
        self._begin(n_features, second, keep, numeric, n_features)

    @classmethod
    def of_coordinates(cls, width: int, keep: int, kept_width: int) -> Self:
        """Return the moments of no samples behind a map, which may have more coordinates.

        What is kept of samples has `kept_width` numbers.
        """
        new = object.__new__(cls)
        new._begin(width, "cross", keep, False, kept_width)
        return new

    def _begin(
        self, n_features: int, second: Any, keep: int, numeric: bool, kept_width: int
    ) -> None:
        self.labels = None if numeric else np.empty(0, np.int64)
        self.tt = np.zeros((1, 1)) if numeric else np.zeros(0)
        self.tx = Table((len(self.tt), n_features))
        self.second_moment = None
        if second is not None:
            self.second_moment = Second.kinds[second].zeros(len(self.tt), n_features)
        self.count, self.placed, self.origin = 0, 0.0, None
        self.t_origin = np.zeros(0) if numeric else None
        self.kept = Reservoir(kept_width, keep, 0 if numeric else None) if keep else None

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

    # -- learning -----------------------------------------------------------------------------

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
                f"Moments: expected samples with {self.n_features} features, got {X.shape[1]}. "
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
        self._own()
        for rows in in_blocks(X, self.cost(X)):
            kept = None if keep is None else (some(keep[0], rows), keep[1][rows])
            new = self._shared()
            add = new._prepared(some(X, rows), targets.rows(rows), kept)
            with self.changing():
                add()
                self._become(new)
        return self

    def cost(self, X: Any) -> float:
        """Return about how many operations it takes to add one of the samples X in place."""
        m = entries(X)
        if self.second == "cross":
            return m * m * _PRODUCT if sparse.issparse(X) else m * m / _BY_BLAS
        return m * RANDOM if sparse.issparse(X) else 1.0

    def _prepared(
        self, X: Any, targets: Targets, keep: tuple[Any, np.ndarray] | None
    ) -> Callable[[], None]:
        """Return a function that adds samples to these shared moments.

        All that may fail is done before, and changes no array.
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
        if self.kept is not None and keep is None:
            keep = X, hashes(X if numbers is None else _beside(targets.T[:, 1:], X))
        self.tx.sort_in()
        if self.second_moment is not None:
            self.second_moment.make_room(n)
        sums = [] if is_sparse else self._dense_sums(X, Y, numbers)

        def add() -> None:
            if self.kept is not None and keep is not None:
                when = max(0, self.count) + np.arange(n)
                given = None if numbers is None else targets.T[:, 1:]
                self.kept.add(keep[0], keep[1], when, Y, given)
            if is_sparse:
                self._add_sparse(X, Y, numbers)
            for table, places, more in sums:
                table.add(places, more)
            if self.second_moment is not None:
                self.second_moment.add(X, Y, weight, self.origin)
            self.tt, self.count = tt, self.count + n

        return add

    @property
    def _squares(self) -> Table | None:
        """The sums of squares that are summed in one pass with the samples, if there are any."""
        return None if self.second_moment is None else self.second_moment.table

    def _dense_sums(
        self, X: np.ndarray, Y: sparse.csr_array, numbers: np.ndarray | None
    ) -> list[tuple[Table, np.ndarray, Table]]:
        """Return sums of dense samples, with the table and the rows of it that they belong to.

        Column k of Y is row k of `tx`. No array is made for classes that do not occur.
        """
        found, square_row, places = [], None, np.empty(0, np.intp)
        occurs = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
        given = np.flatnonzero(occurs)
        if not len(given):
            return []
        if len(given) < len(occurs):
            Y = with_labels(Y, (np.cumsum(occurs) - 1)[Y.indices], len(given))
        if self._squares is not None and self.second_moment is not None:
            row = self.second_moment.table_row(len(occurs))[given]
            places, square_row = np.unique(row, return_inverse=True)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            sums, squares = dense_sums(X, Y, square_row, origin=self.origin)
        check_summable(sums)
        check_finite(squares)
        found.append((self.tx, given, Table(sums.shape, sums)))
        if self._squares is not None:
            found.append((self._squares, places, Table(squares.shape, squares)))
        if numbers is not None:
            if self._squares is None:  # as products of pairs of features, by BLAS
                size = max(1, BLOCK // max(1, X.shape[1]))
                sums = np.zeros((numbers.shape[1], X.shape[1]))
                for part in blocks(len(X), size):
                    sums += numbers[part].T @ about(X[part], self.origin)
            else:  # the same bits for equal features, so that ties are ties
                sums, _ = dense_sums(X, _rows(numbers), origin=self.origin)
            found.append((self.tx, 1 + np.arange(len(sums)), Table(sums.shape, sums)))
        return found

    def _add_sparse(
        self, X: sparse.csr_array, Y: sparse.csr_array, numbers: np.ndarray | None
    ) -> None:
        """Add sparse samples to the tables, in place; column k of Y is row k of `tx`."""
        tx, squares, row, n_rows = self.tx.held[0], None, None, 0
        if self._squares is not None and self.second_moment is not None:
            squares, n_rows = self._squares.held[0], self._squares.shape[0]
            row = self.second_moment.table_row(Y.shape[1])
        if tx is not None and (row is None or squares is not None):
            add_sparse(X, Y, tx[: Y.shape[1]], squares, row)
            if numbers is not None:
                add_sparse(X, _rows(numbers), tx[1:])
            return
        X = X if row is None else canonical(X)
        T = Y if numbers is None else _rows(np.hstack([Y.toarray(), numbers]))
        self.tx.add_samples(X, T)
        if self._squares is not None and row is not None:
            squared = with_values(X, X.data.astype(np.float64) ** 2)
            self._squares.add_samples(squared, with_labels(Y, row[Y.indices], n_rows))

    def _grow(self, targets: Targets) -> np.ndarray:
        """Make room for targets, in new arrays, and return the numbers of their classes."""
        if self.labels is None:
            self._check_targets(targets.T.shape[1] - 1)
            if not self.n_targets:
                self._begin_targets(near(targets.T[:, 1:]))
            return np.zeros(1, np.intp)
        assert targets.labels is not None
        return self._grow_labels(targets.labels)

    def _grow_labels(self, labels: np.ndarray) -> np.ndarray:
        """Make room for classes, in new arrays, and return the numbers of these."""
        assert self.labels is not None
        merged = union(self.labels, labels)
        if len(merged) > len(self.labels):
            self._regroup(merged, places_of(self.labels, merged))
        return places_of(labels, merged)

    def _regroup(self, labels: np.ndarray, row: np.ndarray) -> None:
        """Have these classes, of which class j is number row[j] then, in new arrays."""
        tt = np.zeros(len(labels))
        tt[row] = self.tt
        self.labels, self.tt = labels, tt
        self.tx = self.tx.spread(row, (len(labels), self.n_features))
        if self.second_moment is not None:
            self.second_moment = self.second_moment.regrouped(row, len(labels))
        if self.kept is not None:
            self.kept = self.kept.regrouped(row)

    def _begin_targets(self, t_origin: np.ndarray) -> None:
        """Have as many numeric targets, about this origin, where there were none."""
        q = len(t_origin)
        self.tt, self.t_origin = np.zeros((1 + q, 1 + q)), t_origin
        self.tx = Table((1 + q, self.n_features))
        if self.kept is not None:
            self.kept = Reservoir(self.kept.samples.X.shape[1], self.keep, q)

    # -- the origin -----------------------------------------------------------------------------

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
        else:
            centre, squares, origin = self._targets_and_features()
            away = centre**2
            # farther from the origin than samples are from their mean
            if (away > 4 * (squares - away) + _resolution(origin)).any():
                self._move(self.mean, self._target_mean())
        self.placed = self.n + weight

    def _target_mean(self) -> np.ndarray | None:
        return None if self.labels is not None else self.target_mean

    def _targets_and_features(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means and mean squares about the origins, and these, of numbers and features.

        Without second moments, the mean squares are those of the class means.
        """
        p = self.priors()
        origin = np.zeros(self.n_features) if self.origin is None else self.origin
        centre, squares = self._centre(p), self._mean_squares(p)
        if self.labels is not None:
            return centre, squares, origin
        t, diagonal = (each[1:] / (self.n or 1.0) for each in (self.tt[0], self.tt.diagonal()))
        assert self.t_origin is not None
        both = zip((t, diagonal, self.t_origin), (centre, squares, origin), strict=True)
        of_targets, of_squares, origins = (np.concatenate(each) for each in both)
        return of_targets, of_squares, origins

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
        if new.second_moment is not None:
            new.second_moment = new.second_moment.about(shift, self.counts, new._sums.toarray())
        t = new.tt if self.labels is not None else new.tt[0]
        new.tx = Table(new.tx.shape, new.tx.toarray() + t[:, None] * shift)
        return new

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
        return (new._about(None) if is_raw else new).copy()

    def with_labels(self, labels: np.ndarray) -> Self:
        """Return the moments with these classes besides, which may have no samples."""
        new = self.copy()
        new._grow_labels(np.unique(labels))
        return new

    def renamed(self, names: np.ndarray) -> Self:
        """Return the moments with other labels, different ones, in the order of `classes`."""
        new, order = self.copy(), np.argsort(names)
        new._regroup(names[order], np.argsort(order))
        return new

    def widen(self, n_features: int) -> Self:
        """Return the same moments with more features; the new ones are zero.

        Parameters
        ----------
        n_features : int
            The new number of features, at least the present one.
        """
        more = n_features - self.n_features
        if more < 0:
            raise ValueError(
                f"Moments: expected widen() to at least the present {self.n_features} features, "
                f"got {n_features}."
            )
        new = self._shared()
        new.tx = self.tx.spread(np.arange(self.tx.shape[0]), (self.tx.shape[0], n_features))
        if self.second_moment is not None:
            new.second_moment = self.second_moment.widened(n_features)
        if self.kept is not None:
            new.kept = self.kept.widened(n_features)
        new.origin = None if self.origin is None else np.pad(self.origin, (0, more))
        return new

    def emptied(self) -> Self:
        """Return moments of no samples, of the same kind."""
        new = object.__new__(type(self))
        width = self.n_features if self.kept is None else self.kept.samples.X.shape[1]
        new._begin(self.n_features, self.second, self.keep, self.labels is None, width)
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
        new.kept = None if new.kept is None else new.kept.renumbered(when)
        return new

    def without_kept(self) -> Self:
        """Return the moments without the samples that are kept."""
        return self._without_kept().copy()

    def sums_only(self) -> Self:
        """Return the moments without samples: kept ones, those that wait, and one as the origin."""
        new, (centre, squares, origin) = self._without_kept(), self._targets_and_features()
        if (centre**2 > _ROUNDING * squares + _resolution(origin)).any():
            has_origin = self.origin is not None
            new = new._about(self.mean if has_origin else None, self._target_mean())
            new.placed = self.n if has_origin else new.placed
        if new.second_moment is not None:
            new.second_moment = new.second_moment.settled()
        new.tx.stored()  # sorts in the entries of samples
        return new.copy()

    def reduced(self, second: Any) -> Self:
        """Return a copy that has only these second moments, which follow from the present ones."""
        if second == self.second:
            return self.copy()
        if not self.has(second):
            raise ValueError(
                f"Moments: expected second moments that follow from second={self.second!r}, "
                f"got {second!r}."
            )
        new = self._without_kept()
        new.second_moment = None
        new = new.copy()
        if second == "total" and self.second_moment is not None:
            squares = self.second_moment.squares[None]
            new.second_moment = Squares(Table(squares.shape, squares))
        return new

    def _shared(self) -> Self:
        """Return moments that share all arrays with these, and can be given others."""
        new = shallow(self)
        new.tx = shallow(self.tx)
        new.second_moment = None if self.second_moment is None else self.second_moment.shared()
        new.kept = None if self.kept is None else shallow(self.kept)
        return new

    def _later(self, n: int) -> Self:
        new = self._shared()
        new.kept = None if self.kept is None else self.kept.later(n)
        return new

    def _without_kept(self) -> Self:
        new = self._shared()
        new.kept = None
        return new

    def _become(self, other: Self) -> Self:
        """Take over other moments, which are not used any more, in one step."""
        vars(self).update(vars(other))
        return self

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
                f"Moments: expected a factor that is a number >= 0, got {factor!r}. "
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
        if self.second_moment is not None:
            new.second_moment = self.second_moment.scaled(factor)
        if self.kept is not None:
            new.kept = self.kept.scaled(factor)
        if factor > 1:
            new._check_finite()
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
        more, former = other._about(self.origin, self.t_origin if other.n_targets else None), None
        if sign < 0 and self.second is not None:
            former = self.n * self._targets_and_features()[1]
        classes = row if self.labels is not None else np.arange(more.tx.shape[0])
        self.tx.add(classes, more.tx, sign)
        if self.second_moment is not None:
            self.second_moment.merge(more.second_moment, sign, row)
        if self.kept is not None and more.kept is not None:
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
        self._check_finite()
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
        if self.second_moment is not None:
            self.second_moment.forget(gone)
        if self.kept is not None:
            self.kept.forget(gone)

    # -- checks ---------------------------------------------------------------------------------

    def check_kind(self, other: Any) -> None:
        """Raise where other moments are of another kind."""
        if not isinstance(other, Moments):
            raise TypeError(
                f"Moments: expected other moments, got {type(other).__name__}. "
                "Use Moments.of(X, y) to make moments of samples."
            )
        for what in ("n_features", "second", "keep", "is_numeric"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ValueError(
                    f"Moments: expected moments of one kind, got {what}={mine!r} and "
                    f"{what}={theirs!r}."
                    + (" Use widen() on the narrower one." if what == "n_features" else "")
                )
        if other.n_targets:
            self._check_targets(other.n_targets)

    def _check_targets(self, q: int) -> None:
        if self.n_targets not in (0, q):
            raise ValueError(
                f"Moments: expected {self.n_targets} target{'s' * (self.n_targets > 1)} as "
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
                    f"Moments: expected to subtract a weight of at most {weight:g}{of_class}, "
                    f"got {count:g}. Subtract only what was added."
                )

    def _check_possible(self, former: np.ndarray) -> None:
        """Raise where a subtraction left sums that no samples have, by more than rounding.

        These are negative variances. Features and numbers of which only the rounding of their
        `former` sums of squares is left become 0, in place.
        """
        centre, squares, _ = self._targets_and_features()
        squares = self.n * squares
        if (squares - self.n * centre**2 < -_NEVER * former).any():
            raise ValueError(no_samples_have("a negative variance"))
        empty, q = np.flatnonzero((squares <= NOISE * former) & (former > 0)), self.n_targets
        targets, features = 1 + empty[empty < q], empty[empty >= q] - q
        if len(targets):
            self.tt[targets], self.tt[:, targets] = 0.0, 0.0
            self.tx.clear(targets)
        if len(features):
            self.tx.empty(features)
            assert self.second_moment is not None
            self.second_moment.empty(features)

    def _check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        if not np.isfinite(self.tt.sum()):
            raise RangeError("finite weights", "infinity", None, "Use smaller weights.")
        self.tx.check_finite()
        if self.second_moment is not None:
            self.second_moment.check_finite()

    # -- what there is --------------------------------------------------------------------------

    @property
    def second(self) -> str | None:
        """The kind of the second moments."""
        return None if self.second_moment is None else self.second_moment.kind

    @property
    def keep(self) -> int:
        """The number of samples to keep."""
        return 0 if self.kept is None else self.kept.most

    @property
    def is_numeric(self) -> bool:
        """Whether targets are numbers."""
        return self.labels is None

    @property
    def classes(self) -> np.ndarray:
        """All labels seen so far, sorted; read-only. The one label 0 for numeric targets."""
        return _read_only(np.zeros(1, np.int64) if self.labels is None else self.labels)

    @property
    def counts(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (n_classes,); read-only."""
        return _read_only(self.tt if self.labels is not None else self.tt[0, :1])

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
        kept = 0 if self.kept is None else len(self.kept.samples.weight)
        waiting = 0 if self.second_moment is None else self.second_moment.n_waiting
        return min(kept + waiting, max(0, self.count))

    @property
    def nbytes(self) -> int:
        """The bytes of the sums and of what is kept."""
        held: list[Any] = [self.tt, self.tx, self.second_moment, self.kept]
        return sum(each.nbytes for each in held if each is not None)

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

    # -- reading: sums and means ------------------------------------------------------------------

    def priors(self, kind: Any = "empirical") -> np.ndarray:
        """p_j, the weight of each class in a criterion, of shape (n_classes,).

        See `priors` of the estimators; `kind` may also be a mapping of labels to numbers.
        """
        given = by_class(kind)
        if given is not None:
            kind = of_classes(given, self.classes[self.counts > 0].tolist())
        return priors(kind, self.counts)

    @property
    def sums(self) -> np.ndarray:
        """S_j, the sum of the samples of each class, of shape (n_classes, n_features); read-only.

        This is a dense array, also if only non-zeros are stored.
        """
        sums = self._sums.toarray()
        if self.origin is not None:
            sums = sums + self.counts[:, None] * self.origin
        return _read_only(sums)

    @property
    def total(self) -> np.ndarray:
        """sum_j S_j, the sum of all samples, of shape (n_features,)."""
        return self._raw_sums().weighted(np.ones(len(self.counts)))

    @property
    def means(self) -> np.ndarray:
        """m_j = S_j / N_j, of shape (n_classes, n_features); zeros for a class of weight 0."""
        means = self._sums.toarray() * ratio(1.0, self.counts)[:, None]
        if self.origin is not None:
            means[self.counts > 0] += self.origin
        return means

    @property
    def mean(self) -> np.ndarray:
        """m = sum_j S_j / n, of shape (n_features,); zeros without samples."""
        return self.centre(self.priors())

    def centre(self, p: np.ndarray) -> np.ndarray:
        """m = sum_j p_j m_j for any priors p of shape (n_classes,); of shape (n_features,)."""
        centre = self._centre(p)
        return centre if self.origin is None or not p.any() else centre + self.origin

    def deviations(
        self, p: np.ndarray, classes: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield m_j - m for the classes with p_j > 0, a block of features at a time.

        Parameters
        ----------
        p : ndarray of shape (n_classes,)
            Priors; m is sum_j p_j m_j.
        classes : int, optional
            Yield blocks as small as for so many classes.

        Yields
        ------
        columns : slice
            A range of features.
        D : ndarray of shape (number of classes with p_j > 0, number of features)
            The caller may write to it. No array of the size of the moments is made.

        See Also
        --------
        means : The class means, as one array.
        """
        prior = p[p > 0]
        for columns, D in self._means(p, classes):
            D -= weighted(prior, D)
            yield columns, D

    def joint(
        self, p: np.ndarray, classes: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield p_j m_j for the classes with p_j > 0, a block of features at a time.

        For samples of 0 and 1 this is the probability that a sample has the feature and belongs to
        the class. As for `deviations`.
        """
        for columns, M in self._means(p, classes):
            if self.origin is not None:
                M += self.origin[columns]
            M *= p[p > 0, None]
            yield columns, M

    def between(self, p: np.ndarray) -> LinearOperator:
        """Return H with the rows p_j^(1/2) (m_j - m), so that H'H is the scatter of the means.

        A product costs as much as reading the class sums as they are stored. Classes with p_j = 0
        have no row.
        """
        live = p > 0
        root, stored = np.sqrt(p[live]), self._sums.stored()
        S, scale = stored if live.all() else stored[live], root / self.counts[live]
        m = S.T @ (root * scale)
        return LinearOperator(
            S.shape,
            matvec=lambda v: scale * (S @ v.ravel()) - root * (m @ v.ravel()),
            rmatvec=lambda u: S.T @ (scale * u.ravel()) - m * (root @ u.ravel()),
            dtype=np.float64,
        )

    def rounding(self, p: np.ndarray) -> np.ndarray:
        """The deviation that may be rounding of the means alone, of shape (n_features,)."""
        bound = _ROUNDING * np.abs(self._centre(p))
        if self.origin is not None:
            bound += 4 * EPS * np.abs(self.origin)
        return bound

    # -- reading: second moments ------------------------------------------------------------------

    @property
    def squares(self) -> np.ndarray | None:
        """Sums of squares; read-only.

        None without second moments; of shape (n_classes, n_features) for "class", else of shape
        (n_features,).
        """
        if self.second_moment is None:
            return None
        raw = self._about(None).second_moment
        assert raw is not None
        return _read_only(raw.by_class if isinstance(raw, ClassSquares) else raw.squares)

    @property
    def cross(self) -> np.ndarray:
        """sum_i w_i x_i x_i', of shape (n_features, n_features), for ``second="cross"``."""
        return symmetric(self._about(None)._products().lower().copy(order="F"))

    def covariance(self) -> np.ndarray:
        """Return C, the covariance of all samples, divided by n, for ``second="cross"``.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            Zeros without samples.

        Raises
        ------
        ValueError
            There are other second moments.

        See Also
        --------
        variances : Its diagonal, which needs sums of squares only.
        """
        return symmetric(self._scatter() / (self.n or 1.0))

    def covariances(self) -> np.ndarray:
        """Return the covariances of targets and features, of shape (n_targets, n_features)."""
        return self._of_targets() / (self.n or 1.0)

    def variances(self, p: np.ndarray | None = None) -> np.ndarray:
        """diag C, the variance of each feature, of shape (n_features,), at least 0.

        Class j is reweighted to p_j first, which requires ``second="class"`` unless p is the
        empirical one. With numeric targets, a variance that may be rounding is 0.
        """
        p = self.priors() if p is None else p
        squares = self._mean_square(p)
        found = np.maximum(squares - self._centre(p) ** 2, 0.0)
        return np.where(found > _ROUNDING * squares, found, 0.0) if self.is_numeric else found

    def varying(self, p: np.ndarray | None = None) -> np.ndarray:
        """Which features vary by more than rounding, of shape (n_features,).

        Their variance exceeds 1e-12 of the mean square about the origin.
        """
        p = self.priors() if p is None else p
        return self.variances(p) > _ROUNDING * self._mean_square(p)

    def mean_square(self, unit: np.ndarray | None = None) -> float:
        """Return the mean squared length of the centred samples, the trace of C.

        Of features divided by their `unit`, if there is one.
        """
        return float(divided(divided(self.variances(), unit), unit).sum())

    def units(self, chosen: np.ndarray) -> np.ndarray:
        """Return what standardises the chosen features: standard deviations, and 1 for the others.

        It is infinite where a chosen feature does not vary by more than rounding, which makes it 0.
        """
        noise = np.maximum(VARIES * self._noise() / (self.n or 1.0), _resolution(self.origin))
        p = self.priors()
        variances = np.maximum(self._mean_square(p) - self._centre(p) ** 2, 0.0)
        return np.where(chosen, np.sqrt(np.where(variances > noise, variances, np.inf)), 1.0)

    @property
    def target_mean(self) -> np.ndarray:
        """The mean of the numeric targets, of shape (n_targets,)."""
        mean = self.tt[0, 1:] / (self.n or 1.0)
        return mean if self.t_origin is None else mean + self.t_origin

    @property
    def target_variances(self) -> np.ndarray:
        """The variance of each target, of shape (n_targets,); 0 where it may be rounding."""
        n, q = self.n or 1.0, slice(1, None)
        squares = self.tt.diagonal()[q] / n
        found = np.maximum(squares - (self.tt[0, q] / n) ** 2, 0.0)
        return np.where(found > _ROUNDING * squares, found, 0.0)

    def scatters(self, by_samples: bool = True, unit: np.ndarray | None = None) -> Scatter:
        """Return the total scatter, and that of the class means, for ``second="cross"``.

        With numeric targets, its H are the products of centred targets and features. The scatters
        are in the coordinates of the features, or, with `by_samples`, in those of the samples if
        these are fewer; of features divided by their `unit`, if there is one.
        """
        products = self._products()
        few = products.few() if by_samples else None
        H, m = self._between(), divided(self._centre(self.priors()), unit)
        if few is not None:
            X, H = divided(few.X, unit), divided(H, unit)
            return replace(of_samples(X, few.weight, m, H), unit=unit)
        S = Scatter(self._scatter(), H, self.n, self._noise(), m, unit=unit)
        return S if unit is None else S.over(unit)

    # -- reading: samples -------------------------------------------------------------------------

    def few(self) -> tuple[Any, np.ndarray, np.ndarray] | None:
        """Return (X, weight, mean) of all samples if they are fewer than the features, else None.

        They wait as they are, for ``second="cross"``; X and the mean are about the origin.
        """
        rows = self._products().few()
        return None if rows is None else (rows.X, rows.weight, self._centre(self.priors()))

    @property
    def samples(self) -> Samples:
        """The samples that are kept, in the order of their hashes."""
        assert self.kept is not None
        return self.kept.samples

    def held_out(
        self,
        S: Scatter,
        most: int | None = None,
        samples: Callable[[Any], Any] = lambda X: X,
    ) -> list[HeldOut]:
        """Return the first kept samples in the coordinates of `scatters`, in a few parts.

        `samples` makes samples of what was kept of them.
        """
        if self.kept is None:
            return []
        X, code, weight = (each[:most] for each in self.samples[:3])
        number = np.cumsum(self.counts > 0) - 1
        origin: Any = 0.0 if self.origin is None else self.origin  # sparse samples have none
        return [
            HeldOut(S.coordinates(samples(X[part]) - origin), number[code[part]], weight[part])
            for part in parts(weight, self.n, len(S.C))
        ]

    def halves(self) -> Iterator[tuple[Self, Self]]:
        """Yield the moments of most samples, and those of the others, which are held out.

        These are each fifth of the samples that are kept, in the order of their hashes, for numeric
        targets.
        """
        if self.kept is None:
            return
        kept, sums = self.samples, self._without_kept()
        assert kept.Y is not None
        for part in np.array_split(np.arange(len(kept.weight)), HALVES):
            fold = sums.emptied()
            if len(part):
                fold.update(kept.X[part], kept.Y[part], kept.weight[part])
            yield sums - fold, fold

    # -- storage ----------------------------------------------------------------------------------

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
        kept = None if self.kept is None else self.kept.samples.Y
        if self.kept is not None and (kept is None) != (self.labels is not None):
            raise SchemaError("kept_Y: expected numbers with numeric targets, got others.")
        if kept is not None and kept.shape[1] != c - 1:
            raise SchemaError(f"kept_Y: expected {c - 1} targets, got {kept.shape[1]}.")
        if (
            (self.counts < 0).any()
            or abs(self.count) > MOST_COUNTED
            or self.n_targets > MOST_TARGETS
        ):
            raise SchemaError("tt, count: expected numbers in range, got others.")
        if self.second == "cross" and self.n_features > COORDINATES:
            raise SchemaError(f"second: expected at most {COORDINATES} features.")

    # -- inside -----------------------------------------------------------------------------------

    @property
    def _sums(self) -> Table:
        """The class sums about the origin; not to be written to."""
        if self.labels is not None or not self.n_targets:
            return self.tx
        rows = self.tx.stored()[:1]
        return (
            Table(rows.shape, rows) if self.tx.array is not None else Table(rows.shape, None, rows)
        )

    def _raw_sums(self) -> Table:
        if self.origin is None:
            return self._sums
        sums = self._sums.toarray() + self.counts[:, None] * self.origin
        return Table(sums.shape, sums)

    def _centre(self, p: np.ndarray) -> np.ndarray:
        """`centre` about the origin."""
        return self._sums.weighted(ratio(p, self.counts))

    def _means(
        self, p: np.ndarray, classes: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield m_j about the origin, as `deviations` does m_j - m."""
        live, sums = p > 0, self._sums
        weight = self.counts[live, None]
        for columns in blocks(self.n_features, max(1, BLOCK // max(1, classes or live.sum()))):
            yield columns, sums[columns][live] / weight

    def _mean_square(self, p: np.ndarray) -> np.ndarray:
        """Return the mean square about the origin under priors p, of shape (n_features,)."""
        if self.second_moment is None:
            raise not_enough(None)
        return np.maximum(self.second_moment.mean_squares(p, self.counts), 0.0)  # or rounding

    def _mean_squares(self, p: np.ndarray) -> np.ndarray:
        """The mean square about the origin; without second moments, that of the class means."""
        if self.second_moment is not None:
            return self._mean_square(p)
        squares = np.empty(self.n_features)
        for columns, M in self._means(p):
            squares[columns] = weighted(p[p > 0], M**2)
        return squares

    def _noise(self) -> np.ndarray:
        """Return how far the scatter of each feature may be off, of shape (n_features,)."""
        if self.second_moment is None:
            raise not_enough(None)
        return NOISE * self.second_moment.squares

    def _products(self) -> Products:
        """Return the products of all samples; ValueError without them."""
        if not isinstance(self.second_moment, Products):
            raise ValueError(
                f'Moments: expected second="cross" for a covariance, got {self.second!r}.'
            )
        return self.second_moment

    def _scatter(self) -> np.ndarray:
        """The lower triangle of n C, in Fortran order."""
        C, centre = self._products().lower(), self._centre(self.priors())
        return blas.dsyr(-self.n, centre, lower=1, a=C) if C.size else C  # a copy

    def _between(self) -> np.ndarray:
        """Return N_j^(1/2) (m_j - m) of the classes; or the products of centred numbers."""
        if self.labels is None:
            return self._of_targets()
        p = self.priors()
        H = np.empty((int((p > 0).sum()), self.n_features))
        for columns, D in self.deviations(p):
            H[:, columns] = np.sqrt(self.n * p[p > 0])[:, None] * D
        H[np.abs(H) <= np.sqrt(self.n) * self.rounding(p)] = 0.0
        return H

    def _of_targets(self) -> np.ndarray:
        """Return the products of centred targets and features; 0 for targets that do not vary."""
        tx = self.tx.toarray()
        products = tx[1:] - np.outer(self.tt[0, 1:] / (self.n or 1.0), tx[0])
        return products * (self.target_variances > 0)[:, None]


def _middle(X: np.ndarray, targets: Targets) -> tuple[np.ndarray, np.ndarray | None]:
    """Return points in the middle of the samples that have weight, and of their numbers."""
    each = targets.weight
    counted = (each > 0) & (each >= each.max(initial=0.0) / 2)
    T = targets.T if targets.labels is None else None
    if not counted.all():
        X, T = X[counted], None if T is None else T[counted]
    return near(X), None if T is None else near(T[:, 1:])


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


def _resolution(origin: np.ndarray | None) -> np.ndarray | float:
    """The largest squared deviation that may be the rounding of dense samples themselves."""
    return 0.0 if origin is None else (8 * EPS * origin) ** 2


def _read_only(a: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = a.view()
    view.flags.writeable = False
    return view
