"""Models that only reduce samples and predict, which takes neither their state nor their solver."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from narrows.errors import DataError, ParameterError
from narrows.io.container import FORMAT, THEN, names_in, read_file, solution_in, then_in
from narrows.io.source import Source
from narrows.methods.names import column_names, predictor
from narrows.methods.then import Then
from narrows.moments.labels import log_change
from narrows.solve.codec import SchemaError
from narrows.solve.columns import take
from narrows.solve.solution import Solution

_LEARNED = "state.", "known.", f"{THEN}state.", f"{THEN}known."  # what applies no model


class _Learned(NamedTuple):
    """What `narrows.methods.names` reads of a model."""

    solution: Solution
    source: Source | None
    then: Then | None
    n_targets: int
    state: None = None


class Model:
    """The model of one method in a file, as far as commands need its estimator.

    Parameters
    ----------
    path : str
        The file.
    header : dict
        Its header, or the part of it for what predicts by selected features.
    arrays : dict of str to ndarray
        The solution and the names, or those of what predicts.

    Raises
    ------
    SchemaError
        It has to be read as an estimator, which says what is wrong if something is.
    """

    def __init__(self, path: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]):
        solution, then = solution_in(header, arrays), None
        names, source = names_in(header, arrays, is_applied=True)
        if solution is None:
            raise SchemaError("solution: expected one, got none.")
        if "then" in header:
            entry, own, chosen = then_in(header, arrays)
            then = Then(chosen, Model(path, entry, own))
        size = header["size"]
        self._solution: Any = solution if size is None else solution.first(size)
        targets = header["targets"]
        self._learned = _Learned(solution, source, then, len(targets or ()))
        self._path, self._method, self._parameters = path, header["estimator"], header["parameters"]
        self._of_directions = header["directions"]
        self._needs_y, self._takes_numbers = header["needs_y"], targets is not None
        self._selects = solution.chosen is not None
        self.n_features_in_ = header["n_features"]
        self.kept = header["kept"], header["lost"]
        if header["score"] is not None:
            self.score_ = header["score"]
        if names is not None:
            self.feature_names_in_ = names
        self._last: tuple[Any, Any] = None, None

    # -- verbs ----------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return reduced samples."""
        return self._solution.reduce(X if self._selects else self._checked(X))

    def predict(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the classes, or the targets."""
        if self._learned.then is not None:
            return self._learned.then.estimator.predict(self._of_then(X), priors)
        return self._solution.predicted(self._scores(X), self._change(priors))

    def predict_proba(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the probabilities of classes."""
        if self._learned.then is not None:
            return self._learned.then.estimator.predict_proba(self._of_then(X), priors)
        return self._solution.probabilities(self._scores(X), self._change(priors))

    def _of_then(self, X: Any) -> Any:
        """Return the features by which to predict; those of the same samples once."""
        then: Any = self._learned.then
        if self._last[0] is not X:
            self._last = X, take(self._checked(X), then.chosen)
        return self._last[1]

    def _checked(self, X: Any) -> Any:
        """Return samples in a type that the estimator takes, too."""
        if X.shape[1] != self.n_features_in_:
            problem = f"expected a model of {X.shape[1]} features, got one of "
            raise DataError(self._path, f"{problem}{self.n_features_in_}. Save the model again.")
        if X.dtype == np.float16:
            return X.astype(np.float32)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)

    def _scores(self, X: Any) -> Any:
        """Return the scores of classes, or the targets; those of the same samples once."""
        if self._last[0] is not X:
            self._last = X, self._solution.scores(self._checked(X))
        return self._last[1]

    def _change(self, priors: Any) -> np.ndarray | None:
        """Return what other priors than those of the fit add to log posteriors."""
        if priors is None:
            return None
        classes = self._solution.classes
        return log_change(priors, classes.labels, classes.counts, bool(classes.n_labels))

    # -- what is shown --------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        return self._solution.classes.labels

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each class."""
        return self._solution.classes.counts

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the columns of reduced samples."""
        chosen, names = self._solution.chosen, column_names(self)
        if self._solution.taken is not None:
            chosen = np.arange(self.n_features_in_)
        if chosen is None:
            found = [f"{self._method.lower()}{k}" for k in range(self._solution.width)]
        else:
            found = [f"x{k}" for k in chosen] if names is None else names[chosen]
        return np.asarray(found, dtype=object)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        return self._parameters


def kept_by(model: Any) -> tuple[int, str]:
    """Return how many samples a model or an estimator holds, and what it cannot do without."""
    if isinstance(model, Model):
        return model.kept
    from narrows.methods.base import n_kept, what_is_lost  # which takes time to import

    return n_kept(model), what_is_lost(model)


def open_model(path: str, predicts: bool = False, facts: bool = False) -> Any:
    """Return a `Model`, or the estimator of a file that has no solution, or none that predicts.

    Parameters
    ----------
    path : str
        The file.
    predicts : bool
        Whether it has to predict, or to reduce.
    facts : bool
        Whether `narrows info` shows it.
    """
    collects = gc.isenabled()
    gc.disable()  # a tenth of the time of imports looks for garbage, and there is none
    try:
        header, arrays = read_file(path, lambda name: not name.startswith(_LEARNED))
        if header["format"] != FORMAT or "progress" in header:
            raise SchemaError("format: expected that of one method of this version, got another.")
        given = header["parameters"]
        are_plain = not any(isinstance(value, dict) for value in given.values())
        if facts and not (are_plain and given.get("groups") is None):
            raise SchemaError("parameters: expected plain ones, got arrays or groups.")
        model = Model(path, header, arrays)
        if predicts and predictor(model)._solution.rule is None:
            raise SchemaError("solution: expected one that predicts, got another.")
        return model
    except (SchemaError, ParameterError):
        from narrows.io.models import load_model

        return load_model(path)
    finally:
        if collects:
            gc.enable()
