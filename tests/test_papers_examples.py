"""The reproduced experiments: rows, the page, the reader of RCV1, and the fastest scripts."""

from __future__ import annotations

import ast
import gzip
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tables import Table
from click.testing import CliRunner
from examples.papers import data as papers_data
from examples.papers import neighbours, page, sources
from examples.papers.__main__ import main
from examples.papers.experiments import NAMES, Experiment, load
from examples.papers.lyrl2004 import N_FEATURES, VECTORS, read_lyrl2004
from examples.papers.memory import peak
from examples.papers.verdict import HOLDS, NOT, PAPERS, PART, UNTESTED, Row, judged, untested
from examples.papers.yan2005_tfidf import salton
from scipy import sparse

PAGE = Path(__file__).parent.parent / "docs" / "reproducibility" / "papers.md"
OUT = PAGE.with_suffix("")


# -- verdicts ---------------------------------------------------------------------------------


def test_rows_have_a_paper_a_verdict_and_no_empty_cell():
    assert [judged(True, True), judged(True, np.False_), judged(False)] == [HOLDS, PART, NOT]
    row = Row("yan2006", "Fig. 1", "it is so", "1", "2", NOT)
    assert row.also("yan2005", "Fig. 2").paper == "yan2005"
    assert untested("ye2005", "Fig. 5", "it is so", "1", "run it").verdict == UNTESTED
    for wrong in ({"paper": "yan2007"}, {"verdict": "perhaps"}, {"claim": ""}, {"ours": ""}):
        with pytest.raises(ValueError, match=r"unknown paper or verdict|empty cell"):
            Row(**(row.as_dict() | wrong))


# -- settings of rivals ------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_inner_products_stay_in_the_span_of_the_samples(form):
    X = np.random.default_rng(0).normal(size=(20, 50))
    X[19] = X[0] + X[1]
    found = neighbours.in_span(form(X))
    assert found.shape == (20, 19)
    np.testing.assert_allclose(found @ found.T, X @ X.T, atol=1e-12)


def test_the_weights_of_salton():
    known = sparse.csr_array(np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    expected = np.array([[0.0, 0.0, np.log(2)], [0.0, np.log(2), 0.0]])
    np.testing.assert_allclose(salton(known, known, unit=False).toarray(), expected)
    one = sparse.csr_array(np.array([[1.0, 3.0, 4.0]]))
    np.testing.assert_allclose(salton(one, known, unit=True).toarray(), [[0.0, 0.6, 0.8]])


# -- the page ---------------------------------------------------------------------------------


def test_every_experiment_has_results():
    results = page.load(OUT)
    assert list(results) == sorted(NAMES)
    for found in results.values():
        assert found["rows"]
        for row in found["rows"]:
            Row(**row)


def test_the_page_and_its_tables_are_what_the_command_writes(tmp_path):
    results, experiments = page.load(OUT), list(map(load, NAMES))
    expected = page.markdown(results, experiments)
    assert PAGE.read_text(encoding="utf-8") == expected, "run python -m examples.papers --write"
    assert "{{" not in expected
    tables = page.tables(results, experiments)
    assert {path.stem for path in OUT.glob("*.csv")} == set(tables)
    for name, table in tables.items():
        table.write(tmp_path / "expected.csv")
        assert (OUT / f"{name}.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert len(tables["claims"].rows) == sum(len(found["rows"]) for found in results.values())


def test_the_page_shows_all_tables_and_the_claims_of_each_paper():
    text = PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"^```\{rows\} papers/(\w+)$", text, re.M))
    assert shown == {"verdicts", "claims", "experiments"}
    papers = re.findall(r"^```\{rows\} papers/claims\n:only: (.+)$", text, re.M)
    assert sorted(papers) == sorted(PAPERS.values())
    assert {row[0] for row in Table.read("claims", OUT).rows} == set(papers)


