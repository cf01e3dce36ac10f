"""
A map of texts in twenty groups
===============================

`SRDA` (spectral regression discriminant analysis) reduces sparse texts of tens of thousands of
terms to 19 features, one less than there are groups. The example compares the accuracy of three
classifiers before and after, and draws a map of the held-out texts.
"""

import matplotlib.pyplot as plt
import numpy as np
from data_sets import texts
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from narrows import SRDA
from narrows.evaluate.displays import COLOURS

name, X, y, X_test, y_test, _ = texts()
print(name)

# %%
# Reduce the texts, and compare classifiers on 19 features with those on all terms.

srda = SRDA().fit(X, y)
Z, Z_test = srda.transform(X), srda.transform(X_test)
for features, train, test in (("all terms", X, X_test), ("SRDA", Z, Z_test)):
    print(f"{features}: {train.shape[1]:,} features")
    for classifier in (LinearSVC(random_state=0), LogisticRegression(), KNeighborsClassifier()):
        right = classifier.fit(train, y).score(test, y_test)
        print(f"  {type(classifier).__name__}: accuracy {right:.3f}")

# %%
# t-SNE draws 1,000 held-out texts by their 19 features, without labels. The name of each group is
# at its median.

some = np.random.default_rng(0).permutation(len(y_test))[:1000]
points = TSNE(init="pca", random_state=0).fit_transform(Z_test[some])
figure, ax = plt.subplots(figsize=(9, 7.5))
for k, group in enumerate(srda.classes_):
    mine = points[y_test[some] == group]
    colour = COLOURS[k % len(COLOURS)]
    ax.scatter(mine[:, 0], mine[:, 1], s=7, color=colour, alpha=0.6, linewidths=0)
    if len(mine):
        box = {"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 1}
        x, y_mid = np.median(mine, axis=0)
        ax.text(x, y_mid, group, size=8, ha="center", va="center", bbox=box)
ax.set_axis_off()
ax.set_title("Held-out texts, reduced to 19 features")
figure.tight_layout()
plt.show()
