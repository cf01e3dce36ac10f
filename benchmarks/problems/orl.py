"""The ORL faces: few rows, many columns, many classes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import UnavailableError


class Orl:
    """400 dense rows, 10,304 pixels, 40 people, shuffled; from the folder NARROWS_DATA."""

    name = "orl"

    def load(self) -> tuple[Any, np.ndarray]:
        path = Path(os.environ.get("NARROWS_DATA", ".")) / "orl_faces.npz"
        if not path.exists():
            raise UnavailableError("orl_faces.npz is not in the folder NARROWS_DATA")
        file = np.load(path)
        order = np.random.default_rng(0).permutation(len(file["y"]))
        return file["X"][order] / 255.0, file["y"][order]
