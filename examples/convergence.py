"""How fast IOC and IIS come to exact OC: Iris, Balance Scale and four topics of RCV1.

    NARROWS_DATA=folder python examples/convergence.py [folder for the pictures]

Needs the folder of data that the tests use, for `iris.csv`, `balance_scale.csv` and
`rcv1_4class.npz`. docs/benchmarks/research_methods.md describes the pictures.
"""

import os
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse

from narrows import IIS, IOC, OC
from narrows.evaluate import ConvergenceDisplay, convergence
from narrows.evaluate.displays import save_figure
from narrows.read import iter_chunks


def rows(path):
    """Return all samples of a file, and their labels."""
    chunks = list(iter_chunks(path))
    X = [X for X, _ in chunks]
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    return stacked, np.concatenate([y for _, y in chunks])


def main():
    data = os.environ.get("NARROWS_DATA")
    if not data:
        sys.exit("examples/convergence.py: set NARROWS_DATA to the folder with the data.")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, file, p, passes, at in (
        ("Iris", "iris.csv", 2, 20, "every"),
        ("Balance Scale", "balance_scale.csv", 2, 20, "every"),
        ("RCV1, four topics", "rcv1_4class.npz", 3, 1, "every"),
    ):
        X, y = rows(Path(data) / file)
        found = []
        for method in (IOC, IIS):
            start = perf_counter()
            learner = method(n_components=p, passes=passes, shuffle=True, random_state=0)
            # against exact OC of the samples so far, so that only the iteration is judged
            found.append(convergence(learner, X, y, OC(), at=at))
            seconds = perf_counter() - start
            n, share = found[-1].n, found[-1].share
            at_n = ", ".join(
                f"{s:.3f} after {k:,}"
                for k, s in zip(n, share, strict=True)
                if k in (100, 1_000, 10_000, n[-1])
            )
            print(f"{name}, {method.__name__}: share {at_n} ({len(n):,} looks, {seconds:.1f} s)")
        display = ConvergenceDisplay(*found).plot(
            title=f"{name}: against exact OC of the samples so far"
        )
        target = out / f"convergence_{file.split('.')[0]}.png"
        save_figure(display.figure_, target)
        print(f"  {target}")


if __name__ == "__main__":
    main()
