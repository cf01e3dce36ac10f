"""The parts of an AnnData that both functions read: values, groups, and estimators by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, did_you_mean
from narrows.methods._parameters import check, is_integer
from narrows.methods.methods import METHODS
from narrows.io.formats import h5ad
from narrows.solve.sums import blocks


class Data(NamedTuple):
    """A matrix of an AnnData, in memory, or in a file that is read in chunks."""

    X: Any
    in_memory: bool = True

    @property
    def n_features(self) -> int:
        """The number of genes, or of columns of a representation."""
        return int(self.X.shape[1])

    def chunks(self, size: int) -> Iterator[tuple[slice, Any]]:
        """Yield ranges of cells and their values."""
        if self.in_memory:
            yield from ((rows, self.X[rows]) for rows in blocks(self.X.shape[0], size))
            return
        start = 0
        for X in self.X.chunks(0, size):
            yield slice(start, start + X.shape[0]), X
            start += X.shape[0]


@dataclass
class Labelled:
    """The cells that have a group, in chunks, which can be iterated again and again."""

    data: Data
    code: np.ndarray
    classes: np.ndarray
    size: int

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        for rows, X in self.data.chunks(self.size):
            has = self.code[rows] >= 0
            if has.any():
                yield X if has.all() else X[has], self.classes[self.code[rows][has]]


def matrix_of(adata: Any, layer: str | None, who: str) -> Data:
    """Return the values of cells; `adata` may be `adata.raw`."""
    if layer is not None:
        check_known(who, "layer", layer, list(adata.layers))
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ParameterError(f"{who}: expected adata.X, got None. Name a layer.")
    stored = getattr(X, "group", X)  # of a sparse matrix in a file
    if type(stored).__module__.startswith("h5py"):
        return Data(h5ad.stored_matrix(stored, str(stored.file.filename)), in_memory=False)
    return Data(sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X))


def groups_of(adata: Any, key: str, who: str) -> tuple[np.ndarray, Any]:
    """Return the number of each cell's group, -1 where it has none, and the groups."""
    if not hasattr(adata, "obs"):
        got = type(adata).__name__
        raise TypeError(f"{who}: expected an AnnData, got {got}. Use estimators for arrays.")
    check_known(who, "key", key, list(adata.obs))
    column = adata.obs[key].astype("category").cat
    return np.asarray(column.codes, dtype=np.intp), column.categories


def estimator_of(method: Any, who: str, kind: type, others: Sequence[str] = ()) -> Any:
    """Return the estimator of a name."""
    known = {n.lower(): each for n, each in METHODS.items() if issubclass(each, kind)}
    check_known(who, "method", method, [*others, *known])
    return known[method]()


def check_numbers(who: str, **given: int | None) -> None:
    """Raise ParameterError where a number is neither an integer >= 1 nor None."""
    for name, value in given.items():
        check(who, name, value, value is None or is_integer(value, 1), "an integer >= 1")


def copied(adata: Any, who: str) -> Any:
    """Return a copy; ParameterError where that would be a file."""
    if adata.isbacked:
        raise ParameterError(f"{who}: expected copy=False for a backed AnnData, got True.")
    return adata.copy()


def check_known(who: str, what: str, value: Any, known: Sequence[Any]) -> None:
    """Raise ParameterError where a name is unknown."""
    if value not in known:
        hint = did_you_mean(str(value), map(str, known)) if known else "There is none."
        raise ParameterError(f"{who}: expected a known {what}, got {value!r}. {hint}")
