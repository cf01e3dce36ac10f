"""IDR/QR: discriminant analysis in the span of the class means (Ye et al. 2005)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from narrows.methods.attributes import EXPLAINED
from narrows.methods.in_order import InOrder, Iterates, Labels
from narrows.methods.learned import Learned, atomic
from narrows.methods.parameters import NOT_NEGATIVE, Constraint, parameters, word
from narrows.methods.plan import Data, Plan, Where
from narrows.methods.projectors import check_means
from narrows.methods.sequential import Missing, Sequential
from narrows.solve.codec import SchemaError, taken
from narrows.solve.devices import in_memory
from narrows.solve.idr_qr import CentroidQR
from narrows.solve.solution import Solution


@dataclass(frozen=True)
class Updates(InOrder):
    """One pass in which each sample updates the class means and the scatter in their span.

    Parameters
    ----------
    transport : bool
        Whether the scatter is transported into each new basis.
    """

    transport: bool = False

    def new(self, n_features: int) -> Iterates:
        """Return the state before the first sample."""
        return Iterates(CentroidQR(n_features))

    def learn(
        self, state: Iterates, X: Any, labels: Labels, *, undo: bool = False, **more: Any
    ) -> None:
        """Learn samples in order, in place."""
        state.learn(X, labels, self.transport, undo=undo)

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], expected: Any) -> tuple[InOrder, Iterates]:
        """Return the pass and the state of named arrays, which are taken out of the dict."""
        state = Iterates.of_arrays(arrays, CentroidQR, by_class=True)
        if "basis" not in arrays:
            return expected, state
        sizes = {"d": state.n_features}
        basis = taken(arrays, "basis", ("f8",), ("d", "k"), sizes)
        if sizes["k"] not in (0, len(state.classes)):
            raise SchemaError(f"basis: expected a column for each class, got {sizes['k']}.")
        return (SpanScatter(basis=basis) if sizes["k"] else Means()), state


@dataclass(frozen=True)
class Means(Updates):
    """The first pass of `fit`: class means."""

    def learn(self, state: Iterates, X: Any, labels: Labels, **more: Any) -> None:
        """Add samples to the means, in place."""
        state.core.add(X, state.count(*labels))

    def to_arrays(self, state: Iterates) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `of_arrays`."""
        return super().to_arrays(state) | {"basis": np.zeros((state.n_features, 0))}


@dataclass(frozen=True)
class SpanScatter(Updates):
    """The second pass of `fit`: the scatter about the class means.

    Parameters
    ----------
    basis : ndarray of shape (n_features, n_classes)
        Of the span of the class means.
    """

    basis: Any = None

    def after(self, state: Iterates, map_of: Any) -> InOrder:
        """Return the pass over samples whose means the state has."""
        return replace(self, going_on=state, basis=state.core.settle())

    def learn(self, state: Iterates, X: Any, labels: Labels, **more: Any) -> None:
        """Add samples to the scatter, in place."""
        state.core.spread(X, state.columns(*labels), self.basis)

    def to_arrays(self, state: Iterates) -> dict[str, np.ndarray]:
        """Return the state and the basis as named arrays, for `of_arrays`."""
        return super().to_arrays(state) | {"basis": self.basis}


