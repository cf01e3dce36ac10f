"""The Dask cluster to work on: one that is there, or one of this machine that is closed again."""

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

_BEGINNING = Lock()  # distributed imports parts of itself as a cluster begins: not two at once
_LOGGERS = ("distributed", "asyncio", "bokeh")
_WAIT = "5 minutes"  # for workers of a cluster of ours to begin, and to come back
_LIMITS = {
    "distributed.scheduler.no-workers-timeout": _WAIT,
    # after which a worker that is being restarted is closed for good: 15 s on a busy machine
    "distributed.deploy.lost-worker-timeout": _WAIT,
}


def need_distributed() -> Any:
    """Return Dask's `distributed`; ImportError where it is not installed."""
    try:
        import distributed
    except ImportError:
        raise ImportError("clusters need the extra `dask`: pip install narrows[dask]") from None
    return distributed


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """The client given, or that of the moment, or one of a local cluster, which is closed."""
    distributed = need_distributed()
    with ExitStack() as ours:
        if client is None:
            client = _of_the_moment(distributed, ours)
        elif isinstance(client, str):
            try:
                client = ours.enter_context(distributed.Client(client, set_as_default=False))
            except (OSError, TimeoutError, ValueError) as error:
                raise ConnectionError(f"no Dask scheduler answers at {client}: {error}") from None
        with _explained(distributed, client), _letting_go():
            yield client


@contextmanager
def _explained(distributed: Any, client: Any) -> Iterator[None]:
    """Say in our own words what went wrong with the cluster."""
    address = client.scheduler.address if client.scheduler else "?"
    try:
        yield
    except distributed.KilledWorker as error:
        raise ConnectionError(
            f"workers of the Dask cluster at {address} died again and again on one part, most "
            f"often for want of memory; give more of it, or smaller parts. {error}"
        ) from None
    except (CancelledError, distributed.comm.CommClosedError) as error:
        raise ConnectionError(
            f"the Dask scheduler at {address} was lost, and with it what was learnt; start it "
            f"again, and the fit. ({type(error).__name__}: {error})"
        ) from None
    except Exception as error:
        if type(error).__name__ not in ("NoWorkerError", "NoValidWorkerError"):
            raise
        raise ConnectionError(
            f"the Dask cluster at {address} was without workers for too long; start workers, then "
            f"the fit again. {str(error).splitlines()[0]}"
        ) from None


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


def _of_the_moment(distributed: Any, ours: ExitStack) -> Any:
    """The client of the task that this is in, or the default one, or of a cluster that is ours."""
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

    def begun() -> Any:
        with _BEGINNING, _deaf_to_interrupts():
            return distributed.LocalCluster(
                threads_per_worker=1, dashboard_address=":0", silence_logs=CRITICAL,
                death_timeout=_WAIT,
            )  # fmt: skip

    def end() -> None:
        if beginning.exception():
            return
        try:
            beginning.result().close()
        except KeyboardInterrupt:  # a second one: what is being closed is waited for still
            beginning.result().close()
            raise

    # a thread of its own knows no Ctrl-C, which would leave half a cluster that nobody closes
    with ThreadPoolExecutor(1) as thread:
        beginning = thread.submit(begun)
        ours.callback(end)
        try:
            cluster = beginning.result()
        except (OSError, RuntimeError) as error:
            raise ConnectionError(
                f"no Dask cluster could be started on this machine: {str(error) or 'no answer'}"
            ) from None
    # not the default one: another fit, in another thread, would lose it with this one's end
    return ours.enter_context(distributed.Client(cluster, set_as_default=False))


@contextmanager
def _letting_go() -> Iterator[None]:
    """Let nothing stay on the cluster after an error: its frames hold futures, and these it."""
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes begin to whom a Ctrl-C says nothing: it is for the one that began them."""
    resource_tracker.ensure_running()  # which would undo it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
