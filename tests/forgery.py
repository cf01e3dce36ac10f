"""Model files whose checksums are right and whose contents are not: made, loaded and used.

Run as a program it forges one kind of model so many times, in a process that may die of it::

    python -m tests.forgery KIND FIRST COUNT FOLDER

Before each forgery its number is written to FOLDER/at, so that a crash has a name.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import resource
import signal
import sys
import warnings
import zlib
from functools import partial

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

import narrows
from narrows import (
    IDRQR,
    IG,
    IOC,
    OC,
    OCFS,
    PLS,
    SRDA,
    CorrelationFS,
    FisherFS,
    KernelSRDA,
    OnlineSRDA,
)
from narrows.command import cli
from narrows.engines import local
from narrows.errors import DataError
from narrows.read import Source
from narrows.table import TableEncoder
from narrows.text import HashedTfidf, Tfidf
from tests import test_ways
from tests.cases import ALL, bytes_of, labelled, widened
from tests.inside import goes_on, pretend, remember, save_unfinished, show

MEMORY = 4 << 30  # bytes more than now that a child may ask for
SECONDS = 200  # for one forgery, before it counts as one that never ends
EXPECTED = ValueError, MemoryError  # of what is done with a forgery; `load` has DataError alone
D = 7
TEXTS = ["sea", "ship", "salt"]
TABLE = {
    "length": [1.0, 4.0, None, 9.0, 16.0, 25.0] * 10,
    "kind": ["sea", "land", "sea", None, "air", "land"] * 10,
    "day": [f"2026-01-{k % 28 + 1:02} 1{k % 7}:00" for k in range(60)],
    "note": [f"the {k} ships at sea" for k in range(60)],
    "key": [f"k{k}" for k in range(60)],
}


# -- what is forged ------------------------------------------------------------------------------


def _fitted(case):
    return lambda: case.new().fit(case.form(case.labelled()[0]), case.labelled()[1])


def _several(y):
    """Indicators of several labels a sample."""
    Y = np.eye(3, dtype=int)[np.unique(y, return_inverse=True)[1]]
    Y[::5, 1], Y[::10] = 1, 0
    return Y


def _begun(model):
    X, y = labelled()
    return model.partial_fit(X[:0], y[:0])


def _online(several=False, **parameters):
    X, y = labelled(sparse=True)
    X[::5] = 0.0
    y = _several(y) if several else y
    model = OnlineSRDA(random_state=0, **parameters)
    return model.partial_fit(X.astype(np.float32), y).partial_fit(X[::-1], y[::-1])


def _as_non_zeros(model):
    """A model whose tables are kept as non-zeros, some of which came later."""
    X, y = labelled(d=40, sparse=True)
    X[:, 5:] = 0.0
    y = X[:, 1] if isinstance(model, CorrelationFS) else y
    rows = sparse.csr_array(X)
    with pytest.MonkeyPatch.context() as patched:
        pretend(patched, "non-zeros, many of which wait")
        return model.fit(rows, y).partial_fit(rows[:1], y[:1])


def _of_texts(vectoriser):
    texts, y = ["the sea", "a tree", "the sea of trees", "sand"] * 3, ["w", "l", "l", "w"] * 3
    vectoriser.update(texts)
    model = OC().fit(vectoriser.transform(texts), y)
    return remember(model, Source(label="l", text="t", tfidf=vectoriser))


def _named():
    model = OCFS().fit(*labelled())
    return remember(model, Source(zero_based=False, columns=tuple("abcdefg")))


def _crossed(n, form=np.asarray, gone=0, later=0, **parameters):
    """A model of cross products, some of whose samples may still wait to be added."""
    X, y = labelled(n=n, sparse=form is not np.asarray)
    model = SRDA(**parameters).partial_fit(form(X), y).partial_fit(form(X[:later]), y[:later])
    if gone:
        model.fit_moments(model.moments_ - SRDA().partial_fit(form(X[:gone]), y[:gone]).moments_)
    return model


def _wide():
    """A model of more features than there are products for."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((20, 8193), density=0.01, rng=rng, format="csr")
    return PLS().fit(sparse.csr_array(X), rng.normal(size=(20, 2)))


def _in_two(name):
    """One of the models that all ways to learn are compared with, and an update of it."""
    model, X, y = test_ways.made(name)
    return clone(model).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])


def _pipeline(*steps):
    texts, y = [f"{word} of the {word}" for word in TEXTS for _ in range(4)], labelled()[1][:12]
    return make_pipeline(*steps).fit(texts, y)


