"""Discriminant analysis by regression in one pass: long because two thirds are documentation."""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral
from typing import Any, ClassVar, NoReturn, Self

from sklearn.exceptions import NotFittedError

from narrows.errors import ParameterError, warn
from narrows.methods._atomic import atomic, lock_of
from narrows.methods._classifier import Classifier, Decision
from narrows.methods._engines import accepts_collections
from narrows.methods._errors import errors_named_after
from narrows.methods._merge import merge_into
from narrows.methods._parameters import (
    check_flags,
    check_half_life,
    check_parts,
    check_whole,
    check_word,
)
from narrows.methods._regression import Regression, Weights, check_range, merged_states
from narrows.methods._sequential import Sequential
from narrows.state.labels import indicator, is_matrix, weights
from narrows.solve.rls import DiagonalRLS
from narrows.solve.rls_read import Reading
from narrows.solve.rls_rule import Rule

LOSSES = ("squared", "softmax", "auto")


class OnlineSRDA(Classifier, Sequential):
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
    and the scale of the data does not change the predictions. New classes may appear at any time.
    `transform` returns X W, not centred; `predict` returns the class of the largest xW + b.

    Dense samples are centred by their mean, which is updated after 1, 2, 4, 8, ... samples. Sparse
    samples of more than 64 features are not centred.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default one per class, in the order of `classes_`. A smaller
        number gives the leading singular directions s_k u_k of W. On a stream there are p
        directions from the first batch on; those that are not available yet are zero.
    half_life : float, optional
        The number of samples after which all sums are halved: Q, qb, the mean of `|x|^2`, the mean
        of the samples, class sums and weights, and the weights of stored samples. W itself does not
        decay, but changes faster. Use it for data that change.
    reservoir : int, default=2000
        The number of samples to store, balanced by class. They are used if the stream is sorted by
        class, for `polish`, and for probabilities. With 0, class sums are not stored either.
    polish : bool, default=True
        Whether to improve the result with the stored samples when it is read. W is computed again
        after a sorted stream or a `merge`. The classifier is fitted again if that predicts held-out
        samples better; `transform` uses the new fit only with ten times as many stored samples as
        features. The state does not change. Set False for data that change without a `half_life`,
        since the stored samples are outdated.
    loss : {"squared", "softmax", "auto"}, default="squared"
        The residuals are those of xW + b, or of its softmax, which suits classes that lie between
        other classes. "softmax" requires one label per sample. "auto" learns with both losses, in
        twice the time and memory, and uses "softmax" if it predicts significantly more samples
        correctly before they are learned.
    shuffle : bool, default=True
        Whether `fit` learns the samples in random order. `partial_fit` does not shuffle.
    random_state : int, RandomState or None, default=None
        Seed of the random order. An int also seeds the choice of samples to store and to repeat.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, not scaled. If `n_components` is set and smaller than the number of
        classes, the entry of largest magnitude in each direction is positive. Directions that are
        not available yet are zero.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight of each class, which decays with a `half_life`.
        Classes given to `partial_fit` have weight 0 until they are seen.
    loss_ : str
        The loss in use.
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
    float32 or float64, d c doubles for the class sums, d doubles, and the samples of the reservoir.
    With `polish`, O(m^3) when attributes are read, for m samples in the reservoir.

    **Sorted streams**: kappa = (agree - chance)/(1 - chance), where agree is the share of about the
    last 100 samples that have the class of the previous sample, and chance is this share in random
    order. If kappa is above 0.2, a stored sample is learned again with probability kappa. If this
    happened for more than 5 % of the samples, or if states of more than 200 features were merged, W
    is computed again when it is read, by least squares in the span of W and of the class means in
    bands of features of equal energy, from the class sums and the scatter of the stored samples
    within the classes.

    **Probabilities** are softmax((xW + b)/T). The temperature T maximises the likelihood of the
    stored samples, each predicted from the others (leave-one-out, by leverages).

    With loss="softmax", e = t - softmax(xW + b) over the classes so far, `h = |e|^2/10`, and `p = x
    / (s2/10 + Q)`, `e /= 1 + h (x'p + 1/(1/10 + qb))`, `b += e/(1/10 + qb)`, `Q += h x^2`, `qb +=
    h`. A sample weight w gives one longer step instead of w steps: `e *= w/(1 + w h (...))`, with h
    = 1 for squared loss, and w h instead of h in the sums.

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

    _state_type = Regression
    _instead = "merge, or OC, whose sums add up exactly"
    _unsupported: ClassVar[dict[str, str]] = {
        "fit_stats": "a regression is not a function of class sums",
        "eigenvalues_": "it has one direction per class, in the order of the classes. Use SRDA for "
        "directions in the order of their eigenvalues.",
    }

    def __init__(
        self,
        n_components: int | None = None,
        half_life: float | None = None,
        reservoir: int = 2000,
        polish: bool = True,
        loss: str = "squared",
        shuffle: bool = True,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.half_life = half_life
        self.reservoir = reservoir
        self.polish = polish
        self.loss = loss
        self.shuffle = shuffle
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------------------

    @accepts_collections
    @atomic
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
        return self._fit(X, y, sample_weight, shuffle=self.shuffle)

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
        self._learn(X, y, sample_weight, classes=self._check_classes(classes, y))
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
            Row i is x(i)W(i), without `polish`. There is one column for each of `classes_` after
            the last sample; `n_components` has no effect.

        See Also
        --------
        partial_fit : Update without reducing.
        """
        return self._learn(X, y, sample_weight, reducing=True)

    def merge(self, *others: Self) -> Self:
        """Merge other estimators into this one, approximately.

        For each feature, W becomes the mean of the estimators' W_k weighted by energy, sum (s2_k +
        Q_k) W_k / (s2 + Q). The result is not that of one estimator that saw all samples. Class
        sums and scores are added; reservoirs are merged and balanced again.

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
        return merge_into(self, others, lambda states: merged_states(states, self._rule(False)))

    def _fit_parts(self, parts: Any) -> Self:
        """Fit parts in parallel, each in its order, and merge their states."""
        check_parts(type(self).__name__, self.half_life)
        warn(
            f"{type(self).__name__}: the fits of the parts are merged approximately, which is best "
            "for a few large parts. Use SRDA, or OC, whose merge is exact."
        )
        return self._fit_state(self._add_states(parts.sum(self)))

    def _add_states(self, *states: Regression) -> Regression:
        """Return the approximate sum of states, which stay as they are."""
        with errors_named_after(self):
            return merged_states(list(states), self._rule(False))

    # -- reading --------------------------------------------------------------------------------

    @property
    def loss_(self) -> str:
        """The loss in use, "squared" or "softmax"; with "auto" the better one so far."""
        return "softmax" if self._chosen(self._state)[1] else "squared"

    @property
    def score_(self) -> float:
        """The share of samples that were predicted correctly before they were learned."""
        return self._chosen(self._state)[0].score

    @property
    def score_window_(self) -> float:
        """`score_` over the last 1,000 samples."""
        return self._chosen(self._state)[0].score_of_window

    @property
    def _several(self) -> bool:
        return bool(self._state.several)

    def _decision(self, calibrated: bool = True) -> Decision:
        """With several labels per sample, for the log odds of each."""
        with lock_of(self):
            W, b = self._solution.rule
            temperature = self._solution.temperature if calibrated else 1.0
            several = self._several
        if not len(b):
            raise NotFittedError(
                f"{type(self).__name__}: expected at least one class to predict, got none so far. "
                "Continue with partial_fit."
            )
        return Decision(W, b - 0.5 if several else b, temperature)

    def _chosen(self, state: Regression) -> tuple[DiagonalRLS, bool]:
        """Return the regression to read, and whether its outputs are those of softmax."""
        if state.rival is None:
            return state.core, self.loss == "softmax" if state.softmax is None else state.softmax
        softmax = state.prefers_softmax if self.loss == "auto" else self.loss == "softmax"
        return state.cores[softmax], softmax

    # -- inside ---------------------------------------------------------------------------------

    def _encode(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, ...]:
        """Return the labels, sorted, the indicator matrix of the samples, and their weights."""
        classes, Y = indicator(X, y, None, type(self).__name__)
        check_range(X)
        return classes, Y, weights(sample_weight, X.shape[0], type(self).__name__)

    def _how(self, state: Regression, y: Any) -> Rule:
        held = len(state.core.reservoir)
        if held != self.reservoir:
            self._refuse(f"reservoir={held}", self.reservoir)
        if not state.several:
            loss = self.loss if state.softmax is None else LOSSES[state.softmax]
            if (loss if state.rival is None else "auto") != self.loss:
                self._refuse(f'loss="{loss if state.rival is None else "auto"}"', self.loss)
            if state.rival is None and self.loss == "auto":
                self._refuse('another loss than "auto"', self.loss)
        return self._rule(is_matrix(y))

    def _refuse(self, expected: str, got: Any) -> NoReturn:
        raise ParameterError(
            f"{type(self).__name__}: expected {expected} as at the start, got {got!r}. "
            "Use fit to start again."
        )

    def _rule(self, several: bool) -> Rule:
        if several and self.loss == "softmax":
            raise ParameterError(
                f'{type(self).__name__}: expected one label per sample for loss="softmax", got an '
                'indicator matrix. Use loss="squared".'
            )
        keep = 1.0 if self.half_life is None else 0.5 ** (1 / float(self.half_life))
        return Rule(keep, self.loss == "softmax", several)

    def _new_stream(self, n_features: int, dtype: Any) -> Regression:
        seed = self.random_state if isinstance(self.random_state, Integral) else 0
        core = DiagonalRLS(n_features, self.reservoir, int(seed), dtype)
        rival = deepcopy(core) if self.loss == "auto" else None
        return Regression(core, rival, self.loss == "softmax")

    def _finish(self, stream: Regression) -> Self:
        super()._finish(stream)
        classes = len(stream.live)
        if self.n_components is not None and self.n_components > classes:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={classes}, since {classes} classes "
                f"have {classes} directions, got {self.n_components}. Use fewer components."
            )
        return self

    @property
    def _n_features_out(self) -> int:  # known without the polish
        return len(self._state.live) if self.n_components is None else self.n_components

    def _solve(self, state: Regression) -> Weights:
        core, softmax = self._chosen(state)
        reading = Reading(core, bool(state.several), softmax, self.polish)
        return Weights.leading(reading, state.live, self.n_components)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_half_life(type(self).__name__, self.half_life)
        check_whole(type(self).__name__, "reservoir", self.reservoir, low=0)
        check_flags(self, ("polish", "shuffle"))
        check_word(type(self).__name__, "loss", self.loss, LOSSES)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
