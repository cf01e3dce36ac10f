"""Texts in columns of CSV files, Parquet files and tables."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import narrows
from narrows.command.cli import main
from narrows.errors import DataError, ParameterError
from narrows.read import Dataset, Source, iter_chunks, source_of
from tests.inside import Options, pretend
from tests.test_checkpoint import stop_after

WORDS = {"billing": "invoice refund card charge", "network": "router cable signal drop"}
TRICKY = [
    'a "quoted" word, and a comma',
    "two\nlines",
    "three\r\nlines\n\nof text",
    "",
    "höher 漢字 🦉",
    " spaces \t around ",
]


def tickets(n=60, seed=0):
    """Texts of two classes, the first of them hard to quote, with their classes."""
    rng = np.random.default_rng(seed)
    queues = [list(WORDS)[k % 2] for k in range(n)]
    bodies = [" ".join(rng.choice(WORDS[queue].split(), 6)) for queue in queues]
    for k, text in enumerate(TRICKY[:n]):
        bodies[k] += " " + text if text else text
    return queues, bodies


def write_csv(path, columns, **settings):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, **settings)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return str(path)


def write(path, columns):
    """Write columns in the format of the suffix."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path, row_group_size=25)
    elif path.suffix == ".jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        write_csv(path, columns)
    return str(path)


def gathered(inputs, **options):
    chunks = list(iter_chunks(inputs, **options))
    labels = [chunk[1] for chunk in chunks]
    texts = [text for X, _ in chunks for text in X]
    return texts, None if labels[0] is None else np.concatenate(labels)


def ticket_columns(n=60):
    queues, bodies = tickets(n)
    subjects = [f"re {queue[:3]}" for queue in queues]
    return {"id": list(range(n)), "queue": queues, "subject": subjects, "body": bodies}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def called(command):
        status = main(command.split())
        return status, *capsys.readouterr()

    return called


# -- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.jsonl"])
@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_texts_are_read_from_every_format(tmp_path, name, chunk_rows):
    columns = ticket_columns()
    path = write(tmp_path / name, columns)
    texts, y = gathered(path, label="queue", text="body", chunk_rows=chunk_rows)
    assert texts == columns["body"]
    assert y.tolist() == columns["queue"]
    texts, _ = gathered(path, label="queue", text=["subject", "body"], chunk_rows=chunk_rows)
    pairs = zip(columns["subject"], columns["body"], strict=True)
    assert texts == [f"{subject}\n{body}" for subject, body in pairs]


@pytest.mark.parametrize("table", [pa.table, pd.DataFrame, pl.DataFrame])
def test_texts_are_read_from_tables(table):
    columns = ticket_columns()
    texts, y = gathered(table(columns), label="queue", text=("body",), chunk_rows=11)
    assert texts == columns["body"]
    assert y.tolist() == columns["queue"]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
)
def test_every_arrow_type_of_strings_is_text(kind):
    texts = pa.array(["b", "", "höher", "b"], kind)
    found, y = gathered(pa.table({"t": texts, "n": [1, 2, 3, 4]}).slice(1), text="t", chunk_rows=2)
    assert found == ["", "höher", "b"]
    assert y is None


