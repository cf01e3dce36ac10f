"""Methods that know how sure their result is, and may stop reading when it is sure enough."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from narrows.criteria import BETWEEN
from narrows.errors import ParameterError, warn
from narrows.methods.base import Additive
from narrows.methods.parameters import NONE, Constraint, check_parts, is_cv, parameters, real, seed
from narrows.methods.routes import Sums
from narrows.methods.selector import PerClassSelector
from narrows.solve import columns
from narrows.solve.certificate import (
    FIRST,
    HEAVY,
    Certificate,
    HeldOutScores,
    certify,
    errors_of,
    has_heavy_tails,
    look,
    order_of,
    unsure,
)
from narrows.state.class_stats import ClassStats, Second, checked_rows
from narrows.state.halves import Halves
from narrows.state.labels import indicator

FOLDS = 10  # by which a result is certified
_BLOCK = 1 << 16  # samples that are copied at a time


class UntilSure(Sums):
    """One pass over samples in random order, until the result is sure enough."""

    def of_samples(self, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        """Return the state of the first samples that suffice."""
        estimator = self.estimator
        if estimator.tolerance is None:
            return super().of_samples(X, y, sample_weight)
        classes, Y = indicator(X, estimator._labels(X, y), sample_weight)
        order = check_random_state(estimator.random_state).permutation(X.shape[0])
        state, first, stop, reason = self.empty(X.shape[1]), 0, FIRST, ""
        while first < len(order):
            rows = order[first : min(stop, first + _BLOCK)]
            state.add_samples(checked_rows(X[rows]), classes, Y[rows])
            first += len(rows)
            if first == stop:
                stop *= 2
                found = estimator._look(state) if estimator.tolerance else None
                reason = found.reason if found else ""
                if found and found.share >= 1 - estimator.tolerance:
                    break
        self._say(reason)
        return state

    def of_parts(self, parts: Any) -> ClassStats:
        """Return the state of the first parts that suffice."""
        estimator = self.estimator
        if not estimator.tolerance:
            return super().of_parts(parts)
        check_parts(type(estimator).__name__, estimator.half_life)
        order = check_random_state(estimator.random_state).permutation(len(parts.parts))
        if len(order) < 2 * FOLDS:
            raise ParameterError(
                f"{type(estimator).__name__}: tolerance: expected data in at least {2 * FOLDS} "
                f"parts to draw from, got {len(order)}. Use a larger uncompressed text file, "
                "Parquet with more row groups, more files or partitions, or leave it out."
            )
        looks, reason = 0, ""
        for state, bar in parts.draw(clone(estimator), order, FOLDS):
            estimator._check_order(state)
            if look(state.n_samples) > looks:  # each has a risk of its own
                looks, found = look(state.n_samples), estimator._look(state)
                bar.set_postfix_str(f"{np.floor(1000 * found.share) / 10:.1f}% of the best score")
                reason = found.reason
                if found.share >= 1 - estimator.tolerance:
                    break
        self._say(reason)
        return state

    def _say(self, reason: str) -> None:
        """Warn if the last look certified nothing because of heavy tails."""
        if reason == HEAVY:
            warn(
                f"{type(self.estimator).__name__}: tolerance: all samples were read, since "
                f"{HEAVY}. Take logarithms, or clip the values."
            )


class Certified(Additive):
    """A method with `tolerance` and `certificate_`. Subclasses give `_held_out_scores`."""

    _only_route = UntilSure

    _constraints: ClassVar[dict[str, Constraint]] = {
        "tolerance": (NONE | real(0, 1)).said("None, or a number from 0 to less than 1"),
        "confidence": real(0, 1, above=True).said("a number between 0 and 1"),
        "random_state": seed(),
    }
    tolerance: float | None
    confidence: float
    random_state: Any

    @abstractmethod
    def _held_out_scores(self, stats: ClassStats, solution: Any) -> HeldOutScores:
        """Return the scores of the reductions that the other folds choose, in each fold."""

    @property
    def certificate_(self) -> Certificate:
        """Bounds on the score: `n_samples`, `share`, `lower`, `upper` and `confidence`.

        With probability `confidence`, the score of the result is at least `share` of the best score
        of a result of the same size, on the distribution that the samples were drawn from.
        """
        stats, solution = self._state, self._solution
        problem = self._uncertain()
        if not stats.folds:
            problem = "a state with folds, got one without. Fit with tolerance, 0 to read all"
        problem = problem or self._disordered(stats)
        if problem:
            raise AttributeError(f"{type(self).__name__}: certificate_: expected {problem}.")
        found = vars(solution).setdefault("certificates", {})  # a solution is of one state
        if self.confidence not in found:
            found[self.confidence] = self._certify(stats, solution)
        return found[self.confidence]

    # -- inside -----------------------------------------------------------------------------

    def _certify(self, stats: ClassStats, solution: Any) -> Certificate:
        reason = ""
        if stats.n_samples < FIRST:
            reason = f"fewer than {FIRST} samples"
        elif int((stats.counts > 0).sum()) < 2:
            reason = "fewer than two classes"
        elif stats.second == "total" and has_heavy_tails(_variances(stats)):
            reason = HEAVY
        if reason:
            return unsure(stats.n_samples, self.confidence, reason)
        scores = self._held_out_scores(stats, solution)
        return certify(scores, stats.fold_counts.sum(axis=1), stats.n_samples, self.confidence)

    def _empty_state(self, n_features: int) -> ClassStats:
        """Return a state with squares, which show heavy tails, unless features are only present."""
        second: Second = None if self.tolerance is None or self._presence else "total"
        folds = self._folds()
        return ClassStats(n_features, second=second, presence=self._presence, folds=folds)

    def _look(self, stats: ClassStats) -> Certificate:
        """Return the certificate for samples so far."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said once, of the last solution
            solution = self._solve(stats)
            try:
                self._check_solution(solution, stats)
            except ValueError:  # the one asked for needs more samples
                return unsure(stats.n_samples, self.confidence, "too few samples")
            return self._certify(stats, solution)

    def _disordered(self, stats: ClassStats) -> str:
        """Return what is expected where the classes of the folds show another order."""
        if stats.n != stats.n_samples:  # weights are not counts
            return ""
        problem = order_of(stats.fold_counts)
        return f"samples in random order, got {problem}. Shuffle them" if problem else ""

    def _check_order(self, stats: ClassStats) -> None:
        """Raise where the classes of the folds show that samples are not in random order."""
        problem = self._disordered(stats)
        if problem:
            raise ParameterError(
                f"{type(self).__name__}: tolerance: expected {problem}, or leave it out."
            )

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        return self.tolerance is not None or super()._sums_show_nan(X, y, sample_weight)

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

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        problem = self._uncertain()
        if is_cv(getattr(self, "n_features", getattr(self, "n_components", None))):
            problem = 'a number instead of "cv", which chooses by all samples'
        if self.tolerance is not None and problem:
            raise ParameterError(
                f"{type(self).__name__}: tolerance: expected {problem}, got other "
                "parameters. Leave it out."
            )


