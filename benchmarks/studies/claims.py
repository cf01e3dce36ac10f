"""The figures that the documentation leads with, taken from other results."""

from __future__ import annotations

from benchmarks.tables import Table

# what is measured, and the page; then twice: a name, and its file, column and first cells
_CLAIMS = [
    (
        ("micro-F1 of the best of three classifiers, 20 Newsgroups", "discriminants"),
        ("`SRDA`, 19 dimensions, 5-NN", "directions | 19 | `SRDA()` | 5-NN"),
        ("all 130,152 features, linear SVM", "directions | 19 | all 130,152 features | linear SVM"),
    ),
    (
        ("micro-F1 of a linear SVM, 20 Newsgroups", "methods"),
        ("`OnlineSRDA`, one pass", "few_dimensions | onlinesrda | 20 Newsgroups | linear SVM"),
        (
            "`TruncatedSVD`, 19 dimensions",
            "few_dimensions | truncatedsvd | 20 Newsgroups | linear SVM",
        ),
    ),
    (
        ("seconds, 20 Newsgroups, one core", "online_srda"),
        ("`OnlineSRDA`", "online_srda_cost | seconds | OnlineSRDA"),
        ("`SGDClassifier`", "online_srda_cost | seconds | SGDClassifier"),
    ),
    (
        ("seconds, a million sparse samples", "speed"),
        ("`OCFS`", "speed | median s | rcv1_like_1m | OCFS"),
        ("`chi2` of scikit-learn", "speed | median s | rcv1_like_1m | chi2"),
    ),
    (
        ("seconds, 100,000 x 384", "speed"),
        ("`SRDA`", "speed | median s | embeddings_384 | SRDA"),
        (
            "`LinearDiscriminantAnalysis`",
            "speed | median s | embeddings_384 | LinearDiscriminantAnalysis",
        ),
    ),
    (
        ("seconds, 100,000 x 384", "speed"),
        ("`PCA(50)`", "speed | median s | embeddings_384 | PCA(50)"),
        (
            "`PCA(50)` of scikit-learn",
            "speed | median s | embeddings_384 | PCA(50) of scikit-learn",
        ),
    ),
    (
        ("seconds, 100,000 x 384", "speed"),
        ("`KernelSRDA`", "speed | median s | embeddings_384 | KernelSRDA"),
        (
            "`Nystroem`, `RidgeClassifier`",
            "speed | median s | embeddings_384 | Nystroem, RidgeClassifier",
        ),
    ),
    (
        ("MB above the size of the model, 0.53 GB of svmlight", "files"),
        (
            "`narrows fit --method ocfs`",
            "files | memory above the model's own, MB | .svm, 0.53 GB | 260000 | ocfs",
        ),
        (
            "`load_svmlight_file`, `chi2`",
            "files | memory above the model's own, MB | .svm, 0.53 GB | 260000 | "
            "load_svmlight_file + chi2",
        ),
    ),
    (
        ("share of ten neighbours of the same class", "embeddings"),
        ("`SRDA`, 19 dimensions", "embeddings_neighbours | 19 | SRDA"),
        ("all 384 dimensions", "embeddings_neighbours | 384 | all features"),
    ),
    (
        ("accuracy before a sample is learned, electricity", "streams"),
        ("`OnlineSRDA`, half-life 200", "streams_by_tenth | all | electricity | OnlineSRDA | 200"),
        ("random forest of River", "streams_by_tenth | all | electricity | River, ARF"),
    ),
    (
        ("seconds, 4 million samples on Dask", "clusters"),
        ("`OCFS`, two processes", "dask | seconds | ocfs | 2 | 16"),
        ("`OCFS`, one process", "dask | seconds | ocfs | 1 | 16"),
    ),
    (
        ("seconds, a million samples on Spark", "clusters"),
        ("`OCFS`", "spark | seconds | narrows OCFS, vectors"),
        ("F-test of MLlib", "spark | seconds | MLlib UnivariateFeatureSelector, F, vectors"),
    ),
]


class Claims:
    """A row for each figure of narrows, and that of what it is compared with."""

    name = "claims"

    def table(self) -> Table:
        rows = []
        for (what, page), *both in _CLAIMS:
            cells = [part for who, where in both for part in (who, _value(where))]
            rows.append([what, *cells, f"[{page}](benchmarks/{page}.md)"])
        return Table(["measured", "narrows", "value", "compared with", "its value", "page"], rows)


def _value(where: str) -> str:
    name, *rest = where.split(" | ")
    return Table.read(name).cell(*rest).strip("*")
