"""The laws of the whole table: every method keeps every one of them that applies to it.

`narrows.testing` has the laws that hold for any method; here are those that need the definition of
one, and the messages.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from narrows.testing import checks, laws
from tests.cases import (
    ADDITIVE,
    ALL,
    KERNEL,
    NUMERIC,
    ONLINE_SRDA,
    PROJECTORS,
    SELECTORS,
    STREAMED,
    WEIGHTED,
)
from tests.conftest import EVERYTHING
from tests.oracles.dense import best_subset, scatters

# small random data often have no feature worth selecting
pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin|.*expected a positive score of")


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
    applying = {
        case.name: {law for law, why in laws(case.estimator).items() if not why} for case in ALL
    }
    assert set.intersection(*applying.values()) == {
        "class_names", "copying", "feature_order", "float32", "label_types", "offset",
        "save_and_load", "transform", "unfitted", "zero_feature",
    }  # fmt: skip
    sparse_ones = [case for case in ALL if case.takes_sparse]
    # moments of KernelSRDA are those behind a map, which a new one has not
    sums = [case for case in ADDITIVE if case not in KERNEL]
    merging = [*ADDITIVE, ONLINE_SRDA[0], ONLINE_SRDA[2]]  # the other one has a half-life
    of = {
        "batching": STREAMED, "partial_fit": STREAMED, "start": STREAMED,
        "failing_partial_fit": STREAMED, "unlearning": sums, "forgetting": sums,
        "merge_shares_nothing": ADDITIVE + ONLINE_SRDA, "multi_label": merging, "merge": merging,
        "scale": SELECTORS, "weights": WEIGHTED + merging[-2:],
        "zero_weight": WEIGHTED + merging[-2:], "half_life": ADDITIVE + ONLINE_SRDA,
        "sparse_formats": sparse_ones, "untidy_sparse": sparse_ones, "never_dense": sparse_ones,
    }  # fmt: skip
    for law, cases in of.items():
        assert {case.name for case in cases} == {c for c in applying if law in applying[c]}, law
    for case in ALL:
        assert case.expected_to_fail.keys() <= applying[case.name]


@pytest.mark.parametrize("case", SELECTORS, ids=lambda case: case.name)
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


@pytest.mark.parametrize("case", PROJECTORS, ids=lambda case: case.name)
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
