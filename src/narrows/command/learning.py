"""The verbs that learn: fit, update and merge."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from narrows.command import console, values
from narrows.command.labels import make_one_type, make_type
from narrows.command.runs import FileSamples
from narrows.engines import local
from narrows.errors import (
    DataError,
    ParameterError,
    WidthError,
)
from narrows.io.addresses import is_address
from narrows.io.atomic import Version, reserved
from narrows.io.checkpoint import Checkpoint, ResumePoint, another_run, method_in
from narrows.io.chunk import Options, for_targets
from narrows.io.dataset import Dataset
from narrows.io.labels import decided_by
from narrows.io.models import fingerprint, learned_by, load_model, save_model
from narrows.io.source import Source, check_kind, kind_of
from narrows.io.streams import display_name, expand_patterns
from narrows.methods import base, names
from narrows.methods.describe import chosen, in_order, n_classes, summary
from narrows.methods.learned import Learned
from narrows.methods.plan import Data
from narrows.methods.then import Then
from narrows.moments.labels import are_text, written
from narrows.moments.products import MOST
from narrows.solve.columns import take
from narrows.solve.sums import widened
from narrows.text import Tfidf, Vectoriser


def fit(
    inputs: tuple[str, ...], method: str | None, output: str, params: tuple[str, ...],
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Fit a method to labelled data and save the model."""
    if given["like"] is not None:
        values.check_like_options({**given, "method": method, "params": params})
        update(given["like"], inputs, output, as_json, anew=True, **given)
        return
    kind = values.method_of(method, given["target"])
    reading = values.read_options(given, get_tags(kind()).target_tags.required)
    vectoriser = values.make_vectoriser(given)
    fit_parts = values.on_cluster(given, "fit", "checkpoint", "idf_sample", "on_error")
    estimator = values.make_estimator(kind, given, params)
    is_srda = kind.__name__ == "SRDA"
    for_many = partial(values.make_for_many, given, params) if is_srda else None
    if for_many is not None and given["resume"] and method_in(given["checkpoint"]) == "OnlineSRDA":
        estimator = for_many()
    reading = for_targets(estimator, reading)
    values.check_then(given, estimator)
    files = expand_patterns(inputs)
    values.check_output(output, *files, given=given)
    _reserve(output)
    reading, vectoriser = values.as_table(files, reading, given, vectoriser)
    if reading.table:
        values.check_text_options(given, False, files[0])
    learned = _fingerprints(files)
    if fit_parts is not None:
        how = {"vectoriser": vectoriser, "progress": sys.stderr.isatty()}
        how |= values.read_arguments(reading)
        try:
            fit_parts(estimator, files, **how)
        except WidthError:
            if for_many is None:
                raise
            estimator = fit_parts(for_many(), files, **how)
        save_model(estimator, output, learned=learned)
        if reading.table:
            console.say_decisions(names.source_of(estimator).encoder)
        _report_model(estimator, output, as_json)
        return
    checkpoint = _checkpoint(estimator, files, reading, given, output)
    samples, resumed = _opened(files, reading, given, checkpoint, vectoriser=vectoriser)
    values.check_text_options(given, samples.dataset.is_text, files[0])
    with _interruptible(samples, checkpoint, base.can_add(estimator)):
        estimator = _fitted(estimator, samples, resumed, checkpoint, for_many, given)
        base.remember(estimator, samples.source())
        if estimator._selects and given["then"] != "none":
            _fit_then(estimator, samples, given)
        save_model(estimator, output, learned=learned)
    more = _said_of_rows(samples, checkpoint, given)
    _report_model(estimator, output, as_json, more)


