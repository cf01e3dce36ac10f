"""Arrays of other libraries on devices: sums and products where the samples are.

The only file that imports `array_api_compat`. Arrays in the memory of the CPU are read by NumPy
where they are; samples on other devices are summed there, in their own library, and only sums reach
NumPy.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

_CPU = (1, 3, 11)  # of DLPack's devices: the memory of the CPU, and what GPUs read of it
_AT_ONCE = 1 << 24  # numbers of samples, or of class indicators, that are converted at a time


def namespace(X: Any) -> Any:
    """Return the functions of an array of another library, by the array API standard.

    None for arrays of NumPy and all else, and unless scikit-learn's setting
    ``array_api_dispatch`` is on.
    """
    kind = type(X)
    if kind is np.ndarray or sparse.issparse(X) or not hasattr(kind, "__dlpack__"):
        return None
    from sklearn import get_config  # takes time to import

    if not get_config()["array_api_dispatch"]:
        return None
    import array_api_compat

    if isinstance(X, np.ndarray | np.generic) or not array_api_compat.is_array_api_obj(X):
        return None
    return array_api_compat.array_namespace(X)


def is_elsewhere(X: Any) -> bool:
    """Whether an array has a namespace, and is on a device whose memory NumPy does not read."""
    if namespace(X) is None:
        return False
    try:
        return X.__dlpack_device__()[0] not in _CPU
    except (ValueError, RuntimeError, BufferError):
        return True  # a device that DLPack does not know


def in_memory(X: Any) -> Any:
    """Return samples of a device as an array of NumPy, and others as they are."""
    return X.numpy() if isinstance(X, OnDevice) else X


def as_given(found: Any, X: Any) -> Any:
    """Return an array in the library and on the device of the samples that it was made of.

    Of samples without a `namespace`, it is returned as it is.
    """
    if isinstance(found, OnDevice):
        return found.array
    xp = namespace(X)
    if xp is None or not isinstance(found, np.ndarray):
        return found
    return xp.asarray(found, device=_device(X))


def to_cpu(array: Any) -> np.ndarray:
    """Return an array of any device as one of NumPy."""
    import array_api_compat

    xp = array_api_compat.array_namespace(array)
    if xp.isdtype(array.dtype, "real floating") and xp.finfo(array.dtype).bits < 32:
        array = xp.astype(array, xp.float32)  # NumPy has no bfloat16
    try:
        return np.from_dlpack(array, device="cpu", copy=True)
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError):
        return np.asarray(array_api_compat.to_device(array, "cpu"))


class OnDevice:
    """Samples on a device, or what was computed there of them; rows are taken as of an array.

    Parameters
    ----------
    array : array of shape (n_samples, n_features)
        float32 or float64, of a library that follows the array API standard.
    """

    def __init__(self, array: Any):
        self.array = array
        self._xp = namespace(array)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features."""
        n, d = self.array.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype:
        """The type of numbers, as NumPy has it."""
        return np.dtype(np.float32 if self.array.dtype == self._xp.float32 else np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> OnDevice:
        if isinstance(rows, slice):
            return OnDevice(self.array[rows, :])
        which = np.flatnonzero(rows) if rows.dtype == bool else rows
        return OnDevice(self._xp.take(self.array, self._here(which), axis=0))

    def numpy(self) -> np.ndarray:
        """Return them in the memory of the CPU."""
        return to_cpu(self.array)

    def columns(self, chosen: np.ndarray) -> OnDevice:
        """Return some of the features."""
        return OnDevice(self._xp.take(self.array, self._here(chosen), axis=1))

    def times(self, V: np.ndarray) -> OnDevice:
        """Return X V in the type of X, or of V if that is wider."""
        wide = self.array.dtype
        if V.dtype == np.float64 and self.dtype != np.float64:
            wide = self.widest
        V = self._xp.astype(self._here(V), wide, copy=False)
        parts = [
            self._xp.astype(self.array[rows, :], wide, copy=False) @ V
            for rows in self._blocks(V.shape[1])
        ]
        return OnDevice(parts[0] if len(parts) == 1 else self._xp.concat(parts))

    def __sub__(self, other: OnDevice | np.ndarray) -> OnDevice:
        """Return the difference, in the type of the samples."""
        less = other.array if isinstance(other, OnDevice) else self._here(other)
        return OnDevice(self.array - self._xp.astype(less, self.array.dtype, copy=False))

    # -- sums -----------------------------------------------------------------------------------

    def sums(
        self, T: Any, square_row: np.ndarray, m: int, origin: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return T'X about an origin, and sums of squares in m rows, of which `square_row` says.

        T is a csr_array of shape (n_samples, n_rows).
        """
        k, d = T.shape[1], self.shape[1]
        sums, squares = np.zeros((k, d)), np.zeros((m, d))
        for rows in self._blocks(k):
            X = self._centred(rows, origin)
            Y = T[rows]
            sums += self._product(Y.toarray(), X)
            if m:
                group = sparse.csr_array((np.ones(k), square_row, np.arange(k + 1)), shape=(k, m))
                squares += self._product((Y @ group).toarray(), X * X)
        return sums, squares

    def products(self, weight: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
        """Return the sum of w x x' of samples about an origin, of shape (n_features, n_features).

        The sum of the blocks is made on the device.
        """
        G: Any = None
        for rows in self._blocks(1):
            X = self._centred(rows, origin)
            w = self._xp.astype(self._here(weight[rows]), X.dtype, copy=False)
            more = self._xp.matrix_transpose(X * w[:, None]) @ X
            if more.dtype == self._xp.float32:  # blocks are added in float64
                more = to_cpu(more).astype(np.float64)
            G = more if G is None else G + more
        return G if isinstance(G, np.ndarray) else to_cpu(G)

    def largest(self) -> Any:
        """Return the largest magnitude; NaN if there is one."""
        if not len(self):
            return np.float64(0.0)
        X = self.array
        if self._xp.isdtype(X.dtype, "bool"):  # which have no magnitude
            X = self._xp.astype(X, self.widest)
        return np.float64(float(self._xp.max(self._xp.abs(X))))

    def astype(self, dtype: Any) -> OnDevice:
        """Return them as another type of their library."""
        return OnDevice(self._xp.astype(self.array, dtype, copy=False))

    @cached_property
    def widest(self) -> Any:
        """The library's float64 where the device has it, else its float32."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX, of float64 that is not enabled
            try:
                one = self._xp.ones(1, dtype=self._xp.float64, device=_device(self.array))
            except (TypeError, ValueError, RuntimeError):
                return self._xp.float32
        return one.dtype

    # -- inside ---------------------------------------------------------------------------------

    def _blocks(self, width: int) -> list[slice]:
        n, d = self.shape
        size = max(1, _AT_ONCE // max(1, d, width))
        return [slice(k, min(k + size, n)) for k in range(0, max(1, n), size)]

    def _centred(self, rows: slice, origin: np.ndarray | None) -> Any:
        """Return some samples about an origin, in the widest type."""
        X = self._xp.astype(self.array[rows, :], self.widest, copy=False)
        if origin is None:
            return X
        near = self._here(origin)  # rounded, where the device has float32 alone
        rest = origin - to_cpu(near)
        X = X - near
        return X - self._here(rest) if rest.any() else X

    def _product(self, T: np.ndarray, X: Any) -> np.ndarray:
        T = self._xp.astype(self._here(T), X.dtype, copy=False)
        return to_cpu(self._xp.matrix_transpose(T) @ X).astype(np.float64, copy=False)

    def _here(self, array: np.ndarray) -> Any:
        """Return an array of NumPy on the device."""
        array = np.ascontiguousarray(array)
        if array.dtype == np.float64 and self.widest == self._xp.float32:
            array = array.astype(np.float32)
        return self._xp.asarray(array, device=_device(self.array))


def _device(array: Any) -> Any:
    import array_api_compat

    return array_api_compat.device(array)


def checked(estimator: Any, X: Any, to_floats: bool, **options: Any) -> OnDevice:
    """Return samples on a device, whose shape fits an estimator; `to_floats` converts integers."""
    from sklearn.utils.validation import validate_data  # takes time to import

    X, xp = OnDevice(X), namespace(X)
    if xp.isdtype(X.array.dtype, "complex floating"):
        raise ValueError("Complex data not supported: expected real numbers in X.")
    if xp.isdtype(X.array.dtype, "real floating") and xp.finfo(X.array.dtype).bits < 32:
        X = X.astype(xp.float32)
    elif to_floats and xp.isdtype(X.array.dtype, ("integral", "bool")):
        X = X.astype(X.widest)
    return OnDevice(
        validate_data(estimator, X.array, dtype=None, ensure_all_finite=False, **options)
    )
