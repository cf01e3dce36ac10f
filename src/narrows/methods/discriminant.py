"""Classifiers: what predicts classes by scores that are log posteriors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError

from narrows.methods.base import Estimator, lock_of
from narrows.methods.cross import CrossProjector
from narrows.methods.projector import EXPLAINED, Found
from narrows.methods.routes import Solved
from narrows.solve.held_out import temperature
from narrows.solve.products import product


class Decision(NamedTuple):
    """What classes are predicted by: (Z weights + intercept) / temperature, for coordinates Z.

    Parameters
    ----------
    weights : ndarray of shape (n_coordinates, n_classes)
        For the classes seen.
    intercept : ndarray of shape (n_classes,)
        Beside them.
    temperature : float
        What calibrates the probabilities.
    map : Map or None
        What makes coordinates of samples; if None, they are the features.
    """

    weights: np.ndarray
    intercept: np.ndarray
    temperature: float = 1.0
    map: Any = None

    def scores(self, X: Any) -> np.ndarray:
        """Return the score of each class, of shape (n_samples, n_classes)."""
        X = X.astype(np.float64, copy=False)
        products = product(X, self.weights) if self.map is None else self.map.times(X, self.weights)
        found: np.ndarray = (products + self.intercept) / self.temperature
        return found


class Classifier(ClassifierMixin, Estimator):
    """An estimator that predicts classes. Subclasses give `_decision`.

    A state has `known`, the classes that were seen with positive weight or registered.
    """

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, or given to `partial_fit` as `classes`, sorted."""
        with lock_of(self):
            state = self._state
            return state.classes[state.known]

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each of `classes_`, of shape (n_classes,)."""
        with lock_of(self):
            state = self._state
            return state.counts[state.known]

    def _register(self, classes: np.ndarray) -> None:
        self._state.register(classes)

    @abstractmethod
    def _decision(self, calibrated: bool = True) -> Decision:
        """Return what classes are predicted by; with a temperature of 1 if not `calibrated`."""

    def _log_posterior(self, X: Any, calibrated: bool = True) -> np.ndarray:
        """Return the log posterior of each of `classes_`, but for a term that all share.

        With or without the temperature, which does not matter for `predict`. If `_several`, the
        log odds of each.
        """
        X = self._check_X(X, reset=False)
        return self._of_every_class(self._decision(calibrated).scores(X))

    @property
    def _several(self) -> bool:
        """Whether several labels are predicted for a sample."""
        return False

    def _of_every_class(self, scores: np.ndarray) -> np.ndarray:
        """Return scores of the classes seen as those of `classes_`; others have -inf."""
        seen = self.class_count_ > 0
        if seen.all():
            return scores
        every = np.full((len(scores), len(seen)), -np.inf)
        every[:, seen] = scores
        return every

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log posterior of each class, up to a term that all classes share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            In the order of `classes_`. For two classes, their difference, which is positive if the
            second class is predicted. For several labels per sample, the log odds of each label, of
            shape (n_samples, n_classes).

        See Also
        --------
        predict : Predict the class with the largest score.
        predict_proba : Estimate probabilities.
        """
        with lock_of(self):  # scores and classes of one moment
            scores, several = self._log_posterior(X), self._several
        one = scores.shape[1] == 2 and not several
        return scores[:, 1] - scores[:, 0] if one else scores

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class, or all labels with a probability above 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            One of `classes_` for each sample; an indicator matrix if OnlineSRDA was fitted to one.

        See Also
        --------
        predict_proba : Estimate probabilities.
        score : Return the accuracy.
        """
        with lock_of(self):
            scores, several = self._log_posterior(X, calibrated=False), self._several
            classes, n_labels = self.classes_, len(self._state.classes)
        if not several:
            return classes[scores.argmax(axis=1)]
        every = np.zeros((len(scores), n_labels), np.int64)
        every[:, classes] = scores > 0
        return every

    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. For several labels per sample, the probability of each
            label; these do not sum to 1.

        See Also
        --------
        predict_log_proba : Return logarithms of the probabilities.
        predict : Predict the most probable class.
        """
        with lock_of(self):
            scores, several = self._log_posterior(X), self._several
        probability: np.ndarray = expit(scores) if several else softmax(scores, axis=1)
        return probability

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Estimate the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        log_P : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        See Also
        --------
        predict_proba : Return probabilities.
        """
        with lock_of(self):
            scores, several = self._log_posterior(X), self._several
        logarithm: np.ndarray = log_expit(scores) if several else log_softmax(scores, axis=1)
        return logarithm


class Discriminant(Classifier, CrossProjector):
    """Directions that separate the classes, and a classifier by all of them.

    The classes are assumed to be normal with one covariance, that of the samples about their class
    means with the ridge added, so that log posteriors are linear. `n_components` does not matter.
    Log posteriors are divided by a number, such that those of held-out samples are most likely:
    without it, they are too sure where there are many features.
    """

    explained_variance_ratio_ = EXPLAINED

    @property
    def _kept(self) -> int:
        return int(self.keep)

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes - 1, "LDA, which has more with at most 8,192 features"

    def _decision(self, calibrated: bool = True) -> Decision:
        solution = self._solution
        if not isinstance(solution, Found) or solution.rule is None:
            if not isinstance(self._state, Solved):
                raise NotFittedError(
                    f"{type(self).__name__}: expected samples to predict by, got none so far. "
                    "Continue with partial_fit."
                )
            raise NotFittedError(
                f"{type(self).__name__}: expected a model that was fitted by narrows 0.2 or later, "
                "got an older one. Call fit again to predict."
            )
        temperature = self._temperature(solution) if calibrated else 1.0
        return Decision(*solution.rule, temperature, solution.map)

    def _solved_for(self, state: Any, solution: Found) -> Any:
        """Return the state that a solution is a function of."""
        return state

    def _temperature(self, solution: Found) -> float:
        """Return what log posteriors are divided by, from held-out samples if any were kept."""
        with lock_of(self):
            if solution.temperature is None:
                found, stats = 1.0, self._shown(self._state)
                if not isinstance(stats, Solved) and (stats.counts > 0).sum() > 1:
                    stats = self._solved_for(stats, solution)
                    S = stats.scatters()
                    held, counts = stats.held_out(S), stats.counts[stats.counts > 0]
                    if held:
                        found = temperature(S, counts, held, solution.alpha)
                solution.temperature = found  # last, since an interrupt may come before
            return solution.temperature
