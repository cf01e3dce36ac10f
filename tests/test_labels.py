"""Labels: what is one class, and what is refused before two become one."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, cross_val_score

from narrows import (
    IOC,
    OC,
    PCA,
    PLS,
    SRDA,
    ForwardFS,
    Moments,
    OnlineSRDA,
    Window,
    load,
    save,
)
from narrows.command.cli import main
from narrows.engines import local
from narrows.evaluate import compare
from tests.cases import ALL, STREAMED, answer, assert_same, labelled
from tests.inside import fit_in_parts

every = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)


def objects(*labels):
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    return y


MERGED = {
    "a float beside whole numbers": [2**53, 2**53 + 1, 1.0],
    "objects": objects(2**53, 2**53 + 1, 1.0),
    "numpy's own": [np.int64(2**53), np.int64(2**53 + 1), np.float64(1)],
    "a column": [[2**53], [2**53 + 1], [1.0]],
    "too large for signed": [2**63, 2**63 + 1, -1],
    "too large for signed, exact": [2**63, 2**63, -1],
    "long doubles": np.array([2**53, 2**53 + 1, 1], dtype=np.longdouble),
    "long doubles in a list": [np.longdouble(2**53), np.longdouble(2**53) + 1, 1],
    "text beside numbers": ["1", 1, "2"],
    "text beside bytes": ["a", b"a", "b"],
}


def few(n=30):
    X, _ = labelled(n=n)
    return X


ONE_TYPE = r"expected labels (of one type|that are)"


@every
@pytest.mark.parametrize("what", MERGED)
def test_labels_that_would_become_one_are_refused(case, what):
    if not case.needs_y:
        pytest.skip("y without labels is not looked at")
    for verb in {"fit", "partial_fit"} & set(dir(case.estimator)):
        with pytest.raises(ValueError, match=ONE_TYPE):
            getattr(case.new(), verb)(few(3), MERGED[what])


MIXED = [
    [2**53, 2.0, 1],
    [True, False, 3],
    [2**63, 2**63 + 1, 1],
    [np.int32(-1), np.uint64(5), 2**53 + 1],
    [np.str_("a"), "b", "c"],
    ["a\0", "a", "a\0\0"],
    np.array([2**53, 2, 1], dtype=np.longdouble),
]


@pytest.mark.parametrize("y", MIXED)
def test_labels_that_stay_what_they_are_may_be_mixed(y):
    assert Moments.of(few(3), y).classes.tolist() == sorted(y)
    assert Moments.of(few(3), [[label] for label in y]).classes.tolist() == sorted(y)


WHICH = np.arange(30) % 3
TEXT = np.array(["ant", "bee", "cat"])[WHICH]
LARGE_FIRST = 2**60 + WHICH, WHICH.astype(float)  # which would be rounded
CHUNKS = [(TEXT, WHICH), LARGE_FIRST, (2**63 + WHICH.astype(np.uint64), WHICH - 1)]


@pytest.mark.parametrize(("first", "then"), CHUNKS)
def test_chunks_and_batches_with_labels_of_two_types_are_refused(first, then):
    X, parts = few(), [(few(), first), (few(), then)]
    for learn in (
        lambda: local.fit(SRDA(), parts),
        lambda: fit_in_parts(OC(), parts),
        lambda: Window(OC()).partial_fit(X, first).partial_fit(X, then),
        lambda: OC().partial_fit(X, first).merge(OC().partial_fit(X, then)),
        lambda: OnlineSRDA().partial_fit(X, first).partial_fit(X, then),
        lambda: compare(X, first, ["oc"], [1], test=(X, then)),
    ):
        with pytest.raises(ValueError, match=ONE_TYPE):
            learn()


streamed = pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)


@streamed
def test_classes_may_be_given_and_change_nothing(case):
    X, y = case.labelled()
    X, classes = case.form(X), ["eel", "ant", "bee", "cat", "dog"]
    plain, given = case.new(), case.new()
    for part in (slice(0, 20), slice(20, 20), slice(20, 60)):
        plain.partial_fit(X[part], y[part])
        given.partial_fit(X[part], y[part], classes=classes)
    shown = is_classifier(given)  # which shows classes to come
    assert given.classes_.tolist() == (sorted(classes) if shown else plain.classes_.tolist())
    same = answer(plain).keys() - ({"classes", "class_count"} if shown else set())
    assert_same(given, plain, rtol=1e-12, only=same)  # products of more columns may be rounded
    given.partial_fit(X[:5], y[:5])  # and left out later


@streamed
@pytest.mark.parametrize("classes", [["ant", "bee"], [0, 1, 2], [0.5, 1.0]], ids=str)
def test_labels_outside_of_the_given_classes_are_refused(case, classes):
    X, y = case.labelled()
    X = case.form(X)
    if not case.needs_y and 0.5 not in classes:
        pytest.skip("labels do not matter")
    fitted = case.new().partial_fit(X[:40], y[:40])
    before = answer(fitted)
    for estimator in (fitted, case.new()):
        with pytest.raises(ValueError, match=r"^(expected labels|Unknown label type)"):
            estimator.partial_fit(X[40:], y[40:], classes=classes)
    assert all(np.array_equal(answer(fitted)[name], before[name]) for name in before)


def test_labels_from_before_have_to_be_among_the_given_classes():
    stream = OC().partial_fit(few(3), ["a", "b", "c"])
    with pytest.raises(ValueError, match="given classes 'b', 'c', got 'a'"):
        stream.partial_fit(few(3), ["b", "b", "c"], classes=["b", "c"])
    window = Window(OC()).partial_fit(few(3), ["a", "b", "c"], classes=["c", "b", "a"])
    with pytest.raises(ValueError, match="among the given"):
        window.partial_fit(few(3), ["a", "b", "d"], classes=["a", "b", "c"])
    assert window.n_samples_seen_ == 3


WORDS = ["b", "a", "cc"]
LARGE = [2**62 + 1, 2**62 + 2, 2**62 + 3]  # of one float
UNSIGNED = [2**63 + 1, 2**63 + 2, 2**63 + 3]
TRUTH = [True, False, True]
# what scikit-learn takes with them
METRICS, FOLDS, SPLITS, NOTHING = "metrics", "folds by a number", "splits", "nothing"
TYPES = {  # labels, the function that makes y, and what scikit-learn takes
    "bool": (TRUTH, np.array, METRICS),
    "uint64": (UNSIGNED, np.uint64, METRICS),
    "float16": ([0.0, 1.0, 2.0], np.float16, METRICS),
    "big-endian": ([0, 1, 2], np.dtype(">i4").type, METRICS),
    "objects of int": (LARGE, lambda y: objects(*y), FOLDS),
    "strings of NumPy": (WORDS, lambda y: np.array(y, np.dtypes.StringDType()), SPLITS),
    "a column": (WORDS, lambda y: np.array(y)[:, None], METRICS),
    "list": (LARGE, list, METRICS),
    "tuple": (WORDS, tuple, METRICS),
    "pandas Int64": (LARGE, partial(pd.Series, dtype="Int64"), METRICS),
    "pandas UInt64": (UNSIGNED, partial(pd.Series, dtype="UInt64"), FOLDS),
    "pandas boolean": (TRUTH, partial(pd.Series, dtype="boolean"), METRICS),
    "pandas string[pyarrow]": (WORDS, partial(pd.Series, dtype="string[pyarrow]"), METRICS),
    "pandas int64[pyarrow]": (LARGE, partial(pd.Series, dtype="int64[pyarrow]"), METRICS),
    "pandas category": (WORDS, partial(pd.Series, dtype="category"), METRICS),
    "polars String": (WORDS, pl.Series, METRICS),
    "polars Categorical": (WORDS, partial(pl.Series, dtype=pl.Categorical), METRICS),
    "polars Enum": (WORDS, partial(pl.Series, dtype=pl.Enum(["cc", "b", "a"])), METRICS),
    "polars Int128": (LARGE, partial(pl.Series, dtype=pl.Int128), SPLITS),
    "Arrow": (WORDS, pa.array, METRICS),
    "Arrow integers": (UNSIGNED, partial(pa.array, type=pa.uint64()), METRICS),
    "Arrow runs": (LARGE, lambda y: pc.run_end_encode(pa.array(y)), NOTHING),
}


@pytest.mark.parametrize("name", TYPES)
def test_labels_of_every_type_are_scored(tmp_path, name):
    labels, make, takes = TYPES[name]
    which = np.arange(60) % 3
    expected, others = ([labels[k - shift] for k in which] for shift in (0, 2))
    y, wrong = make(expected), make(others)
    X = np.eye(3)[which] + np.random.default_rng(0).normal(size=(60, 3)) / 100
    X = X @ [[1], [-1], [1]] if labels is TRUTH else X
    for method in SRDA, OnlineSRDA:
        model, stream = method().fit(X, y), method()
        found = model.predict(X)
        assert found.tolist() == expected
        assert model.score(X, wrong) == np.mean(np.array(expected) == np.array(others))
        if takes == METRICS:
            assert accuracy_score(y, found) == 1
        for at in np.arange(60).reshape(3, 20):
            stream.partial_fit(X[at], make([expected[k] for k in at]))
        assert stream.predict(X).tolist() == expected
        assert stream.classes_.dtype == model.classes_.dtype
        save(model, tmp_path / "labels.narrows")
        loaded = load(tmp_path / "labels.narrows")
        assert loaded.score(X, y) == 1
        assert loaded.predict(X).dtype == found.dtype
    if takes != NOTHING:
        folds = KFold(3, shuffle=True, random_state=0) if takes == SPLITS else 3
        assert cross_val_score(SRDA(), X, y, cv=folds, error_score="raise").tolist() == [1, 1, 1]


BYTES = [b"a", b"b"] * 9
DATES = np.array(["2020-01-01", "2020-01-02"] * 9, "M8[D]")
NO_LABELS = [np.array(BYTES), BYTES, objects(*BYTES), DATES]
NO_LABELS += [["a", None, "b"] * 6, objects(*[1, None, 2] * 6), [1.0, np.nan] * 9]


@pytest.mark.parametrize("y", NO_LABELS)
def test_what_are_no_labels_is_refused(y):
    X, which = np.eye(2)[np.arange(18) % 2], np.arange(18) % 2
    for call in (OC().fit, SRDA().fit(X, which).score):
        with pytest.raises(ValueError, match="label"):
            call(X, y)


@pytest.mark.parametrize("size", [1, 2**53, 2**62])
def test_signed_and_unsigned_integers_are_one_type(size):
    X, first, second = np.eye(4) + 1, [size, -size, size + 1, 1], [size + 2, size, size + 3, 1]
    unsigned = np.array(second, np.uint64)
    for model in (
        OC().fit(X, np.array(first)).partial_fit(X, unsigned),
        OC().fit(X, unsigned).merge(OC().fit(X, np.array(first))),
        IOC().partial_fit(X, np.array(first)).partial_fit(X, unsigned),
        OnlineSRDA().fit(X, unsigned).merge(OnlineSRDA().fit(X, np.array(first))),
    ):
        assert model.classes_.tolist() == sorted({*first, *second})
    large = np.array([2**63 + 1] * 4, np.uint64)
    stream = OC().fit(X, [1, 2, 3, 4]).partial_fit(X, large)
    assert stream.classes_.tolist() == [1, 2, 3, 4, 2**63 + 1]


X, Y = load_diabetes(return_X_y=True)  # 214 distinct whole numbers as floats


def warnings_of(call, *args, **named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **named)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("method", [OC(), IOC(), OnlineSRDA(), Window(OC())], ids=repr)
def test_methods_for_classes_warn_of_numbers_once(method):
    for y in (Y, Y.astype(np.float32), Y.astype(int), np.arange(442) % 45):
        (said,) = warnings_of(method.fit, X, y)
        assert str(len(np.unique(y))) in said
    named = [f"c{k % 60}" for k in range(442)]
    for y in (Y.astype(str), np.arange(442) % 44, np.arange(442.0) % 20, named):
        assert not warnings_of(method.fit, X, y)
    stream, ends = clone(method), [(0, 15), (15, 300), (300, 442)]
    said = [warnings_of(stream.partial_fit, X[a:b], Y[a:b]) for a, b in ends]
    assert [len(each) for each in said] == [0, 1, 0]


def test_numbers_that_are_meant_do_not_warn():
    for method in (PCA(), PLS(), ForwardFS(target="numeric"), Window(PLS(2), samples=300)):
        assert not warnings_of(method.fit, X, Y)
    for method in (OC(), Window(OC())):
        assert not warnings_of(method.fit, X, np.eye(60, dtype=int)[np.arange(442) % 60])
    for stream in (OC(), IOC(), OnlineSRDA()):
        assert not warnings_of(stream.partial_fit, X, Y, classes=np.unique(Y))


def test_comparisons_and_commands_take_many_floats_for_numbers(tmp_path, capsys):
    with pytest.warns(UserWarning, match="214"):
        assert compare(X, Y, ["pls"], dims=[1], repeats=1).metric == "r2"
    with pytest.warns(UserWarning, match="88"):
        compare(X, np.arange(442) % 88, ["oc"], dims=[1], repeats=1)
    path = tmp_path / "prices.csv"
    rows = [f"{k % 7},{k % 11},{k % 150}" for k in range(900)]
    path.write_text("a,b,price\n" + "\n".join(rows) + "\n")
    main(["fit", str(path), "--method", "oc", "-o", f"{tmp_path}/m", "--label", "price"])
    assert "--target" in capsys.readouterr().err
