"""OnlineSRDA: a regression of class indicators, one step a sample, and the state it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError, warn
from narrows.methods.discriminants import Discriminant
from narrows.methods.in_order import Arrivals, InOrder, Labels
from narrows.methods.learned import Learned, atomic
from narrows.methods.merging import merge_into
from narrows.methods.parameters import FLAG, Constraint, copied, parameters
from narrows.methods.plan import Data, Plan, Where
from narrows.methods.projectors import Projector
from narrows.methods.sequential import Missing, Sequential
from narrows.moments.labels import arrivals, indicator, is_matrix, places_of, weights
from narrows.solve.codec import MOST, PART, SchemaError, Sizes, from_arrays
from narrows.solve.in_place import in_blocks, some_rows
from narrows.solve.regression import DiagonalRLS, merged
from narrows.solve.regression_read import RegressionReading
from narrows.solve.regression_steps import SEEN, UpdateRule
from narrows.solve.solution import Solution
from narrows.solve.sums import canonical, check_largest

_ROOM = 0.3  # the largest number to this power can be squared, and the squares can be summed


class Regression(Arrivals):
    """A `DiagonalRLS`, and the labels of its outputs, which are in order of arrival.

    Parameters
    ----------
    core : DiagonalRLS
        Without a class yet.

    Attributes
    ----------
    n_samples : int
        The number of samples learned, also those of weight 0.
    several : bool or None
        Whether samples have several labels; None before the first.
    """

    core: Annotated[DiagonalRLS, PART]
    n_samples: Annotated[int, "i8 whole"]
    several: Annotated[bool | None, "b"]

    def __init__(self, core: DiagonalRLS):
        super().__init__(core)
        self.n_samples = 0
        self.several = None
        self._read: RegressionReading | None = None  # until it learns more

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_read": None}

    @property
    def n_labels(self) -> int:  # type: ignore[override]
        """The number of columns of the indicator matrices that `y` consisted of, if it did."""
        return len(self.classes) if self.several else 0

    @property
    def n_held(self) -> int:
        """How many samples are kept."""
        return int(self.core.reservoir.used)

    @property
    def counts(self) -> np.ndarray:
        """The weight of each class."""
        return self.core.N[0, self.column]

    @property
    def live(self) -> np.ndarray:
        """The outputs of the classes of positive weight, in the order of `classes`."""
        return self.column[self.counts > 0]

    def reading(self, polish: bool) -> RegressionReading:
        """Return what can be read of the regression, until it learns more."""
        read = vars(self).get("_read")
        if read is None or read.may_polish != polish:
            self._read = read = RegressionReading(self.core, bool(self.several), polish)
        return read

    def learn(
        self, X: Any, labels: Labels, left: float, reducing: bool = False,
        register: Callable[[], None] | None = None,
    ) -> np.ndarray | None:  # fmt: skip
        """Learn samples in order, in place; with `reducing`, return them reduced.

        A signal waits until a block of samples is learned. Errors of the samples are raised before
        anything is changed.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite.
        labels : ((ndarray, bool), csr_array, ndarray)
            Of `Regress.encoded`.
        left : float
            What is left of a weight after one more sample.
        reducing : bool
            Whether to return each sample reduced by its W.
        register : callable, optional
            Called with each block, as one change with it.
        """
        (given, several), Y, weight = labels
        rule = UpdateRule(left, several)
        _check_count(self.n_samples + X.shape[0])
        if self.several not in (None, rule.several):
            kinds = ("one label per sample", "an indicator matrix")
            raise ValueError(
                f"expected {kinds[not rule.several]} as before, got {kinds[rule.several]}. "
                "Give all labels in one form."
            )
        if sparse.issparse(X):
            X = canonical(X)
        self._read, found = None, []
        for rows in in_blocks(X, self.core.cost(X, len(given))):
            with self.changing(self._restorer_before()):
                part = given, some_rows(Y, rows), weight[rows]
                found.append(self._learn_block(some_rows(X, rows), part, rule, reducing))
                if register is not None:
                    register()
        if not reducing:
            return None
        c = len(self.core.b)
        each = [np.pad(out, ((0, 0), (0, c - out.shape[1]))) for out in found]
        return np.concatenate(each)[:, self.live].astype(X.dtype)

    def without_kept(self) -> Self:
        """Return the state without kept samples and class sums, which shares the rest."""
        new = copy(self)
        new.core, new._read = self.core.without_kept(), None
        return new

    def _restorer_before(self) -> Callable[[], None]:
        """Return a function that restores all attributes, if no sample was learned since."""
        restore, before = self.restorer(), self.core.clock.copy()

        def restore_before() -> None:
            if np.array_equal(self.core.clock, before):
                restore()

        return restore_before

    def _learn_block(self, X: Any, labels: Labels, rule: UpdateRule, reducing: bool) -> Any:
        """Learn samples in order, in place; with `reducing`, return them reduced."""
        classes, Y, weight = labels
        if rule.several:  # columns without a sample too, so that the width is known
            self.places(classes, np.arange(len(classes)))
        places = self.places(classes, Y.indices)
        if not self.n_samples and X.shape[0]:
            self.several = rule.several
        if X.dtype == np.float64 and self.core.W.dtype != np.float64 and X.shape[0]:
            self.core.promote(np.float64)
        columns = self.column[places]
        reduced = np.zeros((X.shape[0], len(self.core.b))) if reducing else None
        self.core.learn(X, (Y.indptr, columns, weight), rule, reduced)
        self.n_samples += X.shape[0]
        return reduced

    def _parts(self) -> list[Any]:
        return [*super()._parts(), self.core.reservoir]

    def _make_room(self, known: np.ndarray) -> None:
        self.core.add_classes(len(known) - len(self.core.b))

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where labels do not fit the samples."""
        stored = self.core.reservoir.slots[: self.core.reservoir.used]
        if self.several:  # the classes are the columns of an indicator matrix
            fits = np.array_equal(self.classes, np.arange(sizes["c"])) and self.n_samples > 0
            fits = fits and self.classes.dtype.kind == "i"
        else:
            fits = (self.several is False) == (self.n_samples > 0) and (stored[:, 2] == 1).all()
        if not fits or self.core.clock[SEEN] > self.n_samples:
            raise SchemaError("several, n_samples: expected those of the classes, got others.")


