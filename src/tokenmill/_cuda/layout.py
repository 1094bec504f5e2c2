"""What Python and the kernels share: structs of pointers and numbers, and enums.

Every kernel has the same two arguments, `const Tables*` and `const Batch*`, which point to device
memory. So a captured graph of launches serves every batch: only the structs change. The kernel that
writes rows takes `const Rows*` in place of the batch, others `const Splice*` or `const Transfer*`.
The fields of all structs are eight bytes wide. The C text of structs and enums is made from the
lists below, so they cannot differ from Python's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class StructField:
    """A field of a struct: a pointer, or a number (`u64`)."""

    name: str
    ctype: str


def _fields(text: str) -> tuple[StructField, ...]:
    pairs = (line.split(":", 1) for line in text.split("\n") if line.strip())
    return tuple(StructField(name.strip(), ctype.split("//")[0].strip()) for name, ctype in pairs)


class DocumentFlag(IntFlag):
    """Bits of Batch::doc_flags: why the CPU must encode a document."""

    INVALID_UTF8 = 1
    NOT_NORMALIZED = 2  # the normalizer may change it
    ADDED_TOKEN = 4  # the CPU must cut it out
    LONG_WORD = 8
    NO_SYNC = 16  # a long stretch without a safe word boundary
    OVERFLOW = 32  # a list of the batch was too short


class BatchOption(IntFlag):
    """Bits of Batch::options."""

    FIND_ADDED = 1  # look for added tokens
    SKIP_SPECIAL = 2  # special tokens in a text are text
    KEEP_REPEATS = 4  # no dedupe: merge every miss on its own (for measurements)
    LEARN = 8  # insert new words into the tables
    RAISE_SPECIAL = 16  # a text with a special token is an error, which the CPU finds again


class TileFlag(IntFlag):
    """Bits of Batch::tile_again: why the words of a tile are found again."""

    MAY_ADD = 1  # an added token may start in it
    HAS_SPAN = 2  # one starts or ends in it
    AFTER_SPAN = 4  # its first document has one in a tile before
    BEFORE_SPAN = 8  # its last document has one in a tile after


class BatchCounter(IntEnum):
    """Places in Batch::counters."""

    MISS_COUNT = 0
    BIN_COUNT = 2  # six of them, by length: up to 16, 32, 64, 128, 512 bytes, and longer
    FLAGGED = 8  # documents with flags
    ARRIVAL = 9  # scans that did not end where the next one began: must stay 0
    LEARNT_COUNT = 10
    WORD_COUNT = 11
    ID_COUNT = 12
    ADDED_TILES = 16  # listed in added_tiles
    SPAN_TILES = 17  # listed in again_tiles, with added tokens
    AGAIN_TILES = 18  # listed there after those


class RowOption(IntFlag):
    """Bits of Rows::options."""

    WIDE = 1  # columns of 64 bits; segment ids always have 32
    SHIFTED_LABELS = 2  # a label is the next token, not the token itself


class JsonReason(IntEnum):
    """Jsonl::line_reason: the numbers of REASONS of `_read`, and those that only a device has."""

    JSON_BAD_JSON = 0
    JSON_MISSING_FIELD = 1
    JSON_NULL_FIELD = 2
    JSON_WRONG_TYPE = 3
    JSON_BAD_UTF8 = 4
    JSON_LONE_SURROGATE = 5
    JSON_EMPTY_TEXT = 6
    JSON_TOO_LONG = 7
    JSON_BLANK = 8  # white space only: not a record
    JSON_UNSURE_LINE = 9  # the CPU must read it
    JSON_GOOD = 10


class JsonCounter(IntEnum):
    """Places in Jsonl::counters."""

    JSON_LINES = 0
    JSON_DOCUMENTS = 1
    JSON_TEXT_BYTES = 2
    JSON_REPAIRED = 3  # documents with lone surrogates
    JSON_UNSURE = 4  # tiles that the CPU must read
    JSON_REASONS = 8  # lines by JsonReason, except good ones
    JSON_COUNTER_COUNT = 32


class JsonOption(IntFlag):
    """Bits of Jsonl::options."""

    REPLACE_LONE = 1  # lone surrogates become U+FFFD
    REPLACE_MALFORMED = 2  # the CPU repairs what is not UTF-8


ENUMS: tuple[type[IntEnum | IntFlag], ...] = (
    DocumentFlag, BatchOption, TileFlag, BatchCounter, RowOption,
    JsonReason, JsonCounter, JsonOption,
)  # fmt: skip

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
    chain: const u64*           // of each DFA of a chain: a Stage (scan.h)
    pair_slots: const u64*
    byte_pairs: const u32*
    junction_words: const u32*
    junction_flags: const u8*
    junction_parts: const u64*
    external: const u32*        // internal id -> id
    unsafe_basic: const u32*    // a bit for every code point that a normalizer may touch
    normal_page_of: const u16*  // pages of 256 code points: combining class, MAYBE, CHANGED
    normal_pages: const u16*
    normal_pairs: const u64*    // left << 32 | right: neighbours that compose; 0 is free
    normal_mask: u64
    added_first: const u32*     // a bit for every first byte of an added token
    added_prefixes: const u64*  // up to eight bytes each, little-endian
    added_masks: const u64*     // which bytes of the prefix count
    added_count: u64
    exact_slots: const u32*     // words that are a token that merging does not make: id + 1
    exact_mask: u64
    exact_longest: u64          // bytes
    token_bytes: const u8*
    token_offsets: const u64*
    words: uint4*               // word table: 32 bytes an entry, learnt words included
    words_mask: u64             // entries - 1
    words_limit: u64            // entries that learning may fill
    long_slots: uint4*          // words of more bytes or ids than an entry holds
    long_mask: u64
    long_bytes: u8*             // bytes of those words, back to back
    long_ids: u32*              // ids of those words, back to back
    long_capacity: u64          // of both
    learnt: u32*                // how full: [0] words, [1] long_slots, [2] long_bytes, [3] long_ids
    early_parts: const u32*     // a bit for each internal id that is part of an earlier merge
    added_bytes: u64            // the bytes of added_first: up to seven; highest byte: how many
    added_seconds: u64          // second bytes; highest byte: a bit for each that is the only one
    added_longest: u64          // bytes of the longest added token
    missing_count: u64          // bytes that the vocabulary does not have
    missing_bytes: const u32*   // a bit for every byte that the vocabulary does not have
    raw_nodes: const u32*       // trie of the tokens that the raw text is searched for (added.h)
    raw_edges: const u8*
    normal_nodes: const u32*    // those of the normalized text between them
    normal_edges: const u8*
    added_runs: const u32*      // of both tries: what runs of one byte lead to (added.h)
    added_tokens: const u32*    // of each token: id and flags
    added_basic: const u8*      // classes for the flags: white space is 1, word characters 2
    added_page_of: const u16*
    added_pages: const u8*
    joined_pairs: const u32*    // over characters: a bit for each two of them (char_bounds.h)
    char_symbols: const u32*    // over characters: the symbol of a code point, or 2^20 - 1
    rewrites: const u32*        // what the normalizer makes of a code point (rewrites.h)
    rewrite_bytes: const u8*
    trie_cells: const u32*      // words that are looked up: SmallTrie
    trie_tokens: const u32*     // by node: id + 1
    trie_scores: const double*  // by node; of the root: of an unknown character
""")

