"""Where a run spent its time, what its word tables did, and who holds its memory: plain values.

Producers fill these (the core, the mill); commands only read them. Seconds are summed over threads,
so the stages of a run of 10 s on 4 threads add up to about 40 s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# In the order in which a document meets them. The waits come last: nothing was done in them.
STAGES = (
    "read",
    "decompress",
    "parse",
    "normalize",
    "split",
    "look_up",
    "merge",
    "emit",
    "device",
    "pack",
    "write",
    "other",
    "wait_input",
    "wait_output",
)
_IN_WORDS = {
    "read": "reading",
    "decompress": "decompressing",
    "parse": "parsing",
    "normalize": "normalizing",
    "split": "splitting",
    "look_up": "looking up words",
    "merge": "merging",
    "emit": "collecting ids",
    "device": "on the device",
    "pack": "packing",
    "write": "writing",
    "other": "other work",
    "wait_input": "waiting for input",
    "wait_output": "waiting for output",
}


def mostly(stage: str) -> str:
    """Say in words which stage takes most of the time; nothing if no stage has taken any."""
    return f"mostly {_IN_WORDS.get(stage, stage)}" if stage else ""  # another version has others


@dataclass(frozen=True)
class StageTotal:
    """What one stage took: seconds of all threads together, and the bytes that went into it."""

    seconds: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class WordCounts:
    """What the word tables were asked: `looked_up` is the sum of `hit` and `missed`."""

    looked_up: int = 0
    hit: Mapping[str, int] = field(default_factory=dict)  # by the kind of table that knew the word
    missed: int = 0
    evicted: int = 0

    def since(self, earlier: WordCounts) -> WordCounts:
        """Return what was counted after `earlier`."""
        hit = {kind: count - earlier.hit.get(kind, 0) for kind, count in self.hit.items()}
        return WordCounts(
            self.looked_up - earlier.looked_up,
            hit,
            self.missed - earlier.missed,
            self.evicted - earlier.evicted,
        )

    def __add__(self, more: WordCounts) -> WordCounts:
        hit = {
            kind: self.hit.get(kind, 0) + more.hit.get(kind, 0) for kind in {**self.hit, **more.hit}
        }
        return WordCounts(
            self.looked_up + more.looked_up,
            hit,
            self.missed + more.missed,
            self.evicted + more.evicted,
        )


@dataclass(frozen=True)
class RunStats:
    """The counters of one call or one run.

    The seconds of all `stages` add up to `wall_seconds` x `threads`: what nothing else accounts for
    is waiting. A stage that did nothing may be missing.
    """

    wall_seconds: float
    threads: int
    stages: Mapping[str, StageTotal]
    words: WordCounts = WordCounts()
    memory: Mapping[str, int] = field(default_factory=dict)  # bytes by owner

    def since(self, earlier: RunStats) -> RunStats:
        """Return what was counted after `earlier`, which the same tokenizer or run returned."""
        seconds = self.wall_seconds - earlier.wall_seconds
        stages = minus(self.stages, earlier.stages)
        return RunStats(seconds, self.threads, stages, self.words.since(earlier.words), self.memory)

    def as_json(self) -> dict[str, Any]:
        """Return plain values: dictionaries, numbers and strings."""
        return {
            "wall_seconds": self.wall_seconds,
            "threads": self.threads,
            "stages": {
                name: {"seconds": total.seconds, "bytes": total.bytes}
                for name, total in self.stages.items()
            },
            "words": {
                "looked_up": self.words.looked_up,
                "hit": dict(self.words.hit),
                "missed": self.words.missed,
                "evicted": self.words.evicted,
            },
            "memory": dict(self.memory),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunStats:
        """Read what `as_json` returned."""
        return cls(
            wall_seconds=value["wall_seconds"],
            threads=value["threads"],
            stages={name: StageTotal(**total) for name, total in value["stages"].items()},
            words=WordCounts(**value["words"]),
            memory=dict(value["memory"]),
        )


def minus(
    later: Mapping[str, StageTotal], earlier: Mapping[str, StageTotal]
) -> dict[str, StageTotal]:
    """Return what each stage took in between."""
    none = StageTotal()
    return {
        name: StageTotal(
            total.seconds - earlier.get(name, none).seconds,
            total.bytes - earlier.get(name, none).bytes,
        )
        for name, total in later.items()
    }


def stages_of(counted: Mapping[str, Any]) -> dict[str, StageTotal]:
    """Return the stages of a dictionary that the core returned, without those that did nothing."""
    return {
        name: StageTotal(*total) for name, total in counted["stages"].items() if total != (0.0, 0)
    }


def words_of(counted: Mapping[str, Any]) -> WordCounts:
    """Return the words of a dictionary that the core returned."""
    return WordCounts(**counted["words"])


# Owners outside of a model. The room of each, which is above this one, says how much.
OTHER_OWNERS: dict[str, Callable[[], int]] = {"cache": lambda: 0}


def owners_of(memory: Mapping[str, int]) -> dict[str, int]:
    """Return bytes by owner, from what `Model.memory` returned; the reference path has none."""
    if not memory:
        return {}
    return {
        "model": memory["mapped"],
        "word_tables": memory["tables"] - memory["shared_tables"],
        "shared_tables": memory["shared_tables"],
        "buffers": memory["caches"] - memory["scratch"],
        "scratch": memory["scratch"],
        **{name: count() for name, count in OTHER_OWNERS.items()},
    }