def _check_count(n_samples: int) -> None:
    """Raise where a model file could not hold the number of samples."""
    if n_samples > MOST:
        raise ValueError(f"expected at most {MOST:,} samples in all, got {n_samples:,}. Fit again.")


def merged_states(states: Iterable[Regression], rule: UpdateRule) -> Regression:
    """Return the approximate sum of states, as one that shares nothing with them."""
    states = list(states)
    started = [each for each in states if each.n_samples or len(each.classes)] or states[:1]
    _check_count(sum(state.n_samples for state in started))
    if len(started) == 1:
        return deepcopy(started[0])
    forms = {state.several for state in started if state.n_samples}
    if len(forms) > 1:
        raise ValueError(
            "expected labels of one form to merge, got one label per sample in some "
            "and indicator matrices in others. Fit all to labels of one form."
        )
    sizes = {len(state.core.reservoir) for state in started}
    if len(sizes) > 1:
        raise ValueError(
            f"expected one number of kept samples to merge, got {sorted(sizes)}. "
            "Fit all with the same keep."
        )
    classes, column = started[0].classes[:0], started[0].column[:0]
    for state in started:
        classes, column = arrivals(classes, column, state.classes, np.argsort(state.column))
    columns = [  # of the sum, for each column of a state
        column[places_of(state.classes[np.argsort(state.column)], classes)] for state in started
    ]
    several = forms.pop() if forms else None
    rule = rule._replace(several=bool(several))
    new = Regression(merged([s.core for s in started], columns, len(classes), rule))
    new.classes, new.column, new.several = classes, column, several
    new.n_samples = sum(state.n_samples for state in started)
    return new


