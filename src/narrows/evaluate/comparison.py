"""Comparisons of reductions: methods are fitted, samples reduced, and predictions scored."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows.errors import AdvisedError, ParameterError, did_you_mean, printable, warn
from narrows.evaluate.leaks import notes_of
from narrows.evaluate.methods import Method, check_methods
from narrows.evaluate.results import OF_CLASSES, Comparison, Line, mean, value
from narrows.evaluate.splits import REPEATS, Fold, Splits, check_counts, checked_test, pairs_of
from narrows.evaluate.table import ALL, ALWAYS, FIELDS, Reduced, merged, run
from narrows.io.source import Source
from narrows.io.table_rows import n_rows
from narrows.methods.parameters import NONE, is_integer, real, whole
from narrows.moments.labels import are_numeric, as_array, joined, may_be_numeric, one_a_row
from narrows.moments.products import MOST
from narrows.moments.targets import as_samples, numbers_of
from narrows.solve.arrays import as_numpy, plain
from narrows.solve.paired import (
    BY_SCORES,
    MARGIN,
    METRICS,
    HeldOutPredictions,
    gradient,
    metric_of,
    score,
)
from narrows.solve.sums import all_finite

# fits a classifier to samples and labels, with `class_weight`, which is "balanced" where balanced
# accuracy compares, and with whether the samples have all their features
Fit = Callable[[Any, np.ndarray, str | None, bool], Any]
# without names: the first one ranks reductions, and the others are left out where they take long
USUAL = ("svm", "logistic", "knn")
FOR_CLASSES = ("ocfs", "forwardfs", "oc", "srda", "onlinesrda")
FOR_NUMBERS = ("correlationfs", "forwardfs", "pca", "pls", "reducedrank")
# values times classes from which LinearSVC stops early, and after how many iterations
_LARGE, _ITERATIONS = 2e7, 30
# of sparse samples: values times classes, and training times held-out samples, that take long
_LONG, _PAIRS = 5e6, 2e7
_FEW, _DENSE = 256, 1 << 25  # features and values, to which neighbours are faster if not sparse
# by default only with features whose cross products are a state
_NARROW = ("forwardfs", "pca")
_RIDGES, _CHOSEN = np.logspace(-3, 4, 8), 1000  # and the most samples or features to choose for
_BY_PROBABILITIES = (*BY_SCORES, "balanced_accuracy")  # which shows the log-loss of rare classes
_SHARE = dict.fromkeys(BY_SCORES, "accuracy")  # the score of single columns in place of others
_LONGEST = 30  # characters of a label in the table


def compare(
    X: Any,
    y: Any,
    methods: Sequence[Any] | None = None,
    dims: Sequence[int] | None = None,
    classifiers: Sequence[str] | None = None,
    test: tuple[Any, Any] | None = None,
    cv: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    *,
    metric: str = "auto",
    repeats: int | None = None,
    preprocess: Any = None,
    target: str = "auto",
    margin: float = MARGIN,
) -> Comparison:
    """Compare reductions by the scores of classifiers or regressors on held-out samples.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples. With `preprocess`, or if all methods are pipelines, anything that these accept,
        such as a DataFrame or a list of texts.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        One label per sample, or numbers.
    methods : sequence of str, estimator or Pipeline, optional
        Names of methods of narrows in lower case, names of scikit-learn's reductions
        ("truncatedsvd", "sklearn-pca", "sparserandomprojection", "chi2", "f_classif",
        "lineardiscriminantanalysis"; for numbers "plsregression" and "f_regression" in place of the
        last three), or transformers, classes of these, or pipelines that end in one, of narrows, of
        other libraries or of your own. They are fitted to the training samples of each split. A
        transformer whose number of columns is given, such as ``OCFS(n_features=7)``, has one line
        of its own size. By default "ocfs", "forwardfs" (with at most 8,192
        features), "oc", "srda" and "onlinesrda"; for numbers "correlationfs", "pls", "reducedrank",
        and with at most 8,192 features "forwardfs" and "pca".
    dims : sequence of int, optional
        Numbers of features to select, or of components. By default 2, 10 and 100, or half of the
        features if there are fewer than 200.
    classifiers : sequence of {"svm", "logistic", "knn", "knn1", "smo"} or {"ridge", "knn"}, \
            optional
        scikit-learn's LinearSVC, LogisticRegression, 5 nearest neighbours, the nearest neighbour
        (as in the papers), and SVC with a linear kernel (SMO; its time grows with the square of
        n_samples). By default the first three, of which the SVM ranks reductions. Of several that
        are given, the results of all are compared. For numbers, ridge regression (the default) and
        5 nearest neighbours. The ridge is chosen by RidgeCV, and is 1 with more than 1,000 samples
        and features; dense features are standardised before it.
    test : (X, y), optional
        Held-out samples.
    cv : int, optional
        Number of stratified, shuffled folds, each held out in turn.
    seed : int, default=0
        Seed of the splits, and of methods given by name.
    progress : callable, optional
        Called with a description of the next step, once per method, dimension, classifier and
        split.
    metric : {"auto", "accuracy", "macro_f1", "balanced_accuracy", "roc_auc", \
            "average_precision", "log_loss", "r2"}, default="auto"
        The score by which results are compared. "auto" is the accuracy, or the balanced accuracy if
        the largest class has more than 9 times as many samples as the smallest. For numbers it is
        R^2, of several targets the mean. With the balanced accuracy, SVMs and logistic regression
        weight the classes (``class_weight="balanced"``); without, they rarely predict a rare class.
        The area under the ROC curve and the average precision are those of the rarer of two
        classes, of more classes the means. For the log-loss, probabilities of SVMs are a logistic
        function of their decision values, fitted to the training samples.
    repeats : int, optional
        Number of random splits, each with a fifth of the samples held out, stratified by class. By
        default 5, if neither `test` nor `cv` is given.
    preprocess : transformer or Pipeline, optional
        A copy is fitted to the training samples of each split, before all methods.
    target : {"auto", "numeric"}, default="auto"
        Whether y holds numbers to predict. "auto" takes integers and text for classes, and
        floats with fractions or with more than 20 distinct values for numbers (with a warning if
        these are whole numbers).
    margin : float, default=0.005
        Results that differ by at most one standard error, or by at most this, are equivalent; of
        equivalent reductions the smallest is recommended. The default is half a point of accuracy
        or R^2.

    Returns
    -------
    Comparison
        A list of `Line`: all features first, then the methods in the given order, by dimensions and
        classifiers. A reduction with fewer dimensions than requested is listed once.
        `recommendation_` is the reduction to use; `print` shows the list as a table; `report`
        writes a page.

    Raises
    ------
    ParameterError
        A method, classifier or metric is unknown or not for such targets, `dims` are not integers
        >= 1, there is one class, the targets are constant, or more than one of `cv`, `test` and
        `repeats` is given.

    See Also
    --------
    narrows.evaluate.ComparisonDisplay : Plots of the result.
    sklearn.model_selection.cross_validate : Scores of one pipeline.

    Notes
    -----
    **Cost**: that of the methods and of the classifiers, once for each size and split; the
    classifiers mostly take longer. ``repeats=1`` is the fastest. Each reduction is fitted once for
    all classifiers. LogisticRegression has ``max_iter=1000`` where the values
    (non-zeros of sparse samples) times classes are below 2e7. By default, all
    features of sparse samples have no logistic regression where these reach 5e6, and no neighbours
    where training times held-out samples reach 2e7.

    **Errors**: results are compared by paired differences on the same held-out samples. Their
    standard error is that of several splits with overlapping training samples (Nadeau and Bengio,
    2003). Of a single split, it is that of the held-out samples alone (infinitesimal jackknife;
    Efron, 1982), which ignores how results vary with the training samples.

    Methods with an additive state are fitted to one shared state per split, and every method of
    narrows is fitted once for all dimensions; `Line.learn` is the time that the method would have
    taken alone. Fit a scaler, an imputer or a vectoriser in `preprocess`, not before: its training
    samples must not include the held-out ones.

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
    given = {"test": test, "cv": cv, "repeats": repeats}
    one, *others = [name for name, value in given.items() if value is not None] or [""]
    if others:
        raise ParameterError(f"expected {one} or {others[0]}, got both. Leave one of them out.")
    if cv is not None:
        whole(2).check("cv", cv)
    if isinstance(X, Mapping):
        raise ParameterError(
            "expected samples in an array or a table, got a mapping. Make a table, such "
            "as pandas.DataFrame(X)."
        )
    numeric = _are_numbers(y, target)
    names = (FOR_NUMBERS if numeric else FOR_CLASSES) if methods is None else methods
    real(0).check("margin", margin)
    made = check(names, dims, classifiers, seed, metric, repeats, numeric)
    is_raw = preprocess is not None or all(method.takes_anything for method in made)
    columns = getattr(X, "columns", None)
    parts: tuple[Any, ...] = _checked(X, y, is_raw, numeric)
    check_counts(parts[1], test is None, cv)
    classes = np.unique(parts[1]) if not numeric else parts[1][:0]
    if may_be_numeric(classes, len(parts[1])):
        warn(
            f"expected classes, got {len(classes):,} distinct numbers in "
            f"{len(parts[1]):,} samples. For numbers to predict, set `target` to numeric; for "
            "classes, use y.astype(str)."
        )
    pairs: list[Any] = []
    if test is not None:
        pair = checked_test(test, () if is_raw else X)
        parts = (*parts, *_checked(*pair, is_raw, numeric))
        if not len(parts[3]):
            raise ParameterError("expected a test set with samples, got none.")
        for what, ours, theirs, matter in (
            ("features", parts[0], parts[2], not is_raw), ("targets", parts[1], parts[3], numeric)
        ):  # fmt: skip
            if matter and ours.shape[1] != theirs.shape[1]:
                raise ParameterError(
                    f"expected a test set with {ours.shape[1]} {what}, got {theirs.shape[1]}."
                )
    else:
        pairs = pairs_of(parts[1], cv, repeats or REPEATS, seed)
    source = None if columns is None else Source(columns=tuple(map(str, columns)))
    splits = Splits(parts, pairs, preprocess, source)
    if methods is None:
        made = without_costly(made, splits)
    return compare_splits(splits, made, dims, classifiers, progress, metric, margin)


