"""The arguments and options of the verbs, in tables that verbs share, and the types of these."""

from __future__ import annotations

import glob
import inspect
import os
from collections.abc import Callable
from errno import ENOENT
from importlib import import_module
from itertools import chain
from typing import Any

import click
from click.shell_completion import CompletionItem

from narrows.errors import ParameterError, did_you_mean
from narrows.io.addresses import check_address, is_address, without_options
from narrows.io.kinds import LABEL_TYPES, SUFFIXES, kind_of
from narrows.io.streams import MAX_LINE_MB
from narrows.methods import MODULES

_MOST_COLUMNS = 2**31 - 1
RIVALS = (
    "truncatedsvd", "sklearn-pca", "sparserandomprojection", "chi2", "f_classif",
    "lineardiscriminantanalysis",
)  # fmt: skip
_SIZE = "Use --n-components for directions, --n-features for columns."
_RANDOM = "Use --param random_state=SEED, where the method has it."
_SEVERAL = "Use --dims, which takes several."
# by verb, what is typed for an option that it does not have, and what to use
INSTEAD = {
    "fit": {
        "--dims": _SIZE, "--dim": _SIZE, "--methods": "Use --method, for one.",
        "--seed": _RANDOM, "--random-state": _RANDOM,
    },
    "compare": {
        "--method": "Use --methods, which takes several.",
        "--n-components": _SEVERAL, "--n-features": _SEVERAL, "--dim": _SEVERAL,
    },
}  # fmt: skip
METHOD_NAMES = {name.lower(): name for name in sorted(MODULES, key=str.lower)}


def verb(module: str, *tables: Any, short_help: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that makes a command, with options and --json, of a function.

    The function has the help as its docstring. The one of the same name in `module` does the work.

    Parameters
    ----------
    module : str
        A module of `narrows.command`, which is imported when the verb is run.
    *tables : click parameter, or tuple of these
        In the order in which the help shows them.
    short_help : str, optional
        For the list of commands; by default the first sentence of the docstring, in which names
        of `narrows.io.kinds.SUFFIXES` in braces stand for these.
    """

    def add(described: Any) -> click.Command:
        def run(**given: Any) -> Any:
            _check_existing(given)
            _check_needed(given)
            work = import_module(f"narrows.command.{module}")
            return getattr(work, described.__name__)(**given)

        each = (table if isinstance(table, tuple) else (table,) for table in (*tables, _JSON))
        text = inspect.cleandoc(described.__doc__).format(**SUFFIXES)
        parameters = list(chain.from_iterable(each))
        return click.Command(
            described.__name__, callback=run, params=parameters, short_help=short_help, help=text
        )

    return add


def option(*flags: str, **more: Any) -> click.Option:
    """Return an option."""
    return click.Option(flags, **more)


def _check_existing(given: dict[str, Any]) -> None:
    """Raise FileNotFoundError for the first file that is not here; a cluster may have others."""
    models = *given.get("models", ()), given.get("model")
    inputs = *given.get("inputs", ()), given.get("input"), *given.get("test", ())
    is_here = given.get("engine", "local") == "local"
    for path in models:
        check_address(path or "")
    for path in models + inputs if is_here else models:
        if path in (None, "-") or is_address(path):
            continue
        if not os.path.exists(path) and not glob.glob(path):
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), path)


class Listed(click.ParamType):
    """Words or numbers, separated by commas."""

    def __init__(self, kind: type = str):
        self.kind, self.name = kind, "list"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[Any]:
        """Return them as a list; ParameterError names the option."""
        try:
            return [self.kind(part) for part in value.split(",")]
        except ValueError:
            kinds = "integers" if self.kind is int else "numbers"
            raise ParameterError(
                f"{param.opts[-1]}: expected {kinds} separated by commas, got {value!r:.100}."
            ) from None


class MethodName(click.ParamType):
    """The name of a method, in any case."""

    name = "method"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Return the name in lower case."""
        if value.lower() not in METHOD_NAMES:
            hint = did_you_mean(value.lower(), METHOD_NAMES)
            if value.lower() in RIVALS:
                hint = "That is a method of scikit-learn, for compare alone. " + hint
            raise click.BadParameter(f"expected a method, got {value!r}. {hint}")
        return value.lower()

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin like this."""
        return [
            CompletionItem(name) for name in METHOD_NAMES if name.startswith(incomplete.lower())
        ]


class MethodNameOrNone(MethodName):
    """The name of a method, or none."""

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Return the name in lower case."""
        return value if value == "none" else super().convert(value, param, ctx)


class Input(click.Path):
    """A data file whose suffix is supported, a pattern, or ``-``."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the path; ParameterError names the suffixes."""
        is_pattern = glob.has_magic(without_options(value)) and not os.path.exists(value)
        is_address(value)  # or say why not
        if value != "-" and not is_pattern and not os.path.isdir(value):
            kind_of(value)
        return str(value)


def is_set(value: Any) -> bool:
    """Whether an option was given."""
    return not (value is None or value is False or value == ())


def flag(name: str) -> str:
    """Return the option with this name."""
    return f"--{name.replace('_', '-')}"


# options, the one that each needs beside it, and values of that one; without values, any
_NEEDED: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "every": ("checkpoint", ()),
    "resume": ("checkpoint", ()),
    "skipped": ("on_error", ("skip", "missing")),
    "hash_columns": ("vectorizer", ("hashing",)),
    **dict.fromkeys(("min_df", "max_df", "max_features"), ("vectorizer", ("tfidf", None))),
    "scheduler": ("engine", ("dask",)),
    "master": ("engine", ("spark",)),
}


