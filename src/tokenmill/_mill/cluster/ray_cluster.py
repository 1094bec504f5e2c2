"""Ray, as the driver needs it. Nothing else imports it."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._errors import MissingDependency, OptionError
from tokenmill._mill.cluster.node_worker import NodeWorker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.cluster.node_worker import NodeOrder

# Calls that Ray repeats by itself. A node that has gone takes Ray up to half a minute to notice,
# and until then it counts a try every second or two.
_RETRIES = 30
_KNOCK_SECONDS = 20.0
_CALLS_BESIDES_WORK = 8  # threads of a worker that answer questions


@dataclass(frozen=True)
class CallEnd:
    """The end of a call: its value, an error of the task, or that the worker was lost."""

    value: Any = None
    error: BaseException | None = None
    is_lost: bool = False


class TokenmillWorker:
    """The actor on each node: a NodeWorker, made at the first call."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._worker: NodeWorker | None = None

    def do(self, order: list[Any], method: str, arguments: Sequence[Any]) -> Any:
        """Call a method of the worker."""
        import ray

        with self._lock:
            if self._worker is None:
                self._worker = NodeWorker(ray.get(order[0]), self._workers)
        return getattr(self._worker, method)(*arguments)


class RayCluster:
    """A connection to a cluster. Handles of workers and calls are Ray's own."""

    def __init__(self, address: str | None) -> None:
        self._ray = _import_ray()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            self._connect(address)
        self._actor = self._ray.remote(TokenmillWorker)

    def _connect(self, address: str | None) -> None:
        found = address or os.environ.get("RAY_ADDRESS")
        is_new = found in (None, "local")
        options: dict[str, Any] = {"include_dashboard": False} if is_new else {}
        try:
            _knock(found)
            self._ray.init(address=address, log_to_driver=False, logging_level="WARNING", **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise OptionError(
                f"no Ray cluster answers, got {found!r}: {error}", where="address"
            ) from error

    def close(self) -> None:
        """Leave the cluster, unless somebody else has joined it before."""
        if self._is_ours:
            self._ray.shutdown()

    def nodes(self) -> dict[str, int]:
        """Return the CPUs of each node that is alive and has any."""
        return {
            node["NodeID"]: int(node["Resources"].get("CPU", 0))
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        }

    def share(self, order: NodeOrder) -> None:
        """Put an order where all nodes can get it; it goes with every call, in a box.

        So each life of a worker fetches it once. Ray advises against giving it to the constructor.
        """
        self._order = [self._ray.put(order)]

    def start_worker(self, node: str, cpus: int) -> Any:
        """Start a worker that stays on its node, with a thread for each of these CPUs."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return self._actor.options(
            num_cpus=cpus,
            max_restarts=-1,
            max_task_retries=_RETRIES,
            max_concurrency=cpus + _CALLS_BESIDES_WORK,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(cpus)

    def call(self, worker: Any, method: str, arguments: Sequence[Any]) -> Any:
        """Begin a call."""
        return worker.do.remote(self._order, method, arguments)

    def wait(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        """Return the calls that have ended, after one of them has, or after so many seconds."""
        done, _ = self._ray.wait(list(calls), num_returns=1, timeout=seconds, fetch_local=False)
        if not done:
            return []
        ready, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0, fetch_local=False)
        return list(ready)

    def answer(self, call: Any) -> CallEnd:
        """Return how a call has ended."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return CallEnd(value=self._ray.get(call))
        except RayTaskError as error:
            # An error of our code, as it was raised there.
            return CallEnd(error=error.cause if isinstance(error.cause, Exception) else error)
        except RayError as error:
            return CallEnd(error=error, is_lost=True)

    def kill(self, worker: Any) -> None:
        """End a worker for good."""
        with contextlib.suppress(Exception):  # it, or the whole cluster, may have gone before
            self._ray.kill(worker)


def _knock(address: str | None) -> None:
    """Raise if nobody listens there; Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), _KNOCK_SECONDS).close()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        hint = "pip install 'tokenmill[ray]'"
        raise MissingDependency("needed for the engine ray", name="ray", hint=hint) from error
    return ray