def test_quoting_of_other_programs_is_read(tmp_path):
    columns = ticket_columns()
    crlf = write_csv(tmp_path / "a.csv", columns, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    assert gathered(crlf, label="queue", text="body")[0] == columns["body"]
    (tmp_path / "mark.csv").write_bytes(b'\xef\xbb\xbfbody,class\n"x, y",a\n\nz,b\n')
    texts, y = gathered(tmp_path / "mark.csv", text="body")
    assert (texts, y.tolist()) == (["x, y", "z"], ["a", "b"])


def test_labels_are_as_for_numbers(tmp_path):
    columns = {"text": ["a", "b", "c"], "label": [3, 1, 3]}
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        _, y = gathered(write(tmp_path / name, columns), text="text")
        assert y.tolist() == [3, 1, 3]
    mixed = write_csv(tmp_path / "mixed.csv", {"text": ["a", "b"], "label": [3, "x"]})
    assert gathered(mixed, text="text")[1].tolist() == ["3", "x"]
    no_labels = write_csv(tmp_path / "none.csv", {"text": ["a", ""], "queue": ["x", "y"]})
    assert gathered(no_labels, text="text") == (["a", ""], None)
    # a column of texts is not taken for the labels
    by_class = write_csv(tmp_path / "class.csv", {"class": ["a", "b"], "label": ["x", "y"]})
    texts, y = gathered(by_class, text="class")
    assert (texts, y.tolist()) == (["a", "b"], ["x", "y"])


def test_a_cell_may_be_long_and_the_limit_of_csv_stays(tmp_path):
    before = csv.field_size_limit()
    long = "word " * 60_000
    path = write_csv(tmp_path / "a.csv", {"t": ["a", long, long], "label": "xyx"})
    first, second = (iter_chunks(path, text="t", chunk_rows=1) for _ in range(2))
    next(first), next(second)
    first.close()
    assert next(second)[0] == [long]
    second.close()
    assert csv.field_size_limit() == before
    longer = write_csv(tmp_path / "b.csv", {"t": ["\n".join([long] * 5)], "label": "x"})
    with pytest.raises(DataError, match=r"b\.csv:2: expected a line of at most 1 MB"):
        gathered(longer, text="t", max_line_mb=1)


def test_one_chunk_is_in_memory(tmp_path, monkeypatch):
    pretend(monkeypatch, "blocks of lines", 1000)
    columns = {"queue": ["a", "b"] * 2000, "body": ["invoice " * 200] * 4000}
    path = write_csv(tmp_path / "a.csv", columns)
    tracemalloc.start()
    texts, _ = next(iter_chunks(path, label="queue", text="body", chunk_rows=10))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(texts) == 10
    assert peak < os.path.getsize(path) / 5


# -- errors --------------------------------------------------------------------------------------

WRONG_CSV = [
    (b"a,t\nx,y\n", {"text": "body"}, r"a\.csv:1: expected a column 'body', got the columns 'a', "),
    (b"label,t\nx,\xff\n", {}, r"a\.csv:2: expected a CSV row in UTF-8, got other bytes"),
    (b"label,t\nx,\"a\n\xe9\"\n", {}, r"a\.csv:3: expected a CSV row in UTF-8"),
    (b"label,t\nx,y\nx,y, z\n", {}, r"a\.csv:3: expected 2 cells, got 3\. Put cells that hold"),
    (b"label,t\nx,\"y\n", {}, r"a\.csv:2: expected a CSV row, got another line"),
    (b"label,t\nx,y\n,y\n", {}, r"a\.csv:3: 'label': expected a label, got none"),
    (b"", {}, r"a\.csv: expected a header"),
    (b"label,t\n", {}, r"a\.csv: expected at least one row"),
    (b"label,t,t\nx,y,z\n", {}, r"a\.csv:1: expected columns of different names, got two 't'"),
    (b"label,class,t\nx,y,z\n", {}, r"expected one label column"),
    (b"label,t\nx,y\n", {"label": "t"}, r"columns that are named once, got 't' twice"),
    (b"label,t\nx,y\n", {"text": ()}, r"`text`: expected the name of a column"),
    (b"label,t\nx,y\n", {"text": [1]}, r"`text`: expected the name of a column"),
    (b"label,t\nx,y\n", {"split": "test"}, r"expected no `split`, which CSV does not support"),
    (b"label,t\nx,y\n", {"vector": "t"}, r"expected one of them, got both"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "options", "message"), WRONG_CSV)
def test_what_is_wrong_in_a_csv_file_is_named(tmp_path, content, options, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises((DataError, ParameterError), match=message):
        gathered(tmp_path / "a.csv", **{"text": "t", **options})


WRONG_TABLES = [
    ({"t": ["a", None], "n": [1, 2]}, "t", r":2: column 't': expected no nulls, got one"),
    ({"t": ["a", "b"], "u": ["a", None]}, ["t", "u"], r":2: column 'u': expected no nulls"),
    ({"t": [1, 2]}, "t", r": column 't': expected texts, got int64"),
    ({"t": [b"a"]}, "t", r": column 't': expected texts, got binary"),
    ({"u": ["a"], "v": [1]}, "t", r": expected a column 't', got the columns 'u', 'v'\. Set"),
    (
        {"t": pa.array([b"a", b"\xff"]).view(pa.string())}, "t",
        r":2: column 't': expected UTF-8, got other bytes",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "text", "message"), WRONG_TABLES)
def test_what_is_wrong_in_a_table_is_named(tmp_path, columns, text, message):
    table = pa.table(columns)
    with pytest.raises(DataError, match=message):
        list(iter_chunks(table, text=text, chunk_rows=1))
    path = str(tmp_path / "a.parquet")
    pq.write_table(table, path)
    with pytest.raises(DataError, match=r"a\.parquet" + message):
        list(iter_chunks(path, text=text, chunk_rows=1))


def test_texts_taken_for_numbers_are_named(tmp_path):
    columns = ticket_columns()
    advice = r"Set `text` for texts"
    path = write_csv(tmp_path / "a.csv", {"body": columns["body"], "class": columns["queue"]})
    with pytest.raises(DataError, match=rf"a\.csv:2: column 'body': expected a number.*{advice}"):
        gathered(path)
    with pytest.raises(DataError, match=r"expected a number, got 'word.{36}'…\. Set `text`"):
        gathered(write_csv(tmp_path / "a.csv", {"body": ["word " * 99], "class": ["x"]}))
    with pytest.raises(DataError, match=r"a\.csv:3: column 'a': expected a number, got ''\."):
        gathered(write_csv(tmp_path / "a.csv", {"a": [1, ""], "class": "xy"}))
    with pytest.raises(DataError, match=rf"column 'body': expected numbers, got string\. {advice}"):
        gathered(pa.table({"body": columns["body"]}))


# -- at the command line -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_csv_of_texts_from_compare_to_transform(run, tmp_path):
    columns = ticket_columns()
    write(tmp_path / "tickets.csv", columns)
    status, out, _ = run(
        "compare tickets.csv --label queue --text body --methods oc,ocfs --dims 1 --report r.html"
    )
    assert status == 0
    assert "ocfs" in out
    assert "--label queue --text body" in (tmp_path / "r.html").read_text()
    fit = "fit tickets.csv --label queue --text subject --text body --method oc -o m.narrows"
    assert run(fit)[0] == 0
    model = narrows.load("m.narrows")
    assert source_of(model).text == ("subject", "body")
    assert set(model.classes_) == set(WORDS)
    status, out, _ = run("info m.narrows")
    assert status == 0
    assert "invoice" in out
    assert run("transform m.narrows tickets.csv -o r.npz")[0] == 0
    with np.load("r.npz") as reduced:
        X, y = reduced["X"], reduced["y"]
    assert y.tolist() == columns["queue"]
    pairs = zip(columns["subject"], columns["body"], strict=True)
    texts = [f"{subject}\n{body}" for subject, body in pairs]
    expected = model.transform(source_of(model).tfidf.transform(texts))
    np.testing.assert_allclose(X, expected)
    # other formats, and tables, with the same columns
    for name in ("tickets.parquet", "tickets.jsonl"):
        write(tmp_path / name, columns)
        assert run(f"transform m.narrows {name} -o other.npz")[0] == 0
        with np.load("other.npz") as other:
            np.testing.assert_array_equal(other["X"], X)
        assert run(f"update m.narrows {name} -o u.narrows")[0] == 0
        assert narrows.load("u.narrows").n_samples_seen_ == 120


UNREAD = "narrows: a{}: columns that are not read: {}. Add --table to use them, too.\n"


@pytest.mark.parametrize("verb", ["fit", "compare"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.slow
def test_columns_beside_the_texts_are_named(run, tmp_path, verb, suffix):
    queues, bodies = tickets()
    more = {f"c{k:02}": [f"{k}"] * 60 for k in range(12)}
    options = "--method oc -o m.narrows" if verb == "fit" else "--methods oc"
    command = f"{verb} a{suffix} --label queue --text body {options}"
    for columns, named in (
        ({}, ""),
        ({"plan": ["basic"] * 60, "age": ["4"] * 60}, "'plan', 'age'"),
        (more, ", ".join(map(repr, list(more)[:10])) + ", …"),
    ):
        write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies} | columns)
        status, _, err = run(command)
        assert (status, err) == (0, UNREAD.format(suffix, named) if named else "")
    assert "columns that are not read" not in run(f"{command} --text c00 --table")[2]
    write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies, "title": bodies})
    assert run(f"{command} --text title")[2] == ""


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (0, ""),
        (1, "narrows: 1 text is empty, with 0 for every feature.\n"),
        (9, "narrows: 9 texts are empty, with 0 for every feature.\n"),
    ],
)
@pytest.mark.slow
def test_empty_texts_are_counted(run, tmp_path, suffix, gone, said):
    queues, bodies = tickets()
    for k in range(gone):
        bodies[10 + k] = ("", " \t", "\n")[k % 3]
    write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies})
    columns = f"a{suffix} --label queue --text body"
    for options in (
        "--method kernelsrda",  # in two passes
        "--method oc --vectorizer hashing --hash-columns 64",
        "--method oc --idf-sample 20",
    ):
        status, _, err = run(f"fit {columns} {options} -o m.narrows")
        assert (status, err) == (0, said), options
    assert run(f"update m.narrows a{suffix} -o n.narrows")[2].endswith(said)
    assert run(f"compare {columns} --methods oc")[2] == said


