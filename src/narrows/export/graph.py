"""What estimators compute, as nodes of a graph: selections, projections, and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from narrows.methods._base import Estimator
from narrows.methods._classifier import Classifier
from narrows.methods._project import Projector
from narrows.methods._select import Selector
from narrows.methods.aligned import Aligned
from narrows.methods.window import Window
from narrows.io.entries import is_passing
from narrows.io.source import is_of_texts
from narrows.state.random_features import RandomFeatures
from narrows.state.stats import ClassStats
from narrows.text.base import Vectoriser


class Graph(ABC):
    """Nodes that are added one after the other; tensors are known by their names."""

    @abstractmethod
    def constant(self, values: np.ndarray) -> str:
        """Add a tensor of numbers, or of str objects, and return its name."""

    @abstractmethod
    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output, and return the name of this."""

    def floats(self, values: Any) -> str:
        """Add a tensor in single precision."""
        return self.constant(np.asarray(values).astype(np.float32))


def steps_of(estimator: Any, who: str) -> list[Any]:
    """Return the steps that follow the vectoriser of texts, if there is one.

    TypeError where one of them is not of narrows.
    """
    steps = [estimator]
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if not is_passing(step)]
    if steps and isinstance(steps[0], Vectoriser):
        steps = steps[1:]
    steps = [step.estimator_ if isinstance(step, Window) else step for step in steps]
    for step in steps:
        if not isinstance(step, Estimator | Aligned):
            raise TypeError(
                f"{who}: expected an estimator of narrows, or a pipeline of these, got "
                f"{type(step).__name__}. Pass the steps of narrows alone."
            )
    if not steps:
        raise TypeError(f"{who}: expected an estimator, got only a vectoriser of texts.")
    return steps


def has_others(pipeline: Any) -> bool:
    """Whether a pipeline has steps of other libraries."""
    own = Estimator | Aligned | Window | Vectoriser
    steps = [step for _, step in pipeline.steps if not is_passing(step)]
    return any(not isinstance(step, own) for step in steps)


def of_texts(estimator: Any) -> bool:
    """Whether samples are made of texts."""
    if isinstance(estimator, Pipeline):
        return isinstance(estimator.steps[0][1], Vectoriser) or of_texts(estimator.steps[0][1])
    return is_of_texts(getattr(estimator, "_source", None))


def reduced(graph: Graph, X: str, estimator: Any) -> str:
    """Add what `transform` does to samples."""
    if isinstance(estimator, Selector):
        columns = graph.constant(estimator.get_support(indices=True).astype(np.int64))
        return graph.node("Gather", X, columns, axis=1)
    W = np.asarray(estimator.components_).T
    solution_map = estimator._solution.map if isinstance(estimator, Projector) else None
    return _product(graph, X, estimator, solution_map, W, np.zeros(W.shape[1]))


def predicted(graph: Graph, X: str, estimator: Classifier) -> tuple[str, str]:
    """Add what `predict` and `predict_proba` do; return the labels and the probabilities."""
    rule, classes = estimator._decision(), estimator.classes_
    seen = estimator.class_count_ > 0
    W = np.zeros((len(rule.weights), len(classes)))
    b = np.full(len(classes), -np.inf)
    W[:, seen], b[seen] = rule.weights / rule.temperature, rule.intercept / rule.temperature
    scores = _product(graph, X, estimator, rule.map, W, b)
    if estimator._several:
        n_labels = len(estimator._state.classes)
        place = np.zeros((len(classes), n_labels))
        place[np.arange(len(classes)), classes] = 1
        likely = graph.node("Greater", scores, graph.floats(0.0))
        labels = graph.node("MatMul", graph.node("Cast", likely, to=1), graph.floats(place))
        return graph.node("Cast", labels, to=7), graph.node("Sigmoid", scores)
    best = graph.node("ArgMax", scores, axis=1, keepdims=0)
    names = graph.constant(as_labels(classes))
    return graph.node("Gather", names, best, axis=0), graph.node("Softmax", scores, axis=1)


def as_labels(classes: np.ndarray) -> np.ndarray:
    """Return labels as a graph has them: str objects, or int64, since numbers are whole."""
    return classes.astype(object if classes.dtype.kind in "UO" else np.int64)


def _product(
    graph: Graph, X: str, estimator: Any, mapping: Any, W: np.ndarray, b: np.ndarray
) -> str:
    """Add Z W + b, for the coordinates Z of samples.

    What is the same for all samples is computed here, in double precision.
    """
    if mapping is None:
        origin = _origin(estimator, len(W))
        if origin.any():
            X = graph.node("Sub", X, graph.floats(origin))
            b = b + origin @ W
    else:
        mean = getattr(mapping, "mean", None) if not isinstance(mapping, RandomFeatures) else None
        X = _coordinates(graph, X, getattr(mapping, "map", mapping))
        b = b if mean is None else b - mean @ W
    product = graph.node("MatMul", X, graph.floats(W))
    return graph.node("Add", product, graph.floats(b)) if b.any() else product


def _origin(estimator: Any, n_features: int) -> np.ndarray:
    """Return what to subtract before products, so that far from zero no digits are lost."""
    state = estimator._fitted.state if isinstance(estimator, Estimator) else None
    found = getattr(getattr(state, "map", None), "centre", None)  # of KernelSRDA
    if found is None:
        found = getattr(getattr(state, "core", None), "origin", None)  # of OnlineSRDA
    if found is None and isinstance(state, ClassStats) and state._origin is not None:
        found = state.mean
    if found is None or len(found) != n_features:
        return np.zeros(n_features)
    return np.asarray(found).astype(np.float32).astype(np.float64)


def _coordinates(graph: Graph, X: str, features: RandomFeatures) -> str:
    """Add the random features of samples, and the features themselves after them."""
    nearly = features.centre.astype(np.float32)
    X = graph.node("Sub", X, graph.constant(nearly))
    X = graph.node("Sub", X, graph.floats(features.centre - nearly))
    linear = graph.node("Mul", X, graph.floats(features.unit))
    m = features.n_hidden
    if not m:
        return linear
    W, shift = features._weights(np.dtype(np.float64))
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
