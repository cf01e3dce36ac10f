"""Words of texts, and the terms that these make: a table of terms, and how often each occurs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, pairwise
from mmap import ACCESS_COPY, mmap
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.solve.products import cores, map_on_cores

ENGLISH = "english"  # the name of scikit-learn's stop words
BLOCK = 1 << 20  # characters of texts at a time, and the fewest worth a thread
_MAPPED = 1 << 16  # bytes of an array that are worth asking the system for
_UTF8 = "utf-8", "surrogatepass"  # half a pair of surrogates is a character, too
_ALONE = "İ", "Σ"  # whose lower case is two characters, or depends on those around it
_END, _SPARE = b"\xff", bytes(8)
_SUMS, _NONE = ("frequency", "total"), np.zeros(0, np.int64)


@cache
def _steps() -> Any:
    """Return the compiled loops, which are imported when they are first used."""
    from narrows.solve import terms_steps

    return terms_steps


@cache
def _letters() -> np.ndarray:
    """Return the lower case of each character of words, by Python's own tables; 0 for others."""
    every = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", _UTF8[1])
    for character in _ALONE:
        every = every.replace(character, "\0")
    lower = every.lower()
    found = np.frombuffer(lower.encode("utf-32-le", _UTF8[1]), "<u4")
    letters = np.zeros(len(found), np.int32)
    for run in re.finditer(r"\w+", lower):
        letters[slice(*run.span())] = found[slice(*run.span())]
    return letters


