"""Projectors that learn one sample at a time: what their users see."""

from __future__ import annotations

import numpy as np
import pytest
from examples.papers.printed.ccipca import ccipca
from examples.papers.printed.immc import immc
from examples.papers.printed.ioc import ioc
from scipy import sparse

from narrows import CCIPCA, IIS, ILDA, IMMC, IOC, OC
from narrows.engines import local
from narrows.errors import ParameterError
from tests.cases import ONLINE, answer, assert_same, labelled
from tests.inside import state_of
from tests.oracles.dense import scatters
from tests.test_span import assert_near, uci, vectors

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")
every = pytest.mark.parametrize("case", ONLINE, ids=lambda case: case.name)


def unit(v):
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.divide(v, length, out=np.zeros_like(v), where=length > 0)


@every
def test_passes_are_partial_fits_one_after_the_other(case):
    X, y = labelled()
    twice = case.new().set_params(passes=2).fit(X, y)
    assert_same(twice, case.new().partial_fit(X, y).partial_fit(X, y))
    assert twice.n_samples_seen_ == 120 or case.estimator.early_stopping
    shuffled = case.new().set_params(shuffle=True, random_state=3, passes=2)
    rng = np.random.RandomState(3)
    order = np.concatenate([rng.permutation(60), rng.permutation(60)])
    assert_same(shuffled.fit(X, y), case.new().partial_fit(X[order], y[order]))
    assert_same(shuffled.fit(sparse.csr_array(X), y), case.new().partial_fit(X[order], y[order]))


@every
def test_each_sample_has_one_label_and_no_weight(case):
    X, y = labelled()
    Y = np.eye(3, dtype=int)[np.arange(60) % 3]
    for several in (Y, sparse.csr_array(Y)):
        with pytest.raises(ValueError, match="one label per sample"):
            case.new().fit(X, several)
    with pytest.raises(TypeError, match="sample_weight"):
        case.new().fit(X, y, sample_weight=np.ones(60))
    fitted = case.new().fit(X, y)
    with pytest.raises(AttributeError, match=r"Use .*(OC|PCA|LDA|MMC).* merge"):
        fitted.merge(fitted)


def test_the_number_of_components_does_not_change():
    X, y = labelled()
    learner = IOC(2).fit(X, y).set_params(n_components=3)
    with pytest.raises(ParameterError, match="n_components=2"):
        learner.partial_fit(X, y)
    assert learner.n_samples_seen_ == 60
    assert IOC(None).fit(X[:, :1], y).components_.shape == (1, 1)


BAD = [
    (IOC, {"n_components": [8, 0], "patience": [0], "passes": [1.5], "shuffle": ["no"]}),
    (IOC, {"random_state": [-1]}),
    (IIS, {"tol": [0.0, "x"], "early_stopping": [True]}),
    (IMMC, {"theta": [-1.0, [1.0, 2.0, 3.0], "much", [np.nan, 1], "0.5", 1e160]}),
    (IMMC, {"eps": [1e160, -0.1], "deflate_shift": ["no"]}),
    (ILDA, {"eta": [0.0, "fast"]}),
    (CCIPCA, {"amnesic": [-1]}),
]


@pytest.mark.parametrize(("method", "parameters"), BAD)
def test_parameters_out_of_range(method, parameters):
    for name, values in parameters.items():
        for value in values:
            learner = method(**{name: value})
            for verb in (learner.fit, learner.partial_fit):
                with pytest.raises(ParameterError, match=name):
                    verb(*labelled())
            assert not hasattr(learner, "n_features_in_")


def test_files_are_learned_in_their_order_and_may_grow_wider():
    X, y = labelled(n=90, d=7, c=3, sparse=True)
    X[:30, 5:] = 0
    chunks = [(X[:30, :5], y[:30]), (X[30:60], y[30:60]), (X[60:], y[60:])]
    parts = [(sparse.csr_array(a), b) for a, b in chunks]
    assert_same(local.fit(IIS(3), parts), IIS(3).fit(sparse.csr_array(X), y), rtol=1e-9)
    with pytest.raises(ValueError, match=r"expected dense samples of 5 .*got 7"):
        local.fit(IIS(3), chunks)
    twice = local.fit(IOC(passes=2), [(X[30:60], y[30:60]), (X[60:], y[60:])])
    assert_same(twice, IOC(passes=2).fit(X[30:], y[30:]))
    with pytest.raises(ParameterError, match="a file is read in its own order"):
        local.fit(IOC(shuffle=True), chunks)


@every
def test_components_may_be_made_orthonormal(case):
    X, y = labelled()
    fitted = case.new().fit(X, y)
    plain = fitted.components_
    assert (plain[np.arange(len(plain)), np.abs(plain).argmax(axis=1)] > 0).all()
    if not fitted.orthonormalize:
        np.testing.assert_allclose(np.abs((plain * unit(vectors(fitted))).sum(axis=1)), 1.0)
    read = fitted.set_params(orthonormalize=True).components_
    np.testing.assert_allclose(read @ read.T, np.eye(len(read)), atol=1e-12)
    np.testing.assert_allclose(np.abs(read[0]), np.abs(plain[0]))
    np.testing.assert_allclose(plain, plain @ read.T @ read, atol=1e-10)  # of one span


