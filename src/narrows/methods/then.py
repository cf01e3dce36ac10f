"""What predicts by the features that a model of the command line selected."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np

from narrows.errors import warn
from narrows.methods.parameters import same
from narrows.solve.columns import take


class Then(NamedTuple):
    """An estimator that was fitted to some of the features, and predicts by these.

    Parameters
    ----------
    chosen : ndarray of int of shape (n_chosen,)
        The features, in order.
    estimator : Estimator
        Its samples have these features only.
    """

    chosen: np.ndarray
    estimator: Any

    def updated(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return one that has learned more samples, of all features, too, if they have labels."""
        if y is None:
            return self
        new = deepcopy(self.estimator)
        return self._replace(estimator=new.partial_fit(take(X, self.chosen), y, sample_weight))

    @classmethod
    def merged(cls, models: Sequence[Any]) -> Self | None:
        """Return the sum of those of some models; None where they are not alike."""
        found = [model._learned.then for model in models]
        if not any(found):
            return None
        first, *others = found
        try:
            if not all(first and each and same(first.chosen, each.chosen) for each in others):
                raise ValueError
            new = deepcopy(first.estimator).merge(*(each.estimator for each in others))
            return cls(first.chosen, new)
        except (ValueError, AttributeError):  # the latter where there is no merge
            warn(
                "expected estimators that predict alike by the same "
                "features, got others. The merged one selects features and does not predict. Fit "
                "it to all samples to predict."
            )
            return None
