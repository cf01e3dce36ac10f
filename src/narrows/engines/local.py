"""One process: the chunks of a data set one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from narrows.stats import ClassStats


def fit(estimator: Any, chunks: Iterable[tuple[Any, Any]]) -> Any:
    """Fit an estimator to a data set that comes in chunks, with the checks of `fit`.

    Parameters
    ----------
    estimator : narrows estimator
        Its parameters say how; what it had learnt before is forgotten.
    chunks : iterable of (X, y)
        Later ones may be wider than earlier ones; what the earlier ones lack is 0.

    Returns
    -------
    estimator : the same, fitted
    """
    estimator.check_parameters()
    stats: ClassStats | None = None
    for X, y in chunks:
        if stats is None:
            stats = estimator.empty_stats(X.shape[1])
        elif X.shape[1] > stats.n_features:
            stats = stats.widen(X.shape[1])
        estimator.update_stats(stats, X, y)
    if stats is None:
        raise ValueError(f"{type(estimator).__name__}: there are no rows to fit to.")
    return estimator.fit_stats(stats)
