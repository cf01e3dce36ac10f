"""Every way to learn the same samples gives the result of one fit: a table of both.

The models are those whose parameters are chosen by samples, that standardise, that have more
directions than classes, or that learn numbers; `narrows.testing` has the laws of the others.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import narrows
from narrows import (
    CHI,
    IG,
    LDA,
    LEACE,
    MMC,
    OC,
    OCFS,
    PCA,
    PLS,
    SRDA,
    CorrelationFS,
    FisherFS,
    ForwardFS,
    KernelSRDA,
    Moments,
    ReducedRank,
    Window,
)
from narrows.engines import local
from tests.inside import fit_in_parts, folds_of

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")
GROUPS = list("aabcbdeecfghij")
MODELS = {
    "OC, components": OC(n_components="cv"),
    "OCFS, features": OCFS(n_features="cv"),
    "FisherFS, features": FisherFS(n_features="cv"),
    "IG, features": IG(n_features="cv"),
    "CHI, features": CHI(n_features="cv"),
    "ForwardFS, features": ForwardFS(n_features="cv"),
    "PLS, components": PLS(n_components="cv"),
    "ReducedRank, rank": ReducedRank(n_components="cv", alpha="cv"),
    "SRDA, ridge": SRDA(),
    "SRDA, components": SRDA(n_components="cv"),
    "LDA, both": LDA(n_components="cv", mu="cv"),
    "MMC, eps": MMC(eps="cv"),
    "LDA, 12, scale": LDA(n_components=12, mu="scale"),
    "SRDA, units": SRDA(alpha="scale", standardize=True),
    "SRDA, no ridge": SRDA(alpha=0.0, standardize=True),
    "LDA, units": LDA(mu=1.0, standardize=True),
    "MMC, units": MMC(n_components=2, eps=0.1, standardize=True),
    "PCA, units": PCA(n_components=4, standardize=True),
    "PLS, units": PLS(n_components=3, standardize=True),
    "ReducedRank, units": ReducedRank(alpha=3.0, standardize=True),
    "CorrelationFS, 5": CorrelationFS(n_features=5),
    "ForwardFS, classes": ForwardFS(n_features=5),
    "ForwardFS, groups": ForwardFS(n_features=4, start=[2], groups=GROUPS),
    "ForwardFS, numbers": ForwardFS(n_features=5, target="numeric"),
    "LEACE, classes": LEACE(),
    "LEACE, numbers": LEACE(target="numeric"),
    "KernelSRDA, plain": KernelSRDA(n_hidden=30, alpha=0.5),
    "KernelSRDA, ridge": KernelSRDA(n_hidden=30),
    "KernelSRDA, units": KernelSRDA(n_hidden=30, kernel="relu", alpha=0.5, standardize=True),
}
NUMERIC = "PLS", "ReducedRank", "CorrelationFS", "ForwardFS, numbers", "LEACE, numbers"
FEW = "OC, components", "OCFS, features", "LDA, both", "PLS, units", "KernelSRDA, units"
models = pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
N = 120
CUTS = [0, 20, 20, 65, N]  # multiples of 5, since parts number their samples for the folds
READ = (
    "classes_", "class_count_", "n_samples_seen_", "components_", "eigenvalues_", "scores_",
    "gain_curve_", "alpha_", "mu_", "eps_", "alpha_scores_", "mu_scores_", "eps_scores_",
    "held_out_scores_", "held_out_errors_", "explained_variance_ratio_",
)  # fmt: skip


def made(name):
    """A model, samples with zeros, and classes or two numbers each."""
    rng = np.random.default_rng(0)
    y = np.append(np.arange(4), rng.integers(4, size=N - 4))
    X = rng.normal(size=(N, 14)) * np.linspace(0.5, 3, 14) + rng.normal(size=(4, 14))[y]
    X *= rng.random((N, 14)) < rng.uniform(0.4, 1, (4, 14))[y]
    X = X.astype(np.float32).astype(float)
    if name.startswith(NUMERIC):
        return MODELS[name], X, X[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(N, 2))
    if name.startswith("PCA"):
        return MODELS[name], X, np.zeros(N, int)
    return MODELS[name], X, np.array(["east", "north", "south", "west"])[y]


def same(found, expected, X, rtol):
    """Two models have learned the same, chose the same, and reduce and predict the same."""
    for name in READ:
        if hasattr(expected, name):
            a, b = (np.asarray(getattr(model, name)) for model in (found, expected))
            if b.dtype.kind == "f":
                scale = np.abs(b).max(initial=0.0)
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=name)
            else:
                np.testing.assert_array_equal(a, b, err_msg=name)
    for verb in ("transform", "predict_proba", "predict"):
        if hasattr(expected, verb):
            a, b = (getattr(model, verb)(X) for model in (found, expected))
            if b.dtype.kind == "f":
                np.testing.assert_allclose(a, b, atol=10 * rtol * np.abs(b).max(), err_msg=verb)
            else:
                np.testing.assert_array_equal(a, b)


def parts_of(X, y):
    return [(X[i:j], y[i:j]) for i, j in pairwise(CUTS)]


def stream(model, X, y, cuts=(1, 1, 8, 60, 61)):
    for rows in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X[rows], y[rows])
    return model


def merge(model, X, y):
    first, *others = (clone(model).partial_fit(*part) for part in parts_of(X, y))
    return first.merge(*others)


WAYS = {
    "batches": stream,
    "chunks": lambda model, X, y: local.fit(model, parts_of(X, y)),
    "parts": lambda model, X, y: fit_in_parts(model, parts_of(X, y)),
    "merge": merge,
    "float32": lambda model, X, y: stream(model, X.astype(np.float32), y),
}


@models
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_learn_gives_the_result_of_one_fit(name, way):
    model, X, y = made(name)
    same(WAYS[way](clone(model), X, y), clone(model).fit(X, y), X, 1e-9)


@models
def test_a_model_that_is_saved_goes_on(name, tmp_path):
    model, X, y = made(name)
    half = stream(clone(model), X[:50], y[:50], [30])
    narrows.save(half, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    assert repr(loaded) == repr(half)
    same(loaded.partial_fit(X[50:], y[50:]), clone(model).fit(X, y), X, 1e-9)


@models
def test_a_window_is_a_fit_of_its_samples(name):
    model, X, y = made(name)
    window = stream(Window(clone(model), 80), X, y, [7, 50])
    same(window.estimator_, clone(model).fit(X[-80:], y[-80:]), X, 1e-8)


@models
def test_a_half_life_is_weights(name):
    model, X, y = made(name)
    fading = stream(clone(model).set_params(half_life=50.0), X, y)
    weight = 0.5 ** (np.arange(N)[::-1] / 50)
    same(fading, clone(model).fit(X, y, weight), X, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith(("IG", "CHI", "Kernel"))])
def test_moments_that_are_summed_elsewhere_are_fitted_to(name):  # not those behind a map
    model, X, y = made(name)
    fitted = clone(model).fit(X, y)
    kinds = [
        {"second": m.second, "keep": m.keep, "numeric": name.startswith(NUMERIC)}
        for m in folds_of(fitted)
    ]
    found = [
        Moments.of(X[k :: len(kinds)], y[k :: len(kinds)], **each) for k, each in enumerate(kinds)
    ]
    same(clone(model).fit_moments(found if len(kinds) > 1 else found[0]), fitted, X, 1e-9)


@models
def test_what_is_subtracted_was_never_learned(name):
    model, X, y = made(name)
    whole, gone = (clone(model).partial_fit(X[k:], y[k:]) for k in (0, 80))
    if len(folds_of(whole)) > 1:
        left = [a - b for a, b in zip(folds_of(whole), folds_of(gone), strict=True)]
    else:
        left = whole.moments_ - gone.moments_
    same(clone(model).fit_moments(left), clone(model).fit(X[:80], y[:80]), X, 1e-8)
