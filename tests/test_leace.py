"""LEACE: against the theorem written out, other maps, and classifiers of held-out samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from narrows import LEACE
from tests.cases import labelled


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


@pytest.mark.parametrize("kind", ["classes", "numbers", "several numbers"])
@pytest.mark.parametrize("shape", ["full", "dependent", "few"])
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


def test_each_column_of_an_indicator_matrix_is_erased():
    X, y = labelled()
    Y = (np.random.default_rng(0).random((60, 4)) + (X[:, :4] > 0) > 0.9).astype(int)
    Z = LEACE(target="numeric").fit_transform(X, Y)
    before, after = (np.linalg.norm(covariances(A, Y, np.ones(60))) for A in (X, Z))
    assert after <= 1e-10 * before
    found = LEACE(target="numeric").fit(X, (y[:, None] == np.unique(y)).astype(int))
    assert found.n_erased_ == 2  # of columns that add up to 1
    np.testing.assert_allclose(found.transform(X), LEACE().fit(X, y).transform(X), atol=1e-12)


def test_an_offset_moves_what_is_left_along():
    X, y = labelled()
    X = np.round(X * 2**20) / 2**20
    near, far = LEACE().fit(X, y), LEACE().fit(X + 1e8, y)
    np.testing.assert_allclose(far.transform(X + 1e8) - 1e8, near.transform(X), atol=1e-6)
    scale = 2.0 ** np.arange(-30, 40, 10)
    scaled = LEACE().fit(X * scale, y)
    np.testing.assert_allclose(scaled.transform(X * scale) / scale, near.transform(X), atol=1e-9)


@pytest.mark.parametrize(
    ("target", "n", "said"),
    [("classes", 0, "classes at least, got 0"), ("auto", 1, "classes at least, got 1"),
     ("numeric", 0, "samples, got none")],
)  # fmt: skip
def test_a_stream_waits_for_two_classes(target, n, said):
    X, y = labelled()
    labels = X[:n, 0] if target == "numeric" else y[:n]
    with pytest.raises(NotFittedError, match=f"expected .*{said} so far"):
        LEACE(target=target).partial_fit(X[:n], labels).transform(X)


@pytest.mark.parametrize("case", ["equal means", "equal targets", "equal samples"])
def test_where_nothing_varies_with_the_targets_nothing_changes(case):
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 5)), 2, axis=0) * 1e3
    X, y = np.ones((60, 4)) if case == "equal samples" else X, np.arange(60) % 2
    numeric = case == "equal targets"
    model = LEACE(target="numeric" if numeric else "auto").fit(X, np.ones(60) if numeric else y)
    assert model.n_erased_ == len(model.components_) == 0
    np.testing.assert_array_equal(model.transform(X), X)
    assert model.transform(X) is not X
