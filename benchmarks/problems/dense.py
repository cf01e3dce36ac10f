"""Dense rows: normal about a mean for each class; seeded."""

from __future__ import annotations

from typing import Any

import numpy as np


class Embeddings:
    """Rows of numbers of 32 bits, by default 200,000 of 1,024, in 50 classes."""

    name = "embeddings"

    def __init__(self, rows: int = 200_000, columns: int = 1_024, classes: int = 50):
        self.rows, self.columns, self.classes = rows, columns, classes

    def load(self) -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng(0)
        y = rng.integers(0, self.classes, self.rows)
        few = min(self.rows, self.classes)
        y[:few] = np.arange(few)
        means = 0.3 * rng.standard_normal((self.classes, self.columns), dtype=np.float32)
        X = rng.standard_normal((self.rows, self.columns), dtype=np.float32)
        for start in range(0, self.rows, 10_000):
            rows = slice(start, start + 10_000)
            X[rows] += means[y[rows]]
        return X, y


class Embeddings384(Embeddings):
    """100,000 rows of 384 numbers, 20 classes."""

    name = "embeddings_384"

    def __init__(self) -> None:
        super().__init__(100_000, 384, 20)


class Embeddings768(Embeddings):
    """100,000 rows of 768 numbers, 500 classes."""

    name = "embeddings_768"

    def __init__(self) -> None:
        super().__init__(100_000, 768, 500)


class Embeddings1536(Embeddings):
    """20,000 rows of 1,536 numbers, 20 classes."""

    name = "embeddings_1536"

    def __init__(self) -> None:
        super().__init__(20_000, 1_536, 20)


class Faces(Embeddings):
    """1,638 rows of 8,888 numbers, 126 classes: of the size of the AR faces of Ye et al. (2005)."""

    name = "faces"

    def __init__(self) -> None:
        super().__init__(1_638, 8_888, 126)
