"""Tables as people write them: missing values, dates, case, codes, ids, amounts and durations."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import narrows
from narrows import SRDA
from narrows.errors import ParameterError
from narrows.table import TableEncoder

N = 300
RNG = np.random.default_rng(5)
OTHER = RNG.random(N)
NUMBERS = [f"{number:.2f}" for number in RNG.gamma(3, 20, N)]
DAYS = pd.Series(np.datetime64("2021-01-04T00:00:00") + RNG.integers(0, 1300 * 86400, N))
NO_TIME = DAYS.dt.normalize()
FORMS = {
    "list": list,
    "objects": lambda cells: np.array(cells, dtype=object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "Arrow": lambda cells: pa.chunked_array([cells[:70], cells[70:]]),
}


def replaced(cells, by, step=20):
    """The cells with every so many replaced by some in turn."""
    return [by[k // step % len(by)] if k % step == 0 else cell for k, cell in enumerate(cells)]


def fitted(cells, **parameters):
    return TableEncoder(**parameters).fit({"x": cells, "other": OTHER[: len(cells)]})


def encoded(encoder, cells):
    n = len(cells)
    return encoder.transform({"x": cells, "other": np.ones(n)}).toarray()


def decision(encoder):
    return encoder.decisions_[0]


def silent():
    return warnings.catch_warnings(action="error")


def loaded(encoder, tmp_path):
    narrows.save(encoder, tmp_path / "e.narrows")
    return narrows.load(tmp_path / "e.narrows")


@pytest.mark.parametrize("form", FORMS)
def test_texts_among_numbers_are_missing_values(form, tmp_path):
    tokens = ["-", "n.v.", "N.V. ", "Unknown", "#DIV/0!"]
    with silent():
        encoder = fitted(FORMS[form](replaced(NUMBERS, tokens)))
        expected = fitted(replaced(NUMBERS, [None]))
    assert decision(encoder).kind == "number"
    assert all(repr(token) in decision(encoder).reason for token in ("-", "n.v.", "Unknown"))
    assert encoder.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    later, plain = ["-", " UNKNOWN", "n.V.", "17.5", "NA"], [None, None, None, 17.5, None]
    for each in (encoder, loaded(encoder, tmp_path), encoder.emptied()):
        np.testing.assert_array_equal(encoded(each, later), encoded(expected, plain))
        with pytest.raises(ParameterError, match="numbers in column 'x', got 'x' in row 1") as e:
            encoded(each, ["1", "x"])
        assert (e.value.column, e.value.row) == ("x", 1)
    assert loaded(encoder, tmp_path) == encoder
    assert encoder != expected


SIX = ["-", "a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (replaced(NUMBERS, SIX[:5], 10), "number"),
        (replaced(NUMBERS, SIX, 10), "category"),
        (replaced(NUMBERS, ["<5"]), "category"),  # which is a value
        (replaced([0, 1, 2] * 100, ["3+"]), "category"),
        (replaced(NUMBERS, [datetime.date(2024, 1, 1)]), "category"),
        (replaced([2**62 + 1, 2**62 + 2] * 150, ["-", True]), "category"),  # floats are one
        (["-"] * 20 + [None] * 270 + NUMBERS[:10], "category"),  # most of what is there
        (["30.06.2024", "06.30.2024"] * 50, "category"),  # of two forms
        (["30.13.2024", "31.13.2024"] * 50, "category"),
    ],
)
def test_few_texts_are_missing_values_and_dates_have_one_form(cells, kind):
    assert decision(fitted(cells, min_frequency=2, max_categories=None)).kind == kind


WRITTEN = [
    "%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y, no zeros", "%m/%d/%Y %I:%M:%S %p", "%d.%m.%YT%H:%M+02:00",
]  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_dates_in_one_form_are_those_of_pandas(written, tmp_path):
    days, (written, *no_zeros) = DAYS if "%M" in written else NO_TIME, written.split(", no")
    cells = days.dt.strftime(written)
    expected = pd.to_datetime(cells, format=written.replace("+02:00", "%z"))
    expected = expected.dt.tz_convert(None) if "+" in written else expected
    cells = cells.str.replace(r"\b0", "", regex=True) if no_zeros else cells
    with silent():
        encoder, other = fitted(cells), fitted(expected)
    assert encoder.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    later = [cells[3], "2022-07-05", None]
    wanted = encoded(other, [expected[3], pd.Timestamp(2022, 7, 5), None])
    for each in (encoder, loaded(encoder, tmp_path)):
        np.testing.assert_array_equal(encoded(each, later), wanted)
        np.testing.assert_array_equal(encoded(each, expected), encoded(other, expected))
        for wrong in ("2024/30/12", "30/30/2024", "12.2024", "5", "30.12.24"):
            with pytest.raises(ParameterError, match="expected dates in column 'x'"):
                encoded(each, [wrong])


def test_dates_that_may_be_day_or_month_first_are_asked_for(tmp_path):
    parts = np.random.default_rng(0).integers(1, 13, (N, 2))
    cells = [f"{a:02}/{b:02}/2023" for a, b in parts]
    with pytest.warns(UserWarning, match=r"in column 'x', got '../../2023'.*Set `dates`"):
        assert decision(fitted(cells)).kind == "category"
    for order, form in (("day-first", "%d/%m/%Y"), ("month-first", "%m/%d/%Y")):
        with silent():
            encoder = loaded(fitted(cells, dates=order), tmp_path)
        days = pd.to_datetime(cells, format=form)
        assert encoder.dates == order
        np.testing.assert_array_equal(encoded(encoder, cells), encoded(fitted(days), days))


OF_CATEGORIES = {
    "category": lambda cells: pd.Series(cells, dtype="category"),
    "dictionary": lambda cells: pa.array(cells).dictionary_encode(),
    "Categorical": lambda cells: pl.Series(cells, dtype=pl.Categorical),
}


@pytest.mark.parametrize("form", FORMS | OF_CATEGORIES)
def test_categories_that_differ_by_case_or_outer_spaces_are_one(form, tmp_path):
    weights = [0.4, 0.1, 0.1, 0.1, 0.2, 0.1]
    words = ["Basic", "BASIC", "basic ", " Straße", "STRASSE", "Basics"]
    cells = np.random.default_rng(0).choice(words, N, p=weights).tolist()
    encoder = fitted((FORMS | OF_CATEGORIES)[form](cells))
    names = [name for name in encoder.get_feature_names_out() if name.startswith("x")]
    assert names == ["x=Basic", "x=Basics", "x=STRASSE"]
    expected = pd.get_dummies(pd.Series(cells).str.strip().str.casefold())
    np.testing.assert_array_equal(encoded(encoder, cells)[:, :3], expected)
    later = encoded(loaded(encoder, tmp_path), ["bASIC", "strasse ", "male", " basics"])[:, :3]
    assert later.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0]]
    kept = fitted(cells, categories=["x"])
    assert {f"x={word}" for word in words} < {*kept.get_feature_names_out()}
    assert encoded(kept, ["bASIC"])[0, :6].tolist() == [0] * 6


AGES = np.random.default_rng(2).integers(18, 91, N)
IDS = np.random.default_rng(0).permutation(10**6)[:N] + 10**6
HOUSEHOLDS = RNG.permutation(np.repeat(RNG.permutation(2000) + 50_000, 3))
AMOUNTS = RNG.integers(1000, 9000, 32)
LARGE = [f"{amount:,}".replace(",", ".") for amount in RNG.integers(100, 99_000, N) * 10]
WAITS = RNG.gamma(3, 2, N)
WARNED = [  # cells, what the warning names, and the parameter that says how they are meant
    (replaced(AGES, [-9, 9999]), "got -9 .*9999", "numbers"),
    (replaced(AGES, ["-1", 99.9]), "got -1 .*99.9", "numbers"),
    (replaced(RNG.integers(0, 90, N), [-1]), "got -1", "numbers"),
    (replaced(NO_TIME.dt.strftime("%d.%m.%Y"), ["31.12.9999"]), "got 9999-12-31", "drop"),
    (replaced(NO_TIME, [np.datetime64("1900-01-01")]), "got 1900-01-01", "drop"),
    *((ids, "got integers that hardly repeat", "numbers")
      for ids in (IDS, IDS.astype(float), IDS.astype(str), HOUSEHOLDS, HOUSEHOLDS.astype(str))),
    *(([form.format(amount).replace("_", "'") for amount in some], "got ['\"]", "categories")
      for form in ("{:,} €", "${:,}", "{:,}.50", "{}%", "({:,})", "{:_}")
      for some in ([*AMOUNTS] * 10, [*AMOUNTS[:2]] * 150)),
    ([*LARGE, "950"], "got .*, as with po", "numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "said", "parameter"), WARNED)
def test_values_that_may_be_meant_otherwise_are_named(cells, said, parameter):
    with pytest.warns(UserWarning, match=rf"in column 'x', {said}") as found:
        TableEncoder().fit({"x": cells, "other": np.arange(len(cells)) % 7})
    assert len(found) == 1
    with silent():
        TableEncoder(**{parameter: ["x"]}).fit({"x": cells, "other": np.arange(len(cells)) % 7})


@pytest.mark.parametrize(
    "cells",
    [
        AGES, RNG.lognormal(3, 2, N).round(2), RNG.normal(size=N).round(1), replaced(AGES, [None]),
        replaced(RNG.uniform(-0.6, 1, N), [-1, 1]),  # limits
        replaced(RNG.uniform(0, 1, N), [7.3]),  # no integer
        RNG.lognormal(10, 0.8, N).round(),  # salaries
        [f"{wait:.3f}" for wait in WAITS],
        [f"{wait:.0f}" if wait > 9 else f"{wait:.3f}" for wait in WAITS],
        ["0", "1", "2", "3+"] * 60, ["<1", "1", ">2"] * 60, ["18-25", "26-35", "36+"] * 60,
    ],
)  # fmt: skip
def test_values_that_mean_what_they_say_are_not_named(cells):
    with silent():
        fitted(cells)


HOURS = np.array([5, 30], "m8[h]")
DURATIONS = {
    "hours": HOURS,
    "polars": pl.Series(HOURS.astype("m8[ms]")),
    "Arrow": pa.chunked_array([pa.array(HOURS.astype("m8[us]"))]),
    "timedeltas": np.array([*pd.to_timedelta(HOURS)], dtype=object),
}


@pytest.mark.parametrize("form", DURATIONS)
def test_durations_are_no_numbers_and_numbers_are_no_durations(form, tmp_path):
    seconds = (OTHER * 9 * 86400).round()
    numbers, durations = fitted(OTHER * 9), fitted(seconds.astype("m8[s]"))
    with pytest.raises(ParameterError, match="numbers in column 'x', got datetime"):
        encoded(numbers, DURATIONS[form])
    z = (np.array([5, 30]) * 3600 - seconds.mean()) / seconds.std()
    for each in (durations, loaded(durations, tmp_path)):
        np.testing.assert_allclose(encoded(each, DURATIONS[form])[:, 0], z, rtol=1e-9)
        with pytest.raises(ParameterError, match="durations in column 'x', got 5"):
            encoded(each, [None, 5.0])
        assert not encoded(each, [None])[0, 0]
    assert not encoded(numbers, pd.to_datetime([None]))[0, 0]


OTHER_TYPES = [
    np.array(["2024-01-01"], "M8[ns]"), pd.Series(pd.period_range("2024", periods=1, freq="M")),
    pl.Series([datetime.time(5)]), pa.array([datetime.time(5)]), [datetime.time(5)],
    np.array([5], "m8[M]"), np.array([np.datetime64("2024-01-01")], dtype=object),
    np.array([np.timedelta64(5, "h"), 3.0], dtype=object), np.array([5j], dtype=object),
    np.array([5j]),
]  # fmt: skip


@pytest.mark.parametrize("cells", OTHER_TYPES, ids=str)
def test_other_types_are_no_numbers(cells):
    with pytest.raises(ParameterError, match=r"expected .* in column 'x', got "):
        encoded(fitted(OTHER * 9), cells)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_files_are_decided_and_encoded_as_dataframes(kind, run):
    parts = np.random.default_rng(0).integers(1, 13, (N, 2))
    table = pd.DataFrame({
        "paid": replaced(NUMBERS, ["-", "n.v."]), "plan": ["Basic", "BASIC ", "Pro", "pro"] * 75,
        "due": [f"{a:02}/{b:02}/2023" for a, b in parts],
    })  # fmt: skip
    y = np.where(parts[:, 1] > 6, "yes", "no")
    if kind == "parquet":
        table.assign(leaves=y).to_parquet("a.parquet", index=False)
    else:
        table.assign(leaves=y).to_csv(f"a.{kind}", index=False, sep=",\t"[kind == "tsv"])
    encoder = TableEncoder(dates="day-first")
    expected = SRDA().fit(encoder.fit_transform(table), y).predict(encoder.transform(table))
    fit = f"fit a.{kind} --label leaves --method srda --dates day-first --chunk-rows 70"
    status, _, err = run(f"{fit} -o m.narrows")
    assert status == 0
    assert all(f"{each.column}: {each.kind} ({each.reason})" in err for each in encoder.decisions_)
    assert run(f"predict m.narrows a.{kind} --label leaves -o out.csv")[0] == 0
    assert pd.read_csv("out.csv")["label"].tolist() == expected.tolist()


def test_maps_without_forms_are_read_as_before():
    """Maps of 0.3.0 know no forms: case counts."""
    encoder = TableEncoder().fit({"c": ["Basic", "pro"] * 60, "x": np.arange(120.0) ** 1.5})
    arrays = {name: a for name, a in encoder.to_arrays().items() if name != "map.forms"}
    old = TableEncoder.from_arrays(arrays, None)
    got = old.transform({"c": ["Basic", "BASIC", "pro "], "x": [1.0, 2.0, 3.0]}).toarray()
    assert got[:, :2].tolist() == [[1, 0], [0, 0], [0, 0]]
    for wrong in ("month first", "days", "any case"):
        forms = np.array(["day.month.year", wrong], dtype=object)
        with pytest.raises(ValueError, match="forms"):
            TableEncoder.from_arrays(arrays | {"map.forms": forms}, None)
