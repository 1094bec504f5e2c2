"""Shards and the table of documents that are made before all inputs are read."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.outputs import digests, unfinished_names

from tokenmill import pack
from tokenmill._mill.run import encode, run, shards
from tokenmill._mill.run.prefix import Prefix
from tokenmill._mill.run.tokenize import Tokenizing
from tokenmill._read import parse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mill.corpus import Corpus

    from tokenmill import Tokenizer

pytestmark = pytest.mark.usefixtures("_small")
WAYS: list[dict[str, Any]] = [
    {"context_length": 64},
    {"context_length": 64, "overlap": 9, "tail": "drop"},
    {"context_length": 64, "pack": "bestfit"},
    {"pack": "none", "format": "bin,megatron"},
]


@pytest.fixture
def mill(dirty: Corpus, tokenizer: Tokenizer) -> Any:
    return partial(
        pack, dirty.files, tokenizer=tokenizer, workers=2, shard_tokens=1500,
        max_document_bytes=900,
    )  # fmt: skip


def as_if_nothing_were_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.Sharding, "complete_count", 0)
    monkeypatch.setattr(Prefix, "is_complete", False)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_early_shards_are_those_of_a_run_without_them(
    way: dict[str, Any], mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    finish = run.Run._pack

    def noted(self: Any, parts: Any) -> Any:
        seen.extend(sorted(self._early.records))
        return finish(self, parts)

    monkeypatch.setattr(run.Run, "_pack", noted)
    mill(output=tmp_path / "early", **way)
    assert len(seen) > 2
    assert seen == list(range(len(seen)))
    with monkeypatch.context() as patch:
        as_if_nothing_were_early(patch)
        seen.clear()
        mill(output=tmp_path / "late", **way)
        assert not seen
    assert digests(tmp_path / "early") == digests(tmp_path / "late")


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": 3000}, {"max_sequences": 20}, {"shuffle": "docs"}, {"limit_documents": 90}],
    ids=str,
)
def test_no_shard_is_early_if_it_depends_on_the_whole(
    options: dict[str, Any], mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        run, "EarlyShards", lambda *_: pytest.fail("it is not known before the end")
    )
    mill(output=tmp_path / "out", context_length=64, **options)


def test_a_run_that_failed_late_keeps_its_early_shards(
    mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill(output=tmp_path / "whole", context_length=64)
    with monkeypatch.context() as patch:
        patch.setattr(run, "refuse_no_documents", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            mill(output=tmp_path / "out", context_length=64)
    assert not unfinished_names(tmp_path / "out")
    assert not (tmp_path / "out" / "documents.parquet").exists()
    monkeypatch.setattr(shards.Sharding, "make", lambda *_: pytest.fail("it is there"))
    mill(output=tmp_path / "out", context_length=64)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_an_error_in_an_early_shard_ends_the_run(
    mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shards.Sharding, "make", lambda *_: 1 // 0)
        patch.setattr(run.Run, "_pack", lambda *_: pytest.fail("it failed before"))
        with pytest.raises(ZeroDivisionError):
            mill(output=tmp_path / "out", context_length=64)
    assert not unfinished_names(tmp_path / "out")


def test_a_raw_block_is_free_before_its_text_is_encoded(
    mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of gigabytes is not in memory twice while it is encoded."""
    blocks: list[weakref.ref[Any]] = []
    ids = encode.BlockEncoder._ids

    def parsing(raw: Any, *rest: Any) -> Any:
        blocks.append(weakref.ref(raw))
        return parse(raw, *rest)

    def encoding(self: Any, block: Any) -> Any:
        assert sum(raw() is not None for raw in blocks) == 0
        return ids(self, block)

    monkeypatch.setattr(encode, "parse", parsing)
    monkeypatch.setattr(encode.BlockEncoder, "_ids", encoding)
    mill(output=tmp_path / "out", context_length=64, workers=1)
    assert blocks


def test_workers_that_share_a_long_text_change_no_byte(
    mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill(output=tmp_path / "one", context_length=64)
    monkeypatch.setattr(encode, "_LONG_BYTES", 1)
    mill(output=tmp_path / "all", context_length=64)
    assert digests(tmp_path / "one") == digests(tmp_path / "all")


def test_streams_are_shared_in_order_only_if_there_is_a_limit(
    mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[bool] = []
    begin = Tokenizing.run

    def noted(self: Tokenizing, workers: int) -> None:
        orders.append(self._in_order)
        begin(self, workers)

    monkeypatch.setattr(Tokenizing, "run", noted)
    mill(output=tmp_path / "all", context_length=64)
    mill(output=tmp_path / "some", context_length=64, limit_documents=5)
    assert orders == [False, True]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_shards_that_are_copied_at_once_are_the_same(
    way: dict[str, Any], mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[bool] = []
    copying = shards.Sharding._copy

    def noted(self: Any, *given: Any) -> bool:
        used.append(copying(self, *given))
        return used[-1]

    monkeypatch.setattr(shards.Sharding, "_copy", noted)
    mill(output=tmp_path / "copied", **way)
    # Rows of bestfit are filled up, and two formats share what is read.
    assert any(used) is (way.get("pack") != "bestfit" and "format" not in way)
    monkeypatch.setattr(shards.Sharding, "_copy", lambda *_: False)
    mill(output=tmp_path / "gathered", **way)
    assert digests(tmp_path / "copied") == digests(tmp_path / "gathered")
