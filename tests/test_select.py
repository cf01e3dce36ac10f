"""What selectors share: sizes, scores of classes, columns that do not vary, labels left out."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
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


def test_ocfs_scores_of_classes_add_up():
    X, y = labelled()
    ocfs = OCFS(priors=[0.5, 0.0, 0.5]).fit(X, y)
    np.testing.assert_allclose(ocfs.class_scores_.sum(axis=0), ocfs.scores_)
    assert not ocfs.class_scores_[1].any()


def test_chi_is_scipy_s_column_by_column():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.3, (300, 40)), rng.integers(0, 2, 300)
    fitted = CHI().fit(X, y)
    for k in range(40):
        table = [[((X[:, k] > 0) & (y == j)).sum() for j in (0, 1)],
                 [((X[:, k] == 0) & (y == j)).sum() for j in (0, 1)]]  # fmt: skip
        expected = chi2_contingency(table, correction=False).statistic
        np.testing.assert_allclose(fitted.class_scores_[:, k], expected)
        assert fitted.scores_[k] == pytest.approx(expected)


@pytest.mark.parametrize("method", WITH_CLASS_SCORES)
def test_per_class_keeps_the_union_of_each_class_s_best(method):
    X, y = labelled(sparse=True)
    fitted = method(per_class=2).fit(X, y)
    best = {int(k) for scores in fitted.class_scores_ for k in np.argsort(-scores)[:2]}
    assert set(fitted.get_support(indices=True)) == best
    assert fitted.n_features_ == len(best)
    for wrong, message in (
        (0, "expected `per_class` to be an integer"),
        (8, "expected per_class<=7, the number of features in the data, got 8"),
    ):
        with pytest.raises(ParameterError, match=message):
            method(per_class=wrong).fit(X, y)
    with pytest.raises(
        ParameterError, match="at most one of n_features, energy, threshold, per_cl"
    ):
        method(per_class=2, energy=0.5).fit(X, y)


@pytest.mark.parametrize("method", [MMCFS, VarianceFS, FisherFS, DF])
def test_others_have_no_scores_of_classes(method):
    X, y = labelled(sparse=True)
    assert not hasattr(method().fit(X, y), "class_scores_")
    with pytest.raises(TypeError, match=r"expected one of the parameters of .*, got 'per_class'"):
        method(per_class=2)


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
    with pytest.warns(UserWarning, match=r"expected 7 features that gain margin at eps=1, got \d;"):
        mmcfs = MMCFS(n_features=7).fit(X, y)
    assert mmcfs.n_positive_ < 7
    assert mmcfs.energy_[mmcfs.n_positive_ - 1] == 1
    for eps in (-1, np.nan, "a"):
        with pytest.raises(ParameterError, match="expected `eps` to be a finite number >= 0"):
            MMCFS(eps=eps).fit(X, y)


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


def test_the_trace_ratio_takes_the_best_column_and_then_the_rarest():
    """As its docstring says: what little a column adds to either sum spoils the ratio least."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    often = rng.random((4000, 5)) < np.where(y[:, None], 0.5, 0.2)  # all five are useful
    rare = rng.random((4000, 5)) < 0.002  # and these say nothing
    X = sparse.csr_array(np.hstack([often, rare]).astype(float))
    by_ratio = FisherFS(n_features=4, optimum="trace_ratio").fit(X, y)
    by_score = FisherFS(n_features=4).fit(X, y)
    kept = by_ratio.get_support(indices=True)
    assert kept[0] == by_score.ranking_[0]
    assert (kept[1:] >= 5).all()
    assert (by_score.get_support(indices=True) < 5).all()


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("wide", [False, True])
def test_reduced_rows_go_into_a_classifier_that_takes_no_wide_indices(form, wide):
    X, y = labelled(sparse=True)
    X = form(X)
    if wide and X.format == "csr":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    reduced = OCFS(n_features=3).fit_transform(X, y)
    assert reduced.indices.dtype == reduced.indptr.dtype == np.int32
    assert LinearSVC().fit(reduced, y).score(reduced, y) > 0.4


