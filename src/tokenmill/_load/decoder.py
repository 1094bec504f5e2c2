"""The "decoder" section of a tokenizer.json -> DecoderStep, and the texts they work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, optional, shown, type_of
from tokenmill._spec import BpeModel, DecoderStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokenmill._spec import AddedToken

BYTE_LEVEL = (DecoderStep("byte_level"),)
_LARGEST_COUNT = 1 << 62


@dataclass(frozen=True)
class ReadDecoder:
    """Steps, the texts of all tokens where the steps need them, and reasons against both."""

    steps: tuple[DecoderStep, ...] | None
    texts: tuple[str | None, ...] = ()
    reasons: tuple[str, ...] = ()


def read_decoder(
    section: object,
    model: object,
    pieces: Iterable[tuple[str, int]],
    added_tokens: Sequence[AddedToken],
    written: Mapping[int, str],
) -> ReadDecoder:
    """Read the chain; `pieces` are the tokens of the model, `written` the texts of added ones.

    No texts are returned if decoding needs nothing but the model's own table of bytes. The
    library recognises special tokens by their texts, so one that is written differently from how
    it was added is never skipped.
    """
    reasons: list[str] = []
    steps = None if section is None else tuple(_read(section, "decoder", reasons))
    are_special_by_id = all(written[t.id] == t.content for t in added_tokens if t.special)
    is_plain = steps == BYTE_LEVEL and are_special_by_id
    if is_plain and isinstance(model, BpeModel) and model.symbols == "bytes":
        return ReadDecoder(steps, (), tuple(reasons))
    by_id: dict[int, str] = {}
    for text, token_id in pieces:
        if by_id.setdefault(token_id, text) != text:
            reasons.append(f"two tokens of the vocabulary share the id {token_id}")
            break
    by_id |= written
    size = 1 + max(by_id, default=-1)
    if size > 4 * len(by_id) + 1024:  # a forged file must not claim all memory
        reasons.append(f"ids up to {size - 1} for {len(by_id)} tokens")
        return ReadDecoder(steps, (), tuple(reasons))
    return ReadDecoder(steps, tuple(map(by_id.get, range(size))), tuple(reasons))


def _read(section: object, where: str, reasons: list[str]) -> list[DecoderStep]:
    kind, fields = type_of(section, where)
    if kind == "Sequence":
        children = expect(fields.get("decoders"), list, f"{where}.decoders")
        return [
            step
            for index, child in enumerate(children)
            for step in _read(child, f"{where}.decoders[{index}]", reasons)
        ]
    if kind not in _READERS:
        reasons.append(f"decoder {kind}")
        return []
    return [_READERS[kind](fields, where)]


def _read_replace(fields: dict[str, Any], where: str) -> DecoderStep:
    content = member(fields, "content", str, where)
    pattern = member(fields, "pattern", dict, where)
    for name, kind in (("String", "replace"), ("Regex", "replace_regex")):
        if name in pattern:
            text = member(pattern, name, str, f"{where}.pattern")
            return DecoderStep("replace" if kind == "replace" else "replace_regex", text, content)
    place = f"{where}.pattern"
    raise LoadError(f'{place}: expected "String" or "Regex", got {shown(pattern)}')


def _read_strip(fields: dict[str, Any], where: str) -> DecoderStep:
    left, right = (member(fields, name, int, where) for name in ("start", "stop"))
    for name, count in (("start", left), ("stop", right)):
        if not 0 <= count <= _LARGEST_COUNT:
            raise LoadError(f"{where}.{name}: expected a number of characters, got {count}")
    return DecoderStep("strip", _character(fields, "content", where), left=left, right=right)


def _read_metaspace(fields: dict[str, Any], where: str) -> DecoderStep:
    """Read both spellings: "prepend_scheme", and "add_prefix_space" before there was one."""
    replacement = _character(fields, "replacement", where)
    old = optional(fields, "add_prefix_space", True, where)
    scheme = optional(fields, "prepend_scheme", "always" if old else "never", where)
    if scheme not in ("always", "first", "never"):
        place = f"{where}.prepend_scheme"
        raise LoadError(f"{place}: expected always, first or never, got {shown(scheme)}")
    return DecoderStep("metaspace", replacement, flag=scheme != "never")


def _read_word_piece(fields: dict[str, Any], where: str) -> DecoderStep:
    prefix = member(fields, "prefix", str, where)
    return DecoderStep("wordpiece", prefix, flag=member(fields, "cleanup", bool, where))


def _read_ctc(fields: dict[str, Any], where: str) -> DecoderStep:
    return DecoderStep(
        "ctc",
        member(fields, "pad_token", str, where),
        member(fields, "word_delimiter_token", str, where),
        flag=member(fields, "cleanup", bool, where),
    )


def _character(fields: dict[str, Any], key: str, where: str) -> str:
    text = member(fields, key, str, where)
    if len(text) != 1:
        raise LoadError(f"{where}.{key}: expected one character, got {shown(text)}")
    return text


_READERS: dict[str, Callable[[dict[str, Any], str], DecoderStep]] = {
    "BPEDecoder": lambda fields, where: DecoderStep("bpe", member(fields, "suffix", str, where)),
    "ByteFallback": lambda _fields, _where: DecoderStep("byte_fallback"),
    "ByteLevel": lambda _fields, _where: DecoderStep("byte_level"),
    "CTC": _read_ctc,
    "Fuse": lambda _fields, _where: DecoderStep("fuse"),
    "Metaspace": _read_metaspace,
    "Replace": _read_replace,
    "Strip": _read_strip,
    "WordPiece": _read_word_piece,
}
