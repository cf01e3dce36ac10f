"""The laws of the whole table: every method keeps every one of them."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

import narrows
from narrows import ClassStats
from tests.cases import (
    ADDITIVE,
    ALL,
    EXACT,
    IDR_QR,
    ONLINE,
    ONLINE_SRDA,
    PROJECTORS,
    SELECTORS,
    STREAMED,
    WEIGHTED,
    answer,
    assert_same,
)
from tests.oracles.dense import best_subset, scatters

# small random data often have no column worth keeping
pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin|.*no feature has a positive score")

additive = pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
every = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
selector = pytest.mark.parametrize("case", SELECTORS, ids=lambda case: case.name)
projector = pytest.mark.parametrize("case", PROJECTORS, ids=lambda case: case.name)
exact = pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
weighted = pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.name)
streamed = pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]

cuts = st.lists(st.integers(0, 60), max_size=6).map(sorted)


def parts(cuts, *arrays):
    edges = [0, *cuts, len(arrays[0])]
    return [[a[i:j] for a in arrays] for i, j in pairwise(edges)]


# -- the state adds up ---------------------------------------------------------------------------


@streamed
@given(cuts=cuts, is_sparse=st.booleans(), seed=st.integers(0, 20))
def test_batching_changes_nothing(case, cuts, is_sparse, seed):
    X, y = case.labelled(seed=seed, sparse=is_sparse)
    X = sparse.csr_array(X) if is_sparse else X
    streamed = case.new()
    for X_part, y_part in parts(cuts, X, y) if not is_sparse else sparse_parts(cuts, X, y):
        streamed.partial_fit(X_part, y_part)
    assert_same(streamed, case.learnt(X, y))


def sparse_parts(cuts, X, y):
    edges = [0, *cuts, len(y)]
    return [(X[i:j], y[i:j]) for i, j in pairwise(edges)]


@additive
@given(cuts=cuts, order=st.randoms(use_true_random=False), seed=st.integers(0, 20))
def test_merge_is_the_fit_of_all_rows_in_any_order(case, cuts, order, seed):
    X, y = case.labelled(seed=seed)
    shards = parts(cuts, X, y)
    order.shuffle(shards)
    fitted = [case.new().partial_fit(*shard) for shard in shards]
    untouched = copy.deepcopy([ClassStats.to_arrays(e._state) for e in fitted[1:]])
    assert_same(fitted[0].merge(*fitted[1:]), case.new().fit(X, y))
    assert_same(case.new().merge(*fitted[:1]), fitted[0])
    for before, estimator in zip(untouched, fitted[1:], strict=True):
        for name, array in estimator._state.to_arrays().items():
            np.testing.assert_array_equal(array, before[name])


@additive
def test_merging_shares_nothing(case):
    X, y = case.labelled()
    a, b = case.new().fit(X, y), case.new().fit(X[:30], y[:30])
    before = copy.deepcopy(b)
    case.new().merge(b).partial_fit(X, y)
    a.merge(b).partial_fit(X, y)
    assert_same(b, before, rtol=0, atol=0)


@additive
@given(seed=st.integers(0, 20), cut=st.integers(10, 50), is_sparse=st.booleans())
def test_what_is_unlearnt_leaves_no_trace(case, seed, cut, is_sparse):
    X, y = case.labelled(seed=seed, sparse=is_sparse)
    y[:3] = ["ant", "bee", "cat"]
    y[cut:] = np.where(y[cut:] == "bee", "dog", y[cut:])  # a class that comes and goes
    X = sparse.csr_array(X) if is_sparse else X
    kind = case.new()._empty_state(7)
    whole = ClassStats.of(X, y, second=kind.second, presence=kind.presence)
    gone = ClassStats.of(X[cut:], y[cut:], second=kind.second, presence=kind.presence)
    left = case.new().fit_stats(whole - gone)
    assert_same(left, case.new().fit(X[:cut], y[:cut]))


@additive
@given(g=st.floats(1e-3, 1e3))
def test_forgetting_evenly_changes_only_the_weight(case, g):
    X, y = case.labelled()
    fitted = case.new().fit(X, y)
    scaled = case.new().fit_stats(g * fitted._state)
    changed = {"class_count"}
    if not case.scale_free:
        changed |= {"scores", "class_scores"}
        np.testing.assert_allclose(scaled.scores_, g * fitted.scores_)
    assert_same(scaled, fitted, only=set(answer(fitted)) - changed)
    np.testing.assert_allclose(scaled.class_count_, g * fitted.class_count_)


@weighted
@given(weights=st.lists(st.integers(0, 3), min_size=50, max_size=50), is_sparse=st.booleans())
def test_a_weight_is_a_repetition(case, weights, is_sparse):
    X, y = case.labelled(sparse=is_sparse)
    weights = [1] * 10 + weights  # rows of each class
    form = case.form if is_sparse else np.asarray
    weighted = case.new().fit(form(X), y, sample_weight=weights)
    repeated = case.new().fit(form(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    assert_same(weighted, repeated, only=set(answer(weighted)) - {"rows"})


@weighted
def test_a_class_of_weight_zero_is_not_there(case):
    X, y = case.labelled()
    extra = np.vstack([X, 100 * X[:5]]), np.append(y, ["zebra"] * 5)
    weight = np.append(np.ones(60), np.zeros(5))
    zero = case.new().fit(*extra, sample_weight=weight)
    assert_same(zero, case.new().fit(X, y), only=set(answer(zero)) - {"rows"})
    with pytest.raises(ValueError, match="every sample has zero weight"):
        case.new().fit(X, y, sample_weight=np.zeros(60))


# -- the same numbers in another form ------------------------------------------------------------


@every
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_is_dense(case, form, kind):
    if not case.takes_sparse:
        pytest.skip("takes no sparse rows, as its docstring says")
    X, y = case.labelled(sparse=True)
    made = getattr(sparse, f"{form}_{kind}")(X)
    fitted = case.new().fit(made, y)
    assert_same(fitted, case.new().fit(X, y))
    reduced = fitted.transform(made)
    dense = reduced.toarray() if sparse.issparse(reduced) else reduced
    np.testing.assert_allclose(dense, fitted.transform(X), atol=1e-12)


@every
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_untidy_sparse_is_dense(case, index):
    """Unsorted columns, one number in two parts, explicit zeros, wide indices."""
    if not case.takes_sparse:
        pytest.skip("takes no sparse rows, as its docstring says")
    X, y = case.labelled(sparse=True)
    rng = np.random.default_rng(1)
    tidy = sparse.coo_array(X)
    row, column = np.tile(tidy.coords[0], 2), np.tile(tidy.coords[1], 2)
    data = np.concatenate([0.25 * tidy.data, 0.75 * tidy.data])
    row = np.append(row, [0, 1, 2])
    column, data = np.append(column, [0, 1, 2]), np.append(data, [0.0, 0.0, 0.0])
    order = rng.permutation(len(row))
    row, column, data = row[order], column[order], data[order]
    by_row = np.argsort(row, kind="stable")
    indptr = np.append(0, np.cumsum(np.bincount(row, minlength=60)))
    made = sparse.csr_array(X.shape)
    made.data, made.indices = data[by_row], column[by_row].astype(index)
    made.indptr = indptr.astype(index)
    assert not made.has_canonical_format
    assert_same(case.new().fit(made, y), case.new().fit(X, y))


@every
def test_single_precision_is_kept_and_summed_in_double(case):
    X, y = case.labelled()
    single = X.astype(np.float32)
    fitted = case.new().fit(single, y)
    double = case.new().fit(single.astype(np.float64), y)
    assert_same(fitted, double, rtol=case.single, atol=case.single)
    assert fitted.transform(single).dtype == np.float32
    assert fitted.transform(X).dtype == np.float64
    assert fitted.transform(X.astype(int)).dtype == np.float64
    assert fitted.transform(case.form(single)).dtype == np.float32


@every
def test_one_column_of_labels_in_any_type(case):
    X, y = case.labelled()
    expected = case.new().fit(X, y)
    for labels in (list(y), y.astype(object), np.array(list(y))):
        assert_same(case.new().fit(X, labels), expected)
    codes = np.unique(y, return_inverse=True)[1]
    for labels in (codes, codes.astype(float), codes.astype(np.uint8), codes == 1):
        if labels.dtype != bool or "0.2, 0.3" not in case.name:
            fitted = case.new().fit(X, labels)
            np.testing.assert_array_equal(fitted.classes_, np.unique(labels))
            assert fitted.classes_.dtype == labels.dtype


@additive
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix, list])
def test_multi_label_rows_count_once_for_each_label(case, form):
    X, _ = case.labelled()
    Y = np.random.default_rng(3).random((60, 3)) < [0.2, 0.5, 0.6]
    Y[0] = False
    row, label = np.nonzero(Y)
    many = case.new().fit(X, form(Y.astype(int).tolist() if form is list else Y.astype(int)))
    assert_same(many, case.new().fit(X[row], label), only=set(answer(many)) - {"rows"})
    assert many.n_samples_seen_ == 60


# -- permutations and shifts ---------------------------------------------------------------------


@exact
@given(seed=st.integers(0, 20))
def test_permuting_rows_classes_or_columns_permutes_the_answer(case, seed):
    X, y = case.labelled(seed=seed)
    rng = np.random.default_rng(seed)
    fitted = case.new().fit(X, y)
    rows, columns = rng.permutation(60), rng.permutation(7)
    assert_same(case.new().fit(X[rows], y[rows]), fitted)
    moved = answer(case.new().fit(X[:, columns], y))
    for key, array in answer(fitted).items():
        if key in ("scores", "class_scores", "support", "components"):
            np.testing.assert_allclose(moved[key], array[..., columns], atol=1e-9)
    if not isinstance(case.priors, list):
        renamed = case.new().fit(X, np.char.add("z", np.where(y == "ant", "zz", y)))
        assert_same(renamed, fitted, only={"scores", "support", "components"} & set(answer(fitted)))
        np.testing.assert_array_equal(renamed.classes_, ["zbee", "zcat", "zzz"])


@exact
@given(seed=st.integers(0, 20))
def test_an_offset_changes_nothing(case, seed):
    if not case.offset_free:
        pytest.skip("defined through rows that are not centred, as its docstring says")
    X, y = case.labelled(seed=seed)
    # steps of 2^-20, so that adding 1e8 loses nothing of the data themselves
    X = np.round(X * 2**20) / 2**20
    far = X + 1e8
    assert_same(case.new().fit(far, y), case.new().fit(far - 1e8, y), rtol=1e-7)
    if hasattr(case.estimator, "partial_fit"):
        streamed = case.new().partial_fit(far[:7], y[:7]).partial_fit(far[7:], y[7:])
        assert_same(streamed, case.new().fit(far - 1e8, y), rtol=1e-7)


# -- the optimum ---------------------------------------------------------------------------------


@selector
@given(seed=st.integers(0, 50), is_sparse=st.booleans())
def test_scores_are_those_of_the_definition_and_the_best_set_is_chosen(case, seed, is_sparse):
    X, y = case.labelled(n=40, seed=seed, sparse=is_sparse)
    fitted = case.new().fit(sparse.csr_array(X) if is_sparse else X, y)
    expected = case.oracle(X, y, case.priors)
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-8, atol=1e-10)
    kept = fitted.get_support(indices=True)
    assert len(kept) == fitted.n_features_
    if case.additive:
        _, best = best_subset(np.diag(expected), len(kept))
        assert expected[kept].sum() == pytest.approx(best, rel=1e-8)


@projector
@given(seed=st.integers(0, 50), is_sparse=st.booleans())
def test_directions_are_the_eigenvectors_of_the_explicit_matrix(case, seed, is_sparse):
    X, y = case.labelled(seed=seed, sparse=is_sparse)
    fitted = case.new().fit(sparse.csr_array(X) if is_sparse else X, y)
    S_b, *_ = scatters(X, y, priors=case.priors)
    L, U = np.linalg.eigh(S_b)
    W = fitted.components_
    p = len(W)
    np.testing.assert_allclose(fitted.eigenvalues_, L[::-1][:p], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(W @ W.T, np.eye(p), atol=1e-12)
    np.testing.assert_allclose(np.diag(W @ S_b @ W.T), fitted.eigenvalues_, atol=1e-12)
    for w, u in zip(W[:2], U.T[::-1], strict=False):  # the two of positive eigenvalue
        assert abs(w @ u) == pytest.approx(1, abs=1e-9)
    assert (W[np.arange(p), np.abs(W).argmax(axis=1)] > 0).all()


# -- keeping, and going on -----------------------------------------------------------------------


@every
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_saved_estimator_goes_on_as_if_never_stopped(case, is_sparse, tmp_path):
    X, y = case.labelled(sparse=is_sparse)
    X = case.form(X) if is_sparse else X
    fitted = case.new().fit(X[:40], y[:40])
    narrows.save(fitted, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    assert_same(loaded, fitted, rtol=0, atol=0)
    assert repr(loaded) == repr(fitted)
    assert loaded.get_params() == fitted.get_params()
    if hasattr(fitted, "partial_fit"):
        loaded.partial_fit(X[40:], y[40:])
        assert_same(loaded, fitted.partial_fit(X[40:], y[40:]), rtol=0, atol=0)
    assert_same(pickle.loads(pickle.dumps(fitted)), fitted, rtol=0, atol=0)


# -- the edges -----------------------------------------------------------------------------------


@streamed
@pytest.mark.filterwarnings("ignore:.*no feature has a positive score")
def test_a_stream_may_start_with_nothing_one_row_and_one_class(case):
    X, y = case.labelled()
    streamed = case.new().partial_fit(X[:0], y[:0])
    assert streamed.n_samples_seen_ == 0
    assert len(streamed.classes_) == 0
    streamed.partial_fit(X[:1], y[:1])
    if "0.2, 0.3" not in case.name:  # three priors wait for three classes
        assert np.isfinite(list(answer(streamed).values())[-1]).all()
        if hasattr(streamed, "components_"):
            started = np.any(streamed.components_ != 0, axis=1).sum()
            at_once = case in ONLINE + IDR_QR + ONLINE_SRDA or "OCM" in case.name
            of_one = "softmax" in case.name  # which gives a class that is alone all there is
            assert started == (1 if at_once and not of_one else 0)
    for i in range(1, 60):
        streamed.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(streamed, case.learnt(X, y))
    assert_same(streamed.partial_fit(X[:0], y[:0]), case.learnt(X, y))


@every
def test_fit_wants_two_classes(case):
    X, _ = case.labelled()
    if not case.needs_y:
        assert case.new().fit(X).n_samples_seen_ == 60
        return
    with pytest.raises(ValueError, match="expected two classes of positive weight, got 1 class"):
        case.new().fit(X, np.full(60, "ant"))


@every
def test_a_column_of_zeros_is_harmless(case):
    X, y = case.labelled()
    X[:, 4] = 0
    fitted = case.new().fit(X, y)
    if hasattr(fitted, "scores_"):
        assert fitted.scores_[4] == 0
        assert fitted.get_support()[4] == (fitted.threshold is not None and fitted.threshold < 0)
    else:
        rounding = len(y) * np.finfo(float).eps  # as in `rank_tolerance`
        np.testing.assert_allclose(fitted.components_[:, 4], 0, atol=rounding)
    assert_same(fitted, case.new().fit(case.form(X), y))


@streamed
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (np.where(X == X[3, 3], np.nan, X), y), "NaN"),
        (lambda X, y: (np.where(X == X[3, 3], np.inf, X), y), "infinity"),
        (lambda X, y: (X[:, :5], y), "5 features"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, np.arange(60)), "labels of one type"),
        (lambda X, y: (X, np.linspace(0, 1, 60)), "continuous"),
        (lambda X, y: (X, None), "requires y|labels of one type"),
    ],
)
def test_a_failing_partial_fit_changes_nothing(case, is_sparse, spoil, message):
    X, y = case.labelled(sparse=is_sparse)
    bad_X, bad_y = spoil(X, y)
    bad_X = sparse.csr_array(bad_X) if is_sparse else bad_X
    fitted = case.new().fit(X, y)
    before, attributes = copy.deepcopy(fitted), set(vars(fitted))
    with pytest.raises(ValueError, match=message):
        fitted.partial_fit(bad_X, bad_y)
    assert_same(fitted, before, rtol=0, atol=0)
    assert set(vars(fitted)) == attributes
    fresh = case.new()
    if message not in ("5 features", "labels of one type") and (
        case.needs_y or "y|" not in message
    ):
        with pytest.raises(ValueError, match=message):
            fresh.partial_fit(bad_X, bad_y)
        assert vars(fresh) == vars(case.new())


@every
def test_nothing_can_be_read_before_anything_is_learnt(case):
    for name in ("classes_", "n_samples_seen_", "scores_", "components_", "n_features_in_"):
        assert not hasattr(case.new(), name)
    with pytest.raises(NotFittedError):
        case.new().transform(np.ones((2, 7)))
