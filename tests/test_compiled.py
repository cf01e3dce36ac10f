"""Loops that numba compiles have the bits of plain NumPy or Python, which learn small data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from tests.cases import ALL, NUMERIC, STREAMED, bytes_of, labelled
from tests.inside import pretend

FORMS = np.asarray, csr_array, np.float32, lambda X: csr_array(X, dtype=np.float32)
BOTH = "loops are compiled", "loops are plain"


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse", "float32", "sparse float32"])
@pytest.mark.parametrize("case", [*ALL, *NUMERIC], ids=lambda case: case.name)
def test_plain_loops_have_the_bits_of_compiled_ones(case, form, monkeypatch):
    X, y = labelled(sparse=True)
    X = form(X) if case.takes_sparse else np.asarray(X, dtype=form(X).dtype)
    y = np.vander(np.unique(y, return_inverse=True)[1], 3) * 1.0 if case in NUMERIC else y
    learned = []
    for how in BOTH:
        pretend(monkeypatch, how)
        fitted = case.new().fit(X, y)
        if case in STREAMED:
            fitted.partial_fit(X[::-2], y[::-2])
        learned.append((bytes_of(fitted), fitted.transform(X)))
    (compiled, of_compiled), (plain, of_plain) = learned
    assert compiled == plain
    if issparse(of_plain):
        of_compiled, of_plain = of_compiled.toarray(), of_plain.toarray()
    np.testing.assert_array_equal(of_compiled, of_plain)
