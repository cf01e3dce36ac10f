"""OnlineSRDA against its twin in NumPy, and the laws that only it has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import narrows
from narrows import OC, OnlineSRDA
from narrows.errors import ParameterError
from tests.cases import assert_same, labelled, same_directions
from tests.inside import pretend, state_of
from tests.oracles.online_srda import online_srda

forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def plain(**parameters):
    """Nothing but the core."""
    return OnlineSRDA(keep=0, polish=False, shuffle=False, **parameters)


def core_of(estimator):
    return state_of(estimator).core


def held_by(estimator):
    """The samples of the reservoir as they were, their indicators, and weights."""
    core = core_of(estimator)
    return core.reservoir.samples(core.n_features, core.clock[3])


def by_label(X, y):
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def indicators(y):
    return (y[:, None] == np.unique(y)).astype(float)


# -- the core ------------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("half_life", [None, 25.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_is_its_twin(form, half_life, weighted):
    X, y = labelled(n=400, d=15, c=5, sparse=True)
    y[:200] = np.where(y[:200] == "ant", "bee", y[:200])  # a class that comes late
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], 400) if weighted else None
    twin = list(online_srda(X, indicators(y), weight, half_life, centred=True))
    learner, done = plain(half_life=half_life), 0
    for size in (1, 2, 0, 97, 300):
        part = slice(done, done + size)
        done += size
        w = None if weight is None else weight[part]
        learner.partial_fit(form(X[part]), y[part], w)
        W, b, Q, qb, s2, _ = twin[done - 1]
        core = core_of(learner)
        came = np.isin(np.unique(y), learner.classes_)
        same_directions(learner.components_, W.T[came])
        bias = core.b - core.origin @ core.W
        np.testing.assert_allclose(bias[state_of(learner).live], b[came], atol=1e-12)
        np.testing.assert_allclose(core.energy, Q, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose([core.clock[3] * core.clock[0], core.clock[2]], [qb, s2])
        right = [hit for *_, hit in twin[:done] if hit is not None]
        assert learner.score_ == pytest.approx(np.mean(right))
        assert learner.score_window_ == pytest.approx(np.mean(right[-1000:]))


@forms
def test_several_labels_a_row(form):
    X, _ = labelled(n=300, d=9)
    Y = (np.random.default_rng(1).random((300, 4)) < [0.2, 0.5, 0.6, 0.0]).astype(int)
    Y[:, 0] |= X[:, 0] > 0
    *_, (W, b, *_) = twin = list(online_srda(X, Y, centred=True))
    learner = plain().fit(form(X), form(Y))
    assert learner.classes_.tolist() == [0, 1, 2]  # nobody has the fourth
    same_directions(learner.components_, W.T[:3])
    predicted = learner.predict(form(X))
    np.testing.assert_array_equal(predicted, X @ W + b > 0.5)
    assert predicted.shape == Y.shape
    assert learner.score_ == pytest.approx(np.mean([right for *_, right in twin]))
    streamed = plain()
    for i in range(0, 300, 7):
        streamed.partial_fit(form(X[i : i + 7]), form(Y[i : i + 7]))
    assert_same(streamed, learner)


@pytest.mark.slow
def test_forgetting_goes_on_for_ever():
    """The lazy factor is multiplied in before it runs out of numbers."""
    X, y = labelled(n=3000, d=5)
    *_, (W, _, Q, *_) = online_srda(X, indicators(y), half_life=5.0, centred=True)
    learner = plain(half_life=5.0).fit(X, y)
    assert core_of(learner).clock[3] > 1e-31
    same_directions(learner.components_, W.T)
    np.testing.assert_allclose(core_of(learner).energy, Q, rtol=1e-10)
    assert learner.class_count_.sum() == pytest.approx(1 / (1 - 0.5**0.2))


@pytest.mark.parametrize("factor", [0.01, 1000.0])
@pytest.mark.parametrize("parameters", [{}, {"half_life": 50.0}])
@pytest.mark.parametrize("ordered", [False, True])
def test_rescaling_changes_nothing(factor, parameters, ordered):
    X, y = by_label(*labelled(n=300, d=9)) if ordered else labelled(n=300, d=9)
    a = OnlineSRDA(random_state=0, **parameters).fit(X, y)
    b = OnlineSRDA(random_state=0, **parameters).fit(factor * X, y)
    np.testing.assert_allclose(factor * b.components_, a.components_, rtol=1e-7, atol=1e-9)
    assert (a.score_, a.score_window_) == (b.score_, b.score_window_)
    np.testing.assert_array_equal(a.predict(X), b.predict(factor * X))


def test_permuting_columns_or_classes_permutes_the_answer():
    X, y = labelled(n=300, d=9, c=4)
    columns = np.random.default_rng(0).permutation(9)
    plainly = OnlineSRDA(random_state=0).fit(X, y)
    moved = OnlineSRDA(random_state=0).fit(X[:, columns], y)
    np.testing.assert_allclose(moved.components_, plainly.components_[:, columns], atol=1e-9)
    renamed = OnlineSRDA(random_state=0).fit(X, np.where(y == "ant", "zebra", y))
    np.testing.assert_allclose(renamed.components_, plainly.components_[[1, 2, 3, 0]], atol=1e-12)


@forms
def test_a_new_class_is_what_it_would_have_been(form):
    X, y = labelled(n=200, d=9, c=4)
    y[:100] = np.where(y[:100] == "bee", "cat", y[:100])
    late = plain().partial_fit(form(X[:100]), y[:100]).partial_fit(form(X[100:]), y[100:])
    *_, (W, *_) = online_srda(X, indicators(y), centred=True)
    same_directions(late.components_, W.T)


def test_each_row_is_reduced_by_what_was_learned_with_it():
    X, y = labelled(n=80, d=6)
    X, y = by_label(X, y)  # so that rows are repeated from the reservoir, too
    parameters = {"random_state": 0, "polish": False}
    reduced = OnlineSRDA(**parameters).transform_while_learning(X, y)
    learner = OnlineSRDA(**parameters)
    for i in range(80):
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
        now = (X[i] @ core_of(learner).W)[state_of(learner).column]
        np.testing.assert_allclose(reduced[i, : len(now)], now, atol=1e-12)
    assert core_of(learner).clock[8] > 10
    np.testing.assert_array_equal(reduced[0, 1:], 0)


def test_fewer_directions_are_the_leading_singular_ones():
    X, y = labelled(n=200, d=9, c=5)
    every = OnlineSRDA(random_state=0).fit(X, y)
    few = OnlineSRDA(n_components=2, random_state=0).fit(X, y)
    unpolished = OnlineSRDA(n_components=2, random_state=0, polish=False).fit(X, y)
    U, *_ = np.linalg.svd(core_of(every).W, full_matrices=False)
    same_directions(unpolished.components_, U.T[:2], signs=True)
    np.testing.assert_array_equal(few.predict(X), every.predict(X))
    with pytest.raises(
        ParameterError, match="expected n_components<=5, since 5 classes have 5 directions, got 6"
    ):
        OnlineSRDA(n_components=6).fit(X, y)
    waiting = OnlineSRDA(n_components=6).partial_fit(X, y)
    assert waiting.components_.any(axis=1).tolist() == [True] * 5 + [False]


def test_numbers_are_of_the_type_of_the_first_rows():
    X, y = labelled(n=200)
    single = OnlineSRDA(random_state=0).fit(X.astype(np.float32), y)
    core = core_of(single)
    assert core.W.dtype == core.reservoir.arena.dtype == np.float32
    double = OnlineSRDA(random_state=0).fit(X, y)
    np.testing.assert_allclose(single.components_, double.components_, rtol=1e-3, atol=1e-4)
    single.partial_fit(X[:5], y[:5])
    assert core_of(single).W.dtype == np.float64


@forms
def test_dense_rows_in_blocks(form, monkeypatch):
    X, y = labelled(n=200)
    expected = OnlineSRDA(random_state=0).fit(X, y)
    pretend(monkeypatch, "blocks of the regression")
    assert_same(OnlineSRDA(random_state=0).fit(form(X), y), expected, rtol=1e-12)


# -- the reservoir and the order of rows ---------------------------------------------------------


def test_classes_share_the_reservoir():
    rng = np.random.default_rng(0)
    y = rng.choice(4, 5000, p=[0.9, 0.06, 0.03, 0.01])
    X = rng.normal(size=(5000, 3)) + y[:, None]
    learner = OnlineSRDA(keep=80, random_state=3).partial_fit(X, y)
    rows, labels, weight = held_by(learner)
    assert rows.shape == (80, 3)
    assert (weight == 1).all()
    column = state_of(learner).column
    np.testing.assert_array_equal(labels.sum(axis=0)[column], [20, 20, 20, 20])
    where = {tuple(row): label for row, label in zip(X, y, strict=True)}
    kept = labels.toarray().argmax(axis=1)
    assert [column[where[tuple(row)]] for row in rows.toarray()] == kept.tolist()
    # of the largest class rows of all times are kept, not the first or the last
    times = {tuple(row): t for t, row in enumerate(X)}
    ages = [
        times[tuple(row)] for row, k in zip(rows.toarray(), kept, strict=True) if k == column[0]
    ]
    assert 1000 < np.mean(ages) < 4000


def test_with_several_labels_every_row_has_the_same_chance():
    rng = np.random.default_rng(0)
    Y = (rng.random((4000, 3)) < 0.3).astype(int)
    X = np.arange(1.0, 4001.0)[:, None]
    ages = []
    for seed in range(30):
        learner = OnlineSRDA(keep=50, random_state=seed).partial_fit(X, Y)
        rows, labels, _ = held_by(learner)
        ages.append(rows.toarray()[:, 0] - 1)
        np.testing.assert_array_equal(labels.toarray(), Y[ages[-1].astype(int)])
        assert core_of(learner).clock[8] == 0
    assert abs(np.mean(ages) - 2000) < 4 * 1155 / np.sqrt(1500)


@pytest.mark.slow
def test_rows_are_kept_whole_when_room_is_made():
    """Rows of very different length, one at a time."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((600, 40)) < rng.random((600, 1)) ** 3, rng.normal(size=(600, 40)), 0)
    X[:, 0] = rng.normal(size=600)  # no two rows alike
    y = rng.integers(0, 3, 600)
    learner, X = OnlineSRDA(keep=30), sparse.csr_array(X)
    for i in range(600):
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
    rows, labels, _ = held_by(learner)
    where = {row.tobytes(): label for row, label in zip(X.toarray(), y, strict=True)}
    found = state_of(learner).classes[
        np.argsort(state_of(learner).column)[labels.toarray().argmax(axis=1)]
    ]
    assert [where[row.tobytes()] for row in rows.toarray()] == found.tolist()
    assert len(core_of(learner).reservoir.arena) < 4 * 30 * 41


