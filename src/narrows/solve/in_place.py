"""Changes in place: signals wait until a block of samples is added, and arrays are own ones."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

# Ctrl-C, and what limits of time and the end of a process are: those whose handlers may raise
_SIGNALS = tuple(
    int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)
)


class SignalsHeld:
    """Signals wait as long as this context is entered: their handlers are called at its end.

    Python calls handlers in the main thread only, so there is nothing to hold in others; nor where
    signals are held already. A signal that comes several times is handled once.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}  # those before, in the order of `_SIGNALS`
        self._came: dict[int, Any] = {}

    def __call__(self, number: int, frame: Any) -> None:
        """Note a signal, as its handler."""
        self._came[number] = frame

    def __enter__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        try:
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler) and not isinstance(handler, SignalsHeld):
                    self._handlers[number] = handler  # first: a handler may raise before the next
                    signal.signal(number, self)
        except BaseException:
            self._restore()
            raise

    def __exit__(self, *error: object) -> None:
        self._restore()
        for number, frame in self._came.items():
            self._handlers[number](number, frame)

    def _restore(self) -> None:
        """Restore the handlers, that of Ctrl-C last: it may raise, when none is left to restore."""
        for number in reversed(self._handlers):
            signal.signal(number, self._handlers[number])


WORK = 1 << 24  # operations of a block, which take less than a tenth of a second
RANDOM = 16  # operations that take as long as reading what is not in the cache
_EVEN = 64  # samples: larger blocks are multiples, as blocks of matrix products are


def block_size(cost: float) -> int:
    """Return how many samples are a block, if each takes about so many simple operations."""
    size = max(1, int(WORK / max(1.0, cost)))
    return size - size % _EVEN if size > _EVEN else size


def in_blocks(X: Any, cost: float) -> list[slice]:
    """Return the samples X in blocks, at least one, by the operations that a sample takes."""
    size = block_size(cost)
    return [slice(k, min(k + size, X.shape[0])) for k in range(0, max(1, X.shape[0]), size)]


def some_rows(X: Any, rows: slice) -> Any:
    """Return some samples, sparse ones as a view; X itself if these are all."""
    if rows.stop - rows.start == X.shape[0]:
        return X
    if not isinstance(X, sparse.csr_array):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    used = slice(ends[0], ends[-1])
    # slices of SciPy are copies, and so is what its constructor makes of small parts
    part = sparse.csr_array((len(ends) - 1, X.shape[1]), dtype=X.dtype)
    part.data, part.indices, part.indptr = X.data[used], X.indices[used], ends - ends[0]
    return part


def entries(X: Any) -> float:
    """Return the mean number of entries of a sample."""
    return X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else float(X.shape[1])


class ChangesInPlace:
    """A state whose arrays an update changes in place, a block of samples at a time.

    Everything is checked before. A signal waits until the block is added, so that the state is
    always one that has learned a whole number of blocks.
    """

    def __setstate__(self, state: Any) -> None:
        """Take what another process, a file or a copy gives, which may be read-only memory."""
        above: Any = super()
        if hasattr(above, "__setstate__"):
            above.__setstate__(state)
        else:
            vars(self).update(state)
        self._was_given = True

    def _own(self) -> None:
        """Copy arrays that are mapped from a file or cannot be written to.

        Only what was unpickled or copied can have such arrays, and only until its first update:
        until then, processes share the memory.
        """
        if "_was_given" in vars(self):
            with_own_arrays(self)
            del self._was_given  # last: a signal may come before

    @contextmanager
    def changing(self, restore: Callable[[], None] | None = None) -> Iterator[None]:
        """Change arrays in place, while signals wait; after an error, `restore` makes it undone."""
        if "_was_given" in vars(self):
            self._own()
        with SignalsHeld():
            try:
                yield
            except BaseException:
                if restore is not None:
                    restore()
                raise


def with_own_arrays(value: Any) -> Any:
    """Return a value whose arrays are its own to write to; objects of narrows change in place."""
    if isinstance(value, np.ndarray):
        mapped: Any = value  # from a file, which an update would change with mode "r+"
        while isinstance(mapped, np.ndarray) and not isinstance(mapped, np.memmap):
            mapped = mapped.base
        own = value.flags.writeable and mapped is None
        return value if own else np.array(value, order="K")
    if sparse.issparse(value):
        parts = value.data, value.indices, value.indptr
        return type(value)(tuple(map(with_own_arrays, parts)), shape=value.shape)
    if isinstance(value, dict):
        return {key: with_own_arrays(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        kind: Any = type(value)
        found = map(with_own_arrays, value)
        return kind(*found) if hasattr(value, "_fields") else kind(found)
    if type(value).__module__.startswith("narrows.") and hasattr(value, "__dict__"):
        vars(value).update({name: with_own_arrays(each) for name, each in vars(value).items()})
    return value
