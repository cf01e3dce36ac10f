"""Arrays of libraries that follow the array API standard, also on devices other than the CPU.

`array_api_strict` has devices without memory that NumPy reads; here they say so as a GPU does.
"""

from __future__ import annotations

import pickle

import array_api_strict as strict
import numpy as np
import pytest
import sklearn

from narrows import LDA, OC, OCFS, PLS, SRDA, KernelSRDA, OnlineSRDA
from narrows.errors import RangeError
from tests.cases import ALL, NUMERIC, STREAMED
from tests.inside import OnDevice

CPU, DEVICE = strict.Device("CPU_DEVICE"), strict.Device("device1")
DEVICES = {"cpu": CPU, "device": DEVICE}
EXACT = {np.float32: 1e-6, np.float64: 1e-10}
on_both = pytest.mark.parametrize("device", DEVICES)
in_both = pytest.mark.parametrize("dtype", EXACT, ids=lambda dtype: dtype.__name__)


@pytest.fixture(autouse=True)
def dispatching(monkeypatch):
    """scikit-learn's setting is on, and the device is none that NumPy reads."""
    kind = type(strict.ones(1))
    before = kind.__dlpack_device__

    def device_of(array):
        return before(array) if array.device == CPU else (2, 0)

    monkeypatch.setattr(kind, "__dlpack_device__", device_of)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


def samples(dtype=np.float64, numeric=False, n=600):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = (rng.normal(size=(n, 9)) + 3 * np.eye(3, 9)[y] + 1).astype(dtype)
    X[rng.random((n, 9)) < 0.2] = 0  # for methods that count presence
    return X, X[:, :2] @ [2.0, -1.0] + rng.normal(size=n) if numeric else y


def moved(array, device="device"):
    return strict.asarray(array, device=DEVICES[device])


def back(array):
    return np.asarray(array if array.device == CPU else array.to_device(CPU))