def test_rows_are_repeated_only_where_the_order_is_suspicious():
    X, y = labelled(n=2000, d=20, c=5)
    order = np.random.default_rng(0).permutation(2000)
    mixed = OnlineSRDA(random_state=0, polish=False).partial_fit(X[order], y[order])
    assert core_of(mixed).clock[8] < 20
    ordered = OnlineSRDA(random_state=0, polish=False).partial_fit(*by_label(X, y))
    assert core_of(ordered).clock[8] > 1500
    without = plain().partial_fit(*by_label(X, y))
    # and it helps: the direction of the batch answer is better kept
    batch = narrows.SRDA(max_iter=100).fit(X, y).components_

    def kept(estimator):
        Q = np.linalg.qr(estimator.components_.T)[0]
        return np.linalg.norm(Q.T @ np.linalg.qr(batch.T)[0])

    assert kept(ordered) > kept(without)


@pytest.mark.parametrize("weight", [1e-4, 1.0, 100.0])
def test_the_order_is_looked_at_row_by_row_whatever_they_weigh(weight):
    X, y = labelled(n=2000, d=20, c=5)
    w, order = np.full(2000, weight), np.random.default_rng(0).permutation(2000)
    mixed = OnlineSRDA(random_state=0).partial_fit(X[order], y[order], w)
    ordered = OnlineSRDA(random_state=0).partial_fit(*by_label(X, y), w)
    assert core_of(mixed).clock[8] < 20
    assert core_of(ordered).clock[8] > 1500
    y, X = np.arange(20_000) % 2, np.arange(1.0, 20_001.0)[:, None]
    long = OnlineSRDA(keep=200, random_state=0).partial_fit(X, y, np.full(20_000, weight))
    assert 8_500 < held_by(long)[0].toarray().mean() < 11_500


