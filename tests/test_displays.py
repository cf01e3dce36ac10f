"""Pictures: what is on the axes, and names that are hostile."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.datasets import load_digits

from narrows import OC, OCFS, FisherFS, ForwardFS
from narrows.errors import ParameterError
from narrows.evaluate import (
    ComparisonDisplay,
    EnergyDisplay,
    GainDisplay,
    ScatterDisplay,
    compare,
)
from tests.cases import labelled

pytest.importorskip("matplotlib")
HOSTILE = ["<script>alert(1)</script>", "$x_1", "a" * 300, "\u202eright to left", "line\nend"]


def new_axes():
    return pytest.importorskip("matplotlib.figure").Figure().subplots()


def test_classes_are_drawn_where_they_are():
    X, y = labelled(c=4)
    oc = OC().fit(X, y)
    display = ScatterDisplay.from_estimator(oc, X, y)
    drawn = np.vstack([np.asarray(part.get_offsets()) for part in display.ax_.collections])
    order = np.argsort(y, kind="stable")
    np.testing.assert_allclose(drawn, oc.transform(X)[order][:, :2])
    names = {text.get_text(): text.get_position() for text in display.ax_.texts}
    assert list(names) == ["ant", "bee", "cat", "dog"]
    for label, (x, _) in names.items():  # moved up or down only
        assert x == pytest.approx(np.median(oc.transform(X)[y == label][:, 0]))
    assert display.ax_.get_xlabel() == "oc0"
    ax = new_axes()
    assert ScatterDisplay.from_estimator(OCFS(n_features=3).fit(X, y), X, y, ax=ax).ax_ is ax


@pytest.mark.slow
def test_many_classes_and_hostile_names(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array([*HOSTILE, *(f"class {j}" for j in range(30))])[rng.integers(0, 35, 2000)]
    display = ScatterDisplay(rng.normal(size=(2000, 2)), y, HOSTILE[:2]).plot()
    texts = [text.get_text() for text in display.ax_.texts]
    assert len(texts) == 20
    assert display.ax_.get_title(loc="right") == "grey: 15 other classes"
    assert all(len(text) <= 25 and "\n" not in text for text in texts)
    heights = np.sort([text.get_position()[1] for text in display.ax_.texts])
    assert np.diff(heights).min() > 0  # 20 names at about the same median
    looks = {
        (tuple(part.get_facecolor()[0]), part.get_paths()[0].vertices.tobytes())
        for part in display.ax_.collections
    }
    assert len(looks) == 21  # no two of them look alike
    display.figure_.savefig(tmp_path / "a.svg")


def test_one_dimension_is_shown_as_densities():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(150, 2)), rng.normal(size=(50, 2)) + 3]
    y = np.repeat(["common", "rare"], [150, 50])
    display = ScatterDisplay.from_estimator(OC(1).fit(X, y), X, y)
    lines = {line.get_label(): line.get_xydata() for line in display.ax_.lines}
    share = {name: np.trapezoid(at[:, 1], at[:, 0]) for name, at in lines.items()}
    assert share == pytest.approx({"common": 0.75, "rare": 0.25}, abs=0.02)
    marked = ScatterDisplay(X[:, :1], y, ["x"], threshold=1.5).plot()
    assert "threshold 1.5" in [line.get_label() for line in marked.ax_.lines]
    alone = ScatterDisplay(X[:3, :1], np.array(["b", "a", "a"]), ["x"]).plot()
    alone.figure_.savefig(io.BytesIO(), format="svg")


def test_energy_and_what_is_kept():
    X, y = load_digits(return_X_y=True)
    ocfs = OCFS().fit(X, y)
    display = EnergyDisplay.from_estimator(ocfs, ax=new_axes())
    energy, scores, point, line = display.ax_.lines
    np.testing.assert_array_equal(energy.get_ydata(), ocfs.energy_)
    np.testing.assert_allclose(scores.get_ydata(), np.sort(ocfs.scores_)[::-1] / ocfs.scores_.max())
    assert point.get_xdata()[0] == line.get_xdata()[0] == ocfs.n_features_ == 26
    assert [text.get_text() for text in display.ax_.texts] == ["26 kept, 82%"]
    infinite = FisherFS().fit([[0.0, 1], [0, 2], [1, 1], [1, 2.5]], [0, 0, 1, 1])
    display = EnergyDisplay.from_estimator(infinite, ax=new_axes())
    assert np.isfinite(display.ax_.lines[1].get_ydata()).all()


def test_gains_by_step_and_held_out_shares():
    X, y = load_digits(return_X_y=True)
    forward = ForwardFS(n_features=5, start=[9]).fit(X, y)
    display = GainDisplay.from_estimator(forward, ax=new_axes())
    gains, point, line = display.ax_.lines
    np.testing.assert_array_equal(gains.get_xydata(), np.c_[1:6, forward.gain_curve_])
    assert point.get_xdata()[0] == line.get_xdata()[0] == 5
    share = f"{forward.gain_curve_[4]:.0%}"
    assert [text.get_text() for text in display.ax_.texts] == [f"5 kept, {share}"]
    chosen = ForwardFS(n_features="cv").fit(X, y)
    display = GainDisplay.from_estimator(chosen, legend="below")
    gains, held_out, point, _ = display.ax_.lines
    np.testing.assert_array_equal(gains.get_ydata(), chosen.gain_curve_)
    np.testing.assert_array_equal(held_out.get_ydata(), chosen.held_out_scores_)
    k = chosen.n_features_
    assert point.get_xydata().tolist() == [[k, chosen.held_out_scores_[k - 1]]]
    (band,) = display.ax_.collections
    low = band.get_paths()[0].vertices[:, 1].min()
    assert low == (chosen.held_out_scores_ - chosen.held_out_errors_).min()
    numbers = ForwardFS(n_features=4).fit(X, X[:, 2] + X[:, 20])
    assert len(GainDisplay.from_estimator(numbers, ax=new_axes()).gains) == 4


@pytest.mark.slow
def test_scores_and_seconds_by_dimensions():
    X, y = load_digits(return_X_y=True)
    lines = compare(X, y, ["oc", "ocfs", "pca"], [2, 5, 20], ["svm", "knn"], cv=2)
    display = ComparisonDisplay(lines).plot()
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert sorted(names) == ["OC", "OCFS", "PCA", "all 64 features"]
    found = {c.get_label(): c.lines[0].get_xydata() for c in display.ax_.containers}
    oc = [(line.dimensions, line.micro_f1) for line in lines if line.method == "oc"][::2]
    np.testing.assert_allclose(found["OC"], oc)
    assert display.ax_.get_ylabel() == "accuracy, svm"
    seconds = ComparisonDisplay(lines).plot(ax=new_axes(), what="learn", classifier="knn")
    assert seconds.ax_.get_yscale() == "log"
    assert seconds.ax_.get_ylabel() == "CPU seconds to fit"
    for call, *given in (
        (ComparisonDisplay(lines).plot, None, "f1"),
        (EnergyDisplay.from_estimator, OC().fit(X, y)),
        (GainDisplay.from_estimator, OCFS().fit(X, y)),
    ):
        with pytest.raises(ParameterError, match="expected"):
            call(*given)
