"""A map of samples in two dimensions, with the names of their classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from narrows.errors import ParameterError
from narrows.evaluate.figure import COLOURS, MARKERS, axes_of, printed

_NAMED = 20  # classes, each with its own colour and marker


class ScatterDisplay:
    """Scatter plot of samples in the first two dimensions of a reduction, by class.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, 2)
        Reduced samples.
    y : ndarray of shape (n_samples,)
        Labels.
    names : sequence of str
        Names of the two dimensions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ComparisonDisplay : Scores by number of dimensions.
    EnergyDisplay : Scores of a selection.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import SRDA
    >>> from narrows.evaluate import ScatterDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ScatterDisplay.from_estimator(SRDA().fit(X, y), X, y)
    >>> display.figure_.savefig("iris.png")  # doctest: +SKIP
    """

    def __init__(self, Z: np.ndarray, y: np.ndarray, names: Sequence[str]):
        self.Z, self.y, self.names = Z, y, names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, ax: Any = None) -> ScatterDisplay:
        """Reduce samples with a fitted estimator and plot them.

        Parameters
        ----------
        estimator : fitted estimator with transform
            A reduction to at least two dimensions.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        ax : matplotlib Axes, optional
            Axes to plot on; a new figure by default.

        Raises
        ------
        ParameterError
            The reduction has one dimension only.
        ImportError
            matplotlib is not installed.

        See Also
        --------
        plot : Plot reduced samples.
        """
        Z = estimator.transform(X)
        if Z.shape[1] < 2:
            raise ParameterError(
                f"ScatterDisplay: expected at least two dimensions, got {Z.shape[1]} from "
                f"{type(estimator).__name__}. Use more components, or a histogram."
            )
        Z = Z[:, :2]
        names = estimator.get_feature_names_out()[:2]
        return cls(Z if isinstance(Z, np.ndarray) else Z.toarray(), np.asarray(y), names).plot(ax)

    def plot(self, ax: Any = None) -> ScatterDisplay:
        """Plot on given axes or in a new figure; return self.

        The samples are faint, and the name of each class stands at their median. The twenty largest
        classes have their own colour, marker and name; the other classes are grey.
        """
        self.ax_, self.figure_ = axes_of(ax, (7, 5.4))
        self.named_, rest = self._largest()
        size = float(np.clip(6000 / max(1, len(self.y)), 6, 30))
        if rest.any():
            self.ax_.scatter(*self.Z[rest].T, s=size, color="0.85", linewidths=0, gid="points-rest")
        for number, label in enumerate(self.named_):
            self.ax_.scatter(
                *self.Z[self.y == label].T,
                s=size,
                marker=MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                alpha=0.5,
                linewidths=0,
                gid=f"points-{number}",
            )
        self._name_classes()
        self.ax_.set_xlabel(printed(self.names[0]))
        self.ax_.set_ylabel(printed(self.names[1]))
        if rest.any():
            others = len(np.unique(self.y[rest]))
            self.ax_.set_title(f"grey: {others} other classes", fontsize=9, loc="right")
        return self

    def _largest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes that are named, and which samples are of others."""
        classes, counts = np.unique(self.y, return_counts=True)
        named = classes[np.sort(np.argsort(-counts, kind="stable")[:_NAMED])]
        return named, ~np.isin(self.y, named)

    def _name_classes(self) -> None:
        """Write the name of each class at its median, apart from other names."""
        from matplotlib.colors import to_rgb
        from matplotlib.patheffects import withStroke

        if not len(self.named_):
            return
        names = [printed(label) for label in self.named_]
        medians = np.array([np.median(self.Z[self.y == label], axis=0) for label in self.named_])
        self.ax_.autoscale_view()
        self.ax_.set(xlim=self.ax_.get_xlim(), ylim=self.ax_.get_ylim())
        to_axes = self.ax_.transLimits
        inches = self.ax_.get_window_extent().size / self.figure_.dpi
        sizes = np.array([(0.075 * len(name) + 0.05, 0.17) for name in names]) / inches
        places = to_axes.inverted().transform(_apart(to_axes.transform(medians), sizes))
        for number, (name, place) in enumerate(zip(names, places, strict=True)):
            self.ax_.text(
                *place, name, ha="center", va="center", fontsize=12 if len(names) <= 10 else 9,
                fontweight="bold",
                color=0.6 * np.array(to_rgb(COLOURS[number % len(COLOURS)])),
                path_effects=[withStroke(linewidth=3, foreground="white")],
            )  # fmt: skip


def _apart(places: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return places of boxes, moved up or down until few overlap."""
    places = places.copy()
    for _ in range(200):
        gaps = places[:, None] - places
        room = (sizes[:, None] + sizes) / 2
        overlap = np.clip(room - np.abs(gaps), 0, None)
        np.fill_diagonal(overlap[..., 0], 0)
        push = np.where(overlap[..., 0] > 0, overlap[..., 1], 0)
        if not push.any():
            break
        above = np.where(gaps[..., 1] == 0, np.sign(np.arange(len(places))[:, None] -
                         np.arange(len(places))), np.sign(gaps[..., 1]))  # fmt: skip
        places[:, 1] += 0.25 * (push * above).sum(axis=1)
    half = sizes / 2
    clipped: np.ndarray = np.clip(places, half, np.maximum(half, 1 - half))
    return clipped
