"""Forged model files: refused by name, or as good as any other; never a crash, never a traceback.

`tests/forgery.py` says what is forged, and what is done with a forgery that is not refused.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy import sparse

import narrows
from narrows import LDA, OC, OCFS, PLS, OnlineSRDA
from narrows.command import cli
from narrows.errors import DataError
from tests.cases import labelled
from tests.forgery import KINDS, crc_of, made
from tests.inside import pretend, saved_again

FORGERIES = int(os.environ.get("NARROWS_FORGERIES", "2400"))  # 24,000 take ten minutes
GROUPS = 8 if FORGERIES > 2400 else 1  # processes: each starts and compiles by itself


@pytest.fixture
def bounds_cache(request):
    """A folder for code compiled with checks of bounds, kept until the sources change.

    Numba compiles for most of a minute, and does not notice changes of what a function calls.
    """
    sources = sorted((Path(narrows.__file__).parent / "solve").glob("*.py"))
    checksum = zlib.crc32(b"".join(path.read_bytes() for path in sources))
    return request.config.cache.mkdir(f"bounds-{checksum:08x}")


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(GROUPS))
def test_a_forged_model_is_refused_or_harmless(group, tmp_path, bounds_cache):
    """In a process of its own, in which no index may leave its array."""
    here, count = Path(__file__).parent.parent, FORGERIES // GROUPS
    paths = os.pathsep.join([str(Path(narrows.__file__).parent.parent), str(here)])
    environment = {
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths,
        "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(bounds_cache),
    }  # fmt: skip
    kinds = ",".join(map(str, range(len(KINDS))[group::GROUPS]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.forgery", kinds, "0", str(count), str(tmp_path)],
        cwd=here, env=os.environ | environment, timeout=1200, capture_output=True, text=True,
    )  # fmt: skip
    at = (tmp_path / "at").read_text() if (tmp_path / "at").exists() else "the start"
    assert done.returncode == 0, f"{done.returncode} at {at}: {done.stderr[-3000:]}"
    forged, refused = (int(word) for word in done.stdout.split() if word.isdigit())
    assert forged == count
    assert count / 2 < refused < count  # most are refused, and what is not was used


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_learned_is_what_is_loaded(kind, tmp_path):
    made(kind, tmp_path / "a.narrows")
    saved_again(tmp_path / "a.narrows", tmp_path / "b.narrows")
    assert (tmp_path / "a.narrows").read_bytes() == (tmp_path / "b.narrows").read_bytes()


def header_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["narrows"])


def rewritten(path, arrays=(), **changes):
    """Change arrays and keys of the header of a model (None: remove), with all checksums right."""
    header = header_of(path)
    found = load_file(path) | dict(arrays)
    found = {name: array for name, array in found.items() if array is not None}
    header |= {"checksums": {name: crc_of(a) for name, a in found.items()}} | changes
    for key in ("crc32", *(key for key, value in changes.items() if value is None)):
        del header[key]
    header["crc32"] = zlib.crc32(json.dumps(header).encode())
    save_file(found, path, metadata={"narrows": json.dumps(header)})


@pytest.fixture
def model(tmp_path):
    """The path of a model with 3 classes and 7 features."""
    path = str(tmp_path / "m.narrows")
    narrows.save(OC().fit(*labelled()), path)
    return path


ARRAYS = {
    "tx": [np.zeros((3, 5)), np.zeros((2, 7)), np.full((3, 7), np.nan), np.full((3, 7), -np.inf)],
    "tt": [np.array([1.0, 1, np.nan]), np.array([1.0, -1, 1]), np.ones(3, np.int64)],
    "count": [np.array([1])],
    "map_presence": [np.array(7)],
    "newer": [np.zeros(3)],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_does_not_fit_is_named(model, name):
    for array in ARRAYS[name]:
        narrows.save(OC().fit(*labelled()), model)
        rewritten(model, {f"state.{name}": array})
        with pytest.raises(DataError, match=r"m\.narrows: damaged, or of another version: .*expec"):
            narrows.load(model)


FORGED = [  # a model, changes of its file, and what was expected
    (
        lambda X, y: PLS().partial_fit(X[:0], []), "sums of targets",
        {"arrays": {"state.count": np.array(3), "state.tt": np.ones((1, 1))}},
    ),
    (
        lambda X, y: PLS().fit(X, X[:, 0]), "kept_code",
        {"arrays": {"state.kept_code": np.eye(1, 40, dtype=np.int64)[0]}},
    ),
    (lambda X, y: LDA(solver="gsvd").fit(X, y), "state", {"progress": {"base": None}}),
    (
        lambda X, y: OCFS("cv").fit(X, y), "finite sums",
        {"arrays": {f"state.fold{k}_tx": np.full((3, 7), 1e308) for k in range(5)}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(FORGED)))
def test_a_state_that_no_samples_have_is_refused(model, k):
    fitted, word, changes = FORGED[k]
    narrows.save(fitted(*labelled()), model)
    rewritten(model, **changes)
    with pytest.raises(DataError, match=rf"m\.narrows: .*expected .*{word}|{word}: expected"):
        narrows.load(model)


HEADERS = [
    {"parameters": {"n_components": None, "gamma": 1}},
    {"parameters": {"n_components": "x"}},
    {"parameters": {"priors": {"array": ["a"], "dtype": "|O"}}},
    {"parameters": {"priors": {"dtype": "<f8"}}},
    {"parameters": 5},
    {"labels": "<U999999999"},
    {"labels": 3},
    {"source": {"zero_based": 1}},
    {"source": {"zero_based": None, "label": None, "text": None, "newer": 1}},
    {"format": 5, "library": "9.9"},
    *({"estimator": name} for name in ("Nope", "Moments", "load", "__builtins__")),
    *({name: None} for name in ("format", "estimator", "parameters", "checksums", "labels")),
]


@pytest.mark.parametrize("changes", HEADERS, ids=str)
def test_a_header_that_does_not_fit_is_an_error_that_names_the_file(model, changes):
    rewritten(model, **changes)
    with pytest.raises(DataError, match=r"m\.narrows: "):
        narrows.load(model)


@pytest.mark.parametrize("text", ["[" * 10**6, '{"format": ' + "[" * 10**6, "3", "{}", "null"])
def test_a_header_that_is_none_is_an_error_that_names_the_file(model, capsys, text):
    save_file(load_file(model), model, metadata={"narrows": text})
    assert cli.main(["info", model]) == 1
    assert capsys.readouterr().err.startswith(f"narrows: {model}: expected a narrows header")


def test_a_pipeline_is_no_checkpoint(model):
    made("pipeline of tables", model)
    rewritten(model, progress={"at": [0]})
    with pytest.raises(DataError, match="expected a model"):
        narrows.load(model)


def test_what_is_shown_of_directions_is_known(model, capsys):
    rewritten(model, directions=["a"])
    assert cli.main(["info", model]) == 0
    assert capsys.readouterr().err == ""


def test_a_small_file_asks_for_no_large_array(model):
    rewritten(model, {
        "state.labels.text": np.zeros(0, np.uint8), "state.labels.ends": np.zeros(0, np.int64),
        "state.tt": np.zeros(0), "state.tx": np.zeros((0, 2**40)),
    })  # fmt: skip
    with pytest.raises(DataError, match=r"m\.narrows: .*tx: expected shape"):
        narrows.load(model)


@pytest.mark.parametrize("name", ["first", "origin", "clock"])
def test_arrays_of_a_regression_are_checked(name, tmp_path):
    path, model = tmp_path / "m.narrows", OnlineSRDA(keep=20).partial_fit(*labelled())
    narrows.save(model, path)
    array = load_file(path)[f"state.{name}"]
    for wrong in (array[..., 1:], np.full_like(array, np.nan), array.astype(np.float32), None):
        narrows.save(model, path)
        rewritten(path, {f"state.{name}": wrong})
        with pytest.raises(DataError, match=r"m\.narrows: "):
            narrows.load(path)


def test_places_of_non_zeros_are_looked_at(tmp_path, monkeypatch):
    pretend(monkeypatch, "non-zeros")
    X, y = labelled(d=40, sparse=True)
    X[:, 3:] = 0.0
    path = tmp_path / "m.narrows"
    model = OC().fit(sparse.csr_array(X), y)
    arrays = model.moments_.to_arrays()
    for name, at, value in (
        ("indices", 0, 3), ("indices", -1, -1), ("indptr", 0, 1), ("indptr", -1, 10**6),
        ("indptr", 5, 1), ("shape", 0, 4), ("shape", 1, 10**9), ("data", 0, np.inf),
    ):  # fmt: skip
        narrows.save(model, path)
        forged = arrays[f"tx_{name}"].copy()
        forged[at] = value
        rewritten(path, {f"state.tx_{name}": forged})
        with pytest.raises(DataError, match=r"m\.narrows: .*tx_"):
            narrows.load(path)


@pytest.mark.parametrize(
    ("text", "ends"),
    [(b"ab\xffd", [1, 2, 4]), (b"abcd", [1, 2, 3]), (b"abc", [2, 1, 3]), (b"abc", [-1, 2, 3])],
)
def test_text_that_is_no_utf_8_is_an_error_that_names_the_file(model, text, ends):
    labels = {"text": np.frombuffer(text, np.uint8), "ends": np.array(ends)}
    rewritten(model, {f"state.labels.{name}": array for name, array in labels.items()})
    with pytest.raises(DataError, match=r"m\.narrows: .*state\.labels"):
        narrows.load(model)


PROGRESS = {
    "at": [[0, 0], [5, 0, 0], [0, -1, 3], ["x"], {"a": 1}], "passes": [-1, 1, "x"],
    "heads": [[], [[1]], [[]], [[-1, 2]], [3]], "several_labels": ["x"],
    "inputs": [[[["a.svm"]]]], "options": [[1]], "base": [[]],
}  # fmt: skip


def test_a_checkpoint_whose_progress_does_not_fit_is_named(run):
    command = "fit a.svm --method oc --one-based -o m.narrows --checkpoint c.narrows --every 300"
    command += " --chunk-rows 300 --resume"
    rows = "".join(f"{i % 2} 1:{i % 7} 2:{i % 5}\n" for i in range(600))
    assert run(command, a__svm=rows + "x")[0] == 1
    shutil.copy("c.narrows", "whole.narrows")
    Path("a.svm").write_text(rows + "\n")  # as long as before
    progress = header_of("c.narrows")["progress"]
    for key, values in PROGRESS.items():
        for value in values:
            shutil.copy("whole.narrows", "c.narrows")
            rewritten("c.narrows", progress=progress | {key: value})
            status, _, said = run(command)
            assert status in (1, 2), (key, value)
            assert re.fullmatch(r"narrows: c\.narrows: .*\n", said), (key, value, said)
    os.rename("whole.narrows", "c.narrows")
    assert run(command)[0] == 0
