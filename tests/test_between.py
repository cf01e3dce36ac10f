"""OCFS, OC and OCM: the papers' numbers, their parameters, their errors."""

from __future__ import annotations

import csv
import pickle

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.exceptions import NotFittedError

from narrows import OC, OCFS, OCM, Moments
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.oracles.dense import scatters


def test_iris_scores_with_the_priors_that_the_papers_left_out(data):
    """Yan et al. (2006, section 3.2; 2005, section 4.3) score Iris with two errors.

    They omit n_j / n, so that the first three printed scores are 3 times too large; and the
    fourth is printed 1.1621 instead of 1.6121 = 3 x 0.53736, so that they select features 3 and
    1. The formula of Table 2 selects features 3 and 4.
    """
    with open(data / "iris.csv") as file:
        rows = list(csv.reader(file))[1:]
    X, y = np.array([row[:4] for row in rows], dtype=float), [row[4] for row in rows]
    ocfs = OCFS(n_features=2).fit(X, y)
    np.testing.assert_allclose(ocfs.scores_, [0.421414, 0.073184, 2.910958, 0.537361], atol=1e-6)
    assert ocfs.get_support(indices=True).tolist() == [2, 3]  # features 3 and 4, counted from 1
    printed = [1.2642, 0.21955, 8.7329, 1.1621]
    np.testing.assert_allclose(3 * ocfs.scores_[:3], printed[:3], atol=1e-4)
    assert 3 * ocfs.scores_[3] == pytest.approx(1.6121, abs=1e-4)
    means = [
        [5.006, 3.418, 1.464, 0.244],
        [5.936, 2.770, 4.260, 1.326],
        [6.588, 2.974, 5.552, 2.026],
    ]
    np.testing.assert_allclose(Moments.of(X, y).means, means, atol=1e-9)


def test_n_features_is_a_number_or_a_fraction():
    X, y = labelled()
    for n_features, selected in ((1, 1), (7, 7), (1.0, 7), (0.5, 3), (0.01, 1), (np.int64(2), 2)):
        assert OCFS(n_features=n_features).fit(X, y).n_features_ == selected
    wide = np.random.default_rng(0).normal(size=(20, 100)), [0, 1] * 10
    for percent in range(1, 101):  # 0.29 * 100 is 28.999999999999996
        assert OCFS(n_features=percent / 100).fit(*wide).n_features_ == percent
    assert OCFS().fit(X, y).n_features_ == OCFS(energy=0.8).fit(X, y).n_features_
    assert OCFS(energy=1.0).fit(X, y).n_features_ == 7
    s = OCFS().fit(X, y).scores_
    assert OCFS(threshold=float(np.median(s))).fit(X, y).n_features_ == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features": 3, "energy": 0.5}, "at most one of .* got n_features=3 and energy=0.5"),
        (
            {"n_features": 8},
            "expected n_features<=7, the number of features in the data, got 8. Use fewer",
        ),
        ({"n_features": 0}, "expected `n_features` to be an integer >= 1, or a fraction"),
        ({"n_features": 1.5}, "expected `n_features` to be"),
        ({"n_features": True}, 'expected `n_features` to be a number or "cv", got True'),
        ({"n_features": "10"}, "expected `n_features` to be a number or \"cv\", got '10'"),
        ({"energy": 0.0}, r"expected `energy` to be in \(0, 1\], got 0.0"),
        ({"energy": 1.1}, r"expected `energy` to be in \(0, 1\]"),
        ({"threshold": np.nan}, "expected `threshold` to be finite"),
        ({"priors": "uniform"}, "expected priors to be"),
        ({"priors": [0.5, 0.5]}, r"expected priors of shape \(3,\)"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, y = labelled()
    with pytest.raises(ParameterError, match=message):
        OCFS(**parameters).fit(X, y)


def test_a_threshold_that_nothing_reaches():
    X, y = labelled()
    with pytest.raises(ValueError, match=r"at least threshold=1000\.0, got scores up to"):
        OCFS(threshold=1000.0).fit(X, y)
    streamed = OCFS(threshold=1000.0).partial_fit(X, y)
    assert streamed.n_features_ == 0
    with pytest.raises(ValueError, match="got scores up to"):
        streamed.transform(X)


def test_no_positive_score_keeps_one_column_and_warns():
    X = np.array([[1.0, 2.0], [1.0, 2.0]])
    with pytest.warns(UserWarning, match="expected a positive score of.* 1 of 2"):
        ocfs = OCFS().fit(X, ["a", "b"])
    assert ocfs.get_support().tolist() == [True, False]
    assert ocfs.energy_.tolist() == [0, 0]
    assert ocfs.n_positive_ == 0


def test_inverse_transform_puts_features_back():
    X, y = labelled()
    ocfs = OCFS(n_features=2).fit(X, y)
    back = ocfs.inverse_transform(ocfs.transform(X))
    np.testing.assert_array_equal(back, X * ocfs.get_support())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OC(3), "expected n_components<=2, since 3 classes have at most 2 "
                        r"directions, got 3. Use fewer components, or OCM for 3\."),
        (lambda: OCM(4), "expected n_components<=3, since 3 classes have at most 3 "
                         r"directions, got 4. Use fewer components\."),
        (lambda: OC(0), 'expected `n_components` to be an integer >= 1, "cv" or None, got 0'),
        (lambda: OC(1.5), "got 1.5"),
        (lambda: OC(priors="even"), "expected priors to be"),
    ],
)  # fmt: skip
def test_wrong_numbers_of_components_are_named(make, message):
    X, y = labelled()
    with pytest.raises(ParameterError, match=message):
        make().fit(X, y)


