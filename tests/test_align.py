"""Rotating a projection onto an earlier one, and the angles between two."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import linalg
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from narrows import (
    CCIPCA,
    IIS,
    ILDA,
    IMMC,
    IOC,
    LDA,
    MMC,
    OC,
    OCFS,
    OCM,
    PCA,
    SRDA,
    KernelSRDA,
    OnlineSRDA,
    align,
    load,
    save,
)
from narrows.errors import ParameterError
from narrows.evaluate import drift
from tests.cases import labelled

EXACT = [OC(3), OCM(3), MMC(3), PCA(3)]
ONLINE = [method(n_components=3, orthonormalize=True) for method in (IOC, IIS, IMMC, CCIPCA, ILDA)]
orthonormal = pytest.mark.parametrize("estimator", EXACT + ONLINE, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")


def five():
    return labelled(n=150, d=9, c=5)


def rotation(p, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0]


def basis(d, p, seed=0):
    """Orthonormal directions, one a row."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, p)))[0].T


@orthonormal
def test_a_rotation_is_undone(estimator):
    X, y = five()
    fitted = clone(estimator).fit(X, y)
    turned = rotation(3) @ fitted.components_
    aligned = align(fitted, turned)
    np.testing.assert_allclose(aligned.components_, turned, atol=1e-12)
    np.testing.assert_allclose(aligned.transform(X), X @ turned.T, atol=1e-10)
    itself = align(fitted, fitted)
    np.testing.assert_allclose(itself.components_, fitted.components_, atol=1e-12)


def test_distances_stay_and_stored_vectors_are_closer():
    X, y = five()
    stream = OC(3).partial_fit(X[:70], y[:70])
    earlier = stream.components_.copy()
    later = stream.partial_fit(X[70:], y[70:]).components_.copy()
    aligned = align(stream, earlier)
    lengths = [np.linalg.norm(each.transform(X), axis=1) for each in (aligned, stream)]
    np.testing.assert_allclose(*lengths)
    assert np.linalg.norm(aligned.components_ - earlier) < np.linalg.norm(later - earlier)
    np.testing.assert_array_equal(stream.components_, later)
    then = aligned.components_.copy()
    stream.partial_fit(X[:20], y[:20])  # goes on learning, the result does not
    np.testing.assert_array_equal(aligned.components_, then)
    assert align(stream, aligned).components_.shape == (3, 9)  # a result is a reference, too


def test_a_result_is_a_transformer(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    oc = OC().fit(X, y)
    aligned = align(oc, OC().fit(X[:120], y[:120] % 3))
    table = aligned.set_output(transform="pandas").transform(X)
    assert list(table.columns) == list(aligned.get_feature_names_out()) == ["oc0", "oc1"]
    assert list(aligned.feature_names_in_) == list(X.columns)
    assert aligned.fit(X, y) is aligned
    plain = align(OC().fit(X.to_numpy(), y), oc)  # names on one side only
    with pytest.raises(ValueError, match="3 features, but Aligned is expecting 4"):
        plain.transform(X.to_numpy()[:, :3])
    with pytest.raises(ValueError, match="feature names should match"):
        aligned.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="read-only"):
        aligned.components_[0] = 0.0
    with pytest.raises(TypeError, match="got Aligned"):
        save(aligned, tmp_path / "no.narrows")
    for form in (np.float32, np.float64):
        Z = X.to_numpy().astype(form)
        reduced = make_pipeline(plain).transform(Z)
        assert reduced.dtype == form
        np.testing.assert_allclose(plain.transform(csr_array(Z)), reduced, rtol=1e-5)
    for other in (clone(plain), pickle.loads(pickle.dumps(plain))):
        np.testing.assert_array_equal(other.components_, plain.components_)


def test_directions_that_were_stored_are_a_reference(tmp_path):
    X, y = five()
    oc, later = OC(3).fit(X[:70], y[:70]), OC(3).fit(X, y)
    save(oc, tmp_path / "oc.narrows")
    expected = align(later, oc).components_
    stored = (
        load(tmp_path / "oc.narrows"),
        oc.components_.astype(np.float32),
        oc.components_.tolist(),
    )
    for reference in stored:
        np.testing.assert_allclose(align(later, reference).components_, expected, atol=1e-6)


