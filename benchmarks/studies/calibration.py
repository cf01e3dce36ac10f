"""How well the probabilities of OnlineSRDA are calibrated on held-out samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.studies.corpora import Split
from benchmarks.studies.online import SEEDS, folds, reservoir
from benchmarks.tables import Table, middle
from narrows import SRDA, OnlineSRDA

SETS = (
    "20 Newsgroups", "R8", "RCV1", "tr41", "re0", "re1", "mails", "digits", "waveform",
    "pima_diabetes", "ORL, each 4th pixel",
)  # fmt: skip
BINS = 15
LEAST = 1e-15  # of a probability, for the log-loss


class Calibration:
    """The expected calibration error and the log-loss of `predict_proba`."""

    name = "online_srda_calibration"

    def table(self) -> Table:
        made = {
            "reservoir 2,000": lambda n, seed: OnlineSRDA(random_state=seed),
            "reservoir n/10": lambda n, seed: OnlineSRDA(
                keep=reservoir("n/10", n), random_state=seed
            ),
            "sorted by label": lambda n, seed: OnlineSRDA(shuffle=False, random_state=seed),
            "SRDA": lambda n, seed: SRDA(),
        }
        header = [
            "median of 5 orders (least to most)",
            *(f"calibration error, {name}" for name in made),
            *(f"log-loss, {name}" for name in made),
        ]
        rows = []
        for title in SETS:
            errors, losses = [], []
            for name, make in made.items():
                seeds = SEEDS if name != "SRDA" else range(1)
                by_label = name == "sorted by label"
                found = np.array([_scores(title, make, seed, by_label) for seed in seeds])
                errors.append(middle(found[:, 0]))
                losses.append(middle(found[:, 1]))
            rows.append([title, *errors, *losses])
        return Table(header, rows)


def _scores(title: str, make: Any, seed: int, by_label: bool = False) -> np.ndarray:
    """Return the calibration error and the log-loss, means over the folds."""
    found = []
    for data in folds(title):
        X, y = data.X, data.y
        if by_label:
            order = np.random.default_rng(seed).permutation(len(y))
            order = order[np.argsort(y[order], kind="stable")]
            X, y = X[order], y[order]
        model = make(len(y), seed).fit(X, y)
        found.append(_of(model, data))
    return np.mean(found, axis=0)


def _of(model: Any, data: Split) -> tuple[float, float]:
    P, classes = model.predict_proba(data.X_test), model.classes_
    right = classes[P.argmax(axis=1)] == data.y_test
    place = np.minimum(np.searchsorted(classes, data.y_test), len(classes) - 1)
    known = np.flatnonzero(classes[place] == data.y_test)
    own = np.maximum(P[known, place[known]], LEAST)
    return calibration_error(P.max(axis=1), right), float(-np.mean(np.log(own)))


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """Return the expected calibration error: |confidence - accuracy|, averaged over bins."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = [abs(confidence[place == k].sum() - right[place == k].sum()) for k in np.unique(place)]
    return float(np.sum(gaps) / len(right))
