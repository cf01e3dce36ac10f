"""Labels mean the same in every format: a model of one file reads another one right."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

from narrows import SRDA, load, save
from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks
from tests.cases import STREAMED, assert_same
from tests.conftest import slow
from tests.inside import fit_in_parts, kind_of_state, pretend, transform_in_parts

# what a label is the label of: 1 and 01 have the same samples
PLACES = {
    "1": 0,
    "01": 0,
    " 1": 0,
    "1.0": 0,
    "2": 1,
    "02": 1,
    " 2": 1,
    "2.0": 1,
    "a": 2,
    "3": 2,
    "b": 3,
}
WORDS = ["invoice refund card", "router cable signal", "printer paper toner", "desk chair lamp"]
# each with "text": labels that are text, also if all of them are integers
OF_NUMBERS = ["csv", "-", "svm", "parquet", "parquet text", "npz"]
OF_TEXTS = ["csv", "- jsonl", "jsonl", "jsonl text", "parquet"]
EACH = 20
OF_UPDATE = re.compile("warning: classes that|has learned a file with these contents")


def of_each(*labels):
    return [label for _ in range(EACH) for label in labels]


def typed(form, labels):
    """Return labels in the type that a format of types would have them in."""
    whole = all(re.fullmatch(r"0|-?[1-9]\d*", label) for label in labels) and "text" not in form
    return [int(label) for label in labels] if whole else labels


def samples(labels, seed=0):
    X = np.random.default_rng(seed).normal(size=(len(labels), 5))
    for row, label in zip(X, labels, strict=True):
        row[PLACES[label]] += 30
    return X.round(3)


def columns_of(labels, of_texts):
    if of_texts:
        return {"text": [WORDS[PLACES[label]] for label in labels]}
    return {f"x{k}": column for k, column in enumerate(samples(labels).T.tolist())}


def as_csv(columns):
    return pd.DataFrame(columns).to_csv(index=False).encode()


def as_jsonl(columns):
    return pd.DataFrame(columns).to_json(orient="records", lines=True).encode()


class Files:
    """Writes samples with these labels in a format, and runs commands that read them."""

    def __init__(self, run, folder, of_texts=False):
        self.run, self.folder, self.of_texts = run, folder, of_texts

    def __call__(self, command, form, labels, more=""):
        """Run a command in which {} is a file of this form; return status, output, errors."""
        columns = columns_of(labels, self.of_texts)
        table = {**columns, "label": typed(form, labels)}
        suffix, stdin = form.split(" ")[0], None
        path = self.folder / f"{command.split()[0]}.{suffix}"
        if form == "-":
            path, stdin = "-", as_csv({**columns, "label": labels})
        elif form == "- jsonl":
            path, stdin = "-", as_jsonl(table)
        elif suffix == "csv":
            path.write_bytes(as_csv({**columns, "label": labels}))
        elif suffix == "jsonl":
            path.write_bytes(as_jsonl(table))
        elif suffix == "parquet":
            pq.write_table(pa.table(table), path)
        elif suffix == "npz":
            np.savez(path, X=samples(labels), y=np.array(table["label"]))
        else:
            dump_svmlight_file(samples(labels), table["label"], str(path), zero_based=False)
        if (self.of_texts and suffix in ("csv", "parquet")) or (form == "-" and self.of_texts):
            more += " --text text"
        status, out, err = self.run(command.format(path) + more, stdin=stdin)
        lines = err.splitlines(keepends=True)  # but for what `update` says of any new class or file
        return status, out, "".join(line for line in lines if not OF_UPDATE.search(line))

    def fit(self, form, labels, more=""):
        status, _, err = self("fit {} --method srda -o m.narrows", form, labels, more)
        assert (status, err) == (0, "")

    def predict(self, form, labels, more=""):
        """Return the accuracy and what was said."""
        status, out, err = self("predict m.narrows {} -o p.npz --json", form, labels, more)
        assert status == 0, err
        return json.loads(out)["accuracy"], err

    def update(self, form, labels, more=""):
        return self("update m.narrows {} -o m.narrows", form, labels, more)

    def counts(self):
        model = load(self.folder / "m.narrows")
        return dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))


@pytest.fixture
def files(run, tmp_path, request):
    return Files(run, tmp_path, request.param)


def every_pair():
    """Yield pairs of formats, from CSV to each and from each to CSV; the latter are slow."""
    for of_texts, forms in ((False, OF_NUMBERS), (True, OF_TEXTS)):
        for form in forms:
            yield pytest.param(of_texts, "csv", form, id=f"csv, {form}, {of_texts}")
            if form != "csv":
                name = f"{form}, csv, {of_texts}"
                yield pytest.param(of_texts, form, "csv", id=name, marks=pytest.mark.slow)


pairs = pytest.mark.parametrize(
    ("files", "source", "target"), list(every_pair()), indirect=["files"]
)


@pairs
def test_a_model_of_text_reads_integers(files, source, target):
    """{1, 2, a} was learned; today has {1, 2}."""
    if source == "svm":
        pytest.skip("has no text")
    files.fit(source, of_each("1", "2", "a"))
    assert files.predict(target, of_each("1", "2")) == (1.0, "")
    assert files.update(target, of_each("1", "2"))[::2] == (0, "")
    assert files.counts() == {"1": 2 * EACH, "2": 2 * EACH, "a": EACH}


@pairs
def test_a_model_of_integers_reads_what_is_written_alike(files, source, target):
    """{1, 2, 3} was learned; today has {1, 2}, and then {1, b}, which only text has."""
    files.fit(source, of_each("1", "2", "3"))
    is_text = "text" in source
    assert files.predict(target, of_each("1", "2")) == (1.0, "")
    assert files.update(target, of_each("1", "2"))[::2] == (0, "")
    kind = str if is_text else int
    assert files.counts() == {kind(1): 2 * EACH, kind(2): 2 * EACH, kind(3): EACH}
    if target == "svm":
        return
    labels, more = of_each("1", "b"), "" if is_text else " --labels text"
    for command in ("predict m.narrows {} -o p.npz", "update m.narrows {} -o x.narrows"):
        assert_refused(files(command, target, labels), is_text, "'b'")
    assert files.predict(target, labels, more) == (0.5, "")  # the model does not know b
    assert files.update(target, labels, more)[0] == 0
    assert files.counts() == {"1": 3 * EACH, "2": 2 * EACH, "3": EACH, "b": EACH}
    assert files.predict(target, labels) == (1.0, "")


def assert_refused(ran, is_text, cell):
    """One line names the row, the cell and the option, unless the model has text."""
    status, _, err = ran
    if is_text:
        assert (status, err) == (0, "")
        return
    (line,) = (each for each in err.splitlines() if not OF_UPDATE.search(each))
    assert status == 1
    assert re.search(r"(standard input|\.\w+):\d+: .*--labels to text", line)
    assert cell in line


@pytest.mark.parametrize("files", [False], indirect=True)
@pytest.mark.parametrize("target", ["csv", "svm", "parquet", "npz"])
def test_integers_for_a_model_of_leading_zeros(files, target):
    for more, counts in {
        "": dict.fromkeys(["01", "02", "1", "2"], EACH),
        " --labels integer": {1: 2 * EACH, 2: 2 * EACH},
    }.items():
        files.fit("csv", of_each("01", "02"))
        accuracy, err = files.predict(target, of_each("1", "2"), more)
        assert accuracy == (1.0 if more else 0.0)
        assert ("expected labels" in err) == (not more)
        assert files.update(target, of_each("1", "2"), more)[0] == 0
        assert files.counts() == counts


def test_true_and_false_are_integers_if_asked(run, tmp_path):
    truth = np.arange(2 * EACH) % 2 == 1
    X = np.column_stack([truth * 30.0, ~truth * 30.0]) + samples(["1"] * len(truth))[:, 1:3]
    table = {"a": X[:, 0], "b": X[:, 1]}
    pq.write_table(pa.table({**table, "label": truth}), tmp_path / "bool.parquet")
    words = {"b": truth, "t": truth.astype(int), "u": np.where(truth, "true", "no")}
    for name, labels in words.items():
        (tmp_path / f"{name}.csv").write_bytes(as_csv({**table, "label": labels.tolist()}))
    assert run("fit bool.parquet --method srda -o m.narrows")[0] == 0
    for name, more in {"b.csv": " --labels integer", "t.csv": "", "bool.parquet": ""}.items():
        status, out, err = run(f"predict m.narrows {name} -o p.csv --json{more}")  # True, 1, true
        assert (status, json.loads(out)["accuracy"], err) == (0, 1.0, "")
    assert_refused(run("predict m.narrows b.csv -o p.csv"), False, "'False'")
    status, _, err = run("update m.narrows u.csv -o m.narrows --labels integer")
    assert (status, "'no'" in err) == (1, True)


@pytest.mark.parametrize("files", [False], indirect=True)
@pytest.mark.parametrize("source", [slow("-"), "csv", slow("parquet"), slow("npz")])
@pytest.mark.parametrize("others", [("01", "02"), (" 1", " 2"), ("1.0", "2.0")])
def test_integers_that_are_written_in_other_ways(files, source, others):
    files.fit("csv", of_each("1", "2"))
    labels = of_each(*others)
    for command in ("predict m.narrows {} -o p.npz", "update m.narrows {} -o x.narrows"):
        assert_refused(files(command, source, labels), False, repr(others[0]))
    assert files.predict(source, labels, " --labels integer") == (1.0, "")
    assert files.update(source, labels, " --labels integer")[0] == 0
    assert files.counts() == {1: 2 * EACH, 2: 2 * EACH}
    assert files.update(source, labels, " --labels text")[0] == 0
    assert files.counts() == {"1": 2 * EACH, "2": 2 * EACH} | dict.fromkeys(others, EACH)


@pytest.mark.parametrize("label", ["1_0", "one", str(2**63), "1.5", "١", "1e3", "0x1", ""])
def test_what_is_no_integer_is_named_with_its_line(tmp_path, label):
    (tmp_path / "a.csv").write_text(f"x,label\n1,7\n2,{label}\n")
    with pytest.raises(DataError, match=r"a\.csv:3: .*label"):
        list(iter_chunks(tmp_path / "a.csv", labels="integer"))
    with pytest.raises(ParameterError, match="labels"):
        list(iter_chunks(tmp_path / "a.csv", labels="number"))


@pytest.mark.parametrize("target", ["csv", "jsonl"])
def test_rows_whose_label_does_not_fit_are_skipped(run, tmp_path, target):
    files = Files(run, tmp_path, of_texts=target == "jsonl")
    files.fit(target, of_each("1", "2"))
    update = "update m.narrows {} -o u.narrows --json --on-error skip"
    _, out, _ = files(update, target, of_each("1", "2", "a"))
    skipped = json.loads(out)["skipped"]
    assert len(skipped) == EACH
    assert all("'a'" in each["reason"] for each in skipped)
    assert load(tmp_path / "u.narrows").class_count_.tolist() == [2 * EACH] * 2


def test_the_first_of_several_files_decides(run, tmp_path):
    files, fit = Files(run, tmp_path), "fit {} --method oc -o m.narrows"
    (tmp_path / "i.csv").write_bytes(as_csv({"x": [1, 2, 3], "y": [3, 1, 2], "label": [1, 2, 1]}))
    with gzip.open(tmp_path / "t.csv.gz", "wb") as file:
        file.write(as_csv({"x": [1, 2, 5], "y": [3, 1, 9], "label": [1, 2, "a"]}))
    status, _, err = run(fit.format("i.csv t.csv.gz"))
    assert (status, err.count("\n")) == (1, 1)
    assert re.search(r"t\.csv\.gz:4: .*integer.*'a'", err)
    for order in "i.csv t.csv.gz --labels text", "t.csv.gz i.csv":
        assert run(fit.format(order))[::2] == (0, "")
        assert files.counts() == {"1": 3, "2": 2, "a": 1}
        assert run(fit.format("i.csv"))[0] == 0
        update = f"update m.narrows {order.split(' --')[0]} -o m.narrows --chunk-rows 1"
        assert_refused(run(update), False, "t.csv.gz:4: ")
        assert files.counts() == {1: 2, 2: 1}
        assert run(update + " --labels text")[0] == 0
        assert files.counts() == {"1": 5, "2": 3, "a": 1}


MIXED = b"a,b,label\n" + b"1,2,1\n3,1,2\n" * 10 + b"9,9,a\n" * 5


def one_of_each_state():
    """Yield the methods, of which one with each kind of state is not slow."""
    seen = set()
    for case in STREAMED:
        kind = kind_of_state(case.estimator)
        if isinstance(case.priors, str):  # those in a list are in the order of the classes
            marks = [pytest.mark.slow] if kind in seen else []
            seen.add(kind)
            yield pytest.param(case, id=case.name, marks=marks)


@pytest.mark.filterwarnings("ignore:MMC. none of:UserWarning")
@pytest.mark.parametrize("case", list(one_of_each_state()))
def test_a_model_whose_classes_became_text_is_that_of_text(case, run, tmp_path):
    """10 comes before 2 as text; 3 is new and a is text."""
    X, y = case.labelled()
    names = np.array(["2", "10", "3"])[np.unique(y, return_inverse=True)[1]]
    late = np.where(names == "3", "a", names)
    np.savez(tmp_path / "i.npz", X=X[:40], y=names[:40].astype(int))
    np.savez(tmp_path / "t.npz", X=X[40:], y=late[40:])
    np.savez(tmp_path / "it.npz", X=X[:40], y=names[:40])
    save(case.new().partial_fit(X[:40], names[:40].astype(int)), tmp_path / "i.narrows")
    save(case.new().partial_fit(X[:40], names[:40]), tmp_path / "t.narrows")
    for name in "it":
        assert run(f"update {name}.narrows t.npz -o {name}.narrows --labels text")[0] == 0
    assert_same(load(tmp_path / "i.narrows"), load(tmp_path / "t.narrows"), rtol=1e-7)


@pytest.mark.parametrize("priors", ['{"1":1,"2":3,"10":2}', "[1,3,2]"])
def test_priors_stay_those_of_their_classes(run, tmp_path, priors):
    table = {"x": [1, 2, 9, 3, 7, 1], "y": [3, 1, 1, 2, 2, 4], "label": [1, 2, 10, 2, 10, 1]}
    (tmp_path / "a.csv").write_bytes(as_csv(table))
    assert run(f"fit a.csv --method oc -o m.narrows --param priors={priors}")[0] == 0
    assert run("update m.narrows a.csv -o t.narrows --labels text")[0] == 0
    before, after = load(tmp_path / "m.narrows"), load(tmp_path / "t.narrows")
    assert after.classes_.tolist() == ["1", "10", "2"]
    np.testing.assert_allclose(after.components_, before.components_, atol=1e-12)


def test_merge_of_integers_and_text(run, tmp_path):
    files = Files(run, tmp_path)
    labels = {"i": [1, 2, 1, 10], "t": [1, 2, "a", "a"], "z": ["01", "02", "01", "02"]}
    for name, each in labels.items():
        table = {"x": [1, 2, 5, 3], "y": [3, 1, 2, 8], "label": each}
        (tmp_path / "a.csv").write_bytes(as_csv(table))
        assert run(f"fit a.csv --method oc -o {name}.narrows")[0] == 0
    for pair in ("i.narrows t.narrows", "t.narrows i.narrows"):
        status, _, err = run(f"merge {pair} -o m.narrows")
        assert (status, err.count("\n")) == (1, 1)
        assert f"{pair.split()[1]}: expected classes" in err
        assert run(f"merge {pair} -o m.narrows --labels text")[0] == 0
        assert files.counts() == {"1": 3, "2": 2, "10": 1, "a": 2}
    assert run("merge i.narrows z.narrows -o m.narrows --labels integer")[0] == 0
    assert files.counts() == {1: 4, 2: 3, 10: 1}
    assert run("merge i.narrows z.narrows -o m.narrows --labels text")[0] == 0
    assert files.counts() == {"1": 2, "2": 1, "10": 1, "01": 2, "02": 2}
    status, _, err = run("merge i.narrows t.narrows -o m.narrows --labels integer")
    assert (status, "t.narrows: expected classes" in err) == (1, True)


def test_a_model_that_ignores_labels_learns_any(run, tmp_path):
    (tmp_path / "i.csv").write_bytes(MIXED[: MIXED.index(b"9,9")])
    (tmp_path / "t.csv").write_bytes(MIXED)
    for method in ("pca", "variancefs", "ccipca"):
        for first, then in ("it", "ti"):
            assert run(f"fit {first}.csv --method {method} -o m.narrows")[0] == 0
            assert run(f"update m.narrows {then}.csv -o m.narrows")[0] == 0
            assert load(tmp_path / "m.narrows").n_samples_seen_ == 45


def test_svmlight_holds_integers_alone(run, tmp_path):
    for name, labels in {"i": ["1", "02", "3"], "t": ["1", "2", "a"]}.items():
        np.savez(tmp_path / f"{name}.npz", X=np.ones((3, 2)), y=np.array(labels))
    for name, word in {"i": "--labels to integer", "t": "Write to .npz or .csv"}.items():
        status, _, err = run(f"convert {name}.npz a.svm")
        assert (status, word in err) == (2, True)
    assert run("convert i.npz a.svm --labels integer")[0] == 0
    assert [y.tolist() for _, y in iter_chunks("a.svm")] == [[1, 2, 3]]


@pytest.mark.slow
def test_compare_reads_both_files_as_one_type(run, tmp_path):
    integers, both = of_each("1", "2"), of_each("1", "2", "a")
    for name, labels in {"i": integers, "b": both, "zero": of_each("01", "02")}.items():
        table = {**columns_of(labels, False), "label": labels}
        (tmp_path / f"{name}.csv").write_bytes(as_csv(table))
    np.savez(tmp_path / "i.npz", X=samples(integers), y=np.array(integers).astype(int))
    np.savez(tmp_path / "zero.npz", X=samples(integers), y=np.array(of_each("01", "02")))
    few = "--methods oc --dims 1 --json"
    for pair, word in {
        "i.csv --test b.csv": "b.csv:4: expected an integer label",
        "zero.npz --test i.npz": "expected labels that zero.npz has",
    }.items():
        status, _, err = run(f"compare {pair} {few}")
        assert (status, word in err) == (1, True)
    for pair, accuracy in {
        "b.csv --test i.csv": 1,
        "i.csv --test b.csv --labels text": 2 / 3,
        "zero.npz --test i.npz --labels integer": 1,
    }.items():
        status, out, err = run(f"compare {pair} {few}")
        assert status == 0, err
        assert json.loads(out)["lines"][0]["micro_f1"] == pytest.approx(accuracy)


@pytest.mark.parametrize("kind", ["files", "parts"])
def test_parts_of_a_data_set_have_labels_of_one_type(tmp_path, monkeypatch, kind):
    """The first chunk of the first part decides, whatever a worker reads first."""
    paths = [str(tmp_path / f"{name}.csv") for name in "ab"]
    for path, labels in zip(paths, (of_each("1", "2"), of_each("1", "2", "a")), strict=True):
        Path(path).write_bytes(as_csv({**columns_of(labels, False), "label": labels}))
    if kind == "parts":
        pretend(monkeypatch, "large files", 500)
    with pytest.raises(DataError, match=r"b\.csv:4: .*integer.*'a'"):
        fit_in_parts(SRDA(), paths)
    of_integers = fit_in_parts(SRDA(), paths[:1])
    of_text = fit_in_parts(SRDA(), paths[::-1])
    assert of_integers.classes_.tolist() == [1, 2]
    for each in of_text, fit_in_parts(SRDA(), paths, labels="text"):
        assert each.classes_.tolist() == ["1", "2", "a"]
    written = transform_in_parts(of_text, paths, tmp_path / "t")
    assert {y.dtype.kind for _, y in iter_chunks(written)} == {"U"}
    written = transform_in_parts(of_integers, paths[:1], tmp_path / "i")
    assert {y.dtype.kind for _, y in iter_chunks(written)} == {"i"}
    with pytest.raises(DataError, match=r"b\.csv:4: .*'a'"):
        transform_in_parts(of_integers, paths, tmp_path / "i")
