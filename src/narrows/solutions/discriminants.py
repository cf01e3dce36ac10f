"""Discriminants: directions that separate classes, and the classifiers by them.

Each method is a function of moments, and returns a `Solution`; those that need all samples return
all directions for `at_once.of_classes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from narrows.errors import ParameterError, RangeError
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.solutions.choice import OfKept, choose, choose_size, size_curve
from narrows.solve.eigen import DROPPED, best_ratios, row_basis
from narrows.solve.exact import (
    Centred,
    by_discriminant_power,
    lsqr_regressions,
    total_space,
    with_scatters,
)
from narrows.solve.held_out import probable
from narrows.solve.kernel_map import AboutMean
from narrows.solve.scatter import (
    Scatter,
    continued,
    discriminants,
    discriminants_of_span,
    lengths,
    rank_within,
    rule,
)
from narrows.solve.solution import Rule, Solution

_LARGEST = 1e100  # of ridges beside which the data would be rounding
_SMALLEST_MU = 1e-250  # in the units of the scaled data: below, mu and its inverse are lost
_ROUNDING = 1e-12  # relative: smaller differences of the class means are rounding
_ACCURATE = 1e-11  # of the sum of squares: with a smaller mu the SVD has more digits

Find = Callable[[Scatter, float], Solution]  # directions of a scatter, with a ridge


def srda(
    m: Moments, n_components: Any, alpha: float | str, unit: np.ndarray | None, decays: bool
) -> Solution:
    """Return the directions of regularised discriminant analysis, and the classifier by them."""

    def find(S: Scatter, ridge: float) -> Solution:
        return discriminants(S, ridge, total=True, overwrite=True)

    S, scale = m.scatters(unit=unit), m.mean_square(unit)
    return _discriminant(m, S, find, n_components, "alpha", alpha, scale, decays)


def lda(
    m: Moments, n_components: Any, mu: float | str, unit: np.ndarray | None, decays: bool
) -> Solution:
    """Return discriminants by the scatter within the classes, also more than classes - 1."""
    size = n_components if isinstance(n_components, int | np.integer) else 0

    def find(S: Scatter, ridge: float) -> Solution:
        if ridge:
            directions = discriminants(S, ridge)
        else:
            of_span = S.spanned(ridge=False)
            rank = rank_within(of_span)
            if rank < len(of_span.C):
                raise _singular(rank, len(of_span.C))
            directions = discriminants_of_span(of_span, ridge)
        return continued(S, directions, directions.alpha, int(size))

    S, scale = m.scatters(unit=unit), m.mean_square(unit)
    return _discriminant(m, S, find, n_components, "mu", mu, scale, decays)


def kernel_srda(
    m: Moments, map: Any, size: int | None, alpha: float | str, decays: bool
) -> Solution:
    """Return the directions of `srda` for coordinates of samples behind a kernel map.

    The moments are those of the coordinates, and the kept samples are those before the map.
    """

    def find(S: Scatter, ridge: float) -> Solution:
        p = size or 0
        return continued(S, discriminants(S, ridge, total=True, overwrite=not p), ridge, p)

    found = _discriminant(
        m, m.scatters(), find, size, "alpha", alpha, m.mean_square(), decays, map.coordinates,
        regresses=map.n_features > m.n_samples,
    )  # fmt: skip
    return behind(found, map, m.mean)


def behind(found: Solution, map: Any, mean: np.ndarray) -> Solution:
    """Return the solution for samples, of one for coordinates, less their mean."""
    linear = found.rule and replace(
        found.rule, intercept=found.rule.intercept + mean @ found.rule.coef
    )
    return replace(found, n_features=map.n_features, map=AboutMean(map, mean), rule=linear)


def _discriminant(
    m: Moments, S: Scatter, find: Find, n_components: Any, what: str, value: float | str,
    scale: float, decays: bool, of_kept: OfKept | None = None, regresses: bool = False,
) -> Solution:  # fmt: skip
    """Return the solution of a scatter with the ridge, and as many directions, as are asked for.

    The ridge has the name `what` and the given value; see `choose`. With a given number, classes
    are predicted by regressions if `regresses`.
    """
    cv = isinstance(n_components, str)
    ridge, compared, better = choose(m, S, what, value, scale, decays, of_kept=of_kept)
    regresses = better if value in ("auto", "cv") else regresses
    scores = choose_size(m, S, ridge) if cv else None
    directions = find(S, ridge).of_features(S.unit)  # may change S
    W, found = directions.W, None
    if directions.within is not None:
        coef, intercept = rule(directions, m.counts[m.counts > 0], m.mean @ W, regresses)
        found = Rule(W @ coef, intercept, temperature=0.0, regresses=regresses)
        W = W * lengths(directions, S.n)
    best = Solution.of_directions(
        directions.values, W, None if cv else n_components, unit=S.unit,
        separating=directions.separating, rule=found,
        alpha=directions.alpha, compared=compared,
    )  # fmt: skip
    return best.of_size(size_curve(scores, best.rank)) if cv else best


def calibrated(
    m: Moments, found: Solution, unit: np.ndarray | None, of_kept: OfKept | None = None
) -> Solution:
    """Return a solution whose rule has the probabilities that held-out samples determine."""
    rule, counts = found.rule, m.counts[m.counts > 0]
    if rule is None:
        return found
    if len(counts) > 1:
        S = m.scatters(unit=unit)
        held = m.held_out(S, None, of_kept)
        rule = probable(rule, S, counts, held, found.alpha, found.is_chosen)
    return replace(found, rule=replace(rule, temperature=rule.temperature or 1.0))


# -- all samples at once ---------------------------------------------------------------------------


def srda_of_samples(A: Centred, ridge: float, solver: str, max_iter: int, tol: float) -> Solution:
    """Return the directions of `srda`, by LSQR or from the inner products of few samples."""
    alpha = min(A.scaled(ridge), _LARGEST)  # a larger one gives the same directions
    if not A.is_sparse and solver == "auto" and A.shape[0] <= MOST:
        return discriminants(A.scatter(), alpha, total=True, overwrite=True)
    W, n_iter = lsqr_regressions(A, alpha, max_iter, tol)
    return replace(by_discriminant_power(A, W, alpha), n_iter=max(1, n_iter))


def lda_of_samples(
    A: Centred, ridge: float, size: int, solver: str, given: Any, pca_components: int | None
) -> Solution:
    """Return the directions of `lda`, or of its forms by singular values.

    Parameters
    ----------
    A : Centred
        The samples.
    ridge : float
        mu; it matters for ``solver="regularized"`` only.
    size : int
        How many directions are asked for at least; 0 for those that separate the classes.
    solver, given, pca_components
        Parameters of the estimator; `given` is its `mu`.
    """
    mu, n = 0.0, A.shape[0]
    if solver == "regularized":
        mu = A.scaled(ridge)
        if ridge and not _SMALLEST_MU < mu < 1 / _SMALLEST_MU:
            raise RangeError(
                f"samples whose scatter is of a magnitude comparable to mu={ridge:g}",
                f"values up to {A.largest:.1e}",
                A.largest_in(),
                "Scale the data, or mu by their squared scale.",
            )
    if n <= MOST and mu > _ACCURATE * A.squares:
        S = A.scatter()
        directions = discriminants(S, mu)
        return continued(S, directions, directions.alpha, size)
    if A.is_sparse:
        most = f" of at most {MOST:,} features or samples, with mu > 0"
        raise ParameterError(
            f'expected sparse data for solver="regularized"{most}, got {n:,} samples of '
            f"{A.shape[1]:,} features, solver={solver!r} and mu={given!r}. Use SRDA, which solves "
            "LDA by regression."
        )
    directions = with_scatters(A, *_by_svd(A, mu, solver, pca_components), mu)
    found = len(directions.values)
    if solver != "regularized" or size <= found:
        return directions
    if n > MOST:
        raise ParameterError(
            f"expected n_components<={found} for more than {MOST:,} samples of more than {MOST:,} "
            f"features, got {size}, {n:,} and {A.shape[1]:,}. Use fewer components, or select "
            "features first."
        )
    return continued(A.scatter(), directions, mu, size)


def _by_svd(
    A: Centred, mu: float, solver: str, pca_components: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ratios and directions from singular values: no scatter costs digits."""
    n, given = A.shape[0], mu or (solver == "pca" and pca_components is not None)
    Q, s, H, F, noise = total_space(A, equal=not given)
    if solver == "regularized":
        rank = len(s) if mu else row_basis(F, n, noise).shape[1]
        if rank < len(s):
            raise _singular(rank, len(s))
    elif solver == "pca":
        P, size = _components_within(row_basis(F, n, noise), pca_components), np.linalg.norm(H)
        Q, H, F = Q @ P, H @ P, F @ P
        if np.linalg.norm(H) <= _ROUNDING * size:
            raise ValueError(
                "expected class means that differ in the principal components used, got equal "
                'ones. Use solver="regularized" or "gsvd".'
            )
    else:
        F = np.diag(s)
    ratios, V = best_ratios(H, F, mu, n, noise)
    found = int((ratios > DROPPED * ratios.max(initial=0.0)).sum())
    return ratios[:found], Q @ V[:, :found]


def _components_within(within: np.ndarray, r: int | None) -> np.ndarray:
    """Return the components of "pca" in the coordinates of all components of X - m."""
    t, most = within.shape
    if not most:
        raise ValueError(
            'expected scatter within the classes for solver="pca", got equal samples in each '
            'class. Use solver="regularized" or "gsvd".'
        )
    if r is not None and r > most:
        raise ParameterError(
            f"expected pca_components<={most}, since the scatter within the classes is singular on "
            f"more components, got {r}."
        )
    return within if r is None else np.eye(t, r)


def _singular(rank: int, of: int) -> ParameterError:
    return ParameterError(
        "expected mu > 0, since the scatter within the classes is singular, of rank "
        f"{rank}, and the samples span {of} directions; got mu=0. Use mu > 0 or "
        'solver="gsvd".'
    )
