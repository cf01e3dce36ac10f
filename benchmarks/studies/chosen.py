"""What n_components, mu and eps that are "cv" choose, and what classifiers keep with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid
from threadpoolctl import threadpool_limits

from benchmarks.studies import corpora, ridge
from benchmarks.studies.classifiers import NAMES, behind, by_classifier, f1
from benchmarks.tables import Table, figure
from narrows import LDA, MMC, OC, OCFS, SRDA

_NONE = np.zeros(len(NAMES))  # where classifiers are not asked

SEEDS = range(3)
SHARES = (0.3, 1.0)  # of the training samples
NARROW = (
    "digits", "ORL", "waveform", "news20_static384", "re0", "re1", "tr41", "wine", "balance",
    "iris", "topics", "hidden",
)  # fmt: skip
WIDE = ("R8", "re0", "re1", "tr41", "RCV1", "20 Newsgroups")
TWO_CLASSES = ("pima", "ionosphere", "electricity", "cancer", "monk1")
TITLES = {
    "topics": "RCV1, rarest topic of each document",
    "hidden": "made: 30 classes, means in 5 of 60 dimensions",
    "ORL": "ORL, each 20th pixel",
    "news20_static384": "embeddings of 20 Newsgroups",
} | {name: f"{name}, 1,000 features" for name in ("re0", "re1", "tr41")}


class Kept(NamedTuple):
    """Of a fit: what was chosen, the micro-F1 by each classifier, and another accuracy."""

    size: float
    scores: np.ndarray
    other: float = 0.0


class Row(NamedTuple):
    """A set with a number of training samples: results of all features and of each fit."""

    title: str
    n: int
    classes: int
    every: list[np.ndarray]  # one for each split
    by: dict[str, list[Kept]]


class ChosenComponents:
    """`n_components="cv"` beside None: how many directions, and how much of micro-F1 they keep."""

    name = "chosen_components"

    def table(self) -> Table:
        methods = {"SRDA": SRDA(), "OC": OC()}

        def fits(split: corpora.Split, wide: bool) -> dict[str, Kept]:
            found = {}
            for name, method in methods.items():
                if wide and name == "SRDA":  # for which "cv" needs sums of products
                    continue
                model = clone(method).set_params(n_components="cv").fit(split.X, split.y)
                for size in ("cv", None):
                    model.set_params(n_components=size)
                    found[f"{name} {size}"] = Kept(len(model.components_), behind(model, split))
            return found

        header = [
            "set", "samples", "classes", "classifier", "all features",
            *(f"{name}, {size}" for name in methods for size in ("None", '"cv"')),
        ]  # fmt: skip
        rows = []
        for row in _rows(NARROW, WIDE, fits):
            cells = [
                _share(row, f"{name} {size}", lambda p: f"{p:.0f}")
                for name in methods
                for size in (None, "cv")
            ]
            rows += by_classifier([row.title, row.n, row.classes], [_every(row), *cells])
        return Table(header, rows)


class ChosenMu:
    """`mu="cv"` of LDA beside 0.5, also with samples in other units."""

    name = "chosen_mu"

    def table(self) -> Table:
        fixed = {"/ 100": 0.01, "": 1.0, "x 100": 100.0}

        def fits(split: corpora.Split, wide: bool) -> dict[str, Kept]:
            found = {}
            for name, unit in fixed.items():
                model = LDA(mu=0.5).fit(split.X * unit, split.y)
                accuracy = model.score(split.X_test * unit, split.y_test)
                found[name] = Kept(0.5, behind(model, split) if unit == 1 else _NONE, accuracy)
            model = LDA(mu="cv").fit(split.X, split.y)
            accuracy = model.score(split.X_test, split.y_test)
            unit = split.X.var(axis=0).sum()
            return found | {"cv": Kept(model.mu_ / unit, behind(model, split), accuracy)}

        header = [
            "set", "samples", "classes", "classifier", "all features", "LDA, mu=0.5", 'mu="cv"',
            "predict, mu=0.5, X / 100", "X", "100 X", 'predict, mu="cv"',
        ]  # fmt: skip
        rows = []
        for row in _rows((*NARROW, *TWO_CLASSES), (), fits):
            kept = [_share(row, ""), _share(row, "cv", lambda mu: f"{mu:.2g}")]
            others = [_other(row, name) for name in (*fixed, "cv")]
            first = [row.title, row.n, row.classes]
            rows += by_classifier(first, [_every(row), *kept], others)
        return Table(header, rows)


class ChosenEps:
    """`eps="cv"` of MMC beside 1."""

    name = "chosen_eps"

    def table(self) -> Table:
        def fits(split: corpora.Split, wide: bool) -> dict[str, Kept]:
            found = {}
            for name, eps in (("fixed", 1.0), ("cv", "cv")):
                model = MMC(eps=eps).fit(split.X, split.y)
                nearest = NearestCentroid().fit(model.transform(split.X), split.y)
                accuracy = nearest.score(model.transform(split.X_test), split.y_test)
                found[name] = Kept(model.eps_, behind(model, split), accuracy)
            return found

        header = [
            "set", "samples", "classes", "classifier", "all features", "MMC, eps=1", 'eps="cv"',
            "nearest mean, eps=1", 'nearest mean, "cv"',
        ]  # fmt: skip
        rows = []
        for row in _rows((*NARROW, *TWO_CLASSES), (), fits):
            kept = [_share(row, "fixed"), _share(row, "cv", lambda eps: f"{eps:.2g}")]
            others = [_other(row, "fixed"), _other(row, "cv")]
            first = [row.title, row.n, row.classes]
            rows += by_classifier(first, [_every(row), *kept], others)
        return Table(header, rows)


def _every(row: Row) -> list[str]:
    """The micro-F1 by each classifier of all features."""
    return [figure(score) for score in np.mean(row.every, axis=0)]


def _share(row: Row, name: str, size: Callable[[float], str] | None = None) -> list[str]:
    """The median of what was chosen, and per cent of the micro-F1 of all features."""
    if name not in row.by:
        return ["-"] * len(row.every[0])
    found = row.by[name]
    kept = 100 * np.mean([k.scores for k in found], axis=0) / np.mean(row.every, axis=0)
    chosen = f"{size(float(np.median([k.size for k in found])))}: " if size else ""
    return [f"{chosen}{share:.1f} %" for share in kept]


def _other(row: Row, name: str) -> str:
    return figure(float(np.mean([k.other for k in row.by[name]])))


def _rows(
    narrow: tuple[str, ...],
    wide: tuple[str, ...],
    fits: Callable[[corpora.Split, bool], dict[str, Kept]],
) -> Iterator[Row]:
    """Yield what was found for each set and number of training samples."""
    sets = [(name, share, False) for name in narrow for share in SHARES]
    for name, share, is_wide in [*sets, *((name, 1.0, True) for name in wide)]:
        every, by, split = list[np.ndarray](), dict[str, list[Kept]](), None
        for seed in _seeds(name, is_wide):
            split = _split(name, share, seed, is_wide)
            if len(split.y) < 60:
                break
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # of machines that stop, and margins
                for key, kept in fits(split, is_wide).items():
                    by.setdefault(key, []).append(kept)
            every.append(_all(name, share, seed, is_wide))
        if every and split is not None:
            title = name if is_wide else TITLES.get(name, name)
            title += ", all features" if is_wide and name.startswith(("re", "tr")) else ""
            yield Row(title, len(split.y), len(np.unique(split.y)), every, by)


def _seeds(name: str, wide: bool) -> range:
    """One split where a set has its own, or is large."""
    large = name in ("20 Newsgroups", "RCV1", "topics")
    return SEEDS[:1] if large or (wide and name == "R8") else SEEDS


@cache
def _all(name: str, share: float, seed: int, wide: bool) -> np.ndarray:
    """The micro-F1 by each classifier of all features."""
    split = _split(name, share, seed, wide)
    with threadpool_limits(1):
        return f1(split.X, split.y, split.X_test, split.y_test)


def _split(name: str, share: float, seed: int, wide: bool) -> corpora.Split:
    if wide:
        whole = {"R8": corpora.r8, "20 Newsgroups": corpora.news}
        if name in whole:
            return whole[name]()
        return corpora.rcv1(seed) if name == "RCV1" else corpora._archive(name, seed, counts=True)
    if name == "hidden":
        return _hidden(share, seed)
    if name == "topics":
        return _rarest(share, seed)
    if name == "monk1":
        X, y, X_test, y_test = corpora.uci(name)
        some = np.random.default_rng(seed).permutation(len(y))[: int(share * len(y))]
        return corpora.Split(X[some], y[some], X_test, y_test)
    return ridge.split(name, share, seed)


def _hidden(share: float, seed: int) -> corpora.Split:
    """30 classes of unit variance, whose means differ in 5 of 60 dimensions."""
    means = np.random.default_rng(99).normal(size=(30, 5))
    axes = np.linalg.qr(np.random.default_rng(98).normal(size=(60, 5)))[0].T
    rng, parts = np.random.default_rng(seed), []
    for n in (int(1800 * share), 2000):
        y = rng.integers(30, size=n)
        parts += [2.2 * means[y] @ axes + rng.normal(size=(n, 60)), y]
    return corpora.Split(*parts)


def _rarest(share: float, seed: int) -> corpora.Split:
    """RCV1: each document with the rarest of its topics, and 1,000 terms of OCFS."""
    X, Y = corpora.archive("rcv1_topics")
    size = np.asarray(Y.sum(axis=0)).ravel()
    topics = np.split(Y.indices, Y.indptr[1:-1])
    y = np.array([some[size[some].argmin()] if len(some) else -1 for some in topics])
    known = (y >= 0) & (np.bincount(y + 1)[y + 1] >= 20)
    X, y = X[known], y[known]
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    if share < 1:
        train, _ = train_test_split(train, train_size=share, stratify=y[train], random_state=seed)
    test = test[:4000]
    ocfs = OCFS(n_features=1000).fit(X[train], y[train])
    A, B = (ocfs.transform(X[part]).toarray() for part in (train, test))
    return corpora.Split(A, y[train], B, y[test])
