"""The verbs that learn: fit, update and merge."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sklearn.utils import get_tags

from narrows.command import values
from narrows.command.console import report, say
from narrows.command.labels import for_merge
from narrows.command.runs import Run
from narrows.engines import here
from narrows.errors import DataError, ParameterError, WidthError
from narrows.evaluate.describe import certified, n_classes, summary
from narrows.io.atomic import room
from narrows.io.checkpoint import Checkpoint
from narrows.io.chunk import Options
from narrows.io.models import load_model, save, save_finished
from narrows.io.source import check_kind, is_of_texts
from narrows.io.streams import expand_patterns
from narrows.text import Vectoriser


def fit(
    inputs: tuple[str, ...], method: str, output: str, params: tuple[str, ...], as_json: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Fit a method to labelled data and save the model."""
    kind = values.class_of(method)
    reading = values.read_options(given, get_tags(kind()).target_tags.required)
    values.check_checkpoint_options(given)
    vectoriser = values.make_vectoriser(given)
    cluster = values.cluster_of(given, "checkpoint", "idf_sample")
    estimator = values.make_estimator(kind, given, params)
    files = expand_patterns(inputs)
    values.check_output(output, *files)
    fit_parts = None if cluster is None else cluster.fit
    if cluster is None and getattr(estimator, "tolerance", None):
        values.refuse(given, ("checkpoint", "idf_sample"), "no --tolerance", "one")
        fit_parts = partial(here.fit, progress=sys.stderr.isatty())
    if fit_parts is not None:
        fit_parts(estimator, files, values.read_arguments(reading), vectoriser)
        _save(estimator, output)
        _report_model(estimator, output, as_json)
        return 0
    checkpoint = _checkpoint(estimator, files, reading, given, output)
    run = _run(estimator, files, reading, given, checkpoint, vectoriser, given["idf_sample"])
    values.check_text_options(given, run.dataset.is_text, files[0])
    return _learn(run, run.fit, output, as_json)


def update(model: str, inputs: tuple[str, ...], output: str, as_json: bool, **given: Any) -> int:
    """Update a saved model with more rows."""
    values.check_checkpoint_options(given)
    files = expand_patterns(inputs)
    values.check_output(output, *files)
    estimator = load_model(model)
    values.supported(estimator, "partial_fit")
    reading = values.read_options(given, get_tags(estimator).target_tags.required)
    reading = values.options_of_model(estimator, model, reading, may_be_wider=True)
    checkpoint = _checkpoint(estimator, files, reading, given, output, model)
    if checkpoint is not None and given["resume"] and checkpoint.is_finished():
        say(f"already finished: {model} has learned these inputs; nothing to do.")
        _report_model(estimator, output, as_json)
        return 0
    run = _run(estimator, files, reading, given, checkpoint)
    run.model = model
    check_kind(files[0], run.dataset.is_text, is_of_texts(estimator._source), model)
    return _learn(run, run.update, output, as_json)


def merge(models: tuple[str, ...], output: str, labels: str | None, as_json: bool) -> None:
    """Merge models of the same method that were fitted to different rows."""
    values.check_output(output)
    estimators = [load_model(model) for model in models]
    _widen_to_widest(estimators)
    for_merge(estimators, models, labels)
    merged, *others = estimators
    merge_with = values.supported(merged, "merge")
    for other, model in zip(others, models[1:], strict=True):
        try:
            merge_with(other)
        except WidthError:  # which concerns both
            raise
        except ValueError as error:
            raise DataError(
                model, f"expected a model to merge into {models[0]}, got another. {error}"
            ) from None
    _save(merged, output)
    _report_model(merged, output, as_json)


def _checkpoint(
    estimator: Any, files: Sequence[str], reading: Options, given: dict[str, Any], output: str,
    model: str | None = None,
) -> Checkpoint | None:  # fmt: skip
    """Return the checkpoint of a fit, or of the update of `model`, if one was asked for."""
    path = given["checkpoint"]
    if path is None:
        return None
    values.supported(estimator, "partial_fit")
    values.check_checkpoint_path(path, output, *files, *([] if model is None else [model]))
    if given["from_position"] and list(files) != ["-"]:
        raise ParameterError(
            "--from-position: expected standard input (-), got files. Leave it out: rows that "
            "were read before are skipped."
        )
    in_place = model is not None and os.path.exists(output) and os.path.samefile(model, output)
    every = given["every"] or 100_000
    return Checkpoint(path, every, estimator, files, reading, model, in_place)


def _run(
    estimator: Any, files: Sequence[str], reading: Options, given: dict[str, Any],
    checkpoint: Checkpoint | None, vectoriser: Vectoriser | None = None, sample: int | None = None,
) -> Run:  # fmt: skip
    """Return a run, which resumes from the checkpoint if it is to and there is one."""
    place = None
    if checkpoint is not None and given["resume"]:
        place = checkpoint.resume()
        if place is None:
            say(f"no checkpoint {checkpoint.path} yet; starting from the beginning.")
        else:
            at = place.at
            say(f"resuming after {at.rows:,} rows, line {at.line:,} of {files[at.file]}.")
    return Run(
        estimator, files, reading, checkpoint, place, given["from_position"], vectoriser, sample
    )


def _learn(run: Run, learn: Callable[[], Any], output: str, as_json: bool) -> int:
    """Learn, save the model, remove the checkpoint; return the exit status."""
    checkpoint = run.checkpoint
    try:
        estimator = learn()
    except KeyboardInterrupt:
        _report_interrupt(run)
        return 130
    if checkpoint is not None and checkpoint.in_place:
        save_finished(estimator, output, checkpoint.run)
    else:
        _save(estimator, output)
    if checkpoint is not None:
        checkpoint.remove()
    _report_model(estimator, output, as_json)
    return 0


def _report_interrupt(run: Run) -> None:
    """Save what was learned to the checkpoint, and say what is saved and how to continue."""
    if run.checkpoint is not None and run.at.rows:
        run.checkpoint.save()
        say(
            f"interrupted after {run.at.rows:,} rows, which are saved in {run.checkpoint.path}. "
            "Run the same command with --resume to continue."
        )
    elif run.checkpoint is not None:
        say("interrupted before any rows were learned; no file was changed.")
    else:
        resumable = hasattr(run.estimator, "partial_fit")
        hint = " Use --checkpoint FILE to save progress and resume." if resumable else ""
        say(f"interrupted; no file was changed.{hint}")


def _widen_to_widest(estimators: list[Any]) -> None:
    """Give models of unnamed columns as many columns as the widest of them."""
    width = max(estimator.n_features_in_ for estimator in estimators)
    for estimator in estimators:
        named = estimator._column_names() is not None
        if estimator.n_features_in_ < width and not named and hasattr(estimator, "merge"):
            estimator._widen(width)


def _save(estimator: Any, output: str) -> None:
    if output != "-":
        save(estimator, output)
        return
    with room(tempfile.gettempdir(), "narrows") as folder:
        path = folder / "model.narrows"
        save(estimator, path)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


def _report_model(estimator: Any, output: str, as_json: bool) -> None:
    found = {"model": output, **summary(estimator)}
    text = (
        f"{found['method']}: {found['rows']:,} rows, {n_classes(found)}, "
        f"{found['columns']:,} columns -> {found['dimensions']:,}; "
        + (f"{certified(found)}; " if "certificate" in found else "")
        + f"saved to {output}"
    )
    report(found, text, as_json, err=output == "-")
