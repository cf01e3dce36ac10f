"""OnlineSRDA against its twin in NumPy, explicit matrices, and the laws that only it has."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse

from narrows import OnlineSRDA
from tests.cases import assert_same, labelled, same_directions
from tests.inside import pretend, state_of
from tests.oracles.online_srda import online_srda
from tests.solvers import (
    FACTOR,
    QB,
    REPLAYS,
    S2,
    DiagonalRLS,
    RegressionReading,
    is_odd,
)
from tests.solvers import RuleOfRegression as Rule

forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def plain(**parameters):
    """Nothing but the core."""
    return OnlineSRDA(keep=0, polish=False, shuffle=False, **parameters)


def core_of(estimator):
    return state_of(estimator).core


def by_label(X, y):
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def indicators(y):
    return (y[:, None] == np.unique(y)).astype(float)


def topics(n, c=4, d=600, seed=0, shares=None, length=25):
    """Return sparse samples of unit length, like short texts of topics, and their codes."""
    rng = np.random.default_rng(0)
    common = rng.zipf(1.3, d).astype(float).clip(max=50)
    share = common * rng.gamma(0.3, size=(c, d)) + 0.02 * common
    share /= share.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed + 1)
    y = rng.choice(c, n, p=shares)
    y[:c] = np.arange(c)
    mixed = 0.45 * share[y] + 0.55 * share.mean(axis=0)
    X = np.sqrt(rng.poisson(length * mixed).astype(float))
    X[:, 0] += 0.1  # no sample is empty
    return sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def learned(X, y, size=100, rule=None, weight=None):
    """Return a regression that learned samples in their order; y has codes."""
    core = DiagonalRLS(X.shape[1], size, 0, np.float64)
    core.add_classes(y.max() + 1)
    Y = sparse.csr_array(np.eye(y.max() + 1, dtype=int)[y])
    weight = np.ones(len(y)) if weight is None else weight
    core.learn(X.astype(float), (Y.indptr, Y.indices, weight), rule or Rule(several=False))
    return core


def expected_error(P, y):
    """The expected calibration error of the best class, in 15 bins."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((15 * sure).astype(int), 14)
    return sum(abs(np.sum(sure[bins == k] - right[bins == k])) for k in range(15)) / len(y)


def wide(n=120, d=90, seed=0):
    """Samples with more features than sparse ones may have to be learned about an origin."""
    X, y = labelled(n=n, d=d, sparse=True, seed=seed)
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.3, X, 0.0), y


def sums_of(estimator):
    """The decayed class sums about 0, in the order of `classes_`."""
    core = core_of(estimator)
    origin = np.zeros(core.n_features) if core.origin is None else core.origin
    sums = core.clock[FACTOR] * core.sums + origin[:, None] * core.N[0]
    return sums[:, state_of(estimator).live]


def expected_sums(X, T, weight=None, half_life=None):
    """The sum of w x of each class; all weights decay with each sample of positive weight."""
    weight = np.ones(len(X)) if weight is None else weight
    age = np.cumsum((weight > 0)[::-1])[::-1] - (weight > 0)
    decay = 1.0 if half_life is None else 0.5 ** (age / half_life)
    return ((weight * decay)[:, None] * X).T @ T


# -- the core ------------------------------------------------------------------------------------


TWIN = [  # form, features, half-life, whether samples have weights, whether there is an origin
    (np.asarray, 15, None, True, True),
    (np.asarray, 15, 25.0, False, True),
    (np.asarray, 90, None, False, True),
    (sparse.csr_array, 15, None, False, True),
    (sparse.csr_array, 15, 25.0, True, True),
    (sparse.csr_array, 90, None, False, False),
]


