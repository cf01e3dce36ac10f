"""The solvers: columns by rank, small eigenproblems, regressions."""

from __future__ import annotations

import io
import os
import sys
import time
from itertools import product
from types import FunctionType

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg

from narrows import IDRQR, LDA, MMC, OC, OCM, SRDA
from tests.inside import pretend
from tests.solvers import Centred, cores, kernels, lanczos, lsqr, products


def test_lanczos_drops_rounding_and_refuses_what_underflows():
    H = np.outer(np.arange(1.0, 31), np.ones(40))
    L, W = lanczos(linalg.aslinearoperator(H), 3, 0.0)
    assert L == pytest.approx([np.sum(H**2)])
    assert W.shape == (40, 1)
    assert lanczos(linalg.aslinearoperator(1e-140 * H), 3, 0.0) is None


@pytest.mark.parametrize(
    "method",
    [OC, OCM, MMC, LDA, lambda p: LDA(p, "pca"), lambda p: LDA(p, "gsvd"), SRDA, IDRQR],
    ids=["OC", "OCM", "MMC", "LDA", "LDA-pca", "LDA-gsvd", "SRDA", "IDRQR"],
)
def test_no_last_bit_decides_the_sign_of_a_direction(method):
    """The features of balance scales mirror each other: the best direction is +, +, -, -."""
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=float)
    y = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3])
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(y))
        [w] = method(1).fit(X[order], y[order]).components_
        np.testing.assert_array_equal(np.sign(w), [1, 1, -1, -1])


def test_a_terminal_is_told_once_that_functions_are_compiled(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    pretend(monkeypatch, "nothing was said of compiling")
    for module, lines in (("elsewhere", 0), ("narrows.here", 1), ("narrows.there", 1)):
        function = FunctionType((lambda x: x + 1).__code__, {"__name__": module})
        assert kernels.numba().njit(function)(1) == 2
        assert terminal.getvalue().count("compiling") == lines


def test_kernels_compile_where_nothing_can_be_kept(monkeypatch):
    """A read-only install without a home: numba refuses to cache, and that is no reason to fail."""
    compiled = kernels.numba().njit

    def refusing(*args, **options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return compiled(*args, **options)

    monkeypatch.setattr(kernels.numba(), "njit", refusing)
    assert kernels.compiled(lambda x: x + 1)(1) == 2


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3_000, 30])
def test_products_on_all_cores(rows, monkeypatch):
    pretend(monkeypatch, "few entries on cores")
    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, 300), density=0.1, format="csr", rng=rng)
    V, U = rng.standard_normal((300, 7)), rng.standard_normal((rows, 7))
    a, b, s = rng.standard_normal(rows), rng.standard_normal(300), rng.standard_normal(7)
    XV, XU = np.empty_like(U), np.empty_like(V)
    both = products.BlockProducts(X)
    both.times(V, a, s, XV)
    both.transposed(U, b, s, XU)
    np.testing.assert_allclose(XV, X.toarray() @ V + np.outer(a, s), atol=1e-12)
    np.testing.assert_allclose(XU, X.toarray().T @ U + np.outer(b, s), atol=1e-12)


@pytest.mark.parametrize("of", [np.float32, np.float64])
@pytest.mark.parametrize("by", [np.float32, np.float64])
@pytest.mark.parametrize("places", [np.int32, np.int64])
def test_products_with_many_rows_have_the_bits_of_few(of, by, places, monkeypatch):
    pretend(monkeypatch, "few entries on cores")
    pretend(monkeypatch, "loops are compiled")
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 300), density=0.1, format="csr", rng=rng, dtype=of)
    X.indices, X.indptr = X.indices.astype(places), X.indptr.astype(places)
    V = rng.standard_normal((11, 300)).astype(by).T
    for rows in (X, X[50:60], X[:0], X[:, ::-1], X.toarray()):
        found, wanted = products.product(rows, V), rows @ V
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_what_is_done_side_by_side(monkeypatch):
    pretend(monkeypatch, "two cores")
    assert products.map_on_cores(lambda k: k * k, range(100)) == [k * k for k in range(100)]
    done = []

    def work(k):
        if k == 2:
            raise ValueError("two")
        time.sleep(0.05)
        done.append(k)

    with pytest.raises(ValueError, match="two"):
        products.map_on_cores(work, range(100))
    before = len(done)
    time.sleep(0.2)
    assert len(done) == before < 10  # none goes on


def test_numbers_of_cores_that_are_none_are_passed_over(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    for odd in ("", "0", "-3", "²", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", odd)
        assert cores.__wrapped__() == 1
    for odd in ("", "²", "many"):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", odd)
        assert cores.__wrapped__() == os.cpu_count()


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7])
def test_few_samples_that_nearly_depend_on_others_lose_no_digits(apart):
    """As the sums of more samples than features do, which have no span to find."""
    rng, y = np.random.default_rng(0), np.arange(24) % 3
    X = rng.normal(size=(24, 40))
    X[12:] = X[:12] + apart * rng.normal(size=(12, 40))
    few = SRDA(alpha=0.5).fit(X, y, sample_weight=np.full(24, 2.0))
    many = SRDA(alpha=0.5).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(few.components_, many.components_, atol=1e-11)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (40, 1)])
@pytest.mark.parametrize(("damp", "tol"), [(0.0, 1e-12), (0.7, 1e-8), (0.3, 1e-2)])
def test_lsqr_of_many_is_that_of_each(form, shape, damp, tol):
    rng = np.random.default_rng(0)
    n, d = shape
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.4)
    B = rng.standard_normal((n, 5))
    B[:, 3] = X @ rng.standard_normal(d)  # soon solved, while others go on
    B[:, 4] = 0
    weight = rng.integers(1, 4, n)
    A = Centred(form(X), np.arange(n) % 3, weight)
    explicit = np.sqrt(weight)[:, None] * (X - weight @ X / weight.sum())
    W, n_iter = lsqr(A.products(), B.copy(), d, damp, tol, 15)
    each = [
        linalg.lsqr(explicit, b, damp=damp, atol=tol, btol=tol, conlim=0, iter_lim=15) for b in B.T
    ]
    np.testing.assert_allclose(W, np.transpose([one[0] for one in each]), rtol=1e-7, atol=1e-9)
    assert n_iter == max(one[2] for one in each)
