"""The data of the papers: files, what stands in for them, and downloads by scikit-learn."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from examples.papers import data as papers_data
from examples.papers import downloads, experiments, sources
from examples.papers.__main__ import main
from sklearn import datasets

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
    _, *lines = csv.reader((ROOT / sources.PAGE).with_name("data_sets.csv").open(encoding="utf-8"))
    rows = {line[1]: " | ".join(line) for line in lines}
    for source in sources.SOURCES.values():
        [row] = [row for title, row in rows.items() if title.startswith(source.title)]
        assert all(f"`{file}`" in row for file in (*source.files, *source.fetched))
        name = re.sub(r"fetch_openml\('(.+)', version=1\)|(\w+)\(\)", r"`\1\2`", source.fetcher)
        assert name in row
        assert source.fetcher == "" or "`--download`" in row


def test_downloads_are_those_that_the_table_names():
    assert set(downloads.FETCH) == {key for key in KEYS if sources.SOURCES[key].fetcher}


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
