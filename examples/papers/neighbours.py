"""Errors of the nearest neighbour after the reductions that Ye et al. (2005) compare."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from narrows import IDRQR, LDA, MMC, OC, OCM, SRDA

FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)
INNER = StratifiedKFold(3, shuffle=True, random_state=0)  # of the training samples
COMPONENTS = (25, 50, 100, 200, 400)
MU = (0.01, 0.1, 1.0, 10.0, 1e4)


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


def chosen(name: str, X: Any, y: np.ndarray) -> tuple[float, list[float]]:
    """Return the error of PCA+LDA, RLDA or PCA over ten folds, and the parameters chosen.

    For each fold, three folds of its training samples choose the number of principal components,
    or mu, by the error of the nearest neighbour.
    """
    X, c = in_span(X), len(np.unique(y))
    most = min(0.6 * len(y) - c, X.shape[1])  # S_w of an inner fold has this rank
    sizes = [p for p in COMPONENTS if p <= most]
    if name == "RLDA":
        before, step, key, values = "passthrough", LDA(), "lda__mu", list(MU)
    elif name == "PCA+LDA":
        before, step = PCA(sizes[-1], svd_solver="full"), LDA(solver="pca")
        key, values = "lda__pca_components", sizes
    else:
        before, step = PCA(sizes[-1], svd_solver="full"), FunctionTransformer(_first)
        key = "functiontransformer__kw_args"
        values = [{"p": p} for p in sorted({c, *sizes})]
    search = GridSearchCV(make_pipeline(step, KNeighborsClassifier(1)), {key: values}, cv=INNER)
    model, errors, found = make_pipeline(before, search), [], []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        for train, test in FOLDS.split(X, y):
            fitted = clone(model).fit(X[train], y[train])
            errors.append(1 - fitted.score(X[test], y[test]))
            best = fitted[-1].best_params_[key]
            found.append(best["p"] if isinstance(best, dict) else best)
    return float(np.mean(errors)), found


def in_span(X: Any) -> np.ndarray:
    """Return samples by an orthonormal basis of their span, where all inner products stay."""
    products = X @ X.T
    L, U = np.linalg.eigh(products.toarray() if sparse.issparse(products) else products)
    kept = L > 1e-10 * L[-1]
    return U[:, kept] * np.sqrt(L[kept])


def _first(X: np.ndarray, p: int) -> np.ndarray:
    return X[:, :p]


def _filled(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X
