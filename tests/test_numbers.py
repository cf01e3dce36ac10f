"""Numeric targets: against scikit-learn, least squares on the samples, and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression, Ridge

import narrows
from narrows import PLS, CorrelationFS, ForwardFS, ReducedRank
from narrows.errors import ParameterError
from tests.oracles.held_out import averaged


def numbers(n=120, d=8, q=2, seed=0, is_sparse=False):
    """Samples of features that depend on each other, and targets that depend on some."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    if is_sparse:
        X[rng.random((n, d)) < 0.6] = 0.0
    Y = X[:, : d // 2] @ rng.normal(size=(d // 2, q)) + 3 * rng.normal(size=(n, q)) + 5.0
    return X, Y[:, 0] if q == 1 else Y


def centred(X, Y):
    """The samples and targets less their means."""
    Y = Y.reshape(len(X), -1)
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def explained_by(X, Y, columns):
    """The sum of R^2 of the least squares of each target on some columns, by QR of the rows."""
    A, T = centred(X, Y)
    Q, _ = np.linalg.qr(A[:, columns])
    return float(((Q.T @ T) ** 2).sum(axis=0) @ (1 / (T**2).sum(axis=0)))


def near(found, expected, rtol):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize(
    "data", [load_diabetes, load_linnerud, *(lambda s=s: numbers(seed=s, q=3) for s in range(2))]
)
def test_pls_predicts_as_nipals_does(data):
    X, y = data(return_X_y=True) if data in (load_diabetes, load_linnerud) else data()
    for p in range(1, X.shape[1] + 1):
        theirs = PLSRegression(p, scale=False, tol=1e-14, max_iter=10000).fit(X, y)
        ours = PLS(n_components=p).fit(X, y)
        near(ours.predict(X), theirs.predict(X), 1e-6)
        near(ours.coef_, theirs.coef_, 1e-6)
        scores = ours.transform(X) - ours.mean_ @ ours.components_.T
        near(np.abs(scores), np.abs(theirs.transform(X)), 1e-6)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-7)
        near(ours.predict(X), (X @ ours.coef_.T + ours.intercept_).reshape(y.shape), 1e-12)


def test_components_that_add_nothing_are_zero():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X = np.linalg.qr(X - X.mean(axis=0))[0] * np.sqrt(40)  # uncorrelated, of variance 1
    with pytest.warns(UserWarning, match=r"^expected n_components<=1, which explain all"):
        pls = PLS(n_components=3).fit(X, X @ [1.0, 2.0, 0.0, 0.0])
    assert not pls.components_[1:].any()
    near(pls.predict(X), X @ [1.0, 2.0, 0.0, 0.0], 1e-12)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_no_matrix_of_the_rank_has_a_lower_penalised_error(p):
    X, Y = numbers(q=4)
    alpha = 30.0
    ours = ReducedRank(n_components=p, alpha=alpha).fit(X, Y)
    A, T = centred(X, Y)
    wide = np.vstack([A, np.sqrt(alpha) * np.eye(8)])  # ridge regression of rank p by its SVD
    B = np.linalg.lstsq(wide, np.vstack([T, np.zeros((8, 4))]))[0]
    _, _, Vt = np.linalg.svd(wide @ B)
    near(ours.coef_.T, B @ Vt[:p].T @ Vt[:p], 1e-9)
    assert np.linalg.matrix_rank(ours.coef_) == p
    W = ours.components_.T
    near(W.T @ (A.T @ A + alpha * np.eye(8)) @ W / len(X), np.eye(p), 1e-10)
    error = (T**2).sum() - ours.explained_variance_ratio_.sum() * (T**2).sum()
    assert error == pytest.approx(
        ((T - A @ ours.coef_.T) ** 2).sum() + alpha * (ours.coef_**2).sum(), rel=1e-9
    )


def held_out(X, Y, predict):
    """The mean over folds of the share of the variance of the others' targets, and its error."""
    fold, shares = np.arange(len(X)) % 5, []
    for k in range(5):
        test, mean = fold == k, Y[fold != k].mean(axis=0)
        left = ((Y[test] - predict(X[~test], Y[~test]).predict(X[test])) ** 2).sum()
        shares.append(1 - left / ((Y[test] - mean) ** 2).sum())
    return averaged(shares, np.bincount(fold))


@pytest.mark.parametrize("q", [1, 3])
def test_the_number_of_components_is_that_of_cross_validation_on_samples(q):
    X, Y = numbers(q=q, d=6)
    ours = PLS(n_components="cv").fit(X, Y)
    expected = [
        held_out(X, Y, lambda A, b, p=p: PLSRegression(p, scale=False, tol=1e-14).fit(A, b))
        for p in range(1, 7)
    ]
    scores, errors = np.array(expected).T
    near(ours.held_out_scores_, scores, 1e-7)
    near(ours.held_out_errors_, errors, 1e-6)
    best = scores.argmax()
    assert len(ours.components_) == (scores >= scores[best] - errors[best]).argmax() + 1


@pytest.mark.slow
def test_the_ridge_and_the_rank_are_those_of_cross_validation_on_samples():
    X, Y = numbers(q=3, n=60)
    ours = ReducedRank(n_components="cv", alpha="cv").fit(X, Y)
    expected = [held_out(X, Y, lambda A, b, a=a: Ridge(a).fit(A, b))[0] for a in ours.alphas_]
    near(ours.alpha_scores_, expected, 1e-7)
    assert ours.alpha_ == ours.alphas_[np.argmax(expected)]
    ranks = [
        held_out(X, Y, lambda A, b, p=p: ReducedRank(n_components=p, alpha=ours.alpha_).fit(A, b))
        for p in (1, 2, 3)
    ]
    near(ours.held_out_scores_, [score for score, _ in ranks], 1e-8)


