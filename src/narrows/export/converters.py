"""`register_converters`: estimators of narrows in pipelines that skl2onnx converts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from narrows.export.graph import Graph, as_labels, predicted, reduced
from narrows.methods._classifier import Classifier
from narrows.methods.aligned import Aligned
from narrows.methods.methods import METHODS
from narrows.io.extras import needing

_WHO = "register_converters"
# of a classifier, as skl2onnx asks for them
_OPTIONS: dict[str, list[Any]] = {"zipmap": [True, False, "columns"], "nocl": [True, False]}


def register_converters() -> None:
    """Let skl2onnx convert pipelines with estimators of narrows among those of scikit-learn.

    If the last step of a pipeline is a classifier (`SRDA`, `LDA`, `KernelSRDA`, `OnlineSRDA`), its
    outputs are "label" and "probabilities". Before other steps, a classifier of narrows reduces the
    samples, as in scikit-learn.

    Raises
    ------
    ImportError
        skl2onnx is not installed.

    See Also
    --------
    to_onnx : Export an estimator, or a pipeline of narrows alone, without skl2onnx.

    Notes
    -----
    **Cost**: the import of skl2onnx, which takes seconds. Further calls have no effect.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from narrows import OC
    >>> from narrows.export import register_converters
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(OC(), LogisticRegression()).fit(X, y)
    >>> register_converters()
    >>> from skl2onnx import to_onnx
    >>> model = to_onnx(pipeline, X[:1].astype("float32"), options={"zipmap": False})
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    with needing("onnx", "skl2onnx", _WHO):
        from skl2onnx import update_registered_converter
        from skl2onnx._parse import update_registered_parser
    for method in (*METHODS.values(), Aligned):
        if issubclass(method, Classifier):
            update_registered_converter(
                method, f"Narrows{method.__name__}", _shapes_of_classifier, _convert_classifier,
                options=_OPTIONS,
            )  # fmt: skip
        else:
            update_registered_converter(
                method, f"Narrows{method.__name__}", _shapes, _convert, parser=None
            )
    update_registered_converter(Reducing, "NarrowsReducing", _shapes, _convert)
    update_registered_parser(Pipeline, _parse_pipeline)


class Reducing(TransformerMixin, BaseEstimator):
    """A classifier that other steps follow, so that it reduces."""

    def __init__(self, estimator: Any):
        self.estimator = estimator


def _parse_pipeline(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Parse a pipeline in which classifiers of narrows reduce, but for the last step."""
    from skl2onnx._parse import _parse_sklearn_pipeline

    *steps, last = model.steps
    steps = [(k, Reducing(step) if isinstance(step, Classifier) else step) for k, step in steps]
    return _parse_sklearn_pipeline(scope, Pipeline([*steps, last]), inputs, custom_parsers)


def _own(operator: Any) -> Any:
    """Return the estimator of an operator."""
    step = operator.raw_operator
    return step.estimator if isinstance(step, Reducing) else step


def _shapes(operator: Any) -> None:
    """Set the type and the shape of what `transform` returns."""
    first = operator.inputs[0].type
    n_components = len(_own(operator).get_feature_names_out())
    operator.outputs[0].type = type(first)([first.shape[0], n_components])


def _shapes_of_classifier(operator: Any) -> None:
    """Set the types and the shapes of labels and probabilities."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    first, classes = operator.inputs[0].type, as_labels(_own(operator).classes_)
    kind = StringTensorType if classes.dtype == object else Int64TensorType
    operator.outputs[0].type = kind([first.shape[0]])
    operator.outputs[1].type = type(first)([first.shape[0], len(classes)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add what `transform` does."""
    graph = _Container(scope, container)
    graph.end(reduced(graph, operator.inputs[0].full_name, _own(operator)), operator.outputs[0])


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Add what `predict` and `predict_proba` do."""
    graph = _Container(scope, container)
    found = predicted(graph, operator.inputs[0].full_name, _own(operator))
    for tensor, output in zip(found, operator.outputs, strict=True):
        graph.end(tensor, output)


class _Container(Graph):
    """Nodes and tensors of skl2onnx."""

    def __init__(self, scope: Any, container: Any):
        self.scope, self.container = scope, container

    def constant(self, values: np.ndarray) -> str:
        from onnx import TensorProto, helper

        name: str = self.scope.get_unique_variable_name("narrows")
        numbers: Any
        if values.dtype == object:
            kind, numbers = TensorProto.STRING, [str(text).encode() for text in values]
        else:
            kind, numbers = helper.np_dtype_to_tensor_dtype(values.dtype), values.ravel()
        self.container.add_initializer(name, kind, list(values.shape), numbers)
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name: str = self.scope.get_unique_variable_name(kind)
        self._add(kind, list(inputs), name, **attributes)
        return name

    def end(self, tensor: str, output: Any) -> None:
        """Give a tensor the name of an output."""
        self._add("Identity", [tensor], output.full_name)

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, inputs, [output], name=name, **attributes)