@pytest.mark.slow
def test_rows_kept_fade_as_all_does():
    X, y = labelled(n=600, d=6)
    learner = OnlineSRDA(half_life=50.0, keep=2000).partial_fit(X, y)
    rows, _, weight = held_by(learner)
    np.testing.assert_array_equal(rows.toarray(), X)
    np.testing.assert_allclose(weight, 0.5 ** (np.arange(599, -1, -1) / 50))
    assert weight.sum() == pytest.approx(core_of(learner).clock[1])
    # so what came long ago does not pull W back
    y = np.random.default_rng(0).integers(0, 2, 3000)
    X = np.random.default_rng(1).normal(size=(3000, 4)) + 2.0 * y[:, None]
    X[:1000] *= 100
    late = OnlineSRDA(half_life=100.0, random_state=0).partial_fit(X, y)
    assert np.mean(late.predict(X[1000:]) == y[1000:]) > 0.95


def test_forgetting_in_single_precision_goes_on_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30_000)
    X = 1e4 * (rng.normal(size=(30_000, 4)) + np.column_stack([y, 1 - y, y, y]))
    parameters = {"half_life": 100.0, "random_state": 0, "polish": False}
    single = OnlineSRDA(**parameters).partial_fit(X.astype(np.float32), y)
    double = OnlineSRDA(**parameters).partial_fit(X, y)
    np.testing.assert_allclose(core_of(single).energy, core_of(double).energy, rtol=1e-4)
    np.testing.assert_allclose(single.components_, double.components_, rtol=1e-2, atol=1e-8)
    small = OnlineSRDA(**parameters).partial_fit((1e-30 * X).astype(np.float32), y)
    assert small.score_ == pytest.approx(double.score_, abs=1e-3)


