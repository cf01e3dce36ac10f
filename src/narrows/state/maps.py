"""Frozen maps of samples to coordinates: bands of features, and random features of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg, sparse

from narrows.solve.kernel_map import KernelMap
from narrows.solve.products import compiled_pays
from narrows.solve.scatter import Scatter
from narrows.solve.schema import FINITE, SORTED, Check, Field, between, checked
from narrows.solve.sums import canonical, ranges, weighted
from narrows.state.class_stats import ClassStats
from narrows.state.cross import MOST
from narrows.state.kept import ToKeep, hashes


class Map(ABC):
    """A map that never changes, so that sums over the coordinates of samples add up.

    Each kind has `n_features`, the number of features of samples;
    `n_samples_at_once` and `mapped`, which map samples; `mean` and `feature`, which lead back; and
    `widened`.
    """

    marker: ClassVar[str]  # the name of an array of a file that only this map has
    by_samples: ClassVar[bool] = False  # whether scatters may be in coordinates of the samples

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of coordinates of samples."""

    @property
    def kept_width(self) -> int:
        """The number of features, or coordinates, that are kept of samples."""
        return self.width

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def coordinates_of_kept(self, X: Any) -> Any:
        """Return the coordinates of kept samples."""
        return X

    def mean_square(self, stats: Any) -> float:
        """Return the mean squared length of samples, less that of their mean."""
        return float(stats.mean_square())

    def scatter(self, S: Scatter) -> Scatter:
        """Return the scatters to solve for, from those of the coordinates."""
        return S

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the map as named arrays."""

    @classmethod
    @abstractmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the map that `to_arrays` described, and take its arrays out of the dict."""

    def is_same(self, other: Map) -> bool:
        """Whether another map gives equal coordinates."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        if mine.keys() != theirs.keys():
            return False
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)


# -- bands ------------------------------------------------------------------------------------

NOWHERE = -1  # the place of a feature that is neither in the head nor in a band
_COORDINATES = 256  # of all bands together, about, where there are few classes
_FEWEST_BANDS = 4  # bands
_ALIKE = 1e-6  # of the largest eigenvalue: class means of a band that are parallel
_CANCELLED = 1e-12  # of the length that class sums can have: what is rounding where values cancel
_ENTRIES_AT_ONCE = 1 << 22  # entries of samples, before and after, at a time
_DIGITS = 30  # bits of a number that decide an order, so that rounding does not
_JUST_BELOW = 1e-9  # of a band: rounding

_BANDS_SCHEMA = {
    "map_band": Field("i4", ("d",), between(NOWHERE, 2**31 - 2)),
    "map_head": Field("i8", ("h",), SORTED),
    "map_ends": Field("i8", ("d+1",), between(0, 2**53)),
    "map_codes": Field("i4", ("t",)),
    "map_sums": Field("f8", ("t",), FINITE),
    "map_mix": Field("f8", ("g", "c", "r"), FINITE),
    "map_sizes": Field("i8", ("g",), between(0, MOST)),
}


@dataclass(eq=False, repr=False)
class Bands(Map):
    """The best features by themselves, and class means in bands of the other features.

    ::

        P = (P_head, P_1, …, P_g),   P'P = I

    Each of the h columns of P_head is one feature, with the largest scatter of the class means
    (those that `OCFS` selects). The other features are cut into g bands of equal energy (sum of
    squares), from the features of most energy to those of least. The columns of P_b are an
    orthonormal basis of the class means in band b, zero in all other features.

    A sample x becomes P'x and, as one more coordinate, the length of x - PP'x, so that lengths are
    kept.

    Parameters
    ----------
    band : ndarray of shape (n_features,)
        The number of the band of each feature, -1 for those in none.
    head : ndarray of shape (h,)
        Feature numbers, in order.
    ends, codes, sums : ndarray
        The class sums of the features in bands, one column after the other: those of feature k are
        sums[ends[k]:ends[k + 1]], of the classes `codes`.
    mix : ndarray of shape (g, n_classes, r)
        P_b consists of the class sums in band b times mix[b].
    sizes : ndarray of shape (g,)
        The number of columns of each P_b; what `mix` has beyond is not used.
    """

    marker = "map_band"

    band: np.ndarray
    head: np.ndarray
    ends: np.ndarray
    codes: np.ndarray
    sums: np.ndarray
    mix: np.ndarray
    sizes: np.ndarray

    def __post_init__(self) -> None:
        head = self.head
        self.first = len(head) + np.append(0, np.cumsum(self.sizes))  # coordinate of each band
        self._place = np.where(self.band < 0, NOWHERE, -2 - self.band).astype(np.int32)
        self._place[head] = np.arange(len(head), dtype=np.int32)

    @classmethod
    def of(cls, stats: ClassStats, head: int | np.ndarray, bands: int | str) -> Self:
        """Return the map for samples with these sums and sums of squares.

        Parameters
        ----------
        stats : ClassStats
            With ``second="total"``.
        head : int or ndarray of int
            h, at most; all features if there are fewer. Or which features they are.
        bands : int or "auto"
            g, at most. "auto" is 256 divided by the number of classes, at least 4.

        Notes
        -----
        **Cost** for c classes: O(c^2 d). Memory: 12 bytes for each class sum of a feature in a band
        that is not zero.
        """
        d, live = stats.n_features, stats.counts > 0
        n_classes = int(live.sum())
        energy = np.array(stats.squares)
        best = head if isinstance(head, np.ndarray) else most_scattered(stats, head)
        in_head = np.zeros(d, dtype=bool)
        in_head[best] = True
        tail = np.flatnonzero(~in_head & (energy > 0))
        room = MOST - 1 - len(best)
        if bands == "auto":
            bands = max(_FEWEST_BANDS, _COORDINATES // max(1, n_classes))
        g = min(int(bands), len(tail), room)
        band = np.full(d, -1, dtype=np.int32)
        if g:
            tail = tail[np.argsort(-_coarse(energy[tail]), kind="stable")]
            share = np.cumsum(energy[tail]) - energy[tail] / 2
            share *= g / energy[tail].sum()
            band[tail] = np.clip(np.floor(share + _JUST_BELOW), 0, g - 1)
        ends, codes, sums, products = _class_sums(stats, live, band, g)
        of_bands = np.bincount(band[band >= 0], energy[band >= 0], g)
        rounding = _CANCELLED * np.sqrt(of_bands)[:, None] * np.sqrt(stats.counts[live])
        mix, sizes = _bases(products, rounding, room // max(1, g))
        return cls(band, np.flatnonzero(in_head), ends, codes, sums, mix, sizes)

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return len(self.band)

    @property
    def n_coordinates(self) -> int:
        """The number of columns of P."""
        return int(self.first[-1])

    @property
    def width(self) -> int:
        """The number of coordinates of samples."""
        return self.n_coordinates + 1

    @property
    def n_filled(self) -> int:
        """The number of coordinates that few samples lack: those of the bands, and the length."""
        return self.width - len(self.head)

    def n_samples_at_once(self, X: Any) -> int:
        """Return how many of these samples to map at a time."""
        n, d = X.shape
        entries = (X.nnz // max(1, n) if sparse.issparse(X) else d) + self.n_filled
        return max(1, _ENTRIES_AT_ONCE // entries)

    def mapped(self, X: Any, weight: float, keep: bool) -> tuple[sparse.csr_array, ToKeep | None]:
        """Return the coordinates of samples, and with `keep` what to keep of them."""
        X = sparse.csr_array(X)
        found = self.coordinates(X)
        # hashes of coordinates would depend on rounding
        return found, ToKeep(found, hashes(X)) if keep else None

    def coordinates(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return samples in coordinates, of shape (n_samples, width)."""
        X = canonical(X)
        n, c = X.shape[0], self.mix.shape[1]
        if not compiled_pays(X.nnz + n * self.mix.size):
            return sparse.csr_array(self._folded(X), shape=(n, self.width))
        from narrows.solve.kernels import fold_rows

        most = X.nnz + n * self.n_filled
        indptr, indices, data = np.empty(n + 1, np.int64), np.empty(most, np.int32), np.empty(most)
        raw, touched = np.zeros((len(self.sizes), c)), np.zeros(len(self.sizes), dtype=bool)
        fold_rows(
            X.indptr, X.indices, X.data, self._place, self.ends, self.codes, self.sums, self.mix,
            self.first, raw, touched, indptr, indices, data,
        )  # fmt: skip
        used = int(indptr[-1])
        parts = data[:used], indices[:used], indptr.astype(np.int32)
        return sparse.csr_array(parts, shape=(n, self.width))

    def _folded(self, X: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what the compiled loop `fold_rows` writes, summed in its order."""
        n, (g, c, r) = X.shape[0], self.mix.shape
        row = np.repeat(np.arange(n), np.diff(X.indptr))
        place, x = self._place[X.indices], X.data.astype(np.float64)
        head, tail = place >= 0, place < NOWHERE
        square, kept = np.zeros(n), np.zeros(n)
        np.add.at(square, row, x**2)
        np.add.at(kept, row[head], x[head] ** 2)
        at, features = row[tail] * g - 2 - place[tail], X.indices[tail]
        lengths = np.diff(self.ends)[features]
        parts = ranges(self.ends[features], lengths)
        raw = np.bincount(
            np.repeat(at, lengths) * c + self.codes[parts],
            np.repeat(x[tail], lengths) * self.sums[parts],
            n * g * c,
        ).reshape(n, g, c)
        coordinates = np.zeros((n, g, r))
        for j in range(c):
            coordinates += raw[:, :, j, None] * self.mix[:, j]
        touched = np.bincount(at, minlength=n * g).reshape(n, g, 1) > 0
        in_band = np.nonzero(touched & (np.arange(r) < self.sizes[:, None]))
        values = coordinates[in_band]
        np.add.at(kept, in_band[0], values**2)
        left = np.flatnonzero(square - kept > _CANCELLED * square)
        last = np.full(len(left), self.n_coordinates)
        rows = np.concatenate([row[head], in_band[0], left])
        columns = np.concatenate([place[head], self.first[in_band[1]] + in_band[2], last])
        data = np.concatenate([x[head], values, np.sqrt((square - kept)[left])])
        order = np.argsort(rows, kind="stable")
        ends = np.append(0, np.cumsum(np.bincount(rows, minlength=n)))
        return data[order], columns[order].astype(np.int32), ends.astype(np.int32)

    def directions(self, U: np.ndarray) -> np.ndarray:
        """Return P U, of shape (n_features, p)."""
        W = np.zeros((self.n_features, U.shape[1]))
        W[self.head] = U[: len(self.head)]
        for b, size in enumerate(self.sizes):
            weights = self.mix[b, :, :size] @ U[self.first[b] : self.first[b + 1]]
            columns = np.flatnonzero(self.band == b)
            W[columns] = self._of_class_sums(columns) @ weights
        return W

    def _of_class_sums(self, columns: np.ndarray) -> sparse.csr_array:
        """Return the class sums of features, of shape (number of features, n_classes)."""
        shape = self.n_features, self.mix.shape[1]
        return sparse.csr_array((self.sums, self.codes, self.ends), shape=shape)[columns]

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features, which are left out."""
        more = n_features - self.n_features
        band = np.append(self.band, np.full(more, -1, np.int32))
        ends = np.append(self.ends, np.full(more, self.ends[-1]))
        return type(self)(band, self.head, ends, self.codes, self.sums, self.mix, self.sizes)

    def mean(self, stats: Any) -> np.ndarray:
        """Return the mean of the samples, as far as the map keeps it."""
        return self.directions(stats.mean[: self.n_coordinates, None])[:, 0]

    def mean_square(self, stats: Any) -> float:
        """Return the mean squared length of samples, less that of their mean."""
        return float(stats.mean_square()) + float(np.square(stats.mean[-1]))

    def scatter(self, S: Scatter) -> Scatter:
        """Return the scatters to solve for, from those of the coordinates."""
        for of_length in (S.C[-1], S.H[:, -1], S.m[-1:]):
            of_length[:] = 0.0  # outside of the span of the samples, so that no direction has it
        return replace(S, basis=self.directions, place=partial(_placed, S.m))

    def feature(self, coordinate: int) -> int | None:
        """Return the feature that a coordinate is, or None where it is of many."""
        return int(self.head[coordinate]) if coordinate < len(self.head) else None

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the map as named arrays."""
        return {name: vars(self)[name.removeprefix("map_")] for name in _BANDS_SCHEMA}

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the map that `to_arrays` described."""
        checked(arrays, _BANDS_SCHEMA, _BANDS_RULES)
        return cls(**{n.removeprefix("map_"): np.array(arrays.pop(n)) for n in _BANDS_SCHEMA})


def _placed(m: np.ndarray, X: sparse.csr_array) -> np.ndarray:
    """Return coordinates of samples less the mean, without the length of what is left out."""
    found: np.ndarray = X.toarray() - m
    found[:, -1] = 0.0
    return found


def most_scattered(stats: ClassStats, most: int) -> np.ndarray:
    """Return the features with the largest scatter of the class means, best first."""
    p, score, energy = stats.priors(), np.zeros(stats.n_features), np.array(stats.squares)
    for columns, D in stats.deviations(p):
        score[columns] = weighted(p[p > 0], D**2)
    score[score <= _CANCELLED**2 * energy / max(stats.n, 1e-300)] = 0.0
    return np.argsort(-_coarse(score), kind="stable")[: min(most, MOST - 1)]


def _coarse(values: np.ndarray) -> np.ndarray:
    """Return numbers without their last digits, which depend on the order of the samples."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS)


def _class_sums(
    stats: ClassStats, live: np.ndarray, band: np.ndarray, g: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `ends`, `codes` and `sums`, and the products of the class sums in each band."""
    c, d = int(live.sum()), len(band)
    lengths, codes, sums = np.zeros(d, np.int64), [], []
    products = np.zeros((g, c, c))
    for columns, S in stats.class_sums():
        S = S * (band[columns] >= 0)
        of_features = sparse.csr_array(S.T)
        lengths[columns] = np.diff(of_features.indptr)
        codes.append(of_features.indices.astype(np.int32))
        sums.append(of_features.data)
        for b in np.unique(band[columns]):
            if b >= 0:
                some = S[:, band[columns] == b]
                products[b] += some @ some.T
    every = np.concatenate([*codes, []]).astype(np.int32)
    return np.append(0, np.cumsum(lengths)), every, np.concatenate([*sums, []]), products


def _bases(products: np.ndarray, rounding: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `mix` and `sizes`, with at most so many columns in each band.

    Class sums of a length of at most `rounding` count as zero.
    """
    g, c, _ = products.shape
    mix, sizes = np.zeros((g, c, min(c, most))), np.zeros(g, np.int64)
    for b, K in enumerate(products):
        size = np.sqrt(K.diagonal())
        size[size <= rounding[b]] = 0.0
        unit = np.divide(1.0, size, out=np.zeros(c), where=size > 0)
        spread, U = linalg.eigh(unit[:, None] * K * unit)
        kept = np.flatnonzero(spread > _ALIKE * spread[-1])[::-1][:most]
        sizes[b] = len(kept)
        mix[b, :, : len(kept)] = unit[:, None] * U[:, kept] / np.sqrt(spread[kept])
    return mix[:, :, : int(sizes.max(initial=0))], sizes


def _in_order(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    ends, head, codes = arrays["map_ends"], arrays["map_head"], arrays["map_codes"]
    band, g = arrays["map_band"], sizes["g"]
    return bool(
        ends[0] == 0
        and ends[-1] == sizes["t"]
        and (np.diff(ends) >= 0).all()
        and (not len(head) or (head[0] >= 0 and head[-1] < sizes["d"]))
        and (band[head] < 0).all()
        and band.max(initial=-1) < g
        and (not len(codes) or (codes.min() >= 0 and codes.max() < sizes["c"]))
        and (arrays["map_sizes"] <= sizes["r"]).all()
        and len(head) + int(arrays["map_sizes"].sum()) < MOST
    )


_BANDS_RULES = (Check("features and classes of the map that there are", _in_order),)


# -- random features --------------------------------------------------------------------------


class RandomFeatures(KernelMap, Map):
    """The map to random functions of samples; see `KernelMap`."""

    marker = "map_seed"
    by_samples = True

    @property
    def kept_width(self) -> int:
        """The number of features, or coordinates, that are kept of samples."""
        return self.n_features

    def mapped(self, X: Any, weight: float, keep: bool) -> tuple[np.ndarray, ToKeep | None]:
        """Return the coordinates of samples, and with `keep` what to keep of them."""
        # in double precision: small ridges need all digits of the products
        return self.coordinates(X.astype(np.float64)), ToKeep(X, hashes(X)) if keep else None

    def coordinates_of_kept(self, X: Any) -> np.ndarray:
        """Return the coordinates of kept samples."""
        return self.coordinates(X)

    def mean(self, stats: Any) -> np.ndarray:
        """Return the mean of the samples, as far as the map keeps it."""
        scale = 1.0 if self.scale is None else self.scale
        return self.centre + np.asarray(stats.mean[self.n_hidden :]) / self.unit * scale

    def feature(self, coordinate: int) -> int | None:
        """Return the feature that a coordinate is, or None where it is of many."""
        return coordinate - self.n_hidden if coordinate >= self.n_hidden else None

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features."""
        raise ValueError(
            f"ClassStats: expected samples with {self.n_features} features, got {n_features}, "
            "which the map of a kernel does not know. Fit again."
        )
