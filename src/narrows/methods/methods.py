"""The classes of all methods, by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from narrows.methods import MODULES


class _Methods(Mapping[str, Any]):
    """The methods, each of which is imported when it is first looked up."""

    def __getitem__(self, name: str) -> Any:
        return getattr(import_module(f"narrows.methods.{MODULES[name]}"), name)

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


METHODS = _Methods()
