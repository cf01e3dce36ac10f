"""Logistic regression of two classes by Newton steps, whose sums are weighted moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from narrows.solve.products import product

_SURE = 30.0  # log odds: with larger ones, a weight is lost in rounding


@dataclass(frozen=True)
class LogOdds:
    """The log odds of the second of two classes, linear in the samples; a Newton step starts there.

    Parameters
    ----------
    labels : ndarray of shape (2,)
        The classes, sorted.
    coef : ndarray of shape (n_features,)
        The coefficients.
    intercept : float
        Their intercept.
    alpha : float
        The ridge of the classifier, which is beside a scatter whose weights are those of samples.
    score : float
        The mean log-likelihood of held-out samples by it; -inf if there are none.
    """

    labels: Annotated[np.ndarray, "labels", "2"]
    coef: Annotated[np.ndarray, "f8", "d"]
    intercept: Annotated[float, "f8"]
    alpha: Annotated[float, "f8 >=0"] = 0.0
    score: Annotated[float, "f8 infinite"] = -np.inf

    def of(self, X: Any) -> np.ndarray:
        """Return the log odds of samples, of shape (n_samples,)."""
        if sparse.issparse(X):
            return product(X, self.coef[:, None])[:, 0] + self.intercept
        # the same bits for a sample whatever others are beside it, as BLAS does not have
        return np.einsum("ij,j->i", X, self.coef) + self.intercept


def working(eta: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a Newton step regresses: the working response, and its weight.

    ::

        r = eta + (y - q) / w,  w = q (1 - q),  q = 1 / (1 + exp(-eta))

    Parameters
    ----------
    eta : ndarray of shape (n_samples,)
        The log odds so far; beyond 30, they count as 30.
    share : ndarray of shape (n_samples,)
        y, which share of a sample belongs to the second class.
    """
    eta = np.clip(eta, -_SURE, _SURE)
    q = expit(eta)
    weight = q * expit(-eta)
    return eta + (share - q) / weight, weight


def log_loss(eta: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the logarithmic loss of log odds for samples that belong to classes by shares."""
    return np.logaddexp(0.0, eta) - share * eta


def share_of(response: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return y of working responses, and their weights, for the log odds that they were made by."""
    eta = np.clip(eta, -_SURE, _SURE)
    weight = expit(eta) * expit(-eta)
    return expit(eta) + (response - eta) * weight, weight
