"""The "post_processor" section of a tokenizer.json -> the tokens around one text and around two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, shown, type_of
from tokenmill._spec import TemplatePart

Parts: TypeAlias = tuple[TemplatePart, ...]

_MAX_U32 = 0xFFFF_FFFF
_A = TemplatePart("A")
_B = TemplatePart("B", type_id=1, overflow_type_id=1)


@dataclass(frozen=True)
class PostProcessor:
    """How one text and two are framed; TokenizerSpec explains the fields.

    `reasons`: why `prefix_ids` and `suffix_ids` cannot express it.
    """

    single: Parts | None = (_A,)
    pair: Parts | None = (_A, _B)
    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()
    trim_offsets: tuple[bool, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Processor:
    """One processor: the parts it produces, or None, and whether it trims offsets."""

    parts: tuple[Parts, Parts] | None = None
    trim_offsets: tuple[bool, ...] = ()
    reason: str = ""


def read_post_processor(section: object) -> PostProcessor:
    """Read the section, which may be null."""
    processors = [] if section is None else _processors(section, "post_processor")
    trims = tuple(trim for processor in processors for trim in processor.trim_offsets)
    reasons = tuple(processor.reason for processor in processors if processor.reason)
    framing = [processor.parts for processor in processors if processor.parts is not None]
    if len(framing) > 1:
        # The library then frames each part of the processor before it.
        reasons = (*reasons, "more than one post-processor that adds tokens")
    if reasons:
        return PostProcessor(None, None, trim_offsets=trims, reasons=reasons)
    return _frame(*framing[0], trims) if framing else PostProcessor(trim_offsets=trims)


def _frame(single: Parts, pair: Parts, trims: tuple[bool, ...]) -> PostProcessor:
    places = [index for index, part in enumerate(single) if part.text]
    if [single[place].text for place in places] != ["A"]:
        reason = f"a post-processor template with the text {len(places)} times"
        return PostProcessor(None, None, trim_offsets=trims, reasons=(reason,))
    return PostProcessor(
        single, pair, _ids(single[: places[0]]), _ids(single[places[0] + 1 :]), trim_offsets=trims
    )


def _ids(parts: Parts) -> tuple[int, ...]:
    return tuple(token_id for part in parts for token_id in part.ids)


def _processors(section: object, where: str) -> list[_Processor]:
    kind, fields = type_of(section, where)
    if kind == "Sequence":
        children = member(fields, "processors", list, where)
        nested = [
            _processors(child, f"{where}.processors[{index}]")
            for index, child in enumerate(children)
        ]
        return [processor for processors in nested for processor in processors]
    if kind == "ByteLevel":
        return [_Processor(trim_offsets=_trims(fields, where))]
    if kind == "BertProcessing":
        return [_Processor(_bert(fields, where))]
    if kind == "RobertaProcessing":
        return [_Processor(_roberta(fields, where), _trims(fields, where))]
    if kind == "TemplateProcessing":
        return [_Processor(_template(fields, where))]
    return [_Processor(reason=f"post-processor {kind}")]


def _trims(fields: dict[str, Any], where: str) -> tuple[bool, ...]:
    trims = expect(fields.get("trim_offsets", True), bool, f"{where}.trim_offsets")
    prefix = expect(fields.get("add_prefix_space", True), bool, f"{where}.add_prefix_space")
    return (prefix,) if trims else ()


def _bert(fields: dict[str, Any], where: str) -> tuple[Parts, Parts]:
    before, after = _pair_id(fields, "cls", where), _pair_id(fields, "sep", where)
    single = (TemplatePart(ids=(before,)), _A, TemplatePart(ids=(after,)))
    return single, (*single, _B, TemplatePart(ids=(after,), type_id=1))


def _roberta(fields: dict[str, Any], where: str) -> tuple[Parts, Parts]:
    """Everything has type 0, and an end token also comes before the second text."""
    before, after = _pair_id(fields, "cls", where), _pair_id(fields, "sep", where)
    end = TemplatePart(ids=(after,))
    single = (TemplatePart(ids=(before,)), _A, end)
    return single, (*single, end, TemplatePart("B"), end)


def _pair_id(fields: dict[str, Any], key: str, where: str) -> int:
    pair = member(fields, key, list, where)
    if [type(item) for item in pair] != [str, int]:
        raise LoadError(f"{where}.{key}: expected [token, id], got {shown(pair)}")
    return _u32(pair[1], f"{where}.{key}")


def _template(fields: dict[str, Any], where: str) -> tuple[Parts, Parts]:
    ids = _template_ids(fields, where)
    return _pieces(fields, "single", ids, where), _pieces(fields, "pair", ids, where)


def _pieces(
    fields: dict[str, Any], key: Literal["single", "pair"], ids: dict[str, list[int]], where: str
) -> Parts:
    pieces = member(fields, key, list, where)
    return tuple(_piece(piece, ids, f"{where}.{key}[{n}]") for n, piece in enumerate(pieces))


def _piece(piece: object, ids: dict[str, list[int]], where: str) -> TemplatePart:
    item = expect(piece, dict, where)
    kind = "Sequence" if "Sequence" in item else "SpecialToken"
    fields = member(item, kind, dict, where)
    name = member(fields, "id", str, where)
    if kind == "SpecialToken" and name not in ids:
        raise LoadError(f"{where}: expected a token of special_tokens, got {name!r}")
    type_id = _u32(member(fields, "type_id", int, where), f"{where}.type_id")
    if kind == "SpecialToken":
        return TemplatePart(ids=tuple(ids[name]), type_id=type_id)
    # Windows after the first keep the type that the text had before the template.
    if name == "A":
        return TemplatePart("A", (), type_id, 0)
    if name == "B":
        return TemplatePart("B", (), type_id, 1)
    raise LoadError(f"{where}: expected the text A or B, got {name!r}")


def _template_ids(fields: dict[str, Any], where: str) -> dict[str, list[int]]:
    result: dict[str, list[int]] = {}
    for name, entry in member(fields, "special_tokens", dict, where).items():
        place = f"{where}.special_tokens.{name}"
        ids = member(expect(entry, dict, place), "ids", list, place)
        result[name] = [_u32(token_id, f"{place}.ids") for token_id in ids]
    return result


def _u32(value: object, where: str) -> int:
    number = expect(value, int, where)
    if not 0 <= number <= _MAX_U32:
        raise LoadError(f"{where}: expected a number from 0 to {_MAX_U32}, got {number}")
    return number
