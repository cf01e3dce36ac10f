"""The harness measures every method on a small problem; no time is asserted."""

from __future__ import annotations

import json

import pytest
from benchmarks import harness, performance
from benchmarks.methods import METHODS
from benchmarks.problems import PROBLEMS
from benchmarks.problems.dense import Embeddings
from benchmarks.problems.rcv1_like import RCV1Like


class Failing:
    name = "failing"

    def run(self, X, y):
        raise ValueError("as it should")


@pytest.mark.nightly
def test_every_method_runs_and_is_measured(tmp_path):
    lda = "LinearDiscriminantAnalysis"  # these take dense rows only, and the rest sparse ones
    dense = {"LDA", lda, f'{lda}("lsqr")', f'{lda}("eigen")', "Nystroem, RidgeClassifier"}
    methods = [method for name, method in METHODS.items() if name not in dense]
    problem = RCV1Like(rows=400, columns=300)
    results = harness.run(
        [Embeddings(400, 30, 5)], [METHODS[name] for name in dense], rounds=2, budget=60
    )
    results += harness.run([problem], [*methods, Failing()], rounds=2, budget=60)
    assert {result.method for result in results} == {*METHODS, "failing"}
    for result in results[:-1]:
        assert not result.skipped, result
        assert len(result.seconds) == len(result.cpu) == len(result.peak) == 2
    assert results[-1].skipped == "ValueError: as it should"
    text = harness.table(results, "chi2")
    assert all(name in text for name in METHODS)
    assert "skipped: ValueError: as it should" in text
    harness.save(results, tmp_path / "out" / "a.json")
    assert len(json.loads((tmp_path / "out" / "a.json").read_text())["results"]) == len(results)


def test_what_the_page_is_made_of_can_be_run():
    for problem, methods, base, _ in performance.SUITE:
        assert problem in PROBLEMS
        assert {base} <= set(methods) <= set(METHODS)
    run = {(problem, method) for problem, methods, *_ in performance.SUITE for method in methods}
    for target in performance.TARGETS:
        assert {(target.problem, method) for method in (target.base, *target.methods)} <= run
