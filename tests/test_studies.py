"""The tables of the documentation have studies, and the harness measures every method."""

from __future__ import annotations

import json
import re

import pytest
from benchmarks import harness, performance
from benchmarks.__main__ import main
from benchmarks.methods import METHODS
from benchmarks.problems import PROBLEMS
from benchmarks.problems.dense import Embeddings
from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.studies import STUDIES
from benchmarks.tables import RESULTS, Table
from click.testing import CliRunner

DOCS = RESULTS.parent
PAGES = {page: page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
BY_OTHERS = {  # by `python -m benchmarks performance`, `run` and `python -m examples.streams`
    "speed", "speed_machine", "speed_targets", "research_sparse", "research_faces",
    "streams_by_tenth",
    "online_srda_parts",  # of copies of the source without a part
}  # fmt: skip


def test_every_table_is_shown_has_a_study_and_is_as_its_study_writes_it(tmp_path):
    shown = set()
    for page, text in PAGES.items():
        for kind, name, first in re.findall(
            r"^```\{(study|rows)\} (.+)$(?:\n:only: (.+)$)?", text, re.M
        ):
            folder = RESULTS if kind == "study" else page.parent
            shown.add(folder / f"{name}.csv")
            assert not first or Table.read(name, folder).only(first).rows, (name, first)
    assert shown == {*RESULTS.glob("*.csv"), *(DOCS / "reproducibility").rglob("*.csv")}
    assert set(STUDIES) | BY_OTHERS == {path.stem for path in RESULTS.glob("*.csv")}
    for path in shown:
        table = Table.read(path.stem, path.parent)
        assert {len(row) for row in table.rows} == {len(table.header)}
        table.write(tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == path.read_bytes(), path


@pytest.mark.parametrize("name", ["claims", "held_out_summary"])
def test_what_follows_from_other_results_is_up_to_date(name):
    table, stored = STUDIES[name]().table(), Table.read(name)
    assert (table.header, table.rows) == (stored.header, stored.rows)


def test_the_command_writes_the_table_of_a_study(tmp_path, monkeypatch):
    class Two:
        name = "two"

        def table(self):
            return Table(["set", "score, %", "samples"], [["a, b", 0.8664, 1797]])

    monkeypatch.setitem(STUDIES, "sets", Two)
    monkeypatch.setattr("benchmarks.__main__.RESULTS", tmp_path)
    done = CliRunner().invoke(main, ["study", "sets", "--write"])
    assert done.exit_code == 0, done.output
    assert "| a, b | 0.866 | 1,797 |" in done.output
    assert (tmp_path / "sets.csv").read_text() == 'set,"score, %",samples\n"a, b",0.866,1797\n'


@pytest.mark.nightly
def test_every_method_runs_and_is_measured(tmp_path):
    lda = "LinearDiscriminantAnalysis"  # these take dense rows only, and the rest sparse ones
    dense = {"LDA", lda, f'{lda}("lsqr")', f'{lda}("eigen")', "Nystroem, RidgeClassifier"}
    sparse = [method for name, method in METHODS.items() if name not in dense]
    results = harness.run([Embeddings(400, 30, 5)], [METHODS[name] for name in dense], 2, 60)
    results += harness.run([RCV1Like(rows=400, columns=300)], sparse, 2, 60)
    assert {result.method for result in results} == set(METHODS)
    for result in results:
        assert not result.skipped, result
        assert len(result.seconds) == len(result.cpu) == len(result.peak) == 2
    assert all(name in harness.table(results, "chi2") for name in METHODS)
    harness.save(results, tmp_path / "out" / "a.json")
    assert len(json.loads((tmp_path / "out" / "a.json").read_text())["results"]) == len(results)


def test_what_the_page_is_made_of_can_be_run():
    run = {(problem, method) for problem, methods, *_ in performance.SUITE for method in methods}
    for problem, methods, base, _ in performance.SUITE:
        assert problem in PROBLEMS
        assert {base} <= set(methods) <= set(METHODS)
    for target in performance.TARGETS:
        assert {(target.problem, method) for method in (target.base, *target.methods)} <= run
