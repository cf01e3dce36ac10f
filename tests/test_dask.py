"""Fits on a real Dask cluster of two processes, against local fits."""

from __future__ import annotations

import _thread
import contextlib
import gc
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, make_circles
from sklearn.pipeline import make_pipeline

import narrows
from narrows import IG, LDA, MMC, OC, OCFS, PCA, PLS, SRDA, ForwardFS, KernelSRDA, OnlineSRDA
from narrows.command import cli
from narrows.engines import local
from narrows.errors import DataError, ParameterError, WidthError
from narrows.table import TableEncoder
from tests.cases import (
    ADDITIVE,
    ALL,
    BATCH,
    IDR_QR,
    NUMERIC,
    ONLINE,
    answer,
    assert_same,
    labelled,
)
from tests.conftest import slow
from tests.inside import begin, end, pretend
from tests.test_cross import METHODS, real
from tests.test_engines import CUTS, DENSE_3, DENSE_5, SPARSE_5, WIDTHS
from tests.test_given_arrays import warned_here
from tests.test_tables import NAMES, customers

dask = pytest.importorskip("dask", reason="needs the extra `dask`")
pytest.importorskip("distributed", reason="needs the extra `dask`")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster, get_client  # noqa: E402

from narrows.engines import dask as engine  # noqa: E402
from narrows.read import source_of  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*gains? margin|.*no column has a positive score"),
    pytest.mark.filterwarnings("ignore:.*merged approximately"),
]
LIMIT = 120  # seconds, of every wait: far more than it takes on a busy machine


@pytest.fixture(scope="module")
def cluster():
    limit = {"distributed.deploy.lost-worker-timeout": f"{LIMIT}s"}  # to be restarted if killed
    with (
        dask.config.set(limit),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster, set_as_default=False) as made:
        made.wait_for_workers(2, LIMIT)
        yield made


def parts_of(X, y, cuts=CUTS):
    return [(X[i:j], y[i:j]) for i, j in pairwise(cuts)]


REFUSED = [*ONLINE, *IDR_QR, *(case for case in BATCH if case not in ADDITIVE)]


def test_every_method_is_either_spread_or_refused():
    others = {type(case.estimator) for case in ALL} - {
        type(case.estimator) for case in ADDITIVE + REFUSED
    }
    assert others == {OnlineSRDA}


