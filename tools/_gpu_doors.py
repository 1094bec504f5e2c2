"""How fast texts of callers become ids: lists, Arrow arrays and one buffer, and a single text."""

from __future__ import annotations

import statistics
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from _gpu_timing import gigatoken_on_cpu, passes

from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from _gpu_texts import Text
    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill.cuda import GpuTokenizer

OUTPUTS = ("device", "host")
ONE_TEXT = (1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 5 << 20)
QUANTILES = (0.5, 0.9, 0.99)


def forms(text: Text) -> dict[str, Any]:
    """Return the same documents in every form that a caller may have them in."""
    documents = text.documents(text.size)
    found = {
        "list of bytes": documents,
        "list of str": [document.decode() for document in documents],
        "one buffer": FlatTexts(text.data, text.offsets),
    }
    try:
        import pyarrow as pa  # the rest can be timed without it
    except ImportError:
        return found
    buffers = (pa.py_buffer(text.offsets), pa.py_buffer(text.data))
    found["Arrow"] = pa.LargeStringArray.from_buffers(len(documents), *buffers)
    return found


def check_doors(tokenizer: Tokenizer, gpu: GpuTokenizer, text: Text) -> list[str]:
    """Return the ways whose ids are not those of the CPU engine; each twice, for used memory."""
    given = forms(text)
    wanted = tokenizer.encode_batch(given["list of bytes"])
    return [
        f"{name} to the {output}"
        for name, texts in given.items()
        for output in OUTPUTS
        if not all(
            gpu.encode_batch(texts, output=output).to_host() == wanted  # type: ignore[arg-type]
            for _ in range(2)
        )
    ]


def time_doors(
    tokenizer: Tokenizer, gpu: GpuTokenizer, path: Path, text: Text, rounds: int
) -> dict[str, Any]:
    """GB/s of every form to the device and to the host, and of libraries on all cores."""
    import cupy  # only on a machine with a device

    def encode(texts: Any, output: Any) -> Callable[[], None]:
        def run() -> None:
            gpu.encode_batch(texts, output=output)
            cupy.cuda.Device().synchronize()

        return run

    given = forms(text)
    rates: dict[str, Any] = {
        f"{name} to the {output}": passes(text.size, rounds, encode(texts, output))
        for name, texts in given.items()
        for output in OUTPUTS
    }
    documents = given["list of bytes"]
    cpu = passes(text.size, rounds, lambda: tokenizer.encode_batch(documents))
    rates["CPU engine, list of bytes, all cores"] = cpu
    rates["gigatoken, list of bytes, all cores"] = gigatoken_on_cpu(path, text, rounds)
    return rates


def one_text(
    tokenizer: Tokenizer, gpu: GpuTokenizer, data: NDArray[np.uint8], calls: int, output: Any
) -> dict[str, dict[str, Any]]:
    """Milliseconds of a call with one text, to ids on host or device, next to the CPU engine."""
    found = {}
    for size in ONE_TEXT:
        text = data[:size].tobytes().decode(errors="ignore").encode()
        assert gpu.encode_batch([text], output=output).to_host() == tokenizer.encode_batch([text])  # noqa: S101
        on_device = partial(gpu.encode_batch, [text], output=output)
        on_cpu = partial(tokenizer.encode_batch, [text], threads=1)
        found[f"{len(text)} bytes"] = {
            "device": quantiles(on_device, calls),
            "CPU, one thread": quantiles(on_cpu, calls),
            "steps": steps_of(gpu, on_device, calls),
        }
    return found


def steps_of(gpu: GpuTokenizer, call: Callable[[], object], calls: int) -> dict[str, float]:
    """Medians of a call's steps, in ms: before the launch, launch, wait, after; kernels alone."""
    engine = gpu.encoder.engine
    launch, outcome = engine.launch, engine.outcome
    marks: list[float] = []
    slots: list[Any] = []

    def launching(slot: Any, *words: Any, **named: Any) -> None:
        slots[:] = [slot]
        marks.append(time.perf_counter())
        launch(slot, *words, **named)
        marks.append(time.perf_counter())

    def waiting(slot: Any) -> Any:
        found = outcome(slot)
        marks.append(time.perf_counter())
        return found

    rows = []
    engine.launch, engine.outcome = launching, waiting  # type: ignore[method-assign]
    try:
        for _ in range(calls):
            marks[:] = [time.perf_counter()]
            call()
            marks.append(time.perf_counter())
            rows.append([b - a for a, b in pairwise(marks)])
    finally:
        del engine.launch, engine.outcome
    steps = ("before", "launch", "wait", "after")
    medians = [round(1e3 * statistics.median(times), 4) for times in zip(*rows, strict=True)]
    return {**dict(zip(steps, medians, strict=False)), "kernels": graph_time(slots[0], calls)}


def graph_time(slot: Any, calls: int) -> float:
    """Milliseconds that the device takes for the graph of the last short batch of a slot."""
    import cupy

    graphs = [graph for (_, _, by_kernels), graph in slot.graphs.items() if by_kernels]
    if not graphs:
        return 0.0
    times = []
    for _ in range(calls):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        graphs[-1].launch()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return round(float(statistics.median(times)), 4)


def quantiles(call: Callable[[], object], calls: int) -> list[float]:
    """Return the milliseconds that half of the calls took at most, nine of ten, and 99 of 100."""
    times = []
    for _ in range(calls + calls // 4):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    cuts = statistics.quantiles(times[calls // 4 :], n=100)
    return [round(1e3 * cuts[int(100 * quantile) - 1], 4) for quantile in QUANTILES]
