"""Models that only reduce samples and predict, which takes neither their state nor their solver."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import numpy as np

from narrows.errors import DataError, ParameterError, named
from narrows.io.container import (
    ESTIMATOR,
    THEN,
    facts_of,
    get,
    read_file,
    solution_of,
)
from narrows.io.source import Source
from narrows.methods.names import column_names, file_columns
from narrows.solve.codec import SchemaError, check_plain, taken
from narrows.solve.columns import take
from narrows.moments.labels import log_change

# of the arrays that are needed; other priors than those of the fit need the weights of the classes
_GROUPS = "input.", "source.", "solution.", "facts.class_count_"


def _is_needed(groups: tuple[str, ...], predicts: bool, header: dict[str, Any], name: str) -> bool:
    """Whether an array is in one of these groups, or shared by state and solution.

    To predict takes no directions, and by selected features what predicts by these.
    """
    entry, then = header, header.get("then")
    if name == f"{THEN}chosen":
        return True
    if name.startswith(THEN) and predicts:
        entry, name = then if isinstance(then, dict) else {}, name.removeprefix(THEN)
    applied = entry.get("applied")
    shared = applied.get("of_state") if isinstance(applied, dict) else None
    if isinstance(shared, list) and name.removeprefix("state.") in shared:
        return True
    return name.startswith(groups) and not (predicts and name == "solution.W")


class Model:
    """The model of one method in a file, as far as commands need its estimator.

    Parameters
    ----------
    path : str
        A file that has the solution.
    predicts : bool
        Whether it has to predict, or to reduce.
    facts : bool
        Whether `narrows info` shows it.

    Raises
    ------
    SchemaError, ParameterError
        It has to be read as an estimator, which says what is wrong if something is.
    """

    _column_names, _file_columns = column_names, file_columns

    def __init__(self, path: str, predicts: bool = False, facts: bool = False):
        groups = _GROUPS + ("facts.",) * facts
        header, arrays = read_file(path, partial(_is_needed, groups, predicts))
        if "applied" not in header:
            raise SchemaError("applied: expected a solution, got none.")
        then, chosen = header.get("then"), np.zeros(0)
        if then is not None:
            check_plain(then, ESTIMATOR, "then")
            own = {n.removeprefix(THEN): a for n, a in arrays.items() if n.startswith(THEN)}
            chosen = taken(dict(own), "chosen", ("i8",), ("k",), {}, ("sorted",))
        entry, of_entry, applied = header, arrays, solution_of(header, arrays, not predicts)
        self.n_features_in_, self._chosen = applied.n_features, None
        if predicts and then is not None:
            entry, of_entry, self._chosen = then, own, chosen
            if "applied" not in then:
                raise SchemaError("then.applied: expected a solution, got none.")
            applied = solution_of(then, own, reduces=False)
            if not 0 < len(chosen) == applied.n_features or chosen[-1] >= self.n_features_in_:
                raise SchemaError("then.chosen: expected the features of then, got others.")
        if predicts and applied.decision is None:
            raise SchemaError("applied: expected what predicts, got none.")
        parameters = entry["parameters"]
        are_plain = not any(isinstance(value, dict) for value in parameters.values())
        if facts and not (are_plain and parameters.get("groups") is None):
            raise SchemaError("parameters: expected plain ones, got arrays or groups.")
        self._path, self._method, self._parameters = path, entry["estimator"], parameters
        self._applied: Any = applied
        self._saved = applied
        self._facts = facts_of(entry, of_entry, applied if facts else None)
        names = get(arrays, "input")
        if names:
            self.feature_names_in_ = taken(names, "names", ("O",), ("d",))
        source = header["source"]
        self._source = None if source is None else Source.of(source, get(arrays, "source"))
        self._selects, self._then = applied.chosen is not None, (then, chosen)
        self._needs_y, self._takes_numbers = (entry["applied"][k] for k in ("needs_y", "numbers"))
        self._has_text_labels = entry["labels"].lstrip("<>|=")[:1] in ("O", "U")
        if applied.decision is not None and applied.decision.classes is not None:
            classes = applied.decision.classes
            self.classes_, self._several = classes.labels, classes.several
        self._last: tuple[Any, Any] = None, None

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get("_facts", ()):
            return self._facts[name]
        raise AttributeError(name)

    # -- verbs ----------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return reduced samples."""
        return self._applied.reduce(X if self._selects else self._checked(X))

    def predict(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the classes, or the targets."""
        return self._applied.decision.predicted(self._scores(X), self._change(priors))

    def predict_proba(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the probabilities of classes."""
        return self._applied.decision.probabilities(self._scores(X), self._change(priors))

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
            samples = self._checked(X)
            samples = samples if self._chosen is None else take(samples, self._chosen)
            self._last = X, self._applied.decision.scores(samples)
        return self._last[1]

    def _change(self, priors: Any) -> np.ndarray | None:
        """Return what other priors than those of the fit add to log posteriors."""
        if priors is None:
            return None
        classes, counts = self._applied.decision.classes, self._facts["class_count_"]
        if len(counts) != len(classes.labels):
            raise DataError(self._path, "damaged: expected a weight for each class, got others.")
        try:
            return log_change(priors, classes.labels, counts, classes.several)
        except ParameterError as error:
            raise ParameterError(named(str(error), self._method)) from None

    # -- what is shown --------------------------------------------------------------------------

    @property
    def components_(self) -> np.ndarray:
        """The directions, of shape (n_components, n_features)."""
        return self._applied.padded(self._applied.W).T

    @property
    def _predictor(self) -> dict[str, Any] | None:
        """What `narrows info` shows of what predicts by selected features."""
        then, chosen = self._then
        if then is None:
            return None
        is_same = np.array_equal(chosen, self._applied.chosen)
        shown = {"method": then["estimator"], "parameters": then["parameters"]}
        return {**shown, "is_of_selection": is_same}

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the columns of reduced samples."""
        chosen = self._applied.chosen
        if chosen is None:
            found = [f"{self._method.lower()}{k}" for k in range(self._applied.width)]
        else:
            names = self._column_names()
            found = [f"x{k}" for k in chosen] if names is None else names[chosen]
        return np.asarray(found, dtype=object)

    def _column_name(self, k: int) -> str:
        names = self._column_names()
        return f"x{k}" if names is None else str(names[k])

    def get_support(self) -> np.ndarray:
        """Return which features are kept."""
        return self._applied.mask

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        return self._parameters


def open_model(path: str, predicts: bool = False, facts: bool = False) -> Any:
    """Return a `Model`, or the estimator of a file that has no solution, or none that predicts."""
    collects = gc.isenabled()
    gc.disable()  # a tenth of the time of imports looks for garbage, and there is none
    try:
        return Model(path, predicts, facts)
    except (SchemaError, ParameterError):
        from narrows.io.models import load_model

        return load_model(path)
    finally:
        if collects:
            gc.enable()
