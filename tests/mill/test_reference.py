"""The mill against a slow and obvious one: rows token by token, places, books."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.mill.corpus import BAD_LINES, LONGEST, Corpus, add_lines, add_parquet
from tests.mill.outputs import BOS, compare
from tokenmill._pipeline import pack

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

pytestmark = pytest.mark.usefixtures("_small")

OPTIONS: list[dict[str, Any]] = [
    {"context_length": 64},
    {"context_length": 64, "overlap": 17},
    {"context_length": 50, "tail": "drop"},
    {"context_length": 50, "tail": "drop", "overlap": 35},
    {"context_length": 64, "tail": "pad"},
    {"context_length": 3000, "tail": "carry"},
    {"context_length": 64, "pack": "bestfit"},
    {"context_length": 64, "pack": "bestfit", "long_documents": "drop"},
    {"context_length": 64, "pack": "bestfit", "long_documents": "truncate"},
    {"context_length": 64, "pack": "pad"},
    {"context_length": 64, "pack": "pad", "long_documents": "truncate"},
    {"context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS},
    {"context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS, "tail": "drop"},
    {"pack": "none", "format": "megatron"},
    {"pack": "none", "shard_tokens": 200},
    {"context_length": 64, "shuffle": "docs", "seed": 3},
    {"context_length": 64, "validation": 0.2},
    {"context_length": 64, "validation": 0.2, "shuffle": "docs", "pack": "bestfit"},
    {"context_length": 64, "max_tokens": 5000},
    {"context_length": 64, "max_tokens": 1},
    {"context_length": 64, "limit_documents": 13},
    {"context_length": 64, "limit_documents": 500, "validation": 0.3, "max_tokens": 2000},
    {"context_length": 64, "max_sequences": 20},
    {"context_length": 64, "max_sequences": 20, "overlap": 5, "tail": "drop"},
    {"context_length": 64, "pack": "bestfit", "max_sequences": 90},
    {"context_length": 64, "pack": "pad", "max_sequences": 90, "shuffle": "docs"},
    {"context_length": 64, "special_in_text": "encode"},
    {"context_length": 64, "on_bad": {"bad_utf8": "replace", "lone_surrogate": "replace"}},
    {"context_length": 64, "format": "bin,npy,parquet,mds,litdata,arrow,torch,llmc,megatron"},
    {"pack": "none", "format": "datatrove,olmo,megatron,bin"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_output_is_that_of_the_slow_mill(
    options: dict[str, Any], dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    chosen = {"shard_tokens": 2500, "max_document_bytes": LONGEST, **options}
    manifest = pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, workers=2, **chosen)
    compare(manifest, dirty.paths, tokenizer, chosen)
