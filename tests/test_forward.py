"""ForwardFS: every step against brute force, and what the features are that it takes."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.datasets import load_digits
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression

from narrows import OCFS, ForwardFS, Window, load, save
from narrows.command.cli import main
from narrows.engines import local
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.inside import map_of
from tests.oracles.dense import explained, indicators

RIDGE = 0.01


def correlated(seed=0, n=200, d=8):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(3, d))[y]
    return X, y


# -- the definition --------------------------------------------------------------------------------


@given(seed=st.integers(0, 100), priors=st.sampled_from(["empirical", "sqrt", "balanced"]))
def test_every_step_takes_the_best_feature_by_brute_force(seed, priors):
    X, y = correlated(seed)
    found = ForwardFS(n_features=8, priors=priors).fit(X, y)
    Z, T = indicators(X, y, priors)
    chosen, before = [], 0.0
    for k, curve in zip(found.ranking_, found.gain_curve_, strict=True):
        after = {j: explained(Z[:, [*chosen, j]], T, RIDGE) for j in range(8) if j not in chosen}
        assert after[k] == pytest.approx(max(after.values()), rel=1e-8)
        assert found.scores_[k] == pytest.approx(after[k] - before, rel=1e-8)
        assert curve == pytest.approx(after[k] * len(y) / (T**2).sum(), rel=1e-8)
        before, chosen = after[k], [*chosen, k]


@given(seed=st.integers(0, 100))
def test_without_a_ridge_it_is_stepwise_least_squares_by_qr(seed):
    X, y = correlated(seed)
    found = ForwardFS(n_features=5, ridge=0.0).fit(X, y)
    Z, T = indicators(X, y, "empirical")
    left, gains = T, []
    Q = np.zeros((len(y), 0))
    for _ in range(5):
        rest = Z - Q @ (Q.T @ Z)
        size = np.linalg.norm(rest, axis=0)
        free = size > 1e-8 * np.sqrt(len(y))
        gain = np.where(free, ((rest.T @ left) ** 2).sum(axis=1), 0) / np.where(free, size, 1) ** 2
        gains.append(gain.max() / len(y))
        Q = linalg.qr(np.column_stack([Q, rest[:, gain.argmax()]]), mode="economic")[0]
        left = T - Q @ (Q.T @ T)
    np.testing.assert_allclose(found.scores_[found.ranking_[:5]], gains, rtol=1e-8)
    assert found.gain_curve_[-1] == pytest.approx(1 - (left**2).sum() / (T**2).sum(), rel=1e-8)


# -- which features --------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", ["auto", 0.0, 1.0])
def test_copies_come_after_all_independent_features_and_constants_never(ridge):
    X, y = labelled(n=90, d=5)
    copies = np.column_stack([X[:, 4], X, X[:, 2] * -3 + 1, np.full(90, 7.3), X[:, 1] + X[:, 3]])
    found = ForwardFS(n_features=6, ridge=ridge).fit(copies, y)
    taken = [{0: 5}.get(k, k) for k in found.ranking_.tolist()]
    groups = [{1}, {3, 6}, {5}, {2}, {4}, {8}]
    first = set(taken[:5])
    assert sum(bool(group & first) for group in groups) == 5  # no two copies
    assert (
        linalg.svdvals(copies[:, found.ranking_[:5]] - copies[:, found.ranking_[:5]].mean(0))[-1]
        > 1e-3
    )
    assert found.ranking_[-1] == 7
    with pytest.warns(UserWarning, match="expected 9 features that vary, got 8"):
        found = ForwardFS(n_features=9, ridge=ridge).fit(copies, y)
    assert not found.get_support()[7]


def test_ties_go_to_the_lower_index():
    X, y = labelled(d=3)
    found = ForwardFS(n_features=2).fit(np.column_stack([X[:, 2], X[:, 2], X[:, 2], X[:, 0]]), y)
    assert found.ranking_[:2].tolist() == [0, 3]


@given(seed=st.integers(0, 50), data=st.data())
def test_units_do_not_matter(seed, data):
    X, y = correlated(seed)
    powers = data.draw(st.lists(st.integers(-30, 30), min_size=8, max_size=8))
    found, same = ForwardFS(n_features=5).fit(X, y), ForwardFS(n_features=5)
    same.fit(X * 2.0 ** np.array(powers), y)
    assert same.ranking_[:5].tolist() == found.ranking_[:5].tolist()
    np.testing.assert_allclose(same.scores_, found.scores_, rtol=1e-6)


def test_it_finds_what_complements_where_ocfs_takes_copies():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 3 > 0
    X = np.repeat(X, 3, axis=1)  # each pixel three times
    scores = {}
    for method in (ForwardFS(n_features=10), OCFS(n_features=10)):
        Z = method.fit(X[train], y[train]).transform(X) / 16
        scores[type(method)] = (
            LogisticRegression(max_iter=500).fit(Z[train], y[train]).score(Z[~train], y[~train])
        )
    assert scores[ForwardFS] > scores[OCFS] + 0.1


# -- start and groups ------------------------------------------------------------------------------


def test_start_comes_first_and_counts():
    X, y = correlated()
    found = ForwardFS(n_features=4, start=[5, 2]).fit(X, y)
    assert found.ranking_[:2].tolist() == [5, 2]
    assert found.n_features_ == 4
    Z, T = indicators(X, y, "empirical")
    rest = {k: explained(Z[:, [5, 2, k]], T, RIDGE) for k in (0, 1, 3, 4, 6, 7)}
    assert found.ranking_[2] == max(rest, key=rest.get)


def test_start_takes_names():
    pandas = pytest.importorskip("pandas")
    X, y = correlated()
    frame = pandas.DataFrame(X, columns=[f"c{k}" for k in range(8)])
    found = ForwardFS(n_features=3, start=["c6"]).fit(frame, y)
    assert found.ranking_[0] == 6
    assert "c6" in found.get_feature_names_out()
    with pytest.raises(ParameterError, match=r"expected `start` to have names .* got .c9."):
        ForwardFS(n_features=3, start=["c9"]).fit(frame, y)


@given(seed=st.integers(0, 50))
def test_a_group_enters_by_the_gain_of_all_of_it(seed):
    X, y = correlated(seed)
    groups = np.array(["b", "a", "b", "c", "c", "d", "c", "e"])
    found = ForwardFS(n_features=3, groups=groups).fit(X, y)
    Z, T = indicators(X, y, "empirical")
    chosen, before, at = [], 0.0, 0
    for step in range(3):
        after = {
            g: explained(Z[:, np.isin(groups, [*chosen, g])], T, RIDGE)
            for g in set(groups) - set(chosen)
        }
        taken = found.ranking_[at]
        best = max(after, key=after.get)
        assert groups[taken] == best
        members = np.flatnonzero(groups == best)
        assert sorted(found.ranking_[at : at + len(members)].tolist()) == members.tolist()
        np.testing.assert_allclose(found.scores_[members], after[best] - before, rtol=1e-7)
        assert found.gain_curve_[step] == pytest.approx(after[best] * len(y) / (T**2).sum())
        at, before, chosen = at + len(members), after[best], [*chosen, best]
    assert found.n_features_ == at == found.get_support().sum()


def test_columns_of_one_category_that_add_to_one_enter_together():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 300)
    X = np.column_stack([np.eye(4)[kind], rng.normal(size=(300, 2))])
    found = ForwardFS(n_features=1, groups=[0, 0, 0, 0, 1, 2], ridge=0.0).fit(X, kind > 1)
    assert found.get_support().tolist() == [True] * 4 + [False] * 2
    assert found.gain_curve_[0] == pytest.approx(1.0)


def test_labels_of_groups_have_any_types():
    X, y = correlated()
    expected = ForwardFS(n_features=2, groups=[0, 1, 2, 1, 3, 3, 4, 4]).fit(X, y)
    for groups in (
        ["a", None, "b", None, "c", "c", 1, 1],
        ["1", 1, 2, 1.0, "c", "c", None, None],
        [0, np.nan, 2, float("nan"), 3, 3, 4, 4],
    ):
        same_choice(ForwardFS(n_features=2, groups=groups).fit(X, y), expected)


# -- the number of features ------------------------------------------------------------------------


def test_a_stream_for_cv_may_begin_with_one_class():
    X, y = correlated()
    model = ForwardFS(n_features="cv").partial_fit(X[y == 0], y[y == 0])
    with (
        pytest.warns(UserWarning, match="expected a positive held-out score"),
        pytest.warns(UserWarning, match="expected a positive score"),
    ):
        assert model.held_out_scores_.tolist() == [0.0] * 8
    assert (model.partial_fit(X[y > 0], y[y > 0]).held_out_scores_ > 0).any()


def test_a_stream_for_cv_may_begin_with_constant_features():
    X, y = correlated()
    model = ForwardFS(n_features="cv").partial_fit(np.ones((20, 8)), np.arange(20) % 3)
    assert model.held_out_scores_.tolist() == []
    assert (model.partial_fit(X, y).held_out_scores_ > 0).any()
    with pytest.raises(ValueError, match="expected a feature that varies"):
        ForwardFS(n_features="cv").fit(np.ones((60, 3)), np.arange(60) % 3)


def test_cv_takes_the_smallest_number_within_one_error_of_the_best():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 2000)
    X = np.column_stack([rng.normal(size=(2000, 12))])
    X[:, :3] += 2 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])[y]
    found = ForwardFS(n_features="cv").fit(X, y)
    scores, errors = found.held_out_scores_, found.held_out_errors_
    good = scores >= scores.max() - errors[scores.argmax()]
    assert found.n_features_ == good.argmax() + 1
    assert set(found.ranking_[:3]) == {0, 1, 2}
    assert 3 <= found.n_features_ <= 6


def test_held_out_scores_are_those_of_regressions_on_the_other_folds():
    X, y = correlated(n=120)
    found = ForwardFS(n_features="cv").fit(X, y)
    fold = np.arange(len(y)) % 5
    share, weight = [], []
    for k in range(5):
        a, b = fold != k, fold == k
        m, s = X[a].mean(0), X[a].std(0)
        classes, N = np.unique(y[a], return_counts=True)
        scale = (N / a.sum()) ** 0.75 / (N / a.sum())
        T = (y[a][:, None] == classes) * scale
        t = (y[b][:, None] == classes) * scale - T.mean(0)
        T = T - T.mean(0)
        path = ForwardFS(n_features=8).fit(X[a], y[a]).ranking_
        each = []
        for size in range(1, 9):
            Z, z = ((X[rows] - m)[:, path[:size]] / s[path[:size]] for rows in (a, b))
            A = Z.T @ Z / len(Z) + RIDGE * np.eye(size)
            B = np.linalg.solve(A, Z.T @ T / len(Z))
            each.append(1 - ((t - z @ B) ** 2).sum() / (t**2).sum())
        share.append(each)
        weight.append(b.sum())
    np.testing.assert_allclose(
        found.held_out_scores_, np.average(share, axis=0, weights=weight), rtol=1e-7, atol=1e-9
    )


# -- schedules -------------------------------------------------------------------------------------


def same_choice(a, b, size=5):
    np.testing.assert_array_equal(a.ranking_[:size], b.ranking_[:size])
    np.testing.assert_allclose(a.gain_curve_, b.gain_curve_, rtol=1e-8)


def test_streams_merges_and_differences_are_the_fit_of_the_rows():
    X, y = correlated(n=300)
    new = partial(ForwardFS, n_features=5)
    streamed = new()
    for rows in np.array_split(np.arange(300), 7):
        streamed.partial_fit(X[rows], y[rows])
    same_choice(streamed, new().fit(X, y))
    same_choice(new().fit(X[:99], y[:99]).merge(new().fit(X[99:], y[99:])), new().fit(X, y))
    rest = new().fit(X, y).moments_ - new().fit(X[200:], y[200:]).moments_
    same_choice(new().fit_moments(rest), new().fit(X[:200], y[:200]))
    window = Window(new(), samples=120)
    for rows in np.array_split(np.arange(300), 10):
        window.partial_fit(X[rows], y[rows])
    same_choice(window.estimator_, new().fit(X[180:], y[180:]))


def test_a_model_is_saved_and_goes_on(tmp_path):
    X, y = correlated()
    model = ForwardFS(n_features=3, start=[2], groups=list("abcdefgh")).fit(X[:100], y[:100])
    save(model, tmp_path / "m.narrows")
    read = load(tmp_path / "m.narrows")
    assert read.get_params() == model.get_params()
    same_choice(read.partial_fit(X[100:], y[100:]), model.partial_fit(X[100:], y[100:]), 3)


# -- more features than cross products are for -----------------------------------------------------


def wide(seed=0, n=300, d=9000):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = sparse.random_array((n, d), density=0.004, format="lil", rng=rng)
    X[:, ::1000] = rng.random((n, 9)) * (
        rng.random((n, 9)) < 0.2 + 0.6 * (np.arange(9) % 4 == y[:, None])
    )
    return sparse.csr_array(X), y


def test_of_wide_samples_in_memory_all_features_are_candidates():
    X, y = wide()
    live = np.flatnonzero(X.toarray().std(axis=0) > 0)
    live = live[:8000]  # so that the cross products of all of them are a state
    found = ForwardFS(n_features=8, head=20).fit(
        sparse.hstack([X[:, live], sparse.csr_array((len(y), 500))], format="csr"), y
    )
    expected = ForwardFS(n_features=8).fit(X[:, live], y)
    same_choice(found, expected, 8)
    dense = ForwardFS(n_features=8, head=20).fit(X.toarray(), y)
    same_choice(dense, ForwardFS(n_features=8, head=20).fit(X, y), 8)
    assert found.scores_.shape == (len(live) + 500,)


def test_groups_of_wide_samples_in_memory_enter_by_the_gain_of_all_of_each():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 4
    X = np.zeros((300, 9000))
    X[:, :2] = (y > 1)[:, None] + 0.5 * rng.normal(size=(300, 1))  # copies
    X[:, 2:4] = np.column_stack([y > 1, y % 2]) + 0.6 * rng.normal(size=(300, 2))
    groups = np.arange(9000) // 2
    for of in (X, sparse.csr_array(X)):
        found = ForwardFS(n_features=1, head=2, groups=groups).fit(of, y)
        assert np.flatnonzero(found.get_support()).tolist() == [2, 3]
        few = ForwardFS(n_features=1, groups=groups[:9]).fit(X[:, :9], y)
        np.testing.assert_allclose(found.gain_curve_, few.gain_curve_, rtol=1e-8)


def test_wide_samples_go_on_behind_the_map_and_their_copies_merge():
    X, y = wide()
    model = ForwardFS(n_features=6).fit(X[:200], y[:200])
    copy = model.emptied().partial_fit(X[200:], y[200:])
    one = ForwardFS(n_features=6).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    same_choice(model.merge(copy), one, 6)
    with pytest.raises(ValueError, match="at most 8,192 features for partial_fit"):
        ForwardFS().partial_fit(X, y)


def test_features_of_start_are_candidates_whatever_their_scores():
    X, y = wide()
    worst = int(OCFS().fit(X, y).ranking_[-1])
    X = X.tolil()
    X[::7, worst] = 0.01  # so that it varies
    X = sparse.csr_array(X)
    for groups, expected in (
        (None, [worst]),
        (np.arange(9000) // 3, worst // 3 * 3 + np.arange(3)),
    ):
        model = ForwardFS(n_features=2, head=20, start=[worst], groups=groups)
        model = local.fit(model, [(X[:150], y[:150]), (X[150:], y[150:])])
        assert worst in model.ranking_[: len(expected)]
        assert set(model.ranking_[: len(expected)]) <= set(expected)
    model = ForwardFS(n_features=2, head=20).fit(X, y)
    with pytest.raises(ParameterError, match=f"of the 20 candidates, got feature {worst}. Fit ag"):
        model.set_params(start=[worst]).ranking_  # noqa: B018


def test_candidates_are_whole_groups_and_no_fewer_than_are_wanted():
    X, y = wide()
    chunks = [(X[:150], y[:150]), (X[150:], y[150:])]
    groups = np.arange(9000) % 3000  # of three features far from each other
    found = local.fit(ForwardFS(n_features=4, head=40, groups=groups), chunks)
    kept = map_of(found).chosen
    assert len(kept) == 39
    assert (np.unique(groups[kept], return_counts=True)[1] == 3).all()
    found = local.fit(ForwardFS(n_features=50, head=40), chunks)
    assert found.n_features_ == 50
    with pytest.raises(ParameterError, match="expected groups of fewer than 8,192 features"):
        local.fit(ForwardFS(n_features=1, groups=np.zeros(9000)), chunks)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_fewer_samples_than_features_give_what_their_products_do(form):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 100)) * (rng.random((60, 100)) < 0.5) + 2.0, rng.integers(0, 3, 60)
    few = ForwardFS(n_features=20).fit(form(X), y)
    many = ForwardFS(n_features=20).fit(form(np.repeat(X, 2, axis=0)), np.repeat(y, 2))
    same_choice(few, many, 20)  # 120 samples, of which there are products


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features": 9}, "expected n_features<=8, the number of features in the data, got 9"),
        ({"n_features": 4, "groups": list("aabbccaa")}, "expected n_features<=3, the number of gr"),
        ({"groups": [1, 2, 3]}, r"one label for each of 8 features, got an array of shape \(3,\)"),
        ({"start": ["x"]}, "expected `start` to have indices .* since they have no names, got 'x'"),
        ({"start": [8]}, "expected `start` to have indices of the 8 features, got 8"),
        ({"start": 8}, "expected `start` to be None or a list, got 8"),
        ({"start": {1}}, "expected `start` to be None or a list, got {1}"),
        (
            {"n_features": 1, "start": [1, 2]},
            "expected n_features>=2, the number of features of st",
        ),
        ({"n_features": 0}, "expected `n_features` to be an integer >= 1, or a fraction .* got 0"),
        ({"ridge": -1.0}, 'expected `ridge` to be "auto" or a number >= 0'),
        ({"n_features": "few"}, 'expected `n_features` to be a number or "cv", got .few.'),
    ],
)
def test_what_does_not_fit_is_named(parameters, message):
    X, y = correlated()
    with pytest.raises(ParameterError, match=message) as said:
        ForwardFS(**parameters).fit(X, y)
    assert str(said.value).startswith("expected ")


def test_few_and_constant_features():
    X, y = labelled(d=4)
    assert ForwardFS().fit(X, y).n_features_ == 4  # the default is all of fewer
    with pytest.raises(ValueError, match="expected a feature that varies"):
        ForwardFS(n_features=1).fit(np.ones((60, 3)), y)
    chosen = ForwardFS(n_features=0.5).fit(X, y)
    assert chosen.n_features_ == 2
    assert SelectKBest(k=2).fit(X, y).transform(X).shape == chosen.transform(X).shape


@pytest.mark.parametrize("values", [(0.1 + 0.2, 0.3), (1e8, np.nextafter(1e8, 2e8))])
@pytest.mark.parametrize("how", ["fit", "partial_fit", "numeric", "few samples"])
def test_columns_that_vary_by_rounding_are_never_chosen(values, how):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 80 if how == "few samples" else 5))
    y = np.arange(60) % 4
    X[:, 3] = np.where(y < 2, *values)
    selector = ForwardFS(2, target="numeric" if how == "numeric" else "auto")
    selector = selector.partial_fit(X, y) if how == "partial_fit" else selector.fit(X, y)
    assert 3 not in selector.get_support(indices=True)


def test_cv_of_wide_data_is_refused():
    X, y = wide(n=50)
    with pytest.raises(ParameterError, match='at most 8,192 features for n_features="cv"'):
        ForwardFS(n_features="cv").fit(X, y)
    with pytest.raises(ParameterError, match="expected n_features<8,192 with more than 8,192 feat"):
        ForwardFS(n_features=1.0).fit(X, y)


def test_wide_chunks_keep_the_head_of_ocfs():
    X, y = wide()
    chunks = [(X[rows], y[rows]) for rows in np.array_split(np.arange(len(y)), 4)]
    found = local.fit(ForwardFS(n_features=6, head=50), chunks)
    head = np.sort(OCFS(n_features=50).fit(X, y).get_support(indices=True))
    expected = ForwardFS(n_features=6).fit(X[:, head], y)
    assert found.ranking_[:6].tolist() == head[expected.ranking_[:6]].tolist()
    np.testing.assert_allclose(found.gain_curve_, expected.gain_curve_, rtol=1e-8)


def test_the_rest_of_the_ranking_is_by_what_each_would_add():
    X, y = correlated()
    found = ForwardFS(n_features=3).fit(X, y)
    Z, T = indicators(X, y, "empirical")
    chosen, rest = found.ranking_[:3].tolist(), found.ranking_[3:]
    after = [explained(Z[:, [*chosen, k]], T, RIDGE) for k in rest]
    assert after == sorted(after, reverse=True)
    assert not found.scores_[rest].any()


def test_groups_are_described_one_by_one(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 2] + X[:, 4] > 0).astype(int)
    groups = ["a", "a", "b", "b", None, float("nan")]  # both are missing labels, of one group
    model = ForwardFS(n_features=2, groups=groups).fit(X, y)
    save(model, tmp_path / "m.narrows")
    assert main(["info", str(tmp_path / "m.narrows"), "--json"]) == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert [entry["features"] for entry in top] == [2, 2, 2]
    assert [entry["column"] // 2 for entry in top] == [1, 2, 0]
    assert [entry["kept"] for entry in top] == [True, True, False]
