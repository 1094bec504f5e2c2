"""The workers of a run, one on each node of the cluster, and the tasks they are given.

Ray places workers, starts dead ones again, repeats their calls and says which nodes are there. What
is left to do here: a worker for every node that comes, a task for every worker that has room, and
the tasks of a node that has gone back to the others. All of it happens in `step`, in the thread of
the run.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tokenmill._errors import NodeFailed
from tokenmill._mill.cluster.handout import Handout
from tokenmill._mill.watch.warn import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._mill.cluster.handout import ClusterTask
    from tokenmill._mill.cluster.node_worker import NodeFacts, NodeOrder, NodeState
    from tokenmill._mill.cluster.ray_cluster import RayCluster

_WAIT_SECONDS = 0.2
_STATE_SECONDS = 0.5  # between two questions to a worker
_NODE_SECONDS = 1.0  # between two looks at the nodes
_STOP_SECONDS = 10.0  # for workers to end what they are doing
_PATIENCE_SECONDS = 15.0  # without any worker, before a warning
_TRIES = 3  # of a task that ends its workers, and of a node whose workers end; each Ray has retried
_AHEAD = 1  # tasks that wait at a worker, so that it never waits for the driver


class Watcher(Protocol):
    """Hears of what workers do. What it raises ends the run."""

    def task_done(self, task: ClusterTask, node: str, value: Any) -> None:
        """Take the result of a task."""

    def told(self, state: NodeState) -> None:
        """Take what a worker says about itself, twice a second."""

    def progress_of(self, task: ClusterTask) -> int:
        """Return a number that grows while a task that is begun makes progress."""


@dataclass
class _Member:
    """The worker of a node; `facts` come with its first answer."""

    node: str
    handle: Any
    facts: NodeFacts | None = None
    tasks: int = 0  # that it has not answered yet
    life: str = ""
    known: int = 0  # parts that it has told of in this life
    is_asked: bool = False

    @property
    def room(self) -> int:
        return 0 if self.facts is None else self.facts.workers + _AHEAD - self.tasks


@dataclass(frozen=True)
class _Call:
    member: _Member
    method: str
    task: ClusterTask | None = None


class Crew:
    """Keeps a worker on every node and gives it tasks."""

    def __init__(
        self, cluster: RayCluster, order: NodeOrder, workers: int | None, watcher: Watcher
    ) -> None:
        self._cluster = cluster
        cluster.share(order)
        self._workers = workers
        self._watcher = watcher
        self._handout = Handout()
        self._members: dict[str, _Member] = {}
        self._calls: dict[Any, _Call] = {}
        self._aside: dict[str, BaseException] = {}  # nodes that failed, and why
        self._losses: Counter[object] = Counter()
        self._next_look = self._next_question = 0.0
        self._alone_since = time.monotonic()
        self.lost = 0  # workers that have gone with their node, or too often
        self.hosts: dict[str, NodeFacts] = {}  # every node that has taken part

    @property
    def workers(self) -> int:
        """How many threads work, on all nodes together."""
        return sum(m.facts.workers for m in self._members.values() if m.facts is not None)

    @property
    def pending(self) -> int:
        """How many tasks have no result yet."""
        return len(self._handout) + sum(call.task is not None for call in self._calls.values())

    def give(self, tasks: Iterable[ClusterTask]) -> None:
        """Add tasks; their results come to the watcher during `step`."""
        self._handout.add(tasks)

    def step(self) -> None:
        """Do what can be done now, and wait for a moment."""
        self._look_at_nodes()
        self._ask()
        self._hand_out()
        self._check_patience()
        if not self._calls:
            time.sleep(_WAIT_SECONDS)
            return
        for call in self._cluster.wait(list(self._calls), _WAIT_SECONDS):
            if call in self._calls:  # the end of another may have made it void
                self._end(self._calls.pop(call), call)

    def wait_for_workers(self) -> None:
        """Wait until a task could be given."""
        while not self.workers:
            self.step()

    def stop_tasks(self) -> None:
        """Forget the tasks that are not begun, stop those that are, and wait until they have."""
        self._handout.clear()
        self._call_all("stop")
        while any(call.task is not None or call.method == "stop" for call in self._calls.values()):
            self.step()
            self._handout.clear()  # tasks of a worker that was lost meanwhile

    def hear_last(self) -> None:
        """Ask all workers once more, so that their counters are complete."""
        self._next_question = 0.0
        self._ask()
        end = time.monotonic() + _STOP_SECONDS
        while any(m.is_asked for m in self._members.values()) and time.monotonic() < end:
            self.step()

    def close(self) -> None:
        """End all workers; those that read streams may remove unfinished files first."""
        self._call_all("stop")
        asked = [ref for ref, call in self._calls.items() if call.method == "stop"]
        end = time.monotonic() + _STOP_SECONDS
        while asked and time.monotonic() < end:
            ended = self._cluster.wait(asked, _WAIT_SECONDS)
            asked = [ref for ref in asked if ref not in ended]
        for member in self._members.values():
            self._cluster.kill(member.handle)
        self._members.clear()
        self._calls.clear()
        self._cluster.close()

    # Nodes

    def _look_at_nodes(self) -> None:
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _NODE_SECONDS
        alive = self._cluster.nodes()
        for node in [node for node in self._members if node not in alive]:
            self._lose(self._members[node])
        for node, cpus in alive.items():
            if node not in self._members and node not in self._aside:
                count = cpus if self._workers is None else min(self._workers, cpus)
                handle = self._cluster.start_worker(node, count)
                member = self._members[node] = _Member(node, handle)
                self._call(member, "prepare")
        if alive and self._aside.keys() >= alive.keys():
            raise next(reversed(self._aside.values()))

    def _lose(self, member: _Member) -> None:
        """Let others do the tasks of a worker that has gone."""
        self.lost += 1
        self._remove(member, is_lost=True)

    def _set_aside(self, member: _Member, error: BaseException) -> None:
        """Give no more tasks to a node that cannot do them, and hope that others can."""
        self._aside[member.node] = error
        self._remove(member, is_lost=False)
        self._next_look = 0.0
        host = member.node if member.facts is None else member.facts.host
        say(f"{host} takes no more part in this run: {error}")

    def _remove(self, member: _Member, *, is_lost: bool) -> None:
        del self._members[member.node]
        self._cluster.kill(member.handle)
        for ref in [ref for ref, call in self._calls.items() if call.member is member]:
            self._return(self._calls.pop(ref).task, is_lost=is_lost)

    def _return(self, task: ClusterTask | None, *, is_lost: bool) -> None:
        if task is None:
            return
        if is_lost:
            losses = (task, self._watcher.progress_of(task))
            self._losses[losses] += 1
            if self._losses[losses] >= _TRIES:
                raise NodeFailed(
                    f"{_TRIES} nodes lost their worker while it did this, got no further",
                    where=" ".join(map(str, (task.method, *task.arguments))),
                    hint="look into the logs of Ray: the memory of a node may be too small",
                )
        self._handout.put_back(task)

    def _check_patience(self) -> None:
        if self.workers or not self._handout:
            self._alone_since = time.monotonic()
        elif time.monotonic() - self._alone_since > _PATIENCE_SECONDS:
            self._alone_since = float("inf")  # once is enough
            say(
                f"waiting for a node with free CPUs: {len(self._members)} nodes have none, "
                f"{len(self._aside)} cannot take part"
            )

    # Calls

    def _call(self, member: _Member, method: str, *arguments: Any) -> None:
        ref = self._cluster.call(member.handle, method, arguments)
        self._calls[ref] = _Call(member, method)

    def _call_all(self, method: str) -> None:
        for member in self._members.values():
            if member.facts is not None:
                self._call(member, method)

    def _ask(self) -> None:
        if time.monotonic() < self._next_question:
            return
        self._next_question = time.monotonic() + _STATE_SECONDS
        for member in self._members.values():
            if member.facts is not None and not member.is_asked:
                member.is_asked = True
                self._call(member, "state", member.life, member.known)

    def _hand_out(self) -> None:
        # One for each in turn, so that few tasks are spread over many nodes.
        free = [member for member in self._members.values() if member.room > 0]
        while free and self._handout:
            for member in free:
                task = self._handout.take(member.node)
                if task is None:
                    return
                ref = self._cluster.call(member.handle, task.method, task.arguments)
                self._calls[ref] = _Call(member, task.method, task)
                member.tasks += 1
            free = [member for member in free if member.room > 0]

    def _end(self, call: _Call, ref: Any) -> None:
        answer, member = self._cluster.answer(ref), call.member
        if call.task is not None:
            member.tasks -= 1
        if call.method == "state":
            member.is_asked = False
        if answer.error is None:
            self._take(call, answer.value)
        elif answer.is_lost:
            self._end_lost(call, answer.error)
        elif isinstance(answer.error, OSError | MemoryError):  # of this machine, perhaps
            self._set_aside_with(call, answer.error)
        else:
            raise answer.error

    def _take(self, call: _Call, value: Any) -> None:
        member = call.member
        if call.task is not None:
            self._watcher.task_done(call.task, member.node, value)
        elif call.method == "prepare":
            member.facts = self.hosts[member.node] = value
        elif call.method == "state":
            member.life, member.known = value.life, value.known
            self._watcher.told(value)

    def _set_aside_with(self, call: _Call, error: BaseException) -> None:
        self._return(call.task, is_lost=False)
        self._set_aside(call.member, error)

    def _end_lost(self, call: _Call, error: BaseException) -> None:
        """Replace a worker that Ray could not bring back, unless that has happened too often."""
        member = call.member
        if call.method in ("state", "stop"):
            return  # the node may be gone, which Ray will say
        self._losses[member.node] += 1
        if call.method == "prepare" or self._losses[member.node] >= _TRIES:
            self._set_aside_with(call, error)
        else:
            self._return(call.task, is_lost=True)
            self._lose(member)
