"""The data of the papers: files, what stands in for them, and downloads by scikit-learn."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from examples.papers import data as papers_data
from examples.papers import downloads, experiments, sources, texts
from examples.papers.__main__ import main
from scipy import sparse
from sklearn import datasets
from sklearn.utils import Bunch

ROOT = Path(__file__).parent.parent
KEYS = sorted(sources.SOURCES)


@pytest.fixture(autouse=True)
def nothing_here(tmp_path, monkeypatch):
    """Set empty folders for the data, and fetchers that fail."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("NARROWS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path / "downloads")
    for name in ("20newsgroups", "rcv1", "olivetti_faces", "openml"):
        monkeypatch.setattr(datasets, f"fetch_{name}", no_network)


def no_network(*args, **kwargs):
    raise OSError("no network here")


# what OpenML has of each: name, shape, labels
OPENML = {
    "iris": (150, 4), "waveform-5000": (5_000, 40), "diabetes": (768, 8), "ionosphere": (351, 34),
}  # fmt: skip


def openml(name, version, as_frame, parser):
    """Return what scikit-learn's fetcher does, in its form and with made numbers."""
    assert (version, as_frame, parser) == (1, False, "liac-arff")
    rng = np.random.default_rng(0)
    if name == "monks-problems-1":
        kinds = (3, 3, 2, 3, 4, 2)
        test = np.array(np.meshgrid(*map(range, kinds), indexing="ij")).reshape(6, -1).T
        X = np.vstack([test[rng.permutation(432)[:124]], test]).astype(float)
        names = [f"attr{k}" for k in range(1, 7)]
        categories = {
            name: [str(k + 1) for k in range(kind)] for name, kind in zip(names, kinds, strict=True)
        }
        y = np.where((X[:, 0] == X[:, 1]) | (X[:, 4] == 0), "1", "0").astype(object)
        return Bunch(data=X, target=y, feature_names=names, categories=categories)
    n, d = OPENML[name]
    return Bunch(data=rng.normal(size=(n, d)), target=np.array([f"c{i % 3}" for i in range(n)]))


def test_without_files_iris_wine_and_balance_scale_are_there():
    assert [key for key in KEYS if sources.where(key)] == ["balance_scale", "iris", "wine"]
    for name, shape in (("iris", (150, 4)), ("wine", (178, 13)), ("balance_scale", (625, 4))):
        X, y = papers_data.uci(name)
        assert X.shape == shape
        assert len(np.unique(y)) == 3
    assert sources.used("iris").startswith("Iris (scikit-learn); two samples differ")
    assert list(np.unique(papers_data.uci("iris")[1])) == ["setosa", "versicolor", "virginica"]


def test_balance_scale_is_computed_as_the_uci_file_is(data):
    X, y = papers_data.balance_scale()
    A, labels = papers_data.whole(data / "balance_scale.csv")
    np.testing.assert_array_equal(X, A)
    np.testing.assert_array_equal(y, labels)


def test_the_files_of_the_folder_come_first(tmp_path):
    (tmp_path / "data" / "iris.csv").write_text("a,b,c,d,class\n1,2,3,4,x\n5,6,7,8,y\n")
    assert sources.used("iris") == "Iris (NARROWS_DATA)"
    assert papers_data.uci("iris")[0].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_the_page_describes_every_file():
    page = (ROOT / sources.PAGE).read_text(encoding="utf-8")
    rows = {row.split(" | ")[1]: row for row in page.splitlines() if row.startswith("| ")}
    for source in sources.SOURCES.values():
        [row] = [row for title, row in rows.items() if title.startswith(source.title)]
        assert all(f"`{file}`" in row for file in (*source.files, *source.fetched))
        name = re.sub(r"fetch_openml\('(.+)', version=1\)|(\w+)\(\)", r"`\1\2`", source.fetcher)
        assert name in row
        assert source.fetcher == "" or "`--download`" in row


def test_downloads_are_those_that_the_table_names():
    assert set(downloads.FETCH) == {key for key in KEYS if sources.SOURCES[key].fetcher}


