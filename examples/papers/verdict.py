"""A claim, the number measured, and the verdict computed from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

HOLDS, PART, NOT, UNTESTED = "holds", "holds in part", "does not hold", "cannot be tested here"
VERDICTS = (HOLDS, PART, NOT, UNTESTED)
PAPERS = {
    "yan2006": "Yan et al. (2006)",
    "yan2005": "Yan et al. (2005)",
    "ye2005": "Ye et al. (2005)",
    "yan2004": "Yan et al. (2004)",
    "yan2006b": "Yan et al. (2006b)",
}


@dataclass(frozen=True)
class Row:
    """One row of the tables."""

    paper: str
    where: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.paper not in PAPERS or self.verdict not in VERDICTS:
            raise ValueError(
                f"Row: unknown paper or verdict, got {self.paper!r} and {self.verdict!r}."
            )
        if not (self.where and self.claim and self.theirs and self.ours):
            raise ValueError(f"Row: empty cell in {self}.")

    def also(self, paper: str, where: str, **changes: Any) -> Row:
        """Return the same measurement as a row of another paper."""
        return replace(self, paper=paper, where=where, **changes)

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def judged(*parts: Any) -> str:
    """Return the verdict on a claim by how many of its parts hold: all, some or none."""
    true = sum(map(bool, parts))
    return HOLDS if true == len(parts) else PART if true else NOT


def untested(paper: str, where: str, claim: str, theirs: str, note: str) -> Row:
    """Return the row of a claim whose data are not available."""
    return Row(paper, where, claim, theirs, "-", UNTESTED, note)


def f(value: float, digits: int = 3) -> str:
    """Write a number with this many decimals."""
    return f"{value:.{digits}f}"


def fs(values: Any, digits: int = 3) -> str:
    """Write numbers separated by slashes."""
    return " / ".join(f(float(value), digits) for value in values)


def several(named: dict[str, float], digits: int = 3) -> str:
    """Write named numbers: "IG 0.512, CHI 0.498"."""
    return ", ".join(f"{name} {f(value, digits)}" for name, value in named.items())
