"""Plots: scores of a selection, scores by dimensions, samples in two dimensions, and figures."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self
from xml.etree import ElementTree

import numpy as np

from narrows.errors import ParameterError
from narrows.evaluate.table import ALL, FIELDS, Row, title
from narrows.io.atomic import replacing
from narrows.io.extras import needing
from narrows.methods.forward import ForwardFS
from narrows.methods.selectors import Selector
from narrows.solve.paired import METRICS

_SVG = "http://www.w3.org/2000/svg"

# a palette that colour-blind readers distinguish; no plot relies on colour alone
COLOURS = (
    "#332288", "#117733", "#44AA99", "#88CCEE", "#DDCC77",
    "#CC6677", "#AA4499", "#882255", "#888888", "#000000",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_LONGEST = 24  # characters of a name in a plot

Place = Literal["right", "below"]
STYLES = ("-", "--", "-.", ":")
_WORDS = {FIELDS[metric]: words for metric, words in METRICS.items()} | {
    "rmse": "root mean squared error",
    "learn": "CPU seconds to fit",
    "transform": "CPU seconds to reduce",
    "train": "CPU seconds to train the classifier",
}
_AT = 400  # points of a density
_LABEL = 0.12  # of the width of axes: the width of a label
_NAMED = 20  # classes, each with its own colour and marker


def new_figure(figsize: tuple[float, float]) -> Any:
    """Return an empty matplotlib figure of this size in inches."""
    with needing("plots", "matplotlib"):
        from matplotlib.figure import Figure
    return Figure(figsize=figsize, layout="constrained", dpi=110)


def as_svg(figure: Any) -> bytes:
    """Return a figure as SVG without addresses in its metadata, with words as text."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "narrows"}):
        figure.savefig(buffer, format="svg", metadata=nothing)
    svg = buffer.getvalue()
    return svg[svg.index(b"<svg") :]  # without the document type, which is an address


