"""Discriminants that also classify, by the normal distributions that they assume."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError

from narrows.families._atomic import lock_of
from narrows.families._cross import CrossProjector
from narrows.families._project import ExplainedProjector
from narrows.families._solved import Found, Solved
from narrows.solve.products import product
from narrows.solve.ridge import temperature


class Discriminant(ClassifierMixin, ExplainedProjector, CrossProjector):
    """Directions that separate the classes, and a classifier by all of them.

    The classes are assumed to be normal with one covariance, that of the samples about their class
    means with the ridge added, so that log posteriors are linear. `n_components` does not matter.
    Log posteriors are divided by a number, such that those of held-out samples are most likely:
    without it, they are too sure where there are many features.
    """

    _kept = 2000

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, or given to `partial_fit` as `classes`, sorted."""
        state = self._state
        return super().classes_ if isinstance(state, Solved) else state.classes[state.known]

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each of `classes_`, of shape (n_classes,)."""
        state = self._state
        return super().class_count_ if isinstance(state, Solved) else state.counts[state.known]

    def _register(self, classes: np.ndarray) -> None:
        self._state.register(classes)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log posterior of each class, but for a term that all classes share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            In the order of `classes_`; for two classes the difference of both, which is positive
            where the second one is predicted.

        See Also
        --------
        predict : Predict the class with the largest score.
        predict_proba : Estimate probabilities.
        """
        scores = self._log_posterior(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            One of `classes_` for each sample.

        See Also
        --------
        predict_proba : Estimate probabilities.
        score : Return the accuracy.
        """
        scores = self._log_posterior(X, calibrated=False)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        See Also
        --------
        predict_log_proba : Return logarithms.
        predict : Predict the most probable class.
        """
        probability: np.ndarray = softmax(self._log_posterior(X), axis=1)
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
        logarithm: np.ndarray = log_softmax(self._log_posterior(X), axis=1)
        return logarithm

    def _log_posterior(self, X: Any, calibrated: bool = True) -> np.ndarray:
        solution = self._solution
        X = self._check_X(X, reset=False)
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
        weights, intercept = solution.rule
        found = product(X.astype(np.float64, copy=False), weights) + intercept
        if calibrated:
            found = found / self._temperature(solution)
        seen = self.class_count_ > 0
        if seen.all():
            return found
        every = np.full((len(found), len(seen)), -np.inf)  # of classes that were not seen
        every[:, seen] = found
        return every

    def _temperature(self, solution: Found) -> float:
        """Return what log posteriors are divided by, from held-out samples if any were kept."""
        with lock_of(self):
            if solution.temperature is None:
                found, stats = 1.0, self._state
                if not isinstance(stats, Solved) and (stats.counts > 0).sum() > 1:
                    S = stats.scatters()
                    held, counts = stats.held_out(S), stats.counts[stats.counts > 0]
                    if held:
                        found = temperature(S, counts, held, solution.alpha)
                solution.temperature = found  # last, since an interrupt may come before
            return solution.temperature
