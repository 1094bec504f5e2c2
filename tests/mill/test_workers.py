"""The same bytes for any number of workers, and for any size of blocks, streams, parts, buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.outputs import BOS, digests
from tests.mill.tuned import Sizes, shrink

from tokenmill._mill.pack import pack

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

pytestmark = pytest.mark.usefixtures("_small")

OPTIONS: list[dict[str, Any]] = [
    {"context_length": 128, "overlap": 17},
    {"context_length": 128, "pack": "bestfit", "validation": "20%", "shuffle": "docs"},
    {"context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS},
    {"context_length": 128, "max_tokens": 5000},
    {"context_length": 128, "limit_documents": 113},
    {"context_length": 128, "pack": "pad", "long_documents": "truncate", "max_sequences": 90},
    {"context_length": 128, "format": "bin,npy,parquet,mds,litdata,arrow,torch,llmc"},
    {"pack": "none", "format": "datatrove,olmo,megatron,bin", "shuffle": "docs", "seed": 5},
]
WEIGHED = [
    {"context_length": 128},
    {"context_length": 128, "shuffle": "docs", "validation": 0.1, "max_tokens": 4000},
]
COMMON: dict[str, Any] = {"shard_tokens": 4000, "max_document_bytes": LONGEST}


def made(folder: Path, inputs: Any, tokenizer: Tokenizer, **options: Any) -> dict[str, str]:
    pack(inputs, output=folder, tokenizer=tokenizer, **{**COMMON, **options})
    return digests(folder)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_workers_change_no_byte(
    options: dict[str, Any], dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    one, two, seven = (
        made(tmp_path / str(n), dirty.paths, tokenizer, workers=n, **options) for n in (1, 2, 7)
    )
    assert one == two == seven
    assert any(name.endswith(".rows") for name in one)


@pytest.mark.parametrize("options", WEIGHED, ids=str)
def test_workers_change_no_byte_of_a_mix(
    options: dict[str, Any], dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    weighed = [
        {"paths": dirty.paths[:1], "weight": "0.7"},
        {"paths": dirty.paths[1:], "weight": "0.3", "max_tokens": 9000},
    ]
    one, two, seven = (
        made(tmp_path / str(n), weighed, tokenizer, workers=n, **options) for n in (1, 2, 7)
    )
    assert one == two == seven


SIZES = [
    Sizes(block_bytes=1, stream_bytes=5_000, part_bytes=1_000, bucket_tokens=100_000),
    Sizes(block_bytes=700, stream_bytes=701, part_bytes=100_000, batch_tokens=1),
    Sizes(block_bytes=50_000, stream_bytes=10**9, part_bytes=1, buffer_bytes=1, open_files=64),
    Sizes(10**8, 10**8, 10**8, 10**8, 10**8, 10**8, 10**8),
]


@pytest.mark.parametrize(
    "options",
    [
        {"context_length": 128, "validation": 0.25},
        {"context_length": 128, "pack": "bestfit", "shuffle": "docs", "format": "bin,datatrove"},
    ],
    ids=str,
)
def test_sizes_change_no_byte(
    options: dict[str, Any],
    dirty: Corpus,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The Parquet writer starts a row group with each part.
    but = "documents.parquet"
    first = None
    for number, sizes in enumerate(SIZES):
        shrink(monkeypatch.setattr, sizes)
        out = tmp_path / str(number)
        manifest = pack(
            dirty.paths, output=out, tokenizer=tokenizer, workers=2, **{**COMMON, **options}
        )
        found = digests(out, but=(but, "manifest.json"))
        first = first or (found, manifest.documents, manifest.tokens, manifest.shards)
        differing = {n for n in {*found, *first[0]} if found.get(n) != first[0].get(n)}
        assert not differing, sizes
        assert (manifest.documents, manifest.tokens, manifest.shards) == first[1:]
