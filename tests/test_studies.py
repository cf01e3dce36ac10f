"""The tables of the documentation have studies, and what studies compute is right."""

from __future__ import annotations

import re

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.studies import STUDIES, classifiers, embeddings, refits
from benchmarks.studies.calibration import calibration_error
from benchmarks.studies.corpora import Split
from benchmarks.tables import RESULTS, Table, middle
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

DOCS = RESULTS.parent
FILES = {path.stem for path in RESULTS.glob("*.csv")}
BY_OTHERS = {  # by `python -m benchmarks performance`, `run` and `python -m examples.streams`
    "speed", "speed_machine", "speed_targets", "research_sparse", "research_faces",
    "streams_by_tenth",
    "online_srda_parts",  # of copies of the source without a part
}  # fmt: skip


def test_every_file_of_results_has_a_study_and_a_page_that_shows_it():
    assert set(STUDIES) | BY_OTHERS == FILES
    texts = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    shown = {
        name for text in texts for name in re.findall(r"^```\{study\} (.+)$", text, flags=re.M)
    }
    assert shown == FILES


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_of_results_is_what_its_table_writes(name, tmp_path):
    table = Table.read(name)
    assert {len(row) for row in table.rows} == {len(table.header)}
    table.write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (RESULTS / f"{name}.csv").read_bytes()


@pytest.mark.parametrize("name", ["claims", "held_out_summary"])
def test_what_follows_from_other_results_is_up_to_date(name):
    table, stored = STUDIES[name]().table(), Table.read(name)
    assert (table.header, table.rows) == (stored.header, stored.rows)


def test_the_pages_show_rows_that_exist():
    found = 0
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for kind, name, first in re.findall(r"\{(study|rows)\} (\S+)\n:only: (.+)\n", text):
            folder = RESULTS if kind == "study" else page.parent
            assert Table.read(name, folder).only(first).rows, (name, first)
            found += 1
    assert found > 10


def test_each_csv_file_beside_a_page_is_shown_and_what_its_table_writes(tmp_path):
    shown = {
        page.parent / f"{name}.csv"
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"^```\{rows\} (\S+)$", page.read_text(encoding="utf-8"), re.M)
    }
    folder = DOCS / "reproducibility"
    assert shown == set(folder.rglob("*.csv"))
    for path in shown:
        table = Table.read(path.stem, path.parent)
        assert {len(row) for row in table.rows} == {len(table.header)}
        table.write(tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


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


def test_cells_are_text_that_markdown_and_csv_show():
    table = Table(
        ["set", "score", "samples"],
        [["digits", 0.8664, 1797], ["a|b", 1.0, "12,345.6"], ["x", "2,869, 94.5", "-1000"]],
    )
    assert table.rows[1] == ["a|b", "1.000", "12345.6"]
    assert table.markdown().splitlines()[2:] == [
        "| digits | 0.866 | 1,797 |",
        r"| a\|b | 1.000 | 12,345.6 |",
        "| x | 2,869, 94.5 | -1,000 |",
    ]
    assert table.cell("samples", "digits") == "1797"
    assert table.only("digits").header == ["score", "samples"]

    assert middle([0.5, 0.25, 1.0]) == "0.500 (0.250 to 1.000)"
    assert middle([0.5, 0.5001, 0.4999]) == "0.500"


def test_calibration_error_is_the_gap_of_confidence_and_accuracy():
    right = np.array([True, True, True, False])
    assert calibration_error(np.full(4, 0.75), right) == 0.0
    assert calibration_error(np.full(4, 0.95), right) == pytest.approx(0.2)
    confidence = np.array([1.0, 1.0, 0.5, 0.5])  # the last bin includes 1
    assert calibration_error(confidence, np.array([True, True, True, True])) == 0.25


def _vectors():
    """Vectors of six classes in 12 dimensions, two thirds for training."""
    random = np.random.default_rng(0)
    y = np.arange(240) % 6
    X = (random.normal(size=(240, 12)) + 3 * random.normal(size=(6, 12))[y]).astype(np.float32)
    return Split(X[:160], y[:160], X[160:], y[160:])


def test_scores_of_embeddings_are_those_of_their_definitions():
    part = _vectors()
    found = embeddings.scores(part.X, part.y, part.X_test, part.y_test)
    knn = KNeighborsClassifier(15, metric="cosine").fit(part.X, part.y)
    assert found.knn == pytest.approx(knn.score(part.X_test, part.y_test))
    near = cosine_similarity(part.X_test, part.X).argsort(axis=1)[:, -10:]
    assert found.same == pytest.approx(np.mean(part.y[near] == part.y_test[:, None]))
    assert found.svm > 0.9


@pytest.mark.slow
def test_refits_without_a_change_leave_neighbours_as_they_are():
    every = refits.refits(_vectors(), lambda y, seed: np.arange(len(y)))
    for name, made in every.items():
        for angle, old, new, stored, aligned in made:
            assert angle < 1e-3, name
            assert old == new == stored == pytest.approx(aligned), name
    assert list(every) == ["OC(5)", "SRDA(5)", "PCA(12)"]


def test_scores_by_classifier_are_those_of_scikit_learn():
    part = _vectors()
    found = classifiers.f1(part.X, part.y, part.X_test, part.y_test, "micro", "macro")
    made = LinearSVC(random_state=0), LogisticRegression(), KNeighborsClassifier()
    predicted = [each.fit(part.X, part.y).predict(part.X_test) for each in made]
    for scores, kind in zip(found, ("micro", "macro"), strict=True):
        expected = [f1_score(part.y_test, each, average=kind) for each in predicted]
        np.testing.assert_allclose(scores, expected)
