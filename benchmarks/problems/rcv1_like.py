"""Rows shaped like those of RCV1: Zipf columns, log-normal lengths, some words of a class's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer


class RCV1Like:
    """200,000 rows, 47,236 columns, about 80 non-zeros a row, 4 uneven classes; seeded."""

    name = "rcv1_like"

    def __init__(self, rows: int = 200_000, columns: int = 47_236, seed: int = 0):
        self.rows, self.columns, self.seed = rows, columns, seed

    def load(self) -> tuple[Any, np.ndarray]:
        n, d = self.rows, self.columns
        rng = np.random.default_rng(self.seed)
        priors = np.array([0.47, 0.15, 0.30, 0.08])
        y = rng.choice(len(priors), n, p=priors)
        lengths = np.maximum(5, rng.lognormal(np.log(90), 0.5, n)).astype(np.int64)
        zipf = np.cumsum(1 / np.arange(1, d + 1))
        words = np.searchsorted(zipf, rng.random(lengths.sum()) * zipf[-1])
        # a quarter of the words are drawn from the class's own ordering of the vocabulary
        orders = np.array([rng.permutation(d) for _ in priors])
        own = rng.random(len(words)) < 0.25
        words[own] = orders[np.repeat(y, lengths)[own], words[own]]
        counts = sparse.csr_array(
            (np.ones(len(words)), words.astype(np.int32), np.append(0, np.cumsum(lengths))),
            shape=(n, d),
        )
        counts.sum_duplicates()
        X = sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
        # as scikit-learn's own vectorisers have them, and its linear models want them
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, y


class RCV1LikeLong(RCV1Like):
    """A million such rows: the papers' whole corpus and more."""

    name = "rcv1_like_1m"

    def __init__(self) -> None:
        super().__init__(rows=1_000_000)
