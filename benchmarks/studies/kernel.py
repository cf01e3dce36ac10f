"""What random features of a kernel give, beside linear discriminants and scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    make_gaussian_quantiles,
    make_moons,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

from benchmarks.harness import data_path
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.tables import Table, figure
from narrows import OCFS, SRDA, KernelSRDA

SEEDS = range(3)  # of the folds and of the random functions
FOLDS = 5
FEW = 2_000  # training samples: with at most so many, the parameters of SVC are searched for
FEATURES = 2_000  # of text
KERNELS = ("rbf", "relu")
SEARCHED = {"C": [1, 10, 100, 1000], "gamma": [0.01, 0.03, 0.1, 0.3, 1, 3]}  # times "scale"
VARIED = "digits", "ionosphere", "balance_scale", "monk1", "two of 20 in XOR", "embeddings"

Fold = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Cell(NamedTuple):
    """What was found on one fold."""

    accuracy: dict[str, float]  # of predict
    behind: dict[str, np.ndarray]  # of each classifier on the dimensions


class KernelSets:
    """What the sets are like, and how samples are held out."""

    name = "kernel_sets"

    def table(self) -> Table:
        rows = []
        for name, (load, held_out) in SETS.items():
            X, y = load()
            d = f"{FEATURES:,} of {X.shape[1]:,}" if sparse.issparse(X) else X.shape[1]
            rows.append([name, len(y), d, len(np.unique(y)), held_out])
        return Table(["set", "samples", "features", "classes", "held out"], rows)


class KernelPredictions:
    """Accuracy of `predict`."""

    name = "kernel_predict"

    def table(self) -> Table:
        rivals = {
            "ridge": "RBFSampler, RidgeClassifierCV",
            "lda": "RBFSampler, LinearDiscriminantAnalysis",
            "svc": "SVC",
        }
        kernels = (f'KernelSRDA, "{kernel}"' for kernel in KERNELS)
        header = ["set", "SRDA", *kernels, *rivals.values()]
        rows = []
        for name in SETS:
            found = cells(name)
            shown = {
                key: _spread([(seed, cell.accuracy.get(key)) for seed, cell in found])
                for key in ("linear", *KERNELS, *rivals)
            }
            main = [shown.pop(key) for key in ("linear", *KERNELS)]
            rows.append([name, *main, *shown.values()])
        return Table(header, rows)


class KernelDimensions:
    """Accuracy of classifiers on n_classes - 1 dimensions."""

    name = "kernel_dimensions"

    def table(self) -> Table:
        header = [
            "set", "classifier", "dimensions", "all features", "SRDA",
            *(f'KernelSRDA, "{kernel}"' for kernel in KERNELS),
        ]  # fmt: skip
        rows = []
        for name, (load, _) in SETS.items():
            found = cells(name)
            few = len(np.unique(load()[1])) - 1
            for k, judge in enumerate(NAMES):
                shown = [
                    _spread([(seed, cell.behind[key][k]) for seed, cell in found])
                    for key in ("all", "linear", *KERNELS)
                ]
                rows.append([name, judge, few, *shown])
        return Table(header, rows)


class KernelParameters:
    """Accuracy of `predict` with other numbers of hidden features, and other widths."""

    name = "kernel_parameters"
    varied = tuple((m, g) for m in (500, 1500, 3000) for g in (1 / 3, 1, 3))

    def table(self) -> Table:
        header = [
            'accuracy of predict, "rbf"',
            *(f"{m:,}, gamma {_times(g)}" for m, g in self.varied),
        ]
        rows = []
        for name in VARIED:
            made: dict[Any, list[Any]] = {key: [] for key in self.varied}
            for seed, (X, y, X_test, y_test) in _folds(name):
                auto = KernelSRDA(n_hidden=1, alpha="scale").fit(X, y).gamma_
                for m, g in self.varied:
                    model = KernelSRDA(n_hidden=m, gamma=g * auto, random_state=seed)
                    made[m, g].append((seed, model.fit(X, y).score(X_test, y_test)))
            rows.append([name, *map(_spread, made.values())])
        return Table(header, rows)


class KernelScaling:
    """Accuracy of `predict` on features as they are, and standardised."""

    name = "kernel_scaling"

    def table(self) -> Table:
        header = ["set", *(f"{m}, {s}" for s in ("as it is", "standardised")
                           for m in ("SRDA", "KernelSRDA"))]  # fmt: skip
        rows = []
        for name in ("cancer", "wine", "pima", "ionosphere", "electricity"):
            row = [name]
            for scaled in (False, True):
                for model in (SRDA(), KernelSRDA()):
                    found = []
                    for seed, (X, y, X_test, y_test) in _folds(name, scaled):
                        if isinstance(model, KernelSRDA):
                            model.set_params(random_state=seed)
                        found.append((seed, model.fit(X, y).score(X_test, y_test)))
                    row.append(_spread(found))
            rows.append(row)
        return Table(header, rows)


@cache
def cells(name: str) -> list[tuple[int, Cell]]:
    """Return the seed of each fold of a set, and what was found."""
    return [(seed, _cell(seed, *fold)) for seed, fold in _folds(name)]


def _cell(seed: int, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Cell:
    accuracy, behind = {}, {"all": f1(X, y, X_test, y_test)}
    models = {"linear": SRDA()} | {
        kernel: KernelSRDA(kernel=kernel, random_state=seed) for kernel in KERNELS
    }
    for key, model in models.items():
        model.fit(X, y)
        accuracy[key] = float(model.score(X_test, y_test))
        behind[key] = f1(model.transform(X), y, model.transform(X_test), y_test)
    random = RBFSampler(n_components=1500, gamma="scale", random_state=seed)
    rivals: dict[str, Any] = {
        "ridge": make_pipeline(random, RidgeClassifierCV(10.0 ** np.arange(-5, 5))),
        "lda": make_pipeline(random, LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    }
    if len(y) <= FEW:
        scale = 1 / (X.shape[1] * X.var())
        grid = {"C": SEARCHED["C"], "gamma": [scale * g for g in SEARCHED["gamma"]]}
        inner = StratifiedKFold(3, shuffle=True, random_state=seed)
        rivals["svc"] = GridSearchCV(SVC(), grid, cv=inner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ill-conditioned matrices, and of machines that stop
        for key, rival in rivals.items():
            accuracy[key] = float(rival.fit(X, y).score(X_test, y_test))
    return Cell(accuracy, behind)


def _folds(name: str, scaled: bool = True) -> Iterator[tuple[int, Fold]]:
    """Yield all folds of a set, each with a seed."""
    X, y = SETS[name][0]()
    for seed in SEEDS:
        for train, held in _held_out(name, X, y, seed):
            A, B = X[train], X[held]
            if sparse.issparse(X):
                ocfs = OCFS(n_features=FEATURES).fit(A, y[train])
                A, B = (normalize(ocfs.transform(part)).toarray() for part in (A, B))
            elif scaled and name not in AS_THEY_ARE:
                scaler = StandardScaler().fit(A)
                A, B = scaler.transform(A), scaler.transform(B)
            yield seed, (A, y[train], B, y[held])


def _held_out(name: str, X: Any, y: np.ndarray, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield the training samples of each fold, and those held out."""
    kind = SETS[name][1]
    if kind == FIVE:
        yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)
        return
    first = 0.8 * len(y) if kind == LAST else _TRAINED[name]
    yield np.flatnonzero(np.arange(len(y)) < first), np.flatnonzero(np.arange(len(y)) >= first)


