"""The svmlight reader: scikit-learn's numbers to the last bit, or an error that names the line."""

from __future__ import annotations

import io
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from narrows.command import cli
from narrows.errors import DataError
from narrows.read import Dataset, iter_chunks
from tests.inside import Options, pretend


@pytest.fixture(params=[1, 7, 100, 1 << 22])
def blocks(request, monkeypatch):
    pretend(monkeypatch, "blocks of lines", request.param)


@pytest.fixture(autouse=True)
def _in_a_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def chunks_of(content, path="a.svm", **options):
    """What is read of a file or of standard input, up to an error, and the error."""
    Path("a.svm").write_bytes(content)
    chunks = []
    with mock.patch("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content)))):
        try:
            for chunk in Dataset([path], Options(may_be_empty=path != "-", **options)):
                chunks.append(chunk)
        except DataError as error:
            return chunks, error
    return chunks, None


def ours(content, **options):
    chunks, error = chunks_of(content, **options)
    if error is not None:
        raise error
    for chunk in chunks:
        chunk.X.resize(chunk.X.shape[0], max(chunk.X.shape[1] for chunk in chunks))
    X = sparse.vstack([chunk.X for chunk in chunks], format="csr")
    if not sparse.issparse(chunks[0].y):
        return X, np.concatenate([chunk.y for chunk in chunks])
    return X, [tuple(row.indices.tolist()) for chunk in chunks for row in chunk.y]


def assert_as_scikit_learn_reads(content, several=False, **options):
    base = bool(options.get("zero_based"))
    theirs, labels = load_svmlight_file(
        io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), zero_based=base, multilabel=several
    )
    X, y = ours(content, **options)
    assert isinstance(y, list) == several
    assert X.shape == theirs.shape
    np.testing.assert_array_equal(X.indptr, theirs.indptr)
    np.testing.assert_array_equal(X.indices, theirs.indices)
    np.testing.assert_array_equal(X.data.view(np.int64), theirs.data.view(np.int64))
    if several:
        assert y == [tuple(sorted(set(map(int, row)))) for row in labels]
    else:
        np.testing.assert_array_equal(y, labels)


def dumped(seed=0, n=60, d=40, **options):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.2, format="csr", rng=rng)
    X.data = X.data * 10.0 ** rng.integers(-9, 9, X.nnz) * rng.choice([-1, 1], X.nnz)
    y = options.pop("y", rng.integers(-3, 1000, n))
    out = io.BytesIO()
    dump_svmlight_file(X, y, out, **options)
    return out.getvalue()


def middles(rng):
    """Decimals beside the middle of two numbers, where rounding is hardest."""
    for x in np.exp(rng.uniform(-200, 200, 400)):
        middle = (Fraction(float(x)) + Fraction(float(np.nextafter(x, np.inf)))) / 2
        digits = Context(prec=int(rng.integers(15, 40)))
        yield str(digits.divide(Decimal(middle.numerator), Decimal(middle.denominator)))
    for _ in range(400):  # exactly there
        yield str(((int(rng.integers(2**52, 2**53)) << 1) + 1) << int(rng.integers(0, 10)))


def bits(rng):
    numbers = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    return numbers[np.isfinite(numbers)].tolist()


