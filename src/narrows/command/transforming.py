"""The verbs that write data and other files: transform, predict, convert and export."""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from scipy import sparse

from narrows.command import values
from narrows.command.console import report, say, say_skipped
from narrows.command.labels import Agreement, Explained, as_type, say_if_unlike
from narrows.command.runs import FileSamples, progress
from narrows.errors import ParameterError, printable
from narrows.io.applied import open_model
from narrows.io.chunk import Options
from narrows.io.dataset import Dataset
from narrows.io.kinds import output_kind
from narrows.io.source import check_kind, kind_of, of_maker
from narrows.io.streams import expand_patterns
from narrows.io.write import writer
from narrows.methods.names import predictor, source_of, targets_of
from narrows.methods.parameters import PRIORS
from narrows.moments.labels import written


def transform(model: str, input: str, output: str, as_json: bool, **given: Any) -> int:
    """Reduce the rows of a file with a saved model."""
    inputs, reading = expand_patterns([input]), values.read_options(given)
    transform_parts = values.on_cluster(given, "transform", "csv_safe", "flush", "on_error")
    if transform_parts is not None:
        if output == "-" or os.path.isfile(output):
            expected = f"expected a folder with --engine {given['engine']}"
            raise ParameterError(f"{output}: {expected}, got another output. Change it.")
        from narrows.io.models import load_model

        estimator = load_model(model)
        reading = values.options_of_model(estimator, model, reading)
        files = transform_parts(
            estimator, inputs, output, may_have_more=True, **values.read_arguments(reading)
        )
        text = f"{len(files):,} files written to {output}"
        report({"output": output, "files": len(files)}, text, as_json)
        return 0
    estimator, samples = _opened(model, inputs, output, reading, given)
    names = [printable(name) for name in estimator.get_feature_names_out()]
    rows, more, status = _write(
        samples, output, given, names, lambda X, y: (estimator.transform(X), y), "reducing",
        samples.dataset.options.target,
    )  # fmt: skip
    found = {"output": output, "rows": rows, "dimensions": len(names), **more}
    text = f"{rows:,} rows x {len(names):,} columns written to {output}"
    report(found, text, as_json, err=output == "-")
    return status


def predict(
    model: str, input: str, output: str, proba: bool, priors: Any, as_json: bool, **given: Any
) -> int:
    """Predict the classes, or the numbers, of the rows of a file with a saved model."""
    inputs, reading = expand_patterns([input]), values.read_options(given)
    reading = reading.with_found({"labels_may_lack": True})
    estimator, samples = _opened(model, inputs, output, reading, given, predicts=True)
    numeric = bool(estimator._takes_numbers)
    if not hasattr(estimator, "predict"):
        what, then = ("regressor", "reducedrank") if numeric else ("classifier", "srda")
        again = f"Fit it with --then {then}, or reduce" if estimator._selects else "Reduce"
        raise ParameterError(
            f"{model}: expected a model that predicts ({', '.join(values.predicting(numeric))}), "
            f"got one of {type(estimator).__name__.lower()}. {again} the rows with transform, and "
            f"fit a {what} to them."
        )
    if numeric:
        given |= {"proba": proba, "priors": priors}
        values.refuse(given, ("proba", "priors"), "a model of classes", "one of numbers")
        return _predict_numbers(estimator, samples, input, output, as_json, given)
    priors = None if priors is None else values.as_allowed(priors, PRIORS)
    known = predictor(estimator)._solution.classes
    labels = known.labels  # in the header as in the column of labels
    labels = written(labels.astype(int) if labels.dtype.kind == "b" else labels)
    classes, several = [printable(label) for label in labels.tolist()], bool(known.n_labels)
    agreement = Agreement(known.labels, as_type(known.labels, reading.labels, model))

    def predicted(X: Any, y: Any) -> tuple[Any, Any]:
        probabilities, labels = estimator.predict_proba(X, priors), estimator.predict(X, priors)
        if y is not None:
            agreement.add(labels, y, probabilities)
        if several:
            return probabilities, sparse.csr_array(labels)
        return probabilities if proba else probabilities.max(axis=1, keepdims=True), labels

    names = classes if proba or several else ["probability"]
    rows, more, status = _write(samples, output, given, names, predicted)
    text, scores = f"{rows:,} predictions written to {output}", agreement.scores()
    found: dict[str, Any] = {"accuracy": agreement.share, "largest_class": None, **scores, **more}
    if agreement.n:
        text += f"\n{agreement.equal:,} of {agreement.n:,} are equal to the labels of {input}: "
        text += f"{agreement.share:.1%}"
    if scores:
        of = f" of {classes[agreement.rarer]}" if agreement.rarer is not None else ""
        text += f"\nArea under the ROC curve {scores['roc_auc']:.3f}, average precision{of} "
        text += f"{scores['average_precision']:.3f}, log-loss {scores['log_loss']:.3f}."
    for label, n in agreement.labels.most_common(1):
        found["largest_class"] = {"label": label, "accuracy": n / agreement.n}
        text += f"\nAlways answering {printable(label)} has {n / agreement.n:.1%}."
    say_if_unlike(agreement.labels, agreement.classes, input, model)
    report({"output": output, "rows": rows, **found}, text, as_json, err=output == "-")
    return status


