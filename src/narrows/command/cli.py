"""The command line: verbs over the library."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import click
from sklearn.utils import get_tags
from tqdm import tqdm

from narrows.command.interrupts import between
from narrows.command.options import (
    ENGINE_OPTIONS,
    KEEP_OPTIONS,
    METHOD_OPTIONS,
    METHODS,
    READ_OPTIONS,
    TEXT_OPTIONS,
    WRITE_OPTIONS,
    as_given,
    as_typed,
    check_checkpoint,
    check_for_texts,
    check_output,
    cluster_of,
    estimator_of,
    having,
    keeping,
    options_of_model,
    reading,
    texts_of,
    whole_numbers,
)
from narrows.command.runs import Run
from narrows.evaluate.describe import described, details, escaped, printable, summary
from narrows.evaluate.folds import read_folds
from narrows.io.atomic import room
from narrows.io.checkpoint import Checkpoint
from narrows.io.chunk import Chunk, Options
from narrows.io.dataset import Dataset, expanded
from narrows.io.prefetch import prefetch
from narrows.io.store import load, save, save_finished
from narrows.io.write import format_of, rows_in, writer
from narrows.solve.errors import DataError, ParameterError
from narrows.text import Tfidf


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
    except (click.Abort, KeyboardInterrupt, RuntimeError) as error:
        # up to Python 3.11 one that comes while a class is being made is wrapped
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _say("interrupted; no file was changed.")
        return 130
    except FileNotFoundError as error:
        what = str(error.strerror or error).replace(os.strerror(errno.ENOENT), "no such file")
        _say(f"{what}: {error.filename}")
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
    print("narrows:", escaped(" ".join(message.split())), file=sys.stderr)  # noqa: T201 - one line


def _report(found: dict[str, Any] | None, text: str = "", err: bool = False) -> None:
    """Print a result: `found` as JSON, or where it is None the lines of `text`."""
    if found is None:
        click.echo("\n".join(map(escaped, text.split("\n"))), err=err)
    else:  # JSON escapes all but this one
        click.echo(json.dumps(found).replace("\x7f", "\\u007f"), err=err)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="narrows", message="narrows %(version)s")
def cli() -> None:
    """Supervised dimensionality reduction of large and streaming labelled data.

    \b
    narrows fit train.svm --method ocfs --n-features 1000 -o model.narrows
    narrows transform model.narrows test.svm -o reduced.npz
    narrows compare train.svm --report report.html

    Files are known by their suffix: .svm .svmlight .libsvm .csv .jsonl (each may end in .gz), .npz
    and .parquet; "-" is standard input or output. Results go to stdout, progress and errors to
    stderr.

    Exit status: 0 done, 1 something wrong inside a file, 2 wrong usage, 130 interrupted.
    """  # noqa: D301 - click wants the character


@cli.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--method",
    required=True,
    type=click.Choice(list(METHODS), case_sensitive=False),
    metavar="NAME",
    help=f"One of {', '.join(METHODS)}. Begin with ocfs, oc, srda or onlinesrda.",
)
@click.option("-o", "--output", required=True, metavar="MODEL", help="File for the model.")
@having(METHOD_OPTIONS)
@having(READ_OPTIONS)
@having(TEXT_OPTIONS)
@click.option(
    "--idf-sample",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Count the terms of the first ROWS texts only, and read once: for an endless pipe.",
)
@having(KEEP_OPTIONS)
@having(ENGINE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def fit(
    inputs: tuple[str, ...], method: str, output: str, params: tuple[str, ...], **given: Any
) -> int:
    """Learn a reduction from labelled data and save it.

    \b
    narrows fit train.svm --method ocfs --n-features 1000 -o model.narrows
    narrows fit mails.jsonl.gz --split train --method oc -o model.narrows
    narrows fit big.svm --method oc -o m.narrows --checkpoint c.narrows --resume
    narrows fit 'shards/*.parquet' --method oc -o m.narrows --engine dask
    """  # noqa: D301 - click wants the character
    as_json, keep = given.pop("as_json"), keeping(given)
    options = reading(
        given, labels_required=get_tags(METHODS[method.lower()]()).target_tags.required
    )
    texts = texts_of(given)
    given_too = {"--checkpoint": keep["checkpoint"], "--idf-sample": texts["sample"]}
    cluster = cluster_of(given, *(flag for flag, value in given_too.items() if value is not None))
    estimator = estimator_of(method, given, params)
    inputs = tuple(expanded(inputs))
    check_output(output, *inputs)
    if cluster is not None:
        from narrows.engines import dask

        vectoriser = texts["vectoriser"]
        dask.fit(estimator, inputs, **cluster, **as_given(options), vectoriser=vectoriser)
        _save(estimator, output)
        _report_model(estimator, output, as_json)
        return 0
    checkpoint = _checkpoint(estimator, inputs, options, keep, output)
    run = _run(estimator, inputs, options, None, keep, checkpoint, **texts)
    check_for_texts(texts, run.dataset.is_text, inputs[0])
    if not _learn(run, run.fit):
        return 130
    _finish(run, estimator, output, as_json)
    return 0


@cli.command()
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="MODEL", help="File for the model.")
@having(READ_OPTIONS)
@having(KEEP_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def update(model: str, inputs: tuple[str, ...], output: str, **given: Any) -> int:
    """Let a saved model learn more rows, as if it had seen them all.

    \b
    narrows update model.narrows today.svm -o model.narrows
    producer | narrows update model.narrows - -o new.narrows --one-based

    Texts become rows by the terms and frequencies that were counted when the model was fitted.
    """  # noqa: D301 - click wants the character
    as_json, keep = given.pop("as_json"), keeping(given)
    inputs = tuple(expanded(inputs))
    check_output(output, *inputs)
    estimator = load(model)
    _need_partial_fit(estimator)
    required = get_tags(estimator).target_tags.required
    options = reading(given, labels_required=required)
    options = options_of_model(estimator, model, options, wider=True)
    checkpoint = _checkpoint(estimator, inputs, options, keep, output, model)
    if checkpoint is not None and keep["resume"] and checkpoint.is_finished():
        _say(f"already finished: {model} has learned these inputs; nothing to do.")
        _report_model(estimator, output, as_json)
        return 0
    run = _run(estimator, inputs, options, estimator._source, keep, checkpoint)
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
    check_output(output)
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
@having(READ_OPTIONS)
@having(WRITE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def convert(input: str, output: str, csv_safe: bool, **given: Any) -> None:
    """Write the rows of a file in another format: the same columns, the same labels.

    \b
    narrows convert train.svm train.parquet
    narrows convert train.csv train.svm.gz

    Formats of numbers become one another; .jsonl becomes .jsonl or .jsonl.gz. What was written is
    read again, and its rows are counted.
    """  # noqa: D301 - click wants the character
    as_json = given.pop("as_json")
    check_output(output, input)
    options = reading(given)
    dataset = Dataset([input], options)
    rows = 0

    def counted(written: str) -> None:
        found = rows_in(written, output, first)
        if found != rows:
            raise DataError(output, f"{rows:,} rows were read, but {found:,} written. Try again.")

    chunks = _progress(dataset, "converting")
    first = next(chunks)
    with writer(output, first.columns, dataset.is_text, counted, csv_safe) as out:
        for chunk in itertools.chain([first], chunks):
            out.write(chunk.X, chunk.y, input, chunk.lines)
            rows += len(chunk.lines)
    found = {"output": output, "rows": rows}
    text = f"{rows:,} rows written to {output}"
    _report(found if as_json else None, text, err=output == "-")


@cli.command()
@click.argument("model")
@click.argument("input", metavar="INPUT")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUTPUT",
    help=".npz, .parquet, .svm or .csv; - for CSV on stdout.",
)
@having(READ_OPTIONS)
@having(WRITE_OPTIONS)
@having(ENGINE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def transform(model: str, input: str, output: str, csv_safe: bool, **given: Any) -> int:
    """Reduce the rows of a file with a saved model.

    \b
    narrows transform model.narrows test.svm -o reduced.npz
    narrows transform model.narrows mails.jsonl.gz --split test -o reduced.npz
    narrows transform model.narrows 'shards/*.parquet' -o folder --engine dask

    On a cluster the output is a folder, with a Parquet file for each input.
    """  # noqa: D301 - click wants the character
    as_json, inputs = given.pop("as_json"), expanded([input])
    cluster = cluster_of(given, *(["--csv-safe"] if csv_safe else []))
    if cluster is not None:
        return _transform_there(model, inputs, output, cluster, reading(given), as_json)
    check_output(output, model, *inputs)
    format_of(output)
    estimator = load(model)
    options = options_of_model(estimator, model, reading(given))
    run = Run(estimator, inputs, options, estimator._source, _progress)
    _check_kind(run.dataset, estimator, model, input)
    rows, stopped = 0, False
    names = [printable(name) for name in estimator.get_feature_names_out()]
    with writer(output, names, csv_safe=csv_safe) as out, warnings.catch_warnings():
        # the reader has seen to it that the columns are those of the fit
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        try:
            for chunk in _progress(run.dataset, "reducing"):
                reduced = estimator.transform(run.rows(chunk))
                out.write(reduced, chunk.y, inputs[chunk.at.file], chunk.lines)
                rows += reduced.shape[0]
        except KeyboardInterrupt:  # between two chunks: what is there is whole
            if not rows:
                raise
            stopped = True
    if stopped:
        _say(f"interrupted; {output} holds the first {rows:,} rows.")
    found = {"output": output, "rows": rows, "dimensions": len(names)}
    text = f"{rows:,} rows x {len(names):,} columns written to {output}"
    _report(found if as_json else None, text, err=output == "-")
    return 130 if stopped else 0


def _transform_there(
    model: str, inputs: list[str], output: str, cluster: dict[str, Any], options: Options,
    as_json: bool,
) -> int:  # fmt: skip
    """Reduce files on a cluster, each to one of a folder."""
    from narrows.engines import dask

    if output == "-":
        raise ParameterError("-: on a cluster a folder wanted, but standard output was named.")
    if os.path.exists(output) and not os.path.isdir(output):
        raise ParameterError(f"{output}: on a cluster a folder wanted, but this is a file.")
    estimator = load(model)
    options = options_of_model(estimator, model, options)
    cluster.pop("progress")
    written = dask.transform(estimator, inputs, output, **cluster, **as_given(options))
    found = {"output": output, "files": len(written)}
    text = f"{len(written):,} files written to {output}"
    _report(found if as_json else None, text)
    return 0


@cli.command(short_help="Show what a saved model has learnt.")
@click.argument("model")
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    metavar="N",
    help="Columns shown.",
)
@click.option("--per-class", is_flag=True, help="Show the best columns of each class.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(model: str, top: int, per_class: bool, as_json: bool) -> None:
    """Show what a saved model has learnt: its rows, classes, and best columns by name.

    \b
    narrows info model.narrows --top 20 --per-class
    """  # noqa: D301 - click wants the character
    estimator = load(model)
    found = {"model": model, **summary(estimator), **details(estimator, top, per_class)}
    _report(found if as_json else None, described(found))


@cli.command(short_help="See how much is left of the classes, by method and size.")
@click.argument("input", metavar="INPUT")
@click.option("--test", metavar="INPUT", help="Rows held out; else a fifth, or lines by `split`.")
@click.option(
    "--methods",
    default="ocfs,oc,srda,onlinesrda",
    show_default=True,
    metavar="A,B,…",
    help="Methods to compare; see above.",
)
@click.option(
    "--dims",
    default="2,10,100",
    show_default=True,
    metavar="P,Q,…",
    help="Columns or directions to keep.",
)
@click.option(
    "--classifier",
    default="svm",
    show_default=True,
    metavar="A,B",
    help="Classifiers, of svm, knn, smo.",
)
@click.option("--cv", type=click.IntRange(2), metavar="N", help="So many folds, each held out.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="SEED",
    help="Of the random rows held out.",
)
@click.option("--report", metavar="FILE", help="Page to write, .html; the same as .json beside it.")
@having(READ_OPTIONS)
@having(TEXT_OPTIONS)
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
    narrows compare mails.jsonl.gz --methods oc,ocfs,chi2 --classifier svm,knn
    narrows compare train.svm --test test.svm --methods srda,truncatedsvd --json
    narrows compare mails.jsonl.gz --dims 3,10,100,1000 --report report.html

    Methods are those of fit, and of scikit-learn truncatedsvd, pca, sparserandomprojection, chi2,
    f_classif, lineardiscriminantanalysis. Lines of JSON with `split` are split by it.
    """  # noqa: D301 - click wants the character
    from narrows.evaluate import comparison
    from narrows.evaluate import report as page

    if test is not None and cv is not None:
        raise ParameterError("--test and --cv exclude each other.")
    sizes, judges = whole_numbers("--dims", dims), classifier.split(",")
    made = comparison.check(methods.split(","), sizes, judges)
    inputs = [input] if test is None else [input, test]
    for output in [] if report is None else [report, page.twin_of(report)]:
        check_output(output, *inputs)
    texts = texts_of(given)
    options = reading(given, labels_required=True)
    data = read_folds(input, test, cv, seed, options, texts["vectoriser"] or Tfidf())
    check_for_texts(texts, data.source is not None and data.source.tfidf is not None, input)
    found: dict[Any, Any] = {}
    # all columns, and each method at each size, by each classifier
    total = len(data.folds) * (1 + len(made) * len(set(sizes))) * len(set(judges))
    stopped = False
    with tqdm(total=total, unit="", disable=None, file=sys.stderr) as bar:

        def progress(what: str) -> None:
            bar.set_description(escaped(what))
            bar.update()

        try:
            comparison.over(data.folds, made, sizes, judges, progress, found)
        except KeyboardInterrupt:
            stopped = True
    lines = comparison.mean(found)
    if as_json:
        _report({"lines": [line.as_dict() for line in lines], "stopped": stopped})
    else:
        _report(None, comparison.table(lines))
    if report is not None:
        told = page.gather(lines, data, made, inputs, as_typed(), stopped)
        page.write(report, told, lines, data, made)
        if not as_json:
            _report(None, f"\nreport written to {report}, and as data to {page.twin_of(report)}")
    if stopped:
        _say("interrupted; the lines above are what was done.")
    return 130 if stopped else 0


