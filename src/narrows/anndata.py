"""Single cells: ranks the genes of groups, and reduces the cells, of an AnnData of any size.

Results are stored where those of scanpy are, so that its plots and tables show them. scanpy is
neither needed nor imported; nor is anndata, unless its data are in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from narrows.engines import local
from narrows.errors import ParameterError, RangeError, did_you_mean
from narrows.io.formats.matrix import stored_matrix
from narrows.io.source import Source
from narrows.methods.base import Reducer, remember
from narrows.methods.methods import METHODS
from narrows.methods.names import use_names
from narrows.methods.parameters import check, is_integer
from narrows.moments.moments import Moments
from narrows.moments.reading import centre_about_origin
from narrows.solve.sums import blocks

__all__ = ["rank_genes", "reduce"]


_TESTS = ("t-test", "t-test_overestim_var")
_CORRECTIONS = ("benjamini-hochberg", "bonferroni")
_ADDED = 1e-9  # to both sides of a fold change, as scanpy does
_ROUNDING = 1e-15  # of a squared mean: a smaller variance is 0
_FIELDS = {"names": "O", "scores": "f4", "logfoldchanges": "f4", "pvals": "f8", "pvals_adj": "f8"}
_SPREADS = {"variance": "eigenvalues_", "variance_ratio": "explained_variance_ratio_"}

Results = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, p-values, log fold changes


# -- genes -----------------------------------------------------------------------------------------


def rank_genes(
    adata: Any,
    key: str,
    *,
    method: str = "t-test",
    groups: str | Sequence[Any] = "all",
    reference: Any = "rest",
    n_genes: int | None = None,
    corr_method: str = "benjamini-hochberg",
    use_raw: bool | None = None,
    layer: str | None = None,
    key_added: str = "rank_genes_groups",
    chunk_size: int = 10_000,
    copy: bool = False,
) -> Any:
    """Rank the genes that distinguish groups of cells, in one pass.

    The results are those of `scanpy.tl.rank_genes_groups`, in the same place and form, for data in
    memory and for data that are opened with ``backed="r"``. Sparse data stay sparse.

    Parameters
    ----------
    adata : AnnData of shape (n_samples, n_features)
        The cells; logarithmised values are expected for fold changes.
    key : str
        The column of `adata.obs` with the groups. Cells without a group belong to the rest.
    method : str, default="t-test"
        "t-test" is Welch's test; "t-test_overestim_var" is the same test with the size of the group
        instead of the size of the rest. "ocfs", "ig", "chi" and "mi" are selectors: their scores
        have neither sign nor p-values, and they ignore cells without a group.
    groups : "all" or sequence, default="all"
        The groups to rank genes for. The rest always consists of all other cells.
    reference : default="rest"
        The group to compare with, instead of the rest.
    n_genes : int, optional
        The number of genes to store for each group; all by default.
    corr_method : {"benjamini-hochberg", "bonferroni"}, default="benjamini-hochberg"
        The correction of p-values for many tests.
    use_raw : bool, optional
        Whether to use `adata.raw`. By default it is used if there is one and no layer is named.
    layer : str, optional
        The layer of `adata` to use instead of `X`.
    key_added : str, default="rank_genes_groups"
        The key of `adata.uns` for the results.
    chunk_size : int, default=10_000
        The maximum number of cells to read at once from backed data.
    copy : bool, default=False
        Return a copy with the results instead of changing `adata`.

    Returns
    -------
    adata : AnnData or None
        None unless `copy` is set. ``adata.uns[key_added]`` holds "params", and the arrays "names",
        "scores", "pvals", "pvals_adj" and "logfoldchanges" with a field for each group, best gene
        first. For a selector the last three are NaN. Genes with equal scores are ordered by index.

    Raises
    ------
    ParameterError
        A column, group, layer or method does not exist, or a group has a single cell.
    ValueError
        Values are NaN or infinite.
    TypeError
        `adata` is not an AnnData.

    See Also
    --------
    reduce : Reduce cells by a projector, or select genes.
    narrows.Moments : The sums that the results are computed from.
    narrows.OCFS : Select features by the scatter of the class means.
    narrows.ForwardFS : Select features that complement each other, with `reduce`.

    Notes
    -----
    **Cost** for c groups and d genes: one pass, O(nnz) for sparse data, and O(c d log d) after it;
    16 c d bytes in addition to the data, or to a chunk of backed data.

    As in scanpy, means, variances and p-values are computed in double precision, and scores and
    fold changes are stored in single precision.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from narrows.anndata import rank_genes
    >>> X = np.array([[5.0, 0.0, 1.0], [4.0, 1.0, 1.0], [0.0, 5.0, 1.0], [1.0, 4.0, 1.0]])
    >>> adata = anndata.AnnData(X)
    >>> adata.obs["kind"] = ["B", "B", "T", "T"]
    >>> rank_genes(adata, "kind", n_genes=1)
    >>> adata.uns["rank_genes_groups"]["names"].tolist()
    [('0', '1')]
    """
    check_numbers(n_genes=n_genes, chunk_size=chunk_size)
    check_known("corr_method", corr_method, _CORRECTIONS)
    code, categories = groups_of(adata, key, copy)
    adata = adata.copy() if copy else adata
    if use_raw is None:
        use_raw = layer is None and adata.raw is not None
    if use_raw and (layer is not None or adata.raw is None):
        got = "no adata.raw" if adata.raw is None else "a layer"
        raise ParameterError(f"expected use_raw=False, got True and {got}. Leave it out.")
    source = adata.raw if use_raw else adata
    data, names = matrix_of(source, layer), np.asarray(source.var_names, dtype=object)
    chosen, other = _chosen(code, list(categories), groups, reference)
    results: Iterable[Results]
    if method in _TESTS:
        y = np.where(code < 0, len(categories), code)  # the rest includes cells without a group
        state = _learned(data, names, y, len(categories) + 1, chunk_size)
        base = adata.uns.get("log1p", {}).get("base")
        results = (_welch(state, g, other, method == _TESTS[1], base) for g in chosen)
    else:
        results = _selected(data, code, chosen, method, other, chunk_size)
    found: dict[str, list] = {field: [] for field in _FIELDS}
    for scores, pvals, changes in results:
        best = np.argsort(-scores, kind="stable")[:n_genes]
        every = names, scores, changes, pvals, _adjusted(pvals, corr_method)
        for field, values in zip(_FIELDS, every, strict=True):
            found[field].append(values[best])
    params = {
        "groupby": key, "reference": reference, "method": method, "use_raw": use_raw,
        "layer": layer, "corr_method": corr_method,
    }  # fmt: skip
    adata.uns[key_added] = {"params": params} | {
        field: np.rec.fromarrays(
            columns, dtype=[(str(categories[g]), _FIELDS[field]) for g in chosen]
        )
        for field, columns in found.items()
    }
    return adata if copy else None


def _chosen(
    code: np.ndarray, known: list[Any], groups: Any, reference: Any
) -> tuple[list[int], int | None]:
    """Return the numbers of the groups to rank genes for, and of the reference if it is one."""
    every = isinstance(groups, str) and groups == "all"
    wanted = known if every else groups
    if isinstance(wanted, str) or not len(wanted):
        raise ParameterError(f'expected groups to be "all" or a list, got {groups!r}.')
    others = [] if isinstance(reference, str) and reference == "rest" else [reference]
    for each in [*wanted, *others]:
        check_known("group", each, known)
    count = np.bincount(code[code >= 0], minlength=len(known))
    chosen = [known.index(each) for each in dict.fromkeys(wanted) if each not in others]
    chosen = [g for g in chosen if count[g] or not every]  # of categories some may be unused
    compared = [known.index(each) for each in others]
    for g in [*chosen, *compared]:
        if count[g] < 2:
            problem = f"expected at least two cells in group {known[g]!r}, got {count[g]}."
            raise ParameterError(f"{problem} Leave it out of groups.")
    if not chosen:
        raise ParameterError("expected a group beside the reference, got none. Name one.")
    return chosen, compared[0] if compared else None


def _learned(
    data: CellMatrix, names: np.ndarray, y: np.ndarray, n_classes: int, size: int
) -> Moments:
    """Return the moments of the cells, also of classes 0, 1, … without cells."""
    m = Moments(data.n_features, second="class").with_labels(np.arange(n_classes))
    for rows, X in data.chunks(size):
        _check_finite(X, names, rows.start)
        try:
            m.update(X, y[rows])
        except RangeError as error:
            k = error.feature
            raise error if k is None else error.named(str(names[k])) from None
    return m


def _check_finite(X: Any, names: np.ndarray, first: int) -> None:
    """Raise ValueError for NaN and infinity in cells from number `first` on."""
    if np.isfinite(X.data if sparse.issparse(X) else X).all():
        return
    values = X.tocoo() if sparse.issparse(X) else sparse.coo_array(np.where(np.isfinite(X), 0, X))
    k = int((~np.isfinite(values.data)).argmax())
    raise ValueError(
        f"expected finite values, got {values.data[k]:g} of gene "
        f"{str(names[values.col[k]])!r} in cell {first + values.row[k]}. Fill it, or leave out the "
        "cell."
    )


def _welch(
    m: Moments, group: int, other: int | None, overestimate: bool, base: float | None
) -> Results:
    """Return the t statistics, p-values and log fold changes of a group against others."""
    is_group, both = np.arange(len(m.counts)) == group, []
    is_other = ~is_group if other is None else np.arange(len(is_group)) == other
    for which in (is_group, is_other):
        N = np.where(which, m.counts, 0.0)
        n, p = N.sum(), N / max(1.0, N.sum())
        if n < 2:
            problem = f"expected at least two cells in the rest, got {int(n)}."
            raise ParameterError(f"{problem} Name a column with more groups.")
        mean, variance, rounding = centre_about_origin(m, p), m.variances(p), m.rounding(p)
        variance[variance <= _ROUNDING * mean**2] = 0.0
        level = m.centre(p)
        level[np.abs(level) <= rounding] = 0.0
        both.append((n, mean, variance * n / (n - 1), rounding, level))
    (n, mean, variance, rounding, level), (n_others, mean_of_others, of_others, more, below) = both
    equal = np.abs(mean - mean_of_others) <= rounding + more
    mean[equal] = mean_of_others[equal]  # measured from the origin, so that no digits are lost
    n_others = n if overestimate else n_others
    factor = 1.0 if base is None else np.log(base)
    with np.errstate(all="ignore"):  # where nothing varies, or values are not logarithms
        t, pvals = stats.ttest_ind_from_stats(
            mean,
            np.sqrt(variance),
            n,
            mean_of_others,
            np.sqrt(of_others),
            n_others,
            equal_var=False,
        )
        above, below = (np.expm1(x * factor) + _ADDED for x in (level, below))
        changes = np.log2(above / below)
    return np.where(np.isnan(t), 0.0, t), np.where(np.isnan(pvals), 1.0, pvals), changes


def _adjusted(pvals: np.ndarray, corr_method: str) -> np.ndarray:
    """Return p-values corrected for as many tests; NaN where there are none."""
    if np.isnan(pvals).any():
        return pvals
    if corr_method == "bonferroni":
        return np.minimum(pvals * len(pvals), 1.0)
    return stats.false_discovery_control(pvals)


def _selected(
    data: CellMatrix, code: np.ndarray, chosen: list[int], method: str, other: int | None, size: int
) -> Iterator[Results]:
    """Yield the scores that a selector gives genes for each group, without p-values."""
    estimator = estimator_of(method, lambda kind: hasattr(kind, "class_scores_"), _TESTS)
    if other is not None:
        problem = f'expected reference="rest" for method={method!r}, got a group.'
        raise ParameterError(f'{problem} Use method="t-test".')
    local.fit(estimator, Labelled(data, code, np.arange(code.max(initial=0) + 1), size))
    row = {g: k for k, g in enumerate(estimator.classes_.tolist())}
    scores, none = estimator.class_scores_, np.full(data.n_features, np.nan)
    for g in chosen:
        yield scores[row[g]], none, none


# -- cells -----------------------------------------------------------------------------------------


def reduce(
    adata: Any,
    key: str,
    *,
    method: str | Reducer = "srda",
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
    not used for the fit. With "leace", and batches as groups, reduced cells have all genes without
    the batch effect.

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
        ``adata.uns["ocfs"]``, with "params", "classes", and the selected genes as "names", best
        first; `key_added` replaces "ocfs".

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
    narrows.LEACE : Erases the effect of batches, from dense cells.
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
    given = isinstance(method, Reducer)
    estimator: Any = method if given else estimator_of(method)
    name = type(estimator).__name__.lower()
    selects = hasattr(estimator, "get_support")
    if n_components is not None and "n_components" not in estimator.get_params(deep=False):
        problem = f"expected no n_components for {name}, got {n_components}."
        raise ParameterError(f"{problem} Set `n_features` of an estimator.")
    if selects and use_rep is not None:
        problem = f"expected no use_rep for {name}, which selects genes, got {use_rep!r}."
        raise ParameterError(f"{problem} Leave it out.")
    check_numbers(chunk_size=chunk_size)
    code, categories = groups_of(adata, key, copy)
    adata = adata.copy() if copy else adata
    if use_rep is None:
        data = matrix_of(adata, layer)
    else:
        check_known("use_rep", use_rep, list(adata.obsm))
        cells = adata.obsm[use_rep]
        data = CellMatrix(cells.tocsr() if sparse.issparse(cells) else np.asarray(cells))
    if n_components is not None:
        estimator.set_params(n_components=n_components)
    genes = tuple(map(str, adata.var_names))
    named = use_rep is None and len(set(genes)) == len(genes)
    source = Source(label=key, columns=genes) if named else None
    use_names(estimator, source)
    classes, has = np.asarray(categories), code >= 0
    classes = classes.astype(str) if classes.dtype.kind == "O" else classes
    if data.in_memory:
        estimator.fit(data.X if has.all() else data.X[has], classes[code[has]])
    else:
        local.fit(estimator, Labelled(data, code, classes, chunk_size))
    if named:
        remember(estimator, source)
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
        best = estimator.ranking_[estimator.get_support()[estimator.ranking_]]
        found["names"] = np.asarray(adata.var_names, dtype=object)[best]
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


# -- what both read of an AnnData ------------------------------------------------------------------


class CellMatrix(NamedTuple):
    """A matrix of an AnnData, in memory, or in a file that is read in chunks."""

    X: Any
    in_memory: bool = True

    @property
    def n_features(self) -> int:
        """The number of genes, or of columns of a representation."""
        return int(self.X.shape[1])

    def chunks(self, size: int) -> Iterator[tuple[slice, Any]]:
        """Yield ranges of cells and their values."""
        if self.in_memory:
            yield from ((rows, self.X[rows]) for rows in blocks(self.X.shape[0], size))
            return
        start = 0
        for X in self.X.chunks(0, size):
            yield slice(start, start + X.shape[0]), X
            start += X.shape[0]


@dataclass
class Labelled:
    """The cells that have a group, in chunks, which can be iterated again and again."""

    data: CellMatrix
    code: np.ndarray
    classes: np.ndarray
    size: int

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        for rows, X in self.data.chunks(self.size):
            has = self.code[rows] >= 0
            if has.any():
                yield X if has.all() else X[has], self.classes[self.code[rows][has]]


def matrix_of(adata: Any, layer: str | None) -> CellMatrix:
    """Return the values of cells; `adata` may be `adata.raw`."""
    if layer is not None:
        check_known("layer", layer, list(adata.layers))
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ParameterError("expected adata.X, got None. Name a layer.")
    stored = getattr(X, "group", X)  # of a sparse matrix in a file
    if type(stored).__module__.startswith("h5py"):
        return CellMatrix(stored_matrix(stored, str(stored.file.filename)), in_memory=False)
    return CellMatrix(sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X))


def groups_of(adata: Any, key: str, copy: bool) -> tuple[np.ndarray, Any]:
    """Return the number of each cell's group, -1 where it has none, and the groups.

    ParameterError where a copy would be a file.
    """
    if not hasattr(adata, "obs"):
        got = type(adata).__name__
        raise TypeError(f"expected an AnnData, got {got}. Use estimators for arrays.")
    check_known("key", key, list(adata.obs))
    if copy and adata.isbacked:
        raise ParameterError("expected copy=False for a backed AnnData, got True.")
    column = adata.obs[key].astype("category").cat
    return np.asarray(column.codes, dtype=np.intp), column.categories


def estimator_of(
    method: Any,
    suits: Callable[[Any], bool] = lambda kind: True,
    others: Sequence[str] = (),
) -> Any:
    """Return the estimator of a name, of a class that suits; `others` are names in errors."""
    known = {name.lower(): kind for name, kind in METHODS.items() if suits(kind)}
    check_known("method", method, [*others, *known])
    return known[method]()


def check_numbers(**given: int | None) -> None:
    """Raise ParameterError where a number is neither an integer >= 1 nor None."""
    for name, value in given.items():
        check(name, value, value is None or is_integer(value, 1), "an integer >= 1")


def check_known(what: str, value: Any, known: Sequence[Any]) -> None:
    """Raise ParameterError where a name is unknown."""
    if value not in known:
        hint = did_you_mean(str(value), map(str, known)) if known else "There is none."
        raise ParameterError(f"expected a known {what}, got {value!r}. {hint}")
