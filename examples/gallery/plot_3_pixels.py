"""
Selected pixels and directions of digits and faces
==================================================

If the features are pixels, the result of a reduction can be drawn. `OCFS` selects pixels, and each
direction of `SRDA` is a picture. The digits come with scikit-learn. The faces (ORL, 40 people with
10 pictures each, 10,304 pixels) need the folder NARROWS_DATA.
"""

import matplotlib.pyplot as plt
import numpy as np
from data_sets import file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from narrows import OCFS, SRDA

sets = [("digits", *load_digits(return_X_y=True), (8, 8))]
faces = file("orl_faces.npz")
if faces:
    sets.append(("faces", *(np.load(faces)[name].astype(float) for name in "Xy"), (112, 92)))
print("Data:", ", ".join(f"{name} {X.shape}" for name, X, *_ in sets))

# %%
# Accuracy of the nearest neighbour on a held-out quarter, with all pixels, with the tenth that
# `OCFS` selects, and with the directions of `SRDA`. The pictures show the scores of `OCFS`, a
# held-out sample in the selected pixels, and the first three directions of `SRDA`, in red and blue
# for the two signs.

figure, axes = plt.subplots(len(sets), 5, figsize=(11, 2.7 * len(sets)), squeeze=False)
for line, (name, X, y, shape) in zip(axes, sets, strict=True):
    split = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    train, test, y_train, y_test = split
    ocfs, srda = OCFS(n_features=0.1).fit(train, y_train), SRDA().fit(train, y_train)
    for what, keep in (("all pixels", None), ("OCFS", ocfs), ("SRDA", srda)):
        a, b = (part if keep is None else keep.transform(part) for part in (train, test))
        right = KNeighborsClassifier(1).fit(a, y_train).score(b, y_test)
        print(f"{name}, {what}: {a.shape[1]:,} features, accuracy {right:.3f}")
    kept = np.where(ocfs.get_support(), test[0], np.nan)
    pictures = [
        ("score of each pixel", ocfs.scores_, "Greys"),
        (f"the {ocfs.n_features_:,} selected pixels", kept, "gray"),
        *((f"direction {k + 1}", srda.components_[k], "RdBu") for k in range(3)),
    ]
    for ax, (title, values, colours) in zip(line, pictures, strict=True):
        ax.set_facecolor("#88CCEE")  # of the other pixels
        ax.imshow(values.reshape(shape), cmap=colours)
        ax.set_title(title, size=10)
        ax.set_xticks([])
        ax.set_yticks([])
    line[0].set_ylabel(name, size=11)
figure.tight_layout()
plt.show()
