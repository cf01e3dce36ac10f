"""The papers' own numbers, and that their tables, as transcribed, tend to what they promise."""

from __future__ import annotations

import csv
from collections import deque

import numpy as np
import pytest
from examples.papers.printed.ccipca import ccipca
from examples.papers.printed.iis import iis
from examples.papers.printed.immc import immc
from examples.papers.printed.ioc import ioc

from tests.cases import labelled
from tests.oracles.dense import scatters


def uci(data, name):
    with open(data / f"{name}.csv") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])


PRINTED = {  # by Yan et al., Information Sciences (2006), section 5.2.2, and (2004)
    "iris": [-0.2133, -0.0571, -0.0222, 3.6396],
    # said to be of 2 S_b - C + theta I; the third is printed as -1.9774, a slip
    "balance_scale": [-2, -2, -1.9974, 0.7067],
    # the largest: IMMC works on Monk 1, not on Waveform and Pima; none gains margin on any
    "monk1": [-0.247],
    "waveform": [-0.542],
    "pima_diabetes": [-0.098],
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_eigenvalues_that_are_printed(data, name):
    parts = ["monk1_train", "monk1_test"] if name == "monk1" else [name]
    X, y = (np.concatenate(part) for part in zip(*(uci(data, n) for n in parts), strict=True))
    S_b, _, C = scatters(X, y)
    printed = PRINTED[name]
    atol = 5e-5 if len(printed) > 1 else 5e-4  # half of the last digit
    np.testing.assert_allclose(np.linalg.eigvalsh(2 * S_b - C)[-len(printed) :], printed, atol=atol)


def last_of(steps):
    [v] = deque(steps, maxlen=1)
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def passes(X, y, times, seed=0):
    """Rows in a new random order for each pass, after one of each class."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(y)) for _ in range(times)])
    return X[order], y[order]


def leading(A, p):
    return np.linalg.eigh(A)[1][:, ::-1].T[:p]


@pytest.mark.slow
@pytest.mark.parametrize("method", [ioc, iis, ccipca, immc])
def test_directions_tend_to_eigenvectors_of_the_scatter_that_is_promised(method):
    X, y = labelled(n=150, d=5, c=3)
    S_b, S_w, C = scatters(X, y)
    A = {ccipca: C, immc: S_b - S_w}.get(method, S_b)
    given = {"p": 2}
    if method is immc:
        given = {"p": 1, "theta": max(0.0, -np.linalg.eigvalsh(A)[0]), "eps": 1.0}
    samples = passes(X, y, 60)
    found = last_of(method(samples[0], **given) if method is ccipca else method(*samples, **given))
    cosines = np.abs((found * leading(A, given["p"])).sum(axis=1))
    assert (cosines > [0.999 if method is not immc else 0.99, 0.97][: given["p"]]).all(), cosines


def test_components_start_one_a_sample():
    X, y = labelled(n=4, d=5, c=2)
    for steps in (ioc(X, y, 3), iis(X, y, 3), immc(X, y, 3, 0.5), ccipca(X, 3)):
        started = [[bool(row.any()) for row in v] for v in steps]
        assert started == [[n >= j for j in (1, 2, 3)] for n in (1, 2, 3, 4)]
