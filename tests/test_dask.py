"""Fits on a Dask cluster of two processes are local fits; what fails there loses nothing."""

from __future__ import annotations

import _thread
import contextlib
import gc
import io
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import narrows
from narrows import OC, OCFS, PLS, SRDA, ForwardFS, OnlineSRDA
from narrows.command import cli
from narrows.engines import local
from narrows.errors import DataError, ParameterError
from narrows.table import TableEncoder
from narrows.text import Tfidf
from tests.cases import (
    ADDITIVE,
    BATCH,
    IDR_QR,
    ONLINE,
    assert_same,
    bytes_of,
    labelled,
)
from tests.conftest import slow
from tests.inside import pretend
from tests.test_engines import CUTS, DENSE_3, DENSE_5, SPARSE_5, parts_of
from tests.test_tables import NAMES, customers

dask = pytest.importorskip("dask", reason="needs the extra `dask`")
distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

from narrows.engines import dask as engine  # noqa: E402
from narrows.read import source_of  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*gains? margin|.*no column has a positive score"),
    pytest.mark.filterwarnings("ignore:.*merged approximately"),
]
LIMIT = 120  # seconds, of every wait: far more than it takes on a busy machine
X, Y = labelled()
CODES = np.unique(Y, return_inverse=True)[1]
FRAME = pd.DataFrame(X, columns=list("abcdefg"))


@contextlib.contextmanager
def two_workers():
    limit = {"distributed.deploy.lost-worker-timeout": f"{LIMIT}s"}  # to be restarted if killed
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set(limit),
        LocalCluster(**options, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as made,
    ):
        made.wait_for_workers(2, LIMIT)
        yield made


@pytest.fixture(scope="module")
def client():
    with two_workers() as made:
        yield made


@pytest.fixture
def at_hand(client):
    """Let fit and transform find the cluster by themselves."""
    with client.as_current():
        yield client


@pytest.fixture
def on_dask(client):
    """The options of commands that run on the cluster."""
    return f"--engine dask --scheduler {client.scheduler.address}"


def computed(client, lazy):
    return client.compute(lazy).result(LIMIT)


@pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [slow("dense, weighted"), "sparse"])
def test_a_fit_to_parts_is_a_local_fit(client, case, form):
    X, y = case.labelled(sparse=form == "sparse")
    order = np.argsort(y, kind="stable")  # parts of one class, and classes that come late
    X, y = X[order], y[order]
    if form == "sparse":
        given = case.form(X), y
    else:
        given = X, y, np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    parts = [tuple(each[i:j] for each in given) for i, j in pairwise(CUTS)]
    assert_same(engine.fit(case.new(), parts, client), case.new().fit(*given))


def test_other_methods_are_refused_with_one_to_use(client):
    for case in [*ONLINE, *IDR_QR, *BATCH]:
        with pytest.raises(ParameterError, match=r"got parts of a data set\. Use .*[A-Z]"):
            engine.fit(case.new(), parts_of(X, Y), client)


def test_online_srda_is_the_merge_of_its_parts(client):
    X, y = labelled(n=200)
    parts = parts_of(X, y, [0, 90, 120, 200])
    a, b, c = (OnlineSRDA().partial_fit(*part) for part in parts)
    with pytest.warns(UserWarning, match="merged approximately"):
        spread = engine.fit(OnlineSRDA(), parts, client)
    assert_same(spread, a.merge(b).merge(c))


def forms_of_samples():
    """Yield names and data that hold the samples, and y or not."""
    rows, labels = da.from_array(X, chunks=(17, 3)), da.from_array(Y, chunks=23)
    parts = parts_of(X, Y)
    yield "one delayed part", dask.delayed((X, Y))
    yield "pairs of delayed", [tuple(map(dask.delayed, part)) for part in parts]
    yield "arrays", (rows, labels)
    yield "an array and labels", (rows, Y)
    yield "blocks of unknown sizes", (rows[da.from_array(np.ones(60, bool), chunks=17)],
                                      labels.rechunk(17))  # fmt: skip
    yield "frame and series", tuple(dd.from_pandas(each, 4) for each in (FRAME, pd.Series(Y)))
    yield "a frame with labels", dd.from_pandas(FRAME.assign(label=Y), 4)
    yield "a frame of pandas", FRAME.assign(label=Y)
    yield "frames and labels", parts_of(FRAME, Y)
    turned = FRAME.assign(label=Y)[["d", "label", *"gfecba"]]
    yield "columns in another order", [FRAME[:20].assign(label=Y[:20]), turned[20:]]
    yield "sparse", [(sparse.coo_matrix(x), y) for x, y in parts]


