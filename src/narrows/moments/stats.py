"""ClassStats: class weights and moments that add up, of which every exact method is a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from narrows.moments.algebra import Algebra
from narrows.moments.batch import Batch, ToKeep
from narrows.moments.cross import COORDINATES, Cross
from narrows.moments.first import First
from narrows.moments.kept import Kept
from narrows.moments.labels import indicator
from narrows.moments.origin import Moments, Origin, middle
from narrows.moments.squares import ClassSquares, TotalSquares
from narrows.solve.errors import ParameterError
from narrows.solve.schema import FINITE, LABELS, MOST, NOT_NEGATIVE, Check, Field, between, checked
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


class ClassStats(Algebra):
    """Weights, sums and, on request, second moments of labelled samples.

    States add up: ``a + b`` is the state of both data sets together, ``a - b`` removes one of
    them again, ``g * a`` scales all weights by g >= 0. So merging, unlearning, forgetting and
    streaming are additions, and neither batches nor order matter.

    Sparse samples are stored as raw sums. Dense samples are measured from an origin, because raw
    sums of squares lose every digit where the offset is large; what is read (``sums``, ``squares``,
    ``means``) is always raw. The origin is near the mean of the first batch, and follows most of
    the weight. A state of both is raw.

    Parameters
    ----------
    n_features : int
        The number of features.
    second : {None, "total", "class", "cross"}, default=None
        Second moments: none, sums of squares over all samples ("total") or for each class
        ("class"), or sums of the products of all pairs of features ("cross"), which at most 8,192
        features may have.
    presence : bool, default=False
        Count the samples in which a feature is not zero, instead of adding values up. Explicit
        zeros do not count.
    kept : int, default=0
        How many samples to keep: those with the smallest hashes, whatever their order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All labels seen so far, sorted. A class may have weight 0, after a subtraction.
    counts : ndarray of shape (n_classes,)
        N_j, the weight of each class.
    n_samples : int
        The number of samples seen. With an indicator matrix for y a sample counts once here, and
        once for each of its classes in `counts` and in every sum.

    Raises
    ------
    ValueError
        NaN, samples or states with another number of features, states of different kinds, more
        subtracted than was added, a factor below 0, or sums and weights that no float can hold.
    TypeError
        Something other than a state added or subtracted.

    Warns
    -----
    UserWarning
        By ``a - b`` of states with second moments: fewer than 6 digits of a variance are left,
        because samples far from those that remain, or nearly all of the spread, were subtracted.

    See Also
    --------
    narrows.OC, narrows.OCFS : Fitted from a state by `fit_stats`.

    Notes
    -----
    **Cost**: O(nnz) to update from sparse samples, O(n_samples n_features) from dense ones, with no
    array larger than the state. Memory: 8 n_classes n_features bytes, and 8 n_features or as much
    again for sums of squares. For sparse samples, a table of more than 4 million numbers is stored
    as its non-zeros with their places, at about 12 bytes each, as long as that is smaller.

    With "cross", O(n_samples n_features^2) from dense samples on all cores, O(n_samples z^2) from
    sparse ones with z non-zeros each, and 8 n_features^2 bytes. Up to 256 samples, or n_features if
    these are more, wait until their products are added. Products of float32 samples are computed in
    single precision within blocks, and added up in double precision.

    References
    ----------
    The means and scatters that follow from it are those of Yan et al. (2006): J. Yan et al.,
    "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming Data
    Preprocessing", IEEE TKDE 18(3), 2006, section 2.2, doi:10.1109/TKDE.2006.45. That states add up
    is narrows' own.

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

    def __init__(
        self, n_features: int, *, second: Second = None, presence: bool = False, kept: int = 0
    ):
        if second is not None and second not in SECOND:
            kinds = ", ".join(f'"{kind}"' for kind in SECOND)
            raise ParameterError(
                f"ClassStats: expected second to be None, {kinds}, got {second!r}."
            )
        self.second: Second = second
        self.presence, self.kept = presence, kept
        self.n_samples = 0
        self._classes: np.ndarray = np.empty(0, dtype=np.int64)
        self._counts: np.ndarray = np.zeros(0)
        self._registered: np.ndarray = np.zeros(0, dtype=bool)
        self._origin: Origin = None
        self._placed = 0.0
        self._moments: Moments = {
            moment.names[0]: moment.empty(n_features) for moment in _moments_of(second)
        }
        if kept:
            self._moments["kept"] = Kept(n_features, kept)

    @classmethod
    def of_coordinates(cls, width: int, kept: int, kept_width: int) -> ClassStats:
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

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Second = None,
        presence: bool = False,
        kept: int = 0,
    ) -> ClassStats:
        """Return the state of the samples X; the parameters are those of `update`."""
        X = checked_rows(X)
        return cls(X.shape[1], second=second, presence=presence, kept=kept).update(
            X, y, sample_weight, check_input=False
        )

    def update(
        self, X: Any, y: Any, sample_weight: Any = None, *, check_input: bool = True
    ) -> ClassStats:
        """Add samples, in place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            n_samples may be 0. Sparse matrices of any format, unsorted, with duplicates or explicit
            zeros, give what the same numbers give as an array.
        y : array-like of shape (n_samples,), or {array, sparse matrix} of shape \
(n_samples, n_classes)
            Labels, new ones at any time; or a 0-1 indicator matrix, of which every
            (sample, class) pair counts as a sample of its own.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.
        check_input : bool, default=True
            False where X is known to be finite, float32 or float64, and CSR if sparse.

        Returns
        -------
        self : ClassStats

        Raises
        ------
        ValueError
            NaN or infinity, another number of features, labels that do not fit. The state is
            then as it was before.

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
    ) -> ClassStats:
        """Add checked samples, of what `indicator` makes of their labels, in place; see `Batch`.

        With `in_place` the state is lost if that fails.
        """
        added = Y.sum(axis=0)
        weight = float(added.sum())
        self._check_weight(weight)
        if sparse.issparse(X) and not self.presence:
            check_sparse(X, weight, self.second is not None)
        undo, before = Undo(self), self._moments

        def add() -> ClassStats:
            row = self._grow(classes)
            if sparse.issparse(X):
                self._move(None)  # centred sparse samples would be dense
            elif not self.presence and added.any():
                self._place(weight, lambda: middle(X, Y))
            self._add(
                X,
                Y,
                row,
                undo if self._moments is before else None,
                to_keep,
                in_place,
                max(0, self.n_samples),
            )
            counts = self._counts.copy()
            counts[row] += added
            self._counts = counts
            self.n_samples += X.shape[0]
            return self

        return undo.guard(add)

    def _add(self, X: Any, Y: Any, row: np.ndarray, undo: Undo | None, *options: Any) -> None:
        """Add samples to the moments; `undo` notes what changes in place."""
        batch = Batch(X, Y, row, self.presence, self._origin, undo, *options)
        for moment in self._moments.values():
            moment.update(batch)
        batch.add()

    def keep_as(self, other: ClassStats) -> None:
        """Keep the samples that another state of the same samples keeps, in place."""
        if other.kept:
            self._moments["kept"] = other._moments["kept"]

    def register(self, classes: np.ndarray) -> None:
        """Note distinct labels, sorted, as classes to come, in place."""
        row = self._grow(classes)
        registered = self._registered.copy()
        registered[row] = True
        self._registered = registered

    # -- features ---------------------------------------------------------------------------

    def widen(self, n_features: int) -> ClassStats:
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

    def cut(self, columns: slice) -> ClassStats:
        """Return the state of some neighbouring features of the same samples."""
        origin = None if self._origin is None else self._origin[columns]
        return self._with(self._each(lambda moment: moment.cut(columns)), origin)

    @classmethod
    def beside(cls, parts: Iterable[ClassStats], in_memory: bool = True) -> ClassStats:
        """Return the state of all features from those of neighbouring ones, of the same samples.

        Parameters
        ----------
        parts : iterable of ClassStats
            In the order of their features.
        in_memory : bool, default=True
            If not, the numbers are put into temporary files, a part at a time, and read from these
            when needed.

        See Also
        --------
        cut : Return the state of some neighbouring features.
        """
        if not in_memory:
            parts = (part._joined([part], in_memory) for part in parts)
        first, *others = parts
        return first._joined([first, *others], in_memory)

    def _joined(self, parts: list[ClassStats], in_memory: bool) -> ClassStats:
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
        separable = all(moment.separable for moment in self._moments.values())
        return self._sums.middle() if separable else 0

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits."""
        arrays = {
            "classes": self.classes,
            "counts": self.counts,
            "n_samples": np.array(self.n_samples),
            "presence": np.array(self.presence),
        }
        if self._registered.any():
            arrays["registered"] = self._registered
        for moment in self._moments.values():
            arrays |= moment.to_arrays()
        if self._origin is not None:
            arrays |= {"origin": self._origin, "placed": np.array(self._placed)}
        return arrays

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], kept_width: int | None = None
    ) -> ClassStats:
        """Return the state that `to_arrays` described.

        `kept_width` is the number of features of kept samples, if not that of the state.
        """
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

    def __repr__(self) -> str:
        return (
            f"ClassStats({self.n_samples} samples, {len(self._classes)} classes, "
            f"{self.n_features} features, second={self.second!r}, presence={self.presence})"
        )


def _moments_of(second: Second) -> list[Any]:
    """The kinds of moments of a state."""
    return [First] if second is None else [First, SECOND[second]]


def checked_rows(X: Any, who: str = "ClassStats", finite: bool = True) -> Any:
    """Return samples as float32 or float64, CSR if sparse; ValueError unless they are finite."""
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
