"""Samples as dicts, as River has them: an adapter for one at a time, and batches.

River and pandas are neither needed nor imported. Where River is installed, it accepts `OneByOne` as
a transformer, and as a classifier if its estimator predicts.
"""

from narrows.river.hashing import batches, rows_of
from narrows.river.one_by_one import OneByOne

__all__ = ["OneByOne", "batches", "rows_of"]
