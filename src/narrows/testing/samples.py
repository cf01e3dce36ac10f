"""The laws of samples in other forms and orders, of the answer, and of the edges."""

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
from sklearn.exceptions import NotFittedError

from narrows.io.models import load, save
from narrows.testing.subject import (
    CLASSES,
    EFFORT,
    D,
    Law,
    N,
    Subject,
    check,
    law,
    refused,
    value_of,
)

_FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
_BY_FEATURE = ("components_", "scores_", "class_scores_", "get_support()")

# -- the same numbers in another form --------------------------------------------------------------


@law("sparse", once=True)
def sparse_formats(it: Subject, rng: Any) -> None:
    """Sparse X of any format = dense X."""
    X, y = it.data(rng, zeros=True)
    expected = it.new().fit(X, y)
    for name in [f"{form}_{kind}" for form in _FORMATS for kind in ("array", "matrix")]:
        made = getattr(sparse, name)(X)
        fitted = it.new().fit(made, y)
        it.same(fitted, expected, X)
        reduced = value_of(partial(fitted.transform, made))
        it.near(f"transform() of a {name}", reduced, expected.transform(X))


@law("sparse", once=True)
def untidy_sparse(it: Subject, rng: Any) -> None:
    """Unsorted and wide indices, a value in two parts, explicit zeros = dense X."""
    X, y = it.data(rng, zeros=True)
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
def never_dense(it: Subject, rng: Any) -> None:
    """Sparse X is never made dense: memory stays below a quarter of that of dense X."""
    shape = n, d = 200, 40_000
    y = CLASSES[np.arange(n) % it.n_classes]
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
def float32(it: Subject, rng: Any) -> None:
    """float32 X is summed in double precision, and transform returns the float type of X."""
    X, y = it.data(rng)
    single = X.astype(np.float32)
    fitted = it.new().fit(single, y)
    it.same(fitted, it.new().fit(single.astype(float), y), X)
    for given, dtype in ((single, "f4"), (it.form(single), "f4"), (X, "f8"), (X.astype(int), "f8")):
        found = fitted.transform(given).dtype
        check(found == dtype, f"transform() of {given.dtype}: expected {dtype}, got {found}")


@law(once=True)
def label_types(it: Subject, rng: Any) -> None:
    """Labels may be a list, strings, objects, integers, floats or booleans."""
    X, y = it.data(rng)
    expected = it.new().fit(X, y)
    for labels in (list(y), y.astype(object), np.array(list(y))):
        it.same(it.new().fit(X, labels), expected, X)
    codes = np.unique(y, return_inverse=True)[1]
    for labels in (codes, codes.astype(float), codes.astype(np.uint8), codes == 1):
        if labels.dtype != bool or not it.given_priors:
            fitted = it.new().fit(X, labels)
            if hasattr(fitted, "classes_"):
                it.near("classes_", fitted.classes_, np.unique(labels))
                check(fitted.classes_.dtype == labels.dtype, "classes_ has not the type of y")


@law("indicator", "no half_life", once=True)
def multi_label(it: Subject, rng: Any) -> None:
    """With an indicator matrix each pair of a sample and a label counts as a sample."""
    X, y = it.data(rng)
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
def sample_order(it: Subject, rng: Any) -> None:
    """The order of the samples changes nothing."""
    (X, y), order = it.data(rng), rng.permutation(N)
    it.same(it.new().fit(X[order], y[order]), it.new().fit(X, y), X)


@law()
def feature_order(it: Subject, rng: Any) -> None:
    """Permuting the features permutes the answer."""
    (X, y), order = it.data(rng), rng.permutation(D)
    fitted, moved = it.new().fit(X, y), it.new().fit(X[:, order], y)
    found, expected = it.answer(moved, X[:, order]), it.answer(fitted, X)
    undecided = it.undecided(expected)
    for name in (name for name in _BY_FEATURE if name in expected and name not in undecided):
        it.near(name, found[name], expected[name][..., order])


