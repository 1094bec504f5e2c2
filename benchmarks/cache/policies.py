#!/usr/bin/env python3
"""Which segments stay: bytes that are found again under S3-FIFO, W-TinyLFU and LRU.

    python benchmarks/cache/policies.py

A simulation with made-up segments: popular system prompts (Zipf), growing conversations that take
turns, and texts that nobody sends twice. No tokenizer runs.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict, deque
from typing import Protocol

ONCE, NEW, END, OPEN = 0.2, 0.2, 0.15, 40  # shares of requests; conversations at a time
Request = list[tuple[int, int]]  # (segment, bytes)


class Policy(Protocol):
    """A cache of segments within a budget of bytes."""

    def ask(self, key: int, size: int) -> bool:
        """Tell whether it is there; if not, it is put in."""


class Lru:
    """The one that was not used for the longest time leaves."""

    def __init__(self, budget: int) -> None:
        self.held: OrderedDict[int, int] = OrderedDict()
        self.left = budget

    def ask(self, key: int, size: int) -> bool:
        """Look up, or put in at the end."""
        if key in self.held:
            self.held.move_to_end(key)
            return True
        self.held[key] = size
        self.left -= size
        while self.left < 0:
            self.left += self.held.popitem(last=False)[1]
        return False


class S3Fifo:
    """As core/cache/shard.cpp: a small queue, a main queue, ghosts."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.asked: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.queues: tuple[deque[int], deque[int]] = (deque(), deque())
        self.bytes = [0, 0]
        self.ghosts: OrderedDict[int, None] = OrderedDict()

    def ask(self, key: int, size: int) -> bool:
        """Look up, or put into one of the queues."""
        if key in self.sizes:
            self.asked[key] = min(3, self.asked[key] + 1)
            return True
        self._put(int(key in self.ghosts), key, size)
        self.asked[key] = 0
        while sum(self.bytes) > self.budget:
            small = self.bytes[0] > self.budget / 10 or not self.queues[1]
            self._pass(0 if small and self.queues[0] else 1)
        return False

    def _put(self, queue: int, key: int, size: int) -> None:
        self.queues[queue].append(key)
        self.bytes[queue] += size
        self.sizes[key] = size

    def _pass(self, queue: int) -> None:
        key = self.queues[queue].popleft()
        size = self.sizes[key]
        self.bytes[queue] -= size
        if self.asked[key]:
            self.asked[key] = 0 if queue == 0 else self.asked[key] - 1
            self._put(1, key, size)
            return
        del self.sizes[key]
        if queue == 0:
            self.ghosts[key] = None
            while len(self.ghosts) > max(16, len(self.sizes)):
                self.ghosts.popitem(last=False)


class WTinyLfu:
    """A window of 1 % in front of two LRU queues; who is asked for more often stays."""

    def __init__(self, budget: int) -> None:
        self.budgets = (budget // 100, budget - budget // 100)
        self.window: OrderedDict[int, int] = OrderedDict()
        self.main: OrderedDict[int, int] = OrderedDict()
        self.counts: Counter[int] = Counter()
        self.turns = 0

    def ask(self, key: int, size: int) -> bool:
        """Count, look up, or put into the window."""
        self.counts[key] += 1
        self.turns += 1
        if self.turns % 20_000 == 0:  # frequencies age
            self.counts = Counter({k: v // 2 for k, v in self.counts.items() if v > 1})
        for part in (self.window, self.main):
            if key in part:
                part.move_to_end(key)
                return True
        self.window[key] = size
        while sum(self.window.values()) > self.budgets[0]:
            self._admit(*self.window.popitem(last=False))
        return False

    def _admit(self, key: int, size: int) -> None:
        used = sum(self.main.values())
        while used + size > self.budgets[1] and self.main:
            victim = next(iter(self.main))
            if self.counts[victim] >= self.counts[key]:
                return
            used -= self.main.pop(victim)
        if size <= self.budgets[1]:
            self.main[key] = size


def trace(seed: int, requests: int = 12_000) -> list[Request]:
    """Mix conversations, of which 40 are open at a time, with texts that come once."""
    choose = random.Random(seed)  # noqa: S311
    names = iter(range(1_000_000_000))
    systems = [(next(names), choose.randrange(15_000, 150_000)) for _ in range(200)]
    popularity = [1 / (rank + 1) for rank in range(len(systems))]
    talks: list[Request] = []
    made: list[Request] = []
    while len(made) < requests:
        if choose.random() < ONCE:
            made.append([(next(names), choose.randrange(2000, 60_000))])
            continue
        if len(talks) < OPEN or choose.random() < NEW:
            talks.append([choose.choices(systems, popularity)[0]])
        talk = choose.choice(talks)
        talk += [(next(names), choose.randrange(1500, 12_000)) for _ in range(2)]
        made.append(list(talk))
        if choose.random() < END:
            talks.remove(talk)
    return made


def found_again(policy: Policy, requests: list[Request]) -> float:
    """Return the share of bytes that need not be encoded."""
    hits = total = 0
    for request in requests:
        for key, size in request:
            total += size
            hits += size if policy.ask(key, size) else 0
    return hits / total


def main() -> None:
    """Print a table."""
    requests = trace(1)
    print("budget MB   LRU     S3-FIFO  W-TinyLFU")
    for megabytes in (2, 4, 8, 16, 32, 64):
        makers = (Lru, S3Fifo, WTinyLfu)
        shares = [found_again(make(megabytes * 1_000_000), requests) for make in makers]
        print(f"{megabytes:9d}   " + "   ".join(f"{share:.3f}" for share in shares))


if __name__ == "__main__":
    main()
