"""RCV1-v2 as distributed with Lewis, Yang, Rose and Li (JMLR 5, 2004), files "LYRL2004".

The token vectors of online appendix 13 (`lyrl2004_vectors_train.dat`, `…_test_pt0.dat` to
`…_test_pt3.dat`, lines of `did  tid:weight tid:weight …`) and the topics of appendix 8
(`rcv1-v2.topics.qrels`, or `rcv1v2.topics.qrels` as scikit-learn names it, lines of `TOPIC did 1`),
each plain or gzipped (`.gz`).

Of a document with several top topics, the first one is its label, as in Yan et al. (2005, 2006).
"""

from __future__ import annotations

import gzip
import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

N_FEATURES = 47_236
TOP = ("CCAT", "ECAT", "GCAT", "MCAT")
VECTORS = ("train", "test_pt0", "test_pt1", "test_pt2", "test_pt3")
TOPICS = "rcv1-v2.topics.qrels", "rcv1v2.topics.qrels"  # of the authors, of scikit-learn


def read_lyrl2004(
    folder: str | os.PathLike[str], parts: tuple[str, ...] = VECTORS
) -> tuple[sparse.csr_array, np.ndarray]:
    """Read the documents with a top topic, line by line.

    Parameters
    ----------
    folder : path
        Folder of the files.
    parts : tuple of str
        Files of vectors to read, of "train" and "test_pt0" to "test_pt3".

    Returns
    -------
    X : csr_array of shape (n_samples, 47236)
        Weights as in the files; the feature of a term is tid - 1.
    y : ndarray of shape (n_samples,)
        The top topic of each document, of several the first in the file of topics.

    Raises
    ------
    FileNotFoundError
        A file does not exist, neither plain nor with .gz.
    ValueError
        A line is malformed; the message names the file and the line.
    """
    topic = _topics(Path(folder))
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
        raise ValueError(f"{folder}: no document in the vectors has a top topic in {TOPICS[0]}.")
    X = sparse.csr_array(
        (np.array(data), np.array(indices), np.array(indptr)), shape=(len(y), N_FEATURES)
    )
    X.sort_indices()
    return X, np.array(y)


def first_topics(Y: sparse.csr_array, names: Sequence[str]) -> np.ndarray:
    """Return the first top topic of each document, empty if it has none.

    `Y` of shape (n_samples, n_topics) says which topics a document has, without their order. The
    first one is that of the alphabet.
    """
    names = list(names)
    has = Y[:, [names.index(topic) for topic in TOP]].toarray() > 0
    return np.where(has.any(axis=1), np.array(TOP)[has.argmax(axis=1)], "")


def _topics(folder: Path) -> dict[int, str]:
    """Return the first top topic of each document that has one."""
    path = _find(folder, *TOPICS)
    found: dict[int, str] = {}
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdigit():
            raise ValueError(
                f"{path}, line {number}: expected 'TOPIC did 1', got {line.strip()!r}."
            )
        if fields[0] in TOP:
            found.setdefault(int(fields[1]), fields[0])
    return found


def _find(folder: Path, *names: str) -> Path:
    """Return the path of the first file that exists, plain or gzipped."""
    expected = [f"{name}{suffix}" for name in names for suffix in ("", ".gz")]
    for name in expected:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(
        f"{folder}: expected one of the files {', '.join(expected)}, got none. Copy it there."
    )


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
