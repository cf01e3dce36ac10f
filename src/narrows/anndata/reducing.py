"""Cells, reduced by a projector, or genes, selected."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.anndata.cells import (
    Data,
    Labelled,
    check_known,
    check_numbers,
    copied,
    estimator_of,
    groups_of,
    matrix_of,
)
from narrows.engines import local
from narrows.errors import ParameterError
from narrows.methods._base import Estimator
from narrows.methods._select import Selector
from narrows.io.source import Source

_WHO = "reduce"
_SPREADS = {"variance": "eigenvalues_", "variance_ratio": "explained_variance_ratio_"}


def reduce(
    adata: Any,
    key: str,
    *,
    method: str | Estimator = "srda",
    n_components: int | None = None,
    layer: str | None = None,
    use_rep: str | None = None,
    key_added: str | None = None,
    chunk_size: int = 10_000,
    copy: bool = False,
) -> Any:
    """Reduce cells to directions that distinguish their groups, or select such genes.

    A projector stores its results as `scanpy.tl.pca` does; a selector stores a score for each gene,
    and whether it is selected, as columns of `adata.var`. Cells without a group are reduced, but
    not used for the fit.

    Parameters
    ----------
    adata : AnnData of shape (n_samples, n_features)
        The cells, in memory or opened with ``backed="r"``, which are read in chunks.
    key : str
        The column of `adata.obs` with the groups.
    method : str or narrows estimator, default="srda"
        The name of a method of narrows, or an estimator, which is fitted in place: keep it to save
        it, or to predict the groups of other cells.
    n_components : int, optional
        The number of directions; by default that of the method.
    layer : str, optional
        The layer of `adata` to use instead of `X`.
    use_rep : str, optional
        The key of `adata.obsm` to use instead of `X`, such as "X_pca".
    key_added : str, optional
        The key of the results, instead of the name of the method.
    chunk_size : int, default=10_000
        The maximum number of cells to read at once from backed data.
    copy : bool, default=False
        Return a copy with the results instead of changing `adata`.

    Returns
    -------
    adata : AnnData or None
        None unless `copy` is set. With the method "srda", or another projector:
        ``adata.obsm["X_srda"]``, the reduced cells of shape (n_samples, n_components);
        ``adata.varm["srda"]``, the directions of shape (n_features, n_components), for linear
        methods without `use_rep`; ``adata.uns["srda"]``, with "params", "classes", and "variance"
        and "variance_ratio" if the method has eigenvalues. `key_added` replaces all three keys.
        With the method "ocfs", or another selector: ``adata.var["ocfs_score"]`` and
        ``adata.var["ocfs_selected"]``, which `scanpy.pp.pca` takes as `mask_var`, and
        ``adata.uns["ocfs"]``; `key_added` replaces "ocfs".

    Raises
    ------
    ParameterError
        A column, layer, representation or method does not exist, or a parameter does not fit the
        data.
    ValueError
        There are fewer than two groups, or values are NaN or infinite.
    TypeError
        `adata` is not an AnnData.

    See Also
    --------
    rank_genes : Rank the genes that distinguish groups.
    narrows.SRDA : The default method.
    narrows.save : Save the fitted estimator, which then reduces `.h5ad` files.

    Notes
    -----
    **Cost**: that of the method, and a pass to reduce the cells. Backed data are read once for each
    pass of the method; a method that does not learn from batches reads all cells into memory.

    Examples
    --------
    >>> import anndata
    >>> from sklearn.datasets import load_wine
    >>> from narrows.anndata import reduce
    >>> X, y = load_wine(return_X_y=True)
    >>> adata = anndata.AnnData(X)
    >>> adata.obs["grower"] = y
    >>> reduce(adata, "grower", method="lda")
    >>> adata.obsm["X_lda"].shape, adata.varm["lda"].shape
    ((178, 2), (13, 2))
    """
    estimator = method if isinstance(method, Estimator) else estimator_of(method, _WHO, Estimator)
    name = type(estimator).__name__.lower()
    selects = isinstance(estimator, Selector)
    if n_components is not None and "n_components" not in estimator.get_params(deep=False):
        problem = f"expected no n_components for {name}, got {n_components}."
        raise ParameterError(f"{_WHO}: {problem} Set n_features of an estimator.")
    if selects and use_rep is not None:
        problem = f"expected no use_rep for {name}, which selects genes, got {use_rep!r}."
        raise ParameterError(f"{_WHO}: {problem} Leave it out.")
    check_numbers(_WHO, chunk_size=chunk_size)
    code, categories = groups_of(adata, key, _WHO)
    adata = copied(adata, _WHO) if copy else adata
    if use_rep is None:
        data = matrix_of(adata, layer, _WHO)
    else:
        check_known(_WHO, "use_rep", use_rep, list(adata.obsm))
        data = Data(np.asarray(adata.obsm[use_rep]))
    if n_components is not None:
        estimator.set_params(n_components=n_components)
    _fit(estimator, data, code, np.asarray(categories), chunk_size)
    genes = tuple(map(str, adata.var_names))
    if use_rep is None and len(set(genes)) == len(genes):
        estimator._remember(Source(label=key, columns=genes))
    settings = {"key": key, "method": name, "layer": layer, "use_rep": use_rep}
    settings |= estimator.get_params(deep=False)
    found: dict[str, Any] = {
        "params": {k: v for k, v in settings.items() if isinstance(v, str | int | float)},
        "classes": estimator.classes_,
    }
    added = key_added or name
    if selects:
        adata.var[f"{added}_score"] = estimator.scores_
        adata.var[f"{added}_selected"] = estimator.get_support()
    else:
        reduced = [estimator.transform(X) for _, X in data.chunks(chunk_size)]
        adata.obsm[key_added or f"X_{name}"] = np.vstack(reduced)
        components = getattr(estimator, "components_", None)
        if use_rep is None and components is not None and components.shape[1] == len(genes):
            adata.varm[added] = components.T.copy()
        for field, attribute in _SPREADS.items():
            if hasattr(estimator, attribute):
                found[field] = np.array(getattr(estimator, attribute))
    adata.uns[added] = found
    return adata if copy else None


def _fit(estimator: Any, data: Data, code: np.ndarray, classes: np.ndarray, size: int) -> None:
    """Fit an estimator to the cells that have a group."""
    classes = classes.astype(str) if classes.dtype.kind == "O" else classes
    if not data.in_memory:
        local.fit(estimator, Labelled(data, code, classes, size))
        return
    has = code >= 0
    estimator.fit(data.X if has.all() else data.X[has], classes[code[has]])
