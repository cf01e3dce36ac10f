"""ClassStats: class weights and moments that add up, of which every exact method is a function."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Self

import numpy as np

from narrows.state.labels import union
from narrows.state.state import Second, State, checked_rows


class ClassStats(State):
    """Class weights, class sums and optional second moments of labelled samples.

    States add up: ``a + b`` is the state of both data sets together, ``a - b`` is the state of a
    without the samples of b, and ``g * a`` scales all weights by g >= 0. The result does not depend
    on batches or order.

    Dense samples are stored relative to an origin near their mean, since sums of squares of data
    with a large offset lose all digits. States with sparse samples have no such origin. The
    attributes (``sums``, ``squares``, ``means``) do not depend on the origin.

    Parameters
    ----------
    n_features : int
        The number of features.
    second : {None, "total", "class", "cross"}, default=None
        Second moments: none, sums of squares over all samples ("total") or for each class
        ("class"), or sums of products of all pairs of features ("cross", for at most 8,192
        features).
    presence : bool, default=False
        Count the samples in which a feature is not zero, instead of summing values. Explicit zeros
        do not count.
    kept : int, default=0
        The number of samples to keep: those with the smallest hashes, in any order.
    folds : int, optional
        K, from 2 to 1,000, the number of folds; none by default. Sample number i is in fold i mod
        K, with all its labels. The state is the sum of its folds; see Notes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All labels seen so far, sorted. A class may have weight 0, after a subtraction.
    counts : ndarray of shape (n_classes,)
        N_j, the weight of each class.
    n_samples : int
        The number of samples seen. With an indicator matrix for y a sample counts once here, and
        once for each of its classes in `counts` and in every sum.
    folds : int or None
        The number of folds.

    Raises
    ------
    ValueError
        X contains NaN, the number of features or the kind of the states differs, more is subtracted
        than was added, a factor is negative, or sums or weights overflow.
    TypeError
        The other operand is not a state.

    Warns
    -----
    UserWarning
        ``a - b`` leaves fewer than 6 digits of a variance, because samples far from the remaining
        ones, or nearly all of the variance, were subtracted.

    See Also
    --------
    narrows.OC, narrows.OCFS : Fitted from a state by `fit_stats`.

    Notes
    -----
    **Folds**: the attributes of a state with folds are those of all samples. ``fold(k)`` returns
    the state of one fold, and ``without(k)`` that of all others, for cross-validation without a
    second pass. Addition, subtraction, decay and storage work fold by fold. Samples are numbered
    from 0 in the order in which they are added, in any batches. ``emptied()`` copies and ``fade``
    continue the numbers; ``a + b`` continues them after the samples of both. ``a - b`` requires the
    samples of b to be in the same folds as in a: set their numbers with ``count_from``.

    **Cost**: O(nnz) to update from sparse samples, O(n_samples n_features) from dense ones, with no
    array larger than the state. Memory: 8 n_classes n_features bytes, and 8 n_features or as much
    again for sums of squares. For sparse samples, a table of more than 4 million numbers is stored
    as its non-zeros with their indices, at about 12 bytes each, as long as that is smaller. K folds
    take K times the memory.

    With "cross", O(n_samples n_features^2) from dense samples on all cores, O(n_samples z^2) from
    sparse ones with z non-zeros each, and 8 n_features^2 bytes. Up to max(256, n_features) samples
    are stored until their products are added; 512 in each of several folds. float32
    samples are converted to double precision first.

    References
    ----------
    The means and scatters that follow from it are those of Yan et al. (2006): J. Yan et al.,
    "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming Data
    Preprocessing", IEEE TKDE 18(3), 2006, section 2.2, doi:10.1109/TKDE.2006.45. The addition of
    states is specific to narrows.

    Examples
    --------
    >>> from narrows import ClassStats
    >>> a = ClassStats.of([[1.0, 0.0], [3.0, 0.0]], ["x", "y"])
    >>> b = ClassStats.of([[5.0, 2.0]], ["y"])
    >>> both = a + b
    >>> both.classes.tolist(), both.counts.tolist()
    (['x', 'y'], [1.0, 2.0])
    >>> both.means.tolist()
    [[1.0, 0.0], [4.0, 1.0]]

    The folds of every second sample, and a state without the last sample:

    >>> stats = ClassStats.of([[1.0], [2.0], [3.0], [4.0]], ["x", "x", "y", "y"], folds=2)
    >>> stats.without(1).means.tolist(), stats.fold(1).means.tolist()
    ([[1.0], [3.0]], [[2.0], [4.0]])
    >>> last = ClassStats(1, folds=2).count_from(3).update([[4.0]], ["y"])
    >>> (stats - last).fold(1).counts.tolist()
    [1.0, 0.0]
    """

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Second = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
    ) -> Self:
        """Return the state of the samples X; the parameters are those of `update`."""
        X = checked_rows(X)
        new = cls(X.shape[1], second=second, presence=presence, kept=kept, folds=folds)
        return new.update(X, y, sample_weight, check_input=False)

    @classmethod
    def in_folds(cls, states: Iterable[Self]) -> Self:
        """Return the state whose folds are these states.

        Parameters
        ----------
        states : iterable of ClassStats
            At least two states of one kind, without folds. States with fewer features are padded
            with zeros.

        Returns
        -------
        stats : ClassStats
            An independent copy. The numbers of further samples continue after those of the states.

        Raises
        ------
        ValueError
            Fewer than two states, states with folds, or of several kinds.

        See Also
        --------
        fold : Return the state of the samples of a fold.

        Examples
        --------
        >>> from narrows import ClassStats
        >>> a, b = (ClassStats.of([[x], [x + 1.0]], ["u", "v"]) for x in (0.0, 4.0))
        >>> ClassStats.in_folds([a, b]).fold(1).sums.tolist()
        [[4.0], [5.0]]
        """
        states = list(states)
        if len(states) < 2 or any(state.folds for state in states):
            got = "a state with folds" if len(states) > 1 else f"{len(states)}"
            raise ValueError(f"ClassStats: expected two states without folds at least, got {got}.")
        width = max(state.n_features for state in states)
        folds = [state.widen(width).copy() for state in states]
        for fold in folds:
            folds[0]._check_kind(fold)
        raw = any(fold._origin is None and fold._counts.any() for fold in folds)
        origins = [None] if raw else [each._origin for each in folds if each._origin is not None]
        every = reduce(union, (fold._classes for fold in folds))
        for fold in folds:
            fold._grow(every)
            fold._move(origins[0] if origins else None)
        return cls._of_states(folds, 0, sum(fold.n_samples for fold in folds))

    def fold(self, k: int) -> Self:
        """Return the state of the samples of a fold.

        Parameters
        ----------
        k : int
            From 0 to `folds` - 1.

        Returns
        -------
        stats : ClassStats
            A copy without folds. It has all classes of this state; classes without samples in the
            fold have weight 0.

        Raises
        ------
        ValueError
            The state has no fold of this number.

        See Also
        --------
        without : Return the state of the samples of all folds but one.
        """
        self._check_fold(k)
        return self._chosen([k])

    @property
    def fold_counts(self) -> np.ndarray:
        """The weight of each class in each fold, of shape (n_folds, n_classes)."""
        if self.folds is None:
            return np.zeros((0, len(self.counts)))
        counts: np.ndarray = self._moments["folds"].counts.copy()
        return counts

    def without(self, k: int) -> Self:
        """Return the state of the samples of all folds but one.

        Parameters
        ----------
        k : int
            The fold to leave out, from 0 to `folds` - 1.

        Returns
        -------
        stats : ClassStats
            A copy without folds.

        Raises
        ------
        ValueError
            The state has no fold of this number.

        See Also
        --------
        fold : Return the state of the samples of a fold.
        """
        self._check_fold(k)
        return self._chosen([i for i in range(self.folds or 0) if i != k])

    def _check_fold(self, k: int) -> None:
        if not 0 <= k < (self.folds or 0):
            raise ValueError(
                f"ClassStats: expected the number of one of {self.folds or 0} folds, got {k}. "
                "Make the state with folds=K, and number them from 0 to K - 1."
            )

    def _chosen(self, k: list[int]) -> Self:
        """Return the state of the samples of some folds."""
        moments, counts, n_samples = self._moments["folds"].chosen(k)
        new = self._of_moments(moments)
        new._counts, new.n_samples, new._placed = counts, n_samples, float(counts.sum())
        return new

    def count_from(self, first: int) -> Self:
        """Set the number of the next sample, which determines its fold, in place.

        The samples of a part of a stream are then in the same folds as in the state of the whole
        stream, as ``whole - part`` requires.

        Parameters
        ----------
        first : int
            At least 0.

        Returns
        -------
        self : ClassStats

        See Also
        --------
        fold : Return the state of the samples of a fold.
        """
        if self.folds is not None:
            self._moments["folds"].count_from(first)
        return self

    def __repr__(self) -> str:
        return (
            f"ClassStats({self.n_samples} samples, {len(self._classes)} classes, "
            f"{self.n_features} features, second={self.second!r}, presence={self.presence}"
            + (f", folds={self.folds})" if self.folds else ")")
        )
