"""The tables of the documentation have studies, and what studies compute is right."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.studies import STUDIES
from benchmarks.studies.calibration import calibration_error
from benchmarks.studies.corpora import Split
from benchmarks.studies.offsets import ADDED, _moved
from benchmarks.studies.online import reservoir
from benchmarks.studies.tables import markdown, middle

DOCS = Path(__file__).parents[1] / "docs"


def test_every_table_of_the_documentation_has_a_study():
    pages = [page.read_text() for page in DOCS.glob("*.md")]
    names = {name for page in pages for name in re.findall(r"<!-- study (.+) -->", page)}
    assert names <= set(STUDIES)


def test_figures_have_three_decimals():
    table = markdown(["set", "score", "samples"], [["digits", 0.8664, 1797], ["all", 1.0, 3]])
    assert table.splitlines()[2:] == ["| digits | 0.866 | 1,797 |", "| all | 1.000 | 3 |"]
    assert middle([0.5, 0.25, 1.0]) == "0.500 (0.250 to 1.000)"
    assert middle([0.5, 0.5001, 0.4999]) == "0.500"


def test_calibration_error_is_the_gap_of_confidence_and_accuracy():
    right = np.array([True, True, True, False])
    assert calibration_error(np.full(4, 0.75), right) == 0.0
    assert calibration_error(np.full(4, 0.95), right) == pytest.approx(0.2)
    confidence = np.array([1.0, 1.0, 0.5, 0.5])  # the last bin includes 1
    assert calibration_error(confidence, np.array([True, True, True, True])) == 0.25


def test_calibration_error_vanishes_for_true_probabilities():
    random = np.random.default_rng(0)
    confidence = random.uniform(0.3, 1.0, 200_000)
    assert calibration_error(confidence, random.uniform(size=200_000) < confidence) < 0.01


def test_reservoirs_are_the_default_and_a_tenth():
    assert reservoir("2,000", 300) == 2000
    assert [reservoir("n/10", n) for n in (100, 5000)] == [20, 500]


def test_offsets_are_the_same_for_samples_learned_and_held_out():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 4)) * [1.0, 2.0, 3.0, 0.0], np.arange(30) % 3
    for added, by in zip(ADDED, (0.0, 1000.0, 100 * X[:20].std(axis=0)), strict=True):
        moved = _moved(Split(X[:20], y[:20], X[20:], y[20:]), added)
        np.testing.assert_allclose(moved.X, X[:20] + by)
        np.testing.assert_allclose(moved.X_test, X[20:] + by)
