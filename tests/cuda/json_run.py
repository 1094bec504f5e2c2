"""JSONL through the kernels as a host library, in the form of the CPU's `read_jsonl`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tests.cuda.devices import HostDevice
from tests.cuda.shim import build

from tokenmill import _core
from tokenmill._cuda.jsonl import JsonlReader, JsonlRules, JsonlSlot

if TYPE_CHECKING:
    from pathlib import Path


class Read(NamedTuple):
    """What a chunk came to; all in plain Python, so that two of them can be compared."""

    texts: list[bytes]
    lines: list[int]
    begins: list[int]
    bad: list[list[int]]
    counts: list[int]  # lines, blank lines, documents repaired: bytes, surrogates


class JsonKernels:
    """The kernels of JSONL with tiles of one size."""

    def __init__(
        self, folder: Path, tile: int, *, sanitize: str = "", shuffle: int | None = None
    ) -> None:
        library = build(folder, {"TM_JSON_TILE": tile}, sanitize, "json_kernels.h")
        self.device = HostDevice(library, shuffle=shuffle)
        self._tile = tile

    def read(self, chunk: bytes, rules: JsonlRules, room: int = 0) -> Read | None:
        """Read lines; None if the device leaves the chunk to the CPU."""
        slot = JsonlSlot(self.device, max(len(chunk), room, 1), self._tile)
        reader = JsonlReader(self.device, rules)
        self.device.upload(slot.raw[: len(chunk)], np.frombuffer(chunk, np.uint8))
        reader.launch(slot, len(chunk))
        found = reader.outcome(slot)
        if not found.is_sure:
            return None
        offsets = reader.offsets(slot, found)
        lines, begins = reader.places(slot, found)
        text = bytes(self.device.to_host(slot.text[: found.text_bytes]))
        bad = reader.bad_lines(slot, found).tolist()
        assert sum(found.reasons.values()) == len(bad)
        assert int(offsets[-1]) == found.text_bytes
        return Read(
            [text[a:b] for a, b in pairwise(offsets)],
            lines.tolist(),
            begins.tolist(),
            bad,
            [found.lines, found.blank_lines, 0, found.repaired_surrogates],
        )


def read_there(chunk: bytes, rules: JsonlRules, target: str | None = None) -> Read:
    """Read lines with the CPU's reader."""
    text, offsets, lines, begins, bad, counts = _core.read_jsonl(
        chunk,
        rules.field,
        rules.max_document_bytes,
        rules.max_line_bytes,
        rules.replace_bad_utf8,
        rules.replace_lone_surrogate,
        target,
    )
    flat = bytes(text)
    return Read(
        [flat[a:b] for a, b in pairwise(offsets)],
        lines.tolist(),
        begins.tolist(),
        bad.reshape(-1, 5).tolist(),
        counts.tolist(),
    )
