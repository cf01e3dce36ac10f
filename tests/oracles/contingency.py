"""Scores of presence, column by column and class by class, from counts of rows.

With priors, a row of class j counts n p_j / N_j times.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2_contingency


def tables(X, y, priors):
    """For each column: {class: (rows that have it, rows that lack it)}."""
    X, y = np.asarray(X) != 0, np.asarray(y)
    classes, N = np.unique(y, return_counts=True)
    p = N ** {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}[priors]
    weight = dict(zip(classes, len(y) * p / p.sum() / N, strict=True))
    for column in X.T:
        yield {
            j: (weight[j] * column[y == j].sum(), weight[j] * (~column[y == j]).sum())
            for j in classes
        }


def entropy(weights):
    shares = np.array([w for w in weights if w > 0]) / sum(weights)
    return -(shares * np.log2(shares)).sum()


def gain(table):
    """H(c) less what is left of it when presence is known."""
    present, absent = ([pair[k] for pair in table.values()] for k in (0, 1))
    n = sum(present) + sum(absent)
    left = sum(sum(side) / n * entropy(side) for side in (present, absent) if sum(side))
    return entropy([sum(pair) for pair in table.values()]) - left


def against_the_rest(table, j):
    """The 2 x 2 table [[A, B], [C, D]] of Yan et al. (2005), section 3.2."""
    A, C = table[j]
    B = sum(pair[0] for label, pair in table.items() if label != j)
    D = sum(pair[1] for label, pair in table.items() if label != j)
    return A, B, C, D


def chi2(table, j):
    A, B, C, D = against_the_rest(table, j)
    if A + B == 0 or C + D == 0:
        return 0.0
    return chi2_contingency([[A, B], [C, D]], correction=False).statistic


def pointwise(table, j):
    A, B, C, D = against_the_rest(table, j)
    return np.log2(A * (A + B + C + D) / ((A + C) * (A + B))) if A else 0.0


def averaged(per_class):
    def scores(X, y, priors):
        n = len(y)
        return np.array(
            [
                sum(sum(table[j]) / n * per_class(table, j) for j in table)
                for table in tables(X, y, priors)
            ]
        )

    return scores


def information_gain(X, y, priors):
    return np.array([gain(table) for table in tables(X, y, priors)])


chi = averaged(chi2)
mutual_information = averaged(pointwise)


def document_frequency(X, y, priors):
    return (np.asarray(X) != 0).sum(axis=0).astype(float)


def by_class(score, X, y, priors):
    """`score` of every table for every class, of shape (n_classes, n_features)."""
    return np.array([[score(table, j) for j in table] for table in tables(X, y, priors)]).T


def gain_against_the_rest(table, j):
    A, B, C, D = against_the_rest(table, j)
    return gain({True: (A, C), False: (B, D)})
