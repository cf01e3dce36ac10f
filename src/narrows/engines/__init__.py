"""Where a fit runs: in this process, or on a cluster whose workers learn the parts of a data set.

`local.py` is one process. A cluster is one file with an `engine.Engine` (map, and reduce) and the
public functions ``fit`` and ``transform``; `ENGINES` lists it. All other files are for every
engine: `learn.py` is one pass over chunks of samples, and what a worker does with one part; and
`parts.py` is a data set in parts. All learn by the plan of the method (`narrows.methods.plan`), and
differ only in how they add up the samples of a pass.
"""

from narrows.methods import COLLECTIONS as ENGINES

ENGINES.update(
    dask="narrows.engines.dask",
    dask_expr="narrows.engines.dask",  # of the DataFrames of Dask before 2025
    pyspark="narrows.spark",
)