def as_inline_svg(figure: Any, titles: Mapping[str, Sequence[str]]) -> str:
    """Return a figure as SVG for a page, whose points have titles: by `gid`, in their order."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(as_svg(figure))
    for style in [*root.iter(f"{{{_SVG}}}defs")]:
        for each in style.findall(f"{{{_SVG}}}style"):
            style.remove(each)  # it would apply to the page
    for gid, names in titles.items():
        group = next(each for each in root.iter() if each.get("id") == gid)
        for point, name in zip(group.iter(f"{{{_SVG}}}use"), names, strict=True):
            ElementTree.SubElement(point, f"{{{_SVG}}}title").text = name
    for size in ("width", "height"):
        del root.attrib[size]
    return ElementTree.tostring(root, encoding="unicode")


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png, .pdf or .svg file, atomically."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=Path(path).suffix.lower().removeprefix("."))


def printed(name: Any) -> str:
    """Return a name for a plot: no formula, no control characters, shortened."""
    text = "".join(c if c.isprintable() else " " for c in str(name)).replace("$", r"\$")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


class _Display:
    """A plot on given axes or in a new figure: `ax_`, its axes, and `figure_`, their figure.

    With several axes, `axes_` has them all, and `ax_` is the last one.
    """

    def _take(self, ax: Any, size: tuple[float, float], n: int = 1) -> Any:
        """Set and return the axes to plot on, those of a new figure in inches if none are given."""
        self.axes_ = list(new_figure(size).subplots(1, n, squeeze=False)[0]
                          if ax is None else np.atleast_1d(ax))  # fmt: skip
        self.ax_ = self.axes_[-1]
        self.figure_ = self.ax_.figure
        return self.ax_


def _check_is(estimator: Any, kind: type[Any], expected: str, hint: str) -> None:
    """Raise ParameterError for an estimator that a display does not plot."""
    if not isinstance(estimator, kind):
        raise ParameterError(f"expected {expected}, got {type(estimator).__name__}. {hint}")


class EnergyDisplay(_Display):
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
    def from_estimator(cls, estimator: Any, ax: Any = None, legend: Place = "right") -> Self:
        """Plot the scores of a fitted selector."""
        _check_is(estimator, Selector, "a selector", "Use OCFS, IG or another selector.")
        scores = estimator.scores_[estimator.ranking_]
        held_out: Any = getattr(estimator, "held_out_scores_", ())
        is_whole = len(held_out) == len(scores)  # not of some steps
        held_out = (held_out, estimator.held_out_errors_) if is_whole else ()
        display = cls(scores, estimator.energy_, estimator.n_features_, *held_out)
        return display.plot(ax, legend)

    def plot(self, ax: Any = None, legend: Place = "right") -> Self:
        """Plot on given axes or in a new figure; return self.

        The legend is to the right of the axes or below them.
        """
        ax = self._take(ax, (7, 4))
        p = np.arange(1, len(self.energy) + 1)
        finite = self.scores[np.isfinite(self.scores)]
        best = finite.max(initial=0.0) or 1.0
        share = np.clip(np.where(np.isfinite(self.scores), self.scores, best) / best, 0, 1)
        ax.plot(p, self.energy, color=COLOURS[0], lw=1.8, label="share of the total score")
        ax.plot(p, share, "--", color=COLOURS[5], lw=1.4, label="score / best score")
        curve = self.energy
        if self.held_out is not None and self.held_out.max() > 0:
            best = float(self.held_out.max())
            curve = self.held_out / best
            _draw_held_out(ax, self.held_out, self.errors, "held-out score / best", best)
        height = float(curve[self.chosen - 1])
        on_left = self.chosen < len(p) ** 0.6
        below = height > 0.9  # else it would be on the border
        place = ((6, -14), "left") if on_left else ((-6, -14 if below else 8), "right")
        _mark_chosen(ax, self.chosen, height, place)
        ax.set(xscale="log", ylim=(0, 1.03), xlabel="features, best first")
        _plain_ticks(ax.xaxis)
        _grid_and_legend(ax, legend)
        return self


class GainDisplay(_Display):
    """Plot of the share of the targets that selected features explain, by their number.

    Held-out shares, if given, are plotted beside it, with a band of one standard error.

    Parameters
    ----------
    gains : ndarray of shape (n_steps,)
        `gain_curve_` of `ForwardFS`.
    held_out, errors : ndarray of shape (n_compared,), optional
        `held_out_scores_` and `held_out_errors_` with ``n_features="cv"``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    EnergyDisplay : Scores of a selection.
    ComparisonDisplay : Scores of classifiers by number of dimensions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import ForwardFS
    >>> from narrows.evaluate import GainDisplay
    >>> selector = ForwardFS(n_features=20).fit(*load_digits(return_X_y=True))
    >>> display = GainDisplay.from_estimator(selector)
    >>> len(display.gains)
    20
    """

    def __init__(
        self,
        gains: np.ndarray,
        held_out: np.ndarray | None = None,
        errors: np.ndarray | None = None,
    ):
        self.gains, self.held_out, self.errors = gains, held_out, errors

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None, legend: Place = "right") -> Self:
        """Plot the gains of a fitted `ForwardFS`."""
        _check_is(estimator, ForwardFS, "a ForwardFS", "Use EnergyDisplay for other selectors.")
        held_out = estimator.held_out_scores_, estimator.held_out_errors_
        return cls(estimator.gain_curve_, *(held_out if len(held_out[0]) else ())).plot(ax, legend)

    def plot(self, ax: Any = None, legend: Place = "right") -> Self:
        """Plot on given axes or in a new figure; return self.

        The legend is to the right of the axes or below them.
        """
        ax = self._take(ax, (7, 4))
        chosen, curve = len(self.gains), self.gains
        steps = np.arange(1, chosen + 1)
        ax.plot(steps, curve, color=COLOURS[0], lw=1.8, marker=".", label="samples of the fit")
        if self.held_out is not None:
            curve = self.held_out
            _draw_held_out(ax, curve, self.errors, "held-out samples")
        on_left = chosen < 0.7 * len(curve)
        place = ((6, -14), "left") if on_left else ((-6, -36), "right")
        _mark_chosen(ax, chosen, float(curve[chosen - 1]), place)
        ax.set(
            ylim=(0, None),
            xlabel="steps, each of one feature or group",
            ylabel="explained share of the targets",
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        _grid_and_legend(ax, legend)
        return self


class ComparisonDisplay(_Display):
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

    def __init__(self, lines: Sequence[Any]):
        self.lines = [line for line in lines if not line.skipped]

    def plot(
        self,
        ax: Any = None,
        what: str | None = None,
        classifier: str | None = None,
        legend: Place = "right",
    ) -> ComparisonDisplay:
        """Plot on given axes or in a new figure; return self.

        Bars are one standard error, or, of scores that are not means over samples, one standard
        deviation over the splits.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to plot on; a new figure by default.
        what : str, optional
            A field of the result: micro_f1, macro_f1, balanced_accuracy, roc_auc,
            average_precision, log_loss, r2, rmse, learn, transform or train. By default
            micro_f1, or r2 for numeric targets.
        classifier : str, optional
            The classifier; the first by default.
        legend : {"right", "below"}
            Position of the legend.

        See Also
        --------
        compare : Compute what is plotted.
        """
        if what is None:
            what = "r2" if any(line.r2 == line.r2 for line in self.lines) else "micro_f1"
        if what not in _WORDS:
            raise ParameterError(f"expected what to be one of {', '.join(_WORDS)}, got {what!r}.")
        ax = self._take(ax, (7, 4.4))
        shown = classifier or next((line.classifier for line in self.lines), "")
        of_reduction = what in ("learn", "transform")
        mine = [line for line in self.lines if line.classifier == shown]
        points = ((line, getattr(line, what), _error(line, what)) for line in mine
                  if not (of_reduction and line.method == ALL))  # fmt: skip
        _plot_curves(ax, points)
        scale = "log" if what in ("learn", "transform", "train") else "linear"
        words = _WORDS[what] + ("" if of_reduction else f", {shown}")
        ax.set(yscale=scale, ylabel=words)
        if scale == "log":
            _plain_ticks(ax.yaxis)
        _grid_and_legend(ax, legend)
        return self


class RetrievalDisplay(_Display):
    """Plot of a score of `retrieval` against the number of dimensions, one line per method.

    Parameters
    ----------
    lines : Retrieval
        Result of `retrieval`.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The axes of seen classes, and of left-out classes if there are some; `ax_` is the last one.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    retrieval : Compute what is plotted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows.evaluate import RetrievalDisplay, retrieval
    >>> lines = retrieval(*load_digits(return_X_y=True), dims=[4, 16])
    >>> RetrievalDisplay(lines).plot().figure_.savefig("recall.png")  # doctest: +SKIP
    """

    def __init__(self, lines: Any):
        self.lines = lines

    def plot(
        self, axes: Sequence[Any] | None = None, metric: str = "recall@1", legend: Place = "right"
    ) -> RetrievalDisplay:
        """Plot on given axes, one for each kind of classes, or in a new figure; return self.

        Bars are one standard error. The legend is to the right of the last axes or below them.
        """
        kinds = self.lines.classes
        self._take(axes, (5 * len(kinds) + 2, 4), len(kinds))
        done = [line for line in self.lines if not line.skipped]
        for ax, kind in zip(self.axes_, kinds, strict=True):
            _plot_curves(ax, ((line, *self.lines.score(line, kind, metric)) for line in done))
            ax.set(ylabel=metric, title=f"{kind} classes")
            ax.grid(alpha=0.25)
        _grid_and_legend(self.ax_, legend)
        return self


def _plot_curves(ax: Any, points: Iterable[tuple[Row, float, float]]) -> None:
    """Plot values of rows with their errors by dimensions, a line for each method.

    That of all features is a dotted line.
    """
    found: dict[str, dict[int, tuple[int, float, float]]] = {}
    for row, value, error in points:
        found.setdefault(row.method, {})[row.dimensions] = row.dimensions, value, error
    whole = found.pop(ALL, {})
    for number, (name, at) in enumerate(found.items()):
        ax.errorbar(
            *zip(*(at[p] for p in sorted(at)), strict=True),
            fmt=STYLES[number // len(MARKERS) % len(STYLES)],
            marker=MARKERS[number % len(MARKERS)],
            ms=5,
            capsize=2,
            color=COLOURS[number % len(COLOURS)],
            label=printed(title(name)),
        )
    for d, value, _ in whole.values():
        ax.axhline(value, color="black", lw=1, ls=":", label=f"all {d:,} features")
    sizes = sorted({p for at in found.values() for p in at}, reverse=True)
    ax.set(xscale="log", xlabel="dimensions")
    shown: list[int] = []  # from the largest on, as far apart as labels are wide
    apart = (sizes[0] / sizes[-1]) ** _LABEL if sizes else 1.0
    for p in sizes:
        if not shown or shown[-1] >= p * apart:
            shown.append(p)
    ax.set_xticks(shown, [f"{p:,}" for p in shown])
    ax.set_xticks([], minor=True)


def _plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis by numbers in one form: powers of ten, or also 2 and 5 if few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def calibration(is_one: np.ndarray, predicted: np.ndarray) -> dict[str, list[float]]:
    """Return the mean probability and the share of a class in tenths of the samples."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), min(10, len(predicted)))
    return {
        "probability": [float(predicted[part].mean()) for part in parts],
        "share": [float(is_one[part].mean()) for part in parts],
        "samples": [len(part) for part in parts],
    }


