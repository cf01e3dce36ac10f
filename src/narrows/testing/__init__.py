"""Checks that a method keeps the laws of narrows, for people who write their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from unittest import SkipTest

from narrows.testing.all_laws import LAWS
from narrows.testing.running import prepare, reasons_for, subject_of

__all__ = ["Outcome", "check_method", "checks", "laws"]


class Outcome(NamedTuple):
    """The outcome of the check of a law.

    Parameters
    ----------
    law : str
        The name of the law.
    status : {"passed", "expected to fail", "not applicable"}
        Whether the law holds, fails as expected, or does not apply to the estimator.
    reason : str
        Why the law is expected to fail or not applicable; else "".

    See Also
    --------
    check_method : Check all laws that apply.

    Examples
    --------
    >>> from narrows.testing import Outcome
    >>> Outcome("merge", "not applicable", "the estimator has no merge").status
    'not applicable'
    """

    law: str
    status: str
    reason: str = ""


def laws(estimator: Any) -> dict[str, str]:
    """List all laws, and why some do not apply to an estimator.

    Parameters
    ----------
    estimator : estimator
        An instance; it is neither fitted nor changed.

    Returns
    -------
    reasons : dict of str to str
        By the name of each law, "" if it applies, else the reason why it does not.

    Raises
    ------
    TypeError
        The estimator is a class, or lacks a method that every law needs.
    ValueError
        A clone must be fitted, and its `fit` raises an error.

    See Also
    --------
    check_method : Check all laws that apply; describes each law.
    checks : The laws that apply, one by one.

    Notes
    -----
    **Cost**: microseconds. One fit of 60 samples if a law needs `scores_` or `moments_`, and the
    class has no such property.

    Examples
    --------
    >>> from narrows import LDA
    >>> from narrows.testing import laws
    >>> laws(LDA(solver="pca"))["merge"]
    'the estimator has no merge'
    >>> laws(LDA(solver="pca"))["weights"]
    ''
    """
    return reasons_for(subject_of(estimator))


def checks(
    estimator: Any,
    *,
    expected_to_fail: Mapping[str, str] | None = None,
    n_draws: int = 12,
    random_state: int | None = 0,
    rtol: float = 1e-9,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the laws that apply to an estimator, for a test runner such as pytest.

    Parameters
    ----------
    estimator : estimator
        An instance whose parameters fit data of 60 samples, 7 features and 3 classes.
    expected_to_fail : dict of str to str, optional
        Names of laws that the method is not meant to keep, with the reason. Their checks raise
        `unittest.SkipTest` with the reason, which pytest shows; or AssertionError if the law holds.
    n_draws : int, default=12
        The number of random data sets for each law that depends on the data.
    random_state : int or None, default=0
        Seed of the data; None draws different data each time. Errors name the seed.
    rtol : float, default=1e-9
        The tolerated difference of two results, relative to the largest value of an array.

    Yields
    ------
    law : str
        The name of the law.
    check : callable
        Takes no arguments, and raises AssertionError where the law does not hold.

    Raises
    ------
    TypeError
        The estimator is a class, or lacks a method that every law needs, or another argument has
        the wrong type.
    ValueError
        `expected_to_fail` names a law that does not exist, or that does not apply; or another
        argument has an invalid value.

    See Also
    --------
    check_method : Check all laws at once; describes each law.
    laws : List which laws apply, and why others do not.

    Notes
    -----
    **Cost**: a check takes some tens of fits of 60 samples.

    Examples
    --------
    In a test file::

        @pytest.mark.parametrize(("law", "check"), checks(MySelector()))
        def test_laws(law, check):
            check()

    >>> from narrows import OCFS
    >>> from narrows.testing import checks
    >>> name, check = next(checks(OCFS()))
    >>> name
    'batching'
    >>> check()
    """
    return prepare(estimator, expected_to_fail, n_draws, random_state, rtol)[2]