def assert_near(found, expected, dtype, device):
    """The array has the library, the device and the type of the samples, and the same numbers."""
    assert type(found) is type(strict.ones(1))
    assert found.device == DEVICES[device]
    assert back(found).dtype == expected.dtype
    atol = EXACT[dtype] * np.abs(expected).max()
    np.testing.assert_allclose(back(found), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("each", ALL + NUMERIC, ids=lambda each: each.name)
@in_both
@on_both
def test_fit_and_transform_give_the_results_of_numpy(each, dtype, device):
    X, y = samples(dtype, each in NUMERIC)
    there = moved(X, device)
    expected = each.new().fit(X, y)
    found = each.new().fit(there, moved(y, device))
    Z = expected.transform(X)
    assert Z.dtype == dtype
    assert_near(found.transform(there), Z, dtype, device)
    assert_near(expected.transform(there), Z, dtype, device)

    if hasattr(expected, "predict"):
        assert type(found.predict(there)) is np.ndarray
        np.testing.assert_allclose(found.predict(there), expected.predict(X), rtol=1e-6)
        score = found.score(there, moved(y, device), moved(np.ones(len(y)), device))
        assert score == pytest.approx(expected.score(X, y), rel=1e-6)
    for verb in ("predict_proba", "predict_log_proba", "decision_function"):
        if hasattr(expected, verb):
            P, near = getattr(expected, verb)(X), back(getattr(found, verb)(there))
            # the temperature is found by a search that stops at this precision
            np.testing.assert_allclose(near, P, atol=1e-5 * np.abs(P).max())


@pytest.mark.parametrize("each", STREAMED + NUMERIC, ids=lambda each: each.name)
@in_both
def test_batches_and_merging_give_the_results_of_numpy(each, dtype):
    X, y = samples(dtype, each in NUMERIC)

    def learned(move):
        stream = each.new()
        for rows in (slice(0, 300), slice(300, 301), slice(301, 600)):
            stream.partial_fit(move(X[rows]), move(y[rows]))
        parts = [each.new().partial_fit(move(X[k::2]), move(y[k::2])) for k in (0, 1)]
        merged = each.new().merge(*parts) if hasattr(stream, "merge") else stream
        return [model.transform(move(X)) for model in (stream, merged)]

    for found, expected in zip(learned(moved), learned(np.asarray), strict=True):
        assert_near(found, expected, dtype, "device")


@pytest.mark.parametrize("method", [SRDA(half_life=100), OC(), PLS(2)], ids=repr)
def test_weights_and_half_lives_count(method):
    X, y = samples(numeric=isinstance(method, PLS))
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    expected = method.fit(X, y, weight).transform(X)
    found = method.fit(moved(X), y, moved(weight)).transform(moved(X))
    assert_near(found, expected, np.float64, "device")


def test_only_sums_reach_numpy(monkeypatch):
    """Of many samples on a device only a thousand are moved, near whose mean the origin is."""
    X, y = samples(n=8_000)
    largest = []
    kind = type(moved(X))
    before = kind.__dlpack__

    def noted(array, **options):
        largest.append(array.size)
        return before(array, **options)

    monkeypatch.setattr(kind, "__dlpack__", noted)
    LDA(mu=0.5, keep=0).fit(moved(X), y).transform(moved(X))
    OCFS(n_features=2).fit(moved(X), y).transform(moved(X))
    assert 0 < max(largest) < X.size / 3


@pytest.mark.parametrize("integers", [np.int64, np.uint8, np.bool_])
def test_integers_are_numbers(integers):
    X, y = samples()
    X = (X > 1) if integers is np.bool_ else X.astype(integers)
    for method in (SRDA(alpha=0.1), OCFS(n_features=2)):
        expected = method.fit(X, y).transform(X)
        assert_near(method.fit(moved(X), y).transform(moved(X)), expected, np.float64, "device")


def test_single_precision_is_added_in_double_precision_where_the_device_has_none(monkeypatch):
    """Blocks are products of float32; 1e5 times as many samples as one keep their digits."""
    X, _ = samples(np.float32, n=50_000)
    monkeypatch.setattr(OnDevice, "widest", property(lambda self: strict.float32))
    found = OnDevice(moved(X)).products(np.ones(len(X)), X.mean(axis=0).astype(np.float64))
    D = X.astype(np.float64) - X.mean(axis=0)
    np.testing.assert_allclose(found, D.T @ D, rtol=0, atol=1e-5 * len(X))
    assert found.dtype == np.float64


def test_without_the_setting_models_have_no_array_of_the_library():
    X, y = samples()
    for method in (SRDA(), KernelSRDA(n_hidden=20), OnlineSRDA(random_state=0)):
        model = method.fit(moved(X), moved(y))
        with sklearn.config_context(array_api_dispatch=False):
            assert type(pickle.loads(pickle.dumps(model)).transform(X)) is np.ndarray
            assert type(model.transform(moved(X, "cpu"))) is np.ndarray
            with pytest.raises(TypeError, match="array_api_dispatch=True"):
                model.fit(moved(X), y)


def test_what_is_wrong_is_an_error_of_the_same_kind():
    X, y = samples()
    for wrong, error, word in (
        (np.where(X == X.max(), np.nan, X), ValueError, "(?i)nan"),
        (np.where(X == X.max(), np.inf, X), ValueError, "(?i)infinity"),
        (X.astype(complex), ValueError, "Complex"),
        (X * 1e160, RangeError, "expected"),
    ):
        for method in (SRDA(), OC()):
            with pytest.raises(error, match=word):
                method.fit(moved(wrong), moved(y))
    with pytest.raises(ValueError, match="9 features"):
        SRDA().fit(X, y).transform(moved(X[:, :5]))


@pytest.mark.slow
def test_tensors_of_torch_come_back_as_tensors():
    torch = pytest.importorskip("torch")
    X, y = samples(np.float32)
    T, t = torch.from_numpy(X), torch.from_numpy(y)
    expected, model = SRDA().fit(X, y), SRDA().fit(T, t)
    Z, P = model.transform(T), model.predict_proba(T)
    assert (type(Z), Z.dtype) == (type(P), torch.float32) == (torch.Tensor, torch.float32)
    np.testing.assert_array_equal(Z.numpy(), expected.transform(X))
    np.testing.assert_array_equal(P.numpy(), expected.predict_proba(X))
    half = T.to(torch.bfloat16)
    assert SRDA().fit(half, t).transform(half).dtype == torch.float32
    with pytest.raises(TypeError, match=r"Pass X\.detach\(\)\.$"):
        model.transform(T.clone().requires_grad_(True))
