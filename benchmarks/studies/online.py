"""What the studies of OnlineSRDA share: the sets, two sizes of the reservoir, and the scores."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.harness import data_path
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import behind
from benchmarks.studies.corpora import Split
from narrows import OnlineSRDA

SEEDS = range(5)
FOLDS = 5
RESERVOIRS = ("2,000", "n/10")
PAIR = ("sci.space", "rec.autos")  # two of the 20 Newsgroups


def reservoir(name: str, n: int) -> int:
    """Return the size of a reservoir for n samples to learn from."""
    return 2000 if name == "2,000" else max(20, n // 10)


@cache
def folds(title: str) -> list[Split]:
    """Return a set as one or several splits into samples to learn from and held-out ones."""
    if title in ("re0", "re1", "tr41"):
        return [Split(*fold) for fold in corpora.split(*corpora.documents(title), FOLDS)]
    if title == "digits":
        return [Split(*fold) for fold in corpora.split(*load_digits(return_X_y=True), FOLDS)]
    if title in ("pima_diabetes", "waveform"):
        X, y = corpora.uci(title)
        return [Split(*fold) for fold in corpora.split(X, y, FOLDS if len(y) < 3000 else None)]
    if title == "electricity":
        X, y = corpora.uci("electricity_stream")
        return [Split(*next(corpora.split(X, y)))]
    if title == "embeddings":
        file = np.load(data_path("news20_static384.npz"))
        return [Split(*next(corpora.split(file["X"].astype(np.float64), file["y"])))]
    if title == "ORL, each 4th pixel":
        X, y = corpora.faces()
        return [Split(*fold) for fold in corpora.split(np.ascontiguousarray(X[:, ::4]), y, FOLDS)]
    if title == "mails":
        return [_fifth(*corpora.archive("katakis_spam_stream"))]
    data = {"20 Newsgroups": corpora.news, "R8": corpora.r8, "RCV1": corpora.rcv1}
    name, _, two = title.partition(", ")
    whole = data[name]()
    if not two:
        return [whole]
    labels, sizes = np.unique(whole.y, return_counts=True)
    wanted = PAIR if name == "20 Newsgroups" else labels[np.argsort(sizes)[-2:]]
    rows, test = (np.flatnonzero(np.isin(y, wanted)) for y in (whole.y, whole.y_test))
    return [Split(whole.X[rows], whole.y[rows], whole.X_test[test], whole.y_test[test])]


def _fifth(X: Any, y: np.ndarray) -> Split:
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=0)
    return Split(X[train], y[train], X[test], y[test])


def svm(model: OnlineSRDA, data: Split) -> float:
    """Return the micro-F1 of a linear SVM on the reduced samples."""
    return float(behind(model, data)[0])


def predicted(model: OnlineSRDA, data: Split) -> float:
    """Return the share of held-out samples that `predict` classifies correctly."""
    return float(np.mean(model.predict(data.X_test) == data.y_test))
