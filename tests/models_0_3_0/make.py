"""Make these model files and checkpoints, and what they answer, with version 0.3.0 of narrows.

Run ``python -m tests.models_0_3_0.make`` where 0.3.0 is installed. `tests/test_old_models.py`
holds later versions to the answers.
"""

import os
from pathlib import Path

import numpy as np

import narrows
from narrows import (
    LDA,
    PLS,
    SRDA,
    CorrelationFS,
    ForwardFS,
    KernelSRDA,
    OnlineSRDA,
    ReducedRank,
)
from tests.models_0_3_0 import before, checkpoints

MODELS = before.MODELS | {
    "forwardfs": (ForwardFS(n_features=3), False, "text"),
    "forwardfs_groups": (ForwardFS(n_features=2, groups=list("aabbccc")), False, "text"),
    "forwardfs_target": (ForwardFS(n_features=3), False, "target"),
    "correlationfs": (CorrelationFS(n_features=3), True, "target"),
    "pls": (PLS(standardize=True), False, "target"),
    "reducedrank": (ReducedRank(), False, "target"),
    "srda_sums": (SRDA(keep=0), False, "text"),
    "srda_standardize": (SRDA(standardize=[0, 3]), False, "text"),
    "kernelsrda_standardize": (KernelSRDA(n_hidden=10, standardize=True), False, "text"),
    "lda_more": (LDA(n_components=5), False, "text"),
    "onlinesrda_default": (OnlineSRDA(), False, "text"),
}
FILES = before.FILES | {
    "from_table": ("t.csv", "--table --label class --method srda"),
    "from_table_columns": ("t.csv", "--table --label class --method forwardfs --n-features 2"),
    "from_targets": ("t.csv", "--table --target length"),
    "from_pairs": ("a.jsonl", "--method oc --ngram-range 1,2 --max-df 0.9"),
}
RUNS = checkpoints.RUNS | {
    "table": ("t.csv", "--table --label class --method srda --alpha 1", 20, 2),
    "table_target": ("t.csv", "--table --target length --method pls", 20, 2),
}


def write_table(path):
    """Write a table of numbers and categories, of which some are missing."""
    rng, codes = np.random.default_rng(11), np.arange(60) % 3
    lines = ["weight,colour,day,length,class"]
    for k, code in enumerate(codes.tolist()):
        weight = "" if k % 11 == 5 else f"{rng.normal(code):.3f}"
        colour = "" if k % 13 == 7 else ["red", "blue", "green"][int(rng.integers(3)) % (code + 1)]
        length = f"{rng.normal(2 * code):.3f}"
        lines.append(f"{weight},{colour},2026-01-{k % 28 + 1:02},{length},{'abc'[code]}")
    path.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    assert narrows.__version__ == "0.3.0", narrows.__version__
    folder = Path(__file__).parent
    write_table(folder / "t.csv")
    before.make(folder, MODELS, FILES)
    os.chdir(folder)
    checkpoints.make(RUNS)
    for name in ("m.narrows", "reduced.npz"):
        (folder / name).unlink()
