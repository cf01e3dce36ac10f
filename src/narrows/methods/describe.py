"""Descriptions of fitted models, as plain data and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from narrows.errors import ParameterError, printable
from narrows.methods.names import method_of, targets_of

_RIDGES = "alpha", "mu"
_SHOWN = 10  # values of a list
_IN_ORDER = "gain, and share explained up to here"


def summary(estimator: Any) -> dict[str, Any]:
    """Return the method, its parameters and the data it was fitted to, as plain data for JSON."""
    if estimator._takes_numbers:
        of_y: dict[str, Any] = {"targets": targets_of(estimator)}
    else:
        of_y = {"classes": estimator.classes_, "class_count": estimator.class_count_}
    then = estimator._predictor if estimator._selects else None
    return _json({
        "method": method_of(estimator),
        "parameters": estimator.get_params(),
        "rows": estimator.n_samples_seen_,
        "columns": estimator.n_features_in_,
        "dimensions": len(estimator.get_feature_names_out()),
        **of_y,
        **({} if then is None else {"then": then}),
        **({"score": estimator.score_} if hasattr(estimator, "score_") else {}),
    })  # fmt: skip


def details(estimator: Any, top: int, per_class: bool = False) -> dict[str, Any]:
    """Return the ridge, and the best features per component, or overall and per class, for JSON."""
    if per_class and not hasattr(type(estimator), "class_scores_"):
        raise ParameterError(
            "per_class (--per-class): expected a method with class scores, such as OCFS, IG, CHI "
            f"or MI, got {method_of(estimator)}. Leave it out."
        )
    more = {"per_class": _per_class(estimator, top)} if per_class else {}
    ridges = {name: getattr(estimator, f"{name}_", 0.0) for name in _RIDGES}
    ridge = {name: value for name, value in ridges.items() if value}
    return _json({**ridge, "top": _top(estimator, top), **more})


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


def _top(estimator: Any, top: int) -> list[Any]:
    """Return features by score, or for each component the features of largest weight."""
    if estimator._selects and estimator.get_params().get("groups") is not None:
        return _groups(estimator, top)
    if estimator._selects:
        ranked = _ranked(estimator, estimator.scores_, estimator.ranking_[:top])
        if method_of(estimator) == "ForwardFS":
            for entry, share in zip(ranked, estimator._explained, strict=False):
                entry["explained"] = float(share)
        return ranked
    top = top if estimator._is_linear else 0
    return [
        {**direction, "columns": _ranked(estimator, w, _largest(np.abs(w), top))}
        for direction, w in zip(_directions(estimator), estimator.components_, strict=True)
    ]


def _groups(estimator: Any, top: int) -> list[dict[str, Any]]:
    """Return one entry for each group: of a table its column, else the first of its features."""
    group, source = estimator.group_of(estimator.n_features_in_), estimator._source
    encoder = None if source is None else source.encoder
    if encoder is not None and encoder.groups_.tolist() != list(estimator.groups):
        encoder = None  # other groups than the columns
    first, places = dict[int, int](), dict[int, int]()
    for place, k in enumerate(estimator.ranking_.tolist()):
        first.setdefault(int(group[k]), k)
        places.setdefault(int(group[k]), place)  # those of constant features come last
    sizes, shares = np.bincount(group), estimator._explained
    ranked = _ranked(estimator, estimator.scores_, list(first.values())[:top])
    for number, entry in zip(first, ranked, strict=False):
        entry["features"] = int(sizes[number])
        if places[number] < len(shares):
            entry["explained"] = float(shares[places[number]])
        if encoder is not None:
            entry["name"] = encoder.decisions_[estimator.groups[entry["column"]]].column
    return ranked


def chosen(estimator: Any) -> list[dict[str, Any]]:
    """Return the columns of a table that `ForwardFS` selected, in order; none of other samples."""
    source = estimator._source
    if source is None or source.encoder is None:
        return []
    ranked: list[dict[str, Any]] = _json(_top(estimator, estimator.n_features_in_))
    return [entry for entry in ranked if entry["kept"]]


def in_order(chosen: list[dict[str, Any]]) -> str:
    """Return the columns of a table that were selected as text."""
    return "\n".join([f"selected columns in order: {_IN_ORDER}", *_listed(chosen)])


def ends(estimator: Any, top: int, most: int) -> list[dict[str, Any]]:
    """Return the features with the largest and the smallest weights of the first directions."""
    return [
        _json({
            **direction,
            "positive": _ranked(estimator, w, [k for k in _largest(w, top) if w[k] > 0]),
            "negative": _ranked(estimator, w, [k for k in _largest(-w, top) if w[k] < 0]),
        })
        for direction, w in zip(_directions(estimator)[:most], estimator.components_, strict=False)
    ] if estimator._is_linear else []  # fmt: skip


def _directions(estimator: Any) -> list[dict[str, Any]]:
    """Return the eigenvalue of each direction and its share of the variance, or its class."""
    values = getattr(estimator, "eigenvalues_", None)
    shares = getattr(estimator, "explained_variance_ratio_", None)
    if values is not None or shares is not None:
        found = ("eigenvalue", values), ("explained variance", shares)
        known = [(name, each) for name, each in found if each is not None]
        count = len(known[0][1])
        directions: list[dict[str, Any]] = [
            {name: float(each[k]) for name, each in known} for k in range(count)
        ]
        separating = None if shares is None else estimator._separating
        for direction in directions[count if separating is None else separating :]:
            del direction["explained variance"]  # it is 0
            direction["scatter"] = "within the classes"
        return directions
    if len(estimator.components_) < len(estimator.classes_):
        return [{}] * len(estimator.components_)
    classes = [{"class": label} for label in estimator.classes_.tolist()]
    return classes + [{}] * (len(estimator.components_) - len(classes))  # components still 0


def _largest(values: np.ndarray, top: int) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:top]


def _ranked(estimator: Any, values: np.ndarray, order: Iterable[int]) -> list[dict[str, Any]]:
    kept = estimator.get_support() if estimator._selects else None
    return [
        {
            "column": int(k),
            "name": estimator._column_name(k),
            "value": float(values[k]),
            **({} if kept is None else {"kept": bool(kept[k])}),
        }
        for k in map(int, order)
    ]


def _per_class(estimator: Any, top: int) -> dict[str, Any]:
    """Return the best features of each class, and whether its mean is above the mean of all.

    The mean of all is that of the class means, weighted by the priors.
    """
    m = estimator.moments_
    live, sums, p = np.flatnonzero(m.counts > 0), m.sums, m.priors(estimator.priors)
    mean = p[live] / m.counts[live] @ sums[live]
    answer = {}
    for j, label, scores in zip(live, estimator.classes_, estimator.class_scores_, strict=True):
        best = _ranked(estimator, scores, _largest(scores, top))
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
