"""How fast a device encodes: text and ids on the device, from host to host, in small batches."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, Literal

from _gpu_texts import DOCUMENT_BYTES, Text, cut, repeat

from tokenmill._core import TextBuffer
from tokenmill._cuda.slot import BatchJob
from tokenmill._cuda.texts import parts_of
from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.slot import Slot
    from tokenmill.cuda import GpuTokenizer

SMALL = (1 << 20, 4 << 20, 16 << 20, 64 << 20)
HOST_BYTES = 4 << 30


def rate(size: int, milliseconds: float) -> float:
    """Return GB/s."""
    return size / milliseconds / 1e6


class Clock:
    """Events of the device around each launch."""

    def __init__(self) -> None:
        import cupy  # only on a machine with a device

        self.cuda = cupy.cuda

    def steps(self, engine: DeviceEngine, slot: Slot, job: BatchJob) -> dict[str, float]:
        """Run a batch once; milliseconds of each kernel and of all."""
        self.cuda.Device().synchronize()
        marks = [self._mark()]
        names = []
        for name in engine.run_steps(slot, job):
            names.append(name)
            marks.append(self._mark())
        marks[-1].synchronize()
        elapsed = self.cuda.get_elapsed_time
        times = {n: elapsed(a, b) for n, a, b in zip(names, marks, marks[1:], strict=False)}
        return {**times, "all": elapsed(marks[0], marks[-1])}

    def _mark(self) -> Any:
        event = self.cuda.Event()
        event.record()
        return event


def against(earlier: dict[str, Any], key: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the speed of each state as a ratio to that of an earlier run, and its slowest step."""
    before = earlier.get("sections", {}).get("timing", {}).get(key)
    if before is None:
        return {}
    ratios: dict[str, Any] = {"bytes then": before["bytes"]}
    for state, rate_then in before["GB/s"].items():
        ratios[state] = round(found["GB/s"][state] / rate_then, 3)
    now, then = found["ms/GB"]["warm"], before["ms/GB"]["warm"]
    more = {step: round(now[step] - then.get(step, 0.0), 3) for step in now if step != "all"}
    ratios["warm, ms/GB more"] = dict(sorted(more.items(), key=lambda item: -item[1])[:5])
    return ratios


def median(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of every column."""
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def on_device(gpu: GpuTokenizer, text: Text, rounds: int) -> dict[str, Any]:
    """Time the kernels on text in device memory: cold and warm tables, with and without repeats."""
    engine = gpu.encoder.engine
    part = parts_of(FlatTexts(text.data, text.offsets), engine.backend)[0]
    documents = len(text.offsets) - 1
    slot = engine.slot(text.size, documents)
    engine.load(slot, part, 0, documents)
    clock, plain, alone = Clock(), BatchJob(True, 32), BatchJob(True, 32, keep_repeats=True)
    gpu.forget_words()  # of other texts
    engine.launch(slot, plain)
    engine.outcome(slot)

    def several(job: BatchJob, before: Callable[[], None]) -> dict[str, float]:
        rows = []
        for _ in range(rounds):
            before()
            rows.append(clock.steps(engine, slot, job))
        return median(rows)

    nothing: Callable[[], None] = lambda: None  # noqa: E731
    states = {
        "warm": several(plain, nothing),
        "cold": several(plain, gpu.forget_words),
        "cold, every miss merged": several(alone, gpu.forget_words),
    }
    return {
        "bytes": text.size,
        "GB/s": {name: round(rate(text.size, row["all"]), 1) for name, row in states.items()},
        "ms/GB": {
            name: {step: round(ms / text.size * 1e9, 3) for step, ms in row.items()}
            for name, row in states.items()
        },
    }


def small_batches(gpu: GpuTokenizer, data: NDArray[np.uint8], rounds: int) -> dict[str, float]:
    """Wall-clock time of batches of a few megabytes in device memory, including launches."""
    engine = gpu.encoder.engine
    cuda, found = Clock().cuda, {}
    for size in SMALL:
        text = cut("small", repeat(cut("", data, 0), size).data[:size], DOCUMENT_BYTES)
        part = parts_of(FlatTexts(text.data, text.offsets), engine.backend)[0]
        slot = engine.slot(text.size, len(text.offsets) - 1)
        engine.load(slot, part, 0, len(text.offsets) - 1)
        times = []
        for _ in range(3 * rounds):
            cuda.Device().synchronize()
            begin = time.perf_counter()
            engine.launch(slot, BatchJob(True, 32))
            engine.outcome(slot)
            times.append(time.perf_counter() - begin)
        found[f"{size >> 20} MiB"] = round(text.size / statistics.median(times) / 1e9, 1)
    return found


def host_to_host(
    gpu: GpuTokenizer, text: Text, dtype: Literal["uint32", "uint16"], rounds: int
) -> float:
    """GB/s from pinned text to pinned ids."""
    big = repeat(text, HOST_BYTES)
    source = gpu.pinned(big.size)
    source[:] = big.data
    target = gpu.pinned(big.size // 3, dtype)
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        gpu.encode_host(source, big.offsets, dtype=dtype, out=target)
        times.append(time.perf_counter() - begin)
    return round(big.size / statistics.median(times[1:]) / 1e9, 1)


def gigatoken_on_cpu(path: Path, text: Text, rounds: int) -> dict[str, float] | str:
    """GB/s of gigatoken on all cores, first pass and later ones, if it is installed."""
    try:
        import gigatoken  # a peer, not a dependency
    except ImportError as error:
        return f"left out: {error}"
    tokenizer = gigatoken.Tokenizer(path)
    documents = text.documents(text.size)
    return passes(text.size, rounds, lambda: tokenizer.encode_batch(documents, parallel=True))


def cpu_engine(tokenizer: Tokenizer, text: Text, rounds: int) -> dict[str, float]:
    """GB/s of the CPU engine on all cores, first pass and later ones."""
    flat = TextBuffer(text.data, text.offsets)
    return passes(text.size, rounds, lambda: tokenizer.encode_batch(flat))


def passes(size: int, rounds: int, encode: Callable[[], object]) -> dict[str, float]:
    """Return GB/s of the first call, and the median of the later ones."""
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        encode()
        times.append(time.perf_counter() - begin)
    first, later = times[0], statistics.median(times[1:])
    return {"first": round(size / first / 1e9, 2), "later": round(size / later / 1e9, 2)}
