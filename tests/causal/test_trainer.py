"""What `tokenize` returns goes into a Trainer of transformers as it is, and is learnt from."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "fine_tune_tiny.py"

for package in ("datasets", "transformers", "accelerate", "torch"):
    pytest.importorskip(package, reason="the extra `test` has it")


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_a_trainer_takes_the_rows_unchanged_and_the_loss_goes_down(
    example: dict[str, Any], tmp_path: Path
) -> None:
    rows = example["rows"]()
    assert rows.column_names == ["input_ids", "attention_mask", "labels"]
    assert {len(row) for row in rows["input_ids"]} == {32}
    losses = example["train"](rows, tmp_path)
    assert len(losses) == 8
    assert losses[0] > 9.5  # 32,000 tokens, all as likely as each other
    assert losses[-1] < losses[0] - 1


def test_padding_is_not_learnt(example: dict[str, Any], tmp_path: Path) -> None:
    from datasets import Dataset

    import tokenmill

    tokenizer = tokenmill.CausalLMTokenizer(context_length=32, show_progress=False)
    rows = tokenizer.tokenize(Dataset.from_dict({"text": ["hello world"] * 16}), pack=False)
    assert all(set(row[3:]) == {-100} for row in rows["labels"])
    assert example["train"](rows, tmp_path, steps=4)[-1] < 10.4
