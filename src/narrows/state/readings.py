"""What a state says about its samples: sums, means, variances and deviations of class means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import blas, norm  # its squares do not overflow

from narrows.state.kept import Samples
from narrows.state.origin import EPS, Moments, Origin, about, resolution
from narrows.state.priors import by_class, of_classes, priors
from narrows.state.squares import not_enough, ratio
from narrows.state.table import Table
from narrows.solve.ridge import HeldOut, parts
from narrows.solve.scatter import Scatter, of_samples
from narrows.solve.sums import BLOCK, HUGE, TINY, blocks, check_not_tiny, too_large, weighted

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
