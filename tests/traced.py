"""Updates that are stopped at any line of the library, as a signal handler would stop them."""

from __future__ import annotations

import copy
import linecache
import sys
from pathlib import Path

import narrows
from tests.cases import arrays_of

INTERRUPTED = "expected a complete state, got one whose last update was interrupted"
SOURCE = str(Path(narrows.__file__).parent)


class AtLine:
    """Raises at one line of the library that is run, or calls a function there."""

    def __init__(self, number, call=None):
        self.left, self.call = number, call

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            return None
        line = linecache.getline(code.co_filename, frame.f_lineno)
        # at the end of a `with` its line comes again, where no signal handler is ever called
        if event == "line" and not line.strip().startswith("with "):
            self.left -= 1
            if self.left == 0 and self.call is None:
                raise TimeoutError("the time is over")
            if self.left == 0:
                self.call()
        return self


def run_traced(function, number=0):
    """Call the function, raise at its line of that number, and say how many lines were run."""
    at = AtLine(number)
    sys.settrace(at)
    try:
        function()
    finally:
        sys.settrace(None)
    return number - at.left


def interleaved(model, act, share, call):
    """Return ``act(model)``, with `call` called after this share of its lines."""
    for _ in range(2):
        one = copy.deepcopy(model)
        lines = run_traced(lambda one=one: act(one))
    at = AtLine(max(1, int(share * lines)), call)
    sys.settrace(at)
    try:
        return act(model)
    finally:
        sys.settrace(None)
        assert at.left <= 0


def refuses(model):
    """Whether a model, or a state, refuses to be read, since an update of it was interrupted."""
    try:
        model.to_arrays() if hasattr(type(model), "to_arrays") else arrays_of(model)
    except ValueError as error:  # or it is not fitted yet
        return INTERRUPTED in str(error)
    return False


def stopped(model, act, times):
    """Yield copies of a model, or a state, each after `act` on it was stopped at another line.

    But for those that an interrupted update left incomplete, and that refuse any use.
    """
    unread = copy.deepcopy(model)  # reading may sort in what waits
    for _ in range(2):  # the first may import and compile
        done = copy.deepcopy(unread)
        lines = run_traced(lambda done=done: act(done))
    numbers, missed = range(1, lines, max(1, lines // times)), 0
    for number in numbers:
        one = copy.deepcopy(unread)
        try:
            run_traced(lambda one=one: act(one), number)
            missed += 1  # other threads have run some of the lines
        except TimeoutError:
            if not refuses(one):
                yield one
    assert missed <= len(numbers) / 2
