"""Model files of earlier versions load, answer as they did, and learn more as they would have."""

from __future__ import annotations

import gzip
import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import narrows
from narrows import IDRQR, LDA, MMC, SRDA, KernelSRDA, OnlineSRDA
from narrows.command.cli import main
from narrows.errors import DataError
from tests.models_0_3_0.make import FILES, MODELS, RUNS, WHEN, answer, command_of, samples
from tests.test_forgery import rewritten

FOLDER = Path(__file__).parent / "models_0_3_0"


@cache
def arrays_of(name):
    return dict(np.load(FOLDER / f"{name}.npz"))


ANSWERED = [*(name for name in MODELS if name != "onlinesrda_softmax"), "origin"]
DISCRIMINANTS = SRDA, LDA, KernelSRDA, OnlineSRDA, IDRQR  # whose lengths were other ones


def assert_answers(estimator, X, key, rtol=1e-9):
    found, all_expected = answer(estimator, X), arrays_of("expected")
    names = {name.removeprefix(f"{key}/") for name in all_expected if name.startswith(f"{key}/")}
    assert {name for name in names if "/" not in name} == set(found)
    chosen = len(getattr(estimator, "alphas_", getattr(estimator, "mus_", ()))) > 0
    for name, array in found.items():
        if chosen and "predict" in name:  # kept samples improve the rule, since then
            continue
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


@pytest.mark.parametrize("name", ANSWERED)
@pytest.mark.filterwarnings("ignore:.*gains? margin")
def test_a_model_answers_as_it_did(name):
    made, kind, labels = MODELS.get(name, (None, False, "text"))
    X, y = samples(kind, labels)
    first, later = slice(len(y) * 2 // 3), slice(len(y) * 2 // 3, None)
    estimator = narrows.load(FOLDER / f"{name}.narrows")
    assert made is None or estimator.get_params() == made.get_params()
    rtol = 1e-5 if "float32" in str(kind) else 1e-9  # lengths of float32 samples are rounded
    if isinstance(estimator, KernelSRDA):  # hidden features, not used by then, are used now
        assert_close(estimator.transform(X), clone(made).fit(X[first], y[first]).transform(X))
        return
    assert_answers(estimator, X, name, rtol)
    if made is None:
        return
    if not hasattr(estimator, "partial_fit"):
        with pytest.raises(AttributeError, match="needs all samples at once"):
            estimator.partial_fit(X, y)
        return
    estimator.partial_fit(X[later], y[later])
    if name == "onlinesrda_default":  # all samples are stored, which it was not fitted to then
        assert estimator.score(X, y) >= clone(made).partial_fit(X, y).score(X, y) - 0.02
    elif name != "ilda":  # whose automatic gain is another since 0.4
        assert_answers(estimator, X, f"{name}/later", rtol)


@pytest.mark.parametrize("name", FILES)
def test_a_model_of_files_reads_them_as_it_did(name, tmp_path):
    path, data = FOLDER / f"{name}.narrows", FOLDER / FILES[name][0]
    output = str(tmp_path / "reduced.npz")
    assert main(["transform", str(path), str(data), "-o", output]) == 0
    found, expected = np.load(output), arrays_of(name)
    aside = isinstance(narrows.load(path), DISCRIMINANTS)
    assert set(found.files) == set(expected)
    for key in expected:
        assert_close(found[key], expected[key], lengths_aside=aside and key == "X")


@pytest.mark.parametrize("name", RUNS)
def test_an_interrupted_fit_goes_on(name, tmp_path, monkeypatch, capsys):
    data = RUNS[name][0]
    for file in (data, f"{name}.checkpoint"):
        shutil.copy(FOLDER / file, tmp_path)
    monkeypatch.chdir(tmp_path)
    os.utime(data, (WHEN, WHEN))
    assert main([*command_of(name), "--resume"]) == 0
    assert "narrows: resuming after " in capsys.readouterr().err
    assert main(["transform", "m.narrows", data, "-o", "reduced.npz"]) == 0
    whole, found = arrays_of("checkpoints"), np.load("reduced.npz")
    assert {key for key in whole if key.startswith(f"{name}/")} == {f"{name}/{k}" for k in found}
    aside = isinstance(narrows.load("m.narrows"), DISCRIMINANTS)
    for key in found.files:
        assert_close(found[key], whole[f"{name}/{key}"], lengths_aside=aside and key == "X")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("srda_bands.narrows", r"0\.3 with solver='bands'"),
        ("svm_bands.checkpoint", r"0\.3 with solver='bands'"),
        ("onlinesrda_softmax.narrows", r"0\.3 with loss='softmax'"),
        ("of_0_2_0.narrows", r"0\.2\.0"),
    ],
)
def test_models_that_cannot_go_on_are_refused(name, said, tmp_path, capsys):
    with pytest.raises(DataError, match=rf"made by narrows {said}\. Fit again"):
        narrows.load(FOLDER / name)
    data, output = str(FOLDER / "a.svm"), str(tmp_path / "z.npz")
    assert main(["transform", str(FOLDER / name), data, "-o", output]) != 0
    assert "Fit again" in capsys.readouterr().err


@pytest.mark.parametrize("method", [SRDA, MMC])
def test_a_state_of_bands_is_refused_whatever_the_solver(method, tmp_path):
    """Wide files had one by default, perhaps in the first of two passes."""
    path, y = str(tmp_path / "m"), np.arange(9) % 3
    model = method(1).fit(np.random.default_rng(0).normal(size=(9, 4)), y)
    in_first_pass = {"state.squares_total": np.ones(4), "state.cross_width": None}
    for arrays in ({"state.map_band": np.zeros(4, np.int32)}, in_first_pass):
        narrows.save(model, path)
        rewritten(path, arrays, format=1)
        with pytest.raises(DataError, match=r"made by narrows 0\.3 with .*Fit again"):
            narrows.load(path)


def test_a_selection_from_many_features_goes_on(tmp_path):
    """Its sums were those of a map with one more coordinate; 0.3.0 selected these features."""
    path = tmp_path / "m.narrows"
    path.write_bytes(gzip.decompress((FOLDER / "forwardfs_wide.narrows.gz").read_bytes()))
    model = narrows.load(path)
    assert model.get_support(indices=True).tolist() == [0, 20, 795, 5060, 5480, 8578]
    assert (model.n_features_in_, model.n_samples_seen_) == (9000, 400)
    before, X = model.scores_, sparse.csr_array((10, 9000))
    assert model.partial_fit(X, ["none"] * 10).n_samples_seen_ == 410
    assert (model.scores_ != before).any()
