"""Plots: scores and energy of a selection, accuracy and time by dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from narrows.errors import ParameterError
from narrows.evaluate.figure import COLOURS, MARKERS, axes_of, printed
from narrows.evaluate.lines import ALL, Line, title
from narrows.methods.selector import HeldOutSelector, Selector

Place = Literal["right", "below"]
_STYLES = ("-", "--", "-.", ":")
_WORDS = {
    "micro_f1": "accuracy",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced accuracy",
    "precision": "precision (macro)",
    "recall": "recall (macro)",
    "error": "share predicted wrongly",
    "learn": "CPU seconds to fit",
    "transform": "CPU seconds to reduce",
    "train": "CPU seconds to train the classifier",
}


class EnergyDisplay:
    """Plot of the scores of a selection, best first, and of their cumulative share.

    Held-out scores, if given, are plotted as a share of the best one, with a band of one standard
    error.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Scores of the features, best first.
    energy : ndarray of shape (n_features,)
        Share of the total score in the p best features, `energy_` of a selector.
    chosen : int
        Number of selected features.
    held_out, errors : ndarray of shape (n_features,), optional
        `held_out_scores_` and `held_out_errors_` of a selector with ``n_features="cv"``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ScatterDisplay : Samples in two dimensions.
    selection_overlap : Features that several selectors share.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OCFS
    >>> from narrows.evaluate import EnergyDisplay
    >>> display = EnergyDisplay.from_estimator(OCFS().fit(*load_digits(return_X_y=True)))
    >>> display.chosen
    26
    """

    def __init__(
        self,
        scores: np.ndarray,
        energy: np.ndarray,
        chosen: int,
        held_out: np.ndarray | None = None,
        errors: np.ndarray | None = None,
    ):
        self.scores, self.energy, self.chosen = scores, energy, chosen
        self.held_out, self.errors = held_out, errors

    @classmethod
    def from_estimator(
        cls, estimator: Any, ax: Any = None, legend: Place = "right"
    ) -> EnergyDisplay:
        """Plot the scores of a fitted selector."""
        if not isinstance(estimator, Selector):
            raise ParameterError(
                f"EnergyDisplay: expected a selector, got {type(estimator).__name__}. "
                "Use OCFS, IG or another selector."
            )
        scores = estimator.scores_[estimator.ranking_]
        display = cls(scores, estimator.energy_, estimator.n_features_)
        if isinstance(estimator, HeldOutSelector) and len(estimator.held_out_scores_):
            display.held_out = estimator.held_out_scores_
            display.errors = estimator.held_out_errors_
        return display.plot(ax, legend)

    def plot(self, ax: Any = None, legend: Place = "right") -> EnergyDisplay:
        """Plot on given axes or in a new figure; return self.

        The legend is to the right of the axes or below them.
        """
        self.ax_, self.figure_ = axes_of(ax, (7, 4))
        p = np.arange(1, len(self.energy) + 1)
        finite = self.scores[np.isfinite(self.scores)]
        best = finite.max(initial=0.0) or 1.0
        share = np.clip(np.where(np.isfinite(self.scores), self.scores, best) / best, 0, 1)
        self.ax_.plot(p, self.energy, color=COLOURS[0], lw=1.8, label="share of the total score")
        self.ax_.plot(p, share, "--", color=COLOURS[5], lw=1.4, label="score / best score")
        curve = self.energy
        if self.held_out is not None and self.held_out.max() > 0:
            curve = self._plot_held_out(p, self.held_out)
        height = float(curve[self.chosen - 1])
        self.ax_.plot([self.chosen], [height], "o", color="black")
        self.ax_.axvline(self.chosen, color="black", lw=0.8, ls=":")
        self.ax_.annotate(
            f"{self.chosen:,} kept, {height:.0%}",
            (self.chosen, height),
            xytext=(6, -14) if self.chosen < len(p) ** 0.6 else (-6, 8),
            textcoords="offset points",
            ha="left" if self.chosen < len(p) ** 0.6 else "right",
            fontsize=9,
        )
        self.ax_.set_xscale("log")
        self.ax_.set_ylim(0, 1.03)
        self.ax_.set_xlabel("features, best first")
        self.ax_.grid(alpha=0.25)
        _legend(self.ax_, legend)
        return self

    def _plot_held_out(self, p: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Plot the held-out scores as a share of the best; return that share."""
        best, colour = float(scores.max()), COLOURS[1]
        share: np.ndarray = scores / best
        self.ax_.plot(p, share, "-.", color=colour, lw=1.8, label="held-out score / best")
        if self.errors is not None:
            error = self.errors / best
            self.ax_.fill_between(p, share - error, share + error, color=colour, alpha=0.2, lw=0)
        return share


