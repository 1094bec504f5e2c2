"""datasets: `map` with a fast tokenizer, `map` with a grouping function, as fine-tuners do it."""

from __future__ import annotations

import sys
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarks.compare.causal._job import Clock, save, serve
from datasets import load_dataset
from transformers import PreTrainedTokenizerFast


def work(job: dict[str, Any], path: Path, clock: Clock) -> None:
    """Load, tokenize, group, save."""
    with clock.step("load"):
        texts = load_dataset(
            "json", data_files=job["inputs"], split="train", cache_dir=str(path.parent / "cache")
        )
    with clock.step("rows"):
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=job["tokenizer"], eos_token=job["eos"])
        encoded = texts.map(
            partial(encode, tokenizer=tokenizer),
            batched=True,
            num_proc=job["threads"],
            remove_columns=texts.column_names,
        )
        rows = encoded.map(
            partial(group_texts, size=job["context_length"]), batched=True, num_proc=job["threads"]
        )
    with clock.step("save"):
        save(rows, path, job["save_as"])


def encode(batch: dict[str, Any], tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """Return ids and masks of a batch of texts, each followed by the end token."""
    ended = [text + tokenizer.eos_token for text in batch["text"]]
    found = tokenizer(ended, add_special_tokens=False, return_token_type_ids=False)
    return dict(found)


def group_texts(batch: dict[str, list[list[int]]], size: int) -> dict[str, list[list[int]]]:
    """Cut each column of a batch into rows; what does not fill the last row is dropped."""
    joined = {name: list(chain.from_iterable(rows)) for name, rows in batch.items()}
    end = len(joined["input_ids"]) // size * size
    grouped = {
        name: [ids[begin : begin + size] for begin in range(0, end, size)]
        for name, ids in joined.items()
    }
    grouped["labels"] = [list(row) for row in grouped["input_ids"]]
    return grouped


if __name__ == "__main__":
    serve(work, "datasets", "transformers", "tokenizers")
