"""Labels as text and as numbers: how each is written, and which are the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_NUMBERS, _TEXT = "biuf", "UO"
_INTEGER = re.compile(r"([-+]?0*\d{1,19})(\.0*)?", re.ASCII)
_TRUTH = ("false", "true")


def are_text(labels: np.ndarray) -> bool:
    """Whether labels are text, and not numbers."""
    return labels.dtype.kind in _TEXT


def is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits as it is usually written: not 01, not +1, not 1_0."""
    try:
        return str(int(text)) == text and abs(int(text)) < 2**63
    except ValueError:
        return False


def integer_of(label: Any) -> int | None:
    """Return the integer that a label is, also one that is written as 01, +1, 1.0 or true.

    None where it is none, or has more than 64 bits.
    """
    if isinstance(label, str):
        word = label.strip(" \t")
        if word.lower() in _TRUTH:
            return _TRUTH.index(word.lower())
        whole = _INTEGER.fullmatch(word)
        value = int(whole[1]) if whole else None
    else:
        value = int(label) if label == label // 1 else None
    return None if value is None or not -(2**63) <= value < 2**63 else value


def written(labels: np.ndarray) -> np.ndarray:
    """Return labels as text; whole numbers, also of floating point, as integers."""
    if labels.dtype.kind != "f":
        return labels if are_text(labels) else labels.astype(str)
    return np.array(list(map(text_of, labels.tolist())), dtype=str)


def text_of(label: Any) -> str:
    """Return a label as text."""
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if is_whole else label)


def as_one_type(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as text where only the others are text."""
    return (a, b) if are_text(a) == are_text(b) else (written(a), written(b))


def read_like(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return labels in the type of classes, text or numbers, if all of them are written so."""
    if are_text(labels) == are_text(classes) or not len(classes):
        return labels
    if are_text(classes):
        return written(labels)
    known = {text_of(label): label for label in classes.tolist()}
    distinct, codes = np.unique(labels, return_inverse=True)
    found = [known.get(text, int(text) if is_integer(text) else None) for text in distinct.tolist()]
    numbers = np.array(found)
    return numbers[codes] if numbers.dtype.kind in _NUMBERS else labels


def integers(labels: np.ndarray) -> np.ndarray | None:
    """Return distinct labels as integers; None if one is no integer, or two are the same one."""
    found = [integer_of(label) for label in labels.tolist()]
    if None in found or len(set(found)) < len(found):
        return None
    return np.array(found, dtype=np.int64)


def same_integer(a: np.ndarray, b: np.ndarray) -> tuple[str, str] | None:
    """Return a label of each that may be the same, as the text 01 and 1; None without such.

    If either has both of them, they are two labels.
    """
    mine, theirs = ({text_of(label): integer_of(label) for label in y.tolist()} for y in (a, b))
    spelled = {value: text for text, value in theirs.items() if value is not None}
    for text, value in mine.items():
        other = text if value is None else spelled.get(value, text)
        if other != text and text not in theirs and other not in mine:
            return text, other
    return None
