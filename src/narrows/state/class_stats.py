"""`ClassStats`: class weights and sums of labelled samples, a state that adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from sklearn.utils import check_array

from narrows.errors import no_samples_have
from narrows.solve.arrays import numbers_expected, samples_as_numpy
from narrows.solve.held_out import HeldOut, parts
from narrows.solve.in_place import in_blocks, some
from narrows.solve.scatter import VARIES, Scatter, of_samples
from narrows.solve.sums import (
    BLOCK,
    add_sparse,
    all_finite,
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
    with_one_index_type,
    with_values,
)
from narrows.state.arrays import (
    KIND,
    SQUARES,
    Origin,
    StateArrays,
    Tables,
    read_only,
    shifted,
    summed_up,
)
from narrows.state.arrays import (
    Second as Second,
)
from narrows.state.cross import (
    EPS,
    IN_FOLD,
    NOISE,
    Rows,
    about,
    rows_of,
    symmetric,
)
from narrows.state.kept import Samples, ToKeep, hashes
from narrows.state.labels import by_class, indicator, of_classes, priors, union
from narrows.state.table import Table

GONE = 1e-12  # of its former weight: what a subtraction leaves of a class that is gone
_MISSING = 1e-9  # of a weight: a subtraction of more than this in excess is not rounding
_ROUNDING = 1e-12  # a share has to exceed this to be more than rounding
_NEVER = 1e-6  # of the former squares: a variance of less than minus this is of no samples


class ClassStats(StateArrays):
    """Class weights, class sums and optional second moments of labelled samples.

    States add up: ``a + b`` is the state of both data sets together, ``a - b`` is the state of a
    without the samples of b, and ``g * a`` scales all weights by g >= 0. The result does not depend
    on batches or order.

    Dense samples are stored relative to an origin near their mean, since sums of squares of data
    with a large offset lose all digits. States with sparse samples have no such origin. The
    attributes (``sums``, ``squares``, ``means``) do not depend on the origin.

    Parameters
    ----------
    n_features : int
        The number of features.
    second : {None, "total", "class", "cross"}, default=None
        Second moments: none, sums of squares over all samples ("total") or for each class
        ("class"), or sums of products of all pairs of features ("cross", for at most 8,192
        features).
    presence : bool, default=False
        Count the samples in which a feature is not zero, instead of summing values. Explicit zeros
        do not count.
    kept : int, default=0
        The number of samples to keep: those with the smallest hashes, in any order.
    folds : int, optional
        K, from 2 to 1,000, the number of folds; none by default. Sample number i is in fold i mod
        K, with all its labels. The state is the sum of its folds; see Notes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All labels seen so far, sorted. A class may have weight 0, after a subtraction.
    counts : ndarray of shape (n_classes,)
        N_j, the weight of each class.
    n_samples : int
        The number of samples seen. With an indicator matrix for y a sample counts once here, and
        once for each of its classes in `counts` and in every sum.
    folds : int or None
        The number of folds.

    Raises
    ------
    ValueError
        X contains NaN, the number of features or the kind of the states differs, more is subtracted
        than was added, a factor is negative, or sums or weights overflow.
    TypeError
        The other operand is not a state.

    See Also
    --------
    narrows.OC, narrows.OCFS : Fitted from a state by `fit_stats`.

    Notes
    -----
    **Folds**: the attributes of a state with folds are those of all samples. ``fold(k)`` returns
    the state of one fold, and ``without(k)`` that of all others, for cross-validation without a
    second pass. Addition, subtraction, decay and storage work fold by fold. Samples are numbered
    from 0 in the order in which they are added, in any batches. ``emptied()`` copies and ``fade``
    continue the numbers; ``a + b`` continues them after the samples of both. ``a - b`` requires the
    samples of b to be in the same folds as in a: set their numbers with ``count_from``.

    **Cost**: O(nnz) to update from sparse samples, O(n_samples n_features) from dense ones, with no
    array larger than the state. Memory: 8 n_classes n_features bytes, and 8 n_features or as much
    again for sums of squares. For sparse samples, a table of more than 4 million numbers is stored
    as its non-zeros with their indices, at about 12 bytes each, as long as that is smaller. K folds
    take K times the memory.

    With "cross", O(n_samples n_features^2) from dense samples on all cores, O(n_samples z^2) from
    sparse ones with z non-zeros each, and 8 n_features^2 bytes. Up to max(256, n_features) samples
    are stored until their products are added; 512 in each of several folds. float32
    samples are converted to double precision first.

    References
    ----------
    The means and scatters that follow from it are those of Yan et al. (2006): J. Yan et al.,
    "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming Data
    Preprocessing", IEEE TKDE 18(3), 2006, section 2.2, doi:10.1109/TKDE.2006.45. The addition of
    states is specific to narrows.

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

    The folds of every second sample, and a state without the last sample:

    >>> stats = ClassStats.of([[1.0], [2.0], [3.0], [4.0]], ["x", "x", "y", "y"], folds=2)
    >>> stats.without(1).means.tolist(), stats.fold(1).means.tolist()
    ([[1.0], [3.0]], [[2.0], [4.0]])
    >>> last = ClassStats(1, folds=2).count_from(3).update([[4.0]], ["y"])
    >>> (stats - last).fold(1).counts.tolist()
    [1.0, 0.0]
    """

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Second = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
    ) -> Self:
        """Return the state of the samples X; the parameters are those of `update`."""
        X = checked_rows(X)
        new = cls(X.shape[1], second=second, presence=presence, kept=kept, folds=folds)
        return new.update(X, y, sample_weight, check_input=False)

    # -- learning ----------------------------------------------------------------------------

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
        classes, Y = indicator(X, y, sample_weight)
        if not self.presence and (sparse.issparse(X) or self.second == "cross"):
            check_summable(X, float(Y.sum()))  # else their sums are checked
        return self.add_samples(X, classes, Y)

    def add_samples(
        self, X: Any, classes: np.ndarray, Y: sparse.csr_array, to_keep: ToKeep | None = None
    ) -> Self:
        """Add checked samples, of what `indicator` makes of their labels, in place.

        `to_keep` is what is kept of the samples, if not the samples themselves.
        """
        self._own()
        for rows in in_blocks(X, self._cost(X)):
            keep = to_keep and ToKeep(*(some(each, rows) for each in to_keep))
            add = self._prepared(some(X, rows), classes, some(Y, rows), keep)
            with self.changing(self.restorer()):
                add()
        return self

    def _prepared(
        self, X: Any, classes: np.ndarray, Y: sparse.csr_array, to_keep: ToKeep | None
    ) -> Callable[[], None]:
        """Return a function that adds checked samples in place."""
        weight, n, new = float(Y.sum()), X.shape[0], self._with()
        # arrays are replaced, and not changed, until nothing can fail any more
        far = sparse.issparse(X) and not self.presence and self.has("total")
        if far and not self._weights.any():
            warn_if_far(X)
        row = new._grow(classes)
        if sparse.issparse(X):
            new._move(None)  # centred sparse samples would be dense
        elif not self.presence and weight:
            new._place(weight, n, lambda: _middle(X, Y))
        c, K = len(new._classes), len(self._sizes)
        fold = (self._first + self._added + np.arange(n)) % K
        number = row[Y.indices]  # of the class, and of the row, of each label
        rows = number if K == 1 else number + c * np.repeat(fold, np.diff(Y.indptr))
        by_row = with_labels(Y, rows, K * c)
        sums = [] if sparse.issparse(X) else new._dense_sums(X, by_row)
        room = 0 if K == 1 else IN_FOLD  # to which each batch adds a few samples
        by_target = new._by_target(X, by_row, fold) if "products" in self._tables else None
        if by_target is not None and not sparse.issparse(X):
            found, _ = dense_sums(X, by_target, origin=new._origin)
            sums.append(("products", np.arange(len(found)), Table(found.shape, found)))
        products = new._for_products(X, by_row) if "cross" in self._parts else {}
        if self.kept and to_keep is None:
            to_keep = ToKeep(X, hashes(X))

        def add() -> None:
            if self.kept and to_keep is not None:
                new._keep(to_keep, with_labels(Y, number, c))
            for k, samples in products.items():
                new._parts["cross"][k].update(samples, new._origin, room)
            if sparse.issparse(X):
                new._add_sparse(X, by_row)
                if by_target is not None:
                    new._tables["products"].add_samples(canonical(X), by_target)
            for name, places, more in sums:
                new._tables[name].add(places, more)
            new._weights = new._weights + np.bincount(rows, Y.data, K * c).reshape(K, c)
            new._sizes = self._sizes + np.bincount(fold, minlength=K)
            new._added += n
            self._become(new)

        for table in new._tables.values():  # what need not be done while signals wait
            table.sort_in()
        for k, samples in products.items():
            new._parts["cross"][k].make_room(samples, room)
        return add

    def _dense_sums(self, X: Any, Y: sparse.csr_array) -> list[tuple[str, np.ndarray, Table]]:
        """Return sums of dense samples, by table and rows, when there is room for them.

        Column k of Y is row k of the class sums. No array is made for rows that do not occur.
        """
        occurs = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
        given = np.flatnonzero(occurs)
        if not len(given):
            return []
        if len(given) < len(occurs):
            Y = with_labels(Y, (np.cumsum(occurs) - 1)[Y.indices], len(given))
        name, square_row = SQUARES.get(self.second), None
        if name is not None:
            places, square_row = np.unique(self._square_row()[given], return_inverse=True)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            sums, squares = dense_sums(X, Y, square_row, self.presence, self._origin)
        check_summable(sums)
        check_finite(squares)
        found = [("sums", given, Table(sums.shape, sums))]
        if name is not None:
            found.append((name, places, Table(squares.shape, squares)))
        return found

    def _by_target(self, X: Any, Y: sparse.csr_array, fold: np.ndarray) -> sparse.csr_array:
        """Return the weighted targets about the origin, column t + q k for target t in fold k."""
        n, q = X.shape[0], self.n_targets or 0
        origin = None if self._origin is None else self._origin[:q]
        first = about(X[:, :q].toarray() if sparse.issparse(X) else X[:, :q], origin)
        first *= Y.sum(axis=1)[:, None]
        place = (fold[:, None] * q + np.arange(q)).ravel()
        shape = n, q * len(self._sizes)
        return sparse.csr_array((first.ravel(), place, np.arange(n + 1) * q), shape=shape)

    def _add_sparse(self, X: sparse.csr_array, Y: sparse.csr_array) -> None:
        """Add sparse samples to the tables, in place; column k of Y is row k of the class sums."""
        sums, squares = self._tables["sums"], self._tables.get(SQUARES.get(self.second, ""))
        square_row = None if squares is None else self._square_row()
        of_sums, of_squares = sums.held[0], None if squares is None else squares.held[0]
        if of_sums is not None and (squares is None or of_squares is not None):
            add_sparse(X, Y, of_sums, of_squares, square_row, self.presence)
            return
        if self.presence or squares is not None:
            X = canonical(X)
        values = (X.data != 0).astype(np.float64) if self.presence else X.data
        sums.add_samples(with_values(X, values), Y)
        if squares is not None and square_row is not None:
            X = with_values(X, values.astype(np.float64) ** 2)
            squares.add_samples(X, with_labels(Y, square_row[Y.indices], squares.shape[0]))

    def _for_products(self, X: Any, Y: sparse.csr_array) -> dict[int, Rows]:
        """Return the samples of each fold, and their weights."""
        weight = np.asarray(Y.sum(axis=1), dtype=np.float64).ravel()
        return {
            k: rows_of(_some(X, rows), weight[rows], self.presence)
            for k, rows in self._shares(X.shape[0])
        }

    def _keep(self, to_keep: ToKeep, Y: sparse.csr_array) -> None:
        """Keep some of the samples, in place; Y is of all classes."""
        X, keys = to_keep
        when = max(0, self.n_samples) + np.arange(X.shape[0])
        for k, rows in self._shares(X.shape[0]):
            some = _some(X, rows), keys[rows], _some(Y, rows), when[rows]
            self._parts["kept"][k].update(*some, self.presence)

    def moved(self, delta: np.ndarray) -> Self:
        """Return the state of the samples plus a vector; it may share arrays with this one."""
        new, raw = self._with(), self._origin is None
        new._origin = delta if self._origin is None else self._origin + delta
        return new._about(None) if raw else new

    def without_kept(self) -> Self:
        """Return the state without the samples that are kept; it shares arrays with this one."""
        new = self._with()
        new.kept = 0
        new._parts.pop("kept", None)
        return new

    def sums_only(self) -> Self:
        """Return the state without samples: kept ones, those that wait, and one as the origin."""
        new = self.without_kept()
        p, origin = self.priors(), self._origin
        if origin is not None and is_away(self._centre(p), self._mean_squares(p), origin):
            new = new._about(self.mean)
            new._placed = self.n
        if "cross" in new._parts:
            new._parts["cross"] = tuple(each.settled() for each in new._parts["cross"])
        for table in new._tables.values():
            table.stored()  # sorts in the entries of samples
        return new

    @property
    def n_held(self) -> int:
        """How many samples it holds as they are, at most: those that are kept, or wait."""
        held = [len(each.samples.weight) for each in self._parts.get("kept", ())]
        held += [each.n_waiting for each in self._parts.get("cross", ())]
        return min(sum(held), max(0, self.n_samples))

    def renumber(self, when: np.ndarray, n_samples: int) -> None:
        """Give kept samples other numbers in their stream, of so many, in place.

        Sample i gets the number when[i].
        """
        self._change_kept(lambda kept: kept.renumbered(when))
        self._sizes = np.array([n_samples])

    def register(self, classes: np.ndarray) -> None:
        """Note distinct labels, sorted, as classes to come, in place."""
        new = self._with()
        row = new._grow(classes)
        new._registered = new._registered.copy()
        new._registered[row] = True
        self._become(new)

    # -- folds -------------------------------------------------------------------------------

    @classmethod
    def in_folds(cls, states: Iterable[Self]) -> Self:
        """Return the state whose folds are these states.

        Parameters
        ----------
        states : iterable of ClassStats
            At least two states of one kind, without folds. States with fewer features are padded
            with zeros.

        Returns
        -------
        stats : ClassStats
            An independent copy. The numbers of further samples continue after those of the states.

        Raises
        ------
        ValueError
            Fewer than two states, states with folds, or of several kinds.

        See Also
        --------
        fold : Return the state of the samples of a fold.

        Examples
        --------
        >>> from narrows import ClassStats
        >>> a, b = (ClassStats.of([[x], [x + 1.0]], ["u", "v"]) for x in (0.0, 4.0))
        >>> ClassStats.in_folds([a, b]).fold(1).sums.tolist()
        [[4.0], [5.0]]
        """
        states = list(states)
        if len(states) < 2 or any(state.folds for state in states):
            got = "a state with folds" if len(states) > 1 else f"{len(states)}"
            raise ValueError(f"ClassStats: expected two states without folds at least, got {got}.")
        width = max(state.n_features for state in states)
        folds = [state.widen(width).copy() for state in states]
        for fold in folds:
            folds[0]._check_kind(fold)
        raw = any(fold._origin is None and fold._weights.any() for fold in folds)
        origins = [None] if raw else [each._origin for each in folds if each._origin is not None]
        every = reduce(union, (fold._classes for fold in folds))
        for fold in folds:
            fold._grow(every)
            fold._move(origins[0] if origins else None)
        return cls._of_states(folds, 0, sum(fold.n_samples for fold in folds))

    def fold(self, k: int) -> Self:
        """Return the state of the samples of a fold.

        Parameters
        ----------
        k : int
            From 0 to `folds` - 1.

        Returns
        -------
        stats : ClassStats
            A copy without folds. It has all classes of this state; classes without samples in the
            fold have weight 0.

        Raises
        ------
        ValueError
            The state has no fold of this number.

        See Also
        --------
        without : Return the state of the samples of all folds but one.
        """
        self._check_fold(k)
        return self._chosen([k])

    @property
    def fold_counts(self) -> np.ndarray:
        """The weight of each class in each fold, of shape (n_folds, n_classes)."""
        return self._weights[: self.folds or 0].copy()

    def without(self, k: int) -> Self:
        """Return the state of the samples of all folds but one.

        Parameters
        ----------
        k : int
            The fold to leave out, from 0 to `folds` - 1.

        Returns
        -------
        stats : ClassStats
            A copy without folds.

        Raises
        ------
        ValueError
            The state has no fold of this number.

        See Also
        --------
        fold : Return the state of the samples of a fold.
        """
        self._check_fold(k)
        return self._chosen([i for i in range(self.folds or 0) if i != k])

    def _check_fold(self, k: int) -> None:
        if not 0 <= k < (self.folds or 0):
            raise ValueError(
                f"ClassStats: expected the number of one of {self.folds or 0} folds, got {k}. "
                "Make the state with folds=K, and number them from 0 to K - 1."
            )

    def count_from(self, first: int) -> Self:
        """Set the number of the next sample, which determines its fold, in place.

        The samples of a part of a stream are then in the same folds as in the state of the whole
        stream, as ``whole - part`` requires.

        Parameters
        ----------
        first : int
            At least 0.

        Returns
        -------
        self : ClassStats

        See Also
        --------
        fold : Return the state of the samples of a fold.
        """
        first -= self._added
        self._first = first if first >= 0 else first % len(self._sizes)
        return self

    # -- adding up ---------------------------------------------------------------------------

    def emptied(self) -> Self:
        """Return an empty state of the same kind."""
        kind: Any = type(self)
        empty: Self = kind(**{name: getattr(self, name) for name in KIND})
        empty._first = self._first + self._added
        return empty

    def reduced(self, second: Any, folds: bool = True) -> Self:
        """Return a copy that holds only these second moments; "class" may become "total".

        Without `folds`, it is one without folds.
        """
        if self.folds is not None and not folds:
            return self._chosen(range(self.folds)).reduced(second)
        if second == self.second:
            return self.copy()
        if not self.has(second):
            raise ValueError(
                f"ClassStats: expected second moments that follow from second={self.second!r}, "
                f"got {second!r}."
            )
        new = self._with()
        new.second, new.kept, new._parts = second, 0, {}
        new._tables = {"sums": self._tables["sums"].scaled(1.0)}
        if second == "total":
            new._tables |= self._squares_of_folds()
        return new

    def _squares_of_folds(self) -> Tables:
        """Return what ``second="total"`` holds beside the class sums."""
        K = len(self._sizes)
        if self.second == "cross":
            squares = np.array([part.diagonal() for part in self._parts["cross"]])
            return {"squares_total": Table(squares.shape, squares)}
        row, table = np.arange(self._weights.size), self._tables["squares_class"]
        return {"squares_total": table.gathered(row, row // max(1, len(self._classes)), K)}

    def __add__(self, other: Self) -> Self:
        return self.copy()._accumulate(other)

    @classmethod
    def summed(cls, states: Iterable[Self]) -> Self:
        """Return the sum of at least one state, as one that shares nothing with them."""
        first, *others = states
        new = first.copy()
        for other in others:
            new._accumulate(other)
        return new

    def __radd__(self, other: Any) -> Self:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __iadd__(self, other: Self) -> Self:
        return self._become(self + other)

    def __sub__(self, other: Self) -> Self:
        return self.copy()._accumulate(other, -1.0)

    def __isub__(self, other: Self) -> Self:
        return self._become(self - other)

    def __mul__(self, weight: Any) -> Self:
        if not (isinstance(weight, Real) and 0 <= float(weight) < np.inf):
            raise ValueError(
                f"ClassStats: expected a factor that is a number >= 0, got {weight!r}. "
                "Use a - b to subtract samples."
            )
        return self._scaled(float(weight))

    __rmul__ = __mul__

    def fade(self, weight: float, fresh: Self) -> Self:
        """Scale all weights, add a state, and return self: `weight * self + fresh`, in place.

        A class of less than 1e-12 of the total weight is dropped: its weight becomes 0.
        """
        new = self._scaled(weight)
        new._accumulate(fresh._later(self.n_samples))
        new._clear(np.broadcast_to(new.counts < GONE * new.n, new._weights.shape))
        return self._become(new)

    def _later(self, first: int) -> Self:
        """Return a state of samples that were learned after so many others."""
        new = self._with()
        new._change_kept(lambda kept: kept.later(first))
        return new

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is found at the end
    def _accumulate(self, other: Self, sign: float = 1.0) -> Self:
        """Add `sign` times another state in place; where that fails, this one is not usable."""
        self._check_kind(other)
        if sign < 0:
            self._check_enough(other)
        row = self._grow(other._classes)
        if other._registered.any():
            self._registered = self._registered.copy()
            self._registered[row] |= other._registered
        if other._weights.any():
            if other._origin is None:
                self._move(None)
            elif sign > 0:
                self._place(other.n, other.n_samples, lambda: other._origin)
        more, former = other._about(self._origin), None
        if sign < 0 and self.has("total") and not self.presence:
            former = self._sum_of_squares()
        for name, table in more._tables.items():
            self._tables[name].add(self._rows(name, row), table, sign)
        for name, each in self._parts.items():
            for mine, theirs in zip(each, more._parts[name], strict=True):
                mine.add(theirs, sign, row)
        before, self._weights = self._weights, self._weights.copy()
        self._weights[:, row] = np.maximum(before[:, row] + sign * other._weights, 0.0)
        self._sizes = self._sizes + int(sign) * other._sizes
        if sign > 0:
            numbered = [state._first for state in (self, other) if state._added]
            self._first = min(numbered or [self._first, other._first])
            self._added += other._added
        else:
            gone = np.zeros(before.shape, dtype=bool)
            gone[:, row] = self._weights[:, row] <= GONE * before[:, row]
            self._clear(gone)
            if self._origin is not None and self._weights.any():
                self._move(self.mean)  # most of the weight may be elsewhere now
                self._placed = self.n
            if self.n:
                self._check_possible(former)
        self._check_finite()
        return self

    def _check_enough(self, other: Self) -> None:
        """Raise where more than the weight of a class, or of a class in a fold, is subtracted."""
        checks = [("", self.counts, other.counts, "Subtract only what was added.")]
        for k in range(self.folds or 0):
            advice = "Give the samples the numbers that they had, by count_from()."
            checks.append((f" in fold {k}", self._weights[k], other._weights[k], advice))
        for where, mine, theirs, advice in checks:
            weights = dict(zip(self._classes.tolist(), mine.tolist(), strict=True))
            for label, count in zip(other._classes.tolist(), theirs.tolist(), strict=True):
                weight = weights.get(label, 0.0)
                if weight - count < -_MISSING * count:
                    raise ValueError(
                        f"ClassStats: expected to subtract a weight of at most {weight:g} from "
                        f"class {label!r}{where}, got {count:g}. {advice}"
                    )

    def _check_possible(self, former: np.ndarray | None) -> None:
        """Raise where a subtraction left sums that no samples have, by more than rounding.

        These are a negative variance, or a feature in fewer than no samples or in more than all.
        Features of which only the rounding of their `former` sums of squares is left become 0, in
        place.
        """
        p = self.priors()
        if former is not None:
            squares = self._sum_of_squares()
            if (squares - self.n * self._centre(p) ** 2 < -_NEVER * former).any():
                raise ValueError(no_samples_have("a negative variance"))
            self._empty(np.flatnonzero((squares <= NOISE * former) & (former > 0)))
        for _, share in self.joint(p) if self.presence else ():
            odd = share[(share < -_MISSING) | (share > p[p > 0][:, None] + _MISSING)]
            if odd.size:
                raise ValueError(no_samples_have(f"a feature in {odd[0] * self.n:g} samples"))

    # -- the origin -------------------------------------------------------------------------

    def _place(self, weight: float, n: int, middle: Callable[[], Any]) -> None:
        """Before n samples of so much weight are added, put the origin near most of the weight.

        That is the middle of the samples if they outweigh the state, and of both if either is one
        sample, which does not stay as the origin. Otherwise the mean of the state is compared with
        the origin each time the weight has doubled. Raw sums stay raw.
        """
        is_heavy, one = weight >= self.n, 1 in (n, self.n_samples)
        if not self._weights.any() or (self._origin is not None and is_heavy and n > 1):
            self._move(middle())
        elif self._origin is not None and one and (is_heavy or self.n_samples == 1):
            share = weight / (self.n + weight)
            self._move(self.mean * (1 - share) + middle() * share)
        elif self._origin is None or self.n + weight < 2 * self._placed:
            return
        else:
            p = self.priors()
            away = self._centre(p) ** 2
            spread = self._mean_squares(p) - away
            # in a feature, farther from the origin than samples are from their mean
            if (away > 4 * spread + _resolution(self._origin)).any():
                self._move(self.mean)
        self._placed = self.n + weight

    def __repr__(self) -> str:
        return (
            f"ClassStats({self.n_samples} samples, {len(self._classes)} classes, "
            f"{self.n_features} features, second={self.second!r}, presence={self.presence}"
            + (f", folds={self.folds})" if self.folds else ")")
        )

    # -- reading -----------------------------------------------------------------------------

    @property
    def sums(self) -> np.ndarray:
        """S_j, the sum of the samples of each class, of shape (n_classes, n_features); read-only.

        This is a dense array, also if the state stores its non-zeros only.
        """
        return read_only(self._raw_sums().toarray())

    @property
    def total(self) -> np.ndarray:
        """sum_j S_j, the sum of all samples, of shape (n_features,)."""
        return self._raw_sums().weighted(np.ones(len(self.counts)))

    @property
    def squares(self) -> np.ndarray | None:
        """Sums of squares; read-only.

        None without second moments; of shape (n_classes, n_features) for "class", else of shape
        (n_features,).
        """
        if not self.has("total"):
            return None
        tables = {"sums": self._sums, "squares": self._squares()}
        squares = shifted(tables, self.counts, self._origin)["squares"].toarray()
        return read_only(squares if self.second == "class" else squares[0])

    @property
    def cross(self) -> np.ndarray:
        """sum_i w_i x_i x_i', of shape (n_features, n_features), for ``second="cross"``."""
        of_all = self._cross()
        if self._origin is not None:
            of_all = of_all.shifted(
                self._origin, self.n, self._sums.weighted(np.ones(len(self.counts)))
            )
        return symmetric(of_all.products().copy(order="F"))

    def covariance(self) -> np.ndarray:
        """Return C, the covariance of all samples, divided by n, for ``second="cross"``.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            Zeros for an empty state.

        Raises
        ------
        ValueError
            The state holds other second moments.

        See Also
        --------
        variances : Its diagonal, which needs sums of squares only.
        """
        return symmetric(self._scatter() / (self.n or 1.0))

    def scatters(self, by_samples: bool = True, unit: np.ndarray | None = None) -> Scatter:
        """Return the total scatter and that of the class means, for ``second="cross"``.

        They are in the coordinates of the features, or, with `by_samples`, in those of the samples
        if these are fewer; of features divided by their `unit`, if there is one.
        """
        p, of_all = self.priors(), self._cross()
        H = np.empty((int((p > 0).sum()), self.n_features))
        for columns, D in self.deviations(p):
            H[:, columns] = np.sqrt(self.n * p[p > 0])[:, None] * D
        H[np.abs(H) <= np.sqrt(self.n) * self.rounding(p)] = 0.0
        rows, m = of_all.samples() if by_samples else None, divided(self._centre(p), unit)
        if rows is not None:
            X, H = divided(rows.X, unit), divided(H, unit)
            return replace(of_samples(X, rows.weight, m, H), unit=unit)
        S = Scatter(self._scatter(), H, self.n, self._rounding(), m, unit=unit)
        return S if unit is None else S.over(unit)

    def units(self, chosen: np.ndarray) -> np.ndarray:
        """Return what standardises the chosen features: standard deviations, and 1 for the others.

        It is infinite where a chosen feature does not vary by more than rounding, which makes it 0.
        """
        variances = self.variances(self.priors())
        noise = np.maximum(VARIES * self._rounding() / (self.n or 1.0), _resolution(self._origin))
        return np.where(chosen, np.sqrt(np.where(variances > noise, variances, np.inf)), 1.0)

    def few(self) -> tuple[Any, np.ndarray, np.ndarray] | None:
        """Return (X, weight, mean) of all samples if they are fewer than the features, else None.

        They wait as they are, for ``second="cross"``; X and the mean are about the origin.
        """
        rows = self._cross().samples()
        return None if rows is None else (rows.X, rows.weight, self._centre(self.priors()))

    @property
    def samples(self) -> Samples:
        """The samples that are kept, in the order of their hashes."""
        each = self._parts["kept"]
        return (each[0] if len(each) == 1 else summed_up(each)).samples

    def held_out(
        self,
        S: Scatter,
        most: int | None = None,
        samples: Callable[[Any], Any] = lambda X: X,
    ) -> list[HeldOut]:
        """Return the first kept samples in the coordinates of `scatters`, in a few parts.

        `samples` makes samples of what was kept of them.
        """
        if not self.kept:
            return []
        X, code, weight = (each[:most] for each in self.samples[:3])
        number = np.cumsum(self.counts > 0) - 1
        origin: Any = 0.0 if self._origin is None else self._origin  # sparse samples have none
        return [
            HeldOut(
                S.coordinates(samples(X[part]) - origin),
                number[code[part]],
                weight[part],
            )
            for part in parts(weight, self.n, len(S.C))
        ]

    def mean_square(self, unit: np.ndarray | None = None) -> float:
        """Return the mean squared length of the centred samples, the trace of C.

        Of features divided by their `unit`, if there is one.
        """
        return float(divided(divided(self.variances(self.priors()), unit), unit).sum())

    def has(self, second: Any) -> bool:
        """Whether the state holds these second moments, or others that they follow from."""
        return second in (None, self.second) or (
            second == "total" and self.second in ("cross", *SQUARES)
        )

    @property
    def mean(self) -> np.ndarray:
        """m = sum_j S_j / n, of shape (n_features,); zeros for an empty state."""
        return self.centre(self.priors())

    @property
    def means(self) -> np.ndarray:
        """m_j = S_j / N_j, of shape (n_classes, n_features); zeros for a class of weight 0."""
        means = self._sums.toarray() * _ratio(1.0, self.counts)[:, None]
        if self._origin is not None:
            means[self.counts > 0] += self._origin
        return means

    def centre(self, p: np.ndarray) -> np.ndarray:
        """m = sum_j p_j m_j for any priors p of shape (n_classes,); of shape (n_features,)."""
        centre = self._centre(p)
        return centre if self._origin is None or not p.any() else centre + self._origin

    def priors(self, kind: Any = "empirical") -> np.ndarray:
        """p_j, the weight of each class in a criterion, of shape (n_classes,).

        See `priors` of the estimators; `kind` may also be a mapping of labels to numbers.
        """
        given = by_class(kind)
        if given is not None:
            kind = of_classes(given, self.classes[self.counts > 0].tolist())
        return priors(kind, self.counts)

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
            The caller may write to it. No array of the size of the state is made.

        See Also
        --------
        means : The class means, as one array.
        """
        prior = p[p > 0]
        for columns, D in self._means(p, classes):
            D -= weighted(prior, D)
            yield columns, D

    def rounding(self, p: np.ndarray) -> np.ndarray:
        """The deviation that may be rounding of the means alone, of shape (n_features,)."""
        bound = _ROUNDING * np.abs(self._centre(p))
        if self._origin is not None:
            bound += 4 * EPS * np.abs(self._origin)
        return bound

    def joint(
        self, p: np.ndarray, classes: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield p_j m_j for the classes with p_j > 0, a block of features at a time.

        For a state of presence this is the probability that a sample has the feature and belongs
        to the class. As for `deviations`.
        """
        for columns, M in self._means(p, classes):
            if self._origin is not None:
                M += self._origin[columns]
            M *= p[p > 0, None]
            yield columns, M

    def variances(self, p: np.ndarray) -> np.ndarray:
        """diag C, the variance of each feature, of shape (n_features,), at least 0.

        Class j is reweighted to p_j first, which requires ``second="class"`` unless p is the
        empirical one.
        """
        return np.maximum(self._mean_square(p) - self._centre(p) ** 2, 0.0)

    def varying(self, p: np.ndarray) -> np.ndarray:
        """Which features vary by more than rounding, of shape (n_features,).

        Their variance exceeds 1e-12 of the mean square about the origin; in a state of presence,
        some but not all samples have the feature.
        """
        if self.presence:
            share = self._centre(p)
            return (share > _ROUNDING) & (share < 1 - _ROUNDING)
        return self.variances(p) > _ROUNDING * self._mean_square(p)

    # -- inside ------------------------------------------------------------------------------

    @property
    def _sums(self) -> Table:
        """The class sums of all samples, not to be written to."""
        return self._of_all("sums")

    def _raw_sums(self) -> Table:
        """Return the class sums about 0."""
        return shifted({"sums": self._sums}, self.counts, self._origin)["sums"]

    def _scatter(self) -> np.ndarray:
        """The lower triangle of n C, in Fortran order."""
        C, centre = self._cross().summed(), self._centre(self.priors())
        return blas.dsyr(-self.n, centre, lower=1, a=C, overwrite_a=1) if C.size else C

    def _cross(self) -> Any:
        """The cross products of all samples; ValueError without them."""
        if self.second != "cross":
            raise ValueError(
                f'ClassStats: expected second="cross" for a covariance, got {self.second!r}.'
            )
        each = self._parts["cross"]
        return each[0] if len(each) == 1 else summed_up(each)

    def _squares(self) -> Table:
        """Return the sums of squares of all samples."""
        if not self.has("total"):
            raise _not_enough(self.second)
        if self.second in SQUARES:
            return self._of_all(SQUARES[self.second])
        squares = sum(part.diagonal() for part in self._parts["cross"])
        return Table((1, self.n_features), squares[None])

    def _sum_of_squares(self) -> np.ndarray:
        """Return the sum of the squares of each feature about the origin."""
        squares = self._squares()
        return squares.weighted(np.ones(squares.shape[0]))

    def _rounding(self) -> np.ndarray:
        """Return how far the scatter of each feature may be off, of shape (n_features,)."""
        return NOISE * self._sum_of_squares()

    def _mean_square(self, p: np.ndarray) -> np.ndarray:
        """Return the mean square about the origin under priors p, of shape (n_features,)."""
        return np.maximum(self._squares().weighted(self._square_weights(p)), 0.0)  # or rounding

    def _square_weights(self, p: np.ndarray) -> np.ndarray:
        """Return the weight of each row of the squares in a mean under priors p."""
        if self.second == "class":
            return _ratio(p, self.counts)
        if not np.allclose(p * self.n, self.counts, rtol=1e-12, atol=0):
            raise _not_enough(self.second)
        return np.array([1 / (self.n or 1.0)])

    def _centre(self, p: np.ndarray) -> np.ndarray:
        """`centre` about the origin."""
        return self._sums.weighted(_ratio(p, self.counts))

    def _means(
        self, p: np.ndarray, classes: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield m_j about the origin, as `deviations` does m_j - m."""
        live, sums = p > 0, self._sums
        weight = self.counts[live, None]
        for columns in blocks(self.n_features, max(1, BLOCK // max(1, classes or live.sum()))):
            yield columns, sums[columns][live] / weight

    def _mean_squares(self, p: np.ndarray) -> np.ndarray:
        """The mean square about the origin; without second moments, that of the class means."""
        if self.has("total"):
            return self._mean_square(p)
        squares = np.empty(self.n_features)
        for columns, M in self._means(p):
            squares[columns] = weighted(p[p > 0], M**2)
        return squares


def _some(X: Any, rows: slice) -> Any:
    """Return some rows; all without a copy."""
    return X if (rows.start, rows.step) == (0, 1) else X[rows]


def _middle(X: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
    """Return a point in the middle of the samples that have weight."""
    each = Y.sum(axis=1)
    counted = (each > 0) & (each >= each.max(initial=0.0) / 2)
    return near(X if counted.all() else X[counted])


def is_away(centre: np.ndarray, squares: np.ndarray, origin: np.ndarray) -> bool:
    """Whether a mean about an origin, with these mean squares, is more than rounding."""
    return bool((centre**2 > _ROUNDING * squares + _resolution(origin)).any())


def _resolution(origin: Origin) -> np.ndarray | float:
    """The largest squared deviation that may be the rounding of dense samples themselves."""
    return 0.0 if origin is None else (8 * EPS * origin) ** 2


def _not_enough(second: str | None) -> ValueError:
    """Return the error of variances that the second moments of a state do not determine."""
    return ValueError(
        f"ClassStats: expected sums of squares for variances with these priors, got "
        f'second={second!r}. Use second="class" ("total" is enough for empirical priors).'
    )


def _ratio(a: Any, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0)


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
