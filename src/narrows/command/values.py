"""The values of the options: converted to the objects that they describe, and checked."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from narrows.command import options as tables
from narrows.command.console import say
from narrows.errors import ParameterError, did_you_mean, some_names
from narrows.io.addresses import check_address
from narrows.io.chunk import Options, check_columns, for_targets
from narrows.io.container import is_checkpoint
from narrows.io.dataset import first_cells
from narrows.io.formats.base import damage_named
from narrows.io.kinds import SUFFIXES
from narrows.io.labels import as_in_model
from narrows.io.options import READING
from narrows.io.streams import display_name
from narrows.io.table_rows import are_numbers
from narrows.methods.methods import METHODS
from narrows.methods.names import column_names, file_columns, source_of
from narrows.methods.parameters import ANY, Constraint, constraints_of
from narrows.removed import check_removed, check_removed_value

if TYPE_CHECKING:
    from narrows.text import Vectoriser

_READING = tuple(each.name for each in READING)
_OF_LINES = "separator", "encoding", "no_header"
_OF_TEXTS = tuple(str(each.name) for each in (*tables.TEXTS, tables.IDF_SAMPLE))
OF_TABLES = tuple(str(each.name) for each in tables.TABLES)
OF_BOTH = ("half_life", "keep")  # parameters of a selection and of what predicts behind it
MANY, FOR_MANY = 2000, "onlinesrda"  # selected columns, and what predicts by more


# -- estimators and models -----------------------------------------------------------------------


def class_of(method: str) -> Any:
    """Return the class of a method as it is named at the command line."""
    return METHODS[tables.METHOD_NAMES[method]]


def method_of(method: str | None, target: tuple[str, ...]) -> Any:
    """Return the class of a method, by default of that for classes or targets."""
    return class_of(method or (tables.FOR_TARGETS if target else tables.FOR_CLASSES))


def predicting(numeric: bool) -> list[str]:
    """Return the names of the methods that predict numbers, or of those that predict classes."""
    made = {name: class_of(name)() for name in tables.METHOD_NAMES}
    able = (name for name, each in made.items() if hasattr(each, "predict"))
    return [name for name in able if bool(made[name]._takes_numbers) == numeric]


def check_then(given: dict[str, Any], estimator: Any) -> None:
    """Raise where --then names no method that predicts what an estimator selects columns for."""
    name, allowed = given["then"], ["none", *predicting(bool(estimator._takes_numbers))]
    if name is not None and not estimator._selects:
        refuse(given, ["then"], "a selection such as ocfs", type(estimator).__name__.lower())
    if name not in (None, *allowed):
        raise ParameterError(f"--then: expected one of {', '.join(allowed)}, got {name}.")
    if name not in (None, "none") and given["engine"] != "local":
        refuse(given, ["then"], "--engine local", f"--engine {given['engine']}")


def make_then(given: dict[str, Any], estimator: Any, n_chosen: int, several: bool) -> Any:
    """Return the estimator that predicts by the columns that a fitted one selected.

    `several`: whether rows have several labels.
    """
    usual = tables.FOR_TARGETS if estimator._takes_numbers else "srda"
    if not estimator._takes_numbers and (several or n_chosen > MANY):
        usual = FOR_MANY
    return _with(class_of(given["then"] or usual)(), given_of(given, OF_BOTH))


def make_estimator(method: Any, given: dict[str, Any], params: tuple[str, ...]) -> Any:
    """Return an estimator with the parameters among the options, and those of NAME=VALUE pairs."""
    estimator = method()
    known = estimator.get_params()
    chosen = given_of(given, tables.PARAMETERS)
    if estimator._selects and given["then"] != "none" and "keep" not in known:
        chosen.pop("keep", None)  # of what predicts
    for pair in params:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--param: expected NAME=VALUE, got {pair}.")
        chosen[key] = value
    for name in [name for name in chosen if name not in known]:
        check_removed(method.__name__, [name])
        others = [each for each in tables.METHOD_NAMES if name in class_of(each)().get_params()]
        shown = tables.flag(name) if name in tables.PARAMETERS else name
        hint = f"Methods with {shown}: {', '.join(others)}."
        hint = hint if others else did_you_mean(name, known)
        raise ParameterError(f"expected a parameter of {method.__name__}, got {name!r}. {hint}")
    return _with(estimator, chosen)


def given_of(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of some options that were given."""
    return {name: given[name] for name in names if given[name] is not None}


