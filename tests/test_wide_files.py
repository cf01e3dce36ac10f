"""SRDA asked for on wide sparse files: what learns them instead, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import narrows
from tests.test_checkpoint import bytes_of, stop_after

D = 9_000  # more features than there are products for


def wide(n=230, first=0):
    """Samples of 9,000 features, of which the first ones have few."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, D), density=0.005, format="lil", rng=rng)
    X[:first, 100:], X[:, :3], X[-1, -1] = 0.0, rng.random((n, 3)), 0.1
    X = sparse.csr_array(X)
    X.eliminate_zeros()
    return X, (X[:, [0]].toarray()[:, 0] > 0.5).astype(int)


@pytest.fixture
def run(run):
    for name, first in (("a", 0), ("late", 90)):
        X, y = wide(first=first)
        dump_svmlight_file(X, y, f"{name}.svm", zero_based=False)
    return run


def test_a_wide_file_is_learned_by_onlinesrda(run):
    assert run("fit a.svm --method onlinesrda --n-components 1 --keep 50 -o o.narrows")[0] == 0
    for method in ("", "--method srda "):
        status, out, err = run(f"fit a.svm {method}--n-components 1 --keep 50 -o m.narrows")
        assert (status, out.split(",")[0]) == (0, "OnlineSRDA: 230 rows")
        assert (err.count("\n"), "onlinesrda" in err) == (1, True)
        assert bytes_of("m.narrows") == bytes_of("o.narrows")
    assert run("update m.narrows late.svm -o m.narrows")[0] == 0
    assert narrows.load("m.narrows").n_samples_seen_ == 460
    assert run("fit late.svm --like o.narrows -o l.narrows")[0] == 0
    assert run("merge o.narrows l.narrows -o x.narrows")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [1, 4, 6])
def test_a_file_that_becomes_wide_is_learned_anew_also_from_a_checkpoint(run, monkeypatch, chunks):
    """The first three chunks have 100 features, and the fourth is learned anew as well."""
    fit = "fit late.svm --method srda --chunk-rows 30"
    assert run("fit late.svm --method onlinesrda --chunk-rows 30 -o whole.narrows")[0] == 0
    assert run(f"{fit} -o m.narrows")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    kept = f"{fit} -o m.narrows --checkpoint c.narrows --every 30"
    with monkeypatch.context() as patch:
        stop_after(patch, chunks)
        assert run(kept)[0] == 130
    assert narrows.load("c.narrows").n_samples_seen_
    status, out, err = run(f"{kept} --resume")
    assert (status, out.split(",")[0]) == (0, "OnlineSRDA: 230 rows"), err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert not os.path.exists("c.narrows")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--alpha 1", "--alpha: "),
        ("--standardize 1,2", "--standardize: "),
        ("--param max_iter=3", "max_iter: "),
        ("--n-components cv", "expected --n-components to be"),
        ("--method mmc", "expected at most 8,192 features"),
        ("--param solver=bands", "version 0.4 removed"),
        ("--head 20", "version 0.4 removed"),
    ],
)
def test_what_it_does_not_have_is_refused(run, options, named):
    status, out, err = run(f"fit a.svm {options} -o m.narrows")
    assert (status, out, named in err) == (2, "", True), err
    assert "onlinesrda" in err.lower()
    assert not os.path.exists("m.narrows")
