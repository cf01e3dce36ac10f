"""Arrays that are given may be read only or of other libraries; those that are read are safe."""

import copy
import inspect

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import (
    IDRQR,
    IOC,
    OC,
    OCFS,
    PLS,
    SRDA,
    Moments,
    OnlineSRDA,
    align,
)
from narrows.table import TableEncoder
from narrows.text import Tfidf
from tests.cases import ALL, NUMERIC, answer, labelled
from tests.solvers import as_numpy, samples_as_numpy

pytestmark = pytest.mark.filterwarnings("ignore:.*(gain margin|positive score|gains margin)")
by_name = {"ids": lambda case: case.name}
rng = np.random.default_rng(0)
F32, CODES = rng.normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3


@pytest.fixture
def mapped(tmp_path):
    """Return a function that maps all arrays of a value from a file, as joblib's workers do."""

    def load(value, mode="r"):
        path = tmp_path / "value"
        joblib.dump(value, path)
        found = joblib.load(path, mmap_mode=mode)
        if mode == "r":
            path.unlink()
        return found

    return load


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


class Brain(Exported):
    """As a tensor of bfloat16, which NumPy does not have."""

    dtype = property(lambda self: "other.bfloat16", lambda self, value: None)

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")

    def float(self):
        return Exported(self.array)


