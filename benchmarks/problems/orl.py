"""The ORL faces: few rows, many columns, many classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import data_path


class Orl:
    """400 dense rows, 10,304 pixels, 40 people, shuffled; from the folder NARROWS_DATA."""

    name = "orl"

    def load(self) -> tuple[Any, np.ndarray]:
        file = np.load(data_path("orl_faces.npz"))
        order = np.random.default_rng(0).permutation(len(file["y"]))
        return file["X"][order] / 255.0, file["y"][order]
