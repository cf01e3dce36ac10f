"""Runs of a comparison: methods fitted, samples reduced, and classifiers scored."""

from __future__ import annotations

import numbers
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows.errors import ParameterError, did_you_mean, printable
from narrows.evaluate.lines import ALL, Line
from narrows.evaluate.methods import Ours, Rival, States, method_of
from narrows.evaluate.results import ALWAYS, Results, averaged
from narrows.evaluate.splits import Fold
from narrows.solve.paired import METRICS, Outcome, score
from narrows.solve.sums import all_finite
from narrows.state.labels import joined

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "svm": lambda: LinearSVC(random_state=0),
    "knn": lambda: KNeighborsClassifier(),
    "smo": lambda: SVC(kernel="linear"),
}
METHODS = ("ocfs", "oc", "srda", "onlinesrda")
_LONGEST = 30  # characters of a label in the table


def sizes_of(X: Any) -> tuple[int, ...]:
    """Return the default numbers of dimensions: 2, 10 and 100, or up to half of the features."""
    d = _width(X)
    most = 100 if d is None else min(100, max(d // 2, 1))
    return tuple(sorted({p for p in (2, 10, most) if p <= most and (d is None or p < d)}))


def _width(X: Any) -> int | None:
    """Return the number of features; None of what is still to be preprocessed."""
    is_numbers = sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
    return X.shape[1] if is_numbers and X.ndim == 2 and all_finite(X) else None


def over(
    folds: Sequence[Fold],
    methods: Sequence[Any] = METHODS,
    dims: Sequence[int] | None = None,
    classifiers: Sequence[str] = ("svm",),
    progress: Callable[[str], None] | None = None,
    found: dict[Any, list[Line]] | None = None,
) -> Results:
    """`compare` over folds (X, y, X_test, y_test); `found` keeps the lines if it is interrupted.

    Methods may come from `check`; they then stay fitted to the last fold.
    """
    made, say = check(methods, dims, classifiers), progress or (lambda what: None)
    found = {} if found is None else found
    classifiers = list(dict.fromkeys(classifiers))
    with threadpool_limits(1):  # CPU seconds would count waiting threads
        for number, (X, y, X_test, y_test) in enumerate(folds):
            fold = (_narrow(X), y, _narrow(X_test), y_test)
            joined([y, y_test])  # labels of another type would all be predicted wrong
            states = States(fold[0], y, made)
            if dims is None:
                dims = sizes_of(X)  # of all folds, also if others have more or fewer terms
            sizes = sorted(set(dims))
            found.setdefault(ALWAYS, []).append(_largest_class(y, y_test))
            for method in (None, *made) if sizes else (None,):
                if method is not None:
                    method.fold = number
                for line in _of_method(method, fold, states, sizes, classifiers, say):
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
    methods: Sequence[Any],
    dims: Sequence[int] | None,
    classifiers: Sequence[str],
    seed: int = 0,
    metric: str = "auto",
    repeats: int | None = None,
) -> list[Ours | Rival]:
    """Return the methods, each once; raise ParameterError for an unknown or invalid argument."""
    for classifier in classifiers:
        if classifier not in CLASSIFIERS:
            raise ParameterError(
                f"compare: expected a classifier, got {classifier!r}. "
                f"{did_you_mean(classifier, CLASSIFIERS)}"
            )
    if metric not in ("auto", *METRICS):
        raise ParameterError(
            f"compare: expected a metric, got {metric!r}. "
            f"{did_you_mean(metric, ['auto', *METRICS])}"
        )
    if repeats is not None and not _is_count(repeats):
        raise ParameterError(f"compare: expected repeats to be an integer >= 1, got {repeats!r}.")
    if dims is not None and not (len(dims) and all(map(_is_count, dims))):
        raise ParameterError(f"compare: expected dims to be integers >= 1, got {dims!r}.")
    made: dict[str, Ours | Rival] = {}
    for method in (method_of(method, seed) for method in methods):
        name, number = method.name, 1
        while method.name in made and not method.is_like(made[method.name]):
            number += 1
            method.name = f"{name} ({number})"  # a repr may be shortened
        made.setdefault(method.name, method)
    return list(made.values())


def _is_count(value: Any) -> bool:
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return is_integer and int(value) >= 1


def _largest_class(y: np.ndarray, y_test: np.ndarray) -> Line:
    """Return the line of the prediction that is always the largest class."""
    classes, counts = np.unique(y, return_counts=True)
    label = classes[counts.argmax()]
    shown = printable(label.item() if isinstance(label, np.generic) else label)
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    scores = _scored(y, y_test, np.full(len(y_test), label, dtype=y.dtype))
    scores |= {"train": 0.0, "row_bytes": 0.0}
    return Line(ALWAYS + shown, "", None, 0, 0.0, 0.0, **scores)


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
        features = _width(X)
        for classifier in classifiers:
            progress(f"{ALL}, {classifier}")
            if features is None:
                why = "expected finite numbers. Set preprocess, which all columns pass through."
                yield Line(ALL, classifier, None, skipped=why)
                continue
            scores = _scores(classifier, *fold)
            yield Line(ALL, classifier, None, features, 0.0, 0.0, features=features, **scores)
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
                    features=_width(X) or method.width or 0,
                    **_scores(classifier, Z, y, Z_test, y_test),
                )
            yield replace(done[key], asked=asked)


def _scores(classifier: str, Z: Any, y: Any, Z_test: Any, y_test: Any) -> dict[str, Any]:
    machine = CLASSIFIERS[classifier]()
    started = time.process_time()
    machine.fit(Z, y)
    train = time.process_time() - started
    scores = _scored(y, y_test, machine.predict(Z_test))
    return {"train": train, "row_bytes": _bytes(Z) / Z.shape[0], **scores}


def _scored(y: np.ndarray, y_test: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    """Return the scores of predictions."""
    macro = {"average": "macro", "zero_division": 0.0}
    accuracy = float(accuracy_score(y_test, found))
    wrong, n = found != y_test, len(y_test)
    likely = (n * accuracy + 1) / (n + 2)
    codes = np.unique(np.concatenate([y_test, found]), return_inverse=True)[1].astype(np.int32)
    outcome = Outcome(codes[:n], codes[n:], len(y))
    return {
        "precision": float(precision_score(y_test, found, **macro)),
        "recall": float(recall_score(y_test, found, **macro)),
        "micro_f1": accuracy,
        "macro_f1": float(f1_score(y_test, found, **macro)),
        "balanced_accuracy": score(outcome, "balanced_accuracy"),
        "error": 1 - accuracy,
        "standard_error": float(np.sqrt(likely * (1 - likely) / n)),
        "wrong": Counter(zip(y_test[wrong].tolist(), found[wrong].tolist(), strict=True)),
        "outcomes": (outcome,),
    }


def _bytes(Z: Any) -> int:
    """Return the bytes of the numbers of samples, and of their columns if sparse."""
    return int(Z.data.nbytes + Z.indices.nbytes if sparse.issparse(Z) else Z.nbytes)