@cli.command()
@click.option(
    "-o",
    "--output",
    default="narrows-demo.png",
    show_default=True,
    metavar="FILE",
    help="File for the picture.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def demo(output: str, as_json: bool) -> None:
    """Run the main job on handwritten digits: a table, and a picture.

    \b
    narrows demo -o digits.png

    The digits come with scikit-learn, the picture wants matplotlib.
    """  # noqa: D301 - click wants the character
    from narrows.evaluate import demo as digits
    from narrows.evaluate.figure import PICTURES
    from narrows.evaluate.scores import table

    check_output(output)
    if not output.lower().endswith(PICTURES):
        raise ParameterError(f"{output}: a picture ends in {', '.join(PICTURES)}.")
    scores = digits.run()
    if as_json:
        _report({"scores": [s.as_dict() for s in scores], "picture": output})
    else:
        click.echo("Handwritten digits: 64 pixels, 10 classes; 1,347 to learn from, 450 held out\n")
        click.echo(table(scores))
    digits.picture(output)
    if not as_json:
        _report(None, f"\npicture written to {output}")


# -- what the verbs share --------------------------------------------------------------------


def _checkpoint(
    estimator: Any,
    inputs: tuple[str, ...],
    options: Options,
    keep: dict[str, Any],
    output: str,
    base: str | None = None,
) -> Checkpoint | None:
    path = keep["checkpoint"]
    if path is None:
        return None
    _need_partial_fit(estimator)
    check_checkpoint(path, output, *inputs, *([] if base is None else [base]))
    if keep["from_position"] and list(inputs) != ["-"]:
        raise ParameterError("--from-position is for standard input; files are passed over.")
    in_place = base is not None and os.path.exists(output) and os.path.samefile(base, output)
    return Checkpoint(path, keep["every"], estimator, inputs, options, base, in_place)


def _run(
    estimator: Any,
    inputs: tuple[str, ...],
    options: Options,
    source: Any,
    keep: dict[str, Any],
    checkpoint: Checkpoint | None,
    **texts: Any,
) -> Run:
    begun = None
    if checkpoint is not None and keep["resume"]:
        begun = checkpoint.begun()
        _say(
            f"there is no checkpoint {checkpoint.path} yet; beginning afresh."
            if begun is None
            else f"going on after {begun.at.rows:,} rows, line {begun.at.line:,} of "
            f"{inputs[begun.at.file]}."
        )
    there = keep["from_position"]
    return Run(estimator, inputs, options, source, _progress, checkpoint, begun, there, **texts)


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
    if run.checkpoint is not None and run.checkpoint.in_place:
        save_finished(estimator, output, run.checkpoint.run)
    else:
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
    _report(found if as_json else None, text, err=output == "-")


def _need_partial_fit(estimator: Any) -> None:
    try:
        estimator.partial_fit  # noqa: B018 - says what to use where there is none
    except AttributeError as error:
        raise ParameterError(str(error)) from None


def _check_kind(dataset: Dataset, estimator: Any, model: str, name: str) -> None:
    """Raise where a model of texts would see numbers, or one of numbers texts."""
    source = estimator._source
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
        named = estimator._column_names() is not None
        if estimator.n_features_in_ < width and not named and hasattr(estimator, "merge"):
            estimator._widen(width)


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
        for chunk in between(prefetch(dataset)):
            yield chunk
            bar.update(dataset.position - bar.n)


def _save(estimator: Any, output: str) -> None:
    if output == "-":
        _save_to_stdout(estimator)
    else:
        save(estimator, output)


def _save_to_stdout(estimator: Any) -> None:
    with room(tempfile.gettempdir(), "narrows") as folder:
        path = folder / "model.narrows"
        save(estimator, path)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


if __name__ == "__main__":
    sys.exit(main())
