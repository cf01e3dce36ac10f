"""What IMMC comes to with theta as the papers need it, without, and found."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import UnavailableError
from benchmarks.studies import corpora
from benchmarks.tables import Table, figure
from narrows import IMMC, Moments
from narrows.read import iter_chunks

PASSES = (1, 5, 20)
ORDERS = range(15)


class Theta:
    """|cosine| of the first direction with its target, over passes; median of 15 orders."""

    name = "immc_theta"

    def table(self) -> Table:
        rows = []
        for title, X, y in _data():
            eigenvalues, target = _leading(X, y, 1.0)
            own = _leading(X, y, 0.05)[1]
            least = max(0.0, -float(eigenvalues[0]))
            rows.append(
                [
                    title,
                    f"{eigenvalues[-1]:.3g}, {eigenvalues[-2]:.3g}",
                    _cosines(X, y, target, eps=1.0, theta=least),
                    _cosines(X, y, target, eps=1.0, theta=0.0),
                    _cosines(X, y, target, eps=1.0),
                    _cosines(X, y, own, eps=0.05),
                ]
            )
        header = [
            "data (passes: 1 / 5 / 20)",
            "two largest eigenvalues",
            "theta = -smallest, as printed",
            "theta = 0",
            "**auto**",
            "eps = 0.05, auto, own target",
        ]
        return Table(header, rows)


def _data():
    folder = Path(os.environ.get("NARROWS_DATA", "."))
    for title, files, standard in (
        ("Iris", ["iris"], False),
        ("Wine, standardised", ["wine"], True),
        ("Balance Scale", ["balance_scale"], False),
        ("Waveform", ["waveform"], False),
        ("Monk 1", ["monk1_train", "monk1_test"], False),
        ("Pima, standardised", ["pima_diabetes"], True),
        ("Pima, raw", ["pima_diabetes"], False),
        ("Ionosphere", ["ionosphere"], False),
    ):
        parts = []
        for name in files:
            path = folder / f"{name}.csv"
            if not path.exists():
                raise UnavailableError(f"{path.name} is not in the folder NARROWS_DATA")
            parts += iter_chunks(path)
        X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
        if standard:
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        yield title, X, y
    split = corpora.rcv1()
    X, y = split.X, split.y
    common = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")[:600]
    rows = np.random.default_rng(0).permutation(len(y))[:8000]
    yield "RCV1, 8,000 documents, 600 terms", X[rows][:, common].toarray(), y[rows]


def _leading(X, y, eps):
    """Eigenvalues of S_b - eps S_w, and its leading eigenvector."""
    m = Moments.of(X, y)
    p = m.counts / m.n
    D = m.means - m.mean
    S_b = D.T @ (p[:, None] * D)
    eigenvalues, vectors = np.linalg.eigh((1 + eps) * S_b - eps * np.cov(X.T, bias=True))
    return eigenvalues, vectors[:, -1]


def _cosines(X, y, target, **parameters):
    found = np.zeros((len(ORDERS), len(PASSES)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for order in ORDERS:
            rng, learner, done = np.random.default_rng(order), IMMC(1, **parameters), 0
            for column, passes in enumerate(PASSES):
                for _ in range(passes - done):
                    rows = rng.permutation(len(y))
                    learner.partial_fit(X[rows], y[rows])
                done = passes
                found[order, column] = abs(learner.components_[0] @ target)
    return " / ".join(figure(value) for value in np.median(found, axis=0))
