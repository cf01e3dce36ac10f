"""Lines that are too long, and last lines without an end."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from narrows.errors import DataError
from narrows.read import iter_chunks
from tests.inside import pretend

ONE_MB = 1_000_000
WIDE = ",".join(f"c{k}" for k in range(20))
# a head, and a row of a length that can be chosen; together they can be read
ROWS = {
    ".svm": (b"1 1:1\n# text\n", lambda size: b"2 2:1 #" + b" " * (size - 7)),
    ".csv": (
        f"{WIDE},class\n{'2,' * 20}x\n".encode(),
        lambda size: b",".join([b"1".zfill((size - 21) // 20)] * 20).zfill(size - 2) + b",y",
    ),
    ".jsonl": (
        b'{"text": "sea", "label": 1}\n\n',
        lambda size: b'{"label": 2, "text": "%b"}' % (b"b" * (size - 24)),
    ),
}


def put(folder, name, content):
    (folder / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    return str(folder / name)


def standard_input(monkeypatch, stream):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(stream)))


def rows(*args, **options):
    return sum(
        X.shape[0] if hasattr(X, "shape") else len(X) for X, _ in iter_chunks(*args, **options)
    )


# -- lines that are too long ---------------------------------------------------------------------


@pytest.mark.parametrize("block", [1000, 1 << 22])
@pytest.mark.parametrize("where", ["file", ".gz", "-"])
@pytest.mark.parametrize("suffix", ROWS)
def test_a_line_may_be_as_long_as_the_limit(tmp_path, monkeypatch, suffix, where, block):
    pretend(monkeypatch, "blocks of lines", block)
    head, row = ROWS[suffix]
    options = {"zero_based": False} if (suffix, where) == (".svm", "-") else {}
    for size in (ONE_MB, ONE_MB + 1):
        content = head + row(size) + b"\n"
        name = f"a{suffix}{where}" if where == ".gz" else f"a{suffix}"
        path = put(tmp_path, name, content)
        if where == "-":
            standard_input(monkeypatch, io.BytesIO(content))
            path, name = "-", "standard input"
        if size == ONE_MB:
            assert rows(path, max_line_mb=1, **options) >= 2
            continue
        with pytest.raises(DataError, match=f"{name}:3: .*at most 1 MB.*`max_line_mb`"):
            rows(path, max_line_mb=1, **options)


@pytest.mark.parametrize("block", [999, 1 << 22])
def test_a_csv_row_of_many_lines_is_one_row(tmp_path, monkeypatch, block):
    pretend(monkeypatch, "blocks of lines", block)
    row = ",".join(['"1\n"'] * 1000)  # a cell on two lines, as Python and spreadsheets read it
    header = ",".join(f"c{k}" for k in range(1000))
    path = put(tmp_path, "a.csv", f"{header}\n{row}\n{row}\n".encode())
    assert rows(path, max_line_mb=1) == 2
    path = put(tmp_path, "a.csv.gz", f"{header}\n{row}\n{','.join([row] * 300)}\n".encode())
    with pytest.raises(DataError, match=r"a\.csv\.gz:1003: expected a line of at most 1 MB"):
        rows(path, max_line_mb=1)


class Endless(io.RawIOBase):
    """A stream that never ends."""

    def __init__(self, piece):
        self.piece = piece * (65_536 // len(piece))

    def readable(self):
        return True

    def readinto(self, buffer):
        few = len(buffer) // len(self.piece) * len(self.piece) or len(buffer)
        piece = (self.piece * (few // len(self.piece) + 1))[:few]
        buffer[:few] = piece
        return few


@pytest.mark.parametrize("piece", [b"1", b" ", b"#\n", b"\n", b"1 1:1 ", b"a,b,", b'{"a":'])
def test_standard_input_that_never_ends(monkeypatch, piece):
    standard_input(monkeypatch, Endless(piece))
    with pytest.raises(DataError, match=r"standard input:\d+: expected a row within 1 MB, got no"):
        rows("-", max_line_mb=1, zero_based=False)


IN_LITTLE_MEMORY = """
import resource, sys
from narrows.command import cli
fit = lambda path: cli.main(["fit", path, "--method", "oc", "-o", "m.narrows"])
for path in sys.argv[1].split(","):
    assert fit(path) == 0  # everything that is compiled or imported is there now
with open("/proc/self/statm") as file:
    have = int(file.read().split()[0]) * resource.getpagesize()
most = have + 700 * 10**6
resource.setrlimit(resource.RLIMIT_AS, (most, most))
sys.exit(sum(fit(path) != 1 for path in sys.argv[2].split(",")))
"""


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_line_of_a_gigabyte_takes_little_memory(tmp_path):
    small, bombs = [], []
    bomb = gzip.compress(b"1" * 2**24, 1) * 64  # as many members of a file
    for suffix, (head, row) in ROWS.items():
        small.append(f"s{suffix}")
        put(tmp_path, small[-1], head + row(100) + b"\n")
        name = f"a{suffix}.gz"
        (tmp_path / name).write_bytes(gzip.compress(head) + bomb)
        bombs.append(name)
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, ",".join(small), ",".join(bombs)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = done.stderr.splitlines()
    assert [line.split(":")[1].strip() for line in told] == bombs
    assert all("expected a line of at most 256 MB" in line for line in told)


# -- last lines without an end -------------------------------------------------------------------

WHOLE = {
    "a.svm": b"1 1:1\n2 3:0.125\n",
    "a.csv": b"class,a\nx,1\ny,0.125\n",
    "a.csv.gz": b"class,a\nx,1\ny,0.125\n",
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("chunk_rows", [1, 1000])
def test_a_number_that_may_be_cut_is_warned_of_once(tmp_path, monkeypatch, name, chunk_rows):
    cut = WHOLE[name][:-2]
    path = put(tmp_path, name, cut)
    whole = put(tmp_path, "whole." + name.partition(".")[2], WHOLE[name])
    with pytest.warns(UserWarning, match="expected an end of the last line") as caught:
        assert rows([path, whole], chunk_rows=chunk_rows) == 4
    [warning] = caught
    assert str(warning.message).startswith(f"{path}: ")
    if sys.version_info >= (3, 12):  # before, warnings cannot skip the files of a package
        assert warning.filename == __file__
    standard_input(monkeypatch, io.BytesIO(cut))
    with pytest.warns(UserWarning, match="^standard input: expected an end"):
        assert rows("-", **({"zero_based": False} if ".svm" in name else {})) == 2


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.filterwarnings("error")
def test_what_ends_is_not_warned_of(tmp_path, name, end):
    assert rows(put(tmp_path, name, WHOLE[name].removesuffix(b"\n") + end)) == 2
    assert rows(put(tmp_path, "a.jsonl", b'{"text": "a"}\n{"text": "b"}')) == 2


def test_lines_end_at_line_ends_alone(tmp_path):
    """Not at what else Python takes for one in text."""
    texts = ["a\u0085b", "c\u2028d\u2029", "\ufeffe", "\x7f"]
    lines = [json.dumps({"text": text}, ensure_ascii=False).encode() for text in texts]
    path = put(tmp_path, "a.jsonl", b"\xef\xbb\xbf\n" + b"\r\n\n".join(lines))
    assert [text for X, _ in iter_chunks(path) for text in X] == texts
    put(tmp_path, "a.jsonl", b"\xef\xbb\xbf\n" + b"\r\n\n".join(lines) + b"\n\nx")
    with pytest.raises(DataError, match=r"a\.jsonl:10: "):
        rows(path)
