"""
IOC's road to OC
================

`IOC` and `IIS` are the papers' iterations, one step a sample. `OC` is what they tend to, and is
exact at every moment of the same stream. `convergence` looks some sixty times on the way, against
exact OC of the rows so far. Four topics of RCV1 from NARROWS_DATA; without it scikit-learn's
digits, ten times over.
"""

import matplotlib.pyplot as plt
from rows import file, whole
from sklearn.datasets import load_digits

from narrows import IIS, IOC, OC
from narrows.evaluate import ConvergenceDisplay, convergence

rcv1 = file("rcv1_4class.npz")
X, y = whole(rcv1) if rcv1 else load_digits(return_X_y=True)
passes = 1 if rcv1 else 10
print("Data:", "RCV1, four topics" if rcv1 else "digits", X.shape, f"passes: {passes}")

# %%
# The first three directions, rows in a random order.

found = []
for method in (IOC, IIS):
    learner = method(n_components=3, passes=passes, shuffle=True, random_state=0)
    found.append(convergence(learner, X, y, OC()))
    n, share = found[-1].n, found[-1].share
    below = n[share < 0.95][-1]
    print(
        f"{method.__name__}: last below .95 after {below:,} rows, {share[-1]:.3f} after {n[-1]:,}"
    )

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
ConvergenceDisplay(*found).plot(axes)
figure.tight_layout()
plt.show()
