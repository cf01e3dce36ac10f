"""Numbers of features and components, ridges and eps that held-out samples choose: by brute force.

That every way to learn gives the same choice is in test_ways.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import CHI, IG, LDA, MMC, OC, OCFS, SRDA, FisherFS
from narrows.evaluate import EnergyDisplay
from tests.oracles import held_out, kernel
from tests.oracles.hashes import hashes

pytestmark = pytest.mark.filterwarnings("ignore:MMC. (only|none)")  # of which eps loses margin
SELECTORS = {
    OCFS: held_out.Spread(),
    FisherFS: held_out.Ratio(),
    IG: held_out.Information(),
    CHI: held_out.ChiSquared(),
}
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
    assert_chose(fitted, held_out.centroids(X, y, 4, priors=priors))


def test_folds_may_lack_classes_and_directions():
    X, y = samples(n=60, planes=4)
    rare = np.flatnonzero(y == "dog")[2:]  # which two folds have
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    weight[[3, 8]] = 0.0
    fitted = OC(n_components="cv").fit(X, y, weight)
    assert_chose(fitted, held_out.centroids(X, y, 4, weight))


def of_hashes(X, y):
    """The samples as oracles take them: codes, and the order in which they are kept."""
    return X, np.unique(y, return_inverse=True)[1], np.argsort(hashes(X))


def assert_curve(scores, errors, each, near):
    np.testing.assert_allclose(scores, each.mean(axis=1), atol=near)
    np.testing.assert_allclose(errors, each.std(axis=1) / np.sqrt(each.shape[1]), atol=10 * near)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (SRDA("cv", alpha=2.0), {"planes": 1}),
        (LDA("cv", mu=2.0), {"planes": 2}),
        (SRDA("cv", alpha=2.0), {"planes": 4}),
        (SRDA("cv", alpha=30.0), {"n": 40, "d": 60}),
    ],
    ids=str,
)
def test_directions_are_those_of_the_other_samples(estimator, data):
    X, y = samples(**data)
    fitted = clone(estimator).fit(X, y)
    ridge = fitted.alpha_ if isinstance(fitted, SRDA) else fitted.mu_
    scores, errors = fitted.held_out_scores_, fitted.held_out_errors_
    assert_curve(scores, errors, kernel.component_curve(*of_hashes(X, y), ridge, 4), 1e-5)
    good = scores >= scores.max() - errors[scores.argmax()]
    assert len(fitted.components_) == len(fitted.eigenvalues_) == good.argmax() + 1


@pytest.mark.parametrize("mu", ["auto", "cv"])
def test_mu_is_that_of_the_other_samples(mu):
    X, y = samples(n=80, planes=4, noise=2.0)
    fitted, unit = LDA(mu=mu).fit(X, y), X.var(axis=0).sum()
    each = kernel.curve(*of_hashes(X, y), unit * kernel.GRID, X.shape[1])
    assert_curve(fitted.mu_scores_, fitted.mu_errors_, each, 1e-5)
    np.testing.assert_allclose(fitted.mus_, unit * kernel.GRID)
    best = kernel.chosen(each, fitted.mus_, unit)
    assert fitted.mu_ == fitted.mus_[best] == SRDA(alpha="cv").fit(X, y).alpha_


@pytest.mark.parametrize("noise", [0.7, 3.0])
def test_eps_is_that_of_the_other_samples(noise):
    X, y = samples(n=80, planes=4, noise=noise)
    fitted, values = MMC(eps="cv").fit(X, y), 10.0 ** (np.arange(-2, 4) / 2)
    each = kernel.eps_curve(*of_hashes(X, y), values)
    assert_curve(fitted.eps_scores_, fitted.eps_errors_, each, 1e-5)
    np.testing.assert_allclose(fitted.eps_values_, values)
    assert fitted.eps_ == fitted.eps_values_[kernel.chosen(each, values, 1.0)]


@pytest.mark.slow
def test_the_display_shows_the_curve_and_the_choice():
    fitted = OCFS(n_features="cv").fit(*features())
    _, _, curve, point, line = EnergyDisplay.from_estimator(fitted).ax_.lines
    share = fitted.held_out_scores_ / fitted.held_out_scores_.max()
    np.testing.assert_allclose(curve.get_ydata(), share)
    assert point.get_xdata()[0] == line.get_xdata()[0] == fitted.n_features_
