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

from narrows import IMMC, IOC, LDA, OC, OCFS, SRDA, KernelSRDA, OnlineSRDA, align, load, save
from narrows.errors import ParameterError
from narrows.evaluate import drift
from tests.cases import labelled

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")
X, y = labelled(n=150, d=9, c=5)


def rotation(p, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0]


def basis(d, p, seed=0):
    """Orthonormal directions, one a row."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, p)))[0].T


@pytest.mark.parametrize(
    "estimator", [OC(2), SRDA(), LDA(n_components=7), OnlineSRDA(), IOC(3), IMMC(3)], ids=repr
)
def test_no_other_rotation_is_closer(estimator, tmp_path):
    before, fitted = clone(estimator).fit(X[:100], y[:100]), clone(estimator).fit(X, y)
    aligned = align(fitted, before)
    R, _ = linalg.orthogonal_procrustes(fitted.components_.T, before.components_.T)
    np.testing.assert_allclose(aligned.components_, R.T @ fitted.components_, atol=1e-12)
    np.testing.assert_allclose(aligned.transform(X), X @ aligned.components_.T, atol=1e-10)
    itself = align(fitted, fitted)
    np.testing.assert_allclose(itself.components_, fitted.components_, atol=1e-12)
    save(before, tmp_path / "before.narrows")
    for stored in (load(tmp_path / "before.narrows"), before.components_.tolist()):
        np.testing.assert_allclose(align(fitted, stored).components_, aligned.components_)


def test_a_result_is_a_transformer(tmp_path):
    frame, target = load_iris(return_X_y=True, as_frame=True)
    Z, oc = frame.to_numpy(), OC().fit(frame, target)
    aligned, plain = (align(each, oc) for each in (oc, OC().fit(Z, target)))
    table = aligned.set_output(transform="pandas").transform(frame)
    assert list(table.columns) == list(aligned.get_feature_names_out()) == ["oc0", "oc1"]
    assert aligned.fit(frame, target) is aligned
    for call, error, word in (
        (lambda: plain.transform(Z[:, :3]), ValueError, "expecting 4"),
        (lambda: aligned.transform(frame[frame.columns[::-1]]), ValueError, "should match"),
        (lambda: aligned.components_.sort(), ValueError, "read-only"),
        (lambda: save(aligned, tmp_path / "no.narrows"), TypeError, "got Aligned"),
    ):
        with pytest.raises(error, match=word):
            call()
    assert plain.transform(Z.astype("f4")).dtype == np.float32
    np.testing.assert_allclose(plain.transform(csr_array(Z)), plain.transform(Z))
    for other in (clone(plain), pickle.loads(pickle.dumps(plain))):
        np.testing.assert_array_equal(other.components_, plain.components_)


def test_what_does_not_fit_together_is_refused():
    oc, selector, kernel = (each.fit(X, y) for each in (OC(3), OCFS(), KernelSRDA(n_hidden=20)))
    few = OC(3).partial_fit(X[:1], y[:1]).partial_fit(X[y == "bee"], y[y == "bee"])
    frame, target = load_iris(return_X_y=True, as_frame=True)
    named, turned = (OC().fit(frame[frame.columns[::step]], target) for step in (1, -1))
    for call, estimator, reference, word in (
        (align, oc, OC(2).fit(X, y), "2 components"),
        (align, oc, OC(3).fit(X[:, :8], y), "9 and 8 features"),
        (align, oc, np.full((3, 9), np.nan), "NaN"),
        (align, few, oc, "available"),
        (align, named, turned, "another order"),
        (align, kernel, oc, "got KernelSRDA"),
        *((align, wrong, oc, "estimator to be") for wrong in (selector, oc.components_, "oc")),
        *((align, oc, wrong, "reference to be") for wrong in (selector, oc.components_[0], None)),
        (drift, oc, np.eye(8), "9 and 8 features"),
        (drift, oc, selector, "b to be a proj"),
        (drift, OC(3).partial_fit(X[:1], y[:1]), oc, "a to have a direction"),
        (drift, kernel, oc, "got KernelSRDA"),
    ):
        with pytest.raises(ParameterError, match=word):
            call(estimator, reference)
    for call in (align, drift):
        for pair in ((OC(3), oc), (oc, OC(3))):
            with pytest.raises(NotFittedError):
                call(*pair)


@pytest.mark.parametrize("p", [1, 3])
def test_drift_of_equal_spaces_is_zero(p):
    A = basis(9, p)
    mixed = np.random.default_rng(1).normal(size=(p, p)) @ A
    for B in (A, rotation(p) @ A, mixed, 1e-200 * A, 1e200 * A):
        np.testing.assert_allclose(drift(A, B), np.zeros(p), atol=1e-12)


def test_drift_is_that_of_the_definition():
    A, B = basis(9, 3, seed=1), basis(9, 2, seed=2)
    cosines = np.linalg.svd(A @ B.T, compute_uv=False)
    np.testing.assert_allclose(drift(A, B), np.arccos(cosines)[::-1], atol=1e-7)
    np.testing.assert_allclose(drift(B, A), drift(A, B), atol=1e-12)
    tilt = 1e-11  # an arccos of 1 - 5e-23 would be 0
    a, b = np.eye(3)[:1], np.array([[np.cos(tilt), np.sin(tilt), 0.0]])
    np.testing.assert_allclose(drift(a, b), tilt, rtol=1e-4)


def test_drift_of_estimators():
    oc, srda = OC(3).fit(X, y), SRDA().fit(X, y)
    np.testing.assert_array_equal(drift(oc, srda), drift(oc.components_, srda.components_))
    stream = OC(3).partial_fit(X[:1], y[:1]).partial_fit(X[1:2], y[1:2])
    available = stream.components_.any(axis=1).sum()
    assert len(drift(oc, stream)) == available < 3  # directions of zeros do not count
