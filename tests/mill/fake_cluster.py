"""A cluster without Ray: nodes are objects of this process, and calls are threads.

A node that is lost answers nothing any more, but what it was doing continues, as on a machine that
only lost its network.
"""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from tokenmill._mill.cluster.node_worker import NodeWorker
from tokenmill._mill.cluster.ray_cluster import CallEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._mill.cluster.node_worker import NodeOrder


class WorkerLostError(Exception):
    """Instead of the errors of Ray."""


class FakeCluster:
    """Nodes by name, with their CPUs; `before` runs before each call of a task."""

    def __init__(self, nodes: dict[str, int]) -> None:
        self.cpus = dict(nodes)
        self.calls: list[tuple[str, str, tuple[Any, ...]]] = []  # node, method, arguments
        self.before: Callable[[str, str, tuple[Any, ...]], None] = lambda *_: None
        self.is_closed = False
        self._pool = ThreadPoolExecutor(64)
        self._lost: set[str] = set()
        self._node_of: dict[int, str] = {}
        self._workers: list[NodeWorker] = []
        self._lock = threading.Lock()

    def lose(self, node: str) -> None:
        """Let a node vanish, with the answers of its calls."""
        with self._lock:
            self._lost.add(node)
            self.cpus.pop(node, None)

    def nodes(self) -> dict[str, int]:
        with self._lock:
            return dict(self.cpus)

    def share(self, order: NodeOrder) -> None:
        self._order = order

    def start_worker(self, node: str, cpus: int) -> NodeWorker:
        worker = NodeWorker(self._order, cpus)
        self._workers.append(worker)
        self._node_of[id(worker)] = node
        return worker

    def call(self, worker: NodeWorker, method: str, arguments: Sequence[Any]) -> Future[Any]:
        node = self._node_of[id(worker)]
        self.calls.append((node, method, tuple(arguments)))
        return self._pool.submit(self._run, worker, node, method, tuple(arguments))

    def _run(self, worker: NodeWorker, node: str, method: str, arguments: tuple[Any, ...]) -> Any:
        if method not in ("state", "stop"):
            self.before(node, method, arguments)
        value = getattr(worker, method)(*arguments)
        if node in self._lost:
            raise WorkerLostError(node)
        return value

    def wait(self, calls: Sequence[Future[Any]], seconds: float) -> list[Future[Any]]:
        return list(wait(calls, seconds, FIRST_COMPLETED).done)

    def answer(self, call: Future[Any]) -> CallEnd:
        error = call.exception()
        if error is None:
            return CallEnd(value=call.result())
        return CallEnd(error=error, is_lost=isinstance(error, WorkerLostError))

    def kill(self, worker: NodeWorker) -> None:
        """Nothing: a thread cannot be killed, and what it still does must do no harm."""

    def close(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._pool.shutdown()  # a thread cannot be killed: wait for what it still does
        self.is_closed = True
