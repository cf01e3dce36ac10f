"""Files of single cells: what is stored is read, in chunks, and what is damaged is named."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from narrows import OCFS, load
from narrows.errors import DataError
from narrows.read import iter_chunks
from tests.conftest import slow
from tests.inside import pretend
from tests.test_read import gathered

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")

N, D = 53, 7
KINDS = np.array(["B cell", "T cell", "\u00fcber"], dtype=object)
CODE = np.arange(N) % 3


def values(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (N, D)) * rng.gamma(2.0, 1.0, (N, D))
    X[[0, 9, N - 1]] = 0
    X[:, 4] = 0
    return X.astype(dtype)


def objects(values):
    """An index that every version of anndata writes: pandas 3 has a type of its own for text."""
    return pd.Index(list(values), dtype=object)


def categorical(code=CODE):
    return pd.Categorical.from_codes(code, categories=objects(KINDS))


def save(path, X, obs=None, names=None, **options):
    obs = {"cell_type": categorical()} if obs is None else obs
    index = objects(f"cell{i}" for i in range(X.shape[0]))
    names = [f"gene{k}" for k in range(X.shape[1])] if names is None else names
    with warnings.catch_warnings():  # of names that are not unique
        warnings.simplefilter("ignore")
        cells = anndata.AnnData(X, pd.DataFrame(obs, index), pd.DataFrame(index=objects(names)))
        cells.write_h5ad(path, **options)
    return path


FORMS = {"dense": np.asarray, "csr": sparse.csr_matrix, "csc": sparse.csc_matrix}


@pytest.mark.parametrize("dtype", [np.float64, slow(np.float32), slow(np.int64)])
@pytest.mark.parametrize("form", FORMS)
def test_all_rows_are_read_in_any_chunks(tmp_path, monkeypatch, form, dtype):
    X = values(dtype)
    path = save(tmp_path / "a.h5ad", FORMS[form](X), compression="gzip")
    for chunk_rows in (1, 10, 1000):
        if chunk_rows > 1:
            pretend(monkeypatch, "few cells at a time")
        found, y = gathered(path, label="cell_type", chunk_rows=chunk_rows)
        assert sparse.issparse(next(iter_chunks(path))[0]) == (form != "dense")
        assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(found, X)
        assert y.tolist() == KINDS[CODE].tolist()
    assert gathered(path)[1] is None  # without the name of a column of labels


LABELS = {
    "categories": (categorical(), KINDS[CODE]),
    "small integers": (CODE.astype(np.uint8), CODE),
    "whole numbers": (CODE.astype(float), CODE),
    "truth values": (CODE > 0, CODE > 0),
    "categories that are integers": (pd.Categorical(CODE * 10), CODE * 10),
    "integers that may be missing": (pd.array(CODE, dtype="Int64"), CODE),
    "truth values that may be missing": (pd.array(CODE > 0, dtype="boolean"), CODE > 0),
    "text": (KINDS[CODE], KINDS[CODE]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(tmp_path, kind):
    column, expected = LABELS[kind]
    path = save(tmp_path / "a.h5ad", values(), {"kind": CODE if kind == "text" else column})
    if kind == "text":  # which anndata writes as categories
        with h5py.File(path, "r+") as file:
            del file["obs/kind"]
            anndata.io.write_elem(file["obs"], "kind", column)
    _, y = gathered(path, label="kind", chunk_rows=20)
    assert y.tolist() == expected.tolist()
    assert y.dtype.kind in "biufU"


MISSING = {
    "categories": categorical(np.where(np.arange(N) % 10 == 4, -1, CODE)),
    "numbers": np.where(np.arange(N) % 10 == 4, np.nan, CODE),
    "integers": pd.array([None if i % 10 == 4 else 1 for i in range(N)], dtype="Int64"),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels_are_errors_only_where_labels_are_required(tmp_path, run, kind):
    save(tmp_path / "a.h5ad", values(), {"kind": MISSING[kind]})
    with pytest.warns(UserWarning, match=r"a\.h5ad:5: .* 5 of 53 cells"):
        X, y = gathered(tmp_path / "a.h5ad", label="kind")
    assert (X.shape, y) == ((N, D), None)
    status, _, err = run("compare a.h5ad --label kind --methods oc --json")
    assert (status, "a.h5ad:5: column 'kind'" in err) == (1, True)


@pytest.mark.slow
def test_a_model_learns_reduces_and_continues_by_names_of_genes(tmp_path, run):
    X = values()
    save(tmp_path / "a.h5ad", sparse.csr_matrix(X))
    assert run("fit a.h5ad --label cell_type --method ocfs --n-features 3 -o m.narrows")[0] == 0
    model = load(tmp_path / "m.narrows")
    direct = OCFS(n_features=3).fit(sparse.csr_array(X), KINDS[CODE].astype(str))
    np.testing.assert_allclose(model.scores_, direct.scores_, rtol=1e-12)
    chosen = direct.get_support(indices=True)
    assert model.get_feature_names_out().tolist() == [f"gene{k}" for k in chosen]
    order = np.random.default_rng(1).permutation(D)  # the same genes, in another order
    names = [f"gene{k}" for k in order]
    for form in FORMS.values():
        save(tmp_path / "b.h5ad", form(X[:, order]), names=names)
        assert run("transform m.narrows b.h5ad -o r.csv --chunk-rows 20")[0] == 0
        reduced = pd.read_csv(tmp_path / "r.csv")
        np.testing.assert_allclose(reduced.to_numpy()[:, :-1].astype(float), X[:, chosen])
        assert reduced["label"].tolist() == KINDS[CODE].tolist()
    assert run("update m.narrows b.h5ad -o m2.narrows")[0] == 0
    np.testing.assert_allclose(load(tmp_path / "m2.narrows").class_count_, 2 * direct.class_count_)
    save(tmp_path / "c.h5ad", X[:, 1:], names=[f"gene{k}" for k in range(1, D)])
    status, _, err = run("transform m.narrows c.h5ad -o r.npz")
    assert (status, "all but 'gene0'" in err) == (1, True)


def test_a_file_that_the_library_does_not_finish_is_an_error(tmp_path, monkeypatch):
    save(tmp_path / "a.h5ad", values())
    pretend(monkeypatch, "no time for HDF5")
    with pytest.raises(DataError, match="the HDF5 library does not come to an end"):
        gathered(tmp_path / "a.h5ad", label="cell_type")


def put(group, name, values):
    del group[name]
    group[name] = values


def of_X(name, value):
    return lambda f: f["X"].attrs.__setitem__(name, value)


def at(array, index, value):
    return lambda f: f[array].__setitem__(index, value)


def records(f):
    """Before 0.7, `obs` was an array of records."""
    put(f, "obs", np.array([(b"c", i % 3) for i in range(N)], [("index", "S9"), ("k", "i1")]))


FORGED = {  # and what the error says, behind the name of the file
    "no X": (lambda f: f.pop("X"), "a matrix X"),
    "X of one dimension": (lambda f: put(f, "X", np.zeros(5)), "X of shape"),
    "X of text": (lambda f: put(f, "X", [[b"a"]]), "numbers"),
    "another encoding": (of_X("encoding-type", "coo"), "got coo"),
    "no shape": (lambda f: f["X"].attrs.pop("shape"), "damaged one"),
    "a shape too tall": (of_X("shape", (99, D)), "of shape"),
    "a shape too wide": (of_X("shape", (N, 8)), "8 names in var"),
    "an index too large": (at("X/indices", 3, D), "from 0 to 6 in X, got 7"),
    "an index below 0": (at("X/indices", 3, -1), "from 0 to 6 in X, got -1"),
    "indices of floats": (lambda f: put(f["X"], "indices", f["X/indices"][:] / 2), "integers"),
    "ends that decrease": (at("X/indptr", 4, 0), "from 0 to 7 entries in a row"),
    "ends too large": (at("X/indptr", slice(5, None), 10**6), "in row 5"),
    "fewer entries": (lambda f: put(f["X"], "data", np.ones(3)), "data, indices and indptr"),
    "ends after all entries": (
        lambda f: [put(f["X"], part, f[f"X/{part}"][:-2]) for part in ("data", "indices")],
        "entries up to number",
    ),
    "no var": (lambda f: f.pop("var"), "damaged one"),
    "no obs": (lambda f: f.pop("obs"), "damaged one"),
    "fewer cells in obs": (
        lambda f: put(f["obs/cell_type"], "codes", CODE[:9].astype("i1")), "53 labels, got 9",
    ),
    "labels out of range": (at("obs/cell_type/codes", 0, 9), "damaged one"),
    "NaN": (at("X/data", 0, np.nan), ":2: .*finite"),
    "a very old version": (records, r"anndata 0\.7 or later"),
    "a name twice": (at("var/_index", 2, "gene1"), "different var_names, got 'gene1' twice"),
    "an index of a column": (at("X/indices", 3, N), "from 0 to 52 in X"),
    "ends of a column": (at("X/indptr", 4, 0), "from 0 to 53 entries in a column"),
}  # fmt: skip


@pytest.mark.slow  # each is opened in a process of its own
@pytest.mark.filterwarnings("ignore:Element")
@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_file_is_an_error_that_names_it(tmp_path, kind):
    forge, message = FORGED[kind]
    path = save(tmp_path / "a.h5ad", FORMS["csc" if "column" in kind else "csr"](values()))
    with h5py.File(path, "r+") as file:
        forge(file)
    with pytest.raises(DataError, match=rf"a\.h5ad.*{message}") as caught:
        gathered(path, label="cell_type")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_another_file_or_a_part_of_one_is_an_error(tmp_path):
    whole = save(tmp_path / "a.h5ad", sparse.csr_matrix(values())).read_bytes()
    crashing = Path(__file__).with_name("crashing.h5ad.gz").read_bytes()  # ends what reads it
    parts = [whole[:size] for size in (9, 800, len(whole) // 2, len(whole) - 1)]
    for content in (*parts, b"", b"\x89HDF\r\n\x1a\n" + bytes(100), gzip.decompress(crashing)):
        (tmp_path / "b.h5ad").write_bytes(content)
        with pytest.raises(DataError, match=r"b\.h5ad: expected an \.h5ad file, got"):
            gathered(tmp_path / "b.h5ad", label="cell_type")


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    save(tmp_path / "a.h5ad", values())
    monkeypatch.setitem(__import__("sys").modules, "anndata.io", None)
    with pytest.raises(ImportError, match=r"expected the package anndata.*narrows\["):
        gathered(tmp_path / "a.h5ad")
