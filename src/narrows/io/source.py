"""What a model remembers of the files it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from narrows.solve.schema import Field, check_known, check_plain, checked
from narrows.text import Vectoriser, from_arrays

_SETTINGS = {"zero_based": (bool, None), "label": (str, None), "text": (str, None)}


@dataclass(frozen=True)
class Source:
    """How files became columns, so that later files become the same ones.

    Parameters
    ----------
    zero_based : bool, optional
        Whether svmlight files count columns from 0.
    label, text : str, optional
        Names of the label (CSV column, JSON key) and of the text (JSON key), where given.
    columns : tuple of str, optional
        The names of a CSV file's columns.
    tfidf : Vectoriser, optional
        What turns texts into rows.

    Examples
    --------
    >>> from narrows.read import Source
    >>> Source(columns=("length", "width")).names.tolist()
    ['length', 'width']
    """

    zero_based: bool | None = None
    label: str | None = None
    text: str | None = None
    columns: tuple[str, ...] | None = None
    tfidf: Vectoriser | None = None

    @property
    def names(self) -> np.ndarray | None:
        """Names of the columns, as an array of str objects, where they have any."""
        if self.tfidf is not None:
            return self.tfidf.names
        return None if self.columns is None else np.array(self.columns, dtype=object)

    def settings(self) -> dict[str, Any]:
        """Return what goes into a JSON header."""
        return {"zero_based": self.zero_based, "label": self.label, "text": self.text}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the rest as named arrays."""
        arrays: dict[str, np.ndarray] = {}
        if self.columns is not None:
            arrays["columns"] = np.array(self.columns, dtype=object)
        if self.tfidf is not None:
            arrays |= {f"tfidf.{key}": value for key, value in self.tfidf.to_arrays().items()}
        return arrays

    @classmethod
    def of(cls, settings: Any, arrays: Mapping[str, np.ndarray]) -> Source:
        """Return the source that `settings` and `to_arrays` described."""
        check_plain(settings, _SETTINGS, "source")
        check_known("source", settings, _SETTINGS)
        checked(arrays, {"columns": Field("O", ("d",), optional=True)})
        tfidf = {
            key.removeprefix("tfidf."): value
            for key, value in arrays.items()
            if key.startswith("tfidf.")
        }
        return cls(
            **settings,
            columns=tuple(arrays["columns"]) if "columns" in arrays else None,
            tfidf=from_arrays(tfidf) if tfidf else None,
        )
