"""The laws of the whole table: every method keeps every one of them that applies to it.

`narrows.testing` has the laws that hold for any method; here are those that need the definition of
one, and the messages.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from narrows import KernelSRDA
from narrows.testing import checks, laws
from tests.cases import (
    ADDITIVE,
    ALL,
    IDR_QR,
    NUMERIC,
    ONLINE,
    ONLINE_SRDA,
    PROJECTORS,
    SELECTORS,
    STREAMED,
    WEIGHTED,
    answer,
    assert_same,
)
from tests.conftest import EVERYTHING
from tests.oracles.dense import best_subset, scatters

# small random data often have no feature worth selecting
pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin|.*expected a positive score of")

every = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
selector = pytest.mark.parametrize("case", SELECTORS, ids=lambda case: case.name)
projector = pytest.mark.parametrize("case", PROJECTORS, ids=lambda case: case.name)
weighted = pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.name)
streamed = pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)


# -- the laws of narrows.testing -----------------------------------------------------------------


def table():
    """Every law that applies to each method; one that is not promised has to fail."""
    draws = {"n_draws": 25, "random_state": None} if EVERYTHING else {"n_draws": 5}
    for case in ALL + NUMERIC:
        for law, check in checks(case.estimator, **draws):
            reason = case.expected_to_fail.get(law)
            marks = []
            if reason:
                marks = [pytest.mark.xfail(raises=AssertionError, strict=True, reason=reason)]
            elif law in case.undecided:
                marks = [pytest.mark.skip(reason=case.undecided[law])]
            yield pytest.param(check, id=f"{law}-{case.name}", marks=marks)


@pytest.mark.more
@pytest.mark.parametrize("check", list(table()))
def test_law(check):
    check()


def test_which_laws_apply_to_which_methods():
    """A method that loses a capability would lose its laws in silence."""
    applying = {case.name: {law for law, why in laws(case.estimator).items() if not why}
                for case in ALL}  # fmt: skip
    everyone = set.intersection(*applying.values())
    assert everyone == {
        "class_names", "copying", "feature_order", "float32", "label_types", "offset",
        "save_and_load", "transform", "unfitted", "zero_feature",
    }  # fmt: skip
    without_half_life = [ONLINE_SRDA[0], ONLINE_SRDA[2]]
    of = {
        "streams": (
            {"batching", "partial_fit", "start", "failing_partial_fit"},
            STREAMED,
        ),
        # moments of KernelSRDA are those behind a map, which a new one has not
        "sums": (
            {"unlearning", "forgetting"},
            [case for case in ADDITIVE if not isinstance(case.new(), KernelSRDA)],
        ),
        "merges": ({"merge_shares_nothing"}, ADDITIVE + ONLINE_SRDA),
        "indicators": ({"multi_label"}, ADDITIVE + without_half_life),
        "merges once": ({"merge"}, ADDITIVE + without_half_life),
        "selectors": ({"scale"}, SELECTORS),
        "weights": ({"weights", "zero_weight"}, WEIGHTED + without_half_life),
        "half-lives": ({"half_life"}, ADDITIVE + ONLINE_SRDA),
        "sparse": (
            {"sparse_formats", "untidy_sparse", "never_dense"},
            [case for case in ALL if case.takes_sparse],
        ),
    }  # fmt: skip
    for names, cases in of.values():
        for name in names:
            assert {c.name for c in cases} == {c for c in applying if name in applying[c]}, name
    for case in ALL:
        assert case.expected_to_fail.keys() <= applying[case.name]


# -- the same numbers in another form ------------------------------------------------------------


@every
def test_single_precision_is_summed_in_double(case):
    X, y = case.labelled()
    single = X.astype(np.float32)
    double = case.new().fit(single.astype(np.float64), y)
    assert_same(case.new().fit(single, y), double, rtol=case.single, atol=case.single)


@every
def test_a_pickle_is_the_same_estimator(case):
    fitted = case.new().fit(*case.labelled())
    assert_same(pickle.loads(pickle.dumps(fitted)), fitted, rtol=0, atol=0)


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


# -- the edges, and their messages ---------------------------------------------------------------


@streamed
def test_one_sample_starts_at_most_one_direction(case):
    X, y = case.labelled()
    stream = case.new().partial_fit(X[:0], y[:0])
    assert len(stream.classes_) == 0
    stream.partial_fit(X[:1], y[:1])
    if "0.2, 0.3" in case.name:  # three priors wait for three classes
        return
    found = answer(stream)
    assert all(not np.isnan(a).any() for a in found.values() if a.dtype.kind == "f")
    if hasattr(stream, "components_"):
        started = np.any(stream.components_ != 0, axis=1).sum()
        at_once = case in ONLINE + IDR_QR or "OCM" in case.name  # not about an origin
        assert started == (1 if at_once else 0)


@every
def test_fit_needs_two_classes(case):
    X, _ = case.labelled()
    if not case.needs_y:
        assert case.new().fit(X).n_samples_seen_ == 60
        return
    with pytest.raises(ValueError, match="expected two classes of positive weight, got 1 class"):
        case.new().fit(X, np.full(60, "ant"))


@weighted
def test_fit_needs_a_positive_weight(case):
    X, y = case.labelled()
    with pytest.raises(ValueError, match="expected samples with a label and a non-zero"):
        case.new().fit(X, y, sample_weight=np.zeros(60))


@every
def test_a_feature_of_zeros_is_selected_only_below_a_negative_threshold(case):
    X, y = case.labelled()
    X[:, 4] = 0
    fitted = case.new().fit(X, y)
    if hasattr(fitted, "scores_"):
        threshold = getattr(fitted, "threshold", None)
        assert fitted.get_support()[4] == (threshold is not None and threshold < 0)


@pytest.mark.slow
@streamed
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
def test_what_partial_fit_refuses_is_named(case, spoil, message):
    if not case.reads_y and message not in ("NaN", "infinity", "5 features"):
        pytest.skip("labels are ignored")
    if not case.needs_y and message == "continuous":
        pytest.skip("y without labels is not looked at")
    for form in case.forms:
        X, y = case.labelled(sparse=form is not np.asarray)
        bad_X, bad_y = spoil(X, y)
        bad_X = form(bad_X)
        fitted, fresh = case.new().fit(X, y), case.new()
        before, attributes = answer(fitted), set(vars(fitted))
        with pytest.raises(ValueError, match=message):
            fitted.partial_fit(bad_X, bad_y)
        for key, value in answer(fitted).items():
            np.testing.assert_array_equal(value, before[key])
        assert set(vars(fitted)) == attributes
        takes_fractions = case.estimator.get_params().get("target") == "auto"
        if (
            message not in ("5 features", "labels of one type")
            and (case.needs_y or "y|" not in message)
            and not (message == "continuous" and takes_fractions)
        ):
            with pytest.raises(ValueError, match=message):
                fresh.partial_fit(bad_X, bad_y)
            assert vars(fresh) == vars(case.new())


@every
def test_nothing_can_be_read_before_fit(case):
    for name in ("classes_", "n_samples_seen_", "scores_", "components_", "n_features_in_"):
        assert not hasattr(case.new(), name)
