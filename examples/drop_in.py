"""The same script on `transformers` and on tokenmill: one line changes.

Padding, truncation with a stride, pairs, offsets and chat templates, on a byte-level tokenizer that
is made here, so that nothing is downloaded. Needs tokenmill[hf]. Run: python examples/drop_in.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
import transformers

import tokenmill

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parent / "data"
CHAT = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content | trim }}</s>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer(folder: Path, texts: list[str]) -> None:
    """Train a small tokenizer and save it as `transformers` does."""
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<pad>", "<|user|>", "<|assistant|>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=2000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 0), ("</s>", 1)],
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    made.chat_template = CHAT
    made.save_pretrained(folder)


def script(folder: Path, texts: list[str]) -> Iterator[tuple[str, Any]]:
    """Use `transformers` as usual; nothing in here mentions tokenmill."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    questions = ["Who?", "What is it?", "\u4f60\u597d?"]
    talk = [{"role": "user", "content": questions[1]}, {"role": "assistant", "content": texts[0]}]
    yield "padding", tokenizer(texts, padding=True, return_tensors="np")
    yield "left padding", tokenizer(texts[:3], padding=True, padding_side="left")
    yield (
        "windows",
        tokenizer(
            questions, texts[:3], truncation="only_second", max_length=64, stride=16,
            padding="max_length", return_overflowing_tokens=True, return_offsets_mapping=True,
        ),
    )  # fmt: skip
    yield "words", tokenizer(texts[0].split(), is_split_into_words=True).word_ids()
    yield (
        "prompt",
        tokenizer.apply_chat_template(talk[:1], tokenize=False, add_generation_prompt=True),
    )
    yield "talk", tokenizer.apply_chat_template(talk, return_dict=True, return_tensors="np")
    yield "text", tokenizer.batch_decode(tokenizer(texts)["input_ids"], skip_special_tokens=True)


def timed(folder: Path, texts: list[str]) -> tuple[list[tuple[str, Any]], float]:
    """Run the script, and time a large batch."""
    results = list(script(folder, texts))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    started = time.perf_counter()
    results.append(("batch", tokenizer(texts * 5, padding=True, return_tensors="np")))
    return results, time.perf_counter() - started


def equal(one: Any, other: Any) -> bool:  # results of any kind
    """Compare values, including arrays and their types."""
    if isinstance(one, transformers.BatchEncoding):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


def main() -> None:
    """Run it without and with the one line, and compare."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*.txt")))
    texts = [text[i : i + 3000] for i in range(0, len(text), 3000)][:40]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tokenizer(folder, texts)
        expected, slow = timed(folder, texts)
        with tokenmill.patch_transformers():  # the one line
            results, fast = timed(folder, texts)
    for (what, one), (_, other) in zip(expected, results, strict=True):
        if not equal(one, other):
            raise SystemExit(f"{what}: expected the same result, got another")
        print(f"{what:>12}: equal")
    print(f"all equal; {len(texts) * 5} texts of 3 KB: {slow:.3f} s, then {fast:.3f} s")


if __name__ == "__main__":
    main()
