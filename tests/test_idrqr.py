"""IDR/QR against the paper's algorithms with real Q and R, and what its users see."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from examples.papers.printed.idrqr import Literal, batch
from scipy import linalg, sparse

from narrows import IDRQR
from narrows.engines import local
from tests.cases import assert_same
from tests.inside import pretend, state_of

forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def classes_of(c, n=90, d=12, seed=0):
    """Return samples of c classes in random order, with zeros."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(c), rng.integers(0, c, n - c))
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(c, d))[y]
    return np.where(rng.random(X.shape) < 0.7, X, 0.0), y


def awkward(kind):
    """Streams in which centroids depend on one another."""
    X, y = classes_of(4)
    if kind == "more classes than columns":
        return classes_of(9, d=5)
    if kind == "a new class in the span of the means":
        old = y[:40] < 3
        first = [X[:40][y[:40] == j].mean(axis=0) for j in range(3)]
        X = np.vstack([X[:40][old], np.array([0.5, 2.0, -1.0]) @ first, X[40:]])
        y = np.concatenate([y[:40][old], [7], y[40:]])
    elif kind == "a row in the span of the means":
        X[60] = 2 * X[:60][y[:60] == 1].mean(axis=0) - X[:60][y[:60] == 2].mean(axis=0)
    elif kind == "two classes alike":  # their means are equal after every second row
        X, y = np.repeat(X[:40], 2, axis=0), np.repeat(y[:40], 2)
        y[1::2] += 4 * (y[1::2] == 3)
    elif kind == "a class of one row":
        y[1:] = np.where(y[1:] == 0, 1, y[1:])
    elif kind == "a class of zeros":
        X = np.vstack([np.zeros(12), X[:50], np.zeros((2, 12)), X[50:]])
        y = np.concatenate([[9], y[:50], [9, 1], y[50:]])
    return X, y


KINDS = [
    "more classes than columns", "a new class in the span of the means",
    "a row in the span of the means", "two classes alike", "a class of one row", "a class of zeros",
]  # fmt: skip


def assert_directions(fitted, eigenvalues, G):
    """The same eigenvalues and, but for signs, the same directions of those over 0."""
    telling, found = eigenvalues > 1e-9 * eigenvalues[0], fitted.eigenvalues_
    np.testing.assert_allclose(
        found, eigenvalues[: len(found)], atol=1e-8 * eigenvalues[0], rtol=1e-8
    )
    assert (found > 0).sum() == telling.sum()
    G = np.sqrt(fitted.n_samples_seen_) * G[:, telling]  # of variance 1 within the classes
    for w, g in zip(fitted.components_, G.T, strict=False):
        np.testing.assert_allclose(w, g * np.sign(w @ g), atol=1e-8 * np.abs(g).max())


def assert_follows(X, y, form):
    """partial_fit in batches of any size is Algorithms 2 and 3 after each of them."""
    literal, learner = Literal(), IDRQR()
    for start, end in pairwise([0, 1, 3, 6, 36, len(y)]):
        learner.partial_fit(form(X[start:end]), y[start:end])
        learned(literal, X[start:end], y[start:end])
        core = state_of(learner).core
        rounding = np.finfo(float).eps * np.linalg.norm(X[:end], axis=1).max()  # of a row
        for mine, theirs, least in (
            (core.R, literal.R, 0.0),
            (core.W, literal.W, end * rounding**2),  # squares of differences, none of them exact
            (core.basis()[0], literal.Q, 0.0),
        ):
            scale = max(np.abs(theirs).max(initial=0.0), 1e-300)
            np.testing.assert_allclose(mine, theirs, atol=1e-8 * scale + least, rtol=0)
        if len(literal.labels) > 1 and (literal.B.trace() > 1e-9 * np.abs(literal.R).max()):
            assert_directions(learner, *literal.transformation(0.5))
    return learner


def learned(literal, X, y):
    for x, label in zip(X, y, strict=True):
        literal.update(x, label)
    return literal


@forms
@pytest.mark.parametrize("mu", [0.5, 1e-6])
@pytest.mark.parametrize("kind", ["ordinary", *KINDS])
def test_fit_is_algorithm_1(form, kind, mu):
    X, y = awkward(kind)
    fitted = IDRQR(mu=mu).fit(form(X), y)
    assert_directions(fitted, *batch(X, y, mu))
    C = np.array([X[y == j].mean(axis=0) for j in np.unique(y)])
    assert len(fitted.components_) == np.linalg.matrix_rank(C, tol=1e-10)
    basis = linalg.orth(fitted.components_.T)  # spans what the means do
    np.testing.assert_allclose(basis @ (basis.T @ C.T), C.T, atol=1e-9)


