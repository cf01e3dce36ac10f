"""Forward selection: features that complement each other, by the criterion of SRDA."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, warn
from narrows.methods.cross import emptied
from narrows.methods.names import listed_indices
from narrows.methods.parameters import (
    CV,
    KEPT,
    LIST,
    NONE,
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
from narrows.methods.routes import TwoPasses
from narrows.methods.selector import SHARE, HeldOutSelector, Selector, warn_of_no_held_out_score
from narrows.methods.targets import Numeric
from narrows.solve import columns
from narrows.solve.forward import Path, forward, held_out_shares
from narrows.solve.held_out import NO_CURVE, Curve
from narrows.solve.scatter import VARIES
from narrows.state.arrays import read_only
from narrows.state.class_stats import ClassStats, Second
from narrows.state.cross import MOST
from narrows.state.halves import Halves
from narrows.state.labels import are_numeric, indicator
from narrows.state.mapped import Mapped
from narrows.state.maps import SomeFeatures, most_scattered
from narrows.state.targets import TargetStats

N_FEATURES = 10  # by default; all where there are fewer
RIDGE = 0.01  # of the variance of each feature
_POWER = 0.5  # of the priors, as the weights of classes
_LONGEST = 200  # features that "cv" compares


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

    def products(self, H: np.ndarray) -> np.ndarray:
        """Return the mean of x t', of shape (k, n_live), from the root of the share times D.

        D are the class means less the mean.
        """
        return H.T * (np.sqrt(self.share) * self.scale)


class NumericTargets(NamedTuple):
    """Numeric targets less their means, in units of their standard deviations.

    Parameters
    ----------
    unit : ndarray of shape (n_targets,)
        The standard deviations; infinite for targets that do not vary.
    n : float
        The weight of all samples.
    """

    unit: np.ndarray
    n: float

    @classmethod
    def of(cls, stats: TargetStats) -> Self:
        """Return those of a state."""
        variances = stats.target_variances
        return cls(np.where(variances > 0, np.sqrt(variances), np.inf), stats.n or 1.0)

    @property
    def total(self) -> float:
        """The mean of their squared lengths."""
        return float(np.isfinite(self.unit).sum())

    def products(self, H: np.ndarray) -> np.ndarray:
        """Return the mean of x t', of shape (k, n_targets), from the root of n times their mean."""
        return H.T / np.sqrt(self.n) / self.unit


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
    block : callable
        Returns the correlations of some of them.
    R : ndarray of shape (k, n_targets)
        Their products with the targets.
    """

    features: np.ndarray
    unit: np.ndarray
    column: Callable[[int], np.ndarray]
    block: Callable[[np.ndarray], np.ndarray]
    R: np.ndarray

    @classmethod
    def of_sums(cls, stats: ClassStats, targets: Targets, head: np.ndarray) -> Self:
        """Return those of a state, the features of which are these of all features."""
        rows = stats.few()
        if rows is not None:
            return cls.of_rows(stats, targets, head, *rows)
        return cls.of_scatter(stats, targets, head)

    @classmethod
    def of_scatter(
        cls, stats: ClassStats | TargetStats, targets: Targets | NumericTargets, head: np.ndarray
    ) -> Self:
        """Return those of a state by its scatter, as `of_sums` does."""
        S = stats.scatters(by_samples=False)
        squares = S.C.diagonal()
        at = np.flatnonzero((squares > VARIES * S.noise) & _varying(stats))
        size, root = np.sqrt(squares[at]), np.sqrt(S.n or 1.0)
        R = targets.products(S.H[:, at] / size)

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
    def of_rows(
        cls, stats: ClassStats, targets: Targets, head: np.ndarray, X: Any, weight: np.ndarray,
        m: np.ndarray,
    ) -> Self:  # fmt: skip
        """Return those of the samples of a state, which have the mean m."""
        p = stats.priors()
        features = np.flatnonzero(stats.varying(p) & _varying(stats))
        unit = np.sqrt(stats.variances(p)[features])
        D = np.empty((len(targets.share), stats.n_features))
        for some, deviation in stats.deviations(p):
            D[:, some] = deviation
        by_column = X.tocsc() if sparse.issparse(X) else X
        share = weight / weight.sum()

        def centred(J: np.ndarray) -> np.ndarray:
            x = by_column[:, features[J]]
            return (x.toarray() if sparse.issparse(x) else x) - m[features[J]]

        def block(J: np.ndarray) -> np.ndarray:
            x = centred(J)
            found: np.ndarray = (share * x.T) @ x / np.outer(unit[J], unit[J])
            np.fill_diagonal(found, 1.0)
            return found

        def column(j: int) -> np.ndarray:
            x = share * centred(np.array([j]))[:, 0]
            cross: np.ndarray = (x @ X - x.sum() * m)[features] / unit / unit[j]
            cross[j] = 1.0
            return cross

        H = np.sqrt(targets.share)[:, None] * D[:, features] / unit
        return cls(head[features], unit, column, block, targets.products(H))


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
        self.scores[chosen] = np.repeat(path.gains, np.diff(path.ends, prepend=0))
        self.mask[chosen] = True
        next_gain = np.full(n_features, -1.0)
        next_gain[varying] = path.left
        rest = columns.rank(next_gain)
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


class Candidates(TwoPasses):
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

        criterion   maximise sum_j a_j V_j, where V_j is the part of the variance of the indicator
                    of class j that a ridge regression on the selected features explains
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    one feature after another; each is the best one beside those before it

    It is the criterion of `SRDA`, with W restricted to single features. A selector that scores each
    feature alone takes many copies of the same feature; here a feature scores by what it adds.
    With the correlations C of the features, and R the class means less the mean, in units of the
    standard deviations of the features, times p_j^(3/4), each step selects the feature i with the
    largest ::

        gain = |R_i|^2 / A_ii,   A = C + ridge I,

    where R_i is a row of R, with an entry for each class, and sweeps the feature out of R and A, a
    step of a Cholesky factorisation. A feature that the selected ones determine comes after all
    others; constant features are never selected. Units of features do not matter.

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
        are candidates, but at least as many as are selected. They are those of `start`, and those
        with the largest scores of `OCFS` in a first pass.
    {half_life}
    start : sequence of int or str, optional
        Indices or names of features that are selected first, in this order, such as those that are
        measured anyway. With `groups`, their whole groups. Fits to files, tables and single cells
        replace names by indices.
    groups : array-like of shape (n_features,), optional
        A label for each feature. Features with the same label are selected together, by the gain of
        all of them, such as the columns that one categorical column became.
    target : {"auto", "classes", "numeric"}, default="auto"
        What y contains. With "numeric", one or several columns of numbers: V_j is then the share of
        the variance of target j, and all a_j are 1. That is stepwise regression; with ``ridge=0``,
        stepwise least squares. "auto" is "numeric" if the first y is of floats with
        fractions or with more than 20 distinct values (with a warning if these are whole numbers),
        and for files that are read with a target. Numeric targets need at most 8,192 features, and
        `priors` do not matter.
    {keep_none}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The gain of each selected feature (or of its group) when it was selected; 0 for the others.
    ranking_ : ndarray of shape (n_features,)
        Feature indices: the selected ones in the order of selection, then the others by the gain
        that each would have as the next. Ties go to the lower index; constant features come last.
    gain_curve_ : ndarray of shape (n_steps,)
        Entry k - 1 is the share, from 0 to 1, of the variance of the weighted class indicators (or
        of the targets) that the features of the first k steps explain, less the penalty of the
        ridge.
    {energy_}
    held_out_scores_, held_out_errors_ : ndarray of shape (n_steps,)
        With ``n_features="cv"``: entry k - 1 is the share of the variance of the indicators of a
        held-out fold that the regression on the first k features of the other folds explains, and
        its standard error; else empty.
    n_features_, n_positive_ : int
        Number of selected features, and of features with a positive score.
    {classes_}
        For numeric targets these raise AttributeError.
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
    SRDA, ReducedRank : Projection by the same criterion, for classes and for numbers.
    CorrelationFS : Selection for numeric targets, for any number of features.
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
    [33, 21, 60, 43]
    >>> selector.gain_curve_.round(2).tolist()
    [0.07, 0.13, 0.18, 0.23]

    Numeric targets:

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ForwardFS(n_features=3, target="numeric").fit(X, y).ranking_[:3].tolist()
    [2, 8, 3]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_features": (whole(1) | SHARE | CV).said(
            "an integer >= 1, or a fraction in (0, 1] of the features", 'a number or "cv"'
        ),
        "ridge": word("auto") | real(0, 1e6),
        "start": NONE | LIST,
        "groups": NONE | LIST,
        "head": whole(1, MOST - 1),
        "target": word("auto", "classes", "numeric"),
    }
    _state_type: ClassVar[Any] = (ClassStats, Mapped, TargetStats)
    _only_route: ClassVar[Any] = None
    _wide: ClassVar[Any] = Candidates
    _of_map = "was fitted to more than 8,192 features"
    _instead = "fit, which reads the samples twice, or OCFS, which has sums for any number"
    _kept = 0
    _lists_features = "start"
    emptied = emptied

    n_features: int | float | str = N_FEATURES
    priors: Any = "empirical"
    ridge: float | str = "auto"
    head: int = 3000
    half_life: float | None = None
    start: Sequence[int | str] | None = None
    groups: Sequence[Any] | None = None
    target: str = "auto"
    keep: int = KEPT

    @property
    def gain_curve_(self) -> np.ndarray:
        """The share of the targets that the features of the first steps explain."""
        return read_only(self._solution.gain_curve)

    @property
    def _explained(self) -> np.ndarray:
        """The entry of `gain_curve_` for each selected feature, in the order of selection."""
        return self._solution.explained

    @property
    def held_out_scores_(self) -> np.ndarray:
        """With ``n_features="cv"``, the held-out score by the number of steps; else empty."""
        return read_only(self._solution.held_out.scores)

    held_out_errors_ = HeldOutSelector.held_out_errors_

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
        if n_features > MOST:
            self._check_wide(n_features)

    def _check_wide(self, n_features: int) -> None:
        name, size = type(self).__name__, self.n_features
        if self.target == "numeric":
            raise ParameterError(
                f'{name}: expected at most {MOST:,} features for target="numeric", got '
                f"{n_features:,}. Select features with CorrelationFS first."
            )
        if not is_cv(size) and self._wanted(self._most_steps(n_features)) >= MOST:
            raise ParameterError(
                f"{name}: expected n_features<{MOST:,} with more than {MOST:,} features, got "
                f"{size}. Use fewer."
            )
        if is_cv(size):
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
        return int(self._group_of(n_features).max(initial=-1)) + 1

    def _group_of(self, n_features: int) -> np.ndarray:
        """Return the number of the group of each feature, in the order of the first of each."""
        if self.groups is None:
            return np.arange(n_features)
        if np.shape(self.groups) != (n_features,):
            raise ParameterError(
                f"{type(self).__name__}: expected groups with one label for each of {n_features} "
                f"features, got an array of shape {np.shape(self.groups)}. Give each feature a "
                "label."
            )
        number: dict[Any, int] = {}
        labels = [None if each != each else each for each in self.groups]  # of any types
        return np.array([number.setdefault(label, len(number)) for label in labels])

    def _start(self, n_features: int) -> list[int]:
        """Return the numbers of the groups of the features of `start`."""
        found = listed_indices(self, n_features)
        return list(dict.fromkeys(self._group_of(n_features)[found].tolist()))

    def _started(self, n_features: int) -> np.ndarray:
        """Return the features of `start`, with their groups."""
        return np.flatnonzero(np.isin(self._group_of(n_features), self._start(n_features)))

    # -- numbers or classes ---------------------------------------------------------------------

    @property
    def _takes_numbers(self) -> bool | None:  # type: ignore[override]
        if self.target == "auto" and self.__sklearn_is_fitted__():
            return _is_numeric(self._fitted.state)
        return {"numeric": True, "classes": False}.get(self.target)

    @property
    def _useless(self) -> str:  # type: ignore[override]
        return Numeric._useless if _is_numeric(self._state) else super()._useless

    @property
    def classes_(self) -> np.ndarray:
        """The sorted class labels; not available for numeric targets."""
        return self._unless_numeric(super().classes_)

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each class; not available for numeric targets."""
        return self._unless_numeric(super().class_count_)

    @property
    def _n_targets(self) -> int:
        return int(self._state.n_targets or 0)

    def _unless_numeric(self, found: np.ndarray) -> np.ndarray:
        if _is_numeric(self._state):
            raise AttributeError
        return found

    def _why_not(self, name: str) -> str | None:
        is_numeric = self.__sklearn_is_fitted__() and _is_numeric(self._fitted.state)
        why = Numeric._unsupported.get(name) if is_numeric else None
        return super()._why_not(name) if why is None else why

    def _check_classes(self, classes: Any, y: Any) -> Any:
        if self.target == "numeric":
            return Numeric._check_classes(self, classes, y)
        return super()._check_classes(classes, y)

    def _empty_state(self, n_features: int) -> Any:
        if self.target == "numeric":
            return TargetStats(n_features, second="cross", folds=self._folds())
        return super()._empty_state(n_features)

    def _update_state(
        self, state: Any, X: Any, y: Any, sample_weight: Any = None, **options: Any
    ) -> Any:
        empty = isinstance(state, ClassStats) and state.second == "cross" and not state.n_samples
        if self.target == "auto" and empty and are_numeric(y, type(self).__name__):
            numeric = TargetStats(state.n_features, second="cross", folds=self._folds())
            state = numeric.count_from(state._first)
        return super()._update_state(state, X, y, sample_weight, **options)

    def _check_two_classes(self, state: Any) -> None:
        if _is_numeric(state):
            Numeric._check_two_classes(self, state)
        else:
            super()._check_two_classes(state)

    def _check_kind(self, stats: Any) -> None:
        if self.target != "classes" and _is_numeric(stats):
            Numeric._check_kind(self, stats)
        else:
            super()._check_kind(stats)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        if "target_origin" in arrays:
            return TargetStats.read_from(arrays)
        return super()._state_from(arrays)

    # -- states ---------------------------------------------------------------------------------

    def _second(self) -> Second:
        return "cross"

    def _map_of(self, stats: ClassStats, samples: Any = None) -> SomeFeatures:
        """Return the map that keeps the candidates, those with the largest scores of `OCFS`.

        Before them those of `start`, and those that forward selection takes from all features of
        samples at hand.
        """
        d = stats.n_features
        first = self._started(d)
        if samples is not None:
            first = np.union1d(first, self._best_of(stats, *samples))
        group = self._group_of(d)
        best = list(dict.fromkeys(group[[*first, *most_scattered(stats)]].tolist()))
        room = min(max(self.head, self._wanted(self._most_steps(d))), MOST - 1)
        ends = np.cumsum(np.bincount(group)[best])
        n_groups = max(len(np.unique(group[first])), int(np.searchsorted(ends, room, "right")), 1)
        if ends[n_groups - 1] >= MOST:
            raise ParameterError(
                f"{type(self).__name__}: expected groups of fewer than {MOST:,} features with more "
                f"than {MOST:,} features, got {ends[n_groups - 1]:,} in {n_groups}. "
                "Use smaller groups, or fewer."
            )
        return SomeFeatures(np.flatnonzero(np.isin(group, best[:n_groups])), d)

    def _best_of(self, stats: ClassStats, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        """Return the features that are selected from all those of samples at hand."""
        weight = np.asarray(indicator(X, y, sample_weight)[1].sum(axis=1)).ravel()
        if self.half_life is not None:
            weight = weight * 0.5 ** (np.arange(len(weight))[::-1] / self.half_life)
        targets = Targets.of(stats, stats.priors(self.priors))
        d, X = stats.n_features, X.astype(np.float64, copy=False)
        found = Correlated.of_rows(stats, targets, np.arange(d), X, weight, stats.mean)
        chosen = self._path(found, d, self._wanted(self._most_steps(d))).order
        return found.features[chosen]

    # -- solving -----------------------------------------------------------------------------------

    def _path(self, found: Correlated, n_features: int, n_steps: int) -> Path:
        """Return the path over the features that vary, some of all features."""
        group = self._group_of(n_features)[found.features]
        groups, start = None, self._start(n_features)
        live, code = np.unique(group, return_inverse=True)
        if self.groups is not None:
            order = np.argsort(code, kind="stable")
            groups = np.split(order, np.cumsum(np.bincount(code))[:-1])
        start = np.searchsorted(live, [g for g in start if g in live]).tolist()
        ridge = RIDGE if isinstance(self.ridge, str) else float(self.ridge)
        return forward(found.column, found.block, found.R, n_steps, ridge, groups, start)

    def _solve(self, state: ClassStats | Mapped) -> Steps:
        who, d = type(self).__name__, state.n_features
        stats, head = (
            (state.stats, state.map.chosen) if isinstance(state, Mapped) else (state, np.arange(d))
        )
        outside = np.setdiff1d(self._started(d), head)
        if outside.size:
            raise ParameterError(
                f"{who}: expected start to have some of the {len(head):,} candidates, got feature "
                f"{outside[0]}. Fit again with this start."
            )
        wanted, held_out = self._wanted(self._most_steps(d)), NO_CURVE
        if is_cv(self.n_features) and stats.n:
            held_out = self._compare(stats, wanted)
            smallest = held_out.smallest() if held_out.scores.size else 1
            wanted = max(smallest, len(self._start(d)))
        found, total = self._correlated(stats, head)
        steps = Steps(self._path(found, d, wanted), found.features, d, total, held_out)
        advice = self._advice(steps) if steps.size else ""
        if 0 < len(steps.steps) < wanted and self.n_features != N_FEATURES:
            advice = f"expected {wanted} features that vary, got {steps.size}, which are selected."
        if advice:
            warn(f"{who}: {advice}")
        return steps

    def _compare(self, stats: ClassStats, most: int) -> Curve:
        """Return how each number of steps does on held-out folds."""
        who, d = type(self).__name__, stats.n_features
        check_folds(who, "n_features", stats)
        curves, weight = [], []
        for fold, found, share_of in self._halves(stats):
            check_filled(who, "n_features", fold, stats.n_samples)
            curves.append(share_of(self._path(found, d, most)))
            weight.append(fold.n)
        shortest = min(map(len, curves))
        if not shortest:  # no feature varies
            return NO_CURVE
        curve = Curve.of_folds(np.array([each[:shortest] for each in curves]), np.array(weight))
        warn_of_no_held_out_score(who, curve, self._useless)
        return curve

    def _check_solution(self, solution: Steps, stats: Any) -> None:
        if not solution.size:
            raise ValueError(
                f"{type(self).__name__}: expected a feature that varies, got constant features "
                "only, or one sample. Check X."
            )

    def _correlated(self, stats: Any, head: np.ndarray) -> tuple[Correlated, float]:
        if _is_numeric(stats):
            numbers = NumericTargets.of(stats)
            return Correlated.of_scatter(stats, numbers, head), numbers.total
        targets = Targets.of(stats, stats.priors(self.priors))
        return Correlated.of_sums(stats, targets, head), targets.total

    def _halves(self, stats: Any) -> Iterator[tuple[Any, Correlated, Callable[[Path], np.ndarray]]]:
        if _is_numeric(stats):
            for others, fold in stats.halves():
                found, _ = self._correlated(others, np.arange(stats.n_features))
                yield fold, found, partial(_share_of_numbers, others, fold, found)
            return
        for halves in Halves.of(stats, self.priors):
            targets = Targets.of(halves.others, halves.p_others)
            found = Correlated.of_sums(halves.others, targets, np.arange(stats.n_features))
            yield halves.fold, found, partial(_share_of, halves, targets, found)


def _varying(stats: Any) -> np.ndarray:
    """Return which features vary by more than the rounding of their values."""
    found: np.ndarray = np.isfinite(stats.units(np.ones(stats.n_features, dtype=bool)))
    return found


def _is_numeric(state: Any) -> bool:
    return isinstance(state, TargetStats)


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
    return held_out_shares(path, C + np.outer(away, away), K, float(total) or 1.0)


def _share_of_numbers(
    others: TargetStats, fold: TargetStats, found: Correlated, path: Path
) -> np.ndarray:
    """Return the share of the targets of a fold that each step of a path explains."""
    at, unit = found.features[path.order], found.unit[path.order]
    of_targets, S = NumericTargets.of(others).unit, fold.scatters(by_samples=False)
    away = (fold.mean - others.mean)[at] / unit
    off = (fold.target_mean - others.target_mean) / of_targets
    low, high = np.minimum.outer(at, at), np.maximum.outer(at, at)
    C = S.C[high, low] / S.n / np.outer(unit, unit)
    K = (S.H[:, at] / S.n / unit).T / of_targets
    total = float(np.sum(fold.target_variances / of_targets**2 + off**2))
    return held_out_shares(path, C + np.outer(away, away), K + np.outer(away, off), total or 1.0)
