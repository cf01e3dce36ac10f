"""Checks that a method keeps the laws of narrows, for people who write their own."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple
from unittest import SkipTest

import numpy as np

from narrows.testing import samples, streams
from narrows.testing.subject import Law, Subject

__all__ = ["Outcome", "check_method", "checks", "laws"]

_LAWS: dict[str, Law] = {
    name: law
    for module in (streams, samples)
    for name, law in vars(module).items()
    if isinstance(law, Law)
}


class Outcome(NamedTuple):
    """What became of a law.

    Parameters
    ----------
    law : str
        The name of the law.
    status : {"passed", "expected to fail", "not applicable"}
        Whether the law holds, fails as expected, or needs what the estimator does not have.
    reason : str
        Why the law is expected to fail or not applicable; else "".

    See Also
    --------
    check_method : Returns one for each law.

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
    """List all laws, with the reason why one does not apply to an estimator.

    Parameters
    ----------
    estimator : estimator
        An instance; it is neither fitted nor changed.

    Returns
    -------
    reasons : dict of str to str
        For the name of each law "" where it applies, or else why it does not.

    Raises
    ------
    TypeError
        The estimator is a class, or not a scikit-learn estimator.

    See Also
    --------
    check_method : Check all laws that apply, and what each of them says.
    checks : The laws that apply, one by one.

    Notes
    -----
    **Cost**: microseconds; nothing is fitted.

    Examples
    --------
    >>> from narrows import LDA
    >>> from narrows.testing import laws
    >>> laws(LDA())["merge"]
    'the estimator has no merge'
    >>> laws(LDA())["weights"]
    ''
    """
    subject = _subject(estimator)
    return {
        name: next((subject.missing[need] for need in law.needs if subject.missing[need]), "")
        for name, law in _LAWS.items()
    }


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
        Names of laws that the method does not promise, with the reason. Their checks raise
        `unittest.SkipTest` with the reason, which pytest shows; or AssertionError if the law holds.
    n_draws : int, default=12
        How often data are drawn for a law, where they matter.
    random_state : int or None, default=0
        Determines the data; None draws others each time. An error names the number.
    rtol : float, default=1e-9
        By which part of the largest value in an array two results may differ.

    Yields
    ------
    law : str
        The name of the law.
    check : callable
        Takes no arguments, and raises AssertionError where the law does not hold.

    Raises
    ------
    ValueError
        `expected_to_fail` names a law that does not exist, or that does not apply.

    See Also
    --------
    check_method : Check all laws at once, and what each of them says.
    laws : Which laws apply, and why others do not.

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
    subject, expected = _subject(estimator, rtol), dict(expected_to_fail or {})
    if n_draws < 1:
        raise ValueError(
            f"narrows.testing: expected n_draws to be an integer >= 1, got {n_draws!r}."
        )
    reasons = laws(estimator)
    for name in expected:
        if name not in reasons:
            near = get_close_matches(name, reasons, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"The laws are {', '.join(reasons)}."
            raise ValueError(
                f"narrows.testing: expected names of laws in expected_to_fail, got {name!r}: {hint}"
            )
        if reasons[name]:
            raise ValueError(
                f"narrows.testing: expected laws that apply in expected_to_fail, got {name!r}: "
                f"{reasons[name]}. Leave it out."
            )
    seed = int(np.random.SeedSequence(random_state).entropy)  # type: ignore[arg-type]
    for name, reason in reasons.items():
        if not reason:
            yield name, partial(_check, subject, name, n_draws, seed, expected.get(name))


def check_method(
    estimator: Any,
    *,
    expected_to_fail: Mapping[str, str] | None = None,
    n_draws: int = 12,
    random_state: int | None = 0,
    rtol: float = 1e-9,
) -> list[Outcome]:
    """Check that an estimator keeps the laws of narrows.

    It finds out from the estimator what it can do: whether it has `partial_fit`, `merge`,
    `fit_stats` and `get_support`, whether `fit` takes `sample_weight`, and, from its tags, whether
    it supports sparse X, float32 and indicator matrices, and needs y.

    Parameters
    ----------
    estimator : estimator
        An instance whose parameters fit data of 60 samples, 7 features and 3 classes.
    expected_to_fail : dict of str to str, optional
        Names of laws that the method does not promise, with the reason.
    n_draws : int, default=12
        How often data are drawn for a law, where they matter.
    random_state : int or None, default=0
        Determines the data; None draws others each time. An error names the number.
    rtol : float, default=1e-9
        By which part of the largest value in an array two results may differ.

    Returns
    -------
    outcomes : list of Outcome
        One for each law: passed, expected to fail, or not applicable, with the reason.

    Raises
    ------
    AssertionError
        Laws that apply do not hold, or one that is expected to fail does. The message names each
        law, the estimator, and what differs.
    ValueError
        `expected_to_fail` names a law that does not exist, or that does not apply.

    See Also
    --------
    checks : The laws that apply, one by one, to parametrize tests.
    laws : Which laws apply, and why others do not.
    sklearn.utils.estimator_checks.check_estimator : The checks of scikit-learn, to be run too.

    Notes
    -----
    The laws:

    - `batching`: partial_fit in batches of any size = partial_fit of all samples at once.
    - `partial_fit`: partial_fit of all samples at once = fit.
    - `start`: A stream may start with no sample, and go on one sample at a time.
    - `failing_partial_fit`: A partial_fit that raises ValueError leaves the estimator as it
      was.
    - `merge`: The merge of parts in any order = fit of all samples; the parts stay as they are.
    - `merge_shares_nothing`: What a merged estimator learns later does not reach those it was
      merged from.
    - `unlearning`: The state of all samples less that of some = the state of the others.
    - `forgetting`: A state times g > 0 has the answer of the state; only weights and scores may
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
    options: Any = {"n_draws": n_draws, "random_state": random_state, "rtol": rtol}
    reasons, failures = laws(estimator), []
    outcomes = [Outcome(name, "not applicable", why) for name, why in reasons.items() if why]
    for name, check in checks(estimator, expected_to_fail=expected_to_fail, **options):
        try:
            check()
            outcomes.append(Outcome(name, "passed"))
        except SkipTest as skipped:
            outcomes.append(Outcome(name, "expected to fail", str(skipped)))
        except AssertionError as error:
            failures.append(error)
    if failures:
        raise AssertionError("\n".join(map(str, failures))) from failures[0]
    order = list(_LAWS)
    return sorted(outcomes, key=lambda outcome: order.index(outcome.law))


def _subject(estimator: Any, rtol: float = 1e-9) -> Subject:
    if isinstance(estimator, type) or not (
        hasattr(estimator, "get_params") and hasattr(estimator, "fit")
    ):
        raise TypeError(
            f"narrows.testing: expected an instance of an estimator, got {estimator!r}. "
            "Use an object such as OCFS(n_features=3)."
        )
    return Subject(estimator, rtol)


def _check(subject: Subject, name: str, n_draws: int, seed: int, expected: str | None) -> None:
    """Raise AssertionError where the law does not hold; SkipTest where that is expected."""
    who, law = repr(subject.estimator), _LAWS[name]
    for draw in range(1 if law.once else n_draws):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), draw])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # small data often have a margin of 0
                law.keep(subject, rng)
        except Exception as error:
            if expected is not None and isinstance(error, AssertionError | ValueError):
                raise SkipTest(expected) from None
            what = "" if type(error) is AssertionError else f"{type(error).__name__}: "
            raise AssertionError(
                f"{who}: the law {name!r} does not hold: {what}{error}. {law.keep.__doc__} "
                f"[draw {draw}, random_state={seed}]"
            ) from error
    if expected is not None:
        raise AssertionError(
            f"{who}: the law {name!r} was expected to fail ({expected}), but holds. "
            "Take it out of expected_to_fail."
        )
