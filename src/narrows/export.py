"""Fitted models for other programs: ONNX, skl2onnx, and sentence-transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.io.atomic import replacing
from narrows.io.extras import needing
from narrows.io.models import is_passing
from narrows.methods.align import Aligned
from narrows.methods.base import Reducer, solution_of
from narrows.methods.erasure import LEACE
from narrows.methods.methods import METHODS
from narrows.methods.names import column_names, source_of
from narrows.methods.window import Window
from narrows.solve.kernel_map import AboutMean, KernelMap
from narrows.text import FeatureMaker

__all__ = ["register_converters", "to_onnx", "to_sentence_transformers"]


OPSET, IR_VERSION = 15, 8  # onnxruntime has had both since 1.10
_MOST = 2**31 - 1  # bytes of a model
# of a classifier, as skl2onnx asks for them
_OPTIONS: dict[str, list[Any]] = {"zipmap": [True, False, "columns"], "nocl": [True, False]}


# -- ONNX ------------------------------------------------------------------------------------------


def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Return a fitted estimator as an ONNX model, which runs without Python, or write it to a file.

    Parameters
    ----------
    estimator : narrows estimator, or Pipeline
        A fitted estimator. A vectoriser of texts at the start of a pipeline is omitted: the input
        is then its vectors. For a `Window`, its `estimator_` is exported. skl2onnx converts
        pipelines with steps of other libraries, and names their outputs.
    path : str or path-like, optional
        The file to which the model is written, too, as `to_sentence_transformers` does.

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
    OSError
        The file cannot be written.
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
    with needing("onnx", "onnx"):
        import onnx
    model = _model_of(estimator)
    if path is not None:
        with replacing(path) as new:
            onnx.save_model(model, new)
    return model


def _model_of(estimator: Any) -> Any:
    """Return an estimator as an ONNX model."""
    import onnx
    from onnx import TensorProto, helper

    own, maker = Reducer | Aligned | Window, maker_of(estimator)
    others = (step for step in active_steps(estimator) if step is not maker)
    if isinstance(estimator, Pipeline) and not all(isinstance(step, own) for step in others):
        return _by_skl2onnx(estimator)
    steps = steps_of(estimator)
    for step in steps:
        check_is_fitted(step)
    graph, X, last = Graph(), "X", steps[-1]
    for step in steps[:-1]:
        X = add_reduction(graph, X, step)
    names = [str(name) for name in last.get_feature_names_out()]
    outputs = [("transformed", add_reduction(graph, X, last), TensorProto.FLOAT, [len(names)])]
    learned = getattr(last, "_learned", None)
    then = None if learned is None else learned.then
    rule = last if then is None else then.estimator
    if is_classifier(rule):
        if then is not None:
            X = graph.node("Gather", X, graph.constant(then.chosen.astype(np.int64)), axis=1)
        label, probabilities = add_prediction(graph, X, rule)
        labels, n_labels = as_labels(rule.classes_), solution_of(rule).classes.n_labels
        kind = TensorProto.STRING if labels.dtype == object else TensorProto.INT64
        each = [n_labels] if n_labels else []
        outputs += [
            ("label", label, kind, each),
            ("probabilities", probabilities, TensorProto.FLOAT, [len(labels)]),
        ]
    for name, tensor, _, _ in outputs:
        graph.end("Identity", [tensor], name)
    if graph.nbytes > _MOST:
        raise ParameterError(
            f"to_onnx: expected weights of at most 2 GB, got {graph.nbytes / 1e9:.1f} GB. "
            "Select features first, or use fewer components."
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
    features = column_names(steps[0])
    metadata = {
        "estimator": " + ".join(type(step).__name__ for step in steps),
        "narrows": version("narrows"),
        "features": None if features is None else [str(name) for name in features],
        "components": names,
        "classes": rule.classes_.tolist() if hasattr(rule, "classes_") else None,
    }
    said = f"X: samples of {width:,} features."
    if maker is not None and maker.takes == "texts":
        said = f"X: texts as vectors of {width:,} terms, which the vectoriser of narrows makes."
    model = helper.make_model(
        found,
        producer_name="narrows",
        producer_version=version("narrows"),
        doc_string=said,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(
        model, {name: json.dumps(value) for name, value in metadata.items() if value is not None}
    )
    onnx.checker.check_model(model)
    return model


def _by_skl2onnx(pipeline: Any) -> Any:
    """Return the model of a pipeline with steps of other libraries."""
    register_converters()
    import skl2onnx

    check_is_fitted(pipeline)
    if pipeline[0] is maker_of(pipeline):
        pipeline = pipeline[1:]
    fitted = (_without_window(step) for _, step in pipeline.steps)
    pipeline = Pipeline([*zip(pipeline.named_steps, fitted, strict=True)])
    first = np.zeros((1, pipeline.n_features_in_), np.float32)
    last = pipeline[-1]
    options = {id(last): {"zipmap": False}} if is_classifier(last) else None
    return skl2onnx.to_onnx(pipeline, first, options=options, target_opset=OPSET)


# -- skl2onnx --------------------------------------------------------------------------------------


def register_converters() -> None:
    """Let skl2onnx convert pipelines with estimators of narrows among those of scikit-learn.

    If the last step of a pipeline is a classifier (`SRDA`, `LDA`, `KernelSRDA`, `OnlineSRDA`), its
    outputs are "label" and "probabilities". Before other steps, a classifier of narrows reduces the
    samples, as in scikit-learn. A model computes in the type of its samples, float32 or float64.

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
    with needing("onnx", "skl2onnx"):
        from skl2onnx import update_registered_converter, update_registered_parser
    for method in (*METHODS.values(), Aligned):
        functions, options = (_shapes, _convert), None
        if issubclass(method, ClassifierMixin):
            functions, options = (_shapes_of_classifier, _convert), _OPTIONS
        name = f"Narrows{method.__name__}"
        update_registered_converter(method, name, *functions, options=options)
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
    steps = [(name, Reducing(step) if _predicts(step) else step) for name, step in steps]
    return _parse_sklearn_pipeline(scope, Pipeline([*steps, last]), inputs, custom_parsers)


