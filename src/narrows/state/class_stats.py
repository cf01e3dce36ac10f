"""Moments by folds: each sample goes to one of K, and the moments of all samples are their sum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas, norm
from sklearn.utils import check_array

from narrows.errors import ParameterError, RangeError
from narrows.solve.arrays import numbers_expected, samples_as_numpy
from narrows.solve.held_out import HeldOut, parts
from narrows.solve.scatter import Scatter, of_samples
from narrows.solve.schema import (
    COUNT,
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
from narrows.solve.sums import (
    BLOCK,
    HUGE,
    TINY,
    all_finite,
    blocks,
    check_not_tiny,
    check_sparse,
    too_large,
    weighted,
    with_one_index_type,
)
from narrows.solve.undo import Undo
from narrows.state.cross import COORDINATES, Cross
from narrows.state.kept import Kept, Samples
from narrows.state.labels import by_class, indicator, of_classes, priors, union
from narrows.state.moment import (
    EPS,
    Batch,
    ClassSquares,
    First,
    Moments,
    Origin,
    Shift,
    ToKeep,
    TotalSquares,
    about,
    add_all,
    is_far,
    middle,
    not_enough,
    ratio,
    resolution,
    warn_of_lost_digits,
)
from narrows.state.table import Table

GONE = 1e-12  # of its former weight: what a subtraction leaves of a class that is gone
FAINT = 1e-280  # a smaller weight is lost in the rounding of the smallest numbers
OF_ALL = {"classes", "presence", "registered", "origin", "placed"}  # arrays that folds share
MOST_FOLDS = 1000
FOLDS = {
    "folds": Field("i8", (), between(2, MOST_FOLDS)),
    "folds_first": Field("i8", (), COUNT),
    "folds_added": Field("i8", (), COUNT),
}


class Folds:
    """The moments of K folds, in the place of those of a state: sample i is in fold i mod K.

    Folds have the classes and the origin of the state, and their weights add up to its weights.

    Parameters
    ----------
    parts : sequence of dict
        The moments of each fold, by name.
    counts : ndarray of shape (n_folds, n_classes)
        The weight of each class in each fold.
    n_samples : ndarray of shape (n_folds,)
        The number of samples in each fold.
    first, added : int
        The number of the first sample, and how many samples were numbered.
    """

    def __init__(
        self,
        parts: Sequence[Moments],
        counts: np.ndarray,
        n_samples: np.ndarray,
        first: int = 0,
        added: int = 0,
    ):
        self.parts, self.counts, self.n_samples = tuple(parts), counts, n_samples
        self.first, self.added = first, added
        self._sums: Moments = {}  # what was read of all folds together; replaced when they change

    @classmethod
    def of(cls, parts: Sequence[Moments]) -> Self:
        """Return folds of no samples and no classes, with moments that are empty."""
        return cls(parts, np.zeros((len(parts), 0)), np.zeros(len(parts), np.int64))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.parts[0]["sums"].n_features)

    @property
    def separable(self) -> bool:
        """Whether the features can be in parts, side by side."""
        return all(moment.separable for moment in self.parts[0].values())

    @property
    def nbytes(self) -> int:
        """The bytes of the moments of all folds."""
        return sum(moment.nbytes for part in self.parts for moment in part.values())

    def middle(self) -> int:
        """Return the feature that has about half of the bytes of class sums before it."""
        largest = max(self.parts, key=lambda part: int(part["sums"].nbytes))
        return int(largest["sums"].table.middle())

    # -- reading ------------------------------------------------------------------------------

    def of_all(self, name: str) -> Any:
        """Return a moment of all samples, not to be written to."""
        if name not in self._sums:
            self._sums = self._sums | {name: self._summed([part[name] for part in self.parts])}
        return self._sums[name]

    def total(self) -> Any:
        """Return the squares of all samples, without products, not to be written to."""
        if "total" not in self._sums:
            each = [m.total() for part in self.parts for m in part.values() if hasattr(m, "total")]
            self._sums = self._sums | {"total": self._summed(each)}
        return self._sums["total"]

    def _summed(self, moments: Sequence[Any]) -> Any:
        """Return the sum of moments of folds."""
        first, *others = moments
        found, every = first.scaled(1.0), np.arange(self.counts.shape[1])
        for moment in others:
            found.add(every, moment, 1.0)
        return found

    # -- changing it in place -----------------------------------------------------------------

    def update(self, batch: Batch) -> None:
        """Add samples, each to its fold; `batch.undo` notes what changes."""
        if batch.undo is not None:
            batch.undo.attributes(self)
        n, c, K = batch.X.shape[0], batch.Y.shape[1], len(self.parts)
        at = (self.first + self.added) % K  # the fold of the first sample
        batches = []
        for start in range(min(n, K)):
            batches.append(batch.of_fold(start, K))
            for moment in self.parts[(at + start) % K].values():
                moment.update(batches[-1])
        if batches:
            add_all(batches)
        fold = (at + np.arange(n)) % K
        number = batch.Y.indices + c * np.repeat(fold, np.diff(batch.Y.indptr))
        counts = self.counts.copy()
        counts[:, batch.row] += np.bincount(number, batch.Y.data, c * K).reshape(K, c)
        self.counts = counts
        self.n_samples = self.n_samples + np.bincount(fold, minlength=K)
        self.added += n
        self._sums = {}

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times folds about the same origin; their class j has the number row[j]."""
        before = self.counts[:, row]
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            for name, moment in mine.items():
                moment.add(row, theirs[name], sign)
        self.counts = self.counts.copy()
        self.counts[:, row] = np.maximum(before + sign * other.counts, 0.0)
        self.n_samples = self.n_samples + int(sign) * other.n_samples
        if sign > 0:
            numbered = [folds.first for folds in (self, other) if folds.added]
            self.first = min(numbered or (self.first, other.first))
            self.added += other.added
        else:
            self._clear([row[gone] for gone in self.counts[:, row] <= GONE * before])
        self._sums = {}

    def clear(self, row: np.ndarray, empty: bool) -> None:
        """Remove the rounding that is left of classes, or of all where the state is empty."""
        self._clear([row] * len(self.parts))

    def _clear(self, rows: Sequence[np.ndarray]) -> None:
        """Remove what is left of some classes of each fold."""
        self.counts = self.counts.copy()
        for part, counts, row in zip(self.parts, self.counts, rows, strict=True):
            counts[row] = 0
            for moment in part.values():
                moment.clear(row, not counts.any())
        self._sums = {}

    def count_from(self, first: int) -> None:
        """Give the next sample this number."""
        first -= self.added
        self.first = first if first >= 0 else first % len(self.parts)

    # -- others made of it --------------------------------------------------------------------

    def chosen(self, k: Sequence[int]) -> tuple[Moments, np.ndarray, int]:
        """Return the moments, the weights of classes and the number of samples of some folds."""
        moments = {name: self._summed([self.parts[i][name] for i in k]) for name in self.parts[0]}
        return moments, self.counts[k].sum(axis=0), int(self.n_samples[k].sum())

    def moved(self, delta: np.ndarray) -> Self:
        """Return the folds about another origin, `delta` before the old one."""
        shifts = [Shift.of(*of, delta) for of in zip(self.parts, self.counts, strict=True)]
        return self.of_parts(
            [
                {name: moment.shifted(shift) for name, moment in part.items()}
                for part, shift in zip(self.parts, shifts, strict=True)
            ]
        )

    def scaled(self, weight: float) -> Self:
        """Return the folds times a number."""
        new = self._each(lambda moment: moment.scaled(weight))
        new.counts = self.counts * weight
        if weight < 1:
            new._clear([np.flatnonzero(counts < FAINT) for counts in new.counts])
        return new

    def later(self, first: int) -> Self:
        """Return the folds as those of samples that were learned after so many others."""
        return self._each(lambda moment: moment.later(first) if "kept" in moment.names else moment)

    def spread(self, row: np.ndarray, n_classes: int) -> Self:
        """Return the folds with more classes; class j has the number row[j]."""
        new = self._each(lambda moment: moment.spread(row, n_classes))
        new.counts = np.zeros((len(self.parts), n_classes))
        new.counts[:, row] = self.counts
        return new

    def widened(self, n_features: int) -> Self:
        """Return the folds with more features, which are 0."""
        return self._each(lambda moment: moment.widened(n_features))

    def cut(self, columns: slice) -> Self:
        """Return some neighbouring features of the folds."""
        return self._each(lambda moment: moment.cut(columns))

    @classmethod
    def beside(cls, parts: Sequence[Self], in_memory: bool) -> Self:
        """Return the folds of all features; their numbers may be in temporary files."""
        return parts[0].of_parts(
            [
                {
                    name: sides[0][name].beside([s[name] for s in sides], in_memory)
                    for name in sides[0]
                }
                for sides in zip(*(each.parts for each in parts), strict=True)
            ]
        )

    def of_parts(self, parts: Sequence[Moments]) -> Self:
        """Return the folds with other moments of the same samples."""
        return type(self)(parts, self.counts, self.n_samples, self.first, self.added)

    def _each(self, change: Callable[[Any], Any]) -> Self:
        return self.of_parts([{k: change(m) for k, m in part.items()} for part in self.parts])

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        for part in self.parts:
            for moment in part.values():
                moment.check_finite()

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the folds as named arrays: those of fold k begin with ``fold{k}_``."""
        arrays = {
            "folds": np.array(len(self.parts)),
            "folds_first": np.array(self.first),
            "folds_added": np.array(self.added),
        }
        for k, part in enumerate(self.parts):
            own = {"counts": self.counts[k], "n_samples": np.array(self.n_samples[k])}
            for moment in part.values():
                own |= moment.to_arrays()
            arrays |= {f"fold{k}_{name}": array for name, array in own.items()}
        return arrays


def of_fold(arrays: Mapping[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
    """Return the arrays of one fold, named as those of a state without folds."""
    start = f"fold{k}_"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


_OTHERS = ("sums", "kept")  # moments that are not the second one
_ROUNDING = 1e-12  # a share has to exceed this to be more than rounding


class Readings:
    """The part of `ClassStats` that is read and never changes it."""

    second: Any
    presence: bool
    n_samples: int
    _classes: np.ndarray
    _counts: np.ndarray
    _registered: np.ndarray
    _origin: Origin  # never written to, so states share it
    _moments: Moments

    @property
    def classes(self) -> np.ndarray:
        """All labels seen so far, sorted, of shape (n_classes,); read-only."""
        return _read_only(self._classes)

    @property
    def counts(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (n_classes,); read-only."""
        return _read_only(self._counts)

    @property
    def known(self) -> np.ndarray:
        """Which classes have weight or were registered, of shape (n_classes,)."""
        return (self._counts > 0) | self._registered

    @property
    def n_features(self) -> int:
        """The number of features."""
        return next(iter(self._moments.values())).n_features

    @property
    def n(self) -> float:
        """The total weight, sum_j N_j."""
        return float(self._counts.sum())

    @property
    def sums(self) -> np.ndarray:
        """S_j, the sum of the samples of each class, of shape (n_classes, n_features); read-only.

        This is a dense array, also if the state stores its non-zeros only.
        """
        return _read_only(self._raw_sums().toarray())

    @property
    def total(self) -> np.ndarray:
        """sum_j S_j, the sum of all samples, of shape (n_features,)."""
        return self._raw_sums().weighted(np.ones(len(self._counts)))

    @property
    def squares(self) -> np.ndarray | None:
        """Sums of squares; read-only.

        None without second moments; of shape (n_classes, n_features) for "class", else of shape
        (n_features,).
        """
        if self.second is None:
            return None
        return _read_only(self._raw_second().squares())

    @property
    def cross(self) -> np.ndarray:
        """sum_i w_i x_i x_i', of shape (n_features, n_features), for ``second="cross"``."""
        self._cross()
        return _symmetric(self._raw_second().products().copy(order="F"))

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
        return _symmetric(self._scatter() / (self.n or 1.0))

    def variance_along(self, w: np.ndarray) -> float:
        """Return w'C w, the variance of samples along a direction, for ``second="cross"``."""
        scatter = self._scatter()
        return float(w @ blas.dsymv(1.0, scatter, w, lower=1)) / (self.n or 1.0)

    def scatters(self, by_samples: bool = True) -> Scatter:
        """Return the total scatter and that of the class means, for ``second="cross"``.

        They are in the coordinates of the features, or, with `by_samples`, in those of the samples
        if these are fewer.
        """
        p = self.priors()
        H = np.empty((int((p > 0).sum()), self.n_features))
        for columns, D in self.deviations(p):
            H[:, columns] = np.sqrt(self.n * p[p > 0])[:, None] * D
        H[np.linalg.norm(H, axis=1) <= float(np.sqrt(self.n) * norm(self.rounding(p)))] = 0.0
        rows = self._cross().samples() if by_samples else None
        if rows is not None:
            return of_samples(rows.X, rows.weight, self._centre(p), H)
        return Scatter(self._scatter(), H, self.n, self._cross().noise(), self._centre(p))

    @property
    def samples(self) -> Samples:
        """The samples that are kept, in the order of their hashes."""
        kept: Samples = self._of_all("kept").samples
        return kept

    def held_out(
        self,
        S: Scatter,
        most: int | None = None,
        samples: Callable[[Any], Any] = lambda X: X,
        width: int | None = None,
    ) -> list[HeldOut]:
        """Return the first kept samples in the coordinates of `scatters`, in a few parts.

        `samples` makes samples of what was kept of them; `width` is the number of coordinates, if
        others are to have the same parts.
        """
        if "kept" not in self._names:
            return []
        X, code, weight = (each[:most] for each in self.samples[:3])
        number = np.cumsum(self._counts > 0) - 1
        return [
            HeldOut(
                S.coordinates(self._placed_about(samples(X[part]))),
                number[code[part]],
                weight[part],
            )
            for part in parts(weight, self.n, width or len(S.C))
        ]

    def _placed_about(self, X: Any) -> Any:
        """Samples about the origin."""
        return X if self._origin is None else X - self._origin

    def mean_square(self) -> float:
        """Return the mean squared length of the centred samples, the trace of C."""
        return float(self.variances(self.priors()).sum())

    def has(self, second: Any) -> bool:
        """Whether the state holds these second moments, or others that they follow from."""
        return second in (None, self.second) or (second == "total" and self.second is not None)

    @property
    def mean(self) -> np.ndarray:
        """m = sum_j S_j / n, of shape (n_features,); zeros for an empty state."""
        return self.centre(self.priors())

    @property
    def means(self) -> np.ndarray:
        """m_j = S_j / N_j, of shape (n_classes, n_features); zeros for a class of weight 0."""
        means = self._sums.toarray() * ratio(1.0, self._counts)[:, None]
        if self._origin is not None:
            means[self._counts > 0] += self._origin
        return means

    def centre(self, p: np.ndarray) -> np.ndarray:
        """m = sum_j p_j m_j for any priors p of shape (n_classes,); of shape (n_features,)."""
        centre = self._centre(p)
        return centre if self._origin is None or not p.any() else centre + self._origin

    def priors(self, kind: Any = "empirical") -> np.ndarray:
        """p_j, the weight of each class in a criterion, of shape (n_classes,).

        See `moments.priors`; `kind` may also be a mapping of labels to numbers.
        """
        given = by_class(kind)
        if given is not None:
            kind = of_classes(given, self.classes[self._counts > 0].tolist())
        return priors(kind, self._counts)

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
        empirical one. A variance below the rounding that a subtraction left is 0.
        """
        second = self._squares()
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            squares = second.mean(p, self._counts)
            variances = np.maximum(squares - self._centre(p) ** 2, 0.0)
        if not np.isfinite(variances).all():
            k = int((~np.isfinite(variances)).argmax())
            raise too_large(f"standard deviations below {HUGE**0.5:.1e}", k)
        noise = second.mean_noise(p, self._counts)
        if noise is not None:
            variances[variances <= noise] = 0.0
        elif squares.max(initial=0.0) < TINY:  # a square of what is not 0
            size = np.zeros(len(variances))
            for columns, M in self._means(p):
                size[columns] = np.abs(M).max(axis=0, initial=0.0)
            check_not_tiny(size)
        return variances

    def varying(self, p: np.ndarray) -> np.ndarray:
        """Which features vary by more than rounding, of shape (n_features,).

        Their variance exceeds 1e-12 of the mean square about the origin; in a state of presence,
        some but not all samples have the feature.
        """
        if self.presence:
            share = self._centre(p)
            return (share > _ROUNDING) & (share < 1 - _ROUNDING)
        return self.variances(p) > _ROUNDING * self._squares().mean(p, self._counts)

    def class_sums(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield S_j for the classes of positive weight, as `deviations` does m_j - m."""
        sums, live = self._raw_sums(), self._counts > 0
        for columns in blocks(self.n_features, max(1, BLOCK // max(1, live.sum()))):
            yield columns, sums[columns][live]

    # -- inside -----------------------------------------------------------------------------

    @property
    def _names(self) -> Iterable[str]:
        """The names of the moments."""
        folds = self._moments.get("folds")
        return self._moments if folds is None else folds.parts[0]

    def _of_all(self, name: str) -> Any:
        """A moment of all samples, not to be written to."""
        folds = self._moments.get("folds")
        return self._moments[name] if folds is None else folds.of_all(name)

    @property
    def _sums(self) -> Table:
        table: Table = self._of_all("sums").table
        return table

    def _scatter(self) -> np.ndarray:
        """The lower triangle of n C, in Fortran order."""
        C, centre = self._cross().summed(), self._centre(self.priors())
        return blas.dsyr(-self.n, centre, lower=1, a=C, overwrite_a=1) if C.size else C

    def _cross(self) -> Any:
        """The cross products; ValueError without them."""
        if self.second != "cross":
            raise ValueError(
                f'ClassStats: expected second="cross" for a covariance, got {self.second!r}.'
            )
        return self._second()

    def _second(self) -> Any:
        """The second moment; ValueError without one."""
        if self.second is None:
            raise not_enough(None)
        return self._of_all(next(name for name in self._names if name not in _OTHERS))

    def _squares(self) -> Any:
        """A second moment for sums of squares alone; ValueError without one."""
        folds = self._moments.get("folds")
        return self._second() if folds is None or self.second != "cross" else folds.total()

    def _raw_second(self) -> Any:
        """The second moment about 0."""
        moments = {"sums": self._of_all("sums"), "second": self._second()}
        return about(moments, self._counts, self._origin, None)["second"]

    def _raw_sums(self) -> Table:
        first = {"sums": self._of_all("sums")}
        return about(first, self._counts, self._origin, None)["sums"].table

    def _centre(self, p: np.ndarray) -> np.ndarray:
        """`centre` about the origin."""
        return self._sums.weighted(ratio(p, self._counts))

    def _means(
        self, p: np.ndarray, classes: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield m_j about the origin, as `deviations` does m_j - m."""
        live = p > 0
        weight = self._counts[live, None]
        for columns in blocks(self.n_features, max(1, BLOCK // max(1, classes or live.sum()))):
            yield columns, self._sums[columns][live] / weight

    def _mean_squares(self, p: np.ndarray) -> np.ndarray:
        """The mean square about the origin; without second moments, that of the class means."""
        if self.second is not None:
            return self._squares().mean(p, self._counts)
        squares = np.empty(self.n_features)
        for columns, M in self._means(p):
            squares[columns] = weighted(p[p > 0], M**2)
        return squares

    def _varied(self) -> np.ndarray | None:
        """Which features vary by more than rounding of samples; None if no squares say so."""
        if self.second is None or self.presence:
            return None
        p = self.priors()
        return (self.variances(p) > resolution(self._origin)) & self.varying(p)


def _symmetric(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with this lower triangle, and zeros above it."""
    return lower + np.tril(lower, -1).T


def _read_only(a: np.ndarray) -> np.ndarray:
    view = a.view()
    view.flags.writeable = False
    return view


_MISSING = 1e-9  # of a weight: a subtraction of more than this in excess is not rounding


class Algebra(Readings):
    """The part of `ClassStats` that adds, subtracts and scales states."""

    n_samples: int
    kept: int
    folds: int | None
    _placed: float  # the total weight when the mean was last compared with the origin

    def copy(self) -> Self:
        """Return a state that shares no array with this one."""
        return self._scaled(1.0)

    def emptied(self) -> Self:
        """Return an empty state of the same kind."""
        kind: Any = type(self)
        empty: Self = kind(
            self.n_features,
            second=self.second,
            presence=self.presence,
            kept=self.kept,
            folds=self.folds,
        )
        if self.folds is not None:
            of_all = self._moments["folds"]
            empty._moments["folds"].count_from(of_all.first + of_all.added)
        return empty

    def reduced(self, second: Any, folds: bool = True) -> Self:
        """Return a copy that holds only these second moments; "class" may become "total".

        Without `folds`, it is one without folds.
        """
        if self.folds is not None and not folds:
            return self._of_moments({name: self._of_all(name) for name in self._names}).reduced(
                second
            )
        if second == self.second:
            return self.copy()
        if not self.has(second):
            raise ValueError(
                f"ClassStats: expected second moments that follow from second={self.second!r}, "
                f"got {second!r}."
            )
        if self.folds is None:
            moments = _with_total(self._moments, second)
        else:
            each = self._moments["folds"]
            moments = {"folds": each.of_parts([_with_total(part, second) for part in each.parts])}
        new = self._with(moments, self._origin)
        new.second, new.kept = second, 0
        return new

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
        new._clear(np.flatnonzero(new._counts < GONE * new.n))
        return self._become(new)

    def _later(self, first: int) -> Self:
        """Return a state of samples that were learned after so many others."""
        if not self.kept:
            return self
        name = "kept" if self.folds is None else "folds"
        return self._with(self._moments | {name: self._moments[name].later(first)}, self._origin)

    def _scaled(self, weight: float) -> Self:
        with np.errstate(over="ignore"):  # checked next
            new = self._with(self._each(lambda moment: moment.scaled(weight)), self._origin)
            new._counts = self._counts * weight
        new._recount()
        new._placed = self._placed * weight
        if weight > 1:
            new._check_weight(0.0)
            for moment in new._moments.values():
                moment.check_finite()
        elif weight < 1:
            new._clear(np.flatnonzero(new._counts < FAINT))
        return new

    def _accumulate(self, other: Self, sign: float = 1.0) -> Self:
        """Add `sign` times another state in place; where that fails, this one is not usable."""
        self._check_kind(other)
        if sign < 0:
            self._check_enough(other)
        row = self._grow(other._classes)
        if other._registered.any():
            self._registered = self._registered.copy()
            self._registered[row] |= other._registered
        varied = self._varied() if sign < 0 else None
        if other._counts.any():
            if other._origin is None:
                self._move(None)
            elif sign > 0:
                self._place(other.n, lambda: other._origin)
        moments = about(other._moments, other._counts, other._origin, self._origin)
        self._check_weight(other.n if sign > 0 else 0.0)
        weight = self._counts[row]
        for name, moment in self._moments.items():
            moment.add(row, moments[name], sign)
        self._counts[row] = np.maximum(weight + sign * other._counts, 0.0)
        self._recount()
        self.n_samples += int(sign) * other.n_samples
        if sign < 0:
            self._clear(row[self._counts[row] <= GONE * weight])
            if self._origin is not None and self._counts.any():
                self._move(self.mean)  # most of the weight may be elsewhere now
                self._placed = self.n
        if varied is not None and self.n_samples > 1 and self.n:
            self._check_digits(varied, self.n_samples + other.n_samples)
        return self

    def _check_kind(self, other: Self) -> None:
        if not isinstance(other, Algebra):
            raise TypeError(
                f"ClassStats: expected another state, got {type(other).__name__}. "
                "Use ClassStats.of(X, y) to make a state of samples."
            )
        for what in ("n_features", "second", "presence", "kept", "folds"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ValueError(
                    f"ClassStats: expected states of one kind, got {what}={mine!r} and "
                    f"{what}={theirs!r}."
                    + (" Use widen() on the narrower one." if what == "n_features" else "")
                )

    def _check_enough(self, other: Self) -> None:
        """Raise where more than the weight of a class, or of a class in a fold, is subtracted."""
        advice = "Subtract only what was added."
        self._check_weights(self._counts, other, other._counts, "", advice)
        advice = "Give the samples the numbers that they had, by count_from()."
        for k in range(self.folds or 0):
            mine, theirs = (state._moments["folds"].counts[k] for state in (self, other))
            self._check_weights(mine, other, theirs, f" in fold {k}", advice)

    def _check_weights(
        self, mine: np.ndarray, other: Self, theirs: np.ndarray, where: str, advice: str
    ) -> None:
        weights = dict(zip(self._classes.tolist(), mine.tolist(), strict=True))
        for label, count in zip(other._classes.tolist(), theirs.tolist(), strict=True):
            weight = weights.get(label, 0.0)
            if weight - count < -_MISSING * count:
                raise ValueError(
                    f"ClassStats: expected to subtract a weight of at most {weight:g} from class "
                    f"{label!r}{where}, got {count:g}. {advice}"
                )

    def _check_weight(self, more: float) -> None:
        """Raise where the sum of all weights would be infinite."""
        with np.errstate(over="ignore"):
            total = self.n + more
        if not total <= HUGE:
            expected = f"weights of less than {HUGE:.1e} in all"
            raise RangeError(expected, "more", None, "Use smaller weights.")

    def _check_digits(self, varied: np.ndarray, n_samples: int) -> None:
        """Warn where a subtraction from so many samples left too few digits."""
        p = self.priors()
        noise = self._squares().mean_noise(p, self._counts)
        if noise is not None:
            squares = self._mean_squares(p)
            left = np.maximum(squares - self._centre(p) ** 2, 0.0)
            noise = noise * np.sqrt(n_samples)  # single roundings add up like a random walk
            warn_of_lost_digits(varied, squares, left, noise, self._origin is None)

    def _clear(self, row: np.ndarray) -> None:
        """Remove the rounding that is left of classes that are gone."""
        self._counts[row] = 0
        for moment in self._moments.values():
            moment.clear(row, not self._counts.any())
        self._recount()

    def _recount(self) -> None:
        """Make the weights of classes those of the folds, to the bit."""
        if self.folds is not None:
            self._counts = self._moments["folds"].counts.sum(axis=0)

    def _become(self, other: Self) -> Self:
        """Take over another state, which is not used any more, in one step."""
        vars(self).update(vars(other))
        return self

    # -- the origin -------------------------------------------------------------------------

    def _place(self, weight: float, middle: Callable[[], Origin]) -> None:
        """Before samples of so much weight are added, put the origin near most of the weight.

        That is the middle of the samples if they outweigh the state. Otherwise the mean of the
        state is compared with the origin each time the weight has doubled. Raw sums stay raw.
        """
        if not self._counts.any() or (self._origin is not None and weight >= self.n):
            self._move(middle())
        elif self._origin is None or self.n + weight < 2 * self._placed:
            return
        else:
            p = self.priors()
            with np.errstate(over="ignore", invalid="ignore"):
                squares = self._mean_squares(p)
            if is_far(self._centre(p), squares, self._origin):
                self._move(self.mean)
        self._placed = self.n + weight

    def _move(self, origin: Origin) -> None:
        """Measure all from another origin; with None all is raw."""
        self._moments = about(self._moments, self._counts, self._origin, origin)
        self._origin = origin

    # -- inside -----------------------------------------------------------------------------

    def _grow(self, classes: np.ndarray) -> np.ndarray:
        """Add classes, and return the numbers of these; the moments are new ones then."""
        merged = union(self._classes, classes)
        if len(merged) > len(self._classes):
            old = np.searchsorted(merged, self._classes)
            counts, registered = np.zeros(len(merged)), np.zeros(len(merged), dtype=bool)
            counts[old], registered[old] = self._counts, self._registered
            moments = self._each(lambda moment: moment.spread(old, len(merged)))
            self._classes, self._counts, self._moments = merged, counts, moments
            self._registered = registered
        return np.searchsorted(merged, classes)

    def renamed(self, names: np.ndarray) -> Self:
        """Return the state with other labels, different ones, in the order of `classes`."""
        order = np.argsort(names)
        place = np.argsort(order)
        new = self._with(self._each(lambda m: m.spread(place, len(names))), self._origin)
        new._classes, new._registered = names[order], self._registered[order]
        new._counts = self._counts[order]
        return new

    def _each(self, change: Callable[[Any], Any]) -> Moments:
        return {name: change(moment) for name, moment in self._moments.items()}

    def _of_moments(self, moments: Moments) -> Self:
        """Return a state without folds that has these moments."""
        new = self._with(moments, self._origin)
        new.folds = None
        return new

    def _with(self, moments: Moments, origin: Origin) -> Self:
        """Return a state of the same samples, with other moments."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new._counts, new._moments, new._origin = self._counts.copy(), moments, origin
        return new


def _with_total(moments: Moments, second: Any) -> Moments:
    """Return copies of class sums, and the squares of all samples unless `second` is None."""
    found = {"sums": moments["sums"].scaled(1.0)}
    if second is not None:
        (total,) = (moment.total() for moment in moments.values() if hasattr(moment, "total"))
        found[total.names[0]] = total
    return found


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


class ClassStats(State):
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

    Warns
    -----
    UserWarning
        ``a - b`` leaves fewer than 6 digits of a variance, because samples far from the remaining
        ones, or nearly all of the variance, were subtracted.

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
        raw = any(fold._origin is None and fold._counts.any() for fold in folds)
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
        if self.folds is None:
            return np.zeros((0, len(self.counts)))
        counts: np.ndarray = self._moments["folds"].counts.copy()
        return counts

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

    def _chosen(self, k: list[int]) -> Self:
        """Return the state of the samples of some folds."""
        moments, counts, n_samples = self._moments["folds"].chosen(k)
        new = self._of_moments(moments)
        new._counts, new.n_samples, new._placed = counts, n_samples, float(counts.sum())
        return new

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
        if self.folds is not None:
            self._moments["folds"].count_from(first)
        return self

    def __repr__(self) -> str:
        return (
            f"ClassStats({self.n_samples} samples, {len(self._classes)} classes, "
            f"{self.n_features} features, second={self.second!r}, presence={self.presence}"
            + (f", folds={self.folds})" if self.folds else ")")
        )
