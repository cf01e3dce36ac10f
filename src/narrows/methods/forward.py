"""Forward selection: features that complement each other, by the criterion of SRDA."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, warn
from narrows.methods.base import read_only
from narrows.methods.cross import emptied
from narrows.methods.parameters import (
    CV,
    FOLDS,
    Constraint,
    check_filled,
    check_folds,
    is_cv,
    is_integer,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.routes import InBands
from narrows.methods.selector import SHARE, Selector, warn_of_no_held_out_score
from narrows.solve import columns
from narrows.solve.forward import Path, forward, held_out_shares
from narrows.solve.held_out import NO_CURVE, Curve
from narrows.state.class_stats import ClassStats, Second
from narrows.state.cross import MOST
from narrows.state.halves import Halves
from narrows.state.labels import indicator
from narrows.state.mapped import Mapped
from narrows.state.maps import Bands, most_scattered

N_FEATURES = 10  # by default; all where there are fewer
RIDGE = 0.01  # of the variance of each feature
_POWER = 0.5  # of the priors, as the weights of classes
_LONGEST = 200  # features that "cv" compares
_DIGITS = re.compile("[0-9]{1,15}")  # of an index


class Targets(NamedTuple):
    """The class indicators, weighted and less their mean, of the classes that have samples.

    Parameters
    ----------
    live : ndarray of bool of shape (n_classes,)
        Which classes of the state have samples.
    share : ndarray of shape (n_live,)
        The share of the samples that are of each.
    scale : ndarray of shape (n_live,)
        What each indicator is multiplied by.
    """

    live: np.ndarray
    share: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats, p: np.ndarray) -> Self:
        """Return those of a state, with priors p of shape (n_classes,)."""
        live = stats.counts > 0
        share = stats.priors()[live]
        return cls(live, share, p[live] ** ((1 + _POWER) / 2) / share)

    @property
    def total(self) -> float:
        """The mean of their squared lengths."""
        return float(np.sum(self.scale**2 * self.share * (1 - self.share)))

    def products(self, D: np.ndarray) -> np.ndarray:
        """Return the mean of x t', from the class means less the mean, of shape (n_live, k)."""
        found: np.ndarray = D.T * (self.share * self.scale)
        return found


class Correlated(NamedTuple):
    """The features that vary, in units of their standard deviations.

    Parameters
    ----------
    features : ndarray of int of shape (k,)
        Which of all features they are.
    unit : ndarray of shape (k,)
        Their standard deviations.
    column : callable
        Returns column j of their correlations.
    R : ndarray of shape (k, n_targets)
        Their products with the targets.
    """

    features: np.ndarray
    unit: np.ndarray
    column: Callable[[int], np.ndarray]
    R: np.ndarray

    @classmethod
    def of_sums(cls, stats: ClassStats, targets: Targets, head: np.ndarray) -> Self:
        """Return those of a state, the first features of which are these of all features."""
        S, varies, size = stats.scatters(by_samples=False).equilibrated()
        features = head[varies[: len(head)]]
        k = len(features)
        D = S.H[:, :k] / np.sqrt(targets.share)[:, None]

        def column(j: int) -> np.ndarray:  # of a lower triangle
            found: np.ndarray = np.concatenate([S.C[j, :j], S.C[j:k, j]])
            return found

        return cls(features, size[:k] / np.sqrt(stats.n), column, targets.products(D))

    @classmethod
    def of_rows(cls, stats: ClassStats, targets: Targets, X: Any, weight: np.ndarray) -> Self:
        """Return those of samples at hand, of which a state has sums and sums of squares."""
        p = stats.priors()
        features = np.flatnonzero(stats.varying(p))
        unit, m = np.sqrt(stats.variances(p)[features]), stats.mean
        D = np.empty((len(targets.share), stats.n_features))
        for some, block in stats.deviations(p):
            D[:, some] = block
        by_column = X.tocsc() if sparse.issparse(X) else X
        share = weight / weight.sum()

        def column(j: int) -> np.ndarray:
            k = features[j]
            x = by_column[:, [k]]
            x = share * ((x.toarray() if sparse.issparse(x) else x)[:, 0] - m[k])
            cross: np.ndarray = (x @ X - x.sum() * m)[features] / unit / unit[j]
            cross[j] = 1.0
            return cross

        return cls(features, unit, column, targets.products(D[:, features] / unit))


