"""The verbs that write data: transform and convert."""

from __future__ import annotations

import itertools
import os
import warnings
from typing import Any

import click

from narrows.command import options, values
from narrows.command.console import progress, report, say
from narrows.command.runs import Run
from narrows.evaluate.describe import printable
from narrows.io.chunk import Options
from narrows.io.dataset import Dataset
from narrows.io.formats import FOR_ROWS, SUFFIXES
from narrows.io.source import check_kind, is_of_texts
from narrows.io.store import load
from narrows.io.streams import expand_patterns
from narrows.io.write import count_rows, output_format, writer
from narrows.solve.errors import DataError, ParameterError


@options.verb(
    options.MODEL, options.INPUT,
    click.option(
        "-o", "--output", required=True, metavar="OUTPUT",
        help=f"A file that ends in {SUFFIXES['numbers']}; - for {FOR_ROWS.name} on stdout.",
    ),
    options.READING, options.WRITING, options.ENGINES,
)  # fmt: skip
def transform(model: str, input: str, output: str, as_json: bool, **given: Any) -> int:
    """Reduce the rows of a file with a saved model.

    \b
    narrows transform model.narrows test.svm -o reduced.npz
    narrows transform model.narrows mails.jsonl.gz --split test -o reduced.npz
    narrows transform model.narrows 'shards/*.parquet' -o folder --engine dask

    With --engine dask the output is a folder, with a Parquet file for each input.
    """  # noqa: D301 - click reads the character
    inputs, reading = expand_patterns([input]), values.read_options(given)
    cluster = values.cluster_options(given, "csv_safe")
    if cluster is not None:
        return _transform_on_cluster(model, inputs, output, cluster, reading, as_json)
    values.check_output(output, model, *inputs)
    output_format(output)
    estimator = load(model)
    run = Run(estimator, inputs, values.options_of_model(estimator, model, reading))
    check_kind(input, run.dataset.is_text, is_of_texts(estimator._source), model)
    rows, stopped = 0, False
    names = [printable(name) for name in estimator.get_feature_names_out()]
    with writer(output, names, csv_safe=given["csv_safe"]) as out, warnings.catch_warnings():
        # the reader has put the columns into the order of the fit
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        try:
            for chunk in progress(run.dataset, "reducing"):
                reduced = estimator.transform(run.samples(chunk))
                out.write(reduced, chunk.y, inputs[chunk.at.file], chunk.lines)
                rows += reduced.shape[0]
        except KeyboardInterrupt:  # between two chunks: the rows so far are complete
            if not rows:
                raise
            stopped = True
    if stopped:
        say(f"interrupted; {output} holds the first {rows:,} rows.")
    found = {"output": output, "rows": rows, "dimensions": len(names)}
    text = f"{rows:,} rows x {len(names):,} columns written to {output}"
    report(found, text, as_json, err=output == "-")
    return 130 if stopped else 0


def _transform_on_cluster(
    model: str, inputs: list[str], output: str, cluster: dict[str, Any], reading: Options,
    as_json: bool,
) -> int:  # fmt: skip
    """Reduce each input on a worker of a cluster, and write it to a file in a folder."""
    from narrows.engines import dask

    if output == "-" or (os.path.exists(output) and not os.path.isdir(output)):
        got = "standard output" if output == "-" else "a file"
        raise ParameterError(f"{output}: expected a folder with --engine dask, got {got}.")
    estimator = load(model)
    arguments = values.read_arguments(values.options_of_model(estimator, model, reading))
    written = dask.transform(estimator, inputs, output, cluster["client"], **arguments)
    found = {"output": output, "files": len(written)}
    report(found, f"{len(written):,} files written to {output}", as_json)
    return 0


@options.verb(
    options.INPUT, click.argument("output", metavar="OUTPUT"), options.READING, options.WRITING,
    short_help="Convert a data file to another format.",
)  # fmt: skip
def convert(input: str, output: str, as_json: bool, **given: Any) -> None:
    """Convert a data file to another format, with the same columns and labels.

    \b
    narrows convert train.svm train.parquet
    narrows convert train.csv train.svm.gz

    Files of numbers can be converted to {numbers}; files of texts to {texts}. The output is read
    again, and its rows are counted.
    """  # noqa: D301 - click reads the character
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


VERBS = transform, convert