def lift(is_one: np.ndarray, predicted: np.ndarray) -> dict[str, list[float]]:
    """Return how many times as frequent a class is among the samples of highest probability."""
    found = np.cumsum(is_one[np.argsort(-predicted, kind="stable")])
    n = np.unique(np.linspace(1, len(is_one), min(100, len(is_one))).round().astype(int))
    return {
        "samples": (n / len(is_one)).tolist(),
        "found": (found[n - 1] / found[-1]).tolist(),
        "lift": (found[n - 1] / n / is_one.mean()).tolist(),
    }


def draw_calibration(
    found: Mapping[str, Sequence[float]], ax: Any, of: str = "of the class"
) -> None:
    """Draw the share of a class by its mean probability, with one standard error."""
    share, n = np.array(found["share"]), np.array(found["samples"])
    ax.plot([0, 1], [0, 1], ":", color="black", lw=1, label="as often as predicted")
    ax.errorbar(
        found["probability"], share, np.sqrt(share * (1 - share) / n), color=COLOURS[0],
        marker="o", ms=5, capsize=2, label="tenths of the held-out samples",
    )  # fmt: skip
    ax.set(xlabel="mean predicted probability", ylabel=f"share {of}")
    _grid_and_legend(ax, "below")


def draw_lift(found: Mapping[str, Sequence[float]], ax: Any) -> None:
    """Draw the lift by the share of samples of highest probability."""
    ax.plot(
        found["samples"], found["lift"], color=COLOURS[0], lw=1.8, label="highest probabilities"
    )
    ax.axhline(1, color="black", lw=1, ls=":", label="samples at random")
    ax.set(xlim=(0, 1), ylim=(0, None), xlabel="share of the samples", ylabel="lift")
    _grid_and_legend(ax, "below")


