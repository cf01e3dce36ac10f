"""One process, which learns the chunks of a data set one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, count, repeat
from typing import Any

from scipy import sparse
from sklearn.base import clone

from narrows.engines.learn import Samples, add_chunks
from narrows.errors import WidthError, features_named
from narrows.methods import plan as plans
from narrows.methods.base import check_alone, fit_learned, has_numbers, plan_of, widen
from narrows.methods.plan import Data
from narrows.solve.sums import widened

Start = tuple[Any, Any, int]  # a step of a plan, its state, and the number of the pass
After = Callable[..., None]  # of step, state and number


def learn(
    estimator: Any,
    chunks: Samples,
    start: Start | None = None,
    after: After = lambda step, state, number: None,
    n_features: int = 0,
) -> tuple[Any, Any] | None:
    """Return the last step of the plan of an estimator, and its state; None without samples.

    Parameters
    ----------
    estimator : narrows estimator
        Its parameters say how; it is not changed.
    chunks : iterable of (X, y) or (X, y, sample_weight)
        Iterated once for each pass that the estimator makes. Sparse chunks may have fewer or more
        features than those before them; what is missing is 0. Dense ones may not.
    start : (step, state, int), optional
        A step and a state to resume from, and the number of the pass in which they were left.
    after : callable, optional
        Called with the step, the state and the number of the pass after each chunk.
    n_features : int
        The least number of features, if more are known to come.
    """
    check_alone(estimator)
    left, state, number = chunks, None, 0  # of the first pass
    with features_named(estimator):
        if start is None:
            following = iter(chunks)
            first = next(following, None)
            if first is None:
                return None
            X, y, *_ = first
            left, width = chain([first], following), max(n_features, X.shape[1])
            data = Data(width, sparse.issparse(X), has_numbers(estimator, y))
            plan = plan_of(estimator, data, "chunks")
        else:
            step, state, number = start
            data = Data(step.n_features(state), numeric=step.numeric)
            plan = plan_of(estimator, data, "chunks")
            plan = replace(plan, passes=(step, *plan.passes[number + 1 :]))
        new, begins = clone(estimator), chain([(left, state)], repeat((chunks, None)))
        passes = zip(count(number), begins, strict=False)

        def add_up(step: Any) -> tuple[Any, Any]:
            number, (samples, state) = next(passes)
            return add_chunks(
                new, step, state, samples, lambda *learned: after(*learned, number), n_features
            )

        return plans.learn(plan, add_up)


def fit(
    estimator: Any,
    chunks: Samples,
    start: Start | None = None,
    after: After = lambda step, state, number: None,
    again: Callable[[int], None] = lambda n_features: None,
) -> Any:
    """Fit an estimator to a data set that comes in chunks, with the checks of `fit`.

    Parameters
    ----------
    estimator : narrows estimator
        Its parameters say how; what it learned before is forgotten.
    chunks : iterable of (X, y) or (X, y, sample_weight)
        As for `learn`. Where there turn out to be too many features for sums of products, they are
        iterated again from the beginning, to gather all samples or to choose features.
    start : (step, state, int), optional
        As for `learn`; `chunks` are then at first what is left of that pass.
    after : callable, optional
        As for `learn`.
    again : callable, optional
        Called with the number of features before chunks are iterated again for that reason, or a
        resumed fit cannot go on. It raises an error where they cannot be iterated.

    Returns
    -------
    estimator : the same, fitted
    """
    try:
        learned, wide = learn(estimator, chunks, start, after), 0
    except WidthError as error:
        wide = error.n_features
        if start is not None:
            again(wide)
            raise
    if wide:  # not above, where the error would keep the chunks open
        with features_named(estimator):
            plan_of(estimator, Data(wide, True), "chunks").passes[0].empty(wide)  # or raise
        again(wide)
        learned = learn(estimator, chunks, None, after, wide)
    if learned is None:
        raise ValueError("expected at least one sample, got none.")
    return fit_learned(estimator, *learned)


def update(estimator: Any, chunks: Samples, after: Callable[[], None] = lambda: None) -> Any:
    """Let a fitted estimator learn a data set that comes in chunks, as `partial_fit` would.

    Sparse samples may have fewer features than the estimator, and more if these have no names.
    `after` is called after each chunk.
    """
    for X, *labels in chunks:
        if sparse.issparse(X):
            if X.shape[1] > estimator.n_features_in_:
                widen(estimator, X.shape[1])
            X = widened(X, estimator.n_features_in_)
        estimator.partial_fit(X, *labels)
        after()
    return estimator