def check_range(X: Any) -> None:
    """Raise RangeError where the numbers of X are too large or too small for a regression."""
    most = float(np.finfo(X.dtype).max) ** _ROOM
    # squares are of double precision; W, which is inverse to the samples, is of their type
    least = max(float(np.finfo(np.float64).tiny) ** _ROOM, float(np.finfo(X.dtype).tiny) ** 0.8)
    check_largest(X, least, most)


@dataclass(frozen=True)
class Regress(InOrder):
    """One pass in which each sample is one step of a regression.

    The states of parts add up, approximately.

    Parameters
    ----------
    keep : int
        The number of samples to keep.
    seed : int
        Of the choice of samples to keep, and to repeat.
    left : float
        What is left of a weight after one more sample.
    """

    adds_up: ClassVar[bool] = True

    keep: int = 0
    seed: int = 0
    left: float = 1.0

    def new(self, n_features: int) -> Regression:
        """Return the state before the first sample."""
        return Regression(DiagonalRLS(n_features, self.keep, self.seed, self.dtype))

    def encoded(self, X: Any, y: Any, weight: Any = None) -> Labels:
        """Return (labels, whether y is a matrix), the indicators of samples, and their weights."""
        classes, Y = indicator(X, y)
        check_range(X)
        return (classes, is_matrix(y)), Y, weights(weight, X.shape[0])

    def learn(
        self, state: Regression, X: Any, labels: Labels, *, reducing: bool = False,
        register: Callable[[], None] | None = None, **more: Any,
    ) -> np.ndarray | None:  # fmt: skip
        """Learn samples in order, in place; with `reducing`, return them as reduced on the way."""
        held = len(state.core.reservoir)
        if held != self.keep:
            raise ParameterError(
                f"expected keep={held} as at the start, got {self.keep!r}. Use fit to start again."
            )
        return state.learn(X, labels, self.left, reducing, register)

    def summed(self, states: Iterable[Regression]) -> Regression:
        """Return the approximate sum of states, which shares nothing with them."""
        return merged_states(states, UpdateRule(self.left))

    def joined(self, a: Regression, b: Regression) -> Regression:
        """Return the approximate sum of two states."""
        return self.summed([a, b])

    def without_kept(self, state: Regression) -> Regression:
        """Return the state without kept samples, and without class sums."""
        return state.without_kept()

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], expected: Any) -> tuple[InOrder, Regression]:
        """Return the pass and the state of named arrays, which are taken out of the dict."""
        return expected, from_arrays(Regression, arrays)


