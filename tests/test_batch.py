"""MMC, LDA and SRDA: against dense eigenproblems, scikit-learn, and the closed form.

What they promise on streams is in test_cross.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from narrows import LDA, MMC, OC, SRDA
from narrows.errors import ParameterError, RangeError
from tests.cases import BATCH, CROSS, assert_same, labelled, same_directions
from tests.inside import pretend
from tests.oracles.dense import scatters

few = pytest.mark.filterwarnings("ignore:.*gains? margin")
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
LABELLED = BATCH + [case for case in CROSS if case.reads_y]
SHAPES = [(60, 7), (30, 80)]  # more samples than features, and fewer
shapes = pytest.mark.parametrize(("n", "d"), SHAPES)


SPOILT = [
    (lambda X, y: (np.where(X == X[3, 3], np.nan, X), y, None), "NaN"),
    (lambda X, y: (X, y, np.where(y == "ant", 1.0, 0.0)), "got 1 class"),
    (lambda X, y: (X, y, np.zeros(60)), "non-zero"),
    (lambda X, y: (X, y, -np.ones(60)), "sample_weight >= 0"),
    (lambda X, y: (X, np.eye(3)[np.arange(60) % 3], None), "one label per sample"),
    (lambda X, y: (X, None, None), "requires y"),
    (lambda X, y: (np.ones((60, 7)), y, None), "equal means|that differ|equal samples in"),
]


@few
@pytest.mark.parametrize("case", LABELLED, ids=lambda case: case.name)
@pytest.mark.parametrize(("spoil", "message"), SPOILT)
def test_a_failing_fit_changes_nothing(case, spoil, message):
    X, y = labelled()
    if "one label" in message and case in CROSS and isinstance(case.estimator, SRDA | MMC):
        pytest.skip("it takes several labels a sample")
    fitted, new = case.new().fit(X, y), case.new()
    for estimator in (fitted, new):
        with pytest.raises(ValueError, match=message):
            estimator.fit(*spoil(X, y))
    assert vars(new) == vars(case.new())
    assert_same(fitted, case.new().fit(X, y), rtol=0, atol=0)


@few
@pytest.mark.parametrize("case", CROSS, ids=lambda case: case.name)
def test_parameters_of_the_criterion_need_no_new_fit(case):
    X, y = labelled(d=20, c=5)
    fitted = case.new().fit(X, y)
    for name, value in (("n_components", 4), ("eps", 0.3), ("mu", 7.0), ("alpha", 7.0)):
        if name in fitted.get_params():
            fitted.set_params(**{name: value})
            assert_same(fitted, case.new().set_params(**fitted.get_params()).fit(X, y))


@few
@forms
@pytest.mark.parametrize("p", [2, 8])
@pytest.mark.parametrize("eps", [1.0, 0.1])
@pytest.mark.parametrize("situations", [(), ("no products", "Lanczos alone")], ids=len)
@shapes
def test_mmc_finds_what_gains_and_stays_in_the_span_of_the_samples(
    form, n, d, p, eps, situations, monkeypatch
):
    n, d = 3 * n, 4 * d  # large enough for Lanczos to be what it is
    X, y = labelled(n=n, d=d, c=4, sparse=form is not np.asarray)
    X[:, 3] = 0
    S_b, S_w, _ = scatters(X, y)
    A, Q = S_b - eps * S_w, linalg.orth((X - X.mean(axis=0)).T, rcond=1e-10)
    L, U = np.linalg.eigh(Q.T @ A @ Q)
    for situation in situations:
        pretend(monkeypatch, situation)
    fitted = MMC(n_components=p, eps=eps).fit(form(X), y)
    W, gains = fitted.components_, int((L > 1e-9).sum())
    assert fitted.n_positive_ == gains
    shared = min(p, gains) if situations else p
    np.testing.assert_allclose(fitted.eigenvalues_[:shared], L[::-1][:shared], rtol=1e-9)
    shared = min(p, gains)
    same_directions(W[:shared], (Q @ U).T[::-1][:shared], 1e-8, signs=True)
    # the others: in the span of the samples, orthonormal, in order, with the values they have
    np.testing.assert_allclose(W @ W.T, np.eye(p), atol=1e-8)
    np.testing.assert_allclose(W @ Q @ Q.T, W, atol=1e-7)
    np.testing.assert_allclose(np.diag(W @ A @ W.T), fitted.eigenvalues_, atol=1e-8)
    assert (np.diff(fitted.eigenvalues_) <= 0).all()


@few
def test_lanczos_that_was_stopped_says_so(monkeypatch):
    X, y = labelled(n=300, d=200, c=5)
    X /= np.arange(1, 201) ** 2
    for situation in ("no products", "Lanczos alone", "Lanczos stops"):
        pretend(monkeypatch, situation)
    with pytest.warns(ConvergenceWarning, match=r"expected Lanczos to find all .* estimates"):
        fitted = MMC().fit(X, y)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("situation", ["no products", "Lanczos first"])
def test_equal_means_gain_nothing_by_lanczos_either(situation, monkeypatch):
    X, _ = labelled(n=50, d=90)
    pretend(monkeypatch, "no products")
    pretend(monkeypatch, situation)
    with pytest.warns(UserWarning, match=r"expected 1 components that gain margin .* got 0"):
        assert MMC().fit(np.vstack([X, X]), np.repeat(["ant", "bee"], 50)).n_positive_ == 0
    with pytest.raises(ValueError, match="expected samples that differ"):
        MMC().fit(np.ones((60, 70)), np.arange(60) % 3)


@pytest.mark.parametrize("method", [MMC, LDA, SRDA])
@pytest.mark.parametrize(("factor", "error"), [(1e-200, ValueError), (1e200, RangeError)])
def test_numbers_whose_squares_are_none(method, factor, error):
    X, y = labelled()
    with pytest.raises(error, match=r"^expected "):
        method().fit(factor * X, y)
    if method is SRDA:  # whose answer has no size
        assert SRDA(solver="lsqr").fit(factor * X, y).eigenvalues_.max() > 0
    if method is MMC:
        with pytest.raises(RangeError, match="expected samples whose eigenvalues"):
            MMC().fit(np.hstack([factor * X, np.zeros((60, 8192))]), y)


def quotient(S_b, D, p):
    """The leading eigenvectors of D^-1 S_b, on what D reaches, with w'D w = 1."""
    L, U = np.linalg.eigh(D)
    kept = L > 1e-10 * L[-1]
    half = U[:, kept] / np.sqrt(L[kept])
    ratios, V = np.linalg.eigh(half.T @ S_b @ half)
    return ratios[::-1][:p], (half @ V[:, ::-1][:, :p]).T


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
        same_directions(fitted.components_, W, 1e-4, signs=True)
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
    same_directions(fitted.components_, V @ P, 1e-4, signs=True)
    S_w, W = scatters(X, y)[1], fitted.components_
    np.testing.assert_allclose(W @ S_w @ W.T, np.eye(3), atol=1e-8)


