"""Rotating a projection onto an earlier one, and the angles between two."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import linalg
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
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


@pytest.mark.slow
def test_no_other_rotation_is_closer():
    X, y = five()
    earlier, later = OC(2).fit(X[:70], y[:70]), OC(2).fit(X, y)
    aligned = align(later, earlier)
    found = np.linalg.norm(aligned.components_ - earlier.components_)
    angles = np.linspace(0, 2 * np.pi, 2001)
    for sign in (1, -1):
        for a in angles:
            R = np.array([[np.cos(a), np.sin(a)], [-sign * np.sin(a), sign * np.cos(a)]])
            assert found <= np.linalg.norm(R @ later.components_ - earlier.components_) + 1e-12
    R = aligned.components_ @ later.components_.T
    np.testing.assert_allclose(R @ R.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(R @ later.components_, aligned.components_, atol=1e-12)


def test_distances_stay_and_stored_vectors_are_closer():
    X, y = five()
    stream = OC(3).partial_fit(X[:70], y[:70])
    earlier, stored = stream.components_.copy(), stream.transform(X)
    stream.partial_fit(X[70:], y[70:])
    before = copy.deepcopy(stream)
    aligned = align(stream, earlier)
    np.testing.assert_allclose(
        np.linalg.norm(aligned.transform(X), axis=1), np.linalg.norm(stream.transform(X), axis=1)
    )
    assert np.linalg.norm(aligned.components_ - earlier) < np.linalg.norm(
        stream.components_ - earlier
    )
    assert np.isfinite(aligned.transform(X) - stored).all()
    np.testing.assert_array_equal(stream.components_, before.components_)
    then = aligned.components_.copy()
    stream.partial_fit(X[:20], y[:20])  # goes on learning, the result does not
    np.testing.assert_array_equal(aligned.components_, then)
    again = align(stream, aligned)  # a result is a reference, too
    assert again.components_.shape == (3, 9)


def test_a_result_is_a_transformer():
    X, y = load_iris(return_X_y=True, as_frame=True)
    oc = OC().fit(X, y)
    aligned = align(oc, OC().fit(X[:120], y[:120] % 3))
    assert list(aligned.get_feature_names_out()) == ["oc0", "oc1"]
    assert aligned.n_features_in_ == 4
    assert list(aligned.feature_names_in_) == list(X.columns)
    table = aligned.set_output(transform="pandas").transform(X)
    assert list(table.columns) == ["oc0", "oc1"]
    assert aligned.fit(X, y) is aligned
    assert isinstance(aligned, BaseEstimator)
    with pytest.raises(ValueError, match="3 features, but Aligned is expecting 4"):
        align(OC().fit(X.to_numpy(), y), oc).transform(X.to_numpy()[:, :3])
    with pytest.raises(ValueError, match="feature names should match"):
        aligned.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="read-only"):
        aligned.components_[0] = 0.0
    plain = align(OC().fit(X.to_numpy(), y), oc)  # names on one side only
    for form in (np.float32, np.float64):
        rows = X.to_numpy().astype(form)
        reduced = plain.transform(rows)
        assert reduced.dtype == form
        np.testing.assert_allclose(plain.transform(csr_array(rows)), reduced, rtol=1e-5)
    for other in (clone(plain), pickle.loads(pickle.dumps(plain))):
        np.testing.assert_array_equal(other.components_, plain.components_)
    assert make_pipeline(plain).transform(X.to_numpy()).shape == (150, 2)


def test_directions_that_were_stored_are_a_reference(tmp_path):
    X, y = five()
    oc = OC(3).fit(X[:70], y[:70])
    np.save(tmp_path / "earlier.npy", oc.components_.astype(np.float32))
    save(oc, tmp_path / "oc.narrows")
    later = OC(3).fit(X, y)
    from_array = align(later, np.load(tmp_path / "earlier.npy"))
    from_model = align(later, load(tmp_path / "oc.narrows"))
    np.testing.assert_allclose(from_array.components_, from_model.components_, atol=1e-6)
    np.testing.assert_allclose(
        align(later, oc.components_.tolist()).components_, from_model.components_, atol=1e-12
    )
    with pytest.raises(TypeError, match="or a pipeline of these, got Aligned"):
        save(from_model, tmp_path / "no.narrows")


@pytest.mark.parametrize(
    "method", [SRDA, LDA, lambda: LDA(n_components=7), OnlineSRDA, lambda: IOC(3), lambda: IMMC(3)]
)
def test_directions_need_not_be_orthonormal(method):
    X, y = five()
    before, fitted = method().fit(X[:100], y[:100]), method().fit(X, y)
    p = len(fitted.components_)
    aligned = align(fitted, before)
    R, residual = linalg.orthogonal_procrustes(fitted.components_.T, before.components_.T)
    np.testing.assert_allclose(aligned.components_, R.T @ fitted.components_, atol=1e-12)
    assert residual > 0
    for seed in range(20):
        other = rotation(p, seed) @ fitted.components_ - before.components_
        near = np.linalg.norm(aligned.components_ - before.components_)
        assert near <= np.linalg.norm(other) + 1e-12
    np.testing.assert_allclose(
        aligned.transform(X) @ aligned.transform(X).T, fitted.transform(X) @ fitted.transform(X).T
    )
    assert len(drift(fitted, before)) == p


def test_what_does_not_fit_together_is_refused():
    X, y = five()
    oc = OC(3).fit(X, y)
    with pytest.raises(ParameterError, match=r"^expected 2 components, .* got 3\. Set"):
        align(oc, OC(2).fit(X, y))
    with pytest.raises(ParameterError, match=r"same features, got 9 and 8 features"):
        align(oc, OC(3).fit(X[:, :8], y))
    with pytest.raises(NotFittedError):
        align(OC(3), oc)
    with pytest.raises(NotFittedError):
        align(oc, OC(3))
    for wrong in (OCFS().fit(X, y), oc.components_, "oc"):
        with pytest.raises(ParameterError, match=r"^expected estimator to be a proj"):
            align(wrong, oc)
    for wrong in (OCFS().fit(X, y), oc.components_[0], "oc", None):
        with pytest.raises(ParameterError, match=r"^expected reference to be a proj"):
            align(oc, wrong)
    with pytest.raises(ParameterError, match="reference without NaN or infinity"):
        align(oc, np.full((3, 9), np.nan))
    few = OC(3).partial_fit(X[:1], y[:1]).partial_fit(X[y == "bee"], y[y == "bee"])
    with pytest.raises(ParameterError, match=r"of OC to be available, got [01] of 3\. Use"):
        align(few, oc)
    frame = load_iris(return_X_y=True, as_frame=True)
    turned = frame[0][frame[0].columns[::-1]]
    with pytest.raises(ParameterError, match="got other names or another order"):
        align(OC().fit(*frame), OC().fit(turned, frame[1]))


# -- drift ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 3])
def test_drift_of_equal_spaces_is_zero(p):
    A = basis(9, p)
    mixed = np.random.default_rng(1).normal(size=(p, p)) @ A
    for B in (A, rotation(p) @ A, mixed, 1e-200 * A, 1e200 * A):
        angles = drift(A, B)
        assert angles.shape == (p,)
        np.testing.assert_allclose(angles, 0.0, atol=1e-12)


def test_drift_of_orthogonal_spaces_is_a_right_angle():
    identity = np.eye(9)
    np.testing.assert_allclose(drift(identity[:3], identity[3:6]), np.pi / 2)
    np.testing.assert_allclose(drift(identity[:2], identity[[0, 3, 4]]), [np.pi / 2, 0.0])


def test_drift_is_that_of_the_definition():
    A, B = basis(9, 3, seed=1), basis(9, 2, seed=2)
    cosines = np.linalg.svd(A @ B.T, compute_uv=False)
    np.testing.assert_allclose(drift(A, B), np.arccos(cosines)[::-1], atol=1e-7)
    np.testing.assert_allclose(drift(B, A), drift(A, B), atol=1e-12)
    tilt = 1e-11  # an arccos of 1 - 5e-23 would be 0
    a, b = np.eye(3)[:1], np.array([[np.cos(tilt), np.sin(tilt), 0.0]])
    np.testing.assert_allclose(drift(a, b), tilt, rtol=1e-4)


def test_drift_of_estimators():
    X, y = five()
    oc, srda = OC(3).fit(X, y), SRDA().fit(X, y)
    np.testing.assert_array_equal(drift(oc, srda), drift(oc.components_, srda.components_))
    aligned = align(oc, basis(9, 3))
    np.testing.assert_allclose(drift(oc, aligned), 0.0, atol=1e-12)
    stream = OC(3).partial_fit(X[:1], y[:1]).partial_fit(X[1:2], y[1:2])
    available = stream.components_.any(axis=1).sum()
    assert available < 3
    assert len(drift(oc, stream)) == available  # directions of zeros do not count
    assert (drift(oc, stream) > 0).all()


def test_drift_says_what_it_cannot_compare():
    X, y = five()
    oc = OC(3).fit(X, y)
    with pytest.raises(ParameterError, match=r"same features, got 9 and 8 features"):
        drift(oc, np.eye(8))
    with pytest.raises(ParameterError, match=r"^expected b to be a proj"):
        drift(oc, OCFS().fit(X, y))
    with pytest.raises(ParameterError, match=r"^expected a to have a direction"):
        drift(OC(3).partial_fit(X[:1], y[:1]), oc)
    with pytest.raises(NotFittedError):
        drift(oc, OC())


def test_hidden_features_have_no_directions_to_align():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = (np.hypot(*X.T) > 1.1).astype(int) + (X[:, 0] > 0)
    a, b = (KernelSRDA(n_hidden=60, random_state=seed).fit(X, y) for seed in (0, 1))
    for verb in (align, drift):
        with pytest.raises(ParameterError, match="directions in the features, got KernelSRDA"):
            verb(a, b)
