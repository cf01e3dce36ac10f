"""The verbs that write data: transform, predict and convert."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable
from typing import Any

from scipy import sparse

from narrows.command import values
from narrows.command.clusters import Cluster
from narrows.command.console import report, say
from narrows.command.labels import Agreement
from narrows.command.runs import Run, progress
from narrows.errors import DataError, ParameterError, printable
from narrows.io.chunk import Options
from narrows.io.dataset import Dataset
from narrows.io.models import load_model
from narrows.io.source import check_kind, is_of_texts
from narrows.io.streams import expand_patterns
from narrows.io.write import count_rows, output_format, writer


def transform(model: str, input: str, output: str, as_json: bool, **given: Any) -> int:
    """Reduce the rows of a file with a saved model."""
    inputs, reading = expand_patterns([input]), values.read_options(given)
    cluster = values.cluster_of(given, "csv_safe")
    if cluster is not None:
        return _transform_on_cluster(model, inputs, output, cluster, reading, as_json)
    run = _run(model, inputs, output, reading)
    names = [printable(name) for name in run.estimator.get_feature_names_out()]

    def reduced(X: Any, y: Any) -> tuple[Any, Any]:
        return run.estimator.transform(X), y

    rows, stopped = _write(run, output, names, reduced, "reducing", given["csv_safe"])
    found = {"output": output, "rows": rows, "dimensions": len(names)}
    text = f"{rows:,} rows x {len(names):,} columns written to {output}"
    report(found, text, as_json, err=output == "-")
    return 130 if stopped else 0


def predict(model: str, input: str, output: str, proba: bool, as_json: bool, **given: Any) -> int:
    """Predict the classes of the rows of a file with a saved model."""
    inputs, reading = expand_patterns([input]), values.read_options(given)
    run = _run(model, inputs, output, reading)
    estimator = run.estimator
    if not hasattr(estimator, "predict"):
        raise ParameterError(
            f"{model}: expected a model that predicts ({values.predicting()}), got one of "
            f"{type(estimator).__name__.lower()}. Reduce the rows with transform, and fit a "
            "classifier to them."
        )
    classes = [printable(str(label)) for label in estimator.classes_.tolist()]
    several = estimator._several
    agreement = Agreement(estimator.classes_, reading.labels)

    def predicted(X: Any, y: Any) -> tuple[Any, Any]:
        probabilities, labels = estimator.predict_proba(X), estimator.predict(X)
        if y is not None:
            agreement.add(labels, y)
        if several:
            return probabilities, sparse.csr_array(labels)
        return probabilities if proba else probabilities.max(axis=1, keepdims=True), labels

    names = classes if proba or several else ["probability"]
    rows, stopped = _write(run, output, names, predicted, "predicting", given["csv_safe"])
    equal, n, accuracy = agreement.equal, agreement.n, agreement.share
    found = {"output": output, "rows": rows, "accuracy": accuracy}
    text = f"{rows:,} predictions written to {output}"
    if accuracy is not None:
        text += f"\n{equal:,} of {n:,} are equal to the labels of {input}: {accuracy:.1%}"
    agreement.warn_if_unlike(input, model)
    report(found, text, as_json, err=output == "-")
    return 130 if stopped else 0


def _run(model: str, inputs: list[str], output: str, reading: Options) -> Run:
    """Return the run of a saved model over inputs whose rows become an output."""
    values.check_output(output, model, *inputs)
    output_format(output)
    estimator = load_model(model)
    run = Run(estimator, inputs, values.options_of_model(estimator, model, reading))
    check_kind(inputs[0], run.dataset.is_text, is_of_texts(estimator._source), model)
    return run


def _write(
    run: Run,
    output: str,
    names: list[str],
    of_samples: Callable[[Any, Any], tuple[Any, Any]],
    description: str,
    csv_safe: bool,
) -> tuple[int, bool]:
    """Write what is made of the samples and labels of each chunk.

    Return the number of rows, and whether Ctrl-C stopped it: the rows so far are then complete.
    """
    rows, stopped = 0, False
    with writer(output, names, csv_safe=csv_safe) as out, warnings.catch_warnings():
        # the reader has put the columns into the order of the fit
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        try:
            for chunk in progress(run.dataset, description):
                X, y = of_samples(run.samples(chunk), chunk.y)
                out.write(X, y, run.inputs[chunk.at.file], chunk.lines)
                rows += X.shape[0]
        except KeyboardInterrupt:  # between two chunks
            if not rows:
                raise
            stopped = True
    if stopped:
        say(f"interrupted; {output} holds the first {rows:,} rows.")
    return rows, stopped


def _transform_on_cluster(
    model: str, inputs: list[str], output: str, cluster: Cluster, reading: Options,
    as_json: bool,
) -> int:  # fmt: skip
    """Reduce the parts of inputs on a cluster, and write each to a file in a folder."""
    if output == "-" or (os.path.exists(output) and not os.path.isdir(output)):
        got = "standard output" if output == "-" else "a file"
        raise ParameterError(
            f"{output}: expected a folder with --engine {cluster.name}, got {got}."
        )
    estimator = load_model(model)
    arguments = values.read_arguments(values.options_of_model(estimator, model, reading))
    written = cluster.transform(estimator, inputs, output, arguments)
    found = {"output": output, "files": len(written)}
    report(found, f"{len(written):,} files written to {output}", as_json)
    return 0


def convert(input: str, output: str, as_json: bool, **given: Any) -> None:
    """Convert a data file to another format, with the same columns and labels."""
    values.check_output(output, input)
    dataset = Dataset([input], values.read_options(given))
    rows = 0

    def check_rows(written: str) -> None:
        found = count_rows(written, output, first)
        if found != rows:
            raise DataError(output, f"expected {rows:,} rows as read, got {found:,}. Try again.")

    chunks = progress(dataset, "converting")
    first = next(chunks)
    with writer(output, first.columns, dataset.is_text, check_rows, given["csv_safe"]) as out:
        for chunk in itertools.chain([first], chunks):
            out.write(chunk.X, chunk.y, input, chunk.lines)
            rows += len(chunk.lines)
    found = {"output": output, "rows": rows}
    report(found, f"{rows:,} rows written to {output}", as_json, err=output == "-")
