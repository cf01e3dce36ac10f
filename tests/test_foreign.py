"""Arrays of other libraries are samples, labels and weights, as those of NumPy are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from narrows import (
    IDRQR,
    IOC,
    LDA,
    OC,
    OCFS,
    SRDA,
    KernelSRDA,
    Moments,
    OnlineSRDA,
    Window,
    align,
)
from tests.solvers import as_numpy, samples_as_numpy

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3
METHODS = [
    OCFS(n_features=2), OC(), IOC(), IDRQR(), LDA(), SRDA(), OnlineSRDA(random_state=0),
    KernelSRDA(n_hidden=10), Window(OC(), 40),
]  # fmt: skip


class Exported:
    """An array that NumPy reads by `__array__`, and whose type looks like that of a tensor."""

    requires_grad = False

    def __init__(self, array):
        self.array, self.shape, self.ndim = array, array.shape, array.ndim
        self.dtype = f"other.{array.dtype}"

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)

    def __len__(self):
        return len(self.array)


class Packed:
    """An array with `__dlpack__` alone."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (self.device, 0)


class Detachable(Exported):
    requires_grad = True


class Elsewhere(Packed):
    def cpu(self):
        return self.array


class Unreadable(Exported):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("sparse layouts have no numbers in a row")


class Brain(Exported):
    """As a tensor of bfloat16, which NumPy does not have."""

    def __init__(self, array):
        super().__init__(array)
        self.dtype = "other.bfloat16"

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")

    def float(self):
        return Exported(self.array)


@pytest.mark.parametrize("wrapped", [Exported, Packed, Brain])
def test_an_array_is_that_of_numpy_and_is_not_copied(wrapped):
    found = as_numpy(wrapped(X), "X")
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert np.shares_memory(found, X)


def test_float16_becomes_float32():
    half = X.astype(np.float16)
    for each in (half, Exported(half), Packed(half)):
        found = samples_as_numpy(each)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, half)


def test_other_things_stay_what_they_are():
    frame = pd.DataFrame(X)
    for each in (X, frame, frame[0], sparse.csr_array(X), X.tolist(), None, 3, np.float64(3), "x"):
        assert as_numpy(each, "X") is each


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("wrapped", [Exported, Packed])
def test_estimators_accept_arrays_of_other_libraries(method, wrapped):
    named = type(method).__name__
    expected = method.fit(X, y).transform(X)
    assert expected.dtype == np.float32
    found = method.fit(wrapped(X), wrapped(y)).transform(wrapped(X))
    assert found.dtype == np.float32, named
    np.testing.assert_array_equal(found, expected)
    if hasattr(method, "predict"):
        np.testing.assert_array_equal(method.predict(wrapped(X)), method.predict(X))
    if hasattr(method, "partial_fit"):
        known = method.fit(X[:30], y[:30]).partial_fit(X[30:], y[30:]).transform(X)
        method.fit(X[:30], y[:30]).partial_fit(wrapped(X[30:]), wrapped(y[30:]))
        np.testing.assert_array_equal(method.transform(wrapped(X)), known)


def test_weights_indicators_states_and_rotations_accept_them():
    w, Y = np.linspace(1, 2, 60), np.eye(3)[y]
    expected = OC().fit(X, Y, sample_weight=w)
    found = OC().fit(Packed(X), Packed(Y), sample_weight=Packed(w))
    np.testing.assert_array_equal(found.components_, expected.components_)
    rotated = align(found, expected)
    np.testing.assert_array_equal(rotated.transform(Packed(X)), rotated.transform(X))
    np.testing.assert_array_equal(Moments.of(Packed(X), Packed(y)).sums, Moments.of(X, y).sums)


def test_float16_is_learned_as_float32():
    half = X.astype(np.float16)
    assert OC().fit(half, y).transform(pd.DataFrame(half)).dtype == np.float32
    assert SRDA().fit(half, y).transform(half).dtype == np.float32


def test_a_tensor_with_gradients_says_detach():
    with pytest.raises(TypeError, match=r"^expected X without gradients, got Detachable w"):
        SRDA().fit(Detachable(X), y)
    with pytest.raises(TypeError, match=r"^expected y .+ Pass y\.detach\(\)\.$"):
        OC().fit(X, Detachable(y))


def test_an_array_on_another_device_says_cpu():
    expected = r"^expected X in the memory of the CPU, got Elsewhere on 2\. Pass X\.cpu\(\), or "
    with pytest.raises(TypeError, match=expected):
        OCFS().fit(Elsewhere(X, device=2), y)
    with pytest.raises(TypeError, match=r"^.+ Pass y\.cpu\(\), or "):
        OCFS().fit(X, Elsewhere(y, device=2))
    with pytest.raises(TypeError, match=r"Pass a copy of it, or "):
        OCFS().fit(X, y).transform(Packed(X, device=8))
    assert as_numpy(Packed(X, device=3), "X") is not None


def test_an_array_that_numpy_cannot_read_says_why():
    with pytest.raises(TypeError, match=r"^expected X to be an .+ got Unreadable: sparse l"):
        SRDA().fit(Unreadable(X), y)


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_estimators_accept_tensors(method):
    torch = pytest.importorskip("torch")
    expected = method.fit(X, y).transform(X)
    T, t = torch.from_numpy(X), torch.from_numpy(y)
    found = method.fit(T, t).transform(T)
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    if hasattr(method, "predict"):
        assert method.score(T, t) == method.score(X, y)
    for kind in (torch.float16, torch.bfloat16):
        assert method.fit(T.to(kind), t).transform(T.to(kind)).dtype == np.float32
    assert method.fit(T.double(), t).transform(T.double()).dtype == np.float64


@pytest.mark.nightly
def test_tensors_that_numpy_cannot_read_are_errors():
    torch = pytest.importorskip("torch")
    T = torch.from_numpy(X)
    assert np.shares_memory(as_numpy(T, "X"), X)
    with pytest.raises(TypeError, match=r"^.+ got Tensor .+ Pass X\.detach\(\)\.$"):
        SRDA().fit(T.clone().requires_grad_(True), y)
    with pytest.raises(TypeError, match=r"^.+ Tensor: .+to_dense"):
        SRDA().fit(T.to_sparse_coo(), y)
    with pytest.raises(TypeError, match=r"^expected X .+ got Tensor"):
        SRDA().fit(T.to("meta"), y)
