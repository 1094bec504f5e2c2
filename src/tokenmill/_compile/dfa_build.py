"""Program -> transition table, with the meaning of a backtracking engine.

A state is an ordered list of threads, the most wanted first. Reading a symbol moves each of them;
a thread that arrives at the match cuts off all threads after it. The next character is known when a
thread meets a look-ahead, so the look-ahead is decided there, and a match shows on the transition
by the character after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.dfa_classes import Classes
from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.regex_program import MATCH, Consume, Fork, Look, Program, Step

if TYPE_CHECKING:
    import numpy.typing as npt

MATCH_BIT = 0x8000
MOST_STATES = 32_767
DEAD, START = 0, 1


@dataclass(frozen=True, slots=True)
class Move:
    """Where threads get to by one symbol, in order; a match cuts off those after it."""

    targets: tuple[int, ...]
    has_matched: bool


class Builder:
    """The threads of one program over one partition of the code points."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.classes = Classes(s.chars for s in program.steps if isinstance(s, Consume | Look))
        self.end = self.classes.count
        self._accepts = [self._accepted(step) for step in program.steps]
        self._moves: dict[tuple[int, int], Move] = {}

    def table(self) -> npt.NDArray[np.int64]:
        """All reachable states: row = state, column = class, the last one the end of the text."""
        self._prove_held()
        numbers: dict[tuple[int, ...], int] = {(): DEAD, (self.program.start,): START}
        pending: list[tuple[int, ...]] = [(self.program.start,)]
        rows: list[list[int]] = [[0] * (self.end + 1)]
        for threads in pending:
            row: list[int] = []
            for symbol in range(self.end + 1):
                move = self._advance(threads, symbol)
                if move.targets not in numbers:
                    numbers[move.targets] = len(numbers)
                    pending.append(move.targets)
                row.append(numbers[move.targets] | (MATCH_BIT if move.has_matched else 0))
            rows.append(row)
            if len(numbers) > MOST_STATES:
                message = f"the pattern needs more than {MOST_STATES} states"
                raise NotRegular(message)
        return np.array(rows, dtype=np.int64)

    def _advance(self, threads: tuple[int, ...], symbol: int) -> Move:
        targets: dict[int, None] = {}
        for thread in threads:
            move = self._move(thread, symbol)
            targets.update(dict.fromkeys(move.targets))
            if move.has_matched:
                return Move(tuple(targets), has_matched=True)
        return Move(tuple(targets), has_matched=False)

    def _move(self, thread: int, symbol: int) -> Move:
        known = self._moves.get((thread, symbol))
        if known is None:
            known = self._moves[thread, symbol] = self._follow(thread, symbol)
        return known

    def _follow(self, thread: int, symbol: int) -> Move:
        """Follow a thread to every step that reads `symbol`, the most wanted way first."""
        targets: dict[int, None] = {}
        seen: set[int] = set()
        stack = [thread]
        while stack:
            number = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            if number == MATCH:
                return Move(tuple(targets), has_matched=True)
            step = self.program.steps[number]
            if isinstance(step, Consume):
                if self._accepts[number][symbol]:
                    targets[step.then] = None
            elif isinstance(step, Look):
                if self._accepts[number][symbol]:
                    stack.append(step.then)
            else:
                stack.extend(reversed(step.ways))
        return Move(tuple(targets), has_matched=False)

    def _accepted(self, step: Step) -> list[bool]:
        """For every symbol, the last one the end, whether the step can continue with it."""
        if isinstance(step, Fork):
            return []
        at_end = isinstance(step, Look) and step.at_end
        return [*self.classes.in_set(step.chars).tolist(), at_end]

    def _prove_held(self) -> None:
        """Prove that what follows an atomic part always succeeds, so nothing is ever given back."""
        for step in self.program.held:
            if not all(self._move(step, symbol).has_matched for symbol in range(self.end + 1)):
                raise NotRegular("an atomic part that is followed by something that may fail")