FORMS = dict(forms_of_samples())


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_samples_come_in_any_form(at_hand, form):
    data = FORMS[form]
    for method in (OC, SRDA):
        spread = engine.fit(method(), data)
        assert_same(spread, method().fit(X, Y), only=["components", "rows", "class_count"])
    if "frame" in form or "columns" in form:
        assert spread.feature_names_in_.tolist() == list("abcdefg")
    if "array" in form:
        assert_same(OC().fit(*data, np.arange(60.0)), OC().fit(X, Y, np.arange(60.0)))


def test_a_column_of_a_table_may_be_the_target(client, tmp_path):
    frame = FRAME.assign(price=X[:, 2] ** 2)
    local = PLS().fit(FRAME, frame["price"])
    frame.to_parquet(tmp_path / "a.parquet")
    for data in (dd.from_pandas(frame, 3), [tmp_path / "a.parquet"]):
        spread = engine.fit(PLS(), data, client, label="price")
        np.testing.assert_allclose(spread.coef_, local.coef_, rtol=1e-9)
    with pytest.raises(DataError, match="expected an integer label"):
        engine.fit(SRDA(), [tmp_path / "a.parquet"], client, label="price")


def test_features_to_start_with_are_found_by_the_names_of_tables(client):
    tables = [FRAME[rows].assign(label=Y[rows]) for rows in (slice(40), slice(40, None))]
    found = engine.fit(ForwardFS(n_features=3, start=["c", "b"]), tables, client)
    expected = ForwardFS(n_features=3, start=[2, 1]).fit(X, Y)
    assert found.ranking_.tolist() == expected.ranking_.tolist()


def narrow_at_the_end(block, block_info=None):
    return block[:, :4] if block_info[0]["chunk-location"][0] == 2 else block


def wrong_data():
    """Yield data that OC cannot be fitted to, the kind of error and a word of it."""
    rows = da.from_array(X, chunks=(20, 7))
    unknown = rows[da.from_array(np.ones(60, bool), chunks=20)]
    nan = X.copy()
    nan[37, 2] = np.nan
    for each in (X + 1j, X[:, 0], np.full((60, 7), "a")):
        yield [(each, Y)], DataError, "partition 0: "
    yield (da.from_array(X[:, 0]), Y), ValueError, r"got shape \(60,\)"
    yield parts_of(nan, Y), DataError, "partition 4:7: expected finite"
    yield [(X[:3], Y[:3]), (X[:3], Y[:2])], DataError, "partition 1: "
    yield [], ValueError, "at least one part"
    yield [(X, None)], DataError, "requires y"
    yield (rows, None), ValueError, "requires y"
    yield rows, TypeError, "got one array"
    yield (rows, Y[:50]), ValueError, "got 50"
    yield (unknown, Y), ValueError, "sizes are unknown"
    yield (unknown, da.from_array(Y, chunks=30)), ValueError, "expected 3 blocks"
    yield (rows.map_blocks(narrow_at_the_end, meta=np.empty((0, 0))), Y), DataError, "got 4"
    yield ["none.svm"], FileNotFoundError, "none.svm"
    yield dd.from_pandas(FRAME, npartitions=4), DataError, "expected a label column"
    turned, narrow = FRAME[list("bacdefg")], FRAME[list("abcdef")]
    for other, said in ((turned, "in another order"), (narrow, "without g")):
        yield [(FRAME, Y), (other, Y)], DataError, f"partition 1: .*{said}"
    blocks = [dask.delayed(FRAME), dask.delayed(turned)]
    frames = dd.from_delayed(blocks, meta=FRAME, verify_meta=False)
    labels = dd.from_delayed([dask.delayed(pd.Series(Y))] * 2, meta=pd.Series(Y))
    yield (frames, labels), DataError, "in another order"


