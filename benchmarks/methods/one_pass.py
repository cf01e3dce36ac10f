"""One pass of OnlineSRDA, and what else one would take for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import SGDClassifier

from narrows import OnlineSRDA


class OnePass:
    """The pass itself; nothing is read."""

    name = "OnlineSRDA"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return OnlineSRDA(random_state=0).partial_fit(X, y)


class OnePassRead:
    """The pass, and the projection, polished."""

    name = "OnlineSRDA, read"

    def run(self, X: Any, y: np.ndarray) -> Any:
        learner = OnlineSRDA(random_state=0).fit(X, y)
        return learner, learner.components_


class OnePassReadTenth:
    """The same with a reservoir of a tenth of the samples."""

    name = "OnlineSRDA, reservoir n/10, read"

    @staticmethod
    def estimator(n: int) -> OnlineSRDA:
        """Return the estimator for n samples."""
        return OnlineSRDA(reservoir=max(20, n // 10), random_state=0)

    def run(self, X: Any, y: np.ndarray) -> Any:
        learner = self.estimator(len(y)).fit(X, y)
        return learner, learner.components_


class SGD:
    """scikit-learn's linear SVM by stochastic gradient, as it comes."""

    name = "SGDClassifier"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return SGDClassifier(random_state=0).fit(X, y)


class SVD100:
    """A hundred directions, which know no labels."""

    name = "TruncatedSVD 100"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return TruncatedSVD(min(100, X.shape[0] - 1), random_state=0).fit(X)
