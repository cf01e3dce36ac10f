"""Ways to shorten dense vectors to p numbers, with and without labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.random_projection import GaussianRandomProjection

from narrows import LDA, MMC, SRDA, KernelSRDA

Reduce = Callable[[np.ndarray, int], np.ndarray | None]  # vectors and p; None where p is too large


def all_of(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return all features, as they are."""
    return lambda Z, p: Z


def all_centred(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return all features, less their means."""
    mean = X.mean(axis=0)
    return lambda Z, p: Z - mean


def truncation(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return the first p features."""
    return _of_transform(lambda Z: Z)


def random_projection(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return p random combinations of the features."""
    random = GaussianRandomProjection(X.shape[1], random_state=seed).fit(X)
    return _of_transform(random.transform)


def pca(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return p principal components."""
    return _of_transform(PCA(random_state=seed).fit(X).transform)


def lda(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return p discriminants of scikit-learn."""
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
    return _of_transform(model.fit(X, y).transform)


def srda(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return p discriminants of SRDA."""
    return _of_transform(SRDA().fit(X, y).transform)


def kernel_srda(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return p discriminants of KernelSRDA."""
    return _of_transform(KernelSRDA(random_state=seed).fit(X, y).transform)


def mmc(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return p directions of the maximum margin criterion, with a chosen weight."""
    return _of_transform(MMC(n_components=min(256, X.shape[1]), eps="cv").fit(X, y).transform)


def srda_and_pca(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return all discriminants of SRDA, and principal components of what is orthogonal to them."""
    W, mean = SRDA().fit(X, y).components_, X.mean(axis=0)
    Q = np.linalg.qr(W.T)[0]
    rest = X - mean - (X - mean) @ Q @ Q.T
    V = np.linalg.svd(rest, full_matrices=False)[2]
    return lambda Z, p: _joined(X - mean, Z - mean, W, V[: p - len(W)]) if p > len(W) else None


def more_lda(X: np.ndarray, y: np.ndarray, seed: int) -> Reduce:
    """Return the first p directions of LDA, also more than n_classes - 1."""
    return _of_transform(LDA(n_components=min(256, X.shape[1])).fit(X, y).transform)


def _joined(X: np.ndarray, Z: np.ndarray, W: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return Z W' beside Z V', W scaled so that samples X are as long in W as in V."""
    long, short = (np.sqrt(np.mean(np.sum((X @ U.T) ** 2, axis=1))) for U in (V, W))
    return np.hstack([Z @ W.T * float(long / short), Z @ V.T])


def _of_transform(transform: Callable[[np.ndarray], np.ndarray]) -> Reduce:
    def reduce(Z: np.ndarray, p: int) -> np.ndarray | None:
        reduced = transform(Z)
        return reduced[:, :p] if p <= reduced.shape[1] else None

    return reduce
