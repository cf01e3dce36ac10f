"""Run the command line: ``python -m narrows``."""

import sys

from narrows.command.cli import main

if __name__ == "__main__":  # the workers of a local cluster import this file
    status = main()
    # After a KeyboardInterrupt inside `exec` of a string, as in imports, python -m ends by the
    # signal, even if it was caught; running another string resets that.
    exec("")
    sys.exit(status)
