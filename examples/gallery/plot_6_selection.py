"""
OCFS, information gain and chi-squared compared
===============================================

The accuracy of a linear SVM, logistic regression and 5 nearest neighbours on the best features by
three selectors. `compare` fits each selector once for all numbers of features.
"""

import matplotlib.pyplot as plt
from data_sets import texts

from narrows.evaluate import ComparisonDisplay, compare

name, X, y, X_test, y_test, _ = texts()
print(name)

sizes = [10, 30, 100, 300, 1000]
lines = compare(X, y, ["ocfs", "ig", "chi"], sizes, test=(X_test, y_test))
print(lines)

# %%

figure, ax = plt.subplots(figsize=(8, 4.5))
ComparisonDisplay(lines).plot(ax)
ax.set_title("A linear SVM on few selected features")
figure.tight_layout()
plt.show()
