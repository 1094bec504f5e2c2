"""Tokenize some of the sample with CausalLMTokenizer, and pass the rows to a Trainer."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tokenmill

SAMPLE = Path(__file__).parent / "data" / "corpus" / "dictionary.jsonl"
NEEDED = ("datasets", "transformers", "accelerate", "torch")


def rows() -> Any:  # a datasets.Dataset
    """Return rows of 32 tokens with `input_ids`, `attention_mask` and `labels`."""
    tokenizer = tokenmill.CausalLMTokenizer(context_length=32, show_progress=False)
    return tokenizer.tokenize(SAMPLE, max_rows=48)


def train(dataset: Any, folder: str | Path, steps: int = 8) -> list[float]:
    """Train a model of one small layer; return the loss at every step."""
    from transformers import (  # heavy, and optional
        GPT2Config,
        GPT2LMHeadModel,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(0)
    vocabulary = tokenmill.Tokenizer.load().vocab_size
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=32,
        n_embd=32,
        n_layer=1,
        n_head=2,
        bos_token_id=None,
        eos_token_id=None,
    )
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=4,
        learning_rate=2e-2,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=dataset)
    trainer.train()
    return [round(line["loss"], 2) for line in trainer.state.log_history if "loss" in line]


if __name__ == "__main__":
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"not trained: pip install {' '.join(missing)}")
    else:
        with TemporaryDirectory() as folder:
            print("loss of each step:", train(rows(), folder))
