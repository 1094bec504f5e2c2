"""Random tokenizers over characters for the tests of the GPU path, and texts for them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

MARKER = "\u2581"
ALPHABET = [MARKER, *"abct.<1\n\t", "\u00e9", "\u044f", "\u4e2d", "\u6587", "\u5b57", "\U0001f600"]
UNKNOWN = ["z", "\u00f1", "\u9f98", "\ud55c", "\U0001f680", "\x00", "\u2028"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ("<unk>", "<s>", "</s>")
RUNS = 5  # the longest run of newlines that is an added token


def added_token(number: int, content: str, special: bool = False) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": special, **flags}


def one_added_text(text: bytes, flags: int) -> dict[str, Any]:
    """Return the fields of `device_tables` of a tokenizer with one added token."""
    nodes = [[i + 1, 1, 0] for i in range(len(text))] + [[0, 0, 1]]
    empty = np.zeros(3, np.uint32)
    full, kind, other = np.array(nodes, np.uint32).reshape(-1), "raw", "normal"
    if flags & 2:
        kind, other = other, kind
    return {
        f"{kind}_nodes": full, f"{kind}_edges": np.frombuffer(b"\0" + text, np.uint8),
        f"{other}_nodes": empty, f"{other}_edges": np.zeros(1, np.uint8),
        "added_tokens": np.array([1, flags], np.uint32),
    }  # fmt: skip


def char_definition(seed: int, kind: str) -> dict[str, Any]:
    """Return a tokenizer.json: a blank before every text, before some, or runs as added tokens."""
    choose = random.Random(seed)  # noqa: S311
    tokens, merges = [*SPECIAL, *BYTES, *ALPHABET, "aa"], [["a", "a"]]
    found = {*tokens}
    parts = list(ALPHABET)
    if kind == "runs":
        parts = [part for part in ALPHABET if part not in "\n\t"]
        for left, right in ((1, 1), (2, 1), (2, 2), (2, 3)):  # what merging 2 to 5 newlines makes
            merges.append(["\n" * left, "\n" * right])
            tokens.append("\n" * (left + right))
    for _ in range(120):
        left, right = choose.choice(parts), choose.choice(parts)
        if len(left + right) <= 6 and left + right not in found:
            found.add(left + right)
            tokens.append(left + right)
            parts.append(left + right)
            merges.append([left, right])
    added = [added_token(number, text, True) for number, text in enumerate(SPECIAL)]
    if kind == "runs":
        runs = ["\n" * size for size in range(1, RUNS + 1)] + ["\t"]
        added += [added_token(tokens.index(text), text) for text in runs]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": MARKER}
    prepend = {"type": "Prepend", "prepend": MARKER}
    steps = {"front": [prepend, replace], "runs": [replace]}.get(kind)
    space = {"type": "Metaspace", "replacement": MARKER, "prepend_scheme": "first", "split": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": None if steps else space,
        "post_processor": None, "decoder": None,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True,
            "vocab": {token: number for number, token in enumerate(tokens)}, "merges": merges,
        },
    }  # fmt: skip


def char_texts(seed: int, count: int, odd: bool = False) -> list[bytes]:
    """Return documents of the alphabet, some empty or long; `odd`: with what the CPU must do."""
    choose = random.Random(seed)  # noqa: S311
    letters = [*ALPHABET[1:], *UNKNOWN, " ", " ", "  ", "ab", " c", "\n\n"]
    if odd:
        letters += [MARKER, "<s>", "\n" * (RUNS + 1), "\u4e2d" * 40]
    texts = []
    for _ in range(count):
        size = choose.choice([0, 1, 1, 2, 3, 8, 40, 200])
        texts.append("".join(choose.choices(letters, k=size)).encode())
    longest = ["ab" * 90, "c" * 700, "\u4e2d\u6587" * 60, " " * 300, "\U0001f680" * 50, "a" * 9000]
    texts += [text.encode() for text in longest]
    if odd:
        texts += [b"a\xff", b"\xe4\xb8", b"\xad", b"ab\xf0\x9f\x98", b"\xed\xa0\x80", b"\x80\x80"]
    choose.shuffle(texts)
    return texts
