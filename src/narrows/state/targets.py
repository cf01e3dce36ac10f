"""`TargetStats`: sums of samples with numeric targets, a state that adds up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.solve.arrays import as_numpy
from narrows.solve.codec import SchemaError, check_known, taken
from narrows.solve.scatter import Scatter, of_samples
from narrows.solve.sums import (
    HUGE,
    blocks,
    check_summable,
    divided,
    near,
    too_large,
    with_one_index_type,
)
from narrows.state.arrays import MOST_TARGETS
from narrows.state.class_stats import ClassStats, Second, checked_rows, is_away
from narrows.state.kept import ToKeep, hashes
from narrows.state.labels import indicator

_FEWEST, _NUMBERS = 512, 1 << 20  # samples that are copied beside their targets, at least
# what does not depend on which features are targets
_OF_SAMPLES = {"classes", "counts", "folds", "kept", "n", "n_held", "n_samples", "second"}
PARTS = 5  # of the samples that are kept, each of which is held out


class TargetStats:
    """Sums of samples with numeric targets: products of targets and features, and of features.

    States add up: ``a + b`` is the state of both data sets together, ``a - b`` is the state of a
    without the samples of b, and ``g * a`` scales all weights by g >= 0. The result does not depend
    on batches or order.

    Parameters
    ----------
    n_features : int
        The number of features.
    second : {"cross", "targets"}, default="cross"
        "cross" holds the products of all pairs of features, for at most 8,192 features and targets.
        "targets" holds their squares only, and the products with the targets, for any number.
    kept : int, default=0
        The number of samples to keep: those with the smallest hashes, in any order.
    folds : int, optional
        K, from 2 to 1,000, the number of folds; none by default. Sample number i is in fold i mod
        K. The state is the sum of its folds.

    Attributes
    ----------
    n_targets : int
        The number of targets, which the first samples determine; 0 before them.
    n_samples : int
        The number of samples seen.
    n : float
        The total weight of the samples.
    mean : ndarray of shape (n_features,)
        The mean of the features.
    target_mean : ndarray of shape (n_targets,)
        The mean of the targets.

    Raises
    ------
    ValueError
        X or y contain NaN, the number of features or targets or the kind of the states differs,
        more is subtracted than was added, or sums or weights overflow.
    TypeError
        The other operand is not a state of numeric targets.

    See Also
    --------
    ClassStats : The state of samples with classes.
    PLS : Fitted from a state by `fit_stats`.

    Notes
    -----
    The state is a `ClassStats` of one class, whose samples have the targets as their first
    features, less an origin near their mean.

    **Cost**: that of `ClassStats` for n_features + n_targets features.

    References
    ----------
    The addition of states is specific to narrows.

    Examples
    --------
    >>> from narrows import TargetStats
    >>> a = TargetStats.of([[1.0, 0.0], [3.0, 2.0]], [10.0, 20.0])
    >>> b = TargetStats.of([[5.0, 4.0]], [60.0])
    >>> (a + b).mean.tolist(), (a + b).target_mean.tolist()
    ([3.0, 2.0], [30.0])
    >>> (a + b - b).n_samples
    2
    """

    def __init__(
        self,
        n_features: int,
        *,
        second: Second = "cross",
        kept: int = 0,
        folds: int | None = None,
    ):
        self.target_origin = np.empty(0)
        self.stats = ClassStats(n_features, second=second, kept=kept, folds=folds, n_targets=0)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Second = "cross",
        kept: int = 0,
        folds: int | None = None,
    ) -> Self:
        """Return the state of the samples X; the parameters are those of `update`."""
        X = checked_rows(X, "TargetStats")
        new = cls(X.shape[1], second=second, kept=kept, folds=folds)
        return new.update(X, y, sample_weight, check_input=False)

    # -- learning ----------------------------------------------------------------------------

    def update(
        self, X: Any, y: Any, sample_weight: Any = None, *, check_input: bool = True
    ) -> Self:
        """Add samples, in place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            n_samples may be 0.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.
        check_input : bool, default=True
            Set False if X is known to be finite, float32 or float64, and CSR if sparse.

        Returns
        -------
        self : TargetStats

        Raises
        ------
        ValueError
            NaN or infinity, or another number of features or targets. The state is then unchanged.

        See Also
        --------
        of : Return the state of samples.
        """
        who = "TargetStats"
        if check_input:
            X = checked_rows(X, who)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"{who}: expected samples with {self.n_features} features, got {X.shape[1]}."
            )
        Y = targets_of(y, X.shape[0], who)
        classes, weight = indicator(X, np.zeros(len(Y), np.int64), sample_weight, who)
        if not len(Y):
            return self
        q = Y.shape[1]
        self._check_targets(q)
        check_summable(X, float(weight.sum()))
        most = float(np.abs(Y).max())
        if not most < HUGE**0.45:
            raise too_large(f"targets below {HUGE**0.45:.0e}", None, f"{most:.1e}")
        origin = self.target_origin if self.n_targets else near(Y)
        size = max(_FEWEST, _NUMBERS // (q + self.n_features))
        parts = list(blocks(len(Y), size if not sparse.issparse(X) else len(Y)))
        stats = self._about(q, origin)
        stats = stats if len(parts) < 2 else stats.copy()  # all samples or none
        for part in parts:
            raw = _beside(Y[part], X[part]) if stats.kept else None  # whatever the origin is
            to_keep = None if raw is None else ToKeep(raw, hashes(raw))
            Z = _beside(Y[part] - origin, X[part])
            stats.add_samples(Z, classes, weight[part], to_keep)
        self.stats, self.target_origin = stats, origin
        return self

    def widen(self, n_features: int) -> Self:
        """Return the same state with more features, which are zero."""
        return self._like(self.stats.widen(n_features + self.n_targets))

    def count_from(self, first: int) -> Self:
        """Set the number of the next sample, which determines its fold, in place."""
        self.stats.count_from(first)
        return self

    # -- adding up ---------------------------------------------------------------------------

    def emptied(self) -> Self:
        """Return an empty state of the same kind."""
        return self._like(self.stats.emptied())

    def copy(self) -> Self:
        """Return a state that shares no array with this one."""
        return self._like(self.stats.copy())

    def reduced(self, second: Any, folds: bool = True) -> Self:
        """Return a copy for a method that needs these second moments; without `folds`, of none."""
        return self._like(self.stats.reduced(self.stats.second, folds))

    def without_kept(self) -> Self:
        """Return the state without the samples that are kept; it shares arrays with this one."""
        return self._like(self.stats.without_kept())

    def sums_only(self) -> Self:
        """Return the state without samples; see `ClassStats.sums_only`."""
        new, origin = self._like(self.stats), self.target_origin
        if is_away(self.target_mean - origin, self.target_variances, origin):
            new.target_origin = self.target_mean
            new.stats = self._about(self.n_targets, new.target_origin)
        new.stats = new.stats.sums_only()
        return new

    @classmethod
    def summed(cls, states: Iterable[Self]) -> Self:
        """Return the sum of at least one state, as one that shares nothing with them."""
        states = list(states)
        first = next((state for state in states if state.n_targets), states[0])
        q, origin = first.n_targets, first.target_origin
        for each in states:
            first._check_kind(each)
        return first._like(ClassStats.summed([each._about(q, origin) for each in states]))

    def __add__(self, other: Self) -> Self:
        return self.summed([self, other])

    def __radd__(self, other: Any) -> Self:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __sub__(self, other: Self) -> Self:
        self._check_kind(other)
        if not other.n_targets:
            return self.copy()
        return self._like(self.stats - other._about(self.n_targets, self.target_origin))

    def __mul__(self, weight: Any) -> Self:
        return self._like(self.stats * weight)

    __rmul__ = __mul__

    def fade(self, weight: float, fresh: Self) -> Self:
        """Scale all weights, add a state, and return self: `weight * self + fresh`, in place."""
        self._check_kind(fresh)
        first = self if self.n_targets else fresh
        q, origin = first.n_targets, first.target_origin
        stats = self._about(q, origin).fade(weight, fresh._about(q, origin))
        self.stats, self.target_origin = stats, origin
        return self

    def _later(self, first: int) -> Self:
        """Return a state of samples that were learned after so many others."""
        return self._like(self.stats._later(first))

    # -- reading -----------------------------------------------------------------------------

    @property
    def n_targets(self) -> int:
        """The number of targets, which the first samples determine; 0 before them."""
        return self.stats.n_targets or 0

    @property
    def n_features(self) -> int:
        """The number of features, without the targets."""
        return self.stats.n_features - self.n_targets

    def __getattr__(self, name: str) -> Any:
        """Read what does not depend on which features are targets."""
        if name not in _OF_SAMPLES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.stats, name)

    @property
    def nbytes(self) -> int:
        """The bytes of the sums."""
        return self.stats.nbytes

    @property
    def mean(self) -> np.ndarray:
        """The mean of the features, of shape (n_features,); zeros for an empty state."""
        return self.stats.mean[self.n_targets :]

    @property
    def target_mean(self) -> np.ndarray:
        """The mean of the targets, of shape (n_targets,)."""
        return self.stats.mean[: self.n_targets] + self.target_origin

    @property
    def variances(self) -> np.ndarray:
        """The variance of each feature, of shape (n_features,); 0 where it may be rounding."""
        return self._variances()[self.n_targets :]

    @property
    def target_variances(self) -> np.ndarray:
        """The variance of each target, of shape (n_targets,); 0 where it may be rounding."""
        return self._variances()[: self.n_targets]

    def units(self, chosen: np.ndarray) -> np.ndarray:
        """Return what standardises the chosen features, as `ClassStats.units` does."""
        return self.stats.units(self._beside(chosen))[self.n_targets :]

    def mean_square(self, unit: np.ndarray | None = None) -> float:
        """Return the mean squared length of the centred samples, divided by a unit if any."""
        return float(divided(divided(self.variances, unit), unit).sum())

    def scatters(self, by_samples: bool = True, unit: np.ndarray | None = None) -> Scatter:
        """Return the scatter of the features and, as its H, their products with the targets.

        Both are about the means. They are in the coordinates of the features, or, with
        `by_samples`, in those of the samples if these are fewer; of features divided by their
        `unit`, if there is one.
        """
        q, rows = self.n_targets, self.stats.few() if by_samples else None
        varies = self.target_variances > 0
        if rows is not None:
            X, weight, m = rows
            Y = X[:, :q].toarray() if sparse.issparse(X) else X[:, :q]
            Y = weight[:, None] * (Y - m[:q]) * varies
            X, m = divided(X[:, q:], unit), divided(m[q:], unit)
            H = Y.T @ X - np.outer(Y.sum(axis=0), m)
            return replace(of_samples(X, weight, m, H), unit=unit)
        S = self.stats.scatters(False, None if unit is None else self._beside(unit))
        C, H = np.asfortranarray(S.C[q:, q:]), S.C[q:, :q].T * varies[:, None]
        return Scatter(C, H, S.n, S.noise[q:], S.m[q:], unit=unit)

    def covariances(self) -> np.ndarray:
        """Return the covariances of targets and features, of shape (n_targets, n_features)."""
        q, n = self.n_targets, self.stats.n or 1.0
        if self.stats.second == "cross":
            return self.scatters(by_samples=False).H / n
        mean = self.stats._centre(self.stats.priors())
        found: np.ndarray = self.stats._of_all("products").toarray() / n - np.outer(mean[:q], mean)
        return found[:, q:]

    def halves(self) -> Iterator[tuple[Self, Self]]:
        """Yield the state of most samples, and that of the others, which are held out.

        These are each fold, or else a fifth of the samples that are kept, in the order of their
        hashes.
        """
        for k in range(self.stats.folds or 0):
            yield self._like(self.stats.without(k)), self._like(self.stats.fold(k))
        if self.stats.folds or not self.stats.kept:
            return
        q, (X, _, weight, _, _) = self.n_targets, self.stats.samples
        sums = self.stats.without_kept()
        for some in np.array_split(np.arange(len(weight)), PARTS):
            Y = X[some, :q].toarray() if sparse.issparse(X) else X[some, :q]
            fold = type(self)(self.n_features).update(X[some, q:], Y, weight[some])
            yield self._like(sums - fold._about(q, self.target_origin)), fold

    # -- storage -----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits."""
        return self.stats.to_arrays() | {"target_origin": self.target_origin}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described."""
        left = dict(arrays)
        new = cls.read_from(left)
        check_known("arrays", left, ())
        return new

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described, and take its arrays out of the dict."""
        stats = ClassStats.read_from(arrays)
        q = stats.n_targets
        of_targets = stats.second in ("cross", "targets") and not stats.presence
        if not of_targets or q is None or q > stats.n_features:
            raise SchemaError("n_targets: expected a state of so many targets, got another.")
        stats.check_kept()
        new = cls(0)
        new.stats, new.target_origin = stats, taken(arrays, "target_origin", ("f8",), (str(q),))
        return new

    def __repr__(self) -> str:
        kind = f"second={self.stats.second!r}, kept={self.stats.kept}, folds={self.stats.folds}"
        return (
            f"TargetStats({self.n_samples} samples, {self.n_targets} targets, "
            f"{self.n_features} features, {kind})"
        )

    # -- inside ------------------------------------------------------------------------------

    def _like(self, stats: ClassStats) -> Self:
        """Return a state with these sums, about the same origin."""
        new = object.__new__(type(self))
        new.stats, new.target_origin = stats, self.target_origin
        return new

    def _about(self, q: int, origin: np.ndarray) -> ClassStats:
        """Return the sums, of q targets about another origin; they may share arrays with these."""
        if not self.n_targets and q:
            mine = self.stats
            kind: Any = {"second": mine.second, "kept": mine.kept, "folds": mine.folds}
            return ClassStats(q + mine.n_features, n_targets=q, **kind).count_from(mine._first)
        delta = self.target_origin - origin
        if not delta.any():
            return self.stats
        return self.stats.moved(np.concatenate([delta, np.zeros(self.n_features)]))

    def _beside(self, of_features: np.ndarray) -> np.ndarray:
        """Return numbers of the features behind ones for the targets."""
        return np.append(np.ones(self.n_targets, of_features.dtype), of_features)

    def _variances(self) -> np.ndarray:
        p = self.stats.priors()
        return np.where(self.stats.varying(p), self.stats.variances(p), 0.0)

    def _check_targets(self, q: int) -> None:
        if self.n_targets not in (0, q):
            raise ValueError(
                f"TargetStats: expected {self.n_targets} target{'s' * (self.n_targets > 1)} as "
                f"before, got {q}. Give all samples the same targets."
            )

    def _check_kind(self, other: Any) -> None:
        if not isinstance(other, TargetStats):
            raise TypeError(
                f"TargetStats: expected another state of numeric targets, got "
                f"{type(other).__name__}. Use TargetStats.of(X, y)."
            )
        if other.n_targets:
            self._check_targets(other.n_targets)
        kinds = ("n_features", "second", "kept", "folds")
        if any(getattr(self, kind) != getattr(other, kind) for kind in kinds):
            raise ValueError(f"TargetStats: expected states of one kind, got {self} and {other}.")


