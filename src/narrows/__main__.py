"""``python -m narrows``: the command line."""

import sys

from narrows.command.cli import main

if __name__ == "__main__":  # a worker of a local cluster imports this file
    status = main()
    # With -m, Python ends by the signal itself when a Ctrl-C, though caught, has come through the
    # exec of a string, as in imports; the exec of another string makes it forget that one.
    exec("")
    sys.exit(status)
