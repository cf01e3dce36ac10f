"""The approximate sum of several regressions (`narrows.solve.rls`)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from narrows.solve.reservoir import balanced
from narrows.solve.rls import DiagonalRLS
from narrows.solve.rls_rule import AGREE, FACTOR, HITS, QB, REPLAYS, S2, SEEN, SOFT, WEIGHT, Rule


def merged(
    parts: Sequence[DiagonalRLS], columns: Sequence[np.ndarray], n_classes: int, rule: Rule
) -> DiagonalRLS:
    """Return several regressions as one: the natural parameters (s2 + Q) W add up, as Q does.

    Where there are origins, Q and b stay about the mean of each part, so that the order and the
    grouping of parts do not matter.

    Parameters
    ----------
    parts : sequence of DiagonalRLS
        With the same features and size of the reservoir.
    columns : sequence of ndarray
        The column in the result of each column of W of a part.
    n_classes : int
        Number of classes in the result.
    rule : Rule
        That of all parts.
    """
    first, least = parts[0], SOFT if rule.softmax else 1.0
    parts, origin = _about_means(parts)
    dtype = np.result_type(*(part.W.dtype for part in parts))
    clocks = np.array([part.clock for part in parts])
    n = clocks[:, WEIGHT].sum()
    seen = clocks[:, [HITS, SEEN, REPLAYS]].sum(axis=0)
    new = DiagonalRLS(first.n_features, len(first.reservoir), int(seen[1]), dtype)
    new.add_classes(n_classes)
    share = clocks[:, WEIGHT] / n if n else np.zeros(len(parts))
    clock = new.clock
    clock[QB] = clocks[:, FACTOR] @ clocks[:, QB]
    clock[[WEIGHT, S2, AGREE]] = n, share @ clocks[:, S2], share @ clocks[:, AGREE]
    clock[[HITS, SEEN, REPLAYS]] = seen
    Q = np.sum([part.energy for part in parts], axis=0)
    W = np.zeros((len(Q), n_classes))
    for part, column in zip(parts, columns, strict=True):
        own = least * part.clock[S2] + part.energy
        W[:, column] += own[:, None] * part.W
        new.b[column] += (least + part.clock[FACTOR] * part.clock[QB]) * part.b
        new.N[:, column] += part.N
    energy = least * clock[S2] + Q
    np.divide(W, energy[:, None], out=W, where=energy[:, None] > 0)
    new.b /= least + clock[QB]
    new.W, new.Q = W.astype(dtype), Q
    new.sums = None
    if origin is not None:
        new.origin, new.first = origin, np.zeros((2, len(Q)))
        for part in parts:
            if part.first is not None:
                new.first += part.clock[FACTOR] * part.first
    if all(part.sums is not None for part in parts):
        new.sums = np.zeros(W.shape)
        for part, column in zip(parts, columns, strict=True):
            new.sums[:, column] += part.clock[FACTOR] * part.sums
            if origin is not None and part.origin is not None:
                new.sums[:, column] += (part.origin - origin)[:, None] * part.N[0]
    if len(first.reservoir):
        stores = [part.reservoir for part in parts]
        samples = [
            part.reservoir.samples(first.n_features, float(part.clock[FACTOR])) for part in parts
        ]
        new.reservoir.fill(*balanced(samples, columns, n_classes, stores, rule.several))
    return new


def _about_means(parts: Sequence[DiagonalRLS]) -> tuple[list[DiagonalRLS], np.ndarray | None]:
    """Return parts, each about its own mean, and the mean of all samples; copies.

    All are about 0, and the mean is None, where one of them is.
    """
    parts = [copy(part) for part in parts]
    seen = [part for part in parts if part.clock[SEEN]]
    together = bool(seen) and all(part.origin is not None for part in seen)
    for part in seen:
        part.move(part.mean if together else None)
    if not together:
        return parts, None
    share = np.array([part.clock[WEIGHT] for part in seen])
    means = np.array([part.origin for part in seen])
    return parts, (share[:, None] / share.sum() * means).sum(axis=0)
