"""Selection: scores of features by moments, and the features of the best scores.

Each method is a function of moments, or of those of folds, and returns a `Solution`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr

from narrows.criteria import BETWEEN, TOTAL, Criterion, held_out_gain, margin
from narrows.errors import ParameterError, no_samples_have, warn
from narrows.moments.folds import Split, splits
from narrows.moments.moments import Moments
from narrows.solve import columns
from narrows.solve.curve import Curve
from narrows.solve.products import map_on_cores
from narrows.solve.solution import Solution
from narrows.solve.sums import BLOCK, blocks, weighted

BITS = 1e-13  # relative, or in bits: smaller differences are rounding
_WITHIN = 1e-12  # of the variance of a feature: a smaller scatter within the classes is 0
_LEFT = 16 * float(np.finfo(float).eps)  # of all samples, measured from an origin near their mean
_MISSING = 1e-9  # of all samples: a share that is less than no samples by more is not rounding
_ENERGY = 0.8  # by default
CLASSES, TARGETS = "distinguishes the classes", "varies with the targets"  # what features should do


class Scores(NamedTuple):
    """The scores that a criterion gives the features.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        The scores that features are ranked by.
    varies : ndarray of bool of shape (n_features,), optional
        Constant features rank last, whatever their score; all vary if left out.
    gain : ndarray of shape (n_features,), optional
        The quantity that energy is the share of; the scores if left out.
    """

    values: np.ndarray
    varies: np.ndarray | None = None
    gain: np.ndarray | None = None

    @classmethod
    def of_spread(cls, values: np.ndarray, varies: np.ndarray) -> Scores:
        """Return scores of a criterion that is 0, but for rounding, for constant features."""
        return cls(np.where(varies, values, 0.0), varies)


class Size(NamedTuple):
    """How many features to select; at most one is given, and it is `energy` if none is."""

    n_features: Any = None
    energy: float | None = None
    threshold: float | None = None
    per_class: int | None = None


def select(
    scores: Scores,
    size: Size,
    by_class: Callable[[], np.ndarray] | None = None,
    sizes: Any = None,
    what: str | None = CLASSES,
) -> Solution:
    """Return the best features, by the one size that was given, and warn where none is of use.

    Parameters
    ----------
    scores : Scores
        The scores of the features.
    size : Size
        How many to select.
    by_class : callable, optional
        Returns the scores of each class, for `per_class`.
    sizes : Curve, optional
        What held-out samples say of each number of features, for ``n_features="cv"``.
    what : str, optional
        What features should do, for the warning; "" where no targets matter; None for no warning.
    """
    values, varies, gain = scores
    d, order = len(values), columns.rank(values, varies)
    if size.threshold is not None:
        chosen = np.flatnonzero(values >= size.threshold)
    elif size.per_class is not None and by_class is not None:
        best = [columns.rank(of_class, varies)[: size.per_class] for of_class in by_class()]
        chosen = np.unique(best).astype(order.dtype)  # of no class, when there are no samples
    elif size.n_features is not None:
        cv = isinstance(size.n_features, str)
        p = sizes.elbow() if cv else columns.count_wanted(size.n_features, d)
        chosen = np.sort(order[:p])
    else:
        energy = columns.energy_curve((values if gain is None else gain)[order])
        p = columns.count_by_energy(energy, _ENERGY if size.energy is None else size.energy)
        chosen = np.sort(order[:p])
    n_positive = int((values > 0).sum())
    by_energy = size[0] is None and size.threshold is None and size.per_class is None
    if what is not None and not n_positive and (by_energy or not values.any()):
        none = f", but none {what}." if what else "."
        warn(
            "expected a positive score of at least one feature, got none. "
            f"{len(chosen)} of {d} features are selected{none}"
        )
    return Solution(
        d, values, rank=len(chosen), chosen=chosen, order=order, gain=gain, n_positive=n_positive,
        sizes=sizes,
    )  # fmt: skip


def held_out_sizes(
    folds: Sequence[Moments],
    priors: Any,
    score: Callable[[Moments, Any], Scores],
    gain_of: Callable[[Split], np.ndarray],
    what: str = CLASSES,
) -> Curve:
    """Return what the best features of the other folds gain in each fold, by their number.

    Parameters
    ----------
    folds : sequence of Moments
        Those of each fold.
    priors : str, dict or array-like
        Of all classes.
    score : callable
        Returns the scores of moments with some priors.
    gain_of : callable
        Returns what each feature adds to the score of the fold of a split.
    what : str
        What features should do, for a warning.
    """
    check_folds(folds, "n_features")
    curves, weight = [], []
    n_samples = sum(fold.n_samples for fold in folds)
    for split in splits(list(folds), priors):
        check_filled(split.fold, "n_features", n_samples)
        p = priors
        if not isinstance(priors, str):
            given = split.p_others[split.others.counts > 0]
            p = given if given.any() else "empirical"
        values, varies, _ = score(split.others, p)
        curves.append(gain_of(split)[columns.rank(values, varies)].cumsum())
        weight.append(split.fold.n)
    curve = Curve.of_folds(np.array(curves), np.array(weight))
    warn_of_no_held_out_score(curve, what)
    return curve


def warn_of_no_held_out_score(curve: Curve, what: str) -> None:
    """Warn if no number of features has a positive held-out score."""
    if not curve.scores.max() > 0:
        warn(
            "expected a positive held-out score of at least one feature, got none. One feature is "
            f"selected, but none {what} of held-out samples."
        )


def check_folds(folds: Sequence[Moments], what: str) -> None:
    """Raise ParameterError unless there are moments of folds, by which `what` is chosen."""
    if len(folds) < 2:
        raise ParameterError(
            f'expected moments of folds for {what}="cv", got those of all samples. Fit again with '
            f'{what}="cv", or give fit_moments a list, for example [Moments.of(X[k::5], y[k::5]) '
            "for k in range(5)]."
        )


def check_filled(fold: Moments, what: str, n_samples: int) -> None:
    """Raise ValueError unless a fold has samples, by which `what` is chosen."""
    if not fold.n:
        raise ValueError(
            f'expected samples of positive weight in each fold for {what}="cv", got {n_samples} '
            f"samples, and none in one of the folds. Fit to more samples, or set {what} to a "
            "number."
        )


# -- by the scatters ------------------------------------------------------------------------------


def score_by(criterion: Criterion, m: Moments, priors: Any, second: bool = True) -> Scores:
    """Return the diagonal of the matrix of a criterion; of a constant feature it is 0."""
    values = criterion.diagonal(m, priors)
    if not second:  # then the diagonal is exactly 0 for constant features
        return Scores(values)
    return Scores.of_spread(values, m.varying(m.priors(priors)))


def ocfs(folds: list[Moments], m: Moments, priors: Any, size: Size) -> Solution:
    """Select by the scatter of the class means (Yan et al. 2005)."""

    def score(m: Moments, priors: Any) -> Scores:
        return score_by(BETWEEN, m, priors, second=False)

    sizes = held_out_sizes(folds, priors, score, held_out_gain) if size[0] == "cv" else None
    return select(score(m, priors), size, lambda: ocfs_by_class(m, priors), sizes)


def ocfs_by_class(m: Moments, priors: Any) -> np.ndarray:
    """Return p_j (m_jk - m_k)^2 for each class with p_j > 0 and each feature k."""
    p = m.priors(priors)
    rounding, scores = m.rounding(p), np.empty((int((p > 0).sum()), m.n_features))
    for some, D in m.deviations(p):
        D[np.abs(D) <= rounding[some]] = 0.0
        scores[:, some] = p[p > 0, None] * D**2
    return scores


def variance_fs(m: Moments, size: Size) -> Solution:
    """Select by variance."""
    return select(score_by(TOTAL, m, "empirical"), size, what="")


def mmcfs(m: Moments, priors: Any, eps: float, size: Size) -> Solution:
    """Select by the margin s_b - eps s_w."""
    values, varies, _ = score_by(margin(eps), m, priors)
    if size.n_features is not None:
        wanted, gaining = columns.count_wanted(size.n_features, m.n_features), (values > 0).sum()
        if gaining < wanted:
            warn(
                f"expected {wanted} features that gain margin at eps={eps:g}, got {gaining}; the "
                "other selected ones are the rarest features. Use a smaller eps."
            )
            return select(Scores(values, varies), size, what=None)
    return select(Scores(values, varies), size)


def fisher_fs(folds: list[Moments], m: Moments, priors: Any, optimum: str, size: Size) -> Solution:
    """Select by the ratio of the scatters between and within the classes, or of their sums."""
    whole = m

    def score(m: Moments, priors: Any) -> Scores:
        return fisher_scores(m, priors, optimum, size.n_features)

    def gain_of(split: Split) -> np.ndarray:
        gain, p = held_out_gain(split), whole.priors(priors)
        return np.divide(gain, whole.variances(p), out=np.zeros_like(gain), where=whole.varying(p))

    sizes = held_out_sizes(folds, priors, score, gain_of) if size[0] == "cv" else None
    return select(score(m, priors), size, sizes=sizes)


def fisher_scores(m: Moments, priors: Any, optimum: str, n_features: Any) -> Scores:
    """Return s_bk / s_wk, or s_bk - lambda s_wk with the largest ratio lambda of sums."""
    varies, total = m.varying(m.priors(priors)), TOTAL.diagonal(m, priors)
    between = np.minimum(BETWEEN.diagonal(m, priors), total)
    between[~varies] = 0.0
    within = total - between
    within[within <= _WITHIN * total] = 0.0
    if optimum == "score":
        return Scores(_ratio(between, within), varies, _ratio(between, between + within))
    wanted = min(columns.count_wanted(n_features, m.n_features), int(varies.sum()))
    best = columns.best_ratio(between[varies], within[varies], wanted)
    with np.errstate(invalid="ignore"):  # inf * 0
        loss = np.where(within > 0, best * within, 0.0)
    return Scores(between - loss, varies)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b: 0 where a is 0, infinite where only b is 0."""
    return np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=(a > 0) & (b > 0))


