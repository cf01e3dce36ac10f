"""OnlineSRDA on wide sparse data: other orders, and parts that are merged, beside batch SRDA."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, behind
from benchmarks.studies.corpora import Split
from benchmarks.studies.online import predicted
from benchmarks.tables import Table, figure
from narrows import SRDA, OnlineSRDA
from narrows.text import HashedTfidf

SEEDS = range(2)  # of sets without a split of their own
PARTS = (2, 8, 32)
ORDERS = ("random", "sorted", "drifting")


class Wide:
    """`predict` and classifiers on transformed samples, and the CPU time of one thread."""

    name = "wide"

    def table(self) -> Table:
        header = [
            "micro-F1, means", "classifier", "SRDA", *ORDERS,
            *(f"{count} parts, {order}" for order in ORDERS[:2] for count in PARTS),
        ]  # fmt: skip
        rows = []
        with threadpool_limits(1):
            for title, make in SETS.items():
                seeds = SEEDS[:1] if title in OWN else SEEDS
                found = np.mean([_scores(make(seed), seed, title) for seed in seeds], axis=0)
                *scores, seconds = found.T
                for name, row in zip(("`predict`", *NAMES), scores, strict=True):
                    rows.append([title, name, *map(figure, row)])
                rows.append([title, "seconds", *(f"{value:.2f}" for value in seconds)])
        return Table(header, rows)


def _counted(name: str, seed: int) -> Split:
    """A set of counts, weighed by TF-IDF as `corpora.tr41` is, a stratified fifth held out."""
    X, y = corpora.archive(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    weigh = TfidfTransformer(sublinear_tf=True).fit(X[train])
    parts = (sparse.csr_array(weigh.transform(X[rows])) for rows in (train, test))
    return Split(next(parts), y[train], next(parts), y[test])


def _hashed(bits: int, _: int) -> Split:
    (texts, y), (texts_test, y_test) = corpora.raw("20news_bydate.jsonl.gz").values()
    tfidf = HashedTfidf(2**bits).update(texts)
    return Split(tfidf.transform(texts), y, tfidf.transform(texts_test), y_test)


def _mails(seed: int) -> Split:
    """The mails in time order, a fifth held out."""
    X, y = corpora.archive("katakis_spam_stream")
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    train.sort()
    return Split(X[train], y[train], X[test], y[test])


SETS: dict[str, Callable[[int], Split]] = {
    "20 Newsgroups": lambda _: corpora.news(),
    "20 Newsgroups, 2^18 hashed features": partial(_hashed, 18),
    "20 Newsgroups, 2^20 hashed features": partial(_hashed, 20),
    "R8": lambda _: corpora.r8(),
    "RCV1, 4 classes": corpora.rcv1,
    "mails": _mails,
    "re0": partial(_counted, "re0"),
    "re1": partial(_counted, "re1"),
    "tr41": partial(_counted, "tr41"),
}


OWN = {title for title in SETS if "Newsgroups" in title or title == "R8"}


def _scores(data: Split, seed: int, title: str) -> np.ndarray:
    """Return a row for SRDA and each fit of OnlineSRDA: the scores, and seconds."""
    orders = _orders(data.y, seed, title == "mails")
    fits: list[Callable[[], Any]] = [lambda: SRDA(solver="lsqr").fit(data.X, data.y)]
    fits += [partial(_fitted, data, seed, [order]) for order in orders.values()]
    fits += [
        partial(_fitted, data, seed, np.array_split(orders[order], count))
        for order in ORDERS[:2]
        for count in PARTS
    ]
    return np.array([_timed(fit, data) for fit in fits])


def _timed(fit: Callable[[], Any], data: Split) -> list[float]:
    start = time.process_time()
    model = fit()
    model.transform(data.X[:1])
    model.predict(data.X[:1])
    seconds = time.process_time() - start
    return [predicted(model, data), *behind(model, data), seconds]


def _fitted(data: Split, seed: int, parts: list[np.ndarray]) -> OnlineSRDA:
    models = [OnlineSRDA(random_state=seed).partial_fit(data.X[p], data.y[p]) for p in parts]
    return models[0] if len(models) == 1 else OnlineSRDA(random_state=seed).merge(*models)


def _orders(y: np.ndarray, seed: int, in_time: bool) -> dict[str, np.ndarray]:
    """Return orders of the samples; those that drift come in time, or half the classes first."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(y))
    code = np.unique(y, return_inverse=True)[1][shuffled]
    late = rng.permutation(code.max() + 1)[: (code.max() + 1) // 2]
    drifting = shuffled[np.argsort(np.isin(code, late), kind="stable")]
    return {
        "random": shuffled,
        "sorted": shuffled[np.argsort(code, kind="stable")],
        "drifting": np.arange(len(y)) if in_time else drifting,
    }
