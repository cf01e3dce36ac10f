"""Methods that are compared: of narrows, of scikit-learn by name, and any transformer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from inspect import signature
from itertools import chain, count
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, chi2, f_classif, f_regression
from sklearn.pipeline import Pipeline
from sklearn.random_projection import SparseRandomProjection
from threadpoolctl import threadpool_limits

from narrows.errors import ParameterError, did_you_mean
from narrows.evaluate.splits import fit_preprocessing, source_of
from narrows.io.source import Source
from narrows.io.table_rows import n_rows
from narrows.methods import projectors
from narrows.methods.base import Reducer, plan_of, reducer_of, solution_of
from narrows.methods.discriminants import LDA
from narrows.methods.erasure import LEACE
from narrows.methods.forward import ForwardFS
from narrows.methods.methods import METHODS
from narrows.methods.online import OnlineSRDA
from narrows.methods.parameters import KEPT, is_integer, same
from narrows.methods.plan import Data, Pass
from narrows.methods.sequential import CCIPCA, ILDA, IMMC
from narrows.moments.moments import Moments
from narrows.moments.targets import as_samples
from narrows.solve.columns import take
from narrows.solve.products import cores

# parameters that are a number of columns
_SIZES = "n_components", "n_features", "n_features_to_select", "k"
_LISTED = 5  # components that reports list
_MANY_COMPONENTS = 500  # components: with so many, the threads of a decomposition hardly wait
RIVALS: dict[str, Any] = {
    "truncatedsvd": TruncatedSVD(random_state=0),
    "sklearn-pca": PCA(random_state=0),  # "pca" is that of narrows
    "sparserandomprojection": SparseRandomProjection(random_state=0),
    "chi2": SelectKBest(chi2),
    "f_classif": SelectKBest(f_classif),
    "lineardiscriminantanalysis": LinearDiscriminantAnalysis(),
    "plsregression": PLSRegression(),
    "f_regression": SelectKBest(f_regression),
}
_FOR_CLASSES = "chi2", "f_classif", "lineardiscriminantanalysis"
_FOR_NUMBERS = "plsregression", "f_regression"


class States:
    """The moments of the training samples of a split, which methods that need the same share."""

    def __init__(self, X: Any, y: np.ndarray):
        self._X, self._y, self._made = X, y, dict[Pass, tuple[list[Moments], float]]()

    def of(self, step: Pass) -> tuple[list[Moments], float]:
        """Return the moments of a pass, and the CPU seconds that they took."""
        if step.second == "cross":  # methods that need no kept samples ignore them
            step = replace(step, keep=step.keep or KEPT)
        if step not in self._made:
            started = time.process_time()
            y = self._y if step.numeric else _labels(self._y)
            state = step.add(step.empty(self._X.shape[1]), self._X, y)
            self._made[step] = state, time.process_time() - started
        return self._made[step]


def _labels(y: np.ndarray) -> np.ndarray:
    """Return labels for methods that use none, where y holds numeric targets."""
    return np.zeros(len(y), np.int64) if y.ndim == 2 else y


class Method:
    """A transformer that is compared, or a pipeline that ends in one, as it is run on each fold.

    It is fitted once for each number of dimensions if a parameter of it is a number of columns that
    has its default, and otherwise once. It may use all cores for many components; CPU seconds are
    summed over the cores.
    """

    is_compiled = False  # whether loops need not be compiled before times are taken
    fitted: Any = None  # the estimator of narrows, fitted to the last fold
    fold = 0  # the number of that fold
    groups: np.ndarray | None = None  # the column of each feature of a table
    source: Source | None = None  # where its features come from, if steps of its own made them
    width: int | None = None  # the number of features that its own steps make
    erases = False  # whether it keeps all features, without what they say of the targets
    is_forward = False  # whether it takes one feature, or column of a table, after another

    def __init__(self, name: str, transformer: Any):
        steps = getattr(transformer, "steps", [("", transformer)])
        self.name, self.transformer, (start, self.last) = name, transformer, steps[-1]
        self.takes_anything = len(steps) > 1  # a pipeline, whose first step makes the features
        known = self.last.get_params(deep=False) if has_default_size(self.last) else {}
        start = f"{start}__" if isinstance(transformer, Pipeline) else ""
        self.size = next((start + size for size in _SIZES if size in known), "")
        # whether it takes the dimensions that are compared, having none of its own, and whether the
        # first ones of more are those of a fit with fewer
        self.is_sized, self.is_nested = bool(self.size), self.size.endswith("n_components")

    def is_for(self, numeric: bool) -> bool:
        """Whether it learns from numeric targets, or from classes; some need neither."""
        return self.name not in (_FOR_CLASSES if numeric else _FOR_NUMBERS)

    def begin(self, fold: int, groups: np.ndarray | None) -> None:
        """Note the number of the fold that follows, and the column of each feature of a table."""
        self.fold, self.groups = fold, groups

    def learn(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Learn for at most `most` dimensions, or keep the samples; return the CPU seconds."""
        self.samples = X, y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        return 0.0

    def reducer(self, p: int | None, X: Any) -> Callable[[Any], Any]:
        """Return the function that reduces samples to p dimensions, or to as many as there are.

        p is None for a method with a size of its own.
        """
        X, y = self.samples
        if p is not None and not self.takes_anything:
            p = min(p, *(X.shape if self.size == "n_components" else X.shape[1:]))
            if isinstance(self.transformer, LinearDiscriminantAnalysis):
                p = min(p, len(np.unique(y)) - 1)
        made = self.with_size(p)
        with threadpool_limits(cores()) if (p or 0) >= _MANY_COMPONENTS else nullcontext():
            made.fit(X, y)
        last = made.steps[-1][1] if isinstance(made, Pipeline) else made
        self.width = getattr(last, "n_features_in_", None)

        def reduce(samples: Any) -> Any:
            Z = made.transform(samples)
            Z = Z if sparse.issparse(Z) else np.asarray(Z)
            if Z.ndim != 2 or Z.shape[0] != n_rows(samples):
                raise ValueError(
                    f"expected reduced samples of shape ({n_rows(samples)}, "
                    f"n_components) from {self.name}, got {Z.shape}."
                )
            return Z

        return reduce

    def with_size(self, p: int | None) -> Any:
        """Return an unfitted transformer to p dimensions, or to its own number of them."""
        return clone(self.transformer).set_params(**({self.size: p} if p and self.size else {}))

    def keeps_all(self, Z: Any, X: Any) -> bool:
        """Whether reduced samples have all features, with which a classifier predicts the same."""
        selects = not self.takes_anything and getattr(self.fitted, "_selects", False)
        return selects and Z.shape[1] == X.shape[1]

    def n_columns(self, p: int | None) -> tuple[int, int]:
        """Return how many columns of a table p stands for, and of how many; 0 where of none."""
        return 0, 0

    def chosen(self, p: int | None, source: Source | None) -> tuple[str, ...]:
        """Return the names of the selected columns of a table, or features, best first."""
        return ()