class Steps:
    """The steps of a forward selection, over all features.

    Parameters
    ----------
    path : Path
        Over the features `varying`.
    varying : ndarray of int
        The features that can be chosen.
    n_features : int
        The number of all features.
    total : float
        The mean squared length of the targets.
    held_out : Curve
        How each number of steps does on held-out folds.
    """

    by_energy = False

    def __init__(
        self, path: Path, varying: np.ndarray, n_features: int, total: float, held_out: Curve
    ):
        self.held_out, self.total, self.steps = held_out, total, path.gains
        self.ends = path.ends
        chosen = varying[path.order]
        self.scores, self.mask = np.zeros(n_features), np.zeros(n_features, dtype=bool)
        self.scores[varying] = path.left
        self.scores[chosen] = np.repeat(path.gains, np.diff(path.ends, prepend=0))
        self.mask[chosen] = True
        can_be = np.zeros(n_features, dtype=bool)
        can_be[varying] = True
        rest = columns.rank(self.scores, can_be)
        self.order = np.concatenate([chosen, rest[~self.mask[rest]]])
        self.size, self.n_positive = len(chosen), int((self.scores > 0).sum())

    @cached_property
    def energy(self) -> np.ndarray:
        """The share of the sum of the scores that the first features have."""
        return columns.energy_curve(self.scores[self.order])

    @property
    def explained(self) -> np.ndarray:
        """The entry of the gain curve for each of the selected features, in their order."""
        return np.repeat(self.gain_curve, np.diff(self.ends, prepend=0))

    @cached_property
    def gain_curve(self) -> np.ndarray:
        """The share of the targets that the features of the first steps explain."""
        return np.cumsum(self.steps) / (self.total or 1.0)


class Candidates(InBands):
    """Two passes: sums that tell which features are candidates, and their cross products.

    Of samples in memory all features are candidates: the steps need only the columns of the cross
    products that they choose.
    """

    def of_samples(self, X: Any, y: Any, sample_weight: Any) -> Mapped:
        """Return the state of samples in memory."""
        first = self.empty(X.shape[1])
        self.estimator._update_state(first, X, y, sample_weight, check_input=False)
        self.estimator._check_two_classes(first)
        state = Mapped.empty(self.estimator._map_of(first, (X, y, sample_weight)), 0)
        self.estimator._update_state(state, X, y, sample_weight, check_input=False)
        return state


