"""`keep=0`: what models do without samples, and that no sample of the fit lies in their files."""

from __future__ import annotations

import csv
import json
import signal

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

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
from narrows.text import Tfidf
from tests.inside import before_chunk

CLASSIFIERS = [
    SRDA(keep=0),
    LDA(keep=0),
    LDA(n_components=4, keep=0),
    KernelSRDA(n_hidden=20, keep=0),
]
OTHERS = [MMC(keep=0), PCA(keep=0), ForwardFS(keep=0), PLS(keep=0), ReducedRank(keep=0)]
KEEPERS = [*CLASSIFIERS, *OTHERS, OnlineSRDA(keep=0, random_state=0)]
ADDITIVE = [*CLASSIFIERS, *OTHERS]


def samples(n=120, d=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) + y[:, None] * np.arange(d) / 4 + 5, y


def sparse_samples(n=120, d=60, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.15, rng=rng, data_sampler=rng.normal, format="csr")
    return X, rng.integers(0, 3, n)


def targets(estimator, X, y):
    """What an estimator is fitted to: the classes, or two numbers."""
    if not isinstance(estimator, PLS | ReducedRank):
        return y
    return np.random.default_rng(1).normal(size=(len(y), 2)) + y[:, None]


def learned(estimator, X, y, size=None):
    """The estimator, fitted to all samples at once, or to batches of them."""
    t = targets(estimator, X, y)
    estimator = type(estimator)(**estimator.get_params())
    if size is None:
        return estimator.fit(X, t)
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
    data = path.read_bytes()
    rows = X.data if sparse.issparse(X) else np.asarray(X)
    centred = []
    if not sparse.issparse(X):
        n = X.shape[1]
        origins = [X.mean(axis=0)]
        at = data.find(b'"state.origin"')
        if at >= 0:
            entry = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["state.origin"]
            start = 8 + int.from_bytes(data[:8], "little") + entry["data_offsets"][0]
            origins.append(np.frombuffer(data, np.float64, entry["shape"][0], start)[-n:])
        centred = [np.round(X - origin, 9).ravel() for origin in origins]
    for type_ in (np.float64, np.float32):
        known, size = rows.ravel().astype(type_), np.dtype(type_).itemsize
        for offset in range(size):
            values = np.frombuffer(data, type_, (len(data) - offset) // size, offset)
            if runs(values, known):
                return True
            with np.errstate(all="ignore"):
                rounded = np.round(values.astype(np.float64), 9)
            if type_ is np.float64 and any(runs(rounded, each) for each in centred):
                return True
    return False


def saved(estimator, path):
    save(estimator, path)
    return path


# -- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, 1, 50])
@pytest.mark.parametrize("shape", [(120, 7), (20, 40)])
@pytest.mark.parametrize("estimator", KEEPERS, ids=repr)
def test_no_row_lies_in_the_file(estimator, shape, size, tmp_path):
    X, y = samples(*shape)
    assert not holds_rows(saved(learned(estimator, X, y, size), tmp_path / "m"), X)


@pytest.mark.parametrize("estimator", KEEPERS, ids=repr)
def test_no_sparse_row_and_no_float32_row_lies_in_the_file(estimator, tmp_path):
    X, y = sparse_samples()
    assert not holds_rows(saved(learned(estimator, X, y), tmp_path / "m"), X)
    X, y = samples()
    X = X.astype(np.float32)
    assert not holds_rows(saved(learned(estimator, X, y), tmp_path / "m"), X)


@pytest.mark.parametrize("estimator", ADDITIVE, ids=repr)
def test_no_row_lies_in_the_file_of_a_merge_or_of_a_stream_that_forgets(estimator, tmp_path):
    X, y = samples()
    if isinstance(estimator, KernelSRDA):
        first = learned(estimator, X[:60], y[:60])
        other = first.emptied().partial_fit(X[60:], y[60:])
    else:
        first, other = (learned(estimator, X[k::2], y[k::2]) for k in range(2))
    assert not holds_rows(saved(first.merge(other), tmp_path / "m"), X)
    fading = type(estimator)(**estimator.get_params() | {"half_life": 20.0})
    assert not holds_rows(saved(learned(fading, X, y, 1), tmp_path / "m"), X)


def test_the_scan_finds_rows_where_they_are_kept(tmp_path):
    X, y = samples()
    wide, of_wide = samples(20, 40)
    for estimator in (SRDA(), LDA(keep=30), KernelSRDA(n_hidden=20), OnlineSRDA()):
        assert holds_rows(saved(estimator.fit(X, y), tmp_path / "m"), X)
    for estimator in (PCA(), MMC(), ForwardFS()):  # fewer samples than features: they wait
        assert holds_rows(saved(estimator.fit(wide, of_wide), tmp_path / "m"), wide)


@pytest.mark.parametrize("method", [OC, FisherFS, MMCFS, VarianceFS])
def test_the_origin_of_sums_is_no_sample_after_two(method, tmp_path):
    X, y = samples(12)
    selector = method()
    for k in range(12):
        selector.partial_fit(X[k : k + 1], y[k : k + 1])
        origin = selector.moments_.to_arrays()["origin"]
        assert (origin == X).all(axis=1).any() == (k == 0)
    one, two = (method().partial_fit(X[k : k + 1], y[k : k + 1]) for k in range(2))
    assert not (one.merge(two).moments_.to_arrays()["origin"] == X).all(axis=1).any()


def test_a_fitted_model_drops_its_samples(tmp_path):
    X, y = samples()
    srda = SRDA().fit(X, y).set_params(keep=0)
    assert not holds_rows(saved(srda, tmp_path / "m"), X)
    again = load(tmp_path / "m")
    np.testing.assert_allclose(again.alpha_, srda.alpha_, rtol=1e-12)
    np.testing.assert_allclose(again.predict_proba(X), srda.predict_proba(X), rtol=1e-9)
    save(again, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    assert again.merge(srda).n_samples_seen_ == 240


# -- what it does instead ------------------------------------------------------------------------


def test_the_ridge_is_the_mean_squared_length_of_the_centred_samples():
    X, y = samples()
    scale = ((X - X.mean(axis=0)) ** 2).sum() / len(X)
    assert SRDA(keep=0).fit(X, y).alpha_ == pytest.approx(scale)
    assert LDA(keep=0).fit(X, y).mu_ == pytest.approx(scale)
    assert ReducedRank(keep=0).fit(X, X[:, :2]).alpha_ == pytest.approx(scale)
    chosen = SRDA().fit(X, y)
    assert len(chosen.alphas_)
    assert not len(SRDA(keep=0).fit(X, y).alphas_)


@pytest.mark.parametrize("method", [SRDA, LDA])
def test_probabilities_are_those_of_normal_classes_with_one_covariance(method):
    X, y = samples()
    model = method(keep=0).fit(X, y)
    means = np.array([X[y == j].mean(axis=0) for j in range(3)])
    within = (X - means[y]).T @ (X - means[y])
    ridge = model.alpha_ if method is SRDA else model.mu_
    covariance = (within + ridge * np.eye(7)) / len(X)
    log = [multivariate_normal(m, covariance).logpdf(X) for m in means]
    expected = softmax(np.array(log).T + np.log(np.bincount(y) / len(y)), axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6, atol=1e-12)
    assert np.abs(method().fit(X, y).predict_proba(X) - expected).max() > 1e-4


def test_a_kernel_that_keeps_nothing_has_no_curve():
    X, y = load_digits(return_X_y=True)
    kernel = KernelSRDA(n_hidden=300, keep=0).fit(X[:1200], y[:1200])
    assert not len(kernel.alphas_)
    assert kernel.score(X[1200:], y[1200:]) > SRDA(keep=0).fit(X[:1200], y[:1200]).score(
        X[1200:], y[1200:]
    )
    both = kernel.emptied().partial_fit(X[1200:], y[1200:]).merge(kernel)
    assert both.n_samples_seen_ == len(X)


@pytest.mark.parametrize("estimator", ADDITIVE, ids=repr)
def test_a_loaded_model_answers_the_same_and_goes_on(estimator, tmp_path):
    X, y = samples()
    t = targets(estimator, X, y)
    model = type(estimator)(**estimator.get_params()).fit(X[:80], t[:80])
    again = load(saved(model, tmp_path / "m"))
    assert again.keep == 0
    np.testing.assert_allclose(again.transform(X), model.transform(X), rtol=1e-7, atol=1e-9)
    for each in (model, again):
        each.partial_fit(X[80:], t[80:])
    np.testing.assert_allclose(again.transform(X), model.transform(X), rtol=1e-7, atol=1e-9)
    for name in ("predict", "predict_proba"):
        if hasattr(model, name):
            a, b = (getattr(each, name)(X) for each in (model, again))
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-12)
    if not isinstance(estimator, KernelSRDA):  # whose map is that of the first fit
        whole = learned(estimator, X, y)
        np.testing.assert_allclose(again.transform(X), whole.transform(X), rtol=1e-6, atol=1e-8)


def test_a_kernel_before_its_map_is_saved_with_the_map_of_the_samples_so_far(tmp_path):
    X, y = samples()
    kernel = KernelSRDA(n_hidden=20, keep=0).partial_fit(X, y)
    expected = kernel.transform(X)
    again = load(saved(kernel, tmp_path / "m"))
    np.testing.assert_allclose(again.transform(X), expected, rtol=1e-9)
    assert again.partial_fit(X, y).merge(kernel).n_samples_seen_ == 360
    empty = KernelSRDA(keep=0).partial_fit(X[:0], y[:0])
    assert load(saved(empty, tmp_path / "m")).partial_fit(X, y).n_samples_seen_ == 120


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SRDA(alpha="cv", keep=0), "alpha"),
        (SRDA(n_components="cv", keep=0), "n_components"),
        (LDA(mu="cv", keep=0), "mu"),
        (LDA(n_components="cv", keep=0), "n_components"),
        (KernelSRDA(alpha="cv", keep=0), "alpha"),
        (MMC(eps="cv", keep=0), "eps"),
        (ReducedRank(alpha="cv", keep=0), "alpha"),
    ],
    ids=repr,
)
def test_what_needs_kept_samples_says_so(estimator, name):
    X, y = samples()
    with pytest.raises(ParameterError, match=rf'^expected keep > 0 for {name}="cv"'):
        estimator.fit(X, targets(estimator, X, y))