@parameters
class OnlineSRDA(Discriminant, Sequential):
    """Online spectral regression discriminant analysis: SRDA in a single pass.

    ::

        criterion   trace((W'(C + D) W)^-1 W'S_b W), D diagonal, by least squares on indicators
        space       W real, one direction per class
        schedule    one step per sample

    Let x be a sample, t the indicator of its class, Q_k the energy sum w x_k^2 of feature k so far,
    s2 the running mean of `|x|^2` and qb the weight of all samples. The step is

        p = x / (s2 + Q),    e = (t - xW - b) / (1 + x'p + 1/(1 + qb)),
        W += p e',    b += e/(1 + qb),    Q += x^2,    qb += 1.

    The step is implicit and scaled by the energy of the features: there is no step size to choose,
    and multiplying all samples by one number does not change the predictions. New classes may
    appear at any time. `transform` returns X W with columns of W divided by deviations, so that the
    pooled variance within the classes is 1, not centred; `predict` returns the class of the largest
    xW + b, or of the largest log posterior by these outputs: see Notes.

    Dense samples are centred by their mean, which is updated after 1, 2, 4, 8, ... samples. Sparse
    samples of more than 64 features are not centred.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default one per class, in the order of `classes_`. A smaller
        number gives the leading singular directions of W. On a stream there are p directions from
        the first batch on; those that are not available yet are zero.
    half_life : float, optional
        The number of samples after which all sums are halved: Q, qb, the mean of `|x|^2`, the mean
        of the samples, class sums and weights, and the weights of kept samples. W itself does not
        decay, but changes faster. Use it for data that change.
    keep : int, default=2000
        The number of samples that the state and model files keep, balanced by class. They are used
        if classes come at different times, for `polish`, and for probabilities, which need several
        samples of each class. With 0, files hold no samples, nor class sums: nothing is polished,
        and probabilities are not calibrated.
    polish : bool, default=True
        Whether to improve the result with the kept samples when it is read. While all samples are
        kept, W is the ridge regression on them, in whatever order. Later, W is computed
        again after a sorted stream or a `merge`, and the classifier is fitted again if that
        predicts held-out samples better. The state does not change. Set False for data that change
        without a `half_life`, since the kept samples are outdated.
    shuffle : bool, default=True
        Whether `fit` learns the samples in random order. `partial_fit` does not shuffle.
    random_state : int, RandomState or None, default=None
        Seed of the random order. An int also seeds the choice of samples to keep and to repeat.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, each column divided by the pooled deviation of xW within the classes.
        The kept samples estimate it; with ``keep=0``, the energy of the features, as if these were
        uncorrelated about 0. If `n_components` is set and smaller than the number of classes,
        the entry of largest magnitude in each direction is positive. Directions that are not
        available yet are zero.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight of each class, which decays with a `half_life`.
        Classes given to `partial_fit` have weight 0 until they are seen.
    score_ : float
        The share of samples that were predicted correctly before they were learned. With several
        labels per sample, the most probable label counts. NaN before the first sample.
    score_window_ : float
        `score_` over the last 1,000 samples; `merge` resets it.
    n_samples_seen_, n_features_in_ : int
        The number of samples learned, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, or there are fewer than two classes or fewer classes than
        components.

    See Also
    --------
    SRDA : The exact method, on streams of at most 8,192 features or in two passes.
    OC : A simpler criterion whose states add up exactly.
    IDRQR : Incremental LDA in the span of the class means.

    Notes
    -----
    **Cost** per sample: 2 nnz c operations. Memory: d c numbers of the type of the first samples,
    float32 or float64, d c doubles for the class sums, d doubles, and the kept samples. With
    `polish`, O(m^3) when attributes are read, for m kept samples.

    **Sorted streams**: kappa = (agree - chance)/(1 - chance), where agree is the share of about the
    last 100 samples that have the class of the previous sample, and chance is this share in random
    order. If kappa is above 0.2, a kept sample is learned again with probability kappa. If
    classes explain more than 5 % of the variance of the times of samples, or if states of more than
    200 features were merged, W is computed again when it is read, by least squares in the span of W
    and of the class means in bands of features of equal energy, from the class sums and the scatter
    of the kept samples within the classes.

    **Scores**: with `polish` and three classes or more, the outputs xW + b of kept samples, each
    left out (by leverages), also give log posteriors: of normal classes with one covariance, to
    whose diagonal 0.1 or 1 times the mean variance is added. They replace the
    outputs if they predict kept samples better over five folds: the mean logarithm of the
    probability of the label by half a standard error (by three where W was computed again), and
    either by 0.03 or with a mean recall of the classes that is higher by 0.03 and by two standard
    errors. `transform` is not affected.

    **Probabilities** are softmax(scores/T). The temperature T maximises the likelihood of the
    kept samples that are left out.

    A sample weight w gives one longer step instead of w steps: `e *= w/(1 + w (...))`, and w
    instead of 1 in the sums.

    References
    ----------
    The regression: D. Cai, X. He, J. Han, "SRDA: An Efficient Algorithm for Large-Scale
    Discriminant Analysis", IEEE TKDE 20(1), 2008. The one-pass algorithm is narrows' own.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OnlineSRDA
    >>> X, y = load_digits(return_X_y=True)
    >>> online = OnlineSRDA(random_state=0).fit(X, y)
    >>> online.transform(X).shape, round(online.score_, 1)
    ((1797, 10), 0.9)
    >>> online.predict(X[:3]).tolist()
    [0, 1, 2]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"polish": FLAG}
    _instead = "merge, or OC, whose sums add up exactly"
    fit_moments: ClassVar[Any] = Missing("a regression is not a function of class sums")
    eigenvalues_: ClassVar[Any] = Missing(
        "it has one direction per class, in the order of the classes. Use SRDA for directions in "
        "the order of their eigenvalues."
    )
    n_samples_still_: ClassVar[Any] = Missing()
    coef_: ClassVar[Any] = Missing()
    intercept_: ClassVar[Any] = Missing()

    n_components: int | None = None
    half_life: float | None = None
    keep: int = 2000
    polish: bool = True
    shuffle: bool = True
    random_state: Any = None

    # -- fitting --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the samples in one pass, in random order unless ``shuffle=False``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels; or a 0-1 indicator matrix of several labels per sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, all weights zero, NaN or infinity, or a parameter that does not
            fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples, in their order.
        """
        return Projector.fit(self, X, y, sample_weight)

    @atomic
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Update with more samples, in their order; the result does not depend on the batches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels as for `fit`; new classes may appear at any time.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required, in contrast to scikit-learn; if given, other
            labels raise an error, and `classes_` has all of them, with probability 0 until they are
            seen.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of features, labels not among `classes`, of another type
            or form (one per sample, or several). The estimator is then unchanged.

        See Also
        --------
        fit : Forget all samples and fit to new ones.
        """
        self._learn(X, y, sample_weight, classes)
        return self

    @atomic
    def transform_while_learning(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Update as `partial_fit` does, and reduce each sample by the directions after it.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_classes)
            Row i is x(i)W(i), without `polish`, not divided by deviations. There is one column for
            each of `classes_` after the last sample; `n_components` has no effect.

        See Also
        --------
        partial_fit : Update without reducing.
        """
        return self._learn(X, y, sample_weight, reducing=True)

    def merge(self, *others: Self) -> Self:
        """Merge other estimators into this one, approximately.

        For each feature, W becomes the mean of the estimators' W_k weighted by energy, sum (s2_k +
        Q_k) W_k / (s2 + Q). The result is not that of one estimator that saw all samples. Class
        sums and scores are added; kept samples are merged and balanced again.

        Parameters
        ----------
        *others : OnlineSRDA
            Fitted, with the same parameters and features. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The estimators differ in method, parameters (the message names them), features, or form
            of labels.

        See Also
        --------
        partial_fit : Update with more samples.
        """
        return merge_into(self, others, self._merged)

    # -- reading --------------------------------------------------------------------------------

    @property
    def score_(self) -> float:
        """The share of samples that were predicted correctly before they were learned."""
        check_is_fitted(self)
        return float(self._learned.state.core.score)

    @property
    def score_window_(self) -> float:
        """`score_` over the last 1,000 samples."""
        check_is_fitted(self)
        return float(self._learned.state.core.score_of_window)

    # -- inside ---------------------------------------------------------------------------------

    def _sums(self, data: Data) -> Regress:
        half_life = self.half_life
        return Regress(
            keep=int(self.keep),
            seed=int(self.random_state) if isinstance(self.random_state, Integral) else 0,
            left=1.0 if half_life is None else 0.5 ** (1 / float(half_life)),
        )

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        if where == "parts":
            warn(
                "The fits of the parts of OnlineSRDA are merged approximately, which is best for a "
                "few large parts. Use SRDA, or OC, whose merge is exact."
            )
        return super()._plan(data, where, samples)

    def _solve(self, learned: Learned) -> Solution:
        state = learned.state
        return state.reading(self.polish).solution(state.live, self.n_components)

    def _predicting(self, calibrated: bool = False) -> Solution:
        return super()._predicting(calibrated or self.polish)  # kept samples improve the rule, too

    def _with_probabilities(self, learned: Learned, found: Solution) -> Solution:
        state = learned.state
        return replace(found, rule=state.reading(self.polish).rule(state.live, polished=True))

    def _store(self, step: Any, state: Any) -> Self:
        """Store the state of a fit; its solution, which takes as long as the fit, is read later."""
        self._check_state(step, state)
        classes = int((step.counts(state) > 0).sum())
        if self.n_components is not None and self.n_components > classes:
            raise ParameterError(
                f"expected n_components<={classes}, since {classes} classes "
                f"have {classes} directions, got {self.n_components}. Use fewer components."
            )
        self._learned = Learned(step, state, checked=copied(self._parameters()))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = True
        return tags
