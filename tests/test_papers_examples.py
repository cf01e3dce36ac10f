"""The reproduced experiments: their data, the commands that run them, and the page."""

from __future__ import annotations

import ast
import gzip
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tables import Table
from click.testing import CliRunner
from examples.papers import data as papers_data
from examples.papers import downloads, experiments, page, sources
from examples.papers.__main__ import main
from examples.papers.experiments import NAMES, load
from examples.papers.lyrl2004 import N_FEATURES, VECTORS, read_lyrl2004
from examples.papers.verdict import PAPERS, Row
from examples.papers.yan2005_tfidf import salton
from scipy import sparse
from sklearn import datasets

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reproducibility" / "papers.md"
OUT = PAGE.with_suffix("")


@pytest.fixture
def nothing_here(tmp_path, monkeypatch):
    """Return an empty folder of data; fetchers fail."""

    def no_network(*args, **kwargs):
        raise OSError("no network here")

    monkeypatch.setenv("NARROWS_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path / "downloads")
    for name in ("20newsgroups", "rcv1", "olivetti_faces", "openml"):
        monkeypatch.setattr(datasets, f"fetch_{name}", no_network)
    return tmp_path


def test_data_come_from_the_folder_or_from_scikit_learn(nothing_here):
    for name, shape in (("iris", (150, 4)), ("wine", (178, 13)), ("balance_scale", (625, 4))):
        X, y = papers_data.uci(name)
        assert (X.shape, len(np.unique(y))) == (shape, 3)
    assert sources.used("iris").startswith("Iris (scikit-learn)")
    (nothing_here / "iris.csv").write_text("a,b,c,d,class\n1,2,3,4,x\n5,6,7,8,y\n")
    assert sources.used("iris") == "Iris (NARROWS_DATA)"
    assert papers_data.uci("iris")[0].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_balance_scale_is_computed_as_the_uci_file_is(data):
    X, y = papers_data.balance_scale()
    A, labels = papers_data.whole(data / "balance_scale.csv")
    np.testing.assert_array_equal(X, A)
    np.testing.assert_array_equal(y, labels)


def test_the_page_describes_every_file_and_how_it_is_downloaded():
    rows = {row[1]: " | ".join(row) for row in Table.read("data_sets", PAGE.parent).rows}
    for source in sources.SOURCES.values():
        [row] = [row for title, row in rows.items() if title.startswith(source.title)]
        assert all(f"`{file}`" in row for file in (*source.files, *source.fetched))
        name = re.sub(r"fetch_openml\('(.+)', version=1\)|(\w+)\(\)", r"`\1\2`", source.fetcher)
        assert name in row
    assert set(downloads.FETCH) == {key for key, each in sources.SOURCES.items() if each.fetcher}


@pytest.mark.parametrize("packed", [False, True])
def test_the_original_rcv1_is_read_with_the_first_label_of_several(tmp_path, packed):
    with pytest.raises(FileNotFoundError, match="expected one"):
        read_lyrl2004(tmp_path)
    files = {f"lyrl2004_vectors_{part}.dat": "" for part in VECTORS}
    files["lyrl2004_vectors_train.dat"] = "2286  7:0.5 47236:0.25\n2287  1:1.0\n2288  2:1.0\n"
    files["lyrl2004_vectors_test_pt0.dat"] = "26151  3:0.75 2:0.5\n\n26152  1:1.0\n"
    files["lyrl2004_vectors_test_pt3.dat"] = "30000\n"
    files["rcv1-v2.topics.qrels"] = (
        "C11 2286 1\nCCAT 2286 1\nECAT 2287 1\nMCAT 2288 1\nGCAT 2288 1\nMCAT 26151 1\n"
        "C11 26152 1\nGCAT 30000 1\n"
    )
    for name, text in files.items():
        data = gzip.compress(text.encode()) if packed else text.encode()
        (tmp_path / (name + ".gz" * packed)).write_bytes(data)
    X, y = read_lyrl2004(tmp_path)
    assert (X.shape, X.nnz) == ((5, N_FEATURES), 6)
    assert list(y) == ["CCAT", "ECAT", "MCAT", "MCAT", "GCAT"]
    np.testing.assert_array_equal(X.toarray()[0, [6, 47235]], [0.5, 0.25])
    assert list(read_lyrl2004(tmp_path, parts=("train",))[1]) == ["CCAT", "ECAT", "MCAT"]
    for text, line in (("2286 7:0.5\n2287 x:1\n", 2), ("2286 47237:1\n", 1)):
        (tmp_path / "lyrl2004_vectors_train.dat").write_text(text)
        with pytest.raises(ValueError, match=f"line {line}: expected"):
            read_lyrl2004(tmp_path)


def test_the_weights_of_salton():
    known = sparse.csr_array(np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    expected = np.array([[0.0, 0.0, np.log(2)], [0.0, np.log(2), 0.0]])
    np.testing.assert_allclose(salton(known, known, unit=False).toarray(), expected)
    one = sparse.csr_array(np.array([[1.0, 3.0, 4.0]]))
    np.testing.assert_allclose(salton(one, known, unit=True).toarray(), [[0.0, 0.6, 0.8]])


def test_the_page_and_its_tables_are_what_the_command_writes(tmp_path):
    results, made = page.load(OUT), list(map(load, NAMES))
    assert list(results) == sorted(NAMES)
    rows = [Row(**row) for found in results.values() for row in found["rows"]]
    text = page.markdown(results, made)
    assert PAGE.read_text(encoding="utf-8") == text, "run python -m examples.papers --write"
    tables = page.tables(results, made)
    assert {path.stem for path in OUT.glob("*.csv")} == set(tables)
    for name, table in tables.items():
        table.write(tmp_path / "expected.csv")
        assert (OUT / f"{name}.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert len(tables["claims"].rows) == len(rows)
    shown = re.findall(r"!\[.+?\]\(papers/(.+?\.png)\)", text)
    assert sorted(shown) == sorted(path.name for path in OUT.glob("*.png"))


INSTALLED = {  # narrows, what it depends on, and the extra plots (Pillow comes with Matplotlib)
    "click", "examples", "matplotlib", "narrows", "numpy", "PIL", "scipy", "sklearn",
    "threadpoolctl",
}  # fmt: skip


def test_the_scripts_import_only_what_the_extra_plots_installs():
    for path in (ROOT / "examples" / "papers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom | ast.Import):
                name = getattr(node, "module", None) or node.names[0].name
                allowed = name.partition(".")[0] in INSTALLED | sys.stdlib_module_names
                assert allowed or name in ("benchmarks.harness", "benchmarks.tables"), path.name


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_a_title_and_names_its_data(name):
    experiment = load(name)
    paper = PAPERS[name.split("-")[0]]
    assert re.fullmatch(rf"{re.escape(paper)} .+: .+[^.]", experiment.title)
    assert {*experiment.data, *experiment.optional} <= set(sources.SOURCES)
    assert all(sources.SOURCES[key].files for key in experiment.data)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["yan2006-fig2", "yan2004-fig3", "yan2006b-fig1"])
def test_the_command_writes_results(nothing_here, monkeypatch, name):
    (nothing_here / "papers").mkdir()
    monkeypatch.setattr(page, "FOLDER", nothing_here / "papers")
    done = CliRunner().invoke(main, [name, "--write"])
    assert done.exit_code == 0, done.output
    [(found, result)] = page.load(nothing_here / "papers").items()
    [picture] = result["pictures"]
    assert (found, picture) == (name, f"{name.replace('-', '_')}.png")
    assert (nothing_here / "papers" / picture).read_bytes().startswith(b"\x89PNG")
    assert f"](papers/{picture})" in (nothing_here / "papers.md").read_text(encoding="utf-8")


CALLS = [  # arguments, exit status, words of the output
    ([], 0, [f"  {name} " for name in NAMES]),
    (["yan2006-fig44"], 2, ["'yan2006-fig44'", "Did you mean yan2006-fig4"]),
    (["yan2006b_fig5"], 1, ["No data of Monk 1", "Left out: yan2006b-fig5.\n"]),  # a module
    (["ye2005-fig4", "--download"], 1, ["tr41 was not downloaded: no network here"]),
]


@pytest.mark.usefixtures("nothing_here")
@pytest.mark.parametrize(("arguments", "status", "words"), CALLS)
def test_the_command_names_what_is_there_and_what_is_missing(arguments, status, words):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == status
    assert [word for word in words if word not in done.output] == []


@pytest.mark.usefixtures("nothing_here")
def test_the_command_runs_what_it_can_and_names_the_rest(monkeypatch):
    ran = []
    made = {name: replace(load(name), run=lambda out, name=name: ran.append(name) or [])
            for name in NAMES}  # fmt: skip
    monkeypatch.setattr(experiments, "load", made.get)
    done = CliRunner().invoke(main, ["--all"])
    assert done.exit_code == 0, done.output
    assert "No data of RCV1: add --download" in done.output
    assert {"yan2006-fig2", "yan2004-fig3", "ye2005-table2"} <= set(ran)
