"""Run the command line: ``python -m narrows``."""

import sys

from narrows.command.cli import main

if __name__ == "__main__":  # the workers of a local cluster import this file
    sys.exit(main())
