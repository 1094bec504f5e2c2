"""Threads that are fewer than the machine has, or more than it gives us."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tokenmill._advice.advice import Advice, percent

if TYPE_CHECKING:
    from tokenmill._machine.cpus import CpuFacts
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

_BUSY = 0.7  # of the time at work: more threads would help
_GOT = 0.7  # of the time that stages took: less CPU time than that is a crowd
_LONG = 0.3  # seconds: in less, one interruption is too much of it
# Stages in which nothing but the CPU is used.
_COMPUTING = ("decompress", "parse", "normalize", "split", "look_up", "merge", "emit", "pack")
_VARIABLES = ("TOKENMILL_THREADS", "TOKENMILL_CONFIG", "OMP_NUM_THREADS")


def usable_cores(cpu: CpuFacts) -> int:
    """Return how many cores this process may use, whatever options and variables say."""
    quota = math.inf if cpu.quota is None else max(1, math.ceil(cpu.quota))
    return int(min(cpu.allowed_cores, quota))


def too_few_threads(run: RunFacts, machine: MachineFacts) -> Advice | None:
    """See whether cores are free while all threads are busy."""
    cores, threads = usable_cores(machine.cpu), run.stats.threads
    busy = 1 - run.share("wait_input", "wait_output")
    if run.kind != "pack" or threads >= cores or busy < _BUSY or _is_short_of_memory(run):
        return None
    names = [name for name in _VARIABLES if name in machine.environment]
    cause = f"{names[0]}={machine.environment[names[0]]}" if names else "--workers, or `workers=`"
    return Advice(
        "too_few_threads",
        f"{threads} of {cores} cores are used, and they are busy {percent(busy)} of the time",
        f"{cause} sets the number",
        "leave it out: the default is one thread for each CPU that the process may use",
    )


def too_many_threads(run: RunFacts, machine: MachineFacts) -> Advice | None:
    """See whether threads share cores: a quota stops them for parts of every period."""
    cpu, threads = machine.cpu, run.stats.threads
    allowed = cpu.allowed if cpu.quota is None else min(cpu.allowed, math.ceil(cpu.quota))
    if run.kind != "pack" or threads <= max(1, allowed):
        return None
    why = (
        f"the affinity of the process allows {cpu.allowed} CPUs"
        if cpu.quota is None or cpu.quota >= cpu.allowed
        else f"its control group has a quota of {cpu.quota:g} CPUs, and stops threads beyond it"
    )
    return Advice(
        "too_many_threads",
        f"{threads} threads run on {allowed} CPUs",
        why,
        "leave --workers out, or raise the quota (`resources.limits.cpu`, `docker --cpus`)",
    )


def memory_limits_workers(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether a memory limit allows fewer workers than were wanted."""
    if not _is_short_of_memory(run):
        return None
    return Advice(
        "memory_limits_workers",
        f"{run.stats.threads} of {run.workers_wanted} workers run",
        f"the others do not fit a memory limit of {run.memory_limit}",
        'raise the limit, or set tables = "small" and a smaller block_bytes in tokenmill.toml',
    )


def crowded(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether threads had work, and no CPU to do it."""
    wanted = sum(map(run.seconds, _COMPUTING))
    if not run.cpu_seconds or wanted < _LONG or run.cpu_seconds > _GOT * wanted:
        return None
    return Advice(
        "crowded",
        f"threads computed for {wanted:.1f} s, and got {run.cpu_seconds:.1f} s of CPU time",
        "other processes, or other guests of the same host, take the CPUs; or a quota stops us",
        "measure again when the machine is quiet; on a shared one, compare CPU time",
    )


def _is_short_of_memory(run: RunFacts) -> bool:
    return run.memory_limit is not None and run.stats.threads < run.workers_wanted


ADVISERS = (too_few_threads, too_many_threads, memory_limits_workers, crowded)
