"""The command line: verbs over the library."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.core import ParameterSource
from sklearn.utils import get_tags
from tqdm import tqdm

import narrows
from narrows.checkpoint import Checkpoint
from narrows.errors import DataError, ParameterError
from narrows.evaluate import gathered
from narrows.evaluate.describe import described, details, printable, summary
from narrows.families._base import Estimator
from narrows.interrupts import between
from narrows.read import Dataset
from narrows.read.ahead import ahead
from narrows.read.chunk import Chunk, Options
from narrows.runs import Run
from narrows.store import is_checkpoint, load, save
from narrows.text import MOST, HashedTfidf, Tfidf
from narrows.write import format_of, rows_in, writer

METHODS: dict[str, Any] = {
    name.lower(): method
    for name in narrows.__all__
    if isinstance(method := getattr(narrows, name), type) and issubclass(method, Estimator)
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return its exit status: 0, 1 for data, 2 for usage, 130 for Ctrl-C."""
    if threading.current_thread() is threading.main_thread():  # so that what is half done goes
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if not (sys.argv[1:] if arguments is None else arguments):
        click.echo(cli.get_help(click.Context(cli, info_name="narrows")), err=True)
        return 2
    warnings.showwarning = _warn
    try:
        return cli.main(arguments, prog_name="narrows", standalone_mode=False) or 0
    except click.ClickException as error:
        _say(error.format_message())
        return 2
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; no file was changed.")
        return 130
    except FileNotFoundError as error:
        _say(f"{error.strerror or error}: {error.filename}")
        return 2
    except (ParameterError, ImportError) as error:
        _say(str(error))
        return 2
    except IsADirectoryError as error:
        _say(f"{error.filename}: a file wanted, but this is a folder.")
        return 2
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        _say(f"not enough memory for a state of this many classes and columns. {error}")
        return 1
    except (ValueError, TypeError, OSError) as error:
        _say(str(error))
        return 1