def test_means_on_a_line_have_one_direction():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    assert OC().fit(X, [0, 1, 2]).components_.shape == (1, 2)
    with pytest.raises(ParameterError, match="the means of these 3 classes in 2 features span"):
        OC(2).fit(X, [0, 1, 2])
    with pytest.raises(ValueError, match=r"equal means, so no direction"):
        OC().fit([[1.0], [1.0]], [0, 1])


def test_on_a_stream_components_wait_for_classes():
    X, y = labelled()
    oc, every = OC(n_components=2), OC()
    order = np.argsort(y == "bee", kind="stable")
    order = order[np.argsort(y[order] == "cat", kind="stable")]
    rows = []
    for i in order:
        oc.partial_fit(X[[i]], y[[i]])
        every.partial_fit(X[[i]], y[[i]])
        rows.append(len(every.components_))
        assert len(every.components_) == len(oc.classes_) - 1
        assert oc.components_.shape == (2, 7)
        assert oc.components_.any(axis=1).sum() == min(len(oc.classes_) - 1, 2)
    assert sorted(set(rows)) == [0, 1, 2]
    first = OC().partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match=r"got 1 class\(es\) without a direction"):
        first.transform(X)


@pytest.mark.parametrize("priors", ["empirical", "balanced"])
def test_ocm_spans_what_the_paper_s_qr_does(priors):
    """Ye et al. (2005), Theorem 2: any orthonormal basis Q of the means, here from a real QR."""
    X, y = labelled(d=9, c=4)
    X = X + 3  # so that the mean adds a direction
    C = np.array([X[y == j].mean(axis=0) for j in np.unique(y)]).T
    Q, _ = linalg.qr(C, mode="economic")
    S_b, *_ = scatters(X, y, priors=priors)
    ocm = OCM(priors=priors).fit(X, y)
    W = ocm.components_.T
    np.testing.assert_allclose(W @ W.T, Q @ Q.T, atol=1e-10)
    np.testing.assert_allclose(ocm.eigenvalues_, linalg.eigvalsh(Q.T @ S_b @ Q)[::-1], atol=1e-10)
    np.testing.assert_allclose(W.T @ S_b @ W, np.diag(ocm.eigenvalues_), atol=1e-10)
    np.testing.assert_allclose(OC(priors=priors).fit(X, y).components_, W.T[:3], atol=1e-12)


def test_ocm_of_centred_data_has_no_more_than_oc():
    X, y = labelled()
    assert OCM().fit(X - X.mean(axis=0), y).components_.shape == (2, 7)


def test_merge_refuses_what_is_not_alike():
    X, y = labelled()
    oc = OC().fit(X, y)
    with pytest.raises(ValueError, match="expected another OC to merge, got OCM"):
        oc.merge(OCM().fit(X, y))
    with pytest.raises(ValueError, match="got priors='sqrt' instead of 'empirical'"):
        oc.merge(OC(priors="sqrt").fit(X, y))
    with pytest.raises(ValueError, match="with 7 features to merge, got one with 5"):
        oc.merge(OC().fit(X[:, :5], y))
    with pytest.raises(ValueError, match="not fitted"):
        oc.merge(OC())
    with pytest.raises(ValueError, match=r"got n_features=1.0 instead of 1"):
        OCFS(n_features=1).merge(OCFS(n_features=1.0).fit(X, y))
    assert oc.n_samples_seen_ == 60


def test_merge_refuses_other_features_of_the_same_number():
    pd = pytest.importorskip("pandas")
    X, y = labelled()
    named = OC().fit(pd.DataFrame(X, columns=list("abcdefg")), y)
    with pytest.raises(ValueError, match="the same feature names"):
        named.merge(OC().fit(pd.DataFrame(X, columns=list("bacdefg")), y))
    with pytest.raises(ValueError, match="the same feature names"):
        OC().merge(named, OC().fit(pd.DataFrame(X, columns=list("bacdefg")), y))


