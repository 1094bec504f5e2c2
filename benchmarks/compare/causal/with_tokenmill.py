"""tokenmill: a Dataset in, a Dataset out, saved as the other job saves it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarks.compare.causal._job import Clock, save, serve
from datasets import load_dataset

import tokenmill._causal.tokenize_datasets  # noqa: F401 -- imports are before the clock for everybody
from tokenmill import CausalLMTokenizer


def work(job: dict[str, Any], path: Path, clock: Clock) -> None:
    """Load, tokenize, save."""
    with clock.step("load"):
        texts = load_dataset(
            "json", data_files=job["inputs"], split="train", cache_dir=str(path.parent / "cache")
        )
    with clock.step("rows"):
        tokenizer = CausalLMTokenizer(
            context_length=job["context_length"], tokenizer_name=job["tokenizer"]
        )
        rows = tokenizer.tokenize(texts, text_column="text", eos=job["eos"])
    with clock.step("save"):
        save(rows, path, job["save_as"])


if __name__ == "__main__":
    serve(work, "tokenmill", "datasets")
