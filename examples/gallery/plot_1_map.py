"""
A text as 19 numbers, and a map
===============================

Twenty groups of texts, each text a sparse row of tens of thousands of terms. `SRDA` turns it into
19 numbers, one less than there are groups. This says what a linear SVM loses by that, and draws
where the texts held out come to lie.
"""

import matplotlib.pyplot as plt
import numpy as np
from rows import texts
from sklearn.manifold import TSNE
from sklearn.svm import LinearSVC

from narrows import SRDA
from narrows.evaluate.figure import COLOURS

told, X, y, X_test, y_test, _ = texts()
print(told)

# %%
# Reduce, and compare with all terms.

srda = SRDA().fit(X, y)
Z, Z_test = srda.transform(X), srda.transform(X_test)
for name, train, test in (("all terms", X, X_test), ("SRDA", Z, Z_test)):
    right = LinearSVC(random_state=0).fit(train, y).score(test, y_test)
    print(f"{name}: {train.shape[1]:,} numbers a text, {right:.3f} predicted correctly")

# %%
# t-SNE, which never sees a label, puts 1,000 of the texts held out on a plane, by their 19 numbers
# alone. A name stands at the median of its group.

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
ax.set_title("Texts held out, by their 19 numbers")
figure.tight_layout()
plt.show()
