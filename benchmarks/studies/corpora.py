"""Real text to study, from the folder NARROWS_DATA; and how it is scored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from examples.papers.texts import Split, comp, documents, news, r8, r8_again, raw, split
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from benchmarks.harness import data_path
from benchmarks.studies import classifiers
from narrows.read import iter_chunks
from narrows.solve.columns import take
from narrows.text import Tfidf

__all__ = ["Split", "comp", "documents", "news", "r8", "r8_again", "raw", "split"]
SEEDS = range(5)


def f1(split: Split, columns: np.ndarray) -> np.ndarray:
    """Micro- and macro-F1 by each classifier on some of the columns."""
    Z, Z_test = take(split.X, columns), take(split.X_test, columns)
    return classifiers.f1(Z, split.y, Z_test, split.y_test, "micro", "macro")


def rcv1(seed: int = 0) -> Split:
    """RCV1, four classes, a random fifth held out."""
    return _archive("rcv1_4class", seed)


def tr41(seed: int = 0) -> Split:
    """The text set tr41, its counts weighed by TF-IDF, a stratified fifth held out."""
    return _archive("tr41", seed, counts=True)


def faces() -> tuple[np.ndarray, np.ndarray]:
    """The ORL faces: 400 rows of 10,304 pixels from 0 to 255, 40 people."""
    file = np.load(data_path("orl_faces.npz"))
    return file["X"].astype(np.float64), file["y"]


UCI = (
    "iris", "wine", "balance_scale", "waveform", "pima_diabetes", "ionosphere", "monk1",
)  # fmt: skip


def uci(name: str) -> tuple[np.ndarray, ...]:
    """One of the UCI sets: X, y; of monk1 the rows to learn from, and those held out."""
    if name == "monk1":
        return *uci("monk1_train"), *uci("monk1_test")
    [(X, y)] = iter_chunks(data_path(f"{name}.csv"), chunk_rows=10**9)
    return X, y


def streams() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Two streams in time order, their names and rows: mails, and prices of electricity."""
    yield "spam mails", *archive("katakis_spam_stream")
    yield "electricity", *uci("electricity_stream")


def topics() -> tuple[Any, Any, Any, Any]:
    """RCV1 with all its topics, a random fifth held out: X, Y, X_test, Y_test (indicators)."""
    X, Y = archive("rcv1_topics")
    train, test = train_test_split(np.arange(X.shape[0]), test_size=0.2, random_state=0)
    Y = sparse.csr_matrix(Y)  # OneVsRestClassifier knows no sparse arrays
    return X[train], Y[train], X[test], Y[test]


def archive(name: str) -> tuple[Any, Any]:
    """An .npz set as it is, with indices of 32 bits."""
    [(X, y)] = iter_chunks(data_path(f"{name}.npz"), chunk_rows=10**9)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def folds(make: Any) -> Iterator[Split]:
    """Yield five splits of a corpus that takes a seed."""
    for seed in SEEDS:
        yield make(seed)


def vectorised(texts: Any) -> Any:
    """TF-IDF of texts."""
    return Tfidf().update(texts).transform(texts)


def _archive(name: str, seed: int, counts: bool = False) -> Split:
    X, y = archive(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    X, X_test = X[train], X[test]
    if counts:
        weigh = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = (sparse.csr_array(weigh.transform(part)) for part in (X, X_test))
    return Split(X, y[train], X_test, y[test])
