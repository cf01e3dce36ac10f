"""Make these model files and checkpoints, and what they answer, with version 0.3.0 of narrows.

Run ``python -m tests.models_0_3_0.make`` where 0.3.0 is installed. `tests/test_old_models.py`
holds later versions to the answers.
"""

import json
import os
from pathlib import Path

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

WHEN = 1_700_000_000  # the inputs' time of modification, which a checkpoint holds
_ONLINE = "--method onlinesrda --param keep=20 --param random_state=0"
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
    "forwardfs": (ForwardFS(n_features=3), False, "text"),
    "forwardfs_groups": (ForwardFS(n_features=2, groups=list("aabbccc")), False, "text"),
    "forwardfs_target": (ForwardFS(n_features=3), False, "target"),
    "correlationfs": (CorrelationFS(n_features=3), True, "target"),
    "pls": (PLS(standardize=True), False, "target"),
    "reducedrank": (ReducedRank(), False, "target"),
    "srda_sums": (SRDA(keep=0), False, "text"),
    "srda_standardize": (SRDA(standardize=[0, 3]), False, "text"),
    "kernelsrda_standardize": (KernelSRDA(n_hidden=10, standardize=True), False, "text"),
    "lda_more": (LDA(n_components=5), False, "text"),
    "onlinesrda_default": (OnlineSRDA(), False, "text"),
}
# name: data, command
FILES = {
    "from_csv": ("a.csv", "--method oc"),
    "from_svm": ("a.svm", "--method ocfs --n-features 3 --zero-based"),
    "from_texts": ("a.jsonl", "--method ocfs --n-features 2"),
    "from_hashed_texts": ("a.jsonl", "--method oc --vectorizer hashing --hash-columns 32"),
    "from_table": ("t.csv", "--table --label class --method srda"),
    "from_table_columns": ("t.csv", "--table --label class --method forwardfs --n-features 2"),
    "from_targets": ("t.csv", "--table --target length"),
    "from_pairs": ("a.jsonl", "--method oc --ngram-range 1,2 --max-df 0.9"),
}
# name: data, command, rows of a chunk, how many checkpoints are written before the interrupt
RUNS = {
    "csv_oc": ("a.csv", "--method oc", 20, 2),
    "csv_srda": ("a.csv", "--method srda --alpha 1", 20, 2),
    "csv_online": ("a.csv", _ONLINE, 20, 2),
    "texts": ("a.jsonl", "--method ocfs --n-features 2", 2, 2),
    "table": ("t.csv", "--table --label class --method srda --alpha 1", 20, 2),
    "table_target": ("t.csv", "--table --target length --method pls", 20, 2),
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


def write_table(path):
    """Write a table of numbers and categories, of which some are missing."""
    rng, codes = np.random.default_rng(11), np.arange(60) % 3
    lines = ["weight,colour,day,length,class"]
    for k, code in enumerate(codes.tolist()):
        weight = "" if k % 11 == 5 else f"{rng.normal(code):.3f}"
        colour = "" if k % 13 == 7 else ["red", "blue", "green"][int(rng.integers(3)) % (code + 1)]
        length = f"{rng.normal(2 * code):.3f}"
        lines.append(f"{weight},{colour},2026-01-{k % 28 + 1:02},{length},{'abc'[code]}")
    path.write_text("\n".join([*lines, ""]))


def make_models(folder):
    """Write models, the files that some are fitted to, and the answers of all."""
    from narrows.command.cli import main

    expected = {}
    for name, (estimator, kind, labels) in MODELS.items():
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
    for name, (data, command) in FILES.items():
        model, reduced = folder / f"{name}.narrows", folder / f"{name}.npz"
        assert main(["fit", str(folder / data), *command.split(), "-o", str(model)]) == 0
        assert main(["transform", str(model), str(folder / data), "-o", str(reduced)]) == 0
    X, y = samples(False, "text")
    stats = narrows.ClassStats.of(X + 1e6, y, second="class")  # kept about an origin
    narrows.save(FisherFS(n_features=3, priors="sqrt").fit_stats(stats), folder / "origin.narrows")
    expected |= {
        f"origin/{k}": a for k, a in answer(narrows.load(folder / "origin.narrows"), X).items()
    }
    np.savez_compressed(folder / "expected.npz", **expected)


def command_of(name):
    """Return the words of a fit that writes checkpoints."""
    data, command, rows, _ = RUNS[name]
    more = f"--chunk-rows {rows} --every {rows} --checkpoint {name}.checkpoint -o m.narrows"
    return ["fit", data, *command.split(), *more.split()]


def make_checkpoints():
    """Write a checkpoint of each, in the folder where the data lie, and what the fits reduce."""
    from narrows.command.cli import main
    from narrows.io import checkpoint
    from narrows.io.checkpoint import save_checkpoint as save

    expected = {}
    for name, (data, *_, times) in RUNS.items():
        saved = []

        def interrupted(*args, saved=saved, times=times):
            saved.append(args)
            if len(saved) == times:  # the command writes it where it ends
                raise KeyboardInterrupt
            save(*args)

        os.utime(data, (WHEN, WHEN))
        assert main(command_of(name)) == 0  # removes the checkpoint
        assert main(["transform", "m.narrows", data, "-o", "reduced.npz"]) == 0
        expected |= {f"{name}/{key}": array for key, array in np.load("reduced.npz").items()}
        checkpoint.save_checkpoint = interrupted
        assert main(command_of(name)) == 130
        checkpoint.save_checkpoint = save
    np.savez_compressed("checkpoints.npz", **expected)


if __name__ == "__main__":
    assert narrows.__version__ == "0.3.0", narrows.__version__
    folder = Path(__file__).parent
    write_table(folder / "t.csv")
    make_models(folder)
    os.chdir(folder)
    make_checkpoints()
    for name in ("m.narrows", "reduced.npz"):
        (folder / name).unlink()
