"""Whether certificates hold, how cautious they are, and how many samples are read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks.problems.rcv1_like import RCV1LikeLong
from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import CHI, IG, MMCFS, OC, OCFS, FisherFS
from narrows.criteria import BETWEEN, TOTAL, held_out_gain
from narrows.methods.certified import CertifiedSelector
from narrows.solve.certificate import FIRST
from narrows.state.class_stats import ClassStats
from narrows.state.halves import Halves
from narrows.state.labels import indicator

ORDERS = 1000
TOLERANCES = 0.05, 0.02


class Certificates:
    """OCFS in many random orders, on sets of all kinds."""

    name = "certificates"
    methods = (OCFS,)

    def table(self) -> Table:
        rows = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features without a score
            for title, load, p in self.sets():
                X, y = load()
                for method in self.methods:
                    rows.append([*self.first(method, title, p), *_row(method, X, y, p)])
        return Table([*self.header, *_HEADER], rows)

    header = ("set", "features selected")

    def first(self, method: Any, title: str, p: int) -> list[Any]:
        return [title, p]

    def sets(self) -> Iterator[tuple[str, Callable[[], Any], int]]:
        yield "digits", lambda: load_digits(return_X_y=True), 1
        yield "digits", lambda: load_digits(return_X_y=True), 20
        yield "tr41", lambda: corpora.documents("tr41"), 100
        yield "R8", lambda: _all(corpora.r8()), 1000
        yield "RCV1, 4 classes", lambda: corpora.archive("rcv1_4class"), 100
        yield "RCV1, 4 classes", lambda: corpora.archive("rcv1_4class"), 1000
        yield "20 Newsgroups", lambda: _all(corpora.news()), 1000
        yield "like RCV1, a million samples", lambda: RCV1LikeLong().load(), 1000
        yield "few large and many tiny effects", _few_large, 100
        yield "pure noise", _noise, 100
        yield "rare classes", _rare, 30
        yield "near ties", _ties, 1
        yield "amounts with heavy tails", _amounts, 1


class OtherCertificates(Certificates):
    """The other methods."""

    name = "certificates_others"
    methods = (IG, CHI, lambda p: OC())  # type: ignore[assignment]
    header = ("method", "set", "features selected")

    def first(self, method: Any, title: str, p: int) -> list[Any]:
        made = method(p)
        shown = "all" if isinstance(made, OC) else p
        return [type(made).__name__.removeprefix("_"), title, shown]

    def sets(self) -> Iterator[tuple[str, Callable[[], Any], int]]:
        keep = (
            ("digits", 20),
            ("tr41", 100),
            ("R8", 1000),
            ("RCV1, 4 classes", 1000),
        )
        keep += ("pure noise", 100), ("rare classes", 30), ("near ties", 1)
        for title, load, p in super().sets():
            if (title, p) in keep:
                yield title, load, p


class RefusedCertificates(OtherCertificates):
    """What methods without `tolerance` would certify by the nearest counterpart there is."""

    name = "certificates_refused"

    def sets(self) -> Iterator[tuple[str, Callable[[], Any], int]]:
        for title, load, p in super().sets():
            if title in ("digits", "R8", "RCV1, 4 classes", "near ties"):
                yield title, load, p


_HEADER = [
    "samples", "orders", "in which a bound failed at any look",
    *(
        f"{what} at tolerance {tolerance}"
        for tolerance in TOLERANCES
        for what in ("samples read", "score kept", "too little")
    ),
]  # fmt: skip


class _Look(NamedTuple):
    n_samples: int
    share: float
    kept: float  # of the best score, by the answer of all samples


def _row(method: Any, X: Any, y: np.ndarray, p: int) -> list[Any]:
    """Return what happens in many orders, as cells."""
    classes, Y = indicator(X, y, None)
    every = method(p)
    every.set_params(tolerance=0).fit(X, y)
    runs = []
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        runs.append(list(_looks(every, X, classes, Y, order)))
    failed = sum(any(look.share > look.kept for look in run) for run in runs)
    cells: list[Any] = [X.shape[0], ORDERS, f"{failed / ORDERS:.1%}"]
    for tolerance in TOLERANCES:
        stops = [_stop(run, tolerance, X.shape[0]) for run in runs]
        kept = np.array([stop.kept for stop in stops])
        cells += [
            _middle([stop.n_samples for stop in stops], "{:,.0f}"),
            _middle(kept, "{:.4f}"),
            f"{(kept < 1 - tolerance).mean():.1%}",
        ]
    return cells


def _middle(values: Any, form: str) -> str:
    low, mid, high = (form.format(f(values)) for f in (np.min, np.median, np.max))
    return mid if low == high else f"{mid} ({low} to {high})"


def _looks(every: Any, X: Any, classes: Any, Y: Any, order: np.ndarray) -> Iterator[_Look]:
    """Yield what is certified at each doubling, and what is true, until the last tolerance."""
    state, first, last = every._empty_state(X.shape[1]), 0, FIRST
    while last < len(order):
        rows = order[first:last]
        state.add_samples(X[rows], classes, Y[rows])
        solution = every._solve(state)
        share = every._certify(state, solution).share
        yield _Look(last, share, _kept(every, solution))
        if share >= 1 - min(TOLERANCES):
            return
        first, last = last, 2 * last


def _kept(every: Any, solution: Any) -> float:
    """Return the score of a solution, as a share of the best of its size, by all samples."""
    if isinstance(every, OC):
        stats: ClassStats = every.stats_
        p, W = stats.priors(), solution.W
        explained = sum(D @ W[columns] for columns, D in stats.deviations(p))
        return float((p @ explained**2).sum() / every.eigenvalues_[: W.shape[1]].sum())
    best = every.scores_[every.ranking_[: solution.size]].sum()
    return float(every.scores_[solution.mask].sum() / best)


def _stop(run: list[_Look], tolerance: float, n: int) -> _Look:
    """Return the look that ends the reading; after all samples the answer is that of all."""
    return next((look for look in run if look.share >= 1 - tolerance), _Look(n, 1.0, 1.0))


# -- methods without a certificate -----------------------------------------------------------------


class _Trial(CertifiedSelector):
    tolerance, confidence, random_state = 0, 0.95, None

    def set_params(self, **ignored: Any) -> Any:
        return self


class _MMCFS(_Trial, MMCFS):
    """(1 + eps) times the gain of OCFS, less eps times the variance in the fold."""

    def _gain(self, halves: Halves) -> np.ndarray:
        variance = halves.fold.variances(halves.p_fold)
        return (1 + self.eps) * held_out_gain(halves) - self.eps * variance


class _FisherFS(_Trial, FisherFS):
    """The gain of OCFS, divided by the variance within the classes of all samples."""

    def _gain(self, halves: Halves) -> np.ndarray:
        total, between = (each.diagonal(halves.whole) for each in (TOTAL, BETWEEN))
        within = total - between
        gain = held_out_gain(halves)
        return np.divide(gain, within, out=np.zeros_like(gain), where=within > 1e-9 * total)


RefusedCertificates.methods = (  # type: ignore[assignment]
    lambda p: _MMCFS(p, eps=0.1), _FisherFS,
)  # fmt: skip


# -- sets ------------------------------------------------------------------------------------------


def _all(split: corpora.Split) -> tuple[Any, np.ndarray]:
    X = sparse.csr_array(sparse.vstack([split.X, split.X_test]))
    return X, np.concatenate([split.y, split.y_test])


def _few_large() -> tuple[np.ndarray, np.ndarray]:
    """Five classes; ten features with large effects, and 1,990 with tiny ones."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 5, 20_000)
    means = rng.normal(size=(5, 2000)) * np.where(np.arange(2000) < 10, 1.0, 0.03)
    return means[y] + rng.normal(size=(len(y), 2000)), y


