"""What a user would pick instead: other libraries on the same tasks, in one run."""

from __future__ import annotations

import csv
import multiprocessing
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector, chi2
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import narrows
from benchmarks import harness
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.studies.files import measured
from benchmarks.studies.tables import package
from benchmarks.tables import Table
from narrows.read import iter_chunks

ROUNDS, SEED = 3, 0
BATCH = 100  # samples of a stream that come together
_PEAKS: list[float] = []  # MB of the commands that were run
VOWPAL = "-b 22 --loss_function logistic"


@dataclass
class Found:
    """What a library makes of a split: reduced samples, predictions of those held out, or both."""

    train: Any = None
    test: Any = None
    predicted: Any = None


Split = corpora.Split
Learn = Callable[[Split], Callable[[], Found]]  # what it returns is not part of the time


class Instead:
    """Seconds, memory above the data, and micro-F1 of held-out samples; medians of three runs."""

    name = "instead"

    def table(self) -> Table:
        rows = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of machines that stop
            for task, split, methods in _tasks():
                runs: dict[str, list[list[float]]] = {name: [] for name in methods}
                for _ in range(ROUNDS):
                    for name, learn in methods.items():
                        runs[name].append(_measured(learn, split))
                for name, found in runs.items():
                    seconds, peak, *scores = map(median, zip(*found, strict=True))
                    rows.append([task, name, f"{seconds:.2f}", f"{peak:,.0f}", *map(_f1, scores)])
        return Table(["task", "method", "seconds", "peak MB", "its own prediction", *NAMES], rows)


def _f1(score: float) -> str:
    return "" if np.isnan(score) else f"{score:.3f}"


