"""A demonstration on scikit-learn's handwritten digits: a comparison and a picture."""

from __future__ import annotations

import os
import warnings

import numpy as np
from sklearn.datasets import load_digits

from narrows.evaluate.comparison import over
from narrows.evaluate.displays import ComparisonDisplay, ScatterDisplay, new_figure, save_figure
from narrows.evaluate.results import Results
from narrows.evaluate.splits import Fold, split
from narrows.methods.srda import SRDA

METHODS = "srda", "oc", "pca", "ocfs", "f_classif"  # the last is SelectKBest of scikit-learn
DIMENSIONS = 1, 2, 3, 5, 7, 9, 14, 20, 32
SHOWN = 2, 9  # in the table


def digits() -> Fold:
    """Return 1,437 training and 360 held-out samples: 64 pixels in [0, 1], 10 classes."""
    X, y = load_digits(return_X_y=True)
    (fold,) = split(X / 16, y)
    return fold


def run() -> Results:
    """Compare methods on the held-out digits, by a linear support vector machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # f_classif warns of pixels that are always white
        return over([digits()], METHODS, DIMENSIONS)


def shown(lines: Results) -> Results:
    """Return the lines of the table: all columns, and two sizes."""
    return lines.of(line for line in lines if line.asked is None or line.asked in SHOWN)


def picture(lines: Results, path: str | os.PathLike[str]) -> None:
    """Draw the held-out digits in two dimensions of SRDA, and the accuracy by dimensions.

    Parameters
    ----------
    lines : Results
        The result of `run`.
    path : str or path-like
        A .png, .pdf or .svg file.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    figure = new_figure(figsize=(12, 4.6))
    X, y, X_test, y_test = digits()
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    srda = SRDA(n_components=2).fit(X, y)
    ScatterDisplay(srda.transform(X_test), np.asarray(y_test), ["SRDA 1", "SRDA 2"]).plot(left)
    left.set_title("Held-out digits in two dimensions (SRDA)")
    ComparisonDisplay(lines).plot(right)
    right.set_title("Accuracy by number of dimensions (linear SVM)")
    save_figure(figure, path)
