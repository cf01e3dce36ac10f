"""Cross products of features, and what is computed from them: against NumPy, SciPy, scikit-learn.

And the lengths of directions, and more of them than classes less one.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from narrows import IDRQR, LDA, MMC, PCA, SRDA, KernelSRDA, Moments, OnlineSRDA, load, save
from narrows.errors import ParameterError
from tests.cases import assert_same, labelled, same_directions
from tests.inside import pretend
from tests.oracles.dense import scatters

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


EXACT = [  # small ridges
    SRDA(alpha=1e-3), SRDA(alpha=1e-3, standardize=True), LDA(mu=1e-3), LDA(6, mu=1e-3),
    SRDA(alpha=1e-3, solver="lsqr", max_iter=300, tol=1e-14), LDA(solver="pca"),
    LDA(solver="gsvd"), KernelSRDA(alpha=1e-3, n_hidden=40), IDRQR(mu=1e-3),
]  # fmt: skip


def deviations(Z, y, weight=None):
    """The pooled deviations of columns about the means of their classes."""
    weight = np.ones(len(y)) if weight is None else weight
    of = [(Z[y == k], weight[y == k]) for k in np.unique(y)]
    rest = np.vstack([part - np.average(part, axis=0, weights=w) for part, w in of])
    return np.sqrt(np.average(rest**2, axis=0, weights=np.concatenate([w for _, w in of])))


def samples(n=240, offset=0.0):
    X, y = labelled(n=n, d=8, c=4)
    return X * [1, 10, 1, 0.1, 1, 1, 3, 1] + offset, y


@pytest.mark.parametrize("estimator", EXACT, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_deviation_within_the_classes_is_one(estimator, weighted):
    X, y = samples(offset=5.0)
    if weighted and isinstance(estimator, IDRQR):
        pytest.skip("it has no sample weights")
    weight = np.random.default_rng(0).uniform(0.2, 5, len(y)) if weighted else None
    fitted = clone(estimator).fit(X, y, *([weight] if weighted else []))
    # hidden features vary little beside the ridge
    near = 0.2 if isinstance(estimator, IDRQR | KernelSRDA) else 0.01
    np.testing.assert_allclose(deviations(fitted.transform(X), y, weight), 1.0, atol=near)


def test_lengths_are_those_of_scikit_learn():
    X, y = samples()
    theirs = np.abs(LinearDiscriminantAnalysis().fit(X, y).transform(X))
    for ours in (SRDA(alpha=0), LDA(mu=0), LDA(solver="pca"), LDA(solver="gsvd")):
        Z = ours.fit(X, y).transform(X)
        np.testing.assert_allclose(np.abs(Z - Z.mean(axis=0)), theirs, atol=1e-7 * theirs.max())


def test_the_total_variance_is_one_where_some_directions_have_no_scatter_within_the_classes():
    """As Ye et al. (2005) have LDA/GSVD: with equal samples of two classes, not all have none."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), np.arange(40) % 4
    X[1] = X[0]
    lda = LDA(solver="gsvd").fit(X, y)
    assert lda.eigenvalues_[0] == pytest.approx(1)
    assert lda.eigenvalues_[-1] < 0.99
    np.testing.assert_allclose(np.cov(lda.transform(X).T, bias=True), np.eye(3), atol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_components": 2}, {"polish": False}, {"keep": 150}, {"half_life": 500}],
    ids=str,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_online_srda_divides_by_the_deviation_of_its_samples(parameters, form):
    X, y = samples(n=600)
    model = OnlineSRDA(random_state=0, **parameters).fit(form(X), y)
    near = 0.2 if "keep" in parameters else 0.1
    np.testing.assert_allclose(deviations(model.transform(form(X)), y), 1.0, atol=near)


@pytest.mark.parametrize("mu", [1e-3, 0.5, 300.0, "scale", "auto"])
@pytest.mark.parametrize(("n", "d"), [(300, 12), (12, 40), (25, 40)])
def test_lda_is_the_eigenproblem_and_then_that_in_the_rest(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    fitted, first = LDA(n_components=10, mu=mu).fit(X, y), LDA(mu=mu).fit(X, y)
    S_b, S_w, _ = (n * S for S in scatters(X, y))
    D = S_w + fitted.mu_ * np.eye(d)
    ratios, V = linalg.eigh(S_b, D)
    N = linalg.null_space(S_b, rcond=1e-10)  # what does not separate the class means
    s, U = linalg.eigh(N.T @ S_w @ N, N.T @ D @ N)
    W = fitted.components_
    np.testing.assert_allclose(W @ D @ W.T / n, np.eye(10), atol=1e-8)
    expected = np.append(ratios[::-1][:3], s[::-1][:7])
    np.testing.assert_allclose(fitted.eigenvalues_, expected, rtol=1e-7)
    same_directions(W, np.vstack([V.T[::-1][:3], (N @ U).T[::-1][:7]]), 1e-6, signs=True)
    for name in ("components_", "eigenvalues_", "explained_variance_ratio_"):
        rows, of = getattr(fitted, name)[:3], getattr(first, name)
        np.testing.assert_allclose(rows, of, atol=1e-8 * np.abs(of).max())
    assert not fitted.explained_variance_ratio_[3:].any()


@pytest.mark.parametrize(("n", "d", "mu"), [(300, 12, 0.0), (300, 12, 0.5), (25, 40, 0.5)])
def test_the_most_is_the_rank_of_the_samples(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    fitted = LDA(n_components=rank, mu=mu).fit(X, y)
    assert np.linalg.matrix_rank(fitted.components_) == rank
    with pytest.raises(ParameterError, match=f"n_components<={rank}"):
        LDA(n_components=rank + 1, mu=mu).fit(X, y)


def test_a_stream_has_zeros_until_there_are_as_many():
    X, y = labelled(n=300, d=12, c=4)
    stream = LDA(n_components=9, mu=0.5).partial_fit(X[:1], y[:1])
    assert not stream.components_.any()
    few = stream.partial_fit(X[1:6], y[1:6]).components_
    rank = np.linalg.matrix_rank(X[:6] - X[:6].mean(axis=0))
    assert few.shape == (9, 12)
    assert np.linalg.matrix_rank(few) == few.any(axis=1).sum() == rank == 5
    whole = LDA(n_components=9, mu=0.5).fit(X, y)
    stream.partial_fit(X[6:], y[6:])
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-10)
