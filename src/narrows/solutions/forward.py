"""Forward selection by moments: features in units of their deviations, and the path over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, warn
from narrows.moments.folds import Split, splits
from narrows.moments.moments import Moments
from narrows.solutions.selectors import (
    CLASSES,
    TARGETS,
    check_filled,
    check_folds,
    warn_of_no_held_out_score,
)
from narrows.solve import columns
from narrows.solve.curve import NO_CURVE, Curve
from narrows.solve.forward import Path, forward, held_out_shares
from narrows.solve.scatter import VARIES
from narrows.solve.solution import Solution

RIDGE = 0.01  # of the variance of each feature
_POWER = 0.5  # of the priors, as the weights of classes


class Responses(NamedTuple):
    """What forward selection explains: weighted class indicators, or numbers in standard units.

    Parameters
    ----------
    factor : ndarray of shape (n_responses,)
        What the rows of a root of the scatter between are multiplied by for mean products.
    total : float
        The mean of their squared lengths.
    live : ndarray of bool of shape (n_classes,)
        Which classes have samples.
    share, scale : ndarray of shape (n_responses,)
        The share of the samples that are of each class, and what each response is multiplied by.
    """

    factor: np.ndarray
    total: float
    live: np.ndarray
    share: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_classes(cls, m: Moments, p: np.ndarray) -> Self:
        """Return the indicators of classes with the priors p of shape (n_classes,)."""
        live = m.counts > 0
        share = m.priors()[live]
        scale = p[live] ** ((1 + _POWER) / 2) / share
        total = float(np.sum(scale**2 * share * (1 - share)))
        return cls(np.sqrt(share) * scale, total, live, share, scale)

    @classmethod
    def of_numbers(cls, m: Moments) -> Self:
        """Return numeric targets in units of their standard deviations."""
        variances = m.target_variances
        scale = 1 / np.where(variances > 0, np.sqrt(variances), np.inf)
        live = np.ones(len(scale), bool)
        total = float((scale > 0).sum())
        return cls(scale / np.sqrt(m.n or 1.0), total, live, np.zeros(0), scale)


class Correlated(NamedTuple):
    """The features that vary, in units of their standard deviations.

    Parameters
    ----------
    features : ndarray of int of shape (k,)
        Which of all features they are.
    unit : ndarray of shape (k,)
        Their standard deviations.
    column, block : callable
        Return the correlations of feature j with all, and of some features with each other.
    R : ndarray of shape (k, n_responses)
        The mean products with the responses.
    """

    features: np.ndarray
    unit: np.ndarray
    column: Callable[[int], np.ndarray]
    block: Callable[[np.ndarray], np.ndarray]
    R: np.ndarray

    @classmethod
    def of(cls, m: Moments, responses: Responses, head: np.ndarray) -> Self:
        """Return those of moments, the features of which are these of all features."""
        few = None if m.n_targets else m.few()
        if few is None:
            return cls.of_scatter(m, responses, head)
        return cls.of_samples(m, responses, head, *few)

    @classmethod
    def of_scatter(cls, m: Moments, responses: Responses, head: np.ndarray) -> Self:
        """Return those of moments by their scatter."""
        S = m.scatters(by_samples=False)
        squares = S.C.diagonal()
        at = np.flatnonzero((squares > VARIES * S.noise) & _varying(m))
        size, root = np.sqrt(squares[at]), np.sqrt(S.n or 1.0)
        R = (S.H[:, at] / size).T * responses.factor

        def column(j: int) -> np.ndarray:  # of a lower triangle
            k = at[j]
            found = np.concatenate([S.C[k, :k], S.C[k:, k]])[at] / size / size[j]
            found[j] = 1.0
            return found

        def block(J: np.ndarray) -> np.ndarray:
            k = at[J]
            found: np.ndarray = S.C[np.maximum.outer(k, k), np.minimum.outer(k, k)]
            found = found / size[J] / size[J][:, None]
            np.fill_diagonal(found, 1.0)
            return found

        return cls(head[at], size / root, column, block, R)

    @classmethod
    def of_samples(
        cls, m: Moments, responses: Responses, head: np.ndarray, X: Any, weight: np.ndarray,
        mean: np.ndarray,
    ) -> Self:  # fmt: skip
        """Return those of the samples that moments are of, which have a mean."""
        p = m.priors()
        features = np.flatnonzero(m.varying(p) & _varying(m))
        unit = np.sqrt(m.variances(p)[features])
        D = np.empty((len(responses.share), m.n_features))
        for some, deviation in m.deviations(p):
            D[:, some] = deviation
        by_column = X.tocsc() if sparse.issparse(X) else X
        share = weight / weight.sum()

        def centred(J: np.ndarray) -> np.ndarray:
            x = by_column[:, features[J]]
            return (x.toarray() if sparse.issparse(x) else x) - mean[features[J]]

        def block(J: np.ndarray) -> np.ndarray:
            x = centred(J)
            found: np.ndarray = (share * x.T) @ x / np.outer(unit[J], unit[J])
            np.fill_diagonal(found, 1.0)
            return found

        def column(j: int) -> np.ndarray:
            x = share * centred(np.array([j]))[:, 0]
            cross: np.ndarray = (x @ X - x.sum() * mean)[features] / unit / unit[j]
            cross[j] = 1.0
            return cross

        H = np.sqrt(responses.share)[:, None] * D[:, features] / unit
        return cls(head[features], unit, column, block, H.T * responses.factor)


def _varying(m: Moments) -> np.ndarray:
    """Return which features vary by more than the rounding of their values."""
    found: np.ndarray = np.isfinite(m.units(np.ones(m.n_features, dtype=bool)))
    return found


class Steps(NamedTuple):
    """How a forward selection goes: which features enter together, first, and at most.

    Parameters
    ----------
    n_features : int
        The number of all features.
    ridge : float
        The ridge, in units of the variance of each feature.
    group : ndarray of int of shape (n_features,)
        The number of the group of each feature.
    start : sequence of int
        The groups that are there at the start.
    """

    n_features: int
    ridge: float
    group: np.ndarray
    start: Sequence[int]

    @property
    def most(self) -> int:
        """The number of groups."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def started(self) -> np.ndarray:
        """The features of the groups at the start."""
        return np.flatnonzero(np.isin(self.group, self.start))

    def path(self, found: Correlated, n_steps: int) -> Path:
        """Return the path over the features that vary."""
        group, groups = self.group[found.features], None
        live, code = np.unique(group, return_inverse=True)
        if len(live) < len(group):
            order = np.argsort(code, kind="stable")
            groups = np.split(order, np.cumsum(np.bincount(code))[:-1])
        start = np.searchsorted(live, [g for g in self.start if g in live]).tolist()
        return forward(found.column, found.block, found.R, n_steps, self.ridge, groups, start)