def test_a_model_of_json_lines_reads_the_other_formats(run, tmp_path):
    columns = ticket_columns()
    json_columns = {"label": columns["queue"], "text": columns["body"]}
    write(tmp_path / "a.jsonl", json_columns)
    assert run("fit a.jsonl --method ocfs --n-features 3 -o m.narrows")[0] == 0
    assert source_of(narrows.load("m.narrows")).text is None
    write(tmp_path / "a.parquet", json_columns)  # the column `text` is the default
    assert run("transform m.narrows a.parquet -o r.npz")[0] == 0
    write(tmp_path / "a.csv", columns)
    status, _, err = run("transform m.narrows a.csv -o r.npz")
    assert status == 1
    assert "expected a column 'text', got the columns 'id', 'queue', 'subject', 'body'. Set" in err
    assert run("transform m.narrows a.csv --text body -o c.npz")[0] == 0
    # and numbers are still numbers
    (tmp_path / "n.csv").write_text("a,b,class\n1,2,x\n3,5,y\n")
    assert run("fit n.csv --method oc -o n.narrows")[0] == 0
    status, _, err = run("transform n.narrows a.csv --text body -o r.npz")
    assert status == 2
    assert "a.csv: expected numbers, as n.narrows has, got texts" in err
    status, _, err = run("transform m.narrows n.csv --text a -o r.npz")
    assert status == 0  # cells of any kind are texts


