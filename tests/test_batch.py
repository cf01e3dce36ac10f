"""MMC, LDA and SRDA: against dense eigenproblems, scikit-learn, and the closed form.

What they promise on streams is in test_cross.py.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import narrows
from narrows import LDA, MMC, OC, SRDA, ReducedRank
from narrows.engines import local
from narrows.errors import ParameterError, RangeError
from tests.cases import BATCH, CROSS, assert_same, labelled
from tests.inside import pretend
from tests.oracles.dense import scatters

few = pytest.mark.filterwarnings("ignore:.*gains? margin")
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
of_samples = pytest.mark.parametrize("case", BATCH, ids=lambda case: case.name)
LABELLED = BATCH + [case for case in CROSS if case.reads_y]
batch = pytest.mark.parametrize("case", LABELLED, ids=lambda case: case.name)
SHAPES = [(60, 7), (30, 80)]  # more samples than features, and fewer
shapes = pytest.mark.parametrize(("n", "d"), SHAPES)


def same_directions(W, V, atol=1e-8):
    """Assert that the rows are those of V up to length and sign."""
    W, V = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (W, V))
    np.testing.assert_allclose(np.abs(np.sum(W * V, axis=1)), 1, atol=atol)


def row_space(X):
    """Return an orthonormal basis of the centred samples, of shape (n_features, rank)."""
    return linalg.orth((X - X.mean(axis=0)).T, rcond=1e-10)


# -- what they share ---------------------------------------------------------------------------


@few
@of_samples
def test_there_is_only_fit_and_it_is_said_what_has_more(case):
    fitted = case.new().fit(*labelled())
    name = type(fitted).__name__
    for verb in ("partial_fit", "merge", "fit_moments"):
        assert not hasattr(fitted, verb)
        with pytest.raises(
            AttributeError, match=f"{name} does not support {verb}: .*Use .*(OC|FS)"
        ):
            getattr(fitted, verb)


@few
@batch
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (np.where(X == X[3, 3], np.nan, X), y, None), "NaN"),
        (lambda X, y: (X, np.full(60, "ant"), None), "got 1 class"),
        (lambda X, y: (X, y, np.where(y == "ant", 1.0, 0.0)), "got 1 class"),
        (lambda X, y: (X, y, np.zeros(60)), "expected samples with a label and a non-zero"),
        (lambda X, y: (X, y, -np.ones(60)), "expected finite sample_weight >= 0, got -1"),
        (lambda X, y: (X, np.eye(3)[np.arange(60) % 3], None), "expected one label per sample"),
        (lambda X, y: (X, None, None), "requires y"),
        (
            lambda X, y: (np.ones((60, 7)), y, None),
            "equal means|samples that differ|equal samples in",
        ),
    ],
)
def test_a_failing_fit_changes_nothing(case, spoil, message):
    X, y = labelled()
    if "one label" in message and case in CROSS and isinstance(case.estimator, SRDA | MMC):
        pytest.skip("it takes several labels a sample")
    fitted = case.new().fit(X, y)
    before = case.new().fit(X, y)
    for estimator in (fitted, case.new()):
        attributes = set(vars(estimator))
        with pytest.raises(ValueError, match=message):
            estimator.fit(*spoil(X, y))
        assert set(vars(estimator)) == attributes
    assert_same(fitted, before, rtol=0, atol=0)


@few
@batch
def test_a_data_set_in_chunks_is_whole_before_it_is_fitted(case):
    X, y = labelled(sparse=True)
    X[:30, 5:] = 0  # features that the first chunks do not have
    form, narrow = case.form, 5 if case.takes_sparse else 7
    chunks = [
        (form(X[:20, :narrow]), y[:20]), (form(X[20:30, :narrow]), y[20:30]), (form(X[30:]), y[30:])
    ]  # fmt: skip
    assert_same(local.fit(case.new(), chunks), case.new().fit(form(X), y))


@few
@of_samples
def test_fewer_directions_need_no_new_fit_and_more_do(case):
    X, y = labelled(d=20, c=5)
    fitted = case.new().set_params(n_components=3).fit(X, y)
    W = fitted.components_
    assert_same(fitted.set_params(n_components=2), case.new().set_params(n_components=2).fit(X, y))
    np.testing.assert_array_equal(fitted.components_, W[:2])
    with pytest.raises(
        ParameterError,
        match=r"expected n_components<=4, the number that fit .* 19\. Call fit again",
    ):
        fitted.set_params(n_components=19).transform(X)


@few
@of_samples
def test_the_other_parameters_are_those_of_fit(case):
    X, y = labelled()
    fitted = case.new().fit(X, y)
    before = fitted.components_.copy()
    for name in {"eps", "mu", "alpha"} & set(fitted.get_params()):
        value = getattr(fitted, name)
        fitted.set_params(**{name: 77.0})
        with pytest.raises(ParameterError, match=f"expected {name}={value!r} as in fit"):
            _ = fitted.components_
        fitted.set_params(**{name: value})
    np.testing.assert_array_equal(fitted.components_, before)


@few
@pytest.mark.parametrize("case", CROSS, ids=lambda case: case.name)
def test_parameters_of_the_criterion_need_no_new_fit(case):
    X, y = labelled(d=20, c=5)
    fitted = case.new().fit(X, y)
    for name, value in (("n_components", 4), ("eps", 0.3), ("mu", 7.0), ("alpha", 7.0)):
        if name in fitted.get_params():
            fitted.set_params(**{name: value})
            assert_same(fitted, case.new().set_params(**fitted.get_params()).fit(X, y))


@pytest.mark.parametrize("method", [partial(LDA, solver="gsvd"), SRDA])
def test_more_directions_than_classes_have(method):
    X, y = labelled()
    expected = (
        "expected n_components<=2, since 3 classes have at most 2 directions, got 3. "
        "Use fewer components, or (LDA|solver=.regularized.), which has more"
    )
    with pytest.raises(ParameterError, match=expected):
        method(n_components=3).fit(X, y)
    X[:, 1:] = 0
    with pytest.raises(
        ParameterError, match="the means of these 3 classes in 7 features span only 1"
    ):
        method(n_components=2).fit(X, y)
    assert method().fit(X, y).components_.shape == (1, 7)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MMC(eps=-1), "expected `eps` to be"),
        (LDA(mu=-1), "expected `mu` to be"),
        (LDA(solver="svd"), "expected `solver` to be"),
        (LDA(solver="pca", pca_components=0), "expected `pca_components` to be"),
        (SRDA(alpha=np.nan), "expected `alpha` to be"),
        (SRDA(max_iter=0), "expected `max_iter` to be"),
        (SRDA(alpha="best"), "expected `alpha` to be"),
        (SRDA(solver="svd"), "expected `solver` to be"),
        (SRDA(tol=-1e-3), "expected `tol` to be"),
    ],
)
def test_parameters_out_of_range(estimator, message):
    with pytest.raises(ParameterError, match=message):
        estimator.fit(*labelled())


# -- MMC -----------------------------------------------------------------------------------------


@few
@forms
@shapes
@pytest.mark.parametrize("eps", [1.0, 0.1, 0.0])
def test_mmc_is_the_eigenproblem_in_the_span_of_the_samples(form, n, d, eps):
    X, y = labelled(n=n, d=d, c=4, sparse=form is not np.asarray)
    X[:, 3] = 0  # where every projection is 0
    S_b, S_w, _ = scatters(X, y)
    A, Q = S_b - eps * S_w, row_space(X)
    L, U = np.linalg.eigh(Q.T @ A @ Q)
    p = min(6, Q.shape[1])
    fitted = MMC(n_components=p, eps=eps).fit(form(X), y)
    np.testing.assert_allclose(fitted.eigenvalues_, L[::-1][:p], atol=1e-10)
    W = fitted.components_
    np.testing.assert_allclose(W @ W.T, np.eye(p), atol=1e-10)
    np.testing.assert_allclose(np.diag(W @ A @ W.T), fitted.eigenvalues_, atol=1e-10)
    np.testing.assert_allclose(W @ Q @ Q.T, W, atol=1e-9)
    assert fitted.n_positive_ == (L > 1e-12).sum() <= 3
    same_directions(W[:3], (Q @ U).T[::-1][:3])
    assert MMC(eps=eps).fit(form(X), y).components_.shape == (3, d)


def test_mmc_without_scatter_is_oc():
    X, y = labelled()
    assert_same(MMC(eps=0.0).fit(X, y), OC().fit(X, y), only={"components", "eigenvalues"})


def test_mmc_warns_past_what_gains():
    X, y = labelled(d=80, n=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MMC().fit(X, y).n_positive_ == 2
    with pytest.warns(
        UserWarning, match=r"expected 5 components that gain margin .*eigenvalues_ > 0.* got 2"
    ):
        fitted = MMC(n_components=5).fit(X, y)
    assert fitted.n_positive_ == 2
    assert (fitted.transform(X).std(axis=0) > 1e-3).all()
    with pytest.warns(
        UserWarning, match="expected 2 components that gain margin at eps=30 .* got 0"
    ):
        MMC(eps=30.0).fit(*labelled())
    with pytest.raises(
        ParameterError, match="<=39, since the samples span only 39 directions, got 40"
    ):
        MMC(n_components=40).fit(X, y)
    with pytest.raises(
        ParameterError, match="<=7, since the samples span only 7 directions, got 9"
    ):
        MMC(n_components=9).fit(*labelled())


@pytest.fixture
def from_samples(monkeypatch):
    """As with more than 8,192 features: no cross products."""
    pretend(monkeypatch, "no products")


@few
@pytest.mark.usefixtures("from_samples")
@forms
@pytest.mark.parametrize("p", [2, 3, 8])
@pytest.mark.parametrize("eps", [1.0, 0.1])
@shapes
def test_lanczos_finds_what_gains_and_stays_in_the_span_of_the_samples(
    form, n, d, p, eps, monkeypatch
):
    n, d = 3 * n, 4 * d  # large enough for Lanczos to be what it is
    X, y = labelled(n=n, d=d, c=4, sparse=form is not np.asarray)
    X[:, 3] = 0
    S_b, S_w, _ = scatters(X, y)
    A, Q = S_b - eps * S_w, row_space(X)
    L, U = np.linalg.eigh(Q.T @ A @ Q)
    pretend(monkeypatch, "Lanczos alone")
    fitted = MMC(n_components=p, eps=eps).fit(form(X), y)
    W, gains = fitted.components_, int((L > 1e-9).sum())
    assert fitted.n_positive_ == gains
    shared = min(p, gains)
    np.testing.assert_allclose(fitted.eigenvalues_[:shared], L[::-1][:shared], rtol=1e-9)
    same_directions(W[:shared], (Q @ U).T[::-1][:shared])
    # the others: in the span of the samples, orthonormal, in order, with the values they have
    np.testing.assert_allclose(W @ W.T, np.eye(p), atol=1e-8)
    np.testing.assert_allclose(W @ Q @ Q.T, W, atol=1e-7)
    np.testing.assert_allclose(np.diag(W @ A @ W.T), fitted.eigenvalues_, atol=1e-8)
    assert (fitted.eigenvalues_ <= L[::-1][:p] + 1e-9).all()
    assert (np.diff(fitted.eigenvalues_) <= 0).all()


def leading(X, y, eps, p):
    """Return the leading eigenvalues of S_b - eps S_w, and a basis of the centred samples."""
    E = (y[:, None] == np.unique(y)) / np.sqrt(np.unique(y, return_counts=True)[1])
    U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = s > 1e-9 * s[0]
    Z = U[:, kept] * s[kept]
    A = ((1 + eps) * (E.T @ Z).T @ (E.T @ Z) - eps * np.diag(s[kept] ** 2)) / len(y)
    return np.linalg.eigvalsh(A)[::-1][:p], Vt[kept]


@few
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("eps", "p", "shape"),
    [
        (1.0, None, "steep"),  # Lanczos is stopped before it has found any
        (1.0, 8, "plain"),
        (100.0, None, "plain"),
        (0.0, 6, "plain"),  # more than what the means generate
        (1.0, 150, "wide"),
        (20.0, None, "wide"),
    ],
)
@pytest.mark.parametrize("products", [True, False])  # or from samples
def test_mmc_of_many_samples_and_features_is_exact(eps, p, shape, products, monkeypatch):
    if not products:
        pretend(monkeypatch, "no products")
    rng = np.random.default_rng(0)
    n, d = (1100, 1300) if shape == "wide" else (1500, 1050)
    y = np.arange(n) % 6
    X = rng.standard_normal((n, d)) + 0.2 * rng.standard_normal((6, d))[y]
    if shape == "steep":
        X /= np.arange(1, d + 1) ** 2
    if shape == "wide":
        X *= rng.random(X.shape) < 0.05
    fitted = MMC(n_components=p, eps=eps).fit(sparse.csr_array(X) if shape == "wide" else X, y)
    p = p or 5
    L, V = leading(X, y, eps, p)
    np.testing.assert_allclose(fitted.eigenvalues_, L, rtol=1e-6, atol=1e-9 * np.abs(L).max())
    assert fitted.n_positive_ == (leading(X, y, eps, 5)[0] > 1e-13 * np.abs(L).max()).sum()
    W = fitted.components_
    np.testing.assert_allclose(W @ V.T @ V, W, atol=1e-7)


@few
@pytest.mark.usefixtures("from_samples")
def test_lanczos_that_was_stopped_says_so(monkeypatch):
    X, y = labelled(n=300, d=200, c=5)
    X /= np.arange(1, 201) ** 2
    pretend(monkeypatch, "Lanczos alone")
    pretend(monkeypatch, "Lanczos stops")
    with pytest.warns(ConvergenceWarning, match="expected Lanczos to find all .* estimates"):
        fitted = MMC().fit(X, y)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(4), atol=1e-9)


@pytest.mark.usefixtures("from_samples")
def test_equal_means_gain_nothing_by_lanczos_either(monkeypatch):
    X, y = labelled(n=50, d=90)
    X, y = np.vstack([X, X]), np.repeat(["ant", "bee"], 50)
    found = []
    for situation in ("no products", "Lanczos first"):
        pretend(monkeypatch, situation)
        with pytest.warns(UserWarning, match="expected 1 components that gain margin .* got 0"):
            found.append(MMC().fit(X, y))
    assert [mmc.n_positive_ for mmc in found] == [0, 0]
    assert_same(*found, rtol=1e-6)
    with pytest.raises(ValueError, match="expected samples that differ"):
        MMC().fit(np.ones((60, 70)), np.arange(60) % 3)


@pytest.mark.parametrize("scale", [1e5, 1e6])
def test_a_column_of_another_size_hides_nothing(scale):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 3
    apart = 3.0 * (y[:, None] == [1, 2]) + 0.1 * rng.standard_normal((200, 2))
    X = np.column_stack([scale * rng.standard_normal(200), apart])
    fitted = MMC().fit(X, y)
    assert fitted.n_positive_ == 2
    S_b, S_w, _ = scatters(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, linalg.eigvalsh(S_b - S_w)[1:][::-1], rtol=1e-2)


@pytest.mark.parametrize("method", [MMC, LDA, SRDA])
def test_numbers_whose_squares_are_none(method):
    X, y = labelled()
    for factor, error in ((1e-200, ValueError), (1e200, RangeError)):
        with pytest.raises(error, match=r"^expected "):
            method().fit(factor * X, y)
        if method is SRDA:  # whose answer has no size
            assert SRDA(solver="lsqr").fit(factor * X, y).eigenvalues_.max() > 0
        wide = np.hstack([factor * X, np.zeros((60, 8192))])
        if method is MMC:
            with pytest.raises(RangeError, match="expected samples whose eigenvalues"):
                MMC().fit(wide, y)


@few
@batch
def test_what_is_read_is_not_to_be_written_to(case):
    fitted = case.new().fit(*labelled())
    with pytest.raises(ValueError, match="read-only"):
        fitted.components_ *= -1


@pytest.mark.slow
def test_mmc_of_documents(data):
    X, y = documents(data, "tr41")
    fitted = MMC().fit(X, y)
    assert fitted.n_positive_ == 9 == len(fitted.components_)
    assert (fitted.eigenvalues_ > 0).all()


def documents(data, name):
    file = np.load(data / f"{name}.npz")
    counts = sparse.csr_array((file["data"], file["indices"], file["indptr"]), file["shape"])
    weighed = TfidfTransformer(sublinear_tf=True).fit_transform(counts.astype(float))
    return sparse.csr_array(weighed), file["y"]


# -- LDA -----------------------------------------------------------------------------------------


def quotient(S_b, D, p):
    """The leading eigenvectors of D^-1 S_b, on what D reaches, with w'D w = 1."""
    L, U = np.linalg.eigh(D)
    kept = L > 1e-10 * L[-1]
    half = U[:, kept] / np.sqrt(L[kept])
    ratios, V = np.linalg.eigh(half.T @ S_b @ half)
    return ratios[::-1][:p], (half @ V[:, ::-1][:, :p]).T


