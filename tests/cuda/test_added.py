"""Added tokens on a device: the filter, the tries, and ids against those of the CPU engine."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from tests.conftest import small_definition
from tests.cuda.devices import connect
from tests.cuda.sanitized import run_sanitized
from tests.cuda.tokenizers_small import CL100K, write

from tokenmill import EncodeError, Tokenizer
from tokenmill._cuda.added import (
    added_filter,
    byte_bits,
    device_tokens,
    missing_bytes,
    packed_first_bytes,
    packed_nodes,
    packed_second_bytes,
    run_table,
    wanted_texts,
)
from tokenmill._cuda.added_texts import trie_texts
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.options import DeviceOptions
from tokenmill._cuda.texts import FlatTexts

if TYPE_CHECKING:
    from pathlib import Path

LEAVE = 1 << 31


class Added(NamedTuple):
    """An added token: its text and its flags (Special, Normalized, Left, Right, Word)."""

    text: str
    flags: str = ""


def definition(tokens: list[Added], **changes: Any) -> dict[str, Any]:
    base = small_definition()
    first = max(base["model"]["vocab"].values()) + 1
    base["added_tokens"] = [
        {
            "id": first + number,
            "content": token.text,
            "special": "S" in token.flags,
            "normalized": "N" in token.flags,
            "lstrip": "L" in token.flags,
            "rstrip": "R" in token.flags,
            "single_word": "W" in token.flags,
        }
        for number, token in enumerate(tokens)
    ]
    base["post_processor"] = None
    return {**base, **changes}


def split_by(*patterns: str) -> dict[str, Any]:
    splits = [
        {"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False}
        for p in patterns
    ]
    byte_level = {**small_definition()["pre_tokenizer"], "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [*splits, byte_level]}


BLANKS = [Added(" " * n, "N") for n in range(2, 10)] + [Added("\t" * n, "N") for n in (2, 3, 7)]
CHAT = [Added("<s>", "S"), Added("</s>", "S"), Added("<tool>"), Added("<to"), Added("ol>x", "N")]
OVERLAPS = [Added(t, "N") for t in ("ab", "abab", "bc", "cab", "bcabc", "aaa", "caa\u00e9")]
STRIPS = [Added("[M]", "SL"), Added("[R]", "SR"), Added("<w>", "W"), Added("we", "NW")]
LEFT = [Added("[M]", "SL"), Added("ab", "SW"), Added("  ", "N"), Added("   ", "N")]
RIGHT = [Added("[R]", "SR"), Added("a", "S"), Added("\u3000b", "N")]
SETS = {
    "blanks": BLANKS, "chat": CHAT, "overlaps": OVERLAPS, "strips": STRIPS, "left": LEFT,
    "right": RIGHT, "all": BLANKS + CHAT + OVERLAPS,
}  # fmt: skip
DEEP = (
    r"\p{N}{1,3}",
    r"[\u4e00-\u9fa5\u3040-\u30ff]+",
    r"[!-/:-~][A-Za-z]+| ?\p{L}+|\s+|[^\s\p{L}]+",
)
SPLITS: dict[str, Any] = {
    "gpt2": small_definition()["pre_tokenizer"],
    "cl100k": split_by(CL100K),
    "one": split_by(r"\s+|\w+|[^\s\w]+"),
    "chain": split_by(*DEEP),
}
WORDS = (
    "a", "b", "c", "aa", "ab", " ", "  ", "     ", "\t", "\t\t\t", "\n", "<s>", "</s>", "<to",
    "<tool>", "ol>x", "[M]", "[R]", "<w>", "we", "1234567", "caa\u00e9", "\u3000", "\u4e2d\u6587",
    "'s", "...", "hello", "e\u0301", "\U0001f600", " " * 40, "bcabcab",
)  # fmt: skip


def texts_of(seed: int, count: int) -> list[str]:
    choose = random.Random(seed)  # noqa: S311
    white = (" ", "[M]", "[R]", "x", "\u3000")
    pools = [WORDS, WORDS[:6], WORDS[5:11], white, ("<", "to", "ol>", "x")]
    rows = [choose.choices(choose.choice(pools), k=choose.randrange(25)) for _ in range(count)]
    return ["".join(row) for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def on_device(tokenizer: Tokenizer, folder: Path, tile: int = 64) -> DeviceTokenizer:
    made = connect(folder, shuffle=3)
    return DeviceTokenizer(
        tokenizer.ready, 0, DeviceOptions(table_bits=12), connect=made, tile=tile
    )


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("tokens", SETS)
def test_ids_are_those_of_the_cpu(tmp_path: Path, folder: Path, tokens: str, split: str) -> None:
    changes = {"pre_tokenizer": SPLITS[split]}
    if split == "cl100k":
        changes["normalizer"] = {"type": "NFC"}
    tokenizer = Tokenizer.load(write(tmp_path, definition(SETS[tokens], **changes)))
    gpu = on_device(tokenizer, folder)
    texts = texts_of(len(tokens), 700)
    for mode in ("encode", "text", "encode"):  # the third batch has the spans of others to clear
        found = gpu.encode_batch(texts, special_in_text=mode)
        wanted = tokenizer.encode_batch(texts, special_in_text=mode)
        assert found.to_host() == wanted
        assert ("added_token" in found.fallbacks) == (tokens == "strips" and mode == "encode")
        texts = texts[::-1][:500]


def test_a_long_document_with_few_tokens(tmp_path: Path, folder: Path) -> None:
    """A run that crosses many tiles is split again where a token ends it."""
    tokenizer = Tokenizer.load(write(tmp_path, definition(CHAT + BLANKS[:1])))
    gpu = on_device(tokenizer, folder)
    for run in ("1", " ", "\n", "x", "'s", "\u4e2d"):
        parts = [run * 400, "<s>", run * 300, run * 9 + "<tool>" + run * 700 + "</s>"]
        texts = ["".join(parts[k:]) for k in range(4)] + ["", "x", run * 100]
        found = gpu.encode_batch(texts)
        assert found.to_host() == tokenizer.encode_batch(texts)


def test_runs_that_are_too_long_to_walk_go_to_the_cpu(tmp_path: Path, folder: Path) -> None:
    tokenizer = Tokenizer.load(write(tmp_path, definition([*BLANKS, Added("[M]", "SL")])))
    gpu = on_device(tokenizer, folder)
    texts = ["a" + " " * n + "b" for n in (4000, 5000)] + [
        "c" + "\n" * n + "[M]" for n in (99, 5000)
    ]
    found = gpu.encode_batch(texts)
    assert found.to_host() == tokenizer.encode_batch(texts)
    assert found.fallbacks == {"added_token": 2}


def test_a_special_token_that_is_an_error_is_found(tmp_path: Path, folder: Path) -> None:
    tokenizer = Tokenizer.load(write(tmp_path, definition(CHAT)))
    gpu = on_device(tokenizer, folder)
    fine = ["x <tool> ol>x", "y"]
    found = gpu.encode_batch(fine, special_in_text="raise")
    assert not found.fallbacks
    assert found.to_host() == tokenizer.encode_batch(fine)
    with pytest.raises(EncodeError, match="document 2"):
        gpu.encode_batch([*fine, "a <s> b"], special_in_text="raise")


def test_documents_end_tokens(tmp_path: Path, folder: Path) -> None:
    """A token never reaches into the next document, at any place of a tile."""
    tokenizer = Tokenizer.load(write(tmp_path, definition(SETS["all"])))
    gpu = on_device(tokenizer, folder)
    text = b"x<tool>     ababc</s>" * 9
    cuts = random.Random(1)  # noqa: S311
    for _ in range(20):
        places = sorted({0, len(text), *cuts.choices(range(len(text)), k=30)})
        documents = [text[a:b] for a, b in pairwise(places)]
        found = gpu.encode_batch(FlatTexts(text, np.array(places)))
        assert found.to_host() == tokenizer.encode_batch(documents)


SANITIZED = """
import sys
from pathlib import Path
from tests.cuda.devices import HostDevice
from tests.cuda.shim import build
from tests.cuda.test_added import texts_of
from tokenmill import Tokenizer
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.options import DeviceOptions
folder = Path(sys.argv[1])
connect = lambda defines: HostDevice(build(folder, defines, "address,undefined"), shuffle=2)
tokenizer = Tokenizer.load(folder / "tokenizer.json")
gpu = DeviceTokenizer(tokenizer.ready, 0, DeviceOptions(table_bits=12), connect=connect, tile=64)
texts = texts_of(8, 300)
assert gpu.encode_batch(texts).to_host() == tokenizer.encode_batch(texts)
print("clean")
"""


def test_under_sanitizers(tmp_path: Path) -> None:
    tokens = BLANKS + CHAT + OVERLAPS + LEFT[:1]
    write(tmp_path, definition(tokens, pre_tokenizer=SPLITS["chain"]))
    done = run_sanitized(tmp_path, code=SANITIZED)
    assert done.stdout.strip() == "clean", done.stderr[-3000:]


def facts_of(tmp_path: Path, tokens: list[Added]) -> dict[str, Any]:
    return dict(Tokenizer.load(write(tmp_path, definition(tokens)))._model.device_tables())


def test_tries_hold_the_tokens_by_kind(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, CHAT)
    assert trie_texts(facts, "raw").keys() == {b"<s>", b"</s>", b"<tool>", b"<to"}
    assert trie_texts(facts, "normal").keys() == {b"ol>x"}
    assert wanted_texts(facts, with_special=False) == wanted_texts(facts, with_special=True)
    only = facts_of(tmp_path, [CHAT[0], CHAT[4]])
    assert wanted_texts(only, with_special=True) == [b"<s>", b"ol>x"]
    assert wanted_texts(only, with_special=False) == [b"ol>x"]


def test_runs_of_a_byte_lead_to_nodes(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, [Added("  ", "N"), Added("    x", "N"), Added("<s>", "S")])
    runs, nodes = run_table(facts), packed_nodes(facts, "normal").reshape(-1, 4)
    assert [byte for byte in range(512) if runs[byte]] == [ord("<"), 256 + ord(" ")]
    begin, count = runs[256 + 32] & 0xFFFFFF, runs[256 + 32] >> 24
    entries = runs[begin : begin + count]
    assert (entries >> 24).tolist() == [0, 2, 2, 2]  # the longest token in so many blanks
    assert nodes[entries[1] & 0xFFFFFF, 2] == 1  # the first token ends there
    assert nodes[entries[3] & 0xFFFFFF, 3] == ord("x")


@pytest.mark.parametrize(
    ("tokens", "left"),
    [
        (STRIPS, {0, 1}), (STRIPS[:1] + STRIPS[2:], set()), (LEFT, set()), (RIGHT, set()),
        ([Added("[M]", "SL"), Added("x ", "S")], {0}),
        ([Added("[R]", "SR"), Added(" x", "S")], {0}),
        ([Added("[M]", "L"), Added("x\u3000")], {0}),
    ],
)  # fmt: skip
def test_tokens_that_may_want_the_same_white_space_are_left_to_the_cpu(
    tmp_path: Path, tokens: list[Added], left: set[int]
) -> None:
    flags = device_tokens(facts_of(tmp_path, tokens)).reshape(-1, 2)[:, 1]
    assert {number for number, own in enumerate(flags) if own & LEAVE} == left


def test_prefixes_of_added_tokens_are_few_and_catch_all_of_them() -> None:
    for count in (1, 64, 65, 3000):
        texts = [f"<|{number:06d}|>".encode() for number in range(count)]
        found = added_filter([*texts, b""])
        assert 1 <= found.added_prefixes.size <= 64
        for text in texts:
            begin = np.uint64(int.from_bytes(text[:8], "little"))
            assert ((begin & found.added_masks) == found.added_prefixes).any()
            assert found.added_first[text[0] >> 5] >> (text[0] & 31) & 1
    nothing = added_filter([])
    assert nothing.added_prefixes.size == nothing.added_first.sum() == 0
    blanks = added_filter([b" " * n for n in range(2, 25)])
    assert blanks.added_prefixes.tolist() == [0x2020]


def test_first_bytes_in_a_number() -> None:
    few = [b"<s>", b"<|x|>", b"[x", b"\xff"]
    for texts, wanted in (
        ([], 0),
        (few, 3 << 56 | 0xFF5B3C),
        ([bytes([byte]) for byte in range(7)], 7 << 56 | 0x06050403020100),
        ([bytes([byte]) for byte in range(8)], 8 << 56),
        ([bytes([byte]) for byte in range(256)], 255 << 56),
    ):
        assert packed_first_bytes(byte_bits(text[0] for text in texts)) == wanted


def test_second_bytes_in_a_number() -> None:
    for texts, wanted in (
        ([], 0),
        ([b"<s>", b"<t>", b"[x"], 2 << 56 | ord("x") << 8),
        ([b"<s>", b"<sx"], 1 << 56 | ord("s")),
        ([b"<", b"<s"], 0),
    ):
        assert packed_second_bytes(added_filter(texts)) == wanted


def test_bytes_that_are_dropped_from_words_are_looked_for(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, CHAT)
    assert missing_bytes(facts) == set()
    external = facts["external"].copy()
    external[4] = 0xFFFF_FFFF
    assert missing_bytes({**facts, "drops_bytes": True, "external": external}) == {b"\x04"}
