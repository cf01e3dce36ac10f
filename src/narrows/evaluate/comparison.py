"""How much is left of the classes, by method and number of dimensions."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, chi2, f_classif
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows import families
from narrows.families._additive import Additive
from narrows.families._base import Estimator
from narrows.families._online import OnlineProjector
from narrows.families._select import Selector
from narrows.families.online_srda import OnlineSRDA
from narrows.moments.labels import joined, one_a_row
from narrows.moments.stats import ClassStats, Second, checked_rows
from narrows.solve.columns import take
from narrows.solve.errors import ParameterError
from narrows.solve.threads import CORES

ALL = "all columns"
RIVALS: dict[str, Callable[[int], Any]] = {
    "truncatedsvd": lambda p: TruncatedSVD(p, random_state=0),
    "pca": lambda p: PCA(p, random_state=0),
    "sparserandomprojection": lambda p: SparseRandomProjection(p, random_state=0),
    "chi2": lambda p: SelectKBest(chi2, k=p),
    "f_classif": lambda p: SelectKBest(f_classif, k=p),
    "lineardiscriminantanalysis": lambda p: LinearDiscriminantAnalysis(n_components=p),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "svm": lambda: LinearSVC(random_state=0),
    "knn": lambda: KNeighborsClassifier(),
    "smo": lambda: SVC(kernel="linear"),
}
METHODS = ("ocfs", "oc", "srda", "onlinesrda")
DIMS = (2, 10, 100)
Fold = tuple[Any, np.ndarray, Any, np.ndarray]
_MANY = 500  # components, from which on the threads of a decomposition hardly wait
_SCORES = ("precision", "recall", "micro_f1", "macro_f1", "error")
_SECONDS = ("learn", "transform", "train")


@dataclass
class Line:
    """One line of a comparison: means over the folds.

    Parameters
    ----------
    method, classifier : str
    asked : int or None
        Dimensions asked for; None for all columns.
    dimensions : int
        Those that there were, fewer where the method has fewer.
    learn, transform, train : float
        CPU seconds: to learn the reduction, without reading; to reduce the rows to learn from;
        to train the classifier on them.
    precision, recall, macro_f1 : float
        Means over the classes, each counting the same.
    micro_f1, error : float
        With one label a row micro-F1 is the share predicted correctly, and error the rest.
    spread : dict
        The standard deviation of each score over the folds, where there are several.
    skipped : str
        Why there are no figures, if there are none.
    """

    method: str
    classifier: str
    asked: int | None
    dimensions: int = 0
    learn: float = float("nan")
    transform: float = float("nan")
    train: float = float("nan")
    precision: float = float("nan")
    recall: float = float("nan")
    micro_f1: float = float("nan")
    macro_f1: float = float("nan")
    error: float = float("nan")
    spread: dict[str, float] | None = None
    skipped: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON."""
        fields = asdict(self)
        if self.skipped:
            return {name: fields[name] for name in ("method", "classifier", "asked", "skipped")}
        del fields["skipped"]
        return fields


def compare(
    X: Any,
    y: Any,
    methods: Sequence[Any] = METHODS,
    dims: Sequence[int] = DIMS,
    classifiers: Sequence[str] = ("svm",),
    test: tuple[Any, Any] | None = None,
    cv: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Line]:
    """Learn each reduction, reduce, train classifiers, and score them on rows held out.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        One label a row.
    methods : sequence of str or estimator
        Names of methods of narrows in lower case, of rivals (`RIVALS`), or estimators of narrows.
    dims : sequence of int
        How many columns to keep, or directions.
    classifiers : sequence of {"svm", "knn", "smo"}
        scikit-learn's LinearSVC, five nearest neighbours, and SVC with a linear kernel (SMO, as
        in the papers; its time grows with the square of the rows).
    test : (X, y), optional
        Rows held out. A stratified fifth of the rows, by `seed`, if this and cv are left out.
    cv : int, optional
        So many stratified folds, shuffled by `seed`, each held out in turn.
    seed : int
        Of the rows held out.
    progress : callable, optional
        Called with what comes next, once for each method, dimension, classifier and fold.

    Returns
    -------
    list of Line
        All columns first, then the methods as given, by dimensions and classifiers. `table` makes
        text of it.

    Raises
    ------
    ParameterError
        A method or a classifier that there is not, dims that are no whole numbers >= 1, cv and
        test together.

    Notes
    -----
    **Cost**: that of the methods and, mostly, of the classifiers, once for each size and fold.

    Methods whose state adds up learn from one state a fold, and all of narrows learn once for all
    dimensions; `Line.learn` is what each would have taken alone. Names as text: terms of texts
    have to be counted on the rows to learn from alone, so make rows of texts before, and pass
    `test`; the command line does so for each fold.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows.evaluate import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> lines = compare(X, y, ["oc", "ocfs"], dims=[5], classifiers=["knn"])
    >>> [(line.method, line.dimensions, round(line.micro_f1, 1)) for line in lines]
    [('all columns', 64, 1.0), ('oc', 5, 0.9), ('ocfs', 5, 0.7)]
    """
    X, y = checked_rows(X, "compare"), one_label_a_row(X, y)
    if test is not None and cv is not None:
        raise ParameterError("compare: test and cv exclude each other. Leave one of them out.")
    if test is None:
        return over(list(split(X, y, cv, seed)), methods, dims, classifiers, progress)
    held_out = checked_rows(test[0], "compare"), one_label_a_row(*test)
    return over([(X, y, *held_out)], methods, dims, classifiers, progress)


