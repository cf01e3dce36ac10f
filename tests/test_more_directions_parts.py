"""More directions than classes: the same from batches, parts and files as from one fit."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import LDA, Moments, Window, load, save
from narrows.engines import local
from tests.cases import arrays_of, assert_same
from tests.inside import fit_in_parts

CUTS = [0, 5, 5, 90, 100, 101, 250, 400]  # uneven, empty, of one sample, of one class
NAMES = np.array(["east", "north", "south", "west"])
TWELVE = [LDA(n_components=12, mu=mu) for mu in ("auto", "scale", 0.5)]


def samples(form=np.asarray):
    """Samples of four classes, sorted by class, of 20 features of which some vary more."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 100)
    X = rng.normal(size=(4, 20))[y] + rng.normal(size=(400, 20)) * np.linspace(0.5, 3, 20)
    if form is not np.asarray:
        X[rng.random(X.shape) < 0.6] = 0
    return form(X), NAMES[y]


def parts_of(X, y):
    return [(X[i:j], y[i:j]) for i, j in pairwise(CUTS)]


def from_batches(model, X, y):
    for rows, labels in parts_of(X, y):
        if len(labels):
            model.partial_fit(rows, labels)
    return model


def from_merge(model, X, y):
    others = [clone(model).fit(X[k::3], y[k::3]) for k in (1, 2)]
    return model.fit(X[::3], y[::3]).merge(*others)


def from_stats(model, X, y):
    stats = Moments.of(X[:150], y[:150], second="cross", keep=2000)
    return model.fit_moments(stats.update(X[150:], y[150:]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", TWELVE, ids=lambda model: f"mu={model.mu}")
@pytest.mark.parametrize(
    "learn",
    [
        from_batches,
        from_merge,
        from_stats,
        lambda model, X, y: local.fit(model, parts_of(X, y)),
        lambda model, X, y: fit_in_parts(model, parts_of(X, y), width=X.shape[1]),
    ],
    ids=["batches", "merge", "fit_moments", "local.fit", "engine"],
)
def test_every_way_of_learning_gives_the_twelve_directions_of_a_fit(learn, model, form):
    X, y = samples(form)
    once, found = clone(model).fit(X, y), learn(clone(model), X, y)
    assert found.components_.shape == (12, 20)
    assert np.linalg.matrix_rank(found.components_) == 12
    assert_same(found, once)
    assert found.mu_ == pytest.approx(once.mu_, rel=1e-12)
    np.testing.assert_allclose(found.predict_proba(X), once.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(found.transform(X), once.transform(X), atol=1e-9)


@pytest.mark.parametrize("model", TWELVE, ids=lambda model: f"mu={model.mu}")
def test_a_window_has_the_twelve_directions_of_its_samples(model):
    X, y = samples()
    order = np.random.default_rng(1).permutation(400)
    X, y, window = X[order], y[order], Window(model, samples=150)
    for rows in np.array_split(np.arange(400), 13):
        window.partial_fit(X[rows], y[rows])
    last = clone(model).fit(X[-150:], y[-150:])
    assert_same(window.estimator_, last)
    np.testing.assert_allclose(window.transform(X), last.transform(X), atol=1e-9)


def test_directions_are_added_as_samples_come():
    X, y = samples()
    model = clone(TWELVE[2]).partial_fit(X[:5], y[:5], classes=NAMES)
    assert not model.components_.any()  # of one class
    few = np.r_[5:8, 100:102]
    model.partial_fit(X[few], y[few])
    assert model.components_.any(axis=1).tolist() == [True] * 9 + [False] * 3
    assert model.transform(X).shape == (400, 12)
    rest = np.setdiff1d(np.arange(5, 400), few)
    assert_same(model.partial_fit(X[rest], y[rest]), LDA(n_components=12, mu=0.5).fit(X, y))


@pytest.mark.parametrize("d", [20, 9000])  # sums, and all samples at once
def test_a_model_file_has_them_to_the_bit(tmp_path, d):
    X, y = samples()
    X = np.random.default_rng(2).normal(size=(400, d)) if d > 20 else X
    model = LDA(n_components=12).fit(X, y)
    save(model, tmp_path / "m.narrows")
    again = load(tmp_path / "m.narrows")
    for name in ("components_", "eigenvalues_", "explained_variance_ratio_", "mu_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert arrays_of(again).keys() == arrays_of(model).keys()
    if d == 20:
        half = LDA(n_components=12).fit(X[::2], y[::2])
        save(half, tmp_path / "half.narrows")
        assert_same(load(tmp_path / "half.narrows").partial_fit(X[1::2], y[1::2]), model)


@pytest.mark.slow
@pytest.mark.parametrize("chunk_rows", [37, 1000])
def test_the_command_line_fits_updates_merges_and_applies_them(run, tmp_path, chunk_rows):
    X, y = samples()
    header = ",".join([*(f"x{k}" for k in range(20)), "label"])
    for name, rows in (("a", slice(0, None, 2)), ("b", slice(1, None, 2)), ("all", slice(None))):
        lines = [
            ",".join([*map(repr, x), c]) for x, c in zip(X[rows].tolist(), y[rows], strict=True)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    more = f"--method lda --n-components 12 --chunk-rows {chunk_rows}"
    for name in ("a", "b", "all"):
        status, out, err = run(f"fit {name}.csv {more} -o {name}.narrows")
        assert (status, err) == (0, "")
        assert "4 classes, 20 columns -> 12;" in out
    assert run("update a.narrows b.csv -o updated.narrows")[0] == 0
    assert run("merge a.narrows b.narrows -o merged.narrows")[0] == 0
    once = LDA(n_components=12).fit(X, y)
    for name in ("all", "updated", "merged"):
        assert_same(load(tmp_path / f"{name}.narrows"), once)
        assert run(f"transform {name}.narrows all.csv -o r.npz --chunk-rows {chunk_rows}")[0] == 0
        with np.load("r.npz") as archive:
            np.testing.assert_allclose(archive["X"], once.transform(X), atol=1e-9)
    assert run(f"predict all.narrows all.csv -o p.csv --chunk-rows {chunk_rows}")[0] == 0
    found = [line.split(",")[-1] for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    assert found == once.predict(X).tolist()
    shown = json.loads(run("info all.narrows --json")[1])
    assert shown["dimensions"] == 12
    shares = [direction["eigenvalue"] for direction in shown["top"]]
    np.testing.assert_allclose(shares, once.eigenvalues_)
    assert [len(direction["columns"]) for direction in shown["top"]] == [10] * 12
    assert shown["mu"] == pytest.approx(once.mu_)
    assert ["scatter" in direction for direction in shown["top"]] == [False] * 3 + [True] * 9
    text = run("info all.narrows --top 1")[1]
    assert text.count(", explained variance 0.") == 3
    assert text.count(", scatter within the classes\n") == 9
