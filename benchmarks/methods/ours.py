"""The methods of narrows, each down to what a user reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from narrows import (
    CCIPCA,
    CHI,
    IDRQR,
    IG,
    IIS,
    IMMC,
    IOC,
    LDA,
    MMC,
    MMCFS,
    OC,
    OCFS,
    PCA,
    SRDA,
    FisherFS,
    KernelSRDA,
    OnlineSRDA,
)


@dataclass(frozen=True)
class Ours:
    """An estimator, and the attribute that is read after it was fitted.

    `make` is called with the numbers of samples and classes.
    """

    name: str
    make: Callable[[int, int], Any]
    reads: str
    by: str = "fit"

    def run(self, X: Any, y: Any) -> Any:
        """Return the fitted estimator."""
        n_classes = y.shape[1] if y.ndim > 1 else len(np.unique(y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of components that gain no margin
            model = getattr(self.make(X.shape[0], n_classes), self.by)(X, y)
            getattr(model, self.reads)
        return model


class Iteration(Ours):
    """As many components as exact OC has; the inner products that are kept have to agree."""

    def run(self, X: Any, y: Any) -> Any:
        """Return the fitted estimator; ArithmeticError where products are wrong."""
        model = super().run(X, y)
        drift = model._learned.state.core.drift()
        if not drift < 1e-8:
            raise ArithmeticError(f"inner products are {drift:.0e} from those of the basis")
        return model


def _selector(kind: type) -> Ours:
    return Ours(kind.__name__, lambda n, c: kind(n_features=min(100, n)), "scores_")


def _projector(name: str, make: Callable[..., Any], **parameters: Any) -> Ours:
    return Ours(name, lambda n, c: make(**parameters), "components_")


OURS = (
    *map(_selector, (OCFS, IG, CHI, MMCFS, FisherFS)),
    _projector("OC", OC),
    _projector("SRDA", SRDA),
    _projector('SRDA(alpha="scale")', SRDA, alpha="scale"),
    _projector("LDA", LDA),
    _projector("IDRQR", IDRQR),
    Ours("MMC", lambda n, c: MMC(max(1, c - 1)), "components_"),
    Ours("PCA(50)", lambda n, c: PCA(min(50, n - 1)), "components_"),
    Ours("KernelSRDA", lambda n, c: KernelSRDA(), "eigenvalues_"),
    *(
        Iteration(kind.__name__, lambda n, c, kind=kind: kind(max(1, c - 1)), "components_")
        for kind in (IOC, IIS, IMMC, CCIPCA)
    ),
    Ours("OnlineSRDA", lambda n, c: OnlineSRDA(random_state=0), "classes_", "partial_fit"),
    Ours("OnlineSRDA, read", lambda n, c: OnlineSRDA(random_state=0), "components_"),
    Ours(
        "OnlineSRDA, reservoir n/10, read",
        lambda n, c: OnlineSRDA(keep=max(20, n // 10), random_state=0),
        "components_",
    ),
)
