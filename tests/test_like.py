"""`narrows fit --like`: parts of one data set that are fitted apart, and then merged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from narrows import load
from narrows.read import source_of


def write_svmlight(d):
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 90)
    X = sparse.random(90, d, density=0.01, random_state=0, format="lil")
    X[np.arange(90), y], X[[0, 60], d - 1] = 1.0, 1.0
    X = sparse.csr_matrix(X)
    for name, rows in (("a", slice(60)), ("b", slice(60, 90))):
        dump_svmlight_file(X[rows], y[rows], f"{name}.svm", zero_based=False)
    return "svm"


def write_texts():
    words = ["sea", "salt", "ship", "wave", "tree", "hill", "sand", "stone"]
    for name, rows in (("a", range(60)), ("b", range(60, 90))):
        with open(f"{name}.jsonl", "w") as file:
            for i in rows:
                text = " ".join([name, *(words[i * k % 8] for k in range(1, 5))])
                file.write(json.dumps({"label": "xyz"[i % 3], "text": text}) + "\n")
    return "jsonl"


def write_table(label="label"):
    for name, rows in (("a", range(60)), ("b", range(60, 90))):
        with open(f"{name}.csv", "w") as file:
            file.write(f"size,colour,{label}\n")
            for i in rows:
                file.write(f"{i % 7}.5,{['red', 'blue', name][i % 3]},{i % 2}\n")
    return "csv"


# what writes the two files, and how the first one is fitted
KINDS = {
    "sparse": (lambda: write_svmlight(30), "--method onlinesrda --n-components 2"),
    "texts": (write_texts, "--method oc --stop-words english"),
    "a table": (write_table, "--table --method lda --mu 0.5"),
    "a table of numbers": (lambda: write_table("price"), "--table --target price --method pls"),
    "hidden features": (lambda: write_svmlight(9), "--method kernelsrda --param random_state=0"),
    "a half-life": (write_texts, "--method ocfs --half-life 1e9"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_parts_that_are_fitted_alike_are_merged(run, kind):
    write, how = KINDS[kind]
    suffix = write()
    assert run(f"fit a.{suffix} {how} -o a.narrows")[0] == 0
    assert run(f"fit b.{suffix} --like a.narrows -o b.narrows")[0] == 0
    part, whole = load("b.narrows"), load("a.narrows")
    assert part.get_params() == whole.get_params()
    assert source_of(part) == source_of(whole)
    assert (part.n_samples_seen_, whole.n_samples_seen_) == (30, 60)
    assert run("merge a.narrows b.narrows -o m.narrows")[0] == 0
    assert run(f"update a.narrows b.{suffix} -o u.narrows")[0] == 0
    merged, updated = load("m.narrows"), load("u.narrows")
    assert merged.n_samples_seen_ == updated.n_samples_seen_ == 90
    for name in ("class_count_", "scores_", "components_", "coef_"):
        if kind != "sparse" and hasattr(updated, name):
            expected = getattr(updated, name)
            found = getattr(merged, name)
            np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["texts", "a table", "hidden features"])
@pytest.mark.slow
def test_parts_that_are_fitted_apart_are_refused_with_advice(run, kind):
    write, how = KINDS[kind]
    suffix = write()
    for name in "ab":
        assert run(f"fit {name}.{suffix} {how} -o {name}.narrows")[0] == 0
    status, _, err = run("merge a.narrows b.narrows -o m.narrows")
    assert status == 1
    assert "Fit one model, and the other rows with narrows fit --like MODEL." in err
    assert "emptied" not in err


def test_a_part_may_have_one_class_and_labels_of_another_type(run):
    write_table()
    assert run("fit a.csv --table --labels text --method lda -o a.narrows")[0] == 0
    with open("one.csv", "w") as file:
        file.write("label,size,colour\n1,2.5,red\n1,3.5,green\n")
    status, _, err = run("fit one.csv --like a.narrows -o one.narrows")
    assert (status, err) == (0, "")
    assert load("one.narrows").classes_.tolist() == ["1"]
    assert run("merge one.narrows a.narrows -o m.narrows")[0] == 0
    assert load("m.narrows").class_count_.tolist() == [30, 32]


WRONG = [
    ("b.svm --like a.narrows --method oc -o b.narrows", "--method: expected no --like, got one"),
    ("b.svm --like a.narrows --keep 0 -o b.narrows", "--keep: expected no --like, got one"),
    ("b.svm --like a.narrows --checkpoint c -o b.narrows", "--checkpoint: expected no --like"),
    ("b.svm --like a.narrows --engine dask -o b.narrows", "--like: expected --engine local, got"),
    ("b.svm --like a.narrows -o a.narrows", "a.narrows: expected an output, got an input"),
    ("b.svm --like none.narrows -o b.narrows", "no such file: none.narrows"),
    ("b.svm --like wide.narrows -o b.narrows", "SRDA does not support merge: solver='lsqr' needs"),
    ("b.svm --like ioc.narrows -o b.narrows", "IOC does not support merge: its result depends"),
]


@pytest.mark.parametrize(("command", "message"), WRONG)
def test_what_a_model_has_decided_is_not_given_again(run, command, message):
    write_svmlight(30)
    for name, method in (("a", "srda"), ("wide", "srda --param solver=lsqr"), ("ioc", "ioc")):
        if f"{name}.narrows" in command:
            assert run(f"fit a.svm --method {method} -o {name}.narrows")[0] == 0
    status, out, err = run(f"fit {command}")
    assert (status, out) == (2, "")
    assert message in err
