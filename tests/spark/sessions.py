"""Sessions of Spark for tests: one for each mode, which leave nothing behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import narrows
from tests.spark import java

CLUSTER, CONNECT = "local-cluster[2,1,1024]", "connect"
MODES = (CLUSTER, CONNECT)  # a process has one session at a time: all tests of one, then the other

JAVA_OPTIONS = "-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for short runs
SETTINGS = """
spark.driver.extraJavaOptions    -Djava.io.tmpdir={folder} {java}
spark.driver.memory              1g
spark.executor.extraJavaOptions  -Djava.io.tmpdir={folder} {java}
spark.speculation                true
spark.speculation.quantile       0.5
spark.sql.shuffle.partitions     4
spark.sql.warehouse.dir          {folder}/warehouse
spark.ui.enabled                 false
spark.ui.showConsoleProgress     false
"""
LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of sessions whose files are in a folder, or raise RuntimeError."""
    configuration = folder / "conf"
    configuration.mkdir(parents=True)
    (configuration / "spark-defaults.conf").write_text(
        SETTINGS.format(folder=folder, java=JAVA_OPTIONS)
    )
    (configuration / "log4j2.properties").write_text(LOGGING)
    sources = [Path(__file__).parents[2], Path(narrows.__file__).parents[1]]
    variables = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # executors have narrows and tests; a cluster of one machine hands the variable to them
        "PYTHONPATH": os.pathsep.join([*map(str, sources), os.environ.get("PYTHONPATH", "")]),
        "SPARK_CONF_DIR": str(configuration),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # any free port for Connect, and the files of executors not in a folder of pyspark
        "SPARK_TESTING": "1",
    }
    found = java.version()
    if found is None or found < java.NEEDED:
        home = java.home_of_wheel(folder)
        if home is None:
            got = "none" if found is None else f"Java {found}"
            raise RuntimeError(f"needs Java {java.NEEDED} or later: found {got}")
        variables["JAVA_HOME"] = str(home)
    return variables


def start(mode: str):
    """Return a new session of a mode; `os.environ` has the variables of `environment`."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    return (builder.remote("local[2,2]") if mode == CONNECT else builder.master(mode)).getOrCreate()


def end() -> None:
    """End the Java of all sessions of this process, and wait until it has ended."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        SparkContext._gateway = SparkContext._jvm = None
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
