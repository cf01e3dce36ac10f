"""Errors of the nearest neighbour after the reductions that Ye et al. (2005) compare."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from narrows import IDRQR, LDA, MMC, OC, OCM, SRDA

FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def projections(c: int) -> dict[str, list[Any]]:
    """Return the steps of each reduction of samples of c classes, by its name."""
    filled = FunctionTransformer(_filled, accept_sparse=True)
    return {
        "**IDR/QR** (c)": [IDRQR()],
        "PCA+LDA (c - 1)": [filled, LDA(solver="pca")],
        "PCA+LDA, 100 principal components": [filled, LDA(solver="pca", pca_components=100)],
        "LDA/GSVD (c - 1)": [filled, LDA(solver="gsvd")],
        "OCM (c)": [OCM()],
        "PCA (c)": [filled, PCA(c, random_state=0)],
        "RLDA (c - 1)": [filled, LDA(mu=0.5)],
        "SRDA (c - 1)": [SRDA()],
        "OC (c - 1)": [OC()],
        "MMC (c - 1)": [MMC()],
    }


def cross_validated(steps: list[Any], X: Any, y: np.ndarray) -> np.ndarray:
    """Return the error of the nearest neighbour behind these steps, for each of ten folds."""
    pipeline = make_pipeline(*steps, KNeighborsClassifier(1))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # 9 of 878 in tr41
        return 1 - cross_val_score(pipeline, X, y, cv=FOLDS)


def _filled(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X
