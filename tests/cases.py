"""The table of methods that the laws are crossed with; a new method adds a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

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
    MI,
    MMC,
    MMCFS,
    OC,
    OCFS,
    OCM,
    SRDA,
    FisherFS,
    OnlineSRDA,
    VarianceFS,
)
from tests.oracles import contingency, dense


@dataclass
class Case:
    """An estimator, what its scores should be, and which laws it keeps."""

    estimator: Any
    oracle: Callable[..., np.ndarray] | None = None  # (X, y, priors) -> scores of all columns
    offset_free: bool = True  # the answer does not change when a constant is added to a column
    additive: bool = True  # the best set of columns is that of the best scores
    scale_free: bool = True  # scores do not grow with the weight of the rows
    takes_sparse: bool = True
    single: float = 0.0  # what float32 rows may change, relatively
    name: str = field(init=False)

    def __post_init__(self):
        self.name = repr(self.estimator)
        self.presence = getattr(self.estimator, "_presence", False)
        self.priors = self.estimator.get_params().get("priors", "empirical")
        self.needs_y = self.estimator._needs_y

    def new(self):
        return clone(self.estimator)

    def learnt(self, X, y):
        """What partial_fit in batches comes to: fit, but where that shuffles or is exact."""
        verb = "partial_fit" if type(self.estimator) in (IDRQR, OnlineSRDA) else "fit"
        return getattr(self.new(), verb)(X, y)

    def form(self, X):
        """Sparse rows, where they are taken."""
        return csr_array(X) if self.takes_sparse else X

    def labelled(self, **options):
        """Rows for this method: presence says nothing where no value is 0."""
        return labelled(**options | {"sparse": self.presence or options.get("sparse", False)})


SELECTORS = [
    Case(OCFS(), dense.between),
    Case(OCFS(n_features=3), dense.between),
    Case(OCFS(n_features=0.5, priors="balanced"), dense.between),
    Case(OCFS(threshold=0.05, priors="sqrt"), dense.between),
    Case(OCFS(per_class=2), dense.between, additive=False),
    Case(MMCFS(n_features=2, eps=0.1), dense.margin(0.1)),
    Case(MMCFS(threshold=-9.0, priors="balanced"), dense.margin(1.0)),
    Case(VarianceFS(n_features=3), dense.total),
    Case(FisherFS(), dense.fisher),
    Case(FisherFS(n_features=2, priors=[0.2, 0.3, 0.5]), dense.fisher),
    Case(FisherFS(n_features=3, optimum="trace_ratio"), dense.trace_ratio(3), additive=False),
    Case(IG(), contingency.information_gain, offset_free=False),
    Case(IG(per_class=1, priors="sqrt"), contingency.information_gain, False, additive=False),
    Case(CHI(n_features=2), contingency.chi, False, scale_free=False),
    Case(CHI(energy=0.5, priors="balanced"), contingency.chi, False, scale_free=False),
    Case(MI(n_features=3, priors="sqrt"), contingency.mutual_information, offset_free=False),
    Case(DF(energy=1.0), contingency.document_frequency, False, scale_free=False),
]
PROJECTORS = [
    Case(OC()),
    Case(OC(n_components=1, priors="sqrt")),
    Case(OC(priors="balanced")),
    Case(OCM(), offset_free=False),
    Case(OCM(n_components=2, priors=[0.2, 0.3, 0.5]), offset_free=False),
]
ONLINE = [
    Case(IOC(n_components=3)),
    Case(IOC(tol=1.0, patience=5, orthonormalize=True)),
    Case(IIS()),
    Case(IMMC(n_components=3)),
    Case(IMMC(eps=0.2, theta=0.5)),
    Case(IMMC(theta=[0.1, 2.0], deflate_shift=True)),
    Case(ILDA()),
    Case(ILDA(n_components=3, eta=0.01)),
    Case(CCIPCA(n_components=3)),
    Case(CCIPCA(amnesic=2.0)),
]
BATCH = [
    Case(MMC()),
    Case(MMC(n_components=3, eps=0.1)),
    Case(LDA(), takes_sparse=False),
    Case(LDA(n_components=1, solver="pca"), takes_sparse=False),
    Case(LDA(solver="gsvd"), takes_sparse=False),
    Case(SRDA()),
    Case(SRDA(n_components=1, alpha=0.0, max_iter=3)),
]
IDR_QR = [
    Case(IDRQR(), offset_free=False),
    Case(IDRQR(n_components=2, mu=5.0, update="transport"), offset_free=False),
]
ONLINE_SRDA = [
    Case(OnlineSRDA(random_state=0), single=1e-5),
    Case(OnlineSRDA(n_components=2, half_life=40, reservoir=20, random_state=1), single=1e-4),
    Case(OnlineSRDA(loss="softmax", reservoir=0, shuffle=False), single=1e-5),
]
ADDITIVE = SELECTORS + PROJECTORS
WEIGHTED = ADDITIVE + BATCH  # take sample_weight
EXACT = WEIGHTED + IDR_QR  # what fit makes of rows does not depend on their order
STREAMED = ADDITIVE + ONLINE + IDR_QR + ONLINE_SRDA  # have partial_fit
ALL = EXACT + ONLINE + ONLINE_SRDA


def answer(estimator) -> dict[str, np.ndarray]:
    """All that can be read off a fitted estimator, as arrays."""
    common = {
        "classes": estimator.classes_,
        "class_count": estimator.class_count_,
        "rows": np.array(estimator.n_samples_seen_),
        "names": estimator.get_feature_names_out(),
    }
    if not hasattr(estimator, "get_support"):
        return common | {
            "components": estimator.components_,
            "eigenvalues": getattr(estimator, "eigenvalues_", np.zeros(0)),
            "score": np.array([getattr(estimator, "score_", 0.0)]),
            "still": np.array(getattr(estimator, "n_samples_still_", None) or 0),
            "positive": np.array(getattr(estimator, "n_positive_", 0)),
        }
    if hasattr(estimator, "class_scores_"):
        common["class_scores"] = estimator.class_scores_
    return common | {
        "scores": estimator.scores_,
        "energy": estimator.energy_,
        "support": estimator.get_support(),
    }


def assert_same(a, b, rtol=1e-9, atol=1e-12, only=None):
    """The two estimators have learnt the same."""
    a, b = answer(a), answer(b)
    for key in only or a:
        if a[key].dtype.kind == "f":
            scale = max(1e-300, np.abs(b[key]).max(initial=0.0))
            np.testing.assert_allclose(
                a[key], b[key], rtol=rtol, atol=max(atol, rtol) * scale, err_msg=key
            )
        else:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)


def labelled(n=60, d=7, c=3, seed=0, sparse=False):
    """Rows of `c` classes that differ, in numbers without ties."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, c + 1) / sum(range(c + 1))
    y = np.concatenate([np.arange(c), rng.choice(c, n - c, p=shares)])
    X = rng.normal(size=(n, d)) + rng.normal(size=(c, d))[y] * np.linspace(0.3, 1.5, d)
    if sparse:  # some columns more often in one class than in another
        X = np.where(rng.random(X.shape) < rng.uniform(0.2, 0.8, (c, d))[y], X, 0.0)
    return X, np.array(["ant", "bee", "cat", "dog", "eel"])[y]
