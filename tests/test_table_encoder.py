"""TableEncoder: what each column is, its features against scikit-learn, and what people write."""

from __future__ import annotations

import datetime
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.utils import get_tags

import narrows
from narrows import OC, OCFS, SRDA
from narrows.errors import DataError, ParameterError
from narrows.table import TableEncoder
from narrows.text import Tfidf
from tests.test_forgery import rewritten

N = 240
NAN = float("nan")
WORDS = ["salt", "water", "ship", "tree", "hill", "sand", "road", "wave"]


def mixed(n=N, seed=0, missing=True):
    """A table with a column of each kind."""
    rng = np.random.default_rng(seed)
    first = np.datetime64("2024-01-01")
    table = pd.DataFrame(
        {
            "row": np.arange(n) + 17,
            "size": rng.lognormal(size=n),
            "steps": rng.integers(0, 4, n),
            "paid": rng.random(n) < 0.4,
            "plan": rng.choice(["basic", "pro", "team", "gift"], n, p=[0.6, 0.3, 0.08, 0.02]),
            "town": [f"town {k}" for k in rng.integers(0, 9, n) ** 2],
            "key": [f"k{k:05}" for k in rng.permutation(n)],
            "joined": first + rng.integers(0, 900, n).astype("m8[D]"),
            "seen": first + rng.integers(0, 9000, n).astype("m8[h]"),
            "note": [" ".join(rng.choice(WORDS, 5)) for _ in range(n)],
            "unit": "m",
        }
    )
    if missing:
        for name, rate in {"size": 0.1, "plan": 0.2, "joined": 0.1, "note": 0.05}.items():
            table.loc[rng.random(n) < rate, name] = None
    return table


def labels(table):
    y = np.log(table["size"].fillna(1)) ** 2 + (table["plan"] == "pro") > 1
    return np.where(y, "stays", "leaves")


def kinds(encoder):
    return {decision.column: decision.kind for decision in encoder.decisions_}


def same(A, B):
    assert A.shape == B.shape
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(A, name), getattr(B, name))