KINDS = {
    **{case.name: _fitted(case) for case in ALL},
    **{f"{name}, updated": partial(_in_two, name) for name in test_ways.MODELS},
    "kernel, before the map": lambda: KernelSRDA(n_hidden=9).partial_fit(*labelled()),
    "faded": lambda: OCFS(half_life=9).partial_fit(*labelled()),
    "fresh": partial(_begun, OC()),
    "fresh stream": partial(_begun, IOC()),
    "fresh regression": partial(_begun, OnlineSRDA()),
    "widened": lambda: widened(OC().fit(*labelled()), 9),
    "merged": lambda: OC().fit(*labelled()).merge(OC().fit(*labelled(seed=1, c=4))),
    "first pass": lambda: (IDRQR(), 1),
    "second pass": lambda: (IDRQR(), 2),
    "first pass of a kernel": lambda: (KernelSRDA(n_hidden=9), 1),
    "second pass of a kernel": lambda: (KernelSRDA(n_hidden=9), 2),
    "kernel, emptied": lambda: KernelSRDA(n_hidden=9).fit(*labelled()).emptied(),
    "checkpoint": lambda: (OnlineSRDA(keep=20), 1),
    "columns": _named,
    "products, less some": partial(_crossed, 600, gone=300),
    "samples that wait": partial(_crossed, 50),
    "sparse samples that wait": partial(_crossed, 50, sparse.csr_array),
    "products and samples that wait": partial(_crossed, 600, later=20),
    "texts": partial(_of_texts, Tfidf(stop_words=["of"])),
    "hashed texts": partial(_of_texts, HashedTfidf(32, "english")),
    "pipeline": partial(_pipeline, Tfidf(min_df=2), SRDA()),
    "pipeline of three": partial(_pipeline, HashedTfidf(64), "passthrough", OCFS(), OC()),
    "encoder": lambda: TableEncoder(3, 0.1, drop=["key"]).fit(TABLE),
    "pipeline of tables": lambda: make_pipeline(TableEncoder(max_terms=9), SRDA()).fit(
        TABLE, ["w", "l", "l"] * 20
    ),
    "folds of non-zeros": partial(_as_non_zeros, IG(n_features="cv")),
    "non-zeros": partial(_as_non_zeros, OC()),
    "non-zeros, squared": partial(_as_non_zeros, FisherFS(priors="balanced")),
    "non-zeros of numbers": partial(_as_non_zeros, CorrelationFS()),
    "numbers, all at once": _wide,
    "online": partial(_online, keep=30),
    "online, faded": partial(_online, keep=12, half_life=3),
    "online, several": partial(_online, several=True, keep=20),
}


