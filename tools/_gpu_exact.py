"""Ids of a device against those of the CPU engine and of the reference library."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from _gpu_texts import Text, cut

from tokenmill._core import BlockRules, TextBuffer
from tokenmill._cuda.jsonl import JsonlReader, JsonlRules, JsonlSlot
from tokenmill._cuda.options import CallOptions
from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill import TokenBatch, Tokenizer
    from tokenmill.cuda import GpuTokenizer

# Every cut puts the same text at different positions in tiles (of 8 KiB) and next to different
# documents. 0: whole.
CUTS = (3000, 200, 40_000, 0, 97, 700, 8191, 8192, 8193, 20_000, 300_000, 2_000_000)


@dataclass
class Tally:
    """What was compared."""

    bytes: int = 0
    documents: int = 0
    ids: int = 0
    mismatches: int = 0
    first: str = ""
    fallbacks: Counter[str] = field(default_factory=Counter)

    def compare(self, what: str, found: TokenBatch, expected: TokenBatch, text: Text) -> None:
        """Count one comparison, and remember the first document that differs."""
        self.bytes += text.size
        self.documents += len(expected.offsets) - 1
        self.ids += len(expected.ids)
        equal = np.array_equal(found.ids, expected.ids)
        if equal and np.array_equal(found.offsets, expected.offsets):
            return
        wrong = differing(found, expected)
        self.mismatches += max(len(wrong), 1)
        self.first = self.first or f"{what}: document {wrong[0] if wrong else 'offsets'}"


def differing(found: TokenBatch, expected: TokenBatch) -> list[int]:
    """Return the numbers of the documents whose ids differ."""
    ours, theirs = pairwise(found.offsets.tolist()), pairwise(expected.offsets.tolist())
    return [
        number
        for number, ((a, b), (c, d)) in enumerate(zip(ours, theirs, strict=True))
        if not np.array_equal(found.ids[a:b], expected.ids[c:d])
    ]


def all_cuts(corpora: dict[str, NDArray[np.uint8]]) -> Text:
    """Return all corpora in all cuts as one text: few large calls take less time than many."""
    texts = [cut(name, data, size) for name, data in corpora.items() for size in CUTS]
    bases = np.cumsum([0, *(text.size for text in texts)])
    offsets = [text.offsets[:-1] + base for text, base in zip(texts, bases, strict=False)]
    data = np.concatenate([text.data[: text.size] for text in texts])
    return Text("all corpora", data, np.concatenate([*offsets, bases[-1:]]))


def check_all(tokenizer: Tokenizer, gpu: GpuTokenizer, text: Text, tally: Tally) -> None:
    """Compare a large text with cold tables, to the device, and with warm ones, to the host."""
    expected = tokenizer.encode_batch(TextBuffer(text.data, text.offsets))
    gpu.forget_words()
    cold = gpu.encode_batch(FlatTexts(text.data, text.offsets))
    tally.fallbacks.update(cold.fallbacks)
    tally.compare("cold tables", cold.to_host(), expected, text)
    warm = gpu.encode_batch(FlatTexts(text.data, text.offsets), output="host")
    tally.fallbacks.update(warm.fallbacks)
    tally.compare("warm tables", warm.to_host(), expected, text)


def check_lines(gpu: GpuTokenizer, data: NDArray[np.uint8]) -> int:
    """Compare blocks of lines through native lanes, some lines damaged; return what differs."""
    model = gpu.model
    lines = [
        json.dumps({"text": line.decode()}, ensure_ascii=number % 2 == 0).encode()
        for number, line in enumerate(bytes(data).splitlines())
    ]
    lines[::7] = [line[: len(line) // 2] for line in lines[::7]]
    block = b"\n".join(lines)
    rules = BlockRules("text", [], [1])
    size = 2 * len(block)
    native = gpu.new_lines(CallOptions("uint32"))
    slot = JsonlSlot(gpu.backend, size)
    host, stream = gpu.backend.pinned(size, np.uint8), gpu.backend.new_stream()
    native.add_lane(host, slot, stream, size, native.add_seat(size, slot.lines))
    reading = native.reading(JsonlReader(gpu.backend, JsonlRules("text")))
    wrong = 0
    for part in (block, block[: len(block) // 3], block[-100:], b"\n"):
        found = model.encode_lines(native.core, part, rules, reading)
        if isinstance(found, int):  # the device did not do it
            wrong += 1
            continue
        pairs = zip(found, model.encode_jsonl(part, rules), strict=False)
        wrong += any(not np.array_equal(mine, its) for mine, its in pairs)
    return wrong


def check_short(tokenizer: Tokenizer, gpu: GpuTokenizer, data: NDArray[np.uint8]) -> int:
    """Compare short batches to host and device; return how many differ."""
    text = bytes(data).decode(errors="ignore")
    wrong = 0
    for size in (1, 15, 16, 17, 1000, 20_000):
        texts = [text[:size], text[size : size + 77]]
        expected = tokenizer.encode_batch(texts)
        for output in ("host", "device"):
            for _ in range(2):
                wrong += gpu.encode_batch(texts, output=output).to_host() != expected
    return wrong


def check_reference(
    gpu: GpuTokenizer, path: Path, corpora: dict[str, NDArray[np.uint8]], limit: int
) -> dict[str, Any]:
    """Compare the first documents of every corpus with the library that the file is for."""
    if path.name != "tokenizer.json":
        return {"left out": "only tokenizer.json is compared with its library here"}
    import tokenizers  # the check of the CPU engine needs no library

    library = tokenizers.Tokenizer.from_file(str(path))
    compared = wrong = 0
    for name, data in corpora.items():
        documents = cut(name, data, CUTS[0]).documents(limit)
        texts = [document.decode() for document in documents]
        rows = gpu.encode_batch(texts).to_host().tolist()
        for row, expected in zip(
            rows, library.encode_batch_fast(texts, add_special_tokens=False), strict=True
        ):
            compared += 1
            wrong += row != expected.ids
    return {"library": f"tokenizers {tokenizers.__version__}", "documents": compared,
            "mismatches": wrong}  # fmt: skip
