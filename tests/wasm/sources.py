"""Many small tokenizer.json files: every section that the loader knows, mixed, wrong and broken."""

from __future__ import annotations

import base64
import copy
import json
import random
import struct
from typing import Any

from tests.load.sources import BYTES, added, tokenizer_json
from tests.split.patterns import CHAINS

from tokenmill._load.pre_tokenizer import BYTE_LEVEL_PATTERN

Json = dict[str, Any]

MARKER = "\u2581"
PATTERNS = sorted({stage[0] for stages in CHAINS.values() for stage in stages})
_BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
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
    *({"type": "Punctuation", "behavior": behavior} for behavior in _BEHAVIORS),
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
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_CONTENTS = ["<s>", "[MASK]", "a", " ", "", "  x ", "AB", "\u00e9t\u00e9", MARKER, "\u0301", "'\""]


def added_tokens(choose: random.Random) -> list[Json]:
    """A few added tokens with random flags."""
    contents = choose.choices(_CONTENTS, k=choose.randint(0, 3))
    return [
        added(content, choose.randint(0, 300), **{f: choose.random() < 0.3 for f in _FLAGS})
        for content in contents
    ]


def each_section() -> dict[str, bytes]:
    """Every section on its own, in a tokenizer that is plain besides."""
    files: dict[str, bytes] = {}
    for key, sections in (
        ("normalizer", NORMALIZERS),
        ("pre_tokenizer", PRE_TOKENIZERS),
        ("post_processor", POST_PROCESSORS),
        ("decoder", DECODERS),
        ("model", MODELS),
    ):
        for number, section in enumerate(sections):
            # A model brings its own members; the others go with a model over bytes.
            plain = {"pre_tokenizer": None, "decoder": None} if key == "model" else {}
            files[f"{key} {number}"] = _dumped({**tokenizer_json(), **plain, key: section})
    return files


def mixed(count: int, seed: int) -> dict[str, bytes]:
    """Sections put together at random, some of them as sequences."""
    choose = random.Random(seed)  # noqa: S311
    return {f"mixed {seed}.{number}": _dumped(_mixed(choose)) for number in range(count)}


def wrong(count: int, seed: int) -> dict[str, bytes]:
    """The same with one value replaced, dropped or moved."""
    choose = random.Random(seed)  # noqa: S311
    files: dict[str, bytes] = {}
    for number in range(count):
        data = _mixed(choose)
        for _ in range(choose.randint(1, 2)):
            _change(data, choose)
        files[f"wrong {seed}.{number}"] = _dumped(data)
    return files


def broken(count: int, seed: int) -> dict[str, bytes]:
    """Text with a few bytes changed, dropped or put in, or cut short."""
    choose = random.Random(seed)  # noqa: S311
    whole = _dumped(tokenizer_json(vocab={"a": 0, "\u00e9\n": 1}, added=[added("<\U0001f600>", 5)]))
    files: dict[str, bytes] = {}
    for number in range(count):
        text = bytearray(whole)
        for _ in range(choose.randint(1, 2)):
            place = choose.randrange(1, len(text))
            text[place : place + choose.randint(0, 2)] = choose.choice(_SCRAPS)
        end = choose.randrange(1, len(text)) if choose.random() < 0.2 else len(text)
        files[f"broken {seed}.{number}"] = bytes(text[:end])
    return files


def patterns(count: int, seed: int) -> dict[str, bytes]:
    """Splits by random patterns, among them many that no table can hold and some that are wrong."""
    choose = random.Random(seed)  # noqa: S311
    files: dict[str, bytes] = {}
    for number in range(count):
        section = {
            "type": "Split",
            "pattern": {"Regex": random_pattern(choose)},
            "behavior": choose.choice(_BEHAVIORS),
            "invert": choose.random() < 0.3,
        }
        files[f"pattern {seed}.{number}"] = _dumped(small(section))
    return files


def patterns_in_use() -> dict[str, bytes]:
    """The patterns of well-known tokenizers."""
    files: dict[str, bytes] = {}
    for number, pattern in enumerate(PATTERNS):
        for behavior, invert in (("Isolated", False), ("Removed", True)):
            shape = {"type": "Split", "pattern": {"Regex": pattern}}
            section = {**shape, "behavior": behavior, "invert": invert}
            files[f"in use {number} {behavior}"] = _dumped(small(section))
    return files


def small(pre_tokenizer: Json) -> Json:
    """A tokenizer of one word around a pre-tokenizer."""
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    return {"model": model, "pre_tokenizer": pre_tokenizer}


