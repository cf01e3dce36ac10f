"""Model files of version 0.2.0 load, answer as they did, and learn more as they would have."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import narrows
from narrows import LDA, SRDA
from narrows.command.cli import main
from tests.cases import NUMERIC_METHODS
from tests.models_0_2_0.make import FILES, MODELS, answer, samples
from tests.models_0_2_0.make_checkpoints import RUNS, WHEN, command_of

FOLDER = Path(__file__).parent / "models_0_2_0"
EXPECTED, CHECKPOINTS = (np.load(FOLDER / f"{name}.npz") for name in ("expected", "checkpoints"))
# that were other ones: a model keeps those it was fitted with
OLD_DEFAULTS = {"lda": {"mu": 0.5}, "lda_gsvd": {"mu": 0.5}}


def assert_answers(estimator, X, key, rtol=1e-9):
    found = answer(estimator, X)
    names = {name.removeprefix(f"{key}/") for name in EXPECTED.files if name.startswith(f"{key}/")}
    assert {name for name in names if "/" not in name} == set(found)
    for name, array in found.items():
        expected = EXPECTED[f"{key}/{name}"]
        if array.dtype.kind == "f":
            scale = np.abs(expected).max(initial=0.0)
            np.testing.assert_allclose(array, expected, rtol=rtol, atol=rtol * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(array, expected, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*gains? margin")
def test_a_model_of_0_2_0_answers_as_it_did(name):
    made, kind, labels = MODELS[name]
    X, y = samples(kind, labels)
    estimator = narrows.load(FOLDER / f"{name}.narrows")
    assert estimator.get_params() == made.get_params() | OLD_DEFAULTS.get(name, {})
    # 0.2.0 multiplied many float32 samples in single precision
    rtol = 1e-5 if kind == "many float32" else 1e-9
    assert_answers(estimator, X, name, rtol)
    if hasattr(estimator, "partial_fit"):
        later = slice(len(y) * 2 // 3, None)
        assert_answers(estimator.partial_fit(X[later], y[later]), X, f"{name}/later", rtol)
    elif type(estimator) in (SRDA, LDA):
        with pytest.raises(AttributeError, match="needs all samples at once"):
            estimator.partial_fit(X, y)


def test_a_state_about_an_origin_answers_as_it_did():
    X, _ = samples(False, "text")
    assert_answers(narrows.load(FOLDER / "origin.narrows"), X, "origin")


@pytest.mark.parametrize("name", FILES)
def test_a_model_of_files_reads_them_as_it_did(name, tmp_path):
    data, _ = FILES[name]
    output = str(tmp_path / "reduced.npz")
    model = str(FOLDER / f"{name}.narrows")
    assert main(["transform", model, str(FOLDER / data), "-o", output]) == 0
    found, expected = np.load(output), np.load(FOLDER / f"{name}.npz")
    assert set(found.files) == set(expected.files)
    for key in expected.files:
        if expected[key].dtype.kind == "f":
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(found[key], expected[key])


@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_fit_goes_on(name, tmp_path, monkeypatch, capsys):
    data = RUNS[name][0]
    for each in (data, f"{name}.checkpoint"):
        shutil.copy(FOLDER / each, tmp_path)
    monkeypatch.chdir(tmp_path)
    os.utime(data, (WHEN, WHEN))
    assert main([*command_of(name), "--resume"]) == 0
    assert "narrows: resuming after " in capsys.readouterr().err
    assert main(["transform", "m.narrows", data, "-o", "reduced.npz"]) == 0
    whole = {key: array for key, array in CHECKPOINTS.items() if key.startswith(f"{name}/")}
    found = np.load("reduced.npz")
    assert set(whole) == {f"{name}/{key}" for key in found.files}
    for key in found.files:
        expected = whole[f"{name}/{key}"]
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found[key], expected, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(found[key], expected)


def test_every_method_has_a_model():
    made = {type(estimator).__name__ for estimator, *_ in MODELS.values()}
    later = {"Window", "ForwardFS", *NUMERIC_METHODS}
    assert made == {n for n in narrows.__all__ if hasattr(getattr(narrows, n), "fit")} - later


def test_an_old_model_keeps_samples_by_default_and_drops_them_if_asked(tmp_path):
    srda = narrows.load(FOLDER / "srda.narrows")
    assert (srda.keep, srda.stats_.n_held > 0) == (2000, True)
    narrows.save(srda.set_params(keep=0), tmp_path / "m")
    assert narrows.load(tmp_path / "m").stats_.n_held == 0
