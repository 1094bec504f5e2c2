"""PackedDataset over what `pack` writes: every format gives the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokenmill import PackedDataset, Tokenizer, pack
from tokenmill._dataset import COLUMNS
from tokenmill._write import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mill.corpus import Corpus

WAYS: dict[str, dict[str, Any]] = {
    "concat": {"pack": "concat", "context_length": 32},
    "carried tail": {"pack": "concat", "context_length": 32, "tail": "carry"},
    "bestfit": {"pack": "bestfit", "context_length": 64},
    "documents": {"pack": "none"},
}


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("way", list(WAYS))
def test_every_format_gives_the_rows_of_bin(
    way: str, dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    options = WAYS[way]
    own_lengths = way in ("documents", "carried tail")
    formats = [name for name in FORMATS if not (own_lengths and FORMATS[name].fixed_rows)]
    for name in formats:
        pack(
            dirty.paths, output=tmp_path / name, tokenizer=tokenizer, format=name,
            shard_tokens=4000, shuffle="docs", validation="20%", workers=1, **options,
        )  # fmt: skip
    for split in ("train", "validation"):
        chosen: Any = {"split": split, "columns": COLUMNS, "torch": False}
        wanted = PackedDataset(tmp_path / "bin", **chosen)
        numbers = np.random.default_rng(1).permutation(len(wanted))
        tables = wanted.batch(numbers)
        for name in formats[1:]:
            found = PackedDataset(tmp_path / name, **chosen)
            assert len(found) == len(wanted) > 0
            for column, table in found.batch(numbers).items():
                assert np.array_equal(table, tables[column]), (name, column)