FORMATS = {
    "repr": lambda rng: map(repr, bits(rng)),
    "%.17g": lambda rng: (f"{x:.17g}" for x in bits(rng)),
    "%.18e": lambda rng: (f"{x:.18e}" for x in bits(rng)),
    "fixed": lambda rng: (f"{x:.{rng.integers(0, 30)}f}" for x in rng.normal(size=3000)),
    "powers": lambda rng: (
        f"{rng.integers(0, 2**63)}e{rng.integers(-350, 290)}" for _ in range(3000)
    ),
    "middles": middles,
    "subnormal": lambda rng: (repr(x * 5e-324) for x in rng.integers(0, 2**53, 500).tolist()),
    "long": lambda rng: ("0." + "".join(map(str, rng.integers(0, 10, 400))) for _ in range(50)),
    "forms": lambda rng: (
        "0 -0 +0 0.0 -0.0 00 .5 5. +.5 -5. 1e5 1E5 1e+5 1e-5 1.e5 .1e5 -.1E-5 1e005 0e999 0.0e-999"
        " 1e22 1e23 9007199254740993 9007199254740992e22 1e308 1.7976931348623157e308 4.9e-324"
        " 2.2250738585072011e-308 2e-324 18446744073709551615 18446744073709551616 1e-400 1e999"
        " 0.00000000000000000000000000000000 0.00000000000000000000000000000000123 -1e400"
        f" {'0' * 50}1.5 {'1' * 400} 1{'0' * 400}e-400 1e{'0' * 400}1 1e-{'9' * 400}"
    ).split(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_every_number_is_rounded_as_python_rounds_it(form):
    numbers = []
    for x in FORMATS[form](np.random.default_rng(0)):
        if np.isfinite(float(x)):
            numbers.append(x)
        else:
            with pytest.raises(DataError, match=r"a\.svm:2: expected finite values"):
                ours(f"0 1:1\n0 1:{x}\n".encode())
    content = "".join(f"0 1:{x} 2:{x}#\n" for x in numbers).encode()
    data = ours(content)[0].data.reshape(-1, 2)
    expected = np.array([float(x) for x in numbers])
    for column in data.T.copy():
        np.testing.assert_array_equal(column.view(np.int64), expected.view(np.int64))


FORMS = [
    b"1 1:2\n",
    b"1 1:2",
    b"+1 1:2\n-1 1:3\n1.0 1:2\n1e0 1:2\n.1e1 1:2\n-0 1:1\n",
    b"1 1:2\r\n2 1:3\n3 1:4\r\n",
    b" \t1\t 1:2  \t 3:4 \t\n",
    b"1 1:2 \x0b\x0c 3:4\n",
    b"\n\n1 1:2\n   \n\r\n2 3:4\n\n",
    b"# one\n1 1:2 # two\n 2 1:3# three 5:5\n#\n3 #\n4#4\n",
    b"1 qid:3 1:2\n2 qid: 3:4\n3 qidx:7 4:5\n4 qid:1\n",
    b"\xef\xbb\xbf1 1:2\n2 1:3\n",
    b"\xef\xbb\xbf\n1 1:2\n",
    b"1\n2\n",
    b"1 001:2 0010:3\n",
    b"1 1:0 2:-0.0\n",
    b"1 1:2 # \x00 \xff\xfe\n2 2:3\n",
    b"9007199254740991 2147483646:1\n",
    b"1 " + b" ".join(b"%d:1.5" % k for k in range(1, 20_000)) + b"\n2 1:1\n",
    dumped(zero_based=False, comment="0:1 no column\n1,2 no labels\n"),
]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("content", FORMS, ids=range(len(FORMS)))
def test_every_form_of_a_row(content):
    assert_as_scikit_learn_reads(content, zero_based=False)
    assert_as_scikit_learn_reads(content, zero_based=True, chunk_rows=1)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("rows", [1, 7, 60])
def test_chunks_are_cut_by_the_number_of_rows_alone(rows):
    content = b"# head\n\n" + dumped(n=60).replace(b"\n", b"\n#\n", 30)
    chunks, _ = chunks_of(content, chunk_rows=rows, zero_based=True)
    assert [len(chunk.lines) for chunk in chunks[:-1]] == [rows] * ((60 - 1) // rows)
    lines = np.concatenate([chunk.lines for chunk in chunks])
    assert lines.tolist() == [*range(3, 63, 2), *range(63, 93)]
    assert all(
        len(chunk.lines) == chunk.X.shape[0] == len(chunk.y) and chunk.X.indices.dtype == np.int32
        for chunk in chunks
    )


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("wrong", [b"1 x:1", b"1 1:x", b"1.5 1:1", b"1,2 1:1", b"1 3:1"])
def test_chunks_before_a_wrong_row_are_given(wrong):
    content = b"#\n" + b"1 1:1\n" * 8 + wrong + b"\n1 1:1\n1 y:1\n"
    chunks, error = chunks_of(content, "-", chunk_rows=3, width=2, zero_based=False)
    assert [len(chunk.lines) for chunk in chunks] == [3, 3]
    assert error.line == 10


SEVERAL = b"1,3,7 5:0.2 # 9,9\n 5:0.5 6:1\n3 1:2\n2,2,0 2:1\n\n7.0,1e0 3:1\nqid:1 2:2\n0 #\n"


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_several_labels(tmp_path, rows):
    assert_as_scikit_learn_reads(SEVERAL, several=True, chunk_rows=rows)
    (tmp_path / "a.svm").write_bytes(b"4,5 1:1\n")
    (tmp_path / "b.svm").write_bytes(SEVERAL)
    y = [y for _, y in iter_chunks([tmp_path / "a.svm", tmp_path / "b.svm"], chunk_rows=rows)]
    widths = [part.shape[1] for part in y]
    assert widths == [*sorted(widths[:-1]), 8]
    assert all((part.data == 1).all() and part.has_canonical_format for part in y)


@pytest.mark.parametrize(
    ("content", "command", "status", "message"),
    [
        (SEVERAL, "compare a.svm --dims 1", 2, "one label per sample"),
        (SEVERAL, "fit a.svm --method idrqr -o m", 1, "one label per sample"),
        (b"1 1:1\n2 1000000000000:1\n", "fit a.svm --method oc -o m", 1, "a.svm:2: "),
        (b"1 1:1\n2 2147483647:1\n" + b"3 1:1\n" * 60, "fit a.svm --method oc -o m", 1, "memory"),
    ],
)
def test_what_a_command_does_not_take_is_one_line(capfd, content, command, status, message):
    Path("a.svm").write_bytes(content)
    assert cli.main(command.split()) == status
    said = capfd.readouterr().err
    assert (said.count("\n"), message in said) == (1, True)


BROKEN = [  # rows, and what the message says of them
    *((b"1 " + word, f"got '{word.decode()}'")
      for word in (b"x:1", b":1", b"2", b"-1:1", b"0:1", b"1.0:1", b"1_0:1")),
    (b"1 1:1 \x00", r"got '\x00'"),
    (b"1 \xff:1", r"got '\xff:1'"),
    (b"1 qid:1 qid:1", "got 'qid:1'"),
    (b"1 1:1\r2 1:1", "got '2'"),
    (b"1 2:1 1:1", "increasing columns"),
    (b"1 1000000000000:1", "columns up to 2147483647"),
    *(
        (b"1 1:" + value, "value: expected a number")
        for value in (b"", b" 2:1", b"one", b"1:1", b"1,5", b"1_0", b"0x1", b"1e", b".", b"--1",
                      b"0.0000000000000000000.0", b"5\x005")
    ),
    *(
        (label + b" 1:1", "label: expected a number")
        for label in (b"one", b"1_0", b"1,", b",1", b"1,,1", b"\xef\xbb\xbf1")
    ),
    (b"1,2 1:1", "one label, got 2"),
    (b"1:1", "one label, got none"),
    (b"1.5 1:1", "integer label"),
    (b"nan 1:1", "label, got nan"),
    (b"9223372036854775808 1:1", "integer label"),
]  # fmt: skip


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(("row", "message"), BROKEN, ids=range(len(BROKEN)))
def test_a_wrong_row_is_named(row, message):
    for ending in (b"", b"\n", b"\r\n2 1:1\n", b" # text\n3 y:1\n"):
        content = b"1 1:1\n\n" + row + ending
        _, error = chunks_of(content, "-", zero_based=False, chunk_rows=1)
        assert str(error).startswith("standard input:3: ")
        assert message in str(error)
        assert "\n" not in str(error)


@pytest.mark.parametrize("label", ["-1", "1.5", "16777216", "1e12", "nan"])
def test_a_wrong_label_beside_others(label):
    _, error = chunks_of(f"1,2 1:1\n3,{label} 1:1\n".encode())
    assert str(error).startswith("a.svm:2: expected an integer label from 0 to 16777215")


BYTES = st.one_of(st.sampled_from(b"0123456789 .:,#+-eE_\n\r\t\x0b\x00qidnaf"), st.integers(0, 255))
ANYWHERE, UP_TO_ONE = st.integers(0, 10**4), st.integers(0, 1)
SEEDS = [dumped(n=4, d=6, zero_based=False), SEVERAL, b"".join(FORMS[:12])]