def responses_of(m: Moments, priors: Any) -> Responses:
    """Return what forward selection explains of moments."""
    return Responses.of_numbers(m) if m.n_targets else Responses.of_classes(m, m.priors(priors))


def forward_fs(
    folds: list[Moments], m: Moments, priors: Any, steps: Steps, n_steps: int, cv: bool,
    head: np.ndarray, said: bool,
) -> Solution:  # fmt: skip
    """Select the features that add most to a ridge regression of the responses, one by one.

    Parameters
    ----------
    folds, m : Moments
        Those of each fold, and of all.
    priors : str, dict or array-like
        Of the classes.
    steps : Steps
        Which features enter together, and first.
    n_steps : int
        How many steps to make, or to compare.
    cv : bool
        Whether folds choose the number of steps.
    head : ndarray of int
        Which of all features the moments are of.
    said : bool
        Whether the number was asked for, so that there is a warning where fewer features vary.
    """
    sizes, d, what = NO_CURVE, steps.n_features, TARGETS if m.n_targets else CLASSES
    if cv and m.n:
        sizes = compare_steps(folds, priors, steps, n_steps, what)
        n_steps = max(sizes.smallest() if sizes.scores.size else 1, len(steps.start))
    responses = responses_of(m, priors)
    found = Correlated.of(m, responses, head)
    path = steps.path(found, n_steps)
    chosen = found.features[path.order]
    scores, left = np.zeros(d), np.full(d, -1.0)
    scores[chosen] = np.repeat(path.gains, np.diff(path.ends, prepend=0))
    left[found.features] = path.left
    rest, n_positive = columns.rank(left), int((scores > 0).sum())
    order = np.concatenate([chosen, rest[~np.isin(rest, chosen)]])
    if 0 < len(path.gains) < n_steps and said:
        warn(f"expected {n_steps} features that vary, got {len(chosen)}, which are selected.")
    elif len(chosen) and not n_positive and not scores.any():
        warn(
            "expected a positive score of at least one feature, got none. "
            f"{len(chosen)} of {d} features are selected, but none {what}."
        )
    return Solution(
        d, scores, rank=len(chosen), total=responses.total, chosen=np.sort(chosen), order=order,
        gains=path.gains, ends=path.ends, n_positive=n_positive, sizes=sizes,
    )  # fmt: skip


