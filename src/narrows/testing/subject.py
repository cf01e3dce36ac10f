"""What the laws share: their registry, the estimator under test, and comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from narrows.errors import ParameterError
from narrows.methods.methods import METHODS

N, D = 60, 7  # samples and features of the data
_RIDGES = tuple(
    f"{name}_{what}_" for name in ("alpha", "mu", "eps") for what in ("scores", "errors")
)
# how much was done, not what was learned
EFFORT = {"n_samples_seen_", "n_iter_"}
_NO_ENERGY = ("n_features", "threshold", "per_class")  # other sizes of a selection
CLASSES = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])


class Law(NamedTuple):
    """A law, what an estimator needs for it to apply, and which data it takes.

    `once` is whether one draw of data is enough, and `zeros` whether these have zeros; None: half
    of the draws have some.
    """

    keep: Callable[[Any, Any, Any, Any], None]
    needs: tuple[str, ...]
    once: bool
    zeros: bool | None


LAWS: dict[str, Law] = {}  # by name, in the order of `all_laws`


def law(*needs: str, once: bool = False, zeros: bool | None = None) -> Callable[[Any], Law]:
    """Make a function one of `LAWS`: it raises AssertionError where a subject does not keep it."""

    def register(keep: Any) -> Law:
        LAWS[keep.__name__] = Law(keep, needs, once, zeros)
        return LAWS[keep.__name__]

    return register


class Subject:
    """An estimator with its capabilities.

    Parameters
    ----------
    estimator : estimator
        Is cloned before it is fitted.
    rtol : float
        How much of the largest value of an array two answers may differ by.

    Attributes
    ----------
    given_priors : bool
        Whether priors are given, one for each class.
    n_classes : int
        How many classes the data have.
    """

    def __init__(self, estimator: Any, rtol: float = 1e-9):
        self.estimator, self.rtol = estimator, rtol
        params, tags = estimator.get_params(), get_tags(estimator)
        priors = params.get("priors")
        self.given_priors = not isinstance(priors, str | None)
        self.n_classes = np.size(priors) if self.given_priors else 3
        preserved = tags.transformer_tags.preserves_dtype if tags.transformer_tags else []
        own = METHODS.get(type(estimator).__name__) is type(estimator)
        self.numeric = is_regressor(estimator) or bool(getattr(estimator, "_takes_numbers", False))
        several = hasattr(estimator, "fit_moments") or tags.target_tags.multi_output
        one = self.numeric or not several
        rows = [
            *((verb, hasattr(estimator, verb), f"the estimator has no {verb}")
              for verb in ("partial_fit", "merge", "fit_moments", "get_support")),
            ("sample_weight", has_fit_parameter(estimator, "sample_weight"),
             "fit has no parameter sample_weight"),
            ("sparse", tags.input_tags.sparse, "the tags say that sparse X is not supported"),
            ("y", tags.target_tags.required, "the tags say that y is not required"),
            ("float32", "float32" in preserved, "the tags do not have float32 in preserves_dtype"),
            ("indicator", not one, "the tags do not say that y may be an indicator"),
            ("half_life", "half_life" in params, "the estimator has no parameter half_life"),
            ("no half_life", params.get("half_life") is None, "half_life is set"),
            ("one ranking", params.get("per_class") is None, "per_class is set"),
            ("classes", not self.numeric, "the targets are numbers"),
            ("a name", own, "narrows.save supports only the methods of narrows"),
        ]  # fmt: skip
        self._missing = {need: "" if available else why for need, available, why in rows}

    def missing(self, need: str) -> str:
        """Return why the estimator does not have what a law may need; "" if it does.

        A need that ends in "_" is an attribute of the fitted estimator: where the class does not
        have it, a clone is fitted, once.
        """
        if not need.endswith("_"):
            return self._missing[need]
        if not (hasattr(type(self.estimator), need) or hasattr(self.fitted, need)):
            return f"the fitted estimator has no {need}"
        if need == "moments_" and hasattr(self.estimator, "fit_moments"):
            with suppress(ValueError):  # which the laws show
                try:
                    quietly(self.new().fit_moments, self.fitted.moments_)
                except ParameterError as error:  # it needs the moments of folds, or a map
                    return f"fit_moments does not take moments_: {error}"
        return ""

    @cached_property
    def fitted(self) -> Any:
        """A clone fitted to samples with zeros; raises ValueError where it cannot be fitted."""
        X, y = self.data(np.random.default_rng(0), zeros=True)
        try:
            return quietly(self.new().fit, X, y)
        except Exception as error:
            raise ValueError(
                f"expected an estimator that fits {N} samples of {D} features in {self.n_classes} "
                f"classes, got {type(error).__name__} from {self.estimator!r}: "
                f"{str(error).rstrip('.')}. Use parameters that suit such data."
            ) from error

    def fits(self, X: Any, y: Any) -> bool:
        """Whether the parameters of the estimator suit samples."""
        try:
            quietly(self.new().fit, X, y)
        except ValueError:
            return False
        return True

    @cached_property
    def presence(self) -> bool:
        """Whether other values give the same answer, so that only zeros matter."""
        rng = np.random.default_rng(0)
        codes, (X, other) = self._codes(rng), rng.normal(size=(2, N, D))
        try:
            one, two = (quietly(self.new().fit, values, CLASSES[codes]) for values in (X, other))
            self.same(one, two, X)
        except Exception:  # what is wrong with the estimator is raised by the laws
            return False
        return True

    def new(self, **params: Any) -> Any:
        """Return an unfitted clone."""
        return clone(self.estimator).set_params(**params)

    def data(self, rng: Any, zeros: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return samples of classes that differ, in numbers without ties, and their labels.

        Half of the draws have zeros, and all of them where the presence of features is counted.
        """
        c, codes = self.n_classes, self._codes(rng)
        X = rng.normal(size=(N, D)) + rng.normal(size=(c, D))[codes] * np.linspace(0.3, 1.5, D)
        if self.presence or (rng.random() < 0.5 if zeros is None else zeros):
            X = np.where(rng.random(X.shape) < rng.uniform(0.2, 0.8, (c, D))[codes], X, 0.0)
        return X, self.targets(codes) + X[:, 1] if self.numeric else CLASSES[codes]

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels of samples by their classes; or numbers, where targets are numbers."""
        return codes * 1.5 if self.numeric else CLASSES[codes]

    def _codes(self, rng: Any) -> np.ndarray:
        """Return the classes of samples; each has at least one."""
        c = self.n_classes
        shares = np.arange(1, c + 1) / np.arange(1, c + 1).sum()
        return np.append(np.arange(c), rng.choice(c, N - c, p=shares))

    def form(self, X: Any, yes: bool = True) -> Any:
        """Return X as a sparse array if requested and supported by the estimator."""
        return sparse.csr_array(X) if yes and not self.missing("sparse") else X

    def answer(self, fitted: Any, X: Any) -> dict[str, np.ndarray]:
        """Return all that can be read off a fitted estimator, by name."""
        names = {*dir(type(fitted)), *vars(fitted)}  # dir(fitted) would read each of them
        public = (name for name in names if name.endswith("_") and not name.startswith("_"))
        read: dict[str, Any] = {name: partial(getattr, fitted, name) for name in public}
        for verb in ("get_support", "get_feature_names_out"):
            if hasattr(fitted, verb):
                read[f"{verb}()"] = getattr(fitted, verb)
        for verb in ("transform", "predict", "predict_proba", "decision_function"):
            if hasattr(fitted, verb):
                read[f"{verb}()"] = partial(getattr(fitted, verb), X)
        found = ((name, value_of(get)) for name, get in read.items())
        return {name: value for name, value in found if value is not None}

    def same(self, found: Any, expected: Any, X: Any, but: Any = (), exact: bool = False) -> None:
        """Raise AssertionError where two fitted estimators differ in what they answer."""
        a, b = self.answer(found, X), self.answer(expected, X)
        check(a.keys() == b.keys(), f"only one has {', '.join(sorted(a.keys() ^ b.keys()))}")
        undecided = set() if exact else self.undecided(b)
        for name in sorted(a.keys() - {*but, *undecided}):
            self.near(name, a[name], b[name], exact)

    def undecided(self, answer: dict[str, np.ndarray]) -> set[str]:
        """Return what rounding may change.

        The number of iterations; ranks; the number of positive values, if one is 0; what is
        selected, if the last score is a tie, or the score or energy that decides is at its limit;
        and how well ridges do that are hardly larger than rounding.
        """
        params, found = self.estimator.get_params(), {"n_iter_", "ranking_", *_RIDGES}
        each, limit = params.get("per_class"), params.get("threshold")
        support = answer.get("get_support()", np.zeros(0))
        scores = answer.get("scores_" if each is None else "class_scores_", np.zeros(0))
        for name in ("scores_", "class_scores_", "eigenvalues_"):
            values = answer.get(name, np.zeros(0))
            if values.dtype.kind == "f" and (_apart(values, 0.0) <= self._near(values)).any():
                found.add("n_positive_")
        if support.dtype != bool or scores.dtype.kind != "f" or not scores.size:
            return found  # no selection, or none yet
        near = self._near(scores)
        rows, kept = np.sort(np.atleast_2d(scores)), each or int(support.sum())
        tie = kept < rows.shape[1] and (_apart(rows[:, -kept], rows[:, -kept - 1]) <= near).any()
        at_limit = limit is not None and (_apart(rows, limit) <= near).any()
        if "energy_" in answer and all(params.get(size) is None for size in _NO_ENERGY):
            share = params.get("energy") or 0.8
            at_limit |= (_apart(answer["energy_"][:-1], share) <= max(1e-12, self.rtol)).any()
        if at_limit:
            found.add("n_features_")
        if tie or at_limit:
            found |= {"get_support()", "get_feature_names_out()", "transform()"}
        return found

    def _near(self, values: np.ndarray) -> float:
        """Return by how much rounding may change values."""
        return _largest(values) * max(1e-12, self.rtol)

    def untouched(self, found: Any, before: Any, X: Any) -> None:
        """Raise AssertionError where an estimator is not, to the bit, the copy made before."""
        self.same(found, before, X, exact=True)
        check(vars(found).keys() == vars(before).keys(), "an attribute was set or deleted")
        if hasattr(found, "moments_") and hasattr(found.moments_, "to_arrays"):
            arrays = before.moments_.to_arrays()
            for name, array in found.moments_.to_arrays().items():
                self.near(f"moments_, {name}", array, arrays[name], exact=True)

    def near(self, name: str, found: Any, expected: Any, exact: bool = False) -> None:
        """Raise AssertionError where an array is not what is expected."""
        a, b = np.asarray(found), np.asarray(expected)
        check(a.shape == b.shape, f"{name}: expected shape {b.shape}, got {a.shape}")
        if exact or a.dtype.kind != "f" or b.dtype.kind != "f":
            equal = np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")
            check(equal, "" if equal else f"{name}: {_first_difference(a, b)}")
            return
        scale = _largest(b)
        atol = max(1e-12, self.rtol) * max(1e-300, scale)
        right = np.allclose(a, b, self.rtol, atol, equal_nan=True)
        most = np.nanmax(_apart(a, b), initial=0.0)
        check(right, f"{name} differs by up to {most:.2g}; its largest value is {scale:.2g}")


def _first_difference(a: np.ndarray, b: np.ndarray) -> str:
    """Return what was expected and what was found where two arrays differ first, to all digits."""
    differ = np.atleast_1d(a != b)
    if "f" in (a.dtype.kind, b.dtype.kind) and a.dtype.kind in "fiub" and b.dtype.kind in "fiub":
        differ &= ~np.atleast_1d(np.isnan(a) & np.isnan(b))
    k = np.unravel_index(int(differ.argmax()), differ.shape) if differ.any() else ()
    expected, got = (np.atleast_1d(each)[k].item() for each in (b, a))
    where = f" at {tuple(map(int, k))}" if a.ndim else ""
    if not differ.any():  # of other types
        return f"expected {b.dtype}, got {a.dtype}"
    return f"expected {expected!r}, got {got!r}{where}"


def _largest(a: np.ndarray) -> float:
    """Return the largest finite magnitude."""
    return float(np.abs(a[np.isfinite(a)]).max(initial=0.0))


def _apart(a: np.ndarray, b: Any) -> np.ndarray:
    """Return |a - b|, 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, np.abs(a - b))


