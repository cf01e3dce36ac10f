"""Single cells in `.h5ad` files: samples from `X`, labels or targets from `obs`, names from `var`.

Only a chunk is in memory, and the label of each cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, warn
from narrows.io import kinds
from narrows.io.chunk import (
    Chunk,
    Options,
    as_targets,
    feature_columns,
    label_column,
    target_columns,
)
from narrows.io.extras import needing
from narrows.io.formats.base import Format, damage_named
from narrows.io.formats.matrix import as_text, chunks_of, stored_matrix


def libraries() -> tuple[Any, Any]:
    """Return h5py, and the function of anndata that reads an element of a file.

    ImportError names the extra.
    """
    with needing("anndata", "anndata"):
        import h5py
        from anndata.io import read_elem
    return h5py, read_elem


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of cells, in the order of the file."""
    h5py, _ = libraries()
    damaged = "expected an .h5ad file, got another file, or a damaged one"
    with damage_named(name, damaged), h5py.File(stream, "r") as file:
        if "X" not in file:
            got = ", ".join(file) or "an empty file"
            raise DataError(name, f"expected a matrix X, got only {got}.")
        X = stored_matrix(file["X"], name)
        (n, d), names = X.shape, _names(file, name)
        if len(names) != d:
            raise DataError(name, f"expected {d} names in var, got {len(names)}.")
        labels = _labels(file, n, name, options)
        columns = feature_columns(names, None, options, name)
        at = None
        if columns != names:
            places = {column: k for k, column in enumerate(names)}
            at = np.array([places[column] for column in columns])

        def y_of(start: int, stop: int) -> Any:
            y = None if labels is None else labels[start:stop]
            return y.tolist() if y is not None and y.dtype.kind in "OU" else y

        for chunk in chunks_of(X, y_of, options, columns):
            if at is not None:
                chunk = chunk.replace(X=chunk.X[:, at])
                if sparse.issparse(chunk.X):
                    chunk.X.sort_indices()
            yield chunk


# -- names and labels ----------------------------------------------------------------------------


def _table(file: Any, part: str, name: str) -> tuple[Any, str]:
    """Return `obs` or `var`, and the name of its index; DataError where they are records."""
    table = file[part]
    if not hasattr(table, "keys"):
        problem = "expected a file of anndata 0.7 or later, got one of an older version."
        raise DataError(name, f"{problem} Read it with anndata, and write it again.")
    return table, as_text(table.attrs["_index"])


def _names(file: Any, name: str) -> list[str]:
    """Return `var_names`."""
    _, read_elem = libraries()
    var, index = _table(file, "var", name)
    names = [str(each) for each in read_elem(var[index])]
    if len(set(names)) < len(names):
        problem = "expected different var_names, got the same twice."
        raise DataError(name, f"{problem} Use adata.var_names_make_unique().")
    return names


def _labels(file: Any, n: int, name: str, options: Options) -> np.ndarray | None:
    """Return the labels or targets of all cells; None without, or where some cells have none."""
    import pandas

    _, read_elem = libraries()
    obs, index = _table(file, "obs", name)
    columns = [column for column in obs if column not in (index, "__categories")]
    label = label_column(columns, options, name)
    targets = target_columns(columns, options, name)
    if targets:
        of_cells = [np.asarray(read_elem(obs[target])) for target in targets]
        for target, each in zip(targets, of_cells, strict=True):
            if each.dtype.kind not in "biuf" or each.shape != (n,):
                problem = f"column {target!r} of obs: expected {n} numbers"
                raise DataError(name, f"{problem}, got {each.dtype} of shape {each.shape}.")
        return as_targets(np.column_stack(of_cells), targets, name, range(1, n + 1))
    if label is None:
        return None
    # anndata 0.7 wrote numbers that refer to categories elsewhere in obs
    refers = "categories" in obs[label].attrs
    column = read_elem(obs)[label] if refers else read_elem(obs[label])
    code, found = map(np.asarray, pandas.factorize(column))  # -1 where a label is missing
    if len(code) != n:
        raise DataError(name, f"column {label!r} of obs: expected {n} labels, got {len(code)}.")
    missing = np.flatnonzero(code < 0)
    if len(missing):
        row, expected = int(missing[0]) + 1, f"column {label!r} of obs: expected a label"
        if options.labels_required:
            raise DataError(name, f"{expected}, got none. Leave out such cells.", row)
        warn(
            f"{name}:{row}: {expected}, got none, as in {len(missing):,} of {n:,} cells. The "
            "labels of all cells are left out."
        )
        return None
    is_text = found.dtype.kind == "O" and all(isinstance(each, str) for each in found)
    if not is_text and found.dtype.kind not in "biufU":
        problem = f"column {label!r} of obs: expected text or integers, got {found.dtype}."
        raise DataError(name, problem)
    return found[code]


FORMAT = Format(kinds.H5AD, read, options=("label", "target"))
