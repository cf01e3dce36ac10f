"""Vectors that were stored before a refit, and queries that come after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.studies.corpora import Split
from benchmarks.studies.embeddings import SHORT, embeddings, neighbours, spread
from benchmarks.tables import Table
from narrows import OC, PCA, SRDA, align
from narrows.evaluate import drift

DRAWS = range(5)  # of the samples or the classes of the first fit
FIRST = 2_000  # samples of a first fit


class EmbeddingsAlign:
    """Neighbours of new queries among vectors stored before a refit."""

    name = "embeddings_align"

    def table(self) -> Table:
        header = [
            "refit", "method", "largest angle", "old model for both", "new model for both",
            "stored by the old, queries by the new", "the same, aligned",
        ]  # fmt: skip
        rows = []
        for title, first in (("more samples", more_samples), ("five new classes", new_classes)):
            for name, made in refits(embeddings(), first).items():
                angles, *shares = np.array(made).T
                angle = f"{np.mean(angles):.0f} ± {np.std(angles, ddof=1):.0f} degrees"
                rows.append([title, name, angle, *map(spread, shares)])
        return Table(header, rows)


def more_samples(y: np.ndarray, seed: int) -> np.ndarray:
    """Return the samples of a first fit: some of all classes."""
    return np.random.default_rng(seed).permutation(len(y))[:FIRST]


def new_classes(y: np.ndarray, seed: int) -> np.ndarray:
    """Return the samples of a first fit: those of three quarters of the classes."""
    classes = np.unique(y)
    known = np.random.default_rng(seed).permutation(classes)[: 3 * len(classes) // 4]
    return np.flatnonzero(np.isin(y, known))


def refits(
    part: Split, first: Callable[[np.ndarray, int], np.ndarray]
) -> dict[str, list[tuple[float, ...]]]:
    """Return angles in degrees, and shares of neighbours of the same class, for each draw.

    The stored vectors are those of the first fit. Queries are samples held out, of its classes.
    The rotation of SRDA, which is not orthonormal, is a linear map fitted by least squares.
    """
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in DRAWS:
        rows = first(part.y, seed)
        X, y = part.X[rows], part.y[rows]
        asked = np.isin(part.y_test, np.unique(y))
        Q, q = part.X_test[asked], part.y_test[asked]
        p = len(np.unique(y)) - 1
        most = min(SHORT, X.shape[1])
        for method in (OC(n_components=p), SRDA(n_components=p), PCA(n_components=most)):
            old = type(method)(**method.get_params()).fit(X, y)
            new = method.fit(part.X, part.y)
            stored, after = old.transform(X), new.transform(Q)
            if isinstance(method, SRDA):
                R = np.linalg.lstsq(new.transform(X), stored)[0]
                aligned = after @ R
            else:
                aligned = align(new, old).transform(Q)
            shares = [
                float(np.mean(neighbours(Z, y, asks, 10) == q[:, None]))
                for Z, asks in ((stored, old.transform(Q)), (new.transform(X), after),
                                (stored, after), (stored, aligned))
            ]  # fmt: skip
            name = f"{type(method).__name__}({len(new.components_)})"
            angle = float(np.degrees(drift(new, old).max()))
            found.setdefault(name, []).append((angle, *shares))
    return found
