"""What classifiers behind a discriminant give: three of them, and the model's own `predict`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from benchmarks.harness import data_path
from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import LDA, SRDA, KernelSRDA, OnlineSRDA

SEEDS = range(3)  # of the random splits
CLASSIFIERS = (LogisticRegression(max_iter=1000), LinearSVC(random_state=0), KNeighborsClassifier())
MOST = 1_500  # features for KernelSRDA, which has as many coordinates more


class Lengths:
    """Accuracy behind SRDA, LDA, OnlineSRDA and KernelSRDA on all sets."""

    name = "lengths"

    def table(self) -> Table:
        header = ["set", "method", "predict", "logistic regression", "linear SVM", "5-NN"]
        rows = []
        for title, parts in _sets():
            for model in (SRDA(), LDA(), OnlineSRDA(random_state=0), KernelSRDA(random_state=0)):
                if _fits(model, parts[0].X):
                    found = np.array([_scores(clone(model), part) for part in parts])
                    name = type(model).__name__
                    rows.append([title, name, *(_spread(each) for each in found.T)])
        return Table(header, rows)


def _fits(model: Any, X: Any) -> bool:
    """Whether a set is of the size that a method is for."""
    d = X.shape[1]
    if isinstance(model, KernelSRDA):
        return d <= MOST
    return not isinstance(model, LDA) or d <= 8_192 or not sparse.issparse(X)


def _sets() -> Iterator[tuple[str, list[corpora.Split]]]:
    for title, corpus in (("20 Newsgroups", corpora.news), ("R8", corpora.r8)):
        yield title, [corpus()]
    yield "RCV1", [corpora.rcv1(seed) for seed in SEEDS]
    for name in ("tr41", "re0", "re1"):
        yield name, list(_random(*corpora.documents(name)))
    X, y = corpora.archive("katakis_spam_stream")
    yield "spam mails", list(_random(X, y))
    file = np.load(data_path("news20_static384.npz"))
    X, y, first = file["X"].astype(np.float32), file["y"], file["train"].astype(bool)
    yield "20 Newsgroups, embeddings", [corpora.Split(X[first], y[first], X[~first], y[~first])]
    yield "ORL faces", list(_random(*corpora.faces()))
    for name in (*corpora.UCI, "electricity_stream"):
        given = corpora.uci(name)
        yield name, [corpora.Split(*given)] if len(given) == 4 else list(_random(*given))


def _random(X: Any, y: np.ndarray) -> Iterator[corpora.Split]:
    """Yield splits with a stratified third held out."""
    for seed in SEEDS:
        train, test = train_test_split(
            np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed
        )
        yield corpora.Split(X[train], y[train], X[test], y[test])


def _scores(model: Any, part: corpora.Split) -> list[float]:
    """Return the accuracies of `predict`, and of each classifier behind `transform`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that stop, and of labels that are numbers
        Z, Z_test = model.fit(part.X, part.y).transform(part.X), model.transform(part.X_test)
        found = [float(model.score(part.X_test, part.y_test))]
        for classifier in CLASSIFIERS:
            found.append(float(clone(classifier).fit(Z, part.y).score(Z_test, part.y_test)))
    return found


def _spread(values: np.ndarray) -> str:
    spread = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"
