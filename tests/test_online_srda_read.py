"""What is read from the regression of OnlineSRDA: directions, the classifier, its temperature."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ks_2samp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from narrows import OnlineSRDA
from narrows.read import iter_chunks
from tests.cases import labelled
from tests.inside import pretend, state_of
from tests.solvers import (
    FACTOR,
    QB,
    S2,
    DiagonalRLS,
    RegressionReading,
    from_arrays,
    held_samples,
    is_odd,
    left_by_steps,
    resolved,
    to_arrays,
)  # fmt: skip
from tests.solvers import RuleOfRegression as Rule

forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


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


def learned(X, y, size=100, rule=None, weight=None, c=None, seed=0, dtype=np.float64, origin=True):
    """Return a regression that learned samples in their order; y has codes or indicators."""
    core = DiagonalRLS(X.shape[1], size, seed, dtype)
    Y = y if y.ndim == 2 else (y[:, None] == np.arange(c or y.max() + 1)).astype(int)
    core.add_classes(Y.shape[1])
    Y = sparse.csr_array(Y)
    weight = np.ones(len(y)) if weight is None else weight
    rule = rule or Rule(several=y.ndim == 2)
    core.learn(X.astype(dtype), (Y.indptr, Y.indices, weight), rule)
    return core


def by_label(X, y):
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def predicted(model, X):
    return (X @ model.W + model.b).argmax(axis=1)


def expected_error(P, y):
    """The expected calibration error of the best class, in 15 bins."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((15 * sure).astype(int), 14)
    return sum(abs(np.sum(sure[bins == k] - right[bins == k])) for k in range(15)) / len(y)


# -- order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [None, [0.01, 0.02, 0.03, 0.94]], ids=["even", "uneven"])
def test_only_a_bad_order_is_odd(shares):
    X, y = topics(1500, shares=shares)
    assert not is_odd(learned(X, y))
    assert not is_odd(learned(X[:30], y[:30]))
    core = learned(*by_label(X, y))
    assert is_odd(core)
    assert RegressionReading(core).directions is not core.W
    assert RegressionReading(core, polish=False).directions is core.W
    core.sums = None  # of a model of 0.1.0
    assert not is_odd(core)
    assert not is_odd(learned(*by_label(X, y), size=0))


def test_classes_that_come_late_are_predicted():
    (X, y), (X_test, y_test) = topics(3000, 8, 2000), topics(2000, 8, 2000, seed=1)
    orders = np.arange(3000), np.argsort(y >= 4, kind="stable")
    learners = [OnlineSRDA(keep=400).partial_fit(X[order], y[order]) for order in orders]
    mixed, drifting = (learner.score(X_test, y_test) for learner in learners)
    assert [is_odd(state_of(learner).core) for learner in learners] == [False, True]
    assert drifting > mixed - 0.03
    y[:] = np.arange(3000) % 8  # parts that are not odd, of classes that differ
    parts = [OnlineSRDA().partial_fit(X[rows, :150], y[rows]) for rows in (y < 4, y >= 4)]
    assert not is_odd(state_of(OnlineSRDA().merge(*parts)).core)


def test_nothing_is_solved_again_where_the_order_is_good():
    core = learned(*topics(400))
    assert RegressionReading(core).directions is core.W


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


@pytest.mark.slow
@forms
@pytest.mark.parametrize("keep", [1.0, 0.999])
def test_the_order_is_mended_as_the_problem_says(form, keep):
    X, y = by_label(*topics(300, d=60))
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    core = learned(form(X.toarray()), y, 80, Rule(keep), weight)
    before = {name: array.copy() for name, array in to_arrays(core).items()}
    W, b, shift = resolved(core)
    expected_W, expected_b = explicit(core)
    np.testing.assert_allclose(W, expected_W, atol=1e-6 * np.abs(W).max())
    np.testing.assert_allclose(b, expected_b, atol=1e-6)
    samples = core.samples()[0].toarray()
    for i in (0, 40, 79):  # without it in the scatter within classes
        other_W, other_b = explicit(core, without=i)
        change = samples[i] @ (other_W - W) + other_b - b
        np.testing.assert_allclose(shift[i], change, atol=1e-6)
    for name, array in to_arrays(core).items():
        np.testing.assert_array_equal(array, before[name])
    assert np.array_equal(RegressionReading(core).directions, W)


