"""The table of methods that the laws are crossed with; a new method adds a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from narrows import OC, OCFS, OCM


@dataclass
class Case:
    """An estimator, and which laws it keeps."""

    estimator: Any
    name: str = field(init=False)
    offset_free: bool = True  # the answer does not change when a constant is added to a column

    def __post_init__(self):
        self.name = repr(self.estimator)

    def new(self):
        return clone(self.estimator)


SELECTORS = [
    Case(OCFS()),
    Case(OCFS(n_features=3)),
    Case(OCFS(n_features=0.5, priors="balanced")),
    Case(OCFS(threshold=0.05, priors="sqrt")),
]
PROJECTORS = [
    Case(OC()),
    Case(OC(n_components=1, priors="sqrt")),
    Case(OC(priors="balanced")),
    Case(OCM(), offset_free=False),
    Case(OCM(n_components=2, priors=[0.2, 0.3, 0.5]), offset_free=False),
]
ALL = SELECTORS + PROJECTORS


def answer(estimator) -> dict[str, np.ndarray]:
    """All that can be read off a fitted estimator, as arrays."""
    common = {
        "classes": estimator.classes_,
        "class_count": estimator.class_count_,
        "rows": np.array(estimator.n_samples_seen_),
        "names": estimator.get_feature_names_out(),
    }
    if hasattr(estimator, "get_support"):
        return common | {
            "scores": estimator.scores_,
            "class_scores": estimator.class_scores_,
            "energy": estimator.energy_,
            "support": estimator.get_support(),
        }
    return common | {"components": estimator.components_, "eigenvalues": estimator.eigenvalues_}


def assert_same(a, b, rtol=1e-9, atol=1e-12, only=None):
    """The two estimators have learnt the same."""
    a, b = answer(a), answer(b)
    for key in only or a:
        if a[key].dtype.kind == "f":
            scale = max(1e-300, np.abs(b[key]).max(initial=0.0))
            np.testing.assert_allclose(
                a[key], b[key], rtol=rtol, atol=max(atol, rtol) * scale, err_msg=key
            )
        else:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)


def labelled(n=60, d=7, c=3, seed=0, sparse=False):
    """Rows of `c` classes that differ, in numbers without ties."""
    rng = np.random.default_rng(seed)
    y = np.concatenate(
        [np.arange(c), rng.choice(c, n - c, p=np.arange(1, c + 1) / sum(range(c + 1)))]
    )
    X = rng.normal(size=(n, d)) + rng.normal(size=(c, d))[y] * np.linspace(0.3, 1.5, d)
    if sparse:
        X = np.where(rng.random(X.shape) < 0.5, X, 0.0)
    return X, np.array(["ant", "bee", "cat", "dog", "eel"])[y]