def compare_steps(folds: list[Moments], priors: Any, steps: Steps, most: int, what: str) -> Curve:
    """Return how each number of steps does on held-out folds."""
    check_folds(folds, "n_features")
    curves, weight, n_samples = [], [], sum(fold.n_samples for fold in folds)
    for fold, found, share_of in _halves(folds, priors, steps.n_features):
        check_filled(fold, "n_features", n_samples)
        curves.append(share_of(steps.path(found, most)))
        weight.append(fold.n)
    shortest = min(map(len, curves))
    if not shortest:  # no feature varies
        return NO_CURVE
    curve = Curve.of_folds(np.array([each[:shortest] for each in curves]), np.array(weight))
    warn_of_no_held_out_score(curve, what)
    return curve


def _halves(
    folds: list[Moments], priors: Any, d: int
) -> Iterator[tuple[Moments, Correlated, Callable[[Path], np.ndarray]]]:
    """Yield each fold, the features of the others, and a function: what a path explains of it."""
    every = np.arange(d)
    if not folds[0].n_targets:
        for split in splits(folds, priors):
            responses = Responses.of_classes(split.others, split.p_others)
            found = Correlated.of(split.others, responses, every)
            yield split.fold, found, lambda path: _share_of_classes(split, responses, found, path)  # noqa: B023
        return
    for k, fold in enumerate(folds):
        others = Moments.summed(folds[:k] + folds[k + 1 :])
        responses = Responses.of_numbers(others)
        found = Correlated.of(others, responses, every)
        yield fold, found, lambda path: _share_of_numbers(others, fold, responses, found, path)  # noqa: B023


def _share_of_classes(
    split: Split, responses: Responses, found: Correlated, path: Path
) -> np.ndarray:
    """Return the share of the indicators of a fold that each step of a path explains."""
    others, fold = split.others, split.fold
    at, unit = found.features[path.order], found.unit[path.order]
    share, live = fold.priors()[responses.live], responses.live
    means = np.where(share[:, None] > 0, fold.means[live][:, at] - others.mean[at], 0.0)
    away = (fold.mean - others.mean)[at] / unit
    K = ((means / unit).T * share - np.outer(away, responses.share)) * responses.scale
    total = responses.scale**2 @ (share * (1 - 2 * responses.share) + responses.share**2)
    C = _products(fold, at) / np.outer(unit, unit)
    return held_out_shares(path, C + np.outer(away, away), K, float(total) or 1.0)


def _share_of_numbers(
    others: Moments, fold: Moments, responses: Responses, found: Correlated, path: Path
) -> np.ndarray:
    """Return the share of the targets of a fold that each step of a path explains."""
    at, unit = found.features[path.order], found.unit[path.order]
    away = (fold.mean - others.mean)[at] / unit
    off = (fold.target_mean - others.target_mean) * responses.scale
    H = fold.scatters(by_samples=False).H
    K = (H[:, at] / fold.n / unit).T * responses.scale
    total = float(np.sum(fold.target_variances * responses.scale**2 + off**2))
    C = _products(fold, at) / np.outer(unit, unit)
    return held_out_shares(path, C + np.outer(away, away), K + np.outer(away, off), total or 1.0)


def _products(fold: Moments, at: np.ndarray) -> np.ndarray:
    """Return the covariances of some features."""
    low, high = np.minimum.outer(at, at), np.maximum.outer(at, at)
    found: np.ndarray = fold.scatters(by_samples=False).C[high, low] / fold.n
    return found


# -- candidates, where there are too many features -------------------------------------------------


def best_of_samples(
    m: Moments, X: Any, weight: np.ndarray, priors: Any, steps: Steps, n_steps: int
) -> np.ndarray:
    """Return the features that are selected from all those of samples at hand, of these moments."""
    responses = Responses.of_classes(m, m.priors(priors))
    X = X.astype(np.float64, copy=False)
    found = Correlated.of_samples(m, responses, np.arange(steps.n_features), X, weight, m.mean)
    return found.features[steps.path(found, n_steps).order]


def candidates(
    first: np.ndarray, ranked: np.ndarray, steps: Steps, room: int, most: int
) -> np.ndarray:
    """Return the features of the best groups: the `first` ones, and then those ranked best.

    They are as many as fit into `room`, and fewer than `most`.
    """
    best = list(dict.fromkeys(steps.group[[*first, *ranked]].tolist()))
    ends = np.cumsum(np.bincount(steps.group)[best])
    n_first = len(np.unique(steps.group[first]))
    n_groups = max(n_first, int(np.searchsorted(ends, room, "right")), 1)
    if ends[n_groups - 1] >= most:
        raise ParameterError(
            f"expected groups of fewer than {most:,} features with more than {most:,} features, "
            f"got {ends[n_groups - 1]:,} in {n_groups}. Use smaller groups, or fewer."
        )
    return np.flatnonzero(np.isin(steps.group, best[:n_groups]))
