"""How many features selectors choose by held-out scores, and what classifiers keep with them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks.harness import data_path
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.studies.which import _scaled
from benchmarks.tables import Table, figure
from narrows import CHI, IG, MMCFS, OCFS, FisherFS
from narrows.criteria import margin
from narrows.evaluate.splits import Fold
from narrows.methods.attributes import HELD_OUT_ERRORS, HELD_OUT_SCORES
from narrows.methods.parameters import Constraint
from narrows.methods.selectors import WITH_CV
from narrows.moments.folds import Split
from narrows.moments.moments import Moments
from narrows.solutions.selectors import Scores, held_out_sizes, score_by, select
from narrows.solve.columns import take
from narrows.solve.solution import Solution

FOLDS = 5
NEARLY = 0.99  # of the best held-out score


class HeldOutFeatures:
    """By method: the number of features, and the share of micro-F1 that they keep."""

    name = "held_out_features"
    methods = (OCFS, FisherFS, IG, CHI)

    def table(self) -> Table:
        found: dict[Any, list[Any]] = {method: [] for method in self.methods}
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of machines that stop
            for title, counted, folds in _sets():
                judge = _Judge(folds)
                for method in self.methods:
                    if method in (IG, CHI) and not counted:
                        continue
                    each = [_sizes(method, fold) for fold in folds]
                    cells = [judge.cells([sizes[rule] for sizes in each]) for rule in each[0]]
                    for name, *mine in zip(NAMES, map(figure, judge.all), *cells, strict=True):
                        found[method].append([title, name, judge.d, *mine])
        return Table(
            [
                "selector", "set", "classifier", "features", "micro-F1 of all",
                "`energy=0.8`: features, % kept", '`n_features="cv"`',
                "99 % of the best held-out score",
            ],
            [[method.__name__, *row] for method, rows in found.items() for row in rows],
        )  # fmt: skip


class HeldOutSummary:
    """What `HeldOutFeatures` found, on all sets without noise and on all with it."""

    name = "held_out_summary"

    def table(self) -> Table:
        found = Table.read(HeldOutFeatures.name)
        rules = found.header[5:7]
        rows = []
        for method in HeldOutFeatures.methods:
            for name in NAMES:
                every = [row for row in found.only(method.__name__).rows if row[1] == name]
                if not every:  # not measured
                    continue
                parts = [[row for row in every if ("noise" in row[0]) == noise] for noise in (0, 1)]
                cells = [_summary(part, rule) for part in parts for rule in (0, 1)]
                rows.append([f"`{method.__name__}`", name, *map(len, parts), *cells])
        kinds = ("without noise", "with noise")
        return Table(
            [
                "selector", "classifier", *(f"sets {kind}" for kind in kinds),
                *(f"{kind}, {rule.split(':')[0]}" for kind in kinds for rule in rules),
            ],
            rows,
        )  # fmt: skip


class HeldOutMargins:
    """The same for MMCFS, whose held-out score is that of `_HeldOutMMCFS`, and its positive scores.

    ``n_features="cv"`` is not available for MMCFS: this table is why.
    """

    name = "held_out_margins"

    def table(self) -> Table:
        rows = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features that gain no margin
            for title, _, folds in _sets():
                judge, cells = _Judge(folds), []
                for eps in (1.0, 0.1):
                    rankings = [_margins(eps, fold) for fold in folds]
                    cells += [judge.cells([made[rule] for made in rankings]) for rule in (0, 1)]
                for name, *mine in zip(NAMES, map(figure, judge.all), *cells, strict=True):
                    rows.append([title, name, judge.d, *mine])
        return Table(
            [
                "MMCFS", "classifier", "features", "micro-F1 of all",
                "eps 1, by held-out margin: features, % kept", "eps 1, `threshold=0`",
                "eps 0.1, by held-out margin", "eps 0.1, `threshold=0`",
            ],
            rows,
        )  # fmt: skip


class _HeldOutMMCFS(MMCFS):
    """With a held-out score: S_b by fold and others, so that it is unbiased, and C of the fold."""

    _constraints: ClassVar[dict[str, Constraint]] = {"n_features": WITH_CV}
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS

    def _solve(self, learned: Any) -> Solution:
        def score(m: Moments, priors: Any) -> Scores:
            return score_by(margin(self.eps), m, priors)

        def gain_of(split: Split) -> np.ndarray:
            spread, p = np.empty(split.fold.n_features), split.p_fold[split.p_fold > 0]
            for columns, A, B in split.deviations():
                spread[columns] = p @ (A * B)
            variance = split.fold.variances(split.p_fold)
            return (1 + self.eps) * spread - self.eps * variance

        sizes = held_out_sizes(learned.folds, self.priors, score, gain_of)
        return select(score(learned.moments, self.priors), self._size, sizes=sizes)


class _Judge:
    """The micro-F1 by each classifier on some features of a set, over its folds."""

    def __init__(self, folds: list[Fold]):
        self.folds, self._known = folds, dict[Any, np.ndarray]()
        self.d = int(folds[0][0].shape[1])
        every = np.arange(self.d)
        self.all = np.mean([self._f1(k, every) for k in range(len(folds))], axis=0)

    def cells(self, chosen: list[np.ndarray]) -> list[str]:
        """Median number of features, and per cent of the micro-F1 of all, by classifier."""
        kept = np.mean([self._f1(k, some) for k, some in enumerate(chosen)], axis=0) / self.all
        n = int(np.median(list(map(len, chosen))))
        return [f"{n:,}, {100 * share:.1f}" for share in kept]

    def _f1(self, k: int, some: np.ndarray) -> np.ndarray:
        some = np.sort(some)
        key = k, some.tobytes()
        if key not in self._known:
            X, y, X_test, y_test = self.folds[k]
            self._known[key] = f1(take(X, some), y, take(X_test, some), y_test)
        return self._known[key]


def _summary(rows: list[list[str]], rule: int) -> str:
    """Mean and smallest % kept, and the median share of the features."""
    sizes, kept = np.array(
        [cell.replace(",", "").split() for cell in (row[4 + rule] for row in rows)], dtype=float
    ).T
    share = np.median(sizes / [float(row[2]) for row in rows])
    return f"{kept.mean():.1f} ({kept.min():.1f}), {100 * share:.0f} %"


def _sizes(method: Any, fold: Fold) -> dict[str, np.ndarray]:
    """The features chosen by each rule."""
    X, y = fold[:2]
    fitted = method(n_features="cv").fit(X, y)
    curve, order = fitted.held_out_scores_, fitted.ranking_
    nearly = int((curve >= NEARLY * curve.max()).argmax()) + 1
    chosen = fitted.n_features_
    energy = fitted.set_params(n_features=None).n_features_
    return {"energy": order[:energy], "cv": order[:chosen], "nearly": order[:nearly]}


def _margins(eps: float, fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    X, y = fold[:2]
    fitted = _HeldOutMMCFS(n_features="cv", eps=eps).fit(X, y)
    order = fitted.ranking_
    return order[: fitted.n_features_], order[: max(1, fitted.n_positive_)]


@cache
def _sets() -> list[tuple[str, bool, list[Fold]]]:
    """All sets: title, whether presence says something, and the folds."""
    return list(_made())


def _made() -> Iterator[tuple[str, bool, list[Fold]]]:
    for title, corpus in (("20 Newsgroups", corpora.news), ("R8", corpora.r8)):
        data = corpus()
        fold = data.X, data.y, data.X_test, data.y_test
        yield title, True, [fold]
        yield f"{title}, and as many of noise", True, [_with_noise(fold, 1)]
    yield "RCV1, 4 classes", True, list(corpora.split(*corpora.archive("rcv1_4class")))
    for name in ("tr41", "re0", "re1"):
        folds = list(corpora.split(*corpora.documents(name), FOLDS))
        yield name, True, folds
        yield f"{name}, and twice as many of noise", True, [_with_noise(f, 2) for f in folds]
    X, y = corpora.archive("katakis_spam_stream")
    cut = 4 * len(y) // 5
    yield "spam mails, in time order", True, [(X[:cut], y[:cut], X[cut:], y[cut:])]
    X, y = load_digits(return_X_y=True)
    folds = list(corpora.split(X / 16, y, FOLDS))
    yield "digits", True, folds
    yield "digits, and five times as many of noise", True, [_with_noise(f, 5) for f in folds]
    X, y = corpora.faces()
    X = np.ascontiguousarray(X[:, ::4]) / 255
    yield "ORL, each 4th pixel", False, list(corpora.split(X, y, FOLDS))
    file = np.load(data_path("news20_static384.npz"))
    X = file["X"].astype(np.float64)
    yield "embeddings", False, [_scaled(*fold) for fold in corpora.split(X, file["y"])]
    for name in ("ionosphere", "wine", "waveform", "pima_diabetes"):
        folds = [_scaled(*fold) for fold in corpora.split(*corpora.uci(name), FOLDS)]
        yield name, False, folds
        if name in ("ionosphere", "wine"):
            yield f"{name}, and ten times as many of noise", False, [_with_noise(f, 10)
                                                                     for f in folds]  # fmt: skip


def _with_noise(fold: Fold, times: int) -> Fold:
    """All features, and so many copies of them whose samples are shuffled."""
    X, y, X_test, y_test = fold
    rng = np.random.default_rng(0)
    join: Any = sparse.hstack if sparse.issparse(X) else np.hstack
    more = {"format": "csr"} if sparse.issparse(X) else {}
    X, X_test = (
        join([part, *(part[rng.permutation(part.shape[0])] for _ in range(times))], **more)
        for part in (X, X_test)
    )
    return X, y, X_test, y_test