def _with(estimator: Any, chosen: dict[str, Any]) -> Any:
    """Return an estimator with parameters, or texts that say these, allowed by its constraints."""
    constraints = constraints_of(estimator.__class__)
    for name, value in chosen.items():
        constraint = constraints.get(name, ANY)
        value = as_allowed(value, constraint) if isinstance(value, str) else value
        check_removed_value(type(estimator).__name__, name, value)
        constraint.check(name, value)
        estimator.set_params(**{name: value})
    return estimator


def as_allowed(text: str, constraint: Constraint) -> Any:
    """Return the first of the values that a text may stand for that a constraint allows.

    They are a value as in JSON or a number, a list of numbers, a tuple as in JSON, 0 and None for
    none, and the text. Features are a list of names; all and true are True.
    """
    values: list[Any] = []
    readers: list[Callable[[str], Any]] = [
        _json,
        lambda text: [float(part) for part in text.split(",")],
        lambda text: tuple(_json(f"[{text}]")),
    ]
    if constraint.lists_features:
        readers = [_json] if text.startswith("[") else []
    for read in readers:
        with suppress(ValueError):
            values.append(read(text))
    if constraint.lists_features:
        values.append({"all": True, "true": True, "false": False}.get(text, text.split(",")))
    values += [None, 0] if text == "none" else [text]
    return next(filter(constraint.allows, values), values[0])


def _json(text: str) -> Any:
    """Return a value as in JSON, or a number such as .5; ValueError for others."""
    try:
        # integers beyond those of NumPy are floats
        return json.loads(text, parse_int=lambda n: int(n) if len(n) < 20 else float(n))
    except RecursionError:
        raise ValueError(text[:10]) from None
    except ValueError:
        return float(text)


def make_for_many(given: dict[str, Any], params: tuple[str, ...]) -> Any:
    """Return the estimator for files of more columns than srda learns, and say that it is used."""
    say(
        f"srda learns at most 8,192 columns of files: fitting {FOR_MANY}, which learns more in one "
        "pass."
    )
    return make_estimator(class_of(FOR_MANY), given, params)


def supported(estimator: Any, method: str) -> Any:
    """Return a method of an estimator; ParameterError says what to use instead of another."""
    try:
        return getattr(estimator, method)
    except AttributeError as error:
        raise ParameterError(str(error)) from None


# -- reading -------------------------------------------------------------------------------------


def read_options(given: dict[str, Any], labels_required: bool = False) -> Options:
    """Return how to read files."""
    named = bool(given["label"] or given["target"])
    names = [name for name in (*_READING, "on_error") if given.get(name) not in (None, ())]
    return Options(
        **{name: given[name] for name in names}, labels_required=labels_required, named=named
    )


def read_arguments(options: Options) -> dict[str, Any]:
    """Return how to read files as keyword arguments of `fit` and `transform` on a cluster."""
    return {name: getattr(options, name) for name in _READING if name not in _OF_LINES}


def options_of_model(
    estimator: Any, model: str, options: Options, may_be_wider: bool = False
) -> Options:
    """Return options by which files get the columns, and the type of labels, of a model.

    With `may_be_wider`, for an update, files without names of columns may have more of them.
    """
    source, n_features = source_of(estimator), estimator.n_features_in_
    width, base = options.width, options.zero_based
    options = for_targets(estimator, options, source)
    options = as_in_model(options, estimator, may_have_more=True)
    may_be_wider = may_be_wider and column_names(estimator) is None
    if not may_be_wider and width not in (None, n_features):
        raise ParameterError(f"--width: expected {n_features}, as of {model}, got {width}.")
    if source is not None and base is not None and source.zero_based not in (None, base):
        given, expected = (f"--{'zero' if b else 'one'}-based" for b in (base, source.zero_based))
        raise ParameterError(f"{given}: expected {expected}, as {model} was fitted. Leave it out.")
    return options.replace(
        width=width or (None if may_be_wider else n_features), columns=file_columns(estimator)
    )


