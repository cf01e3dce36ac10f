"""Lines and rows of text files: how they end, how long they may be, and the rows of CSV."""

from __future__ import annotations

import csv
import gzip
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest

from narrows.errors import DataError
from narrows.read import Dataset, iter_chunks
from tests.conftest import nightly
from tests.inside import Options, pretend

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


@pytest.mark.parametrize("block", [19_999, 1 << 22])
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
        self.piece = piece

    def readable(self):
        return True

    def readinto(self, buffer):
        size = len(buffer) // len(self.piece) * len(self.piece) or len(buffer)
        buffer[:size] = (self.piece * size)[:size]
        return size


@pytest.mark.parametrize("piece", [b"1", b" ", b"#\n", b"\n", b"1 1:1 ", b"a,b,", b'{"a":'])
def test_standard_input_that_never_ends(monkeypatch, piece):
    standard_input(monkeypatch, Endless(piece))
    with pytest.raises(DataError, match=r"standard input:\d+: expected a row within 1 MB, got no"):
        rows("-", max_line_mb=1, zero_based=False)


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
    assert [str(each.message).partition(": ")[0] for each in caught] == [path]
    standard_input(monkeypatch, io.BytesIO(cut))
    with pytest.warns(UserWarning, match="^standard input: expected an end"):
        assert rows("-", **({"zero_based": False} if ".svm" in name else {})) == 2


def test_lines_end_at_line_ends_alone(tmp_path):
    """Not at what else Python takes for one in text."""
    texts = ["a\u0085b", "c\u2028d\u2029", "\ufeffe", "\x7f"]
    lines = [json.dumps({"text": text}, ensure_ascii=False).encode() for text in texts]
    path = put(tmp_path, "a.jsonl", b"\xef\xbb\xbf\n" + b"\r\n\n".join(lines))
    assert [text for X, _ in iter_chunks(path) for text in X] == texts
    put(tmp_path, "a.jsonl", b"\xef\xbb\xbf\n" + b"\r\n\n".join(lines) + b"\n\nx")
    with pytest.raises(DataError, match=r"a\.jsonl:10: "):
        rows(path)


SEEDS = [*range(3), *map(nightly, range(3, 20))]
PIECES = [*'aé,,"" \0\ufeff', "\n", "\n", '""', "\r", "\r\n", "x,y\n", '"q\n",l\n']


def rows_or_none(path, **options):
    """The texts and lines of a file; None for an error."""
    options = Options(text=("t",), has_labels=False, may_be_empty=True, **options)
    try:
        return [
            pair
            for X, _, lines, *_ in Dataset([str(path)], options)
            for pair in zip(X, lines, strict=True)
        ]
    except DataError:
        return None


def rows_of_module(content):
    """The texts and last lines of the rows that the standard module reads; None for an error."""
    lines = iter(content.decode(errors="replace").split("\n"))
    rows = csv.reader((f"{line}\n" for line in lines), strict=True)
    try:
        header = next(rows)
        found = [(row, rows.line_num) for row in rows if row]
    except csv.Error:
        return None
    if b"\xff" in content or any(len(row) != len(header) for row, _ in found):
        return None
    return [(row[header.index("t")], line) for row, line in found]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*expected an end of the last line")
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_those_of_the_standard_module(tmp_path, monkeypatch, seed):
    """Quotes, line ends, empty lines and rows of wrong lengths, in blocks of any size."""
    rng = np.random.default_rng(seed)
    for k in range(150):
        columns, valid = [("t,label", '"a,\n""b",x\r\n'), ("t", '"é,\n"\n'),
                          ('label,"t"', 'x,"a\rb"\n')][k % 3]  # fmt: skip
        odd = "".join(rng.choice(PIECES, rng.integers(0, 12))) if k % 4 else ""
        rows = [valid * int(rng.integers(0, 5)), odd, valid * int(rng.integers(0, 5))]
        content = f"{columns}\n{''.join(rows)}".encode()
        content = content.replace(b"a", b"\xff", 1) if k % 40 == 7 else content
        (tmp_path / "a.csv").write_bytes(content)
        pretend(monkeypatch, "blocks of lines", int(rng.choice([4, 50, 1 << 22])))
        whole = rows_or_none(tmp_path / "a.csv", chunk_rows=int(rng.integers(1, 6)))
        assert whole == rows_of_module(content), content