@shapes
@pytest.mark.parametrize("mu", [0.5, 1e-3, 100.0])
def test_regularized_lda_is_the_quotient_with_mu_on_the_diagonal(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    S_b, S_w, _ = scatters(X, y)
    D = n * S_w + mu * np.eye(d)
    ratios, W = quotient(n * S_b, D, 3)
    fitted = LDA(mu=mu).fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, ratios, rtol=1e-8)
    found = fitted.components_ / np.sqrt(n)  # of variance 1 within the classes
    np.testing.assert_allclose(np.abs(found), np.abs(W), atol=1e-8 * max(1.0, np.abs(W).max()))
    np.testing.assert_allclose(found @ D @ found.T, np.eye(3), atol=1e-8)


@shapes
def test_lda_by_gsvd_is_the_quotient_with_the_total_scatter(n, d):
    X, y = labelled(n=n, d=d, c=4)
    S_b, S_w, C = scatters(X, y)
    ratios, W = quotient(S_b, C, 3)
    fitted = LDA(solver="gsvd").fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, ratios, rtol=1e-8)
    unit = S_w if n > d else C  # classes do not vary along these directions if n <= d
    lengths = fitted.components_ @ unit @ fitted.components_.T
    np.testing.assert_allclose(lengths, np.eye(3), atol=1e-8)
    if n > d:  # else all ratios are 1, and the directions only as a space
        same_directions(fitted.components_, W)
    else:
        np.testing.assert_allclose(fitted.eigenvalues_, 1, atol=1e-10)
        assert linalg.subspace_angles(fitted.components_.T, W.T).max() < 1e-6


