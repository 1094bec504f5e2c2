"""What the machine itself can do: the device's memory and bus, the host's memory, its disk."""

from __future__ import annotations

import mmap
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK = 8 << 20
THREADS = (1, 4, 8, 16)
MEMORY = Path("/dev/shm")  # noqa: S108 -- files that no disk slows down
PINNED_BYTES, LARGE_PAGE = 64 << 20, 2 << 20
DEVICE_BYTES, BUS_BYTES, FILE_BYTES, DISK_BYTES = 2 << 30, 256 << 20, 1 << 30, 3 << 30
ROUNDS = 5


def processor() -> dict[str, str]:
    """Return what `lscpu` prints about cores, threads and caches."""
    program = shutil.which("lscpu")
    if program is None:
        return {"left out": "no lscpu"}
    printed = subprocess.run([program], capture_output=True, text=True, check=False).stdout  # noqa: S603
    wanted = ("Model name", "CPU(s)", "Thread", "Core", "Socket", "L2", "L3", "NUMA node", "MHz")
    rows = (line.split(":", 1) for line in printed.splitlines() if ":" in line)
    return {k.strip(): v.strip() for k, v in rows if k.strip().startswith(wanted)}


def device() -> dict[str, Any]:
    """GB/s of copies on the device (read and written) and over the bus; times of one launch."""
    import cupy  # only on a machine with a device

    cuda, runtime = cupy.cuda, cupy.cuda.runtime
    one, two = (cupy.zeros(DEVICE_BYTES, cupy.uint8) for _ in range(2))
    pinned = cuda.alloc_pinned_memory(BUS_BYTES)

    def copied(to: int, source: int, size: int, kind: int) -> float:
        times = []
        for _ in range(ROUNDS):
            begin, end = cuda.Event(), cuda.Event()
            begin.record()
            runtime.memcpyAsync(to, source, size, kind, cuda.get_current_stream().ptr)
            end.record()
            end.synchronize()
            times.append(cuda.get_elapsed_time(begin, end))
        return round(size / float(statistics.median(times)) / 1e6, 1)

    inside = copied(two.data.ptr, one.data.ptr, DEVICE_BYTES, runtime.memcpyDeviceToDevice)
    return {
        "copy on the device, bytes read and written": round(2 * inside, 1),
        "to the device": copied(one.data.ptr, pinned.ptr, BUS_BYTES, runtime.memcpyHostToDevice),
        "to the host": copied(pinned.ptr, one.data.ptr, BUS_BYTES, runtime.memcpyDeviceToHost),
        **_pinning(),
        **_launches(),
    }


def _pinning() -> dict[str, float]:
    """Milliseconds until 64 MiB are pinned: by the driver, or large pages that it registers."""
    import cupy

    runtime = cupy.cuda.runtime

    def allocate() -> None:
        runtime.freeHost(runtime.hostAlloc(PINNED_BYTES, 0))

    def register() -> None:
        memory = mmap.mmap(-1, PINNED_BYTES + LARGE_PAGE)
        memory.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(memory, np.uint8)
        begin = -whole.ctypes.data % LARGE_PAGE
        part = whole[begin : begin + PINNED_BYTES]
        part[:: mmap.PAGESIZE] = 0
        runtime.hostRegister(part.ctypes.data, PINNED_BYTES, 0)
        runtime.hostUnregister(part.ctypes.data)

    return {
        "pinning 64 MiB, ms": _milliseconds(allocate, 3),
        "touching and registering 64 MiB of large pages, ms": _milliseconds(register, 3),
    }


def _launches() -> dict[str, float]:
    """Microseconds from launch to the end of waiting: an empty kernel, and a graph of twenty."""
    import cupy

    kernel = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")
    stream = cupy.cuda.Stream(non_blocking=True)

    def waited(launch: Callable[[], None]) -> float:
        with stream:
            event = cupy.cuda.Event(disable_timing=True)

            def once() -> None:
                launch()
                event.record(stream)
                event.synchronize()

            return round(1e3 * _milliseconds(once, 300), 1)

    with stream:
        kernel((1,), (32,), ())
        stream.synchronize()
        stream.begin_capture()
        for _ in range(20):
            kernel((1,), (32,), ())
        graph = stream.end_capture()
    return {
        "an empty kernel and a wait, us": waited(lambda: kernel((1,), (32,), ())),
        "a graph of 20 empty kernels and a wait, us": waited(graph.launch),
    }


def _milliseconds(call: Callable[[], object], calls: int) -> float:
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return round(1e3 * statistics.median(times), 4)


