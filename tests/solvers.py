"""The functions on arrays that tests compare with explicit matrices, from `narrows.solve`.

No other file of tests imports that package, so that its modules can be merged and renamed.
"""

# ruff: noqa: F401

from __future__ import annotations

from narrows.solve import kernels, products
from narrows.solve.arrays import as_numpy, samples_as_numpy
from narrows.solve.codec import from_arrays, to_arrays
from narrows.solve.eigen import lanczos
from narrows.solve.exact import Centred, lsqr
from narrows.solve.paired import METRICS, HeldOutPredictions, difference, gradient, metric_of, score
from narrows.solve.products import cores
from narrows.solve.regression import DiagonalRLS
from narrows.solve.regression import UpdateRule as RuleOfRegression
from narrows.solve.regression_read import RegressionReading, is_odd, resolved
from narrows.solve.regression_steps import FACTOR, QB, REPLAYS, S2
from narrows.solve.scatter import UNIT, regressions
