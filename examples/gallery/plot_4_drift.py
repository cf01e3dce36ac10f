"""
A stream that drifts
====================

`OnlineSRDA` tells each row before it learns it, and keeps the score: an honest test that costs
nothing. Where the stream changes, `half_life` lets what was counted fade. Real mails, in time
order, from NARROWS_DATA; without it a generated stream whose words change their meaning half way.
"""

import matplotlib.pyplot as plt
import numpy as np
from rows import file, whole
from scipy import sparse
from sklearn.preprocessing import normalize

from narrows import OnlineSRDA


def generated(n=10_000, words=300, seed=0):
    """Rows of twelve words; thirty tell the two classes apart, other thirty after half the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    telling = (np.arange(n) >= n // 2) * 30 + 15 * y
    mine = telling[:, None] + rng.integers(0, 15, (n, 2))
    columns = np.hstack([mine, rng.integers(0, words, (n, 10))])
    rows = np.repeat(np.arange(n), 12)
    return sparse.csr_array((np.ones(12 * n), (rows, columns.ravel())), shape=(n, words)), y


mails = file("katakis_spam_stream.npz")
X, y = whole(mails) if mails else generated()
X = normalize(X)
print("Data:", "mails, spam or not" if mails else "generated", X.shape)

# %%
# Batches of 50. `score_window_` is the share of the last 1,000 rows predicted correctly before
# they were learnt.

STEP = 50
figure, ax = plt.subplots(figsize=(9, 4.2))
for half_life, style in ((None, "-"), (2000, "-."), (200, "--")):
    learner, told = OnlineSRDA(half_life=half_life, random_state=0), []
    for start in range(0, len(y), STEP):
        learner.partial_fit(X[start : start + STEP], y[start : start + STEP])
        told.append(learner.score_window_)
    name = "nothing forgotten" if half_life is None else f"half_life={half_life:,}"
    print(f"{name}: {learner.score_:.4f} of all rows predicted correctly before they were learnt")
    ax.plot(STEP * np.arange(1, len(told) + 1), told, style, label=f"{name}: {learner.score_:.3f}")
ax.set_xlim(1000, len(y))
ax.set_xlabel("rows, in the order in which they came")
ax.set_ylabel("predicted correctly, of the last 1,000")
ax.set_title("Predicted before learnt")
ax.legend(loc="lower right", frameon=False)
ax.grid(alpha=0.25)
figure.tight_layout()
plt.show()