def test_folds_need_no_kept_samples():
    X, y = samples()
    t = np.hstack([X[:, :2], y[:, None]])
    assert len(ReducedRank(n_components="cv", alpha="cv", keep=0).fit(X, t).alphas_)
    assert PLS(n_components="cv", keep=0).fit(X, t).held_out_scores_.size


@pytest.mark.parametrize("keep", [-1, 0.5, None, "none", True])
def test_keep_is_a_whole_number(keep):
    X, y = samples()
    with pytest.raises(ParameterError, match="expected `keep` to be an integer"):
        SRDA(keep=keep).fit(X, y)


def test_so_many_samples_are_kept():
    X, y = samples()
    assert len(SRDA(keep=17).fit(X, y).moments_.samples.keys) == 17
    with pytest.raises(ValueError, match="same parameters to merge, got keep=0 instead of 17"):
        SRDA(keep=17).fit(X, y).merge(SRDA(keep=0).fit(X, y))


def test_a_state_that_kept_samples_is_fitted_without_them(tmp_path):
    X, y = samples()
    stats = Moments.of(X, y, second="cross", keep=50)
    model = SRDA(keep=0).fit_moments(stats)
    assert stats.keep == 50
    assert not model.moments_.keep
    np.testing.assert_array_equal(model.components_, SRDA(keep=0).fit(X, y).components_)
    assert not holds_rows(saved(model, tmp_path / "m"), X)


