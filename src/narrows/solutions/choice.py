"""Parameters that kept samples choose: ridges, or what is in their place, and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from narrows.errors import ParameterError
from narrows.moments.moments import Moments
from narrows.solve.curve import NO_CURVE, Curve
from narrows.solve.held_out import GRID, by_components, chosen, curve_of
from narrows.solve.scatter import Scatter

COMPARED = 1000  # kept samples that numbers such as ridges are compared by
KEPT = 2000  # samples, by default
OfKept = Callable[[Any], Any]  # returns samples from what was kept of them


def choose(
    m: Moments,
    S: Scatter,
    what: str,
    value: float | str,
    scale: float,
    decays: bool,
    grid: np.ndarray = GRID,
    by: Callable[..., Any] | None = None,
    of_kept: OfKept | None = None,
) -> tuple[float, Curve, bool]:
    """Return a number, how others compare, and whether regressions predict held-out samples better.

    A word stands for `scale`; "auto" and "cv" for the number of a grid, times `scale`, by which
    kept samples are predicted best.

    Parameters
    ----------
    m : Moments
        The moments.
    S : Scatter
        Their scatter.
    what : str
        The name of the parameter.
    value : float or {"scale", "auto", "cv"}
        Its value.
    scale : float
        What the numbers of the grid are multiplied by.
    decays : bool
        Whether weights are below 1 since they decay. If not, and all are, a ridge is in the unit of
        the largest: it is added to weighted sums.
    grid : ndarray
        The numbers to compare.
    by : callable, optional
        What predicts, for another number than the ridge; see `held_out.chosen`.
    of_kept : callable, optional
        Returns samples from what was kept of them; then outputs of regressions are not compared.
    """
    preset = scale if isinstance(value, str) else float(value)
    if value not in ("auto", "cv"):
        return preset, NO_CURVE, False
    if value == "cv":
        check_kept(m, what)
    counts = m.counts[m.counts > 0]
    held = m.held_out(S, COMPARED, of_kept) if preset and len(counts) > 1 else []
    if not held:
        return preset, NO_CURVE, False
    if by is None and not decays:
        preset *= min(1.0, np.concatenate([part.weight for part in held]).max())
    return chosen(S, counts, held, preset * grid, preset, by, of_kept is None)


def choose_size(m: Moments, S: Scatter, ridge: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the scores and weights of held-out samples, for each number of directions."""
    check_kept(m, "n_components")
    counts = m.counts[m.counts > 0]
    if len(counts) < 2 or not S.C.size:
        return None
    return by_components(S, counts, m.held_out(S), ridge)


def size_curve(scores: tuple[np.ndarray, np.ndarray] | None, rank: int) -> Curve:
    """Return how numbers of directions up to the rank compare."""
    return NO_CURVE if scores is None else curve_of(*scores, rank)


def check_kept(m: Moments, what: str) -> None:
    """Raise ParameterError unless moments have kept samples."""
    if not m.keep:
        raise ParameterError(
            f'expected moments with kept samples for {what}="cv", got some without. Fit again with '
            f'{what}="cv", or use Moments.of(X, y, second="cross", keep={KEPT}) for fit_moments.'
        )