def memory_files() -> dict[str, dict[str, float]]:
    """GB/s of files in memory: new pages, pages written again, pages read; by threads."""
    found: dict[str, dict[str, float]] = {"written new": {}, "written again": {}, "read": {}}
    for threads in THREADS:
        with _folder(MEMORY) as folder, ThreadPoolExecutor(threads) as pool:
            paths = [folder / str(number) for number in range(threads)]
            size = FILE_BYTES // threads * min(threads, 4)
            for name, one in (("written new", _write), ("written again", _write), ("read", _read)):
                begin = time.perf_counter()
                list(pool.map(one, paths, [size] * threads))
                seconds = time.perf_counter() - begin
                found[name][str(threads)] = round(size * threads / seconds / 1e9, 2)
    return found


def disk(folder: Path) -> dict[str, Any]:
    """GB/s of reading a file that is not cached: O_DIRECT, read-ahead, and both in memory."""
    found: dict[str, Any] = {}
    with _folder(folder) as here:
        path = here / "file"
        begin = time.perf_counter()
        _write(path, DISK_BYTES, sync=True)
        found["written and synced"] = round(DISK_BYTES / (time.perf_counter() - begin) / 1e9, 2)
        for threads in (4, 16):
            for name, flags in (("read ahead", 0), ("O_DIRECT", getattr(os, "O_DIRECT", 0))):
                _forget(path)
                found[f"{name}, {threads} threads"] = _read_by(path, threads, flags)
        found["cached, 16 threads"] = _read_by(path, 16, 0)
        found["cached, O_DIRECT, 16 threads"] = _read_by(path, 16, getattr(os, "O_DIRECT", 0))
    return found


def _read_by(path: Path, threads: int, flags: int) -> float | str:
    """Read a file in blocks that threads take in turn."""
    places = iter(range(0, path.stat().st_size, BLOCK))

    def work() -> None:
        memory = mmap.mmap(-1, BLOCK)  # aligned, as O_DIRECT needs it
        handle = os.open(path, os.O_RDONLY | flags)
        try:
            while (at := next(places, None)) is not None:
                os.preadv(handle, [memory], at)
        finally:
            os.close(handle)

    begin = time.perf_counter()
    try:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(work) for _ in range(threads)]:
                done.result()
    except OSError as error:
        return f"left out: {error}"
    return round(path.stat().st_size / (time.perf_counter() - begin) / 1e9, 2)


def _write(path: Path, size: int, *, sync: bool = False) -> None:
    data = os.urandom(1 << 16) * (BLOCK >> 16)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for _ in range(size // BLOCK):
            os.write(handle, data)
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path, size: int) -> None:
    memory = bytearray(BLOCK)
    handle = os.open(path, os.O_RDONLY)
    try:
        for at in range(0, size, BLOCK):
            os.preadv(handle, [memory], at)
    finally:
        os.close(handle)


def _forget(path: Path) -> None:
    """Let the system forget the pages of a file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


@contextmanager
def _folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is removed at the end."""
    path = Path(tempfile.mkdtemp(prefix="tokenmill-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def findings(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield what was found out, one after the other."""
    yield "processor", processor()
    yield "device, GB/s", device()
    yield "files in memory, GB/s by threads", memory_files()
    yield f"files in {folder}, GB/s", disk(folder)


COMMIT = "COMMIT"  # a file of tools/gpu_bundle, in the folder of the tokenizers


def commit_of(folder: Path) -> str:
    """Return the commit of a bundle, else of the tree of this file, which may be an older copy."""
    told = folder / COMMIT
    if told.exists():
        return told.read_text().strip()
    git = shutil.which("git") or "git"
    found = subprocess.run(  # noqa: S603
        [git, "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.stdout.strip() or "unknown"


def large_pages() -> str:
    """Return whether the system gives large pages: ids that wait in memory ask for them."""
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return setting.read_text().strip() if setting.exists() else "unknown"


def describe(device: str, folder: Path) -> dict[str, Any]:
    """Describe the run: the device, its software, the host, the commit and the time."""
    return {
        **({"device": "none, a dry run"} if device == "cpu" else device_facts()),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "large pages": large_pages(),
        "commit": commit_of(folder),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def device_facts() -> dict[str, Any]:
    """Describe the device and its software."""
    import cupy  # a machine without it gets the error of the import

    runtime = cupy.cuda.runtime
    facts = runtime.getDeviceProperties(0)
    return {
        "device": facts["name"].decode(),
        "processors": facts["multiProcessorCount"],
        "driver": runtime.driverGetVersion(),
        "cuda": runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }
