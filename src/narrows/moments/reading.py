"""What moments say of their samples: means, variances, scatters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.sparse.linalg import LinearOperator

from narrows.moments.labels import by_class, of_classes, priors
from narrows.moments.products import Products
from narrows.moments.reservoir import KeptSamples
from narrows.moments.second import ratio
from narrows.moments.sums import Sums, read_only
from narrows.moments.table import Table
from narrows.solve.held_out import HeldOut, parts
from narrows.solve.pairs import symmetric
from narrows.solve.scatter import VARIES, Scatter, of_samples
from narrows.solve.sums import BLOCK, blocks, divided, weighted

EPS = float(np.finfo(np.float64).eps)
NOISE = 4 * EPS  # of a sum of squares: its rounding
ROUNDING = 1e-12  # a share has to exceed this to be more than rounding


class Reading(Sums):
    """Questions to moments, which change nothing.

    Attributes are those of `Moments`.
    """

    # -- sums and means -------------------------------------------------------------------------

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
        return read_only(sums)

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

    @property
    def target_mean(self) -> np.ndarray:
        """The mean of the numeric targets, of shape (n_targets,)."""
        mean = self._of_numbers()[0] / (self.n or 1.0)
        return mean if self.t_origin is None else mean + self.t_origin

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
        bound = ROUNDING * np.abs(self._centre(p))
        if self.origin is not None:
            bound += 4 * EPS * np.abs(self.origin)
        return bound

    # -- variances and covariances --------------------------------------------------------------

    @property
    def squares(self) -> np.ndarray | None:
        """Sums of squares; read-only.

        None without second moments; of shape (n_classes, n_features) for "class", else of shape
        (n_features,).
        """
        if self.second is None:
            return None
        return read_only(self._about(None).second_moment.by_class)

    def variances(self, p: np.ndarray | None = None) -> np.ndarray:
        """diag C, the variance of each feature, of shape (n_features,), at least 0.

        Class j is reweighted to p_j first, which requires ``second="class"`` unless p is the
        empirical one. With numeric targets, a variance that may be rounding is 0.
        """
        p = self.priors() if p is None else p
        squares = self._mean_square(p)
        found = np.maximum(squares - self._centre(p) ** 2, 0.0)
        return np.where(found > ROUNDING * squares, found, 0.0) if self.is_numeric else found

    @property
    def target_variances(self) -> np.ndarray:
        """The variance of each target, of shape (n_targets,); 0 where it may be rounding."""
        sums, squares = (each / (self.n or 1.0) for each in self._of_numbers())
        found = np.maximum(squares - sums**2, 0.0)
        return np.where(found > ROUNDING * squares, found, 0.0)

    def varying(self, p: np.ndarray | None = None) -> np.ndarray:
        """Which features vary by more than rounding, of shape (n_features,).

        Their variance exceeds 1e-12 of the mean square about the origin.
        """
        p = self.priors() if p is None else p
        return self.variances(p) > ROUNDING * self._mean_square(p)

    def mean_square(self, unit: np.ndarray | None = None) -> float:
        """Return the mean squared length of the centred samples, the trace of C.

        Of features divided by their `unit`, if there is one.
        """
        return float(divided(divided(self.variances(), unit), unit).sum())

    def units(self, chosen: np.ndarray) -> np.ndarray:
        """Return what standardises the chosen features: standard deviations, and 1 for the others.

        It is infinite where a chosen feature does not vary by more than rounding, which makes it 0.
        """
        noise = np.maximum(VARIES * self._noise() / (self.n or 1.0), resolution(self.origin))
        p = self.priors()
        variances = np.maximum(self._mean_square(p) - self._centre(p) ** 2, 0.0)
        return np.where(chosen, np.sqrt(np.where(variances > noise, variances, np.inf)), 1.0)

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

    def with_targets(self) -> np.ndarray:
        """Return how the features vary with the targets, of shape (n_targets, n_features).

        That is N_j^(1/2) (m_j - m) for each class with samples, or the products of centred numbers
        and features.
        """
        if self.labels is None:
            return self._of_targets()
        p = self.priors()
        H = np.empty((int((p > 0).sum()), self.n_features))
        for columns, D in self.deviations(p):
            H[:, columns] = np.sqrt(self.n * p[p > 0])[:, None] * D
        H[np.abs(H) <= np.sqrt(self.n) * self.rounding(p)] = 0.0
        return H

    def scatters(self, by_samples: bool = True, unit: np.ndarray | None = None) -> Scatter:
        """Return the total scatter, and that of the class means, for ``second="cross"``.

        With numeric targets, its H are the products of centred targets and features. The scatters
        are in the coordinates of the features, or, with `by_samples`, in those of the samples if
        these are fewer; of features divided by their `unit`, if there is one.
        """
        products = self._products()
        few = products.few() if by_samples else None
        H, m = self.with_targets(), divided(self._centre(self.priors()), unit)
        if few is not None:
            X, H = divided(few.X, unit), divided(H, unit)
            return replace(of_samples(X, few.weight, m, H), unit=unit)
        S = Scatter(self._scatter(), H, self.n, self._noise(), m, unit=unit)
        return S if unit is None else S.in_units(unit)

    # -- samples --------------------------------------------------------------------------------

    def few(self) -> tuple[Any, np.ndarray, np.ndarray] | None:
        """Return (X, weight, mean) of all samples if they are fewer than the features, else None.

        They wait as they are, for ``second="cross"``; X and the mean are about the origin.
        """
        rows = self._products().few()
        return None if rows is None else (rows.X, rows.weight, self._centre(self.priors()))

    @property
    def samples(self) -> KeptSamples:
        """The samples that are kept, in the order of their hashes."""
        return self.kept.samples

    def held_out(
        self,
        S: Scatter,
        most: int | None = None,
        of_kept: Callable[[Any], Any] | None = None,
    ) -> list[HeldOut]:
        """Return the first kept samples in the coordinates of `scatters`, in a few parts.

        `of_kept` returns samples from what was kept of them.
        """
        if not self.keep:
            return []
        X, code, weight = (each[:most] for each in self.samples[:3])
        number = np.cumsum(self.counts > 0) - 1
        origin: Any = 0.0 if self.origin is None else self.origin  # sparse samples have none
        X = X if of_kept is None else of_kept(X)
        return [
            HeldOut(S.coordinates(X[part] - origin), number[code[part]], weight[part])
            for part in parts(weight, self.n, len(S.C))
        ]

    # -- inside ---------------------------------------------------------------------------------

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
        return np.maximum(self.second_moment.mean_squares(p, self.counts), 0.0)  # or rounding

    def _mean_squares(self, p: np.ndarray) -> np.ndarray:
        """The mean square about the origin; without second moments, that of the class means."""
        if self.second is not None:
            return self._mean_square(p)
        squares = np.empty(self.n_features)
        for columns, M in self._means(p):
            squares[columns] = weighted(p[p > 0], M**2)
        return squares

    def _noise(self) -> np.ndarray:
        """Return how far the scatter of each feature may be off, of shape (n_features,)."""
        return NOISE * self.second_moment.squares

    def _products(self) -> Products:
        """Return the products of all samples; ValueError without them."""
        if not isinstance(self.second_moment, Products):
            raise ValueError(f'expected second="cross" for a covariance, got {self.second!r}.')
        return self.second_moment

    def _scatter(self) -> np.ndarray:
        """The lower triangle of n C, in Fortran order."""
        C, centre = self._products().lower(), self._centre(self.priors())
        return blas.dsyr(-self.n, centre, lower=1, a=C) if C.size else C  # a copy

    def _of_targets(self) -> np.ndarray:
        """Return the products of centred targets and features; 0 for targets that do not vary."""
        tx = self.tx.toarray()
        products = tx[1:] - np.outer(self.tt[0, 1:] / (self.n or 1.0), tx[0])
        return products * (self.target_variances > 0)[:, None]

    def _of_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return sums and sums of squares of numeric targets about their origin; empty ones else.

        Both are of shape (n_targets,).
        """
        if self.labels is not None:
            return np.zeros(0), np.zeros(0)
        return self.tt[0, 1:], self.tt.diagonal()[1:]

    def _sums_of_squares(self) -> np.ndarray:
        """Return the sums of squares of numeric targets and of the features about the origins."""
        return np.append(self._of_numbers()[1], self.second_moment.squares)

    def _centres(self) -> np.ndarray:
        """Return the means of numeric targets and of the features about the origins."""
        return np.append(self._of_numbers()[0] / (self.n or 1.0), self._centre(self.priors()))

    def _is_away(self, share: float) -> bool:
        """Whether the square of a mean is more than a share of the mean square, and than rounding.

        All are about the origin. Without second moments, mean squares are those of class means.
        """
        of_numbers = self._of_numbers()[1] / (self.n or 1.0)
        squares = np.append(of_numbers, self._mean_squares(self.priors()))
        origin = np.zeros(self.n_features) if self.origin is None else self.origin
        origins = origin if self.t_origin is None else np.append(self.t_origin, origin)
        return bool((self._centres() ** 2 > share * squares + resolution(origins)).any())

    def _target_mean(self) -> np.ndarray | None:
        return None if self.labels is not None else self.target_mean


def centre_about_origin(m: Reading, p: np.ndarray) -> np.ndarray:
    """Return the centre under priors p less the origin, so that differences lose no digits."""
    return m._centre(p)


def resolution(origin: np.ndarray | None) -> np.ndarray | float:
    """The largest squared deviation that may be the rounding of dense samples themselves."""
    return 0.0 if origin is None else (8 * EPS * origin) ** 2
