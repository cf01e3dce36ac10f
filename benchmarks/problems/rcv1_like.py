"""Rows shaped like those of RCV1: Zipf columns, log-normal lengths, some words of a class's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

FOUR = np.array([0.47, 0.15, 0.30, 0.08])  # shares of the classes


class RCV1Like:
    """200,000 rows, 47,236 columns, about 80 non-zeros a row, 4 uneven classes; seeded."""

    name = "rcv1_like"

    def __init__(
        self,
        rows: int = 200_000,
        columns: int = 47_236,
        seed: int = 0,
        priors: np.ndarray = FOUR,
    ):
        self.rows, self.columns, self.seed, self.priors = rows, columns, seed, priors

    def load(self) -> tuple[Any, np.ndarray]:
        n, d = self.rows, self.columns
        rng = np.random.default_rng(self.seed)
        y = rng.choice(len(self.priors), n, p=self.priors)
        lengths = np.maximum(5, rng.lognormal(np.log(90), 0.5, n)).astype(np.int64)
        zipf = np.cumsum(1 / np.arange(1, d + 1))
        words = np.searchsorted(zipf, rng.random(lengths.sum()) * zipf[-1])
        # a quarter of the words are drawn from the class's own ordering of the vocabulary
        own = self._orders(rng)
        chosen = rng.random(len(words)) < 0.25
        words[chosen] = own(np.repeat(y, lengths)[chosen], words[chosen])
        counts = sparse.csr_array(
            (np.ones(len(words)), words.astype(np.int32), np.append(0, np.cumsum(lengths))),
            shape=(n, d),
        )
        counts.sum_duplicates()
        X = sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
        # as scikit-learn's own vectorisers have them, and its linear models want them
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, y

    def _orders(self, rng: np.random.Generator) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """What makes words of a class's own of its label and of words."""
        orders = np.array([rng.permutation(self.columns) for _ in self.priors])
        return lambda label, word: orders[label, word]


class RCV1Like10k(RCV1Like):
    """Ten thousand such rows."""

    name = "rcv1_like_10k"

    def __init__(self) -> None:
        super().__init__(rows=10_000)


class RCV1Like100k(RCV1Like):
    """A hundred thousand such rows."""

    name = "rcv1_like_100k"

    def __init__(self) -> None:
        super().__init__(rows=100_000)


class RCV1LikeLong(RCV1Like):
    """A million such rows: the papers' whole corpus and more."""

    name = "rcv1_like_1m"

    def __init__(self) -> None:
        super().__init__(rows=1_000_000)


class _ManyClasses(RCV1Like):
    """Classes of 1/1, 1/2, 1/3, … of the largest; no table of an order for each."""

    def __init__(self, rows: int, columns: int, classes: int):
        shares = 1 / np.arange(1, classes + 1)
        super().__init__(rows, columns, priors=shares / shares.sum())

    def _orders(self, rng: np.random.Generator) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        shift = rng.integers(0, self.columns, len(self.priors))
        return lambda label, word: (word * 7_919 + shift[label]) % self.columns  # a prime


class Wide(_ManyClasses):
    """100,000 rows, a million columns, 100 classes."""

    name = "wide"

    def __init__(self) -> None:
        super().__init__(100_000, 1_000_000, 100)


class ManyClasses(_ManyClasses):
    """100,000 rows, 47,236 columns, 1,000 classes."""

    name = "many_classes"

    def __init__(self) -> None:
        super().__init__(100_000, 47_236, 1_000)
