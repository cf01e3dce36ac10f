"""Yan et al. (2006) section 3.1.2: memory of IOC, IIS and IMMC on a stream.

The papers store directions, class means and counts: d (p + c) numbers.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import draw
from examples.papers.measure import exponent
from examples.papers.memory import TERMS, peak
from examples.papers.verdict import Row, f, judged, several

DATA = ()
SIZES = {"n": (2_000, 8_000, 32_000), "d": (200_000, 400_000, 800_000)}
BASE = {"n": 8_000, "d": 400_000, "c": 4}
NEAR = 0.35
WHERE = {
    "IOC": ("yan2006", "section 3.1.2, memory"),
    "IMMC": ("yan2004", "section 3, memory"),
    "IIS": ("yan2006b", "section 3.2.2, memory"),
}


def run(out: Path) -> list[Row]:
    megabytes = {
        what: {name: [peak(name, **BASE | {what: size}) for size in sizes] for name in WHERE}
        for what, sizes in SIZES.items()
    }
    figure, axes = draw.panels(2)
    for ax, (what, sizes) in zip(axes, SIZES.items(), strict=True):
        draw.curves(ax, sizes, megabytes[what], log="xy", ticks=True, xlabel=what,
                    title=f"memory by {what}", ylabel="MB" if what == "n" else "")  # fmt: skip
    draw.save(figure, out, "yan2006_memory")
    rows, most = [], SIZES["n"][-1]
    held = 8 * BASE["d"] * (3 + BASE["c"]) / 2**20
    for name, (paper, where) in WHERE.items():
        found = {what: exponent(sizes, megabytes[what][name]) for what, sizes in SIZES.items()}
        rows.append(
            Row(
                paper, where, f"{name} keeps only the directions, the class means and the counts",
                "n 0, d 1", f"{several(found, 2)}; {f(megabytes['n'][name][-1], 0)} MB for "
                f"{most:,} samples",
                judged(abs(found["n"]) < NEAR, abs(found["d"] - 1) < NEAR),
                f"Exponents of the peak memory. Within {NEAR} counts. The directions and means are "
                f"{f(held, 0)} MB, the samples {f(12 * TERMS * most / 2**20, 0)} MB.",
            )
        )  # fmt: skip
    return rows
