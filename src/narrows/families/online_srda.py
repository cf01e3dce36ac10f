"""OnlineSRDA: discriminant analysis by regression, in one pass over the rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from narrows.families._base import (
    Learnt,
    absent,
    check_half_life,
    check_parts,
    merge_into,
    naming,
    take_state,
    whole,
)
from narrows.families._elsewhere import also_dask
from narrows.families._project import Directions, Projector
from narrows.families._regression import Regression, united
from narrows.moments.labels import indicator, is_matrix, union, weights
from narrows.moments.stats import checked_rows
from narrows.solve.errors import ParameterError, RangeError, warn
from narrows.solve.exact import set_signs
from narrows.solve.products import product
from narrows.solve.rls import HITS, RECENT, SEEN, DiagonalRLS, Rule
from narrows.solve.sums import blocks, canonical
from narrows.solve.undo import Undo

_ROOM = 0.3  # the power of the largest number up to which squares, and sums of those, are numbers
_SHUFFLED_ROWS = 1 << 16  # so many rows at a time are put into the order of the pass


class OnlineSRDA(Projector):
    """Discriminant analysis of a stream: SRDA in one pass, c numbers a row.

    ::

        criterion   trace((W'(C + D) W)^-1 W'S_b W), D diagonal, by least squares on indicators
        space       W real, one direction a class
        schedule    one step a sample

    For a row x of class k, with t its indicator and Q_k the energy sum w x_k^2 that each column has
    brought, s2 the running mean of `|x|^2` and qb the weight of all rows,

        p = x / (s2 + Q),    e = (t - xW - b) / (1 + x'p + 1/(1 + qb)),
        W += p e',    b += e/(1 + qb),    Q += x^2,    qb += 1.

    The step is preconditioned by the energy and implicit, so nothing has to be chosen and nothing
    overshoots; rescaling the data changes nothing. New classes may come at any time, and are then
    what they would have been from the start. `transform` is X W, not centred.

    **Order matters.** `fit` shuffles. On a stream that comes in the order of its labels the rows
    of the `reservoir` are repeated: kappa = (agree - chance)/(1 - chance), with agree the share,
    over about 100 rows, of rows of the class of the one before; over .2, a row of the reservoir is
    learnt again with probability kappa. On a well mixed stream that hardly happens.

    Parameters
    ----------
    n_components : int, optional
        p, how many directions; one a class, in the order of `classes_`, if left out. Fewer are
        the leading singular directions of W, s_k u_k. On a stream there are p from the first batch
        on: one a class and zeros, as long as there are no more than p classes.
    half_life : float, optional
        Rows after which what was counted weighs half: Q, qb, the mean of `|x|^2`, the class weights
        and the rows kept. W itself does not shrink; it turns faster. For data that change.
    reservoir : int, default=2000
        Rows that are kept, balanced by class, against bad order and for the polish. 0: none.
    polish : bool, default=True
        Fit W once more to the rows of the reservoir when it is read, if that does better on a
        fifth of them that is held out. For few rows, and dense columns that go together; not for
        data that change without a `half_life`, since it looks back. The state does not change.
    loss : {"squared", "softmax"}, default="squared"
        Whose residuals: those of xW + b, or of its softmax, for classes that bend around each
        other. "softmax" has no polish, and one label a row.
    shuffle : bool, default=True
        Whether `fit` takes the rows in a random order. `partial_fit` takes them as they come.
    random_state : int, RandomState or None, default=None
        Of that order; and, if an int, of the choice of rows to keep and repeat.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        W', polished if so chosen, neither scaled nor signed. Of fewer than one a class the entry
        of largest magnitude in each row is positive. Rows of zeros stand for directions that were
        asked for and are not there (yet).
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each (decayed, with a half-life).
    score_ : float
        The share of rows whose class was predicted before they were learnt. With several labels,
        of rows whose best label was one of theirs. NaN before the first row.
    score_window_ : float
        The same over the last 1,000 rows; after `merge` it begins anew.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, more components than classes.

    Notes
    -----
    **Cost** a row: 2 nnz c operations. Memory: d c numbers of the type of the first rows, float32
    or float64, d doubles, and the rows of the reservoir. When read, with polish: O(m^3) for m rows.

    With loss="softmax" e = t - softmax(xW + b) over the classes that came, `h = |e|^2/10`, and
    `p = x / (s2/10 + Q)`, `e /= 1 + h (x'p + 1/(1/10 + qb))`, `b += e/(1/10 + qb)`,
    `Q += h x^2`, `qb += h`. A weight w is no repetition but one longer step:
    `e *= w/(1 + w h (...))`, with h = 1 for squared loss, and w h in the place of h in what is
    added up. `merge` is approximate, good for up to about 8 parts.

    References
    ----------
    The regression: D. Cai, X. He, J. Han, "SRDA: An Efficient Algorithm for Large-Scale
    Discriminant Analysis", IEEE TKDE 20(1), 2008. The one-pass algorithm is narrows' own.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OnlineSRDA
    >>> X, y = load_digits(return_X_y=True)
    >>> online = OnlineSRDA(random_state=0).fit(X, y)
    >>> online.transform(X).shape, round(online.score_, 1)
    ((1797, 10), 0.9)
    >>> online.predict(X[:3]).tolist()
    [0, 1, 2]
    """

    _state_type = Regression
    _instead = "merge, or OC, whose sums add up exactly"

    def __init__(
        self,
        n_components: int | None = None,
        half_life: float | None = None,
        reservoir: int = 2000,
        polish: bool = True,
        loss: str = "squared",
        shuffle: bool = True,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.half_life = half_life
        self.reservoir = reservoir
        self.polish = polish
        self.loss = loss
        self.shuffle = shuffle
        self.random_state = random_state

    # -- learning ---------------------------------------------------------------------------

    @also_dask
    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in one pass, in a random order unless `shuffle` is off.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels; or a 0-1 indicator matrix of several labels a row.
        sample_weight : array-like of shape (n,), optional
            Weights, 0 or from 1e-100 to 1e100.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, all weights zero, NaN or infinity, or a parameter that does
            not fit the data. The estimator is then as it was before.
        """
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, Y, weight = self._targets(X, y, sample_weight)
        if not weight.any():
            raise ValueError(
                "OnlineSRDA: every sample has zero weight. Some rows need a positive sample_weight."
            )
        state = self._new_state(X.shape[1], X.dtype)
        several = is_matrix(y)
        for rows in self._in_order(len(weight)):
            self._learn_rows(state, X[rows], classes, Y[rows], weight[rows], several)
        return self._finish(state)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in their order; what is learnt does not depend on the batches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Any number of rows, 0 and 1 too.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels as for `fit`; new classes may come at any time.
        sample_weight : array-like of shape (n,), optional
            Weights, 0 or from 1e-100 to 1e100.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of columns, labels of another type, one label a row
            after several or the other way round. The estimator is then as it was before.
        """
        self._partial_fit(X, y, sample_weight)
        return self

    def transform_while_learning(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn as `partial_fit` does, and reduce each row by what was learnt up to and with it.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n, c)
            Row i is x(i)W(i), not polished; one column for each of `classes_` after the last row.
            `n_components` has no part in it.
        """
        return self._partial_fit(X, y, sample_weight, reducing=True)

    @whole
    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, reducing: bool = False) -> Any:
        fitted = self.__sklearn_is_fitted__()
        X = self._check_X(X, reset=not fitted, ensure_min_samples=0)
        self._check_parameters(X.shape[1])
        classes, Y, weight = self._targets(X, y, sample_weight)
        begun = fitted and self._learnt.state.n_samples > 0
        state = self._learnt.state if begun else self._new_state(X.shape[1], X.dtype)
        self._check_begun(state, is_matrix(y), classes)
        learnt = self._learnt if begun else Learnt(state)
        if fitted:
            learnt.source = self._learnt.source
        undo = Undo()

        def learn() -> Any:
            if begun:
                state.note(undo)
            several, note = is_matrix(y), undo if begun else None
            reduced = self._learn_rows(state, X, classes, Y, weight, several, reducing, note)
            learnt.solution = None
            self._learnt = learnt
            return reduced

        return undo.guard(learn)

    def merge(self, *others: Self) -> Self:
        """Add what others have learnt, in place: the sum of what each knows, by its energy.

        W becomes sum (s2_k + Q_k) W_k / (s2 + Q), column by column of the data: what was learnt
        from many rows counts for more. It is not what one estimator would have learnt from all
        rows (on 20 Newsgroups 2, 4 and 8 parts lose nothing, .003 and .007 of micro-F1), and a
        matter of up to about 8 parts. Scores are added up, reservoirs united and balanced again.

        Parameters
        ----------
        *others : OnlineSRDA
            Fitted, of the same parameters and columns. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Another method, other parameters (named) or columns, one label a row and several.
        """
        return merge_into(self, others, lambda states: united(states, self._rule(False)))

    fit_stats = absent("fit_stats", "for sums of classes do not tell what a regression learns")

    # -- files, and parts -------------------------------------------------------------------

    def _fit_parts(self, parts: Any) -> Self:
        """Learn parts side by side, each in its order, and merge what they know."""
        check_parts("OnlineSRDA", self.half_life)
        warn(
            "OnlineSRDA: what the parts have learnt is merged approximately, and best for a few "
            "large parts. Use SRDA, or OC, whose merge is exact."
        )
        return self._fit_state(united([parts.sum(self)], self._rule(False)))

    def _add_states(self, a: Regression, b: Regression) -> Regression:
        """Return what both know, which are left as they are."""
        return united([a, b], self._rule(False))

    def _empty_state(self, n_features: int) -> Regression:
        """Return a state with nothing in it yet."""
        return self._new_state(n_features, np.float64)

    def _update_state(
        self, state: Regression, X: Any, y: Any, sample_weight: Any = None
    ) -> Regression:
        """Learn rows in order, in place."""
        X = checked_rows(X, "OnlineSRDA")
        with naming(self):
            classes, Y, weight = self._targets(X, y, sample_weight)
        self._check_begun(state, is_matrix(y), classes)
        self._learn_rows(state, X, classes, Y, weight, is_matrix(y))
        return state

    def _fit_state(self, state: Regression) -> Self:
        """Take this state for what was learnt."""
        return take_state(self, state)

    # -- reading ----------------------------------------------------------------------------

    @property
    def eigenvalues_(self) -> Any:
        """Not to be had: directions are one a class."""
        raise AttributeError(
            "OnlineSRDA has no eigenvalues_, for its directions are one a class, in their order. "
            "Use SRDA for directions in the order of what they tell."
        )

    @property
    def score_(self) -> float:
        """The share of rows whose class was predicted before they were learnt."""
        clock = self._state.core.clock
        return float(clock[HITS] / clock[SEEN]) if clock[SEEN] else float("nan")

    @property
    def score_window_(self) -> float:
        """The same over the last 1,000 rows."""
        core = self._state.core
        window = core.window[: int(core.clock[RECENT])]
        return float(window.mean()) if len(window) else float("nan")

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels: the class of the largest x W + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        y : ndarray of shape (n,), or (n, c)
            With several labels a row an indicator matrix, of x W + b > 1/2.
        """
        solution = self._solution
        X = self._check_X(X, reset=False)
        state = self._state
        outputs = product(X, solution.model) + solution.bias
        if state.several:
            full = np.zeros((X.shape[0], len(state.classes)), np.int64)
            full[:, self.classes_] = outputs > 0.5
            return full
        if not outputs.shape[1]:
            raise NotFittedError("OnlineSRDA: no class has been seen yet. Go on with partial_fit.")
        return self.classes_[outputs.argmax(axis=1)]

    # -- inside -----------------------------------------------------------------------------

    def _targets(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
        """Labels, sorted, the indicator matrix of the rows, and their weights."""
        classes, Y = indicator(X, y, None, "OnlineSRDA")
        values = X.data if sparse.issparse(X) else X
        largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
        most = float(np.finfo(X.dtype).max) ** _ROOM
        # squares are of double precision, W, which is inverse to the rows, of theirs
        least = max(float(np.finfo(np.float64).tiny) ** _ROOM, float(np.finfo(X.dtype).tiny) ** 0.8)
        if largest and not least < largest < most:
            sizes = abs(X).max(axis=0)
            raise RangeError(
                f"numbers of which the largest is between {least:.1e} and {most:.1e}",
                f"{largest:.1e}",
                int((sizes.toarray() if sparse.issparse(X) else sizes).argmax()),
            )
        return classes, Y, weights(sample_weight, X.shape[0], "OnlineSRDA")

    def _check_begun(self, state: Regression, several: bool, classes: np.ndarray) -> None:
        """Raise where the state was begun otherwise; before anything changes."""
        if len(state.core.reservoir) != self.reservoir:
            raise ParameterError(
                f"OnlineSRDA: reservoir={self.reservoir}, but {len(state.core.reservoir)} was "
                "begun with. Use fit to begin anew."
            )
        if state.several is not None and state.several != several:
            kinds = ("one label a row", "an indicator matrix")
            raise ValueError(
                f"OnlineSRDA: {kinds[state.several]} wanted, as before, but {kinds[several]} came. "
                "Give all rows in one form."
            )
        self._rule(several)
        union(state.classes, classes)

    def _learn_rows(
        self,
        state: Regression,
        X: Any,
        classes: np.ndarray,
        Y: sparse.csr_array,
        weight: np.ndarray,
        several: bool,
        reducing: bool = False,
        undo: Undo | None = None,
    ) -> np.ndarray | None:
        rule = self._rule(several)
        if not state.n_samples and X.shape[0]:
            state.several = several
        if X.dtype == np.float64 and state.core.W.dtype != np.float64 and X.shape[0]:
            state.core.promote(np.float64)
        if sparse.issparse(X):
            X = canonical(X)
        if several:  # columns without a row are there too, so that the width is known
            state.columns(classes, np.arange(len(classes)))
        columns = state.columns(classes, Y.indices)
        reduced = np.zeros((X.shape[0], len(state.core.b))) if reducing else None
        state.core.learn(X, (Y.indptr, columns, weight), rule, reduced, undo)
        state.n_samples += X.shape[0]
        return None if reduced is None else reduced[:, state.live].astype(X.dtype)

    def _rule(self, several: bool) -> Rule:
        if several and self.loss == "softmax":
            raise ParameterError(
                'OnlineSRDA: loss="softmax" is for one label a row. Use loss="squared".'
            )
        keep = 1.0 if self.half_life is None else 0.5 ** (1 / float(self.half_life))
        return Rule(keep, self.loss == "softmax", several)

    def _new_state(self, n_features: int, dtype: Any) -> Regression:
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else 0
        return Regression(DiagonalRLS(n_features, self.reservoir, int(seed), dtype))

    def _in_order(self, n: int) -> Iterator[Any]:
        if not self.shuffle:
            yield slice(0, n)
            return
        order = check_random_state(self.random_state).permutation(n)
        for part in blocks(n, _SHUFFLED_ROWS):
            yield order[part]

    def _finish(self, state: Regression) -> Self:
        self._check_two_classes(state)
        classes = len(state.live)
        if self.n_components is not None and self.n_components > classes:
            raise ParameterError(
                f"OnlineSRDA: n_components={self.n_components}, but there are {classes} classes, "
                f"and one direction for each. Use n_components<={classes}."
            )
        self._learnt = Learnt(state)
        return self

    @property
    def _n_features_out(self) -> int:
        """One a class, or as many as were asked for; known without the polish."""
        return len(self._state.live) if self.n_components is None else self.n_components

    def _solve(self, state: Regression) -> Answer:
        core = state.core
        polished = self.polish and self.loss == "squared"
        W, b = core.polished() if polished else (core.W, core.b)
        W, b, p = W[:, state.live], b[state.live], self.n_components
        kept = W
        if p is not None and p < W.shape[1]:
            scaled = W.astype(np.float64) / (np.abs(W).max(initial=0.0) or 1.0)
            kept = set_signs(W @ np.linalg.eigh(scaled.T @ scaled)[1][:, ::-1][:, :p])
        answer = Answer(np.ascontiguousarray(kept), np.zeros(0), available=W.shape[1], size=p)
        answer.model, answer.bias = W, b
        return answer

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_half_life("OnlineSRDA", self.half_life)
        m = self.reservoir
        if isinstance(m, bool) or not isinstance(m, numbers.Integral) or m < 0:
            raise ParameterError(
                f"OnlineSRDA: reservoir must be a whole number >= 0, but {m!r} came."
            )
        try:
            check_random_state(self.random_state)
        except ValueError:
            raise ParameterError(
                "OnlineSRDA: random_state must be None, a RandomState, or a whole number from 0 to "
                f"2**32 - 1, but {self.random_state!r} came."
            ) from None
        for name in ("polish", "shuffle"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ParameterError(
                    f"OnlineSRDA: {name} must be True or False, but {getattr(self, name)!r} came."
                )
        if self.loss not in ("squared", "softmax"):
            raise ParameterError(
                f'OnlineSRDA: loss must be "squared" or "softmax", but {self.loss!r} came.'
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@dataclass
class Answer(Directions):
    """The directions, and the regression they are of, for `predict`."""

    model: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    bias: np.ndarray = field(default_factory=lambda: np.zeros(0))
