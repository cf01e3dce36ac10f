"""Retrieval: how often nearest neighbours have the class of the query, by number of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import FunctionTransformer, StandardScaler, normalize
from sklearn.utils.extmath import row_norms

from narrows.errors import ParameterError
from narrows.evaluate.methods import RIVALS, Method, NarrowsMethod, States, check_methods
from narrows.evaluate.report import of_retrieval
from narrows.evaluate.splits import checked_test
from narrows.evaluate.table import (
    ALL,
    Cell,
    Choice,
    Reduced,
    Row,
    Table,
    as_numbers,
    marks,
    merged,
    named,
    place,
    run,
)
from narrows.evaluate.table import n_steps as steps_of
from narrows.methods.discriminants import LDA
from narrows.methods.parameters import real, whole, word
from narrows.moments.labels import first_labels, joined, one_a_row
from narrows.moments.targets import as_samples
from narrows.solve.paired import MARGIN, Difference, standard_error
from narrows.solve.sums import number_in_class, stacked

COMPARED = ("lda", "pca")
SIZES = (16, 32, 64, 128)
LEFT_OUT, REPEATS = 0.5, 5
SCORES = ("recall@1", "recall@10", "precision@10", "overlap@10")
SEEN, OTHERS = "seen", "left-out"
_NEAREST = 10
_LONG = 128  # features from which products in blocks are faster
_GROUP = 16  # products of which the largest is compared first
_BLOCK = 1 << 23  # cosines at a time


class Truncation(TransformerMixin, BaseEstimator):
    """The first columns."""

    def __init__(self, n_components: int | None = None):
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> Truncation:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the first columns of samples."""
        return X[:, : self.n_components]


