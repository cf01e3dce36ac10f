"""Selections of the command line that predict by the columns that they selected."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline

import narrows
from narrows import LDA, OCFS, SRDA, CorrelationFS, ForwardFS, ReducedRank, VarianceFS, load
from tests.inside import before_chunk

KINDS = {"ocfs": OCFS, "forwardfs": ForwardFS, "variancefs": VarianceFS}
COLUMNS = [f"f{k}" for k in range(8)]


@pytest.fixture
def data(tmp_path):
    """Return samples, labels and a number to predict, which first.csv and rest.csv also have."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 8)) + np.outer(y == 0, np.r_[3, 0, 2, np.zeros(5)])
    X += np.outer(y == 1, np.r_[0, 2.5, np.zeros(6)])
    price = X[:, 1] - 2 * X[:, 4] + 0.1 * rng.normal(size=300)
    frame = pd.DataFrame(X, columns=COLUMNS)
    labelled = frame.assign(kind=np.array(["a", "b", "c"])[y])
    for name, rows in (("first", slice(200)), ("rest", slice(200, 300))):
        labelled[rows].to_csv(tmp_path / f"{name}.csv", index=False)
        frame.assign(price=price)[rows].to_csv(tmp_path / f"{name}_prices.csv", index=False)
    return X, labelled["kind"].to_numpy(), price


def predictions(path="p.csv"):
    return pd.read_csv(path)


def probabilities(run, model, *options):
    assert run(" ".join(["predict", model, "rest.csv -o p.csv --proba", *options]))[0] == 0
    found = predictions()
    return found.drop(columns="label").to_numpy(), found["label"].to_numpy()


@pytest.mark.parametrize("then", [None, "lda"])
@pytest.mark.parametrize("method", KINDS)
def test_a_selection_predicts_as_a_pipeline_does(run, data, method, then):
    X, y, _ = data
    line = f"fit first.csv --label kind --method {method} --n-features 3 --chunk-rows 70"
    status, out, err = run(f"{line} -o m.narrows --json" + f" --then {then}" * (then is not None))
    assert (status, err) == (0, "")
    rule = LDA() if then else SRDA()
    assert json.loads(out)["then"]["method"] == type(rule).__name__
    expected = make_pipeline(KINDS[method](n_features=3), rule).fit(X[:200], y[:200])
    P, labels = probabilities(run, "m.narrows")
    np.testing.assert_allclose(P, expected.predict_proba(X[200:]), atol=1e-10)
    np.testing.assert_array_equal(labels, expected.predict(X[200:]))
    assert run("transform m.narrows rest.csv -o r.csv")[0] == 0
    chosen = [COLUMNS[k] for k in expected[0].get_support(indices=True)]
    assert list(predictions("r.csv")) == [*chosen, "label"]
    model = load("m.narrows")
    assert type(model) is KINDS[method]
    assert type(model.then_) is type(rule)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-10)
    assert model.score(X, y) == expected.score(X, y)
    assert f"predicts by {type(rule).__name__}(" in run("info m.narrows")[1]


@pytest.mark.parametrize("kind", [ForwardFS, CorrelationFS])
def test_a_selection_predicts_numbers(run, data, kind):
    X, _, price = data
    method = kind.__name__.lower()
    line = f"fit first_prices.csv --target price --method {method} --n-features 2 -o m.narrows"
    assert run(line)[0] == 0
    assert run("predict m.narrows rest_prices.csv -o p.csv")[0] == 0
    # the command line makes curves of the columns of a table, but not of numbers alone
    columns = kind(n_features=2).fit(X[:200], price[:200]).get_support()
    expected = ReducedRank().fit(X[:200, columns], price[:200]).predict(X[200:, columns])
    np.testing.assert_allclose(predictions()["price"], expected, atol=1e-10)
    assert load("m.narrows").score(X[200:], price[200:]) > 0.9


