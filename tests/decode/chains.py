"""Small tokenizers for decoding: hostile texts of tokens, and chains of decoders at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    import tokenizers

BYTES = [f"<0x{byte:02X}>" for byte in (0x41, 0x20, 0xE4, 0xBD, 0xA0, 0xF0, 0x9F, 0x98, 0x80, 0xFF)]
TEXTS = [
    "the", "\u2581the", "\u2581", "\u2581\u2581", "a\u2581b", "##ing", "##", "#", "##s##", " ",
    "  ",
    " .", " ,", " ' ", "n't", "'m", " do not", "do not", "'s", "'ve", ".", "?", "!", ",", "x</w>",
    "</w>", "y</w>z</w>", "<0xe4>", "<0x+A>", "<0x-A>", "<0xG0>", "<0x410>", "<0x\u00e9>",
    "<pad>", "|", "a|b", "\u00e4\u00bd\u0142", "\u00f0", "\u0141\u0126", "\u0120word", "\u010a",
    "\u4f60", "\U0001f600", "\u200d", "\u0301", "\ufeff", "\ufffd", "\x00", "\u0e01\u0e33",
    "\U0010ffff", "\ud7ff", "\ue000", "aaa", "aa", "ab", "b", "1", "22", "\u0663", "\t\n",
]  # fmt: skip


def definition(decoder: dict[str, Any] | None, gap: bool = False) -> dict[str, Any]:
    """A tokenizer.json whose model knows every text as a word; with `gap`, ids have a hole."""
    tokens = [*TEXTS, *BYTES]
    vocab = {token: i + (7 if gap and i > 5 else 0) for i, token in enumerate(tokens)}
    added = {
        "<s>": (True, False), "[X y]": (False, False), "\u2581ADD": (False, False),
        "<0x42>": (False, False), "UP": (True, True),
    }  # fmt: skip
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": len(vocab) + n, "content": content, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": normalized, "special": special,
            }
            for n, (content, (special, normalized)) in enumerate(added.items())
        ],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "the"},
    }  # fmt: skip


def ids_of(library: tokenizers.Tokenizer, texts: Iterable[str]) -> list[int]:
    """The ids of tokens that are all there."""
    ids = [library.token_to_id(text) for text in texts]
    assert None not in ids
    return [token_id for token_id in ids if token_id is not None]


def strip(content: str, start: int, stop: int) -> dict[str, Any]:
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


SINGLE: list[dict[str, Any]] = [
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": False},
    {"type": "WordPiece", "prefix": "", "cleanup": True},
    {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "str_rep": "_"},
    {
        "type": "Metaspace", "replacement": "\u2581", "add_prefix_space": False,
        "prepend_scheme": "never",
    },
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": False},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "BPEDecoder", "suffix": ""},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": False},
    strip(" ", 1, 0),
    strip("a", 2, 0),
    strip("\u2581", 0, 0),
    strip("a", 0, 2),
    strip(" ", 1, 1),
    replace(" ", String="\u2581"),
    replace("", String="aa"),
    replace("-", String=""),
    replace("b|", String="a"),
    replace(".", String="ab"),
    replace("<0x41>", String="\u4f60"),
    replace("_", Regex="\\s+"),
    replace("9", Regex="\\p{N}{1,2}"),
    replace("", Regex="[ab]+|#"),
]  # fmt: skip


def random_decoder(choose: random.Random) -> dict[str, Any] | None:
    """No decoder, one, or a chain, sometimes with a chain inside."""
    length = choose.choice([0, 1, 1, 2, 3, 4, 5])
    if length == 0:
        return choose.choice([None, {"type": "Sequence", "decoders": []}])
    steps = choose.choices(SINGLE, k=length)
    if length == 1:
        return steps[0]
    if length > 2 and choose.random() < 0.3:
        steps = [*steps[:1], {"type": "Sequence", "decoders": steps[1:]}]
    return {"type": "Sequence", "decoders": steps}