@pytest.mark.slow
@pytest.mark.usefixtures("at_hand")
def test_what_is_wrong_is_an_error_that_names_it():
    for data, error, word in wrong_data():
        with pytest.raises(error, match=word):
            engine.fit(OC(), data)
        if isinstance(data, tuple):
            with pytest.raises(error, match=word):
                OC().fit(*data)
    with pytest.raises(ParameterError, match="half_life=None"):
        engine.fit(OnlineSRDA(half_life=5), parts_of(X, Y))
    with pytest.raises(DataError, match="queue"):
        engine.fit(OC(), [FRAME.assign(label=Y)], label="queue")
    with pytest.raises(ValueError, match="two classes"):
        engine.fit(SRDA(), [(X[:0], Y[:0])] * 2)
    with pytest.raises(ParameterError, match="expected texts"):
        engine.fit(OC(), parts_of(X, Y), vectoriser=Tfidf())


def test_an_estimator_that_fails_is_as_it_was(client):
    oc = OC().fit(X, Y)
    before = bytes_of(oc)
    with pytest.raises(ValueError, match="two classes"):
        engine.fit(oc, [(X, np.full(60, "one"))], client)
    assert bytes_of(oc) == before


def write(path, X, y):
    """Write samples in the format of the suffix, as `narrows convert` does."""
    names = ("data", "indices", "indptr", "shape")
    arrays = {name: getattr(X, name) for name in names} if sparse.issparse(X) else {"X": X}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/a.npz", y=y, **arrays)
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(["convert", f"{folder}/a.npz", str(path)]) == 0


def rows_of(paths, **options):
    """All samples of files."""
    return np.vstack(
        [rows for path in paths for rows, _ in narrows.read.iter_chunks(path, **options)]
    )


@pytest.mark.parametrize("suffix", ["svm", "parquet", "csv", "npz"])
@pytest.mark.slow
def test_files_are_read_by_the_workers(client, tmp_path, suffix):
    X = labelled(sparse=True)[0]
    X[40:, 5:] = 0  # svmlight and Parquet do not tell how wide it is
    rows, files = X if suffix == "csv" else sparse.csr_array(X), []
    for k, (i, j) in enumerate(pairwise([0, 25, 40, 60])):
        files.append(str(tmp_path / f"s{k}.{suffix}"))
        write(files[-1], rows[i:j], CODES[i:j])
    local = OC().fit(rows, CODES)
    for given in (str(tmp_path / "s*"), np.array(files), pd.Series(files)):
        spread = engine.fit(OC(), given, client, chunk_rows=7)
        assert_same(spread, local, only=["components", "rows", "class_count"])
    expected = local.transform(rows)
    written = engine.transform(spread, files, str(tmp_path / "out"), client)
    np.testing.assert_allclose(rows_of(written, label="label"), expected, atol=1e-12)
    lazy = engine.transform(spread, str(tmp_path / "s*"))
    np.testing.assert_allclose(computed(client, lazy), expected, atol=1e-12)


@pytest.mark.slow
def test_all_files_together_show_whether_features_count_from_zero(client, tmp_path):
    (tmp_path / "a.svm").write_text("0 1:1 2:1\n1 2:3\n")
    (tmp_path / "b.svm").write_text("0 0:1 2:1\n1 1:3\n")
    spread = engine.fit(OC(), [tmp_path / "a.svm", tmp_path / "b.svm"], client)
    rows = np.array([[0.0, 1, 1], [0, 0, 3], [1, 0, 1], [0, 3, 0]])
    np.testing.assert_allclose(spread.components_, OC().fit(rows, [0, 1, 0, 1]).components_)
    (tmp_path / "b.svm").write_text("0 1:1 2:1\n1 2:x\n")
    with pytest.raises(DataError, match=r"b\.svm:2: "):
        engine.fit(OC(), [tmp_path / "a.svm", tmp_path / "b.svm"], client)


