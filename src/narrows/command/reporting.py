"""The verbs that show results: info, compare and demo."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

from narrows.command import values
from narrows.command.console import report as show
from narrows.command.console import say
from narrows.errors import ParameterError, escaped
from narrows.evaluate.describe import described, details, summary
from narrows.io.models import load_model
from narrows.text import Tfidf


def info(model: str, top: int, per_class: bool, as_json: bool) -> None:
    """Show what a saved model has learned: its rows, classes, and best columns by name."""
    estimator = load_model(model)
    found = {"model": model, **summary(estimator), **details(estimator, top, per_class)}
    show(found, described(found), as_json)


def compare(
    input: str, test: str | None, methods: str | None, dims: str | None,
    classifier: str | None,
    cv: int | None, repeats: int | None, metric: str, seed: int, report: str | None, as_json: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Compare methods: how well the reduced data predict, by number of dimensions."""
    from narrows.evaluate import comparison as runs
    from narrows.evaluate import report as page
    from narrows.evaluate.results import averaged
    from narrows.evaluate.splits import read_folds
    from narrows.solve.paired import metric_of

    splitting = {"--test": test, "--cv": cv, "--repeats": repeats}
    one, *others = [flag for flag, value in splitting.items() if value is not None] or [""]
    if others:
        raise ParameterError(f"{one}, {others[0]}: expected one of them, got both. Leave one out.")
    sizes = None if dims is None else values.integers("--dims", dims)
    numeric, metric = bool(given["target"]), metric.replace("-", "_")
    classifiers = runs.judges(None if classifier is None else classifier.split(","), numeric)
    usual = runs.FOR_NUMBERS if numeric else runs.METHODS
    names = usual if methods is None else methods.split(",")
    compared = runs.check(names, sizes, classifiers, seed, metric, repeats, numeric)
    inputs = [input] if test is None else [input, test]
    for output in [] if report is None else [report, page.twin_of(report)]:
        values.check_output(output, *inputs)
    vectoriser = values.make_vectoriser(given) or Tfidf()
    reading = values.read_options(given, labels_required=True)
    data = read_folds(input, test, cv, repeats, seed, reading, vectoriser)
    values.check_text_options(given, data.is_text, input)
    if methods is None:
        compared = runs.without_costly(compared, data)
    found: dict[Any, Any] = {}
    # all columns, and each method at each size, by each classifier
    each = len(set(sizes or runs.sizes_of(data[0][0])))
    total = len(data) * (1 + len(compared) * each) * len(set(classifiers))
    stopped = False
    with tqdm(total=total, unit="", disable=None, file=sys.stderr) as bar:

        def advance(step: str) -> None:
            bar.set_description(escaped(step))
            bar.update()

        try:
            runs.over(data, compared, sizes, classifiers, advance, found)
        except KeyboardInterrupt:
            stopped = True
    lines = averaged(found.values(), *metric_of(data.y, metric))
    chosen = lines.recommendation_
    line = None if chosen is None else chosen.of_narrows
    fit = None if line is None else values.to_fit(input, line.method, line.dimensions)
    show({**page.contents(lines, fit), "stopped": stopped}, str(lines), as_json)
    if chosen is not None:
        none = "No command: narrows fit has none of these methods. Add one to --methods."
        show(None, f"\n{fit or none}", as_json)
    if report is not None:
        page.write(report, lines, data, compared, inputs, values.as_typed(), fit, stopped)
        written = f"\nreport written to {report}, and its data to {page.twin_of(report)}"
        show(None, written, as_json)
    if stopped:
        say("interrupted; the lines above are complete.")
    return 130 if stopped else 0


def demo(output: str, as_json: bool) -> None:
    """Run an example on handwritten digits: a table and a picture."""
    from narrows.evaluate import demo as digits
    from narrows.evaluate.displays import PICTURES

    values.check_output(output)
    if not output.lower().endswith(PICTURES):
        expected = f"a picture that ends in {', '.join(PICTURES)}"
        raise ParameterError(f"{output}: expected {expected}, got another suffix. Change it.")
    lines = digits.run()
    table = digits.shown(lines)
    heading = "Handwritten digits: 64 pixels, 10 classes; 1,437 for training, 360 held out"
    found = {"lines": [line.as_dict() for line in table], "picture": output}
    show(found, f"{heading}\n\n{table}", as_json)
    digits.picture(lines, output)
    show(None, f"\npicture written to {output}", as_json)
