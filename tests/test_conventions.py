"""What estimators have for scikit-learn's users: coefficients of rules, inverses, shares."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import load_wine, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from narrows import LDA, PCA, SRDA, KernelSRDA, load, save
from narrows.errors import ParameterError
from narrows.text import Tfidf
from tests.cases import labelled
from tests.inside import pretend

X, Y = load_wine(return_X_y=True)
SHARES = [0.3, 0.9, 0.9999, 0.99999999]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("p", [None, 1, 5, *SHARES])
def test_pca_inverts_and_explains_as_scikit_learn(tmp_path, p, standardize):
    theirs = decomposition.PCA(p, svd_solver="full")
    steps = [StandardScaler()] if standardize else []
    pipeline = make_pipeline(*steps, theirs).fit(X)
    expected = pipeline.inverse_transform(pipeline.transform(X))
    fitted = PCA(p, standardize=standardize).fit(X)
    stream, part = (PCA(p, standardize=standardize) for _ in range(2))
    stream.partial_fit(X[:1]).partial_fit(X[1:50]).merge(part.partial_fit(X[50:]))
    save(stream, tmp_path / "m.narrows")
    for ours in (fitted, stream, load(tmp_path / "m.narrows")):
        variance, k = theirs.explained_variance_, theirs.n_components_
        assert ours.components_.shape == (k, 13)
        np.testing.assert_allclose(ours.explained_variance_, variance, rtol=1e-9)
        found = ours.inverse_transform(ours.transform(X))
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(X).max())
    few = ours.transform(X.astype(np.float32))
    assert ours.inverse_transform(few).dtype == np.float32


def test_a_share_of_more_features_than_products_are_summed_for(monkeypatch):
    pretend(monkeypatch, "no products")
    samples, _ = labelled(n=30, d=12)
    few = PCA(3).fit(samples)
    expected = decomposition.PCA(0.8, svd_solver="full").fit(samples)
    fitted = PCA(0.8).fit(sparse.csr_array(samples))
    assert len(fitted.components_) == expected.n_components_
    np.testing.assert_allclose(fitted.explained_variance_, expected.explained_variance_)
    with pytest.raises(ParameterError, match=r"expected n_components up to 0.* fit computed"):
        few.set_params(n_components=0.99).transform(samples)
    with pytest.raises(ParameterError, match=r"expected at most .* features for mean_ and"):
        fitted.inverse_transform(fitted.transform(samples))


def test_what_cannot_be_inverted_is_named():
    fitted = PCA(2).fit(X)
    with pytest.raises(ValueError, match="expected reduced samples with 2 columns, got 13"):
        fitted.inverse_transform(X)
    for share in (0.0, 1.0, 1.5, -0.5):
        with pytest.raises(ParameterError, match=r"an integer >= 1, a share in \(0, 1\) or None"):
            PCA(share).fit(X)


RULES = [
    LDA(),
    LDA(mu=0.5, keep=0, standardize=True),
    LDA(solver="gsvd"),
    SRDA(n_components=1),
    SRDA(solver="lsqr"),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", RULES, ids=repr)
def test_coefficients_are_those_of_the_decisions(tmp_path, method, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = method.fit(X, Y % classes)
    save(fitted, tmp_path / "m.narrows")
    rows = 1 if classes == 2 else 3
    for each in (fitted, load(tmp_path / "m.narrows")):
        assert (each.coef_.shape, each.intercept_.shape) == ((rows, 13), (rows,))
        found = X @ each.coef_.T + each.intercept_
        expected = each.decision_function(X).reshape(len(X), rows)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.slow
def test_hidden_features_have_no_coefficients():
    points, inner = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    fitted = KernelSRDA().fit(points, inner)
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match="KernelSRDA does not support coef_ and"):
            getattr(fitted, name)


def test_a_class_to_come_has_no_coefficients():
    fitted = LDA(mu=1.0).partial_fit(X, Y, classes=[0, 1, 2, 3])
    assert fitted.coef_.shape == (4, 13)
    assert not fitted.coef_[3].any()
    assert fitted.intercept_[3] == -np.inf
    expected = fitted.decision_function(X)
    np.testing.assert_allclose(X @ fitted.coef_.T + fitted.intercept_, expected, atol=1e-9)


def test_coefficients_and_priors_are_those_of_scikit_learn():
    scaled = StandardScaler().fit_transform(X)
    ours = LDA(mu=1e-9, keep=0).fit(scaled, Y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(scaled, Y)
    for name in ("coef_", "intercept_"):
        difference = getattr(ours, name) - getattr(theirs, name)  # the same for each class
        np.testing.assert_allclose(difference, np.broadcast_to(difference[0], difference.shape),
                                   atol=1e-7)  # fmt: skip
    priors = np.array([0.1, 0.2, 0.7])
    weight = (priors / np.bincount(Y))[Y] * len(Y)
    weighted = LDA(mu=1e-9, keep=0).fit(scaled, Y, sample_weight=weight)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", priors=priors).fit(scaled, Y)
    found, expected = (each.predict_proba(scaled) for each in (weighted, theirs))
    np.testing.assert_allclose(found, expected, atol=1e-7)


TEXTS = ["the sea", "the strait"]
BESIDE = {
    "PCA": (decomposition.PCA().fit(X), PCA().fit(X)),
    "LDA": (LinearDiscriminantAnalysis(store_covariance=True).fit(X, Y), LDA().fit(X, Y)),
    "Tfidf": (TfidfVectorizer().fit(TEXTS), Tfidf().fit(TEXTS)),
}


@pytest.mark.parametrize("name", BESIDE)
def test_docstrings_list_what_scikit_learn_has_beside(name):
    said = re.search(r"\*\*Not available\*\*[^:]*: ([^.]*)\.", BESIDE[name][1].__doc__)[1]
    listed = re.findall("`[^`]+`", said)
    public = [
        {each for each in {*dir(found), *found.get_params()} if not each.startswith("_")}
        for found in BESIDE[name]
    ]
    missing = public[0] - public[1]
    assert sorted(listed) == sorted(f"`{each}`" for each in missing)
