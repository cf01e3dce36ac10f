"""
Accuracy on a stream with concept drift
=======================================

`OnlineSRDA` predicts each sample before it learns it, and stores the accuracy. If the stream
changes, `half_life` makes old samples decay. The data are real mails in time order from the folder
NARROWS_DATA, or else a generated stream whose terms change their meaning half-way.
"""

import matplotlib.pyplot as plt
import numpy as np
from data_sets import file, whole
from scipy import sparse
from sklearn.preprocessing import normalize

from narrows import OnlineSRDA


def generated(n=10_000, words=300, seed=0):
    """Samples of twelve words; thirty separate two classes, thirty others in the second half."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    separating = (np.arange(n) >= n // 2) * 30 + 15 * y
    mine = separating[:, None] + rng.integers(0, 15, (n, 2))
    columns = np.hstack([mine, rng.integers(0, words, (n, 10))])
    rows = np.repeat(np.arange(n), 12)
    return sparse.csr_array((np.ones(12 * n), (rows, columns.ravel())), shape=(n, words)), y


mails = file("katakis_spam_stream.npz")
X, y = whole(mails) if mails else generated()
X = normalize(X)
print("Data:", "mails, spam or not" if mails else "generated", X.shape)

# %%
# The stream comes in batches of 50. `score_window_` is the accuracy on the last 1,000 samples, each
# predicted before it was learned.

STEP = 50
figure, ax = plt.subplots(figsize=(9, 4.2))
for half_life, style in ((None, "-"), (2000, "-."), (200, "--")):
    learner, scores = OnlineSRDA(half_life=half_life, random_state=0), []
    for start in range(0, len(y), STEP):
        learner.partial_fit(X[start : start + STEP], y[start : start + STEP])
        scores.append(learner.score_window_)
    name = "without decay" if half_life is None else f"half_life={half_life:,}"
    print(f"{name}: accuracy {learner.score_:.4f} on all samples")
    ax.plot(
        STEP * np.arange(1, len(scores) + 1), scores, style, label=f"{name}: {learner.score_:.3f}"
    )
ax.set_xlim(1000, len(y))
ax.set_xlabel("samples, in the order of the stream")
ax.set_ylabel("accuracy on the last 1,000 samples")
ax.set_title("Accuracy of predictions before learning")
ax.legend(loc="lower right", frameon=False)
ax.grid(alpha=0.25)
figure.tight_layout()
plt.show()
