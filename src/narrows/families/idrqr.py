"""IDR/QR: LDA in the span of the class means (paper 002)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from narrows.families._atomic import atomic
from narrows.families._base import Fitted
from narrows.families._engines import accepts_collections
from narrows.families._errors import errors_named_after
from narrows.families._parameters import is_number
from narrows.families._project import Directions, RankedProjector
from narrows.families._sequential import Sequential
from narrows.families._streams import Stream
from narrows.moments.stats import checked_rows
from narrows.solve.errors import ParameterError
from narrows.solve.idr_qr import CentroidQR
from narrows.solve.schema import FINITE, Field, SchemaError, checked


class CentroidStream(Stream):
    """The class means in order of arrival, and the scatter in their span."""

    _core = CentroidQR


class TwoPasses:
    """Batch IDR/QR: the first pass makes the class means, the second the scatter about them."""

    def __init__(self, stream: Stream):
        self.stream = stream
        self.Q: np.ndarray | None = None  # of the means, once they are all there

    @property
    def n_features(self) -> int:
        """d."""
        return self.stream.n_features

    def widen(self, n_features: int) -> TwoPasses:
        """Append columns that were 0 so far, in place."""
        self.stream.widen(n_features)
        return self

    @property
    def classes(self) -> np.ndarray:
        """The labels that came."""
        return self.stream.classes

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `IDRQR.state_from`."""
        Q = np.zeros((self.n_features, 0)) if self.Q is None else self.Q
        return {**self.stream.to_arrays(), "basis": Q}

    def _next_pass(self) -> None:
        """Let the means be what they are."""
        self.Q = self.stream.core.settle()

    def update(self, X: Any, classes: np.ndarray, codes: np.ndarray) -> None:
        """Take rows into account in the way of the present pass."""
        stream = self.stream
        places = stream.places(classes, codes)
        if self.Q is None:
            stream.core.add(X, stream.column[places])
            stream.counts += np.bincount(places, minlength=len(stream.counts))
        else:
            stream.core.spread(X, stream.column[places], self.Q)


