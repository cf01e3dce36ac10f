"""Forward selection beside selectors that score each feature alone, and beside other libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SequentialFeatureSelector, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.harness import data_path
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, by_classifier, each, f1
from benchmarks.studies.which import _scaled
from benchmarks.tables import Table, middle
from narrows import OCFS, FisherFS, ForwardFS, Moments
from narrows.evaluate.splits import Fold
from narrows.solve.columns import take

SPLITS = range(3)
SIZES = (10, 20, 50, 100)
MOST = 6000  # samples to learn from
SMALLEST = "waveform"
OURS = (ForwardFS, OCFS, FisherFS)

Rank = Callable[[Any, np.ndarray, int], np.ndarray]  # samples, labels, p; the best p features


class ForwardRivals:
    """Accuracy of classifiers by the number of features, and the seconds of selection."""

    name = "forward_rivals"

    def table(self) -> Table:
        rows = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of machines that stop
            rank_by_name = _ranks()
            for title, folds in sets():
                d = folds[0][0].shape[1]
                sizes = [p for p in SIZES if p < d]
                every = [_accuracies(fold, np.arange(d)) for fold in folds]
                cells = [each(middle, every), *[[""] * len(NAMES)] * (len(SIZES) - 1)]
                rows += by_classifier([title, "all features"], cells, [""])
                for name, rank in rank_by_name.items():
                    if name != SEQUENTIAL or title == SMALLEST:
                        rows += by_classifier([title, name], *_line(rank, folds, sizes))
        sizes_of = [f"{p} features" for p in SIZES]
        return Table(["set", "selector", "classifier", *sizes_of, "CPU seconds"], rows)


class ForwardSteps:
    """CPU milliseconds of the moments of ForwardFS, and of the selection after them."""

    name = "forward_steps"

    def table(self) -> Table:
        rows = []
        with threadpool_limits(1):
            for title, folds in sets():
                d = folds[0][0].shape[1]
                p = max(p for p in SIZES if p < d)
                moments, steps = [], []
                for X, y, *_ in folds:
                    start = process_time()
                    summed = Moments.of(X, y, second="cross")
                    moments.append(process_time() - start)
                    start = process_time()
                    ForwardFS(n_features=p).fit_moments(summed)
                    steps.append(process_time() - start)
                n = len(folds[0][1])
                rows.append([title, n, d, p, *map(_milliseconds, (moments, steps))])
        return Table(
            ["set", "samples", "features", "selected", "ms of the moments", "ms of the selection"],
            rows,
        )


@cache
def sets() -> list[tuple[str, list[Fold]]]:
    """Sets of one label a sample, as three splits; compiled loops are loaded for all."""
    found = [(title, list(_folds(X, y))) for title, X, y in _given()]
    for _, folds in found:
        for kind in OURS:
            kind(n_features=1).fit(*folds[0][:2])
    return found


def _given() -> Iterator[tuple[str, Any, np.ndarray]]:
    yield SMALLEST, *corpora.uci("waveform")
    yield "digits", *load_digits(return_X_y=True)
    file = np.load(data_path("news20_static384.npz"))
    yield "20 Newsgroups, embeddings", file["X"].astype(np.float64), file["y"]
    X, y = corpora.documents("re0")
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    yield "re0", X, y


def _folds(X: Any, y: np.ndarray) -> Iterator[Fold]:
    n, held_out = min(MOST, 4 * len(y) // 5), len(y) // 5
    for seed in SPLITS:
        train, test = train_test_split(
            np.arange(len(y)), train_size=n, test_size=held_out, stratify=y, random_state=seed
        )
        yield _scaled(X[train], y[train], X[test], y[test])


# -- selectors ------------------------------------------------------------------------------------


SEQUENTIAL = "SequentialFeatureSelector"


def _ranks() -> dict[str, Rank]:
    """Return the selectors that are installed."""
    ranks = {kind.__name__: _ours(kind) for kind in OURS}
    for name, module, rank in (("fastcan", "fastcan", _fastcan), ("mRMR", "mrmr", _mrmr)):
        try:
            import_module(module)
        except ImportError:
            continue
        ranks[name] = rank
    return ranks | {
        "ExtraTreesClassifier": _trees,
        "L1 LogisticRegression": _l1,
        "mutual_info_classif": _mutual_information,
        SEQUENTIAL: _sequential,
    }


def _ours(kind: Any) -> Rank:
    return lambda X, y, p: kind(n_features=p).fit(X, y).ranking_[:p]


def _fastcan(X: Any, y: np.ndarray, p: int) -> np.ndarray:
    """All indicators as targets; by eta-cosines if there are more samples than features."""
    from fastcan import FastCan

    Y = LabelBinarizer().fit_transform(y)
    select = FastCan(p, eta=X.shape[0] > X.shape[1] + Y.shape[1], verbose=0)
    return np.asarray(select.fit(_dense(X), Y).indices_)


def _mrmr(X: Any, y: np.ndarray, p: int) -> np.ndarray:
    """Of a DataFrame, on one core."""
    from mrmr import mrmr_classif

    table = pd.DataFrame(_dense(X))
    return np.array(mrmr_classif(table, pd.Series(y), K=p, n_jobs=1, show_progress=False))


def _trees(X: Any, y: np.ndarray, p: int) -> np.ndarray:
    return _best(ExtraTreesClassifier(random_state=0).fit(X, y).feature_importances_, p)


def _l1(X: Any, y: np.ndarray, p: int) -> np.ndarray:
    """The sums of the coefficients of each feature, without signs."""
    machine = LogisticRegression(penalty="l1", solver="liblinear", random_state=0)
    fitted = OneVsRestClassifier(machine).fit(X, y)
    return _best(np.sum([abs(each.coef_[0]) for each in fitted.estimators_], axis=0), p)


def _mutual_information(X: Any, y: np.ndarray, p: int) -> np.ndarray:
    """Of sparse features, whether they are present."""
    known = (X != 0).astype(np.float64) if sparse.issparse(X) else X
    return _best(mutual_info_classif(known, y, random_state=0), p)


def _sequential(X: Any, y: np.ndarray, p: int) -> np.ndarray:
    """In no order: it is fitted for each number of features."""
    select = SequentialFeatureSelector(LinearSVC(random_state=0), n_features_to_select=p)
    return np.flatnonzero(select.fit(X, y).get_support())


def _best(scores: np.ndarray, p: int) -> np.ndarray:
    return np.argsort(-scores, kind="stable")[:p]


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


# -- scores ---------------------------------------------------------------------------------------


def _line(rank: Rank, folds: list[Fold], sizes: list[int]) -> tuple[Any, Any]:
    """The accuracies by the number of features, and the seconds to select the most."""
    found: dict[int, list[np.ndarray]] = {p: [] for p in sizes}
    taken = []
    for fold in folds:
        for p in reversed(sizes):
            if p == sizes[-1] or rank is _sequential:
                start = process_time()
                order = rank(*fold[:2], p)
                seconds = process_time() - start
            if p == sizes[-1]:
                taken.append(seconds)
            found[p].append(_accuracies(fold, order[:p]))
    cells = [each(middle, found[p]) if p in found else [""] * len(NAMES) for p in SIZES]
    return cells, [_seconds(taken)]


def _accuracies(fold: Fold, features: np.ndarray) -> np.ndarray:
    X, y, X_test, y_test = fold
    return f1(take(X, features), y, take(X_test, features), y_test)


def _seconds(taken: list[float]) -> str:
    return "{:.2g} ({:.2g} to {:.2g})".format(*(f(taken) for f in (np.median, min, max)))


def _milliseconds(taken: list[float]) -> str:
    return "{:.1f} ({:.1f} to {:.1f})".format(*(1000 * f(taken) for f in (np.median, min, max)))
