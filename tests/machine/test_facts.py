"""What `describe_machine` reads from a kernel's files that we write, and where there are none."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tokenmill._cli import main
from tokenmill._cli._machine_lines import machine_lines
from tokenmill._cuda.reasons import device_error
from tokenmill._machine.cpus import cpu_numbers, read_cpus
from tokenmill._machine.disks import read_disk
from tokenmill._machine.facts import describe_machine
from tokenmill._machine.gpus import Gpu, read_gpus
from tokenmill._machine.memory import read_memory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.machine.conftest import FakeMachine

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-2,8\n", [0, 1, 2, 8]), ("5", [5]), ("", []), ("a-b,-3,7-", []), ("0-0", [0])],
)
def test_lists_of_cpus_are_read_as_the_kernel_writes_them(text: str, numbers: list[int]) -> None:
    assert cpu_numbers(text) == numbers


def test_a_machine_that_says_nothing_still_has_facts(machine: FakeMachine) -> None:
    facts = describe_machine(machine.root, gpu=False)
    assert (facts.cpu.logical, facts.cpu.physical, facts.cpu.smt) == (8, 8, 1)
    assert (facts.cpu.allowed, facts.cpu.quota, facts.cpu.threads) == (8, None, 8)
    assert (facts.cpu.caches, facts.cpu.numa_nodes) == ((), None)
    assert facts.cpu.target in facts.cpu.targets
    assert (facts.memory.total, facts.memory.limit, facts.memory.large_pages) == (None, None, None)
    assert (facts.disk.kind, facts.disk.file_system) == ("unknown", None)
    assert facts.disk.free > 0
    assert "no quota" in "\n".join(machine_lines(facts))


def test_hyperthreads_of_a_core_count_once(machine: FakeMachine) -> None:
    machine.put("cpus/online", "0-7\n")
    for cpu in range(8):
        machine.put(f"cpus/cpu{cpu}/topology/core_cpus_list", f"{cpu % 4},{cpu % 4 + 4}\n")
    machine.write(cpuinfo="processor\t: 0\nmodel name\t: A fine CPU\n")
    machine.write(nodes__node0__x="", nodes__node1__x="")
    found = read_cpus()
    assert (found.logical, found.physical, found.smt, found.allowed_cores) == (8, 4, 2, 4)
    assert (found.model, found.numa_nodes) == ("A fine CPU", 2)


def test_affinity_leaves_fewer_cores(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.put("cpus/online", "0-7")
    for cpu in range(8):
        machine.put(f"cpus/cpu{cpu}/topology/core_cpus_list", f"{cpu % 4},{cpu % 4 + 4}")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 4, 1}, raising=False)
    found = read_cpus()
    assert (found.physical, found.allowed, found.allowed_cores, found.threads) == (4, 3, 2, 3)


def test_caches_have_names_sizes_and_neighbours(machine: FakeMachine) -> None:
    rows = [("1", "Data", "48K", "0,4"), ("1", "Instruction", "32K", "0,4"),
            ("2", "Unified", "2M", "0,4"), ("3", "Unified", "32768K", "0-7")]  # fmt: skip
    for number, values in enumerate(rows):
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
            machine.put(f"cpus/cpu0/cache/index{number}/{name}", value + "\n")
    machine.put("cpus/cpu0/cache/index4/size", "what?")
    found = [(cache.name, cache.bytes, cache.shared_by) for cache in read_cpus().caches]
    assert found == [
        ("L1d", 48 << 10, 2), ("L1i", 32 << 10, 2), ("L2", 2 << 20, 2), ("L3", 32 << 20, 8),
    ]  # fmt: skip


def test_a_quota_is_shown_as_it_is_and_rounded_up_for_threads(machine: FakeMachine) -> None:
    machine.write(membership="0::/job\n", groups__job__x="")
    machine.put("groups/job/cpu.max", "150000 100000\n")
    machine.put("groups/job/memory.max", f"{2 * GIB}\n")
    machine.put("groups/job/memory.current", f"{GIB}\n")
    machine.write(
        meminfo="MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nHugepagesize: 2048 kB\n"
    )
    machine.write(large="always [madvise] never\n")
    facts = describe_machine(machine.root, gpu=False)
    assert (facts.cpu.quota, facts.cpu.threads) == (1.5, 2)
    memory = facts.memory
    assert (memory.total, memory.available) == (16 * GIB, 8 * GIB)
    assert (memory.limit, memory.left) == (2 * GIB, GIB)
    assert (memory.large_pages, memory.large_page_bytes) == ("madvise", 2 << 20)
    shown = "\n".join(machine_lines(facts))
    assert "2 by default: 8 CPUs allowed, a quota of 1.5 CPUs" in shown
    assert "17.2 GB, a limit of 2.1 GB, 1.1 GB left" in shown


def test_groups_of_version_1_without_a_limit_are_none(machine: FakeMachine) -> None:
    machine.write(membership="4:memory:/job\n1:cpu:/\n", groups__cpu__x="")
    machine.put("groups/cpu/cpu.cfs_quota_us", "-1\n")
    machine.put("groups/cpu/cpu.cfs_period_us", "100000\n")
    machine.put("groups/memory/job/memory.limit_in_bytes", "9223372036854771712")
    machine.put("groups/memory/job/memory.usage_in_bytes", "1")
    machine.write(meminfo="MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n")
    assert read_cpus().quota is None
    memory = read_memory()
    assert (memory.limit, memory.left) == (None, GIB // 2)


def test_a_wrong_variable_is_a_line_and_no_crash(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_TARGET", "abacus")
    facts = describe_machine(machine.root, gpu=False)
    assert facts.cpu.target == ""
    assert "TOKENMILL_TARGET" in facts.cpu.problem
    monkeypatch.setenv("TOKENMILL_THREADS", "many")
    assert "TOKENMILL_THREADS" in "\n".join(machine_lines(describe_machine(gpu=False)))


def test_the_token_of_the_service_is_never_shown(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_TOKEN", "sesame")
    facts = describe_machine(machine.root, gpu=False)
    assert "TOKENMILL_TOKEN" in facts.environment
    assert "sesame" not in json.dumps(facts.as_json())


def test_the_disk_of_a_folder_that_does_not_exist_yet(machine: FakeMachine) -> None:
    device = machine.root.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    machine.write(mounts=f"22 27 {number} / /data rw,relatime shared:1 - xfs /dev/sda1 rw\n")
    machine.put(f"blocks/{number}/queue/rotational", "1\n")
    disk = read_disk(machine.root / "not" / "there")
    assert (disk.path, disk.file_system, disk.kind) == (str(machine.root), "xfs", "hdd")
    machine.write(mounts=f"22 27 {number} / /data rw - nfs4 server:/x rw\n")
    assert read_disk(machine.root).kind == "network"


def test_without_cupy_the_driver_lists_its_devices(machine: FakeMachine) -> None:
    def no_cupy() -> list[Gpu]:
        raise device_error("no_cupy")

    machine.write(driver__version="NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1.2  Thu\n")
    machine.put("driver/gpus/0/information", "Model: \t NVIDIA H200\nIRQ: 1\n")
    gpu = read_gpus(no_cupy)
    assert (gpu.devices, gpu.driver) == ((Gpu("NVIDIA H200"),), "570.1.2")
    assert "cupy" in gpu.why_not
    assert "pip install" in gpu.hint
    assert read_gpus(lambda: [Gpu("one", "9.0", GIB)]).why_not == ""


def test_the_command_prints_lines_or_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["info", "--machine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line[:12].strip() for line in lines} >= {"cpu", "cores", "threads", "simd", "versions"}
    assert main(["info", "--machine", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["disk"]["path"] == str(tmp_path)
    assert facts["versions"]["tokenmill"]
    with pytest.raises(SystemExit, match="2"):
        main(["info", "--machine", "gpt2"])
