"""The program `narrows`: the group of verbs, and the exit status of every outcome."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import warnings
from functools import partial

import click

from narrows.command.console import say, show_warning
from narrows.command.verbs import VERBS
from narrows.errors import ParameterError
from narrows.io.kinds import SUFFIXES
from narrows.removed import OPTIONS


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return its exit status: 0, 1 for data, 2 for usage, 130 for Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    handler = signal.getsignal(signal.SIGINT)
    try:
        with click.Context(cli.commands.get(words[0], cli) if words else cli):  # for messages
            status = _run(words)
    finally:  # chunks that an error left unread may still hold signals
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
    # After a KeyboardInterrupt inside `exec` of a string, as in imports, python -m ends by the
    # signal, even if it was caught; running another string resets that.
    exec("")
    return status


def _run(words: list[str]) -> int:
    if threading.current_thread() is threading.main_thread():  # unfinished files are removed
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if sys.stderr is None:  # it was closed, and nothing is to be printed elsewhere
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    completing = "_NARROWS_COMPLETE" in os.environ
    if not completing and not words:
        click.echo(cli.get_help(click.Context(cli, info_name="narrows")), err=True)
        return 2
    showwarning, warnings.showwarning = (
        warnings.showwarning,
        partial(show_warning, click.get_current_context()),
    )
    try:
        return cli.main(words, prog_name="narrows", standalone_mode=False) or 0
    except click.NoSuchOption as error:
        gone = OPTIONS.get(error.option_name)
        hint = f" Version 0.4 removed it: {gone}" if gone else ""
        say(f"{error.format_message()}{hint}")
        return 2
    except click.ClickException as error:
        say(error.format_message())
        return 2
    except (click.Abort, KeyboardInterrupt, RuntimeError) as error:
        # Python up to 3.11 wraps a KeyboardInterrupt that is raised while a class is created
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        say("interrupted; no file was changed.")
        return 130
    except IsADirectoryError as error:
        say(f"{error.filename}: expected a file, got a folder.")
        return 2
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        say(f"not enough memory for this many classes and columns. {error}")
        return 1
    except OSError as error:
        problem = str(error.strerror or error).replace(os.strerror(errno.ENOENT), "no such file")
        path = "" if error.filename is None else f": {error.filename}"
        say(problem[:1].lower() + problem[1:] + path)
        return 2 if isinstance(error, FileNotFoundError | PermissionError) else 1
    except (ImportError, ParameterError) as error:
        say(str(error))
        return 2
    except (ValueError, TypeError) as error:
        say(str(error))
        return 1
    finally:
        warnings.showwarning = showwarning


HELP = """Supervised dimensionality reduction of large and streaming labelled data.

\b
narrows fit train.svm --method ocfs --n-features 1000 -o model.narrows
narrows transform model.narrows test.svm -o reduced.npz
narrows compare train.svm --report report.html

The suffix of a file names its format: {text_files} (each may end in {compressed}),
{binary_files}; "-" is standard input or output. Results are printed on stdout, progress and errors
on stderr.

Exit status: 0 success, 1 an error in the data, 2 wrong usage, 130 interrupted.
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    help=HELP.format(**SUFFIXES),
)
@click.version_option(package_name="narrows", message="narrows %(version)s")
def cli() -> None:
    """Run the verb that is named."""


for each in VERBS:
    cli.add_command(each)

if __name__ == "__main__":
    sys.exit(main())
