"""How soon a model answers: whole commands and imports."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.harness import data_path
from benchmarks.tables import Table
from narrows.read import iter_chunks

ROUNDS, ROWS = 3, 1000
_PIXELS = "--label label"
_BODY = "--text body --label label"
MODELS = {  # what is fitted to which file, with which options
    "SRDA, digits": ("digits.csv", f"{_PIXELS} --method srda"),
    "LDA, digits": ("digits.csv", f"{_PIXELS} --method lda"),
    "KernelSRDA, digits": ("digits.csv", f"{_PIXELS} --method kernelsrda"),
    "OnlineSRDA, digits": ("digits.csv", f"{_PIXELS} --method onlinesrda"),
    "OCFS, digits": ("digits.csv", f"{_PIXELS} --method ocfs"),
    "OnlineSRDA, 20 Newsgroups": ("news.csv", f"{_BODY} --method onlinesrda"),
    "OnlineSRDA, hashed, 20 Newsgroups": (
        "news.csv",
        f"{_BODY} --method onlinesrda --vectorizer hashing",
    ),
    "OCFS, 20 Newsgroups": ("news.csv", f"{_BODY} --method ocfs --n-features 1000"),
    "SRDA, table": ("orders.csv", "--label returned --method srda"),
}
COMMANDS = [  # a verb, a model and a file of 1,000 rows
    *(("predict", model, "rows.csv") for model in MODELS if model[-6:] == "digits"),
    *(("predict", "SRDA, digits", f"rows.{suffix}") for suffix in ("svm",)),
    *(("predict", model, "texts.csv") for model in MODELS if model[-6:] == "groups"),
    ("predict", "SRDA, table", "later.csv"),
    ("predict", "OnlineSRDA, 20 Newsgroups", "texts.jsonl"),
    ("info", "SRDA, digits", ""),
]
IMPORTS = {
    "import narrows": "import narrows",
    "narrows.SRDA": "import narrows; narrows.SRDA",
    "sklearn.base alone": "import sklearn.base",
}


class Start:
    """Seconds of whole processes, from a warm disk; at last with no compiled loops on it."""

    name = "start"

    def table(self) -> Table:
        found: dict[str, list[float]] = {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _write(folder)
            for k, (file, options) in enumerate(MODELS.values()):
                _run(f"fit {file} {options} -o {k}.narrows", folder)
            for number in range(ROUNDS):
                for verb, model, rows in COMMANDS:
                    reduces = verb == "predict" and model.startswith("OCFS")
                    verb = "transform" if reduces else verb
                    line = f"{verb} {list(MODELS).index(model)}.narrows {rows}"
                    line += " -o out.csv" if rows else ""
                    key = f"{verb} {rows.partition('.')[2]}".strip()
                    found.setdefault(f"{key}: {model}", []).append(_run(line, folder))
                for what, code in IMPORTS.items():
                    found.setdefault(what, []).append(_python(["-c", code], folder))
                line = f"fit digits.csv {_PIXELS} --method srda -o new.narrows"
                seconds = _run(line, folder, f"new{number}")
                found.setdefault("fit of digits, new machine", []).append(seconds)
        rows = [
            [what, f"{median(times):.2f}", f"{min(times):.2f} to {max(times):.2f}"]
            for what, times in found.items()
        ]
        return Table(["what", "s", "range"], rows)


def _write(folder: Path) -> None:
    X, y = load_digits(return_X_y=True)
    columns = [f"p{k}" for k in range(X.shape[1])]
    with open(folder / "digits.csv", "w") as file:
        lines = csv.writer(file)
        lines.writerow([*columns, "label"])
        lines.writerows([*x, f"d{label}"] for x, label in zip(X.tolist(), y, strict=True))
    _write_table(folder / "orders.csv", 5000, 0)
    _write_table(folder / "later.csv", ROWS, 1)
    X = X[:ROWS]
    with open(folder / "rows.csv", "w") as file:
        csv.writer(file).writerows([columns, *X.tolist()])
    with open(folder / "rows.svm", "w") as file:
        file.writelines(
            "0 " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(x) if v) + "\n" for x in X.tolist()
        )
    for part, name in (("train", "news"), ("test", "texts")):
        chunks = iter_chunks(data_path("20news_bydate.jsonl.gz"), split=part)
        pairs = [pair for texts, y in chunks for pair in zip(texts, y.tolist(), strict=True)]
        pairs = pairs[:: len(pairs) // ROWS][:ROWS] if part == "test" else pairs
        with open(folder / f"{name}.csv", "w") as file:
            csv.writer(file).writerows([["body", "label"], *pairs])
        with open(folder / f"{name}.jsonl", "w") as file:
            file.writelines(json.dumps({"body": text}) + "\n" for text, _ in pairs)


def _write_table(path: Path, n: int, seed: int) -> None:
    """Write generated orders: numbers, a category, a date and a text, with missing cells."""
    rng = np.random.default_rng(seed)
    words, days = [f"word{k}" for k in range(300)], np.arange("2021", "2025", dtype="M8[D]")
    with open(path, "w") as file:
        lines = csv.writer(file)
        lines.writerow(["price", "size", "shop", "ordered", "note", "returned"])
        for k in range(n):
            size = "" if k % 11 == 0 else f"{rng.normal(k % 2, 1):.3f}"
            note = " ".join(rng.choice(words, 8))
            shop, day = f"shop {rng.integers(12)}", rng.choice(days)
            lines.writerow([f"{rng.gamma(2, 20):.2f}", size, shop, day, note, f"r{k % 2}"])


def _run(line: str, folder: Path, loops: str = "loops") -> float:
    """Return the seconds of a command; `loops` is the folder of compiled ones."""
    return _python(["-m", "narrows", *line.split()], folder, loops)


def _python(arguments: list[str], folder: Path, loops: str = "loops") -> float:
    environment = {
        **os.environ, "NUMBA_CACHE_DIR": str(folder / loops),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip
    started = perf_counter()
    subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, check=True, capture_output=True
    )
    return perf_counter() - started
