"""The verbs that show results: info, compare and demo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from narrows.command import values
from narrows.command.console import (
    described_columns,
    n_empty,
    say,
    say_decisions,
    say_empty,
    say_if_numbers,
)
from narrows.command.console import report as show
from narrows.command.options import one_of
from narrows.errors import DataError, ParameterError, escaped
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
        found["table"] = described_columns(source.encoder)
        text += "\n\ncolumns of the table:\n  " + "\n  ".join(found["table"])
    show(found, text, as_json)


def compare(task: str, **given: Any) -> int:
    """Compare methods by a classifier on the reduced data, or by the neighbours of queries."""
    others = {
        "classification": ("left_out", "ridges"),
        "retrieval": ("classifier", "cv", "metric", "target", *values.OF_TABLES),
    }
    [other] = others.keys() - {task}
    values.refuse(given, others[task], f"--task {other}", f"--task {task}")
    return _retrieve(**given) if task == "retrieval" else _classify(**given)


def _classify(
    inputs: tuple[str, ...], test: tuple[str, ...], methods: list[str] | None,
    dims: list[int] | None,
    classifier: list[str] | None, cv: int | None, repeats: int | None, metric: str | None,
    margin: float | None, seed: int, report: str | None, as_json: bool, **given: Any,
) -> int:  # fmt: skip
    from narrows.evaluate import comparison as runs
    from narrows.evaluate import report as page
    from narrows.evaluate.splits import read_folds
    from narrows.solve.paired import MARGIN
    from narrows.text import Tfidf

    one_of({"test": test, "cv": cv, "repeats": repeats}, "test", "cv", "repeats")
    numeric, metric = bool(given["target"]), (metric or "auto").replace("-", "_")
    classifiers = runs.checked_classifiers(classifier, numeric)
    usual = runs.FOR_NUMBERS if numeric else runs.FOR_CLASSES
    compared = runs.check(
        usual if methods is None else methods, dims, classifiers, seed, metric, repeats, numeric
    )
    files, tests = _files(inputs, test)
    for output in [] if report is None else [report, page.twin_of(report)]:
        values.check_output(output, *files, *tests)
    maker = values.make_vectoriser(given)
    reading = values.read_options(given, labels_required=True)
    reading, maker = values.as_table(files, reading, given, maker)
    data = read_folds(files, tests, cv, repeats, seed, reading, maker or Tfidf())
    values.check_text_options(given, data.is_text, files[0])
    if data.is_text and (empty := sum(map(n_empty, data.parts[::2]))):
        say_empty(empty)
    if reading.table and (source := data.source(0)) is not None:
        say_decisions(source.encoder)
    if not numeric:
        say_if_numbers(set(data.y.tolist()), len(data.y))
    if methods is None:
        compared = runs.without_costly(compared, data)
    # all columns, and each method at each size, by each classifier
    each = len(set(dims or runs.sizes_of(data[0][0])))
    total = len(data) * (1 + len(compared) * each) * len(set(classifiers))
    margin = MARGIN if margin is None else margin
    with _steps(total) as advance:
        lines = runs.compare_splits(data, compared, dims, classifier, advance, metric, margin, True)
    chosen = lines.recommendation_
    line = None if chosen is None else chosen.of_narrows
    fit = None
    if line is not None:
        fit = values.to_fit(inputs, line.method, line.columns or line.dimensions)
    show({**page.contents(lines, fit), "stopped": lines.stopped}, str(lines), as_json)
    if chosen is not None:
        none = "No command: narrows fit has none of these methods. Add one to --methods."
        show(None, f"\n{fit or none}", as_json)
    if report is not None:
        read = [*files, *tests]
        page.write(report, lines, data, compared, read, values.as_typed(), fit)
        written = f"\nreport written to {report}, and its data to {page.twin_of(report)}"
        show(None, written, as_json)
    if lines.stopped:
        say("interrupted; the lines above are complete.")
    return 130 if lines.stopped else 0


def _retrieve(
    inputs: tuple[str, ...], test: tuple[str, ...], methods: list[str] | None,
    dims: list[int] | None,
    ridges: list[float] | None, left_out: float | None, margin: float | None, repeats: int | None,
    seed: int, report: str | None, as_json: bool, **given: Any,
) -> int:  # fmt: skip
    from narrows.evaluate import report as page
    from narrows.evaluate.retrieval import LEFT_OUT, REPEATS, check, n_steps, retrieval
    from narrows.evaluate.splits import read_parts

    settings: dict[str, Any] = {
        "methods": methods,
        "dims": dims,
        "ridges": ridges,
        "left_out": left_out,
        "margin": margin,
        "repeats": repeats,
        "seed": seed,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    made = check(**{name: value for name, value in settings.items() if name != "margin"})
    files, tests = _files(inputs, test)
    for path in [] if report is None else [report, page.twin_of(report)]:
        values.check_output(path, *files, *tests)
    parts, *_ = read_parts(files, tests, values.read_options(given, labels_required=True))
    if parts[0].dtype == object:
        raise DataError(
            files[0], "expected vectors for --task retrieval, got texts. Give their embeddings."
        )
    values.check_text_options(given, False, files[0])
    queries = parts[2:] if tests else None
    share = LEFT_OUT if left_out is None else left_out
    draws = 1 if queries is not None and not share else repeats or REPEATS
    total = n_steps(parts[1], parts[0].shape[1], made, settings.get("dims"), share, draws)
    with _steps(total) as advance:
        lines = retrieval(*parts[:2], test=queries, progress=advance, **settings)
    chosen, fit = lines.best(), None
    if chosen is not None:
        mu = getattr(chosen.estimator, "mu", None)
        of_mu = [] if not isinstance(mu, float) else ["--mu", f"{mu:.6g}"]
        method = "lda" if of_mu else chosen.line.method
        fit = values.to_fit(inputs, method, chosen.line.dimensions, *of_mu)
    found: dict[str, Any] = {"lines": lines.as_dicts(), "command": fit}
    for classes in lines.classes:
        best = lines.best(classes=classes)
        found[classes] = best and best.as_dict()
    show(found, str(lines), as_json)
    if chosen is not None:
        show(None, f"\n{fit or f'No command: narrows fit lacks {chosen.line.method}.'}", as_json)
    if report is not None:
        page.write_retrieval(report, lines, [*files, *tests], values.as_typed(), fit)
        written = f"\nreport written to {report}, and its data to {page.twin_of(report)}"
        show(None, written, as_json)
    return 0


def _files(inputs: tuple[str, ...], test: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the files of samples and of test samples; warn where two have the same contents."""
    from narrows.command.learning import warn_of_repeated

    files, tests = expand_patterns(inputs), expand_patterns(test)
    if "-" in files and "-" in tests:
        raise ParameterError("-: expected standard input once, got it twice. Name it once.")
    warn_of_repeated(
        [*files, *tests],
        "an earlier file has the same contents, so that held-out samples may be equal to training "
        "samples. Name it once.",
    )
    return files, tests


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
    from narrows.evaluate.displays import PICTURES

    values.check_output(output)
    if not output.lower().endswith(PICTURES):
        expected = f"a picture that ends in {', '.join(PICTURES)}"
        raise ParameterError(f"{output}: expected {expected}, got another suffix. Change it.")
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
    show(found, text, as_json)
    examples.picture(lines, of_numbers, output)
    show(None, f"\npicture written to {output}", as_json)
