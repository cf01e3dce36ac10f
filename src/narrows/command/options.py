"""What is given on the command line: tables of options, and what is made of their values."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from narrows import families
from narrows.io.chunk import Options
from narrows.io.lines import MAX_LINE_MB
from narrows.io.store import is_checkpoint
from narrows.solve.errors import DataError, ParameterError
from narrows.text import MOST, HashedTfidf, Tfidf

METHODS: dict[str, Any] = {
    name.lower(): families.METHODS[name] for name in sorted(families.METHODS, key=str.lower)
}
_MOST_OF_WORDS = 16_000_000  # characters, as all of them are held


def _whole_or_float(digits: str) -> int | float:
    """A whole number; as a float where it is larger than those of NumPy."""
    return int(digits) if len(digits) < 20 else float(digits)


class _Number(click.ParamType):
    """A whole number, or else a fraction."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        for kind in (_whole_or_float, float):
            try:
                return kind(value)
            except ValueError:
                continue
        self.fail(f"{value!r} is not a number.", param, ctx)


class _Values(click.ParamType):
    """A word, a number, or a list of numbers with commas."""

    name = "value"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            numbers = [float(part) for part in value.split(",")]
        except ValueError:
            if "," in value:
                self.fail(f"{value!r} is no list of numbers.", param, ctx)
            return value
        return numbers if "," in value else numbers[0]


METHOD_OPTIONS = (
    click.option(
        "--n-features", type=_Number(), metavar="P", help="Columns to keep: a number or a fraction."
    ),
    click.option(
        "--energy",
        type=float,
        metavar="SHARE",
        help="Keep the fewest columns with this share of the score; 0.8 if no size is given.",
    ),
    click.option(
        "--threshold",
        type=float,
        metavar="SCORE",
        help="Keep the columns with at least this score.",
    ),
    click.option(
        "--n-components",
        type=int,
        metavar="P",
        help="Directions to keep; else c - 1, c or 2, by method.",
    ),
    click.option(
        "--priors",
        type=_Values(),
        metavar="PRIORS",
        help="What classes weigh: empirical, sqrt, balanced, or p1,p2,…",
    ),
    click.option(
        "--eps",
        type=float,
        metavar="EPS",
        help="Weight of the spread within classes (mmcfs, mmc, immc).",
    ),
    click.option(
        "--theta",
        type=_Values(),
        metavar="THETA",
        help="Shift of immc: auto, a number, or t1,t2,…",
    ),
    click.option(
        "--mu",
        type=float,
        metavar="MU",
        help="Added to the scatter within classes (lda, idrqr).",
    ),
    click.option(
        "--alpha",
        type=float,
        metavar="ALPHA",
        help="Penalty on the directions' squares (srda).",
    ),
    click.option(
        "--half-life", type=float, metavar="ROWS", help="Rows after which a row weighs half."
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any other parameter, by its name.",
    ),
)
READ_OPTIONS = (
    click.option(
        "--label", metavar="NAME", help="What holds the labels: a column, JSON key or npz array."
    ),
    click.option("--text", metavar="KEY", help="JSON key with the text; `text` if left out."),
    click.option("--split", metavar="NAME", help="Only JSON lines whose `split` is NAME."),
    click.option(
        "--width", type=click.IntRange(1, 2**31 - 1), metavar="D", help="Number of columns."
    ),
    click.option("--zero-based", is_flag=True, help="svmlight columns count from 0."),
    click.option("--one-based", is_flag=True, help="svmlight columns count from 1."),
    click.option(
        "--chunk-rows",
        type=click.IntRange(1),
        default=10_000,
        show_default=True,
        metavar="ROWS",
        help="Rows read at a time.",
    ),
    click.option(
        "--max-line-mb",
        type=click.IntRange(1),
        default=MAX_LINE_MB,
        show_default=True,
        metavar="MB",
        help="Longest line of a text file.",
    ),
)
_READING = ("label", "text", "split", "width", "zero_based", "chunk_rows", "max_line_mb")
WRITE_OPTIONS = (
    click.option(
        "--csv-safe",
        is_flag=True,
        help="In CSV, put ' before names and text labels that begin with = + - @, tab or CR.",
    ),
)
TEXT_OPTIONS = (
    click.option(
        "--vectorizer",
        type=click.Choice(["tfidf", "hashing"]),
        help="Columns of texts: one a term, or hashed.  [default: tfidf]",
    ),
    click.option(
        "--hash-columns",
        type=click.IntRange(1, MOST),
        metavar="D",
        help="Hashed columns.  [default: 1048576]",
    ),
    click.option("--stop-words", metavar="WORDS", help="english, or a file of one word a line."),
    click.option(
        "--min-df", type=click.IntRange(1), metavar="N", help="Only terms that N texts have."
    ),
)
ENGINE_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        default="local",
        show_default=True,
        help="Run here, or each file on a worker of a Dask cluster.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Of a running cluster, as tcp://host:8786; else one is started here.",
    ),
)
KEEP_OPTIONS = (
    click.option("--checkpoint", metavar="FILE", help="Keep there what is learnt on the way."),
    click.option(
        "--every",
        type=click.IntRange(1),
        metavar="ROWS",
        help="Write the checkpoint after so many rows.  [default: 100000]",
    ),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one."),
    click.option(
        "--from-position",
        is_flag=True,
        help="With --resume: standard input begins where the checkpoint was made.",
    ),
)


