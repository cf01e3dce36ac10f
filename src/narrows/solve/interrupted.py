"""Objects that change in place, and that refuse any further use once a change was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any


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

    @contextmanager
    def changing(self, restore: Callable[[], None] | None = None) -> Iterator[None]:
        """Change arrays in place; an exception makes the object unusable.

        Unless `restore` is given, and the exception is a ValueError, so one of the samples:
        `restore` then makes the object what it was, its attributes last.
        """
        try:
            yield
        except BaseException as error:
            vars(self).clear()
            if restore is not None and isinstance(error, ValueError):
                restore()
            raise
