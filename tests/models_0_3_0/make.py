"""What the models and checkpoints beside this file were made of by version 0.3.0 of narrows.

`tests/test_old_models.py` holds later versions to the answers. The functions that made the files
need 0.3.0, and are in the history of this module.
"""

import numpy as np
from scipy import sparse

import narrows

WHEN = 1_700_000_000  # the inputs' time of modification, which a checkpoint holds
_ONLINE = "--method onlinesrda --param keep=20 --param random_state=0"
# name: estimator, whether samples are sparse or of which kind, labels
MODELS = {
    "ocfs": (narrows.OCFS(n_features=3), True, "text"),
    "ocfs_half_life": (narrows.OCFS(n_features=3, half_life=20), False, "numbers"),
    "ocfs_per_class": (narrows.OCFS(per_class=2), False, "text"),
    "mmcfs": (narrows.MMCFS(n_features=2, eps=0.1), False, "text"),
    "variancefs": (narrows.VarianceFS(n_features=3), False, "numbers"),
    "fisherfs": (narrows.FisherFS(n_features=2, priors=[0.2, 0.3, 0.5]), False, "text"),
    "ig": (narrows.IG(n_features=3), True, "text"),
    "chi": (narrows.CHI(n_features=3), True, "numbers"),
    "mi": (narrows.MI(n_features=3, priors="sqrt"), True, "text"),
    "df": (narrows.DF(energy=0.9), True, "text"),
    "oc": (narrows.OC(), False, "text"),
    "oc_indicator": (narrows.OC(), True, "indicator"),
    "ocm": (narrows.OCM(n_components=2), True, "numbers"),
    "mmc": (narrows.MMC(n_components=2, eps=0.1), False, "text"),
    "lda": (narrows.LDA(), False, "text"),
    "lda_gsvd": (narrows.LDA(solver="gsvd"), False, "numbers"),
    "mmc_sparse": (narrows.MMC(n_components=2), True, "numbers"),
    "pca": (narrows.PCA(n_components=3), False, "text"),
    "lda_cv": (narrows.LDA(mu="cv", n_components="cv"), False, "text"),
    "srda": (narrows.SRDA(), False, "text"),
    "srda_float32": (narrows.SRDA(), "float32", "text"),  # products of few samples wait
    "srda_many_float32": (
        narrows.SRDA(alpha="scale"),
        "many float32",
        "numbers",
    ),  # and of many do not
    "srda_sparse": (narrows.SRDA(alpha="scale", half_life=30), True, "text"),
    "srda_lsqr": (narrows.SRDA(alpha=1.0, solver="lsqr", max_iter=5), True, "text"),
    "kernelsrda": (narrows.KernelSRDA(n_hidden=10, alpha="cv"), False, "text"),
    "kernelsrda_relu": (
        narrows.KernelSRDA(n_hidden=10, kernel="relu", alpha=1.0),
        False,
        "numbers",
    ),
    "ioc": (narrows.IOC(n_components=3), False, "text"),
    "iis": (narrows.IIS(tol=0.5, patience=5), True, "text"),
    "immc": (narrows.IMMC(eps=0.2, theta=0.5), False, "numbers"),
    "ilda": (narrows.ILDA(), False, "text"),
    "ccipca": (narrows.CCIPCA(n_components=3), False, "text"),
    "idrqr": (narrows.IDRQR(), False, "text"),
    "idrqr_transport": (narrows.IDRQR(mu=5.0, update="transport"), True, "numbers"),
    "onlinesrda": (narrows.OnlineSRDA(random_state=0, keep=20), True, "text"),
    "onlinesrda_softmax": (narrows.OnlineSRDA(keep=0), False, "numbers"),  # with loss="softmax"
    "forwardfs": (narrows.ForwardFS(n_features=3), False, "text"),
    "forwardfs_groups": (narrows.ForwardFS(n_features=2, groups=list("aabbccc")), False, "text"),
    "forwardfs_target": (narrows.ForwardFS(n_features=3), False, "target"),
    "correlationfs": (narrows.CorrelationFS(n_features=3), True, "target"),
    "pls": (narrows.PLS(standardize=True), False, "target"),
    "reducedrank": (narrows.ReducedRank(), False, "target"),
    "srda_sums": (narrows.SRDA(keep=0), False, "text"),
    "srda_standardize": (narrows.SRDA(standardize=[0, 3]), False, "text"),
    "kernelsrda_standardize": (narrows.KernelSRDA(n_hidden=10, standardize=True), False, "text"),
    "lda_more": (narrows.LDA(n_components=5), False, "text"),
    "onlinesrda_default": (narrows.OnlineSRDA(), False, "text"),
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


def command_of(name):
    """Return the words of a fit that writes checkpoints."""
    data, command, rows, _ = RUNS[name]
    more = f"--chunk-rows {rows} --every {rows} --checkpoint {name}.checkpoint -o m.narrows"
    return ["fit", data, *command.split(), *more.split()]