NUMBERS = ["1", "-2.5e3", "+4", ".5", "5.", "1e5", "4.9e-324", "2.2250738585072011e-308", "0.1",
           "1e23", "9007199254740993", "123456789012345678901234567890", "7.0000000000000001e-1",
           "-0", "00012", "1E-7", " 7 ", '"3"', "1e-400", "١", "\xa05"]  # fmt: skip
NO_NUMBERS = ["1_0", "nan", "inf", '""', "1e400", "x", "0x1", '"1,2"', "1e"]


@pytest.mark.parametrize("block", [4, 1 << 22])
def test_numbers_are_those_of_python_to_the_last_bit(tmp_path, monkeypatch, block):
    pretend(monkeypatch, "blocks of lines", block)
    random = map(repr, np.random.default_rng(0).normal(size=50).tolist())
    cells = [*NUMBERS, *random]
    path = put(tmp_path, "a.csv", ("a,target\n" + "".join(f"{x},{x}\n" for x in cells)).encode())
    expected = np.array([float(x.strip('"')) for x in cells])
    X, y = zip(*iter_chunks(path, target="target", chunk_rows=7), strict=True)
    assert np.concatenate(X).tobytes() == expected.tobytes() == np.concatenate(y).tobytes()
    for cell in NO_NUMBERS:
        put(tmp_path, "a.csv", f"a,target\n1,1\n1,1\n1,{cell}\n".encode())
        with pytest.raises(DataError, match=r"a\.csv:4: "):
            rows(path, target="target", chunk_rows=1)


TEXT = "size,age,label\n" + "".join(f"{k % 5}.5,{k * k % 7},{'ab'[k % 2]}\n" for k in range(12))


@pytest.mark.parametrize(
    ("content", "how"),
    [
        (TEXT.replace(",", "|").encode(), {"separator": "|"}),
        (TEXT.replace(",", " ").encode(), {"separator": " "}),
        (TEXT.replace(",", "\t").encode(), {"separator": r"\t"}),
        (b"sep=,\n" + TEXT.encode(), {}),
        (b'"sep=;"\r\n' + TEXT.replace(",", ";").encode(), {}),
        (b"# by a tool, today\n#\n" + TEXT.encode(), {}),
        (TEXT.replace("\n", "\r").encode(), {}),
        (TEXT.encode("utf-16-be"), {"encoding": "utf-16-be"}),
        (TEXT.replace("\n", "\r").encode("utf-16"), {}),
        (TEXT.replace("b\n", "\xe9\n").encode("cp1252"), {"encoding": "cp1252"}),
        (TEXT.partition("\n")[2].encode(), {"no_header": True, "label": "x2"}),
        (("#" + TEXT).encode(), {}),
    ],
)
def test_other_dialects_have_the_same_rows(tmp_path, content, how):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    [(X, y)] = iter_chunks(path, **how)
    assert X.tolist() == [[k % 5 + 0.5, k * k % 7] for k in range(12)]
    assert [label.replace("\xe9", "b") for label in y] == [*"ab"] * 6


def test_dialects_that_need_an_option_are_refused_with_it(tmp_path):
    for content, option in [
        (TEXT.partition("\n")[2], "no_header"),
        (TEXT.replace("b\n", "\xe9\n"), "encoding"),
    ]:
        (tmp_path / "a.csv").write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError, match=option):
            [*Dataset([str(tmp_path / "a.csv")], Options(labels_required=True))]
    (tmp_path / "a.csv").write_text(TEXT.replace("b\n", "NA\n"))
    with pytest.warns(UserWarning, match="a.csv:3: the label 'NA'"):
        next(iter_chunks(tmp_path / "a.csv"))
