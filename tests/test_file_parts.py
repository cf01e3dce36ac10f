"""Large files in parts: what the parts hold is what the whole file holds, row by row."""

from __future__ import annotations

import csv
import json
import pickle
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from narrows import SRDA
from narrows.errors import DataError
from narrows.read import Dataset
from tests.cases import assert_same, labelled
from tests.inside import Options, fit_in_parts, parts_of, pretend

kinds = pytest.mark.parametrize("kind", ["svm", "csv", "jsonl", "parquet"])


def write(folder, kind, n=200):
    """A file of made-up samples, or texts."""
    X, y = labelled(n=n, sparse=kind == "svm")
    labels, path = np.unique(y, return_inverse=True)[1], folder / f"a.{kind}"
    if kind == "svm":
        dump_svmlight_file(X, labels, str(path), zero_based=False, comment="made up")
    elif kind == "csv":
        with open(path, "w", newline="", encoding="utf-8-sig") as file:
            rows = csv.writer(file)
            rows.writerow([*(f'a "{k}"\nof, {k}' for k in range(X.shape[1])), "class"])
            rows.writerows([*x, y] for x, y in zip(X.tolist(), y.tolist(), strict=True))
    elif kind == "jsonl":
        rows = [{"label": y, "text": f"{y} é {int(x[0])}"} for x, y in zip(X, y, strict=True)]
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n")
    else:
        table = pa.table({f"x{k}": X[:, k] for k in range(X.shape[1])} | {"label": y})
        pq.write_table(table, path, row_group_size=30)
    return str(path)


def read(dataset):
    """All samples, or texts, and labels."""
    rows, labels = [], []
    for chunk in dataset:
        X = chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X
        rows += X if isinstance(X, list) else X.tolist()
        labels += chunk.y.tolist()
    return rows, labels


def options_for(kind):
    svmlight = {"width": 7, "zero_based": False} if kind == "svm" else {}
    return Options(may_be_empty=True, **svmlight)


@pytest.mark.parametrize("size", [100, 3000])
@kinds
def test_parts_hold_what_the_file_holds(tmp_path, kind, size):
    path, options = write(tmp_path, kind), options_for(kind)
    parts = pickle.loads(pickle.dumps(parts_of(path, size)))
    assert len(parts) > 1
    found = [read(Dataset([path], options, part=part)) for part in parts]
    together = [list(chain.from_iterable(each)) for each in zip(*found, strict=True)]
    assert together == list(read(Dataset([path], options)))


def test_what_is_wrong_with_a_header_is_in_its_line(tmp_path):
    path = write(tmp_path, "csv")
    options = Options(label="klass", labels_required=True)
    for part in parts_of(path, 1000)[1:3]:
        with pytest.raises(DataError, match=r"a\.csv:1: expected a label column 'klass'"):
            Dataset([path], options, part=part)


@given(st.text(st.sampled_from('a,"\n \r'), max_size=60), st.integers(1, 20))
@example('5" pipe,a\n"b\nc",d\n', 1)
def test_csv_that_may_be_read_otherwise_is_not_cut(tmp_path_factory, content, size):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text(content, newline="")
    data, parts = path.read_bytes(), parts_of(str(path), size)
    if parts == [str(path)]:
        return
    pieces = [data[part.first : part.last].decode() for part in parts]

    def rows(texts):
        return [row for text in texts for row in csv.reader(text.splitlines(True), strict=True)]

    try:
        expected = rows([content])
    except csv.Error:
        return
    assert rows(pieces) == expected


@kinds
def test_errors_name_the_line_in_the_whole_file(tmp_path, kind):
    path, options = write(tmp_path, kind), options_for(kind)
    if kind == "parquet":
        table = pq.read_table(path)
        column = table.column("x0").to_pylist()
        column[150] = None
        pq.write_table(table.set_column(0, "x0", pa.array(column)), path, row_group_size=30)
    else:
        lines = Path(path).read_bytes().split(b"\n")
        lines[150] = b"what is this"
        Path(path).write_bytes(b"\n".join(lines))
    with pytest.raises(DataError) as whole:
        read(Dataset([path], options))
    assert whole.value.line is not None
    parts = (Dataset([path], options, part=part) for part in parts_of(path, 1000))
    with pytest.raises(DataError) as found:
        list(map(read, parts))
    assert str(found.value) == str(whole.value)


@pytest.mark.filterwarnings("ignore:IG. expected a positive score")
@kinds
def test_engines_learn_files_in_parts(tmp_path, kind, monkeypatch):
    path = write(tmp_path, kind)
    expected = fit_in_parts(SRDA(), [path])
    pretend(monkeypatch, "large files", 700)
    assert_same(fit_in_parts(SRDA(), [path]), expected, atol=1e-9)
