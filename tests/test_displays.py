"""Pictures, and the report: one file that fetches nothing and believes nothing."""

import base64
import html
import html.parser
import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_digits

from narrows import OC, OCFS, FisherFS, ForwardFS
from narrows.command import cli
from narrows.errors import ParameterError, printable
from narrows.evaluate import ComparisonDisplay, EnergyDisplay, GainDisplay, ScatterDisplay, compare
from tests.cases import labelled

Figure = pytest.importorskip("matplotlib.figure").Figure
pytest.importorskip("jinja2")


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
    ax = Figure().subplots()
    assert ScatterDisplay.from_estimator(OCFS(n_features=3).fit(X, y), X, y, ax=ax).ax_ is ax


def test_energy_and_what_is_kept():
    X, y = load_digits(return_X_y=True)
    ocfs = OCFS().fit(X, y)
    energy, scores, point, line = EnergyDisplay.from_estimator(
        ocfs, ax=Figure().subplots()
    ).ax_.lines
    np.testing.assert_array_equal(energy.get_ydata(), ocfs.energy_)
    np.testing.assert_allclose(scores.get_ydata(), np.sort(ocfs.scores_)[::-1] / ocfs.scores_.max())
    assert point.get_xdata()[0] == line.get_xdata()[0] == ocfs.n_features_ == 26
    infinite = FisherFS().fit([[0.0, 1], [0, 2], [1, 1], [1, 2.5]], [0, 0, 1, 1])
    display = EnergyDisplay.from_estimator(infinite, ax=Figure().subplots())
    assert np.isfinite(display.ax_.lines[1].get_ydata()).all()


def test_gains_by_step_and_held_out_shares():
    X, y = load_digits(return_X_y=True)
    forward = ForwardFS(n_features=5, start=[9]).fit(X, y)
    display = GainDisplay.from_estimator(forward, ax=Figure().subplots())
    gains, point, line = display.ax_.lines
    np.testing.assert_array_equal(gains.get_xydata(), np.c_[1:6, forward.gain_curve_])
    assert point.get_xdata()[0] == line.get_xdata()[0] == 5
    chosen = ForwardFS(n_features="cv").fit(X, y)
    display = GainDisplay.from_estimator(chosen, legend="below")
    gains, held_out, point, _ = display.ax_.lines
    np.testing.assert_array_equal(gains.get_ydata(), chosen.gain_curve_)
    np.testing.assert_array_equal(held_out.get_ydata(), chosen.held_out_scores_)
    k = chosen.n_features_
    assert point.get_xydata().tolist() == [[k, chosen.held_out_scores_[k - 1]]]
    low = display.ax_.collections[0].get_paths()[0].vertices[:, 1].min()
    assert low == (chosen.held_out_scores_ - chosen.held_out_errors_).min()


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
    seconds = ComparisonDisplay(lines).plot(ax=Figure().subplots(), what="learn", classifier="knn")
    assert seconds.ax_.get_yscale() == "log"
    for call, *given in (
        (ComparisonDisplay(lines).plot, None, "f1"),
        (EnergyDisplay.from_estimator, OC().fit(X, y)),
        (GainDisplay.from_estimator, OCFS().fit(X, y)),
    ):
        with pytest.raises(ParameterError, match="expected"):
            call(*given)


LABELS = [
    "<script>alert('label')</script>", "it's \"quoted\" & <b>", "\u05e2\u05d1\u05e8\u05d9\u05ea",
    "a" * 400, "line\nend", "\u202egnp.exe", "$x_1", "http://example.com/a.js",
]  # fmt: skip
WORDS = ["script", "quot", "\u05e9\u05dc\u05d5\u05dd", "b" * 300, "end", "exe", "x_1", "http"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file of hostile texts, and the report on it."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    lines = []
    for i in range(160):
        words = [WORDS[i % 8], *rng.choice([*WORDS, "and", "of"], 3)]
        split = "train" if i < 120 else "test"
        lines.append(json.dumps({"label": LABELS[i % 8], "split": split, "text": " ".join(words)}))
    (folder / "a b.jsonl").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        methods = ["--methods", "ocfs,oc,srda,lineardiscriminantanalysis,chi2"]
        status = cli.main(
            ["compare", "a b.jsonl", *methods, "--dims", "2,20", "--report", "r.html"]
        )
    page = (folder / "r.html").read_text("utf-8")
    return status, page, json.loads((folder / "r.json").read_text("utf-8")), folder


class Elements(html.parser.HTMLParser):
    """Collects what a browser would find."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.slow
def test_nothing_is_fetched_and_nothing_of_the_data_is_believed(made):
    status, page, _, folder = made
    assert status == 0
    found = Elements(page)
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    titles = [title.text for title in ElementTree.fromstring(svg).iter() if "title" in title.tag]
    rows = [json.loads(line) for line in (folder / "a b.jsonl").read_text().splitlines()[120:]]
    assert len(titles) == len(rows) == 40
    for row in rows:
        label = printable(row["label"])
        label = label if len(label) <= 80 else label[:79] + "…"
        assert f"{label}: {printable(' '.join(row['text'].split())[:100])}" in titles
    known = {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "p", "div",
        "table", "tr", "td", "th", "details", "summary", "figure", "img", "figcaption", "bdi",
        "span", "br", "pre", "svg", "g", "path", "use", "defs", "text", "tspan", "clippath", "rect",
    }  # fmt: skip
    assert set(found.tags) <= known  # no script, no link, no b of a label
    assert {name for name, _ in found.attributes} <= {
        "lang", "charset", "name", "content", "http-equiv", "class", "colspan", "open", "alt",
        "title",
        *("src", "xmlns:xlink", "xlink:href", "xmlns", "id", "style", "d", "x", "y"),  # of SVG
        *("clip-path", "transform", "viewbox", "version", "width", "height"),
    }  # fmt: skip
    links = [value for name, value in found.attributes if name == "xlink:href"]
    assert all(value.startswith("#") for value in links)  # to a part of the picture
    assert len(links) > 40
    pictures = [value for name, value in found.attributes if name == "src"]
    assert len(pictures) == 5  # curves of three classifiers, times and scores of features
    for picture in pictures:
        assert picture.startswith("data:image/svg+xml;base64,")
        svg = base64.b64decode(picture.split(",")[1]).decode()
        assert "<script" not in svg
        assert "<metadata" not in svg
        addresses = set(re.findall(r"https?://[^\"'<\s]+", svg))
        names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # of the language
        assert addresses <= names | {"http://example.com/a.js"}
    text = "".join(found.text)
    for label in (LABELS[0], LABELS[1], LABELS[2], r"'line\nend'", r"'\u202egnp.exe'", LABELS[7]):
        assert label in text
    assert "\u202e" not in page
    assert "a" * 79 + "…" in text
    assert "a" * 81 not in text


def test_what_is_missing_is_named(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    status, _, err = run("compare a.csv --report q.html", a__csv="a,class\n1,x\n2,y\n")
    assert (status, "pip install 'narrows[plots]'" in err) == (2, True)
    assert not (tmp_path / "q.html").exists()
