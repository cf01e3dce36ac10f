"""Integers beyond 2^53, which floats round, as categories and labels of every type and file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from narrows.errors import DataError
from narrows.read import iter_chunks
from narrows.table import TableEncoder

IDS = {"int64": [2**62 + 1, 2**62 + 2, 2**62 + 3], "uint64": [2**63 + 1, 2**63 + 2, 2**63 + 3]}
WHICH = np.arange(60) % 3
CLOSE = [2**53 + 1, 2**53 + 2, 2**53 + 3]  # of which floats hold the second


def with_missing(kind, name, ids):
    """A column of integers and missing values."""
    arrow = pa.array(ids, kind)
    return {
        "pandas": lambda: pd.Series(ids, dtype={"int64": "Int64"}.get(kind, "UInt64")),
        "pandas categories": lambda: pd.Series(pd.Categorical(pd.array(ids, f"{kind}[pyarrow]"))),
        "arrow dictionary": lambda: arrow.dictionary_encode(),
        "arrow runs": lambda: pc.run_end_encode(arrow),
        "list of NaN": lambda: [np.nan if i is None else i for i in ids],
    }[name]()


NAMES = ["pandas", "pandas categories", "arrow dictionary", "arrow runs", "list of NaN"]


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("name", NAMES)
def test_integers_beside_missing_values_stay_as_they_are(name, kind):
    ids = [IDS[kind][k] if row % 10 else None for row, k in enumerate(WHICH)]
    expected = [*(f"id={i}" for i in IDS[kind]), "id=(missing)"]
    found = np.array([3 if i is None else IDS[kind].index(i) for i in ids])
    for encoder in (TableEncoder(categories=["id"]), TableEncoder()):
        X = encoder.fit_transform({"id": with_missing(kind, name, ids)})
        assert encoder.get_feature_names_out().tolist() == expected
        assert X.toarray().argmax(axis=1).tolist() == found.tolist()
        # another integer of the same float is none of the known ones
        other = with_missing(kind, name, [None, IDS[kind][2] + 1])
        assert encoder.transform({"id": other}).sum() == 1


def written(folder, form, ids):
    """Write a file whose labels are integers; return its path."""
    X, path = np.eye(3)[WHICH] + 0.25, str(folder / f"ids.{form.split()[-1]}")
    y = [ids[k] for k in WHICH]
    if form.endswith("parquet"):
        column = pa.array(y)
        if form.startswith("dictionary"):
            column = column.dictionary_encode()
        elif form.startswith("decimals"):
            column = column.cast(pa.decimal128(25, 0))
        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "label": column}), path)
    elif form.endswith("npz"):
        np.savez(path, X=X, y=np.array(y))
    else:
        point = ".0" * form.startswith("point")
        lines = {
            "csv": (f"{a},{b},{i}" for (a, b, _), i in zip(X, y, strict=True)),
            "svm": (f"{i}{point} 1:{a} 2:{b}" for (a, b, _), i in zip(X, y, strict=True)),
            "jsonl": (f'{{"text": "{"abc"[k]} d", "label": {ids[k]}{point}}}' for k in WHICH),
        }[form.split()[-1]]
        first = ["a,b,label"] if form == "csv" else []
        (folder / path).write_text("\n".join([*first, *lines, ""]))
    return path


FORMS = ["dictionary parquet", "decimals parquet", "npz", "csv", "point svm", "point jsonl"]


@pytest.mark.parametrize("ids", [IDS["int64"], CLOSE, [-i for i in reversed(CLOSE)]], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_labels_of_files_are_their_integers(tmp_path, form, ids):
    path = written(tmp_path, form, ids)
    y = np.concatenate([y for _, y in iter_chunks(path, chunk_rows=7)])
    assert y.dtype == np.int64
    assert y.tolist() == [ids[k] for k in WHICH]
    texts = [y for _, y in iter_chunks(path, labels="text")]
    assert np.concatenate(texts).tolist() == [str(ids[k]) for k in WHICH]


@pytest.mark.parametrize(
    ("form", "label"),
    [("svm", 2**63), ("point svm", 2**63 + 1), ("svm", -(2**63) - 1), ("jsonl", 2**63)],
)
def test_labels_that_no_integer_type_holds_are_refused(tmp_path, form, label):
    path = written(tmp_path, form, [label] * 3)
    with pytest.raises(DataError, match=str(label)):
        list(iter_chunks(path))
