"""Compile the loops that the tests need, once: ``python -m tests.compiled``.

Several workers that start together would each compile them.
"""

from __future__ import annotations

import io
from contextlib import suppress
from types import SimpleNamespace
from unittest import mock

import pytest
from scipy.sparse import csr_array

from narrows.read import iter_chunks
from narrows.testing import checks
from tests.cases import ALL, labelled
from tests.inside import pretend

FORMS = {"batching", "float32", "transform", "untidy_sparse"}  # dense and sparse, of any type

if __name__ == "__main__":
    pretend(pytest.MonkeyPatch(), "loops are compiled")
    for case in ALL:
        for law, check in checks(case.estimator, n_draws=3):
            if law in FORMS:
                with suppress(*[AssertionError] * (law in case.expected_to_fail)):
                    check()
        if hasattr(case.estimator, "transform_while_learning"):
            X, y = labelled(sparse=True)
            for rows in (X, csr_array(X)):
                case.new().partial_fit(rows, y).transform_while_learning(rows, y)
    rows = io.BufferedReader(io.BytesIO(b"1 1:0.5 2:1e3\n1,2 3:1\n"))
    with mock.patch("sys.stdin", SimpleNamespace(buffer=rows)):
        list(iter_chunks("-", zero_based=False))
