"""Estimators of numeric targets, and the selection of features by their correlation with these."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from narrows.errors import ParameterError
from narrows.methods.base import Additive
from narrows.methods.selector import Scores, Selector
from narrows.solve.sums import BLOCK, blocks
from narrows.state.class_stats import Second
from narrows.state.targets import TargetStats, targets_of


class Numeric(Additive):
    """An estimator whose targets are numbers, and whose solution is a function of their sums."""

    _state_type: ClassVar[Any] = TargetStats
    _takes_numbers: ClassVar[bool | None] = True
    _useless: ClassVar[str] = "varies with the targets"  # what features should do
    _unsupported: ClassVar[dict[str, str]] = dict.fromkeys(
        ("classes_", "class_count_"), "its targets are numbers. Use SRDA or OCFS for classes."
    )

    @property
    def classes_(self) -> np.ndarray:
        """Not available: targets are numbers."""
        raise AttributeError

    class_count_ = classes_

    @property
    def _n_targets(self) -> int:
        """The number of targets seen."""
        return int(self._state.n_targets)

    def _empty_state(self, n_features: int) -> Any:
        return TargetStats(
            n_features, second=self._second(), kept=self._keeps(), folds=self._folds()
        )

    def _keeps(self) -> int:
        """Return how many samples a state keeps."""
        return 0

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        return TargetStats.read_from(arrays)

    def _labels(self, X: Any, y: Any) -> Any:
        return targets_of(y, X.shape[0], type(self).__name__)

    def _check_classes(self, classes: Any, y: Any) -> None:
        if classes is not None:
            raise ParameterError(
                f"{type(self).__name__}: expected no classes, since its targets are numbers, got "
                "some. Leave classes out, or use SRDA or OCFS for classes."
            )

    def _check_two_classes(self, state: Any) -> None:
        if not (state.counts > 0).any():
            raise ValueError(
                f"{type(self).__name__}: expected samples with a non-zero weight, got none. "
                "Check sample_weight."
            )

    def _check_kind(self, stats: Any) -> None:
        name, second = type(self).__name__, self._second()
        if not isinstance(stats, TargetStats):
            raise TypeError(
                f"{name}: expected a TargetStats for fit_stats, got {type(stats).__name__}. "
                "Use TargetStats.of(X, y), or fit for samples."
            )
        if second == "cross" != stats.second:
            raise ValueError(
                f"{name}: expected a state with second={second!r}, got one with "
                f"second={stats.second!r}. Make it with TargetStats.of(X, y, second={second!r})."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class CorrelationFS(Numeric, Selector):
    """Selection of features by their correlation with numeric targets.

    ::

        criterion   maximise the sum of r_i^2 over the selected features
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where r_i^2 is the squared correlation of feature i with the target, and with several targets
    the mean of those with each target that varies. For one target this is the order of
    `sklearn.feature_selection.f_regression`. Units of features and targets do not matter.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    energy : float, optional
        Select the fewest features that hold this share of the sum of scores, in (0, 1]. By default
        0.8 if neither `n_features` nor `threshold` is given.
    {threshold}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The squared correlation of each feature with the target, from 0 to 1.
    {energy_}
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; constant features come last.
    {n_features_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X or y contain NaN, the number of targets changes, n_features exceeds the number
        of features, or more than one size is given.

    See Also
    --------
    ForwardFS : Selection of features that complement each other.
    OCFS : Selection of features for classes.
    sklearn.feature_selection.f_regression : The same order, from all samples at once.

    Notes
    -----
    **Cost**, for q targets and d features: O(q nnz) per batch, O(q d) per merge, O(q d + d log d)
    when attributes are read; memory 8 d (q + 2) bytes.

    References
    ----------
    The score is that of `sklearn.feature_selection.r_regression`, squared. The state is specific to
    narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from narrows import CorrelationFS
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = CorrelationFS(n_features=3)
    >>> for start in range(0, 442, 100):
    ...     selector = selector.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> selector.get_support(indices=True).tolist(), round(float(selector.scores_.max()), 3)
    ([2, 3, 8], 0.344)
    """

    def _second(self) -> Second:
        return "targets"

    def _score(self, stats: Any) -> Scores:
        of_targets = stats.target_variances
        some = np.flatnonzero(of_targets)
        scores, variances = np.zeros(stats.n_features), stats.variances
        if len(some):
            found = stats.covariances()
            for part in blocks(stats.n_features, max(1, BLOCK // len(some))):
                unit = np.where(variances[part] > 0, np.sqrt(variances[part]), np.inf)
                r = found[some, part] / unit / np.sqrt(of_targets[some])[:, None]
                scores[part] = np.minimum(np.mean(r**2, axis=0), 1.0)
        return Scores(scores, variances > 0)