@forms
@pytest.mark.parametrize("kind", KINDS)
def test_dependent_centroids(form, kind):
    X, y = awkward(kind)
    learner = assert_follows(X, y, form)
    C = np.array([X[y == j].mean(axis=0) for j in np.unique(y)])
    assert len(learner.components_) == np.linalg.matrix_rank(C, tol=1e-10)


@forms
@pytest.mark.parametrize("apart", [1e-1, 1e-4, 1e-6])
def test_centroids_that_nearly_depend(form, apart):
    """Where squares lose the digits a step is done on Q and R themselves."""
    rng = np.random.default_rng(1)
    M = rng.normal(size=(4, 20))
    M[3] = M[1] + M[2] + apart * M[3]
    y = np.arange(120) % 4
    # samples scatter in the span of the means, and hardly outside
    X = M[y] + 0.3 * rng.normal(size=(120, 4)) @ M + 1e-2 * apart * rng.normal(size=(120, 20))
    assert_follows(X, y, form)


@forms
@pytest.mark.parametrize("update", ["paper", "transport"])
@pytest.mark.parametrize("kind", ["more classes than columns", "two classes alike"])
def test_plain_steps_have_the_bits_of_compiled_ones(form, kind, update, monkeypatch):
    X, y = awkward(kind)
    cores = []
    for how in ("loops are compiled", "loops are plain"):
        pretend(monkeypatch, how)
        cores.append(state_of(IDRQR(update=update).partial_fit(form(X), y)).core)
    for name in ("S", "SS", "R", "W", "N"):
        np.testing.assert_array_equal(*(getattr(core, name) for core in cores))


def test_partial_fit_goes_on_from_fit():
    X, y = classes_of(4)
    learner, literal = IDRQR().fit(X[:50], y[:50]), learned(Literal(), X[:50], y[:50])
    # Algorithm 1's W in the place of the one that was approximated
    H_w = X[:50] - np.array([X[:50][y[:50] == j].mean(axis=0) for j in y[:50]])
    literal.W = (H_w @ literal.Q).T @ (H_w @ literal.Q)
    np.testing.assert_allclose(state_of(learner).core.W, literal.W, atol=1e-9)
    learned(literal, X[50:], y[50:])
    assert_directions(learner.partial_fit(X[50:], y[50:]), *literal.transformation(0.5))


class Carried(Literal):
    """W taken into each new basis, W <- T W T' with T = Q~'Q, before line 15."""

    def existing_class(self, x, i):
        Q, W, n_i, m_i = self.Q, self.W, self.n_j[i], self.C[:, i]
        super().existing_class(x, i)
        T, u = self.Q.T @ Q, self.Q.T @ (x - m_i)
        self.W = T @ W @ T.T + n_i / (n_i + 1) * np.outer(u, u)


@forms
@pytest.mark.parametrize("kind", ["ordinary", *KINDS])
def test_transport_is_what_it_says(form, kind):
    X, y = awkward(kind)
    literal = learned(Carried(), X, y)
    learner = IDRQR(update="transport").partial_fit(form(X), y)
    core = state_of(learner).core
    np.testing.assert_allclose(core.W, literal.W, atol=1e-8 * np.abs(literal.W).max())
    assert_directions(learner, *literal.transformation(0.5))


def test_refresh_expects_the_fitted_samples():
    X, y = classes_of(3)
    learner = IDRQR().partial_fit(X, y)
    before = learner.components_.copy()
    more = np.append(np.arange(90), 0)
    for rows, labels, word in ((y < 2, y[y < 2], "samples of class 2, got 0"),
                               (more, y[more], "samples of class 0, got"),
                               (more, np.append(y, 9), "no samples of class 9")):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            learner.refresh(X[rows], labels)
    np.testing.assert_array_equal(learner.components_, before)


def test_files_are_gone_through_twice():
    X, y = classes_of(5)
    X[:40, 9:] = 0  # features that the first chunks do not have
    wide = sparse.csr_array(X)
    chunks = [(wide[:20, :9], y[:20]), (wide[20:40, :9], y[20:40]), (wide[40:], y[40:])]
    assert_same(local.fit(IDRQR(), chunks), IDRQR().fit(X, y))


def test_refresh_makes_a_stream_exact_by_some_of_its_samples():
    X, y = classes_of(5)
    for form in (np.asarray, sparse.csr_array):
        streamed, exact = IDRQR().partial_fit(form(X), y), IDRQR().fit(X, y)
        assert not np.allclose(streamed.components_, exact.components_, rtol=1e-2)
        order = np.random.default_rng(0).permutation(90)
        assert_same(streamed.refresh(form(X[order]), y[order]), exact)
    twice = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    assert_same(IDRQR().partial_fit(*twice).refresh(X, y), IDRQR().fit(*twice))
