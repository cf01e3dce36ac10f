"""Where a fit runs: each engine adds up the states of the parts of a data set.

An engine does three things, and the estimator says what they are: the state of a part
(`local.learn`, by `update_state` of its chunks), the sum of two (`add_states`), and what is learnt
from the sum of all (`fit_state`). An engine whose parts are elsewhere gives an object with
`sum(estimator)`, and for methods of products with the rows `rows(estimator)`, to `fit_parts`.
"""

ENGINES = {"dask": "narrows.engines.dask"}  # the package of a collection: who fits it
