"""The iterations that a `Span` can run, as plain numbers: one of a criterion, and ILDA's."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

Start = Literal["raw", "centred", "unit"]


class Rule(NamedTuple):
    """The iteration of the criterion between S_b + total C + shift I: IOC, IIS, IMMC, CCIPCA.

    Parameters
    ----------
    between, total : float
        Two numbers of the criterion.
    theta : ndarray of shape (n_components,)
        The third, the shift, for each component.
    margin : float
        If > 0, the shift is automatic: theta_j = max(0, -rho_j) + margin tr C, with rho_j the
        running mean (gain 2/n) of v_j'A^j v_j / |v_j|^2.
    deflate : bool
        Shift v_j less its projections on the new v_1 .. v_{j-1}, instead of v_j itself.
    amnesic : float
        CCIPCA's: a sample weighs 1 + amnesic times as much as in a plain mean.
    tol, patience : float
        Stop criterion: the sum of |u_j(n) - u_j(n-1)| over the unit vectors was below tol for
        patience samples in a row. The default tol, 0, switches it off.
    least : int
        Number of classes to be seen before the stop criterion counts.
    stop : bool
        Ignore further samples once the stop criterion holds.
    orthonormal : bool
        Reduce samples by the orthonormalised vectors, the first ones first.
    """

    between: float
    total: float
    theta: np.ndarray
    margin: float = 0.0
    deflate: bool = False
    amnesic: float = 0.0
    tol: float = 0.0
    patience: float = 100.0
    least: int = 2
    stop: bool = False
    orthonormal: bool = False


class ILDARule(NamedTuple):
    """The iteration of ILDA.

    Parameters
    ----------
    eta : float
        The gain; 0 for the default, 5/(n + 20).
    tol, patience, least, stop, orthonormal
        As for `Rule`.
    """

    eta: float
    tol: float = 0.0
    patience: float = 100.0
    least: int = 2
    stop: bool = False
    orthonormal: bool = False
