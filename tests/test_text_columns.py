"""Texts in columns of CSV files, Parquet files and tables."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import narrows
from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks, source_of
from tests.test_read import gathered

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


def ticket_columns(n=60):
    queues, bodies = tickets(n)
    subjects = [f"re {queue[:3]}" for queue in queues]
    return {"id": list(range(n)), "queue": queues, "subject": subjects, "body": bodies}


# -- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.jsonl"])
def test_texts_are_read_from_every_format(tmp_path, name):
    columns = ticket_columns()
    path = write(tmp_path / name, columns)
    texts, y = gathered(path, label="queue", text="body", chunk_rows=7)
    assert texts == columns["body"]
    assert y.tolist() == columns["queue"]
    texts, _ = gathered(path, label="queue", text=["subject", "body"], chunk_rows=7)
    pairs = zip(columns["subject"], columns["body"], strict=True)
    assert texts == [f"{subject}\n{body}" for subject, body in pairs]


# -- errors --------------------------------------------------------------------------------------

WRONG_CSV = [
    (b"a,t\nx,y\n", {"text": "body"}, ":1: expected a column 'body'"),
    (b"label,t\nx,\xff\n", {}, ":2: .*UTF-8"),
    (b'label,t\nx,"a\n\xe9"\n', {}, ":3: .*UTF-8"),
    (b"label,t\nx,y\nx,y, z\n", {}, ":3: .*2 cells"),
    (b'label,t\nx,"y\n', {}, ":2: .*CSV row"),
    (b"label,t\nx,y\n,y\n", {}, ":3: 'label'"),
    (b"label,t,t\nx,y,z\n", {}, ":1: .*different names"),
    (b"label,class,t\nx,y,z\n", {}, "one label column"),
    (b"label,t\nx,y\n", {"label": "t"}, "named once"),
    (b"label,t\nx,y\n", {"text": ()}, "`text`"),
    (b"label,t\nx,y\n", {"text": [1]}, "`text`"),
    (b"label,t\nx,y\n", {"split": "test"}, "`split`"),
    (b"label,t\nx,y\n", {"vector": "t"}, "one of them, got both"),
]


@pytest.mark.parametrize(("content", "options", "message"), WRONG_CSV)
def test_what_is_wrong_in_a_csv_file_is_named(tmp_path, content, options, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises((DataError, ParameterError), match=message):
        gathered(tmp_path / "a.csv", **{"text": "t", **options})


WRONG_TABLES = [
    ({"t": ["a", None], "n": [1, 2]}, "t", ":2: column 't'.* nulls"),
    ({"t": ["a", "b"], "u": ["a", None]}, ["t", "u"], ":2: column 'u'.* nulls"),
    ({"t": [1, 2]}, "t", "column 't'.* got int64"),
    ({"t": [b"a"]}, "t", "column 't'.* got binary"),
    ({"u": ["a"], "v": [1]}, "t", "column 't'"),
    ({"t": pa.array([b"a", b"\xff"]).view(pa.string())}, "t", ":2: column 't'.*UTF-8"),
]


@pytest.mark.parametrize(("columns", "text", "message"), WRONG_TABLES)
def test_what_is_wrong_in_a_table_is_named(tmp_path, columns, text, message):
    table = pa.table(columns)
    with pytest.raises(DataError, match=message):
        list(iter_chunks(table, text=text, chunk_rows=1))
    path = str(tmp_path / "a.parquet")
    pq.write_table(table, path)
    with pytest.raises(DataError, match=rf"a\.parquet.*{message}"):
        list(iter_chunks(path, text=text, chunk_rows=1))


# -- at the command line -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_csv_of_texts_from_compare_to_transform(run, tmp_path):
    columns = ticket_columns()
    for name in ("tickets.csv", "tickets.parquet", "tickets.jsonl"):
        write(tmp_path / name, columns)
    fit = "fit tickets.csv --label queue --text subject --text body --method oc -o m.narrows"
    assert run(fit)[0] == 0
    model = narrows.load("m.narrows")
    assert source_of(model).text == ("subject", "body")
    assert "invoice" in run("info m.narrows")[1]
    pairs = zip(columns["subject"], columns["body"], strict=True)
    texts = [f"{subject}\n{body}" for subject, body in pairs]
    expected = model.transform(source_of(model).tfidf.transform(texts))
    for name in ("tickets.csv", "tickets.parquet", "tickets.jsonl"):
        assert run(f"transform m.narrows {name} -o r.npz")[0] == 0
        with np.load("r.npz") as reduced:
            np.testing.assert_allclose(reduced["X"], expected)
            assert reduced["y"].tolist() == columns["queue"]
        assert run(f"update m.narrows {name} -o u.narrows")[0] == 0
        assert narrows.load("u.narrows").n_samples_seen_ == 120
    assert run("convert tickets.csv a.jsonl.gz --label queue --text body")[0] == 0
    assert gathered(tmp_path / "a.jsonl.gz")[0] == columns["body"]
    assert run("convert tickets.csv b.parquet --label queue --text body")[0] == 2


@pytest.mark.parametrize("verb", ["fit", "compare"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.slow
def test_columns_beside_the_texts_are_named(run, tmp_path, verb, suffix):
    queues, bodies = tickets()
    options = "--method oc -o m.narrows" if verb == "fit" else "--methods oc"
    command = f"{verb} a{suffix} --label queue --text body {options}"
    more = {f"c{k:02}": [f"{k}"] * 60 for k in range(12)}
    for columns, named in (({}, ""), (more, ", ".join(map(repr, list(more)[:10])) + ", …")):
        write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies} | columns)
        status, _, err = run(command)
        assert (status, err.count("\n"), named in err) == (0, len(named) > 0, True)
    assert "columns that are not read" not in run(f"{command} --text c00 --table")[2]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize(("gone", "said"), [(0, ""), (1, "1 text is empty"), (9, "9 texts are")])
@pytest.mark.slow
def test_empty_texts_are_counted(run, tmp_path, suffix, gone, said):
    queues, bodies = tickets()
    for k in range(gone):
        bodies[10 + k] = ("", " \t", "\n")[k % 3]
    write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies})
    columns = f"a{suffix} --label queue --text body"
    for command in (
        f"fit {columns} -o m.narrows --method kernelsrda",  # in two passes
        f"fit {columns} -o m.narrows --method oc --vectorizer hashing --hash-columns 64",
        f"fit {columns} -o m.narrows --method oc --idf-sample 20",
        f"update m.narrows a{suffix} -o n.narrows",
        f"compare {columns} --methods oc",
    ):
        status, _, err = run(command)
        assert (status, err.count("empty"), said in err) == (0, gone > 0, True), command


def test_a_test_file_of_another_format_is_compared(run, tmp_path):
    columns = ticket_columns()
    both = {"label": columns["queue"], "text": columns["body"]}
    write(tmp_path / "a.jsonl", both)
    write(tmp_path / "b.csv", both)
    compare = "compare {} --test {} --methods oc --dims 1"
    assert run(compare.format("a.jsonl", "b.csv"))[0] == 0
    assert run(compare.format("b.csv", "a.jsonl") + " --text text")[0] == 0


# -- models and clusters -------------------------------------------------------------------------


@pytest.mark.slow
def test_texts_on_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask.dataframe as dd

    from narrows.engines.dask import fit, transform

    columns = ticket_columns()
    path = write(tmp_path / "a.csv", columns)
    frame = pd.DataFrame(columns)
    sources = [path], [frame], dd.from_pandas(frame, npartitions=2)
    with distributed.Client(processes=False, dashboard_address=None, n_workers=1) as client:
        models = [fit(narrows.OC(), data, client, label="queue", text="body") for data in sources]
        expected = models[0].transform(source_of(models[0]).tfidf.transform(columns["body"]))
        for model, data in zip(models, sources, strict=True):
            assert model.n_samples_seen_ == 60
            np.testing.assert_allclose(transform(model, data).compute(), expected)
        with pytest.raises(ValueError, match="a file or a table of texts"):
            fit(narrows.OC(), [(np.eye(2), ["a", "b"])], client, text="body")
