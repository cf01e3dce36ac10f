"""The lengths of directions, and more directions than classes less one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from narrows import IDRQR, LDA, SRDA, KernelSRDA, OnlineSRDA
from narrows.errors import ParameterError
from tests.cases import labelled, same_directions
from tests.oracles.dense import scatters

EXACT = [  # small ridges
    SRDA(alpha=1e-3), SRDA(alpha=1e-3, standardize=True), LDA(mu=1e-3), LDA(6, mu=1e-3),
    SRDA(alpha=1e-3, solver="lsqr", max_iter=300, tol=1e-14), LDA(solver="pca"),
    LDA(solver="gsvd"), KernelSRDA(alpha=1e-3, n_hidden=40), IDRQR(mu=1e-3),
]  # fmt: skip


def deviations(Z, y, weight=None):
    """The pooled deviations of columns about the means of their classes."""
    weight = np.ones(len(y)) if weight is None else weight
    of = [(Z[y == k], weight[y == k]) for k in np.unique(y)]
    rest = np.vstack([part - np.average(part, axis=0, weights=w) for part, w in of])
    return np.sqrt(np.average(rest**2, axis=0, weights=np.concatenate([w for _, w in of])))


def samples(n=240, offset=0.0):
    X, y = labelled(n=n, d=8, c=4)
    return X * [1, 10, 1, 0.1, 1, 1, 3, 1] + offset, y


@pytest.mark.parametrize("estimator", EXACT, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_deviation_within_the_classes_is_one(estimator, weighted):
    X, y = samples(offset=5.0)
    if weighted and isinstance(estimator, IDRQR):
        pytest.skip("it has no sample weights")
    weight = np.random.default_rng(0).uniform(0.2, 5, len(y)) if weighted else None
    fitted = clone(estimator).fit(X, y, *([weight] if weighted else []))
    # hidden features vary little beside the ridge
    near = 0.2 if isinstance(estimator, IDRQR | KernelSRDA) else 0.01
    np.testing.assert_allclose(deviations(fitted.transform(X), y, weight), 1.0, atol=near)


def test_lengths_are_those_of_scikit_learn():
    X, y = samples()
    theirs = np.abs(LinearDiscriminantAnalysis().fit(X, y).transform(X))
    for ours in (SRDA(alpha=0), LDA(mu=0), LDA(solver="pca"), LDA(solver="gsvd")):
        Z = ours.fit(X, y).transform(X)
        np.testing.assert_allclose(np.abs(Z - Z.mean(axis=0)), theirs, atol=1e-7 * theirs.max())


def test_the_total_variance_is_one_where_some_directions_have_no_scatter_within_the_classes():
    """As Ye et al. (2005) have LDA/GSVD: with equal samples of two classes, not all have none."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), np.arange(40) % 4
    X[1] = X[0]
    lda = LDA(solver="gsvd").fit(X, y)
    assert lda.eigenvalues_[0] == pytest.approx(1)
    assert lda.eigenvalues_[-1] < 0.99
    np.testing.assert_allclose(np.cov(lda.transform(X).T, bias=True), np.eye(3), atol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_components": 2}, {"polish": False}, {"keep": 150}, {"half_life": 500}],
    ids=str,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_online_srda_divides_by_the_deviation_of_its_samples(parameters, form):
    X, y = samples(n=600)
    model = OnlineSRDA(random_state=0, **parameters).fit(form(X), y)
    near = 0.2 if "keep" in parameters else 0.1
    np.testing.assert_allclose(deviations(model.transform(form(X)), y), 1.0, atol=near)


def test_online_srda_counts_by_several_labels_and_without_samples():
    X, y = samples(n=600)
    Y = np.column_stack([y == np.unique(y)[0], y == np.unique(y)[1], X[:, 0] > 0]).astype(int)
    Z = OnlineSRDA(random_state=0).fit(X, Y).transform(X)
    row, label = np.nonzero(Y)  # a sample counts for each of its labels
    np.testing.assert_allclose(deviations(Z[row], label), 1.0, atol=0.05)
    plain = OnlineSRDA(keep=0, random_state=0).fit(X - X.mean(axis=0), y)
    found = deviations(plain.transform(X), y)  # as if features were uncorrelated
    assert ((found > 0.2) & (found < 2.0)).all()


@pytest.mark.parametrize("mu", [1e-3, 0.5, 300.0, "scale", "auto"])
@pytest.mark.parametrize(("n", "d"), [(300, 12), (25, 40)])
def test_rows_after_those_of_the_classes_are_the_eigenproblem_in_the_rest(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    fitted, first = LDA(n_components=10, mu=mu).fit(X, y), LDA(mu=mu).fit(X, y)
    assert fitted.mu_ == first.mu_
    W, L = fitted.components_, fitted.eigenvalues_
    np.testing.assert_allclose(W[:3], first.components_, atol=1e-8 * np.abs(W[:3]).max())
    np.testing.assert_allclose(L[:3], first.eigenvalues_, rtol=1e-8)
    S_b, S_w, _ = (n * S for S in scatters(X, y))
    D = S_w + fitted.mu_ * np.eye(d)
    np.testing.assert_allclose(W @ D @ W.T / n, np.eye(10), atol=1e-8)
    N = linalg.null_space(S_b, rcond=1e-10)  # what does not separate the class means
    s, V = linalg.eigh(N.T @ S_w @ N, N.T @ D @ N)
    np.testing.assert_allclose(L[3:], s[::-1][:7], rtol=1e-7)
    same_directions(W[3:], (N @ V[:, ::-1][:, :7]).T, 1e-6, signs=True)
    ratios = fitted.explained_variance_ratio_
    np.testing.assert_allclose(ratios[:3], first.explained_variance_ratio_, rtol=1e-8)
    assert not ratios[3:].any()


@pytest.mark.parametrize(("n", "d", "mu"), [(300, 12, 0.0), (300, 12, 0.5), (25, 40, 0.5)])
def test_the_most_is_the_rank_of_the_samples(n, d, mu):
    X, y = labelled(n=n, d=d, c=4)
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    fitted = LDA(n_components=rank, mu=mu).fit(X, y)
    assert np.linalg.matrix_rank(fitted.components_) == rank
    with pytest.raises(ParameterError, match=f"n_components<={rank}"):
        LDA(n_components=rank + 1, mu=mu).fit(X, y)


@pytest.mark.parametrize("p", [1, 5, None])
def test_equal_means_have_no_direction(p):
    X = np.tile(np.random.default_rng(0).normal(size=(20, 10)), (2, 1))
    with pytest.raises(ValueError, match="expected classes with different means"):
        LDA(n_components=p).fit(X, np.repeat([0, 1], 20))


def test_a_stream_has_zeros_until_there_are_as_many():
    X, y = labelled(n=300, d=12, c=4)
    stream = LDA(n_components=9, mu=0.5).partial_fit(X[:1], y[:1])
    assert not stream.components_.any()
    few = stream.partial_fit(X[1:6], y[1:6]).components_
    rank = np.linalg.matrix_rank(X[:6] - X[:6].mean(axis=0))
    assert few.shape == (9, 12)
    assert np.linalg.matrix_rank(few) == few.any(axis=1).sum() == rank == 5
    whole = LDA(n_components=9, mu=0.5).fit(X, y)
    stream.partial_fit(X[6:], y[6:])
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-10)


def test_kernel_srda_continues_in_its_coordinates():
    X, y = labelled(n=600, d=6, c=2)
    y = np.char.add(y.astype(str), (np.linalg.norm(X[:, :2], axis=1) > 1).astype(str))
    one, most = (KernelSRDA(p, n_hidden=60, alpha="scale").fit(X, y) for p in (None, 20))
    Z = most.transform(X)
    np.testing.assert_allclose(Z[:, :3], one.transform(X), atol=1e-8)
    np.testing.assert_array_equal(most.predict(X), one.predict(X))
    means = np.array([Z[y == k].mean(axis=0) for k in np.unique(y)])
    np.testing.assert_allclose(means[:, 3:] - Z[:, 3:].mean(axis=0), 0, atol=1e-8)
    within = (Z - means[np.unique(y, return_inverse=True)[1]])[:, 3:]
    scatter = within.T @ within
    np.testing.assert_allclose(scatter, np.diag(scatter.diagonal()), atol=1e-8)
    assert (np.diff(scatter.diagonal()) <= 1e-8).all()
