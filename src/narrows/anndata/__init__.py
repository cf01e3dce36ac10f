"""Single cells: ranks the genes of groups, and reduces the cells, of an AnnData of any size.

Results are stored where those of scanpy are, so that its plots and tables show them. scanpy is
neither needed nor imported; nor is anndata, unless its data are in a file.
"""

from narrows.anndata.ranking import rank_genes
from narrows.anndata.reducing import reduce

__all__ = ["rank_genes", "reduce"]
