"""One process, which learns the chunks of a data set one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scipy import sparse

from narrows.engines.learn import learn
from narrows.errors import WidthError, errors_named_after
from narrows.methods.routes import Data, route_of
from narrows.solve.sums import widened


def fit(
    estimator: Any,
    chunks: Iterable[tuple[Any, Any]],
    start: tuple[Any, int] | None = None,
    after: Callable[[Any, int], None] = lambda state, number: None,
    again: Callable[[int], None] = lambda n_features: None,
) -> Any:
    """Fit an estimator to a data set that comes in chunks, with the checks of `fit`.

    Parameters
    ----------
    estimator : narrows estimator
        Its parameters say how; what it learned before is forgotten.
    chunks : iterable of (X, y)
        Iterated once for each pass that the estimator makes. Sparse chunks may have fewer or more
        features than those before them; what is missing is 0. Dense ones may not. Where there turn
        out to be too many features for sums of products, they are iterated again from the
        beginning, to gather all samples.
    start : (state, int), optional
        A state to resume from, and the number of the pass in which it was left; `chunks` are then
        at first what is left of that pass.
    after : callable, optional
        Called with the state and the number of the pass after each chunk.
    again : callable, optional
        Called with the number of features before chunks are iterated again for that reason, or a
        resumed fit cannot go on. It raises an error where they cannot be iterated.

    Returns
    -------
    estimator : the same, fitted
    """
    try:
        state, wide = learn(estimator, chunks, start, after), 0
    except WidthError as error:
        wide = error.n_features
        if start is not None:
            again(wide)
            raise
    if wide:  # not above, where the error would keep the chunks open
        with errors_named_after(estimator):
            empty = route_of(estimator, Data(wide, True), "chunks").empty(wide)
        again(wide)
        state = learn(estimator, chunks, (empty, 0), after)
    if state is None:
        raise ValueError(f"{type(estimator).__name__}: expected at least one sample, got none.")
    return estimator._fit_state(state)


def update(
    estimator: Any,
    chunks: Iterable[tuple[Any, Any]],
    after: Callable[[], None] = lambda: None,
) -> Any:
    """Let a fitted estimator learn a data set that comes in chunks, as `partial_fit` would.

    Sparse samples may have fewer features than the estimator, and more if these have no names.
    """
    for X, y in chunks:
        if sparse.issparse(X):
            if X.shape[1] > estimator.n_features_in_:
                estimator._widen(X.shape[1])
            X = widened(X, estimator.n_features_in_)
        estimator.partial_fit(X, y)
        after()
    return estimator
