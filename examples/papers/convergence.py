"""Convergence of an iteration to exact directions, sample by sample; IOC and IIS beside OC.

    NARROWS_DATA=folder python -m examples.papers.convergence [folder for the pictures]

Draws Iris, Balance Scale and four topics of RCV1, by `iris.csv`, `balance_scale.csv` and
`rcv1_4class.npz` in the folder. docs/benchmarks/research_methods.md describes the pictures.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from scipy import linalg, sparse
from sklearn.base import clone

from narrows import IIS, IOC, OC
from narrows.evaluate.displays import COLOURS, STYLES
from narrows.read import iter_chunks

_DEPENDENT = 1e-12  # relative to the largest: a smaller eigenvalue is rounding error
_POINTS = 60  # default number of measurements, evenly on a log scale


@dataclass(frozen=True)
class Convergence:
    """Distance of a method to its target after n samples, for several n, over all passes.

    `cosines` is of shape (n_points, n_components): the inner product of each component with the
    direction of the target, 0 if either does not exist yet. `share` is the part of the target's
    optimum that the span of the components reaches: `sum_k l_k |U't_k|^2` over the sum of the p
    largest l_k, with U an orthonormal basis of the span, p components, and l_k the target's
    eigenvalues (1 if it has none); NaN while there is no target or no component.
    """

    method: str
    n: np.ndarray
    cosines: np.ndarray
    share: np.ndarray


def convergence(estimator: Any, X: Any, y: Any, target: Any, at: Any = None) -> Convergence:
    """Fit a projector sample by sample and measure its distance to a target.

    A clone is fitted to the samples in order, or in its own random order with `shuffle`, `passes`
    times. The target is a fitted estimator, an array of orthonormal directions, or an unfitted OC
    for the exact solution of the samples seen so far. `at` is "every" or numbers of samples; by
    default about 60 on a log scale.
    """
    options = estimator.get_params()
    rng = np.random.RandomState(options.get("random_state"))
    order = np.concatenate([
        rng.permutation(X.shape[0]) if options.get("shuffle") else np.arange(X.shape[0])
        for _ in range(options.get("passes") or 1)
    ])  # fmt: skip
    if at is None:
        at = np.geomspace(1, len(order), _POINTS).round().astype(int)
    points = np.arange(1, len(order) + 1) if isinstance(at, str) else np.unique(at)
    learner = clone(estimator)
    moving = clone(target) if isinstance(target, OC) and not hasattr(target, "classes_") else None
    measured = []
    for rows in np.split(order, points)[:-1]:
        learner.partial_fit(X[rows], y[rows])
        if moving is not None:
            target = moving.partial_fit(X[rows], y[rows])
        measured.append(_compare(learner.components_, *_directions(target)))
    return Convergence(repr(estimator), points, *map(np.array, zip(*measured, strict=True)))


def _directions(target: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the directions and eigenvalues of a fitted estimator or an array."""
    T = np.asarray(getattr(target, "components_", target), dtype=np.float64)
    known = getattr(target, "eigenvalues_", getattr(target, "explained_variance_", None))
    return T, np.ones(len(T)) if known is None else np.maximum(known, 0.0)


def _compare(W: np.ndarray, T: np.ndarray, eigenvalues: np.ndarray) -> tuple[np.ndarray, float]:
    """Return cosines and share of components W, of which some may still be zero."""
    cosines, p = np.zeros(len(W)), len(W)
    common = min(p, len(T))
    cosines[:common] = np.abs(np.einsum("ij,ij->i", W[:common], T[:common]))
    W, T, eigenvalues = W[W.any(axis=1)], T[T.any(axis=1)], eigenvalues[T.any(axis=1)]
    optimum = np.sort(eigenvalues)[::-1][:p].sum()
    if not len(W) or not optimum > 0:
        return cosines, np.nan
    L, Z = linalg.eigh(W @ W.T)
    kept = L > _DEPENDENT
    within = (Z[:, kept] / np.sqrt(L[kept])).T @ W @ T.T  # in an orthonormal basis of the span
    return cosines, float((within**2 @ eigenvalues).sum() / optimum)


def plot(found: list[Convergence], title: str = "") -> Any:
    """Draw the cosine of each component and the share of the optimum; return the figure."""
    figure, axes = draw.panels(2, width=5.5, height=4)
    for number, one in enumerate(found):
        colour, name = COLOURS[number % len(COLOURS)], one.method.partition("(")[0]
        for j, cosines in enumerate(one.cosines.T):
            style = STYLES[j % len(STYLES)]
            axes[0].plot(one.n, cosines, style, color=colour, lw=1.3, label=f"{name}, {j + 1}")
        axes[1].plot(one.n, one.share, color=colour, lw=1.6, label=name)
    axes[0].set_title("|cosine| of each component with its target")
    axes[1].set_title("share of the optimum")
    for ax in axes:
        ax.set(xscale="log", ylim=(0, 1.03), xlabel="samples")
        ax.grid(alpha=0.25)
        ax.legend(loc="lower right", fontsize=8, frameon=False)
    figure.suptitle(title)
    return figure


def _rows(path: Path) -> tuple[Any, np.ndarray]:
    """Return all samples of a file, and their labels."""
    chunks = list(iter_chunks(str(path)))
    X = [X for X, _ in chunks]
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    return stacked, np.concatenate([y for _, y in chunks])


def main() -> None:
    data = os.environ.get("NARROWS_DATA")
    if not data:
        sys.exit("examples.papers.convergence: set NARROWS_DATA to the folder with the data.")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, file, p, passes in (
        ("Iris", "iris.csv", 2, 20),
        ("Balance Scale", "balance_scale.csv", 2, 20),
        ("RCV1, four topics", "rcv1_4class.npz", 3, 1),
    ):
        X, y = _rows(Path(data) / file)
        n = X.shape[0] * passes
        at = np.union1d(np.geomspace(1, n, 400).round().astype(int), [100, 1_000])
        found = []
        for method in (IOC, IIS):
            learner = method(n_components=p, passes=passes, shuffle=True, random_state=0)
            # against exact OC of the samples so far, so that only the iteration is judged
            found.append(convergence(learner, X, y, OC(), at))
            shares = dict(zip(found[-1].n.tolist(), found[-1].share, strict=True))
            said = ", ".join(f"{shares[k]:.3f} after {k:,}" for k in (100, 1_000, n))
            print(f"{name}, {method.__name__}: share {said}")
        figure = plot(found, f"{name}: against exact OC of the samples so far")
        draw.save(figure, out, f"convergence_{file.split('.')[0]}")


if __name__ == "__main__":
    main()
