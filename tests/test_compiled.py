"""Loops that numba compiles, and plain NumPy or Python that has their bits for small data."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from tests.cases import ALL, NUMERIC, STREAMED, bytes_of, labelled
from tests.inside import pretend

FORMS = np.asarray, csr_array, np.float32, lambda X: csr_array(X, dtype=np.float32)
BOTH = "loops are compiled", "loops are plain"


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse", "float32", "sparse float32"])
@pytest.mark.parametrize("case", [*ALL, *NUMERIC], ids=lambda case: case.name)
def test_plain_loops_have_the_bits_of_compiled_ones(case, form, monkeypatch):
    X, y = labelled(sparse=True)
    X = form(X) if case.takes_sparse else np.asarray(X, dtype=form(X).dtype)
    y = np.vander(np.unique(y, return_inverse=True)[1], 3) * 1.0 if case in NUMERIC else y
    learned = []
    for how in BOTH:
        pretend(monkeypatch, how)
        fitted = case.new().fit(X, y)
        if case in STREAMED:
            fitted.partial_fit(X[::-2], y[::-2])
        learned.append((bytes_of(fitted), fitted.transform(X)))
    (compiled, of_compiled), (plain, of_plain) = learned
    assert compiled == plain
    if issparse(of_plain):
        of_compiled, of_plain = of_compiled.toarray(), of_plain.toarray()
    np.testing.assert_array_equal(of_compiled, of_plain)


SMALL = """
import sys, warnings
import numpy as np, narrows
from scipy.sparse import csr_array, random_array
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.random((200, 8)).round(1), np.arange(200) % 3
wide = csr_array(random_array((200, 9000), density=0.01, rng=rng))
for name in narrows.methods.MODULES:
    for form, rows in {"dense": X, "sparse": csr_array(X), "wide": wide}.items():
        try:
            getattr(narrows, name)().fit(rows, y).transform(rows)
        except ValueError as error:
            print(name, form, error)
    if "numba" in sys.modules:
        sys.exit(f"{name} imported numba")
"""


@pytest.mark.nightly
def test_methods_learn_small_data_without_numba():
    done = subprocess.run(
        [sys.executable, "-c", SMALL], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    refused = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    assert refused == {("KernelSRDA", "wide"), ("LEACE", "sparse"), ("LEACE", "wide")}