def _noise() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(20_000, 500)), rng.integers(0, 4, 20_000)


def _rare() -> tuple[np.ndarray, np.ndarray]:
    """Eight classes, of which four have 0.1 to 0.6 % of the samples."""
    rng = np.random.default_rng(3)
    shares = np.array([0.5, 0.3, 0.15, 0.04, 0.006, 0.002, 0.001, 0.001])
    y = rng.choice(8, 30_000, p=shares / shares.sum())
    means = 3 * rng.normal(size=(8, 300)) * (rng.random((8, 300)) < 0.1)
    return means[y] + rng.normal(size=(len(y), 300)), y


def _ties() -> tuple[np.ndarray, np.ndarray]:
    """Two classes; the effects of six features are 0.34 once and 0.3 five times, in sd."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    effects = np.array([0.34, *[0.3] * 5])
    return (2 * y[:, None] - 1) * effects + rng.normal(size=(len(y), 6)), y


def _amounts() -> tuple[np.ndarray, np.ndarray]:
    """Two classes; a feature with the logarithm of a normal one, and a normal one of 60 % of it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100_000)
    amount = np.exp(2 * rng.normal(size=len(y)) + 0.35 * y)
    means = np.array([amount[y == j].mean() for j in (0, 1)])
    normal = np.sqrt(0.6) * (means[1] - means[0]) * y + rng.normal(size=len(y))
    return np.column_stack([amount, normal]), y
