"""A large corpus made of the shared texts, with as many rare words as one of its size has."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import data_path
from narrows.read import iter_chunks

FILES = "20news_bydate.jsonl.gz", "r8.jsonl.gz"
WORD = re.compile(r"\w+")


def texts(copies: int) -> Iterator[tuple[str, str]]:
    """Yield labels and texts: all texts so many times, with other rare words each time.

    By Zipf's law there are N / f^2 words that occur f times. Copies alone would leave no word that
    is rare. A word that occurs f times gets a new spelling in every f-th copy, so that each
    spelling has f^2 occurrences: of those words there are again a number in proportion to one by
    the square of their occurrences. Words in more texts than there are copies keep their spelling.
    """
    rows = [row for name in FILES for row in _rows(name)]
    counts = Counter(word for _, text in rows for word in WORD.findall(text.lower()))
    for copy in range(copies):
        for label, text in rows:

            def spelled(word: re.Match[str], copy: int = copy) -> str:
                number = copy // counts[word[0].lower()]
                return f"{word[0]}{_letters(number)}" if number else word[0]

            yield label, WORD.sub(spelled, text)


def write(folder: Path, copies: int) -> tuple[Path, Path]:
    """Write the corpus as CSV and as JSON lines; return their paths."""
    as_csv, as_json = folder / "texts.csv", folder / "texts.jsonl"
    with as_csv.open("w", newline="", encoding="utf-8") as table, as_json.open("w") as lines:
        rows = csv.writer(table)
        rows.writerow(["label", "text"])
        for label, text in texts(copies):
            rows.writerow([label, text])
            lines.write(json.dumps({"label": label, "text": text}) + "\n")
    return as_csv, as_json


def slope(occurrences: np.ndarray) -> float:
    """Return the slope of the occurrences of words by their ranks, on logarithmic scales."""
    found = np.sort(occurrences[occurrences > 0])[::-1]
    ranks = np.unique(np.geomspace(10, len(found), 200).astype(np.int64))
    return float(np.polyfit(np.log(ranks), np.log(found[ranks - 1]), 1)[0])


def _rows(name: str) -> Iterator[tuple[str, str]]:
    for some, labels in iter_chunks(data_path(name)):
        yield from zip(labels.tolist(), some, strict=True)


def _letters(number: int) -> str:
    return "" if not number else _letters((number - 1) // 26) + chr(97 + (number - 1) % 26)
