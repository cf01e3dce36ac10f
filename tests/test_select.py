"""What selectors share; and ForwardFS: every step, and which features it takes."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.datasets import load_digits

from narrows import CHI, DF, IG, MI, MMCFS, OCFS, FisherFS, ForwardFS, Moments, VarianceFS
from narrows.engines import local
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.inside import map_of
from tests.oracles import contingency
from tests.oracles.dense import explained, indicators

PRESENCE = [IG, CHI, MI, DF]
VALUES = [OCFS, MMCFS, VarianceFS, FisherFS]


@pytest.mark.parametrize("priors", ["empirical", "sqrt", "balanced"])
@pytest.mark.parametrize(
    ("method", "oracle"),
    [
        (IG, contingency.gain_against_the_rest),
        (CHI, contingency.chi2),
        (MI, contingency.pointwise),
    ],
)
def test_scores_of_classes_are_those_of_the_2_x_2_tables(method, oracle, priors):
    X, y = labelled(n=80, sparse=True)
    X[:, 2], X[:, 3] = 0, 1
    fitted = method(priors=priors).fit(X, y)
    expected = contingency.by_class(oracle, X, y, priors)
    np.testing.assert_allclose(fitted.class_scores_, expected, atol=1e-12)
    assert fitted.class_scores_.shape == (3, 7)


@pytest.mark.parametrize("method", PRESENCE + VALUES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.filterwarnings("ignore:.*expected a positive score of")
def test_columns_that_are_alike_tie_and_the_lower_one_wins(method, form):
    priors = {} if method in (VarianceFS, DF) else {"priors": "sqrt"}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.repeat((rng.random((12, 1)) < 0.4) * 0.37, 5, axis=1)
        fitted = method(threshold=-1.0, **priors).fit(form(X), rng.integers(0, 3, 12))
        assert len(set(fitted.scores_)) == 1
        assert fitted.ranking_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("method", [MMCFS, VarianceFS, FisherFS])
@pytest.mark.parametrize("forms", [(np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)])
@pytest.mark.parametrize("constant", [0.1, 0.762, 1e5 / 3])
def test_a_constant_stays_one_where_dense_and_sparse_rows_mix(method, forms, constant):
    y = np.arange(200) % 2
    X = np.c_[np.full(200, constant), np.random.default_rng(0).normal(size=(200, 3))]
    one, other = (method(threshold=-9.0).fit(form(X), y) for form in forms)
    for fitted in (one.merge(other), other.partial_fit(forms[0](X), y)):
        assert fitted.ranking_[-1] == 0
        assert fitted.scores_[0] == 0


@pytest.mark.parametrize("method", [OCFS, IG, CHI, MI])
def test_per_class_keeps_the_union_of_each_class_s_best(method):
    fitted = method(per_class=2).fit(*labelled(sparse=True))
    best = {int(k) for scores in fitted.class_scores_ for k in np.argsort(-scores)[:2]}
    assert set(fitted.get_support(indices=True)) == best


@pytest.mark.parametrize("method", PRESENCE + VALUES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_columns_that_do_not_vary_rank_last(method, form):
    X, y = labelled(n=500, sparse=True)
    X = np.hstack([np.zeros((500, 1)), np.full((500, 1), 0.1), X])
    expected = pytest.warns(UserWarning, match=r"expected 7 features that gain margin .* got \d")
    with expected if method is MMCFS else nullcontext():  # whose scores of the others are negative
        fitted = method(n_features=7).fit(form(X), y)
    assert set(fitted.ranking_[-2:]) == {0, 1}
    assert fitted.get_support().tolist() == [False] * 2 + [True] * 7
    assert fitted.scores_[:2].tolist() == ([0, 500] if method is DF else [0, 0])
    assert fitted.n_positive_ == (fitted.scores_ > 0).sum()


@pytest.mark.parametrize("method", [VarianceFS, DF])
def test_labels_may_be_left_out(method):
    X, y = labelled(sparse=True)
    without = method().fit(X)
    np.testing.assert_allclose(without.scores_, method().fit(X, y).scores_)
    streamed = method().partial_fit(X[:20]).partial_fit(X[20:])
    np.testing.assert_allclose(streamed.scores_, without.scores_)
    with pytest.raises(ValueError, match="expected labels of one type"):
        without.partial_fit(X, y)


def test_fisher_is_infinite_where_the_classes_do_not_spread():
    X, y = labelled()
    X[:, 3], X[:, 5] = np.unique(y, return_inverse=True)[1], 1.0
    fisher = FisherFS(n_features=2).fit(sparse.csr_array(X), y)
    assert fisher.scores_[[3, 5]].tolist() == [np.inf, 0]
    assert fisher.ranking_[[0, -1]].tolist() == [3, 5]
    finite = np.delete(fisher.scores_, 3)
    gains = np.sort(np.append(finite / (1 + finite), 1.0))[::-1]
    np.testing.assert_allclose(fisher.energy_, gains.cumsum() / gains.sum())


def test_the_trace_ratio_takes_columns_that_do_not_spread_by_their_spread_between():
    X, y = labelled()
    code = np.unique(y, return_inverse=True)[1]
    X[:, 1], X[:, 4] = code, 3 * code
    for p, expected in ((1, [4]), (2, [1, 4])):
        found = FisherFS(n_features=p, optimum="trace_ratio").fit(X, y)
        assert found.get_support(indices=True).tolist() == expected


@pytest.mark.parametrize("wide", [False, True])
def test_reduced_rows_go_into_a_classifier_that_takes_no_wide_indices(wide):
    X, y = labelled(sparse=True)
    X = sparse.csr_array(X)
    if wide:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    reduced = OCFS(n_features=3).fit(X, y).transform(X)
    assert reduced.indices.dtype == reduced.indptr.dtype == np.int32


@pytest.mark.parametrize("method", PRESENCE)
def test_moments_of_presence_serve_rare_features(method):
    X, y = load_digits(return_X_y=True)
    found = method().fit_moments(Moments.of(X != 0, y)).scores_
    np.testing.assert_allclose(found, method().fit(X, y).scores_, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="expected moments of zeros and ones"):
        method().fit_moments(Moments.of(X, y, second="class"))


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
    with pytest.raises(ValueError, match="expected a feature that varies"):
        ForwardFS(n_features="cv", ridge=ridge).fit(np.ones((90, 3)), y)


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
    groups = np.arange(padded.shape[1]) // 2
    found = ForwardFS(n_features=2, head=9, groups=groups).fit(padded, y)
    same_choice(found, ForwardFS(n_features=2, groups=groups[: len(live)]).fit(X[:, live], y), 4)


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


def test_one_class_so_far_tells_nothing():
    X, y = correlated()
    with pytest.warns(UserWarning, match="expected a positive score"):
        ForwardFS(n_features="cv").partial_fit(X[y == 0], y[y == 0]).get_support()
