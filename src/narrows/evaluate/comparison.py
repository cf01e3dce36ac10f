"""Comparisons of reductions, and their reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from narrows.errors import ParameterError
from narrows.evaluate.lines import Line
from narrows.evaluate.methods import Ours, Piped, Rival
from narrows.evaluate.report import gather, twin_of, write
from narrows.evaluate.results import Results
from narrows.evaluate.runs import METHODS, check, over
from narrows.evaluate.splits import REPEATS, Splits, pairs_of
from narrows.io.source import Source
from narrows.solve.paired import metric_of
from narrows.state.class_stats import checked_rows
from narrows.state.labels import one_a_row


def compare(
    X: Any,
    y: Any,
    methods: Sequence[Any] = METHODS,
    dims: Sequence[int] | None = None,
    classifiers: Sequence[str] = ("svm",),
    test: tuple[Any, Any] | None = None,
    cv: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    *,
    metric: str = "auto",
    repeats: int | None = None,
    preprocess: Any = None,
) -> Comparison:
    """Compare reductions by the scores of classifiers on held-out samples.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples. With `preprocess`, or if all methods are pipelines, anything that these accept,
        such as a DataFrame or a list of texts.
    y : array-like of shape (n_samples,)
        One label per sample.
    methods : sequence of str, estimator or Pipeline
        Names of methods of narrows in lower case, names of scikit-learn's reductions
        ("truncatedsvd", "sklearn-pca", "sparserandomprojection", "chi2", "f_classif",
        "lineardiscriminantanalysis"), estimators of narrows, or pipelines that end in one.
        Pipelines are fitted to the training samples of each split.
    dims : sequence of int, optional
        Numbers of features to select, or of components. By default 2, 10 and 100, or half of the
        features if there are fewer than 200.
    classifiers : sequence of {"svm", "knn", "smo"}
        scikit-learn's LinearSVC, 5 nearest neighbours, and SVC with a linear kernel (SMO, as in
        the papers; its time grows with the square of n_samples).
    test : (X, y), optional
        Held-out samples.
    cv : int, optional
        Number of stratified, shuffled folds, each held out in turn.
    seed : int, default=0
        Seed of the splits, and of methods given by name.
    progress : callable, optional
        Called with a description of the next step, once per method, dimension, classifier and
        split.
    metric : {"auto", "accuracy", "macro_f1", "balanced_accuracy"}, default="auto"
        The score by which results are compared. "auto" is the accuracy, or the balanced accuracy if
        the largest class has more than 9 times as many samples as the smallest.
    repeats : int, optional
        Number of random splits, each with a stratified fifth of the samples held out. By default 5,
        if neither `test` nor `cv` is given.
    preprocess : transformer or Pipeline, optional
        A copy is fitted to the training samples of each split, before all methods.

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
        A method, classifier or metric is unknown, `dims` are not integers >= 1, there is one class,
        or more than one of `cv`, `test` and `repeats` is given.

    See Also
    --------
    narrows.evaluate.ComparisonDisplay : Plots of the result.
    narrows.evaluate.selection_overlap : Features that several selectors share.
    sklearn.model_selection.cross_validate : Scores of one pipeline.

    Notes
    -----
    **Cost**: that of the methods and of the classifiers, once for each size and split; the
    classifiers mostly take longer. ``repeats=1`` is the fastest.

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
        raise ParameterError(
            f"compare: expected {one} or {others[0]}, got both. Leave one of them out."
        )
    made = check(methods, dims, classifiers, seed, metric, repeats)
    is_raw = preprocess is not None or all(isinstance(method, Piped) for method in made)
    columns = getattr(X, "columns", None)
    parts: tuple[Any, ...] = _checked(X, y, is_raw)
    _check_classes(parts[1])
    pairs: list[Any] = []
    if test is not None:
        parts = (*parts, *_checked(*test, is_raw))
    else:
        pairs = pairs_of(parts[1], cv, repeats or REPEATS, seed)
    source = None if columns is None else Source(columns=tuple(map(str, columns)))
    splits = Splits(parts, pairs, preprocess, source)
    lines = Comparison(over(splits, made, dims, classifiers, progress), splits, made)
    lines.metric, lines.why = metric_of(splits.y, metric)
    return lines


def _checked(X: Any, y: Any, is_raw: bool) -> tuple[Any, np.ndarray]:
    """Return samples, as numbers unless they are still to be preprocessed, and their labels."""
    if not is_raw:
        try:
            X = checked_rows(X, "compare")
        except ValueError as error:
            said = str(error).partition(" Put Tfidf()")[0]  # which is no step before compare
            if said == str(error) and "NaN" not in said:
                raise
            raise ValueError(
                f"{said} Set preprocess, such as Tfidf() for texts, or a Pipeline that ends in "
                "numbers without NaN."
            ) from None
    classes, codes = one_a_row(X, y, "compare")
    return X, classes[codes]


def _check_classes(y: np.ndarray) -> None:
    """Raise ParameterError where all samples have one class."""
    if len(np.unique(y)) == 1:
        raise ParameterError(
            "compare: expected samples of at least 2 classes to compare, got only "
            f"{y[:1].tolist()[0]!r}. Check the labels."
        )


class Comparison(Results):
    """The lines of a comparison: all features, then each method by dimensions and classifier.

    Each `Line` has the names of the method and of the classifier, the number of dimensions, scores,
    times and the size of a reduced sample. `print` shows a table.

    Parameters
    ----------
    iterable : iterable of Line
        The lines.
    splits : Splits, optional
        The samples, for `report`.
    methods : sequence, optional
        The methods, fitted to the last split.

    Attributes
    ----------
    n_folds : int
        The number of splits over which the lines are means.
    metric : {"accuracy", "macro_f1", "balanced_accuracy"}
        The score by which results are compared.
    why : str
        Which metric, and why.
    largest_class_ : Line or None
        The line that predicts the largest class for all samples.

    See Also
    --------
    compare : Compute the lines.
    ComparisonDisplay : Plot the lines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows.evaluate import compare
    >>> lines = compare(*load_iris(return_X_y=True), ["srda", "ocfs"], dims=[1, 2])
    >>> lines.recommendation_.line.method
    'srda'
    """

    def __init__(
        self,
        iterable: Iterable[Line] = (),
        splits: Splits | None = None,
        methods: Sequence[Ours | Rival] = (),
    ):
        super().__init__(iterable)
        self.__dict__.update(getattr(iterable, "__dict__", {}))
        self._splits, self._methods = splits, methods

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as one HTML page, and its figures as JSON beside it.

        The page loads nothing from the network. It requires the extra plots.

        Parameters
        ----------
        path : str or path-like
            A file that ends in .html or .htm.

        Raises
        ------
        ParameterError
            The file does not end so, or the lines do not come from `compare`.
        ImportError
            A library that reports need is not installed.

        See Also
        --------
        ComparisonDisplay : Plot the scores alone.
        """
        if self._splits is None:
            raise ParameterError(
                "Comparison: expected the result of compare to report, got lines alone. Call "
                "report of what compare returned."
            )
        twin_of(os.fspath(path))
        found = gather(self, self._splits, self._methods)
        write(path, found, self, self._splits, self._methods)
