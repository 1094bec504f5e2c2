"""What a format cannot hold is refused before a byte is written."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.write.shards import SIGNED, read, shard_of, write

from tokenmill import CorruptShard, DtypeError, OptionError, ShardTooLarge, TokenmillError
from tokenmill._pack.rows import Rows, ShardShape
from tokenmill._write import FORMATS, Extras

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30


def shape(rows: list[int], dtype: str = "uint32", context: int | None = None) -> ShardShape:
    return ShardShape(np.array(rows, np.int64), dtype, context, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_an_id_that_uint16_cannot_hold_is_refused(form: str) -> None:
    small = shape([4], "uint16", 4)
    FORMATS[form].check(small, max_id=0xFFFF)
    with pytest.raises(DtypeError, match="id 65536 does not fit uint16; hint: use uint32"):
        FORMATS[form].check(small, max_id=0x10000)
    with pytest.raises(DtypeError, match="id 70000 does not fit uint16"):
        FORMATS[form].check(ShardShape(small.row_lengths, "uint16", 4, 70000))
    with pytest.raises(DtypeError, match="unknown dtype 'int8'"):
        FORMATS[form].check(shape([4], "int8", 4))


@pytest.mark.parametrize("form", FORMATS)
def test_an_id_that_int32_cannot_hold_is_refused_where_ids_are_signed(form: str) -> None:
    wide = shape([4], "uint32", 4)
    FORMATS[form].check(wide, max_id=(1 << 31) - 1)
    if form in SIGNED:
        with pytest.raises(DtypeError, match="2147483648 does not fit int32"):
            FORMATS[form].check(wide, max_id=1 << 31)
    else:
        FORMATS[form].check(wide, max_id=(1 << 32) - 1)


# int64 holds every id.
@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"torch-chunks"}))
def test_an_id_that_does_not_fit_is_refused_too(form: str, tmp_path: Path) -> None:
    shard = shard_of([[[1, 2]]], context=2)
    writer = FORMATS[form].open_shard(tmp_path, 0, shard.shape)
    if form in SIGNED - {"megatron"}:
        ids = np.array([1, 1 << 31], np.uint32)
    else:
        ids = np.array([1, 1 << 16], np.uint32)
    with pytest.raises(DtypeError, match=f"id {ids[1]} does not fit"):
        writer.write(Rows(ids, shard.rows.pieces))
    writer.discard()


@pytest.mark.parametrize(
    ("form", "tokens", "problem"),
    [
        ("llmc", (2 * GIB - 1024) // 4, "2,147,483,648 bytes are too many"),
        ("litdata", (4 * GIB - 12) // 4, "4,294,967,296 bytes are too many"),
        ("mds", GIB, "bytes are too many: the limit of the format is 4,294,967,296"),
        ("megatron", 2 * GIB, "2,147,483,648 tokens in one row are too many"),
        ("npy", 2 * GIB, "tokens in one row are too many"),
        ("torch", 2 * GIB, "tokens in one row are too many"),
        ("parquet", 2 * GIB, "tokens in one row are too many"),
        ("arrow", 2 * GIB, "tokens in one row are too many"),
    ],
)
def test_sizes_are_limited(form: str, tokens: int, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ShardTooLarge, match=f"{problem}.*; hint: make the shards smaller"):
        FORMATS[form].check(shape([tokens], context=tokens))
    with pytest.raises(ShardTooLarge):
        FORMATS[form].open_shard(tmp_path, 0, shape([tokens], context=tokens))
    assert list(tmp_path.iterdir()) == []
    fits = tokens - GIB // 128
    FORMATS[form].check(shape([fits], context=fits))


@pytest.mark.parametrize("form", ["bin", "datatrove", "olmo", "npy", "torch", "torch-chunks"])
def test_other_formats_take_large_shards(form: str) -> None:
    FORMATS[form].check(shape([GIB] * 6, context=GIB))


@pytest.mark.parametrize("form", ["npy", "litdata", "torch", "torch-chunks"])
def test_formats_of_fixed_rows_refuse_documents(form: str) -> None:
    with pytest.raises(OptionError, match="expected rows of one length"):
        FORMATS[form].check(shape([1, 2]))


@pytest.mark.parametrize("form", FORMATS)
def test_rows_longer_than_the_context_are_refused(form: str) -> None:
    with pytest.raises(OptionError, match="a row of 5 tokens is longer than the context of 4"):
        FORMATS[form].check(shape([4, 5], context=4))
    with pytest.raises(OptionError, match="expected a context of at least 1 token, got 0"):
        FORMATS[form].check(shape([], context=0))


def test_a_tokenizer_whose_name_would_break_the_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot be stored here, got 'a\|b'"):
        write("datatrove", tmp_path, shard_of([[[1]]]), extras=Extras(tokenizer="a|b"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMATS)
def test_short_rows_need_an_id_to_fill_them_with(form: str) -> None:
    short = ShardShape(np.array([4, 3]), "uint16", 4, pad_id=None)
    if form in {"parquet", "arrow"}:
        FORMATS[form].check(short)
    else:
        with pytest.raises(OptionError, match="1 rows are shorter than 4 tokens"):
            FORMATS[form].check(short)
    FORMATS[form].check(ShardShape(np.array([4, 4]), "uint16", 4, pad_id=None))


@pytest.mark.parametrize("form", FORMATS)
def test_a_shard_that_was_cut_short_is_found(form: str, tmp_path: Path) -> None:
    shard = shard_of([[[1, 2, 3]]] * 5, context=3)
    records, _, _ = write(form, tmp_path, shard)
    path = tmp_path / records[0].path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptShard) as caught:
        read(form, tmp_path, "uint16")
    assert caught.value.path == path


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("padded", [True, False])
def test_damage_anywhere_gives_ids_or_one_of_our_errors(
    form: str, padded: bool, tmp_path: Path
) -> None:
    records, _, _ = write(form, tmp_path, shard_of([[[1, 2, 3]], [[4]]], context=3, padded=padded))
    choose = random.Random(5)  # noqa: S311
    for record in records:
        path = tmp_path / record.path
        whole = path.read_bytes()
        for _ in range(40):
            data = bytearray(whole)
            data[choose.randrange(len(data))] ^= choose.randrange(1, 256)
            path.write_bytes(data[: choose.choice((None, choose.randrange(len(data))))])
            with contextlib.suppress(TokenmillError):
                read(form, tmp_path, "uint16")
        path.write_bytes(whole)


@pytest.mark.parametrize("form", FORMATS)
def test_a_missing_shard_is_found(form: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptShard, match="no such file"):
        read(form, tmp_path, "uint16")


@pytest.mark.parametrize("form", ["megatron", "llmc", "mds", "npy"])
def test_a_shard_of_another_number_type_is_found(form: str, tmp_path: Path) -> None:
    write(form, tmp_path, shard_of([[[1, 2, 3, 4]]], context=4))
    with pytest.raises(CorruptShard):
        read(form, tmp_path, "uint32")


@pytest.mark.parametrize("form", ["megatron", "datatrove"])
def test_a_damaged_index_is_found(form: str, tmp_path: Path) -> None:
    records, _, _ = write(form, tmp_path, shard_of([[[1, 2, 3, 4]]]))
    index = tmp_path / records[1].path
    index.write_bytes(index.read_bytes()[:-3])
    with pytest.raises(CorruptShard) as caught:
        read(form, tmp_path, "uint16")
    assert caught.value.path == index