def test_a_class_that_came_does_not_go_again():
    X, y = labelled(n=100)
    learner = (
        plain(half_life=0.5).partial_fit(X, y).partial_fit(np.tile(X[:1], (2000, 1)), [y[0]] * 2000)
    )
    assert learner.transform(X).shape == (100, 3)


def test_a_repeated_row_adds_no_energy():
    X, y = by_label(*labelled(n=500))
    ordered = OnlineSRDA(random_state=0).partial_fit(X, y)
    assert core_of(ordered).clock[8] > 100
    np.testing.assert_allclose(
        core_of(ordered).energy, ((X - core_of(ordered).origin) ** 2).sum(axis=0), rtol=1e-12
    )
    assert ordered.class_count_.sum() == 500


def test_going_on_after_a_save_repeats_the_same_rows(tmp_path):
    X, y = by_label(*labelled(n=600, d=8, c=4))
    whole = OnlineSRDA(keep=40, random_state=5).partial_fit(X, y)
    part = OnlineSRDA(keep=40, random_state=5).partial_fit(X[:250], y[:250])
    narrows.save(part, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows").partial_fit(X[250:], y[250:])
    assert_same(loaded, whole, rtol=0, atol=0)
    assert loaded.score_window_ == whole.score_window_
    another = OnlineSRDA(keep=40, random_state=6).partial_fit(X, y)
    assert np.abs(another.components_ - whole.components_).max() > 1e-6


# -- merging -------------------------------------------------------------------------------------


def thirds(n=300, **options):
    X, y = labelled(n=n, d=8, c=4, **options)
    return [
        OnlineSRDA(random_state=0, polish=False).partial_fit(X[i::3], y[i::3]) for i in range(3)
    ]


def new(**parameters):
    return OnlineSRDA(**{"random_state": 0, "polish": False} | parameters)


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


def test_merging_is_associative_and_commutative_to_rounding():
    a, b, c = thirds()
    answers = [
        new().merge(a, b, c),
        new().merge(new().merge(a, b), c),
        new().merge(a, new().merge(b, c)),
        new().merge(c, a, b),
    ]
    for other in answers[1:]:
        for mine, theirs in zip(known(answers[0]), known(other), strict=True):
            np.testing.assert_allclose(theirs, mine, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("reservoir", [pytest.param(2000, marks=pytest.mark.slow), 60])
def test_what_is_read_after_merging_does_not_depend_on_the_order_either(reservoir):
    X, y = load_digits(return_X_y=True)
    parameters = {"polish": True, "keep": reservoir}
    parts = [new(**parameters).partial_fit(X[i::4], y[i::4]) for i in range(4)]
    a, b, c, d = parts
    expected = new(**parameters).merge(*parts)
    for other in (
        new(**parameters).merge(*parts[::-1]),
        new(**parameters).merge(new(**parameters).merge(a, b), new(**parameters).merge(c, d)),
        new(**parameters).merge(a, new(**parameters).merge(b, new(**parameters).merge(c, d))),
    ):
        np.testing.assert_allclose(other.components_, expected.components_, atol=1e-9)
        np.testing.assert_array_equal(other.predict(X), expected.predict(X))


def test_merging_with_nothing_changes_nothing():
    a, *_ = thirds()
    X, y = labelled(n=300, d=8, c=4)
    empty = new().partial_fit(X[:0], y[:0])
    for merged in (new().merge(a), new().merge(empty, a), new().merge(a, empty)):
        assert_same(merged, a, rtol=0, atol=0)
        merged.partial_fit(X, y)
    before = a.components_.copy()
    a.merge(empty)
    np.testing.assert_array_equal(a.components_, before)


def test_classes_may_differ_between_parts():
    X, y = labelled(n=300, d=8, c=4)
    first, rest = np.isin(y, ["ant", "dog"]), np.isin(y, ["bee", "cat", "dog"])
    a, b = (new().partial_fit(X[rows], y[rows]) for rows in (first, rest))
    merged = new().merge(a, b)
    assert merged.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert merged.predict(X).shape == (300,)
    np.testing.assert_allclose(
        merged.components_, new().merge(b, a).components_, rtol=1e-11, atol=1e-13
    )
    assert np.mean(merged.predict(X) == y) > 0.6


@pytest.mark.slow
def test_rows_without_entries_or_labels_give_way_to_others():
    for seed in range(5):
        X, y = labelled(n=60, sparse=True, seed=seed)
        X[::3, 2:] = 0.0  # of other lengths
        Y = indicators(y)
        Y[::4, 0] = 1
        X[:8], Y[:8] = 0.0, 0  # these fill the reservoir, and take no room there
        online = OnlineSRDA(keep=8, random_state=seed)
        for row in range(60):
            online.partial_fit(sparse.csr_array(X[row : row + 1]), Y[row : row + 1])
        rows, labels, _ = held_by(online)
        came = list(zip(X.tolist(), Y.tolist(), strict=True))
        assert rows.nnz
        for kept in zip(rows.toarray().tolist(), labels.toarray().tolist(), strict=True):
            assert kept in came


def test_united_reservoirs_are_balanced_again():
    rng = np.random.default_rng(0)
    parts = []
    for share in (0.95, 0.5):
        y = (rng.random(500) > share).astype(int)
        parts.append(OnlineSRDA(keep=60).partial_fit(rng.normal(size=(500, 3)) + y[:, None], y))
    merged = OnlineSRDA(keep=60).merge(*parts)
    _, labels, _ = held_by(merged)
    assert labels.sum(axis=0).tolist() == [30, 30]
    before = merged.components_
    again = OnlineSRDA(keep=60).merge(*parts)
    np.testing.assert_array_equal(again.components_, before)  # seeded
    X, y = labelled(d=3, c=2)
    merged.partial_fit(X, (y == "ant").astype(int))
    assert merged.n_samples_seen_ == 1060


def test_what_cannot_be_merged():
    a, *_ = thirds()
    X, y = labelled(n=90, d=8)
    with pytest.raises(ValueError, match=r"got half_life=9\.0 instead of None"):
        a.merge(OnlineSRDA(random_state=0, polish=False, half_life=9.0).fit(X, y))
    with pytest.raises(ValueError, match="expected another OnlineSRDA to merge, got OC"):
        a.merge(OC().fit(X, y))
    with pytest.raises(ValueError, match="with 8 features to merge, got one with 7"):
        a.merge(new().fit(X[:, :7], y))
    with pytest.raises(ValueError, match="labels of one form"):
        a.merge(new().fit(X, indicators(y)))
    assert not hasattr(a, "fit_moments")


# -- what its users see --------------------------------------------------------------------------


def test_fit_shuffles_and_partial_fit_does_not():
    X, y = by_label(*labelled(n=200))
    a, b = (OnlineSRDA(random_state=seed).fit(X, y) for seed in (0, 0))
    assert_same(a, b, rtol=0, atol=0)
    assert np.abs(OnlineSRDA(random_state=1).fit(X, y).components_ - a.components_).max() > 1e-3
    in_order = OnlineSRDA(shuffle=False, random_state=0).fit(X, y)
    assert_same(in_order, OnlineSRDA(random_state=0).partial_fit(X, y), rtol=0, atol=0)


def test_it_is_a_transformer_that_predicts():
    X, y = labelled(n=400, d=10)
    learner = OnlineSRDA(random_state=0).fit(X, y)
    assert np.mean(learner.predict(X) == y) > 0.7
    assert learner.predict(X).dtype == y.dtype
    np.testing.assert_allclose(learner.transform(X), X @ learner.components_.T)
    assert not hasattr(learner, "eigenvalues_")
    assert learner.get_feature_names_out().tolist() == [f"onlinesrda{j}" for j in range(3)]
    with pytest.raises(AttributeError, match=r"does not support eigenvalues_: .* Use SRDA"):
        learner.eigenvalues_  # noqa: B018


def test_nothing_and_one_row():
    X, y = labelled()
    learner = OnlineSRDA().partial_fit(X[:0], y[:0])
    assert np.isnan(learner.score_)
    assert learner.components_.shape == (0, 7)
    learner.partial_fit(X[:1], y[:1])
    assert (learner.score_, learner.score_window_) == (0.0, 0.0)  # nothing could be predicted
    assert learner.predict(X[:2]).tolist() == [y[0], y[0]]
    assert np.isfinite(learner.components_).all()
    zeros = OnlineSRDA().partial_fit(np.zeros((60, 4)), y)
    np.testing.assert_array_equal(zeros.components_, 0)


def test_rows_in_one_form():
    X, y = labelled()
    learner = OnlineSRDA().partial_fit(X, y)
    before = learner.components_.copy()
    with pytest.raises(ValueError, match="expected one label per sample as before"):
        learner.partial_fit(X, indicators(y))
    with pytest.raises(ParameterError, match="expected keep=2000 as at the start, got 9"):
        learner.set_params(keep=9).partial_fit(X, y)
    with pytest.raises(ValueError, match="expected numbers of which the largest"):
        learner.set_params(keep=2000).partial_fit(1e200 * X, y)
    np.testing.assert_array_equal(learner.components_, before)
    assert learner.n_samples_seen_ == 60


@pytest.mark.parametrize(
    "bad",
    [
        {"half_life": 0},
        {"half_life": "long"},
        {"keep": -1},
        {"keep": 2.5},
        {"polish": 1},
        {"shuffle": "yes"},
        {"n_components": 0},
        {"random_state": -1},
        {"random_state": "abc"},
    ],
)
def test_parameters_out_of_range(bad):
    name = next(iter(bad))
    for verb in ("fit", "partial_fit"):
        with pytest.raises(ParameterError, match=f"expected `{name}` to be"):
            getattr(OnlineSRDA(**bad), verb)(*labelled())


def test_more_samples_than_a_file_can_count_are_refused(tmp_path):
    X, y = labelled(n=64)
    learner, path = OnlineSRDA(keep=5).fit(X, y), tmp_path / "m.narrows"
    while learner.n_samples_seen_ < 2**53:
        learner = OnlineSRDA(keep=5).merge(learner, learner)
    narrows.save(learner, path)
    before = narrows.load(path).predict(X)
    message = "expected at most 9,007,199,254,740,992 samples in all, got 9,007,199,"
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X, y)
    with pytest.raises(ValueError, match="expected at most 9,007,199,254,740,992"):
        learner.merge(learner)
    assert learner.n_samples_seen_ == 2**53
    np.testing.assert_array_equal(learner.predict(X), before)


@pytest.mark.parametrize("seed", range(3))
def test_few_samples_with_much_variation_that_classes_share(seed):
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(30), 20)
    means, shared = rng.normal(size=(30, 128)), 3 * rng.normal(size=(20, 128))
    X = means[y] + rng.normal(size=(600, 20)) @ shared + rng.normal(size=(600, 128))
    online = narrows.OnlineSRDA(random_state=0).fit(X[:300], y[:300])
    assert online.score(X[300:], y[300:]) > 0.95  # SRDA: 1
