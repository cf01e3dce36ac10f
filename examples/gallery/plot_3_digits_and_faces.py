"""
Digits and faces
================

Where the columns are pixels one can look at what a method keeps: `OCFS` keeps pixels, and a
direction of a projection is a picture itself. The digits come with scikit-learn; the faces (ORL,
40 people with 10 pictures each, 10,304 pixels) are drawn where NARROWS_DATA has them.
"""

import matplotlib.pyplot as plt
import numpy as np
from rows import file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from narrows import IDRQR, OCFS

sets = [("digits", *load_digits(return_X_y=True), (8, 8))]
faces = file("orl_faces.npz")
if faces:
    sets.append(("faces", *(np.load(faces)[name].astype(float) for name in "Xy"), (112, 92)))
print("Data:", ", ".join(f"{name} {X.shape}" for name, X, *_ in sets))

# %%
# The nearest neighbour, on a quarter of the rows held out: all pixels, the tenth that `OCFS`
# keeps, and one number a class by `IDRQR`. The pictures: where `OCFS` finds the classes apart, a
# row that was held out, and the first three directions of `IDRQR`, dark and light for the two
# signs.

figure, axes = plt.subplots(len(sets), 5, figsize=(11, 2.7 * len(sets)), squeeze=False)
for line, (name, X, y, shape) in zip(axes, sets, strict=True):
    split = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    train, test, y_train, y_test = split
    ocfs, idrqr = OCFS(n_features=0.1).fit(train, y_train), IDRQR().fit(train, y_train)
    for what, keep in (("all pixels", None), ("OCFS", ocfs), ("IDRQR", idrqr)):
        a, b = (rows if keep is None else keep.transform(rows) for rows in (train, test))
        right = KNeighborsClassifier(1).fit(a, y_train).score(b, y_test)
        print(f"{name}, {what}: {a.shape[1]:,} numbers, {right:.3f} predicted correctly")
    kept = np.where(ocfs.get_support(), test[0], np.nan)
    pictures = [
        ("score of each pixel", ocfs.scores_, "Greys"),
        (f"the {ocfs.n_features_:,} pixels kept", kept, "gray"),
        *((f"direction {k + 1}", idrqr.components_[k], "RdBu") for k in range(3)),
    ]
    for ax, (title, values, colours) in zip(line, pictures, strict=True):
        ax.set_facecolor("#88CCEE")  # of the pixels that are let go
        ax.imshow(values.reshape(shape), cmap=colours)
        ax.set_title(title, size=10)
        ax.set_xticks([])
        ax.set_yticks([])
    line[0].set_ylabel(name, size=11)
figure.tight_layout()
plt.show()
