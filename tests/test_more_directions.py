"""LDA and KernelSRDA with more directions than classes less one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse

from narrows import LDA, PCA, SRDA, KernelSRDA, load, save
from narrows.errors import ParameterError
from tests.cases import labelled

MUS = pytest.mark.parametrize("mu", [1e-3, 0.5, 300.0, "scale", "auto"])
SIZES = pytest.mark.parametrize(("n", "d"), [(300, 12), (60, 20), (25, 40)])


def scatters(X, y):
    """The n-fold scatters between and within the classes."""
    m = X.mean(axis=0)
    H = np.array([(y == k).sum() ** 0.5 * (X[y == k].mean(axis=0) - m) for k in np.unique(y)])
    Z = X - m
    return H, Z.T @ Z - H.T @ H


def same(found, expected, tol=1e-8):
    """Whether rows are equal up to their signs."""
    signs = np.sign(np.einsum("pd,pd->p", found, expected))[:, None]
    np.testing.assert_allclose(found, signs * expected, atol=tol * np.abs(expected).max())


@SIZES
@MUS
def test_rows_after_those_of_the_classes_are_the_eigenproblem_in_the_rest(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    fitted, first = LDA(n_components=10, mu=mu).fit(X, y), LDA(mu=mu).fit(X, y)
    assert fitted.mu_ == first.mu_
    W, L = fitted.components_, fitted.eigenvalues_
    np.testing.assert_allclose(W[:3], first.components_, atol=1e-8 * np.abs(W[:3]).max())
    np.testing.assert_allclose(L[:3], first.eigenvalues_, rtol=1e-8)
    H, S_w = scatters(X, y)
    D = S_w + fitted.mu_ * np.eye(d)
    np.testing.assert_allclose(W @ D @ W.T / n, np.eye(10), atol=1e-8)
    N = linalg.null_space(H)  # what does not separate the class means
    s, V = linalg.eigh(N.T @ S_w @ N, N.T @ D @ N)
    expected = np.sqrt(n) * (N @ V[:, ::-1][:, :7]).T
    np.testing.assert_allclose(L[3:], s[::-1][:7], rtol=1e-7)
    same(W[3:], expected, 1e-6)
    ratios = fitted.explained_variance_ratio_
    np.testing.assert_allclose(ratios[:3], first.explained_variance_ratio_, rtol=1e-8)
    assert not ratios[3:].any()


@SIZES
@MUS
def test_fewer_components_are_the_first_of_more(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    most = LDA(n_components=11, mu=mu).fit(X, y)
    for p in (1, 2, 3, 4, 7):
        fewer = LDA(n_components=p, mu=mu).fit(X, y)
        np.testing.assert_allclose(fewer.components_, most.components_[:p], atol=1e-9)
        np.testing.assert_allclose(fewer.eigenvalues_, most.eigenvalues_[:p], rtol=1e-9)
        np.testing.assert_array_equal(fewer.predict(X), most.predict(X))
        np.testing.assert_allclose(fewer.predict_proba(X), most.predict_proba(X), atol=1e-9)


def test_the_most_is_the_rank_of_the_samples():
    for n, d in ((300, 12), (25, 40)):
        X, y = labelled(n=n, d=d, c=4)
        rank = np.linalg.matrix_rank(X - X.mean(axis=0))
        for mu in (0.0, 0.5) if n > d else (0.5,):
            fitted = LDA(n_components=rank, mu=mu).fit(X, y)
            assert np.linalg.matrix_rank(fitted.components_) == rank
            said = f"expected n_components<={rank}, since the samples span only {rank} directions"
            with pytest.raises(ParameterError, match=said):
                LDA(n_components=rank + 1, mu=mu).fit(X, y)
    X[:] = X.mean(axis=0)
    with pytest.raises(ValueError, match="expected classes with different means"):
        LDA(n_components=5).fit(X, y)


def test_without_a_ridge_the_order_is_that_of_the_scatter_within_the_classes():
    X, y = labelled(n=300, d=12, c=4)
    fitted = LDA(n_components=12, mu=0.0).fit(X, y)
    H, S_w = scatters(X, y)
    N = linalg.null_space(H)
    s, U = linalg.eigh(N.T @ S_w @ N)
    same(fitted.components_[3:], (N @ U[:, ::-1] / np.sqrt(s[::-1] / 300)).T)
    np.testing.assert_allclose(fitted.eigenvalues_[3:], 1.0)


def test_a_stream_has_zeros_until_there_are_as_many():
    X, y = labelled(n=300, d=12, c=4)
    stream = LDA(n_components=9, mu=0.5).partial_fit(X[:1], y[:1])
    stream.partial_fit(X[1:6], y[1:6])
    few = stream.components_
    rank = np.linalg.matrix_rank(X[:6] - X[:6].mean(axis=0))
    assert few.shape == (9, 12)
    assert np.linalg.matrix_rank(few) == few.any(axis=1).sum() == rank == 5
    stream.partial_fit(X[6:], y[6:])
    whole = LDA(n_components=9, mu=0.5).fit(X, y)
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-10)


@pytest.mark.parametrize("wide", [False, True])
def test_a_saved_model_has_them_all(tmp_path, wide):
    X, y = labelled(n=40, d=20, c=4)
    if wide:
        X = sparse.hstack([sparse.csr_array(X), sparse.csr_array((40, 9000))], format="csr")
    fitted = LDA(n_components=12, mu=2.0).fit(X, y)
    save(fitted, tmp_path / "a.narrows")
    again = load(tmp_path / "a.narrows")
    for name in ("components_", "eigenvalues_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(again, name), getattr(fitted, name), rtol=1e-12)
    assert fitted.explained_variance_ratio_[2] > 0 == fitted.explained_variance_ratio_[3]
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_what_varies_within_the_classes_is_kept_largest_first():
    """Variation that no class of the fit has in its mean, which unseen classes may have."""
    rng = np.random.default_rng(0)
    spread = np.r_[8.0, 16.0, 4.0, np.ones(27)]
    X, y = rng.normal(size=(4000, 30)) * spread, np.arange(4000) % 2
    X[:, 0] += 40 * y
    W = LDA(n_components=3, mu=1.0).fit(X, y).components_[1:]
    expected = np.eye(30)[1:3] / spread[1:3, None]
    np.testing.assert_allclose(W, expected, atol=0.1 * expected.max())


def test_kernel_srda_continues_in_its_coordinates():
    X, y = labelled(n=600, d=6, c=2)
    y = np.char.add(y.astype(str), (np.linalg.norm(X[:, :2], axis=1) > 1).astype(str))
    rank_one = KernelSRDA(n_hidden=60, alpha="scale").fit(X, y)
    most = KernelSRDA(n_hidden=60, alpha="scale", n_components=20).fit(X, y)
    Z, few = most.transform(X), KernelSRDA(n_hidden=60, alpha="scale", n_components=9).fit(X, y)
    np.testing.assert_allclose(Z[:, :3], rank_one.transform(X), atol=1e-8)
    np.testing.assert_allclose(Z[:, :9], few.transform(X), atol=1e-8)
    np.testing.assert_array_equal(most.predict(X), rank_one.predict(X))
    means = np.array([Z[y == k].mean(axis=0) for k in np.unique(y)])
    np.testing.assert_allclose(means[:, 3:] - Z[:, 3:].mean(axis=0), 0, atol=1e-8)
    within = Z - means[np.unique(y, return_inverse=True)[1]]
    scatter = within[:, 3:].T @ within[:, 3:]
    np.testing.assert_allclose(scatter, np.diag(scatter.diagonal()), atol=1e-8)
    assert (np.diff(most.eigenvalues_[3:]) <= 0).all()
    assert (np.diff(scatter.diagonal()) <= 1e-8).all()


def test_methods_that_do_not_continue_name_lda():
    X, y = labelled(n=60, d=9, c=4)
    with pytest.raises(ParameterError, match="or LDA, which has more with at most 8,192 features"):
        SRDA(n_components=5).fit(X, y)
    for solver in ("pca", "gsvd"):
        with pytest.raises(ParameterError, match='or solver="regularized", which has more'):
            LDA(n_components=5, solver=solver).fit(X, y)


@pytest.mark.slow
def test_they_find_more_neighbours_of_the_same_class_than_principal_components(data):
    """News20 embeddings, as many directions: the share of ten neighbours of the same class."""
    with np.load(data / "news20_static384.npz") as f:
        X, y, train = f["X"].astype(np.float64), f["y"], f["train"].astype(bool)
    share = []
    for method in (LDA(n_components=64), PCA(n_components=64)):
        fitted = method.fit(X[train][::2], y[train][::2])
        A, B = (
            Z / np.linalg.norm(Z, axis=1)[:, None]
            for Z in map(fitted.transform, (X[train][::2], X[~train][::8]))
        )
        near = np.argsort(-(B @ A.T), axis=1)[:, :10]
        share.append((y[train][::2][near] == y[~train][::8][:, None]).mean())
    assert share[0] > share[1] + 0.05


@pytest.mark.parametrize("p", [1, 5, None])
def test_equal_class_means_have_no_directions(p):
    X = np.tile(np.random.default_rng(0).normal(size=(20, 10)), (2, 1))
    with pytest.raises(ValueError, match="expected classes with different means"):
        LDA(n_components=p).fit(X, np.repeat([0, 1], 20))


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1e-6, 1.0])
def test_more_features_than_sums_hold(mu):
    """The samples span few dimensions: in a basis of these, the answer is the same."""
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(60, 59)), np.arange(60) % 4
    B = np.linalg.qr(rng.normal(size=(9000, 59)))[0]
    wide = LDA(n_components=12, mu=mu).fit(Z @ B.T, y)
    narrow = LDA(n_components=12, mu=mu).fit(Z, y)
    np.testing.assert_allclose(wide.eigenvalues_, narrow.eigenvalues_, rtol=1e-6)
    same(wide.components_[3:], narrow.components_[3:] @ B.T, 1e-6)
    with pytest.raises(ParameterError, match="n_components<=59, since the samples span only 59"):
        LDA(n_components=80, mu=mu).fit(Z @ B.T, y)