@parameters
class IDRQR(Sequential):
    """Incremental dimension reduction via QR decomposition (IDR/QR).

    ::

        criterion   maximise trace((M'(W + mu I) M)^-1 M'B M), with W = Q'(n S_w)Q, B = Q'(n S_b)Q,
                    and C = [m_1 .. m_c] = Q R
        space       G = Q M in the span of the class means
        schedule    exact from all samples at once; one sample at a time with approximate W

    where S_b is the scatter of the class means m_1, ..., m_c and S_w the scatter within the
    classes. This is regularised LDA in c dimensions: M holds the eigenvectors of (W + mu I)^-1 B.
    Their lengths, which Ye et al. leave open, are such that M'(W + mu I) M = n I for n samples:
    `transform` returns X G, not centred, with unit variance within the classes where mu is small
    beside W.

    `fit` runs the batch algorithm (Algorithm 1). `partial_fit` continues from it, or starts a
    stream, and learns one sample at a time (Algorithms 2 and 3), so that the result does not depend
    on the batches. C and B are then exact, and W is approximate: the scatter of a sample is
    projected onto the span of the means at that time, and is not corrected when the means move. The
    result depends on the order of the samples and on the order in which the classes appear.
    `update="transport"` transforms W into each new basis. The result then does not depend on the
    order of the classes, and the directions are mostly closer to those of `fit`. `refresh`
    recomputes the exact W from the samples.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default n_classes (fewer if the rank is lower). An explicit
        number holds from the first batch of a stream on; directions that are not available yet are
        zero.
    mu : float, default=0.5
        The ridge on the diagonal of W, >= 0, in the squared units of X. W is a sum (not a mean)
        over the samples. With 0, directions without scatter are omitted.
    update : {"paper", "transport"}, default="paper"
        How `partial_fit` updates W.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of G, most discriminative direction first; not orthogonal. The entry of
        largest magnitude in each direction is positive. Directions that are not available (yet) are
        zero.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of (W + mu I)^-1 B, descending. The one of direction n_classes, if there is
        one, is 0, since the means do not differ in it; 0 for zero directions.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the sum of all eigenvalues, not only the first `n_components`.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the number of samples of each class.
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, or n_components exceeds the
        number of available directions.

    See Also
    --------
    OCM : The span of the class means without the scatter within the classes; supports merging.
    LDA : Discriminant analysis in the span of all samples.
    OnlineSRDA : Discriminant analysis that learns from single samples.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Discriminant analysis for n > d.

    Notes
    -----
    **Cost**, for c classes and d features: `fit` O(nnz c + c^2 d); `partial_fit` O(nnz c) and
    O(c^3) per sample, and, while a mean is within 1e-4 of the span of others, O(c d) for each mean
    within 1e-2 (O(c^2 d) with "transport"); O(c^2 d) when attributes are read. Memory 16 d c bytes,
    and twice that during `fit`. The updates equal those of the paper up to rounding, also if the
    means are nearly linearly dependent. The means are not centred, so that an offset of the data
    changes the result.

    References
    ----------
    Ye et al. (2005): J. Ye, Q. Li, H. Xiong, H. Park, R. Janardan, V. Kumar, "IDR/QR: An
    Incremental Dimension Reduction Algorithm via QR Decomposition", IEEE TKDE 17(9), 2005,
    Algorithms 1 to 3, doi:10.1109/TKDE.2005.148. `update="transport"` and `refresh` are specific to
    narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IDRQR
    >>> X, y = load_iris(return_X_y=True)
    >>> IDRQR().fit(X, y).eigenvalues_.round(1).tolist()
    [29.9, 0.3, 0.0]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "mu": NOT_NEGATIVE,
        "update": word("paper", "transport"),
    }
    _instead = "OCM, which has the same span, is exact on a stream and supports merge"
    transform_while_learning: ClassVar[Any] = Missing()
    n_samples_still_: ClassVar[Any] = Missing()
    explained_variance_ratio_ = EXPLAINED

    n_components: int | None = None
    mu: float = 0.5
    update: str = "paper"

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Fit to all samples at once, by the batch algorithm.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : array-like of shape (n_samples,)
            One label for each sample.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            There are fewer than two classes or several labels for a sample, X contains NaN or
            infinity, or a parameter does not fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Learn from a batch, with approximate scatter within the classes.
        """
        return super().fit(X, y)

    @atomic
    def refresh(self, X: Any, y: Any) -> Self:
        """Recompute the exact W: the scatter of samples about the current class means.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All or some of the samples that the estimator was fitted to. If some samples of a class
            are missing, the others are weighted accordingly.
        y : array-like of shape (n_samples,)
            One label for each sample.

        Returns
        -------
        self : object
            The estimator. With all samples, the result is that of `fit`.

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ValueError
            There are samples of another class, no samples of a fitted class, or more than it was
            fitted to; X contains NaN or has another number of features. The estimator is then
            unchanged.

        See Also
        --------
        fit : Fit to all samples at once, by the batch algorithm.

        Notes
        -----
        **Cost**, for c classes and d features: O(nnz c + c^2 d).
        """
        check_is_fitted(self)
        X, learned = in_memory(self._check_X(X, reset=False)), self._learned
        classes, codes = learned.step.encoded(X, self._labels(X, y))
        state = learned.state
        counts = np.bincount(codes, minlength=len(classes))
        given = dict(zip(classes.tolist(), counts.tolist(), strict=True))
        fitted = dict(zip(state.classes.tolist(), state.counts.tolist(), strict=True))
        for label in {**fitted, **given}:
            got, most = given.get(label, 0), fitted.get(label, 0)
            if not 0 < got <= most:
                expected = f"1 to {most:g}" if most else "no"
                raise ValueError(
                    f"expected {expected} samples of class {label!r}, got "
                    f"{got}. Pass samples of every class that the estimator was fitted to, each at "
                    "most once."
                )
        columns = state.columns(classes, codes)
        weight = state.core.N / np.bincount(columns, minlength=len(state.core.N))
        fresh = deepcopy(state)
        fresh.core.spread(X, columns, fresh.core.settle(), weight)
        self._learned = Learned(learned.step, fresh, source=learned.source)
        return self

    # -- inside -----------------------------------------------------------------------------

    def _sums(self, data: Data) -> Updates:
        return Updates(transport=self.update == "transport")

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        if where == "stream":
            return super()._plan(data, where, samples)
        return Plan((Means(), SpanScatter()), goes_on=self._sums(data))

    def _check_solution(self, found: Solution) -> None:
        if not (found.rank or self.mu):
            raise ValueError(
                "expected scatter within the classes for mu=0, got none in "
                "the span of the class means. Use mu > 0."
            )
        separates = bool((found.values > 0).any())
        found = found if separates else replace(found, rank=0)
        check_means(self, found, int(found.classes.seen.sum()))

    def _solve(self, learned: Learned) -> Solution:
        eigenvalues, G = learned.state.core.discriminants(float(self.mu))
        return Solution.of_directions(eigenvalues, G, self.n_components)
