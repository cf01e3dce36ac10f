"""The clusters that a command can run on, by the name that `--engine` has for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from narrows.text import Vectoriser

Verb = Callable[..., Any]


class Cluster(NamedTuple):
    """A cluster: what fits and transforms there, and the address, if it runs already."""

    name: str
    address: str | None

    def fit(
        self,
        estimator: Any,
        files: Sequence[str],
        reading: dict[str, Any],
        vectoriser: Vectoriser | None,
    ) -> None:
        """Fit an estimator to files."""
        fit, _ = ENGINES[self.name]()
        progress = sys.stderr.isatty()
        fit(estimator, files, self.address, vectoriser=vectoriser, progress=progress, **reading)

    def transform(
        self, estimator: Any, files: Sequence[str], output: str, reading: dict[str, Any]
    ) -> list[str]:
        """Reduce files to files in a folder; return these."""
        _, transform = ENGINES[self.name]()
        written: list[str] = transform(estimator, files, output, self.address, **reading)
        return written


def _dask() -> tuple[Verb, Verb]:
    from narrows.engines import dask

    return dask.fit, dask.transform


def _spark() -> tuple[Verb, Verb]:
    from narrows.spark import fit_files, transform_files

    return fit_files, transform_files


ENGINES: dict[str, Callable[[], tuple[Verb, Verb]]] = {"dask": _dask, "spark": _spark}
ADDRESSES = {"scheduler": "dask", "master": "spark"}  # options, and the engine that each is for
