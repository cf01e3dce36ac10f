"""The criterion trace(W'C W): the spread of all rows, whatever their labels."""

from __future__ import annotations

from typing import Any

from narrows.criteria import TOTAL, Criterion
from narrows.families._online import OnlineProjector
from narrows.families._parameters import is_number
from narrows.families._select import CriterionSelector
from narrows.moments.stats import Second
from narrows.solve.errors import ParameterError


class VarianceFS(CriterionSelector):
    """Variance Feature Selection.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    The optimum is the columns of largest variance. Labels play no part in it, but for this: with
    an indicator matrix for y a row counts once for each of its labels, as everywhere. Leave y out
    where that is not wanted.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of positive scores, in (0, 1].
        This is what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        The variance of each column (the 1/n scale), in the squared units of X.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that do not
        vary come last, whatever their score.
    n_features_, n_positive_ : int
        How many columns are kept, and how many have a positive score.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each; the one label 0 where y was None.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, n_features over d, more than one size.

    Notes
    -----
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 d (c + 1)
    bytes, 16 d where y is None.

    References
    ----------
    Paper 000: J. Yan et al., "Effective and Efficient Dimensionality Reduction for Large-Scale
    and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, sections 2.2.1 and 2.4: what PCA
    maximises, in the discrete space.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import VarianceFS
    >>> X, y = load_iris(return_X_y=True)
    >>> VarianceFS(n_features=2).fit(X).get_support(indices=True).tolist()
    [0, 2]
    """

    _needs_y = False

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        half_life: float | None = None,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.half_life = half_life

    def _second(self) -> Second:
        return "total"

    def _criterion(self) -> Criterion:
        return TOTAL


class CCIPCA(OnlineProjector):
    """Candid Covariance-free Incremental Principal Component Analysis.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W real, W'W = I in the limit
        schedule    one step a sample

    `v_j <- (n-1-a)/n v_j + (1+a)/n u u'v_j / |v_j|` at sample n, for j = 1..p in turn, with
    u = x - m(n) deflated by the new v_1 .. v_{j-1}, and a the amnesic parameter. v_1(1) = x(1), and
    for j > 1 v_j(j) = u. `transform` is X W with the columns of W `v_j/|v_j|`, not centred.

    Labels play no part in it, and y may be None. Against scikit-learn's IncrementalPCA: sparse rows
    stay sparse, any batch will do, and a row costs its non-zeros; but the directions are iterates
    and no truncated decomposition.

    Parameters
    ----------
    n_components : int, default=2
        p, how many directions to learn, at most d.
    amnesic : float, default=0.0
        a, >= 0: how much more than its share a new sample weighs, so that old ones fade; 2 to 4
        where the first samples are not typical. It comes into force at n > 1 + a, before which
        the weight of the past would not be positive.
    tol : float, optional
        Watch for stillness: the sum over components of `|u_j(n) - u_j(n-1)|`, `u = v/|v|`, below
        this (the papers: 0.06). It is a lack of motion, for steps shrink like 1/n whatever the
        truth, and no sign of convergence.
    patience : int, default=100
        How many samples in a row have to be still, counted from when p
        samples have been seen.
    early_stopping : bool, default=False
        Learn no more rows once still.
    orthonormalize : bool, default=False
        Make the directions orthonormal when they are read, the first ones first. As iterates
        they are so only in the limit.
    passes : int, default=1
        How often `fit` goes through the rows.
    shuffle : bool, default=False
        Whether `fit` takes them in a new random order for each pass.
    random_state : int, RandomState or None, default=None
        Of the order.

    Attributes
    ----------
    components_ : ndarray of shape (p, d)
        `v_j/|v_j|`, in the order j = 1..p. The entry of largest magnitude in each row is positive;
        a component that has not started, before n = p samples, is a row of zeros.
    eigenvalues_ : ndarray of shape (p,)
        `|v_j|`, which tends to the variance along the direction (the 1/n scale).
    n_samples_still_ : int or None
        The n at which `tol` had held for `patience` samples in a row for the first time.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and how many rows of each; the one label 0
        where y was None.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, once for each pass, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, n_components over d, a parameter out of range.

    Notes
    -----
    **Cost** a row: O(nnz (p + 1)) and O(p^3) operations that do not depend on d; memory
    8 d (p + 1) bytes.

    References
    ----------
    J. Weng, Y. Zhang, W.-S. Hwang, "Candid Covariance-Free Incremental Principal Component
    Analysis", IEEE TPAMI 25(8), 2003, section 3, doi:10.1109/TPAMI.2003.1217609. Papers 000 and 004
    compare with it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import CCIPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> CCIPCA(passes=10, shuffle=True, random_state=0).fit(X).eigenvalues_.round(1).tolist()
    [4.2, 0.2]
    """

    _needs_y = False
    _by_class = False
    _instead = "scikit-learn's PCA or TruncatedSVD, or VarianceFS for columns, which merges"

    def __init__(
        self,
        n_components: int | None = 2,
        amnesic: float = 0.0,
        tol: float | None = None,
        patience: int = 100,
        early_stopping: bool = False,
        orthonormalize: bool = False,
        passes: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.amnesic = amnesic
        self.tol = tol
        self.patience = patience
        self.early_stopping = early_stopping
        self.orthonormalize = orthonormalize
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _criterion(self) -> Criterion:
        return TOTAL

    def _particulars(self, p: int, n_features: int) -> dict[str, Any]:
        return {"amnesic": float(self.amnesic)}

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if not is_number(self.amnesic, 0):
            raise ParameterError(
                f"CCIPCA: amnesic must be a finite number >= 0, but {self.amnesic!r} came."
            )
