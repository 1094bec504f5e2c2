"""A raw block -> the ids of its documents: parse, encode, add BOS and EOS."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from tokenmill._core import CallCounts, TextBuffer
from tokenmill._errors import BadRecordFound, Hint, Option, SpecialTokenInText
from tokenmill._mill.output.parts import NO_TOKENS, EncodedBlock
from tokenmill._pack import frame
from tokenmill._read import lines_before, parse
from tokenmill._read.blocks import RAW_BYTES, BadRecord
from tokenmill._timeline import stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._mill.device.block_device import BlockDevice
    from tokenmill._mill.meter import Meter
    from tokenmill._mill.plan.settings import Settings
    from tokenmill._mill.run.encode_at_once import AtOnce
    from tokenmill._read import Block, InputFile, RawBlock, ReadRules, Stream
    from tokenmill._tokenizer import Tokenizer

_NO_TEXT = np.empty(0, np.uint8)
_LONG_BYTES = 64 << 20  # of a block: one long document, for which the other blocks have to wait


@dataclass(frozen=True)
class BlockEncoder:
    """Turns raw blocks into ids; many threads may call it."""

    tokenizer: Tokenizer
    settings: Settings
    rules: ReadRules
    files: Sequence[InputFile]
    fields: Sequence[str]
    meter: Meter
    device: BlockDevice | None = None  # encodes instead of the tokenizer
    workers: int = 1  # of the run, which share a long text
    at_once: AtOnce | None = None  # takes the short way on the CPU, where there is one

    def __call__(self, raw: RawBlock, stream: Stream | None = None) -> EncodedBlock:
        """Parse and encode one block; its stream is only used to number lines in errors."""
        return self.encode_taken([raw], stream)

    def encode_taken(self, taken: list[RawBlock], stream: Stream | None = None) -> EncodedBlock:
        """Do the same with the only block of a list, which is empty while a long one is encoded.

        So nothing holds a block whose texts are being encoded: a line may have gigabytes.
        """
        there = self.device is not None and self.device.takes_block()
        encoded = (
            self._encode_there(taken) if there else self._encode_lines(taken, stream)
        ) or self._encode_texts(taken, stream, there=there)
        block = encoded.block
        self.meter.add(
            input_bytes=block.input_bytes,
            documents=len(block),
            tokens=len(encoded.ids),
        )
        if block.bad:
            self.meter.add_bad(Counter(record.reason for record in block.bad))
        return encoded

    def _encode_there(self, taken: list[RawBlock]) -> EncodedBlock | None:
        """Let the device read and encode a block; None if the host must parse it."""
        s = self.settings
        if self.device is None or s.validation:  # the split of a document depends on its text
            return None
        with stage("device", taken[0].text_bytes):
            found = self.device.encode_raw(
                taken[0],
                self.rules,
                self.fields,
                s.ids_around,
                dtype=s.dtype,
                special_in_text=s.special_in_text,
            )
        if found is None or any(s.policy(record.reason) == "fail" for record in found.block.bad):
            return None
        taken.clear()
        return EncodedBlock(replace(found.block, text=_NO_TEXT), found.ids, found.lengths, None)

    def _encode_lines(self, taken: list[RawBlock], stream: Stream | None) -> EncodedBlock | None:
        """Do it by one call of the core, if it can be done that way."""
        if self.at_once is None or taken[0].text_bytes >= _LONG_BYTES:
            return None
        counts = CallCounts()
        encoded = self.at_once.lines(taken[0], counts)
        self.meter.count_call(counts)
        if encoded is not None:
            self._refuse(encoded.block, stream)
        return encoded

    def _encode_texts(
        self, taken: list[RawBlock], stream: Stream | None, *, there: bool
    ) -> EncodedBlock:
        block = self.parse(taken.pop(), stream)
        ids, lengths = self._encode(block, stream, there=there)
        block, lengths = _without_empty(block, lengths)
        keys = _hashes(block) if self.settings.validation else None
        # The text is no longer needed: only ids wait for the blocks before them.
        return EncodedBlock(replace(block, text=_NO_TEXT), ids, lengths, keys)

    def parse(self, raw: RawBlock, stream: Stream | None = None) -> Block:
        """Parse one block; raise BadRecordFound for a record whose policy is `fail`."""
        with stage("parse", raw.text_bytes):
            block = parse(raw, self.rules, self.fields)
            self._refuse(block, stream)
        return block

    def _encode(
        self, block: Block, stream: Stream | None, *, there: bool
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if not there and self.at_once is not None and len(block.text) < _LONG_BYTES:
            counts = CallCounts()
            found = self.at_once.texts(block, counts)
            self.meter.count_call(counts)
            if found is not None:
                return found
        try:
            batch = self._ids(block, there=there)
        except SpecialTokenInText as error:
            raise self.with_place(error, block, error.document or 0, stream) from error
        return frame(batch.ids, batch.offsets, *self.settings.ids_around)

    def with_place(
        self, error: SpecialTokenInText, block: Block, number: int, stream: Stream | None
    ) -> SpecialTokenInText:
        """Return the error with the file and the line of its document."""
        file, line = self._place(int(block.files[number]), int(block.lines[number]), stream)
        return SpecialTokenInText(
            f"{file}:{line}: the text holds the special token {error.token}",
            token=error.token,
            hint=Hint(
                "{} keeps it text, {} makes it the token",
                Option("special_in_text", "text"),
                Option("special_in_text", "encode"),
            ),
        )

    def _ids(self, block: Block, *, there: bool) -> TokenBatch:
        s = self.settings
        if there and self.device is not None and len(block):  # a device has nothing to do
            with stage("device", len(block.text)):
                return self.device.encode(
                    block.text, block.offsets, dtype=s.dtype, special_in_text=s.special_in_text
                )
        batch = self.tokenizer.encode_batch(
            TextBuffer(block.text, block.offsets),
            threads=self.workers if len(block.text) >= _LONG_BYTES else 1,
            dtype=np.uint16 if s.dtype == "uint16" else np.uint32,
            special_in_text=s.special_in_text,
            stats=True,
        )
        if batch.stats is not None:
            self.meter.count(batch.stats.stages, batch.stats.words, batch.stats.threads)
        return batch

    def _refuse(self, block: Block, stream: Stream | None) -> None:
        for record in block.bad:
            if self.settings.policy(record.reason) == "fail":
                file, line = self._place(record.file, record.line, stream)
                raise BadRecordFound(
                    f"{record.reason.replace('_', ' ')}: {record.message}",
                    path=file,
                    line=line,
                    hint=f"the policy for {record.reason} is `fail`; "
                    "use `quarantine` or `skip` to continue",
                )

    def _place(self, file: int, line: int, stream: Stream | None) -> tuple[str, int]:
        """Return the path of a file and a line in it, from a line counted in its segment."""
        if stream is not None and len(stream.segments) == 1:
            line += lines_before(self.files[file], stream.segments[0])
        return self.files[file].path, line


def _without_empty(block: Block, lengths: NDArray[np.int64]) -> tuple[Block, NDArray[np.int64]]:
    """Turn documents without a token, which no row can hold, into bad records."""
    kept = lengths > 0
    if kept.all():
        return block, lengths
    gone = np.flatnonzero(~kept)
    bad = tuple(
        BadRecord(
            NO_TOKENS,
            int(block.files[i]),
            int(block.lines[i]),
            int(block.positions[i]),
            int(block.offsets[i + 1] - block.offsets[i]),
            "the text has no tokens",
            block.text[block.offsets[i] : block.offsets[i + 1]][:RAW_BYTES].tobytes(),
        )
        for i in gone
    )
    sizes = np.diff(block.offsets)
    text = block.text[np.repeat(kept, sizes)]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes[kept])))
    return replace(
        block,
        text=text,
        offsets=offsets,
        files=block.files[kept],
        lines=block.lines[kept],
        positions=block.positions[kept],
        bad=tuple(sorted(block.bad + bad, key=lambda record: (record.file, record.line))),
    ), lengths[kept]


def _hashes(block: Block) -> NDArray[np.uint64]:
    """Hash each text: the content of a document decides which split it is in."""
    view = np.ascontiguousarray(block.text).data
    bounds = block.offsets.tolist()
    return np.array(
        [xxhash.xxh3_64_intdigest(view[a:b]) for a, b in pairwise(bounds)],
        np.uint64,
    )
