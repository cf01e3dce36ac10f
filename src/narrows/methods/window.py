"""The last N samples of a stream, exactly, for every method whose states add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from narrows.errors import ParameterError, WidthError, features_named
from narrows.methods.base import checked_targets, fit_learned, has_numbers, plan_of, where
from narrows.methods.learned import Learned, Method, atomic
from narrows.methods.parameters import Hinting, check_whole, copied, same
from narrows.methods.plan import Data, Pass
from narrows.moments.labels import (
    FEW_CLASSES,
    as_array,
    check_among,
    is_matrix,
    union,
    warn_of_numbers,
    weights,
)
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.solve.arrays import checked_samples
from narrows.solve.devices import in_memory
from narrows.solve.sums import blocks

_PIECES = 16  # of a window, each with a state
_NO_CLASSES = np.empty(0, dtype=np.int64)


@dataclass
class _Piece:
    """Samples in their order, the number of the first one in the stream, and their moments."""

    rows: list[tuple[Any, ...]]  # (X, targets, sample_weight), batch by batch
    first: int
    n: int
    step: Pass
    state: list[Moments]  # of each fold

    def __add__(self, later: _Piece) -> _Piece:
        rows, state = self.rows + later.rows, self.step.joined(self.state, later.state)
        return _Piece(rows, self.first, self.n + later.n, self.step, state)

    def check_kind(self, other: _Piece) -> None:
        """Raise ValueError where another piece has moments of another kind."""
        self.state[0].check_kind(other.state[0])
        if len(self.state) != len(other.state):
            raise ValueError(
                f"expected moments of {len(self.state)} folds as before, got those of "
                f"{len(other.state)}. Use fit to start again."
            )

    @property
    def classes(self) -> np.ndarray:
        """The classes; none of numbers."""
        return reduce(union, (each.classes for each in self.state))

    def last(self, n: int) -> list[Moments]:
        """Return the moments of the last n samples."""
        if n == self.n:
            return self.state
        state = self.step.empty(self.step.n_features(self.state))
        before, first = self.n - n, self.first  # samples that have left
        for X, *others in self.rows:
            size = X.shape[0]
            if before < size:
                y, weight = (None if a is None else a[before:] for a in others)
                state = self.step.add(state, X[before:], y, weight, first + before)
            before, first = max(0, before - size), first + size
        return state


def _if_there(name: str) -> Callable[[Method], Method]:
    """Return a decorator of methods that a window has if its estimator has them."""
    return where(lambda window: hasattr(window.estimator, name))


def _sliceable(a: Any) -> Any:
    if a is None:
        return None
    return sparse.csr_array(a) if sparse.issparse(a) else as_array(a)


class Window(Hinting, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """A sliding window: an estimator of the last N samples of a stream.

    ::

        criterion   that of the estimator, over the last N samples
        space       that of the estimator
        schedule    exact at every moment of a stream

    The result is that of `fit` on the last `samples` samples, whatever the batches. It is the sum
    of the states of pieces of the window. Samples that leave the window are never subtracted, so
    rounding errors do not accumulate.

    Parameters
    ----------
    estimator : narrows estimator whose states add up
        OC, OCM, a selector, or SRDA, KernelSRDA, MMC, PCA, PLS, ReducedRank or
        LDA(solver="regularized") for at most 8,192 features; without a `half_life`. It is not
        changed. The map of KernelSRDA is computed from all samples of the window.
    samples : int, default=1000
        N, the number of samples in the window.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to the samples of the window when this attribute is read.
    n_samples_seen_ : int
        The number of samples seen, including those that have left the window.
    n_features_in_ : int
        The number of features of X, of shape (n_samples, n_features).

    Raises
    ------
    ParameterError
        The estimator is of another kind or has a half_life, there are more than 8,192 features for
        SRDA, LDA, MMC or PCA, or `samples` is not an integer >= 1.

    See Also
    --------
    OC : Supports `half_life`, with which old samples decay instead.
    Moments : The moments that are added.

    Notes
    -----
    **Cost**: O(nnz + c d) for each batch; when the result is read, O(c d) for each of about 16
    pieces and a new sum of the piece that is leaving. Memory: a copy of the samples of the window,
    and 16 to 32 states. States of SRDA, LDA, MMC and PCA have 8 d^2 bytes, and take O(d^2) to learn
    a sample and to add; pieces of fewer than max(256, d) samples store the samples instead.

    References
    ----------
    Specific to narrows: a sum of moments (`Moments`).

    Examples
    --------
    >>> import numpy as np
    >>> from narrows import OC, Window
    >>> X, y = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) % 3
    >>> window = Window(OC(), samples=100)
    >>> for start in range(0, 300, 30):
    ...     window = window.partial_fit(X[start : start + 30], y[start : start + 30])
    >>> bool(np.allclose(window.estimator_.components_, OC().fit(X[200:], y[200:]).components_))
    True
    """

    n_samples_seen_: int

    def __init__(self, estimator: Any, samples: int = 1000):
        self.estimator = estimator
        self.samples = samples

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget all earlier samples, and fit to the last samples of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples >= 1, in their order.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels, as the estimator expects them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for the estimator. The window is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples.
        """
        for name in ("_pieces", "_answer"):
            self.__dict__.pop(name, None)
        self._add(X, y, sample_weight, 1)
        learned = self.estimator_._learned
        fit_learned(self.estimator_, learned.step, learned.state)
        self._name_features(self.estimator_)
        return self

    @atomic
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Update with more samples; the oldest samples leave a full window.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, in their order.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels, as the estimator expects them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required; if given, other labels raise an error.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for the estimator. The window is then unchanged.

        See Also
        --------
        fit : Forget all earlier samples, and fit to new ones.
        """
        if classes is not None:
            check_among(classes, y, _NO_CLASSES)
        return self._add(X, y, sample_weight, 0)

    def _add(self, X: Any, y: Any, sample_weight: Any, least: int) -> Self:
        self._check_estimator()
        fitted = hasattr(self, "_pieces")
        X = in_memory(
            checked_samples(
                self, X, inner=self.estimator, ensure_min_samples=least, reset=not fitted
            )
        )
        if sample_weight is not None:
            sample_weight = weights(sample_weight, X.shape[0])
        y = _sliceable(y)
        check_consistent_length(X, y, sample_weight)
        step = self._step(X, y)
        parts = [checked_targets(self.estimator, X, y, step.numeric), sample_weight]
        pieces, seen = [], self.n_samples_seen_ if fitted else 0
        for rows in blocks(X.shape[0], self._piece_size):
            cut, first = [None if a is None else a[rows] for a in parts], seen + rows.start
            state = step.add(step.empty(X.shape[1]), X[rows], cut[0], cut[1], first)
            if X.shape[0] - rows.stop < self.samples:
                copies = tuple(None if a is None else a.copy() for a in (X[rows], *cut))
                pieces.append(_Piece([copies], first, rows.stop - rows.start, step, state))
        if not fitted:
            self._pieces: list[_Piece] = []
            self.n_samples_seen_ = 0
        known = reduce(union, (piece.classes for piece in self._pieces), _NO_CLASSES)
        classes = reduce(union, (piece.classes for piece in pieces), known)
        for before, piece in product(self._pieces, pieces):
            with features_named(self.estimator):
                before.check_kind(piece)
        all_pieces = self._pieces
        for piece in pieces:
            all_pieces = self._with(all_pieces, piece)
        self._pieces = all_pieces
        self.n_samples_seen_ += X.shape[0]
        self._answer: Any = None
        self._answered: dict[str, Any] = {}
        of_classes = self.estimator._needs_y and not step.numeric
        at_first = least or (classes.dtype.kind == "f" and len(known) <= FEW_CLASSES)
        if of_classes and at_first and not is_matrix(y):
            warn_of_numbers(classes, self.n_samples_seen_)
        return self

    def transform(self, X: Any) -> Any:
        """Reduce samples with the estimator of the window.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_r : {ndarray, sparse matrix}
            The result of `transform` of the estimator.

        See Also
        --------
        get_feature_names_out : Return the names of the features of the result.
        """
        check_is_fitted(self)
        return self.estimator_.transform(X)

    @property
    def estimator_(self) -> Any:
        """The estimator, fitted to the samples of the window."""
        check_is_fitted(self)
        now = {"": (type(self.estimator), self.samples)} | self.estimator.get_params()
        if self._answer is None or not all(same(self._answered.get(k), now[k]) for k in now):
            self._check_estimator()
            answer, d = clone(self.estimator), self.n_features_in_
            states, left = list[list[Moments]](), self.samples
            for piece in reversed(self._pieces):
                n = min(left, piece.n)
                left -= n
                states.append([each.later(left) for each in piece.last(n)])
            step = self._pieces[0].step if self._pieces else self._pass_of(Data(d))
            with features_named(self):
                state = step.summed(states or [step.empty(d)])
            answer._learned, answer.n_features_in_ = Learned(step, state), d
            self._name_features(answer)
            self._answer, self._answered = answer, copied(now)
        return self._answer

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features,), optional
            Names of all features; by default those seen in `fit`, or x0, x1, …

        Returns
        -------
        names : ndarray of str objects

        See Also
        --------
        transform : Reduce samples.
        """
        return self.estimator_.get_feature_names_out(input_features)

    @property
    def classes_(self) -> np.ndarray:
        """The classes of the samples of the window; of no other estimators than those with some."""
        return self.estimator_.classes_

    @_if_there("predict")
    def predict(self, X: Any, **options: Any) -> np.ndarray:
        """Predict classes or targets with the estimator of the window, if it does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        **options
            Of the estimator, such as `priors`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The result of `predict` of the estimator.

        See Also
        --------
        predict_proba : Estimate probabilities.
        score : Return the accuracy, or R^2.
        """
        return self.estimator_.predict(X, **options)

    @_if_there("predict_proba")
    def predict_proba(self, X: Any, **options: Any) -> np.ndarray:
        """Estimate the probability of each class with the estimator of the window, if it does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        **options
            Of the estimator, such as `priors`.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        See Also
        --------
        predict : Predict classes.
        """
        return self.estimator_.predict_proba(X, **options)

    @_if_there("decision_function")
    def decision_function(self, X: Any, **options: Any) -> np.ndarray:
        """Return the scores of classes by the estimator of the window, if it has them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        **options
            Of the estimator, such as `priors`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            The result of `decision_function` of the estimator.

        See Also
        --------
        predict : Predict the class with the largest score.
        """
        return self.estimator_.decision_function(X, **options)

    @_if_there("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy or R^2 of the estimator of the window, if it has a score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            What is right.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        score : float

        See Also
        --------
        predict : Predict classes or targets.
        """
        return float(self.estimator_.score(X, y, sample_weight))

    # -- inside ---------------------------------------------------------------------------------

    @property
    def _piece_size(self) -> int:
        """The number of samples of a piece."""
        return -(-self.samples // _PIECES)

    def _with(self, pieces: list[_Piece], new: _Piece) -> list[_Piece]:
        """Return the pieces with a new one at the end, without those that leave the window."""
        if pieces and pieces[-1].n + new.n <= self._piece_size:
            pieces = [*pieces[:-1], pieces[-1] + new]
        else:
            pieces = [*pieces, new]
        while sum(piece.n for piece in pieces) - pieces[0].n >= self.samples:
            pieces = pieces[1:]
        return pieces

    def _name_features(self, answer: Any) -> None:
        """Give an estimator the names of the features, if they have any."""
        if hasattr(self, "feature_names_in_"):
            answer.feature_names_in_ = self.feature_names_in_

    def _step(self, X: Any, y: Any) -> Pass:
        """Return the pass that learns samples: that of those before, or by the estimator."""
        pieces = vars(self).get("_pieces")
        numeric = pieces[0].step.numeric if pieces else has_numbers(self.estimator, y)
        return self._pass_of(Data.of(X, numeric))

    def _pass_of(self, data: Data) -> Pass:
        """Return the pass by which the estimator learns streams."""
        try:
            (step,) = plan_of(self.estimator, data, "stream").passes
        except WidthError:
            raise ParameterError(
                f"expected at most {MOST:,} features for {type(self.estimator).__name__}, "
                f"got {data.n_features:,}. Use OC, or select features first."
            ) from None
        return step

    def _check_estimator(self) -> None:
        if not hasattr(type(self.estimator), "fit_moments"):  # moments add up
            raise ParameterError(
                "expected an estimator whose states add up (OC, SRDA, PCA, a selector, …), "
                f"got {type(self.estimator).__name__}. Use its half_life if it has one."
            )
        if not hasattr(self.estimator, "partial_fit"):
            raise ParameterError(
                "expected an estimator whose states add up, got "
                f"{self.estimator!r}, which needs all samples at once. Use another solver."
            )
        if self.estimator.half_life is not None:
            raise ParameterError(
                "expected an estimator without a half_life, got "
                f"half_life={self.estimator.half_life!r}. Use one or the other."
            )
        check_whole("samples", self.samples)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_pieces")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
