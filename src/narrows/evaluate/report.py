"""Reports of comparisons: one self-contained HTML file, and the same as JSON."""

from __future__ import annotations

import base64
import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import metadata, resources
from inspect import getdoc
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_curve

from narrows.errors import ParameterError, escaped, printable
from narrows.evaluate.displays import (
    ComparisonDisplay,
    EnergyDisplay,
    GainDisplay,
    RetrievalDisplay,
    ScatterDisplay,
    as_inline_svg,
    as_svg,
    calibration,
    draw_calibration,
    draw_lift,
    lift,
    new_figure,
)
from narrows.evaluate.methods import NarrowsMethod
from narrows.evaluate.splits import Splits
from narrows.evaluate.table import ALL, FIELDS, named, title
from narrows.io.atomic import replacing
from narrows.io.extras import needing
from narrows.io.table_rows import take_rows
from narrows.methods.base import remember
from narrows.methods.describe import details, ends, summary
from narrows.moments.labels import joined
from narrows.solve.paired import METRICS

_LIBRARIES = ("narrows", "numpy", "scipy", "scikit-learn", "numba")
_KEPT = 1000  # selected features that are listed
_TERMS = 10  # features listed per class or component
_DRAWN = 3000  # samples in a picture
_DIRECTIONS = 5  # whose features are listed
_PAIRS = 50  # of classes that are taken for each other
_NAMED = 3  # of these below the map
_MATRIX = 30  # classes of a confusion matrix, at most
_LONGEST = 80  # characters of a name on the page; report.json has it whole


def twin_of(path: str) -> str:
    """Return the path of the JSON file that belongs to a report.

    Raise ParameterError if the report is not an HTML file, and ImportError if a library that
    reports need is not installed.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        suffix = Path(path).suffix or "no suffix"
        raise ParameterError(
            f"{path}: expected a report that ends in .html or .htm, got {suffix}. Name it .html; a "
            "browser can print it to another format."
        )
    new_figure((1, 1))
    _template()
    return str(Path(path).with_suffix(".json"))


def contents(lines: Any, fit: str | None = None) -> dict[str, Any]:
    """Return the result of `compare` or `retrieval` as plain data for JSON, with a command."""
    found = {"sentence": lines.sentence_, "fit": fit, "margin": lines.margin}
    return found | {"lines": lines.as_dicts(), **lines._contents()}


def write(
    path: str | os.PathLike[str],
    lines: Any,
    inputs: Sequence[str] = (),
    command: str = "",
    fit: str | None = None,
) -> None:
    """Write a page of `compare` or `retrieval` to `path`, and its contents as JSON beside it.

    `inputs`, `command` and `fit` are of the command line: the files, the command that was run, and
    the one that fits the recommended method.
    """
    twin = twin_of(os.fspath(path))
    more, shown = lines._page()
    found = {
        "command": command or None,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in _LIBRARIES},
        "inputs": list(inputs),
        **contents(lines, fit),
        **more,
    }
    page = _template().render(found=found, table=lines, **shown)
    for name, text in (twin, json.dumps(found, indent=1, allow_nan=False)), (path, page):
        with replacing(name) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")


def of_comparison(
    lines: Any, data: Splits, methods: Sequence[Any], ranked: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the report of a comparison has besides its lines, and what its page shows.

    `ranked` are the lines that the recommendation compares.
    """
    chosen = lines.recommendation_
    probable = _of_probabilities(chosen)
    # an interrupted or failed method is not fitted
    fitted = [each for each in methods if hasattr(each.fitted, "n_samples_seen_")]
    found = {
        "data": _data(data, lines.n_folds),
        **probable,
        "confusions": [] if chosen is None else _confusions(chosen.line),
        "models": [_model(method, data) for method in fitted],
    }
    return found, {
        "metric": METRICS[lines.metric],
        "chosen": chosen,
        # the first line of the documentation of a method has its full name
        "descriptions": {
            each.name: (getdoc(type(each.last)) or "").partition("\n")[0] for each in methods
        },
        "matrix": _matrix(lines, data),
        "map": _map(lines, ranked, data, [each for each in fitted if not each.fitted._selects]),
        "texts": data.is_text,
        "pictures": list(_pictures(lines, fitted, probable)),
    }


