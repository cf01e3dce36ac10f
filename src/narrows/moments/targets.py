"""From X, y and sample_weight to checked samples and `Targets`, which `Moments` adds up."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from narrows.moments.labels import indicator, weights
from narrows.solve.arrays import as_numpy, numbers_expected, samples_as_numpy
from narrows.solve.sums import HUGE, all_finite, check_places, too_large, with_one_index_type

MOST_TARGETS = 1000
_LARGEST = HUGE**0.45  # products of numbers below this stay finite


class Targets(NamedTuple):
    """The targets of samples as a matrix T, of which the constant 1 is a combination of columns.

    Parameters
    ----------
    labels : ndarray of shape (n_classes,) or None
        The labels of the columns of T, sorted; None for numbers.
    T : csr_array of shape (n_samples, n_classes), or ndarray of shape (n_samples, 1 + n_targets)
        The weight of each sample in the columns of its classes; or a column of ones, and the
        numbers, without weights: products with them are summed about an origin.
    weight : ndarray of shape (n_samples,)
        The weight of each sample: the sum of its weights in all classes.
    """

    labels: np.ndarray | None
    T: Any
    weight: np.ndarray

    @classmethod
    def of_labels(cls, X: Any, y: Any, sample_weight: Any = None) -> Targets:
        """Return the targets of samples with labels, or with a 0-1 indicator matrix for y."""
        return cls.of_indicator(*indicator(X, y, sample_weight))

    @classmethod
    def of_indicator(cls, labels: np.ndarray, T: sparse.csr_array) -> Targets:
        """Return the targets of samples with these weights in classes with these labels."""
        one_each = T.nnz == T.shape[0] and bool((np.diff(T.indptr) == 1).all())
        return cls(labels, T, T.data if one_each else np.asarray(T.sum(axis=1)).ravel())

    @classmethod
    def of_numbers(cls, X: Any, y: Any, sample_weight: Any = None) -> Targets:
        """Return the targets of samples with numbers, of shape (n_samples,) or more columns."""
        Y, n = numbers_of(y, X.shape[0]), X.shape[0]
        most = float(np.abs(Y).max(initial=0.0))
        if not most < _LARGEST:
            raise too_large(f"targets below {_LARGEST:.0e}", None, f"{most:.1e}")
        weight = np.ones(n) if sample_weight is None else weights(sample_weight, n)
        return cls(None, np.hstack([np.ones((n, 1)), Y]), weight)

    def rows(self, some: slice) -> Targets:
        """Return the targets of some of the samples."""
        if some == slice(0, len(self.weight)):
            return self
        return Targets(self.labels, self.T[some], self.weight[some])


def numbers_of(y: Any, n: int) -> np.ndarray:
    """Return the numeric targets of n samples, of shape (n_samples, n_targets).

    Raises
    ------
    ValueError
        The targets are missing, no finite real numbers, of another length, or of three dimensions.
    """
    if y is None:
        raise ValueError(
            "fit requires y to be passed, but the target y is None. "
            "Pass the targets of the samples, which are numbers."
        )
    advice = "Pass an array of shape (n_samples,) or (n_samples, n_targets)."
    if sparse.issparse(y):
        raise ValueError(f"expected targets as a dense array, got a sparse one. {advice}")
    given = np.asarray(as_numpy(y, "y"))
    if given.dtype.kind == "O" and not any(isinstance(each, str | bytes) for each in given.flat):
        with suppress(TypeError, ValueError):
            given = given.astype(np.float64)
    if given.dtype.kind not in "biuf":
        got = {"c": "complex numbers", "M": "dates", "m": "times"}.get(given.dtype.kind, "text")
        raise ValueError(
            f"expected targets that are real numbers, got {got}. Convert them, or use SRDA "
            "or ForwardFS for classes."
        )
    if given.ndim not in (1, 2) or (given.ndim == 2 and not 0 < given.shape[1] <= MOST_TARGETS):
        raise ValueError(
            f"expected from 1 to {MOST_TARGETS:,} targets, got y of shape {given.shape}. {advice}"
        )
    if len(given) != n:
        raise ValueError(
            f"expected the targets of {n} samples, got those of {len(given)}. {advice}"
        )
    Y = given.astype(np.float64, order="C") + 0.0  # -0 becomes 0
    Y = Y.reshape(n, *given.shape[1:] or (1,))
    if not np.isfinite(Y).all():
        got = "NaN" if np.isnan(Y).any() else "infinity"
        raise ValueError(
            f"expected finite targets, got {got}. Leave out the samples without a target."
        )
    return Y


def as_samples(X: Any, finite: bool = True) -> Any:
    """Return samples as float32 or float64, CSR if sparse; ValueError unless they are finite."""
    check_places(X, "X")
    X = samples_as_numpy(X)
    # of a sum that scikit-learn looks at
    with np.errstate(over="ignore", invalid="ignore"), numbers_expected(X):
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=0,
            ensure_all_finite=finite and not all_finite(X),
        )
    return with_one_index_type(X)