class Unreadable(Exported):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("sparse layouts have no numbers in a row")


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def assert_reduces(a, b, X):
    np.testing.assert_allclose(dense(a.transform(X)), dense(b.transform(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["memory map", "exported", "packed"])
@pytest.mark.parametrize("case", ALL + NUMERIC, **by_name)
def test_samples_labels_and_models_may_be_arrays_of_every_kind(case, kind, mapped):
    wrap = {"memory map": mapped, "exported": Exported, "packed": Packed}[kind]
    X, y = case.labelled()
    y = np.unique(y, return_inverse=True)[1]
    y = np.column_stack([X[:, 0] + X[:, 2], X[:, 1]]) if case in NUMERIC else y
    for form in case.forms if kind == "memory map" else (np.asarray,):
        Z = form(X)
        model = case.new().fit(Z, y)
        assert_reduces(case.new().fit(wrap(Z), wrap(y)), model, X)
        there = mapped(model)
        assert_reduces(there, model, X)
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(there.predict(wrap(Z)), model.predict(Z))
        if hasattr(model, "merge"):
            merged = mapped(model).merge(mapped(model))
            assert_reduces(merged, copy.deepcopy(model).merge(model), X)
        if hasattr(model, "partial_fit"):
            there = mapped(model).partial_fit(wrap(Z), wrap(y)).partial_fit(Z[:5], y[:5])
            assert_reduces(there, model.partial_fit(Z, y).partial_fit(Z[:5], y[:5]), X)


def test_an_update_leaves_the_file_of_a_mapped_model_and_fails_as_elsewhere(mapped, tmp_path):
    X, y = labelled()
    for method in (OC(), OnlineSRDA(random_state=0), IOC(), IDRQR()):
        model = method.fit(X, y)
        there = mapped(model, "r+")
        before = (tmp_path / "value").read_bytes()
        size = np.ones((len(X), 1))
        size[-1] = np.nan if isinstance(method, OC) else 1e200  # the others learn those before it
        with pytest.raises(ValueError):
            there.partial_fit(X * size, y)
        assert_reduces(there, model, X)
        there.partial_fit(sparse.csr_array(X), y)
        assert (tmp_path / "value").read_bytes() == before


@pytest.mark.parametrize("wrapped", [Exported, Packed, Brain, lambda X: Packed(X, device=3)])
def test_an_array_is_that_of_numpy_and_is_not_copied(wrapped):
    found = as_numpy(wrapped(F32), "X")
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert np.shares_memory(found, F32)


def test_float16_becomes_float32_and_other_things_stay():
    half, frame = F32.astype(np.float16), pd.DataFrame(F32)
    for each in (half, Exported(half), Packed(half)):
        found = samples_as_numpy(each)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, half)
    assert OC().fit(half, CODES).transform(pd.DataFrame(half)).dtype == np.float32
    for each in (F32, frame, frame[0], sparse.csr_array(F32), F32.tolist(), None, np.float64(3)):
        assert as_numpy(each, "X") is each


def test_weights_indicators_states_and_rotations_accept_them():
    w, Y = np.linspace(1, 2, 60), np.eye(3)[CODES]
    expected = OC().fit(F32, Y, sample_weight=w)
    found = OC().fit(Packed(F32), Packed(Y), sample_weight=Packed(w))
    np.testing.assert_array_equal(found.components_, expected.components_)
    rotated = align(found, expected)
    np.testing.assert_array_equal(rotated.transform(Packed(F32)), rotated.transform(F32))


def test_arrays_that_cannot_be_read_say_what_to_pass():
    for word, call, *given in (
        (r"X\.detach\(\)", SRDA().fit, Detachable(F32), CODES),
        (r"y\.detach\(\)", OC().fit, F32, Detachable(CODES)),
        (r"X\.cpu\(\)", OCFS().fit, Elsewhere(F32, device=2), CODES),
        (r"y\.cpu\(\)", OCFS().fit, F32, Elsewhere(CODES, device=2)),
        ("Pass a copy", OCFS().fit(F32, CODES).transform, Packed(F32, device=8)),
        ("sparse layouts", SRDA().fit, Unreadable(F32), CODES),
    ):
        with pytest.raises(TypeError, match=word):
            call(*given)


METHODS = [OC(), OCFS(), SRDA(alpha=1.0), OnlineSRDA(), IOC(), IDRQR(), PLS()]


@pytest.mark.parametrize("method", METHODS, ids=[str(k) for k in range(len(METHODS))])
def test_masked_arrays_are_refused(method):
    X, y = labelled()
    y = X[:, 0] if isinstance(method, PLS) else y
    A, b, w = (np.ma.array(each, mask=each == each[:1]) for each in (X, y, X[:, 0] ** 2))
    model = method.fit(X, y)
    calls = [(method.fit, A, y), (method.fit, X, b), (model.partial_fit, A, y),
             (model.partial_fit, X, b), (model.transform, A)]  # fmt: skip
    calls += [(model.predict, A), (model.score, X, b)] if hasattr(model, "predict") else []
    calls += [(method.fit, X, y, w)] if hasattr(model, "merge") else []
    for call, *given in calls:
        with pytest.raises(ValueError, match="mask"):
            call(*given)


def test_masked_priors_texts_and_columns_are_refused():
    X, y = labelled()
    cells = np.ma.array(X[:, 0], mask=X[:, 0] > 0)
    for call, *given in (
        (OC(priors=np.ma.array([0.2, 0.3, 0.5], mask=[0, 1, 0])).fit, X, y),
        (Moments.of, np.ma.array(X), y),
        (TableEncoder().fit, {"a": cells}),
        (TableEncoder().fit({"a": X[:, 0]}).transform, {"a": cells}),
        (Tfidf().fit, np.ma.array(["a", "b"], mask=[False, True])),
    ):
        with pytest.raises(ValueError, match=r"mask|missing"):
            call(*given)


def test_indices_of_sparse_samples_may_be_of_two_types():
    X, y = labelled(sparse=True)
    given = sparse.csr_array(X)
    given.indices = given.indices.astype(np.int64)
    for method in (OC(), OCFS(), OnlineSRDA(random_state=0)):
        assert_reduces(method.fit(given, y), clone(method).fit(sparse.csr_array(X), y), X)
    assert given.indices.dtype != given.indptr.dtype  # they are the caller's


OF_MOMENTS = ("classes", "counts", "sums", "means", "mean", "total", "squares")


def read_off(learner):
    """All arrays that are read off an estimator, and off its moments where they add up."""
    names = [name for name, _ in inspect.getmembers(type(learner)) if name.endswith("_")]
    assert {"classes_", "class_count_"} <= set(names)
    found = [getattr(learner, name, None) for name in names if not name.startswith("_")]
    moments = getattr(learner, "moments_", None)
    moments = getattr(moments, "stats", moments)  # of coordinates, behind a map
    if isinstance(moments, Moments):
        priors = moments.priors()
        found += [getattr(moments, name) for name in OF_MOMENTS]
        found += [moments.centre(priors), moments.rounding(priors)]
    return [array for array in [*found, *answer(learner).values()] if isinstance(array, np.ndarray)]


@pytest.mark.parametrize("case", ALL, **by_name)
def test_what_is_read_off_an_estimator_does_not_change_it(case):
    X, y = case.labelled()
    learner = case.new().fit(case.form(X), y)
    before = [array.copy() for array in read_off(learner)]
    for array in read_off(learner):
        if array.flags.writeable and array.ndim:
            array[...] = array[::-1].copy()  # its own
    for was, now in zip(before, read_off(learner), strict=True):
        np.testing.assert_array_equal(now, was)