def value_of(get: Callable[[], Any]) -> Any:
    """Return an answer as an array, the name of the error it raises, or None for an object."""
    try:
        value = get()
    except (ValueError, AttributeError) as error:
        return np.array(type(error).__name__)
    try:
        array = np.asarray(value.toarray() if sparse.issparse(value) else value)
    except ValueError:  # lists of different lengths
        return None
    return array if array.dtype.kind != "O" or array.ndim or value is None else None


def quietly(learn: Callable[..., Any], *args: Any) -> Any:
    """Call a function without its UserWarnings: small data often have a margin of 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return learn(*args)


def check(right: Any, message: str) -> None:
    """Raise AssertionError with the message, unless all is right."""
    if not right:
        raise AssertionError(message)


def refused(learn: Callable[[], Any], what: str) -> None:
    """Raise AssertionError where something is not refused with a ValueError."""
    try:
        learn()
    except ValueError:
        return
    raise AssertionError(f"expected a ValueError for {what}, got none")


def batches(rng: Any) -> list[slice]:
    """Return batches of any size; some are empty, or of one sample."""
    ends = rng.integers(0, N + 1, rng.integers(0, 6)).tolist()
    ends += rng.choice([0, 1, N - 1, N], rng.integers(0, 3)).tolist()
    return [slice(a, b) for a, b in pairwise([0, *sorted(ends), N])]
