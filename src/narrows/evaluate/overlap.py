"""Which columns selections share, and which only one of them makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from narrows.families._select import Selector
from narrows.solve.errors import ParameterError


@dataclass(frozen=True)
class Overlap:
    """What selections of the same number of columns have in common.

    Parameters
    ----------
    p : int
        How many columns each selection takes.
    names : list of str
        The selectors.
    shared : ndarray of int of shape (k, k)
        How many columns each two of them share; p on the diagonal.
    only : dict of str to list of str
        For each selector the names of the columns that it alone takes, its best first.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import IG, OCFS
    >>> from narrows.evaluate import selection_overlap
    >>> X, y = load_digits(return_X_y=True)
    >>> selection_overlap([OCFS().fit(X, y), IG().fit(X, y)], 10).shared.tolist()
    [[10, 5], [5, 10]]
    """

    p: int
    names: list[str]
    shared: np.ndarray
    only: dict[str, list[str]]

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"columns shared by the {self.p:,} best"]
        for a in range(len(self.names)):
            for b in range(a):
                lines.append(
                    f"  {self.names[b]:<{width}}  {self.names[a]:<{width}}  {self.shared[a, b]:>7,}"
                )
        return "\n".join(lines)


def selection_overlap(
    selectors: Sequence[Any] | Mapping[str, Any], p: int | Sequence[int]
) -> Overlap | list[Overlap]:
    """Compare the p best columns of several fitted selectors.

    Parameters
    ----------
    selectors : sequence of selectors, or mapping of names to selectors
        Fitted to the same columns; how many columns each of them keeps plays no part. Names are
        those of the methods if left out, and have to differ.
    p : int, or sequence of int
        How many columns to take of each, at most d.

    Returns
    -------
    overlap : Overlap, or list of Overlap
        One for each p.

    Raises
    ------
    ParameterError
        Fewer than two selectors, names twice, other columns, p out of range.

    Notes
    -----
    **Cost**: O(d log d) a selector, to rank its columns.

    References
    ----------
    Paper 001: J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, Table 2 (how many columns are shared) and Table 3 (which are
    not), doi:10.1145/1076034.1076058.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import CHI, IG, OCFS
    >>> from narrows.evaluate import selection_overlap
    >>> X, y = load_digits(return_X_y=True)
    >>> overlap = selection_overlap([OCFS().fit(X, y), IG().fit(X, y), CHI().fit(X, y)], 10)
    >>> print(overlap)
    columns shared by the 10 best
      OCFS  IG          5
      OCFS  CHI         4
      IG    CHI         9
    """
    if not isinstance(selectors, Mapping):
        named = [(type(selector).__name__, selector) for selector in selectors]
    else:
        named = list(selectors.items())
    names = [name for name, _ in named]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(
            f"selection_overlap: two selectors or more of different names wanted, but "
            f"{', '.join(names) or 'none'} came. Pass a mapping of names to selectors."
        )
    for name, selector in named:
        if not isinstance(selector, Selector):
            raise ParameterError(f"selection_overlap: {name} is no selector of narrows.")
        check_is_fitted(selector)
    widths = {selector.n_features_in_ for _, selector in named}
    if len(widths) > 1:
        raise ParameterError(
            "selection_overlap: selectors fitted to the same columns wanted, but these have "
            f"{' and '.join(map(str, sorted(widths)))} columns."
        )
    names_of_columns = [selector._column_names() for _, selector in named]
    known = [names for names in names_of_columns if names is not None]
    if any(not np.array_equal(names, known[0]) for names in known):
        raise ParameterError(
            "selection_overlap: selectors fitted to the same columns wanted, but their columns "
            "have other names, or another order."
        )
    [d] = widths
    if np.ndim(p):
        return [_overlap(dict(named), size, d) for size in np.asarray(p).tolist()]
    return _overlap(dict(named), p, d)  # type: ignore[arg-type]


def _overlap(selectors: Mapping[str, Selector], p: int, d: int) -> Overlap:
    if isinstance(p, bool) or not isinstance(p, Integral) or not 1 <= p <= d:
        raise ParameterError(
            f"selection_overlap: p a whole number from 1 to {d}, the number of columns, wanted, "
            f"but {p!r} came."
        )
    best = {name: selector.ranking_[:p] for name, selector in selectors.items()}
    taken = Counter(int(k) for columns in best.values() for k in columns)
    return Overlap(
        p,
        list(best),
        np.array([[len(np.intersect1d(a, b)) for b in best.values()] for a in best.values()]),
        {
            name: [selectors[name]._column_name(int(k)) for k in columns if taken[int(k)] == 1]
            for name, columns in best.items()
        },
    )
