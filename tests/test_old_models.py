"""Model files of earlier versions load, answer as they did, and learn more as they would have."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import narrows
from narrows import IDRQR, LDA, SRDA, KernelSRDA, OnlineSRDA
from narrows.command.cli import main
from narrows.errors import DataError
from tests.cases import NUMERIC_METHODS
from tests.models_0_2_0 import make as of_0_2_0
from tests.models_0_2_0.make import answer, samples
from tests.models_0_2_0.make_checkpoints import RUNS, WHEN, command_of
from tests.models_0_3_0 import make as of_0_3_0

FOLDERS = {
    version: Path(__file__).parent / f"models_{version.replace('.', '_')}"
    for version in ("0.2.0", "0.3.0")
}
MODELS = {"0.2.0": of_0_2_0.MODELS, "0.3.0": of_0_3_0.MODELS}
FILES = {"0.2.0": of_0_2_0.FILES, "0.3.0": of_0_3_0.FILES}
CHECKPOINTS = {"0.2.0": RUNS, "0.3.0": of_0_3_0.RUNS}
# that were other ones: a model keeps those it was fitted with
OLD_DEFAULTS = {("0.2.0", "lda"): {"mu": 0.5}, ("0.2.0", "lda_gsvd"): {"mu": 0.5}}


@cache
def arrays_of(version, name):
    return dict(np.load(FOLDERS[version] / f"{name}.npz"))


def each(of):
    """Cases: each version with each name of its models, files or checkpoints."""
    return pytest.mark.parametrize(
        ("version", "name"), [(version, name) for version, names in of.items() for name in names]
    )


DISCRIMINANTS = SRDA, LDA, KernelSRDA, OnlineSRDA, IDRQR  # whose lengths were other ones


def assert_answers(estimator, X, version, key, rtol=1e-9):
    found, all_expected = answer(estimator, X), arrays_of(version, "expected")
    names = {name.removeprefix(f"{key}/") for name in all_expected if name.startswith(f"{key}/")}
    assert {name for name in names if "/" not in name} == set(found)
    for name, array in found.items():
        expected = all_expected[f"{key}/{name}"]
        aside = name == "transform" and isinstance(estimator, DISCRIMINANTS)
        assert_close(array, expected, rtol, name, aside)


def assert_close(found, expected, rtol=1e-9, name="", lengths_aside=False):
    if lengths_aside:
        found, expected = map(of_length_one, (found, expected))
    if expected.dtype.kind == "f":
        atol = rtol * np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=name)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=name)


def of_length_one(Z):
    """Columns of length 1."""
    length = np.linalg.norm(Z.astype(float), axis=0)
    return (Z / np.where(length > 0, length, 1.0)).astype(Z.dtype)


@each(MODELS)
@pytest.mark.filterwarnings("ignore:.*gains? margin")
def test_a_model_answers_as_it_did(version, name):
    made, kind, labels = MODELS[version][name]
    X, y = samples(kind, labels)
    if name == "onlinesrda_softmax":
        with pytest.raises(
            DataError, match=r"made by narrows 0\.3 with loss='softmax'\. Fit again"
        ):
            narrows.load(FOLDERS[version] / f"{name}.narrows")
        return
    estimator = narrows.load(FOLDERS[version] / f"{name}.narrows")
    assert estimator.get_params() == made.get_params() | OLD_DEFAULTS.get((version, name), {})
    # 0.2.0 multiplied many float32 samples in single precision; of few, other lengths are rounded
    rtol = 1e-5 if "float32" in str(kind) else 1e-9
    if isinstance(estimator, KernelSRDA):  # hidden features, not used by then, are used now
        first = slice(len(y) * 2 // 3)
        assert_close(estimator.transform(X), clone(made).fit(X[first], y[first]).transform(X))
        return
    assert_answers(estimator, X, version, name, rtol)
    if hasattr(estimator, "partial_fit"):
        later = slice(len(y) * 2 // 3, None)
        estimator.partial_fit(X[later], y[later])
        assert_answers(estimator, X, version, f"{name}/later", rtol)
    elif type(estimator) in (SRDA, LDA):
        with pytest.raises(AttributeError, match="needs all samples at once"):
            estimator.partial_fit(X, y)


@pytest.mark.parametrize("version", FOLDERS)
def test_a_state_about_an_origin_answers_as_it_did(version):
    X, _ = samples(False, "text")
    assert_answers(narrows.load(FOLDERS[version] / "origin.narrows"), X, version, "origin")


@each(FILES)
def test_a_model_of_files_reads_them_as_it_did(version, name, tmp_path):
    data, _ = FILES[version][name]
    output, folder = str(tmp_path / "reduced.npz"), FOLDERS[version]
    assert (
        main(["transform", str(folder / f"{name}.narrows"), str(folder / data), "-o", output]) == 0
    )
    found, expected = np.load(output), arrays_of(version, name)
    aside = isinstance(narrows.load(folder / f"{name}.narrows"), DISCRIMINANTS)
    assert set(found.files) == set(expected)
    for key in expected:
        assert_close(found[key], expected[key], lengths_aside=aside and key == "X")


@each(CHECKPOINTS)
def test_an_interrupted_fit_goes_on(version, name, tmp_path, monkeypatch, capsys):
    data = CHECKPOINTS[version][name][0]
    for file in (data, f"{name}.checkpoint"):
        shutil.copy(FOLDERS[version] / file, tmp_path)
    monkeypatch.chdir(tmp_path)
    os.utime(data, (WHEN, WHEN))
    assert main([*command_of(name, CHECKPOINTS[version]), "--resume"]) == 0
    assert "narrows: resuming after " in capsys.readouterr().err
    assert main(["transform", "m.narrows", data, "-o", "reduced.npz"]) == 0
    whole, found = arrays_of(version, "checkpoints"), np.load("reduced.npz")
    assert {key for key in whole if key.startswith(f"{name}/")} == {f"{name}/{k}" for k in found}
    aside = isinstance(narrows.load("m.narrows"), DISCRIMINANTS)
    for key in found.files:
        assert_close(found[key], whole[f"{name}/{key}"], lengths_aside=aside and key == "X")


def test_every_method_has_a_model():
    later = {"Window"}  # cannot be saved
    for version, without in (("0.2.0", {*later, "ForwardFS", *NUMERIC_METHODS}), ("0.3.0", later)):
        made = {type(estimator).__name__ for estimator, *_ in MODELS[version].values()}
        methods = {n for n in narrows.__all__ if hasattr(getattr(narrows, n), "fit")}
        assert made == methods - without


def test_an_old_model_keeps_samples_by_default_and_drops_them_if_asked(tmp_path):
    srda = narrows.load(FOLDERS["0.2.0"] / "srda.narrows")
    assert (srda.keep, srda.stats_.n_held > 0) == (2000, True)
    narrows.save(srda.set_params(keep=0), tmp_path / "m")
    assert narrows.load(tmp_path / "m").stats_.n_held == 0
