"""Labels mean the same in every format: a model of one file reads another one right."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

from narrows import SRDA, load
from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks
from narrows.table import TableEncoder
from tests.conftest import nightly, slow
from tests.inside import fit_in_parts, pretend, transform_in_parts

# which samples each label has: 1 and 01 have the same
PLACES = {"1": 0, "01": 0, " 1": 0, "1.0": 0, "2": 1, "02": 1, " 2": 1, "2.0": 1, "a": 2, "3": 2}
EACH = 20
OF_UPDATE = re.compile("warning: classes that|has learned a file with these contents")
FORMS = ["csv", "-", "svm", "parquet", "parquet text", "npz", "jsonl", "jsonl text"]


def of_each(*labels):
    return [label for _ in range(EACH) for label in labels]


def samples(labels):
    X = np.random.default_rng(0).normal(size=(len(labels), 5))
    for row, label in zip(X, labels, strict=True):
        row[PLACES.get(label, 3)] += 30
    return X.round(3)


def table(labels, of_texts=False):
    """Columns of samples and their labels, or of texts."""
    X = samples(labels)
    if of_texts:
        words = np.array(["invoice", "router", "printer", "desk", "lamp"])
        return {"text": words[X.argmax(axis=1)], "label": labels}
    return {f"x{k}": column for k, column in enumerate(X.T.tolist())} | {"label": labels}


def as_csv(columns):
    return pd.DataFrame(columns).to_csv(index=False).encode()


class Files:
    """Writes samples with these labels in a form, and runs commands that read them."""

    def __init__(self, run, folder):
        self.run, self.folder, self.of_texts = run, folder, False

    def __call__(self, command, form, labels, more=""):
        """Run a command in which {} is a file of this form; return status, output, errors."""
        kind, _, text = form.partition(" ")
        integers = not text and all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in labels)
        typed = [int(label) for label in labels] if integers else labels
        path, stdin = self.folder / f"{command.split()[0]}.{kind}", None
        columns = table(labels, self.of_texts)
        if kind == "-":
            path, stdin = "-", as_csv(columns)
        elif kind == "csv":
            path.write_bytes(as_csv(columns))
        elif kind == "jsonl":
            frame = pd.DataFrame({**columns, "label": typed})
            path.write_text(frame.to_json(orient="records", lines=True))
        elif kind == "parquet":
            pq.write_table(pa.table({**columns, "label": typed}), path)
        elif kind == "npz":
            np.savez(path, X=samples(labels), y=np.array(typed))
        else:
            dump_svmlight_file(samples(labels), typed, str(path), zero_based=False)
        more += " --text text" * (self.of_texts and kind == "csv")
        status, out, err = self.run(command.format(path) + more, stdin=stdin)
        return status, out, "\n".join(x for x in err.splitlines() if not OF_UPDATE.search(x))

    def fit(self, form, labels, more=""):
        assert self("fit {} --method srda -o m.narrows", form, labels, more)[::2] == (0, "")

    def counts(self):
        model = load(self.folder / "m.narrows")
        return dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))


@pytest.fixture
def files(run, tmp_path):
    return Files(run, tmp_path)


PAIRS = [("csv", "csv"), ("csv", "npz")]
PAIRS += [slow("csv", form) for form in FORMS if form not in ("csv", "npz")]
PAIRS += [nightly(form, "csv") for form in FORMS if form != "csv"]
RULES = [
    # what was learned, today's labels, options, accuracy (None: refused), the classes afterwards
    (["1", "2", "a"], ["1", "2"], "", 1, {"1": 2, "2": 2, "a": 1}),
    (["1", "2", "3"], ["1", "2"], "", 1, {1: 2, 2: 2, 3: 1}),
    (["1", "2", "3"], ["1", "b"], "", None, {1: 1, 2: 1, 3: 1}),
    (["1", "2", "3"], ["1", "b"], "text", 0.5, {"1": 2, "2": 1, "3": 1, "b": 1}),
    (["01", "02"], ["1", "2"], "", 0, {"01": 1, "02": 1, "1": 1, "2": 1}),
    (["01", "02"], ["1", "2"], "integer", 1, {1: 2, 2: 2}),
    *(
        rule
        for a, b in (["01", "02"], [" 1", " 2"], ["1.0", "2.0"])
        for rule in (
            (["1", "2"], [a, b], "", None, {1: 1, 2: 1}),
            (["1", "2"], [a, b], "integer", 1, {1: 2, 2: 2}),
            (["1", "2"], [a, b], "text", 0, {"1": 1, "2": 1, a: 1, b: 1}),
        )
    ),
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize(("learned", "today", "labels", "accuracy", "classes"), RULES)
def test_labels_mean_the_same_in_every_format(
    files, source, target, learned, today, labels, accuracy, classes
):
    if "svm" in source + target and not all(label in "123" for label in learned + today):
        pytest.skip("svmlight has no text")
    if "text" in source and 1 in classes:
        pytest.skip("what was learned is text")
    files.of_texts = "jsonl" in source + target
    files.fit(source, of_each(*learned))
    more = f" --labels {labels}" if labels else ""
    results = [
        files(f"{command}{more}", target, of_each(*today))
        for command in ("predict m.narrows {} -o p.npz --json", "update m.narrows {} -o m.narrows")
    ]
    assert [status for status, *_ in results] == [int(accuracy is None)] * 2
    if accuracy is None:  # one line names the row, the cell and the option
        for _, _, err in results:
            assert re.fullmatch(r"narrows: .*:\d+: .*--labels to text.*", err)
            assert repr(next(label for label in today if label not in learned)) in err
    else:
        assert json.loads(results[0][1])["accuracy"] == accuracy
    assert files.counts() == {name: EACH * count for name, count in classes.items()}


@pytest.mark.parametrize("label", ["1_0", "one", str(2**63), "1.5", "١", "1e3", "0x1", ""])
def test_what_is_no_integer_is_named_with_its_line(tmp_path, label):
    (tmp_path / "a.csv").write_text(f"x,label\n1,7\n2,{label}\n")
    with pytest.raises(DataError, match=r"a\.csv:3: .*label"):
        list(iter_chunks(tmp_path / "a.csv", labels="integer"))
    with pytest.raises(ParameterError, match="labels"):
        list(iter_chunks(tmp_path / "a.csv", labels="number"))


@pytest.mark.parametrize("priors", ['{"1":1,"2":3,"10":2}', "[1,3,2]"])
def test_priors_stay_those_of_their_classes(run, tmp_path, priors):
    table = {"x": [1, 2, 9, 3, 7, 1], "y": [3, 1, 1, 2, 2, 4], "label": [1, 2, 10, 2, 10, 1]}
    (tmp_path / "a.csv").write_bytes(as_csv(table))
    assert run(f"fit a.csv --method oc -o m.narrows --param priors={priors}")[0] == 0
    assert run("update m.narrows a.csv -o t.narrows --labels text")[0] == 0
    before, after = load(tmp_path / "m.narrows"), load(tmp_path / "t.narrows")
    assert after.classes_.tolist() == ["1", "10", "2"]
    np.testing.assert_allclose(after.components_, before.components_, atol=1e-12)


MERGES = [  # classes of the merge, or the model whose classes do not fit
    ("i t", "", "t.narrows: expected classes"),
    ("t i", "", "i.narrows: expected classes"),
    ("i t", " --labels integer", "t.narrows: expected classes"),
    ("t i", " --labels text", {"1": 3, "2": 2, "10": 1, "a": 2}),
    ("i z", " --labels integer", {1: 4, 2: 3, 10: 1}),
    ("i z", " --labels text", {"1": 2, "2": 1, "10": 1, "01": 2, "02": 2}),
]


def test_merge_of_integers_and_text(files):
    labels = {"i": [1, 2, 1, 10], "t": [1, 2, "a", "a"], "z": ["01", "02", "01", "02"]}
    for name, each in labels.items():
        table = {"x": [1, 2, 5, 3], "y": [3, 1, 2, 8], "label": each}
        (files.folder / "a.csv").write_bytes(as_csv(table))
        assert files.run(f"fit a.csv --method oc -o {name}.narrows")[0] == 0
    for pair, more, expected in MERGES:
        models = " ".join(f"{name}.narrows" for name in pair.split())
        status, _, err = files.run(f"merge {models} -o m.narrows{more}")
        if isinstance(expected, str):
            assert (status, err.count("\n"), expected in err) == (1, 1, True)
        else:
            assert files.counts() == expected


def test_a_model_that_ignores_labels_learns_any(run, tmp_path):
    integers = b"a,b,label\n" + b"1,2,1\n3,1,2\n" * 10
    (tmp_path / "i.csv").write_bytes(integers)
    (tmp_path / "t.csv").write_bytes(integers + b"9,9,a\n" * 5)
    for method in ("pca", "variancefs", "ccipca"):
        for first, then in ("it", "ti"):
            assert run(f"fit {first}.csv --method {method} -o m.narrows")[0] == 0
            assert run(f"update m.narrows {then}.csv -o m.narrows")[0] == 0
            assert load(tmp_path / "m.narrows").n_samples_seen_ == 45


COMPARISONS = [  # micro-F1, or what is said
    ("i.csv --test t.csv", "t.csv:4: expected an integer label"),
    ("zero.npz --test i.csv", "expected labels that zero.npz has"),
    ("t.csv --test i.csv", 1),
    ("i.csv --test t.csv --labels text", 2 / 3),
    ("zero.npz --test i.csv --labels integer", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "expected"), COMPARISONS)
def test_compare_reads_both_files_as_one_type(run, tmp_path, pair, expected):
    for name, labels in {"i": of_each("1", "2"), "t": of_each("1", "2", "a")}.items():
        (tmp_path / f"{name}.csv").write_bytes(as_csv(table(labels)))
    zeros = of_each("01", "02")
    np.savez(tmp_path / "zero.npz", X=samples(zeros), y=np.array(zeros))
    status, out, err = run(f"compare {pair} --methods oc --dims 1 --json")
    if isinstance(expected, str):
        assert (status, expected in err) == (1, True)
    else:
        assert json.loads(out)["lines"][0]["micro_f1"] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["files", "parts"])
def test_parts_of_a_data_set_have_labels_of_one_type(tmp_path, monkeypatch, kind):
    """The first chunk of the first part decides, whatever a worker reads first."""
    paths = [str(tmp_path / f"{name}.csv") for name in "ab"]
    for path, labels in zip(paths, (of_each("1", "2"), of_each("1", "2", "a")), strict=True):
        with open(path, "wb") as file:
            file.write(as_csv(table(labels)))
    if kind == "parts":
        pretend(monkeypatch, "large files", 500)
    with pytest.raises(DataError, match=r"b\.csv:4: .*integer.*'a'"):
        fit_in_parts(SRDA(), paths)
    of_integers, of_text = fit_in_parts(SRDA(), paths[:1]), fit_in_parts(SRDA(), paths[::-1])
    assert of_integers.classes_.tolist() == [1, 2]
    for each in of_text, fit_in_parts(SRDA(), paths, labels="text"):
        assert each.classes_.tolist() == ["1", "2", "a"]
    for model, given, dtype in ((of_text, paths, "U"), (of_integers, paths[:1], "i")):
        written = transform_in_parts(model, given, tmp_path / dtype)
        assert {y.dtype.kind for _, y in iter_chunks(written)} == {dtype}
    with pytest.raises(DataError, match=r"b\.csv:4: .*'a'"):
        transform_in_parts(of_integers, paths, tmp_path / "i")


# -- integers beyond 2^53, which floats round


IDS = {"int64": [2**62 + 1, 2**62 + 2, 2**62 + 3], "uint64": [2**63 + 1, 2**63 + 2, 2**63 + 3]}
WHICH = np.arange(60) % 3
CLOSE = [2**53 + 1, 2**53 + 2, 2**53 + 3]  # of which floats hold the second


MISSING = {  # columns of integers and missing values
    "pandas": lambda ids, kind: pd.Series(ids, dtype="UInt64" if kind[0] == "u" else "Int64"),
    "pandas categories": lambda ids, kind: pd.Series(
        pd.Categorical(pd.array(ids, f"{kind}[pyarrow]"))
    ),
    "arrow dictionary": lambda ids, kind: pa.array(ids, kind).dictionary_encode(),
    "arrow runs": lambda ids, kind: pc.run_end_encode(pa.array(ids, kind)),
    "list of NaN": lambda ids, kind: [np.nan if i is None else i for i in ids],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("name", MISSING)
def test_integers_beside_missing_values_stay_as_they_are(name, kind):
    ids = [IDS[kind][k] if row % 10 else None for row, k in enumerate(WHICH)]
    found = [3 if i is None else IDS[kind].index(i) for i in ids]
    for encoder in (TableEncoder(categories=["id"]), TableEncoder()):
        X = encoder.fit_transform({"id": MISSING[name](ids, kind)})
        names = encoder.get_feature_names_out().tolist()
        assert names == [*(f"id={i}" for i in IDS[kind]), "id=(missing)"]
        assert X.toarray().argmax(axis=1).tolist() == found
        # another integer of the same float is none of the known ones
        other = MISSING[name]([None, IDS[kind][2] + 1], kind)
        assert encoder.transform({"id": other}).sum() == 1


LINES = {
    "csv": "0.5,{}", "svm": "{} 1:0.5", "point svm": "{}.0 1:0.5",
    "jsonl": '{{"text": "a", "label": {}}}', "point jsonl": '{{"text": "a", "label": {}.0}}',
}  # fmt: skip


def written(folder, form, ids):
    """Write a file whose labels are integers; return its path."""
    path, y = folder / f"ids.{form.split()[-1]}", [ids[k] for k in WHICH]
    if form in LINES:
        lines = ["a,label"] * (form == "csv") + [LINES[form].format(i) for i in y]
        path.write_text("\n".join([*lines, ""]))
    elif form == "npz":
        np.savez(path, X=np.ones((60, 1)), y=np.array(y))
    else:
        column = pa.array(y)
        decimals = form.startswith("decimals")
        column = column.cast(pa.decimal128(25, 0)) if decimals else column.dictionary_encode()
        pq.write_table(pa.table({"a": WHICH / 2, "label": column}), path)
    return path


OF_INTEGERS = ["dictionary parquet", "decimals parquet", "npz", "csv", "point svm", "point jsonl"]


@pytest.mark.parametrize("ids", [IDS["int64"], CLOSE, [-i for i in reversed(CLOSE)]], ids=str)
@pytest.mark.parametrize("form", OF_INTEGERS)
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