# -- texts ---------------------------------------------------------------------------------------


def make_vectoriser(given: dict[str, Any]) -> Vectoriser | None:
    """Return the vectoriser that the options of texts describe; None where none was given."""
    from narrows.text import HashedTfidf, Tfidf

    is_hashed = given["vectorizer"] == "hashing"
    chosen = given_of(given, ("stop_words", "ngram_range", "min_df", "max_df", "max_features"))
    if chosen.get("stop_words", "english") != "english":
        chosen["stop_words"] = _read_words(chosen["stop_words"])
    if is_hashed:
        return _with(HashedTfidf(given["hash_columns"] or 2**20), chosen)
    return _with(Tfidf(), chosen) if chosen or given["vectorizer"] else None


def as_table(
    files: Sequence[str], reading: Options, given: dict[str, Any], maker: Vectoriser | None
) -> tuple[Options, Any]:
    """Return how to read files and what makes samples of them, where they are tables.

    That is where an option of tables was given, or where the first rows of a file show it.
    """
    asked = [name for name in OF_TABLES if tables.is_set(given[name])]
    texts, cells = reading.text or (), None
    if not (asked or reading.vector or (maker is not None and not texts)):
        cells = first_cells(files[0], reading)
    if not asked and (maker is not None or texts or cells is None or are_numbers(cells)):
        if texts and (unread := [column for column in cells or () if column not in texts]):
            columns = some_names(unread, 10)
            say(f"{files[0]}: columns that are not read: {columns}. Add --table to use them, too.")
        return reading, maker
    from narrows.table import TableEncoder

    chosen = given_of(given, ("categories", "numbers", "drop", "splines", "dates"))
    if tables.one_of(given, "columns", "drop") == "columns":
        chosen["drop"] = _others(files[0], reading, given["columns"])
    encoder = _with(TableEncoder(text=list(reading.text) if reading.text else None), chosen)
    return reading.replace(table=True, text=None), encoder


def _others(file: str, reading: Options, wanted: list[str]) -> list[str]:
    """Return the columns of a table that --columns leaves out."""
    found = list(first_cells(file, reading) or ())
    check_columns(found, wanted, "columns", display_name(file))
    return [name for name in found if name not in wanted]


def check_like_options(given: dict[str, Any]) -> None:
    """Raise where an option was given beside --like that the model has decided on."""
    on_cluster(given, "fit", "like")
    free = {*_READING, "engine", "like", "on_error", "skipped"}
    refuse(given, [name for name in given if name not in free], "no --like", "one")


def check_text_options(given: dict[str, Any], is_text: bool, path: str) -> None:
    """Raise where options of texts were given for numbers."""
    unread = [name for name in _OF_TEXTS if name in given and not is_text]
    got = f"numbers in {path}, of which --text COLUMN reads texts"
    refuse(given, unread, f"texts ({SUFFIXES['texts']})", got)


def _read_words(path: str) -> list[str]:
    with (
        open(path, encoding="utf-8-sig") as file,
        damage_named(path, "expected stop words in UTF-8, got other bytes"),
    ):
        return file.read().split()


# -- outputs, checkpoints and clusters -----------------------------------------------------------


