"""Real sets of sparse rows kept as the parts of a matrix, and tables; from NARROWS_DATA."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from benchmarks.harness import data_path
from narrows.read import iter_chunks


class _Parts:
    name: ClassVar[str]

    def load(self) -> tuple[Any, np.ndarray]:
        file = np.load(data_path(f"{self.name}.npz"))
        parts = file["data"].astype(np.float64), file["indices"], file["indptr"]
        X = sparse.csr_array(parts, shape=tuple(file["shape"]))
        order = np.random.default_rng(0).permutation(X.shape[0])
        X = X[order]
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, self._labels(file)[order]

    def _labels(self, file: Any) -> Any:
        return file["y"]


class RCV1FourClasses(_Parts):
    """23,428 documents of RCV1, 47,236 terms, four topics."""

    name = "rcv1_4class"


class Tr41(_Parts):
    """878 texts, 7,454 terms, 10 classes."""

    name = "tr41"


class Re0(_Parts):
    """1,504 texts, 2,886 terms, 13 classes."""

    name = "re0"


class Re1(_Parts):
    """1,657 texts, 3,758 terms, 25 classes."""

    name = "re1"


class SpamMails(_Parts):
    """9,324 mails, 39,916 words, present or not, two classes; in random order."""

    name = "katakis_spam_stream"


class RCV1Topics(_Parts):
    """27,613 documents of RCV1, 47,236 terms, 102 topics, several a document."""

    name = "rcv1_topics"

    def _labels(self, file: Any) -> Any:
        places = file["yindices"], file["yindptr"]
        return sparse.csr_array((np.ones(len(places[0])), *places), shape=tuple(file["yshape"]))


class Electricity:
    """45,312 dense rows of 6 numbers, two classes; in the order of time."""

    name = "electricity_stream"

    def load(self) -> tuple[Any, np.ndarray]:
        [(X, y)] = iter_chunks(data_path(f"{self.name}.csv"), chunk_rows=10**9)
        return X, y


class Waveform(Electricity):
    """5,000 dense rows of 21 numbers, three classes."""

    name = "waveform"