def _check_needed(given: dict[str, Any]) -> None:
    """Raise where an option was given, but not the one that it needs."""
    for name, (other, values) in _NEEDED.items():
        found = given.get(other)
        if is_set(given.get(name)) and not (found in values if values else is_set(found)):
            expected = f"{flag(other)} {values[0] if values else 'FILE'}"
            raise ParameterError(
                f"{flag(name)}: expected {expected} beside it, got a command without it. Add it."
            )


def one_of(given: dict[str, Any], *names: str) -> str | None:
    """Return which of some options was given, if any; ParameterError if several were."""
    found = [name for name in names if is_set(given[name])]
    if len(found) > 1:
        both = f"{flag(found[0])}, {flag(found[1])}"
        raise ParameterError(f"{both}: expected one of them, got both. Leave one out.")
    return found[0] if found else None


# -- the tables ------------------------------------------------------------------------------------


def _option(name: str, metavar: str | None, kind: Any, help: str, **more: Any) -> click.Option:
    return option(name, metavar=metavar, type=kind, help=help, **more)


def _flag(name: str, help: str) -> click.Option:
    return option(name, is_flag=True, help=help)


_JSON = option("--json", "as_json", is_flag=True, help="Print one JSON object.")

INPUT = click.Argument(["input"], type=Input(), metavar="INPUT")
INPUTS = click.Argument(["inputs"], type=Input(), nargs=-1, required=True, metavar="INPUT...")
MODEL = click.Argument(["model"], type=click.Path(), metavar="MODEL")
MODELS = click.Argument(["models"], type=click.Path(), nargs=-1, required=True, metavar="MODEL...")
MODEL_OUTPUT = option(
    "-o", "--output", type=click.Path(), required=True, metavar="MODEL",
    help="File to save the model to.",
)  # fmt: skip
FOR_CLASSES, FOR_TARGETS = "srda", "reducedrank"  # the methods without --method
METHOD = option(
    "--method", type=MethodName(), metavar="NAME",
    help=f"One of {', '.join(METHOD_NAMES)}. Instead of srda, onlinesrda is fitted to sparse files "
    f"of more than 8,192 columns.  [default: {FOR_CLASSES}; with --target: {FOR_TARGETS}]",
)  # fmt: skip
THEN = option(
    "--then", type=MethodNameOrNone(), metavar="NAME",
    help="Method that predicts by the columns that a selection such as ocfs keeps, or none.  "
    "[default: srda, or reducedrank for targets, where the input can be read twice]",
)  # fmt: skip
LIKE = option(
    "--like", type=click.Path(), metavar="MODEL",
    help="Take method, parameters and columns of MODEL, and learn nothing from its rows, so that "
    "both can be merged.",
)  # fmt: skip
# parameters of methods with an option, and its help; what they take, their constraints say
PARAMETERS = {
    "n_features": ("P", "Features to select: a number, a fraction, or cv."),
    "energy": (
        "SHARE",
        "Select the fewest features with this share of the total score; 0.8 if no size is given.",
    ),
    "start": ("A,B,…", "Columns to select first (forwardfs): names, or numbers from 0."),
    "standardize": (
        "A,B,…",
        "Columns to standardise (srda, kernelsrda, lda, mmc, pca, pls, reducedrank): names, "
        "numbers from 0, or all.",
    ),
    "threshold": ("SCORE", "Select the features with at least this score."),
    "n_components": (
        "P",
        "Number of components, cv (oc, srda, lda), or a share of the variance (pca); by default "
        "c - 1, c, 2 or the rank, depending on the method. lda can have more than c - 1.",
    ),
    "priors": ("PRIORS", "Class priors: empirical, sqrt, balanced or p1,p2,…"),
    "eps": ("EPS", "Weight of the within-class scatter (mmcfs, mmc, immc), or cv (mmc)."),
    "theta": ("THETA", "Shift of immc: auto, a number or t1,t2,…"),
    "mu": ("MU", "Ridge of lda: auto, scale, cv or a number; a number for idrqr."),
    "alpha": ("ALPHA", "Ridge of srda: auto, scale, cv or a number."),
    "ridge": ("RIDGE", "Ridge of forwardfs: auto or a number."),
    "head": ("H", "Columns that are candidates with more than 8,192 columns (forwardfs)."),
    "half_life": ("ROWS", "Rows after which the weight of a row is halved."),
    "keep": (
        "N",
        "Rows that the model file keeps to choose parameters and calibrate probabilities; 0 or "
        "none: sums only.  [default: 2000]",
    ),
}
METHOD_PARAMETERS = (
    *(
        _option(flag(name), metavar, str, help)
        for name, (metavar, help) in PARAMETERS.items()
    ),
    option(
        "--param", "params", multiple=True, metavar="NAME=VALUE",
        help="Any other parameter of the method; may be given several times.",
    ),
)  # fmt: skip
LABELS = _option(
    "--labels", None, click.Choice(LABEL_TYPES),
    "Type of all labels.  [default: that of the model, or of the first chunk]",
)  # fmt: skip
READING = (
    _option(
        "--label", "NAME", str,
        "Column (of obs in .h5ad), JSON key, npz array or .npy file of labels.",
    ),
    option(
        "--target", metavar="NAME", multiple=True,
        help="Column, JSON key, npz array or .npy file of numbers to predict, in place of --label; "
        "may be given several times. In svmlight, a name for the number before the columns, such "
        "as label.",
    ),
    LABELS,
    option(
        "--text", metavar="COLUMN", multiple=True,
        help="Column or JSON key that holds texts; may be given several times to join texts. "
        " [default: text in JSON lines]",
    ),
    _option("--vector", "COLUMN", str, "Parquet column of lists that holds the samples."),
    _option("--split", "NAME", str, "Read only the JSON lines whose `split` is NAME."),
    _option("--width", "D", click.IntRange(1, _MOST_COLUMNS), "Number of columns."),
    _option(
        "--separator", "CHARACTER", str,
        "What is between the cells of CSV and TSV files, such as ';', '|' or ' '.  [default: that "
        "of the suffix]",
    ),
    _option(
        "--encoding", "NAME", str,
        "Encoding of CSV, TSV and JSON lines, such as cp1252 (Windows) or utf-16-le.  [default: "
        "that of the byte order mark, or UTF-8]",
    ),
    _flag("--no-header", "The first row of CSV and TSV files is a sample; columns are x0, x1, …"),
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
ON_ERROR = (
    _option(
        "--on-error", None, click.Choice(["stop", "skip", "missing"]),
        "What to do with a row that cannot be read: stop; skip and list it; or take a cell of a "
        "table, or a text, for missing, and skip rows with other errors.  [default: stop]",
    ),
    _option("--skipped", "FILE", click.Path(), "Write the rows that were skipped to FILE."),
)  # fmt: skip
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
    _option(
        "--ngram-range", "LOW,HIGH", str,
        "The fewest and the most words of a term.  [default: 1,1]",
    ),
    _option(
        "--min-df", "N", str,
        "Ignore terms that occur in fewer than N texts, or than this share of them: .01.",
    ),
    _option(
        "--max-df", "N", str,
        "Ignore terms that occur in more than N texts, or than this share of them: .5.",
    ),
    _option("--max-features", "N", click.IntRange(1), "Keep the N most frequent terms."),
)  # fmt: skip
TABLES = (
    _flag("--table", "Columns hold anything: numbers, categories, dates, texts, missing values."),
    _option("--categories", "A,B,…", Listed(), "Columns of a table that are categories."),
    _option("--numbers", "A,B,…", Listed(), "Columns of a table that are numbers."),
    _option("--drop", "A,B,…", Listed(), "Columns of a table to leave out."),
    _option("--columns", "A,B,…", Listed(), "Columns of a table to use, without all others."),
    _option(
        "--dates", None, click.Choice(["auto", "day-first", "month-first"]),
        "How to read dates such as 03.04.2024 where no number above 12 shows it.",
    ),
    _option(
        "--splines", "K", click.IntRange(0),
        "Knots of the curves that a number of a table becomes; 0: a straight line.  [default: 8]",
    ),
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