@pytest.mark.slow
def test_shards_without_samples_are_passed_over(client, tmp_path):
    whole, paths = FRAME.assign(label=Y), [str(tmp_path / f"s{k}.parquet") for k in range(3)]
    for path, part in zip(paths, (whole[:0], whole[:20], whole[20:]), strict=True):
        part.to_parquet(path)
    spread = engine.fit(OC(), paths, client)
    assert_same(spread, OC().fit(X, Y), only=["components", "rows", "class_count"])
    written = engine.transform(spread, paths, str(tmp_path / "out"), client)
    np.testing.assert_allclose(rows_of(written), OC().fit(X, Y).transform(X), atol=1e-12)
    with pytest.raises(ParameterError, match="expected an output"):
        engine.transform(spread, written, str(tmp_path / "out"), client)
    with pytest.raises(ValueError, match="two classes"):
        engine.fit(OC(), paths[:1], client)


def test_transform_is_lazy_and_keeps_what_is_sparse(at_hand, tmp_path):
    X, y = labelled(sparse=True)
    rows = da.from_array(X, chunks=(20, 3))
    oc, ocfs = OC().fit(X, y), OCFS(n_features=3).fit(X, y)
    reduced = oc.transform(rows)
    assert isinstance(reduced, da.Array)
    assert (reduced.shape, reduced.dtype) == ((60, 2), np.float64)
    np.testing.assert_array_equal(reduced.compute(), oc.transform(X))
    assert oc.transform(rows.astype(np.float32)).compute().dtype == np.float32
    picked = ocfs.transform(rows.rechunk((20, 7)).map_blocks(sparse.csr_array))
    blocks = [block.compute() for block in picked.to_delayed().ravel()]
    np.testing.assert_array_equal(sparse.vstack(blocks).toarray(), ocfs.transform(X))
    written = rows_of(engine.transform(oc, rows, str(tmp_path / "out"), at_hand))
    np.testing.assert_allclose(written, oc.transform(X), atol=1e-12)


def test_transform_reads_columns_by_their_names(client, tmp_path):
    oc, expected = OC().fit(FRAME, Y), OC().fit(FRAME, Y).transform(FRAME)
    turned = FRAME[list("gfedcba")].assign(label=Y)
    for given in (dd.from_pandas(turned, npartitions=3), [turned], [(turned[list("gfedcba")], Y)]):
        spread = computed(client, engine.transform(oc, given))
        np.testing.assert_allclose(spread, expected, atol=1e-12)
    named = FRAME.rename(columns={"b": "class"})  # which is a feature then, and no label
    found = OC().fit(named, Y).transform(dd.from_pandas(named, npartitions=2))
    np.testing.assert_allclose(found.compute(), expected, atol=1e-12)


def test_what_cannot_be_reduced_is_an_error(client):
    oc, nan = OC().fit(FRAME, Y), X.copy()
    nan[30, 3] = np.nan
    for data, word in (
        (dd.from_pandas(FRAME[list("abcdef")], npartitions=3), "got all but 'g"),
        ([(FRAME.rename(columns={"a": "q"}), Y)], "got all but 'a'"),
        (da.from_array(nan, chunks=20), "finite"),
        (da.from_array(X[:, :6], chunks=20), "got 6"),
        ([SPARSE_5], "partition 0: expected 7 features, got 5"),
    ):
        with pytest.raises(ValueError, match=word):
            computed(client, engine.transform(oc, data))


@pytest.mark.parametrize("method", [OC(), OCFS(n_features=2)])
def test_set_output_keeps_the_index_and_collections_lazy(method):
    frame = FRAME.set_index(np.arange(60, 0, -1))
    method.fit(frame, Y).set_output(transform="pandas")
    for given in (frame, frame.assign(label=Y)):
        reduced = engine.transform(method, dd.from_pandas(given, npartitions=2, sort=False))
        assert isinstance(reduced, dd.DataFrame)
        pd.testing.assert_frame_equal(reduced.compute(), method.transform(frame))
    assert isinstance(method.transform(da.from_array(X, (20, 7))), da.Array)


