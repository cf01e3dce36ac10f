"""Regression of numbers by a few directions, which moments with numeric targets determine.

Each method is a function of moments and of those of folds, and returns a `Solution`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from numbers import Real

import numpy as np

from narrows.errors import ParameterError
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.solutions.selectors import check_filled
from narrows.solve import targets
from narrows.solve.curve import NO_CURVE, Curve
from narrows.solve.exact import Centred
from narrows.solve.held_out import GRID
from narrows.solve.scatter import Scatter, discriminants, of_samples
from narrows.solve.solution import Rule, Solution
from narrows.solve.targets import held_out_shares, pls_of_scatter

COMPARED = 50  # components

# directions of a scatter whose H are the products with the targets: at least as many as a number,
# by a ridge; the last are the sums of squares of the targets
Find = Callable[[Scatter, float, int | None, np.ndarray], Solution]


def pls(
    folds: list[Moments], m: Moments, n_components: int | str, unit: np.ndarray | None
) -> Solution:
    """Return the components of partial least squares, and the regression by them."""

    def find(S: Scatter, ridge: float, most: int | None, squares: np.ndarray) -> Solution:
        return pls_of_scatter(S, most or COMPARED, squares)

    return _regression(folds, m, find, n_components, 0.0, NO_CURVE, unit)


def reduced_rank(
    folds: list[Moments], m: Moments, n_components: int | str | None, alpha: float | str,
    unit: np.ndarray | None,
) -> Solution:  # fmt: skip
    """Return the best directions of the ridge regressions of all targets."""

    find, scale = ridge_directions, ridge_of(alpha, m.mean_square(unit))
    compares = alpha in ("auto", "cv") and bool(scale)
    if not compares or (alpha == "auto" and len(folds) == 1 and not m.keep):
        return _regression(folds, m, find, n_components, scale, NO_CURVE, unit)
    ridges = scale * GRID
    curve = _compare(folds, m, find, "alpha", ridges, unit, alpha == "cv")
    if len(curve.scores):
        scale = float(ridges[int(curve.scores.argmax())])
        curve = replace(curve, values=ridges)
    return _regression(folds, m, find, n_components, scale, curve, unit)


def ridge_directions(S: Scatter, ridge: float, most: int | None, squares: np.ndarray) -> Solution:
    """Return the directions of ridge regressions, by the scatter and products with the targets."""
    return _in_units_of(S.n, discriminants(S, ridge, total=True))


def reduced_rank_of_samples(A: Centred, Y: np.ndarray, ridge: float) -> Solution:
    """Return the same from all samples at once: by LSQR, or inner products of few samples."""
    if A.is_sparse or A.shape[0] > MOST:
        return _in_units_of(A.n, targets.reduced_rank_of_samples(A, Y, ridge))
    S = of_samples(A.X, A.root**2, A.m, A.rmatmat(Y).T)
    return ridge_directions(S, ridge, None, np.zeros(len(S.H)))


def _in_units_of(n: float, found: Solution) -> Solution:
    """Return directions whose reduced samples have a variance of about 1."""
    root, loadings = np.sqrt(n), found.loadings
    if found.between is not None:  # the products with the targets are in the place of class means
        loadings = np.ascontiguousarray(found.between.T)
    return replace(found, W=found.W * root, loadings=loadings / root)


def ridge_of(alpha: float | str, mean_square: float) -> float:
    """Return the ridge for samples of this mean squared length; a word stands for this."""
    return float(alpha) if isinstance(alpha, Real) else mean_square


def _regression(
    folds: list[Moments], m: Moments, find: Find, n_components: int | str | None, ridge: float,
    compared: Curve, unit: np.ndarray | None,
) -> Solution:  # fmt: skip
    """Return as many directions as asked for, or chosen, and the regression by them."""
    p, sizes = None if isinstance(n_components, str) else n_components, NO_CURVE
    if not m.n:
        return Solution.of_directions(np.zeros(0), np.zeros((m.n_features, 0)), p)
    if isinstance(n_components, str):
        sizes = _compare(folds, m, find, "n_components", [ridge], unit, True)
        p = sizes.smallest() if len(sizes.scores) else 1
    variances = m.target_variances
    found = find(m.scatters(unit=unit), ridge, p, variances * m.n).of_features(unit)
    coef = found.W[:, :p] @ found.loadings[:p]
    return Solution.of_directions(
        found.values / m.n, found.W, p, unit=unit, total=float(variances.sum()),
        rule=Rule(coef, m.target_mean - m.mean @ coef), alpha=ridge, compared=compared, sizes=sizes,
    )  # fmt: skip


def _compare(
    folds: list[Moments], m: Moments, find: Find, what: str, ridges: Iterable[float],
    unit: np.ndarray | None, required: bool,
) -> Curve:  # fmt: skip
    """Return how much of held-out folds is explained: by each ridge, or each number for one."""
    if len(folds) == 1 and not m.keep:
        raise ParameterError(
            f'expected moments of folds or with kept samples for {what}="cv", got others. Fit '
            f'again with {what}="cv", or give fit_moments a list of the moments of folds.'
        )
    curves, weight = [], []
    for others, fold in _halves(folds, m):
        if not required and not (fold.n and others.n):
            continue
        for part in (fold, others):
            check_filled(part, what, m.n_samples)
        S, fold_S = others.scatters(unit=unit), fold.scatters(by_samples=False)
        away, off = fold.mean - others.mean, fold.target_mean - others.target_mean
        total = float(np.sum(fold.target_variances + off**2))
        of_others = S.n * others.target_variances
        every = (find(S, ridge, COMPARED, of_others).of_features(unit) for ridge in ridges)
        each = [held_out_shares(fold_S, found, away, off, total) for found in every]
        curves.append(each[0] if len(each) == 1 else [np.append(0.0, one)[-1] for one in each])
        weight.append(fold.n)
    shortest = min(map(len, curves), default=0)
    if not shortest or len(curves) < 2:
        return NO_CURVE
    return Curve.of_folds(np.array([each[:shortest] for each in curves]), np.array(weight))


def _halves(folds: list[Moments], m: Moments) -> Iterator[tuple[Moments, Moments]]:
    """Yield the moments of most samples, and of those that are held out: a fold, or kept ones."""
    if len(folds) == 1:
        yield from m.halves()
        return
    for k, fold in enumerate(folds):
        yield Moments.summed(folds[:k] + folds[k + 1 :]), fold
