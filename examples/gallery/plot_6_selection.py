"""
OCFS against information gain and chi-squared
=============================================

How much of the classes is left for a linear SVM when only the best columns are kept. `compare`
learns one state for each kind of score, and all sizes from it. The page on choosing columns
measures the same on more sets, with several splits.
"""

import matplotlib.pyplot as plt
from rows import texts

from narrows.evaluate import ComparisonDisplay, compare

told, X, y, X_test, y_test, _ = texts()
print(told)

sizes = [10, 30, 100, 300, 1000]
lines = compare(X, y, ["ocfs", "ig", "chi"], sizes, test=(X_test, y_test))
print(lines)

# %%

figure, ax = plt.subplots(figsize=(8, 4.5))
ComparisonDisplay(lines).plot(ax)
ax.set_title("What a few columns leave for a linear SVM")
figure.tight_layout()
plt.show()
