"""Class priors: how much each class counts in a criterion."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from narrows.solve.errors import ParameterError

_POWERS = {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}


def priors(kind: Any, counts: np.ndarray) -> np.ndarray:
    """p_j, the weight each class gets in a criterion.

    Parameters
    ----------
    kind : {"empirical", "sqrt", "balanced"} or array-like
        p_j proportional to N_j, to N_j^(1/2), to 1, or to the numbers given, one for each class
        of positive weight, in order.
    counts : ndarray of shape (c,)
        N_j.

    Returns
    -------
    p : ndarray of shape (c,)
        Sums to 1; 0 for classes of weight 0.

    Raises
    ------
    ParameterError
        Another word, or numbers that are negative, not finite, all zero, or of another number
        than the classes.
    """
    seen = counts > 0
    p = np.zeros(len(counts))
    if isinstance(kind, str):
        check_word(kind)
        p[seen] = counts[seen] ** _POWERS[kind]
        return p / (p.sum() or 1.0)
    try:
        given = np.asarray(kind, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"priors must be numbers, but {kind!r} came.") from None
    if given.shape != (seen.sum(),):
        raise ParameterError(
            f"priors: one number for each of the {seen.sum()} classes wanted, "
            f"but shape {given.shape} came."
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0) or not given.any():
        raise ParameterError(
            f"priors must be finite, >= 0 and not all 0, but {given.tolist()} came."
        )
    p[seen] = given
    return p / p.sum()


def check_word(kind: str) -> None:
    """Raise ParameterError where `kind` is none of the words."""
    if kind not in _POWERS:
        raise ParameterError(
            f'priors must be "empirical", "sqrt", "balanced" or an array, but {kind!r} came.'
        )


def second_for(kind: Any) -> Literal["total", "class"]:
    """Which second moments variances take: of all rows, or of each class to reweight them."""
    return "total" if isinstance(kind, str) and kind == "empirical" else "class"
