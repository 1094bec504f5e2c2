"""Files -> batches of packed rows on a device: read and parsed on the host, the rest over there.

Text goes to the device once, in large batches; tokens never come back. The host learns only how
many tokens each document has, which decides about rows.
"""

from __future__ import annotations

import dataclasses
import operator
import os
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.options import thread_count
from tokenmill._checks import whole_number
from tokenmill._cuda.encoder import open_encoder
from tokenmill._cuda.options import CallOptions
from tokenmill._cuda.row_packer import DeviceRowPacker
from tokenmill._dataset.ranks import place_of, worker_of_loader
from tokenmill._errors import OptionError, SpecialTokenInText
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.parts import NO_TOKENS
from tokenmill._mill.plan.options import TextOptions
from tokenmill._mill.plan.task import prepare_task
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._pack import RowLooks
from tokenmill._read import deal_streams, open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._cuda.rows import DeviceRows
    from tokenmill._read import Block, RawBlock, Stream

    Parsed = tuple[Block, Stream]

BATCH_BYTES = 64 << 20
_STREAMS_A_SHARE = 8  # so that shares differ by little
_SMALLEST_STREAM = 1 << 16


class DeviceRowStream:
    """Batches of rows of `context_length` tokens on a GPU, from text files, for a training loop.

    Iterating reads the files, tokenizes on the device and packs there; each batch is a dict of
    tables with `batch_size` rows, as PackedDataset gives them, on the device. The last batch may
    have fewer rows; with `drop_last` it is left out and counted.

    `inputs`, `tokenizer` and `options` are those of `pack`: `pack`, `overlap`, `long_documents`,
    `tail`, `eos`, `bos`, `pad`, `field`, `text_mode`, `on_bad` and so on. Rows of "concat" go on
    over everything that one process reads; the other ways pack each batch of text by itself.
    `columns`, `dtype`, `shifted_labels`, `ignore_index`, `continue_positions`: see PackedDataset.

    Files are cut into spans, and spans are dealt to `ranks` and to the workers of a DataLoader, so
    that together they read every document once. `shuffle` orders the spans anew in each epoch, by
    `seed`: this is coarse, shuffle documents beforehand where that matters. `device` is the number
    of the GPU, by default LOCAL_RANK or 0. `batch_bytes` of text go to the device at once, and
    `threads` threads read and parse ahead; the encoder is opened when the iteration begins.

    Counts of the epoch at hand, in this process: `documents`, `skipped` (by reason), `tokens`,
    `rows`, `padding`, `dropped`, `repeated`, `dropped_rows`, and `fallbacks`, the documents that
    the CPU engine encoded in the device's place, by reason. Bad records are counted and left out,
    or raise where `on_bad` says "fail".
    """

    skipped: Counter[str]
    fallbacks: Counter[str]

    def __init__(
        self,
        inputs: Any,  # as of pack
        tokenizer: object = None,
        *,
        context_length: int,
        batch_size: int = 8,
        device: int | None = None,
        columns: Sequence[str] = ("input_ids", "labels"),
        dtype: str = "int64",
        shifted_labels: bool = False,
        ignore_index: int = -100,
        continue_positions: bool = False,
        drop_last: bool = False,
        shuffle: bool = False,
        seed: int = 0,
        rank: int | None = None,
        ranks: int | None = None,
        batch_bytes: int = BATCH_BYTES,
        threads: int | None = None,
        encoder: DeviceEncoder | None = None,
        **options: Unpack[TextOptions],
    ) -> None:
        options.setdefault("pack", "concat")
        for name, value in (("batch_size", batch_size), ("batch_bytes", batch_bytes)):
            whole_number(name, value)
        _refuse_options_of_files(options)
        self._looks = RowLooks(columns, dtype, shifted_labels, ignore_index, continue_positions)
        self._task = prepare_task(
            inputs, tokenizer=tokenizer, context_length=context_length, **options
        )
        self._rank, self._ranks = place_of(rank, ranks)
        self._device = int(os.environ.get("LOCAL_RANK", "0")) if device is None else device
        self._encoder = encoder
        self._batch_size, self._drop_last = batch_size, drop_last
        self._batch_bytes, self._threads = batch_bytes, thread_count(threads)
        self._shuffle, self._seed = shuffle, operator.index(seed)
        self.epoch = 0
        self._begin_counts()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        encoder = self._open()
        before = encoder.fallbacks.copy()
        self._begin_counts()
        packer = self._packer(encoder)
        try:
            for group in self._groups():
                ids, offsets = self._encoded(encoder, group)
                self.fallbacks = encoder.fallbacks - before
                yield from self._batches(packer.add(ids, offsets), packer)
            yield from self._batches(packer.finish(), packer)
        finally:
            self._count(packer)
        self.set_epoch(self.epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Begin with this epoch the next time: it decides the order of the spans."""
        self.epoch = operator.index(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoder": None}  # a device cannot be sent to another process

    def _open(self) -> DeviceEncoder:
        if self._encoder is None:
            self._encoder = open_encoder(self._task.tokenizer.ready, self._device)
        return self._encoder

    def _packer(self, encoder: DeviceEncoder) -> DeviceRowPacker:
        settings = self._task.plan.settings
        return DeviceRowPacker(
            encoder.backend,
            settings.packer(),
            bos_id=settings.bos_id,
            eos_id=settings.eos_id,
            pad_id=settings.pad_id or 0,
            batch_rows=self._batch_size,
            **dataclasses.asdict(self._looks),
        )

    def _begin_counts(self) -> None:
        self.skipped = Counter()
        self.fallbacks = Counter()
        self.documents = self.tokens = self.rows = 0
        self.padding = self.dropped = self.repeated = self.dropped_rows = 0

    def _count(self, packer: DeviceRowPacker) -> None:
        self.tokens, self.padding = packer.tokens, packer.padding
        self.dropped, self.repeated = packer.dropped, packer.repeated
        if packer.empty:
            self.skipped[NO_TOKENS] = packer.empty

    def _batches(
        self, rows: DeviceRows | None, packer: DeviceRowPacker
    ) -> Iterator[dict[str, Any]]:
        for batch in () if rows is None else rows.batches(self._batch_size):
            if len(batch) < self._batch_size and self._drop_last:
                self.dropped_rows += len(batch)
                continue
            self.rows += len(batch)
            self._count(packer)
            yield {name: self._exported(batch[name]) for name in self._looks.columns}

    def _exported(self, array: Any) -> Any:
        """Return an array as the one who iterates wants it: of the device, as it is."""
        return array

    def _encoded(self, encoder: DeviceEncoder, group: list[Parsed]) -> tuple[Any, Any]:
        blocks = [block for block, _ in group]
        for block in blocks:
            self.documents += len(block)
            self.skipped.update(record.reason for record in block.bad)
        text, offsets = _flat(blocks)
        special = self._task.plan.settings.special_in_text
        try:
            return encoder.encode(text, offsets, CallOptions(special_in_text=special))
        except SpecialTokenInText as error:
            number = error.document or 0
            for block, stream in group:
                if number < len(block):
                    raise self._parser().with_place(error, block, number, stream) from error
                number -= len(block)
            raise

    def _groups(self) -> Iterator[list[Parsed]]:
        """Yield blocks in order, as many as go to the device at once."""
        group: list[Parsed] = []
        size = 0
        for block, stream in self._parsed():
            if group and size + len(block.text) > self._batch_bytes:
                yield group
                group, size = [], 0
            group.append((block, stream))
            size += len(block.text)
        if group:
            yield group

    def _parsed(self) -> Iterator[Parsed]:
        """Yield parsed blocks in order; some threads are ahead."""
        parser = self._parser()
        with ThreadPoolExecutor(self._threads) as pool:
            waiting: deque[tuple[Future[Block], Stream]] = deque()
            for raw, stream in self._raw_blocks():
                waiting.append((pool.submit(parser.parse, raw, stream), stream))
                if len(waiting) > self._threads + 1:
                    done, whose = waiting.popleft()
                    yield done.result(), whose
            for done, whose in waiting:
                yield done.result(), whose

    def _parser(self) -> BlockEncoder:
        plan = self._task.plan
        return BlockEncoder(
            self._task.tokenizer, plan.settings, plan.rules, plan.files, plan.fields, Meter()
        )

    def _raw_blocks(self) -> Iterator[tuple[RawBlock, Stream]]:
        plan = self._task.plan
        for stream in self._own_streams():
            reader = open_stream(stream, plan.files, plan.rules, plan.fields)
            try:
                while (raw := reader.read()) is not None:
                    yield raw, stream
            finally:
                reader.close()

    def _own_streams(self) -> list[Stream]:
        """Return the spans that this rank and this worker read, in the order of the epoch."""
        worker, workers = worker_of_loader()
        shares = self._ranks * workers
        plan = self._task.plan
        least = plan.total_bytes // (shares * _STREAMS_A_SHARE)
        size = max(_SMALLEST_STREAM, min(plan.rules.stream_bytes, least))
        streams = deal_streams(plan.files, dataclasses.replace(plan.rules, stream_bytes=size))
        order = np.arange(len(streams))
        if self._shuffle:
            order = np.random.default_rng((self._seed, self.epoch)).permutation(len(streams))
        if self._rank >= len(streams):
            raise OptionError(
                f"expected one of the {len(streams)} spans that the inputs have, got none",
                where=f"rank {self._rank} of {self._ranks}",
                hint="give more files, or fewer ranks",
            )
        return [streams[i] for i in order[worker * self._ranks + self._rank :: shares]]


def _flat(blocks: Sequence[Block]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if len(blocks) == 1:
        return blocks[0].text, blocks[0].offsets
    parts, total = [np.zeros(1, np.int64)], 0
    for block in blocks:
        parts.append(block.offsets[1:] + total)
        total += len(block.text)
    return np.concatenate([block.text for block in blocks]), np.concatenate(parts)


def _refuse_options_of_files(options: TextOptions) -> None:
    """Refuse options of `pack` that only files can have, or that need all documents at once."""
    if options.get("pack") == "none":
        problem = "expected rows of one length, got documents as they are"
        raise OptionError(problem, where="pack 'none'")
    unknown = sorted(options.keys() - TextOptions.__annotations__.keys())
    if unknown:
        raise OptionError(
            "has no meaning for rows that are made on the fly",
            where=unknown[0],
            hint="one of " + ", ".join(TextOptions.__annotations__),
        )
