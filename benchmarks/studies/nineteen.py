"""What is left of 20 Newsgroups in 19 directions."""

from __future__ import annotations

from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import IDRQR, MMC, OC, SRDA

ASKED = (5, 10, 19)


class Nineteen:
    """Micro-F1 of a linear SVM on the first few directions, and of 15 nearest neighbours."""

    name = "directions"

    def table(self) -> Table:
        split = corpora.news()
        X, y, X_test, y_test = split.X, split.y, split.X_test, split.y_test
        svm = LinearSVC(random_state=0)
        knn = KNeighborsClassifier(15, metric="cosine")
        rows = [
            [
                "all 130,152 features",
                "",
                "",
                float(svm.fit(X, y).score(X_test, y_test)),
                float(knn.fit(X, y).score(X_test, y_test)),
            ]
        ]
        for method in (SRDA(), IDRQR(), OC(), MMC(), MMC(eps=0.1)):
            Z, Z_test = (method.fit(X, y).transform(part) for part in (X, X_test))
            scores = [svm.fit(Z[:, :p], y).score(Z_test[:, :p], y_test) for p in ASKED]
            last = knn.fit(Z[:, :19], y).score(Z_test[:, :19], y_test)
            rows.append([f"`{method!r}`", *map(float, scores), float(last)])
        header = ["micro-F1", *(f"first {p}" for p in ASKED[:-1]), "19", "19, 15-NN (cosine)"]
        return Table(header, rows)