def test_every_picture_is_shown():
    shown = re.findall(r"!\[.+?\]\(papers/(.+?\.png)\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.name for path in OUT.glob("*.png"))


def test_the_page_has_the_rows_and_pictures_of_an_experiment():
    row = Row("yan2006", "Fig. 1", "a | b", "1", "2", HOLDS)
    rows = [row.as_dict(), row.also("yan2005", "Fig. 9", verdict=NOT).as_dict()]
    title = "Yan et al. (2006) Fig. 1: it"
    one = Experiment("yan2006-x", title, "So.", ("iris",), (), lambda _: [])
    results = {one.name: {"seconds": 90.4, "pictures": ["x.png"], "rows": rows}}
    other = Experiment("yan2006-y", title, "So.", (), (), lambda _: [])  # without results
    tables = {name: table.rows for name, table in page.tables(results, [one, other]).items()}
    assert tables["claims"] == [
        ["Yan et al. (2006)", "Fig. 1", "a | b", "1", "2", "**holds**", "", "`yan2006-x`"],
        ["Yan et al. (2005)", "Fig. 9", "a | b", "1", "2", "**does not hold**", "", "`yan2006-x`"],
    ]
    assert tables["verdicts"][0] == ["Yan et al. (2006)", "1", "0", "0", "0"]
    assert tables["verdicts"][-1] == ["**all**", "**1**", "**0**", "**1**", "**0**"]
    assert tables["experiments"] == [
        ["`yan2006-x`", "Yan et al. (2006) Fig. 1", "it", "Iris", "90"]
    ]
    text = page.markdown(results, [one, other])
    assert "### yan2006-x: it\n\nSo.\n\n![Fig. 1](papers/x.png)\n" in text
    assert "yan2006-y" not in text


# -- the original RCV1 ------------------------------------------------------------------------


def lyrl(folder, packed=()):
    """Write four documents with one top topic, one with two and one with none."""
    files = {f"lyrl2004_vectors_{part}.dat": "" for part in VECTORS}
    files["lyrl2004_vectors_train.dat"] = "2286  7:0.5 47236:0.25\n2287  1:1.0\n2288  2:1.0\n"
    files["lyrl2004_vectors_test_pt0.dat"] = "26151  3:0.75 2:0.5\n\n26152  1:1.0\n"
    files["lyrl2004_vectors_test_pt3.dat"] = "30000\n"
    files["rcv1-v2.topics.qrels"] = (
        "C11 2286 1\nCCAT 2286 1\nECAT 2287 1\nMCAT 2288 1\nGCAT 2288 1\nMCAT 26151 1\n"
        "C11 26152 1\nGCAT 30000 1\n"
    )
    for name, text in files.items():
        if name in packed:
            with gzip.open(folder / f"{name}.gz", "wt") as file:
                file.write(text)
        else:
            (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("packed", [(), ("lyrl2004_vectors_train.dat", "rcv1-v2.topics.qrels")])
def test_the_original_rcv1_is_read_with_the_first_label_of_several(tmp_path, packed):
    X, y = read_lyrl2004(lyrl(tmp_path, packed))
    assert X.shape == (5, N_FEATURES)
    assert list(y) == ["CCAT", "ECAT", "MCAT", "MCAT", "GCAT"]
    dense = X.toarray()
    np.testing.assert_array_equal(dense[0, [6, 47235]], [0.5, 0.25])
    np.testing.assert_array_equal(dense[3, [1, 2]], [0.5, 0.75])
    assert X.nnz == 6
    assert list(read_lyrl2004(tmp_path, parts=("train",))[1]) == ["CCAT", "ECAT", "MCAT"]
    if packed:  # the file of topics may have the name of scikit-learn
        (tmp_path / "rcv1-v2.topics.qrels.gz").rename(tmp_path / "rcv1v2.topics.qrels.gz")
        assert list(read_lyrl2004(tmp_path)[1]) == list(y)


def test_a_broken_or_missing_file_is_named_with_its_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected one"):
        read_lyrl2004(tmp_path)
    lyrl(tmp_path)
    for text, message in (("2286 7:0.5\n2287 x:1\n", "line 2: expected tid:weight"),
                          ("2286 47237:1\n", "line 1: expected a tid from 1")):  # fmt: skip
        (tmp_path / "lyrl2004_vectors_train.dat").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_lyrl2004(tmp_path)


def test_the_full_rcv1_replaces_the_sample(tmp_path, monkeypatch):
    claim = ("yan2006", "Table 4", "it is so", "1", "yan2006-table4")
    [row] = papers_data.full_rcv1(*claim)
    assert row.verdict == UNTESTED
    assert "yan2006-table4 --download`, or `--rcv1" in row.note
    monkeypatch.setenv("NARROWS_RCV1", str(lyrl(tmp_path)))
    X, y = papers_data.rcv1.__wrapped__()
    assert X.shape == (5, N_FEATURES)
    assert sorted(y) == ["CCAT", "ECAT", "GCAT", "MCAT", "MCAT"]
    assert papers_data.full_rcv1(*claim) == []


# -- what they need ---------------------------------------------------------------------------

INSTALLED = {  # narrows, what it depends on, and the extra plots (Pillow comes with Matplotlib)
    "click", "examples", "matplotlib", "narrows", "numpy", "PIL", "scipy", "sklearn",
    "threadpoolctl",
}  # fmt: skip


def test_the_scripts_import_only_what_the_extra_plots_installs():
    scripts = sorted((PAGE.parents[2] / "examples" / "papers").rglob("*.py"))
    assert len(scripts) > len(NAMES)
    for path in scripts:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom | ast.Import):
                name = getattr(node, "module", None) or node.names[0].name
                first = name.partition(".")[0]
                allowed = first in INSTALLED | sys.stdlib_module_names
                assert allowed or name in ("benchmarks.harness", "benchmarks.tables"), path.name


# -- the scripts ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_a_title_and_names_its_data(name):
    experiment = load(name)
    paper = PAPERS[name.split("-")[0]]
    assert re.fullmatch(rf"{re.escape(paper)} .+: .+[^.]", experiment.title)
    assert {*experiment.data, *experiment.optional} <= set(sources.SOURCES)
    assert all(sources.SOURCES[key].files for key in experiment.data)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["yan2006-fig2", "yan2004-fig3", "yan2006b-fig1"])
