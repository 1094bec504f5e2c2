"""The bytes of tiny shards, written out by hand from the descriptions of the formats."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest
import xxhash
from tests.write.shards import shard_of, write

from tokenmill._write import FORMATS, Extras

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

# Two documents: 1 258 3, and 4 5. As rows of three with padding 9 the second is 4 5 9.
DOCUMENTS = [[[1, 258, 3]], [[4, 5]]]
U16 = bytes.fromhex("0100 0201 0300 0400 0500")
U16_PADDED = U16 + bytes.fromhex("0900")
I32 = bytes.fromhex("01000000 02010000 03000000 04000000 05000000")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_bin(tmp_path: Path) -> None:
    write("bin", tmp_path, shard_of(DOCUMENTS))
    write("bin", tmp_path, shard_of(DOCUMENTS, context=3, pad_id=9), number=1)
    write("bin", tmp_path, shard_of(DOCUMENTS, context=3, padded=False), number=2)
    write("bin", tmp_path, shard_of(DOCUMENTS, dtype="uint32"), number=3, split="val")
    assert files(tmp_path) == {
        "shard-00000.bin": U16,
        "shard-00001.bin": U16_PADDED,
        "shard-00002.bin": U16,
        "val-00003.bin": I32,
    }


@pytest.mark.parametrize(
    ("dtype", "code", "size", "ids"), [("uint16", 8, 2, U16), ("uint32", 4, 4, I32)]
)
def test_megatron(tmp_path: Path, dtype: str, code: int, size: int, ids: bytes) -> None:
    write("megatron", tmp_path, shard_of(DOCUMENTS, dtype=dtype))
    index = bytes.fromhex("4D 4D 49 44 49 44 58 00 00") + struct.pack("<QBQQ", 1, code, 2, 3)
    index += struct.pack("<2i", 3, 2)  # lengths
    index += struct.pack("<2q", 0, 3 * size)  # byte offsets
    index += struct.pack("<3q", 0, 1, 2)  # first sequence of each document, and the end
    assert len(index) == 42 + 20 * 2
    assert files(tmp_path) == {"shard-00000.bin": ids, "shard-00000.idx": index}


def test_datatrove(tmp_path: Path) -> None:
    write("datatrove", tmp_path, shard_of(DOCUMENTS), extras=Extras(tokenizer="gpt2"))
    write("datatrove", tmp_path, shard_of([[[7] * 1250]], dtype="uint32"), number=1)
    found = files(tmp_path)
    assert found["shard-00000.ds"] == U16
    assert found["shard-00000.ds.index"] == struct.pack("<2Q", 3, 5)
    assert found["shard-00000.ds.metadata"] == b"gpt2|2\n5\n5.00 T"
    assert found["shard-00001.ds.metadata"] == b"Unknown Tokenizer|4\n1250\n1.25 kT"


def test_olmo(tmp_path: Path) -> None:
    def places(documents: NDArray[np.int64]) -> Iterator[tuple[str, str, int]]:
        return ((f'd"{n}', "a,b.jsonl", n + 11) for n in documents.tolist())

    write("olmo", tmp_path, shard_of(DOCUMENTS), extras=Extras(places=places))
    two_a_row = [[[1, 2], [3]], [[4]], [[5, 6, 7]]]
    write("olmo", tmp_path, shard_of(two_a_row, context=4, pad_id=9), number=1)
    found = files(tmp_path)
    assert found["shard-00000.npy"] == U16
    table = gzip.decompress(found["shard-00000.csv.gz"])
    assert table == b'0,3,"d""0","a,b.jsonl",11\n3,5,"d""1","a,b.jsonl",12\n'
    assert found["shard-00000.csv.gz"][4:8] == bytes(4)  # no time
    assert gzip.decompress(found["shard-00001.csv.gz"]) == (
        b"0,2,0,,0\n2,3,1,,0\n4,5,2,,0\n8,11,3,,0\n"
    )


def test_llmc(tmp_path: Path) -> None:
    write("llmc", tmp_path, shard_of(DOCUMENTS))
    write("llmc", tmp_path, shard_of(DOCUMENTS, dtype="uint32"), number=7, split="val")
    assert files(tmp_path) == {
        "tokens_train_000000.bin": struct.pack("<256i", 20240520, 1, 5, *[0] * 253) + U16,
        "tokens_val_000007.bin": struct.pack("<256i", 20240801, 7, 5, *[0] * 253) + I32,
    }


def test_litdata(tmp_path: Path) -> None:
    shard = shard_of(DOCUMENTS, context=3, pad_id=9)
    facts = [write("litdata", tmp_path, shard, number=n)[1] for n in range(2)]
    FORMATS["litdata"].finish(tmp_path, facts)
    found = files(tmp_path)
    index = json.loads(found.pop("index.json"))
    chunk = struct.pack("<3I", 1, 12, 24) + U16_PADDED
    assert found == {"chunk-0-0.bin": chunk, "chunk-0-1.bin": chunk}
    assert index.pop("updated_at").isdigit()
    assert index == {
        "chunks": [
            {"chunk_bytes": 24, "chunk_size": 1, "dim": 6, "filename": f"chunk-0-{n}.bin"}
            for n in range(2)
        ],
        "config": {
            "chunk_bytes": 24,
            "chunk_size": None,
            "compression": None,
            "data_format": ["no_header_numpy:5"],
            "data_spec": '[1, {"type": null, "context": null, "children_spec": []}]',
            "encryption": None,
            "item_loader": "TokensLoader",
        },
    }


def mds_description(encoding: str, size: str) -> bytes:
    return (
        f'{{"column_encodings": ["{encoding}"], "column_names": ["tokens"], '
        f'"column_sizes": [{size}], "compression": null, "format": "mds", '
        '"hashes": ["xxh64"], "size_limit": null'
        ', "version": 2}'
    ).encode()


def test_mds_with_rows_of_one_length(tmp_path: Path) -> None:
    shard = shard_of(DOCUMENTS, context=3, pad_id=9)
    _, facts, _ = write("mds", tmp_path, shard, number=2, split="train")
    FORMATS["mds"].finish(tmp_path, [facts])
    description = mds_description("ndarray:uint16:3", "6")
    begin = 4 + 12 + len(description)
    data = struct.pack("<4I", 2, begin, begin + 6, begin + 12) + description + U16_PADDED
    found = files(tmp_path)
    assert found["train/shard.00002.mds"] == data
    assert json.loads(found["train/index.json"]) == {
        "version": 2,
        "shards": [
            {
                **json.loads(description),
                "samples": 2,
                "raw_data": {
                    "basename": "shard.00002.mds",
                    "bytes": len(data),
                    "hashes": {"xxh64": xxhash.xxh64_hexdigest(data)},
                },
                "zip_data": None,
            }
        ],
    }


def test_mds_with_rows_of_their_own_lengths(tmp_path: Path) -> None:
    write("mds", tmp_path, shard_of([[[1, 258, 3]], [[7] * 300]]))
    description = mds_description("ndarray:uint16", "null")
    begin = 4 + 12 + len(description)
    short = struct.pack("<IBB", 8, 0b100, 3) + U16[:6]  # size, one dimension of a byte, 3
    long = struct.pack("<IBH", 603, 0b101, 300) + b"\x07\x00" * 300
    offsets = struct.pack("<4I", 2, begin, begin + 12, begin + 12 + 607)
    assert files(tmp_path) == {"shard.00000.mds": offsets + description + short + long}


def test_npy(tmp_path: Path) -> None:
    write("npy", tmp_path, shard_of(DOCUMENTS, context=3, pad_id=9))
    head = b"{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }"
    lens = b"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"
    begin = b"\x93NUMPY\x01\x00\x76\x00"  # 118 = 128 - 10
    assert files(tmp_path) == {
        "shard-00000.npy": begin + head.ljust(117) + b"\n" + U16_PADDED,
        "shard-00000.lens.npy": begin + lens.ljust(117) + b"\n" + struct.pack("<2i", 3, 2),
    }


CHUNK_PICKLE = (
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n"
    b"((X\x07\x00\x00\x00storagectorch\nLongStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    b"\x8a\x01\x06tQ"  # six numbers
    b"\x8a\x01\x00(\x8a\x01\x02\x8a\x01\x03t(\x8a\x01\x03\x8a\x01\x01t"  # offset, shape, strides
    b"\x89ccollections\nOrderedDict\n)RtR."
)
CHUNK_SHA256 = "19aeeb69731939fdec80733d3feaa46d35dc667c1344af19af8980def9ef4645"


def test_torch_chunks(tmp_path: Path) -> None:
    write("torch-chunks", tmp_path, shard_of(DOCUMENTS, context=3, pad_id=9))
    write("torch-chunks", tmp_path, shard_of(DOCUMENTS, context=3), number=7, split="val")
    found = files(tmp_path)
    assert set(found) == {"chunk_000000.pt", "val/chunk_000007.pt"}
    data = found["chunk_000000.pt"]
    with zipfile.ZipFile(tmp_path / "chunk_000000.pt") as container:
        assert {name: container.read(name) for name in container.namelist()} == {
            "shard/data/0": struct.pack("<6q", 1, 258, 3, 4, 5, 9),
            "shard/data.pkl": CHUNK_PICKLE,
            "shard/byteorder": b"little",
            "shard/version": b"3\n",
        }
        assert data.index(struct.pack("<6q", 1, 258, 3, 4, 5, 9)) == 64  # aligned for a map
    assert hashlib.sha256(data).hexdigest() == CHUNK_SHA256
