"""The split patterns and special tokens of well-known rank files, which hold neither."""

from __future__ import annotations

from dataclasses import dataclass, field

_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
    r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    rf"{_SUFFIX}?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    rf"{_SUFFIX}?"
)
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_O200K = rf"{_WORDS_CASED}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
_PLAIN = rf"{_SUFFIX}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+"
_SYMBOLS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_LLAMA3 = rf"{_PLAIN}|\p{{N}}{{1,3}}|{_SYMBOLS}|{_SPACES}"
_QWEN = rf"{_PLAIN}|\p{{N}}|{_SYMBOLS}|{_SPACES}"
_WORDS_NOT_HAN = _WORDS_CASED.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]")
_KIMI = rf"[\p{{Han}}]+|{_WORDS_NOT_HAN}|\p{{N}}{{1,3}}|{_SYMBOLS}|{_SPACES}"


@dataclass(frozen=True)
class Known:
    """A published encoding: its pattern, its number of ranks, its special tokens."""

    pattern: str
    n_ranks: int
    special_tokens: dict[str, int] = field(default_factory=dict)


def _numbered(names: list[str], first: int) -> dict[str, int]:
    return {name: first + index for index, name in enumerate(names)}


def _llama3_special_tokens() -> dict[str, int]:
    reserved = [f"<|reserved_special_token_{index}|>" for index in range(251)]
    named = ["<|begin_of_text|>", "<|end_of_text|>", *reserved[:4], "<|start_header_id|>"]
    return _numbered(
        [*named, "<|end_header_id|>", reserved[4], "<|eot_id|>", *reserved[5:]], 128000
    )


def _kimi_special_tokens() -> dict[str, int]:
    ids = range(163584, 163840)
    names = {token_id: f"<|reserved_token_{token_id}|>" for token_id in ids}
    heads = ["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>"]
    tools = ["calls_section_begin", "calls_section_end"]
    tools += ["call_begin", "call_argument_begin", "call_end"]
    for first, group in (
        (163584, heads),
        (163590, ["<|start_header_id|>", "<|end_header_id|>"]),
        (163593, ["[EOT]", "<|im_system|>", *(f"<|tool_{tool}|>" for tool in tools)]),
        (163601, ["<|im_middle|>"]),
        (163838, ["[UNK]", "[PAD]"]),
    ):
        names.update({first + index: name for index, name in enumerate(group)})
    return {name: token_id for token_id, name in names.items()}


def _harmony_special_tokens() -> dict[str, int]:
    names = {"<|startoftext|>": 199998, "<|endoftext|>": 199999, "<|return|>": 200002}
    names |= {"<|constrain|>": 200003, "<|channel|>": 200005, "<|start|>": 200006}
    names |= {"<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012}
    names |= {"<|endofprompt|>": 200018}
    taken = set(names.values()) - {200018}
    reserved = [index for index in range(200000, 201088) if index not in taken]
    return names | {f"<|reserved_{index}|>": index for index in reserved}


_END = "<|endoftext|>"
_FIM = ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]
_CHAT = [_END, "<|im_start|>", "<|im_end|>"]

KNOWN: dict[str, Known] = {
    "gpt2": Known(_GPT2, 50256, {_END: 50256}),
    "r50k_base": Known(_GPT2, 50256, {_END: 50256}),
    "p50k_base": Known(_GPT2, 50280, {_END: 50256}),
    "p50k_edit": Known(_GPT2, 50280, {_END: 50256, **_numbered(_FIM, 50281)}),
    "cl100k_base": Known(
        _CL100K, 100256, {**_numbered([_END, *_FIM], 100257), "<|endofprompt|>": 100276}
    ),
    "o200k_base": Known(_O200K, 199998, {_END: 199999, "<|endofprompt|>": 200018}),
    "o200k_harmony": Known(_O200K, 199998, _harmony_special_tokens()),
    "llama3": Known(_LLAMA3, 128000, _llama3_special_tokens()),
    "qwen": Known(
        _QWEN, 151643, _numbered([*_CHAT, *(f"<|extra_{i}|>" for i in range(205))], 151643)
    ),
    "qwen2": Known(_QWEN, 151643, _numbered(_CHAT, 151643)),
    "kimi_k2": Known(_KIMI, 163584, _kimi_special_tokens()),
}
