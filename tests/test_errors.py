"""Errors and warnings: how messages begin, what they name, and that they can be pickled."""

from __future__ import annotations

import ast
import pickle
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import narrows
from narrows import OC, OCFS, SRDA
from narrows.errors import (
    AdvisedError,
    DataError,
    ParameterError,
    RangeError,
    WidthError,
    features_named,
    warn,
)

SOURCE = Path(narrows.__file__).parent
ERRORS = {"ParameterError", "DataError", "ValueError", "TypeError", "AttributeError"}
NAMED = re.compile(r"[A-Z]\w+: ")


def first_texts(path):
    """Return what the messages of the errors that a file raises begin with."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    of_classes = {  # variables with the name of a class
        ast.unparse(node.targets[0]) for node in assigned if "__name__" in ast.unparse(node.value)
    }
    for node in nodes:
        is_error = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS
        for message in node.args if is_error else ():
            first = message.values[0] if isinstance(message, ast.JoinedStr) else message
            if isinstance(first, ast.FormattedValue):  # such as {type(self).__name__} or {name}
                shown = ast.unparse(first.value)
                is_class = "__name__" in shown or shown in of_classes
                yield node.lineno, is_class and message.values[1].value
            elif isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, bool(NAMED.match(first.value)) and ": "


def test_no_message_begins_with_a_class():
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line, text in first_texts(path)
        if isinstance(text, str) and text.startswith(": ")
    ]
    assert not found


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("expected n_components<=1, got 2. Use fewer."),
        WidthError("expected at most 8,192 features, got 9,000. Use OC.", 9000),
        RangeError("finite sums", "infinity", 3, "Scale the data down."),
        RangeError("finite sums", "infinity", 3, "Scale the data down.", "height"),
        DataError("a.csv", "expected a label, got none.", 7),
        AdvisedError("expected equal terms, got others.", "Fit one."),
    ],
    ids=repr,
)
def test_errors_are_pickled(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_feature_out_of_range_has_the_name_that_the_estimator_has_for_it():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"short": [1.0, 2.0, 3.0], "tall": [1e160, 0.0, 1.0]})
    with pytest.raises(RangeError, match=r"^expected .* in feature 'tall'\. "):
        SRDA().fit(frame, ["a", "b", "a"])
    with pytest.raises(RangeError, match=r"^expected .* in feature 'x1'\. "):
        SRDA().fit(frame.to_numpy(), ["a", "b", "a"])
    with pytest.raises(RangeError, match="'gene'"), features_named(OC()):
        raise RangeError("finite sums", "infinity", 0).named("gene")


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="warnings can skip the files of a package from Python 3.12"
)
def test_warnings_name_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OCFS().fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert {each.filename for each in caught} == {__file__}


def test_warnings_have_their_category():
    with pytest.warns(DeprecationWarning, match="^expected this, got that"):
        warn("expected this, got that.", DeprecationWarning)
    with pytest.warns(DeprecationWarning, match="moments_") as caught:
        OC().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]).stats_  # noqa: B018
    assert caught[0].filename == __file__