def update(
    model: str, inputs: tuple[str, ...], output: str, as_json: bool, anew: bool = False,
    **given: Any,
) -> None:  # fmt: skip
    """Update a saved model with more rows; with `anew`, a copy of it that has learned none."""
    files, updated = expand_patterns(inputs), () if anew else (model,)
    values.check_output(output, *((model,) if anew else ()), *files, given=given)
    read = _reserve(output, *updated)
    estimator = load_model(model)
    values.supported(estimator, "merge" if anew else "partial_fit")
    if anew:
        base.check_adds_up(estimator)
    reading = values.read_options(given, get_tags(estimator).target_tags.required)
    reading = values.options_of_model(estimator, model, reading, may_be_wider=True)
    checkpoint = _checkpoint(estimator, files, reading, given, output, model)
    if checkpoint is not None and given["resume"] and checkpoint.is_finished():
        console.say(f"already finished: {model} has learned these inputs; nothing to do.")
        _report_model(estimator, output, as_json)
        return
    learned, new = _fingerprints(files, "" if anew else model), Counter[Any]()
    source = names.source_of(estimator)
    samples, resumed = _opened(files, reading, given, checkpoint, source, model=model)
    check_kind(files[0], samples.dataset.holds, kind_of(source), model)
    if resumed is not None:
        estimator = resumed.estimator
    elif anew:
        estimator = base.emptied_copy(estimator)
    with _interruptible(samples, checkpoint):
        local.update(
            estimator,
            _labelled_alike(estimator, samples, model, given, new),
            lambda: _record(estimator, samples, checkpoint, estimator._learned, 0),
        )
        run = checkpoint.run if checkpoint and read else None
        save_model(estimator, output, read, run, learned)
    more = _said_of_rows(samples, checkpoint, given) | {"new_classes": dict(new.most_common())}
    if new:
        shown = ", ".join(f"{label!r} ({n:,} rows)" for label, n in new.most_common(10))
        shown += ", …" * (len(new) > 10)
        console.say(f"warning: classes that {model} did not have: {shown}.")
    _report_model(estimator, output, as_json, more)


def merge(models: tuple[str, ...], output: str, labels: str | None, as_json: bool) -> None:
    """Merge models of the same method that were fitted to different rows."""
    values.check_output(output)
    read = _reserve(output, *models)
    estimators = [load_model(model) for model in models]
    width = max(estimator.n_features_in_ for estimator in estimators)
    for each in estimators:  # unnamed columns
        named = names.column_names(each) is not None
        if each.n_features_in_ < width and not named and hasattr(each, "merge"):
            base.widen(each, width)
    if not any(each._takes_numbers for each in estimators):
        make_one_type(estimators, models, labels)
    else:
        values.refuse({"labels": labels}, ["labels"], "models of classes", "one of numbers")
    merged, *others = estimators
    merge_with = values.supported(merged, "merge")
    for other, model in zip(others, models[1:], strict=True):
        try:
            merge_with(other)
        except WidthError:  # which concerns both
            raise
        except ValueError as error:
            why = getattr(error, "problem", error)  # whose advice may be in Python
            problem = f"expected a model to merge into {models[0]}, got another. {why}"
            how = "Fit one model, and the other rows with narrows fit --like MODEL."
            raise DataError(model, f"{problem} {how}") from None
    learned: list[list[int]] = []
    for model in models:
        _add_learned(
            learned, learned_by(model), model, "another model has learned a file of it, too"
        )
    save_model(merged, output, read, None, learned)
    _report_model(merged, output, as_json)


def _reserve(output: str, *models: str) -> Version | None:
    """Reserve an output until the command is over; return its version if it is a model of these."""
    if output == "-":
        raise ParameterError("-o: expected a file for the model, got standard output. Name a file.")
    read = click.get_current_context().with_resource(reserved(output))
    is_model = os.path.isfile(output) and any(os.path.samefile(output, each) for each in models)
    return read if is_model else None


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
    pipes = [file for file in files if not (is_address(file) or os.path.isfile(file))]
    if given["resume"] and pipes:
        what = f"files, got {display_name(pipes[0])}, a pipe, which cannot be read again"
        raise ParameterError(
            f"--resume: expected {what}. Write it to a file first, or leave out --resume."
        )
    every = given["every"] or 100_000
    given_estimator = clone(estimator) if model is None else estimator  # whose names stay names
    return Checkpoint(path, every, given_estimator, files, reading, model)


