"""
Convergence of incremental methods to the exact solution
========================================================

`IOC` and `IIS` (Yan et al., 2006) update their directions one sample at a time. They converge to
the directions of `OC` (orthogonal centroid), which is exact at every moment of a stream.
`convergence` compares them with `OC` of the samples so far. The data are four topics of RCV1 from
the folder NARROWS_DATA, or else the digits of scikit-learn, ten times.
"""

import matplotlib.pyplot as plt
from data_sets import file, whole
from sklearn.datasets import load_digits

from narrows import IIS, IOC, OC
from narrows.evaluate import ConvergenceDisplay, convergence

rcv1 = file("rcv1_4class.npz")
X, y = whole(rcv1) if rcv1 else load_digits(return_X_y=True)
passes = 1 if rcv1 else 10
print("Data:", "RCV1, four topics" if rcv1 else "digits", X.shape, f"passes: {passes}")

# %%
# The first three directions, samples in random order.

found = []
for method in (IOC, IIS):
    learner = method(n_components=3, passes=passes, shuffle=True, random_state=0)
    found.append(convergence(learner, X, y, OC()))
    n, share = found[-1].n, found[-1].share
    below = n[share < 0.95][-1]
    print(f"{method.__name__}: below 0.95 until sample {below:,}, {share[-1]:.3f} after {n[-1]:,}")

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
ConvergenceDisplay(*found).plot(axes)
figure.tight_layout()
plt.show()
