"""Small tokenizers whose words are looked up, for the tests of the GPU path, and texts for them."""

from __future__ import annotations

import random
from typing import Any

from tests.cuda.char_tokenizers import added_token
from tests.normalize.charsmaps import encoded

SPECIAL = ("[PAD]", "[UNK]", "[CLS]")
# What a normalizer removes, lowers, decomposes or turns into blanks; words, punctuation, scripts.
LETTERS = [
    *"abcABC1.,-[]#", " ", " ", "  ", "\n", "\t", "\r\n", "\v", "\x00", "\x7f", "\u00a0", "\u3000",
    "\u00e9", "E\u0301", "\u0301", "\u0323\u0301", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u1ea5",
    "\u0130", "\u00df", "\u03a3", "\u042f", "\u4e2d", "\u6587", "\uf900", "\ud55c", "\uac00",
    "\u3042", "\u304c", "\u0e01\u0e33", "\u0e01\u0e34", "\u0939\u093f", "\U0001f600", "\u2019",
    "\U0002f800", "\ufb01", "\u2028", "\ufffd",
]  # fmt: skip
UNSAFE = ["\u302e", "\U0001d165", "\u0378"]  # marks that stay and may move, and no character at all
PIECES = ["a", "b", "c", "ab", "abc", "ca", "1", ".", ",", "-", "#", "e", "\u0437", "\u4e2d",
          "\u042f", "A", "B", "AB", "\u00e9", "\u1112", "\u3042", "\u0e01", "ss", "i"]  # fmt: skip


def word_piece_definition(seed: int, kind: str) -> dict[str, Any]:
    """Return a tokenizer.json like BERT's: uncased, cased, or with accents."""
    choose = random.Random(seed)  # noqa: S311
    parts = PIECES + [choose.choice(PIECES) + choose.choice(PIECES) for _ in range(30)]
    tokens = [*SPECIAL, *parts, *("##" + part for part in parts if choose.random() < 0.7)]
    tokens = list(dict.fromkeys(tokens))
    lowers, strips = {"uncased": (True, None), "cased": (False, None), "lower": (True, False)}[kind]
    normalizer = {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
        "strip_accents": strips, "lowercase": lowers,
    }  # fmt: skip
    model = {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 20, "vocab": {token: i for i, token in enumerate(tokens)},
    }  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added_token(i, text, True) for i, text in enumerate(SPECIAL)],
        "normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None, "decoder": None, "model": model,
    }  # fmt: skip


def word_texts(seed: int, count: int, more: list[str] | None = None) -> list[bytes]:
    """Return documents of those letters, some empty, some long."""
    choose = random.Random(seed)  # noqa: S311
    letters = LETTERS + (more or [])
    texts = []
    for _ in range(count):
        size = choose.choice([0, 1, 1, 2, 3, 8, 40, 200])
        texts.append("".join(choose.choices(letters, k=size)).encode())
    long = ["abc" * 40, "a" * 700, "\u4e2d" * 200, " " * 300, "\ud55c" * 90, "\u3042" * 60]
    texts += [text.encode() for text in [*long, "a" * 9000, "a\u0301" * 50]]
    choose.shuffle(texts)
    return texts


# Clusters of characters that a map sees together, characters that become several, or white space.
CHARS_MAP: dict[bytes, str] = {
    b"A": "a", b"B": "b", b"e\xcc\x81": "\u00e9", b"\n": " ", b"\r": " ", b"\t": " ", b"\x01": "",
    "\u00bd".encode(): "1\u20442", "\u00b4".encode(): " \u0301", "\u2460".encode(): "1",
    "\u3300".encode(): "\u30a2\u30d1\u30fc\u30c8", "\uff76".encode(): "\u30ab",
    "\u0e33".encode(): "\u0e4d\u0e32", "\u200b".encode(): " ", "\ufeff".encode(): "",
    "\u3000".encode(): " ", "\u2581".encode(): " ", "\u00a0".encode(): " ",
}  # fmt: skip
MARKER = "\u2581"


def unigram_definition(seed: int, kind: str) -> dict[str, Any]:
    """Return a tokenizer.json like T5's ("squeezed") or XLM-R's ("shortened"), or without a map."""
    choose = random.Random(seed)  # noqa: S311
    pieces = [f"{MARKER}a", MARKER, "a", "b", "ab", "abc", "c", "1", ".", "\u00e9", "\u4e2d\u6587",
              "\u4e2d", "\u30a2\u30d1", "\u0e4d", f"{MARKER}\u4e2d", "e", "\u0301"]  # fmt: skip
    pieces += [choose.choice(pieces) + choose.choice(pieces) for _ in range(40)]
    pieces = [p for p in dict.fromkeys(pieces) if MARKER not in p[1:]]
    # Few scores, so that many ways have equal sums.
    scored = [[piece, -choose.choice([1.0, 2.0, 2.5, 3.0])] for piece in pieces]
    specials = ["<pad>", "<unk>", "</s>"]
    vocab = [[text, 0.0] for text in specials] + scored
    steps: list[dict[str, Any]] = []
    if kind != "plain":
        steps = [{"type": "Precompiled", "precompiled_charsmap": encoded(CHARS_MAP)}]
    space = {"type": "Metaspace", "replacement": MARKER, "prepend_scheme": "always", "split": True}
    before: dict[str, Any] = space
    if kind == "shortened":
        steps += [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
    else:
        before = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added_token(i, text, True) for i, text in enumerate(specials)],
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": before, "post_processor": None, "decoder": None,
        "model": {"type": "Unigram", "unk_id": 1, "vocab": vocab, "byte_fallback": False},
    }  # fmt: skip
