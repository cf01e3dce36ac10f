"""Discriminant analysis with random features of a kernel, exact on a stream behind a fixed map."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from narrows.errors import WidthError, errors_named_after
from narrows.methods.base import Fitted
from narrows.methods.cross import Choice, emptied
from narrows.methods.discriminant import Discriminant
from narrows.methods.parameters import (
    KEPT,
    Constraint,
    is_integer,
    parameters,
    real,
    seed,
    whole,
    word,
)
from narrows.methods.projector import Found, of_curve, of_solution
from narrows.methods.routes import TwoPasses, is_first_pass
from narrows.methods.standardize import unit_of
from narrows.solve.codec import SchemaError
from narrows.solve.kernel_map import KERNELS, MOST_HIDDEN
from narrows.solve.scatter import Answer, Scatter, continued, discriminants
from narrows.solve.sums import TINY
from narrows.state.class_stats import ClassStats
from narrows.state.cross import MOST
from narrows.state.kept import EVERY
from narrows.state.labels import as_array, weights
from narrows.state.mapped import Mapped
from narrows.state.maps import RandomFeatures

_GAMMA = 0.15  # times 1 / the mean squared length of samples less their mean
_GATHERED = 1_000  # samples of a stream, before the map is made


class BehindKernel(TwoPasses):
    """Two passes: the mean and the size of samples give a map, with which they are summed."""

    def empty(self, n_features: int) -> Any:
        """Return an empty state for the first pass."""
        self.estimator._check_width(n_features)
        return super().empty(n_features)

    def is_of_pass(self, state: Any, number: int) -> bool:
        """Whether a fit can have a state in pass `number`."""
        return isinstance(state, Mapped if number else ClassStats)


@parameters
class KernelSRDA(Discriminant):
    """Kernel spectral regression discriminant analysis with random features.

    ::

        criterion   maximise trace((W'(C + alpha/n I) W)^-1 W'S_b W), of samples z(x)
        space       W real
        schedule    exact behind a fixed map z, from all samples at once or batch by batch

    where z(x) consists of `n_hidden` random functions of x (hidden features) and of x itself: ::

        "rbf"    (2 / m)^(1/2) cos((2 gamma)^(1/2) w'(x - o)), and sin likewise, for m/2 random w
        "relu"   (2 / m)^(1/2) max(0, (2 gamma)^(1/2) w'(x - o) + v), for m random w and v
        x        (2 gamma)^(1/2) (x - o)

    with w and v of mean 0 and variance 1, and a mean o of samples (see Notes). S_b is the scatter
    of the class means of the z(x), and C their covariance. Inner products of the functions of "rbf"
    converge to ``exp(-gamma |x - y|^2)`` as m grows: this is kernel discriminant analysis without
    the n x n kernel matrix. `transform` returns (z(x) - m)'W, where m is the mean of the z(x).
    Directions have the lengths of `SRDA`, for unit variance within the classes.

    The result is computed from sums over the z(x), as for `SRDA`: batches in any order, merging,
    decay and subtraction are exact for a fixed map z. Held-out samples determine the ridge, which
    decides how much the hidden features count.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions, at most the rank of the z(x). By default n_classes - 1 (fewer
        if the rank is lower). Further ones are those of `LDA`, of the z(x).
    n_hidden : int, default=1500
        m, the number of random functions, at most 8,000.
    kernel : {"rbf", "relu"}, default="rbf"
        The random functions.
    gamma : float or "auto", default="auto"
        The width of the kernel, > 0, in inverse squared units of X, or of standardised features.
        "auto" is 0.15 divided by the mean squared length of the centred samples.
    alpha : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, in the squared units of z: it is added to the scatter of all samples, which is a
        sum. "scale" is the mean squared length of the centred z(x). "cv" chooses the ridge with
        held-out samples, as `SRDA` does. "auto" is "cv", and "scale" with ``keep=0``.
    {half_life}
    random_state : int, RandomState instance or None, default=0
        Seed of the random functions.
    {keep}
    standardize : bool or list of int, str or bool, default=False
        Which features the map standardises: all (True), those with these indices or names, or those
        of a mask. `fit` divides them by the standard deviations of all samples: with a given ridge
        the result is that of scikit-learn's `StandardScaler` in front. `partial_fit` uses those of
        the first 1,000 samples. Features that do not vary in these samples are not divided.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_hidden + n_features)
        The transpose of W, best direction first; not orthogonal.
    eigenvalues_ : ndarray of shape (n_components,)
        w'S_b w / w'(C + alpha/n I) w of each direction, between 0 and 1. Of directions that do not
        separate the classes: w'C w / w'(C + alpha/n I) w.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the sum of those of all directions that separate the classes; 0
        for directions that do not.
    gamma_ : float
        The width of the kernel.
    alpha_ : float
        The ridge.
    alphas_, alpha_scores_, alpha_errors_ : ndarray of shape (n_alphas,)
        The ridges that were compared, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if there were no such samples.
    stats_ : object
        The state. If a and b have the same map (see `emptied`), ``fit_stats(a.stats_ - b.stats_)``
        fits to the samples of a without those of b.
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, or n_components exceeds the
        number of available directions.

    See Also
    --------
    SRDA : Linear discriminant analysis, without hidden features.
    OnlineSRDA : A linear discriminant of any number of features, in one pass.
    sklearn.kernel_approximation.RBFSampler : Random features of the same kernel.
    sklearn.decomposition.KernelPCA : Components without labels, from all pairs of samples.

    Notes
    -----
    **Cost**, for k = n_hidden + n_features: O(n k (k + n_features)) on all cores to learn n
    samples, which are mapped in blocks, and O(k^3) for each of about a dozen factorisations when
    attributes are read. Memory: 8 k^2 bytes, and three to four times as much while they are read. A
    model file holds half of that, and up to 2,000 samples.

    **The map** consists of the seed, gamma, o, and the standard deviations that features are
    divided by, if any. `fit` reads the samples twice and computes these from all of them.
    `partial_fit` computes them from the first 1,000 samples, which it stores until then; `save`
    with ``keep=0`` computes them at once. The map does not change later.
    A seed gives the same w and v on every machine. Estimators that were fitted separately have
    different maps and cannot be merged: fit one, and let `emptied` copies learn the other samples.

    References
    ----------
    A. Rahimi, B. Recht, "Random Features for Large-Scale Kernel Machines", NeurIPS 2007. S. Mika
    et al., "Fisher Discriminant Analysis with Kernels", NNSP 1999. D. Cai, X. He, J. Han, "SRDA: An
    Efficient Algorithm for Large-Scale Discriminant Analysis", IEEE TKDE 20(1), 2008, section 4.
    The additive state and the features beside the random functions are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from narrows import SRDA, KernelSRDA
    >>> X, y = make_circles(400, noise=0.1, factor=0.4, random_state=0)
    >>> kernel = KernelSRDA(n_hidden=200).fit(X[:300], y[:300])
    >>> bool(kernel.score(X[300:], y[300:]) > 0.95)
    True
    >>> bool(SRDA().fit(X[:300], y[:300]).score(X[300:], y[300:]) < 0.6)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_hidden": whole(1, MOST_HIDDEN),
        "kernel": word(*KERNELS),
        "gamma": word("auto") | real(0, above=True),
        "alpha": word("auto", "cv", "scale") | real(0),
        "random_state": seed(2**64),
    }
    _state_type = (ClassStats, Mapped)
    _choice = Choice("alpha", required=False, may_regress=False)
    _only_route = BehindKernel
    _of_map = "has learned samples"
    _several_labels = _continues = True
    _instead = "SRDA or OnlineSRDA, which are linear"
    alpha_ = of_solution(lambda found: float(found.alpha), "The ridge.")
    alphas_, alpha_scores_, alpha_errors_ = of_curve("alphas_", "ridges")
    emptied = emptied

    n_components: int | None = None
    n_hidden: int = 1500
    kernel: str = "rbf"
    gamma: float | str = "auto"
    alpha: float | str = "auto"
    half_life: float | None = None
    random_state: Any = 0
    keep: int = KEPT
    standardize: Any = False

    @property
    def gamma_(self) -> float:
        """The width of the kernel."""
        return float(self._mapped(self._state).map.gamma)

    # -- states ---------------------------------------------------------------------------------

    def _empty_state(self, n_features: int) -> Any:
        """Return a state that gathers samples, before there is a map."""
        self._check_width(n_features)
        return ClassStats(n_features, second="total", kept=EVERY)

    def _check_width(self, n_features: int) -> None:
        """Check the number of features, and forget the seed that was drawn for another map."""
        if n_features > MOST:
            raise WidthError(
                f"{type(self).__name__}: expected at most {MOST:,} features, got {n_features:,}. "
                "Select features first, or use SRDA or OnlineSRDA, which are linear.",
                n_features,
            )
        if "_drawn" in vars(self):
            del self._drawn

    def _seed(self) -> int:
        """Return the seed of the map, which is drawn if none is given."""
        if is_integer(self.random_state, 0):
            return int(self.random_state)
        if "_drawn" not in vars(self):
            self._drawn = int(check_random_state(self.random_state).randint(2**31))
        return self._drawn

    def _is_own(self, state: Any) -> bool:
        """Whether a state gathers samples, or has a map of random features."""
        if isinstance(state, Mapped):
            return isinstance(state.map, RandomFeatures)
        return isinstance(state, ClassStats) and state.kept == EVERY and state.second == "total"

    def _state_from(self, arrays: dict[str, Any]) -> Any:
        state = super()._state_from(arrays)
        if not self._is_own(state) and not is_first_pass(state):
            raise SchemaError("state: expected samples or a map of random features, got others.")
        return state

    def _map_of(self, stats: Any) -> RandomFeatures:
        gamma, scale = self.gamma, unit_of(self, stats) if stats.n else None
        if scale is not None:
            scale = np.where(np.isinf(scale), 1.0, scale)  # features that do not vary yet
        if isinstance(gamma, str):
            size = stats.mean_square(scale) if stats.n else 0.0
            gamma = _GAMMA / size if size > TINY else 1.0
        seed, m = self._seed(), int(self.n_hidden)
        return RandomFeatures(seed, self.kernel, m, float(gamma), stats.mean, scale)

    def _frozen(self) -> Mapped:
        if isinstance(self._state, ClassStats) and self._state.n_samples:
            self._fitted = Fitted(self._mapped(self._state), self._source)
        return super()._frozen()

    def _may_keep(self, state: Any) -> bool:
        return super()._may_keep(state) or (isinstance(state, ClassStats) and bool(state.kept))

    def _to_save(self) -> Any:
        state = self._state
        if not self.keep and isinstance(state, ClassStats) and state.kept and state.n_samples:
            self._frozen()  # the map of the samples so far, which are not stored
        return super()._to_save()

    def _mapped(self, state: Any) -> Any:
        """Return the state behind a map, which is made if there is none yet."""
        if isinstance(state, Mapped):
            return state
        with errors_named_after(self):
            return Mapped.of_kept(self._map_of(state), state, self._kept)

    # -- learning -------------------------------------------------------------------------------

    def fit_stats(self, stats: Any) -> Self:
        """Fit to a state instead of samples, with the map of the state."""
        name = type(self).__name__
        if not self._is_own(stats):
            raise TypeError(
                f"{name}: expected a state of {name} (`stats_`) for fit_stats, got "
                f"{type(stats).__name__}. Use fit for samples."
            )
        return self._fit_state(stats.copy())

    def _learned(self, state: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        n, room = X.shape[0], _GATHERED - state.n_samples
        if isinstance(state, Mapped) or not state.kept or n < room:
            return super()._learned(state, X, y, sample_weight)
        y = sparse.csr_array(y) if sparse.issparse(y) else as_array(self._labels(X, y))
        given = weights(sample_weight, n, type(self).__name__)
        room = max(0, room)
        first = self._update_state(
            state.copy(), X[:room], y[:room], given[:room], check_input=False
        )
        mapped = self._mapped(first)
        return self._update_state(mapped, X[room:], y[room:], given[room:], check_input=False)

    def _summed(self, states: list[Any]) -> Any:
        gathered = [state for state in states if isinstance(state, ClassStats)]
        mapped = [state for state in states if isinstance(state, Mapped)]
        if not mapped:
            total = ClassStats.summed(gathered)
            return total if total.n_samples < _GATHERED else self._mapped(total)
        both = [*mapped, *(mapped[0].of_same_map(state) for state in gathered)]
        return Mapped.summed(both)

    def _finished(self, state: Any) -> Any:
        self._check_two_classes(state)
        return self._mapped(state)

    # -- solving --------------------------------------------------------------------------------

    def _scatters(self, state: Any) -> tuple[Scatter, float]:
        return state.scatters(), state.mean_square()  # the map has the units

    def _of_ridge(self, stats: Mapped, S: Scatter, alpha: float, regresses: bool) -> Found:
        found = super()._of_ridge(stats.stats, S, alpha, regresses)
        found.map = stats.map
        return found.about(stats.stats.mean)

    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        p = self._size or 0
        return continued(S, discriminants(S, alpha, total=True, overwrite=not p), alpha, p)
