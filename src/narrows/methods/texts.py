"""Texts that the docstrings of several methods share.

A line ``{name}`` in the docstring of an estimator stands for the text of that name.
"""

from __future__ import annotations

import re
from inspect import cleandoc

TEXTS = {
    "classes_": """\
classes_, class_count_ : ndarray of shape (n_classes,)
    The sorted class labels, and the weight N_j of each class.""",
    "coef_": """\
coef_ : ndarray of shape (n_classes, n_features)
    The coefficients of the classes; of shape (1, n_features) for two classes.
intercept_ : ndarray of shape (n_classes,)
    The intercepts: ``decision_function(X)`` is ``X @ coef_.T + intercept_``; of shape (1,) for two
    classes.""",
    "components_": """\
components_ : ndarray of shape (n_components, n_features)
    The directions `v_j/|v_j|` for j = 1, ..., p. The entry of largest magnitude in each
    direction is positive; components that have not started yet are zero.""",
    "energy": """\
energy : float, optional
    Select the fewest features that hold this share of the sum of positive scores, in (0, 1]. By
    default 0.8 if neither `n_features`, `threshold` nor `per_class` is given.""",
    "energy_": """\
energy_ : ndarray of shape (n_features,)
    Entry p - 1 is the share of the p best scores in the sum of max(score, 0).""",
    "half_life": """\
half_life : float, optional
    The number of samples after which the weight of a sample is halved: a sample followed by k
    others has weight 0.5^(k / half_life). By default weights do not decay.""",
    "keep": """\
keep : int, default=2000
    The number of samples that the state and model files keep, to choose parameters and to
    calibrate probabilities. With 0, files hold sums only: "auto" is "scale", probabilities
    are not calibrated, and "cv" of what needs samples is an error.""",
    "keep_for_eps": """\
keep : int, default=2000
    The number of samples that the state and model files keep for ``eps="cv"``. With 0, files hold
    sums only, and no samples that still wait to be summed.""",
    "keep_none": """\
keep : int, default=2000
    With 0, model files hold sums only. Otherwise they hold the samples if these are fewer than
    the features, and some that wait to be summed. The method needs no other samples.""",
    "n_components": """\
n_components : int, default=2
    p, the number of directions, at most n_features.""",
    "n_features": """\
n_features : int, float or "cv", optional
    Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    "cv" chooses the elbow of `held_out_scores_`, where the score of p features, as a share of the
    best, is farthest above p / `n_features_in_`. It has at least 0.9 of the best score, and no more
    features than bring the score within one standard error of the best. One pass computes five
    folds; the state is five times as large.""",
    "n_features_": """\
n_features_, n_positive_ : int
    Number of selected features, and of features with a positive score.""",
    "n_samples_seen_": """\
n_samples_seen_, n_features_in_ : int
    Number of samples learned from, and of features.""",
    "n_samples_still_": """\
n_samples_still_ : int or None
    The first n at which the movement was below `tol` for `patience` consecutive samples.""",
    "per_class": """\
per_class : int, optional
    Select the union of the `per_class` best features of each class by `class_scores_`.""",
    "priors": """\
priors : str, dict or array-like of shape (n_classes,), default="empirical"
    The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
    to 1; an array gives them in the order of `classes_`, a dict by class.""",
    "ranking_": """\
ranking_ : ndarray of shape (n_features,)
    Feature indices, best first. Ties go to the lower index; features that are present in no
    sample or in all come last.""",
    "standardize": """\
standardize : bool or list of int, str or bool, default=False
    Which features to standardise: all (True), those with these indices or names, or those of a
    mask. With a given ridge the result is that of scikit-learn's `StandardScaler` in front of the
    method, also on streams and after merging, since the state has the variances; held-out samples
    may choose another ridge or calibration, since others are held out. Ridges and eigenvalues are
    those for standardised features; `components_` apply to X as it is, and `transform` differs from
    that of the pipeline by a constant row. Features that do not vary have weight 0. More than
    8,192 features have to be in memory.""",
    "threshold": """\
threshold : float, optional
    Select the features with a score of at least `threshold`.""",
    "iteration": """\
tol : float, optional
    Bound on the movement of the directions, the sum of `|u_j(n) - u_j(n-1)|` over all
    components j, with `u = v/|v|`. The papers use 0.06. Steps shrink like 1/n, so that a small
    movement does not indicate convergence.
patience : int, default=100
    Number of consecutive samples with a movement below `tol`, counted once p samples (and, if
    labels are used, two classes) have been seen.
early_stopping : bool, default=False
    Ignore further samples once the movement was below `tol` for `patience` samples.
orthonormalize : bool, default=False
    Orthonormalise `components_`, starting with the first one. The iterates themselves are
    orthonormal only in the limit.
passes : int, default=1
    Number of passes of `fit` over the samples.
shuffle : bool, default=False
    Whether `fit` shuffles the samples before each pass.
random_state : int, RandomState instance or None, default=None
    Seed of the shuffling.""",
}


def with_shared_texts(docstring: str | None) -> str | None:
    """Return a docstring with the texts in place of their names."""
    if docstring is None:  # python -OO
        return None
    named = re.compile(rf"^{{({'|'.join(TEXTS)})}}$", re.MULTILINE)
    return named.sub(lambda found: TEXTS[found[1]], cleandoc(docstring))
