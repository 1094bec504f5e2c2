"""Files of one bare tensor: what a script that saves chunks with PyTorch would have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tokenmill import PackedDataset, Tokenizer, inspect, pack, rewrite, verify

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mill.corpus import Corpus

torch = pytest.importorskip("torch", reason="the extra `test` has it")
CONTEXT = 32


def chunks(folder: Path) -> list[Any]:
    paths = sorted((folder / "torch-chunks").glob("chunk_*.pt"))
    return [torch.load(path, weights_only=True) for path in paths]


@pytest.mark.parametrize("rows", [1, 3])
def test_chunks_hold_the_rows_of_bin(
    rows: int, dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    options: Any = {"context_length": CONTEXT, "shard_tokens": rows * CONTEXT, "tail": "drop",
                    "max_sequences": 100}  # fmt: skip
    formats = "bin,torch-chunks"
    both = pack(dirty.paths, output=tmp_path / "a", tokenizer=tokenizer, format=formats, **options)
    wanted = PackedDataset(tmp_path / "a").batch(range(sum(s["rows"] for s in both.shards) // 2))
    found = chunks(tmp_path / "a")
    if rows == 1:
        assert {tuple(chunk.shape) for chunk in found} == {(CONTEXT,)}
        assert torch.equal(torch.stack(found), wanted["input_ids"])
    else:
        assert {tuple(chunk.shape) for chunk in found[:-1]} == {(rows, CONTEXT)}
        assert found[-1].ndim == 2
        assert torch.equal(torch.cat(found), wanted["input_ids"])
    assert verify(tmp_path / "a", full=True, tokenizer=tokenizer).problems == []


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("rows", [1, 3])
def test_chunks_are_converted_there_and_back(
    rows: int, dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    options: Any = {"context_length": CONTEXT, "shard_tokens": rows * CONTEXT}
    for form in ("torch-chunks", "bin"):
        pack(dirty.paths, output=tmp_path / form, tokenizer=tokenizer, format=form, **options)
    rewrite(tmp_path / "bin", output=tmp_path / "there", format="torch-chunks")
    rewrite(tmp_path / "there", output=tmp_path / "back", format="bin")
    rewrite(tmp_path / "bin", output=tmp_path / "one", format="torch-chunks", shard_tokens=CONTEXT)
    for a, b in (("torch-chunks", "there"), ("bin", "back")):
        form = "bin" if b == "back" else "torch-chunks"
        files = sorted((tmp_path / a / form).iterdir())
        assert [file.read_bytes() for file in files] == [
            (tmp_path / b / form / file.name).read_bytes() for file in files
        ]
    assert {chunk.ndim for chunk in chunks(tmp_path / "one")} == {1}
    row = inspect(tmp_path / "there", row=1, tokenizer=tokenizer)
    same = inspect(tmp_path / "bin", row=1, tokenizer=tokenizer)
    assert row.pieces == same.pieces  # type: ignore[union-attr]
