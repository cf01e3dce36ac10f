"""Data sets of the gallery: from the folder NARROWS_DATA, or those of every machine."""

import importlib
import inspect
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

from narrows.read import iter_chunks
from narrows.text import Tfidf

PACKAGES = {
    "scipy": "cluster fft integrate interpolate io linalg ndimage optimize signal sparse "
    "spatial special stats",
    "sklearn": "covariance datasets decomposition ensemble linear_model metrics preprocessing",
}


def file(name):
    """Return the path of a data set, or None if it is not available."""
    path = Path(os.environ.get("NARROWS_DATA", "no such folder")) / name
    return path if path.exists() else None


def whole(path, **how):
    """Return all samples of a file, and their labels."""
    X, y = zip(*iter_chunks(path, **how), strict=True)
    if isinstance(X[0], list):
        return [text for part in X for text in part], np.concatenate(y)
    return (sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)), (
        np.concatenate(y)
    )


@cache
def texts():
    """Return a description, training texts (TF-IDF) and labels, held-out ones, and the terms.

    20 Newsgroups, split by date. Without NARROWS_DATA: the paragraphs of the docstrings of twenty
    subpackages of SciPy and scikit-learn, each fifth function or class held out.
    """
    news = file("20news_bydate.jsonl.gz")
    if news:
        name = "20 Newsgroups, by date"
        (train, y), (test, y_test) = whole(news, split="train"), whole(news, split="test")
    else:
        name = "paragraphs of the docstrings of SciPy and scikit-learn, by subpackage"
        (train, y), (test, y_test) = _docstrings()
    tfidf = Tfidf().update(train)
    described = (
        f"{name}: {len(y):,} for training, {len(y_test):,} held out, {tfidf.n_terms:,} terms"
    )
    return described, tfidf.transform(train), y, tfidf.transform(test), y_test, tfidf.terms


def _docstrings():
    found: tuple = (([], []), ([], []))
    seen = set()
    for package, names in PACKAGES.items():
        for name in names.split():
            module = importlib.import_module(f"{package}.{name}")
            for k, member in enumerate(sorted(module.__all__)):
                paragraphs, labels = found[k % 5 == 4]
                said = inspect.getdoc(getattr(module, member)) or ""
                for paragraph in re.split(r"\n\s*\n", said):
                    words = len(re.findall(r"[a-z]{3}", paragraph))
                    if words >= 12 and ">>>" not in paragraph and paragraph not in seen:
                        seen.add(paragraph)
                        paragraphs.append(paragraph)
                        labels.append(f"{package}.{name}")
    return [(paragraphs, np.array(labels)) for paragraphs, labels in found]
