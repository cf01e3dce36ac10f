"""What does not fit is refused by an error that names it: a table of calls."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import (
    CCIPCA,
    DF,
    IDRQR,
    IG,
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
    Moments,
    OnlineSRDA,
    ReducedRank,
    VarianceFS,
    Window,
)
from narrows.errors import ParameterError
from narrows.export import to_sentence_transformers
from narrows.river import OneByOne
from narrows.text import Tfidf
from tests.cases import bytes_of, labelled

X, y = labelled(d=8)  # 60 samples of 3 classes
S = sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
T = X[:, :2] @ [[1.0, 2.0], [3.0, -1.0]] + 0.5
W = sparse.random_array((60, 9000), density=0.01, rng=0, format="csr")  # wide
D = W.toarray()
t = W[:, [0]].toarray().ravel() + np.arange(60) / 7
two = np.arange(60) % 2
refined = partial(SRDA, refine=True)

PARAMETERS = {  # of estimators that are fitted to X and y
    "n_features": [
        OCFS(n_features=3, energy=0.5), OCFS(n_features=9), OCFS(n_features=0),
        OCFS(n_features=1.5), OCFS(n_features=True), OCFS(n_features="10"), ForwardFS(9),
        ForwardFS(4, groups=list("aabbccaa")), ForwardFS(1, start=[1, 2]), ForwardFS("few"),
        MMCFS(n_features="cv"), VarianceFS(n_features="cv"), DF(n_features="cv"),
        MI(n_features="cv"), FisherFS(n_features="cv", optimum="trace_ratio"),
        OCFS(n_features="cv", energy=0.5),
    ],
    "n_components": [
        OC(3), OCM(4), OC(0), OC(1.5), SRDA(3), LDA(3, solver="gsvd"), LDA(9), MMC(9), IDRQR(4),
        IDRQR(0), KernelSRDA(2000, n_hidden=9), OCM("cv"), PCA("cv"), MMC("cv"), KernelSRDA("cv"),
        OnlineSRDA("cv"), OnlineSRDA(n_components=9), SRDA("cv", solver="lsqr"),
        LDA("cv", solver="pca"), LDA(5, solver="pca"), LDA("cv", solver="gsvd"),
        LDA(2, refine=True),
    ],
    "share": [PCA(0.0), PCA(1.0), PCA(1.5), PCA(-0.5)],
    "energy": [OCFS(energy=0.0), OCFS(energy=1.1)],
    "threshold": [OCFS(threshold=np.nan), OCFS(threshold=1000.0)],
    "per_class": [OCFS(per_class=0), IG(per_class=9), OCFS(per_class=2, energy=0.5)],
    "optimum": [FisherFS(optimum="ratio"), FisherFS(optimum="trace_ratio")],
    "priors": [
        OCFS(priors="uniform"), OCFS(priors=[0.5, 0.5]), OC(priors="even"), OC(priors=[1] * 4),
        OC(priors=0.5), OC(priors=[[1, 2], [3]]), OC(priors={0: 1}), OC(priors=[10**400, 1, 1]),
        OC(priors=np.array([1j, 1, 1])), OC(priors=[np.inf, 1, 1]), ForwardFS(priors=[-1, 1, 1]),
    ],
    "eps": [
        MMC(eps=-1), MMC(eps="best"), MMCFS(eps=np.nan), MMCFS(eps="cv"), IMMC(eps="cv"),
        IMMC(eps=-1.0),
    ],
    "eta": [ILDA(eta="fast")],
    "theta": [IMMC(theta="much")],
    "amnesic": [CCIPCA(amnesic=-1.0)],
    "mu": [LDA(mu=-1), LDA(mu="best"), LDA(mu="cv", solver="pca"), IDRQR(mu=-1), IDRQR(mu="cv")],
    "alpha": [SRDA(alpha=np.nan), SRDA(alpha="best"), KernelSRDA(alpha=-1)],
    "solver": [LDA(solver="svd"), SRDA(solver="svd"), refined(solver="lsqr")],
    "pca_components": [LDA(solver="pca", pca_components=0), LDA(solver="pca", pca_components=9)],
    "max_iter": [SRDA(max_iter=0)],
    "tol": [SRDA(tol=-1e-3)],
    "update": [IDRQR(update="exact")],
    "groups": [ForwardFS(groups=[1, 2, 3]), ForwardFS(groups=[[1], [2, 3]])],
    "start": [ForwardFS(start=each) for each in (["x"], [8], 8, {1}, [[1], [2, 3]])],
    "ridge": [ForwardFS(ridge=-1.0)],
    "n_hidden": [KernelSRDA(n_hidden=each) for each in (0, 8001, 2.5, True)],
    "kernel": [KernelSRDA(kernel="poly")],
    "gamma": [KernelSRDA(gamma=each) for each in (0.0, "scale", np.inf)],
    "random_state": [
        KernelSRDA(random_state=-1), KernelSRDA(random_state=2**64), OnlineSRDA(random_state=-1),
    ],
    "half_life": [KernelSRDA(half_life=0), OnlineSRDA(half_life=0.0)],
    "standardize": [
        kind(standardize=each)
        for kind in (SRDA, KernelSRDA)
        for each in ("yes", 2, None, [12], [-1], [1, True], ["c0"], [True, False])
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_does_not_fit_is_named(name):
    for estimator in PARAMETERS[name]:
        with pytest.raises(ValueError, match=rf"(?s)^expected .*{name}"):
            estimator.fit(X, y)


WIDE = "8,192"


def broken(part, at, number, form=sparse.csr_array):
    """Sparse samples with an index, or an end of a row, that leaves them."""
    found = form(S).copy()
    getattr(found, part)[at] = number
    return found


CALLS = {
    "PCA, inverse": (lambda: PCA(2).fit(X).inverse_transform(X), "2 columns, got 8"),
    # more features than products of pairs are for
    "SRDA, stream": (lambda: SRDA().partial_fit(W, y), WIDE),
    "KernelSRDA, wide stream": (lambda: KernelSRDA(n_hidden=9).partial_fit(W, y), WIDE),
    "SRDA, wide cv later": (lambda: SRDA().fit(W, y).set_params(n_components="cv").coef_, WIDE),
    "KernelSRDA, wide window": (lambda: Window(KernelSRDA(), 9).fit(W, y), WIDE),
    "ForwardFS, stream": (lambda: ForwardFS().partial_fit(W, y), WIDE),
    "LEACE, wide": (lambda: LEACE().fit(D, y), WIDE),
    "LDA, wide without a ridge": (lambda: LDA(mu=0.0).fit(W, y), "mu > 0"),
    "ForwardFS, wide and all": (lambda: ForwardFS(1.0).fit(W, y), WIDE),
    "ForwardFS, wide cv": (lambda: ForwardFS("cv").fit(W, y), WIDE),
    "ForwardFS, wide numbers": (lambda: ForwardFS(target="numeric").fit(W, t), WIDE),
    "ReducedRank, wide cv": (lambda: ReducedRank("cv").fit(W, t), WIDE),
    "refine, wide": (lambda: refined().fit(D, two), WIDE),
    "PLS, wide merge": (lambda: PLS().fit(W, t).merge(PLS().fit(W, t)), "CorrelationFS"),
    "PLS, mean of none": (lambda: PLS().mean_, "not fitted"),
    "PLS, wide update": (lambda: PLS().fit(W, t).partial_fit(W, t), "CorrelationFS"),
    # sparse samples
    "LDA, sparse": (lambda: LDA(solver="pca").fit(S, y), "sparse data .*Use SRDA"),
    "LEACE, sparse": (lambda: LEACE().fit(S, y), "dense samples"),
    "LEACE, sparse window": (lambda: Window(LEACE(), 20).fit(S, y), "dense samples"),
    "LEACE, one by one": (
        lambda: OneByOne(LEACE(), n_features=64).learn_one({"a": 1.0}, "ant"), "sparse samples",
    ),
    "LEACE, a module": (
        lambda: to_sentence_transformers(LEACE().fit(X, y), "a"), "linear reduction, got LEACE",
    ),
    **{
        f"{name}, places": (call, "places in shape")
        for name, call in {
            "OC": lambda: OC().fit(broken("indices", 0, 8), y),
            "OCFS": lambda: OCFS().partial_fit(broken("indices", -1, -1), y),
            "SRDA": lambda: SRDA().fit(X, y).predict(broken("indices", 0, 10**6)),
            "LDA": lambda: LDA().partial_fit(broken("indptr", 3, 10**8), y),
            "OnlineSRDA": lambda: OnlineSRDA().partial_fit(broken("indptr", -1, 10**8), y),
            "IDRQR": lambda: IDRQR().fit(broken("indices", 0, 60, sparse.csc_array), y),
            "PCA": lambda: PCA().fit(broken("indices", 0, 8, sparse.bsr_array)),
            "Moments": lambda: Moments.of(broken("indices", 0, 8), y),
            "labels": lambda: OC().fit(X, broken("indices", 0, 8)),
        }.items()
    },
    "OC, NaN by keys": (
        lambda: OC().fit(sparse.dok_array(np.where(X > 1, np.nan, 0)), y), "finite values, got NaN",
    ),
    "OC, lengths": (lambda: OC().fit([[1.0], [1.0, 2.0]], [0, 1]), "several lengths"),
    # weights
    "OC, complex weights": (lambda: OC().fit(X, y, X[:, 0] + 1j), "sample_weight of numbers"),
    "OC, dates for weights": (lambda: OC().fit(X, y, two.astype("M8[s]")), "of numbers"),
    "OC, text for weights": (lambda: OC().fit(X, y, ["a"] * 60), "sample_weight of numbers"),
    # samples that have no answer
    **{
        f"{verb}, infinite": (
            lambda verb=verb: getattr(SRDA().fit(X / 1e3, y), verb)(np.full((1, 8), 1e307)),
            "finite, got larger ones",
        )
        for verb in ("transform", "predict", "predict_proba", "decision_function")
    },
    "PLS, equal targets": (lambda: PLS().fit(X, np.full(60, 0.1)), "targets that vary"),
    "PLS, no weight": (lambda: PLS().fit(X, T, np.zeros(60)), "non-zero weight"),
    "ReducedRank, wide and equal": (lambda: ReducedRank().fit(W, 0 * t), "targets that vary"),
    "PLS, equal samples": (lambda: PLS().fit(np.ones((60, 4)), T), "targets that vary"),
    "PLS, components": (lambda: PLS(9).fit(X, T), "n_components<=8"),
    "ReducedRank, rank": (lambda: ReducedRank(3).fit(X, T), "n_components<=2"),
    "OC, folds": (lambda: OC("cv").fit(X[:4], y[:4]), "in each fold"),
    "OCFS, folds": (lambda: OCFS("cv").fit(X[:4], y[:4]), "in each fold"),
    "OCFS, folds of a stream": (
        lambda: OCFS("cv").partial_fit(X[:4], y[:4]).n_features_, "one of the folds",
    ),
    "SRDA, two samples": (lambda: SRDA("cv").fit(X[:3], y[:3]), "two samples at least"),
    "ForwardFS, constant": (lambda: ForwardFS(1).fit(np.ones((60, 3)), y), "that varies"),
    "IDRQR, equal means": (
        lambda: IDRQR().fit(np.vstack([X, X]), np.repeat([0, 1], 60)), "different means",
    ),
    "KernelSRDA, equal samples": (
        lambda: KernelSRDA().fit(np.ones((60, 2)), y), "classes with different means",
    ),
    "OC, equal means": (lambda: OC().fit([[1.0], [1.0]], [0, 1]), "equal means"),
    "OC, means on a line": (lambda: OC(2).fit([[0.0, 0], [1, 2], [2, 4]], [0, 1, 2]), "span"),
    "SRDA, equal": (lambda: SRDA().fit(sparse.csr_array(np.full((6, 9), 3.3)), [0, 1] * 3), "diff"),
    "SRDA, equal LSQR": (lambda: SRDA(solver="lsqr").fit(np.ones((60, 7)), y), "diff|equal"),
    "SRDA, equal cv": (lambda: SRDA("cv").fit(np.full((6, 9), np.pi), [0, 1] * 3), "diff"),
    "OCM, far": (lambda: OCM(2).fit(np.c_[X, np.full(60, 1e140)], y), "equal means|span"),
    # numbers that are lost
    "IDRQR, one sample a class": (lambda: IDRQR(mu=0.0).fit(np.eye(2), [0, 1]), "mu"),
    "OnlineSRDA, a weight < 0": (lambda: OnlineSRDA().fit(X[:2], y[:2], [1, -1]), "got -1"),
    "OnlineSRDA, huge": (lambda: OnlineSRDA().fit(1e200 * np.eye(2), [0, 1]), "expected"),
    "IOC, huge": (lambda: IOC().fit(1e200 * np.eye(2), [0, 1]), "expected"),
    "OC, huge": (lambda: OC().fit([[1e200, 1.0], [-1e200, 1.0]], [0, 1]), "expected"),
    # parameters that need a new fit
    "SRDA, wide ridge": (lambda: SRDA().fit(W, y).set_params(alpha=1e4).transform(W), "again"),
    "LDA, solver": (lambda: LDA().fit(X, y).set_params(solver="gsvd").transform(X), "again"),
    # moments of another kind
    "KernelSRDA, no moments": (lambda: KernelSRDA().fit_moments(3), "Moments"),
    "PLS, classes": (lambda: PLS().fit(X, T).partial_fit(X, T, classes=[1]), "no classes"),
    "PLS, of classes": (lambda: PLS().fit_moments(Moments.of(X, y, second="cross")), "numeric"),
    "OC, numbers": (lambda: OC().fit_moments(Moments.of(X, T, numeric=True)), "of classes"),
    "PLS, squares": (
        lambda: PLS().fit_moments(Moments.of(X, T, second="total", numeric=True)), "'cross'",
    ),
    "FisherFS, priors": (
        lambda: FisherFS(priors="sqrt").fit_moments(Moments.of(X, y, second="total")), "'class'",
    ),
    "IG, values": (lambda: IG().fit_moments(Moments.of(X - 9, y)), "sums of samples|ones"),
    "refine, moments": (lambda: refined().fit_moments(Moments.of(X, two, second="cross")), "Fit"),
    "KernelSRDA, moments": (lambda: KernelSRDA().fit_moments(Moments.of(X, y)), "has a map"),
    "KernelSRDA, of SRDA": (
        lambda: KernelSRDA().fit_moments(SRDA().fit(X, y).moments_ * 1.0), "has a map",
    ),
    "SRDA, of a map": (lambda: SRDA().fit(X, y).merge(KernelSRDA().fit(X, y)), "KernelSRDA"),
    "ForwardFS, both": (
        lambda: ForwardFS(target="numeric").fit(X, T[:, 0]).merge(ForwardFS().fit(X, y)), "target",
    ),
    # other models to merge
    "OC, another method": (lambda: OC().fit(X, y).merge(OCM().fit(X, y)), "got OCM"),
    "OC, other priors": (lambda: OC().fit(X, y).merge(OC(priors="sqrt").fit(X, y)), "priors"),
    "OC, fewer features": (lambda: OC().fit(X, y).merge(OC().fit(X[:, :5], y)), "8 features"),
    "OC, not fitted": (lambda: OC().fit(X, y).merge(OC()), "not fitted"),
    "OCFS, a fraction": (lambda: OCFS(1).fit(X, y).merge(OCFS(1.0).fit(X, y)), "n_features"),
    "OC, other names": (
        lambda: OC().merge(*(OC().fit(pd.DataFrame(X, columns=list(names)), y)
                             for names in ("abcdefgh", "bacdefgh"))),
        "feature names",
    ),
    "OnlineSRDA, several labels": (
        lambda: OnlineSRDA().fit(X, y).merge(OnlineSRDA().fit(X, np.eye(3)[two])), "one form",
    ),
    "OnlineSRDA, several labels later": (
        lambda: OnlineSRDA().fit(X, y).partial_fit(X, np.eye(3)[two]), "one label per sample",
    ),
    "OnlineSRDA, keep": (
        lambda: OnlineSRDA().fit(X, y).set_params(keep=5).partial_fit(X, y), "keep=2000",
    ),
    "SRDA, several labels": (
        lambda: SRDA().fit(X, y).score(X, np.eye(3)[two]), "one label per sample.*OnlineSRDA",
    ),
    "SRDA, a score of several labels": (
        lambda: SRDA().fit(X, np.eye(3)[two]).score(X, np.eye(3)[two]), "one label per sample",
    ),
    "OC, a wrong name": (lambda: OC(n_component=2), "Did you mean n_components"),
    "Tfidf, a wrong name": (lambda: Tfidf(stopwords="english"), "Did you mean stop_words"),
    "OCFS, another argument": (lambda: OCFS().fit(X, y, weights=np.ones(60)), "unexpected"),
    "CCIPCA, an argument too many": (lambda: CCIPCA().partial_fit(X, y, None, None), "takes"),
    # classes and numbers
    "SRDA, numbers for classes": (lambda: SRDA().fit(X, T[:, 0]), "PLS"),
    "OnlineSRDA, numbers for classes": (lambda: OnlineSRDA().fit(X, T[:, 0]), "PLS"),
    "ForwardFS, numbers later": (
        lambda: ForwardFS().partial_fit(X, two).partial_fit(X, T[:, 0]), "target=",
    ),
    "LEACE, several labels": (lambda: LEACE().fit(X, (X[:, :4] > 0) * 1), "target="),
    "refine, three classes": (lambda: refined().fit(X, y), "two classes"),
    "refine, a third class": (lambda: refined().fit(X, two).partial_fit(X[:1], [2]), "got"),
    "refine, one class": (lambda: refined().partial_fit(X, 0 * two), "two classes"),
    "refine, a window": (lambda: Window(refined(), 50).partial_fit(X, two), "refine"),
    "refine, cv": (lambda: refined(n_components="cv").fit(X, two), "n_components"),
    "refine, an SVD": (lambda: LDA(refine=True, solver="gsvd").fit(X, two), "solver"),
    "refine, after the fit": (lambda: SRDA().fit(X, two).set_params(refine=True).coef_, "refine"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_does_not_fit_is_refused(name):
    call, word = CALLS[name]
    with pytest.raises(
        (ValueError, TypeError, AttributeError), match=f"(?si)expected .*{word}|{word}"
    ):
        call()


NOTHING_HELD_OUT = [
    OC("cv"), OCFS("cv"), FisherFS("cv"), IG("cv"), SRDA("cv"), LDA(mu="cv"), MMC(eps="cv"),
    PLS("cv"), ReducedRank(alpha="cv"), ForwardFS("cv"),
]  # fmt: skip


def test_moments_without_what_is_held_out_cannot_choose():
    for k, model in enumerate(NOTHING_HELD_OUT):
        second = "cross" if hasattr(model, "n_components") or k == 9 else "class"
        numeric = isinstance(model, PLS | ReducedRank)
        moments = Moments.of((X > 0) * 1.0, T if numeric else y, second=second, numeric=numeric)
        with pytest.raises(ParameterError, match=r"moments (of folds|with kept)"):
            clone(model).fit_moments(moments)


WRONG_TARGETS = [
    (None, "target y is None"),
    (np.where(T > T.max() - 1e-9, np.inf, T), "finite targets, got infinity"),
    (np.array(["a", "b"] * 30), "got text"),
    ([1.0, "b"] * 30, "got text"),
    ([1.0, None] * 30, "finite targets, got NaN"),
    (T + 1j, "got complex numbers"),
    (np.full(60, "2020", "M8[Y]"), "got dates"),
    (T[:, :, None], "got y of shape"),
    (T[:, :0], "got y of shape"),
    (T[:59], "60.*59"),
    (sparse.csr_array(T), "dense array, got a sparse one"),
    (T * 1e300, "expected"),
]
NUMERIC = [PLS(), ReducedRank(), CorrelationFS(), ForwardFS(target="numeric")]


@pytest.mark.parametrize("model", NUMERIC, ids=lambda model: type(model).__name__.lower()[:7])
def test_wrong_targets_are_refused_and_change_nothing(model):
    fitted, window = clone(model).fit(X, T), Window(clone(model), 20).partial_fit(X, T)
    before = bytes_of(fitted)
    for verb in (fitted.partial_fit, window.partial_fit):
        with pytest.raises(ValueError, match="2 targets as before, got 1"):
            verb(X, T[:, 0])
    for given, message in WRONG_TARGETS:
        for verb in (fitted.partial_fit, fitted.fit, window.partial_fit, clone(model).partial_fit):
            with pytest.raises(ValueError, match=message):
                verb(X, given)
        assert bytes_of(fitted) == before


def test_parameters_that_are_removed_say_so(run):
    with pytest.raises(TypeError, match="removed"):
        SRDA(scale="within")
    with pytest.raises(ParameterError, match="removed"):
        SRDA().set_params(scale="mean")
    with pytest.raises(AttributeError, match="removed"):
        _ = KernelSRDA().uses_hidden_
    command = "fit a.csv --method srda --param scale=within -o m"
    status, _, err = run(command, a__csv="a,b,class\n1,2,x\n3,1,y\n2,2,x\n4,1,y\n")
    assert (status, "removed" in err) == (2, True)
