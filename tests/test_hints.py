"""Hints where people err: names of other libraries, sizes that replace others, priors by class."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import narrows
from narrows import CCIPCA, LDA, OC, OCFS, OnlineSRDA, Window
from narrows.command import cli
from narrows.errors import DataError, ParameterError
from narrows.evaluate import compare
from narrows.read import iter_chunks
from tests.cases import ALL, labelled
from tests.inside import before_chunk

METHODS = sorted({type(case.estimator) for case in ALL}, key=lambda method: method.__name__)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_every_parameter_is_checked(method):
    for name in method().get_params():
        with pytest.raises(ParameterError, match=rf"\b{name}\b.*, got "):
            method(**{name: object()}).fit(*labelled())


@pytest.mark.parametrize(
    ("method", "given", "hint"),
    [
        (OCFS, {"k": 5}, "parameters of OCFS, got 'k'. Did you mean n_features?"),
        (OCFS, {"n_components": 5}, "Did you mean n_features?"),
        (OC, {"n_features": 5}, "Did you mean n_components?"),
        (OCFS, {"n_feature": 5}, "Did you mean n_features?"),
        (LDA, {"shrinkage": "auto"}, "Did you mean mu?"),
        (OC, {"qqq": 1}, "Choose from "),
    ],
)
def test_the_parameter_that_is_meant_is_named(method, given, hint):
    with pytest.raises(TypeError) as error:
        method(**given)
    assert hint in str(error.value)


@pytest.mark.parametrize("verb", ["learn_one", "predict_one", "transform_one"])
def test_users_of_river_are_sent_to_the_wrapper(verb):
    assert not hasattr(OnlineSRDA(), verb)
    with pytest.raises(AttributeError, match=r"Use narrows\.river\.OneByOne\(OnlineSRDA\(\)\)"):
        getattr(OnlineSRDA(), verb)


def test_a_size_replaces_another():
    X, y = labelled(d=6)
    ocfs = OCFS(energy=0.8).fit(X, y)
    assert ocfs.set_params(n_features=5).get_support().sum() == 5
    assert (ocfs.energy, ocfs.n_features) == (None, 5)
    ocfs.set_params(per_class=1, half_life=None)
    assert (ocfs.n_features, ocfs.per_class) == (None, 1)
    ocfs.set_params(priors="sqrt")
    assert ocfs.per_class == 1
    with pytest.raises(ParameterError, match="n_features=2"):  # both at once are still refused
        ocfs.set_params(n_features=2, energy=0.5).fit(X, y)


@pytest.mark.parametrize("method", [OC(), OCFS(2), OCFS("cv"), narrows.MMCFS(2), narrows.IG(2)])
@pytest.mark.filterwarnings("ignore:IG", "ignore:MMCFS")
def test_priors_by_class_are_those_of_an_array(method, tmp_path):
    X, y = labelled(n=200, c=3)
    X = np.abs(X)
    classes = np.unique(y).tolist()
    by_class = dict(zip(classes, [3, 1, 2], strict=True))
    parameters = method.get_params()
    alike = [
        type(method)(**{**parameters, "priors": priors}).fit(X, y)
        for priors in (by_class, [3, 1, 2])
    ]
    np.testing.assert_array_equal(*(each.transform(X) for each in alike))
    narrows.save(alike[0], tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    assert loaded.priors == by_class
    np.testing.assert_array_equal(loaded.transform(X), alike[0].transform(X))
    before = alike[0].moments_.n
    assert alike[0].merge(loaded).moments_.n == 2 * before


@pytest.mark.parametrize("value", ["1", None, [1], np.array(0.2), True])
def test_priors_by_class_have_to_be_numbers(value):
    X, y = labelled(c=3)
    with pytest.raises(ParameterError, match="expected priors to be numbers, got "):
        OC(priors={"ant": 1, "bee": 2, "cat": 1, "other": value}).fit(X, y)


def test_priors_may_be_a_series_of_pandas_in_any_order(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = labelled(c=3)
    series = pd.Series({"cat": 0.8, "ant": 0.1, "bee": 0.1})
    by_series, by_class = (OC(priors=p).fit(X, y) for p in (series, series.to_dict()))
    np.testing.assert_array_equal(by_series.transform(X), by_class.transform(X))
    narrows.save(by_series, tmp_path / "m.narrows")
    assert narrows.load(tmp_path / "m.narrows").priors == series.to_dict()


def test_priors_of_numeric_labels_can_be_given_at_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b,class\n1,0,0\n2,0,0\n0,3,1\n0,4,1\n")
    line = ["fit", "a.csv", "--method", "oc", "-o", "m.narrows"]
    assert cli.main([*line, "--param", 'priors={"0":1,"1":3}']) == 0
    loaded = narrows.load("m.narrows")
    X, y = [[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 4.0]], [0, 0, 1, 1]
    np.testing.assert_allclose(loaded.components_, OC(priors=[1, 3]).fit(X, y).components_)


def test_subclasses_may_pass_parameters_on():
    class Loud(OC):
        def __init__(self, n_components=None, **more):
            super().__init__(n_components, **more)

    X, y = labelled(c=3)
    assert Loud(half_life=5.0).half_life == 5.0
    assert Loud(1).fit(X, y).transform(X).shape[1] == 1
    with pytest.raises(TypeError, match="got 'cls'"):
        OC(cls=2)


def test_priors_by_class_name_the_class_that_is_missing():
    X, y = labelled(c=3)
    with pytest.raises(ParameterError, match="expected priors for each class, got none for 'c"):
        OC(priors={"ant": 1, "bee": 2}).fit(X, y)
    two = y != "cat"
    stream = OC(priors={"ant": 1, "bee": 2, "cat": 1, "dog": 1}).partial_fit(X[two], y[two])
    assert stream.transform(X).shape[1] == 1  # of the classes so far


def test_numeric_labels_keep_their_type_in_a_model(tmp_path):
    X, y = labelled(c=3)
    codes = np.unique(y, return_inverse=True)[1]
    oc = OC(priors={np.int64(0): 1.0, 1: 2, 2: 0}).fit(X, codes)
    narrows.save(oc, tmp_path / "m.narrows")
    assert narrows.load(tmp_path / "m.narrows").priors == {0: 1.0, 1: 2, 2: 0}


def test_messages_name_parameters_in_python_and_options_at_the_command_line(tmp_path, capsys):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    with pytest.raises(ParameterError, match=r"^`label`: expected a \.npy file of labels"):
        list(iter_chunks(path, label="y.txt"))
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    (tmp_path / "t.csv").write_text("a,class\nword,2\n")
    with pytest.raises(DataError, match="Set `text` for texts"):
        list(iter_chunks(tmp_path / "t.csv"))
    assert cli.main(["fit", str(tmp_path / "b.csv"), "--method", "oc", "-o", str(path)]) == 1
    assert "Set --label." in capsys.readouterr().err


def test_options_of_the_verb_stand_for_parameters_in_backquotes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,class\n1,x\n2,y\n")
    said = "Set `label`, `n_features`, `no_new_classes` or `solver`."
    before_chunk(monkeypatch, lambda number, n_samples: warnings.warn(said, stacklevel=1))
    assert cli.main(["fit", "a.csv", "--method", "oc", "-o", "m.narrows"]) == 0
    err = capsys.readouterr().err
    assert "warning: Set --label, --n-features, `no_new_classes` or `solver`.\n" in err
    assert cli.main(["update", "m.narrows", "a.csv", "-o", "m.narrows"]) == 0
    err = capsys.readouterr().err
    assert "warning: Set --label, `n_features`, --no-new-classes or `solver`.\n" in err


def test_a_spreadsheet_is_refused_by_its_suffix(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickets.xlsx").write_bytes(b"PK")
    assert cli.main(["fit", "tickets.xlsx", "--method", "oc", "-o", "m.narrows"]) == 2
    assert "got .xlsx, which is not supported. Convert the file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "compare a.csv --method oc",
            "No such option '--method'. (Did you mean one of: '--methods'",
        ),
        ("info a.csv --seed 7", "No such option"),
        ("fit a.csv --lable x", "Did you mean one of: '--label'"),
        ("fitt a.csv", "Did you mean 'fit'?"),
    ],
)
def test_wrong_usage_names_what_is_meant(tmp_path, monkeypatch, capsys, line, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,class\n1,x\n2,y\n")
    assert cli.main(line.split()) == 2
    assert hint in capsys.readouterr().err


def test_ccipca_names_its_exact_counterpart():
    X, _ = labelled()
    for call in (lambda: CCIPCA().fit(X).merge(CCIPCA()), lambda: CCIPCA().fit_moments(None)):
        with pytest.raises(
            AttributeError, match=r"Use PCA, which is exact on a stream and supports"
        ):
            call()


@pytest.mark.parametrize(
    ("labels", "ending"),
    [(int, "`test`. For numbers to predict, set `target`"), ("k{}".format, "`test`")],
)
def test_more_classes_than_held_out_samples_may_be_numbers(labels, ending):
    X, _ = labelled(n=60)
    y = list(map(labels, range(100, 130))) * 2
    with pytest.raises(ParameterError, match=f"all 30 classes, got 60. Set `cv` or {ending}\\.$"):
        compare(X, y, ["oc"])


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("fit a.csv --label Weight --method oc", "'weight', 'y'. Did you mean 'weight'?"),
        ("fit a.csv --label kind --method oc", "'weight', 'y'. Set --label to one of them."),
        ("fit a.csv --target Weight", "Did you mean 'weight'?"),
        (
            "compare a.csv --label weight",
            "For numbers to predict, set --target.",
        ),
        ("compare a.csv --label a", "Remove it, or set --test.\n"),
        ("fit semi.csv --label y --method oc", "Set --label to one of them, or --separator."),
        ("compare semi.csv --label y", "Set --label to one of them, or --separator."),
        ("fit none.csv --label y --method oc", "'y': expected a label, got none. Fill in a label,"),
        ("info a.csv", "got another file, or a damaged one. Name another file.\n"),
    ],
)
def test_wrong_names_and_files_get_a_hint(tmp_path, monkeypatch, capsys, line, hint):
    monkeypatch.chdir(tmp_path)
    rows = [("a", "weight", "y"), *((f"{k}x", f"{k / 4}", "uv"[k % 2]) for k in range(9))]
    for name, separator in (
        ("a.csv", ","),
        ("semi.csv", ";"),
    ):
        (tmp_path / name).write_text("".join(f"{separator.join(row)}\n" for row in rows))
    (tmp_path / "none.csv").write_text("a,y\n1,u\n2,\n")
    output = [] if line.startswith(("compare", "info")) else ["-o", "m.narrows"]
    assert cli.main([*line.split(), *output]) == 1
    assert hint in capsys.readouterr().err


def test_a_column_whose_name_has_a_semicolon_is_no_separator(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("width; cm,y\n1,u\n2,v\n4,v\n")
    (tmp_path / "b.csv").write_text("width; cm\n1\n")
    assert cli.main(["fit", "a.csv", "--label", "y", "--method", "lda", "-o", "m.narrows"]) == 0
    assert cli.main(["predict", "m.narrows", "b.csv", "-o", "p.csv"]) == 0


def test_a_window_is_saved_as_its_estimator(tmp_path):
    window = Window(OC(), 20).partial_fit(*labelled())
    with pytest.raises(TypeError, match=r"got Window\. Save its estimator_ instead\.$"):
        narrows.save(window, tmp_path / "m.narrows")
    narrows.save(window.estimator_, tmp_path / "m.narrows")


# -- at a shell ------------------------------------------------------------------------------------

ROWS = "a,b,label\n1,2.5,x\n2,1.5,y\n3,2.5,x\n4,9.5,y\n"


@pytest.mark.parametrize(
    "command",
    [
        "convert t.csv o.npz --label lable",
        "fit t.csv --method pca --label lable -o p.narrows --table",
        "transform m.narrows t.csv --label lable -o -",
        "predict m.narrows t.csv --label lable -o -",
        "predict n.narrows t.csv --target bb -o -",
    ],
)
def test_a_column_that_was_typed_has_to_be_there(run, command):
    run("fit t.csv --method srda -o m.narrows", t__csv=ROWS)
    run("fit t.csv --method pls --target b --table --drop label -o n.narrows")
    status, out, err = run(command)
    assert (status, out) == (1, "")
    assert "t.csv:1: expected " in err
    assert "Did you mean 'label'?" in err or "'bb'" in err


def test_a_column_that_was_typed_may_have_empty_cells(run):
    run("fit t.csv --method srda -o m.narrows", t__csv=ROWS)
    unlabelled = ROWS.replace(",x\n", ",\n").replace(",y\n", ",\n")
    status, out, _ = run("predict m.narrows u.csv --label label -o -", u__csv=unlabelled)
    assert (status, len(out.splitlines())) == (0, 5)


def test_an_index_that_pandas_wrote_is_warned_of_where_it_is_a_feature(run):
    rows = ["", "a", "label"], *([k, k * k % 7, "uv"[k % 2]] for k in range(60))
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    status, _, err = run("fit t.csv --method srda --label label -o m.narrows", t__csv=text)
    assert status == 0
    assert "names of columns, got none of the first one, as of the index" in err
    for command in ("predict m.narrows t.csv -o -", "fit t.csv --table --method srda -o t.narrows"):
        status, _, err = run(f"{command} --label label", t__csv=text)
        assert (status, "the index" in err) == (0, False)


def test_first_rows_that_are_numbers_are_warned_of(run):
    numbers = "0.5,1.5\n0.7,2.5\n1.5,0.1\n"
    status, _, err = run("convert t.csv o.npz", t__csv=numbers)
    assert status == 0
    assert "t.csv:1: expected names of columns, got '0.5', '1.5'. If the file has no header" in err
    for header in ("0,1,2\n", "a,1.5,2\n"):
        assert run("convert u.csv o.npz", u__csv=header + "0,1,2\n")[2] == ""


def test_decimal_commas_are_warned_of(run):
    rows = "".join(f'"{k},{k % 7}",{k % 3},{"xy"[k % 2]}\n' for k in range(60))
    err = run("fit t.csv --method oc -o m.narrows", t__csv="a,b,label\n" + rows)[2]
    assert "expected numbers such as 1234.5 in column 'a', got '0,0'" in err
    err = run("fit t.csv --method oc -o m.narrows --drop a")[2]
    assert "1234.5" not in err
    rows = "".join(f'"{k},{k % 7}00",{k % 3},{"xy"[k % 2]}\n' for k in range(60))  # thousands
    err = run("fit t.csv --method oc -o m.narrows", t__csv="a,b,label\n" + rows)[2]
    assert "expected numbers such as 1234.5 in column 'a', got '0,000'" in err


def test_labels_of_other_files_are_not_looked_for_beside_arrays(run):
    run("fit t.csv --method srda --label kind -o m.narrows", t__csv=ROWS.replace("label", "kind"))
    np.save("x.npy", np.array([[1.0, 2.5], [4.0, 9.5]]))
    status, out, _ = run("predict m.narrows x.npy -o -")
    assert (status, [line.rpartition(",")[2] for line in out.split()]) == (0, ["label", "x", "y"])


def test_a_file_of_one_column_may_come_by_a_pipe(run):
    texts = "queue,body\n" + "bill,pay the bill\nsite,page is down\n" * 5
    run("fit t.csv --method srda --label queue --text body -o m.narrows", t__csv=texts)
    status, out, _ = run("predict m.narrows - -o -", b"body\npage is down\nthe bill\n")
    labels = [line.rpartition(",")[2] for line in out.split()]
    assert (status, labels) == (0, ["label", "site", "bill"])


def test_a_model_may_be_written_to_a_pipe(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    source, sink = os.pipe()
    line = ["-m", "narrows", "fit", "t.csv", "--method", "oc", "-o", f"/dev/fd/{sink}"]
    subprocess.run([sys.executable, *line], cwd=tmp_path, check=True, timeout=100, pass_fds=[sink])
    os.close(sink)
    with open(source, "rb") as pipe:
        (tmp_path / "m.narrows").write_bytes(pipe.read())
    assert narrows.load(tmp_path / "m.narrows").n_samples_seen_ == 4


def test_a_command_needs_no_standard_error(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    line = f"{sys.executable} -m narrows fit t.csv --method oc -o m.narrows 2>&-"
    subprocess.run(line, shell=True, cwd=tmp_path, check=True, timeout=100)
    line = f"{sys.executable} -m narrows info nosuch 2>&-"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, timeout=100)
    assert (done.returncode, done.stdout) == (2, b"")
