"""How large a run will be, before it starts: estimated from a sample of each kind of input."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._mill.meter import Meter
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._read import Segment, Stream, open_stream
from tokenmill._store import parts_of
from tokenmill._write import find_format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokenmill._mill.output.work import Work
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.plan.settings import Settings
    from tokenmill._mill.plan.task import Task

_SAMPLE_BLOCKS = 8  # of all kinds together, if there are so many
_SAMPLE_FILES = 64  # of a kind, if files are small
_INDEX_BYTES = 24  # of a piece, in addition to its tokens
_WORK_BYTES = 32  # of a document, while a run works


@dataclass(frozen=True)
class Estimate:
    """How large a run will be, estimated from a sample of its inputs."""

    files: int
    streams: int
    input_bytes: int
    documents: int
    tokens: int
    output_bytes: int
    work_bytes: int
    free_bytes: int
    seconds: float
    sample_bytes: int
    bad_share: float
    put_requests: int = 0  # to upload an output that is in a store


@dataclass
class _Totals:
    """Counts of the whole corpus, extrapolated from samples of its kinds."""

    documents: float = 0
    bad: float = 0
    tokens: float = 0
    seconds: float = 0
    sample_bytes: int = 0

    def add(self, meter: Meter, total_bytes: int) -> None:
        """Count a kind of input; `meter` counted a sample of it."""
        share = total_bytes / meter.input_bytes if meter.input_bytes else 0.0
        self.documents += meter.documents * share
        self.bad += meter.bad * share
        self.tokens += meter.tokens * share
        self.seconds += sum(meter.stages.values()) * share
        self.sample_bytes += meter.input_bytes

    def cut(self, settings: Settings) -> None:
        """Apply the limits; with a shuffle or weights everything is read nevertheless."""
        tokens, documents = max(self.tokens, 1), max(self.documents, 1)
        kept = [1.0]
        if settings.limit_documents is not None:
            kept.append(settings.limit_documents / documents)
        if settings.max_tokens is not None:
            kept.append(settings.max_tokens / tokens)
        if settings.max_sequences is not None and settings.context_length is not None:
            kept.append(settings.max_sequences * settings.context_length / tokens)
        self.documents *= min(kept)
        self.tokens *= min(kept)
        if settings.shuffle == "none":
            self.seconds *= min(kept)


def estimate(task: Task, work: Work, workers: int) -> Estimate:
    """Tokenize a sample of each kind of input, and extrapolate."""
    plan, settings = task.plan, task.plan.settings
    totals = _Totals()
    kinds = _kinds(plan)
    for numbers in kinds:
        meter = _sample(task, numbers, max(1, _SAMPLE_BLOCKS // len(kinds)))
        totals.add(meter, sum(plan.files[number].size for number in numbers))
    bad_share = totals.bad / max(totals.bad + totals.documents, 1)
    totals.cut(settings)
    documents, tokens = round(totals.documents), round(totals.tokens)
    item = 2 if settings.dtype == "uint16" else 4
    output_bytes = _output_bytes(settings, documents, tokens)
    return Estimate(
        files=len(plan.files),
        streams=len(plan.streams),
        input_bytes=plan.total_bytes,
        documents=documents,
        tokens=tokens,
        output_bytes=output_bytes,
        work_bytes=tokens * item + documents * _WORK_BYTES,
        free_bytes=shutil.disk_usage(_existing(work.output)).free,
        seconds=totals.seconds / workers,
        sample_bytes=totals.sample_bytes,
        bad_share=bad_share,
        put_requests=_put_requests(settings, tokens, output_bytes) if work.is_remote else 0,
    )


def _kinds(plan: Plan) -> list[list[int]]:
    """Group the files that can be read again by kind: a kind has about as many tokens per byte."""
    kinds: dict[tuple[int, str, str | None], list[int]] = {}
    for number, file in enumerate(plan.files):
        if file.is_resumable and file.size > 0:
            kinds.setdefault((file.source, file.format, file.compression), []).append(number)
    return list(kinds.values())


def _sample(task: Task, numbers: list[int], blocks: int) -> Meter:
    """Tokenize the start of some files, about as much text as `blocks` blocks hold."""
    plan, meter = task.plan, Meter()
    encoder = BlockEncoder(
        task.tokenizer, plan.settings, plan.rules, plan.files, plan.fields, meter
    )
    left = blocks * plan.rules.block_bytes
    for number in _spread(numbers):
        stream = Stream((Segment(number),))
        reader = open_stream(stream, plan.files, plan.rules, plan.fields)
        try:
            raw = reader.read()
            if raw is not None:
                with meter.worker():
                    encoder(raw)
                left -= raw.text_bytes
        finally:
            reader.close()
        if left <= 0:
            break
    return meter


def _spread(numbers: list[int]) -> Iterator[int]:
    """Yield some of the numbers, first far apart and then between those."""
    step = len(numbers)
    seen: set[int] = set()
    while step > 0 and len(seen) < _SAMPLE_FILES:
        for place in range(0, len(numbers), step):
            if place not in seen and len(seen) < _SAMPLE_FILES:
                seen.add(place)
                yield numbers[place]
        step //= 2


def _output_bytes(settings: Settings, documents: int, tokens: int) -> int:
    """Return the size of all formats; padded rows count with their whole length."""
    packer, size = settings.packer(), 0
    for name in settings.formats:
        form = find_format(name)
        ids = tokens
        if packer.strategy == "pad" and (form.fixed_rows or form.pads):
            length = packer.context_length or 1
            ids = documents * length * max(1, -(-tokens // max(documents, 1) // length))
        size += ids * form.id_bytes(settings.dtype)
    return size + documents * _INDEX_BYTES


def _put_requests(settings: Settings, tokens: int, output_bytes: int) -> int:
    """Return how many requests upload the output: each file takes one, a large one many."""
    shards = max(1, -(-tokens // settings.shard_tokens))
    files = sum(len(find_format(name).file_names(0)) for name in settings.formats)
    requests = shards * (files * parts_of(output_bytes // (shards * files)) + 1)  # and its index
    return requests + len(settings.formats) + 4  # two tables, the plan, the manifest


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
