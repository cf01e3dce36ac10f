"""Samples of a few texts without compiled loops: those of `narrows.solve.terms`, to the bit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from math import log

import numpy as np

from narrows.solve.late import Rows

_WORDS = re.compile(r"\w+")
_MASK = 0xFFFFFFFF


class FewTexts:
    """Makes samples of texts, by the default pattern of words.

    Parameters
    ----------
    features : mapping of str to int, or int
        The feature of each term; or their number, if the hash of a term is its feature.
    idf : ndarray of shape (n_features,)
        The weight of each.
    stop_words : collection of str
        Words to leave out, in lower case.
    ngrams : (int, int)
        The fewest and the most words of a term.
    """

    def __init__(
        self,
        features: Mapping[str, int] | int,
        idf: np.ndarray,
        stop_words: Collection[str],
        ngrams: tuple[int, int],
    ):
        self.idf, self.stop_words, self.ngrams = idf, frozenset(stop_words), ngrams
        known = _Hashed(features) if isinstance(features, int) else _Known(features)
        self.feature = known.__getitem__

    def transform(self, texts: Iterable[str]) -> Rows:
        """Return the samples, of shape (n_samples, n_features)."""
        features: list[int] = []
        counts: list[int] = []
        ends = [0]
        for text in texts:
            found = Counter(self._terms(text))
            features += map(self.feature, found)
            counts += found.values()
            ends.append(len(features))
        rows, indices = np.repeat(np.arange(len(ends) - 1), np.diff(ends)), np.array(features, int)
        known = indices >= 0
        places = rows[known] * len(self.idf) + indices[known]
        places, same = np.unique(places, return_inverse=True)
        tf = np.zeros(len(places), int)  # of terms with one hash, the sum
        np.add.at(tf, same, np.array(counts, int)[known])
        rows, indices = np.divmod(places, len(self.idf))
        often, which = np.unique(tf, return_inverse=True)
        by_count = np.array([1.0 if count == 1 else log(count) + 1.0 for count in often.tolist()])
        indptr = np.searchsorted(rows, np.arange(len(ends)))
        data = by_count[which] * self.idf[indices]
        for first, stop in pairwise(indptr.tolist()):
            if first < stop:  # in the order of the compiled loop
                data[first:stop] /= np.sqrt(np.cumsum(np.square(data[first:stop]))[-1])
        parts = data, indices.astype(np.int32), indptr.astype(np.int32)
        return Rows(parts, (len(ends) - 1, len(self.idf)))

    def _terms(self, text: str) -> list[str]:
        words = _WORDS.findall(text.lower())
        if self.stop_words:
            words = [word for word in words if word not in self.stop_words]
        low, high = self.ngrams
        if (low, high) == (1, 1):
            return words
        return [
            " ".join(words[k : k + size])
            for size in range(low, min(high, len(words)) + 1)
            for k in range(len(words) - size + 1)
        ]


class _Known(dict[str, int]):
    """The feature of each term; -1 if it has none."""

    def __missing__(self, term: str) -> int:
        return -1


class _Hashed(dict[str, int]):
    """The feature of each term, by its hash."""

    def __init__(self, width: int):
        self._width = width

    def __missing__(self, term: str) -> int:
        self[term] = _hashed(term, self._width)
        return self[term]


def _hashed(term: str, width: int) -> int:
    """Return the column that HashingVectorizer of scikit-learn has for a term: by MurmurHash3."""
    piece, code = term.encode("utf-8", "surrogatepass"), 0
    whole = len(piece) & ~3
    for k in range(0, whole, 4):
        code = _turned(code ^ _mixed(int.from_bytes(piece[k : k + 4], "little")), 13)
        code = (code * 5 + 0xE6546B64) & _MASK
    code ^= _mixed(int.from_bytes(piece[whole:], "little")) ^ len(piece)
    code = ((code ^ (code >> 16)) * 0x85EBCA6B) & _MASK
    code = ((code ^ (code >> 13)) * 0xC2B2AE35) & _MASK
    code ^= code >> 16
    if code == 1 << 31:  # whose absolute value no integer of 32 bits has
        return (2**31 - 1 - (width - 1)) % width
    return min(code, (1 << 32) - code) % width


def _mixed(piece: int) -> int:
    return (_turned((piece * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _turned(bits: int, by: int) -> int:
    return ((bits << by) | (bits >> (32 - by))) & _MASK