def _predicts(step: Any) -> bool:
    """Whether a step is a classifier of narrows."""
    return isinstance(step, Reducer) and is_classifier(step)


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
    """Add what `transform` does, or for two outputs what `predict` and `predict_proba` do."""
    from onnx import TensorProto, helper, numpy_helper
    from skl2onnx.common.data_types import DoubleTensorType

    X, own = operator.inputs[0], _own(operator)
    dtype = np.float64 if isinstance(X.type, DoubleTensorType) else np.float32
    graph = Graph(scope.get_unique_variable_name("narrows"), dtype)
    add: Any = add_prediction if len(operator.outputs) > 1 else add_reduction
    found = np.atleast_1d(add(graph, X.full_name, own)).tolist()
    for tensor, output in zip(found, operator.outputs, strict=True):
        graph.end("Identity", [tensor], output.full_name)
    for each in graph.constants:
        is_text = each.data_type == TensorProto.STRING
        values = list(each.string_data) if is_text else numpy_helper.to_array(each).ravel()
        container.add_initializer(each.name, each.data_type, list(each.dims), values)
    for node in graph.nodes:
        attributes = {given.name: helper.get_attribute_value(given) for given in node.attribute}
        name = scope.get_unique_operator_name(node.op_type)
        container.add_node(node.op_type, [*node.input], [*node.output], name=name, **attributes)


# -- sentence-transformers -------------------------------------------------------------------------