def _warn(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    if not issubclass(category, DeprecationWarning):  # those are for who writes the library
        _say(f"warning: {message}")


def _say(message: str) -> None:
    print("narrows:", " ".join(message.split()), file=sys.stderr)  # noqa: T201 - one line


class _Number(click.ParamType):
    """A whole number, or else a fraction."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        for kind in (int, float):
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


_METHOD_OPTIONS = (
    click.option("--n-features", type=_Number(), help="Columns to keep: a number or a fraction."),
    click.option("--energy", type=float, help="Keep the fewest columns with this share of score."),
    click.option("--threshold", type=float, help="Keep the columns with at least this score."),
    click.option("--n-components", type=int, help="Directions to keep."),
    click.option("--priors", type=_Values(), help="empirical, sqrt, balanced, or p1,p2,…"),
    click.option(
        "--eps", type=float, help="Weight of the spread within classes (mmcfs, mmc, immc)."
    ),
    click.option("--theta", type=_Values(), help="Shift of immc: auto, a number, or t1,t2,…"),
    click.option("--mu", type=float, help="Added to the scatter within classes (lda, idrqr)."),
    click.option("--alpha", type=float, help="Penalty on the directions' squares (srda)."),
    click.option(
        "--half-life", type=float, metavar="ROWS", help="Rows after which a row weighs half."
    ),
    click.option(
        "--param", "params", multiple=True, metavar="NAME=VALUE", help="Any other parameter."
    ),
)
_READ_OPTIONS = (
    click.option("--label", help="What holds the labels: CSV column, JSON key, npz array."),
    click.option("--text", help="JSON key with the text; `text` if left out."),
    click.option("--split", metavar="NAME", help="Only JSON lines whose `split` is NAME."),
    click.option("--width", type=click.IntRange(1), metavar="D", help="Number of columns."),
    click.option(
        "--zero-based/--one-based", default=None, help="svmlight columns count from 0 or 1."
    ),
    click.option(
        "--chunk-rows",
        type=click.IntRange(1),
        default=10_000,
        show_default=True,
        help="Rows read at a time.",
    ),
)
_TEXT_OPTIONS = (
    click.option(
        "--vectorizer",
        type=click.Choice(["tfidf", "hashing"]),
        help="Columns of texts: one a term, or hashed.  [default: tfidf]",
    ),
    click.option(
        "--hash-columns",
        type=click.IntRange(1, MOST),
        metavar="D",
        help="How many.  [default: 1048576]",
    ),
    click.option("--stop-words", metavar="WORDS", help="english, or a file of one word a line."),
    click.option("--min-df", type=click.IntRange(1), metavar="N", help="Only terms of N texts."),
)
_KEEP_OPTIONS = (
    click.option("--checkpoint", metavar="FILE", help="Keep there what is learnt on the way."),
    click.option(
        "--every",
        type=click.IntRange(1),
        default=100_000,
        show_default=True,
        metavar="ROWS",
        help="Write the checkpoint after so many rows.",
    ),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one."),
    click.option(
        "--from-position",
        is_flag=True,
        help="With --resume: standard input begins where the checkpoint was made.",
    ),
)


def _with(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="narrows", message="narrows %(version)s")
def cli() -> None:
    """Supervised dimensionality reduction of large and streaming labelled data.

    Files are known by their suffix: .svm .svmlight .libsvm .csv .jsonl (each may end in .gz), .npz
    and .parquet; "-" is standard input or output. Results go to stdout, progress and errors to
    stderr.
    Exit status: 0 done, 1 something wrong inside a file, 2 wrong usage, 130 interrupted.
    """


@cli.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--method",
    required=True,
    type=click.Choice(list(METHODS), case_sensitive=False),
    metavar="NAME",
    help=f"One of {', '.join(METHODS)}.",
)
@click.option("-o", "--output", required=True, metavar="MODEL", help="File for the model.")
@_with(_METHOD_OPTIONS)
@_with(_READ_OPTIONS)
@_with(_TEXT_OPTIONS)
@click.option(
    "--idf-sample",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Count the terms of the first ROWS texts only, and read once: for an endless pipe.",
)
@_with(_KEEP_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def fit(
    inputs: tuple[str, ...], method: str, output: str, params: tuple[str, ...], **given: Any
) -> int:
    """Learn a reduction from labelled data and save it.

    \b
    narrows fit train.svm --method ocfs --n-features 1000 -o model.narrows
    narrows fit mails.jsonl.gz --split train --method oc -o model.narrows
    narrows fit big.svm --method oc -o m.narrows --checkpoint c.narrows --resume
    """  # noqa: D301 - click wants the character
    as_json, keep = given.pop("as_json"), _kept(given)
    options = _options(
        given, labels_required=get_tags(METHODS[method.lower()]()).target_tags.required
    )
    texts = _texts(given)
    estimator = _estimator(method, given, params)
    _check_output(output, *inputs)
    run = _run(estimator, inputs, options, None, keep, output, **texts)
    if not run.dataset.is_text and any(value is not None for value in texts.values()):
        raise ParameterError(f"{inputs[0]}: --vectorizer and the like are for texts (.jsonl).")
    if not _learn(run, run.fit):
        return 130
    _finish(run, estimator, output, as_json)
    return 0


@cli.command()
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="MODEL", help="File for the model.")
@_with(_READ_OPTIONS)
@_with(_KEEP_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def update(model: str, inputs: tuple[str, ...], output: str, **given: Any) -> int:
    """Let a saved model learn more rows, as if it had seen them all.

    \b
    narrows update model.narrows today.svm -o model.narrows
    producer | narrows update model.narrows - -o new.narrows --checkpoint c.narrows

    Texts become rows by the terms and frequencies that were counted when the model was fitted.
    """  # noqa: D301 - click wants the character
    as_json, keep = given.pop("as_json"), _kept(given)
    _check_output(output, *inputs)
    estimator = load(model)
    _need_partial_fit(estimator)
    required = get_tags(estimator).target_tags.required
    options = _options(given, labels_required=required)
    options = _options_of_model(estimator, model, options, wider=True)
    run = _run(estimator, inputs, options, estimator.source_, keep, output, model)
    _check_kind(run.dataset, estimator, model, inputs[0])
    if not _learn(run, run.update):
        return 130
    _finish(run, estimator if run.begun is None else run.begun.estimator, output, as_json)
    return 0


@cli.command(short_help="Make one model of several, fitted to different rows.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("-o", "--output", required=True, metavar="MODEL", help="File for the model.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def merge(models: tuple[str, ...], output: str, as_json: bool) -> None:
    """Make one model of several of the same method, fitted to different rows.

    \b
    narrows merge monday.narrows tuesday.narrows -o week.narrows

    Exact for the methods whose states add up, approximate for onlinesrda.
    """  # noqa: D301 - click wants the character
    _check_output(output)
    loaded = [load(model) for model in models]
    _widen_alike(loaded)
    merged, *others = loaded
    try:
        merge_in = merged.merge
    except AttributeError as error:
        raise ParameterError(str(error)) from None
    for other, model in zip(others, models[1:], strict=True):
        try:
            merge_in(other)
        except ValueError as error:
            raise DataError(model, f"cannot be merged into {models[0]}. {error}") from None
    _save(merged, output)
    _report_model(merged, output, as_json)


@cli.command(short_help="Write the rows of a file in another format.")
@click.argument("input", metavar="INPUT")
@click.argument("output", metavar="OUTPUT")
@_with(_READ_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def convert(input: str, output: str, **given: Any) -> None:
    """Write the rows of a file in another format: the same columns, the same labels.

    \b
    narrows convert train.svm train.parquet
    narrows convert train.csv train.svm.gz

    Formats of numbers become one another; .jsonl becomes .jsonl or .jsonl.gz. What was written is
    read again, and its rows are counted.
    """  # noqa: D301 - click wants the character
    as_json = given.pop("as_json")
    _check_output(output, input)
    options = _options(given)
    dataset = Dataset([input], options)
    rows = 0

    def counted(written: str) -> None:
        found = rows_in(written, output, first)
        if found != rows:
            raise DataError(output, f"{rows:,} rows were read, but {found:,} written. {input}?")

    chunks = _progress(dataset, "converting")
    first = next(chunks)
    with writer(output, first.columns, dataset.is_text, counted) as out:
        for chunk in itertools.chain([first], chunks):
            out.write(chunk.X, chunk.y)
            rows += len(chunk.lines)
    found = {"output": output, "rows": rows}
    text = f"{rows:,} rows written to {output}"
    click.echo(json.dumps(found) if as_json else text, err=output == "-")


@cli.command()
@click.argument("model")
@click.argument("input", metavar="INPUT")
@click.option(
    "-o", "--output", required=True, help=".npz, .parquet, .svm or .csv; - for CSV on stdout."
)
@_with(_READ_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def transform(model: str, input: str, output: str, **given: Any) -> int:
    """Reduce the rows of a file with a saved model.

    \b
    narrows transform model.narrows test.svm -o reduced.npz
    narrows transform model.narrows mails.jsonl.gz --split test -o reduced.npz
    """  # noqa: D301 - click wants the character
    as_json = given.pop("as_json")
    _check_output(output, model, input)
    format_of(output)
    estimator = load(model)
    options = _options_of_model(estimator, model, _options(given))
    run = Run(estimator, [input], options, estimator.source_, _progress)
    _check_kind(run.dataset, estimator, model, input)
    rows, stopped = 0, False
    names = [printable(name) for name in estimator.get_feature_names_out()]
    with writer(output, names) as out, warnings.catch_warnings():
        # the reader has seen to it that the columns are those of the fit
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        try:
            for chunk in _progress(run.dataset, "reducing"):
                reduced = estimator.transform(run.rows(chunk))
                out.write(reduced, chunk.y)
                rows += reduced.shape[0]
        except KeyboardInterrupt:  # between two chunks: what is there is whole
            if not rows:
                raise
            stopped = True
    if stopped:
        _say(f"interrupted; {output} holds the first {rows:,} rows.")
    found = {"output": output, "rows": rows, "dimensions": len(names)}
    text = f"{rows:,} rows x {len(names):,} columns written to {output}"
    click.echo(json.dumps(found) if as_json else text, err=output == "-")
    return 130 if stopped else 0


@cli.command()
@click.argument("model")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Columns shown.")
@click.option("--per-class", is_flag=True, help="Show the best columns of each class.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(model: str, top: int, per_class: bool, as_json: bool) -> None:
    """Show what a saved model has learnt."""
    estimator = load(model)
    found = {"model": model, **summary(estimator), **details(estimator, top, per_class)}
    click.echo(json.dumps(found) if as_json else described(found))


@cli.command(short_help="See how much is left of the classes, by method and size.")
@click.argument("input", metavar="INPUT")
@click.option("--test", metavar="INPUT", help="Rows held out; else a fifth, or lines by `split`.")
@click.option("--methods", default="ocfs,oc,srda,onlinesrda", show_default=True, metavar="A,B,…")
@click.option("--dims", default="2,10,100", show_default=True, metavar="P,Q,…")
@click.option(
    "--classifier", default="svm", show_default=True, metavar="A,B", help="Of svm, knn, smo."
)
@click.option("--cv", type=click.IntRange(2), metavar="N", help="So many folds, each held out.")
@click.option("--seed", default=0, show_default=True, help="Of the rows held out.")
@click.option("--report", metavar="FILE", help="Page to write, .html; the same as .json beside it.")
@_with(_READ_OPTIONS)
@_with(_TEXT_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(
    input: str,
    test: str | None,
    methods: str,
    dims: str,
    classifier: str,
    cv: int | None,
    seed: int,
    report: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """See how much is left of the classes, by method and number of dimensions.

    \b
    narrows compare mails.jsonl.gz --methods oc,ocfs,chi2 --dims 10,100 --classifier svm,knn
    narrows compare train.svm --test test.svm --methods srda,truncatedsvd --json
    narrows compare mails.jsonl.gz --dims 3,10,100,1000 --report report.html

    Methods are those of fit, and of scikit-learn truncatedsvd, pca, sparserandomprojection, chi2,
    f_classif, lineardiscriminantanalysis. Lines of JSON with `split` are split by it.
    """  # noqa: D301 - click wants the character
    from narrows.evaluate import comparison
    from narrows.evaluate import report as page

    if test is not None and cv is not None:
        raise ParameterError("--test and --cv exclude each other.")
    sizes, judges = _whole_numbers("--dims", dims), classifier.split(",")
    made = comparison.check(methods.split(","), sizes, judges)
    inputs = [input] if test is None else [input, test]
    for output in [] if report is None else [report, page.twin_of(report)]:
        _check_output(output, *inputs)
    vectoriser = _texts(given)["vectoriser"] or Tfidf()
    data = gathered.folds(input, test, cv, seed, _options(given, labels_required=True), vectoriser)
    found: dict[Any, Any] = {}
    # all columns, and each method at each size, by each classifier
    total = len(data.folds) * (1 + len(made) * len(set(sizes))) * len(set(judges))
    stopped = False
    with tqdm(total=total, unit="", disable=None, file=sys.stderr) as bar:

        def progress(what: str) -> None:
            bar.set_description(what)
            bar.update()

        try:
            comparison.over(data.folds, made, sizes, judges, progress, found)
        except KeyboardInterrupt:
            stopped = True
    lines = comparison.mean(found)
    if as_json:
        click.echo(json.dumps({"lines": [line.as_dict() for line in lines], "stopped": stopped}))
    else:
        click.echo(comparison.table(lines))
    if report is not None:
        told = page.gather(lines, data, made, inputs, _as_typed(), stopped)
        page.write(report, told, lines, data, made)
        if not as_json:
            click.echo(f"\nreport written to {report}, and as data to {page.twin_of(report)}")
    if stopped:
        _say("interrupted; the lines above are what was done.")
    return 130 if stopped else 0


@cli.command()
@click.option(
    "-o", "--output", default="narrows-demo.png", show_default=True, help="File for the picture."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def demo(output: str, as_json: bool) -> None:
    """Run the main job on handwritten digits: a table, and a picture."""
    from narrows.evaluate import demo as digits
    from narrows.evaluate.figure import PICTURES
    from narrows.evaluate.scores import table

    _check_output(output)
    if not output.lower().endswith(PICTURES):
        raise ParameterError(f"{output}: a picture ends in {', '.join(PICTURES)}.")
    scores = digits.run()
    if as_json:
        click.echo(json.dumps({"scores": [s.as_dict() for s in scores], "picture": output}))
    else:
        click.echo("Handwritten digits: 64 pixels, 10 classes; 1,347 to learn from, 450 held out\n")
        click.echo(table(scores))
    digits.picture(output)
    if not as_json:
        click.echo(f"\npicture written to {output}")


# -- what the verbs share --------------------------------------------------------------------


def _whole_numbers(flag: str, value: str) -> list[int]:
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise ParameterError(f"{flag} {value}: whole numbers with commas wanted.") from None


def _as_typed() -> str:
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


def _options(given: dict[str, Any], labels_required: bool = False) -> Options:
    """Take the reading options out of `given`."""
    names = ("label", "text", "split", "width", "zero_based", "chunk_rows")
    return Options(**{name: given.pop(name) for name in names}, labels_required=labels_required)


def _options_of_model(estimator: Any, model: str, options: Options, wider: bool = False) -> Options:
    """Let files become the columns that the model was fitted to, or more if they may be wider."""
    source = estimator.source_
    width, base = options.width, options.zero_based
    wider = wider and estimator.column_names() is None
    if width not in (None, estimator.n_features_in_) and not wider:
        raise ParameterError(
            f"--width {width}, but {model} was fitted to {estimator.n_features_in_} columns."
        )
    if source is not None and base is not None and source.zero_based not in (None, base):
        counted = "zero" if source.zero_based else "one"
        raise ParameterError(f"{model} was fitted to columns that are {counted}-based.")
    names = getattr(estimator, "feature_names_in_", None)
    columns = source.columns if source is not None else None if names is None else tuple(names)
    return options.having(width=width if wider else estimator.n_features_in_, columns=columns)


def _estimator(method: str, given: dict[str, Any], params: tuple[str, ...]) -> Any:
    estimator = METHODS[method.lower()]()
    chosen = {name: value for name, value in given.items() if value is not None}
    for pair in params:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--param {pair}: NAME=VALUE wanted.")
        if name in chosen:
            raise ParameterError(f"--param {pair}: {name} was given already.")
        try:
            chosen[name] = json.loads(value)
        except ValueError:
            chosen[name] = value
    known = estimator.get_params()
    for name in chosen:
        if name not in known:
            raise ParameterError(
                f"{method} has no parameter {name!r}; it has {', '.join(sorted(known))}."
            )
    return estimator.set_params(**chosen)


def _check_output(path: str, *inputs: str) -> None:
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


def _check_checkpoint(path: str, output: str, *inputs: str) -> None:
    """Raise where a checkpoint would take the place of something else: at the end it goes."""
    if path == "-":
        raise ParameterError("--checkpoint wants a file, but - came.")
    _check_output(path, *inputs)
    if os.path.realpath(path) == os.path.realpath(output):
        raise ParameterError(f"{path}: the checkpoint and the model are one file; name two.")
    if os.path.exists(path) and not is_checkpoint(path):
        raise ParameterError(
            f"{path}: this is there, and is no checkpoint. Name another file, or remove it."
        )


def _kept(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of checkpoints out of `given`."""
    keep = {name: given.pop(name) for name in ("checkpoint", "every", "resume", "from_position")}
    if keep["checkpoint"] is None and keep["resume"]:
        raise ParameterError("--resume goes with --checkpoint FILE, which says what from.")
    if keep["from_position"] and not keep["resume"]:
        raise ParameterError("--from-position goes with --resume.")
    return keep


def _run(
    estimator: Any,
    inputs: tuple[str, ...],
    options: Options,
    source: Any,
    keep: dict[str, Any],
    output: str,
    base: str | None = None,
    **texts: Any,
) -> Run:
    path = keep["checkpoint"]
    if path is None:
        return Run(estimator, inputs, options, source, _progress, **texts)
    _need_partial_fit(estimator)
    _check_checkpoint(path, output, *inputs, *([] if base is None else [base]))
    if keep["from_position"] and list(inputs) != ["-"]:
        raise ParameterError("--from-position is for standard input; files are passed over.")
    checkpoint = Checkpoint(path, keep["every"], estimator, inputs, options, base)
    begun = checkpoint.begun() if keep["resume"] else None
    if begun is not None:
        _say(f"going on after {begun.at.rows:,} rows, line {begun.at.line:,} of "
             f"{inputs[begun.at.file]}.")  # fmt: skip
    elif keep["resume"]:
        _say(f"there is no checkpoint {path} yet; beginning afresh.")
    there = keep["from_position"]
    return Run(estimator, inputs, options, source, _progress, checkpoint, begun, there, **texts)


def _texts(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of texts out of `given`: the vectoriser, and the sample it counts."""
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


def _words_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read().split()
    except UnicodeDecodeError as error:
        raise DataError(path, f"words in UTF-8 wanted, but {error}.") from None


def _learn(run: Run, verb: Callable[[], Any]) -> bool:
    """Learn; False if it was interrupted and what was learnt is in the checkpoint."""
    try:
        verb()
    except KeyboardInterrupt:
        if run.checkpoint is None or not run.at.rows:
            raise
        run.checkpoint.save()
        _say(
            f"interrupted after {run.at.rows:,} rows, which are kept in {run.checkpoint.path}; "
            "the same command with --resume goes on."
        )
        return False
    return True


def _finish(run: Run, estimator: Any, output: str, as_json: bool) -> None:
    """Save a model, then let go of the checkpoint."""
    _save(estimator, output)
    if run.checkpoint is not None:
        run.checkpoint.done()
    _report_model(estimator, output, as_json)


def _report_model(estimator: Any, output: str, as_json: bool) -> None:
    found = {"model": output, **summary(estimator)}
    text = (
        f"{found['method']}: {found['rows']:,} rows, {len(found['classes'])} classes, "
        f"{found['columns']:,} columns -> {found['dimensions']:,}; saved to {output}"
    )
    click.echo(json.dumps(found) if as_json else text, err=output == "-")


def _need_partial_fit(estimator: Any) -> None:
    try:
        estimator.partial_fit  # noqa: B018 - says what to use where there is none
    except AttributeError as error:
        raise ParameterError(str(error)) from None


def _check_kind(dataset: Dataset, estimator: Any, model: str, name: str) -> None:
    """Raise where a model of texts would see numbers, or one of numbers texts."""
    source = estimator.source_
    texts = source is not None and source.tfidf is not None
    if dataset.is_text != texts:
        made_of = ("numbers", "texts")
        raise ParameterError(
            f"{name}: {model} was fitted to {made_of[texts]}, but this file holds "
            f"{made_of[dataset.is_text]}."
        )


def _widen_alike(estimators: list[Any]) -> None:
    """Let models of shards without names have as many columns as the widest has."""
    width = max(estimator.n_features_in_ for estimator in estimators)
    for estimator in estimators:
        if estimator.n_features_in_ < width and estimator.column_names() is None:
            estimator.widen(width)


def _progress(dataset: Dataset, what: str) -> Iterator[Chunk]:
    """Go through the chunks, read ahead, with a bar on a terminal where it takes a while.

    Ctrl-C comes between two chunks, or while one is waited for.
    """
    with tqdm(
        total=dataset.size or None,
        desc=what,
        unit="B",
        unit_scale=True,
        delay=0.5,
        disable=None,
        file=sys.stderr,
    ) as bar:
        for chunk in between(ahead(dataset)):
            yield chunk
            bar.update(dataset.position - bar.n)


def _save(estimator: Any, output: str) -> None:
    if output == "-":
        _save_to_stdout(estimator)
    else:
        save(estimator, output)


def _save_to_stdout(estimator: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.narrows")
        save(estimator, path)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


if __name__ == "__main__":
    sys.exit(main())
