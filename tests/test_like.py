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
    assert (part.get_params(), source_of(part)) == (whole.get_params(), source_of(whole))
    assert run("merge a.narrows b.narrows -o m.narrows")[0] == 0
    assert run(f"update a.narrows b.{suffix} -o u.narrows")[0] == 0
    merged, updated = load("m.narrows"), load("u.narrows")
    assert merged.n_samples_seen_ == updated.n_samples_seen_ == 90
    for name in ("class_count_", "scores_", "components_", "coef_"):
        if kind != "sparse" and hasattr(updated, name):
            expected = getattr(updated, name)
            atol = 1e-6 * np.abs(expected).max()
            np.testing.assert_allclose(getattr(merged, name), expected, atol=atol)
    if suffix != "svm":  # and are refused if they are fitted apart
        assert run(f"fit b.{suffix} {how} -o b.narrows")[0] == 0
        status, _, err = run("merge a.narrows b.narrows -o m.narrows")
        assert (status, "--like MODEL" in err) == (1, True)


WRONG = [
    ("--like a.narrows --method oc -o b.narrows", "--method"),
    ("--like a.narrows --keep 0 -o b.narrows", "--keep"),
    ("--like a.narrows --checkpoint c -o b.narrows", "--checkpoint"),
    ("--like a.narrows --engine dask -o b.narrows", "--engine"),
    ("--like a.narrows -o a.narrows", "an input"),
    ("--like none.narrows -o b.narrows", "no such file"),
    ("--like wide.narrows -o b.narrows", "SRDA does not support merge"),
    ("--like ioc.narrows -o b.narrows", "IOC does not support merge"),
]


@pytest.mark.parametrize(("options", "word"), WRONG)
def test_what_a_model_has_decided_is_not_given_again(run, options, word):
    write_svmlight(30)
    for name, method in (("a", "srda"), ("wide", "srda --param solver=lsqr"), ("ioc", "ioc")):
        if f"{name}.narrows" in options:
            assert run(f"fit a.svm --method {method} -o {name}.narrows")[0] == 0
    status, out, err = run(f"fit b.svm {options}")
    assert (status, out, word in err) == (2, "", True)