def test_with_all_samples_and_directions_it_is_the_ridge_regression(monkeypatch):
    pretend(monkeypatch, "the scatter within classes is not shrunk")
    X, y = by_label(*labelled(n=200, d=6, c=3))
    y = np.unique(y, return_inverse=True)[1]
    core = learned(sparse.csr_array(X), y, 200)
    W, b, _ = resolved(core)
    Z, T = X - core.origin, np.eye(3)[y]
    alpha = np.mean(np.sum(Z**2, axis=1))
    ridge = np.linalg.solve(Z.T @ Z + alpha * np.eye(6), Z.T @ T)
    np.testing.assert_allclose(W, ridge, atol=1e-9 * np.abs(ridge).max())
    np.testing.assert_allclose(b, np.mean(T - Z @ ridge, axis=0), atol=1e-9)


def test_permuting_and_rescaling_permute_and_rescale_the_answer():
    X, y = by_label(*topics(600))
    core = learned(X, y)
    reading, rng = RegressionReading(core), np.random.default_rng(0)
    features, classes = rng.permutation(X.shape[1]), rng.permutation(4)
    other = from_arrays(DiagonalRLS, to_arrays(core))
    other.W, other.sums = core.W[features][:, classes], core.sums[features][:, classes]
    other.Q, other.b, other.N = core.Q[features], core.b[classes], core.N[:, classes]
    place = np.argsort(features)
    stored = other.reservoir
    for start, entries, labels in stored.slots[: stored.used, :3]:
        those = slice(start, start + entries)
        stored.arena_of[those] = place[stored.arena_of[those]]
        its = slice(start + entries, start + entries + labels)
        stored.arena_of[its] = np.argsort(classes)[stored.arena_of[its]]
    permuted = RegressionReading(other)
    np.testing.assert_allclose(
        permuted.directions, reading.directions[features][:, classes], atol=1e-6
    )
    np.testing.assert_allclose(
        permuted.model.W,
        reading.model.W[features][:, classes],
        atol=1e-6 * np.abs(reading.directions).max(),
    )
    assert permuted.model.temperature == pytest.approx(reading.model.temperature, rel=1e-5)
    scaled = RegressionReading(learned(1024 * X, y))
    np.testing.assert_allclose(
        1024 * scaled.directions, reading.directions, atol=1e-9 * np.abs(reading.directions).max()
    )
    assert scaled.model.temperature == pytest.approx(reading.model.temperature, rel=1e-7)


@pytest.mark.parametrize("c", [2, 6])
def test_a_stream_that_is_sorted_by_label_loses_little(c):
    (X, y), (X_test, y_test) = topics(1500, c), topics(1500, c, seed=1)
    mixed, core = learned(X, y, 400), learned(*by_label(X, y), 400)
    reading = RegressionReading(core)

    def right(W):
        return LinearSVC(random_state=0).fit(X @ W, y).score(X_test @ W, y_test)

    assert right(reading.directions) > right(mixed.W) - 0.015
    assert np.mean(predicted(reading.model, X_test) == y_test) > right(mixed.W) - 0.02
    assert np.mean(predicted(core, X_test) == y_test) < right(mixed.W) - 0.02


def test_wide_data_take_no_more_than_a_few_arrays_of_the_size_of_W():
    X = sparse.random_array((400, 300_000), density=2e-4, rng=np.random.default_rng(0)).tocsr()
    core = learned(X, np.repeat(np.arange(4), 100), 100)
    tracemalloc.start()
    RegressionReading(core)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * core.W.nbytes


def test_numbers_are_of_the_type_of_the_state():
    X, y = by_label(*topics(400))
    core = learned(X, y, dtype=np.float32)
    reading, exact = RegressionReading(core), RegressionReading(learned(X, y))
    assert reading.directions.dtype == reading.model.W.dtype == np.float32
    np.testing.assert_allclose(
        reading.directions, exact.directions, atol=1e-4 * np.abs(exact.directions).max()
    )


# -- the classifier -------------------------------------------------------------------------------


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


def test_outputs_without_a_sample_are_those_of_a_regression_without_it():
    X, y = topics(60, d=30)
    core = learned(X, y, 60)
    held, left = held_samples(core), None
    left = left_by_steps(core, held)
    R = np.hstack([core.samples()[0].toarray(), np.ones((60, 1))])
    L = np.diag(np.append(core.clock[S2] + core.energy, 1 + core.clock[QB]))
    T = held.targets
    whole = T - R @ np.linalg.solve(R.T @ R + L, R.T @ T)
    for i in range(0, 60, 7):
        others = np.arange(60) != i
        W = np.linalg.solve(R[others].T @ R[others] + L, R[others].T @ T[others])
        np.testing.assert_allclose(whole[i] / left[i, i], T[i] - R[i] @ W, atol=1e-10)


