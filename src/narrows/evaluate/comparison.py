"""Scores of classifiers on reduced data, by method and number of dimensions."""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows.errors import ParameterError
from narrows.evaluate.methods import Ours, Rival, States, method_of
from narrows.moments.labels import joined, one_a_row
from narrows.moments.state import checked_rows

ALL = "all columns"
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "svm": lambda: LinearSVC(random_state=0),
    "knn": lambda: KNeighborsClassifier(),
    "smo": lambda: SVC(kernel="linear"),
}
METHODS = ("ocfs", "oc", "srda", "onlinesrda")
DIMS = (2, 10, 100)
Fold = tuple[Any, np.ndarray, Any, np.ndarray]
_SCORES = ("precision", "recall", "micro_f1", "macro_f1", "error")
_SECONDS = ("learn", "transform", "train")


@dataclass
class Line:
    """One line of a comparison: means over the folds.

    Parameters
    ----------
    method, classifier : str
        Names of the reduction and of the classifier.
    asked : int or None
        Number of dimensions requested; None for all features.
    dimensions : int
        Number of dimensions of the reduced data; smaller if the method has fewer.
    learn, transform, train : float
        CPU seconds to fit the reduction, without reading; to reduce the training samples; and to
        train the classifier on them.
    precision, recall, macro_f1 : float
        Unweighted means over the classes.
    micro_f1, error : float
        Micro-F1, which is the accuracy since each sample has one label, and 1 - accuracy.
    spread : dict
        Standard deviation of each score over the folds, if there are several.
    skipped : str
        Why the method was skipped; empty if it was not.
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
    """Compare reductions by the scores of classifiers on held-out samples.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        One label per sample.
    methods : sequence of str or estimator
        Names of methods of narrows in lower case, names of scikit-learn's reductions
        ("truncatedsvd", "sklearn-pca", "sparserandomprojection", "chi2", "f_classif",
        "lineardiscriminantanalysis"), or estimators of narrows.
    dims : sequence of int
        Numbers of features to select, or of components.
    classifiers : sequence of {"svm", "knn", "smo"}
        scikit-learn's LinearSVC, 5 nearest neighbours, and SVC with a linear kernel (SMO, as in
        the papers; its time grows with the square of n_samples).
    test : (X, y), optional
        Held-out samples. If neither test nor cv is given, a stratified fifth of the samples.
    cv : int, optional
        Number of stratified, shuffled folds, each held out in turn.
    seed : int, default=0
        Seed of the split.
    progress : callable, optional
        Called with a description of the next step, once per method, dimension, classifier and
        fold.

    Returns
    -------
    list of Line
        All features first, then the methods in the given order, by dimensions and classifiers.

    Raises
    ------
    ParameterError
        An unknown method or classifier, dims that are not integers >= 1, or both cv and test.

    See Also
    --------
    narrows.evaluate.ComparisonDisplay : Plots of the result.
    narrows.evaluate.selection_overlap : Features that several selectors share.
    sklearn.model_selection.cross_validate : Scores of one pipeline.

    Notes
    -----
    **Cost**: that of the methods and, mostly, of the classifiers, once for each size and fold.

    Methods with an additive state are fitted to one shared state per fold, and every method of
    narrows is fitted once for all dimensions; `Line.learn` is the time that the method would have
    taken alone. For texts, fit the vectoriser to the training samples only and pass `test`; the
    command line does so for each fold.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows.evaluate import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> lines = compare(X, y, ["oc", "ocfs"], dims=[5], classifiers=["knn"])
    >>> [(line.method, line.dimensions, round(line.micro_f1, 1)) for line in lines]
    [('all columns', 64, 1.0), ('oc', 5, 0.9), ('ocfs', 5, 0.7)]
    """
    X, y = checked_rows(X, "compare"), checked_labels(X, y)
    if test is not None and cv is not None:
        raise ParameterError("compare: expected test or cv, got both. Leave one of them out.")
    if test is None:
        return over(list(split(X, y, cv, seed)), methods, dims, classifiers, progress)
    held_out = checked_rows(test[0], "compare"), checked_labels(*test)
    return over([(X, y, *held_out)], methods, dims, classifiers, progress)


def checked_labels(X: Any, y: Any) -> np.ndarray:
    """Return the labels as an array, one per sample."""
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
    """`compare` over folds (X, y, X_test, y_test); `found` keeps the lines if it is interrupted.

    Methods may come from `check`; they then stay fitted to the last fold.
    """
    for _, y, _, y_test in folds:
        joined([y, y_test])  # labels of another type would all be predicted wrong
    made, say = check(methods, dims, classifiers), progress or (lambda what: None)
    found = {} if found is None else found
    classifiers = list(dict.fromkeys(classifiers))
    with threadpool_limits(1):  # CPU seconds would count waiting threads
        for X, y, X_test, y_test in folds:
            fold = (_narrow(X), y, _narrow(X_test), y_test)
            states = States(fold[0], fold[1], made)
            for method in (None, *made):
                for line in _of_method(method, fold, states, sorted(set(dims)), classifiers, say):
                    found.setdefault((line.method, line.asked, line.classifier), []).append(line)
    return mean(found)


def _narrow(X: Any) -> Any:
    """Return sparse samples with 32-bit indices, which scikit-learn's linear models need."""
    most = np.iinfo(np.int32).max
    if not sparse.issparse(X) or max(X.nnz, *X.shape) > most:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=X.shape)


