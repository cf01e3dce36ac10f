"""DataFrames of Spark made of samples, and what happens to the executors that compute them."""

import os
import signal
import time

import numpy as np
from pyspark.ml.linalg import Vectors
from scipy import sparse


def frame(spark, X, y, parts=3, column="features"):
    """Samples as a DataFrame of vectors and labels, in some partitions, of which one is empty."""
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    rows = [(label.item(), vector(X, k)) for k, label in enumerate(np.asarray(y))]
    whole = spark.createDataFrame(rows, ["label", column])
    return whole.repartition(parts).union(whole.limit(0))


def is_connect(spark):
    """Whether a session is one of Spark Connect."""
    return ".connect." in type(spark).__module__


def vector(X, k):
    if not sparse.issparse(X):
        return Vectors.dense(X[k])
    entries = slice(X.indptr[k], X.indptr[k + 1])
    return Vectors.sparse(X.shape[1], X.indices[entries].tolist(), X.data[entries].tolist())


def disturbed(df, folder, disturb):
    """The same DataFrame, where `disturb` is called once, before its first partition ends."""
    mark = os.path.join(folder, "disturbed")

    def rows(batches):
        yield from batches
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        disturb()

    return df.mapInArrow(rows, df.schema)


def kill_executor():
    """End the executor whose Python worker this is: the parent of the daemon, its parent."""
    daemon = os.getppid()
    with open(f"/proc/{daemon}/stat") as file:
        executor = int(file.read().rpartition(")")[2].split()[1])
    os.kill(executor, signal.SIGKILL)
    time.sleep(60)  # until the worker is killed, too


def fail():
    """Let the task fail, which Spark repeats."""
    raise OSError("a disk that fails once")


def wait():
    """Let the task take long, so that Spark runs it twice."""
    time.sleep(8)
