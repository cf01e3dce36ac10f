"""What a command prints: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import click

from narrows.errors import escaped

_SET = re.compile(r"\bSet (\w+)=(?!\w)")


def say(message: str) -> None:
    """Print a message as one line on standard error."""
    # workers of a cluster name the parameters of Python
    message = _SET.sub(lambda found: "Set --" + found[1].replace("_", "-"), message)
    print("narrows:", escaped(" ".join(message.split())), file=sys.stderr)  # noqa: T201


def show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning as a message; used as `warnings.showwarning`."""
    if not issubclass(category, DeprecationWarning):  # these concern developers only
        say(f"warning: {message}")


def report(found: dict[str, Any] | None, text: str, as_json: bool, err: bool = False) -> None:
    """Print a result: `found` as one JSON object, or the lines of `text`.

    With `as_json`, nothing is printed where `found` is None.
    """
    if not as_json:
        click.echo("\n".join(map(escaped, text.split("\n"))), err=err)
    elif found is not None:  # JSON escapes every control character except this one
        click.echo(json.dumps(found).replace("\x7f", "\\u007f"), err=err)
