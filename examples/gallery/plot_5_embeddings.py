"""
Dense embeddings, smaller before a search
=========================================

A search for nearest neighbours pays for every number of an embedding, in memory and in time. Where
labels are there, a supervised projection keeps what makes neighbours alike. Here the embeddings are
100 dense numbers a text (latent semantic analysis; any other would do), and what is asked is how
many of a text's ten nearest neighbours, by cosine, are of its own class.
"""

import matplotlib.pyplot as plt
import numpy as np
from rows import texts
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from narrows import OC, SRDA

told, X, y, X_test, y_test, _ = texts()
print(told)

embed = TruncatedSVD(100, random_state=0).fit(X)
E, E_test = embed.transform(X), embed.transform(X_test)


def precision(Z, Z_test):
    """The share of the ten nearest texts that are of the class of the one that asks."""
    search = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(Z)
    return np.mean(y[search.kneighbors(Z_test, return_distance=False)] == y_test[:, None])


# %%
# One fit of each method serves all sizes: the directions are ordered.

sizes = (2, 5, 10, 19)
everything = precision(E, E_test)
print(f"all 100 numbers: {everything:.3f}")
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
ax.axhline(everything, color="black", lw=1, ls=":", label="all 100 numbers")
ax.set_xticks(sizes)
ax.set_ylim(0, 1)
ax.set_xlabel("numbers a text")
ax.set_ylabel("neighbours of the same class")
ax.set_title("Ten nearest neighbours of the texts held out")
ax.legend(loc="lower right", frameon=False)
ax.grid(alpha=0.25)
figure.tight_layout()
plt.show()