@forms
def test_samples_that_are_all_stored_are_fitted_exactly(form):
    X, y = topics(300, d=90)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    X = form(X.toarray())
    mixed = OnlineSRDA().partial_fit(X, y, weight)
    order = np.argsort(y, kind="stable")
    ordered = OnlineSRDA().partial_fit(X[order], y[order], weight[order])
    parts = [OnlineSRDA().partial_fit(X[i::4], y[i::4], weight[i::4]) for i in range(4)]
    core = state_of(mixed).core
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


def test_samples_held_stand_for_all_of_their_class():
    X, y = topics(500, shares=[0.7, 0.2, 0.08, 0.02])
    held = held_samples(learned(X, y))
    np.testing.assert_allclose(np.bincount(held.code, held.stands), np.bincount(y))
    Y = np.random.default_rng(0).integers(0, 2, (500, 3))
    assert held_samples(learned(X, Y), True).stands == pytest.approx(5.0)


def test_where_the_polish_does_not_help_it_is_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 200)), rng.integers(0, 2, 400)  # nothing to be learned
    core = learned(X, y, 200)
    assert RegressionReading(core).model.W is core.W
    few = learned(X[:40], y[:40], 40)  # and not of so few samples
    assert RegressionReading(few).model.W is few.W


def test_the_polish_mends_features_that_go_together():
    rng = np.random.default_rng(0)
    mix, means = rng.normal(size=(30, 300)), 0.7 * rng.normal(size=(12, 30))
    y = rng.permutation(np.arange(600) % 12)
    X = (means[y] + rng.normal(size=(600, 30))) @ mix
    scores = [
        np.mean(
            OnlineSRDA(polish=p, random_state=0).fit(X[:240], y[:240]).predict(X[240:]) == y[240:]
        )
        for p in (False, True)
    ]
    assert scores[1] > scores[0] + 0.02


def test_a_rare_class_is_found_without_weights():
    rng = np.random.default_rng(0)
    y = rng.choice(4, 6000, p=[0.66, 0.22, 0.10, 0.02])
    rates = np.full((4, 300), 0.1)
    for label in range(4):
        rates[label, 10 * label : 10 * label + 10] = 0.6
    X = sparse.csr_array(normalize(rng.poisson(rates[y]).astype(float)))
    learned, others, rare = slice(4000), slice(4000, None), y[4000:] == 3

    def found(**options):
        online = OnlineSRDA(random_state=0, **options).partial_fit(X[learned], y[learned])
        return (online.predict(X[others])[rare] == 3).mean()

    assert found() > found(polish=False) + 0.2  # of outputs alone


# -- samples held and others ----------------------------------------------------------------------


def of_own_class(X, y, W):
    return (X @ W)[np.arange(len(y)), y]


@pytest.mark.slow
def test_samples_held_are_reduced_as_others_are():
    X, y = topics(1200, d=3000)
    core = learned(X, y, 300)
    reading = RegressionReading(core)
    held = {row.tobytes() for row in core.samples()[0].toarray()}
    those = np.array([row.tobytes() in held for row in X.toarray()])
    assert those.sum() == 300

    def p_value(W):  # of the hypothesis that dimensions of both are distributed alike
        own = of_own_class(X, y, W)
        return ks_2samp(own[those], own[~those]).pvalue

    assert p_value(reading.directions) > 0.05
    R, labels, _ = core.samples()
    R = R.toarray() / np.sqrt(core.clock[S2] + 0.75 * core.energy)
    E = labels.toarray() - (core.samples()[0] @ core.W + core.b)
    firm = R.T @ np.linalg.solve(R @ R.T + 0.1 * np.eye(300), E)
    firm = core.W + firm / np.sqrt(core.clock[S2] + 0.75 * core.energy)[:, None]
    assert p_value(firm) < 1e-3  # as they would be if they were polished
    Z = X @ reading.directions
    machine = LinearSVC(random_state=0).fit(Z[those], y[those])
    alone = machine.score(Z[those], y[those]), machine.score(Z[~those], y[~those])
    assert abs(alone[0] - alone[1]) < 0.03


def test_dimensions_of_small_parts_that_are_merged_are_no_better_for_what_was_learned():
    (X, y), (X_test, y_test) = topics(640), topics(2000, seed=1)
    parts = [OnlineSRDA(keep=500).partial_fit(X[i::8], y[i::8]) for i in range(8)]
    merged = OnlineSRDA(keep=500).merge(*parts)
    core = state_of(merged).core
    assert is_odd(core)
    Z, Z_test = merged.transform(X), merged.transform(X_test)
    machine = LinearSVC(random_state=0).fit(Z, y)
    whole = OnlineSRDA(keep=500, random_state=0).fit(X, y)
    best = LinearSVC(random_state=0).fit(whole.transform(X), y)
    assert machine.score(Z_test, y_test) > best.score(whole.transform(X_test), y_test) - 0.02
    assert merged.score(X_test, y_test) > whole.score(X_test, y_test) - 0.02


