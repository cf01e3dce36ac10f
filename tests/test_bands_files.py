"""SRDA in bands at the command line: two passes over wide sparse files, stopped and resumed."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from narrows import SRDA, load
from narrows.command import cli
from narrows.errors import DataError
from narrows.read import source_of
from tests.cases import widened
from tests.forks import exit_code, forked
from tests.inside import before_chunk
from tests.test_bands import same_models, texts
from tests.test_checkpoint import bytes_of, stop_after

D = 9_000  # more than there are products for
SRDA_OF = "--method srda --param head=20 --chunk-rows 30"


def wide(seed=0, n=230):
    """Samples of 9,000 features, of which the first 60 have few."""
    X, y = texts(n=n, d=200, c=3, seed=seed)
    X = X.toarray()
    where = np.append(np.arange(100), np.arange(100, 200) * 45 + 44)
    X[:60, 100:], X[-1, -1] = 0.0, 0.1
    rows, columns = np.nonzero(X)
    X = sparse.csr_array((X[rows, columns], (rows, where[columns])), shape=(n, D))
    return X, np.unique(y, return_inverse=True)[1]


def write(path, X, y):
    lines = []
    for label, i, j in zip(y, X.indptr[:-1], X.indptr[1:], strict=True):
        pairs = zip(X.indices[i:j] + 1, X.data[i:j].tolist(), strict=True)
        lines.append(f"{label} " + " ".join(f"{k}:{x!r}" for k, x in pairs) + "\n")
    Path(path).write_text("".join(lines))


def expected(X, y, **parameters):
    return SRDA(solver="bands", head=20, **parameters).fit(X, y)


@pytest.fixture
def run(run):
    X, y = wide()
    write("a.svm", X, y)
    write("one.svm", X[:100], y[:100])
    write("two.svm", X[100:], y[100:])
    return run


@pytest.mark.slow
def test_a_wide_file_is_fitted_in_bands(run):
    status, out, err = run(f"fit a.svm {SRDA_OF} -o m.narrows --json")
    assert (status, err) == (0, "")
    assert json.loads(out)["rows"] == 230
    X, y = wide()
    model = load("m.narrows")
    assert hasattr(model.stats_, "map")
    assert model.solver == "auto"
    same_models(model, expected(X, y))
    status, out, _ = run(f"fit a.svm {SRDA_OF} --param solver=bands -o b.narrows")
    assert (status, out) == (0, f"SRDA: 230 rows, 3 classes, {D:,} columns -> 2; "
                                "saved to b.narrows\n")  # fmt: skip
    np.testing.assert_array_equal(load("b.narrows").components_, model.components_)
    assert run(f"fit one.svm two.svm {SRDA_OF} -o c.narrows")[0] == 0
    same_models(load("c.narrows"), model)
    status, out, err = run("info m.narrows --top 3 --json")
    assert (status, json.loads(out)["rows"], err) == (0, 230, "")
    assert run("transform m.narrows a.svm -o z.npz")[0] == 0
    with np.load("z.npz") as reduced:
        np.testing.assert_allclose(reduced["X"], model.transform(X), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("width", ["", f"--width {D} ", "--param solver=bands "])
@pytest.mark.parametrize("kept", ["", "--checkpoint c.narrows --every 60 "])
def test_standard_input_is_read_twice(run, width, kept):
    assert run(f"fit a.svm {SRDA_OF} -o m.narrows")[0] == 0
    line = f"fit - --one-based {width}{kept}{SRDA_OF} -o p.narrows"
    status, _, err = run(line, bytes_of("a.svm"))
    assert status == 0, err
    same_models(load("p.narrows"), load("m.narrows"))
    assert not os.path.exists("c.narrows")


@pytest.mark.parametrize("flags", ["", f"--width {D} ", "--param solver=bands "])
def test_a_named_pipe_cannot_be_read_twice(run, flags):
    os.mkfifo("pipe.svm")
    data = bytes_of("a.svm")

    def write():
        try:
            with open("pipe.svm", "wb") as pipe:
                pipe.write(data)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        status, out, err = run(f"fit pipe.svm --one-based {flags}{SRDA_OF} -o m.narrows")
    finally:
        for _ in range(300):  # until the writer, which may not have opened it yet, can end
            os.close(os.open("pipe.svm", os.O_RDONLY | os.O_NONBLOCK))
            writer.join(timeout=0.1)
            if not writer.is_alive():
                break
    assert (status, out) == (2, "")
    assert "pipe.svm: expected a file, to read twice, got a pipe. Name it -." in err
    assert not os.path.exists("m.narrows")


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["", " --checkpoint c.narrows --every 30"])
def test_files_may_become_wide(run, kept):
    """The first chunks have 100 features, for which products would do."""
    X, y = wide()
    assert X[:60].indices.max() < 100
    status, _, err = run(f"fit a.svm {SRDA_OF} -o m.narrows{kept}")
    assert status == 0, err
    same_models(load("m.narrows"), expected(X, y))


def test_narrow_files_keep_their_products(run):
    X, y = texts(c=3)
    y = np.unique(y, return_inverse=True)[1]
    write("n.svm", X, y)
    assert run("fit n.svm --method srda -o m.narrows")[0] == 0
    assert not hasattr(load("m.narrows").stats_, "map")
    same_models(load("m.narrows"), SRDA().fit(X, y))


STOPS = [0, 3, 7, 8, 11, 14]  # 8 chunks a pass: 7 ends the first


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "bands"])
@pytest.mark.parametrize("chunks", STOPS)
def test_a_stopped_fit_is_gone_on_with(run, monkeypatch, solver, chunks):
    fit = f"fit a.svm {SRDA_OF} --param solver={solver} --width {D}"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    kept = f"{fit} -o m.narrows --checkpoint c.narrows --every 1000"
    with monkeypatch.context() as patch:
        stop_after(patch, chunks)
        status, out, err = run(kept)
    assert (status, out) == (130, "")
    assert "which are saved in c.narrows" in err
    info = run("info c.narrows")
    if chunks < 8:
        assert info[0] == 1
        assert "got a checkpoint of an unfinished fit" in info[2]
    assert run(f"{kept} --resume")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert not os.path.exists("c.narrows")


def die_after(saves):
    """End this process after so many checkpoints."""
    replace, done = os.replace, []

    def dying(source, target):
        replace(source, target)
        done.extend([target] * (os.path.basename(target) == "c.narrows"))
        if len(done) == saves:
            os._exit(9)

    os.replace = dying


@pytest.mark.slow
@pytest.mark.parametrize("saves", [1, 3, 4, 5, 8])
def test_a_killed_fit_is_gone_on_with(run, saves):
    """4 saves a pass: after 60, 120, 180 and 230 rows, of which the last goes with the next."""
    fit = f"fit a.svm {SRDA_OF} --width {D}"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    kept = f"{fit} -o m.narrows --checkpoint c.narrows --every 57"

    def killed():
        die_after(saves)
        return cli.main(kept.split())

    code = exit_code(forked(killed))
    if code != 9:  # there were fewer saves
        assert (code, saves) == (0, 8)
        return
    assert not os.path.exists("m.narrows")
    status, _, err = run(f"{kept} --resume")
    assert (status, "resuming after" in err) == (0, True), err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")


@pytest.mark.slow
def test_a_kill_between_the_passes(run, monkeypatch):
    fit = f"fit a.svm {SRDA_OF} --width {D}"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    kept = f"{fit} -o m.narrows --checkpoint c.narrows --every 10"

    def killed():
        die_after(8)  # the last chunk of the first pass is learned
        return cli.main(kept.split())

    assert exit_code(forked(killed)) == 9
    status, _, err = run(f"{kept} --resume")
    assert (status, "resuming after 230 rows" in err) == (0, True), err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")


def test_a_checkpoint_of_another_pass_is_refused(run, monkeypatch):
    from tests.test_forgery import header_of, rewritten

    kept = f"fit a.svm {SRDA_OF} --width {D} -o m.narrows --checkpoint c.narrows"

    for chunks, passes in ((3, 1), (11, 0)):
        with monkeypatch.context() as patch:
            stop_after(patch, chunks)
            assert run(kept)[0] == 130
        progress = header_of("c.narrows")["progress"]
        assert progress["passes"] == 1 - passes
        if passes:  # what is there after the first pass is no model
            with pytest.raises(DataError, match="expected a model, got a checkpoint of an unfin"):
                load("c.narrows")
        rewritten("c.narrows", progress=progress | {"passes": passes})
        status, _, err = run(f"{kept} --resume")
        assert (status, "c.narrows: progress: expected a position in this run" in err) == (1, True)


def test_narrow_chunks_are_not_resumed_as_wide_ones(run, monkeypatch):
    kept = f"fit a.svm {SRDA_OF} -o m.narrows --checkpoint c.narrows"
    with monkeypatch.context() as patch:
        stop_after(patch, 0)
        assert run(kept)[0] == 130
    status, out, err = run(f"{kept} --resume")
    assert (status, out) == (2, "")
    assert "--resume: expected at most 8,192 columns as before the stop, got" in err
    assert run(kept)[0] == 0


@pytest.mark.slow
def test_models_are_updated_and_merged(run, monkeypatch):
    X, y = wide()
    assert run(f"fit one.svm {SRDA_OF} --width {D} -o base.narrows")[0] == 0
    update = "update base.narrows two.svm --chunk-rows 30 -o "
    assert run(update + "whole.narrows")[0] == 0
    base = load("base.narrows")
    both = load("base.narrows").partial_fit(X[100:], y[100:])
    same_models(load("whole.narrows"), both)
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(update + "m.narrows --checkpoint c.narrows")[0] == 130
    assert load("c.narrows").n_samples_seen_ == 190
    assert run(update + "m.narrows --checkpoint c.narrows --resume")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    # other features, and other classes
    more = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [5, D + 7, 8, 2])), shape=(4, D + 9))
    write("more.svm", more, [0, 7, 7, 1])
    assert run("update base.narrows more.svm -o wider.narrows")[0] == 0
    wider = load("wider.narrows")
    assert (wider.n_features_in_, wider.classes_.tolist()) == (D + 8, [0, 1, 2, 7])
    status, out, _ = run("merge base.narrows wider.narrows -o sum.narrows")
    assert (status, out.split(";")[0]) == (0, f"SRDA: 204 rows, 4 classes, {D + 8:,} columns -> 3")
    same_models(load("sum.narrows"), widened(base, D + 8).merge(wider))
    assert run(f"fit two.svm {SRDA_OF} --width {D} -o other.narrows")[0] == 0
    status, out, err = run("merge base.narrows other.narrows -o x.narrows")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "expected states with one map to add up" in err
    assert not os.path.exists("x.narrows")


def test_one_class_is_an_error_that_names_the_file(run):
    Path("b.svm").write_text("1 3:1\n1 9000:2\n")
    status, out, err = run(f"fit b.svm {SRDA_OF} -o m.narrows")
    assert (status, out) == (1, "")
    assert "b.svm: SRDA: expected two classes of positive weight, got 1 class" in err


def test_a_number_out_of_range_is_named(run):
    Path("b.svm").write_text("1 3:1\n0 9000:1e200\n" * 20)
    status, out, err = run(f"fit b.svm {SRDA_OF} -o m.narrows")
    assert (status, out) == (1, "")
    assert "x8999" in err or "column 9000" in err, err


TEXTS = ["--vectorizer hashing --hash-columns 16384", "--vectorizer hashing --hash-columns 16384 "
         "--idf-sample 50", "", "--min-df 2"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("flags", TEXTS)
def test_texts_are_fitted_in_bands(run, monkeypatch, flags):
    rng = np.random.default_rng(0)
    with open("a.jsonl", "w") as file:
        for i in range(400):
            common = rng.integers(40 * (i % 3), 40 * (i % 3) + 60, 12)
            words = [f"w{k}" for k in common] + [f"z{k}" for k in rng.integers(0, 10**5, 40)]
            file.write(json.dumps({"label": "abc"[i % 3], "text": " ".join(words)}) + "\n")
    fit = f"fit a.jsonl --method srda --param head=50 --chunk-rows 70 {flags}"
    status, _, err = run(f"{fit} -o m.narrows")
    assert status == 0, err
    model = load("m.narrows")
    tfidf = source_of(model).tfidf
    if "min-df" not in flags:
        assert hasattr(model.stats_, "map")
    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    X, y = tfidf.transform([line["text"] for line in lines]), [line["label"] for line in lines]
    if hasattr(model.stats_, "map"):
        same_models(model, SRDA(solver="bands", head=50).fit(X, y))
    status, _, err = run(f"{fit.replace('a.jsonl', '-')} -o p.narrows", bytes_of("a.jsonl"))
    assert status == 0, err
    same_models(load("p.narrows"), model)
    with monkeypatch.context() as patch:
        stop_after(patch, 8)
        assert run(f"{fit} -o r.narrows --checkpoint c.narrows")[0] in (0, 130)
    if not os.path.exists("r.narrows"):
        assert run(f"{fit} -o r.narrows --checkpoint c.narrows --resume")[0] == 0
    assert bytes_of("r.narrows") == bytes_of("m.narrows")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "npz"])
def test_other_sparse_formats(run, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    assert run(f"convert a.svm a.{kind}")[0] == 0
    assert run(f"fit a.svm {SRDA_OF} -o m.narrows")[0] == 0
    status, _, err = run(f"fit a.{kind} {SRDA_OF} -o p.narrows")
    assert status == 0, err
    same_models(load("p.narrows"), load("m.narrows"))


@pytest.mark.slow
def test_only_sparse_files_have_bands_by_default(run):
    rng = np.random.default_rng(0)
    np.savez("d.npz", X=rng.normal(size=(20, D)), y=np.arange(20) % 2)
    assert run("fit d.npz --method srda -o m.narrows")[0] == 0
    assert not hasattr(load("m.narrows").stats_, "map")
    status, _, err = run("fit d.npz --method srda --param solver=bands -o b.narrows")
    assert status == 0, err
    assert hasattr(load("b.narrows").stats_, "map")


def test_samples_are_not_read_into_memory(run, monkeypatch):
    """Each chunk is read twice, and none is kept."""
    seen = []
    before_chunk(monkeypatch, lambda number, size: seen.append(size))
    assert run(f"fit a.svm {SRDA_OF} --width {D} -o m.narrows")[0] == 0
    assert seen == [30] * 7 + [20] + [30] * 7 + [20]
