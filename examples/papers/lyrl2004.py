"""RCV1-v2 as distributed with Lewis, Yang, Rose and Li (JMLR 5, 2004), files "LYRL2004".

The token vectors of online appendix 13 (`lyrl2004_vectors_train.dat`, `…_test_pt0.dat` to
`…_test_pt3.dat`, lines of `did  tid:weight tid:weight …`) and the topics of appendix 8
(`rcv1-v2.topics.qrels`, lines of `TOPIC did 1`), each plain or gzipped (`.gz`).
"""

from __future__ import annotations

import gzip
import os
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

N_FEATURES = 47_236
TOP = ("CCAT", "ECAT", "GCAT", "MCAT")
VECTORS = ("train", "test_pt0", "test_pt1", "test_pt2", "test_pt3")
TOPICS = "rcv1-v2.topics.qrels"


def read_lyrl2004(
    folder: str | os.PathLike[str], parts: tuple[str, ...] = VECTORS, first_label: bool = False
) -> tuple[sparse.csr_array, np.ndarray]:
    """Read the documents with one top topic, line by line.

    Parameters
    ----------
    folder : path
        Folder of the files.
    parts : tuple of str
        Files of vectors to read, of "train" and "test_pt0" to "test_pt3".
    first_label : bool
        Keep documents with several top topics too, and use the first in the file of topics, as
        the papers do.

    Returns
    -------
    X : csr_array of shape (n_samples, 47236)
        Weights as in the files; the feature of a term is tid - 1.
    y : ndarray of shape (n_samples,)
        Top topics.

    Raises
    ------
    FileNotFoundError
        A file does not exist, neither plain nor with .gz.
    ValueError
        A line is malformed; the message names the file and the line.
    """
    topic = _topics(Path(folder), first_label)
    data, indices, indptr, y = array("f"), array("i"), array("q", [0]), []
    for part in parts:
        path = _find(Path(folder), f"lyrl2004_vectors_{part}.dat")
        for number, line in _lines(path):
            did, *pairs = line.split()
            if not did.isdigit():
                raise ValueError(f"{path}, line {number}: expected a document number, got {did!r}.")
            if int(did) not in topic:
                continue
            for pair in pairs:
                tid, _, weight = pair.partition(":")
                try:
                    feature, value = int(tid), float(weight)
                except ValueError:
                    raise ValueError(
                        f"{path}, line {number}: expected tid:weight, got {pair!r}."
                    ) from None
                if not 1 <= feature <= N_FEATURES:
                    raise ValueError(
                        f"{path}, line {number}: expected a tid from 1 to {N_FEATURES}, "
                        f"got {feature}."
                    )
                indices.append(feature - 1)
                data.append(value)
            indptr.append(len(indices))
            y.append(topic[int(did)])
    if not y:
        raise ValueError(f"{folder}: no document in the vectors has a top topic in {TOPICS}.")
    X = sparse.csr_array(
        (np.array(data), np.array(indices), np.array(indptr)), shape=(len(y), N_FEATURES)
    )
    X.sort_indices()
    return X, np.array(y)


def _topics(folder: Path, first_label: bool) -> dict[int, str]:
    """Return the top topic of each document that has one."""
    path = _find(folder, TOPICS)
    found: dict[int, str] = {}
    several = set()
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdigit():
            raise ValueError(
                f"{path}, line {number}: expected 'TOPIC did 1', got {line.strip()!r}."
            )
        name, did = fields[0], int(fields[1])
        if name in TOP and found.setdefault(did, name) != name:
            several.add(did)
    return found if first_label else {did: t for did, t in found.items() if did not in several}


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            return path
    raise FileNotFoundError(f"neither {folder / name} nor {name}.gz exists.")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers."""
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="ascii") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
