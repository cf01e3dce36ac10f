"""The report: one file that fetches nothing and believes nothing, and the same as JSON."""

from __future__ import annotations

import base64
import html
import html.parser
import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from narrows import OCFS
from narrows.command import cli
from narrows.errors import printable
from narrows.evaluate import compare
from narrows.text import Tfidf

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

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
    status, page, *_ = made
    assert status == 0
    found = Elements(page)
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


@pytest.mark.slow
def test_a_sample_of_the_map_says_its_class_and_how_it_begins(made):
    _, page, _, folder = made
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    titles = [title.text for title in ElementTree.fromstring(svg).iter() if "title" in title.tag]
    rows = [json.loads(line) for line in (folder / "a b.jsonl").read_text().splitlines()[120:]]
    assert len(titles) == len(rows) == 40
    for row in rows:
        begin = " ".join(row["text"].split())[:100]
        label = printable(row["label"])
        label = label if len(label) <= 80 else label[:79] + "…"
        assert f"{label}: {printable(begin)}" in titles


def test_the_twin_says_it_all(made):
    _, page, found, folder = made
    chosen, wrong = found["recommendation"], sum(p["samples"] for p in found["confusions"])
    which = ("method", "dimensions", "classifier")
    [line] = [x for x in found["lines"] if all(x[key] == chosen[key] for key in which)]
    assert wrong == pytest.approx(40 * (1 - line["micro_f1"]))
    assert html.escape(chosen["sentence"]) in page
    assert page.count('class="chosen"') == 1
    assert (found["data"]["rows"], found["data"]["rows_held_out"]) == (120, 40)
    classes = {part["label"]: part["rows"] for part in found["data"]["classes"]}
    assert classes == dict.fromkeys(LABELS, 15)
    for line in found["lines"]:
        assert (f"{line['micro_f1']:.3f}" in page) if "skipped" not in line else line["skipped"]
    skipped = {line["method"] for line in found["lines"] if "skipped" in line}
    assert skipped == {"lineardiscriminantanalysis"}
    models = {model["name"]: model for model in found["models"]}
    assert set(models) == {"ocfs", "oc", "srda"}
    rows = [json.loads(line) for line in (folder / "a b.jsonl").read_text().splitlines()[:120]]
    tfidf = Tfidf()
    X = tfidf.fit_transform([row["text"] for row in rows])
    alone = OCFS(n_features=10).fit(X, [row["label"] for row in rows])
    kept = tfidf.get_feature_names_out()[alone.ranking_[: alone.n_features_]].tolist()
    assert [entry["name"] for entry in models["ocfs"]["kept"]] == kept
    first = {label: entries[0]["name"] for label, entries in models["ocfs"]["per_class"].items()}
    assert first == dict(zip(LABELS, WORDS, strict=True))


def test_what_is_missing_is_named(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    status, _, err = run("compare a.csv --report q.html", a__csv="a,class\n1,x\n2,y\n")
    assert (status, "pip install 'narrows[plots]'" in err) == (2, True)
    assert not (tmp_path / "q.html").exists()


@pytest.mark.parametrize("c", [2, 4])
def test_the_map_is_of_one_direction_and_its_threshold_or_of_two_of_the_best(tmp_path, c):
    rng = np.random.default_rng(0)
    y = np.arange(240) % c
    X = rng.normal(size=(240, 6)) + 4 * np.eye(c, 6)[y]
    X[:, 4:] *= 30  # what PCA finds
    lines = compare(X, y, ["pca", "srda"], dims=[1, 2, 3], classifiers=["svm"], repeats=1)
    lines.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert ("first dimension" if c == 2 else "first two dimensions of SRDA") in page
    assert ("threshold" in page[page.index("<svg") : page.index("</svg>")]) == (c == 2)
    assert re.search(r'<td title="Spectral regression [^"]+">SRDA</td>', page)
