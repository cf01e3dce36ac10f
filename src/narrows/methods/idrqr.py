"""IDR/QR: discriminant analysis in the span of the class means (Ye et al. 2005)."""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from narrows.methods.base import Fitted, accepts_collections, atomic
from narrows.methods.parameters import NOT_NEGATIVE, Constraint, parameters, word
from narrows.methods.projector import EIGENVALUES, EXPLAINED, Directions
from narrows.methods.routes import InOrder
from narrows.methods.streams import Sequential, Stream
from narrows.moments.targets import as_samples
from narrows.solve.codec import PART, SchemaError, Sizes, from_arrays
from narrows.solve.idr_qr import CentroidQR


class CentroidStream(Stream):
    """The class means in the order of arrival, and the scatter in their span."""

    core: Annotated[CentroidQR, PART]


class TwoPasses:
    """Batch IDR/QR: the first pass computes the class means, the second the scatter about them."""

    stream: Annotated[CentroidStream, PART]
    basis: Annotated[np.ndarray, "f8", "d k"]  # of the means, after the first pass

    def __init__(self, stream: CentroidStream):
        self.stream = stream
        self.basis = np.zeros((stream.n_features, 0))

    @property
    def is_settled(self) -> bool:
        """Whether this is the second pass."""
        return bool(self.basis.shape[1])

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where the basis is not of the class means."""
        if sizes["k"] not in (0, sizes["c"]):
            raise SchemaError(f"basis: expected one column for each class, got {sizes['k']}.")

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.stream.n_features

    def widen(self, n_features: int) -> TwoPasses:
        """Append features that are 0 in all samples so far, in place."""
        self.stream.widen(n_features)
        self.basis = np.zeros((n_features, 0))
        return self

    @property
    def classes(self) -> np.ndarray:
        """The sorted class labels so far."""
        return self.stream.classes

    def settle(self) -> None:
        """Fix the class means, and start the second pass."""
        self.basis = self.stream.core.settle()

    def update(self, X: Any, classes: np.ndarray, codes: np.ndarray) -> None:
        """Add samples to the means in the first pass, and to the scatter in the second."""
        stream = self.stream
        stream._own()
        places = stream.places(classes, codes)
        if not self.is_settled:
            stream.core.add(X, stream.column[places])
            stream.counts += np.bincount(places, minlength=len(stream.counts))
        else:
            stream.core.spread(X, stream.column[places], self.basis)


class MeansThenScatter(InOrder):
    """The two passes of `fit` over a data set in chunks."""

    passes = 2  # for the means, and for the scatter about them

    def next(self, state: Any, number: int) -> Any:
        """Fix the class means."""
        if state.is_settled:
            return None
        state.settle()
        return state


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
        The eigenvalues of (W + mu I)^-1 B, descending. The c-th is 0, since the means do not differ
        in that direction; 0 for zero directions.
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
    O(c^3) per sample, and O(c^2 d) while a mean is within 1e-4 of the span of others; O(c^2 d) when
    attributes are read. Memory 16 d c bytes, and twice that during `fit`. The updates equal those
    of the paper up to rounding, also if the means are nearly linearly dependent. The means are not
    centred, so that an offset of the data changes the result.

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
    _state_type = CentroidStream
    _only_route = MeansThenScatter
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED
    _instead = "OCM, which has the same span, is exact on a stream and supports merge"

    n_components: int | None = None
    mu: float = 0.5
    update: str = "paper"

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None) -> Self:
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
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, codes = self._encode(X, y)
        state = self._empty_state(X.shape[1])
        state.update(X, classes, codes)
        state.settle()
        state.update(X, classes, codes)
        self._store(state.stream)._warn_of_numbers(y)
        return self

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
        X = self._check_X(X, reset=False)
        classes, codes = self._encode(X, y)
        stream = self._fitted.state
        counts = np.bincount(codes, minlength=len(classes))
        given = dict(zip(classes.tolist(), counts.tolist(), strict=True))
        fitted = dict(zip(stream.classes.tolist(), stream.counts.tolist(), strict=True))
        for label in {**fitted, **given}:
            got, most = given.get(label, 0), fitted.get(label, 0)
            if not 0 < got <= most:
                expected = f"1 to {most:g}" if most else "no"
                raise ValueError(
                    f"{type(self).__name__}: expected {expected} samples of class {label!r}, got "
                    f"{got}. Pass samples of every class that the estimator was fitted to, each at "
                    "most once."
                )
        columns = stream.column[stream.places(classes, codes)]
        weight = stream.core.N / np.bincount(columns, minlength=len(stream.core.N))
        fresh = deepcopy(stream)
        fresh.core.spread(X, columns, fresh.core.settle(), weight)
        self._fitted = Fitted(fresh, self._fitted.source)
        return self

    # -- files ------------------------------------------------------------------------------

    def _empty_state(self, n_features: int) -> TwoPasses:
        """Return an empty state for the passes of `fit` over a data set in chunks."""
        return TwoPasses(self._new_stream(n_features, np.float64))

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state of these arrays; with a basis, one between the two passes."""
        return from_arrays(TwoPasses if "basis" in arrays else CentroidStream, arrays)

    def _update_state(self, state: TwoPasses, X: Any, y: Any) -> TwoPasses:
        """Add samples, in place, as the current pass requires."""
        X = as_samples(X, type(self).__name__)
        state.update(X, *self._encode(X, y))
        return state

    def _finished(self, state: Any) -> Any:
        return state.stream if isinstance(state, TwoPasses) else state

    # -- inside -----------------------------------------------------------------------------

    def _new_stream(self, n_features: int, dtype: Any) -> CentroidStream:
        return CentroidStream(CentroidQR(n_features))

    def _how(self, stream: Stream, y: Any) -> tuple[Any, ...]:
        return (self.update == "transport",)

    def _store(self, stream: Stream) -> Self:
        super()._store(stream)
        found = self._solution
        if not (found.available or self.mu):
            raise ValueError(
                f"{type(self).__name__}: expected scatter within the classes for mu=0, got none in "
                "the span of the class means. Use mu > 0."
            )
        separating = found.available if (found.eigenvalues > 0).any() else 0
        self._check_rank(separating, len(stream.classes))
        return self

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes, ""

    def _solve(self, state: Stream) -> Directions:
        eigenvalues, G = state.core.discriminants(float(self.mu))
        return Directions.best(G, eigenvalues, self.n_components)
