"""tokenmill: the path of the file in, a Dataset out, saved as the other jobs save it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))

import datasets  # noqa: F401  tokenmill imports it late; here it counts as in the other jobs
from benchmarks.compare.causal._job import Clock, save, serve

import tokenmill._causal.tokenize_files  # noqa: F401 -- imports are before the clock for everybody
from tokenmill import CausalLMTokenizer


def work(job: dict[str, Any], path: Path, clock: Clock) -> None:
    """Tokenize the file, save."""
    with clock.step("rows"):
        tokenizer = CausalLMTokenizer(
            context_length=job["context_length"], tokenizer_name=job["tokenizer"]
        )
        rows = tokenizer.tokenize(job["inputs"], text_column="text", eos=job["eos"])
    with clock.step("save"):
        save(rows, path, job["save_as"])


if __name__ == "__main__":
    serve(work, "tokenmill", "datasets")
