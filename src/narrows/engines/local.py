"""One process: the chunks of a data set one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from narrows.solve.sums import widened


def fit(estimator: Any, chunks: Iterable[tuple[Any, Any]]) -> Any:
    """Fit an estimator to a data set that comes in chunks, with the checks of `fit`.

    Parameters
    ----------
    estimator : narrows estimator
        Its parameters say how; what it had learnt before is forgotten.
    chunks : iterable of (X, y)
        Gone through once for each pass that the estimator makes. Later ones may be wider than
        earlier ones; what the earlier ones lack is 0.

    Returns
    -------
    estimator : the same, fitted
    """
    estimator.check_parameters()
    state: Any = None
    for number in range(estimator.passes_in_order()):
        if number:
            estimator.next_pass(state)
        for X, y in chunks:
            if state is None:
                state = estimator.empty_state(X.shape[1])
            elif X.shape[1] > state.n_features:
                state = state.widen(X.shape[1])
            estimator.update_state(state, widened(X, state.n_features), y)
    if state is None:
        raise ValueError(f"{type(estimator).__name__}: there are no rows to fit to.")
    return estimator.fit_state(state)
