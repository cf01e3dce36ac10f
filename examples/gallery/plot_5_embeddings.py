"""
Shorter embeddings for nearest-neighbour search
===============================================

The memory and time of a nearest-neighbour search grow with the number of dimensions. If labels are
available, a supervised projection needs few dimensions. The embeddings here have 100 dimensions
(latent semantic analysis). The score is the share of the ten nearest neighbours by cosine that are
of the same class as the text.
"""

import matplotlib.pyplot as plt
import numpy as np
from data_sets import texts
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from narrows import OC, SRDA

data, X, y, X_test, y_test, _ = texts()
print(data)

embed = TruncatedSVD(100, random_state=0).fit(X)
E, E_test = embed.transform(X), embed.transform(X_test)


def precision(Z, Z_test):
    """Return the share of the ten nearest texts that have the class of the text."""
    search = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(Z)
    return np.mean(y[search.kneighbors(Z_test, return_distance=False)] == y_test[:, None])


# %%
# Each method is fitted once: the first p directions are the best p.

sizes = (2, 5, 10, 19)
everything = precision(E, E_test)
print(f"all 100 dimensions: {everything:.3f}")
figure, ax = plt.subplots(figsize=(8, 4.5))
for name, method, style in (
    ("SRDA", SRDA(), "-o"),
    ("OC", OC(), "--s"),
    ("PCA, without labels", PCA(19, random_state=0), ":^"),
):
    Z, Z_test = method.fit(E, y).transform(E), method.transform(E_test)
    found = [precision(Z[:, :p], Z_test[:, :p]) for p in sizes]
    print(f"{name}:", ", ".join(f"{p} {f:.3f}" for p, f in zip(sizes, found, strict=True)))
    ax.plot(sizes, found, style, label=name)
ax.axhline(everything, color="black", lw=1, ls=":", label="all 100 dimensions")
ax.set_xticks(sizes)
ax.set_ylim(0, 1)
ax.set_xlabel("dimensions")
ax.set_ylabel("neighbours of the same class")
ax.set_title("Ten nearest neighbours of held-out texts")
ax.legend(loc="lower right", frameon=False)
ax.grid(alpha=0.25)
figure.tight_layout()
plt.show()