@parameters
class ForwardFS(Selector):
    """Forward selection of features that complement each other.

    ::

        criterion   maximise sum_j a_j R^2_j, the shares of the class indicators, weighted by a_j,
                    that a ridge regression on the selected features explains
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    one feature after another; each is the best one beside those before it

    It is the criterion of `SRDA`, with W restricted to single features. A selector that scores each
    feature alone takes many copies of the same feature; here a feature scores by what it adds.
    With the correlations C of the features and R the products of the features, in units of their
    standard deviations, with the class indicators, times p_j^(1/4) N_j/n, step k selects the
    feature with the largest

        gain = |R_i|^2 / A_ii,   A = C + ridge I,

    and sweeps it out of R and A, a step of a Cholesky factorisation. A feature that the selected
    ones determine comes after all others; constant features are never selected. Units of features
    do not matter.

    Parameters
    ----------
    n_features : int, float or "cv", default=10
        Number of features to select, with those of `start`, or a fraction of them in (0, 1]
        (rounded down, at least 1). The default is all features where there are fewer. "cv" chooses
        the smallest number, up to 200, whose held-out score is within one standard error of the
        best. One pass computes five folds; the state is five times as large. With `groups`, the
        number of groups.
    {priors}
    ridge : float or "auto", default="auto"
        The ridge, relative to the variance of each feature. "auto" is 0.01.
    head : int, default=3000
        With more than 8,192 features in files, on clusters, and in later batches: how many features
        are candidates. They are those with the largest scores of `OCFS` in a first pass.
    {half_life}
    start : sequence of int or str, optional
        Indices or names of features that are selected first, in this order, such as those that are
        measured anyway. With `groups`, their whole groups. Fits to files, tables and single cells
        replace names by indices.
    groups : array-like of shape (n_features,), optional
        A label for each feature. Features with the same label are selected together, by the gain of
        all of them, such as the columns that one categorical column became.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The gain of each selected feature (or of its group) when it was selected, and of each other
        feature if it were the next.
    ranking_ : ndarray of shape (n_features,)
        Feature indices: the selected ones in the order of selection, then the others by score. Ties
        go to the lower index; constant features come last.
    gain_curve_ : ndarray of shape (n_steps,)
        Entry k - 1 is the share, from 0 to 1, of the variance of the weighted class indicators that
        the features of the first k steps explain.
    {energy_}
    held_out_scores_, held_out_errors_ : ndarray of shape (n_steps,)
        With ``n_features="cv"``: entry k - 1 is the share of the variance of the indicators of a
        held-out fold that the regression on the first k features of the other folds explains, and
        its standard error; else empty.
    n_features_, n_positive_ : int
        Number of selected features, and of features with a positive score.
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_features exceeds the number
        of features (or groups), `start` has unknown names, `groups` has another length, no feature
        varies, or there are fewer than five samples, or more than 8,192 features, for "cv".

    See Also
    --------
    OCFS : Selection of each feature by itself, for any number of features.
    FisherFS : The same, by the ratio of the scatters.
    SRDA : Projection by the same criterion.
    sklearn.feature_selection.SequentialFeatureSelector : Forward selection for any classifier.

    Notes
    -----
    **Cost** for d features, c classes and k selected features: O(n d^2) per batch, O(d^2) per merge
    and O(d k (k + c)) for the selection; memory 8 d^2 bytes. With more than 8,192 features: of
    samples in memory O(nnz k), in files two passes.

    For the empirical priors p_j = N_j / n the weights are a_j = p_j^(-1/2), between equal weights
    of all samples (a_j = 1) and of all classes (a_j = 1 / p_j).

    References
    ----------
    M. A. Efroymson, "Multiple regression analysis", in Mathematical Methods for Digital Computers,
    Wiley, 1960: stepwise regression. The weights, the state and the groups are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import ForwardFS
    >>> X, y = load_digits(return_X_y=True)
    >>> selector = ForwardFS(n_features=4).fit(X, y)
    >>> selector.ranking_[:4].tolist()
    [42, 21, 43, 26]
    >>> selector.gain_curve_.round(2).tolist()
    [0.07, 0.13, 0.17, 0.21]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_features": (whole(1) | SHARE | CV).said(
            "an integer >= 1, or a fraction in (0, 1] of the features", 'a number or "cv"'
        ),
        "ridge": word("auto") | real(0, 1e6),
        "head": whole(1, MOST - 1),
    }
    _state_type: ClassVar[Any] = (ClassStats, Mapped)
    _only_route: ClassVar[Any] = None
    _wide: ClassVar[Any] = Candidates
    _of_map = "was fitted to more than 8,192 features"
    _instead = "fit, which reads the samples twice, or OCFS, which has sums for any number"
    _kept = 0
    emptied = emptied

    n_features: int | float | str = N_FEATURES
    priors: Any = "empirical"
    ridge: float | str = "auto"
    head: int = 3000
    half_life: float | None = None
    start: Sequence[int | str] | None = None
    groups: Sequence[Any] | None = None

    @property
    def gain_curve_(self) -> np.ndarray:
        """The share of the class indicators that the features of the first steps explain."""
        return read_only(self._solution.gain_curve)

    @property
    def held_out_scores_(self) -> np.ndarray:
        """With ``n_features="cv"``, the held-out score by the number of steps; else empty."""
        return read_only(self._solution.held_out.scores)

    @property
    def held_out_errors_(self) -> np.ndarray:
        """The standard errors of `held_out_scores_`, from the differences between folds."""
        return read_only(self._solution.held_out.errors)

    def _of_steps(self, p: int) -> np.ndarray:
        """Return the features of the first p steps, or of all, in the order of the features."""
        steps = self._solution
        self._check_solution(steps, self._state)
        return np.sort(steps.order[: steps.ends[min(p, len(steps.ends)) - 1]])

    # -- parameters -----------------------------------------------------------------------------

    def _check_together(self, n_features: int) -> None:
        name, size = type(self).__name__, self.n_features
        if n_features == sys.maxsize:  # the data are not known yet
            return
        if self.groups is not None and np.shape(self.groups) != (n_features,):
            raise ParameterError(
                f"{name}: expected groups with one label for each of {n_features} features, got "
                f"an array of shape {np.shape(self.groups)}. Give each feature a label."
            )
        things = "features" if self.groups is None else "groups"
        most, started = self._most_steps(n_features), len(self._start(n_features))
        number: Any = size if is_integer(size, 1) else 0
        if number > most and number != N_FEATURES:  # the default
            raise ParameterError(
                f"{name}: expected n_features<={most}, the number of {things} in the data, got "
                f"{size}. Use fewer, or a fraction such as 0.1."
            )
        if not is_cv(size) and started > (wanted := self._wanted(most)):
            raise ParameterError(
                f"{name}: expected n_features>={started}, the number of {things} of start, got "
                f"{wanted}. Use more, or fewer in start."
            )
        if is_cv(size) and n_features > MOST:
            raise ParameterError(
                f'{name}: expected at most {MOST:,} features for n_features="cv", which needs '
                f"folds of their cross products, got {n_features:,}. Use a number."
            )

    def _wanted(self, most: int) -> int:
        """Return the number of steps, of at most so many."""
        size = self.n_features
        return min(most, _LONGEST if is_cv(size) else columns.count_wanted(size, most))

    def _most_steps(self, n_features: int) -> int:
        """Return the number of features, or of groups."""
        return len(self._members(n_features))

    def _members(self, n_features: int) -> list[np.ndarray]:
        """Return the features of each group, in the order of the first of each."""
        if self.groups is None:
            return list(np.arange(n_features)[:, None])
        labels = np.asarray(self.groups)
        _, first, code = np.unique(labels, return_index=True, return_inverse=True)
        rows = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
        return [rows[k] for k in np.argsort(first)]

    def _start(self, n_features: int) -> list[int]:
        """Return the groups of the features of `start`, as numbers of `_members`."""
        if self.start is None:
            return []
        names = getattr(self, "feature_names_in_", None)
        if names is None and self.__sklearn_is_fitted__():
            names = self._column_names()
        known = _numbered(names)
        of = np.empty(n_features, dtype=int)
        for k, group in enumerate(self._members(n_features)):
            of[group] = k
        found = [self._index(each, known, n_features) for each in self._listed()]
        return list(dict.fromkeys(of[found].tolist()))

    def _listed(self) -> list[Any]:
        """Return the features of `start` as they were given."""
        start: Any = self.start
        if start is None or isinstance(start, str):
            return [] if start is None else [start]
        if not np.iterable(start):
            raise ParameterError(
                f"{type(self).__name__}: expected start (--start) to list features, got {start!r}. "
                "Use their names or indices."
            )
        return list(start)

    def _index(self, each: Any, known: dict[str, int], n_features: int) -> int:
        """Return the index of a feature from its index or its name."""
        is_name = isinstance(each, str)
        if is_name and each in known:
            return known[each]
        if is_integer(each, 0) and int(each) < n_features:
            return int(each)
        what = "names" if is_name and known else "indices"
        of = "features" if n_features == sys.maxsize else f"{n_features} features"
        more = "" if known or not is_name else ", since they have no names"
        near = get_close_matches(each, known, 1) if is_name else []
        hint = f"Did you mean {near[0]}?" if near else f"Use {what} that the data have."
        raise ParameterError(
            f"{type(self).__name__}: expected start (--start) to have {what} of the {of}{more}, "
            f"got {each!r}. {hint}"
        )

    def _use_names(self, source: Any) -> None:
        """Replace names in `start` by indices; what is no name may be an index in digits."""
        if any(isinstance(each, str) for each in self._listed()):
            known = _numbered(None if source is None else source.names)
            found = [
                int(each)
                if isinstance(each, str) and each not in known and _DIGITS.fullmatch(each)
                else each
                for each in self._listed()
            ]
            self.start = [self._index(each, known, len(known) or sys.maxsize) for each in found]

    # -- states ---------------------------------------------------------------------------------

    def _second(self) -> Second:
        return "cross"

    def _folds(self) -> int | None:
        return FOLDS if is_cv(self.n_features) else None

    def _check_width(self, n_features: int) -> None:
        """Any number of features has candidates."""

    def _map_of(self, stats: ClassStats, samples: Any = None) -> Bands:
        """Return the map that keeps the candidates, those with the largest scores of `OCFS`.

        Before them those that forward selection takes from all features of samples at hand.
        """
        if samples is None:
            members = self._members(stats.n_features)
            started = [members[k] for k in self._start(stats.n_features)]
            return self._keeping(stats, np.unique(np.concatenate([np.empty(0, int), *started])))
        X, y, sample_weight = samples
        weight = np.asarray(indicator(X, y, sample_weight)[1].sum(axis=1)).ravel()
        if self.half_life is not None:
            weight = weight * 0.5 ** (np.arange(len(weight))[::-1] / self.half_life)
        targets = Targets.of(stats, stats.priors(self.priors))
        found = Correlated.of_rows(stats, targets, X.astype(np.float64, copy=False), weight)
        d = stats.n_features
        wanted = self._wanted(self._most_steps(d))
        return self._keeping(stats, found.features[self._path(found, d, wanted).order])

    def _keeping(self, stats: ClassStats, chosen: np.ndarray) -> Bands:
        """Return the map that keeps these features, and after them the best by `OCFS`."""
        best = most_scattered(stats, self.head)
        others = best[~np.isin(best, chosen)][: max(0, self.head - len(chosen))]
        return Bands.of(stats, np.union1d(chosen, others), 0)

    # -- solving --------------------------------------------------------------------------------

    def _path(self, found: Correlated, n_features: int, n_steps: int) -> Path:
        """Return the path over the features that vary, some of all features."""
        at = np.full(n_features, -1)
        at[found.features] = np.arange(len(found.features))
        members = [at[group] for group in self._members(n_features)]
        members = [group[group >= 0] for group in members]
        number = np.cumsum([len(group) > 0 for group in members]) - 1
        start = [int(number[k]) for k in self._start(n_features) if len(members[k])]
        ridge = RIDGE if isinstance(self.ridge, str) else float(self.ridge)
        groups = None if self.groups is None else [group for group in members if len(group)]
        return forward(found.column, found.R, n_steps, ridge, groups, start)

    def _solve(self, state: ClassStats | Mapped) -> Steps:
        who, d = type(self).__name__, state.n_features
        stats, head = (
            (state.stats, state.map.head) if isinstance(state, Mapped) else (state, np.arange(d))
        )
        targets = Targets.of(stats, stats.priors(self.priors))
        wanted, held_out = self._wanted(self._most_steps(d)), NO_CURVE
        if is_cv(self.n_features) and stats.n:
            held_out = self._compare(stats, wanted)
            wanted = max(held_out.smallest(), len(self._start(d)))
        found = Correlated.of_sums(stats, targets, head)
        steps = Steps(self._path(found, d, wanted), found.features, d, targets.total, held_out)
        advice = self._advice(steps) if steps.size else ""
        if 0 < len(steps.steps) < wanted:
            advice = f"expected {wanted} features that vary, got {steps.size}, which are selected."
        if advice:
            warn(f"{who}: {advice}")
        return steps

    def _compare(self, stats: ClassStats, most: int) -> Curve:
        """Return how each number of steps does on held-out folds."""
        who, d = type(self).__name__, stats.n_features
        check_folds(who, "n_features", stats)
        curves, weight = [], []
        for halves in Halves.of(stats, self.priors):
            check_filled(who, "n_features", halves.fold, stats.n_samples)
            targets = Targets.of(halves.others, halves.p_others)
            found = Correlated.of_sums(halves.others, targets, np.arange(d))
            path = self._path(found, d, most)
            curves.append(_share_of(halves, targets, found, path))
            weight.append(halves.fold.n)
        shortest = min(map(len, curves))
        curve = Curve.of_folds(np.array([each[:shortest] for each in curves]), np.array(weight))
        warn_of_no_held_out_score(who, curve)
        return curve

    def _check_solution(self, solution: Steps, stats: Any) -> None:
        if not solution.size:
            raise ValueError(
                f"{type(self).__name__}: expected a feature that varies, got constant features "
                "only. Check X."
            )


def _numbered(names: np.ndarray | None) -> dict[str, int]:
    """Return the index of each name."""
    return {} if names is None else {name: k for k, name in enumerate(names.tolist())}


def _share_of(halves: Halves, targets: Targets, found: Correlated, path: Path) -> np.ndarray:
    """Return the share of the targets of a fold that each step of a path explains."""
    others, fold = halves.others, halves.fold
    at = found.features[path.order]
    unit = found.unit[path.order]
    share = fold.priors()[targets.live]
    away = (fold.mean - others.mean)[at] / unit
    means = np.where(share[:, None] > 0, fold.means[targets.live][:, at] - others.mean[at], 0.0)
    low, high = np.minimum.outer(at, at), np.maximum.outer(at, at)
    C = fold.scatters(by_samples=False).C[high, low] / fold.n / np.outer(unit, unit)
    K = ((means / unit).T * share - np.outer(away, targets.share)) * targets.scale
    total = targets.scale**2 @ (share * (1 - 2 * targets.share) + targets.share**2)
    return held_out_shares(path, C + np.outer(away, away), K, float(total))
