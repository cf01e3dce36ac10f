"""Methods that know how sure their result is, and may stop reading when it is sure enough."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from narrows.families._additive import Additive
from narrows.families._errors import errors_named_after
from narrows.families._folds import is_cv
from narrows.families._parameters import check, check_seed, is_number
from narrows.families._select import PerClassSelector, Selector
from narrows.moments.halves import Halves
from narrows.moments.labels import indicator
from narrows.moments.state import checked_rows
from narrows.moments.stats import ClassStats
from narrows.solve import columns
from narrows.solve.certificate import FIRST, Certificate, certify, order_of
from narrows.solve.errors import ParameterError

FOLDS = 10  # by which a result is certified


class HeldOutScores(NamedTuple):
    """What a certificate is made of; see `certify`."""

    held_out: list[float]
    plugged_in: list[float]
    best: float


class Certified(Additive):
    """A method with `tolerance` and `certificate_`. Subclasses give `_held_out_scores`."""

    tolerance: float | None
    confidence: float
    random_state: Any

    @abstractmethod
    def _held_out_scores(self, stats: ClassStats, solution: Any) -> HeldOutScores:
        """Return the scores of the reductions that the other folds choose, in each fold."""

    @property
    def certificate_(self) -> Certificate:
        """How sure the result is: `n_samples`, `share`, `lower`, `upper` and `confidence`.

        With probability `confidence`, the score of the result is at least `share` of that of the
        best one of the same size, for the source that the samples were drawn from at random.
        """
        stats, solution = self._state, self._solution
        problem = self._uncertain()
        if not stats.folds:
            problem = "a state with folds, got one without. Fit with tolerance, 0 to read all"
        problem = problem or self._disordered(stats)
        if problem:
            raise AttributeError(f"{type(self).__name__}: certificate_: expected {problem}.")
        return self._certify(stats, solution)

    # -- inside -----------------------------------------------------------------------------

    def _certify(self, stats: ClassStats, solution: Any) -> Certificate:
        n = stats.n_samples
        if n < FIRST or int((stats.counts > 0).sum()) < 2:
            return certify(np.zeros(0), np.zeros(0), 0.0, n, self.confidence)
        found = self._held_out_scores(stats, solution)
        return certify(
            np.array(found.held_out),
            np.array(found.plugged_in),
            found.best,
            n,
            self.confidence,
        )

    def _solved(self, stats: ClassStats) -> Any:
        """Return a solution on the way; only the last one warns."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._solve(stats)

    def _is_sure(self, stats: ClassStats) -> bool:
        """Whether enough samples were read."""
        share = self._certify(stats, self._solved(stats)).share
        return share >= 1 - float(self.tolerance or 0.0)

    def _disordered(self, stats: ClassStats) -> str:
        """Return what is expected where the classes of the folds show another order."""
        counts = np.array([stats.fold(k).counts for k in range(stats.folds or 0)])
        problem = order_of(counts) if stats.n == stats.n_samples else ""  # without weights
        return f"samples in random order, got {problem}. Shuffle them" if problem else ""

    def _check_order(self, stats: ClassStats) -> None:
        """Raise where the classes of the folds show that samples are not in random order."""
        problem = self._disordered(stats)
        if problem:
            raise ParameterError(
                f"{type(self).__name__}: tolerance: expected {problem}, or leave it out."
            )

    def _learn_all(self, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        if not self.tolerance:
            return super()._learn_all(X, y, sample_weight)
        X = self._check_X(X, reset=True, ensure_all_finite=False)
        self._check_parameters(X.shape[1])
        with errors_named_after(self):
            classes, Y = indicator(X, self._labels(X, y), sample_weight)
            order = check_random_state(self.random_state).permutation(X.shape[0])
            state, first, last = self._empty_state(X.shape[1]), 0, FIRST
            while first < len(order) and not (first and self._is_sure(state)):
                rows = order[first:last]
                state.add_samples(checked_rows(X[rows]), classes, Y[rows])
                first, last = last, 2 * last
        return state

    def _sum_of(self, parts: Any) -> ClassStats:
        if not self.tolerance:
            return super()._sum_of(parts)
        order = check_random_state(self.random_state).permutation(len(parts.parts))
        if len(order) < 2 * FOLDS:
            raise ParameterError(
                f"{type(self).__name__}: tolerance: expected data in at least {2 * FOLDS} parts to "
                f"draw from, got {len(order)}. Use a larger uncompressed text file, Parquet with "
                "more row groups, more files or partitions, or leave it out."
            )
        for state, bar in parts.draw(clone(self).set_params(tolerance=None), order, FOLDS):
            self._check_order(state)
            share = self._certify(state, self._solved(state)).share
            bar.set_postfix_str(f"{share:.1%} of the best score")
            if share >= 1 - self.tolerance:
                break
        return state

    def _folds(self) -> int | None:
        return super()._folds() if self.tolerance is None else FOLDS

    def _uncertain(self) -> str:
        """Return what is expected instead of parameters by which nothing is certified."""
        if self.half_life is not None:
            return "half_life=None, since a certificate is of samples of equal weight"
        if not isinstance(self._priors(), str) or self._priors() != "empirical":
            return (
                'priors="empirical", since with others a class that was hardly read yet may have '
                "much of the score"
            )
        return ""

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name, tolerance, confidence = type(self).__name__, self.tolerance, self.confidence
        valid = tolerance is None or (is_number(tolerance, 0) and tolerance < 1)
        check(name, "tolerance", tolerance, valid, "None, or a number from 0 to less than 1")
        valid = is_number(confidence, 0, above=True) and confidence < 1
        check(name, "confidence", confidence, valid, "a number between 0 and 1")
        check_seed(name, self.random_state)
        problem = self._uncertain()
        if is_cv(getattr(self, "n_features", getattr(self, "n_components", None))):
            problem = 'a number instead of "cv", which chooses by all samples'
        if tolerance is not None and problem:
            raise ParameterError(
                f"{name}: tolerance: expected {problem}, got other parameters. Leave it out."
            )


class CertifiedSelector(Certified, Selector):
    """A selector by scores that samples of a fold can be asked for. Subclasses give `_gain`."""

    @abstractmethod
    def _gain(self, halves: Halves) -> np.ndarray:
        """Return what the others find in each feature of a fold: at most its score, on average.

        With all folds in the place of the others, the sum over the folds is the score.
        """

    def _held_out_scores(self, stats: ClassStats, solution: Any) -> HeldOutScores:
        held_out, plugged_in, p = [], [], stats.priors()
        for halves in Halves.of(stats, "empirical"):
            scores, varies, _ = self._score(halves.others)
            chosen = columns.rank(scores, varies)[: solution.size]
            held_out.append(float(self._gain(halves)[chosen].sum()))
            whole = halves._replace(others=stats, p_others=p)
            plugged_in.append(float(self._gain(whole)[solution.mask].sum()))
        return HeldOutScores(held_out, plugged_in, float(solution.scores[solution.mask].sum()))

    def _uncertain(self) -> str:
        if getattr(self, "per_class", None) is not None:
            return "per_class=None, since a certificate is of the features of largest score"
        return super()._uncertain()


class CertifiedPerClassSelector(CertifiedSelector, PerClassSelector):
    """One whose score combines one for each class."""

    def __init__(
        self,
        n_features: int | float | str | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        priors: Any = "empirical",
        per_class: int | None = None,
        half_life: float | None = None,
        tolerance: float | None = None,
        confidence: float = 0.95,
        random_state: Any = None,
    ):
        PerClassSelector.__init__(self, n_features, energy, threshold, priors, per_class, half_life)
        self.tolerance = tolerance
        self.confidence = confidence
        self.random_state = random_state
