"""Every section of a tokenizer.json that the loader knows, and some that it does not."""

from __future__ import annotations

import base64
import struct
from typing import Any

from tests.load.sources import BYTES

from tokenmill._load.pre_tokenizer import BYTE_LEVEL_PATTERN

Json = dict[str, Any]

MARKER = "\u2581"
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
_BYTE_TOKENS = {f"<0x{byte:02X}>": byte for byte in range(256)}


def _map() -> str:
    """A character map that has one block of a trie without keys."""
    return base64.b64encode(struct.pack("<I256I", 1024, *[0] * 256) + b"x\0").decode()


NORMALIZERS: list[Json | None] = [
    None,
    *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")),
    {"type": "Nmt"},
    {"type": "ByteLevel"},
    {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Strip"},
    {"type": "Prepend", "prepend": MARKER},
    {"type": "Prepend", "prepend": ""},
    {"type": "Replace", "pattern": {"String": " "}, "content": MARKER},
    {"type": "Replace", "pattern": {"String": "ab"}, "content": ""},
    {"type": "Replace", "pattern": {"String": ""}, "content": "x"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": MARKER},
    {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": r"(?<=a)b"}, "content": " "},
    {"type": "Precompiled", "precompiled_charsmap": _map()},
    {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    {
        "type": "BertNormalizer",
        "clean_text": False,
        "handle_chinese_chars": False,
        "strip_accents": True,
        "lowercase": False,
    },
    {"type": "Sequence", "normalizers": []},
    {"type": "Unheard"},
]
PRE_TOKENIZERS: list[Json | None] = [
    None,
    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True},
    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    {"type": "ByteLevel"},
    {"type": "Digits", "individual_digits": True},
    {"type": "Digits", "individual_digits": False},
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    {"type": "Punctuation"},
    {"type": "CharDelimiterSplit", "delimiter": "-"},
    {"type": "CharDelimiterSplit", "delimiter": "\U0001f600"},
    {"type": "FixedLength", "length": 3},
    {"type": "FixedLength", "length": 5000},
    {"type": "WhitespaceSplit"},
    {"type": "Whitespace"},
    {"type": "BertPreTokenizer"},
    {"type": "UnicodeScripts"},
    {"type": "Metaspace", "replacement": MARKER, "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": MARKER, "prepend_scheme": "first", "split": False},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"},
    {"type": "Metaspace", "replacement": MARKER, "add_prefix_space": True},
    {"type": "Split", "pattern": {"String": "a.b"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
    {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Removed", "invert": True},
    {"type": "Split", "pattern": {"Regex": BYTE_LEVEL_PATTERN}, "behavior": "Isolated"},
    {"type": "Unheard"},
]
_A, _B = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
_CLS, _SEP = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
_TOKENS = {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}}
_TOKENS["[SEP]"] = {"id": "[SEP]", "ids": [2, 3], "tokens": ["[SEP]", "x"]}


def _template(single: list[Json], pair: list[Json]) -> Json:
    sections = {"single": single, "pair": pair, "special_tokens": _TOKENS}
    return {"type": "TemplateProcessing", **sections}


POST_PROCESSORS: list[Json | None] = [
    None,
    {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False},
    {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": True},
    {"type": "ByteLevel", "trim_offsets": False},
    {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
    {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2], "trim_offsets": True},
    _template([_CLS, _A, _SEP], [_CLS, _A, _SEP, _B, _SEP]),
    _template([_A], []),
    _template([], [_A, _B]),
    _template([_A, _A], [_A, _B]),
    _template([_A], [_B, _A]),
    {"type": "Unheard"},
]
DECODERS: list[Json | None] = [
    None,
    {"type": "ByteLevel"},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    {"type": "Strip", "content": " ", "start": 1 << 60, "stop": 0},
    {"type": "Replace", "pattern": {"String": MARKER}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"},
    {"type": "Replace", "pattern": {"Regex": "(a)\\1"}, "content": "b"},
    {"type": "Replace", "pattern": {"Regex": "(a"}, "content": "b"},
    {"type": "Metaspace", "replacement": MARKER, "prepend_scheme": "first"},
    {"type": "Metaspace", "replacement": MARKER, "add_prefix_space": False},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]},
    {"type": "Unheard"},
]


def _replace(pattern: Json, content: str = "") -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _map_of(keys: dict[str, str]) -> str:
    """A character map with keys of one byte: their units lie below the offset of the root."""
    units, values = [0] * 1024, b""
    units[0] = 256 << 10
    for number, (key, value) in enumerate(sorted(keys.items())):
        node, leaf = 256 ^ ord(key), 512 + number
        units[node] = ord(key) | 1 << 8 | (node ^ leaf) << 10
        units[leaf] = 1 << 31 | len(values)
        values += value.encode() + b"\0"
    blob = struct.pack("<I1024I", 4096, *units) + values
    return base64.b64encode(blob).decode()


REMOVERS: list[Json] = [
    *(section for section in (*NORMALIZERS[1:11], *NORMALIZERS[20:22]) if section),
    _replace({"String": "a"}),
    _replace({"String": " "}, MARKER),
    _replace({"String": MARKER}),
    _replace({"Regex": r"\s+"}),
    _replace({"Regex": "[ab]+"}),
    _replace({"Regex": "a(?!b)|1+$"}),
    _replace({"Regex": r"[^\p{L}]"}),
    {"type": "Prepend", "prepend": "a"},
    {"type": "Precompiled", "precompiled_charsmap": _map_of({"a": "", "A": "a", " ": MARKER})},
    {"type": "Precompiled", "precompiled_charsmap": _map_of({"b": " ", "'": "", "1": "\u0301"})},
]
_WORDS = ["a", "b", "ab", "##a", "##b", MARKER, f"{MARKER}a", "\u00e9", "\u4e00", "'", '"', "\\"]
_NUMBERED = {word: index for index, word in enumerate(["[UNK]", *_WORDS, "0", "1", "\U0001f600"])}
_ENDS = ["a", "b", "a</w>", "b</w>", "ab</w>", "ab"]
MODELS: list[Json] = [
    {"type": "BPE", "vocab": BYTES, "merges": []},
    {"type": "BPE", "vocab": {**BYTES, "ab": 256}, "merges": ["a b"]},
    {"type": "BPE", "vocab": {**BYTES, "ab": 256, "abc": 259}, "merges": [["a", "b"], ["ab", "c"]]},
    {"type": "BPE", "vocab": {**BYTES, "ab": 256}, "merges": ["#version: 1", "a b", "a b"]},
    {"type": "BPE", "vocab": {**BYTES, "ab": 9000}, "merges": []},
    {"type": "BPE", "vocab": {**BYTES, "ab": 2}, "merges": []},
    {"type": "BPE", "vocab": {**BYTES, "\u2603": 256}, "merges": [], "ignore_merges": True},
    {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [], "unk_token": "a", "dropout": 0.1},
    {"type": "BPE", "vocab": _NUMBERED, "merges": ["a b"], "unk_token": "[UNK]", "fuse_unk": True},
    {"type": "BPE", "vocab": _NUMBERED, "merges": [], "unk_token": "[none]"},
    {"type": "BPE", "vocab": {**_BYTE_TOKENS, MARKER: 256}, "merges": [], "byte_fallback": True},
    {"type": "BPE", "vocab": {"<0x41>": 0}, "merges": [], "byte_fallback": True},
    {
        "type": "BPE",
        "vocab": {word: index for index, word in enumerate(_ENDS)},
        "merges": ["a b</w>", "a b"],
        "end_of_word_suffix": "</w>",
    },
    {"type": "BPE", "vocab": BYTES, "merges": [], "end_of_word_suffix": "</w>"},
    {"type": "BPE", "vocab": BYTES, "merges": [], "continuing_subword_prefix": "##"},
    {
        "type": "WordPiece",
        "vocab": _NUMBERED,
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    },
    {"type": "WordLevel", "vocab": _NUMBERED, "unk_token": "[UNK]"},
    {"type": "WordLevel", "vocab": _NUMBERED, "unk_token": "none"},
    {
        "type": "Unigram",
        "vocab": [["<unk>", 0.0], *([word, -index / 7] for index, word in enumerate(_WORDS))],
        "unk_id": 0,
    },
    {
        "type": "Unigram",
        "vocab": [["<unk>", 0], ["a", -3], ["a", -0.1e-5], *([t, -9] for t in _BYTE_TOKENS)],
        "unk_id": 0,
        "byte_fallback": True,
    },
    {"type": "Unigram", "vocab": [["a", -1.5]], "unk_id": None},
]
