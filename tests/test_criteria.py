"""A criterion's diagonal is that of the explicit matrix, whatever its three numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from narrows import Moments
from narrows.criteria import Criterion
from tests.cases import labelled
from tests.oracles.dense import scatters

number = st.floats(-3, 3)


@pytest.mark.parametrize("priors", ["empirical", "sqrt", "balanced", [0.5, 0.3, 0.2]])
@given(between=number, total=number, shift=number, seed=st.integers(0, 9), is_sparse=st.booleans())
def test_diagonal(priors, between, total, shift, seed, is_sparse):
    X, y = labelled(n=20, seed=seed, sparse=is_sparse)
    stats = Moments.of(sparse.csr_array(X) if is_sparse else X, y, second="class")
    S_b, _, C = scatters(X, y, priors=priors)
    A = between * S_b + total * C + shift * np.eye(7)
    a = Criterion(between, total, shift).diagonal(stats, priors)
    np.testing.assert_allclose(a, np.diag(A), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("priors", ["empirical", "balanced"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n", [None, 1, 3])
def test_leading_eigenvectors(priors, form, n):
    X, y = labelled(n=40, c=4)
    S_b, *_ = scatters(X, y, priors=priors)
    L, U = np.linalg.eigh(2.0 * S_b + 0.5 * np.eye(7))
    eigenvalues, W = Criterion(between=2.0, shift=0.5).leading(Moments.of(form(X), y), priors, n)
    np.testing.assert_allclose(eigenvalues, L[::-1][:3])
    assert W.shape == (7, n or 3)
    np.testing.assert_allclose(np.abs(np.sum(W * U[:, ::-1][:, : n or 3], axis=0)), 1.0)


def test_what_a_criterion_needs():
    plain = Moments.of(*labelled())
    for criterion in (Criterion(total=1.0), Criterion(between=-1.0)):
        with pytest.raises(ValueError, match="expected between > 0 and total=0"):
            criterion.leading(plain)
    with pytest.raises(ValueError, match="expected sums of squares for variances"):
        Criterion(total=1.0).diagonal(plain)