def test_a_test_file_of_another_format_is_compared(run, tmp_path):
    columns = ticket_columns()
    both = {"label": columns["queue"], "text": columns["body"]}
    write(tmp_path / "a.jsonl", both)
    write(tmp_path / "b.csv", both)
    compare = "compare {} --test {} --methods oc --dims 1"
    assert run(compare.format("a.jsonl", "b.csv"))[0] == 0
    assert run(compare.format("b.csv", "a.jsonl") + " --text text")[0] == 0


def test_texts_are_converted_to_json_lines(run, tmp_path):
    columns = ticket_columns()
    write(tmp_path / "a.csv", columns)
    assert run("convert a.csv a.jsonl.gz --label queue --text body")[0] == 0
    texts, y = gathered(tmp_path / "a.jsonl.gz")
    assert (texts, y.tolist()) == (columns["body"], columns["queue"])
    status, _, err = run("convert a.csv b.parquet --label queue --text body")
    assert status == 2
    assert "b.parquet: expected a format for texts, got one for numbers" in err


def test_a_stopped_fit_is_resumed(run, tmp_path, monkeypatch):
    write(tmp_path / "a.csv", ticket_columns())
    fit = "fit a.csv --label queue --text subject --text body --method oc --chunk-rows 10"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(f"{fit} -o m.narrows --checkpoint c.narrows --every 30")[0] == 130
    status, _, err = run(f"{fit} -o m.narrows --checkpoint c.narrows --resume")
    assert status == 0, err
    assert "resuming after 30 rows" in err
    whole, resumed = narrows.load("whole.narrows"), narrows.load("m.narrows")
    np.testing.assert_array_equal(whole.components_, resumed.components_)
    assert source_of(whole).text == source_of(resumed).text == ("subject", "body")


