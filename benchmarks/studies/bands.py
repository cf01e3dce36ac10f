"""SRDA in bands beside SRDA of all samples at once: quality on text, and cost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import OC, SRDA, OnlineSRDA
from narrows.state.class_stats import ClassStats
from narrows.state.mapped import Mapped
from narrows.state.maps import Bands
from narrows.text import HashedTfidf

HEADS = (1000, 2000, 3000, 4000)
ROUNDS = 5
LSQR = 'SRDA(solver="lsqr")'
METHODS: dict[str, Callable[[], Any]] = {
    LSQR: partial(SRDA, solver="lsqr"),
    "OnlineSRDA": partial(OnlineSRDA, random_state=0),
    "OC": OC,
    **{f"bands, head={head}": partial(SRDA, solver="bands", head=head) for head in HEADS},
}


class BandsQuality:
    """Micro-F1 of a linear SVM on transformed samples, and of `predict`."""

    name = "srda_bands"

    def table(self) -> Table:
        rows, means = [], []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of machines that stop
            for title, splits in _sets():
                found = [_scores(split) for split in splits]
                rows.append([title, *(_shown([f[key] for f in found]) for key in found[0])])
                means.append({key: np.mean([f[key] for f in found], axis=0) for key in found[0]})
        keys = list(means[0])
        gains = [np.mean([m[key] - m[LSQR] for m in means], axis=0)[0] for key in keys]
        rows.append([f"mean difference to {LSQR}, SVM", *(f"{gain:+.4f}" for gain in gains)])
        return Table(["linear SVM / predict", *keys], rows)


class BandsCost:
    """CPU time of both passes and of the solve, on one thread."""

    name = "srda_bands_cost"

    def table(self) -> Table:
        header = [
            "set", "head", "bands", "coordinates", "pass 1, µs a sample", "pass 2, µs a sample",
            "map, s", "solve, s",
        ]  # fmt: skip
        rows = []
        for title, make in (("20 Newsgroups", corpora.news), ("RCV1", corpora.rcv1)):
            split = make()
            most = 1024 // len(np.unique(split.y))
            settings = [*((head, "auto") for head in HEADS), (2000, most), (3000, most)]
            with threadpool_limits(1):
                rows += [[title, *_cost(split, head, bands)] for head, bands in settings]
        return Table(header, rows)


def _sets() -> Iterator[tuple[str, list[corpora.Split]]]:
    """Yield text sets: with their own split where there is one, otherwise with one a seed."""
    yield "20 Newsgroups", [corpora.news()]
    yield "R8", [corpora.r8()]
    yield "RCV1, 4 classes", [corpora.rcv1(seed) for seed in corpora.SEEDS]
    for name in ("re0", "re1", "tr41"):
        yield name, [_counted(name, seed) for seed in corpora.SEEDS]
    for bits in (18, 20):
        yield f"20 Newsgroups, 2^{bits} hashed features", [_hashed(2**bits)]


def _counted(name: str, seed: int) -> corpora.Split:
    """A set of counts, weighed by TF-IDF as `corpora.tr41` is, a stratified fifth held out."""
    X, y = corpora.archive(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    weigh = TfidfTransformer(sublinear_tf=True).fit(X[train])
    parts = (sparse.csr_array(weigh.transform(X[rows])) for rows in (train, test))
    return corpora.Split(next(parts), y[train], next(parts), y[test])


def _hashed(n_features: int) -> corpora.Split:
    (texts, y), (texts_test, y_test) = corpora.raw("20news_bydate.jsonl.gz").values()
    tfidf = HashedTfidf(n_features).update(texts)
    return corpora.Split(tfidf.transform(texts), y, tfidf.transform(texts_test), y_test)


def _scores(split: corpora.Split) -> dict[str, tuple[float, float]]:
    """Return the micro-F1 of a linear SVM and of `predict`, by method; nan without `predict`."""
    found = {"all features": (_svm(split.X, split.X_test, split), np.nan)}
    for key, make in METHODS.items():
        model = make().fit(split.X, split.y)
        predicts = hasattr(model, "predict")
        found[key] = (
            _svm(model.transform(split.X), model.transform(split.X_test), split),
            float(np.mean(model.predict(split.X_test) == split.y_test)) if predicts else np.nan,
        )
    return found


def _svm(Z: Any, Z_test: Any, split: corpora.Split) -> float:
    machine = LinearSVC(random_state=0).fit(Z, split.y)
    return float(f1_score(split.y_test, machine.predict(Z_test), average="micro"))


def _shown(scores: list[tuple[float, float]]) -> str:
    """Means over the splits, and standard deviations of the SVM's where there are several."""
    svm, predicted = np.mean(scores, axis=0)
    spread = f" ± {np.std([s for s, _ in scores], ddof=1):.4f}" if len(scores) > 1 else ""
    return f"{svm:.4f}{spread}" + ("" if np.isnan(predicted) else f" / {predicted:.4f}")


def _cost(split: corpora.Split, head: int, bands: int | str) -> list[str]:
    """Return medians of the rounds."""
    X, y, taken = split.X, split.y, []
    for _ in range(ROUNDS):
        model = SRDA(solver="bands", head=head, bands=bands)
        times = [time.process_time()]
        first = ClassStats(X.shape[1], second="total").update(X, y)
        times.append(time.process_time())
        bands_map = Bands.of(first, head, bands)
        times.append(time.process_time())
        second = Mapped.empty(bands_map, 0).update(X, y)
        second.scatters()  # the products of samples that wait
        times.append(time.process_time())
        model._fit_state(second).components_  # noqa: B018
        times.append(time.process_time())
        taken.append(np.diff(times))
    one, mapped, two, solved = np.median(taken, axis=0)
    n = len(y)
    return [
        f"{head:,}", str(len(bands_map.sizes)), f"{bands_map.n_coordinates:,}",
        f"{1e6 * one / n:.1f}", f"{1e6 * two / n:.0f}", f"{mapped:.2f}", f"{solved:.2f}",
    ]  # fmt: skip