# Of one batch of documents, at most 1 GiB: positions have 32 bits.
BATCH = _fields("""
    size: u64                   // bytes of text
    documents: u64
    tiles: u64                  // of TM_TILE bytes
    text: const u8*             // readable: 64 bytes before the start, 256 after the end
    doc_begin: const u32*       // documents + 1
    doc_bits: u32*              // a bit where a document begins; a word of zeros on either side
    doc_flags: u32*             // per document: bits of DocumentFlag
    start_bits: u32*            // a bit where a word, or a piece of a cut word, begins
    cut_bits: u32*              // the bits of start_bits where a piece begins, not a word
    tile_words: u32*            // starts of each tile
    word_base: u32*             // starts of all tiles before; tiles + 1
    codes: u32*                 // per word: where its ids are (words.h)
    tile_ids: u32*              // ids of each tile
    id_base: u32*               // ids of all tiles before; tiles + 1
    misses: uint4*              // words that the tables do not know
    miss_capacity: u64
    miss_lists: u32*            // misses to merge, by class of length
    miss_counts: u32*           // per miss: its ids
    arena: u32*                 // ids of the misses
    dedupe: u32*
    dedupe_mask: u64
    scratch: u32*               // of the long merges
    scratch_blocks: u64
    counters: u32*              // 64 of them, see BatchCounter
    ids: u32*                   // the result
    ids16: u16*                 // the result instead of `ids`, unless null
    id_capacity: u64
    doc_ids: u32*               // where the ids of each document begin; documents + 1
    options: u64                // bits of BatchOption
    text_capacity: u64          // the most that `size` can be
    tile_misses: u32*           // per tile: its first miss, and how many
    tile_again: u32*            // per tile: bits of TileFlag
    added_tiles: u32*           // tiles where an added token may start, in any order
    again_tiles: u32*           // tiles whose words are found again, in any order
    span_bits: u32*             // a bit where an added token begins
    inner_bits: u32*            // the other bytes of added tokens
    stage_bits: u32*            // where the words of a chain's stages begin: twice as doc_bits
    raw_bits: u32*              // all bytes of those that the raw text is searched for
""")

# Of one batch whose ids go to the caller. The ids of a document are those of the batch or, if the
# CPU encoded it, those in `cpu_ids`.
SPLICE = _fields("""
    documents: u64
    total: u64                  // ids of the result
    base: u64                   // ids of the batches before
    before: const u32*          // ids that go before each document
    before_count: u64
    after: const u32*           // ids that go after each document
    after_count: u64
    ids: const u32*             // of the batch
    ids16: const u16*           // the ids instead of `ids`, unless null
    doc_ids: const u32*
    out_begin: const i64*       // where each document begins; null: all come from the batch
    origin: const i64*          // its first id in the batch, or -1 - that in cpu_ids
    cpu_ids: const u32*
    out: u32*
    out16: u16*                 // the result instead of `out`, unless null
    out_offsets: i64*           // documents + 1
""")

