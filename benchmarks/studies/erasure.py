"""What classifiers find before and after LEACE, and how its maps differ from concept-erasure's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.studies.kernel import SETS
from benchmarks.tables import Table
from narrows import LEACE

NAMES = (
    "iris", "wine", "cancer", "ionosphere", "pima", "balance_scale", "waveform", "digits",
    "embeddings", "electricity",
)  # fmt: skip
MACHINES = {
    "linear SVM": lambda: LinearSVC(random_state=0),
    "logistic regression": lambda: LogisticRegression(max_iter=300),
    "5 neighbours": KNeighborsClassifier,
}
SPLITS, HELD_OUT, MOST = 5, 0.3, 10_000


class Erasure:
    """Accuracy on held-out samples of standardised sets, before / after.

    "concept-erasure" is the largest difference to its map of the training samples, as a share of
    the largest number in these, in double precision without shrinkage; "-" where it is not
    installed.
    """

    name = "erasure"

    def table(self) -> Table:
        header = [
            "set", "samples", "features", "classes", "largest class + 2 standard errors",
            *MACHINES, "variance left", "concept-erasure",
        ]  # fmt: skip
        return Table(header, map(self._row, NAMES))

    def _row(self, name: str) -> list[Any]:
        X, y, *_ = SETS[name][0]()
        X, y = np.asarray(X, np.float64), np.unique(y, return_inverse=True)[1]
        splits = StratifiedShuffleSplit(SPLITS, test_size=HELD_OUT, random_state=0)
        largest, left, apart, found = 0.0, [], [], {machine: [] for machine in MACHINES}
        rows = np.random.default_rng(0).permutation(len(y))[:MOST]
        for train, test in splits.split(X[rows], y[rows]):
            scaler = StandardScaler().fit(X[rows][train])
            Z, Z_test = scaler.transform(X[rows][train]), scaler.transform(X[rows][test])
            labels, labels_test = y[rows][train], y[rows][test]
            fitted = LEACE().fit(Z, labels)
            erased, erased_test = fitted.transform(Z), fitted.transform(Z_test)
            share = (labels_test == np.bincount(labels).argmax()).mean()
            largest += (share + 2 * np.sqrt(share * (1 - share) / len(test))) / SPLITS
            left.append(erased.var(axis=0).sum() / Z.var(axis=0).sum())
            apart.append(_apart(Z, labels, erased))
            for machine, make in MACHINES.items():
                pair = ((Z, Z_test), (erased, erased_test))
                scores = [_score(make(), a, labels, b, labels_test) for a, b in pair]
                found[machine].append(scores)
        both = (np.mean(scores, axis=0) for scores in found.values())
        shown = [f"{before:.3f} / {after:.3f}" for before, after in both]
        difference = "-" if apart[0] is None else f"{max(apart):.0e}"
        size = [len(rows), X.shape[1], len(np.unique(y))]
        return [name, *size, float(largest), *shown, float(np.mean(left)), difference]


def _score(machine: Any, Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iterations that do not converge
        return float(machine.fit(Z, y).score(Z_test, y_test))


def _apart(Z: np.ndarray, y: np.ndarray, erased: np.ndarray) -> float | None:
    """The largest difference to concept-erasure, relative; None where it is not installed."""
    try:
        import torch
        from concept_erasure import LeaceFitter
    except ImportError:
        return None
    X, T = torch.tensor(Z), torch.nn.functional.one_hot(torch.tensor(y)).double()
    how = {"shrinkage": False, "constrain_cov_trace": False, "svd_tol": 1e-8}
    rival = LeaceFitter.fit(X, T, **how).eraser(X).numpy()
    return float(np.abs(rival - erased).max() / np.abs(Z).max())
