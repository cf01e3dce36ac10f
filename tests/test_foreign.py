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


@pytest.mark.parametrize("wrapped", [Exported, Packed, Brain, lambda X: Packed(X, device=3)])
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
    assert OC().fit(half, y).transform(pd.DataFrame(half)).dtype == np.float32


def test_other_things_stay_what_they_are():
    frame = pd.DataFrame(X)
    for each in (X, frame, frame[0], sparse.csr_array(X), X.tolist(), None, 3, np.float64(3), "x"):
        assert as_numpy(each, "X") is each


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("wrapped", [Exported, Packed])
def test_estimators_accept_arrays_of_other_libraries(method, wrapped):
    expected = method.fit(X, y).transform(X)
    found = method.fit(wrapped(X), wrapped(y)).transform(wrapped(X))
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    if hasattr(method, "predict"):
        np.testing.assert_array_equal(method.predict(wrapped(X)), method.predict(X))
    if hasattr(method, "partial_fit"):
        expected = method.fit(X[:30], y[:30]).partial_fit(X[30:], y[30:]).transform(X)
        method.fit(X[:30], y[:30]).partial_fit(wrapped(X[30:]), wrapped(y[30:]))
        np.testing.assert_array_equal(method.transform(X), expected)


def test_weights_indicators_states_and_rotations_accept_them():
    w, Y = np.linspace(1, 2, 60), np.eye(3)[y]
    expected = OC().fit(X, Y, sample_weight=w)
    found = OC().fit(Packed(X), Packed(Y), sample_weight=Packed(w))
    np.testing.assert_array_equal(found.components_, expected.components_)
    rotated = align(found, expected)
    np.testing.assert_array_equal(rotated.transform(Packed(X)), rotated.transform(X))
    np.testing.assert_array_equal(Moments.of(Packed(X), Packed(y)).sums, Moments.of(X, y).sums)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: SRDA().fit(Detachable(X), y), r"X\.detach\(\)"),
        (lambda: OC().fit(X, Detachable(y)), r"y\.detach\(\)"),
        (lambda: OCFS().fit(Elsewhere(X, device=2), y), r"X\.cpu\(\)"),
        (lambda: OCFS().fit(X, Elsewhere(y, device=2)), r"y\.cpu\(\)"),
        (lambda: OCFS().fit(X, y).transform(Packed(X, device=8)), "Pass a copy"),
        (lambda: SRDA().fit(Unreadable(X), y), "sparse layouts"),
    ],
)
def test_arrays_that_cannot_be_read_say_what_to_pass(call, word):
    with pytest.raises(TypeError, match=word):
        call()


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_estimators_accept_tensors(method):
    torch = pytest.importorskip("torch")
    expected = method.fit(X, y).transform(X)
    T, t = torch.from_numpy(X), torch.from_numpy(y)
    found = method.fit(T, t).transform(T)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)
    for kind, name in ((torch.float16, "f4"), (torch.bfloat16, "f4"), (torch.float64, "f8")):
        assert method.fit(T.to(kind), t).transform(T.to(kind)).dtype == name
    for tensor in (T.clone().requires_grad_(True), T.to_sparse_coo(), T.to("meta")):
        with pytest.raises(TypeError, match="Tensor"):
            method.fit(tensor, y)
