"""`bench gpu`: a CUDA device on text it has already, from host to host, and on single requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._bench.about import about_run
from tokenmill._bench.measurement import BenchReport
from tokenmill._bench.rounds import CallGroup, case_of, run_rounds
from tokenmill._bench.scenarios import size_name
from tokenmill._bench.texts import text_of
from tokenmill._bench.throughput import made_texts
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._bench.rounds import CallRequest

WAYS = {"resident": "device to device", "host": "host to host", "request": "one request"}


def measure_gpu(
    request: CallRequest,
    device: int,
    batch_bytes: int,
    sizes: Sequence[int],
    report: Callable[[str], None],
) -> BenchReport:
    """Measure the device; DeviceError if there is none, or it cannot run the tokenizer."""
    tokenizer = Tokenizer.load(request.tokenizer, pattern=request.pattern)
    check_device(tokenizer, device)
    about = about_run(tokenizer, request.tokenizer, request.threads, gpu=True)
    groups = gpu_groups(batch_bytes, sizes, request.threads)
    run_rounds(request, groups, report, {"task": "gpu", "device": device})
    return BenchReport("gpu", about, [row for group in groups for row in group.rows[None]])


def check_device(tokenizer: Tokenizer, device: int) -> None:
    """Try the device now: a process that measures could only say that it failed."""
    from tokenmill._cuda.device_tokenizer import DeviceTokenizer  # imports what CuPy needs
    from tokenmill._cuda.options import DeviceOptions

    DeviceTokenizer(tokenizer.ready, device, DeviceOptions(table_bits=12))


def gpu_groups(batch_bytes: int, sizes: Sequence[int], threads: int) -> list[CallGroup]:
    """Return batches by two ways, then single requests: a group is a process."""
    batch = made_texts(["english"], batch_bytes)["english"]
    name = size_name(batch_bytes)
    batches = [
        case_of(f"{WAYS[way]} {name}", batch, way, threads, _labels(way, batch_bytes))
        for way in ("resident", "host")
    ]
    requests = [
        case_of(
            f"one request {size_name(size)}", [text_of("english", size)], "request", threads,
            _labels("request", size),
        )
        for size in sizes
    ]  # fmt: skip
    return [CallGroup("batches", batches), CallGroup("requests", requests)]


def _labels(way: str, size: int) -> dict[str, Any]:
    return {"way": WAYS[way], "size": size}
