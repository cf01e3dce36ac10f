"""Models that only reduce samples and predict, which takes neither their state nor scikit-learn."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from narrows.errors import DataError, ParameterError, named
from narrows.io.container import (
    ENCODER,
    ESTIMATOR,
    NUMBERS,
    PASSES,
    SHOWN,
    THEN,
    VECTORISERS,
    facts_of,
    get,
    read_file,
    read_header,
    solution_of,
)
from narrows.io.source import Source, StoredEncoder, StoredVectoriser, source_of_step
from narrows.methods.names import column_names, file_columns
from narrows.solve.applied import Classes, Decision
from narrows.solve.codec import SchemaError, check_plain
from narrows.solve.columns import take
from narrows.solve.late import Rows
from narrows.solve.schema import SORTED, Field, checked
from narrows.state.labels import log_change

_FLOATS = np.float32, np.float64
_W = "solution.W"
# of the arrays that are needed; other priors than those of the fit need the weights of the classes
_GROUPS = "input.", "source.", "solution.", "table.", "tfidf.", "facts.class_count_"


def _is_in(groups: tuple[str, ...], without: str, header: dict[str, Any], name: str) -> bool:
    """Whether an array of a file is in one of these groups, or shared by state and solution.

    The array `without`, of a model that predicts, is in none. What predicts by selected features
    is only read then, but for `chosen`.
    """
    entry, start = header, ""
    if "steps" in header:
        start = name.partition(".")[0] + "."
        number = start.removeprefix("step").removesuffix(".")
        steps = header["steps"]
        entry = steps[int(number)] if number.isdecimal() and int(number) < len(steps) else {}
    own = name.removeprefix(start)
    if own.startswith(THEN):
        own = own.removeprefix(THEN)
        entry = entry.get("then", {}) if isinstance(entry, dict) else {}
        if own == "chosen" or not without:
            return own == "chosen"
    solution = entry.get("applied") if isinstance(entry, dict) else None
    shared = solution.get("of_state") if isinstance(solution, dict) else None
    return (own.startswith(groups) and own != without) or (
        isinstance(shared, list) and own.removeprefix("state.") in shared
    )


def _of_one(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    """Return the entry and the arrays of the one estimator of a file, and what makes its samples.

    Raises
    ------
    NoSolutionError
        There is no solution, or not one estimator.
    """
    entries = [(header, "")]
    if "steps" in header:
        entries = [
            (entry, f"step{k}.")
            for k, entry in enumerate(header["steps"])
            if entry["estimator"] != PASSES
        ]
    *before, (entry, start) = entries or [({}, "")]
    if "applied" not in entry or len(before) > 1:
        raise NoSolutionError
    check_plain(entry, ESTIMATOR, "estimator")
    maker: Any = None
    for each, place in before:
        if each["estimator"] in VECTORISERS:
            maker = StoredVectoriser(get(arrays, f"{place}tfidf"))
        elif each["estimator"] == ENCODER:
            maker = StoredEncoder(get(arrays, f"{place}table"))
        else:
            raise NoSolutionError
    own = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
    return entry, own, maker


class NoSolutionError(Exception):
    """A file without what `Model` needs."""


class Model:
    """A model of one method, which reduces samples and predicts as its estimator does.

    Anything else, such as samples that are not as they should be, is left to the estimator.

    Parameters
    ----------
    path : str
        A file that has the solution.
    predicts : bool
        Whether it has to predict; the directions, which that does not take, are not read.
    facts : bool
        Whether to read the arrays that `narrows info` shows, too.
    """

    _column_names, _file_columns = column_names, file_columns

    def __init__(self, path: str, predicts: bool = False, facts: bool = False):
        self._path = path
        groups = _GROUPS + ("facts.",) * facts
        self._reduces = not predicts
        self._header, arrays = read_file(path, partial(_is_in, groups, _W * predicts))
        entry, arrays, maker = _of_one(self._header, arrays)
        outer, of_outer, self._chosen = entry, arrays, None
        then = self._then = entry.get("then")
        if then is not None:
            check_plain(then, ESTIMATOR, "then")
            own = {n.removeprefix(THEN): a for n, a in arrays.items() if n.startswith(THEN)}
            sizes = checked(own, {"chosen": Field("i8", ("k",), SORTED)})
            self._then_chosen = own["chosen"]
            if predicts:
                entry, arrays, self._chosen = then, own, own["chosen"]
                if "applied" not in then:
                    raise NoSolutionError
        self._entry, applied = entry, solution_of(entry, arrays, reduces=not predicts)
        if predicts and applied.decision is None:
            raise NoSolutionError
        self._applied = self._saved = applied
        self.n_features_in_ = applied.n_features
        if self._chosen is not None:
            self.n_features_in_ = solution_of(outer, of_outer).n_features
            if sizes["k"] != applied.n_features or self._chosen[-1] >= self.n_features_in_:
                raise SchemaError("then.chosen: expected the features of then, got others.")
        self._last: tuple[Any, Any] = None, None
        self._method = entry["estimator"]
        self._facts = facts_of(entry, arrays, applied if facts else None)
        self._has_facts, self._selects = facts, applied.chosen is not None
        names = get(of_outer, "input")
        if names:
            checked(names, {"names": Field("O", ("d",))})
            self.feature_names_in_ = names["names"]
        self._source = None if maker is None else source_of_step(maker)
        if outer["source"] is not None:
            self._source = Source.of(outer["source"], get(of_outer, "source"), applies=True)
        self._needs_y, self._takes_numbers = (entry["applied"][k] for k in ("needs_y", "numbers"))
        self._has_text_labels = entry["labels"].lstrip("<>|=")[:1] in ("O", "U")
        if applied.classes is not None:
            self.classes_, self._several = applied.classes.labels, applied.classes.several

    def transform(self, X: Any) -> Any:
        """Return reduced samples."""
        if not (self._reduces and self._takes(X)):
            return self._estimator.transform(_whole(X))
        return self._applied.reduce(X)

    def predict_proba(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the probabilities of classes."""
        classes, decision = self._applied.classes, self._applied.decision
        if classes is None or decision is None or not self._takes(X):
            return self._estimator.predict_proba(_whole(X), priors)
        return classes.probabilities(self._posteriors(classes, decision, X, priors))

    def predict(self, X: Any, priors: Any = None) -> np.ndarray:
        """Return the classes, or the targets."""
        classes, decision = self._applied.classes, self._applied.decision
        if decision is None or not self._takes(X):
            return self._estimator.predict(_whole(X), *(() if priors is None else (priors,)))
        if classes is None:
            y = decision.scores(self._kept(X))
            return y[:, 0] if y.shape[1] == 1 else y
        if priors is None:
            return classes.predicted(classes.every(self._scores(decision, X)))
        return classes.predicted(self._posteriors(classes, decision, X, priors))

    def _posteriors(self, classes: Classes, decision: Decision, X: Any, priors: Any) -> Any:
        """Return the log posteriors of classes with these priors, as the estimator does."""
        scores = classes.every(self._scores(decision, X) / decision.temperature)
        if priors is None:
            return scores
        counts = self._facts["class_count_"]
        if len(counts) != len(classes.labels):
            raise SchemaError("class_count_: expected a weight for each class, got others.")
        try:
            return scores + log_change(priors, classes.labels, counts, classes.several)
        except ParameterError as error:
            raise ParameterError(named(str(error), self._method)) from None

    def _scores(self, decision: Decision, X: Any) -> Any:
        """Return the scores of classes, not calibrated; those of the same samples once."""
        if self._last[0] is not X:
            self._last = X, decision._replace(temperature=1.0).scores(self._kept(X))
        return self._last[1]

    def _kept(self, X: Any) -> Any:
        """Return the features of samples that are predicted by."""
        return X if self._chosen is None else take(X, self._chosen)

    @property
    def _predictor(self) -> dict[str, Any] | None:
        """What `narrows info` shows of what predicts by selected features."""
        then = self._then
        if then is None:
            return None
        selected: Any = self._applied.chosen
        is_same = np.array_equal(self._then_chosen, selected)
        shown = {"method": then["estimator"], "parameters": then["parameters"]}
        return {**shown, "is_of_selection": is_same}

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the columns of reduced samples."""
        chosen, width = self._applied.chosen, self._applied.width
        if not self._reduces:
            found = self._estimator.get_feature_names_out().tolist()
        elif chosen is None:
            prefix = self._method.lower()
            found = [f"{prefix}{k}" for k in range(width)]
        else:
            names = self._column_names()
            found = [f"x{k}" for k in chosen] if names is None else names[chosen]
        return np.asarray(found, dtype=object)

    def _takes(self, X: Any) -> bool:
        """Whether samples are as the estimator takes them, without a change or an error."""
        if X.ndim != 2 or X.shape[1] != self.n_features_in_ or X.dtype not in _FLOATS:
            return False
        values = X if isinstance(X, np.ndarray) else X.data
        return bool(X.shape[0] and np.isfinite(values).all())

    @property
    def components_(self) -> np.ndarray:
        """The directions, of shape (n_components, n_features)."""
        if not self._reduces:
            return self._estimator.components_
        if self._selects:
            raise AttributeError("components_")
        return self._applied.padded(self._applied.W).T

    def _column_name(self, k: int) -> str:
        names = self._column_names()
        return f"x{k}" if names is None else str(names[k])

    def get_support(self) -> np.ndarray:
        """Return which features are kept."""
        return self._applied.mask

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        found: dict[str, Any] = self._entry["parameters"]
        if any(isinstance(value, dict) for value in found.values()):
            found = self._estimator.get_params()
        return found

    def __getattr__(self, name: str) -> Any:
        if name in self._facts:
            return self._facts[name]
        would_be_here = self._has_facts and name in {*NUMBERS, *SHOWN}
        if would_be_here or name == "feature_names_in_":
            raise AttributeError(name)
        parameter = self._entry["parameters"].get(name, {})
        return getattr(self._estimator, name) if isinstance(parameter, dict) else parameter

    @cached_property
    def _estimator(self) -> Any:
        """The estimator, of the same file."""
        from narrows.io.models import load_model

        found = load_model(self._path)
        if read_header(self._path)[0] != self._header:
            raise DataError(self._path, "expected the model as it was, got another. Try again.")
        return found


def _whole(X: Any) -> Any:
    """Return samples as estimators take them."""
    return X.csr() if isinstance(X, Rows) else X


def open_model(path: str, predicts: bool = False, facts: bool = False) -> Any:
    """Return a `Model`, or the estimator of a file that has no solution, or none that predicts."""
    try:
        return Model(path, predicts, facts)
    except (NoSolutionError, SchemaError, ParameterError):  # the estimator says what is wrong
        from narrows.io.models import load_model

        return load_model(path)