def stepwise(X, Y, n_steps):
    """The features that brute force takes one after another, by QR on the samples."""
    chosen, curve = [], []
    for _ in range(n_steps):
        gains = {j: explained_by(X, Y, [*chosen, j]) for j in range(X.shape[1]) if j not in chosen}
        chosen.append(max(gains, key=gains.get))
        curve.append(gains[chosen[-1]])
    return chosen, curve


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_forward_selection_is_stepwise_least_squares(q, seed):
    X, Y = numbers(q=q, seed=seed)
    X, Y = X * 10.0 ** np.arange(-4, 4), Y * 10.0 ** np.arange(q) if q > 1 else Y  # any units
    expected, curve = stepwise(X, Y, 8)
    ours = ForwardFS(n_features=8, ridge=0.0)
    for rows in (slice(0, 5), slice(5, None)):
        ours.partial_fit(X[rows], Y[rows])
    assert ours.ranking_.tolist() == expected
    near(ours.gain_curve_ * q, curve, 1e-8)
    near(np.cumsum(ours.scores_[ours.ranking_]), curve, 1e-8)


def test_the_number_of_features_is_that_of_cross_validation_on_samples():
    X, Y = numbers(q=2, d=6, n=80)
    ours = ForwardFS(n_features="cv", ridge=0.0).fit(X, Y)
    fold, curves = np.arange(80) % 5, []
    for k in range(5):
        train, test = fold != k, fold == k
        path, _ = stepwise(X[train], Y[train], 6)
        unit, mean = Y[train].std(axis=0), Y[train].mean(axis=0)
        total = (((Y[test] - mean) / unit) ** 2).sum()
        curves.append([])
        for p in range(1, 7):
            columns = path[:p]
            model = LinearRegression().fit(X[train][:, columns], Y[train])
            left = (((Y[test] - model.predict(X[test][:, columns])) / unit) ** 2).sum()
            curves[-1].append(1 - left / total)
    near(ours.held_out_scores_, np.mean(curves, axis=0), 1e-8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_correlations_have_the_order_of_f_regression(form):
    X, Y = numbers(q=3, d=40, is_sparse=form is not np.asarray)
    each = np.array([f_regression(X, y)[0] for y in Y.T])
    expected = (each / (each + len(X) - 2)).mean(axis=0)
    ours = CorrelationFS().fit(form(X), np.column_stack([Y, np.ones(len(X))]))
    near(ours.scores_, expected, 1e-9)  # the constant target does not count
    assert ours.ranking_.tolist() == np.argsort(-expected, kind="stable").tolist()


def wide(n=150, d=9_000, q=1, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(sparse.random_array((n, d), density=0.01, rng=rng, format="csr"))
    Y = X[:, :200] @ rng.normal(size=(200, q)) + 0.1 * rng.normal(size=(n, q))
    return X, Y[:, 0] if q == 1 else Y


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 2])
def test_wide_samples_are_solved_for_all_at_once(q, tmp_path):
    X, Y = wide(q=q)
    weight = np.random.default_rng(2).integers(0, 3, len(Y))
    ridge = Ridge(0.5).fit(X.toarray(), Y, weight).predict(X.toarray())
    for form in (X, X.toarray()):
        near(ReducedRank(alpha=0.5).fit(form, Y, weight).predict(X), ridge, 1e-7)
        for p in (1, 3):
            theirs = PLSRegression(p, scale=False, tol=1e-14, max_iter=10000).fit(X.toarray(), Y)
            model = PLS(n_components=p).fit(form, Y)
            near(model.predict(X), theirs.predict(X.toarray()), 1e-6)
    narrows.save(model, tmp_path / "m.narrows")
    near(narrows.load(tmp_path / "m.narrows").predict(X), model.predict(X), 0.0)
    near(model.set_params(n_components=1).predict(X), PLS(1).fit(form, Y).predict(X), 1e-9)
    with pytest.raises(ParameterError, match="the number that fit computed"):
        model.set_params(n_components=7).predict(X)
    aged = PLS(half_life=30.0).fit(X, Y)
    decayed = PLS().fit(X, Y, 0.5 ** (np.arange(150)[::-1] / 30))
    near(aged.predict(X), decayed.predict(X), 1e-9)


def test_a_stream_without_a_direction_yet_predicts_the_mean():
    X, Y = numbers(n=30)
    model = ReducedRank().partial_fit(X[:0], Y[:0])
    with pytest.raises(NotFittedError, match="expected samples to predict by, got none so far"):
        model.predict(X)
    model.partial_fit(X[:1], Y[:1])
    near(model.predict(X), np.tile(Y[0], (30, 1)), 1e-15)
    with pytest.raises(NotFittedError, match="expected targets that vary with"):
        model.transform(X)
    near(model.partial_fit(X[1:], Y[1:]).predict(X), ReducedRank().fit(X, Y).predict(X), 1e-9)


def test_forward_selection_tells_numbers_from_classes_by_fractions():
    X, y = numbers(q=1)
    y[9:] = np.round(y[9:])
    expected = ForwardFS(n_features=3, target="numeric").fit(X, y)
    for verb, cuts in (("fit", []), ("partial_fit", [9])):
        found = ForwardFS(n_features=3)
        for rows in np.split(np.arange(120), cuts):
            getattr(found, verb)(X[rows], y[rows])
        np.testing.assert_array_equal(found.ranking_, expected.ranking_)
        assert not hasattr(found, "classes_")
    assert found.fit(X, np.arange(120) % 3).classes_.tolist() == [0, 1, 2]  # fit starts anew
    with pytest.raises(ValueError, match=r'target="numeric" of ForwardFS'):
        found.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"numeric=True and numeric=False"):
        expected.set_params(target="auto").merge(found)
