"""Class priors: the weight of each class in a criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np

from narrows.errors import ParameterError

_POWERS = {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}


def priors(kind: Any, counts: np.ndarray) -> np.ndarray:
    """Return p_j, the weight of each class in a criterion.

    Parameters
    ----------
    kind : {"empirical", "sqrt", "balanced"} or array-like
        p_j proportional to N_j, to N_j^(1/2), to 1, or to the given numbers, one for each class
        of positive weight, in order.
    counts : ndarray of shape (n_classes,)
        N_j.

    Returns
    -------
    p : ndarray of shape (n_classes,)
        Sums to 1; 0 for classes of weight 0.

    Raises
    ------
    ParameterError
        Another word, or numbers that are negative, not finite, all zero, or not one for each
        class.
    """
    seen = counts > 0
    p = np.zeros(len(counts))
    if isinstance(kind, str):
        check_word(kind)
        p[seen] = counts[seen] ** _POWERS[kind]
        return p / (p.sum() or 1.0)
    try:
        given = np.asarray(kind, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"ClassStats: expected priors to be numbers, got {kind!r}.") from None
    if given.shape != (seen.sum(),):
        raise ParameterError(
            f"ClassStats: expected priors of shape ({seen.sum()},), one number for each class, "
            f"got shape {given.shape}."
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0) or not given.any():
        raise ParameterError(
            f"ClassStats: expected priors to be finite, >= 0 and not all 0, got {given.tolist()}."
        )
    p[seen] = given
    return p / p.sum()


def by_class(given: Any) -> Mapping[Any, Any] | None:
    """Return priors that are given by class, as a dict or a Series of pandas; None for others."""
    given = given.to_dict() if hasattr(given, "to_dict") else given
    return given if isinstance(given, Mapping) else None


def of_classes(given: Mapping[Any, Any], classes: Sequence[Any]) -> list[float]:
    """Return the priors that a mapping gives for these classes, in their order.

    Text is taken for a label that is printed so, as of JSON, which has no other keys.

    Raises
    ------
    ParameterError
        The mapping lacks a class, or has something else than numbers.
    """
    for label, value in given.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(
                f"ClassStats: expected priors to be numbers, got {value!r} for {label!r}."
            )
    found = [given.get(label, given.get(str(label))) for label in classes]
    if None in found:
        missing = classes[found.index(None)]
        raise ParameterError(
            f"ClassStats: expected priors for each class, got none for {missing!r}. Add it."
        )
    return [float(value) for value in found if value is not None]


def check_word(kind: str) -> None:
    """Raise ParameterError where `kind` is not one of the words."""
    if kind not in _POWERS:
        raise ParameterError(
            'ClassStats: expected priors to be "empirical", "sqrt", "balanced", a dict by class or '
            f"an array, got {kind!r}."
        )


def second_for(kind: Any) -> Literal["total", "class"]:
    """Return the second moments that variances require: by class for other priors."""
    return "total" if isinstance(kind, str) and kind == "empirical" else "class"
