"""Scores of classifiers on reduced data, by method and number of dimensions."""

from __future__ import annotations

import math
import numbers
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows.errors import ParameterError, did_you_mean
from narrows.evaluate.lines import ALL, Comparison, Line, averaged
from narrows.evaluate.methods import Ours, Rival, States, method_of
from narrows.state.class_stats import checked_rows
from narrows.state.labels import joined, one_a_row

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "svm": lambda: LinearSVC(random_state=0),
    "knn": lambda: KNeighborsClassifier(),
    "smo": lambda: SVC(kernel="linear"),
}
METHODS = ("ocfs", "oc", "srda", "onlinesrda")
DIMS = (2, 10, 100)
Fold = tuple[Any, np.ndarray, Any, np.ndarray]


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
) -> Comparison:
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
        Held-out samples. If neither `test` nor `cv` is given, a stratified fifth of the samples is
        held out.
    cv : int, optional
        Number of stratified, shuffled folds, each held out in turn.
    seed : int, default=0
        Seed of the split, and of methods given by name.
    progress : callable, optional
        Called with a description of the next step, once per method, dimension, classifier and
        fold.

    Returns
    -------
    Comparison
        A list of `Line`: all features first, then the methods in the given order, by dimensions and
        classifiers. A reduction with fewer dimensions than requested is listed once.
        `recommendation_` is the reduction to use; `print` shows the list as a table.

    Raises
    ------
    ParameterError
        A method or classifier is unknown, `dims` are not integers >= 1, or both `cv` and `test` are
        given.

    See Also
    --------
    narrows.evaluate.ComparisonDisplay : Plots of the result.
    narrows.evaluate.selection_overlap : Features that several selectors share.
    sklearn.model_selection.cross_validate : Scores of one pipeline.

    Notes
    -----
    **Cost**: that of the methods and of the classifiers, once for each size and fold; the
    classifiers mostly take longer.

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
    >>> lines.recommendation_.line.method
    'oc'
    """
    X, y = checked_rows(X, "compare"), checked_labels(X, y)
    if test is not None and cv is not None:
        raise ParameterError("compare: expected test or cv, got both. Leave one of them out.")
    if test is None:
        folds = list(split(X, y, cv, seed))
    else:
        folds = [(X, y, checked_rows(test[0], "compare"), checked_labels(*test))]
    return over(folds, check(methods, dims, classifiers, seed), dims, classifiers, progress)


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
) -> Comparison:
    """`compare` over folds (X, y, X_test, y_test); `found` keeps the lines if it is interrupted.

    Methods may come from `check`; they then stay fitted to the last fold.
    """
    for _, y, _, y_test in folds:
        joined([y, y_test])  # labels of another type would all be predicted wrong
    made, say = check(methods, dims, classifiers), progress or (lambda what: None)
    found = {} if found is None else found
    classifiers = list(dict.fromkeys(classifiers))
    with threadpool_limits(1):  # CPU seconds would count waiting threads
        for number, (X, y, X_test, y_test) in enumerate(folds):
            fold = (_narrow(X), y, _narrow(X_test), y_test)
            states = States(fold[0], fold[1], made)
            for method in (None, *made):
                if method is not None:
                    method.fold = number
                for line in _of_method(method, fold, states, sorted(set(dims)), classifiers, say):
                    found.setdefault((line.method, line.asked, line.classifier), []).append(line)
    return averaged(found.values())


def _narrow(X: Any) -> Any:
    """Return sparse samples with 32-bit indices, which scikit-learn's linear models need."""
    most = np.iinfo(np.int32).max
    if not sparse.issparse(X) or max(X.nnz, *X.shape) > most:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=X.shape)


def check(
    methods: Sequence[Any], dims: Sequence[int], classifiers: Sequence[str], seed: int = 0
) -> list[Ours | Rival]:
    """Return the methods, each once; raise ParameterError for an unknown or invalid argument."""
    for classifier in classifiers:
        if classifier not in CLASSIFIERS:
            raise ParameterError(
                f"compare: expected a classifier, got {classifier!r}. "
                f"{did_you_mean(classifier, CLASSIFIERS)}"
            )
    whole = [isinstance(p, numbers.Integral) and not isinstance(p, bool) and p >= 1 for p in dims]
    if not whole or not all(whole):
        raise ParameterError(f"compare: expected dims to be integers >= 1, got {dims!r}.")
    made: dict[str, Ours | Rival] = {}
    for method in (method_of(method, seed) for method in methods):
        name, number = method.name, 1
        while method.name in made and not method.is_like(made[method.name]):
            number += 1
            method.name = f"{name} ({number})"  # a repr may be shortened
        made.setdefault(method.name, method)
    return list(made.values())


def split(X: Any, y: np.ndarray, cv: int | None = None, seed: int = 0) -> Iterator[Fold]:
    """Yield (X, y, X_test, y_test): one stratified split, 4 to 1, or each of cv folds."""
    rows = np.arange(len(y))
    if cv is None:
        held_out, classes = math.ceil(len(y) / 5), len(np.unique(y))
        if held_out < classes:
            raise ParameterError(
                f"compare: expected at least {5 * classes - 4} samples to hold out a fifth with "
                f"all {classes} classes, got {len(y)}. Set cv (--cv) or test (--test)."
            )
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
            scores = _scores(classifier, *fold)
            yield Line(ALL, classifier, None, X.shape[1], 0.0, 0.0, **scores)
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
    wrong, n = found != y_test, len(y_test)
    likely = (n * accuracy + 1) / (n + 2)
    return {
        "train": train,
        "row_bytes": _bytes(Z) / Z.shape[0],
        "precision": float(precision_score(y_test, found, **macro)),
        "recall": float(recall_score(y_test, found, **macro)),
        "micro_f1": accuracy,
        "macro_f1": float(f1_score(y_test, found, **macro)),
        "error": 1 - accuracy,
        "standard_error": float(np.sqrt(likely * (1 - likely) / n)),
        "wrong": Counter(zip(y_test[wrong].tolist(), found[wrong].tolist(), strict=True)),
    }


def _bytes(Z: Any) -> int:
    """Return the bytes of the numbers of samples, and of their columns if sparse."""
    return int(Z.data.nbytes + Z.indices.nbytes if sparse.issparse(Z) else Z.nbytes)
