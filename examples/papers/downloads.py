"""Downloads of data sets by scikit-learn, written in the formats of the folder NARROWS_DATA.

Nothing here runs unless the command has `--download`.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import sources
from scipy import sparse
from sklearn import datasets

from narrows.io.atomic import replacing


def download(key: str) -> None:
    """Download a set and write its files."""
    sources.DOWNLOADS.mkdir(parents=True, exist_ok=True)
    FETCH[key](sources.DOWNLOADS)


def _news(folder: Path) -> None:
    with replacing(folder / "20news_bydate.jsonl.gz") as file, gzip.open(file, "wt") as lines:
        for part in ("train", "test"):
            found = datasets.fetch_20newsgroups(subset=part, shuffle=False)
            for text, code in zip(found.data, found.target, strict=True):
                line = {"split": part, "label": found.target_names[code], "text": text}
                lines.write(json.dumps(line) + "\n")


def _rcv1(folder: Path) -> None:
    found = datasets.fetch_rcv1()
    X, Y = found.data, found.target
    _save(
        folder / "rcv1_topics.npz", data=X.data.astype(np.float32), indices=X.indices,
        indptr=X.indptr, shape=X.shape, yindices=Y.indices, yindptr=Y.indptr, yshape=Y.shape,
        label_names=np.array(list(found.target_names)),
    )  # fmt: skip


def _faces(folder: Path) -> None:
    found = datasets.fetch_olivetti_faces()
    _save(folder / "olivetti_faces.npz", X=np.round(255 * found.data).astype(np.uint8),
          y=found.target)  # fmt: skip


def _counts(name: str, folder: Path) -> None:
    found = _openml(f"{name}.wc")
    X, y = sparse.csr_array(found.data), np.unique(found.target, return_inverse=True)[1]
    _save(folder / f"{name}.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape,
          y=y)  # fmt: skip


def _uci(name: str, file: str, folder: Path, features: int | None = None) -> None:
    found = _openml(name)
    _table(folder / file, found.data[:, :features], found.target)


def _monk1(folder: Path) -> None:
    found = _openml("monks-problems-1")
    X = np.column_stack([
        [float(found.categories[name][int(code)]) for code in column]
        for name, column in zip(found.feature_names, found.data.T, strict=True)
    ])  # fmt: skip
    everything = set(product((1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2)))
    if len(X) != 556 or set(map(tuple, X[124:].astype(int))) != everything:
        raise ValueError("expected the 124 training samples of Monk 1 before its 432 test samples.")
    _table(folder / "monk1_train.csv", X[:124], found.target[:124])
    _table(folder / "monk1_test.csv", X[124:], found.target[124:])


def _openml(name: str) -> Any:
    """Return version 1 of a set of OpenML as arrays; this needs no pandas."""
    return datasets.fetch_openml(name, version=1, as_frame=False, parser="liac-arff")


def _table(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    with replacing(path) as file, open(file, "w", encoding="utf-8", newline="") as lines:
        rows = csv.writer(lines, lineterminator="\n")
        rows.writerow([*(f"f{k + 1}" for k in range(X.shape[1])), "class"])
        rows.writerows([*map(float, x), label] for x, label in zip(X, y, strict=True))


def _save(path: Path, **arrays: Any) -> None:
    with replacing(path) as file, open(file, "wb") as opened:
        np.savez(opened, **arrays)


FETCH: dict[str, Callable[[Path], None]] = {
    "20news": _news,
    "rcv1": _rcv1,
    "orl": _faces,
    "tr41": partial(_counts, "tr41"),
    "re0": partial(_counts, "re0"),
    "re1": partial(_counts, "re1"),
    "iris": partial(_uci, "iris", "iris.csv"),
    "monk1": _monk1,
    "waveform": partial(_uci, "waveform-5000", "waveform.csv", features=21),  # then 19 of noise
    "pima": partial(_uci, "diabetes", "pima_diabetes.csv"),
    "ionosphere": partial(_uci, "ionosphere", "ionosphere.csv"),
}
