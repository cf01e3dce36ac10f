"""What else one would take for discriminant directions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse.linalg import lsqr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from narrows.solve.centred import Centred
from narrows.solve.eigen import positive_eigh


class ScikitLDA:
    """scikit-learn's LinearDiscriminantAnalysis, as it comes: dense rows, by SVD."""

    name = "LinearDiscriminantAnalysis"

    def run(self, X: Any, y: np.ndarray) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of collinear columns in the warm-up rows
            return LinearDiscriminantAnalysis().fit(X, y).scalings_


class OneByOne:
    """The regressions of SRDA with SciPy's LSQR, response by response; not put in order."""

    name = "LSQR, one by one"

    def run(self, X: Any, y: np.ndarray) -> Any:
        codes = np.unique(y, return_inverse=True)[1]
        A = Centred(X, codes, np.ones(len(codes)))
        H = A.between()
        _, U = positive_eigh(H @ H.T, A.noise**2)
        responses = U / np.sqrt(A.counts)[:, None]
        return [
            lsqr(A, t[A.codes], damp=1.0, atol=1e-8, btol=1e-8, conlim=0, iter_lim=20)[0]
            for t in responses.T
        ]
