"""What estimators have for scikit-learn's users: coefficients, inverses, shares of the variance."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from narrows import IDRQR, LDA, OC, OCM, PCA, SRDA, KernelSRDA, load, save
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.inside import pretend

X, Y = load_wine(return_X_y=True)


def also_from_a_file(fitted, folder):
    """Yield the estimator, and one that was saved and loaded."""
    yield fitted
    save(fitted, folder / "m.narrows")
    yield load(folder / "m.narrows")


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("p", [None, 5, 0.3, 0.9999, 0.99999999])
def test_pca_inverts_and_explains_as_scikit_learn(tmp_path, p, standardize):
    theirs = decomposition.PCA(p, svd_solver="full")
    pipeline = make_pipeline(*[StandardScaler()] * standardize, theirs).fit(X)
    expected = pipeline.inverse_transform(pipeline.transform(X))
    stream, part = (PCA(p, standardize=standardize) for _ in range(2))
    stream.partial_fit(X[:1]).partial_fit(X[1:50]).merge(part.partial_fit(X[50:]))
    fitted = PCA(p, standardize=standardize).fit(X)
    for ours in (fitted, *also_from_a_file(stream, tmp_path)):
        assert ours.components_.shape == (theirs.n_components_, 13)
        for name in ("explained_variance_", "explained_variance_ratio_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
        found = ours.inverse_transform(ours.transform(X))
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(X).max())
    few = ours.transform(X.astype(np.float32))
    assert ours.inverse_transform(few).dtype == np.float32


def test_pca_of_more_features_than_products_are_summed_for(monkeypatch):
    wide = np.random.default_rng(0).normal(size=(30, 9_000)) * np.linspace(0, 1, 9_000)
    expected = decomposition.PCA(n_components=3, svd_solver="full").fit(wide)
    found = PCA(n_components=3).fit(wide).explained_variance_ratio_
    np.testing.assert_allclose(found, expected.explained_variance_ratio_, rtol=1e-9)
    pretend(monkeypatch, "no products")
    samples, _ = labelled(n=30, d=12)
    few, fitted = PCA(3).fit(samples), PCA(0.8).fit(sparse.csr_array(samples))
    expected = decomposition.PCA(0.8, svd_solver="full").fit(samples).explained_variance_
    np.testing.assert_allclose(fitted.explained_variance_, expected)
    with pytest.raises(ParameterError, match=r"expected n_components up to 0"):
        few.set_params(n_components=0.99).transform(samples)
    with pytest.raises(ParameterError, match=r"expected at most .* features for mean_"):
        fitted.inverse_transform(fitted.transform(samples))


def test_what_cannot_be_inverted_is_named():
    with pytest.raises(ValueError, match="expected reduced samples with 2 columns, got 13"):
        PCA(2).fit(X).inverse_transform(X)
    for share in (0.0, 1.0, 1.5, -0.5):
        with pytest.raises(ParameterError, match="share"):
            PCA(share).fit(X)


EXPLAINED = [
    OC(), OC(priors="balanced"), OCM(), PCA(), SRDA(), SRDA(alpha=1.0), LDA(),
    LDA(solver="pca"), LDA(solver="gsvd"), IDRQR(), SRDA(solver="lsqr"),
]  # fmt: skip


@pytest.fixture(params=[(200, 9, 5), (12, 30, 4)], ids=["tall", "wide"])
def samples(request):
    n, d, c = request.param
    return labelled(n=n, d=d, c=c)


@pytest.mark.parametrize("estimator", EXPLAINED, ids=repr)
def test_ratios_are_shares_of_all_eigenvalues(estimator, samples, tmp_path):
    everything = clone(estimator).fit(*samples).eigenvalues_
    shares = everything / everything.sum()
    for p in (None, 1, 2):
        fitted = clone(estimator).set_params(n_components=p).fit(*samples)
        for each in also_from_a_file(fitted, tmp_path):
            found = each.explained_variance_ratio_
            np.testing.assert_allclose(found, shares[:p], rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        fitted.explained_variance_ratio_[0] = 1.0


@pytest.mark.parametrize("solver", ["pca", "regularized"])
def test_lda_explains_what_that_of_scikit_learn_does(solver):
    X, y = labelled(n=200, d=9, c=5)
    expected = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).explained_variance_ratio_
    lda = LDA(solver=solver, mu=1e-9).fit(X, y)
    np.testing.assert_allclose(lda.explained_variance_ratio_, expected[:4], rtol=1e-6)
    r = SRDA(alpha=1e-9).fit(X, y).eigenvalues_  # to the scatter of all samples
    np.testing.assert_allclose(r / (1 - r) / (r / (1 - r)).sum(), expected[:4], rtol=1e-6)


@pytest.mark.parametrize("method", [OC, OCM, PCA, SRDA, LDA, IDRQR])
def test_ratios_of_directions_that_are_not_available_are_zero(method):
    X, y = labelled(n=60, d=9, c=4)
    for n in (0, 4) if method is PCA else (0, 1, 4):
        stream = method(n_components=6).partial_fit(X[:n], y[[0, 1, 0, 1]][:n])
        ratios, missing = stream.explained_variance_ratio_, stream.eigenvalues_ == 0
        assert missing.any()
        assert not ratios[missing].any()
        assert ratios.sum() == pytest.approx(float(n == 4))


@pytest.mark.parametrize("stored", ["array", "non-zeros"])
def test_few_directions_of_many_classes_are_those_of_all(monkeypatch, stored):
    """By Lanczos, with the sums as they are stored."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((400, 60), density=0.2, rng=rng, format="csr")
    y = rng.integers(0, 45, 400)
    if stored == "non-zeros":
        pretend(monkeypatch, "non-zeros")
    every = OC(priors="sqrt").fit(X, y)
    pretend(monkeypatch, "Lanczos for classes")
    few = OC(3, priors="sqrt").fit(X, y)
    for name in ("eigenvalues_", "components_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(few, name), getattr(every, name)[:3], atol=1e-9)
    assert (few.components_ != every.components_[:3]).any()  # found in another way


RULES = [
    LDA(), LDA(mu=0.5, keep=0, standardize=True), LDA(solver="gsvd"), SRDA(n_components=1),
    SRDA(solver="lsqr"),
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", RULES, ids=repr)
def test_coefficients_are_those_of_the_decisions(tmp_path, method, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = method.fit(X, Y % classes)
    rows = 1 if classes == 2 else 3
    for each in also_from_a_file(fitted, tmp_path):
        assert (each.coef_.shape, each.intercept_.shape) == ((rows, 13), (rows,))
        found = X @ each.coef_.T + each.intercept_
        expected = each.decision_function(X).reshape(len(X), rows)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_hidden_features_and_classes_to_come_have_no_coefficients():
    for name in ("coef_", "intercept_"):
        assert not hasattr(KernelSRDA(n_hidden=20).fit(X, Y), name)
    fitted = LDA(mu=1.0).partial_fit(X, Y, classes=[0, 1, 2, 3])
    assert not fitted.coef_[3].any()
    assert fitted.intercept_[3] == -np.inf
    expected = fitted.decision_function(X)
    np.testing.assert_allclose(X @ fitted.coef_.T + fitted.intercept_, expected, atol=1e-9)
