"""Real text to study, from the folder NARROWS_DATA; and how it is scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from benchmarks.harness import data_path
from benchmarks.studies import classifiers
from narrows.evaluate.splits import Fold, pairs_of
from narrows.read import iter_chunks
from narrows.solve.columns import take
from narrows.text import Tfidf

SEEDS = range(5)


@dataclass
class Split:
    """Rows to learn from, and rows held out; the names of the columns where they have any."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    terms: np.ndarray | None = None

    def f1(self, columns: np.ndarray) -> np.ndarray:
        """Micro- and macro-F1 by each classifier on some of the columns."""
        Z, Z_test = take(self.X, columns), take(self.X_test, columns)
        return classifiers.f1(Z, self.y, Z_test, self.y_test, "micro", "macro")


def comp() -> Split:
    """The five comp.* groups of 20 Newsgroups, by date."""
    return _text("20news_bydate.jsonl.gz", lambda label: label.startswith("comp."))


def news() -> Split:
    """20 Newsgroups, by date: 130,152 terms of the mails to learn from."""
    parts = raw("20news_bydate.jsonl.gz")
    return _vectorised(*parts["train"], *parts["test"])


def r8() -> Split:
    """Reuters R8, with its own split."""
    return _text("r8.jsonl.gz", lambda label: True)


def r8_again(seed: int) -> Split:
    """Reuters R8, a stratified fifth held out at random."""
    texts, y = (np.concatenate(part) for part in zip(*raw("r8.jsonl.gz").values(), strict=True))
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    return _vectorised(texts[train], y[train], texts[test], y[test])


def rcv1(seed: int = 0) -> Split:
    """RCV1, four classes, a random fifth held out."""
    return _archive("rcv1_4class", seed)


def tr41(seed: int = 0) -> Split:
    """The text set tr41, its counts weighed by TF-IDF, a stratified fifth held out."""
    return _archive("tr41", seed, counts=True)


def documents(name: str) -> tuple[Any, np.ndarray]:
    """tr41, re0 or re1 as paper 002 has them: counts weighed by TF-IDF, once for all rows."""
    [(X, y)] = iter_chunks(data_path(f"{name}.npz"), chunk_rows=10**9)
    weighed = TfidfTransformer().fit_transform(X.astype(np.float64))
    return sparse.csr_array(weighed), y


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


@cache
def split(X: Any, y: np.ndarray, cv: int | None = None, seed: int = 0) -> Iterator[Fold]:
    """Yield (X, y, X_test, y_test) of a stratified split, 4 to 1, or of each of cv folds."""
    for train, test in pairs_of(y, cv, 1, seed):
        yield X[train], y[train], X[test], y[test]


def raw(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The texts and labels of each split of a file."""
    parts = {}
    for split in ("train", "test"):
        chunks = list(iter_chunks(data_path(name), split=split))
        texts = np.array([text for part, _ in chunks for text in part], dtype=object)
        parts[split] = texts, np.concatenate([y for _, y in chunks])
    return parts


def _text(name: str, wanted: Any) -> Split:
    parts = []
    for texts, y in raw(name).values():
        keep = np.array([wanted(label) for label in y])
        parts += [texts[keep], y[keep]]
    return _vectorised(*parts)


def vectorised(texts: Any) -> Any:
    """TF-IDF of texts."""
    return Tfidf().update(texts).transform(texts)


def _vectorised(texts: Any, y: np.ndarray, texts_test: Any, y_test: np.ndarray) -> Split:
    tfidf = Tfidf().update(texts)
    return Split(tfidf.transform(texts), y, tfidf.transform(texts_test), y_test, tfidf.terms)


def _archive(name: str, seed: int, counts: bool = False) -> Split:
    X, y = archive(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    X, X_test = X[train], X[test]
    if counts:
        weigh = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = (sparse.csr_array(weigh.transform(part)) for part in (X, X_test))
    return Split(X, y[train], X_test, y[test])
