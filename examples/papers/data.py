"""The data of the papers: those of NARROWS_DATA, and the three that one has to bring.

RCV1, AR and ODP are read from the environment variables NARROWS_RCV1 (the folder of the LYRL2004
files), NARROWS_AR (an .npz of `X` and `y`) and NARROWS_ODP (any file that narrows reads).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import data_path
from benchmarks.studies.neighbours import data as sets_of_002
from examples.papers.lyrl2004 import read_lyrl2004
from examples.papers.verdict import Row, absent
from scipy import sparse

from narrows import ClassStats
from narrows.evaluate.comparison import Fold, split
from narrows.read import iter_chunks

COMMAND = "python -m examples.papers"


@cache
def rcv1() -> tuple[Any, np.ndarray]:
    """RCV1, documents of one top topic, in a seeded random order."""
    folder = os.environ.get("NARROWS_RCV1")
    X, y = read_lyrl2004(folder) if folder else whole(data_path("rcv1_4class.npz"))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@cache
def rcv1_folds() -> list[Fold]:
    """The five folds: four fifths to learn from, one held out."""
    return list(split(*rcv1(), cv=5, seed=0))


@cache
def odp() -> tuple[Any, np.ndarray] | None:
    """ODP, if it was brought."""
    path = os.environ.get("NARROWS_ODP")
    return whole(Path(path)) if path else None


def sets() -> Iterator[tuple[str, Any, np.ndarray]]:
    """The sets of paper 002 that are available: ORL, tr41, re0, and AR if its file exists."""
    yield from sets_of_002()
    if has_ar():
        file = np.load(os.environ["NARROWS_AR"])
        yield "AR", file["X"].astype(np.float64), file["y"]


def full_rcv1(paper: str, where: str, claim: str, theirs: str, names: str) -> list[Row]:
    """The row of a claim that wants more of RCV1 than the sample has; none if it was brought."""
    if os.environ.get("NARROWS_RCV1"):
        return []
    how = f"`{COMMAND} {names} --rcv1 FOLDER`, the folder of the LYRL2004 files"
    return [absent(paper, where, claim, theirs, how)]


def has_ar() -> bool:
    return bool(os.environ.get("NARROWS_AR"))


def whole(path: Path) -> tuple[Any, np.ndarray]:
    """All rows of a file, and their labels."""
    parts = list(iter_chunks(path))
    X = [rows for rows, _ in parts]
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    return stacked, np.concatenate([labels for _, labels in parts])


def uci(*names: str, standard: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A UCI set, its files one after the other; columns of one size if wanted."""
    X, y = (np.concatenate(part) for part in zip(*map(_uci, names), strict=True))
    return ((X - X.mean(axis=0)) / X.std(axis=0) if standard else X), y


def _uci(name: str) -> tuple[np.ndarray, np.ndarray]:
    return whole(data_path(f"{name}.csv"))


UCI = {
    "Iris": (("iris",), False),
    "Balance Scale": (("balance_scale",), False),
    "Monk 1": (("monk1_train", "monk1_test"), False),
    "Wine": (("wine",), True),
    "Waveform": (("waveform",), False),
    "Pima": (("pima_diabetes",), True),
}  # of paper 004; Wine and Pima standardised, whose columns differ a hundredfold in size


def six() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The six sets of paper 004, in the order of its Fig. 4."""
    for title, (files, standard) in UCI.items():
        yield title, *uci(*files, standard=standard)


def two_normals(seed: int = 0, wide: float = 84.0) -> tuple[np.ndarray, np.ndarray]:
    """The synthetic set of paper 003, 4.1, whose figures those of 000 and 004 resemble.

    Two classes of 50 rows, means (0, 1) and (0, -2), in random order. The printed covariances,
    diag(1, 25) and diag(2, 25), contradict the printed eigenvalues and figure, from which the wide
    axis is the first, with variance 84; along the second 1 and 2.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], 50))
    spread = np.array([[np.sqrt(wide), 1.0], [np.sqrt(wide), np.sqrt(2)]])
    return np.array([[0.0, 1.0], [0.0, -2.0]])[y] + rng.normal(size=(100, 2)) * spread[y], y


def scatters(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S_b and C of dense rows."""
    stats = ClassStats.of(X, y)
    D = stats.means - stats.mean
    return D.T @ ((stats.counts / stats.n)[:, None] * D), np.cov(X.T, bias=True)


def leading(A: np.ndarray, p: int = 1) -> np.ndarray:
    """The leading eigenvectors of a symmetric matrix, as rows."""
    return np.linalg.eigh(A)[1][:, ::-1].T[:p]
