"""The Dask cluster to work on: one that is there, or one of this machine that is closed again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from logging import CRITICAL, getLogger
from multiprocessing import resource_tracker
from threading import Lock
from traceback import clear_frames
from typing import Any

_BEGINNING = Lock()  # distributed imports parts of itself as a cluster begins: not two at once


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
    ours = ExitStack()
    if client is None:
        client = _of_the_moment(distributed, ours)
    elif isinstance(client, str):
        try:
            client = ours.enter_context(distributed.Client(client, set_as_default=False))
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(f"no Dask scheduler answers at {client}: {error}") from None
    address = client.scheduler.address if client.scheduler else "?"
    try:
        with _letting_go():
            yield client
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
    finally:
        ours.close()


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
        for name in ("distributed", "asyncio"):  # what goes wrong is said in our own words
            getLogger(name).setLevel(CRITICAL)
    with _BEGINNING, _deaf_to_interrupts():
        cluster = ours.enter_context(
            distributed.LocalCluster(
                threads_per_worker=1, dashboard_address=":0", silence_logs=CRITICAL
            )
        )
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