def made(kind, path):
    """Write a valid model, or checkpoint, of a kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = copy.deepcopy(KINDS[kind])()
        if isinstance(model, tuple):
            save_unfinished(*model, *labelled(), path)
        else:
            narrows.save(model, path)


# -- how -----------------------------------------------------------------------------------------

ODD = [
    np.nan, np.inf, -np.inf, 1e300, -1e300, 1e19, 2.0**53, 2**31, 2**62, -(2**63), -1, 0, 1, 7, 999,
]  # fmt: skip
DEEP = [[]]
for _ in range(200):
    DEEP = [DEEP]
JUNK = [
    None, [], {}, "", "x", "\ud800", -1, 0, 1, 2, 10**12, 10**400, 0.5, 1e300, float("nan"), True,
    [1, 2], ["a"], {"a": 1}, DEEP, {"array": [1, 2], "dtype": "|O"}, {"array": [1]}, [[[1]]],
    {"array": [1], "dtype": "<U999999999"}, {"array": [[1], [1, 2]], "dtype": "<f8"},
    {"array": DEEP, "dtype": "<f8"}, {"array": [0.5, 0.5, 1], "dtype": "<f8"}, [{"array": 1}],
    {"array": [], "dtype": "V8"},
]  # fmt: skip
MORE = [
    "state.squares_class", "state.squares_total", "state.origin", "state.sums", "state.shift",
    "state.basis", "state.sums_rows", "state.classes.text", "state.classes", "input.names.text",
    "input.names", "source.columns", "source.columns.text", "source.tfidf.hashed_frequency",
]  # fmt: skip
TYPES = ["?", "i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
LABELS = ["<i8", "<i4", "<f8", "|b1", "|O", "<U1", "<U3", "<U99", "<U999999999", "V8", "i4,i4", "("]


def _cut(a, rng):
    length = len(a) if a.ndim else 0
    if not length:
        return np.zeros(int(rng.integers(1, 4)), a.dtype)
    new = int(rng.choice([0, 1, length - 1, length + 1, 2 * length]))
    return np.resize(a, (new, *a.shape[1:]))


def _other_shape(a, rng):
    forms = [a.reshape(-1), a.T, a[None], a.reshape(-1, 1)]
    if not a.size:
        forms.append(np.zeros((0, 2**40), a.dtype))
    return forms[rng.integers(len(forms))]


def _other_type(a, rng):
    return a.astype(rng.choice(TYPES))


def _other_numbers(a, rng):
    value = ODD[rng.integers(len(ODD))]
    if a.dtype.kind != "f":
        info = np.iinfo(a.dtype if a.dtype.kind in "iu" else np.uint8)
        value = int(min(max(value, info.min), info.max)) if value == value else 0
    a = a.copy()
    if a.size:
        a.reshape(-1)[rng.integers(a.size, size=rng.choice([1, 2, a.size]))] = value
    return a


def _a_step(a, rng):
    a = a.copy()
    if a.size and a.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            a.reshape(-1)[rng.integers(a.size)] += np.array(rng.choice([-1, 1, 2])).astype(a.dtype)
    return a


def _permuted(a, rng):
    return rng.permutation(a.reshape(-1)).reshape(a.shape)


ARRAYS = [_cut, _other_shape, _other_type, _other_numbers, _other_numbers, _a_step, _a_step]
ARRAYS += [_permuted]


def _forge_arrays(arrays, rng):
    name = str(rng.choice(list(arrays)))
    what = int(rng.integers(len(ARRAYS) + 3))
    if what < len(ARRAYS):
        with np.errstate(all="ignore"):
            arrays[name] = np.asarray(ARRAYS[what](arrays[name], rng), order="C")
    elif what == len(ARRAYS):
        del arrays[name]
    else:  # one in the place of another, or of one that was not there
        more = list(arrays) if what == len(ARRAYS) + 1 else MORE
        other = str(rng.choice(more))
        arrays[name], arrays[other] = arrays.get(other, arrays[name]), arrays[name]


def _forge_header(header, rng):
    steps = header.get("steps")
    if isinstance(steps, list) and steps and rng.random() < 0.7:
        header = steps[rng.integers(len(steps))]
        if not isinstance(header, dict) or not header:
            return
    junk = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
    inner = rng.choice(["parameters", "source", "applied", "header"])
    what = rng.integers(4)
    if what == 0:
        del header[rng.choice(sorted(header))]
    elif what == 1:
        name, values = [("estimator", narrows.__all__), ("labels", LABELS)][rng.integers(2)]
        header[name] = str(rng.choice(values))
    elif isinstance(header.get(inner), dict):
        header[inner][rng.choice([*header[inner], "newer"])] = junk
    else:
        header[rng.choice([*sorted(header), "progress", "source", "applied", "newer"])] = junk


def crc_of(array):
    return zlib.crc32(array.tobytes())


def forged(valid, path, rng):
    """Write one forgery of a valid model, with all checksums right."""
    with safe_open(valid, framework="numpy") as file:
        header = json.loads(file.metadata()["narrows"])
    arrays = load_file(valid)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if rng.random() < 0.7 and arrays:
            _forge_arrays(arrays, rng)
        else:
            _forge_header(header, rng)
    if "checksums" in header and rng.random() < 0.98:
        header["checksums"] = {name: crc_of(array) for name, array in arrays.items()}
    header.pop("crc32", None)
    header["crc32"] = zlib.crc32(json.dumps(header).encode())
    text = json.dumps(header)
    if rng.random() < 0.005:
        text = text.replace('"parameters": {', '"parameters": {"deep": ' + "[" * 10**5, 1)
    save_file(arrays, path, metadata={"narrows": text})


VECTORISERS = Tfidf, HashedTfidf, TableEncoder


# -- what is done with it ------------------------------------------------------------------------


def used(path, valid, folder, by_command):
    """Load a forgery and do with it all that can be done; return whether it was refused."""
    if by_command:
        _by_command(path, valid, folder)
    model = None
    try:
        unfinished = goes_on(path, _samples_of, EXPECTED)
        if unfinished:
            return False
        if unfinished is None:
            model = narrows.load(path)
    except DataError as error:
        if str(error).startswith(path) and len(str(error)) < 1000:
            return True
        raise AssertionError("a short error that names the file") from error
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    if steps != [model] or isinstance(model, VECTORISERS):
        for given in (TEXTS, TABLE):
            with contextlib.suppress(*EXPECTED):
                model.transform(given)
    for k, step in enumerate(steps):
        if isinstance(step, VECTORISERS):
            given = TABLE if isinstance(step, TableEncoder) else TEXTS
            with contextlib.suppress(*EXPECTED):
                step.partial_fit(given).merge(step).transform(given)
        elif not isinstance(step, str):
            for use in (_update, _reduce, _show, _merge)[: 3 if step is not model else 4]:
                # of its own: one that fails is to leave nothing behind for the next
                with contextlib.suppress(*EXPECTED):
                    own = narrows.load(path)
                    use(own if step is model else own.steps[k][1], narrows.load(valid))
    return False


def _samples_of(n_features):
    X, y = labelled(d=max(D, min(n_features, 100)))
    return X[:, :n_features], y


def _rows(model, n=12):
    X, y = labelled(n=n, d=max(D, min(model.n_features_in_, 100)), c=4, seed=5, sparse=True)
    return X[:, : model.n_features_in_], y


def _update(model, good):
    if not hasattr(model, "partial_fit"):
        return
    X, y = _rows(model, 130)
    kind = getattr(model, "classes_", np.zeros(0)).dtype.kind
    labels = y if kind in "UO" else np.unique(y, return_inverse=True)[1]
    several = np.eye(4, dtype=int)[np.unique(y, return_inverse=True)[1]]
    takes_sparse = get_tags(model).input_tags.sparse
    for rows in (sparse.csr_array(X) if takes_sparse else X, X, X.astype(np.float32)):
        for given in (labels, several, y):
            with contextlib.suppress(*EXPECTED):
                local.update(model, [(rows[:60], given[:60]), (rows[60:], given[60:])])
        with contextlib.suppress(*EXPECTED):
            _reduce(model, good)
    if takes_sparse:
        wider = sparse.csr_array((1, model.n_features_in_ + 2))
        local.update(model, [(wider, labels[:1])])
    _show(model, good)
    with contextlib.suppress(*EXPECTED):
        bytes_of(model)


def _reduce(model, good):
    X, _ = _rows(model)
    model.transform(X)
    model.transform(sparse.csr_array(X))
    if hasattr(model, "predict"):
        model.predict(X)


def _merge(model, good):
    if not hasattr(model, "merge"):
        return
    with contextlib.suppress(*EXPECTED):
        good.merge(model)
        _show(good, good)
    model.merge(model, good)
    _show(model, good)


def _show(model, good):
    show(model, per_class=False)
    show(model, per_class=True)


def _by_command(path, valid, folder):
    rows, out = os.path.join(folder, "rows.svm"), os.path.join(folder, "out")
    with open(rows, "w") as file:
        file.write("0 1:1 3:2\n1 2:1.5 7:1\n" * 20)
    for line in (
        f"info {path} --per-class --json",
        f"update {path} {rows} -o {out}.narrows",
        f"predict {path} {rows} -o {out}.csv",
        f"merge {valid} {path} -o {out}.narrows",
    ):
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            status = cli.main(line.split())
        said = errors.getvalue().splitlines()
        assert status in (0, 1, 2), (line, status)
        assert all(one.startswith("narrows: ") for one in said), (line, said)
        notes = "narrows: warning: ", "narrows: no samples kept"
        problems = [one for one in said if not one.startswith(notes)]
        assert len(problems) == (status != 0), (line, said)


def main(kinds, first, count, folder):
    """Forge models of some kinds, in turn, and say how many were refused."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends this process even in a compiled loop
    path, at = os.path.join(folder, "forged.narrows"), os.path.join(folder, "at")
    refused = 0
    for number, kind in enumerate(kinds):
        made(kind, os.path.join(folder, f"{number}.narrows"))
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    for number in range(first, first + count):
        which = number % len(kinds)
        valid = os.path.join(folder, f"{which}.narrows")
        with open(at, "w") as file:
            file.write(f"{kinds[which]!r}, number {number}")
        signal.alarm(SECONDS)
        forged(valid, path, np.random.default_rng([which, number]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                refused += used(path, valid, folder, number % 10 == 0)
        except Exception as error:
            raise AssertionError(f"{kinds[which]!r}, number {number}") from error
        signal.alarm(0)
    sys.stdout.write(f"{count} forged, {refused} refused\n")


if __name__ == "__main__":
    every = list(KINDS)
    main(every if sys.argv[1] == "all" else [every[int(k)] for k in sys.argv[1].split(",")],
         int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])  # fmt: skip
