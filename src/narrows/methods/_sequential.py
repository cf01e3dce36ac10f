"""Projectors that learn one sample at a time, in order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from narrows.methods._atomic import atomic
from narrows.methods._base import Fitted
from narrows.methods._errors import errors_named_after
from narrows.methods._parameters import check_seed
from narrows.methods._project import Projector
from narrows.methods._streams import Arrivals
from narrows.state.labels import one_a_row
from narrows.state.state import checked_rows
from narrows.solve.sums import blocks, check_lengths
from narrows.solve.undo import Undo

_SHUFFLED_ROWS = 1 << 16  # so many samples at a time are put into the order of a pass


class Sequential(Projector):
    """Learns one sample at a time, so that the result does not depend on the batches.

    Subclasses give `_new_stream` and `_how`; `_encode` where labels may be several per sample.
    """

    _unsupported: ClassVar[dict[str, str]] = {
        "merge": "its result depends on the order of all samples",
        "fit_stats": "its result depends on the order of the samples, which sums do not hold",
    }

    @atomic
    def partial_fit(self, X: Any, y: Any = None, *, classes: Any = None) -> Self:
        """Update with more samples, one at a time, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1; the result does not depend on the batches.
        y : array-like of shape (n_samples,)
            One label per sample, as for `fit`; new classes may appear at any time.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required, in contrast to scikit-learn; if given, other
            labels raise an error. `classes_` has the labels that were seen.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of features, labels of another type or not among
            `classes`, another n_components than at the start. After an error or an interrupt the
            estimator is unchanged.

        See Also
        --------
        fit : Forget all samples and fit to new ones.
        """
        self._check_classes(classes, y)
        self._learn(X, y)
        return self

    def _fit(self, X: Any, y: Any, *weight: Any, passes: int = 1, shuffle: bool = False) -> Self:
        """Learn all samples, in the order of `X` or shuffled, with the checks of `fit`."""
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, *each = self._encode(X, y, *weight)
        state = self._new_stream(X.shape[1], X.dtype)
        random = check_random_state(getattr(self, "random_state", None))
        for _ in range(passes):
            for rows, *labels in _in_order((X, *each), random if shuffle else None):
                state.learn(rows, (classes, *labels), self._how(state, y))
        return self._finish(state)

    def _learn(
        self, X: Any, y: Any, *weight: Any, reducing: bool = False, classes: Any = None
    ) -> np.ndarray | None:
        """Update with more samples; with `reducing`, return them as reduced on the way.

        `classes` are registered, where a state does that.
        """
        fitted = self.__sklearn_is_fitted__()
        X = self._check_X(X, reset=not fitted, ensure_min_samples=0)
        self._check_parameters(X.shape[1])
        labels = self._encode(X, y, *weight)
        before = self._fitted if fitted else None
        if before is not None and before.state.started:
            after, undo = before, Undo()
        else:  # nothing was learned before that could need to be restored
            stream = self._new_stream(X.shape[1], X.dtype)
            after, undo = Fitted(stream, before and before.source), None
        how = self._how(after.state, y)

        def learn() -> np.ndarray | None:
            reduced: np.ndarray | None = after.state.learn(X, labels, how, reducing, undo)
            if classes is not None:
                after.state.register(classes)
            after.solution = None
            self._fitted = after
            return reduced

        return learn() if undo is None else undo.guard(learn)

    def _empty_state(self, n_features: int) -> Any:
        """Return an empty state."""
        return self._new_stream(n_features, np.float64)

    def _update_state(self, state: Any, X: Any, y: Any, *weight: Any) -> Any:
        """Learn samples in order, in place."""
        X = checked_rows(X, type(self).__name__)
        with errors_named_after(self):
            state.learn(X, self._encode(X, y, *weight), self._how(state, y))
        return state

    @abstractmethod
    def _new_stream(self, n_features: int, dtype: Any) -> Arrivals:
        """Return an empty state, for samples of this type."""

    @abstractmethod
    def _how(self, stream: Any, y: Any) -> Any:
        """Return what the state needs to learn samples with such labels, by the parameters."""

    def _encode(self, X: Any, y: Any) -> tuple[np.ndarray, ...]:
        """Return the labels, sorted, and arrays that have an entry for each sample."""
        check_lengths(X)
        return one_a_row(X, self._labels(X, y), type(self).__name__)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_seed(type(self).__name__, getattr(self, "random_state", None))

    def _finish(self, stream: Any) -> Self:
        self._check_two_classes(stream)
        self._fitted = Fitted(stream)
        return self


def _in_order(arrays: tuple[Any, ...], random: Any) -> Iterator[Any]:
    """Yield the samples of one pass, in parts that are shuffled, or all as they are."""
    if random is None:
        yield arrays
        return
    order = random.permutation(arrays[0].shape[0])
    for part in blocks(len(order), _SHUFFLED_ROWS):
        yield [array[order[part]] for array in arrays]