# Of one short batch, which kernels bring from pinned memory of the host and back: the structs, the
# text and doc_begin in; counters, doc_ids and ids out. All arrays are padded to 16 bytes.
TRANSFER = _fields("""
    structs_from: const u64*
    structs: u64*
    struct_words: u64
    begins_from: const u32*
    begins: u32*
    begin_count: u64            // documents + 1
    text_from: const u8*
    text: u8*
    size: u64                   // bytes of text
    counters: const u32*
    counters_to: u32*
    doc_ids: const u32*
    doc_ids_to: u32*
    ids: const void*
    ids_to: void*
    id_bytes: u64               // of one id
    id_room: u64                // the most ids that ids_to holds
""")

# Of one table of rows. A piece is a run of tokens of one document in one row; pieces are in the
# order of their places. Each fact about pieces is a column of eight-byte numbers.
ROWS = _fields("""
    places: u64                 // rows times columns
    pieces: u64
    piece_place: const u64*     // its first place in the table
    piece_length: const u64*
    piece_frame: const u64*     // its first token's place in the document, BOS and EOS included
    piece_text: const u64*      // tokens of the document, without BOS and EOS
    piece_ids: const u64*       // address of the first token of the document
    piece_position: const u64*  // position of its first token
    piece_segment: const u64*   // its number in the row, from 1
    bos: u64
    bos_count: u64              // 0 or 1: tokens before the text of each document
    eos: u64
    pad: u64
    ignore: u64                 // the label of tokens that are not predicted
    options: u64                // bits of RowOption
    input_ids: void*            // a column that is null is not written
    labels: void*
    position_ids: void*
    segment_ids: void*
    attention_mask: void*
""")

# Of one chunk of JSONL: whole lines, the last byte is a newline.
JSONL = _fields("""
    raw: const u8*              // 64 bytes on either side can be read
    size: u64
    tiles: u64
    path: const u8*             // of the field: its keys, with dots between them
    path_size: u64
    level_begin: const u32*     // where each key begins, and the end of the last one plus 1
    levels: u64
    max_document_bytes: u64
    max_line_bytes: u64
    options: u64                // bits of JsonOption
    stop_bits: u32*             // a bit where a string ends, or is wrong
    escape_bits: u32*           // a bit where an escape begins
    line_bits: u32*             // a bit at each newline
    tile_flags: u32*
    tile_lines: u32*
    line_base: u32*             // lines of all tiles before; tiles + 1
    line_capacity: u64
    line_end: u32*              // the place of its newline
    line_malformed: u32*        // its first byte that is not UTF-8, or ~0
    line_lone: u32*             // the first lone surrogate of its field, or ~0
    line_reason: u32*           // JsonReason
    line_fault: u32*            // the place where it is wrong
    field_begin: u32*           // of good lines; 0 in others
    field_end: u32*
    tile_bytes: u32*            // text of each tile
    byte_base: u32*             // text of all tiles before; tiles + 1
    tile_documents: u32*        // documents that begin in each tile
    document_base: u32*         // documents of all tiles before; tiles + 1
    counters: u32*              // see JsonCounter
    text: u8*                   // the result: texts back to back
    doc_begin: u32*             // where each begins; one more than documents
    doc_line: u32*              // its line, from 0
    doc_start: u32*             // the first byte of its line
""")


def shared_text() -> str:
    """Return the C text of all enums and structs."""
    structs = {
        "Tables": TABLES, "Batch": BATCH, "Splice": SPLICE, "Transfer": TRANSFER, "Rows": ROWS,
        "Jsonl": JSONL,
    }  # fmt: skip
    texts = [_enum(enum) for enum in ENUMS]
    texts += [_struct(name, fields) for name, fields in structs.items()]
    return "".join(texts)


def _enum(enum: type[IntEnum | IntFlag]) -> str:
    """Write an enum: `NO_SYNC = 16` becomes `kNoSync = 16`."""
    lines = "".join(
        f"    k{name.title().replace('_', '')} = {int(member)},\n"
        for name, member in enum.__members__.items()
    )
    return f"enum {enum.__name__} : u32 {{\n{lines}}};\n"


def _struct(name: str, fields: tuple[StructField, ...]) -> str:
    lines = "".join(f"    {field.ctype} {field.name};\n" for field in fields)
    return f"struct {name} {{\n{lines}}};\n"


def places(fields: tuple[StructField, ...]) -> dict[str, int]:
    """Return the number of each field."""
    return {field.name: number for number, field in enumerate(fields)}


def fill(fields: tuple[StructField, ...], values: Mapping[str, int]) -> NDArray[np.uint64]:
    """Return a struct; fields without a value are 0."""
    unknown = values.keys() - {field.name for field in fields}
    if unknown:
        raise KeyError(f"no such field: {sorted(unknown)}")
    return np.array([values.get(field.name, 0) for field in fields], dtype=np.uint64)
