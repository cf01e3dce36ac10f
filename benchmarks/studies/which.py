"""Which method: every set of real data, every kind of method, by the library's own comparison."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import TITLES, by_classifier, f1
from benchmarks.studies.online import RESERVOIRS, SEEDS, reservoir
from benchmarks.tables import Table, figure
from narrows import CHI, IG, MMCFS, OC, OCFS, SRDA, OnlineSRDA
from narrows.evaluate.comparison import check, compare_splits
from narrows.evaluate.results import Comparison, Line
from narrows.evaluate.splits import Fold, Splits
from narrows.evaluate.table import ALL
from narrows.solve.paired import difference

FOLDS = 5
LARGE = 3000  # rows from which on one fifth is held out instead of five
SELECTORS = ("ocfs", "ig", "chi", MMCFS(eps=0.05), "fisherfs")
ONLINE, TENTH = "onlinesrda", "onlinesrda, reservoir n/10"  # medians of five orders
PROJECTORS = ("oc", "mmc", "idrqr", ONLINE, TENTH, "srda", "lda")
RIVALS = ("chi2", "f_classif", "truncatedsvd", "sklearn-pca", "lineardiscriminantanalysis")


@dataclass
class Set:
    """A set of data as folds, and the shape of all its rows."""

    title: str
    folds: list[Fold]
    n: int
    sizes: np.ndarray

    @property
    def classes(self) -> int:
        return len(self.sizes)

    @property
    def uneven(self) -> float:
        """How many times the smallest class the largest is."""
        return float(self.sizes.max() / self.sizes.min())

    @property
    def shape(self) -> list[str]:
        """n, d, c, the share of values that are not zero, and the largest class to the smallest."""
        X = self.folds[0][0]
        stored = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
        share = 100 * stored / (X.shape[0] * X.shape[1])
        shares = f"{share:.2g} %" if share < 99 else "all"
        return [f"{self.n:,}", f"{X.shape[1]:,}", str(self.classes), shares, f"{self.uneven:.3g}"]


class Sets:
    """What the sets are like."""

    name = "sets"

    def table(self) -> Table:
        header = ["set", "samples", "features", "classes", "not zero", "largest class / smallest"]
        return Table(header, ([data.title, *data.shape] for data in sets()))


class FewDimensions:
    """Micro-F1 by each classifier at c - 1 dimensions, and of all columns."""

    name = "few_dimensions"
    field = "micro_f1"
    uneven = 1.0  # sets whose largest class is at least so many times the smallest

    def table(self) -> Table:
        methods = [
            "ocfs", *PROJECTORS, "truncatedsvd", "sklearn-pca", "lineardiscriminantanalysis",
        ]  # fmt: skip
        rows = []
        for data in sets():
            if data.uneven < self.uneven:
                continue
            for judge, name in TITLES.items():
                found = {
                    line.method: line
                    for line in compared(data.title)
                    if line.asked in (None, data.classes - 1) and judge == line.classifier
                }
                cells = _marked([found.get(m) for m in methods], self.field)
                every = _figure(found[ALL], self.field)
                rows.append([data.title, name, str(data.classes - 1), every, *cells])
        return Table(["set", "classifier", "dimensions", "all features", *methods], rows)


class ToTheBest:
    """Paired differences of SRDA, at c - 1 dimensions, from the best reduction and all columns."""

    name = "srda_and_the_best"

    def table(self) -> Table:
        methods = ["ocfs", *PROJECTORS, "truncatedsvd", "sklearn-pca", RIVALS[-1]]
        methods.remove(TENTH)
        rows = []
        for data in sets():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of columns that do not vary
                lines = _over(data, methods, [data.classes - 1])
            for judge, name in TITLES.items():
                mine = (line for line in lines if line.classifier == judge)
                every, *reduced = [line for line in mine if not line.skipped]
                best = max(reduced, key=lambda line: line.micro_f1)
                srda = next(line for line in reduced if line.method == "srda")
                below, of_all = (
                    difference(srda.outcomes, other.outcomes, "accuracy") for other in (best, every)
                )
                within = "no" if below.is_worse(0) else "yes"
                rows.append([data.title, name, best.method, str(below), str(of_all), within])
        header = [
            "set", "classifier", "best reduction", "SRDA less the best", "SRDA less all features",
            "within",
        ]  # fmt: skip
        return Table(header, rows)


class RareClasses(FewDimensions):
    """The same as macro-F1, in which each class counts the same, where classes are uneven."""

    name = "few_dimensions_macro_f1"
    field = "macro_f1"
    uneven = 2.0


class FewColumns:
    """Micro-F1 by each classifier on 10 and on 100 columns."""

    name = "few_columns"

    def table(self) -> Table:
        methods = [*map(str, SELECTORS), "chi2", "f_classif"]
        rows = []
        for data in sets():
            width = data.folds[0][0].shape[1]
            for p in (3, 10, 100):
                if p >= width or (p == 3 and width > 100):
                    continue
                for judge, name in TITLES.items():
                    mine = [each for each in compared(data.title) if each.asked == p]
                    found = {line.method: line for line in mine if line.classifier == judge}
                    cells = _marked([found.get(m) for m in methods], "micro_f1")
                    rows.append([data.title, name, f"{p} of {width:,}", *cells])
        return Table(["set", "classifier", "features", *methods], rows)


class SecondsToLearn:
    """CPU seconds to learn c - 1 dimensions or columns, of sets of a thousand rows and more."""

    name = "seconds_to_learn"

    def table(self) -> Table:
        methods = ["ocfs", "ig", *PROJECTORS, *RIVALS]
        rows = []
        for data in sets():
            if data.n < 1000:
                continue
            found = {
                line.method: line for line in compared(data.title) if line.asked == data.classes - 1
            }
            cells = [
                "" if m not in found or found[m].skipped else f"{found[m].learn:.2g}"
                for m in methods
            ]
            rows.append([data.title, *cells])
        return Table(["CPU seconds", *methods], rows)


class Stream:
    """Two streams: the last fifth held out, and each sample predicted before it is learned."""

    name = "streams"

    def table(self) -> Table:
        header = [
            "stream", "classifier", "last fifth: all features", "OC", "SRDA", "OnlineSRDA",
            "reservoir n/10", "half-life 1,000", "half-life 1,000, reservoir n/10",
            "each sample before it is learned: OnlineSRDA", "reservoir n/10",
            "half-life 1,000", "half-life 1,000, reservoir n/10",
        ]  # fmt: skip
        rows = []
        for title, X, y in corpora.streams():
            cut = 4 * len(y) // 5
            cells = [f1(X[:cut], y[:cut], X[cut:], y[cut:])]
            online = [
                {"random_state": 0, "half_life": half_life, "keep": reservoir(name, cut)}
                for half_life in (None, 1000)
                for name in RESERVOIRS
            ]
            for model in (OC(), SRDA(), *(OnlineSRDA(**given) for given in online)):
                model.fit(X[:cut], y[:cut])
                Z, Z_test = model.transform(X[:cut]), model.transform(X[cut:])
                cells.append(f1(Z, y[:cut], Z_test, y[cut:]))
            before = [OnlineSRDA(**given).partial_fit(X, y).score_ for given in online]
            rows += by_classifier([title], [list(map(float, cell)) for cell in cells], before)
        return Table(header, rows)


class SeveralLabels:
    """RCV1 with all its topics: micro- and macro-F1 of one classifier a topic."""

    name = "several_labels"

    def table(self) -> Table:
        X, Y, X_test, Y_test = corpora.topics()
        every = _by_topic(X, Y, X_test, Y_test)
        rows = by_classifier(["all features", f"{X.shape[1]:,}"], every)
        tenth = reservoir("n/10", X.shape[0])
        for model in (
            OCFS(n_features=1000), OCFS(per_class=50), IG(n_features=1000), CHI(n_features=1000),
            OC(), OnlineSRDA(random_state=0), OnlineSRDA(keep=tenth, random_state=0),
        ):  # fmt: skip
            Z, Z_test = model.fit(X, Y).transform(X), model.transform(X_test)
            scores = _by_topic(Z, Y, Z_test, Y_test)
            rows += by_classifier([repr(model), f"{Z.shape[1]:,}"], scores)
        return Table(["method", "dimensions", "classifier", "micro-F1", "macro-F1"], rows)


@cache
def sets() -> list[Set]:
    """All sets of one label a row, as folds."""
    return [_set(title, given) for title, given in _given()]


def _given() -> Iterable[tuple[str, tuple[Any, ...]]]:
    for title, corpus in (("20 Newsgroups", corpora.news), ("R8", corpora.r8)):
        data = corpus()
        yield title, (data.X, data.y, data.X_test, data.y_test)
    yield "RCV1", corpora.archive("rcv1_4class")
    for name in ("tr41", "re0", "re1"):
        yield name, corpora.documents(name)
    yield "ORL faces", corpora.faces()
    for title, X, y in corpora.streams():
        cut = 4 * len(y) // 5
        yield f"{title}, in time order", (X[:cut], y[:cut], X[cut:], y[cut:])
    for name in corpora.UCI:
        yield name, corpora.uci(name)


def _set(title: str, given: tuple[Any, ...]) -> Set:
    X, y = given[:2]
    held_out = len(given) == 4
    folds = [given] if held_out else list(corpora.split(X, y, FOLDS if len(y) < LARGE else None))
    n = sum(len(part) for part in folds[0][1::2])
    sizes = np.unique(np.concatenate(folds[0][1::2]), return_counts=True)[1]
    return Set(title, [_scaled(*fold) for fold in folds], n, sizes)


def _scaled(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Fold:
    """Dense columns to unit variance, by the rows to learn from; pixels to [0, 1]."""
    if sparse.issparse(X):
        return X, y, X_test, y_test
    scaler = (MaxAbsScaler() if X.shape[1] > 1000 else StandardScaler()).fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


@cache
def compared(title: str) -> list[Line]:
    """The comparison of a set: c - 1, 3, 10 and 100 dimensions."""
    data = next(data for data in sets() if data.title == title)
    few = data.classes - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that do not vary, and of machines that stop
        online = _online(data)
        seeded = [model for models in online.values() for model in models]
        batch = [name for name in PROJECTORS if name not in online]
        rivals = "truncatedsvd", "sklearn-pca", RIVALS[-1]
        lines = _over(data, [*batch, *seeded, *rivals], [few])
        lines = _medians(lines, {name: list(map(repr, made)) for name, made in online.items()})
        chosen = [*SELECTORS, *RIVALS[:2]]
        return lines + _over(data, chosen, sorted({few, 3, 10, 100}))


def _over(data: Set, methods: list[Any], dims: list[int]) -> Comparison:
    """The comparison of methods over the folds of a set."""
    return compare_splits(_Folds(data.folds), check(methods, dims), dims, list(TITLES))


class _Folds(Splits):
    """Folds that are made already."""

    def __init__(self, folds: list[Fold]):
        super().__init__(folds[0])
        self._folds = folds

    def __len__(self) -> int:
        return len(self._folds)

    def __getitem__(self, k: Any) -> Any:
        return self._folds[k]


def _online(data: Set) -> dict[str, list[OnlineSRDA]]:
    """OnlineSRDA with both reservoirs, once for each order of the samples."""
    n = len(data.folds[0][1])
    sizes = {ONLINE: reservoir("2,000", n), TENTH: reservoir("n/10", n)}
    return {
        name: [OnlineSRDA(keep=size, random_state=seed) for seed in SEEDS]
        for name, size in sizes.items()
    }


def _medians(lines: list[Line], groups: dict[str, list[str]]) -> list[Line]:
    """The lines, those of each group as one of their medians."""
    found = []
    for name, members in groups.items():
        for judge in TITLES:
            mine = [each for each in lines if each.method in members and each.classifier == judge]
            medians: dict[str, Any] = {
                field: float(np.median([getattr(line, field) for line in mine]))
                for field in ("micro_f1", "macro_f1", "learn")
            }
            found.append(replace(mine[0], method=name, **medians))
    known = {member for members in groups.values() for member in members}
    return [line for line in lines if line.method not in known] + found


def _figure(line: Line | None, field: str) -> str:
    if line is None or line.skipped:
        return "-"
    return figure(getattr(line, field))


def _marked(lines: list[Line | None], field: str) -> list[str]:
    """The figures, the best in bold."""
    there = [getattr(line, field) for line in lines if line and not line.skipped]
    best = figure(max(there))
    cells = [_figure(line, field) for line in lines]
    return [f"**{cell}**" if cell == best else cell for cell in cells]


def _by_topic(X: Any, Y: Any, X_test: Any, Y_test: Any) -> list[list[float]]:
    """Return the micro-F1 by each classifier, and the macro-F1."""
    machines = LinearSVC(random_state=0), LogisticRegression(), KNeighborsClassifier()
    found = [OneVsRestClassifier(machine).fit(X, Y).predict(X_test) for machine in machines]
    return [
        [float(f1_score(Y_test, each, average=kind, zero_division=0.0)) for each in found]
        for kind in ("micro", "macro")
    ]
