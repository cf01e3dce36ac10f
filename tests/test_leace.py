"""LEACE: against the theorem written out, other maps, and classifiers of held-out samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import narrows
from narrows import LEACE, PCA
from narrows.engines import local
from narrows.errors import ParameterError
from narrows.evaluate import compare
from tests.cases import assert_same, labelled

KINDS = "classes", "numbers", "several numbers"
SHAPES = "full", "dependent", "few"


def made(kind, shape="full", seed=0):
    """Samples, targets as LEACE takes them, and as columns, and weights."""
    rng = np.random.default_rng(seed)
    n, d = (12, 20) if shape == "few" else (80, 7)
    mixed = rng.normal(size=(4 if shape == "dependent" else d, d))
    code = np.arange(n) % 3
    X = rng.normal(size=(n, len(mixed))) @ mixed + rng.normal(size=(3, len(mixed)))[code] @ mixed
    X += 10 * rng.normal(size=d)
    if kind == "classes":
        return X, np.array(["ant", "bee", "cat"])[code], np.eye(3)[code], rng.uniform(0.5, 2, n)
    Y = np.c_[X[:, :2] @ rng.normal(size=(2, 2)), X[:, 0] - X[:, 1]] + rng.normal(size=(n, 3))
    Y[:, 1] *= 1e6  # units do not matter
    Y = Y[:, :1] if kind == "numbers" else np.c_[Y, Y[:, 0] + Y[:, 2]]  # which depend
    return X, Y.ravel() if kind == "numbers" else Y, Y, rng.uniform(0.5, 2, n)


def covariances(X, T, weight):
    """The covariances of targets and features, of shape (n_targets, n_features)."""
    w = weight / weight.sum()
    return ((T - w @ T) * w[:, None]).T @ (X - w @ X)


def of_the_theorem(X, T, weight):
    """Theorem 4.2 written out: the matrix Sigma^1/2 P Sigma^-1/2, and the mean."""
    w = weight / weight.sum()
    L, Q = np.linalg.eigh((X - w @ X).T @ ((X - w @ X) * w[:, None]))
    kept = L > 1e-10 * L.max()
    root, inverse = ((Q[:, kept] * L[kept] ** p) @ Q[:, kept].T for p in (0.5, -0.5))
    U, s, _ = np.linalg.svd(inverse @ covariances(X, T / T.std(axis=0), weight).T)
    U = U[:, : (s > 1e-8 * s[0]).sum()]
    return root @ U @ U.T @ inverse, w @ X, U.shape[1]


every = pytest.mark.parametrize("kind", KINDS)
shapes = pytest.mark.parametrize("shape", SHAPES)


# -- the definition --------------------------------------------------------------------------------


@every
@shapes
def test_the_map_is_that_of_the_theorem(kind, shape):
    X, y, T, weight = made(kind, shape)
    fitted = LEACE().fit(X, y, sample_weight=weight)
    A, mean, rank = of_the_theorem(X, T, weight)
    others = np.random.default_rng(1).normal(size=(30, X.shape[1])) + mean
    scale = np.abs(X - mean).max()
    for samples in (X, others):
        expected = samples - (samples - mean) @ A.T
        np.testing.assert_allclose(fitted.transform(samples), expected, rtol=0, atol=1e-8 * scale)
    assert fitted.n_erased_ == rank == len(fitted.components_) == len(fitted.eigenvalues_)
    spread = np.cov(X, rowvar=False, aweights=weight, ddof=0)
    along = fitted.components_ @ spread @ fitted.components_.T
    np.testing.assert_allclose(along, np.eye(rank), atol=1e-7)
    # no target varies with a feature afterwards
    Z, T = fitted.transform(X), T / T.std(axis=0)
    before, after = (np.linalg.norm(covariances(B, T, weight)) for B in (X, Z))
    assert after <= 1e-10 * before
    np.testing.assert_allclose(fitted.transform(Z), Z, rtol=0, atol=1e-12 * np.abs(X).max())
    np.testing.assert_allclose(np.average(Z, 0, weight), np.average(X, 0, weight), atol=1e-11)


@every
def test_no_other_map_changes_samples_less(kind):
    X, y, T, weight = made(kind)
    w, d = weight / weight.sum(), X.shape[1]
    fitted, mean = LEACE().fit(X, y, sample_weight=weight), w @ X
    rng = np.random.default_rng(2)
    norms = [np.eye(d), *(B.T @ B for B in rng.normal(size=(3, d, d)))]  # of any inner product
    H = covariances(X, T / T.std(axis=0), weight)
    U, s, _ = np.linalg.svd(H.T)
    left = U[:, (s > 1e-8 * s[0]).sum() :]
    off = left @ left.T  # the projection off the covariances: one such map, and a factor of all
    best = (fitted.transform(np.eye(d)) - fitted.transform(np.zeros((1, d)))).T
    others = [off, *((np.eye(d) + B) @ off for B in rng.normal(size=(20, d, d)))]
    others += [best + 0.01 * B @ off for B in rng.normal(size=(20, d, d))]

    def change(Z, norm):
        return w @ np.einsum("ij,jk,ik->i", Z - X, norm, Z - X)

    for norm in norms:
        least = change(fitted.transform(X), norm)
        for A in others:
            Z = mean + (X - mean) @ A.T
            assert np.linalg.norm(covariances(Z, T / T.std(axis=0), weight)) <= 1e-9
            assert change(Z, norm) > least
            assert change(Z + 0.1, norm) > least


def test_each_column_of_an_indicator_matrix_is_erased():
    X, y = labelled()
    Y = (np.random.default_rng(0).random((60, 4)) + (X[:, :4] > 0) > 0.9).astype(int)
    Z = LEACE(target="numeric").fit_transform(X, Y)
    before, after = (np.linalg.norm(covariances(A, Y, np.ones(60))) for A in (X, Z))
    assert after <= 1e-10 * before
    one = (y[:, None] == np.unique(y)).astype(int)  # whose columns add up to 1
    found = LEACE(target="numeric").fit(X, one)
    assert found.n_erased_ == 2
    np.testing.assert_allclose(found.transform(X), LEACE().fit(X, y).transform(X), atol=1e-12)
    with pytest.raises(ParameterError, match=r'got y of shape \(60, 4\). Use target="numeric"'):
        LEACE().fit(X, Y)


# -- one answer, however it learns -----------------------------------------------------------------


def test_an_offset_moves_what_is_left_along():
    X, y = labelled()
    X = np.round(X * 2**20) / 2**20
    near, far = LEACE().fit(X, y), LEACE().fit(X + 1e8, y)
    np.testing.assert_allclose(far.transform(X + 1e8) - 1e8, near.transform(X), atol=1e-6)
    scale = 2.0 ** np.arange(-30, 40, 10)
    scaled = LEACE().fit(X * scale, y)
    np.testing.assert_allclose(scaled.transform(X * scale) / scale, near.transform(X), atol=1e-9)


def test_a_file_gives_what_memory_does(tmp_path, run):
    X, y = labelled()
    rows = [",".join([*(f"f{k}" for k in range(7)), "kind"])]
    rows += [",".join([*map(repr, x.tolist()), label]) for x, label in zip(X, y, strict=True)]
    fit = "fit a.csv --label kind --method leace -o m.narrows --chunk-rows 13"
    assert run(fit, a__csv="\n".join(rows))[0] == 0
    model, expected = narrows.load(tmp_path / "m.narrows"), LEACE().fit(X, y).transform(X)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)
    assert run("transform m.narrows a.csv -o b.csv")[0] == 0
    header, *_ = (tmp_path / "b.csv").read_text().splitlines()
    assert header == ",".join([*(f"f{k}" for k in range(7)), "label"])
    found = np.genfromtxt(tmp_path / "b.csv", delimiter=",", skip_header=1)[:, :7]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    status, out, _ = run("info m.narrows --top 2")
    assert (status, out.count("direction")) == (0, 2)


def test_a_stream_waits_for_two_classes():
    X, y = labelled()
    with pytest.raises(NotFittedError, match="expected two classes at least, got 0 so far"):
        LEACE(target="classes").partial_fit(X[:0], y[:0]).transform(X)
    stream = LEACE().partial_fit(X[:1], y[:1])
    with pytest.raises(NotFittedError, match="expected two classes at least, got 1 so far"):
        stream.transform(X)
    np.testing.assert_allclose(
        stream.partial_fit(X[1:], y[1:]).transform(X), LEACE().fit(X, y).transform(X), atol=1e-12
    )
    with pytest.raises(NotFittedError, match="expected samples, got none so far"):
        LEACE(target="numeric").partial_fit(X[:0], X[:0, 0]).transform(X)
    assert_same(local.fit(LEACE(), [(X[:20], y[:20]), (X[20:], y[20:])]), LEACE().fit(X, y))


# -- the edges -------------------------------------------------------------------------------------


def test_where_nothing_varies_with_the_targets_nothing_changes():
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(30, 5)), 2, axis=0) * 1e3, np.arange(60) % 2
    ones = np.ones((60, 4))
    for model, samples, targets in (
        (LEACE(), X, y),
        (LEACE(target="numeric"), X, np.ones(60)),
        (LEACE(), ones, y),
    ):
        fitted = model.fit(samples, targets)
        assert fitted.n_erased_ == len(fitted.components_) == 0
        np.testing.assert_array_equal(fitted.transform(samples), samples)
        assert fitted.transform(samples) is not samples


def test_means_on_a_line_are_one_direction():
    X, y = labelled()
    code = np.unique(y, return_inverse=True)[1]
    means = np.array([X[code == j].mean(axis=0) for j in range(3)])
    X += (code[:, None] * np.arange(1, 8.0)) - means[code]
    for samples in (X, X + 1e6, X * 2.0 ** np.arange(-21, 21, 6)):
        assert LEACE().fit(samples, y).n_erased_ == 1


# -- what is found afterwards ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*converge")
@pytest.mark.parametrize(
    "name",
    ["digits", "waveform", "iris", "wine", "ionosphere", "pima_diabetes", "balance_scale",
     pytest.param("electricity_stream", marks=pytest.mark.nightly),
     pytest.param("news20_static384", marks=pytest.mark.nightly)],
)  # fmt: skip
def test_linear_classifiers_are_no_better_than_the_majority(name, data):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name == "news20_static384":
        with np.load(data / f"{name}.npz") as file:
            X, y = file["X"].astype(np.float32), file["y"]
    else:
        rows = np.genfromtxt(data / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
        X, y = rows[:, :-1].astype(float), np.unique(rows[:, -1], return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    fitted = LEACE().fit(X, y)
    majority = (y_test == np.bincount(y).argmax()).mean()
    error = np.sqrt(majority * (1 - majority) / len(y_test))
    for classifier in (LinearSVC(random_state=0), LogisticRegression(max_iter=300)):
        before = classifier.fit(X, y).score(X_test, y_test)
        after = classifier.fit(fitted.transform(X), y).score(fitted.transform(X_test), y_test)
        assert before > majority + 2 * error
        assert after <= majority + 2 * error


# -- beside other parts ----------------------------------------------------------------------------


def test_compare_shows_it_and_does_not_recommend_it():
    X, y = load_wine(return_X_y=True)
    lines = compare(X, y, methods=["leace", "pca"], dims=[12], classifiers=["svm"])
    found = {line.method: line for line in lines}
    assert found["leace"].micro_f1 < 0.6 < found["pca"].micro_f1
    assert not found["leace"].is_reduction
    assert lines.recommendation_.line.method == "pca"


def batches(n=600, genes=60, seed=0):
    """Logarithmised counts of cells of four types, in two batches that measure otherwise."""
    rng = np.random.default_rng(seed)
    kind, batch = np.arange(n) % 4, (np.arange(n) // 4) % 3 == 0
    rates = rng.gamma(1.0, 2.0, (4, genes))[kind] * rng.gamma(9.0, 1 / 9, (n, 1))
    factor = np.where(batch[:, None], rng.gamma(4.0, 1 / 4, genes), 1.0)
    names = np.array(["B", "NK", "T", "mono"])[kind]
    return np.log1p(rng.poisson(rates * factor)).astype(float), names, batch.astype(int)


def test_batches_of_cells_are_erased_and_their_types_stay():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    from narrows.anndata import reduce

    X, kind, batch = batches()
    adata = anndata.AnnData(X)
    adata.obs["batch"], adata.obsm["X_pca"] = batch.astype(str), PCA(8).fit_transform(X)
    reduce(adata, "batch", method="leace")
    reduce(adata, "batch", method="leace", use_rep="X_pca", key_added="X_of_pca")
    expected = LEACE().fit_transform(adata.obsm["X_pca"], batch)
    np.testing.assert_allclose(adata.obsm["X_of_pca"], expected, atol=1e-12)
    Z, machine = adata.obsm["X_leace"], LogisticRegression(max_iter=1000)

    def found(samples, of):
        return (cross_val_predict(machine, samples, of, cv=5) == of).mean()

    majority = 1 - batch.mean()
    assert found(X, batch) > 0.95
    assert found(Z, batch) <= majority + 2 * np.sqrt(majority * (1 - majority) / len(batch))
    assert found(Z, kind) >= found(X, kind) - 0.01 > 0.9