# -- distributed = local ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [slow("dense"), "sparse"])
def test_distributed_is_local(client, case, form):
    X, y = case.labelled(sparse=form == "sparse")
    order = np.argsort(y, kind="stable")  # parts of one class, and classes that come late
    X, y = X[order], y[order]
    X = case.form(X) if form == "sparse" else X
    spread = engine.fit(case.new(), parts_of(X, y), client)
    assert_same(spread, case.new().fit(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("case", NUMERIC, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_distributed_targets_are_local_ones(client, case, form):
    X, _ = labelled(sparse=form is not np.asarray)
    Y = X[:, :2] + np.random.default_rng(0).normal(size=(60, 2)) + 5
    form = form if case.takes_sparse else np.asarray
    for y in (Y, Y[:, 0]):
        local = case.new().fit(form(X), y)
        parts = parts_of(form(X), y, [0, 0, 9, 31, 60])
        for spread in (engine.fit(case.new(), parts, client), as_arrays(case, form(X), y, client)):
            np.testing.assert_allclose(spread.transform(X), local.transform(X), atol=1e-9)
            assert spread.moments_.n_targets == y.reshape(60, -1).shape[1]
    with pytest.raises(ValueError, match="expected 2 targets as before, got 1"):
        engine.fit(case.new(), [(form(X), Y), (form(X), Y[:, 0])], client)


def test_sparse_parts_are_refused_by_what_makes_samples_dense(client):
    X, y = labelled(sparse=True)
    with pytest.raises(ParameterError, match="expected dense samples, since what LEACE"):
        engine.fit(narrows.LEACE(), parts_of(sparse.csr_array(X), y), client)


def as_arrays(case, X, y, client):
    """An estimator that is fitted to dask arrays, or to blocks of sparse samples."""
    if sparse.issparse(X):
        return engine.fit(case.new(), [dask.delayed((X[:20], y[:20])), (X[20:], y[20:])], client)
    rows, targets = (da.from_array(each, chunks=(20, *each.shape[1:])) for each in (X, y))
    with client.as_current():
        return case.new().fit(rows, targets)


def test_a_column_of_a_table_may_be_the_target(client, tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, _ = labelled()
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(price=X[:, 2] ** 2)
    local = PLS().fit(frame[list("abcdefg")], frame["price"])
    spread = engine.fit(PLS(), dd.from_pandas(frame, 3), client, label="price")
    np.testing.assert_allclose(spread.coef_, local.coef_, rtol=1e-9)
    assert spread.feature_names_in_.tolist() == list("abcdefg")
    frame.to_parquet(tmp_path / "a.parquet")
    spread = engine.fit(PLS(), [tmp_path / "a.parquet"], client, label="price")
    np.testing.assert_allclose(spread.coef_, local.coef_, rtol=1e-9)
    with pytest.raises(DataError, match=r"expected an integer label under .*, got"):
        engine.fit(SRDA(), [tmp_path / "a.parquet"], client, label="price")


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_random_features_are_those_of_a_local_fit(client, form):
    X, y = make_circles(600, noise=0.15, factor=0.5, random_state=0)
    order = np.argsort(y, kind="stable")
    parts = [(form(X[rows]), y[rows]) for rows in np.array_split(order, 7)]
    spread = engine.fit(KernelSRDA(n_hidden=30, standardize=True), parts, client)
    local = KernelSRDA(n_hidden=30, standardize=True).fit(form(X), y)
    assert_same(spread, local)
    np.testing.assert_allclose(spread.predict_proba(X), local.predict_proba(X), atol=1e-8)
    spread.partial_fit(form(X), y)
    assert spread.n_samples_seen_ == 1200


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_distributed_directions_of_digits(client, method):
    assert_distributed_is_local(client, method, *real("digits", None))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("name", ["orl", "waveform", "news20_static384"])
def test_distributed_directions_of_real_data(client, data, name, method):
    assert_distributed_is_local(client, method, *real(name, data))


def assert_distributed_is_local(client, method, X, y):
    order = np.argsort(y, kind="stable")
    parts = [(X[rows], y[rows]) for rows in np.array_split(order, 20)]
    spread, local = engine.fit(clone(method), parts, client), clone(method).fit(X, y)
    W = local.components_
    np.testing.assert_allclose(spread.components_, W, atol=1e-9 * np.abs(W).max())
    np.testing.assert_allclose(spread.eigenvalues_, local.eigenvalues_, rtol=1e-9)
    assert spread.n_samples_seen_ == len(y)


@pytest.mark.slow
@pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
def test_a_state_of_non_zeros_is_the_same(client, case):
    client.run(begin, "non-zeros")
    try:
        X, y = case.labelled(sparse=True)
        X = case.form(X)
        spread = engine.fit(case.new(), parts_of(X, y), client)
    finally:
        client.run(end)
    local = case.new().fit(X, y)
    assert_same(spread, local)
    if hasattr(spread, "partial_fit"):
        assert_same(spread.partial_fit(X, y), local.partial_fit(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
def test_weights_travel_with_the_rows(client, case):
    X, y = case.labelled()
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    parts = [(X[i:j], y[i:j], weight[i:j]) for i, j in pairwise(CUTS)]
    assert_same(engine.fit(case.new(), parts, client), case.new().fit(X, y, weight))


def test_float32_is_summed_in_double_precision(client):
    X, y = labelled(n=900, d=30)
    X = X.astype(np.float32)
    single, double = (
        engine.fit(SRDA(), parts_of(given, y, (0, 300, 900)), client=client)
        for given in (X, X.astype(float))
    )
    assert_same(single, double, rtol=1e-12)
    assert single.alpha_ == double.alpha_


def test_several_labels_a_row(client):
    X, _ = labelled()
    Y = np.random.default_rng(0).random((60, 4)) < 0.4
    Y[:, 3] = False
    spread = engine.fit(OC(), parts_of(X, Y.astype(int)), client)
    assert_same(spread, OC().fit(X, Y.astype(int)))


@pytest.mark.nightly
def test_the_same_parts_give_the_same_bits(client):
    X, y = labelled(n=400, d=30)
    cuts = [0, *sorted(np.random.default_rng(1).integers(0, 400, 16).tolist()), 400]
    first, *others = (engine.fit(OC(), parts_of(X, y, cuts), client) for _ in range(3))
    for other in others:
        np.testing.assert_array_equal(first.components_, other.components_)
    parts = [wide_part(k, n=2000, d=500_000) for k in range(8)]  # sums are stored as non-zeros
    first, *others = (engine.fit(OCFS(), parts, client).scores_ for _ in range(4))
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.slow
def test_rows_of_two_widths_and_parts_without_rows(client):
    X, y = labelled(sparse=True)
    narrow = sparse.csr_array(X[:30, :5]), y[:30]
    wide = sparse.csr_array(X[30:]), y[30:]
    X[:30, 5:] = 0
    local = OC().fit(sparse.csr_array(X), y)
    assert_same(engine.fit(OC(), [narrow, wide], client), local)
    for parts in ([narrow, wide], [wide, narrow], [narrow, narrow, wide, narrow]):
        whole = OC()
        for part in parts:
            whole.partial_fit(
                sparse.csr_array(np.pad(part[0].toarray(), ((0, 0), (0, 7 - part[0].shape[1])))),
                part[1],
            )
        assert_same(engine.fit(OC(), parts, client), whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [OC, IG, OnlineSRDA, partial(SRDA, max_iter=1)],
    ids=lambda method: type(method()).__name__,
)
def test_dense_parts_are_not_widened(client, method):
    for message, *parts in WIDTHS:
        late = [dask.delayed(part) for part in parts]
        if message == "ok":
            assert engine.fit(method(), late, client).n_features_in_ == 5
            continue
        with pytest.raises(DataError, match=message):
            engine.fit(method(), late, client)


def test_files_of_unlike_width_are_refused(cluster, client, run, tmp_path):
    """Padded with zeros, means of 5 would be 2.5."""
    rows = np.full((4, 5), 5.0)
    for name, X in (("a", rows), ("b", rows[:, :3])):
        np.savez(tmp_path / f"{name}.npz", X=X, y=[0, 0, 1, 1])
    engine_dask = f"--engine dask --scheduler {cluster.scheduler_address}"
    for names, numbers in (("ab", (5, 3)), ("ba", (3, 5))):
        files = " ".join(f"{name}.npz" for name in names)
        status, out, err = run(f"fit {files} --method oc -o m.narrows {engine_dask}")
        assert (status, out, err.count("\n")) == (1, "", 1)
        first, second = (str(tmp_path / f"{name}.npz") for name in names)
        assert f"{second}: expected {numbers[0]} features as in {first}, got {numbers[1]}." in err
        status, out, err = run(f"fit {files} --method oc -o m.narrows")
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert f"{names[1]}.npz:1: " in err
    assert not os.path.exists("m.narrows")


@pytest.mark.slow
@pytest.mark.parametrize("method", [OC, SRDA])
def test_features_of_other_names_are_refused(client, tmp_path, method):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = labelled()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    turned, narrow = frame[list("bacdefg")], frame[list("abcdef")]
    for other, said in ((turned, "in another order"), (narrow, "without g")):
        pairs = [(frame, y), (other, y)]
        tables = [dask.delayed(each.assign(label=y)) for each in (frame, other)]
        for parts in (pairs, [dask.delayed(pair) for pair in pairs], tables):
            with pytest.raises(DataError, match=f"partition 1: .* of partition 0, got .* {said}"):
                engine.fit(method(), parts, client)
    with pytest.raises(DataError, match="partition 1: expected 7 features as in partition 0, got"):
        engine.fit(method(), [(frame, y), (sparse.csr_array(X[:, :5]), y)], client)
    blocks = [dask.delayed(frame), dask.delayed(turned)]
    rows = dd.from_delayed(blocks, meta=frame, verify_meta=False)
    labels = dd.from_delayed([dask.delayed(pd.Series(y))] * 2, meta=pd.Series(y))
    with pytest.raises(DataError, match=r"partition 1: .* got them in another order"):
        engine.fit(method(), (rows, labels), client)
    for name, part in (("a.csv", frame), ("b.csv", narrow)):
        part.assign(label=y).to_csv(tmp_path / name, index=False)
    with pytest.raises(DataError, match=r"b\.csv.* got all but 'g"):
        engine.fit(method(), [tmp_path / "a.csv", tmp_path / "b.csv"], client)


@pytest.mark.slow
def test_blocks_of_another_width_than_they_say_are_refused(client):
    X, y = labelled()
    rows = da.from_array(X, chunks=(20, 7))
    cut = rows.map_blocks(_narrow_at_the_end, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(DataError, match=r"partition 2: expected 7 features as in .*, got 4"):
        engine.fit(OC(), (cut, y), client)
    fitted = OC().fit(X, y)
    for parts in ([DENSE_5], [SPARSE_5]):
        with pytest.raises(DataError, match="partition 0: expected 7 features, got 5"):
            client.compute(engine.transform(fitted, parts)).result(LIMIT)


def _narrow_at_the_end(block, block_info=None):
    return block[:, :4] if block_info[0]["chunk-location"][0] == 2 else block


def test_a_refused_method_names_an_alternative(client):
    X, y = labelled()
    for case in REFUSED:
        with pytest.raises(ParameterError, match=r"got parts of a data set\. Use .*[A-Z]"):
            engine.fit(case.new(), parts_of(X, y), client)
    for method in (OC, OCFS, OnlineSRDA):
        with pytest.raises(ParameterError, match=r"expected half_life=None, .* got 5"):
            engine.fit(method(half_life=5), parts_of(X, y), client)


def test_online_srda_is_the_merge_of_its_parts(client):
    X, y = labelled(n=200)
    parts = parts_of(X, y, [0, 90, 120, 200])
    a, b, c = (OnlineSRDA().partial_fit(*part) for part in parts)
    with pytest.warns(UserWarning, match="merged approximately"):
        spread = engine.fit(OnlineSRDA(), parts, client)
    assert_same(spread, a.merge(b).merge(c))
    assert (spread.predict(X) == y).mean() > 0.5


def test_an_estimator_that_fails_is_as_it_was(client):
    X, y = labelled()
    oc = OC().fit(X, y)
    before = answer(oc)
    with pytest.raises(ValueError, match="two classes of positive weight"):
        engine.fit(oc, [(X, np.full(60, "one"))], client)
    for key, value in answer(oc).items():
        np.testing.assert_array_equal(value, before[key])


# -- two passes ----------------------------------------------------------------------------------

FORWARD = ForwardFS(n_features=4, head=100)


def wide(n=400):
    """Samples of 9,000 features, and labels that three of them decide."""
    X = sparse.random_array((n, 9000), density=0.004, format="csr", rng=np.random.default_rng(0))
    return X, np.where(X[:, [0, 10, 20]].sum(axis=1) > 0, "some", "none")


@pytest.mark.slow
def test_a_forward_selection_of_wide_parts_is_that_of_chunks(client):
    X, y = wide()
    parts = [(X[rows], y[rows]) for rows in np.array_split(np.arange(400), 5)]
    assert_same(engine.fit(clone(FORWARD), parts, client), local.fit(clone(FORWARD), parts))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*merged approximately")
@pytest.mark.parametrize("method", [partial(SRDA), partial(MMC, 2)])
def test_what_learns_wide_parts_instead(client, method):
    X, y = wide(60)
    narrow_first = [(X[:20, :4000], y[:20]), (X[20:], y[20:])]
    for parts in (parts_of(X, y), parts_of(X.toarray(), y), narrow_first):
        with pytest.raises(WidthError, match=r"^expected at most .*OnlineSRDA"):
            engine.fit(method(), parts, client)
    for instead in (OnlineSRDA(), OC(), OCFS(n_features=3)):
        engine.fit(instead, narrow_first, client)
        assert instead.n_samples_seen_ == 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*merged approximately")
def test_srda_of_wide_files_on_a_cluster_is_onlinesrda(cluster, run, tmp_path):
    X, y = wide(200)
    codes = np.unique(y, return_inverse=True)[1]
    for k, (i, j) in enumerate(pairwise([0, 30, 110, 200])):
        write(tmp_path / f"s{k}.svm", X[i:j], codes[i:j])
    engine_dask = f"--engine dask --scheduler {cluster.scheduler_address}"
    status, out, err = run(f"fit s*.svm {engine_dask} -o m.narrows")
    assert (status, out.split(",")[0]) == (0, "OnlineSRDA: 200 rows")
    assert "fitting onlinesrda" in err
    status, _, err = run(f"fit s*.svm --alpha 1 {engine_dask} -o x.narrows")
    assert (status, "--alpha" in err, "onlinesrda" in err) == (2, True, True)
    assert run("update m.narrows s0.svm -o m.narrows")[0] == 0
    assert narrows.load("m.narrows").n_samples_seen_ == 230


def killing_part_of_wide(k, mark, when):
    """Kill the worker that comes to part 7 for the first or the second time."""
    X, y = wide(64 * 5)
    if k == 7:
        for count in range(when + 1):
            name = f"{mark}{count}"
            if not os.path.exists(name):
                with open(name, "w"):
                    if count == when:
                        os.kill(os.getpid(), signal.SIGKILL)
                break
    return X[k::64], y[k::64]


@pytest.mark.nightly
@pytest.mark.parametrize("when", [0, 1], ids=["first pass", "second pass"])
def test_a_worker_that_is_killed_in_either_pass_is_replaced(client, tmp_path, when):
    mark = str(tmp_path / "killed")
    parts = [dask.delayed(killing_part_of_wide)(k, mark, when) for k in range(64)]
    pids = set(client.run(os.getpid).values())
    spread = engine.fit(clone(FORWARD), parts, client)
    assert os.path.exists(f"{mark}{when}")
    client.wait_for_workers(2, LIMIT)
    assert set(client.run(os.getpid).values()) != pids
    X, y = wide(64 * 5)
    assert_same(spread, local.fit(clone(FORWARD), [(X[k::64], y[k::64]) for k in range(64)]))


# -- what comes in ---------------------------------------------------------------------------------


FORMATS = ["csc_array", "coo_array", "csr_matrix", "lil_array", "dok_array", "dia_array"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.slow
def test_sparse_parts_of_any_format(client, form):
    X, y = labelled(sparse=True)
    convert = getattr(sparse, form)
    parts = [(convert(rows), labels) for rows, labels in parts_of(X, y)]
    for method in (OC, MMC):
        assert_same(engine.fit(method(), parts, client), method().fit(sparse.csr_array(X), y))
    reduced = engine.transform(OCFS(n_features=3).fit(X, y), [part[0] for part in parts[:1]])
    np.testing.assert_array_equal(
        client.compute(reduced).result(LIMIT).toarray(),
        OCFS(n_features=3).fit(X, y).transform(X[:9]),
    )


def test_samples_that_are_not_numbers_are_refused(client):
    X, y = labelled()
    for rows in (X + 1j, X[:, 0], X[:, :, None], np.full((60, 7), "a")):
        with pytest.raises(DataError, match="partition 0: "):
            engine.fit(OC(), [(rows, y)], client)
    with pytest.raises(ValueError, match=r"\(n_samples, n_features\), got shape \(60,\)"):
        engine.fit(OC(), (da.from_array(X[:, 0]), y), client)
    for chunk_rows, width in ((0, None), (10, 0)):
        with pytest.raises(ParameterError, match="expected an integer >= 1, got 0"):
            engine.fit(OC(), parts_of(X, y), client, chunk_rows=chunk_rows, width=width)


def test_one_delayed_part(client):
    X, y = labelled()
    local = OC().fit(X, y)
    assert_same(engine.fit(OC(), dask.delayed((X, y)), client), local)
    assert_same(engine.fit(OC(), (dask.delayed(X), dask.delayed(y)), client), local)


@pytest.mark.parametrize("method", [MMC, SRDA, OC])
def test_without_rows_weight_or_labels(client, method):
    X, y = labelled()
    nothing = [(X[:0], y[:0])] * 2
    with pytest.raises(ValueError, match="expected two classes of positive weight, got 0"):
        engine.fit(method(), nothing, client)
    with pytest.raises(ValueError, match="expected samples with a label and a non-zero"):
        engine.fit(method(), [(X, y, np.zeros(60))], client)
    with pytest.raises(DataError, match="requires y to be passed"):
        engine.fit(method(), [(X, None)], client)


@pytest.mark.slow
def test_parts_of_which_some_are_sparse(client):
    X, y = labelled()
    parts = [
        (sparse.csr_array(rows) if k % 2 else rows, labels)
        for k, (rows, labels) in enumerate(parts_of(X, y))
    ]
    assert_same(engine.fit(SRDA(), parts, client), SRDA().fit(X, y))
    assert_same(engine.fit(MMC(), parts, client), MMC().fit(X, y))
    assert_same(engine.fit(LDA(n_components=5), parts, client), LDA(n_components=5).fit(X, y))


def test_a_warning_of_a_fit_of_parts_points_at_the_line_of_the_caller(client):
    parts = [labelled()]
    assert warned_here(lambda: engine.fit(OnlineSRDA(), parts, client))


def test_pca_needs_no_labels_in_parts(client):
    X, _ = labelled(n=60, d=6, sparse=True)
    X = sparse.csr_array(X)
    spread = engine.fit(PCA(2), [(X[:20], None), (X[20:], None)], client)
    assert_same(spread, PCA(2).fit(X))


@pytest.mark.parametrize("method", [LDA(), PCA(), SRDA()], ids=repr)
def test_parts_have_at_most_8192_features_for_sums_of_products(client, method):
    X, y = labelled(n=40, d=8193)
    said = r"expected at most 8,192 features for fits .* got 8,193.*OCFS"
    with pytest.raises(ParameterError, match=said):
        engine.fit(method, [(X, y)], client)


def test_frames_are_read_by_the_names_of_their_columns(client):
    pd = pytest.importorskip("pandas")
    X, y = labelled()
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(label=y)
    parts = [frame[:20], frame[20:][["d", "label", *"gfecba"]]]
    spread = engine.fit(OC(), parts, client)
    assert_same(spread, OC().fit(frame[list("abcdefg")], y))
    assert spread.feature_names_in_.tolist() == list("abcdefg")


@pytest.fixture
def at_hand(client):
    """Let fit and transform find the cluster by themselves."""
    with client.as_current():
        assert get_client() is client
        yield client


@pytest.mark.nightly
@pytest.mark.parametrize("method", [OC, partial(SRDA, max_iter=2), OCFS], ids=lambda m: repr(m()))
def test_dask_arrays_in_any_blocks(at_hand, method):
    X, y = labelled()
    local = method().fit(X, y)
    rows, labels = da.from_array(X, chunks=(17, 3)), da.from_array(y, chunks=23)
    for y_given in (labels, y, labels.rechunk(17)):
        assert_same(method().fit(rows, y_given), local)
    unknown = rows[da.from_array(np.ones(60, bool), chunks=17)]
    assert_same(method().fit(unknown, labels.rechunk(17)), local)
    in_sparse = rows.rechunk((17, 7)).map_blocks(sparse.csr_array)
    assert_same(method().fit(in_sparse, y), method().fit(sparse.csr_array(X), y))
    weight = np.arange(60.0)
    assert_same(method().fit(rows, labels, weight), method().fit(X, y, weight))


@pytest.mark.slow
def test_collections_of_many_numbers_as_labels_are_warned_of(at_hand):
    X, y = da.from_array(np.ones((60, 2)) * np.arange(60)[:, None], chunks=20), np.arange(60.0)
    with pytest.warns(UserWarning, match="expected classes, got 60 distinct numbers"):
        OC().fit(X, da.from_array(y, chunks=20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OC().fit(X, da.from_array(y % 4, chunks=20))


def test_what_would_take_all_rows_into_memory_is_refused():
    X, y = labelled()
    rows = da.from_array(X, chunks=20)
    fitted = OnlineSRDA().fit(X, y)
    for call in (lambda: fitted.partial_fit(rows, y), lambda: fitted.predict(rows)):
        with pytest.raises(
            TypeError, match=r"Loop over the partitions .* narrows\.engines\.dask\.fit"
        ):
            call()


def test_blocks_that_do_not_fit_are_refused(at_hand):
    X, y = labelled()
    rows = da.from_array(X, chunks=(20, 7))
    unknown = rows[da.from_array(np.ones(60, bool), chunks=20)]
    for given, said in (
        ((rows, y[:50]), "expected 60 samples in y as in X, got 50"),
        ((unknown, y), "whose sizes are unknown, got ndarray"),
        ((unknown, da.from_array(y, chunks=30)), "expected 3 blocks of y as of X, got 2"),
        ((rows, None), "requires y"),
    ):
        with pytest.raises(ValueError, match=said):
            OC().fit(*given)
    with pytest.raises(TypeError, match="got one array"):
        engine.fit(OC(), rows)


@pytest.mark.nightly
def test_blocks_that_do_not_fit_are_cut_alike_by_what_the_error_says(at_hand):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    bag = pytest.importorskip("dask.bag")
    X, y = labelled()
    frame, labels = dd.from_pandas(pd.DataFrame(X), npartitions=4), pd.Series(y)
    series = dd.from_pandas(labels, npartitions=3)
    unknown = frame.to_dask_array()
    given = [
        {"X": frame, "y": series},
        {"X": frame, "y": da.from_array(y, chunks=7)},
        {"X": frame, "y": series.to_dask_array()},
        {"X": frame, "y": y},
        {"X": da.from_array(X, chunks=(13, 7)), "y": series},
        {"X": unknown, "y": series.to_frame("y")},
        {"X": frame.to_dask_array(lengths=True), "y": bag.from_sequence(y.tolist(), npartitions=3)},
        {"X": frame, "y": y, "sample_weight": series.map(lambda label: 1.0, meta=("w", float))},
    ]
    local = OC().fit(X, y)
    for samples in given:
        with pytest.raises(ValueError, match=r"blocks of .* as of X|with the blocks of X") as said:
            engine.fit(OC(), tuple(samples.values()))
        calls = re.findall(r"(X|y|sample_weight)\.(\w+)\((lengths)?", str(said.value))
        assert calls
        for name, call, with_sizes in calls:
            cut = getattr(samples[name], call)
            samples[name] = cut(lengths=True) if with_sizes else cut()
        spread = engine.fit(OC(), tuple(samples.values()))
        np.testing.assert_allclose(spread.components_, local.components_)
        assert spread.classes_.tolist() == local.classes_.tolist()


@pytest.mark.slow
def test_data_frames(at_hand):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = labelled()
    names = [f"column {k}" for k in range(7)]
    frame = pd.DataFrame(X, columns=names)
    local = OC().fit(frame, y)
    rows, labels = (dd.from_pandas(part, npartitions=4) for part in (frame, pd.Series(y)))
    spread = OC().fit(rows, labels)
    assert_same(spread, local)
    assert spread.feature_names_in_.tolist() == names
    together = dd.from_pandas(frame.assign(label=y), npartitions=4)
    spread = engine.fit(OC(), together)
    assert_same(spread, local)
    assert spread.feature_names_in_.tolist() == names
    np.testing.assert_allclose(spread.transform(rows).compute(), local.transform(frame))
    np.testing.assert_allclose(spread.transform(together).compute(), local.transform(frame))
    for estimator in (local, OCFS(n_features=2).fit(frame, y)):
        estimator.set_output(transform="pandas")
        reduced = engine.transform(estimator, together)
        assert list(reduced.columns) == estimator.get_feature_names_out().tolist()
        pd.testing.assert_frame_equal(reduced.compute(), estimator.transform(frame))
    with pytest.raises(DataError, match=r"expected a label column class or label, .* label=\"…\""):
        engine.fit(OC(), dd.from_pandas(frame, npartitions=4))
    with pytest.raises(DataError, match=r"expected a label column queue, got column 0, .*label"):
        engine.fit(OC(), [frame.assign(label=y)], at_hand, label="queue")
    lists = pd.DataFrame(
        {"label": y, "indices": [list(range(7))] * 60, "values": X.astype(float).tolist()}
    )
    # as Parquet keeps lists; of pandas's own objects dask would make text
    with dask.config.set({"dataframe.convert-string": False}):
        spread = engine.fit(OC(), dd.from_pandas(lists, npartitions=3))
    assert_same(spread, OC().fit(sparse.csr_array(X), y))


@pytest.mark.slow
def test_delayed_parts(client):
    X, y = labelled()
    together = [dask.delayed(lambda part: part)(part) for part in parts_of(X, y)]
    apart = [(dask.delayed(rows), dask.delayed(labels)) for rows, labels in parts_of(X, y)]
    for parts in (together, apart):
        assert_same(engine.fit(OC(), parts, client), OC().fit(X, y))


def write(path, X, y):
    names = ("data", "indices", "indptr", "shape")
    arrays = {name: getattr(X, name) for name in names} if sparse.issparse(X) else {"X": X}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/a.npz", y=y, **arrays)
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(["convert", f"{folder}/a.npz", str(path)]) == 0


def test_features_to_start_with_are_found_by_the_names_of_tables(client):
    pd = pytest.importorskip("pandas")
    X, y = labelled(d=4)
    tables = [
        pd.DataFrame(X[rows], columns=list("abcd")).assign(label=y[rows])
        for rows in (slice(40), slice(40, None))
    ]
    found = engine.fit(ForwardFS(n_features=3, start=["c", "b"]), tables, client)
    expected = ForwardFS(n_features=3, start=[2, 1]).fit(X, y)
    assert found.ranking_.tolist() == expected.ranking_.tolist()
    with pytest.raises(ParameterError, match=r"names of the 4 features, got 'e'\. Use names"):
        engine.fit(ForwardFS(n_features=3, start=["c", "e"]), tables, client)


@pytest.mark.parametrize("suffix", ["svm", "parquet", "csv", "npz"])
@pytest.mark.slow
def test_files_are_read_by_the_workers(client, tmp_path, suffix):
    X, y = labelled(sparse=True)
    X[40:, 5:] = 0  # svmlight and Parquet do not tell how wide it is
    y = np.unique(y, return_inverse=True)[1]
    rows = X if suffix == "csv" else sparse.csr_array(X)
    for k, (i, j) in enumerate(pairwise([0, 25, 40, 60])):
        write(tmp_path / f"s{k}.{suffix}", rows[i:j], y[i:j])
    spread = engine.fit(OC(), str(tmp_path / "s*"), client, chunk_rows=7)
    local = OC().fit(rows, y)
    assert_same(spread, local, only=set(answer(local)) - {"names"})
    narrows.save(spread, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    written = engine.transform(loaded, [tmp_path / f"s{k}.{suffix}" for k in range(3)],
                               str(tmp_path / "out"), client)  # fmt: skip
    got = [z for path in written for z, _ in narrows.read.iter_chunks(path, label="label")]
    np.testing.assert_allclose(np.vstack(got), local.transform(rows), atol=1e-12)
    lazy = engine.transform(loaded, str(tmp_path / "s*"))
    np.testing.assert_allclose(
        client.compute(lazy).result(LIMIT), local.transform(rows), atol=1e-12
    )


def test_all_files_together_show_whether_features_count_from_zero(client, tmp_path):
    (tmp_path / "a.svm").write_text("0 1:1 2:1\n1 2:3\n")
    (tmp_path / "b.svm").write_text("0 0:1 2:1\n1 1:3\n")
    spread = engine.fit(OC(), [tmp_path / "a.svm", tmp_path / "b.svm"], client)
    X = np.array([[0.0, 1, 1], [0, 0, 3], [1, 0, 1], [0, 3, 0]])
    local = OC().fit(X, [0, 1, 0, 1])
    np.testing.assert_allclose(spread.components_, local.components_)
    assert source_of(spread).zero_based is True


def test_shards_without_rows_are_passed_over(client, tmp_path):
    X, y = labelled()
    whole = pa.table({"label": y, **{f"f{k}": X[:, k] for k in range(7)}})
    for k, part in enumerate((whole[:0], whole[:20], whole[20:])):
        pq.write_table(part, tmp_path / f"s{k}.parquet")
    spread = engine.fit(OC(), str(tmp_path / "*.parquet"), client)
    assert_same(spread, OC().fit(X, y), only=["components", "rows", "class_count"])
    assert source_of(spread).columns == tuple(f"f{k}" for k in range(7))
    with pytest.raises(ValueError, match="two classes"):
        engine.fit(OC(), str(tmp_path / "s0.parquet"), client)


def test_the_first_shard_decides_whether_labels_are_text(client, tmp_path):
    (tmp_path / "a.csv").write_text("label,x,y\n0,1,2\n1,3,5\n")
    (tmp_path / "b.csv").write_text("label,x,y\nzero,1,7\n1,0,5\n")
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    with pytest.raises(DataError, match=r"b\.csv:2: expected an integer label.* got 'zero'"):
        engine.fit(OC(), files, client)
    for data, more in (files[::-1], {}), (files, {"labels": "text"}):
        spread = engine.fit(OC(), data, client, **more)
        assert spread.classes_.tolist() == ["0", "1", "zero"]


def test_texts_are_counted_first(client, tmp_path, run):
    texts = ["a cat and a dog", "the dog barks", "cats and cats", "one ant", "two ants", "an ant"]
    lines = [json.dumps({"label": k // 3, "text": text}) for k, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines[:2]))
    (tmp_path / "b.jsonl").write_text("\n".join(lines[2:]))
    spread = engine.fit(OC(), str(tmp_path / "*.jsonl"), client)
    status, _, _ = run("fit a.jsonl b.jsonl --method oc -o m.narrows")
    assert status == 0
    assert_same(spread, narrows.load("m.narrows"))


# -- transform -------------------------------------------------------------------------------------


def test_transform_is_lazy_and_keeps_what_is_sparse(at_hand):
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
    assert all(sparse.issparse(block) for block in blocks)
    np.testing.assert_array_equal(sparse.vstack(blocks).toarray(), ocfs.transform(X))
    with pytest.raises(ValueError, match="expected 7 features as in the fit, got 6"):
        oc.transform(rows[:, :6])


def test_transform_checks_rows_and_columns(at_hand):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = labelled()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    oc = OC().fit(frame, y)
    turned = frame[list("gfedcba")]
    for given in (turned, turned.assign(label=y)):
        spread = engine.transform(oc, dd.from_pandas(given, npartitions=3))
        np.testing.assert_allclose(spread.compute(), oc.transform(frame), atol=1e-12)
    with pytest.raises(DataError, match="got all but 'g"):
        oc.transform(dd.from_pandas(frame[list("abcdef")], npartitions=3))
    X[30, 3] = np.nan
    with pytest.raises(ValueError, match="expected finite values, got NaN"):
        oc.transform(da.from_array(X, chunks=20)).compute()


def test_rows_alone_are_written_and_shards_without_rows_are_not(client, tmp_path):
    X, y = labelled()
    oc = OC().fit(X, y)
    written = engine.transform(oc, da.from_array(X, chunks=(20, 3)), str(tmp_path), client)
    got = [z for path in written for z, _ in narrows.read.iter_chunks(path)]
    np.testing.assert_allclose(np.vstack(got), oc.transform(X), atol=1e-12)
    with pytest.raises(ParameterError, match=r"part-00000\.parquet: expected an output, got one"):
        engine.transform(OC().fit(X[:, :2], y), written, str(tmp_path), client)
    parts = parts_of(X, y)
    paths = engine.transform(oc, parts, str(tmp_path / "more"), client)
    assert sorted(os.listdir(tmp_path / "more")) == [os.path.basename(path) for path in paths]
    assert len(paths) == sum(len(rows) > 0 for rows, _ in parts)


def test_shards_without_rows_are_no_rows_of_the_array(client, tmp_path):
    X, y = labelled()
    whole = pa.table({"label": y, **{f"f{k}": X[:, k] for k in range(7)}})
    paths = [str(tmp_path / f"s{k}.parquet") for k in range(2)]
    for path, part in zip(paths, (whole[:0], whole), strict=True):
        pq.write_table(part, path)
    oc = engine.fit(OC(), paths, client)
    for given in (paths, tuple(paths)):
        reduced = client.compute(engine.transform(oc, given)).result(LIMIT)
        np.testing.assert_allclose(reduced, OC().fit(X, y).transform(X), atol=1e-12)


def test_rows_of_another_format_than_at_the_fit(client, tmp_path):
    X, y = labelled(sparse=True)
    y = np.unique(y, return_inverse=True)[1]
    for suffix in ("svm", "parquet"):
        write(tmp_path / f"s.{suffix}", sparse.csr_array(X), y)
    oc = engine.fit(OC(), [tmp_path / "s.svm"], client)
    reduced = client.compute(engine.transform(oc, [tmp_path / "s.parquet"])).result(LIMIT)
    np.testing.assert_allclose(reduced, oc.transform(X), atol=1e-12)


def test_the_graph_holds_the_directions_once():
    import cloudpickle

    X, y = labelled(d=2_000)
    oc = OC().fit(X, y)
    graph = dict(engine.transform(oc, [X[k : k + 1] for k in range(20)]).__dask_graph__())
    sizes = [len(cloudpickle.dumps(task)) for task in graph.values()]
    assert sum(size > oc.components_.nbytes for size in sizes) == 1


# -- faults ----------------------------------------------------------------------------------------


def killing_part(k, mark):
    """Kill the first worker that comes to part 7, by when others hold what they have learned."""
    if k == 7 and not os.path.exists(mark):
        with open(mark, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return labelled(seed=k)


@pytest.mark.slow
def test_a_killed_worker_is_replaced(client, tmp_path):
    mark = str(tmp_path / "killed")
    parts = [dask.delayed(killing_part)(k, mark) for k in range(12)]
    pids = list(client.run(os.getpid).values())
    spread = engine.fit(OC(), parts, client)
    assert os.path.exists(mark)
    client.wait_for_workers(2, LIMIT)
    assert set(client.run(os.getpid).values()) != set(pids)
    rows, labels = zip(*(labelled(seed=k) for k in range(12)), strict=True)
    assert_same(spread, OC().fit(np.concatenate(rows), np.concatenate(labels)))


def killing_once(part, thing, mark):
    """Kill the worker that comes to the part first, which is the only one to have the thing."""
    if not os.path.exists(mark):
        with open(mark, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return thing.sum() + part


@pytest.mark.nightly
def test_what_a_worker_was_sent_is_sent_again_if_it_dies(client, tmp_path):
    mark = str(tmp_path / "killed")
    large = partial(killing_once, thing=np.ones(3000), mark=mark)
    assert engine.Dask(client).map(large, [1]) == [3001.0]
    assert os.path.exists(mark)
    client.wait_for_workers(2, LIMIT)


@pytest.mark.nightly
def test_a_fit_in_a_task_uses_the_cluster_of_the_task(client):
    X, y = labelled()

    def fit():
        return engine.fit(OC(), parts_of(X, y)).components_

    for fitted in [client.submit(fit, pure=False) for _ in range(3)]:
        np.testing.assert_allclose(fitted.result(LIMIT), OC().fit(X, y).components_)


@pytest.mark.nightly
def test_a_part_that_kills_its_workers_is_an_error(client):
    def deadly():
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ConnectionError, match="got several that died on one part"):
        engine.fit(OC(), [dask.delayed(deadly)()], client)
    client.wait_for_workers(2, LIMIT)


@pytest.mark.slow
def test_what_is_wrong_in_a_part_is_named_with_its_row(client, tmp_path):
    X, y = labelled()
    X[37, 2] = np.nan
    with pytest.raises(DataError, match=r"partition 4:7: expected finite values"):
        engine.fit(OC(), parts_of(X, y), client)
    with pytest.raises(DataError, match=r"partition 1: .*[Ll]abels|partition 1: .*samples"):
        engine.fit(OC(), [(X[:3], y[:3]), (X[:3], y[:2])], client)
    (tmp_path / "a.svm").write_text("0 1:1 2:1\n1 2:3\n")
    (tmp_path / "b.svm").write_text("0 1:1 2:1\n1 2:x\n")
    with pytest.raises(DataError, match=r"b\.svm:2: "):
        engine.fit(OC(), [tmp_path / "a.svm", tmp_path / "b.svm"], client)
    with pytest.raises(FileNotFoundError):
        engine.fit(OC(), [tmp_path / "c.svm"], client)
    with pytest.raises(ValueError, match="expected at least one part, got none"):
        engine.fit(OC(), [], client)


@pytest.mark.slow
@pytest.mark.parametrize("method", [OC, MMC])
def test_nothing_stays_on_the_cluster_after_an_error(client, method):
    X, y = labelled()
    X[58] = np.nan
    gc.collect()
    before = set(client.futures)
    with contextlib.suppress(DataError):  # pytest.raises would keep hold of its frames
        engine.fit(method(), parts_of(X, y, range(0, 61, 6)), client)
        pytest.fail("NaN was learned")
    deadline = time.monotonic() + LIMIT
    while set(client.futures) - before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.1)
    assert set(client.futures) <= before


def killing_scheduler(k, pid):
    if k == 7:
        os.kill(pid, signal.SIGKILL)
    return labelled(seed=k)


def test_a_cluster_without_workers_is_an_error():
    limit = {"distributed.scheduler.no-workers-timeout": "500ms"}
    with (
        dask.config.set(limit),
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(ConnectionError, match="got none for too long"),
    ):
        engine.fit(OC(), [labelled()], client)


@pytest.mark.nightly
def test_a_lost_scheduler_is_an_error():
    scheduler, worker = (
        [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"]
        for what in ("scheduler", "worker")
    )
    said = subprocess.PIPE
    with subprocess.Popen([*scheduler, "--port", "0"], stderr=said, text=True) as first:
        limit = threading.Timer(LIMIT, first.kill)
        limit.start()
        try:
            address = next(line.split()[-1] for line in first.stderr if "Scheduler at:" in line)
            with subprocess.Popen([*worker, address], stderr=subprocess.DEVNULL) as second:
                try:
                    with Client(address, set_as_default=False) as client:
                        client.wait_for_workers(1, LIMIT)
                    parts = [dask.delayed(killing_scheduler)(k, first.pid) for k in range(60)]
                    with pytest.raises(ConnectionError, match=f"{address}, got a lost"):
                        engine.fit(OC(), parts, address)
                finally:
                    second.kill()
        finally:
            limit.cancel()
            first.kill()
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ConnectionError, match="expected a Dask scheduler at"),
    ):
        engine.fit(OC(), [labelled()], address)


@pytest.mark.nightly
def test_without_a_client_a_cluster_is_started_and_closed(monkeypatch):
    import distributed
    import psutil

    made = []

    def small(**options):
        made.append(LocalCluster(n_workers=1, **options))
        return made[0]

    monkeypatch.setattr(distributed, "LocalCluster", small)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    X, y = labelled()
    assert_same(engine.fit(OC(), parts_of(X, y)), OC().fit(X, y))
    assert made[0].status.name == "closed"
    after = {child.pid for child in psutil.Process().children(recursive=True)}
    assert after <= before
    with pytest.raises(ValueError, match="No clients"):
        distributed.default_client()


LOGGER = logging.getLogger("distributed")
SEEN = []  # by workers that are threads
PATIENCE = "distributed.deploy.lost-worker-timeout"  # with a worker that is restarted


def levels():
    return [handler.level for handler in LOGGER.handlers]


def part_that_sees_the_levels():
    SEEN.append(levels())
    assert dask.config.get(PATIENCE) == "5 minutes"
    return labelled()


def part_that_interrupts():
    _thread.interrupt_main()  # as a Ctrl-C does that any other thread is given
    return labelled()


@pytest.fixture
def in_threads(monkeypatch):
    """Let a cluster of our own be one of threads, which begins at once."""
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: LocalCluster(
        n_workers=1, processes=False, **options))  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("in_threads")
def test_dask_does_not_log_during_a_fit(capfd, monkeypatch):
    monkeypatch.setattr(LOGGER, "handlers", [logging.StreamHandler()])
    before, X_y, patience = levels(), labelled(), dask.config.get(PATIENCE)
    assert patience != "5 minutes"
    SEEN.clear()
    assert_same(engine.fit(OC(), [dask.delayed(part_that_sees_the_levels)()]), OC().fit(*X_y))
    assert min(SEEN[0]) > logging.CRITICAL
    assert (levels(), dask.config.get(PATIENCE)) == (before, patience)
    with pytest.raises(DataError):
        engine.fit(OC(), [DENSE_5, DENSE_3])
    assert levels() == before

    with pytest.raises(KeyboardInterrupt):
        engine.fit(OC(), [dask.delayed(part_that_interrupts)()])
    assert levels() == before
    gc.collect()
    assert capfd.readouterr().err == ""


def test_a_cluster_that_does_not_begin_leaves_the_loggers_alone(monkeypatch):
    import distributed

    def failing(**options):
        raise OSError("no more processes")

    before = levels()
    monkeypatch.setattr(distributed, "LocalCluster", failing)
    with pytest.raises(ConnectionError, match=r"on this machine, .* \(no more processes\)"):
        engine.fit(OC(), [labelled()])
    assert levels() == before


@pytest.mark.slow
@pytest.mark.usefixtures("in_threads")
def test_an_interrupt_while_a_cluster_begins_leaves_none(monkeypatch):
    import distributed

    threads = distributed.LocalCluster
    made, before = [], levels()

    def interrupting(**options):
        made.append(threads(**options))
        _thread.interrupt_main()
        return made[0]

    monkeypatch.setattr(distributed, "LocalCluster", interrupting)
    with pytest.raises(KeyboardInterrupt):
        engine.fit(OC(), [labelled()])
    assert made[0].status.name == "closed"
    assert levels() == before


@pytest.mark.nightly
def test_two_fits_at_once_have_a_cluster_each(monkeypatch):
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: LocalCluster(
        n_workers=1, **options))  # fmt: skip
    X, y = labelled()
    with ThreadPoolExecutor() as pool:
        fits = [pool.submit(engine.fit, OC(), parts_of(X, y) * times) for times in (1, 20)]
        for spread in fits:
            assert_same(spread.result(LIMIT), OC().fit(X, y), only=["components"])


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line(cluster, run, tmp_path):
    X, y = labelled(sparse=True)
    y = np.unique(y, return_inverse=True)[1]
    for k, (i, j) in enumerate(pairwise([0, 20, 60])):
        write(tmp_path / f"s{k}.svm", sparse.csr_array(X[i:j]), y[i:j])
    engine_dask = f"--engine dask --scheduler {cluster.scheduler_address}"
    line = f"fit s*.svm --method ocfs --n-features 3 -o m.narrows {engine_dask}"
    status, out, err = run(f"{line} --then none")
    assert (status, err) == (0, "")
    assert out.startswith("OCFS: 60 rows, 3 classes, 7 columns -> 3;")
    assert run("fit s0.svm s1.svm --method ocfs --n-features 3 -o l.narrows")[0] == 0
    assert_same(narrows.load("m.narrows"), narrows.load("l.narrows"))
    assert run(f"transform m.narrows s*.svm -o out {engine_dask}")[:2] == (
        0,
        "2 files written to out\n",
    )
    assert sorted(os.listdir("out")) == ["part-00000.parquet", "part-00001.parquet"]
    (tmp_path / "t.jsonl").write_text('{"label": 0, "text": "a cat"}\n')
    for line, said in (
        (
            f"fit s*.svm --method oc -o x.narrows {engine_dask} --checkpoint c",
            "--checkpoint: expected --engine local, got --engine dask",
        ),
        (
            "fit s0.svm --method oc -o x.narrows --scheduler tcp://x:1",
            "--scheduler: expected --engine dask beside it",
        ),
        (f"fit s*.svm --method ioc -o x.narrows {engine_dask}", "Use OC"),
        (f"fit u*.svm --method oc -o x.narrows {engine_dask}", "no file matches: u*.svm"),
        (
            f"transform m.narrows s*.svm -o m.narrows {engine_dask}",
            "expected a folder with",
        ),
        (f"transform m.narrows s*.svm -o - {engine_dask}", "expected a folder with"),
        (
            f"transform m.narrows t.jsonl -o out {engine_dask}",
            "expected numbers, as the fit has, got texts",
        ),
        (
            f"fit s0.svm t.jsonl --method oc -o x.narrows {engine_dask}",
            "expected files of one format",
        ),
        (
            f"fit s0.svm --method oc -o x.narrows --min-df 2 {engine_dask}",
            "expected texts (.jsonl) to count",
        ),
        (
            f"fit - --method oc -o x.narrows {engine_dask}",
            "files, of which any part can be read, got standard",
        ),
    ):
        status, out, err = run(line)
        assert (status, out, err.count("\n")) == (2, "", 1), line
        assert said in err
    assert not os.path.exists("x.narrows")


# -- tables ----------------------------------------------------------------------------------------


def frame_of(rows):
    """Customers as a DataFrame with a type in each column."""
    frame = pd.DataFrame(rows, columns=NAMES).replace("", None)
    return frame.astype({"age": float, "paid": float, "since": "datetime64[ns]"})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_tables_of_files_are_fitted_as_on_one_machine(cluster, run, tmp_path, kind):
    frame = frame_of(customers(600))
    for k, rows in enumerate(np.array_split(np.arange(600), 3)):
        part, path = frame.iloc[rows], tmp_path / f"t{k}.{kind}"
        if kind == "parquet":
            part.to_parquet(path, index=False)
        else:
            part.to_csv(path, index=False, sep="," if kind == "csv" else "\t")
    files, engine_dask = f"t*.{kind}", f"--engine dask --scheduler {cluster.scheduler_address}"
    line = f"fit {files} --label churn --method srda --drop city --numbers age"
    status, out, err = run(f"{line} -o m.narrows {engine_dask}")
    assert (status, "SRDA: 600 rows, 2 classes" in out) == (0, True), err
    assert "city: left out (listed in drop)" in err
    assert run(f"{line} -o l.narrows")[0] == 0
    found, local = narrows.load("m.narrows"), narrows.load("l.narrows")
    assert source_of(found).encoder == source_of(local).encoder
    np.testing.assert_allclose(found.components_, local.components_, rtol=1e-8, atol=1e-12)
    for name in "ml":
        status, out, _ = run(f"predict {name}.narrows t1.{kind} --label churn -o {name}.csv")
        assert (status, "equal to the labels" in out) == (0, True)
    here, there = np.loadtxt("l.csv", str, delimiter=","), np.loadtxt("m.csv", str, delimiter=",")
    assert (here[:, -1] == there[:, -1]).all()
    np.testing.assert_allclose(*(a[1:, 0].astype(float) for a in (there, here)), rtol=1e-8)
    assert run(f"transform m.narrows {files} -o out {engine_dask}")[0] == 0
    reduced = [X for X, _ in narrows.read.iter_chunks(sorted(map(str, tmp_path.glob("out/*"))))]
    X = source_of(local).encoder.transform(frame.drop(columns="churn"))
    np.testing.assert_allclose(np.vstack(reduced), local.transform(X), atol=1e-8)


def test_whole_columns_of_tables_are_selected_on_clusters(cluster, run, tmp_path):
    frame_of(customers(600)).to_csv(tmp_path / "t.csv", index=False)
    line = "fit t.csv --label churn --method forwardfs --n-features 2"
    engine_dask = f"--engine dask --scheduler {cluster.scheduler_address}"
    assert run(f"{line} -o m.narrows {engine_dask}")[0] == 0
    assert run(f"{line} -o l.narrows")[0] == 0
    found, local = narrows.load("m.narrows"), narrows.load("l.narrows")
    np.testing.assert_array_equal(found.get_support(), local.get_support())
    chosen = np.unique(source_of(found).encoder.groups_[found.get_support()])
    assert source_of(found).encoder.feature_names_in_[chosen].tolist() == ["age", "plan"]


@pytest.mark.slow
def test_a_table_of_dask_is_encoded_on_the_workers(client, monkeypatch):
    pretend(monkeypatch, "few rows decide")  # fewer than the first partition has
    frame = frame_of(customers(600))
    table = dd.from_pandas(frame, npartitions=3)
    decided, rest = TableEncoder().fit(frame.drop(columns="churn")[:100]), frame.iloc[:, :-1]
    X, y = decided.transform(rest), frame["churn"].to_numpy().astype(str)
    expected = SRDA().fit(X, y)
    given = TableEncoder()
    found = engine.fit(SRDA(), table, client, label="churn", vectoriser=given)
    assert not given.__sklearn_is_fitted__()
    assert source_of(found).encoder == decided
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-8, atol=1e-12)
    few = table.drop(columns=["churn", "phone"])
    for each in (table, few, table[list(NAMES)[::-1]]):
        got = engine.transform(found, each).compute(scheduler="sync")
        np.testing.assert_allclose(got, expected.transform(X), atol=1e-8)
    with pytest.raises(DataError, match=r"got 'more' besides\. Leave out what is new"):
        engine.transform(found, few.assign(more=1)).compute(scheduler="sync")
    parts = [dask.delayed(frame[:200]), frame[200:]]
    again = engine.fit(SRDA(), parts, client, label="churn", vectoriser=given)
    np.testing.assert_allclose(again.components_, expected.components_, rtol=1e-8, atol=1e-12)


@pytest.mark.slow
def test_wrong_tables_on_clusters_are_one_line_each(cluster, client, run, tmp_path, monkeypatch):
    pretend(monkeypatch, "few rows decide")
    frame = frame_of(customers(300)).astype(object)
    engine_dask = f"--engine dask --scheduler {cluster.scheduler_address}"

    def error_of(line, changed):
        for k in range(2):
            changed[150 * k : 150 * (k + 1)].to_csv(tmp_path / f"x{k}.csv", index=False)
        status, out, err = run(line)
        assert (status in (1, 2), out, err.count("\n")) == (True, "", 1), err
        return err

    fit = f"fit x*.csv --label churn --method srda -o o.narrows {engine_dask}"
    late = frame.copy()
    late.loc[201, "age"] = "forty"
    said = error_of(fit, late)
    assert "x1.csv:53: " in said
    assert "'age', got 'forty'" in said
    late = frame.copy()
    late.loc[3, "age"] = "inf"
    assert "x0.csv:5: " in error_of(f"{fit} --numbers age", late)
    late = frame.copy()
    late.loc[202, "churn"] = None
    assert "x1.csv:54: 'churn': expected a label, got none" in error_of(fit, late)
    assert "drop" in error_of(f"{fit} --drop town", frame)
    assert not os.path.exists("o.narrows")
    new = frame.copy()
    new.insert(0, "extra", 1)
    assert run(fit.replace("x*", "x0"))[0] == 0
    for k in range(2):
        new.to_csv(tmp_path / f"x{k}.csv", index=False)
    assert run(f"transform o.narrows x*.csv -o out {engine_dask}")[0] == 0
    assert "age" in error_of(
        f"transform o.narrows x*.csv -o out {engine_dask}", frame.drop(columns="age")
    )
    table, given = dd.from_pandas(frame_of(customers(300)), npartitions=2), TableEncoder()
    for fail in (given.fit, lambda X: make_pipeline(given, SRDA()).fit(X, X["churn"])):
        with pytest.raises(ValueError, match=r"got one on a cluster.*narrows\.engines\.dask\.fit"):
            fail(table)
    for changed, said in (
        (frame_of(customers(300)), "column 'age': expected no nulls, got one. .* TableEncoder"),
        (frame.drop(columns="age"), "expected numbers, got large_string. .* TableEncoder"),
    ):
        with pytest.raises(DataError, match=said):
            engine.fit(SRDA(), dd.from_pandas(changed, npartitions=2), client, label="churn")
    forward = ForwardFS(n_features=2)
    pairs = [(frame.drop(columns="churn"), frame["churn"])]
    with pytest.raises(DataError, match="expected a table with a label column"):
        engine.fit(forward, pairs, client, vectoriser=given)
    assert forward.groups is None


# -- memory ----------------------------------------------------------------------------------------


def wide_part(k, n=1000, filled=10, d=400_000, c=10):
    rng = np.random.default_rng(k)
    columns = rng.integers(0, d, (n, filled), dtype=np.int32)
    indptr = np.arange(0, n * filled + 1, filled)
    X = sparse.csr_array((rng.random(n * filled), columns.ravel(), indptr), shape=(n, d))
    return X, rng.integers(0, c, n)


@pytest.mark.nightly
def test_workers_hold_few_states_however_many_parts_there_are():
    psutil = pytest.importorskip("psutil")
    state, n_parts = 8 * 10 * 400_000, 128
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, LIMIT)
        parts = [dask.delayed(wide_part)(k) for k in range(8)]
        engine.fit(OC(), parts, client)  # what is imported is there, on both
        workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        before = [worker.memory_info().rss for worker in workers]
        most, over = before.copy(), threading.Event()

        def watch():
            while not over.wait(0.02):
                most[:] = map(max, most, (worker.memory_info().rss for worker in workers))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            oc = engine.fit(OC(), [dask.delayed(wide_part)(k) for k in range(n_parts)], client)
        finally:
            over.set()
            watching.join(LIMIT)
    assert oc.n_samples_seen_ == 1000 * n_parts
    assert sum(most) - sum(before) < n_parts // 2 * state


@pytest.mark.slow
def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'narrows\[dask\]'"):
        engine.fit(OC(), [labelled()])


@pytest.mark.nightly
def test_ctrl_c_ends_a_fit_on_a_cluster(tmp_path):
    X, y = labelled(n=300)
    write(tmp_path / "s.svm", X, np.unique(y, return_inverse=True)[1])
    folder = tmp_path / "run"
    folder.mkdir()
    os.rename(tmp_path / "s.svm", folder / "s.svm")
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
    process = subprocess.Popen(
        [*command, "-o", "m.narrows", "--engine", "dask"], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + LIMIT
    while not (tmp_path / "learning").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "narrows: interrupted; no file was changed."
    assert os.listdir(folder) == ["s.svm"]


# -- names of features, and what `set_output` asks for ---------------------------------------------


def frame(n=60):
    X, y = labelled(n=n, d=4)
    return pd.DataFrame(X, columns=list("abcd"), index=range(n, 0, -1)), y


def test_pairs_with_tables_are_read_by_name(client, tmp_path):
    X, y = frame()
    local, other = OC().fit(X, y), X[list("dcba")]
    spread = engine.fit(OC(), [(X, y)], client)
    assert spread.feature_names_in_.tolist() == list("abcd")
    for parts in ([(other, y)], [other]):
        for oc in (local, spread):
            found = engine.transform(oc, parts, client=client).compute()
            np.testing.assert_allclose(found, local.transform(X), atol=1e-12)
    (path,) = engine.transform(local, [(other, list(y))], tmp_path / "out", client=client)
    written = pd.read_parquet(path)
    np.testing.assert_allclose(written[["oc0", "oc1"]], local.transform(X), atol=1e-12)
    with pytest.raises(DataError, match="expected the 4 columns of the fit, got all but 'a'"):
        engine.transform(local, [(X.rename(columns={"a": "q"}), y)], client=client).compute()


def test_a_frame_of_pandas_or_an_array_is_one_part(client):
    X, y = frame()
    spread = engine.fit(OC(), X.assign(label=y), client)
    assert_same(spread, OC().fit(X, y))
    assert_same(engine.fit(PCA(2), X.to_numpy(), client), PCA(2).fit(X.to_numpy()))


def test_a_feature_of_the_fit_is_no_label():
    X, y = frame()
    X = X.rename(columns={"b": "class"})
    oc = OC().fit(X, y)
    found = oc.transform(dd.from_pandas(X, npartitions=2, sort=False))
    np.testing.assert_allclose(found.compute(), oc.transform(X), atol=1e-12)


@pytest.mark.parametrize("method", [OC(), OCFS(n_features=2)])
def test_set_output_keeps_the_index_and_collections_lazy(method):
    X, y = frame()
    method.fit(X, y).set_output(transform="pandas")
    reduced = method.transform(dd.from_pandas(X, npartitions=2, sort=False))
    assert isinstance(reduced, dd.DataFrame)
    pd.testing.assert_frame_equal(reduced.compute(), method.transform(X))
    for output in ("default", "pandas", "polars"):
        lazy = method.set_output(transform=output).transform(da.from_array(X.to_numpy(), (20, 4)))
        assert isinstance(lazy, da.Array)


def test_one_weight_may_be_that_of_all_samples(client):
    X, y = labelled()
    with client.as_current():
        spread = OC().fit(da.from_array(X, (20, X.shape[1])), y, 2.0)
    assert_same(spread, OC().fit(X, y, 2.0))


def test_a_transform_of_a_subclass_is_that_of_collections_too():
    class Absolute(OC):
        def transform(self, X):
            return abs(super().transform(X))

    X, y = labelled()
    oc = Absolute().fit(X, y)
    found = oc.transform(da.from_array(X, (20, X.shape[1]))).compute()
    np.testing.assert_allclose(found, oc.transform(X), atol=1e-12)


def test_an_array_of_paths_names_parts(client, tmp_path):
    X, y = labelled()
    paths, code = [], np.unique(y, return_inverse=True)[1]
    for k, (some, labels) in enumerate(parts_of(X, code, [0, 20, 60])):
        paths.append(str(tmp_path / f"{k}.svm"))
        dump_svmlight_file(some, labels, paths[-1])
    for given in (np.array(paths), pd.Series(paths)):
        assert engine.fit(OC(), given, client).n_samples_seen_ == 60
