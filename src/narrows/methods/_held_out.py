"""Selectors that choose how many features to select by scores of held-out folds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from narrows.errors import warn
from narrows.methods._base import read_only
from narrows.methods._folds import FOLDS, check_filled, check_folds, is_cv
from narrows.methods._select import Selection, Selector
from narrows.state.halves import Halves
from narrows.state.stats import ClassStats
from narrows.solve import columns
from narrows.solve.held_out import NO_CURVE, HeldOutCurve


class HeldOutSelector(Selector):
    """A selector for which n_features may be "cv". Subclasses give `_held_out`."""

    _expected_size = 'a number or "cv"'

    @abstractmethod
    def _held_out(self, halves: Halves) -> np.ndarray:
        """Return what each feature adds to the score of a fold, given the other folds."""

    @property
    def held_out_scores_(self) -> np.ndarray:
        """With ``n_features="cv"``, the held-out scores of the best features; else empty.

        Entry p - 1 is the mean over the folds for the p best features.
        """
        return read_only(self._solution.held_out.scores)

    @property
    def held_out_errors_(self) -> np.ndarray:
        """The standard errors of `held_out_scores_`, from the differences between folds."""
        return read_only(self._solution.held_out.errors)

    def _check_cv(self) -> None:
        """`n_features="cv"` is available."""

    def _folds(self) -> int | None:
        return FOLDS if is_cv(self.n_features) else None

    def _check_kind(self, stats: ClassStats) -> None:
        super()._check_kind(stats)
        if is_cv(self.n_features):
            check_folds(type(self).__name__, "n_features", stats)

    def _solve(self, stats: ClassStats) -> Selection:
        if is_cv(self.n_features):
            check_folds(type(self).__name__, "n_features", stats)
        return super()._solve(stats)

    def _held_out_curve(self, stats: ClassStats) -> HeldOutCurve:
        if not is_cv(self.n_features):
            return NO_CURVE
        curves, weight = [], []
        for halves in Halves.of(stats, self._priors()):
            check_filled(type(self).__name__, "n_features", halves.fold, stats.n_samples)
            scores, varies, _ = self._with_priors(halves)._score(halves.others)
            curves.append(self._held_out(halves)[columns.rank(scores, varies)].cumsum())
            weight.append(halves.fold.n)
        curve = HeldOutCurve.of(np.array(curves), np.array(weight))
        if not curve.scores.max() > 0:
            warn(
                f"{type(self).__name__}: expected a positive held-out score of at least one "
                "feature, got none. One feature is selected, but none distinguishes the classes "
                "of held-out samples."
            )
        return curve

    def _with_priors(self, halves: Halves) -> Self:
        """Return this selector, with the priors of the classes that the other folds have."""
        priors: Any = self._priors()
        if isinstance(priors, str):
            return self
        given = halves.p_others[halves.others.counts > 0]
        return clone(self).set_params(priors=given if given.any() else "empirical")
