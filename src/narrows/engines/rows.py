"""Rows that stay on the workers of a cluster, known by products."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.engines.features import Features
from narrows.engines.tree import Part
from narrows.moments.labels import joined, one_a_row, weights
from narrows.moments.stats import ClassStats, checked_rows
from narrows.solve.centred import Centred, triangle
from narrows.solve.lsqr import Product
from narrows.solve.sums import stacked, widened

_AT_ONCE = 8  # products that one task adds up


class Rows(NamedTuple):
    """Rows with one label each and a weight, and their features."""

    X: Any
    labels: np.ndarray
    weight: np.ndarray
    features: Features


def kept(client: Any, thing: Any) -> Any:
    """Return the future of a thing on the workers, which is sent again where its worker dies.

    What is scattered would be lost.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(_itself, thing, pure=False)


def _itself(thing: Any) -> Any:
    return thing


def rows_of(
    chunks: Iterable[tuple[Any, ...]], who: str
) -> tuple[Any, np.ndarray, np.ndarray] | None:
    """Return (X, one label a row, weights) of all chunks; None if there are none."""
    parts = []
    for X, y, *weight in chunks:
        X = checked_rows(X, who)
        classes, codes = one_a_row(X, y, who)
        parts.append((X, classes[codes], weights(weight[0] if weight else None, len(codes), who)))
    if not parts:
        return None
    return (
        stacked([X for X, _, _ in parts]),
        joined([labels for _, labels, _ in parts]),
        np.concatenate([weight for _, _, weight in parts]),
    )


def stats_of_rows(rows: Rows | None) -> Part:
    """Return the sums of the rows by class."""
    return Part(ClassStats(0)) if rows is None else Part(ClassStats.of(*rows[:3]), rows.features)


class SpreadRows(Centred):
    """`Centred` of rows that are in parts on the workers.

    Products are made there; what has an entry for each row, and what has one for each column, is
    here.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    held : list of futures
        Of `Rows`, or None.
    stats : ClassStats
        Their sums.
    """

    def __init__(self, client: Any, held: list[Any], stats: ClassStats):
        live = stats.counts > 0
        self.client, self.unit = client, 1.0
        self.power = self.weight_power = 0
        classes, mean = stats.classes[live], stats.mean
        self._between: np.ndarray
        about = kept(client, (classes, mean))
        self.parts = [client.submit(_part, rows, about, pure=False) for rows in held]
        facts = client.gather([client.submit(_facts, part, pure=False) for part in self.parts])
        codes, root, lengths, largest, is_sparse = zip(*facts, strict=True)
        kinds = {kind for kind, part in zip(is_sparse, codes, strict=True) if len(part)}
        self.is_sparse, self._alike = True in kinds, len(kinds) < 2
        self.largest = max(largest)
        self.codes, self.root = np.concatenate(codes), np.concatenate(root)
        self.n, self.counts = stats.n, stats.counts[live]
        self.m = mean if self.is_sparse else np.zeros_like(mean)
        self.length = float(np.linalg.norm(lengths))
        self._stops = np.cumsum([len(each) for each in codes])
        self._start(mean, np.square(self.root).max(initial=0.0))
        prior = stats.priors()
        self._between = np.empty((len(classes), stats.n_features))
        for columns, D in stats.deviations(prior):
            self._between[:, columns] = np.sqrt(self.counts)[:, None] * D

    def largest_in(self) -> int:
        """Return a column that holds the largest magnitude of the part that has it."""
        sizes = self._of_each(_largest)
        part = self.parts[int(np.argmax(sizes))]
        return int(self.client.submit(Centred.largest_in, part, pure=False).result())

    def over(self, unit: float) -> SpreadRows:
        """Return the same divided by a number."""
        new = copy(self)
        new.unit, new.root = self.unit * unit, self.root / unit
        return new

    def between(self) -> np.ndarray:
        """E'A, of shape (c, d)."""
        return self._between / self.unit

    @cached_property
    def X(self) -> Any:
        """The rows themselves, brought here; for few of them."""
        self._check_alike()
        parts = self.client.gather(self.parts)
        return stacked([part.X for part in parts if len(part.codes)])

    def triangle(self) -> np.ndarray:
        """What has the scatter A'A, with no more rows than columns."""
        parts = [part for part in self._of_each(Centred.triangle) if len(part)]
        return triangle(np.vstack(parts)) / self.unit

    def square(self) -> np.ndarray:
        """The weighted X'X, of shape (d, d)."""
        self._check_alike()
        return self._added(self._begun(Centred.square)) / self.unit**2

    def _check_alike(self) -> None:
        if not self._alike:
            raise ValueError(
                "narrows.engines.dask: some parts are dense and some sparse, of which only "
                "products can be made. Give all in one form."
            )

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        there = kept(self.client, np.ascontiguousarray(V))
        rows = self._of_each(Centred._matmat, [there] * len(self.parts))
        return np.concatenate(rows) / self.unit

    def _rmatmat(self, Z: np.ndarray) -> np.ndarray:
        return self._added(self._begun(Centred._rmatmat, np.split(Z, self._stops[:-1]))) / self.unit

    def _matvec(self, v: np.ndarray) -> np.ndarray:
        return self._matmat(v.reshape(-1, 1))[:, 0]

    def _rmatvec(self, z: np.ndarray) -> np.ndarray:
        return self._rmatmat(z.reshape(-1, 1))[:, 0]

    def products(self) -> tuple[Product, Product]:
        """What makes A V and A'U, in the place of a second array."""
        return (
            lambda V, out: np.copyto(out, self._matmat(V)),
            lambda U, out: np.copyto(out, self._rmatmat(U)),
        )

    def _begun(self, method: Callable[..., Any], *args: list[Any]) -> list[Any]:
        """The futures of what a method of each part gives."""
        return [
            self.client.submit(method, *each, pure=False)
            for each in zip(self.parts, *args, strict=True)
        ]

    def _of_each(self, method: Callable[..., Any], *args: list[Any]) -> list[Any]:
        return self.client.gather(self._begun(method, *args))

    def _added(self, futures: list[Any]) -> np.ndarray:
        """The sum of what is on the workers, a few at a time."""
        while len(futures) > 1:
            few = [futures[k : k + _AT_ONCE] for k in range(0, len(futures), _AT_ONCE)]
            futures = [self.client.submit(sum, each, pure=False) for each in few]
        return futures[0].result()


def _part(rows: Rows | None, about: tuple[np.ndarray, np.ndarray]) -> Centred:
    classes, mean = about
    if rows is None:
        X: Any = sparse.csr_array((0, len(mean)))
        labels, weight = classes[:0], np.empty(0)
    else:
        X, labels, weight, _ = rows
        X, labels, weight = X[weight > 0], labels[weight > 0], weight[weight > 0]
    return Centred(widened(X, len(mean)), np.searchsorted(classes, labels), weight, mean)


def _largest(part: Centred) -> float:
    return part.largest


def _facts(part: Centred) -> tuple[Any, ...]:
    """What is known here of the rows of a part."""
    return part.codes, part.root, part.length, part.largest, part.is_sparse
