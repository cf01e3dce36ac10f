"""A claim, the number measured, and the verdict that follows from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

HOLDS, PART, NOT, ABSENT = "holds", "holds in part", "does not hold", "cannot be tested here"
VERDICTS = (HOLDS, PART, NOT, ABSENT)
PAPERS = {
    "yan2006": "Yan et al. (2006)",
    "yan2005": "Yan et al. (2005)",
    "ye2005": "Ye et al. (2005)",
    "yan2004": "Yan et al. (2004)",
    "yan2006b": "Yan et al. (2006b)",
}


@dataclass(frozen=True)
class Row:
    """One line of the page."""

    paper: str
    where: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.paper not in PAPERS or self.verdict not in VERDICTS:
            raise ValueError(f"no paper or no verdict: {self.paper!r}, {self.verdict!r}")
        if not (self.where and self.claim and self.theirs and self.ours):
            raise ValueError(f"a row with an empty cell: {self}")

    def also(self, paper: str, where: str, **changes: Any) -> Row:
        """The same measurement as the answer to another paper."""
        return replace(self, paper=paper, where=where, **changes)

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def judged(*parts: Any) -> str:
    """The verdict on a claim of several parts: all of them hold, some, or none."""
    true = sum(map(bool, parts))
    return HOLDS if true == len(parts) else PART if true else NOT


def absent(paper: str, where: str, claim: str, theirs: str, note: str) -> Row:
    """The row of a claim whose data are not available."""
    return Row(paper, where, claim, theirs, "-", ABSENT, note)


def f(value: float, digits: int = 3) -> str:
    """A figure with so many decimals."""
    return f"{value:.{digits}f}"


def fs(values: Any, digits: int = 3) -> str:
    """Figures with slashes between them."""
    return " / ".join(f(float(value), digits) for value in values)


def several(named: dict[str, float], digits: int = 3) -> str:
    """Named figures: "IG .512, CHI .498"."""
    return ", ".join(f"{name} {f(value, digits)}" for name, value in named.items())
