"""The Spark session to work in: a running one, or one that is started and stopped at the end."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from narrows.engines.spark import NAME
from narrows.io.extras import needing

_SETTINGS = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}


@contextmanager
def connect(session: Any, progress: bool = False) -> Iterator[Any]:
    """Give the session passed, or of a master's URL, or the active one, or of this machine."""
    with needing("spark", "pyspark", NAME):
        from pyspark.sql import SparkSession
    if session is None:
        session = SparkSession.getActiveSession()
    if session is not None and not isinstance(session, str):
        yield session
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("narrows")
    shown = {"spark.ui.showConsoleProgress": str(progress).lower()}
    try:
        if session is not None and session.startswith("sc://"):
            _check_reached(session)  # Spark would try for ten minutes, deaf to signals
            started = builder.remote(session).getOrCreate()
        else:
            for name, value in {**_SETTINGS, **shown}.items():
                builder = builder.config(name, value)
            started = builder.master(session or "local[*]").getOrCreate()
        started.range(1).count()  # Connect asks the server, and a master its executors
    except Exception as error:  # of py4j, gRPC, sockets and Spark
        raise ConnectionError(
            f"{NAME}: expected Spark at {session or 'this machine'}, got none that starts "
            f"({_first_line(error)}). Check the URL (--master); a Spark of this machine needs "
            "Java 17."
        ) from None
    try:
        yield started
    finally:
        started.stop()


def _check_reached(url: str) -> None:
    """Raise OSError where nothing listens at the URL of a Connect server."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 15002), timeout=10):
        pass


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
