"""What the parts of a diagonal regression share: its rule, and where its single numbers are."""

from __future__ import annotations

from typing import NamedTuple

SUSPICIOUS = 0.2  # a larger kappa means that samples are sorted by label
MEMORY = 100.0  # samples over which the agreement of successive labels is averaged

# indices into `clock`
QB, WEIGHT, S2, FACTOR, AGREE, LAST, HITS, SEEN, REPLAYS, RECENT, TIMES = range(11)


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