def same_arrays(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


def columns(encoder, X, name):
    """The features of a column of the table, dense."""
    number = list(encoder.feature_names_in_).index(name)
    return X[:, np.flatnonzero(encoder.groups_ == number)].toarray()


MANY = [f"v{k}" for k in range(60)]
MIXED_UP = np.random.default_rng(0).permutation(120)[:80]
CASES = {
    "booleans or none": ([True, False, None, True] * 20, "category"),
    "booleans and numbers": ([True, 2.5] * 40, "number"),
    "booleans or NaN": (pd.Series([True, NAN, False] * 30, dtype=object), "category"),
    "texts of numbers": (["1", " 2.5", "-3e2", None] * 20, "number"),
    "decimals": ([Decimal("1.5"), Decimal(3)] * 40, "number"),
    "durations": ((np.arange(80) % 7).astype("m8[h]"), "number"),
    "integers that count up": (np.arange(100, 180), "identifier"),
    "shuffled, some left out": (MIXED_UP, "identifier"),
    "few integers that count up": (np.arange(39), "number"),
    "codes": (["1", "2", "x", "1_0"] * 20, "category"),
    "a type": (pd.Series([3, 7] * 40, dtype="category"), "category"),
    "short texts, some frequent": (MANY + ["v0", "v1"] * 10, "category"),
    "short texts, all rare": (MANY[:40] * 2, "identifier"),
    "long texts": ([f"a b c {k}" for k in range(80)], "text"),
    "dates": (["2024-02-03", "2023-11-30 14:05", None] * 20, "date"),
    "dates that do not exist": (["2024-02-31", "2024-02-01"] * 40, "category"),
    "its end": (["9999-12-31 23:59:59-05:00", "0001-01-01 00:00+10:00"] * 20, "date"),
    "none": ([None, "", "NA", NAN] * 20, "constant"),
    "one value or none": ([3.5, None] * 40, "category"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_column_is(case):
    values, kind = CASES[case]
    encoder = TableEncoder(min_frequency=10)
    encoder.fit({"x": values, "other": np.linspace(0, 1, len(values))})
    decision = encoder.decisions_[0]
    assert (decision.column, decision.kind) == ("x", kind)
    assert (decision.n_features > 0) == (kind in ("number", "date", "category", "text"))


@pytest.mark.parametrize(
    ("known", "later"),
    [([1, 2], np.array([1.0, 2.0])), ([False, True], ["FALSE", "true"]),
     (["1", "2"], ["1.0", "2.0"]),  # which pandas writes where a cell is missing
     (["TRUE", "FALSE"], ["1", "0.0"]), (np.array([0.1, 0.2], np.float32), [0.1, 0.2]),
     (["2020-01-01", "2020-01-02"], np.array(["2020-01-01", "2020-01-02"], "M8[ns]")),
     (np.array(["2020-01-01", "2020-01-02"], "M8[us]"), ["2020-01-01", "2020-01-02 00:00"])],
    ids=str,
)  # fmt: skip
def test_categories_are_known_as_other_types_and_files_write_them(known, later):
    encoder = TableEncoder(categories=["a"]).fit({"a": np.tile(known, 20)})
    same(encoder.transform({"a": later}), encoder.transform({"a": known}))
    assert encoder.transform({"a": later}).sum(axis=1).tolist() == [[1], [1]]


def test_a_category_with_no_known_value_is_named():
    encoder = TableEncoder().fit({"a": ["u", "v"] * 20, "b": ["r", "s"] * 20})
    with warnings.catch_warnings(action="error"):
        encoder.transform({"a": ["w"] * 100 + ["u"], "b": ["r"] * 101})
        encoder.transform({"a": ["w"], "b": ["r"]})
        encoder.transform({"a": [None] * 100, "b": ["r"] * 100})
        with pytest.raises(UserWarning, match="in column 'a', such as 'u', got others only, such"):
            encoder.transform({"a": ["w"] * 20, "b": ["r"] * 20})


FORMS = {
    "polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "batch": pa.RecordBatch.from_pandas,
    "lists": lambda table: {name: table[name].tolist() for name in table},
    "nullable": lambda table: table.convert_dtypes(),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_tables_are_encoded_alike(form):
    table = mixed()
    encoder, other = TableEncoder().fit(table), FORMS[form](table)
    assert TableEncoder().fit(other).decisions_ == encoder.decisions_
    same(encoder.transform(other), encoder.transform(table))
    turned = table[list(table)[::-1]].drop(columns="unit")  # which has no features
    same(encoder.partial_fit(turned).transform(turned), encoder.transform(table))


def test_numbers_are_those_of_standard_scaler_and_spline_transformer():
    table = mixed(missing=False)
    encoder = TableEncoder()
    X = encoder.fit_transform(table)
    for name in ("size", "steps"):
        x = table[[name]].to_numpy(dtype=float)
        z = StandardScaler().fit_transform(x)
        knots = np.unique(np.quantile(z, np.linspace(0, 1, 8)))
        theirs = SplineTransformer(len(knots), knots=knots[:, None], extrapolation="constant")
        found = columns(encoder, X, name)
        np.testing.assert_allclose(found, np.hstack([z, theirs.fit_transform(z)]), atol=1e-12)
        more = np.linspace(-9, 99, 50)[:, None]  # outside of the knots, too
        z = StandardScaler().fit(x).transform(more)
        new = encoder.transform(table.head(50).assign(**{name: more[:, 0]}))
        expected = np.hstack([z, theirs.transform(z)])
        np.testing.assert_allclose(columns(encoder, new, name), expected, atol=1e-11)
    paid = OneHotEncoder().fit_transform(table[["paid"]]).toarray()
    np.testing.assert_array_equal(columns(encoder, X, "paid"), paid)


@pytest.mark.parametrize(
    "settings",
    [{"min_frequency": 1}, {"min_frequency": 0.05}, {"max_categories": 3},
     {"max_categories": 2, "min_frequency": 30}, {"min_frequency": 1000}],
    ids=str,
)  # fmt: skip
def test_categories_are_those_of_one_hot_encoder(settings):
    table = mixed(missing=False)[["plan", "town"]]
    new = pd.DataFrame({"plan": ["pro", "new", "gift"], "town": ["town 0", "town 4", "a"]})
    theirs = OneHotEncoder(handle_unknown="infrequent_if_exist", **settings).fit(table)
    encoder = TableEncoder(**{"max_categories": None, **settings}).fit(table)
    for each in (table, new):
        expected = theirs.transform(each).toarray()
        np.testing.assert_array_equal(encoder.transform(each).toarray(), expected)
    names = [n.replace("_infrequent_sklearn", "=(other)") for n in theirs.get_feature_names_out()]
    names = [n if "=" in n else n.replace("_", "=", 1) for n in names]
    assert encoder.get_feature_names_out().tolist() == names


def test_dates_are_days_months_weekdays_and_hours():
    table = mixed(missing=False)
    encoder = TableEncoder()
    X = encoder.fit_transform(table)
    names = encoder.get_feature_names_out()
    for name in ("joined", "seen"):
        days = (table[name] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        z = StandardScaler().fit_transform(days.to_frame())
        np.testing.assert_allclose(columns(encoder, X, name)[:, :1], z, atol=1e-9)
        when = table[name].dt
        for part, expected in (
            ("month", when.month), ("weekday", when.isocalendar().day), ("hour", when.hour),
        ):  # fmt: skip
            of_part = [k for k, n in enumerate(names) if n.startswith(f"{name}.{part}=")]
            if (name, part) == ("joined", "hour"):  # of days without a time
                assert not of_part
                continue
            values = np.array([int(names[k].partition("=")[2]) for k in of_part])
            assert len(values) == {"month": 12, "weekday": 7, "hour": 24}[part]
            np.testing.assert_array_equal(values[X[:, of_part].toarray().argmax(1)], expected)
            assert (X[:, of_part].sum(axis=1) == 1).all()


SPANS = {  # the first date, the one after the last, and which parts of dates are features
    "a year": ("2025-01-01", "2026-01-01", {"month", "weekday"}),
    "two weeks": ("2025-01-01", "2025-01-15", {"weekday"}),
    "less than two weeks": ("2025-01-01", "2025-01-14", set()),
    "two days": ("2025-01-01T00", "2025-01-03T00", {"hour"}),
}


@pytest.mark.parametrize(("first", "last", "parts"), SPANS.values(), ids=SPANS)
def test_parts_of_dates_need_a_year_two_weeks_or_two_days(first, last, parts):
    encoder = TableEncoder().fit({"t": np.arange(np.datetime64(first), np.datetime64(last))})
    names = encoder.get_feature_names_out()
    assert {name[2:].partition("=")[0] for name in names if "=" in name} == parts


def test_texts_are_those_of_tfidf():
    table = mixed()
    encoder = TableEncoder(max_terms=6)
    X = columns(encoder, encoder.fit_transform(table), "note")
    texts = ["" if pd.isna(text) else text for text in table["note"]]
    tfidf = Tfidf(max_features=6)
    np.testing.assert_array_equal(X[:, :-1], tfidf.fit_transform(texts).toarray())
    np.testing.assert_array_equal(X[:, -1], table["note"].isna())
    names = [name for name in encoder.get_feature_names_out() if name.startswith("note=")]
    assert names == [*(f"note={term}" for term in tfidf.terms), "note=(missing)"]


def test_batches_are_counted_and_do_not_change_the_map():
    table = mixed(400)
    encoder = TableEncoder().partial_fit(table[:N])
    before = encoder.to_arrays()
    same_arrays(before, TableEncoder().fit(table[:N]).to_arrays())
    encoder.partial_fit(table[N:]).partial_fit(table[:0])
    same_arrays(before | {"n_samples": np.array(400)}, encoder.to_arrays())
    parts = [encoder.transform(part) for part in (table[:7], table[7:30], table[30:], table[:0])]
    same(sparse.vstack(parts, format="csr"), encoder.transform(table))
    same_arrays(encoder.fit(table[:N]).to_arrays(), before)
    same(encoder.fit_transform(table), TableEncoder().fit(table).transform(table))


def test_merge_adds_samples_of_one_map():
    table = mixed()
    first = TableEncoder().fit(table[:200])
    other = first.emptied().partial_fit(table[200:])
    assert first.merge(other, other.emptied()) is first
    assert (first.n_samples_seen_, other.n_samples_seen_) == (240, 40)
    alone = TableEncoder().merge(TableEncoder()).merge(first, other)
    assert alone.n_samples_seen_ == 280
    for each in (first, alone):
        same(each.transform(table), TableEncoder().fit(table[:200]).transform(table))
    for other in (
        table.assign(size=table["size"] + 1e-9), table.drop(columns="size"),
        table.assign(plan=table["plan"].replace("pro", "Pro")),
        table.assign(note=table["note"] + " x"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="expected"):
            first.merge(TableEncoder().fit(other))
    with pytest.raises(ValueError, match="expected"):
        first.merge(Tfidf())
    assert first.n_samples_seen_ == 240


@pytest.mark.slow
def test_saved_encoders_and_pipelines_are_the_same_to_the_bit(tmp_path):
    settings = {"text": ["town"], "categories": ["steps"], "numbers": ["row"], "max_terms": 9}
    settings |= {"min_frequency": 0.05, "max_categories": None, "drop": ["key"]}
    table, path = mixed(), tmp_path / "m.narrows"
    y = labels(table)
    encoder = TableEncoder(**settings).fit(table)
    pipeline = Pipeline([("none", "passthrough"), ("a", encoder), ("b", SRDA())]).fit(table, y)
    narrows.save(pipeline[1], path)
    again = narrows.load(path)
    assert again.decisions_ == encoder.decisions_
    assert again.get_params() == encoder.get_params()
    same(again.transform(table), encoder.transform(table))
    assert again.merge(encoder.emptied().partial_fit(table[:9])).n_samples_seen_ == N + 9
    narrows.save(pipeline, path)
    again = narrows.load(path)
    np.testing.assert_array_equal(again.predict_proba(table), pipeline.predict_proba(table))
    assert again[-1].partial_fit(again[-2].transform(table), y).n_samples_seen_ == 2 * N
    with pytest.raises(NotFittedError):
        narrows.save(TableEncoder(), path)


DAMAGED = [  # an array, what is changed in it, and a word of the message
    ("map.kinds", 0, 9, "kinds: expected"), ("map.numbers", (0, 1), 0.0, "numbers: expected"),
    ("map.numbers", (0, 0), NAN, "finite numbers"), ("map.knots", 0, 99.0, "knots: expected"),
    ("map.knot_ends", -1, 999, "knot_ends"), ("map.value_ends", 0, -1, "value_ends"),
    ("map.kinds", slice(None), 5, "known names|with features|expected none of"),
    ("splines", (), 1, "`splines`"), ("n_samples", (), -1, "n_samples"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "index", "value", "said"), DAMAGED)
def test_models_with_encoders_that_are_damaged(tmp_path, name, index, value, said):
    path, name = str(tmp_path / "m.narrows"), f"step0.table.{name}"
    narrows.save(TableEncoder().fit(mixed()), path)
    array = load_file(path)[name]
    array[index] = value
    rewritten(path, {name: array})
    with pytest.raises(DataError, match=said):
        narrows.load(path)


def changed(**columns):
    table = mixed()
    return {**{name: table[name].tolist() for name in table}, **columns}


LATER = {  # and what the error names
    "a text": (changed(size=["1"] * 9 + ["abc"] + ["x"] * (N - 10)), "'size', got 'abc' in row 9"),
    "a date": (changed(joined=["2024-01-01"] * 3 + ["2024-13-01"] * (N - 3)), "'joined'.* row 3"),
    "infinity": (changed(size=[1.0, -np.inf] * (N // 2)), "-inf in row 1"),
    "too large": (changed(size=[1e200] * N), "'size'"),
    "lengths": (changed(size=[1.0]), "length"),
    "missing and new": (mixed().drop(columns="plan").assign(**{"": 1}), "'plan', and '' besides"),
    "new": (mixed().assign(more=1), "'more' besides"),
    "two of one name": (pd.concat([mixed(), mixed()[["size"]]], axis=1), "different names"),
    "lists": (changed(plan=[["a"], ["b", "c"]] * (N // 2)), "one value in each cell"),
    "matrices": (changed(plan=np.zeros((N, 2))), "one value in each cell of column 'plan'"),
    "objects": (changed(plan=np.array([{"a": 1}] * N)), "'plan'"),
    "no table": (np.zeros((3, 2)), "a DataFrame, an Arrow table or a mapping of columns, got nda"),
}


@pytest.mark.parametrize("case", LATER)
def test_later_samples_that_do_not_fit_change_nothing(case):
    given, message = LATER[case]
    encoder = TableEncoder().fit(mixed())
    before = encoder.to_arrays()
    for use in (encoder.transform, encoder.partial_fit):
        with pytest.raises(ValueError, match=message) as found:
            use(given)
        if case == "a text":
            error = pickle.loads(pickle.dumps(found.value))
            assert (error.column, error.row) == ("size", 9)
    same_arrays(encoder.to_arrays(), before)


WRONG = [  # parameters, first samples, and what the error names
    *((given, mixed(), said) for given, said in (
        ({"splines": 1}, "`splines`"), ({"min_frequency": 0}, "`min_frequency`"),
        ({"max_categories": 1}, "`max_categories`"), ({"max_terms": 0}, "`max_terms`"),
        ({"dates": "dmy"}, "`dates`"), ({"drop": "size"}, "`drop`"),
        ({"numbers": ["sise"]}, "got 'sise'. Did you mean"),
        ({"drop": ["size"], "numbers": ["size"]}, "'size' in numbers and drop"),
        ({"drop": list(mixed())}, "expected a column to encode"),
        ({"numbers": ["plan"]}, "numbers in column 'plan'"),
    )),
    *(({}, table, said) for table, said in (
        (mixed()[:0], "at least one sample"), ({}, "at least one sample"),
        ({"x": [1.0, np.inf]}, "'x', got inf in row 1"), ({"x": ["a", "a"]}, "column to encode"),
        ({"x": ["1", "2", "inf"]}, "'x', got 'inf' in row 2"),
        ({"x": [10**400, 1]}, "'x', got 10000"), ({"x": [1e300, -1e300]}, "less than 1e150 in"),
        (pd.DataFrame({"x": [np.arange(3.0)] * 60, "b": range(60)}), "lists"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "table", "message"), WRONG)
def test_first_samples_and_parameters_that_are_wrong(parameters, table, message):
    encoder = TableEncoder().fit(mixed())
    before = encoder.to_arrays()
    encoder.set_params(**parameters)
    for use in (encoder.fit, encoder.fit_transform, TableEncoder(**parameters).partial_fit):
        with pytest.raises(ValueError, match=message) as found:
            use(table)
        assert len(str(found.value)) < 300
    same_arrays(encoder.set_params(**TableEncoder().get_params()).to_arrays(), before)


def test_what_scikit_learn_expects_of_a_transformer():
    encoder, table = TableEncoder(splines=4), mixed()
    for use in (lambda: encoder.transform(table), encoder.emptied, encoder.to_arrays,
                encoder.get_feature_names_out, lambda: encoder.groups_):  # fmt: skip
        with pytest.raises(NotFittedError):
            use()
    assert not hasattr(encoder, "decisions_")
    tags = get_tags(encoder.fit(table, labels(table))).input_tags
    assert (tags.string, tags.allow_nan) == (True, True)
    same(pickle.loads(pickle.dumps(encoder)).transform(table), encoder.transform(table))
    assert encoder.n_features_in_ == len(encoder.feature_names_in_) == 11


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dates_are_no_numbers(form):
    dates = pd.DataFrame({"x": [1.0, 2.0, 3.0], "when": pd.date_range("2024", periods=3)})
    with pytest.raises(ValueError, match="expected numbers, got dates or times in column 'when'"):
        OC().fit(form(dates), [0, 1, 1])
    for estimator in (TableEncoder(), OC()):
        with pytest.raises(ValueError, match=r"LazyFrame\. Use X\.collect"):
            estimator.fit(pl.DataFrame({"x": [1.0, 2.0, 3.0]}).lazy(), [0, 1, 1])


def test_numbers_that_differ_by_rounding_are_as_constant_as_those_of_standard_scaler():
    x = np.r_[[0.3] * 1000, [0.1 + 0.2] * 1000]
    encoder = TableEncoder(numbers=["x"]).fit({"x": x})
    later = np.array([0.3, 0.4])
    expected = StandardScaler().fit(x[:, None]).transform(later[:, None])
    np.testing.assert_allclose(encoder.transform({"x": later}).toarray(), expected, atol=1e-12)


def test_features_of_one_name_get_their_columns():
    table = {"a=b": ["x", "y", "y"] * 10, "a": ["b=x", "b=x [a]", "c"] * 10}
    table |= {"n_sp_1": [4.0, 2, 7] * 10, "n": np.arange(30.0) ** 2}
    encoder = TableEncoder(splines=3).fit(table)
    names = encoder.get_feature_names_out().tolist()
    assert len(set(names)) == len(names)
    assert "n_sp_1" in names  # the name of a column
    other = TableEncoder(splines=3).fit(dict(reversed(table.items())))
    at = [other.get_feature_names_out().tolist().index(name) for name in names]
    assert (other.transform(table)[:, at] != encoder.transform(table)).nnz == 0
    for output in "pandas", "polars":
        steps = make_pipeline(TableEncoder(splines=3), OCFS(n_features=3))
        chosen = steps.set_output(transform=output).fit_transform(table, np.arange(30) % 2)
        found = steps[0].transform(table)
        assert list(found.columns) == names
        np.testing.assert_array_equal(found.to_numpy(), encoder.transform(table).toarray())
        assert set(chosen.columns) < set(names)


M = 300
RNG = np.random.default_rng(5)
OTHER = RNG.random(M)
NUMBERS = [f"{number:.2f}" for number in RNG.gamma(3, 20, M)]
DAYS = pd.Series(np.datetime64("2021-01-04T00:00:00") + RNG.integers(0, 1300 * 86400, M))
NO_TIME = DAYS.dt.normalize()
CELLS = {
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


@pytest.mark.parametrize("form", CELLS)
def test_texts_among_numbers_are_missing_values(form, tmp_path):
    tokens = ["-", "n.v.", "M.V. ", "Unknown", "#DIV/0!"]
    with silent():
        encoder = fitted(CELLS[form](replaced(NUMBERS, tokens)))
        expected = fitted(replaced(NUMBERS, [None]))
    assert decision(encoder).kind == "number"
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
    parts = np.random.default_rng(0).integers(1, 13, (M, 2))
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


@pytest.mark.parametrize("form", CELLS | OF_CATEGORIES)
def test_categories_that_differ_by_case_or_outer_spaces_are_one(form, tmp_path):
    weights = [0.4, 0.1, 0.1, 0.1, 0.2, 0.1]
    words = ["Basic", "BASIC", "basic ", " Straße", "STRASSE", "Basics"]
    cells = np.random.default_rng(0).choice(words, M, p=weights).tolist()
    encoder = fitted((CELLS | OF_CATEGORIES)[form](cells))
    names = [name for name in encoder.get_feature_names_out() if name.startswith("x")]
    assert names == ["x=Basic", "x=Basics", "x=STRASSE"]
    expected = pd.get_dummies(pd.Series(cells).str.strip().str.casefold())
    np.testing.assert_array_equal(encoded(encoder, cells)[:, :3], expected)
    later = encoded(loaded(encoder, tmp_path), ["bASIC", "strasse ", "male", " basics"])[:, :3]
    assert later.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0]]
    kept = fitted(cells, categories=["x"])
    assert {f"x={word}" for word in words} < {*kept.get_feature_names_out()}
    assert encoded(kept, ["bASIC"])[0, :6].tolist() == [0] * 6


AGES = np.random.default_rng(2).integers(18, 91, M)
IDS = np.random.default_rng(0).permutation(10**6)[:M] + 10**6
HOUSEHOLDS = RNG.permutation(np.repeat(RNG.permutation(2000) + 50_000, 3))
AMOUNTS = RNG.integers(1000, 9000, 32)
LARGE = [f"{amount:,}".replace(",", ".") for amount in RNG.integers(100, 99_000, M) * 10]
WAITS = RNG.gamma(3, 2, M)
WARNED = [  # cells, what the warning names, and the parameter that says how they are meant
    (replaced(AGES, [-9, 9999]), "got -9 .*9999", "numbers"),
    (replaced(AGES, ["-1", 99.9]), "got -1 .*99.9", "numbers"),
    (replaced(RNG.integers(0, 90, M), [-1]), "got -1", "numbers"),
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
    parts = np.random.default_rng(0).integers(1, 13, (M, 2))
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


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT, "", "  ", "NA", "nan", "NULL", "?"])
def test_missing_cells(missing):
    table = {
        "x": np.array([1.0, 2.0, missing, 5.0, 8.0, 9.0], object),
        "c": np.array(["a", "b", missing] * 2, object),
        "t": np.array(["2023-01-01", missing, "2024-01-09", *["2024-05-01"] * 3], object),
    }
    encoder = TableEncoder(splines=0).fit(table)
    given = {"x": [missing, "6"], "c": [missing, "new"], "t": [missing, "2024-01-01"]}
    X = pd.DataFrame(encoder.transform(given).toarray(), columns=encoder.get_feature_names_out())
    for name in "xct":
        assert X[f"{name}=(missing)"].tolist() == [1, 0]
    assert (X["x"][0], X["t"][0]) == (0, 0)  # the mean
    assert not X[["c=a", "c=b"]].to_numpy().any()
    months = [name for name in X if name.startswith(("t.month", "t.weekday"))]
    assert X[months].sum(axis=1).tolist() == [0, 2]


@pytest.mark.parametrize(
    "cells",
    [
        AGES, RNG.lognormal(3, 2, M).round(2), RNG.normal(size=M).round(1), replaced(AGES, [None]),
        replaced(RNG.uniform(-0.6, 1, M), [-1, 1]),  # limits
        replaced(RNG.uniform(0, 1, M), [7.3]),  # no integer
        RNG.lognormal(10, 0.8, M).round(),  # salaries
        [f"{wait:.3f}" for wait in WAITS],
        [f"{wait:.0f}" if wait > 9 else f"{wait:.3f}" for wait in WAITS],
        ["0", "1", "2", "3+"] * 60, ["<1", "1", ">2"] * 60, ["18-25", "26-35", "36+"] * 60,
    ],
)  # fmt: skip
def test_values_that_mean_what_they_say_are_not_named(cells):
    with silent():
        fitted(cells)
