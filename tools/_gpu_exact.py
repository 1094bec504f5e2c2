"""Ids of a device against those of the CPU engine and of the reference library."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill import TokenBatch, Tokenizer
    from tokenmill.cuda import GpuTokenizer

# Every cut puts the same text at different positions in tiles (of 8 KiB) and next to different
# documents. 0: whole.
CUTS = (3000, 200, 40_000, 0, 97, 700, 8191, 8192, 8193, 20_000, 300_000, 2_000_000)
THREADS, STEP = 8, 1 << 24  # ids


@dataclass
class Tally:
    """What was compared."""

    bytes: int = 0
    documents: int = 0
    ids: int = 0
    mismatches: int = 0
    first: str = ""
    fallbacks: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add to the seconds of a step."""
        begin = time.perf_counter()
        yield
        passed = round(time.perf_counter() - begin, 2)
        self.seconds[step] = round(self.seconds.get(step, 0) + passed, 2)

    def compare(self, what: str, found: TokenBatch, expected: TokenBatch, text: Text) -> None:
        """Count one comparison, and remember the first document that differs."""
        self.bytes += text.size
        self.documents += len(expected.offsets) - 1
        self.ids += len(expected.ids)
        equal = same_ids(found.ids, expected.ids)
        if equal and np.array_equal(found.offsets, expected.offsets):
            return
        wrong = differing(found, expected)
        self.mismatches += max(len(wrong), 1)
        self.first = self.first or f"{what}: document {wrong[0] if wrong else 'offsets'}"


def same_ids(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Compare many ids by several threads."""
    if one.size != other.size:
        return False

    def is_same(at: int) -> bool:
        return bool((one[at : at + STEP] == other[at : at + STEP]).all())

    with ThreadPoolExecutor(THREADS) as pool:
        return all(pool.map(is_same, range(0, one.size, STEP)))


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
    with ThreadPoolExecutor(THREADS) as pool:
        jobs = [(name, data, size) for name, data in corpora.items() for size in CUTS]
        texts = list(pool.map(lambda job: cut(*job), jobs))
    bases = np.cumsum([0, *(text.size for text in texts)])
    offsets = [text.offsets[:-1] + base for text, base in zip(texts, bases, strict=False)]
    data = np.concatenate([text.data[: text.size] for text in texts])
    return Text("all corpora", data, np.concatenate([*offsets, bases[-1:]]))


def ahead(pool: ThreadPoolExecutor, make: Callable[[Any], Any], given: list[Any]) -> Iterator[Any]:
    """Yield each of `given` with what `make` returns for it, made during the turn before."""
    waiting = pool.submit(make, given[0]) if given else None
    for number, one in enumerate(given):
        assert waiting is not None  # noqa: S101 -- there is one for each
        made = waiting.result()
        waiting = pool.submit(make, given[number + 1]) if number + 1 < len(given) else None
        yield one, made


def check_all(tokenizer: Tokenizer, gpu: GpuTokenizer, text: Text, tally: Tally) -> None:
    """Compare a large text with cold tables, to the device, and with warm ones, to the host."""
    with tally.timed("CPU"):
        expected = tokenizer.encode_batch(TextBuffer(text.data, text.offsets))
    gpu.forget_words()
    for tables, output in (("cold", "device"), ("warm", "host")):
        with tally.timed(tables):
            found = gpu.encode_batch(FlatTexts(text.data, text.offsets), output=output)  # type: ignore[arg-type]
            batch = found.to_host()
        tally.fallbacks.update(found.fallbacks)
        with tally.timed("compare"):
            tally.compare(f"{tables} tables", batch, expected, text)


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
        host[: len(part)] = np.frombuffer(part, np.uint8)
        lane = native.core.lend()
        ways = [model.encode_lines(native.core, host[: len(part)], rules, reading, lane)]
        native.core.give_back(0 if lane is None else lane)
        wrong += bytes(host[: len(part)]) != part  # the lines stay in a lane
        ways.append(model.encode_lines(native.core, part, rules, reading))
        for found in ways:
            if isinstance(found, int):  # the device did not do it
                wrong += 1
                continue
            pairs = zip(found, model.encode_jsonl(part, rules), strict=False)
            wrong += any(not np.array_equal(mine, its) for mine, its in pairs)
        wrong += native.core.spent["in_place"] == 0
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
