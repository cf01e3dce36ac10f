"""Erasure: samples from which linear models predict no target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.exceptions import NotFittedError

from narrows.errors import DENSE_ONLY, ParameterError
from narrows.methods.attributes import attribute
from narrows.methods.base import BY_TARGET, Reducer, refuse_more
from narrows.methods.learned import Learned
from narrows.methods.parameters import Constraint, parameters, word
from narrows.methods.plan import Data, Pass, Plan, Where
from narrows.moments.labels import is_matrix
from narrows.moments.products import MOST
from narrows.solutions.choice import KEPT
from narrows.solutions.erasure import leace
from narrows.solve.solution import Solution


@parameters
class LEACE(OneToOneFeatureMixin, Reducer):
    """Least-squares concept erasure: samples without what linear models predict targets by.

    ::

        criterion   minimise E |r(x) - x|^2 over all affine r with Cov(r(x), z) = 0
        space       r(x) = x - (Sigma V) V'(x - m), with as many features as x
        schedule    exact, from all samples at once or batch by batch

    where z has an indicator of each class, or the numeric targets, m is the mean of the samples x,
    and Sigma their covariance. V has V'Sigma V = I, and its columns span Sigma^-1 Cov(x, z). The
    optimum is the same for any norm that an inner product defines. In the whitened samples,
    (Sigma V) V' is the orthogonal projection onto their covariances with z.

    Afterwards the class means are equal. No linear classifier is then better, for a convex loss, on
    these samples than a constant prediction, and no linear regression than the mean. On other
    samples of the same distribution this holds approximately. Nonlinear models may still predict
    the targets.

    Parameters
    ----------
    target : {"auto", "classes", "numeric"}, default="auto"
        Whether `y` holds classes or numbers, of shape (n_samples,) or (n_samples, n_targets).
        "auto" takes floats with fractions, or with more than 20 distinct values, for numbers. Use
        "numeric" for an indicator matrix of several labels per sample, to erase each label.
    {half_life}
    {keep_none}

    Attributes
    ----------
    n_erased_ : int
        The number of directions that are erased, the rank of Cov(x, z): at most n_classes - 1, or
        the number of targets. 0 if no feature varies with the targets; samples then stay as they
        are.
    components_ : ndarray of shape (n_erased, n_features)
        V', with unit variance of the samples along each direction. The entry of largest magnitude
        in each is positive.
    eigenvalues_ : ndarray of shape (n_erased,)
        What is erased along each direction, descending: the share of the variance that lies between
        the classes, or the sum of the squared correlations with the targets.
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X is sparse or contains NaN, y has several labels per sample and `target` is not
        "numeric", or there are more than 8,192 features.

    See Also
    --------
    SRDA : The opposite: the directions that distinguish classes best.
    PCA : A reduction of sparse samples or of many features, to erase targets from.
    narrows.anndata.reduce : Erase batches of cells.

    Notes
    -----
    **Cost**, for d features: O(n d^2) to learn n samples on all cores, O(d^3) when attributes are
    read; memory 8 d^2 bytes. `transform` takes O(n d r) for r erased directions. With fewer samples
    than features, O(n^2 d).

    Directions in which the samples do not vary by more than rounding are neither erased nor
    changed. With no more samples than features, the samples of the fit lose the differences of
    their class means only, and the targets of other samples may still be predicted.

    References
    ----------
    N. Belrose et al., "LEACE: Perfect linear concept erasure in closed form", NeurIPS 2023,
    Theorems 4.2 and 4.3. The state and the rank are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from narrows import LEACE
    >>> X, y = load_wine(return_X_y=True)
    >>> leace = LEACE().fit(X, y)
    >>> Z = leace.transform(X)
    >>> Z.shape, leace.n_erased_
    ((178, 13), 2)
    >>> classifier = make_pipeline(StandardScaler(), LogisticRegression())
    >>> [round(classifier.fit(A, y).score(A, y), 2) for A in (X, Z)]
    [1.0, 0.4]
    """

    _takes_numbers = BY_TARGET
    _instead = "VarianceFS or PCA to have fewer first"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "target": word("auto", "classes", "numeric"),
    }
    n_erased_ = attribute(lambda s: len(s.values), "The number of directions that are erased.")
    components_ = attribute(
        lambda s: s.W.T, "The directions that are erased, of shape (n_erased, n_features)."
    )
    eigenvalues_ = attribute(
        lambda s: s.values, "What is erased along each direction, of shape (n_erased,)."
    )

    target: str = "auto"
    half_life: float | None = None
    keep: int = KEPT

    def transform(self, X: Any) -> Any:
        """Erase the targets from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, dense.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_features)
            In the float dtype of X (float64 for other dtypes).

        Raises
        ------
        ValueError
            X is sparse: the result would be dense.

        See Also
        --------
        fit_transform : Fit to samples and erase their targets.
        """
        return self._applied().reduce(self._check_X(X, reset=False))

    def _applied(self) -> Solution:
        found = self._read()
        if self._is_numeric:
            if not found.n_samples:
                raise NotFittedError(
                    "expected samples, got none so far. Continue with partial_fit."
                )
        elif len(found.classes.labels) < 2:
            raise NotFittedError(
                f"expected two classes at least, got {len(found.classes.labels)} so far. Continue "
                "with partial_fit."
            )
        return found

    def _check_X(self, X: Any, finite: bool = True, **options: Any) -> Any:
        if sparse.issparse(X):
            raise ParameterError(DENSE_ONLY)
        return super()._check_X(X, finite, **options)

    def _labels(self, X: Any, y: Any, numeric: bool | None = None) -> Any:
        if sparse.issparse(X) and X.shape[0]:  # of a file or a part
            raise ParameterError(DENSE_ONLY)
        y = super()._labels(X, y, numeric)
        if not (self._is_numeric if numeric is None else numeric) and is_matrix(y):
            raise ParameterError(
                f"expected one label per sample, got y of shape {np.shape(y)}. Use "
                'target="numeric", which erases each column.'
            )
        return y

    # -- solving --------------------------------------------------------------------------------

    def _sums(self, data: Data) -> Pass:
        numeric = data.numeric or self.target == "numeric"
        return Pass(second="cross", half_life=self.half_life, numeric=numeric)

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        if data.n_features > MOST:
            refuse_more(self, data.n_features, "LEACE")
        return super()._plan(data, where, samples)

    def _solve(self, learned: Learned) -> Solution:
        return leace(learned.moments)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
