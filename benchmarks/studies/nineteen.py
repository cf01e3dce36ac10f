"""What is left of 20 Newsgroups in 19 directions."""

from __future__ import annotations

from sklearn.neighbors import KNeighborsClassifier

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import by_classifier, f1
from benchmarks.tables import Table
from narrows import IDRQR, MMC, OC, SRDA

ASKED = (5, 10, 19)


class Nineteen:
    """Micro-F1 by each classifier on the first few directions, and by 15 nearest neighbours."""

    name = "directions"

    def table(self) -> Table:
        split = corpora.news()
        X, y, X_test, y_test = split.X, split.y, split.X_test, split.y_test
        knn, near = KNeighborsClassifier(15, metric="cosine"), "15-NN (cosine)"
        name, none = "all 130,152 features", [""] * 3
        rows = by_classifier([name], [none, none, list(map(float, f1(X, y, X_test, y_test)))])
        rows.append([name, near, "", "", float(knn.fit(X, y).score(X_test, y_test))])
        for method in (SRDA(), IDRQR(), OC(), MMC(), MMC(eps=0.1)):
            Z, Z_test = (method.fit(X, y).transform(part) for part in (X, X_test))
            scores = [list(map(float, f1(Z[:, :p], y, Z_test[:, :p], y_test))) for p in ASKED]
            last = knn.fit(Z[:, :19], y).score(Z_test[:, :19], y_test)
            rows += by_classifier([f"`{method!r}`"], scores)
            rows.append([f"`{method!r}`", near, "", "", float(last)])
        header = ["micro-F1", "classifier", *(f"first {p}" for p in ASKED[:-1]), "19"]
        return Table(header, rows)
