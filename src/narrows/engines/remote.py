"""Samples that stay on the workers of a cluster, known by products with them."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import repeat
from operator import add, attrgetter
from typing import Any

import numpy as np
from scipy import sparse

from narrows.engines.engine import Engine, Function
from narrows.engines.learn import PartSamples
from narrows.solve.exact import Centred, Product
from narrows.solve.sums import canonical, stacked, widened
from narrows.state.class_stats import ClassStats


class RemoteSamples(Centred):
    """`Centred` of samples that are in parts on the workers.

    Products are made there; what has an entry for each sample, and what has one for each feature,
    is in this process.

    Parameters
    ----------
    engine : Engine
        The cluster.
    samples : list of results
        Of `PartSamples`, or None.
    stats : ClassStats
        Their class sums.
    """

    def __init__(self, engine: Engine, samples: list[Any], stats: ClassStats):
        live = stats.counts > 0
        self.engine, self.unit = engine, 1.0
        self.power = self.weight_power = 0
        classes, mean = stats.classes[live], stats.mean
        about = engine.broadcast((classes, mean))
        self.parts = engine.map(_centre, samples, repeat(about))
        codes, root, lengths, squares, largest, is_sparse = zip(*self._of_each(_facts), strict=True)
        kinds = {kind for kind, part in zip(is_sparse, codes, strict=True) if len(part)}
        self.is_sparse, self._alike = True in kinds, len(kinds) < 2
        self.largest = max(largest)
        self.codes, self.root = np.concatenate(codes), np.concatenate(root)
        self.n, self.counts = stats.n, stats.counts[live]
        self.mean = mean
        self.m = mean if self.is_sparse else np.zeros_like(mean)
        self.length, self.squares = float(np.linalg.norm(lengths)), float(sum(squares))
        self._stops = np.cumsum([len(each) for each in codes])
        self._start(mean, np.square(self.root).max(initial=0.0))
        prior = stats.priors()
        self._between = np.empty((len(classes), stats.n_features))
        for columns, D in stats.deviations(prior):
            self._between[:, columns] = np.sqrt(self.counts)[:, None] * D

    def largest_in(self) -> int:
        """Return a feature that holds the largest magnitude of the part that has it."""
        part = self.parts[int(np.argmax(self._of_each(attrgetter("largest"))))]
        return int(self.engine.collect(self.engine.map(Centred.largest_in, [part]))[0])

    def over(self, unit: float) -> RemoteSamples:
        """Return the same divided by a number."""
        new = copy(self)
        new.unit, new.root = self.unit * unit, self.root / unit
        return new

    def between(self) -> np.ndarray:
        """E'A, of shape (n_classes, n_features)."""
        return self._between / self.unit

    @cached_property
    def X(self) -> Any:
        """The samples themselves, collected in this process; for few of them."""
        self._check_alike()
        parts = self.engine.collect(self.parts)
        return stacked([part.X for part in parts if len(part.codes)])

    def square(self) -> np.ndarray:
        """The weighted X'X, of shape (n_features, n_features)."""
        self._check_alike()
        return self._sum(Centred.square) / self.unit**2

    def _check_alike(self) -> None:
        if not self._alike:
            raise ValueError(
                f"{self.engine.name}: expected all parts dense or all sparse, got some of each. "
                "Convert them to one form; only SRDA takes both."
            )

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        V = self.engine.broadcast(np.ascontiguousarray(V))
        return np.concatenate(self._of_each(Centred._matmat, repeat(V))) / self.unit

    def _rmatmat(self, Z: np.ndarray) -> np.ndarray:
        return self._sum(Centred._rmatmat, np.split(Z, self._stops[:-1])) / self.unit

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

    def _of_each(self, function: Function, *args: Any) -> list[Any]:
        """Return what a function gives for each part."""
        return self.engine.collect(self.engine.map(function, self.parts, *args))

    def _sum(self, function: Function, *args: Any) -> np.ndarray:
        """Return the sum of what a function gives for each part."""
        results = self.engine.map(function, self.parts, *args)
        return self.engine.collect([self.engine.reduce(add, results)])[0]


def _centre(samples: PartSamples | None, about: tuple[np.ndarray, np.ndarray]) -> Centred:
    classes, mean = about
    if samples is None:
        X: Any = sparse.csr_array((0, len(mean)))
        labels, weight = classes[:0], np.empty(0)
    else:
        X, labels, weight, _ = samples
        X, labels, weight = X[weight > 0], labels[weight > 0], weight[weight > 0]
    X = canonical(X) if sparse.issparse(X) else X
    return Centred(widened(X, len(mean)), np.searchsorted(classes, labels), weight, mean)


def _facts(part: Centred) -> tuple[Any, ...]:
    """Return what this process knows of the samples of a part."""
    sizes = part.length, part.squares, part.largest
    return part.codes, part.root, *sizes, part.is_sparse
