"""A thread pool on all available cores, for functions that release the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from threadpoolctl import ThreadpoolController


@cache
def cores() -> int:
    """Return the number of cores that this process may use.

    That is `OMP_NUM_THREADS` where it is set, as in each worker of a cluster; else what CPU
    affinity, the limits of a container, and `LOKY_MAX_CPU_COUNT` allow.
    """
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if given.isdecimal() and int(given):
        return int(given)
    import joblib  # takes time to import

    try:
        return joblib.cpu_count()
    except ValueError:  # LOKY_MAX_CPU_COUNT is not a number
        return os.cpu_count() or 1


Part = TypeVar("Part")
Answer = TypeVar("Answer")


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the pool of this process: starting new threads costs as much as their work."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(cores(), "narrows")


def map_on_cores(function: Callable[[Part], Answer], parts: Iterable[Part]) -> list[Answer]:
    """Return [function(part) for part in parts], computed on all cores.

    `parts` is consumed only one part ahead of the work. `function` must not call `each`.
    """
    source = iter(parts)
    first = list(islice(source, 2))
    if len(first) < 2:
        return [function(part) for part in first]
    from concurrent.futures import wait

    running: deque[Future[Answer]] = deque()
    answers: list[Answer] = []
    try:
        for part in chain(first, source):
            if len(running) > cores():
                answers.append(running[0].result())
                running.popleft()
            running.append(_threads().submit(function, part))
        return answers + [future.result() for future in running]
    finally:  # after an error, too, no thread continues in the background
        for future in running:
            future.cancel()
        wait(running)


SMALL = 2_000  # rows of a square array: for fewer, several threads of BLAS do not pay


@cache
def _blas() -> ThreadpoolController:
    """Return the BLAS libraries of this process: to look for them takes time."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


_counting = Lock()
_n_small = 0  # blocks of `one_blas_thread` that threads are in
_limited: Any = None


def _begin_fork() -> None:
    """Forget the other threads, which a fork does not have, and the blocks that they are in."""
    global _counting, _n_small
    _threads.cache_clear()
    if _n_small:
        _limited.restore_original_limits()
    _counting, _n_small = Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_fork)


@contextmanager
def one_blas_thread(small: bool = True) -> Iterator[None]:
    """Let BLAS use one thread, in all threads of this process, where arrays are small.

    Several would wait for each other at each step, and for those of the other BLAS: NumPy and SciPy
    each have one.
    """
    global _n_small, _limited
    if small:
        with _counting:  # the last block that ends restores what the first has found
            if not _n_small:
                _limited = _blas().limit(limits=1)
            _n_small += 1
    try:
        yield
    finally:
        if small:
            with _counting:
                _n_small = max(0, _n_small - 1)  # not those before a fork
                if not _n_small:
                    _limited.restore_original_limits()


_LOADING = 1 << 25  # numbers: plain NumPy takes about as long for them as loading compiled loops
_STEP = 12  # numbers: an operation of Python takes more, and the steps take longer to compile
_plain = 0  # numbers that this process left to plain NumPy


def compiled_pays(numbers: int, steps: int = 0) -> bool:
    """Return whether to use a compiled loop, which gives the same bits, or plain NumPy or Python.

    Plain ones are used until they have cost a process as much as loading the loops, which may
    compile them.

    Parameters
    ----------
    numbers : int
        The numbers for which NumPy is called.
    steps : int
        Operations in Python.
    """
    global _plain
    _plain += numbers + _STEP * steps
    return _plain > _LOADING


_ENTRIES = 1 << 19  # the fewest non-zeros worth a thread


def product(X: Any, V: np.ndarray) -> np.ndarray:
    """Return X V; for a large sparse X on all cores, with the same bits."""
    if not sparse.issparse(X) or not compiled_pays(X.nnz * V.shape[1]):
        return np.asarray(X @ V)
    from narrows.solve.kernels import gather_products

    V = np.ascontiguousarray(V)
    out = np.empty((X.shape[0], V.shape[1]), np.result_type(X.dtype, V.dtype))
    a, s = np.zeros(len(out), out.dtype), np.zeros(V.shape[1], out.dtype)

    def gather(p: slice) -> None:
        gather_products(X.indptr[p.start : p.stop + 1], X.indices, X.data, V, a[p], s, out[p])

    map_on_cores(gather, _shares(X.indptr))
    return out


def _shares(ends: np.ndarray) -> list[slice]:
    """Return slices of rows with about equally many entries, one for each core."""
    start, nnz = int(ends[0]), int(ends[-1] - ends[0])
    parts = min(cores(), 1 + nnz // _ENTRIES)
    inner = np.searchsorted(ends, [start + nnz * k // parts for k in range(1, parts)])
    cuts = [0, *inner.tolist(), len(ends) - 1]
    return [slice(a, b) for a, b in pairwise(cuts) if a < b]


class BlockProducts:
    """X V and X'U for blocks of vectors, written into existing arrays.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Not copied; but if sparse and n_samples < n_features, held as CSC, so that random access
        is to the shorter of the two blocks, which stays in a core's cache.
    """

    def __init__(self, X: Any):
        self.X, self.shape = X, X.shape
        self._parts: list[slice] = []
        if sparse.issparse(X):
            self.X = X.tocsc() if X.shape[0] < X.shape[1] else X
            if X.nnz >= _ENTRIES:  # else too little work to load compiled loops
                self._parts = _shares(self.X.indptr)

    def times(self, V: np.ndarray, a: np.ndarray, s: np.ndarray, out: np.ndarray) -> None:
        """Set out = X V + a s', for V of shape (n_features, k)."""
        self._product(V, a, s, out, transposed=False)

    def transposed(self, U: np.ndarray, a: np.ndarray, s: np.ndarray, out: np.ndarray) -> None:
        """Set out = X'U + a s', for U of shape (n_samples, k)."""
        self._product(U, a, s, out, transposed=True)

    def _product(
        self, V: np.ndarray, a: np.ndarray, s: np.ndarray, out: np.ndarray, transposed: bool
    ) -> None:
        X = self.X
        if isinstance(X, np.ndarray):
            np.matmul(X.T if transposed else X, V, out=out)
            out += np.outer(a, s)
            return
        if not self._parts:
            out[:] = (X.T if transposed else X) @ V
            out += np.outer(a, s)
            return
        from narrows.solve.kernels import gather_products, scatter_products

        if transposed == (X.format == "csc"):
            map_on_cores(
                lambda p: gather_products(
                    X.indptr[p.start : p.stop + 1], X.indices, X.data, V, a[p], s, out[p]
                ),
                self._parts,
            )
            return
        outs = [out, *(np.zeros_like(out) for _ in self._parts[1:])]
        np.outer(a, s, out=out)
        map_on_cores(
            lambda k: scatter_products(
                X.indptr[self._parts[k].start : self._parts[k].stop + 1],
                X.indices, X.data, V[self._parts[k]], outs[k],
            ),
            range(len(self._parts)),
        )  # fmt: skip
        for other in outs[1:]:
            out += other