def one_label_a_row(X: Any, y: Any) -> np.ndarray:
    """Labels as an array, checked."""
    classes, codes = one_a_row(X, y, "compare")
    return classes[codes]


def over(
    folds: Sequence[Fold],
    methods: Sequence[Any] = METHODS,
    dims: Sequence[int] = DIMS,
    classifiers: Sequence[str] = ("svm",),
    progress: Callable[[str], None] | None = None,
    found: dict[Any, list[Line]] | None = None,
) -> list[Line]:
    """`compare` over folds (X, y, X_test, y_test); `found` holds what is done, if it is stopped.

    Methods may be those that `check` made ready, which then keep what the last fold taught them.
    """
    for _, y, _, y_test in folds:
        joined([y, y_test])  # labels of another type would all be predicted wrong
    made, say = check(methods, dims, classifiers), progress or (lambda what: None)
    found = {} if found is None else found
    classifiers = list(dict.fromkeys(classifiers))
    with threadpool_limits(1):  # or CPU seconds would count threads that wait
        for X, y, X_test, y_test in folds:
            fold = (_narrow(X), y, _narrow(X_test), y_test)
            states = States(fold[0], fold[1], made)
            for method in (None, *made):
                for line in _of_method(method, fold, states, sorted(set(dims)), classifiers, say):
                    found.setdefault((line.method, line.asked, line.classifier), []).append(line)
    return mean(found)


def _narrow(X: Any) -> Any:
    """Sparse rows with indices of 32 bits, where those do: scikit-learn's linear models want them.

    The entries are shared.
    """
    most = np.iinfo(np.int32).max
    if not sparse.issparse(X) or max(X.nnz, *X.shape) > most:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=X.shape)


def check(
    methods: Sequence[Any], dims: Sequence[int], classifiers: Sequence[str]
) -> list[Ours | Rival]:
    """The methods, ready; ParameterError where something asked for is not there."""
    for classifier in classifiers:
        if classifier not in CLASSIFIERS:
            raise ParameterError(
                f"compare: classifiers are {', '.join(CLASSIFIERS)}, but {classifier!r} came."
            )
    whole = [isinstance(p, numbers.Integral) and not isinstance(p, bool) and p >= 1 for p in dims]
    if not whole or not all(whole):
        raise ParameterError(f"compare: dims must be whole numbers >= 1, but {dims!r} came.")
    made = [_method(method) for method in methods]
    return list({method.name: method for method in made}.values())  # each once


def mean(found: dict[Any, list[Line]]) -> list[Line]:
    """One line for those of all folds."""
    return [_mean(lines) for lines in found.values()]


def split(X: Any, y: np.ndarray, cv: int | None = None, seed: int = 0) -> Iterator[Fold]:
    """Yield (X, y, X_test, y_test): a stratified fifth held out, or each of cv folds in turn."""
    rows = np.arange(len(y))
    if cv is None:
        pairs = [train_test_split(rows, test_size=0.2, stratify=y, random_state=seed)]
    else:
        pairs = list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(rows, y))
    for train, test in pairs:
        yield X[train], y[train], X[test], y[test]


