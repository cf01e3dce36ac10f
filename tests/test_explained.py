"""explained_variance_ratio_: shares of all directions, whatever n_components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from narrows import (
    CCIPCA,
    IDRQR,
    IIS,
    ILDA,
    IMMC,
    IOC,
    LDA,
    MMC,
    OC,
    OCM,
    PCA,
    SRDA,
    OnlineSRDA,
    load,
    save,
)
from tests.cases import labelled
from tests.inside import pretend

EXPLAINED = [
    OC(), OC(priors="balanced"), OCM(), PCA(), SRDA(), SRDA(alpha=1.0), LDA(),
    LDA(solver="pca"), LDA(solver="gsvd"), IDRQR(), SRDA(solver="lsqr"),
]  # fmt: skip
explained = pytest.mark.parametrize("estimator", EXPLAINED, ids=repr)


@pytest.fixture(params=[(200, 9, 5), (12, 30, 4)], ids=["tall", "wide"])
def samples(request):
    n, d, c = request.param
    return labelled(n=n, d=d, c=c)


@explained
def test_ratios_are_shares_of_all_eigenvalues(estimator, samples):
    X, y = samples
    fitted = clone(estimator).fit(X, y)
    everything = fitted.eigenvalues_
    np.testing.assert_allclose(
        fitted.explained_variance_ratio_, everything / everything.sum(), rtol=1e-9, atol=1e-12
    )
    for p in (1, 2):
        few = clone(estimator).set_params(n_components=p).fit(X, y)
        np.testing.assert_allclose(
            few.explained_variance_ratio_, fitted.explained_variance_ratio_[:p], rtol=1e-9
        )
    with pytest.raises(ValueError, match="read-only"):
        few.explained_variance_ratio_[0] = 1.0


@explained
def test_ratios_survive_files(estimator, samples, tmp_path):
    fitted = clone(estimator).set_params(n_components=2).fit(*samples)
    save(fitted, tmp_path / "model.narrows")
    np.testing.assert_allclose(
        load(tmp_path / "model.narrows").explained_variance_ratio_,
        fitted.explained_variance_ratio_,
        rtol=1e-9,
    )


@pytest.mark.parametrize("method", [OC, OCM])
def test_centroids_explain_shares_of_the_scatter_of_the_class_means(method, samples):
    X, y = samples
    _, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    D = np.array([X[code == j].mean(axis=0) for j in range(len(counts))]) - X.mean(axis=0)
    S_b = D.T @ np.diag(counts / len(y)) @ D
    expected = np.linalg.eigvalsh(S_b)[::-1][:2] / np.trace(S_b)
    found = method(n_components=2).fit(X, y).explained_variance_ratio_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_pca_explains_what_that_of_scikit_learn_does(samples):
    X, _ = samples
    expected = decomposition.PCA(n_components=3).fit(X).explained_variance_ratio_
    np.testing.assert_allclose(
        PCA(n_components=3).fit(X).explained_variance_ratio_, expected, rtol=1e-9
    )
    stream = PCA(n_components=3)
    for start in range(0, len(X), 7):
        stream.partial_fit(X[start : start + 7])
    np.testing.assert_allclose(stream.explained_variance_ratio_, expected, rtol=1e-9)


def test_pca_of_more_features_than_a_state_has_knows_the_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 9_000)) * rng.random(9_000)
    expected = decomposition.PCA(n_components=3, svd_solver="full").fit(X)
    found = PCA(n_components=3).fit(X).explained_variance_ratio_
    np.testing.assert_allclose(found, expected.explained_variance_ratio_, rtol=1e-9)


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
    empty = method(n_components=6).partial_fit(X[:0], y[:0])
    assert empty.explained_variance_ratio_.tolist() == [0.0] * 6
    stream = method(n_components=6).partial_fit(X[:4], y[[0, 1, 0, 1]])
    ratios, missing = stream.explained_variance_ratio_, stream.eigenvalues_ == 0
    assert missing.any()
    assert not ratios[missing].any()
    assert ratios.sum() == pytest.approx(1.0)
    if method is not PCA:
        one = method(n_components=6).partial_fit(X[:1], y[:1])
        assert not one.explained_variance_ratio_.any()


@pytest.mark.parametrize("method", [MMC, IOC, IIS, IMMC, CCIPCA, ILDA, OnlineSRDA])
def test_where_no_sum_is_known_there_are_no_ratios(method):
    X, y = labelled()
    assert not hasattr(method(n_components=2).fit(X, y), "explained_variance_ratio_")


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
    np.testing.assert_allclose(few.eigenvalues_, every.eigenvalues_[:3])
    np.testing.assert_allclose(few.components_, every.components_[:3], atol=1e-9)
    np.testing.assert_allclose(few.explained_variance_ratio_, every.explained_variance_ratio_[:3])
    assert (few.components_ != every.components_[:3]).any()  # found in another way