def killing_parts(mark):
    """Return 64 parts, of which one kills its process unless there is a file, which it makes."""

    def part(k):
        if k == 7 and not os.path.exists(mark):
            with open(mark, "w"):
                os.kill(os.getpid(), signal.SIGKILL)
        return labelled(seed=k)

    return [dask.delayed(part)(k) for k in range(64)]


@pytest.mark.slow
def test_a_killed_worker_is_replaced(client, tmp_path):
    pids = set(client.run(os.getpid).values())
    spread = engine.fit(OC(), killing_parts(tmp_path / "killed"), client)
    client.wait_for_workers(2, LIMIT)
    assert set(client.run(os.getpid).values()) != pids
    assert_same(spread, local.fit(OC(), [labelled(seed=k) for k in range(64)]))


@pytest.mark.nightly
def test_a_part_that_kills_its_workers_is_an_error(client):
    def deadly():
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ConnectionError, match="died on one part"):
        engine.fit(OC(), [dask.delayed(deadly)()], client)
    client.wait_for_workers(2, LIMIT)


@pytest.mark.slow
def test_nothing_stays_on_the_cluster_after_an_error(client):
    nan = X.copy()
    nan[58] = np.nan
    gc.collect()
    before = set(client.futures)
    with contextlib.suppress(DataError):  # pytest.raises would keep hold of its frames
        engine.fit(OC(), parts_of(nan, Y, range(0, 61, 6)), client)
        pytest.fail("NaN was learned")
    deadline = time.monotonic() + LIMIT
    while set(client.futures) - before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.1)
    assert set(client.futures) <= before


def test_a_cluster_without_workers_or_without_a_scheduler_is_an_error():
    limit = {"distributed.scheduler.no-workers-timeout": "200ms"}
    with (
        dask.config.set(limit),
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(ConnectionError, match="got none"),
    ):
        engine.fit(OC(), [labelled()], client)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ConnectionError, match="expected a Dask scheduler at"),
    ):
        engine.fit(OC(), [labelled()], "tcp://127.0.0.1:1")


def levels():
    return [handler.level for handler in logging.getLogger("distributed").handlers]


def part_that_interrupts():
    _thread.interrupt_main()  # as a Ctrl-C does that any other thread is given
    return labelled()


@pytest.fixture
def clusters(monkeypatch):
    """Let clusters of our own be of threads, which begin at once, and return them."""
    made = []

    def small(**options):
        made.append(LocalCluster(n_workers=1, processes=False, **options))
        return made[-1]

    monkeypatch.setattr(distributed, "LocalCluster", small)
    return made


@pytest.mark.slow
def test_a_cluster_of_our_own_is_closed_and_does_not_log(clusters, capfd):
    before = levels()
    assert_same(engine.fit(OC(), [labelled()]), OC().fit(X, Y))
    for error, parts in (
        (DataError, [DENSE_5, DENSE_3]),
        (KeyboardInterrupt, [dask.delayed(part_that_interrupts)()]),
    ):
        with pytest.raises(error):
            engine.fit(OC(), parts)
        assert levels() == before
    gc.collect()
    assert {each.status.name for each in clusters} == {"closed"}
    assert capfd.readouterr().err == ""


def test_a_cluster_that_does_not_begin_leaves_the_loggers_alone(monkeypatch):
    def failing(**options):
        raise OSError("no more processes")

    before = levels()
    monkeypatch.setattr(distributed, "LocalCluster", failing)
    with pytest.raises(ConnectionError, match="no more processes"):
        engine.fit(OC(), [labelled()])
    assert levels() == before


@pytest.mark.slow
def test_an_interrupt_while_a_cluster_begins_leaves_none(clusters, monkeypatch):
    small, before = distributed.LocalCluster, levels()

    def interrupting(**options):
        made = small(**options)
        _thread.interrupt_main()
        return made

    monkeypatch.setattr(distributed, "LocalCluster", interrupting)
    with pytest.raises(KeyboardInterrupt):
        engine.fit(OC(), [labelled()])
    assert clusters[0].status.name == "closed"
    assert levels() == before


@pytest.mark.slow
def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'narrows\[dask\]'"):
        engine.fit(OC(), [labelled()])


