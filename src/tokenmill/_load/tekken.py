"""tekken.json -> TokenizerSpec: ranks and a pattern in one file, special tokens first."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, shown
from tokenmill._load.tiktoken import spec_from_ranks

if TYPE_CHECKING:
    from tokenmill._spec import TokenizerSpec

# Files before version 11 do not list their special tokens; these are the first of them.
_UNLISTED = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)


def is_tekken(data: dict[str, Any]) -> bool:
    """Tell whether parsed JSON has the members of a tekken file."""
    return type(data.get("config")) is dict and type(data.get("vocab")) is list


def read_tekken(data: dict[str, Any], name: str) -> TokenizerSpec:
    """Read a parsed file.

    Only the first `default_vocab_size` - `default_num_special_tokens` ranks count; the id of a
    token is its rank plus the number of special tokens.
    """
    config = member(data, "config", dict, "")
    n_special = member(config, "default_num_special_tokens", int, "config")
    n_ranks = member(config, "default_vocab_size", int, "config") - n_special
    pattern = member(config, "pattern", str, "config")
    ranks = _read_ranks(member(data, "vocab", list, ""), n_ranks)
    special_tokens = _read_special_tokens(data, n_special)
    return spec_from_ranks(name, pattern, ranks, special_tokens, first_id=n_special)


def _read_ranks(vocab: list[Any], n_ranks: int) -> dict[bytes, int]:
    if not 0 < n_ranks <= len(vocab):
        problem = f"expected at least {n_ranks} tokens, got {len(vocab)}"
        raise LoadError(f"vocab: {problem}", hint="the file is incomplete, fetch it again")
    ranks: dict[bytes, int] = {}
    for index in range(n_ranks):
        try:
            entry = vocab[index]
            rank = entry["rank"]
            ranks[base64.b64decode(entry["token_bytes"], validate=True)] = rank
        except (KeyError, TypeError, ValueError, binascii.Error):
            rank = None
        if rank != index or len(ranks) != index + 1:
            problem = f"expected a new token of rank {index}, got {shown(vocab[index])}"
            raise LoadError(f"vocab[{index}]: {problem}")
    return ranks


def _read_special_tokens(data: dict[str, Any], n_special: int) -> dict[str, int]:
    listed = data.get("special_tokens")
    if listed is None:
        names = list(_UNLISTED)
    else:
        names = [
            _special_name(item, index)
            for index, item in enumerate(expect(listed, list, "special_tokens"))
        ]
    names += [f"<SPECIAL_{index}>" for index in range(len(names), n_special)]
    if len(names) != n_special or len(set(names)) != n_special:
        problem = f"expected at most {n_special} different names, got {len(set(names))}"
        raise LoadError(f"special_tokens: {problem}")
    return {name: index for index, name in enumerate(names)}


def _special_name(item: object, index: int) -> str:
    where = f"special_tokens[{index}]"
    entry = expect(item, dict, where)
    if member(entry, "rank", int, where) != index:
        raise LoadError(f"{where}.rank: expected {index}, got {entry['rank']}")
    return member(entry, "token_str", str, where)
