"""Syntax tree -> program: a list of steps that threads walk, most wanted thread first.

The steps are laid out from the end of the pattern to its beginning, so that every step knows what
follows it. A possessive run of one set is a greedy one that may only stop before a character
outside of the set. Other parts that never give back what they took become plain ones; `held`
lists the steps after them, which must be unable to fail; the caller has to prove that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tokenmill._compile.char_sets import CharSet, complement
from tokenmill._compile.regex_ast import (
    Ahead,
    Atomic,
    Char,
    Choice,
    Node,
    NotRegular,
    Repeat,
    Sequence,
    is_nullable,
    single_set,
)

_MOST_STEPS = 20_000
# Pairs of letters that Oniguruma also matches as one character when it ignores case.
_LIGATURES = frozenset({"ss", "st", "ff", "fi", "fl"})

MATCH = 0


@dataclass(frozen=True, slots=True)
class Consume:
    """Step over one character of `chars`, then continue at `then`."""

    chars: CharSet
    folded: str
    then: int


@dataclass(frozen=True, slots=True)
class Look:
    """Continue at `then` if the next character (or the end) is one of those wanted."""

    chars: CharSet
    at_end: bool
    then: int


@dataclass(frozen=True, slots=True)
class Fork:
    """Try each of `ways`, the first one first."""

    ways: tuple[int, ...]


Step = Consume | Look | Fork


@dataclass(slots=True)
class Program:
    """Steps by number; number 0 is the match. `start` is where a thread begins."""

    steps: list[Step] = field(default_factory=lambda: [Fork(())])
    held: list[int] = field(default_factory=list)
    start: int = MATCH

    def add(self, step: Step) -> int:
        """Append a step and return its number."""
        if len(self.steps) >= _MOST_STEPS:
            message = f"the pattern needs more than {_MOST_STEPS} steps"
            raise NotRegular(message)
        self.steps.append(step)
        return len(self.steps) - 1


def build_program(node: Node) -> Program:
    """Lay out the steps of a pattern."""
    program = Program()
    program.start = _emit(program, node, MATCH)
    _refuse_ligatures(program)
    return program


def _emit(program: Program, node: Node, then: int) -> int:
    """Add the steps of `node` that lead to `then`; return the number of the first."""
    match node:
        case Char(chars, folded):
            return program.add(Consume(chars, folded, then))
        case Ahead(chars, at_end):
            return program.add(Look(chars, at_end, then))
        case Sequence(parts):
            for part in reversed(parts):
                then = _emit(program, part, then)
            return then
        case Choice(options):
            return program.add(Fork(tuple(_emit(program, option, then) for option in options)))
        case Atomic(part):
            return _emit_atomic(program, part, then)
        case Repeat():
            return _emit_repeat(program, node, then)


def _emit_atomic(program: Program, part: Node, then: int) -> int:
    if isinstance(part, Repeat) and part.mode == "greedy":
        return _emit_repeat(program, Repeat(part.part, part.least, part.most, "possessive"), then)
    if single_set(part) is None:
        program.held.append(then)
    return _emit(program, part, then)


def _emit_repeat(program: Program, node: Repeat, then: int) -> int:
    if node.most != 1 and is_nullable(node.part):
        raise NotRegular("a repeated part that can match the empty text")
    leave = _emit_leave(program, node, then)
    if node.most is None:
        first, least = _emit_loop(program, node, leave), max(node.least - 1, 0)
    else:
        first, least = then, node.least
        for _ in range(node.most - node.least):
            once = _emit(program, node.part, first)
            first = program.add(_fork(node, once, leave))
    for _ in range(least):
        first = _emit(program, node.part, first)
    return first


def _emit_leave(program: Program, node: Repeat, then: int) -> int:
    """Add the steps between the part and `then` when the part could be repeated once more."""
    if node.mode != "possessive":
        return then
    chars = single_set(node.part)
    if chars is None:
        program.held.append(then)
        return then
    return program.add(Look(complement(chars), True, then))


def _emit_loop(program: Program, node: Repeat, leave: int) -> int:
    """Add `part*` or `part+`: a fork that leads into the part and back, or out."""
    fork = program.add(Fork(()))
    once = _emit(program, node.part, fork)
    program.steps[fork] = _fork(node, once, leave)
    return fork if node.least == 0 else once


def _fork(node: Repeat, once: int, leave: int) -> Fork:
    return Fork((leave, once) if node.mode == "lazy" else (once, leave))


def _refuse_ligatures(program: Program) -> None:
    for step in program.steps:
        if isinstance(step, Consume) and step.folded:
            for follower in _consumers(program, step.then):
                pairs = {a + b for a in step.folded for b in follower.folded}
                if pairs & _LIGATURES:
                    raise NotRegular("letters that match a ligature when case is ignored")


def _consumers(program: Program, start: int) -> list[Consume]:
    """Return the consuming steps that can come next, whatever the text is."""
    found: list[Consume] = []
    seen, stack = {start}, [start]
    while stack:
        step = program.steps[stack.pop()]
        if isinstance(step, Consume):
            found.append(step)
            continue
        ways = (step.then,) if isinstance(step, Look) else step.ways
        stack.extend(way for way in ways if way not in seen)
        seen.update(ways)
    return found
