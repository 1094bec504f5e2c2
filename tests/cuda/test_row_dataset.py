"""Rows on a device, from files, against the mill: every token once, for any rank and worker."""

from __future__ import annotations

import json
import pickle
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.fake_encoder import CpuEncoder, RowShim, build_rows
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import BOS, EOS

from tokenmill import (
    BadRecordFound,
    OptionError,
    PackedDataset,
    SpecialTokenInText,
    Tokenizer,
    TokenmillError,
    pack,
    stream,
)
from tokenmill._dataset.columns import Columns
from tokenmill._mill.device import rows as device_rows
from tokenmill._mill.device import text_batches
from tokenmill._mill.device.rows import DeviceRowStream
from tokenmill._pack import RowLooks, gather
from tokenmill._pack.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ("input_ids", "labels", "position_ids", "segment_ids", "attention_mask")
COMMON: dict[str, Any] = {"max_document_bytes": LONGEST}


@pytest.fixture(scope="module")
def encoder(small_json: Path, tmp_path_factory: pytest.TempPathFactory) -> CpuEncoder:
    tokenizer = Tokenizer.load(small_json)
    backend = RowShim(build_rows(tmp_path_factory.mktemp("rows")), shuffle=3)
    return CpuEncoder(tokenizer, backend)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


def rows_of(encoder: CpuEncoder, inputs: Any, **options: Any) -> DeviceRowStream:
    given = {"context_length": 32, "columns": COLUMNS, **COMMON, **options}
    return DeviceRowStream(inputs, encoder.tokenizer, encoder=encoder, **given)


def tables(batches: Any) -> dict[str, Any]:
    found = list(batches)
    return {name: np.concatenate([batch[name] for batch in found]) for name in found[0]}


def assert_equal(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, table in found.items():
        assert np.array_equal(table, wanted[name]), name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"overlap": 5, "bos": BOS},
        {"tail": "drop"},
        {"batch_bytes": 1},
        {"batch_bytes": 3000, "batch_size": 3, "threads": 1},
    ],
    ids=str,
)
def test_rows_are_those_that_the_mill_writes(
    options: dict[str, Any], encoder: CpuEncoder, dirty: Corpus, tmp_path: Path
) -> None:
    looks = ("batch_bytes", "batch_size", "threads")
    ours = {key: value for key, value in options.items() if key not in looks}
    manifest = pack(
        dirty.paths,
        output=tmp_path,
        tokenizer=encoder.tokenizer,
        context_length=32,
        **{"tail": "pad", **COMMON, **ours},
    )
    stored = PackedDataset(tmp_path, columns=COLUMNS, torch=False)
    rows = rows_of(encoder, dirty.paths, **options)
    assert_equal(tables(rows), stored.batch(np.arange(len(stored))))
    assert rows.documents == manifest.documents["out"]
    assert dict(rows.skipped) == manifest.documents["skipped"]
    books = manifest.tokens
    assert (rows.tokens, rows.padding, rows.dropped, rows.repeated) == tuple(
        books[name] for name in ("in", "padding", "dropped", "repeated")
    )
    assert rows.rows == len(stored)


@pytest.mark.parametrize("way", ["bestfit", "pad", "bos-bestfit-crop"])
def test_other_ways_pack_each_batch_of_text_by_itself(
    way: str,
    encoder: CpuEncoder,
    dirty: Corpus,
) -> None:
    options: dict[str, Any] = {"pack": way, "context_length": 32, "bos": BOS, **COMMON}
    rows = rows_of(encoder, dirty.paths, **options, batch_size=2, batch_bytes=1 << 30)
    batches = list(stream(dirty.paths, encoder.tokenizer, **options))
    ids = np.concatenate([batch.ids for batch in batches])
    lengths = np.concatenate([np.diff(batch.offsets) for batch in batches])
    pieces = rows._texts.task.plan.settings.packer().pack(lengths)
    begins = (np.cumsum(lengths) - lengths)[pieces.documents] + pieces.begins
    out = np.empty(int(pieces.lengths.sum()), ids.dtype)
    gather([ids], np.zeros(len(begins), np.int32), begins, pieces.lengths, out)
    wanted = Columns(RowLooks(COLUMNS), 32, EOS).of(Rows(out, pieces))
    assert_equal(tables(rows), wanted)


