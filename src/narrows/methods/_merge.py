"""Merge fitted estimators of one class."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from sklearn.utils.validation import check_is_fitted

from narrows.methods._atomic import atomic, lock_of
from narrows.methods._base import Estimator, Fitted
from narrows.methods._parameters import same


def merge_into(estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Any]], Any]) -> Any:
    """Merge other estimators into one, by `combine` of their states, and return it.

    `combine` returns a new state that shares nothing with those it gets.
    """
    for other in others:
        check_alike(estimator, other)
    with ExitStack() as locks:
        for each in sorted({estimator, *others}, key=id):  # in one order: no two wait for another
            locks.enter_context(lock_of(each))
        return _merge(estimator, others, combine)


@atomic
def _merge(estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Any]], Any]) -> Any:
    fitted = [e for e in (estimator, *others) if e.__sklearn_is_fitted__()]
    for other in fitted[1:]:
        check_features(fitted[0], other)
    if others and fitted:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(others[0], name):
                setattr(estimator, name, getattr(others[0], name))
        combined = combine([e._fitted.state for e in fitted])
        estimator._fitted = Fitted(combined, fitted[0]._fitted.source)
    return estimator


def check_alike(estimator: Estimator, other: Any) -> None:
    """Raise where two estimators differ in their class or their parameters."""
    name = type(estimator).__name__
    if type(other) is not type(estimator):
        raise ValueError(
            f"{name}: expected another {name} to merge, got {type(other).__name__}. "
            "Merge estimators of one class."
        )
    check_is_fitted(other)
    mine, theirs = estimator.get_params(), other.get_params()
    unlike = [key for key in mine if not same(mine[key], theirs[key])]
    if unlike:
        raise ValueError(
            f"{name}: expected an estimator with the same parameters to merge, got "
            + ", ".join(f"{key}={theirs[key]!r} instead of {mine[key]!r}" for key in unlike)
            + ". Use set_params first if the difference is intended."
        )


def check_features(estimator: Estimator, other: Any) -> None:
    """Raise where two estimators were fitted to different features."""
    name = type(estimator).__name__
    if estimator.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"{name}: expected an estimator with {estimator.n_features_in_} features to merge, got "
            f"one with {other.n_features_in_}. Fit both to the same features."
        )
    named_alike = same(estimator._column_names(), other._column_names())
    if not named_alike or estimator._source != other._source:
        raise ValueError(
            f"{name}: expected an estimator with the same feature names and source to merge, got "
            "others. Fit both to the same features, in the same order."
        )
