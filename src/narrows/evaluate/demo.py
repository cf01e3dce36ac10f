"""A demonstration on scikit-learn's handwritten digits: a table and a picture."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from narrows.evaluate.figure import COLOURS, new_figure, save_figure
from narrows.evaluate.scores import Score, score
from narrows.families.between import OCFS
from narrows.families.centroid import OC


def digits() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return 1,347 training and 450 held-out samples: 64 pixels in [0, 1], 10 classes."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16, y, test_size=0.25, stratify=y, random_state=0
    )
    return (X_train, y_train), (X_test, y_test)


def run() -> list[Score]:
    """Score all features, OCFS and OC on the held-out digits."""
    train, test = digits()
    return [
        score("all columns", None, train, test),
        score("OCFS(energy=0.8)", OCFS(), train, test),
        score("OCFS(n_features=9)", OCFS(n_features=9), train, test),
        score("OC()", OC(), train, test),
        score("OC(n_components=2)", OC(n_components=2), train, test),
    ]


def picture(path: str | os.PathLike[str]) -> None:
    """Draw the features of OCFS, the projection of OC, and F1 by number of dimensions.

    Parameters
    ----------
    path : str or path-like
        A .png, .pdf or .svg file.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    figure = new_figure(figsize=(13, 4.1))
    train, test = digits()
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.15, 1.15))
    _kept_pixels(left, OCFS().fit(*train))
    _first_two(middle, OC().fit(*train), test)
    _by_dimension(right, train, test)
    save_figure(figure, path)


def _kept_pixels(ax: Any, ocfs: OCFS) -> None:
    ax.imshow(ocfs.scores_.reshape(8, 8), cmap="Greys")
    for row, column in np.argwhere(ocfs.get_support().reshape(8, 8)):
        ax.add_patch(_square(column, row))
    kept = ocfs.n_features_
    ax.set_title(f"OCFS: pixels by score, outlined\nthe {kept} of 64 that hold 80 % of it")
    ax.set_xticks([])
    ax.set_yticks([])


def _square(x: int, y: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, fill=False, color="#CC3311", lw=2)


def _first_two(ax: Any, oc: OC, test: tuple[np.ndarray, np.ndarray]) -> None:
    Z, y = oc.transform(test[0]), test[1]
    for digit, colour in enumerate(COLOURS):
        # the markers are the digits, so that colour is not needed to read the plot
        ax.scatter(*Z[y == digit, :2].T, s=26, color=colour, marker=f"${digit}$", lw=0.3)
    ax.set_title("OC: held-out digits in the first\ntwo of nine directions")
    ax.set_xlabel("direction 1")
    ax.set_ylabel("direction 2")


def _by_dimension(ax: Any, train: Any, test: Any) -> None:
    everything = score("", None, train, test).svm
    ax.axhline(everything, color="black", lw=1, ls=":")
    ax.text(1, everything + 0.012, "all 64 pixels", fontsize=9)
    methods: tuple[tuple[str, Any, Any, str], ...] = (
        ("OC", lambda p: OC(p), range(1, 10), "-o"),
        ("OCFS", lambda p: OCFS(p), (1, 2, 3, 5, 7, 9, 12, 16, 20, 26, 32, 40, 48, 64), "--s"),
    )
    for (name, make, sizes, style), colour in zip(methods, ("#332288", "#CC6677"), strict=True):
        f1 = [score("", make(p), train, test).svm for p in sizes]
        ax.plot(sizes, f1, style, color=colour, ms=4, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64])
    ax.set_ylim(0, 1.04)
    ax.set_title("What is left for a linear SVM")
    ax.set_xlabel("dimensions")
    ax.set_ylabel("micro-F1 on held-out digits")
    ax.legend(loc="lower right", frameon=False)