def _beside(Y: np.ndarray, X: Any) -> Any:
    """Return samples with their targets as the first features."""
    if sparse.issparse(X):
        return with_one_index_type(sparse.hstack([sparse.csr_array(Y), X], format="csr"))
    return np.hstack([Y, X])


def targets_of(y: Any, n: int, who: str) -> np.ndarray:
    """Return the targets of n samples, of shape (n_samples, n_targets).

    Raises
    ------
    ValueError
        The targets are missing, no finite real numbers, of another length, or of three dimensions.
    """
    if y is None:
        raise ValueError(
            f"{who} requires y to be passed, but the target y is None. "
            "Pass the targets of the samples, which are numbers."
        )
    advice = "Pass an array of shape (n_samples,) or (n_samples, n_targets)."
    if sparse.issparse(y):
        raise ValueError(f"{who}: expected targets as a dense array, got a sparse one. {advice}")
    given = np.asarray(as_numpy(y, "y", who))
    if given.dtype.kind == "O" and not any(isinstance(each, str | bytes) for each in given.flat):
        with suppress(TypeError, ValueError):
            given = given.astype(np.float64)
    if given.dtype.kind not in "biuf":
        got = {"c": "complex numbers", "M": "dates", "m": "times"}.get(given.dtype.kind, "text")
        raise ValueError(
            f"{who}: expected targets that are real numbers, got {got}. Convert them, or use SRDA "
            "or ForwardFS for classes."
        )
    if given.ndim not in (1, 2) or (given.ndim == 2 and not 0 < given.shape[1] <= MOST_TARGETS):
        raise ValueError(
            f"{who}: expected from 1 to {MOST_TARGETS:,} targets, got y of shape {given.shape}. "
            f"{advice}"
        )
    if len(given) != n:
        raise ValueError(
            f"{who}: expected the targets of {n} samples, got those of {len(given)}. {advice}"
        )
    Y = given.astype(np.float64).reshape(n, *given.shape[1:] or (1,)) + 0.0  # -0 becomes 0
    if not np.isfinite(Y).all():
        got = "NaN" if np.isnan(Y).any() else "infinity"
        raise ValueError(
            f"{who}: expected finite targets, got {got}. Leave out the samples without a target."
        )
    return Y
