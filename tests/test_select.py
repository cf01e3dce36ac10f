"""What selectors share: sizes, scores of classes, columns that do not vary, labels left out."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from narrows import CHI, DF, IG, MI, MMCFS, OCFS, FisherFS, Moments, VarianceFS
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.oracles import contingency, dense

PRESENCE = [IG, CHI, MI, DF]
VALUES = [OCFS, MMCFS, VarianceFS, FisherFS]
WITH_CLASS_SCORES = [OCFS, IG, CHI, MI]


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
    X[:, 2] = 0
    X[:, 3] = 1
    fitted = method(priors=priors).fit(X, y)
    expected = contingency.by_class(oracle, X, y, priors)
    np.testing.assert_allclose(fitted.class_scores_, expected, atol=1e-12)
    assert fitted.class_scores_.shape == (3, 7)


@pytest.mark.parametrize("method", PRESENCE + VALUES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.filterwarnings("ignore:.*expected a positive score of")
def test_columns_that_are_alike_tie_and_the_lower_one_wins(method, form):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        column = (rng.random((12, 1)) < 0.4) * 0.37
        X, y = np.repeat(column, 5, axis=1), rng.integers(0, 3, 12)
        priors = {} if method in (VarianceFS, DF) else {"priors": "sqrt"}
        fitted = method(threshold=-1.0, **priors).fit(form(X), y)
        assert len(set(fitted.scores_)) == 1
        assert fitted.ranking_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [OCFS, IG, CHI, MI])
def test_columns_that_say_nothing_have_no_score(method, form):
    """Each class has the same share of every column, to the row."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.random((100, 40)) < np.linspace(0.02, 0.9, 40), (6, 1)).astype(float)
    y = np.repeat([0, 1, 2], [100, 200, 300])
    with pytest.warns(UserWarning, match="expected a positive score of"):
        fitted = method().fit(form(X), y)
    assert fitted.n_positive_ == 0
    assert not fitted.scores_.any()
    assert not fitted.energy_.any()
    assert fitted.n_features_ == 1


@pytest.mark.parametrize("method", [MMCFS, VarianceFS, FisherFS])
@pytest.mark.parametrize("forms", [(np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)])
def test_a_constant_stays_one_where_dense_and_sparse_rows_mix(method, forms):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    for constant in (0.1, 0.762, 1e5 / 3):
        X = np.c_[np.full(200, constant), rng.normal(size=(200, 3))]
        fitted = method(threshold=-9.0)
        for form in forms:
            fitted.partial_fit(form(X), y)
        assert fitted.ranking_[-1] == 0
        assert fitted.scores_[0] == 0
        merged = method(threshold=-9.0).fit(forms[0](X), y)
        assert merged.merge(method(threshold=-9.0).fit(forms[1](X), y)).ranking_[-1] == 0


@pytest.mark.parametrize("method", WITH_CLASS_SCORES)
def test_per_class_keeps_the_union_of_each_class_s_best(method):
    X, y = labelled(sparse=True)
    fitted = method(per_class=2).fit(X, y)
    best = {int(k) for scores in fitted.class_scores_ for k in np.argsort(-scores)[:2]}
    assert set(fitted.get_support(indices=True)) == best
    for wrong in ({"per_class": 0}, {"per_class": 8}, {"per_class": 2, "energy": 0.5}):
        with pytest.raises(ParameterError, match="per_class"):
            method(**wrong).fit(X, y)


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
    without, with_y = method().fit(X), method().fit(X, y)
    np.testing.assert_allclose(without.scores_, with_y.scores_)
    assert without.classes_.tolist() == [0]
    assert with_y.classes_.tolist() == ["ant", "bee", "cat"]
    streamed = method().partial_fit(X[:20]).partial_fit(X[20:])
    np.testing.assert_allclose(streamed.scores_, without.scores_)
    with pytest.raises(ValueError, match="expected labels of one type"):
        without.partial_fit(X, y)
    np.testing.assert_allclose(VarianceFS().fit(X).scores_, X.var(axis=0))


def test_mmcfs_is_ocfs_where_eps_is_0_and_warns_past_the_margin():
    X, y = labelled()
    np.testing.assert_allclose(MMCFS(eps=0).fit(X, y).scores_, OCFS().fit(X, y).scores_)
    with pytest.warns(UserWarning, match="gain margin"):
        mmcfs = MMCFS(n_features=7).fit(X, y)
    assert mmcfs.n_positive_ < 7
    assert mmcfs.energy_[mmcfs.n_positive_ - 1] == 1


def test_fisher_is_infinite_where_the_classes_do_not_spread():
    X, y = labelled()
    X[:, 3] = np.unique(y, return_inverse=True)[1]
    X[:, 5] = 1.0
    X = sparse.csr_array(X)
    fisher = FisherFS(n_features=2).fit(X, y)
    assert fisher.scores_[3] == np.inf
    assert fisher.scores_[5] == 0
    assert fisher.ranking_[0] == 3
    assert fisher.ranking_[-1] == 5
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


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("wide", [False, True])
def test_reduced_rows_go_into_a_classifier_that_takes_no_wide_indices(form, wide):
    X, y = labelled(sparse=True)
    X = form(X)
    if wide and X.format == "csr":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    ocfs = OCFS(n_features=3).fit(X, y)
    reduced = ocfs.transform(X)
    back = ocfs.inverse_transform(reduced.toarray())
    np.testing.assert_array_equal(back, X.toarray() * ocfs.get_support())
    assert reduced.indices.dtype == reduced.indptr.dtype == np.int32
    assert LinearSVC().fit(reduced, y).score(reduced, y) > 0.4


def test_one_pass_serves_all_selectors():
    X, y = labelled(sparse=True)
    values = Moments.of(X, y, second="class")
    presence = Moments.of((X != 0).astype(float), y)
    for methods, stats in ((VALUES, values), (PRESENCE, presence)):
        for method in methods:
            np.testing.assert_allclose(
                method().fit_moments(stats).scores_, method().fit(X, y).scores_, rtol=1e-9
            )
    for method in PRESENCE:
        with pytest.raises(ValueError, match="expected moments of zeros and ones"):
            method().fit_moments(values)


@pytest.mark.parametrize("method", PRESENCE)
def test_dense_moments_of_presence_serve_rare_features(method):
    X, y = load_digits(return_X_y=True)
    found = method().fit_moments(Moments.of(X != 0, y)).scores_
    expected = method().fit(X, y).scores_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_iris_margins(data):
    """On the UCI file S_b + S_w = C, so margins follow from OCFS and the variances."""
    with open(data / "iris.csv") as file:
        rows = list(csv.reader(file))[1:]
    X, y = np.array([row[:4] for row in rows], dtype=float), [row[4] for row in rows]
    s_b, s_c = OCFS().fit(X, y).scores_, X.var(axis=0)
    np.testing.assert_allclose(MMCFS(threshold=-1.0).fit(X, y).scores_, 2 * s_b - s_c, atol=1e-12)
    np.testing.assert_allclose(FisherFS().fit(X, y).scores_, s_b / (s_c - s_b), rtol=1e-10)
