"""What else one would take, with its own defaults; scikit-learn's, SciPy's and River's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from river import feature_selection, stats
from scipy import sparse
from scipy.sparse.linalg import lsqr
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline

from narrows.solve.eigen import positive_eigh
from narrows.solve.exact import Centred

FIRST = 1000  # samples, of methods that would take minutes for all
_COLUMNS = 200
_HIDDEN = 1500  # components of Nystroem, as many as KernelSRDA has hidden features


@dataclass(frozen=True)
class Rival:
    """A function of labelled samples."""

    name: str
    call: Callable[[Any, Any], Any]

    def run(self, X: Any, y: Any) -> Any:
        """Return what is found."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of collinear or constant columns, of no convergence
            return self.call(X, y)


def _directions(y: np.ndarray) -> int:
    return max(1, len(np.unique(y)) - 1)


def _incremental(X: Any, p: int, size: int) -> Any:
    return IncrementalPCA(p, batch_size=max(size, p)).fit(X)


def _first_samples(X: Any, y: np.ndarray) -> Any:
    return _incremental(X[:FIRST].astype(np.float64), _directions(y), 100)


def _mutual_info(X: Any, y: np.ndarray) -> Any:
    """The first 200 columns, told by presence, as IG takes them."""
    few = (X[:, :_COLUMNS] != 0).astype(np.float64)
    return mutual_info_classif(few, y, discrete_features=True)


def _river(X: Any, y: np.ndarray) -> Any:
    """The first 1,000 samples, by Pearson's correlation with the first class."""
    X, first = sparse.csr_array(X[:FIRST]), y == y[0]
    select = feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=100)
    for i in range(X.shape[0]):
        entries = slice(X.indptr[i], X.indptr[i + 1])
        row = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
        select.learn_one(dict(row), float(first[i]))
    return select.leaderboard


def _one_by_one(X: Any, y: np.ndarray) -> Any:
    """The regressions of SRDA with SciPy's LSQR, response by response; not put in order."""
    codes = np.unique(y, return_inverse=True)[1]
    A = Centred(X, codes, np.ones(len(codes)))
    H = A.between()
    _, U = positive_eigh(H @ H.T, A.noise**2)
    responses = U / np.sqrt(A.counts)[:, None]
    return [
        lsqr(A, t[A.codes], damp=1.0, atol=1e-8, btol=1e-8, conlim=0, iter_lim=20)[0]
        for t in responses.T
    ]


def _lda(**parameters: Any) -> Callable[[Any, Any], Any]:
    return lambda X, y: LinearDiscriminantAnalysis(**parameters).fit(X, y)


def _nystroem(X: Any, y: np.ndarray) -> Any:
    size = min(_HIDDEN, X.shape[0])
    map_ = Nystroem(n_components=size, gamma=1 / (X.shape[1] * X.var()), random_state=0)
    return make_pipeline(map_, RidgeClassifier()).fit(X, y)


RIVALS = tuple(
    Rival(*each)
    for each in (
        ("chi2", chi2),
        ("f_classif", f_classif),
        (f"mutual_info/{_COLUMNS}", _mutual_info),
        (f"River SelectKBest/{FIRST}", _river),
        ("TruncatedSVD", lambda X, y: TruncatedSVD(_directions(y), random_state=0).fit(X)),
        (
            "TruncatedSVD 100",
            lambda X, y: TruncatedSVD(min(100, X.shape[0] - 1), random_state=0).fit(X),
        ),
        ("SGDClassifier", lambda X, y: SGDClassifier(random_state=0).fit(X, y)),
        ("LSQR, one by one", _one_by_one),
        ("LinearDiscriminantAnalysis", _lda()),
        ('LinearDiscriminantAnalysis("lsqr")', _lda(solver="lsqr", shrinkage=1e-3)),
        ('LinearDiscriminantAnalysis("eigen")', _lda(solver="eigen", shrinkage=1e-3)),
        ("PCA(50) of scikit-learn", lambda X, y: PCA(min(50, X.shape[0] - 1)).fit(X)),
        ("IncrementalPCA(50)", lambda X, y: _incremental(X, min(50, X.shape[0] - 1), 1000)),
        (f"IncrementalPCA/{FIRST}", _first_samples),
        ("Nystroem, RidgeClassifier", _nystroem),
    )
)
