"""What runs the tasks of a run: this process alone, or Ray. The options of both, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._checks import one_of, whole_number
from tokenmill._errors import Hint, Option, OptionError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from tokenmill._mill.cluster.node_worker import NodeFacts

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)
_CLIENT = "ray://"
_DEVICES = ("cpu", "auto")  # of which the nodes take the first


@dataclass
class RayEngine:
    """How to run on Ray, and then how it went."""

    address: str | None = None
    workers: int | None = None  # of each node; None: all its CPUs
    memory_limit: int | str | None = None  # of each node
    start_seconds: float = 0.0  # until the first worker was ready
    memory_mb: float = 0.0  # the most that a worker had
    nodes: int = 0
    threads: int = 0  # on all nodes that have taken part
    lost: int = 0  # workers

    def note(self, hosts: Iterable[NodeFacts], lost: int) -> None:
        """Note who has taken part."""
        found = list(hosts)
        self.nodes, self.threads = len(found), sum(host.workers for host in found)
        self.lost = lost


def read_engine(
    engine: str | None,
    address: str | None,
    limits: tuple[int | None, int | str | None],
    *,
    device: str,
    rank: int | str | None,
    output: str | os.PathLike[str],
) -> RayEngine | None:
    """Return how to run on Ray; None if this process works alone. Refuse what Ray cannot do.

    `limits` are the workers and the memory of each node.
    """
    workers, memory_limit = limits
    if engine is None or one_of("engine", engine, ENGINES) == LOCAL:
        if address is not None:
            hint = Hint("also give {}", Option("engine", RAY))
            raise OptionError("expected the engine ray with it", where="address", hint=hint)
        return None
    if rank is not None:
        raise OptionError(
            "Ray hands out the tasks itself, got a rank too",
            where="rank",
            hint=Hint("leave it out, or leave out {}", Option("engine", RAY)),
        )
    if device not in _DEVICES:
        raise OptionError(
            f"nodes of Ray tokenize on their CPUs, got {device!r}",
            where="device",
            hint=Hint("give {}, or leave out {}", Option("device", "cpu"), Option("engine", RAY)),
        )
    if address is not None and address.startswith(_CLIENT):
        raise OptionError(
            f"expected the address of a cluster that this machine is part of, got {address!r}",
            where="address",
            hint="start the command on the cluster with ray job submit",
        )
    if "://" in str(output):
        raise OptionError(
            f"expected a folder that all nodes see, got {str(output)!r}", where="output"
        )
    if workers is not None:
        whole_number("workers", workers)
    return RayEngine(address, workers, memory_limit)
