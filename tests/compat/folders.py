"""Folders that `transformers` loads a small tokenizer from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.compat.cases import definition

if TYPE_CHECKING:
    from pathlib import Path

CHAT = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role | upper }}] "
    "{{ message.content | trim }}{{ eos_token }}\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% if add_generation_prompt %}[ASSISTANT]{% endif %}"
)
CONFIGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "left": {"padding_side": "left", "truncation_side": "left"},
    "types": {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
    "as_text": {"split_special_tokens": True},
    "around": {"add_bos_token": True, "add_eos_token": True},
}


def write_folder(
    folder: Path,
    post_processor: str = "bert_like",
    config: str = "plain",
    **more: Any,
) -> Path:
    """Write a tokenizer.json and its configuration."""
    made = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
        "pad_token": "</s>", "mask_token": "<mask>", "model_max_length": 30,
        "chat_template": CHAT, **CONFIGS[config], **more,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(definition(post_processor)))
    (folder / "tokenizer_config.json").write_text(json.dumps(made))
    return folder