def _variances(stats: ClassStats) -> np.ndarray:
    """Return the sum of the variances within the classes of each fold."""
    found = []
    for fold in map(stats.fold, range(stats.folds or 0)):
        within = fold.variances(fold.priors()) - BETWEEN.diagonal(fold)
        found.append(float(within.sum()) if fold.n else 0.0)
    return np.maximum(found, 0.0)


@parameters
class CertifiedSelector(Certified, PerClassSelector):
    """A selector by scores that samples of a fold can be asked for. Subclasses give `_gain`."""

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    per_class: int | None = None
    half_life: float | None = None
    tolerance: float | None = None
    confidence: float = 0.95
    random_state: Any = None

    @abstractmethod
    def _gain(self, halves: Halves) -> np.ndarray:
        """Return what the others find in each feature of a fold: at most its score, on average.

        With all folds in the place of the others, the sum over the folds is the score.
        """

    def _held_out_scores(self, stats: ClassStats, solution: Any) -> HeldOutScores:
        held_out, gains, p = [], [], stats.priors()
        for halves in Halves.of(stats, "empirical"):
            scores, varies, _ = self._score(halves.others)
            chosen = columns.rank(scores, varies)[: solution.size]
            held_out.append(float(self._gain(halves)[chosen].sum()))
            gains.append(self._gain(halves._replace(others=stats, p_others=p)))
        scores, mask = solution.scores, solution.mask
        errors = errors_of(np.array(gains), stats.fold_counts.sum(axis=1))
        return HeldOutScores(
            held_out,
            [float(gain[mask].sum()) for gain in gains],
            float(scores[mask].sum()) + self._bias(stats, solution.size),
            partial(_regret, scores, errors, mask),
        )

    def _bias(self, stats: ClassStats, size: int) -> float:
        """Return by how much the scores of features may be too small on average, at most."""
        return 0.0

    def _uncertain(self) -> str:
        if self.per_class is not None:
            return "per_class=None, since a certificate is of the features of largest score"
        return super()._uncertain()


def _regret(
    scores: np.ndarray, errors: np.ndarray, mask: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return how much larger the sum of the best scores is than that of the selected features.

    Features that no error makes one of the best are left out.
    """
    unit, size = np.abs(scores).max(initial=0.0) or 1.0, int(mask.sum())
    scores, errors = scores / unit, errors / unit  # whose squares are numbers
    reach = np.linalg.norm(weights, axis=1).max() * np.linalg.norm(errors, axis=0)
    least = np.partition(scores - reach, -size)[-size]
    live = mask | (scores + reach >= least)
    scores, errors, mask = scores[live], errors[:, live], mask[live]
    head = np.argsort(-scores)[: 4 * size]
    regret = np.empty(len(weights))
    for i, w in enumerate(weights):
        other = scores + w @ errors
        least = np.partition(other[head], -size)[-size]  # at most the size-th largest of all
        top = other[other > least]
        top = np.partition(top, -size)[-size:] if len(top) > size else top
        regret[i] = top.sum() + (size - len(top)) * least - other[mask].sum()
    return unit * regret
