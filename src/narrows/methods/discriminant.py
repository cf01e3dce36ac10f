"""Classifiers: what predicts classes by scores that are log posteriors."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from narrows.errors import errors_named_after
from narrows.methods.base import Estimator, lock_of
from narrows.methods.cross import CrossProjector
from narrows.methods.projector import EXPLAINED, Found
from narrows.methods.routes import Solved
from narrows.solve.applied import Applied, Classes, Decision
from narrows.solve.held_out import temperature
from narrows.state.arrays import read_only
from narrows.state.labels import as_labels, is_matrix, log_change


class Classifier(ClassifierMixin, Estimator):
    """An estimator that predicts classes. Subclasses give `_decide`.

    A state has `known`, the classes that were seen with positive weight or registered.
    """

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, or given to `partial_fit` as `classes`, sorted."""
        return self._latest("_labels_known")

    def _labels_known(self) -> np.ndarray:
        return self._state.classes[self._state.known]

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each of `classes_`, of shape (n_classes,)."""
        return self._latest("_counts")

    def _counts(self) -> np.ndarray:
        return self._state.counts[self._state.known]

    def _register(self, classes: np.ndarray) -> None:
        self._state.register(classes)

    @abstractmethod
    def _decide(self, calibrated: bool = True) -> Decision:
        """Return what classes are predicted by; with a temperature of 1 if not `calibrated`."""

    def _decision(self, calibrated: bool = True) -> Decision:
        """Return what classes are predicted by, of the model file if it is there."""
        saved = self._saved
        if saved is None or saved.decision is None:
            return self._decide(calibrated)._replace(classes=self._classes)
        return saved.decision

    @property
    def _classes(self) -> Classes:
        """The classes, and which of them are predicted."""
        state = self._state
        known = state.classes[state.known], state.counts[state.known] > 0
        return Classes(*known, self._several, len(state.classes))

    def _to_apply(self) -> Applied:
        """Return the reduction, and the rule of the classifier if there is one."""
        applied: Applied = super()._to_apply()  # type: ignore[safe-super]
        with suppress(NotFittedError):
            applied.decision = self._decide()._replace(classes=self._classes)
        return applied

    def _to_predict(self) -> tuple[Decision, np.ndarray]:
        """Return what classes are predicted by, and their weights."""
        return self._decision(), self._counts()

    def _to_predict_uncalibrated(self) -> tuple[Decision, np.ndarray]:
        """Return the same without the temperature, which need not be computed."""
        return self._decision(calibrated=False), self._counts()

    def _scores(
        self, X: Any, priors: Any, calibrated: bool = True
    ) -> tuple[Decision, np.ndarray, np.ndarray | None]:
        """Return what classes are predicted by, the scores, and what priors add to posteriors.

        With or without the temperature, which does not matter for `predict` with the priors of the
        fit.
        """
        calibrated |= priors is not None
        decision, counts = self._latest("_to_predict" + "_uncalibrated" * (not calibrated))
        scores = decision.scores(self._check_X(X, reset=False))
        if priors is None:
            return decision, scores, None
        classes = decision.classes
        with errors_named_after(self):
            change = log_change(priors, classes.labels, counts, classes.several)
        return decision, scores, change

    @property
    def _several(self) -> bool:
        """Whether several labels are predicted for a sample."""
        return False

    def decision_function(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the score of each class: its log posterior, up to a term that all classes share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        priors : str, dict or array-like of shape (n_classes,), optional
            As for `predict_proba`.

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
        decision, scores, change = self._scores(X, priors)
        found = decision.posteriors(scores, change)
        one = found.shape[1] == 2 and not decision.classes.several
        return found[:, 1] - found[:, 0] if one else found

    def predict(self, X: Any, priors: Any = None) -> np.ndarray:
        """Predict the most probable class, or all labels with a probability above 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        priors : str, dict or array-like of shape (n_classes,), optional
            As for `predict_proba`: "balanced" finds more samples of rare classes.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            One of `classes_` for each sample; an indicator matrix if OnlineSRDA was fitted to one.

        See Also
        --------
        predict_proba : Estimate probabilities.
        score : Return the accuracy.
        """
        decision, scores, change = self._scores(X, priors, calibrated=False)
        return decision.predicted(scores, change)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`; for several labels, the share of samples all right.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        accuracy : float

        Raises
        ------
        ValueError
            y is an indicator matrix, and one label is predicted for a sample.

        See Also
        --------
        predict : Predict labels.
        """
        check_is_fitted(self)
        if is_matrix(y) and not self._several:
            raise ValueError(
                f"{type(self).__name__}: expected one label per sample to score, got an indicator "
                "matrix. Use OnlineSRDA, which predicts several."
            )
        y = y if is_matrix(y) else as_labels(y, type(self).__name__)
        return float(super().score(X, y, sample_weight))

    def predict_proba(self, X: Any, priors: Any = None) -> np.ndarray:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        priors : str, dict or array-like of shape (n_classes,), optional
            The shares of the classes among the samples to predict, where these differ from those of
            the fit: "balanced" for equal shares, "sqrt" for shares proportional to the square roots
            of `class_count_`, an array in the order of `classes_`, or a dict by class. By default,
            and with "empirical", those of the fit. Nothing is learned again.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. For several labels per sample, the probability of each
            label; these do not sum to 1.

        Raises
        ------
        ValueError
            `priors` are not one number >= 0 for each class, or samples have several labels.

        See Also
        --------
        predict_log_proba : Return logarithms of the probabilities.
        predict : Predict the most probable class.

        Notes
        -----
        With `priors`, the probability of each class is multiplied by its prior divided by its share
        in the fit, and the products are divided by their sum (Saerens, Latinne and Decaestecker,
        2002). This holds for log posteriors and for outputs of regressions, since both are
        calibrated first. It is exact where samples of one class look alike in the fit and later.
        The probability of a class that was not seen stays 0.

        References
        ----------
        M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the Outputs of a Classifier to New a
        Priori Probabilities: A Simple Procedure", Neural Computation 14(1), 2002.
        """
        decision, scores, change = self._scores(X, priors)
        return decision.probabilities(scores, change)

    def predict_log_proba(self, X: Any, priors: Any = None) -> np.ndarray:
        """Estimate the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        priors : str, dict or array-like of shape (n_classes,), optional
            As for `predict_proba`.

        Returns
        -------
        log_P : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        See Also
        --------
        predict_proba : Return probabilities.
        """
        decision, scores, change = self._scores(X, priors)
        found = decision.posteriors(scores, change)
        return log_expit(found) if decision.classes.several else log_softmax(found, axis=1)


class Discriminant(Classifier, CrossProjector):
    """Directions that separate the classes, and a classifier by all of them.

    Scores are log posteriors of normal classes with one covariance, that of the samples about their
    class means with the ridge added; or outputs of ridge regressions of the classes, if they
    predict held-out samples better. Both are linear, and `n_components` does not matter. Scores are
    divided by a number, such that held-out samples are most likely: without it, log posteriors are
    too sure where there are many features.
    """

    explained_variance_ratio_ = EXPLAINED

    @property
    def coef_(self) -> np.ndarray:
        """The coefficients of `decision_function`, of shape (n_classes, n_features)."""
        return read_only(self._linear()[0])

    @property
    def intercept_(self) -> np.ndarray:
        """The intercepts of `decision_function`, of shape (n_classes,)."""
        return read_only(self._linear()[1])

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients and intercepts of `decision_function`, as scikit-learn does."""
        with lock_of(self):
            seen, rule = self._classes.seen, self._decision()
        if rule.map is not None:
            raise AttributeError(
                f"{type(self).__name__} does not support coef_ and intercept_ with hidden features."
            )
        coef = np.zeros((len(seen), len(rule.weights)))
        intercept = np.full(len(seen), -np.inf)
        coef[seen], intercept[seen] = rule.weights.T, rule.intercept
        coef, intercept = coef / rule.temperature, intercept / rule.temperature
        two = len(seen) == 2
        return (coef[1:] - coef[:1], intercept[1:] - intercept[:1]) if two else (coef, intercept)

    @property
    def _kept(self) -> int:
        return int(self.keep)

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes - 1, "LDA, which has more with at most 8,192 features"

    def _decide(self, calibrated: bool = True) -> Decision:
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

    def _temperature(self, solution: Found) -> float:
        """Return what scores are divided by, from held-out samples if any were kept."""
        with lock_of(self):
            if solution.temperature is None:
                found, stats = 1.0, self._state
                if not isinstance(stats, Solved) and (stats.counts > 0).sum() > 1:
                    stats = self._shown(self._mapped(stats))
                    S, _ = self._scatters(stats)
                    held, counts = stats.held_out(S), stats.counts[stats.counts > 0]
                    if held:
                        found = temperature(S, counts, held, solution.alpha, solution.regresses)
                solution.temperature = found  # last, since an interrupt may come before
            return solution.temperature
