"""Overlaps of selections."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from narrows import CHI, IG, OC, OCFS
from narrows.errors import ParameterError
from narrows.evaluate import selection_overlap
from tests.cases import labelled


def test_overlap_is_that_of_the_sets_of_best_columns():
    X, y = labelled(d=30, sparse=True)
    frame = pd.DataFrame(X, columns=[f"t{k}" for k in range(30)])
    fitted = {"a": OCFS().fit(frame, y), "b": IG().fit(frame, y), "c": CHI().fit(frame, y)}
    for p, overlap in zip((1, 5, 30), selection_overlap(fitted, [1, 5, 30]), strict=True):
        best = {
            name: {f"t{k}" for k in np.argsort(-e.scores_, kind="stable")[:p]}
            for name, e in fitted.items()
        }
        assert overlap.p == p
        assert overlap.names == ["a", "b", "c"]
        for i, one in enumerate("abc"):
            for j, other in enumerate("abc"):
                assert overlap.shared[i, j] == len(best[one] & best[other])
            others = set.union(*(best[other] for other in "abc" if other != one))
            assert set(overlap.only[one]) == best[one] - others
    assert len(selection_overlap(fitted, 5).only) == 3
    assert [overlap.p for overlap in selection_overlap(fitted, np.array([2, 3]))] == [2, 3]
    other = OCFS().fit(frame.iloc[:, ::-1], y)
    with pytest.raises(ParameterError, match="other names or another order"):
        selection_overlap({"a": fitted["a"], "b": other}, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: selection_overlap([a], 1), "at least two selectors with different names"),
        (lambda a, b: selection_overlap([a, a], 1), "at least two selectors with different names"),
        (lambda a, b: selection_overlap([a, OC()], 1), "expected selectors of narrows, got OC"),
        (lambda a, b: selection_overlap({"a": a, "b": b}, 1), "got 5 and 7 features"),
        (lambda a, b: selection_overlap({"a": a, "b": a}, 2.5), "p to be an integer from 1"),
        (lambda a, b: selection_overlap({"a": a, "b": a}, True), "p to be an integer from 1"),
        (lambda a, b: selection_overlap({"a": a, "b": a}, 8), "p to be an integer from 1"),
    ],
)
def test_what_cannot_be_compared(call, message):
    X, y = labelled()
    with pytest.raises(ParameterError, match=message):
        call(OCFS().fit(X, y), OCFS().fit(X[:, :5], y))