def _measured(learn: Learn, split: Split) -> list[float]:
    """Return seconds, MB, and scores of one run in a process of its own."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        harness.use_compiled_loops()
        few = np.random.default_rng(0).permutation(len(split.y))[:500]
        learn(replace(split, X=_rows(split.X, few), y=split.y[few]))  # what is loaded and compiled
        _PEAKS.clear()
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before, start = harness.memory("VmRSS"), perf_counter()
        found = learn(split)
        seconds, peak = perf_counter() - start, harness.memory("VmHWM") - before
        theirs.send([seconds, max(peak, *_PEAKS, 0.0), *_scores(found(), split)])

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    theirs.close()
    answer = ours.recv()
    process.join()
    return list(answer)


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _scores(found: Found, split: Split) -> list[float]:
    own = float("nan")
    if found.predicted is not None:
        own = float(np.mean(np.asarray(found.predicted) == split.y_test))
    if found.train is None:
        return [own] + [float("nan")] * len(NAMES)
    return [own, *f1(found.train, split.y, found.test, split.y_test)]


def _tasks() -> Iterator[tuple[str, Split, dict[str, Learn]]]:
    with tempfile.TemporaryDirectory() as folder:
        yield "texts in a file, 20 Newsgroups", _news(Path(folder)), _texts(Path(folder))
    yield "1,000 terms of RCV1", corpora.rcv1(), {
        "`OCFS`": _reduced(lambda: narrows.OCFS(n_features=1000)),
        "scikit-learn, `SelectKBest(chi2)`": _reduced(lambda: SelectKBest(chi2, k=1000)),
        "scikit-learn, `TruncatedSVD` (100)": _reduced(lambda: TruncatedSVD(100)),
    }  # fmt: skip
    embeddings = _embeddings()
    yield "embeddings, 19 directions", embeddings, {
        "`SRDA`": _reduced(narrows.SRDA),
        "scikit-learn, LDA, `eigen`, shrinkage": _reduced(
            lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        ),
        "scikit-learn, `PCA`": _reduced(lambda: PCA(19)),
        "faiss, `PCAMatrix`": _faiss,
    }  # fmt: skip
    yield "embeddings, in batches of 100", embeddings, {
        "`OnlineSRDA`": _in_batches(narrows.OnlineSRDA),
        "scikit-learn, `SGDClassifier`": _in_batches(SGDClassifier),
        "River, softmax regression": _river,
    }  # fmt: skip
    yield "a table, electricity", _electricity(), {
        "`TableEncoder`, `SRDA(refine=True)`": _predicted(
            lambda: narrows.table.TableEncoder(), lambda: narrows.SRDA(refine=True)
        ),
        "skrub, logistic regression": _predicted(
            lambda: package("skrub").tabular_pipeline(LogisticRegression(max_iter=2000))
        ),
        "skrub, gradient boosting": _predicted(
            lambda: package("skrub").tabular_pipeline("classifier")
        ),
    }  # fmt: skip
    yield "5 of 21 features, waveform", _waveform(), {
        "`ForwardFS`": _reduced(lambda: narrows.ForwardFS(n_features=5)),
        "fastcan": _reduced(lambda: package("fastcan").FastCan(5, verbose=0)),
        "scikit-learn, `SequentialFeatureSelector`": _reduced(
            lambda: SequentialFeatureSelector(LinearDiscriminantAnalysis(), n_features_to_select=5)
        ),
    }  # fmt: skip


def _news(folder: Path) -> Split:
    """20 Newsgroups: the texts, and files of them for commands."""
    parts = []
    for split in ("train", "test"):
        chunks = list(iter_chunks(harness.data_path("20news_bydate.jsonl.gz"), split=split))
        texts = np.array([text for some, _ in chunks for text in some], dtype=object)
        y = np.concatenate([labels for _, labels in chunks]).astype(str)
        order = np.random.default_rng(SEED).permutation(len(y))  # in the file they are by label
        parts += [texts[order], y[order]]
        _write(folder, split, *parts[-2:])
    return Split(*parts)


def _write(folder: Path, name: str, texts: np.ndarray, y: np.ndarray) -> None:
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *zip(y, texts, strict=True)])
    numbers = 1 + np.unique(y, return_inverse=True)[1]
    with (folder / f"{name}.vw").open("w", encoding="utf-8") as file:
        for number, text in zip(numbers, texts, strict=True):
            words = re.findall(r"\w\w+", text.lower())
            file.write(f"{number} |t {' '.join(words)}\n")


def _texts(folder: Path) -> dict[str, Learn]:
    return {
        "`narrows fit --method onlinesrda`": _command(folder),
        "Vowpal Wabbit, one pass": _vowpal(folder, VOWPAL),
        "Vowpal Wabbit, five passes": _vowpal(folder, f"{VOWPAL} --passes 5 -k -c"),
        "scikit-learn, TF-IDF, `SGDClassifier`": _predicted(
            lambda: TfidfVectorizer(sublinear_tf=True), lambda: SGDClassifier(random_state=SEED)
        ),
        "scikit-learn, TF-IDF, `TruncatedSVD` (100)": _reduced(
            lambda: TfidfVectorizer(sublinear_tf=True), lambda: TruncatedSVD(100)
        ),
    }


def _command(folder: Path) -> Learn:
    """`narrows fit` on the file, as a whole process."""
    model, train, test = (str(folder / name) for name in ("m.narrows", "train.csv", "test.csv"))

    def learn(_: Split) -> Callable[[], Found]:
        columns = ["--text", "text", "--label", "label"]
        _run("-m", "narrows", "fit", train, *columns, "--method", "onlinesrda", "-o", model)
        return found

    def found() -> Found:
        parts = []
        for file in (train, test):
            reduced = str(folder / "reduced.npz")
            _run("-m", "narrows", "transform", model, file, "-o", reduced)
            parts.append(np.concatenate([X for X, _ in iter_chunks(reduced)]))
        out = folder / "predicted.csv"
        _run("-m", "narrows", "predict", model, test, "-o", str(out))
        with out.open(encoding="utf-8", newline="") as file:
            return Found(*parts, [row["label"] for row in csv.DictReader(file)])

    return learn


def _vowpal(folder: Path, options: str) -> Learn:
    """Vowpal Wabbit on the file of words, as a whole process."""
    package("vowpalwabbit")
    model = str(folder / "m.vw")

    def vw(*arguments: str) -> None:
        code = "import sys, vowpalwabbit; vowpalwabbit.Workspace(arg_list=sys.argv[1:]).finish()"
        _run("-c", code, "--quiet", *arguments)

    def learn(split: Split) -> Callable[[], Found]:
        vw("--oaa", "20", "-d", str(folder / "train.vw"), "-f", model, *options.split())
        return lambda: found(np.unique(split.y))

    def found(classes: np.ndarray) -> Found:
        out = folder / "predicted.txt"
        vw("-t", "-i", model, "-d", str(folder / "test.vw"), "-p", str(out))
        return Found(predicted=classes[np.loadtxt(out, dtype=int) - 1])

    return learn


def _run(*arguments: str) -> None:
    _PEAKS.append(measured([sys.executable, *arguments])[1] / 1e6)


def _embeddings() -> Split:
    file = np.load(harness.data_path("news20_static384.npz"))
    X, y, train = file["X"].astype(np.float32), file["y"], file["train"]
    order = np.random.default_rng(SEED).permutation(np.flatnonzero(train))
    return Split(X[order], y[order], X[~train], y[~train])


def _electricity() -> Split:
    table = pd.read_csv(harness.data_path("electricity_stream.csv"))
    X, y = table.drop(columns="class"), table["class"].to_numpy()
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=SEED)
    return Split(X, y, X_test, y_test)


def _waveform() -> Split:
    X, y = corpora.uci("waveform")
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=SEED)
    return Split(X, y, X_test, y_test)


def _reduced(*steps: Callable[[], Any]) -> Learn:
    def learn(split: Split) -> Callable[[], Found]:
        model = make_pipeline(*(step() for step in steps))
        Z = model.fit(split.X, split.y).transform(split.X)
        return lambda: Found(Z, model.transform(split.X_test), _own(model, split.X_test))

    return learn


def _predicted(*steps: Callable[[], Any]) -> Learn:
    def learn(split: Split) -> Callable[[], Found]:
        model = make_pipeline(*(step() for step in steps)).fit(split.X, split.y)
        return lambda: Found(predicted=model.predict(split.X_test))

    return learn


def _in_batches(make: Callable[..., Any]) -> Learn:
    def learn(split: Split) -> Callable[[], Found]:
        model, classes = make(random_state=SEED), np.unique(split.y)
        for start in range(0, len(split.y), BATCH):
            rows = slice(start, start + BATCH)
            model.partial_fit(split.X[rows], split.y[rows], classes=classes)
        own = _own(model, split.X_test)
        if not hasattr(model, "transform"):
            return lambda: Found(predicted=own)
        return lambda: Found(model.transform(split.X), model.transform(split.X_test), own)

    return learn


def _own(model: Any, X: Any) -> Any:
    return model.predict(X) if hasattr(model, "predict") else None


def _faiss(split: Split) -> Callable[[], Found]:
    matrix = package("faiss").PCAMatrix(split.X.shape[1], 19)
    matrix.train(split.X)
    Z = matrix.apply(split.X)
    return lambda: Found(Z, matrix.apply(np.ascontiguousarray(split.X_test)))


def _river(split: Split) -> Callable[[], Found]:
    linear = package("river.linear_model")
    model = linear.SoftmaxRegression(package("river.optim").Adam(0.01))
    for x, label in zip(split.X.tolist(), split.y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), label)
    test = split.X_test.tolist()
    return lambda: Found(predicted=[model.predict_one(dict(enumerate(x))) for x in test])
