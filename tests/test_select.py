"""What selectors share: sizes, scores of classes, columns that do not vary, labels left out."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from narrows import CHI, DF, IG, MI, MMCFS, OCFS, FisherFS, Moments, VarianceFS
from tests.cases import labelled
from tests.oracles import contingency, dense

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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [OCFS, IG, CHI, MI])
def test_columns_that_say_nothing_have_no_score(method, form):
    """Each class has the same share of every column, to the row."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.random((100, 40)) < np.linspace(0.02, 0.9, 40), (6, 1)).astype(float)
    with pytest.warns(UserWarning, match="expected a positive score of"):
        fitted = method().fit(form(X), np.repeat([0, 1, 2], [100, 200, 300]))
    assert not fitted.scores_.any()
    assert not fitted.energy_.any()
    assert (fitted.n_positive_, fitted.n_features_) == (0, 1)


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


def test_mmcfs_warns_past_the_margin():
    with pytest.warns(UserWarning, match="gain margin"):
        mmcfs = MMCFS(n_features=7).fit(*labelled())
    assert mmcfs.n_positive_ < 7
    assert mmcfs.energy_[mmcfs.n_positive_ - 1] == 1


def test_fisher_is_infinite_where_the_classes_do_not_spread():
    X, y = labelled()
    X[:, 3], X[:, 5] = np.unique(y, return_inverse=True)[1], 1.0
    fisher = FisherFS(n_features=2).fit(sparse.csr_array(X), y)
    assert fisher.scores_[[3, 5]].tolist() == [np.inf, 0]
    assert fisher.ranking_[[0, -1]].tolist() == [3, 5]
    finite = np.delete(fisher.scores_, 3)
    gains = np.sort(np.append(finite / (1 + finite), 1.0))[::-1]
    np.testing.assert_allclose(fisher.energy_, gains.cumsum() / gains.sum())


def test_the_trace_ratio_with_columns_that_do_not_spread_takes_those_of_largest_spread_between():
    X, y = labelled()
    code = np.unique(y, return_inverse=True)[1]
    X[:, 1], X[:, 4] = code, 3 * code
    one, two, three = (FisherFS(n_features=p, optimum="trace_ratio").fit(X, y) for p in (1, 2, 3))
    assert one.get_support(indices=True).tolist() == [4]
    assert two.get_support(indices=True).tolist() == [1, 4]
    assert np.isneginf(two.scores_[0])
    b, w = (np.diag(S) for S in dense.scatters(X, y)[:2])
    K = three.get_support(indices=True)
    best = max(b[list(K)].sum() / w[list(K)].sum() for K in combinations(range(7), 3))
    assert b[K].sum() / w[K].sum() == pytest.approx(best, rel=1e-9)


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
