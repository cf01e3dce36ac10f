"""Projection: orthonormal directions by the scatters of moments.

Each method is a function of moments, and returns a `Solution`.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from narrows.criteria import BETWEEN, TOTAL, Criterion, margin
from narrows.errors import ParameterError, warn
from narrows.moments.folds import splits
from narrows.moments.labels import lacks_classes
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.solutions.choice import choose
from narrows.solutions.selectors import check_folds
from narrows.solve.curve import NO_CURVE, Curve
from narrows.solve.eigen import orthogonal_part
from narrows.solve.exact import Centred, criterion_eigh
from narrows.solve.held_out import EPS_GRID, by_leading
from narrows.solve.scatter import leading
from narrows.solve.solution import Solution
from narrows.solve.sums import divided

_NO_GAIN = 2e-14  # relative to the largest eigenvalue: smaller ones are rounding
_SHARE = 1e-9  # of a share of the variance: rounding


def oc(m: Moments, size: int | None, priors: Any) -> Solution:
    """Return the orthonormal directions of the largest scatter of the class means.

    There are none while there are priors for more classes than have samples.
    """
    if lacks_classes(priors, m.counts):
        return Solution.of_directions(np.zeros(0), np.zeros((m.n_features, 0)), size)
    L, W = BETWEEN.leading(m, priors, size)
    total = float(BETWEEN.diagonal(m, priors).sum()) if len(L) == size else None  # more may be left
    return Solution.of_directions(L, W, size, total=total)


def oc_by_folds(folds: list[Moments], m: Moments, priors: Any) -> Solution:
    """Return as many directions of `oc` as explain held-out class means; all if folds are empty."""
    check_folds(folds, "n_components")
    found = oc(m, None, priors)
    sizes = explained_means(folds, priors, found.rank)
    return found.of_size(sizes)


def explained_means(folds: list[Moments], priors: Any, size: int) -> Curve:
    """Return the scatter of the class means of each fold that others' directions explain.

    Without entries if there are no directions, or no samples in one of the folds.
    """
    curves, weight = [], []
    for split in splits(folds, priors):
        weight.append(split.fold.n)
        if not size or not split.fold.n:
            return NO_CURVE
        p = split.p_fold[split.p_fold > 0]
        _, W = BETWEEN.leading(split.others, split.p_others[split.others.counts > 0], size)
        A = B = np.zeros((len(p), W.shape[1]))
        for columns, others, fold in split.deviations():
            A = A + others @ W[columns]
            B = B + fold @ W[columns]
        explained = np.cumsum(p @ (A * B))
        last = explained[-1:] if len(explained) else np.zeros(1)
        curves.append(np.append(explained, np.repeat(last, size - len(explained))))
    return Curve.of_folds(np.array(curves), np.array(weight))


def ocm(m: Moments, size: int | None, priors: Any) -> Solution:
    """Return directions whose span has all class means, best first; see `oc` for missing ones."""
    if lacks_classes(priors, m.counts):
        return Solution.of_directions(np.zeros(0), np.zeros((m.n_features, 0)), size)
    L, W = BETWEEN.leading(m, priors)
    rest = orthogonal_part(m.centre(m.priors(priors)), W, scale=np.sqrt(L.max(initial=0.0)))
    L, W = np.append(L, np.zeros(rest.shape[1])), np.hstack([W, rest])
    total = float(BETWEEN.diagonal(m, priors).sum()) if len(L) == size else None
    return Solution.of_directions(L, W, size, total=total)


def n_gaining(eigenvalues: np.ndarray) -> int:
    """Return how many directions gain margin."""
    return int((eigenvalues > _NO_GAIN * np.abs(eigenvalues).max(initial=0.0)).sum())


def mmc(
    m: Moments, size: int | None, eps: float | str, unit: np.ndarray | None, decays: bool
) -> Solution:
    """Return the orthonormal directions of the largest margin, S_b - eps S_w."""
    S = m.scatters(unit=unit)
    eps, compared, _ = choose(m, S, "eps", eps, 1.0, decays, EPS_GRID, by_leading)
    L, W = leading(S, 1 + eps, -eps, max(size or 0, len(S.H) - 1))
    return Solution.of_directions(
        L, divided(W.T, unit).T, size, unit=unit, alpha=eps, compared=compared,
        n_positive=n_gaining(L),
    )  # fmt: skip


def mmc_of_samples(A: Centred, eps: float, size: int | None) -> Solution:
    """Return the directions of `mmc`, from all samples at once."""
    L, W = leading_of_samples(A, margin(eps), max(size or 0, len(A.counts) - 1))
    return Solution.of_all(L, W, n_positive=n_gaining(L))


def pca(m: Moments, n_components: Any, unit: np.ndarray | None) -> Solution:
    """Return the principal directions: so many, those of a share of the variance, or all."""
    S = m.scatters(unit=unit)
    share = n_components if isinstance(n_components, Real) and n_components < 1 else None
    size = None if share is not None else n_components
    L, W = leading(S, 0.0, 1.0, len(S.C) if size is None else size)
    found = Solution.of_directions(
        L, divided(W.T, unit).T, size, unit=unit, total=m.mean_square(unit)
    )
    return found if share is None else of_share(found, float(share))


def pca_of_samples(A: Centred, mean_square: float, size: int | None) -> Solution:
    """Return the directions of `pca`, from all samples at once; all if no number is given."""
    if size is None and min(A.shape) > MOST:
        raise ParameterError(
            f"expected n_components for samples that span more than {MOST:,} directions, got None. "
            "Set it to the number of directions needed."
        )
    return Solution.of_all(*leading_of_samples(A, TOTAL, min(A.shape) if size is None else size))


def of_share(found: Solution, share: float) -> Solution:
    """Return the fewest directions that explain more than a share of the variance."""
    shares = np.cumsum(found.explained)
    if not len(shares):
        return found
    p = 1 + int(np.searchsorted(shares, share, side="right"))
    if p > len(shares) and shares[-1] < 1 - _SHARE:  # a fit that found only some
        raise ParameterError(
            f"expected n_components up to {shares[-1]:.3g}, the share of what fit computed, got "
            f"{share}. Call fit again."
        )
    return found.first(min(p, len(shares)))


def sized(found: Solution, n_components: Any, fitted: Any) -> Solution:
    """Return as many of all directions as are asked for.

    Parameters
    ----------
    found : Solution
        Of all samples at once.
    n_components : int, float or None
        The number; a share of the variance, in (0, 1); None for all, of classes one less than them.
    fitted : int, float or None
        What was asked for in `fit`, which may be more than there are.
    """
    if isinstance(n_components, Real) and n_components < 1:
        return of_share(found, float(n_components))
    most, p = found.rank, n_components
    if isinstance(fitted, Integral):
        most = max(most, int(fitted))
    if p is None:
        n_classes = 0 if found.classes is None else int(found.classes.seen.sum())
        p = min(found.rank, n_classes - 1) if n_classes > 1 else found.rank
    if p > most:
        raise ParameterError(
            f"expected n_components<={most}, the number that fit computed, got {p}. Call fit again."
        )
    return found.first(int(p))


def leading_of_samples(A: Centred, criterion: Criterion, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the p leading eigenvectors of a criterion, from all samples at once."""
    L, W, converged = criterion_eigh(A, criterion.between, criterion.total, p)
    if not converged:
        warn(
            "expected Lanczos to find all leading directions, got those from before it was "
            "stopped, and estimates. Standardise the features.",
            ConvergenceWarning,
        )
    return np.ldexp(L, 2 * A.power), W
