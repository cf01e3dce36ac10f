"""`to_sentence_transformers`: a linear reduction as a module of a model for sentences."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.export.graph import steps_of
from narrows.methods._project import Projector
from narrows.methods._select import Selector
from narrows.io.atomic import replacing

_WHO = "to_sentence_transformers"


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
    for step in steps_of(estimator, _WHO):
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
    if isinstance(step, Selector):
        columns = step.get_support(indices=True)
        W = np.zeros((len(columns), step.n_features_in_))
        W[np.arange(len(columns)), columns] = 1.0
        return W
    if isinstance(step, Projector) and not step._is_linear:
        raise ParameterError(
            f"{_WHO}: expected a linear reduction, got {type(step).__name__} with hidden features. "
            "Use SRDA, or to_onnx."
        )
    return np.asarray(step.components_)