def _predict_numbers(
    estimator: Any, samples: FileSamples, input: str, output: str, as_json: bool,
    given: dict[str, Any],
) -> int:  # fmt: skip
    """Predict the targets of the rows of a file."""
    explained, names = Explained(), [printable(name) for name in targets_of(estimator)]

    def predicted(X: Any, y: Any) -> tuple[Any, Any]:
        found = estimator.predict(X).reshape(-1, len(names))
        if y is not None:
            if y.shape[1] != len(names):
                raise ParameterError(
                    f"target (--target): expected as many as in the fit, {len(names)}, got "
                    f"{y.shape[1]}. Name these."
                )
            explained.add(found, y)
        return found, None

    rows, more, status = _write(samples, output, given, names, predicted)
    shares = dict(zip(names, explained.shares, strict=False))
    known = {name: share for name, share in shares.items() if share is not None}
    mean = sum(known.values()) / len(known) if known else None
    text = f"{rows:,} predictions written to {output}"
    if mean is not None:
        each = [f"{name} {share:.3f}" for name, share in known.items()]
        text += f"\nR^2 of {explained.n:,} rows of {input}: {mean:.3f}"
        text += f" ({', '.join(each)})" * (len(shares) > 1)
    found = {"output": output, "rows": rows, "r2": mean, "r2_by_target": shares, **more}
    report(found, text, as_json, err=output == "-")
    return status


def _opened(
    model: str, inputs: list[str], output: str, reading: Options, given: dict[str, Any],
    predicts: bool = False,
) -> tuple[Any, FileSamples]:  # fmt: skip
    """Return a saved model, and the samples of inputs whose rows become an output."""
    values.check_output(output, model, *inputs, given=given)
    output_kind(output)
    flush = given["flush"]
    if flush and output != "-":
        raise ParameterError(f"--flush: expected -o -, got {output}. Leave out one of them.")
    estimator = open_model(model, predicts)
    reading = values.options_of_model(estimator, model, reading)
    if flush:  # a row shows only that one label is one of several
        known = predictor(estimator)._solution.classes
        several = (known is not None and bool(known.n_labels)) or None
        reading = reading.replace(chunk_rows=1).with_found({"several_labels": several})
    samples = FileSamples(inputs, reading, source_of(estimator))
    check_kind(inputs[0], samples.dataset.holds, kind_of(source_of(estimator)), model)
    values.check_skipping(given, samples.dataset, model, *inputs, output)
    return estimator, samples


def _write(
    samples: FileSamples, output: str, given: dict[str, Any], names: list[str],
    of_samples: Callable[[Any, Any], tuple[Any, Any]], description: str = "predicting",
    targets: Sequence[str] | None = None,
) -> tuple[int, dict[str, Any], int]:  # fmt: skip
    """Write what is made of the samples and labels of each chunk.

    Return the number of rows, what JSON says of skipped ones, and the exit status. If Ctrl-C stops
    it, the rows so far are complete.
    """
    rows, status = 0, 0
    with (
        writer(output, names, csv_safe=given["csv_safe"], targets=targets) as out,
        warnings.catch_warnings(),
    ):
        # the reader has put the columns into the order of the fit
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        try:
            for chunk in progress(samples.dataset, None if given["flush"] else description):
                for made in samples.transformed(chunk):
                    X, y = of_samples(made.X, made.y)
                    out.write(X, y, samples.inputs[made.at.file], made.lines)
                    rows += X.shape[0]
                if given["flush"]:
                    sys.stdout.buffer.flush()
        except KeyboardInterrupt:  # between two chunks
            if not rows:
                raise
            status = 130
    if status:
        say(f"interrupted; {output} holds the first {rows:,} rows.")
    return rows, say_skipped(samples.dataset, given["skipped"]), status


def convert(input: str, output: str, as_json: bool, **given: Any) -> None:
    """Convert a data file to another format, with the same columns and labels."""
    options = values.read_options(given)
    values.check_output(output, input, given=given)
    dataset = Dataset([input], options)
    rows = 0
    with closing(progress(dataset, "converting")) as chunks:  # else an error delays Ctrl-C
        first = next(chunks)
        how = first.columns, dataset.is_text, given["csv_safe"], dataset.options.target
        with writer(output, *how) as out:
            for chunk in itertools.chain([first], chunks):
                out.write(chunk.X, chunk.y, input, chunk.lines)
                rows += len(chunk.lines)
    found = {"output": output, "rows": rows}
    report(found, f"{rows:,} rows written to {output}", as_json, err=output == "-")


def export(model: str, output: str, as_json: bool) -> None:
    """Export a saved model to ONNX, for programs without Python."""
    from sklearn.pipeline import Pipeline

    from narrows.export import maker_of, steps_of, to_onnx
    from narrows.io.models import load

    values.check_output(output, model)
    estimator = load(model)
    found = to_onnx(estimator, output)
    outputs = [each.name for each in found.graph.output]
    width = steps_of(estimator)[0].n_features_in_
    text = f"{width:,} columns -> {', '.join(outputs)}; exported to {output}"
    maker = maker_of(estimator)
    is_pipeline = isinstance(estimator, Pipeline)
    if maker is not None and (not is_pipeline or estimator[0] is maker):
        loaded, name = f"narrows.load({model!r})", next(iter(of_maker(maker)))
        shown = f"{loaded}[0]" if is_pipeline else f"narrows.read.source_of({loaded}).{name}"
        what = "terms, not texts" if maker.takes == "texts" else "features, not rows of a table"
        text += f"\nX holds vectors of {width:,} {what}; {shown} makes them"
    result = {"output": output, "features": width, "outputs": outputs}
    report(result, text, as_json)