@pytest.mark.parametrize("key", ["iris", "waveform", "pima", "ionosphere", "monk1"])
def test_uci_sets_are_downloaded(key, monkeypatch):
    monkeypatch.setattr(datasets, "fetch_openml", openml)
    downloads.download(key)
    assert sources.where(key) == "download"
    assert ("another draw" in sources.used(key)) == (key == "waveform")
    assert "two samples" not in sources.used(key)
    assert not list(sources.DOWNLOADS.glob(".*"))
    files = [file.removesuffix(".csv") for file in sources.SOURCES[key].files]
    X, y = papers_data.uci(*files)
    if key == "monk1":
        assert X.shape == (556, 6)
        assert papers_data.uci("monk1_train")[0].shape == (124, 6)
        rule = (X[:, 0] == X[:, 1]) | (X[:, 4] == 1)
        np.testing.assert_array_equal(y, rule.astype(int))
    else:
        fetched = openml({"waveform": "waveform-5000", "pima": "diabetes"}.get(key, key), 1, False,
                         "liac-arff")  # fmt: skip
        np.testing.assert_array_equal(X, fetched.data[:, : 21 if key == "waveform" else None])
        np.testing.assert_array_equal(y, fetched.target)


def test_texts_faces_and_topics_are_downloaded(monkeypatch):
    mails = {"train": ["disk drive é", "a god"], "test": ["disk motif"]}
    names = ["comp.graphics", "alt.atheism"]

    def newsgroups(subset, shuffle):
        target = np.arange(len(mails[subset])) % 2
        return Bunch(data=mails[subset], target=target, target_names=names)

    monkeypatch.setattr(datasets, "fetch_20newsgroups", newsgroups)
    downloads.download("20news")
    assert list(texts.raw(texts.NEWS)["train"][0]) == mails["train"]
    assert (list(texts.comp().y), texts.comp().X.shape) == (["comp.graphics"], (1, 3))

    pixels, people = np.arange(400 * 4096).reshape(400, 4096) % 256, np.repeat(np.arange(40), 10)
    faces = Bunch(data=(pixels / 255).astype(np.float32), target=people)
    monkeypatch.setattr(datasets, "fetch_olivetti_faces", lambda: faces)
    downloads.download("orl")
    np.testing.assert_array_equal(papers_data.faces()[0], pixels)
    np.testing.assert_array_equal(papers_data.faces()[1], people)

    X, Y = sparse.random_array((5, 8), density=0.5, format="csr"), sparse.csr_matrix(np.eye(5, 6))
    topics = np.array(["C11", "CCAT", "ECAT", "GCAT", "M11", "MCAT"], dtype=object)
    rcv1 = Bunch(data=sparse.csr_matrix(X), target=Y.astype(np.uint8), target_names=topics)
    monkeypatch.setattr(datasets, "fetch_rcv1", lambda: rcv1)
    downloads.download("rcv1")
    file = np.load(sources.path("rcv1_topics.npz"))  # without pickles
    read = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
    np.testing.assert_allclose(read.toarray(), X.toarray(), rtol=1e-6)
    assert (list(file["yindices"]), list(file["label_names"])) == (list(Y.indices), list(topics))


def test_the_command_downloads_on_request_only():
    done = CliRunner().invoke(main, ["ye2005-fig4"])
    assert done.exit_code == 1
    for title in ("ORL faces", "tr41", "re0"):
        assert f"No data of {title}: add --download" in done.output
    assert "no network" not in done.output
    done = CliRunner().invoke(main, ["ye2005-fig4", "--download"])
    assert done.exit_code == 1
    assert "tr41 was not downloaded: no network here" in done.output


def test_the_command_runs_what_it_can_and_names_the_rest(monkeypatch):
    ran = []

    real = experiments.load

    def load(name):
        return replace(real(name), run=lambda out: ran.append(name) or [])

    monkeypatch.setattr(experiments, "load", load)
    done = CliRunner().invoke(main, ["--all"])
    assert done.exit_code == 0, done.output
    assert "No data of RCV1: add --download" in done.output
    assert {"yan2006-fig2", "yan2004-fig3", "ye2005-table2"} <= set(ran)
    assert f"{len(ran)} of {len(experiments.NAMES)} experiments ran" in done.output
