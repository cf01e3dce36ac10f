"""ForwardFS: every step against brute force, and what the features are that it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse

from narrows import OCFS, ForwardFS
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


@pytest.mark.parametrize("ridge", ["auto", 0.0, 1.0])
def test_copies_come_after_all_independent_features_and_constants_never(ridge):
    X, y = labelled(n=90, d=5)
    copies = np.column_stack([X[:, 4], X, X[:, 2] * -3 + 1, np.full(90, 7.3), X[:, 1] + X[:, 3]])
    with pytest.warns(UserWarning, match="expected 9 features that vary, got 8"):
        found = ForwardFS(n_features=9, ridge=ridge).fit(copies, y)
    first = copies[:, found.ranking_[:5]]
    assert linalg.svdvals(first - first.mean(0))[-1] > 1e-3  # no two copies
    assert found.ranking_[-1] == 7
    assert not found.get_support()[7]


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
    for labels in ([0, 0, 0, 0, 1, 2], ["a"] * 4 + [None, 1], [float("nan")] * 4 + ["1", 1]):
        found = ForwardFS(n_features=1, groups=labels, ridge=0.0).fit(X, kind > 1)
        assert found.get_support().tolist() == [True] * 4 + [False] * 2
        assert found.gain_curve_[0] == pytest.approx(1.0)


def test_held_out_scores_are_those_of_regressions_on_the_other_folds():
    X, y = correlated(n=120)
    found = ForwardFS(n_features="cv").fit(X, y)
    fold, share = np.arange(len(y)) % 5, []
    for k in range(5):
        a, b = fold != k, fold == k
        m, s = X[a].mean(0), X[a].std(0)
        classes, N = np.unique(y[a], return_counts=True)
        scale = (N / a.sum()) ** 0.75 / (N / a.sum())
        T = (y[a][:, None] == classes) * scale
        t = (y[b][:, None] == classes) * scale - T.mean(0)
        T = T - T.mean(0)
        path = ForwardFS(n_features=8).fit(X[a], y[a]).ranking_
        share.append([])
        for size in range(1, 9):
            Z, z = ((X[rows] - m)[:, path[:size]] / s[path[:size]] for rows in (a, b))
            B = np.linalg.solve(Z.T @ Z / len(Z) + RIDGE * np.eye(size), Z.T @ T / len(Z))
            share[-1].append(1 - ((t - z @ B) ** 2).sum() / (t**2).sum())
    scores, errors = found.held_out_scores_, found.held_out_errors_
    np.testing.assert_allclose(scores, np.mean(share, axis=0), rtol=1e-7, atol=1e-9)
    good = scores >= scores.max() - errors[scores.argmax()]
    assert found.n_features_ == good.argmax() + 1  # the smallest within one error of the best


def same_choice(a, b, size=5):
    np.testing.assert_array_equal(a.ranking_[:size], b.ranking_[:size])
    np.testing.assert_allclose(a.gain_curve_, b.gain_curve_, rtol=1e-8)


def wide(seed=0, n=300, d=9000):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = sparse.random_array((n, d), density=0.004, format="lil", rng=rng)
    shares = 0.2 + 0.6 * (np.arange(9) % 4 == y[:, None])
    X[:, ::1000] = rng.random((n, 9)) * (rng.random((n, 9)) < shares)
    return sparse.csr_array(X), y


def test_of_wide_samples_in_memory_all_features_are_candidates():
    X, y = wide()
    live = np.flatnonzero(X.toarray().std(axis=0) > 0)[:8000]  # whose products are a state
    padded = sparse.hstack([X[:, live], sparse.csr_array((len(y), 500))], format="csr")
    found = ForwardFS(n_features=8, head=20).fit(padded, y)
    same_choice(found, ForwardFS(n_features=8).fit(X[:, live], y), 8)
    same_choice(ForwardFS(n_features=8, head=20).fit(padded.toarray(), y), found, 8)
    assert found.scores_.shape == (len(live) + 500,)


def test_wide_samples_go_on_behind_the_map_and_their_copies_merge():
    X, y = wide()
    model = ForwardFS(n_features=6).fit(X[:200], y[:200])
    copy = model.emptied().partial_fit(X[200:], y[200:])
    one = ForwardFS(n_features=6).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    same_choice(model.merge(copy), one, 6)
    with pytest.raises(ValueError, match="at most 8,192 features for partial_fit"):
        ForwardFS().partial_fit(X, y)


@pytest.mark.parametrize("size", [1, 3])
def test_features_of_start_are_candidates_whatever_their_scores(size):
    X, y = wide()
    worst = int(OCFS().fit(X, y).ranking_[-1])
    X = X.tolil()
    X[::7, worst] = 0.01  # so that it varies
    X, groups = sparse.csr_array(X), np.arange(9000) // size
    model = ForwardFS(n_features=2, head=20, start=[worst], groups=groups if size > 1 else None)
    model = local.fit(model, [(X[:150], y[:150]), (X[150:], y[150:])])
    assert (groups[model.ranking_[:size]] == groups[worst]).all()
    model = ForwardFS(n_features=2, head=20).fit(X, y)
    with pytest.raises(ParameterError, match=f"20 candidates, got feature {worst}"):
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


def test_wide_chunks_keep_the_head_of_ocfs():
    X, y = wide()
    chunks = [(X[rows], y[rows]) for rows in np.array_split(np.arange(len(y)), 4)]
    found = local.fit(ForwardFS(n_features=6, head=50), chunks)
    head = np.sort(OCFS(n_features=50).fit(X, y).get_support(indices=True))
    expected = ForwardFS(n_features=6).fit(X[:, head], y)
    assert found.ranking_[:6].tolist() == head[expected.ranking_[:6]].tolist()
    np.testing.assert_allclose(found.gain_curve_, expected.gain_curve_, rtol=1e-8)


def test_start_comes_first_and_takes_names():
    X, y = correlated()
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(8)])
    Z, T = indicators(X, y, "empirical")
    rest = {k: explained(Z[:, [5, 2, k]], T, RIDGE) for k in (0, 1, 3, 4, 6, 7)}
    for start, table in (([5, 2], X), (["c5", "c2"], frame)):
        found = ForwardFS(n_features=4, start=start).fit(table, y)
        assert found.ranking_[:3].tolist() == [5, 2, max(rest, key=rest.get)]
    with pytest.raises(ParameterError, match=r"names .* got .c9."):
        ForwardFS(n_features=3, start=["c9"]).fit(frame, y)


@pytest.mark.filterwarnings("ignore:.*expected a positive")
@pytest.mark.parametrize("X_first", [None, np.ones((20, 8))], ids=["one class", "constant"])
def test_a_stream_for_cv_may_begin_without_anything_to_tell(X_first):
    X, y = correlated()
    first = (X[y == 0], y[y == 0]) if X_first is None else (X_first, np.arange(20) % 3)
    stream = ForwardFS(n_features="cv").partial_fit(*first)
    assert not stream.held_out_scores_.any()
    assert (stream.partial_fit(X, y).held_out_scores_ > 0).any()
