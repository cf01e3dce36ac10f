"""The table of methods that the laws are crossed with; a new method adds a row."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from safetensors.numpy import load
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

import narrows
from narrows import (
    CCIPCA,
    CHI,
    DF,
    IDRQR,
    IG,
    IIS,
    ILDA,
    IMMC,
    IOC,
    LDA,
    LEACE,
    MI,
    MMC,
    MMCFS,
    OC,
    OCFS,
    OCM,
    PCA,
    PLS,
    SRDA,
    CorrelationFS,
    FisherFS,
    ForwardFS,
    KernelSRDA,
    OnlineSRDA,
    ReducedRank,
    VarianceFS,
)
from narrows.engines import local
from tests.oracles import contingency, dense

# of which the targets are numbers
NUMERIC_METHODS = {each.__name__: each for each in (PLS, ReducedRank, CorrelationFS)}
METHODS = {
    name: found
    for name in narrows.__all__
    if isinstance(found := getattr(narrows, name), type)
    and issubclass(found, BaseEstimator)
    and found is not narrows.Window
    and name not in NUMERIC_METHODS
}

IGNORED = "labels are ignored"
OFFSET = {"offset": "defined through samples that are not centred, as the docstring says"}


@dataclass
class Case:
    """An estimator, what its scores should be, and which laws it does not promise, with reasons."""

    estimator: Any
    oracle: Callable[..., np.ndarray] | None = None  # (X, y, priors) -> scores of all features
    additive: bool = True  # the best set of features is that of the best scores
    single: float = 0.0  # what float32 samples may change, relatively
    expected_to_fail: dict[str, str] = field(default_factory=dict)
    undecided: dict[str, str] = field(default_factory=dict)  # laws that hold for some data only
    name: str = field(init=False)

    def __post_init__(self):
        self.name = repr(self.estimator)
        self.presence = isinstance(self.estimator, IG | CHI | MI | DF)
        self.priors = self.estimator.get_params().get("priors", "empirical")
        self.needs_y = get_tags(self.estimator).target_tags.required
        self.reads_y = IGNORED not in self.expected_to_fail.values()
        self.takes_sparse = get_tags(self.estimator).input_tags.sparse

    def new(self):
        return clone(self.estimator)

    def streamed(self, X, y):
        """The result of partial_fit in batches: fit, except where that shuffles or is exact."""
        verb = "partial_fit" if type(self.estimator) in (IDRQR, OnlineSRDA) else "fit"
        return getattr(self.new(), verb)(X, y)

    @property
    def forms(self):
        """The forms of samples that are supported."""
        return (np.asarray, csr_array) if self.takes_sparse else (np.asarray,)

    def form(self, X):
        """Sparse samples, where they are supported."""
        return self.forms[-1](X)

    def labelled(self, **options):
        """Samples for this method: presence says nothing where no value is 0."""
        return labelled(**options | {"sparse": self.presence or options.get("sparse", False)})


def but(why, *estimators, **more):
    """Cases of estimators that do not promise the same laws."""
    return [Case(each, expected_to_fail=why, **more) for each in estimators]


def counted(estimator, oracle, additive=True, **why):
    """A selector that counts presence, which an offset changes."""
    return Case(estimator, oracle, additive, expected_to_fail=OFFSET | why)


GROWS = "grows with the number of samples, as counts and chi-square do"
SELECTORS = [
    Case(OCFS(), dense.between),
    Case(OCFS(n_features=3), dense.between),
    Case(OCFS(n_features=0.5, priors="balanced"), dense.between),
    Case(OCFS(threshold=0.01, priors="sqrt"), dense.between),
    Case(OCFS(per_class=2), dense.between, additive=False),
    Case(MMCFS(n_features=2, eps=0.1), dense.margin(0.1)),
    Case(MMCFS(threshold=-9.0, priors="balanced"), dense.margin(1.0)),
    Case(VarianceFS(n_features=3), dense.total),
    Case(FisherFS(), dense.fisher),
    Case(FisherFS(n_features=2, priors=[0.2, 0.3, 0.5]), dense.fisher),
    Case(FisherFS(n_features=3, optimum="trace_ratio"), dense.trace_ratio(3), additive=False),
    Case(ForwardFS(), dense.forward(10), additive=False),
    Case(ForwardFS(n_features=3, priors="balanced", head=9), dense.forward(3), additive=False),
    Case(ForwardFS(n_features=2, ridge=0.0, head=9), dense.forward(2, 0.0), additive=False),
    counted(IG(), contingency.information_gain),
    counted(IG(per_class=1, priors="sqrt"), contingency.information_gain, additive=False),
    counted(CHI(n_features=2), contingency.chi, scale=GROWS),
    counted(CHI(energy=0.5, priors="balanced"), contingency.chi, scale=GROWS),
    counted(MI(n_features=3, priors="sqrt"), contingency.mutual_information),
    counted(DF(energy=1.0), contingency.document_frequency, scale=GROWS),
]
PROJECTORS = [
    Case(OC()),
    Case(OC(n_components=1, priors="sqrt")),
    Case(OC(priors="balanced")),
    Case(OCM(), expected_to_fail=OFFSET),
    Case(OCM(n_components=2, priors=[0.2, 0.3, 0.5])),  # the third is that of the means
]
ONLINE = but(
    {"sample_order": "learns one sample at a time", "offset": "not exact on a short stream"},
    *(IOC(n_components=3), IOC(tol=1.0, patience=5, orthonormalize=True), IIS()),
    *(IMMC(n_components=3), IMMC(eps=0.2, theta=0.5), IMMC(theta=[0.1, 2.0], deflate_shift=True)),
    *(ILDA(), ILDA(n_components=3, eta=0.01), CCIPCA(n_components=3), CCIPCA(amnesic=2.0)),
)
ONE_LABEL = {"multi_label": "expects one label per sample"}
RIDGED = {"forgetting": "the ridge is added to sums, which grow with the weights"}
CHOSEN = dict.fromkeys(
    ("feature_order", "offset"),
    "the ridge is chosen by samples in the order of hashes, which other numbers change",
)
UNLABELLED = dict.fromkeys(
    ("label_types", "class_names", "multi_label", "failing_partial_fit"), IGNORED
)
EVERY_DIRECTION = {"never_dense": "as many directions as samples are as large as dense samples"}
LISTED = {"feature_order": "its features are listed by their numbers"}
CROSS = [  # functions of cross products of features
    *but(RIDGED, SRDA(), undecided=CHOSEN),
    *but(RIDGED, SRDA(alpha=0.5), SRDA(alpha="scale")),
    *but(ONE_LABEL | RIDGED, LDA(), undecided=CHOSEN),
    *but(ONE_LABEL | RIDGED, LDA(mu=0.5), LDA(n_components=5, mu=0.5)),
    *but(ONE_LABEL | RIDGED, LDA(n_components=4, mu="scale")),
    *but(ONE_LABEL | RIDGED, LDA(n_components=3, mu=0.5, standardize=True)),
    *but({}, MMC(), MMC(n_components=3, eps=0.1)),
    *but(LISTED, MMC(standardize=[0, 2])),
    *but(UNLABELLED | EVERY_DIRECTION, PCA(), PCA(n_components=0.8)),
    *but(UNLABELLED, PCA(n_components=2), PCA(n_components=2, standardize=True)),
]
ERASES = {
    "transform": "erases what its components have, and keeps all features",
    "offset": "transform is about the mean of the samples (tests/test_leace.py)",
}
ERASING = but(ONE_LABEL | ERASES, LEACE(), LEACE(target="classes"))
BATCH = [  # need all samples at once
    Case(LDA(n_components=1, solver="pca")),
    Case(LDA(solver="gsvd")),
    Case(SRDA(n_components=1, alpha=0.0, solver="lsqr", max_iter=3)),
]
BEHIND_A_MAP = {
    "merge_shares_nothing": "two fits make two maps (tests/test_kernel_srda.py)",
    "never_dense": "coordinates are dense, of at most 8,192 features",
}
WEIGHTS = {
    "feature_order": "random weights belong to the numbers of features",
    "offset": "transform is about the mean of the samples of the map",
}
OF_RELU = KernelSRDA(1, n_hidden=40, kernel="relu", gamma=0.05, alpha=0.5, standardize=True)
KERNEL = [
    *but(BEHIND_A_MAP, KernelSRDA(n_hidden=40), single=1e-7, undecided=WEIGHTS),
    *but(BEHIND_A_MAP, OF_RELU, single=1e-6, undecided=WEIGHTS),
]
IDR_QR = but(
    OFFSET | {"partial_fit": "updates are the paper's approximation, fit is not"},
    *(IDRQR(), IDRQR(n_components=2, mu=5.0, update="transport")),
)
SINGLE = {"float32": "computes in float32 where X has it"}
FADES = {"half_life": "fades step by step"}
IN_STEPS = SINGLE | FADES | {
    "merge": "approximate",
    "weights": "a weight is one longer step, not a repetition",
    "sample_order": "learns one sample at a time",
    "class_names": "has a direction for each class, in the order of classes_",
    "multi_label": "a sample of several labels is one step",
}  # fmt: skip
SHUFFLED = {"partial_fit": "fit shuffles the samples"}
SHIFTED = {"zero_weight": "a weight of 0 shifts the shuffle"}
FADING = OnlineSRDA(n_components=2, half_life=40, keep=20, random_state=1)
ONLINE_SRDA = [
    *but(IN_STEPS | SHUFFLED | SHIFTED, OnlineSRDA(random_state=0), single=1e-5),
    *but(SINGLE | SHUFFLED | FADES, FADING, single=1e-4),
    *but(IN_STEPS, OnlineSRDA(keep=0, shuffle=False), single=1e-5),
]
AT_MOST = {"never_dense": "takes at most 8,192 features (CorrelationFS selects them)"}
NUMERIC = [
    *but({}, PLS(), PLS(n_components=4, standardize=True)),
    *but(RIDGED, ReducedRank(alpha=0.5), ReducedRank(alpha="scale")),
    *but(RIDGED, ReducedRank(), undecided=CHOSEN),
    *but({}, CorrelationFS(), CorrelationFS(n_features=3)),
    *but(ERASES, LEACE(target="numeric")),
    *but(AT_MOST, ForwardFS(n_features=3, target="numeric"), additive=False),
    *but(AT_MOST, ForwardFS(ridge=0.0, target="numeric"), additive=False),
]
ADDITIVE = SELECTORS + PROJECTORS + CROSS + ERASING + KERNEL
WEIGHTED = ADDITIVE + BATCH  # take sample_weight
EXACT = WEIGHTED + IDR_QR  # what fit makes of rows does not depend on their order
STREAMED = ADDITIVE + ONLINE + IDR_QR + ONLINE_SRDA  # have partial_fit
ALL = EXACT + ONLINE + ONLINE_SRDA


def answer(estimator) -> dict[str, np.ndarray]:
    """All that can be read off a fitted estimator, as arrays."""
    found = {
        "classes": estimator.classes_,
        "class_count": estimator.class_count_,
        "rows": np.array(estimator.n_samples_seen_),
        "names": estimator.get_feature_names_out(),
    }
    if hasattr(estimator, "get_support"):
        names = ["scores_", "energy_", *["class_scores_"] * hasattr(estimator, "class_scores_")]
        found |= {name.rstrip("_"): getattr(estimator, name) for name in names}
        return found | {"support": estimator.get_support()}
    return found | {
        "components": estimator.components_,
        "eigenvalues": getattr(estimator, "eigenvalues_", np.zeros(0)),
        "score": np.array([getattr(estimator, "score_", 0.0)]),
        "still": np.array(getattr(estimator, "n_samples_still_", None) or 0),
        "positive": np.array(getattr(estimator, "n_positive_", 0)),
    }


def assert_same(a, b, rtol=1e-9, atol=1e-12, only=None):
    """The two estimators have learned the same."""
    a, b = answer(a), answer(b)
    for key in only or a:
        if a[key].dtype.kind == "f":
            scale = max(1e-300, np.abs(b[key]).max(initial=0.0))
            np.testing.assert_allclose(
                a[key], b[key], rtol=rtol, atol=max(atol, rtol) * scale, err_msg=key
            )
        else:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)


def arrays_of(model):
    """All that a fitted estimator has learned, as the arrays of its file."""
    return load(bytes_of(model))


def bytes_of(model):
    """The file of a fitted estimator: what it has learned and its attributes, to the bit."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.narrows")
        narrows.save(model, path)
        with open(path, "rb") as file:
            return file.read()


def widened(model, n_features):
    """A model with more features, all 0 so far."""
    return local.update(model, [(csr_array((0, n_features)), model.classes_[:0])])


def same_directions(W, V, atol=1e-11, signs=False):
    """Assert that rows are equal up to their lengths, and with `signs` up to their signs."""
    W, V = (A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300) for A in (W, V))
    if signs:
        V = V * np.where(np.sum(W * V, axis=1, keepdims=True) < 0, -1, 1)
    np.testing.assert_allclose(W, V, atol=atol, rtol=0)


def labelled(n=60, d=7, c=3, seed=0, sparse=False):
    """Rows of `c` classes that differ, in numbers without ties."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, c + 1) / sum(range(c + 1))
    y = np.concatenate([np.arange(c), rng.choice(c, n - c, p=shares)])
    X = rng.normal(size=(n, d)) + rng.normal(size=(c, d))[y] * np.linspace(0.3, 1.5, d)
    if sparse:  # some columns more often in one class than in another
        X = np.where(rng.random(X.shape) < rng.uniform(0.2, 0.8, (c, d))[y], X, 0.0)
    return X, np.array(["ant", "bee", "cat", "dog", "eel"])[y]
