"""Tokenizers that are already loaded, and files in the cache of the hub."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING

import huggingface_hub
import pytest
from huggingface_hub import constants
from tests.load.sources import added, tokenizer_json, write_json
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from tokenmill._errors import MissingDependency, SourceNotFound, UnsupportedTokenizer
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

DATA = tokenizer_json(added=[added("<s>", 256)])
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Fast:
    """What a fast tokenizer of transformers offers."""

    def __init__(self, backend: Tokenizer, name: str) -> None:
        self.backend_tokenizer = backend
        self.name_or_path = name


def test_a_loaded_tokenizer_gives_what_its_file_gives(tmp_path: Path) -> None:
    path = write_json(tmp_path, DATA)
    expected = load_source(path).content_hash
    tokenizer = Tokenizer.from_file(str(path))
    assert load_source(tokenizer).content_hash == expected
    fast = load_source(Fast(tokenizer, "some/model"))
    assert fast.content_hash == expected
    assert fast.name == "some/model"
    assert fast.source is not None
    assert json.loads(fast.source)["version"] == "1.0"


def test_tokens_added_later_are_seen(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(write_json(tmp_path, DATA)))
    tokenizer.add_tokens([AddedToken("new", single_word=True)])
    spec = load_source(tokenizer)
    assert [(t.content, t.id, t.special, t.single_word) for t in spec.added_tokens] == [
        ("<s>", 256, True, False),
        ("new", 257, False, True),
    ]


def test_ids_that_would_change_on_saving_are_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(write_json(tmp_path, DATA)))
    tokenizer.add_tokens(["new"])
    # A larger model makes the ids of the added tokens outdated.
    vocab = {**DATA["model"]["vocab"], "ab": 256}
    tokenizer.model = models.BPE(vocab=vocab, merges=[])
    with pytest.raises(UnsupportedTokenizer, match="keep their ids"):
        load_source(tokenizer)


def test_parts_written_in_python_are_refused(tmp_path: Path) -> None:
    class Custom:
        def pre_tokenize(self, pretok: object) -> None:
            del pretok

    tokenizer = Tokenizer.from_file(str(write_json(tmp_path, DATA)))
    tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Custom())
    with pytest.raises(UnsupportedTokenizer, match="written as JSON"):
        load_source(tokenizer)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache of our own, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


@pytest.mark.parametrize("name", ["owner/name", "gpt2", "llama-3.1"])
def test_a_repository_in_the_cache_is_read_without_asking(cache: Path, name: str) -> None:
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, "utf-8")
    path = write_json(snapshot, DATA)
    spec = load_source(name)
    assert spec.name == name
    assert spec.content_hash == load_source(path).content_hash


def test_a_repository_that_cannot_be_reached_is_not_found(cache: Path) -> None:
    assert not list(cache.iterdir())
    with pytest.raises(SourceNotFound, match="network") as caught:
        load_source("owner/absent")
    assert caught.value.source == "owner/absent"


@pytest.mark.parametrize("name", ["tokenizer.json", "ranks.tiktoken", "vocab.txt", "a.mill"])
def test_a_file_that_is_missing_is_not_looked_for_on_the_hub(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # asking would raise
    with pytest.raises(SourceNotFound, match="no such file or directory"):
        load_source(name)


def test_a_repository_without_a_tokenizer_is_not_found(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    class MissingError(EntryNotFoundError):  # type: ignore[misc]  # the library is not typed here
        def __init__(self) -> None:
            Exception.__init__(self, "404")

    def download(repository: str, name: str, **_: object) -> str:
        raise MissingError

    assert cache.is_dir()
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(SourceNotFound, match=r"tokenizer.json.*got none"):
        load_source("owner/name")


@pytest.mark.parametrize("proxy", ["", "http://proxy:80"])
def test_without_a_network_nobody_waits(
    cache: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    asked = []

    def download(_repository: str, name: str, *, local_files_only: bool) -> str:
        asked.append((name, local_files_only))
        raise FileNotFoundError("what the library says")

    def look_up(*_: object) -> None:
        raise OSError

    assert cache.is_dir()
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(SourceNotFound, match="what the library" if proxy else "no network"):
        load_source("a-model")
    assert asked == [("tokenizer.json", not proxy)]


def test_without_the_hub_package_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingDependency, match=r"tokenmill\[hf\]") as caught:
        load_source("owner/name")
    assert caught.value.name == "huggingface_hub"
