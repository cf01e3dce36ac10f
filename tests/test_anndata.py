"""Single cells in Python: SciPy's test, and scanpy's tables, from one pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from narrows import CHI, IG, LDA, MI, OC, OCFS, SRDA, ForwardFS
from narrows.anndata import rank_genes, reduce
from narrows.errors import ParameterError

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
pd = pytest.importorskip("pandas")

N, D, KINDS = 240, 30, np.array(["B", "NK", "T", "mono"], dtype=object)
FORMS = {
    "dense": np.asarray, "csr": sparse.csr_matrix, "csc": sparse.csc_matrix,
    "array": sparse.csr_array,
}  # fmt: skip


def counts(dtype=np.float64):
    """Logarithmised counts of four groups; a gene is never found, and another is constant."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, len(KINDS), N)
    rates = rng.gamma(0.5, 1.0, (len(KINDS), D))
    X = np.log1p(rng.poisson(rates[code] * rng.gamma(1.0, 1.0, (N, 1)))).astype(dtype)
    X[:, 3], X[:, 7] = 0, 1.5
    return X, code


def cells(form="csr", dtype=np.float64, missing=False, path=None):
    X, code = counts(dtype)
    if missing:
        code = np.where(np.arange(N) % 7 == 2, -1, code)
    obs = pd.DataFrame(
        {"kind": pd.Categorical.from_codes(code, pd.Index(KINDS, dtype=object))},
        pd.Index([f"cell{i}" for i in range(N)], dtype=object),
    )
    var = pd.DataFrame(index=pd.Index([f"gene{k}" for k in range(D)], dtype=object))
    adata = anndata.AnnData(FORMS[form](X), obs, var)
    if path is not None:
        adata.write_h5ad(path)
        adata = anndata.read_h5ad(path, backed="r")
    return adata, X, code


def table(adata, group):
    """The results for a group, in the order of the genes."""
    found = adata.uns["rank_genes_groups"]
    fields = {name: found[name][group] for name in found if name != "params"}
    return pd.DataFrame(fields).set_index("names").reindex(adata.var_names)


