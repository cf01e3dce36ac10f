"""20 Newsgroups and Reuters R8, the training texts, as TF-IDF."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import UnavailableError
from narrows.read import iter_chunks
from narrows.text import Tfidf


class News:
    """11,314 rows in random order, 130,152 columns, 20 classes; from the folder NARROWS_DATA."""

    name, file = "20news", "20news_bydate.jsonl.gz"

    def load(self) -> tuple[Any, np.ndarray]:
        path = Path(os.environ.get("NARROWS_DATA", ".")) / self.file
        if not path.exists():
            raise UnavailableError(f"{self.file} is not in the folder NARROWS_DATA")
        chunks = list(iter_chunks(path, split="train"))
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
