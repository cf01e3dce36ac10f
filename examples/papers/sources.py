"""The data sets of the papers: their files, where these are, and what else provides them.

An experiment names the sets that it needs by the keys of `SOURCES`. Their files lie in the folder
NARROWS_DATA, or in `DOWNLOADS`, where `--download` writes them. scikit-learn installs Iris and
Wine, and Balance Scale is computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness import UnavailableError

COMMAND = "python -m examples.papers"
PAGE = "docs/reproducibility/data.md"
DOWNLOADS = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data"), "narrows").expanduser()


@dataclass(frozen=True)
class Source:
    """A data set: its title, its files, and how else one gets it."""

    title: str
    files: tuple[str, ...] = ()
    installed: str = ""  # what has it without a file: scikit-learn, or its definition
    fetcher: str = ""  # the call of scikit-learn that downloads it
    fetched: tuple[str, ...] = ()  # the files this gives, if they are not those above
    differs: dict[str, str] = field(default_factory=dict)  # from the papers' set, by where it is
    option: str = ""  # of the command, for a path that the user has; in the environment, too

    def in_folder(self) -> bool:
        """Whether the folder NARROWS_DATA has the files."""
        return bool(self.files) and all(map(_in_folder, self.files))

    def downloaded(self) -> bool:
        """Whether the files have been downloaded."""
        files = self.fetched or self.files
        return bool(self.fetcher) and all((DOWNLOADS / file).exists() for file in files)


def _openml(name: str) -> str:
    return f"fetch_openml({name!r}, version=1)"


SOURCES = {
    "iris": Source(
        "Iris", ("iris.csv",), installed="scikit-learn", fetcher=_openml("iris"),
        differs={"scikit-learn": "two samples differ from the UCI file, which the papers use"},
    ),
    "wine": Source("Wine", ("wine.csv",), installed="scikit-learn"),
    "balance_scale": Source("Balance Scale", ("balance_scale.csv",), installed="its definition"),
    "monk1": Source(
        "Monk 1", ("monk1_train.csv", "monk1_test.csv"), fetcher=_openml("monks-problems-1")
    ),
    "waveform": Source(
        "Waveform", ("waveform.csv",), fetcher=_openml("waveform-5000"),
        differs={"download": "another draw, without its 19 features of noise"},
    ),
    "pima": Source("Pima", ("pima_diabetes.csv",), fetcher=_openml("diabetes")),
    "ionosphere": Source("Ionosphere", ("ionosphere.csv",), fetcher=_openml("ionosphere")),
    "20news": Source(
        "20 Newsgroups", ("20news_bydate.jsonl.gz",), fetcher="fetch_20newsgroups()"
    ),
    "r8": Source("Reuters R8", ("r8.jsonl.gz",)),
    "rcv1": Source("RCV1", ("rcv1_topics.npz",), fetcher="fetch_rcv1()", option="rcv1"),
    "orl": Source(
        "ORL faces", ("orl_faces.npz",), fetcher="fetch_olivetti_faces()",
        fetched=("olivetti_faces.npz",),
        differs={"download": "64 x 64 pixels, in the paper 92 x 112"},
    ),
    "tr41": Source("tr41", ("tr41.npz",), fetcher=_openml("tr41.wc")),
    "re0": Source("re0", ("re0.npz",), fetcher=_openml("re0.wc")),
    "re1": Source("re1", ("re1.npz",), fetcher=_openml("re1.wc")),
    "ar": Source("AR faces", option="ar"),
    "odp": Source("ODP", option="odp"),
}  # fmt: skip
SIX = ("iris", "balance_scale", "monk1", "wine", "waveform", "pima")


def given(key: str) -> str | None:
    """Return the path that the user gave for a set, by an option or the environment."""
    option = SOURCES[key].option
    return os.environ.get(f"NARROWS_{option.upper()}") if option else None


def find(file: str) -> Path | None:
    """Return the path of a file in NARROWS_DATA, or else among the downloads, or None."""
    downloaded = DOWNLOADS / file
    return _in_folder(file) or (downloaded if downloaded.exists() else None)


def _in_folder(file: str) -> Path | None:
    folder = os.environ.get("NARROWS_DATA")
    path = Path(folder or "", file)
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
    if source.in_folder():
        return "NARROWS_DATA"
    return "download" if source.downloaded() else source.installed


def used(key: str) -> str:
    """Return what is read and from where, and how it differs from the papers' set."""
    source, place = SOURCES[key], where(key)
    return "; ".join(filter(None, [f"{source.title} ({place})", source.differs.get(place)]))


def missing(keys: Iterable[str]) -> list[str]:
    """Return those of the keys whose sets are missing."""
    return [key for key in keys if not where(key)]


def advice(key: str) -> str:
    """Return what to do about a set that is missing."""
    source = SOURCES[key]
    files = " and ".join(source.files)
    ways = [
        "add --download" if source.fetcher else "",
        f"set NARROWS_DATA to a folder with {files}" if files else "",
        f"give its path by --{source.option}" if source.option else "",
    ]
    ways = [way for way in ways if way]
    return f"No data of {source.title}: {', or '.join(ways)} ({PAGE})."
