"""The harness measures every method on a small problem; no time is asserted."""

from __future__ import annotations

import json

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.problems.rcv1_like import RCV1Like


class Failing:
    name = "failing"

    def run(self, X, y):
        raise ValueError("as it should")


def test_every_method_runs_and_is_measured(tmp_path):
    problem = RCV1Like(rows=400, columns=300)
    methods = [method() for method in METHODS.values()]
    results = harness.run([problem], [*methods, Failing()], rounds=2, budget=60)
    assert [result.method for result in results] == [*METHODS, "failing"]
    for result in results[:-1]:
        assert not result.skipped, result
        assert len(result.seconds) == len(result.cpu) == len(result.peak) == 2
    assert results[-1].skipped == "ValueError: as it should"
    text = harness.table(results, "chi2")
    assert all(name in text for name in METHODS)
    assert "skipped: ValueError: as it should" in text
    harness.save(results, tmp_path / "out" / "a.json")
    assert len(json.loads((tmp_path / "out" / "a.json").read_text())["results"]) == len(results)


def test_the_generator_is_seeded_and_shaped_like_text():
    X, y = RCV1Like(rows=300, columns=1000).load()
    again, _ = RCV1Like(rows=300, columns=1000).load()
    assert (X != again).nnz == 0
    assert X.shape == (300, 1000)
    assert set(y) == {0, 1, 2, 3}
    assert X.has_canonical_format
