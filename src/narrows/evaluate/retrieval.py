"""Retrieval: how often nearest neighbours have the class of the query, by number of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, normalize
from sklearn.utils.extmath import row_norms

from narrows.errors import ParameterError, did_you_mean
from narrows.evaluate.methods import RIVALS, is_nested, unused
from narrows.evaluate.results import ALL, against, aligned, as_numbers, named, placed
from narrows.evaluate.splits import checked_test
from narrows.methods.discriminants import LDA
from narrows.methods.methods import METHODS
from narrows.methods.online import OnlineSRDA
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
TRUNCATION = "truncation"
_NEAREST = 10
_LONG = 128  # features from which products in blocks are faster
_GROUP = 16  # products of which the largest is compared first
_BLOCK = 1 << 23  # cosines at a time


def _first(X: Any, p: int) -> Any:
    """Return the first p columns."""
    return X[:, :p]


@dataclass(frozen=True)
class _Method:
    """A transformer, and the parameter that sets its number of columns, if that is not given."""

    name: str
    estimator: Any
    size: str = ""
    ridge: float | None = None  # mu of LDA, as a multiple of the scatter

    @property
    def is_sized(self) -> bool:
        """Whether it has the numbers of dimensions that are compared."""
        return bool(self.size) or self.name == TRUNCATION

    def with_size(self, p: int | None, scatter: float) -> Any:
        """Return an unfitted transformer to p columns (None: all), for samples of this scatter."""
        if self.name == TRUNCATION:
            return FunctionTransformer(_first, kw_args={"p": p})
        made = clone(self.estimator)
        if self.ridge is not None:
            made.set_params(mu=float(self.ridge * scatter))
        return made.set_params(**{self.size: p}) if self.size else made


@dataclass(eq=False)
class RetrievalLine:
    """Scores of one reduction: a row for each query, for each draw.

    `asked` is the number of dimensions that was requested; None for all columns of a transformer.
    """

    method: str
    asked: int | None
    features: int
    dimensions: int = 0
    found: dict[str, list[np.ndarray]] = field(default_factory=dict, repr=False)
    skipped: str = ""

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

    @property
    def is_reduction(self) -> bool:
        """Whether there are scores, of fewer dimensions than there are features."""
        return not self.skipped and self.method != ALL and self.dimensions < self.features


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
    methods : sequence of str or transformer, default=("lda", "pca")
        Names of projectors of narrows in lower case, "truncation" (the first columns; for models
        whose columns are ordered by importance, such as Matryoshka models), "truncatedsvd",
        "sklearn-pca", "sparserandomprojection", "lineardiscriminantanalysis"; or transformers and
        pipelines. A transformer whose ``n_components`` is None is fitted once for each draw, and
        its first columns are taken for fewer dimensions. Any other transformer is listed with all
        of its columns.
    dims : sequence of int, optional
        Numbers of dimensions. By default those of 16, 32, 64, 128 and the number of seen classes
        less one that are below n_features. Numbers that a method does not have, such as
        those above the rank of the fitted samples, are left out; a method that has none of them is
        listed with its own number.
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
        A method is unknown, a parameter is out of range, or there are fewer than two classes with
        queries to see, or to leave out.

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
    say, rng = progress or (lambda what: None), np.random.default_rng(seed)
    every = RetrievalLine(ALL, None, d, d)
    lines: dict[tuple[str, int | None], RetrievalLine] = {(ALL, None): every}
    for _ in range(repeats):
        draw = _Draw(codes, _queries(codes, rng) if is_query is None else is_query, c, k, rng)
        say(ALL)
        draw.score(every, X)
        for method in made:
            for asked, Z in _reduced(method, X, codes, draw.fitted, sizes, say):
                line = lines.setdefault((method.name, asked), RetrievalLine(method.name, asked, d))
                if isinstance(Z, str):
                    line.skipped = Z
                else:
                    line.dimensions = max(line.dimensions, Z.shape[1])
                    draw.score(line, Z)
    for line in lines.values():
        if line.skipped:  # in one draw at least
            line.found.clear()
    done = [line for line in lines.values() if line.skipped or line.n_draws == repeats]
    index = X if is_query is None else X[~is_query]
    return Retrieval(done, made, draw.ratios, _scatter(index), margin)


def sizes_of(n_seen: int, n_features: int, dims: Sequence[int] | None) -> list[int]:
    """Return the numbers of dimensions to compare."""
    usual = (p for p in (*SIZES, n_seen - 1) if 0 < p < n_features)
    return sorted(set(usual if dims is None else map(int, dims)))


def n_steps(
    y: np.ndarray,
    n_features: int,
    methods: Sequence[_Method],
    dims: Sequence[int] | None = None,
    left_out: float = LEFT_OUT,
    repeats: int = REPEATS,
) -> int:
    """Return how often `retrieval` reports progress."""
    c = len(np.unique(y))
    sizes = len(sizes_of(c - round(left_out * c), n_features, dims))
    return repeats * (1 + sum(sizes if method.is_sized else 1 for method in methods))


def check(
    methods: Sequence[Any] = COMPARED,
    dims: Sequence[int] | None = None,
    left_out: float = LEFT_OUT,
    ridges: Sequence[float] = (),
    repeats: int = REPEATS,
    seed: int = 0,
) -> list[_Method]:
    """Return the methods; raise ParameterError for an unknown or invalid argument."""
    for name, values, allowed in (
        ("dims", [1] if dims is None else dims, whole(1)),
        ("left_out", [left_out], real(0, 1)),
        ("ridges", ridges, real(0, above=True)),
        ("repeats", [repeats], whole(1)),
    ):
        for value in values:
            allowed.check(name, value)
    made: dict[str, _Method] = {}
    for method in (_method(method, seed) for method in methods):
        name = unused(method.name, made)
        made[name] = replace(method, name=name)
    for ridge in dict.fromkeys(ridges):
        name = f"LDA, ridge {ridge:g}"
        made[name] = _Method(name, LDA(), "n_components", ridge)
    return list(made.values())


def _method(method: Any, seed: int) -> _Method:
    """Return the transformer that a name stands for, or one that was given."""
    if not isinstance(method, str):
        needed = "fit", "transform", "get_params"
        if isinstance(method, type) or not all(hasattr(method, name) for name in needed):
            raise ParameterError(
                f"expected names of methods or transformers, got {method!r}. Use "
                "estimators with fit and transform."
            )
        last = f"{method.steps[-1][0]}__" if isinstance(method, Pipeline) else ""
        size = f"{last}n_components"
        is_open = method.get_params().get(size, 0) is None
        return _Method(" ".join(repr(method).split()), method, size if is_open else "")
    name = method.lower()
    ours = {known.lower(): kind() for known, kind in METHODS.items()}
    known = {TRUNCATION: FunctionTransformer()}
    known |= {each: made for each, made in ours.items() if not made._takes_numbers}
    known |= {each: made for each, made in RIVALS.items() if hasattr(made, "n_components")}
    if name not in known:
        hint = did_you_mean(name, known)
        raise ParameterError(f"expected the name of a method, got {method!r}. {hint}")
    made = clone(known[name])
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return _Method(name, made, "n_components" if hasattr(made, "n_components") else "")


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


def _reduced(
    method: _Method,
    X: Any,
    codes: np.ndarray,
    fitted: np.ndarray,
    sizes: Sequence[int],
    say: Callable[[str], None],
) -> Iterator[tuple[int | None, Any]]:
    """Yield samples with each number of dimensions that a method has, or why it has none."""
    last = method.estimator[-1] if isinstance(method.estimator, Pipeline) else method.estimator
    once = is_nested(last) and not isinstance(last, OnlineSRDA)  # which has outputs of all classes
    rows, found, why = X[fitted], dict[int | None, Any](), ""
    scatter = 0.0 if method.ridge is None else _scatter(rows)
    own = [None] if method.size or not method.is_sized else []
    for p in [*(sorted(sizes, reverse=once) if method.is_sized else []), *own]:
        if p is None and found:
            break
        if p is not None or not method.is_sized:
            say(method.name if p is None else f"{method.name}, {p}")
        try:
            if not (once and found):  # else the first columns of the largest fit
                Z = method.with_size(p, scatter).fit(rows, codes[fitted]).transform(X)
                Z = Z if sparse.issparse(Z) else np.asarray(Z)
            found[p] = Z[:, :p]
        except (ValueError, TypeError) as error:
            why = why if p is None and why else str(error).splitlines()[0]
    yield from sorted(found.items(), key=lambda each: each[0] or 0) or [(None, why)]


class _Draw:
    """Which classes are left out, and which samples are queries; c classes, of which k are out."""

    def __init__(
        self, codes: np.ndarray, is_query: np.ndarray, c: int, k: int, rng: np.random.Generator
    ):
        self.codes = codes
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

    def score(self, line: RetrievalLine, Z: Any) -> None:
        """Add the scores of all queries by their nearest neighbours among vectors Z."""
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
            line.found.setdefault(name, []).append(scores.astype(np.float32))


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


@dataclass(frozen=True)
class Chosen:
    """The reduction to use, by the rule of one standard error (Breiman et al., 1984), or a margin.

    Of the reductions that are not worse than the best one by more than one standard error of the
    paired difference, or not by more than the margin, the one with the fewest dimensions; of these,
    the best.

    Parameters
    ----------
    line : RetrievalLine
        The reduction.
    best : RetrievalLine
        The reduction with the highest score.
    classes : {"seen", "left-out"}
        The classes of the queries.
    metric : {"recall@1", "recall@10", "precision@10", "overlap@10"}
        The score.
    scores : dict of Difference
        The score of `line` ("score"), and its differences from the best reduction ("to_best") and
        from all columns ("to_all"), each with its standard error.
    all_columns : RetrievalLine
        The line of all columns.
    are_all_worse : bool
        Whether every reduction is worse than all columns by more than one standard error, and the
        margin.
    estimator : transformer
        The method for all indexed samples, not fitted, with this number of components.
    margin : float
        A difference that does not count.
    """

    line: RetrievalLine
    best: RetrievalLine
    classes: str
    metric: str
    scores: dict[str, Difference]
    all_columns: RetrievalLine
    are_all_worse: bool
    estimator: Any
    margin: float = MARGIN

    def __str__(self) -> str:
        own = self.scores["score"]
        said = f"use {named(self.line)}: {self.metric} of {self.classes} classes "
        said += f"{own.mean:.3f} +- {own.standard_error:.3f}"
        if self.are_all_worse:
            worse = f"Every reduction is worse than {named(self.all_columns)}."
            said = f"{worse} If you reduce the vectors, {said}"
        parts, best = [said[0].upper() + said[1:]], None
        parts.append(self._from("to_all", self.all_columns, named(self.all_columns)))
        if self.line is not self.best:
            best = self._from("to_best", self.best, f"the best reduction, {named(self.best)}")
        return placed(parts, best)

    def _from(self, key: str, other: RetrievalLine, name: str) -> str:
        score = f"{other.mean(self.classes, self.metric):.3f}"
        return against(self.scores[key], name, score, self.margin)

    def as_dict(self) -> dict[str, Any]:
        """Return the choice ready for JSON."""
        return {
            "method": self.line.method,
            "dimensions": self.line.dimensions,
            "classes": self.classes,
            "metric": self.metric,
            **{name: as_numbers(apart) for name, apart in self.scores.items()},
            "best": {"method": self.best.method, "dimensions": self.best.dimensions},
            "margin": self.margin,
            "are_all_worse": self.are_all_worse,
            "sentence": str(self),
        }


class Retrieval(list[RetrievalLine]):
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

    def __init__(
        self,
        lines: Iterable[RetrievalLine],
        methods: Sequence[_Method],
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
        column, apart = SCORES.index(metric), list[np.ndarray]()
        for draw, mine in enumerate(line.found[classes]):
            other = 0.0 if than is None else than.found[classes][draw][:, column]
            apart.append(mine[:, column].astype(np.float64) - other)
        values = [float(each.mean()) for each in apart]
        variances = [float(each.var() / len(each)) for each in apart]
        return Difference(
            float(np.mean(values)), standard_error(values, variances, self.ratios[classes])
        )

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
        lines = [line for line in self if line.is_reduction]
        if not lines:
            return None
        by = classes, metric
        best = min(lines, key=lambda line: (-line.mean(*by), line.dimensions))
        near = [line for line in lines if not self.score(line, *by, best).is_worse(self.margin)]
        line = min(near, key=lambda line: (line.dimensions, -line.mean(*by)))
        every = next(line for line in self if line.method == ALL)
        others = {"score": None, "to_best": best, "to_all": every}
        scores = {name: self.score(line, *by, than) for name, than in others.items()}
        worse = all(self.score(line, *by, every).is_worse(self.margin) for line in lines)
        estimator = self._methods[line.method].with_size(line.dimensions, self._scatter)
        return Chosen(line, best, *by, scores, every, worse, estimator, self.margin)

    def near(self) -> list[RetrievalLine]:
        """Return the reductions that are equivalent to the best by `best`."""
        chosen = self.best()
        if chosen is None:
            return []
        than = chosen.classes, chosen.metric, chosen.best
        lines = [line for line in self if line.is_reduction]
        return [line for line in lines if not self.score(line, *than).is_worse(self.margin)]

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

    def __str__(self) -> str:
        """Return the choice, and a table with a header."""
        near, rows = self.near(), [["method", "dimensions", *SCORES * len(self.classes)]]
        for line in self:
            size = f"skipped: {line.skipped}" if line.skipped else f"{line.dimensions:,}"
            row = [line.method, size]
            for name in line.found:
                own, *others = (self.score(line, name, metric) for metric in SCORES)
                mark = "*" if line in near and name == self.classes[-1] else " "
                row.append(f"{own.mean:.3f} +- {own.standard_error:.3f} {mark}")
                row += [f"{each.mean:.3f}" for each in others]
            rows.append(row)
        first = range(2, len(rows[0]), len(SCORES))
        table, indent = aligned(rows, (0, *first)), max(len(line.method) for line in self) + 12
        above = "".join(f"  {f'{name} classes':<53}" for name in self.classes).rstrip()
        n = self[0].n_draws
        or_margin = f", or by more than {self.margin:g}" * bool(self.margin)
        note = (
            f"means over {n} draw{'s' * (n > 1)} +- standard error; "
            f"* not worse than the best reduction by more than that{or_margin}"
        )
        return "\n".join([self.sentence_, "", " " * indent + above, *table, note])
