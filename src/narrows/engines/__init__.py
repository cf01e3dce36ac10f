"""Where a fit runs: in this process, or on a cluster whose workers learn the parts of a data set.

`local.py` is one process, and `here.py` is the same as an engine, for files of which few parts are
read. A cluster is one file with an `engine.Engine` (map, reduce, broadcast, collect) and the public
functions ``fit`` and ``transform``; `ENGINES` lists it. All other files are for every cluster:
`learn.py` is what a worker does with one part, `features.py` what the parts must have in common,
`parts.py` a data set in parts, `tree.py` the sum of their states, and `rows.py` products with
samples that stay on the workers.
"""

from narrows.methods import COLLECTIONS as ENGINES

ENGINES.update(
    dask="narrows.engines.dask",
    dask_expr="narrows.engines.dask",  # of the DataFrames of Dask before 2025
    pyspark="narrows.spark",
)
