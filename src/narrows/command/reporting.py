"""The verbs that show results: info, compare and demo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from narrows.command import console, values
from narrows.command.options import one_of
from narrows.errors import DataError, escaped
from narrows.io.applied import kept_by, open_model
from narrows.io.streams import expand_patterns
from narrows.methods.describe import described, details, summary
from narrows.methods.names import source_of


def info(model: str, top: int, per_class: bool, as_json: bool) -> None:
    """Show what a saved model has learned: its rows, classes, and best columns by name."""
    if per_class:
        from narrows.io.models import load_model

        estimator = load_model(model)
    else:
        estimator = open_model(model, facts=True)
    solved, (kept, lost) = estimator._learned.solution is not None, kept_by(estimator)
    found = {"model": model, **summary(estimator), **details(estimator, top, per_class)}
    found |= {"solution": solved, "rows_kept": kept, "lost": lost}
    text, source = described(found), source_of(estimator)
    if source is not None and source.encoder is not None:
        found["table"] = console.described_columns(source.encoder)
        text += "\n\ncolumns of the table:\n  " + "\n  ".join(found["table"])
    console.report(found, text, as_json)


def compare(
    task: str, inputs: tuple[str, ...], test: tuple[str, ...], report: str | None, as_json: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Compare methods by a classifier on the reduced data, or by the neighbours of queries."""
    from narrows.evaluate.report import contents, twin_of, write

    others = {
        "classification": ("left_out", "ridges"),
        "retrieval": ("classifier", "cv", "metric", "target", *values.OF_TABLES),
    }
    [other] = others.keys() - {task}
    values.refuse(given, others[task], f"--task {other}", f"--task {task}")
    files, tests = expand_patterns(inputs), expand_patterns(test)
    for output in [] if report is None else [report, twin_of(report)]:
        values.check_output(output, *files, *tests)
    run = _retrieve if task == "retrieval" else _classify
    lines, fit, no_command = run(inputs, files, tests, given)
    found = contents(lines, fit)
    console.report(found, str(lines), as_json)
    if no_command is not None:
        console.report(None, f"\n{fit or no_command}", as_json)
    if report is not None:
        write(report, lines, [*files, *tests], values.as_typed(), fit)
        written = f"\nreport written to {report}, and its data to {twin_of(report)}"
        console.report(None, written, as_json)
    if found.get("stopped"):
        console.say("interrupted; the lines above are complete.")
    return 130 if found.get("stopped") else 0


# the lines, the command that fits the best one, and what to say without one
Compared = tuple[Any, str | None, str | None]


def _classify(
    inputs: Sequence[str], files: list[str], tests: list[str], given: dict[str, Any]
) -> Compared:
    """Compare methods by a classifier on the reduced data, or by R^2."""
    from narrows.evaluate import comparison as runs
    from narrows.evaluate.splits import read_folds
    from narrows.evaluate.table import n_steps
    from narrows.solve.paired import MARGIN
    from narrows.text import Tfidf

    methods, dims, repeats, seed = (given[name] for name in ("methods", "dims", "repeats", "seed"))
    one_of(given | {"test": tests or None}, "test", "cv", "repeats")
    numeric, metric = bool(given["target"]), (given["metric"] or "auto").replace("-", "_")
    classifiers = runs.checked_classifiers(given["classifier"], numeric)
    usual = runs.FOR_NUMBERS if numeric else runs.FOR_CLASSES
    compared = runs.check(methods or usual, dims, classifiers, seed, metric, repeats, numeric)
    maker = values.make_vectoriser(given)
    reading = values.read_options(given, labels_required=True)
    reading, maker = values.as_table(files, reading, given, maker)
    data = read_folds(files, tests, given["cv"], repeats, seed, reading, maker or Tfidf())
    values.check_text_options(given, data.is_text, files[0])
    if data.is_text and (empty := sum(map(console.n_empty, data.parts[::2]))):
        console.say_empty(empty)
    if reading.table and (source := data.source(0)) is not None:
        console.say_decisions(source.encoder)
    if not numeric:
        console.say_if_numbers(set(data.y.tolist()), len(data.y))
    if methods is None:
        compared = runs.without_costly(compared, data)
    n_sizes = len(set(dims or runs.sizes_of(data[0][0])))
    margin = MARGIN if given["margin"] is None else given["margin"]
    with _steps(len(data) * n_steps(compared, n_sizes, len(classifiers))) as advance:
        how = given["classifier"], advance, metric, margin, True
        lines = runs.compare_splits(data, compared, dims, *how)
    chosen, fit, none = lines.recommendation_, None, None
    if chosen is not None:
        none = "No command: narrows fit has none of these methods. Add one to --methods."
        if (line := chosen.of_narrows) is not None:
            fit = values.to_fit(inputs, line.method, line.columns or line.dimensions)

    return lines, fit, none


def _retrieve(
    inputs: Sequence[str], files: list[str], tests: list[str], given: dict[str, Any]
) -> Compared:
    """Compare methods by the neighbours of queries, also of classes left out of fits."""
    from narrows.evaluate.retrieval import LEFT_OUT, REPEATS, check, n_steps, retrieval
    from narrows.evaluate.splits import read_parts

    names = "methods", "dims", "ridges", "left_out", "repeats", "seed"
    settings = values.given_of(given, names)
    made = check(**settings)
    parts, *_ = read_parts(files, tests, values.read_options(given, labels_required=True))
    if parts[0].dtype == object:
        raise DataError(
            files[0], "expected vectors for --task retrieval, got texts. Give their embeddings."
        )
    values.check_text_options(given, False, files[0])
    queries, share = parts[2:] if tests else None, settings.get("left_out", LEFT_OUT)
    draws = 1 if queries is not None and not share else settings.get("repeats", REPEATS)
    total = n_steps(parts[1], parts[0].shape[1], made, given["dims"], share, draws)
    with _steps(total) as advance:
        settings |= values.given_of(given, ["margin"])
        lines = retrieval(*parts[:2], test=queries, progress=advance, **settings)
    chosen, fit, none = lines.best(), None, None
    if chosen is not None:
        none = f"No command: narrows fit lacks {chosen.line.method}."
        mu = getattr(chosen.estimator, "mu", None)
        of_mu = [] if not isinstance(mu, float) else ["--mu", f"{mu:.6g}"]
        method = "lda" if of_mu else chosen.line.method
        fit = values.to_fit(inputs, method, chosen.line.dimensions, *of_mu)
    return lines, fit, none


@contextmanager
def _steps(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar of so many steps, and give what is called with the name of each at its start."""
    from tqdm import tqdm

    with tqdm(total=total, disable=None, file=sys.stderr) as bar:

        def advance(what: str) -> None:
            bar.set_description(escaped(what))
            bar.update()

        yield advance


def demo(output: str, as_json: bool) -> None:
    """Run examples on digits and on a number as target: a table and a picture."""
    from narrows.evaluate import demo as examples

    values.check_output(output)
    lines, of_numbers = examples.run(), examples.numbers()
    table = examples.shown(lines)
    heading = "Handwritten digits: 64 pixels, 10 classes; 1,437 for training, 360 held out"
    number = "Diabetes: 10 features, 442 patients; the target is a number, a measure of progression"
    found = {
        "lines": [line.as_dict() for line in table],
        "numbers": [line.as_dict() for line in of_numbers],
        "picture": output,
    }
    text = f"{heading}\n\n{table}\n\n{number}\n\n{of_numbers.recommendation_}"
    console.report(found, text, as_json)
    examples.picture(lines, of_numbers, output)
    console.report(None, f"\npicture written to {output}", as_json)
