"""Merging: what estimators have to share, and the sum of what they have learned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from sklearn.utils.validation import check_is_fitted

from narrows.errors import AdvisedError
from narrows.methods.learned import Learned, atomic, lock_of
from narrows.methods.names import column_names, source_of
from narrows.methods.parameters import same
from narrows.methods.then import Then


def merge_into(
    estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Learned]], Learned]
) -> Any:
    """Merge other estimators into one, by `combine` of what they learned, and return it.

    `combine` returns what shares nothing with what it gets.
    """
    for other in others:
        check_alike(estimator, other)
    with ExitStack() as locks:
        for each in sorted({estimator, *others}, key=id):  # in one order: no two wait for another
            locks.enter_context(lock_of(each))
        return _merge(estimator, others, combine)


@atomic
def _merge(
    estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Learned]], Learned]
) -> Any:
    fitted = [e for e in (estimator, *others) if e.__sklearn_is_fitted__()]
    for other in fitted[1:]:
        check_features(fitted[0], other)
    if others and fitted:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(others[0], name):
                setattr(estimator, name, getattr(others[0], name))
        merged = combine([e._learned for e in fitted])
        merged.source, merged.then = fitted[0]._learned.source, Then.merged(fitted)
        estimator._learned = merged
    return estimator


def check_alike(estimator: Any, other: Any) -> None:
    """Raise where two estimators differ in their class or their parameters."""
    name = type(estimator).__name__
    if type(other) is not type(estimator):
        raise ValueError(
            f"expected another {name} to merge, got {type(other).__name__}. "
            "Merge estimators of one class."
        )
    check_is_fitted(other)
    mine, theirs = estimator.get_params(), other.get_params()
    unlike = [key for key in mine if not same(mine[key], theirs[key])]
    if unlike:
        raise ValueError(
            "expected an estimator with the same parameters to merge, got "
            + ", ".join(f"{key}={theirs[key]!r} instead of {mine[key]!r}" for key in unlike)
            + ". Merge estimators with the same parameters."
        )


def check_features(estimator: Any, other: Any) -> None:
    """Raise where two estimators were fitted to different features."""
    mine, theirs = (getattr(source_of(each), "encoder", None) for each in (estimator, other))
    if mine != theirs:
        raise AdvisedError(
            "expected estimators of tables that were encoded alike, got others. Each fit decides "
            "on its own columns.",
            "Fit one, and update it with the other table.",
        )
    if estimator.n_features_in_ != other.n_features_in_:
        raise _of_other_features(
            estimator,
            f"expected an estimator with {estimator.n_features_in_} features to merge, got "
            f"one with {other.n_features_in_}.",
        )
    named_alike = same(column_names(estimator), column_names(other))
    if not named_alike or source_of(estimator) != source_of(other):
        raise _of_other_features(
            estimator,
            "expected an estimator with the same feature names and source to merge, got others.",
        )


def _of_other_features(estimator: Any, problem: str) -> ValueError:
    """Return the error for an estimator with other features, or other terms of texts."""
    advice = "Fit both to the same features, in the same order."
    if getattr(source_of(estimator), "tfidf", None) is None:
        return ValueError(f"{problem} {advice}")
    return AdvisedError(f"{problem} Each fit decides on its own terms.", advice)
