"""What callers really do: texts of a scenario, and which call takes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._bench.agent import agent_trace
from tokenmill._bench.texts import sentences, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Call = Literal["encode", "batch", "session", "streams"]
SIZES = (1_000, 10_000, 100_000, 1_000_000, 5_000_000)
STREAMS = 1024
_SENTENCES = 500
_TURN, _TURNS = 1_000, 100
_BATCH = 64
_CHAT_TURN, _CHAT = 500, 100_000
_LAP_BYTES, _LAP_TEXTS = 1_000_000, 50


@dataclass(frozen=True)
class Scenario:
    """`make` returns the texts of one size; without `is_sized`, of the only size there is."""

    name: str
    about: str
    call: Call
    make: Callable[[int], list[str]]
    is_sized: bool = False


@dataclass(frozen=True)
class Case:
    """One row to measure: a scenario of one size."""

    scenario: Scenario
    size: int
    texts: list[str]

    @property
    def name(self) -> str:
        """Return e.g. `code 10 KB`."""
        return f"{self.scenario.name} {size_name(self.size)}" if self.size else self.scenario.name

    @property
    def text_hash(self) -> str:
        """Of all texts."""
        return hash_texts(self.texts)


def hash_texts(texts: Sequence[str]) -> str:
    """Return a short hash of texts and their lengths."""
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode()
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()[:16]


def size_name(size: int) -> str:
    """Return `1 KB`, `2.5 MB`."""
    for unit, name in ((1_000_000, "MB"), (1_000, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def cases_of(names: Sequence[str], sizes: Sequence[int]) -> list[list[Case]]:
    """Return the cases of each scenario: those of one scenario share a process."""
    return [
        [Case(found, size, found.make(size)) for size in (sizes if found.is_sized else (0,))]
        for found in (SCENARIOS[name] for name in names)
    ]


def _sized(make: Callable[[int, int], str]) -> dict[str, Any]:
    """Several texts in turn where they are short: the same one again and again is too easy."""

    def texts(size: int) -> list[str]:
        number = max(1, min(_LAP_TEXTS, _LAP_BYTES // size))
        return [make(size, seed) for seed in range(number)]

    return {"call": "encode", "make": texts, "is_sized": True}


def _turns(size: int, number: int) -> list[str]:
    return [f"user: {text_of('english', size, seed)}\n" for seed in range(number)]


_ALL = (
    Scenario("sentence", "one of 500 sentences", "encode", lambda _: sentences(_SENTENCES)),
    Scenario("chat turn", "a message of 1 KB", "encode", lambda _: _turns(_TURN, _TURNS)),
    Scenario("batch", "64 messages of 1 KB", "batch", lambda _: _turns(_TURN, _BATCH)),
    Scenario("long document", "English text", **_sized(lambda n, s: text_of("english", n, s))),
    Scenario("code", "Python and C++", **_sized(lambda n, s: text_of("code", n, s))),
    Scenario("Chinese", "poems", **_sized(lambda n, s: text_of("chinese", n, s))),
    Scenario("agent trace", "tool schemas, calls, answers", **_sized(agent_trace)),
    Scenario(
        "growing chat", "500 bytes more, up to 100 KB", "session",
        lambda _: _turns(_CHAT_TURN, _CHAT // _CHAT_TURN),
    ),
    Scenario("one letter", "no word ends", **_sized(lambda n, _: "a" * n)),
    Scenario(
        "decode streams", "one id for each of 1,024 streams", "streams",
        lambda _: [text_of("english", 100_000)],
    ),
)  # fmt: skip
SCENARIOS = {scenario.name: scenario for scenario in _ALL}
