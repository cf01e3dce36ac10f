"""How laws are run: the arguments of the public functions, and a check for each law."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from unittest import SkipTest

import numpy as np

from narrows.errors import did_you_mean
from narrows.methods.parameters import NONE, real, whole
from narrows.testing.all_laws import LAWS
from narrows.testing.subject import Subject, quietly


def subject_of(estimator: Any, rtol: float = 1e-9) -> Subject:
    """Return the subject of the laws; raise TypeError where an estimator lacks what all need."""
    if isinstance(estimator, type):
        raise TypeError(
            f"expected an instance of an estimator, got {estimator!r}. "
            "Use an object such as OCFS(n_features=3)."
        )
    absent = [name for name in ("fit", "transform") if not hasattr(estimator, name)]
    if absent:
        raise TypeError(
            f"expected an instance of an estimator with fit and transform, got "
            f"{estimator!r} without {' and '.join(absent)}. Use an object such as "
            "OCFS(n_features=3)."
        )
    try:
        return Subject(estimator, rtol)
    except AttributeError as error:  # no get_params, or no tags
        raise TypeError(
            f"expected an instance of an estimator with parameters and tags, got "
            f"{type(error).__name__}: {error}. Derive {type(estimator).__name__} from "
            "TransformerMixin and BaseEstimator of sklearn.base, in this order."
        ) from error


def reasons_for(subject: Subject) -> dict[str, str]:
    """Return for each law why it does not apply, or ""."""
    return {
        name: next(filter(None, map(subject.missing, law.needs)), "") for name, law in LAWS.items()
    }


def prepare(
    estimator: Any, expected: Any, n_draws: Any, random_state: Any, rtol: Any
) -> tuple[Subject, dict[str, str], Iterator[tuple[str, Callable[[], None]]]]:
    """Return the subject, what `laws` returns, and what `checks` yields."""
    whole(1).check("n_draws", n_draws)
    (whole(0) | NONE).check("random_state", random_state)
    real(0, 1).check("rtol", rtol)
    if not isinstance(expected, Mapping | None):
        raise TypeError(
            f"expected expected_to_fail to be a dict of laws and reasons, got {expected!r}."
        )
    subject, expected = subject_of(estimator, rtol), dict(expected or {})
    reasons = reasons_for(subject)
    for law in expected:
        if law not in reasons:
            raise ValueError(
                f"expected names of laws in expected_to_fail, got {law!r}. "
                f"{did_you_mean(law, reasons)}"
            )
        if reasons[law]:
            raise ValueError(
                f"expected laws that apply in expected_to_fail, got {law!r}: "
                f"{reasons[law]}. Leave it out."
            )
    seed = int(np.random.SeedSequence(random_state).entropy)  # type: ignore[arg-type]
    todo = (
        (law, partial(_check, subject, law, int(n_draws), seed, expected.get(law)))
        for law, reason in reasons.items()
        if not reason
    )
    return subject, reasons, todo


def _check(subject: Subject, name: str, n_draws: int, seed: int, expected: str | None) -> None:
    """Raise AssertionError where the law does not hold; SkipTest where that is expected."""
    who, law = repr(subject.estimator), LAWS[name]
    _ = subject.fitted  # raises where it cannot be fitted, whatever the law
    for draw in range(1 if law.once else n_draws):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), draw])
        try:
            quietly(law.keep, subject, *subject.data(rng, law.zeros), rng)
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
