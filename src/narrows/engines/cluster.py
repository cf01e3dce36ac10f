"""The Dask cluster to work on: one that runs, or one of this machine that is closed at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from logging import CRITICAL, getLogger
from multiprocessing import resource_tracker
from threading import Lock
from traceback import clear_frames
from typing import Any

from narrows.io.extras import needing

NAME = "narrows.engines.dask"  # for messages
_START = Lock()  # distributed imports parts of itself as a cluster starts: not two at once
_LOGGERS = ("distributed", "asyncio", "bokeh")
_WAIT = "5 minutes"  # for workers of a cluster of ours to start, and to come back
_LIMITS = {
    "distributed.scheduler.no-workers-timeout": _WAIT,
    # after which a worker that is being restarted is closed for good: 15 s on a busy machine
    "distributed.deploy.lost-worker-timeout": _WAIT,
}


def import_distributed() -> Any:
    """Return Dask's `distributed`; ImportError where it is not installed."""
    with needing("dask", "distributed", NAME):
        import distributed
    return distributed


@contextmanager
def connect(client: Any) -> Iterator[Any]:
    """Give the client passed, or of an address, or the current one, or of a new local cluster."""
    distributed = import_distributed()
    with ExitStack() as ours:
        if client is None:
            client = _current_client(distributed, ours)
        elif isinstance(client, str):
            try:
                client = ours.enter_context(distributed.Client(client, set_as_default=False))
            except (OSError, TimeoutError, ValueError) as error:
                raise ConnectionError(
                    f"{NAME}: expected a Dask scheduler at {client}, got no answer ({error}). "
                    "Start it, or give the address of another one."
                ) from None
        with _explain_errors(distributed, client):
            yield client


@contextmanager
def _explain_errors(distributed: Any, client: Any) -> Iterator[None]:
    """Say in our own words what is wrong with the cluster; let nothing stay there after an error.

    The frames of the error hold futures, and these what is on the cluster.
    """
    address = client.scheduler.address if client.scheduler else "?"
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        problem = _problem(distributed, address, error)
        if problem is None:
            raise
        raise ConnectionError(problem) from None


def _problem(distributed: Any, address: str, error: BaseException) -> str | None:
    """Return what is wrong with the cluster, if that is the error."""
    if isinstance(error, distributed.KilledWorker):
        return (
            f"{NAME}: expected workers at {address} that live, got several that died on one part, "
            f"most often of too little memory ({error}). Give them more memory, or smaller parts."
        )
    if isinstance(error, CancelledError | distributed.comm.CommClosedError):
        return (
            f"{NAME}: expected answers of the Dask scheduler at {address}, got a lost connection "
            f"({type(error).__name__}: {error}). Start the scheduler and the fit again."
        )
    if type(error).__name__ in ("NoWorkerError", "NoValidWorkerError"):
        return (
            f"{NAME}: expected workers of the Dask cluster at {address}, got none for too long "
            f"({str(error).splitlines()[0]}). Start workers, then the fit again."
        )
    return None


class _Settings:
    """What holds while clusters of ours run: Dask does not log, and waits for lost workers.

    Errors are raised in our own words. Log levels and limits are those of the process, so the first
    fit of several at once saves them, and the last one restores them.
    """

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.before = ExitStack()

    def __enter__(self) -> None:
        import dask

        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            self.before.enter_context(dask.config.set(_LIMITS))
            loggers: list[Any] = [getLogger(name) for name in _LOGGERS]
            handlers = [handler for logger in loggers for handler in logger.handlers]
            for each in (*loggers, *handlers):
                self.before.callback(each.setLevel, each.level)
            for logger in loggers:
                logger.setLevel(CRITICAL)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.before.close()


_SETTINGS = _Settings()


def _current_client(distributed: Any, ours: ExitStack) -> Any:
    """Return the client of the task that this runs in, or the default one, or of a new cluster."""
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return ours.enter_context(distributed.worker_client())
    try:
        return distributed.default_client()
    except ValueError:
        pass
    ours.enter_context(_SETTINGS)

    def start() -> Any:
        with _START, _ignore_interrupts():
            return distributed.LocalCluster(
                threads_per_worker=1, dashboard_address=":0", silence_logs=CRITICAL,
                death_timeout=_WAIT,
            )  # fmt: skip

    def close() -> None:
        if starting.exception():
            return
        try:
            starting.result().close()
        except KeyboardInterrupt:  # a second one: wait still for what is being closed
            starting.result().close()
            raise

    # Ctrl-C reaches the main thread only: here it would leave half a cluster that nobody closes
    with ThreadPoolExecutor(1) as thread:
        starting = thread.submit(start)
        ours.callback(close)
        try:
            cluster = starting.result()
        except (OSError, RuntimeError) as error:
            raise ConnectionError(
                f"{NAME}: expected a Dask cluster on this machine, got none that starts "
                f"({str(error) or 'no answer'}). Give the client of a running cluster."
            ) from None
    # not the default one: another fit, in another thread, would lose it with this one's end
    return ours.enter_context(distributed.Client(cluster, set_as_default=False))


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which is for the process that started them."""
    resource_tracker.ensure_running()  # it would undo this
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