def test_sparse_samples_texts_and_tables(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = np.round(8 * sparse.random_array((120, 30), density=0.2, rng=rng).toarray()) / 8
    X[:, 7] += y
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    dump_svmlight_file(X[:5, :20], y[:5], str(tmp_path / "narrow.svm"), zero_based=False)
    assert run("fit narrow.svm a.svm --method ocfs --n-features 4 -o m.narrows")[0] == 0
    both = sparse.csr_array(np.vstack([np.pad(X[:5, :20], ((0, 0), (0, 10))), X]))
    expected = make_pipeline(OCFS(n_features=4), SRDA()).fit(both, np.append(y[:5], y))
    assert run("predict m.narrows narrow.svm -o p.csv --proba")[0] == 0
    found = predictions().drop(columns="label").to_numpy()
    np.testing.assert_allclose(found, expected.predict_proba(both[:5]), atol=1e-10)
    lines = [{"label": "ab"[k], "text": f"w{k} x{i % 5}"} for i in range(40) for k in range(2)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert run("fit t.jsonl --method chi --n-features 2 -o m.narrows", t__jsonl=text)[0] == 0
    assert "80 of 80 are equal" in run("predict m.narrows t.jsonl -o p.csv")[1]
    cells = "".join(f"{'ulm' if k % 2 else 'bonn'},{k % 7 or ''},{k % 2}\n" for k in range(60))
    fit = "fit t.csv --label y --method forwardfs --n-features 1 -o m.narrows"
    assert run(fit, t__csv=f"city,n,y\n{cells}")[0] == 0
    assert "60 of 60 are equal" in run("predict m.narrows t.csv -o p.csv")[1]


def test_what_predicts_is_updated_and_says_if_the_selection_changes(run, data):
    X, y, _ = data
    assert run("fit first.csv --label kind --method ocfs --n-features 3 -o m.narrows")[0] == 0
    assert run("update m.narrows rest.csv -o u.narrows")[::2] == (0, "")
    expected = make_pipeline(OCFS(n_features=3), SRDA()).fit(X, y)
    P, _ = probabilities(run, "u.narrows")
    np.testing.assert_allclose(P, expected.predict_proba(X[200:]), atol=1e-10)
    other = X[200:].copy()
    other[:, 7] += 50.0 * (y[200:] == "a")
    frame = pd.DataFrame(other, columns=COLUMNS).assign(kind=y[200:])
    frame.to_csv("other.csv", index=False)
    status, _, err = run("update m.narrows other.csv -o u.narrows")
    assert status == 0
    assert "ocfs now selects other columns, and srda predicts by those of the fit" in err
    columns, every = OCFS(n_features=3).fit(X[:200], y[:200]).get_support(), np.r_[X[:200], other]
    expected = SRDA().fit(every[:, columns], y)
    P, _ = probabilities(run, "u.narrows")
    np.testing.assert_allclose(P, expected.predict_proba(X[200:][:, columns]), atol=1e-10)
    assert load("u.narrows").get_support()[7]
    assert not json.loads(run("info u.narrows --json")[1])["then"]["is_of_selection"]


def test_models_of_the_same_columns_are_merged_with_what_predicts(run, data):
    X, y, _ = data
    assert run("fit first.csv --label kind --method ocfs --n-features 3 -o a.narrows")[0] == 0
    assert run("fit rest.csv --like a.narrows -o b.narrows")[0] == 0
    assert run("merge a.narrows b.narrows -o m.narrows")[::2] == (0, "")
    columns = OCFS(n_features=3).fit(X[:200], y[:200]).get_support()
    P, _ = probabilities(run, "m.narrows")
    expected = SRDA().fit(X[:, columns], y).predict_proba(X[200:, columns])
    np.testing.assert_allclose(P, expected, atol=1e-10)
    assert (
        run("fit rest.csv --label kind --method ocfs --n-features 3 --then lda -o b.narrows")[0]
        == 0
    )
    status, _, err = run("merge a.narrows b.narrows -o m.narrows")
    assert (status, err.count("warning")) == (0, 1)
    assert run("predict m.narrows rest.csv -o p.csv")[0] == 2


def test_standard_input_is_read_once_unless_it_is_asked_for(run, data):
    line = "fit - --label kind --method ocfs --n-features 3 -o m.narrows"
    text = Path("first.csv").read_text().encode()
    status, _, err = run(line, stdin=text)
    assert (status, err.count("\n")) == (0, 1)
    assert "--then srda" in err
    status, _, err = run("predict m.narrows rest.csv -o p.csv")
    assert status == 2
    assert "--then srda" in err
    assert run(f"{line} --then srda", stdin=text)[::2] == (0, "")
    P, _ = probabilities(run, "m.narrows", "--priors", "balanced")
    assert run(line.replace(" - ", " first.csv "))[0] == 0
    np.testing.assert_array_equal(P, probabilities(run, "m.narrows", "--priors balanced")[0])


def test_rows_of_several_labels_and_many_columns_take_onlinesrda(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = sparse.csr_array((X[:, :3] > 0).astype(int))
    np.savez(tmp_path / "a.npz", X=X, yindices=Y.indices, yindptr=Y.indptr, yshape=Y.shape)
    assert run("fit a.npz --method ocfs --n-features 4 -o m.narrows")[0] == 0
    wide = sparse.random_array((40, 2300), density=0.1, rng=rng, format="csr")
    dump_svmlight_file(wide, np.arange(40) % 2, str(tmp_path / "b.svm"), zero_based=False)
    assert run("fit b.svm --method df --n-features 2100 -o wide.narrows")[0] == 0
    for model in ("m", "wide"):
        assert isinstance(load(f"{model}.narrows").then_, narrows.OnlineSRDA)


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("fit first.csv --method srda --then lda -o x", 2, "ocfs"),
        ("fit first.csv --method ocfs --then oc -o x", 2, "srda"),
        ("fit first.csv --method ocfs --then pls -o x", 2, "srda"),
        ("fit first.csv --method ocfs --then nope -o x", 2, "nope"),
        ("fit first.csv --method ocfs --then srda --engine dask -o x", 2, "--engine"),
        ("fit first.csv --like m.narrows --then srda -o x", 2, "--like"),
        ("update v.narrows new.csv -o x", 1, "--then none"),  # no labels for what predicts
    ],
)
def test_wrong_use_is_refused(run, data, line, status, said):
    for name, method in ("m", "ocfs"), ("v", "variancefs"):
        fit = f"fit first.csv --label kind --method {method} --n-features 3 -o {name}.narrows"
        assert run(fit)[0] == 0
    pd.read_csv("rest.csv").drop(columns="kind").to_csv("new.csv", index=False)
    line += " --label kind" if line.startswith("fit") else ""
    found, out, err = run(line)
    assert (found, out, Path("x").exists()) == (status, "", False)
    assert said in err


def test_a_selection_alone_does_not_predict(run, data):
    X, y, _ = data
    line = "fit first.csv --label kind --method ocfs --n-features 3 -o m.narrows"
    assert run(f"{line} --then none")[::2] == (0, "")
    for model in (load("m.narrows"), OCFS().fit(X, y), OCFS()):
        for name in ("predict", "predict_proba", "score", "then_"):
            assert not hasattr(model, name)
    assert run(line)[0] == 0
    model = load("m.narrows")
    assert not hasattr(clone(model), "predict")
    assert not hasattr(model.fit(X, y), "predict")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "after"),
    [("fit first.csv --label kind --method ocfs --n-features 3", 4),  # in the selection
     ("fit first.csv --label kind --method ocfs --n-features 3", 14),  # in what predicts
     ("update a.narrows rest.csv", 3)],
)  # fmt: skip
def test_an_interrupted_run_goes_on_with_the_same_bytes(run, data, monkeypatch, line, after):
    def stop(number, size):
        if number == after:
            signal.raise_signal(signal.SIGINT)

    assert run("fit first.csv --label kind --method ocfs --n-features 3 -o a.narrows")[0] == 0
    line += " -o m.narrows --chunk-rows 20 --checkpoint c.narrows --every 20"
    assert run(line)[0] == 0
    expected = Path("m.narrows").read_bytes()
    with monkeypatch.context() as patch:
        before_chunk(patch, stop)
        assert run(line)[0] == 130
    assert run(f"{line} --resume")[0] == 0
    assert Path("m.narrows").read_bytes() == expected


def test_onnx_has_both(run, data):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, _, _ = data
    assert run("fit first.csv --label kind --method ocfs --n-features 3 -o m.narrows")[0] == 0
    assert run("export m.narrows -o m.onnx")[0] == 0
    reduced, labels, P = onnxruntime.InferenceSession("m.onnx").run(None, {"X": np.float32(X)})
    model = load("m.narrows")
    np.testing.assert_array_equal(reduced, model.transform(np.float32(X)))
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-5)
