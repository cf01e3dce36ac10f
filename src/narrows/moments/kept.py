"""A few of the samples themselves, for questions that sums do not answer, such as held-out ones.

Those with the smallest hashes are kept. So which ones does not depend on batches, order or merging.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.moments.batch import Batch
from narrows.moments.moment import Shift
from narrows.solve.schema import FINITE, MOST, Check, Field, between
from narrows.solve.sums import blocks, canonical, widened

_BLOCK = 1 << 18  # numbers that are hashed at a time
_LAST = np.uint64(2**64 - 1)
_SCHEMA = {
    "kept": Field("i8", (), between(0, MOST)),
    "kept_bound": Field("u8"),
    "kept_keys": Field("u8", ("q",)),
    "kept_code": Field("i8", ("q",), between(0, "c")),
    "kept_weight": Field("f8", ("q",), FINITE),
    "kept_indptr": Field("i8", ("q+1",), between(0, MOST)),
    "kept_indices": Field("i8", ("e",), between(0, "d")),
    "kept_data": Field("f8", ("e",), FINITE),
}


class Samples(NamedTuple):
    """Some samples, in the order of their hashes."""

    X: sparse.csr_array
    code: np.ndarray  # the number of the class of each
    weight: np.ndarray
    keys: np.ndarray


class Kept:
    """The samples with the smallest hashes, of those that were learned.

    All samples with a hash of at most `bound` are kept; equal ones count as one of more weight.

    Parameters
    ----------
    n_features : int
        The number of features.
    most : int
        The number of samples to keep.
    """

    names: ClassVar[tuple[str, ...]] = ("kept",)
    separable: ClassVar[bool] = False

    def __init__(self, n_features: int, most: int):
        self.most, self.bound = most, _LAST
        none = np.empty(0, np.int64)
        X = sparse.csr_array((0, n_features))
        self.samples = Samples(X, none, np.empty(0), np.empty(0, np.uint64))

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        X = self.samples.X
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + 24 * X.shape[0])

    def update(self, batch: Batch) -> None:
        """Add samples; `batch.undo` notes what changes."""
        if batch.undo is not None:
            batch.undo.attributes(self)
        Y = sparse.coo_array(batch.Y)
        row, column = Y.coords
        counted = Y.data > 0
        row, column, weight = row[counted], column[counted], Y.data[counted]
        keys = _mixed(_hashes(batch.X)[row] + batch.label_hashes[column])
        some = np.flatnonzero(keys <= self.bound)
        if len(some) > self.most:
            some = some[np.argpartition(keys[some], self.most - 1)[: self.most]]
            some = np.flatnonzero(keys <= keys[some].max())
        X = sparse.csr_array(batch.X[row[some]], dtype=np.float64)
        if batch.presence:
            X.data = (X.data != 0).astype(np.float64)
        self._take(Samples(X, batch.row[column[some]], weight[some], keys[some]))

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times the weights of others; its class j has the number row[j]."""
        self.bound = min(self.bound, other.bound)
        X, code, weight, keys = other.samples
        self._take(Samples(X, row[code], sign * weight, keys))

    def _take(self, more: Samples) -> None:
        """Keep the samples of least hash, of those kept and these."""
        a = self.samples
        X = sparse.vstack([a.X, more.X], format="csr") if more.X.shape[0] else a.X
        keys = np.concatenate([a.keys, more.keys])
        code, weight = np.append(a.code, more.code), np.append(a.weight, more.weight)
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        weight = np.bincount(which, weight, len(distinct))
        kept = (distinct <= self.bound) & (weight > 1e-12 * np.abs(weight).max(initial=0.0))
        if kept.sum() > self.most:
            self.bound = distinct[kept][self.most - 1]
            kept &= distinct <= self.bound
        chosen = first[kept]
        self.samples = Samples(X[chosen], code[chosen], weight[kept], distinct[kept])

    def clear(self, row: np.ndarray, empty: bool) -> None:
        """Remove the samples of classes that are gone."""
        left = ~np.isin(self.samples.code, row)
        if not left.all():
            X, code, weight, keys = self.samples
            self.samples = Samples(X[left], code[left], weight[left], keys[left])

    def shifted(self, shift: Shift) -> Self:
        """Return the same samples: they are not about an origin."""
        return self._like(self.samples)

    def scaled(self, weight: float) -> Self:
        """Return the samples with weights times a number."""
        return self._like(self.samples._replace(weight=self.samples.weight * weight))

    def spread(self, row: np.ndarray, n_classes: int) -> Self:
        """Return the samples with other numbers of their classes."""
        return self._like(self.samples._replace(code=row[self.samples.code]))

    def widened(self, n_features: int) -> Self:
        """Return the samples with more features, which are 0."""
        return self._like(self.samples._replace(X=widened(self.samples.X, n_features)))

    def cut(self, columns: slice) -> Self:
        """Return some neighbouring features of the samples."""
        return self._like(self.samples._replace(X=self.samples.X[:, columns]))

    @classmethod
    def beside(cls, parts: Sequence[Self], in_memory: bool) -> Self:
        """Return the only part."""
        (part,) = parts
        return part._like(part.samples)

    def _like(self, samples: Samples) -> Self:
        new = type(self)(samples.X.shape[1], self.most)
        new.bound, new.samples = self.bound, samples
        return new

    def check_finite(self) -> None:
        """Do nothing: samples are finite."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays."""
        X, code, weight, keys = self.samples
        return {
            "kept": np.array(self.most),
            "kept_bound": np.array(self.bound),
            "kept_keys": keys,
            "kept_code": code.astype(np.int64),
            "kept_weight": weight,
            "kept_indptr": X.indptr.astype(np.int64),
            "kept_indices": X.indices.astype(np.int64),
            "kept_data": X.data,
        }

    @classmethod
    def schema(cls, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Field], tuple[Check, ...]]:
        """Return the schema of its arrays, and rules."""
        return _SCHEMA, (Check("samples in their order", _is_csr),)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_features: int) -> Self:
        """Return the moment of `to_arrays`, which fits `schema`."""
        new = cls(n_features, int(arrays["kept"]))
        new.bound = np.uint64(arrays["kept_bound"])
        data, indices, indptr = (
            np.array(arrays[f"kept_{k}"]) for k in ("data", "indices", "indptr")
        )
        X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features))
        rest = (np.array(arrays[f"kept_{k}"]) for k in ("code", "weight", "keys"))
        new.samples = Samples(X, *rest)
        return new


