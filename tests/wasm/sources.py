"""Many small tokenizer.json files: sections alone, mixed, with wrong members, and broken text."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from tests.load.sources import added, tokenizer_json
from tests.split.patterns import CHAINS
from tests.wasm.patterns import random_pattern
from tests.wasm.sections import (
    BEHAVIORS,
    DECODERS,
    MARKER,
    MODELS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    REMOVERS,
    Json,
)

from tokenmill._unicode import names

PATTERNS = sorted({stage[0] for stages in CHAINS.values() for stage in stages})
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


def vanishing(count: int, seed: int) -> dict[str, bytes]:
    """Normalizers that remove much, and added tokens of which little or nothing is left."""
    choose = random.Random(seed)  # noqa: S311
    pool = "aAb  \t\u2581\u0301\u00e9`'1" + ("" if seed % 2 else "\r\n\u3000")
    files: dict[str, bytes] = {}
    for number in range(count):
        contents = {"".join(choose.choices(pool, k=choose.randint(1, 4))) for _ in range(3)}
        data = small({"type": "WhitespaceSplit"}) | {
            "normalizer": {
                "type": "Sequence",
                "normalizers": choose.choices(REMOVERS, k=choose.randint(1, 4)),
            },
            "added_tokens": [added(content, 5, normalized=True) for content in contents],
        }
        files[f"vanishing {seed}.{number}"] = _dumped(data)
    return files


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
            "behavior": choose.choice(BEHAVIORS),
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


def every_set() -> dict[str, bytes]:
    """A split by each set of code points."""
    files: dict[str, bytes] = {}
    for engine, prefix in (("onig", ""), ("hf", "hf:")):
        for name in names(engine):
            pattern = f"[{name}]" if name.startswith("[") else rf"\\p{{{prefix}{name}}}"
            shape = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
            files[f"{engine} {name}"] = _dumped(small(shape))
    return files


def every_character() -> bytes:
    """A vocabulary that has all characters, 64 in each token: its hash is over their repr()."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    chunks = ("".join(map(chr, codes[begin : begin + 64])) for begin in range(0, len(codes), 64))
    vocab = {chunk: index for index, chunk in enumerate(chunks)}
    return _dumped({"model": {"type": "WordLevel", "vocab": vocab, "unk_token": next(iter(vocab))}})


def small(pre_tokenizer: Json) -> Json:
    """A tokenizer of one word around a pre-tokenizer."""
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    return {"model": model, "pre_tokenizer": pre_tokenizer}


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
