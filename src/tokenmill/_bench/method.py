"""How each kind of bench measures, in words."""

from __future__ import annotations

_PROCESSES = (
    "Each row runs in fresh processes, in turn with all other rows. A figure is the median of its "
    "processes, with an interval between two of them (sign test; 95 % from six processes on). "
)
_CALLS = (
    "p95 and p99 are medians of the processes' own; in a process with fewer than 20 or 100 calls "
    "they are its slowest call. Every call is timed alone, with about 0.1 \u00b5s of clock in it."
)
_PASSES = (
    "Cold is the first pass over the texts, with the tokenizer loaded and one word encoded; warm "
    "are later passes in the same process."
)
_JOBS = (
    "The whole job is a process from its start to its end. Seconds of a stage are those of all "
    "threads together."
)
_METHODS = {
    "throughput": _PASSES, "peers": _PASSES, "tokenize": _PASSES, "pack": _JOBS,
}  # fmt: skip


def method_of(kind: str) -> str:
    """Return how this kind is measured, in words."""
    return _PROCESSES + _METHODS.get(kind, _CALLS)