# -- the temperature ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [100, 2000])
@pytest.mark.parametrize("case", ["mixed", "sorted", "merged"])
def test_probabilities_are_calibrated(case, size):
    (X, y), (X_test, y_test) = topics(1200, 6, length=15), topics(2000, 6, seed=1, length=15)
    if case == "sorted":
        X, y = by_label(X, y)
    learner = OnlineSRDA(keep=size, random_state=0)
    if case == "merged":
        learner.merge(
            *(
                learner.__class__(**learner.get_params()).partial_fit(X[i::4], y[i::4])
                for i in range(4)
            )
        )
    else:
        learner.partial_fit(X, y)
    P = learner.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(learner.classes_[P.argmax(axis=1)], learner.predict(X_test))
    assert expected_error(P, y_test) < (0.05 if size == 2000 else 0.1)


def test_probabilities_of_several_labels_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 20))
    Y = (X @ rng.normal(size=(20, 5)) + 3 * rng.normal(size=(4000, 5)) > 1).astype(int)
    model = OnlineSRDA(random_state=0, keep=400).fit(X[:2000], Y[:2000])
    P, truth = model.predict_proba(X[2000:]), Y[2000:]
    bins = np.minimum((10 * P).astype(int), 9)
    apart = [abs(np.sum(P[bins == k] - truth[bins == k])) for k in range(10)]
    assert np.sum(apart) / P.size < 0.05
    np.testing.assert_array_equal(model.predict(X[2000:]), P > 0.5)


def test_without_samples_held_the_temperature_is_a_constant():
    X, y = topics(200)
    assert RegressionReading(learned(X, y, 0)).model.temperature == 0.1
    alone = learned(X, np.zeros(200, int), c=1)  # one class: nothing to be sure of
    assert RegressionReading(alone).model.temperature == 0.1
    nothing = DiagonalRLS(5, 10)
    assert RegressionReading(nothing).model.temperature == 0.1


def test_probabilities_are_those_of_outputs_over_the_temperature():
    X, y = labelled(n=200, c=4)
    learner = OnlineSRDA(random_state=0).partial_fit(X, y)
    b = learner.decision_function(np.zeros((1, X.shape[1])))
    scores = X @ (learner.decision_function(np.eye(X.shape[1])) - b) + b
    np.testing.assert_allclose(learner.decision_function(X), scores, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.diff(learner.predict_log_proba(X)), np.diff(scores), atol=1e-9)
    Y = (y[:, None] == np.unique(y)[:3]).astype(int)
    several = OnlineSRDA(random_state=0).partial_fit(X, Y)
    odds = several.decision_function(X)
    np.testing.assert_allclose(several.predict_proba(X), 1 / (1 + np.exp(-odds)))
    np.testing.assert_array_equal(several.predict(X), odds > 0)


# -- real data ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["re0", "re1"])
def test_real_data_sorted_by_label(data, name):
    [(X, y)] = iter_chunks(data / f"{name}.npz", chunk_rows=10**9)
    X = sparse.csr_array(TfidfTransformer().fit_transform(X.astype(np.float64)))
    lost = []
    for seed in range(3):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed
        )
        order = train[np.argsort(y[train], kind="stable")]
        scores = []
        for learner in (
            OnlineSRDA(random_state=0).fit(X[train], y[train]),
            OnlineSRDA(random_state=0).partial_fit(X[order], y[order]),
        ):
            Z, Z_test = learner.transform(X[train]), learner.transform(X[test])
            machines = (LinearSVC(random_state=0), LogisticRegression(), KNeighborsClassifier())
            found = [machine.fit(Z, y[train]).score(Z_test, y[test]) for machine in machines]
            scores.append(np.mean(found))
        lost.append(scores[0] - scores[1])
    assert np.mean(lost) < 0.008


@pytest.mark.parametrize("polish", [True, False])
def test_classes_are_predicted_as_probabilities_say(polish):
    X, y = labelled(n=400, d=6)
    estimator = OnlineSRDA(polish=polish, random_state=0).fit(X, y)
    found = estimator.predict(X)
    probabilities = estimator.predict_proba(X)
    assert (found == estimator.classes_[probabilities.argmax(axis=1)]).all()
