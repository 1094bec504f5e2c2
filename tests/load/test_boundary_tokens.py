"""Which tokens end, begin and pad a document: files next to a tokenizer before well-known names."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.load.sentencepiece_models import CONTROL, UNK, Piece, model_file

from tokenmill import LoadError, Tokenizer
from tokenmill._load import hub
from tokenmill._load.boundary_tokens import (
    KNOWN_NAMES,
    BoundaryToken,
    BoundaryTokens,
    find_boundary_tokens,
)

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["a", "<|im_end|>", "</s>", "<s>", "<pad>", "<|endoftext|>", "<mine>"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tokenizer of seven tokens, all special but the first."""
    path = tmp_path_factory.mktemp("tokenizer")
    tokens = [
        {"id": i, "content": name, "special": True, "normalized": False, "single_word": False,
         "lstrip": False, "rstrip": False}
        for i, name in enumerate(NAMES) if i
    ]  # fmt: skip
    model = {
        "type": "WordLevel",
        "vocab": {name: i for i, name in enumerate(NAMES)},
        "unk_token": "a",
    }
    data = {"version": "1.0", "added_tokens": tokens, "model": model, "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None}  # fmt: skip
    (path / "tokenizer.json").write_text(json.dumps(data))
    return path


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.load(folder)


def write_next_to(tmp_path: Path, **files: object) -> Path:
    """Write files like tokenizer_config={...}; return the path of the tokenizer next to them."""
    for name, data in files.items():
        text = data if isinstance(data, str) else json.dumps(data)
        (tmp_path / f"{name}.json").write_text(text)
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    return path


def test_names_decide_where_no_file_lies_beside_it(folder: Path, tokenizer: Tokenizer) -> None:
    for source in (folder, folder / "tokenizer.json", str(folder), None, "no/such place"):
        found = find_boundary_tokens(source, tokenizer)
        assert found == BoundaryTokens(
            BoundaryToken(5, "<|endoftext|>", "its special tokens"),
            BoundaryToken(3, "<s>", "its special tokens"),
            BoundaryToken(4, "<pad>", "its special tokens"),
        )


def test_the_end_of_a_turn_is_the_last_resort() -> None:
    assert KNOWN_NAMES["eos"][-1] == "<|im_end|>"
    assert not set(KNOWN_NAMES["eos"]) & set(KNOWN_NAMES["bos"])


def test_the_name_of_an_ordinary_token_means_nothing() -> None:
    vocabulary = SimpleNamespace(
        special_tokens={},
        vocab_size=1,
        token_to_id=lambda _: 0,
        id_to_token=lambda _: "</s>",
        token_bytes=lambda _: b"</s>",
    )
    assert find_boundary_tokens(None, vocabulary) == BoundaryTokens()


def test_control_pieces_of_sentencepiece_have_names_too(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    pieces = [UNK, Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL)]
    path.write_bytes(model_file([*pieces, Piece("<pad>", -1), Piece("a", -1)]))
    found = find_boundary_tokens(path, Tokenizer.load(path))
    assert found == BoundaryTokens(
        BoundaryToken(2, "</s>", "its control pieces"),
        BoundaryToken(1, "<s>", "its control pieces"),
    )


@pytest.mark.parametrize("file", ["tokenizer_config", "special_tokens_map"])
@pytest.mark.parametrize("token", ["<mine>", {"content": "<mine>", "lstrip": False}])
def test_a_file_names_the_token(
    file: str, token: object, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    source = write_next_to(tmp_path, **{file: {"eos_token": token, "bos_token": None}})
    found = find_boundary_tokens(source, tokenizer)
    assert found.eos == BoundaryToken(6, "<mine>", f"{file}.json: eos_token")
    assert found.bos == BoundaryToken(3, "<s>", "its special tokens")


@pytest.mark.parametrize("file", ["generation_config", "config"])
def test_a_file_gives_the_id(file: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    source = write_next_to(tmp_path, **{file: {"eos_token_id": 6, "pad_token_id": -1}})
    found = find_boundary_tokens(source, tokenizer)
    assert found.eos == BoundaryToken(6, "<mine>", f"{file}.json: eos_token_id")
    assert found.pad == BoundaryToken(4, "<pad>", "its special tokens")


def test_a_model_that_also_sees_has_a_section_for_text(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    source = write_next_to(tmp_path, config={"text_config": {"eos_token_id": 2}})
    found = find_boundary_tokens(source, tokenizer).eos
    assert found == BoundaryToken(2, "</s>", "config.json: eos_token_id")


@pytest.mark.parametrize(
    ("ids", "wanted"), [([1, 2, 5], 5), ([1, 2], 2), ([6, 1], 1), ([6, 0], 6), ([], 5)]
)
def test_of_several_ids_the_best_known_counts(
    ids: list[int], wanted: int, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    source = write_next_to(tmp_path, generation_config={"eos_token_id": ids})
    found = find_boundary_tokens(source, tokenizer).eos
    assert found is not None
    assert found.id == wanted


def test_files_count_in_their_order(tokenizer: Tokenizer, tmp_path: Path) -> None:
    files = {
        "config": {"eos_token_id": 5},
        "generation_config": {"eos_token_id": [1, 2]},
        "special_tokens_map": {"eos_token": "<mine>"},
        "tokenizer_config": {"eos_token": "<s>"},
    }
    wanted = {"config": 5, "generation_config": 2, "special_tokens_map": 6, "tokenizer_config": 3}
    for file, data in files.items():
        found = find_boundary_tokens(write_next_to(tmp_path, **{file: data}), tokenizer).eos
        assert found is not None
        assert found.id == wanted[file]


@pytest.mark.parametrize(
    ("file", "data", "complaint"),
    [
        ("tokenizer_config", {"eos_token": "<gone>"}, "a token of the vocabulary, got '<gone>'"),
        ("tokenizer_config", {"eos_token": 5}, "expected the text of a token, got 5"),
        ("config", {"eos_token_id": 7}, "an id of the vocabulary, got 7"),
        ("config", {"eos_token_id": [2, 99]}, "an id of the vocabulary, got 99"),
        ("config", {"eos_token_id": "2"}, "an id of the vocabulary, got '2'"),
        ("config", {"eos_token_id": True}, "an id of the vocabulary, got True"),
        ("config", "{", "expected JSON"),
        ("config", "[]", "expected an object"),
    ],
)
def test_a_file_that_is_wrong_is_an_error_that_names_it(
    file: str, data: object, complaint: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(LoadError, match=complaint) as caught:
        find_boundary_tokens(write_next_to(tmp_path, **{file: data}), tokenizer, ["eos"])
    assert caught.value.path == tmp_path / f"{file}.json"


def test_only_the_roles_asked_for_are_looked_at(tokenizer: Tokenizer, tmp_path: Path) -> None:
    source = write_next_to(tmp_path, tokenizer_config={"pad_token": "<gone>", "eos_token": "</s>"})
    found = find_boundary_tokens(source, tokenizer, ["eos"])
    assert found == BoundaryTokens(BoundaryToken(2, "</s>", "tokenizer_config.json: eos_token"))


def test_a_tokenizer_of_another_library_is_asked(tokenizer: Tokenizer) -> None:
    source = SimpleNamespace(bos_token=None)
    source.eos_token, source.pad_token = "</s>", "<gone>"
    found = find_boundary_tokens(source, tokenizer)
    assert found.eos == BoundaryToken(2, "</s>", "SimpleNamespace.eos_token")
    assert found.pad == BoundaryToken(4, "<pad>", "its special tokens")


def test_a_repository_of_the_hub_is_asked_for_its_files(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    from huggingface_hub.errors import EntryNotFoundError

    class MissingError(EntryNotFoundError):  # type: ignore[misc]  # the library is not typed here
        def __init__(self) -> None:
            Exception.__init__(self, "404")

    write_next_to(tmp_path, tokenizer_config={"eos_token": "<mine>"})

    def download(_repository: str, name: str, **_: object) -> str:
        if not (tmp_path / name).exists():
            raise MissingError
        return str(tmp_path / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    found = find_boundary_tokens("owner/name", tokenizer).eos
    assert found == BoundaryToken(6, "<mine>", "tokenizer_config.json: eos_token")
    assert hub.fetch_beside("owner/name", ("config.json",)) is None