@pytest.mark.nightly
def test_dask_keeps_no_rows(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = samples()
    model = SRDA(keep=0).fit(da.from_array(X, chunks=(30, 7)), da.from_array(y, chunks=30))
    assert not holds_rows(saved(model, tmp_path / "m"), X)
    assert model.n_samples_seen_ == 120


# -- the command line ----------------------------------------------------------------------------

LOST = "no samples kept: the ridge follows a rule, probabilities are not calibrated"


def write_csv(path, X, y):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["class", *(f"f{k}" for k in range(X.shape[1]))])
        rows.writerows([f"c{label}", *x] for x, label in zip(X.tolist(), y.tolist(), strict=True))


@pytest.mark.parametrize("method", ["srda", "lda", "onlinesrda", "pca", "forwardfs"])
def test_no_row_of_a_csv_lies_in_the_model(method, run, tmp_path):
    X, y = samples()
    write_csv("a.csv", X, y)
    keep = "0" if method == "lda" else "none"
    status, _, err = run(f"fit a.csv --label class --method {method} --keep {keep} -o m")
    assert status == 0
    assert (LOST in err) == (method in ("srda", "lda", "forwardfs"))  # then srda
    assert not holds_rows(tmp_path / "m", X)
    assert "rows of the data in the file: none\n" in run("info m")[1]
    assert run("update m a.csv -o m --label class")[0] == 0
    assert not holds_rows(tmp_path / "m", X)
    assert json.loads(run("info m --json")[1])["rows_kept"] == 0


