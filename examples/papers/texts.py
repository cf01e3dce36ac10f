"""Texts and word counts of the papers, vectorised and split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from examples.papers.sources import path
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from narrows.evaluate.splits import Fold, pairs_of
from narrows.read import iter_chunks
from narrows.text import Tfidf

NEWS, R8 = "20news_bydate.jsonl.gz", "r8.jsonl.gz"


@dataclass
class Split:
    """Training and test samples; the names of the features where they have any."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    terms: np.ndarray | None = None


def comp() -> Split:
    """Return the five comp.* groups of 20 Newsgroups, split by date."""
    return _text(NEWS, _is_comp)


def news() -> Split:
    """Return 20 Newsgroups, split by date: the 130,152 terms of the training mails."""
    return _text(NEWS, lambda label: True)


def r8() -> Split:
    """Return Reuters R8, with its own split."""
    return _text(R8, lambda label: True)


def r8_again(seed: int) -> Split:
    """Return Reuters R8 with a random stratified fifth as test samples."""
    texts, y = (np.concatenate(part) for part in zip(*raw(R8).values(), strict=True))
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    return _vectorised(texts[train], y[train], texts[test], y[test])


def documents(name: str) -> tuple[Any, np.ndarray]:
    """Return tr41, re0 or re1: word counts weighted by TF-IDF once, as Ye et al. (2005) do."""
    X, y = counts(name)
    return sparse.csr_array(TfidfTransformer().fit_transform(X)), y


def counts(name: str) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the word counts of tr41, re0 or re1, and the labels."""
    [(X, y)] = iter_chunks(path(f"{name}.npz"), chunk_rows=10**9)
    return X.astype(np.float64), y


def split(X: Any, y: np.ndarray, cv: int | None = None, seed: int = 0) -> Iterator[Fold]:
    """Yield (X, y, X_test, y_test) of a stratified split, 4 to 1, or of each of cv folds."""
    for train, test in pairs_of(y, cv, 1, seed):
        yield X[train], y[train], X[test], y[test]


def raw(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the texts and labels of each split of a file."""
    parts = {}
    for part in ("train", "test"):
        chunks = list(iter_chunks(path(name), split=part))
        texts = np.array([text for some, _ in chunks for text in some], dtype=object)
        parts[part] = texts, np.concatenate([y for _, y in chunks])
    return parts


def comp_mails() -> list[np.ndarray]:
    """Return the texts and labels of the training mails of comp.*, and of the test mails."""
    return _parts(NEWS, _is_comp)


def _is_comp(label: str) -> bool:
    return label.startswith("comp.")


def _text(name: str, wanted: Callable[[str], bool]) -> Split:
    return _vectorised(*_parts(name, wanted))


def _parts(name: str, wanted: Callable[[str], bool]) -> list[np.ndarray]:
    parts = []
    for texts, y in raw(name).values():
        keep = np.array([wanted(label) for label in y])
        parts += [texts[keep], y[keep]]
    return parts


def _vectorised(texts: Any, y: np.ndarray, texts_test: Any, y_test: np.ndarray) -> Split:
    tfidf = Tfidf().update(texts)
    return Split(tfidf.transform(texts), y, tfidf.transform(texts_test), y_test, tfidf.terms)