def test_fit_stats_refuses_another_kind():
    X, y = labelled()
    with pytest.raises(ValueError, match=r"expected moments of classes, got .* numeric"):
        OCFS().fit_moments(Moments.of(X, X[:, 0], numeric=True))
    with pytest.raises(TypeError, match="expected Moments for fit_moments, got ndarray"):
        OCFS().fit_moments(X)
    rich = Moments.of(X, y, second="class")
    ocfs = OCFS().fit_moments(rich)
    np.testing.assert_array_equal(ocfs.scores_, OCFS().fit(X, y).scores_)
    ocfs.partial_fit(X, y)
    assert rich.n_samples == 60


def test_new_parameters_need_no_new_fit():
    X, y = labelled()
    oc = OC(n_components=1).fit(X, y)
    oc.set_params(n_components=2, priors="balanced")
    np.testing.assert_array_equal(
        oc.components_, OC(n_components=2, priors="balanced").fit(X, y).components_
    )
    ocfs = OCFS(n_features=2).fit(X, y).set_params(n_features=3, priors="sqrt")
    np.testing.assert_allclose(ocfs.class_scores_.sum(axis=0), ocfs.scores_)
    assert pickle.loads(pickle.dumps(ocfs)).n_features_ == ocfs.n_features_ == 3
    with pytest.raises(ParameterError, match="n_features<=7, the number of features"):
        ocfs.set_params(n_features=9).transform(X)


def test_a_stream_waits_for_the_classes_of_its_priors():
    X, y = labelled()
    oc = OC(priors=[0.2, 0.3, 0.5]).partial_fit(X[:1], y[:1])
    assert not hasattr(oc, "components_")
    with pytest.raises(
        NotFittedError, match=r"expected 3 classes, one for each of the priors, got 1 so far"
    ):
        oc.transform(X)
    assert oc.partial_fit(X, y).components_.shape == (2, 7)


@pytest.mark.parametrize("priors", [[0.1, 0.2, 0.3, 0.4], 0.5, [], {0: 1}])
def test_priors_that_fit_no_classes_are_named_at_once(priors):
    X, y = labelled()
    with pytest.raises(ParameterError, match="priors"):
        OC(priors=priors).fit(X, y)


def test_an_interrupt_at_the_end_of_an_update_leaves_no_stale_answer(monkeypatch):
    X, y = labelled()
    oc = OC().fit(X[:30], y[:30])
    update = Moments.add

    def interrupted(*args, **kwargs):
        update(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(Moments, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        oc.partial_fit(X[30:], y[30:])
    assert oc.n_samples_seen_ == 60
    np.testing.assert_allclose(oc.components_, OC().fit_moments(oc.moments_).components_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rounding_does_not_distinguish_equal_means(form):
    X = np.full((10, 3), 0.1)
    y = [0] * 3 + [1] * 7
    with pytest.raises(ValueError, match=r"equal means, so no direction"):
        OC().fit(form(X), y)
    with pytest.warns(UserWarning, match="expected a positive score of"):
        assert OCFS().fit(form(X), y).n_positive_ == 0


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_however_large_or_small_turn_no_direction(scale):
    X, y = labelled()
    here, there = OC().fit(X, y), OC().fit(X * scale, y)
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-9)
    assert (
        OCFS().fit(X * scale, y).get_support().tolist() == OCFS().fit(X, y).get_support().tolist()
    )


def test_numbers_too_large_are_an_error_and_not_infinity():
    X, y = labelled()
    with pytest.raises(ValueError, match="expected "):
        OCFS().fit(X * 1e300, y)
    with pytest.raises(ValueError, match="expected sample weights of 0 or between"):
        OC().fit(X, y, sample_weight=np.full(60, 1e307))


def test_the_first_sentence_of_a_projector_s_transform_says_it_is_not_centred():
    assert "not centred" in OC.transform.__doc__.splitlines()[0]


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([10**400, 1, 1], "priors to be numbers"),
        (["a", 1, 1], "priors to be numbers"),
        ([1, 1], r"priors of shape \(3,\)"),
        ([np.inf, 1, 1], "finite, >= 0 and not all 0"),
        ([-1, 1, 1], "finite, >= 0 and not all 0"),
    ],
)
def test_priors_that_are_no_weights_are_refused(priors, message):
    with pytest.raises(ParameterError, match=f"expected .*{message}"):
        OC(priors=priors).fit(*labelled())
