"""Files -> batches of packed rows on a device.

The raw bytes of JSONL are sent to the device once, in large chunks, and read there; the host parses
other formats. Tokens never come back: the host gets only the number of tokens of each document,
which it needs to plan rows.
"""

from __future__ import annotations

import dataclasses
import operator
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.options import thread_count
from tokenmill._checks import whole_number
from tokenmill._cuda.encoder import open_encoder
from tokenmill._cuda.options import CallOptions
from tokenmill._cuda.row_packer import DeviceRowPacker
from tokenmill._cuda.rows import host_offsets
from tokenmill._dataset.ranks import place_of
from tokenmill._errors import OptionError, SpecialTokenInText
from tokenmill._mill.device.jsonl_chunks import JsonlChunks, RawChunk
from tokenmill._mill.device.text_batches import BlockGroup, StreamShare, TextBatches
from tokenmill._mill.output.parts import NO_TOKENS
from tokenmill._mill.plan.options import TextOptions
from tokenmill._mill.plan.task import prepare_task
from tokenmill._pack import RowLooks
from tokenmill._read.blocks import REASONS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from typing_extensions import Unpack

    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._cuda.rows import DeviceRows
    from tokenmill._mill.plan.settings import Settings
    from tokenmill._read import Stream

BATCH_BYTES = 64 << 20
CU_SEQLENS = "cu_seqlens"  # of a batch: not lines of a table


@dataclass(frozen=True)
class EncodedBatch:
    """Ids on the device and the offsets of documents; bad records by reason."""

    ids: Any
    offsets: Any
    documents: int
    skipped: Counter[str]


