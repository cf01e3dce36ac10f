"""States of narrows 0.3: `ClassStats` and `TargetStats`, and their arrays, as `Moments`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from narrows.moments.folds import errors_of_fold
from narrows.moments.moments import Moments
from narrows.moments.products import Products
from narrows.moments.squares import Squares
from narrows.moments.table import Table
from narrows.moments.waiting import Waiting, Weighted
from narrows.solve.codec import SchemaError, check_known, taken
from narrows.solve.pairs import symmetric

_MOST_FOLDS = 1000
_SHARED = "classes", "presence", "origin", "placed", "n_targets", "target_origin"
_LEFT_OUT = "presence", "cross_width"
_NAMES = {  # the start of a name, and what it is now
    "classes": "labels", "counts": "tt", "n_samples": "count", "sums": "tx",
    "squares_total": "second_table", "squares_class": "second_table", "cross": "second_xx",
    "cross_weight": "second_waiting_weight", "cross_sparse_weight": "second_waiting_weight",
    **{f"cross_{part}": f"second_waiting_{part}" for part in ("rows", "indptr", "indices", "data")},
}  # fmt: skip
_SECOND = {"squares_total": "total", "squares_class": "class", "cross_width": "cross"}


class ClassStats:
    """The name of `Moments` of labelled samples before version 0.4.

    See Also
    --------
    narrows.moments.moments.Moments : What it makes.
    """

    def __new__(
        cls,
        n_features: int,
        *,
        second: Any = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
    ) -> Any:
        """Return moments of no samples."""
        _warn("ClassStats", "Moments(n_features, second=..., keep=...)")
        _refuse(presence, folds)
        return Moments(n_features, second=second, keep=kept)

    @staticmethod
    def of(
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Any = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
    ) -> Moments:
        """Return the moments of the samples X."""
        _warn("ClassStats", "Moments.of(X, y, second=..., keep=...)")
        _refuse(presence, folds)
        return Moments.of(X, y, sample_weight, second=second, keep=kept)


class TargetStats:
    """The name of `Moments` of samples with numeric targets before version 0.4.

    See Also
    --------
    narrows.moments.moments.Moments : What it makes.
    """

    def __new__(
        cls, n_features: int, *, second: Any = "cross", kept: int = 0, folds: int | None = None
    ) -> Any:
        """Return moments of no samples."""
        _warn("TargetStats", "Moments(n_features, second=..., keep=..., numeric=True)")
        _refuse(False, folds)
        second = "total" if second == "targets" else second
        return Moments(n_features, second=second, keep=kept, numeric=True)

    @staticmethod
    def of(
        X: Any,
        y: Any,
        sample_weight: Any = None,
        second: Any = "cross",
        kept: int = 0,
        folds: int | None = None,
    ) -> Moments:
        """Return the moments of the samples X."""
        _warn("TargetStats", "Moments.of(X, y, second=..., keep=..., numeric=True)")
        _refuse(False, folds)
        second = "total" if second == "targets" else second
        return Moments.of(X, y, sample_weight, second=second, keep=kept, numeric=True)


def _warn(name: str, instead: str) -> None:
    text = f"{name} was renamed in version 0.4. Use {instead}."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _refuse(presence: bool, folds: int | None) -> None:
    """Raise ValueError for what moments do not have."""
    if presence:
        raise ValueError(
            f"expected presence=False, got {presence!r}. Pass which features are not zero, "
            "as numbers: Moments.of((X != 0).astype(float), y)."
        )
    if folds is not None:
        raise ValueError(
            f"expected folds=None, got {folds!r}. Use a list of Moments, one for each fold, "
            "and Moments.summed for their sum."
        )


def moments_of(arrays: Mapping[str, np.ndarray]) -> list[Moments]:
    """Return the moments that the arrays of a state of 0.3 describe: one, or those of its folds.

    Raises
    ------
    SchemaError
        No state has these arrays.
    """
    left = dict(arrays)
    if "folds" not in left:
        return [_one(left)]
    n_folds = int(taken(left, "folds", ("i8",), (), {}, ("whole",)))
    if not 2 <= n_folds <= _MOST_FOLDS:
        raise SchemaError(f"folds: expected from 2 to {_MOST_FOLDS}, got {n_folds}.")
    for name in ("folds_first", "folds_added"):
        taken(left, name, ("i8",), (), {}, ("whole",))
    shared = {name: left.pop(name) for name in _SHARED if name in left}
    folds = []
    for k in range(n_folds):
        start = f"fold{k}_"
        own = {name: left.pop(name) for name in list(left) if name.startswith(start)}
        with errors_of_fold(k):
            folds.append(_one(shared | {name.removeprefix(start): a for name, a in own.items()}))
    check_known("arrays", left, ())
    return folds


def _one(arrays: dict[str, np.ndarray]) -> Moments:
    """Return the moments of a state without folds."""
    q, now = arrays.pop("n_targets", None), {"placed": np.array(0.0), "second": np.array("")}
    products = {name: arrays.pop(name) for name in list(arrays) if name.startswith("products")}
    origin = {"target_origin": arrays.pop("target_origin", np.zeros(0))}
    for name, array in arrays.items():
        start = max((each for each in _NAMES if name.startswith(each)), key=len, default="")
        ends = name.removeprefix(start)
        second = next((each for each in _SECOND if name.startswith(each)), None)
        if second is not None:
            now["second"] = np.array(_SECOND[second])
        if name not in _LEFT_OUT:
            new = _NAMES[start] + ends if start and (not ends or ends[0] == "_") else name
            now[new] = array
    m = Moments.from_arrays(now)
    if q is None:
        check_known("arrays", products, ())
        return m
    n_targets = int(taken({"n_targets": q}, "n_targets", ("i8",), (), {}, ("whole",)))
    if n_targets > m.n_features or len(m.classes) > 1 or m.second not in ("total", "cross"):
        raise SchemaError("n_targets: expected a state of so many targets, got another.")
    t_origin = taken(origin, "target_origin", ("f8",), (str(n_targets),))
    return _of_numbers(m, n_targets, products, t_origin)


def _of_numbers(
    m: Moments, q: int, products: dict[str, np.ndarray], t_origin: np.ndarray
) -> Moments:
    """Return moments of numeric targets from those of one class, with q targets as features.

    They were about `t_origin` before these moments were about their origin.
    """
    d = m.n_features - q
    new = Moments(d, second=m.second, keep=m.keep, numeric=True)
    new.count, new.placed, new.t_origin = m.count, m.placed, t_origin
    if m.origin is not None:
        new.origin, new.t_origin = m.origin[q:], t_origin + m.origin[:q]
    if isinstance(m.second_moment, Products):
        xx, waiting = m.second_moment.held
        of_targets = symmetric(m.second_moment.lower())[:q]
        rest = Waiting(tuple(Weighted(X[:, q:], w) for X, w in waiting.items), waiting.n_samples)
        xx = None if xx is None else np.asfortranarray(xx[q:, q:])
        new.second_moment = Products(d, xx, rest)
        check_known("arrays", products, ())
    else:
        sizes = {"d": m.n_features}
        table = Table.read_from(products, "products", (str(q), "d"), sizes) if q else Table((0, 0))
        of_targets = table.toarray() if q else np.zeros((0, m.n_features))
        squares = m.second_moment.squares[None, q:]
        new.second_moment = Squares(Table(squares.shape, squares))
    sums = m.tx.toarray().sum(axis=0, keepdims=True)
    new.tx = Table((1 + q, d), np.vstack([sums[:, q:], of_targets[:, q:]]))
    top = np.append([[m.n]], sums[:, :q], axis=1)
    new.tt = np.vstack([top, np.hstack([sums[:, :q].T, of_targets[:, :q]])])
    X = m.samples.X
    Y = X[:, :q].toarray() if sparse.issparse(X) else X[:, :q].copy()
    new.kept = m.kept.with_samples(X=X[:, q:], Y=Y)
    return new
