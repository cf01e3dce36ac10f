"""Packages that only an extra of narrows installs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(extra: str, package: str) -> Iterator[None]:
    """Import a package in the block; ImportError names the extra that installs it."""
    try:
        yield
    except ImportError:
        raise ImportError(
            f"expected the package {package}, got none that can be imported. "
            f"Install it with: pip install 'narrows[{extra}]'."
        ) from None