def test_wrong_optima_are_named():
    X, y = labelled()
    with pytest.raises(
        ParameterError, match='expected `optimum` to be "score" or "trace_ratio", got'
    ):
        FisherFS(optimum="ratio").fit(X, y)
    with pytest.raises(ParameterError, match='expected n_features for optimum="trace_ratio"'):
        FisherFS(optimum="trace_ratio").fit(X, y)


@pytest.mark.parametrize("method", [MMCFS, FisherFS])
def test_other_priors_take_second_moments_of_each_class(method):
    X, y = labelled()
    total, by_class = (Moments.of(X, y, second=second) for second in ("total", "class"))
    for stats in (total, by_class):
        np.testing.assert_allclose(
            method().fit_moments(stats).scores_, method().fit(X, y).scores_, rtol=1e-9
        )
    with pytest.raises(ValueError, match=r"second='class', got some with second='total'"):
        method(priors="balanced").fit_moments(total)
    method(priors="balanced").fit_moments(by_class)


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


def test_two_stages_in_a_pipeline_carry_names():
    pd = pytest.importorskip("pandas")
    X, y = labelled(sparse=True)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    both = make_pipeline(OCFS(n_features=5), IG(n_features=2)).set_output(transform="pandas")
    reduced = both.fit(frame, y).transform(frame)
    first = OCFS(n_features=5).fit(X, y).get_support(indices=True)
    second = IG(n_features=2).fit(X[:, first], y).get_support(indices=True)
    assert list(reduced.columns) == ["abcdefg"[k] for k in first[second]]


@pytest.mark.parametrize("everywhere", [True, False])
def test_sparse_samples_become_sparse_columns_of_pandas(everywhere):
    pd = pytest.importorskip("pandas")
    X, y = labelled(sparse=True)
    X = sparse.csr_array(X)
    ocfs = OCFS(n_features=3).fit(X, y)
    expected = X[:, ocfs.get_support(indices=True)].toarray()
    if everywhere:
        with config_context(transform_output="pandas"):
            reduced = ocfs.transform(X)
    else:
        reduced = ocfs.set_output(transform="pandas").transform(X)
    assert isinstance(reduced, pd.DataFrame)
    assert list(reduced.columns) == list(ocfs.get_feature_names_out())
    assert all(isinstance(kind, pd.SparseDtype) for kind in reduced.dtypes)
    np.testing.assert_array_equal(reduced.to_numpy(), expected)
    assert sparse.issparse(ocfs.set_output(transform="default").transform(X))


@pytest.mark.slow
@pytest.mark.parametrize("method", PRESENCE + VALUES)
def test_102_topics_of_which_a_document_has_several(data, method):
    with np.load(data / "rcv1_topics.npz") as file:
        X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
        Y = sparse.csr_array(
            (np.ones(len(file["yindices"])), file["yindices"], file["yindptr"]),
            shape=file["yshape"],
        )
    fitted = method(threshold=0.0).fit(X, Y)
    assert len(fitted.classes_) == 102
    assert fitted.n_samples_seen_ == 27_613
    assert fitted.scores_.shape == (47_236,)
    # the same as one row for each label, in parts
    row, label = Y.nonzero()
    half = len(row) // 2
    parts = method(threshold=0.0)
    for part in (slice(half), slice(half, None)):
        parts.partial_fit(X[row[part]], label[part])
    np.testing.assert_allclose(
        parts.scores_, fitted.scores_, rtol=1e-7, atol=1e-12 * fitted.scores_.max()
    )


def test_iris_margins(data):
    """On the UCI file S_b + S_w = C, so margins follow from OCFS and the variances."""
    with open(data / "iris.csv") as file:
        rows = list(csv.reader(file))[1:]
    X, y = np.array([row[:4] for row in rows], dtype=float), [row[4] for row in rows]
    s_b, s_c = OCFS().fit(X, y).scores_, X.var(axis=0)
    np.testing.assert_allclose(MMCFS(threshold=-1.0).fit(X, y).scores_, 2 * s_b - s_c, atol=1e-12)
    np.testing.assert_allclose(FisherFS().fit(X, y).scores_, s_b / (s_c - s_b), rtol=1e-10)