@shapes
@pytest.mark.parametrize("r", [None, 4])
def test_lda_after_pca(n, d, r):
    X, y = labelled(n=n, d=d, c=4)
    if r is None:  # of each row less its class mean, in all the directions that these span
        means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
        P = linalg.orth((X - means[np.unique(y, return_inverse=True)[1]]).T).T
        assert len(P) == min(d, n - 4)
    else:
        P = PCA(n_components=r, svd_solver="full").fit(X).components_
    ratios, V = quotient(*scatters(X @ P.T, y)[:2], 3)
    fitted = LDA(solver="pca", pca_components=r).fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, ratios, rtol=1e-8)
    same_directions(fitted.components_, V @ P)
    S_w, W = scatters(X, y)[1], fitted.components_
    np.testing.assert_allclose(W @ S_w @ W.T, np.eye(3), atol=1e-8)


@pytest.mark.parametrize("parameters", [{"solver": "pca"}, {"solver": "gsvd"}, {"mu": 0.0}])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.slow
def test_lda_is_that_of_scikit_learn_where_that_is_defined(data, parameters, solver):
    rows = np.genfromtxt(data / "waveform.csv", delimiter=",", skip_header=1)
    X, y = rows[:, :-1], rows[:, -1]
    theirs = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    fitted = LDA(**parameters).fit(X, y)
    same_directions(fitted.components_, theirs.scalings_[:, :2].T)
    explained = fitted.eigenvalues_
    if parameters.get("solver") == "gsvd":
        explained = explained / (1 - explained)
    np.testing.assert_allclose(
        explained / explained.sum(), theirs.explained_variance_ratio_[:2], rtol=1e-8
    )


