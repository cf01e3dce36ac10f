"""What is public stays: names, parameters and defaults are those that are written down.

Where one is to change, write it down anew, and say so in CHANGELOG::

    python -m tests.test_promises > tests/signatures.txt
"""

import inspect
import sys
from difflib import unified_diff
from pathlib import Path

import click

from narrows.command.cli import cli
from tests.test_docs import NAMES, found

WRITTEN = Path(__file__).parent / "signatures.txt"
# of Moments, what the guide shows; methods use more
OF_MOMENTS = {
    "classes", "copy", "counts", "covariance", "cross", "from_arrays", "mean", "means", "n",
    "n_features", "n_samples", "of", "priors", "squares", "sums", "target_mean", "to_arrays",
    "update", "widen",
}  # fmt: skip


def signature(function):
    """Return the parameters of a function and their defaults, without types."""
    parameters = inspect.signature(function).parameters.values()
    return str(inspect.Signature([each.replace(annotation=each.empty) for each in parameters]))


def lines(name):
    """Yield a line for what is public, and one for each public member that is written here."""
    public = found(name)
    yield name if name.startswith("narrows.errors.") else f"{name}{signature(public)}"
    for own in sorted(dir(public)) if isinstance(public, type) else ():
        base = next(base for base in public.__mro__ if own in vars(base))
        ours = base.__module__.startswith("narrows") and not own.endswith("_request")
        if own.startswith("_") or not ours:
            continue
        if hasattr(public, own) and (name != "narrows.Moments" or own in OF_MOMENTS):
            member = getattr(public, own)
            yield f"{name}.{own}{signature(member) if callable(member) else ''}"


def public_interface():
    """Return all lines, and one for each argument and option of a command."""
    found = [line for name in NAMES for line in lines(name)]
    for verb, command in sorted(cli.commands.items()):
        for each in command.params:
            words = "/".join([*each.opts, *each.secondary_opts])
            argument = isinstance(each, click.Argument)
            found.append(f"narrows {verb} {words.upper() if argument else words}")
    return found


def test_what_is_public_is_what_is_written_down():
    written = WRITTEN.read_text(encoding="utf-8").splitlines()
    changed = list(unified_diff(written, public_interface(), "signatures.txt", "now", "", "", 0))
    assert not changed, "\n".join(changed)


if __name__ == "__main__":
    sys.stdout.write("\n".join(public_interface()) + "\n")
