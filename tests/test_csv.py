"""CSV files, which have the rows of the standard module and the numbers of Python."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from narrows.errors import DataError, ParameterError
from narrows.read import Dataset, iter_chunks
from tests.conftest import nightly
from tests.inside import Options, parts_of, pretend

SEEDS = [*range(3), *map(nightly, range(3, 20))]
PIECES = [*'aé,,"" \0\ufeff', "\n", "\n", '""', "\r", "\r\n", "x,y\n", '"q\n",l\n']


def rows_or_error(path, **options):
    """The texts, labels and lines of a file, or the message of its error."""
    try:
        chunks = list(Dataset([path], Options(text=("t",), **options)))
    except DataError as error:
        return str(error)
    return [(X, None if y is None else y.tolist(), list(lines)) for X, y, lines, *_ in chunks]


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
        columns = ["t,label", "label,t", "t", 'label,"t"'][k % 4]
        valid = {"t,label": '"a,\n""b",x\r\n', "t": '"é,\n"\n'}.get(columns, 'x,"a\rb"\n')
        odd = "".join(rng.choice(PIECES, rng.integers(0, 12))) if k % 3 else ""
        rows = [valid * int(rng.integers(0, 5)), odd, valid * int(rng.integers(0, 5))]
        content = f"{columns}\n{''.join(rows)}".encode()
        content = content.replace(b"a", b"\xff", 1) if k % 40 == 7 else content
        path = str(tmp_path / "a.csv")
        (tmp_path / "a.csv").write_bytes(content)
        options = {"chunk_rows": int(rng.integers(1, 6)), "after": int(rng.integers(0, 3))}
        expected = rows_or_error(path, **options)
        with monkeypatch.context() as patch:
            pretend(patch, "blocks of lines", int(rng.choice([4, 50])))
            assert rows_or_error(path, **options) == expected, content
        whole = rows_or_error(path, has_labels=False, may_be_empty=True)
        if not isinstance(whole, str):
            whole = [pair for X, _, lines in whole for pair in zip(X, lines, strict=True)]
        found = rows_of_module(content)
        assert isinstance(whole, str) if found is None else whole == found, content


NUMBERS = ["1", "-2.5e3", "+4", ".5", "5.", "1e5", "4.9e-324", "2.2250738585072011e-308", "0.1",
           "1e23", "9007199254740993", "123456789012345678901234567890", "7.0000000000000001e-1",
           "-0", "00012", "1E-7"]  # fmt: skip
ODD = [" 7 ", "1_0", "nan", "inf", "", '"3"', "1e400", "1e-400", "x", "١", "0x1", "1,2", "\n",
       "1e", "\xa05"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*expected an end of the last line")
@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_are_those_of_python_to_the_last_bit(tmp_path, monkeypatch, seed):
    """Of features and targets, in chunks and blocks that begin anywhere."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.csv"
    for k in range(150):
        header = ["a,target,b", "b,a", "target,b,a"][k % 3]
        cells = rng.choice(
            [*NUMBERS, *map(repr, rng.normal(size=3).tolist())],
            (rng.integers(1, 12), header.count(",") + 1),
        ).astype(object)
        if k % 2:
            cells.flat[rng.integers(cells.size)] = rng.choice(ODD)
        path.write_text("\n".join([header, *map(",".join, cells.tolist()), ""]), newline="")
        expected, wrong = numbers_of_python(path)
        rows, first = int(rng.integers(1, 6)), int(rng.integers(0, 3)) * (wrong is None)
        target = ("target",) if "target" in header else None
        options = Options(chunk_rows=rows, after=first, target=target, may_be_empty=True)
        pretend(monkeypatch, "blocks of lines", int(rng.choice([4, 50, 1 << 22])))
        found, at = [], None
        try:
            for chunk in Dataset([str(path)], options):
                features = iter(chunk.X.T)
                columns = [chunk.y[:, 0] if name == "target" else next(features)
                           for name in header.split(",")]  # fmt: skip
                found += zip(chunk.lines, np.transpose(columns), strict=True)
        except DataError as error:
            at = error.line
        assert at == wrong, path.read_text()
        assert [line for line, _ in found] == [n for n in expected if n > first][: len(found)]
        assert all(row.tobytes() == expected[line].tobytes() for line, row in found)
        assert at is not None or len(found) == sum(line > first for line in expected)


def numbers_of_python(path):
    """The finite numbers of each row by its last line, and the line of a row that has others."""
    found, n = {}, None
    with open(path, newline="") as file:
        rows = csv.reader(file, strict=True)
        try:
            for row in rows:
                if n is None:
                    n = len(row)
                elif row:
                    if len(row) != n or "_" in "".join(row):
                        return found, rows.line_num
                    numbers = np.array([float(cell) for cell in row])
                    if not np.isfinite(numbers).all():
                        return found, rows.line_num
                    found[rows.line_num] = numbers
        except (ValueError, csv.Error):
            return found, rows.line_num
    return found, None


def test_the_header_of_a_part_is_that_of_the_file_as_it_is_now(tmp_path):
    path = tmp_path / "a.csv"
    for names in ("a,b", "b,a", "c,a"):
        path.write_text(f"{names},label\n1,2,x\n3,4,y\n")
        part = parts_of(str(path), 11)[-1]
        [chunk] = Dataset([str(path)], Options(), None, part)
        assert chunk.columns == tuple(names.split(","))
        assert chunk.X.tolist() == [[3, 4]]
        path.unlink()


ROWS = [["size", "age", "label"], *([f"{k % 5}.5", f"{k * k % 7}", "ab"[k % 2]] for k in range(12))]
TEXT = "".join(",".join(row) + "\n" for row in ROWS)


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
        (TEXT.encode("utf-16"), {}),
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
    np.testing.assert_array_equal(X, np.array([row[:2] for row in ROWS[1:]], float))
    assert [label.replace("\xe9", "b") for label in y] == [row[2] for row in ROWS[1:]]


def test_dialects_that_need_an_option_are_refused_with_it(tmp_path):
    for content, option in [
        (TEXT.partition("\n")[2], "no_header"),
        ("0,0,a\n1,0,b\n", "no_header"),
        (TEXT.replace("b\n", "\xe9\n"), "encoding"),
    ]:
        (tmp_path / "a.csv").write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError, match=option):
            [*Dataset([str(tmp_path / "a.csv")], Options(labels_required=True))]
    for address in ("https://a.org/a.csv", "http://a.org/b.parquet"):
        with pytest.raises(ParameterError, match="address"):
            next(iter_chunks(address))


def test_labels_of_missing_values_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TEXT.replace("b\n", "NA\n"))
    with pytest.warns(UserWarning, match="a.csv:3: the label 'NA'"):
        assert {*next(iter_chunks(path))[1]} == {"a", "NA"}
