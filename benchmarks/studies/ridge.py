"""What SRDA's choice of the ridge and its posteriors give, by the public API."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from benchmarks.harness import data_path
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import behind, by_classifier, each, f1
from benchmarks.tables import Table
from narrows import LDA, OCFS, SRDA

SEEDS = range(3)
SHARES = (0.3, 1.0)  # of the training samples
HELD_OUT = 4000  # samples at most
FEATURES = 1000  # of text
SETS = (
    "digits", "ORL", "waveform", "ionosphere", "electricity", "news20_static384", "re0", "tr41",
    "pima", "wine", "balance", "cancer",
)  # fmt: skip
MODELS = {
    "scale": SRDA(alpha="scale"),
    "auto": SRDA(),
}


class Cell(NamedTuple):
    """What was found on one training set."""

    every: np.ndarray  # micro-F1 by each classifier, of all features
    by: dict[str, np.ndarray]  # and behind a projection
    accuracy: dict[str, float]  # of predict
    loss: dict[str, float]  # the log-loss of predict_proba
    ratio: float  # the ridge, times "scale"


class Ridge:
    """The chosen ridge beside `alpha="scale"`."""

    name = "srda_ridge"

    def table(self) -> Table:
        header = [
            "set", "samples", "classifier", "all features", 'SRDA, alpha="scale"', 'alpha="auto"',
            'predict, "scale"', 'predict, "auto"', 'alpha_ / "scale", median',
        ]  # fmt: skip
        rows = []
        for name, n, found in cells():
            ratio = float(np.median([cell.ratio for cell in found]))
            scores = [[cell.every for cell in found]]
            scores += [[cell.by[key] for cell in found] for key in ("scale", "auto")]
            own = [_spread([cell.accuracy[key] for cell in found]) for key in ("scale", "auto")]
            cells_of = [each(_spread, score) for score in scores]
            rows += by_classifier([name, f"{n:,}"], cells_of, [*own, f"{ratio:.2g}"])
        return Table(header, rows)


class RidgePosteriors:
    """The log-loss of `predict_proba`, beside scikit-learn's with shrinkage."""

    name = "srda_posteriors"

    def table(self) -> Table:
        names = ("SRDA", "LDA", "scikit-learn")
        header = [
            "set", "samples", *(f"accuracy, {name}" for name in names),
            *(f"log-loss, {name}" for name in names),
        ]  # fmt: skip
        rows = []
        for name, n, found in cells():
            accuracy = [_spread([cell.accuracy[key] for cell in found]) for key in names]
            loss = [_spread([cell.loss[key] for cell in found]) for key in names]
            rows.append([name, f"{n:,}", *accuracy, *loss])
        return Table(header, rows)


@cache
def cells() -> list[tuple[str, int, list[Cell]]]:
    """Every set with each number of training samples: its name, the number, and a cell a seed."""
    found = []
    for name in SETS:
        for share in SHARES:
            parts = [split(name, share, seed) for seed in SEEDS]
            if len(parts[0].y) >= 30:
                found.append((name, len(parts[0].y), [_cell(part) for part in parts]))
    return found


def split(name: str, share: float, seed: int) -> corpora.Split:
    """Return a share of the training samples, and at most 4,000 held-out ones."""
    X, y, trained = _load(name)
    if trained is None:
        test = 5 if name == "ORL" else 3  # one part of so many
        train, held = train_test_split(
            np.arange(len(y)), test_size=1 / test, stratify=y, random_state=seed
        )
    else:
        train, held = np.flatnonzero(trained), np.flatnonzero(~trained)
    if share < 1:
        train, _ = train_test_split(train, train_size=share, stratify=y[train], random_state=seed)
    if len(held) > HELD_OUT:
        held = np.sort(np.random.default_rng(0).choice(held, HELD_OUT, replace=False))
    A, B = X[train], X[held]
    if sparse.issparse(X):
        A, B = _text(A, B, y[train])
    return corpora.Split(A, y[train], B, y[held])


@cache
def _load(name: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return X, y and which samples are for training, if the set says so."""
    if name == "digits":
        return *load_digits(return_X_y=True), None
    if name == "cancer":
        return *load_breast_cancer(return_X_y=True), None
    if name == "ORL":  # each 20th pixel
        X, y = corpora.faces()
        return X[:, ::20] / 255, y, None
    if name == "news20_static384":
        file = np.load(data_path(f"{name}.npz"))
        return file["X"].astype(np.float64), file["y"], file["train"].astype(bool)
    if name in ("re0", "re1", "tr41"):
        return *corpora.archive(name), None
    files = {"pima": "pima_diabetes", "balance": "balance_scale", "electricity": None}
    X, y = corpora.uci(files.get(name, name) or "electricity_stream")
    in_time = np.arange(len(y)) < 0.8 * len(y) if name == "electricity" else None
    return X, y, in_time


def _text(X: Any, X_test: Any, y: np.ndarray) -> list[np.ndarray]:
    """TF-IDF of counts, 1,000 features by OCFS, of unit length."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(X)
    ocfs = OCFS(n_features=FEATURES).fit(sparse.csr_array(weigh.transform(X)), y)
    parts = (ocfs.transform(sparse.csr_array(weigh.transform(part))) for part in (X, X_test))
    return [normalize(part).toarray() for part in parts]


def _cell(part: corpora.Split) -> Cell:
    by, accuracy, loss = {}, {}, {}
    for key, model in MODELS.items():
        model.fit(part.X, part.y)
        by[key] = behind(model, part)
        accuracy[key] = float(model.score(part.X_test, part.y_test))
    ratio = MODELS["auto"].alpha_ / MODELS["scale"].alpha_
    rivals = {
        "SRDA": MODELS["auto"],
        "LDA": LDA(mu=0.5),
        "scikit-learn": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    }
    for key, model in rivals.items():
        if key != "SRDA":
            model.fit(part.X, part.y)
        accuracy[key] = float(model.score(part.X_test, part.y_test))
        probability = model.predict_proba(part.X_test)
        loss[key] = float(log_loss(part.y_test, probability, labels=model.classes_))
    every = f1(part.X, part.y, part.X_test, part.y_test)
    return Cell(every, by, accuracy, loss, ratio)


def _spread(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"
