"""Files at addresses, which pyarrow's file systems read; none of these tests needs a network."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

import narrows
from narrows.command.cli import main
from narrows.errors import DataError, ParameterError
from narrows.read import Dataset, iter_chunks
from tests import test_kinds
from tests.cases import labelled
from tests.inside import Options, expand_patterns, fit_in_parts
from tests.test_read import gathered


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """A folder that is the bucket of s3://bucket, and the file system of each address asked for."""
    root = tmp_path / "objects"
    (root / "bucket").mkdir(parents=True)
    asked = []

    class Stored:
        @staticmethod
        def from_uri(address):
            asked.append(address)
            if address.startswith("gs:"):
                raise OSError("Could not resolve the host\nin 3 tries")
            if not address.startswith("s3:"):
                return FileSystem.from_uri(address)
            path = address.removeprefix("s3://").partition("?")[0]
            return SubTreeFileSystem(str(root), LocalFileSystem()), path.replace("%20", " ")

    monkeypatch.setattr("pyarrow.fs.FileSystem", Stored)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Stored.folder, Stored.asked = root / "bucket", asked
    return Stored


@pytest.mark.parametrize(("name", "write"), test_kinds.OF_NUMBERS)
def test_every_kind_is_read_at_an_address(bucket, name, write):
    if name.endswith(".npy"):
        pytest.skip("its labels are another file")
    write(bucket.folder / name, False)
    options = {"label": "label"} if name.endswith(".h5ad") else {}
    for address in (f"s3://bucket/{name}?region=x", f"file://{bucket.folder}/{name}"):
        for found, expected in zip(gathered(address, **options), test_kinds.samples(), strict=True):
            np.testing.assert_array_equal(found, expected)
        dataset = Dataset([address], Options(chunk_rows=9, **options))
        assert len([*dataset]) == 6
        assert 0 < dataset.position <= dataset.size == (bucket.folder / name).stat().st_size


def test_patterns_list_a_folder(bucket, capsys):
    X, y = labelled()
    for k, rows in enumerate(np.array_split(np.arange(60), 3)):
        frame = pd.DataFrame(X[rows]).assign(label=y[rows])
        frame.to_csv(bucket.folder / f"part{k}.csv", index=False)
    (bucket.folder / "deep").mkdir()
    for name in ("other.csv", "a b.csv", "deep/part9.csv"):
        (bucket.folder / name).write_text("")
    assert expand_patterns(["s3://bucket/a*.csv"]) == ["s3://bucket/a%20b.csv"]
    expected = narrows.SRDA().fit_transform(X, y)
    for pattern in ("s3://bucket/part*.csv", "s3://bucket/part[0-2].csv?region=x"):
        assert main(["fit", pattern, "--method", "srda", "-o", "m.narrows"]) == 0
        for found in (narrows.load("m.narrows"), fit_in_parts(narrows.SRDA(), [pattern])):
            np.testing.assert_allclose(found.transform(X), expected, rtol=1e-6, atol=1e-9)
    for pattern, status in (("*/part9.csv", 1), ("none*.csv", 2)):
        assert main(["predict", "m.narrows", f"s3://bucket/{pattern}", "-o", "p.csv"]) == status
        assert f"s3://bucket/{pattern.replace('*/', 'deep/')}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "kind", "message"),
    [
        ("s3://bucket/none.csv", FileNotFoundError, "no such file"),
        ("s3://bucket", ParameterError, "got a folder"),
        ("s3://bucket/a.csv", ParameterError, "got a folder"),
        ("s3://bucket/b.csv", DataError, ":3: column 'a'"),
        ("gs://bucket/a.csv", DataError, "Could not resolve the host. Check"),
        ("unknown://bucket/a.csv", ParameterError, "an address that pyarrow reads"),
        ("http://a.org/a.csv", ParameterError, "got an address. Download it"),
    ],
)
def test_what_is_wrong_names_the_address(bucket, capsys, address, kind, message):
    (bucket.folder / "a.csv").mkdir()
    (bucket.folder / "b.csv").write_text("a,label\n1,2\nx,2\n")
    with pytest.raises(kind, match=message) as caught:
        next(iter_chunks(address))
    assert address in str(caught.value)
    assert "\n" not in str(caught.value)
    assert main(["fit", address, "--method", "oc", "-o", "m.narrows"]) != 0
    assert address in capsys.readouterr().err


def test_a_lost_connection_is_named(bucket, monkeypatch):
    (bucket.folder / "a.csv").write_text("a,label\n" + "1,2\n" * 10)
    system, _ = bucket.from_uri("s3://bucket")

    class Lost(pa.PythonFile):
        def readinto(self, buffer):
            raise OSError("reset by peer")

    class Broken:
        get_file_info = system.get_file_info

        def open_input_file(self, path):
            return Lost(io.BytesIO(), "r")

    monkeypatch.setattr(bucket, "from_uri", lambda address: (Broken(), "bucket/a.csv"))
    with pytest.raises(DataError, match=r"s3://bucket/a\.csv: expected .* an error: reset by"):
        next(iter_chunks("s3://bucket/a.csv"))


def test_no_address_is_asked_for_that_was_not_typed(bucket, capsys):
    X, y = labelled()
    narrows.save(narrows.OC().fit(X, y), "m.narrows")
    np.save("a.npy", X)
    assert main(["transform", "m.narrows", "a.npy", "-o", "b.npy"]) == 0
    for command in (
        "transform m.narrows a.npy -o s3://bucket/b.npy", "info s3://bucket/m.narrows",
        "fit a.npy --label s3://bucket/y.npy --method oc -o n.narrows",
    ):  # fmt: skip
        assert main(command.split()) != 0
        assert "s3://bucket" in capsys.readouterr().err
    assert bucket.asked == []
