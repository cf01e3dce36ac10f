"""The laws: of streams, moments that add up, forms and orders of samples, answers, and edges."""

from __future__ import annotations

import copy
import tempfile
import tracemalloc
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from narrows.io.models import load, save
from narrows.testing.subject import (
    CLASSES,
    EFFORT,
    D,
    N,
    Subject,
    batches,
    check,
    law,
    refused,
    value_of,
)
from narrows.testing.subject import LAWS as LAWS

_FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
_BY_FEATURE = ("components_", "scores_", "class_scores_", "get_support()")

# -- streams ---------------------------------------------------------------------------------------


@law("partial_fit")
def batching(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """partial_fit in batches of any size = partial_fit of all samples at once."""
    made, stream = it.form(X, rng.random() < 0.5), it.new()
    for rows in batches(rng):
        stream.partial_fit(made[rows], y[rows])
    it.same(stream, it.new().partial_fit(made, y), X)


@law("partial_fit")
def partial_fit(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """partial_fit of all samples at once = fit."""
    it.same(it.new().partial_fit(X, y), it.new().fit(X, y), X)


@law("partial_fit", once=True)
def start(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A stream may start with no sample, and go on one sample at a time."""
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
def failing_partial_fit(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A partial_fit that raises ValueError leaves the estimator as it was."""
    for zeros in (False, True):
        X, y = it.data(rng, zeros)
        cell = X == X[X != 0][20]
        spoilt: list[tuple[str, Any, Any, bool]] = [
            ("NaN", np.where(cell, np.nan, X), y, True),
            ("infinity", np.where(cell, np.inf, X), y, True),
            ("fewer features", X[:, :5], y, False),
            ("fewer labels than samples", X, y[:-1], True),
        ]
        if it.numeric:
            spoilt.append(("targets of NaN", X, np.where(y == y[3], np.nan, y), True))
            spoilt.append(("text", X, CLASSES[np.arange(N) % 3], True))
            spoilt.append(("more targets", X, np.column_stack([y, y]), False))
        else:
            spoilt.append(("labels of another type", X, np.arange(N), False))
            numbers = getattr(it.estimator, "_takes_numbers", False) is None  # for other y
            if not it.missing("y"):  # else y without labels is not looked at
                spoilt.append(("continuous labels", X, np.linspace(0, 1, N), not numbers))
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


# -- moments that add up ---------------------------------------------------------------------------


@law("merge", "partial_fit", "no half_life")
def merge(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """The merge of parts in any order = fit of all samples; the parts stay as they are."""
    parts = batches(rng)
    fitted = [it.new().partial_fit(X[parts[i]], y[parts[i]]) for i in rng.permutation(len(parts))]
    before = copy.deepcopy(fitted)
    it.same(fitted[0].merge(*fitted[1:]), it.new().fit(X, y), X)
    it.same(it.new().merge(before[0]), before[0], X)
    for other, copied in zip(fitted[1:], before[1:], strict=True):
        it.untouched(other, copied, X)


@law("merge", "partial_fit", once=True)
def merge_shares_nothing(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """What a merged estimator learns later does not reach those it was merged from."""
    a, b = it.new().fit(X, y), it.new().fit(X[: N // 2], y[: N // 2])
    before = copy.deepcopy(b)
    it.new().merge(b).partial_fit(X, y)
    a.merge(b).partial_fit(X, y)
    it.untouched(b, before, X)


@law("fit_moments", "partial_fit", "no half_life", "moments_")
def unlearning(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """The moments of all samples less those of some = the moments of the others."""
    cut = int(rng.integers(10, 51))
    if not it.numeric:
        y[cut:] = np.where(y[cut:] == "bee", "yak", y[cut:])  # a class that comes and goes
    made = it.form(X, rng.random() < 0.5)
    whole, gone = (it.new().partial_fit(made[i:], y[i:]).moments_ for i in (0, cut))
    it.same(it.new().fit_moments(whole - gone), it.new().fit(X[:cut], y[:cut]), X)


@law("fit_moments", "moments_")
def forgetting(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Moments times g > 0 have the answer of the moments; only weights and scores may grow by g."""
    g = 10 ** rng.uniform(-3, 3)
    fitted = it.new().fit(X, y)
    scaled, factors = it.new().fit_moments(g * fitted.moments_), {"class_count_": g}
    if hasattr(fitted, "explained_variance_"):  # normalised by 1/(n - 1)
        n = float(fitted.class_count_.sum())
        factors["explained_variance_"] = (n - 1) / (n - 1 / g) if g * n > 1 else (n - 1) / n
    if hasattr(fitted, "scores_"):
        largest = np.abs(fitted.scores_).argmax()
        before, after = fitted.scores_[largest], scaled.scores_[largest]
        grows = abs(after - before) > 1e-6 * abs(before)
        factors |= dict.fromkeys(("scores_", "class_scores_"), g if grows else 1.0)
    it.same(scaled, fitted, X, but=factors)
    for name in (name for name in factors if hasattr(fitted, name)):
        it.near(name, getattr(scaled, name), factors[name] * getattr(fitted, name))


@law("fit_moments", "get_support", "moments_", "scores_")
def scale(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Scores do not grow with the weight of the samples."""
    g = 10 ** rng.uniform(1, 3)
    fitted = it.new().fit(X, y)
    it.near("scores_", it.new().fit_moments(g * fitted.moments_).scores_, fitted.scores_)


@law("half_life", "sample_weight", "partial_fit")
def half_life(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A half-life = weights of 0.5 ** (age / half_life), in one fit and in batches."""
    value = float(rng.uniform(5, 80))
    weight = 0.5 ** (np.arange(N)[::-1] / value)
    expected = it.new(half_life=None).fit(X, y, sample_weight=weight)
    stream = it.new(half_life=value)
    it.same(clone(stream).fit(X, y), expected, X)
    for rows in batches(rng):
        stream.partial_fit(X[rows], y[rows])
    it.same(stream, expected, X)


@law("sample_weight", "no half_life")
def weights(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A sample of weight k = k samples of weight 1."""
    form = partial(it.form, yes=rng.random() < 0.5)
    weight = np.append(np.ones(10, int), rng.integers(0, 4, N - 10))
    weighted = it.new().fit(form(X), y, sample_weight=weight)
    repeated = it.new().fit(form(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    it.same(weighted, repeated, X, but=EFFORT)


@law("sample_weight", "no half_life", once=True)
def zero_weight(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Samples of weight 0 do not count; fit raises ValueError where there are no others."""
    other = [1000.0 if it.numeric else "yak"] * 5
    more, labels = np.vstack([X, 100 * X[:5]]), np.append(y, other)
    zero = it.new().fit(more, labels, sample_weight=np.append(np.ones(N), np.zeros(5)))
    it.same(zero, it.new().fit(X, y), X, but=EFFORT)
    refused(partial(it.new().fit, X, y, sample_weight=np.zeros(N)), "weights that are all 0")


# -- the same numbers in another form --------------------------------------------------------------


@law("sparse", once=True, zeros=True)
def sparse_formats(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Sparse X of any format = dense X."""
    expected = it.new().fit(X, y)
    for name in [f"{form}_{kind}" for form in _FORMATS for kind in ("array", "matrix")]:
        made = getattr(sparse, name)(X)
        fitted = it.new().fit(made, y)
        it.same(fitted, expected, X)
        reduced = value_of(partial(fitted.transform, made))
        it.near(f"transform() of a {name}", reduced, expected.transform(X))


@law("sparse", once=True, zeros=True)
def untidy_sparse(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Unsorted and wide indices, a value in two parts, explicit zeros = dense X."""
    tidy, empty = sparse.coo_array(X), np.argwhere(X == 0)[:3].T
    row, column = (np.append(np.tile(i, 2), j) for i, j in zip(tidy.coords, empty, strict=True))
    data = np.concatenate([0.25 * tidy.data, 0.75 * tidy.data, np.zeros(3)])
    order = rng.permutation(len(data))
    order = order[np.argsort(row[order], kind="stable")]
    ends = np.append(0, np.cumsum(np.bincount(row, minlength=N)))
    expected = it.new().fit(X, y)
    for index in (np.int32, np.int64):
        made = sparse.csr_array((N, D))
        made.data, made.indices = data[order], column[order].astype(index)
        made.indptr = ends.astype(index)
        it.same(it.new().fit(made, y), expected, X)


@law("sparse", once=True)
def never_dense(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Sparse X is never made dense: memory stays below a quarter of that of dense X."""
    shape = n, d = 200, 40_000
    y = it.targets(np.arange(n) % it.n_classes)
    columns = rng.integers(0, d, (n, 5))
    columns[:, 0] = np.arange(n) % it.n_classes  # features that distinguish the classes
    X = sparse.csr_array((np.ones(5 * n), columns.ravel(), np.arange(0, 5 * n + 1, 5)), shape)
    it.new().fit(X[:100], y[:100])  # loads and compiles
    tracemalloc.start()
    try:
        it.new().fit(X, y).transform(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    check(peak < 2 * n * d, f"{peak:,} bytes were used for {n:,} samples of {d:,} features")


@law("float32", once=True)
def float32(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """float32 X is summed in double precision, and transform returns the float type of X."""
    single = X.astype(np.float32)
    fitted = it.new().fit(single, y)
    it.same(fitted, it.new().fit(single.astype(float), y), X)
    whole = np.dtype("i8" if hasattr(fitted, "get_support") else "f8")
    integers = X.astype("i8")
    for given, dtype in ((single, "f4"), (it.form(single), "f4"), (X, "f8"), (integers, whole)):
        found = fitted.transform(given).dtype
        check(found == dtype, f"transform() of {given.dtype}: expected {dtype}, got {found}")


@law("classes", once=True)
def label_types(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Labels may be a list, strings, objects, integers, floats or booleans."""
    expected = it.new().fit(X, y)
    for labels in (list(y), y.astype(object), np.array(list(y))):
        it.same(it.new().fit(X, labels), expected, X)
    codes = np.unique(y, return_inverse=True)[1]
    kinds = [codes, codes.astype(float), codes.astype(np.uint8)]
    if it.fits(X, (codes == 1).astype(int)):  # parameters may be for more than two classes
        kinds.append(codes == 1)
    for labels in kinds:
        fitted = it.new().fit(X, labels)
        if hasattr(fitted, "classes_"):
            it.near("classes_", fitted.classes_, np.unique(labels))
            check(fitted.classes_.dtype == labels.dtype, "classes_ has not the type of y")


@law("indicator", "no half_life", once=True)
def multi_label(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """With an indicator matrix each pair of a sample and a label counts as a sample."""
    more = rng.random((N, it.n_classes)) < 0.2
    Y = ((y[:, None] == CLASSES[: it.n_classes]) | more).astype(int)
    Y[0] = 0
    row, label = np.nonzero(Y)
    expected = it.new().fit(X[row], label)
    for form in (np.asarray, sparse.csr_array, sparse.coo_matrix, np.ndarray.tolist):
        many = it.new().fit(X, form(Y))
        it.same(many, expected, X, but=EFFORT)
        check(getattr(many, "n_samples_seen_", N) == N, f"n_samples_seen_ is not {N}")


# -- permutations and shifts -----------------------------------------------------------------------


@law("no half_life")
def sample_order(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """The order of the samples changes nothing."""
    order = rng.permutation(N)
    it.same(it.new().fit(X[order], y[order]), it.new().fit(X, y), X)


@law()
def feature_order(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Permuting the features permutes the answer."""
    order = rng.permutation(D)
    fitted, moved = it.new().fit(X, y), it.new().fit(X[:, order], y)
    found, expected = it.answer(moved, X[:, order]), it.answer(fitted, X)
    undecided = it.undecided(expected)
    for name in (name for name in _BY_FEATURE if name in expected and name not in undecided):
        it.near(name, found[name], expected[name][..., order])


@law("classes")
def class_names(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Other names of the classes, in another order, change only `classes_`."""
    renamed = np.where(y == "ant", "zebra", y) if not it.given_priors else np.char.add("z", y)
    found = it.answer(it.new().fit(X, renamed), X)
    expected = it.answer(it.new().fit(X, y), X)
    undecided = it.undecided(expected)
    for name in ("components_", "scores_", "get_support()", "transform()"):
        if name in expected and name not in undecided:
            it.near(name, found[name], expected[name])
    if "classes_" in found:
        it.near("classes_", found["classes_"], np.unique(renamed))


@law()
def offset(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Adding 1e8 to dense X changes nothing."""
    loose = Subject(it.estimator, max(it.rtol, 1e-7))
    X = np.round(X * 2**20) / 2**20  # so that adding 1e8 loses nothing
    far = X + 1e8
    expected = it.new().fit(far - 1e8, y)
    # what is read of samples, or is one, differs by the offset
    verbs = ["predict()", "predict_proba()", "decision_function()", "mean_", "intercept_"]
    fitted = it.new().fit(far, y)
    if hasattr(fitted, "predict_proba"):  # other samples calibrate
        verbs.append("coef_")
    loose.same(fitted, expected, X, but=verbs)
    if hasattr(fitted, "predict"):
        exact = loose if it.numeric else it  # a sum of numbers of 1e8 is rounded
        exact.near("predict()", fitted.predict(far), expected.predict(far - 1e8))
    if not it.missing("partial_fit"):
        stream = it.new().partial_fit(far[:7], y[:7]).partial_fit(far[7:], y[7:])
        loose.same(stream, it.new().partial_fit(far - 1e8, y), X, but=verbs)


# -- the answer, and what is done with it ----------------------------------------------------------


@law("get_support", "one ranking", "scores_")
def selection(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """No other set of as many features has a larger sum of scores."""
    fitted = it.new().fit(X, y)
    chosen, scores = fitted.get_support(indices=True), fitted.scores_
    best = max(sum(scores[list(some)]) for some in combinations(range(D), len(chosen)))
    it.near("sum of the selected scores_", float(scores[chosen].sum()), float(best))


@law(once=True)
def transform(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """transform selects features, or multiplies by `components_`; it changes nothing."""
    fitted = it.new().fit(X, y)
    before, probe = copy.deepcopy(fitted), it.data(rng)[0]
    found = fitted.transform(probe)
    if hasattr(fitted, "get_support"):
        it.near("transform()", found, probe[:, fitted.get_support()])
    elif getattr(fitted, "components_", np.empty((0, 0))).shape[1] == probe.shape[1]:  # of no map
        it.near("transform()", found, probe @ fitted.components_.T)
    it.near("transform() again", fitted.transform(probe), value_of(lambda: found))
    it.untouched(fitted, before, X)


@law(once=True)
def copying(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A copy goes on as if never copied, and shares nothing with the original."""
    fitted = it.new().fit(X[:40], y[:40])
    copied, again = copy.deepcopy(fitted), copy.deepcopy(fitted)
    it.untouched(copied, fitted, X)
    if not it.missing("partial_fit"):
        copied.partial_fit(X[40:], y[40:])
        it.untouched(fitted, again, X)
        it.same(copied, fitted.partial_fit(X[40:], y[40:]), X, exact=True)


@law("a name", once=True)
def save_and_load(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A loaded estimator is the one that was saved, and goes on as if never stopped."""
    for zeros in (False, True):
        X, y = it.data(rng, zeros)
        made = it.form(X, zeros)
        fitted = it.new().fit(made[:40], y[:40])
        with tempfile.TemporaryDirectory() as folder:
            save(fitted, Path(folder, "a.narrows"))
            loaded = load(Path(folder, "a.narrows"))
        it.same(loaded, fitted, X, exact=True)
        check(repr(loaded) == repr(fitted), f"expected {fitted!r}, got {loaded!r}")
        if not it.missing("partial_fit"):
            loaded.partial_fit(made[40:], y[40:])
            it.same(loaded, fitted.partial_fit(made[40:], y[40:]), X, exact=True)


# -- the edges -------------------------------------------------------------------------------------


@law("y", "classes", once=True)
def two_classes(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """fit raises ValueError where y has one class."""
    refused(partial(it.new().fit, X, np.full(N, "ant")), "one class")


@law(once=True)
def zero_feature(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """A feature that is always 0 has score and components 0, and is not preferred to others."""
    X[:, 4] = 0
    fitted = it.new().fit(X, y)
    it.same(it.new().fit(it.form(X), y), fitted, X)
    if hasattr(fitted, "scores_"):
        better = (fitted.scores_ > 0).sum()
        check(fitted.scores_[4] == 0, f"its score is {fitted.scores_[4]:g}")
        if hasattr(fitted, "get_support"):
            kept = fitted.get_support()
            check(not kept[4] or kept.sum() > better, "it is selected")
    elif hasattr(fitted, "components_"):
        at = 4 - X.shape[1]  # from the end, since entries of hidden features come first
        largest = np.abs(fitted.components_[:, at]).max(initial=0.0)
        check(largest <= N * np.finfo(float).eps, f"its component is {largest:g}")


@law(once=True)
def unfitted(it: Subject, X: Any, y: Any, rng: Any) -> None:
    """Before fit there are no fitted attributes, and transform raises NotFittedError."""
    fitted, fresh = it.new().fit(X, y), it.new()
    for name in ("classes_", "n_features_in_", *it.answer(fitted, X)):
        check(name.endswith("()") or not hasattr(fresh, name), f"there is {name} before fit")
    try:
        fresh.transform(X)
    except NotFittedError:
        return
    raise AssertionError("expected transform to raise NotFittedError, got none")
