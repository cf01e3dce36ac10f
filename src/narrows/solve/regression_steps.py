"""Diagonal recursive least squares, compiled; `narrows.solve.regression` defines the letters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from narrows.solve.kernels import Array, compiled, inlined

SUSPICIOUS = 0.2  # a larger kappa means that samples are sorted by label
MEMORY = 100.0  # samples over which the agreement of successive labels is averaged

# indices into `clock`
QB, WEIGHT, S2, FACTOR, AGREE, LAST, HITS, SEEN, REPLAYS, RECENT, TIMES = range(11)

SMALLEST_FACTOR = 1e-30  # the smallest lazy factor: it is then applied to all numbers
_FAINT = 1e-300  # the smallest weight of a class
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ROW = np.uintp  # the type of indices: signed ones are checked for being negative
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


class UpdateRule(NamedTuple):
    """How samples are learned.

    Parameters
    ----------
    keep : float
        The factor of decay per sample; 1 forgets nothing.
    several : bool
        Whether samples may have several labels, or none.
    """

    keep: float = 1.0
    several: bool = False


@compiled
def rls_steps(
    first: int, rows: tuple[Array, ...], targets: tuple[Array, ...], rule: Any,
    model: tuple[Array, ...], reservoir: tuple[Array, ...], window: Array,
    work: tuple[Array, ...], reduced: Array,
) -> int:  # fmt: skip
    """Learn the samples from number `first` on; return the number of the first not learned.

    It stops at a sample for which the reservoir has no room. Arrays of size 0 stand for None: of
    the class sums, of the first moments, and of `reduced`, to whose row i sample i times W is
    added.
    """
    indptr, indices, data = rows
    label_ptr, label_of, weight = targets
    W, b, Q, N, clock, sums, moments = model
    arena_of, arena, slots, kept, use, random = reservoir
    o, e, p, origin, centred = work
    size, c = len(slots), len(b)
    for i in range(first, len(weight)):
        w = weight[i]
        lo, hi = indptr[i], indptr[i + 1]
        first_label, last_label = label_ptr[i], label_ptr[i + 1]
        if size and use[1] + (hi - lo) + (last_label - first_label) > len(arena):
            return i
        if w > 0.0:
            if rule.keep < 1.0:
                _decay(rule.keep, Q, N, kept, clock, sums, moments)
            # the sample, and then perhaps one of the reservoir: in a loop, so that the step is
            # compiled once
            where, values, names, mass = indices, data, label_of, w
            start, end, first_name, last_name = lo, hi, first_label, last_label
            for again in range(2):
                here, x = where[start:end], values[start:end]
                if len(origin):
                    x = _centre(here, x, origin, centred)
                if not again:
                    clock[WEIGHT] += w
                    clock[S2] += w * (_square(x) - clock[S2]) / clock[WEIGHT]
                best = _rls_step(
                    here, x, first_name, last_name, names, w, mass,
                    W, b, Q, N, clock, moments, o, e, p,
                )  # fmt: skip
                if again:
                    break
                if len(sums):
                    _add_to_classes(indices[lo:hi], data[lo:hi], origin, first_label, last_label,
                                    label_of, w / clock[FACTOR], sums)  # fmt: skip
                hit = 0
                for k in range(first_label, last_label):
                    label = label_of[k]
                    N[0, label] += w
                    N[1, label] += 1.0
                    N[2, label] += clock[RECENT]
                    if label == best:
                        hit = 1
                clock[TIMES] += clock[RECENT] ** 2
                window[int(clock[RECENT]) % len(window)] = hit
                clock[HITS] += hit
                clock[SEEN] += 1.0
                clock[RECENT] += 1.0
                if not size:
                    if not rule.several:
                        clock[LAST] = label_of[first_label]
                    break
                slot = _slot(label_of[first_label] if not rule.several else -1, rule.keep, slots,
                             kept, use, N, clock, random)  # fmt: skip
                if slot >= 0:
                    _put(slot, lo, hi, indices, data, first_label, last_label, label_of, w,
                         clock[FACTOR], arena_of, arena, slots, kept, use)  # fmt: skip
                if rule.several:
                    break
                kappa = _kappa(label_of[first_label], N, clock)
                if not (kappa > SUSPICIOUS and _uniform(random) < kappa):
                    break
                k = int(_uniform(random) * use[0])
                where, values, names = arena_of, arena, arena_of
                start, first_name = slots[k, 0], slots[k, 0] + slots[k, 1]
                end, last_name = first_name, first_name + slots[k, 2]
                w, mass = kept[0, k], 0.0
                clock[REPLAYS] += 1.0
        if len(reduced):
            for k in range(lo, hi):
                row, value = _ROW(indices[k]), np.float64(data[k])
                for j in range(c):
                    reduced[i, j] += value * W[row, j]
    return len(weight)


@inlined
def _add_to_classes(
    indices: Array, data: Array, origin: Array, first_label: int, last_label: int,
    label_of: Array, w: float, sums: Array,
) -> None:  # fmt: skip
    """Add w x to the sums of a sample's classes."""
    for m in range(first_label, last_label):
        label = _ROW(label_of[m])
        for k in range(len(data)):
            x = np.float64(data[k])  # of double precision also about the origin
            if len(origin):
                x -= origin[_ROW(indices[k])]
            sums[_ROW(indices[k]), label] += w * x


