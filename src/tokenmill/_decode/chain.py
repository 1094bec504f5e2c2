"""Decoder steps of a spec -> a plan: what folds into a table, what needs a memory, what is joined.

Tokens go through `maps` (each token by itself), then `token_steps` (which know their neighbours),
then they are joined, as bytes if `as_bytes`; the joined text goes through `text_steps`. After the
join the library has one token, so for every later step it is both the first and the last.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._decode import token_steps as tokens
from tokenmill._decode.clean import TOKEN_CLEAN_UP
from tokenmill._decode.pattern import replace_pattern
from tokenmill._decode.text_steps import ReplaceInText, StripText, TextStep, WholeText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._decode.token_steps import Mapping, TokenStep
    from tokenmill._spec import DecoderStep

_EACH = ("strip", "replace", "replace_regex")
_JOINS = ("fuse", "byte_level")


@dataclass(frozen=True)
class Positional:
    """A step that treats the first token in another way than the others."""

    first: Mapping
    rest: Mapping


@dataclass(frozen=True)
class Plan:
    """A chain of decoders, taken apart."""

    maps: tuple[Mapping, ...] = ()
    token_steps: tuple[Callable[[], TokenStep], ...] = ()
    as_bytes: bool = False
    text_steps: tuple[Callable[[], TextStep], ...] = ()
    # The token steps, if they are a single one that a table can replace.
    positional: Positional | None = None
    is_byte_runs: bool = False


def plan_of(steps: Sequence[DecoderStep] | None) -> Plan:
    """Take a chain apart; None puts a blank between tokens. NotRegular for a pattern too hard."""
    if steps is None:
        blank = Positional(lambda token: token, lambda token: f" {token}")
        return Plan(token_steps=(_positional(blank),), positional=blank)
    join = next((n for n, step in enumerate(steps) if step.kind in _JOINS), len(steps))
    before, after = steps[:join], steps[join + 1 :]
    first_stateful = next((n for n, s in enumerate(before) if s.kind not in _EACH), len(before))
    stateful = before[first_stateful:]
    positional = _position_of(stateful[0]) if len(stateful) == 1 else None
    return Plan(
        maps=tuple(_each(step) for step in before[:first_stateful]),
        token_steps=tuple(_token_step(step) for step in stateful),
        as_bytes=join < len(steps) and steps[join].kind == "byte_level",
        text_steps=tuple(made for step in after for made in _text_steps(step)),
        positional=positional,
        is_byte_runs=[step.kind for step in stateful] == ["byte_fallback"],
    )


class Chain:
    """One decoding through a plan, in as many pieces as the caller likes."""

    def __init__(self, plan: Plan, extra: Sequence[TextStep] = ()) -> None:
        self._token_steps = [make() for make in plan.token_steps]
        self._as_bytes = plan.as_bytes
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text_steps = [*(make() for make in plan.text_steps), *extra]

    def feed(self, texts: list[str]) -> str:
        """Take the next tokens, which went through the maps; return the text that is certain."""
        for step in self._token_steps:
            texts = step.feed(texts)
        return self._through(self._joined(texts, final=False))

    def feed_bytes(self, data: bytes) -> str:
        """Take what is joined already, where a plan has no token steps and joins as bytes."""
        return self._through(self._decode(data, False))

    def finish(self) -> str:
        """Return the rest of the text."""
        held: list[str] = []
        for token_step in self._token_steps:
            held = [*token_step.feed(held), *token_step.finish()]
        text = self._joined(held, final=True)
        for step in self._text_steps:
            text = step.feed(text) + step.finish()
        return text

    def _joined(self, texts: list[str], final: bool) -> str:
        if not self._as_bytes:
            return "".join(texts)
        return self._decode(b"".join(map(tokens.bytes_of, texts)), final)

    def _through(self, text: str) -> str:
        for step in self._text_steps:
            if not text:
                break
            text = step.feed(text)
        return text


def _each(step: DecoderStep) -> Mapping:
    if step.kind == "strip":
        return tokens.strip(step)
    if step.kind == "replace" and step.a:
        return tokens.replace(step.a, step.b)
    if step.kind == "replace":  # the library does not search an empty text
        return lambda token: token and token.replace("", step.b)
    return replace_pattern(step.a, step.b)


def _position_of(step: DecoderStep) -> Positional | None:
    if step.kind == "wordpiece":
        return Positional(*tokens.word_pieces(step))
    if step.kind == "metaspace":
        first = tokens.replace(step.a, "" if step.flag else " ")
        return Positional(first, tokens.replace(step.a, " "))
    return None


def _positional(way: Positional) -> Callable[[], TokenStep]:
    return lambda: tokens.FirstAndRest(way.first, way.rest)


def _token_step(step: DecoderStep) -> Callable[[], TokenStep]:
    way = _position_of(step)
    if way is not None:
        return _positional(way)
    if step.kind == "byte_fallback":
        return tokens.ByteRuns
    if step.kind == "bpe":
        last, rest = tokens.replace(step.a, ""), tokens.replace(step.a, " ")
        return lambda: tokens.LastAndRest(last, rest)
    change = tokens.ctc(step) if step.kind == "ctc" else _each(step)
    return lambda: (tokens.WithoutRepeats if step.kind == "ctc" else tokens.Each)(change)


def _text_steps(step: DecoderStep) -> list[Callable[[], TextStep]]:
    """Return the step as it works on the one token that the join has left."""
    if step.kind == "strip":
        return [lambda: StripText(step.a, step.left, step.right)]
    if step.kind == "replace_regex" or (step.kind == "replace" and not step.a):
        change = _each(step)
        return [lambda: WholeText(change)]
    if step.kind == "byte_level":
        return [lambda: WholeText(lambda text: tokens.bytes_of(text).decode(errors="replace"))]
    if step.kind == "byte_fallback":
        return [lambda: WholeText(_one_byte_run)]
    return [_replacing(old, new) for old, new in _replaced(step)]


def _replaced(step: DecoderStep) -> list[tuple[str, str]]:
    cleaned = list(TOKEN_CLEAN_UP) if step.flag else []
    match step.kind:
        case "replace":
            return [(step.a, step.b)]
        case "metaspace":
            return [(step.a, "" if step.flag else " ")]
        case "wordpiece":
            return cleaned
        case "bpe":
            return [(step.a, "")]
        case "ctc":
            return [(step.a, ""), *cleaned, *([(step.b, " ")] if step.flag else [])]
        case _:  # fuse: it is one text already
            return []


def _replacing(old: str, new: str) -> Callable[[], TextStep]:
    if not old:
        return lambda: WholeText(lambda text: text.replace(old, new))
    return lambda: ReplaceInText(old, new)


def _one_byte_run(text: str) -> str:
    step = tokens.ByteRuns()
    return "".join([*step.feed([text]), *step.finish()])
