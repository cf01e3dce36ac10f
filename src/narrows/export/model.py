"""`to_onnx`: an estimator, or a pipeline, as an ONNX model."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.export.converters import register_converters
from narrows.export.graph import (
    Graph,
    as_labels,
    has_others,
    of_texts,
    predicted,
    reduced,
    steps_of,
)
from narrows.methods._base import Estimator
from narrows.methods._classifier import Classifier
from narrows.io.extras import needing
from narrows.text.base import Vectoriser

OPSET, IR_VERSION = 15, 8  # onnxruntime has had both since 1.10
_MOST = 2**31 - 1  # bytes of a model
_WHO = "to_onnx"


def to_onnx(estimator: Any) -> Any:
    """Return a fitted estimator as an ONNX model, which runs without Python.

    Parameters
    ----------
    estimator : narrows estimator, or Pipeline
        A fitted estimator. A vectoriser of texts at the start of a pipeline is omitted: the input
        is then its vectors. For a `Window`, its `estimator_` is exported. skl2onnx converts
        pipelines with steps of other libraries, and names their outputs.

    Returns
    -------
    model : onnx.ModelProto
        The input is "X", float32 of shape (n_samples, n_features). The outputs are "transformed",
        the result of `transform`, and for a classifier "label" and "probabilities", the results of
        `predict` and `predict_proba`. Numbers are float32; labels are int64 or text.
        ``metadata_props`` has the entries "estimator", "narrows", "classes", "features" and
        "components", each as JSON.

    Raises
    ------
    TypeError
        The argument is neither an estimator of narrows nor a pipeline.
    NotFittedError
        The estimator is not fitted.
    ParameterError
        The weights take more than 2 GB, which a model cannot hold.
    ImportError
        onnx is not installed, or skl2onnx for a pipeline with steps of other libraries.

    See Also
    --------
    register_converters : Let skl2onnx convert pipelines with steps of other libraries.
    narrows.save : Save an estimator that can continue to learn.

    Notes
    -----
    **Cost**: 4 p d bytes for p components of d features, 4 c d for a classifier of c classes, and 8
    bytes for each selected feature.

    ONNX computes in single precision. The mean of dense samples, if known, is subtracted before
    products, so that features far from zero keep their digits.

    Convert sparse samples to dense arrays for ONNX, one batch at a time.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import SRDA
    >>> from narrows.export import to_onnx
    >>> model = to_onnx(SRDA().fit(*load_iris(return_X_y=True)))
    >>> [output.name for output in model.graph.output]
    ['transformed', 'label', 'probabilities']
    """
    with needing("onnx", "onnx", _WHO):
        import onnx
        from onnx import TensorProto, helper
    if isinstance(estimator, Pipeline) and has_others(estimator):
        return _by_skl2onnx(estimator)
    steps = steps_of(estimator, _WHO)
    for step in steps:
        check_is_fitted(step)
    graph, X, last = _Nodes(), "X", steps[-1]
    for step in steps[:-1]:
        X = reduced(graph, X, step)
    names = [str(name) for name in last.get_feature_names_out()]
    outputs = [("transformed", reduced(graph, X, last), TensorProto.FLOAT, [len(names)])]
    if isinstance(last, Classifier):
        label, probabilities = predicted(graph, X, last)
        labels = as_labels(last.classes_)
        kind = TensorProto.STRING if labels.dtype == object else TensorProto.INT64
        each = [len(last._state.classes)] if last._several else []
        outputs += [
            ("label", label, kind, each),
            ("probabilities", probabilities, TensorProto.FLOAT, [len(labels)]),
        ]
    for name, tensor, _, _ in outputs:
        graph.nodes.append(helper.make_node("Identity", [tensor], [name]))
    if graph.nbytes > _MOST:
        raise ParameterError(
            f"{_WHO}: expected weights of at most 2 GB, got {graph.nbytes / 1e9:.1f} GB. Select "
            "features first, or use fewer components."
        )
    width = steps[0].n_features_in_
    found = helper.make_graph(
        graph.nodes,
        "narrows",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n_samples", width])],
        [
            helper.make_tensor_value_info(name, kind, ["n_samples", *shape])
            for name, _, kind, shape in outputs
        ],
        graph.constants,
    )
    about = {
        "estimator": " + ".join(type(step).__name__ for step in steps),
        "narrows": version("narrows"),
        "features": _features(steps[0]),
        "components": names,
        "classes": last.classes_.tolist() if hasattr(last, "classes_") else None,
    }
    model = helper.make_model(
        found,
        producer_name="narrows",
        producer_version=version("narrows"),
        doc_string=described(estimator),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(
        model, {name: json.dumps(value) for name, value in about.items() if value is not None}
    )
    onnx.checker.check_model(model)
    return model


def _by_skl2onnx(pipeline: Any) -> Any:
    """Return the model of a pipeline with steps of other libraries."""
    register_converters()
    import skl2onnx

    check_is_fitted(pipeline)
    if isinstance(pipeline[0], Vectoriser):
        pipeline = pipeline[1:]
    first = np.zeros((1, pipeline.n_features_in_), np.float32)
    last = pipeline[-1]
    options = {id(last): {"zipmap": False}} if is_classifier(last) else None
    return skl2onnx.to_onnx(pipeline, first, options=options, target_opset=OPSET)


def described(estimator: Any) -> str:
    """Return what the input of a model is, in a sentence."""
    width = steps_of(estimator, _WHO)[0].n_features_in_
    if of_texts(estimator):
        return f"X: texts as vectors of {width:,} terms, which the vectoriser of narrows makes."
    return f"X: samples of {width:,} features."


def _features(step: Any) -> list[str] | None:
    """Return the names of the features, where they have some."""
    names = step._column_names() if isinstance(step, Estimator) else None
    return None if names is None else [str(name) for name in names]


class _Nodes(Graph):
    """Nodes and tensors of `onnx.helper`."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.nbytes = 0

    def constant(self, values: np.ndarray) -> str:
        from onnx import TensorProto, helper, numpy_helper

        name = f"constant{len(self.constants)}"
        if values.dtype == object:
            texts: Any = [str(text).encode() for text in values]
            tensor = helper.make_tensor(name, TensorProto.STRING, [len(texts)], texts)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.constants.append(tensor)
        self.nbytes += values.nbytes
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        output = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output
