"""Moments say what samples say, in folds, too, and they add up."""

from __future__ import annotations

import contextlib
import copy
import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tests.cases import labelled
from tests.inside import Moments, Pass, SchemaError, before, pretend

KINDS = "plain", "offset", "float32", "sparse"
SECONDS = None, "total", "class", "cross"
BOTH = [(each, False) for each in SECONDS] + [(each, True) for each in (None, "total", "cross")]
CLASSES = np.array(["ant", "bee", "cat", "dog"])


def samples(kind="plain", n=300, d=8, seed=0):
    """Samples with a constant feature, their labels, numbers and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) * np.logspace(-1, 2, d) + rng.normal(size=(4, d))[y]
    X[:, 3] = 2.5
    T = X[:, :2] @ rng.normal(size=(2, 2)) + rng.normal(size=(n, 2)) + 5
    if kind == "offset":
        X, T = X + 1e8, T + 1e8
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "sparse":
        X[rng.random(X.shape) < 0.6] = 0
        X = odd(X, rng)
    return X, CLASSES[y], T, rng.choice([0, 0.5, 1, 3.3], n)


def odd(X, rng):
    """Return samples as an unsorted CSR array with duplicates and explicit zeros."""
    order = rng.permutation(X.shape[1])
    A = sparse.csr_array(X[:, order])
    A.data[::9] = 0
    data, indices = np.repeat(A.data / 2, 2), np.repeat(order[A.indices], 2)
    return sparse.csr_array((data, indices, 2 * A.indptr), shape=X.shape)


def dense(X):
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


def close(a, b, tolerance=1e-9):
    a, b = dense(a), dense(b)
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0) <= tolerance * max(np.abs(b).max(initial=0), 1e-300)


def batches(n, sizes=(1, 20, 90)):
    ends = np.cumsum([0, *(sizes * n)])
    return [slice(a, min(b, n)) for a, b in itertools.pairwise(ends) if a < n]


@pytest.mark.parametrize("tables", ["arrays", "non-zeros", "few non-zeros at a time"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("several", [False, True])
def test_moments_are_what_formulas_say(kind, several, tables, monkeypatch):
    if tables != "arrays":
        pretend(monkeypatch, tables)
    X, y, T, w = samples(kind)
    Y = np.random.default_rng(1).integers(0, 2, (len(y), 3)) if several else y
    labels = np.arange(3) if several else CLASSES
    E = w[:, None] * (Y if several else y[:, None] == labels)
    A, n, W = dense(X), E.sum(), E.sum(axis=1)
    m, C = W @ A / n, (A - W @ A / n).T * W @ (A - W @ A / n) / n
    for second in SECONDS:
        got = sum(Moments.of(X[b], Y[b], w[b], second=second) for b in batches(len(y)))
        assert got.classes.tolist() == labels.tolist()
        close(got.counts, E.sum(axis=0))
        close(got.sums, E.T @ A)
        close(got.means, E.T @ A / E.sum(axis=0)[:, None])
        close(got.mean, m)
        if second:
            close(got.variances(), C.diagonal(), 1e-7 if kind == "offset" else 1e-9)
            close(got.squares, (E if second == "class" else W).T @ A**2)
            assert got.varying().tolist() == [k != 3 or kind == "sparse" for k in range(8)]
        if second == "cross":
            close(got.covariance(), C, 1e-7 if kind == "offset" else 1e-9)
            close(got.cross, A.T * W @ A)
    numbers = Moments.of(X, T, w, second="total", numeric=True)
    of_T, of_A = (B - w @ B / w.sum() for B in (T, A))
    close(numbers.covariances(), (of_T.T * w) @ of_A / w.sum(), 1e-6 if kind == "offset" else 1e-9)
    close(numbers.target_mean, w @ T / w.sum())


@pytest.mark.parametrize(("second", "numeric"), BOTH)
def test_subtraction_leaves_nothing_of_what_was_added(second, numeric):
    X, y, T, _ = samples("offset")
    y, args = T if numeric else y, {"second": second, "numeric": numeric}
    X[:, 5] = 0
    a, b = Moments.of(X, y, **args), Moments.of(X * 1e3, y, **args)
    close((a + b - b).mean, a.mean, 1e-6)
    for word, other in (("at most", 2 * b), ("one kind", Moments.of(X, y, keep=3, **args))):
        with pytest.raises(ValueError, match=word):
            a - other
    if second:
        with pytest.raises(ValueError, match="negative variance"):
            a - Moments.of(X + np.arange(len(X))[:, None] * 1e6, y, **args) * 0.9


@pytest.mark.parametrize(("second", "numeric"), BOTH)
def test_results_share_nothing_with_what_they_are_made_of(second, numeric):
    X, y, T, _ = samples("sparse", n=40, d=20)
    y, args = T if numeric else y, {"second": second, "keep": 9, "numeric": numeric}

    def made():
        m, other = Moments.of(X[:30], y[:30], **args), Moments.of(X[30:], y[30:], **args)
        found = [m.copy(), m + other, m + m.emptied(), m * 1.0, Moments.summed([m]), m.widen(20)]
        found += [m.about(None), m.about(np.ones(20)), m.later(2), m.without_kept(), m.sums_only()]
        found += [m.moved(np.zeros(20)), m.reduced(second), m.reduced(None), sum([m])]
        if not numeric:
            found += [m.renamed(np.array(["a", "b", "c", "d"])), m.with_labels(np.array(["x"]))]
        return m, other, found

    for k in range(len(made()[2])):
        m, other, found = made()
        new, before = found[k], bits(found[k])
        for each in (m, other):
            each.update(X, y)
        assert bits(new) == before, k
        m, other, found = made()
        before = bits(m), bits(other)
        found[k].update(X, y)
        assert (bits(m), bits(other)) == before, k


def bits(m):
    return {name: (a.shape, a.tobytes()) for name, a in copy.deepcopy(m).to_arrays().items()}


def test_memory_of_sparse_samples_and_of_large_tables():
    X = sparse.random_array((2000, 20_000), density=1e-3, format="csr", rng=0)
    y = np.arange(2000) % 300
    tracemalloc.start()
    m = Moments.of(X, y, second="class")  # 300 x 20,000: more than 4 million numbers
    assert tracemalloc.get_traced_memory()[1] < 20e6  # dense samples: 320 MB; sums: 48 MB each
    tracemalloc.stop()
    assert m.nbytes < 2e6
    assert Moments(3, second="cross").nbytes < 100
    close(Moments.from_arrays((m + m - m).to_arrays()).variances(), m.variances())
    close(Moments.of(X, y % 7, second="total", numeric=True).mean, m.mean)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("second", ["class", "cross"])
def test_errors_leave_moments_as_they_were(kind, second, monkeypatch):
    X, y, _, _ = samples(kind)
    m = Moments.of(X, y, second=second, keep=9)
    before, bad = bits(m), dense(X)
    bad[-1, 0] = 1e200
    for wrong in ((bad, y), (bad * np.nan, y), (X[:, :3], y), (X, y[:9]), (X, np.arange(300) / 7)):
        with pytest.raises(ValueError):
            m.update(*wrong)
        assert bits(m) == before
    monkeypatch.setattr(type(m.second_moment), "add", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        m.update(X, y)
    assert bits(m) == before


def stored():
    X, y, T, w = samples("plain", n=30, d=40)
    for second in SECONDS:
        yield Moments.of(X, y, w, second=second, keep=9)
    yield Moments.of(X, T, w, second="cross", keep=9, numeric=True)
    X, y, T, w = samples("sparse", n=30, d=40)
    yield Moments.of(X, y, w, second="class", keep=9)
    yield Moments.of(X, T, w, second="total", numeric=True)
    yield Moments(3, second="cross", keep=2)
    yield Moments.of(X, y, second="cross").sums_only()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_stored_moments_keep_all_bits_and_forged_ones_are_refused():
    rng, refused, n = np.random.default_rng(0), 0, 0
    for m in stored():
        arrays = m.to_arrays()
        assert bits(Moments.from_arrays(arrays)) == bits(m)
        for name, a in arrays.items():
            flat = a.ravel()
            forged = [None, np.array("x"), a.astype(object), a.astype("S"), np.zeros(0), a[None]]
            forged += [flat, np.repeat(a[None], 3, 0), flat[1:], flat[:1]]
            for value in (-1, 2**31, 2**62) if a.dtype.kind in "iu" else ():
                forged.append(np.full_like(a, value % np.iinfo(a.dtype).max))
            for value in (-1, np.nan, 1e300) if a.dtype.kind == "f" else ():
                forged += [np.full_like(a, value), np.where(rng.random(a.shape) < 0.3, value, a)]
            for one in forged:
                left = {key: b for key, b in arrays.items() if key != name}
                n += 1
                try:
                    odd = Moments.from_arrays(left if one is None else left | {name: one})
                except SchemaError:
                    refused += 1
                    continue
                use(odd)
    assert refused > n / 2


@np.errstate(all="ignore")
def use(m):
    """Do what may be done with moments, which may be wrong but must not crash."""
    acts = (lambda: m + m, lambda: m - m, m.sums_only, m.variances, lambda: m.scatters().C.sum())
    for act in acts:
        with contextlib.suppress(ValueError, np.linalg.LinAlgError):
            act()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("before", [before.ClassStats, before.TargetStats])
def test_names_of_0_3_warn_and_make_moments(before):
    X, y, T, _ = samples()
    numeric = before.__name__ == "TargetStats"
    Y, second = (T, "targets") if numeric else (y, "total")
    now = Moments.of(X, Y, second="total", keep=3, numeric=numeric)
    with pytest.warns(DeprecationWarning, match=f"{before.__name__} was renamed in version 0.4"):
        m = before(8, second=second, kept=3).update(X, Y)
    assert bits(before.of(X, Y, second=second, kept=3)) == bits(m) == bits(now)
    for wrong in [{"folds": 3}] if numeric else [{"folds": 3}, {"presence": True}]:
        with pytest.raises(ValueError, match="Moments"):
            before(8, **wrong)


K = 3


def data(n=71):
    X, y = labelled(n=n, sparse=True)
    return X, y, np.random.default_rng(0).integers(0, 3, n) / 2


def learned(X, y, **kind):
    """A pass, and the moments of samples that were added in batches."""
    step = Pass(n_folds=K, **kind)
    state = step.empty(X.shape[1])
    for a, b in itertools.pairwise([0, 1, 1, 3, 14, 54, X.shape[0]]):
        state = step.add(state, X[a:b], y[a:b])
    return step, state


def test_an_error_in_one_fold_changes_none():
    X, y, _ = data()
    step, state = learned(X, y, second="class")
    before, bad = step.to_arrays(step.summed([state])), X[:6].copy()
    bad[4, 2] = 1e300
    with pytest.raises(ValueError, match="in feature 2"):
        step.add(state, bad, y[:6])
    after = step.to_arrays(state)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)


def of_another_kind(arrays):
    step, state = learned(*data()[:2], second="class")
    other = {k: v for k, v in step.to_arrays(state).items() if k.startswith("fold1_")}
    return {k: v for k, v in arrays.items() if not k.startswith("fold1_")} | other


FORGED = {
    "two passes": (of_another_kind, "one kind"),
    "one fold": (lambda a: a | {"folds": np.array(1)}, "folds"),
    "many folds": (lambda a: a | {"folds": np.array(1001)}, "folds"),
    "a fraction": (lambda a: a | {"folds": np.array(3.0)}, "type i8"),
    "a fold too many": (lambda a: a | {"folds": np.array(4)}, "got none"),
    "a class less": (lambda a: a | {"fold1_tt": a["fold1_tt"][:2]}, "tt"),
    "negative": (lambda a: a | {"fold1_tt": -a["fold1_tt"]}, "tt"),
    "narrow": (lambda a: a | {"fold2_tx": a["fold2_tx"][:, :4]}, "shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_arrays_are_refused(name):
    X, y, _ = data()
    step, state = learned(X, y, second="total")
    forge, word = FORGED[name]
    with pytest.raises((SchemaError, ValueError), match=word):
        Pass.of_arrays(forge(step.to_arrays(state)), Pass(n_folds=K, second="total"))
