"""OCFS, OC and OCM: the papers' numbers, their parameters, their errors."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.exceptions import NotFittedError

from narrows import OC, OCFS, OCM
from tests.cases import labelled
from tests.oracles.dense import scatters


def test_iris_scores_with_the_priors_that_the_papers_left_out(data):
    """The three printed scores omit n_j / n: 3 times too large; the fourth has swapped digits."""
    with open(data / "iris.csv") as file:
        rows = list(csv.reader(file))[1:]
    X, y = np.array([row[:4] for row in rows], dtype=float), [row[4] for row in rows]
    ocfs = OCFS(n_features=2).fit(X, y)
    printed = [1.2642, 0.21955, 8.7329, 1.6121]  # 1.1621 in Yan et al. (2006, 2005)
    np.testing.assert_allclose(3 * ocfs.scores_, printed, atol=1e-4)
    np.testing.assert_allclose(ocfs.scores_, [0.421414, 0.073184, 2.910958, 0.537361], atol=1e-6)
    assert ocfs.get_support(indices=True).tolist() == [2, 3]  # features 3 and 4, counted from 1


def test_on_a_stream_components_wait_for_classes():
    X, y = labelled()
    oc, every = OC(n_components=2), OC()
    for i in np.argsort(y, kind="stable"):
        for model in (oc, every):
            model.partial_fit(X[[i]], y[[i]])
        assert len(every.components_) == len(oc.classes_) - 1
        assert oc.components_.any(axis=1).sum() == min(len(oc.classes_) - 1, 2)
    with pytest.raises(ValueError, match="without a direction"):
        OC().partial_fit(X[:1], y[:1]).transform(X)
    waits = OC(priors=[0.2, 0.3, 0.5]).partial_fit(X[:1], y[:1])
    with pytest.raises(NotFittedError, match="3 classes, one for each of the priors, got 1"):
        waits.transform(X)
    assert waits.partial_fit(X, y).components_.shape == (2, 7)


@pytest.mark.parametrize("priors", ["empirical", "balanced"])
def test_ocm_spans_what_the_paper_s_qr_does(priors):
    """Ye et al. (2005), Theorem 2: any orthonormal basis Q of the means, here from a real QR."""
    X, y = labelled(d=9, c=4)
    X = X + 3  # so that the mean adds a direction
    C = np.array([X[y == j].mean(axis=0) for j in np.unique(y)]).T
    Q, _ = linalg.qr(C, mode="economic")
    S_b, *_ = scatters(X, y, priors=priors)
    ocm = OCM(priors=priors).fit(X, y)
    W = ocm.components_.T
    np.testing.assert_allclose(W @ W.T, Q @ Q.T, atol=1e-10)
    np.testing.assert_allclose(ocm.eigenvalues_, linalg.eigvalsh(Q.T @ S_b @ Q)[::-1], atol=1e-10)
    np.testing.assert_allclose(W.T @ S_b @ W, np.diag(ocm.eigenvalues_), atol=1e-10)
    np.testing.assert_allclose(OC(priors=priors).fit(X, y).components_, W.T[:3], atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rounding_does_not_distinguish_equal_means(form):
    X = np.full((10, 3), 0.1)
    y = [0] * 3 + [1] * 7
    with pytest.raises(ValueError, match=r"equal means, so no direction"):
        OC().fit(form(X), y)
    with pytest.warns(UserWarning, match="expected a positive score of"):
        assert OCFS().fit(form(X), y).n_positive_ == 0


def test_n_features_is_a_number_a_fraction_an_energy_or_a_threshold():
    X, y = labelled(d=100)
    for percent in range(1, 101):  # 0.29 * 100 is 28.999999999999996
        assert OCFS(n_features=percent / 100).fit(X, y).n_features_ == percent
        assert OCFS(n_features=np.int64(percent)).fit(X, y).n_features_ == percent
    assert OCFS().fit(X, y).n_features_ == OCFS(energy=0.8).fit(X, y).n_features_
    s = np.sort(OCFS().fit(X, y).scores_)
    assert OCFS(threshold=float(s[60])).fit(X, y).n_features_ == 40


def test_means_nearly_on_a_line_have_orthonormal_directions():
    means = np.zeros((3, 9))
    means[1, 0], means[2, :2] = 1.0, (0.5, 1e-5)
    X, y = np.repeat(means, 4, axis=0), np.repeat([0, 1, 2], 4)
    fitted = OC().fit(X, y)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(2), atol=1e-10)
    S_b, *_ = scatters(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, linalg.eigvalsh(S_b)[:-3:-1], rtol=1e-3)
