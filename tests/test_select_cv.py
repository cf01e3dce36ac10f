"""n_features="cv": the held-out scores of a state with folds, and the size that they choose."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from narrows import (
    CHI,
    DF,
    IG,
    MI,
    MMCFS,
    OC,
    OCFS,
    FisherFS,
    Moments,
    VarianceFS,
    Window,
    load,
    save,
)  # fmt: skip
from narrows.errors import ParameterError
from narrows.evaluate import EnergyDisplay, compare
from narrows.testing import check_method
from tests.conftest import slow
from tests.inside import fit_in_parts, folds_of
from tests.oracles import held_out
from tests.solvers import Curve

METHODS = {
    OCFS: held_out.Spread(),
    FisherFS: held_out.Ratio(),
    IG: held_out.Information(),
    CHI: held_out.ChiSquared(),
}
WITH_CV = pytest.mark.parametrize("method", METHODS)


def samples(n=83, d=12, c=3, seed=0, rare=False):
    """Samples of which a few features distinguish the classes; some values are 0."""
    rng = np.random.default_rng(seed)
    y = np.array(["ant", "bee", "cat", "dog"])[:c][rng.integers(0, c, n)]
    if rare:
        y[[3, 41]] = "eel"  # the folds 3 and 1 only
        y[12] = "fly"  # fold 2 only: the other folds lack it
    X = rng.normal(1, 1, (n, d)) * (rng.random((n, d)) < 0.5)
    code = np.unique(y, return_inverse=True)[1]
    for f in range(d // 3):  # each is present in most samples of one class
        has = rng.random(n) < np.where(code == f % c, 0.9, 0.3)
        X[:, f] = has * rng.normal(2, 0.5, n)
    X[:, d - 1] = 1.0
    X[:, d - 2] = 0.0
    X[7, d - 2] = 2.0  # varies in one fold only
    return X, y


def assert_as(fitted, expected, rtol=1e-9):
    scores, errors, size = expected
    np.testing.assert_allclose(fitted.held_out_scores_, scores, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(fitted.held_out_errors_, errors, rtol=rtol, atol=1e-12)
    assert fitted.n_features_ == size
    np.testing.assert_array_equal(np.sort(fitted.ranking_[:size]), fitted.get_support(indices=True))


@WITH_CV
@pytest.mark.parametrize("priors", ["empirical", "sqrt", "balanced", [0.5, 0.2, 0.1, 0.1, 0.1]])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_curve_and_the_choice_are_those_of_refitting_on_every_fold(method, priors, form):
    X, y = samples(rare=True)
    fitted = method(n_features="cv", priors=priors).fit(form(X), y)
    assert_as(fitted, held_out.curve(METHODS[method], X, y, priors=priors))


@WITH_CV
def test_weights_weigh_samples_and_folds(method):
    X, y = samples(n=60)
    weight = np.random.default_rng(1).random(60) * (np.arange(60) % 7 > 0)
    fitted = method(n_features="cv").fit(X, y, weight)
    assert_as(fitted, held_out.curve(METHODS[method], X, y, weight))


@pytest.mark.parametrize("method", [OCFS, FisherFS])
def test_an_offset_changes_nothing(method):
    X, y = samples()
    near, far = (method(n_features="cv").fit(np.round(X, 3) + by, y) for by in (0.0, 1e8))
    np.testing.assert_allclose(far.held_out_scores_, near.held_out_scores_, rtol=1e-6, atol=1e-7)
    assert far.n_features_ == near.n_features_


@pytest.mark.parametrize("method", [OCFS, FisherFS])
@pytest.mark.parametrize("unit", [2.0**-480, 2.0**480])
def test_units_change_nothing(method, unit):
    X, y = samples()
    expected, fitted = (method(n_features="cv").fit(X * by, y) for by in (1.0, unit))
    by = unit**2 if method is OCFS else 1.0
    np.testing.assert_array_equal(fitted.held_out_scores_, expected.held_out_scores_ * by)
    np.testing.assert_array_equal(fitted.held_out_errors_, expected.held_out_errors_ * by)
    assert fitted.n_features_ == expected.n_features_


@WITH_CV
def test_batches_change_nothing(method):
    X, y = samples()
    whole, parts = (method(n_features="cv") for _ in range(2))
    whole.fit(X, y)
    for rows in np.split(np.arange(len(y)), [1, 1, 8, 40, 41]):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.held_out_scores_, whole.held_out_scores_, rtol=1e-9)
    np.testing.assert_allclose(parts.held_out_errors_, whole.held_out_errors_, rtol=1e-9)
    assert parts.n_features_ == whole.n_features_


def moments(method, X, y, weight=None):
    """The moments that a method needs."""
    X = (X != 0).astype(float) if method in (IG, CHI) else X
    return Moments.of(X, y, weight, second=method().fit(X, y).moments_.second)


@WITH_CV
def test_merged_folds_are_those_of_their_samples(method):
    """The samples of each part are numbered from 0 on."""
    X, y = samples(n=90)
    parts = [method(n_features="cv").fit(X[s], y[s]) for s in (slice(0, 33), slice(33, 90))]
    merged = parts[0].merge(parts[1])
    number = np.r_[np.arange(33), np.arange(57)] % 5
    for k, fold in enumerate(folds_of(merged)):
        expected = moments(method, X[number == k], y[number == k])
        np.testing.assert_allclose(fold.sums, expected.sums, atol=1e-12)
    tens = [method(n_features="cv").fit(X[s], y[s]) for s in (slice(0, 40), slice(40, 90))]
    assert_as(tens[0].merge(tens[1]), held_out.curve(METHODS[method], X, y))


@WITH_CV
def test_files_keep_the_choice_and_go_on(method, tmp_path):
    X, y = samples()
    weight = np.random.default_rng(1).random(len(y))  # without ties
    first = method(n_features="cv").fit(X[:50], y[:50], weight[:50])
    save(first, tmp_path / "a.narrows")
    loaded = load(tmp_path / "a.narrows")
    np.testing.assert_array_equal(loaded.held_out_scores_, first.held_out_scores_)
    loaded.partial_fit(X[50:], y[50:], weight[50:])
    assert_as(loaded, held_out.curve(METHODS[method], X, y, weight))


@WITH_CV
def test_parts_of_a_data_set_are_merged_fold_by_fold(method):
    X, y = samples(n=90)
    cuts = [0, 20, 20, 65, 90]
    parts = [(X[i:j], y[i:j]) for i, j in pairwise(cuts)]
    fitted = fit_in_parts(method(n_features="cv"), parts)
    assert_as(fitted, held_out.curve(METHODS[method], X, y))  # multiples of 5


@pytest.mark.parametrize("size", [37, 60, 200])
def test_a_window_has_the_folds_of_its_samples(size):
    X, y = samples(n=200)
    window = Window(OCFS(n_features="cv"), size)
    for rows in np.split(np.arange(200), [7, 50, 120]):
        window.partial_fit(X[rows], y[rows])
    assert_as(window.estimator_, held_out.curve(METHODS[OCFS], X[-size:], y[-size:]))


@pytest.mark.nightly
@pytest.mark.parametrize("method", [OCFS, slow(FisherFS), slow(IG), slow(CHI)])
def test_laws(method):
    failing = dict.fromkeys(
        ("merge", "weights", "multi_label", "sample_order"),
        "the fold of a sample is its number modulo 5",
    )
    if method is not OCFS:
        failing["never_dense"] = "five states of few samples"
    if method in (IG, CHI):
        failing["offset"] = "counts presence"
    check_method(method(n_features="cv"), expected_to_fail=failing, n_draws=2)


def test_a_half_life_weighs_the_samples_of_all_folds():
    X, y = samples()
    age = np.arange(len(y))[::-1]
    for method, oracle in METHODS.items():
        fitted = method(n_features="cv", half_life=20.0).partial_fit(X[:30], y[:30])
        fitted.partial_fit(X[30:], y[30:])
        assert_as(fitted, held_out.curve(oracle, X, y, 0.5 ** (age / 20)))


@WITH_CV
def test_any_number_of_folds_is_accepted(method):
    X, y = samples()
    weight = np.random.default_rng(1).random(len(y))  # without ties
    folds = [moments(method, X[k::3], y[k::3], weight[k::3]) for k in range(3)]
    fitted = method(n_features="cv").fit_moments(folds)
    assert_as(fitted, held_out.curve(METHODS[method], X, y, weight, K=3))
    np.testing.assert_allclose(
        method().fit_moments(folds).scores_, method().fit(X, y, weight).scores_
    )
    with pytest.raises(ParameterError, match=r"^expected .*moments of folds"):
        method(n_features="cv").fit_moments(moments(method, X, y))


def test_several_labels_a_sample():
    X, y = samples()
    Y = np.c_[y == "ant", y == "bee", y == "cat", X[:, 0] > 1].astype(int)
    pairs = np.argwhere(Y)
    fitted = OCFS(n_features="cv").fit(X, Y)
    assert fitted.held_out_scores_.shape == (12,)
    scores, _, _ = curve_of_pairs(X, pairs)
    np.testing.assert_allclose(fitted.held_out_scores_, scores, rtol=1e-9, atol=1e-12)


def curve_of_pairs(X, pairs):
    """The fold of a pair is that of its sample."""
    blocks = [pairs[pairs[:, 0] % 5 == k] for k in range(5)]
    most = max(map(len, blocks))
    rows, weight = [], []
    for i in range(most):  # padded with samples of weight 0
        for block in blocks:
            rows.append(block[min(i, len(block) - 1)])
            weight.append(float(i < len(block)))
    rows = np.array(rows)
    return held_out.curve(held_out.Spread(), X[rows[:, 0]], rows[:, 1], weight)


def test_without_cv_there_are_no_held_out_scores():
    X, y = samples()
    fitted = OCFS(n_features=3).fit(X, y)
    assert fitted.held_out_scores_.shape == fitted.held_out_errors_.shape == (0,)
    assert len(folds_of(fitted)) == 1
    assert not hasattr(DF().fit(X, y), "held_out_scores_")


def test_a_fitted_selector_can_change_to_cv_if_it_has_folds():
    X, y = samples()
    fitted = OCFS(n_features="cv").fit(X, y)
    size = fitted.n_features_
    assert fitted.set_params(n_features=2).n_features_ == 2
    assert fitted.set_params(n_features="cv").n_features_ == size
    plain = OCFS(n_features=2).fit(X, y).set_params(n_features="cv")
    with pytest.raises(ParameterError, match="expected moments of folds"):
        _ = plain.n_features_


@pytest.mark.parametrize("method", [MMCFS, VarianceFS, DF, MI])
def test_methods_without_a_held_out_score_refuse(method):
    X, y = samples()
    with pytest.raises(ParameterError, match=r'expected .n_features. .*got "cv"'):
        method(n_features="cv").fit(X, y)


def test_wrong_words_and_too_few_samples():
    X, y = samples()
    with pytest.raises(
        ParameterError, match="expected `n_features` to be a number or \"cv\", got 'best'"
    ):
        OCFS(n_features="best").fit(X, y)
    with pytest.raises(ParameterError, match='optimum="trace_ratio", got "cv"'):
        FisherFS(n_features="cv", optimum="trace_ratio").fit(X, y)
    with pytest.raises(ParameterError, match="at most one of"):
        OCFS(n_features="cv", energy=0.5).fit(X, y)
    with pytest.raises(ValueError, match="expected samples of positive weight in"):
        OCFS(n_features="cv").fit(X[:4], ["a", "b", "a", "b"])
    stream = OCFS(n_features="cv").partial_fit(X[:4], y[:4])
    with pytest.raises(ValueError, match="got 4 samples, and none in one of the folds"):
        _ = stream.n_features_
    assert stream.partial_fit(X[4:], y[4:]).n_features_ > 0


@WITH_CV
def test_features_that_distinguish_no_held_out_samples_are_warned_of(method):
    """The other folds say the contrary of each fold, or nothing."""
    i = np.arange(50)
    y = i // 5 % 2
    X = np.c_[y ^ (i % 5 > 1), y ^ (i % 5 > 2), y ^ (i % 5 < 2)].astype(float)
    with pytest.warns(UserWarning, match="expected a positive held-out score") as caught:
        fitted = method(n_features="cv").fit(X, y)
    assert fitted.n_features_ == 1
    assert len(caught) == 1
    assert fitted.held_out_scores_.max() <= 0


def test_the_smallest_size_within_one_standard_error():
    curves = np.array([[1.0, 2.0, 2.4, 2.2], [1.0, 2.2, 2.8, 2.0]])
    curve = Curve.of_folds(curves, np.ones(2))
    np.testing.assert_allclose(curve.scores, [1.0, 2.1, 2.6, 2.1])
    np.testing.assert_allclose(curve.errors, np.std(curves, axis=0, ddof=1) / np.sqrt(2))
    assert curve.smallest() == 3
    assert replace(curve, errors=curve.errors + 0.5).smallest() == 2


def test_the_elbow_is_the_bend_or_nine_tenths_of_the_best_score():
    few = 1 - 0.5 ** np.arange(1, 101.0)  # bends where a feature adds 1 %
    curve = Curve.of_folds(np.array([few, few]), np.ones(2))
    assert (curve.elbow(), curve.smallest()) == (6, 54)
    assert replace(curve, errors=np.full(100, 0.3)).elbow() == 2  # within one standard error
    line = np.arange(1, 101.0)
    assert Curve.of_folds(np.array([line, line]), np.ones(2)).elbow() == 90
    assert Curve.of_folds(np.array([-line, -line]), np.ones(2)).elbow() == 1


@pytest.mark.slow
def test_the_display_shows_the_curve_and_the_choice():
    pytest.importorskip("matplotlib")
    X, y = samples()
    fitted = OCFS(n_features="cv").fit(X, y)
    display = EnergyDisplay.from_estimator(fitted)
    _, _, curve, point, line = display.ax_.lines
    share = fitted.held_out_scores_ / fitted.held_out_scores_.max()
    np.testing.assert_allclose(curve.get_ydata(), share)
    assert point.get_xdata()[0] == line.get_xdata()[0] == fitted.n_features_
    assert point.get_ydata()[0] == share[fitted.n_features_ - 1]
    assert "held-out score / best" in [t.get_text() for t in display.ax_.get_legend().get_texts()]


@pytest.mark.slow
def test_comparisons_give_each_method_the_state_it_needs():
    X, y = samples()
    lines = compare(X, y, [OCFS(n_features="cv"), OCFS(), "ig", "oc"], [1, 2], ["svm"], cv=2)
    assert not [line for line in lines if line.skipped]
    [chosen] = [line for line in lines if line.method == "OCFS(n_features='cv')"]  # its own size
    splits = StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)
    sizes = [OCFS(n_features="cv").fit(X[train], y[train]).n_features_ for train, _ in splits]
    assert chosen.dimensions == max(sizes)


def test_a_method_that_chooses_nothing_has_no_folds():
    assert len(folds_of(OC().fit(*samples()))) == 1


def test_the_command_line(run):
    X, y = samples()
    lines = [",".join(["class", *(f"x{k}" for k in range(X.shape[1]))])]
    lines += [",".join([label, *map(repr, row)]) for label, row in zip(y, X.tolist(), strict=True)]
    half = 1 + len(y) // 2
    files = {"a__csv": "\n".join(lines[:half]), "b__csv": "\n".join([lines[0], *lines[half:]])}
    assert run("fit a.csv --method ocfs --n-features cv -o a.narrows", **files)[0] == 0
    assert run("update a.narrows b.csv -o ab.narrows")[0] == 0
    _, _, size = held_out.curve(held_out.Spread(), X, y)
    found = json.loads(run("info ab.narrows --json")[1])
    assert found["dimensions"] == size
    assert found["parameters"]["n_features"] == "cv"
    assert run("fit a.csv b.csv --method ocfs --n-features cv -o both.narrows")[0] == 0
    assert json.loads(run("info both.narrows --json")[1])["dimensions"] == size
    assert f"-> {size}" in run("info ab.narrows")[1]
    assert run("transform ab.narrows b.csv -o b.npz")[0] == 0
    code, _, error = run("fit a.csv --method mmcfs --n-features cv -o m.narrows")
    assert code == 2
    assert "expected --n-features to be a number" in error
