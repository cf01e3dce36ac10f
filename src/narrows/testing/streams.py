"""The laws of streams, and of states that add up."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from narrows.testing.subject import EFFORT, Law, N, Subject, batches, check, law, refused

# -- streams ---------------------------------------------------------------------------------------


@law("partial_fit")
def batching(it: Subject, rng: Any) -> None:
    """partial_fit in batches of any size = partial_fit of all samples at once."""
    X, y = it.data(rng)
    made, stream = it.form(X, rng.random() < 0.5), it.new()
    for rows in batches(rng):
        stream.partial_fit(made[rows], y[rows])
    it.same(stream, it.new().partial_fit(made, y), X)


@law("partial_fit")
def partial_fit(it: Subject, rng: Any) -> None:
    """partial_fit of all samples at once = fit."""
    X, y = it.data(rng)
    it.same(it.new().partial_fit(X, y), it.new().fit(X, y), X)


@law("partial_fit", once=True)
def start(it: Subject, rng: Any) -> None:
    """A stream may start with no sample, and go on one sample at a time."""
    X, y = it.data(rng)
    stream = it.new().partial_fit(X[:0], y[:0])
    check(getattr(stream, "n_samples_seen_", 0) == 0, "n_samples_seen_ is not 0 at the start")
    for i in range(N):
        stream.partial_fit(X[i : i + 1], y[i : i + 1])
        for name, value in it.answer(stream, X).items() if i < 5 else ():
            number = value.dtype.kind != "f" or not np.isnan(value).any()
            check(number, f"{name} has NaN after {i + 1} samples")
    at_once = it.new().partial_fit(X, y)
    it.same(stream, at_once, X)
    it.same(stream.partial_fit(X[:0], y[:0]), at_once, X)


@law("partial_fit", once=True)
def failing_partial_fit(it: Subject, rng: Any) -> None:
    """A partial_fit that raises ValueError leaves the estimator as it was."""
    for zeros in (False, True):
        X, y = it.data(rng, zeros)
        cell = X == X[X != 0][20]
        spoilt: list[tuple[str, Any, Any, bool]] = [
            ("NaN", np.where(cell, np.nan, X), y, True),
            ("infinity", np.where(cell, np.inf, X), y, True),
            ("fewer features", X[:, :5], y, False),
            ("fewer labels than samples", X, y[:-1], True),
            ("labels of another type", X, np.arange(N), False),
            ("continuous labels", X, np.linspace(0, 1, N), True),
        ]
        if not it.missing("y"):
            spoilt.append(("y=None", X, None, True))
        for what, bad, labels, also_first in spoilt:
            fitted, fresh = it.new().fit(X, y), it.new()
            before = copy.deepcopy(fitted)
            refused(partial(fitted.partial_fit, it.form(bad, zeros), labels), what)
            it.untouched(fitted, before, X)
            if also_first:
                refused(partial(fresh.partial_fit, it.form(bad, zeros), labels), what)
                check(vars(fresh).keys() == vars(it.new()).keys(), f"{what} set an attribute")


# -- states that add up ----------------------------------------------------------------------------


@law("merge", "partial_fit", "no half_life")
def merge(it: Subject, rng: Any) -> None:
    """The merge of parts in any order = fit of all samples; the parts stay as they are."""
    (X, y), parts = it.data(rng), batches(rng)
    fitted = [it.new().partial_fit(X[parts[i]], y[parts[i]]) for i in rng.permutation(len(parts))]
    before = copy.deepcopy(fitted)
    it.same(fitted[0].merge(*fitted[1:]), it.new().fit(X, y), X)
    it.same(it.new().merge(before[0]), before[0], X)
    for other, copied in zip(fitted[1:], before[1:], strict=True):
        it.untouched(other, copied, X)


@law("merge", "partial_fit", once=True)
def merge_shares_nothing(it: Subject, rng: Any) -> None:
    """What a merged estimator learns later does not reach those it was merged from."""
    X, y = it.data(rng)
    a, b = it.new().fit(X, y), it.new().fit(X[: N // 2], y[: N // 2])
    before = copy.deepcopy(b)
    it.new().merge(b).partial_fit(X, y)
    a.merge(b).partial_fit(X, y)
    it.untouched(b, before, X)


@law("fit_stats", "partial_fit", "no half_life", "stats_")
def unlearning(it: Subject, rng: Any) -> None:
    """The state of all samples less that of some = the state of the others."""
    (X, y), cut = it.data(rng), int(rng.integers(10, 51))
    y[cut:] = np.where(y[cut:] == "bee", "yak", y[cut:])  # a class that comes and goes
    made = it.form(X, rng.random() < 0.5)
    whole, gone = (it.new().partial_fit(made[i:], y[i:]).stats_ for i in (0, cut))
    it.same(it.new().fit_stats(whole - gone), it.new().fit(X[:cut], y[:cut]), X)


@law("fit_stats", "stats_")
def forgetting(it: Subject, rng: Any) -> None:
    """A state times g > 0 has the answer of the state; only weights and scores may grow by g."""
    (X, y), g = it.data(rng), 10 ** rng.uniform(-3, 3)
    fitted = it.new().fit(X, y)
    scaled, factors = it.new().fit_stats(g * fitted.stats_), {"class_count_": g}
    if hasattr(fitted, "scores_"):
        largest = np.abs(fitted.scores_).argmax()
        before, after = fitted.scores_[largest], scaled.scores_[largest]
        grows = abs(after - before) > 1e-6 * abs(before)
        factors |= dict.fromkeys(("scores_", "class_scores_"), g if grows else 1.0)
    it.same(scaled, fitted, X, but=factors)
    for name in (name for name in factors if hasattr(fitted, name)):
        it.near(name, getattr(scaled, name), factors[name] * getattr(fitted, name))


@law("fit_stats", "get_support", "stats_", "scores_")
def scale(it: Subject, rng: Any) -> None:
    """Scores do not grow with the weight of the samples."""
    (X, y), g = it.data(rng), 10 ** rng.uniform(1, 3)
    fitted = it.new().fit(X, y)
    it.near("scores_", it.new().fit_stats(g * fitted.stats_).scores_, fitted.scores_)


@law("half_life", "sample_weight", "partial_fit")
def half_life(it: Subject, rng: Any) -> None:
    """A half-life = weights of 0.5 ** (age / half_life), in one fit and in batches."""
    (X, y), value = it.data(rng), float(rng.uniform(5, 80))
    weight = 0.5 ** (np.arange(N)[::-1] / value)
    expected = it.new(half_life=None).fit(X, y, sample_weight=weight)
    stream = it.new(half_life=value)
    but = ("certificate_",)  # which is of samples of equal weight
    it.same(clone(stream).fit(X, y), expected, X, but)
    for rows in batches(rng):
        stream.partial_fit(X[rows], y[rows])
    it.same(stream, expected, X, but)


@law("sample_weight", "no half_life")
def weights(it: Subject, rng: Any) -> None:
    """A sample of weight k = k samples of weight 1."""
    (X, y), form = it.data(rng), partial(it.form, yes=rng.random() < 0.5)
    weight = np.append(np.ones(10, int), rng.integers(0, 4, N - 10))
    weighted = it.new().fit(form(X), y, sample_weight=weight)
    repeated = it.new().fit(form(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    it.same(weighted, repeated, X, but=EFFORT)


@law("sample_weight", "no half_life", once=True)
def zero_weight(it: Subject, rng: Any) -> None:
    """Samples of weight 0 do not count; fit raises ValueError where there are no others."""
    X, y = it.data(rng)
    more, labels = np.vstack([X, 100 * X[:5]]), np.append(y, ["yak"] * 5)
    zero = it.new().fit(more, labels, sample_weight=np.append(np.ones(N), np.zeros(5)))
    it.same(zero, it.new().fit(X, y), X, but=EFFORT)
    refused(partial(it.new().fit, X, y, sample_weight=np.zeros(N)), "weights that are all 0")


LAWS = {name: value for name, value in vars().items() if isinstance(value, Law)}
