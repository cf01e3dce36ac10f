"""Numbers that are passed as classes: what warns, and what takes them for numbers to predict."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from narrows import IDRQR, IOC, OC, OCFS, PCA, PLS, SRDA, ForwardFS, OnlineSRDA, Window
from narrows.command.cli import main
from narrows.evaluate import compare

slow = partial(pytest.param, marks=pytest.mark.slow)
nightly = partial(pytest.param, marks=pytest.mark.nightly)
X, Y = load_diabetes(return_X_y=True)  # 214 distinct whole numbers as floats


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "method",
    [OC(), OCFS(), OnlineSRDA(), *map(slow, (SRDA(), IOC())), nightly(IDRQR())],
    ids=repr,
)
def test_methods_for_classes_warn_of_numbers(method):
    for y in (Y, Y.astype(np.float32), Y.astype(int), np.arange(442) % 45):
        (said,) = warnings_of(lambda y=y: method.fit(X, y))
        assert str(len(np.unique(y))) in said
    named = [f"c{k % 60}" for k in range(442)]
    several = np.eye(60, dtype=int)[np.arange(442) % 60]
    for y in (Y.astype(str), np.arange(442) % 44, np.arange(442.0) % 20, named):
        assert not warnings_of(lambda y=y: method.fit(X, y))
    if isinstance(method, OC):
        assert not warnings_of(lambda: method.fit(X, several))


@pytest.mark.parametrize("method", [OC, IOC, OnlineSRDA])
def test_streams_warn_of_floats_once(method):
    model = method()
    first = warnings_of(lambda: model.partial_fit(X[:15], Y[:15]))
    second = warnings_of(lambda: model.partial_fit(X[15:300], Y[15:300]))
    third = warnings_of(lambda: model.partial_fit(X[300:], Y[300:]))
    assert [len(said) for said in (first, second, third)] == [0, 1, 0]
    whole = np.arange(30)  # a batch may have a sample of each class
    assert not warnings_of(lambda: method().partial_fit(X[:30], whole))
    assert not warnings_of(lambda: method().partial_fit(X, Y, classes=np.unique(Y)))


def test_windows_warn_once():
    window = Window(OC(), samples=200)
    first = warnings_of(lambda: window.partial_fit(X[:15], Y[:15]))
    second = warnings_of(lambda: window.partial_fit(X[15:], Y[15:]))
    third = warnings_of(lambda: window.partial_fit(X, Y))
    assert [len(said) for said in (first, second, third)] == [0, 1, 0]
    (said,) = warnings_of(lambda: window.fit(X, Y.astype(int)))
    assert said.startswith("expected classes, got ")
    assert not warnings_of(lambda: window.fit(X, np.eye(60, dtype=int)[np.arange(442) % 60]))
    assert not warnings_of(lambda: Window(PLS(2), samples=300).fit(X, Y))


def test_methods_without_classes_do_not_warn():
    for method in (PCA(), PLS(), ForwardFS(target="numeric")):
        assert not warnings_of(lambda method=method: method.fit(X, Y))


@pytest.mark.filterwarnings("ignore:.*expected classes")
def test_forward_selection_takes_many_floats_for_numbers():
    numeric = ForwardFS(target="numeric").fit(X, Y)
    for learn in ("fit", "partial_fit"):
        found = ForwardFS()
        (said,) = warnings_of(lambda: getattr(found, learn)(X, Y))  # noqa: B023
        assert "214" in said
        np.testing.assert_array_equal(found.ranking_, numeric.ranking_)
    assert not warnings_of(lambda: ForwardFS().fit(X, Y + 0.5))  # no classes at all
    for y in (Y.astype(int), Y // 20):  # 17 floats, which may be classes
        assert len(ForwardFS().fit(X, y).classes_) == len(np.unique(y))


def test_compare_takes_many_floats_for_numbers():
    with pytest.warns(UserWarning, match="214"):
        lines = compare(X, Y, ["pls"], dims=[1], repeats=1)
    assert lines.metric == "r2"
    with pytest.warns(UserWarning, match="88"):
        compare(X, np.arange(442) % 88, ["oc"], dims=[1], repeats=1)


@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_commands_name_the_option_for_numbers(verb, tmp_path, capsys):
    path = tmp_path / "prices.csv"
    rows = [f"{k % 7},{k % 11},{k % 150}" for k in range(900)]
    path.write_text("a,b,price\n" + "\n".join(rows) + "\n")
    options = {"fit": ["--method", "oc", "-o", str(tmp_path / "m")]}
    small = ["--methods", "oc", "--dims", "1", "--repeats", "1"]
    main([verb, str(path), "--label", "price", *options.get(verb, small)])
    said = capsys.readouterr().err
    assert "150" in said
    assert "--target" in said
