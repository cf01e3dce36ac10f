"""Labels: what is one class, and what is refused before two become one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, cross_val_score

from narrows import IOC, LDA, MMC, OC, SRDA, Moments, OnlineSRDA, Window, load, save
from narrows.engines import local
from narrows.evaluate import compare
from narrows.river import batches
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


@every
@pytest.mark.parametrize("what", MERGED)
def test_labels_that_would_become_one_are_refused(case, what):
    X, y = few(3), MERGED[what]
    if not case.needs_y:
        pytest.skip("y without labels is not looked at")
    if case.needs_y or hasattr(case.estimator, "partial_fit"):
        for verb in ("fit", "partial_fit"):
            if hasattr(case.new(), verb):
                start = case.new()
                with pytest.raises(ValueError, match=r"expected labels (of one type|that are)"):
                    getattr(start, verb)(X, y)


@pytest.mark.parametrize(
    "y",
    [
        [2**53, 2.0, 1],
        [True, False, 3],
        [2**63, 2**63 + 1, 1],
        [1.0, 2, np.int8(3)],
        [np.str_("a"), "b", "c"],
        np.array([2**53, 2, 1], dtype=np.longdouble),
    ],
)
def test_labels_that_stay_what_they_are_may_be_mixed(y):
    counted = Moments.of(np.ones((3, 1)), y)
    assert counted.classes.tolist() == sorted(np.asarray(y).tolist() if 2**53 in y else y)


@pytest.mark.parametrize("method", [SRDA, MMC, LDA, OC])
@pytest.mark.parametrize("then", [np.arange(30) % 3, (np.arange(30) % 3).astype(float)])
def test_chunks_of_text_and_of_numbers_are_refused(method, then):
    X, y = labelled(n=30)
    with pytest.raises(ValueError, match="expected labels of one type"):
        local.fit(method(), [(X, y), (X, then)])
    with pytest.raises(ValueError, match="expected labels of one type"):
        local.fit(method(), [(X, then), (X, y)])


@pytest.mark.parametrize("method", [SRDA, MMC, LDA])
def test_chunks_whose_numbers_would_be_rounded_are_refused(method):
    X = few()
    with pytest.raises(ValueError, match="expected labels of one type"):
        local.fit(method(), [(X, 2**60 + np.arange(30) % 3), (X, np.arange(30) % 3.0)])


@pytest.mark.parametrize("method", [SRDA, MMC, LDA])
def test_chunks_of_numbers_of_several_types_are_one_fit(method):
    X, _ = labelled()
    y = np.arange(60) % 3
    parts = [(X[:30], y[:30].astype(np.int8)), (X[30:], y[30:].astype(float))]
    fitted = local.fit(method(), parts)
    np.testing.assert_allclose(fitted.components_, method().fit(X, y).components_)
    assert fitted.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", ["oc", "srda", "mmc", "lda", "idrqr", "onlinesrda"])
def test_files_of_text_and_of_numbers_are_read_as_the_first(run, tmp_path, method):
    X, y = labelled(n=30)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savez(tmp_path / "b.npz", X=X, y=np.arange(30) % 3)
    status, _, err = run(f"fit a.npz b.npz --method {method} -o m.narrows")
    assert status == 0  # text comes first
    assert err == "" or "margin" in err
    found = load(tmp_path / "m.narrows").classes_.tolist()
    assert found == sorted({*y.tolist(), "0", "1", "2"})
    status, _, err = run(f"fit b.npz a.npz --method {method} -o n.narrows")
    assert (status, err.count("\n")) == (1, 1)
    assert (
        f"narrows: a.npz:1: expected an integer label, as in the rows before, got {str(y[0])!r}"
        in err
    )
    assert not (tmp_path / "n.narrows").exists()


def test_a_part_of_text_and_of_numbers_is_refused():
    X, y = labelled(n=30)
    with pytest.raises(ValueError, match="expected labels of one type"):
        fit_in_parts(SRDA(), [(X, y), (X, np.arange(30) % 3)])


def test_window_and_dicts_keep_labels_apart():
    for labels in (MERGED["a float beside whole numbers"], MERGED["text beside numbers"]):
        with pytest.raises(ValueError, match=r"expected labels (of one type|that are)"):
            Window(OC()).partial_fit(few(3), labels)
        (X, y), *_ = batches([({"a": 1.0}, label) for label in labels], n_features=4)
        with pytest.raises(ValueError, match=r"expected labels (of one type|that are)"):
            OnlineSRDA().partial_fit(X, y)


def test_compare_wants_labels_of_one_type():
    X, y = labelled()
    with pytest.raises(ValueError, match="expected labels of one type"):
        compare(X, y, ["oc"], [1], test=(X, np.arange(60) % 3))


def test_text_that_ends_in_nul_stays_what_it_is():
    y = ["a\0", "a", "a\0\0"]
    for labels in (y, [[label] for label in y], [np.str_("a\0"), *y[1:]]):
        assert Moments.of(few(3), labels).classes.tolist() == ["a", "a\0", "a\0\0"]


def test_text_of_several_types_is_an_array_of_text():
    assert Moments.of(few(3), [np.str_("a"), "b", "c"]).classes.dtype == "<U1"


def test_whole_numbers_that_one_type_holds_are_not_refused():
    y = [np.int32(-1), np.uint64(5), True, 2**53 + 1]
    assert Moments.of(few(4), y).classes.tolist() == [-1, 1, 5, 2**53 + 1]
    assert not len(Moments.of(np.empty((0, 2)), []).classes)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("large", [[2**63 - 1, 5], [2**64 - 1, 5]])
@pytest.mark.parametrize("other", [[1.0], [2.0**63], [2.0**64], [-1]])
def test_batches_of_the_largest_numbers_are_refused_without_warnings(large, other):
    stats, X = Moments.of(few(3)[:2], large), few(3)[:1]
    if {type(label) for label in other} == {int} and max(large) < 2**63:
        assert len(stats.update(X, other).classes) == 3
        return
    with pytest.raises(ValueError, match="expected labels of one type"):
        stats.update(X, other)


def test_an_indicator_matrix_stays_one():
    X, Y = few(3), [[1, 0], [0, 1], [1.0, True]]
    assert Moments.of(X, Y).counts.tolist() == [2, 2]
    assert Moments.of(X, sparse.csr_array(Y)).counts.tolist() == [2, 2]


@pytest.mark.parametrize("no_labels", [[], np.array([], dtype=object), np.empty(0)])
def test_no_rows_have_no_labels(no_labels):
    fitted = OC().partial_fit(np.empty((0, 2)), no_labels)
    assert fitted.n_samples_seen_ == 0
    assert fitted.partial_fit([[1.0, 2.0]], ["a"]).classes_.tolist() == ["a"]


@pytest.mark.parametrize("method", [OC, IOC, SRDA])
def test_a_batch_without_samples_may_have_labels_of_any_type(method):
    chunks = [(np.eye(3), [0, 1, 2]), (np.eye(3)[:0], np.empty(0, object))]
    _, state = local.learn(method(), chunks)
    state = state[0] if isinstance(state, list) else state
    assert state.classes.tolist() == [0, 1, 2]


# -- classes= of partial_fit, as of scikit-learn's classifiers -------------------------------------

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


WRONG_CLASSES = {
    "another label": (["ant", "bee"], "expected labels among the given classes 'ant', 'bee', got"),
    "numbers": ([0, 1, 2], "expected labels of one type"),
    "fractions": ([0.5, 1.0], "Unknown label type"),
}


@streamed
@pytest.mark.parametrize("wrong", WRONG_CLASSES)
def test_labels_outside_of_the_given_classes_are_refused(case, wrong):
    X, y = case.labelled()
    X, (classes, said) = case.form(X), WRONG_CLASSES[wrong]
    if not case.needs_y and wrong != "fractions":
        pytest.skip("labels do not matter")
    fitted = case.new().partial_fit(X[:40], y[:40])
    before = answer(fitted)
    for estimator in (fitted, case.new()):
        with pytest.raises(ValueError, match=rf"^{said}"):
            estimator.partial_fit(X[40:], y[40:], classes=classes)
    assert all(np.array_equal(answer(fitted)[name], before[name]) for name in before)
    assert fitted.n_samples_seen_ == 40


def test_labels_from_before_have_to_be_among_the_given_classes():
    stream = OC().partial_fit(few(3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"given classes 'b', 'c', got 'a'\."):
        stream.partial_fit(few(3), ["b", "b", "c"], classes=["b", "c"])
    many = [f"{i:02}" for i in range(12)]
    with pytest.raises(ValueError, match=r"'08', '09', … \(12\), got 'a', 'b'"):
        OC().partial_fit(few(3), ["a", "b", "b"], classes=many)


def test_classes_of_an_indicator_matrix_are_the_numbers_of_its_columns():
    X, Y = few(3), np.eye(3, dtype=int)
    assert OC().partial_fit(X, Y, classes=[0, 1, 2]).classes_.tolist() == [0, 1, 2]
    for y in (Y, sparse.csr_array(Y)):
        with pytest.raises(ValueError, match="given classes 0, 1, got 2"):
            OnlineSRDA().partial_fit(X, y, classes=[0, 1])


def test_a_window_takes_classes():
    window = Window(OC()).partial_fit(few(3), ["a", "b", "c"], classes=["c", "b", "a"])
    with pytest.raises(ValueError, match=r"^expected labels among the given"):
        window.partial_fit(few(3), ["a", "b", "d"], classes=["a", "b", "c"])
    assert window.n_samples_seen_ == 3


WHICH = np.arange(60) % 3
WORDS = ["b", "a", "cc"]


def of_type(labels, make):
    return make([labels[k] for k in WHICH])


def pandas_of(kind):
    return lambda labels: pd.Series(labels, index=np.arange(60) * 2).astype(kind)


# what scikit-learn takes with them: metrics, folds by a number, or neither, since it refuses them
METRICS, FOLDS, NEITHER = "metrics", "folds", "neither"
TYPES = {
    "bool": ([True, False, True], np.array, METRICS),
    "int8": ([-1, 0, 7], lambda y: np.array(y, np.int8), METRICS),
    "uint64": ([2**63, 1, 2], lambda y: np.array(y, np.uint64), METRICS),
    "float16": ([0.0, 1.0, 2.0], lambda y: np.array(y, np.float16), METRICS),
    "big-endian": ([0, 1, 2], lambda y: np.array(y, ">i4"), METRICS),
    "objects of int": ([0, 1, 2], lambda y: objects(*y), FOLDS),
    "objects of bool": ([True, False, True], lambda y: objects(*y), FOLDS),
    "objects of float": ([0.0, 1.0, 2.0], lambda y: objects(*y), FOLDS),
    "objects of str": (WORDS, lambda y: objects(*y), METRICS),
    "str": (WORDS, np.array, METRICS),
    "strings of NumPy": (WORDS, lambda y: np.array(y, np.dtypes.StringDType()), NEITHER),
    "a column": (WORDS, lambda y: np.array(y)[:, None], METRICS),
    "list": ([2**62, 2**62 + 1, 3], list, METRICS),
    "tuple": (WORDS, tuple, METRICS),
    "pandas object": ([0, 1, 2], pandas_of(object), FOLDS),
    "pandas Int64": ([0, 1, 2], pandas_of("Int64"), METRICS),
    "pandas UInt64": ([2**63 + 1, 2**63 + 2, 0], pandas_of("UInt64"), FOLDS),
    "pandas boolean": ([True, False, True], pandas_of("boolean"), METRICS),
    "pandas Float64": ([0, 1, 2], pandas_of("Float64"), METRICS),
    "pandas string": (WORDS, pandas_of("string"), METRICS),
    "pandas string[pyarrow]": (WORDS, pandas_of("string[pyarrow]"), METRICS),
    "pandas int64[pyarrow]": ([0, 1, 2], pandas_of("int64[pyarrow]"), METRICS),
    "pandas category": (WORDS, pandas_of("category"), METRICS),
    "pandas category of int": ([3, 1, 2], pandas_of("category"), METRICS),
    "polars String": (WORDS, pl.Series, METRICS),
    "polars Categorical": (WORDS, lambda y: pl.Series(y, dtype=pl.Categorical), METRICS),
    "polars Enum": (WORDS, lambda y: pl.Series(y, dtype=pl.Enum(["cc", "b", "a"])), METRICS),
    "polars Int16": ([0, 1, 2], lambda y: pl.Series(y, dtype=pl.Int16), METRICS),
    "polars Int128": ([0, 1, 2], lambda y: pl.Series(y, dtype=pl.Int128), NEITHER),
    "polars Boolean": ([True, False, True], pl.Series, METRICS),
    "Arrow": (WORDS, pa.array, METRICS),
    "Arrow dictionary": ([5, 6, 7], lambda y: pa.array(y).dictionary_encode(), METRICS),
}


@pytest.mark.parametrize("name", TYPES)
def test_labels_of_every_type_are_scored(tmp_path, name):
    labels, make, takes = TYPES[name]
    y, wrong = of_type(labels, make), of_type([*labels[1:], labels[0]], make)
    expected = [labels[k] for k in WHICH]
    X = np.eye(3)[WHICH] + np.random.default_rng(0).normal(size=(60, 3)) / 100
    if len(set(labels)) == 2:
        X = X @ [[1], [-1], [1]]
    for method in SRDA, OnlineSRDA:
        model = method().fit(X, y)
        found = model.predict(X)
        assert found.tolist() == expected
        assert model.score(X, y) == 1
        assert model.score(X, wrong) == np.mean(
            [a == labels[k - 2] for a, k in zip(expected, WHICH, strict=True)]
        )
        if takes == METRICS:
            assert accuracy_score(y, found) == 1
        batches = method()
        for at in np.arange(60).reshape(3, 20):
            part = [y[k] for k in at] if isinstance(y, list | tuple) else y
            if not isinstance(y, list | tuple):
                part = y.take(at) if hasattr(y, "take") else y[at.tolist()]
            batches.partial_fit(X[at], part)
        assert batches.predict(X).tolist() == expected
        assert batches.classes_.dtype == model.classes_.dtype
        save(model, tmp_path / "labels.narrows")
        loaded = load(tmp_path / "labels.narrows")
        assert loaded.score(X, y) == 1
        assert loaded.predict(X).dtype == found.dtype
    folds = KFold(3, shuffle=True, random_state=0) if takes == NEITHER else 3
    assert cross_val_score(SRDA(), X, y, cv=folds, error_score="raise").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("y", "changed"),
    [(np.array([b"a", b"b"] * 9), lambda y: [label.decode() for label in y]),
     ([b"a", b"b"] * 9, lambda y: [label.decode() for label in y]),
     (objects(*[b"a", b"b"] * 9), lambda y: [label.decode() for label in y]),
     (np.array(["2020-01-01", "2020-01-02"] * 9, "M8[D]"), lambda y: np.asarray(y).astype(str))],
    ids=["bytes", "list of bytes", "objects", "dates"],
)  # fmt: skip
def test_labels_that_are_refused_say_what_to_use(y, changed):
    X = np.eye(2)[np.arange(18) % 2]
    with pytest.raises(ValueError, match=r"numbers or text.* Use (\[label|np.asarray)"):
        OC().fit(X, y)
    assert SRDA().fit(X, changed(y)).score(X, changed(y)) == 1


@pytest.mark.parametrize("y", [["a", None, "b"] * 6, objects(*[1, None, 2] * 6), [1.0, np.nan] * 9])
def test_scores_name_missing_labels(y):
    model = SRDA().fit(np.eye(2)[np.arange(18) % 2], np.arange(18) % 2)
    with pytest.raises(ValueError, match=r"labels"):
        model.score(np.eye(2)[np.arange(18) % 2], y)


@pytest.mark.parametrize("size", [1, 2**53, 2**62])
def test_signed_and_unsigned_integers_are_one_type(size):
    X, first, second = np.eye(4) + 1, [size, -size, size + 1, 1], [size + 2, size, size + 3, 1]
    a = OC().fit(X, np.array(first)).partial_fit(X, np.array(second, np.uint64))
    b = OC().fit(X, np.array(second, np.uint64)).merge(OC().fit(X, np.array(first)))
    c = IOC().partial_fit(X, np.array(first)).partial_fit(X, np.array(second, np.uint64))
    d = OnlineSRDA().fit(X, np.array(second, np.uint64)).merge(OnlineSRDA().fit(X, np.array(first)))
    for model in (a, b, c, d):
        assert model.classes_.tolist() == sorted({*first, *second})
    large = OC().fit(X, np.array([1, 2, 3, 4])).partial_fit(X, np.array([2**63 + 1] * 4, np.uint64))
    assert large.classes_.tolist() == [1, 2, 3, 4, 2**63 + 1]
    with pytest.raises(ValueError, match="one type"):
        OC().fit(X, np.array([-1, 2, 3, 4])).partial_fit(X, np.array([2**63 + 1] * 4, np.uint64))