def check_output(path: str, *inputs: str, given: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Raise, before any work is done, where a result cannot be written.

    Files of labels, targets and stop words that options name are inputs, too.
    """
    if path == "-" and sys.stdout is None:
        raise ParameterError("-o -: expected standard output, got a closed one. Write to a file.")
    if path == "-":
        return
    check_address(path, "Write to a file, and upload it.")
    folder, words = os.path.dirname(path) or ".", given.get("stop_words")
    beside = given.get("label") or "", *(given.get("target") or ())
    read = *inputs, *(name for name in beside if name.endswith(".npy")), words or ""
    exists = os.path.exists(path)
    wrong = {
        f"a folder {folder}, got none. Create it first.": not os.path.isdir(folder),
        "a file, got a folder.": os.path.isdir(path),
        "permission to write, got none. Write to another file.": not os.access(
            path if exists else folder, os.W_OK
        ),
        "an output, got an input. Write to another file.": os.path.isfile(path)
        and any(os.path.exists(each) and os.path.samefile(path, each) for each in read),
    }
    for problem, found in wrong.items():
        if found:
            raise ParameterError(f"{path}: expected {problem}")


def check_skipping(given: dict[str, Any], dataset: Any, *files: str) -> None:
    """Raise where the options of rows that cannot be read do not suit the files."""
    name = dataset.format.name
    if given["on_error"] == "missing" and dataset.holds == "numbers":
        raise ParameterError(f"--on-error: expected skip for numbers of {name}, got missing.")
    if given["skipped"] is not None:
        check_output(given["skipped"], *files)
        if dataset.format.kind.is_binary:
            refuse(given, ["skipped"], "files of text", f"{name}, whose rows are listed")


def check_checkpoint_path(path: str, output: str, *inputs: str) -> None:
    """Raise where a checkpoint would overwrite another file; a finished run removes it."""
    check_output(path, *inputs)
    if os.path.realpath(path) == os.path.realpath(output):
        raise ParameterError(f"{path}: expected a checkpoint, got the model. Name another file.")
    if path == "-" or (os.path.exists(path) and not is_checkpoint(path)):
        raise ParameterError(f"{path}: expected a checkpoint, got another file. Name another one.")


def on_cluster(given: dict[str, Any], verb: str, *local_only: str) -> Callable[..., Any] | None:
    """Return the function that does the work of a verb on a cluster; None is this machine.

    `local_only` names options that are not available on a cluster.
    """
    engine = given["engine"]
    if engine == "local":
        return None
    refuse(given, (*local_only, *_OF_LINES), "--engine local", f"--engine {engine}")
    if engine == "dask":
        from narrows.engines.dask import fit, transform

        return partial(fit if verb == "fit" else transform, client=given["scheduler"])
    from narrows.spark import fit_files, transform_files

    return partial(fit_files if verb == "fit" else transform_files, session=given["master"])


def refuse(given: dict[str, Any], names: Iterable[str], expected: str, got: str) -> None:
    """Raise where one of these options was given, which need something else."""
    for name in names:
        if tables.is_set(given[name]):
            raise ParameterError(
                f"{tables.flag(name)}: expected {expected}, got {got}. Leave it out."
            )


def as_typed() -> str:
    """Return the command that is being run, as a line for a shell."""
    command = click.get_current_context().command
    return shlex.join(["narrows", command.name or "", *_typed(p.name for p in command.params)])


def to_fit(inputs: Sequence[str], method: str, dimensions: int, *more: str) -> str | None:
    """Return the command that fits a compared method to whole files; None for other methods.

    `inputs` are files and patterns as they were typed; `more` are further words of the command.
    """
    if method not in tables.METHOD_NAMES:
        return None
    chooses = class_of(method)().get_params()
    size = "n_components" if "n_components" in chooses else "n_features"
    found = _typed((*_READING, *_OF_TEXTS, *OF_TABLES))
    found += ["--method", method, tables.flag(size), str(dimensions), *more]
    return shlex.join(["narrows", "fit", *inputs, *found, "-o", "model.narrows"])


def _typed(names: Iterable[str | None]) -> list[str]:
    """Return those of these arguments and options that were typed, as words."""
    context, words = click.get_current_context(), list[str]()
    known = {parameter.name: parameter for parameter in context.command.params}
    for name in names:
        typed = context.get_parameter_source(name or "") == ParameterSource.COMMANDLINE
        if name not in known or not typed:
            continue
        parameter, value = known[name], context.params[name]
        many = parameter.nargs == -1 or getattr(parameter, "multiple", False)
        for each in value if many else (value,):
            flags = parameter.secondary_opts if each is False else parameter.opts
            words += flags[-1:] if isinstance(parameter, click.Option) else []
            text = ",".join(map(str, each)) if isinstance(each, list) else str(each)
            words += [] if isinstance(each, bool) else [text]
    return words
