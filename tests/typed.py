"""What a user's type checker sees of estimators: `make check` checks this file with mypy."""

from typing import assert_type

import numpy as np

from narrows import OC, PLS, SRDA, OnlineSRDA, Window

X, y = np.eye(4), np.array([0, 1, 0, 1])

if __name__ == "__main__":
    assert_type(SRDA().fit(X, y), SRDA)
    assert_type(SRDA().fit(X, y).predict(X), np.ndarray)
    assert_type(OC().partial_fit(X, y).merge(OC().fit(X, y)), OC)
    assert_type(OnlineSRDA().partial_fit(X, y), OnlineSRDA)
    assert_type(PLS(n_components=1).fit(X, y.astype(float)), PLS)
    assert_type(Window(OC()).partial_fit(X, y), Window)