class ComparisonDisplay:
    """Plot of scores or times against the number of dimensions, one line per method.

    Parameters
    ----------
    lines : sequence of Line
        Result of `compare`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    compare : Compute what is plotted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows.evaluate import ComparisonDisplay, compare
    >>> lines = compare(*load_iris(return_X_y=True), ["oc", "ocfs"], dims=[1, 2])
    >>> ComparisonDisplay(lines).plot().figure_.savefig("f1.png")  # doctest: +SKIP
    """

    def __init__(self, lines: Sequence[Line]):
        self.lines = [line for line in lines if not line.skipped]

    def plot(
        self,
        ax: Any = None,
        what: str = "micro_f1",
        classifier: str | None = None,
        legend: Place = "right",
    ) -> ComparisonDisplay:
        """Plot on given axes or in a new figure; return self. Bars are one standard error.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to plot on; a new figure by default.
        what : str
            A field of the result: micro_f1, macro_f1, balanced_accuracy, precision, recall, error,
            learn, transform or train.
        classifier : str, optional
            The classifier; the first by default.
        legend : {"right", "below"}
            Position of the legend.

        See Also
        --------
        compare : Compute what is plotted.
        """
        if what not in _WORDS:
            raise ParameterError(
                f"ComparisonDisplay: expected what to be one of {', '.join(_WORDS)}, got {what!r}."
            )
        self.ax_, self.figure_ = axes_of(ax, (7, 4.4))
        judge = classifier or next((line.classifier for line in self.lines), "")
        mine = [line for line in self.lines if line.classifier == judge]
        methods = list(dict.fromkeys(line.method for line in mine if line.method != ALL))
        for number, method in enumerate(methods):
            points = {line.dimensions: line for line in mine if line.method == method}
            lines = [points[p] for p in sorted(points)]
            self.ax_.errorbar(
                [line.dimensions for line in lines],
                [getattr(line, what) for line in lines],
                [_error(line, what) for line in lines],
                fmt=_STYLES[number // len(MARKERS) % len(_STYLES)],
                marker=MARKERS[number % len(MARKERS)],
                ms=5,
                capsize=2,
                color=COLOURS[number % len(COLOURS)],
                label=printed(title(method)),
            )
        every = [line for line in mine if line.method == ALL]
        if every and what not in ("learn", "transform"):
            value = getattr(every[0], what)
            label = f"all {every[0].dimensions:,} features"
            self.ax_.axhline(value, color="black", lw=1, ls=":", label=label)
        sizes = sorted({line.dimensions for line in mine if line.method != ALL})
        self.ax_.set_xscale("log")
        after = [*sizes[1:], 10 * max(sizes, default=1)]
        sizes = [p for p, next_ in zip(sizes, after, strict=True) if next_ > 1.2 * p]  # apart
        self.ax_.set_xticks(sizes, [f"{p:,}" for p in sizes])
        self.ax_.set_xticks([], minor=True)
        if what in ("learn", "transform", "train"):
            self.ax_.set_yscale("log")
        self.ax_.set_xlabel("dimensions")
        self.ax_.set_ylabel(
            _WORDS[what] + (f", {judge}" if what not in ("learn", "transform") else "")
        )
        self.ax_.grid(alpha=0.25)
        _legend(self.ax_, legend)
        return self


def _error(line: Line, what: str) -> float:
    """Return one standard error of the accuracy, or a standard deviation over folds."""
    if what in ("micro_f1", "error"):
        return line.standard_error
    return (line.spread or {}).get(what, 0.0)


def _legend(ax: Any, where: Place, **more: Any) -> None:
    """Put the legend outside the axes."""
    places: dict[Place, dict[str, Any]] = {
        "right": {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)},
        "below": {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2},
    }
    ax.legend(fontsize=8, frameon=False, **places[where], **more)
