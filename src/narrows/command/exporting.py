"""The verb that exports models: export."""

from __future__ import annotations

import click

from narrows.command import options, values
from narrows.command.console import report
from narrows.io.atomic import replacing
from narrows.io.store import load
from narrows.solve.errors import ParameterError


@options.verb(
    options.MODEL,
    click.option(
        "-o", "--output", required=True, metavar="OUTPUT", help="A file that ends in .onnx."
    ),
    short_help="Export a saved model to ONNX.",
)  # fmt: skip
def export(model: str, output: str, as_json: bool) -> None:
    """Export a saved model to ONNX, for programs without Python.

    \b
    narrows export model.narrows -o model.onnx

    The input of an ONNX model is X, float32, of shape (n_samples, n_features). Its outputs are
    `transformed`, and for methods that predict, `label` and `probabilities`. Texts become vectors
    outside of it. Needs the extra onnx.
    """  # noqa: D301 - click reads the character
    from narrows.export.graph import of_texts
    from narrows.export.model import to_onnx

    if not output.lower().endswith(".onnx"):
        raise ParameterError(
            f"{output}: expected a file that ends in .onnx, got another suffix. Change it."
        )
    values.check_output(output, model)
    estimator = load(model)
    found = to_onnx(estimator)
    with replacing(output) as new, open(new, "wb") as file:
        file.write(found.SerializeToString())
    outputs = [each.name for each in found.graph.output]
    width = estimator.n_features_in_
    text = f"{width:,} columns -> {', '.join(outputs)}; exported to {output}"
    if of_texts(estimator):
        maker = f"narrows.read.source_of(narrows.load({model!r})).tfidf"
        text += f"\nX holds vectors of {width:,} terms, not texts; {maker} makes them"
    result = {"output": output, "features": width, "outputs": outputs}
    report(result, text, as_json)


VERBS = (export,)