def label_hashes(classes: np.ndarray) -> np.ndarray:
    """Return a hash of each label, the same for equal labels of any type."""
    words = [repr(label).encode("utf-8", "surrogatepass") for label in classes.tolist()]
    return _mixed(np.array([zlib.crc32(word) for word in words], np.uint64))


def _hashes(X: Any) -> np.ndarray:
    """Return a hash of each sample; zeros do not count, and sparse ones have that of dense ones."""
    from narrows.solve.kernels import hash_entries

    if sparse.issparse(X):
        X = canonical(X)
        bits = (X.data.astype(np.float64) + 0.0).view(np.uint64)
        return hash_entries(X.indptr, X.indices, bits)
    found, d = np.empty(len(X), np.uint64), X.shape[1]
    columns = np.arange(d)
    for rows in blocks(len(X), max(1, _BLOCK // max(1, d))):
        part = X[rows].astype(np.float64) + 0.0
        ends = np.arange(0, part.size + 1, max(1, d)) if d else np.zeros(len(part) + 1, np.int64)
        found[rows] = hash_entries(ends, np.tile(columns, len(part)), part.view(np.uint64).ravel())
    return found


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Return other numbers, each bit of which depends on all bits (splitmix64)."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _is_csr(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    indptr, keys = arrays["kept_indptr"], arrays["kept_keys"]
    ends = indptr[0] == 0 and indptr[-1] == sizes["e"] and bool((np.diff(indptr) >= 0).all())
    return ends and bool((keys[1:] > keys[:-1]).all()) and len(keys) <= int(arrays["kept"])
