"""The loops over the bytes of svmlight files, compiled; `narrows.io.formats.svmlight` calls them.

A block of bytes ends with a line's end, which stops every loop. Tokens that need more than these
loops, from numbers of more than 19 digits to text, are left to the caller, which rounds exactly.
"""

from __future__ import annotations

import math

import numpy as np

from narrows.solve.kernels import compiled

END, HASH, PLUS, COMMA, MINUS, POINT, ZERO, COLON = (ord(c) for c in "\n#+,-.0:")
SPACE, TAB, RETURN, E, SMALL_E = (ord(c) for c in " \t\rEe")
QID = tuple(b"qid")

COLUMN_ZERO, SEVERAL_LABELS = 1, 2  # the facts in the head of a line
GOOD, NO_ENTRY, NO_ORDER, TOO_LARGE = 0, 1, 2, 3  # the reasons why `rows` stopped
LARGEST = 2**31 - 2  # column that a row holds, so that a width is an int32 too

_WHOLE = 2**53  # floating point holds all whole numbers up to here,
_TENS = np.array([float(10**k) for k in range(23)])  # and these powers of ten
_DIGITS = 19  # that always fit in 64 bits
_POWERS = range(-280, 281)  # of ten; times 19 digits these neither overflow nor lose bits
_SHIFT = 1400
# 10^q is _FIVE 2^(_SCALE - 64), _FIVE the first 64 bits of 5^q, rounded down
_FIVES = [(5**q << _SHIFT) if q >= 0 else (1 << _SHIFT) // 5**-q for q in _POWERS]
_FIVE = np.array([n >> (n.bit_length() - 64) for n in _FIVES], dtype=np.uint64)
_SCALE = np.array([n.bit_length() + q - _SHIFT for n, q in zip(_FIVES, _POWERS, strict=True)])
_FIRST, _LAST = _POWERS[0], _POWERS[-1]
_0, _1, _9, _10, _32, _63 = (np.uint64(k) for k in (0, 1, 9, 10, 32, 63))
_48 = np.uint64(ZERO)
_LOW = np.uint64(2**32 - 1)


@compiled
def is_blank(c: int) -> bool:
    """Whether a byte is white space inside a line."""
    return c == SPACE or (TAB <= c <= RETURN and c != END)


@compiled
def skip_blanks(block: np.ndarray, i: int) -> int:
    """Return where white space that begins at i ends."""
    while is_blank(block[i]):
        i += 1
    return i


@compiled
def skip_token(block: np.ndarray, i: int) -> tuple[int, bool]:
    """Return where a token ends, and whether it has a colon."""
    colon = False
    while not (is_blank(block[i]) or block[i] == END or block[i] == HASH):
        colon |= block[i] == COLON
        i += 1
    return i, colon


@compiled
def skip_line(block: np.ndarray, i: int) -> int:
    """Return where the next line begins."""
    while block[i] != END:
        i += 1
    return i + 1


@compiled
def skip_query(block: np.ndarray, i: int) -> int:
    """Return where the entries begin, after a `qid:…` at i if there is one."""
    if block[i] == QID[0] and block[i + 1] == QID[1] and block[i + 2] == QID[2]:
        stop, colon = skip_token(block, i)
        if colon:
            return skip_blanks(block, stop)
    return i


@compiled
def heads(block: np.ndarray, line: int) -> tuple[int, int]:
    """Return the facts in the heads of all lines, and the number of the line after them."""
    seen = i = 0
    while i < len(block):
        i = skip_blanks(block, i)
        stop, colon = skip_token(block, i)
        if not colon:
            while i < stop:
                if block[i] == COMMA:
                    seen |= SEVERAL_LABELS
                i += 1
            i = skip_blanks(block, i)
        i = start = skip_query(block, i)
        while block[i] == ZERO:
            i += 1
        if i > start and block[i] == COLON:
            seen |= COLUMN_ZERO
        i = skip_line(block, i)
        line += 1
    return seen, line


@compiled
def rounded(w: np.uint64, q: int) -> tuple[float, bool]:
    """Return the number nearest to w 10^q, and whether that was found."""
    if w <= _WHOLE and -22 <= q <= 22:  # one operation on exact numbers (Clinger, 1990)
        return (float(w) * _TENS[q] if q >= 0 else float(w) / _TENS[-q]), True
    if q < _FIRST or q > _LAST or w == _0:
        return 0.0, False
    # With w and 5^q as 64 bits each, the first 64 bits of their product, as a whole number, are
    # less than 2 below w 5^q: enough, but beside the middle of two numbers (Lemire, 2021).
    shift = 0
    while not w >> _63:
        w <<= _1
        shift += 1
    five = _FIVE[q - _FIRST]
    a, b, c, d = w >> _32, w & _LOW, five >> _32, five & _LOW
    middle = ((b * d) >> _32) + ((a * d) & _LOW) + ((b * c) & _LOW)
    high = a * c + ((a * d) >> _32) + ((b * c) >> _32) + (middle >> _32)
    more = _10 + (high >> _63)  # bits than the 53 of a number
    rest, half = high & ((_1 << more) - _1), _1 << (more - _1)
    mantissa = (high >> more) + np.uint64(rest > half)
    scale = _SCALE[q - _FIRST] - shift + np.int64(more)
    return math.ldexp(float(mantissa), scale), rest != half and rest + _1 != half


@compiled
def number(block: np.ndarray, i: int) -> tuple[float, int, bool]:
    """Return the number that begins at i, where it ends, and whether it was found."""
    negative = block[i] == MINUS
    if negative or block[i] == PLUS:
        i += 1
    w, q, start = _0, 0, i
    digit = np.uint64(block[i]) - _48  # other characters are over 9, as the type has no sign
    while digit <= _9:
        w = w * _10 + digit
        i += 1
        digit = np.uint64(block[i]) - _48
    digits = i - start
    if block[i] == POINT:
        i += 1
        digit = np.uint64(block[i]) - _48
        while digit <= _9:
            w = w * _10 + digit
            i += 1
            q -= 1
            digit = np.uint64(block[i]) - _48
        digits -= q
    found = digits > 0
    if digits > _DIGITS:
        while block[start] == ZERO or block[start] == POINT:
            digits -= block[start] == ZERO
            start += 1
        found = digits <= _DIGITS
    if block[i] == E or block[i] == SMALL_E:
        i += 1
        less = block[i] == MINUS
        if less or block[i] == PLUS:
            i += 1
        power, start = 0, i
        while ZERO <= block[i] < ZERO + 10:
            power = min(power * 10 + block[i] - ZERO, 1 << 20)
            i += 1
        found &= i > start
        q += -power if less else power
    if not found:
        return 0.0, i, False
    value, found = rounded(w, q)
    return -value if negative else value, i, found


@compiled
def rows(
    block: np.ndarray,
    base: int,
    line: int,
    out: tuple[np.ndarray, ...],
    odd: np.ndarray,
) -> tuple[int, int, int, int, int, int, int]:
    """Read rows until something is wrong.

    Parameters
    ----------
    block : ndarray of uint8
        Whole lines.
    base : int
        The number of the first column.
    line : int
        The number of the first line.
    out : tuple of ndarray
        What is filled: of each row the line, the number of labels and of columns; the labels;
        the columns, from 0, and their values.
    odd : ndarray of shape (labels and columns, 3)
        Filled with the numbers that were not found: which, a label as its complement; where
        they begin and end.

    Returns
    -------
    n, n_labels, n_entries, n_odd : int
        How much was filled.
    line : int
        The number of the line after them.
    fault, at : int
        What was wrong, and where.
    """
    lines, label_counts, counts, labels, columns, values = out
    n = named = entries = odds = i = 0
    fault = GOOD
    while i < len(block):
        i = skip_blanks(block, i)
        if block[i] == END or block[i] == HASH:
            i = skip_line(block, i)
            line += 1
            continue
        first_named, first_entry = named, entries
        end, colon = skip_token(block, i)
        while not colon and i <= end:  # labels, with commas between them
            value, stop, found = number(block, i)
            if not found or (block[stop] != COMMA and stop < end):
                while block[stop] != COMMA and stop < end:
                    stop += 1
                odd[odds, 0], odd[odds, 1], odd[odds, 2] = ~named, i, stop
                odds += 1
            labels[named] = value
            named += 1
            i = stop + 1
        i = skip_query(block, skip_blanks(block, i if colon else end))
        before = -1
        while block[i] != END and block[i] != HASH:
            start, column = i, 0
            while ZERO <= block[i] < ZERO + 10:
                column = min(column * 10 + block[i] - ZERO, LARGEST + 2)
                i += 1
            if i == start or block[i] != COLON or column < base:
                fault = NO_ENTRY
            elif column <= before:
                fault = NO_ORDER
            elif column - base > LARGEST:
                fault = TOO_LARGE
            if fault != GOOD:
                return n, first_named, first_entry, odds, line, fault, start
            before, start = column, i + 1
            value, i, found = number(block, start)
            if not (found and (is_blank(block[i]) or block[i] == END or block[i] == HASH)):
                i, _ = skip_token(block, i)
                odd[odds, 0], odd[odds, 1], odd[odds, 2] = entries, start, i
                odds += 1
            columns[entries], values[entries] = column - base, value
            entries += 1
            i = skip_blanks(block, i)
        lines[n], label_counts[n], counts[n] = line, named - first_named, entries - first_entry
        n += 1
        i = skip_line(block, i)
        line += 1
    return n, named, entries, odds, line, fault, i