def to_sentence_transformers(estimator: Any, folder: str | os.PathLike[str]) -> None:
    """Write a fitted reduction of embeddings as a `Dense` module of sentence-transformers.

    The module computes y = W'x without bias and activation, as `transform` does for dense
    embeddings. Append it after the module that computes the embeddings of sentences.

    Parameters
    ----------
    estimator : narrows projector or selector, or Pipeline of these
        Fitted to embeddings of sentences.
    folder : str or path-like
        Where ``config.json`` and ``model.safetensors`` are written. It is created if it does not
        exist; other files in it are kept.

    Raises
    ------
    TypeError
        The estimator is of another library.
    NotFittedError
        The estimator is not fitted.
    ParameterError
        The estimator is a `KernelSRDA` with hidden features, which is not linear.
    OSError
        A file cannot be written.

    See Also
    --------
    to_onnx : Export an estimator as an ONNX model.
    narrows.SRDA : The projector to try first.

    Notes
    -----
    **Cost**: 4 p d bytes for p components of d features. Neither torch nor sentence-transformers
    is needed.

    If the model ends with a `Normalize` module, fit to its embeddings, which have length 1, and
    append the module after `Normalize`. Reduced embeddings do not have length 1: append another
    `Normalize` to compute cosine similarities by inner products.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> from narrows import SRDA
    >>> from narrows.export import to_sentence_transformers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_sentence_transformers(SRDA().fit(*load_digits(return_X_y=True)), folder)
    ...     print(sorted(os.listdir(folder)))
    ['config.json', 'model.safetensors']
    """
    weight: Any = None
    for step in steps_of(estimator):
        check_is_fitted(step)
        own = _weight(step)
        weight = own if weight is None else own @ weight
    p, d = weight.shape
    config = {
        "in_features": d,
        "out_features": p,
        "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    os.makedirs(folder, exist_ok=True)
    tensors = {"linear.weight": np.ascontiguousarray(weight, dtype=np.float32)}
    with replacing(os.path.join(folder, "model.safetensors")) as new:
        save_file(tensors, new, metadata={"format": "pt"})
    with replacing(os.path.join(folder, "config.json")) as new, open(new, "w") as file:
        json.dump(config, file, indent=2)


def _weight(step: Any) -> np.ndarray:
    """Return W' of shape (n_components, n_features)."""
    if hasattr(step, "get_support"):
        columns = step.get_support(indices=True)
        W = np.zeros((len(columns), step.n_features_in_))
        W[np.arange(len(columns)), columns] = 1.0
        return W
    if isinstance(step, LEACE):
        raise ParameterError(
            "to_sentence_transformers: expected a linear reduction, got LEACE, which also "
            "subtracts a part of the mean. Use to_onnx."
        )
    if _map_of(step) is not None:
        raise ParameterError(
            "to_sentence_transformers: expected a linear reduction, got "
            f"{type(step).__name__} with hidden features. Use SRDA, or to_onnx."
        )
    return np.asarray(step.components_)


def _map_of(step: Any) -> AboutMean | None:
    """Return what makes coordinates of the features; None for linear reductions."""
    return solution_of(step).map if isinstance(step, Reducer) else None


# -- fitted estimators -----------------------------------------------------------------------------


def active_steps(estimator: Any) -> list[Any]:
    """Return the steps that samples pass through: those of a pipeline, or the estimator."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [step for _, step in estimator.steps if not is_passing(step)]


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps that follow the vectoriser or encoder, if there is one.

    TypeError where one of them is not of narrows.
    """
    maker = maker_of(estimator)
    steps = [step for step in active_steps(estimator) if step is not maker]
    steps = [_without_window(step) for step in steps]
    for step in steps:
        if not isinstance(step, Reducer | Aligned):
            raise TypeError(
                f"expected an estimator of narrows, or a pipeline of these, got "
                f"{type(step).__name__}. Pass the steps of narrows alone."
            )
    if not steps:
        raise TypeError("expected an estimator, got only a vectoriser or encoder.")
    return steps


def _without_window(step: Any) -> Any:
    """Return the estimator of the latest samples, where a step is a window of them."""
    return step.estimator_ if isinstance(step, Window) else step


def maker_of(estimator: Any) -> FeatureMaker | None:
    """Return what makes features of texts or tables: the first step, or that of the files."""
    first = next(iter(active_steps(estimator)), None)
    if isinstance(first, FeatureMaker):
        return first
    source = None if first is None else source_of(first)
    return None if source is None else source.maker


# -- graphs ----------------------------------------------------------------------------------------


class Graph:
    """Nodes of `onnx.helper`, added one after the other; tensors are known by their names.

    All of these begin with `name`; `dtype` is that of the samples.
    """

    def __init__(self, name: str = "", dtype: Any = np.float32) -> None:
        self.name, self.dtype = name, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.nbytes = 0

    def constant(self, values: np.ndarray) -> str:
        """Add a tensor of numbers, or of str objects, and return its name."""
        from onnx import TensorProto, helper, numpy_helper

        name = f"{self.name}constant{len(self.constants)}"
        if values.dtype == object:
            texts: Any = [str(text).encode() for text in values]
            tensor = helper.make_tensor(name, TensorProto.STRING, [len(texts)], texts)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.constants.append(tensor)
        self.nbytes += values.nbytes
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output, and return the name of this."""
        return self.end(kind, inputs, f"{self.name}{kind}{len(self.nodes)}", **attributes)

    def end(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Add a node, and return the name of its output, which is given."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def floats(self, values: Any) -> str:
        """Add a tensor of the type of the samples."""
        return self.constant(np.asarray(values).astype(self.dtype))


def add_reduction(graph: Graph, X: str, estimator: Any) -> str:
    """Add what `transform` does to samples."""
    if hasattr(estimator, "get_support"):
        columns = graph.constant(estimator.get_support(indices=True).astype(np.int64))
        return graph.node("Gather", X, columns, axis=1)
    W = np.asarray(estimator.components_).T
    if not isinstance(estimator, LEACE):
        return _product(graph, X, estimator, _map_of(estimator), W, np.zeros(W.shape[1]))
    found = solution_of(estimator)
    Z = _product(graph, X, estimator, None, W, -found.centre)
    return graph.node("Sub", X, graph.node("MatMul", Z, graph.floats(found.taken)))


def add_prediction(graph: Graph, X: str, estimator: Any) -> tuple[str, str]:
    """Add what `predict` and `predict_proba` do; return the labels and the probabilities."""
    found = solution_of(estimator, calibrated=True)
    rule, classes, seen = found.rule, found.classes.labels, found.classes.seen
    W = np.zeros((len(rule.coef), len(classes)))
    b = np.full(len(classes), -np.inf)
    W[:, seen], b[seen] = rule.coef / rule.temperature, rule.intercept / rule.temperature
    scores = _product(graph, X, estimator, found.map, W, b)
    if found.classes.n_labels:
        place = np.zeros((len(classes), found.classes.n_labels))
        place[np.arange(len(classes)), classes] = 1
        likely = graph.node("Greater", scores, graph.floats(0.0))
        chosen = graph.node("Where", likely, graph.floats(1.0), graph.floats(0.0))
        labels = graph.node("MatMul", chosen, graph.floats(place))
        return graph.node("Cast", labels, to=7), graph.node("Sigmoid", scores)
    best = graph.node("ArgMax", scores, axis=1, keepdims=0)
    names = graph.constant(as_labels(classes))
    return graph.node("Gather", names, best, axis=0), graph.node("Softmax", scores, axis=1)


def as_labels(classes: np.ndarray) -> np.ndarray:
    """Return labels as a graph has them: str objects, or int64, since numbers are whole."""
    if classes.dtype.kind in "UO":
        return classes.astype(object)
    largest = max(map(abs, classes.tolist()), default=0)
    if largest >= 2**63:
        raise ParameterError(
            f"to_onnx: expected labels below 2**63, got {largest}. Fit with labels of text, as "
            "y.astype(str)."
        )
    return classes.astype(np.int64)


def _product(
    graph: Graph, X: str, estimator: Any, map: AboutMean | None, W: np.ndarray, b: np.ndarray
) -> str:
    """Add Z W + b, for the coordinates Z of samples.

    What is the same for all samples is computed here, in double precision.
    """
    if map is None:
        origin = _origin(estimator, len(W))
        if origin.any():
            X = graph.node("Sub", X, graph.floats(origin))
            b = b + origin @ W
    else:
        X, b = _coordinates(graph, X, map.map), b - map.mean @ W
    product = graph.node("MatMul", X, graph.floats(W))
    return graph.node("Add", product, graph.floats(b)) if b.any() else product


def _origin(estimator: Any, n_features: int) -> np.ndarray:
    """Return what to subtract before products, so that far from zero no digits are lost."""
    learned = getattr(estimator, "_learned", None)
    if learned is None or learned.state is None:
        return np.zeros(n_features)
    found = getattr(learned.step.map, "centre", None)  # of KernelSRDA
    m = learned.moments
    if found is None:
        found = getattr(getattr(m, "core", None), "origin", None)  # of OnlineSRDA
    if found is None and getattr(m, "origin", None) is not None:
        found = m.mean
    if found is None or len(found) != n_features:
        return np.zeros(n_features)
    return np.asarray(found).astype(np.float32).astype(np.float64)


def _coordinates(graph: Graph, X: str, features: KernelMap) -> str:
    """Add the random features of samples, and the features themselves after them."""
    nearly = features.centre.astype(np.float32)
    X = graph.node("Sub", X, graph.floats(nearly))
    X = graph.node("Sub", X, graph.floats(features.centre - nearly))
    if features.scale is not None:
        X = graph.node("Div", X, graph.floats(features.scale))
    linear = graph.node("Mul", X, graph.floats(features.unit))
    m = features.n_hidden
    if not m:
        return linear
    W, shift = features.weights(np.dtype(np.float64))
    size = graph.floats(np.sqrt(2 / m))
    if features.kernel == "relu":
        raised = graph.node("Add", graph.node("MatMul", X, graph.floats(W)), graph.floats(shift))
        hidden = [graph.node("Mul", graph.node("Relu", raised), size)]
    else:
        angles = graph.node("MatMul", X, graph.floats(2 * W))  # W is that of half the angles
        odd = graph.constant(np.arange(m - W.shape[1]))
        sines = graph.node("Sin", graph.node("Gather", angles, odd, axis=1))
        hidden = [graph.node("Mul", part, size) for part in (graph.node("Cos", angles), sines)]
    return graph.node("Concat", *hidden, linear, axis=1)