class DeviceRowStream:
    """Batches of rows of `context_length` tokens on a GPU, from text files, for a training loop.

    Iterating reads the files, and tokenizes and packs on the device. Each batch is a dict of tables
    like those of PackedDataset, with `batch_size` rows, on the device. The last batch may have
    fewer rows; `drop_last` leaves it out and counts it.

    * Text: `inputs`, `tokenizer` and `options` are those of `pack`. Rows of "concat" continue over
      everything that one process reads; the other strategies pack each batch of text by itself.
    * Tables: `columns`, `dtype`, `shifted_labels`, `ignore_index` and `continue_positions` are as
      in PackedDataset.
    * Share: files are divided into streams, and streams among `ranks` and the workers of a
      DataLoader, so that together they read every document once. `shuffle` gives each epoch another
      order of streams, by `seed`; that is coarse, so shuffle documents beforehand if it matters.
    * Work: `device` is the number of the GPU, by default LOCAL_RANK or 0. `batch_bytes` of text are
      sent at once, and `threads` threads read and parse ahead. The encoder is opened when the
      iteration starts.

    Counts of the current epoch, in this process: `documents`, `skipped` (by reason), `tokens`,
    `rows`, `padding`, `dropped`, `repeated`, `dropped_rows`, and `fallbacks`, the documents that
    the CPU engine encoded instead, by reason. `left_to_reader` counts the chunks of JSONL that the
    CPU read because the device could not be sure about a line. Bad records are counted and left
    out, or raise an error if their policy in `on_bad` is "fail".
    """

    skipped: Counter[str]
    fallbacks: Counter[str]

    def __init__(
        self,
        inputs: Any,  # as for pack
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
        _refuse_options_of_files(options)
        self._looks = RowLooks(columns, dtype, shifted_labels, ignore_index, continue_positions)
        self._batch_size, self._drop_last = whole_number("batch_size", batch_size), drop_last
        self._device = int(os.environ.get("LOCAL_RANK", "0")) if device is None else device
        self._encoder = encoder
        self._chunks: JsonlChunks | None = None
        self._texts = TextBatches(
            prepare_task(inputs, tokenizer=tokenizer, context_length=context_length, **options),
            StreamShare(*place_of(rank, ranks), shuffle, operator.index(seed)),
            whole_number("batch_bytes", batch_bytes),
            thread_count(threads),
        )
        self._call = CallOptions(special_in_text=self._settings.special_in_text)
        self.epoch = 0
        self._reset_counts()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        encoder = self._open_encoder()
        before = encoder.fallbacks.copy()
        self._reset_counts()
        packer = self._packer(encoder)
        try:
            for batch in self._ahead(encoder):
                self.documents += batch.documents
                self.skipped.update(batch.skipped)
                self.fallbacks = encoder.fallbacks - before
                yield from self._batches(packer.add(batch.ids, batch.offsets), packer)
            yield from self._batches(packer.finish(), packer)
        finally:
            self._count(packer)
        self.set_epoch(self.epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Start with this epoch the next time: it decides the order of the streams."""
        self.epoch = operator.index(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "_encoder": None,
            "_chunks": None,
        }  # a device cannot be sent to another process

    @property
    def _settings(self) -> Settings:
        return self._texts.task.plan.settings

    def _open_encoder(self) -> DeviceEncoder:
        if self._encoder is None:
            self._encoder = open_encoder(self._texts.task.tokenizer.ready, self._device)
        return self._encoder

    def _packer(self, encoder: DeviceEncoder) -> DeviceRowPacker:
        settings = self._settings
        return DeviceRowPacker(
            encoder.backend,
            settings.packer(),
            bos_id=settings.bos_id,
            eos_id=settings.eos_id,
            pad_id=settings.pad_id or 0,
            batch_rows=self._batch_size,
            **dataclasses.asdict(self._looks),
        )

    def _reset_counts(self) -> None:
        self.skipped = Counter()
        self.fallbacks = Counter()
        self.documents = self.tokens = self.rows = self.left_to_reader = 0
        self.padding = self.dropped = self.repeated = self.dropped_rows = 0

    def _count(self, packer: DeviceRowPacker) -> None:
        self.tokens, self.padding = packer.tokens, packer.padding
        self.dropped, self.repeated = packer.dropped, packer.repeated
        if packer.empty:
            self.skipped[NO_TOKENS] = packer.empty

    def _batches(
        self, rows: DeviceRows | None, packer: DeviceRowPacker
    ) -> Iterator[dict[str, Any]]:
        if rows is None:
            return
        # Each table is exported once: that takes longer than cutting it into batches.
        tables = {
            name: self._exported(rows[name]) for name in self._looks.columns if name != CU_SEQLENS
        }
        for begin in range(0, len(rows), self._batch_size):
            end = min(begin + self._batch_size, len(rows))
            if end - begin < self._batch_size and self._drop_last:
                self.dropped_rows += end - begin
                continue
            self.rows += end - begin
            self._count(packer)
            batch = {name: table[begin:end] for name, table in tables.items()}
            if CU_SEQLENS in self._looks.columns:
                batch[CU_SEQLENS] = self._exported(rows.some_rows(begin, end)[CU_SEQLENS])
            yield {name: batch[name] for name in self._looks.columns}

    def _exported(self, array: Any) -> Any:
        """Return an array in the form that iterating yields: here, as it is."""
        return array

    def _ahead(self, encoder: DeviceEncoder) -> Iterator[EncodedBatch]:
        """Yield batches; the next one is encoded while rows are made of the one before.

        A device that reads JSONL does so on the stream of the caller, by another thread.
        """
        device = encoder.reads_jsonl
        if device is None:
            yield from (self._encode(encoder, batch) for batch in self._texts.read(self.epoch))
            return
        batches, stream = self._encoded(encoder, device), device.current_stream()

        def step() -> EncodedBatch | None:
            with device.using(stream):
                return next(batches, None)

        with ThreadPoolExecutor(1, thread_name_prefix="tokenmill-encode") as thread:
            waiting = thread.submit(step)
            try:
                while (batch := waiting.result()) is not None:
                    waiting = thread.submit(step)
                    yield batch
            finally:
                wait([waiting])
                batches.close()

    def _encoded(
        self, encoder: DeviceEncoder, device: DeviceBackend
    ) -> Generator[EncodedBatch, None, None]:
        """Yield batches of a device that reads JSONL."""
        if self._chunks is None:
            texts = self._texts
            self._chunks = JsonlChunks(
                device,
                texts.task.plan,
                texts.parser(),
                encoder.jsonl_reader,
                encoder.new_lines(self._call),
                texts.batch_bytes,
                texts.threads,
            )
        for item, stream in self._chunks.read(self._texts.own_streams(self.epoch)):
            if isinstance(item, RawChunk):
                made = self._encode_chunk(encoder, item, stream)
            else:
                made = self._encode(encoder, BlockGroup([item], [stream]))
            # Here, because the thread that makes rows would wait for the next batch too.
            yield replace(made, offsets=host_offsets(device, made.offsets))

    def _encode(self, encoder: DeviceEncoder, batch: BlockGroup) -> EncodedBatch:
        skipped: Counter[str] = Counter()
        for block in batch.blocks:
            skipped.update(record.reason for record in block.bad)
        text, offsets = batch.flat()
        try:
            ids, bounds = encoder.encode(text, offsets, self._call)
        except SpecialTokenInText as error:
            raise self._texts.with_place(error, batch) from error
        return EncodedBatch(ids, bounds, len(offsets) - 1, skipped)

    def _encode_chunk(
        self, encoder: DeviceEncoder, chunk: RawChunk, stream: Stream
    ) -> EncodedBatch:
        """Encode what the device has read; the CPU reads it if that found a reason to."""
        assert self._chunks is not None  # noqa: S101 -- the chunk is one of theirs
        lines = self._chunks.lines
        is_sure, documents, _, by_reason, count, has_flags, offsets = lines.core.encode_started(
            chunk.lane.number
        )
        self.left_to_reader += not is_sure
        reasons = Counter({REASONS[i]: int(n) for i, n in enumerate(by_reason.tolist()) if n})
        reasons.update(record.reason for record in chunk.bad)
        fails = any(self._settings.policy(reason) == "fail" for reason in reasons)
        if fails or not is_sure:
            return self._encode(encoder, self._parsed(chunk, stream))
        if has_flags:  # documents that the CPU must encode are put in their places
            return self._encode_slowly(encoder, chunk, stream, reasons)
        backend = self._chunks.backend
        ids = backend.empty(count, np.int32)
        if count:
            backend.copy(ids, lines.seats[0].ids[:count].view(np.int32))
            encoder.add_to_turn()
        else:
            offsets = np.zeros(documents + 1, np.int64)
        return EncodedBatch(ids, offsets, documents, reasons)

    def _encode_slowly(
        self, encoder: DeviceEncoder, chunk: RawChunk, stream: Stream, reasons: Counter[str]
    ) -> EncodedBatch:
        assert chunk.reader is not None  # noqa: S101 -- the device has read it
        found = chunk.reader.counts(chunk.lane.slot)
        try:
            ids, bounds = encoder.encode_parts([chunk.part(found)], self._call)
        except SpecialTokenInText as error:
            raise self._texts.with_place(error, self._parsed(chunk, stream)) from error
        return EncodedBatch(ids, bounds, found.documents, reasons)

    def _parsed(self, chunk: RawChunk, stream: Stream) -> BlockGroup:
        """Return the documents of a chunk by the CPU's reader, which names places in errors."""
        block = self._texts.parser().parse(chunk.as_raw_block(), stream)
        return BlockGroup([block], [stream])


def _refuse_options_of_files(options: TextOptions) -> None:
    """Refuse options of `pack` that apply only to files, or that need all documents at once."""
    if options.get("pack") == "none":
        problem = "expected rows of one length, got documents as they are"
        raise OptionError(problem, where="pack 'none'")
    unknown = sorted(options.keys() - TextOptions.__annotations__.keys())
    if unknown:
        raise OptionError(
            "has no effect on rows that are made on the fly",
            where=unknown[0],
            hint="one of " + ", ".join(TextOptions.__annotations__),
        )