def of_retrieval(lines: Any, scores: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the report of a retrieval has besides its lines, and what its page shows."""
    display, of = RetrievalDisplay(lines), "by number of dimensions"
    figures = ((f"{score} {of}", display.plot(metric=score).figure_) for score in scores)
    return {}, {"pictures": [_shown("neighbours", *each) for each in figures], "wide": True}


# -- contents --------------------------------------------------------------------------------


def _data(data: Splits, done: int) -> dict[str, Any]:
    """Describe the samples; features that only pipelines make are not known."""
    X, y, _, y_test = data[min(done, len(data)) - 1]
    classes = np.union1d(y, y_test) if y.ndim == 1 else np.empty(0)
    found: dict[str, Any] = {
        "folds": len(data),
        "rows": len(y),
        "rows_held_out": len(y_test),
        "classes": [
            {"label": label, "rows": int((y == label).sum()), "held_out": int(sum(y_test == label))}
            for label in classes.tolist()
        ],
        "targets": [
            {"mean": float(values.mean()), "standard_deviation": float(values.std())}
            for values in (y.T if y.ndim == 2 else ())
        ],
    }
    if not hasattr(X, "shape") or len(X.shape) != 2:
        return found | {"columns": None}
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return found | {
        "columns": X.shape[1],
        "sparse": sparse.issparse(X),
        "nonzero_share": float(np.count_nonzero(values)) / (X.shape[0] * X.shape[1]),
        "columns_are": "terms of texts" if data.is_text else "numbers",
    }


_OF_PROBABILITIES: dict[str, Callable[..., Any]] = {
    "calibration": draw_calibration,
    "reliability": partial(draw_calibration, of="that is right"),
    "lift": draw_lift,
}


def _of_probabilities(chosen: Any) -> dict[str, Any]:
    """Return the calibration and the lift of the recommended line, for the rarer of two classes.

    Of more classes, the reliability: the calibration of the most probable class.
    """
    outcomes = () if chosen is None else chosen.line.outcomes
    known = [each for each in outcomes if each.probabilities is not None]
    if not known or len(known) < len(outcomes):
        return {}
    of_two = all(each.rarer is not None for each in known)
    is_one, found = [], []
    for each in known:
        P: Any = each.probabilities
        one = each.rarer if of_two else P.argmax(axis=1)
        is_one.append(each.true == one)
        found.append(P[np.arange(len(P)), one])
    right, P = np.concatenate(is_one), np.concatenate(found)
    if not of_two:
        return {"reliability": calibration(right, P)}
    if right.all() or not right.any():
        return {}
    return {"calibration": calibration(right, P), "lift": lift(right, P)}


def _model(method: NarrowsMethod, data: Splits) -> dict[str, Any]:
    """Describe a method fitted to the last fold: its components, or the selected features."""
    fitted = method.fitted
    source = data.source(method.fold) if method.width is None else method.source
    if source is not None:
        remember(fitted, source)
    found = {"name": method.name, **summary(fitted)}
    if not fitted._selects:
        return found | {"directions": ends(fitted, _TERMS, _DIRECTIONS)}
    kept = min(fitted.n_features_, _KEPT)
    found |= {"kept": details(fitted, kept)["top"]}
    if hasattr(type(fitted), "class_scores_"):
        found |= {"per_class": details(fitted, _TERMS, per_class=True)["per_class"]}
    return found


# -- page --------------------------------------------------------------------------------


def _template() -> Any:
    with needing("plots", "jinja2"):
        import jinja2
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    filters = {"escaped": escaped, "name": _name, "file": os.path.basename, "title": title}
    environment.filters |= filters
    source = resources.files("narrows.evaluate").joinpath("report.html").read_text("utf-8")
    return environment.from_string(source)


def _name(value: Any) -> str:
    """Shorten a name from the data; the template escapes it."""
    text = printable(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _confusions(line: Any) -> list[dict[str, Any]]:
    """Return which classes a line takes for others most often."""
    return [
        {"class": true, "predicted": predicted, "samples": count}
        for (true, predicted), count in line.wrong.most_common(_PAIRS)
    ]


def _matrix(lines: Any, data: Splits) -> dict[str, Any] | None:
    """Return the confusion matrix of the recommended line, if there are not too many classes."""
    chosen = lines.recommendation_
    held_out = np.concatenate([data.held_out(k) for k in range(lines.n_folds)])
    if chosen is None or held_out.ndim == 2 or len(np.unique(held_out)) > _MATRIX:
        return None
    wrong, counts = chosen.line.wrong, Counter(held_out.tolist())
    known = joined([held_out, *(np.array([label]) for _, label in wrong)])
    classes = np.unique(known).tolist()
    rows = {true: [wrong[true, predicted] for predicted in classes] for true in classes}
    for place, true in enumerate(classes):
        rows[true][place] = counts[true] - sum(rows[true])
    return {"classes": classes, "rows": rows}


def _map(
    lines: Any, ranked: Sequence[Any], data: Splits, projectors: Sequence[Any]
) -> dict[str, Any] | None:
    """Draw the held-out samples by the best projection: in one dimension for two classes, or two.

    A method with more dimensions is better than one that has two, and its first two are drawn.
    """
    if data.y.ndim == 2:  # there are no classes to show
        return None
    drawn = 1 if len(np.unique(data.y)) == 2 else 2
    makers = {m.name: m for m in projectors if len(m.fitted.components_) >= drawn}
    mine = [line for line in ranked if line.method in makers]
    if not mine:
        return None
    best = max(mine, key=lines.score)
    method = makers[best.method]
    X, y_train, X_test, y_test = data[method.fold]
    texts, reduce = data.texts(method.fold), method.projection(drawn)
    few = np.sort(np.random.default_rng(0).permutation(len(y_test))[:_DRAWN])
    y = y_test[few]
    Z = reduce(take_rows(X_test, few)).astype(float)
    names = [f"{title(best.method)} {k + 1}" for k in range(drawn)]
    cut = threshold(np.asarray(reduce(X), dtype=float)[:, 0], y_train) if drawn == 1 else None
    ax = new_figure((10, 6.5)).subplots()
    display = ScatterDisplay(Z, y, names, cut).plot(ax)
    titles = _titles(display, y, None if texts is None else [texts[row] for row in few.tolist()])
    return {
        "method": title(best.method),
        "dimensions": best.dimensions,
        "score": lines.score(best),
        "drawn": len(few),
        "of": len(y_test),
        "in": drawn,
        "confusions": _confusions(best)[:_NAMED],
        "svg": as_inline_svg(display.figure_, titles),
    }


def _titles(
    display: ScatterDisplay, y: np.ndarray, texts: Sequence[Any] | None
) -> dict[str, list[str]]:
    """Return what each point of a map says, by the groups of points."""
    if display.Z.shape[1] == 1:
        return {}
    shown = [_name(label) for label in y.tolist()]
    if texts is not None:
        shown = [f"{of}: {printable(text)}" for of, text in zip(shown, texts, strict=True)]
    titles = {
        f"points-{number}": [shown[i] for i in np.flatnonzero(y == label)]
        for number, label in enumerate(display.named_)
    }
    rest = np.flatnonzero(~np.isin(y, display.named_))
    return titles | ({"points-rest": [shown[i] for i in rest]} if len(rest) else {})


def threshold(z: np.ndarray, y: np.ndarray) -> float:
    """Return the value of one dimension that puts the fewest samples of two classes amiss.

    Each class counts the same, so that a rare one is not ignored.
    """
    wrong, right, values = roc_curve(y == np.unique(y)[-1], z, drop_intermediate=False)
    k = 1 + int(np.abs(right - wrong)[1:].argmax())
    return float(values[k : k + 2].mean())


def _shown(kind: str, title: str, figure: Any) -> dict[str, str]:
    """Return a picture as the page shows it, which has words about each kind."""
    return {"kind": kind, "title": title, "svg": base64.b64encode(as_svg(figure)).decode()}


def _pictures(
    lines: Any, fitted: Sequence[Any], probable: Mapping[str, Any]
) -> Iterator[dict[str, str]]:
    """Yield the pictures: scores, what probabilities are worth, times, and selections."""

    def picture(kind: str, title: str, draw: Callable[..., Any], *args: Any, **more: Any) -> Any:
        ax = new_figure((5.4, 4.4)).subplots()
        draw(*args, ax=ax, **more)
        return _shown(kind, title, ax.figure)

    done = [line for line in lines if not line.skipped and line.method != ALL]
    metric, below = METRICS[lines.metric], {"legend": "below"}
    scores = ComparisonDisplay(lines)
    for by in dict.fromkeys(line.classifier for line in done):
        name = f"{metric[:1].upper()}{metric[1:]} by number of dimensions, {by}"
        yield picture(
            "scores", name, scores.plot, what=FIELDS[lines.metric], classifier=by, **below
        )
    for kind, draw in _OF_PROBABILITIES.items():
        if kind in probable:
            name = f"{kind.capitalize()} of {named(lines.recommendation_.line)}"
            yield picture(kind, name, draw, probable[kind])
    if done:
        name = "Time to learn by number of dimensions"
        yield picture("time", name, scores.plot, what="learn", **below)
    kinds = {each.is_forward: each for each in reversed(fitted) if each.fitted._selects}
    if each := kinds.get(False):
        name = f"Scores of the features, {title(each.name)}"
        yield picture("energy", name, EnergyDisplay.from_estimator, each.fitted, **below)
    if each := kinds.get(True):
        name = f"Explained share by number of features, {title(each.name)}"
        yield picture("gain", name, GainDisplay.from_estimator, each.fitted, **below)