def random_pattern(choose: random.Random, depth: int = 0) -> str:
    """Write a pattern of a few atoms, some with quantifiers."""
    parts = []
    for _ in range(choose.choice([1, 1, 2, 2, 3])):
        # Mostly what a table can hold, or hardly any pattern would be compiled.
        is_hard = choose.random() < 0.04
        atom = choose.choice(_HARD_ATOMS if is_hard else _ATOMS)
        if depth < 3 and choose.random() < 0.25:
            opening = choose.choice(_HARD_OPENINGS if is_hard else _OPENINGS)
            atom = opening + random_pattern(choose, depth + 1) + ")"
        elif choose.random() < 0.25:
            items = "".join(choose.choices(_ITEMS, k=choose.randint(1, 3)))
            items += choose.choice(_HARD_ITEMS) if is_hard else ""
            atom = f"[{choose.choice(['', '^'])}{items}]"
        parts.append(atom + choose.choice(_HARD_QUANTIFIERS if is_hard else _QUANTIFIERS))
    if choose.random() < 0.3:
        parts.insert(choose.randrange(len(parts) + 1), "|")
    if choose.random() < 0.03:
        parts.append(choose.choice([")", "[", "(", "*", "\\", "{", "[a", "]"]))
    return "".join(parts)


def _mixed(choose: random.Random) -> Json:
    return {
        "version": "1.0",
        "truncation": choose.choice([None, None, {"max_length": 5}]),
        "padding": choose.choice([None, None, {}]),
        "added_tokens": added_tokens(choose),
        "normalizer": _maybe_many(choose, NORMALIZERS, "normalizers"),
        "pre_tokenizer": _maybe_many(choose, PRE_TOKENIZERS, "pretokenizers"),
        "post_processor": _maybe_many(choose, POST_PROCESSORS, "processors"),
        "decoder": _maybe_many(choose, DECODERS, "decoders"),
        "model": copy.deepcopy(choose.choice(MODELS)),
    }


def _maybe_many(choose: random.Random, sections: list[Json | None], name: str) -> Json | None:
    if choose.random() < 0.6:
        return copy.deepcopy(choose.choice(sections[:-1]))
    known = [section for section in choose.choices(sections, k=2) if section is not None]
    return {"type": "Sequence", name: copy.deepcopy(known)}


def _change(data: Any, choose: random.Random) -> None:
    """Replace or drop one value somewhere."""
    while True:
        if not data:
            return
        key = choose.choice(list(data)) if isinstance(data, dict) else choose.randrange(len(data))
        if isinstance(data[key], (dict, list)) and choose.random() < 0.8:
            data = data[key]
            continue
        if choose.random() < 0.2:
            del data[key]
        else:
            data[key] = copy.deepcopy(choose.choice(_VALUES))
        return


def _dumped(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")


_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 0.0, -0.0, 1.0, 0.5, 1e30, 1e-7, 123456.75, 1 << 40, 1 << 70,
    "", "a", "ab", "\u2581", "\u00e9", "'", '"', "\x00\x7f\x85\u200b\ue000\U000e0001", "\U0001f600",
    [], ["a"], ["a", "b"], ["a", 1], [[]], {}, {"type": "Sequence"}, {"type": "NFC"},
    {"a": 1, "b": 2},
    "x" * 100, "\u2581" * 80, list(range(40)), float("inf"), float("nan"), 4294967295, 4294967296,
]  # fmt: skip
_SCRAPS = [
    b"", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b"-0", b"1e5", b".5", b"e",
    b"\n",
    b"\x00", b"\x1f", b"\xff", b"\xc3", b"\xe2\x96", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80",
    b"\\ud800",
    b"\\ud83d\\ude00", b"\\u00", b"\\x", b"null", b"true", b"NaN", b"Infinity", b"-Infinity",
    b"tru",
    b" ", b"\t", b"\xc2\xa0", b"01", b"1.", b"\\/", b"\\ude00\\ud83d",
]  # fmt: skip
_ATOMS = [
    "a", "b", "B", "'s", ".", r"\s", r"\S", r"\d", r"\w", r"\W", r"\h", r"\n", r"\p{L}", r"\P{N}",
    r"\p{^Lu}", r"\p{hf:Punctuation}", r"\p{Han}", r"\p{Greek}", r"\x41", r"\x{1F600}",
    r"\u00e9", r"\.", "\u4e00", "\U0001f600", r"\-", "-", "s", "k", "ff",
]  # fmt: skip
_HARD_ATOMS = [
    "$", r"\p{ script }", r"\xe9", r"\z", r"\b", r"\1", r"\p{alpha}", "(?!\\S)", "(?=a|$)",
    "(?!ab)",
    "^", r"\A", "&&", "ss", r"\p{Letter}", r"\p{hf:Script1}",
]  # fmt: skip
_ITEMS = [
    "a", "z", "a-z", "A-C", r"\s", r"\p{L}", r"\w", r"\d", "^", "[^b]", "[:alpha:]", "[:^digit:]",
    r"\]", r"\n", "\u4e00-\u9fa5", r"\x30-\x39", "\u00e9", "S",
]  # fmt: skip
_HARD_ITEMS = ["-", "&&", "[:nope:]", "z-a", r"\b", "]", "-a", "&&[a]", "a-", r"\w-z"]
_OPENINGS = ["(", "(?:", "(?:", "(?i:", "(?-i:", "(?>", "(?:"]
_HARD_OPENINGS = ["(?=", "(?!", "(?<=", "(?#", "(?<n>"]
_QUANTIFIERS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}", "{2,}"]
_HARD_QUANTIFIERS = ["*+", "++", "?+", "{1,3}?", "{2}?", "{1,3}+", "{,3}", "{3,1}", "{2000}", "**"]
