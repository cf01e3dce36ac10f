"""The data of the papers as arrays; `sources` has their files.

What the user provides is read from the environment variables NARROWS_RCV1 (the folder of the
LYRL2004 files), NARROWS_AR (an .npz of `X` and `y`) and NARROWS_ODP (any file that narrows reads).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from examples.papers.lyrl2004 import first_topics, read_lyrl2004
from examples.papers.sources import COMMAND, find, path, where
from examples.papers.texts import documents, split
from examples.papers.verdict import Row, untested
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

from narrows import Moments
from narrows.evaluate.splits import Fold
from narrows.read import iter_chunks


@cache
def rcv1() -> tuple[Any, np.ndarray]:
    """Return RCV1 in a seeded random order; the label of a document is its first top topic."""
    folder = os.environ.get("NARROWS_RCV1")
    X, y = read_lyrl2004(folder) if folder else _sample_of_rcv1()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def _sample_of_rcv1() -> tuple[Any, np.ndarray]:
    """Return the documents of rcv1_topics.npz that have a top topic."""
    file = np.load(path("rcv1_topics.npz"))
    X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
    places = file["yindices"], file["yindptr"]
    Y = sparse.csr_array((np.ones(len(places[0])), *places), shape=file["yshape"])
    y = first_topics(Y, file["label_names"])
    return X[y != ""], y[y != ""]


@cache
def rcv1_folds() -> list[Fold]:
    """Return five folds: four fifths for training, one fifth for the test."""
    return list(split(*rcv1(), cv=5, seed=0))


@cache
def odp() -> tuple[Any, np.ndarray] | None:
    """Return ODP, if the user provides it."""
    file = os.environ.get("NARROWS_ODP")
    return whole(Path(file)) if file else None


def sets() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield the sets of Ye et al. (2005): ORL, tr41, re0, re1, and AR if it is provided."""
    yield "ORL", *faces()
    yield "tr41", *documents("tr41")
    yield "re0", *documents("re0")
    yield "re1", *documents("re1")
    if has_ar():
        yield "AR", *ar()


def faces() -> tuple[np.ndarray, np.ndarray]:
    """Return the ORL faces: 400 samples of pixels from 0 to 255, 40 people.

    A sample has 10,304 pixels, or 4,096 as downloaded.
    """
    file = np.load(find("orl_faces.npz") or path("olivetti_faces.npz"))
    return file["X"].astype(np.float64), file["y"]


def ar() -> tuple[np.ndarray, np.ndarray]:
    """Return the AR faces, which the user provides."""
    file = np.load(os.environ["NARROWS_AR"])
    return file["X"].astype(np.float64), file["y"]


def full_rcv1(paper: str, place: str, claim: str, theirs: str, names: str) -> list[Row]:
    """Return the row of a claim on the full RCV1; no row if the user has it."""
    if where("rcv1") in ("--rcv1", "download"):
        return []
    how = f"`{COMMAND} {names} --download`, or `--rcv1 FOLDER` with the files of LYRL2004"
    return [untested(paper, place, claim, theirs, how)]


def has_ar() -> bool:
    """Whether the user provides the AR faces."""
    return bool(os.environ.get("NARROWS_AR"))


def whole(file: Path) -> tuple[Any, np.ndarray]:
    """Return all samples of a file and their labels."""
    parts = list(iter_chunks(file))
    X = [rows for rows, _ in parts]
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    return stacked, np.concatenate([labels for _, labels in parts])


def uci(*names: str, standard: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return a UCI set, its files one after the other, standardised if asked for."""
    X, y = (np.concatenate(part) for part in zip(*map(_uci, names), strict=True))
    return ((X - X.mean(axis=0)) / X.std(axis=0) if standard else X), y


def _uci(name: str) -> tuple[np.ndarray, np.ndarray]:
    file = find(f"{name}.csv")
    if file is None and name == "balance_scale":
        return balance_scale()
    if file is None and name in ("iris", "wine"):
        found = {"iris": load_iris, "wine": load_wine}[name]()
        return found.data, found.target_names[found.target]
    return whole(file or path(f"{name}.csv"))


def balance_scale() -> tuple[np.ndarray, np.ndarray]:
    """Return Balance Scale: all weights and distances of two sides, and which side is heavier."""
    X = np.array(list(product((5.0, 4.0, 3.0, 2.0, 1.0), repeat=4)))
    left, right = X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]
    y = np.select([left > right, left < right], ["L", "R"], "B")
    return X[:, ::-1].copy(), y  # in the order of the file


UCI = {
    "Iris": (("iris",), False),
    "Balance Scale": (("balance_scale",), False),
    "Monk 1": (("monk1_train", "monk1_test"), False),
    "Wine": (("wine",), True),
    "Waveform": (("waveform",), False),
    "Pima": (("pima_diabetes",), True),
}  # of Yan et al. (2006b); the features of Wine and Pima differ in scale by a factor of 100


def six() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the six sets of Yan et al. (2006b), in the order of Fig. 4."""
    for title, (files, standard) in UCI.items():
        yield title, *uci(*files, standard=standard)


def two_normals(seed: int = 0, wide: float = 84.0) -> tuple[np.ndarray, np.ndarray]:
    """Draw the synthetic set of Yan et al. (2004), section 4.1.

    The figures of Yan et al. (2006) and (2006b) resemble it. Two classes of 50 samples, means
    (0, 1) and (0, -2), in random order. The printed covariances, diag(1, 25) and diag(2, 25),
    contradict the printed eigenvalues and the figure: these need variance 84 on the first axis,
    and variances 1 and 2 on the second.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], 50))
    spread = np.array([[np.sqrt(wide), 1.0], [np.sqrt(wide), np.sqrt(2)]])
    return np.array([[0.0, 1.0], [0.0, -2.0]])[y] + rng.normal(size=(100, 2)) * spread[y], y


def scatters(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return S_b and C of dense samples."""
    m = Moments.of(X, y)
    D = m.means - m.mean
    return D.T @ ((m.counts / m.n)[:, None] * D), np.cov(X.T, bias=True)


def leading(A: np.ndarray, p: int = 1) -> np.ndarray:
    """Return the leading eigenvectors of a symmetric matrix, as rows."""
    return np.linalg.eigh(A)[1][:, ::-1].T[:p]
