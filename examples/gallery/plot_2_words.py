"""
The words that OCFS keeps, by class
===================================

`OCFS` scores a column by how far the class means lie apart in it, and `class_scores_` says which
class contributes how much. With `per_class=8` each class brings its eight best columns, so that
every class is told apart by words of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from rows import texts

from narrows import OCFS

told, X, y, _, _, terms = texts()
print(told)

ocfs = OCFS(per_class=8).fit(X, y)
print(f"{ocfs.n_features_} of {X.shape[1]:,} terms are kept")

# %%
# The eight best of each class: large ones score high. Words in grey and in brackets are rarer in
# the class than elsewhere: their absence distinguishes it.

stats = ocfs.stats_
figure, ax = plt.subplots(figsize=(12, 7.5))
for row, (scores, mean) in enumerate(zip(ocfs.class_scores_, stats.means, strict=True)):
    for place, column in enumerate(np.argsort(-scores)[:8]):
        more = mean[column] > stats.mean[column]
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
ax.set_title("The words that tell each class apart, best first")
figure.tight_layout()
plt.show()
