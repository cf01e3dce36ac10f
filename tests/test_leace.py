"""LEACE: against the theorem written out, other maps, and classifiers of held-out samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import narrows
from narrows import LEACE, PCA, Moments, Window
from narrows.engines import local
from narrows.errors import ParameterError
from narrows.evaluate import compare
from tests.cases import assert_same, labelled
from tests.inside import open_model

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
    for samples in (X, others):
        expected = samples - (samples - mean) @ A.T
        scale = np.abs(X - mean).max()
        np.testing.assert_allclose(fitted.transform(samples), expected, rtol=0, atol=1e-8 * scale)
    assert fitted.n_erased_ == rank == len(fitted.components_) == len(fitted.eigenvalues_)
    spread = np.cov(X, rowvar=False, aweights=weight, ddof=0)
    along = fitted.components_ @ spread @ fitted.components_.T
    np.testing.assert_allclose(along, np.eye(rank), atol=1e-7)


@every
@shapes
def test_no_target_varies_with_a_feature_afterwards(kind, shape):
    X, y, T, weight = made(kind, shape)
    fitted = LEACE().fit(X, y, sample_weight=weight)
    Z = fitted.transform(X)
    T = T / T.std(axis=0)
    before, after = (np.linalg.norm(covariances(A, T, weight)) for A in (X, Z))
    assert after <= 1e-10 * before
    scale = np.abs(X).max()
    np.testing.assert_allclose(fitted.transform(Z), Z, rtol=0, atol=1e-12 * scale)
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


def test_eigenvalues_are_what_is_erased_along_each_direction():
    X, y, _, weight = made("classes")
    fitted = LEACE().fit(X, y, weight)
    Z = (X - np.average(X, 0, weight)) @ fitted.components_.T
    means = np.array([np.average(Z[y == c], 0, weight[y == c]) for c in fitted.classes_])
    between = fitted.class_count_ @ means**2 / weight.sum()
    np.testing.assert_allclose(fitted.eigenvalues_, between, rtol=1e-9)
    assert (np.diff(fitted.eigenvalues_) < 0).all()
    X, y, _, _ = made("numbers")
    r = [np.corrcoef(X @ LEACE().fit(X, y).components_[0], y)[0, 1]]
    np.testing.assert_allclose(LEACE().fit(X, y).eigenvalues_, np.square(r))


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


@every
def test_batches_merging_and_weights_give_the_same(kind):
    X, y, _, _ = made(kind)
    weight = np.arange(80) % 3
    fitted = LEACE().fit(X, y, sample_weight=weight)
    parts = [slice(0, 30), slice(30, 31), slice(31, 80)]
    stream = LEACE()
    for part in parts:
        stream.partial_fit(X[part], y[part], weight[part])
    several = [LEACE(target="classes" if kind == "classes" else "numeric") for _ in parts]
    several = [e.partial_fit(X[p], y[p], weight[p]) for e, p in zip(several, parts, strict=True)]
    twice = np.repeat(np.arange(80), weight)
    others = [
        stream, several[0].merge(*several[1:]), LEACE().fit(X[twice], y[twice]),
        LEACE().fit_moments(stream.moments_),
        LEACE().fit_moments(
            Moments.of(X, y, sample_weight=weight, second="cross", numeric=kind != "classes")
        ),
    ]  # fmt: skip
    for other in others:
        np.testing.assert_allclose(other.transform(X), fitted.transform(X), atol=1e-9)


@every
def test_old_samples_decay(kind):
    X, y, _, _ = made(kind)
    decayed = LEACE(half_life=20).fit(X, y)
    weighted = LEACE().fit(X, y, sample_weight=0.5 ** (np.arange(80)[::-1] / 20))
    np.testing.assert_allclose(decayed.transform(X), weighted.transform(X), atol=1e-9)


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
    status, _, err = run(
        "fit a.csv --label kind --method leace -o m.narrows --chunk-rows 13", a__csv="\n".join(rows)
    )
    assert (status, err.count("rror")) == (0, 0), err
    fitted = LEACE().fit(X, y)
    model = narrows.load(tmp_path / "m.narrows")
    np.testing.assert_allclose(model.transform(X), fitted.transform(X), atol=1e-12)
    assert open_model(str(tmp_path / "m.narrows")).get_feature_names_out().tolist() == [
        f"f{k}" for k in range(7)
    ]
    status, _, err = run("transform m.narrows a.csv -o b.csv", a__csv="\n".join(rows))
    assert status == 0, err
    header = (tmp_path / "b.csv").read_text().splitlines()[0]
    assert header == ",".join([*(f"f{k}" for k in range(7)), "label"])
    found = np.genfromtxt(tmp_path / "b.csv", delimiter=",", skip_header=1)[:, :7]
    np.testing.assert_allclose(found, fitted.transform(X), rtol=1e-6, atol=1e-6)
    status, out, _ = run("info m.narrows --top 2")
    assert status == 0
    assert "60 rows, 7 columns -> 7" in out
    assert out.count("direction") == 2


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
    fitted = LEACE().fit(X, y)
    assert fitted.n_erased_ == 0
    assert fitted.components_.shape == (0, 5)
    np.testing.assert_array_equal(fitted.transform(X), X)
    assert fitted.transform(X) is not X
    X, y = labelled()
    np.testing.assert_array_equal(LEACE(target="numeric").fit(X, np.ones(60)).transform(X), X)
    ones = np.ones((60, 4))
    np.testing.assert_array_equal(LEACE().fit(ones, y).transform(ones), ones)


def test_means_on_a_line_are_one_direction():
    X, y = labelled()
    code = np.unique(y, return_inverse=True)[1]
    means = np.array([X[code == j].mean(axis=0) for j in range(3)])
    X += (code[:, None] * np.arange(1, 8.0)) - means[code]
    for samples in (X, X + 1e6, X * 2.0 ** np.arange(-21, 21, 6)):
        assert LEACE().fit(samples, y).n_erased_ == 1


def test_one_class_is_an_error():
    X, _ = labelled()
    with pytest.raises(ValueError, match="expected two classes of positive weight, got 1 class"):
        LEACE().fit(X, np.zeros(60, int))


def test_sparse_samples_are_refused_with_what_to_do(run):
    X, y = labelled(sparse=True)
    said = r"expected dense samples, .* got sparse ones. Reduce them first, .*PCA"
    with pytest.raises(ParameterError, match=said):
        LEACE().fit(sparse.csr_array(X), y)
    with pytest.raises(ParameterError, match=said):
        LEACE().partial_fit(sparse.csr_array(X), y)
    with pytest.raises(ParameterError, match=said):
        LEACE().fit(X, y).transform(sparse.csr_array(X))
    with pytest.raises(ParameterError, match=said):
        local.fit(LEACE(), [(sparse.csr_array(X), y)])
    with pytest.raises(ParameterError, match=said):
        Window(LEACE(), samples=20).fit(sparse.csr_array(X), y)
    Z = make_pipeline(PCA(n_components=5), LEACE()).fit_transform(sparse.csr_array(X), y)
    assert Z.shape == (60, 5)
    rows = "1 1:1 2:2\n2 1:2 3:1\n1 2:1\n2 1:1\n"
    status, _, err = run("fit a.svm --method leace -o m.narrows", a__svm=rows)
    assert status == 2
    assert "expected dense samples" in err


def test_many_features_are_refused_with_what_to_do():
    X = np.zeros((4, 8193))
    with pytest.raises(ParameterError, match=r"expected at most 8,192 features.*VarianceFS or PCA"):
        LEACE().fit(X, [0, 1, 0, 1])


def test_nothing_given_is_written_to():
    X, y = labelled()
    for samples in (X.astype(np.float32), X):
        before = samples.copy()
        Z = LEACE().fit(samples, y).transform(samples)
        assert Z.dtype == samples.dtype
        np.testing.assert_array_equal(samples, before)
        np.testing.assert_allclose(Z, LEACE().fit(X, y).transform(X), atol=1e-5)


# -- what is found afterwards ----------------------------------------------------------------------


def shares(X, y, seed=0):
    """Held-out accuracies of linear classifiers before and after, that of the majority, and n."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    fitted = LEACE().fit(X, y)
    found = []
    for classifier in (LinearSVC(random_state=0), LogisticRegression(max_iter=300)):
        before = classifier.fit(X, y).score(X_test, y_test)
        after = classifier.fit(fitted.transform(X), y).score(fitted.transform(X_test), y_test)
        found.append((before, after))
    labels, counts = np.unique(y, return_counts=True)
    return found, (y_test == labels[counts.argmax()]).mean(), len(y_test)