def check_method(
    estimator: Any,
    *,
    expected_to_fail: Mapping[str, str] | None = None,
    n_draws: int = 12,
    random_state: int | None = 0,
    rtol: float = 1e-9,
) -> list[Outcome]:
    """Check that an estimator keeps the laws of narrows.

    Parameters
    ----------
    estimator : estimator
        An instance whose parameters fit data of 60 samples, 7 features and 3 classes.
    expected_to_fail : dict of str to str, optional
        Names of laws that the method is not meant to keep, with the reason.
    n_draws : int, default=12
        The number of random data sets for each law that depends on the data.
    random_state : int or None, default=0
        Seed of the data; None draws different data each time. Errors name the seed.
    rtol : float, default=1e-9
        The tolerated difference of two results, relative to the largest value of an array.

    Returns
    -------
    outcomes : list of Outcome
        One for each law: passed, expected to fail, or not applicable, with the reason.

    Raises
    ------
    AssertionError
        Laws that apply do not hold, or one that is expected to fail does. The message names each
        law, the estimator, and what differs.
    TypeError
        The estimator is a class, or lacks a method that every law needs, or another argument has
        the wrong type.
    ValueError
        The estimator cannot be fitted; `expected_to_fail` names a law that does not exist, or that
        does not apply; or another argument has an invalid value.

    See Also
    --------
    checks : Yield the laws that apply, to parametrize tests.
    laws : List which laws apply, and why others do not.
    sklearn.utils.estimator_checks.check_estimator : The checks of scikit-learn; run them too.

    Notes
    -----
    Every law needs `fit(X, y)`, `transform(X)`, and `get_params`, `set_params` and tags as in
    `sklearn.base.BaseEstimator`. `fit` must give the same result each time: set `random_state` of
    an estimator with random steps.

    Laws use the following parts of an estimator. Without these, they do not apply, or compare less:

    - All public attributes that end in "_", `get_support`, `get_feature_names_out`, `predict`,
      `predict_proba` and `decision_function`: laws that compare two estimators compare the values
      of these and of `transform`, except for objects. Of a bare transformer they compare
      `transform` alone.
    - `components_` of shape (n_components, n_features): `transform`, `zero_feature`,
      `feature_order` and `class_names`.
    - `get_support`: `transform`, and with `scores_` of shape (n_features,) `zero_feature`,
      `feature_order`, `class_names` and `selection`, which does not apply if the parameter
      `per_class` is set.
    - Labels that are classes: `label_types`, `class_names` and `two_classes`. A regressor, and a
      selector of narrows for numeric targets, gets numbers instead.
    - `n_samples_seen_`: `start` and `multi_label`.
    - `partial_fit`: `batching`, `partial_fit`, `start` and `failing_partial_fit`; and, after one of
      them, `offset`, `copying` and `save_and_load`.
    - `merge`, as in ``first.merge(*others)`` with any number of others, which an estimator that was
      not fitted has too: `merge` and `merge_shares_nothing`.
    - `fit_moments`, with `moments_` that it takes: `forgetting` (``g * moments_``), `scale`, and
      `unlearning` (``moments_ - moments_``).
    - A parameter `sample_weight` of `fit`: `weights` and `zero_weight`. A parameter `half_life`:
      `half_life`; if it is set, laws that are about equal weights do not apply.
    - The tags: `input_tags.sparse` for `sparse_formats`, `untidy_sparse` and `never_dense`;
      `transformer_tags.preserves_dtype` for `float32`; `target_tags.required` for `two_classes`;
      `target_tags.multi_output`, or `fit_moments`, for `multi_label`.
    - `save_and_load` is for the methods of narrows only.

    Results that depend on rounding are not compared: `n_iter_`, `ranking_`, `n_positive_` where a
    value is 0, and what is selected where the last score is a tie, or at its limit (parameters
    `threshold` and `energy`).

    The laws:

    - `batching`: partial_fit in batches of any size = partial_fit of all samples at once.
    - `partial_fit`: partial_fit of all samples at once = fit.
    - `start`: A stream may start with no sample, and go on one sample at a time.
    - `failing_partial_fit`: A partial_fit that raises ValueError leaves the estimator as it
      was.
    - `merge`: The merge of parts in any order = fit of all samples; the parts stay as they are.
    - `merge_shares_nothing`: What a merged estimator learns later does not reach those it was
      merged from.
    - `unlearning`: The moments of all samples less those of some = the moments of the others.
    - `forgetting`: Moments times g > 0 have the answer of the moments; only weights and scores may
      grow by g.
    - `scale`: Scores do not grow with the weight of the samples.
    - `half_life`: A half-life = weights of 0.5 ** (age / half_life), in one fit and in batches.
    - `weights`: A sample of weight k = k samples of weight 1.
    - `zero_weight`: Samples of weight 0 do not count; fit raises ValueError where there are no
      others.
    - `sparse_formats`: Sparse X of any format = dense X.
    - `untidy_sparse`: Unsorted and wide indices, a value in two parts, explicit zeros = dense
      X.
    - `never_dense`: Sparse X is never made dense: memory stays below a quarter of that of
      dense X.
    - `float32`: float32 X is summed in double precision, and transform returns the float type
      of X.
    - `label_types`: Labels may be a list, strings, objects, integers, floats or booleans.
    - `multi_label`: With an indicator matrix each pair of a sample and a label counts as a
      sample.
    - `sample_order`: The order of the samples changes nothing.
    - `feature_order`: Permuting the features permutes the answer.
    - `class_names`: Other names of the classes, in another order, change only `classes_`.
    - `offset`: Adding 1e8 to dense X changes nothing.
    - `selection`: No other set of as many features has a larger sum of scores.
    - `transform`: transform selects features, or multiplies by `components_`; it changes nothing.
    - `copying`: A copy goes on as if never copied, and shares nothing with the original.
    - `save_and_load`: A loaded estimator is the one that was saved, and goes on as if never
      stopped.
    - `two_classes`: fit raises ValueError where y has one class.
    - `zero_feature`: A feature that is always 0 has score and components 0, and is not
      preferred to others.
    - `unfitted`: Before fit there are no fitted attributes, and transform raises
      NotFittedError.

    A method that learns one sample at a time does not promise `sample_order`, and one that is not
    centred does not promise `offset`.

    With their default parameters, methods of narrows keep all laws that apply, except for these,
    which `expected_to_fail` of a class derived from them names:

    - `forgetting`: `SRDA`, `LDA`, `KernelSRDA` and `ReducedRank` add a ridge to sums that grow with
      the weights. With a ridge of "auto", held-out samples choose it, in an order of hashes that
      other numbers change: `feature_order` and `offset` hold or not.
    - `multi_label`: `LDA` and `LEACE` take one label per sample.
    - `label_types`, `class_names`, `multi_label` and `failing_partial_fit`: `PCA` and `CCIPCA`
      ignore labels.
    - `offset`: `IG`, `CHI`, `MI` and `DF` count presence; `OCM`, `IDRQR`, `IOC`, `IIS`, `IMMC`,
      `ILDA` and `CCIPCA` do not centre. `transform` of `LEACE` is about a mean.
    - `scale`: `CHI` and `DF` grow with the number of samples.
    - `partial_fit`: `IDRQR` updates approximately. `OnlineSRDA` shuffles the samples of `fit`, and
      learns in steps, so that `merge`, `weights`, `zero_weight`, `sample_order`, `class_names`,
      `multi_label`, `half_life` and `float32` hold approximately.
    - `merge_shares_nothing`: two fits of `KernelSRDA` make two maps. Its hidden features belong to
      the numbers of features, and `transform` is about a mean: `feature_order`, `offset` and
      `transform` hold or not.
    - `transform`: `LEACE` keeps all features, without what it finds along `components_`.
    - `never_dense`: `KernelSRDA` makes dense coordinates, `PCA` with all components keeps as many
      directions as samples, and `ForwardFS` of numeric targets takes products of all features.

    **Cost**: a second or two for an estimator; a few hundred fits of 60 samples.

    Examples
    --------
    >>> from narrows import OC
    >>> from narrows.testing import check_method
    >>> outcomes = check_method(OC(), n_draws=2)
    >>> [law for law, status, reason in outcomes if status == "not applicable"]
    ['scale', 'selection']
    >>> outcomes[0]
    Outcome(law='batching', status='passed', reason='')
    """
    failures = []
    subject, reasons, todo = prepare(estimator, expected_to_fail, n_draws, random_state, rtol)
    _ = subject.fitted  # raises where it cannot be fitted, whatever the law
    outcomes = [Outcome(name, "not applicable", why) for name, why in reasons.items() if why]
    for name, check in todo:
        try:
            check()
            outcomes.append(Outcome(name, "passed"))
        except SkipTest as skipped:
            outcomes.append(Outcome(name, "expected to fail", str(skipped)))
        except AssertionError as error:
            failures.append(error)
    if failures:
        raise AssertionError("\n".join(map(str, failures))) from failures[0]
    order = list(LAWS)
    return sorted(outcomes, key=lambda outcome: order.index(outcome.law))
