"""What all estimators share: a fitted state, and how it is read and checked.

There are three ways to fit: `_additive.py` (states that add up), `_batch.py` (all samples at once)
and `_sequential.py` (one sample at a time; `_online.py` has the iterations). `_select.py` and
`_project.py` are the two solution spaces.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from narrows.errors import ParameterError, did_you_mean
from narrows.methods._atomic import atomic, lock_of
from narrows.methods._engines import engine_of
from narrows.methods._errors import errors_named_after, feature_name
from narrows.methods._parameters import copied, same
from narrows.state.labels import check_among
from narrows.solve.foreign import numbers_expected, samples_as_numpy
from narrows.solve.sums import all_finite, with_one_index_type


class Fitted:
    """The state of a fitted estimator, and the solution that was computed from it.

    `source` says how files became features (`narrows.read.Source`); it is saved with a model.
    """

    def __init__(self, state: Any, source: Any = None):
        self.state, self.source = state, source
        self.solution: Any = None
        self.solved: dict[str, Any] = {}  # the parameters that the solution is for

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "solution": None}


_SYNONYMS = {  # what others call such a parameter
    "k": ("n_features",),
    "n_features_to_select": ("n_features",),
    "max_features": ("n_features",),
    "n_features": ("n_components",),
    "n_components": ("n_features",),
    "shrinkage": ("alpha", "mu"),
    "reg": ("alpha", "mu"),
    "tol": ("tolerance",),
}
# verbs of River, which are looked for here
_OF_RIVER = {
    "learn_one", "learn_many", "predict_one", "predict_proba_one", "transform_one",
}  # fmt: skip


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view of a fitted array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class Estimator(TransformerMixin, BaseEstimator):
    """An estimator with a state, and a solution that is a function of it and the parameters.

    So `set_params` needs no new `fit`: the next attribute that is read is that of the new
    parameters. A state has `classes` (sorted), `counts`, `n_samples` and `n_features`, becomes
    wider by `widen`, and becomes plain arrays and back by `to_arrays` and `from_arrays`.
    """

    _state_type: ClassVar[Any]
    _needs_y: ClassVar[bool] = True
    _unsupported: ClassVar[dict[str, str]] = {}  # verbs of other methods: why not, and what to use
    _instead: ClassVar[str]  # what those messages recommend
    _fitted: Fitted
    n_features_in_: int

    def __new__(cls, /, *args: Any, **parameters: Any) -> Self:
        """Say which parameter is meant by one that the class does not take."""
        taken = signature(cls.__init__).parameters if parameters else {}
        known = [name for name in taken if name != "self"]
        takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in taken.values())
        for name in parameters:
            if name not in known and not takes_any:
                same = next((mine for mine in _SYNONYMS.get(name, ()) if mine in known), name)
                raise TypeError(
                    f"{cls.__name__}: expected one of its parameters, got {name!r}. "
                    + did_you_mean(same, known)
                )
        return super().__new__(cls)

    if not TYPE_CHECKING:  # so that a wrong attribute is still found by mypy

        def __getattr__(self, name: str) -> Any:
            """Say what to use instead of a verb that is not supported."""
            why = self._why_not(name)
            if why is None:
                return super().__getattribute__(name)  # raises once more what got us here
            advice = f"{why}. Use {self._instead}." if "Use " not in why else why
            raise AttributeError(f"{type(self).__name__} does not support {name}: {advice}")

    def _why_not(self, name: str) -> str | None:
        """Return why a verb is not supported; None for other names."""
        if name in _OF_RIVER:
            return (
                "it takes samples in batches. Use narrows.river.OneByOne"
                f"({type(self).__name__}()), which takes one at a time."
            )
        return type(self)._unsupported.get(name)

    # -- fitting --------------------------------------------------------------------------------

    @abstractmethod
    def _empty_state(self, n_features: int) -> Any:
        """Return an empty state of this method's kind."""

    @abstractmethod
    def _update_state(self, state: Any, X: Any, y: Any) -> Any:
        """Update a state with samples, in place, and return it."""

    @atomic
    def _fit_state(self, state: Any) -> Self:
        """Fit to a state, as `fit` does to the samples it was made of."""
        self._check_parameters(state.n_features)
        self._set_unnamed(state.n_features)
        return self._finish(state)

    def _fit_parts(self, parts: Any) -> Self:
        """Fit to the parts of a data set, wherever they are (`narrows.engines`).

        Parameters
        ----------
        parts : `narrows.engines.parts.Parts`
            Has the `sum` of their states, or the `rows` as an operator.

        Raises
        ------
        ParameterError
            This method needs all samples in one place; the message names one that does not.
        """
        raise ParameterError(
            f"{type(self).__name__}: expected all samples in one place, since the method does not "
            f"combine fits of parts, got parts of a data set. Use {self._instead}."
        )

    def _check_adds_up(self, state: Any) -> None:
        """Raise WidthError where a state can neither be stored nor added to that of other samples.

        It then holds the samples themselves.
        """
        return

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays, a finished or an unfinished one."""
        return self._state_type.from_arrays(arrays)

    def _state_for(self, X: Any) -> Any:
        """Return an empty state for a data set in chunks like X, which can be iterated again."""
        return self._empty_state(X.shape[1])

    def _is_finished(self, state: Any) -> bool:
        """Whether a state is that of a model, and not one that a fit has to make another of."""
        return isinstance(state, self._state_type)

    def _is_of_pass(self, state: Any, number: int) -> bool:
        """Whether a fit can have a state in its pass of this number, from 0 on."""
        return isinstance(state, type(self._empty_state(1)))

    def _passes_in_order(self, narrow: bool = False) -> int:
        """Return how often at most `fit` goes through the samples in the order of a file.

        With `narrow`, for data of few features.
        """
        return 1

    def _next_pass(self, state: Any) -> Any:
        """Return the state that learns the same samples once more; None if that is not needed."""
        return state

    # -- reading --------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, sorted; of shape (n_classes,)."""
        stats = self._state
        return stats.classes[stats.counts > 0]

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each class, of shape (n_classes,)."""
        counts = self._state.counts
        return counts[counts > 0]

    @property
    def n_samples_seen_(self) -> int:
        """The number of samples seen, whatever their weights and number of labels."""
        return self._state.n_samples

    @property
    def _source(self) -> Any:
        """How files became features, for a model that was fitted to files; else None."""
        check_is_fitted(self)
        return self._fitted.source

    def _column_name(self, k: int) -> str:
        """Return the name of feature k: that of the data, or x0, x1, … where they had none."""
        return feature_name(self, k)

    def _column_names(self) -> np.ndarray | None:
        """Return the names of the features in the data, of shape (n_features,), if any."""
        names = getattr(self, "feature_names_in_", None)
        if names is None and self._source is not None:
            names = self._source.names
        return names

    def _file_columns(self) -> tuple[str, ...] | None:
        """Return the names of the columns of a file or table to read, if they have names."""
        names, source = getattr(self, "feature_names_in_", None), self._source
        if source is not None:
            columns: tuple[str, ...] | None = source.columns
            return columns
        return None if names is None else tuple(names)

    def _remember(self, source: Any) -> Self:
        """Store how files became features (`narrows.read.Source`)."""
        check_is_fitted(self)
        self._fitted.source = source
        return self

    def _widen(self, n_features: int) -> Self:
        """Append features that are 0 in all samples so far; only where features have no names."""
        if self._column_names() is not None:
            raise ValueError(
                f"{type(self).__name__}: expected {self.n_features_in_} named features, got "
                f"{n_features}. Use the features of the fit."
            )
        fitted = self._fitted
        with errors_named_after(self):
            fitted.state, fitted.solution = fitted.state.widen(n_features), None
        self.n_features_in_ = n_features
        return self

    @property
    def _state(self) -> Any:
        check_is_fitted(self)
        return self._fitted.state

    @property
    def _solution(self) -> Any:
        """The solution for the present state and parameters, computed when it is first read."""
        check_is_fitted(self)
        with lock_of(self):
            fitted, now = self._fitted, self.get_params(deep=False)
            if fitted.solution is None or not all(same(fitted.solved[k], now[k]) for k in now):
                self._check_parameters(self.n_features_in_)
                with errors_named_after(self):
                    fitted.solution, fitted.solved = self._solve(fitted.state), copied(now)
            return fitted.solution

    # -- inside ---------------------------------------------------------------------------------

    @abstractmethod
    def _solve(self, state: Any) -> Any:
        """Return the solution for a state; the parameters have been checked."""

    @abstractmethod
    def _finish(self, state: Any) -> Self:
        """Store the state of all samples, with the checks of `fit`."""

    def _check_parameters(self, n_features: int) -> None:
        """Raise ParameterError where a parameter is out of range for so many features."""
        return

    def _check_parameters_alone(self) -> None:
        """Raise ParameterError where a parameter is out of range whatever the data."""
        self._check_parameters(sys.maxsize)

    def _check_two_classes(self, state: Any) -> None:
        """Raise where `fit` had no weight at all, or fewer than the two classes it needs."""
        name, classes = type(self).__name__, int((state.counts > 0).sum())
        if state.n_samples and not classes:
            raise ValueError(
                f"{name}: expected samples with a label and a non-zero weight, got none. "
                "Check y and sample_weight."
            )
        if classes < 2 and self._needs_y:
            streams = hasattr(self, "partial_fit")
            raise ValueError(
                f"{name}: expected two classes of positive weight, got {classes} "
                f"class{'' if classes == 1 else 'es'}. Check the labels"
                + (", or use partial_fit where more classes will come." if streams else ".")
            )

    def _check_classes(self, classes: Any, y: Any) -> np.ndarray | None:
        """Return the classes that were given; raise where labels are not among them."""
        if classes is None:
            return None
        known = np.empty(0, np.int64)
        if self._needs_y and self.__sklearn_is_fitted__():
            known = self.classes_
        return check_among(classes, y if self._needs_y else None, known, type(self).__name__)

    def _labels(self, X: Any, y: Any) -> Any:
        """Return y, or the class 0 for all samples where y is None and not needed."""
        if y is None and self._needs_y:
            raise ValueError(  # in the words that scikit-learn's checks expect
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one label per sample, or a 0-1 indicator matrix."
            )
        return np.zeros(X.shape[0], dtype=np.int64) if y is None else y

    def _check_X(self, X: Any, **options: Any) -> Any:
        engine = engine_of(X)
        if engine is not None:
            library = type(X).__module__.partition(".")[0]
            raise TypeError(
                f"{type(self).__name__}: expected samples in memory, got a {library} collection, "
                "which only fit and transform accept. Loop over the partitions and compute each, "
                f"or fit on a cluster with {engine.__name__}.fit."
            )
        X = samples_as_numpy(X, type(self).__name__)
        if "ensure_all_finite" not in options:
            options["ensure_all_finite"] = not all_finite(X)
        # scikit-learn checks a sum
        with np.errstate(over="ignore", invalid="ignore"), numbers_expected(X, type(self).__name__):
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options
            )
        return with_one_index_type(X)

    def _set_unnamed(self, n_features: int) -> None:
        """Set the number of features of a fit whose features have no names."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = n_features

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_y
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
