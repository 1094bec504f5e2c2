"""What a run will come to, before it begins: reckoned from a sample of each kind of input."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._mill.meter import Meter
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._read import Segment, Stream, open_stream
from tokenmill._write import find_format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.plan.settings import Settings
    from tokenmill._mill.plan.task import Task

_SAMPLE_BLOCKS = 8  # of all kinds together, as far as there are so many
_SAMPLE_FILES = 64  # of a kind, where files are small
_INDEX_BYTES = 24  # that a piece takes beside its tokens
_WORK_BYTES = 32  # that a document takes while a run works


@dataclass(frozen=True)
class Estimate:
    """What a run will come to, from a sample of its inputs."""

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


@dataclass
class _Reckoning:
    """Counts of the whole corpus, as samples of its kinds let one expect them."""

    documents: float = 0
    bad: float = 0
    tokens: float = 0
    seconds: float = 0
    sample_bytes: int = 0

    def add(self, meter: Meter, total_bytes: int) -> None:
        """Count a kind of inputs, of which `meter` has seen a sample."""
        share = total_bytes / meter.input_bytes if meter.input_bytes else 0.0
        self.documents += meter.documents * share
        self.bad += meter.bad * share
        self.tokens += meter.tokens * share
        self.seconds += sum(meter.stages.values()) * share
        self.sample_bytes += meter.input_bytes

    def cut(self, settings: Settings) -> None:
        """Leave what limits leave; a shuffle and weights read everything all the same."""
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


def estimate(task: Task, output: Path, workers: int) -> Estimate:
    """Tokenize some of each kind of input, and reckon from there."""
    plan, settings = task.plan, task.plan.settings
    all_in_all = _Reckoning()
    kinds = _kinds(plan)
    for numbers in kinds:
        meter = _sample(task, numbers, max(1, _SAMPLE_BLOCKS // len(kinds)))
        all_in_all.add(meter, sum(plan.files[number].size for number in numbers))
    bad_share = all_in_all.bad / max(all_in_all.bad + all_in_all.documents, 1)
    all_in_all.cut(settings)
    documents, tokens = round(all_in_all.documents), round(all_in_all.tokens)
    item = 2 if settings.dtype == "uint16" else 4
    return Estimate(
        files=len(plan.files),
        streams=len(plan.streams),
        input_bytes=plan.total_bytes,
        documents=documents,
        tokens=tokens,
        output_bytes=_output_bytes(settings, documents, tokens),
        work_bytes=tokens * item + documents * _WORK_BYTES,
        free_bytes=shutil.disk_usage(_existing(output)).free,
        seconds=all_in_all.seconds / workers,
        sample_bytes=all_in_all.sample_bytes,
        bad_share=bad_share,
    )


def _kinds(plan: Plan) -> list[list[int]]:
    """Group the files that can be read again: of one kind as many bytes give as many tokens."""
    kinds: dict[tuple[int, str, str | None], list[int]] = {}
    for number, file in enumerate(plan.files):
        if file.is_resumable and file.size > 0:
            kinds.setdefault((file.source, file.format, file.compression), []).append(number)
    return list(kinds.values())


def _sample(task: Task, numbers: list[int], blocks: int) -> Meter:
    """Tokenize the beginnings of some files, as many bytes of text as so many blocks have."""
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
                encoder(raw)
                left -= raw.text_bytes
        finally:
            reader.close()
        if left <= 0:
            break
    return meter


def _spread(numbers: list[int]) -> Iterator[int]:
    """Yield some of many, first far apart and then between those."""
    step = len(numbers)
    seen: set[int] = set()
    while step > 0 and len(seen) < _SAMPLE_FILES:
        for place in range(0, len(numbers), step):
            if place not in seen and len(seen) < _SAMPLE_FILES:
                seen.add(place)
                yield numbers[place]
        step //= 2


def _output_bytes(settings: Settings, documents: int, tokens: int) -> int:
    """Return what all formats take; rows that are filled take their whole length."""
    packer, size = settings.packer(), 0
    for name in settings.formats:
        form = find_format(name)
        ids = tokens
        if packer.strategy == "pad" and (form.fixed_rows or form.pads):
            length = packer.context_length or 1
            ids = documents * length * max(1, -(-tokens // max(documents, 1) // length))
        size += ids * form.id_bytes(settings.dtype)
    return size + documents * _INDEX_BYTES


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
