"""
Classes that no linear function separates
=========================================

Three classes are rings around each other, hidden in ten features of which eight are noise. The
directions of `SRDA` are linear and cannot separate the rings. `KernelSRDA` adds random features of
a kernel, and separates them.
"""

import matplotlib.pyplot as plt
import numpy as np

from narrows import SRDA, KernelSRDA

rng = np.random.default_rng(0)


def rings(n):
    """Return samples on three noisy rings, with eight features of noise, and their labels."""
    y = np.arange(n) % 3
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + y + rng.normal(scale=0.15, size=n)
    circle = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.hstack([circle, rng.normal(scale=0.3, size=(n, 8))]), y


X, y = rings(3000)
X_test, y_test = rings(900)
print("Data: three rings", X.shape)

# %%
# Both methods are classifiers: `score` is the accuracy on held-out samples. The pictures show the
# held-out samples in the two directions of each method.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6))
for ax, method in zip(axes, (SRDA(), KernelSRDA(random_state=0)), strict=True):
    name, accuracy = type(method).__name__, method.fit(X, y).score(X_test, y_test)
    print(f"{name}: accuracy {accuracy:.3f}")
    Z = method.transform(X_test)
    for k, marker in enumerate("o^s"):
        mine = Z[y_test == k]
        ax.scatter(mine[:, 0], mine[:, 1], s=10, marker=marker, alpha=0.6, label=f"ring {k + 1}")
    ax.set_title(f"{name}: accuracy {accuracy:.2f}")
    ax.set_xlabel("direction 1")
    ax.set_ylabel("direction 2")
axes[0].legend(loc="upper right")
figure.tight_layout()
plt.show()
