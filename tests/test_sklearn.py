"""scikit-learn's own checks, on every method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import narrows
from narrows.families._base import Estimator
from tests.cases import ALL

METHODS = [
    method
    for name in narrows.__all__
    if isinstance(method := getattr(narrows, name), type) and issubclass(method, Estimator)
]


def expected_failures(estimator):
    """What scikit-learn asks for and a method does not promise, with the reason."""
    if isinstance(estimator, narrows.OnlineSRDA):
        reason = "a weight is one longer step, and no repetition"
        return {
            "check_sample_weight_equivalence_on_dense_data": reason,
            "check_sample_weight_equivalence_on_sparse_data": reason,
        }
    return {}


def test_the_table_of_laws_has_every_method():
    assert {type(case.estimator) for case in ALL} == set(METHODS)


@pytest.mark.filterwarnings("ignore:.*gains? margin|.*no column has a positive score")
@parametrize_with_checks([method() for method in METHODS], expected_failed_checks=expected_failures)
def test_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_data_frames_keep_their_names(method):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.where(X > X.median(), 0.0)  # zeros, or there is nothing to count
    fitted = method().set_output(transform="pandas").fit(X, y)
    reduced = fitted.transform(X)
    assert isinstance(reduced, pd.DataFrame)
    assert list(reduced.columns) == list(fitted.get_feature_names_out())
    assert reduced.index.equals(X.index)
    if method is narrows.OCFS:
        assert set(reduced.columns) <= set(X.columns)


def test_a_pipeline_can_be_searched():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(narrows.OC(), GaussianNB()), {"oc__n_components": [1, 2]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
