"""`keep=0`: what models do without samples, and that no sample of the fit lies in their files."""

from __future__ import annotations

import csv
import json
import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import (
    LDA,
    MMC,
    MMCFS,
    OC,
    PCA,
    PLS,
    SRDA,
    FisherFS,
    ForwardFS,
    KernelSRDA,
    Moments,
    OnlineSRDA,
    ReducedRank,
    VarianceFS,
    load,
    save,
)
from narrows.errors import ParameterError
from tests.inside import before_chunk

ADDITIVE = [
    SRDA(keep=0), LDA(keep=0), LDA(n_components=4, keep=0), KernelSRDA(n_hidden=20, keep=0),
    MMC(keep=0), PCA(keep=0), ForwardFS(keep=0), PLS(keep=0), ReducedRank(keep=0),
]  # fmt: skip
KEEPERS = [*ADDITIVE, OnlineSRDA(keep=0, random_state=0)]


def samples(n=120, d=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) + y[:, None] * np.arange(d) / 4 + 5, y


def sparse_samples(n=120, d=60):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.15, rng=rng, data_sampler=rng.normal, format="csr")
    return X, rng.integers(0, 3, n)


def targets(estimator, y):
    """What an estimator is fitted to: the classes, or two numbers."""
    if not isinstance(estimator, PLS | ReducedRank):
        return y
    return np.random.default_rng(1).normal(size=(len(y), 2)) + y[:, None]


def learned(estimator, X, y, size):
    """A new estimator that has learned batches of samples."""
    t, estimator = targets(estimator, y), clone(estimator)
    for start in range(0, len(y), size):
        estimator.partial_fit(X[start : start + size], t[start : start + size])
    return estimator


def runs(values, known):
    """Whether three numbers in a row are among the known ones."""
    hit = np.isin(values, known)
    return bool((hit[2:] & hit[1:-1] & hit[:-2]).any())


