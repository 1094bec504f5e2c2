"""`plan`: its estimate from a sample is close to the real run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.read.helpers import COMPRESS

from tokenmill._mill.estimate import estimate
from tokenmill._mill.output.work import Work
from tokenmill._mill.pack import pack
from tokenmill._mill.plan.task import prepare_task

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

TEXTS = [f"The mill grinds text number {i}. " * (i % 9 + 1) for i in range(600)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Files of several kinds, with very different numbers of tokens per byte."""
    folder = tmp_path / "in"
    folder.mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
    for number in range(3):
        (folder / f"a{number}.jsonl").write_bytes(lines)
        (folder / f"b{number}.jsonl.xz").write_bytes(COMPRESS[".xz"](lines))
    table = pa.table({"text": TEXTS, "noise": [bytes(300)] * len(TEXTS)})
    for suffix, new in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
        with new(folder / f"{suffix}.arrow", table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    return folder


@pytest.mark.parametrize(
    "options",
    [
        {"context_length": 64},
        {"context_length": 256, "pack": "pad", "format": "npy,torch,arrow"},
        {"format": "megatron,datatrove"},
        {"context_length": 64, "limit_documents": 500},
        {"context_length": 64, "max_tokens": 5000},
        {"context_length": 64, "max_sequences": 90},
    ],
    ids=str,
)
def test_estimated_is_about_what_is_made(
    options: dict[str, Any], corpus: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    guess = estimate(prepare_task(corpus, tokenizer=tokenizer, **options), Work(output), workers=1)
    assert not output.exists()
    manifest = pack(corpus, output=output, tokenizer=tokenizer, **options)
    stored = [file for shard in manifest.shards for file in shard["files"]]
    made = {
        "documents": manifest.documents["out"],
        "tokens": manifest.tokens["out"] - manifest.tokens["padding"],
        "output_bytes": sum({file["path"]: file["bytes"] for file in stored}.values()),
    }
    estimated = {name: getattr(guess, name) for name in made}
    assert estimated == {name: pytest.approx(count, rel=0.25) for name, count in made.items()}
