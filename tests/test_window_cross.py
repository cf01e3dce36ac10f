"""Windows of methods whose states hold cross products."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import LDA, MMC, PCA, SRDA, Window
from narrows.errors import ParameterError
from tests.cases import assert_same, labelled

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")


@pytest.mark.parametrize(
    "estimator",
    [SRDA(), SRDA(alpha=0.5), LDA(), LDA(n_components=5), MMC(), PCA(2)],
    ids=repr,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_last_samples_are_those_of_fit(estimator, form):
    X, y = labelled(n=700, d=6)
    X, window = form(X), Window(estimator, samples=310)
    for start in range(0, 700, 23):
        rows = slice(start, start + 23)
        window.partial_fit(X[rows], y[rows])
    last = clone(estimator).fit(X[-310:], y[-310:])
    assert_same(window.estimator_, last)
    np.testing.assert_allclose(window.transform(X), last.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize("method", [SRDA, MMC, PCA, LDA])
def test_too_many_features_are_an_error(verb, method):
    window = Window(method(), samples=10)
    with pytest.raises(
        ParameterError, match=rf"expected at most 8,192 features for {method.__name__}"
    ):
        getattr(window, verb)(np.eye(10, 8193), np.arange(10) % 2)
    assert not hasattr(window, "n_samples_seen_")


@pytest.mark.parametrize("estimator", [LDA(solver="pca"), SRDA(solver="lsqr")])
def test_solvers_that_need_all_samples_are_an_error(estimator):
    X, y = labelled()
    with pytest.raises(ParameterError, match=r"expected .* states add up, got .*solver="):
        Window(estimator).partial_fit(X, y)
