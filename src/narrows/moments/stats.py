"""ClassStats: class weights and moments that add up, of which every exact method is a function."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Self

import numpy as np

from narrows.moments.labels import union
from narrows.moments.state import Second, State, checked_rows


class ClassStats(State):
    """Weights, sums and, on request, second moments of labelled samples.

    States add up: ``a + b`` is the state of both data sets together, ``a - b`` removes one of
    them again, ``g * a`` scales all weights by g >= 0. So merging, unlearning, forgetting and
    streaming are additions, and neither batches nor order matter.

    Sparse samples are stored as raw sums. Dense samples are measured from an origin, because raw
    sums of squares lose every digit where the offset is large; what is read (``sums``, ``squares``,
    ``means``) is always raw. The origin is near the mean of the first batch, and follows most of
    the weight. A state of both is raw.

    Parameters
    ----------
    n_features : int
        The number of features.
    second : {None, "total", "class", "cross"}, default=None
        Second moments: none, sums of squares over all samples ("total") or for each class
        ("class"), or sums of the products of all pairs of features ("cross"), which at most 8,192
        features may have.
    presence : bool, default=False
        Count the samples in which a feature is not zero, instead of adding values up. Explicit
        zeros do not count.
    kept : int, default=0
        How many samples to keep: those with the smallest hashes, whatever their order.
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
        NaN, samples or states with another number of features, states of different kinds, more
        subtracted than was added, a factor below 0, or sums and weights that no float can hold.
    TypeError
        Something other than a state added or subtracted.

    Warns
    -----
    UserWarning
        By ``a - b`` of states with second moments: fewer than 6 digits of a variance are left,
        because samples far from those that remain, or nearly all of the spread, were subtracted.

    See Also
    --------
    narrows.OC, narrows.OCFS : Fitted from a state by `fit_stats`.

    Notes
    -----
    **Folds**: what is read of a state with folds is that of all samples; ``fold(k)`` returns the
    state of one fold, ``without(k)`` that of all others, for cross-validation without a second
    pass. Addition, subtraction, decay and storage work fold by fold. Samples are numbered from 0
    in the order in which they are added, whatever the batches. The numbers continue in
    ``emptied()`` copies, in ``fade``, and in ``a + b``, after as many samples as both have. ``a -
    b`` needs the samples of b in the folds that they have in a: ``count_from(i)`` numbers them.

    **Cost**: O(nnz) to update from sparse samples, O(n_samples n_features) from dense ones, with no
    array larger than the state. Memory: 8 n_classes n_features bytes, and 8 n_features or as much
    again for sums of squares. For sparse samples, a table of more than 4 million numbers is stored
    as its non-zeros with their places, at about 12 bytes each, as long as that is smaller. K folds
    take K times the memory.

    With "cross", O(n_samples n_features^2) from dense samples on all cores, O(n_samples z^2) from
    sparse ones with z non-zeros each, and 8 n_features^2 bytes. Up to 256 samples, or n_features if
    these are more, wait until their products are added; 512 in each of several folds. Products of
    float32 samples are computed in single precision within blocks, and added up in double
    precision.

    References
    ----------
    The means and scatters that follow from it are those of Yan et al. (2006): J. Yan et al.,
    "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming Data
    Preprocessing", IEEE TKDE 18(3), 2006, section 2.2, doi:10.1109/TKDE.2006.45. That states add up
    is narrows' own.

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
            At least two, of one kind and without folds. Narrower ones have zeros in the features
            that they lack.

        Returns
        -------
        stats : ClassStats
            It shares nothing with the states. Further samples are numbered from their number on.

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
            Without folds; a copy. Its classes are all of those of this state, and those of which
            the fold has no sample have weight 0.

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
            Without folds; a copy.

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
        """Give the next sample this number, which decides on its fold; in place.

        A part of a stream is then in the same folds as it is in the state of the whole stream, for
        ``whole - part``.

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
