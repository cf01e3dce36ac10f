"""What every engine shares, on the least of engines: one that runs everything in this process."""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import narrows
from narrows import IG, MMC, OC, PCA, SRDA, Moments, OnlineSRDA
from narrows.engines import ENGINES, local
from narrows.errors import DataError, ParameterError, WidthError
from tests.cases import ADDITIVE, NUMERIC, assert_same, labelled
from tests.inside import fit_in_parts, transform_in_parts

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin|.*has a positive score")
CUTS = [0, 9, 9, 10, 31, 60]  # uneven, empty, and of one sample


def parts_of(X, y, cuts=CUTS):
    return [(X[i:j], y[i:j]) for i, j in pairwise(cuts)]


DENSE_5, DENSE_3, SPARSE_5, SPARSE_3 = (
    (form(labelled()[0][:, :width]), labelled()[1])
    for form in (np.asarray, sparse.csr_array)
    for width in (5, 3)
)
WIDTHS = [
    ("ok", SPARSE_3, SPARSE_5),
    ("ok", SPARSE_5, SPARSE_3),
    ("ok", DENSE_5, DENSE_5, SPARSE_3, DENSE_5),  # the last two alone would not fit
    ("partition 1: expected 5 features as in partition 0, got 3", DENSE_5, DENSE_3),
    ("partition 1: expected 3 features as in partition 0, got 5", SPARSE_3, DENSE_5),
    ("partition 2: expected 5 features as in partition 1, got 3", SPARSE_3, SPARSE_5, DENSE_3),
]


@pytest.mark.parametrize("library", ENGINES)
def test_a_collection_in_a_batch_is_refused_with_the_module_of_its_engine(library):
    pytest.importorskip("distributed")
    kind = type("Frame", (), {"__module__": f"{library}.frame", "columns": ["a"]})
    with pytest.raises(TypeError, match=rf"got a {library} collection.*{ENGINES[library]}\.fit\."):
        OC().partial_fit(kind(), [0, 1])
    with pytest.raises(TypeError, match=rf"got a {library} collection"):
        SRDA().fit(*labelled()).predict(kind())


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="pyspark is there")
def test_spark_is_asked_for_with_its_extra(run):
    status, _, err = run(
        "fit a.svm --method oc -o m.narrows --engine spark", a__svm="1 1:2\n2 1:3\n"
    )
    assert (status, "pip install 'narrows[spark]'" in err) == (2, True)


@pytest.mark.parametrize("case", [*ADDITIVE, *NUMERIC], ids=lambda case: case.name)
def test_an_engine_is_map_and_reduce(case, tmp_path):
    X, y = case.labelled()
    y = X[:, :2] + np.random.default_rng(0).normal(size=(60, 2)) if case in NUMERIC else y
    parts = parts_of(X, y)
    fitted, expected = fit_in_parts(case.new(), parts, width=X.shape[1]), case.new().fit(X, y)
    np.testing.assert_allclose(fitted.transform(X), expected.transform(X), atol=1e-9)
    if case not in NUMERIC:
        assert_same(fitted, expected)
        written = transform_in_parts(fitted, parts, tmp_path)
        got = [z for path in written for z, _ in narrows.read.iter_chunks(path, label="label")]
        np.testing.assert_allclose(np.vstack(got), fitted.transform(X), atol=1e-12)


@pytest.mark.parametrize("method", [OC, IG, OnlineSRDA, SRDA], ids=lambda method: method.__name__)
@pytest.mark.filterwarnings("ignore:.*merged approximately")
def test_dense_parts_are_not_widened(method):
    for message, *given in WIDTHS:
        if message == "ok":
            assert fit_in_parts(method(), given).n_features_in_ == 5
            if method is OC:
                assert local.fit(method(), given).n_features_in_ == 5
            continue
        with pytest.raises(ValueError, match=r"expected dense samples of \d features as before"):
            local.fit(method(), given)
        with pytest.raises(DataError, match=message):
            fit_in_parts(method(), given)


@pytest.mark.parametrize("rows", [slice(1), [0, 0, 0]])
def test_equal_samples_keep_their_weight_on_their_way(rows):
    """Their products about the origin are all zero."""
    X, y = labelled()
    parts = [Moments.of(X[k], y[k], second="cross") for k in (rows, slice(1, None))]
    received = [pickle.loads(pickle.dumps(state)) for state in parts]
    expected = (parts[0] + parts[1]).covariance()
    for a, b in (received, received[::-1], (received[0], parts[1])):
        np.testing.assert_allclose((a + b).covariance(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_fit_starts_over_where_later_chunks_are_too_wide_for_sums():
    X, y = labelled(n=60, d=9000, sparse=True)
    X[:30, 4000:] = 0
    X = sparse.csr_array(X)
    chunks, again = [(X[:30, :4000], y[:30]), (X[30:], y[30:])], []
    fitted = local.fit(PCA(2), chunks, again=again.append)
    assert_same(fitted, PCA(2).fit(X, y))
    assert again == [9000]
    for fit in (local.fit, fit_in_parts):
        with pytest.raises(WidthError, match="OnlineSRDA"):
            fit(MMC(), chunks)
    start = *local.learn(SRDA(), chunks[:1]), 0
    for call in (
        lambda: local.fit(SRDA(solver="cross"), chunks),
        lambda: local.fit(SRDA(), chunks[1:], start),
        lambda: local.update(SRDA().fit(X[:, :4000], y), chunks[1:]),
    ):
        with pytest.raises(ParameterError, match="expected at most 8,192 features"):
            call()
