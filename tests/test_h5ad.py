"""Files of single cells: what is stored is read, in chunks, and what is damaged is named."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy import sparse

from narrows import OC, load
from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks
from tests.conftest import EVERYTHING, slow
from tests.inside import pretend
from tests.test_checkpoint import bytes_of, stop_after

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


def gathered(path, **options):
    X, y = zip(*iter_chunks(path, **options), strict=True)
    rows = sparse.vstack(X) if sparse.issparse(X[0]) else np.concatenate(X)
    return rows, None if y[0] is None else np.concatenate(y)


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
        assert sparse.issparse(found) == (form != "dense")
        assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(found.toarray() if form != "dense" else found, X)
        assert y.tolist() == KINDS[CODE].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_stopped_fit_is_resumed(run, tmp_path, monkeypatch, form):
    save(tmp_path / "a.h5ad", FORMS[form](values()))
    fit = "fit a.h5ad --label cell_type --method oc --chunk-rows 11"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    for chunks in (0, 2):
        with monkeypatch.context() as patch:
            stop_after(patch, chunks)
            assert run(f"{fit} -o m.narrows --checkpoint c.narrows")[0] == 130
        status, _, err = run(f"{fit} -o m.narrows --checkpoint c.narrows --resume")
        assert (status, f"resuming after {11 * (chunks + 1)} rows" in err) == (0, True), err
        assert bytes_of("m.narrows") == bytes_of("whole.narrows")


LABELS = {
    "categories": (categorical(), KINDS[CODE]),
    "integers": (CODE - 1, CODE - 1),
    "small integers": (CODE.astype(np.uint8), CODE),
    "whole numbers": (CODE.astype(float), CODE),
    "truth values": (CODE > 0, CODE > 0),
    "categories that are integers": (pd.Categorical(CODE * 10), CODE * 10),
    "integers that may be missing": (pd.array(CODE, dtype="Int64"), CODE),
    "truth values that may be missing": (pd.array(CODE > 0, dtype="boolean"), CODE > 0),
}


@pytest.mark.slow
def test_labels_that_are_stored_as_text(tmp_path):
    save(tmp_path / "a.h5ad", values(), {"kind": CODE})
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        del file["obs/kind"]
        anndata.io.write_elem(file["obs"], "kind", KINDS[CODE])
    assert gathered(tmp_path / "a.h5ad", label="kind")[1].tolist() == KINDS[CODE].tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(tmp_path, kind):
    column, expected = LABELS[kind]
    save(tmp_path / "a.h5ad", values(), {"kind": column})
    _, y = gathered(tmp_path / "a.h5ad", label="kind", chunk_rows=20)
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
    message = r"a\.h5ad:5: column 'kind' of obs: expected a label, got none, as in 5 of 53 cells"
    with pytest.warns(UserWarning, match=message):
        X, y = gathered(tmp_path / "a.h5ad", label="kind")
    assert (X.shape, y) == ((N, D), None)
    status, _, err = run("compare a.h5ad --label kind --methods oc --json")
    assert status == 1
    assert "a.h5ad:5: column 'kind' of obs: expected a label, got none. Leave out" in err


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.arange(N) / 2, r"a\.h5ad:2: expected an integer label .*, got 0\.5"),
        (np.full(N, 1e30), r"a\.h5ad:1: expected an integer label under 2\^63, got 1e\+30"),
    ],
)
def test_labels_that_are_none(tmp_path, column, message):
    save(tmp_path / "a.h5ad", values(), {"kind": column})
    with pytest.raises(DataError, match=message):
        gathered(tmp_path / "a.h5ad", label="kind")


@pytest.mark.slow
def test_the_column_of_labels_is_found_by_its_name(tmp_path):
    save(tmp_path / "a.h5ad", values(), {"class": categorical(), "n_genes": CODE})
    assert set(gathered(tmp_path / "a.h5ad")[1]) == set(KINDS)
    save(tmp_path / "b.h5ad", values(), {"kind": categorical()})
    assert gathered(tmp_path / "b.h5ad")[1] is None
    with pytest.raises(ParameterError, match=r"expected no text, which \.h5ad does not support"):
        gathered(tmp_path / "a.h5ad", text="class")


@pytest.mark.slow
def test_a_model_learns_reduces_and_continues_by_names_of_genes(tmp_path, run):
    X = values()
    save(tmp_path / "a.h5ad", sparse.csr_matrix(X))
    fit = "fit a.h5ad --label cell_type --method ocfs --n-features 3 -o m.narrows --json"
    status, _, err = run(fit)
    assert (status, err) == (0, "")
    model = load(tmp_path / "m.narrows")
    direct = type(model)(n_features=3).fit(sparse.csr_array(X), KINDS[CODE].astype(str))
    np.testing.assert_allclose(model.scores_, direct.scores_, rtol=1e-12)
    chosen = direct.get_support(indices=True)
    assert model.get_feature_names_out().tolist() == [f"gene{k}" for k in chosen]

    order = np.random.default_rng(1).permutation(D)  # the same genes, in another order
    names = [f"gene{k}" for k in order]
    for form in ("csr", "csc", "dense"):
        save(tmp_path / "b.h5ad", FORMS[form](X[:, order]), names=names)
        assert run("transform m.narrows b.h5ad -o r.csv --chunk-rows 20")[0] == 0
        reduced = pd.read_csv(tmp_path / "r.csv")
        np.testing.assert_allclose(reduced.to_numpy()[:, :-1].astype(float), X[:, chosen])
        assert reduced["label"].tolist() == KINDS[CODE].tolist()
    assert run("update m.narrows b.h5ad -o m2.narrows --json")[0] == 0
    np.testing.assert_allclose(load(tmp_path / "m2.narrows").class_count_, 2 * direct.class_count_)

    save(tmp_path / "c.h5ad", X[:, 1:], names=[f"gene{k}" for k in range(1, D)])
    status, _, err = run("transform m.narrows c.h5ad -o r.npz")
    assert status == 1
    assert "c.h5ad: expected the 7 columns of the fit, got all but 'gene0'" in err


@pytest.mark.slow
def test_several_files_compare_and_convert(tmp_path, run):
    X = values(np.float32)
    save(tmp_path / "a.h5ad", sparse.csr_matrix(X[:30]), {"class": categorical(CODE[:30])})
    save(tmp_path / "b.h5ad", X[30:], {"class": categorical(CODE[30:])})
    both = OC()
    for rows, y in iter_chunks([tmp_path / "a.h5ad", tmp_path / "b.h5ad"]):
        both.partial_fit(rows, y)
    direct = OC().fit(X, KINDS[CODE].astype(str))
    np.testing.assert_allclose(both.eigenvalues_, direct.eigenvalues_, rtol=1e-6)
    status, out, _ = run("compare a.h5ad --methods ocfs,oc --json")
    assert status == 0
    assert json.loads(out)
    assert run("convert a.h5ad a.npz")[0] == 0
    with np.load(tmp_path / "a.npz") as archive:
        assert archive["data"].dtype == np.float32
        assert archive["y"].tolist() == KINDS[CODE[:30]].tolist()


@pytest.mark.parametrize("line", ["convert a.npz b.h5ad", "transform m.narrows a.npz -o b.h5ad"])
def test_the_format_is_read_only(tmp_path, run, line):
    np.savez(tmp_path / "a.npz", X=values(), y=CODE)
    assert run("fit a.npz --method oc -o m.narrows")[0] == 0
    status, _, err = run(line)
    assert status == 2
    assert "b.h5ad: expected a format to write, got .h5ad, which narrows only reads" in err
    assert not (tmp_path / "b.h5ad").exists()


# -- damage ----------------------------------------------------------------------------------------


def put(group, name, values):
    del group[name]
    group[name] = values


FORGED = {
    "no X": (lambda f: f.pop("X"), r"expected a matrix X, got only"),
    "X of one dimension": (lambda f: put(f, "X", np.zeros(5)), r"expected X of shape"),
    "X of text": (lambda f: put(f, "X", [[b"a"]]), r"expected X to hold numbers"),
    "another encoding": (
        lambda f: f["X"].attrs.__setitem__("encoding-type", "coo"), r"csc_matrix, got coo",
    ),
    "no shape": (lambda f: f["X"].attrs.pop("shape"), r"damaged one"),
    "a shape too tall": (lambda f: f["X"].attrs.__setitem__("shape", (99, D)), r"of shape \(99, 7"),
    "a shape too wide": (lambda f: f["X"].attrs.__setitem__("shape", (N, 8)), r"8 names in var"),
    "an index too large": (lambda f: f["X/indices"].__setitem__(3, D), r"from 0 to 6 in X, got 7"),
    "an index below 0": (lambda f: f["X/indices"].__setitem__(3, -1), r"from 0 to 6 in X, got -1"),
    "indices of floats": (
        lambda f: put(f["X"], "indices", f["X/indices"][:] / 2), r"integers, got float",
    ),
    "ends that decrease": (
        lambda f: f["X/indptr"].__setitem__(4, 0), r"from 0 to 7 entries in a row, got -\d+",
    ),
    "ends too large": (
        lambda f: f["X/indptr"].__setitem__(slice(5, None), 10**6), r"got 9999\d\d in row 5",
    ),
    "fewer entries": (lambda f: put(f["X"], "data", np.ones(3)), r"got data, indices and indptr"),
    "ends after all entries": (
        lambda f: [put(f["X"], part, f[f"X/{part}"][:-2]) for part in ("data", "indices")],
        r"expected entries up to number",
    ),
    "no var": (lambda f: f.pop("var"), r"damaged one"),
    "no obs": (lambda f: f.pop("obs"), r"damaged one"),
    "fewer cells in obs": (
        lambda f: put(f["obs/cell_type"], "codes", CODE[:9].astype("i1")), r"53 labels, got 9",
    ),
    "labels out of range": (
        lambda f: f["obs/cell_type/codes"].__setitem__(0, 9), r"damaged one",
    ),
    "NaN": (lambda f: f["X/data"].__setitem__(0, np.nan), r":2: expected finite values"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Element")
@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_file_is_an_error_that_names_it(tmp_path, kind):
    forge, message = FORGED[kind]
    path = save(tmp_path / "a.h5ad", sparse.csr_matrix(values()))
    with h5py.File(path, "r+") as file:
        forge(file)
    with pytest.raises(DataError, match=rf"a\.h5ad.*{message}") as caught:
        gathered(path, label="cell_type")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["an index too large", "ends that decrease", "ends too large"])
def test_a_forged_file_of_columns_is_an_error(tmp_path, kind):
    path = save(tmp_path / "a.h5ad", sparse.csc_matrix(values()))
    with h5py.File(path, "r+") as file:
        if kind == "an index too large":
            file["X/indices"][3] = N
        else:
            file["X/indptr"][4] = {"ends that decrease": 0, "ends too large": 10**6}[kind]
    with pytest.raises(DataError, match=r"a\.h5ad: expected (indices from 0 to 52|from 0 to 53 e)"):
        gathered(path)


@pytest.mark.slow
def test_names_that_are_not_unique_are_an_error(tmp_path):
    save(tmp_path / "a.h5ad", values(), names=["a", "b", "c", "b", "d", "e", "f"])
    with pytest.raises(DataError, match=r"a\.h5ad: expected different var_names, got the same"):
        gathered(tmp_path / "a.h5ad")


@pytest.mark.parametrize("content", [b"", b"no HDF5", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_another_file_is_an_error(tmp_path, content):
    (tmp_path / "a.h5ad").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.h5ad: expected an \.h5ad file, got another file, or"):
        gathered(tmp_path / "a.h5ad")


@pytest.mark.slow
@pytest.mark.more
def test_a_part_of_a_file_is_an_error(tmp_path):
    whole = save(tmp_path / "a.h5ad", sparse.csr_matrix(values())).read_bytes()
    for size in np.random.default_rng(0).integers(len(whole), size=20 if EVERYTHING else 6):
        (tmp_path / "b.h5ad").write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"b\.h5ad: expected an \.h5ad file, got another file"):
            gathered(tmp_path / "b.h5ad")


@pytest.mark.nightly
@pytest.mark.more
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_other_bytes_in_an_array_are_an_error_or_other_numbers(tmp_path, form):
    """Not in the structure of the file: HDF5 itself may then crash."""
    X = FORMS[form](values())
    whole = save(tmp_path / "a.h5ad", X).read_bytes()
    rng = np.random.default_rng(0)
    for array in (X.indices, X.indptr, X.data, CODE.astype("i1")):
        [first] = [k for k in [whole.find(array.tobytes())] if k >= 0]
        for _ in range(15 if EVERYTHING else 4):
            content = bytearray(whole)
            content[first + rng.integers(array.nbytes)] = rng.integers(256)
            (tmp_path / "b.h5ad").write_bytes(content)
            try:
                found = gathered(tmp_path / "b.h5ad", label="cell_type")[0].shape == (N, D)
            except DataError as error:
                found = "b.h5ad" in str(error)
            assert found


@pytest.mark.slow
def test_files_of_very_old_versions_are_an_error(tmp_path):
    """Before 0.7, `obs` was an array of records, and referred to categories in `uns`."""
    save(tmp_path / "a.h5ad", values())
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        del file["obs"]
        file["obs"] = np.array([(b"c", i % 3) for i in range(N)], [("index", "S9"), ("k", "i1")])
    with pytest.raises(DataError, match=r"a\.h5ad: expected a file of anndata 0\.7 or later, got"):
        gathered(tmp_path / "a.h5ad", label="k")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_categories_of_version_0_7_are_read(tmp_path):
    save(tmp_path / "a.h5ad", values())
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        obs = file["obs"]
        obs.attrs["encoding-version"] = "0.1.0"
        del obs["cell_type"]
        text = h5py.string_dtype()
        obs.create_dataset("__categories/cell_type", data=KINDS.astype(object), dtype=text)
        obs["cell_type"] = CODE.astype("i1")
        obs["cell_type"].attrs["categories"] = obs["__categories/cell_type"].ref
    _, y = gathered(tmp_path / "a.h5ad", label="cell_type")
    assert y.tolist() == KINDS[CODE].tolist()


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    save(tmp_path / "a.h5ad", values())
    monkeypatch.setitem(__import__("sys").modules, "anndata.io", None)
    with pytest.raises(ImportError, match=r"expected the package anndata.*narrows\["):
        gathered(tmp_path / "a.h5ad")