def _are_numbers(y: Any, target: str) -> bool:
    """Whether y holds numbers to predict, not classes."""
    if target not in ("auto", "numeric"):
        raise ParameterError(f"expected target 'auto' or 'numeric', got {target!r}.")
    if target == "numeric" or sparse.issparse(y):
        return target == "numeric"
    given = np.asarray(as_numpy(y, "y"))
    return given.dtype.kind == "f" and are_numeric(given[np.isfinite(given)])


def _checked(X: Any, y: Any, is_raw: bool, numeric: bool) -> tuple[Any, np.ndarray]:
    """Return samples, as numbers unless they are still to be preprocessed, and their labels.

    Targets are of shape (n_samples, n_targets), by which they differ from labels.
    """
    if not is_raw:
        try:
            X = as_samples(X)
        except AdvisedError as error:
            raise AdvisedError(
                error.problem,
                "Set `preprocess`, such as Tfidf() for texts, or TableEncoder() of narrows.table "
                "for tables.",
            ) from None
    if numeric:
        return X, numbers_of(y, n_rows(X))
    classes, codes = one_a_row(X, y)
    return X, classes[codes]


def sizes_of(X: Any) -> tuple[int, ...]:
    """Return the default numbers of dimensions: 2, 10 and 100, or up to half of the features."""
    d = _width(X)
    most = 100 if d is None else min(100, max(d // 2, 1))
    return tuple(sorted({p for p in (2, 10, most) if p <= most and (d is None or p < d)}))


def _width(X: Any) -> int | None:
    """Return the number of features; None of what is still to be preprocessed."""
    X = as_array(X) if hasattr(X, "columns") else X  # of objects where not all are numbers
    is_numbers = sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
    return X.shape[1] if is_numbers and X.ndim == 2 and all_finite(X) else None


def compare_splits(
    splits: Splits,
    methods: Sequence[Method],
    dims: Sequence[int] | None = None,
    classifiers: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
    metric: str = "accuracy",
    margin: float = MARGIN,
    may_stop: bool = False,
) -> Comparison:
    """Compare methods, which `check` has made; they stay fitted to the last split.

    With `may_stop`, Ctrl-C ends the comparison, which has the lines so far.
    """
    metric, why = metric_of(splits.y, metric)
    found, constants, notes, stopped = list[Line](), list[Line](), list[str](), False
    numeric, say = splits.y.ndim == 2, progress or (lambda what: None)
    known = REGRESSORS if numeric else CLASSIFIERS
    machines = {name: known[name] for name in checked_classifiers(classifiers, numeric)}
    try:
        with threadpool_limits(1):  # CPU seconds would count waiting threads
            for number in range(len(splits)):
                X, y, X_test, y_test = splits[number]
                X, X_test = _narrow(X), _narrow(X_test)
                fold = X, y, X_test, y_test
                if dims is None:
                    dims = sizes_of(X)  # of all, also if others have more or fewer terms
                if not numeric:
                    joined([y, y_test])  # labels of another type would all be predicted wrong
                features, source = _width(X), splits.source(0) if number == 0 else None
                judge = _Judge(
                    fold, machines, features, source,
                    "balanced" if metric == "balanced_accuracy" else None,
                    not numeric and (metric in _BY_PROBABILITIES or len(np.unique(y)) == 2),
                    USUAL[1:] if classifiers is None else (),
                )  # fmt: skip
                constants.append(_constant(y, y_test, judge.ranked))
                for method in methods:
                    method.begin(number, splits.groups(number))
                every = Method(ALL, FunctionTransformer(_refuse if features is None else None))
                sizes = sorted({int(p) for p in dims})
                compared = [every, *(methods if sizes else ())]
                found.extend(run(compared, (X, y), X, sizes, Line, [*machines], judge, say))
                if number == 0 and features is not None:
                    done = [line for line in [*constants, *found] if not line.skipped]
                    best = max(value(line, _SHARE.get(metric, metric)) for line in done)
                    notes += notes_of(fold, best, metric, source, splits.samples)
    except KeyboardInterrupt:
        if not may_stop:
            raise
        stopped = True
    averaged, n = merged(found, mean)
    lines = Comparison(averaged, splits, methods)
    if constants:
        lines.largest_class_ = mean(constants[:n])
    lines.n_folds, lines.stopped, lines.notes = n, stopped, notes
    lines.metric, lines.why, lines.margin = metric, why, margin
    forward = [line for line in lines if line.columns]
    longest = max(forward, key=lambda line: line.columns, default=None)
    lines.columns_in_order_ = [] if longest is None else list(longest.chosen)
    lines.ranked_by = USUAL[0] if classifiers is None and not numeric else ""
    return lines


def _refuse(X: Any) -> None:
    """Raise ValueError for all columns of samples that are not numbers."""
    raise ValueError("expected finite numbers. Set `preprocess`, which all columns pass through.")


def without_costly(made: Sequence[Method], data: Sequence[Fold]) -> list[Method]:
    """Return the default methods that are compared with so many features."""
    few = data[0][0].shape[1] <= MOST
    return [method for method in made if few or method.name not in _NARROW]


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
    classifiers: Sequence[str] | None = None,
    seed: int = 0,
    metric: str = "auto",
    repeats: int | None = None,
    numeric: bool = False,
) -> list[Method]:
    """Return the methods; raise ParameterError for an unknown or invalid argument."""
    checked_classifiers(classifiers, numeric)
    known = ["auto", *(name for name in METRICS if (name == "r2") == numeric)]
    if metric not in known:
        raise ParameterError(
            f"expected a metric of {'numbers' if numeric else 'classes'}, got {metric!r}. "
            f"{did_you_mean(metric, known)}"
        )
    (whole(1) | NONE).check("repeats", repeats)
    if dims is not None:
        is_list = hasattr(dims, "__len__") and len(dims) > 0
        if not is_list or not all(is_integer(p, 1) for p in dims):
            raise ParameterError(f"expected `dims` to be a list of integers >= 1, got {dims!r}.")
    return check_methods(methods, seed, numeric)


def checked_classifiers(names: Sequence[str] | None, numeric: bool) -> list[str]:
    """Return the classifiers, or the regressors of numbers, each once."""
    known, what = (REGRESSORS, "regressor") if numeric else (CLASSIFIERS, "classifier")
    if isinstance(names, str):
        raise ParameterError(f"expected a list of {what}s, got {names!r}.")
    if names is not None and not len(names):
        raise ParameterError(f"expected a {what}, got none. Choose from {', '.join(known)}.")
    for name in names or ():
        if name not in known:
            raise ParameterError(f"expected a {what}, got {name!r}. {did_you_mean(name, known)}")
    return list(dict.fromkeys(names or (["ridge"] if numeric else USUAL)))


def _svm(Z: Any, y: np.ndarray, weight: str | None, of_all: bool) -> Any:
    """Fit LinearSVC, which stops early on large samples with fewer features than there are samples.

    There its Newton iterations have no other bound, and the last ones change hardly a prediction.
    """
    svm = LinearSVC(random_state=0, class_weight=weight)
    if Z.shape[0] < Z.shape[1] or _size(Z, y) < _LARGE:
        return svm.fit(Z, y)
    return _quietly(svm.set_params(tol=0.01, max_iter=_ITERATIONS), Z, y)


def _logistic(Z: Any, y: np.ndarray, weight: str | None, of_all: bool) -> Any:
    """Fit LogisticRegression, with more iterations than its default where these take no time."""
    most = 100 if _size(Z, y) >= _LARGE else 1000
    return _quietly(LogisticRegression(class_weight=weight, max_iter=most), Z, y)


def _quietly(machine: Any, Z: Any, y: np.ndarray) -> Any:
    """Fit without warnings that iterations, of which there are few, do not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(Z, y)


def _neighbours(machine: Any, Z: Any, y: np.ndarray, weight: str | None, of_all: bool) -> Any:
    """Fit nearest neighbours: of fewer samples than neighbours, all.

    Sparse selections of few features are made dense, for which neighbours are found much faster.
    """
    made = clone(machine).set_params(n_neighbors=min(machine.n_neighbors, Z.shape[0]))
    few = Z.shape[1] <= _FEW and Z.shape[0] * Z.shape[1] <= _DENSE
    if sparse.issparse(Z) and few and not of_all:
        made = make_pipeline(FunctionTransformer(lambda Z: Z.toarray()), made)
    return made.fit(Z, y)


def _ridge(Z: Any, y: np.ndarray, weight: str | None, of_all: bool) -> Any:
    """Fit a ridge regression: of standardised features if dense, with the ridge of RidgeCV."""
    few = min(Z.shape) <= _CHOSEN
    scale = "passthrough" if sparse.issparse(Z) else StandardScaler()
    return make_pipeline(scale, RidgeCV(_RIDGES) if few else Ridge()).fit(Z, y)


CLASSIFIERS: dict[str, Fit] = {
    "svm": _svm,
    "logistic": _logistic,
    "knn": partial(_neighbours, KNeighborsClassifier()),
    "knn1": partial(_neighbours, KNeighborsClassifier(1)),
    "smo": lambda Z, y, weight, of_all: SVC(kernel="linear", class_weight=weight).fit(Z, y),
}
REGRESSORS: dict[str, Fit] = {
    "ridge": _ridge,
    "knn": partial(_neighbours, KNeighborsRegressor()),
}


def _size(Z: Any, y: np.ndarray) -> float:
    """Return the values times classes, by which the time of linear classifiers grows."""
    values, n_classes = Z.nnz if sparse.issparse(Z) else Z.size, len(np.unique(y))
    return float(values * (n_classes if n_classes > 2 else 1))


def _takes_long(classifier: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> bool:
    """Whether a classifier takes much longer than a linear SVM with all features of samples."""
    if not sparse.issparse(X):
        return False
    return len(y) * len(y_test) >= _PAIRS if classifier == "knn" else _size(X, y) >= _LONG


def _constant(y: np.ndarray, y_test: np.ndarray, ranked: bool) -> Line:
    """Return the line of the prediction that is always the largest class, or the mean."""
    nothing: dict[str, Any] = {"learn": 0.0, "transform": 0.0, "train": 0.0, "row_bytes": 0.0}
    if y.ndim == 2:
        scores = _scored(y, y_test, np.tile(y.mean(axis=0), (len(y_test), 1)))
        return Line(ALWAYS + "the mean", **nothing, **scores)
    classes, counts = np.unique(y, return_counts=True)
    label = classes[counts.argmax()]
    shown = printable(plain(label))
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    shares = np.tile(counts / len(y), (len(y_test), 1)) if ranked else None
    predicted = np.full(len(y_test), label, dtype=y.dtype)
    scores = _scored(y, y_test, predicted, classes, shares, shares)
    return Line(ALWAYS + shown, **nothing, **scores)


@dataclass
class _Judge:
    """The classifiers or regressors of one split, which score what methods reduced.

    `machines` fit them with a class weight, and `ranked` is whether they order samples. All
    features are left out of the classifiers that `may_skip` names where these take much longer than
    an SVM.
    """

    fold: Fold
    machines: Mapping[str, Fit]
    features: int | None
    source: Source | None
    weight: str | None
    ranked: bool
    may_skip: Sequence[str]
    of_all: dict[str, dict[str, Any]] = field(default_factory=dict)  # scores of all features
    held_out: tuple[Any, Any] = (None, None)  # the latest reduction of held-out samples

    def __call__(self, name: str, made: Reduced) -> Line:
        """Return the line of a classifier with reduced samples."""
        method, asked, Z = made.method, made.asked, made.Z
        X, _, X_test, _ = self.fold
        is_whole = method.name == ALL
        if is_whole and name in self.may_skip and _takes_long(name, *self.fold):
            why = f"{name} takes long here: to have it, name it among the classifiers."
            return Line(ALL, name, skipped=why)
        columns, n_columns = method.n_columns(asked)
        every = 0 < columns == n_columns
        scores = self.of_all.get(name) if every or method.keeps_all(Z, X) else None
        if scores is None:
            if self.held_out[0] is not made:
                self.held_out = made, made.reduce(X_test)
            scores = self._scores(name, Z, self.held_out[1], is_whole)
        if is_whole:
            self.of_all[name] = scores
        return Line(
            method.name, name, asked, Z.shape[1], self.features or method.width or 0,
            learn=made.learn, transform=made.transform, columns=columns,
            all_columns=every or method.erases, chosen=method.chosen(asked, self.source), **scores,
        )  # fmt: skip

    def _scores(self, name: str, Z: Any, Z_test: Any, of_all: bool) -> dict[str, Any]:
        _, y, _, y_test = self.fold
        started = time.process_time()
        machine = self.machines[name](Z, y, self.weight, of_all)
        train = time.process_time() - started
        by_class = (machine.classes_, *_by_class(machine, Z, y, Z_test)) if self.ranked else ()
        scores = _scored(y, y_test, machine.predict(Z_test).reshape(y_test.shape), *by_class)
        if isinstance(machine, LogisticRegression):
            scores["converged"] = bool(machine.n_iter_.max() < machine.max_iter)
        return {"train": train, "row_bytes": _bytes(Z) / Z.shape[0], **scores}


def _by_class(machine: Any, Z: Any, y: Any, Z_test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return scores that order samples for each class, and probabilities.

    Without probabilities, these are a logistic regression of the decision values (Platt, 1999).
    Those of weighted classes are for their shares in y again (Saerens et al., 2002).
    """
    if hasattr(machine, "predict_proba"):
        scores = probabilities = machine.predict_proba(Z_test)
        if getattr(machine, "class_weight", None) == "balanced":
            probabilities = scores * np.unique(y, return_counts=True)[1]
            probabilities /= probabilities.sum(axis=1, keepdims=True)
        return scores, probabilities
    values, decided = (
        (d[:, None] if d.ndim == 1 else d) for d in map(machine.decision_function, (Z_test, Z))
    )
    scale = decided.std(axis=0)
    scale[scale == 0] = 1
    platt = LogisticRegression().fit(decided / scale, y)
    probabilities = platt.predict_proba(values / scale)
    return (np.hstack([-values, values]) if values.shape[1] == 1 else values), probabilities


def _scored(
    y: np.ndarray,
    y_test: np.ndarray,
    found: np.ndarray,
    classes: np.ndarray | None = None,
    by_class: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return the scores of predictions; `by_class` and `probabilities` have a column a class."""
    if y.ndim == 2:
        of_numbers = HeldOutPredictions(y_test, found, len(y))
        by_sample = gradient(of_numbers, "r2")
        return {
            "r2": score(of_numbers, "r2"),
            "rmse": float(np.sqrt(np.square(y_test - found).mean(axis=0)).mean()),
            "standard_error": float(np.sqrt(by_sample @ by_sample)),
            "outcomes": (of_numbers,),
        }
    wrong, n = found != y_test, len(y_test)
    likely = (n - wrong.sum() + 1) / (n + 2)
    known = [y_test, found] if classes is None else [y_test, found, classes]
    labels, codes = np.unique(np.concatenate(known), return_inverse=True)
    codes = codes.astype(np.int32)
    given = dict[str, Any]()
    if by_class is not None and probabilities is not None:
        place = codes[2 * n :]  # of the classes of the fit
        widened = np.full((2, n, len(labels)), -np.inf)
        widened[1] = 0
        widened[0][:, place], widened[1][:, place] = by_class, probabilities
        rarer = None
        if len(labels) == 2:
            rarer = int(np.bincount(np.searchsorted(labels, y), minlength=2)[::-1].argmin() == 0)
        given = {"scores": widened[0], "probabilities": widened[1], "rarer": rarer}
    outcome = HeldOutPredictions(codes[:n], codes[n : 2 * n], len(y), **given)
    names = OF_CLASSES + BY_SCORES if given else OF_CLASSES
    scores = {FIELDS[name]: score(outcome, name) for name in names}
    if given:
        scores["log_loss"] *= -1
    return scores | {
        "standard_error": float(np.sqrt(likely * (1 - likely) / n)),
        "wrong": Counter(zip(y_test[wrong].tolist(), found[wrong].tolist(), strict=True)),
        "outcomes": (outcome,),
    }


def _bytes(Z: Any) -> int:
    """Return the bytes of the numbers of samples, and of their columns if sparse."""
    return int(Z.data.nbytes + Z.indices.nbytes if sparse.issparse(Z) else np.asarray(Z).nbytes)
