"""Hints where people err, errors and warnings: what they name, and that they can be pickled."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import narrows
from narrows import LDA, OC, OCFS, Window
from narrows.errors import (
    AdvisedError,
    DataError,
    ParameterError,
    RangeError,
    WidthError,
)
from narrows.read import iter_chunks
from tests.cases import labelled
from tests.inside import before_chunk


@pytest.mark.parametrize(
    ("method", "given", "hint"),
    [(OCFS, "k", "n_features"), (OC, "n_features", "n_comp"), (LDA, "shrinkage", "mu"),
     (OCFS, "n_feature", "n_features"), (OC, "qqq", "Choose from")],
)  # fmt: skip
def test_the_parameter_that_is_meant_is_named(method, given, hint):
    with pytest.raises(TypeError, match=f"got '{given}'.*{hint}"):
        method(**{given: 5})


def test_methods_of_others_name_what_has_them():
    with pytest.raises(AttributeError, match=r"narrows\.river\.OneByOne\(OnlineSRDA\(\)\)"):
        narrows.OnlineSRDA().learn_one  # noqa: B018


def test_a_size_replaces_another():
    X, y = labelled(d=6)
    ocfs = OCFS(energy=0.8).fit(X, y)
    assert ocfs.set_params(n_features=5).get_support().sum() == 5
    assert (ocfs.energy, ocfs.n_features) == (None, 5)
    ocfs.set_params(per_class=1, half_life=None)
    assert (ocfs.n_features, ocfs.per_class) == (None, 1)
    with pytest.raises(ParameterError, match="n_features=2"):  # both at once are still refused
        ocfs.set_params(n_features=2, energy=0.5).fit(X, y)


@pytest.mark.parametrize("value", ["1", None, [1], True])
def test_priors_by_class_have_to_be_numbers_for_each_class(value):
    X, y = labelled(c=3)
    for priors in ({"ant": 1, "bee": 2, "cat": 1, "other": value}, {"ant": 1, "bee": 2}):
        with pytest.raises(ParameterError, match=r"expected priors (to be numbers|for each class)"):
            OC(priors=priors).fit(X, y)


def test_a_window_is_saved_as_its_estimator(tmp_path):
    window = Window(OC(), 20).partial_fit(*labelled())
    with pytest.raises(TypeError, match=r"got Window.*estimator_"):
        narrows.save(window, tmp_path / "m.narrows")
    narrows.save(window.estimator_, tmp_path / "m.narrows")


ROWS = "a,b,label\n1,2.5,x\n2,1.5,y\n3,2.5,x\n4,9.5,y\n"


def test_options_stand_for_parameters_in_backquotes_where_the_verb_has_them(run, monkeypatch):
    said = "Set `label`, `n_features`, `no_new_classes` or `solver`."
    before_chunk(monkeypatch, lambda number, n_samples: warnings.warn(said, stacklevel=1))
    err = run("fit a.csv --method oc -o m.narrows", a__csv=ROWS)[2]
    assert "warning: Set --label, --n-features, `no_new_classes` or `solver`.\n" in err
    err = run("update m.narrows a.csv -o m.narrows")[2]
    assert "warning: Set --label, `n_features`, --no-new-classes or `solver`.\n" in err
    with pytest.raises(DataError, match="Set `text` for texts"):
        list(iter_chunks(pd.DataFrame({"a": ["word"]})))


@pytest.mark.parametrize(
    ("line", "hint"),
    [("fit a.csv --label Weight --method oc", "Did you mean 'weight'?"),
     ("compare a.csv --label weight", "set --target"),
     ("fit semi.csv --label y --method oc", "--separator"),
     ("fit none.csv --label y --method oc", "Fill in a label"),
     ("convert a.csv o.npz --label lable", "'lable'"),
     ("predict m.narrows t.csv --label lable -o -", "Did you mean 'label'?"),
     ("predict n.narrows t.csv --target bb -o -", "'bb'")],
)  # fmt: skip
def test_wrong_names_and_files_get_a_hint(run, line, hint):
    table = "a,weight,y\n" + "".join(f"{k}x,{k / 4},{'uv'[k % 2]}\n" for k in range(9))
    files = {"a__csv": table, "semi__csv": table.replace(",", ";"), "none__csv": "a,y\n1,u\n2,\n"}
    run("fit t.csv --method srda -o m.narrows", t__csv=ROWS, **files)
    run("fit t.csv --method pls --target b --table --drop label -o n.narrows")
    status, out, err = run(f"{line} -o x.narrows" if line.startswith("fit") else line)
    assert (status, out) == (1, "")
    assert hint in err


def test_an_index_that_pandas_wrote_is_warned_of_where_it_is_a_feature(run):
    pd.DataFrame({"a": np.arange(60) ** 2 % 7, "label": [*"uv"] * 30}).to_csv("t.csv")
    for command, is_feature in (
        ("fit t.csv --method srda -o m.narrows", True), ("predict m.narrows t.csv -o -", False),
        ("fit t.csv --table --method srda -o t.narrows", False),
    ):  # fmt: skip
        status, _, err = run(f"{command} --label label")
        assert (status, "the index" in err) == (0, is_feature)


def test_first_rows_that_are_numbers_are_warned_of(run):
    for header, is_warned in (("0.5,1.5,1\n", True), ("0,1,2\n", False), ("a,1.5,2\n", False)):
        status, _, err = run("convert t.csv o.npz", t__csv=header + "0.7,2.5,1\n1.5,0.1,1\n")
        assert (status, "t.csv:1: expected names of columns" in err) == (0, is_warned)


ERRORS = [
    WidthError("expected at most 8,192 features, got 9,000. Use OC.", 9000),
    RangeError("finite sums", "infinity", 3, "Scale the data down.", "height"),
    DataError("a.csv", "expected a label, got none.", 7),
    AdvisedError("expected equal terms, got others.", "Fit one."),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_errors_are_pickled(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_warnings_have_their_category():
    with pytest.warns(DeprecationWarning, match="moments_") as caught:
        OC().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]).stats_  # noqa: B018
    assert caught[0].filename == __file__


@pytest.mark.parametrize("method", [OC(), OCFS(2), OCFS("cv"), narrows.MMCFS(2), narrows.IG(2)])
@pytest.mark.filterwarnings("ignore:IG", "ignore:MMCFS")
@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_priors_by_class_are_those_of_an_array(method, kind, tmp_path):
    X, y = labelled(n=200, c=3)
    X, by_class = np.abs(X), {"cat": 2, "ant": 3, "bee": 1}
    of_array, other = (
        type(method)(**{**method.get_params(), "priors": priors}).fit(X, y)
        for priors in ([3, 1, 2], kind(by_class))
    )
    narrows.save(other, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    assert loaded.priors == by_class
    for each in (other, loaded):
        np.testing.assert_array_equal(each.transform(X), of_array.transform(X))
    if kind is dict:
        n = other.moments_.n
        assert other.merge(loaded).moments_.n == 2 * n
