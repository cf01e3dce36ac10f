"""Ye et al. (2005) Table 2, space: peak memory of five reductions.

IDR/QR and OCM read chunks of 20 samples; the others need all samples in memory, which counts.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import draw
from examples.papers.measure import exponent
from examples.papers.memory import peak
from examples.papers.verdict import Row, f, judged, several

DATA = ()
CLAIMED = {  # exponents of n, d and c
    "IDR/QR": ("O(dc)", (0, 1, 1)), "PCA+LDA": ("O(nd)", (1, 1, 0)),
    "LDA/GSVD": ("O(nd)", (1, 1, 0)), "OCM": ("O(dc)", (0, 1, 1)), "PCA": ("O(nd)", (1, 1, 0)),
}  # fmt: skip
SIZES = {"n": (100, 200, 400), "d": (20_000, 80_000), "c": (40, 160)}
BASE = {"n": 200, "d": 20_000, "c": 40}
NEAR = 0.35


def run(out: Path) -> list[Row]:
    megabytes: dict[str, dict[str, list[float]]] = {
        what: {
            name: [peak(name, **BASE | {what: size}) for size in sizes] for name in CLAIMED
        }
        for what, sizes in SIZES.items()
    }  # fmt: skip
    figure, axes = draw.panels(3, width=3.6)
    for ax, (what, sizes) in zip(axes, SIZES.items(), strict=True):
        draw.curves(ax, sizes, megabytes[what], log="xy", ticks=True, xlabel=what, legend=False,
                    title=f"memory by {what}", ylabel="MB" if what == "n" else "")  # fmt: skip
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5,
                  fontsize=8)  # fmt: skip
    draw.save(figure, out, "ye2005_space")
    rows = []
    for name, (claim, claimed) in CLAIMED.items():
        found = {what: exponent(sizes, megabytes[what][name]) for what, sizes in SIZES.items()}
        rows.append(
            Row(
                "ye2005", f"Table 2, space, {name}", f"{name} takes {claim} of memory",
                several(dict(zip(SIZES, claimed, strict=True)), 0), several(found, 2),
                judged(*(abs(found[what] - e) < NEAR
                         for what, e in zip(SIZES, claimed, strict=True))),
                f"Exponents of the peak memory. Within {NEAR} counts.",
            )
        )  # fmt: skip
    most = SIZES["n"][-1]
    samples = 8 * most * BASE["d"] / 2**20
    at = {name: of[-1] for name, of in megabytes["n"].items()}
    return [
        *rows,
        Row(
            "ye2005", "section 7, memory", "IDR/QR does not require the whole data matrix in "
            "memory", "not required", f"{several(at, 0)} MB, for samples of {f(samples, 0)} MB",
            judged(at["IDR/QR"] < samples),
            f"Peak memory for {most} samples. Holds below the size of the samples.",
        ),
    ]  # fmt: skip
