"""Objects that change in place: arrays of their own to write to, and no use after an interrupt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows.solve.late import sparse


class ChangesInPlace:
    """A state whose arrays an update changes in place, after everything has been checked.

    Whatever is raised in the middle of that, such as by a signal handler, leaves an object without
    attributes: whoever reads one gets an error that says so.
    """

    if not TYPE_CHECKING:  # so that a wrong attribute is still found by mypy

        def __getattr__(self, name: str) -> Any:
            """Raise the error of an attribute that is missing, or of an interrupted update."""
            if vars(self) or name.startswith("__"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise ValueError(
                "ClassStats: expected a complete state, got one whose last update was "
                "interrupted. Load a checkpoint, or fit again."
            )

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
            del self._was_given  # last: an interrupt may come before

    @contextmanager
    def changing(self, restore: Callable[[], None] | None = None) -> Iterator[None]:
        """Change arrays in place; an exception makes the object unusable.

        Unless `restore` is given, and the exception is a ValueError, so one of the samples:
        `restore` then makes the object what it was, its attributes last.
        """
        if "_was_given" in vars(self):
            self._own()
        try:
            yield
        except BaseException as error:
            vars(self).clear()
            if restore is not None and isinstance(error, ValueError):
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
