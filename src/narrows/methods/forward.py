"""Forward selection: features that complement each other, by the criterion of SRDA."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.methods.attributes import HELD_OUT_ERRORS, HELD_OUT_SCORES, attribute
from narrows.methods.base import BY_TARGET, emptied_copy, refuse_more
from narrows.methods.learned import Learned, lock_of
from narrows.methods.names import listed_indices
from narrows.methods.parameters import (
    CV,
    FEATURES,
    LIST,
    NONE,
    Constraint,
    is_cv,
    is_integer,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.plan import Data, Pass, Plan, Where
from narrows.methods.selectors import SHARE, Selector
from narrows.moments.labels import indicator
from narrows.moments.maps import Columns, most_scattered
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.solutions.choice import KEPT
from narrows.solutions.forward import RIDGE, Steps, best_of_samples, candidates, forward_fs
from narrows.solve import columns
from narrows.solve.devices import in_memory
from narrows.solve.solution import Solution

N_FEATURES = 10  # by default; all where there are fewer
_LONGEST = 200  # features that "cv" compares


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
        "start": NONE | FEATURES,
        "groups": NONE | LIST,
        "head": whole(1, MOST - 1),
        "target": word("auto", "classes", "numeric"),
    }
    _instead = "fit, which reads the samples twice, or OCFS, which has sums for any number"
    _takes_numbers = BY_TARGET
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    gain_curve_ = attribute(
        lambda s: s.gain_curve,
        "The share of the targets that the features of the first steps explain.",
    )

    n_features: int | float | str = N_FEATURES
    priors: Any = "empirical"
    ridge: float | str = "auto"
    head: int = 3000
    half_life: float | None = None
    start: Sequence[int | str] | None = None
    groups: Sequence[Any] | None = None
    target: str = "auto"
    keep: int = KEPT

    def emptied(self) -> Self:
        """Return a copy that has learned no samples, with the same map.

        Estimators with the same map can be merged: fit one, call `partial_fit` of emptied copies on
        the other samples, and merge all of them.

        Returns
        -------
        estimator : estimator of this class

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ParameterError
            The estimator has no map.

        See Also
        --------
        merge : Add the samples of other estimators.

        Notes
        -----
        **Cost**: O(1), since the map is shared.
        """
        check_is_fitted(self)
        with lock_of(self):
            if self._learned.step.map is None:
                raise ParameterError(
                    "expected a model that was fitted to more than 8,192 "
                    "features, got another, which has no map. Use sklearn.base.clone."
                )
            return emptied_copy(self)

    # -- parameters -----------------------------------------------------------------------------

    def _check_together(self, n_features: int) -> None:
        size = self.n_features
        if n_features == sys.maxsize:  # the data are not known yet
            return
        things = "features" if self.groups is None else "groups"
        steps = self._steps(n_features)
        started = len(steps.start)
        number: Any = size if is_integer(size, 1) else 0
        if number > steps.most and number != N_FEATURES:  # the default
            raise ParameterError(
                f"expected n_features<={steps.most}, the number of {things} in the data, "
                f"got {size}. Use fewer, or a fraction such as 0.1."
            )
        if not is_cv(size) and started > (wanted := self._wanted(steps)):
            raise ParameterError(
                f"expected n_features>={started}, the number of {things} of start, got "
                f"{wanted}. Use more, or fewer in start."
            )
        if n_features > MOST:
            self._check_wide(n_features)

    def _check_wide(self, n_features: int) -> None:
        size = self.n_features
        if self.target == "numeric":
            raise ParameterError(
                f'expected at most {MOST:,} features for target="numeric", got '
                f"{n_features:,}. Select features with CorrelationFS first."
            )
        if not is_cv(size) and self._wanted(self._steps(n_features)) >= MOST:
            raise ParameterError(
                f"expected n_features<{MOST:,} with more than {MOST:,} features, got "
                f"{size}. Use fewer."
            )
        if is_cv(size):
            raise ParameterError(
                f'expected at most {MOST:,} features for n_features="cv", which needs '
                f"folds of their cross products, got {n_features:,}. Use a number."
            )

    def _wanted(self, steps: Steps) -> int:
        """Return the number of steps, of at most as many as there are."""
        size, most = self.n_features, steps.most
        return min(most, _LONGEST if is_cv(size) else columns.count_wanted(size, most))

    def _steps(self, n_features: int) -> Steps:
        """Return which features enter together, and first."""
        group = self.group_of(n_features)
        found = listed_indices(self, n_features)
        start = list(dict.fromkeys(group[found].tolist()))
        return Steps(
            n_features, RIDGE if isinstance(self.ridge, str) else float(self.ridge), group, start
        )

    def group_of(self, n_features: int) -> np.ndarray:
        """Return the number of the group of each feature, in the order of the first of each."""
        if self.groups is None:
            return np.arange(n_features)
        if np.shape(self.groups) != (n_features,):
            raise ParameterError(
                f"expected groups with one label for each of {n_features} "
                f"features, got an array of shape {np.shape(self.groups)}. Give each feature a "
                "label."
            )
        number: dict[Any, int] = {}
        labels = [None if each != each else each for each in self.groups]  # of any types
        return np.array([number.setdefault(label, len(number)) for label in labels])

    # -- solving --------------------------------------------------------------------------------

    def _sums(self, data: Data) -> Pass:
        numeric = data.numeric or self.target == "numeric"
        return replace(super()._sums(data), second="cross", numeric=numeric)

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        sums = self._sums(data)
        if data.n_features <= MOST:
            return Plan((sums,))
        if where == "stream":
            refuse_more(self, data.n_features)
        map_of = partial(self._candidates, samples=samples)
        return Plan((Pass(second="total"), sums), map_of, Columns)

    def _candidates(self, m: Moments, samples: Any) -> Columns:
        """Return the map that keeps the candidates, those with the largest scores of `OCFS`.

        Of samples at hand, also those that are selected from all features.
        """
        steps = self._steps(m.n_features)
        first, wanted = steps.started, self._wanted(steps)
        if samples is not None:
            X, y, given = samples
            X = in_memory(X)
            weight = np.asarray(indicator(X, y, given)[1].sum(axis=1)).ravel()
            if self.half_life is not None:
                weight = weight * 0.5 ** (np.arange(len(weight))[::-1] / self.half_life)
            best = best_of_samples(m, X, weight, self.priors, steps, wanted)
            first = np.union1d(first, best)
        room = min(max(self.head, wanted), MOST - 1)
        return Columns(candidates(first, most_scattered(m), steps, room, MOST), m.n_features)

    def _solve(self, learned: Learned) -> Solution:
        map, steps = learned.step.map, self._steps(learned.n_features)
        head = np.arange(learned.n_features) if map is None else map.chosen
        outside = np.setdiff1d(steps.started, head)
        if outside.size:
            raise ParameterError(
                f"expected start to have some of the {len(head):,} "
                f"candidates, got feature {outside[0]}. Fit again with this start."
            )
        return forward_fs(
            learned.folds, learned.moments, self.priors, steps, self._wanted(steps),
            is_cv(self.n_features), head, said=self.n_features != N_FEATURES,
        )  # fmt: skip

    def _check_solution(self, found: Solution) -> None:
        if not found.width:
            raise ValueError(
                "expected a feature that varies, got constant features "
                "only, or one sample. Check X."
            )
