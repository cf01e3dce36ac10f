"""Discriminants: directions that separate classes, and the classifiers by them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError, WidthError, features_named
from narrows.methods.attributes import (
    EIGENVALUES,
    EXPLAINED,
    HELD_OUT_ERRORS,
    HELD_OUT_SCORES,
    RIDGE,
    attribute,
    compared,
)
from narrows.methods.base import can_add, emptied_copy, fit_learned, where
from narrows.methods.learned import Learned, lock_of
from narrows.methods.parameters import (
    CV,
    FLAG,
    LARGEST,
    NONE,
    NOT_NEGATIVE,
    Constraint,
    is_integer,
    parameters,
    real,
    seed,
    whole,
    word,
)
from narrows.methods.plan import Data, Pass, Plan, Where
from narrows.methods.projectors import Projector, check_means
from narrows.methods.refine import Refine, check_two
from narrows.methods.standardize import unit_of
from narrows.moments.labels import (
    as_array,
    as_labels,
    is_matrix,
    log_change,
    one_a_row,
    weights,
)
from narrows.moments.maps import RandomFeatures
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.moments.reservoir import EVERY
from narrows.moments.targets import Targets
from narrows.solutions import discriminants
from narrows.solutions.choice import KEPT
from narrows.solutions.refine import log_odds, refined
from narrows.solutions.regressors import ridge_of
from narrows.solve.arrays import read_only
from narrows.solve.calibration import ENOUGH
from narrows.solve.devices import as_given
from narrows.solve.kernel_map import KERNELS, MOST_HIDDEN
from narrows.solve.logistic import LogOdds
from narrows.solve.solution import Solution
from narrows.solve.sums import TINY


class Discriminant(ClassifierMixin, Projector):
    """Shows the rule of a solution as a classifier.

    Scores are log posteriors of normal classes with one covariance, that of the samples about their
    class means with the ridge added; or outputs of ridge regressions of the classes, if they
    predict held-out samples better. Both are linear, and `n_components` does not matter. Scores are
    divided by a number, such that held-out samples are most likely: without it, log posteriors are
    too sure where there are many features.
    """

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
        found = self._predicting(calibrated=True)
        if found.map is not None:
            raise AttributeError(
                f"{type(self).__name__} does not support coef_ and intercept_ with hidden features."
            )
        seen, rule = found.classes.seen, found.rule
        coef = np.zeros((len(seen), len(rule.coef)))
        intercept = np.full(len(seen), -np.inf)
        coef[seen], intercept[seen] = rule.coef.T, rule.intercept
        coef, intercept = coef / rule.temperature, intercept / rule.temperature
        two = len(seen) == 2
        return (coef[1:] - coef[:1], intercept[1:] - intercept[:1]) if two else (coef, intercept)

    # -- predicting -----------------------------------------------------------------------------

    def _predicting(self, calibrated: bool = False) -> Solution:
        found = super()._predicting(calibrated)
        if found.rule.temperature or not found.is_chosen:
            return found
        learned = self._learned
        if learned.step.n_held(learned.state) < ENOUGH * len(found.rule.intercept):
            return found
        return super()._predicting(calibrated=True)  # kept samples improve the rule, too

    def _scores(
        self, X: Any, priors: Any, calibrated: bool = True
    ) -> tuple[Solution, np.ndarray, np.ndarray | None]:
        """Return the solution, the scores of samples, and what priors add to log posteriors.

        With or without the temperature, which does not matter for `predict` with the priors of the
        fit.
        """
        found = self._predicting(calibrated or priors is not None)
        scores = found.scores(self._check_X(X, reset=False))
        if priors is None:
            return found, scores, None
        classes = found.classes
        with features_named(self):
            change = log_change(priors, classes.labels, classes.counts, bool(classes.n_labels))
        return found, scores, change

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
        found, scores, change = self._scores(X, priors)
        values = found.posteriors(scores, change)
        one = values.shape[1] == 2 and not found.classes.n_labels
        return as_given(values[:, 1] - values[:, 0] if one else values, X)

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
        found, scores, change = self._scores(X, priors, calibrated=False)
        return found.predicted(scores, change)

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
        if is_matrix(y) and not self._learned.classes.n_labels:
            raise ValueError(
                "expected one label per sample to score, got an indicator "
                "matrix. Use OnlineSRDA, which predicts several."
            )
        y = y if is_matrix(y) else as_labels(y)
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
        found, scores, change = self._scores(X, priors)
        return as_given(found.probabilities(scores, change), X)

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
        found, scores, change = self._scores(X, priors)
        values = found.posteriors(scores, change)
        several = found.classes.n_labels
        return as_given(log_expit(values) if several else log_softmax(values, axis=1), X)

    # -- solving --------------------------------------------------------------------------------

    def _sums(self, data: Data) -> Any:
        return Pass(second="cross", keep=int(self.keep), half_life=self.half_life)

    def _with_probabilities(self, learned: Learned, found: Solution) -> Solution:
        m, map = learned.moments, learned.step.map
        if map is not None:
            return discriminants.calibrated(m, found, None, map.coordinates)
        return discriminants.calibrated(m, found, unit_of(self, m))

    def _check_solution(self, found: Solution) -> None:
        if isinstance(self.n_components, str) and found.sizes is None:
            raise ValueError(
                "expected a class with two samples at least for "
                'n_components="cv", got one sample of each class. Use a number or None.'
            )


class Refinable(Discriminant):
    """With ``refine=True``, a Newton step of logistic regression improves the classifier.

    Its first pass sums moments of the classes, and the second weighted ones; see `Refine`.
    """

    _ridge: ClassVar[str]  # the name of its parameter

    @abstractmethod
    def _solve_classes(self, learned: Learned) -> Solution:
        """Return the solution for moments of classes."""

    def _sums(self, data: Data) -> Any:
        sums = super()._sums(data)
        return Refine(**vars(sums)) if self.refine else sums

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        plan = super()._plan(data, where, samples)
        if not self.refine or where == "stream":
            return plan
        if plan.passes[0].gathers:
            if data.n_features <= MOST:
                raise ParameterError(
                    f"expected a `solver` that sums products for `refine`, got {self.solver!r}. "
                    "Leave one of them out."
                )
            raise ParameterError(
                f"expected at most {MOST:,} features for `refine`, got {data.n_features:,}. Leave "
                "`refine` out, or select features first, for example with OCFS."
            )
        return Plan((super()._sums(data), *plan.passes), map_of=self._start)

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if self.refine and self.n_components not in (None, 1):
            raise ParameterError(
                "expected `n_components` to be None or 1 for `refine`, since two classes have one "
                f"direction, got {self.n_components!r}. Leave one of them out."
            )

    def _start(self, m: Moments) -> LogOdds:
        """Return where the Newton step starts: at the classifier that moments determine."""
        check_two(m.classes[m.counts > 0])
        learned = Learned(super()._sums(Data(m.n_features)), [m])
        with features_named(self):
            found = replace(self._solve_classes(learned), classes=learned.classes)
            return log_odds(self._with_probabilities(learned, found))

    def _solve(self, learned: Learned) -> Solution:
        if not self.refine:
            return self._solve_classes(learned)
        if len(learned.folds) == 1:
            raise ParameterError(
                "expected a fit to samples with `refine`, got moments of the classes alone. Fit to "
                "samples again, or leave `refine` out."
            )
        m, newton = learned.folds
        check_two(m.classes[m.counts > 0])
        ridge, by_within = getattr(self, self._ridge), self._ridge == "mu"
        return refined(learned.step.start, m, newton, ridge, unit_of(self, m), by_within)

    def _next_step(self, learned: Learned) -> Any:
        step = super()._next_step(learned)
        if learned.n_samples and getattr(step, "start", None) is not None:
            m, newton = learned.folds
            return replace(step, start=log_odds(self._read(True), newton.n / m.n))
        return step

    def _advance(self, learned: Learned, X: Any, y: Any, sample_weight: Any) -> None:
        step = learned.step
        if getattr(step, "start", step) is None:  # a stream, which has no first classifier yet
            before = super()._sums(Data(X.shape[1]))
            (m,) = before.add(before.empty(X.shape[1]), X, y, sample_weight)
            learned.step = replace(step, start=self._start(m))
        super()._advance(learned, X, y, sample_weight)


@parameters
class SRDA(Refinable):
    """Spectral regression discriminant analysis for sparse and dense data.

    ::

        criterion   maximise trace((W'(C + alpha/n I) W)^-1 W'S_b W)
        space       W real
        schedule    exact, from all samples at once or batch by batch

    where S_b is the scatter of the class means and C the covariance of the n samples. The optimum
    consists of the leading eigenvectors of the pair (S_b, C + alpha/n I). These are the directions
    of regularised LDA, and solve ridge regressions of responses that are constant within each
    class. Their lengths are such that w'(S_w + alpha/n I) w = 1, with the scatter S_w = C - S_b
    within the classes: `transform` returns X W, not centred, with unit variance within the classes
    where alpha is small.

    With at most 8,192 features, both matrices are computed from sums over the samples (`Moments`
    with ``second="cross"``). Batches in any order, merged estimators and a single `fit` then give
    the same result. With more features, `fit` needs all samples in memory; `OnlineSRDA` learns
    streams, files and parts on clusters.

    ``solver="lsqr"`` needs all samples at once. For each of c - 1 orthonormal responses t of c
    classes, it minimises ::

        |(X - 1 m')w - t|^2 + alpha |w|^2

    by at most `max_iter` steps of LSQR, and rotates the solutions so that the best directions come
    first. `max_iter` acts as regularisation: one step spans the `OC` subspace; further steps
    approach LDA. There is no warning if `tol` is not reached.

    Parameters
    ----------
    n_components : int or "cv", optional
        p, the number of directions. By default n_classes - 1 (fewer if the rank is lower). An
        explicit number holds from the first batch of a stream on; directions that are not available
        yet are zero. "cv" chooses the number with held-out samples, for "cross": see Notes.
    alpha : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, in the squared units of X. It is added to the scatter of all samples, which is a
        sum and not a mean. "scale" is the mean squared length of the centred samples. "cv" chooses
        the ridge with held-out samples: see Notes. "auto" is "cv" with ``solver="cross"``, and
        "scale" otherwise.
    solver : {"auto", "cross", "lsqr"}, default="auto"
        "cross" solves the eigenproblem from cross products, and "lsqr" needs all samples at once.
        "auto" is "cross" for at most 8,192 features. With more features, it is "lsqr", or solves
        the eigenproblem from inner products of at most 8,192 dense samples.
    max_iter : int, default=20
        The maximum number of LSQR steps for each response.
    tol : float, default=1e-8
        Relative tolerance on the residuals (LSQR's atol and btol) at which the steps end.
    {half_life}
    {keep}
    {standardize}
    refine : bool, default=False
        Whether to improve the classifier of two classes by one Newton step of logistic regression,
        in a second pass over the samples; with at most 8,192 features. `alpha` is then the ridge of
        this step, too: see Notes.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, best direction first; not orthogonal. The entry of largest magnitude in
        each direction is positive. Directions that are not available (yet) are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'(C + alpha/n I) w of each direction, between 0 and 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues r, divided by the sum of all eigenvalues, not only the first `n_components`.
        scikit-learn's LDA uses the ratios r / (1 - r) to the scatter within the classes instead.
    alpha_ : float
        The ridge.
    alphas_, alpha_scores_, alpha_errors_ : ndarray of shape (n_alphas,)
        The ridges that "cv" compares, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if alpha was not chosen.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_available,)
        With ``n_components="cv"``: entry p - 1 is 1 minus the Brier score of held-out samples by
        the first p directions, and its standard error; else empty.
    n_iter_ : int
        The number of LSQR steps of the slowest response; 1 where no steps are needed.
    {coef_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of available directions, or is "cv" where no samples are kept, or there are more than 8,192
        features in `partial_fit`, in sparse files or on a cluster.

    See Also
    --------
    OnlineSRDA : Discriminant analysis on a stream with any number of features, approximately.
    LDA : Discriminant analysis with other forms of the criterion.
    OC : Projection by the scatter of the class means only.
    FisherFS : Selection of features by the ratio of the scatters.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : LDA of dense samples, all at once.

    Notes
    -----
    **Cost**, for d <= 8,192 features and c classes: O(n d^2) to learn n dense samples on all cores,
    O(d^3) when attributes are read; with alpha chosen, about 10 times that, or up to 40 times for
    fewer than 8,000 samples. Memory: 8 d^2 bytes, and up to 2,000 samples. With fewer samples than
    features, O(n^2 d). LSQR: 2 max_iter products of X with c - 1 vectors at once, O(c (nnz + n +
    d)) each; memory 8 c (6 d + 3 n) bytes.

    **The choice of alpha**: the state keeps up to 2,000 samples, those with the smallest hashes, so
    that order and merging do not matter. The first 1,000 of them are divided into parts of at most
    a quarter of all samples. Each part is subtracted from the sums and predicted from the other
    samples, with ten ridges: "scale" times the powers of ten from 1e-7 to 100. The ridge is the one
    nearest to "scale" whose mean log-likelihood is within half a standard error of the best. Where
    all weights are below 1, they and "scale" are in the unit of the largest: equal weights
    that add up to 1 give the directions of weights of 1. Model files contain the kept samples.

    **The number of directions** with "cv": the kept samples are classified by the first p
    directions of the other samples, for every p, with the ridge `alpha_`. The number is the
    smallest one whose Brier score, the mean of sum_j (P_j - [j = y])^2 with the probabilities P_j,
    is behind the best by at most one standard error of the difference. `predict` uses all
    directions. On a stream all directions are used while no class has two samples.

    **Scores** are log posteriors of normal classes with covariance S_w + alpha/n I, or, with more
    than two classes, outputs of ridge regressions of the class indicators, in the same directions:
    if they predict kept samples better by 2.5 standard errors where alpha is chosen, and with more
    features than samples for LSQR.

    **Probabilities** are softmax(s A + b) for scores s. Where alpha is chosen, A and b minimise ::

        - sum_i log P_(y_i)(x_i) + lambda/2 |A T - I|^2 + 1/2 |b|^2

    over kept samples, which are predicted from the others, with the weights that their classes have
    among all samples: the means of the probabilities are then the shares of the classes. lambda is
    the largest of infinity, 100, 10 and 1 that predicts other kept samples as well as the best, or
    by one standard error worse; with fewer kept samples than 4 c^2 it is infinite, and with fewer
    than 16 c b is 0, too. The temperature T is the most likely one. With a given alpha, A = I/T and
    b = 0; without kept samples, T = 1. `predict` returns the most probable class.

    **refine**: for two classes, log odds eta = x'b + b0 of the classifier above have the
    probabilities q, and a second pass sums moments for ::

        minimise  sum_i w_i (r_i - x_i'b - b0)^2 + alpha |b|^2,
                  w = q (1 - q),  r = eta + (y - q) / w

    with y = 1 for the second class. This is one Newton step of logistic regression with the penalty
    ``alpha/2 |b|^2``, that is C = 1/alpha of scikit-learn's LogisticRegression. From a consistent
    start it is as efficient as the maximum-likelihood estimate (Le Cam). With alpha chosen, kept
    samples are each predicted by the others with 18 ridges; where the classifier predicts held-out
    samples better than the step by half a standard error, the part of the step that predicts them
    best is taken. A step with which the moments of the classes, if they were normal, let expect
    more than twice the loss, and 0.9 of that without features, is not taken. The direction is that
    of b. `partial_fit` and `merge` add sums of steps that started from the last solution, or from
    that of each estimator: approximately a fit to all samples. `set_params` changes the ridge of
    the step alone, until the next `fit`.

    **Reproducibility**: LSQR amplifies rounding errors, so that `components_` depend on the order
    of the samples, the machine and the number of threads.

    References
    ----------
    D. Cai, X. He, J. Han, "SRDA: An Efficient Algorithm for Large-Scale Discriminant Analysis",
    IEEE TKDE 20(1), 2008. The state and the choice of alpha are specific to narrows.
    One-step estimators: L. Le Cam, "On the Asymptotic Theory of Estimation and Testing Hypotheses",
    Proc. Third Berkeley Symposium, 1956.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import SRDA
    >>> X, y = load_digits(return_X_y=True)
    >>> srda = SRDA(n_components=2)
    >>> for start in range(0, 1797, 600):
    ...     srda = srda.partial_fit(X[start : start + 600], y[start : start + 600])
    >>> srda.transform(X).shape, bool(srda.score(X, y) > 0.9)
    ((1797, 2), True)
    """

    _ridge = "alpha"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | CV | NONE,
        "alpha": word("auto", "scale", "cv") | real(0, LARGEST),
        "solver": word("auto", "cross", "lsqr"),
        "max_iter": whole(1),
        "tol": real(0, LARGEST),
        "refine": FLAG,
    }
    _instead = "OnlineSRDA, or OC, which is exact on a stream"
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED
    alpha_ = RIDGE
    alphas_, alpha_scores_, alpha_errors_ = compared("alphas_", "ridges")
    n_iter_ = attribute(
        lambda s: s.n_iter,
        "The number of LSQR steps of the slowest response; 1 where no steps are needed.",
    )

    n_components: int | str | None = None
    alpha: float | str = "auto"
    solver: str = "auto"
    max_iter: int = 20
    tol: float = 1e-8
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False
    refine: bool = False

    def _solve_classes(self, learned: Learned) -> Solution:
        decays = self.half_life is not None
        return discriminants.srda(
            learned.moments, self.n_components, self.alpha, unit_of(self, learned.moments), decays
        )

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        how: dict[str, Any] = {
            "solver": self.solver,
            "max_iter": self.max_iter,
            "tol": float(self.tol),
        }
        find = partial(discriminants.srda_of_samples, **how)
        return self._of_classes(X, y, weight, partial(ridge_of, self.alpha), find)

    def _check_solution(self, found: Solution) -> None:
        most = int(found.classes.seen.sum()) - 1
        check_means(self, found, most, "LDA, which has more with at most 8,192 features")
        super()._check_solution(found)


@parameters
class LDA(Refinable):
    """Linear discriminant analysis, also with more directions than classes have.

    ::

        criterion   maximise trace((W'D W)^-1 W'S_b W), with W'S_b W and W'D W diagonal, and
                    "regularized"   D = S_w + mu/n I
                    "pca"           D = S_w, on principal components
                    "gsvd"          D = S_w + S_b, the total scatter C
        space       W real, in the span of the samples
        schedule    exact, from all samples at once; "regularized" also batch by batch

    where S_b is the scatter of the class means and S_w the scatter within the classes, both divided
    by the number n of samples. Each direction has w'(S_w + mu/n I) w = 1, with mu = 0 but for
    "regularized": `transform` returns X W, not centred, with unit variance within the classes where
    mu is small. If a direction of "gsvd" has no scatter within the classes, all directions have
    w'C w = 1 instead. With more features than samples S_w is singular, and Fisher's quotient has no
    maximum. "regularized" (RLDA) adds mu to the diagonal. "pca" (PCA+LDA) first reduces the samples
    to so few principal components that S_w is not singular. "gsvd" (LDA/GSVD) divides by the total
    scatter; its maximum, 1, is attained by all directions without scatter within the classes. If
    S_w is not singular, "pca" and "gsvd" give the directions of scikit-learn's LDA, and so does
    "regularized" as mu tends to 0.

    At most n_classes - 1 directions separate class means. With a larger `n_components`,
    "regularized" continues with the w that ::

        maximise w'S_w w / w'(S_w + mu/n I) w, with w'(m_j - m) = 0 for all classes j

    one after the other, in the same units. These are the principal directions of the scatter within
    the classes, as far as it does not separate the class means. They keep what classes that
    were not in the fit need. Fewer components are the first of more.

    "regularized" is a function of sums (`Moments` with ``second="cross"``) for at most 8,192
    features: batches in any order, merging and `fit` give the same result. The other forms, and
    data with more features, need all samples at once.

    Parameters
    ----------
    n_components : int or "cv", optional
        p, the number of directions, with "regularized" at most the rank of the samples. By default
        n_classes - 1 (fewer if the rank is lower). An explicit number holds from the first batch of
        a stream on; directions that are not available yet are zero. "cv" chooses a number up to
        n_classes - 1 with held-out samples, as `SRDA` does; "regularized" only.
    solver : {"regularized", "pca", "gsvd"}, default="regularized"
        The form of the criterion.
    mu : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, added to the diagonal of n S_w by "regularized", >= 0, in the squared units of X.
        n S_w is a sum over the samples, so that mu has less effect the more samples there are.
        "scale" is the mean squared length of the centred samples. "cv" chooses the ridge with
        held-out samples, as ``SRDA(alpha="cv")`` does; the directions are then the same. "auto" is
        "cv" with at most 8,192 features, and "scale" otherwise. Other solvers ignore it.
    pca_components : int, optional
        The number of leading principal components of X - m that "pca" uses. By default "pca" uses
        all components of X - m_y instead, the samples minus their class means (n - c components for
        d >= n in general position): with as many components of X - m, S_w is nearly singular.
    {half_life}
    {keep}
    {standardize}
    refine : bool, default=False
        Whether to improve the classifier of two classes by one Newton step of logistic regression,
        as `SRDA` does; "regularized" only. `mu` is then the ridge of this step, too.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, best direction first; not orthogonal. The entry of largest magnitude in
        each direction is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'D w of each direction. Of directions that do not separate the classes: w'S_w w /
        w'D w, between 0 and 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the sum of those of all directions that separate the classes,
        not only the first `n_components`; 0 for directions that do not. With "pca" these are the
        ratios of scikit-learn's LDA, if S_w is not singular.
    mu_ : float
        The mu of "regularized"; 0 for the other forms.
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED
    mus_, mu_scores_, mu_errors_ : ndarray of shape (n_mus,)
        The values that "cv" compares, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if mu was not chosen.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_available,)
        With ``n_components="cv"``: entry p - 1 is 1 minus the Brier score of held-out samples by
        the first p directions, and its standard error; else empty.
    {coef_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of available directions, S_w is singular and mu=0, a parameter is "cv" and no samples are
        kept, or X is sparse and the solver is not "regularized", mu is 0, or there are more than
        8,192 samples of more than 8,192 features; use `SRDA`.

    See Also
    --------
    SRDA : The same first n_classes - 1 directions, also for wide sparse data.
    IDRQR : Discriminant analysis in the span of the class means, also on a stream.
    FisherFS : Selection of features by the same ratio.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Classification, for n > d.

    Notes
    -----
    **Cost**, for n samples and d features: the smaller of O(n d^2) and O(n^2 d). "regularized"
    learns dense samples on all cores, and takes O(d^3) when attributes are read, about twice as
    long with more directions than classes have; memory 8 d^2 bytes, and up to 2,000 samples, which
    calibrate `predict_proba` and choose parameters; model files contain them. With mu chosen,
    reading takes 10 to 40 times as long. The other forms compute the SVD of X; memory up to ten
    times that of X in double precision.

    **Which mu**: held-out samples choose it for predictions of the classes of the fit. For classes
    to come a larger one may be better (`narrows.evaluate.retrieval`): it keeps more of the length
    of the samples along the directions that vary most.

    **Accuracy**: "regularized" computes n S_w as a difference of sums, so that a ratio r has a
    relative error of about r times the rounding of the sums. If rounding makes n S_w + mu I
    singular, as much as the rounding may be is added to its diagonal. "pca" and "gsvd" keep all
    digits. With mu=0, "pca" without `pca_components`, and "gsvd" with more samples than features,
    predictions do not depend on the units of the features.

    Three criteria are called Fisher's: the ratio of determinants (Yan et al. 2006, IEEE TKDE), the
    trace of a quotient (Ye et al. 2005; this one), and the ratio of traces (Yan et al. 2006b,
    Information Sciences).

    **Not available** from scikit-learn's LinearDiscriminantAnalysis: `priors`, `priors_`,
    `shrinkage`, `covariance_estimator`, `tol`, `store_covariance`, `covariance_`, `means_`,
    `xbar_`, `scalings_`. Sample weights (the prior of the class divided by its frequency) give the
    predictions of its solver "lsqr" with priors; `mu` takes the place of shrinkage, and
    ``components_.T`` that of the scalings. `moments_` has the means.

    References
    ----------
    Ye et al. (2005): J. Ye et al., "IDR/QR: An Incremental Dimension Reduction Algorithm via QR
    Decomposition", IEEE TKDE 17(9), 2005, section 3, eq. (3), compares the three forms. "gsvd",
    here by two plain SVDs: P. Howland, M. Jeon, H. Park, "Structure Preserving Dimension Reduction
    for Clustered Text Data Based on the Generalized Singular Value Decomposition", SIAM J. Matrix
    Anal. Appl. 25(1), 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from narrows import LDA
    >>> X, y = load_wine(return_X_y=True)
    >>> LDA(solver="pca").fit(X, y).eigenvalues_.round(2).tolist()
    [9.08, 4.13]
    >>> lda = LDA(n_components=5).fit(X, y)
    >>> lda.transform(X).shape, bool(lda.score(X, y) > 0.95)
    ((178, 5), True)
    """

    _instead = "OnlineSRDA to learn from batches, or FisherFS to select features"
    _ridge = "mu"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | CV | NONE,
        "solver": word("regularized", "pca", "gsvd"),
        "mu": word("auto", "scale", "cv") | NOT_NEGATIVE,
        "pca_components": whole(1) | NONE,
        "refine": FLAG,
    }
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED
    mus_, mu_scores_, mu_errors_ = compared("mus_", "values of mu")
    mu_ = attribute(lambda s: float(s.alpha), 'The mu of "regularized"; 0 for the other forms.')

    n_components: int | str | None = None
    solver: str = "regularized"
    mu: float | str = "auto"
    pca_components: int | None = None
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False
    refine: bool = False

    def _labels(self, X: Any, y: Any, numeric: bool | None = None) -> Any:
        y = super()._labels(X, y, numeric)
        if is_matrix(y):
            one_a_row(X, y)  # raises
        return y

    def _solve_classes(self, learned: Learned) -> Solution:
        if self.solver != "regularized":
            raise ParameterError(
                f"expected solver='regularized' as in fit, got {self.solver!r}. Call fit again."
            )
        decays = self.half_life is not None
        return discriminants.lda(
            learned.moments, self.n_components, self.mu, unit_of(self, learned.moments), decays
        )

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        find = partial(
            discriminants.lda_of_samples, size=self._size or 0, solver=self.solver, given=self.mu,
            pca_components=self.pca_components,
        )  # fmt: skip
        found = self._of_classes(X, y, weight, partial(ridge_of, self.mu), find)
        return found if self.solver == "regularized" else replace(found, alpha=0.0)

    def _check_solution(self, found: Solution) -> None:
        most = None if self.solver == "regularized" else int(found.classes.seen.sum()) - 1
        check_means(self, found, most, 'solver="regularized", which has more')
        super()._check_solution(found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver == "regularized"
        return tags


# -- behind a kernel ------------------------------------------------------------------------------

_GAMMA = 0.15  # times 1 / the mean squared length of samples less their mean
_GATHERED = 1_000  # samples of a stream, before the map is made


@parameters
class KernelSRDA(Discriminant):
    """Kernel spectral regression discriminant analysis with random features.

    ::

        criterion   maximise trace((W'(C + alpha/n I) W)^-1 W'S_b W), of samples z(x)
        space       W real
        schedule    exact behind a fixed map z, from all samples at once or batch by batch

    where z(x) consists of `n_hidden` random functions of x (hidden features) and of x itself: ::

        "rbf"    (2 / m)^(1/2) cos((2 gamma)^(1/2) w'(x - o)), and sin likewise, for m/2 random w
        "relu"   (2 / m)^(1/2) max(0, (2 gamma)^(1/2) w'(x - o) + v), for m random w and v
        x        (2 gamma)^(1/2) (x - o)

    with w and v of mean 0 and variance 1, and a mean o of samples (see Notes). S_b is the scatter
    of the class means of the z(x), and C their covariance. Inner products of the functions of "rbf"
    converge to ``exp(-gamma |x - y|^2)`` as m grows: this is kernel discriminant analysis without
    the n x n kernel matrix. `transform` returns (z(x) - m)'W, where m is the mean of the z(x).
    Directions have the lengths of `SRDA`, for unit variance within the classes.

    The result is computed from sums over the z(x), as for `SRDA`: batches in any order, merging,
    decay and subtraction are exact for a fixed map z. Held-out samples determine the ridge, which
    decides how much the hidden features count.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions, at most the rank of the z(x). By default n_classes - 1 (fewer
        if the rank is lower). Further ones are those of `LDA`, of the z(x).
    n_hidden : int, default=1500
        m, the number of random functions, at most 8,000.
    kernel : {"rbf", "relu"}, default="rbf"
        The random functions.
    gamma : float or "auto", default="auto"
        The width of the kernel, > 0, in inverse squared units of X, or of standardised features.
        "auto" is 0.15 divided by the mean squared length of the centred samples.
    alpha : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, in the squared units of z: it is added to the scatter of all samples, which is a
        sum. "scale" is the mean squared length of the centred z(x). "cv" chooses the ridge with
        held-out samples, as `SRDA` does. "auto" is "cv", and "scale" with ``keep=0``.
    {half_life}
    random_state : int, RandomState instance or None, default=0
        Seed of the random functions.
    {keep}
    standardize : bool or list of int, str or bool, default=False
        Which features the map standardises: all (True), those with these indices or names, or those
        of a mask. `fit` divides them by the standard deviations of all samples: with a given ridge
        the result is that of scikit-learn's `StandardScaler` in front. `partial_fit` uses those of
        the first 1,000 samples. Features that do not vary in these samples are not divided.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_hidden + n_features)
        The transpose of W, best direction first; not orthogonal.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'(C + alpha/n I) w of each direction, between 0 and 1. Of directions that do not
        separate the classes: w'C w / w'(C + alpha/n I) w.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the sum of those of all directions that separate the classes; 0
        for directions that do not.
    gamma_ : float
        The width of the kernel.
    alpha_ : float
        The ridge.
    alphas_, alpha_scores_, alpha_errors_ : ndarray of shape (n_alphas,)
        The ridges that were compared, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if there were no such samples.
    moments_ : Moments
        The moments behind the map. If a and b have the same map (see `emptied`),
        ``fit_moments(a.moments_ - b.moments_)`` fits to the samples of a without those of b.
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, or n_components exceeds the
        number of available directions.

    See Also
    --------
    SRDA : Linear discriminant analysis, without hidden features.
    OnlineSRDA : A linear discriminant of any number of features, in one pass.
    sklearn.kernel_approximation.RBFSampler : Random features of the same kernel.
    sklearn.decomposition.KernelPCA : Components without labels, from all pairs of samples.

    Notes
    -----
    **Cost**, for k = n_hidden + n_features: O(n k (k + n_features)) on all cores to learn n
    samples, which are mapped in blocks, and O(k^3) for each of about a dozen factorisations when
    attributes are read. Memory: 8 k^2 bytes, and three to four times as much while they are read. A
    model file holds half of that, and up to 2,000 samples.

    **The map** consists of the seed, gamma, o, and the standard deviations that features are
    divided by, if any. `fit` reads the samples twice and computes these from all of them.
    `partial_fit` computes them from the first 1,000 samples, which it stores until then; `save`
    with ``keep=0`` computes them at once. The map does not change later.
    A seed gives the same w and v on every machine. Estimators that were fitted separately have
    different maps and cannot be merged: fit one, and let `emptied` copies learn the other samples.

    References
    ----------
    A. Rahimi, B. Recht, "Random Features for Large-Scale Kernel Machines", NeurIPS 2007. S. Mika
    et al., "Fisher Discriminant Analysis with Kernels", NNSP 1999. D. Cai, X. He, J. Han, "SRDA: An
    Efficient Algorithm for Large-Scale Discriminant Analysis", IEEE TKDE 20(1), 2008, section 4.
    The additive state and the features beside the random functions are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from narrows import SRDA, KernelSRDA
    >>> X, y = make_circles(400, noise=0.1, factor=0.4, random_state=0)
    >>> kernel = KernelSRDA(n_hidden=200).fit(X[:300], y[:300])
    >>> bool(kernel.score(X[300:], y[300:]) > 0.95)
    True
    >>> bool(SRDA().fit(X[:300], y[:300]).score(X[300:], y[300:]) < 0.7)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_hidden": whole(1, MOST_HIDDEN),
        "kernel": word(*KERNELS),
        "gamma": word("auto") | real(0, above=True),
        "alpha": word("auto", "cv", "scale") | real(0),
        "random_state": seed(2**64),
    }
    _instead = "SRDA or OnlineSRDA, which are linear"
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED
    alpha_ = RIDGE
    alphas_, alpha_scores_, alpha_errors_ = compared("alphas_", "ridges")

    n_components: int | None = None
    n_hidden: int = 1500
    kernel: str = "rbf"
    gamma: float | str = "auto"
    alpha: float | str = "auto"
    half_life: float | None = None
    random_state: Any = 0
    keep: int = KEPT
    standardize: Any = False

    @property
    def gamma_(self) -> float:
        """The width of the kernel."""
        check_is_fitted(self)
        return float(self._mapped(self._learned).step.map.gamma)

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
            learned = self._mapped(self._learned)
            learned.source, learned.then = self._learned.source, self._learned.then
            self._learned = learned
            if learned.step.map is None:
                raise ParameterError(
                    "expected a model that has learned samples, got "
                    "another, which has no map. Use sklearn.base.clone."
                )
            return emptied_copy(self)

    # -- the map --------------------------------------------------------------------------------

    def _gathering(self, data: Data) -> Pass:
        """Return the pass that gathers samples, before there is a map."""
        if data.n_features > MOST:
            raise WidthError(
                f"expected at most {MOST:,} features, got "
                f"{data.n_features:,}. Select features first, or use SRDA or OnlineSRDA, which are "
                "linear.",
                data.n_features,
            )
        if "_drawn" in vars(self):  # the seed of another map
            del self._drawn
        return Pass(second="total", keep=EVERY, half_life=self.half_life)

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        gathering = self._gathering(data)
        if where == "stream":
            return Plan((gathering,))
        return Plan((replace(gathering, keep=0), self._sums(data)), self._map_of, RandomFeatures)

    def _seed(self) -> int:
        """Return the seed of the map, which is drawn if none is given."""
        if is_integer(self.random_state, 0):
            return int(self.random_state)
        if "_drawn" not in vars(self):
            self._drawn = int(check_random_state(self.random_state).randint(2**31))
        return self._drawn

    def _map_of(self, m: Moments) -> RandomFeatures:
        gamma, scale = self.gamma, unit_of(self, m) if m.n else None
        if scale is not None:
            scale = np.where(np.isinf(scale), 1.0, scale)  # features that do not vary yet
        if isinstance(gamma, str):
            size = m.mean_square(scale) if m.n else 0.0
            gamma = _GAMMA / size if size > TINY else 1.0
        seed, hidden = self._seed(), int(self.n_hidden)
        return RandomFeatures(seed, self.kernel, hidden, float(gamma), m.mean, scale)

    def _mapped(self, learned: Learned) -> Learned:
        """Return what was learned, behind a map, which is made if there is none yet."""
        (m,) = learned.folds
        if learned.step.map is not None or not m.n_samples:
            return learned
        with features_named(self):
            return self._behind(self._map_of(m), learned)

    def _behind(self, map: RandomFeatures, learned: Learned) -> Learned:
        """Return what was learned of samples that moments have kept, all of them, behind a map."""
        (m,) = learned.folds
        step = replace(self._sums(Data(m.n_features)), map=map)
        order = np.argsort(m.samples.when, kind="stable")
        X, code, weight, _, when = (each[order] for each in m.samples[:5])
        shape = len(code), len(m.classes)
        T = sparse.csr_array((weight, code, np.arange(len(code) + 1)), shape)
        (new,) = step.add_targets(
            step.empty(learned.n_features), X, Targets.of_indicator(m.classes, T)
        )
        state = [new.renumbered(when, m.n_samples)]
        return Learned(step, state, known=learned.known, checked=learned.checked)

    # -- learning -------------------------------------------------------------------------------

    @where(can_add)
    def fit_moments(self, moments: Any) -> Self:
        """Fit to moments of coordinates, behind the map of this estimator.

        Parameters
        ----------
        moments : Moments
            Sums and differences of `moments_` of estimators with the same map, see `emptied`; or of
            streams that have learned too few samples for a map.

        Returns
        -------
        self : object

        Raises
        ------
        ParameterError
            The estimator has no map.
        ValueError
            The moments are not those of coordinates.

        See Also
        --------
        emptied : Return a copy with the same map.
        """
        if not isinstance(moments, Moments):
            self._check_kind(moments)  # raises
        if moments.keep == EVERY and moments.second == "total":  # of samples before there is a map
            return fit_learned(self, self._gathering(Data(moments.n_features)), [moments.copy()])
        step = self._learned.step if self.__sklearn_is_fitted__() else None
        if step is None or step.map is None:
            raise ParameterError(
                "expected an estimator that has a map, got another, whose map moments do "
                "not hold. Use emptied() of a fitted one, or fit for samples."
            )
        self._check_kind(moments)
        if moments.n_features != step.map.width:
            raise ValueError(
                f"expected moments of {step.map.width} coordinates, got "
                f"{moments.n_features}. Use those of an estimator with the same map."
            )
        return fit_learned(self, step, [moments.copy()])

    def _advance(self, learned: Learned, X: Any, y: Any, sample_weight: Any) -> None:
        n, room = X.shape[0], _GATHERED - learned.n_samples
        if learned.step.map is not None or n < room:
            super()._advance(learned, X, y, sample_weight)
            return
        y = sparse.csr_array(y) if sparse.issparse(y) else as_array(y)
        given, room = weights(sample_weight, n), max(0, room)
        copied = Learned(learned.step, [each.copy() for each in learned.folds])
        super()._advance(copied, X[:room], y[:room], given[:room])
        mapped = self._mapped(copied)
        super()._advance(mapped, X[room:], y[room:], given[room:])
        learned.step, learned.state = mapped.step, mapped.state

    def _merged(self, learned: list[Learned]) -> Learned:
        mapped = [each for each in learned if each.step.map is not None]
        if not mapped:
            total = super()._merged(learned)
            return total if total.n_samples < _GATHERED else self._mapped(total)
        map = mapped[0].step.map
        others = [self._behind(map, each) for each in learned if each.step.map is None]
        return super()._merged([*mapped, *others])

    # -- solving --------------------------------------------------------------------------------

    def _shown(self, learned: Learned) -> Learned:
        return super()._shown(self._mapped(learned))

    def _solve(self, learned: Learned) -> Solution:
        m, decays = learned.moments, self.half_life is not None
        if not m.n:
            W = np.zeros((learned.n_features, 0))
            return Solution.of_directions(np.zeros(0), W, self._size)
        return discriminants.kernel_srda(m, learned.step.map, self._size, self.alpha, decays)

    def _check_solution(self, found: Solution) -> None:
        check_means(self, found, None)