class States:
    """One state of a fold's rows for all methods whose states add up, of each kind once."""

    def __init__(self, X: Any, y: np.ndarray, methods: Iterable[Any]):
        self._rows, self._made = (X, y), dict[bool, tuple[ClassStats, float]]()
        kinds: dict[bool, list[Any]] = {}
        for method in methods:
            if isinstance(method, Ours) and method.adds_up:
                state = method.estimator._empty_state(X.shape[1])
                kinds.setdefault(state.presence, []).append(state.second)
        self._second: dict[bool, Second] = {
            presence: "class" if "class" in seconds else "total" if "total" in seconds else None
            for presence, seconds in kinds.items()
        }

    def of(self, estimator: Additive) -> tuple[ClassStats, float]:
        """The state that this estimator can learn from, and the CPU seconds it took to make."""
        presence = estimator._empty_state(self._rows[0].shape[1]).presence
        if presence not in self._made:
            started = time.process_time()
            second = self._second[presence]
            stats = ClassStats.of(*self._rows, second=second, presence=presence)
            self._made[presence] = stats, time.process_time() - started
        return self._made[presence]


class Ours:
    """A method of narrows: learnt once, read at any number of dimensions."""

    def __init__(self, name: str, estimator: Estimator):
        self.name, self.estimator, self.fitted = name, estimator, clone(estimator)
        # one state for all: not where the order of the rows matters
        self.adds_up = isinstance(estimator, Additive) and estimator.half_life is None

    def learn(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Learn for up to so many dimensions; return the CPU seconds that it took."""
        classes, first = np.unique(y, return_index=True)
        self.fitted = clone(self.estimator)
        if isinstance(self.fitted, OnlineProjector):
            self.fitted.set_params(n_components=min(most, len(classes), X.shape[1]))
        few = np.unique(np.append(first, np.arange(min(64, len(y)))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(self.fitted).fit(X[few], y[few])  # what is compiled, is compiled before
        started, before = time.process_time(), 0.0
        if self.adds_up:
            stats, before = states.of(self.fitted)
            started = time.process_time()
            self.fitted.fit_stats(stats)
        else:
            self.fitted.fit(X, y)
            _ = self.fitted._solution  # what is worked out when first read
        return before + time.process_time() - started

    def at(self, p: int, X: Any) -> Callable[[Any], Any]:
        """Return what reduces rows to p dimensions, or to as many as there are."""
        if isinstance(self.fitted, Selector):
            sizes = {"n_features": min(p, X.shape[1]), "energy": None, "threshold": None}
            if "per_class" in self.fitted.get_params():
                sizes["per_class"] = None
            columns = self.fitted.set_params(**sizes).get_support(indices=True)
            return lambda rows: take(rows, columns)
        if isinstance(self.fitted, OnlineSRDA):
            few = p < len(self.fitted.classes_)
            self.fitted.set_params(n_components=p if few else None)
        W = self.fitted.components_[:p].T
        return lambda rows: rows @ W


class Rival:
    """A method of scikit-learn, learnt anew for each number of dimensions.

    Where there are many it may use all cores; CPU seconds count them all.
    """

    def __init__(self, name: str, make: Callable[[int], Any]):
        self.name, self.make = name, make

    def learn(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Keep the rows, for `at`."""
        self.rows = X, y
        return 0.0

    def at(self, p: int, X: Any) -> Callable[[Any], Any]:
        """Learn p dimensions, or as many as there can be."""
        X, y = self.rows
        limit = min(X.shape)
        if self.name == "lineardiscriminantanalysis":
            limit = min(limit, len(np.unique(y)) - 1)
        few = min(p, limit)
        with threadpool_limits(1 if few < _MANY else CORES):
            return self.make(few).fit(X, y).transform


def _method(method: Any) -> Ours | Rival:
    if isinstance(method, Ours | Rival):
        return method
    if isinstance(method, Estimator):
        return Ours(repr(method), method)
    name = str(method).lower()
    ours = {known.lower(): kind for known, kind in families.METHODS.items()}
    if name in ours:
        return Ours(name, ours[name]())
    if name in RIVALS:
        return Rival(name, RIVALS[name])
    raise ParameterError(
        f"compare: there is no method {method!r}. Those of narrows go by their names, "
        f"beside them {', '.join(RIVALS)}."
    )


def _of_method(
    method: Ours | Rival | None,
    fold: Fold,
    states: States,
    dims: Sequence[int],
    classifiers: Sequence[str],
    progress: Callable[[str], None],
) -> Iterator[Line]:
    """The lines of a method for one fold; of all columns, if it is None."""
    X, y, X_test, y_test = fold
    if method is None:
        for classifier in classifiers:
            progress(f"{ALL}, {classifier}")
            yield Line(ALL, classifier, None, X.shape[1], 0.0, 0.0, **_scores(classifier, *fold))
        return

    def skipped(asked: int, why: BaseException) -> Iterator[Line]:
        for classifier in classifiers:
            progress(f"{method.name}, {asked}, {classifier}")
            yield Line(method.name, classifier, asked, skipped=_first_line(why))

    try:
        shared = method.learn(X, y, states, max(dims))
    except (ValueError, TypeError) as error:
        for asked in dims:
            yield from skipped(asked, error)
        return
    done: dict[tuple[int, str], Line] = {}
    for asked in dims:
        started = time.process_time()
        try:
            reduce = method.at(asked, X)
            learnt = time.process_time()
            Z, Z_test = reduce(X), None
        except (ValueError, TypeError) as error:
            yield from skipped(asked, error)
            continue
        reduced = time.process_time()
        for classifier in classifiers:
            progress(f"{method.name}, {asked}, {classifier}")
            key = Z.shape[1], classifier
            if key not in done:
                Z_test = reduce(X_test) if Z_test is None else Z_test
                done[key] = Line(
                    method.name,
                    classifier,
                    asked,
                    Z.shape[1],
                    shared + learnt - started,
                    reduced - learnt,
                    **_scores(classifier, Z, y, Z_test, y_test),
                )
            yield replace(done[key], asked=asked)


def _scores(classifier: str, Z: Any, y: Any, Z_test: Any, y_test: Any) -> dict[str, Any]:
    machine = CLASSIFIERS[classifier]()
    started = time.process_time()
    machine.fit(Z, y)
    train = time.process_time() - started
    found = machine.predict(Z_test)
    macro = {"average": "macro", "zero_division": 0.0}
    accuracy = float(accuracy_score(y_test, found))
    return {
        "train": train,
        "precision": float(precision_score(y_test, found, **macro)),
        "recall": float(recall_score(y_test, found, **macro)),
        "micro_f1": accuracy,
        "macro_f1": float(f1_score(y_test, found, **macro)),
        "error": 1 - accuracy,
    }


def _mean(lines: list[Line]) -> Line:
    """One line of those of several folds."""
    first = lines[0]
    if len(lines) == 1 or any(line.skipped for line in lines):
        return next((line for line in lines if line.skipped), first)
    values = {name: [getattr(line, name) for line in lines] for name in (*_SECONDS, *_SCORES)}
    means: dict[str, Any] = {name: float(np.mean(of)) for name, of in values.items()}
    return replace(
        first,
        dimensions=max(line.dimensions for line in lines),
        spread={name: float(np.std(values[name], ddof=1)) for name in _SCORES},
        **means,
    )


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0]


