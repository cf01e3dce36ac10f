"""`narrows fit --like`: parts of one data set that are fitted apart, and then merged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from narrows import load
from narrows.read import source_of


def write(suffix, line, head=""):
    """Write two files, of which `line` makes each line of the name and the number of a sample."""
    for name, rows in (("a", range(60)), ("b", range(60, 90))):
        Path(f"{name}.{suffix}").write_text(head + "".join(line(name, i) for i in rows))
    return suffix


def write_svmlight(d):
    return write("svm", lambda _, i: f"{i % 4} {i % 4 + 1}:1 {5 + i % (d - 4)}:{i % 3 + 1}\n")


def write_texts():
    words = ["sea", "salt", "ship", "wave", "tree", "hill", "sand", "stone"]

    def line(name, i):
        text = " ".join([name, *(words[i * k % 8] for k in range(1, 5))])
        return json.dumps({"label": "xyz"[i % 3], "text": text}) + "\n"

    return write("jsonl", line)


def write_table(label="label"):
    def line(name, i):
        return f"{i % 7}.5,{['red', 'blue', name][i % 3]},{i % 2}\n"

    return write("csv", line, f"size,colour,{label}\n")


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
    written, how = KINDS[kind]
    suffix = written()
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
    ("merge wide.narrows wide.narrows -o m.narrows", "SRDA does not support merge"),
    ("--like ioc.narrows -o b.narrows", "IOC does not support merge"),
]


@pytest.mark.parametrize(("options", "word"), WRONG)
def test_what_a_model_has_decided_is_not_given_again(run, options, word):
    write_svmlight(30)
    for name, method in (("a", "srda"), ("wide", "srda --param solver=lsqr"), ("ioc", "ioc")):
        if f"{name}.narrows" in options:
            assert run(f"fit a.svm --method {method} -o {name}.narrows")[0] == 0
    status, out, err = run(options if options.startswith("merge") else f"fit b.svm {options}")
    assert (status, out, word in err) == (2, "", True)