@pytest.mark.slow
def test_commands_do_what_they_do_on_one_machine(run, on_dask, tmp_path):
    rows = labelled(sparse=True)[0]
    for k, part in enumerate((slice(20), slice(20, None))):
        write(tmp_path / f"s{k}.svm", sparse.csr_array(rows[part]), CODES[part])
    for name, width in (("a", 5), ("b", 3)):
        write(tmp_path / f"{name}.npz", np.full((4, width), 5.0), [0, 0, 1, 1])
    (tmp_path / "t.jsonl").write_text('{"label": 0, "text": "a cat"}\n')
    line = "fit s0.svm s1.svm --method ocfs --n-features 3 -o"
    assert run(f"{line} m.narrows {on_dask} --then none")[::2] == (0, "")
    assert run(f"{line} l.narrows")[0] == 0
    assert_same(narrows.load("m.narrows"), narrows.load("l.narrows"))
    assert run(f"transform m.narrows s*.svm -o out {on_dask}")[0] == 0
    assert sorted(os.listdir("out")) == ["part-00000.parquet", "part-00001.parquet"]
    for wrong, said in (
        ("fit s*.svm --checkpoint c", "--checkpoint"),
        ("fit s*.svm --method ioc", "Use OC"),
        ("fit s0.svm t.jsonl", "one format"),
        ("fit -", "standard"),
        ("fit a.npz b.npz", "b.npz: expected 5"),  # padded with zeros, means of 5 would be 2.5
        ("transform m.narrows s*.svm -o m.narrows", "expected a folder"),
        ("transform m.narrows s*.svm -o -", "expected a folder"),
        ("transform m.narrows t.jsonl", "got texts"),
    ):
        options = "" if " -o " in wrong else " -o x.narrows"
        if "fit" in wrong and "--method" not in wrong:
            options += " --method oc"
        status, out, err = run(f"{wrong}{options} {on_dask}")
        assert (status in (1, 2), out, err.count("\n")) == (True, "", 1), wrong
        assert said in err
    assert not os.path.exists("x.narrows")


@pytest.mark.slow
def test_srda_of_wide_files_on_a_cluster_is_onlinesrda(run, on_dask, tmp_path):
    X = sparse.random_array((200, 9000), density=0.004, format="csr", rng=0)
    write(tmp_path / "s.svm", X, (X[:, [0]].toarray()[:, 0] > 0).astype(int))
    status, out, err = run(f"fit s.svm {on_dask} -o m.narrows")
    assert (status, out.split(",")[0]) == (0, "OnlineSRDA: 200 rows")
    assert "fitting onlinesrda" in err
    status, _, err = run(f"fit s.svm --alpha 1 {on_dask} -o x.narrows")
    assert (status, "--alpha" in err) == (2, True)