def table(lines: Sequence[Line]) -> str:
    """Return a comparison as lines of text, a header first."""
    width = max((len(line.method) for line in lines), default=6)
    header = (
        f"{'method':<{width}}  {'dimensions':>14}  {'by':<4}  {'micro-F1':>13}  {'macro-F1':>8}  "
        f"{'precision':>9}  {'recall':>6}  {'learn s':>8}  {'reduce s':>8}  {'train s':>8}"
    )
    return "\n".join([header, *(_text(line, width) for line in lines)])


def _text(line: Line, width: int) -> str:
    start = f"{line.method:<{width}}"
    if line.skipped:
        return f"{start}  {line.asked or '':>14}  {line.classifier:<4}  skipped: {line.skipped}"
    fewer = line.asked is not None and line.dimensions < line.asked
    had = f"{line.dimensions:,}" + (f" of {line.asked:,}" if fewer else "")
    f1 = f"{line.micro_f1:.3f}" + (f" +-{line.spread['micro_f1']:.3f}" if line.spread else "")
    return (
        f"{start}  {had:>14}  {line.classifier:<4}  {f1:>13}  {line.macro_f1:>8.3f}  "
        f"{line.precision:>9.3f}  {line.recall:>6.3f}  {line.learn:>8.3f}  "
        f"{line.transform:>8.3f}  {line.train:>8.3f}"
    )
