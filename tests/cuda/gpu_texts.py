"""Texts for the tests of a tokenizer on a device, in every form that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from tests.cuda.tokenizers_small import random_texts

from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from tests.cuda.devices import HostDevice

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer
    from tokenmill._cuda.slot import Slot


TEXTS = random_texts(60)


def flat(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    parts = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def device_of(gpu: DeviceTokenizer) -> HostDevice:
    return cast("HostDevice", gpu.backend)


def on_device(gpu: DeviceTokenizer, texts: list[str], room: int = 0) -> FlatTexts:
    data, offsets = flat(texts)
    memory = gpu.backend.zeros(data.size + 2 * room, np.uint8)
    gpu.backend.upload(memory[room : room + data.size], data)
    return FlatTexts(memory[room : room + data.size], offsets)


def pinned(gpu: DeviceTokenizer, texts: list[str]) -> FlatTexts:
    data, offsets = flat(texts)
    memory = gpu.pinned(data.size)
    memory[:] = data
    return FlatTexts(memory, offsets)


def slots_of(gpu: DeviceTokenizer) -> list[Slot]:
    """Return the slots of the ring, and the one for text on the device."""
    ring = gpu.encoder.ring
    lanes = [] if ring is None else [lane for lane in ring._lanes if lane is not None]
    own = [] if gpu.encoder.slot is None else [gpu.encoder.slot]
    return [*(lane.slot for lane in lanes), *own]


FORMS: dict[str, Callable[[DeviceTokenizer], Any]] = {
    "list": lambda _: TEXTS,
    "tuple of bytes": lambda _: tuple(text.encode() for text in TEXTS),
    "views": lambda _: [memoryview(text.encode()) for text in TEXTS],
    "generator": lambda _: (text for text in TEXTS),
    "arrow": lambda _: pa.array(TEXTS),
    "arrow large": lambda _: pa.array(TEXTS, pa.large_string()),
    "arrow binary": lambda _: pa.array([text.encode() for text in TEXTS]),
    "arrow view": lambda _: pa.array(TEXTS, pa.string_view()),
    "arrow slice": lambda _: pa.array(["before", *TEXTS, "after"])[1:-1],
    "arrow chunks": lambda _: pa.chunked_array([TEXTS[:9], [], TEXTS[9:]], pa.string()),
    "flat": lambda _: FlatTexts(*flat(TEXTS)),
    "flat bytes": lambda _: FlatTexts(flat(TEXTS)[0].tobytes(), flat(TEXTS)[1].tolist()),
    "flat inside": lambda _: FlatTexts(flat(["##", *TEXTS, "#"])[0], flat(["##", *TEXTS])[1][1:]),
    "pinned": lambda gpu: pinned(gpu, TEXTS),
    "device": lambda gpu: on_device(gpu, TEXTS),
    "device, roomy": lambda gpu: on_device(gpu, TEXTS, 512),
}
