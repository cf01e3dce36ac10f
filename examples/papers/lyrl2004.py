"""RCV1-v2 as distributed with Lewis, Yang, Rose and Li (JMLR 5, 2004), files "LYRL2004".

The token vectors of online appendix 13 (`lyrl2004_vectors_train.dat`, `…_test_pt0.dat` to
`…_test_pt3.dat`, lines of `did  tid:weight tid:weight …`) and the topics of appendix 8
(`rcv1-v2.topics.qrels`, lines of `TOPIC did 1`), each as it is or with `.gz`.
"""

from __future__ import annotations

import gzip
import os
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

COLUMNS = 47_236
TOP = ("CCAT", "ECAT", "GCAT", "MCAT")
VECTORS = ("train", "test_pt0", "test_pt1", "test_pt2", "test_pt3")
TOPICS = "rcv1-v2.topics.qrels"


def read_lyrl2004(
    folder: str | os.PathLike[str], parts: tuple[str, ...] = VECTORS, first_label: bool = False
) -> tuple[sparse.csr_array, np.ndarray]:
    """Read the documents of one top topic, one line at a time.

    Parameters
    ----------
    folder : path
        Where the files are.
    parts : tuple of str
        Which files of vectors, of "train" and "test_pt0" to "test_pt3".
    first_label : bool
        Keep documents of several top topics too, with the one that the file of topics names
        first, as the papers say they did.

    Returns
    -------
    X : csr_array of shape (n, 47236)
        Weights as they stand; column tid - 1.
    y : ndarray of shape (n,)
        Top topics.

    Raises
    ------
    FileNotFoundError
        A file is not there, neither as it is nor with .gz.
    ValueError
        A line that is none; the message names the file and the line.
    """
    topic = _topics(Path(folder), first_label)
    data, indices, indptr, y = array("f"), array("i"), array("q", [0]), []
    for part in parts:
        path = _find(Path(folder), f"lyrl2004_vectors_{part}.dat")
        for number, line in _lines(path):
            did, *pairs = line.split()
            if not did.isdigit():
                raise ValueError(f"{path}, line {number}: a document number wanted, not {did!r}.")
            if int(did) not in topic:
                continue
            for pair in pairs:
                tid, _, weight = pair.partition(":")
                try:
                    column, value = int(tid), float(weight)
                except ValueError:
                    raise ValueError(
                        f"{path}, line {number}: tid:weight wanted, not {pair!r}."
                    ) from None
                if not 1 <= column <= COLUMNS:
                    raise ValueError(
                        f"{path}, line {number}: tid from 1 to {COLUMNS} wanted, not {column}."
                    )
                indices.append(column - 1)
                data.append(value)
            indptr.append(len(indices))
            y.append(topic[int(did)])
    if not y:
        raise ValueError(f"{folder}: no document of the vectors has a top topic in {TOPICS}.")
    X = sparse.csr_array(
        (np.array(data), np.array(indices), np.array(indptr)), shape=(len(y), COLUMNS)
    )
    X.sort_indices()
    return X, np.array(y)


def _topics(folder: Path, first_label: bool) -> dict[int, str]:
    """The top topic of each document that has one."""
    path = _find(folder, TOPICS)
    found: dict[int, str] = {}
    several = set()
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdigit():
            raise ValueError(f"{path}, line {number}: TOPIC did 1 wanted, not {line.strip()!r}.")
        name, did = fields[0], int(fields[1])
        if name in TOP and found.setdefault(did, name) != name:
            several.add(did)
    return found if first_label else {did: t for did, t in found.items() if did not in several}


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            return path
    raise FileNotFoundError(f"{folder / name} is not there, nor {name}.gz.")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with their numbers."""
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="ascii") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
