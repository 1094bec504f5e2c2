"""Files -> batches of parsed text for a device: the share of one rank and worker, read ahead."""

from __future__ import annotations

import dataclasses
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._dataset.ranks import worker_of_loader
from tokenmill._errors import OptionError
from tokenmill._mill.meter import Meter
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._read import deal_streams, open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from tokenmill._errors import SpecialTokenInText
    from tokenmill._mill.plan.task import Task
    from tokenmill._read import Block, RawBlock, Stream

_STREAMS_PER_SHARE = 8  # so that shares have about the same size
_SMALLEST_STREAM = 1 << 16


@dataclass(frozen=True)
class StreamShare:
    """Which streams this process reads, and in which order: its rank, and the shuffle."""

    rank: int
    ranks: int
    shuffle: bool
    seed: int


@dataclass(frozen=True)
class BlockGroup:
    """Consecutive blocks of documents, and the stream that each comes from."""

    blocks: list[Block]
    streams: list[Stream]

    def flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return all texts back to back, and their offsets."""
        if len(self.blocks) == 1:
            return self.blocks[0].text, self.blocks[0].offsets
        offsets, total = [np.zeros(1, np.int64)], 0
        for block in self.blocks:
            offsets.append(block.offsets[1:] + total)
            total += len(block.text)
        return np.concatenate([block.text for block in self.blocks]), np.concatenate(offsets)


@dataclass(frozen=True)
class TextBatches:
    """Batches of about `batch_bytes` of text; `threads` threads read and parse ahead."""

    task: Task
    share: StreamShare
    batch_bytes: int
    threads: int

    def read(self, epoch: int) -> Iterator[BlockGroup]:
        """Yield the batches of an epoch in order."""
        batch, size = BlockGroup([], []), 0
        for block, stream in self._parsed(epoch):
            if batch.blocks and size + len(block.text) > self.batch_bytes:
                yield batch
                batch, size = BlockGroup([], []), 0
            batch.blocks.append(block)
            batch.streams.append(stream)
            size += len(block.text)
        if batch.blocks:
            yield batch

    def with_place(self, error: SpecialTokenInText, batch: BlockGroup) -> SpecialTokenInText:
        """Return the error with the file and the line of its document."""
        number = error.document or 0
        for block, stream in zip(batch.blocks, batch.streams, strict=True):
            if number < len(block):
                return self.parser().with_place(error, block, number, stream)
            number -= len(block)
        return error

    def _parsed(self, epoch: int) -> Iterator[tuple[Block, Stream]]:
        parser = self.parser()
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[tuple[Future[Block], Stream]] = deque()
            for raw, stream in self._raw_blocks(epoch):
                waiting.append((pool.submit(parser.parse, raw, stream), stream))
                if len(waiting) > self.threads + 1:
                    done, whose = waiting.popleft()
                    yield done.result(), whose
            for done, whose in waiting:
                yield done.result(), whose

    def parser(self) -> BlockEncoder:
        """Return what parses raw blocks."""
        plan = self.task.plan
        return BlockEncoder(
            self.task.tokenizer, plan.settings, plan.rules, plan.files, plan.fields, Meter()
        )

    def _raw_blocks(self, epoch: int) -> Iterator[tuple[RawBlock, Stream]]:
        plan = self.task.plan
        for stream in self.own_streams(epoch):
            reader = open_stream(stream, plan.files, plan.rules, plan.fields)
            try:
                while (raw := reader.read()) is not None:
                    yield raw, stream
            finally:
                reader.close()

    def own_streams(self, epoch: int) -> Sequence[Stream]:
        """Return the streams of this rank and this worker, in the order of the epoch."""
        worker, workers = worker_of_loader()
        share, plan = self.share, self.task.plan
        shares = share.ranks * workers
        least = plan.total_bytes // (shares * _STREAMS_PER_SHARE)
        size = max(_SMALLEST_STREAM, min(plan.rules.stream_bytes, least))
        streams = deal_streams(plan.files, dataclasses.replace(plan.rules, stream_bytes=size))
        order = np.arange(len(streams))
        if share.shuffle:
            order = np.random.default_rng((share.seed, epoch)).permutation(len(streams))
        if share.rank >= len(streams):
            raise OptionError(
                f"the inputs have fewer streams than ranks, got {len(streams)}",
                where=f"rank {share.rank} of {share.ranks}",
                hint="give more files, or fewer ranks",
            )
        return [streams[i] for i in order[worker * share.ranks + share.rank :: shares]]