def test_the_fastest_scripts_run_without_files(tmp_path, monkeypatch, name):
    monkeypatch.setenv("NARROWS_DATA", str(tmp_path))
    rows = load(name).run(tmp_path)
    assert all(isinstance(row, Row) for row in rows)
    picture = tmp_path / f"{name.replace('-', '_')}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_a_name_the_command_lists_the_experiments(tmp_path, monkeypatch):
    monkeypatch.setenv("NARROWS_DATA", str(tmp_path))
    done = CliRunner().invoke(main, [])
    assert done.exit_code == 0
    assert all(f"  {name} " in done.output for name in NAMES)
    assert "data: Iris (scikit-learn), Wine (scikit-learn)" in done.output
    assert "data: 20 Newsgroups (--download), ODP (optional, missing)" in done.output


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("yan2006-fig44", 2, ["'yan2006-fig44'", "Did you mean yan2006-fig4"]),
        ("yan2006b_fig5", 1, ["No data of Monk 1", "Left out: yan2006b-fig5.\n"]),  # a module
    ],
)
def test_a_wrong_name_and_missing_data_are_named(tmp_path, monkeypatch, name, status, words):
    monkeypatch.setenv("NARROWS_DATA", str(tmp_path))
    done = CliRunner().invoke(main, [name])
    assert done.exit_code == status
    assert all(word in done.output for word in words)
    assert "Traceback" not in done.output


def test_the_message_names_the_extra_that_is_missing(monkeypatch):
    monkeypatch.delitem(sys.modules, "examples.papers.yan2006_fig2", raising=False)
    monkeypatch.delitem(sys.modules, "examples.papers.draw", raising=False)
    monkeypatch.delattr("examples.papers.draw", raising=False)
    monkeypatch.setitem(sys.modules, "PIL", None)  # as where Matplotlib is not installed
    done = CliRunner().invoke(main, ["yan2006-fig2"])
    assert done.exit_code == 1
    assert "pip install '.[plots]'" in done.output


@pytest.mark.nightly
def test_the_command_writes_results(tmp_path, monkeypatch):
    monkeypatch.setenv("NARROWS_DATA", str(tmp_path))
    (tmp_path / "papers").mkdir()
    monkeypatch.setattr(page, "FOLDER", tmp_path / "papers")
    done = CliRunner().invoke(main, ["yan2006-fig2", "--write"])
    assert done.exit_code == 0, done.output
    assert "section 3.2: DOES NOT HOLD" in done.output
    results = page.load(tmp_path / "papers")
    assert list(results) == ["yan2006-fig2"]
    assert results["yan2006-fig2"]["pictures"] == ["yan2006_fig2.png"]
    assert "](papers/yan2006_fig2.png)" in (tmp_path / "papers.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="getrusage counts the memory of the parent")
def test_peak_memory_is_that_of_the_new_process_alone():
    held = np.ones(50_000_000)  # 400 MB
    assert 0 < peak("OCM", 60, 2_000, 4) < 200
    assert held.nbytes == 400_000_000
