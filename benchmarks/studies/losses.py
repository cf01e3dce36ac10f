"""Squared loss, softmax, and the choice between them by what they predict before learning."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from river import datasets as bundled
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import data_path
from benchmarks.studies import which
from benchmarks.studies.corpora import Split
from benchmarks.studies.online import predicted, svm
from benchmarks.tables import Table, figure
from narrows import OnlineSRDA
from narrows.evaluate.comparison import split

SEEDS = range(3)
LOSSES = ("squared", "softmax", "auto")


class Losses:
    """Scores by loss, how often "auto" takes softmax, and its time."""

    name = "online_srda_losses"

    def table(self) -> Table:
        header = [
            "squared / softmax, median of 3 orders", "samples learned", "before learning",
            "linear SVM", "predict", '"auto" takes softmax',
            '"auto" less squared: SVM / predict', 'CPU seconds, "auto" / squared',
        ]  # fmt: skip
        rows = []
        for title, data in _sets():
            found = {
                loss: np.array([_scores(data, loss, seed) for seed in SEEDS]) for loss in LOSSES
            }
            before, machine, own, _, seconds = (
                {loss: float(np.median(found[loss][:, k])) for loss in LOSSES} for k in range(5)
            )
            gain = [f"{score['auto'] - score['squared']:+.3f}" for score in (machine, own)]
            rows.append(
                [
                    title, len(data.y),
                    *(f"{figure(s['squared'])} / {figure(s['softmax'])}"
                      for s in (before, machine, own)),
                    f"{int(found['auto'][:, 3].sum())} of {len(SEEDS)}", " / ".join(gain),
                    f"{seconds['auto'] / seconds['squared']:.1f}",
                ]
            )  # fmt: skip
        return Table(header, rows)


def _scores(data: Split, loss: str, seed: int) -> list[float]:
    model = OnlineSRDA(loss=loss, random_state=seed)
    started = process_time()
    model.fit(data.X, data.y)
    seconds = process_time() - started
    softmax = getattr(model, "loss_", loss) == "softmax"
    return [model.score_, svm(model, data), predicted(model, data), float(softmax), seconds]


def _sets() -> Iterator[tuple[str, Split]]:
    for data in which.sets():
        yield data.title, Split(*data.folds[0])
    yield "digits", _split(*load_digits(return_X_y=True))
    yield "breast cancer", _split(*load_breast_cancer(return_X_y=True), scaled=True)
    file = np.load(data_path("news20_static384.npz"))
    yield "embeddings of 384 dimensions", _split(file["X"].astype(np.float64), file["y"])
    for name in ("Phishing", "Bananas", "ImageSegments"):
        pairs = [(list(x.values()), str(label)) for x, label in getattr(bundled, name)()]
        X, y = (np.array(column) for column in zip(*pairs, strict=True))
        yield f"{name} (River)", _split(X, y, scaled=True)
    yield "two moons", _split(*make_moons(4000, noise=0.25, random_state=0))
    yield "10 classes of 3 clusters in 20 dimensions", _split(*_clusters(10, 3, 20, 0.8))
    yield "26 clusters in 8 dimensions", _split(*_clusters(26, 1, 8, 1.4))
    yield "4 classes along a line", _split(*_line(4))


def _split(X: Any, y: np.ndarray, scaled: bool = False) -> Split:
    X, y, X_test, y_test = next(split(X, y))
    if scaled:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Split(X, y, X_test, y_test)


def _clusters(classes: int, each: int, d: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return 8,000 samples of classes of several normal clusters each, of unit variance."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(classes * each, d)) * spread
    cluster = random.integers(len(centres), size=8000)
    return centres[cluster] + random.normal(size=(8000, d)), cluster % classes


def _line(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 6,000 samples of classes side by side in the plane."""
    random = np.random.default_rng(0)
    y = random.integers(classes, size=6000)
    centres = np.column_stack([1.5 * y, random.normal(size=6000)])
    return centres + 0.5 * random.normal(size=(6000, 2)), y