@pytest.mark.nightly
def test_ctrl_c_ends_a_fit_on_a_cluster(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    dump_svmlight_file(X, CODES, str(folder / "s.svm"), zero_based=False)
    program = tmp_path / "program.py"  # the command; it says when the first part is learned
    program.write_text(
        "import sys\n"
        "from tqdm import tqdm\n"
        "from narrows.command import cli\n"
        "def update(self, n=1):\n"
        "    open('../learning', 'w').close()\n"
        "if __name__ == '__main__':\n"
        "    sys.stderr.isatty = lambda: True\n"  # which shows how many are done
        "    tqdm.update, tqdm.display = update, lambda *_, **__: None\n"
        "    sys.exit(cli.main())\n"
    )
    command = [sys.executable, str(program), "fit", *["s.svm"] * 3000, "--method", "oc"]
    with open(tmp_path / "err", "w") as err:  # it warns of each copy of the file
        process = subprocess.Popen(
            [*command, "-o", "m.narrows", "--engine", "dask"], cwd=folder, stderr=err,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + LIMIT
    while not (tmp_path / "learning").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    out, _ = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (130, "")
    said = (tmp_path / "err").read_text().splitlines()
    assert said[-1] == "narrows: interrupted; no file was changed."
    assert os.listdir(folder) == ["s.svm"]


def frame_of(rows):
    """Customers as a DataFrame with a type in each column."""
    frame = pd.DataFrame(rows, columns=NAMES).replace("", None)
    return frame.astype({"age": float, "paid": float, "since": "datetime64[ns]"})


@pytest.mark.slow
def test_tables_of_files_are_fitted_as_on_one_machine(run, on_dask, tmp_path):
    frame = frame_of(customers(600))
    for k, rows in enumerate((slice(150), slice(150, 600))):
        frame.iloc[rows].to_csv(tmp_path / f"t{k}.csv", index=False)
    line = "fit t*.csv --label churn --method srda --drop city --numbers age"
    status, _, err = run(f"{line} -o m.narrows {on_dask}")
    assert (status, "city: left out (listed in drop)" in err) == (0, True)
    assert run(f"{line} -o l.narrows")[0] == 0
    found, local = narrows.load("m.narrows"), narrows.load("l.narrows")
    assert source_of(found).encoder == source_of(local).encoder
    np.testing.assert_allclose(found.components_, local.components_, rtol=1e-8, atol=1e-12)
    assert run(f"transform m.narrows t*.csv -o out {on_dask}")[0] == 0
    rows = source_of(local).encoder.transform(frame.drop(columns="churn"))
    reduced = rows_of(sorted(map(str, tmp_path.glob("out/*"))))
    np.testing.assert_allclose(reduced, local.transform(rows), atol=1e-8)


@pytest.mark.slow
def test_a_table_of_dask_is_encoded_on_the_workers(client, monkeypatch):
    pretend(monkeypatch, "few rows decide")  # fewer than the first partition has
    frame = frame_of(customers(600))
    table = dd.from_pandas(frame, npartitions=3)
    decided = TableEncoder().fit(frame.drop(columns="churn")[:100])
    rows, y = decided.transform(frame.iloc[:, :-1]), frame["churn"].to_numpy().astype(str)
    expected, given = SRDA().fit(rows, y), TableEncoder()
    for data in (table, [dask.delayed(frame[:200]), frame[200:]]):
        found = engine.fit(SRDA(), data, client, label="churn", vectoriser=given)
        assert source_of(found).encoder == decided
        np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-8, atol=1e-12)
    assert not given.__sklearn_is_fitted__()
    few = table[list(NAMES)[::-1]].drop(columns=["churn", "phone"])
    got = engine.transform(found, few).compute(scheduler="sync")
    np.testing.assert_allclose(got, expected.transform(rows), atol=1e-8)
    with pytest.raises(DataError, match="got 'more' besides"):
        engine.transform(found, few.assign(more=1)).compute(scheduler="sync")


WRONG_CELLS = [  # row, column, cell, and what the error says
    (201, "age", "forty", ("x1.csv:53: ", "'forty'")),
    (3, "age", "inf", ("x0.csv:5: ",)),
    (202, "churn", None, ("x1.csv:54: ", "expected a label")),
]


@pytest.mark.slow
def test_wrong_tables_on_clusters_are_one_line_each(run, on_dask, tmp_path, monkeypatch):
    pretend(monkeypatch, "few rows decide")
    frame = frame_of(customers(300)).astype(object)
    for row, column, cell, words in WRONG_CELLS:
        late = frame.copy()
        late.loc[row, column] = cell
        for k, part in enumerate((late[:150], late[150:])):
            part.to_csv(tmp_path / f"x{k}.csv", index=False)
        fit = "fit x*.csv --label churn --method srda -o o.narrows --numbers age"
        status, out, err = run(f"{fit} {on_dask}")
        assert (status in (1, 2), out, err.count("\n")) == (True, "", 1), err
        assert all(word in err for word in words)


def test_tables_without_an_encoder_are_refused(client):
    frame = frame_of(customers(300))
    table = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match=r"narrows\.engines\.dask\.fit"):
        TableEncoder().fit(table)
    with pytest.raises(DataError, match="TableEncoder"):
        engine.fit(SRDA(), table, client, label="churn")
    pairs = [(frame.drop(columns="churn"), frame["churn"])]
    with pytest.raises(DataError, match="expected a table with a label column"):
        engine.fit(ForwardFS(n_features=2), pairs, client, vectoriser=TableEncoder())