def _opened(
    files: Sequence[str], reading: Options, given: dict[str, Any], checkpoint: Checkpoint | None,
    source: Source | None = None, vectoriser: Vectoriser | None = None, model: str = "",
) -> tuple[FileSamples, ResumePoint | None]:  # fmt: skip
    """Return the samples of files, and the point from which a checkpoint continues, if it does."""
    resumed = checkpoint.resume() if checkpoint is not None and given["resume"] else None
    if resumed is not None:
        at, source = resumed.at, names.source_of(resumed.estimator)
        console.say(f"resuming after {at.rows:,} rows, line {at.line:,} of {files[at.file]}.")
        reading = _as_before(resumed, reading)
        if not model and source is not None and source.tfidf is not None:
            try:
                source.tfidf.check_same_settings(vectoriser or Tfidf())
            except ValueError as error:
                raise another_run(given["checkpoint"], str(error)) from None
    elif given["resume"]:
        console.say(f"no checkpoint {given['checkpoint']} yet; starting from the beginning.")
    samples = FileSamples(files, reading, source, vectoriser, given.get("idf_sample"))
    values.check_skipping(given, samples.dataset, *files, *[model] * bool(model))
    if resumed is not None:
        samples.dataset.resume_from(resumed.at)
    return samples, resumed


@contextmanager
def _interruptible(
    samples: FileSamples, checkpoint: Checkpoint | None, has_sums: bool = True
) -> Iterator[None]:
    """Save what was learned to the checkpoint where Ctrl-C or SIGTERM ends the block, and say it.

    Without a checkpoint, advise one where there are sums to save.
    Errors in the block name the inputs.
    """
    try:
        with samples.named_in_errors():
            yield
    except (KeyboardInterrupt, SystemExit) as error:
        rows = samples.at.rows
        if checkpoint is not None and rows:
            checkpoint.save()
            console.say(
                f"interrupted after {rows:,} rows, which are saved in {checkpoint.path}. "
                "Run the same command with --resume to continue."
            )
        else:
            hint = " Use --checkpoint FILE to save progress." * (checkpoint is None and has_sums)
            console.say(f"interrupted; no file was changed.{hint}")
        if isinstance(error, SystemExit):
            raise
        raise click.exceptions.Exit(130) from None


def _said_of_rows(
    samples: FileSamples, checkpoint: Checkpoint | None, given: dict[str, Any]
) -> dict[str, Any]:
    """Remove the checkpoint of a fit that is over; say which rows were empty or skipped."""
    if checkpoint is not None:
        checkpoint.remove()
    if samples.n_empty:
        console.say_empty(samples.n_empty)
    return console.say_skipped(samples.dataset, given["skipped"])


def _fitted(
    estimator: Any, samples: FileSamples, resumed: ResumePoint | None,
    checkpoint: Checkpoint | None, for_many: Callable[[], Any] | None, given: dict[str, Any],
) -> Any:  # fmt: skip
    """Fit an estimator, or another one where samples have too many columns, and return it."""
    dataset, start = samples.dataset, None
    passes = base.most_passes(estimator, 1) - (0 if resumed is None else resumed.passes)
    passes += given["then"] not in (None, "none")
    again = "-" in samples.inputs and _may_read_again(estimator, dataset)
    if passes > 1 or samples.counts_first or again:
        dataset.store_stdin()
    if samples.counts_first:
        samples.count_terms()
    if resumed is not None:
        before = resumed.estimator._learned
        start = before.step, before.state, resumed.passes
        names.use_names(estimator, before.source)

    def record(step: Any, state: Any, number: int) -> None:
        learned = Learned(step, state, source=samples.source())
        _record(estimator, samples, checkpoint, learned, number)

    def start_over(n_features: int) -> None:
        """Prepare the inputs to be read again, by a fit in two passes or of all samples."""
        if checkpoint is not None and for_many is None:
            if base.most_passes(estimator) == 1:
                base.refuse_more(estimator, n_features, "--checkpoint")
            if resumed is not None:
                most = f"at most {MOST:,} columns as before the stop"
                values.refuse(given, ["resume"], most, f"{n_features:,}")
        dataset.store_stdin()

    try:
        first = samples.peek() if start is None and for_many is not None else None
        if first is not None:
            base.plan_of(estimator, Data.of(first), "chunks")
        return local.fit(estimator, samples, start, record, start_over)
    except WidthError:
        if for_many is None:
            raise
    estimator = for_many()  # not above, where the error would keep the chunks open
    if checkpoint is not None:
        checkpoint.start_over(clone(estimator))
    return local.fit(estimator, samples, None, record, start_over)