def test_eigenvalues_are_those_of_the_printed_iterations():
    X, y = labelled(n=300)
    *_, v = ioc(X, list(y), 2)
    np.testing.assert_allclose(IOC().fit(X, y).eigenvalues_, np.linalg.norm(v, axis=1))
    *_, v = ccipca(X, 2)
    np.testing.assert_allclose(CCIPCA().fit(X).eigenvalues_, np.linalg.norm(v, axis=1))
    *_, v = immc(X, list(y), 2, [3.0, 5.0])
    # the start of v_j, at sample j, has no theta in it; each later sample weighs 1/n
    mean = np.zeros(2)
    for n in range(2, 301):
        mean += (np.where(n > np.array([1, 2]), [3.0, 5.0], mean) - mean) / n
    found = IMMC(eps=1.0, theta=[3.0, 5.0]).fit(X, y).eigenvalues_
    np.testing.assert_allclose(found, np.linalg.norm(v, axis=1) - mean)


@every
@pytest.mark.parametrize("orthonormalize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_learning_and_reducing_at_once(case, form, orthonormalize):
    """y(i) = W(i)'x(i), with the W of the table, or made orthonormal."""

    def new():
        return case.new().set_params(orthonormalize=orthonormalize)

    X, y = labelled(n=60, sparse=True)
    X = X + 3.0 * (X != 0)
    learner, step = new(), new()
    parts = [learner.transform_while_learning(form(X[k]), y[k]) for k in (slice(37), slice(37, 60))]
    reduced = np.vstack(parts)
    assert_same(learner, new().partial_fit(form(X), y), rtol=1e-12)
    for i in range(60):
        W = unit(vectors(step.partial_fit(form(X[i : i + 1]), y[i : i + 1])))
        if orthonormalize:
            live = W.any(axis=1)
            Q, R = np.linalg.qr(W[live].T)
            W[live] = (Q * np.sign(np.diag(R))).T
        np.testing.assert_allclose(reduced[i], W @ X[i], atol=1e-9 * np.abs(X[i]).max())
    assert new().transform_while_learning(form(X).astype("f4"), y).dtype == np.float32
    assert new().transform_while_learning(form(X)[:0], y[:0]).shape[0] == 0
    with pytest.raises(ValueError, match="inconsistent"):
        new().transform_while_learning(form(X), y[:-1])


def test_what_comes_after_a_stop_is_reduced_but_not_learned():
    X, y = labelled(n=90, d=7, c=4)
    y[:60] = np.where(y[:60] == "dog", "ant", y[:60])
    learner = IOC(tol=10.0, patience=3, early_stopping=True)
    reduced = learner.transform_while_learning(X, y)
    n = learner.n_samples_seen_
    assert n < 60
    W = unit(vectors(learner))
    np.testing.assert_allclose(reduced[n:], X[n:] @ W.T)
    np.testing.assert_allclose(learner.transform_while_learning(X, y), X @ W.T)
    assert "dog" not in learner.classes_
    learner.set_params(early_stopping=False).partial_fit(X[60:], y[60:])
    rest = np.r_[0:n, 60:90]
    assert_near(vectors(learner), vectors(IOC().partial_fit(X[rest], y[rest])), 1e-10)
    assert state_of(learner).core.drift() < 1e-12


def leading(A, p):
    return np.linalg.eigh(A)[1][:, ::-1].T[:p]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [IOC, IIS])
def test_the_sums_of_the_iterates_are_those_of_exact_oc(method, form):
    X, y = labelled(n=100, c=4)
    X = form(X)
    learner = method(3).partial_fit(X[:57], y[:57])
    assert_same(learner.exact(), OC().fit(X[:57], y[:57]))
    assert [len(method(p).fit(X, y).exact().components_) for p in (2, 5)] == [2, 3]
    before = answer(learner)["components"]
    learner.exact().partial_fit(X, y)
    np.testing.assert_array_equal(answer(learner)["components"], before)
    with pytest.raises(ValueError, match="two classes of positive weight"):
        method().partial_fit(X[:1], y[:1]).exact()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_the_automatic_theta_of_immc_finds_the_leading_direction(data, name):
    X, y = uci(data, name)
    X = (X - X.mean(axis=0)) / X.std(axis=0) if name == "wine" else X
    S_b, S_w, _ = scatters(X, y)
    target, cosines = leading(S_b - S_w, 1)[0], []
    for seed in range(5):
        learner = IMMC(2, eps=1.0, passes=20, shuffle=True, random_state=seed).fit(X, y)
        cosines.append(abs(learner.components_[0] @ target))
    assert np.median(cosines) > 0.99, cosines
