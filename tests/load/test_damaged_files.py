"""Damaged files of every kind give a typed error or a tokenizer, never anything else."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import added, tokenizer_json
from tests.load.test_models import BYTE_TOKENS, PIECES, WORDPIECE
from tests.load.test_pre_tokenizers import SECTIONS, SPACE
from tests.load.test_vocab_files import TOKENS, WORLD, spelled

from tokenmill._errors import LoadError
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

JUNK: list[Any] = [
    *(None, True, -1, 0, 1.5, "", "x", [], {}, [[]], {"a": 1}, 10**30, 1e300, "\ud800"),
    *(["a", 1], {"type": "BPE"}),
]
MODELS: list[dict[str, Any]] = [
    WORDPIECE,
    {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1}},
    {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": PIECES},
    {
        "type": "BPE",
        "unk_token": "a",
        "byte_fallback": True,
        "vocab": {**BYTE_TOKENS, "a": 256, "b": 257, "ab": 258},
        "merges": [["a", "b"]],
    },
]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(data, dict):
        keys: list[Any] = list(data)[:12]
    else:
        keys = list(range(min(len(data), 8))) if isinstance(data, list) else []
    return [path, *(place for key in keys for place in places(data[key], (*path, key)))]


def spoil(data: Any, path: tuple[Any, ...], value: object) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


def load(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    try:
        load_source(path)
    except LoadError:  # any other error is one that a file must not cause
        return False
    return True


def test_members_of_another_type_are_errors(tmp_path: Path) -> None:
    generator = random.Random(4)  # noqa: S311
    sections = [SPACE, *SECTIONS.values()]
    outcomes = set()
    for _ in range(600):
        whole = tokenizer_json(pre_tokenizer=generator.choice(sections), added=[added("<s>", 3)])
        data = json.loads(json.dumps({**whole, "model": generator.choice(MODELS)}))
        path = generator.choice(places(data)[1:])
        spoil(data, path, generator.choice(JUNK))
        outcomes.add(load(tmp_path / "tokenizer.json", json.dumps(data).encode()))
    assert outcomes == {True, False}


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt", "rwkv_vocab_x.txt"])
def test_flipped_bytes_and_short_files_are_errors(tmp_path: Path, name: str) -> None:
    generator = random.Random(name)  # noqa: S311
    lines = [f"{i} {spelled(token)} {len(token)}" for i, token in WORLD.items()]
    texts = {"vocab.txt": "\n".join(TOKENS), "rwkv_vocab_x.txt": "\n".join(lines)}
    outcomes = set()
    for _ in range(200):
        data = {**tokenizer_json(pre_tokenizer=SPACE), "model": generator.choice(MODELS)}
        content = bytearray(texts.get(name, json.dumps(data)).encode())
        for _ in range(generator.randint(0, 3)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if generator.random() < 0.3:
            del content[generator.randrange(len(content)) :]
        outcomes.add(load(tmp_path / name, bytes(content)))
    assert outcomes == {True, False}
