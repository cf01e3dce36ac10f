"""The verb that exports models: export."""

from __future__ import annotations

from sklearn.pipeline import Pipeline

from narrows.command import values
from narrows.command.console import report
from narrows.errors import ParameterError
from narrows.io.atomic import replacing
from narrows.io.models import load


def export(model: str, output: str, as_json: bool) -> None:
    """Export a saved model to ONNX, for programs without Python."""
    from narrows.export import of_texts, steps_of, to_onnx

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
    width = steps_of(estimator, "export")[0].n_features_in_
    text = f"{width:,} columns -> {', '.join(outputs)}; exported to {output}"
    if of_texts(estimator):
        loaded = f"narrows.load({model!r})"
        is_pipeline = isinstance(estimator, Pipeline)
        maker = f"{loaded}[0]" if is_pipeline else f"narrows.read.source_of({loaded}).tfidf"
        text += f"\nX holds vectors of {width:,} terms, not texts; {maker} makes them"
    result = {"output": output, "features": width, "outputs": outputs}
    report(result, text, as_json)
