"""Samples of a few texts without compiled loops: those of `narrows.solve.terms`, to the bit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from math import log, sqrt
from typing import Any

import numpy as np

from narrows.solve.late import sparse

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
        self.feature: Any = (
            cache(lambda term: _hashed(term, features))
            if isinstance(features, int)
            else features.get
        )

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """Return the samples, of shape (n_samples, n_features)."""
        indices: list[int] = []
        data: list[float] = []
        ends, idf = [0], self.idf
        for text in texts:
            found = Counter(map(self.feature, self._terms(text)))
            found.pop(None, None)
            row = sorted(found.items())
            values = [
                (1.0 if count == 1 else log(count) + 1.0) * idf[feature] for feature, count in row
            ]
            norm = 0.0
            for value in values:  # in the order of the compiled loop
                norm += value * value
            norm = sqrt(norm)
            indices += [feature for feature, _ in row]
            data += [value / norm for value in values]
            ends.append(len(indices))
        parts = np.array(data), np.array(indices, np.int32), np.array(ends, np.int32)
        X = sparse.csr_array(parts, shape=(len(ends) - 1, len(idf)))
        X.has_canonical_format = True
        return X

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
