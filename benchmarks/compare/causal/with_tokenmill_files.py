"""tokenmill: the same file in, shards out, through the mill and without `datasets`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarks.compare.causal._job import serve

from tokenmill import CausalLMTokenizer


def work(job: dict[str, Any], path: Path) -> None:
    """Tokenize files into shards."""
    tokenizer = CausalLMTokenizer(
        context_length=job["context_length"], tokenizer_name=job["tokenizer"], show_progress=False
    )
    tokenizer.tokenize(
        job["inputs"], text_column="text", eos=job["eos"], output=path, format=job["save_as"]
    )


if __name__ == "__main__":
    serve(work, "tokenmill")
