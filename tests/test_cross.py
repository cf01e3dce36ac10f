"""Cross products of features, and what is computed from them: against NumPy, SciPy, scikit-learn.

The laws that these methods share with others are in test_laws.py.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn import decomposition
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from narrows import LDA, MMC, PCA, SRDA, Moments, load, save
from tests.cases import assert_same, labelled, same_directions
from tests.forks import holds_in_a_fork
from tests.inside import pretend
from tests.oracles.dense import scatters
from tests.solvers import products as of_products

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def test_an_eigenvalue_left_by_a_subtraction_is_noise():
    """Of 2,000 samples 40 are left, in 100 features: the rank is 39."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 100)), np.arange(2000) % 4
    left = Moments.of(X, y, second="cross") - Moments.of(X[40:], y[40:], second="cross")
    found, expected = PCA().fit_moments(left), PCA().fit(X[:40])
    assert found.components_.shape == (39, 100)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-8)
    for method in (SRDA(alpha=0.0), LDA(mu=1e-9)):  # the ridge is kept above the noise
        assert np.isfinite(method.fit_moments(left).components_).all()


def ridge_pair(A, B, p):
    """The p leading generalised eigenvectors of a pair, one per row, and their eigenvalues."""
    L, V = linalg.eigh(A, B)
    return L[::-1][:p], V.T[::-1][:p]


SIZES = [(700, 12), (60, 20), (12, 40), (30, 150)]  # and fewer samples than features
sizes = pytest.mark.parametrize(("n", "d"), SIZES)


@forms
@sizes
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [{}, {"solver": "lsqr", "max_iter": 500, "tol": 1e-14}])
def test_srda_is_the_explicit_eigenproblem(form, n, d, weighted, solver):
    X, y = labelled(n=n, d=d, c=4, sparse=form is not np.asarray)
    weight = 0.5 + np.arange(n) % 3 if weighted else np.ones(n)
    S_b, S_w, C = scatters(X, y, weight)
    rtol = 1e-7 if solver else 1e-9
    for alpha in (0.7, 30.0) if solver else (0.7, "scale"):
        fitted = SRDA(alpha=alpha, **solver).fit(form(X), y, weight)
        alpha = np.trace(C) if alpha == "scale" else alpha
        assert fitted.alpha_ == pytest.approx(alpha, rel=1e-12)
        ridge = alpha / weight.sum() * np.eye(d)
        ratios, V = ridge_pair(S_b, C + ridge, 3)
        np.testing.assert_allclose(fitted.eigenvalues_, ratios, rtol=rtol)
        W = fitted.components_
        same_directions(W, V, 1e-6 if solver else 1e-8, signs=True)
        np.testing.assert_allclose(W @ (S_w + ridge) @ W.T, np.eye(3), atol=10 * rtol)
        assert (W[np.arange(3), np.abs(W).argmax(axis=1)] > 0).all()


@sizes
@pytest.mark.parametrize("mu", [0.5, 100.0])
def test_lda_is_the_explicit_eigenproblem(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    S_b, S_w, _ = scatters(X, y)
    D = n * S_w + mu * np.eye(d)
    ratios, V = ridge_pair(n * S_b, D, 3)
    fitted = LDA(mu=mu).fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, ratios, rtol=1e-9)
    same_directions(fitted.components_, V, 1e-8, signs=True)
    W = fitted.components_
    np.testing.assert_allclose(W @ D @ W.T, n * np.eye(3), atol=1e-9 * n)


@forms
@sizes
def test_pca_is_that_of_scikit_learn(form, n, d):
    X, y = labelled(n=n, d=d, sparse=form is not np.asarray)
    rank = min(n - 1, d)
    theirs = decomposition.PCA(rank, svd_solver="full").fit(X)
    for p in (None, 3):
        fitted = PCA(p).fit(form(X), y)
        k = p or rank
        variance = theirs.explained_variance_[:k] * (n - 1) / n
        np.testing.assert_allclose(fitted.eigenvalues_, variance, atol=1e-12 * variance[0])
        same_directions(fitted.components_, theirs.components_[:k], 1e-6, signs=True)
        np.testing.assert_allclose(fitted.mean_, theirs.mean_, atol=1e-12)
        centred = fitted.transform(X) - fitted.mean_ @ fitted.components_.T
        np.testing.assert_allclose(np.abs(centred), np.abs(theirs.transform(X)[:, :k]), atol=1e-6)


def test_more_features_than_a_state_holds_are_solved_from_the_samples(tmp_path):
    """In an orthonormal basis of the span of the samples: the same as of few features."""
    rng = np.random.default_rng(0)
    X, y = labelled(n=20, d=18, c=4)
    B = np.linalg.qr(rng.standard_normal((9000, 18)))[0].T
    for method in (SRDA(alpha=3.0), LDA(n_components=9, mu="scale"), MMC(), PCA(4)):
        narrow, wide = clone(method).fit(X, y), clone(method).fit(X @ B, y)
        np.testing.assert_allclose(wide.eigenvalues_, narrow.eigenvalues_, rtol=1e-8)
        same_directions(wide.components_, narrow.components_ @ B, 1e-7, signs=True)
        save(wide, tmp_path / "a.narrows")
        assert_same(load(tmp_path / "a.narrows"), wide, rtol=0, atol=0)


@pytest.mark.parametrize("cores", [1, 3])
def test_sparse_samples_whose_last_features_are_nearly_always_there(monkeypatch, cores):
    """Those are summed as arrays, and the others by several threads, with the same bits."""
    pretend(monkeypatch, "sparse products on cores", cores)
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, d = rng.integers(1, 50), rng.integers(1, 80)
        share = np.linspace(0.05, 1, d) ** rng.integers(1, 9)
        X = sparse.csr_array(rng.normal(size=(n, d)) * (rng.random((n, d)) < share))
        weight = rng.random(n) + 0.1 if rng.random() < 0.5 else np.ones(n)
        found = Moments.of(X, np.zeros(n), weight, second="cross").cross
        expected = sum(w * np.outer(x, x) for x, w in zip(X.toarray(), weight, strict=True))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.slow
def test_threads_that_fit_leave_the_threads_of_blas_as_they_were():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 3, 300)
    with threadpool_limits(2, "blas"), ThreadPoolExecutor(4) as pool:
        before = blas_threads()
        list(pool.map(lambda k: SRDA().fit(X + k, y), range(12)))
        assert blas_threads() == before


@pytest.mark.parametrize("name", ["one_blas_thread", "_counting"])
def test_a_fork_solves_while_another_thread_does(name):
    X, y = np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 3

    def hold(wait):
        block = getattr(of_products, name)
        with block() if callable(block) else block:
            wait()

    def works():
        alone = blas_threads()
        return SRDA().fit(X, y).transform(X).shape == (60, 2) and alone == blas_threads() == before

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        assert holds_in_a_fork(hold, works)
        assert blas_threads() == before