def holds_rows(path, X):
    """Whether the bytes of a file hold three successive values of samples, about any origin in it.

    As float64 or float32, at any place of the file. About an origin, to nine digits.
    """
    data, rows, centred = path.read_bytes(), X.data if sparse.issparse(X) else X, []
    if not sparse.issparse(X):
        origins, header = [X.mean(axis=0)], 8 + int.from_bytes(data[:8], "little")
        entry = json.loads(data[8:header]).get("state.origin")
        if entry:
            start = header + entry["data_offsets"][0]
            origins.append(np.frombuffer(data, float, entry["shape"][0], start)[-X.shape[1] :])
        centred = [np.round(X - origin, 9).ravel() for origin in origins]
    for type_ in (np.float64, np.float32):
        size = np.dtype(type_).itemsize
        for offset in range(size):
            values = np.frombuffer(data, type_, (len(data) - offset) // size, offset)
            if runs(values, rows.ravel().astype(type_)):
                return True
            with np.errstate(all="ignore"):
                rounded = np.round(values.astype(np.float64), 9)
            if type_ is np.float64 and any(runs(rounded, each) for each in centred):
                return True
    return False


def saved(estimator, path):
    save(estimator, path)
    return path


FEW = samples(20, 40)
LEARNED = {  # samples, and the size of batches
    "batches": (*samples(), 50),
    "float32": (samples()[0].astype(np.float32), samples()[1], 120),
    "few at once": (*FEW, 20),
    "few one by one": (*FEW, 1),
    "sparse": (*sparse_samples(), 120),
}


@pytest.mark.parametrize("way", LEARNED)
@pytest.mark.parametrize("estimator", KEEPERS, ids=repr)
def test_no_sample_lies_in_the_file(estimator, way, tmp_path):
    X, y, size = LEARNED[way]
    assert not holds_rows(saved(learned(estimator, X, y, size), tmp_path / "m"), X)


@pytest.mark.parametrize("estimator", ADDITIVE, ids=repr)
def test_no_sample_lies_in_the_file_of_a_merge_or_of_a_stream_that_forgets(estimator, tmp_path):
    X, y = samples()
    first, other = (learned(estimator, X[k::2], y[k::2], 60) for k in range(2))
    if isinstance(estimator, KernelSRDA):
        other = first.emptied().partial_fit(X[1::2], y[1::2])
    assert not holds_rows(saved(first.merge(other), tmp_path / "m"), X)
    fading = clone(estimator).set_params(half_life=20.0)
    assert not holds_rows(saved(learned(fading, X, y, 1), tmp_path / "m"), X)


def test_the_scan_finds_rows_where_they_are_kept(tmp_path):
    X, y = samples()
    for estimator in (SRDA(), LDA(keep=30), KernelSRDA(n_hidden=20), OnlineSRDA()):
        assert holds_rows(saved(estimator.fit(X, y), tmp_path / "m"), X)
    for estimator in (PCA(), MMC(), ForwardFS()):  # fewer samples than features: they wait
        assert holds_rows(saved(estimator.fit(*FEW), tmp_path / "m"), FEW[0])


@pytest.mark.parametrize("method", [OC, FisherFS, MMCFS, VarianceFS])
def test_the_origin_of_sums_is_no_sample_after_two(method, tmp_path):
    X, y = samples(12)
    one, two = (method().partial_fit(X[k : k + 1], y[k : k + 1]) for k in range(2))
    for model in (one.merge(two), method().partial_fit(X[:1], y[:1]).partial_fit(X[1:2], y[1:2])):
        assert not (model.moments_.to_arrays()["origin"] == X).all(axis=1).any()


def test_a_fitted_model_drops_its_samples(tmp_path):
    X, y = samples()
    srda = SRDA().fit(X, y).set_params(keep=0)
    assert not holds_rows(saved(srda, tmp_path / "m"), X)
    again = load(tmp_path / "m")
    np.testing.assert_allclose(again.alpha_, srda.alpha_, rtol=1e-12)
    np.testing.assert_allclose(again.predict_proba(X), srda.predict_proba(X), rtol=1e-9)
    assert again.merge(srda).n_samples_seen_ == 240
    moments = Moments.of(X, y, second="cross", keep=50)
    model = SRDA(keep=0).fit_moments(moments)
    assert (moments.keep, model.moments_.keep) == (50, 0)
    np.testing.assert_array_equal(model.components_, SRDA(keep=0).fit(X, y).components_)


def test_the_ridge_is_the_mean_squared_length_of_the_centred_samples():
    X, y = samples()
    scale = ((X - X.mean(axis=0)) ** 2).sum() / len(X)
    srda = SRDA(keep=0).fit(X, y)
    assert (srda.alpha_, len(srda.alphas_)) == (pytest.approx(scale), 0)
    assert LDA(keep=0).fit(X, y).mu_ == pytest.approx(scale)
    assert ReducedRank(keep=0).fit(X, X[:, :2]).alpha_ == pytest.approx(scale)


NOTHING_KEPT = [
    SRDA("cv", keep=0), SRDA(alpha="cv", keep=0), LDA("cv", keep=0), LDA(mu="cv", keep=0),
    KernelSRDA(alpha="cv", keep=0), MMC(eps="cv", keep=0), ReducedRank(alpha="cv", keep=0),
    *(SRDA(keep=keep) for keep in (-1, 0.5, None, "none", True)),
]  # fmt: skip


@pytest.mark.parametrize("estimator", NOTHING_KEPT, ids=repr)
def test_what_keep_cannot_be_is_refused(estimator):
    X, y = samples()
    with pytest.raises(ParameterError, match="keep"):
        estimator.fit(X, targets(estimator, y))


@pytest.fixture
def table(run):
    """Write samples to a.csv in the folder of `run`."""

    def write(X, y):
        with open("a.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["class", *(f"f{k}" for k in range(X.shape[1]))])
            rows.writerows([f"c{label}", *x] for x, label in zip(X.tolist(), y, strict=True))

    return write


@pytest.mark.parametrize("method", ["srda", "kernelsrda", "onlinesrda", "pca", "forwardfs"])
def test_no_row_of_a_csv_lies_in_the_model_or_the_checkpoint(
    method, run, table, tmp_path, monkeypatch
):
    X, y = samples()
    table(X, y)
    fit = f"fit a.csv --label class --method {method} --keep none --chunk-rows 20 --checkpoint c"
    assert run(f"{fit} -o whole")[0] == 0
    assert json.loads(run("info whole --json")[1])["rows_kept"] == 0
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda k, _: signal.raise_signal(signal.SIGINT) if k == 4 else None)
        assert run(f"{fit} -o m")[0] == 130
    assert not holds_rows(tmp_path / "c", X)
    assert run(f"{fit} -o m --resume")[0] == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    assert run("update m a.csv -o m --label class")[0] == 0
    assert not holds_rows(tmp_path / "m", X)
