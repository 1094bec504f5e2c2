"""`tokenmill info --machine` for people: one line per fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli._lines import counted, note
from tokenmill._numbers import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._machine.cpus import CpuCache, CpuFacts
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._machine.gpus import Gpu, GpuFacts
    from tokenmill._machine.memory import MemoryFacts

_UNKNOWN = "unknown"


def machine_lines(machine: MachineFacts) -> list[str]:
    """Describe a machine."""
    disk = machine.disk
    system = disk.file_system or "unknown file system"
    return [
        *_cpu(machine.cpu),
        *_memory(machine.memory),
        note("disk", f"{disk.kind}, {system}, {size(disk.free)} of {size(disk.total)} free at "
             f"{disk.path}"),
        *([] if machine.gpu is None else _gpu(machine.gpu)),
        note("system", machine.system),
        note("versions", ", ".join(f"{name} {v}" for name, v in machine.versions.items())),
        *(note("variable", f"{name}={value}") for name, value in machine.environment.items()),
    ]  # fmt: skip


def _cpu(cpu: CpuFacts) -> Iterator[str]:
    yield note("cpu", f"{cpu.model} ({cpu.architecture})")
    smt = "no SMT" if cpu.smt == 1 else f"{cpu.smt} threads per core"
    nodes = "" if cpu.numa_nodes is None else f", {counted(cpu.numa_nodes, 'NUMA node')}"
    yield note("cores", f"{counted(cpu.physical, 'core')}, {cpu.logical} CPUs, {smt}{nodes}")
    quota = "no quota" if cpu.quota is None else f"a quota of {cpu.quota:g} CPUs"
    yield note(
        "threads", f"{cpu.threads} by default: {counted(cpu.allowed, 'CPU')} allowed, {quota}"
    )
    if cpu.caches:
        yield note("caches", ", ".join(map(_cache, cpu.caches)))
    yield note("simd", f"{cpu.target or 'none'} (of {', '.join(cpu.targets)})")
    if cpu.problem:
        yield note("problem", cpu.problem)


def _cache(cache: CpuCache) -> str:
    mib = cache.bytes / (1 << 20)
    text = f"{mib:g} MiB" if mib >= 1 else f"{cache.bytes >> 10} KiB"
    return f"{cache.name} {text}" + ("" if cache.shared_by == 1 else f" for {cache.shared_by} CPUs")


def _memory(memory: MemoryFacts) -> Iterator[str]:
    total = _UNKNOWN if memory.total is None else size(memory.total)
    limit = "no limit" if memory.limit is None else f"a limit of {size(memory.limit)}"
    yield note("memory", f"{total}, {limit}, {size(memory.left)} left for this process")
    if memory.large_pages is not None:
        pages = (
            "" if memory.large_page_bytes is None else f" of {memory.large_page_bytes >> 10} KiB"
        )
        yield note("large pages", f"{memory.large_pages}{pages}")


def _gpu(gpu: GpuFacts) -> Iterator[str]:
    driver = "no NVIDIA driver" if gpu.driver is None else f"driver {gpu.driver}"
    devices = ", ".join(map(_device, gpu.devices)) or "none found"
    yield note("gpu", f"{devices}, {driver}")
    if gpu.why_not:
        yield note("", f"not usable: {gpu.why_not}")
        yield note("", f"{gpu.hint}")


def _device(gpu: Gpu) -> str:
    memory = "" if gpu.memory is None else f" with {size(gpu.memory)}"
    return gpu.name + memory
