"""A model that is only applied: what is imported, and small inputs without compiled loops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

import narrows
from narrows import OCFS, PLS, SRDA
from narrows.command import cli
from narrows.errors import DataError
from narrows.read import Dataset, iter_chunks
from narrows.text import HashedTfidf, Tfidf
from tests.cases import labelled
from tests.inside import (
    FewTexts,
    Options,
    Rows,
    StoredVectoriser,
    encoder_of,
    load_model,
    open_model,
    pretend,
    samples_of,
)

HEAVY = ("sklearn", "numba", "joblib", "tqdm", "pandas", "pyarrow")
WORDS = [
    "the",
    "sea",
    "of",
    "İstanbul",
    "ΣΑΣ",
    "straße",
    "ship",
    "e\u0301",
    "1_0",
    "\ud800",
    "a\0b",
]


def run_apart(lines):
    """Run commands in a new process; return which large packages it imported."""
    code = (
        "import sys; from narrows.command.cli import main\n"
        f"for line in {lines!r}: assert main(line.split()) == 0, line\n"
        f"print(*[name for name in {(*HEAVY, 'scipy')!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Models, and files of samples for these."""
    monkeypatch.chdir(tmp_path)
    X, y = labelled(40)
    narrows.save(SRDA().fit(X, y), "m.narrows")
    narrows.save(PLS().fit(X, X[:, 0]), "n.narrows")
    narrows.save(OCFS(n_features=2).fit(X, y), "s.narrows")
    np.save("a.npy", X)
    header = ",".join(f"c{k}" for k in range(7))
    np.savetxt("a.csv", X, delimiter=",", header=header, comments="")
    rows = [" ".join(f"{k + 1}:{v!r}" for k, v in enumerate(x)) for x in X.tolist()]
    Path("a.svm").write_text("".join(f"1 {row}\n" for row in rows))
    texts = [f"{word} of the {word}" for word in ("sea", "ship", "salt", "tree")] * 5
    lines = [{"text": text, "label": text[:2]} for text in texts]
    Path("t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("t.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    for name, options in (("t", ""), ("h", "--vectorizer hashing")):
        line = f"fit t.jsonl --method onlinesrda {options} -o {name}.narrows"
        assert cli.main(line.split()) == 0


@pytest.mark.slow
def test_dense_samples_need_neither_scipy_nor_scikit_learn(files):
    lines = ["info m.narrows", "info s.narrows", "info t.narrows"]
    for name in ("a.csv", "a.npy"):
        lines += [f"predict {model}.narrows {name} -o out.csv" for model in "mn"]
        lines += [f"transform {model}.narrows {name} -o out.npy" for model in "ms"]
        lines += [f"predict m.narrows {name} -o out.csv --priors balanced"]
    assert run_apart(lines) == []


@pytest.mark.slow
def test_sparse_samples_and_texts_need_no_more(files):
    lines = ["predict m.narrows a.svm -o out.csv", "transform m.narrows a.svm -o out.csv"]
    lines += [f"predict {model}.narrows t.jsonl -o out.csv" for model in "th"]
    lines += ["transform t.narrows t.csv --text text -o out.csv"]
    assert run_apart(lines) == []


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of a table with columns of each kind, and a model of it."""
    monkeypatch.chdir(tmp_path)
    rng, lines = np.random.default_rng(0), ["size,plan,joined,note,sold,vip"]
    days = np.arange("2021-01-01", "2025-01-01", dtype="M8[D]")
    for k in range(200):
        note = " ".join(rng.choice(WORDS[:7], 6))
        size = "" if k % 9 == 0 else f"{rng.normal(k % 2, 1):.3f}"
        plan = rng.choice(["basic", "pro", ""])
        lines.append(f"{size},{plan},{rng.choice(days)},{note},{k % 2},{k % 3 == 0}")
    Path("t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = "fit t.csv --label sold --method srda -o t.narrows"
    assert cli.main(line.split()) == 0


@pytest.mark.slow
def test_tables_need_no_more(table):
    lines = ["predict t.narrows t.csv -o p.csv", "transform t.narrows t.csv -o p.npy"]
    assert run_apart([*lines, "info t.narrows"]) == []


def test_tables_are_encoded_to_the_bit_as_by_their_encoder(table):
    whole, light = load_model("t.narrows"), open_model("t.narrows")
    columns = {"size": ["0.5", "", "7"], "plan": ["pro", "new", ""], "note": ["sea", "", "x sea"]}
    columns |= {"joined": ["2022-02-03", "2030-01-01", ""], "vip": ["True", "x", "False"]}
    of_encoder, stored = encoder_of(whole), encoder_of(light)
    assert type(stored).__name__ == "StoredEncoder"
    assert stored.decisions_ == of_encoder.decisions_
    assert stored.get_feature_names_out().tolist() == of_encoder.get_feature_names_out().tolist()
    found, expected = samples_of(stored, columns), samples_of(of_encoder, columns)
    assert found.shape == expected.shape
    for part in ("indptr", "indices", "data"):
        a, b = getattr(found, part), getattr(expected, part)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(light.predict_proba(found), whole.predict_proba(expected))


@pytest.mark.slow
def test_selected_columns_of_sparse_samples_need_scipy_alone(files):
    assert run_apart(["transform s.narrows a.svm -o out.csv"]) == ["scipy"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_rows_are_those_of_scipy_to_the_bit(dtype):
    rng = np.random.default_rng(0)
    X = sparse.random_array((50, 400), density=0.2, format="csr", dtype=dtype, rng=rng)
    X.data[::3] *= -1
    X.data[:9], X.indptr[3:7] = -0.0, X.indptr[3]
    for V in (rng.standard_normal((400, 7)), rng.standard_normal((400, 1)).astype(np.float32)):
        found, expected = Rows((X.data, X.indices, X.indptr), X.shape) @ V, X @ V
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


# -- texts ---------------------------------------------------------------------------------------


def same_to_the_bit(tfidf, texts):
    stored = StoredVectoriser(tfidf.to_arrays())
    found, expected = samples_of(stored, texts), tfidf.transform(texts)
    assert "_whole" not in vars(stored)  # which would be the vectoriser itself
    assert found.shape == expected.shape
    for part in ("indptr", "indices", "data"):
        a, b = getattr(found, part), getattr(expected, part)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    if tfidf.names is not None:
        assert stored.names.tolist() == tfidf.names.tolist()


@pytest.mark.parametrize(
    "tfidf",
    [
        Tfidf(), Tfidf(min_df=2, max_df=0.5), Tfidf(max_features=9), Tfidf(stop_words=["The"]),
        Tfidf(ngram_range=(1, 3)), HashedTfidf(16), HashedTfidf(2**20, ngram_range=(2, 2)),
        HashedTfidf(1000, stop_words=["sea"]),
    ],
    ids=str,
)  # fmt: skip
def test_few_texts_are_what_compiled_loops_make_of_them(tfidf):
    rng = np.random.default_rng(0)
    others = ["".join(map(chr, rng.integers(1, 0x2FFF, 3))) for _ in range(30)]
    texts = [
        " ".join(rng.choice([*WORDS, *others], rng.integers(0, 60)).tolist()) for _ in range(200)
    ]
    same_to_the_bit(tfidf.fit(texts[:100]), texts)


@pytest.mark.slow
def test_terms_of_any_length_have_the_column_of_scikit_learn():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abñ中"), size)) for size in range(1, 120)]
    texts += ["q" * size for size in (1000, 1001, 1002, 1003)]
    for width in (7, 1000, 2**20):
        hashed = FewTexts(width, np.ones(width), (), (1, 1))
        found = [int(hashed.samples_of([text]).indices[0]) for text in texts]
        expected = HashingVectorizer(n_features=width, token_pattern=r"\w+", alternate_sign=False)
        assert found == [int(expected.transform([text]).indices[0]) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["20news_bydate.jsonl.gz", "r8.jsonl.gz"])
def test_few_real_texts_are_what_compiled_loops_make_of_them(data, name):
    texts = [text for some, _ in iter_chunks(str(data / name)) for text in some][::20]
    for tfidf in (Tfidf(), HashedTfidf()):
        same_to_the_bit(tfidf.fit(texts), texts[:300])


@pytest.mark.slow
@pytest.mark.parametrize(
    "tfidf", [Tfidf("english"), Tfidf(token_pattern=r"\w\w+"), HashedTfidf(9, analyzer="char")]
)
def test_other_settings_are_left_to_the_vectoriser(tfidf):
    texts = ["the sea of trees", "a ship", "salt"]
    stored = StoredVectoriser(tfidf.fit(texts).to_arrays())
    assert abs(samples_of(stored, texts) - tfidf.transform(texts)).sum() == 0


def test_a_forged_size_of_terms_is_no_long_loop():
    arrays = Tfidf(ngram_range=(1, 2)).fit(["the sea", "a ship"]).to_arrays()
    expected = samples_of(StoredVectoriser(arrays), ["the sea"])
    arrays["ngram_range"] = np.array([1, 2**53])
    found = samples_of(StoredVectoriser(arrays), ["the sea"])
    assert abs(found.csr() - expected.csr()).sum() == 0


@pytest.mark.slow
def test_many_texts_are_left_to_the_vectoriser():
    texts = ["sea " * 3_000_000]
    stored = StoredVectoriser(Tfidf().fit(texts).to_arrays())
    samples_of(stored, texts)
    assert "_few" not in vars(stored)


# -- svmlight ------------------------------------------------------------------------------------


def read(content, **options):
    """What is read of a file, and the error after it."""
    Path("a.svm").write_bytes(content)
    found = []
    try:
        for chunk in Dataset(["a.svm"], Options(may_be_empty=True, **options)):
            X = chunk.X
            found += [X.shape, X.data.tolist(), X.indices.tolist(), X.indptr.tolist()]
            found += [np.asarray(chunk.lines).tolist(), str(getattr(chunk.y, "dtype", None))]
            found += [chunk.y.tolist() if isinstance(chunk.y, np.ndarray) else repr(chunk.y)]
    except DataError as error:
        found.append(str(error))
    return found


PIECES = [
    b"1 1:2 3:4.5\n", b"-1 2:1e-3 \n", b"0\n", b"+2 7:1 9:-2.25\r\n", b"1 0:1 2:1\n", b"\n",
    b"1 3:1 2:1\n", b"1,2 3:1\n", b"1 3:1 # comment\n", b"x 1:1\n", b"1 1:nan\n", b"1 5:1e400\n",
    b"1 1:1_0\n", b"1 99999999999:1\n", b"1 2147483647:1\n", b"1 2147483648:1\n", b"1 1:1e5-\n",
    b"1 qid:3 2:1\n", b" 1 2:1\n", b"1  2:1\n", b"1.5 2:1\n", b"1 00:1\n", b"1 1:1",
]  # fmt: skip


@pytest.mark.slow
def test_few_rows_are_what_compiled_loops_read_of_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    contents = [b"".join(PIECES[k] for k in rng.integers(0, 4, 5)) + piece for piece in PIECES]
    contents += [
        b"".join(PIECES[k] for k in rng.choice(len(PIECES), rng.integers(1, 4))) for _ in range(300)
    ]
    numbers = [f"{v!r}" for v in (rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300))]
    contents.append("".join(f"1 1:{v} 2:{v[:9]}\n" for v in numbers).encode())
    for content in contents:
        for options in ({}, {"zero_based": True}, {"zero_based": False, "chunk_rows": 2}):
            with monkeypatch.context() as patch:
                pretend(patch, "loops are compiled")
                expected = read(content, **options)
            with monkeypatch.context() as patch:
                pretend(patch, "loops are plain")
                assert read(content, **options) == expected, content
