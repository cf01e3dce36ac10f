"""The classes of all methods, by their names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from narrows.families import MODULES

METHODS: dict[str, Any] = {
    name: getattr(import_module(f"narrows.families.{module}"), name)
    for name, module in MODULES.items()
}
