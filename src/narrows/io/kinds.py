"""The kinds of files by their suffixes: what is known of a file before it is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from narrows.errors import ParameterError
from narrows.io import streams


class Kind(NamedTuple):
    """What the suffix of a file says.

    Parameters
    ----------
    name : str
        How messages call the format.
    suffixes : tuple of str
        The suffixes of its files.
    is_binary : bool
        Whether files are compressed by the format itself, not by a suffix such as ``.gz``.
    holds_texts : bool
        Whether a sample is always a text, not numbers.
    is_written : bool
        Whether there is a writer.
    options : tuple of str
        Those options of `io.options` that not all formats support and this one does.
    """

    name: str
    suffixes: tuple[str, ...]
    is_binary: bool = False
    holds_texts: bool = False
    is_written: bool = True
    options: tuple[str, ...] = ()


_NAMED = "label", "target"
_COLUMNS = (*_NAMED, "text", "vector", "table")
_CELLS = (*_NAMED, "text", "table", "csv_safe", "separator", "encoding", "no_header")
SVMLIGHT = Kind("svmlight", (".svm", ".svmlight", ".libsvm"), options=("zero_based", "target"))
PARQUET = Kind("Parquet", (".parquet",), is_binary=True, options=_COLUMNS)
ARROW = Kind("Arrow", (".arrow", ".feather"), is_binary=True, options=_COLUMNS)
ORC = Kind("ORC", (".orc",), is_binary=True, options=_COLUMNS)
NPZ = Kind(".npz", (".npz",), is_binary=True, options=_NAMED)
NPY = Kind(".npy", (".npy",), is_binary=True, options=_NAMED)
H5AD = Kind(".h5ad", (".h5ad",), is_binary=True, is_written=False, options=_NAMED)
JSONL = Kind(
    "JSON lines", (".jsonl",), holds_texts=True, options=(*_NAMED, "text", "split", "encoding")
)
CSV = Kind("CSV", (".csv",), options=_CELLS)
TSV = Kind("TSV", (".tsv",), options=_CELLS)
KINDS = SVMLIGHT, PARQUET, ARROW, ORC, NPZ, NPY, H5AD, JSONL, CSV, TSV
FOR_ROWS, FOR_TEXTS = CSV, JSONL  # of standard output
LABEL_TYPES = "text", "integer"


def kind_of(path: str) -> tuple[Kind, str]:
    """Return the kind that the suffix of a path names, and the suffix of its compression or "".

    Raises
    ------
    ParameterError
        The suffix is not supported.
    """
    suffix, compressed = streams.suffix_of(path)
    for kind in KINDS:
        if suffix in kind.suffixes and not (compressed and kind.is_binary):
            return kind, compressed
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ParameterError(
            f"{path}: expected a file, got a pipe without a suffix, which would name its format. "
            "Send it to standard input, and name that: zcat FILE | narrows … -"
        )
    suffix += compressed
    got = f"{suffix}, which is not supported" if suffix else "no suffix"
    raise ParameterError(
        f"{path}: expected a file that ends in {listed(KINDS)}, got {got}. "
        f"Convert the file, for example to .csv; {streams.SUFFIXES} may follow the suffix of a "
        "text format."
    )


def output_kind(path: str, texts: bool = False) -> tuple[Kind, str]:
    """Return the kind that a path is written as, and the suffix of its compression or "".

    Raises
    ------
    ParameterError
        The suffix is not supported, or is not for texts, or only for texts.
    """
    if path == "-":
        return (FOR_TEXTS if texts else FOR_ROWS), ""
    kind, compressed = kind_of(path)
    samples, others = ("texts", "numbers") if texts else ("numbers", "texts")
    if not kind.is_written:
        problem = f"expected a format to write, got {kind.name}, which narrows only reads."
        raise ParameterError(f"{path}: {problem} Write to {SUFFIXES[samples]}.")
    if kind.holds_texts != texts:
        problem = f"expected a format for {samples}, got one for {others}."
        other = ", or reduce the texts with transform" * texts
        raise ParameterError(f"{path}: {problem} Write to {SUFFIXES[samples]}{other}.")
    return kind, compressed


def listed(kinds: Iterable[Kind]) -> str:
    """Return the suffixes of kinds, for messages."""
    return ", ".join(suffix for kind in kinds for suffix in kind.suffixes)


SUFFIXES = {
    "numbers": listed(kind for kind in KINDS if kind.is_written and not kind.holds_texts),
    "texts": listed(kind for kind in KINDS if kind.holds_texts),
    "text_files": listed(kind for kind in KINDS if not kind.is_binary),
    "binary_files": listed(kind for kind in KINDS if kind.is_binary),
    "compressed": streams.SUFFIXES,
}