def check_against_scipy(adata, X, inside, outside, group):
    """The table of a group is that of SciPy's test of two samples."""
    t, p = stats.ttest_ind(X[inside], X[outside], equal_var=False)
    found = table(adata, group)
    still = np.isnan(t) | np.isin(np.arange(D), (3, 7))
    t[still], p[still] = 0, 1
    np.testing.assert_allclose(found["scores"], t, rtol=1e-6)
    np.testing.assert_allclose(found["pvals"], p, rtol=1e-6)
    np.testing.assert_allclose(found["pvals_adj"], stats.false_discovery_control(p), rtol=1e-6)
    above, below = (np.expm1(X[rows].mean(axis=0)) + 1e-9 for rows in (inside, outside))
    np.testing.assert_allclose(found["logfoldchanges"], np.log2(above / below), 1e-6, 1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("backed", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of SciPy, by genes that do not vary
def test_scores_are_those_of_welchs_test(tmp_path, form, backed):
    path = tmp_path / "a.h5ad" if backed else None
    adata, X, code = cells(form, missing=True, path=path)
    rank_genes(adata, "kind", chunk_size=50)
    found = adata.uns["rank_genes_groups"]
    assert found["names"].dtype.names == tuple(KINDS)
    for g, kind in enumerate(KINDS):
        assert (np.diff(found["scores"][kind]) <= 0).all()
        check_against_scipy(adata, X, code == g, code != g, kind)  # with cells of no group


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_some_groups_against_a_reference():
    adata, X, code = cells("dense")
    rank_genes(adata, "kind", groups=["T", "B", "T"], reference="NK")
    assert adata.uns["rank_genes_groups"]["names"].dtype.names == ("T", "B")
    check_against_scipy(adata, X, code == 2, code == 1, "T")
    check_against_scipy(adata, X, code == 0, code == 1, "B")
    rank_genes(adata, "kind", groups=["T"], n_genes=4, corr_method="bonferroni")
    found = adata.uns["rank_genes_groups"]
    assert found["names"].shape == (4,)
    np.testing.assert_allclose(found["pvals_adj"]["T"], np.minimum(1, D * found["pvals"]["T"]))


def test_layers_raw_counts_and_copies():
    adata, X, _ = cells()
    adata.layers["half"] = sparse.csr_matrix(X / 2)
    half = table(rank_genes(adata, "kind", layer="half", copy=True), "T")
    assert "rank_genes_groups" not in adata.uns
    rank_genes(adata, "kind")
    np.testing.assert_allclose(table(adata, "T")["scores"], half["scores"], rtol=1e-6)
    assert not np.allclose(table(adata, "T")["logfoldchanges"], half["logfoldchanges"])
    adata.raw = anndata.AnnData(sparse.csr_matrix(X[:, ::-1]), adata.obs, adata.var)
    rank_genes(adata, "kind")
    np.testing.assert_allclose(table(adata, "T")["scores"], half["scores"][::-1], rtol=1e-6)


@pytest.mark.parametrize("method", ["ocfs", "ig", "chi", "mi"])
def test_selectors_rank_genes_by_their_scores_for_each_class(method):
    adata, X, code = cells(missing=True)
    rank_genes(adata, "kind", method=method)
    found = adata.uns["rank_genes_groups"]
    selector = {"ocfs": OCFS, "ig": IG, "chi": CHI, "mi": MI}[method]()
    selector.fit(X[code >= 0], code[code >= 0])
    for g, kind in enumerate(KINDS):
        np.testing.assert_allclose(table(adata, kind)["scores"], selector.class_scores_[g], 1e-6)
        assert np.isnan(found["pvals"][kind]).all()


UNKNOWN = [
    ({"key": "sort"}, "key, got 'sort'"),
    ({"method": "t_test"}, "method, got 't_test'.*Did you mean t-test"),
    ({"groups": ["T", "C"]}, "group, got 'C'"),
    ({"groups": "T"}, "groups"),
    ({"reference": "TT"}, "group, got 'TT'"),
    ({"layer": "raw"}, "layer, got 'raw'"),
    ({"use_raw": True}, "use_raw=False"),
    ({"corr_method": "holm"}, "corr_method, got 'holm'"),
    ({"method": "ig", "reference": "T"}, "reference"),
    ({"n_genes": 0}, "`n_genes`"),
    ({"groups": ["T"], "reference": "T"}, "a group beside the reference"),
]
UNKNOWN_TO_REDUCE = [
    ({"key": "sort"}, "key, got 'sort'"),
    ({"method": "umap"}, "method, got 'umap'"),
    ({"use_rep": "X_pca"}, "use_rep, got 'X_pca'"),
    ({"method": "ocfs", "n_components": 3}, "no n_components"),
    ({"method": "ocfs", "use_rep": "X_pca"}, "no use_rep"),
    ({"method": ForwardFS(start=["gen2"])}, "Did you mean gene2"),
]


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [(rank_genes, *row) for row in UNKNOWN] + [(reduce, *row) for row in UNKNOWN_TO_REDUCE],
)
def test_what_is_unknown_is_an_error(function, options, message):
    adata, _, _ = cells()
    with pytest.raises(ParameterError, match=f"expected .*{message}"):
        function(adata, **{"key": "kind", **options})
    assert not adata.uns


def test_groups_of_a_single_cell_are_an_error():
    adata = anndata.AnnData(np.eye(5))
    adata.obs["kind"] = [*"aabbc"]
    with pytest.raises(ParameterError, match="two cells in group 'c', got 1"):
        rank_genes(adata, "kind")
    rank_genes(adata, "kind", groups=["a", "b"])
    adata.obs["kind"] = "a"
    with pytest.raises(ParameterError, match="at least two cells in the rest, got 0"):
        rank_genes(adata, "kind")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("backed", [False, True])
def test_cells_are_reduced_and_those_without_a_group_too(tmp_path, form, backed):
    path = tmp_path / "a.h5ad" if backed else None
    adata, X, code = cells(form, missing=True, path=path)
    reduce(adata, "kind", chunk_size=50)
    has = code >= 0
    Y = X if form == "dense" else sparse.csr_array(X)
    srda = SRDA().fit(Y[has], KINDS[code[has]].astype(str))
    np.testing.assert_allclose(adata.obsm["X_srda"], srda.transform(Y), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(adata.varm["srda"], srda.components_.T, rtol=1e-6, atol=1e-8)
    assert adata.uns["srda"]["classes"].tolist() == KINDS.tolist()
    np.testing.assert_allclose(adata.uns["srda"]["variance"], srda.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_a_representation_or_a_layer_is_reduced(form):
    adata, X, code = cells("dense")
    adata.obsm["counts"], adata.layers["half"] = form(X[:, :9]), X / 2
    other = reduce(adata, "kind", method="lda", use_rep="counts", copy=True)
    assert ("X_lda" in adata.obsm, "lda" in other.varm) == (False, False)
    lda = LDA().fit(X[:, :9], code)
    np.testing.assert_allclose(other.obsm["X_lda"], lda.transform(X[:, :9]), atol=1e-8)
    reduce(adata, "kind", method="oc", layer="half")
    np.testing.assert_allclose(adata.varm["oc"], OC().fit(X, code).components_.T, atol=1e-10)


def test_genes_that_do_not_repeat_each_other_start_with_known_ones():
    adata, X, code = cells(missing=True)
    reduce(adata, "kind", method=ForwardFS(n_features=5, start=["gene8", "gene2"]))
    forward = ForwardFS(n_features=5, start=[8, 2]).fit(X[code >= 0], code[code >= 0])
    names = [f"gene{k}" for k in forward.ranking_[:5]]
    assert adata.uns["forwardfs"]["names"].tolist() == names
    np.testing.assert_allclose(adata.var["forwardfs_score"], forward.scores_, rtol=1e-6)
    assert adata.var["forwardfs_selected"].to_numpy().tolist() == forward.get_support().tolist()


SETTINGS = [
    {}, {"groups": ["T", "B"]}, {"reference": "NK"}, {"groups": ["T", "B"], "reference": "NK"},
    {"method": "t-test_overestim_var"}, {"corr_method": "bonferroni"}, {"n_genes": 5},
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_results_are_those_of_scanpy(dtype, settings):
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed")
    adata, _, _ = cells("csr", dtype, missing=True)
    adata.uns["log1p"] = {"base": 2}
    other = adata.copy()
    rank_genes(adata, "kind", **settings)
    scanpy.tl.rank_genes_groups(other, "kind", **{"method": "t-test", **settings})
    ours, theirs = (each.uns["rank_genes_groups"] for each in (adata, other))
    assert ours["params"] == theirs["params"]
    assert [ours[field].dtype for field in theirs if field != "params"] == [
        theirs[field].dtype for field in theirs if field != "params"
    ]
    for kind in ours["names"].dtype.names:
        a, b = (table(each, kind).sort_index(axis=1) for each in (adata, other))
        pd.testing.assert_frame_equal(a, b, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_cells_that_are_not_finite_are_named(form):
    X = np.ones((30, 4), np.float32)
    X[17, 2] = np.nan
    cells = anndata.AnnData(form(X))
    cells.obs["kind"] = ["a", "b", "c"] * 10
    with pytest.raises(ValueError, match=r"'2' in cell 17"):
        rank_genes(cells, "kind", chunk_size=7)


@pytest.mark.parametrize("function", [rank_genes, reduce])
def test_what_is_no_anndata_in_memory_is_refused(tmp_path, function):
    with pytest.raises(TypeError, match="expected an AnnData, got ndarray"):
        function(np.eye(3), "kind")
    adata, _, _ = cells(path=tmp_path / "a.h5ad")
    with pytest.raises(ParameterError, match="expected copy=False for a backed AnnData"):
        function(adata, "kind", copy=True)