class TermTable:
    """Distinct terms with numbers from 0 on, in the order in which they were added.

    Parameters
    ----------
    terms : iterable of str
        The first terms, each of them once.

    Attributes
    ----------
    n : int
        Number of terms.
    slots, bounds, text : ndarray
        What `narrows.solve.terms_steps` describes.
    """

    def __init__(self, terms: Iterable[str] = ()):
        self.n, self.slots = 0, np.zeros(2, np.uint64)
        self.bounds, self.text = np.zeros(1, np.int64), np.zeros(len(_SPARE), np.uint8)
        pieces = [term.encode(*_UTF8) for term in terms]
        ends = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
        self._add(np.frombuffer(b"".join([*pieces, _SPARE]), np.uint8), ends)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What compiled loops write to."""
        return self.slots, self.bounds, self.text

    @property
    def views(self) -> tuple[np.ndarray, ...]:
        """What compiled loops read: always read-only, so that these are compiled for one type."""
        return tuple(map(_view, self.arrays))

    def copy(self) -> Self:
        """Return a table with the same terms, to which others can be added."""
        new = type(self)()
        new.n, (new.slots, new.bounds, new.text) = self.n, (each.copy() for each in self.arrays)
        return new

    def reserve(self, more: int, size: int) -> None:
        """Make room for so many more terms of so many bytes."""
        n = self.n + more
        if 2 * n > len(self.slots):
            old, self.slots = self.slots, _zeros(1 << int(3 * n).bit_length(), np.uint64)
            _steps().move_slots(_view(old), self.slots)
        self.bounds = _grown(self.bounds, n + 1)
        self.text = _grown(self.text, int(self.bounds[self.n]) + size + len(_SPARE))

    def add(self, other: TermTable) -> np.ndarray:
        """Add the terms of another table; return their numbers in this one."""
        return self._add(other.text, other.bounds[: other.n + 1])

    def _add(self, text: np.ndarray, ends: np.ndarray) -> np.ndarray:
        ids = np.empty(len(ends) - 1, np.int64)
        self.reserve(len(ids), int(ends[-1]))
        self.n = _steps().find_terms(_view(text), _view(ends), self.n, *self.arrays, ids)
        return ids

    def strings(self, numbers: np.ndarray) -> np.ndarray:
        """Return terms as an array of str objects."""
        text, first, last = self.text.tobytes(), self.bounds[numbers], self.bounds[numbers + 1]
        pairs = zip(first.tolist(), last.tolist(), strict=True)
        found = np.empty(len(numbers), dtype=object)
        found[:] = [text[a:b].decode(*_UTF8) for a, b in pairs]
        return found

    def order(self) -> np.ndarray:
        """Return the numbers of the terms as Python sorts these, by their characters."""
        return _steps().sort_terms(self.n, *self.views[1:])


class Words:
    """What cuts texts into words, and how many of these make a term.

    Parameters
    ----------
    stop_words : iterable of str
        Words to leave out, in lower case.
    ngrams : (int, int)
        The fewest and the most words of a term.
    analyzer : callable, optional
        Returns the terms of a text, instead.
    """

    def __init__(
        self,
        stop_words: Iterable[str] = (),
        ngrams: tuple[int, int] = (1, 1),
        analyzer: Callable[[str], Sequence[str]] | None = None,
    ):
        self.analyzer, self.ngrams = analyzer, (1, 1) if analyzer else ngrams
        slots, bounds, text = TermTable(stop_words).arrays
        self._stop = (slots if slots.any() else slots[:0]), bounds, text

    def of(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the words of texts, their ends, and their number in each text."""
        if self.analyzer is not None:
            terms = [list(self.analyzer(text)) for text in texts]
            for term in chain.from_iterable(terms):
                if not isinstance(term, str):
                    raise ValueError(f"expected an analyzer that returns texts, got {term!r:.100}.")
            pieces = [term.encode(*_UTF8) for term in chain.from_iterable(terms)]
            ends = np.cumsum([len(piece) + 1 for piece in pieces], dtype=np.int64) - 1
            words = np.frombuffer(b" ".join([*pieces, _SPARE]), np.uint8)
            return words, ends, np.array([len(some) for some in terms], dtype=np.int64)
        pieces = [_plain(text).encode(*_UTF8) for text in texts]
        block = np.frombuffer(_END.join([*pieces, b""]), np.uint8)
        # a letter has at most three bytes for two in upper case, and a word a space after it
        words = np.empty(2 * len(block) + len(_SPARE), np.uint8)
        ends, counts = np.empty(len(block) // 2 + 1, np.int64), np.empty(len(pieces), np.int64)
        n = _steps().cut_words(block, _letters(), *self._stop, words, ends, counts)
        return words, ends[:n], counts


def _plain(text: str) -> str:
    """Return a text whose characters have a lower case each."""
    if text.isascii() or not any(character in text for character in _ALONE):
        return text
    return text.lower()


class Entries(NamedTuple):
    """How often terms occur in texts: `lengths` numbers of `ids` and `counts` for each text."""

    lengths: np.ndarray
    ids: np.ndarray
    counts: np.ndarray


class Counted:
    """Terms, in how many texts each one is, and how often it occurs.

    Parameters
    ----------
    table : TermTable, optional
        The terms; None if there are none yet, or if the hash of a term is its number.
    width : int
        The number of hashes.
    totals : bool
        Whether occurrences are counted, too.
    """

    def __init__(self, table: TermTable | None = None, width: int = 0, totals: bool = False):
        self.table, self.width = TermTable() if table is None else table, width
        self._sums = {name: np.zeros(self.n, np.int64) for name in _SUMS[: 1 + totals]}

    @classmethod
    def of(cls, table: TermTable | None, frequency: np.ndarray, total: np.ndarray | None) -> Self:
        """Return what was counted before."""
        new = cls(table, 0 if table is not None else len(frequency), total is not None)
        new._sums["frequency"][:] = frequency
        if total is not None:
            new._sums["total"][:] = total
        return new

    @property
    def n(self) -> int:
        """The number of terms, or of hashes."""
        return self.width or self.table.n

    @property
    def totals(self) -> bool:
        """Whether occurrences are counted, too."""
        return "total" in self._sums

    @property
    def frequency(self) -> np.ndarray:
        """The number of texts that have each term."""
        return self._sums["frequency"][: self.n]

    @property
    def total(self) -> np.ndarray:
        """The number of times that each term occurs."""
        return self._sums["total"][: self.n]

    def count(
        self, texts: Sequence[str], words: Words, grows: bool, keep: bool
    ) -> tuple[Self, list[Entries]]:
        """Count the terms of texts; return these counts, and the entries if asked to."""
        entries: list[Entries] = []
        (low, high), table, sums = words.ngrams, self.table, self._sums
        place, sizes = np.zeros(self.n, np.int32), high - low + 1
        for some in _blocks(texts):
            found, ends, numbers = words.of(some)
            most = len(ends) * sizes
            if grows and most:
                table.reserve(most, int(ends[-1] + 1) * high * sizes)
                place = _grown(place, len(table.bounds))
                self._reserve(len(table.bounds))
            ids, counts = np.empty(most, np.int32), np.empty(most, np.int32)
            lengths = np.empty(len(some), np.int32)
            table.n, m = _steps().count_terms(
                found, ends, numbers, low, high, self.width, table.n, *table.views,
                table.arrays if grows else None, sums["frequency"], sums.get("total", _NONE),
                place, ids, counts, lengths,
            )  # fmt: skip
            if keep:
                kind = np.min_scalar_type(counts[:m].max(initial=0))
                kept = _copied(ids[:m]), _copied(counts[:m].astype(kind))
                entries.append(Entries(lengths, *kept))
        return self, entries

    def copy(self) -> Self:
        """Return the same counts, to which others can be added."""
        new = type(self)(self.table.copy(), self.width, self.totals)
        new._sums = {name: sums[: self.n].copy() for name, sums in self._sums.items()}
        return new

    def add(self, other: Counted, sign: int = 1) -> np.ndarray | None:
        """Add other counts to these, or subtract them; return the numbers of their terms here.

        None for hashes, whose numbers are the same.
        """
        numbers = slice(self.n) if self.width else self.table.add(other.table)
        self._reserve(self.n)
        self._sums = {name: self._sums[name] for name in self._sums.keys() & other._sums.keys()}
        for name, sums in self._sums.items():
            sums[numbers] += sign * other._sums[name][: other.n]
        return None if isinstance(numbers, slice) else numbers

    def _reserve(self, size: int) -> None:
        for name, sums in self._sums.items():
            self._sums[name] = _grown(sums, size)


def count(
    texts: Sequence[str], words: Words, like: Counted, keep: bool, grows: bool
) -> list[tuple[Counted, list[Entries]]]:
    """Return the terms of parts of texts, counted on all cores, the parts in the order of these.

    Those of the table of `like`; if it grows, each part has a table of its own, which starts empty.
    """
    ends = np.cumsum([len(text) for text in texts])
    size = int(ends[-1]) if len(texts) else 0
    n = max(1, min(cores(), size // BLOCK))
    cuts = [0, *np.searchsorted(ends, np.arange(1, n) * size // n).tolist(), len(texts)]

    def part(edges: tuple[int, int]) -> tuple[Counted, list[Entries]]:
        empty = Counted(None if grows else like.table, like.width, like.totals)
        return empty.count(texts[slice(*edges)], words, grows and not like.width, keep)

    return map_on_cores(part, pairwise(cuts))


def idf(frequency: np.ndarray, n_documents: int) -> np.ndarray:
    """Return ln((1 + n) / (1 + df)) + 1 of each feature."""
    return np.log((1 + n_documents) / (1 + frequency.astype(np.float64))) + 1


def with_feature(
    frequency: np.ndarray, n_documents: int, min_df: float, max_df: float,
    max_features: int | None, total: np.ndarray | None,
) -> np.ndarray:  # fmt: skip
    """Return which terms have a feature, of all in their order."""
    low, high = (
        limit if isinstance(limit, Integral) else limit * n_documents for limit in (min_df, max_df)
    )
    chosen = np.flatnonzero((frequency > 0) & (frequency >= low) & (frequency <= high))
    if max_features is not None and total is not None and len(chosen) > max_features:
        best = np.argsort(-total[chosen])[:max_features]  # of ties those that scikit-learn keeps
        chosen = chosen[np.sort(best)]
    return chosen


KeptEntries = list[tuple[np.ndarray | None, list[Entries]]]


@dataclass(frozen=True, eq=False)
class TermFeatures:
    """The features of terms: the numbers of the terms that have one, and the weights of these."""

    counts: Counted
    chosen: np.ndarray  # without use for hashes, each of which is a feature
    idf: np.ndarray

    @cached_property
    def of_terms(self) -> np.ndarray:
        """The feature of each term, or -1."""
        found = np.full(self.counts.n, -1, np.int32)
        found[self.chosen] = np.arange(len(self.chosen))
        return found

    @cached_property
    def terms(self) -> np.ndarray:
        """The terms, in the order of the features."""
        return self.counts.table.strings(self.chosen)

    def weighed(self, kept: KeptEntries) -> sparse.csr_array:
        """Return the samples of texts of which the entries were kept; these are used up."""
        width = self.counts.width
        of_terms = np.arange(width, dtype=np.int32) if width else self.of_terms
        return weighed(kept, of_terms, self.idf)

    def samples_of(self, texts: Sequence[str], words: Words) -> sparse.csr_array:
        """Return samples of texts; terms without a feature are ignored."""
        parts = count(texts, words, self.counts, True, False)
        return self.weighed([(None, entries) for _, entries in parts])


def weighed(kept: KeptEntries, features: np.ndarray, idf: np.ndarray) -> sparse.csr_array:
    """Return the rows of texts of which the entries were kept; these are used up.

    features[k] is the feature of term k, negative if it has none. Entries come with the numbers of
    their terms, or None if they have these.
    """
    blocks, n_rows, n = list[Any](), 0, 0
    for numbers, some in kept:
        own = features if numbers is None else features[numbers]
        for entries in some:
            size = int(np.count_nonzero(own[entries.ids] >= 0))
            blocks.append((entries, own, n_rows, n, size))
            n_rows, n = n_rows + len(entries.lengths), n + size
        some.clear()
    indices, data, ends = np.empty(n, np.int32), np.empty(n), np.zeros(n_rows + 1, np.int64)

    def write(k: int) -> None:
        entries, own, row, start, size = blocks[k]
        blocks[k] = None
        rows, where = ends[row + 1 : row + 1 + len(entries.lengths)], slice(start, start + size)
        _steps().weigh_terms(*entries, own, idf, indices[where], data[where], rows)
        rows += start

    map_on_cores(write, range(len(blocks)))
    if n <= np.iinfo(np.int32).max:
        ends = ends.astype(np.int32)  # two types of indices would become the larger one
    X = sparse.csr_array((data, indices, ends), shape=(n_rows, len(idf)))
    X.has_canonical_format = True
    return X


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield texts of about BLOCK characters at a time."""
    start = size = 0
    for k, text in enumerate(texts):
        size += len(text)
        if size >= BLOCK or k + 1 == len(texts):
            yield texts[start : k + 1]
            start, size = k + 1, 0


def _zeros(n: int, dtype: Any) -> np.ndarray:
    """Return zeros; the system gets their memory back as soon as they are not used any more."""
    size = n * np.dtype(dtype).itemsize
    if size < _MAPPED:
        return np.zeros(n, dtype)
    return np.frombuffer(mmap(-1, size, access=ACCESS_COPY), dtype, n)


def _copied(array: np.ndarray) -> np.ndarray:
    new = _zeros(len(array), array.dtype)
    new[:] = array
    return new


def _view(array: np.ndarray) -> np.ndarray:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def _grown(array: np.ndarray, size: int) -> np.ndarray:
    """Return an array of so many entries at least, the new ones 0; it doubles where it grows."""
    if len(array) >= size:
        return array
    new = _zeros(max(size, 2 * len(array)), array.dtype)
    new[: len(array)] = array
    return new
