"""20 Newsgroups and Reuters R8, the training texts, as TF-IDF."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import data_path
from narrows.read import iter_chunks
from narrows.text import Tfidf


class News:
    """11,314 rows in random order, 130,152 columns, 20 classes; from the folder NARROWS_DATA."""

    name, file = "20news", "20news_bydate.jsonl.gz"

    def load(self) -> tuple[Any, np.ndarray]:
        chunks = list(iter_chunks(data_path(self.file), split="train"))
        tfidf = Tfidf()
        for texts, _ in chunks:
            tfidf.update(texts)
        X = sparse.vstack([tfidf.transform(texts) for texts, _ in chunks])
        X, y = sparse.csr_array(X), np.concatenate([y for _, y in chunks])
        order = np.random.default_rng(0).permutation(len(y))  # in the file they are by label
        return X[order], y[order]


class R8(News):
    """5,485 rows in random order, 8 classes, very uneven."""

    name, file = "r8", "r8.jsonl.gz"
