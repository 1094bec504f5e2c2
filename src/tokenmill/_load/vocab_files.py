"""Vocabularies without a tokenizer.json: vocab.txt, and vocab.json with merges.txt.

Such files hold only tokens. `transformers` adds everything else for the class they were made for,
with the settings next to them. This module writes that down as a tokenizer.json, so that one
reader serves both.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.byte_level import ALPHABET, UTF8_BYTES
from tokenmill._load.fields import expect, optional, parse_json, shown
from tokenmill._load.files import SETTINGS
from tokenmill._load.tokenizer_json import read_tokenizer_json
from tokenmill._load.vocabulary import read_vocab

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

_BERT_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
_GPT2_TOKENS = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
_BERT_LIKE = ("Bert", "DistilBert", "Electra", "MobileBert", "Lxmert", "LayoutLM", "SqueezeBert")
_FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
_MOST_CHARACTERS = 100


def is_wordpiece_file(text: bytes) -> bool:
    """Tell whether a text has a line for each token, one of them "[UNK]"."""
    return text.startswith(b"[UNK]") or b"\n[UNK]\n" in text or b"\n[UNK]\r\n" in text


def is_vocab_json(data: dict[str, Any]) -> bool:
    """Tell whether a parsed file holds nothing but tokens and their ids."""
    return bool(data) and all(type(token_id) is int for token_id in data.values())


def read_wordpiece_file(text: bytes, path: Path, name: str) -> TokenizerSpec:
    """Read a vocab.txt: the id of a token is the number of its line, counted from 0."""
    settings = _read_settings(path)
    _check_class(settings, _BERT_LIKE)
    vocab = {line: number for number, line in enumerate(_lines(text))}
    special = _special_tokens(settings, _BERT_TOKENS)
    unknown = special["unk_token"]["content"]
    if unknown not in vocab:
        raise LoadError(f"expected a line {unknown!r} for unknown words, got none")
    cls, sep = (special[key]["content"] for key in ("cls_token", "sep_token"))
    lower = optional(settings, "do_lower_case", True, "tokenizer_config.json")
    chinese = optional(settings, "tokenize_chinese_chars", True, "tokenizer_config.json")
    accents = settings.get("strip_accents")
    if accents is not None:
        expect(accents, bool, "tokenizer_config.json.strip_accents")
    data = {
        "added_tokens": _added_tokens(vocab, special.values(), settings),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": chinese,
            "strip_accents": accents,
            "lowercase": lower,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _template(cls, sep, vocab),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": _MOST_CHARACTERS,
            "vocab": vocab,
        },
    }
    return _read(data, name)


def read_vocab_and_merges(
    data: dict[str, Any], merges: Path, path: Path, name: str
) -> TokenizerSpec:
    """Read byte-level BPE in GPT-2's form from the two files that hold its vocabulary."""
    settings = _read_settings(path)
    _check_class(settings, ("GPT2",))
    vocab = read_vocab({"vocab": data})
    missing = [ALPHABET[byte] for byte in UTF8_BYTES if ALPHABET[byte] not in vocab]
    if missing:
        problem = f"expected a token for every byte, {len(missing)} are missing"
        hint = "these files can describe only byte-level BPE; give the tokenizer.json"
        raise LoadError(f"{problem}, got none for {missing[0]!r}", hint=hint)
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": optional(settings, "add_prefix_space", False, "tokenizer_config.json"),
        "trim_offsets": True,
        "use_regex": True,
    }
    special = _special_tokens(settings, _GPT2_TOKENS)
    whole = {
        "added_tokens": _added_tokens(vocab, special.values(), settings),
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": _read_merges(merges, vocab)},
    }
    return _read(whole, name)


def _read(data: dict[str, Any], name: str) -> TokenizerSpec:
    whole = {"version": "1.0", "truncation": None, "padding": None, **data}
    return read_tokenizer_json(whole, json.dumps(whole).encode(), name)