def check_held_out(X, y):
    found, majority, n = shares(X, y)
    error = np.sqrt(majority * (1 - majority) / n)
    for before, after in found:
        assert before > majority + 2 * error
        assert after <= majority + 2 * error


SETS = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*converge")
@pytest.mark.parametrize("name", SETS)
def test_linear_classifiers_are_no_better_than_the_majority(name):
    check_held_out(*SETS[name](return_X_y=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*converge")
@pytest.mark.parametrize(
    "name",
    ["waveform", "iris", "wine", "ionosphere", "pima_diabetes", "balance_scale",
     pytest.param("electricity_stream", marks=pytest.mark.nightly),
     pytest.param("news20_static384", marks=pytest.mark.nightly)],
)  # fmt: skip
def test_linear_classifiers_of_real_data_are_no_better_than_the_majority(name, data):
    if name == "news20_static384":
        with np.load(data / f"{name}.npz") as file:
            check_held_out(file["X"].astype(np.float32), file["y"])
        return
    rows = np.genfromtxt(data / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
    check_held_out(rows[:, :-1].astype(float), np.unique(rows[:, -1], return_inverse=True)[1])


def test_a_linear_regression_of_held_out_targets_is_no_better_than_the_mean():
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y + 0.5, test_size=0.3, random_state=0)
    fitted = LEACE().fit(X, y)
    Z, Z_test = fitted.transform(X), fitted.transform(X_test)
    A = np.c_[np.ones(len(Z)), Z]
    found = np.c_[np.ones(len(Z_test)), Z_test] @ np.linalg.lstsq(A, y, rcond=None)[0]
    assert found == pytest.approx(y.mean(), rel=1e-6)
    assert np.square(found - y_test).mean() >= 0.99 * y_test.var()


def test_a_nonlinear_classifier_still_finds_the_classes():
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    fitted = LEACE().fit(X, y)
    neighbours = KNeighborsClassifier().fit(fitted.transform(X), y)
    assert neighbours.score(fitted.transform(X_test), y_test) > 0.75


# -- beside other parts ----------------------------------------------------------------------------


def test_dicts_become_sparse_samples_which_it_does_not_take():
    from narrows.river import OneByOne

    with pytest.raises(ParameterError, match="expected an estimator that takes sparse samples"):
        OneByOne(LEACE(), n_features=64).learn_one({"a": 1.0}, "ant")
    with pytest.raises(AttributeError, match="has no attribute 'learn_one'"):
        LEACE().learn_one({"a": 1.0}, "ant")


def test_compare_shows_it_and_does_not_recommend_it():
    X, y = load_wine(return_X_y=True)
    lines = compare(X, y, methods=["leace", "pca"], dims=[12], classifiers=["svm"])
    found = {line.method: line for line in lines}
    assert found["leace"].dimensions == 13
    assert found["leace"].micro_f1 < 0.6 < found["pca"].micro_f1
    assert not found["leace"].is_reduction
    assert len(lines) == 3
    assert lines.recommendation_.line.method == "pca"


def test_a_dense_module_has_no_offset(tmp_path):
    from narrows.export import to_sentence_transformers

    with pytest.raises(ParameterError, match=r"expected a linear reduction, got LEACE.*to_onnx"):
        to_sentence_transformers(LEACE().fit(*labelled()), tmp_path)


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
    adata.obs["batch"], adata.obs["kind"] = batch.astype(str), kind
    reduce(adata, "batch", method="leace")
    Z = adata.obsm["X_leace"]
    assert Z.shape == X.shape
    assert adata.varm["leace"].shape == (60, 1)
    adata.obsm["X_pca"] = PCA(n_components=8).fit_transform(X)
    reduce(adata, "batch", method="leace", use_rep="X_pca", key_added="X_of_pca")
    expected = LEACE().fit_transform(adata.obsm["X_pca"], batch)
    np.testing.assert_allclose(adata.obsm["X_of_pca"], expected, atol=1e-12)
    machine = LogisticRegression(max_iter=1000)

    def found(samples, of):
        return (cross_val_predict(machine, samples, of, cv=5) == of).mean()

    majority = 1 - batch.mean()
    assert found(X, batch) > 0.95
    assert found(Z, batch) <= majority + 2 * np.sqrt(majority * (1 - majority) / len(batch))
    assert found(Z, kind) >= found(X, kind) - 0.01 > 0.9
