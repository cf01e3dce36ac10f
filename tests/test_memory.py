"""Sparse rows are never made dense: wide data fit where an n x d array never would."""

from __future__ import annotations

import subprocess
import sys

import pytest

WIDE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import numpy as np
from scipy import sparse
import narrows

n, d, nnz = 100_000, 10_000_000, 1_000_000
rng = np.random.default_rng(0)
X = sparse.csr_array(
    (np.ones(nnz), rng.integers(0, d, nnz), np.arange(0, nnz + 1, nnz // n)), shape=(n, d)
)
y = rng.integers(0, 4, n)
estimator = narrows.{method}.fit(X, y)
assert estimator.transform(X[:1000]).shape[0] == 1000
if not isinstance(estimator, narrows.MMC | narrows.SRDA):  # whose sums would be too many
    estimator.partial_fit(X[:1000], y[:1000])
    assert estimator.n_samples_seen_ == n + 1000
"""
METHODS = ["OC()", "OCM()", "MMC()", "SRDA()", "IDRQR()", "IOC()", "CCIPCA()"]


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["OCFS(n_features=1000)", *METHODS])
def test_ten_million_columns_under_4_gb(method):
    command = [sys.executable, "-c", WIDE.format(method=method)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=540)
    assert done.returncode == 0, done.stderr
