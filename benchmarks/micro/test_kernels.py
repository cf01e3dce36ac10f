"""Each compiled loop by itself, on rows that a core's cache holds and on rows that it does not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems.dense import Embeddings
from benchmarks.problems.rcv1_like import RCV1Like
from narrows import ILDA, IOC, Moments, OnlineSRDA
from narrows.io.write import writer
from narrows.read import iter_chunks
from narrows.solve.products import BlockProducts
from narrows.text import Tfidf


@pytest.fixture(scope="module", params=[2_000, 47_236], ids=lambda d: f"{d} columns")
def sparse_rows(request):
    return RCV1Like(rows=20_000, columns=request.param).load()


@pytest.fixture(scope="module")
def dense_rows():
    return Embeddings(rows=20_000).load()


def measured(benchmark, function, *arguments):
    benchmark.pedantic(function, arguments, rounds=7, warmup_rounds=1)


@pytest.mark.parametrize("second", [None, "total", "class"])
@pytest.mark.parametrize("presence", [False, True])
def test_class_sums_of_sparse_rows(benchmark, sparse_rows, second, presence):
    X, y = sparse_rows
    X = X != 0 if presence else X
    measured(benchmark, lambda: Moments.of(X, y, second=second))


@pytest.mark.parametrize("second", [None, "class"])
def test_class_sums_of_dense_rows(benchmark, dense_rows, second):
    measured(benchmark, lambda: Moments.of(*dense_rows, second=second))


@pytest.mark.parametrize("vectors", [1, 3, 19])
@pytest.mark.parametrize("transposed", [False, True])
def test_products(benchmark, sparse_rows, vectors, transposed):
    X = sparse_rows[0]
    product, (n, d) = BlockProducts(X), X.shape
    rows, columns = np.ones((n, vectors)), np.ones((d, vectors))
    none = np.zeros(vectors)
    if transposed:
        measured(benchmark, product.transposed, rows, np.zeros(d), none, columns)
    else:
        measured(benchmark, product.times, columns, np.zeros(n), none, rows)


@pytest.mark.parametrize("classes", [4, 20])
def test_a_step_of_ioc(benchmark, sparse_rows, classes):
    X, _ = sparse_rows
    y = np.random.default_rng(0).integers(0, classes, X.shape[0])
    measured(benchmark, lambda: IOC(classes - 1).partial_fit(X[:5_000], y[:5_000]))


@pytest.mark.parametrize("classes", [4, 20])
def test_a_step_of_ilda(benchmark, sparse_rows, classes):
    X, _ = sparse_rows
    y = np.random.default_rng(0).integers(0, classes, X.shape[0])
    measured(benchmark, lambda: ILDA(classes - 1).partial_fit(X[:5_000], y[:5_000]))


@pytest.mark.parametrize("classes", [4, 20])
def test_a_step_of_online_srda(benchmark, sparse_rows, classes):
    X, _ = sparse_rows
    y = np.random.default_rng(0).integers(0, classes, X.shape[0])
    measured(benchmark, lambda: OnlineSRDA(random_state=0).partial_fit(X, y))


@pytest.mark.parametrize("suffix", ["svm", "parquet"])
def test_reading(benchmark, sparse_rows, suffix, tmp_path):
    X, y = sparse_rows
    path = tmp_path / f"a.{suffix}"
    with writer(str(path), None) as out:
        out.write(X, y)
    measured(benchmark, lambda: sum(len(labels) for _, labels in iter_chunks(path)))


def test_words_of_texts(benchmark):
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(5_000)])
    texts = [" ".join(words[rng.integers(0, 5_000, 120)]) for _ in range(2_000)]
    measured(benchmark, lambda: Tfidf().update(texts).transform(texts))