@pytest.mark.parametrize(("form", "d", "half_life", "weighted", "centred"), TWIN)
def test_the_regression_is_that_of_its_twin(form, d, half_life, weighted, centred, monkeypatch):
    pretend(monkeypatch, "blocks of the regression")
    X, y = labelled(n=400, d=15, c=5, sparse=True) if d == 15 else wide(400)
    y[:200] = np.where(y[:200] == "ant", "bee", y[:200])  # a class that comes late
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], 400) if weighted else None
    T = indicators(y)
    twin = list(online_srda(X, T, weight, half_life, centred))
    learner, kept, done = plain(half_life=half_life), OnlineSRDA(half_life=half_life, keep=50), 0
    for size in (1, 2, 0, 97, 300):
        part = slice(done, done + size)
        done += size
        w = None if weight is None else weight[part]
        learner.partial_fit(form(X[part]), y[part], w)
        kept.partial_fit(form(X[part]), y[part], w)
        W, b, Q, qb, s2, _ = twin[done - 1]
        core = core_of(learner)
        came = np.isin(np.unique(y), learner.classes_)
        same_directions(learner.components_, W.T[came])
        bias = core.b - (core.origin @ core.W if centred else 0)
        np.testing.assert_allclose(bias[state_of(learner).live], b[came], atol=1e-12)
        np.testing.assert_allclose(core.energy, Q, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose([core.clock[FACTOR] * core.clock[QB], core.clock[S2]], [qb, s2])
        right = [hit for *_, hit in twin[:done] if hit is not None]
        assert learner.score_ == pytest.approx(np.mean(right))
        assert learner.score_window_ == pytest.approx(np.mean(right[-1000:]))
    expected = expected_sums(X, T, weight, half_life)
    np.testing.assert_allclose(sums_of(kept), expected, rtol=1e-12, atol=1e-12)


@forms
def test_several_labels_a_sample(form):
    X, _ = labelled(n=300, d=9)
    Y = (np.random.default_rng(1).random((300, 4)) < [0.2, 0.5, 0.6, 0.0]).astype(int)
    Y[:, 0] |= X[:, 0] > 0
    *_, (W, b, *_) = twin = list(online_srda(X, Y, centred=True))
    learner = plain().fit(form(X), form(Y))
    assert learner.classes_.tolist() == [0, 1, 2]  # nobody has the fourth
    same_directions(learner.components_, W.T[:3])
    np.testing.assert_array_equal(learner.predict(form(X)), X @ W + b > 0.5)
    assert learner.score_ == pytest.approx(np.mean([right for *_, right in twin]))
    kept = OnlineSRDA(keep=20, shuffle=False).fit(form(X), form(Y))
    np.testing.assert_array_equal(kept.predict(X)[:, :3], kept.predict_proba(X) > 0.5)
    np.testing.assert_allclose(sums_of(kept), expected_sums(X, Y[:, :3]), rtol=1e-12)


def test_each_sample_is_reduced_by_what_was_learned_with_it():
    X, y = labelled(n=80, d=6)
    X, y = by_label(X, y)  # so that samples are repeated from the reservoir, too
    parameters = {"random_state": 0, "polish": False}
    reduced = OnlineSRDA(**parameters).transform_while_learning(X, y)
    learner = OnlineSRDA(**parameters)
    for i in range(80):
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
        now = (X[i] @ core_of(learner).W)[state_of(learner).column]
        np.testing.assert_allclose(reduced[i, : len(now)], now, atol=1e-12)
    assert core_of(learner).clock[REPLAYS] > 10
    np.testing.assert_array_equal(reduced[0, 1:], 0)


# -- merging -------------------------------------------------------------------------------------


def new(**parameters):
    return OnlineSRDA(**{"random_state": 0, "polish": False} | parameters)


def thirds(**parameters):
    X, y = labelled(n=300, d=8, c=4)
    return [new(**parameters).partial_fit(X[i::3], y[i::3]) for i in range(3)]


def known(a):
    core = core_of(a)
    return core.W[:, state_of(a).column], core.b[state_of(a).column], core.energy


def test_merging_adds_what_each_knows_by_its_energy():
    a, b, c = thirds()
    merged = new().merge(a, b, c)
    X, _ = labelled(n=300, d=8, c=4)
    Q, P, B = np.zeros(8), 0.0, 0.0
    for i, part in enumerate((a, b, c)):
        W, bias, _ = known(part)
        mean, origin = X[i::3].mean(axis=0), core_of(part).origin
        energy = ((X[i::3] - mean) ** 2).sum(axis=0)  # about the mean of the part
        P = P + (energy.sum() / 100 + energy)[:, None] * W
        B, Q = B + 101 / 301 * (bias + (mean - origin) @ W), Q + energy
    np.testing.assert_allclose(known(merged)[0], P / (Q.sum() / 300 + Q)[:, None], rtol=1e-10)
    np.testing.assert_allclose(known(merged)[1], B, rtol=1e-10)
    np.testing.assert_allclose(known(merged)[2], Q)
    np.testing.assert_allclose(core_of(merged).origin, X.mean(axis=0), atol=1e-14)
    assert merged.n_samples_seen_ == 300
    np.testing.assert_array_equal(merged.class_count_, sum(e.class_count_ for e in (a, b, c)))
    assert merged.score_ == pytest.approx(np.mean([e.score_ for e in (a, b, c)]))
    assert np.isnan(merged.score_window_)
    assert core_of(merged).reservoir.used == 300


def test_merging_with_nothing_changes_nothing():
    a, *_ = thirds()
    X, y = labelled(n=300, d=8, c=4)
    empty = new().partial_fit(X[:0], y[:0])
    for merged in (new().merge(a), new().merge(empty, a), new().merge(a, empty)):
        assert_same(merged, a, rtol=0, atol=0)
        merged.partial_fit(X, y)
    assert new(keep=0).merge(*thirds(keep=0)).n_samples_seen_ == 300
    before = a.components_.copy()
    a.merge(empty)
    np.testing.assert_array_equal(a.components_, before)


# -- a bad order is solved again -----------------------------------------------------------------


def test_classes_that_come_late_are_predicted():
    (X, y), (X_test, y_test) = topics(3000, 8, 2000), topics(2000, 8, 2000, seed=1)
    orders = np.arange(3000), np.argsort(y >= 4, kind="stable")
    learners = [OnlineSRDA(keep=400).partial_fit(X[order], y[order]) for order in orders]
    mixed, drifting = (learner.score(X_test, y_test) for learner in learners)
    assert [is_odd(core_of(learner)) for learner in learners] == [False, True]
    assert drifting > mixed - 0.03
    y[:] = np.arange(3000) % 8  # parts that are not odd, of classes that differ
    parts = [OnlineSRDA().partial_fit(X[rows, :150], y[rows]) for rows in (y < 4, y >= 4)]
    assert not is_odd(state_of(OnlineSRDA().merge(*parts)).core)


def explicit(core, shrunk=0.2, without=None):
    """W and b of the problem of `resolved`, from explicit matrices."""
    factor, N = core.clock[FACTOR], core.N[0]
    energy, n, c = factor * core.Q, N.sum(), len(N)
    M = factor * core.sums / N
    m = M @ N / n
    order = np.argsort(-energy, kind="stable")
    total = np.cumsum(energy[order])
    count = max(1, round(100 / c))
    band = np.minimum(((total - energy[order]) / total[-1] * count).astype(int), count - 1)
    B = []
    for k in range(count):
        cut = np.zeros((len(m), 1))
        cut[order[band == k]] = 1
        B += [cut * core.W, cut * M]
    B = np.linalg.svd(np.hstack(B) / np.abs(np.hstack(B)).max(initial=1e-300), full_matrices=False)
    B = B[0][:, B[1] > 1e-7 * B[1][0]]
    X, Y, weight = core.samples()
    X, code = X.toarray(), Y.indices
    kept = np.bincount(code, weight, c)
    F = (X - M.T[code]) * np.sqrt(weight * (N / kept)[code])[:, None]
    F = F if without is None else np.delete(F, without, axis=0)
    V = np.diag(np.maximum(energy - M**2 @ N, 0))
    within = (1 - shrunk) * F.T @ F + shrunk * V
    between, right = M * N @ M.T, factor * core.sums
    U = np.linalg.solve(B.T @ (within + between + core.clock[S2] * np.eye(len(m))) @ B, B.T @ right)
    W = B @ U
    return W, N / n - m @ W


# -- the classifier ------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("weighted", [False, True])
def test_the_polish_is_the_ridge_regression_of_residuals(form, weighted):
    X, y = topics(400, d=80)
    rng = np.random.default_rng(0)
    X = X @ (np.eye(80) + rng.normal(size=(80, 3)) @ rng.normal(size=(3, 80)) / 8)
    weight = rng.uniform(0.5, 2, 400) if weighted else np.ones(400)
    core = learned(form(X), y, 120, weight=weight)
    samples, labels, w = core.samples()
    R = np.hstack([samples.toarray(), np.ones((120, 1))])
    model = np.vstack([core.W, core.b])
    E = labels.toarray() - R @ model
    energies = np.append(core.energy, core.clock[QB])
    rest = 1 - w.sum() / weight.sum()
    prior = np.append(np.full(80, core.clock[S2]), 1.0)
    L = prior + rest * energies
    # I - S of the steps, in the coordinates of roots of weights
    N = np.bincount(y, weight)
    kept = np.bincount(labels.indices, w)
    stands = w * (N / kept)[labels.indices]
    A = np.sqrt(stands)[:, None] * R
    left = np.linalg.inv(np.eye(120) + A / (prior + energies) @ A.T)
    own = w / stands
    diagonal = 1 / (1 + own * (1 / left.diagonal() - 1))
    left = np.sqrt(own)[:, None] * left * np.sqrt(own)
    np.fill_diagonal(left, diagonal)

    def solved(mu):
        return np.linalg.solve(R.T @ (w[:, None] * R) + mu * np.diag(L), R.T @ (w[:, None] * E))

    def loss(mu):  # of the samples that are left out
        H = np.sqrt(w)[:, None] * R
        H = H @ np.linalg.solve(H.T @ H + mu * np.diag(L), H.T)
        own = ((np.eye(120) - H) @ left).diagonal()
        residuals = (E - R @ solved(mu)) / own[:, None]
        return stands @ np.sum(residuals**2, axis=1)

    spread = (10.0, 1.0, 0.1, 0.01)
    losses = [stands @ np.sum((E / diagonal[:, None]) ** 2, axis=1), *map(loss, spread)]
    assert losses[1] < losses[0]
    best = next((k for k in (1, 2, 3) if losses[k] <= losses[k + 1]), 4)  # no better after it
    D = solved(spread[best - 1])
    found = RegressionReading(core).model
    np.testing.assert_allclose(np.vstack([found.W, found.b]), model + D, atol=1e-9)
    raw = RegressionReading(core, polish=False).model
    assert raw.W is core.W
    assert raw.b is core.b


@forms
def test_samples_that_are_all_stored_are_fitted_exactly(form):
    X, y = topics(300, d=90)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    X = form(X.toarray())
    mixed = OnlineSRDA().partial_fit(X, y, weight)
    order = np.argsort(y, kind="stable")
    ordered = OnlineSRDA().partial_fit(X[order], y[order], weight[order])
    parts = [OnlineSRDA().partial_fit(X[i::4], y[i::4], weight[i::4]) for i in range(4)]
    core = core_of(mixed)
    R = np.asarray(X.todense() if sparse.issparse(X) else X - core.origin)
    R, T = np.hstack([R, np.ones((300, 1))]), np.eye(4)[y]
    s2 = weight @ (R[:, :-1] ** 2).sum(axis=1) / weight.sum()
    A = R.T @ (weight[:, None] * R) + np.diag(np.append(np.full(90, s2), 1.0))
    ridge = np.linalg.solve(A, (R.T * weight) @ T)[:-1]
    directions = RegressionReading(core).directions[:, state_of(mixed).column]
    np.testing.assert_allclose(directions, ridge, atol=1e-9)
    for other in (ordered, OnlineSRDA().merge(*parts)):
        same = 0.02 if form is np.asarray else 1e-9  # dense samples are about another origin
        np.testing.assert_allclose(other.transform(X), mixed.transform(X), atol=same)


# -- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [100, 2000])
@pytest.mark.parametrize("case", ["mixed", "sorted", "merged"])
def test_probabilities_are_calibrated(case, size):
    (X, y), (X_test, y_test) = topics(1200, 6, length=15), topics(2000, 6, seed=1, length=15)
    if case == "sorted":
        X, y = by_label(X, y)
    learner = OnlineSRDA(keep=size, random_state=0)
    if case == "merged":
        parts = [copy.deepcopy(learner).partial_fit(X[i::4], y[i::4]) for i in range(4)]
        learner.merge(*parts)
    else:
        learner.partial_fit(X, y)
    P = learner.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(learner.classes_[P.argmax(axis=1)], learner.predict(X_test))
    assert expected_error(P, y_test) < (0.05 if size == 2000 else 0.1)


# -- what its users see --------------------------------------------------------------------------


def test_more_samples_than_a_file_can_count_are_refused():
    X, y = labelled(n=64)
    learner = OnlineSRDA(keep=5).fit(X, y)
    while learner.n_samples_seen_ < 2**53:
        learner = OnlineSRDA(keep=5).merge(learner, learner)
    before = learner.predict(X)
    for call in (lambda: learner.partial_fit(X, y), lambda: learner.merge(learner)):
        with pytest.raises(ValueError, match="expected at most 9,007,199,254,740,992 samples"):
            call()
    assert learner.n_samples_seen_ == 2**53
    np.testing.assert_array_equal(learner.predict(X), before)
