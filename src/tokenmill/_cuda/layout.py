"""What the kernels are given: structs of pointers and numbers, each field eight bytes wide.

Every kernel has the same two arguments, `const Tables*` and `const Batch*`, which lie in device
memory. So a captured graph of launches serves every batch: only the structs change. The kernel that
lays out rows has `const Rows*` in place of the batch. The C text of the structs is made from the
lists below, so there is nothing to keep in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Field:
    """A field of a struct: a pointer, or a number (`u64`)."""

    name: str
    ctype: str


def _fields(text: str) -> tuple[Field, ...]:
    pairs = (line.split(":", 1) for line in text.split("\n") if line.strip())
    return tuple(Field(name.strip(), ctype.split("//")[0].strip()) for name, ctype in pairs)


# Of a tokenizer: made once for a device. The names up to `external` are those of
# `Model.device_tables`.
TABLES = _fields("""
    rule_basic: const u8*       // class bits of every basic code point
    rule_page_of: const u16*
    rule_pages: const u8*
    stage_basic: const u8*      // classes of the DFA
    stage_page_of: const u16*
    stage_pages: const u8*
    stage_next: const u16*
    stage_sync: const u8*
    pair_slots: const u64*
    byte_pairs: const u32*
    junction_words: const u32*
    junction_flags: const u8*
    junction_parts: const u64*
    external: const u32*        // internal id -> id
    unsafe_basic: const u32*    // a bit for every code point that a normalizer may touch
    added_first: const u32*     // a bit for every byte that an added token may begin with
    added_prefixes: const u64*  // up to eight bytes each, little-endian
    added_masks: const u64*     // which bytes of the prefix count
    added_count: u64
    exact_slots: const u32*     // words that are a token though merging does not make it: id + 1
    exact_mask: u64
    exact_longest: u64          // bytes
    token_bytes: const u8*
    token_offsets: const u64*
    words: uint4*               // word table: 32 bytes an entry, learnt words included
    words_mask: u64             // entries - 1
    words_limit: u64            // entries that learning may fill
    long_slots: uint4*          // words of more bytes or ids than an entry holds
    long_mask: u64
    long_bytes: u8*             // their bytes, back to back
    long_ids: u32*              // and ids
    long_capacity: u64          // of both
    learnt: u32*                // [0] words, [1] long_slots, [2] long_bytes, [3] long_ids: how full
    early_parts: const u32*     // a bit for each internal id that takes part in an earlier merge
    added_bytes: u64            // those of added_first: up to seven; the highest byte: how many
""")

# Of one batch of documents, at most 1 GiB: positions have 32 bits.
BATCH = _fields("""
    size: u64                   // bytes of text
    documents: u64
    tiles: u64                  // of TM_TILE bytes
    text: const u8*             // 256 readable bytes behind the end, and 64 before the begin
    doc_begin: const u32*       // documents + 1
    doc_bits: u32*              // a bit where a document begins; a word of zeros on both sides
    doc_flags: u32*             // per document: why the CPU must encode it, bits of Reason
    start_bits: u32*            // a bit where a word, or a piece of a cut word, begins
    cut_bits: u32*              // those that begin a piece, not a word
    tile_words: u32*            // starts of each tile
    word_base: u32*             // and of all tiles before; tiles + 1
    codes: u32*                 // what became of every word
    tile_ids: u32*              // ids of each tile
    id_base: u32*               // and of all tiles before; tiles + 1
    misses: uint4*              // words that the tables do not know
    miss_capacity: u64
    miss_lists: u32*            // misses to merge, by class of length
    miss_counts: u32*           // per miss: its ids
    arena: u32*                 // ids of the misses
    dedupe: u32*
    dedupe_mask: u64
    scratch: u32*               // of the long merges
    scratch_blocks: u64
    counters: u32*              // 64 of them, see batch.h
    ids: u32*                   // the result
    ids16: u16*                 // or this one, where it is not null
    id_capacity: u64
    doc_ids: u32*               // where the ids of each document begin; documents + 1
    options: u64                // bits of Option in batch.h
    text_capacity: u64          // the most that `size` can be
    tile_misses: u32*           // per tile: its first miss, and how many
""")

# Of one batch whose ids go to the caller. A document lies in its place as the batch has it, or,
# where the CPU encoded it, among `cpu_ids`.
SPLICE = _fields("""
    documents: u64
    total: u64                  // ids of the result
    base: u64                   // ids of the batches before
    before: const u32*          // ids that stand before each document
    before_count: u64
    behind: const u32*          // and behind it
    behind_count: u64
    ids: const u32*             // of the batch
    ids16: const u16*           // or this one, where it is not null
    doc_ids: const u32*
    out_begin: const i64*       // where each document begins; null: all come from the batch
    origin: const i64*          // its first id in the batch, or -1 - that in cpu_ids
    cpu_ids: const u32*
    out: u32*
    out16: u16*                 // or this one, where it is not null
    out_offsets: i64*           // documents + 1
""")

# Of one table of rows. A piece is a run of tokens of one document in one row; pieces are in the
# order of their places. What is known of a piece is a column of eight-byte numbers.
ROWS = _fields("""
    places: u64                 // rows times columns
    pieces: u64
    piece_place: const u64*     // where in the table it begins
    piece_length: const u64*
    piece_frame: const u64*     // its first token's place in the document, BOS and EOS included
    piece_text: const u64*      // tokens of the document, without BOS and EOS
    piece_ids: const u64*       // address of the first of those
    piece_position: const u64*  // position of its first token
    piece_segment: const u64*   // its number in the row, from 1
    bos: u64
    bos_count: u64              // 0 or 1: tokens before the text of each document
    eos: u64
    pad: u64
    ignore: u64                 // the label of what is not to be predicted
    options: u64                // bits of RowOption in rows.h
    input_ids: void*            // a column that is null is not made
    labels: void*
    position_ids: void*
    segment_ids: void*
    attention_mask: void*
""")


def struct_text() -> str:
    """Return the C text of all structs."""
    structs = {"Tables": TABLES, "Batch": BATCH, "Splice": SPLICE, "Rows": ROWS}
    return "".join(_struct(name, fields) for name, fields in structs.items())


def _struct(name: str, fields: tuple[Field, ...]) -> str:
    lines = "".join(f"    {field.ctype} {field.name};\n" for field in fields)
    return f"struct {name} {{\n{lines}}};\n"


def places(fields: tuple[Field, ...]) -> dict[str, int]:
    """Return the number of each field."""
    return {field.name: number for number, field in enumerate(fields)}


def fill(fields: tuple[Field, ...], values: Mapping[str, int]) -> NDArray[np.uint64]:
    """Return the bytes of a struct; a pointer that is not given is null."""
    unknown = values.keys() - {field.name for field in fields}
    if unknown:
        raise KeyError(f"no such field: {sorted(unknown)}")
    return np.array([values.get(field.name, 0) for field in fields], dtype=np.uint64)
