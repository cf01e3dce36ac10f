"""Single cells in Python: SciPy's test, and scanpy's tables, from one pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from narrows import OCFS, SRDA, FisherFS, load, save
from narrows.anndata import rank_genes, reduce
from narrows.solve.errors import ParameterError

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


def table(adata, group, key="rank_genes_groups"):
    """The results for a group, in the order of the genes."""
    found = adata.uns[key]
    fields = {name: found[name][group] for name in found if name != "params"}
    return pd.DataFrame(fields).set_index("names").reindex(adata.var_names)


def check_against_scipy(adata, X, inside, outside, group):
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning) if False else noisy():
        t, p = stats.ttest_ind(X[inside], X[outside], equal_var=False)
    found = table(adata, group)
    t, p = np.where(np.isnan(t), 0, t), np.where(np.isnan(p), 1, p)
    np.testing.assert_allclose(found["scores"], t, rtol=1e-6)
    np.testing.assert_allclose(found["pvals"], p, rtol=1e-6)
    np.testing.assert_allclose(found["pvals_adj"], stats.false_discovery_control(p), rtol=1e-6)
    means = (np.expm1(X[rows].mean(axis=0)) + 1e-9 for rows in (inside, outside))
    np.testing.assert_allclose(
        found["logfoldchanges"], np.log2(np.divide(*means)), rtol=1e-6, atol=1e-6
    )