class NarrowsMethod(Method):
    """A method of narrows, fitted once for all numbers of dimensions."""

    labels: Any = None  # of the samples of the fit
    most = 0  # components of a method that is fitted for each number of them

    def __init__(self, name: str, transformer: Any):
        super().__init__(name, transformer)
        self.estimator, self.fitted = self.last, clone(self.last)
        self.is_sized = has_default_size(self.estimator)
        # OnlineSRDA has outputs of all classes
        self.is_nested &= not isinstance(self.estimator, ILDA | OnlineSRDA)
        self.is_forward = isinstance(self.estimator, ForwardFS)
        self.erases = isinstance(self.estimator, LEACE)

    def is_for(self, numeric: bool) -> bool:
        """Whether it learns from numeric targets, or from classes."""
        if self.estimator._takes_numbers is not False:
            return numeric or self.estimator._takes_numbers is None
        return not (numeric and self.estimator._needs_y)

    def sums(self, n_features: int, numeric: bool) -> Pass | None:
        """Return the pass whose moments determine the method."""
        estimator = self.estimator
        # a half-life depends on the order of the samples, which a shared state does not keep
        if not hasattr(estimator, "fit_moments") or estimator.get_params().get("half_life"):
            return None
        data = Data(n_features, True, numeric and estimator._takes_numbers is not False)
        try:
            step, *more = plan_of(estimator, data, "memory").passes
        except (ValueError, TypeError):  # which `fit` raises, too
            return None
        return step if step.adds_up and not more else None

    def learn(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Fit for at most `most` dimensions; return the CPU seconds."""
        first, most_found = np.empty(0, np.int64), X.shape[1]
        if y.ndim == 1:
            first = np.unique(y, return_index=True)[1]
            if not isinstance(self.estimator, CCIPCA | IMMC):
                most_found = min(most_found, len(first))
        self.fitted = clone(self.estimator)
        if y.ndim == 2 and self.fitted._takes_numbers is None:
            self.fitted.set_params(target="numeric")
        if not self.fitted._takes_numbers:
            y = _labels(y)
        self.labels = y
        if self.is_forward:  # shorter selections are its first steps
            if self.fitted.groups is None:
                self.fitted.set_params(groups=self.groups)
            if self.is_sized:
                self.fitted.set_params(n_features=min(most, self._n_groups(X.shape[1])))
        can_continue = isinstance(self.fitted, LDA) and self.fitted.solver == "regularized"
        if can_continue and self.is_sized and len(first) <= most < X.shape[1]:
            self.fitted.set_params(n_components=most)  # those after the first are nested
        if self.is_sized and is_integer(self.estimator.get_params().get("n_components"), 1):
            self.most = min(most, most_found)
            self.fitted.set_params(n_components=self.most)
        if not self.is_compiled:
            few = np.unique(np.append(first, np.arange(min(64, len(y)))))
            with warnings.catch_warnings(), suppress(ValueError):  # few targets may be constant
                warnings.simplefilter("ignore")
                clone(self.fitted).fit(X[few], y[few])
            self.is_compiled = True
        with warnings.catch_warnings():
            # a reduction to fewer dimensions is shown as such
            warnings.filterwarnings("ignore", "expected .*features that vary")
            warnings.filterwarnings("ignore", "expected n_components<=")
            return self._timed(X, y, states, most)

    def _timed(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Fit, and compute the solution where it is not computed for each size; see `learn`."""
        started, before = time.process_time(), 0.0
        step = self.sums(X.shape[1], y.ndim == 2)
        is_open = isinstance(self.fitted, projectors.PCA) and self.is_sized
        if is_open:  # of all there are
            n, d = X.shape[0] - 1, X.shape[1] - (step is None)
            self.fitted.set_params(n_components=min(max(most, _LISTED), n, d))
        if step is not None:
            state, before = states.of(step)
            started = time.process_time()
            try:
                self.fitted.fit_moments(state)
            except ParameterError:
                if not is_open:
                    raise
                self.fitted.set_params(n_components=None).fit_moments(state)
        else:
            self.fitted.fit(X, y)
            solution_of(self.fitted)  # computed when first read
        return before + time.process_time() - started

    def reducer(self, p: int | None, X: Any) -> Callable[[Any], Any]:
        """Return the function that reduces samples to p dimensions."""
        if p is None:
            return reducer_of(self.fitted)
        if isinstance(self.fitted, ILDA) and min(p, self.most) != self.fitted.n_components:
            self.fitted.set_params(n_components=min(p, self.most)).fit(X, self.labels)
        if self.is_forward:
            columns = self._of_steps(p)
            return lambda samples: take(samples, columns)
        if self.fitted._selects:
            self.fitted.set_params(n_features=min(p, X.shape[1]))  # instead of any other size
            return reducer_of(self.fitted)
        if isinstance(self.fitted, OnlineSRDA):
            few = p < len(self.fitted.classes_)
            self.fitted.set_params(n_components=p if few else None)
        return reducer_of(self.fitted, p)

    def n_columns(self, p: int | None) -> tuple[int, int]:
        """Return how many columns p stands for, and of how many."""
        if p is None or self.groups is None or not self.is_forward:
            return 0, 0
        n = self._n_groups(len(self.groups))
        return min(p, n), n

    def chosen(self, p: int | None, source: Source | None) -> tuple[str, ...]:
        """Return the names of what is selected, best first."""
        source = source if self.width is None else self.source
        if source is None or source.names is None or not self.fitted._selects:
            return ()
        in_steps = self.is_forward and p is not None
        kept = self.fitted.get_support(indices=True)
        if p is not None and in_steps:
            kept = self._of_steps(p)
        order = self.fitted.ranking_[np.isin(self.fitted.ranking_, kept)]
        if in_steps and self.groups is not None and source.encoder is not None:
            columns = dict.fromkeys(np.asarray(self.groups)[order].tolist())
            return tuple(source.encoder.decisions_[column].column for column in columns)
        return tuple(source.names[order].tolist())

    def projection(self, p: int) -> Callable[[Any], Any]:
        """Return the function that reduces samples to the first p components, or all there are."""
        return reducer_of(self.fitted, p)

    def _n_groups(self, n_features: int) -> int:
        """Return how many steps a forward selection can make: the number of features, or groups."""
        return len(np.unique(self.fitted.group_of(n_features)))

    def _of_steps(self, p: int) -> np.ndarray:
        """Return the features of the first p steps of a forward selection, or of all, sorted."""
        found = solution_of(self.fitted)
        return np.sort(found.order[: found.ends[min(p, len(found.ends)) - 1]])


class NarrowsPipeline(NarrowsMethod):
    """A pipeline that ends in a method of narrows; its other steps are fitted in each fold."""

    def learn(self, X: Any, y: np.ndarray, states: States, most: int) -> float:
        """Fit for at most `most` dimensions; return the CPU seconds."""
        started = time.process_time()
        self._before, Z = fit_preprocessing(self.transformer[:-1], X, y)
        Z = as_samples(Z)
        self._samples, self.source, self.width = (X, Z), source_of(self._before), Z.shape[1]
        before = time.process_time() - started
        return before + super().learn(Z, y, States(Z, y), most)

    def reducer(self, p: int | None, X: Any) -> Callable[[Any], Any]:
        """Return the function that reduces samples to p dimensions."""
        return self._after_steps(super().reducer(p, self._samples[1]))

    def projection(self, p: int) -> Callable[[Any], Any]:
        """Return the function that transforms samples and projects them onto p components."""
        return self._after_steps(super().projection(p))

    def _after_steps(self, reduce: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def both(samples: Any) -> Any:
            known = samples is self._samples[0]
            return reduce(self._samples[1] if known else self._before.transform(samples))

        return both


def has_default_size(estimator: Any) -> bool:
    """Whether the parameters that set the number of columns have their defaults."""
    given, defaults = estimator.get_params(deep=False), signature(type(estimator)).parameters
    names = [name for name in (*_SIZES, "energy", "threshold") if name in given]
    return bool(names) and all(
        name in defaults and same(given[name], defaults[name].default) for name in names
    )


def check_methods(
    methods: Sequence[Any], seed: int, numeric: bool = False, others: Mapping[str, Any] = RIVALS
) -> list[Method]:
    """Return methods for classes or numbers, each name once; `others` have names like those."""
    if isinstance(methods, str):
        raise ParameterError(f"expected a list of methods, got {methods!r}.")
    made: dict[str, Method] = {}
    for given in methods:
        method = _method_of(given, seed, others)
        if isinstance(given, str) and method.name in made:
            continue
        numbered = (f"{method.name} ({number})" for number in count(2))  # if two look alike
        method.name = next(name for name in chain([method.name], numbered) if name not in made)
        made[method.name] = method
        if not method.is_for(numeric):
            known = [*map(str.lower, METHODS), *others]
            fitting = [name for name in known if _method_of(name, seed, others).is_for(numeric)]
            kind = "numeric targets" if numeric else "classes"
            advice = "" if numeric else " For numbers, set `target`."
            raise ParameterError(
                f"expected methods for {kind} ({', '.join(fitting)}), got {method.name!r}.{advice}"
            )
    return list(made.values())


def _method_of(method: Any, seed: int, others: Mapping[str, Any]) -> Method:
    """Return the method that a name, with a seed, an estimator or a pipeline stands for."""
    if isinstance(method, type):
        try:
            method = method()
        except TypeError as error:
            raise ParameterError(
                f"expected methods, got the class {method.__name__}, which needs "
                f"arguments: {error}. Pass an estimator."
            ) from None
    last = method.steps[-1][1] if isinstance(method, Pipeline) else method
    if isinstance(last, Reducer):
        steps = [step for _, step in getattr(method, "steps", [("", last)])]
        name = " + ".join(repr(step) for step in steps if step not in (None, "passthrough"))
        return (NarrowsMethod if len(steps) == 1 else NarrowsPipeline)(name, method)
    if all(hasattr(method, needed) for needed in ("fit", "transform", "get_params")):
        return Method(" ".join(repr(method).split()), method)
    if not isinstance(method, str):
        got = " ".join(repr(method).split())
        raise ParameterError(
            "expected names of methods, or estimators or pipelines with fit, transform "
            f"and get_params, got {got:.100}. Pass one of these."
        )
    name = str(method).lower()
    ours = {known.lower(): kind for known, kind in METHODS.items()}
    if name not in ours and name not in others:
        hint = did_you_mean(name, [*ours, *others])
        raise ParameterError(
            f"expected the name of a method, or an estimator with fit and transform, "
            f"got {method!r}. {hint}"
        )
    made = ours[name]() if name in ours else clone(others[name])
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return (NarrowsMethod if name in ours else Method)(name, made)