class _Ridge(NarrowsMethod):
    """LDA, whose `mu` is a multiple of the scatter of the samples that it is fitted to."""

    def __init__(self, ridge: float):
        super().__init__(f"LDA, ridge {ridge:g}", LDA())
        self.ridge = ridge

    def learn(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Fit for at most `most` dimensions; return the CPU seconds."""
        self.estimator = self.of(_scatter(X))
        return super().learn(X, y, states, most)

    def of(self, scatter: float, p: int | None = None) -> Any:
        """Return an unfitted estimator for samples of this scatter."""
        return self.with_size(p).set_params(mu=float(self.ridge * scatter))


@dataclass(eq=False)
class RetrievalLine(Row):
    """Scores of one reduction: for seen and left-out classes, a row for each query of each draw."""

    found: dict[str, list[np.ndarray]] = field(default_factory=dict, repr=False)

    @property
    def n_draws(self) -> int:
        """The number of draws with scores."""
        return len(next(iter(self.found.values()), []))

    def mean(self, classes: str, metric: str) -> float:
        """Return the mean of a score over the draws."""
        column = SCORES.index(metric)
        return float(
            np.mean([draw[:, column].mean(dtype=np.float64) for draw in self.found[classes]])
        )


def _all_draws(lines: Sequence[RetrievalLine]) -> RetrievalLine:
    """Return the line that has the scores of several draws."""
    most = max(lines, key=lambda line: line.dimensions)
    found = {name: [line.found[name][0] for line in lines] for name in most.found}
    return replace(most, found=found)


def retrieval(
    X: Any,
    y: Any,
    methods: Sequence[Any] = COMPARED,
    dims: Sequence[int] | None = None,
    *,
    ridges: Sequence[float] = (),
    left_out: float = LEFT_OUT,
    test: tuple[Any, Any] | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    margin: float = MARGIN,
) -> Retrieval:
    """Compare reductions by the nearest neighbours of queries, also of classes left out of fits.

    Each draw leaves out a random part of the classes, and fits every reduction to the indexed
    samples of the others. The neighbours of a query are the nearest indexed samples by the cosine
    of the reduced vectors. Queries of seen classes search the indexed samples of seen classes;
    queries of left-out classes search those of left-out classes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, such as embeddings.
    y : array-like of shape (n_samples,)
        One label per sample.
    methods : sequence of str, transformer or Pipeline, default=("lda", "pca")
        Those that `compare` takes for classes, and "truncation" (the first columns; for models
        whose columns are ordered by importance, such as Matryoshka models). A transformer whose
        number of columns is given, such as ``LDA(n_components=7)``, has one line of its own size.
    dims : sequence of int, optional
        Numbers of dimensions. By default those of 16, 32, 64, 128 and the number of seen classes
        less one that are below n_features. A reduction with fewer dimensions than requested, such
        as the rank of the fitted samples, is listed once.
    ridges : sequence of float, default=()
        Values of `mu` of `LDA` to compare: multiples of the mean diagonal of the scatter
        n C of the samples that are fitted, with their covariance C. Each is a further method.
    left_out : float, default=0.5
        Share of the classes to leave out, in [0, 1). With 0, all classes are seen.
    test : (X, y), optional
        Queries; X is the index. By default each draw takes a random fifth of each class as queries,
        rounded up; a class with one sample has no query.
    repeats : int, default=5
        Number of draws; one is enough with `test` and ``left_out=0``.
    seed : int, default=0
        Seed of the draws, and of methods given by name.
    progress : callable, optional
        Called with a description of the next step: in each draw all columns, and each method with
        each number of dimensions.
    margin : float, default=0.005
        Reductions that differ by at most one standard error, or by at most this, are equivalent;
        `best` chooses the smallest of them.

    Returns
    -------
    Retrieval
        A list of lines: all columns first, then the methods by dimensions. `best` chooses one;
        `print` shows a table.

    Raises
    ------
    ParameterError
        A method is unknown or not for classes, a parameter is out of range, or there are fewer than
        two classes with queries to see, or to leave out.

    See Also
    --------
    compare : Scores of classifiers instead of neighbours.
    RetrievalDisplay : Plot the result.

    Notes
    -----
    The scores are means over the queries, and then over the draws:

    - recall@1: the share of queries whose nearest neighbour has their class.
    - recall@10: the share of queries with at least one sample of their class among the ten nearest.
    - precision@10: the share of the ten nearest that have the class of the query.
    - overlap@10: the share of the ten nearest that are also among the ten nearest of the full
      vectors, which approximate indexes call recall.

    Queries whose class is not in the index are ignored. Where the index has fewer than ten samples,
    all of them are the nearest. A vector of zeros has the cosine 0 with all
    others, and 1 with vectors of zeros.

    **Errors**: the standard error of a score, or of a difference of scores for the same queries, is
    that of a mean over draws that share classes (Nadeau and Bengio, 2003): classes count as the
    units, of which each draw scores a part. Without left-out classes, queries are the units. Of one
    draw, the error is that of its queries alone.

    **Cost**: that of the fits, once per method and draw, and O(n_queries n_indexed p) for the
    neighbours with p dimensions, which are exact. Vectors have single precision, so that the order
    of ties and near ties is arbitrary. Memory: a few blocks of distances, never all of them.

    References
    ----------
    Recall@k: H. Jégou, M. Douze, C. Schmid, "Product Quantization for Nearest Neighbor Search",
    IEEE TPAMI 33(1), 2011; with classes: H. O. Song et al., "Deep Metric Learning via Lifted
    Structured Feature Embedding", CVPR 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows.evaluate import retrieval
    >>> lines = retrieval(*load_digits(return_X_y=True), dims=[4, 16], ridges=[1])
    >>> [(line.method, line.dimensions) for line in lines]  # doctest: +NORMALIZE_WHITESPACE
    [('all columns', 64), ('lda', 4), ('lda', 16), ('pca', 4), ('pca', 16),
     ('LDA, ridge 1', 4), ('LDA, ridge 1', 16)]
    >>> chosen = lines.best(classes="seen")
    >>> chosen.line.method, chosen.line.dimensions
    ('lda', 16)
    """
    real(0).check("margin", margin)
    made = check(methods, dims, left_out, ridges, repeats, seed)
    X, y, is_query = _joined(X, y, test)
    classes, codes = one_a_row(X, y)
    c, d = len(classes), X.shape[1]
    k = round(left_out * c)
    if c - k < 2 or (left_out and k < 2):
        raise ParameterError(
            f"expected at least 2 seen{' and 2 left-out' * bool(left_out)} classes, got "
            f"{c - k} and {k}. Leave out another share of the classes, or none."
        )
    if is_query is not None and not left_out:
        repeats = 1
    sizes = sizes_of(c - k, d, dims)
    rng, found, ratios = np.random.default_rng(seed), list[RetrievalLine](), dict[str, float]()
    compared, say = [Method(ALL, FunctionTransformer()), *made], progress or (lambda what: None)
    for method in made:
        method.is_compiled = True  # there are no times
    for _ in range(repeats):
        draw = _Draw(X, codes, _queries(codes, rng) if is_query is None else is_query, k, rng)
        fitted, ratios = (X[draw.fitted], codes[draw.fitted]), draw.ratios
        found += run(compared, fitted, X, sizes[::-1], RetrievalLine, [""], draw, say, cut=True)
    order = {method.name: number for number, method in enumerate(compared)}
    found.sort(key=lambda line: (order[line.method], line.asked or 0))
    index = X if is_query is None else X[~is_query]
    return Retrieval(merged(found, _all_draws)[0], made, ratios, _scatter(index), margin)


def sizes_of(n_seen: int, n_features: int, dims: Sequence[int] | None) -> list[int]:
    """Return the numbers of dimensions to compare."""
    usual = (p for p in (*SIZES, n_seen - 1) if 0 < p < n_features)
    return sorted(set(usual if dims is None else map(int, dims)))


def n_steps(
    y: np.ndarray,
    n_features: int,
    methods: Sequence[Method],
    dims: Sequence[int] | None = None,
    left_out: float = LEFT_OUT,
    repeats: int = REPEATS,
) -> int:
    """Return how often `retrieval` reports progress."""
    c = len(np.unique(y))
    return repeats * steps_of(methods, len(sizes_of(c - round(left_out * c), n_features, dims)))


def check(
    methods: Sequence[Any] = COMPARED,
    dims: Sequence[int] | None = None,
    left_out: float = LEFT_OUT,
    ridges: Sequence[float] = (),
    repeats: int = REPEATS,
    seed: int = 0,
) -> list[Method]:
    """Return the methods; raise ParameterError for an unknown or invalid argument."""
    for name, values, allowed in (
        ("dims", [1] if dims is None else dims, whole(1)),
        ("left_out", [left_out], real(0, 1)),
        ("ridges", ridges, real(0, above=True)),
        ("repeats", [repeats], whole(1)),
    ):
        for value in values:
            allowed.check(name, value)
    made = check_methods(methods, seed, others=RIVALS | {"truncation": Truncation()})
    return [*made, *map(_Ridge, dict.fromkeys(ridges))]


def _joined(X: Any, y: Any, test: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return indexed samples and queries, their labels, and which are queries, if that is given."""
    if test is None:
        return as_samples(X), y, None
    Q, queried = checked_test(test, X)
    X, Q = (as_samples(rows) for rows in (X, Q))
    if Q.shape[1] != X.shape[1]:
        raise ParameterError(f"expected queries with {X.shape[1]} features, got {Q.shape[1]}.")
    parts = (one_a_row(*pair) for pair in ((X, y), (Q, queried)))
    y, asked = (classes[codes] for classes, codes in parts)
    known = np.isin(asked, y)
    if not known.any():
        raise ParameterError(
            "expected queries of classes of the index "
            f"({first_labels(np.unique(y))}), got {first_labels(np.unique(asked))}. Check the "
            "labels."
        )
    is_query = np.repeat([False, True], [len(y), known.sum()])
    return stacked([X, Q[known]]), joined([y, asked[known]]), is_query


def _queries(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a fifth of each class, rounded up; none of a class with one sample."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    return (number_in_class(codes, order) % 5 == 0) & (np.bincount(codes)[codes] > 1)


def _scatter(X: Any) -> float:
    """Return the mean diagonal of the scatter of samples about their mean."""
    return X.shape[0] * float(StandardScaler(with_mean=False).fit(X).var_.mean())


class _Draw:
    """Which classes, k of them, are left out, and which samples are queries; scores reductions."""

    def __init__(
        self, X: Any, codes: np.ndarray, is_query: np.ndarray, k: int, rng: np.random.Generator
    ):
        self.codes, self.n_features, c = codes, X.shape[1], int(codes.max()) + 1
        out = np.isin(codes, rng.permutation(c)[:k])
        parts = {SEEN: ~out, OTHERS: out} if k else {SEEN: ~out}
        self.parts = {
            name: (np.flatnonzero(part & ~is_query), np.flatnonzero(part & is_query))
            for name, part in parts.items()
        }
        self.fitted = self.parts[SEEN][0]
        self.full: dict[str, np.ndarray] = {}  # the neighbours by all columns
        for name, (_, queries) in self.parts.items():
            if not len(queries):
                raise ParameterError(
                    f"expected queries of {name} classes, got none. Give classes with "
                    "several samples, or queries of more classes."
                )
        self.ratios = {SEEN: (c - k) / k, OTHERS: k / (c - k)} if k else {
            SEEN: float(is_query.sum() / (~is_query).sum())
        }  # fmt: skip

    def __call__(self, judge: str, made: Reduced) -> RetrievalLine:
        """Return the scores of all queries by their nearest neighbours among reduced vectors."""
        Z = made.Z
        line = RetrievalLine(made.method.name, judge, made.asked, Z.shape[1], self.n_features)
        U: Any = normalize(Z).astype(np.float32)
        is_zero = (row_norms(U) == 0).astype(np.float32)[:, None]
        if is_zero.any():  # one more column, so that their cosine with others is 0
            both = U, is_zero
            U = sparse.hstack(both, format="csr") if sparse.issparse(U) else np.hstack(both)
        for name, (index, queries) in self.parts.items():
            found = nearest(U[index], U[queries], min(_NEAREST, len(index)))
            full = self.full.setdefault(name, found)  # all columns come first
            same = self.codes[index][found] == self.codes[queries][:, None]
            kept = (found[:, :, None] == full[:, None, :]).any(axis=2).mean(axis=1)
            scores = np.stack([same[:, 0], same.any(axis=1), same.mean(axis=1), kept], axis=1)
            line.found[name] = [scores.astype(np.float32)]
        return line


def _largest(products: np.ndarray, k: int) -> np.ndarray:
    """Return the k largest entries of each row: they are in the k groups of largest maximum."""
    n = products.shape[1]
    n_groups = n // _GROUP
    if n_groups <= 2 * k:
        return np.argpartition(products, n - k, axis=1)[:, n - k :]
    whole = products[:, : n_groups * _GROUP].reshape(len(products), n_groups, _GROUP)
    largest = np.argpartition(whole.max(axis=2), n_groups - k, axis=1)[:, n_groups - k :]
    columns = (largest[:, :, None] * _GROUP + np.arange(_GROUP)).reshape(len(products), -1)
    rest = np.broadcast_to(np.arange(n_groups * _GROUP, n), (len(products), n % _GROUP))
    columns = np.hstack([columns, rest])
    values = np.take_along_axis(products, columns, axis=1)
    best = np.argpartition(values, values.shape[1] - k, axis=1)[:, values.shape[1] - k :]
    return np.take_along_axis(columns, best, axis=1)


def nearest(U: Any, Q: Any, k: int, block: int = _BLOCK) -> np.ndarray:
    """Return the k rows of U with the largest products with each row of Q, the largest first.

    Rows have length 1 or 0. Of short vectors, the search of scikit-learn is faster than products.
    """
    if sparse.issparse(U) or U.shape[1] < _LONG:
        search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(U)
        return search.kneighbors(Q, return_distance=False)
    n = U.shape[0]
    found = np.empty((Q.shape[0], k), np.intp)
    step = max(1, block // n)
    for start in range(0, Q.shape[0], step):
        products = Q[start : start + step] @ U.T
        best = _largest(products, k)
        order = np.argsort(-np.take_along_axis(products, best, axis=1), axis=1, kind="stable")
        found[start : start + step] = np.take_along_axis(best, order, axis=1)
    return found


class Chosen(Choice):
    """The reduction to use, by the rule of one standard error (Breiman et al., 1984), or a margin.

    Of the reductions that are not worse than the best one by more than one standard error of the
    paired difference, or not by more than the margin, the one with the fewest dimensions; of these,
    the best.

    Parameters
    ----------
    lines : Retrieval
        The lines, of which one at least is a reduction.
    classes : {"seen", "left-out"}
        The classes of the queries.
    metric : {"recall@1", "recall@10", "precision@10", "overlap@10"}
        The score.

    Attributes
    ----------
    line, best : RetrievalLine
        The reduction, and the one with the highest score.
    near : list of RetrievalLine
        The reductions that are equivalent to the best.
    all_columns : RetrievalLine
        The line of all columns.
    are_all_worse : bool
        Whether every reduction is worse than all columns by more than one standard error, and the
        margin.
    estimator : transformer
        The method for all indexed samples, not fitted, with this number of components.
    """

    def __init__(self, lines: Retrieval, classes: str, metric: str):
        self.classes, self.metric, self.margin, self._lines = classes, metric, lines.margin, lines
        by, reductions = (classes, metric), lines._reductions()
        self.best = min(reductions, key=lambda line: (-line.mean(*by), line.dimensions))
        self.near = [line for line in reductions if not self.is_worse(line, self.best)]
        self.line = min(self.near, key=lambda line: (line.dimensions, -line.mean(*by)))
        self.all_columns = next(line for line in lines if line.method == ALL)
        self.are_all_worse = all(self.is_worse(line, self.all_columns) for line in reductions)
        self.estimator = lines._estimator(self.line)

    def apart(self, other: RetrievalLine | None, row: RetrievalLine | None = None) -> Difference:
        """Return the paired difference of a line from another one, or its score."""
        return self._lines.score(row or self.line, self.classes, self.metric, other)

    def score(self, row: RetrievalLine) -> str:
        """Return the score of a line as text."""
        return f"{row.mean(self.classes, self.metric):.3f}"

    def __str__(self) -> str:
        use = "Use"
        if self.are_all_worse:
            use = f"Every reduction is worse than {named(self.all_columns)}. If you reduce the "
            use += "vectors, use"
        own = f"{self.score(self.line)} +- {self.apart(None).standard_error:.3f}"
        said = f"{use} {named(self.line)}: {self.metric} of {self.classes} classes {own}"
        return self.compared(said, self.all_columns, self.best)

    def as_dict(self) -> dict[str, Any]:
        """Return the choice ready for JSON."""
        others = {"score": None, "to_best": self.best, "to_all": self.all_columns}
        return {
            **place(self.line),
            "classes": self.classes,
            "metric": self.metric,
            **{name: as_numbers(self.apart(other)) for name, other in others.items()},
            "best": place(self.best),
            "margin": self.margin,
            "are_all_worse": self.are_all_worse,
            "sentence": str(self),
        }


class Retrieval(Table[RetrievalLine]):
    """The lines of `retrieval`: all columns, then each method by dimensions.

    Each line has the name of the method (`method`), `dimensions`, and the scores of each query in
    each draw (`found`). `print` shows the choice of `best` and a table.

    Parameters
    ----------
    lines : iterable of RetrievalLine
        The lines.
    methods : sequence
        The methods, as `retrieval` names them.
    ratios : dict of float
        For seen and left-out classes, how many are scored in a draw, divided by the number of
        others.
    scatter : float
        Mean diagonal of the scatter of all indexed samples, the unit of `ridges`.
    margin : float
        A difference that does not count.

    Attributes
    ----------
    classes : tuple of str
        "seen", and "left-out" if classes are left out.

    See Also
    --------
    retrieval : Compute the lines.
    RetrievalDisplay : Plot the lines.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows.evaluate import retrieval
    >>> lines = retrieval(*load_digits(return_X_y=True), ["pca"], dims=[16])
    >>> round(lines.score(lines[1], "seen", "recall@1").mean, 1)
    1.0
    """

    _heading = "Retrieval by reduced vectors", "of"

    def __init__(
        self,
        lines: Iterable[RetrievalLine],
        methods: Sequence[Method],
        ratios: dict[str, float],
        scatter: float,
        margin: float = MARGIN,
    ):
        super().__init__(lines)
        self._methods, self._scatter = {method.name: method for method in methods}, scatter
        self.ratios, self.classes, self.margin = ratios, tuple(ratios), margin

    def score(
        self, line: RetrievalLine, classes: str, metric: str, than: RetrievalLine | None = None
    ) -> Difference:
        """Return a score, or its difference from that of another line, and its standard error."""
        self._check(classes, metric)
        column = SCORES.index(metric)
        apart = [each[:, column].astype(np.float64) for each in line.found[classes]]
        if than is not None:
            apart = [a - b[:, column] for a, b in zip(apart, than.found[classes], strict=True)]
        values = [float(each.mean()) for each in apart]
        variances = [float(each.var() / len(each)) for each in apart]
        error = standard_error(values, variances, self.ratios[classes])
        return Difference(float(np.mean(values)), error)

    def best(self, metric: str = SCORES[0], classes: str | None = None) -> Chosen | None:
        """Choose a reduction by the rule of one standard error, or the margin.

        Parameters
        ----------
        metric : {"recall@1", "recall@10", "precision@10", "overlap@10"}, default="recall@1"
            The score.
        classes : {"seen", "left-out"}, optional
            The classes of the queries; by default left-out ones, if there are any.

        Returns
        -------
        Chosen or None
            None if no reduction was compared. `estimator` is the method to fit to all samples;
            `print` shows the choice as a sentence.

        Raises
        ------
        ParameterError
            A metric is unknown, or no classes were left out.

        See Also
        --------
        score : Scores and differences, with standard errors.
        """
        classes = self.classes[-1] if classes is None else classes
        self._check(classes, metric)
        return Chosen(self, classes, metric) if self._reductions() else None

    def _reductions(self) -> list[RetrievalLine]:
        """Return the lines with fewer dimensions than there are features."""
        return [line for line in self if line.is_reduction]

    def near(self) -> list[RetrievalLine]:
        """Return the reductions that are equivalent to the best by `best`."""
        chosen = self.best()
        return [] if chosen is None else chosen.near

    def _estimator(self, line: RetrievalLine) -> Any:
        """Return the method of a line for all indexed samples, with its number of components."""
        method = self._methods[line.method]
        if isinstance(method, _Ridge):
            return method.of(self._scatter, line.dimensions)
        return method.with_size(line.dimensions)

    def _above(self) -> list[str]:
        """Return no lines of text between the sentence and the table."""
        return []

    def _check(self, classes: str, metric: str) -> None:
        """Raise ParameterError where there is no such score."""
        word(*SCORES).check("metric", metric)
        word(*self.classes).check("classes", classes)

    @property
    def sentence_(self) -> str:
        """The choice of `best`, or that there is none."""
        skipped = next((f": {line.method} was skipped" for line in self if line.skipped), "")
        return str(self.best() or f"No reduction was compared{skipped}.")

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the lines ready for JSON."""
        return [
            {"method": line.method, "dimensions": line.dimensions}
            | ({"skipped": line.skipped} if line.skipped else {})
            | {name: {metric: as_numbers(self.score(line, name, metric)) for metric in SCORES}
               for name in line.found}
            for line in self
        ]  # fmt: skip

    def _contents(self) -> dict[str, Any]:
        """Return what JSON has besides the sentence, the margin and the lines."""
        chosen = {name: self.best(classes=name) for name in self.classes}
        found = {name: best and best.as_dict() for name, best in chosen.items()}
        return {"draws": self[0].n_draws, **found}

    def _page(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the report adds to the contents, and what it shows."""
        return of_retrieval(self, SCORES)

    def _cells(self, full: bool = False) -> tuple[list[str], list[tuple[RetrievalLine, list[Any]]]]:
        """Return a header, and the cells of each line: errors of all scores, or of the first."""
        near, first = self.near(), SCORES[0]
        header = [f"{name} {metric}" if full or metric == first else metric
                  for name in self.classes for metric in SCORES]  # fmt: skip

        def cell(line: RetrievalLine, name: str, metric: str) -> Cell:
            own = self.score(line, name, metric)
            marked = None if metric != first else line in near and name == self.classes[-1]
            return Cell(own.mean, own.standard_error if full or metric == first else None, marked)

        return header, [
            (line, [cell(line, name, metric) for name in line.found for metric in SCORES]
             or [f"skipped: {line.skipped}"])
            for line in self
        ]  # fmt: skip

    def _below(self) -> list[str]:
        """Return a line that explains the table."""
        n = self[0].n_draws
        note = marks(self.margin).format(" than the best reduction")
        return [f"means over {n} draw{'s' * (n > 1)} +- standard error; {note}"]