def check(
    methods: Sequence[Any], dims: Sequence[int], classifiers: Sequence[str]
) -> list[Ours | Rival]:
    """Return the methods, each once; raise ParameterError for an unknown or invalid argument."""
    for classifier in classifiers:
        if classifier not in CLASSIFIERS:
            raise ParameterError(
                f"compare: expected classifiers of {', '.join(CLASSIFIERS)}, got {classifier!r}."
            )
    whole = [isinstance(p, numbers.Integral) and not isinstance(p, bool) and p >= 1 for p in dims]
    if not whole or not all(whole):
        raise ParameterError(f"compare: expected dims to be integers >= 1, got {dims!r}.")
    made = [method_of(method) for method in methods]
    return list({method.name: method for method in made}.values())  # each once


def mean(found: dict[Any, list[Line]]) -> list[Line]:
    """Return one line per method, size and classifier: means over the folds."""
    return [_mean(lines) for lines in found.values()]


def split(X: Any, y: np.ndarray, cv: int | None = None, seed: int = 0) -> Iterator[Fold]:
    """Yield (X, y, X_test, y_test): one stratified split, 4 to 1, or each of cv folds."""
    rows = np.arange(len(y))
    if cv is None:
        pairs = [train_test_split(rows, test_size=0.2, stratify=y, random_state=seed)]
    else:
        pairs = list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(rows, y))
    for train, test in pairs:
        yield X[train], y[train], X[test], y[test]


def _of_method(
    method: Ours | Rival | None,
    fold: Fold,
    states: States,
    dims: Sequence[int],
    classifiers: Sequence[str],
    progress: Callable[[str], None],
) -> Iterator[Line]:
    """Yield the lines of a method for one fold; None stands for all features."""
    X, y, X_test, y_test = fold
    if method is None:
        for classifier in classifiers:
            progress(f"{ALL}, {classifier}")
            yield Line(ALL, classifier, None, X.shape[1], 0.0, 0.0, **_scores(classifier, *fold))
        return

    def skipped(asked: int, why: BaseException) -> Iterator[Line]:
        for classifier in classifiers:
            progress(f"{method.name}, {asked}, {classifier}")
            yield Line(method.name, classifier, asked, skipped=str(why).splitlines()[0])

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
            fitted = time.process_time()
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
                    shared + fitted - started,
                    reduced - fitted,
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
    """Return the mean of the lines of several folds."""
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


def table(lines: Sequence[Line]) -> str:
    """Return a comparison as a text table with a header."""
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
    size = f"{line.dimensions:,}" + (f" of {line.asked:,}" if fewer else "")
    f1 = f"{line.micro_f1:.3f}" + (f" +-{line.spread['micro_f1']:.3f}" if line.spread else "")
    return (
        f"{start}  {size:>14}  {line.classifier:<4}  {f1:>13}  {line.macro_f1:>8.3f}  "
        f"{line.precision:>9.3f}  {line.recall:>6.3f}  {line.learn:>8.3f}  "
        f"{line.transform:>8.3f}  {line.train:>8.3f}"
    )
