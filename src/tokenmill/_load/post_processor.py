"""The "post_processor" section of a tokenizer.json -> ids before and after a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, shown, type_of


@dataclass(frozen=True)
class Frame:
    """What is put around a single text."""

    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


def read_post_processor(section: object) -> Frame:
    """Read the section, which may be null."""
    if section is None:
        return Frame()
    frames = _frames(section, "post_processor")
    if len(frames) > 1:
        # The library then frames each of the parts that the processor before it has made.
        return Frame(reasons=("more than one post-processor that adds tokens",))
    return frames[0] if frames else Frame()


def _frames(section: object, where: str) -> list[Frame]:
    kind, fields = type_of(section, where)
    if kind == "Sequence":
        children = member(fields, "processors", list, where)
        nested = [
            _frames(child, f"{where}.processors[{index}]") for index, child in enumerate(children)
        ]
        return [frame for frames in nested for frame in frames]
    if kind == "ByteLevel":  # changes offsets only
        return []
    if kind in ("BertProcessing", "RobertaProcessing"):
        before, after = _pair_id(fields, "cls", where), _pair_id(fields, "sep", where)
        return [Frame((before,), (after,))]
    if kind == "TemplateProcessing":
        return [_template(fields, where)]
    return [Frame(reasons=(f"post-processor {kind}",))]


def _pair_id(fields: dict[str, Any], key: str, where: str) -> int:
    pair = member(fields, key, list, where)
    if [type(item) for item in pair] != [str, int]:
        raise LoadError(f"{where}.{key}: expected [token, id], got {shown(pair)}")
    return int(pair[1])


def _template(fields: dict[str, Any], where: str) -> Frame:
    ids = _template_ids(fields, where)
    before: list[int] = []
    after: list[int] = []
    n_texts = 0
    for index, piece in enumerate(member(fields, "single", list, where)):
        place = f"{where}.single[{index}]"
        item = expect(piece, dict, place)
        if "Sequence" in item:
            n_texts += 1
            continue
        token = member(member(item, "SpecialToken", dict, place), "id", str, place)
        if token not in ids:
            raise LoadError(f"{place}: expected a token of special_tokens, got {token!r}")
        (after if n_texts else before).extend(ids[token])
    if n_texts != 1:
        return Frame(reasons=(f"a post-processor template with the text {n_texts} times",))
    return Frame(tuple(before), tuple(after))


def _template_ids(fields: dict[str, Any], where: str) -> dict[str, list[int]]:
    result: dict[str, list[int]] = {}
    for name, entry in member(fields, "special_tokens", dict, where).items():
        place = f"{where}.special_tokens.{name}"
        ids = member(expect(entry, dict, place), "ids", list, place)
        result[name] = [expect(token_id, int, f"{place}.ids") for token_id in ids]
    return result