# -- by presence: moments behind the map `Presence` ------------------------------------------------

OfTable = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def contingency_fs(
    folds: list[Moments], m: Moments, priors: Any, size: Size, per_class: OfTable,
    combined: OfTable | None = None,
) -> Solution:  # fmt: skip
    """Select by a score of the 2 x 2 tables of each feature and each class.

    `per_class` and `combined` return the scores for each class, and of the features, from the
    probabilities P that a sample has a feature and is of a class, the priors of the classes, of
    shape (n_classes, 1), and the weight of the samples. By default the second are the means.
    """
    of_features = combined or mean_of(per_class)

    def score(m: Moments, priors: Any) -> Scores:
        p, values = m.priors(priors), np.empty(m.n_features)

        def of_block(block: tuple[slice, np.ndarray]) -> None:
            some, P = block
            check_presence(P, p[p > 0, None], m.n)
            values[some] = of_features(with_samples(m, P), p[p > 0, None], m.n)

        map_on_cores(of_block, m.joint(p))
        return Scores.of_spread(values, varying_presence(m, p))

    sizes = None
    if size.n_features == "cv":
        sizes = held_out_sizes(folds, priors, score, held_out_information)
    return select(score(m, priors), size, lambda: by_class(m, priors, per_class), sizes)


def check_presence(P: np.ndarray, p: np.ndarray, n: float) -> None:
    """Raise where a subtraction left a feature in fewer than no samples, or in more than all."""
    odd = P[(P < -_MISSING) | (p + _MISSING < P)]
    if odd.size:
        raise ValueError(no_samples_have(f"a feature in {odd[0] * n:g} samples"))