class IDRQR(RankedProjector, Sequential):
    """Incremental Dimension Reduction via QR Decomposition.

    ::

        criterion   maximise trace((M'(W + mu I) M)^-1 M'B M), with W = Q'(n S_w)Q, B = Q'(n S_b)Q,
                    and C = [m_1 .. m_c] = Q R
        space       G = Q M in the span of the class means
        schedule    exact at once; a sample at a time with an approximation of W

    Regularised LDA in c dimensions: M holds the eigenvectors of (W + mu I)^-1 B. `transform` is
    X G, not centred.

    `fit` is the batch algorithm (1). `partial_fit` goes on from it, or begins, by algorithms 2 and
    3, a sample at a time, however the rows are cut into batches. C and B are then exact, W is not:
    what a sample scatters is seen in the span of the means of its moment, and stays so while they
    move on. What that comes to depends on the order of the rows and, because Q does, on the order
    in which the classes came (the diagonal of R is positive, so that signs are settled).
    `update="transport"` carries W into each new basis, so that it depends on neither the signs nor
    the order of the classes; the directions mostly end nearer to those of `fit`. `refresh` makes
    W exact again from the rows themselves.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions to keep; all, c (fewer if the means are of lower rank), if left out.
        On a stream there are p from the first batch on, zeros as long as the classes are too few.
    mu : float, default=0.5
        Added to the diagonal of W, a scatter that is a sum over the rows and not a mean: in units
        of X squared. >= 0; with 0, directions without scatter are left out.
    update : {"paper", "transport"}, default="paper"
        What `partial_fit` makes of W.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        G', the most discriminating first, g'(n S_w + mu I)g = 1 in terms of W; not orthogonal. The
        entry of largest magnitude in each row is positive. Rows of zeros stand for directions
        that were asked for and are not there (yet).
    eigenvalues_ : ndarray of shape (p,)
        Of (W + mu I)^-1 B, descending; the c-th is 0: in that direction the means do not differ.
        0 for rows of zeros.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and how many rows of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, more components than there are directions.

    Notes
    -----
    **Cost**: `fit` O(nnz c + c^2 d); `partial_fit` O(nnz c) and O(c^3) a row, for what costs
    O(d c + c^3) as written, and O(c^2 d) while a mean is within 1e-4 of the span of others;
    O(c^2 d) when read. Memory 16 d c bytes, and twice that while fitting. The updates are those of
    the paper to rounding, 1e-8 and better, also where a mean nearly depends on others; within 1e-10
    of its length it does. It is defined through means that are not centred, so an offset of the
    data changes the answer.

    References
    ----------
    Paper 002: J. Ye, Q. Li, H. Xiong, H. Park, R. Janardan, V. Kumar, "IDR/QR: An Incremental
    Dimension Reduction Algorithm via QR Decomposition", IEEE TKDE 17(9), 2005, Algorithms 1 to 3,
    doi:10.1109/TKDE.2005.148. `update="transport"` and `refresh` are narrows' own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IDRQR
    >>> X, y = load_iris(return_X_y=True)
    >>> IDRQR().fit(X, y).eigenvalues_.round(1).tolist()
    [29.9, 0.3, 0.0]
    """

    _state_type = CentroidStream
    _instead = "OCM, the same span without the scatter, which is exact on a stream and merges"

    def __init__(self, n_components: int | None = None, mu: float = 0.5, update: str = "paper"):
        self.n_components = n_components
        self.mu = mu
        self.update = update

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all rows at once, by the batch algorithm.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,)
            One label a row.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, several labels a row, NaN or infinity, or a parameter that
            does not fit the data. The estimator is then as it was before.
        """
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, codes = self._encode(X, y)
        state = self._empty_state(X.shape[1])
        state.update(X, classes, codes)
        state._next_pass()
        state.update(X, classes, codes)
        return self._finish(state.stream)

    @atomic
    def refresh(self, X: Any, y: Any) -> Self:
        """Make W exact again: the scatter of these rows about the class means as they are now.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows that were learnt, all of them or some. Where there are fewer of a class than were
            learnt, each counts for so many more.
        y : array-like of shape (n,)
            One label a row.

        Returns
        -------
        self : object
            With all rows the answer is that of `fit`.

        Raises
        ------
        NotFittedError
            Nothing learnt yet.
        ValueError
            A class that was not learnt, or of which none, or more rows than were learnt, came;
            NaN, another number of columns. The estimator is then as it was before.

        Notes
        -----
        **Cost**: O(nnz c + c^2 d).
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        with errors_named_after(self):
            classes, codes = self._encode(X, y)
        stream = self._learnt.state
        came = np.bincount(codes, minlength=len(classes))
        given = dict(zip(classes.tolist(), came.tolist(), strict=True))
        learnt = dict(zip(stream.classes.tolist(), stream.counts.tolist(), strict=True))
        for label in {**learnt, **given}:
            rows, most = given.get(label, 0), learnt.get(label, 0)
            if not 0 < rows <= most:
                raise ValueError(
                    f"IDRQR: of class {label!r} {most:g} rows were learnt, but {rows} came to "
                    "refresh from. Give rows of every class that were learnt, each once."
                )
        columns = stream.column[stream.places(classes, codes)]
        weight = stream.core.N / np.bincount(columns, minlength=len(stream.core.N))
        fresh = CentroidStream.from_arrays(stream.to_arrays())
        fresh.core.spread(X, columns, fresh.core.settle(), weight)
        self._learnt = Fitted(fresh, self._learnt.source)
        return self

    # -- files ------------------------------------------------------------------------------

    def _empty_state(self, n_features: int) -> TwoPasses:
        """Return what `fit` goes through a data set in chunks with."""
        return TwoPasses(self._new_stream(n_features, np.float64))

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays; with a basis, one between the passes."""
        Q = arrays.pop("basis", None)
        stream = super()._state_from(arrays)
        if Q is None:
            return stream
        checked({"basis": Q}, {"basis": Field("f8", ("d", "c"), FINITE)})
        if len(Q) != stream.n_features or Q.shape[1] not in (0, len(stream.classes)):
            raise SchemaError(f"basis: expected a column for each class, got shape {Q.shape}.")
        passes = TwoPasses(stream)
        passes.Q = Q if Q.shape[1] else None
        return passes

    def _passes_in_order(self) -> int:
        """Two: one for the means, one for the scatter about them."""
        return 2

    def _next_pass(self, state: TwoPasses) -> None:
        """Begin the second pass."""
        with errors_named_after(self):
            state._next_pass()

    def _update_state(self, state: TwoPasses, X: Any, y: Any) -> TwoPasses:
        """Take more rows into account, in place, as the present pass does."""
        X = checked_rows(X, "IDRQR")
        with errors_named_after(self):
            state.update(X, *self._encode(X, y))
        return state

    def _fit_state(self, state: TwoPasses) -> Self:
        """Take the state after both passes for what was learnt."""
        return super()._fit_state(state.stream)

    # -- inside -----------------------------------------------------------------------------

    def _new_stream(self, n_features: int, dtype: Any) -> Stream:
        return CentroidStream(CentroidQR(n_features))

    def _how(self, stream: Stream, y: Any) -> tuple[Any, ...]:
        return (self.update == "transport",)

    def _finish(self, stream: Stream) -> Self:
        super()._finish(stream)
        found = self._solution
        if not (found.available or self.mu):
            raise ValueError(
                "IDRQR: expected scatter within the classes for mu=0, got none in the span of the "
                "class means. Use mu > 0."
            )
        telling = found.available if (found.eigenvalues > 0).any() else 0
        self._check_rank(telling, len(stream.classes))
        return self

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes, ""

    def _solve(self, state: Stream) -> Directions:
        eigenvalues, G = state.core.discriminants(float(self.mu))
        return Directions.best(G, eigenvalues, self.n_components)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if not is_number(self.mu, 0):
            raise ParameterError(f"IDRQR: mu must be finite and >= 0, but {self.mu!r} came.")
        if self.update not in ("paper", "transport"):
            raise ParameterError(
                f'IDRQR: update must be "paper" or "transport", but {self.update!r} came.'
            )