def having(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return a decorator that gives a verb these options, in their order."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def whole_numbers(flag: str, value: str) -> list[int]:
    """Return the numbers of a list with commas; ParameterError names the flag."""
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise ParameterError(f"{flag} {value}: whole numbers with commas wanted.") from None


def as_typed() -> str:
    """The command of the moment, for a shell: its arguments, and the options that were given."""
    context = click.get_current_context()
    words = ["narrows", context.command.name or ""]
    for parameter in context.command.params:
        name, value = parameter.name or "", context.params[parameter.name or ""]
        if context.get_parameter_source(name) != ParameterSource.COMMANDLINE:
            continue
        flags = parameter.secondary_opts if value is False else parameter.opts
        words += flags[-1:] if isinstance(parameter, click.Option) else []
        words += [] if isinstance(value, bool) else [str(value)]
    return shlex.join(words)


def reading(given: dict[str, Any], labels_required: bool = False) -> Options:
    """Take the reading options out of `given`."""
    zero_based, one_based = given.pop("zero_based"), given.pop("one_based")
    if zero_based and one_based:
        raise ParameterError("--zero-based and --one-based exclude each other.")
    given["zero_based"] = zero_based if zero_based or one_based else None
    return Options(**{name: given.pop(name) for name in _READING}, labels_required=labels_required)


def as_given(options: Options) -> dict[str, Any]:
    """Return reading options by name, as functions take them."""
    return {name: getattr(options, name) for name in _READING}


def options_of_model(estimator: Any, model: str, options: Options, wider: bool = False) -> Options:
    """Let files become the columns that the model was fitted to, or more if they may be wider."""
    source = estimator._source
    width, base = options.width, options.zero_based
    wider = wider and estimator._column_names() is None
    if width not in (None, estimator.n_features_in_) and not wider:
        raise ParameterError(
            f"--width {width}, but {model} was fitted to {estimator.n_features_in_} columns."
        )
    if source is not None and base is not None and source.zero_based not in (None, base):
        counted = "zero" if source.zero_based else "one"
        raise ParameterError(f"{model} was fitted to columns that are {counted}-based.")
    return options.replace(
        width=width if wider else estimator.n_features_in_, columns=estimator._file_columns()
    )


def estimator_of(method: str, given: dict[str, Any], params: tuple[str, ...]) -> Any:
    """Return the method's estimator, with the parameters of `given` and of NAME=VALUE pairs."""
    estimator = METHODS[method.lower()]()
    chosen = {name: value for name, value in given.items() if value is not None}
    for pair in params:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--param {pair}: NAME=VALUE wanted.")
        if name in chosen:
            raise ParameterError(f"--param {pair}: {name} was given already.")
        try:
            chosen[name] = json.loads(value, parse_int=_whole_or_float)
        except RecursionError:
            raise ParameterError(f"--param {name}: expected a value, got nested lists.") from None
        except ValueError:
            chosen[name] = value
    known = estimator.get_params()
    for name in chosen:
        if name not in known:
            raise ParameterError(
                f"{method} has no parameter {name!r}; it has {', '.join(sorted(known))}."
            )
    return estimator.set_params(**chosen)


def check_output(path: str, *inputs: str) -> None:
    """Raise before the work is done, not after, where its result could not be written."""
    folder = os.path.dirname(path) or "."
    if path != "-" and not os.path.isdir(folder):
        raise ParameterError(f"{path}: there is no folder {folder}.")
    if os.path.isdir(path):
        raise ParameterError(f"{path}: a file wanted, but this is a folder.")
    if path != "-" and not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ParameterError(f"{path}: it cannot be written there; permission is denied.")
    for source in inputs:
        if os.path.isfile(path) and os.path.exists(source) and os.path.samefile(path, source):
            raise ParameterError(f"{path}: this is what is read; write to another file.")


def check_checkpoint(path: str, output: str, *inputs: str) -> None:
    """Raise where a checkpoint would take the place of something else: at the end it goes."""
    if path == "-":
        raise ParameterError("--checkpoint wants a file, but - came.")
    check_output(path, *inputs)
    if os.path.realpath(path) == os.path.realpath(output):
        raise ParameterError(f"{path}: the checkpoint and the model are one file; name two.")
    if os.path.exists(path) and not is_checkpoint(path):
        raise ParameterError(
            f"{path}: this is there, and is no checkpoint. Name another file, or remove it."
        )


def keeping(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of checkpoints out of `given`."""
    keep = {name: given.pop(name) for name in ("checkpoint", "every", "resume", "from_position")}
    if keep["checkpoint"] is None and keep["resume"]:
        raise ParameterError("--resume goes with --checkpoint FILE, which says what from.")
    if keep["checkpoint"] is None and keep["every"] is not None:
        raise ParameterError("--every goes with --checkpoint FILE, which is written so often.")
    if keep["from_position"] and not keep["resume"]:
        raise ParameterError("--from-position goes with --resume.")
    return keep | {"every": keep["every"] or 100_000}


def cluster_of(given: dict[str, Any], *not_there: str) -> dict[str, Any] | None:
    """Take the options of engines out of `given`: what says which cluster; None is here.

    `not_there` names options that were given and are of no use on a cluster.
    """
    engine, scheduler = given.pop("engine"), given.pop("scheduler")
    if engine == "local":
        if scheduler is not None:
            raise ParameterError("--scheduler goes with --engine dask.")
        return None
    for flag in not_there:
        raise ParameterError(f"{flag} is for one machine, and not for --engine dask.")
    return {"client": scheduler, "progress": sys.stderr.isatty()}


def texts_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of texts out of `given`: the vectoriser, and the sample it counts.

    Both are None where nothing was given.
    """
    kind, columns, words, least = (
        given.pop(name) for name in ("vectorizer", "hash_columns", "stop_words", "min_df")
    )
    sample = given.pop("idf_sample", None)
    if words not in (None, "english"):
        words = _words_of(words)
    if kind == "hashing" and least is not None:
        raise ParameterError("--min-df goes with --vectorizer tfidf: hashed terms are not kept.")
    if kind != "hashing" and columns is not None:
        raise ParameterError("--hash-columns goes with --vectorizer hashing.")
    if kind is words is least is None:
        return {"vectoriser": None, "sample": sample}
    made = Tfidf(words, least or 1) if kind != "hashing" else HashedTfidf(columns or 2**20, words)
    return {"vectoriser": made, "sample": sample}


def check_for_texts(texts: dict[str, Any], is_text: bool, name: str) -> None:
    """Raise where options of texts were given for numbers."""
    if not is_text and any(value is not None for value in texts.values()):
        raise ParameterError(f"{name}: --vectorizer and the like are for texts (.jsonl).")


def _words_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            words = file.read(_MOST_OF_WORDS + 1)
    except UnicodeDecodeError as error:
        raise DataError(path, f"words in UTF-8 wanted, but {error}.") from None
    if len(words) > _MOST_OF_WORDS:
        raise DataError(path, "expected stop words of at most 16 MB, got more. Name another file.")
    return words.split()
