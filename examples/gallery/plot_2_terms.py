"""
The most important terms of each class
======================================

`OCFS` (orthogonal centroid feature selection) scores a feature by the distances between the class
means. `class_scores_` holds the contribution of each class. `OCFS(per_class=8)` selects the eight
best features of every class.
"""

import matplotlib.pyplot as plt
import numpy as np
from data_sets import texts

from narrows import OCFS

name, X, y, _, _, terms = texts()
print(name)

ocfs = OCFS(per_class=8).fit(X, y)
print(f"{ocfs.n_features_} of {X.shape[1]:,} terms are selected")

# %%
# The eight best terms of each class; larger terms have higher scores. Grey terms in brackets are
# rarer in the class than elsewhere: their absence distinguishes the class.

moments = ocfs.moments_
figure, ax = plt.subplots(figsize=(12, 7.5))
for row, (scores, mean) in enumerate(zip(ocfs.class_scores_, moments.means, strict=True)):
    for place, column in enumerate(np.argsort(-scores)[:8]):
        more = mean[column] > moments.mean[column]
        ax.text(
            place, row, terms[column] if more else f"({terms[column]})",
            size=7.5 + 3 * np.sqrt(scores[column] / scores.max()), color="k" if more else "0.5",
            va="center", parse_math=False,
        )  # fmt: skip
ax.set_yticks(range(len(ocfs.classes_)), ocfs.classes_)
ax.set_ylim(len(ocfs.classes_) - 0.5, -0.5)
ax.set_xlim(-0.1, 8)
ax.set_xticks([])
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
ax.set_title("The eight best terms of each class, best first")
figure.tight_layout()
plt.show()