def texts_read(batches: Any) -> list[tuple[int, ...]]:
    """Return the documents of rows that hold one each."""
    found = []
    for batch in batches:
        for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True):
            found.append(tuple(ids[mask == 1].tolist()))
    return found


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Seven files of lines, of which the first is large enough to be cut."""
    folder = tmp_path_factory.mktemp("numbered")
    paths = []
    for number, count in enumerate([9000, 30, 20, 900, 1, 50, 700]):
        path = folder / f"{number}.jsonl"
        lines = [json.dumps({"text": f"{number} {line}"}) for line in range(count)]
        path.write_text("\n".join(lines) + "\n")
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("shuffle", [False, True])
def test_ranks_and_workers_read_every_document_once(
    shuffle: bool,
    encoder: CpuEncoder,
    numbered: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_batches, "_SMALLEST_STREAM", 2000)
    options: dict[str, Any] = {"pack": "pad", "shuffle": shuffle, "seed": 4, "batch_size": 64}
    wanted = texts_read(rows_of(encoder, numbered, **options))
    assert len(wanted) == 10701
    found, sizes = [], []
    for rank in range(2):
        for worker in range(3):
            monkeypatch.setattr(text_batches, "worker_of_loader", lambda w=worker: (w, 3))
            share = rows_of(encoder, numbered, rank=rank, ranks=2, **options)
            mine = texts_read(share)
            assert share.documents == len(mine)
            found += mine
            sizes.append(len(mine))
    assert sorted(found) == sorted(wanted)
    assert min(sizes) > max(sizes) / 2


def test_a_rank_for_which_nothing_is_left_is_told(encoder: CpuEncoder, numbered: list[str]) -> None:
    rows = rows_of(encoder, numbered[4], rank=1, ranks=2)
    with pytest.raises(
        OptionError, match="rank 1 of 2: the inputs have fewer streams than ranks, got 1"
    ):
        list(rows)


def test_each_epoch_shuffles_spans_again_by_the_seed(
    encoder: CpuEncoder, numbered: list[str]
) -> None:
    options: dict[str, Any] = {"pack": "pad", "shuffle": True, "batch_size": 64}
    rows = rows_of(encoder, numbered, **options)
    first, second = texts_read(rows), texts_read(rows)
    assert rows.epoch == 2
    assert sorted(first) == sorted(second)
    assert first != second
    rows.set_epoch(0)
    assert texts_read(rows) == first
    assert texts_read(rows_of(encoder, numbered, **options, seed=1)) != first


def test_the_last_batch_is_short_or_left_out_and_counted(
    encoder: CpuEncoder, numbered: list[str]
) -> None:
    rows = rows_of(encoder, numbered[1], context_length=7, batch_size=8)
    sizes = [len(batch["labels"]) for batch in rows]
    assert set(sizes[:-1]) == {8}
    assert 0 < sizes[-1] < 8
    dropping = rows_of(encoder, numbered[1], context_length=7, batch_size=8, drop_last=True)
    assert [len(batch["labels"]) for batch in dropping] == sizes[:-1]
    assert dropping.dropped_rows == sizes[-1]
    assert dropping.rows == sum(sizes[:-1])


def test_counts_are_those_of_what_was_read(encoder: CpuEncoder, numbered: list[str]) -> None:
    rows = rows_of(encoder, numbered[0], batch_bytes=1, batch_size=1)
    list(islice(rows, 3))
    assert rows.rows == 3
    assert 0 < rows.documents <= 9000
    assert rows.tokens >= 3 * 32


def test_borders_are_those_of_each_batch(encoder: CpuEncoder, numbered: list[str]) -> None:
    rows = rows_of(encoder, numbered[1], columns=["segment_ids", "cu_seqlens"], batch_size=4)
    for batch in rows:
        borders = batch["cu_seqlens"]
        assert borders[-1] == batch["segment_ids"].size
        begins = np.flatnonzero(np.diff(batch["segment_ids"].reshape(-1), prepend=-1))
        assert borders[:-1].tolist() == begins.tolist()


def test_a_special_token_or_a_bad_record_is_named_with_its_place(
    encoder: CpuEncoder, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello"}\n')
    (tmp_path / "b.jsonl").write_text('{"text": "hello"}\n{"text": "a </s>"}\n{"text": 3}\n')
    inputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with pytest.raises(SpecialTokenInText, match=r"b.jsonl:2: the text holds"):
        list(rows_of(encoder, inputs, special_in_text="raise"))
    with pytest.raises(BadRecordFound, match=r"b.jsonl:3: wrong type"):
        list(rows_of(encoder, inputs, on_bad={"wrong_type": "fail"}))


def test_documents_without_a_token_are_counted(encoder: CpuEncoder, tmp_path: Path) -> None:
    class Silent(CpuEncoder):
        """Leaves nothing of any text."""

        def encode(self, text: Any, offsets: Any, options: Any) -> tuple[Any, Any]:
            del text, options
            return self.backend.zeros(0, np.int32), np.zeros_like(offsets)

    (tmp_path / "a.txt").write_text("hello\nworld\n")
    silent = Silent(encoder.tokenizer, encoder.backend)
    rows = rows_of(silent, tmp_path / "a.txt", text_mode="line", eos=False)
    assert list(rows) == []
    assert rows.skipped == {"no_tokens": 2}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_tokens": 9}, "max_tokens: has no effect on rows that are made on the fly"),
        ({"batch_size": 0}, "batch_size: expected a whole number from 1, got 0"),
        ({"batch_bytes": 0}, "batch_bytes: expected a whole number from 1"),
        ({"rank": 2, "ranks": 2}, "rank: expected a rank from 0 to below 2, got 2"),
        ({"pack": "none"}, "pack 'none': expected rows of one length"),
        ({"dtype": "int8"}, "dtype: expected one of"),
    ],
)
def test_options_that_do_not_go_together(
    options: dict[str, Any], complaint: str, encoder: CpuEncoder, numbered: list[str]
) -> None:
    with pytest.raises(OptionError, match=complaint):
        list(rows_of(encoder, numbered, **options))


def test_without_a_gpu_the_reason_is_raised_when_it_begins(
    encoder: CpuEncoder, numbered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    rows = DeviceRowStream(numbered, encoder.tokenizer, context_length=8)
    with pytest.raises(TokenmillError, match="cupy"):
        next(iter(rows))


def test_it_can_be_sent_to_a_worker_which_opens_its_own_device(
    encoder: CpuEncoder, numbered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(encoder, numbered[1])
    sent = pickle.loads(pickle.dumps(rows))  # noqa: S301
    monkeypatch.setattr(device_rows, "open_encoder", lambda *_: encoder)
    assert_equal(tables(sent), tables(rows))
