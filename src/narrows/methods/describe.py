"""Descriptions of fitted models, as plain data and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from narrows.errors import ParameterError, feature_name, printable
from narrows.methods.names import method_of, source_of, targets_of
from narrows.solve.solution import Solution

_RIDGES = "alpha", "mu"
_OF_DIRECTIONS: dict[str, tuple[str, Callable[[Solution], np.ndarray]]] = {
    "eigenvalues_": ("eigenvalue", lambda found: found.padded(found.values)),
    "explained_variance_ratio_": ("explained variance", lambda found: found.explained),
}
_SHOWN = 10  # values of a list
_IN_ORDER = "gain, and share explained up to here"


def summary(model: Any) -> dict[str, Any]:
    """Return the method, its parameters and the data it was fitted to, as plain data for JSON."""
    found, then = model._solution, model._learned.then
    if model._takes_numbers:
        of_y: dict[str, Any] = {"targets": targets_of(model)}
    else:
        of_y = {"classes": model.classes_, "class_count": model.class_count_}
    return _json({
        "method": method_of(model),
        "parameters": model.get_params(),
        "rows": found.n_samples,
        "columns": model.n_features_in_,
        "dimensions": len(model.get_feature_names_out()),
        **of_y,
        **({} if then is None else {"then": _then(then, found)}),
        **({"score": model.score_} if hasattr(model, "score_") else {}),
    })  # fmt: skip


def _then(then: Any, found: Solution) -> dict[str, Any]:
    """Return what predicts by selected features."""
    return {
        "method": method_of(then.estimator),
        "parameters": then.estimator.get_params(),
        "is_of_selection": np.array_equal(then.chosen, found.chosen),
    }


def details(model: Any, top: int, per_class: bool = False) -> dict[str, Any]:
    """Return the ridge, and the best features per component, or overall and per class, for JSON."""
    if per_class and not hasattr(type(model), "class_scores_"):
        raise ParameterError(
            "`per_class`: expected a method with class scores, such as OCFS, IG, CHI "
            f"or MI, got {method_of(model)}. Leave it out."
        )
    more = {"per_class": _per_class(model, top)} if per_class else {}
    ridge = {name: model._solution.alpha for name in _RIDGES if name in model.get_params()}
    ridge = {name: value for name, value in ridge.items() if value}
    return _json({**ridge, "top": _top(model, model._solution, top), **more})


def shown_of_directions(model: Any) -> list[str]:
    """Return what is shown of each direction: names of attributes."""
    known: list[str] | None = vars(model).get("_of_directions")
    shown = [name for name in _OF_DIRECTIONS if hasattr(type(model), name)]
    return shown if known is None else [name for name in _OF_DIRECTIONS if name in known]


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_json(entry) for entry in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    # JSON has neither infinity nor NaN, nor random states
    return value if isinstance(value, float) and np.isfinite(value) else str(value)


def _top(model: Any, found: Solution, top: int) -> list[Any]:
    """Return features by score, or for each component the features of largest weight."""
    if found.order is None:
        top = top if found.map is None else 0
        return [
            {**direction, "columns": _ranked(model, w, _largest(np.abs(w), top))}
            for direction, w in _directions(model, found)
        ]
    if model.get_params().get("groups") is not None:
        return _groups(model, found, top)
    ranked = _ranked(model, found.values, found.order[:top], found.mask)
    if found.gains is not None:
        for entry, share in zip(ranked, _shares(found), strict=False):
            entry["explained"] = float(share)
    return ranked


def _groups(model: Any, found: Solution, top: int) -> list[dict[str, Any]]:
    """Return one entry for each group: of a table its column, else the first of its features."""
    group, source = model.group_of(model.n_features_in_), source_of(model)
    encoder = None if source is None else source.encoder
    if encoder is not None and encoder.groups_.tolist() != list(model.groups):
        encoder = None  # other groups than the columns
    first, places = dict[int, int](), dict[int, int]()
    for place, k in enumerate(found.order.tolist()):
        first.setdefault(int(group[k]), k)
        places.setdefault(int(group[k]), place)  # those of constant features come last
    sizes, shares = np.bincount(group), _shares(found)
    ranked = _ranked(model, found.values, list(first.values())[:top], found.mask)
    for number, entry in zip(first, ranked, strict=False):
        entry["features"] = int(sizes[number])
        if places[number] < len(shares):
            entry["explained"] = float(shares[places[number]])
        if encoder is not None:
            entry["name"] = encoder.decisions_[model.groups[entry["column"]]].column
    return ranked


def _shares(found: Solution) -> np.ndarray:
    """Return the share of the targets that is explained with each feature of a selection."""
    return np.repeat(found.gain_curve, np.diff(found.ends, prepend=0))


def chosen(model: Any) -> list[dict[str, Any]]:
    """Return the columns of a table that `ForwardFS` selected, in order; none of other samples."""
    source = source_of(model)
    if source is None or source.encoder is None:
        return []
    ranked: list[dict[str, Any]] = _json(_top(model, model._solution, model.n_features_in_))
    return [entry for entry in ranked if entry["kept"]]


def in_order(chosen: list[dict[str, Any]]) -> str:
    """Return the columns of a table that were selected as text."""
    return "\n".join([f"selected columns in order: {_IN_ORDER}", *_listed(chosen)])


def ends(model: Any, top: int, most: int) -> list[dict[str, Any]]:
    """Return the features with the largest and the smallest weights of the first directions."""
    found = model._solution
    return [
        _json({
            **direction,
            "positive": _ranked(model, w, [k for k in _largest(w, top) if w[k] > 0]),
            "negative": _ranked(model, w, [k for k in _largest(-w, top) if w[k] < 0]),
        })
        for direction, w in _directions(model, found)[:most]
    ] if found.map is None else []  # fmt: skip


def _directions(model: Any, found: Solution) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Return the eigenvalue of each direction and its share of the variance, or its class.

    Beside each of them is the direction.
    """
    components = found.padded(found.W).T
    directions: list[dict[str, Any]] = [{} for _ in components]
    for name in shown_of_directions(model):
        title, read = _OF_DIRECTIONS[name]
        for direction, value in zip(directions, read(found), strict=True):
            direction[title] = float(value)
    if shown_of_directions(model):
        for direction in directions[found.separating :] if found.separating is not None else []:
            direction.pop("explained variance", None)  # it is 0
            direction["scatter"] = "within the classes"
    elif len(components) >= len(model.classes_):
        for direction, label in zip(directions, model.classes_.tolist(), strict=False):
            direction["class"] = label
    return list(zip(directions, components, strict=True))


