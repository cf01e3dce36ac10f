"""pandas DataFrames, hashed into the rows that `rows_of` gives for their samples as dicts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from narrows.river.hashing import Row, rows_of


def pandas() -> Any:
    """pandas, which was imported before if there is a DataFrame; None if it was not."""
    return sys.modules.get("pandas")


def rows_of_frame(X: Any, n_features: int, who: str) -> sparse.csr_array:
    """Hash a DataFrame into rows; text that is missing is left out.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        Columns of numbers, which may be sparse, and of text.
    n_features : int
        As for `rows_of`.
    who : str
        The name of the caller in errors.

    Returns
    -------
    rows : csr_array of shape (n_samples, n_features)
        One row for each sample.

    Raises
    ------
    TypeError
        X is no DataFrame.
    ValueError
        A name is not text, a number is missing, or a value is neither a number nor text.
    """
    if pandas() is None or not isinstance(X, pandas().DataFrame):
        raise TypeError(
            f"{who}: expected a pandas DataFrame, got {type(X).__module__}."
            f"{type(X).__qualname__}. For dicts use the methods for one sample."
        )
    for name in X.columns:
        if not isinstance(name, str):
            raise ValueError(
                f"{who}: expected columns with names that are text, got {name!r}. Use "
                "X.rename(columns=str)."
            )
    numeric = _numeric(X)
    rows = _rows_of_text(X.loc[:, ~numeric], n_features)
    if numeric.any():
        numbers = X.loc[:, numeric]
        hashed = rows_of([{name: 1.0} for name in numbers.columns], n_features)
        rows = rows + _values(numbers, who) @ hashed
        rows.sum_duplicates()
    return rows


def _rows_of_text(X: Any, n_features: int) -> sparse.csr_array:
    """The same for columns that are not numeric: dicts without what is missing."""
    values, given = X.to_numpy(dtype=object), X.notna().to_numpy()
    dicts = (
        {name: value for name, value, here in zip(X.columns, *row, strict=True) if here}
        for row in zip(values, given, strict=True)
    )
    return rows_of(dicts, n_features)


def _values(X: Any, who: str) -> sparse.csr_array:
    """The numbers of a DataFrame; ValueError if one is missing."""
    if all(getattr(dtype, "fill_value", None) == 0 for dtype in X.dtypes):
        values = sparse.csr_array(X.sparse.to_coo(), dtype=np.float64)
    else:
        values = sparse.csr_array(X.to_numpy(np.float64, na_value=np.nan))
    missing = np.isnan(values.data)
    if missing.any():
        name = X.columns[values.indices[missing.argmax()]]
        raise ValueError(
            f"{who}: expected numbers in column {name!r}, got NaN. Use X.fillna(0), which counts "
            "as leaving a value out of a dict does."
        )
    return values


def selected_columns(X: Any, selected: Callable[[list[Row]], np.ndarray]) -> Any:
    """Return the columns of a DataFrame that are selected; text that is not is None.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        As for `rows_of_frame`.
    selected : callable
        Whether the feature of each dict, of one entry at most, is selected.
    """
    numeric, kept = _numeric(X), selected([{name: 1.0} for name in X.columns])
    found = {}
    for k, (name, column) in enumerate(X.items()):
        if numeric[k]:
            if kept[k]:
                found[name] = column
            continue
        values = column.astype(object).where(column.notna(), None)
        here = selected([{name: value} for value in values])
        if here.any():
            found[name] = values.where(here, None)
    return pandas().DataFrame(found, index=X.index)


def _numeric(X: Any) -> np.ndarray:
    """Whether each column of a DataFrame has numbers."""
    return np.array([dtype.kind in "biuf" for dtype in X.dtypes], dtype=bool)
