"""Solutions from all samples at once, where there are too many features for products of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from narrows.errors import RangeError
from narrows.solve.exact import Centred, occupied
from narrows.solve.scatter import lengths, rule
from narrows.solve.signs import signs_of
from narrows.solve.solution import Classes, Rule, Solution
from narrows.solve.sums import HUGE, TINY, divided

_ROUNDING = 1e-24  # of the mean square: a variance of less is rounding

Find = Callable[..., Solution]


def of_classes(
    X: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: Classes,
    unit: np.ndarray | None,
    ridge_of: Callable[[float], float],
    find: Find,
) -> Solution:
    """Return all directions that a method finds for samples of classes.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        The samples.
    codes, weight : ndarray of shape (n_samples,)
        The number of the class of each, and its weight > 0.
    classes : Classes
        Each has a sample.
    unit : ndarray of shape (n_features,), optional
        What features are divided by.
    ridge_of : callable
        Returns the ridge for samples of a mean squared length.
    find : callable
        Returns the directions, all of them, from `Centred` samples and the ridge.
    """
    X, used, d = divided(X, unit), occupied(X), X.shape[1]
    A = Centred(X if used is None else X[:, used], codes, weight)
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        mean_square = max(A.squares / A.n - A.m @ A.m, 0.0)
        mean_square = min(float(np.ldexp(mean_square, 2 * A.power)), HUGE)
        alpha = min(ridge_of(mean_square), HUGE)
        found = find(A, alpha)
        W, length = found.W, None
        if found.within is not None:
            length = lengths(found, A.n)
            W = W * np.ldexp(length, -A.power)  # the samples are held in other units
        own = unit if unit is None or used is None else unit[used]
        W = divided(W.T, own).T
    _check_range(A, found.values, W, used)
    signs = signs_of(W, own)
    linear: Any = None
    if length is not None:
        coef, intercept = rule(found, A.counts, A.mean @ found.W, found.regresses)
        with np.errstate(over="ignore", invalid="ignore"):
            along = (signs / length)[:, None] * coef
        if np.isfinite(along).all():
            linear = Rule(W * signs @ along, intercept, regresses=found.regresses)
    whole = replace(
        found, W=np.array(W * signs, order="C"), alpha=alpha, classes=classes, rule=linear,
        total=float(found.values[: found.separating].sum()), between=None, within=None,
    )  # fmt: skip
    return _widened(whole, used, d)


def of_targets(
    X: Any, Y: np.ndarray, weight: np.ndarray, unit: np.ndarray | None,
    ridge_of: Callable[[float], float], find: Find,
) -> Solution:  # fmt: skip
    """Return all directions that a method finds for samples with numeric targets.

    Parameters are those of `of_classes`; `find` gets the targets about their means, too.
    """
    X, used, d = divided(X, unit), occupied(X), X.shape[1]
    A = Centred(X if used is None else X[:, used], np.zeros(len(weight), int), weight)
    if A.power or A.weight_power:
        raise RangeError("numbers from 1e-40 to 1e40", f"numbers up to {A.largest:.1e}")
    mean = weight @ Y / weight.sum()
    Y = A.root[:, None] * (Y - mean)
    Y *= np.einsum("ij,ij->j", Y, Y) > _ROUNDING * A.n * mean**2
    squares = float(np.einsum("ij,ij->", Y, Y))
    alpha = ridge_of(max(A.squares - A.n * float(A.m @ A.m), 0.0) / A.n)
    found = find(A, Y, alpha)
    own = unit if unit is None or used is None else unit[used]
    W = np.ascontiguousarray(divided(found.W.T, own).T)
    signs, L = signs_of(W, own), found.values / A.n
    W, loadings = W * signs, signs[:, None] * found.loadings
    centre = signs * (A.mean @ found.W)
    whole = Solution(
        len(W), L, W, rank=len(L), total=squares / A.n,
        rule=Rule(W @ loadings, mean - centre @ loadings), loadings=loadings, centre=centre,
        alpha=alpha,
    )  # fmt: skip
    return _widened(whole, used, d)


def _check_range(A: Centred, values: np.ndarray, W: np.ndarray, used: np.ndarray | None) -> None:
    """Raise RangeError where values or directions are too large or too small for numbers."""
    for what, numbers in (("eigenvalues", values), ("directions", W)):
        size = float(np.abs(numbers).max(initial=0.0))
        if not size <= HUGE or (A.power and size < TINY):
            raise RangeError(
                f"samples whose {what} are between {TINY:.1e} and {HUGE:.1e}",
                f"numbers up to {A.largest:.1e}",
                A.largest_in() if used is None else int(used[A.largest_in()]),
            )


def _widened(found: Solution, used: np.ndarray | None, d: int) -> Solution:
    """Return the solution for d features, of which it has the used ones; the others are 0."""
    if used is None:
        return found

    def wide(narrow: np.ndarray) -> np.ndarray:
        whole = np.zeros((d, narrow.shape[1]))
        whole[used] = narrow
        return whole

    rule = found.rule and replace(found.rule, coef=wide(found.rule.coef))
    return replace(found, n_features=d, W=wide(found.W), rule=rule)
