"""Compiled loops over the UTF-8 of texts: their words, and the terms that these make.

A block of texts is their UTF-8, each text with END after it, a byte that UTF-8 does not have. A
table has n distinct terms. Term k is text[bounds[k]:bounds[k + 1]]; a slot is 0, or has half of the
hash of a term, and k + 1 in the other half. The number of slots is a power of two. Eight bytes are
read at a time, so that `words` and `text` have as many behind the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.solve.kernels import Array, compiled, inlined

END, SPACE = 0xFF, 0x20
_AT = np.uintp  # the type of indices: signed ones are checked for being negative
_U = np.uint64
_HALF, _LOW = _U(32), _U(0xFFFFFFFF)
_DIGIT = 11  # bits of columns that are sorted by at a time
_START, _PRIME = _U(0xCBF29CE484222325), _U(0x9E3779B97F4A7C15)


@compiled
def cut_words(
    block: Array, letters: Array, stop_slots: Array, stop_bounds: Array, stop_text: Array,
    words: Array, ends: Array, counts: Array,
) -> int:  # fmt: skip
    """Write the words of a block of texts, a space after each; O(bytes).

    letters[c] is the lower case of the character c of words, and 0 for others. Word k is
    words[ends[k - 1] + 1 : ends[k]], and text t has counts[t] words; return how many there are.
    Words of a table are left out.
    """
    p = first = n = before = t = i = 0
    while i < len(block):
        byte = block[_AT(i)]
        c = int(byte)
        i += 1
        if byte >= 0x80:
            if byte == END:
                c = 0
            elif byte < 0xE0:
                c = ((c & 0x1F) << 6) | (block[i] & 0x3F)
                i += 1
            elif byte < 0xF0:
                c = ((c & 0x0F) << 12) | ((block[i] & 0x3F) << 6) | (block[i + 1] & 0x3F)
                i += 2
            else:
                c = ((c & 0x07) << 18) | ((block[i] & 0x3F) << 12)
                c |= ((block[i + 1] & 0x3F) << 6) | (block[i + 2] & 0x3F)
                i += 3
        letter = letters[_AT(c)]
        if letter >= 0x80:
            if letter < 0x800:
                words[p] = 0xC0 | (letter >> 6)
            else:
                if letter < 0x10000:
                    words[p] = 0xE0 | (letter >> 12)
                else:
                    words[p], words[p + 1] = 0xF0 | (letter >> 18), 0x80 | ((letter >> 12) & 0x3F)
                    p += 1
                words[p + 1] = 0x80 | ((letter >> 6) & 0x3F)
                p += 1
            words[p + 1] = 0x80 | (letter & 0x3F)
            p += 2
            continue
        # without branches: no processor predicts where a word ends
        is_letter = letter != 0
        is_end = (not is_letter) & (p > first)
        words[_AT(p)] = letter | (SPACE * is_end)
        ends[_AT(n)] = p
        p += is_letter | is_end
        n += is_end
        if len(stop_slots) and is_end:
            stop, _, _ = _search(words, first, p - 1, stop_slots, stop_bounds, stop_text)
            if stop >= 0:
                n, p = n - 1, first
        first = p if is_end else first
        if byte == END:
            counts[t] = n - before
            before = n
            t += 1
    return n


@compiled
def count_terms(
    words: Array, ends: Array, of_text: Array, low: int, high: int, width: int, n: int,
    slots: Array, bounds: Array, text: Array, grows: tuple[Array, Array, Array] | None,
    frequency: Array, total: Array, place: Array, ids: Array, counts: Array, lengths: Array,
) -> tuple[int, int]:  # fmt: skip
    """Count the runs of `low` to `high` words in each text; O(words (high - low + 1)).

    A run is a term of a table; or, with a width, the column that its hash gives. The table gets new
    terms if `grows` has its arrays, to write to, and not None. Text t has lengths[t] of the `ids`
    and `counts`. place[id] is where a term was last written to `ids`. `frequency` gets the numbers
    of texts, and `total`, unless it is empty, those of occurrences.
    """
    m = start = 0
    for t in range(len(of_text)):
        first, stop = m, start + of_text[t]
        for size in range(low, high + 1):
            for k in range(start, stop - size + 1):
                a = ends[_AT(k - 1)] + 1 if k else 0
                b = ends[_AT(k + size - 1)]
                if width:
                    term = _column(words, a, b, width)
                else:
                    term, slot, code = _search(words, a, b, slots, bounds, text)
                    if term < 0:
                        if grows is None:
                            continue
                        term = n
                        n = _insert(words, a, b, slot, code, n, grows[0], grows[1], grows[2])
                at = place[_AT(term)]
                if first <= at < m and ids[_AT(at)] == term:
                    counts[_AT(at)] += 1
                else:
                    ids[_AT(m)], counts[_AT(m)] = term, 1
                    frequency[_AT(term)] += 1
                    place[_AT(term)] = m
                    m += 1
                if len(total):
                    total[_AT(term)] += 1
        lengths[t] = m - first
        start = stop
    return n, m


@compiled
def find_terms(
    words: Array, ends: Array, n: int, slots: Array, bounds: Array, text: Array, ids: Array
) -> int:
    """Set `ids` to the terms words[ends[k]:ends[k + 1]] of a table, which gets them."""
    for k in range(len(ids)):
        a, b = ends[k], ends[k + 1]
        ids[k], slot, code = _search(words, a, b, slots, bounds, text)
        if ids[k] < 0:
            ids[k] = n
            n = _insert(words, a, b, slot, code, n, slots, bounds, text)
    return n


@compiled
def move_slots(old: Array, new: Array) -> None:
    """Put the slots of a table into those of a larger one."""
    mask = _U(len(new) - 1)
    for slot in old:
        if slot:
            i = (slot >> _HALF) & mask
            while new[i]:
                i = (i + _U(1)) & mask
            new[i] = slot


@compiled
def sort_terms(n: int, bounds: Array, text: Array) -> Array:
    """Return the numbers of the terms of a table by their bytes; O(n log n)."""
    keys, more_keys = np.zeros(n, np.uint64), np.empty(n, np.uint64)  # the first eight bytes
    order, more_order = np.arange(n), np.empty(n, np.int64)
    for k in range(n):
        for e in range(min(8, bounds[k + 1] - bounds[k])):
            keys[k] |= _U(text[bounds[k] + e]) << _U(56 - 8 * e)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, stop):
                is_left = j == stop
                if i < middle and j < stop:
                    is_left = keys[i] < keys[j]
                    if keys[i] == keys[j]:
                        is_left = not _is_before(order[j], order[i], bounds, text)
                if is_left:
                    more_keys[k], more_order[k] = keys[i], order[i]
                    i += 1
                else:
                    more_keys[k], more_order[k] = keys[j], order[j]
                    j += 1
        keys, more_keys, order, more_order = more_keys, keys, more_order, order
        width *= 2
    return order


@compiled
def weigh_terms(
    lengths: Array, ids: Array, counts: Array, features: Array, idf: Array,
    indices: Array, data: Array, ends: Array,
) -> None:  # fmt: skip
    """Write the rows of CSR parts: (1 + ln count) idf, with norm 1; O(nnz).

    features[id] is the column of a term, negative if it has none; ends[t] is where row t ends.
    """
    n = start = 0
    keys, more_keys = np.empty(len(data), np.uint64), np.empty(len(data), np.uint64)
    rows, more_rows = np.empty(len(data), np.int32), np.empty(len(data), np.int32)
    for t in range(len(lengths)):
        for e in range(start, start + lengths[t]):
            feature = features[_AT(ids[_AT(e)])]
            if feature >= 0:
                keys[_AT(n)], rows[_AT(n)] = (_U(feature) << _HALF) | _U(counts[_AT(e)]), t
                n += 1
        start += lengths[t]
        ends[t] = n
    shift = 32
    while (len(idf) - 1) >> (shift - 32):  # by the bits of columns, the lowest ones first
        places = np.zeros(1 << _DIGIT, np.int64)
        for key in keys:
            places[(key >> _U(shift)) & _U((1 << _DIGIT) - 1)] += 1
        last = 0
        for k in range(len(places)):
            places[k], last = last, last + places[k]
        for e in range(n):
            k = (keys[e] >> _U(shift)) & _U((1 << _DIGIT) - 1)
            more_keys[_AT(places[k])], more_rows[_AT(places[k])] = keys[e], rows[e]
            places[k] += 1
        keys, more_keys, rows, more_rows = more_keys, keys, more_rows, rows
        shift += _DIGIT
    at = np.zeros(len(ends), np.int64)  # then by rows
    at[1:] = ends[:-1]
    squares = np.zeros(len(ends))
    for e in range(n):
        key, row = keys[e], _AT(rows[e])
        feature, count = np.int64(key >> _HALF), key & _LOW
        value = (1.0 if count == 1 else np.log(np.float64(count)) + 1.0) * idf[_AT(feature)]
        indices[_AT(at[row])], data[_AT(at[row])] = feature, value
        squares[row] += value * value
        at[row] += 1
    start = 0
    for t in range(len(ends)):
        norm = np.sqrt(squares[t])
        for e in range(start, ends[t]):
            data[e] /= norm
        start = ends[t]


@inlined
def _search(words: Array, a: int, b: int, slots: Array, bounds: Array, text: Array) -> Any:
    """Return the term words[a:b] of a table, or -1 and a free slot; and its hash."""
    code = _hash(words, a, b)
    mask = _U(len(slots) - 1)
    i = (code >> _HALF) & mask
    while True:
        slot = slots[i]
        if slot == 0:
            return -1, i, code
        if slot >> _HALF == code >> _HALF:
            term = np.intp(slot & _LOW) - 1
            at = bounds[_AT(term)]
            if bounds[_AT(term + 1)] - at == b - a:
                k = a
                while b - k > 8 and _eight(words, k) == _eight(text, at):
                    k += 8
                    at += 8
                if b - k <= 8 and _rest(words, k, b) == _rest(text, at, at + b - k):
                    return term, i, code
        i = (i + _U(1)) & mask


@inlined
def _insert(
    words: Array, a: int, b: int, slot: Any, code: Any, n: int, slots: Array, bounds: Array,
    text: Array,
) -> int:  # fmt: skip
    """Make words[a:b] term n of a table; return n + 1."""
    slots[slot] = (code & ~_LOW) | _U(n + 1)
    at = bounds[n]
    for k in range(a, b):
        text[at] = words[k]
        at += 1
    bounds[n + 1] = at
    return n + 1


@inlined
def _is_before(i: int, j: int, bounds: Array, text: Array) -> bool:
    """Whether the bytes of term i are before those of term j."""
    a, b = bounds[i], bounds[j]
    while a < bounds[i + 1] and b < bounds[j + 1]:
        if text[a] != text[b]:
            return text[a] < text[b]
        a += 1
        b += 1
    return bounds[i + 1] - bounds[i] < bounds[j + 1] - bounds[j]


@inlined
def _hash(words: Array, a: int, b: int) -> Any:
    code = _START
    while b - a > 8:
        code = (code ^ _eight(words, a)) * _PRIME
        code ^= code >> _HALF
        a += 8
    code = (code ^ _rest(words, a, b)) * _PRIME
    return (code ^ (code >> _HALF)) * _PRIME


@inlined
def _four(words: Array, k: int) -> Any:
    low = _U(words[_AT(k)]) | (_U(words[_AT(k + 1)]) << _U(8))
    return low | (_U(words[_AT(k + 2)]) << _U(16)) | (_U(words[_AT(k + 3)]) << _U(24))


@inlined
def _eight(words: Array, k: int) -> Any:
    return _four(words, k) | (_four(words, k + 4) << _HALF)


@inlined
def _rest(words: Array, a: int, b: int) -> Any:
    """Return the last bytes, at most eight of them."""
    if a == b:
        return _U(0)
    return _eight(words, a) & (~_U(0) >> _U(64 - 8 * (b - a)))


@inlined
def _column(words: Array, a: int, b: int, width: int) -> Any:
    """Return the column that HashingVectorizer of scikit-learn has for a term: by MurmurHash3."""
    code, size = _U(0), _U(b - a)
    while b - a >= 4:
        code = _turned(code ^ _mixed(_four(words, a)), 13)
        code = (code * _U(5) + _U(0xE6546B64)) & _LOW
        a += 4
    code ^= _mixed(_rest(words, a, b)) ^ (size & _LOW)
    code = ((code ^ (code >> _U(16))) * _U(0x85EBCA6B)) & _LOW
    code = ((code ^ (code >> _U(13))) * _U(0xC2B2AE35)) & _LOW
    code ^= code >> _U(16)
    signed = np.int64(code) - (np.int64(code >> _U(31)) << 32)
    if signed == -(1 << 31):  # whose absolute value no integer of 32 bits has
        return (2**31 - 1 - (width - 1)) % width
    return abs(signed) % width


@inlined
def _mixed(piece: Any) -> Any:
    return (_turned((piece * _U(0xCC9E2D51)) & _LOW, 15) * _U(0x1B873593)) & _LOW


@inlined
def _turned(bits: Any, by: int) -> Any:
    return ((bits << _U(by)) | (bits >> _U(32 - by))) & _LOW