def with_samples(m: Moments, P: np.ndarray) -> np.ndarray:
    """Return P without what is left of 0 by a subtraction, or by sums from an origin."""
    least = 0.0 if m.origin is None else _LEFT
    return np.where(least < P, P, 0.0) if (P < least).any() else P


def varying_presence(m: Moments, p: np.ndarray) -> np.ndarray:
    """Return which features some, but not all, samples have, of shape (n_features,)."""
    share = m.centre(p)
    return (share > _WITHIN) & (share < 1 - _WITHIN)


def by_class(m: Moments, priors: Any, per_class: OfTable) -> np.ndarray:
    """Return the scores for each class with p_j > 0, of shape (n_classes, n_features)."""
    p = m.priors(priors)
    scores = np.empty((int((p > 0).sum()), m.n_features))
    for some, P in m.joint(p):
        scores[:, some] = per_class(with_samples(m, P), p[p > 0, None], m.n)
    return scores


def held_out_information(split: Split) -> np.ndarray:
    """Return the information in bits that the other folds have about the classes of a fold."""
    gain, n = np.empty(split.fold.n_features), split.others.n
    more = int((split.p_others > 0).sum()) / n if n else 1.0
    p, p_fold = split.p_known[:, None], split.p_fold[split.p_fold > 0, None]

    def score(block: tuple[slice, np.ndarray, np.ndarray, np.ndarray]) -> None:
        some, P, P_fold, total = block
        present = _foreseen(P, total, P_fold, p, more)
        P, P_fold, total = p - P, p_fold - P_fold, 1 - total  # of samples without the feature
        P, total = np.maximum(P, 0.0, out=P), np.maximum(total, 0.0)
        gain[some] = present + _foreseen(P, total, P_fold, p, more)

    map_on_cores(score, split.joint())
    return gain


