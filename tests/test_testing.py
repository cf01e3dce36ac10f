"""The public checks: which laws apply to a method, and that they find what is wrong with one."""

import re
import types
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from narrows import LDA, OC, OCFS, OCM, OnlineSRDA
from narrows.testing import Outcome, check_method, checks, laws
from tests.cases import ALL
from tests.inside import OwnSelector


class Range(OwnSelector):
    """A selector of somebody else: the range of the class means, additive, in ten lines."""

    def __init__(self, n_features=3, priors="empirical", half_life=None):
        self.n_features, self.priors, self.half_life = n_features, priors, half_life

    def score(self, stats):
        means = stats.means[stats.counts > 0]
        return means.max(axis=0) - means.min(axis=0)


class Changed(Range):
    """What is given to fit and partial_fit is changed."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(*self.change(X, y, sample_weight))

    def partial_fit(self, X, y, sample_weight=None):
        return super().partial_fit(*self.change(X, y, sample_weight))


class Latest(Changed):
    """Scores lean on the size of the last batch."""

    batch = 1

    def change(self, X, *more):
        self.batch = np.shape(X)[0]
        return X, *more

    def score(self, stats):
        scores = super().score(stats)
        return scores * (1 + self.batch * np.arange(len(scores)))


class Forgetful(Changed):
    """A failing partial_fit leaves a trace."""

    def change(self, *given):
        self.calls_ = getattr(self, "calls_", 0) + 1
        return given


class Dense(Changed):
    """A selector that makes sparse X dense."""

    def change(self, X, *more):
        return X.toarray() if hasattr(X, "toarray") else X, *more


class Light(Changed):
    """Weights are ignored."""

    def change(self, X, y, sample_weight):
        return X, y


class Scaled(TransformerMixin, BaseEstimator):
    """A transformer of which nothing can be read: features are divided by their deviation."""

    def fit(self, X, y=None):
        deviations = np.asarray(X, dtype=float).std(axis=0)
        self._divisors = np.where(deviations > 0, deviations, 1.0)
        return self

    def transform(self, X):
        check_is_fitted(self, "_divisors")
        return np.asarray(X, dtype=float) / self._divisors


class Means(Scaled):
    """A projection on the class means, without `components_`."""

    def fit(self, X, y):
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        self._means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
        return self

    def transform(self, X):
        return X @ self._means.T


def broken(estimator, **options):
    """The laws that do not hold, as the message of check_method names them."""
    with pytest.raises(AssertionError) as raised:
        check_method(estimator, n_draws=4, **options)
    lines = str(raised.value).splitlines()
    assert all(repr(estimator) in line and "random_state=0]" in line for line in lines if line)
    return set(re.findall("the law '(.*?)'", str(raised.value))), str(raised.value)


def test_a_method_of_somebody_else_keeps_the_laws():
    found = {outcome.law: outcome for outcome in check_method(Range(), n_draws=4)}
    assert found.keys() == laws(Range()).keys()
    assert found["merge"] == Outcome("merge", "passed", "")
    assert found["save_and_load"].status == "not applicable"
    assert "only the methods of narrows" in found["save_and_load"].reason
    assert all(bool(outcome.reason) == (outcome.status != "passed") for outcome in found.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "law"),
    [
        (Latest(), {"batching", "merge", "start"}),
        (Dense(), {"never_dense"}),
        (Light(), {"weights"}),
        (Forgetful(), {"failing_partial_fit"}),
        (OCM(), {"offset"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_method_is_found_by_the_names_of_the_laws(estimator, law):
    found, said = broken(estimator)
    assert found >= law
    assert not found & {"zero_feature", "unfitted", "save_and_load", "sample_order"}
    differing = re.search(r"expected (\S+), got (\S+)", said)  # also in the last digit
    assert differing is None or differing[1] != differing[2]


@pytest.mark.slow
def test_each_estimator_has_the_laws_that_apply():
    reasons = laws(SelectKBest(k=3))
    assert reasons["batching"] == "the estimator has no partial_fit"
    assert reasons["weights"] == "fit has no parameter sample_weight"
    assert reasons["selection"] == ""
    suited = OCFS(n_features=2, priors=[0.1, 0.2, 0.3, 0.4])  # a prior for each of four classes
    check_method(suited, n_draws=2)
    for estimator in (SelectKBest(k=3), *(case.estimator for case in ALL)):
        applying = [law for law, why in laws(estimator).items() if not why]
        assert applying == list(dict(checks(estimator)))


def test_transformers_of_scikit_learn_alone_have_the_laws_of_transform():
    found = {outcome.law: outcome for outcome in check_method(Scaled(), n_draws=4)}
    assert {law for law, (_, status, _) in found.items() if status == "passed"} == {
        "class_names", "copying", "feature_order", "label_types", "offset", "sample_order",
        "transform", "unfitted", "zero_feature",
    }  # fmt: skip
    assert found["selection"].reason == "the estimator has no get_support"
    assert broken(Means())[0] == {"class_names", "offset", "unfitted"}


@pytest.mark.slow
def test_what_is_expected_to_fail_has_to_fail():
    why = {"offset": "means are not centred"}
    found = {o.law: o for o in check_method(OCM(), expected_to_fail=why, n_draws=2)}
    assert found["offset"] == Outcome("offset", "expected to fail", "means are not centred")
    with pytest.raises(SkipTest, match="means are not centred"):
        dict(checks(OCM(), expected_to_fail=why))["offset"]()
    with pytest.raises(AssertionError, match=r"'offset' was expected to fail .* but holds"):
        check_method(OC(), expected_to_fail=why, n_draws=1)


def test_a_tolerance_is_for_all_laws():
    float32 = dict(checks(OnlineSRDA(random_state=0)))["float32"]
    with pytest.raises(AssertionError, match="law 'float32' does not"):
        float32()
    dict(checks(OnlineSRDA(random_state=0), rtol=1e-5))["float32"]()


@pytest.mark.parametrize(
    ("estimator", "options", "error", "word"),
    [
        (OC, {}, TypeError, "got <class"),
        (LogisticRegression(), {}, TypeError, "without transform"),
        (types.SimpleNamespace(fit=1, transform=2), {}, TypeError, "Derive SimpleNamespace"),
        (OCFS(n_features=9), {}, ValueError, "Use parameters that suit"),
        (OC(), {"n_draws": 0}, ValueError, "`n_draws`"),
        (OC(), {"random_state": -1}, ValueError, "`random_state`"),
        (OC(), {"rtol": "x"}, ValueError, "`rtol`"),
        (OC(), {"expected_to_fail": ["offset"]}, TypeError, "dict"),
        (OC(), {"expected_to_fail": {"ofset": "x"}}, ValueError, "Did you mean offset"),
        (LDA(solver="pca"), {"expected_to_fail": {"merge": "x"}}, ValueError, "no merge"),
    ],
)
def test_what_is_wrong_is_named(estimator, options, error, word):
    with pytest.raises(error, match=word):
        check_method(estimator, **options)
