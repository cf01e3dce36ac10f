"""Our iterations, one step a sample: as many components as exact OC has."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from narrows import CCIPCA, IIS, IMMC, IOC


class Online:
    """One pass in the order of the rows, down to the components; what is kept has to agree."""

    estimator: ClassVar[type]

    def run(self, X: Any, y: np.ndarray) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of components that gain no margin
            learner = self.estimator(max(1, len(np.unique(y)) - 1)).fit(X, y)
        drift = learner._fitted.state.core.drift()
        if not drift < 1e-8:
            raise ArithmeticError(f"inner products are {drift:.0e} from those of the basis")
        return learner.components_


class OnlineIOC(Online):
    name, estimator = "IOC", IOC


class OnlineIIS(Online):
    name, estimator = "IIS", IIS


class OnlineIMMC(Online):
    name, estimator = "IMMC", IMMC


class OnlineCCIPCA(Online):
    name, estimator = "CCIPCA", CCIPCA
