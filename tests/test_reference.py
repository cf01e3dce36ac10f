"""Real text end to end, against the figures that the data README gives."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

import narrows
from narrows import cli

pytestmark = [pytest.mark.data, pytest.mark.slow]


def rows_of(path):
    with np.load(path) as archive:
        arrays = dict(archive)
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return sparse.csr_array(parts, shape=arrays["shape"]), arrays["y"]


@pytest.fixture(scope="module")
def mails(data):
    return data / "20news_bydate.jsonl.gz"


@pytest.mark.parametrize(
    ("method", "size", "reference"),
    [
        ("oc", "--n-components=19", 0.825),
        ("ocfs", "--n-features=100", 0.568),
        ("ocfs", "--n-features=1000", 0.769),
        ("ocfs", "--n-features=10000", 0.850),
    ],
)
def test_micro_f1_of_20_newsgroups(mails, tmp_path, method, size, reference, capsys):
    """Default vectoriser: sublinear tf, smooth idf, L2, tokens of one letter and more."""
    model = str(tmp_path / "m.narrows")
    fit = ["fit", str(mails), "--split", "train", "--method", method, size, "-o", model, "--json"]
    assert cli.main(fit) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["columns"]) == (11_314, 130_152)
    for split in ("train", "test"):
        out = str(tmp_path / f"{split}.npz")
        assert cli.main(["transform", model, str(mails), "--split", split, "-o", out]) == 0
    X, y = rows_of(tmp_path / "train.npz")
    X_test, y_test = rows_of(tmp_path / "test.npz")
    assert X.shape[1] == int(size.split("=")[1])
    f1 = np.mean(LinearSVC(random_state=0).fit(X, y).predict(X_test) == y_test)
    assert f1 == pytest.approx(reference, abs=0.01)


def test_the_command_line_learns_what_python_does(mails, tmp_path):
    model = tmp_path / "m.narrows"
    fit = ["fit", str(mails), "--split", "train", "--method", "oc", "-o", str(model)]
    assert cli.main(fit) == 0
    with gzip.open(mails, "rt", encoding="utf-8") as file:
        train = [row for row in map(json.loads, file) if row["split"] == "train"]
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    X = vectorizer.fit_transform(row["text"] for row in train)
    oc = narrows.OC().fit(X, [row["label"] for row in train])
    loaded = narrows.load(model)
    np.testing.assert_allclose(loaded.components_, oc.components_, atol=1e-9)
    assert loaded.source_.names.tolist() == vectorizer.get_feature_names_out().tolist()