@inlined
def _decay(
    keep: float, Q: Array, N: Array, kept: Array, clock: Array, sums: Array, moments: Array
) -> None:
    """Decay all weights: those with a lazy factor by that, which they share."""
    clock[FACTOR] *= keep
    clock[WEIGHT] *= keep
    clock[TIMES] *= keep
    for j in range(N.shape[1]):
        N[2, j] *= keep
        for k in range(2):
            if N[k, j] > 0.0:
                N[k, j] = max(N[k, j] * keep, _FAINT)  # a class that has come does not vanish
    if clock[FACTOR] < SMALLEST_FACTOR:
        for k in range(len(Q)):
            Q[k] *= clock[FACTOR]
        for k in range(kept.shape[1]):
            kept[1, k] *= clock[FACTOR]
        for k in range(len(sums)):
            for j in range(sums.shape[1]):
                sums[k, j] *= clock[FACTOR]
        for k in range(moments.shape[1]):
            moments[0, k] *= clock[FACTOR]
            moments[1, k] *= clock[FACTOR]
        clock[QB] *= clock[FACTOR]
        clock[FACTOR] = 1.0


@inlined
def _centre(indices: Array, data: Array, origin: Array, centred: Array) -> Array:
    """Return a sample about the origin."""
    for k in range(len(data)):
        centred[k] = data[k] - origin[_ROW(indices[k])]
    return centred[: len(data)]


@inlined
def _square(x: Array) -> float:
    """Return |x|^2."""
    xx = 0.0
    for k in range(len(x)):
        xx += np.float64(x[k]) * x[k]
    return xx


@inlined
def _rls_step(
    indices: Array, data: Array, first_label: int, last_label: int,
    label_of: Array, w: float, mass: float, W: Array, b: Array, Q: Array, N: Array,
    clock: Array, moments: Array, o: Array, e: Array, p: Array,
) -> int:  # fmt: skip
    """Run one implicit step; return the class predicted before it, or -1 before the first class.

    `mass` is what the sample adds to the energies: its weight, or 0 where it is repeated.
    """
    c, g = len(b), clock[FACTOR]
    prior, bias = clock[S2], 1.0 / (1.0 + g * clock[QB])
    for j in range(c):
        o[j] = b[j]
    xp = 0.0
    for k in range(len(data)):
        x = np.float64(data[k])
        energy = prior + g * Q[_ROW(indices[k])]
        p[k] = x / energy if energy > 0.0 else 0.0
        xp += x * p[k]
    _add_outputs(indices, data, W, o)
    best = -1
    for j in range(c):
        if N[0, j] > 0.0 and (best < 0 or o[j] > o[best]):
            best = j
    for j in range(c):
        e[j] = -o[j]
    for k in range(first_label, last_label):
        e[label_of[k]] += 1.0
    f = w / (1.0 + w * (xp + bias))
    for j in range(c):
        e[j] *= f
        b[j] += bias * e[j]
    scale = mass / g
    for k in range(len(data)):
        row, step = _ROW(indices[k]), p[k]
        for j in range(c):
            W[row, j] += step * e[j]
        x = np.float64(data[k])
        Q[row] += scale * x * x
    clock[QB] += scale
    if moments.shape[1] and mass > 0.0:
        for k in range(len(data)):
            row, x = _ROW(indices[k]), np.float64(data[k])
            moments[0, row] += scale * x
            moments[1, row] += scale * x
    return best


