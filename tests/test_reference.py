"""Real text end to end, against the figures that the data README gives."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from narrows.command import cli

pytestmark = [pytest.mark.data, pytest.mark.slow]


def rows_of(path):
    with np.load(path) as archive:
        arrays = dict(archive)
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    indices, indptr = (arrays[name].astype(np.int32) for name in ("indices", "indptr"))
    parts = arrays["data"], indices, indptr  # scikit-learn takes no other indices
    return sparse.csr_array(parts, shape=arrays["shape"]), arrays["y"]


@pytest.mark.parametrize(
    ("name", "method", "size", "reference"),
    [
        ("20news_bydate", "oc", "--n-components=19", 0.825),
        ("20news_bydate", "idrqr", "--n-components=19", 0.821),
        ("20news_bydate", "srda", "--n-components=19", 0.867),
        ("20news_bydate", "onlinesrda", "--n-components=19", 0.863),
        ("r8", "onlinesrda", "--n-components=7", 0.975),
        ("20news_bydate", "ocfs", "--n-features=100", 0.568),
        ("20news_bydate", "ocfs", "--n-features=1000", 0.769),
        ("20news_bydate", "ocfs", "--n-features=10000", 0.850),
    ],
)
def test_micro_f1_of_texts(data, tmp_path, name, method, size, reference, capsys):
    """Default vectoriser: sublinear tf, smooth idf, L2, tokens of one letter and more."""
    model, texts = str(tmp_path / "m.narrows"), str(data / f"{name}.jsonl.gz")
    fit = ["fit", texts, "--split", "train", "--method", method, size, "-o", model, "--json"]
    assert cli.main(fit) == 0
    summary = json.loads(capsys.readouterr().out)
    assert name == "r8" or (summary["rows"], summary["columns"]) == (11_314, 130_152)
    for split in ("train", "test"):
        out = str(tmp_path / f"{split}.npz")
        assert cli.main(["transform", model, texts, "--split", split, "-o", out]) == 0
    (Z, y), (Z_test, y_test) = (rows_of(tmp_path / f"{split}.npz") for split in ("train", "test"))
    assert Z.shape[1] == int(size.split("=")[1])
    classifiers = LinearSVC(random_state=0), KNeighborsClassifier()
    kept = max(each.fit(Z, y).score(Z_test, y_test) for each in classifiers)
    assert kept == pytest.approx(reference, abs=0.01)
