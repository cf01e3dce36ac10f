"""The data sets of the papers: their files, where these are, and what else provides them.

An experiment names the sets that it needs by the keys of `SOURCES`. The files lie in the folder
NARROWS_DATA, or where `--download` puts them. Iris and Wine are also in scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import UnavailableError

COMMAND = "python -m examples.papers"
PAGE = "docs/reproducibility/data.md"


@dataclass(frozen=True)
class Source:
    """A data set: its title, its files, and how else one gets it."""

    title: str
    files: tuple[str, ...]
    option: str = ""  # of the command, for a path that the user has; in the environment, too
    installed: bool = False  # with scikit-learn, or computed


SOURCES = {
    "iris": Source("Iris", ("iris.csv",), installed=True),
    "wine": Source("Wine", ("wine.csv",), installed=True),
    "balance_scale": Source("Balance Scale", ("balance_scale.csv",)),
    "monk1": Source("Monk 1", ("monk1_train.csv", "monk1_test.csv")),
    "waveform": Source("Waveform", ("waveform.csv",)),
    "pima": Source("Pima", ("pima_diabetes.csv",)),
    "ionosphere": Source("Ionosphere", ("ionosphere.csv",)),
    "20news": Source("20 Newsgroups", ("20news_bydate.jsonl.gz",)),
    "r8": Source("Reuters R8", ("r8.jsonl.gz",)),
    "rcv1": Source("RCV1", ("rcv1_4class.npz",), option="rcv1"),
    "orl": Source("ORL faces", ("orl_faces.npz",)),
    "tr41": Source("tr41", ("tr41.npz",)),
    "re0": Source("re0", ("re0.npz",)),
    "re1": Source("re1", ("re1.npz",)),
    "ar": Source("AR faces", (), option="ar"),
    "odp": Source("ODP", (), option="odp"),
}
SIX = ("iris", "balance_scale", "monk1", "wine", "waveform", "pima")


def given(key: str) -> str | None:
    """Return the path that the user gave for a set, by an option or the environment."""
    option = SOURCES[key].option
    return os.environ.get(f"NARROWS_{option.upper()}") if option else None


def find(file: str) -> Path | None:
    """Return the path of a file in the folder NARROWS_DATA, or None."""
    folder = os.environ.get("NARROWS_DATA")
    path = Path(folder or ".") / file
    return path if folder and path.exists() else None


def path(file: str) -> Path:
    """Return the path of a file; UnavailableError if it is missing."""
    found = find(file)
    if found is None:
        raise UnavailableError(f"expected {file} in the folder NARROWS_DATA. See {PAGE}.")
    return found


def where(key: str) -> str:
    """Return from where a set will be read, or an empty text if it is missing."""
    source = SOURCES[key]
    if given(key):
        return f"--{source.option}"
    if source.files and all(map(find, source.files)):
        return "NARROWS_DATA"
    return "scikit-learn" if source.installed else ""


def missing(keys: Iterable[str]) -> list[str]:
    """Return those of the keys whose sets are missing."""
    return [key for key in keys if not where(key)]


def advice(key: str) -> str:
    """Return what to do about a set that is missing, in a sentence or two."""
    source = SOURCES[key]
    if not source.files:
        return f"{source.title} is missing. Give its file by --{source.option}; see {PAGE}."
    files = " and ".join(source.files)
    return f"{source.title} is missing. Set NARROWS_DATA to a folder with {files}; see {PAGE}."
