"""What `OnlineSRDA` leaves open, asked of training splits alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from benchmarks.problems.rcv1_like import RCV1LikeLong
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.tables import Table, figure
from narrows import OnlineSRDA

SPLITS = 3  # a fifth of the training rows held out, at random

Rows = tuple[Any, np.ndarray]


def splits(X: Any, y: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Seeds, and rows to learn from and held out."""
    found = StratifiedShuffleSplit(SPLITS, test_size=0.2, random_state=0).split(y, y)
    for seed, (train, test) in enumerate(found):
        yield seed, train, test


def reduced(X: Any, y: np.ndarray, **parameters: Any) -> str:
    """Micro-F1 by each classifier on what OnlineSRDA leaves, mean over the splits."""
    scores = []
    for seed, train, test in splits(X, y):
        learner = OnlineSRDA(random_state=seed, **parameters).fit(X[train], y[train])
        Z = learner.transform(X)
        scores.append(f1(Z[train], y[train], Z[test], y[test]))
    return _shown(np.mean(scores, axis=0))


def _shown(scores: np.ndarray) -> str:
    return " / ".join(map(figure, scores))


class OpenQuestions:
    """A line for each question: the data, the results and the conclusion."""

    name = "online_srda_questions"

    def table(self) -> Table:
        asked = (_hashing, _topics, _million)
        header = [
            "question",
            "training samples, splits",
            f"micro-F1, {' / '.join(NAMES)}",
            "conclusion",
        ]
        return Table(header, [_answered(ask) for ask in asked])


def _answered(ask: Any) -> list[str]:
    print(ask.__name__, file=sys.stderr)  # it takes minutes
    return ask()


def _hashing() -> list[str]:
    """The loss by hashed features."""
    found = []
    for name, file in (("20 Newsgroups", "20news_bydate.jsonl.gz"), ("R8", "r8.jsonl.gz")):
        words, y = corpora.raw(file)["train"]
        scores = [reduced(corpora.vectorised(words), y)]
        for bits in (20, 18):
            hashed = HashingVectorizer(
                n_features=2**bits, token_pattern=r"(?u)\b\w+\b", norm=None, alternate_sign=False
            )
            X = TfidfTransformer(sublinear_tf=True).fit_transform(hashed.transform(words))
            scores.append(reduced(sparse.csr_array(X), y))
        found.append(f"{name} {', '.join(scores)}")
    return [
        "hashed features: a vocabulary, 2^20, 2^18",
        f"two sets, {SPLITS} seeded splits each",
        "; ".join(found),
        "hash features if no vocabulary is available",
    ]


def _topics() -> list[str]:
    """RCV1 with all its topics, several a document."""
    file = np.load(Path(os.environ["NARROWS_DATA"]) / "rcv1_topics.npz")
    X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), file["shape"])
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    ones = np.ones(len(file["yindices"]))
    Y = sparse.csr_array((ones, file["yindices"], file["yindptr"]), file["yshape"]).toarray()
    Y = Y.astype(int)[:, Y.sum(axis=0) > 50]
    order = np.random.default_rng(0).permutation(len(Y))
    train, test = order[: len(Y) * 4 // 5], order[len(Y) * 4 // 5 :]
    learner = OnlineSRDA(random_state=0).fit(X[train], Y[train])
    Z = learner.transform(X)
    shown = [figure(f1_score(Y[test], learner.predict(X[test]), average="micro"))]
    machines = LinearSVC(random_state=0), LogisticRegression(), KNeighborsClassifier()
    for rows in (Z, X):
        made = [OneVsRestClassifier(each).fit(rows[train], Y[train]) for each in machines]
        found = [each.predict(rows[test]) for each in made]
        shown.append(_shown(np.array([f1_score(Y[test], a, average="micro") for a in found])))
    return [
        f"several labels: `predict`, classifiers on the {Z.shape[1]} directions, all features",
        f"RCV1, {Y.shape[1]} topics, one split",
        ", ".join(shown),
        "a classifier on the directions is better than `predict`",
    ]


def _million() -> list[str]:
    """A million samples, one pass."""
    X, y = RCV1LikeLong().load()
    train, test = np.arange(900_000), np.arange(900_000, 1_000_000)
    OnlineSRDA().partial_fit(X[:100], y[:100])
    start = perf_counter()
    learner = OnlineSRDA(random_state=0).fit(X[train], y[train])
    seconds = perf_counter() - start
    few, shown = train[::20], [figure(float(np.mean(learner.predict(X[test]) == y[test])))]
    for rows in (learner.transform(X), X):
        shown.append(_shown(f1(rows[few], y[few], rows[test], y[test])))
    return [
        "a million samples: `predict`, classifiers on 4 directions, on all features (of a 20th)",
        "RCV1-like, 900,000 training samples",
        ", ".join(shown),
        f"{seconds:.1f} s for the pass, with the random order",
    ]
