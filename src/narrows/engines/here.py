"""An engine that is this process, for files whose parts are read in any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from sklearn.utils import get_tags

from narrows.engines import parts
from narrows.engines.engine import Engine, Function
from narrows.io.chunk import Options
from narrows.text import Vectoriser


class Here(Engine):
    """Everything is done at once, and a result is the value itself."""

    name = "narrows"

    def map(self, function: Function, *iterables: Iterable[Any]) -> list[Any]:
        """Return the value of a function of each item."""
        return [function(*items) for items in zip(*iterables, strict=False)]

    def reduce(self, add: Function, results: Sequence[Any]) -> Any:
        """Return the sum of values."""
        return reduce(add, results)

    def broadcast(self, thing: Any) -> Any:
        """Return the thing."""
        return thing

    def collect(self, results: Sequence[Any]) -> list[Any]:
        """Return the values."""
        return list(results)


def fit(
    estimator: Any,
    files: Sequence[str],
    reading: dict[str, Any],
    vectoriser: Vectoriser | None = None,
    progress: bool = False,
) -> Any:
    """Fit an estimator to parts of files, of which one with `tolerance` may read a few."""
    needed = get_tags(estimator).target_tags.required
    estimator._check_parameters_alone()
    options = Options(labels_required=needed, **reading)
    listed = parts.list_parts(files)
    return parts.fit(Here(), estimator, listed, options, None, vectoriser, progress)
