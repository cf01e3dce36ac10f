"""What OnlineSRDA keeps, what it costs, and what order, shards and the reservoir do to it."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.studies import corpora
from benchmarks.studies.tables import markdown
from narrows import OC, SRDA, OnlineSRDA

ROUNDS = 3


class OnePass:
    """Micro-F1 of a linear SVM and of 15 nearest neighbours, by training order and reservoir."""

    name = "OnlineSRDA"

    def table(self) -> str:
        header = [
            "micro-F1, linear SVM / 15-NN (cosine)",
            "all columns",
            "OC",
            "SRDA",
            "OnlineSRDA, core alone",
            "**OnlineSRDA**",
            "sorted by label, core alone",
            "sorted by label",
        ]
        rows = []
        for title, split in _texts():
            X, y = split.X, split.y
            order = np.argsort(y, kind="stable")
            learners: list[Any] = [
                OC().fit(X, y),
                SRDA().fit(X, y),
                OnlineSRDA(reservoir=0, random_state=0).fit(X, y),
                OnlineSRDA(random_state=0).fit(X, y),
                OnlineSRDA(reservoir=0, random_state=0).partial_fit(X[order], y[order]),
                OnlineSRDA(random_state=0).partial_fit(X[order], y[order]),
            ]
            cells = [_both(X, split.X_test, split)]
            cells += [_both(m.transform(X), m.transform(split.X_test), split) for m in learners]
            rows.append([f"{title} ({len(np.unique(y))})", *cells])
        return markdown(header, rows)


class Shards:
    """Micro-F1 of a linear SVM after merging the states of so many shards."""

    name = "merged shards"

    def table(self) -> str:
        rows = []
        for title, split in _texts():
            X, y = split.X, split.y
            order = np.random.default_rng(0).permutation(len(y))
            cells: dict[bool, list[float]] = {True: [], False: []}
            for parts in (1, 2, 4, 8, 16):
                merged = OnlineSRDA(random_state=0).merge(
                    *(
                        OnlineSRDA(random_state=0).partial_fit(X[rows], y[rows])
                        for rows in np.array_split(order, parts)
                    )
                )
                for polish, mine in cells.items():
                    merged.set_params(polish=polish)
                    Z, Z_test = merged.transform(X), merged.transform(split.X_test)
                    mine.append(_svm(Z, Z_test, split))
            rows += [[title, *cells[True]], [f"{title}, polish=False", *cells[False]]]
        return markdown(["shards", "1", "2", "4", "8", "16"], rows)


class Rivals:
    """20 Newsgroups: seconds, memory, and what is left, beside what else one would take."""

    name = "one pass and its rivals"

    def table(self) -> str:
        split = corpora.news()
        X, y, X_test = split.X, split.y, split.X_test
        rows = []
        for name, made in (
            ("OnlineSRDA", OnlineSRDA(random_state=0, polish=False)),
            ("OnlineSRDA, read", OnlineSRDA(random_state=0)),
            ("SRDA", SRDA()),
            ("OC", OC()),
            ("TruncatedSVD 100", TruncatedSVD(100, random_state=0)),
            ("SGDClassifier", SGDClassifier(random_state=0)),
        ):
            with threadpool_limits(1):  # which the process that is measured inherits
                runs = [harness.measure(METHODS[name](), X, y, 120.0) for _ in range(ROUNDS)]
            seconds, peak = (median(run[key] for run in runs) for key in ("seconds", "peak"))
            made.fit(X, y)
            reduce = getattr(made, "transform", None) or made.decision_function
            Z, Z_test = reduce(X), reduce(X_test)
            rows.append([name, f"{seconds:.2f}", f"{peak:.0f}", _svm(Z, Z_test, split),
                         _knn(Z, Z_test, split)])  # fmt: skip
        header = ["one core", "seconds", "MB above the data", "linear SVM", "15-NN (cosine)"]
        return markdown(header, rows)


def _texts() -> Any:
    yield "20 Newsgroups", corpora.news()
    yield "R8", corpora.r8()
    yield "tr41", corpora.tr41()
    yield "RCV1", corpora.rcv1()


def _svm(Z: Any, Z_test: Any, split: Any) -> float:
    machine = LinearSVC(random_state=0).fit(Z, split.y)
    return float(machine.score(Z_test, split.y_test))


def _knn(Z: Any, Z_test: Any, split: Any) -> float:
    neighbours = KNeighborsClassifier(15, metric="cosine").fit(Z, split.y)
    return float(neighbours.score(Z_test, split.y_test))


def _both(Z: Any, Z_test: Any, split: Any) -> str:
    pair = _svm(Z, Z_test, split), _knn(Z, Z_test, split)
    return " / ".join(f"{value:.3f}".replace("0.", ".", 1) for value in pair)
