"""Yan et al. (2005) section 5.1.1, Ye et al. (2005) section 6: the TF-IDF of Salton.

Salton's weight is tf log(N/df), for tf occurrences in a document and df of N documents with the
term. The other experiments have scikit-learn's log((1 + N)/(1 + df)) + 1, times 1 + log tf on mails
and tf on the other sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import selected, texts
from examples.papers.measure import smo
from examples.papers.neighbours import cross_validated
from examples.papers.verdict import Row, fs, judged
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from narrows import IDRQR, OC, OCM

DATA = ("20news", "tr41", "re0", "re1")
SIZES = (10, 100, 1_000)
SETS = ("tr41", "re0", "re1")


def run(out: Path) -> list[Row]:
    split = texts.comp()
    train, _, test, _ = texts.comp_mails()
    count = CountVectorizer(token_pattern=r"(?u)\b\w+\b").fit(train)
    counts = [sparse.csr_array(count.transform(part)) for part in (train, test)]
    forms = {"here": (split.X, split.X_test)} | {
        name: tuple(salton(part, counts[0], unit) for part in counts)
        for name, unit in (("Salton", True), ("lengths kept", False))
    }
    folds = {name: (X, split.y, X_test, split.y_test) for name, (X, X_test) in forms.items()}
    found = {name: selected.f1([fold], SIZES, samples=None) for name, fold in folds.items()}
    here, unit, kept = (
        [*(found[name]["OCFS"][p] for p in SIZES), _projected(*fold)]
        for name, fold in folds.items()
    )
    error = {name: _errors(name) for name in SETS}
    return [
        Row(
            "yan2005", "section 5.1.1, TF-IDF", "Salton's TF-IDF gives the F1 of that used here",
            "TFIDF, no formula",
            f"OCFS with 10 / 100 / 1,000 features and OC: {fs(here)} here, {fs(unit)} with "
            f"Salton's",
            judged(*(np.abs(np.subtract(here, unit)) < 0.01)),
            "Linear SVM on comp.*. Differences below 0.01 count. If Salton's weights keep the "
            f"lengths of the documents: {fs(kept)}.",
        ),
        Row(
            "yan2005", "Fig. 2, Salton", "OCFS is constantly better than IG and CHI",
            "higher in the figure",
            _leads(found["Salton"]),
            judged(*(selected.lead(found["Salton"], p) > 0 for p in SIZES)),
            "With Salton's TF-IDF: micro-F1 of OCFS minus that of the better of the two. If "
            f"Salton's weights keep the lengths: {_leads(found['lengths kept'])}.",
        ),
        Row(
            "ye2005", "section 6, TF-IDF", "Salton's TF-IDF gives the error of that used here",
            "tf-idf, no formula",
            "; ".join(
                f"{name}: {fs(of['here'], 1)}% here, {fs(of['Salton'], 1)}% with Salton's"
                for name, of in error.items()
            ),
            judged(*(np.abs(np.subtract(of["here"], of["Salton"])).max() < 1.0
                     for of in error.values())),
            "Error of 1-NN after IDR/QR / OCM. Differences below 1 percentage point count. If "
            "Salton's weights keep the lengths: "
            + "; ".join(f"{name} {fs(of['lengths kept'], 1)}%" for name, of in error.items()) + ".",
        ),
    ]  # fmt: skip


def salton(counts: sparse.csr_array, known: sparse.csr_array, unit: bool) -> sparse.csr_array:
    """Return tf log(N/df) of counts, with df and N of the known documents."""
    df = np.bincount(known.indices, minlength=known.shape[1])
    weight = np.log(known.shape[0] / np.maximum(df, 1))
    data = counts.data * weight[counts.indices]
    X = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    return sparse.csr_array(normalize(X)) if unit else X


def _leads(found: selected.F1) -> str:
    return ", ".join(f"{p:,}: {selected.lead(found, p):+.3f}" for p in SIZES)


def _projected(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> float:
    """Return the micro-F1 after OC."""
    oc = OC().fit(X, y)
    return smo(oc.transform(X), y, oc.transform(X_test), y_test)[0]


def _errors(name: str) -> dict[str, list[float]]:
    """Return the error of 1-NN after IDR/QR and OCM, by variant."""
    used, y = texts.documents(name)
    counts = texts.counts(name)[0]
    variants = {"here": used, "Salton": salton(counts, counts, True),
                "lengths kept": salton(counts, counts, False)}  # fmt: skip
    return {
        variant: [100 * float(cross_validated([m], X, y).mean()) for m in (IDRQR(), OCM())]
        for variant, X in variants.items()
    }