def _lines(text: bytes, path: Path | None = None) -> list[str]:
    lines = []
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            lines.append(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            problem = f"expected UTF-8, got {shown(line)}"
            raise LoadError(problem, path=path, line=number) from error
    return lines[:-1] if lines[-1] == "" else lines


def _read_merges(path: Path, vocab: dict[str, int]) -> list[list[str]]:
    merges = []
    for number, line in enumerate(_lines(path.read_bytes(), path), start=1):
        if line.startswith("#version") or not line:
            continue
        pair = line.split(" ")
        if len(pair) != 2:  # noqa: PLR2004
            problem = f"expected two tokens, got {shown(line)}"
            raise LoadError(problem, path=path, line=number)
        for token in (*pair, "".join(pair)):
            if token not in vocab:
                problem = f"expected tokens of the vocabulary, got {shown(token)}"
                raise LoadError(problem, path=path, line=number)
        merges.append(pair)
    return merges


def _read_settings(path: Path) -> dict[str, Any]:
    """Join the settings next to a vocabulary; newer files have all of them in the first."""
    found = {}
    for name in SETTINGS:
        file = path.parent / name
        if file.is_file():
            try:
                found[name] = parse_json(file.read_bytes())
            except LoadError as error:
                raise LoadError(f"{name}: {error}") from error
    config, special, extra = (found.get(name, {}) for name in SETTINGS)
    if "added_tokens_decoder" in config:
        return config
    return {**config, **special, "added_tokens": extra}


def _check_class(settings: dict[str, Any], known: tuple[str, ...]) -> None:
    stated = optional(settings, "tokenizer_class", "", "tokenizer_config.json")
    plain = stated.removesuffix("Fast").removesuffix("Tokenizer")
    if stated and plain not in known:
        problem = f"expected the class of one of {', '.join(known)}, got {stated!r}"
        hint = "no file holds its rules; give the tokenizer.json, which transformers can write"
        raise LoadError(f"tokenizer_config.json.tokenizer_class: {problem}", hint=hint)


def _special_tokens(
    settings: dict[str, Any], defaults: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """Return the special tokens by their roles, each as a string or an object in the settings."""
    tokens = {}
    for role, default in defaults.items():
        stated = settings.get(role)
        tokens[role] = _token(default if stated is None else stated, role)
    more = settings.get("additional_special_tokens") or []
    for number, stated in enumerate(expect(more, list, "additional_special_tokens")):
        tokens[f"additional {number}"] = _token(stated, f"additional_special_tokens[{number}]")
    return tokens


def _token(stated: object, where: str) -> dict[str, Any]:
    fields = {"content": stated} if type(stated) is str else expect(stated, dict, where)
    flags = {flag: optional(fields, flag, value, where) for flag, value in _FLAGS.items()}
    return {"content": expect(fields.get("content"), str, f"{where}.content"), **flags}


def _added_tokens(
    vocab: dict[str, int], special: Iterable[dict[str, Any]], settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """List the tokens that have an id: by role in the vocabulary, and from the settings."""
    by_id: dict[int, dict[str, Any]] = {}
    roles = {token["content"]: token for token in special}
    for content, token in roles.items():
        if content in vocab:
            by_id[vocab[content]] = {"id": vocab[content], **token, "special": True}
    for content, token_id in (settings.get("added_tokens") or {}).items():
        token = roles.get(content, {"content": content, **_FLAGS})
        number = expect(token_id, int, f"added_tokens.json.{content}")
        by_id[number] = {"id": number, **token, "special": content in roles}
    decoder = expect(settings.get("added_tokens_decoder") or {}, dict, "added_tokens_decoder")
    for key, fields in decoder.items():
        where = f"added_tokens_decoder.{key}"
        if not key.isdecimal():
            raise LoadError(f"{where}: expected an id, got {shown(key)}")
        token = _token(fields, where)
        is_special = optional(fields, "special", token["content"] in roles, where)
        by_id[int(key)] = {"id": int(key), **token, "special": is_special}
    return [by_id[number] for number in sorted(by_id)]


def _template(cls: str, sep: str, vocab: dict[str, int]) -> dict[str, Any] | None:
    if cls not in vocab or sep not in vocab:
        return None
    first = {"Sequence": {"id": "A", "type_id": 0}}
    second = {"Sequence": {"id": "B", "type_id": 1}}
    begin, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in (cls, sep))
    last = {"SpecialToken": {"id": sep, "type_id": 1}}
    return {
        "type": "TemplateProcessing",
        "single": [begin, first, end],
        "pair": [begin, first, end, second, last],
        "special_tokens": {
            token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in (cls, sep)
        },
    }