def _draw_held_out(
    ax: Any, scores: np.ndarray, errors: np.ndarray | None, label: str, unit: float = 1.0
) -> None:
    """Draw scores of held-out samples by number of features, with one standard error."""
    p, colour = np.arange(1, len(scores) + 1), COLOURS[1]
    ax.plot(p, scores / unit, "-.", color=colour, lw=1.8, label=label)
    if errors is not None:
        low, high = (scores - errors) / unit, (scores + errors) / unit
        ax.fill_between(p, low, high, color=colour, alpha=0.2, lw=0)


def _mark_chosen(ax: Any, chosen: int, height: float, place: tuple[Any, str]) -> None:
    """Mark the number of selected features; the text has an offset in points and an alignment."""
    ax.plot([chosen], [height], "o", color="black")
    ax.axvline(chosen, color="black", lw=0.8, ls=":")
    (offset, side), kept = place, f"{chosen:,} kept, {height:.0%}"
    ax.annotate(kept, (chosen, height), offset, textcoords="offset points", ha=side, fontsize=9)


def _error(line: Any, what: str) -> float:
    """Return one standard error of the accuracy or R^2, or a standard deviation over folds."""
    if what in ("micro_f1", "r2"):
        return line.standard_error
    return (line.spread or {}).get(what, 0.0)


def _grid_and_legend(ax: Any, where: Place) -> None:
    """Draw a grid, and put the legend outside the axes."""
    ax.grid(alpha=0.25)
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    if where == "below":  # the labels of the axis, however small the figure is
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 5, "ncols": 2}
    ax.legend(fontsize=8, frameon=False, **place)


