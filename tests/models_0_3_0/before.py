"""Models, files and answers that `make` writes."""

import json

import numpy as np
from scipy import sparse

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
    MI,
    MMC,
    MMCFS,
    OC,
    OCFS,
    OCM,
    PCA,
    SRDA,
    ClassStats,
    FisherFS,
    KernelSRDA,
    OnlineSRDA,
    VarianceFS,
)

# name: estimator, whether samples are sparse or of which kind, labels
MODELS = {
    "ocfs": (OCFS(n_features=3), True, "text"),
    "ocfs_half_life": (OCFS(n_features=3, half_life=20), False, "numbers"),
    "ocfs_per_class": (OCFS(per_class=2), False, "text"),
    "mmcfs": (MMCFS(n_features=2, eps=0.1), False, "text"),
    "variancefs": (VarianceFS(n_features=3), False, "numbers"),
    "fisherfs": (FisherFS(n_features=2, priors=[0.2, 0.3, 0.5]), False, "text"),
    "ig": (IG(n_features=3), True, "text"),
    "chi": (CHI(n_features=3), True, "numbers"),
    "mi": (MI(n_features=3, priors="sqrt"), True, "text"),
    "df": (DF(energy=0.9), True, "text"),
    "oc": (OC(), False, "text"),
    "oc_indicator": (OC(), True, "indicator"),
    "ocm": (OCM(n_components=2), True, "numbers"),
    "mmc": (MMC(n_components=2, eps=0.1), False, "text"),
    "lda": (LDA(), False, "text"),
    "lda_gsvd": (LDA(solver="gsvd"), False, "numbers"),
    "mmc_sparse": (MMC(n_components=2), True, "numbers"),
    "pca": (PCA(n_components=3), False, "text"),
    "lda_cv": (LDA(mu="cv", n_components="cv"), False, "text"),
    "srda": (SRDA(), False, "text"),
    "srda_float32": (SRDA(), "float32", "text"),  # products of few samples wait
    "srda_many_float32": (SRDA(alpha="scale"), "many float32", "numbers"),  # and of many do not
    "srda_sparse": (SRDA(alpha="scale", half_life=30), True, "text"),
    "srda_lsqr": (SRDA(alpha=1.0, solver="lsqr", max_iter=5), True, "text"),
    "kernelsrda": (KernelSRDA(n_hidden=10, alpha="cv"), False, "text"),
    "kernelsrda_relu": (KernelSRDA(n_hidden=10, kernel="relu", alpha=1.0), False, "numbers"),
    "ioc": (IOC(n_components=3), False, "text"),
    "iis": (IIS(tol=0.5, patience=5), True, "text"),
    "immc": (IMMC(eps=0.2, theta=0.5), False, "numbers"),
    "ilda": (ILDA(), False, "text"),
    "ccipca": (CCIPCA(n_components=3), False, "text"),
    "idrqr": (IDRQR(), False, "text"),
    "idrqr_transport": (IDRQR(mu=5.0, update="transport"), True, "numbers"),
    "onlinesrda": (OnlineSRDA(random_state=0, keep=20), True, "text"),
    "onlinesrda_softmax": (OnlineSRDA(keep=0), False, "numbers"),  # with loss="softmax"
}
FILES = {
    "from_csv": ("a.csv", "--method oc"),
    "from_svm": ("a.svm", "--method ocfs --n-features 3 --zero-based"),
    "from_texts": ("a.jsonl", "--method ocfs --n-features 2"),
    "from_hashed_texts": ("a.jsonl", "--method oc --vectorizer hashing --hash-columns 32"),
}
TEXTS = [
    "a red apple",
    "green apple pie",
    "the old car",
    "a fast red car",
    "apple tree",
    "car park",
]


def samples(kind, labels):
    """Samples that are dense or sparse, or of single precision, and their labels."""
    rng, n = np.random.default_rng(7), 600 if kind == "many float32" else 60
    codes = np.arange(n) % 3
    X = rng.normal(size=(n, 7)) + rng.normal(size=(3, 7))[codes]
    if "float32" in str(kind):
        X = X.astype(np.float32)
    if kind is True:
        X = np.where(rng.random(X.shape) < [[0.3], [0.5], [0.7]][0], X, 0.0)
    y = {
        "text": np.array(["ant", "bee", "cat"])[codes],
        "numbers": codes,
        "indicator": np.eye(3, dtype=int)[codes],
        "target": X[:, 0] - 2 * X[:, 3] + codes,
    }[labels]
    return sparse.csr_array(X) if kind is True else X, y


def answer(estimator, X):
    reduced = estimator.transform(X)
    arrays = {
        "transform": reduced.toarray() if sparse.issparse(reduced) else reduced,
        "n_samples": np.array(estimator.n_samples_seen_),
    }
    if hasattr(estimator, "classes_"):
        arrays |= {"classes": estimator.classes_, "class_count": estimator.class_count_}
    if hasattr(estimator, "predict"):
        arrays["predict"] = estimator.predict(X)
    for name in ("scores_", "eigenvalues_", "alpha_", "mu_"):
        if hasattr(estimator, name):
            arrays[name] = np.asarray(getattr(estimator, name))
    return arrays


def write_files(folder):
    X, y = samples(False, "text")
    lines = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    (folder / "a.csv").write_text("\n".join(["a,b,c,d,e,f,g,class", *lines, ""]))
    entries = [" ".join(f"{k}:{v!r}" for k, v in enumerate(row)) for row in X.tolist()]
    codes = np.arange(60) % 3
    (folder / "a.svm").write_text(
        "".join(f"{c} {e}\n" for c, e in zip(codes, entries, strict=True))
    )
    rows = [{"text": t, "label": "car" if "car" in t else "apple"} for t in TEXTS]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def make(folder, models=MODELS, files=FILES):
    """Write models, the files that some are fitted to, and the answers of all."""
    from narrows.command.cli import main

    expected = {}
    for name, (estimator, kind, labels) in models.items():
        X, y = samples(kind, labels)
        streamed = hasattr(estimator, "partial_fit")
        first = slice(len(y) * 2 // 3)
        fitted = estimator.fit(X[first], y[first])
        narrows.save(fitted, folder / f"{name}.narrows")
        expected |= {f"{name}/{key}": a for key, a in answer(fitted, X).items()}
        if streamed:
            fitted.partial_fit(X[first.stop :], y[first.stop :])
            expected |= {f"{name}/later/{key}": a for key, a in answer(fitted, X).items()}
    write_files(folder)
    for name, (data, command) in files.items():
        model, reduced = folder / f"{name}.narrows", folder / f"{name}.npz"
        assert main(["fit", str(folder / data), *command.split(), "-o", str(model)]) == 0
        assert main(["transform", str(model), str(folder / data), "-o", str(reduced)]) == 0
    X, y = samples(False, "text")
    stats = ClassStats.of(X + 1e6, y, second="class")  # kept about an origin
    narrows.save(FisherFS(n_features=3, priors="sqrt").fit_stats(stats), folder / "origin.narrows")
    expected |= {
        f"origin/{k}": a for k, a in answer(narrows.load(folder / "origin.narrows"), X).items()
    }
    np.savez_compressed(folder / "expected.npz", **expected)