@inlined
def _add_outputs(indices: Array, data: Array, W: Array, o: Array) -> None:
    """Add xW to o."""
    k, hi = 0, len(data)
    while k + 4 <= hi:  # four at a time: o is read and written once for them
        r0, r1 = _ROW(indices[k]), _ROW(indices[k + 1])
        r2, r3 = _ROW(indices[k + 2]), _ROW(indices[k + 3])
        x0, x1 = np.float64(data[k]), np.float64(data[k + 1])
        x2, x3 = np.float64(data[k + 2]), np.float64(data[k + 3])
        for j in range(len(o)):
            o[j] += (x0 * W[r0, j] + x1 * W[r1, j]) + (x2 * W[r2, j] + x3 * W[r3, j])
        k += 4
    while k < hi:
        row, x = _ROW(indices[k]), np.float64(data[k])
        for j in range(len(o)):
            o[j] += x * W[row, j]
        k += 1


@inlined
def _kappa(label: int, N: Array, clock: Array) -> float:
    """Return how much more often a label repeats the previous one than by chance (kappa)."""
    if clock[LAST] >= 0.0:
        same = 1.0 if clock[LAST] == label else 0.0
        clock[AGREE] += (same - clock[AGREE]) / min(clock[SEEN], MEMORY)
    clock[LAST] = label
    rows, chance = 0.0, 0.0
    for j in range(N.shape[1]):
        rows += N[1, j]
    for j in range(N.shape[1]):
        chance += (N[1, j] / rows) ** 2
    return (clock[AGREE] - chance) / (1.0 - chance) if chance < 1.0 else 0.0


@inlined
def _slot(
    label: int, keep: float, slots: Array, kept: Array, use: Array, N: Array, clock: Array,
    random: Array,
) -> int:  # fmt: skip
    """Return the slot for a sample, or -1; balances classes unless the label is -1."""
    size, counts = len(slots), use[2:]
    if use[0] < size:
        return use[0]
    if label < 0:
        n = clock[SEEN]  # of samples, decayed
        if keep < 1.0:
            n = (1.0 - keep**n) / (1.0 - keep)
        k = int(_uniform(random) * max(n, np.float64(size)))
        return k if k < size else -1
    largest = 0
    for j in range(1, len(counts)):
        if counts[j] > counts[largest]:
            largest = j
    target = -1
    if counts[label] < counts[largest]:
        target = largest
    elif _uniform(random) * N[1, label] < counts[label]:
        target = label
    if target < 0:
        return -1
    k = int(_uniform(random) * size)
    while slots[k, 4] != target:
        k = int(_uniform(random) * size)
    return k


@inlined
def _put(
    slot: int, lo: int, hi: int, indices: Array, data: Array, first_label: int, last_label: int,
    label_of: Array, w: float, factor: float, arena_of: Array, arena: Array, slots: Array,
    kept: Array, use: Array,
) -> None:  # fmt: skip
    """Copy a sample, and behind it its labels, into the reservoir, whose arena has room."""
    n, labels = hi - lo, last_label - first_label
    if slot < use[0]:
        if slots[slot, 4] >= 0:
            use[2 + slots[slot, 4]] -= 1
    else:
        use[0] += 1
    # always behind the others; `Reservoir.make_room` moves them close together
    start = use[1]
    slots[slot, 0], slots[slot, 3] = start, n + labels
    use[1] += n + labels
    slots[slot, 1], slots[slot, 2] = n, labels
    for k in range(n):
        arena_of[start + k], arena[start + k] = indices[lo + k], data[lo + k]
    for k in range(labels):
        arena_of[start + n + k], arena[start + n + k] = label_of[first_label + k], 1.0
    slots[slot, 4] = label_of[first_label] if labels == 1 else -1
    if labels == 1:
        use[2 + label_of[first_label]] += 1
    kept[0, slot], kept[1, slot] = w, w / factor


@inlined
def _uniform(random: Array) -> float:
    """Return the next number in [0, 1) of splitmix64."""
    random[0] += _GOLDEN
    z = random[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return np.float64((z ^ (z >> _31)) >> _11) * 2.0**-53
