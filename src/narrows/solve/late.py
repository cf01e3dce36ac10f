"""SciPy's sparse matrices, imported when they are first used: that takes as long as NumPy."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse as sparse
else:

    class _Sparse:
        """The module ``scipy.sparse``, of which each name is looked up once."""

        def __getattr__(self, name: str) -> Any:
            from scipy import sparse

            vars(self).update({"issparse": sparse.issparse, name: getattr(sparse, name)})
            return vars(self)[name]

        def issparse(self, X: Any) -> bool:
            """Whether X is sparse, which nothing is before the import."""
            return "scipy.sparse" in sys.modules and self.__getattr__("issparse")(X)

    sparse = _Sparse()


class Rows:
    """Samples to multiply, without SciPy: the parts of a CSR array, which does anything else.

    Parameters
    ----------
    parts : (ndarray, ndarray, ndarray)
        Its `data`, `indices` and `indptr`.
    shape : (int, int)
        Of the samples.
    """

    ndim = 2

    def __init__(self, parts: tuple[np.ndarray, np.ndarray, np.ndarray], shape: tuple[int, int]):
        self.data, self.indices, self.indptr = parts
        self.shape = shape

    @property
    def dtype(self) -> np.dtype:
        """The type of values."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """The number of values."""
        return len(self.data)

    def resize(self, *shape: int) -> None:
        """Change the number of features; none of those with values is left out."""
        self.shape = shape[0], shape[1]

    def astype(self, dtype: Any, copy: bool = True) -> Rows:
        """Return the samples in another type."""
        return Rows((self.data.astype(dtype, copy=copy), self.indices, self.indptr), self.shape)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product, each sum in the order of the values, as SciPy's."""
        out = np.zeros((self.shape[0], V.shape[1]), np.result_type(self.dtype, V.dtype))
        for k, (first, stop) in enumerate(pairwise(self.indptr.tolist())):
            if first < stop:
                terms = self.data[first:stop, None] * V[self.indices[first:stop]]
                out[k] += np.cumsum(terms, axis=0, dtype=out.dtype)[-1]
        return out

    def csr(self) -> sparse.csr_array:
        """Return SciPy's array."""
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.csr(), name)

    def __getitem__(self, where: Any) -> Any:
        return self.csr()[where]


def has_parts(X: Any) -> bool:
    """Whether X is sparse, or `Rows`."""
    return isinstance(X, Rows) or sparse.issparse(X)