def test_a_singular_scatter_is_said_to_be_so():
    X, y = labelled(n=30, d=80, c=4)
    with pytest.raises(ParameterError, match="rank 26, and the samples span 29"):
        LDA(mu=0.0).fit(X, y)
    with pytest.raises(ParameterError, match=r"pca_components<=26.*got 27"):
        LDA(solver="pca", pca_components=27).fit(X, y)
    X, y = np.eye(6), [0, 0, 1, 1, 2, 2]  # what the classes differ in is outside X - m_y
    with pytest.raises(ValueError, match="means that differ in the principal components used"):
        LDA(solver="pca").fit(X, y)
    assert LDA(solver="gsvd").fit(X, y).eigenvalues_.round(9).tolist() == [1, 1]


@pytest.mark.parametrize("k", [4, 14, 1000])
def test_rounding_is_no_scatter_within_the_classes(k):
    """Rows less their mean, which is not theirs to the last bit where they are 14 alike."""
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 5)), k, axis=0)
    y = np.repeat([0, 1, 2], k)
    apart = np.hstack([100 * X, np.tile([1.0, -1.0], 3 * k // 2)[:, None]])  # the only scatter
    for lda, given, word in (
        (LDA(solver="pca"), X, "equal samples in each class"),
        (LDA(mu=0.0), X, "of rank 0, and the samples span 2"),
        (LDA(solver="pca", pca_components=2), apart, "pca_components<=1,"),
        (LDA(solver="pca"), apart, "in the principal components used"),
        (LDA(solver="pca", pca_components=1), apart, "no direction"),  # which has no scatter
    ):
        with pytest.raises(ValueError, match=word):
            lda.fit(given, y)
    assert LDA().fit(X, y).components_.shape == (2, 5)


def test_srda_stops_where_it_may():
    X, y = labelled(c=4, d=30)
    fitted = SRDA(solver="lsqr", max_iter=1).fit(X, y)  # which spans what OC does
    assert linalg.subspace_angles(fitted.components_.T, OC().fit(X, y).components_.T).max() < 1e-7
    assert fitted.n_iter_ == 1
    most = SRDA(alpha=100.0, solver="lsqr", max_iter=100).fit(X, y).n_iter_
    assert SRDA(alpha=100.0, solver="lsqr", max_iter=100, tol=1e-2).fit(X, y).n_iter_ < most < 40