class ScatterDisplay(_Display):
    """Scatter plot of samples in the first two dimensions of a reduction, by class.

    With one dimension, the density of each class, weighted by its share of the samples.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, 2) or (n_samples, 1)
        Reduced samples.
    y : ndarray of shape (n_samples,)
        Labels.
    names : sequence of str
        Names of the dimensions.
    threshold : float, optional
        A value of the only dimension to mark, which separates two classes.

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

    def __init__(
        self, Z: np.ndarray, y: np.ndarray, names: Sequence[str], threshold: float | None = None
    ):
        self.Z, self.y, self.names, self.threshold = Z, y, names, threshold

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, ax: Any = None) -> ScatterDisplay:
        """Reduce samples with a fitted estimator and plot them.

        Parameters
        ----------
        estimator : fitted estimator with transform
            A reduction. With more than two dimensions, the first two are shown.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        ax : matplotlib Axes, optional
            Axes to plot on; a new figure by default.

        Raises
        ------
        ImportError
            matplotlib is not installed.

        See Also
        --------
        plot : Plot reduced samples.
        """
        Z = estimator.transform(X)[:, :2]
        names = estimator.get_feature_names_out()[:2]
        return cls(Z if isinstance(Z, np.ndarray) else Z.toarray(), np.asarray(y), names).plot(ax)

    def plot(self, ax: Any = None) -> ScatterDisplay:
        """Plot on given axes or in a new figure; return self.

        The samples are faint, and the name of each class stands at their median. The twenty largest
        classes have their own colour, marker and name; the other classes are grey.
        """
        ax = self._take(ax, (7, 5.4))
        classes, counts = np.unique(self.y, return_counts=True)
        self.named_ = classes[np.sort(np.argsort(-counts, kind="stable")[:_NAMED])]
        if self.Z.shape[1] == 1:
            self._plot_densities(ax)
            return self
        rest = ~np.isin(self.y, self.named_)
        size = float(np.clip(6000 / max(1, len(self.y)), 6, 30))
        if rest.any():
            ax.scatter(*self.Z[rest].T, s=size, color="0.85", linewidths=0, gid="points-rest")
        for number, label in enumerate(self.named_):
            ax.scatter(
                *self.Z[self.y == label].T,
                s=size,
                marker=MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                alpha=0.5,
                linewidths=0,
                gid=f"points-{number}",
            )
        self._name_classes(ax)
        ax.set(xlabel=printed(self.names[0]), ylabel=printed(self.names[1]))
        others = len(classes) - len(self.named_)
        if others:
            ax.set_title(f"grey: {others} other classes", fontsize=9, loc="right")
        return self

    def _plot_densities(self, ax: Any) -> None:
        """Plot the density of each class in one dimension; those of all classes sum to one."""
        from scipy.stats import gaussian_kde

        z, n = np.asarray(self.Z, dtype=np.float64)[:, 0], max(1, len(self.y))
        low, high = z.min(initial=0.0), z.max(initial=1.0)
        at = np.linspace(low, high, _AT) if high > low else np.linspace(low - 1, low + 1, _AT)
        for number, label in enumerate(self.named_):
            of_class, colour = z[self.y == label], COLOURS[number % len(COLOURS)]
            if np.ptp(of_class) > 0:
                density = gaussian_kde(of_class)(at) * len(of_class) / n
                ax.fill_between(at, density, color=colour, alpha=0.25, linewidth=0)
                ax.plot(at, density, color=colour, label=printed(label))
            else:  # of one sample, or of equal ones
                ax.axvline(of_class[0], color=colour, label=printed(label))
        if self.threshold is not None:
            name = f"threshold {self.threshold:.3g}"
            ax.axvline(self.threshold, color="black", lw=1, ls=":", label=name)
        ax.set(xlabel=printed(self.names[0]), ylabel="density", yticks=[])
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)

    def _name_classes(self, ax: Any) -> None:
        """Write the name of each class at its median, apart from other names."""
        from matplotlib.colors import to_rgb
        from matplotlib.patheffects import withStroke

        if not len(self.named_):
            return
        names = [printed(label) for label in self.named_]
        medians = np.array([np.median(self.Z[self.y == label], axis=0) for label in self.named_])
        ax.autoscale_view()
        ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
        to_axes = ax.transLimits
        inches = ax.get_window_extent().size / self.figure_.dpi
        sizes = np.array([(0.075 * len(name) + 0.05, 0.17) for name in names]) / inches
        places = to_axes.inverted().transform(_apart(to_axes.transform(medians), sizes))
        for number, (name, place) in enumerate(zip(names, places, strict=True)):
            ax.text(
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
        above = np.where(gaps[..., 1] == 0, np.sign(np.arange(len(places))[:, None] -
                         np.arange(len(places))), np.sign(gaps[..., 1]))  # fmt: skip
        places[:, 1] += 0.25 * (push * above).sum(axis=1)
    half = sizes / 2
    return np.clip(places, half, np.maximum(half, 1 - half))
