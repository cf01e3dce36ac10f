"""Updates that are stopped at any line of the library, as a signal handler would stop them."""

from __future__ import annotations

import copy
import inspect
import linecache
import sys
from pathlib import Path

import narrows

SOURCE = str(Path(narrows.__file__).parent)
GOES_BACK = "back"  # the function that undoes an update; it is stopped by nothing here


class AtLine:
    """Raises at one line of the library that is run, or calls a function there."""

    def __init__(self, number, call=None):
        self.left, self.call = number, call

    def __call__(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(SOURCE) or frame.f_code.co_name == GOES_BACK:
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        # at the end of a `with` its line comes again, where no signal handler is ever called
        if event == "line" and not line.strip().startswith("with "):
            self.left -= 1
            if self.left == 0 and self.call is None:
                raise TimeoutError("the time is over")
            if self.left == 0:
                self.call()
        return self


class AtCall:
    """Raises once more at a function of the library that is called after that."""

    def __init__(self, at, number):
        self.at, self.left = at, number

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if code.co_flags & inspect.CO_GENERATOR or not code.co_filename.startswith(SOURCE):
            return  # a generator that is closed, perhaps, where errors are ignored
        if event == "call" and not self.at.left:
            self.left -= 1
            if self.left == 0:
                raise TimeoutError("once more")


def run_traced(function, number=0, again=0):
    """Call the function, raise at its line of that number, and say how many lines were run.

    With `again`, raise also at the function of this number that is called after that.
    """
    at = AtLine(number)
    sys.setprofile(AtCall(at, again) if again else None)
    sys.settrace(at)
    try:
        function()
    finally:
        sys.settrace(None)
        sys.setprofile(None)
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


def stopped(model, act, times, again=0):
    """Yield copies of a model, or a state, each after `act` on it was stopped at another line."""
    unread = copy.deepcopy(model)  # reading may sort in what waits
    for _ in range(2):  # the first may import and compile
        done = copy.deepcopy(unread)
        lines = run_traced(lambda done=done: act(done))
    numbers, missed = range(1, lines, max(1, lines // times)), 0
    for number in numbers:
        one = copy.deepcopy(unread)
        try:
            run_traced(lambda one=one: act(one), number, again)
            missed += 1  # other threads have run some of the lines
        except TimeoutError:
            yield one
    assert missed <= len(numbers) / 2
