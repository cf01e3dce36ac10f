"""A demonstration on scikit-learn's digits and diabetes data: comparisons and a picture."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_diabetes, load_digits

from narrows.evaluate.comparison import check, compare, compare_splits
from narrows.evaluate.displays import ComparisonDisplay, ScatterDisplay, new_figure, save_figure
from narrows.evaluate.results import Comparison
from narrows.evaluate.splits import Fold, Splits, pairs_of
from narrows.methods.discriminants import SRDA

FOR_CLASSES = "srda", "pca", "forwardfs", "ocfs", "f_classif"  # the last is SelectKBest
DIMENSIONS = 1, 2, 3, 5, 7, 9, 14, 20, 32
SHOWN = 2, 9, 20  # in the table
FOR_NUMBERS = "pls", "pca", "forwardfs", "correlationfs"


def digits() -> Fold:
    """Return 1,437 training and 360 held-out samples: 64 pixels in [0, 1], 10 classes."""
    X, y = load_digits(return_X_y=True)
    [(train, test)] = pairs_of(y, repeats=1)
    return X[train] / 16, y[train], X[test] / 16, y[test]


def run() -> Comparison:
    """Compare methods on the held-out digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # f_classif warns of pixels that are always white
        lines = compare_splits(Splits(digits()), check(FOR_CLASSES, DIMENSIONS), DIMENSIONS)
    lines.why = ""  # the accuracy needs no reason here
    return lines


def numbers() -> Comparison:
    """Compare methods on the diabetes data: ten features, the target is a number."""
    X, y = load_diabetes(return_X_y=True)
    return compare(X, y, FOR_NUMBERS, (1, 2, 3, 5, 9), target="numeric")


def shown(lines: Comparison) -> Comparison:
    """Return the lines of the table: all columns, and three sizes."""
    return lines.of(line for line in lines if line.asked is None or line.asked in SHOWN)


def picture(lines: Comparison, of_numbers: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw the held-out digits in two directions of SRDA, and the scores by dimensions.

    Bars are standard errors; for numbers, those of the difference from the best result.

    Parameters
    ----------
    lines, of_numbers : Comparison
        The results of `run` and `numbers`.
    path : str or path-like
        A .png, .pdf or .svg file.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    figure = new_figure(figsize=(15, 5.2))
    X, y, X_test, y_test = digits()
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.1, 1, 1))
    srda = SRDA(n_components=2).fit(X, y)
    ScatterDisplay(srda.transform(X_test), np.asarray(y_test), ["SRDA 1", "SRDA 2"]).plot(left)
    left.set_title("Held-out digits, 64 pixels, in two directions")
    ComparisonDisplay(lines).plot(middle, legend="below")
    middle.set(title="Digits: accuracy on held-out samples", ylabel="accuracy of a linear SVM")
    whole = next(line for line in lines if line.asked is None)
    best = next(line for line in lines if (line.method, line.dimensions) == ("srda", 9))
    middle.text(
        0.97, 0.04,
        f"{best.dimensions} directions of SRDA: {best.micro_f1:.3f}\n"
        f"all {whole.dimensions} features: {whole.micro_f1:.3f}",
        ha="right", transform=middle.transAxes,
    )  # fmt: skip
    differences = zip(of_numbers, of_numbers.differences(), strict=True)
    paired = [
        replace(line, standard_error=d.standard_error) for line, d in differences if d is not None
    ]
    ComparisonDisplay(paired).plot(right, legend="below")
    right.set(title="Diabetes, a number as target: R²", ylabel="R² of ridge regression")
    for ax in (middle, right):
        ax.set_xlabel("directions or features")
    save_figure(figure, path)
