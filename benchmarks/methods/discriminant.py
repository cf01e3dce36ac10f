"""Our discriminant projections, down to their directions; and what an update of IDR/QR costs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from narrows import IDRQR, LDA, MMC, SRDA


class Discriminant:
    """All directions that the classes have."""

    estimator: ClassVar[type]

    def run(self, X: Any, y: np.ndarray) -> Any:
        return self.estimator().fit(X, y).components_


class SpectralRegression(Discriminant):
    name, estimator = "SRDA", SRDA


class DenseLDA(Discriminant):
    """Of dense rows."""

    name, estimator = "LDA", LDA


class MaximumMargin(Discriminant):
    name, estimator = "MMC", MMC


class BatchIDRQR(Discriminant):
    name, estimator = "IDRQR", IDRQR


class StreamedIDRQR:
    """Algorithms 2 and 3, every row an update, in one batch."""

    name = "IDRQR, updates"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return IDRQR().partial_fit(X, y).components_