@cache
def _embeddings() -> tuple[np.ndarray, np.ndarray]:
    """Embeddings of 20 Newsgroups, those of its own training part first."""
    file = np.load(data_path("news20_static384.npz"))
    order = np.argsort(~file["train"].astype(bool), kind="stable")
    _TRAINED["embeddings"] = int(file["train"].sum())
    return file["X"][order].astype(np.float64), file["y"][order]


@cache
def _news() -> tuple[Any, np.ndarray]:
    part = corpora.news()
    _TRAINED["20 Newsgroups"] = len(part.y)
    X = sparse.csr_array(sparse.vstack([part.X, part.X_test]))
    return X, np.concatenate([part.y, part.y_test])


def _monk1() -> tuple[np.ndarray, np.ndarray]:
    X, y, X_test, y_test = corpora.uci("monk1")
    return np.vstack([X, X_test]), np.concatenate([y, y_test])


def _faces() -> tuple[np.ndarray, np.ndarray]:
    X, y = corpora.faces()
    return X[:, ::20] / 255, y


def _digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def _xor() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(2000, 20))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


_TRAINED: dict[str, int] = {}  # training samples, which come first
FIVE, LAST, OWN = "five folds", "the last fifth", "its own split"
AS_THEY_ARE = ("digits", "ORL faces", "embeddings")  # features of one unit
SETS: dict[str, tuple[Callable[[], Any], str]] = {
    "digits": (_digits, FIVE),
    "ORL faces": (_faces, FIVE),
    "ionosphere": (lambda: corpora.uci("ionosphere"), FIVE),
    "balance_scale": (lambda: corpora.uci("balance_scale"), FIVE),
    "monk1": (_monk1, FIVE),
    "monk1, distinct samples": (lambda: corpora.uci("monk1_test"), FIVE),
    "iris": (lambda: corpora.uci("iris"), FIVE),
    "wine": (lambda: corpora.uci("wine"), FIVE),
    "cancer": (lambda: load_breast_cancer(return_X_y=True), FIVE),
    "pima": (lambda: corpora.uci("pima_diabetes"), FIVE),
    "waveform": (lambda: corpora.uci("waveform"), FIVE),
    "electricity": (lambda: corpora.uci("electricity_stream"), LAST),
    "embeddings": (_embeddings, OWN),
    "20 Newsgroups": (_news, OWN),
    "tr41": (lambda: corpora.documents("tr41"), FIVE),
    "moons": (lambda: make_moons(1000, noise=0.3, random_state=0), FIVE),
    "spheres": (
        lambda: make_gaussian_quantiles(n_samples=2000, n_features=10, n_classes=3, random_state=0),
        FIVE,
    ),
    "two of 20 in XOR": (_xor, FIVE),
}


def _times(factor: float) -> str:
    return "1" if factor == 1 else "1/3" if factor < 1 else "3"


def _spread(values: list[tuple[int, Any]]) -> str:
    """Mean, and the standard deviation of the means of each seed."""
    seeds, found = zip(*values, strict=True)
    if found[0] is None:
        return "-"
    means = [np.mean([v for s, v in values if s == seed]) for seed in sorted(set(seeds))]
    spread = float(np.std(means, ddof=1))
    mean = figure(float(np.mean(means)))
    return f"{mean} ± {figure(spread)}" if spread else mean