def _foreseen(
    P: np.ndarray, total: np.ndarray, P_fold: np.ndarray, p: np.ndarray, more: float
) -> np.ndarray:
    """Return sum_j P_fold_j log2(q_j / p_j), with the shares q_j of P + more p.

    A class that P does not know, with p_j = 0, adds nothing.
    """
    shares = P + more * p
    np.divide(shares, p * (total + more), out=shares, where=p > 0)
    shares[p[:, 0] == 0] = 1.0
    return np.multiply(np.log2(shares, out=shares), P_fold, out=shares).sum(axis=0)


def information_gain(P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
    """Return the information in bits that a feature has about the classes."""
    absent = np.maximum(p - P, 0.0)
    with_it, without = P.sum(axis=0), absent.sum(axis=0)
    j, k = np.nonzero(P)  # few classes have a feature; for the others P(absent, c_j) is p_j
    share = p[j, 0]
    bits = _bits(P[j, k], share * with_it[k]) + _bits(absent[j, k], share * without[k])
    others = np.maximum(1 - np.bincount(k, share, len(without)), 0.0)
    surprise = -np.log2(without, out=np.zeros_like(without), where=without > 0)
    return _without_rounding(np.bincount(k, bits, len(without)) + others * surprise)


def information_by_class(P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
    """Return the information in bits that a feature has about each class against all others."""
    absent = np.maximum(p - P, 0.0)
    return _without_rounding(
        sum(
            _bits(part, p * every) + _bits(np.maximum(every - part, 0.0), (1 - p) * every)
            for part, every in ((P, P.sum(axis=0)), (absent, absent.sum(axis=0)))
        )
    )


def chi_squared(P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
    """Return the chi-squared statistic of each feature and each class."""
    present, absent = P.sum(axis=0), np.maximum(p - P, 0.0).sum(axis=0)
    apart = P - p * present
    apart[np.abs(apart) <= BITS * P] = 0.0
    apart = n * apart**2
    margins = p * (1 - p) * (present * absent)
    return np.divide(apart, margins, out=np.zeros_like(apart), where=margins > 0)


def mutual_information(P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
    """Return the pointwise mutual information of each feature and each class."""
    ratio = np.divide(P, p * P.sum(axis=0), out=np.ones_like(P), where=P > 0)
    ratio[np.abs(ratio - 1) <= BITS] = 1.0
    return np.log2(ratio)


def mean_of(per_class: OfTable) -> OfTable:
    """Return the function of the mean of scores of the classes, weighted by the priors."""
    return lambda P, p, n: weighted(p[:, 0], per_class(P, p, n))


def _without_rounding(bits: np.ndarray) -> np.ndarray:
    """Return the information, which is never negative, without rounding."""
    return np.where(bits > BITS, bits, 0.0)


def _bits(part: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return part log2(part / chance), 0 where part is 0."""
    return rel_entr(part, chance) / np.log(2)


def df(m: Moments, size: Size) -> Solution:
    """Select by the number of samples that have a feature."""
    check_presence(m.total / (m.n or 1.0), np.ones(1), m.n)
    return select(Scores(m.total, varying_presence(m, m.priors())), size, what="")


# -- by numbers -----------------------------------------------------------------------------------


def correlation_fs(m: Moments, size: Size) -> Solution:
    """Select by the mean of the squared correlations with the targets that vary."""
    of_targets, scores, variances = m.target_variances, np.zeros(m.n_features), m.variances()
    some = np.flatnonzero(of_targets)
    if len(some):
        found = m.covariances()
        for part in blocks(m.n_features, max(1, BLOCK // len(some))):
            unit = np.where(variances[part] > 0, np.sqrt(variances[part]), np.inf)
            r = found[some, part] / unit / np.sqrt(of_targets[some])[:, None]
            scores[part] = np.minimum(np.mean(r**2, axis=0), 1.0)
    return select(Scores(scores, variances > 0), size, what=TARGETS)
