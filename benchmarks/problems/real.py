"""Real sets of sparse rows that are kept as the parts of a matrix; from the folder NARROWS_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from benchmarks.harness import UnavailableError


class _Parts:
    name: ClassVar[str]

    def load(self) -> tuple[Any, np.ndarray]:
        path = Path(os.environ.get("NARROWS_DATA", ".")) / f"{self.name}.npz"
        if not path.exists():
            raise UnavailableError(f"{path.name} is not in the folder NARROWS_DATA")
        file = np.load(path)
        parts = file["data"].astype(np.float64), file["indices"], file["indptr"]
        X = sparse.csr_array(parts, shape=tuple(file["shape"]))
        order = np.random.default_rng(0).permutation(X.shape[0])
        X = X[order]
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, file["y"][order]


class RCV1FourClasses(_Parts):
    """23,428 documents of RCV1, 47,236 terms, four topics."""

    name = "rcv1_4class"


class Tr41(_Parts):
    """878 texts, 7,454 terms, 10 classes."""

    name = "tr41"