def _may_read_again(estimator: Any, dataset: Dataset) -> bool:
    """Whether samples may have more features than products can be summed for."""
    width, may_widen = dataset.options.width, dataset.format.may_widen or dataset.is_text
    if width is not None:
        return width > MOST and base.most_passes(estimator) > 1
    (step, *_) = base.plan_of(estimator, Data(1, True), "chunks").passes
    return may_widen and getattr(step, "second", None) == "cross"


def _record(
    estimator: Any, samples: FileSamples, checkpoint: Checkpoint | None, learned: Learned,
    passes: int,
) -> None:  # fmt: skip
    """Give the checkpoint what was learned, and the estimator the names of features."""
    if names.listed(estimator):
        names.use_names(estimator, samples.source())
    if samples.dataset.options.table and getattr(estimator, "groups", ()) is None:
        estimator.set_params(groups=samples.maker.groups_)  # whole columns enter
    if checkpoint is None or samples.chunk is None:
        return
    if learned.step.gathers:
        base.refuse_more(estimator, learned.n_features, "--checkpoint")
    checkpoint.record(learned, passes, samples.chunk)


def _fit_then(selection: Any, samples: FileSamples, given: dict[str, Any]) -> None:
    """Fit what predicts by the selected columns, in one more pass over the samples.

    Where that is not possible and was not asked for, say why.
    """
    asked, chunk = given["then"] is not None, samples.chunk
    useless = not selection.n_positive_ or (chunk is not None and chunk.y is None)
    if useless and not asked:  # there is nothing to predict, or to predict by, which was said
        return
    columns = selection.get_support(indices=True)
    several = chunk is not None and sparse.issparse(chunk.y)
    try:
        then = values.make_then(given, selection, len(columns), several)
        if not (asked or samples.dataset.can_repeat):
            how = f"Add --then {names.method_of(then).lower()} to store standard input."
            raise ValueError(f"the input can be read once. {how}")
        local.fit(then, _Chosen(samples, columns, selection.n_features_in_))
        selection._learned.then = Then(columns, then)
    except DataError:
        raise
    except ValueError as error:
        if asked:
            raise
        what = names.method_of(selection).lower()
        console.say(f"{what} selects columns and does not predict: {error}")


class _Chosen:
    """Chunks of samples with the selected columns only; each iteration is a pass."""

    def __init__(self, samples: FileSamples, chosen: np.ndarray, n_features: int):
        self.samples, self.chosen, self.n_features = samples, chosen, n_features

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for X, y in self.samples.one_pass("learning to predict", learns=False):
            yield take(widened(X, self.n_features), self.chosen), y


