"""An explicit n_components is the number of columns from the first batch of a stream on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from narrows import IDRQR, OC, OCM, OnlineSRDA
from tests.cases import labelled

P = 4
METHODS = [OC, OCM, IDRQR, OnlineSRDA]
methods = pytest.mark.parametrize("method", METHODS)


def by_class():
    """Rows of five classes, one class after the other."""
    X, y = labelled(n=150, d=9, c=5)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def batches(size=10):
    X, y = by_class()
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


def assert_width(learner, X, p=P):
    assert learner.components_.shape == (p, X.shape[1])
    if not isinstance(learner, OnlineSRDA):
        assert not learner.eigenvalues_[~learner.components_.any(axis=1)].any()
    assert len(learner.get_feature_names_out()) == p
    reduced = learner.transform(X)
    np.testing.assert_allclose(reduced, X @ learner.components_.T, rtol=1e-4, atol=1e-4)


@methods
def test_columns_are_as_many_as_asked_for_at_every_moment(method):
    fixed, follows = method(n_components=P), method()
    X, _ = by_class()
    for X_part, y_part in batches():
        fixed.partial_fit(X_part, y_part)
        follows.partial_fit(X_part, y_part)
        assert_width(fixed, X)
        found = len(follows.components_)
        if found <= P:  # all there are, and zeros
            np.testing.assert_allclose(fixed.components_[:found], follows.components_, atol=1e-12)
            assert not fixed.components_[found:].any()
    assert found > P or method is OC
    assert fixed.components_.any(axis=1).all()


@methods
def test_columns_without_a_class_are_zeros(method):
    X, y = by_class()
    for rows in (0, 1, 5):  # of one class or none
        learner = method(n_components=P).partial_fit(X[:rows], y[:rows])
        assert_width(learner, X)
        assert method is not OC or not learner.transform(X).any()
    learner = method(n_components=8).partial_fit(X, y)
    assert_width(learner, X, 8)
    assert not learner.components_[5:].any()
    with pytest.raises(NotFittedError, match="without a direction"):
        OC().partial_fit(X[:5], y[:5]).transform(X)


@pytest.mark.parametrize("method", [OC, OCM])
def test_priors_of_classes_to_come_leave_the_columns_zeros(method):
    X, y = by_class()
    given = [0.1, 0.2, 0.3, 0.2, 0.2]
    learner = method(n_components=P, priors=given)
    for X_part, y_part in batches(70):
        learner.partial_fit(X_part, y_part)
        assert_width(learner, X)
        assert learner.components_.any() == (len(learner.classes_) == 5)
    with pytest.raises(NotFittedError, match="expected 5 classes, one for each of the priors"):
        method(priors=given).partial_fit(X[:5], y[:5]).transform(X)
