"""The arguments and options of the verbs, in tables that verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click

from narrows.command.types import (
    METHODS,
    Input,
    Method,
    float_or_cv,
    integer_or_cv,
    number_or_cv,
    numbers,
)
from narrows.io.kinds import LABEL_TYPES, SUFFIXES
from narrows.io.streams import MAX_LINE_MB

_MOST_COLUMNS = 2**31 - 1


def verb(*tables: Any, short_help: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that makes a function a command, with options and --json.

    Parameters
    ----------
    *tables : click option, or tuple of these
        In the order in which the help shows them.
    short_help : str, optional
        For the list of commands; by default the first sentence of the docstring, in which names
        of `narrows.io.kinds.SUFFIXES` in braces stand for these.
    """
    options = [*tables, _JSON]

    def add(function: Any) -> Any:
        for table in reversed(options):
            for option in reversed(table if isinstance(table, tuple) else (table,)):
                function = option(function)
        text = inspect.cleandoc(function.__doc__).format(**SUFFIXES)
        return click.command(short_help=short_help, help=text)(function)

    return add


def _option(flag: str, metavar: str | None, kind: Any, help: str, **more: Any) -> Any:
    return click.option(flag, metavar=metavar, type=kind, help=help, **more)


def _flag(flag: str, help: str) -> Any:
    return click.option(flag, is_flag=True, help=help)


_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

INPUT = click.argument("input", type=Input(), metavar="INPUT")
INPUTS = click.argument("inputs", type=Input(), nargs=-1, required=True, metavar="INPUT...")
MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
MODELS = click.argument("models", type=click.Path(), nargs=-1, required=True, metavar="MODEL...")
MODEL_OUTPUT = click.option(
    "-o", "--output", type=click.Path(), required=True, metavar="MODEL",
    help="File to save the model to.",
)  # fmt: skip
METHOD = click.option(
    "--method", required=True, type=Method(), metavar="NAME",
    help=f"One of {', '.join(METHODS)}. Start with ocfs, oc, srda or onlinesrda.",
)  # fmt: skip
PARAMETERS = (
    _option(
        "--n-features", "P", number_or_cv, "Features to select: a number, a fraction, or cv."
    ),
    _option(
        "--energy", "SHARE", float,
        "Select the fewest features with this share of the total score; 0.8 if no size is given.",
    ),
    _option("--threshold", "SCORE", float, "Select the features with at least this score."),
    _option(
        "--n-components", "P", integer_or_cv,
        "Number of components, or cv (oc, srda, lda); by default c - 1, c, 2 or the rank, "
        "depending on the method.",
    ),
    _option("--priors", "PRIORS", numbers, "Class priors: empirical, sqrt, balanced or p1,p2,…"),
    _option(
        "--eps", "EPS", float_or_cv,
        "Weight of the within-class scatter (mmcfs, mmc, immc), or cv (mmc).",
    ),
    _option("--theta", "THETA", numbers, "Shift of immc: auto, a number or t1,t2,…"),
    _option(
        "--mu", "MU", float_or_cv,
        "Regularisation of the within-class scatter (lda, idrqr), or cv (lda).",
    ),
    _option("--alpha", "ALPHA", numbers, "Ridge of srda: auto, scale, cv or a number."),
    _option("--half-life", "ROWS", float, "Rows after which the weight of a row is halved."),
    _option(
        "--tolerance", "SHARE", float,
        "Read parts of the files at random, and stop when the result has at least 1 - SHARE of "
        "the best possible score, with probability --confidence (ocfs, ig, chi, oc).",
    ),
    _option("--confidence", "P", float, "Probability for --tolerance.  [default: 0.95]"),
    click.option(
        "--param", "params", multiple=True, metavar="NAME=VALUE",
        help="Any other parameter of the method; may be given several times.",
    ),
)  # fmt: skip
LABELS = _option(
    "--labels", None, click.Choice(LABEL_TYPES),
    "Type of all labels.  [default: that of the model or the files]",
)  # fmt: skip
READING = (
    _option(
        "--label", "NAME", str,
        "Column (of obs in .h5ad), JSON key, npz array or .npy file of labels.",
    ),
    LABELS,
    click.option(
        "--text", metavar="COLUMN", multiple=True,
        help="Column or JSON key that holds texts; may be given several times to join texts. "
        " [default: text in JSON lines]",
    ),
    _option("--vector", "COLUMN", str, "Parquet column of lists that holds the samples."),
    _option("--split", "NAME", str, "Read only the JSON lines whose `split` is NAME."),
    _option("--width", "D", click.IntRange(1, _MOST_COLUMNS), "Number of columns."),
    _flag("--zero-based", "svmlight columns are numbered from 0."),
    _flag("--one-based", "svmlight columns are numbered from 1."),
    _option(
        "--chunk-rows", "ROWS", click.IntRange(1), "Number of rows to read at a time.",
        default=10_000, show_default=True,
    ),
    _option(
        "--max-line-mb", "MB", click.IntRange(1), "Length limit for the lines of a text file.",
        default=MAX_LINE_MB, show_default=True,
    ),
)  # fmt: skip
WRITING = (
    _flag(
        "--csv-safe",
        "In CSV, put ' before names and text labels that begin with = + - @, tab or CR.",
    ),
)
TEXTS = (
    _option(
        "--vectorizer", None, click.Choice(["tfidf", "hashing"]),
        "Columns of texts: one for each term, or hashed.  [default: tfidf]",
    ),
    _option(
        "--hash-columns", "D", click.IntRange(1, _MOST_COLUMNS),
        "Number of hashed columns.  [default: 1048576]",
    ),
    _option("--stop-words", "WORDS", str, "Terms to ignore: english, or a file that lists them."),
    _option("--min-df", "N", click.IntRange(1), "Ignore terms that occur in fewer than N texts."),
)  # fmt: skip
IDF_SAMPLE = _option(
    "--idf-sample", "ROWS", click.IntRange(1),
    "Count terms in the first ROWS texts only, and read the input once: for an endless pipe.",
)  # fmt: skip
CHECKPOINTS = (
    _option("--checkpoint", "FILE", str, "Save progress to FILE during the run."),
    _option(
        "--every", "ROWS", click.IntRange(1),
        "Number of rows between two checkpoints.  [default: 100000]",
    ),
    _flag("--resume", "Continue from the checkpoint, if there is one."),
    _flag(
        "--from-position",
        "With --resume: standard input starts at the position of the checkpoint.",
    ),
)  # fmt: skip
ENGINES = (
    _option(
        "--engine", None, click.Choice(["local", "dask", "spark"]),
        "Run here, or on a Dask or Spark cluster, with a task for each file or part of a file.",
        default="local", show_default=True,
    ),
    _option(
        "--scheduler", "ADDRESS", str,
        "Running Dask cluster, such as tcp://host:8786; by default a local one is started.",
    ),
    _option(
        "--master", "URL", str,
        "Spark master: local[2], spark://host:7077, yarn, or sc://host of Spark Connect; by "
        "default Spark is started here.",
    ),
)  # fmt: skip