def _labelled_alike(
    estimator: Any, samples: FileSamples, model: str, given: dict[str, Any], new: Counter[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield chunks whose labels have the type of the classes, and count those that are `new`.

    With --no-new-classes, a new one is an error, or its row is skipped.
    """
    has_classes = estimator._needs_y and not estimator._takes_numbers
    if has_classes:
        make_type(estimator, samples.dataset.options.labels, model)
    known = names.labels_of(estimator).copy()
    for X, y in samples:
        path = display_name(samples.inputs[samples.at.file])
        if not estimator._needs_y:  # it may ignore them
            if y is None and estimator._learned.then is not None:
                expected = f"expected labels, by which {model} predicts, got none"
                raise DataError(path, f"{expected}. Update a model of --then none instead.")
            y = base.checked_targets(estimator, X, y, False)
            classes = names.labels_of(estimator)
            if not sparse.issparse(y) and len(classes) and are_text(y) != are_text(classes):
                make_type(estimator, "text", model)
                y = written(y)
        if has_classes and len(known):
            at, labels = y.nonzero() if sparse.issparse(y) else (np.arange(len(y)), y)
            is_new = ~np.isin(labels, known)
            if given.get("no_new_classes") and is_new.any():
                kept = ~np.isin(np.arange(y.shape[0]), at[is_new])
                _refuse_new(samples, path, model, at[is_new], labels[is_new])
                X, y = X[kept], y[kept]
            else:
                new.update(labels[is_new].tolist())
        if X.shape[0]:
            yield X, y


def _refuse_new(
    samples: FileSamples, path: str, model: str, rows: np.ndarray, labels: np.ndarray
) -> None:
    """Skip the rows of a chunk whose labels are new, or raise an error for the first."""
    chunk, skipped = samples.chunk, samples.dataset.skipped
    lines = () if chunk is None else chunk.lines
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        problem = f"expected a class of {model}, got the new label {label!r}"
        how = "Leave out --no-new-classes to learn it."
        error = DataError(path, f"{problem}. {how}", int(lines[row]))
        if skipped is None:
            raise error
        skipped.add(error)


def _add_learned(learned: list[list[int]], more: list[list[int]], path: str, what: str) -> None:
    """Add the fingerprints of files to those before; warn where one is among these."""
    if any(each in learned for each in more):
        console.say(f"warning: {path}: {what}, which counts again.")
    learned += more


def _fingerprints(files: Sequence[str], model: str = "") -> list[list[int]]:
    """Return those of the files that a model has learned, with these; warn of those twice."""
    learned = learned_by(model) if model else []
    before = list(learned)
    for path in files:
        found = fingerprint(path)
        who = model if found in before else "this command"
        more = [] if found is None else [found]
        _add_learned(learned, more, path, f"{who} has learned a file with these contents")
    return learned


def _as_before(resumed: ResumePoint, options: Options) -> Options:
    """Return options by which samples are read as they were before the stop."""
    estimator, source = resumed.estimator, names.source_of(resumed.estimator)
    columns = options.columns or (None if source is None else source.columns)
    is_text = names.has_text_labels(estimator)
    if not (is_text or estimator._needs_y):  # the class 0 of samples whose labels are ignored
        is_text = None
    found = {"several_labels": resumed.several_labels, **decided_by(is_text)}
    return options.replace(columns=columns).with_found(found)


def _say_if_other_columns(estimator: Any) -> None:
    """Say if later rows have changed the selection, by which predictions do not go."""
    then = estimator._learned.then
    if then is not None and set(estimator.get_support(indices=True)) != set(then.chosen):
        selects, predicts = (names.method_of(each).lower() for each in (estimator, then.estimator))
        console.say(
            f"{selects} now selects other columns, and {predicts} predicts by those of the fit. "
            "To predict by the new ones, run narrows fit on all rows."
        )


def _report_model(
    estimator: Any, output: str, as_json: bool, more: dict[str, Any] | None = None
) -> None:
    found = {"model": output, **summary(estimator), **(more or {})}
    text = (
        f"{found['method']}: {found['rows']:,} rows, {n_classes(found)}, "
        f"{found['columns']:,} columns -> {found['dimensions']:,}; saved to {output}"
    )
    if found["method"] == "ForwardFS" and (columns := chosen(estimator)):
        found["top"] = columns
        text += f"\n{in_order(columns)}"
    console.report(found, text, as_json)
    if lost := base.what_is_lost(estimator):
        console.say(lost)
    _say_if_other_columns(estimator)
    if estimator._needs_y and not estimator._takes_numbers:
        console.say_if_numbers(names.labels_of(estimator), found["rows"])
