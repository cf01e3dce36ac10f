"""What dicts one at a time cost, beside batches of them and beside rows."""

from __future__ import annotations

import warnings
from itertools import islice
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import OC, OCFS, OnlineSRDA
from narrows.river import OneByOne, batches

ROWS, COLUMNS = 2000, 2**16


class Dicts:
    """CPU microseconds a row: the first 2,000 mails, 238 words each on average."""

    name = "dicts"

    def table(self) -> Table:
        _, X, y = next(iter(corpora.streams()))
        X, y = X[:ROWS], y[:ROWS]
        names = np.arange(X.shape[1]).astype(str)
        stream = [
            (dict.fromkeys(names[X[[k]].indices].tolist(), 1.0), label)
            for k, label in enumerate(y.tolist())
        ]
        rows = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # while few rows are there, few columns tell
            for method in (OC(), OCFS(n_features=500), OnlineSRDA(polish=False, random_state=0)):
                for _ in range(2):  # the first samples of a process are learned in plain Python
                    cells = [
                        _rows(method, X, y),
                        _in_batches(method, stream),
                        _one_by_one(method, stream, 100),
                        _one_by_one(method, stream, 1),
                    ][::-1]
                rows.append([repr(method), *(f"{1e6 * cell:,.1f}" for cell in cells)])
        header = [
            "CPU µs a sample", "`OneByOne`, learned and reduced each",
            "`OneByOne(batch=100)`, the same", "`batches(rows=1000)`, learned",
            "samples of a matrix, 1,000 at a time, learned",
        ]  # fmt: skip
        return Table(header, rows)


def _one_by_one(method: Any, stream: list[Any], batch: int) -> float:
    one = OneByOne(method, COLUMNS, batch)
    for x, y in islice(stream, 10):
        one.learn_one(x, y)
    start = process_time()
    for x, y in stream:
        one.transform_one(x)
        one.learn_one(x, y)
    return (process_time() - start) / len(stream)


def _in_batches(method: Any, stream: list[Any]) -> float:
    learner = type(method)(**method.get_params())
    start = process_time()
    for X, y in batches(stream, 1000, COLUMNS):
        learner.partial_fit(X, y)
    return (process_time() - start) / len(stream)


def _rows(method: Any, X: Any, y: np.ndarray) -> float:
    learner = type(method)(**method.get_params())
    start = process_time()
    for first in range(0, len(y), 1000):
        learner.partial_fit(X[first : first + 1000], y[first : first + 1000])
    return (process_time() - start) / len(y)