def _largest(values: np.ndarray, top: int) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:top]


def _ranked(
    model: Any, values: np.ndarray, order: Iterable[int], kept: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """Return features in this order; `kept` are those that are selected."""
    return [
        {
            "column": int(k),
            "name": feature_name(model, k),
            "value": float(values[k]),
            **({} if kept is None else {"kept": bool(kept[k])}),
        }
        for k in map(int, order)
    ]


def _per_class(estimator: Any, top: int) -> dict[str, Any]:
    """Return the best features of each class, and whether its mean is above the mean of all.

    The mean of all is that of the class means, weighted by the priors.
    """
    m, kept = estimator.moments_, estimator._solution.mask
    live, sums, p = np.flatnonzero(m.counts > 0), m.sums, m.priors(estimator.priors)
    mean = p[live] / m.counts[live] @ sums[live]
    answer = {}
    for j, label, scores in zip(live, estimator.classes_, estimator.class_scores_, strict=True):
        best = _ranked(estimator, scores, _largest(scores, top), kept)
        for entry in best:
            k = entry["column"]
            entry["more"] = bool(sums[j, k] / m.counts[j] > mean[k])
        answer[str(label)] = best
    return answer


def n_classes(summary: dict[str, Any]) -> str:
    """Return the number of classes, or of targets, in words."""
    if "targets" in summary:
        n = len(summary["targets"])
        return f"{n} target" + "s" * (n > 1)
    n = len(summary["classes"])
    return f"{n} class" if n == 1 else f"{n} classes"


def described(summary: dict[str, Any]) -> str:
    """Return the results of `summary` and `details` as text."""
    settings = ", ".join(f"{k}={_short(v)}" for k, v in summary["parameters"].items())
    if "targets" in summary:
        learned = [printable(name) for name in summary["targets"]]
    else:
        counts = zip(summary["classes"], summary["class_count"], strict=True)
        learned = [f"{printable(label)} ({count:,g})" for label, count in counts]
    classes, then = f"{n_classes(summary)}: {', '.join(learned)}", summary.get("then")
    lines = [
        f"{summary['method']}({settings})",
        f"{summary['rows']:,} rows, {summary['columns']:,} columns -> {summary['dimensions']:,}",
        *([] if then is None else [_predicts_by(then)]),
        *textwrap.wrap(classes, 80, subsequent_indent="  ", break_on_hyphens=False),
    ]
    if "score" in summary:
        lines.append(f"predicted correctly before learning: {float(summary['score']):.4f}")
    lines += [f"{name} {summary[name]:.6g}" for name in _RIDGES if name in summary]
    if "rows_kept" in summary:
        rows = f"{summary['rows_kept']:,}" if summary["rows_kept"] else "none"
        lines.append(f"solution in the file: {'yes' if summary['solution'] else 'no'}")
        lines.append(f"rows of the data in the file: {rows}")
        lines += [summary["lost"]] * bool(summary["lost"])
    lines.append("")
    if summary["top"] and "columns" in summary["top"][0]:
        for number, direction in enumerate(summary["top"], 1):
            notes = [
                f", {name} {value:.6g}" if isinstance(value, float) else f", {name} {value}"
                for name, value in direction.items()
                if name != "columns"
            ]
            lines.append(f"direction {number}" + "".join(map(printable, notes)))
            lines += _listed(direction["columns"])
    else:
        by = "features by score (* selected)"
        if any("explained" in entry for entry in summary["top"]):
            things = "groups" if "features" in summary["top"][0] else "features"
            by = f"{things} in order (* selected): {_IN_ORDER}"
        lines += [by, *_listed(summary["top"])]
    for label, ranked in summary.get("per_class", {}).items():
        lines += ["", f"class {printable(label)} (+ has more, - has less)", *_listed(ranked)]
    return "\n".join(lines)


def _predicts_by(then: dict[str, Any]) -> str:
    """Return what predicts by the selected columns as text."""
    settings = ", ".join(f"{k}={_short(v)}" for k, v in then["parameters"].items())
    of_fit = "" if then["is_of_selection"] else ", by the columns that the fit selected"
    return f"predicts by {then['method']}({settings}){of_fit}"


def _short(value: Any) -> str:
    """Return a parameter as text; of a long list its first values, and how many there are."""
    if isinstance(value, list) and len(value) > _SHOWN:
        return f"[{', '.join(map(repr, value[:_SHOWN]))}, ... {len(value):,} in all]"
    return repr(value)


def _listed(ranked: list[dict[str, Any]]) -> list[str]:
    names = [printable(entry["name"]) for entry in ranked]
    width = max(map(len, names), default=0)
    return [
        f"{_mark(entry)} {name:<{width}}  {float(entry['value']): .6g}"
        + (f"  {entry['explained']:.4f}" if "explained" in entry else "")
        + (f"  ({entry['features']:,} features)" if entry.get("features", 1) > 1 else "")
        for name, entry in zip(names, ranked, strict=True)
    ]


def _mark(entry: dict[str, Any]) -> str:
    if "more" in entry:
        return "+" if entry["more"] else "-"
    return "*" if entry.get("kept") else " "