@law()
def class_names(it: Subject, rng: Any) -> None:
    """Other names of the classes, in another order, change only `classes_`."""
    X, y = it.data(rng)
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
def offset(it: Subject, rng: Any) -> None:
    """Adding 1e8 to dense X changes nothing."""
    (X, y), loose = it.data(rng), Subject(it.estimator, max(it.rtol, 1e-7))
    X = np.round(X * 2**20) / 2**20  # so that adding 1e8 loses nothing
    far = X + 1e8
    expected = it.new().fit(far - 1e8, y)
    # what is read of samples, or is one, differs by the offset
    verbs = ("predict()", "predict_proba()", "decision_function()", "mean_")
    fitted = it.new().fit(far, y)
    loose.same(fitted, expected, X, but=verbs)
    if hasattr(fitted, "predict"):
        it.near("predict()", fitted.predict(far), expected.predict(far - 1e8))
    if not it.missing("partial_fit"):
        stream = it.new().partial_fit(far[:7], y[:7]).partial_fit(far[7:], y[7:])
        loose.same(stream, it.new().partial_fit(far - 1e8, y), X, but=verbs)


# -- the answer, and what is done with it ----------------------------------------------------------


@law("get_support", "one ranking", "scores_")
def selection(it: Subject, rng: Any) -> None:
    """No other set of as many features has a larger sum of scores."""
    fitted = it.new().fit(*it.data(rng))
    chosen, scores = fitted.get_support(indices=True), fitted.scores_
    best = max(sum(scores[list(some)]) for some in combinations(range(D), len(chosen)))
    it.near("sum of the selected scores_", float(scores[chosen].sum()), float(best))


@law(once=True)
def transform(it: Subject, rng: Any) -> None:
    """transform selects features, or multiplies by `components_`; it changes nothing."""
    X, y = it.data(rng)
    fitted = it.new().fit(X, y)
    before, probe = copy.deepcopy(fitted), it.data(rng)[0]
    found = fitted.transform(probe)
    if hasattr(fitted, "get_support"):
        it.near("transform()", found, probe[:, fitted.get_support()])
    elif hasattr(fitted, "components_"):
        it.near("transform()", found, probe @ fitted.components_.T)
    it.near("transform() again", fitted.transform(probe), value_of(lambda: found))
    it.untouched(fitted, before, X)


@law(once=True)
def copying(it: Subject, rng: Any) -> None:
    """A copy goes on as if never copied, and shares nothing with the original."""
    X, y = it.data(rng)
    fitted = it.new().fit(X[:40], y[:40])
    copied, again = copy.deepcopy(fitted), copy.deepcopy(fitted)
    it.untouched(copied, fitted, X)
    if not it.missing("partial_fit"):
        copied.partial_fit(X[40:], y[40:])
        it.untouched(fitted, again, X)
        it.same(copied, fitted.partial_fit(X[40:], y[40:]), X, exact=True)


@law("a name", once=True)
def save_and_load(it: Subject, rng: Any) -> None:
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


@law("y", once=True)
def two_classes(it: Subject, rng: Any) -> None:
    """fit raises ValueError where y has one class."""
    X, _ = it.data(rng)
    refused(partial(it.new().fit, X, np.full(N, "ant")), "one class")


@law(once=True)
def zero_feature(it: Subject, rng: Any) -> None:
    """A feature that is always 0 has score and components 0, and is not preferred to others."""
    X, y = it.data(rng)
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
def unfitted(it: Subject, rng: Any) -> None:
    """Before fit there are no fitted attributes, and transform raises NotFittedError."""
    X, y = it.data(rng)
    fitted, fresh = it.new().fit(X, y), it.new()
    for name in ("classes_", "n_features_in_", *it.answer(fitted, X)):
        check(name.endswith("()") or not hasattr(fresh, name), f"there is {name} before fit")
    try:
        fresh.transform(X)
    except NotFittedError:
        return
    raise AssertionError("expected transform to raise NotFittedError, got none")


LAWS = {name: value for name, value in vars().items() if isinstance(value, Law)}
