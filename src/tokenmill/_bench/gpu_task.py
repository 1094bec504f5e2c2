"""In a process of its own: the same texts on a CUDA device, by every way in and out.

The ids of every way are compared with those of the CPU engine before its times count.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._bench.answers import read_texts
from tokenmill._bench.calls_task import answer_of_batch
from tokenmill._bench.clock import CallClock
from tokenmill._bench.libraries import CannotMeasure
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.texts import FlatTexts
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill._bench.measurement import CallTimes

    Ids = tuple[NDArray[Any], NDArray[np.int64]]  # and offsets of the documents


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Measure all cases of the request."""
    begin = time.perf_counter()
    tokenizer = Tokenizer.load(request["source"], pattern=request["pattern"])
    gpu = DeviceTokenizer(tokenizer.ready, request["device"])
    clock = CallClock(request["seconds"], time.perf_counter() - begin)
    rows = [
        measure_way(case["call"], gpu, tokenizer, read_texts(Path(case["texts"])), clock)
        for case in request["cases"]
    ]
    return {"rows": rows}


def measure_way(
    way: str, gpu: DeviceTokenizer, tokenizer: Tokenizer, texts: list[str], clock: CallClock
) -> dict[str, Any]:
    """Time one way, and check its ids against the CPU engine."""
    times, (ids, offsets) = _WAYS[way](gpu, texts, clock)
    wanted = tokenizer.encode_batch(texts)
    if not (np.array_equal(ids, wanted.ids) and np.array_equal(offsets, wanted.offsets)):
        raise CannotMeasure("the device gives other ids than the CPU")
    answer = answer_of_batch(wanted)
    return {"sample": asdict(times), "calls": 1, "tokens": answer.tokens, "ids": answer.hash()}


def _resident(gpu: DeviceTokenizer, texts: list[str], clock: CallClock) -> tuple[CallTimes, Ids]:
    """Text in device memory to ids in device memory."""
    data, offsets = _flat(texts)
    with gpu.backend.using(None):
        there = FlatTexts(gpu.backend.asarray(data), offsets)

    def call(flat: FlatTexts) -> object:
        batch = gpu.encode_batch(flat)
        _wait(gpu)
        return batch

    times = clock.measure(call, [there])
    return times, _on_host(gpu.encode_batch(there))


def _host(gpu: DeviceTokenizer, texts: list[str], clock: CallClock) -> tuple[CallTimes, Ids]:
    """Text in pinned host memory to ids in pinned host memory."""
    data, offsets = _flat(texts)
    pinned = gpu.pinned(len(data))
    pinned[:] = data
    out = gpu.pinned(len(data) + 1, np.uint32)

    def call(source: Any) -> Ids:
        return gpu.encode_host(source, offsets, out=out)

    times = clock.measure(call, [pinned])
    ids, ends = call(pinned)
    return times, (ids.copy(), ends)


def _request(gpu: DeviceTokenizer, texts: list[str], clock: CallClock) -> tuple[CallTimes, Ids]:
    """One text of a caller to ids for the caller."""
    times = clock.measure(lambda one: gpu.encode_batch(one, output="host"), [texts])
    return times, _on_host(gpu.encode_batch(texts, output="host"))


def _on_host(batch: Any) -> Ids:
    found = batch.to_host()
    return found.ids, found.offsets


def _wait(gpu: DeviceTokenizer) -> None:
    with gpu.backend.using(None):
        gpu.backend.mark().synchronize()


def _flat(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    raw = [text.encode() for text in texts]
    offsets = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(text) for text in raw], out=offsets[1:])
    return np.frombuffer(b"".join(raw), np.uint8), offsets


_WAYS: dict[str, Callable[[DeviceTokenizer, list[str], CallClock], tuple[CallTimes, Ids]]] = {
    "resident": _resident,
    "host": _host,
    "request": _request,
}
