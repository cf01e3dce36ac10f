"""
A FAISS index that reduces its vectors
======================================

FAISS finds the nearest of many vectors. With a projection of narrows as its ``LinearTransform``, an
index accepts full embeddings, and stores and compares short ones. This page is not run when the
documentation is built, since FAISS is not a dependency.
"""

import faiss
import numpy as np
from data_sets import texts
from sklearn.decomposition import TruncatedSVD

from narrows import SRDA

origin, X, y, X_test, y_test, _ = texts()
print(origin)

embed = TruncatedSVD(100, random_state=0).fit(X)
E, E_test = (embed.transform(part).astype(np.float32) for part in (X, X_test))


# %%
# ``components_`` is the matrix of the transform. ``transform`` of narrows is not centred, so that
# there is no bias.

srda = SRDA().fit(E, y)
W = np.ascontiguousarray(srda.components_, dtype=np.float32)
project = faiss.LinearTransform(W.shape[1], W.shape[0], False)
faiss.copy_array_to_vector(W.ravel(), project.A)
project.is_trained = True


# %%
# Vectors of unit length are compared by cosine. The index reduces and normalises both the vectors
# that it stores and those that it searches.

p = W.shape[0]
short = faiss.IndexPreTransform(faiss.NormalizationTransform(p, 2.0), faiss.IndexFlatIP(p))
short.prepend_transform(project)
short.add(E)

whole = faiss.IndexPreTransform(faiss.NormalizationTransform(100, 2.0), faiss.IndexFlatIP(100))
whole.add(E)


def precision(index):
    """Return the share of the ten nearest texts that have the class of the text."""
    _, nearest = index.search(E_test, 10)
    return np.mean(y[nearest] == y_test[:, None])


print(f"100 dimensions: {precision(whole):.3f}")
print(f"{p} dimensions: {precision(short):.3f}")


# %%
# The index is saved and loaded with its transforms.

faiss.write_index(short, "short.faiss")
again = faiss.read_index("short.faiss")
same = (again.search(E_test, 10)[1] == short.search(E_test, 10)[1]).all()
print(f"the loaded index finds the same neighbours: {same}")