@pytest.mark.parametrize(
    "estimator", [OC(2), SRDA(), LDA(n_components=7), OnlineSRDA(), IOC(3), IMMC(3)], ids=repr
)
def test_no_other_rotation_is_closer(estimator):
    X, y = five()
    before, fitted = clone(estimator).fit(X[:100], y[:100]), clone(estimator).fit(X, y)
    p = len(fitted.components_)
    aligned = align(fitted, before)
    R, _ = linalg.orthogonal_procrustes(fitted.components_.T, before.components_.T)
    np.testing.assert_allclose(aligned.components_, R.T @ fitted.components_, atol=1e-12)
    near = np.linalg.norm(aligned.components_ - before.components_)
    for seed in range(20):
        other = rotation(p, seed) @ fitted.components_ - before.components_
        assert near <= np.linalg.norm(other) + 1e-12
    products = [Z @ Z.T for Z in (aligned.transform(X), fitted.transform(X))]
    np.testing.assert_allclose(*products)
    assert len(drift(fitted, before)) == p


def test_what_does_not_fit_together_is_refused():
    X, y = five()
    oc, selector, kernel = (each.fit(X, y) for each in (OC(3), OCFS(), KernelSRDA(n_hidden=20)))
    few = OC(3).partial_fit(X[:1], y[:1]).partial_fit(X[y == "bee"], y[y == "bee"])
    frame, target = load_iris(return_X_y=True, as_frame=True)
    named, turned = (OC().fit(frame[frame.columns[::step]], target) for step in (1, -1))
    for estimator, reference, word in (
        (oc, OC(2).fit(X, y), "2 components"),
        (oc, OC(3).fit(X[:, :8], y), "9 and 8 features"),
        (oc, np.full((3, 9), np.nan), "NaN"),
        (few, oc, "available"),
        (named, turned, "another order"),
        (kernel, oc, "got KernelSRDA"),
        *((wrong, oc, "estimator to be a proj") for wrong in (selector, oc.components_, "oc")),
        *((oc, wrong, "reference to be a proj") for wrong in (selector, oc.components_[0], None)),
    ):
        with pytest.raises(ParameterError, match=word):
            align(estimator, reference)
    for pair in ((OC(3), oc), (oc, OC(3))):
        with pytest.raises(NotFittedError):
            align(*pair)


@pytest.mark.parametrize("p", [1, 3])
def test_drift_of_equal_spaces_is_zero(p):
    A = basis(9, p)
    mixed = np.random.default_rng(1).normal(size=(p, p)) @ A
    for B in (A, rotation(p) @ A, mixed, 1e-200 * A, 1e200 * A):
        angles = drift(A, B)
        assert angles.shape == (p,)
        np.testing.assert_allclose(angles, 0.0, atol=1e-12)


def test_drift_is_that_of_the_definition():
    A, B = basis(9, 3, seed=1), basis(9, 2, seed=2)
    cosines = np.linalg.svd(A @ B.T, compute_uv=False)
    np.testing.assert_allclose(drift(A, B), np.arccos(cosines)[::-1], atol=1e-7)
    np.testing.assert_allclose(drift(B, A), drift(A, B), atol=1e-12)
    identity = np.eye(9)
    np.testing.assert_allclose(drift(identity[:2], identity[[0, 3, 4]]), [np.pi / 2, 0.0])
    tilt = 1e-11  # an arccos of 1 - 5e-23 would be 0
    a, b = np.eye(3)[:1], np.array([[np.cos(tilt), np.sin(tilt), 0.0]])
    np.testing.assert_allclose(drift(a, b), tilt, rtol=1e-4)


def test_drift_of_estimators():
    X, y = five()
    oc, srda = OC(3).fit(X, y), SRDA().fit(X, y)
    np.testing.assert_array_equal(drift(oc, srda), drift(oc.components_, srda.components_))
    np.testing.assert_allclose(drift(oc, align(oc, basis(9, 3))), 0.0, atol=1e-12)
    stream = OC(3).partial_fit(X[:1], y[:1]).partial_fit(X[1:2], y[1:2])
    available = stream.components_.any(axis=1).sum()
    assert len(drift(oc, stream)) == available < 3  # directions of zeros do not count


def test_drift_says_what_it_cannot_compare():
    X, y = five()
    oc, kernel = OC(3).fit(X, y), KernelSRDA(n_hidden=20).fit(X, y)
    for a, b, word in (
        (oc, np.eye(8), "9 and 8 features"),
        (oc, OCFS().fit(X, y), "b to be a proj"),
        (OC(3).partial_fit(X[:1], y[:1]), oc, "a to have a direction"),
        (kernel, oc, "got KernelSRDA"),
    ):
        with pytest.raises(ParameterError, match=word):
            drift(a, b)
    with pytest.raises(NotFittedError):
        drift(oc, OC())