@pytest.mark.nightly
def test_no_row_of_sparse_files_and_texts_lies_in_the_model(run, tmp_path):
    X, y = sparse_samples()
    with open("a.svm", "w") as file:
        for k in range(120):
            row = X[k : k + 1].tocoo()
            entries = zip(row.coords[1].tolist(), row.data.tolist(), strict=True)
            file.write(f"{y[k]} {' '.join(f'{i + 1}:{x!r}' for i, x in entries)}\n")
    rng = np.random.default_rng(0)
    words = np.array([f"word{letter}" for letter in "abcdefghij"])
    texts = [" ".join(rng.choice(words, rng.integers(4, 30))) for _ in range(120)]
    with open("a.jsonl", "w") as file:
        for text, label in zip(texts, y.tolist(), strict=True):
            file.write(json.dumps({"text": text, "label": label}) + "\n")
    vectors = sparse.csr_array(Tfidf().fit(texts).transform(texts))
    for method in ("srda", "lda", "kernelsrda", "onlinesrda", "mmc"):
        for path, rows in (("a.svm", X), ("a.jsonl", vectors)):
            assert run(f"fit {path} --method {method} --keep 0 -o m")[0] == 0
            assert not holds_rows(tmp_path / "m", rows)
    assert run("fit a.jsonl --method srda -o m")[0] == 0
    assert holds_rows(tmp_path / "m", vectors)


def test_a_checkpoint_holds_no_rows(run, tmp_path):
    X, y = samples()
    write_csv("a.csv", X, y)
    (tmp_path / "bad.csv").write_text((tmp_path / "a.csv").read_text() + "c1,oops\n")
    fit = "fit bad.csv --label class --method srda -o m --checkpoint c --every 50 --chunk-rows 50"
    for keep, found in ((0, False), (2000, True)):
        assert run(f"{fit} --keep {keep}")[0] == 1
        assert holds_rows(tmp_path / "c", X) == found
        (tmp_path / "c").unlink()


@pytest.mark.parametrize("method", ["srda", "kernelsrda", "pca"])
def test_a_resumed_run_is_the_same_to_the_byte(method, run, tmp_path, monkeypatch):
    X, y = samples()
    write_csv("a.csv", X, y)
    fit = f"fit a.csv --label class --method {method} --keep 0 --chunk-rows 20 --checkpoint c"
    assert run(f"{fit} -o whole")[0] == 0
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda k, _: signal.raise_signal(signal.SIGINT) if k == 4 else None)
        assert run(f"{fit} -o m")[0] == 130
    assert not holds_rows(tmp_path / "c", X)
    assert run(f"{fit} -o m --resume")[0] == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_info_counts_rows(run):
    X, y = samples()
    write_csv("a.csv", X, y)
    for method, n in (("srda --keep 70", 120), ("onlinesrda --keep 50", 50), ("oc", "none")):
        assert run(f"fit a.csv --label class --method {method} -o m")[0] == 0
        shown = run("info m")[1]
        assert f"rows of the data in the file: {n}\n" in shown
        assert "no samples kept" not in shown


def test_methods_that_keep_nothing_say_which_ones_do(run):
    X, y = samples()
    write_csv("a.csv", X, y)
    status, _, err = run("fit a.csv --label class --method oc --keep 0 -o m")
    assert status == 2
    assert "Methods with --keep: " in err
    assert "srda" in err
