"""``python -m narrows``: the command line."""

import sys

from narrows.cli import main

sys.exit(main())
