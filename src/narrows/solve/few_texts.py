"""Samples of a few texts without compiled loops: those of `narrows.solve.terms`, to the bit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise, repeat
from math import log
from typing import Any

import numpy as np

from narrows.solve.late import Rows

_WORDS = re.compile(r"\w+")
# what stands between words of ASCII, where splitting takes half the time of the pattern
_BETWEEN = {code: " " for code in range(128) if not _WORDS.match(chr(code))}
_MASK = 0xFFFFFFFF
_LONG = 8  # terms: for fewer, integers of Python are faster than arrays


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
        self.features = features

    def samples_of(self, texts: Iterable[str]) -> Rows:
        """Return the samples, of shape (n_samples, n_features)."""
        terms: list[str] = []
        counts: list[int] = []
        ends = [0]
        for text in texts:
            found = Counter(self._terms(text))
            terms += found
            counts += found.values()
            ends.append(len(terms))
        rows, indices = np.repeat(np.arange(len(ends) - 1), np.diff(ends)), self._indices(terms)
        known = indices >= 0
        places = rows[known] * len(self.idf) + indices[known]
        places, same = np.unique(places, return_inverse=True)
        tf = np.zeros(len(places), np.int64)  # of terms with one hash, the sum
        np.add.at(tf, same, np.array(counts, np.int64)[known])
        rows, indices = np.divmod(places, len(self.idf))
        often = np.unique(tf)
        by_count = np.array([1.0 if count == 1 else log(count) + 1.0 for count in often.tolist()])
        indptr = np.searchsorted(rows, np.arange(len(ends)))
        data = by_count[np.searchsorted(often, tf)] * self.idf[indices]
        for first, stop in pairwise(indptr.tolist()):
            if first < stop:  # in the order of the compiled loop
                data[first:stop] /= np.sqrt(np.cumsum(np.square(data[first:stop]))[-1])
        parts = data, indices.astype(np.int32), indptr.astype(np.int32)
        return Rows(parts, (len(ends) - 1, len(self.idf)))

    def _indices(self, terms: list[str]) -> np.ndarray:
        """Return the feature of each term, -1 if it has none."""
        known = self.features
        if isinstance(known, int):
            distinct = list(dict.fromkeys(terms))
            known = dict(zip(distinct, _hashed(distinct, known).tolist(), strict=True))
        return np.fromiter(map(known.get, terms, repeat(-1)), np.int64, len(terms))

    def _terms(self, text: str) -> list[str]:
        text = text.lower()
        words = text.translate(_BETWEEN).split() if text.isascii() else _WORDS.findall(text)
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


def _hashed(terms: Sequence[str], width: int) -> np.ndarray:
    """Return the column that HashingVectorizer of scikit-learn has for terms: by MurmurHash3."""
    pieces = [term.encode("utf-8", "surrogatepass") for term in terms]
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    words = np.frombuffer(b"".join(piece + bytes(-len(piece) % 4) for piece in pieces), "<u4")
    whole, ends = sizes // 4, np.cumsum((sizes + 3) // 4)
    first = ends - (sizes + 3) // 4
    code: Any = np.zeros(len(terms), np.uint32)
    rows, k = np.arange(len(terms)), 0
    while True:
        rows = rows[whole[rows] > k]
        if len(rows) < _LONG:
            break
        code[rows] = _step(code[rows], words[first[rows] + k])
        k += 1
    for row in rows:
        last = int(code[row])
        for word in words[first[row] + k : first[row] + whole[row]].tolist():
            last = _step(last, word)
        code[row] = last
    rest = np.where(sizes % 4, words[np.minimum(ends - 1, len(words) - 1)], 0).astype(np.uint32)
    code ^= _mixed(rest) ^ sizes.astype(np.uint32)
    code = (code ^ (code >> 16)) * np.uint32(0x85EBCA6B)
    code = (code ^ (code >> 13)) * np.uint32(0xC2B2AE35)
    found = (code ^ (code >> 16)).astype(np.int64)
    found = np.where(found == 1 << 31, 2**31 - width, np.minimum(found, (1 << 32) - found))
    return found % width  # where the absolute value is too large for 32 bits, as scikit-learn does


def _step(code: Any, word: Any) -> Any:
    """Return the hash, an integer or several, after more bytes."""
    return (_turned(code ^ _mixed(word), 13) * 5 + 0xE6546B64) & _MASK


def _mixed(piece: Any) -> Any:
    return (_turned((piece * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _turned(bits: Any, by: int) -> Any:
    return ((bits << by) | (bits >> (32 - by))) & _MASK