def test_a_singular_scatter_is_said_to_be_so():
    X, y = labelled(n=30, d=80, c=4)
    with pytest.raises(ParameterError, match="of rank 26, and the samples span 29"):
        LDA(mu=0.0).fit(X, y)
    with pytest.raises(
        ParameterError, match=r"pca_components<=26, since .* singular on more .*got 27"
    ):
        LDA(solver="pca", pca_components=27).fit(X, y)
    alike = np.repeat(np.eye(3), 4, axis=0)
    with pytest.raises(ValueError, match="equal samples in each class"):
        LDA(solver="pca").fit(alike, np.repeat([0, 1, 2], 4))
    assert LDA().fit(alike, np.repeat([0, 1, 2], 4)).components_.shape == (2, 3)


@pytest.mark.parametrize("k", [4, 14, 1000])
def test_rounding_is_no_scatter_within_the_classes(k):
    """Rows less their mean, which is not theirs to the last bit where they are 14 alike."""
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 5)), k, axis=0)
    y = np.repeat([0, 1, 2], k)
    with pytest.raises(ValueError, match="equal samples in each class"):
        LDA(solver="pca").fit(X, y)
    with pytest.raises(ParameterError, match="of rank 0, and the samples span 2"):
        LDA(mu=0.0).fit(X, y)
    assert LDA().fit(X, y).components_.shape == (2, 5)
    apart = np.hstack([100 * X, np.tile([1.0, -1.0], 3 * k // 2)[:, None]])  # the only scatter
    with pytest.raises(ParameterError, match=r"expected pca_components<=1, .* got 2\."):
        LDA(solver="pca", pca_components=2).fit(apart, y)
    with pytest.raises(ValueError, match="in the principal components used"):
        LDA(solver="pca").fit(apart, y)
    with pytest.raises(ValueError, match="no direction"):  # the first component has no scatter
        LDA(solver="pca", pca_components=1).fit(apart, y)


def test_means_that_do_not_differ_where_pca_looks():
    X, y = np.eye(6), [0, 0, 1, 1, 2, 2]  # what the classes differ in is outside X - m_y
    with pytest.raises(ValueError, match="means that differ in the principal components used"):
        LDA(solver="pca").fit(X, y)
    assert LDA(solver="gsvd").fit(X, y).eigenvalues_.round(9).tolist() == [1, 1]


def test_lda_takes_sparse_data_if_regularised():
    X, y = labelled(sparse=True)
    X = sparse.csr_array(X)
    said = r'^expected sparse data for solver="regularized" .* got 60 samples of .*Use SRDA'
    for lda in (LDA(solver="pca"), LDA(solver="gsvd")):
        for fit in (lda.fit, lambda X, y, lda=lda: local.fit(lda, [(X, y)])):
            with pytest.raises(ParameterError, match=said):
                fit(X, y)
    wide = sparse.hstack([X, sparse.csr_array((60, 9000))], format="csr")
    found, narrow = LDA(mu=0.5).fit(wide, y), LDA(mu=0.5).fit(X.toarray(), y)
    np.testing.assert_allclose(found.components_[:, :7], narrow.components_, atol=1e-10)
    np.testing.assert_array_equal(found.predict(wide), narrow.predict(X))
    with pytest.raises(ParameterError, match=r"with mu > 0, got 60 samples .* and mu=0"):
        LDA(mu=0.0).fit(wide, y)


@pytest.mark.nightly
@pytest.mark.parametrize("solver", ["regularized", "pca", "gsvd"])
def test_faces_are_known_again(data, solver):
    """ORL, six images a person to learn from: 1-NN on what the defaults leave."""
    faces = np.load(data / "orl_faces.npz")
    for X in (faces["X"].astype(float), faces["X"] / 255):
        train, test = train_test_split(
            np.arange(400), train_size=240, stratify=faces["y"], random_state=0
        )
        fitted = LDA(solver=solver).fit(X[train], faces["y"][train])
        knn = KNeighborsClassifier(1).fit(fitted.transform(X[train]), faces["y"][train])
        assert knn.score(fitted.transform(X[test]), faces["y"][test]) > 0.85
        assert fitted.components_.shape == (39, 10304)


# -- SRDA ----------------------------------------------------------------------------------------


def ridge(X, y, alpha, weight=None):
    """The span of the regressions on indicators of the classes, in closed form."""
    weight = np.ones(len(y)) if weight is None else weight
    A = X - weight @ X / weight.sum()
    T = (y[:, None] == np.unique(y)).astype(float)
    T -= weight @ T / weight.sum()
    W = np.linalg.solve(
        A.T @ (weight[:, None] * A) + alpha * np.eye(X.shape[1]), A.T @ (weight[:, None] * T)
    )
    return W[:, :-1]  # they sum to 0


@forms
@shapes
@pytest.mark.parametrize("alpha", [1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [{}, {"solver": "lsqr", "max_iter": 500, "tol": 1e-14}])
def test_srda_is_the_ridge_regression_turned_by_power(form, n, d, alpha, weighted, solver):
    X, y = labelled(n=n, d=d, c=4, sparse=form is not np.asarray)
    weight = np.random.default_rng(0).uniform(0.5, 2, n) if weighted else None
    fitted = SRDA(alpha=alpha, **solver).fit(form(X), y, weight)
    W = ridge(X, y, alpha, weight)
    assert linalg.subspace_angles(fitted.components_.T, W).max() < 1e-6
    S_b, S_w, C = scatters(X, y, weight)
    unit = alpha / (n if weight is None else weight.sum()) * np.eye(d)
    ratios, V = linalg.eigh(W.T @ S_b @ W, W.T @ (C + unit) @ W)
    np.testing.assert_allclose(fitted.eigenvalues_, ratios[::-1], rtol=1e-7)
    same_directions(fitted.components_, (W @ V).T[::-1])
    within = fitted.components_
    np.testing.assert_allclose(within @ (S_w + unit) @ within.T, np.eye(3), atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "lsqr"])
def test_srda_without_a_penalty_is_lda(solver):
    X, y = labelled(n=300)
    fitted = SRDA(alpha=0.0, solver=solver, max_iter=100, tol=1e-13).fit(X, y)
    lda = LDA(solver="gsvd").fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, lda.eigenvalues_, rtol=1e-8)
    same_directions(fitted.components_, lda.components_)
    same_directions(fitted.components_, LinearDiscriminantAnalysis().fit(X, y).scalings_.T)


@forms
def test_after_one_step_srda_spans_what_oc_does(form):
    X, y = labelled(c=4, d=30)
    fitted = SRDA(solver="lsqr", max_iter=1).fit(form(X), y)
    assert linalg.subspace_angles(fitted.components_.T, OC().fit(X, y).components_.T).max() < 1e-7
    assert fitted.n_iter_ == 1


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_srda_does_not_depend_on_the_unit(factor):
    X, y = labelled(c=4, d=30)
    for few in ({"solver": "lsqr", "max_iter": 5}, {}):
        plainly = SRDA(alpha=0.0, **few).fit(X, y)
        other = SRDA(alpha=0.0, **few).fit(factor * X, y)
        np.testing.assert_allclose(other.components_ * factor, plainly.components_, atol=1e-9)
        assert other.n_iter_ == few.get("max_iter", 1)
    for few in ({"solver": "lsqr", "max_iter": 8}, {}):
        penal = SRDA(alpha=factor**2, **few).fit(factor * X, y)
        plainly = SRDA(alpha=1.0, **few).fit(X, y)
        np.testing.assert_allclose(penal.components_ * factor, plainly.components_, atol=1e-9)
    scaled = SRDA().fit(factor * X, y)
    expected = SRDA().fit(X, y).components_
    np.testing.assert_allclose(scaled.components_ * factor, expected, atol=1e-9)
    assert scaled.alpha_ == pytest.approx(factor**2 * SRDA().fit(X, y).alpha_)


def test_srda_stops_where_it_may():
    X, y = labelled()
    most = SRDA(alpha=1.0, solver="lsqr", max_iter=100).fit(X, y).n_iter_
    assert most < 20
    assert SRDA(alpha=1.0, solver="lsqr", max_iter=100, tol=1e-2).fit(X, y).n_iter_ < most
    for solver in ("auto", "lsqr"):
        again = [SRDA(solver=solver).fit(X, y) for _ in range(2)]
        assert_same(*again, rtol=0, atol=0)


@few
def test_models_keep_what_they_counted(tmp_path):
    X, y = labelled()
    for fitted, name in (
        (SRDA(solver="lsqr").fit(X, y), "n_iter_"), (SRDA().fit(X, y), "alpha_"),
        (MMC().fit(X, y), "n_positive_"),
    ):  # fmt: skip
        narrows.save(fitted, tmp_path / "m.narrows")
        assert getattr(narrows.load(tmp_path / "m.narrows"), name) == getattr(fitted, name)


@pytest.mark.parametrize(
    ("estimator", "changed"),
    [(SRDA(solver="lsqr"), {"alpha": 1e4}), (SRDA(solver="lsqr"), {"standardize": True}),
     (LDA(solver="pca"), {"pca_components": 3}), (ReducedRank(), {"alpha": 1e4}),
     (LDA(), {"solver": "gsvd"})],
    ids=str,
)  # fmt: skip
def test_changed_parameters_need_the_samples_of_a_fit_of_all_at_once(tmp_path, estimator, changed):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 3
    if isinstance(estimator, ReducedRank):
        X, y = sparse.random(40, 9_000, density=0.01, random_state=0, format="csr"), X[:, 0]
    fitted = clone(estimator).fit(X, y)
    narrows.save(fitted, tmp_path / "a.narrows")
    for model in (fitted, narrows.load(tmp_path / "a.narrows")):
        expected = model.transform(X)
        [name] = changed
        model.set_params(**changed)
        with pytest.raises(ParameterError, match=f"expected {name}=.* as in fit.* Call fit again"):
            model.transform(X)
        model.set_params(**{name: getattr(estimator, name)})
        np.testing.assert_array_equal(model.transform(X), expected)
