"""Numbers of features and components, ridges and eps that held-out samples choose: by brute force.

That every way to learn gives the same choice is in test_ways.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import CHI, IG, LDA, MMC, OC, OCFS, SRDA, FisherFS, Moments
from narrows.errors import ParameterError
from tests.oracles import components, held_out

pytestmark = pytest.mark.filterwarnings("ignore:MMC. (only|none)")  # of which eps loses margin
SELECTORS = {
    OCFS: held_out.Spread(),
    FisherFS: held_out.Ratio(),
    IG: held_out.Information(),
    CHI: held_out.ChiSquared(),
}
CHOICES = [OC("cv"), SRDA("cv"), LDA("cv", mu="cv"), MMC(eps="cv")]
CLASSES = np.array(["ant", "bee", "cat", "dog", "eel"])
selectors = pytest.mark.parametrize("method", SELECTORS)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def features(n=83, d=12, c=3, seed=0, rare=False):
    """Samples of which a few features distinguish the classes; some values are 0."""
    rng = np.random.default_rng(seed)
    y = np.array(["ant", "bee", "cat", "dog"])[:c][rng.integers(0, c, n)]
    if rare:
        y[[3, 41]] = "eel"  # the folds 3 and 1 only
        y[12] = "fly"  # fold 2 only: the other folds lack it
    X = rng.normal(1, 1, (n, d)) * (rng.random((n, d)) < 0.5)
    code = np.unique(y, return_inverse=True)[1]
    for f in range(d // 3):  # each is present in most samples of one class
        has = rng.random(n) < np.where(code == f % c, 0.9, 0.3)
        X[:, f] = has * rng.normal(2, 0.5, n)
    X[:, d - 1] = 1.0
    X[:, d - 2] = 0.0
    X[7, d - 2] = 2.0  # varies in one fold only
    return X, y


def samples(n=120, d=7, c=5, planes=2, noise=0.7, seed=0):
    """Classes whose means differ in a few directions only."""
    rng = np.random.default_rng(seed)
    means = 1.6 * rng.normal(size=(c, planes)) @ np.linalg.qr(rng.normal(size=(d, planes)))[0].T
    code = np.append(np.arange(c), rng.integers(c, size=n - c))
    X = means[code] + noise * rng.normal(size=(n, d)) * np.linspace(0.5, 1.5, d)
    return X, CLASSES[code]


def parts_of(fitted, X):
    """The samples in the order of their hashes, in four parts."""
    row = [int(np.flatnonzero((X == x).all(axis=1))[0]) for x in fitted.moments_.samples.X]
    assert sorted(row) == list(range(len(X)))
    return np.array(row).reshape(4, -1)


def assert_chose(fitted, expected, near=1e-9):
    scores, errors, size = expected
    np.testing.assert_allclose(fitted.held_out_scores_, scores, rtol=near, atol=near / 1e3)
    np.testing.assert_allclose(fitted.held_out_errors_, errors, rtol=near, atol=near / 1e3)
    assert fitted.transform(np.zeros((1, fitted.n_features_in_))).shape[1] == size


@selectors
@forms
@pytest.mark.parametrize("priors", ["empirical", "sqrt", "balanced", [0.5, 0.2, 0.1, 0.1, 0.1]])
def test_features_are_those_of_refitting_on_every_fold(method, priors, form):
    X, y = features(rare=True)
    fitted = method(n_features="cv", priors=priors).fit(form(X), y)
    assert_chose(fitted, held_out.curve(SELECTORS[method], X, y, priors=priors))
    chosen = np.sort(fitted.ranking_[: fitted.n_features_])
    np.testing.assert_array_equal(chosen, fitted.get_support(indices=True))


@selectors
def test_moments_of_any_number_of_folds_are_accepted(method):
    X, y = features()
    weight = np.random.default_rng(1).random(len(y))  # without ties
    given = (X != 0).astype(float) if method in (IG, CHI) else X
    second = method().fit(X, y).moments_.second
    folds = [Moments.of(given[k::3], y[k::3], weight[k::3], second=second) for k in range(3)]
    fitted = method(n_features="cv").fit_moments(folds)
    assert_chose(fitted, held_out.curve(SELECTORS[method], X, y, weight, K=3))
    plain = method().fit_moments(folds)
    np.testing.assert_allclose(plain.scores_, method().fit(X, y, weight).scores_)


@selectors
def test_features_that_distinguish_no_held_out_samples_are_warned_of(method):
    """The other folds say the contrary of each fold, or nothing."""
    i = np.arange(50)
    y = i // 5 % 2
    X = np.c_[y ^ (i % 5 > 1), y ^ (i % 5 > 2), y ^ (i % 5 < 2)].astype(float)
    with pytest.warns(UserWarning, match="expected a positive held-out score"):
        fitted = method(n_features="cv").fit(X, y)
    assert fitted.n_features_ == 1
    assert fitted.held_out_scores_.max() <= 0


@forms
@pytest.mark.parametrize("priors", ["empirical", "balanced", [0.1, 0.3, 0.2, 0.3, 0.1]])
def test_centroids_are_those_of_the_other_folds(form, priors):
    X, y = samples(noise=2.0)
    fitted = OC(n_components="cv", priors=priors).fit(form(X), y)
    assert_chose(fitted, components.centroids(X, y, 4, priors=priors))


def test_folds_may_lack_classes_and_directions():
    X, y = samples(n=60, planes=4)
    rare = np.flatnonzero(y == "dog")[2:]  # which two folds have
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    weight[[3, 8]] = 0.0
    fitted = OC(n_components="cv").fit(X, y, weight)
    assert_chose(fitted, components.centroids(X, y, 4, weight))


@pytest.mark.parametrize(
    ("estimator", "ridge", "data"),
    [
        (SRDA(n_components="cv", alpha=2.0), 2.0, {"planes": 1}),
        (LDA(n_components="cv", mu=2.0), 2.0, {"planes": 2}),
        (SRDA(n_components="cv", alpha=2.0), 2.0, {"planes": 4}),
        (SRDA(n_components="cv", alpha=30.0), 30.0, {"n": 40, "d": 60}),
    ],
    ids=str,
)
def test_directions_are_those_of_the_other_samples(estimator, ridge, data):
    X, y = samples(**data)
    fitted = clone(estimator).fit(X, y)
    scores, errors, size = components.components(X, y, parts_of(fitted, X), ridge, 4)
    np.testing.assert_allclose(fitted.held_out_scores_, scores, atol=1e-5)
    np.testing.assert_allclose(fitted.held_out_errors_, errors, atol=1e-4)
    assert len(fitted.components_) == len(fitted.eigenvalues_) == size


def test_mu_is_that_of_the_other_samples():
    X, y = samples(n=80, planes=4, noise=2.0)
    fitted = LDA(mu="cv").fit(X, y)
    scores, errors, mu = components.ridges(X, y, parts_of(fitted, X))
    np.testing.assert_allclose(fitted.mu_scores_, scores, atol=1e-5)
    np.testing.assert_allclose(fitted.mu_errors_, errors, atol=1e-4)
    np.testing.assert_allclose(fitted.mus_, X.var(axis=0).sum() * np.array(components.GRID))
    assert fitted.mu_ == pytest.approx(mu)


@pytest.mark.parametrize("mu", ["auto", "cv"])
def test_mu_is_the_ridge_of_srda(mu):
    X, y = samples(noise=2.0)
    lda, srda = LDA(mu=mu).fit(X, y), SRDA(alpha="cv").fit(X, y)
    assert lda.mu_ == srda.alpha_
    np.testing.assert_array_equal(lda.mu_scores_, srda.alpha_scores_)
    np.testing.assert_allclose(lda.predict_proba(X), srda.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("noise", [0.7, 3.0])
def test_eps_is_that_of_the_other_samples(noise):
    X, y = samples(n=80, planes=4, noise=noise)
    fitted = MMC(eps="cv").fit(X, y)
    scores, errors, eps = components.weights(X, y, parts_of(fitted, X))
    np.testing.assert_allclose(fitted.eps_scores_, scores, atol=1e-5)
    np.testing.assert_allclose(fitted.eps_errors_, errors, atol=1e-4)
    np.testing.assert_allclose(fitted.eps_values_, components.EPS)
    assert fitted.eps_ == pytest.approx(eps)


@pytest.mark.parametrize("estimator", CHOICES[:3], ids=repr)
def test_chosen_components_are_the_first_of_all(estimator):
    X, y = samples()
    fitted = clone(estimator).fit(X, y)
    every = clone(estimator).set_params(n_components=None).fit(X, y)
    p = len(fitted.components_)
    assert p == 2 < len(every.components_) == len(fitted.held_out_scores_)
    for name in ("components_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(fitted, name), getattr(every, name)[:p])
    if not isinstance(fitted, OC):
        np.testing.assert_allclose(fitted.predict_proba(X), every.predict_proba(X))


@pytest.mark.parametrize("estimator", [*CHOICES, OCFS(n_features="cv")], ids=repr)
def test_a_choice_may_be_made_after_the_fit_if_the_model_has_what_is_held_out(estimator):
    X, y = samples()
    [name] = {"eps", "n_components", "n_features"} & {
        name for name, value in estimator.get_params().items() if value == "cv"
    }
    fitted = clone(estimator).fit(X, y)
    chosen = fitted.transform(X)
    fitted.set_params(**{name: 1})
    assert not len(getattr(fitted, "eps_scores_" if name == "eps" else "held_out_scores_"))
    np.testing.assert_array_equal(fitted.set_params(**{name: "cv"}).transform(X), chosen)
    if not isinstance(estimator, SRDA | LDA):  # whose ridge is chosen by what they hold out
        plain = clone(estimator).set_params(**{name: 1}).fit(X, y).set_params(**{name: "cv"})
        with pytest.raises(ParameterError, match=f'Fit again with {name}="cv"'):
            plain.transform(X)


@pytest.mark.parametrize("estimator", CHOICES, ids=repr)
def test_a_stream_without_what_is_held_out_is_as_without_a_choice(estimator):
    X, y = samples()
    given = {"eps": 1.0} if isinstance(estimator, MMC) else {"n_components": None}
    stream, every = clone(estimator), clone(estimator).set_params(**given)
    for rows in (slice(0, 1), slice(1, 4)):  # one sample of each class
        for each in (stream, every):
            each.partial_fit(X[rows], y[rows])
    assert stream.components_.shape == every.components_.shape == (3, 7)