def test_a_checkpoint_of_other_columns_is_refused(run, tmp_path, monkeypatch):
    write(tmp_path / "a.csv", ticket_columns())
    fit = "fit a.csv --label queue --method oc --checkpoint c.narrows --every 1 -o m.narrows"
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        assert run(f"{fit} --text body --chunk-rows 10")[0] == 130
    status, _, err = run(f"{fit} --text subject --chunk-rows 10 --resume")
    assert status == 2
    assert "text was 'body', now 'subject'" in err


def test_a_pipe_of_texts(run, tmp_path, monkeypatch):
    path = write_csv(tmp_path / "a.csv", ticket_columns())
    for more in ("", " --idf-sample 20"):
        with open(path) as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            status, out, _ = run(f"fit - --label queue --text body --method oc -o m.narrows{more}")
        assert status == 0
        assert "60 rows, 2 classes" in out


# -- models and clusters -------------------------------------------------------------------------


def test_a_source_keeps_its_columns(tmp_path):
    assert Source(text="body").text == ("body",)
    for text in (None, ("body",), ("subject", "body")):
        source = Source(text=text)
        assert Source.of(json.loads(json.dumps(source.settings())), {}) == source
    assert Source(text="body").settings()["text"] == "body"  # as version 0.1 wrote it


@pytest.mark.slow
def test_texts_on_dask(tmp_path):
    pytest.importorskip("distributed")
    import dask.dataframe as dd
    from distributed import Client

    from narrows.engines.dask import fit, transform

    columns = ticket_columns()
    path = write(tmp_path / "a.csv", columns)
    other = write(tmp_path / "b.csv", {name: values[:30] for name, values in columns.items()})
    frame = pd.DataFrame(columns)
    with Client(processes=False, dashboard_address=None, n_workers=1) as client:
        of_files = fit(narrows.OC(), [path, other], client, label="queue", text="body")
        of_frames = fit(narrows.OC(), [frame, frame[:30]], client, label="queue", text="body")
        of_dask = fit(
            narrows.OC(), dd.from_pandas(frame, npartitions=2), client, label="queue", text="body"
        )
        assert of_files.n_samples_seen_ == of_frames.n_samples_seen_ == 90
        np.testing.assert_allclose(of_files.components_, of_frames.components_)
        assert of_dask.n_samples_seen_ == 60
        expected = of_dask.transform(source_of(of_dask).tfidf.transform(columns["body"]))
        for data in ([path], [frame], dd.from_pandas(frame, npartitions=2)):
            reduced = transform(of_dask, data).compute()
            np.testing.assert_allclose(reduced, expected)
        with pytest.raises(ValueError, match="expected a file or a table of texts, got an array"):
            fit(narrows.OC(), [(np.eye(2), ["a", "b"])], client, text="body")


def test_the_same_model_from_every_format(tmp_path):
    columns = ticket_columns()
    found = []
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        path = write(tmp_path / name, columns)
        data = Dataset([path], Options("queue", ("body",)))
        assert data.is_text
        found.append([(chunk.X, chunk.y.tolist()) for chunk in data])
    assert found[0] == found[1] == found[2]
